/* lists.c: lists of points that injects use, where no rank has the whole grid. Every rank has all coordinates, and so
 * all points; from them it computes its parts' cells of the list's field (PointList), including ghost cells, and the
 * array of points at one place. All ranks detect the same errors. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* A list that is being filled: its points sorted by place, their number, and for each 1 + the number of the next one at
 * the same place, or 0 (`next`, may be NULL). */
typedef struct Filling {
  StcPlan *p;
  const PointList *l;
  PlacedPoint *points;
  int64_t n;
  int32_t *next;
} Filling;

/* Stores point number `n`, the first at place `at`, to the cells [lo .. hi] of part `part` at `index`, if it is among
 * them; in a ring also beyond the edges of the grid. */
static void put_point(const Filling *x, bool ring, const CellArray *a, int64_t n, const int64_t *at, int32_t *index) {
  const Split *s = x->p->split;
  int most[MAX_RANK] = {0}, turns[MAX_RANK] = {0};
  for (int d = 0; d < s->rank; d++) {
    most[d] = ring ? 1 : 0;
    turns[d] = -most[d];
  }
  do {
    int64_t cell = 0;
    bool inside = true;
    for (int d = 0; d < s->rank; d++) {
      int64_t place = at[d] + turns[d] * (s->hi[d] - s->lo[d] + 1);
      inside &= place >= a->lo[d] && place <= a->hi[d];
      cell = cell * (a->hi[d] - a->lo[d] + 1) + place - a->lo[d];
    }
    if (inside)
      index[cell] = (int32_t)(n + 1);
  } while (next_turns(s->rank, most, turns));
}

/* Gives part `part` its cells of the list's field, if it has that field, and the array. */
static StcStatus give_part(const Filling *x, const PartPlan *part) {
  StcPlan *p = x->p, *q = part->plan;
  int f = module_find_field(part->module, x->l->name), array = -1;
  if (f < 0 || part->module->fields[f].temp)
    return STC_OK;
  if (x->next)
    array = stc_program_find_array(q->program, p->module->param_arrays[x->l->next].name);
  CellArray a = part_array(part, f);
  size_t bytes = part_bytes(part, f);
  int32_t *index = calloc(bytes + 1, 1);
  if (!index)
    return computer_no_room(p->w.context, "the places of", "points", (double)bytes);
  for (int64_t i = 0; i < x->n; i++) {
    int64_t at[MAX_RANK];
    if (i && x->points[i].cell == x->points[i - 1].cell)
      continue;
    list_point(p->module, x->l, p->scalars, p->lists.coordinates, x->points[i].point, at);
    put_point(x, part->module->fields[f].ring, &a, x->points[i].point, at, index);
  }
  StcStatus s = stc_plan_set(q, stc_program_find_field(q->program, x->l->name), index, bytes);
  free(index);
  return s || array < 0 ? s : stc_plan_set_array(q, array, x->next, (size_t)x->n * sizeof *x->next);
}

/* Fills x->next. */
static void chain(const Filling *x) {
  for (int64_t i = 0; i + 1 < x->n; i++)
    if (x->points[i].cell == x->points[i + 1].cell)
      x->next[x->points[i].point] = (int32_t)(x->points[i + 1].point + 1);
}

/* Fills list number `i` for all parts of this rank. */
static StcStatus fill(StcPlan *p, int i) {
  const PointList *l = &p->module->lists[i];
  int64_t n = list_length(p->module, l, p->scalars);
  Filling x = {.p = p, .l = l, .n = n, .points = malloc((size_t)n * sizeof *x.points + 1)};
  StcStatus s = STC_OK;
  x.next = l->next < 0 ? NULL : calloc((size_t)n + 1, sizeof *x.next);
  if (!x.points || (l->next >= 0 && !x.next))
    s = computer_no_room(p->w.context, "the places of", "points", (double)n * sizeof *x.points);
  else if (!list_place(p->module, l, p->scalars, p->lists.coordinates, x.points, p->w.diags))
    s = STC_INPUT;
  if (!s && x.next)
    chain(&x);
  for (int k = p->split->begin; k < p->split->end && !s; k++)
    s = give_part(&x, &p->split->part[k]);
  free(x.points);
  free(x.next);
  return s;
}

/* Have all coordinates of the list been set? */
static bool is_given(const StcPlan *p, const PointList *l) {
  bool given = true;
  for (int d = 0; d < p->split->rank; d++)
    given &= l->array[d] < 0 || p->lists.coordinates[l->array[d]];
  return given;
}

StcStatus split_fill_lists(StcPlan *p) {
  const Module *m = p->module;
  StcStatus s = STC_OK;
  if (p->lists.lists_filled)
    return s;
  for (int i = 0; i < m->nlists && !s; i++)
    s = is_given(p, &m->lists[i]) ? fill(p, i)
                                  : program_check_given(p->program, p->w.arena, p->w.diags, p->scalars,
                                                        p->bound.component_given, p->bound.array_given, false);
  p->lists.lists_filled = !s;
  return s;
}
