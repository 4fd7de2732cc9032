/* passes/tile/mapping.h: the mapping of a launch to a block's threads: its dimensions, the versions of its fields and
 * the places where they are kept, and how rows are loaded.
 *
 *   mapping.c          the members that each family fills
 *   stream.c           streamed tiles: lags and versions kept, from the accesses
 *   stream-partial.c   parts of equations that are evaluated before their row is due
 *   mapping-cluster.c  which tiles may have the blocks of a cluster
 *   mapping-size.c     the sizes of a schedule's tiles, whatever they cost: points, bytes, registers, whether they fit
 *
 * The mapping of overlapped tiles follows from the launch itself (BLOCKED_TILE); pipelines of warps have more in
 * warps.h.
 *
 * Words: a tile that is streamed along dimension 0 makes a row (rank 2) or plane (rank 3) a *step*; a grid of rank 1
 * makes one step. At each step every instance makes the row that is `lag` rows behind the one that is loaded. A *warp*
 * is 32 adjacent threads in the last dimension, a *line* its cells there: V cells for each lane. In rank 3 a thread has
 * E lines of dimension 1 and warps are stacked there. On a target whose warps have 64 threads a line may have 64: then
 * the block has 64 threads in the last dimension. In rank 3 lines may be halves or quarters of a warp, for more lines
 * of fewer cells a block: then what these comments call a warp is such a part. */
#ifndef STC_PASSES_MAPPING_H
#define STC_PASSES_MAPPING_H

#include "passes/launch/launch.h"
#include "passes/tile/move.h"

/* The lanes that exchange values where schedule `s` of a grid of rank `rank` does not say otherwise; the lanes of a
 * line. */
enum { STREAM_LANES = WARP_LANES };
static inline int stream_lanes(const Schedule *s, int rank) { return rank > 1 ? s->block[rank - 1] : STREAM_LANES; }

/* The greatest number of words of a thread's windows, even if options ask for more. */
enum { MOST_WINDOW_WORDS = 1024 };

/* How many of a thread's `E` lines of version `w` other threads read. */
static inline int32_t stream_shared_lines(const KeptVersion *w, int32_t E) {
  return shared_lines(w->reach_lo, w->reach_hi, E);
}

/* The values of its main piece's equations that an instance evaluates before its row is due. Arrays are indexed by the
 * numbers of the body's values, in order. */
typedef struct Partial {
  int32_t piece, n; /* number of the piece; number of values of its body */
  int32_t *phase;   /* how many steps before its row is due the value is computed, or, of an access, can be read */
  int32_t *use;     /* the least phase at which it is used, INT32_MAX: it is not */
  bool *free;       /* it depends on no access and is computed where it is used */
  bool *kept;       /* it is computed before the phase of its last use: a ring keeps it until then */
  int32_t most;     /* the largest phase of a value that is kept */
  int64_t words;    /* 32-bit words that the kept values take for each cell */
} Partial;

/* The mapping of launch `l`, whatever its schedule. All members after `halo` are for streamed tiles. */
typedef struct Mapping {
  const Launch *l;
  bool streamed;      /* along dimension 0 */
  bool alone;         /* one thread has the whole tile: its results are available at once; nothing is computed early */
  Extent halo;        /* beyond the tile: the cells at which version 0 of fields is read, and instances compute */
  int32_t *lag;       /* [instance] */
  Partial **partial;  /* [instance], NULL: all at its own step */
  KeptVersion **kept; /* [field][version] */
  bool *far; /* [instance * nfields + field]: it reads other points of version 0 in global memory, for they may be far
                from its rows */
  bool (*wraps)[MAX_RANK]; /* [field]: rows of version 0 are loaded wrapped into the field's region; halo cells need not
                              be images of points for that */
  int32_t unroll;          /* unrolled steps, so that rows need not move: a row's place is its number modulo this */
  int32_t last;            /* the largest lag of a version that is stored */
  int32_t *versions;       /* [field]: the last version kept, beside 0 */
  const struct WarpLevel *level; /* pipelines of warps: a time step, the sizes of a tile (warps.h); else NULL */
  const struct WarpShape *shape;
} Mapping;

/* ---------------------------------------------------------------- mapping.c */

/* The mapping of launch `l` under schedule `s` on target `t`, in the arena of its module; NULL: there is none, and *why
 * is the reason. */
const Mapping *mapping_of(const TargetInfo *t, const Launch *l, const Schedule *s, const char **why);
/* The mapping of launch `l` to overlapped tiles. */
#define BLOCKED_TILE(launch) (&(const Mapping){.l = (launch), .halo = (launch)->hull})

/* ---------------------------------------------------------------- stream.c */

/* The mapping of launch `l` to streamed tiles, in the arena of its module. */
Mapping *stream_new(const Launch *l);
/* The mapping of launch `l` to streamed tiles, with the unrolled steps that schedule `s` says. */
Mapping *stream_for(const Launch *l, const Schedule *s);
/* The mapping of launch `l` to a streamed tile of one thread. */
Mapping *stream_alone(const Launch *l);
/* The least number of unrolled steps: as many as the longest window keeps rows, and more than the number of steps for
 * which lines for other warps are read. */
int32_t stream_least_written(const Mapping *s);
/* 32-bit words of registers that the windows take for each cell of a line. */
int64_t stream_words(const Mapping *s);
/* Instructions that all instances of `l` take for a point, about. */
int64_t stream_code(const Launch *l);

/* The number of rows of a ring to which copies run `ahead` steps ahead: at least as many, and a multiple or a divisor
 * of `unroll`. */
int32_t stream_slots(const Mapping *s, int32_t ahead);

/* How rows of `field` are loaded to the tile, `ahead` steps ahead, `width` cells at once. keeps: rows that each reader
 * loads by itself stay in the ring, if there is one. */
Move stream_move(const Mapping *s, int field, int32_t ahead, int width, bool keeps);

/* The window that instance `i` reads by an access to `field` at `off` under `rules`; NULL if the access reads nothing,
 * or global memory. */
KeptVersion *stream_window(const Mapping *s, int i, int field, const int64_t *off, const Rules *rules);
/* Does that access read global memory? */
bool stream_far(const Mapping *s, int i, int field, const int64_t *off, const Rules *rules);

/* ---------------------------------------------------------------- stream-partial.c */

/* The values that instance `i` of `s`, whose lag and read windows are known, should evaluate early; NULL if keeping
 * rows is as good. */
Partial *partial_new(const Mapping *s, int i);

/* ---------------------------------------------------------------- mapping-size.c */

/* How a dimension of the grid is mapped: to a block's threads, each of which has some cells of it; to the lanes of a
 * warp, each of which has some adjacent cells; or it is streamed. */
typedef enum DimKind { DIM_BLOCKED, DIM_LANES, DIM_STREAMED } DimKind;

/* A dimension of a tile.
 * cells: that it computes (streamed: rows that it loads); stored: points that it stores (<= 0: none).
 * below, above: cells of the halo on both sides, in whole lanes.
 * overhang: points that the first and the last tile store in addition, where tiles are fitted to the grid. */
typedef struct TileDim {
  DimKind kind;
  int64_t cells, stored, below, above, overhang;
} TileDim;

/* Dimension `d` of tiles of schedule `s`. */
TileDim tile_dim(const Mapping *p, const Schedule *s, int d);
/* The number of tiles side by side in dimension `d` of a grid that has `size` points there. */
int64_t tile_count(const Mapping *p, const Schedule *s, int d, int64_t size);
/* Does the tile have points to store in all dimensions? */
bool tile_has_points(const Mapping *p, const Schedule *s);
/* Points computed for each point stored, in dimension `d` (large if there are none to store), and in all dimensions. */
double tile_redundancy_in(const Mapping *p, const Schedule *s, int d);
double tile_redundancy(const Mapping *p, const Schedule *s);
/* Bytes of shared memory that a block takes; on targets without threads, of the cache. */
int64_t tile_bytes(const TargetInfo *t, const Mapping *p, const Schedule *s);
/* Does the tile have points to store, and do the kept versions fit a block of target `t`? */
bool tile_fits(const TargetInfo *t, const Mapping *p, const Schedule *s);
/* May streamed tiles be fitted to the grid in any dimension? */
bool stream_can_fit(const Mapping *p);
/* TILES_FITTED if fitted tiles of `s` are fewer on a grid of extents `size` (0: not known), else TILES_OPEN. */
KnobWord stream_tiles_kind(const Mapping *p, const Schedule *s, const int64_t *size);

/* Are direct versions (KeptVersion.direct) copied to rings and kept there until their last reader has read them? They
 * are if copies run ahead, and such rings leave room in the shared memory of target `t` for two blocks of `s`; in rank
 * 3 for one, if registers leave room for no more. */
bool stream_keeps_ring(const TargetInfo *t, const Mapping *p, const Schedule *s);
/* Words of a thread's registers that kept versions take; instructions of all unrolled steps, about. */
int64_t stream_thread_words(const Mapping *p, const Schedule *s);
int64_t stream_thread_code(const Mapping *p, const Schedule *s);
/* Words of the registers of a thread of `s` that versions may take. In rank 3 it is the rest of a thread's share of the
 * registers of a block of so many threads; the warps of each scheduler share its part of them. */
int64_t stream_good_words(const Schedule *s, int rank);
/* Are planes streamed by `s` with so few warps of so many cells each that streams are slow to begin? */
bool stream_begins_slowly(const Mapping *p, const Schedule *s);
/* Are the unrolled steps of `s` few enough instructions to be fetched in time? */
bool stream_code_is_short(const Mapping *p, const Schedule *s);
/* Are there registers for the kept versions and, in rank 3, where threads have few, for the other values of a long
 * equation; and is the code not too long? */
bool stream_is_comfortable(const Mapping *p, const Schedule *s);

/* Of tiles that one thread streams. walk_lines: lines that are computed together: the rows of a step in rank 2, lines
 * of dimension 1 in rank 3. walk_rows: rows that every instance makes at a step. */
int32_t walk_lines(const Launch *l);
int32_t walk_rows(const Launch *l);
/* Cells of an array's row before the first computed one, which whole vectors may read; cells of an array's row, pads
 * and halo included, of a tile that stores `width` points in the last dimension. */
int32_t walk_pad(const Launch *l);
int32_t walk_row(const Launch *l, int64_t width);

/* ---------------------------------------------------------------- mapping-cluster.c */

/* The reason why the blocks of a cluster cannot share the tiles of `s` on target `t`; NULL: they can, or there is no
 * cluster. */
const char *stream_why_no_cluster(Arena *a, const TargetInfo *t, const Mapping *p, const Schedule *s);

#endif
