/* passes/plan/asked.c: the open parts of a requested schedule. This is the lowest layer of the plan: all others call
 * it. */
#include "passes/plan/asked.h"
#include "passes/base/tuning.h"
#include "passes/launch/slices.h"

bool schedule_depends_on_size(const Schedule *s) {
  return !schedule_says_any(s, KNOBS_NUMBERS) && !family_is_plain(s->family) && s->tiles != TILES_LANES;
}

double schedule_points(const Schedule *s, int rank) {
  double points = slices_of_size(rank, s->size);
  for (int d = 0; d < rank; d++)
    points *= (double)s->size[d];
  return points;
}

bool schedule_size_is_large(const Schedule *s, int rank) {
  return schedule_points(s, rank) >= tuning.large_grid[(rank < GRID_RANK ? rank : GRID_RANK) - 1];
}

bool schedule_rows_are_open(const Schedule *s) {
  return !s->chunk && (s->family == FAMILY_AUTO || family_row(s->family)->streamed);
}

bool schedule_parts_edges(const Schedule *s, int rank) {
  double points = schedule_points(s, rank);
  return s->edges ? s->edges == EDGES_APART : points == 0 || points >= tuning.parted_points;
}

bool schedule_gives_steps(const Schedule *s) {
  bool alone = s->T > 0 && s->family <= FAMILY_AUTO && !s->chunk && !s->ahead && !s->tiles;
  for (int d = 0; d < GRID_RANK; d++)
    alone = alone && !s->block[d] && !s->elems[d];
  return alone;
}

FamilyId schedule_family(const TargetInfo *t, const Schedule *s) {
  bool open = s->T > 0;
  for (int d = 0; d < GRID_RANK; d++)
    open = open && !s->block[d] && !s->elems[d];
  open = t->simt ? schedule_gives_steps(s) : open;
  return s->family ? s->family : open ? FAMILY_AUTO : FAMILY_OVERLAP;
}
