/* driver/tune/tune-space.c: the schedules that `stc tune` tries. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The options of the candidate with the indices `at` in a row; NULL if an index is beyond the end of an axis, whose
 * number is then in *beyond. */
static const char *options_at(Arena *a, const PlanAxes *row, const int *at, int *beyond) {
  Str s = {.arena = a};
  str_addf(&s, "-schedule=%s", family_name(row->family));
  for (int i = 0; i < PLAN_AXES; i++) {
    const char *value = plan_axis_word(a, row->values[i], at[i], true);
    if (!*row->values[i])
      continue;
    *beyond = i;
    if (!value)
      return NULL;
    str_addf(&s, " -%s=%s", plan_axis_option(i), value);
  }
  return s.s;
}

/* A hash of a candidate's options: it gives an order that is independent of the table's, and the same in all runs. */
static uint64_t spread(const char *s) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (; *s; s++)
    h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
  return h ^ h >> 29;
}

/* The last axis before number `axis` (PLAN_AXES: the last of all) that the row has; -1 if there is none. */
static int axis_before(const PlanAxes *row, int axis) {
  for (axis--; axis >= 0 && !*row->values[axis];)
    axis--;
  return axis;
}

/* Adds the candidates of a row. */
static void add_row(SearchSpace *s, const PlanAxes *row) {
  int at[PLAN_AXES] = {0}, axis = 0, last = axis_before(row, PLAN_AXES);
  for (;;) {
    const char *options = options_at(s->arena, row, at, &axis);
    if (options) {
      Candidate c = {.family = row->family, .options = options, .row = row, .order = spread(options)};
      memcpy(c.at, at, sizeof at);
      ARENA_PUSH(s->arena, s->all, s->n, c);
      at[last]++;
      continue;
    }
    memset(at + axis, 0, sizeof *at * (size_t)(PLAN_AXES - axis));
    axis = axis_before(row, axis);
    if (axis < 0)
      return;
    at[axis]++;
  }
}

void space_fill(SearchSpace *s, Arena *a, int rank, bool simt) {
  *s = (SearchSpace){.arena = a};
  Candidate usual = {.family = FAMILY_AUTO, .usual = true, .own = true, .options = "-schedule=auto"};
  ARENA_PUSH(a, s->all, s->n, usual);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; plan_axes(i); i++) {
      const PlanAxes *row = plan_axes(i);
      if (row->rank != rank || row->simt != simt)
        continue;
      Candidate own = {.family = row->family,
                       .own = true,
                       .options = arena_printf(a, "-schedule=%s", family_name(row->family))};
      if (pass == 0 && !*row->values[AXIS_TILES])
        ARENA_PUSH(a, s->all, s->n, own);
      else if (pass == 1)
        add_row(s, row);
    }
}

void space_drop_family(SearchSpace *s, FamilyId family, const char *why) {
  for (int i = 0; i < s->n; i++) {
    Candidate *c = &s->all[i];
    if (c->state != CANDIDATE_WAITING || c->family != family)
      continue;
    c->state = CANDIDATE_REFUSED;
    c->why = why;
  }
}

const char *schedule_option(Arena *a, const char *schedule, const char *name) {
  const char *found = strstr(schedule, name);
  if (!found)
    return "";
  found += strlen(name);
  return arena_strndup(a, found, strcspn(found, " "));
}

/* The difference of two values, "8x32" and "4x64": the number of doublings and halvings of their numbers. */
static double unlikeness(const char *x, const char *y) {
  double sum = 0;
  while (*x && *y) {
    char *end_x, *end_y;
    double a = strtod(x, &end_x), b = strtod(y, &end_y);
    if (end_x == x || end_y == y)
      break;
    sum += fabs(log2(a > 0 && b > 0 ? a / b : 1));
    x = end_x + (*end_x == 'x');
    y = end_y + (*end_y == 'x');
  }
  return sum;
}

/* The index of the value of an axis that is most like `value`. */
static int nearest(Arena *a, const char *values, const char *value) {
  const char *v;
  double least = INFINITY;
  int best = 0;
  for (int i = 0; (v = plan_axis_word(a, values, i, true)); i++) {
    double far = unlikeness(v, value);
    if (far >= least)
      continue;
    least = far;
    best = i;
  }
  return best;
}

/* Does `row` have the kind of tiles of schedule `schedule`? Some kinds have a row of their own. */
static bool has_tiles(Arena *a, const PlanAxes *row, const char *schedule) {
  const char *tiles = schedule_option(a, schedule, "-tiles="),
             *word = plan_axis_word(a, row->values[AXIS_TILES], 0, true);
  return strcmp(tiles, word ? word : "") == 0;
}

void space_place(const SearchSpace *s, Candidate *k) {
  for (int i = 0; i < s->n && !k->row; i++)
    if (!s->all[i].own && s->all[i].family == k->family && has_tiles(s->arena, s->all[i].row, k->schedule))
      k->row = s->all[i].row;
  for (int i = 0; i < s->n && !k->row; i++)
    if (!s->all[i].own && s->all[i].family == k->family)
      k->row = s->all[i].row;
  for (int i = 0; k->row && i < PLAN_AXES; i++)
    if (*k->row->values[i])
      k->at[i] = nearest(s->arena, k->row->values[i],
                         schedule_option(s->arena, k->schedule, arena_printf(s->arena, "-%s=", plan_axis_option(i))));
}
