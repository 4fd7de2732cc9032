/* passes/tile/emit/lower-frame.h: tiles of several steps inside, and step by step at the grid's edges (tile/frame.h).
 *
 *   lower-frame.c   the launches of a frame's steps, beside that of the tiles, which its family makes */
#ifndef STC_PASSES_LOWER_FRAME_H
#define STC_PASSES_LOWER_FRAME_H

#include "passes/lower/lower.h"
#include "passes/tile/frame.h"

/* The whole module `m`, whose step is not repeated, under schedule `s` whose edges are made step by step: the sequence
 * of s->T steps with the kernel that `fn` makes and the frame's, and the single step as family naive has it. NULL after
 * an error. */
Module *lower_framed(PassContext *c, const Module *m, const Schedule *s, TileFn fn);

/* The lowering for launch `fl` of a step whose buffers `own` has: each field in the buffer that the launch has it in.
 */
Lowering *frame_buffers(const Lowering *own, const FrameLaunch *fl);
/* Adds to `seq`, behind all launches of a step, the swaps that those of `f` would have between them. */
void frame_swaps(Lowering *own, HostSeq *seq, const Frame *f);
/* "wave", "wave_rec", "wave_to_rec": the stencils of `n` launches. */
const char *frame_members_text(Arena *a, int n, const FrameLaunch *const *of);

#endif
