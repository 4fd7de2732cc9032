/* passes/tile/move.h: how rows of fields are moved from global memory to the code that reads them, and which rows are
 * kept: stream.c and warps-shape.c decide it, lowerings carry it out. */
#ifndef STC_PASSES_MOVE_H
#define STC_PASSES_MOVE_H

#include "ir/module.h"

/* The kinds of moves: none; loads to registers; asynchronous copies to a ring in shared memory, by each thread of the
 * cells that it reads itself; bulk copies of whole rows to such a ring, started by one thread, with a signal for each
 * group of rows. */
typedef enum MoveKind { MOVE_NONE, MOVE_LOAD, MOVE_ASYNC, MOVE_BULK } MoveKind;

/* How a field's rows are moved.
 * ahead: the move starts so many rows (bulk copies: groups) before the row is read; 0: rows are loaded where they are
 * read.
 * places: rows (groups) of the ring.
 * width: cells that are moved at once, also back to global memory.
 * each: every reader loads the row that it needs, from memory or the ring; else there is one newest row for all
 * readers.
 * producers: with bulk copies, producer warps, which only move rows; 0: the first and the last of the other warps move
 * them.
 * prefetch: with bulk copies, how many rows ahead of the copies rows are prefetched to the second-level cache; 0:
 * none. */
typedef struct Move {
  MoveKind kind;
  int32_t ahead, places, width, producers, prefetch;
  bool each;
} Move;

/* How a version of a field is kept. Rows are counted back from the newest one, which is row `step - lag` of the stream.
 * Lines that other warps read are in shared memory, all rows in registers; those of one thread are in arrays. */
typedef struct KeptVersion {
  bool used;   /* an instance reads it, or it is stored at the end */
  bool direct; /* version 0, read at own points only and by rows far apart: each reader loads its own row, or takes it
                  from the ring to which rows are copied */
  int32_t behind; /* of a direct one: the oldest row that is read, back from the newest */
  int32_t lag;    /* of the instance that makes it; 0 for version 0 */
  int32_t rows;   /* the oldest row that is read, back from the newest: so many are kept between steps */
  int32_t across; /* the oldest row, back from the newest, that other warps read; 0: none (they read a row a step later
                     at the earliest) */
  int32_t delay;  /* in pipelines of warps: a row is read so many rows after it has arrived */
  int32_t reach_lo, reach_hi; /* lines down and up in dimension 1 that are read, rank 3 */
  int32_t constants;          /* accesses that may lead to points where the field is a constant */
  bool tested[MAX_RANK];      /* in these dimensions */
  bool filled; /* cells beyond the field's region are set to that constant as soon as they have a value, so that
                  accesses need no test */
} KeptVersion;

#endif
