/* evaluate.c: reductions and probes where no rank has the whole grid. For each of them a program of its own lets every
 * part compute the values at its points (pass distribute, option watch) from the part's own fields. The rank that has
 * the first point of a row of a reduction's region (ir/run/run.h) collects the values of that row; rank 0 collects
 * those of rows, combines them and sends the result to all. So the order is that of a single device, and no rank
 * receives more than a number for each row. If rows are not cut, devices that launch kernels combine their values
 * themselves. A reduction's first kernel combines as many rows at once as it has blocks (lower-reduce.c): then each
 * block has a row of its own, and its value. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The most values of rows that are sent from rank to rank at once. */
enum { BATCH = 1 << 21 };

/* A watch: one of the program's reductions and, after those, probes. around: its values depend on other points than
 * their own. plan: of the parts of this rank. rows: the plans compute the values of rows, into memory of their device
 * at value[part], with room for all rows; else those of points, in their last field. */
struct Watching {
  StcProgram *program;
  bool around, rows;
  StcPlan **plan;
  void **value;
};

/* ---------------------------------------------------------------- making the plans */

bool body_looks_around(const Module *m, const Box *box, const Block *body) {
  for (const Op *op = body->first; op; op = op->next) {
    if (op->code != OP_ACCESS)
      continue;
    if (box_inside(box, &m->fields[op->sym].box) != 1)
      return true;
    for (int d = 0; d < box->rank; d++)
      if (op->off[d])
        return true;
  }
  return false;
}

bool update_is_watched(const Update *u) {
  bool watched = false;
  for (const Op *op = u->body->first; op; op = op->next)
    watched = watched || op->code == OP_ACCESS || (op_info[op->code].flags & OPF_INEXACT);
  return watched;
}

/* The number of the field with the values of a plan; for values of rows, the number of its fields. */
static int value_field(const StcPlan *q) { return q->module->nfields - (q->module->nreductions ? 0 : 1); }

/* Is launch-time array `i` of the plan of a watch an array of the part? Scalars that are kept are. If there is a plan
 * of the whole grid, which gives its arrays only to the parts, all are. */
static bool is_lent(const StcPlan *p, const StcPlan *q, int i) {
  int whole = module_find_param_array(p->program->reference, q->module->param_arrays[i].name);
  return !p->split->lean || (whole >= 0 && p->program->reference->param_arrays[whole].role == ARRAY_STATE);
}

/* Allocates the memory that the plan does not share; its fields are those of part `part`, which it gets when it runs.
 */
static StcStatus take_memory(const StcPlan *p, StcPlan *q) {
  StcStatus s = STC_OK;
  for (int i = 0; i < q->module->nparam_arrays; i++)
    if (is_lent(p, q, i) && array_slot(q, i))
      array_slot(q, i)->foreign = true;
  for (int f = 0; f < value_field(q); f++)
    if (field_slot(q, f))
      field_slot(q, f)->foreign = true;
  for (int i = 0; i < q->memory.nslots && !s; i++)
    if (!q->memory.slots[i].foreign)
      s = device_alloc(&q->device, "the values that a reduction or probe looks at", q->memory.slots[i].size + 16, 0,
                       &q->memory.slots[i].memory);
  return s;
}

/* Do the parts of this rank compute the values of rows for reduction `k`? */
static bool gives_rows(const StcPlan *p, int k) {
  const Split *s = p->split;
  const Module *m = p->program->reference;
  int update = k - m->nreductions - m->nprobes;
  bool reduces = k < m->nreductions || (update >= 0 && !update_is_point(&m->updates[update]));
  return reduces && s->rank > 1 && s->parts[s->rank - 1] == 1 && !p->device.kind->whole;
}

/* The body of number `k` of reductions, probes and updates, and its region. */
static const Block *watched_body(const Module *m, int k, const Box **box) {
  int probe = k - m->nreductions, update = probe - m->nprobes;
  *box = probe < 0 ? &m->reductions[k].over : update < 0 ? &m->probes[probe].box : &m->updates[update].over;
  return probe < 0 ? m->reductions[k].body : update < 0 ? m->probes[probe].body : m->updates[update].body;
}

/* Must parts evaluate number `k`? If a rank has the whole grid, only those within steps; never those within a step that
 * read no field. */
static bool is_needed(const StcPlan *p, int k) {
  const Module *m = p->program->reference;
  if (k < m->nreductions + m->nprobes)
    return p->split->lean || (k < m->nreductions && m->reductions[k].loop);
  return update_is_watched(&m->updates[k - m->nreductions - m->nprobes]);
}

StcStatus watching_open(StcPlan *p, const char *cut) {
  Split *s = p->split;
  const Module *m = p->program->reference;
  StcStatus st = STC_OK;
  int n = m->nreductions + m->nprobes + (s->phases ? m->nupdates : 0);
  s->watching = ARENA_ARRAY(p->w.arena, Watching, n + 1);
  for (int k = 0; k < n && !st; k++) {
    Watching *w = &s->watching[s->nwatching++];
    const Box *box;
    const Block *body = watched_body(m, k, &box);
    if (!is_needed(p, k))
      continue;
    w->around = body_looks_around(m, box, body);
    w->plan = ARENA_ARRAY(p->w.arena, StcPlan *, s->end - s->begin + 1);
    w->value = ARENA_ARRAY(p->w.arena, void *, s->end - s->begin + 1);
    w->rows = gives_rows(p, k);
    st = program_watch(p->program, cut, k, w->rows, s->lean, &w->program);
  }
  return st;
}

/* The bytes of the values of all rows of part `i`. */
static size_t rows_bytes(const Split *s, int i) {
  size_t bytes = sizeof(Const);
  for (int d = 0; d < s->rank - 1; d++)
    bytes *= (size_t)(s->part[i].hi[d] - s->part[i].lo[d] + 1);
  return bytes;
}

StcStatus watching_add_part(StcPlan *p, int i, const char *device, int n, const char *const *defines) {
  Split *s = p->split;
  StcStatus st = STC_OK;
  for (int k = 0; k < s->nwatching && !st; k++) {
    if (!s->watching[k].program)
      continue;
    StcPlan **q = &s->watching[k].plan[i - s->begin];
    st = plan_prepare(s->watching[k].program, device, n, defines, q);
    if (st)
      return st;
    (*q)->facade = (*q)->run.replay.impossible = true;
    st = plan_reset(*q, n, defines);
    if (!st)
      st = take_memory(p, *q);
    if (!st && s->watching[k].rows)
      st = device_alloc(&(*q)->device, "the values of a reduction's rows", rows_bytes(s, i), 0,
                        &s->watching[k].value[i - s->begin]);
  }
  return st;
}

void watching_close(StcPlan *p) {
  Split *s = p->split;
  for (int k = 0; k < s->nwatching && s->watching; k++) {
    for (int i = s->begin; i < s->end && s->watching[k].plan; i++) {
      StcPlan *q = s->watching[k].plan[i - s->begin];
      if (q && s->watching[k].value[i - s->begin])
        q->device.kind->release(&q->device, s->watching[k].value[i - s->begin], rows_bytes(s, i));
      stc_plan_free(q);
    }
    stc_program_free(s->watching[k].program);
  }
  s->nwatching = 0;
}

StcStatus watching_set_array(StcPlan *p, int array, const void *data, size_t bytes) {
  Split *s = p->split;
  const char *name = p->program->module->param_arrays[array].name;
  StcStatus st = STC_OK;
  for (int k = 0; k < s->nwatching && !st; k++)
    for (int i = s->begin; i < s->end && !st && s->watching[k].program; i++) {
      StcPlan *q = s->watching[k].plan[i - s->begin];
      q->facade = false;
      st = stc_plan_set_array(q, stc_program_find_array(q->program, name), data, bytes);
      q->facade = true;
    }
  int a = module_find_param_array(p->module, name);
  if (st || a < 0 || !p->module->nlists)
    return st;
  free(p->lists.coordinates[a]);
  p->lists.coordinates[a] = malloc(bytes + 1);
  if (!p->lists.coordinates[a])
    return computer_no_room(p->w.context, "the coordinates of points", name, (double)bytes);
  memcpy(p->lists.coordinates[a], data, bytes);
  return STC_OK;
}

/* ---------------------------------------------------------------- evaluating on the parts */

/* Gives the simulator a copy of the part's knowledge of ghost cells, because that ages with the run. */
static void lend_ghosts(StcPlan *q, const StcPlan *part, int64_t age, int64_t exchanged) {
  if (!q->ghosts) {
    q->ghosts = ARENA_NEW(q->w.arena, Ghosts);
    *q->ghosts = *part->ghosts;
    q->ghosts->levels = ARENA_ARRAY(q->w.arena, int64_t *, q->module->nfields + 1);
  }
  q->ghosts->age = age;
  q->ghosts->exchanged = exchanged;
  for (int f = 0; f < value_field(q); f++) {
    int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
    int mine = module_find_field(part->module, q->module->fields[f].name);
    int64_t **to = &q->ghosts->levels[f], *from = mine < 0 ? NULL : part->ghosts->levels[mine];
    if (from && !*to)
      *to = ARENA_ARRAY(q->w.arena, int64_t, n + 1);
    if (from)
      memcpy(*to, from, (size_t)n * sizeof *from);
  }
}

void split_lend_array(StcPlan *q, int i, const StcPlan *part) {
  int own = module_find_param_array(part->module, q->module->param_arrays[i].name);
  if (own >= 0 && array_slot(q, i) && array_slot(part, own))
    array_slot(q, i)->memory = array_slot(part, own)->memory;
}

void split_lend_reductions(StcPlan *q, const StcPlan *p) {
  for (int i = 0; i < q->module->nscalars; i++) {
    int whole = q->module->scalars[i].is_reduction ? module_find_scalar(p->module, q->module->scalars[i].name) : -1;
    if (whole >= 0)
      q->scalars[i] = p->scalars[whole];
  }
}

/* Gives the plan the present fields of the part, and the values of reductions. */
static void lend_part(StcPlan *q, const StcPlan *part, const Split *s, const StcPlan *p) {
  for (int f = 0; f < value_field(q); f++) {
    int mine = module_find_field(part->module, q->module->fields[f].name);
    Slot *slot = field_slot(q, f), *own = mine < 0 ? NULL : field_slot(part, mine);
    if (slot && own)
      slot->memory = own->memory;
  }
  for (int i = 0; i < q->module->nparam_arrays; i++) {
    if (is_lent(p, q, i))
      split_lend_array(q, i, part);
  }
  split_lend_reductions(q, p);
  if (part->ghosts)
    lend_ghosts(q, part, s->age, split_level(p));
}

/* Computes the values of watch number `k` on part `i`. */
static StcStatus look(StcPlan *p, int k, int i) {
  StcPlan *q = p->split->watching[k].plan[i - p->split->begin];
  lend_part(q, p->split->part[i].plan, p->split, p);
  q->run.first = q->run.done = p->run.done;
  q->run.inits_done = q->run.evaluated = true;
  StcStatus s = plan_run_steps(q, 1, true, NULL);
  return s ? s : q->device.kind->wait(&q->device);
}

/* ---------------------------------------------------------------- rows that parts evaluate */

/* The rows of a reduction's region that a part owns, [lo .. hi] in the dimensions before the last; the part's plan, and
 * the memory for the values: the argument of compute_own_rows. */
typedef struct OwnRows {
  StcPlan *q;
  int rank;
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  char *to;
} OwnRows;

/* Their number. */
static int64_t count_rows(const OwnRows *x) {
  int64_t n = 1;
  for (int d = 0; d < x->rank - 1; d++)
    n *= x->hi[d] >= x->lo[d] ? x->hi[d] - x->lo[d] + 1 : 0;
  return n;
}

/* The rows of reduction `k` that part `i` owns; none of an empty region. */
static OwnRows own_rows(StcPlan *p, int k, int i) {
  const Split *s = p->split;
  const Box *over;
  watched_body(p->program->reference, k, &over);
  int last = s->rank - 1;
  bool any = affine_eval(over->lo[last], p->scalars, NULL) <= affine_eval(over->hi[last], p->scalars, NULL);
  OwnRows x = {.q = s->watching[k].plan[i - s->begin], .rank = s->rank, .to = s->watching[k].value[i - s->begin]};
  for (int d = 0; d < last; d++) {
    int64_t lo = affine_eval(over->lo[d], p->scalars, NULL), hi = affine_eval(over->hi[d], p->scalars, NULL);
    x.lo[d] = lo > s->part[i].lo[d] ? lo : s->part[i].lo[d];
    x.hi[d] = !any ? x.lo[d] - 1 : hi < s->part[i].hi[d] ? hi : s->part[i].hi[d];
  }
  return x;
}

/* Computes the values of the rows [lo .. hi], at most REDUCE_BLOCKS of them, and stores them from row number `first`
 * on. */
static StcStatus compute_rows(const OwnRows *x, const int64_t *lo, const int64_t *hi, int64_t first, int64_t n) {
  StcPlan *q = x->q;
  const Reduction *own = &q->module->reductions[0], *r = &q->build->code.module->reductions[0];
  for (int d = 0; d < x->rank - 1; d++) {
    q->scalars[own->over.lo[d].t[0].scalar].i = lo[d];
    q->scalars[own->over.hi[d].t[0].scalar].i = hi[d];
  }
  StcStatus s = plan_ops(q, 1, r->seq.ops);
  return s ? s
           : q->device.kind->copy(&q->device, x->to + first * (int64_t)sizeof(Const), buffer_slot(q, r->result)->memory,
                                  (size_t)n * sizeof(Const));
}

/* Computes the rows of lines [lo .. hi] in all dimensions before those of rows, `step` rows at once. */
static StcStatus compute_lines(const OwnRows *x, int64_t *lo, int64_t *hi, int64_t step, int64_t *done) {
  int last = x->rank - 2;
  StcStatus s = STC_OK;
  for (int64_t at = x->lo[last]; at <= x->hi[last] && !s; at += step) {
    int64_t n = 1;
    lo[last] = at;
    hi[last] = at + step - 1 < x->hi[last] ? at + step - 1 : x->hi[last];
    for (int d = 0; d <= last; d++)
      n *= hi[d] - lo[d] + 1;
    s = compute_rows(x, lo, hi, *done, n);
    *done += n;
  }
  return s;
}

/* Computes all rows: several lines at once if they are short, else some of the rows of a line. In a grid of three
 * dimensions with members, rows of different members are separate. */
static StcStatus compute_own_rows(void *arg) {
  const OwnRows *x = arg;
  int last = x->rank - 2;
  int64_t line = x->hi[last] - x->lo[last] + 1, step = line < REDUCE_BLOCKS ? line : REDUCE_BLOCKS, done = 0;
  int64_t together = REDUCE_BLOCKS / step, lo[MAX_RANK] = {0}, hi[MAX_RANK] = {0};
  StcStatus s = STC_OK;
  if (last == 0)
    return compute_lines(x, lo, hi, step, &done);
  int64_t slices = last > 1 ? x->hi[0] - x->lo[0] + 1 : 1;
  for (int64_t slice = 0; slice < slices; slice++) {
    lo[0] = hi[0] = x->lo[0] + slice;
    for (int64_t at = x->lo[last - 1]; at <= x->hi[last - 1] && !s; at += together) {
      lo[last - 1] = at;
      hi[last - 1] = at + together - 1 < x->hi[last - 1] ? at + together - 1 : x->hi[last - 1];
      s = compute_lines(x, lo, hi, step, &done);
    }
  }
  return s;
}

/* Issues the computation of the rows of part `i` for reduction `k`, without waiting. */
static StcStatus look_at_rows(StcPlan *p, int k, int i) {
  OwnRows x = own_rows(p, k, i);
  lend_part(x.q, p->split->part[i].plan, p->split, p);
  x.q->run.first = x.q->run.done = p->run.done;
  x.q->run.inits_done = x.q->run.evaluated = true;
  return count_rows(&x) ? workspace_guard(&x.q->w, compute_own_rows, &x) : STC_OK;
}

/* The values of the rows of part `i`, in order, in new memory (malloc, in *own). NULL after an error. */
static const char *fetch_rows(StcPlan *p, int k, int i, char **own, StcStatus *s) {
  OwnRows x = own_rows(p, k, i);
  size_t bytes = (size_t)count_rows(&x) * sizeof(Const);
  *own = *s ? NULL : malloc(bytes + 1);
  if (!*s && !*own)
    *s = computer_no_room(p->w.context, "the values of", "a reduction's rows", (double)bytes);
  if (!*s)
    *s = x.q->device.kind->wait(&x.q->device);
  if (!*s && bytes)
    *s = x.q->device.kind->fetch(&x.q->device, *own, x.to, bytes);
  return *s ? NULL : *own;
}

/* ---------------------------------------------------------------- values of points */

/* The values of watch `k` on part `i` as an array *at: in new memory (malloc, in *own), or in their place. NULL after
 * an error. */
static const char *fetch_values(StcPlan *p, int k, int i, CellArray *at, char **own, StcStatus *s) {
  StcPlan *q = p->split->watching[k].plan[i - p->split->begin];
  const Slot *slot = field_slot(q, value_field(q));
  PartPlan place = {.module = q->module, .scalars = q->scalars};
  *at = part_array(&place, value_field(q));
  *own = NULL;
  if (*s || q->device.kind->dlpack == DEVICE_MEMORY_HERE)
    return *s ? NULL : slot->memory;
  *own = malloc(slot->size + 1);
  if (!*own)
    *s = computer_no_room(p->w.context, "what", "a reduction looks at", (double)slot->size);
  if (!*s && slot->size)
    *s = q->device.kind->fetch(&q->device, *own, slot->memory, slot->size);
  return *s ? NULL : *own;
}

/* ---------------------------------------------------------------- rows */

/* A strip: whole rows of a region on the points [lo .. hi], which parts begin .. end - 1 share. The rank of part
 * `begin` leads it. */
typedef struct Strip {
  int begin, end;
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Strip;

/* An evaluation. over: its region. values: of the parts of this rank, each as an array `at`, or, if `given`, the values
 * of their rows. rows, n: those of the strips that this rank leads, in order. */
typedef struct Rows {
  StcPlan *p;
  const Reduction *r;
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  const char **values;
  CellArray *at;
  bool given;
  Const *rows;
  int64_t n;
} Rows;

void *split_must_have(StcPlan *p, const char *what, double bytes) {
  void *memory = malloc((size_t)bytes + 1);
  if (!memory)
    split_die(p, what, bytes);
  return memory;
}

/* The number of rows of a strip. */
static int64_t strip_rows(const Split *s, const Strip *x) {
  int64_t n = 1;
  for (int d = 0; d < s->rank - 1; d++)
    n *= x->hi[d] >= x->lo[d] ? x->hi[d] - x->lo[d] + 1 : 0;
  return n;
}

/* The points of the strip that part `i` has in the last dimension: the first one; returns their number. */
static int64_t part_points(const Split *s, const Strip *x, int i, int64_t *first) {
  int d = s->rank - 1;
  int64_t lo = x->lo[d] > s->part[i].lo[d] ? x->lo[d] : s->part[i].lo[d],
          hi = x->hi[d] < s->part[i].hi[d] ? x->hi[d] : s->part[i].hi[d];
  *first = lo;
  return hi >= lo ? hi - lo + 1 : 0;
}

/* Calls fn for all strips of the region, in order. */
static void each_strip(Rows *r, void (*fn)(Rows *r, const Strip *x, void *user), void *user) {
  const Split *s = r->p->split;
  int last = s->rank - 1, across = (int)s->parts[last];
  for (int i = 0; i < s->nparts; i += s->rank > 1 ? across : s->nparts) {
    Strip x = {.begin = i, .end = i + across};
    for (int d = 0; d < s->rank; d++) {
      bool cut = d < last;
      x.lo[d] = cut && s->part[i].lo[d] > r->lo[d] ? s->part[i].lo[d] : r->lo[d];
      x.hi[d] = cut && s->part[i].hi[d] < r->hi[d] ? s->part[i].hi[d] : r->hi[d];
    }
    if (s->rank > 1 && x.hi[last] >= x.lo[last] && strip_rows(s, &x) > 0)
      fn(r, &x, user);
  }
  for (int64_t at = r->lo[0]; s->rank == 1 && at <= r->hi[0]; at += REDUCE_ROW) {
    Strip x = {.lo = {at}, .hi = {at + REDUCE_ROW - 1 < r->hi[0] ? at + REDUCE_ROW - 1 : r->hi[0]}};
    while (s->part[x.begin].hi[0] < at)
      x.begin++;
    for (x.end = x.begin + 1; x.end < s->nparts && s->part[x.end].lo[0] <= x.hi[0];)
      x.end++;
    fn(r, &x, user);
  }
}

/* The values of row number `k` of the strip on part `i`, which is on this rank. */
static const Const *row_at(const Rows *r, const Strip *x, int i, int64_t k) {
  const Split *s = r->p->split;
  const CellArray *a = &r->at[i - s->begin];
  int last = s->rank - 1;
  int64_t at[MAX_RANK] = {0}, cell = 0;
  part_points(s, x, i, &at[last]);
  for (int d = last - 1; d >= 0; d--) {
    int64_t extent = x->hi[d] - x->lo[d] + 1;
    at[d] = x->lo[d] + k % extent;
    k /= extent;
  }
  for (int d = 0; d < s->rank; d++)
    cell = cell * (a->hi[d] - a->lo[d] + 1) + at[d] - a->lo[d];
  return (const Const *)(const void *)r->values[i - s->begin] + cell;
}

/* Copies the values of `n` rows of the strip from number `first` on that part `i`, on this rank, has to `out`, whose
 * rows are `width` values long. */
static void take_rows(const Rows *r, const Strip *x, int i, int64_t first, int64_t n, int64_t width, Const *out) {
  int64_t from, points = part_points(r->p->split, x, i, &from);
  for (int64_t k = 0; k < n; k++)
    memcpy(out + k * width, row_at(r, x, i, first + k), (size_t)points * sizeof *out);
}

/* Collects `n` rows of the strip on the rank that leads it, at `lines`, which other ranks do not have. */
static void bring_rows(Rows *r, const Strip *x, int64_t first, int64_t n, int64_t width, Const *lines) {
  const Split *s = r->p->split;
  int leader = s->part[x->begin].rank;
  for (int i = x->begin; i < x->end; i++) {
    int64_t from, points = part_points(s, x, i, &from);
    bool mine = s->part[i].plan != NULL;
    Const *at = lines ? lines + from - x->lo[s->rank - 1] : NULL;
    if (!points || (!mine && !lines))
      continue;
    if (mine && lines) {
      take_rows(r, x, i, first, n, width, at);
      continue;
    }
    size_t bytes = (size_t)(n * points) * sizeof *lines;
    Const *packed = split_must_have(r->p, "the values of a reduction", (double)bytes);
    if (mine)
      take_rows(r, x, i, first, n, points, packed);
    net_message(s->net, mine ? leader : s->part[i].rank, mine, packed, bytes);
    for (int64_t k = 0; k < n && lines; k++)
      memcpy(at + k * width, packed + k * points, (size_t)points * sizeof *at);
    free(packed);
  }
}

/* Computes the values of the strip's rows on the rank that leads it (an each_strip callback). */
static void compute_strip(Rows *r, const Strip *x, void *user) {
  const Split *s = r->p->split;
  int64_t width = x->hi[s->rank - 1] - x->lo[s->rank - 1] + 1, n = strip_rows(s, x),
          batch = BATCH / width > 1 ? BATCH / width : 1;
  bool leads = s->part[x->begin].plan != NULL, any = leads;
  (void)user;
  for (int i = x->begin; i < x->end; i++)
    any |= s->part[i].plan != NULL;
  if (!any)
    return;
  if (r->given) {
    memcpy(r->rows + r->n, r->values[x->begin - s->begin], (size_t)n * sizeof *r->rows);
    r->n += n;
    return;
  }
  for (int64_t k = 0; k < n && x->end - x->begin == 1; k++)
    r->rows[r->n++] = reduce_row(r->r->op, r->r->type, row_at(r, x, x->begin, k), width);
  if (x->end - x->begin == 1)
    return;
  batch = batch < n ? batch : n;
  Const *lines =
      leads ? split_must_have(r->p, "the values of a reduction", (double)(batch * width) * sizeof *lines) : NULL;
  for (int64_t first = 0, now; first < n; first += now) {
    now = n - first < batch ? n - first : batch;
    bring_rows(r, x, first, now, width, lines);
    for (int64_t k = 0; k < now && leads; k++)
      r->rows[r->n++] = reduce_row(r->r->op, r->r->type, lines + k * width, width);
  }
  free(lines);
}

/* Counts rows by the rank that leads them (an each_strip callback; user: a number for each rank). */
static void count_strip(Rows *r, const Strip *x, void *user) {
  int64_t *count = user;
  count[r->p->split->part[x->begin].rank] += strip_rows(r->p->split, x);
}

/* For each rank, the next of its rows; and their place in the order of the region. */
typedef struct Placing {
  Const **from, *to;
} Placing;

/* Copies the strip's rows to their places (an each_strip callback; user: a Placing). */
static void place_strip(Rows *r, const Strip *x, void *user) {
  const Split *s = r->p->split;
  Placing *place = user;
  Const **from = &place->from[s->part[x->begin].rank];
  int64_t n = strip_rows(s, x);
  if (s->rank == 1)
    place->to[(x->lo[0] - r->lo[0]) / REDUCE_ROW] = *(*from)++;
  for (int64_t k = 0; k < n && s->rank > 1; k++) {
    int64_t rest = k, at[MAX_RANK] = {0}, row = 0;
    for (int d = s->rank - 2; d >= 0; d--) {
      int64_t extent = x->hi[d] - x->lo[d] + 1;
      at[d] = x->lo[d] + rest % extent;
      rest /= extent;
    }
    for (int d = 0; d < s->rank - 1; d++)
      row = row * (r->hi[d] - r->lo[d] + 1) + at[d] - r->lo[d];
    place->to[row] = *(*from)++;
  }
}

/* Combines the values of all rows into `n` values, of equal numbers of rows, on rank 0; the others send theirs. count:
 * rows by rank, `all` in total. */
static void combine_rows(Rows *r, const int64_t *count, int64_t all, int64_t n, Const *values) {
  Net *net = r->p->split->net;
  int size = net ? net->size : 1;
  if (net && net->rank > 0) {
    if (r->n)
      net_message(net, 0, true, r->rows, (size_t)r->n * sizeof *r->rows);
    return;
  }
  Const *from[size], *next[size], *rows = split_must_have(r->p, "the values of rows", (double)all * sizeof *rows);
  for (int i = 0; i < size; i++) {
    from[i] = i ? split_must_have(r->p, "the values of rows", (double)count[i] * sizeof *rows) : r->rows;
    next[i] = from[i];
    if (i && count[i])
      net_message(net, i, false, from[i], (size_t)count[i] * sizeof *rows);
  }
  each_strip(r, place_strip, &(Placing){next, rows});
  for (int64_t k = 0; k < n; k++)
    values[k] = reduce_rows(r->r->op, r->r->type, rows + all / n * k, all / n);
  for (int i = 1; i < size; i++)
    free(from[i]);
  free(rows);
}

/* Computes the reduction's `n` values from the values at the points of all parts; they are the same on all ranks. */
static void reduce_parts(Rows *r, int64_t n, Const *values) {
  Net *net = r->p->split->net;
  int size = net ? net->size : 1;
  int64_t count[size], all = 0;
  memset(count, 0, sizeof count);
  each_strip(r, count_strip, count);
  for (int i = 0; i < size; i++)
    all += count[i];
  r->rows = split_must_have(r->p, "the values of rows", (double)count[net ? net->rank : 0] * sizeof *r->rows);
  each_strip(r, compute_strip, NULL);
  combine_rows(r, count, all, n, values);
  free(r->rows);
  if (net)
    net->broadcast(net, values, (size_t)n * sizeof *values, 0);
}

/* ---------------------------------------------------------------- reductions */

/* Number `k` of reductions, probes and updates, which is no probe, as a reduction. The value of an update over a single
 * point remains as it is. */
static Reduction reduction_of(const StcPlan *p, int k) {
  const Module *m = p->program->reference;
  if (k < m->nreductions)
    return p->module->reductions[k];
  const Update *u = &m->updates[k - m->nreductions - m->nprobes];
  return (Reduction){.name = update_name(m, u),
                     .op = update_is_point(u) ? OP_MAX : u->op,
                     .each = u->each,
                     .type = u->type,
                     .over = u->over};
}

bool watching_looks_around(const StcPlan *p, int k) { return p->split->watching[k].around; }

StcStatus watching_value(StcPlan *p, int k, StcStatus s, Const *values_of) {
  Split *split = p->split;
  int here = split->end - split->begin;
  const char *values[here];
  CellArray at[here];
  char *own[here];
  bool rows = split->watching[k].rows;
  Reduction reduction = reduction_of(p, k);
  Rows r = {.p = p, .r = &reduction, .values = values, .at = at, .given = rows};
  memset(own, 0, sizeof own);
  for (int d = 0; d < split->rank; d++) {
    r.lo[d] = affine_eval(r.r->over.lo[d], p->scalars, NULL);
    r.hi[d] = affine_eval(r.r->over.hi[d], p->scalars, NULL);
  }
  for (int i = 0; i < here && !s; i++)
    s = (rows ? look_at_rows : look)(p, k, split->begin + i);
  for (int i = 0; i < here && !s; i++)
    values[i] = rows ? fetch_rows(p, k, split->begin + i, &own[i], &s)
                     : fetch_values(p, k, split->begin + i, &at[i], &own[i], &s);
  s = split_agree(p, s);
  if (!s)
    reduce_parts(&r, reduction_values(p->module, &reduction, p->scalars), values_of);
  for (int i = 0; i < here; i++)
    free(own[i]);
  return s;
}

StcStatus watching_tell(StcPlan *p, int k, StcStatus s, int64_t done, bool *stop) {
  const Reduction *r = &p->module->reductions[k];
  int64_t n = reduction_values(p->module, r, p->scalars);
  ReductionTold told = {p->module, r, p->scalars, done, plan_take_value, p, false, false};
  Const *values = split_must_have(p, "the values of a reduction", (double)n * sizeof *values);
  s = watching_value(p, k, s, values);
  for (int64_t i = 0; i < n && !s; i++)
    s = reduction_tell(&told, i, values[i], stop, p->w.diags) ? STC_OK : STC_INPUT;
  free(values);
  return s;
}

/* Evaluates reduction number `k`, on all ranks. */
static StcStatus evaluate(StcPlan *p, int k) {
  bool stop = false;
  return watching_tell(p, k, STC_OK, p->run.done, &stop);
}

/* ---------------------------------------------------------------- probes */

/* The part that owns the point; -1: none. */
static int owner_of(const Split *s, const int64_t *at) {
  for (int i = 0; i < s->nparts; i++) {
    bool mine = true;
    for (int d = 0; d < s->rank; d++)
      mine = mine && at[d] >= s->part[i].lo[d] && at[d] <= s->part[i].hi[d];
    if (mine)
      return i;
  }
  return -1;
}

/* The value of watch `k` at a point that part `i`, of this rank, owns. */
static StcStatus fetch_point(StcPlan *p, int k, int i, const int64_t *at, size_t size, char *out) {
  StcPlan *q = p->split->watching[k].plan[i - p->split->begin];
  PartPlan place = {.module = q->module, .scalars = q->scalars};
  CellArray a = part_array(&place, value_field(q));
  int64_t cell = 0;
  for (int d = 0; d < p->split->rank; d++)
    cell = cell * (a.hi[d] - a.lo[d] + 1) + at[d] - a.lo[d];
  const char *from = (const char *)field_slot(q, value_field(q))->memory + cell * (int64_t)size;
  return q->device.kind->fetch(&q->device, out, from, size);
}

/* The coordinates of point number `n` of the probe. */
static void probe_point(const StcPlan *p, const Probe *x, int64_t n, int64_t at[MAX_RANK]) {
  const PointList *l = probe_list(p->module, x);
  for (int d = 0; d < p->split->rank; d++)
    at[d] = affine_eval(x->box.lo[d], p->scalars, NULL);
  if (l)
    list_point(p->module, l, p->scalars, p->lists.coordinates, n, at);
}

/* Fills in the values of a row, of `n`, whose points this rank owns. */
static StcStatus fill_row(StcPlan *p, const Probe *x, int k, int64_t n, size_t size, char *row) {
  StcStatus s = STC_OK;
  int64_t at[MAX_RANK];
  for (int64_t point = 0; point < n && !s; point++) {
    probe_point(p, x, point, at);
    int owner = owner_of(p->split, at);
    if (owner >= 0 && p->split->part[owner].plan)
      s = fetch_point(p, k, owner, at, size, row + (size_t)point * size);
  }
  return s;
}

/* Selects each value of a row from the rank that owns its point; `all` has the rows of all ranks. */
static void join_row(const StcPlan *p, const Probe *x, int64_t n, size_t size, const char *all, char *row) {
  int64_t at[MAX_RANK];
  for (int64_t point = 0; point < n; point++) {
    probe_point(p, x, point, at);
    int owner = owner_of(p->split, at), rank = owner < 0 ? 0 : p->split->part[owner].rank;
    memcpy(row + (size_t)point * size, all + ((size_t)rank * (size_t)n + (size_t)point) * size, size);
  }
}

/* Records probe number `i` on all ranks now. */
static StcStatus see(StcPlan *p, int i) {
  Split *split = p->split;
  const Module *m = p->module;
  const Probe *x = &m->probes[i];
  const PointList *l = probe_list(m, x);
  int k = m->nreductions + i;
  int64_t n = list_length(m, l, p->scalars);
  size_t size = (size_t)type_size(x->type), bytes = (size_t)n * size;
  StcStatus s = !l || list_check(m, l, p->scalars, p->lists.coordinates, p->w.diags) ? STC_OK : STC_INPUT;
  char *row = calloc(bytes + 1, 1), *all = split_must_have(p, "what a probe sees", (double)bytes * split->net->size);
  for (int part = split->begin; part < split->end && !s; part++)
    s = look(p, k, part);
  if (!s)
    s = row ? fill_row(p, x, k, n, size, row) : computer_no_room(p->w.context, "what", "a probe sees", (double)bytes);
  s = split_agree(p, s);
  if (!s) {
    split->net->gather(split->net, row, bytes, all);
    join_row(p, x, n, size, all, row);
    plan_take_row(p, x, p->run.done, row);
  }
  free(row);
  free(all);
  return s;
}

/* ---------------------------------------------------------------- when they are due */

/* Is watch number `k` due now? */
static bool is_due(const StcPlan *p, int k) {
  const Module *m = p->module;
  return k < m->nreductions ? reduction_is_due(&m->reductions[k], 0, p->run.done)
                            : p->run.done % m->probes[k - m->nreductions].every == 0;
}

bool watching_needs_ghosts(const StcPlan *p) {
  for (int k = 0; k < p->module->nreductions + p->module->nprobes; k++)
    if (p->split->watching[k].around && is_due(p, k))
      return true;
  return false;
}

StcStatus watching_evaluate(StcPlan *p, bool probes) {
  const Module *m = p->module;
  StcStatus s = STC_OK;
  for (int i = 0; i < m->nprobes && !s && probes; i++)
    if (is_due(p, m->nreductions + i))
      s = see(p, i);
  if (probes)
    p->lists.unseen = p->run.done + 1;
  for (int k = 0; k < m->nreductions && !s; k++)
    if (is_due(p, k))
      s = evaluate(p, k);
  return s;
}
