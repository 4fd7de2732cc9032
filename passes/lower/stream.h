/* passes/lower/stream.h: the pipeline that a launch becomes when its tile is walked (private to passes/).
 *
 *   stream.c         lags and windows, from the accesses
 *   stream-early.c   parts of equations that are evaluated before their row is due
 *   stream-cells.c   the values of cells: registers, lanes beside, rows of other warps; the outside rules between them
 *   stream-rows.c    rows of global memory on their way in and out
 *   stream-fit.c     tiles that are fitted to the grid
 *   lower-stream.c   the kernel: pass lower-stream
 *
 * Words: the launch's tile is walked along dimension 0, a row (rank 2) or plane (rank 3) a *step*; a grid of rank 1
 * makes one step. At each step every instance makes
 * the row that is `lag` rows behind the one that is loaded. Rows of a version are kept for as long as instances
 * behind want them: its
 * *window*. A *warp* is 32 threads beside each other in the last dimension, a *line* its cells there: V cells for
 * each lane. In rank 3 a
 * thread has E lines of dimension 1 and warps are stacked there. On a target whose warps have 64 threads a line may be
 * theirs: then the block has 64 threads in the last dimension. */
#ifndef STC_PASSES_STREAM_H
#define STC_PASSES_STREAM_H

#include "passes/lower/lower.h"

/* Lanes that exchange values, if schedule `s` of a grid of rank `rank` says nothing else; lanes of a line of it. */
enum { STREAM_LANES = WARP_LANES };
static inline int stream_lanes(const Schedule *s, int rank) {
  return rank > 1 && s->block[rank - 1] == MOST_LANES ? MOST_LANES : STREAM_LANES;
}

/* What is kept of a version of a field. Rows are counted back from the newest one, which is row `step - lag` of the
 * walk. */
typedef struct Window {
  bool used;   /* an instance reads it, or it is stored at the end */
  bool direct; /* version 0, read at own points only and by rows far apart: each reader loads its own row, or takes it
                  from the ring by which rows come in */
  int32_t behind; /* of a direct one: the oldest row that is read, back from the newest */
  int32_t lag;    /* of what makes it; 0 for version 0 */
  int32_t rows;   /* the oldest row that is read, back from the newest: so many are kept between steps */
  int32_t across; /* the oldest row back that is read by other warps; 0: none (such rows are read a step later at the
                     earliest) */
  int32_t reach_lo, reach_hi; /* lines down and up in dimension 1 that are read, rank 3 */
} Window;

/* What an instance evaluates before its row is due, of the equations of its main piece. Indexed by the numbers of the
 * body's values, in order. */
typedef struct Early {
  int32_t piece, n; /* which piece; how many values its body has */
  int32_t *phase;   /* so many steps before its row is due the value is computed; of an access: can be read */
  int32_t *use;     /* the least phase at which it is used, INT32_MAX: it is not */
  bool *free;       /* it depends on no access and is computed where it is used */
  bool *kept;       /* it is computed before the phase of its last use: a ring keeps it until then */
  int32_t most;     /* the largest phase of a value that is kept */
  int64_t words;    /* 32-bit words that the values kept take for each cell */
} Early;

/* The pipeline of launch `l`. */
typedef struct Stream {
  const Launch *l;
  bool alone;    /* one thread has the whole tile: what it made is there at once, and nothing is computed early */
  Extent halo;   /* beyond the tile: on what version 0 of fields is needed, and on what instances compute */
  int32_t *lag;  /* [instance] */
  Early **early; /* [instance], NULL: all at its own step */
  Window **w;    /* [field][version] */
  bool *far; /* [instance * nfields + field]: it reads other points of version 0 in global memory, for they may be far
                from its rows */
  bool (*wraps)[MAX_RANK]; /* [field]: rows of version 0 are loaded wrapped into the field's region; halo cells need not
                              be images of points for that */
  int32_t unroll;          /* steps written out, so that rows need not move: a row's place is its number modulo this */
  int32_t last;            /* the largest lag of a version that is stored */
} Stream;

/* The pipeline of launch `l`, in the arena of its module. */
Stream *stream_new(const Launch *l);
/* The same for a tile that one thread walks. */
Stream *stream_alone(const Launch *l);
/* 32-bit words of registers that its windows take for each cell of a line. */
int64_t stream_words(const Stream *s);
/* Do direct windows come in by rings, kept there until the last reader has taken them? Where copies run ahead, and such
 * rings leave room in the shared memory of target `t` for two blocks of `s`. */
bool stream_keeps_ring(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Instructions that all instances of `l` take for a point, about. */
int64_t stream_code(const Launch *l);

/* Rows that the rings have in which rows come in by copies that run `ahead` steps ahead: at least so many, and a
 * multiple or a divisor of `unroll`. */
int32_t stream_slots(const Stream *s, int32_t ahead);
/* How far, in cells of dimension `d`, an access at `off` under `rule` may lead: at least *lo, at most *hi. */
void stream_reach(OutsideRule rule, int64_t off, int64_t *lo, int64_t *hi);

/* What instance `i` reads for an access to `field` at `off` under `rules`: the window, NULL if it is nothing or comes
 * from global memory. */
Window *stream_window(const Stream *s, int i, int field, const int64_t *off, const Rules *rules);
/* Does it come from global memory then? */
bool stream_far(const Stream *s, int i, int field, const int64_t *off, const Rules *rules);

/* Bytes that launch `l` reads and writes for a point, without halo. */
double launch_bytes(const Launch *l);
/* Points of a tile that are given out in dimension `d` under schedule `s`; <= 0 if none. */
int64_t stream_width(const Stream *p, const Schedule *s, int d);
/* Is the tile of `s` larger than the halo, and do its windows fit a block of target `t`? */
bool stream_fits(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Bytes of shared memory that a block takes. */
int64_t stream_shared_bytes(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Registers that a thread will take, about. */
double stream_registers(const Stream *p, const Schedule *s);
/* Rows of a walk of planes for a grid of extents `size`, all but s->chunk being chosen: such that blocks fill the cores
 * in whole rounds (schedule-rounds.c). */
int32_t stream_rows(const TargetInfo *t, const Stream *p, const Schedule *s, const int64_t *size);
/* Are the steps of `s` written out few enough instructions that they come fast enough? */
bool stream_code_is_short(const Stream *p, const Schedule *s);
/* Are there registers for the windows and, in rank 3, where threads have few, for what a long equation needs beside
 * them; and is the code not too long? */
bool stream_is_comfortable(const Stream *p, const Schedule *s);

/* What instance `i` of `s`, whose lag and windows read are known, should evaluate early; NULL if keeping rows is as
 * good. */
Early *early_new(const Stream *s, int i);

/* ---------------------------------------------------------------- stream-fit.c: plans */

/* May tiles of pipeline `p` be fitted to the grid in any dimension? */
bool stream_can_fit(const Stream *p);
/* Points in dimension `d` that the first and the last tile of `s` give out beside those that every one does: the halo,
 * in whole lanes, where tiles are fitted, else 0. */
int64_t stream_overhang(const Stream *p, const Schedule *s, int d);
/* Tiles of `s` beside each other in dimension `d` of a grid that has `size` points there. */
int64_t stream_tiles(const Stream *p, const Schedule *s, int d, int64_t size);
/* Fitted if that makes tiles of `s` fewer on a grid of extents `size` (0: not known), else open. */
TilesKind stream_tiles_kind(const Stream *p, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- stream-cells.c */

/* A value that was built in the running step: element m of line j, `back` rows old, of version `v` of `field`, from
 * `delta` lanes on. */
typedef struct SeenCell {
  int32_t field, v, back, j, m, delta;
  Value *value;
} SeenCell;

/* A row of version 0 of `field`, `lag` behind, that was loaded in the running step. */
typedef struct LoadedRow {
  int32_t field, lag;
  Value **values;
} LoadedRow;

/* A kernel in the making. Arrays of kernels and values are indexed [field][version] where they have two stars. */
typedef struct Flow {
  Lowering *lo;
  const Launch *l;
  const Stream *st;
  Kernel *k;
  Builder b;                    /* where the running step's code goes */
  int rank, lanes, V, E, warps; /* lanes of a line, cells of it a lane, lines a thread, warps */
  bool *vectors;                /* [field]: its rows are loaded and stored by vectors */
  int32_t ahead;                /* steps that loads run ahead */
  bool keeps_ring;              /* see stream_keeps_ring */
  Value *lane, *warp;           /* i32 */
  Value *at[MAX_RANK]; /* coordinates (i64) of the thread's first cell; in dimension 0 (rank > 1) the row loaded at step
                          0 of the walk */
  Value *first[MAX_RANK]; /* coordinates (i64) of the block's first cell */
  Value *step;            /* the launch's first time step, i64 or NULL */
  Value *t;               /* the number of the first step written out, i32; NULL if there is one step only */
  int32_t u;              /* the running step is t + u */
  int32_t **ring, **edge; /* private arrays of rows kept, shared arrays of lines for other warps; -1: none */
  int32_t **early;        /* [instance][value]: private arrays of values computed early; -1: none */
  Value ****made;         /* [instance][value]: the E * V values computed early in the running step */
  int32_t *in;            /* [field]: where rows of version 0 come in */
  Value ****newest; /* [field][version]: the E * V values of the newest row, NULL: not made yet in the running step */
  int32_t steps;    /* of the walk, a multiple of Stream.unroll */
  int32_t nseen;
  SeenCell *seen; /* of the running step */
  int32_t nrows;
  LoadedRow *rows;
} Flow;

/* Coordinates of element e of line j in the row that lags `lag` behind in the running step, in g, and in w with images
 * wrapped (rank places). */
void flow_coordinates(Flow *f, int lag, int j, int e, Value **g, Value **w);
/* Builds instance `i` for the running step's row and makes its targets the newest of their versions. */
void flow_compute(Flow *f, int i);
/* Adds to the kernel an array of three dimensions and returns its index; the second one has pads. */
int flow_array(Flow *f, const char *name, Type t, Space space, const int32_t *cells, int32_t pad_lo, int32_t pad_hi);

/* ---------------------------------------------------------------- stream-fit.c: kernels */

/* Is the block's tile none of the first (`last`: of the last) ones in dimension `d`, which give out their halo there,
 * too? NULL: none does. */
Value *flow_is_inner(Flow *f, int d, bool last);

/* ---------------------------------------------------------------- stream-rows.c */

/* How many elements of type `t` make 16 bytes, or as many as V is a multiple of. */
int flow_vector(const Flow *f, Type t);
/* Makes the arrays that rows come in by. */
void flow_make_inputs(Flow *f);
/* Before the walk: starts rings with zeros where rows are read that are before the first one. */
void flow_clear_rings(Flow *f);
/* Before the walk: starts the loads that run ahead. */
void flow_start_loads(Flow *f);
/* The running step's rows of version 0 become the newest; the loads go on running ahead. */
void flow_load(Flow *f);
/* Behind the walk. */
void flow_end_loads(Flow *f);
/* The E * V own values of version 0 of field `fl` in the row that lags `lag` behind. */
Value **flow_own_row(Flow *f, int fl, int lag);
/* Stores the tile's cells of the rows that the running step finished. */
void flow_store(Flow *f);

#endif
