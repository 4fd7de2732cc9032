/* passes/tile/move.h: how rows of fields come from global memory to the code that takes them, and what is kept of them:
 * what stream.c and warps-shape.c decide of it, and lowerings do. */
#ifndef STC_PASSES_MOVE_H
#define STC_PASSES_MOVE_H

#include "ir/module.h"

/* By which way: none come; loads to registers; asynchronous copies, by each thread what it takes itself, to a ring in
 * shared memory; bulk copies of whole rows, begun by one thread, to such a ring, with a signal for each group of rows.
 */
typedef enum MoveKind { MOVE_NONE, MOVE_LOAD, MOVE_ASYNC, MOVE_BULK } MoveKind;

/* The way of a field's rows. ahead: they are on their way so many rows (groups, by bulk copies) before they are taken;
 * 0: they are loaded where they are. places: rows (groups) of the ring. width: cells that are moved at once, also back
 * to global memory. each: every reader takes the row that it needs, from memory or the ring; else there is one newest
 * row for all. By bulk copies: producers: warps that only move rows, 0: the first and the last of the others do that;
 * prefetch: the second-level cache is asked for rows so many behind those that are copied, 0: for none. */
typedef struct Move {
  MoveKind kind;
  int32_t ahead, places, width, producers, prefetch;
  bool each;
} Move;

/* What is kept of a version of a field. Rows are counted back from the newest one, which is row `step - lag` of the
 * stream: those that others read across warps in shared memory, all in registers, or those of one thread in arrays. */
typedef struct KeptVersion {
  bool used;   /* an instance reads it, or it is stored at the end */
  bool direct; /* version 0, read at own points only and by rows far apart: each reader loads its own row, or takes it
                  from the ring by which rows come in */
  int32_t behind; /* of a direct one: the oldest row that is read, back from the newest */
  int32_t lag;    /* of what makes it; 0 for version 0 */
  int32_t rows;   /* the oldest row that is read, back from the newest: so many are kept between steps */
  int32_t across; /* the oldest row back that is read by other warps; 0: none (such rows are read a step later at the
                     earliest) */
  int32_t delay;  /* in pipelines of warps: so many rows after one has come it is read */
  int32_t reach_lo, reach_hi; /* lines down and up in dimension 1 that are read, rank 3 */
  int32_t constants;          /* accesses that may lead to points where the field is a constant */
  bool tested[MAX_RANK];      /* in these dimensions */
  bool filled; /* that constant is put in cells beyond the field's region as soon as there is a value for them, so that
                  accesses do without a test */
} KeptVersion;

#endif
