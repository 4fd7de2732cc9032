/* passes/tile/lanes.h: what a launch becomes when the cells of its tile stay in the registers of lanes (lanes.c).
 *
 * A warp has R rows of the tile, a lane V cells of each. Cells beside come from the lanes beside, and rows of other
 * warps through shared memory, where each warp puts the first and last rows of its own. */
#ifndef STC_PASSES_LANES_H
#define STC_PASSES_LANES_H

#include "passes/launch/launch.h"

/* Of each field: how many rows down and up other rows are read, in how many arrays versions of it take turns, and which
 * of them version v is in, -1: no other row of it is read. */
typedef struct LaneRows {
  int32_t reach_lo, reach_hi, arrays;
  int32_t *array;
} LaneRows;

typedef struct Lanes {
  const Launch *l;
  LaneRows *rows;
} Lanes;

/* What warps of launch `l` trade, in the arena of its module. */
const Lanes *lanes_new(const Launch *l);
#endif
