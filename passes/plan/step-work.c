/* step-work.c: what a time step of a program takes at least, whatever its schedule: the yardstick of limits. */
#include "passes/plan/estimate.h"

/* The multiplication that addition `op` can take in: a factor that nothing else uses. */
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

/* Adds the operations of `body`, whose values are numbered here. */
static void count_ops(const Module *m, Block *body, double *f32, double *f64) {
  int n = 0;
  for (Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->id = n++;
  int *uses = ARENA_ARRAY(m->arena, int, n + 1);
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]++;
  for (const Op *op = body->first; op; op = op->next) {
    double weight = op_additions(op) - ((m->contract || m->fast_math) && takes_product(op, uses));
    *(op->nresults && op->results[0]->type == TY_F64 ? f64 : f32) += weight;
  }
}

/* What counting accesses needs: which fields are read from memory and written, and which an earlier stencil of the step
 * has written. */
typedef struct Touched {
  bool *read, *written;
} Touched;

/* Notes what the pieces of `st` read and write. */
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
  double f32 = 0, f64 = 0;
  for (int k = 0; k < st->npieces; k++) {
    double x = 0, y = 0;
    count_ops(m, st->pieces[k].body, &x, &y);
    if (x + 2 * y <= f32 + 2 * f64)
      continue;
    f32 = x;
    f64 = y;
  }
  w->f32_ops += f32;
  w->f64_ops += f64;
}

Work step_work(const Module *m, const Const *scalars) {
  int64_t shape[MAX_RANK];
  Field whole = {.name = "grid", .box = m->grid};
  Work w = {.bytes = step_bytes(m, scalars, (double)field_shape(&whole, scalars, shape))};
  for (int i = 0; i < m->nstencils; i++)
    stencil_work(m, &m->stencils[i], &w);
  return w;
}
