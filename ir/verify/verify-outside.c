/* ir/verify/verify-outside.c: the rules of outside rules of fields. */
#include "ir/verify/verify.h"

#include <string.h>

/* Checks the rule of one edge of a field. */
static void check_side(Verifier *v, const Field *f, const Side *s) {
  Type t = type_is_scalar(f->type) ? f->type : TY_F64;
  bool mirrors = s->rule == OUTSIDE_MIRROR || s->rule == OUTSIDE_HALF;
  if (s->rule == OUTSIDE_NONE || s->rule >= OUTSIDE_RULES || outside_end(s->rule, 0) != outside_end(s->rule, 1))
    verify_fail(v, f->loc, "rule number %d is none for one side of a dimension", (int)s->rule);
  if ((s->odd && !mirrors) || (s->is_about && !s->odd) || (s->about && !s->is_about))
    verify_fail(v, f->loc, "only what is mirrored is odd, and about a number");
  if (s->about < 0 || s->about > v->m->nscalars || (s->about && v->m->scalars[s->about - 1].is_reduction))
    verify_fail(v, f->loc, "what a side is odd about is no scalar that is known at launch");
  else if (s->about && (v->m->scalars[s->about - 1].type == TY_BOOL ||
                        odd_type(v->m->scalars[s->about - 1].type) != v->m->scalars[s->about - 1].type))
    verify_fail(v, f->loc, "what a side is odd about is a scalar of a type in which nothing is computed");
  if ((s->rule == OUTSIDE_CONST || (s->is_about && !s->about)) && !verify_is_value(s->value, t))
    verify_fail(v, f->loc, "the constant outside is not a value of type %s", type_text(v->m, f->type));
  for (int i = 0; i < type_components(v->m, f->type) && s->odd; i++) {
    Type of = type_component(v->m, f->type, i);
    if (of == TY_BOOL || type_is_unsigned(of))
      verify_fail(v, f->loc, "values of type %s have no sign, and cannot be odd", type_name(of));
  }
}

/* If `f` lacks dimension `d`, checks that its box is one point at 0 there, and that steps do not write f. Exception: in
 * kernel IR, the temp fields for values of rows (lower-rows.c). */
static void check_lacks(Verifier *v, const Field *f, int d) {
  const Box *box = &f->box;
  if (!field_lacks(f, d))
    return;
  if (box->lo[d].n || box->lo[d].c || box->hi[d].n || box->hi[d].c)
    verify_fail(v, f->loc, "it does not have dimension %d, but its box is not [0 .. 0] there", d);
  if ((f->temp && v->m->level == LEVEL_SIR) || f->history || f->past || f->series)
    verify_fail(v, f->loc, "it does not have dimension %d, but is of a kind that has all of them", d);
}

void verify_outside(Verifier *v, const Field *f) {
  Field plain = *f;
  int rank = v->m->grid.rank;
  bool constant = false, all = true;
  for (int d = 0; d < rank; d++) {
    if (f->outside[d] >= OUTSIDE_RULES) {
      verify_fail(v, f->loc, "there is no outside rule number %d", (int)f->outside[d]);
      return;
    }
    if (f->outside[d] == OUTSIDE_NONE && outside_any(f))
      verify_fail(v, f->loc, "it has a rule in one dimension and not in another");
    constant = constant || f->outside[d] == OUTSIDE_CONST;
    all = all && field_lacks(f, d);
    check_lacks(v, f, d);
  }
  if (all)
    verify_fail(v, f->loc, "it has no dimension");
  if (constant && !verify_is_value(f->outside_value, type_is_scalar(f->type) ? f->type : TY_F64))
    verify_fail(v, f->loc, "the constant outside is not a value of type %s", type_text(v->m, f->type));
  if (f->apart && !f->sides)
    verify_fail(v, f->loc, "nothing of its outside rules is left to stencils");
  for (int i = 0; i < 2 * rank && f->sides; i++) {
    check_side(v, f, &f->sides[i]);
    if ((f->sides[i].rule == OUTSIDE_PERIODIC) != (f->sides[i ^ 1].rule == OUTSIDE_PERIODIC))
      verify_fail(v, f->loc, "dimension %d is periodic on one side alone", i / 2);
  }
  if (f->sides)
    outside_set_sides(&plain, rank, f->sides);
  if (f->sides && (!plain.sides || memcmp(plain.outside, f->outside, sizeof plain.outside) != 0))
    verify_fail(v, f->loc, "its outside rules are not those that its sides come to");
}
