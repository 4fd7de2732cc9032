/* derive.c: derivatives of ops and of scalars that are computed at launch, and the check whether a program has a
 * gradient. */
#include "ir/ir.h"

#include <math.h>

/* ---- one op */

/* The derivatives of an op of two floats, whose value is `v`, with respect to them. */
static void binary(Opcode code, double x, double y, double v, double *dx, double *dy) {
  switch (code) {
  case OP_ADD: *dx = 1, *dy = 1; break;
  case OP_SUB: *dx = 1, *dy = -1; break;
  case OP_MUL: *dx = y, *dy = x; break;
  case OP_DIV: *dx = 1 / y, *dy = -v / y; break;
  case OP_REM: *dx = 1, *dy = -trunc(x / y); break;
  case OP_MIN: *dx = x <= y || isnan(y), *dy = 1 - *dx; break;
  case OP_MAX: *dx = x >= y || isnan(y), *dy = 1 - *dx; break;
  case OP_POW:
    *dx = y == 0 ? 0 : y * pow(x, y - 1);
    *dy = x == 0 && y > 0 ? 0 : v * log(x);
    break;
  case OP_ATAN2: *dx = y / (x * x + y * y), *dy = -x / (x * x + y * y); break;
  case OP_COPYSIGN: *dx = signbit(x) == signbit(y) ? 1 : -1; break;
  default: break;
  }
}

/* The derivative of an op of one float, whose value is `v`. */
static double unary(Opcode code, double x, double v) {
  switch (code) {
  case OP_NEG: return -1;
  case OP_ABS: return x >= 0 ? 1 : -1;
  case OP_SQRT: return 0.5 / v;
  case OP_RSQRT: return -0.5 * v * v * v;
  case OP_EXP: return v;
  case OP_LOG: return 1 / x;
  case OP_LOG2: return M_LOG2E / x;
  case OP_LOG10: return M_LOG10E / x;
  case OP_SIN: return cos(x);
  case OP_COS: return -sin(x);
  case OP_TAN: return 1 + v * v;
  case OP_TANH: return 1 - v * v;
  case OP_CBRT: return 1 / (3 * v * v);
  case OP_ASIN: return 1 / sqrt(1 - x * x);
  case OP_ACOS: return -1 / sqrt(1 - x * x);
  case OP_ATAN: return 1 / (1 + x * x);
  case OP_SINH: return cosh(x);
  case OP_COSH: return sinh(x);
  case OP_ERF: return M_2_SQRTPI * exp(-x * x);
  case OP_FLOOR:
  case OP_CEIL:
  default: return 0; /* a function without a rule here: ir_eval_test reports it */
  }
}

void op_partials(const Op *op, const Const *in, Const out, double partial[3]) {
  partial[0] = partial[1] = partial[2] = 0;
  if (!type_is_float(op->results[0]->type))
    return;
  switch (op->code) {
  case OP_SELECT: partial[in[0].i ? 1 : 2] = 1; return;
  case OP_CONVERT: partial[0] = type_is_float(op->operands[0]->type); return;
  case OP_FMA: partial[0] = in[1].f, partial[1] = in[0].f, partial[2] = 1; return;
  default: break;
  }
  if (op->noperands == 2)
    binary(op->code, in[0].f, in[1].f, out.f, &partial[0], &partial[1]);
  else if (op->noperands == 1)
    partial[0] = unary(op->code, in[0].f, out.f);
}

/* ---- scalars */

/* For each scalar s that `b` depends on: adds `seed` times the derivative of b's value with respect to s to bar[s]. */
static void pull_expr(Arena *a, const Block *b, const Const *scalars, double seed, double *bar) {
  int n = block_renumber((Block *)b, 0);
  Const *value = ARENA_ARRAY(a, Const, n + 1), in[3];
  double *adjoint = ARENA_ARRAY(a, double, n + 1), partial[3];
  for (const Op *op = b->first; op && op->code != OP_YIELD; op = op->next) {
    for (int i = 0; i < op->noperands && i < 3; i++)
      in[i] = value[op->operands[i]->id];
    value[op->results[0]->id] = op->code == OP_CONST    ? op->cval
                                : op->code == OP_SCALAR ? scalars[op->sym]
                                                        : eval_op(op, in);
  }
  adjoint[b->last->operands[0]->id] = seed;
  for (const Op *op = b->last->prev; op; op = op->prev) {
    double g = adjoint[op->results[0]->id];
    if (g == 0 || !type_is_float(op->results[0]->type))
      continue;
    if (op->code == OP_SCALAR)
      bar[op->sym] += g;
    for (int i = 0; i < op->noperands && i < 3; i++)
      in[i] = value[op->operands[i]->id];
    op_partials(op, in, value[op->results[0]->id], partial);
    for (int i = 0; i < op->noperands && i < 3; i++)
      adjoint[op->operands[i]->id] += partial[i] != 0 ? partial[i] * g : 0;
  }
}

void scalars_pull(Arena *a, const Module *m, const Const *scalars, double *bar) {
  for (int s = m->nscalars - 1; s >= 0; s--)
    if (m->scalars[s].expr && !m->scalars[s].is_param && type_is_float(m->scalars[s].type) && bar[s] != 0)
      pull_expr(a, m->scalars[s].expr, scalars, bar[s], bar);
}

/* ---- programs */

bool reduction_has_gradient(const Module *m, int32_t scalar) {
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    if (r->scalar == scalar)
      return r->kind == REDUCE_VALUE && !r->loop && r->op != OP_MUL;
  }
  return false;
}

/* Reports the first op of `b`, code of `what`, that yields a number and has no derivative so far. within: `b` is in a
 * step, so that it may read values that are reduced between steps. */
static bool check_body(const Module *m, Diags *d, const Block *b, bool within, const char *what, const char *name) {
  for (const Op *op = b->first; op; op = op->next) {
    bool reduced = op->code == OP_SCALAR && m->scalars[op->sym].is_reduction;
    if (reduced && !(within && reduction_has_gradient(m, op->sym))) {
      diag_error(d, op->loc,
                 "%s '%s' reads '%s', the value of a 'reduce' there: what is made of it has no gradient yet; "
                 "make it a scalar that the step updates: scalar r = 0; update r = sum(...) over G;",
                 what, name, m->scalars[op->sym].name);
      return false;
    }
  }
  return true;
}

/* Checks that no param's default depends on a param with respect to which the losses are differentiated, or on a let
 * that does. of: by scalar, such a param that it depends on, NULL: none. False after reporting one. */
static bool check_defaults(const Module *m, Diags *d, const char **of) {
  for (int i = 0; i < m->nby; i++)
    if (m->by[i].kind == BY_PARAM)
      of[m->by[i].index] = m->scalars[m->by[i].index].name;
  for (int s = 0; s < m->nscalars; s++)
    for (const Op *op = m->scalars[s].expr ? m->scalars[s].expr->first : NULL; op; op = op->next) {
      if (op->code != OP_SCALAR || !of[op->sym])
        continue;
      if (!m->scalars[s].is_param) {
        of[s] = of[op->sym];
        continue;
      }
      diag_error(d, m->scalars[s].loc,
                 "the default of param '%s' is made of '%s', and who runs the program may say another one, so it is "
                 "not known whether it changes with that: make '%s' a let",
                 m->scalars[s].name, m->scalars[op->sym].name, m->scalars[s].name);
      return false;
    }
  return true;
}

/* Checks that no launch-time array that is computed at launch, such as the coefficients of absorbing layers or weights
 * of derivatives, depends on the inputs with respect to which the losses are differentiated. made_of: as check_defaults
 * sets it. False after reporting one. */
static bool check_computed(const Module *m, Diags *d, const char *const *made_of) {
  const char *of = NULL;
  for (int i = 0; i < m->nparam_arrays && !of; i++) {
    const ParamArray *a = &m->param_arrays[i];
    for (const Op *op = a->role == ARRAY_VALUES ? a->value->first : NULL; op && !of; op = op->next)
      of = op->code == OP_SCALAR ? made_of[op->sym] : NULL;
    for (int k = 0; k < m->nby && a->role == ARRAY_WEIGHTS; k++)
      if (m->by[k].kind == BY_ARRAY && m->by[k].index == a->from)
        of = m->param_arrays[a->from].name;
    if (of)
      diag_error(d, a->loc,
                 a->role == ARRAY_VALUES ? "what an absorbing layer multiplies by is computed of '%s' when launching, "
                                           "which has no gradient yet: take that out of the gradient"
                                         : "the weights of derivatives are computed of '%s' when launching, which has "
                                           "no gradient yet: take that out of the gradient",
                 of);
  }
  return !of;
}

/* Checks that the update is no product over all points that depends on the inputs with respect to which the losses are
 * differentiated: if one factor is 0, its derivative is the product of all others. False after reporting. */
static bool check_product(const Module *m, const bool *changing, Diags *d, const Update *u) {
  if (u->op != OP_MUL || !changing[u->state] || box_is_point(&u->over))
    return true;
  diag_error(
      d, u->loc,
      "scalar '%s' is a product over all points, which changes with what the gradient is to, and has no gradient "
      "yet: take the exponential of the sum of logarithms, where all are positive",
      update_name(m, u));
  return false;
}

bool gradient_check(const Module *m, Diags *d) {
  const char **of = ARENA_ARRAY(m->arena, const char *, m->nscalars + 1);
  bool ok = true;
  if (m->level != LEVEL_SIR || !m->nby || !m->nlosses) {
    diag_error(
        d, no_loc(),
        "the program says no gradient; write what is to be differentiated and by what: loss misfit += ... over G "
        "at end; gradient misfit to v;");
    return false;
  }
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].kind == REDUCE_UNTIL) {
      if (m->reductions[i].loop)
        diag_error(d, m->reductions[i].loc,
                   "'until' ends rounds when the values say so, and then their number has no derivative: leave it out, "
                   "and say how many rounds are to be made");
      else
        diag_error(d, m->reductions[i].loc,
                   "'until' ends runs when the values say so, and then the number of steps has no derivative: leave it "
                   "out, and say how many steps are to be made");
      return false;
    }
  if (module_sweep(m)) {
    diag_error(d, module_sweep(m)->loc,
               "'%s' is a sweep, through which there is no gradient yet: leave the gradient out",
               module_sweep(m)->name);
    return false;
  }
  if (module_scaled(m)) {
    diag_error(d, module_scaled(m)->loc,
               "'%s' reads another level of the grid, through which there is no gradient yet: leave the gradient out",
               module_scaled(m)->name);
    return false;
  }
  const bool *changing = states_changing(m->arena, m);
  for (int i = 0; i < m->ninits + m->nstencils; i++) {
    const Stencil *s = i < m->ninits ? &m->inits[i] : &m->stencils[i - m->ninits];
    for (int k = 0; k < s->npieces; k++)
      ok = ok && check_body(m, d, s->pieces[k].body, i >= m->ninits, i < m->ninits ? "init" : "stencil", s->name);
  }
  for (int i = 0; i < m->nupdates; i++)
    ok = ok && check_product(m, changing, d, &m->updates[i]) &&
         check_body(m, d, m->updates[i].body, true, "scalar", update_name(m, &m->updates[i]));
  for (int i = 0; i < m->nlosses; i++)
    ok = ok && check_body(m, d, m->losses[i].body, false, "loss", m->losses[i].name);
  return ok && check_defaults(m, d, of) && check_computed(m, d, of);
}

bool loss_is_due(const Loss *l, int64_t step, int64_t last) {
  return l->factor != 0 && (l->every ? step % l->every == 0 : step == last);
}
