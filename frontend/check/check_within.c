/* check_within.c: fields at offsets that depend on data, NAME[[OFFSETS] within BOUND], and between points, at(X, PLACE,
 * ..., within BOUND). Both are expanded to a choice among the accesses at all offsets within the bound. So all code
 * that handles accesses, halos, edges, cuts and gradients handles them too. */
#include "frontend/check/lookup.h"
#include "frontend/ensemble.h"

#include <string.h>

/* The values that are read: `of` (as parsed, in env) at all offsets from -bound[d] to bound[d] around `shift`, each
 * checked once, in values[]; the last dimension varies fastest. Places along each dimension are numbered from 0. */
typedef struct Around {
  Loc loc;
  const Expr *of;
  const Env *env;
  int64_t shift[MAX_RANK];
  int rank, bound[MAX_RANK];
  Expr **values;
} Around;

/* A choice in dimension `dim` among the values of `a`. `base` is the combined number of the places in the dimensions
 * before; index[] selects the places in `dim` and the dimensions after it. */
typedef struct Choice {
  Items items; /* first, so that a pointer to items is one to the choice */
  Around *a;
  int dim, base;
  Expr *const *index;
} Choice;

static int width(const Around *a, int d) { return 2 * a->bound[d] + 1; }

/* The value at the offsets with the combined number `at`. */
static Expr *value_of(Checker *c, Around *a, int at) {
  int64_t off[MAX_RANK];
  if (a->values[at])
    return a->values[at];
  memcpy(off, a->shift, sizeof off);
  for (int d = a->rank - 1, rest = at; d >= 0; rest /= width(a, d), d--)
    off[d + c->lead] += rest % width(a, d) - a->bound[d];
  Expr *x = check_expr(c, a->of, a->env, off);
  return a->values[at] = x->kind == EXPR_BAD || type_is_literal(x->type) ? x : share(c, check_widen(c, x), "value");
}

static Expr *choose(Checker *c, Around *a, int dim, int base, Expr *const *index);

/* Item `i` of a choice. */
static Expr *chosen(Checker *c, const Items *l, int i) {
  const Choice *x = (const Choice *)l;
  return choose(c, x->a, x->dim + 1, x->base * width(x->a, x->dim) + i, x->index);
}

/* The value that index[d], a number from 0 on, selects in each dimension from `dim` on; `base` is the combined
 * number of the places in the dimensions before. */
static Expr *choose(Checker *c, Around *a, int dim, int base, Expr *const *index) {
  Const k;
  if (dim == a->rank)
    return value_of(c, a, base);
  int n = width(a, dim);
  if (fold_const(c, index[dim], &k))
    return choose(c, a, dim + 1, base * n + (k.i < 0 ? 0 : k.i < n ? (int)k.i : n - 1), index);
  Choice x = {{.loc = a->loc, .env = a->env, .n = n, .item = chosen}, a, dim, base, index};
  return n == 1 ? chosen(c, &x.items, 0) : check_among(c, &x.items, index[dim]);
}

/* Sets the bounds of `a` to `e`[n], and allocates its values. False after reporting. */
static bool take_bounds(Checker *c, Around *a, Expr *const *e, int n) {
  int64_t points = 1, k;
  for (int d = 0; d < a->rank; d++) {
    const Expr *x = e[n > 1 ? d : 0];
    if (!check_const_int(c, x, a->env, "the bound of an offset", &k))
      return false;
    if (k < 0 || k > MAX_LOOKUP) {
      check_error(c, a->env, x->loc, "the bound of an offset is 0 to %d points, not %lld", MAX_LOOKUP, (long long)k);
      return false;
    }
    a->bound[d] = (int)k;
    points = points > MAX_LOOKUP ? points : points * width(a, d);
  }
  if (points > MAX_LOOKUP)
    check_error(
        c, a->env, e[0]->loc,
        "there are more than %d points within these bounds, all of which are read at each point; choose smaller ones",
        MAX_LOOKUP);
  a->values = ARENA_ARRAY(c->arena, Expr *, points);
  return points <= MAX_LOOKUP;
}

/* Reports if `n`, the number of offsets, is not the number of the grid's dimensions. */
static bool has_offsets(Checker *c, const Expr *e, const Env *env, int n) {
  int rank = check_rank(c);
  if (n != rank)
    check_error(c, env, e->loc, "'%s' has %d offset%s, but the grid has %d dimension%s", e->name, n, n == 1 ? "" : "s",
                rank, rank == 1 ? "" : "s");
  return n == rank;
}

/* Does the name in `e` belong to a field or a macro's parameter? Reports if not. */
static bool is_field(Checker *c, const Expr *e, const Env *env) {
  if (check_argument(check_macro_of(env), e->name))
    return true;
  const Symbol *s = check_find_any(c, env, e->name);
  if (!s)
    check_undefined(c, env, e->loc, e->name, NULL);
  else if (s->kind != SYM_FIELD && s->kind != SYM_BAD)
    check_error(c, env, e->loc, "'%s' is %s; only fields and a macro's parameters take offsets", e->name,
                symbol_words(s));
  return s && s->kind == SYM_FIELD;
}

/* The operation `op` of type `t` on x and y (NULL: on x only). */
static Expr *typed(Checker *c, Opcode op, Type t, Expr *x, Expr *y) {
  Expr *e = check_operation(c, op, x->loc, y ? 2 : 1, (Expr *[]){x, y});
  e->type = t;
  return e;
}

/* The i64 number `k`. */
static Expr *whole(Checker *c, Loc loc, int k) {
  Expr *e = check_leaf(c, EXPR_INT, TY_I64, loc, NULL);
  e->name = arena_printf(c->arena, "%d", k);
  return e;
}

/* `e`, a checked offset in dimension `d` of `a`, as the number of its place, shared for several uses. EXPR_BAD after
 * reporting that it is not an integer. */
static Expr *place_number(Checker *c, const Around *a, int d, Expr *e) {
  if (e->type == TY_LITERAL_INT || (e->kind != EXPR_BAD && e->adapts))
    e = check_adapt(c, a->env, e, TY_I64);
  if (e->kind == EXPR_BAD)
    return e;
  if (e->type != TY_I64)
    return check_error(c, a->env, e->loc, "an offset is an i64, but this value is %s%s", check_type_words(c, e->type),
                       type_is_scalar(e->type) ? "; convert it: i64(...)" : "");
  Expr *near = typed(c, OP_MAX, TY_I64, e, whole(c, e->loc, -a->bound[d]));
  near = typed(c, OP_MIN, TY_I64, near, whole(c, e->loc, a->bound[d]));
  return share(c, check_plus(c, near, a->bound[d]), "offset");
}

Expr *check_within(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Expr of = {.kind = EXPR_NAME, .loc = e->loc, .height = 1, .name = e->name, .level = e->level}, *index[MAX_RANK];
  int n = e->n / 2;
  if (!is_field(c, e, env) || !has_offsets(c, e, env, n))
    return check_bad(c, e->loc);
  Expr *name = ARENA_NEW(c->arena, Expr);
  *name = of;
  Around a = {.loc = e->loc, .of = name, .env = env, .rank = n};
  memcpy(a.shift, shift, sizeof a.shift);
  if (!take_bounds(c, &a, e->kids + n, n))
    return check_bad(c, e->loc);
  for (int d = 0; d < n; d++) {
    index[d] = place_number(c, &a, d, check_widen(c, check_expr(c, e->kids[d], env, shift)));
    if (index[d]->kind == EXPR_BAD)
      return index[d];
  }
  return choose(c, &a, 0, 0, index);
}

/* ---- between points */

/* A position in one dimension: between the places `lower` and `upper`, at the fraction `part` of the way. */
typedef struct Between {
  Expr *lower, *upper, *part;
} Between;

/* The number `k` of points as a float of type `t`. */
static Expr *points(Checker *c, Loc loc, Type t, int k) {
  Expr *e = check_leaf(c, EXPR_FLOAT, t, loc, NULL);
  e->name = arena_printf(c->arena, "%d.0", k);
  return e;
}

/* The position `x`, a float of type `t`, in dimension `d` of `a`, clamped to the bound. */
static Between between(Checker *c, const Around *a, int d, Type t, Expr *x) {
  Expr *bound = points(c, x->loc, t, a->bound[d]);
  Expr *at = typed(c, OP_MIN, t, typed(c, OP_MAX, t, x, typed(c, OP_NEG, t, bound, NULL)), bound);
  at = share(c, at, "place");
  Expr *floor = share(c, typed(c, OP_FLOOR, t, at, NULL), "floor");
  Expr *lower = share(c, check_plus(c, typed(c, OP_CONVERT, TY_I64, floor, NULL), a->bound[d]), "offset");
  return (Between){lower, share(c, check_plus(c, lower, 1), "offset"),
                   share(c, typed(c, OP_SUB, t, at, floor), "part")};
}

/* The values along one dimension, each interpolated in the dimensions after it. */
typedef struct Line {
  Items items; /* first, so that a pointer to items is one to the line */
  Expr **values;
} Line;

/* Item `i` of a line. */
static Expr *of_line(Checker *c, const Items *l, int i) {
  (void)c;
  return ((const Line *)l)->values[i];
}

/* x + part * (y - x), of floats or vectors of them. */
static Expr *mix(Checker *c, const Around *a, Expr *x, Expr *y, Expr *part) {
  if (x->kind == EXPR_BAD || y->kind == EXPR_BAD)
    return check_bad(c, a->loc);
  x = type_is_literal(x->type) ? x : share(c, x, "value");
  Expr *e = check_types(c, a->env, check_operation(c, OP_SUB, a->loc, 2, (Expr *[]){y, x}));
  if (e->kind != EXPR_BAD)
    e = check_types(c, a->env, check_operation(c, OP_MUL, a->loc, 2, (Expr *[]){part, e}));
  return e->kind == EXPR_BAD ? e : check_types(c, a->env, check_operation(c, OP_ADD, a->loc, 2, (Expr *[]){x, e}));
}

/* The value of `a` interpolated at the positions `at` of the dimensions from `dim` on; `base` is the combined
 * number of the places in the dimensions before. Interpolates all values of a line in the later dimensions before it
 * chooses two of them: the number of choices is the same, and only one value of a line has to be kept at a time, not
 * two. */
static Expr *mixed(Checker *c, Around *a, const Between *at, int dim, int base) {
  Const k;
  if (dim == a->rank || dim >= MAX_RANK)
    return value_of(c, a, base);
  int n = width(a, dim);
  if (fold_const(c, at[dim].lower, &k)) {
    int upper = k.i + 1 < n ? (int)k.i + 1 : n - 1;
    Expr *x = mixed(c, a, at, dim + 1, base * n + (int)k.i);
    return mix(c, a, x, mixed(c, a, at, dim + 1, base * n + upper), at[dim].part);
  }
  Line l = {{.loc = a->loc, .env = a->env, .n = n, .item = of_line}, ARENA_ARRAY(c->arena, Expr *, n)};
  for (int i = 0; i < n; i++) {
    Expr *x = mixed(c, a, at, dim + 1, base * n + i);
    if (x->kind == EXPR_BAD)
      return x;
    l.values[i] = type_is_literal(x->type) ? x : share(c, x, "value");
  }
  Expr *x = check_among(c, &l.items, at[dim].lower);
  return mix(c, a, x, check_among(c, &l.items, at[dim].upper), at[dim].part);
}

/* The float type of the values of `a`, TY_NONE after reporting that they are not floats. */
static Type floats_of(Checker *c, Around *a) {
  int middle = 0;
  for (int d = 0; d < a->rank; d++)
    middle = middle * width(a, d) + a->bound[d];
  Expr *x = value_of(c, a, middle);
  if (x->kind == EXPR_BAD)
    return TY_NONE;
  Type t = type_is_literal(x->type) ? c->real : check_base(c, x->type);
  if (t != TY_NONE && type_is_float(t))
    return t;
  check_error(c, a->env, a->of->loc, "'at' reads between points, so it takes floats or vectors of them, not %s",
              check_type_words(c, x->type));
  return TY_NONE;
}

/* The position `e` as a value of type `t`; EXPR_BAD after reporting that it has another type. */
static Expr *place(Checker *c, const Around *a, const Expr *e, Type t) {
  Expr *x = check_widen(c, check_expr(c, e, a->env, a->shift));
  if (x->kind == EXPR_BAD || x->type == t)
    return x;
  if (type_is_literal(x->type))
    return check_adapt(c, a->env, x, t);
  return check_error(c, a->env, e->loc, "'at' takes places of the type of what it reads, %s, but this is %s%s%s%s",
                     type_name(t), check_type_words(c, x->type), type_is_scalar(x->type) ? "; convert it: " : "",
                     type_is_scalar(x->type) ? type_name(t) : "", type_is_scalar(x->type) ? "(...)" : "");
}

Expr *check_at(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Between at[MAX_RANK];
  const Expr *within = e->n ? e->kids[e->n - 1] : NULL;
  if (!within || within->kind != EXPR_NAMED || e->n < 2)
    return check_error(c, env, e->loc,
                       "'at' takes what it reads, how far from the point in each dimension, and a bound: "
                       "at(u, dy, dx, within 2)");
  if (!has_offsets(c, e, env, e->n - 2))
    return check_bad(c, e->loc);
  Around a = {.loc = e->loc, .of = e->kids[0], .env = env, .rank = e->n - 2};
  memcpy(a.shift, shift, sizeof a.shift);
  if (within->n > 1 && within->n != a.rank)
    return check_error(c, env, within->loc, "there are %d offsets, but %d bounds behind 'within'", a.rank, within->n);
  if (!check_function_reads(c, env, e->loc, "at", "what lies about the point"))
    return check_bad(c, e->loc);
  if (!take_bounds(c, &a, within->kids, within->n))
    return check_bad(c, e->loc);
  Type t = floats_of(c, &a);
  for (int d = 0; d < a.rank && t != TY_NONE; d++) {
    Expr *x = place(c, &a, e->kids[1 + d], t);
    if (x->kind == EXPR_BAD)
      return x;
    at[d] = between(c, &a, d, t, x);
  }
  return t == TY_NONE ? check_bad(c, e->loc) : mixed(c, &a, at, 0, 0);
}
