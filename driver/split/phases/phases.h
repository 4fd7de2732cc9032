/* driver/split/phases/phases.h: steps with updates, repeats and levels over parts.
 *
 *   phases.c         which phases the step has, their programs and plans
 *   phase-states.c   scalars that are kept from step to step
 *   run-phases.c     steps
 *
 * Each stage of the step has a program of its own for a part (ir/stages.h; passes/stencil/distribute-stages.c), here a
 * phase, whose plan works on the fields of the part's plan; that one is of the first phase. Between phases rank 0
 * combines what updates and reductions reduce, so that all take the same values and the same branch;
 * updates that look at no field and call no functions each rank computes by itself, by the reference. Ghost cells are
 * exchanged before a phase that looks at other points once they are too old for it, and behind one that computes a
 * coarser level of the grid from the finest: all parts have all of those. */
#ifndef STC_SPLIT_PHASES_H
#define STC_SPLIT_PHASES_H

#include "driver/split/split.h"
#include "ir/stages.h"

/* The stencils of one stage, or of several that can be one program, with the repeats among them. of_field: by field of
 * its plans' module the number in the parts' module, -1: none. around: they look at other points than their own, so
 * that ghost cells are right no further out behind them. restricts: they compute, of a coarser level, the points that
 * stand for the part's own, so that an exchange follows. repeat: the number of the repeat whose rounds have these
 * stencils and nothing else, and which may be made several at a time; -1: none. */
typedef struct Phase {
  StageRange stages;
  int32_t repeat;
  bool around, restricts;
  StcProgram *program;
  StcPlan **plan;    /* by part of this rank */
  Windows **windows; /* likewise */
  int32_t *of_field;
} Phase;

/* All of a step. list[0] is that of the parts' own plans. values: by launch-time array of the reference its elements,
 * for updates, NULL: none reads it, or it is a scalar that is kept. changed: such scalars are to be given to the parts.
 * states: memory of p->run.states, nstates numbers. */
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

/* Makes room for the scalars that are kept. */
void phases_make_states(StcPlan *p, Phases *x);
/* Is array `array` of the reference such a scalar? Its number in the plan's module. */
bool phases_is_state(const Phases *x, int array);
int phases_array(const StcPlan *q, const Phases *x, int array);
/* Gives the scalars to the parts of this rank, if they have changed. */
StcStatus phases_give_states(StcPlan *p, StcStatus s);
/* Gives them to the plan of the whole grid, which evaluates what does not belong to rounds. */
StcStatus phases_settle(StcPlan *p, StcStatus s);

#endif
