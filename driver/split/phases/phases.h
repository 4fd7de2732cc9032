/* driver/split/phases/phases.h: steps with updates, repeats and levels over parts.
 *
 *   phases.c         the phases of the step, their programs and plans
 *   phase-states.c   scalars that are kept from step to step
 *   run-phases.c     steps
 *
 * Each stage of the step has a program of its own for a part (ir/stages.h; passes/stencil/distribute-stages.c), here
 * called a phase. The phase's plan uses the fields of the part's plan, which is that of the first phase. Between phases
 * rank 0 combines the values of updates and reductions, so that all ranks use the same values and take the same branch;
 * updates that read no field and call no functions are computed by each rank itself, with the reference. Ghost cells
 * are exchanged before a phase that reads other points, once they are too old for it, and after a phase that computes a
 * coarser level of the grid from the finest one, because all parts hold all of the coarser levels. */
#ifndef STC_SPLIT_PHASES_H
#define STC_SPLIT_PHASES_H

#include "driver/split/split.h"
#include "ir/stages.h"

/* The stencils of one stage, or of several that can be one program, with the repeats among them. of_field: for each
 * field of its plans' module the number in the parts' module; -1: none. around: the stencils read other points than
 * their own, so fewer ghost cells are valid after them. restricts: they compute the points of a coarser level that
 * stand for the part's own points, so an exchange follows. repeat: the number of a repeat whose rounds consist of these
 * stencils only, and several of whose rounds can be made at once; -1: none. */
typedef struct Phase {
  StageRange stages;
  int32_t repeat;
  bool around, restricts;
  StcProgram *program;
  StcPlan **plan;    /* by part of this rank */
  Windows **windows; /* likewise */
  int32_t *of_field;
} Phase;

/* All phases of a step; list[0] is that of the parts' own plans. values: by launch-time array of the reference, its
 * elements, for updates; NULL: no update reads it, or it is a scalar that is kept. changed: such scalars must be sent
 * to the parts. states: memory of p->run.states, nstates numbers. */
struct Phases {
  const Module *m;
  int n;
  Const *states;
  int64_t nstates;
  Phase *list;
  void **values;
  bool changed;
};

/* ---------------------------------------------------------------- phase-states.c */

/* Allocates memory for the scalars that are kept. */
void phases_make_states(StcPlan *p, Phases *x);
/* phases_is_state: is array `array` of the reference such a scalar? phases_array: its number in the module of plan `q`.
 */
bool phases_is_state(const Phases *x, int array);
int phases_array(const StcPlan *q, const Phases *x, int array);
/* Sends the scalars to the parts of this rank, if they have changed. */
StcStatus phases_give_states(StcPlan *p, StcStatus s);
/* Sends them to the plan of the whole grid, which evaluates reductions that do not belong to rounds. */
StcStatus phases_settle(StcPlan *p, StcStatus s);

#endif
