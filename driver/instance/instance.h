/* driver/instance/instance.h: plans (StcPlan): a program on a device with params and memory.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   a plan by itself, and who is told of it:
 *     plan-ready.c    may its values be asked for?
 *     plan-edges.c    masks by which reads beyond edges go
 *     plan-fields.c   what its fields and arrays are
 *     plan-build.c    the program compiled for its device and params
 *     plan-late.c     sequences whose kernels are compiled late, where a run makes enough of them
 *     plan-watch.c    callbacks that look at fields while a plan runs
 *     plan-reduced.c  values of reductions, told at once or looked at in the end
 *     plan-rounds.c   what is told of the repeats within steps
 *     kept/plan-kept.c  launches that the device keeps, given back (kept/kept.h)
 *   the memory of fields, and whose it is (slots.h):
 *     plan-rows.c     rows that lie apart: their values in and out
 *     plan-lend.c     values lent to a thread that writes them to files
 *     plan-slots.c    which slot stands for what, and slots given back
 *   its values, in and out:
 *     plan-data.c     fields and arrays
 *     plan-frames.c   fields that get frames of a series while it runs
 *     plan-uploads.c  frames on their way to the device while it makes steps
 *     plan-bind.c     fields in memory of the caller's; DLPack (dlpack.h)
 *     plan-vectors.c  whole fields of vectors as one array
 *     plan-state.c    what else a run needs that continues elsewhere
 *     plan-points.c   lists of points, the rows that probes leave
 *     plan-params.c   params with other values between two runs
 *     plan-steps.c    runs that begin at a later step, arrays with an element a step
 *   its launches:
 *     plan-launch.c   sequences of launches
 *     kept/plan-replay.c kept/plan-loops.c kept/plan-batch.c  those that the device keeps and makes in one go
 *     plan-idle.c     kernels that have nothing to do
 *     plan-init.c     what is run before the first step, and once
 *     plan-whole.c    runs on devices that run whole modules
 *     plan-see.c      what probes see of fields as they are
 *   its runs (runner.h):
 *     plan-run.c      the time loop of Algorithm 5, reductions between its steps
 *     plan-async.c    runs that nobody waits for, streams and events
 *   the whole:
 *     instance.c      making a plan: checks and memory
 *   gradient/       gradients: see gradient.h there
 */
#ifndef STC_DRIVER_PLAN_H
#define STC_DRIVER_PLAN_H

#include "driver/device/device.h"
#include "driver/instance/runner.h"
#include "driver/instance/slots.h"

/* Where a declared field is in the plan's module: in field `field`, packed if that is of composite type, else with its
 * components in the fields from there on. */
typedef struct Home {
  int field;
  bool packed;
} Home;

/* The program's declared fields and its arrays in the plan's module, and which of them came from outside. */
typedef struct Bindings {
  Home *homes;           /* of the program's declared fields */
  int32_t *owner;        /* for each field of the module: the declared field it belongs to, -1 if a pass made it */
  bool *with_init;       /* by field: has it an init? */
  bool *given;           /* field set from outside */
  bool *component_given; /* the same for each component of the declared fields */
  bool *array_given;
  bool *array_warned;  /* of launch-time arrays too short for the steps; NULL: none yet */
  bool no_step_arrays; /* it is known that none has an element a step */
  bool values_made;    /* have the arrays of role ARRAY_VALUES what the params make of them? */
} Bindings;

/* The parts of a plan whose grid is cut: split/split.h; and what they do. run: makes steps, unless the status says that
 * this rank cannot make any; *seconds is what they took. leave: the
 * end of that, whatever it came to: see net_leave. close: gives the parts back. has_ranks: are there other
 * processes? is_lean: has no rank the whole grid? Then set_array gives an array to all parts of this rank, and restart
 * has their next run begin at step 0, put_frame gives its parts here what they have of a field's values, which are
 * whole at `data`, and copy_frame has each of them copy field `from` to field `to`. like: a plan of program `q` on the
 * same devices, cut in the same way. */
typedef struct Split Split;
typedef struct SplitOps {
  StcStatus (*run)(StcPlan *p, StcStatus s, int64_t steps, double *seconds);
  StcStatus (*leave)(StcPlan *p, StcStatus s);
  void (*close)(StcPlan *p);
  bool (*has_ranks)(const StcPlan *p);
  bool (*is_lean)(const StcPlan *p);
  StcStatus (*set_array)(StcPlan *p, int array, const void *data, size_t bytes);
  StcStatus (*restart)(StcPlan *p);
  StcStatus (*put_frame)(StcPlan *p, int field, const void *data);
  StcStatus (*copy_frame)(StcPlan *p, int from, int to);
  StcStatus (*like)(const StcPlan *p, StcProgram *q, int n, const char *const *defines, StcPlan **out);
} SplitOps;

/* A plan: what it is of, its memory and which values came from outside, its time loop, and its parts if the grid is
 * cut. */
struct StcPlan {
  StcProgram *program;
  Workspace w;
  Device device;
  Build *build;   /* NULL on ref */
  Module *module; /* the declarations; what ref runs */
  const char *schedule;
  double compile_seconds;
  bool awaits_runs; /* kernels are compiled when a run needs them, not before */
  Const *scalars;   /* those of reductions change while it runs */
  int64_t points;   /* of the grid */
  PlanMemory memory;
  Bindings bound;
  TimeLoop run;
  Points lists;
  Observers observers;
  Background back;
  struct FrameSeries *frames; /* by declared field: where its frames come from; NULL: none have any */
  struct Gradient *gradient;  /* the last one, NULL: there is none (gradient.h) */
  void (*free_gradient)(struct Gradient *g);
  char *scratch; /* the folder for its snapshots (malloc), NULL: none */
  Split *split;  /* NULL: the grid is whole, and so is split_ops */
  const SplitOps *split_ops;
  bool facade;    /* of a grid that is cut: it has no memory, since another rank has the whole grid, or none */
  Ghosts *ghosts; /* of a part, on the simulator; else NULL */
};

/* The slot that holds the present value of a field of the plan's module, that of a launch-time array, NULL if it has
 * none; that of a buffer of its kernels. */
static inline Slot *field_slot(const StcPlan *p, int field) {
  return p->memory.of_field[field] < 0 ? NULL : &p->memory.slots[p->memory.of_field[field]];
}
static inline Slot *array_slot(const StcPlan *p, int array) {
  return p->memory.of_array[array] < 0 ? NULL : &p->memory.slots[p->memory.of_array[array]];
}
static inline Slot *buffer_slot(const StcPlan *p, int buffer) { return &p->memory.slots[p->memory.of_buffer[buffer]]; }

/* ---------------------------------------------------------------- making plans: instance.c */

/* A plan with its code loaded, made for the grid that the `n` params give, but without params and memory. On success
 * *out is to be freed with stc_plan_free. */
StcStatus plan_prepare(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out);
/* The same with dense rows, and without hidden fields; bare: its kernels are not loaded; like: a plan that it is made
 * exactly as, whose kernels it launches, and which must be there as long as it launches any (NULL: it has its own). */
StcStatus plan_prepare_turn(StcProgram *program, const char *device, int n, const char *const *defines, bool bare,
                            const StcPlan *like, StcPlan **out);
/* A plan as stc_plan_new makes it, if it takes no more than `memory` bytes of the device and is not to be cut (`cut`);
 * else one whose memory is this computer's, where the device's kernels reach it, with what inits and reductions need of
 * it, and no more: parts make its steps. */
StcStatus plan_new_within(StcProgram *program, const char *device, double memory, bool cut, int n,
                          const char *const *defines, StcPlan **out);
/* stc_plan_new, unless the fields may not fit the device, with what else kernels need, and plan_new_within may help:
 * then *room is what the device has, else 0, and STC_MEMORY comes back without a message. */
StcStatus plan_new_fitting(StcProgram *program, const char *device, int n, const char *const *defines, double *room,
                           StcPlan **out);
/* stc_plan_new; `facade`: without memory, for a rank that leaves the whole grid to another; `dense`: its rows are not
 * padded, and it has no hidden fields. */
StcStatus plan_new(StcProgram *program, const char *device, bool facade, bool dense, int n, const char *const *defines,
                   StcPlan **out);
/* Gives the plan new params, and memory for them in place of what it had. It is then as stc_plan_new makes it. */
StcStatus plan_reset(StcPlan *p, int n, const char *const *defines);
/* Gives the plan's memory back. */
void plan_release(StcPlan *p);

/* ---------------------------------------------------------------- its frames: plan-frames.c */

/* Has fields that are series of frames those of the step that comes next, if they have not. Between steps they have
 * those of the last one. */
StcStatus plan_next_frames(StcPlan *p);
/* Are there enough of them for `steps` steps from here on? An error if not. */
StcStatus plan_check_frames(StcPlan *p, int64_t steps);
/* Copies the values of field `from` to field `to`, which is like it, within the device's memory. */
StcStatus plan_copy_frame(StcPlan *p, int from, int to);
/* Has those that others may have written meanwhile set again. */
void plan_doubt_frames(StcPlan *p);
/* Has the series, which the plan keeps when it begins anew, begin anew, too. */
void plan_restart_frames(StcPlan *p);
/* Does declared field `field` take its frames, or those ahead, from a series? */
bool plan_has_series(const StcPlan *p, int field);
/* Declared field `field` was set by itself, and has no frames from elsewhere any more; none has. Gives back the memory
 * for that. */
void plan_drop_frames(StcPlan *p, int field);
void plan_free_frames(StcPlan *p);
/* The series of a field gives the same frames whenever it is asked for them. */
void plan_frames_last(StcPlan *p, int field);

/* ---------------------------------------------------------------- frames on their way: plan-uploads.c */

/* Who writes frame number `number` of a series (StcFrame). */
typedef struct FrameWriter {
  StcFrame fn;
  void *user;
} FrameWriter;
typedef struct Uploads Uploads;
/* Has declared field `field` the frame, behind the steps that the device was given so far, while nobody waits for
 * these. The first `keep` frames come again: those for which there is room stay on the device. *uploads: NULL at
 * first. Not *done: the device, or the plan, cannot, and the field is as it was. */
StcStatus plan_upload(StcPlan *p, Uploads **uploads, int field, const FrameWriter *w, int64_t number, int64_t keep,
                      bool *done);
/* Frames that stay on the device may be others by now; gives all back. */
void plan_doubt_uploads(Uploads *u);
void plan_free_uploads(StcPlan *p, Uploads *u);

/* ---------------------------------------------------------------- its code: plan-build.c */

/* The program compiled to kernel IR for `d`, of which nothing but its facts is used, and a grid of the size that the
 * params give, about: made if there is none yet, and kept with the program, so that plan_prepare finds it. plain: for
 * rows that are not padded, without hidden fields. */
StcStatus program_build(StcProgram *p, const Device *d, bool plain, int n, const char *const *defines, Build **out);
/* Compiles the program for the device and the params (the reference runs it as read), and loads it. Where kernels are
 * loaded when they are needed and the params come later (not `first`), those that most params need are. */
StcStatus plan_make_code(StcPlan *p, bool first, int n, const char *const *defines);
/* Has the device make the kernels ready that the plan launches under these scalars (NULL: not known). */
StcStatus plan_need_kernels(StcPlan *p, const Const *scalars);
/* The same, under its own scalars, but of its sequences of steps only for those that are `sequences`, by number. */
StcStatus plan_need_sequences(StcPlan *p, const bool *sequences);

/* ---------------------------------------------------------------- may they be asked for? plan-ready.c */

/* Waits for a run in a thread of its own, unless that thread asks, a watch say; its status, told once. */
StcStatus plan_join(StcPlan *p);
/* Reports that the fields have no values because a run was stopped within a step, if so. */
StcStatus plan_check_torn(StcPlan *p);
/* Is the plan a facade? Then says that it cannot give field `name` as a whole. */
bool plan_is_facade(const StcPlan *p, const char *name);

/* ---------------------------------------------------------------- what its fields are: plan-fields.c */

/* The declared field number `field`; NULL after an error if there is none such, or it has no component number
 * `component`. */
const Declared *plan_find_declared(const StcPlan *p, int field, int component);
/* Notes that component `component` (-1: all) of the field has come from outside. */
void plan_mark_given(StcPlan *p, int field, int component);

/* ---------------------------------------------------------------- reads beyond edges: plan-edges.c */

/* Is field `f` of `m` what reads beyond the edges of a field with a mask go by: NAME.where (check_mask.c)? */
bool field_is_edges(const Module *m, int f);
/* The field whose reads beyond edges go by a mask as it was before the first step (frontend/check/check_mask.c: the
 * hidden field NAME.where, which an init makes of the mask named `mask`); NULL: there is none. */
const char *plan_looked_at(const StcPlan *p, const char *mask);
/* Reports that declared field `field` is a mask by which reads beyond another field's edges go, and the plan has run
 * its inits, which have made what these look at. */
StcStatus plan_check_mask_set(StcPlan *p, int field);
/* Which fields are as given if inits run again to make alone what reads beyond edges go by (NAME.where), since others
 * than the plan may have changed a mask; NULL: none may. Until the next call. */
const bool *plan_edges_given(const StcPlan *p);

/* ---------------------------------------------------------------- its values: plan-data.c plan-state.c */

/* Copies all of the field in, as stc_plan_set does, without noting that it came from outside. */
StcStatus plan_put_field(StcPlan *p, int field, const void *data, size_t bytes);
/* Copies a launch-time array of `bytes` bytes out; zeros if no kernel uses it. */
StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes);
/* Gives array `as` of plan `to` what array `array` of plan `from` is, within the device's memory; *handed false: that
 * cannot be, since it is not there, or something on this computer goes by it. */
StcStatus plan_hand_array(StcPlan *from, int array, StcPlan *to, int as, bool *handed);
/* The latest value of a reduction, which may be changed; NULL if there is none of that name. */
Const *plan_reduction(StcPlan *p, const char *name);
/* Sets all fields, but inputs with an init, and all launch-time arrays to random numbers (random_fill) that depend on
 * the seed, the name of what they are for and the place alone. Beyond the first RANDOM_PERIOD elements of a component
 * they repeat. */
StcStatus plan_randomize(StcPlan *p, uint64_t seed);
enum { RANDOM_PERIOD = 1048573 };

#endif
