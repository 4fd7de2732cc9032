/* check_lacking.c: fields that lack some of the grid's dimensions. In such a field's region, and in those of its inits,
 * a star stands for a missing dimension. The field's box has one point there, at 0, to which all coordinates are mapped
 * (OUTSIDE_ALL). In all other respects it is like other fields, but no step writes it: the value of which layer would
 * that be? */
#include "frontend/base/bounds.h"
#include "frontend/fields.h"
#include "frontend/ensemble.h"

#include <string.h>

/* Reports if no dimension of the region at `loc` is left. */
static bool has_dimension(Checker *c, Loc loc, const bool *lacks) {
  for (int d = c->lead; d < c->m->grid.rank; d++)
    if (!lacks[d])
      return true;
  check_error(c, NULL, loc, "a field has one dimension at least; a number that is the same at all points is a param");
  return false;
}

bool check_field_region(Checker *c, const Decl *d, Field *f) {
  const Box *named = d->on.s ? check_region_name(c, d->on.loc, d->on.s) : &c->m->grid;
  const Symbol *of = d->on.s ? symbols_find(&c->syms, d->on.s) : NULL;
  bool lacks[MAX_RANK] = {false};
  if (of && of->kind == SYM_FIELD)
    field_lacks_which(c, of->index, lacks);
  if (!check_shared(c, d, lacks) || (d->region ? !check_region_of(c, d->region, &f->box, lacks) : !named))
    return false;
  if (!d->region)
    f->box = *named;
  Box inside = f->box;
  for (int k = 0; k < inside.rank; k++)
    if (lacks[k]) {
      inside.lo[k] = c->m->grid.lo[k];
      inside.hi[k] = c->m->grid.hi[k];
    }
  if (d->region && !check_inside(c, d->region->loc, &inside, "the region", &c->m->grid, "the grid"))
    return false;
  for (int k = 0; k < f->box.rank; k++)
    if (lacks[k])
      field_leave_out(f, k);
  return has_dimension(c, d->region ? d->region->loc : d->loc, lacks);
}

bool check_lacking_kind(Checker *c, const Decl *d, Field *f) {
  if (!field_lacks_any(f))
    return true;
  f->input = true;
  if (!d->temp && !d->history)
    return true;
  check_error(c, NULL, d->loc, "field '%s' does not have all dimensions, so no stencil writes it; leave out '%s'",
              d->name, d->temp ? "temp" : "history");
  return false;
}

bool check_lacking_side(Checker *c, const SideDecl *from, const Field *f, int side, bool alone) {
  bool star = from->rule == OUTSIDE_ALL;
  if (star == field_lacks(f, side / 2) || (!star && alone))
    return true;
  if (star)
    check_error(c, NULL, from->loc, "'%s' has dimension %d; write a rule, '*' is for a dimension that it does not have",
                f->name, check_shown(c, side / 2));
  else
    check_error(c, NULL, from->loc, "'%s' does not have dimension %d, in which nothing is beyond it; write '*'",
                f->name, check_shown(c, side / 2));
  return false;
}

/* Do the targets of `s` have the same dimensions as the piece at `loc`? */
static bool targets_fit(Checker *c, Loc loc, const CheckedStencil *s) {
  for (int t = 0; t < s->ntargets; t++) {
    const Field *f = &c->m->fields[s->targets[t]];
    for (int d = 0; d < c->m->grid.rank; d++) {
      int shown = check_shown(c, d);
      if (field_lacks(f, d) != c->lacks[d] && shown < 0)
        check_error(c, NULL, loc,
                    "of the targets of '%s' some are shared by all members and '%s' is not; set them by an init of "
                    "their own",
                    s->name, f->name);
      else if (field_lacks(f, d) && !c->lacks[d])
        check_error(c, NULL, loc, "'%s' does not have dimension %d: write '*' there, or [%s]", f->name, shown, f->name);
      else if (!field_lacks(f, d) && c->lacks[d])
        check_error(c, NULL, loc, "'%s' has dimension %d: write a range in place of '*'", f->name, shown);
      else
        continue;
      return false;
    }
  }
  return true;
}

bool check_piece_region(Checker *c, const RegionExpr *r, const CheckedStencil *s, Box *out) {
  memset(c->lacks, 0, sizeof c->lacks);
  if (!check_region_of(c, r, out, c->lacks))
    return false;
  check_shared_piece(c, s, out, c->lacks);
  return targets_fit(c, r->loc, s);
}

bool check_reads_lacking(Checker *c, const Env *env, Loc loc, const Symbol *f) {
  for (int d = 0; d < c->m->grid.rank; d++) {
    if (!c->lacks[d] || field_lacks(&c->m->fields[f->index], d))
      continue;
    if (d < c->lead) {
      check_error(c, env, loc, "'%s' differs from member to member, and what is set here is shared by all of them",
                  f->name);
      return false;
    }
    check_error(c, env, loc,
                "'%s' has dimension %d, which the region here does not have: there is no one point of it to read",
                f->name, check_shown(c, d));
    return false;
  }
  return true;
}

bool check_has_coordinate(Checker *c, const Env *env, Loc loc, int d, const char *word) {
  if (!c->lacks[d])
    return true;
  check_error(c, env, loc, "%s(%d) has no value: the region here does not have dimension %d", word, check_shown(c, d),
              check_shown(c, d));
  return false;
}
