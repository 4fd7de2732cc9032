/* passes/tile/emit/move-rows.h: rows of cells on their way between registers, shared and global memory (private to
 * passes/tile/emit).
 *
 *   move-rows.c   cells beside each other to and from memory; lines that warps trade
 */
#ifndef STC_PASSES_EMIT_MOVE_H
#define STC_PASSES_EMIT_MOVE_H

#include "passes/tile/cells.h"

/* Cells of type `type` beside each other in the last of `rank` dimensions, from `at` plus `off` (NULL: 0) on: of array
 * `of`, as version `version`, or of buffer `of` (version NO_VERSION). */
enum { NO_VERSION = -1 };
typedef struct CellPlace {
  Type type;
  int of, version, rank;
  Value *const *at;
  const int64_t *off;
} CellPlace;

/* Loads the `n` cells at `from` to `to`, at once if they are several; stores `cells` there, likewise. */
void cells_load(Builder *b, const CellPlace *from, int n, Value **to);
void cells_store(Builder *b, const CellPlace *to, int n, Value *const *cells);
/* Loads the line of cells at `from` and makes `line` known, from cell `x` on. */
void cells_fetch(Builder *b, CellCache *c, const CellPlace *from, int n, CellLine line, int x);

/* Lines of cells that warps trade through shared memory, of version `version` of a field in array `array`: a thread has
 * `lines` lines, a lane `width` cells of each. Others read `reach_lo` lines down and `reach_hi` up, so of a thread's
 * lines the last and the first. at: the indices of the lane's first cell in the warp's first line, which the dimension
 * before the last counts. */
typedef struct TradedLines {
  Type type;
  int array, version, rank;
  int32_t lines, width, reach_lo, reach_hi;
  Value *at[MAX_RANK];
} TradedLines;

/* Puts those of the thread's lines there that others read, whose cells `cell` gives; `line` is the first line. */
void lines_give(Builder *b, const TradedLines *t, CellLine line, CellFn cell, void *user);
/* Makes `line`, which is another warp's, known. */
void lines_take(Builder *b, CellCache *c, const TradedLines *t, CellLine line);

#endif
