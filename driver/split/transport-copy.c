/* transport-copy.c: cells from part to part by way of this process' memory, one run of them after the other. It works
 * between any two devices. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* A transfer under way: between whose memory, bytes a cell, and room for a run. */
typedef struct Copying {
  StcPlan *from, *to;
  char *source, *target;
  int64_t size;
  void *room;
} Copying;

/* One run (a runs_each callback). */
static StcStatus copy_run(void *user, int64_t from, int64_t to, int64_t n) {
  Copying *c = user;
  size_t bytes = (size_t)(n * c->size);
  char *source = c->source + from * c->size, *target = c->target + to * c->size;
  if (c->from->device.kind->whole)
    return memcpy(target, source, bytes), STC_OK;
  StcStatus s = c->from->device.kind->fetch(&c->from->device, c->room, source, bytes);
  return s ? s : c->to->device.kind->put(&c->to->device, target, c->room, bytes);
}

/* One transfer. */
static StcStatus copy_cells(StcPlan *p, const Transfer *t) {
  const PartPlan *x = &p->split->part[t->from], *y = &p->split->part[t->to];
  CellArray from = {0}, to = {0};
  part_cells(x, t->field, from.lo, from.hi);
  part_cells(y, t->field, to.lo, to.hi);
  memcpy(from.shift, t->shift, sizeof from.shift);
  Runs r = runs_of(p->split->rank, t->lo, t->hi, &from, &to);
  Copying c = {.from = x->plan,
               .to = y->plan,
               .source = x->plan->slots[x->plan->slot_of_field[t->field]].memory,
               .target = y->plan->slots[y->plan->slot_of_field[t->field]].memory,
               .size = type_bytes(x->plan->module, x->plan->module->fields[t->field].type)};
  c.room = malloc((size_t)(r.n * c.size) + 1);
  if (!c.room)
    return diag_error(p->w.diags, no_loc(), "no memory on this computer for %lld bytes of ghost cells",
                      (long long)(r.n * c.size)),
           STC_MEMORY;
  StcStatus s = runs_each(&r, copy_run, &c);
  free(c.room);
  return s;
}

/* All transfers, when all parts have made their steps. */
static StcStatus copy_exchange(StcPlan *p) {
  Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = 0; i < split->nparts && !s; i++) {
    StcPlan *q = split->part[i].plan;
    s = q->device.kind->whole ? STC_OK : q->device.kind->wait(&q->device);
  }
  for (int i = 0; i < split->ntransfers && !s; i++)
    s = copy_cells(p, &split->transfers[i]);
  return s;
}

const Transport transport_copy = {.name = "copy", .exchange = copy_exchange};
