/* passes/plan/cost/count.h: the expected cost of tiles, counted before they are lowered.
 *
 *   tile-work.c   overlapped tiles
 *   step-work.c   among others, the cost of points near edges
 *   stream-work.c   streamed tiles
 *   cpu-stream-cost.c   the time of tiles that one thread streams
 *   cpu-expect.c    the time of a step of any plan on a given CPU (estimate.h)
 *   cost.c        the cost of a candidate by counting, or the reason why it is excluded */
#ifndef STC_PASSES_COUNT_H
#define STC_PASSES_COUNT_H

#include "passes/plan/cost/estimate.h"
#include "passes/tile/mapping.h"

/* ---------------------------------------------------------------- tile-work.c */

/* The work of launch `l` with overlapped tiles that does not depend on the tile: accesses, stores, arithmetic, live
 * words. */
typedef struct TileWork TileWork;
TileWork *tile_work(const TargetInfo *t, const Launch *l);
/* The load of tiles `s` of it on a grid of extents `size`, counted before it is lowered, as exactly as accesses and
 * bodies tell. Takes no memory. */
LaunchLoad tile_load(const TileWork *w, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- step-work.c */

/* Instructions of a point near an edge, of all instances of launch `l`, in addition to those of their main pieces: it
 * tests to which piece it belongs, and computes all. */
double launch_edge_pieces(const TargetInfo *t, const Launch *l);

/* ---------------------------------------------------------------- stream-work.c */

/* The work of a streamed tile of mapping `p` that does not depend on the tile.
 * point: instructions of a point. windows, beside: 32-bit words for each cell of a line that windows take, and that are
 * live beside them.
 * exchanged: words of a line that lanes exchange; across: words that a cell reads of lines of other warps.
 * pieces, choices: additional instructions of a point at an edge, for other pieces, and for the cells to which rules
 * lead.
 * loaded, stored: words of a point; addresses, words: words of addresses, words of the widest field.
 * loaded_bytes, stored_bytes: bytes of a point. */
typedef struct StreamWork {
  const Mapping *p;
  KernelWork point;
  double windows, beside, exchanged, across, pieces, choices, loaded, stored, loaded_bytes, stored_bytes;
  int32_t addresses, words;
} StreamWork;
StreamWork *stream_work(const TargetInfo *t, const Mapping *p);
/* The load of tiles `s` of it on a grid of extents `size`, and what a thread needs registers for. */
LaunchLoad stream_load(const TargetInfo *t, const StreamWork *w, const Schedule *s, const int64_t *size);
/* How many times as many words as lanes have in streamed tiles of planes `s` are moved for them on a grid of extents
 * `size`: once where rows are whole lanes, or padded to be, for these go by vectors; else cell by cell, so that the
 * lanes of a warp lie that far apart, and meet as many lines of the cache and words of a bank of shared memory. Of one
 * field alone: several want so many registers that counts do not tell their tiles apart (c21_cpml f32 322^3: 0.69). */
double stream_moves_apart(const StreamWork *w, const Schedule *s, const int64_t *size);
RegisterNeed stream_register_need(const StreamWork *w, const Schedule *s);

/* ---------------------------------------------------------------- cpu-stream-cost.c */

/* The parts of the time of tiles of mapping `p` that do not depend on their size. ns: nanoseconds a point of each
 * instance; longest: the arithmetic of the longest one; kept: bytes of the rows that a tile reads again later, for each
 * cell of a row or plane; apart: bytes a point that are read in other rows. */
typedef struct CpuStreamParts {
  const TargetInfo *t;
  const Mapping *p;
  int32_t lines;
  double *ns, longest, kept, apart;
} CpuStreamParts;
CpuStreamParts cpu_stream_parts(const TargetInfo *t, const Mapping *p);
/* The expected nanoseconds of a core for a point and time step, including points that are computed twice and waits; in
 * tiles of s->T steps on a grid of s->size, infinite if they store nothing. sized: the last cache serves what it has
 * room for; else all comes from memory, as for comparing tiles. */
double cpu_stream_ns(const CpuStreamParts *w, const Schedule *s, bool sized);
/* The time of a core for `body` at a point, in additions: for its arithmetic, or its accesses if these are more. */
double cpu_body_additions(const Module *m, const Block *body);
/* Bytes a point that launch `l` moves from and to memory; memory that is overwritten is loaded first. halo: points
 * loaded for each point stored. */
double cpu_moved_bytes(const Launch *l, double halo);
/* Of plain loops on targets without threads. Does launch `step`, of one time step, compute so long at a point that
 * memory keeps up, and several steps a tile would save nothing? */
bool loops_hide_memory(const TargetInfo *t, const Launch *step);
/* Are the stencils of a step of `m`, which is neither cut nor repeated, expected to take less time as a launch each
 * than as one launch in tiles, where some have to copy points that they do not compute? */
bool loops_are_better_apart(const TargetInfo *t, const Module *m);
/* The expected nanoseconds a point of a step of `m` in plain loops: of a launch for each stencil (*apart), or, if one
 * of them cannot be a launch, of one launch in tiles. The latter was measured to be slower wherever rows can be
 * streamed through all stencils. size: extents of the grid, for which the last cache may have room; NULL: all comes
 * from memory. */
double loops_ns(const TargetInfo *t, const Module *m, const int64_t *size, bool *apart);
/* The same for stencils `first` to before `end` of that step, as a launch each; infinite if one of them cannot be
 * one. */
double loops_apart_ns(const TargetInfo *t, const Module *m, const int64_t *size, int first, int end);

/* ---------------------------------------------------------------- known-masks.c */

/* Where masks are true on a grid of extents size[d], at n[d] sampled points in each dimension. any, all: how many of
 * the points before a place have a bit of a word set, or all bits of all words (known-masks.c). */
typedef struct WetMap {
  int rank;
  int64_t size[MAX_RANK], n[MAX_RANK];
  int32_t *any, *all;
} WetMap;
/* Of the tiles of so many points in each dimension: live: the part that has a wet point; full: the part that has no
 * others as far around as `reach`; at_edge: a tile at an edge of the grid has a wet point. */
typedef struct WetParts {
  double live, full;
  bool at_edge;
} WetParts;
WetParts wet_parts(const WetMap *w, const double *tile, const Extent *reach);
/* The part of the grid's points at which all words have all bits. */
double wet_share(const WetMap *w);
/* The part of the points at which a word has any bit that lie before row `row` of dimension `d`. */
double wet_before(const WetMap *w, int d, double row);
/* Finds where the masks of `m` are true on a grid of extents `size`, as far as c->known tells, in c->arena; NULL: it
 * does not. Numbers the values of inits. */
const WetMap *wet_map(PassContext *c, const Module *m, const int64_t *size);

/* ---------------------------------------------------------------- cost.c */

/* A question: which tile is best for module `m`, on a grid of want.size with `points` points, for the open parts of
 * `want`, with at most `most` time steps? tiled: how often the module was repeated, 0: it was not. all: includes tiles
 * that are not examined while a program is compiled. */
typedef struct PlanQuery {
  PassContext *c;
  const Module *m;
  const TargetInfo *t;
  int rank;
  Schedule want;
  int64_t most;
  int tiled;
  bool all;
  double points;
  const WetMap *wet; /* where masks are true, as far as it matters; NULL: everywhere */
} PlanQuery;

/* Launch `l` of T time steps, whose tiles are examined; p: its mapping if they are streamed, else NULL. stream, tile:
 * the work that does not depend on the tile, of streamed tiles (NULL: they are not streamed) or of overlapped ones;
 * functions: roots, quotients or functions are computed; words: 32-bit words of its widest field. */
typedef struct PlanLaunch {
  const Launch *l;
  const Mapping *p;
  const StreamWork *stream;
  const TileWork *tile;
  bool functions;
  int32_t words;
} PlanLaunch;

/* A tile that may be taken for a launch, which makes s.T time steps. usual: it is the choice where nothing is known of
 * the grid. time: the counted time of a launch;
 * seconds: of a time step in all. dropped: the reason why it is not compared with the others, NULL: it is. */
typedef struct PlanCandidate {
  Schedule s;
  const PlanLaunch *of;
  bool usual;
  const char *dropped;
  LaunchTime time;
  double seconds;
  double stopped;  /* how many times as long steps take in a run with stops; 0: it has none */
  bool tight;      /* the count takes nearly all registers of a thread */
  bool dear;       /* its rows want more registers, or its code is longer, than is usually good */
  int32_t spilled; /* words that a thread wants beyond its registers, once it was lowered */
  int64_t ops;     /* of its kernels, likewise */
} PlanCandidate;

/* Does the target have so many threads for a block of `s`, on a grid of rank `rank`? */
bool schedule_has_threads(const TargetInfo *t, const Schedule *s, int rank);
/* The properties that all tiles of launch `l` share, streamed or not. */
const PlanLaunch *plan_launch(const PlanQuery *q, const Launch *l, bool streamed);
/* Does a step read an older level of a field of the module? The number of fields that launch `l` loads. */
bool reads_history(const Module *m);
int loaded_fields(const Launch *l);
/* Finds k->time, k->seconds (INFINITY: nothing could be counted) and k->dropped. */
void plan_cost(const PlanQuery *q, PlanCandidate *k);

#endif
