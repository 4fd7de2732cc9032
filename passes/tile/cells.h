/* passes/tile/cells.h: the values of cells that are known while a tile's code is built (private to passes/tile/emit).
 *
 *   cells.c   the cache of these values; values of neighbouring lanes
 *
 * A lane has `width` adjacent cells of each line of its tile. A lowering asks for the same cells again and again. The
 * value of a load, a shuffle or an operation that was built once is kept here until the code moves on (to the next row
 * of a streamed tile, the next instance of a stencil, the next level). A value that is built within a block of an op
 * must not be kept: it is not available after the block. */
#ifndef STC_PASSES_CELLS_H
#define STC_PASSES_CELLS_H

#include "ir/build.h"

/* A line of cells of one lane: of version `version` of number `of`, by the lowering's own numbers. back: its row is so
 * many rows older than the newest. line: which of the thread's lines; numbers other than its own are lines of other
 * warps. lanes: the line belongs to the lane so many lanes on. */
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
/* Sets the value of that cell to `v`, whatever it was before. Returns it. */
Value *cells_set(CellCache *c, CellLine line, int x, Value *v);
/* All `width` values of `line`, NULL where one is not known; NULL if none is known. */
Value **cells_line(const CellCache *c, CellLine line);
/* Sets the values of `line` to v[0 .. width - 1]; the cache keeps the array. */
void cells_set_line(CellCache *c, CellLine line, Value **v);

/* Builds cell `x` of `line`, one of the lane's own (lanes is 0); it may set other cells, too. */
typedef Value *(*CellFn)(void *user, CellLine line, int x);
/* The value of cell `x` of `line`; x may be any number: cells below 0 are those of the lanes before, cells from `width`
 * on those of the lanes after, which come by shuffles. A value that is not known is built by `make`, and known from
 * then on. The values of lanes that do not exist are arbitrary. */
Value *cells_beside(CellCache *c, Builder *b, CellLine line, int x, CellFn make, void *user);

#endif
