/* driver/instance/instance.h: plans (StcPlan): a program on a device with params and memory.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   a plan by itself, and its observers:
 *     plan-ready.c    may its values be read?
 *     plan-edges.c    masks that determine reads beyond edges
 *     plan-fields.c   descriptions of its fields and arrays
 *     plan-build.c    the program compiled for its device and params
 *     plan-late.c     sequences whose kernels are compiled only if a run uses them often enough
 *     plan-watch.c    callbacks that see fields while a plan runs
 *     plan-reduced.c  values of reductions, reported at once or at the end
 *     plan-rounds.c   reports on the repeats within steps
 *     kept/plan-kept.c  frees launches that the device has recorded (kept/kept.h)
 *   the memory of fields, and its ownership (slots.h):
 *     plan-rows.c     padded rows: copying their values in and out
 *     plan-lend.c     values lent to a thread that writes them to files
 *     plan-slots.c    the assignment of slots, and freeing them
 *   its values, in and out:
 *     plan-data.c     fields and arrays
 *     plan-frames.c   fields that get frames of a series while it runs
 *     plan-uploads.c  frames that are copied to the device while it makes steps
 *     plan-bind.c     fields in the caller's memory; DLPack (dlpack.h)
 *     plan-vectors.c  whole fields of vectors as one array
 *     plan-state.c    the other state that a run needs to continue elsewhere
 *     plan-points.c   lists of points, the rows of probes
 *     plan-params.c   params that change between two runs
 *     plan-steps.c    runs that begin at a later step, arrays with an element for each step
 *   its launches:
 *     plan-launch.c   sequences of launches
 *     kept/plan-replay.c kept/plan-loops.c kept/plan-batch.c  those that the device records and replays
 *     plan-idle.c     kernels that have nothing to do
 *     plan-init.c     the work before the first step, and the `once` sequence
 *     plan-whole.c    runs on devices that run whole modules
 *     plan-see.c      probes of the present fields
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

/* The place of a declared field in the plan's module: field `field`, packed if that has composite type; else its
 * components are the fields from there on. */
typedef struct Home {
  int field;
  bool packed;
} Home;

/* The place of the program's declared fields and arrays in the plan's module, and which of them the user has set. */
typedef struct Bindings {
  Home *homes;           /* by declared field of the program */
  int32_t *owner;        /* by field of the module: the declared field to which it belongs, -1 if a pass made it */
  bool *with_init;       /* by field: has it an init? */
  bool *given;           /* by field: has the user set it? */
  bool *component_given; /* the same, by component of the declared fields */
  bool *array_given;
  bool *array_warned;  /* by launch-time array: it was reported that it is too short for the steps; NULL: none was */
  bool no_step_arrays; /* no array has an element for each step */
  bool values_made;    /* have the arrays of role ARRAY_VALUES been computed from the present params? */
} Bindings;

/* The parts of a plan whose grid is cut (split/split.h), and the functions on them. run: makes steps, unless the status
 * is an error of this rank; *seconds: their time. leave: ends an operation, with its status: see net_leave. close:
 * frees the parts. has_ranks: are there other processes? is_lean: has no rank the whole grid? If so: set_array gives an
 * array to all parts of this rank; restart lets their next run begin at step 0; put_frame gives its parts their cells
 * of a field whose values are whole at `data`; copy_frame lets each of them copy field `from` to field `to`. like:
 * makes a plan of program `q` on the same devices, cut in the same way. */
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

/* A plan: its program and params, its memory and the values that the user has set, its time loop, and its parts if the
 * grid is cut. */
struct StcPlan {
  StcProgram *program;
  Workspace w;
  Device device;
  Build *build;   /* NULL on ref */
  Module *module; /* the declarations; on ref it is what runs */
  const char *schedule;
  double compile_seconds;
  bool awaits_runs; /* kernels are compiled only when a run needs them */
  Const *scalars;   /* the values of reductions change while it runs */
  int64_t points;   /* number of points of the grid */
  PlanMemory memory;
  Bindings bound;
  TimeLoop run;
  Points lists;
  Observers observers;
  Background back;
  struct FrameSeries *frames; /* by declared field: the source of its frames; NULL: there are none */
  struct Gradient *gradient;  /* the last one; NULL: there is none (gradient.h) */
  void (*free_gradient)(struct Gradient *g);
  char *scratch; /* the folder for its snapshots (malloc); NULL: none */
  Split *split;  /* NULL: the grid is whole, and split_ops is NULL */
  const SplitOps *split_ops;
  bool facade;    /* with a cut grid: it has no memory, because another rank has the whole grid, or none has it */
  Ghosts *ghosts; /* for a part, on the simulator; else NULL */
};

/* The slot with the present value of a field of the plan's module; of a launch-time array, NULL if it has none; of a
 * buffer of its kernels. */
static inline Slot *field_slot(const StcPlan *p, int field) {
  return p->memory.of_field[field] < 0 ? NULL : &p->memory.slots[p->memory.of_field[field]];
}
static inline Slot *array_slot(const StcPlan *p, int array) {
  return p->memory.of_array[array] < 0 ? NULL : &p->memory.slots[p->memory.of_array[array]];
}
static inline Slot *buffer_slot(const StcPlan *p, int buffer) { return &p->memory.slots[p->memory.of_buffer[buffer]]; }

/* ---------------------------------------------------------------- making plans: instance.c */

/* Makes a plan with its code loaded, for the grid that results from the `n` params, but without params and memory. On
 * success *out must be freed with stc_plan_free. */
StcStatus plan_prepare(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out);
/* The same with dense rows, and without hidden fields. bare: its kernels are not loaded. like: a plan that is made in
 * exactly the same way; the new plan launches its kernels, and it must outlive the new one's launches (NULL: the plan
 * has kernels of its own). */
StcStatus plan_prepare_turn(StcProgram *program, const char *device, int n, const char *const *defines, bool bare,
                            const StcPlan *like, StcPlan **out);
/* Makes the same plan as stc_plan_new if that needs at most `memory` bytes of the device and the grid will not be cut
 * (`cut`). Else makes a plan in host memory that the device's kernels can access, with only the memory that inits and
 * reductions need: parts make its steps. */
StcStatus plan_new_within(StcProgram *program, const char *device, double memory, bool cut, int n,
                          const char *const *defines, StcPlan **out);
/* stc_plan_new, except when the fields, with the other memory that kernels need, may not fit the device and
 * plan_new_within may help: then *room is the device's memory, and the result is STC_MEMORY without a message. Else
 * *room is 0. */
StcStatus plan_new_fitting(StcProgram *program, const char *device, int n, const char *const *defines, double *room,
                           StcPlan **out);
/* stc_plan_new. facade: without memory, for a rank that leaves the whole grid to another one. dense: its rows are not
 * padded, and it has no hidden fields. */
StcStatus plan_new(StcProgram *program, const char *device, bool facade, bool dense, int n, const char *const *defines,
                   StcPlan **out);
/* Gives the plan new params, and new memory for them. Then it is as stc_plan_new makes it. */
StcStatus plan_reset(StcPlan *p, int n, const char *const *defines);
/* Frees the plan's memory. */
void plan_release(StcPlan *p);

/* ---------------------------------------------------------------- its frames: plan-frames.c */

/* Gives fields that are series of frames those of the next step, unless they have them. Between steps they have those
 * of the last one. */
StcStatus plan_next_frames(StcPlan *p);
/* Reports an error if there are not enough frames for `steps` more steps. */
StcStatus plan_check_frames(StcPlan *p, int64_t steps);
/* Copies the values of field `from` to field `to`, which has the same shape, within the device's memory. */
StcStatus plan_copy_frame(StcPlan *p, int from, int to);
/* Lets frames be set again that others may have overwritten. */
void plan_doubt_frames(StcPlan *p);
/* Lets the series, which the plan keeps when it begins again, begin again, too. */
void plan_restart_frames(StcPlan *p);
/* Does declared field `field` get its frames, or those ahead, from a series? */
bool plan_has_series(const StcPlan *p, int field);
/* Declared field `field` was set by itself: removes its series and frees the memory for it. */
void plan_drop_frames(StcPlan *p, int field);
void plan_free_frames(StcPlan *p);
/* The series of a field yields the same frames whenever it is asked for them. */
void plan_frames_last(StcPlan *p, int field);

/* ---------------------------------------------------------------- frames in flight: plan-uploads.c */

/* The function that writes frame number `number` of a series (StcFrame). */
typedef struct FrameWriter {
  StcFrame fn;
  void *user;
} FrameWriter;
typedef struct Uploads Uploads;
/* Gives declared field `field` the frame, in order with the steps issued so far, without waiting for them. The first
 * `keep` frames are used again: those for which there is room stay on the device. *uploads: NULL at first. If *done is
 * false, the device or the plan does not support this, and the field is unchanged. */
StcStatus plan_upload(StcPlan *p, Uploads **uploads, int field, const FrameWriter *w, int64_t number, int64_t keep,
                      bool *done);
/* Frames that stay on the device may no longer be valid: frees everything. */
void plan_doubt_uploads(Uploads *u);
void plan_free_uploads(StcPlan *p, Uploads *u);

/* ---------------------------------------------------------------- its code: plan-build.c */

/* The program compiled to kernel IR for `d`, whose properties are all that is used, and for a grid of about the size
 * that results from the params. It is made if it does not exist, and kept with the program, so that plan_prepare finds
 * it. plain: for rows that are not padded, without hidden fields. */
StcStatus program_build(StcProgram *p, const Device *d, bool plain, int n, const char *const *defines, Build **out);
/* Compiles the program for the device and the params (the reference runs it as read), and loads it. If kernels are
 * loaded on demand and the params come later (not `first`), loads those that most params need. */
StcStatus plan_make_code(StcPlan *p, bool first, int n, const char *const *defines);
/* Lets the device prepare the kernels that the plan launches under these scalars (NULL: not known). */
StcStatus plan_need_kernels(StcPlan *p, const Const *scalars);
/* The same under its own scalars; of its sequences of steps only for those that are marked in `sequences`, by number.
 */
StcStatus plan_need_sequences(StcPlan *p, const bool *sequences);

/* ---------------------------------------------------------------- may its values be read? plan-ready.c */

/* Waits for a run in a thread of its own, unless that thread itself calls this, in a watch for example; returns the
 * run's status, once. */
StcStatus plan_join(StcPlan *p);
/* Reports an error if the fields have no values because a run was stopped within a step. */
StcStatus plan_check_torn(StcPlan *p);
/* Is the plan a facade? Then reports that it cannot provide field `name` as a whole. */
bool plan_is_facade(const StcPlan *p, const char *name);

/* ---------------------------------------------------------------- descriptions of its fields: plan-fields.c */

/* The declared field number `field`; NULL after an error if it does not exist, or has no component number `component`.
 */
const Declared *plan_find_declared(const StcPlan *p, int field, int component);
/* Records that the user has set component `component` (-1: all) of the field. */
void plan_mark_given(StcPlan *p, int field, int component);

/* ---------------------------------------------------------------- reads beyond edges: plan-edges.c */

/* Is field `f` of `m` the field NAME.where, by which reads beyond the edges of a field with a mask are decided
 * (check_mask.c)? */
bool field_is_edges(const Module *m, int f);
/* A field whose reads beyond edges are decided by a mask as it was before the first step (frontend/check/check_mask.c:
 * the hidden field NAME.where, which an init computes from the mask named `mask`); NULL: there is none. */
const char *plan_looked_at(const StcPlan *p, const char *mask);
/* Reports an error if declared field `field` is such a mask, and the plan has already run the inits that read it. */
StcStatus plan_check_mask_set(StcPlan *p, int field);
/* The fields that count as given when inits run again only to compute the fields NAME.where, because others than the
 * plan may have changed a mask; NULL: none may. Valid until the next call. */
const bool *plan_edges_given(const StcPlan *p);

/* ---------------------------------------------------------------- its values: plan-data.c plan-state.c */

/* Copies all of the field in, like stc_plan_set, but does not record that the user has set it. */
StcStatus plan_put_field(StcPlan *p, int field, const void *data, size_t bytes);
/* Copies a launch-time array of `bytes` bytes out; zeros if no kernel uses it. */
StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes);
/* Copies array `array` of plan `from` to array `as` of plan `to`, within the device's memory. *handed false: that is
 * not possible, because the array is not there, or something on the host depends on it. */
StcStatus plan_hand_array(StcPlan *from, int array, StcPlan *to, int as, bool *handed);
/* The present value of a reduction, for reading or writing; NULL if there is none of that name. */
Const *plan_reduction(StcPlan *p, const char *name);
/* Sets all fields, except inputs with an init, and all launch-time arrays to random numbers (random_fill) that depend
 * only on the seed, the name of field or array, and the position. After the first RANDOM_PERIOD elements of a component
 * they repeat. */
StcStatus plan_randomize(StcPlan *p, uint64_t seed);
enum { RANDOM_PERIOD = 1048573 };

#endif
