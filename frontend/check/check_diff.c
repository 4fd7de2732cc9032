/* check_diff.c: coord and diff, and the grid's spacing, which they use. Both are expanded like macros: the results are
 * accesses, constants, and scalars that are computed at launch. */
#include "frontend/check/absorb.h"
#include "frontend/fields.h"
#include "frontend/levels.h"
#include "frontend/ensemble.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- distances of the grid's points */

Expr *check_length(Checker *c, const Expr *e, const char *what) {
  Const k;
  Expr *x = check_in(c, e, NULL, ALLOW_SCALAR, what);
  if (x->kind == EXPR_BAD)
    return x;
  bool number = type_is_literal(x->type) || (type_is_scalar(x->type) && x->type != TY_BOOL);
  if (!number)
    return check_error(c, NULL, e->loc, "%s must be a single number, but this is %s", what,
                       check_type_words(c, x->type));
  if (type_is_literal(x->type))
    x = check_coerce(c, x, TY_F64, what);
  Expr *wide = x->kind == EXPR_BAD || x->type == TY_F64 ? x : check_operation(c, OP_CONVERT, x->loc, 1, &x);
  wide->type = x->kind == EXPR_BAD ? x->type : TY_F64;
  if (x->kind != EXPR_BAD && fold_const(c, wide, &k) && !(k.f > 0 && isfinite(k.f)))
    return check_error(c, NULL, e->loc, "%s is %g; it must be above 0", what, k.f);
  return wide;
}

/* Records the spacing `e` of dimension `d` of the grid in the module and in c->spacing. False after reporting. */
static bool spacing(Checker *c, const Expr *e, int d) {
  Expr *x = check_length(c, e, arena_printf(c->arena, "the spacing of dimension %d", d));
  if (x->kind == EXPR_BAD)
    return false;
  c->spacing[d] = check_hidden_scalar(c, arena_printf(c->arena, "spacing.%d", d), x);
  c->m->metric.spacing[d] = 1 + c->spacing[d]->index;
  return true;
}

/* Records that array `e` contains the coordinates of dimension `d` of the grid on `box`. False after reporting. */
static bool coordinates(Checker *c, const Expr *e, int d, const Box *box) {
  Symbol *s = e->kind == EXPR_NAME && !e->level ? symbols_find(&c->syms, e->name) : NULL;
  if (!s || s->kind != SYM_ARRAY || array_has_rows(&c->m->param_arrays[s->index])) {
    check_error(c, NULL, e->loc,
                "'at' takes the name of a launch-time array, param NAME[N] : f64, which has the coordinates");
    return false;
  }
  const ParamArray *a = &c->m->param_arrays[s->index];
  Affine points = affine_add(c->arena, affine_sub(c->arena, box->hi[d], box->lo[d]), affine_const(1));
  s->used = true;
  if (a->type != TY_F32 && a->type != TY_F64)
    check_error(c, NULL, e->loc, "coordinates are f32 or f64, and '%s' is an array of %s", s->name, type_name(a->type));
  else if (!affine_equal(a->extent, points))
    check_error(c, NULL, e->loc, "'%s' has the coordinates of dimension %d, so it must be as long as the grid there",
                s->name, d);
  else
    c->coordinates[d] = s, c->m->metric.coordinates[d] = 1 + s->index;
  return c->coordinates[d];
}

bool check_metric(Checker *c, const Decl *d, const Box *box) {
  bool ok = true;
  if (d->nvalues && d->nvalues != box->rank) {
    check_error(c, NULL, d->values[0]->loc,
                "the grid has %d dimension%s, but here %s %d spacing%s; give one for each dimension", box->rank,
                box->rank == 1 ? "" : "s", d->nvalues == 1 ? "is" : "are", d->nvalues, d->nvalues == 1 ? "" : "s");
    return false;
  }
  for (int k = 0; k < d->nvalues; k++)
    ok = (d->values[k]->kind == EXPR_NAMED ? coordinates(c, d->values[k]->kids[0], k, box)
                                           : spacing(c, d->values[k], k)) &&
         ok;
  Expr *step = d->right ? check_length(c, d->right, "the time step") : NULL;
  if (step && step->kind != EXPR_BAD) {
    c->step = check_hidden_scalar(c, "step.length", step);
    c->m->metric.step = 1 + c->step->index;
  }
  return ok && (!step || step->kind != EXPR_BAD);
}

/* Does the grid have a spacing or coordinates in dimension `d`, which `word` needs? Reports if not. */
static bool has_spacing(Checker *c, const Env *env, Loc loc, const char *word, int d) {
  if (c->spacing[d] || c->coordinates[d])
    return true;
  static const char *const example[] = {"", "h", "h, h", "h, h, h"};
  check_error(c, env, loc, "'%s' needs the distance of the grid's points: grid %s = [...], STEPS spacing [%s];", word,
              c->grid ? c->grid->name : "G", example[check_rank(c)]);
  return false;
}

/* May `word`, described by `what`, be used at the present place? Reports if not. */
static bool is_at_point(Checker *c, const Env *env, Loc loc, const char *word, const char *what) {
  if (!check_function_reads(c, env, loc, word, what))
    return false;
  if (c->allowed != ALLOW_BODY)
    check_not_allowed(c, env, loc, word);
  return c->allowed == ALLOW_BODY;
}

/* ---- scalars computed at launch */

/* The value of the scalar. */
static Expr *value_of(Checker *c, Symbol *s, Loc loc) { return check_leaf(c, EXPR_SCALAR, s->type, loc, s); }

/* The hidden scalar 1 / h^n in f64, where h is the spacing of dimension `d`. */
static Symbol *factor(Checker *c, int d, int n, Loc loc) {
  if (c->factor[d][n])
    return c->factor[d][n];
  Expr *one = check_leaf(c, EXPR_INT, TY_F64, loc, NULL), *power = value_of(c, c->spacing[d], loc);
  one->name = "1";
  for (int i = 1; i < n; i++)
    power = check_both(c, OP_MUL, power, value_of(c, c->spacing[d], loc));
  return c->factor[d][n] = check_hidden_scalar(c, arena_printf(c->arena, "spacing.%d.factor.%d", d, n),
                                               check_both(c, OP_DIV, one, power));
}

/* The f64 scalar `s` in type `t`, rounded once at launch; *narrow keeps the rounded scalar. */
static Expr *as_type(Checker *c, Symbol *s, Type t, Symbol **narrow, Loc loc) {
  if (t == TY_F64)
    return value_of(c, s, loc);
  if (!*narrow) {
    Expr *wide = value_of(c, s, loc), *e = check_operation(c, OP_CONVERT, loc, 1, &wide);
    e->type = t;
    *narrow = check_hidden_scalar(c, arena_printf(c->arena, "%s.%s", s->name, type_name(t)), e);
  }
  return value_of(c, *narrow, loc);
}

/* ---- unevenly spaced points */

/* idx(d) + by. */
static Expr *index_at(Checker *c, int d, int64_t by, Loc loc) {
  Expr *index = check_leaf(c, EXPR_INDEX, TY_I64, loc, NULL);
  index->value.i = d;
  return check_plus(c, index, by);
}

Expr *check_bound(Checker *c, const Expr *bound) {
  Expr *e = check_in(c, bound, NULL, ALLOW_SCALAR, "a bound");
  if (e->type == TY_LITERAL_INT || e->type == TY_I64)
    return e->type == TY_I64 ? e : check_adapt(c, NULL, e, TY_I64);
  Expr *wide = check_operation(c, OP_CONVERT, e->loc, 1, &e);
  wide->type = TY_I64;
  return wide;
}

/* The number of points from the grid's lower end in dimension `d` to the current point shifted by `by`. */
static Expr *from_first(Checker *c, int d, int64_t by, Loc loc) {
  Expr *first = check_bound(c, c->grid->decl->region->ranges[check_shown(c, d)].lo);
  Const k;
  return fold_const(c, first, &k) ? index_at(c, d, by - k.i, loc)
                                  : check_whole(c, OP_SUB, index_at(c, d, by, loc), first);
}

/* The hidden array, described by `head`, that launching computes from the coordinates of dimension `d`. */
static Symbol *made_of(Checker *c, int d, ParamArray head) {
  const ParamArray *z = &c->m->param_arrays[c->coordinates[d]->index];
  head.role = ARRAY_WEIGHTS;
  head.from = c->coordinates[d]->index;
  head.extent = affine_scale(c->arena, affine_add_const(z->extent, 2 * (int64_t)head.beyond), head.points);
  for (int i = 0; i < c->nweights; i++) {
    const ParamArray *b = &c->weights[i].head;
    if (b->type == head.type && b->from == head.from && b->derivative == head.derivative && b->points == head.points &&
        b->side == head.side && b->half == head.half && b->beyond == head.beyond)
      return c->weights[i].array;
  }
  head.name = arena_printf(c->arena, "%s.weights.%d", z->name, c->nweights + 1);
  CheckedWeights w = {head, ARENA_NEW(c->arena, Symbol)};
  *w.array = (Symbol){.kind = SYM_ARRAY, .name = head.name, .loc = head.loc, .type = head.type, .index = -1};
  ARENA_PUSH(c->arena, c->weights, c->nweights, w);
  return w.array;
}

void check_add_weights(Checker *c) {
  for (int i = 0; i < c->nweights; i++) {
    c->weights[i].array->index = c->m->nparam_arrays;
    ARENA_PUSH(c->arena, c->m->param_arrays, c->m->nparam_arrays, c->weights[i].head);
  }
}

/* The number of points beyond the grid's ends for which an array needs values if it is read `by` points from the
 * current one. It is rounded up to a multiple of AT_ONCE, so that there are few different arrays. -1 after reporting
 * that it is too large. */
static int beyond_of(Checker *c, const Env *env, Loc loc, int64_t by) {
  enum { AT_ONCE = 32 };
  int64_t far = by < 0 ? -by : by;
  if (far <= MAX_WEIGHED_BEYOND)
    return (int)((far + AT_ONCE - 1) / AT_ONCE * AT_ONCE);
  check_error(c, env, loc, "coordinates of points that an array has are known %d points away at most, not %lld",
              MAX_WEIGHED_BEYOND, (long long)far);
  return -1;
}

/* `x` converted to the type real. */
static Expr *as_real(Checker *c, Expr *x) {
  Expr *e = x->type == c->real ? x : check_operation(c, OP_CONVERT, x->loc, 1, &x);
  e->type = c->real;
  return e;
}

/* ---- coord */

/* The index on the grid of the first of the points that point `index` on level `level` represents. */
static Expr *of_grid(Checker *c, Expr *index, int level) {
  if (!level)
    return index;
  Expr *points = check_leaf(c, EXPR_INT, TY_I64, index->loc, NULL);
  points->name = arena_printf(c->arena, "%lld", (long long)1 << level);
  return check_whole(c, OP_MUL, index, points);
}

/* The coordinate of the current point shifted by `by`, in dimension `d`, whose coordinates are in an array. */
static Expr *uneven_coord(Checker *c, const Env *env, Loc loc, int d, int64_t by) {
  Symbol *array = c->coordinates[d];
  int beyond = beyond_of(c, env, loc, by);
  if (beyond < 0)
    return check_bad(c, loc);
  if (beyond)
    array = made_of(c, d, (ParamArray){.type = array->type, .points = 1, .beyond = beyond, .loc = loc});
  return as_real(c, check_element_at(c, loc, array, from_first(c, d, by + beyond, loc)));
}

Expr *check_coord(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int d;
  if (e->n != 1)
    return check_error(c, env, e->loc, "'coord' takes 1 argument, the dimension, not %d", e->n);
  if (!is_at_point(c, env, e->loc, "coord", "the place of the point") ||
      !check_dimension(c, e->kids[0], env, "coord", &d) || !has_spacing(c, env, e->loc, "coord", d) ||
      !check_has_coordinate(c, env, e->loc, d, "coord"))
    return check_bad(c, e->loc);
  int level = check_level_at_point(c, env, e->loc, "coord");
  if (level < 0)
    return check_bad(c, e->loc);
  if (level && c->coordinates[d])
    return check_error(c, env, e->loc,
                       "the coordinates that an array has are those of the grid's own points, and this is a point of "
                       "level %d; let an init write its place to a field on that level",
                       level);
  if (c->coordinates[d])
    return uneven_coord(c, env, e->loc, d, shift[d]);
  Expr *x = as_real(c, of_grid(c, index_at(c, d, shift[d], e->loc), level)),
       *h = as_type(c, c->spacing[d], c->real, &c->narrow[d][0], e->loc);
  return check_types(c, env, check_operation(c, OP_MUL, e->loc, 2, (Expr *[]){x, h}));
}

/* ---- diff: its arguments */

/* The derivative that is being expanded: of kid 0 of the call `e`, in dimension `dim`. */
typedef struct Diff {
  Checker *c;
  const Expr *e;
  const Env *env;
  int dim;
  Difference way;
  Symbol *field; /* differentiates this field, which may be read anywhere; NULL: kid 0 */
} Diff;

/* The argument NAME EXPR, or (name NULL) the third one without a name; NULL if it is absent. */
static const Expr *given(const Expr *e, const char *name) {
  for (int i = 2; i < e->n; i++)
    if (e->kids[i]->kind == EXPR_NAMED ? name && !strcmp(e->kids[i]->name, name) : !name && i == 2)
      return e->kids[i]->kind == EXPR_NAMED ? e->kids[i]->kids[0] : e->kids[i];
  return NULL;
}

/* Does the call have a value, a dimension, perhaps a number, and then named arguments, each once? Reports if not. */
static bool has_arguments(Checker *c, const Expr *e, const Env *env) {
  bool ok = e->n >= 2;
  for (int i = 0; i < e->n && ok; i++) {
    bool named = e->kids[i]->kind == EXPR_NAMED;
    ok = named ? i >= 2 : i <= 2;
    for (int j = 2; j < i && named; j++)
      ok = ok && (e->kids[j]->kind != EXPR_NAMED || strcmp(e->kids[j]->name, e->kids[i]->name) != 0);
  }
  if (!ok)
    check_error(
        c, env, e->loc,
        "a derivative is written diff(VALUE, DIMENSION), diff(VALUE, DIMENSION, NUMBER), and behind these, each "
        "once: order 4, at 1/2, side 1");
  return ok;
}

/* Sets *out to the constant integer `x` (NULL: to `otherwise`). False after reporting. */
static bool number(const Diff *f, const Expr *x, const char *what, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  return !x || check_const_int(f->c, x, f->env, what, out);
}

/* Reads the degree and the order of the derivative. False after reporting. */
static bool read_order(Diff *f) {
  int64_t n, order;
  const Expr *which = given(f->e, NULL), *words = given(f->e, "order");
  if (!number(f, which, "the number of a derivative", 1, &n) ||
      !number(f, words, "the order of a derivative", 2, &order))
    return false;
  f->way.n = (int)n;
  f->way.order = (int)order;
  if (n < 1 || n > MAX_DERIVATIVE)
    check_error(f->c, f->env, which->loc, "there are derivatives 1 to %d, not %lld", MAX_DERIVATIVE, (long long)n);
  else if (order < 2 || order > MAX_ORDER || order % 2)
    check_error(f->c, f->env, words->loc, "the order of a derivative is an even number from 2 to %d, not %lld",
                MAX_ORDER, (long long)order);
  else
    return true;
  return false;
}

/* Reads the place of the derivative, and the side whose points it uses. False after reporting. */
static bool read_place(Diff *f) {
  Const k = {.f = 0};
  int64_t side;
  const Expr *at = given(f->e, "at"), *words = given(f->e, "side");
  if (!number(f, words, "the side of a derivative", 0, &side))
    return false;
  Expr *x = at ? check_in(f->c, at, f->env, ALLOW_CONST, "the place of a derivative") : NULL;
  x = x ? check_coerce_in(f->c, f->env, x, TY_F64, "the place of a derivative") : NULL;
  if (x && x->kind == EXPR_BAD)
    return false;
  bool constant = !x || fold_const(f->c, x, &k);
  f->way.half = (int)copysign(k.f != 0, k.f);
  f->way.side = (int)side;
  if (!constant || (k.f != 0 && fabs(k.f) != 0.5))
    check_error(f->c, f->env, at->loc, "a derivative is at the point itself, at 1/2 (half a point ahead) or at -1/2");
  else if (words && side != 1 && side != -1)
    check_error(f->c, f->env, words->loc,
                "'side' is 1 (from the point and those above it) or -1 (from those below); leave it out for both");
  else
    return true;
  return false;
}

/* ---- diff: the sum */

/* The value at the point shifted by `by` in the derivative's dimension. EXPR_BAD after reporting. */
static Expr *value_at(const Diff *f, const int64_t *shift, int by) {
  Checker *c = f->c;
  int64_t off[MAX_RANK];
  memcpy(off, shift, sizeof off);
  off[f->dim] += by;
  if (f->field) {
    Expr *x = check_leaf(c, EXPR_FIELD, f->field->type, f->e->loc, f->field);
    memcpy(x->off, off, sizeof off);
    return check_widen(c, x);
  }
  int64_t order = c->order;
  int dim = c->dim;
  bool uneven = c->uneven[f->dim];
  c->uneven[f->dim] = c->coordinates[f->dim];
  c->order = f->way.order;
  c->dim = f->dim;
  Expr *x = check_value(c, check_expr(c, f->e->kids[0], f->env, off));
  c->order = order;
  c->dim = dim;
  c->uneven[f->dim] = uneven;
  Type base = x->kind == EXPR_BAD ? TY_NONE : check_base(c, x->type);
  if (x->kind == EXPR_BAD || base == TY_F32 || base == TY_F64)
    return x;
  return check_error(c, f->env, f->e->kids[0]->loc, "a derivative is of floats, but this is %s%s",
                     check_type_words(c, x->type),
                     base == TY_NONE ? "; take one of its members" : "; convert it: real(...)");
}

/* The weight `w` as a constant that can be f32 or f64, rounded once to each. */
static Expr *weight(const Diff *f, Fraction w) {
  Symbol *s = ARENA_NEW(f->c->arena, Symbol);
  *s = (Symbol){.kind = SYM_CONST, .name = "weight", .loc = f->e->loc, .type = TY_LITERAL_FLOAT};
  s->have[TY_F32] = s->have[TY_F64] = true;
  s->memo[TY_F32].f = fraction_round(w, FLT_MANT_DIG);
  s->memo[TY_F64].f = fraction_round(w, DBL_MANT_DIG);
  return check_leaf(f->c, EXPR_CONST, TY_LITERAL_FLOAT, f->e->loc, s);
}

/* x op y, or y if x is NULL; EXPR_BAD if one of them is EXPR_BAD. */
static Expr *join(const Diff *f, Opcode op, Expr *x, Expr *y) {
  if (!x || (x->kind != EXPR_BAD && y->kind == EXPR_BAD))
    return y;
  return x->kind == EXPR_BAD ? x : check_types(f->c, f->env, check_operation(f->c, op, f->e->loc, 2, (Expr *[]){x, y}));
}

/* The weighted sum of the `count` values `x`, in order. The two values of a pair have the same weight up to the sign,
 * so their sum or difference is multiplied by it. */
static Expr *weighed_sum(const Diff *f, int count, Expr *const *x, const Fraction *w) {
  Expr *sum = NULL;
  for (int i = 0; i < count; i++) {
    bool pair = !f->way.side && (f->way.half || i);
    Expr *term = pair ? join(f, f->way.n % 2 ? OP_SUB : OP_ADD, x[i], x[i + 1]) : x[i];
    if (w[i].top)
      sum = join(f, OP_ADD, sum, join(f, OP_MUL, weight(f, w[i]), term));
    i += pair;
  }
  return sum;
}

/* The derivative's sum; sets *base to the type of its numbers. Checks the values that are furthest away first, so that
 * messages name them. EXPR_BAD after reporting. */
static Expr *written_out(const Diff *f, const int64_t *shift, Type *base) {
  Fraction w[MAX_REACH];
  int at[MAX_REACH], count = difference_points(&f->way, at);
  Expr *x[MAX_REACH];
  if (!difference_weights(&f->way, w))
    return check_error(f->c, f->env, f->e->loc, "the weights of this derivative are beyond 128 bits");
  for (int i = count - 1; i >= 0; i--) {
    x[i] = w[i].top ? value_at(f, shift, at[i]) : NULL;
    if (x[i] && x[i]->kind == EXPR_BAD)
      return x[i];
    *base = x[i] ? check_base(f->c, x[i]->type) : *base;
  }
  return weighed_sum(f, count, x, w);
}

/* ---- diff: on unevenly spaced points */

/* The number of points that the derivative needs: order + degree. For a place between two points the number is even,
 * with as many points on each side; at 1/2 with order + degree 3 two points are enough, because the place is half way
 * between them. */
static int uneven_points(const Diff *f) {
  int n = f->way.order + f->way.n;
  if (!f->way.half || f->way.side)
    return n;
  return n == 3 && f->way.half > 0 ? 2 : (n + 1) / 2 * 2;
}

/* The offset of point number `i` of them. */
static int uneven_place(const Diff *f, int i) {
  if (f->way.side)
    return f->way.side * i;
  if (!f->way.half)
    return i % 2 ? (i + 1) / 2 : -(i / 2);
  return i % 2 ? -((i + (f->way.half < 0)) / 2) : i / 2 + (f->way.half > 0);
}

/* The derivative as a sum over points, from the nearest outwards, with weights from a hidden array. */
static Expr *uneven(const Diff *f, const int64_t *shift) {
  Checker *c = f->c;
  Expr *x[MAX_REACH], *sum = NULL;
  int points = uneven_points(f), beyond = beyond_of(c, f->env, f->e->loc, shift[f->dim]);
  for (int i = points - 1; i >= 0 && beyond >= 0; i--) {
    x[i] = value_at(f, shift, uneven_place(f, i));
    if (x[i]->kind == EXPR_BAD)
      return x[i];
  }
  if (beyond < 0)
    return check_bad(c, f->e->loc);
  Symbol *array = made_of(c, f->dim,
                          (ParamArray){.type = check_base(c, x[0]->type),
                                       .derivative = f->way.n,
                                       .points = points,
                                       .side = f->way.side,
                                       .half = f->way.half,
                                       .beyond = beyond,
                                       .loc = f->e->loc});
  Expr *count = check_leaf(c, EXPR_INT, TY_I64, f->e->loc, NULL);
  count->name = arena_printf(c->arena, "%d", points);
  Expr *row = check_whole(c, OP_MUL, from_first(c, f->dim, shift[f->dim] + beyond, f->e->loc), count);
  row = share(c, row, "row");
  for (int i = 0; i < points; i++)
    sum = join(f, OP_ADD, sum, join(f, OP_MUL, check_element_at(c, row->loc, array, check_plus(c, row, i)), x[i]));
  return sum;
}

/* The derivative on evenly spaced points: the sum times 1 / h^n, where h is the spacing and n the degree. Sets *base to
 * the type of its numbers. */
static Expr *even(const Diff *f, const int64_t *shift, Type *base) {
  Checker *c = f->c;
  Expr *sum = written_out(f, shift, base);
  if (sum->kind == EXPR_BAD)
    return sum;
  int n = f->way.n;
  Symbol **narrow = &c->narrow[f->dim][n];
  return join(f, OP_MUL, sum, as_type(c, factor(c, f->dim, n, f->e->loc), *base, narrow, f->e->loc));
}

Expr *check_difference(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *field,
                       const Difference *way, int dim) {
  Diff f = {.c = c, .e = e, .env = env, .dim = dim, .way = *way, .field = field};
  Type base = TY_NONE;
  return even(&f, shift, &base);
}

Expr *check_diff(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Diff f = {.c = c, .e = e, .env = env};
  Stretched s = {.loc = e->loc};
  if (!has_arguments(c, e, env) || !is_at_point(c, env, e->loc, "diff", "a derivative") ||
      !check_dimension(c, e->kids[1], env, "a derivative", &f.dim) || !has_spacing(c, env, e->loc, "diff", f.dim) ||
      !read_order(&f) || !read_place(&f))
    return check_bad(c, e->loc);
  s.way = f.way;
  s.dim = f.dim;
  s.plain = c->coordinates[f.dim] ? uneven(&f, shift) : even(&f, shift, &s.base);
  return s.plain->kind == EXPR_BAD ? s.plain : check_absorbed(c, &s, env, e, shift);
}
