/* tape-body.c: the derivatives of a body that has just run (reverse mode), op by op from the last to the first, as sums
 * in f64. The share of each value that the body reads is added where it was read from. */
#include "ir/interp/interp.h"

/* The state: the body's run at `n` points from `p` on, and the adjoint of each of its rows. */
typedef struct Pull {
  Interp *in;
  const int64_t *p;
  int n;
  double *rows;
  const Bars *bars;
} Pull;

static double *row_of(const Pull *x, int32_t row) { return x->rows + (size_t)row * CHUNK; }

/* `g` is the adjoint of an access that crosses the odd sides in `list`; returns the adjoint of the cell's value. Each
 * side changes the sign; if it is odd about a scalar, adds twice the adjoint to that scalar's. */
static double across(const Pull *x, const FieldState *f, const int *list, int n, double g) {
  for (int i = n - 1; i >= 0; i--) {
    const Side *s = &f->field->sides[list[i]];
    if (s->about)
      x->bars->scalar[s->about - 1] += 2 * g;
    g = -g;
  }
  return g;
}

/* Handles an access: adds to the adjoints of the cells that it read. */
static void pull_access(const Pull *x, const RowOp *r) {
  const FieldState *f = &x->in->fields[r->op->sym];
  int last = x->in->rank - 1, list[MAX_RANK * MOST_ODD], crossed;
  double *bar = x->bars->field[r->op->sym];
  for (int i = 0; i < x->n; i++) {
    int64_t at[MAX_RANK];
    for (int k = 0; k <= last; k++)
      at[k] = x->p[k] + r->op->off[k] + (k == last ? i : 0);
    int64_t cell = interp_locate(f, at, list, &crossed);
    for (int c = 0; c < f->ncomponents && cell >= 0; c++) {
      double g = row_of(x, r->dst + c)[i];
      if (g != 0 && type_is_float(f->components[c].type))
        bar[cell * f->ncomponents + c] += across(x, f, list, crossed, g);
    }
  }
}

/* Handles an element of a launch-time array. */
static void pull_element(const Pull *x, const RowOp *r) {
  const ParamArray *a = &x->in->m->param_arrays[r->op->sym];
  int64_t extent = param_array_extent(a, x->in->b->scalars);
  const Const *index = x->in->rows + (size_t)r->a * CHUNK;
  for (int i = 0; i < x->n && extent > 0 && type_is_float(a->type); i++) {
    int64_t k = index[i].i < 0 ? 0 : index[i].i < extent ? index[i].i : extent - 1;
    x->bars->array[r->op->sym][k] += row_of(x, r->dst)[i];
  }
}

/* Handles an op that computes: adds to the adjoints of its operands. If the adjoint of its result is 0, the operands
 * get 0, whatever the derivative is. */
static void pull_op(const Pull *x, const RowOp *r) {
  const int32_t operand[3] = {r->a, r->b, r->c};
  const double *g = row_of(x, r->dst);
  for (int i = 0; i < x->n; i++) {
    Const in[3];
    double partial[3];
    if (g[i] == 0)
      continue;
    for (int k = 0; k < r->op->noperands; k++)
      in[k] = x->in->rows[(size_t)operand[k] * CHUNK + (size_t)i];
    op_partials(r->op, in, x->in->rows[(size_t)r->dst * CHUNK + (size_t)i], partial);
    for (int k = 0; k < r->op->noperands; k++)
      if (partial[k] != 0)
        row_of(x, operand[k])[i] += partial[k] * g[i];
  }
}

void tape_pull(Interp *in, const InterpBody *body, const int64_t *p, int n, int nseeds, const Seed *seeds, double *rows,
               const Bars *bars) {
  const Pull x = {in, p, n, rows, bars};
  memset(rows, 0, sizeof *rows * (size_t)body->nrows * CHUNK);
  for (int v = 0; v < nseeds; v++)
    for (int c = 0; c < seeds[v].n; c++)
      for (int i = 0; i < n; i++)
        row_of(&x, body->yield[v][c])[i] += seeds[v].at[c * CHUNK + i];
  for (int k = body->nops - 1; k >= 0; k--) {
    const RowOp *r = &body->ops[k];
    Type t = r->op->results[0]->type;
    if (r->op->code == OP_ACCESS)
      pull_access(&x, r);
    else if (!type_is_float(t) || r->op->noperands > 3)
      continue;
    else if (r->op->code == OP_ELEMENT)
      pull_element(&x, r);
    else if (r->op->code == OP_SCALAR)
      for (int i = 0; i < n; i++)
        bars->scalar[r->op->sym] += row_of(&x, r->dst)[i];
    else
      pull_op(&x, r);
  }
}
