/* passes/tile/frame.h: several time steps a launch where the step has stencils of the grid's edges, such as absorbing
 * layers, that a tile inside knows nothing of.
 *
 *   grid    the *frame*: all that T steps near the edges' stencils can reach, step by step
 *   +---------------------+
 *   |  frame              |     inner box: where no stencil of an edge writes what tiles compute
 *   |   +-------------+   |     core: what a tile of T steps of the inner stencils has right at its end, the inner box
 *   |   |    core     |   |           less the halo of T steps at each side that has a frame
 *   |   +-------------+   |
 *   +---------------------+
 *
 * A launch of T steps of the inner stencils alone, of any family, computes the whole grid from the fields as they are,
 * and stores to other buffers; what it makes in the frame is wrong. Then all stencils of the step make T steps in the
 * buffers that it loaded, at the frame's points and as many beside as T steps read, several of them by one launch over
 * the frame; what they have at the end is put over what the tiles stored.
 *
 *   frame.c         which stencils, boxes and launches these are
 *   frame-steps.c   which launches of a step one kernel makes
 *
 * (Tiles of T steps at the edges would compute each layer with a halo for T steps, on both sides of each stencil.) */
#ifndef STC_PASSES_FRAME_H
#define STC_PASSES_FRAME_H

#include "passes/launch/launch.h"

/* What a stencil of the step is for a frame. */
typedef enum FrameRole {
  FRAME_EDGE,  /* all its pieces have few points: it is made step by step alone */
  FRAME_INNER, /* it is in the tiles' launch, with those of its pieces that have many points */
  FRAME_POINT, /* it changes a single point, wherever that is: a choice in a stencil of the tiles, and in the frame */
  FRAME_PROBE, /* it is in both, and what the frame sees counts there */
} FrameRole;

/* A launch of a step of the frame. */
typedef struct FrameLaunch {
  Launch *l;
  FrameRole role;
  Extent depth;   /* how far into the inner box it computes, at the low and the high side */
  bool apart;     /* EDGE: it may compute points further in, by launches of its own */
  int32_t level;  /* it follows the launches of the levels before; those of its own that are not apart are one kernel,
                     which makes them in order at each point */
  int32_t *at[2]; /* [copy][field]: the buffer that it has that field in, as 2 * field + copy of the one that this is at
                     the begin of the step */
} FrameLaunch;

typedef struct Frame {
  const Module *tiled;             /* the inner stencils, repeated T times, one launch */
  const Module *whole;             /* the step as it was, with the fields of `tiled` */
  bool lo[MAX_RANK], hi[MAX_RANK]; /* is there a frame at that side? */
  Box inner;                       /* the inner box */
  Extent halo;                     /* what T steps of the inner stencils reach */
  bool *kept; /* [field] it is in both: the tiles' launch stores it, or it is a level of such a field */
  int32_t n, nlevels;
  FrameLaunch *launches; /* a step of the frame, in order */
} Frame;

/* The frame of module `m`, whose step is neither repeated nor has levels that rotate by themselves, for T steps a
 * tile; NULL: there is none, and *why says it, as a part of a sentence. In the module's arena. */
const Frame *frame_new(const Module *m, int T, const char **why);
/* The launch of f->tiled, all of whose stores go to other buffers than its loads. */
Launch *frame_tile(const Frame *f);
/* The same of the last `steps` steps alone, fewer than T, beside which the frame that is deep enough for T steps is
 * made for so many. NULL: such a launch would have its fields in other buffers than the one of T steps. */
Launch *frame_tile_of(const Frame *f, int steps);
/* One step of the stencils that tiles of `T` steps of `m` make, as a module of its own: those inside, and the probes
 * that see more than the frame; all probes where T is 0, not known yet. NULL: there would be no frame, and *why says
 * why. */
Module *frame_step(const Module *m, int T, const char **why);
/* How deep into the inner box the steps of the frame read. */
Extent frame_read(const Frame *f);
/* What is left of the grid where the frame reaches `depth` into the inner box; empty on small grids. */
Box frame_core(const Frame *f, const Extent *depth);

/* What is left of the grid of `m` without the stencils of few points along its edges, as far as that is a box whatever
 * the params are. */
Box frame_middle(const Module *m);

/* ---------------------------------------------------------------- frame-steps.c */

/* Finds the levels of the launches of `f`. */
void frame_levels(Frame *f);
/* Does launch `b`, one behind launch `a`, read or set what that sets, or set what it reads? Their levels are known. */
bool frame_waits(const FrameLaunch *a, const FrameLaunch *b);
/* The same of what `b` does in box `zone` alone. */
bool frame_waits_in(const FrameLaunch *a, const FrameLaunch *b, const Box *zone);
/* The `n` launches at `l` of a step of family naive by roles and levels, and no more of a frame: no boxes. */
const Frame *frame_of_step(const Module *m, int n, Launch *const *l);
/* How many points `box` has where the params of `m` have their defaults; 0: nobody knows. */
double box_points(const Module *m, const Box *box);
/* Have the pieces of launch `l` of one stencil, but the largest (`all`: that, too), so many points that each has a
 * launch of its own, where threads have several points? A kernel of a point a thread is longer, since it has all
 * pieces, but where few threads do what there is, fewer launches are the faster ones. */
bool pieces_have_launches(const TargetInfo *t, const Launch *l, bool all);

#endif
