/* transport-copy.c: copies cells from part to part through this process' memory, one run after the other. It works
 * between any two devices. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* Copies the bytes of a run from one part's memory to another's, through `room`. */
static StcStatus copy_run(StcPlan *x, StcPlan *y, const Sending *s, int64_t from, int64_t to, void *room) {
  const char *source = (const char *)s->from + from;
  char *target = (char *)s->to + to;
  StcStatus st = x->device.kind->fetch(&x->device, room, source, (size_t)s->n);
  return st ? st : y->device.kind->put(&y->device, target, room, (size_t)s->n);
}

/* Makes one transfer. */
static StcStatus copy_cells(StcPlan *p, const Transfer *t) {
  StcPlan *x = p->split->part[t->from].plan, *y = p->split->part[t->to].plan;
  Sending s = split_sending(p, t);
  void *room = malloc((size_t)s.n + 1);
  StcStatus st = STC_OK;
  if (!room)
    return diag_error(p->w.diags, no_loc(), "no memory on this computer for %lld bytes of ghost cells", (long long)s.n),
           STC_MEMORY;
  for (int64_t h = 0; h < s.count[2] && !st; h++)
    for (int64_t i = 0; i < s.count[1] && !st; i++)
      for (int64_t j = 0; j < s.count[0] && !st; j++)
        st = copy_run(x, y, &s, h * s.from_stride[2] + i * s.from_stride[1] + j * s.from_stride[0],
                      h * s.to_stride[2] + i * s.to_stride[1] + j * s.to_stride[0], room);
  free(room);
  return st;
}

/* Makes all transfers, when all parts have made their steps. */
static StcStatus copy_exchange(StcPlan *p) {
  const Split *split = p->split;
  StcStatus s = split_wait(p, STC_OK);
  for (int i = 0; i < split->ntransfers && !s; i++)
    s = transfer_is_here(split, &split->transfers[i]) ? copy_cells(p, &split->transfers[i]) : STC_OK;
  return s;
}

const Transport transport_copy = {.name = "copy", .exchange = copy_exchange};
