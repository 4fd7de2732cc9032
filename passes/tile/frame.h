/* passes/tile/frame.h: tiles of several time steps where the step has stencils at the grid's edges, such as absorbing
 * layers. The tiles do not compute these stencils; single steps at the edges do.
 *
 *   grid    the *frame*: all points that T steps of the edges' stencils can reach, computed step by step
 *   +---------------------+
 *   |  frame              |     inner box: no stencil of an edge writes points there that tiles compute
 *   |   +-------------+   |     core: the points at which a tile of T steps of the inner stencils is right at its end:
 *   |   |    core     |   |           the inner box less the halo of T steps at each side that has a frame
 *   |   +-------------+   |
 *   +---------------------+
 *
 * A launch of T steps of the inner stencils alone, of any family, computes the whole grid from the fields as they are,
 * and stores to other buffers; its results in the frame are wrong. Then all stencils of the step make T steps in the
 * buffers that the launch has loaded, at the frame's points and as many more beside them as T steps read; one launch
 * over the frame makes several stencils. At the end the frame's points are stored over those of the tiles.
 *
 *   frame.c         which stencils, boxes and launches these are
 *   frame-steps.c   which launches of a step one kernel makes
 *
 * (Tiles of T steps at the edges would compute each layer with a halo for T steps, on both sides of each stencil.) */
#ifndef STC_PASSES_FRAME_H
#define STC_PASSES_FRAME_H

#include "passes/launch/launch.h"

/* The role of a stencil of the step. */
typedef enum FrameRole {
  FRAME_EDGE,  /* all its pieces have few points: single steps alone make it */
  FRAME_INNER, /* it is in the tiles' launch, with those of its pieces that have many points */
  FRAME_POINT, /* it changes a single point, anywhere: it is a choice in a stencil of the tiles, and in the frame */
  FRAME_PROBE, /* it is in both; in the frame, the values that the frame sees count */
} FrameRole;

/* A launch of a step of the frame. */
typedef struct FrameLaunch {
  Launch *l;
  FrameRole role;
  Extent depth;   /* how far into the inner box it computes, at the low and the high side */
  bool apart;     /* EDGE: it may compute points further in, by launches of its own */
  int32_t level;  /* it follows the launches of lower levels; those of its own level that are not apart are one kernel,
                     which makes them in order at each point */
  int32_t *at[2]; /* [copy][field]: the buffer in which it has that copy of the field, as 2 * field + copy of the field
                     whose buffer this is at the begin of the step */
} FrameLaunch;

typedef struct Frame {
  const Module *tiled;             /* the inner stencils, repeated T times, one launch */
  const Module *whole;             /* the step as it was, with the fields of `tiled` */
  bool lo[MAX_RANK], hi[MAX_RANK]; /* is there a frame at that side? */
  Box inner;                       /* the inner box */
  Extent halo;                     /* the reach of T steps of the inner stencils */
  bool *kept; /* [field] it is in both: the tiles' launch stores it, or it is a level of such a field */
  int32_t n, nlevels;
  FrameLaunch *launches; /* of a step of the frame, in order */
} Frame;

/* The frame of module `m` for T steps a tile, in the module's arena. The step of `m` is not repeated, and none of its
 * levels rotate by themselves. NULL: there is no frame, and *why is the reason, as a part of a sentence. */
const Frame *frame_new(const Module *m, int T, const char **why);
/* The launch of f->tiled, all of whose stores go to other buffers than its loads. */
Launch *frame_tile(const Frame *f);
/* The launch of the last `steps` steps alone, fewer than T; beside it the frame, which is deep enough for T steps,
 * makes as many steps. NULL: such a launch would have its fields in other buffers than the launch of T steps. */
Launch *frame_tile_of(const Frame *f, int steps);
/* One step of the stencils that tiles of `T` steps of `m` make, as a module of its own: the inner stencils, and the
 * probes that see more than the frame; all probes if T is 0: not known yet. NULL: there would be no frame, and *why is
 * the reason. */
Module *frame_step(const Module *m, int T, const char **why);
/* How deep into the inner box the steps of the frame read. */
Extent frame_read(const Frame *f);
/* The rest of the grid where the frame reaches `depth` into the inner box; empty on small grids. */
Box frame_core(const Frame *f, const Extent *depth);

/* The rest of the grid of `m` without the stencils of few points along its edges, as far as that is a box for all
 * values of the params. */
Box frame_middle(const Module *m);

/* ---------------------------------------------------------------- frame-steps.c */

/* Finds the levels of the launches of `f`. */
void frame_levels(Frame *f);
/* Does launch `b`, after launch `a`, read or set values that `a` sets, or set values that `a` reads? Their levels are
 * known. */
bool frame_waits(const FrameLaunch *a, const FrameLaunch *b);
/* The same, of the points of `b` in box `zone` alone. */
bool frame_waits_in(const FrameLaunch *a, const FrameLaunch *b, const Box *zone);
/* The `n` launches at `l` of a step of family naive by roles and levels; of a frame it has nothing else, and no
 * boxes. */
const Frame *frame_of_step(const Module *m, int n, Launch *const *l);
/* The number of points of `box` where the params of `m` have their defaults; 0: not known. */
double box_points(const Module *m, const Box *box);
/* Threads have several points each. Do the pieces of launch `l` of one stencil, other than the largest (`all`:
 * including it), have so many points that each gets a launch of its own? A kernel of one point a thread is longer,
 * since it has all pieces, but where few threads do all of the work, fewer launches are faster. */
bool pieces_have_launches(const TargetInfo *t, const Launch *l, bool all);

#endif
