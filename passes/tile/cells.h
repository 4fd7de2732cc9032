/* passes/tile/cells.h: the values of cells that are at hand where a tile's code is built (private
 * passes/tile/emit).
 *
 *   cells.c   the cache of these values; values of the lanes beside
 *
 * A lane has `width` cells beside each other of each line of its tile. A lowering asks for the same cells again and
 * again: for a load, a shuffle or an operation that was built once its value is kept here until the code moves on (to
 * the next row of a streamed tile, the next instance of a stencil, the next level). So what is built within a block of
 * an op must not be kept: it is not there behind the block. */
#ifndef STC_PASSES_CELLS_H
#define STC_PASSES_CELLS_H

#include "ir/build.h"

/* A line of cells of one lane. What it is of: version `version` of number `of`, by the lowering's own numbers. back:
 * its row came so many rows before the newest. line: which of the thread's lines, others than its own being other
 * warps'. lanes: it is that of the lane so many on. */
typedef struct CellLine {
  int32_t of, version, back, line, lanes;
} CellLine;

typedef struct CellCache CellCache;

/* An empty cache, in `arena`, of lines of `width` cells, of `lanes` lanes that can exchange values. */
CellCache *cells_new(Arena *arena, int width, int lanes);
/* Forgets all values. */
void cells_clear(CellCache *c);
/* The value of cell `x` of `line`, NULL if none is known. */
Value *cells_get(const CellCache *c, CellLine line, int x);
/* Makes `v` the value of that cell, whatever it was before. Returns it. */
Value *cells_set(CellCache *c, CellLine line, int x, Value *v);
/* All `width` values of `line`, of which some may be unknown: NULL; NULL if nothing is known of it. */
Value **cells_line(const CellCache *c, CellLine line);
/* Makes v[0 .. width - 1] the values of `line`, which are the caller's no more. */
void cells_set_line(CellCache *c, CellLine line, Value **v);

/* Builds cell `x` of `line`, one of the lane's own (lanes is 0); it may set other cells, too. */
typedef Value *(*CellFn)(void *user, CellLine line, int x);
/* The value of cell `x` of `line`, any number: cells below 0 are those of the lanes before, cells from `width` on those
 * of the lanes behind, from which they come by shuffles. What is not known is built by `make`, and known from then on.
 * Lanes that there are none of have any value. */
Value *cells_beside(CellCache *c, Builder *b, CellLine line, int x, CellFn make, void *user);

#endif
