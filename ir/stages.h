/* ir/stages.h: how the stages of a step (Stencil.stage) become programs for the parts of a grid that is cut.
 *
 *   stages.c   which stages may be one program
 *
 * Parts exchange cells, and make updates and reductions of rounds together, between programs. So each stage is one,
 * but for stages in a row that compute coarser levels of the grid from coarser levels alone: each part has all of
 * these, and nothing is exchanged between them. Repeats of such stages are among them where nothing looks at their
 * rounds: then the program makes the rounds.
 *
 *   stages     0      1   2      3   4      5
 *   levels   finest  1st 2nd    2nd 1st   finest      0 | 1 .. 4 | 5, with the rounds of a repeat of 2 .. 3
 *
 * Pass distribute makes such a program, the driver asks for one after the other (driver/split/phases). */
#ifndef STC_IR_STAGES_H
#define STC_IR_STAGES_H

#include "ir/module.h"

/* Stages of a step, the last one included. */
typedef struct StageRange {
  int32_t first, last;
} StageRange;

/* The modules below come of module_stage_levels. coarse: by field, is it of a coarser level (module_mark_coarse)? */

/* Is repeat `r` among the stages, where these are several? Their program makes its rounds then. */
bool stages_have_repeat(StageRange x, const Repeat *r);
/* Can the stages be one program? */
bool stages_can_be_one(const Module *m, const bool *coarse, StageRange x);
/* The programs of a step, in order, each with as many stages as can be; *out is in memory of `a`. Some may turn out to
 * have no stencils: where pass history would rotate time levels. */
int stages_list(const Module *m, const bool *coarse, Arena *a, StageRange **out);

#endif
