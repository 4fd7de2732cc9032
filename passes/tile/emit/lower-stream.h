/* passes/tile/emit/lower-stream.h: the kernel of a launch whose tile is streamed by threads (private to
 * passes/tile/emit).
 *
 *   stream-cells.c   the values of cells: registers, lanes beside, rows of other warps; the outside rules between them
 *   stream-rows.c    rows of global memory on their way in and out
 *   stream-cluster.c lines that go from block to block of a cluster
 *   stream-fit.c     the first and the last tile of a row, where tiles are fitted to the grid
 *   lower-stream.c   the kernel: pass lower-stream
 *
 * The words are those of tile/mapping.h. */
#ifndef STC_PASSES_LOWER_STREAM_H
#define STC_PASSES_LOWER_STREAM_H

#include "passes/tile/emit/move-rows.h"
#include "passes/tile/mapping.h"
#include "passes/lower/lower.h"

/* Rows that are kept behind a step, for later ones: in a private array, those of a version of a field, or values that
 * were computed early (under the numbers of flow_partial); or in shared memory the lines of them that other warps read.
 */
typedef struct KeptRows {
  bool shared;
  int32_t of, version, array;
} KeptRows;

/* The value `v` of an access to `field` at `off` under `rules` by element e of line j. */
typedef struct OnceLoaded {
  int32_t field, j, e;
  int64_t off[MAX_RANK];
  Rules rules;
  Value *v;
} OnceLoaded;

/* What goes from block to block of a cluster: stream-cluster.c. */
typedef struct Seams Seams;

/* A kernel in the making. Arrays of kernels are indexed [field][version] where they have two stars. cells: the values
 * of the running step, by field, version, rows back from the newest, and line; the newest rows among them, which the
 * step makes, and of fields that each reader takes own rows of those, as rows back from the one that is loaded. */
typedef struct Flow {
  Lowering *lo;
  const Launch *l;
  const Mapping *st;
  Kernel *k;
  Builder b;                    /* where the running step's code goes */
  int rank, lanes, V, E, warps; /* lanes of a line, cells of it a lane, lines a thread, warps */
  Move *move;                   /* [field]: how its rows come, and go */
  int32_t ahead;                /* steps that asynchronous copies run ahead, 0: there are none */
  Value *lane, *warp;           /* i32 */
  Value *at[MAX_RANK]; /* coordinates (i64) of the thread's first cell; in dimension 0 (rank > 1) the row loaded at step
                          0 of streaming */
  Value *first[MAX_RANK]; /* coordinates (i64) of the block's first cell */
  Value *step;            /* the launch's first time step, i64 or NULL */
  Builder before;         /* where code is that is done once, before the loop over steps; of rank > 1 */
  int32_t nonce;          /* values of fields that do not have dimension 0, which all steps have in common */
  struct OnceLoaded *once;
  Value *t;               /* the number of the first step written out, i32; NULL if there is one step only */
  int32_t u;              /* the running step is t + u */
  int32_t **ring, **edge; /* private arrays of rows kept, shared arrays of lines for other warps; -1: none */
  int32_t **partial;      /* [instance][value]: private arrays of values computed early; -1: none */
  int32_t *in;            /* [field]: the array that its rows come to */
  int32_t steps;          /* of streaming, a multiple of Mapping.unroll */
  CellCache *cells;
  int32_t nkept;
  KeptRows *kept;
  Value *rank_of_block; /* i32, in its cluster; NULL: there are none */
  Seams *seams;         /* NULL: likewise */
} Flow;

/* ---------------------------------------------------------------- stream-cells.c */

/* The lines of version `v` of field `fl` that warps trade, those in place `slot`. */
TradedLines flow_traded(Flow *f, int fl, int v, int slot);
/* The number under which the cache has value `id` of instance `i`, which is computed early. */
int flow_partial(const Flow *f, int i, int id);
/* Coordinates of element e of line j in the row that lags `lag` behind in the running step, in g, and in w with images
 * wrapped (rank places). */
void flow_coordinates(Flow *f, int lag, int j, int e, Value **g, Value **w);
/* `x`, the running step's value of element e of line j of version `v` of field `fl`; where the window is filled, the
 * field's constant beyond its region. */
Value *flow_filled(Flow *f, int fl, int v, int j, int e, Value *x);
/* Builds instance `i` for the running step's row and makes its targets the newest of their versions. */
void flow_compute(Flow *f, int i);
/* ---------------------------------------------------------------- lower-stream.c */

/* Element e of line j in place `slot` of private array `array`, as version `v`. */
Value *flow_kept(Flow *f, int array, int v, int slot, int j, int e);
/* The number in the tile, an i32, of the thread's line j. */
Value *flow_line(Flow *f, int j);
/* Puts row `row` (of all of the thread's lines) in place `slot` of private array `array`. */
void flow_put_row(Flow *f, int array, int slot, CellLine row);
/* Adds to the kernel an array of three dimensions and returns its index; the second one has pads. */
int flow_array(Flow *f, const char *name, Type t, Space space, const int32_t *cells, int32_t pad_lo, int32_t pad_hi);

/* ---------------------------------------------------------------- stream-fit.c */

/* Is the block's tile none of the first (`last`: of the last) ones in dimension `d`, which store their halo there,
 * too? NULL: none does. */
Value *flow_is_inner(Flow *f, int d, bool last);

/* ---------------------------------------------------------------- stream-cluster.c */

/* Each does nothing in a kernel without clusters. Behind all arrays: makes those for what goes from block to block. */
void flow_make_seams(Flow *f);
/* Before what is read by others is written: the blocks start together. Behind the loop over steps: they end so. */
void flow_start_seams(Flow *f);
void flow_end_seams(Flow *f);
/* Before instance `i` of the running step: waits for what it is the first to read of another block's. Behind it: stores
 * to other blocks what no instance reads any more. */
void flow_receive(Flow *f, int i);
void flow_send(Flow *f, int i);

/* ---------------------------------------------------------------- stream-rows.c */

/* Makes the arrays that rows come in by. */
void flow_make_inputs(Flow *f);
/* Before the loop over steps: starts rings with zeros where rows are read that are before the first one. */
void flow_clear_rings(Flow *f);
/* Before the loop over steps: starts the loads that run ahead. */
void flow_start_loads(Flow *f);
/* The running step's rows of version 0 become the newest; the loads go on running ahead. */
void flow_load(Flow *f);
/* Behind that loop. */
void flow_end_loads(Flow *f);
/* Element e of line j of version 0 of field `fl` in the row that lags `lag` behind, of a field whose readers each take
 * their own row. */
Value *flow_own_cell(Flow *f, int fl, int lag, int j, int e);
/* Stores the tile's cells of the rows that the running step finished. */
void flow_store(Flow *f);

#endif
