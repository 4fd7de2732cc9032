/* ghosts.c: what the simulator knows of each part's ghost cells: for which level they were exchanged last. It goes by
 * the transfers that there are, so one that is missing, or too small, is found when its cells are used. */
#include "driver/split/split.h"

#include <stdlib.h>

/* The ghost cells of one part. */
static StcStatus open_part(StcPlan *p, PartPlan *part) {
  StcPlan *q = part->plan;
  Ghosts *g = ARENA_NEW(p->w.arena, Ghosts);
  g->every = p->split->every;
  g->levels = ARENA_ARRAY(p->w.arena, int64_t *, q->module->nfields + 1);
  for (int d = 0; d < p->split->rank; d++) {
    g->at[d] = part->at[d];
    g->lo[d] = part->lo[d];
    g->hi[d] = part->hi[d];
  }
  q->ghosts = g;
  for (int f = 0; f < q->module->nfields; f++) {
    int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
    if (q->module->fields[f].exchange != EXCHANGE_STEPS)
      continue;
    g->levels[f] = malloc((size_t)(n + 1) * sizeof **g->levels);
    if (!g->levels[f])
      return diag_error(p->w.diags, no_loc(), "no memory on this computer for what is known of ghost cells"),
             STC_MEMORY;
  }
  return STC_OK;
}

StcStatus ghosts_open(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s && p->device.kind == &device_sim; i++)
    s = open_part(p, &p->split->part[i]);
  return s;
}

void ghosts_close(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end && p->split->part; i++) {
    StcPlan *q = p->split->part[i].plan;
    for (int f = 0; q && q->ghosts && f < q->module->nfields; f++)
      free(q->ghosts->levels[f]);
  }
}

void ghosts_scattered(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    const StcPlan *q = p->split->part[i].plan;
    for (int f = 0; q->ghosts && f < q->module->nfields; f++) {
      int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
      for (int64_t k = 0; q->ghosts->levels[f] && k < n; k++)
        q->ghosts->levels[f][k] = p->done;
    }
  }
}

/* Notes a run of cells (a runs_each callback). */
typedef struct Noting {
  int64_t *levels, done;
} Noting;
static StcStatus note_run(void *user, int64_t from, int64_t to, int64_t n) {
  const Noting *x = user;
  (void)from;
  for (int64_t i = 0; i < n; i++)
    x->levels[to + i] = x->done;
  return STC_OK;
}

void ghosts_exchanged(StcPlan *p) {
  const Split *s = p->split;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    const PartPlan *y = &s->part[t->to];
    CellArray to = {0};
    if (!y->plan || !y->plan->ghosts)
      continue;
    part_cells(y, t->field, to.lo, to.hi);
    Runs r = runs_of(s->rank, t->lo, t->hi, &to, &to);
    Noting x = {y->plan->ghosts->levels[t->field], p->done};
    runs_each(&r, note_run, &x);
  }
}
