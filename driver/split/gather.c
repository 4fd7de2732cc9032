/* gather.c: collects fields on rank 0, in host memory, where no rank has the whole grid. Rank 0 asks for one after the
 * other, and the other ranks answer until it asks for no more. Only requested values are collected, and only there: for
 * a picture of a field, no more values than the picture has pixels, and the limits of all values. */
#include "driver/split/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A request of rank 0: a declared field, all of it or (component >= 0) one component, at some of its points: of those
 * in `points`, in each dimension `count`, evenly spaced; field -1: there are no more requests. seen: the limits of the
 * values at all `points` are requested, too. */
typedef struct Question {
  int field, component;
  bool seen;
  CellArray points;
  int64_t count[MAX_RANK];
} Question;

/* The share of a part: points of the grid, and the numbers of the samples among them. */
typedef struct Answer {
  CellArray own, samples;
} Answer;

/* The bytes of the requested values of a point. */
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

/* How many points there are in dimension `d` of those that are asked for. */
static int64_t extent(const Question *q, int d) { return q->points.hi[d] - q->points.lo[d] + 1; }

/* first_sample: the number of the first sample in dimension `d` that is not before point `at`. sample_point: the point
 * of sample `k`. */
static int64_t first_sample(const Question *q, int d, int64_t at) {
  int64_t i = at - q->points.lo[d], n = extent(q, d), c = q->count[d];
  return n == c ? i : (i * c + n - 1) / n;
}
static int64_t sample_point(const Question *q, int d, int64_t k) {
  int64_t n = extent(q, d), c = q->count[d];
  return q->points.lo[d] + (n == c ? k : k * n / c);
}

/* The share of part `part` of the requested points; false: none. */
static bool find_answer(const StcPlan *p, const PartPlan *part, const Question *q, Answer *a) {
  bool any = part_own(p, part, q->field, &a->own);
  a->samples = (CellArray){0};
  for (int d = 0; d < p->split->rank; d++) {
    CellArray *own = &a->own;
    own->lo[d] = own->lo[d] > q->points.lo[d] ? own->lo[d] : q->points.lo[d];
    own->hi[d] = own->hi[d] < q->points.hi[d] ? own->hi[d] : q->points.hi[d];
    any = any && own->lo[d] <= own->hi[d];
    a->samples.lo[d] = any ? first_sample(q, d, own->lo[d]) : 0;
    a->samples.hi[d] = any ? first_sample(q, d, own->hi[d] + 1) - 1 : -1;
  }
  return any;
}

/* The bytes of the samples; after them, if requested, stand the limits of the part's values. */
static size_t sample_bytes(const StcPlan *p, const Question *q, const Answer *a) {
  size_t bytes = (size_t)(count_points(p->split->rank, &a->samples) * point_bytes(p, q));
  return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

/* Memory for `bytes` bytes of the field (split_room). */
static char *room(StcPlan *p, int field, int64_t bytes, StcStatus *s) {
  return split_room(p, p->program->declared[field].name, (size_t)bytes, s);
}

/* ---------------------------------------------------------------- on the rank of the part */

/* Computes limits of values (runs_each). */
typedef struct Seeing {
  const StcFieldInfo *info;
  const void *values;
  Sight sight;
} Seeing;

static StcStatus see_run(void *user, int64_t from, int64_t to, int64_t n) {
  Seeing *x = user;
  Sight *y = &x->sight;
  for (int64_t k = 0; k < n; k++) {
    double v = field_value(x->info, x->values, from + k);
    if (isnan(v) && (y->nan < 0 || to + k < y->nan))
      y->nan = to + k;
    if (!isfinite(v))
      continue;
    y->least = v < y->least ? v : y->least;
    y->most = v > y->most ? v : y->most;
  }
  return STC_OK;
}

/* The limits of no values. */
static const Sight unseen = {INFINITY, -INFINITY, -1};

/* Copies the samples from the part's array `all` of values of `size` bytes at `memory`, contiguously, to `to`. */
static void take_samples(const Question *q, const Answer *a, int rank, const CellArray *all, const char *memory,
                         int64_t size, char *to) {
  int64_t n = count_points(rank, &a->samples);
  for (int64_t i = 0; i < n; i++, to += size) {
    int64_t rest = i, at = 0, stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
      int64_t wide = a->samples.hi[d] - a->samples.lo[d] + 1;
      at += stride * (sample_point(q, d, a->samples.lo[d] + rest % wide) - all->lo[d]);
      stride *= all->hi[d] - all->lo[d] + 1;
      rest /= wide;
    }
    memcpy(to, memory + at * size, (size_t)size);
  }
}

/* Are all points requested? */
static bool asks_for_all(const Question *q, int rank) {
  bool all = true;
  for (int d = 0; d < rank; d++)
    all &= q->count[d] == extent(q, d);
  return all;
}

/* Writes the share of part `part`, which is on this rank, to `to`. */
static StcStatus pack(StcPlan *p, const PartPlan *part, const Question *q, const Answer *a, char *to) {
  StcPlan *plan = part->plan;
  int mine = stc_program_find_field(plan->program, p->program->declared[q->field].name), rank = p->split->rank;
  StcFieldInfo f;
  StcStatus s = q->component < 0 ? stc_plan_field(plan, mine, &f) : stc_plan_component(plan, mine, q->component, &f);
  char *memory = s ? NULL : room(p, q->field, f.bytes, &s);
  if (!s)
    s = q->component < 0 ? stc_plan_get(plan, mine, memory, (size_t)f.bytes)
                         : stc_plan_get_component(plan, mine, q->component, memory, (size_t)f.bytes);
  CellArray all = part_array(part, plan->bound.homes[mine].field);
  if (!s && asks_for_all(q, rank)) {
    Runs r = runs_of(rank, a->own.lo, a->own.hi, &all, &a->own);
    runs_each(&r, cells_copy, &(CellCopy){to, memory, point_bytes(p, q)});
  } else if (!s) {
    take_samples(q, a, rank, &all, memory, point_bytes(p, q), to);
  }
  if (!s && q->seen) {
    Runs r = runs_of(rank, a->own.lo, a->own.hi, &all, &q->points);
    Seeing x = {&f, memory, unseen};
    runs_each(&r, see_run, &x);
    memcpy(to + sample_bytes(p, q, a), &x.sight, sizeof x.sight);
  }
  free(memory);
  return s;
}

/* ---------------------------------------------------------------- on rank 0 */

/* Merges the limits of a part into those of the others. */
static void add_sight(Sight *to, const char *from) {
  Sight x;
  memcpy(&x, from, sizeof x);
  to->least = x.least < to->least ? x.least : to->least;
  to->most = x.most > to->most ? x.most : to->most;
  if (x.nan >= 0 && (to->nan < 0 || x.nan < to->nan))
    to->nan = x.nan;
}

/* Sends the share of part `part` to rank 0, and copies it there into the array `data` of all requested values. Messages
 * are exchanged even after an error. */
static StcStatus bring_part(StcPlan *p, const PartPlan *part, const Question *q, char *data, Sight *sight,
                            StcStatus s) {
  Net *net = p->split->net;
  int rank = p->split->rank;
  Answer a;
  bool leads = split_leads(p->split);
  if (!find_answer(p, part, q, &a) || (!leads && !part->plan))
    return s;
  size_t samples = sample_bytes(p, q, &a), bytes = samples + (q->seen ? sizeof(Sight) : 0);
  char *memory = room(p, q->field, (int64_t)bytes, &s);
  if (part->plan && !s)
    s = pack(p, part, q, &a, memory);
  if (part->rank != 0 && memory)
    net_message(net, leads ? part->rank : 0, !leads, memory, bytes);
  if (leads && !s && count_points(rank, &a.samples)) {
    CellArray all = {0};
    for (int d = 0; d < rank; d++)
      all.hi[d] = q->count[d] - 1;
    Runs r = runs_of(rank, a.samples.lo, a.samples.hi, &a.samples, &all);
    runs_each(&r, cells_copy, &(CellCopy){data, memory, point_bytes(p, q)});
  }
  if (leads && !s && q->seen)
    add_sight(sight, memory + samples);
  free(memory);
  return s;
}

/* Does this for all parts. */
static StcStatus bring(StcPlan *p, const Question *q, char *data, Sight *sight) {
  const Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = 0; i < split->nparts; i++)
    s = bring_part(p, &split->part[i], q, data, sight, s);
  return split_agree(p, s);
}

/* Sends the request to all ranks. */
static StcStatus ask(StcPlan *p, Question *q, const StcFieldInfo *points, const StcFieldInfo *samples, void *data,
                     Sight *sight) {
  for (int d = 0; d < points->rank; d++) {
    q->points.lo[d] = points->first[d];
    q->points.hi[d] = points->first[d] + points->shape[d] - 1;
    q->count[d] = samples->shape[d];
  }
  p->split->net->broadcast(p->split->net, q, sizeof *q, 0);
  return bring(p, q, data, sight);
}

StcStatus gather_ask(StcPlan *p, int field, int component, const StcFieldInfo *points, void *data) {
  Question q = {.field = field, .component = component};
  return ask(p, &q, points, points, data, NULL);
}

StcStatus gather_shown(StcPlan *p, int field, int component, const StcFieldInfo *points, const StcFieldInfo *samples,
                       void *data, Sight *sight) {
  Question q = {.field = field, .component = component, .seen = true};
  *sight = unseen;
  return ask(p, &q, points, samples, data, sight);
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
    bring(p, &q, NULL, NULL);
  }
}
