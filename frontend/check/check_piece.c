/* check_piece.c: pieces of stencils and inits: their targets, and the assigned values. Above check_stmt.c, whose
 * statements assign to targets, and below check.c. */
#include "frontend/check/absorb.h"
#include "frontend/check/declare.h"
#include "frontend/fields.h"

#include <string.h>

static bool is_field(const Symbol *s) { return s && s->kind == SYM_FIELD; }

Symbol *check_target_field(Checker *c, Name name, bool is_init) {
  Symbol *s = symbols_find(&c->syms, name.s);
  if (!s) {
    check_undefined(c, NULL, name.loc, name.s, is_field);
    return NULL;
  }
  s->used = true;
  if (s->kind == SYM_BAD)
    return NULL;
  if (s->kind != SYM_FIELD)
    check_error(c, NULL, name.loc, "'%s' is %s; only fields can be targets", name.s, symbol_words(s));
  else if (field_lacks_any(&c->m->fields[s->index]) && !is_init)
    check_error(c, NULL, name.loc,
                "'%s' does not have all dimensions of the grid, and no stencil may write it; write a field that has "
                "them, or set it by an init",
                name.s);
  else if (s->is_mask)
    check_error(c, NULL, name.loc, "'%s' is a mask, which does not change; for wetting and drying use if", name.s);
  else if (s->framed)
    check_error(
        c, NULL, name.loc,
        "the frames of '%s' come from outside, and no %s writes them; leave out 'frames', or write another field",
        name.s, is_init ? "init" : "stencil");
  else if (c->m->fields[s->index].input && !is_init)
    check_error(c, NULL, name.loc, "'%s' is an input field, which no stencil may write; leave out 'input'", name.s);
  else if (name.level && !is_init)
    check_error(c, NULL, name.loc, "'%s@%d': older levels rotate by themselves; only an init sets them", name.s,
                name.level);
  else if (name.level)
    return check_past(c, NULL, name.loc, s, name.level);
  else if (c->m->fields[s->index].temp && is_init)
    check_error(c, NULL, name.loc,
                "'%s' is a temp field, which holds nothing before the first step; an init cannot set it", name.s);
  else
    return s;
  return NULL;
}

/* The field to which statement `st` assigns, -1 after reporting. */
static int assigned_field(Checker *c, const Stmt *st, const CheckedPiece *p) {
  const Symbol *f = symbols_find(&c->syms, st->name);
  if (f && f->kind == SYM_FIELD && st->level)
    f = st->level <= f->npasts ? f->pasts[st->level - 1] : f;
  const char *near = f ? NULL : symbols_nearest(&c->syms, c->locals, st->name, is_field);
  if (!f && near) {
    check_error(c, NULL, st->loc,
                "'%.60s' is not declared; did you mean '%s'? A name for a value is written 'let %.60s = ...'", st->name,
                near, st->name);
    check_told(c, st->loc, st->name);
  } else if (!f) {
    check_error(c, NULL, st->loc, "'%.60s' is not declared; a name for a value is written 'let %.60s = ...'", st->name,
                st->name);
    check_told(c, st->loc, st->name);
  } else if (f->kind != SYM_BAD && f->kind != SYM_FIELD) {
    check_error(c, NULL, st->loc, "'%s' is %s; only target fields are assigned to (a new name needs 'let' or 'var')",
                st->name, symbol_words(f));
  } else if (f->kind == SYM_FIELD &&
             (!checked_writes(c->stencil, f->index) || st->level != c->m->fields[f->index].past)) {
    const char *text = st->level ? arena_printf(c->arena, "%s@%d", st->name, st->level) : st->name;
    check_error(c, NULL, st->loc, "'%s' is no target of '%s'; name it in the brackets after '%s'", text,
                c->stencil->name, c->stencil->name);
  } else if (f->kind == SYM_FIELD) {
    for (int i = 0; i < p->n; i++)
      if (p->assigns[i].target == f->index)
        check_error(c, NULL, st->loc, "'%s' is assigned twice in this block", f->name);
    return f->index;
  }
  return -1;
}

/* TARGET = VALUE in a block, or (field >= 0) the single expression of a piece. */
static void check_assign(Checker *c, const Stmt *st, int field, CheckedPiece *p) {
  if (field < 0)
    field = assigned_field(c, st, p);
  const Field *f = field < 0 ? NULL : &c->m->fields[field];
  bool inside = !f || check_inside(c, p->loc, &p->box, "the region", &f->box,
                                   arena_printf(c->arena, "the region of field '%s',", f->name));
  Expr *e = st->value && inside ? check_in(c, st->value, NULL, ALLOW_BODY, "a value") : NULL;
  if (!f)
    return;
  if (e)
    e = check_coerce(c, e, f->type, arena_printf(c->arena, "field '%s'", f->name));
  Assign a = {.loc = st->loc, .target = field, .value = e};
  ARENA_PUSH(c->arena, p->assigns, p->n, a);
}

void check_target(Checker *c, const Env *env, const Stmt *st) {
  const Symbol *f = symbols_find(&c->syms, st->name);
  bool known = f && f->kind == SYM_FIELD && checked_writes(c->stencil, f->index);
  if (known && st->npath)
    check_error(c, env, st->path[0].loc,
                "a target is assigned as a whole, at the point in hand; build the value and write %s = ...", st->name);
  else if (known && c->level)
    check_error(c, env, st->loc,
                "the target '%s' is assigned in the block itself, not in a for or if; give a var its value here, and "
                "assign that behind",
                st->name);
  else
    check_assign(c, st, -1, c->piece);
}

/* The block, or the single expression, of a piece of `s`. */
static void piece_body(Checker *c, const PieceDecl *d, const CheckedStencil *s, CheckedPiece *p) {
  if (!d->is_block && d->n) {
    check_assign(c, &d->stmts[0], s->targets[0], p);
    return;
  }
  c->piece = p;
  c->allowed = ALLOW_BODY;
  check_statements(c, NULL, d->n, d->stmts);
  check_leave(c, NULL);
  c->piece = NULL;
  c->allowed = ALLOW_CONST;
  if (diags_errors(c->d) == 0 && !(c->absorbing && c->absorbing->zone))
    check_unused(c, d->n, d->stmts);
}

void check_piece_on(Checker *c, const PieceDecl *d, const Box *box, CheckedStencil *s) {
  CheckedPiece p = {.loc = d->loc, .box = *box};
  c->region = &p.box;
  c->locals = NULL;
  if (!d->is_block && d->n && s->ntargets > 1)
    check_error(c, NULL, d->stmts[0].loc, "'%s' has %d targets; write a block that assigns to each: { %s = ...; }",
                s->name, s->ntargets, c->m->fields[s->targets[0]].name);
  else
    piece_body(c, d, s, &p);
  if (d->region->where.s)
    check_where(c, d->region->where, &p);
  c->region = NULL;
  memset(c->lacks, 0, sizeof c->lacks);
  ARENA_PUSH(c->arena, s->pieces, s->npieces, p);
}

void check_piece(Checker *c, const PieceDecl *d, CheckedStencil *s) {
  Box box;
  if (!check_piece_region(c, d->region, s, &box)) {
    memset(c->lacks, 0, sizeof c->lacks);
    c->incomplete = true;
    return;
  }
  absorb_piece(c, d, &box);
  check_piece_on(c, d, &box, s);
}
