/* gather.c: fields whole on rank 0, in the computer's memory, where no rank has the whole grid. Rank 0 asks for one
 * after the other, and the others serve it until it has no more to ask for. Only what is asked for is brought together,
 * and there alone. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* What rank 0 asks for: a declared field, all of it or (component >= 0) one component, at some of its points; field -1:
 * nothing more. */
typedef struct Question {
  int field, component;
  CellArray points;
} Question;

/* The bytes of a point of what is asked for. */
static int64_t point_bytes(const StcPlan *p, const Question *q) {
  const Declared *d = &p->program->declared[q->field];
  return q->component < 0 ? d->point_bytes : type_size((Type)d->components[q->component].type);
}

/* How many points there are in the array. */
static int64_t count_points(int rank, const CellArray *a) {
  int64_t n = 1;
  for (int d = 0; d < rank; d++)
    n *= a->hi[d] - a->lo[d] + 1;
  return n;
}

/* What part `part` owns of the points that are asked for; false: nothing. */
static bool own_points(const StcPlan *p, const PartPlan *part, const Question *q, CellArray *own) {
  bool any = part_own(p, part, q->field, own);
  for (int d = 0; d < p->split->rank; d++) {
    own->lo[d] = own->lo[d] > q->points.lo[d] ? own->lo[d] : q->points.lo[d];
    own->hi[d] = own->hi[d] < q->points.hi[d] ? own->hi[d] : q->points.hi[d];
    any &= own->lo[d] <= own->hi[d];
  }
  return any;
}

/* Memory for `bytes` bytes of the field (split_room). */
static char *room(StcPlan *p, int field, int64_t bytes, StcStatus *s) {
  return split_room(p, p->program->declared[field].name, (size_t)bytes, s);
}

/* The points `own`, which part `part`, which is here, owns, side by side into `to`. */
static StcStatus pack(StcPlan *p, const PartPlan *part, const Question *q, const CellArray *own, char *to) {
  StcPlan *plan = part->plan;
  int mine = stc_program_find_field(plan->program, p->program->declared[q->field].name);
  StcFieldInfo f;
  StcStatus s = q->component < 0 ? stc_plan_field(plan, mine, &f) : stc_plan_component(plan, mine, q->component, &f);
  char *memory = s ? NULL : room(p, q->field, f.bytes, &s);
  if (!s)
    s = q->component < 0 ? stc_plan_get(plan, mine, memory, (size_t)f.bytes)
                         : stc_plan_get_component(plan, mine, q->component, memory, (size_t)f.bytes);
  if (!s) {
    CellArray all = part_array(part, plan->homes[mine].field);
    Runs r = runs_of(p->split->rank, own->lo, own->hi, &all, own);
    runs_each(&r, cells_copy, &(CellCopy){to, memory, point_bytes(p, q)});
  }
  free(memory);
  return s;
}

/* What part `part` owns to rank 0, and there into the array `data` of all that was asked for. Messages are exchanged
 * whatever has gone wrong. */
static StcStatus bring_part(StcPlan *p, const PartPlan *part, const Question *q, char *data, StcStatus s) {
  Net *net = p->split->net;
  CellArray own;
  bool leads = split_leads(p->split);
  if (!own_points(p, part, q, &own) || (!leads && !part->plan))
    return s;
  int64_t bytes = count_points(p->split->rank, &own) * point_bytes(p, q);
  char *memory = room(p, q->field, bytes, &s);
  if (part->plan && !s)
    s = pack(p, part, q, &own, memory);
  if (part->rank != 0 && memory)
    net_message(net, leads ? part->rank : 0, !leads, memory, (size_t)bytes);
  if (leads && !s) {
    Runs r = runs_of(p->split->rank, own.lo, own.hi, &own, &q->points);
    runs_each(&r, cells_copy, &(CellCopy){data, memory, point_bytes(p, q)});
  }
  free(memory);
  return s;
}

/* All parts. */
static StcStatus bring(StcPlan *p, const Question *q, char *data) {
  const Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = 0; i < split->nparts; i++)
    s = bring_part(p, &split->part[i], q, data, s);
  return split_agree(p, s);
}

StcStatus gather_ask(StcPlan *p, int field, int component, const StcFieldInfo *points, void *data) {
  Question q = {.field = field, .component = component};
  for (int d = 0; d < points->rank; d++) {
    q.points.lo[d] = points->first[d];
    q.points.hi[d] = points->first[d] + points->shape[d] - 1;
  }
  p->split->net->broadcast(p->split->net, &q, sizeof q, 0);
  return bring(p, &q, data);
}

void gather_end(StcPlan *p) {
  Question q = {.field = -1};
  p->split->net->broadcast(p->split->net, &q, sizeof q, 0);
}

void gather_serve(StcPlan *p) {
  Question q;
  for (;;) {
    p->split->net->broadcast(p->split->net, &q, sizeof q, 0);
    if (q.field < 0)
      return;
    bring(p, &q, NULL);
  }
}
