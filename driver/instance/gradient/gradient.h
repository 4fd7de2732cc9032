/* driver/instance/gradient/gradient.h: gradients of plans.
 *
 *   plan-gradient.c  stc_plan_gradient: its arguments and results; on the reference it uses the tape
 *   plan-backward.c  elsewhere the backward program (passes/transpose), step by step
 *   plan-derivatives.c  the results of that run
 *   plan-saved.c     the values of fields at each step: saved, or recomputed from snapshots
 *   plan-keep.c      copies of fields: on the device, or on the host
 *   plan-scratch.c   a file for copies for which there is no memory
 *   plan-pull.c      the gradient with given derivatives with respect to the final fields: for the plan of another
 * program
 */
#ifndef STC_DRIVER_GRADIENT_H
#define STC_DRIVER_GRADIENT_H

#include "driver/instance/instance.h"
#include "passes/transpose/transpose.h"

/* A backward program and a plan of it, kept from one gradient to the next (plan-backward.c). */
typedef struct Backward Backward;
/* The program for given derivatives, and a plan of it, kept likewise (plan-pull.c). */
typedef struct Pull Pull;
/* The gradient of a plan: its value, and the derivatives by Module.by of the program's source, n[i] numbers each: at
 * single[i] as f32, else at of[i] (malloc; both NULL: zeros). room[i]: unused memory for n[i] f32 numbers (malloc, or
 * NULL). A plan without a gradient so far has NULL. */
struct Gradient {
  double value;
  int count;
  int64_t *n;
  double **of;
  float **single, **room;
  bool done;   /* they have been computed */
  bool pulled; /* by stc_plan_pull, with respect to its arguments and not to Module.by */
  Backward *backward;
  Pull *pull;
};
/* Frees it; StcPlan.free_gradient of a plan that has a gradient. */
void gradient_free(struct Gradient *g);

/* A declared field, or its component number `component` (-1: it is a scalar), and its bytes. */
typedef struct SavedPart {
  int field, component;
  int64_t bytes;
} SavedPart;
/* The part of the program for the field that the backward module names `name`, such as v.0. False if there is none. */
bool gradient_part(StcPlan *p, const char *name, SavedPart *out);
/* Copies its values out and in. */
StcStatus part_get(StcPlan *p, const SavedPart *part, void *data);
StcStatus part_set(StcPlan *p, const SavedPart *part, const void *data);

/* plan-backward.c: computes the gradient of `steps` steps into *g, which is allocated. memory: the bytes that it may
 * use besides the plan's own (0: as many as it needs). */
StcStatus gradient_backward(StcPlan *p, int64_t steps, int64_t memory, struct Gradient *g);

/* The state of the computation: the plan, its backward program and a plan of that, and their properties; fields that
 * were given, and their values; sums[i * (steps + 1) + n]: the value of loss number i when n steps were done. Also the
 * plan's observers, which are replaced meanwhile. */
typedef struct Back {
  StcPlan *p, *back;
  StcProgram *program;
  AdjointFacts facts;
  const char *text;
  int64_t steps;
  int ngiven;
  int *given;
  char **values;
  int nscalars;
  void **scalars; /* by kept scalar: its values, if the user has set them (malloc), else NULL */
  double *sums;
  struct Gradient *g;
  Observers observers;
} Back;

/* plan-derivatives.c (guarded parts: arg is the Back). derivatives_take: copies the results of the run to b->g.
 * derivatives_add_starts: adds those of a run that undoes inits. derivatives_add_elements: adds the derivatives with
 * respect to elements of launch-time arrays that one step leaves. */
StcStatus derivatives_take(void *arg);
StcStatus derivatives_add_starts(void *arg);
StcStatus derivatives_add_elements(Back *b);
/* Field `name` of the backward plan as *n doubles, which the caller frees. NULL after an error. */
double *derivatives_field(Back *b, const char *name, int64_t *n);

void backward_free(Backward *b);
void pull_free(Pull *k);

/* plan-gradient.c. gradient_numbers: the derivatives for number `i` as doubles, zeros if there are none.
 * gradient_singles: room for them as f32, in place of the old ones. NULL: there is no memory. */
double *gradient_numbers(struct Gradient *g, int i);
float *gradient_singles(struct Gradient *g, int i);
/* Can the plan, in its present state, have a gradient? Reports the reason if not. */
StcStatus gradient_may_be(StcPlan *p);
/* plan-backward.c. gradient_defines: writes the plan's params as "NAME=VALUE" to `defines`, which has room for all
 * scalars; returns their number. gradient_joined: the texts, a line each, in new memory (malloc). */
int gradient_defines(StcPlan *p, const char **defines);
char *gradient_joined(int n, const char *const *texts);
/* Makes a plan of the program on the plan's devices, with its grid cut like the plan's. */
StcStatus gradient_plan(const StcPlan *p, StcProgram *program, int n, const char *const *defines, StcPlan **out);
/* Gives plan `to` the launch-time arrays of plan `from` that it also has. */
StcStatus gradient_arrays(StcPlan *from, StcPlan *to);

/* Gives plan `to` the scalars of plan `from` that the user has set. */
StcStatus gradient_scalars(StcPlan *from, StcPlan *to);

/* Blocks of a plan's device that held copies, for the next gradient: to allocate many gigabytes takes as long as many
 * steps. bytes: of all blocks. */
enum { KEEPER_BLOCKS = 64 };
typedef struct SpareBlocks {
  int n;
  void *blocks[KEEPER_BLOCKS];
  size_t sizes[KEEPER_BLOCKS];
  double bytes;
} SpareBlocks;
void spare_blocks_free(StcPlan *p, SpareBlocks *spare);

/* A slot of a plan that uses the memory of a copy for now, and its own memory. */
typedef struct LentSlot {
  Slot *slot;
  void *own;
} LentSlot;
typedef struct LentSlots {
  int n;
  LentSlot *of;
} LentSlots;

/* plan-keep.c: makes copies of `n` parts of a plan. A copy has `image` bytes on the device, with slots in their memory
 * layout, and `apart` bytes on the host for parts that are no slots; or `dense` bytes on the host. bytes: the most that
 * one copy needs. left: how much memory of the device, and of the host, may still be used. Device memory is allocated
 * in blocks for several copies, because allocation is slow: block i has sizes[i] bytes; the last one has room for
 * `more` copies from `next` on.
 *
 * folder: NULL, or the folder of a file for the copies that are made after `in_memory` others; `made`: their total
 * number; `filed`: those in `file`, which is open if it is not 0. lent: the slots that use memory of copies; writing:
 * those of its own plan to which steps write there. spare: blocks come from there and go back there; NULL: to the
 * device. */
typedef struct Keeper {
  StcPlan *p;
  int n;
  SavedPart *parts;
  int64_t image, apart, dense, bytes;
  double left, left_here;
  const char *folder;
  int64_t in_memory, made, filed;
  int file;
  int nblocks, more;
  void *blocks[KEEPER_BLOCKS];
  size_t sizes[KEEPER_BLOCKS];
  char *next;
  LentSlots lent, writing;
  SpareBlocks *spare;
} Keeper;
/* A copy; all zeros: there is none yet. pinned: the device copies to and from `here` at full speed. place: its number
 * in the file, from 1 on; 0: it is not there. */
typedef struct KeptCopy {
  void *image;
  char *here;
  int64_t place;
  bool pinned;
} KeptCopy;
/* Copies the part of plan `from` to that of plan `to`, on the device if their layouts are equal. */
StcStatus part_hand(StcPlan *from, const SavedPart *part, StcPlan *to, const SavedPart *as);
/* keeper_make: makes a keeper of the parts, which it then owns. keeper_free: frees it, and the device's memory of all
 * its copies. */
void keeper_make(StcPlan *p, int n, SavedPart *parts, SpareBlocks *spare, Keeper *out);
void keeper_free(Keeper *k);
/* kept_take: makes *x a copy of the plan's present parts, at most `of` of such; on the device it is complete when the
 * device has been waited for. kept_give: copies it to parts of the same or another plan on the same device, except
 * where parts[i].field is -1. kept_free: frees its host memory. */
StcStatus kept_take(Keeper *k, KeptCopy *x, int64_t of);
/* If the next step, which `seq` makes, sets all points of slots that then hold parts of the keeper's plan, and these
 * contain nothing else: lets the slots use the memory of *x until kept_lend_end, so that kept_take need not copy them.
 * kept_lend_end: returns the slots to their own memory; `copy`: with the present values of fields, in order with
 * launches. */
StcStatus kept_lend_next(Keeper *k, const HostSeq *seq, const KeptCopy *x);
StcStatus kept_lend_end(Keeper *k, bool copy);
/* kept_make_room: allocates memory for *x, which kept_take does otherwise. kept_is_queued: is all of it on the device,
 * so that it is made, or (`to` not NULL) given to `parts` of `to`, in order with launches and without waiting? */
StcStatus kept_make_room(Keeper *k, KeptCopy *x, int64_t of);
bool kept_is_queued(const Keeper *k, const KeptCopy *x, const StcPlan *to, const SavedPart *parts);
StcStatus kept_give(const Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts);
/* The same as kept_give if nothing writes to the parts of `to`: on a device with memory of its own, these then use the
 * copy's memory until they are lent that of another copy, or returned. The device must have finished using them before
 * copies are freed. */
StcStatus kept_lend(Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts);
/* kept_are_lent: have these parts of `to` been lent memory, so that they can be given another copy just by lending its
 * memory? kept_return: returns them to memory of their own. */
bool kept_are_lent(const Keeper *k, const StcPlan *to, const SavedPart *parts);
void kept_return(Keeper *k);
void kept_free(const Keeper *k, KeptCopy *x);

/* plan-scratch.c. scratch_open: opens a file without a name in `folder`, into *file. scratch_write, scratch_read: write
 * and read `bytes` bytes as copy number `place`, from 1 on. */
StcStatus scratch_open(StcContext *c, const char *folder, int *file);
StcStatus scratch_write(StcContext *c, int file, int64_t place, const void *data, int64_t bytes);
StcStatus scratch_read(StcContext *c, int file, int64_t place, void *data, int64_t bytes);

/* plan-saved.c: how much is saved: the steps of a segment (all, if there is room); the number of snapshots of the
 * state; the number of steps that are made besides those of one run. */
typedef struct SavedChoice {
  int64_t length, snapshots;
  double again;
} SavedChoice;
/* Chooses, for `steps` steps of `row` bytes each (and one more, `ahead`) and snapshots of `state` bytes, what
 * recomputes the fewest steps within `room` bytes. False: they do not suffice. */
bool saved_choose(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out);
/* The same if snapshots may be in a file: makes each step at most twice, with as few snapshots in the file as possible;
 * *in_memory are not in it. */
bool saved_choose_filed(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out,
                        int64_t *in_memory);

/* The values of `n` parts of a plan that makes steps, after 0 .. steps steps. */
typedef struct Saved Saved;
/* Runs the plan, which is at step 0, to its last step, and saves what is requested; *out must be freed. spare: blocks
 * of an earlier gradient. ahead: together with each step the one after it can be requested. */
StcStatus saved_make(StcPlan *p, int n, const SavedPart *parts, bool ahead, int64_t steps, int64_t memory,
                     SpareBlocks *spare, Saved **out);
/* Gives parts[i] of plan `to` the value of part number i after `step` steps, unless parts[i].field is -1; no step of
 * `to` writes them. Steps must be requested in falling order; with `ahead` in saved_make, after each of them the next
 * higher one may be. */
StcStatus saved_give(Saved *s, int64_t step, StcPlan *to, const SavedPart *parts);
/* How many steps, in falling order from `step` on, can be given without recomputing any? */
int64_t saved_there(const Saved *s, int64_t step);
/* Are `n` steps, in falling order from `step` on, given in order with launches and without waiting, and, if `later` is
 * not NULL, also those one later? */
bool saved_are_queued(const Saved *s, int64_t step, int64_t n, const StcPlan *to, const SavedPart *now,
                      const SavedPart *later);
/* Have these parts of `to` been lent copies, which nothing changes meanwhile? */
bool saved_are_lent(const Saved *s, const StcPlan *to, const SavedPart *parts);
/* Gives plan `to` memory of its own for them again, once its device has finished. */
void saved_return(Saved *s);
/* The values of the program's scalar `name`, which is kept from step to step, after 0 .. steps steps: for each step one
 * number, or one for each member: f64 or i64, in *bytes bytes. NULL: there is no such scalar. */
const void *saved_scalar(const Saved *s, const char *name, size_t *bytes);
void saved_free(Saved *s);

#endif
