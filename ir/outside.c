/* outside.c: the table of outside rules (outside.def), and functions on it. */
#include "ir/module.h"

#include <string.h>

/* The place to which a rule maps a point, see outside.def. */
typedef enum Reach { REACH_STAYS, REACH_BACK, REACH_SHORT, REACH_AROUND } Reach;

static const struct {
  const char *name;
  Opcode map;
  Reach reach;
  OutsideRule end[2];
} table[] = {
#define OUTSIDE(id, name, map, reach, low, high) {name, OP_##map, REACH_##reach, {OUTSIDE_##low, OUTSIDE_##high}},
#include "ir/outside.def"
#undef OUTSIDE
};

const char *outside_name(OutsideRule r) { return table[r].name; }

Opcode outside_map(OutsideRule r) { return table[r].map; }

OutsideRule outside_end(OutsideRule r, int end) { return table[r].end[end]; }

OutsideRule outside_pair(OutsideRule low, OutsideRule high) {
  for (int r = 0; r < OUTSIDE_RULES; r++)
    if (table[r].end[0] == low && table[r].end[1] == high)
      return (OutsideRule)r;
  return OUTSIDE_NONE;
}

bool outside_leads(OutsideRule r) { return table[r].reach != REACH_STAYS; }

void outside_reach(OutsideRule r, int64_t off, int64_t *lo, int64_t *hi) {
  Reach reach = outside_leads(r) && off ? table[outside_end(r, off > 0)].reach : REACH_STAYS;
  int64_t back = off < 0 ? -off : off; /* distance beyond the edge, and so to the point on the other side */
  back = reach == REACH_AROUND ? back : reach == REACH_SHORT ? back - 1 : 0;
  *lo = *hi = off;
  if (reach != REACH_STAYS && off < 0)
    *hi = back;
  else if (reach != REACH_STAYS)
    *lo = -back;
}

const char *outside_word(int i) {
  for (int r = 0; r < OUTSIDE_RULES; r++)
    if (table[r].map != OP_COUNT && r != OUTSIDE_ALL && !strchr(table[r].name, ' ') && i-- == 0)
      return table[r].name;
  return NULL;
}

OutsideRule outside_find(const char *name) {
  for (int r = 0; r < OUTSIDE_RULES; r++)
    if (strcmp(table[r].name, name) == 0)
      return (OutsideRule)r;
  return OUTSIDE_NONE;
}

const char *outside_words(Arena *a, const char *last) {
  Str s = {.arena = a};
  for (int i = 0; outside_word(i); i++)
    str_addf(&s, "%s%s", !i ? "" : outside_word(i + 1) ? ", " : last, outside_word(i));
  return s.s;
}

/* ---- by dimension and side */

void outside_set(Field *f, OutsideRule rule) {
  for (int d = 0; d < MAX_RANK; d++)
    f->outside[d] = rule;
}

void field_leave_out(Field *f, int d) {
  f->box.lo[d] = f->box.hi[d] = affine_const(0);
  f->outside[d] = OUTSIDE_ALL;
}

bool field_lacks(const Field *f, int d) { return f->outside[d] == OUTSIDE_ALL; }

bool field_lacks_any(const Field *f) { return outside_has(f, OUTSIDE_ALL); }

bool field_lacks_same(const Field *f, const Field *g) {
  for (int d = 0; d < MAX_RANK; d++)
    if (field_lacks(f, d) != field_lacks(g, d))
      return false;
  return true;
}

bool side_same(const Side *x, const Side *y, Type t) {
  bool valued = x->rule == OUTSIDE_CONST || x->is_about;
  return x->rule == y->rule && x->odd == y->odd && x->is_about == y->is_about && x->about == y->about &&
         (!valued || x->about || const_same(x->value, y->value, t));
}

/* The type of the constants of a field of type `t`. */
static Type value_type(Type t) { return type_is_scalar(t) ? t : TY_F64; }

OutsideRule outside_between(const Side *low, const Side *high) {
  OutsideRule at[2] = {low->rule, high->rule};
  for (int end = 0; end < 2; end++)
    if (at[end] == OUTSIDE_CONST)
      at[end] = at[!end] == OUTSIDE_CONST ? OUTSIDE_CLAMP : at[!end];
  return outside_pair(at[0], at[1]);
}

/* Are all constants of the rules equal, and are there no odd edges that change their sign? */
static bool has_one_constant(const Field *f, int rank, const Side *sides) {
  const Side *first = NULL;
  bool one = true;
  for (int i = 0; i < 2 * rank; i++) {
    one = one && !sides[i].odd;
    if (sides[i].rule != OUTSIDE_CONST)
      continue;
    first = first ? first : &sides[i];
    one = one && const_same(first->value, sides[i].value, value_type(f->type));
  }
  return one;
}

void outside_set_sides(Field *f, int rank, const Side *sides) {
  bool plain = true, one = has_one_constant(f, rank, sides);
  outside_set(f, OUTSIDE_NONE);
  for (int d = 0; d < rank; d++) {
    const Side *low = &sides[2 * d], *high = low + 1;
    bool constant = low->rule == OUTSIDE_CONST && high->rule == OUTSIDE_CONST;
    f->outside[d] = constant && one ? OUTSIDE_CONST : outside_between(low, high);
    if (f->outside[d] == OUTSIDE_CONST)
      f->outside_value = low->value;
    for (const Side *s = low; s <= high; s++)
      plain = plain && !s->odd && (s->rule != OUTSIDE_CONST || f->outside[d] == OUTSIDE_CONST);
  }
  f->sides = plain ? NULL : sides;
}

bool outside_same(const Field *f, const Field *g) {
  bool same = !f->sides == !g->sides && f->apart == g->apart, constant = false;
  for (int d = 0; d < MAX_RANK && same; d++) {
    same = f->outside[d] == g->outside[d];
    constant = constant || f->outside[d] == OUTSIDE_CONST;
  }
  for (int i = 0; i < 2 * f->box.rank && same && f->sides; i++)
    same = side_same(&f->sides[i], &g->sides[i], value_type(f->type));
  return same && (!constant || const_same(f->outside_value, g->outside_value, value_type(f->type)));
}

bool outside_any(const Field *f) {
  for (int d = 0; d < f->box.rank; d++)
    if (f->outside[d] != OUTSIDE_NONE && !field_lacks(f, d))
      return true;
  return false;
}

bool outside_uniform(const Field *f, int rank) {
  bool uniform = !f->sides;
  for (int d = 1; d < rank; d++)
    uniform = uniform && f->outside[d] == f->outside[0];
  return uniform;
}

bool outside_has(const Field *f, OutsideRule rule) {
  for (int d = 0; d < MAX_RANK; d++)
    if (f->outside[d] == rule)
      return true;
  return false;
}

bool outside_once(const Field *f, int d, int end) {
  const Side *s = f->sides ? &f->sides[2 * d + end] : NULL, *other = f->sides ? &f->sides[2 * d + !end] : NULL;
  return s && (s->rule == OUTSIDE_MIRROR || s->rule == OUTSIDE_HALF) &&
         (s->odd || other->odd || other->rule == OUTSIDE_CONST);
}
