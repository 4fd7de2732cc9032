/* driver/instance/plan-idle.c: does not launch kernels that have nothing to do because no tile has a class that they
 * serve (pass tile-classes): for example those for tiles that a shore crosses, where a mask is true everywhere. Blocks
 * that only read their tile's class and end took 8.7 us of a launch of 62 (heat, 4096 x 4096, NVIDIA H200, 2026-11-29).
 *
 * The `once` sequence stores a byte for each tile in a hidden field; driver/program/busy.c derives from the body of a
 * kernel for which bytes it has something to do.
 *
 * If a kernel's blocks use a list of tiles (pass tile-lists), the tiles of these classes are moved to the beginning of
 * the list, in their order, so that neighbours run at the same time, and only that many blocks are launched.
 *
 * The bytes are fetched after the `once` sequence if the run is waited for. After a run in a stream that nobody waits
 * for, they are fetched at its end, or when the next run is waited for. If a mask is in the caller's memory, which may
 * change before each run, nothing is fetched, everything is launched, and lists contain all tiles, as the `once`
 * sequence has stored them. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "ir/run/run.h"

#include <stdlib.h>
#include <string.h>

/* The state of the search. bytes[buffer]: the buffer's values, once they have been fetched. */
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

/* The number of tiles whose class, in `buffer`, is marked in `busy`, or above those. */
static int64_t count_busy(const Looking *l, int buffer, const bool *busy) {
  size_t size = slot_bytes(buffer_slot(l->p, buffer));
  int64_t n = 0;
  for (size_t i = 0; i < size; i++)
    n += l->bytes[buffer][i] >= MOST_CLASSES || busy[l->bytes[buffer][i]];
  return n;
}

/* Collects in *rows, which the caller frees, the rows of the list of `k` for the tiles of a class in `busy`, `n` of
 * them. False: out of memory. */
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

/* Moves the `n` tiles of a class in `busy` to the beginning of the list of `k`. */
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

/* Have the classes and the list of `k` a row for each of its tiles? A text of kernel IR may have others. */
static bool fits_list(StcPlan *p, const Kernel *k) {
  int64_t blocks[MAX_RANK];
  Kernel all = *k;
  all.leaves_out = false;
  size_t tiles = (size_t)kernel_blocks(&all, p->scalars, blocks);
  return slot_bytes(buffer_slot(p, k->list_of)) == tiles &&
         slot_bytes(buffer_slot(p, k->list - 1)) == tiles * (size_t)(k->rank + 1) * sizeof(uint32_t);
}

/* Computes the number of blocks of kernel `i` that have something to do, into *live, -1: all are launched; its list
 * then begins with their tiles. The list also serves the kernels before number `i`: it includes the tiles for which one
 * of them has something to do. */
static StcStatus find_live(Looking *l, int i, int64_t *live) {
  const Module *m = l->p->build->code.module;
  const Kernel *k = &m->kernels[i];
  bool busy[MOST_CLASSES];
  int32_t classes;
  *live = -1;
  if (!kernel_busy(m, i, &classes, busy))
    return STC_OK;
  if (k->list && !fits_list(l->p, k))
    return STC_OK;
  StcStatus s = fetch_classes(l, classes);
  int64_t n = s ? 0 : count_busy(l, classes, busy);
  *live = s || (n > 0 && !k->list) ? -1 : n;
  return s || !k->list ? s : put_rows(l, k, busy, n);
}

/* Marks in launched[nkernels] the kernels that are launched under the plan's params, instead of those that they
 * replace. */
static void find_launched(const StcPlan *p, bool *launched) {
  const Module *m = p->build->code.module;
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    for (int k = 0; k < q->nops; k++)
      if (q->ops[k].kind == HOST_LAUNCH)
        launched[kernel_chosen(m, q->ops[k].a, p->scalars)] = true;
}

/* Records the number of blocks of kernel `i` to launch. Recordings contain the old number, so they are freed before it
 * changes; thus none remains after an error, wherever it occurs. */
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
