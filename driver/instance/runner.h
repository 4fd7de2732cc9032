/* driver/instance/runner.h: the time loop of a plan: how far it is, what it keeps for later runs, who is told. */
#ifndef STC_DRIVER_RUNNER_H
#define STC_DRIVER_RUNNER_H

#include "driver/device/device.h"
#include "driver/instance/kept/kept.h"

#include <pthread.h>

/* How often a kernel was launched, and the seconds that this took. */
typedef struct KernelTime {
  int64_t launches;
  double seconds;
} KernelTime;

/* What a repeat did in its last step, number `step`: the rounds, all times together, and whether an `until` ended the
 * last ones. */
typedef struct Rounds {
  int64_t step, made;
  bool ended;
} Rounds;

/* Where a device keeps what reductions come to behind each of the first `most` - 1 steps (NULL: nowhere), so that
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
  int64_t first; /* the number of the first step: what was run before, elsewhere */
  int64_t done;  /* that and the steps run so far */
  int64_t end;   /* what that is at the end of the run in hand, or the last one, unless it ends earlier */
  int64_t launches;
  bool inits_done;
  bool once_done; /* what is computed once (Host.once) is as the fields are that it is made of, as far as the plan
                     knows */
  bool evaluated; /* the reductions have been evaluated after the steps done so far, as far as they were due */
  int group;      /* launches are beside each other for the time being: one more than there were; 0: they are not */
  bool wrong;     /* a reduction found a mistake in the program's values */
  bool torn;      /* a run was stopped within a step: until the plan begins anew its fields have no values */
  const Reduction *met;  /* whose condition ended this run; NULL none */
  bool some_not;         /* of the `until` in hand: a member told of so far does not meet the condition */
  int64_t *reduced;      /* the values of the reduction in hand, f64 or i64 as they are in memory (malloc) */
  size_t reduced_bytes;  /* room there */
  Stop asked;            /* stc_plan_stop and, beside it, the context's run_stop */
  const Stop *stop;      /* what ends runs: that, or for a part that of its plan; NULL: the plan has made no run */
  bool *closed;          /* by sequence: its kernels are not compiled; NULL: all are */
  bool *ready;           /* likewise: the device has been asked for its kernels; behind them: for any. NULL: for all */
  bool unlooked;         /* that was made in a run that was not waited for, so that live is not found yet */
  int64_t *live;         /* by kernel: how many blocks have something to do, as masks are, -1: any; NULL: any of all */
  KernelTime *times;     /* of each kernel; NULL: they are not timed */
  Rounds *rounds;        /* of each repeat of the program's reference */
  bool *evaluated_in;    /* by scalar: it is the value of a reduction of a repeat, evaluated in this step */
  Const **states;        /* of a grid that is cut, by launch-time array: the scalar that it holds, with an element for
                            each member that has its own; NULL: arrays do */
  const Mirror *mirrors; /* by slot: where else launches store what they store there; NULL: nowhere */
  Replay replay;
  Deferred deferred;
} TimeLoop;

/* Who looks at a plan's fields after every so many steps: plan-watch.c. shown: the steps that were done at its last
 * call, -1: none yet; queued: it need not be called when the device is done with these steps. */
typedef struct Watch {
  int64_t every, shown;
  bool queued;
  StcWatch fn;
  void *user;
  struct Watch *next;
} Watch;

/* Who looks at a plan's runs and steers them (driver/view). All are called by the thread that runs the plan. begin: a
 * run of `steps` steps is about to begin. between: about every twentieth of a second, and behind the last of the steps
 * up to number `end`: the device is done with the steps so far, and of a plan that is not cut fields may be read; a
 * status ends the run. ended: the run came to its end, with *s; whether to go on, with *steps steps more. recall:
 * memory that was lent, which nobody can use till it is returned, is about to be written over; what is kept of it while
 * no run is going on is to be returned. close: the plan is about to be freed. held: the seconds that it had this run
 * wait. */
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

/* Who is told of what while a plan runs. */
typedef struct Observers {
  Watch *watches; /* in order of call */
  Visit *visit;   /* NULL: nobody looks on */
  bool (*progress)(void *user, int64_t done, int64_t of);
  void *progress_user;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;
} Observers;

/* Lists of points and what probes see there: plan-points.c. */
typedef struct Points {
  void **coordinates;         /* by launch-time array: its elements if lists take coordinates from it (malloc) */
  int32_t **index;            /* by list of points: the cells of its field (malloc) */
  bool lists_filled;          /* since arrays were set */
  int64_t unseen;             /* what probes saw when fewer steps were done has been handed out, or is on its way: */
  Stage **sent;               /* by probe: where its series is while the device copies it; NULL: never needed so far */
  bool no_sending;            /* the device has no memory for these */
  int64_t sent_from, sent_to; /* the rows there became due after more and at most so many steps; sent_to -1: none are */
  int64_t shift;              /* steps to add to those for which probes' rows are handed out */
} Points;

/* A run that nobody waited for yet. On devices without streams `thread` makes it. */
typedef struct Background {
  bool pending, threaded;
  pthread_t thread;
  atomic_bool ended;
  int64_t steps, first, launches; /* asked for; the plan's counts before */
  StcStatus status;
  StcRunInfo info;
} Background;

/* plan-late.c: */

/* Closes the sequences whose kernels are late; opens those that save `steps` steps from now enough launches, and has
 * their kernels compiled. */
void plan_close_late(StcPlan *p);
StcStatus plan_open_late(StcPlan *p, int64_t steps);
/* Where kernels are compiled when runs need them: has the device compile those that `steps` steps from now launch. */
StcStatus plan_need_steps(StcPlan *p, int64_t steps);
/* The same for a sequence that is run now: a run that is cut at other steps than it was to be, by a page that looks on
 * say, has others than those, and no kernel is compiled while launches are recorded. */
StcStatus plan_need_sequence(StcPlan *p, const HostSeq *seq);
/* The first open sequence of the plan's that does not go beyond `left` steps, NULL: there is none. */
const HostSeq *plan_next_sequence(const StcPlan *p, int64_t left);

/* plan-run.c: */

/* Runs steps (< 0: the program's) and fills *info; without `wait` it does not wait for the device. */
StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info);
/* What a run that began after `first` steps and `launches` launches, and took so many seconds, came to. */
StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds);
/* For a plan whose grid is cut: inits, unless they have been run, and what is to be seen before the first step; the
 * reductions that are due now, and the watches. */
StcStatus plan_run_whole_grid(StcPlan *p);
StcStatus plan_evaluate(StcPlan *p);
/* plan-rounds.c: forgets what was noted of rounds; notes what repeat number `loop` of what runs did, and behind the
 * outermost one tells of it (Binding.repeated); the same by the number of the repeat in the program's reference. */
void plan_start_rounds(StcPlan *p);
void plan_take_rounds(void *user, int loop, int64_t step, int64_t rounds, bool ended);
void plan_note_rounds(StcPlan *p, int repeat, int64_t step, int64_t rounds, bool ended);
/* Has the plan, whose fields and arrays have been set, go on as if `step` steps were done and reductions evaluated. */
void plan_begin(StcPlan *p, int64_t step);
/* Makes scalars that are kept what they are before the first step, but for those that were given. (plan-state.c) */
StcStatus plan_first_states(StcPlan *p);

/* Computes the elements of arrays of role ARRAY_VALUES, unless they have what the params make of them. */
StcStatus plan_make_values(StcPlan *p);

/* plan-whole.c, of devices that run whole modules: makes steps, and inits first if there were none yet; *seconds is
 * what that took. Hands out what the probes that are due now see of the fields as they are. */
StcStatus plan_run_whole(StcPlan *p, int64_t steps, double *seconds);
StcStatus plan_see_whole(StcPlan *p);

/* plan-launch.c: */

/* Runs one sequence and counts its steps. */
StcStatus plan_sequence(StcPlan *p, const HostSeq *seq);
/* Runs the `n` launches and swaps at `op`. */
StcStatus plan_ops(StcPlan *p, int n, const HostOp *op);
/* The plan's host program, to be run on its device from where the plan is (ir/run/host-run.h). */
struct HostRun plan_host(StcPlan *p);
/* Launches kernel `named`, or the one that suits the params better, in the main lane or another one of the device. */
StcStatus plan_launch_kernel(StcPlan *p, int named);
StcStatus plan_launch_in(StcPlan *p, int named, int lane);
/* The blocks of `k` along each dimension under the plan's scalars, checked against the target's limits. */
StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]);

/* plan-init.c: */

/* All that is done before the first step. */
StcStatus plan_run_inits(StcPlan *p);
/* Launches what is computed once, unless all that it is made of is sure to be as it was the last time. */
StcStatus plan_run_once(StcPlan *p);

/* plan-reduced.c: */

/* Notes the value of `r`, tells whoever watches the series, and whether it ends the run (Binding.reduced). */
void plan_take_value(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
/* Has the device keep what the plan's reductions come to, which no step reads, before the first and behind each of the
 * next `steps` steps, in place of waiting for it each time; nothing is deferred where the device runs whole modules,
 * the grid is cut, or a reduction has a value for each member. The end of that: the values are told to the plan's
 * observers
 * (`tell`), or lost. */
StcStatus plan_defer(StcPlan *p, int64_t steps);
StcStatus plan_defer_end(StcPlan *p, bool tell);
/* Where the value goes that a launch leaves in the buffer, of those that are deferred; NULL: it is no such one. */
void *plan_deferred_place(const StcPlan *p, int buffer);

/* plan-idle.c: */

/* Finds which blocks of kernels have something to do as what was computed once is now, if `look`; else all may have. */
StcStatus plan_find_live(StcPlan *p, bool look);
/* Does so where nobody has looked since that was computed, in a run that was not waited for; the device is waited for.
 */
StcStatus plan_find_late(StcPlan *p);

/* plan-watch.c: */

/* Is there somebody to ask whether a run goes on? */
bool observers_ask(const Observers *o);
/* Is a watch to be called when `done` steps are done? */
bool observers_are_due(const Observers *o, int64_t done);
/* How many steps may be made behind `done` of them until a watch is due: at most `left`. */
int64_t observers_wait(const Observers *o, int64_t done, int64_t left);
/* stc_plan_watch; queued: `fn` takes values only in order with launches, so the device need not be done. */
StcStatus plan_watch(StcPlan *p, int64_t every, bool queued, StcWatch fn, void *user);
/* Calls the watches that are due now, if they have not been called yet. */
StcStatus plan_show(StcPlan *p);
/* How many time tiles to run before the caller hears of it again: twice `count` where the last time all `count` were
 * run (`ran`) in a twentieth of a second, else `count`. */
int64_t plan_next_count(int64_t count, int64_t ran, double seconds);
/* Asks the progress callback and who looks on whether a run goes on that began behind `first` steps, to make `steps`
 * (STC_INTERRUPTED: no). */
StcStatus plan_ask(StcPlan *p, int64_t first, int64_t steps);

/* plan-steps.c: */

/* Do the steps of the program depend on their numbers? *what is the word that says so: "step" or "every". */
bool program_counts_steps(const StcProgram *p, const char **what);
/* Warns of launch-time arrays indexed by `step` that have too few elements for `steps` more steps. */
void plan_check_steps(StcPlan *p, int64_t steps);
/* Notes that another plan of the same run has said so. */
void plan_warned(StcPlan *p);

/* plan-params.c: */

/* May scalar `scalar` of the plan's module get another value between two runs? It is a param that nothing but values
 * computed depends on: no size, place or number of steps. */
bool plan_param_is_free(const StcPlan *p, int scalar);
/* What of the program uses the param's value: the starts of fields, the steps (reductions and probes among them). */
typedef struct ParamUse {
  bool inits, steps;
} ParamUse;
ParamUse plan_param_use(const StcPlan *p, int scalar);
/* Gives `n` such params ("NAME=VALUE") new values, from the next step on. STC_INPUT, without a message: one of them is
 * not free, or the program does not allow the values, and all are as they were. */
StcStatus plan_set_params(StcPlan *p, int n, const char *const *defines);

/* plan-points.c: */

/* Makes room for lists of points; gives it back. */
StcStatus plan_make_points(StcPlan *p);
void plan_free_points(StcPlan *p);
/* Makes what kernels read of the lists of points, unless it is there. */
StcStatus plan_fill_lists(StcPlan *p);
/* Spreads points over the regions of their list, if launch-time array `array` has coordinates: makes its elements at
 * `data`. False if it has none. */
bool plan_spread_points(const StcPlan *p, int array, void *data);
/* Random coordinates that depend on the seed, of points in the region of their list, likewise. */
bool plan_random_points(const StcPlan *p, int array, uint64_t seed, void *data);
/* Copies the series of probe number `i` here and hands out its rows that became due after more than `from` and at most
 * `to` steps. */
StcStatus plan_fetch_rows(StcPlan *p, int i, int64_t from, int64_t to);
/* Hands out what probes saw so far. */
StcStatus plan_drain(StcPlan *p);
/* Makes room in the series for what probes see in `steps` steps more. A device that can copies the rows that are in the
 * way while it goes on; they are handed out the next time, or by plan_drain. */
StcStatus plan_make_room(StcPlan *p, int64_t steps);
/* How many of `most` times `steps` steps there is room for, 1 at least. */
int64_t plan_room(const StcPlan *p, int64_t steps, int64_t most);
/* Gives back the memory for rows on their way. */
void plan_free_sent(StcPlan *p);
/* Hands out one row (Binding.probed). */
void plan_take_row(void *user, const Probe *p, int64_t step, const void *values);

/* plan-see.c: */

/* Hands out what the probes that are due now see of the fields as they are. */
StcStatus plan_see(StcPlan *p);
/* Launches what probes see before the first step, unless that has been handed out. */
StcStatus plan_probe_before(StcPlan *p);

#endif
