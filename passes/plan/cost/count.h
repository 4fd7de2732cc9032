/* passes/plan/cost/count.h: what tiles are expected to take, counted before they are lowered.
 *
 *   tile-work.c   overlapped tiles
 *   step-work.c   beside other things, what points near edges take
 *   stream-work.c   streamed tiles
 *   cpu-stream-cost.c   the time of tiles that one thread streams
 *   cpu-expect.c    the time that a step of any plan takes on a given CPU (estimate.h)
 *   cost.c        a candidate, by what is counted of it, or why it is none
 */
#ifndef STC_PASSES_COUNT_H
#define STC_PASSES_COUNT_H

#include "passes/plan/cost/estimate.h"
#include "passes/tile/mapping.h"

/* ---------------------------------------------------------------- tile-work.c */

/* What launch `l` does whatever its tile, if tiles overlap: accesses, stores, arithmetic, words alive. */
typedef struct TileWork TileWork;
TileWork *tile_work(const TargetInfo *t, const Launch *l);
/* The load of tiles `s` of it on a grid of extents `size`, counted before it is lowered: as exactly as accesses and
 * bodies tell. Memory that this takes is given back. */
LaunchLoad tile_load(const TileWork *w, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- step-work.c */

/* Instructions of a point near an edge, of all instances of launch `l`, beside those of their main pieces: it tests
 * which piece it belongs to, and computes all. */
double launch_edge_pieces(const TargetInfo *t, const Launch *l);

/* ---------------------------------------------------------------- stream-work.c */

/* What a streamed tile of pipeline `p` has in common whatever its tile: what a point takes; 32-bit words that windows
 * take for each cell of a line, and that are alive beside them; that lanes exchange of a line, that a cell reads of
 * lines of other warps; instructions more of a point at an edge, for other pieces and for what rules lead to; words
 * that are loaded and stored of a point; of addresses, and of the widest field; bytes that are loaded
 * and stored of a point. */
typedef struct StreamWork {
  const Mapping *p;
  KernelWork point;
  double windows, beside, exchanged, across, pieces, choices, loaded, stored, loaded_bytes, stored_bytes;
  int32_t addresses, words;
} StreamWork;
StreamWork *stream_work(const TargetInfo *t, const Mapping *p);
/* The load of tiles `s` of it on a grid of extents `size`, and what a thread needs registers for. */
LaunchLoad stream_load(const TargetInfo *t, const StreamWork *w, const Schedule *s, const int64_t *size);
RegisterNeed stream_register_need(const StreamWork *w, const Schedule *s);

/* ---------------------------------------------------------------- cpu-stream-cost.c */

/* What the time of tiles of pipeline `p` is made of whatever their size is. ns: nanoseconds a point of each instance;
 * longest: the arithmetic of the one that has most; kept: bytes of the rows that a tile comes back to, for each cell of
 * a row or plane; apart: bytes a point of what is read in other rows. */
typedef struct CpuStreamParts {
  const TargetInfo *t;
  const Mapping *p;
  int32_t lines;
  double *ns, longest, kept, apart;
} CpuStreamParts;
CpuStreamParts cpu_stream_parts(const TargetInfo *t, const Mapping *p);
/* Nanoseconds that a core is expected to take for a point and time step, all that is computed twice and waited for
 * among them; tiles of s->T steps on a grid of s->size, infinite where they store nothing. sized: the last cache gives
 * what it has room for; else all comes from memory, by which tiles are compared with each other. */
double cpu_stream_ns(const CpuStreamParts *w, const Schedule *s, bool sized);
/* What a core takes for `body` at a point, in additions: for its arithmetic, or its accesses where these are more. */
double cpu_body_additions(const Module *m, const Block *body);
/* Bytes a point that launch `l` moves from and to memory: what is written over comes first. halo: points loaded for
 * each that is stored. */
double cpu_moved_bytes(const Launch *l, double halo);
/* Of plain loops on targets without threads. Does launch `step`, of one time step, compute so long at a point that
 * memory keeps up, and several steps a tile would save nothing? */
bool loops_hide_memory(const TargetInfo *t, const Launch *step);
/* Are the stencils of a step of `m`, which is neither cut nor repeated, expected to take less time as a launch each
 * than as one in tiles, where some have to copy what they do not compute? */
bool loops_are_better_apart(const TargetInfo *t, const Module *m);
/* The nanoseconds a point that a step of `m` is expected to take in plain loops: of a launch a stencil (*apart), or,
 * where one of them cannot be that, of one in tiles, which was measured to be the slower one wherever rows can be
 * streamed through all stencils. size: extents of the grid, for which the last cache may have room; NULL: all comes
 * from memory. */
double loops_ns(const TargetInfo *t, const Module *m, const int64_t *size, bool *apart);
/* The same of the stencils from number `first` to before `end` of that step, as a launch each; infinite where one of
 * them cannot be one. */
double loops_apart_ns(const TargetInfo *t, const Module *m, const int64_t *size, int first, int end);

/* ---------------------------------------------------------------- known-masks.c */

/* Where masks are true on a grid of extents size[d], of which n[d] points in each dimension were looked at; any, all:
 * how many of those before a place have a bit of a word set, or all bits of all words (known-masks.c). */
typedef struct WetMap {
  int rank;
  int64_t size[MAX_RANK], n[MAX_RANK];
  int32_t *any, *all;
} WetMap;
/* Which part of the tiles of so many points in each dimension have a wet point, and which have no other ones as far
 * around them as `reach`; at_edge: one at an edge of the grid has a wet point. */
typedef struct WetParts {
  double live, full;
  bool at_edge;
} WetParts;
WetParts wet_parts(const WetMap *w, const double *tile, const Extent *reach);
/* The part of the grid's points at which all words have all bits. */
double wet_share(const WetMap *w);
/* The part of the points at which a word has any bit that lie before row `row` of dimension `d`. */
double wet_before(const WetMap *w, int d, double row);
/* Where the masks of `m` are true on a grid of extents `size`, as far as c->known tells, in c->arena; NULL: it does
 * not. Numbers the values of inits. */
const WetMap *wet_map(PassContext *c, const Module *m, const int64_t *size);

/* ---------------------------------------------------------------- cost.c */

/* A question: which tile is best for module `m`, on a grid of want.size that has `points` points, for what is open of
 * `want`, at most `most` time steps a tile? tiled: the module was repeated so often, 0: it was not. all: also those
 * that are not looked at where a program is compiled. */
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

/* Launch `l` of T time steps, whose tiles are looked at; p: its pipeline if they are streamed, else NULL. What is the
 * same for all of them: what a streamed tile does (NULL: they are not streamed), or tiles that overlap; functions:
 * roots, quotients or functions are computed; 32-bit words of its widest field. */
typedef struct PlanLaunch {
  const Launch *l;
  const Mapping *p;
  const StreamWork *stream;
  const TileWork *tile;
  bool functions;
  int32_t words;
} PlanLaunch;

/* A tile that may be taken for a launch, which makes s.T time steps. usual: it is what is taken where nothing is known
 * of the grid. A launch is expected to take `time`, as it is counted, and a time step so many seconds in all. dropped:
 * why it is not compared with the others, NULL: it is. */
typedef struct PlanCandidate {
  Schedule s;
  const PlanLaunch *of;
  bool usual;
  const char *dropped;
  LaunchTime time;
  double seconds;
  double stopped;  /* times as long as by themselves steps of a run with stops take; 0: it has none */
  bool tight;      /* what is counted takes nearly all registers of a thread */
  bool dear;       /* its rows want more registers, or its code is longer, than is usually good */
  int32_t spilled; /* words that a thread wants beyond its registers, once it was lowered */
} PlanCandidate;

/* Has the target so many threads for a block of `s`, on a grid of rank `rank`? */
bool schedule_has_threads(const TargetInfo *t, const Schedule *s, int rank);
/* What the tiles of launch `l` have in common, streamed or not. */
const PlanLaunch *plan_launch(const PlanQuery *q, const Launch *l, bool streamed);
/* Has a field of the module older levels, which a step reads? Fields that launch `l` loads. */
bool reads_history(const Module *m);
int loaded_fields(const Launch *l);
/* Finds k->time, k->seconds (INFINITY: nothing could be counted) and k->dropped. */
void plan_cost(const PlanQuery *q, PlanCandidate *k);

#endif
