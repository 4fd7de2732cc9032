/* passes/tile/emit/move-rows.h: moves of rows of cells between registers, shared and global memory (private to
 * passes/tile/emit).
 *
 *   move-rows.c   loads and stores of adjacent cells; lines that warps exchange */
#ifndef STC_PASSES_EMIT_MOVE_H
#define STC_PASSES_EMIT_MOVE_H

#include "passes/tile/cells.h"

/* Adjacent cells of type `type` in the last of `rank` dimensions, beginning at `at` plus `off` (NULL: 0): of array
 * `of`, in version `version`, or of buffer `of` (version NO_VERSION). */
enum { NO_VERSION = -1 };
typedef struct CellPlace {
  Type type;
  int of, version, rank;
  Value *const *at;
  const int64_t *off;
} CellPlace;

/* Loads the `n` cells at `from` to `to`, several at once by a vector; stores `cells` to `to`, likewise. */
void cells_load(Builder *b, const CellPlace *from, int n, Value **to);
void cells_store(Builder *b, const CellPlace *to, int n, Value *const *cells);
/* Loads the `n` cells at `from` to the cache, as cells `x` and on of `line`. */
void cells_fetch(Builder *b, CellCache *c, const CellPlace *from, int n, CellLine line, int x);

/* Lines of cells that warps exchange through shared memory, of version `version` of a field, in array `array`. A thread
 * has `lines` lines, a lane has `width` cells of each. Other warps read `reach_lo` lines down and `reach_hi` up, so
 * they read the last and the first of a thread's lines. at: the indices of the lane's first cell in the warp's first
 * line; the dimension before the last counts lines. */
typedef struct TradedLines {
  Type type;
  int array, version, rank;
  int32_t lines, width, reach_lo, reach_hi;
  Value *at[MAX_RANK];
} TradedLines;

/* Stores those of the thread's lines that other warps read; `cell` gives their cells, `line` is the first line. */
void lines_give(Builder *b, const TradedLines *t, CellLine line, CellFn cell, void *user);
/* Loads `line`, a line of another warp, to the cache. */
void lines_take(Builder *b, CellCache *c, const TradedLines *t, CellLine line);

#endif
