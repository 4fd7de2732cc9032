/* passes/tile/emit/lower-stream.h: the kernel of a launch whose tile is streamed by threads (private to
 * passes/tile/emit).
 *
 *   stream-cells.c   the values of cells: registers, neighbouring lanes, rows of other warps; outside rules among them
 *   stream-rows.c    loads and stores of rows of global memory
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

/* Rows that are kept after a step, for later steps. In a private array: rows of a version of a field, or values that
 * were computed early (their `of` is the number from flow_partial). In shared memory: the lines of such rows that other
 * warps read. */
typedef struct KeptRows {
  bool shared;
  int32_t of, version, array;
} KeptRows;

/* The value `v` of an access to `field` at `off` under `rules` by element e of line j, loaded once for all steps. */
typedef struct OnceLoaded {
  int32_t field, j, e;
  int64_t off[MAX_RANK];
  Rules rules;
  Value *v;
} OnceLoaded;

/* The lines that go from block to block of a cluster: stream-cluster.c. */
typedef struct Seams Seams;

/* A kernel that is being built. Arrays of kernels are indexed [field][version] where they have two stars.
 * cells: the values of the running step, by field, version, rows back from the newest, and line. They include the
 * newest rows, which the step makes. Of fields each of whose readers loads its own rows, `back` counts from the row
 * that is loaded. */
typedef struct Flow {
  Lowering *lo;
  const Launch *l;
  const Mapping *st;
  Kernel *k;
  Builder b;                    /* where the running step's code goes */
  int rank, lanes, V, E, warps; /* lanes of a line, cells of it a lane, lines a thread, warps */
  Move *move;                   /* [field]: how its rows are loaded and stored */
  int32_t ahead;                /* steps that asynchronous copies run ahead, 0: there are none */
  Value *lane, *warp;           /* i32 */
  Value *at[MAX_RANK]; /* coordinates (i64) of the thread's first cell; in dimension 0 (rank > 1) the row loaded at step
                          0 of streaming */
  Value *first[MAX_RANK]; /* coordinates (i64) of the block's first cell */
  Value *step;            /* the launch's first time step, i64 or NULL */
  Builder before;         /* the place for code that runs once, before the loop over steps; of rank > 1 */
  int32_t nonce;          /* values of fields without dimension 0, which are the same in all steps */
  struct OnceLoaded *once;
  Value *t;               /* the number of the first unrolled step, i32; NULL if there is one step only */
  int32_t u;              /* the running step is t + u */
  int32_t **ring, **edge; /* private arrays of rows kept, shared arrays of lines for other warps; -1: none */
  int32_t **partial;      /* [instance][value]: private arrays of values computed early; -1: none */
  int32_t *in;            /* [field]: the array to which its rows are loaded */
  int32_t steps;          /* of streaming, a multiple of Mapping.unroll */
  CellCache *cells;
  int32_t nkept;
  KeptRows *kept;
  Value *rank_of_block; /* i32, in its cluster; NULL: there are none */
  Seams *seams;         /* NULL: likewise */
} Flow;

/* ---------------------------------------------------------------- stream-cells.c */

/* The lines of version `v` of field `fl` in place `slot` that warps exchange. */
TradedLines flow_traded(Flow *f, int fl, int v, int slot);
/* The number under which the cell cache has value `id` of instance `i`, which is computed early. */
int flow_partial(const Flow *f, int i, int id);
/* Coordinates of element e of line j in the row that lags `lag` behind in the running step: g[] as they are, w[] with
 * images wrapped (rank places each). */
void flow_coordinates(Flow *f, int lag, int j, int e, Value **g, Value **w);
/* `x`, the running step's value of element e of line j of version `v` of field `fl`. If the version is filled
 * (KeptVersion.filled), the field's constant for cells beyond its region. */
Value *flow_filled(Flow *f, int fl, int v, int j, int e, Value *x);
/* Builds instance `i` for the running step's row and makes its targets the newest of their versions. */
void flow_compute(Flow *f, int i);
/* ---------------------------------------------------------------- lower-stream.c */

/* Element e of line j in place `slot` of private array `array`, which holds version `v`. */
Value *flow_kept(Flow *f, int array, int v, int slot, int j, int e);
/* The number in the tile, an i32, of the thread's line j. */
Value *flow_line(Flow *f, int j);
/* Stores row `row` (all of the thread's lines) to place `slot` of private array `array`. */
void flow_put_row(Flow *f, int array, int slot, CellLine row);
/* Adds an array of three dimensions to the kernel and returns its index; the second dimension has pads. */
int flow_array(Flow *f, const char *name, Type t, Space space, const int32_t *cells, int32_t pad_lo, int32_t pad_hi);

/* ---------------------------------------------------------------- stream-fit.c */

/* In dimension `d` the first tiles (`last`: the last ones) also store their halo at the grid's edge, where tiles are
 * fitted to the grid. Is the block's tile none of these? NULL: there are no such tiles. */
Value *flow_is_inner(Flow *f, int d, bool last);

/* ---------------------------------------------------------------- stream-cluster.c */

/* Each of these does nothing in a kernel without clusters. After all other arrays: makes the arrays for lines that go
 * from block to block. */
void flow_make_seams(Flow *f);
/* Before anything is written that other blocks read: the blocks start together. After the loop over steps: they end
 * together. */
void flow_start_seams(Flow *f);
void flow_end_seams(Flow *f);
/* Before instance `i` of the running step: waits for lines of other blocks that the instance is the first to read.
 * After the instance: stores lines to other blocks, to places that no later instance reads. */
void flow_receive(Flow *f, int i);
void flow_send(Flow *f, int i);

/* ---------------------------------------------------------------- stream-rows.c */

/* Makes the arrays to which rows are loaded. */
void flow_make_inputs(Flow *f);
/* Before the loop over steps: fills rings with zeros where rows before the first one are read. */
void flow_clear_rings(Flow *f);
/* Before the loop over steps: starts the loads that run ahead. */
void flow_start_loads(Flow *f);
/* The running step's rows of version 0 become the newest; starts the next loads ahead. */
void flow_load(Flow *f);
/* After the loop over steps: waits for the loads. */
void flow_end_loads(Flow *f);
/* Element e of line j of version 0 of field `fl` in the row that lags `lag` behind, of a field each of whose readers
 * loads its own rows. */
Value *flow_own_cell(Flow *f, int fl, int lag, int j, int e);
/* Stores the tile's cells of the rows that the running step finished. */
void flow_store(Flow *f);

#endif
