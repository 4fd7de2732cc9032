/* passes/plan/choose/resolve.h: the steps by which legal.c and schedule-tile.c make the user's request legal for a
 * target. */
#ifndef STC_PASSES_PLAN_RESOLVE_H
#define STC_PASSES_PLAN_RESOLVE_H

#include "passes/plan/plan.h"

/* The state of a resolution: the request, and the choice so far. where: the beginning of messages: the group that they
 * are about, "" if there is one only; part: the launch, one of a step (NULL: the launch of the whole step is to be
 * found); quiet: no remarks are made. */
typedef struct Resolve {
  PassContext *c;
  const Module *m;
  const TargetInfo *target;
  int rank;
  Schedule want, *out;
  const char *where;
  Launch *part;
  bool quiet;
} Resolve;

/* Limits of any request (so that numbers of cells fit 32 bits). */
enum { MAX_ELEMS = 64, MAX_POINTS = 256, MAX_BLOCK = 1 << 24, MAX_LEVELS = 1 << 10 };

/* ---------------------------------------------------------------- overlapped tiles: schedule-tile.c */

/* The launch that makes T steps, with the module's own extents if it has them. */
Launch *tile_launch(const Resolve *r, int T);
/* Additions and accesses a point of launch `l`, or operations that take as long: of the largest piece of each
 * instance. */
int64_t tile_point_cost(const Launch *l);
/* May cells stay in the registers of lanes, if that is asked for: is a row of threads a warp? */
bool tile_has_lanes(const Resolve *r, const Schedule *s);
/* Can the schedule run on the target, whatever its cost? */
bool tile_is_legal(const Resolve *r, const Launch *l, const Schedule *s);
/* Sets the threads in each dimension, or cells of a tile on targets without threads: as wanted, else by rank, and
 * larger than the halo. Without threads, a naive schedule (no launch `l` to fit) and a launch of one stencil keep
 * nothing in arrays and take whole rows, as plain loops do. */
void tile_default_block(const Resolve *r, const Launch *l, Schedule *s);
/* If tile `s` of launch `l` is not legal as it is, completes it from its open knobs, if there are any. */
void tile_complete(const Resolve *r, const Launch *l, Schedule *s);
/* Chooses block and elements for T steps. */
void tile_choose(const Resolve *r, const Launch *l, int T, Schedule *s);
/* Searches a better tile than `s` for launch `l`, which is a part of a step: some more shapes of blocks, some elements
 * a thread in each dimension. */
void tile_search(const Resolve *r, const Launch *l, Schedule *s);
/* Searches a better tile than `s`, which tile_search found, for launch `l`, once it is known that it is one of the
 * step: more shapes, by the count of all of their work (model_part_launch), for the grid of r->want.size or a large
 * one. */
void tile_suit_part(const Resolve *r, const Launch *l, Schedule *s);

#endif
