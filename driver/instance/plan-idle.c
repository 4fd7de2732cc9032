/* driver/instance/plan-idle.c: kernels that have nothing to do, since no tile is of a class that they are for (pass
 * tile-classes), are not launched: those for tiles that a shore crosses where a mask is true everywhere. Blocks that
 * look at their tile's class and end took 8.7 us of a launch of 62 (heat, 4096 x 4096, NVIDIA H200, 2026-11-29).
 *
 * What is computed once leaves a byte for each tile in a hidden field, which nothing else writes. A kernel's body tells
 * for which of the bytes it does nothing:
 *
 *     %c = load @k.classes[..]   if %c == 1 { } else { if %c == 2 { } else { .. } }         idle if all are 1 or 2
 *
 * The bytes are fetched behind what is computed once, if the run is waited for: a caller's stream is not. Where a mask
 * is in the caller's memory, which may change before each run, nothing is fetched and all is launched. */
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

/* Is buffer `buffer` of bytes that what is computed once alone leaves in a hidden field? */
static bool is_made_once(const Module *m, int buffer) {
  const Buffer *b = &m->buffers[buffer];
  if (b->kind != BUFFER_FIELD || m->fields[b->field].type != TY_U8 || !strchr(m->fields[b->field].name, '.'))
    return false;
  bool other = changes_buffer(m, &m->host.init, buffer);
  for (int i = 0; i < m->host.nseqs; i++)
    other = other || changes_buffer(m, &m->host.seqs[i], buffer);
  for (int i = 0; i < m->host.nloops; i++)
    for (int k = 0; k < m->host.loops[i].nseqs; k++)
      other = other || changes_buffer(m, &m->host.loops[i].seqs[k], buffer);
  return !other && changes_buffer(m, &m->host.once, buffer);
}

/* The load of the class of a block's tile in `k`; NULL: there is none. */
static const Op *class_load(const Module *m, const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (op->code == OP_LOAD && op->results[0]->type == TY_U8 && is_made_once(m, op->sym))
      return op;
  return NULL;
}

/* Which bytes there are in the buffer, as found[byte], of the classes below `n`; *other: there are others. */
static StcStatus find_bytes(StcPlan *p, int buffer, int n, bool *found, bool *other) {
  const Slot *slot = buffer_slot(p, buffer);
  size_t size = slot_bytes(slot);
  unsigned char *bytes = malloc(size ? size : 1);
  StcStatus s = bytes ? slot_fetch(p, slot, bytes) : STC_MEMORY;
  memset(found, 0, (size_t)n * sizeof *found);
  *other = false;
  for (size_t i = 0; i < size && !s; i++) {
    *other = *other || bytes[i] >= n;
    if (bytes[i] < n)
      found[bytes[i]] = true;
  }
  free(bytes);
  return s == STC_MEMORY ? context_error(p->w.context, "no memory is left to look at the classes of tiles"), s : s;
}

/* Is kernel `k` idle, whose tiles' classes `load` loads? */
static StcStatus find_idle(StcPlan *p, const Kernel *k, const Op *load, bool *idle) {
  enum { MOST_CLASSES = 4 };
  bool found[MOST_CLASSES], busy, any = false;
  for (int i = 0; i < MOST_CLASSES; i++)
    any = any || !is_busy(k->body, load->results[0], i);
  *idle = false;
  if (!any)
    return STC_OK;
  StcStatus s = find_bytes(p, load->sym, MOST_CLASSES, found, &busy);
  for (int i = 0; i < MOST_CLASSES && !s; i++)
    busy = busy || (found[i] && is_busy(k->body, load->results[0], i));
  *idle = !s && !busy;
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

/* Notes whether kernel `i` is idle. Recordings go by what was noted before: they are gone before it is another, so that
 * none is left behind an error, wherever it comes. */
static void note_idle(StcPlan *p, int i, bool idle) {
  if (p->run.idle[i] != idle)
    plan_forget_recordings(p);
  p->run.idle[i] = idle;
}

StcStatus plan_find_idle(StcPlan *p, bool look) {
  const Module *m = p->build->code.module;
  if (!p->run.idle && !look)
    return STC_OK;
  if (!p->run.idle)
    p->run.idle = ARENA_ARRAY(p->w.arena, bool, m->nkernels + 1);
  StcStatus s = look ? p->device.kind->wait(&p->device) : STC_OK;
  for (int i = 0; i < m->nkernels && !s; i++) {
    bool idle = false;
    const Op *load = look && !is_of_once(m, i) ? class_load(m, &m->kernels[i]) : NULL;
    s = load ? find_idle(p, &m->kernels[i], load, &idle) : STC_OK;
    note_idle(p, i, idle);
  }
  return s;
}
