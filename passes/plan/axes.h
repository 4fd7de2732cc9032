/* passes/plan/axes.h: the values that knobs of families may have: the one table of candidates.
 *
 *   axes.def   the table
 *   axes.c     lookups in it */
#ifndef STC_PASSES_AXES_H
#define STC_PASSES_AXES_H

#include "ir/schedule.h"

/* The axes: the knobs. */
enum {
#define KNOB(ID, ...) AXIS_##ID,
#include "ir/knobs.def"
  PLAN_AXES
};

/* A row of axes.def; a knob that the row does not name has the values "". */
typedef struct PlanAxes {
  FamilyId family;
  int rank;
  bool simt;
  char values[PLAN_AXES][192];
} PlanAxes;

/* Row number `i`, NULL: there are fewer. */
const PlanAxes *plan_axes(int i);
/* The row of a family for its usual tiles, NULL: it has none for such programs. */
const PlanAxes *plan_axes_of(FamilyId family, int rank, bool simt);
/* The row of overlapped tiles in lanes. */
const PlanAxes *plan_axes_of_lanes(void);
/* The row of streamed tiles of planes, on grids of many (`many`) or of few rounds of blocks. */
const PlanAxes *plan_axes_of_planes(bool many);
/* The row of overlapped tiles of a part of a step, for targets with threads. */
const PlanAxes *plan_axes_of_parts(int rank);
/* "T", "block" and so on: the option of a knob. */
const char *plan_axis_option(int axis);
/* Word number `i` of an axis; whole: words for the tuner alone count, too. NULL: there are fewer. */
const char *plan_axis_word(Arena *a, const char *values, int i, bool whole);
/* The numbers of that word, "4x32", in v[0 .. GRID_RANK - 1], 1 where it has fewer; more: words between the first '|'
 * and the second count, too. False: there is no such word (words for the tuner never count). */
bool plan_axis_numbers(const char *values, int i, bool more, int32_t *v);

#endif
