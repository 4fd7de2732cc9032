/* absorb.c: turns a stencil with absorbing layers into what a user would write by hand. Its pieces are cut where layers
 * begin. In a layer, derivatives are stretched (check_absorb.c) by memories: fields that cover only the layer, and that
 * are further targets of the stencil. A second derivative contains a first one, whose memory is read at neighbours; so
 * an extra stencil updates that memory before the stencil itself. */
#include "frontend/check/absorb.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

static const char *const ends[] = {"lower", "upper"};

/* ---- which stencils */

/* The layer that piece `d` names; NULL after reporting. */
static const Layer *layer_of(Checker *c, const PieceDecl *d, bool is_init) {
  Symbol *s = symbols_find(&c->syms, d->absorb.s);
  if (s)
    s->used = true;
  if (!s && check_name_with_level(c, d->absorb.s))
    check_undefined(c, NULL, d->absorb.loc, d->absorb.s, NULL);
  else if (!s)
    check_error(c, NULL, d->absorb.loc,
                "there is no absorbing layer '%s'; declare it: absorb %s = 20 of %s speed "
                "V, frequency F, reflection 1e-5;",
                d->absorb.s, d->absorb.s, c->grid->name);
  else if (s->kind != SYM_LAYER && s->kind != SYM_BAD)
    check_error(c, NULL, d->absorb.loc, "'%s' is %s, no absorbing layer", s->name, symbol_words(s));
  else if (is_init)
    check_error(c, NULL, d->absorb.loc, "an init makes no steps, so there is nothing to absorb; leave out 'absorb %s'",
                d->absorb.s);
  else
    return s->layer;
  return NULL;
}

void absorb_begin(Checker *c, const Decl *d) {
  const Layer *layer = NULL;
  c->absorbing = NULL;
  for (int i = 0; i < d->npieces; i++) {
    const Layer *x = d->pieces[i].absorb.s ? layer_of(c, &d->pieces[i], d->kind == DECL_INIT) : NULL;
    if (x && layer && x != layer)
      check_error(c, NULL, d->pieces[i].absorb.loc, "the pieces of a stencil have one layer; here are '%s' and '%s'",
                  layer->name, x->name);
    layer = layer ? layer : x;
  }
  if (!layer)
    return;
  c->absorbing = ARENA_NEW(c->arena, Absorbing);
  c->absorbing->layer = layer;
  c->absorbing->decl = d;
}

void absorb_piece(Checker *c, const PieceDecl *d, const Box *box) {
  Absorbing *x = c->absorbing;
  AbsorbedPiece p = {.decl = d, .box = *box};
  if (!x)
    return;
  x->piece = NULL;
  if (!d->absorb.s)
    return;
  ARENA_PUSH(c->arena, x->pieces, x->npieces, p);
  x->piece = &x->pieces[x->npieces - 1];
}

/* ---- requirements of layers */

/* Is there a derivative in dimension `d` of degree `n` or higher? */
static bool has_dimension(const Absorbing *x, int d, int n) {
  for (int i = 0; i < x->n; i++)
    if (x->derivatives[i].dim == d && x->derivatives[i].way.n >= n)
      return true;
  return false;
}

/* Does the stencil read neighbours in the dimensions of the layers through derivatives? Warns of other reads in a
 * dimension that has derivatives. False after reporting reads in a dimension that has none, or a stencil without
 * derivatives. */
static bool has_derivatives(Checker *c) {
  const Absorbing *x = c->absorbing;
  for (int d = 0; d < c->m->grid.rank; d++) {
    if (!x->by_hand[d].line || !(x->layer->has[d][0] || x->layer->has[d][1]))
      continue;
    if (has_dimension(x, d, 1)) {
      diag_warning(c->d, x->by_hand[d],
                   "'%s' is read at a neighbour in dimension %d outside of diff(...), where '%s' does not stretch it",
                   x->by_hand_name[d], check_shown(c, d), x->layer->name);
      continue;
    }
    check_error(c, NULL, x->by_hand[d],
                "'%s' is read at a neighbour in dimension %d, but '%s' stretches what diff(...) makes alone; write the "
                "derivative as diff(%s, %d), or 'but [%d lower, %d upper]' in '%s'",
                x->by_hand_name[d], check_shown(c, d), x->layer->name, x->by_hand_name[d], check_shown(c, d),
                check_shown(c, d), check_shown(c, d), x->layer->name);
    return false;
  }
  if (!x->n)
    check_error(c, NULL, x->decl->loc,
                "'%s' has no derivative, diff(...), that '%s' could stretch; leave out 'absorb %s'", x->decl->name,
                x->layer->name, x->layer->name);
  return x->n;
}

/* Adds the launch check that `value` is not negative, unless another check implies it. False after reporting that it is
 * always negative. */
static bool require(Checker *c, Affine value, Loc loc, const char *message) {
  Check k = {.value = value, .message = message, .loc = loc};
  if (!value.n && value.c < 0)
    check_error(c, NULL, loc, "%s", message);
  if (!value.n)
    return value.c >= 0;
  for (int i = 0; i < c->m->nchecks; i++) {
    const Check *x = &c->m->checks[i];
    int64_t more;
    if (!x->covered && !x->unless_empty[0] && affine_diff(value, x->value, &more) && more >= 0)
      return true;
  }
  ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
  return true;
}

/* Sets the width of the layers at all sides: that of the layer, plus the distance at which a second derivative still
 * reads what the layer adds. False after reporting that the grid is too small for both. */
static bool measure(Checker *c) {
  Absorbing *x = c->absorbing;
  bool ok = true;
  for (int d = 0; d < c->m->grid.rank; d++) {
    int64_t width = x->layer->points, reach = 0, both = 0;
    for (int i = 0; i < x->n; i++)
      if (x->derivatives[i].dim == d && x->derivatives[i].way.n == 2 && x->derivatives[i].way.order / 2 > reach)
        reach = x->derivatives[i].way.order / 2;
    for (int side = 0; side < 2; side++) {
      x->width[d][side] = x->layer->has[d][side] && has_dimension(x, d, 1) ? width + reach : 0;
      both += x->width[d][side];
    }
    Affine points = affine_add_const(affine_sub(c->arena, c->m->grid.hi[d], c->m->grid.lo[d]), 1 - both);
    if (both)
      ok = require(c, points, x->decl->loc,
                   arena_printf(c->arena,
                                "the layers of '%s' meet in dimension %d: with what derivatives see of them they need "
                                "%lld points, and the grid has fewer there",
                                x->layer->name, check_shown(c, d), (long long)both)) &&
           ok;
  }
  return ok;
}

/* ---- parts of boxes */

/* A part of a range: in the lower layer (zone -1), between the layers (0), or in the upper layer (1). */
typedef struct Part {
  Affine lo, hi;
  int zone;
} Part;

/* Adds the launch check that `value` is not negative, if the bound `of` is a fixed number of points from an end of the
 * grid. Else reports that the sign of `value` is not known, and returns false. */
static bool on_its_side(Checker *c, Affine of, Affine value, int d, Loc loc) {
  int64_t k;
  const char *layer = c->absorbing->layer->name;
  if (affine_diff(of, c->m->grid.lo[d], &k) || affine_diff(of, c->m->grid.hi[d], &k))
    return require(c, value, loc,
                   arena_printf(c->arena, "the grid has too few points in dimension %d for '%s' and this region",
                                check_shown(c, d), layer));
  check_error(c, NULL, loc,
              "'%s' cuts this region where its layers begin, so its bounds in dimension %d must be a fixed number of "
              "points from an end of the grid",
              layer, check_shown(c, d));
  return false;
}

/* Cuts the range of `b` in dimension `d` where the layers begin, which are `lower` and `upper` points wide. Returns the
 * number of parts in `out`, -1 after reporting. */
static int cut(Checker *c, const Box *b, int d, int64_t lower, int64_t upper, Loc loc, Part out[3]) {
  Affine lo = b->lo[d], hi = b->hi[d], first = affine_add_const(c->m->grid.lo[d], lower),
         last = affine_add_const(c->m->grid.hi[d], -upper);
  int64_t k;
  int n = 0;
  bool inner = true;
  bool known = affine_diff(lo, first, &k);
  if (lower && !known && !on_its_side(c, lo, affine_sub(c->arena, lo, first), d, loc))
    return -1;
  if (lower && known && k < 0) {
    out[n++] = (Part){lo, affine_add_const(first, -1), -1};
    lo = first;
    if (!affine_diff(hi, first, &k) &&
        !on_its_side(c, hi, affine_add_const(affine_sub(c->arena, hi, first), 1), d, loc))
      return -1;
    if (affine_diff(hi, first, &k) && k < 0)
      out[0].hi = hi, inner = false;
  }
  known = affine_diff(hi, last, &k);
  if (inner && upper && !known && !on_its_side(c, hi, affine_sub(c->arena, last, hi), d, loc))
    return -1;
  if (inner && upper && known && k > 0) {
    Part *p = &out[n++];
    *p = (Part){affine_add_const(last, 1), hi, 1};
    hi = last;
    if (!affine_diff(lo, last, &k) &&
        !on_its_side(c, b->lo[d], affine_add_const(affine_sub(c->arena, last, lo), 1), d, loc))
      return -1;
    if (affine_diff(lo, last, &k) && k > 0)
      p->lo = lo, inner = false;
  }
  if (inner && !(affine_diff(hi, lo, &k) && k < 0))
    out[n++] = (Part){lo, hi, 0};
  return n;
}

/* ---- fields for memories */

/* Adds a field of type `t` on the `width` points at `side` of dimension `d`. */
static Symbol *add_field(Checker *c, const char *name, Type t, int d, int side, int64_t width) {
  const Decl *decl = c->absorbing->decl;
  Field f = {.name = name, .type = t, .box = c->m->grid, .loc = decl->loc};
  if (side)
    f.box.lo[d] = affine_add_const(f.box.hi[d], 1 - width);
  else
    f.box.hi[d] = affine_add_const(f.box.lo[d], width - 1);
  for (int k = 0; k < c->m->grid.rank; k++)
    f.outside[k] = OUTSIDE_CONST;
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_FIELD,
                .name = name,
                .loc = decl->loc,
                .used = true,
                .type = t,
                .index = c->m->nfields,
                .box = f.box,
                .set_by_init = true,
                .cover_stencil = -1};
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, f);
  return s;
}

/* Adds the fields for derivative number `i` at `side`. */
static void add_memories(Checker *c, int i, int side) {
  Absorbing *x = c->absorbing;
  Stretched *s = &x->derivatives[i];
  const char *stem = arena_printf(c->arena, "%s.%s.%d", x->decl->name, x->layer->name, i + 1);
  Type t = s->plain->type;
  int64_t width = x->width[s->dim][side], points = x->layer->points;
  if (!width)
    return;
  s->memory[side] = add_field(c, arena_printf(c->arena, "%s.%s", stem, ends[side]), t, s->dim, side, width);
  if (s->way.n != 2)
    return;
  s->first[side] = add_field(c, arena_printf(c->arena, "%s.first.%s", stem, ends[side]), t, s->dim, side, points);
  if (x->layer->kappa)
    s->extra[side] = add_field(c, arena_printf(c->arena, "%s.extra.%s", stem, ends[side]), t, s->dim, side, points);
}

/* The value 0 of type `t`. */
static Expr *nothing(Checker *c, Type t, Loc loc) {
  Expr *e = check_leaf(c, EXPR_INT, TY_LITERAL_INT, loc, NULL);
  e->name = "0";
  return check_coerce(c, e, t, "a memory");
}

/* Adds an assignment of `value` to `field` to piece `p`, and the field to the targets of `s`. */
static void assign(Checker *c, CheckedStencil *s, CheckedPiece *p, const Symbol *field, Expr *value) {
  bool there = false;
  Assign a = {.loc = p->loc, .target = field->index, .value = value};
  ARENA_PUSH(c->arena, p->assigns, p->n, a);
  for (int i = 0; i < s->ntargets; i++)
    there = there || s->targets[i] == field->index;
  if (!there)
    ARENA_PUSH(c->arena, s->targets, s->ntargets, field->index);
}

/* Adds the init of the memories at `side` of dimension `d`: of those that are read at neighbours (`first`), or of the
 * others. */
static void add_init(Checker *c, int d, int side, bool first) {
  const Absorbing *x = c->absorbing;
  CheckedStencil s = {.name = arena_printf(c->arena, "%s.%s.still.%d.%s%s", x->decl->name, x->layer->name, d,
                                           ends[side], first ? ".first" : ""),
                      .loc = x->decl->loc,
                      .is_init = true};
  CheckedPiece p = {.loc = s.loc};
  for (int i = 0; i < x->n; i++) {
    Symbol *fields[] = {first ? x->derivatives[i].first[side] : x->derivatives[i].memory[side],
                        first ? x->derivatives[i].extra[side] : NULL};
    for (int k = 0; k < 2 && x->derivatives[i].dim == d; k++) {
      if (!fields[k])
        continue;
      p.box = fields[k]->box;
      assign(c, &s, &p, fields[k], nothing(c, fields[k]->type, s.loc));
    }
  }
  if (!p.n)
    return;
  ARENA_PUSH(c->arena, s.pieces, s.npieces, p);
  ARENA_PUSH(c->arena, c->checked, c->nchecked, s);
}

/* ---- memories of the first derivatives in second ones */

/* Adds to `p`, a piece of `s` in the layer at `side` of dimension `d`, the updates of the memories that the second
 * derivatives in piece `of` need. */
static void see_first(Checker *c, CheckedStencil *s, CheckedPiece *p, const AbsorbedPiece *of, int d, int side) {
  const Absorbing *x = c->absorbing;
  bool *done = ARENA_ARRAY(c->arena, bool, x->n);
  for (int i = 0; i < of->n; i++) {
    const Stretched *y = &x->derivatives[of->places[i].number];
    if (y->dim != d || !y->first[side] || done[of->places[i].number])
      continue;
    done[of->places[i].number] = true;
    Expr *index = layer_index(c, y, side), *seen = share(c, of->places[i].first, "derivative");
    Expr *next = layer_memory(c, y, y->first[side], index, seen);
    assign(c, s, p, y->first[side], next);
    if (y->extra[side])
      assign(c, s, p, y->extra[side], layer_extra(c, y, index, seen, next));
  }
}

/* Adds the stencil that updates the memories of the first derivatives in dimension `d`, if there are any. False after
 * reporting. */
static bool add_first(Checker *c, int d) {
  const Absorbing *x = c->absorbing;
  const Layer *layer = x->layer;
  CheckedStencil s = {.name = arena_printf(c->arena, "%s.%s.%d", x->decl->name, layer->name, d),
                      .loc = x->decl->loc,
                      .stage = c->stage};
  for (int i = 0; i < x->npieces && has_dimension(x, d, 2); i++) {
    Part parts[3];
    int n = cut(c, &x->pieces[i].box, d, layer->has[d][0] ? layer->points : 0, layer->has[d][1] ? layer->points : 0,
                x->pieces[i].decl->loc, parts);
    for (int k = 0; k < n; k++) {
      CheckedPiece p = {.loc = x->pieces[i].decl->loc, .box = x->pieces[i].box};
      p.box.lo[d] = parts[k].lo;
      p.box.hi[d] = parts[k].hi;
      if (parts[k].zone)
        see_first(c, &s, &p, &x->pieces[i], d, parts[k].zone > 0);
      if (p.n)
        ARENA_PUSH(c->arena, s.pieces, s.npieces, p);
    }
    if (n < 0)
      return false;
  }
  if (s.npieces)
    ARENA_PUSH(c->arena, c->checked, c->nchecked, s);
  return true;
}

/* ---- pieces */

/* Checks the text of piece `of` for its part `box` in `zone`, and adds the result to `s`; `plain` is the piece without
 * layers. */
static void add_part(Checker *c, CheckedStencil *s, const AbsorbedPiece *of, const Box *box, const int *zone,
                     const CheckedPiece *plain) {
  Absorbing *x = c->absorbing;
  bool stretched = false;
  for (int d = 0; d < box->rank; d++)
    stretched = stretched || zone[d];
  if (!stretched) {
    CheckedPiece p = *plain;
    p.box = *box;
    ARENA_PUSH(c->arena, s->pieces, s->npieces, p);
    return;
  }
  CheckedStencil own = *c->stencil;
  own.npieces = 0;
  own.pieces = NULL;
  x->zone = zone;
  x->piece = of;
  x->met = 0;
  x->value = ARENA_ARRAY(c->arena, Expr *, x->n);
  x->next = ARENA_ARRAY(c->arena, Expr *, x->n);
  check_piece_on(c, of->decl, box, &own);
  x->zone = NULL;
  for (int i = 0; i < x->n; i++)
    if (x->next[i])
      assign(c, s, &own.pieces[0], x->derivatives[i].memory[zone[x->derivatives[i].dim] > 0], x->next[i]);
  ARENA_PUSH(c->arena, s->pieces, s->npieces, own.pieces[0]);
}

/* Adds all parts of piece `of`, cutting it in dimension `d` and the following ones; `box` and `zone` are set for the
 * dimensions before. False after reporting. */
static bool add_parts(Checker *c, CheckedStencil *s, const AbsorbedPiece *of, int d, Box box, int *zone,
                      const CheckedPiece *plain) {
  Part parts[3];
  const Absorbing *x = c->absorbing;
  if (d >= box.rank || d >= MAX_RANK) {
    add_part(c, s, of, &box, zone, plain);
    return true;
  }
  int n = cut(c, &of->box, d, x->width[d][0], x->width[d][1], of->decl->loc, parts);
  bool ok = n >= 0;
  for (int i = 0; i < n && ok; i++) {
    box.lo[d] = parts[i].lo;
    box.hi[d] = parts[i].hi;
    zone[d] = parts[i].zone;
    ok = add_parts(c, s, of, d + 1, box, zone, plain);
  }
  return ok;
}

void absorb_expand(Checker *c, CheckedStencil *s) {
  Absorbing *x = c->absorbing;
  CheckedStencil out = *s;
  int rank = c->m->grid.rank, absorbed = 0, zone[MAX_RANK] = {0};
  bool ok = has_derivatives(c) && measure(c);
  for (int i = 0; i < x->n && ok; i++)
    for (int side = 0; side < 2; side++)
      add_memories(c, i, side);
  for (int k = 0; k < 4 * rank && ok; k++)
    add_init(c, k / 4, k / 2 % 2, k % 2);
  for (int d = 0; d < rank && ok; d++)
    ok = add_first(c, d);
  out.npieces = 0;
  out.pieces = NULL;
  out.targets = NULL;
  out.ntargets = 0;
  for (int t = 0; t < s->ntargets; t++)
    ARENA_PUSH(c->arena, out.targets, out.ntargets, s->targets[t]);
  for (int i = 0; i < s->npieces && ok; i++) {
    int before = out.npieces;
    if (x->decl->pieces[i].absorb.s)
      ok = add_parts(c, &out, &x->pieces[absorbed++], 0, s->pieces[i].box, zone, &s->pieces[i]);
    /* A piece with an empty region has no parts, but each stencil needs a piece. */
    if (out.npieces == before)
      ARENA_PUSH(c->arena, out.pieces, out.npieces, s->pieces[i]);
  }
  if (ok)
    *s = out;
}
