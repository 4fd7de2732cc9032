/* axes.c: lookups in the table of candidate values of knobs (axes.def), and in its words. */
#include "passes/plan/axes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const PlanAxes rows[] = {
#define AXIS(ID, values) [AXIS_##ID] = values
#define AXES(id, rank, simt, ...) {FAMILY_##id, rank, simt, {__VA_ARGS__}},
#include "passes/plan/axes.def"
};
static const PlanAxes of_planes[] = {
#define PLANE_AXES(...) {FAMILY_STREAM, GRID_RANK, true, {__VA_ARGS__}},
#include "passes/plan/axes.def"
};
static const PlanAxes of_parts[] = {
#define PART_AXES(rank, ...) {FAMILY_OVERLAP, rank, true, {__VA_ARGS__}},
#include "passes/plan/axes.def"
#undef AXIS
};
const PlanAxes *plan_axes(int i) { return i < (int)(sizeof rows / sizeof *rows) ? &rows[i] : NULL; }

const PlanAxes *plan_axes_of_planes(bool many) { return &of_planes[many]; }

const PlanAxes *plan_axes_of_parts(int rank) { return &of_parts[rank - 1]; }

const PlanAxes *plan_axes_of_lanes(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (*rows[i].values[AXIS_TILES])
      return &rows[i];
  return NULL;
}

const PlanAxes *plan_axes_of(FamilyId family, int rank, bool simt) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].family == family && rows[i].rank == rank && rows[i].simt == simt && !*rows[i].values[AXIS_TILES])
      return &rows[i];
  return NULL;
}

const char *plan_axis_option(int axis) { return knob_row((KnobId)axis)->name; }

/* The begin of word number `i` of the first `parts` parts, which a '|' separates; NULL: there are fewer words. */
static const char *find_word(const char *values, int i, int parts) {
  for (;; values += strcspn(values, " |")) {
    for (; *values == ' ' || *values == '|'; values++)
      parts -= *values == '|';
    if (!*values || parts < 1)
      return NULL;
    if (i-- == 0)
      return values;
  }
}

const char *plan_axis_word(Arena *a, const char *values, int i, bool whole) {
  const char *word = find_word(values, i, whole ? INT_MAX : 1);
  return word ? arena_strndup(a, word, strcspn(word, " |")) : NULL;
}

bool plan_axis_numbers(const char *values, int i, bool more, int32_t *v) {
  const char *word = find_word(values, i, more ? 2 : 1);
  for (int d = 0; d < GRID_RANK; d++)
    v[d] = 1;
  for (int d = 0; word && d < GRID_RANK; d++) {
    char *end;
    v[d] = (int32_t)strtol(word, &end, 10);
    word = *end == 'x' ? end + 1 : NULL;
    if (!word)
      return true;
  }
  return false;
}
