/* driver/instance/plan-idle.c: kernels that have nothing to do, since no tile is of a class that they are for (pass
 * tile-classes), are not launched: those for tiles that a shore crosses where a mask is true everywhere. Blocks that
 * look at their tile's class and end took 8.7 us of a launch of 62 (heat, 4096 x 4096, NVIDIA H200, 2026-11-29).
 *
 * What is computed once leaves a byte for each tile in a hidden field, which nothing else writes. A kernel's body tells
 * for which of the bytes it does nothing:
 *
 *     %c = load @k.classes[..]   if %c == 1 { } else { if %c == 2 { } else { .. } }         idle if all are 1 or 2
 *
 * Where its blocks go by a list of tiles (pass tile-lists), those of the others alone are put to the list's begin, in
 * the order they had, so that neighbours run at the same time, and as many blocks are launched as there are.
 *
 * The bytes are fetched behind what is computed once, if the run is waited for; where it is not, in a stream, when it
 * is at its end, or the next one is waited for. Where a mask is in the caller's memory, which may change before each
 * run, nothing is fetched, all is launched, and lists have all tiles, as what is computed once has left them. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "ir/run/run.h"

#include <stdlib.h>
#include <string.h>

/* Does `v` test whether `class` is a constant? Then that is *is. */
static bool tests_class(const Value *v, const Value *class, int64_t *is) {
  const Op *op = v->def;
  if (!op || op->code != OP_EQ || op->operands[0] != class || !op->operands[1]->def ||
      op->operands[1]->def->code != OP_CONST)
    return false;
  *is = op->operands[1]->def->cval.i;
  return true;
}

/* Does `b` do anything but compute values where the tile's class is `is`? */
static bool is_busy(const Block *b, const Value *class, int64_t is) {
  bool busy = false;
  int64_t tested;
  for (const Op *op = b->first; op && !busy; op = op->next) {
    bool plain =
        op->code == OP_YIELD || (op_info[op->code].flags & OPF_PURE) || (op->nresults && op_buffer_read(op) >= 0);
    if (op->code == OP_IF && tests_class(op->operands[0], class, &tested))
      busy = is_busy(op->blocks[tested == is ? 0 : 1], class, is);
    else
      busy = op->nblocks > 0 || !plain;
  }
  return busy;
}

/* Do launches of `seq` write buffer `buffer`, or exchanges move it? */
static bool changes_buffer(const Module *m, const HostSeq *seq, int buffer) {
  bool changes = false;
  for (int i = 0; i < seq->nops && !changes; i++) {
    const HostOp *op = &seq->ops[i];
    changes = op->kind == HOST_SWAP && (op->a == buffer || op->b == buffer);
    const Kernel *k = op->kind == HOST_LAUNCH ? &m->kernels[op->a] : NULL;
    for (int a = 0; k && a < k->nargs; a++)
      changes = changes || (k->args[a].kind == KARG_BUFFER && k->args[a].index == buffer && k->args[a].writes);
  }
  return changes;
}

/* Is buffer `buffer` of values of type `t` that what is computed once alone leaves in a hidden field? */
static bool is_made_once(const Module *m, int buffer, Type t) {
  const Buffer *b = &m->buffers[buffer];
  if (b->kind != BUFFER_FIELD || m->fields[b->field].type != t || !strchr(m->fields[b->field].name, '.'))
    return false;
  bool other = changes_buffer(m, &m->host.init, buffer);
  for (int i = 0; i < m->host.nseqs; i++)
    other = other || changes_buffer(m, &m->host.seqs[i], buffer);
  for (int i = 0; i < m->host.nloops; i++)
    for (int k = 0; k < m->host.loops[i].nseqs; k++)
      other = other || changes_buffer(m, &m->host.loops[i].seqs[k], buffer);
  return !other && changes_buffer(m, &m->host.once, buffer);
}

/* The classes of the tiles of a kernel: the buffer with all of them, and the value that is that of a block's tile. */
typedef struct Classes {
  int buffer;
  const Value *class;
} Classes;

/* Those of `k`; false: it has none. */
static bool find_classes(const Module *m, const Kernel *k, Classes *out) {
  bool listed = k->list && is_made_once(m, k->list - 1, TY_U32) && is_made_once(m, k->list_of, TY_U8);
  for (const Op *op = k->body->first; op; op = op->next) {
    bool is = k->list ? listed && kernel_loads_class(k, op) : op->code == OP_LOAD && is_made_once(m, op->sym, TY_U8);
    if (!is)
      continue;
    *out = (Classes){k->list ? k->list_of : op->sym, op->results[0]};
    return true;
  }
  return false;
}

/* The classes that a kernel may do nothing for are below so many. */
enum { MOST_CLASSES = 4 };

/* The search. bytes[buffer]: its values, once they were fetched. */
typedef struct Looking {
  StcPlan *p;
  unsigned char **bytes;
} Looking;

/* Fetches the classes in buffer `buffer`. */
static StcStatus fetch_classes(Looking *l, int buffer) {
  const Slot *slot = buffer_slot(l->p, buffer);
  size_t size = slot_bytes(slot);
  if (l->bytes[buffer])
    return STC_OK;
  l->bytes[buffer] = malloc(size ? size : 1);
  StcStatus s = l->bytes[buffer] ? slot_fetch(l->p, slot, l->bytes[buffer]) : STC_MEMORY;
  return s == STC_MEMORY ? context_error(l->p->w.context, "no memory is left to look at the classes of tiles"), s : s;
}

/* For which classes `k` does something, as busy[MOST_CLASSES], if classes are those of `x`. False: for all. */
static bool find_busy(const Kernel *k, const Classes *x, bool *busy) {
  bool any = false;
  for (int i = 0; i < MOST_CLASSES; i++) {
    busy[i] = is_busy(k->body, x->class, i);
    any = any || !busy[i];
  }
  return any;
}

/* How many of the tiles with classes in `buffer` are of one in `busy`, or above those. */
static int64_t count_busy(const Looking *l, int buffer, const bool *busy) {
  size_t size = slot_bytes(buffer_slot(l->p, buffer));
  int64_t n = 0;
  for (size_t i = 0; i < size; i++)
    n += l->bytes[buffer][i] >= MOST_CLASSES || busy[l->bytes[buffer][i]];
  return n;
}

/* Notes in *rows, whose memory the caller frees, the rows of the list of `k` for the tiles of a class in `busy`, `n` of
 * them. False: no memory is left. */
static bool make_rows(const Looking *l, const Kernel *k, const bool *busy, int64_t n, uint32_t **rows) {
  const unsigned char *bytes = l->bytes[k->list_of];
  int64_t blocks[MAX_RANK], at[MAX_RANK] = {0};
  Kernel all = *k;
  all.leaves_out = false;
  int64_t tiles = kernel_blocks(&all, l->p->scalars, blocks);
  uint32_t *to = *rows = malloc((size_t)n * (size_t)(k->rank + 1) * sizeof *to);
  for (int64_t i = 0; i < tiles && to; i++) {
    if (bytes[i] >= MOST_CLASSES || busy[bytes[i]]) {
      *to++ = bytes[i];
      for (int d = 0; d < k->rank; d++)
        *to++ = (uint32_t)at[d];
    }
    for (int d = k->rank - 1; d >= 0 && ++at[d] == blocks[d]; d--)
      at[d] = 0;
  }
  return *rows;
}

/* Has the list of `k` begin with the tiles of a class in `busy`, of which there are `n`. */
static StcStatus put_rows(const Looking *l, const Kernel *k, const bool *busy, int64_t n) {
  Device *d = &l->p->device;
  uint32_t *rows = NULL;
  StcStatus s = n > 0 && !make_rows(l, k, busy, n, &rows) ? STC_MEMORY : STC_OK;
  if (s)
    context_error(l->p->w.context, "no memory is left to list the tiles that have something to do");
  if (n > 0 && !s)
    s = d->kind->put(d, buffer_slot(l->p, k->list - 1)->memory, rows, (size_t)n * (size_t)(k->rank + 1) * sizeof *rows);
  free(rows);
  return s;
}

/* Is kernel `i` launched for what is computed once? That runs whatever was computed before. */
static bool is_of_once(const Module *m, int i) {
  bool of_once = false;
  for (int j = 0; j < m->host.once.nops && !of_once; j++) {
    const HostOp *op = &m->host.once.ops[j];
    of_once = op->kind == HOST_LAUNCH && (op->a == i || m->kernels[op->a].instead == i + 1);
  }
  return of_once;
}

/* Have the classes and the list of `k` a row for each of its tiles? A text of kernel IR can say otherwise. */
static bool fits_list(StcPlan *p, const Kernel *k) {
  int64_t blocks[MAX_RANK];
  Kernel all = *k;
  all.leaves_out = false;
  size_t tiles = (size_t)kernel_blocks(&all, p->scalars, blocks);
  return slot_bytes(buffer_slot(p, k->list_of)) == tiles &&
         slot_bytes(buffer_slot(p, k->list - 1)) == tiles * (size_t)(k->rank + 1) * sizeof(uint32_t);
}

/* How many blocks of kernel `i` have something to do, in *live, -1: all are launched; its list begins with those. A
 * list is for kernels before number `i`, too: what one of them does something for is on it. */
static StcStatus find_live(Looking *l, int i, int64_t *live) {
  const Module *m = l->p->build->code.module;
  const Kernel *k = &m->kernels[i];
  Classes x;
  bool busy[MOST_CLASSES], other[MOST_CLASSES];
  *live = -1;
  if (is_of_once(m, i) || !find_classes(m, k, &x) || !find_busy(k, &x, busy))
    return STC_OK;
  for (int j = 0; j < m->nkernels && k->list; j++)
    for (int c = 0; c < MOST_CLASSES && m->kernels[j].list == k->list; c++)
      busy[c] = busy[c] || !find_classes(m, &m->kernels[j], &x) || !find_busy(&m->kernels[j], &x, other) || other[c];
  if (k->list && !fits_list(l->p, k))
    return STC_OK;
  StcStatus s = fetch_classes(l, x.buffer);
  int64_t n = s ? 0 : count_busy(l, x.buffer, busy);
  *live = s || (n > 0 && !k->list) ? -1 : n;
  return s || !k->list ? s : put_rows(l, k, busy, n);
}

/* Which kernels are launched under the plan's params, in launched[nkernels]: others stand in their place. */
static void find_launched(const StcPlan *p, bool *launched) {
  const Module *m = p->build->code.module;
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    for (int k = 0; k < q->nops; k++)
      if (q->ops[k].kind == HOST_LAUNCH)
        launched[kernel_chosen(m, q->ops[k].a, p->scalars)] = true;
}

/* Notes how many blocks of kernel `i` are launched. Recordings go by what was noted before: they are gone before it is
 * another, so that none is left behind an error, wherever it comes. */
static void note_live(StcPlan *p, int i, int64_t live) {
  if (p->run.live[i] != live)
    plan_forget_recordings(p);
  p->run.live[i] = live;
}

StcStatus plan_find_live(StcPlan *p, bool look) {
  const Module *m = p->build->code.module;
  if (!p->run.live && !look)
    return STC_OK;
  if (!p->run.live) {
    p->run.live = ARENA_ARRAY(p->w.arena, int64_t, m->nkernels + 1);
    memset(p->run.live, -1, sizeof *p->run.live * (size_t)(m->nkernels + 1));
  }
  bool launched[m->nkernels + 1];
  memset(launched, 0, sizeof launched);
  find_launched(p, launched);
  Looking l = {p, look ? calloc((size_t)m->nbuffers + 1, sizeof *l.bytes) : NULL};
  StcStatus s = look && !l.bytes ? STC_MEMORY : STC_OK;
  if (s)
    context_error(p->w.context, "no memory is left to look at the classes of tiles");
  s = s || !look ? s : p->device.kind->wait(&p->device);
  for (int i = 0; i < m->nkernels && !s; i++) {
    int64_t live = -1;
    s = look && launched[i] ? find_live(&l, i, &live) : STC_OK;
    note_live(p, i, live);
  }
  for (int i = 0; i < m->nbuffers && l.bytes; i++)
    free(l.bytes[i]);
  free(l.bytes);
  return s;
}

StcStatus plan_find_late(StcPlan *p) {
  StcStatus s = p->run.unlooked && p->run.once_done ? plan_find_live(p, true) : STC_OK;
  p->run.unlooked &= s != STC_OK;
  return s;
}
