/* check_region.c: regions and their bounds, and launch checks of them. Above check_type.c. Accesses to fields, which
 * regions bound, are in check/check_access.c. */
#include "frontend/base/bounds.h"
#include "frontend/ensemble.h"
#include "frontend/fields.h"

/* Bounds are compared when compiling where the result is the same for all params; else the comparison becomes a check
 * at launch. */

void check_all_members(const Checker *c, Box *box) {
  if (!c->lead)
    return;
  box->lo[0] = c->m->grid.lo[0];
  box->hi[0] = c->m->grid.hi[0];
}

Box check_shown_box(const Checker *c, const Box *box) {
  Box text = {.rank = box->rank - c->lead};
  for (int d = 0; d < text.rank; d++) {
    text.lo[d] = box->lo[d + c->lead];
    text.hi[d] = box->hi[d + c->lead];
  }
  return text;
}

const char *region_text(Checker *c, const Box *b) {
  Str s = {.arena = c->arena};
  Box text = check_shown_box(c, b);
  box_print(&s, c->m, &text);
  return s.s;
}

int region_points(const Box *b) {
  int all = 1;
  for (int d = 0; d < b->rank; d++) {
    int64_t k;
    if (!affine_diff(b->hi[d], b->lo[d], &k))
      all = 0;
    else if (k < 0)
      return -1;
  }
  return all;
}

const Box *region_guard(Checker *c, const Box *b) {
  if (!b || region_points(b) > 0)
    return NULL;
  Box *copy = ARENA_NEW(c->arena, Box);
  *copy = *b;
  return copy;
}

/* Is a check under guard `weak` made whenever a check under guard `strong` is made? */
static bool guards_more(const Box *weak, const Box *strong) { return !weak || (strong && box_equal(weak, strong)); }

bool region_is_checked(Checker *c, Affine value, const Box *x, const Box *y) {
  const Box *gx = region_guard(c, x), *gy = region_guard(c, y);
  for (int i = c->m->nchecks - 1; i >= 0 && i >= c->m->nchecks - 64; i--) {
    const Check *o = &c->m->checks[i];
    int64_t more;
    if (affine_diff(value, o->value, &more) && more >= 0 && guards_more(o->unless_empty[0], gx) &&
        guards_more(o->unless_empty[1], gy) && !o->unless_empty[2])
      return true;
  }
  return false;
}

void region_add_check(Checker *c, Loc loc, Affine value, const Box *x, const Box *y, const char *message) {
  Check k = {.value = value, .message = message, .loc = loc, .unless_empty = {region_guard(c, x), region_guard(c, y)}};
  ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
}

Affine region_room(Checker *c, const Box *inner, int64_t off, const Box *outer, int d, bool upper) {
  return upper ? affine_sub(c->arena, outer->hi[d], affine_add_const(inner->hi[d], off))
               : affine_sub(c->arena, affine_add_const(inner->lo[d], off), outer->lo[d]);
}

bool check_inside(Checker *c, Loc loc, const Box *inner, const char *inner_text, const Box *outer,
                  const char *outer_text) {
  bool ok = true, none = region_points(inner) < 0;
  for (int side = 0; side < 2 * inner->rank && !none; side++) {
    int d = side / 2;
    Affine r = region_room(c, inner, 0, outer, d, side % 2);
    if (r.n ? region_is_checked(c, r, inner, NULL) : r.c >= 0)
      continue;
    const char *message = arena_printf(c->arena, "%s %s reaches beyond %s %s at the %s end of dimension %d", inner_text,
                                       region_text(c, inner), outer_text, region_text(c, outer),
                                       side % 2 ? "upper" : "lower", check_shown(c, d));
    if (r.n) {
      region_add_check(c, loc, r, inner, NULL, message);
    } else {
      check_error(c, NULL, loc, "%s, by %llu", message, 0 - (unsigned long long)r.c);
      ok = false;
    }
  }
  return ok;
}

/* Does `s` (NULL: no) have a region? */
static bool is_region(const Symbol *s) {
  return s && (s->kind == SYM_GRID || s->kind == SYM_REGION || s->kind == SYM_FIELD);
}

const Box *check_region_name(Checker *c, Loc loc, const char *name) {
  Symbol *s = symbols_find(&c->syms, name);
  if (!s) {
    check_undefined(c, NULL, loc, name, is_region);
    return NULL;
  }
  s->used = true;
  if (is_region(s))
    return &s->box;
  if (s->kind != SYM_BAD)
    check_error(c, NULL, loc, "'%s' is %s, not a region", name, symbol_words(s));
  return NULL;
}

/* The first param in `x`, an expression of operators; NULL if there is none, or if `x` contains a conversion. */
static const Symbol *float_param(const Expr *x) {
  const Symbol *first = NULL;
  if (x->kind == EXPR_SCALAR)
    return x->sym->kind == SYM_PARAM ? x->sym : NULL;
  for (int i = 0; i < x->n; i++) {
    const Symbol *s = float_param(x->kids[i]);
    if (!s && x->kids[i]->n)
      return NULL;
    first = first ? first : s;
  }
  return x->op == OP_CONVERT ? NULL : first;
}

/* Reports that the bound `x`, which `what` names, has a float type; returns false. */
static bool float_bound(Checker *c, const Expr *x, const char *what) {
  const Symbol *s = float_param(x);
  if (s && s->kind == SYM_PARAM && s->decl->type)
    check_error(c, NULL, x->loc,
                "%s must be an integer, but the param '%s' is %s; leave out ': %s' where it is declared", what, s->name,
                type_name(x->type), s->decl->type->name);
  else if (s && s->kind == SYM_PARAM)
    check_error(c, NULL, x->loc,
                "%s must be an integer, but the param '%s' is %s, as its default is; give it an integer default", what,
                s->name, type_name(x->type));
  else
    check_error(c, NULL, x->loc, "%s must be an integer, but this is %s; convert it: i64(...)", what,
                check_type_words(c, x->type));
  return false;
}

bool check_affine(Checker *c, const Expr *e, const char *what, Affine *out) {
  Expr *x = check_in(c, e, NULL, ALLOW_SCALAR, what);
  if (x->kind != EXPR_BAD && x->type == TY_LITERAL_INT)
    x = check_adapt(c, NULL, x, TY_I64);
  if (x->kind == EXPR_BAD)
    return false;
  if (x->type == TY_LITERAL_FLOAT || (type_is_scalar(x->type) && type_is_float(x->type)))
    return float_bound(c, x, what);
  if (fold_bound(c, x, out))
    return true;
  check_error(c, NULL, e->loc,
              "%s must be an integer such as 2 * N - 1 or N / 2, with factors and constants below 2^56; the product of "
              "two params, which may exceed 64 bits, needs a param of its own",
              what);
  return false;
}

/* Evaluates one bound. */
static bool bound(Checker *c, const Expr *e, Affine *out) { return check_affine(c, e, "a bound", out); }

/* If the region is only a name, and that name has a region: its symbol; else NULL. */
static const Symbol *bare_region(Checker *c, const RegionExpr *r) {
  if (r->n != 1 || r->ranges[0].hi || !r->ranges[0].lo || r->ranges[0].lo->kind != EXPR_NAME)
    return NULL;
  const Symbol *s = symbols_find(&c->syms, r->ranges[0].lo->name);
  return is_region(s) ? s : NULL;
}

bool check_region(Checker *c, const RegionExpr *r, Box *out) { return check_region_of(c, r, out, NULL); }

/* Sets dimension `d` of `out` to the written range. False after reporting. For a star sets lacks[d]; `lacks` is NULL
 * where stars are not allowed. */
static bool one_range(Checker *c, const RegionExpr *r, int d, Box *out, bool *lacks) {
  const RangeExpr *x = &r->ranges[check_shown(c, d)];
  if (!x->lo && !lacks) {
    check_error(c, NULL, r->loc,
                "'*' stands for a dimension that a field does not have, in the field's region and in those of its "
                "inits; write a range lo .. hi here");
    return false;
  }
  if (!x->lo) {
    lacks[d] = true;
    return true;
  }
  bool ok = bound(c, x->lo, &out->lo[d]);
  out->hi[d] = out->lo[d];
  return (!x->hi || bound(c, x->hi, &out->hi[d])) && ok;
}

/* The dimensions for which `lacks` is true, as in "0", "0 and 2". */
static const char *dimensions(Checker *c, const bool *lacks) {
  Str s = {.arena = c->arena};
  for (int d = 0; d < MAX_RANK; d++)
    if (lacks[d])
      str_addf(&s, s.n ? " and %d" : "%d", check_shown(c, d));
  return s.s;
}

void field_lacks_which(const Checker *c, int field, bool *lacks) {
  for (int d = 0; d < MAX_RANK; d++)
    lacks[d] = d < c->m->grid.rank && field_lacks(&c->m->fields[field], d);
}

bool check_has_all(Checker *c, Loc loc, const Symbol *s) {
  bool lacks[MAX_RANK];
  if (s->kind != SYM_FIELD || !field_lacks_any(&c->m->fields[s->index]))
    return true;
  field_lacks_which(c, s->index, lacks);
  check_error(c, NULL, loc,
              "the region of '%s' does not have dimension %s, and is none for points of the grid; write the region out",
              s->name, dimensions(c, lacks));
  return false;
}

bool check_region_of(Checker *c, const RegionExpr *r, Box *out, bool *lacks) {
  if (r->where.s && (!c->stencil || c->in_init)) {
    check_error(c, NULL, r->where.loc,
                "only regions of stencils have 'where', for masks are made behind the inits; leave it out: reads of a "
                "dry point "
                "give what the field's 'dry' says");
    return false;
  }
  const Symbol *s = bare_region(c, r);
  if (s) {
    *out = *check_region_name(c, r->loc, s->name);
    for (int d = 0; lacks && s->kind == SYM_FIELD && d < out->rank; d++)
      lacks[d] = field_lacks(&c->m->fields[s->index], d);
    return lacks || check_has_all(c, r->loc, s);
  }
  int rank = c->m->grid.rank ? check_rank(c) : r->n;
  if (r->n != rank) {
    check_error(c, NULL, r->loc, "this region has %d dimension%s, but the grid has %d", r->n, r->n == 1 ? "" : "s",
                rank);
    return false;
  }
  if (rank > GRID_RANK) {
    check_error(c, NULL, r->loc, "a grid has 1 to %d dimensions, not %d", GRID_RANK, rank);
    return false;
  }
  *out = (Box){.rank = rank + c->lead};
  check_all_members(c, out);
  bool ok = true;
  for (int d = c->lead; d < out->rank; d++)
    ok = one_range(c, r, d, out, lacks) && ok;
  if (ok && region_points(out) < 0)
    diag_warning(c->d, r->loc, "the region %s is empty", region_text(c, out));
  return ok;
}

/* Sets *out to the region of field `d`. False after reporting. */
bool check_box(Checker *c, const Decl *d, Box *out) {
  const Box *named = d->on.s ? check_region_name(c, d->on.loc, d->on.s) : &c->m->grid;
  if (d->region)
    return check_region(c, d->region, out) &&
           check_inside(c, d->region->loc, out, "the region", &c->m->grid, "the grid");
  if (!named || (d->on.s && !check_has_all(c, d->on.loc, symbols_find(&c->syms, d->on.s))))
    return false;
  *out = *named;
  return true;
}
