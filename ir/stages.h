/* ir/stages.h: divides the stages of a step (Stencil.stage) into programs for the parts of a grid that is cut.
 *
 *   stages.c   which stages may be one program
 *
 * Between programs, parts exchange cells, and make updates and reductions of rounds together. So each stage is a
 * program of its own, with one exception: consecutive stages that compute coarser levels of the grid only from coarser
 * levels form one program, because each part holds these levels as a whole and nothing needs to be exchanged. A repeat
 * of such stages belongs to the program if no reduction belongs to its rounds; then the program makes the rounds.
 *
 *   stages     0      1   2      3   4      5
 *   levels   finest  1st 2nd    2nd 1st   finest      0 | 1 .. 4 | 5, with the rounds of a repeat of 2 .. 3
 *
 * Pass distribute makes such a program; the driver requests them one after the other (driver/split/phases). */
#ifndef STC_IR_STAGES_H
#define STC_IR_STAGES_H

#include "ir/module.h"

/* A range of stages of a step, including the last one. */
typedef struct StageRange {
  int32_t first, last;
} StageRange;

/* The modules below come of module_stage_levels. coarse: by field, is it of a coarser level (module_mark_coarse)? */

/* Does the range `x` contain repeat `r`, and more than one stage? Then the range's program makes its rounds. */
bool stages_have_repeat(StageRange x, const Repeat *r);
/* Can these stages be one program? */
bool stages_can_be_one(const Module *m, const bool *coarse, StageRange x);
/* Lists the programs of a step in order, each with as many stages as possible, in *out, in memory of `a`. Some may have
 * no stencils: those where pass history would rotate time levels. */
int stages_list(const Module *m, const bool *coarse, Arena *a, StageRange **out);

#endif
