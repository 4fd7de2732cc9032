/* check_absorb.c: absorbing layers: their declarations, their profiles, and the derivatives that they stretch. In a
 * layer a derivative d of dimension D becomes d / kappa + m', with the memory m' = b m + a d: convolutional perfectly
 * matched layers (J. Roden, S. Gedney, Microw. Opt. Technol. Lett. 27, 2000), with the profiles and the a and b of D.
 * Komatitsch, R. Martin (Geophysics 72, 2007). A second derivative becomes w / kappa + z', with z' = b z + a w, where w
 * is the second derivative plus the derivative of what stretching adds to the first derivative (D. Pasalic, R. McGarry,
 * SEG 2010). */
#include "frontend/check/absorb.h"
#include "frontend/ensemble.h"

#include <math.h>
#include <string.h>

static const int64_t nowhere[MAX_RANK];

/* ---- a layer */

/* The hidden scalar of the layer with the value of `e`, which must be above 0; `word` names it. NULL after
 * reporting. */
static Symbol *length_of(Checker *c, const Decl *d, const Expr *e, const char *word) {
  Expr *x = check_length(c, e, arena_printf(c->arena, "the %s of '%s'", word, d->name));
  return x->kind == EXPR_BAD ? NULL : check_hidden_scalar(c, arena_printf(c->arena, "%s.%s", d->name, word), x);
}

/* If scalar `s` has a constant value, is it from `least` to `most`? If not, reports `what`, which says what it must
 * be. */
static bool within(Checker *c, const Symbol *s, const Expr *e, double least, double most, const char *what) {
  Const k;
  if (!s || !fold_const(c, c->scalar_value[s->index], &k) || (k.f >= least && k.f <= most))
    return s;
  check_error(c, NULL, e->loc, "%s, not %g", what, k.f);
  return false;
}

/* Removes the sides after 'but' from the layer. False after reporting. */
static bool leave_out(Checker *c, const AbsorbDecl *a, Layer *layer) {
  for (int i = 0; i < a->n; i++) {
    int d;
    if (!check_dimension(c, a->sides[i].dim, NULL, "a side", &d))
      return false;
    layer->has[d][a->sides[i].upper] = false;
  }
  return true;
}

/* Does the layer have a side, and is the grid evenly spaced in the dimensions of its sides? Reports if not. */
static bool lies_evenly(Checker *c, const Decl *d, const Layer *layer) {
  bool any = false;
  for (int k = 0; k < c->m->grid.rank; k++) {
    bool here = layer->has[k][0] || layer->has[k][1];
    any = any || here;
    if (!here || c->spacing[k])
      continue;
    if (c->coordinates[k])
      check_error(c, NULL, d->loc,
                  "a layer's points lie evenly, but dimension %d has coordinates of an array; write 'but [%d lower, %d "
                  "upper]', which leaves it without a layer",
                  check_shown(c, k), check_shown(c, k), check_shown(c, k));
    else
      check_error(c, NULL, d->loc,
                  "'absorb' needs the distance of the grid's points: grid %s = [...], STEPS spacing [...] step dt;",
                  c->grid->name);
    return false;
  }
  if (!any)
    check_error(c, NULL, d->loc, "'%s' leaves out all sides, so there is no layer", d->name);
  return any;
}

const Layer *check_layer(Checker *c, const Decl *d) {
  const AbsorbDecl *a = d->absorb;
  Layer *layer = ARENA_NEW(c->arena, Layer);
  layer->name = d->name;
  Symbol *of = symbols_find(&c->syms, a->of.s);
  for (int k = c->lead; k < c->m->grid.rank; k++)
    layer->has[k][0] = layer->has[k][1] = true;
  if (of != c->grid) {
    check_error(c, NULL, a->of.loc, "a layer lies at the sides of the grid: write 'of %s'", c->grid->name);
    return NULL;
  }
  if (!check_const_int(c, a->points, NULL, "the width of a layer", &layer->points) || !leave_out(c, a, layer))
    return NULL;
  if (layer->points < MIN_LAYER || layer->points > MAX_LAYER) {
    check_error(c, NULL, a->points->loc, "a layer is %d to %d points wide, not %lld", MIN_LAYER, MAX_LAYER,
                (long long)layer->points);
    return NULL;
  }
  if (!lies_evenly(c, d, layer))
    return NULL;
  if (!c->step) {
    check_error(c, NULL, d->loc, "'absorb' needs the time step: grid %s = [...], STEPS spacing [...] step dt;",
                c->grid->name);
    return NULL;
  }
  layer->speed = length_of(c, d, a->speed, "speed");
  layer->frequency = length_of(c, d, a->frequency, "frequency");
  layer->reflection = length_of(c, d, a->reflection, "reflection");
  layer->kappa = a->kappa ? length_of(c, d, a->kappa, "kappa") : NULL;
  bool ok = layer->speed && layer->frequency &&
            within(c, layer->reflection, a->reflection, 0, 1, "the reflection is which part comes back, at most 1") &&
            (!a->kappa || within(c, layer->kappa, a->kappa, 1, HUGE_VAL, "kappa is at least 1"));
  return ok ? layer : NULL;
}

/* ---- profiles: expressions of f64 */

static Expr *number(Checker *c, Loc loc, const char *text) {
  Expr *e = check_leaf(c, EXPR_FLOAT, TY_F64, loc, NULL);
  e->name = text;
  return e;
}

static Expr *scalar(Checker *c, Loc loc, Symbol *s) { return check_leaf(c, EXPR_SCALAR, TY_F64, loc, s); }

static Expr *one(Checker *c, Opcode op, Expr *x) {
  Expr *e = check_operation(c, op, x->loc, 1, &x);
  e->type = TY_F64;
  return e;
}

/* The damping at the outer edge of the layer, -4 speed log(reflection) / (2 width): with it the requested fraction of a
 * wave that arrives at a right angle is reflected. The damping grows with the cube of the depth, so that it begins
 * gently and a layer of few points reflects little. For elastic waves in three dimensions, 10 points reflected -55 dB
 * with the square, and reflect -68 dB with the cube (7 points to a wavelength of shear waves). */
static Symbol *damping(Checker *c, Layer *layer, int d, Loc loc) {
  if (layer->damping[d])
    return layer->damping[d];
  const char *points = arena_printf(c->arena, "%lld.0", (long long)(2 * layer->points));
  Expr *width = check_both(c, OP_MUL, number(c, loc, points), scalar(c, loc, c->spacing[d])),
       *top = check_both(c, OP_MUL, check_both(c, OP_MUL, number(c, loc, "4.0"), scalar(c, loc, layer->speed)),
                         one(c, OP_NEG, one(c, OP_LOG, scalar(c, loc, layer->reflection))));
  Expr *most = check_both(c, OP_MAX, number(c, loc, "0.0"), check_both(c, OP_DIV, top, width));
  return layer->damping[d] = check_hidden_scalar(c, arena_printf(c->arena, "%s.damping.%d", layer->name, d), most);
}

/* The depth of the element number idx(0) of array `x`: 0 at the inner edge of the layer, 1 at the outer edge. */
static Expr *depth(Checker *c, const LayerArray *x, Loc loc) {
  Expr *index = check_leaf(c, EXPR_INDEX, TY_I64, loc, NULL);
  const char *before =
      arena_printf(c->arena, "%d.%d", x->half || !x->before ? x->before : x->before - 1, x->half ? 0 : 5);
  Expr *here = one(c, OP_CONVERT, index);
  here = x->half || x->before ? check_both(c, OP_SUB, here, number(c, loc, before))
                              : check_both(c, OP_ADD, here, number(c, loc, "0.5"));
  const char *points = arena_printf(c->arena, "%lld.0", (long long)x->layer->points);
  return check_both(c, OP_MAX, number(c, loc, "0.0"), check_both(c, OP_DIV, here, number(c, loc, points)));
}

/* The coefficient a or b (x->which) of the recursion, at depth `u` with damping `d`. */
static Expr *recursion(Checker *c, const LayerArray *x, Expr *u, Expr *d, Expr *kappa) {
  Loc loc = u->loc;
  Expr *unit = number(c, loc, "1.0"), *none = number(c, loc, "0.0"),
       *most = check_both(c, OP_MUL, number(c, loc, "3.14159265358979323846"), scalar(c, loc, x->layer->frequency)),
       *alpha = share(c, check_both(c, OP_MUL, most, check_both(c, OP_SUB, unit, u)), "alpha"),
       *rate = check_both(c, OP_ADD, kappa ? check_both(c, OP_DIV, d, kappa) : d, alpha);
  Expr *b = one(c, OP_EXP, one(c, OP_NEG, check_both(c, OP_MUL, rate, scalar(c, loc, c->step))));
  if (x->which == PROFILE_B)
    return b;
  Expr *below = check_both(c, OP_ADD, d, kappa ? check_both(c, OP_MUL, kappa, alpha) : alpha);
  below = kappa ? check_both(c, OP_MUL, kappa, below) : below;
  Expr *a = check_both(c, OP_DIV, check_both(c, OP_MUL, d, check_both(c, OP_SUB, b, unit)), below),
       *still = check_both(c, OP_EQ, d, none);
  still->type = TY_BOOL;
  Expr *e = check_operation(c, OP_SELECT, loc, 3, (Expr *[]){still, none, a});
  e->type = TY_F64;
  return e;
}

/* The value of an element of the array. */
static Expr *profile(Checker *c, const LayerArray *x, Layer *layer, Loc loc) {
  Expr *u = share(c, depth(c, x, loc), "depth"), *square = share(c, check_both(c, OP_MUL, u, u), "square"),
       *unit = number(c, loc, "1.0"), *kappa = NULL;
  if (layer->kappa)
    kappa = check_both(c, OP_ADD, unit,
                       check_both(c, OP_MUL, check_both(c, OP_SUB, scalar(c, loc, layer->kappa), unit), square));
  kappa = kappa ? share(c, kappa, "kappa") : NULL;
  if (x->which == PROFILE_K)
    return check_both(c, OP_DIV, unit, kappa);
  Expr *d = check_both(c, OP_MUL, scalar(c, loc, damping(c, layer, x->dim, loc)), check_both(c, OP_MUL, square, u));
  return recursion(c, x, u, share(c, d, "damping"), kappa);
}

/* The symbol of the array described by `x` (whose symbol is not set); makes the array if there is none like it. */
static Symbol *array_of(Checker *c, LayerArray x, Loc loc) {
  static const char *const names[PROFILES] = {"a", "b", "k"};
  for (int i = 0; i < c->nprofiles; i++) {
    const LayerArray *y = &c->profiles[i];
    if (y->layer == x.layer && y->which == x.which && y->dim == x.dim && y->before == x.before && y->half == x.half &&
        y->type == x.type)
      return y->array;
  }
  const char *name = arena_printf(c->arena, "%s.%s.%d%s", x.layer->name, names[x.which], x.dim, x.half ? ".half" : "");
  name = x.before ? arena_printf(c->arena, "%s.behind.%d", name, x.before) : name;
  name = x.type != c->real ? arena_printf(c->arena, "%s.%s", name, type_name(x.type)) : name;
  x.array = ARENA_NEW(c->arena, Symbol);
  *x.array = (Symbol){.kind = SYM_ARRAY, .name = name, .loc = loc, .type = x.type, .index = -1};
  x.value = profile(c, &x, (Layer *)x.layer, loc);
  if (x.type != TY_F64) {
    x.value = one(c, OP_CONVERT, x.value);
    x.value->type = x.type;
  }
  ARENA_PUSH(c->arena, c->profiles, c->nprofiles, x);
  return x.array;
}

void check_add_profiles(Checker *c) {
  for (int i = 0; i < c->nprofiles; i++) {
    LayerArray *x = &c->profiles[i];
    ParamArray a = {.name = x->array->name,
                    .type = x->type,
                    .extent = affine_const(x->layer->points + x->before + x->half),
                    .role = ARRAY_VALUES,
                    .first = -1,
                    .loc = x->array->loc};
    x->array->index = c->m->nparam_arrays;
    ARENA_PUSH(c->arena, c->m->param_arrays, c->m->nparam_arrays, a);
  }
}

Expr *layer_element(Checker *c, const Stretched *s, Profile which, Expr *index) {
  const Absorbing *x = c->absorbing;
  int64_t width = x->width[s->dim][0] ? x->width[s->dim][0] : x->width[s->dim][1];
  LayerArray a = {.layer = x->layer,
                  .which = which,
                  .dim = s->dim,
                  .before = (int)(width - x->layer->points),
                  .half = s->way.half > 0,
                  .type = s->base};
  return check_element_at(c, s->loc, array_of(c, a, x->decl->loc), index);
}

/* ---- derivatives */

Difference absorbed_first(const Difference *way) { return (Difference){.n = 1, .order = way->order}; }

/* Are the two checked expressions the same? */
static bool is_same(Checker *c, const Expr *x, const Expr *y) {
  Const k, l;
  if (x == y)
    return true;
  if (x->kind != y->kind || x->type != y->type || x->op != y->op || x->n != y->n)
    return false;
  if (x->kind == EXPR_LOCAL && x->sym != y->sym)
    return x->sym->checked && y->sym->checked && is_same(c, x->sym->checked, y->sym->checked);
  if (x->kind == EXPR_FIELD)
    return x->sym == y->sym && !memcmp(x->off, y->off, sizeof x->off);
  if (x->kind == EXPR_INT || x->kind == EXPR_FLOAT || x->kind == EXPR_BOOL || x->kind == EXPR_CONST)
    return type_is_scalar(x->type) && fold_const(c, x, &k) && fold_const(c, y, &l) && const_same(k, l, x->type);
  if (x->sym != y->sym || x->value.i != y->value.i)
    return false;
  for (int i = 0; i < x->n; i++)
    if (!is_same(c, x->kids[i], y->kids[i]))
      return false;
  return true;
}

/* A field that `e` reads and whose outside rule excludes a layer in dimension `d`; *side is the side. NULL if there is
 * none. */
static const Field *unsuited(const Checker *c, const Layer *layer, const Expr *e, int d, int *side) {
  const Field *f = e->kind == EXPR_FIELD ? &c->m->fields[e->sym->index] : NULL;
  for (*side = 0; f && *side < 2; ++*side)
    if (layer->has[d][*side] && (f->outside[d] == OUTSIDE_PERIODIC || (f->sides && f->sides[2 * d + *side].odd)))
      return f;
  for (int i = 0; i < e->n; i++) {
    const Field *g = unsuited(c, layer, e->kids[i], d, side);
    if (g)
      return g;
  }
  return NULL;
}

/* Can the layer stretch the derivative `s`? Reports if not. */
static bool can_stretch(Checker *c, const Stretched *s, const Env *env, const int64_t *shift) {
  static const char *const ends[] = {"lower", "upper"};
  const char *layer = c->absorbing->layer->name;
  int side;
  const Field *f = unsuited(c, c->absorbing->layer, s->plain, s->dim, &side);
  if (s->way.n > 2)
    check_error(c, env, s->loc,
                "'%s' stretches first and second derivatives; write derivative %d as one of a temp field that has "
                "another one",
                layer, s->way.n);
  else if (s->way.n == 2 && (s->way.half || s->way.side))
    check_error(c, env, s->loc, "'%s' stretches second derivatives at the point itself, without 'at' and 'side'",
                layer);
  else if (memcmp(shift, nowhere, sizeof nowhere))
    check_error(c, env, s->loc,
                "this derivative is read at a neighbour, where '%s' has no memory of it; give it a temp field, in a "
                "stencil with 'absorb %s' of its own, and read that",
                layer, layer);
  else if (f && f->outside[s->dim] == OUTSIDE_PERIODIC)
    check_error(c, env, s->loc,
                "'%s' has a layer at the sides of dimension %d, but '%s' is periodic there; write 'but [%d lower, %d "
                "upper]' in '%s'",
                layer, check_shown(c, s->dim), declared_name(c->m, (int)(f - c->m->fields)), check_shown(c, s->dim),
                check_shown(c, s->dim), layer);
  else if (f)
    check_error(
        c, env, s->loc,
        "'%s' has a layer at the %s side of dimension %d, but '%s' is odd about it, as at a free surface; write "
        "'but [%d %s]' in '%s', or give the field 'outside 0' there",
        layer, ends[side], check_shown(c, s->dim), f->name, check_shown(c, s->dim), ends[side], layer);
  else
    return true;
  return false;
}

/* Records a derivative of the current piece. EXPR_BAD after reporting. */
static Expr *note(Checker *c, const Stretched *s, const Env *env, const Expr *e, const int64_t *shift) {
  Absorbing *x = c->absorbing;
  Meeting at = {.number = 0};
  if (!can_stretch(c, s, env, shift))
    return check_bad(c, s->loc);
  while (at.number < x->n &&
         !(x->derivatives[at.number].dim == s->dim && x->derivatives[at.number].way.n == s->way.n &&
           x->derivatives[at.number].way.half == s->way.half && is_same(c, x->derivatives[at.number].plain, s->plain)))
    at.number++;
  if (at.number == x->n)
    ARENA_PUSH(c->arena, x->derivatives, x->n, *s);
  if (s->way.n == 2) {
    Difference first = absorbed_first(&s->way);
    at.first = check_difference(c, e, env, shift, NULL, &first, s->dim);
  }
  AbsorbedPiece *p = &x->pieces[x->npieces - 1];
  ARENA_PUSH(c->arena, p->places, p->n, at);
  return at.first && at.first->kind == EXPR_BAD ? at.first : s->plain;
}

static Expr *typed(Checker *c, Opcode op, Expr *x, Expr *y) {
  if (x->kind == EXPR_BAD || y->kind == EXPR_BAD)
    return check_bad(c, x->loc);
  return check_types(c, NULL, check_operation(c, op, x->loc, 2, (Expr *[]){x, y}));
}

/* The value of a memory field. */
static Expr *memory(Checker *c, Loc loc, Symbol *field) { return check_leaf(c, EXPR_FIELD, field->type, loc, field); }

Expr *layer_memory(Checker *c, const Stretched *s, Symbol *field, Expr *index, Expr *seen) {
  Expr *old = typed(c, OP_MUL, layer_element(c, s, PROFILE_B, index), memory(c, s->loc, field));
  return share(c, typed(c, OP_ADD, old, typed(c, OP_MUL, layer_element(c, s, PROFILE_A, index), seen)), "memory");
}

Expr *layer_extra(Checker *c, const Stretched *s, Expr *index, Expr *seen, Expr *next) {
  Expr *less = typed(c, OP_SUB, typed(c, OP_MUL, layer_element(c, s, PROFILE_K, index), seen), seen);
  return share(c, typed(c, OP_ADD, less, next), "extra");
}

Expr *layer_index(Checker *c, const Stretched *s, int side) {
  const RangeExpr *r = &c->grid->decl->region->ranges[check_shown(c, s->dim)];
  int64_t width = c->absorbing->width[s->dim][side];
  Expr *here = check_leaf(c, EXPR_INDEX, TY_I64, s->loc, NULL);
  here->value.i = s->dim;
  Expr *from = check_bound(c, side && r->hi ? r->hi : r->lo);
  Expr *far = side ? check_whole(c, OP_SUB, here, from) : check_whole(c, OP_SUB, from, here);
  return share(c, check_plus(c, far, width - !(side && s->way.half > 0)), "depth");
}

/* Derivative number `i`, from the call `e`, stretched by the layer at `side`. */
static Expr *stretch(Checker *c, int i, int side, const Stretched *here, const Env *env, const Expr *e) {
  Absorbing *x = c->absorbing;
  const Stretched *s = &x->derivatives[i];
  Expr *d = here->plain, *index = layer_index(c, s, side);
  if (s->way.n == 2) {
    Difference first = absorbed_first(&s->way);
    Symbol *added = s->extra[side] ? s->extra[side] : s->first[side];
    d = typed(c, OP_ADD, d, check_difference(c, e, env, nowhere, added, &first, s->dim));
  }
  d = share(c, d, "derivative");
  x->next[i] = layer_memory(c, s, s->memory[side], index, d);
  Expr *straight = x->layer->kappa ? typed(c, OP_MUL, layer_element(c, s, PROFILE_K, index), d) : d;
  return x->value[i] = share(c, typed(c, OP_ADD, straight, x->next[i]), "stretched");
}

Expr *check_absorbed(Checker *c, const Stretched *s, const Env *env, const Expr *e, const int64_t *shift) {
  Absorbing *x = c->absorbing;
  if (!x || !x->piece || c->in_reduction || !(x->layer->has[s->dim][0] || x->layer->has[s->dim][1]))
    return s->plain;
  if (!x->zone)
    return note(c, s, env, e, shift);
  int i = x->piece->places[x->met++].number, zone = x->zone[s->dim];
  return !zone ? s->plain : x->value[i] ? x->value[i] : stretch(c, i, zone > 0, s, env, e);
}

void check_absorbed_read(Checker *c, Loc loc, const Symbol *field, const int64_t *off) {
  Absorbing *x = c->absorbing;
  if (!x || !x->piece || x->zone || c->order || c->m->fields[field->index].input)
    return;
  for (int d = 0; d < c->m->grid.rank; d++)
    if (off[d] && !x->by_hand[d].line) {
      x->by_hand[d] = loc;
      x->by_hand_name[d] = field->name;
    }
}
