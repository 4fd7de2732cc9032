/* check_sweep.c: sweeps. Their points are computed in order along a dimension, and an access to a target at points that
 * the sweep has passed reads the new value there. All other accesses are as in other stencils. */
#include "frontend/sweep.h"
#include "frontend/check/absorb.h"
#include "frontend/fields.h"
#include "frontend/ensemble.h"

#include <string.h>

/* Reads the dimension of `d` and its number of first layers. False after reporting. */
static bool read_order(Checker *c, const SweepDecl *d, Sweeping *w) {
  int64_t n = 1;
  w->sign = d->sign;
  if (!check_dimension(c, d->along, NULL, "a sweep", &w->dim) ||
      (d->first && !check_const_int(c, d->first, NULL, "the number of first layers", &n)))
    return false;
  w->first = n;
  if (n >= 1 && n <= MAX_BEHIND)
    return true;
  check_error(c, NULL, d->first->loc, "a sweep begins with 1 to %d layers, not %lld; give 'first' such a number",
              MAX_BEHIND, (long long)n);
  return false;
}

/* The part of `box` with the first layers (`first`), or with the others. */
static Box layers_of(const Sweeping *w, const Box *box, bool first) {
  Box out = *box;
  int d = w->dim;
  if (first && w->sign > 0)
    out.hi[d] = affine_add_const(box->lo[d], w->first - 1);
  else if (first)
    out.lo[d] = affine_add_const(box->hi[d], 1 - w->first);
  else if (w->sign > 0)
    out.lo[d] = affine_add_const(box->lo[d], w->first);
  else
    out.hi[d] = affine_add_const(box->hi[d], -w->first);
  return out;
}

/* Checks that `box` has at least as many layers as the sweep begins with: when compiling, or by a launch check. */
static bool has_layers(Checker *c, const Decl *d, const Sweeping *w, const Box *box) {
  Affine more = affine_add_const(affine_sub(c->arena, box->hi[w->dim], box->lo[w->dim]), 1 - w->first);
  Str s = {.arena = c->arena};
  box_print(&s, c->m, box);
  const char *message = arena_printf(
      c->arena, "the region %s of the sweep '%s' has fewer layers along dimension %d than the %lld that it begins with",
      s.s, d->name, check_shown(c, w->dim), (long long)w->first);
  Check check = {.value = more, .message = message, .loc = d->region->loc};
  if (more.n)
    ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, check);
  else if (more.c < 0)
    check_error(c, NULL, d->region->loc, "%s; give it more, or begin with fewer", message);
  return more.n || more.c >= 0;
}

void check_layers(Checker *c, const Decl *d, CheckedStencil *s) {
  Sweeping w;
  Box box;
  if (!check_piece_region(c, d->region, s, &box) || !read_order(c, d->sweep, &w) || !has_layers(c, d, &w, &box)) {
    memset(c->lacks, 0, sizeof c->lacks);
    c->incomplete = true;
    return;
  }
  s->sweep = w.sign;
  s->along = w.dim;
  c->sweeping = &w;
  for (int i = 0; i < d->npieces; i++) {
    Box part = layers_of(&w, &box, i == 0);
    w.in_first = i == 0;
    check_piece_on(c, &d->pieces[i], &part, s);
  }
  c->sweeping = NULL;
}

/* The offsets of `e`, as in "[-1,1,0]". */
static const char *offset_text(Checker *c, const Expr *e) {
  Str s = {.arena = c->arena};
  for (int d = c->lead; d < c->m->grid.rank; d++)
    str_addf(&s, "%s%lld", d > c->lead ? "," : "[", (long long)e->off[d]);
  str_add(&s, "]");
  return s.s;
}

bool check_behind(Checker *c, const Env *env, const Symbol *sym, Expr *e) {
  const Sweeping *w = c->sweeping;
  int64_t back = w ? -w->sign * e->off[w->dim] : 0;
  int beside = -1;
  if (!w || back < 1 || !checked_writes(c->stencil, sym->index))
    return true;
  for (int d = 0; d < c->m->grid.rank; d++)
    beside = d != w->dim && e->off[d] ? d : beside;
  if (beside >= 0)
    check_error(
        c, env, e->loc,
        "a sweep has an order along dimension %d alone, and %s%s would need one along dimension %d, too; read a "
        "field that '%s' does not write",
        check_shown(c, w->dim), sym->name, offset_text(c, e), check_shown(c, beside), c->stencil->name);
  else if (w->in_first)
    check_error(c, env, e->loc,
                "'first' is where the sweep begins, and %s%s is behind that; read it in 'next', or a field that '%s' "
                "does not write",
                sym->name, offset_text(c, e), c->stencil->name);
  else if (back > MAX_BEHIND)
    check_error(c, env, e->loc, "%s%s is %lld layers behind; a sweep reads at most %d behind", sym->name,
                offset_text(c, e), (long long)back, MAX_BEHIND);
  else if (back > w->first)
    check_error(c, env, e->loc,
                "%s%s is %lld layers behind, but the sweep begins with %lld; write 'first %lld' and what these are",
                sym->name, offset_text(c, e), (long long)back, (long long)w->first, (long long)back);
  else
    e->behind = true;
  return e->behind;
}
