/* step-work.c: the least work of a time step of a program under any schedule: the reference for limits. */
#include "passes/launch/launch.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/cost/count.h"
#include "passes/base/tuning.h"

/* The multiplication that addition `op` can absorb: a product that nothing else uses. */
static bool takes_product(const Op *op, const int *uses) {
  if (op->code != OP_ADD && op->code != OP_SUB)
    return false;
  for (int i = 0; i < 2; i++) {
    const Op *def = op->operands[i]->def;
    if (def && def->code == OP_MUL && uses[op->operands[i]->id] == 1 && type_is_float(op->operands[i]->type))
      return true;
  }
  return false;
}

/* Are roots and quotients of `m` tested together on target `t` (NULL: on none)? */
static bool has_ranged(const TargetInfo *t, const Module *m) { return t && t->range_guards && !m->fast_math; }

/* Adds the cost of an op for a point on target `t` (NULL: any) to *w and *k: in the part `share` of all steps, less
 * `taken` for a product that it absorbs; roots and quotients are tested together if `ranged`. */
static void count_op(const TargetInfo *t, const Op *op, double share, bool taken, bool ranged, Work *w, KernelWork *k) {
  Type type = op->nresults ? op->results[0]->type : TY_NONE;
  double all = op_additions(op), n = all - taken;
  bool f64 = type == TY_F64;
  *(f64 ? &w->f64_ops : &w->f32_ops) += share * n;
  k->instructions +=
      f64 && t && t->extreme_f64 > 0 && op_is_extreme(op)
          ? share * t->extreme_f64
          : share * (ranged ? op_ranged_additions(op) - taken : n) * (type == TY_I64 || (f64 && all > 1) ? 2 : 1);
  k->f64 += f64 ? share * (all > 1 ? op_f64_operations(op) : n) : 0;
  k->chained += f64 && all > 1 ? share * op_f64_operations(op) : 0;
  k->special += all > 1 && type_is_float(type) ? share * op_special(op) : 0;
}

/* Adds the cost of the ops of `body`, whose values are numbered here, for a point; ops on scalars alone are not
 * counted. */
static void count_ops(const TargetInfo *t, const Module *m, Block *body, Work *w, KernelWork *k) {
  int n = 0;
  const double *share = body_step_shares(m->arena, body);
  for (const Op *op = body->first; op; op = op->next)
    n += op->nresults;
  int *uses = ARENA_ARRAY(m->arena, int, n + 1);
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]++;
  for (const Op *op = body->first; op; op = op->next)
    if (!op_is_of_scalars(op))
      count_op(t, op, op->nresults ? share[op->results[0]->id] : 1,
               (m->contract || m->fast_math) && takes_product(op, uses), has_ranged(t, m), w, k);
}

/* The same for the piece of `st` with the greatest cost, rare ones left out. */
static void count_stencil(const TargetInfo *t, const Module *m, const Stencil *st, Work *w, KernelWork *k) {
  *w = (Work){0};
  *k = (KernelWork){0};
  const bool *rare = rare_pieces(m, st);
  for (int i = 0; i < st->npieces; i++) {
    Work own = {0};
    KernelWork point = {0};
    if (rare[i])
      continue;
    count_ops(t, m, st->pieces[i].body, &own, &point);
    if (own.f32_ops + 2 * own.f64_ops <= w->f32_ops + 2 * w->f64_ops)
      continue;
    *w = own;
    *k = point;
  }
}

/* The state of counting accesses: which fields are read from memory and written, and which an earlier stencil of the
 * step has written. */
typedef struct Touched {
  bool *read, *written;
} Touched;

/* Notes the fields that the pieces of `st` read and write. */
static void note_touched(const Stencil *st, Touched *t) {
  for (int k = 0; k < st->npieces; k++)
    for (const Op *op = st->pieces[k].body->first; op; op = op->next)
      if (op->code == OP_ACCESS && !t->written[op->sym])
        t->read[op->sym] = true;
  for (int i = 0; i < st->ntargets; i++)
    t->written[st->targets[i]] = true;
}

/* Bytes for each of `points` points of the grid. */
static double step_bytes(const Module *m, const Const *scalars, double points) {
  Touched t = {ARENA_ARRAY(m->arena, bool, m->nfields + 1), ARENA_ARRAY(m->arena, bool, m->nfields + 1)};
  double bytes = 0;
  for (int i = 0; i < m->nstencils; i++)
    note_touched(&m->stencils[i], &t);
  for (int f = 0; f < m->nfields; f++) {
    int64_t shape[MAX_RANK];
    if (!m->fields[f].temp)
      bytes += (t.read[f] + t.written[f]) * type_size(m->fields[f].type) *
               (double)field_shape(&m->fields[f], scalars, shape) / points;
  }
  return bytes;
}

void stencil_work(const Module *m, const Stencil *st, Work *w) {
  Work own;
  KernelWork point;
  count_stencil(NULL, m, st, &own, &point);
  w->f32_ops += own.f32_ops;
  w->f64_ops += own.f64_ops;
}

void stencil_point_work(const TargetInfo *t, const Module *m, const Stencil *st, KernelWork *w) {
  Work own;
  KernelWork point;
  count_stencil(t, m, st, &own, &point);
  w->instructions += point.instructions;
  w->f64 += point.f64;
  w->chained += point.chained;
  w->special += point.special;
}

/* Instructions of a point of `st` near an edge for the pieces other than the main one. */
static double edge_pieces(const TargetInfo *t, const Module *m, const Stencil *st) {
  const Piece *most = main_piece(m->arena, st);
  double sum = 0;
  for (int k = 0; k < st->npieces; k++) {
    Work own = {0};
    KernelWork point = {0};
    if (&st->pieces[k] == most)
      continue;
    count_ops(t, m, st->pieces[k].body, &own, &point);
    sum += point.instructions + measured.edge_piece;
  }
  return sum;
}

double launch_edge_pieces(const TargetInfo *t, const Launch *l) {
  double sum = 0;
  for (int i = 0; i < l->n; i++)
    sum += edge_pieces(t, l->m, &l->st[i]);
  return sum;
}

/* Does `op`, of a module of `rank` dimensions, read a field at another point than its own? */
static bool reads_beside(const Op *op, int rank) {
  bool beside = false;
  for (int d = 0; d < rank && op->code == OP_ACCESS; d++)
    beside = beside || op->off[d] != 0;
  return beside;
}

bool module_turns(const Module *m) {
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces; k++)
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        if (reads_beside(op, m->grid.rank) && outside_any(&m->fields[op->sym]))
          return true;
  return false;
}

Work step_work(const Module *m, const Const *scalars) {
  int64_t shape[MAX_RANK];
  Field whole = {.name = "grid", .box = m->grid};
  Work w = {.bytes = step_bytes(m, scalars, (double)field_shape(&whole, scalars, shape))};
  for (int i = 0; i < m->nstencils; i++)
    stencil_work(m, &m->stencils[i], &w);
  return w;
}
