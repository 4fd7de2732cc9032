/* driver/instance/runner.h: the time loop of a plan: its progress, what it keeps for later runs, its observers. */
#ifndef STC_DRIVER_RUNNER_H
#define STC_DRIVER_RUNNER_H

#include "driver/device/device.h"
#include "driver/instance/kept/kept.h"

#include <pthread.h>

/* The number of launches of a kernel, and their seconds. */
typedef struct KernelTime {
  int64_t launches;
  double seconds;
} KernelTime;

/* What a repeat did in its last step, number `step`: the rounds of all times together, and whether an `until` ended the
 * last ones. */
typedef struct Rounds {
  int64_t step, made;
  bool ended;
} Rounds;

/* The memory of a device for the values of reductions after each of the first `most` - 1 steps (NULL: none), so that
 * nobody waits for them: plan-reduced.c. */
typedef struct Deferred {
  char *memory;
  int64_t most;
} Deferred;

/* How far a plan is, and how its runs end. */
/* The values of a buffer's mirror arguments (MirrorArg). */
typedef struct Mirror {
  int64_t value[MIRROR_ARGS];
} Mirror;

typedef struct TimeLoop {
  int64_t first; /* number of the first step: of those before, which ran elsewhere */
  int64_t done;  /* `first` plus the steps run so far */
  int64_t end;   /* its value at the end of the present run, or the last one, unless that ends earlier */
  int64_t launches;
  bool inits_done;
  bool once_done; /* the values that are computed once (Host.once) agree with the fields that they depend on, as far as
                     the plan knows */
  bool evaluated; /* the reductions that were due after the steps done so far have been evaluated */
  int group;      /* 1 + the number of launches so far that are beside each other; 0: they are not */
  bool wrong;     /* a reduction found an error in the program's values */
  bool torn;      /* a run was stopped within a step: the fields have no values until the plan begins again */
  const Reduction *met; /* the reduction whose condition ended this run; NULL: none */
  bool some_not;        /* of the present `until`: the value of a member so far does not meet the condition */
  int64_t *reduced;     /* values of the present reduction, f64 or i64 in memory format (malloc) */
  size_t reduced_bytes; /* size of that memory */
  Stop asked;           /* stc_plan_stop, and the context's run_stop beside it */
  const Stop *stop;     /* what ends runs: `asked`, or for a part that of its plan; NULL: no run yet */
  bool *closed;         /* by sequence: its kernels are not compiled; NULL: all are */
  bool *ready;   /* by sequence: its kernels have been requested of the device; the last entry: any have. NULL: all */
  bool unlooked; /* the `once` sequence ran in a run that nobody waited for, so `live` is not computed yet */
  int64_t *live; /* by kernel: the number of blocks that have something to do with the present masks, -1: any number;
                    NULL: any, for all kernels */
  KernelTime *times;  /* by kernel; NULL: they are not timed */
  Rounds *rounds;     /* by repeat of the program's reference */
  bool *evaluated_in; /* by scalar: it is the value of a reduction of a repeat, and was evaluated in this step */
  Const **states; /* with a cut grid, by launch-time array: the kept scalar in it, with an element for each member that
                     has its own; NULL: arrays hold them */
  const Mirror *mirrors; /* by slot: the further places to which launches store its values; NULL: none */
  Replay replay;
  Deferred deferred;
} TimeLoop;

/* A callback that sees a plan's fields after every so many steps: plan-watch.c. shown: the number of steps at its last
 * call, -1: none yet; queued: it need not wait until the device has finished these steps. */
typedef struct Watch {
  int64_t every, shown;
  bool queued;
  StcWatch fn;
  void *user;
  struct Watch *next;
} Watch;

/* A visitor that sees a plan's runs and controls them (driver/view). The thread that runs the plan makes all calls.
 * begin: a run of `steps` steps is about to begin. between: about every twentieth of a second, and after the last of
 * the steps up to number `end`: the device has finished the steps so far, and, if the grid is not cut, fields may be
 * read; an error status ends the run. ended: the run has ended with *s; returns whether to continue, with *steps more
 * steps. recall: lent memory, which nobody can use until it is returned, is about to be overwritten: the visitor must
 * return memory that it keeps while no run is going on. close: the plan is about to be freed. held: the seconds for
 * which it made this run wait. */
typedef enum VisitEnd { VISIT_ENDS, VISIT_GOES_ON, VISIT_BEGINS_ANEW } VisitEnd;
typedef struct Visit {
  void *user;
  void (*begin)(void *user, StcPlan *p, int64_t steps);
  StcStatus (*between)(void *user, StcPlan *p, int64_t end);
  VisitEnd (*ended)(void *user, StcPlan *p, StcStatus *s, int64_t *steps);
  void (*recall)(void *user);
  void (*close)(void *user);
  double held;
} Visit;

/* The observers of a plan's runs. */
typedef struct Observers {
  Watch *watches; /* in the order of their calls */
  Visit *visit;   /* NULL: there is no visitor */
  bool (*progress)(void *user, int64_t done, int64_t of);
  void *progress_user;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;
} Observers;

/* Lists of points and what probes see there: plan-points.c. */
typedef struct Points {
  void **coordinates; /* by launch-time array: its elements, if lists take coordinates from it (malloc) */
  int32_t **index;    /* by list of points: the cells of its field (malloc) */
  bool lists_filled;  /* since arrays were set last */
  int64_t unseen;     /* values of probes before this step have been passed on, or are being copied: */
  Stage **sent;       /* by probe: the stage for its series while the device copies it; NULL: not needed so far */
  bool no_sending;    /* the device has no memory for stages */
  int64_t sent_from, sent_to; /* rows there became due after sent_from, and up to sent_to, steps; -1: none */
  int64_t shift;              /* added to the step numbers with which probes' rows are passed on */
} Points;

/* A run that nobody has waited for yet. On devices without streams `thread` makes it. */
typedef struct Background {
  bool pending, threaded;
  pthread_t thread;
  atomic_bool ended;
  int64_t steps, first, launches; /* the requested steps; the plan's counts before the run */
  StcStatus status;
  StcRunInfo info;
} Background;

/* plan-late.c: */

/* plan_close_late: closes the sequences whose kernels are compiled late. plan_open_late: opens those that save enough
 * launches in the next `steps` steps, and lets their kernels be compiled. */
void plan_close_late(StcPlan *p);
StcStatus plan_open_late(StcPlan *p, int64_t steps);
/* If kernels are compiled on demand: lets the device compile those that the next `steps` steps launch. */
StcStatus plan_need_steps(StcPlan *p, int64_t steps);
/* The same for a sequence that runs now. A run that is divided at other steps than expected, by a visitor for example,
 * uses other sequences; and no kernel may be compiled while launches are recorded. */
StcStatus plan_need_sequence(StcPlan *p, const HostSeq *seq);
/* The first open sequence of the plan that makes at most `left` steps; NULL: there is none. */
const HostSeq *plan_next_sequence(const StcPlan *p, int64_t left);

/* plan-run.c: */

/* Makes `steps` steps (< 0: the program's number) and fills *info; without `wait` it does not wait for the device. */
StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info);
/* The information on a run that began after `first` steps and `launches` launches, and took `seconds`. */
StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds);
/* For a plan whose grid is cut. plan_run_whole_grid: runs the inits, unless they have been run, and passes on the
 * values from before the first step. plan_evaluate: evaluates the reductions that are due now, and calls the watches.
 */
StcStatus plan_run_whole_grid(StcPlan *p);
StcStatus plan_evaluate(StcPlan *p);
/* plan-rounds.c. plan_start_rounds: clears the records of rounds. plan_take_rounds: records the rounds of loop number
 * `loop` of the running module, and after the outermost loop reports them (Binding.repeated). plan_note_rounds: the
 * same by the number of the repeat in the program's reference. */
void plan_start_rounds(StcPlan *p);
void plan_take_rounds(void *user, int loop, int64_t step, int64_t rounds, bool ended);
void plan_note_rounds(StcPlan *p, int repeat, int64_t step, int64_t rounds, bool ended);
/* Lets the plan, whose fields and arrays have been set, continue as if `step` steps were done and reductions evaluated.
 */
void plan_begin(StcPlan *p, int64_t step);
/* Sets the scalars that are kept to their values before the first step, except those that the user has set.
 * (plan-state.c) */
StcStatus plan_first_states(StcPlan *p);

/* Computes the elements of arrays of role ARRAY_VALUES, unless they agree with the present params. */
StcStatus plan_make_values(StcPlan *p);

/* plan-whole.c, for devices that run whole modules. plan_run_whole: makes steps, after the inits if they have not been
 * run; *seconds: the time. plan_see_whole: passes on the values of the probes that are due, from the present fields. */
StcStatus plan_run_whole(StcPlan *p, int64_t steps, double *seconds);
StcStatus plan_see_whole(StcPlan *p);

/* plan-launch.c: */

/* Runs one sequence and counts its steps. */
StcStatus plan_sequence(StcPlan *p, const HostSeq *seq);
/* Runs the `n` launches and swaps at `op`. */
StcStatus plan_ops(StcPlan *p, int n, const HostOp *op);
/* The plan's host program, for a run on its device from the plan's present state (ir/run/host-run.h). */
struct HostRun plan_host(StcPlan *p);
/* Launches kernel `named`, or the one that is launched in its place under the params, in the main lane of the device or
 * another one. */
StcStatus plan_launch_kernel(StcPlan *p, int named);
StcStatus plan_launch_in(StcPlan *p, int named, int lane);
/* The blocks of `k` along each dimension under the plan's scalars, checked against the target's limits. */
StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]);

/* plan-init.c: */

/* All work before the first step. */
StcStatus plan_run_inits(StcPlan *p);
/* Runs the `once` sequence, unless everything that it reads is certain to be unchanged since the last time. */
StcStatus plan_run_once(StcPlan *p);

/* plan-reduced.c: */

/* Records the value of `r`, calls the observer of its series, and decides whether it ends the run (Binding.reduced). */
void plan_take_value(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
/* plan_defer: lets the device keep the values of the plan's reductions, which no step reads, from before and after each
 * of the next `steps` steps, so that nobody waits for each of them. It does nothing if the device runs whole modules,
 * the grid is cut, or a reduction has a value for each member. plan_defer_end: ends this, and passes the values to the
 * plan's observers (`tell`), or drops them. */
StcStatus plan_defer(StcPlan *p, int64_t steps);
StcStatus plan_defer_end(StcPlan *p, bool tell);
/* The destination of the value that a launch stores to the buffer, if it is deferred; else NULL. */
void *plan_deferred_place(const StcPlan *p, int buffer);

/* plan-idle.c: */

/* Finds the blocks of kernels that have something to do with the present values that are computed once, if `look`; else
 * all count as such. */
StcStatus plan_find_live(StcPlan *p, bool look);
/* Does this, if it has not been done since those values were computed in a run that nobody waited for; waits for the
 * device. */
StcStatus plan_find_late(StcPlan *p);

/* plan-watch.c: */

/* Is there an observer that decides whether a run continues? */
bool observers_ask(const Observers *o);
/* Must a watch be called when `done` steps are done? */
bool observers_are_due(const Observers *o, int64_t done);
/* The number of steps after `done` until a watch is due: at most `left`. */
int64_t observers_wait(const Observers *o, int64_t done, int64_t left);
/* stc_plan_watch; queued: `fn` reads values only in order with launches, so the device need not have finished. */
StcStatus plan_watch(StcPlan *p, int64_t every, bool queued, StcWatch fn, void *user);
/* Calls the watches that are due now, unless they have been called. */
StcStatus plan_show(StcPlan *p);
/* The number of time tiles to run before the caller is asked again: twice `count` if all `count` ran (`ran`) within a
 * twentieth of a second, else `count`. */
int64_t plan_next_count(int64_t count, int64_t ran, double seconds);
/* Asks the progress callback and the visitor whether a run that began after `first` steps, to make `steps`, continues
 * (STC_INTERRUPTED: no). */
StcStatus plan_ask(StcPlan *p, int64_t first, int64_t steps);

/* plan-steps.c: */

/* Do the steps of the program depend on their numbers? *what: the word in the program for that, "step" or "every". */
bool program_counts_steps(const StcProgram *p, const char **what);
/* Warns of launch-time arrays indexed by `step` that have too few elements for `steps` more steps. */
void plan_check_steps(StcPlan *p, int64_t steps);
/* Records that another plan of the same run has warned. */
void plan_warned(StcPlan *p);

/* plan-params.c: */

/* May scalar `scalar` of the plan's module get another value between two runs? It may if it is a param that only
 * affects computed values: no size, coordinate or number of steps. */
bool plan_param_is_free(const StcPlan *p, int scalar);
/* Where the program uses the param's value: in the initial values of fields, in steps (including reductions and
 * probes). */
typedef struct ParamUse {
  bool inits, steps;
} ParamUse;
ParamUse plan_param_use(const StcPlan *p, int scalar);
/* Gives `n` such params ("NAME=VALUE") new values, from the next step on. STC_INPUT, without a message: one of them may
 * not change, or the program does not allow the values; then none is changed. */
StcStatus plan_set_params(StcPlan *p, int n, const char *const *defines);

/* plan-points.c: */

/* plan_make_points: allocates memory for lists of points. plan_free_points: frees it. */
StcStatus plan_make_points(StcPlan *p);
void plan_free_points(StcPlan *p);
/* Computes what kernels read of the lists of points, unless it is there. */
StcStatus plan_fill_lists(StcPlan *p);
/* If launch-time array `array` holds coordinates: spreads points over the region of their list, and writes their
 * coordinates to `data`. False if it holds none. */
bool plan_spread_points(const StcPlan *p, int array, void *data);
/* The same with random points in the region, which depend on the seed. */
bool plan_random_points(const StcPlan *p, int array, uint64_t seed, void *data);
/* Copies the series of probe number `i` to the host, and passes on its rows that became due after more than `from` and
 * at most `to` steps. */
StcStatus plan_fetch_rows(StcPlan *p, int i, int64_t from, int64_t to);
/* Passes on all values of probes so far. */
StcStatus plan_drain(StcPlan *p);
/* Makes room in the series for the values of probes in `steps` more steps. If the device can, it copies the rows that
 * must be saved while it continues; they are passed on the next time, or by plan_drain. */
StcStatus plan_make_room(StcPlan *p, int64_t steps);
/* For how many of `most` times `steps` steps there is room; at least 1. */
int64_t plan_room(const StcPlan *p, int64_t steps, int64_t most);
/* Frees the memory for rows that are being copied. */
void plan_free_sent(StcPlan *p);
/* Passes on one row (Binding.probed). */
void plan_take_row(void *user, const Probe *p, int64_t step, const void *values);

/* plan-see.c: */

/* Passes on the values of the probes that are due now, from the present fields. */
StcStatus plan_see(StcPlan *p);
/* Launches the probes from before the first step, unless their values have been passed on. */
StcStatus plan_probe_before(StcPlan *p);

#endif
