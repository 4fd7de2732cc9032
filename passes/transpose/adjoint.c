/* adjoint.c: undoes a body: from the derivatives with respect to its results computes those with respect to each value,
 * op by op from the last to the first. The derivative with respect to an access is its contribution.
 *
 * A derivative is a list of terms: a value at the point, times a factor that is the same at all points, under a
 * condition on the point's coordinates. Factors and conditions stay apart as long as only such are met, so that
 * accesses which differ only in their weight, or which only some points make, share the field from which others
 * gather. */
#include "passes/transpose/transpose.h"

#include <math.h>

/* A list with more terms is added up at the point. */
enum { MOST_TERMS = 4 };

Type bar_type(Type t) { return t == TY_F64 ? TY_F64 : TY_F32; }

/* ---- forward values */

/* The values of the body that are equal at all points, by Value.id. */
static bool *uniform_values(const Undo *u) {
  bool *same = ARENA_ARRAY(u->x->a, bool, block_renumber((Block *)u->body, 0) + 1);
  for (const Op *op = u->body->first; op; op = op->next) {
    bool all = op->nresults && op->code != OP_ACCESS && op->code != OP_INDEX && op->code != OP_ELEMENT &&
               op->code != OP_RANDOM && op->code != OP_NORMAL;
    for (int i = 0; i < op->noperands; i++)
      all = all && same[op->operands[i]->id];
    if (op->nresults)
      same[op->results[0]->id] = all;
  }
  return same;
}

/* The values that depend on the point's coordinates only and are computed by integers and conditions, so that they can
 * be computed for the point anywhere else. */
static bool *placed_values(const Undo *u) {
  bool *placed = ARENA_ARRAY(u->x->a, bool, block_renumber((Block *)u->body, 0) + 1);
  for (const Op *op = u->body->first; op; op = op->next) {
    bool all = op->nresults && (u->same[op->results[0]->id] ||
                                (!type_is_float(op->results[0]->type) && op->code != OP_ACCESS &&
                                 op->code != OP_ELEMENT && op->code != OP_RANDOM && op->code != OP_NORMAL));
    for (int i = 0; i < op->noperands; i++)
      all = all && placed[op->operands[i]->id];
    if (op->nresults)
      placed[op->results[0]->id] = all;
  }
  return placed;
}

/* May `op` have a result that is not finite although its operands are? `fixed`: not if it divides by a value that
 * depends on params only, because the program could then make no step at all. */
static bool may_overflow(const Op *op, const bool *fixed) {
  switch (op->code) {
  case OP_DIV:
  case OP_REM: return !fixed[op->operands[1]->id];
  case OP_SQRT:
  case OP_RSQRT:
  case OP_LOG:
  case OP_LOG2:
  case OP_LOG10:
  case OP_TAN:
  case OP_ASIN:
  case OP_ACOS:
  case OP_EXP:
  case OP_SINH:
  case OP_COSH:
  case OP_POW: return true;
  default: return false;
  }
}

/* The values of `body` that need not be finite although the program's own results are: in a branch that is not taken,
 * or in the step that was never made. *fixed: the values computed from constants and params only. A number that the
 * step updates counts like the code that computes it, if there is any. */
static bool *loose_values(const Transpose *x, const Block *body, bool **fixed) {
  size_t n = (size_t)block_renumber((Block *)body, 0) + 1;
  bool *loose = ARENA_ARRAY(x->a, bool, n), *own = *fixed = ARENA_ARRAY(x->a, bool, n), *of_code;
  for (const Op *op = body->first; op; op = op->next) {
    if (!op->nresults)
      continue;
    int id = op->results[0]->id;
    bool reduced = op->code == OP_SCALAR && x->m->scalars[op->sym].is_reduction;
    own[id] = op->code == OP_CONST || (op->code == OP_SCALAR && !reduced) ||
              (op->noperands && op->code != OP_ELEMENT && op->code != OP_RANDOM && op->code != OP_NORMAL);
    for (int i = 0; i < op->noperands; i++) {
      own[id] = own[id] && own[op->operands[i]->id];
      loose[id] = loose[id] || loose[op->operands[i]->id];
    }
    if (op->code == OP_ELEMENT && x->m->param_arrays[op->sym].role == ARRAY_STATE) {
      const Block *code = x->states[op->sym].code;
      loose[id] = !code || loose_values(x, code, &of_code)[code->last->operands[0]->id];
    }
    loose[id] = type_is_float(op->results[0]->type) && !own[id] && (loose[id] || may_overflow(op, own));
  }
  return loose;
}

/* An access to the field with the former value of the forward field. */
static Value *clone_access(Undo *u, const Op *op) {
  int32_t field = u->version[op->sym];
  u->x->needed[field] = true;
  return build_access(&u->b, op->results[0]->type, field, op->off, u->x->m->grid.rank);
}

Value *undo_clone(Undo *u, const Value *v) {
  const Op *op = v->def;
  Value *operands[8];
  if (u->clone[v->id])
    return u->clone[v->id];
  for (int i = 0; i < op->noperands; i++)
    operands[i] = undo_clone(u, op->operands[i]);
  u->b.loc = op->loc;
  switch (op->code) {
  case OP_ACCESS: u->clone[v->id] = clone_access(u, op); break;
  case OP_INDEX: u->clone[v->id] = build_dim(&u->b, OP_INDEX, op->sym); break;
  case OP_STEP: u->clone[v->id] = u->number; break;
  case OP_CONST: u->clone[v->id] = build_const(&u->b, v->type, op->cval); break;
  case OP_SCALAR: u->clone[v->id] = build_scalar(&u->b, v->type, op->sym); break;
  case OP_ELEMENT:
    u->clone[v->id] = u->x->m->param_arrays[op->sym].role == ARRAY_STATE
                          ? state_value(u, op->sym)
                          : build_element(&u->b, v->type, op->sym, operands[0]);
    break;
  default: u->clone[v->id] = build_op(&u->b, op->code, v->type, op->noperands, operands)->results[0];
  }
  return u->clone[v->id];
}

/* ---- sums */

Value *term_value(Builder *b, Term t) {
  Value *v = t.factor ? build2(b, OP_MUL, t.factor, t.base) : t.base;
  return t.where ? build3(b, OP_SELECT, t.where, v, build_float(b, v->type, 0)) : v;
}

/* The derivative with respect to forward value `v` as one value. */
static Value *total(Undo *u, const Value *v) {
  Adjoint *a = &u->adjoint[v->id];
  Value *sum = NULL;
  for (int i = 0; i < a->n; i++) {
    Value *x = term_value(&u->b, a->terms[i]);
    sum = sum ? build2(&u->b, OP_ADD, sum, x) : x;
  }
  a->n = 0;
  ARENA_PUSH(u->x->a, a->terms, a->n, ((Term){.base = sum}));
  return sum;
}

/* Adds a term to the derivative with respect to `v`, if `v` varies. */
static void give_term(Undo *u, const Value *v, Term t) {
  Adjoint *a = &u->adjoint[v->id];
  if (!u->varies[v->id])
    return;
  for (int i = 0; i < a->n; i++)
    if (a->terms[i].factor == t.factor && a->terms[i].where == t.where) {
      a->terms[i].base = build2(&u->b, OP_ADD, a->terms[i].base, t.base);
      return;
    }
  ARENA_PUSH(u->x->a, a->terms, a->n, t);
  if (a->n > MOST_TERMS)
    total(u, v);
}
static void give(Undo *u, const Value *v, Value *factor, Value *base) {
  give_term(u, v, (Term){.factor = factor, .base = base});
}

/* Adds all terms of the derivative with respect to `from`, times `factor` (NULL: 1), to the derivative with respect to
 * `to`. */
static void hand_on(Undo *u, const Value *from, const Value *to, Value *factor) {
  Adjoint *a = &u->adjoint[from->id];
  Type t = bar_type(to->type);
  for (int i = 0; i < a->n && u->varies[to->id]; i++) {
    Term x = a->terms[i];
    Value *f = x.factor ? build_convert(&u->b, t, x.factor) : NULL;
    f = f && factor ? build2(&u->b, OP_MUL, f, factor) : f ? f : factor;
    give_term(u, to, (Term){f, build_convert(&u->b, t, x.base), x.where});
  }
}

/* ---- ops */

static Value *number(Undo *u, Type t, double v) { return build_float(&u->b, t, v); }
static Value *times(Undo *u, Value *x, Value *y) { return build2(&u->b, OP_MUL, x, y); }
static Value *squared(Undo *u, Value *x) { return times(u, x, x); }
static Value *one_less(Undo *u, Value *x) { return build2(&u->b, OP_SUB, number(u, x->type, 1), x); }
static Value *one_more(Undo *u, Value *x) { return build2(&u->b, OP_ADD, number(u, x->type, 1), x); }
static Value *quotient(Undo *u, Value *x, Value *y) { return build2(&u->b, OP_DIV, x, y); }

/* `g` times the derivative `d`, which need not be finite; 0 where g is 0. */
static Value *guarded(Undo *u, Value *g, Value *d) {
  Value *none = number(u, g->type, 0);
  return build3(&u->b, OP_SELECT, build2(&u->b, OP_EQ, g, none), none, times(u, g, d));
}

/* Reports that the derivative of function `op` is not supported. */
static void unknown_derivative(Undo *u, const Op *op) {
  diag_error(u->x->c->diags, op->loc, "the gradient of %s is not computed yet; write it by functions that have one",
             op_info[op->code].name);
  u->x->failed = true;
}

/* The derivative of `op`, with one operand `x` and the result `v`. *finite: it is finite wherever x is. NULL: the
 * derivative is 0. */
static Value *unary(Undo *u, const Op *op, Value *x, Value *v, bool *finite) {
  Type t = x->type;
  *finite = true;
  switch (op->code) {
  case OP_ABS:
    return build3(&u->b, OP_SELECT, build2(&u->b, OP_GE, x, number(u, t, 0)), number(u, t, 1), number(u, t, -1));
  case OP_EXP: return v;
  case OP_SIN: return build1(&u->b, OP_COS, x);
  case OP_COS: return build1(&u->b, OP_NEG, build1(&u->b, OP_SIN, x));
  case OP_TANH: return one_less(u, squared(u, v));
  case OP_ATAN: return quotient(u, number(u, t, 1), one_more(u, squared(u, x)));
  case OP_SINH: return build1(&u->b, OP_COSH, x);
  case OP_COSH: return build1(&u->b, OP_SINH, x);
  case OP_ERF: return times(u, number(u, t, M_2_SQRTPI), build1(&u->b, OP_EXP, build1(&u->b, OP_NEG, squared(u, x))));
  default: break;
  }
  *finite = false;
  switch (op->code) {
  case OP_SQRT: return quotient(u, number(u, t, 0.5), v);
  case OP_RSQRT: return times(u, number(u, t, -0.5), times(u, v, squared(u, v)));
  case OP_LOG: return quotient(u, number(u, t, 1), x);
  case OP_LOG2: return quotient(u, number(u, t, M_LOG2E), x);
  case OP_LOG10: return quotient(u, number(u, t, M_LOG10E), x);
  case OP_TAN: return one_more(u, squared(u, v));
  case OP_CBRT: return quotient(u, number(u, t, 1), times(u, number(u, t, 3), squared(u, v)));
  case OP_ASIN: return quotient(u, number(u, t, 1), build1(&u->b, OP_SQRT, one_less(u, squared(u, x))));
  case OP_ACOS: return quotient(u, number(u, t, -1), build1(&u->b, OP_SQRT, one_less(u, squared(u, x))));
  case OP_FLOOR:
  case OP_CEIL: return NULL;
  default: break;
  }
  if (op_info[op->code].flags & OPF_FUNCTION)
    unknown_derivative(u, op);
  return NULL;
}

/* `g` times forward value `v`. */
static Value *times_value(Undo *u, Value *g, const Value *v) {
  return u->loose[v->id] ? guarded(u, g, undo_clone(u, v)) : times(u, g, undo_clone(u, v));
}

/* min and max: the derivative goes to the chosen operand, the first one if both are equal; NaN is not chosen. */
static void undo_choice(Undo *u, const Op *op, Value *g) {
  Value *x = undo_clone(u, op->operands[0]), *y = undo_clone(u, op->operands[1]), *none = number(u, g->type, 0);
  Value *first = build2(&u->b, op->code == OP_MIN ? OP_LE : OP_GE, x, y);
  first = build2(&u->b, OP_OR, first, build2(&u->b, OP_NE, y, y));
  give(u, op->operands[0], NULL, build3(&u->b, OP_SELECT, first, g, none));
  give(u, op->operands[1], NULL, build3(&u->b, OP_SELECT, first, none, g));
}

/* pow; base and exponent may vary. */
static void undo_pow(Undo *u, const Op *op, Value *g) {
  Value *x = undo_clone(u, op->operands[0]), *y = undo_clone(u, op->operands[1]), *none = number(u, g->type, 0);
  if (u->varies[op->operands[0]->id]) {
    Value *d = times(u, y, build2(&u->b, OP_POW, x, build2(&u->b, OP_SUB, y, number(u, g->type, 1))));
    d = build3(&u->b, OP_SELECT, build2(&u->b, OP_EQ, y, none), none, d);
    give(u, op->operands[0], NULL, guarded(u, g, d));
  }
  if (u->varies[op->operands[1]->id]) {
    Value *d = times(u, undo_clone(u, op->results[0]), build1(&u->b, OP_LOG, x));
    Value *flat = build2(&u->b, OP_AND, build2(&u->b, OP_EQ, x, none), build2(&u->b, OP_GT, y, none));
    give(u, op->operands[1], NULL, guarded(u, g, build3(&u->b, OP_SELECT, flat, none, d)));
  }
}

/* x / y. */
static void undo_quotient(Undo *u, const Op *op) {
  const Value *a = op->operands[0], *b = op->operands[1], *v = op->results[0];
  Value *y = undo_clone(u, b), *one = number(u, y->type, 1);
  if (u->fixed[b->id] && !u->varies[b->id]) {
    hand_on(u, v, a, quotient(u, one, y));
    return;
  }
  Value *share = guarded(u, total(u, v), quotient(u, one, y));
  give(u, a, NULL, share);
  if (u->varies[b->id])
    give(u, b, NULL, guarded(u, share, build1(&u->b, OP_NEG, undo_clone(u, v))));
}

/* x * y: an operand that is the same at all points stays a factor. */
static void undo_product(Undo *u, const Op *op) {
  for (int i = 0; i < 2; i++) {
    const Value *of = op->operands[i], *other = op->operands[1 - i];
    if (!u->varies[of->id])
      continue;
    if (u->same[other->id] && !u->loose[other->id])
      hand_on(u, op->results[0], of, undo_clone(u, other));
    else
      give(u, of, NULL, times_value(u, total(u, op->results[0]), other));
  }
}

/* The other ops with two operands. */
static void undo_binary(Undo *u, const Op *op, Value *g) {
  Value *x = undo_clone(u, op->operands[0]), *y = undo_clone(u, op->operands[1]);
  if (op->code == OP_ATAN2) {
    Value *r = build2(&u->b, OP_ADD, squared(u, x), squared(u, y));
    give(u, op->operands[0], NULL, guarded(u, g, quotient(u, y, r)));
    give(u, op->operands[1], NULL, guarded(u, g, build1(&u->b, OP_NEG, quotient(u, x, r))));
  } else if (op->code == OP_COPYSIGN) {
    Value *one = number(u, g->type, 1);
    Value *sign = times(u, build2(&u->b, OP_COPYSIGN, one, x), build2(&u->b, OP_COPYSIGN, one, y));
    give(u, op->operands[0], NULL, times(u, g, sign));
  } else if (op->code == OP_REM) {
    give(u, op->operands[0], NULL, g);
    if (u->varies[op->operands[1]->id]) {
      diag_error(u->x->c->diags, op->loc, "the gradient of a remainder by its divisor is not computed yet");
      u->x->failed = true;
    }
  } else if (op_info[op->code].flags & OPF_FUNCTION) {
    unknown_derivative(u, op);
  }
}

/* A select by a condition on the coordinates; the condition becomes part of the terms. */
static void undo_choice_of_place(Undo *u, const Op *op) {
  Adjoint *a = &u->adjoint[op->results[0]->id];
  Value *c = undo_clone(u, op->operands[0]), *other = build1(&u->b, OP_NOT, c);
  for (int i = 0; i < a->n; i++) {
    Term x = a->terms[i], first = x, second = x;
    first.where = x.where ? build2(&u->b, OP_AND, x.where, c) : c;
    second.where = x.where ? build2(&u->b, OP_AND, x.where, other) : other;
    give_term(u, op->operands[1], first);
    give_term(u, op->operands[2], second);
  }
}

/* The term with its condition moved into its base: a value that is gathered around a periodic edge must not depend on
 * the gathering point's coordinates. */
static Term settled(Undo *u, Term t) {
  for (int i = 0; i < u->nchosen; i++)
    if (u->chosen[i].factor == t.base && u->chosen[i].where == t.where)
      return (Term){.factor = t.factor, .base = u->chosen[i].base};
  Term x = {.factor = t.base, .where = t.where};
  x.base = build3(&u->b, OP_SELECT, t.where, t.base, number(u, t.base->type, 0));
  ARENA_PUSH(u->x->a, u->chosen, u->nchosen, x);
  return (Term){.factor = t.factor, .base = x.base};
}

/* Adds the derivative with respect to the result of `op` to those of its operands. */
static void undo_op(Undo *u, const Op *op) {
  const Value *v = op->results[0];
  Value *const *in = op->operands;
  bool finite;
  switch (op->code) {
  case OP_ADD: hand_on(u, v, in[0], NULL), hand_on(u, v, in[1], NULL); return;
  case OP_SUB:
    hand_on(u, v, in[0], NULL);
    if (u->varies[in[1]->id])
      hand_on(u, v, in[1], number(u, bar_type(v->type), -1));
    return;
  case OP_NEG: hand_on(u, v, in[0], number(u, bar_type(v->type), -1)); return;
  case OP_CONVERT: hand_on(u, v, in[0], NULL); return;
  case OP_MUL: undo_product(u, op); return;
  case OP_DIV: undo_quotient(u, op); return;
  case OP_SELECT:
    if (u->placed[in[0]->id]) {
      undo_choice_of_place(u, op);
      return;
    }
    break;
  default: break;
  }
  Value *g = total(u, v), *none = number(u, g->type, 0);
  if (op->code == OP_SELECT) {
    Value *c = undo_clone(u, in[0]);
    give(u, in[1], NULL, build3(&u->b, OP_SELECT, c, g, none));
    give(u, in[2], NULL, build3(&u->b, OP_SELECT, c, none, g));
  } else if (op->code == OP_FMA) {
    for (int i = 0; i < 2; i++)
      if (u->varies[in[i]->id])
        give(u, in[i], NULL, times_value(u, g, in[1 - i]));
    give(u, in[2], NULL, g);
  } else if (op->code == OP_MIN || op->code == OP_MAX) {
    undo_choice(u, op, g);
  } else if (op->code == OP_POW) {
    undo_pow(u, op, g);
  } else if (op->noperands == 2) {
    undo_binary(u, op, g);
  } else if (op->noperands == 1) {
    Value *d = unary(u, op, undo_clone(u, in[0]), undo_clone(u, v), &finite);
    if (d)
      give(u, in[0], NULL, finite && !u->loose[in[0]->id] && !u->loose[v->id] ? times(u, g, d) : guarded(u, g, d));
  } else if (op_info[op->code].flags & OPF_FUNCTION) {
    unknown_derivative(u, op);
  }
}

void undo_body(Undo *u, int piece, Value *const *seeds, int *n, Contribution **list) {
  const Transpose *x = u->x;
  u->same = uniform_values(u);
  u->placed = placed_values(u);
  u->loose = loose_values(x, u->body, &u->fixed);
  for (int i = 0; i < u->body->last->noperands; i++)
    if (seeds[i])
      give(u, u->body->last->operands[i], NULL, seeds[i]);
  for (const Op *op = u->body->last->prev; op; op = op->prev) {
    const Adjoint *a = op->nresults ? &u->adjoint[op->results[0]->id] : NULL;
    if (!a || !a->n)
      continue;
    u->b.loc = op->loc;
    int32_t state = op->code == OP_ELEMENT ? x->states[op->sym].bar : -1;
    if (op->code == OP_ELEMENT && state < 0) {
      ElementShare e = {piece, op->sym, build_convert(&u->b, TY_F64, total(u, op->results[0])),
                        undo_clone(u, op->operands[0])};
      ARENA_PUSH(x->a, u->elements, u->nelements, e);
      continue;
    }
    if (op->code != OP_ACCESS && op->code != OP_SCALAR && state < 0) {
      undo_op(u, op);
      continue;
    }
    bool scalar = op->code != OP_ACCESS;
    if (state >= 0 ? !x->array_active[state] : scalar ? !x->scalar_active[op->sym] : !x->active[op->sym])
      continue;
    for (int i = 0; i < a->n; i++) {
      Contribution c = {.piece = piece, .term = a->terms[i], .loc = op->loc};
      c.field = state >= 0 ? -1 - x->m->nscalars - state : scalar ? -1 - op->sym : op->sym;
      for (int d = 0; d < MAX_RANK && !scalar; d++)
        c.off[d] = field_lacks(&x->m->fields[op->sym], d) ? 0 : op->off[d];
      for (int d = 0; d < x->m->grid.rank && !scalar && c.term.where; d++)
        if (x->m->fields[op->sym].outside[d] == OUTSIDE_PERIODIC)
          c.term = settled(u, c.term);
      ARENA_PUSH(x->a, *list, *n, c);
    }
  }
}
