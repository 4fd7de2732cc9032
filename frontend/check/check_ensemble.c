/* check_ensemble.c: members. They are an extra dimension of the grid before those in the program's text. This file,
 * check_rank and check_shown add that dimension to the regions, offsets and dimensions of the text. */
#include "frontend/ensemble.h"

static const int64_t nowhere[MAX_RANK];

/* ---- the dimension */

/* The first declaration so far that depends on the grid's dimensions; NULL if there is none. */
static const Symbol *goes_by_grid(const Checker *c) {
  for (const Symbol *s = c->syms.first; s; s = s->next)
    switch (s->kind) {
    case SYM_REGION:
    case SYM_FIELD:
    case SYM_STENCIL:
    case SYM_REDUCTION:
    case SYM_PROBE:
    case SYM_LAYER:
    case SYM_LOSS:
    case SYM_REPEAT: return s;
    default: break;
    }
  return NULL;
}

/* May members be declared here? Reports if not. */
static bool has_place(Checker *c, const Decl *d) {
  const Symbol *before = goes_by_grid(c);
  if (c->lead)
    check_error(c, NULL, d->loc, "a program has one number of members; leave out the second 'members'");
  else if (!c->grid)
    check_error(c, NULL, d->loc, "'members' stands behind the grid, which each member has: grid G = [...], STEPS;");
  else if (before)
    check_error(c, NULL, d->loc, "'members' stands right behind the grid, before %s '%s'", symbol_words(before),
                before->name);
  else
    return true;
  return false;
}

/* Moves the checker's data for the grid's dimensions by one. If the grid has a spacing, that of the members is 1. */
static void move_dimensions(Checker *c, Loc loc) {
  Metric *metric = &c->m->metric;
  bool apart = metric->spacing[0] || metric->coordinates[0];
  for (int d = MAX_RANK - 1; d >= 0; d--) {
    c->spacing[d] = d ? c->spacing[d - 1] : NULL;
    c->coordinates[d] = d ? c->coordinates[d - 1] : NULL;
    metric->spacing[d] = d ? metric->spacing[d - 1] : 0;
    metric->coordinates[d] = d ? metric->coordinates[d - 1] : 0;
  }
  Expr *one = check_leaf(c, EXPR_INT, TY_F64, loc, NULL);
  one->name = "1";
  if (apart)
    metric->spacing[0] = 1 + check_hidden_scalar(c, "member.spacing", one)->index;
}

void check_ensemble(Checker *c, const Decl *d) {
  Affine n;
  if (!has_place(c, d))
    return;
  if (!check_affine(c, d->value, "the number of members", &n))
    n = affine_const(1);
  if (!n.n && n.c < 1)
    check_error(c, NULL, d->value->loc, "the number of members is %lld; there is one at least", (long long)n.c);
  Box box = {.rank = c->m->grid.rank + 1};
  for (int k = 1; k < box.rank; k++) {
    box.lo[k] = c->m->grid.lo[k - 1];
    box.hi[k] = c->m->grid.hi[k - 1];
  }
  box.lo[0] = affine_const(0);
  box.hi[0] = affine_add_const(n, -1);
  move_dimensions(c, d->loc);
  c->m->grid = box;
  c->m->members = true;
  symbols_find(&c->syms, c->grid->name)->box = box;
  c->lead = 1;
}

/* ---- the member's number */

Expr *check_member_of_point(Checker *c, const Env *env, Loc loc) {
  if (!check_function_reads(c, env, loc, "member", "the number of the point's member"))
    return check_bad(c, loc);
  if (c->allowed < ALLOW_STATE)
    return check_not_allowed(c, env, loc, "member");
  return check_own_member(c, env, loc, "member");
}

Expr *check_own_member(Checker *c, const Env *env, Loc loc, const char *name) {
  if (c->lacks[0])
    return check_error(c, env, loc, "'%s' has no value here: what is set is shared by all members", name);
  if (c->allowed == ALLOW_STATE && c->one)
    return check_error(c, env, loc,
                       "'%s' differs from member to member, and what is computed here is one number of all of them; "
                       "reduce it over a region, max(%s) over %s, or leave out 'shared'",
                       name, name, c->grid->name);
  c->by_member = true;
  return check_coordinate(c, loc, 0, nowhere);
}

bool check_is_each(const Checker *c, const Symbol *s) {
  for (int i = 0; i < c->nreductions; i++)
    if (c->reductions[i].head.scalar == s->index)
      return c->reductions[i].head.each;
  return false;
}

/* ---- fields that members share */

bool check_shared(Checker *c, const Decl *d, bool *lacks) {
  if (!d->shared)
    return true;
  if (!c->lead) {
    check_error(c, NULL, d->loc,
                "'%s' is shared, but the program has no members that could share it; leave out 'shared', or write "
                "'members N;' behind the grid",
                d->name);
    return false;
  }
  return lacks[0] = true;
}

void check_shared_piece(const Checker *c, const CheckedStencil *s, Box *box, bool *lacks) {
  if (!c->lead || !s->is_init || !field_lacks(&c->m->fields[s->targets[0]], 0))
    return;
  lacks[0] = true;
  box->lo[0] = box->hi[0] = affine_const(0);
}
