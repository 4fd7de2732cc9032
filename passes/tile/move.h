/* passes/tile/move.h: how rows of fields come from global memory to the code that takes them: what stream.c and
 * warps-shape.c decide of it, and lowerings do. */
#ifndef STC_PASSES_MOVE_H
#define STC_PASSES_MOVE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
