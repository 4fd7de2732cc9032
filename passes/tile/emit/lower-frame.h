/* passes/tile/emit/lower-frame.h: tiles of several steps inside, and step by step at the grid's edges (tile/frame.h).
 *
 *   lower-frame.c   the launches of a frame's steps, beside that of the tiles, which its family makes */
#ifndef STC_PASSES_LOWER_FRAME_H
#define STC_PASSES_LOWER_FRAME_H

#include "passes/lower/lower.h"

/* The whole module `m`, whose step is not repeated, under schedule `s` whose edges are made step by step: the sequence
 * of s->T steps with the kernel that `fn` makes and the frame's, and the single step as family naive has it. NULL after
 * an error. */
Module *lower_framed(PassContext *c, const Module *m, const Schedule *s, TileFn fn);

#endif
