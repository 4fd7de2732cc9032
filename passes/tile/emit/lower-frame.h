/* passes/tile/emit/lower-frame.h: tiles of several steps inside, single steps at the grid's edges (tile/frame.h).
 *
 *   lower-frame.c   the launches of the frame's steps; the tiles' own family makes the launch of the tiles */
#ifndef STC_PASSES_LOWER_FRAME_H
#define STC_PASSES_LOWER_FRAME_H

#include "passes/lower/lower.h"
#include "passes/tile/frame.h"

/* Lowers the whole module `m`, whose step is not repeated, under schedule `s`, whose edges are made step by step: to
 * the sequence of s->T steps, with the kernel that `fn` makes and the frame's, and to the single step as in family
 * naive. NULL after an error. */
Module *lower_framed(PassContext *c, const Module *m, const Schedule *s, TileFn fn);

/* A lowering for launch `fl` of a step whose buffers `own` has, in which each field has the buffer in which the launch
 * finds it. */
Lowering *frame_buffers(const Lowering *own, const FrameLaunch *fl);
/* Adds the swaps to `seq` that the launches of `f` would have between them, after all launches of a step. */
void frame_swaps(Lowering *own, HostSeq *seq, const Frame *f);
/* "wave", "wave_rec", "wave_to_rec": the stencils of `n` launches. */
const char *frame_members_text(Arena *a, int n, const FrameLaunch *const *of);

#endif
