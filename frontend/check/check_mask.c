/* check_mask.c: masks. A mask is a field of bools that is false beyond its region; its init comes after all other
 * inits. A stencil that is restricted to a mask leaves its targets unchanged at all other points, by assigning the
 * values that they have. A read of a field with a mask is a choice between the field's value at the point that is read,
 * and the value of the rule for dry points. So nothing new reaches the IR.
 *
 * The rule for the field's edges comes first, and the mask applies to the point that this rule leads to. So the choice
 * reads a field of bools with the same region and rules, `FIELD.where`, where a constant beyond an edge counts as true;
 * or it reads the mask itself if the result is the same. */
#include "frontend/complex.h"
#include "frontend/fields.h"
#include "frontend/levels.h"

#include <string.h>

/* A read of `sym` at `off` that ignores the field's mask. */
static Expr *read_at(Checker *c, const Env *env, Loc loc, const Symbol *sym, const int64_t *off) {
  Symbol *s = (Symbol *)sym;
  Expr *e = check_leaf(c, EXPR_FIELD, s->type, loc, s);
  s->used = true;
  for (int d = 0; d < c->m->grid.rank; d++)
    e->off[d] = field_lacks(&c->m->fields[s->index], d) ? 0 : off[d];
  check_access(c, loc, s, e->off, env);
  return e;
}

static const int64_t nowhere[MAX_RANK];

/* `value` where the mask of `look` is true at `off`, else `other`. */
static Expr *choose(Checker *c, const Env *env, Loc loc, const Symbol *look, const int64_t *off, Expr *value,
                    Expr *other) {
  Expr *is = read_at(c, env, loc, look, off);
  return check_types(c, env, check_operation(c, OP_SELECT, loc, 3, (Expr *[]){is, value, other}));
}

/* ---- masks */

/* Adds the init that sets field `s` of a mask to `value`. */
static void add_init(Checker *c, const Symbol *s, Loc loc, Expr *value) {
  CheckedStencil st = {.name = s->name, .loc = loc, .is_init = true, .ntargets = 1, .npieces = 1};
  CheckedPiece piece = {.loc = loc, .box = s->box, .n = 1, .assigns = ARENA_NEW(c->arena, Assign)};
  piece.assigns[0] = (Assign){.loc = loc, .target = s->index, .value = value};
  st.targets = ARENA_NEW(c->arena, int32_t);
  st.targets[0] = s->index;
  st.pieces = ARENA_NEW(c->arena, CheckedPiece);
  st.pieces[0] = piece;
  ARENA_PUSH(c->arena, c->masks, c->nmasks, st);
}

void check_add_masks(Checker *c) {
  for (int i = 0; i < c->nmasks; i++)
    ARENA_PUSH(c->arena, c->checked, c->nchecked, c->masks[i]);
}

void check_mask(Checker *c, const Decl *d, Field *f, Symbol *s) {
  CheckedStencil st = {.name = d->name, .loc = d->loc, .is_init = true};
  f->type = TY_BOOL;
  f->input = true;
  for (int k = 0; k < f->box.rank; k++)
    if (!field_lacks(f, k))
      f->outside[k] = OUTSIDE_CONST;
  s->type = TY_BOOL;
  s->box = f->box;
  s->index = c->m->nfields;
  s->is_mask = s->set_by_init = true;
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, *f);
  for (int k = 0; k < f->box.rank; k++)
    c->lacks[k] = field_lacks(f, k);
  c->stencil = &st;
  c->region = &s->box;
  c->locals = NULL;
  c->in_init = c->in_mask = true;
  Expr *e = check_in(c, d->value, NULL, ALLOW_BODY, "a mask");
  if (e->kind != EXPR_BAD)
    e = check_coerce(c, e, TY_BOOL, arena_printf(c->arena, "mask '%s'", d->name));
  c->in_init = c->in_mask = false;
  c->region = NULL;
  c->stencil = NULL;
  memset(c->lacks, 0, sizeof c->lacks);
  add_init(c, s, d->loc, e);
}

/* The mask called `name`; NULL after reporting. */
static const Symbol *find_mask(Checker *c, Name name) {
  Symbol *s = symbols_find(&c->syms, name.s);
  if (s && s->kind != SYM_BAD && !s->is_mask)
    check_error(c, NULL, name.loc, "'%s' is %s, not a mask; declare one: mask m on REGION = CONDITION;", name.s,
                symbol_words(s));
  else if (!s && check_name_with_level(c, name.s))
    check_undefined(c, NULL, name.loc, name.s, NULL);
  else if (!s)
    check_error(c, NULL, name.loc, "there is no mask '%.60s'; declare it before: mask %.60s on REGION = CONDITION;",
                name.s, name.s);
  if (s)
    s->used = true;
  return s && s->is_mask ? s : NULL;
}

/* ---- reads of fields with masks */

/* Can a value of field `s` be odd about a number? Reports if not. */
static bool has_sign(Checker *c, const DryDecl *dry, const Symbol *s) {
  Type first = type_component(c->m, s->type, 0);
  for (int i = 0; i < type_components(c->m, s->type); i++) {
    Type of = type_component(c->m, s->type, i);
    if (of == first && of != TY_BOOL && !type_is_unsigned(of))
      continue;
    check_error(c, NULL, dry->loc, "only numbers with a sign, and vectors of them, are odd; '%s' is of type %s",
                s->name, type_text(c->m, s->type));
    return false;
  }
  return true;
}

/* Is `e`, of a scalar type, the constant 0? */
static bool is_zero(Checker *c, const Expr *e) {
  Const x;
  return fold_const(c, e, &x) && const_convert(x, e->type, TY_F64).f == 0;
}

/* The value of the rule `dry` of field `s`, in the field's type; for an odd rule, in the type in which the field's
 * numbers are computed. EXPR_BAD after reporting. */
static Expr *rule_value(Checker *c, const DryDecl *dry, const Symbol *s) {
  bool odd = dry->rule == DRY_ODD;
  Expr *e = check_in(c, dry->value, NULL, odd ? ALLOW_SCALAR : ALLOW_CONST,
                     odd ? "what a field is odd about" : "the value of dry points");
  if (e->kind == EXPR_BAD)
    return e;
  e = check_coerce(c, e, odd ? odd_type(type_component(c->m, s->type, 0)) : s->type,
                   arena_printf(c->arena, odd ? "what '%s' is odd about" : "field '%s'", s->name));
  if (odd && e->kind != EXPR_BAD && check_complex_within(c, s->type) && !is_zero(c, e))
    return check_error(c, NULL, e->loc,
                       "complex numbers are odd about 0 alone at dry points, so that both parts change their sign; "
                       "write 'about 0', or 'dry' and a number");
  return e;
}

/* Does mask `m` have all points of field `f`? */
static bool has_points_of(const Checker *c, const Symbol *m, const Field *f) {
  const Field *mask = &c->m->fields[m->index];
  int64_t below, above;
  for (int d = 0; d < f->box.rank; d++)
    if (!field_lacks(mask, d) && (!affine_diff(f->box.lo[d], mask->box.lo[d], &below) || below < 0 ||
                                  !affine_diff(mask->box.hi[d], f->box.hi[d], &above) || above < 0))
      return false;
  return true;
}

/* Is the value beyond all edges of field `f` the same as that of its reads where the mask is false? */
static bool is_dry_outside(Checker *c, const Masked *masked, const Field *f) {
  Const x;
  bool constant = !f->sides && masked->rule == DRY_VALUE && type_is_scalar(f->type) && fold_const(c, masked->value, &x);
  for (int d = 0; d < f->box.rank; d++)
    constant = constant && f->outside[d] == OUTSIDE_CONST;
  return constant && const_same(x, f->outside_value, f->type);
}

/* Adds a field of bools with the region and rules of `f`, with the values of mask `m`. Where a constant is beyond an
 * edge of `f`, the new field is true. */
static Symbol *add_look(Checker *c, const Symbol *m, const Field *f) {
  Field look = {.name = arena_printf(c->arena, "%s.where", f->name),
                .type = TY_BOOL,
                .box = f->box,
                .input = true,
                .loc = f->loc};
  Side *sides = ARENA_ARRAY(c->arena, Side, 2 * MAX_RANK);
  for (int i = 0; i < 2 * f->box.rank; i++)
    sides[i] = (Side){.rule = f->sides ? f->sides[i].rule : outside_end(f->outside[i / 2], i % 2), .value.i = 1};
  if (outside_any(f))
    outside_set_sides(&look, f->box.rank, sides);
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_FIELD,
                .name = look.name,
                .loc = f->loc,
                .used = true,
                .type = TY_BOOL,
                .box = look.box,
                .index = c->m->nfields,
                .is_mask = true,
                .set_by_init = true};
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, look);
  Expr *e = check_leaf(c, EXPR_FIELD, TY_BOOL, f->loc, (Symbol *)m);
  add_init(c, s, f->loc, e);
  return s;
}

bool check_dry(Checker *c, const Decl *d, Symbol *s) {
  const DryDecl *dry = d->dry;
  const Field f = c->m->fields[s->index];
  const Symbol *m = find_mask(c, dry->mask);
  if (!m)
    return false;
  if (field_lacks_any(&f)) {
    check_error(c, NULL, dry->mask.loc, "'%s' does not have all dimensions, and no mask; leave out 'where'", s->name);
    return false;
  }
  Masked *masked = ARENA_NEW(c->arena, Masked);
  *masked = (Masked){m, dry->rule, NULL};
  if (dry->rule == DRY_ODD && !has_sign(c, dry, s))
    return false;
  if (dry->rule != DRY_SELF && (masked->value = rule_value(c, dry, s))->kind == EXPR_BAD)
    return false;
  if (!has_points_of(c, m, &f) || (outside_any(&f) && !is_dry_outside(c, masked, &f)))
    masked->look = add_look(c, m, &f);
  s->masked = masked;
  return true;
}

/* Twice the number about which the field is odd, minus the field's value `here` at the reading point. */
static Expr *odd_value(Checker *c, const Env *env, const Masked *masked, Expr *here) {
  Expr *two = check_leaf(c, EXPR_INT, TY_LITERAL_INT, here->loc, NULL);
  two->name = "2";
  Expr *twice = check_types(c, env, check_operation(c, OP_MUL, here->loc, 2, (Expr *[]){two, masked->value}));
  return check_types(c, env, check_operation(c, OP_SUB, here->loc, 2, (Expr *[]){twice, here}));
}

Expr *check_dry_read(Checker *c, const Env *env, Symbol *sym, Expr *e) {
  if (c->in_mask && !c->m->fields[sym->index].input)
    return check_error(
        c, env, e->loc,
        "a mask is made of input fields and other masks, and does not change; for wetting and drying use "
        "if, or declare '%s' as input",
        sym->name);
  if (c->in_init && !c->in_mask && (sym->is_mask || sym->masked))
    return check_error(c, env, e->loc, "'%s' %s; masks are made behind the inits: read input fields here", sym->name,
                       sym->is_mask ? "is a mask" : "has a mask");
  if (!sym->masked || c->in_mask)
    return e;
  bool away = memcmp(e->off, nowhere, sizeof *nowhere * (size_t)c->m->grid.rank) != 0;
  if (sym->masked->rule == DRY_SELF && !away)
    return e;
  Expr *other = sym->masked->value;
  if (sym->masked->rule != DRY_VALUE)
    other = read_at(c, env, e->loc, sym, nowhere);
  if (sym->masked->rule == DRY_ODD)
    other = odd_value(c, env, sym->masked, other);
  if (other->kind == EXPR_BAD || e->kind == EXPR_BAD)
    return check_bad(c, e->loc);
  return choose(c, env, e->loc, sym->masked->look, e->off, e, other);
}

void check_where(Checker *c, Name name, CheckedPiece *p) {
  const Symbol *m = find_mask(c, name);
  for (int i = 0; i < p->n && m; i++) {
    Assign *a = &p->assigns[i];
    if (a->target < 0 || a->local || !a->value || a->value->kind == EXPR_BAD)
      continue;
    const Field *f = &c->m->fields[a->target];
    if (f->temp) {
      check_error(c, NULL, name.loc, "temp field '%s' has no value to keep where '%s' is false; leave out 'where'",
                  f->name, name.s);
      continue;
    }
    Symbol *s = ARENA_NEW(c->arena, Symbol);
    *s = (Symbol){.kind = SYM_FIELD,
                  .name = f->name,
                  .loc = f->loc,
                  .used = true,
                  .type = f->type,
                  .box = f->box,
                  .index = a->target};
    Expr *old = read_at(c, NULL, a->loc, s, nowhere);
    a->value = choose(c, NULL, a->loc, m, nowhere, a->value, old);
  }
}
