/* driver/instance/instance.h: plans (StcPlan): a program on a device with params and memory.
 *
 *   instance.c      making one: checks and memory
 *   plan-data.c     its fields and arrays, in and out
 *   plan-bind.c     fields in memory of the caller's; DLPack (dlpack.h)
 *   plan-async.c    runs that nobody waits for, streams and events
 *   plan-points.c   lists of points, what probes see
 *   plan-run.c      the time loop of Algorithm 5, reductions between its steps
 *   plan-state.c    what else a run needs that continues elsewhere
 *   plan-watch.c    callbacks that look at fields while a plan runs
 *   plan-steps.c    runs that begin at a later step, arrays with an element a step
 *   plan-replay.c   launches recorded once and made in one go
 *   plan-late.c     sequences whose kernels are compiled late, where a run makes enough of them
 *   plan-lend.c     values lent to a thread that writes them to files
 *   plan-vectors.c  whole fields of vectors as one array
 *   plan-rows.c     rows that lie apart: their values in and out
 */
#ifndef STC_DRIVER_PLAN_H
#define STC_DRIVER_PLAN_H

#include "driver/device/device.h"

#include <pthread.h>
#include <signal.h>

/* How often a kernel was launched, and the seconds that this took. */
typedef struct KernelTime {
  int64_t launches;
  double seconds;
} KernelTime;

/* A piece of memory: a buffer's, a launch-time array's, or a field's that no kernel uses. */
typedef struct Slot {
  void *memory;
  size_t size;
  size_t row, pitch;             /* bytes of a row of values, and from one to the next; 0: they are dense */
  size_t lead;                   /* bytes before it that were allocated with it */
  bool foreign;                  /* the caller's */
  bool handed;                   /* stc_plan_pointer has told where it is */
  struct DLManagedTensor *owner; /* whose deleter is called when the plan lets go of the memory, or NULL */
  struct Loan *loan;             /* of the memory; NULL: it is not lent */
  struct Shown *shown;           /* the tensors that show the memory; NULL: there never was one */
} Slot;

/* Memory that tensors show: it stays where it is until the last of them is deleted, or the plan is freed. users: the
 * tensors, and the plan. left: the memory, once the slot has other memory, in the plan's list. (plan-bind.c) */
typedef struct Shown {
  atomic_int users;
  Slot left;
  struct Shown *next;
} Shown;

/* Who looks at a plan's fields after every so many steps: plan-watch.c. shown: the steps that were done at its last
 * call, -1: none yet; queued: it need not be called when the device is done with these steps. */
typedef struct Watch {
  int64_t every, shown;
  bool queued;
  StcWatch fn;
  void *user;
  struct Watch *next;
} Watch;

/* The values of a field, lent, and what a plan has for that: plan-lend.c. */
typedef struct Loan Loan;
typedef struct Lending Lending;

/* Launches that a device keeps: plan-replay.c. */
typedef struct Recording Recording;

/* Where a declared field is in the plan's module: in field `field`, packed if that is of composite type, else with its
 * components in the fields from there on. */
typedef struct Home {
  int field;
  bool packed;
} Home;

/* The parts of a plan whose grid is cut: split/split.h; and what they do. run: makes steps, unless the status says that
 * this rank cannot make any; *seconds is what they took. leave: the
 * end of that, whatever it came to: see net_leave. close: gives the parts back. has_ranks: are there other
 * processes? is_lean: has no rank the whole grid? Then set_array gives an array to all parts of this rank, and restart
 * has their next run begin at step 0. */
typedef struct Split Split;
typedef struct SplitOps {
  StcStatus (*run)(StcPlan *p, StcStatus s, int64_t steps, double *seconds);
  StcStatus (*leave)(StcPlan *p, StcStatus s);
  void (*close)(StcPlan *p);
  bool (*has_ranks)(const StcPlan *p);
  bool (*is_lean)(const StcPlan *p);
  StcStatus (*set_array)(StcPlan *p, int array, const void *data, size_t bytes);
  StcStatus (*restart)(StcPlan *p);
} SplitOps;

/* A run that nobody waited for yet. On devices without streams `thread` makes it. */
typedef struct Background {
  bool pending, threaded;
  pthread_t thread;
  atomic_bool ended;
  int64_t steps, first, launches; /* asked for; the plan's counts before */
  StcStatus status;
  StcRunInfo info;
} Background;

struct StcPlan {
  StcProgram *program;
  Workspace w;
  Device device;
  Build *build;   /* NULL on ref */
  Module *module; /* the declarations; what ref runs */
  const char *schedule;
  Const *scalars; /* those of reductions change while it runs */
  int64_t points; /* of the grid */
  int32_t nslots;
  Slot *slots;
  int32_t *slot_of_field;  /* the slot that holds the field's present value; -1 none (temp) */
  int32_t *slot_of_buffer; /* the slot that a buffer of the module stands for now */
  int32_t *slot_of_array;  /* the slot of a launch-time array; -1 if no kernel uses it */
  bool *with_init;         /* by field: has it an init? Both of these are room for runs, kept from one to the next */
  void **memory;           /* by field and, behind those, by launch-time array: where it is, on ref and sim */
  int32_t *fixed;          /* the slot that is to hold the field whenever no run is under way; -1: any */
  Shown *left;             /* memory that slots have left and tensors may show still */
  Slot spare;              /* to exchange the values of two slots by */
  Home *homes;             /* of the program's declared fields */
  int32_t *owner;          /* for each field of the module: the declared field it belongs to, -1 if a pass made it */
  bool *given;             /* field set from outside */
  bool *component_given;   /* the same for each component of the declared fields */
  bool *array_given;
  bool *array_warned; /* of launch-time arrays too short for the steps; NULL: none yet */
  bool inits_done;
  bool once_done; /* what is computed once (Host.once) is as the fields are that it is made of, as far as the plan knows
                   */
  Recording *recordings;
  void *renewed;  /* launches that the device keeps for one time, NULL: none so far */
  bool no_replay; /* the device cannot */
  bool recording; /* launches are being kept, */
  bool follows;   /* and the last thing kept was a launch with none beside it */
  int64_t first;  /* the number of the first step: what was run before, elsewhere */
  int64_t done;   /* that and the steps run so far */
  int64_t launches;
  KernelTime *times;    /* of each kernel; NULL: they are not timed */
  const Reduction *met; /* whose condition ended this run; NULL none */
  bool wrong;           /* a reduction found a mistake in the program's values */
  bool evaluated;       /* the reductions have been evaluated after the steps done so far, as far as they were due */
  Watch *watches;       /* in order of call */
  Lending *lending;     /* NULL: nothing was lent yet */
  double compile_seconds;
  bool (*progress)(void *user, int64_t done, int64_t of);
  void *progress_user;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  Background back;
  Stop asked;         /* stc_plan_stop and, beside it, the context's run_stop */
  const Stop *stop;   /* what ends runs: that, or for a part that of its plan; NULL: the plan has made no run */
  bool torn;          /* a run was stopped within a step: until the plan begins anew its fields have no values */
  void **coordinates; /* by launch-time array: its elements if lists take coordinates from it (malloc) */
  int32_t **index;    /* by list of points: the cells of its field (malloc) */
  bool lists_filled;  /* since arrays were set */
  int64_t unseen;     /* what probes saw when fewer steps were done has been handed out, or is on its way: */
  Stage **sent;       /* by probe: where its series is while the device copies it; NULL: never needed so far */
  bool no_sending;    /* the device has no memory for these */
  int64_t sent_from, sent_to; /* the rows there became due after more and at most so many steps; sent_to -1: none are */
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;
  int64_t shift; /* steps to add to those for which probes' rows are handed out */
  Split *split;  /* NULL: the grid is whole, and so is split_ops */
  const SplitOps *split_ops;
  bool hollow;    /* it has no memory: another rank has the whole grid */
  bool dense;     /* rows of its fields are never padded, and it has no hidden fields */
  bool crowded;   /* nor has it any since there may be no memory for them */
  Ghosts *ghosts; /* of a part, on the simulator; else NULL */
  bool *closed;   /* by sequence: its kernels are not compiled; NULL: all are */
};

/* plan-late.c: */

/* Closes the sequences whose kernels are late; opens those that save `steps` steps from now enough launches, and has
 * their kernels compiled. */
void plan_close_late(StcPlan *p);
StcStatus plan_open_late(StcPlan *p, int64_t steps);
/* The first open sequence of the plan's that does not go beyond `left` steps, NULL: there is none. */
const HostSeq *plan_next_sequence(const StcPlan *p, int64_t left);

/* Is the plan without memory? Then says that it cannot give field `name` as a whole. (plan-data.c) */
bool plan_is_hollow(const StcPlan *p, const char *name);
/* For a plan whose grid is cut: inits, unless they have been run, and what is to be seen before the first step; the
 * reductions that are due now, and the watches. (plan-run.c) */
StcStatus plan_run_whole_grid(StcPlan *p);
StcStatus plan_evaluate(StcPlan *p);
/* How many time tiles to run before the caller hears of it again: twice `count` where the last time all `count` were
 * run (`ran`) in a twentieth of a second, else `count`. (plan-run.c) */
int64_t plan_next_count(int64_t count, int64_t ran, double seconds);
/* Notes the value of `r`, tells whoever watches the series, and whether it ends the run (Binding.reduced). (plan-run.c)
 */
void plan_take_value(void *user, const Reduction *r, int64_t step, Const value);
/* Hands out what the probes that are due now see of the fields as they are. (plan-points.c; whole modules: plan-run.c)
 */
StcStatus plan_see(StcPlan *p);
StcStatus plan_see_whole(StcPlan *p);
/* Is a watch to be called now? (plan-watch.c) */
bool plan_watch_is_due(const StcPlan *p);

/* Moves each field whose slot is fixed there. (plan-bind.c) */
StcStatus plan_settle(StcPlan *p);
/* plan-bind.c, for plan-vectors.c: would the component be bound to the array? The slot that it is in and stays in (NULL
 * after an error); copies a slot's values to memory as large, of the plan's device; waits until copies are there, and
 * until nobody works on the slots; lets a slot be in other memory, of `owner` (NULL: of the caller), whose deleter is
 * called when it is let go. */
StcStatus plan_check_array(StcPlan *p, int field, int component, const StcArray *array);
Slot *plan_fix_slot(StcPlan *p, int field, int component);
StcStatus plan_copy_slot(StcPlan *p, const Slot *slot, void *memory);
StcStatus plan_wait_copies(StcPlan *p);
void plan_put_slot(StcPlan *p, Slot *slot, void *memory, struct DLManagedTensor *owner);
/* A tensor of the memory of `slot`, which stays until the tensor is deleted; its lengths and strides (elements) are to
 * be filled in. NULL after an error. (plan-bind.c) */
struct DLManagedTensor *plan_tensor(StcPlan *p, Slot *slot, StcType type, int rank);
/* Whole fields of vectors: bound to an array (NULL: to memory of the plan's own), and as a tensor. (plan-vectors.c) */
StcStatus plan_bind_vector(StcPlan *p, int field, const StcArray *array, struct DLManagedTensor *owner);
StcStatus plan_vector_tensor(StcPlan *p, int field, struct DLManagedTensor **out);
/* Moves the components of a field of vectors, none of which is bound, to where one tensor shows them all, so that
 * tensors of its components need not be left behind for that. Other fields stay as they are. (plan-vectors.c) */
StcStatus plan_gather_vector(StcPlan *p, int field);
/* Gives back what the slot holds, unless tensors show it; what slots have left and no tensor shows, or with `all` the
 * rest of that, too. (plan-bind.c) */
void plan_release_slot(StcPlan *p, Slot *slot);
void plan_release_left(StcPlan *p, bool all);
/* Waits for a run in a thread of its own, unless that thread asks, a watch say; its status, told once. (plan-async.c)
 */
StcStatus plan_join(StcPlan *p);
/* Runs steps (< 0: the program's) and fills *info; without `wait` it does not wait for the device. (plan-run.c) */
StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info);
/* What a run that began after `first` steps and `launches` launches, and took so many seconds, came to. (plan-run.c) */
StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds);
/* The declared field number `field`; NULL after an error if there is none such, or it has no component number
 * `component`. (plan-data.c) */
const Declared *plan_find_declared(const StcPlan *p, int field, int component);
/* Reports that the fields have no values because a run was stopped within a step, if so. (plan-run.c) */
StcStatus plan_check_torn(StcPlan *p);
/* Notes that component `component` (-1: all) of the field has come from outside. (plan-data.c) */
void plan_mark_given(StcPlan *p, int field, int component);

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
/* Launches what probes see before the first step, unless that has been handed out. */
StcStatus plan_probe_before(StcPlan *p);
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

/* plan-rows.c: */

/* Bytes of the slot's values. */
size_t slot_bytes(const Slot *slot);
/* Copies all its values from a dense array of this computer, and to one; the slot has memory. */
StcStatus slot_put(StcPlan *p, const Slot *slot, const void *values);
StcStatus slot_fetch(StcPlan *p, const Slot *slot, void *values);
/* The same from what `fn` writes to `to`, the `n` bytes of the dense array from byte `from` on, row by row, for a slot
 * whose rows are padded. */
typedef void (*SlotSource)(void *user, size_t from, size_t n, char *to);
StcStatus slot_fill(StcPlan *p, const Slot *slot, SlotSource fn, void *user);
/* Is byte `at` of its memory no value's? */
bool slot_is_padding(const Slot *slot, size_t at);
/* Has the rows of all fields lie densely from now on, for somebody who works on the memory itself. Values stay; kernels
 * for any rows are launched then. */
StcStatus plan_make_dense(StcPlan *p);

/* plan-lend.c: */

/* May the values of the component (-1: the whole field) be lent? Makes room for `ahead` loans that steps are made
 * beside. */
bool plan_may_lend(StcPlan *p, int field, int component, int ahead);
/* Lends the values that it has now. A loan that *out is must be returned, also after an error, before the plan is
 * freed. */
StcStatus plan_lend(StcPlan *p, int field, int component, Loan **out);
/* For other threads: the values, on this computer, waits for them; NULL: *why they are not to be had. Gives them back.
 */
const void *loan_values(Loan *loan, const char **why);
void loan_return(Loan *loan);
/* Before anything is written to the slot's memory: if that is lent the slot gets other memory, with the same values
 * where they are a field's. */
StcStatus plan_before_write(StcPlan *p, Slot *slot);
void plan_free_loans(StcPlan *p);

/* How many steps may be made behind `done` of them until a watch is due: at most `left`. */
int64_t plan_steps_to_watch(const StcPlan *p, int64_t done, int64_t left);
/* stc_plan_watch; queued: `fn` takes values only in order with launches, so the device need not be done. */
StcStatus plan_watch(StcPlan *p, int64_t every, bool queued, StcWatch fn, void *user);
/* Calls the watches that are due now, if they have not been called yet. */
StcStatus plan_show(StcPlan *p);
/* Copies a launch-time array of `bytes` bytes out; zeros if no kernel uses it. */
StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes);
/* Has the plan, whose fields and arrays have been set, go on as if `step` steps were done and reductions evaluated. */
void plan_begin(StcPlan *p, int64_t step);
/* The latest value of a reduction, which may be changed; NULL if there is none of that name. */
Const *plan_reduction(StcPlan *p, const char *name);
/* Runs one sequence and counts its steps. */
StcStatus plan_sequence(StcPlan *p, const HostSeq *seq);
/* Runs the `n` launches and swaps at `op`. */
StcStatus plan_ops(StcPlan *p, int n, const HostOp *op);
/* Launches kernel `named`, or the one that suits the params better, in the lane of the device. */
StcStatus plan_launch_in(StcPlan *p, int named, int lane);
/* Makes up to `most` runs of the sequence by recordings, *made of them: none if the device has no such thing, or runs
 * differ, or it is not worthwhile. */
StcStatus plan_replay(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made);
void plan_forget_recordings(StcPlan *p);
/* Do runs of the sequence differ in nothing but the buffers? */
bool plan_is_steady(const StcPlan *p, const HostSeq *seq);
/* A plan with its code loaded, made for the grid that the `n` params give, but without params and memory. On success
 * *out is to be freed with stc_plan_free. */
StcStatus plan_prepare(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out);
/* stc_plan_new; `hollow`: without memory, for a rank that leaves the whole grid to another; `dense`: its rows are not
 * padded, and it has no hidden fields. */
StcStatus plan_new(StcProgram *program, const char *device, bool hollow, bool dense, int n, const char *const *defines,
                   StcPlan **out);
/* The program compiled to kernel IR for `d`, of which nothing but its facts is used, and a grid of the size that the
 * params give, about: made if there is none yet, and kept with the program, so that plan_prepare finds it. plain: for
 * rows that are not padded, without hidden fields. */
StcStatus program_build(StcProgram *p, const Device *d, bool plain, int n, const char *const *defines, Build **out);
/* Gives the plan new params, and memory for them in place of what it had. It is then as stc_plan_new makes it. */
StcStatus plan_reset(StcPlan *p, int n, const char *const *defines);
/* Gives the plan's memory back. */
void plan_release(StcPlan *p);
/* Sets all fields, but inputs with an init, and all launch-time arrays to random numbers (random_fill) that depend on
 * the seed, the name of what they are for and the place alone. Beyond the first RANDOM_PERIOD elements of a component
 * they repeat. */
StcStatus plan_randomize(StcPlan *p, uint64_t seed);
enum { RANDOM_PERIOD = 1048573 };
/* The blocks of `k` along each dimension under the plan's scalars, checked against the target's limits. */
StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]);
/* Do the steps of the program depend on their numbers? *what is the word that says so: "step" or "every". */
bool program_counts_steps(const StcProgram *p, const char **what);
/* Warns of launch-time arrays indexed by `step` that have too few elements for `steps` more steps. */
void plan_check_steps(StcPlan *p, int64_t steps);
/* Notes that another plan of the same run has said so. */
void plan_warned(StcPlan *p);

#endif
