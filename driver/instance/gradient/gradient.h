/* driver/instance/gradient/gradient.h: gradients of plans: what is computed, and how.
 *
 *   plan-gradient.c  stc_plan_gradient: what it takes and gives, on the reference by its tape
 *   plan-backward.c  elsewhere by the backward program (passes/transpose), step by step
 *   plan-derivatives.c  what that run leaves
 *   plan-saved.c     what fields were at each step: kept, or computed again from snapshots
 *   plan-keep.c      copies of fields: on the device, or on this computer
 *   plan-scratch.c   a file for copies that there is no memory for
 *   plan-pull.c      derivatives by fields at the end of a run handed back: the gradient of another program's plan */
#ifndef STC_DRIVER_GRADIENT_H
#define STC_DRIVER_GRADIENT_H

#include "driver/instance/instance.h"
#include "passes/transpose/transpose.h"

/* A backward program and a plan of it, kept from one gradient to the next (plan-backward.c). */
typedef struct Backward Backward;
/* The program that hands derivatives back, and a plan of it, kept likewise (plan-pull.c). */
typedef struct Pull Pull;
/* The gradient of a plan: its value, and the derivatives by Module.by of the program's source, n[i] numbers each: at
 * single[i] as f32, else at of[i] (malloc; both NULL: zeros). room[i]: memory for n[i] of f32 that is not in use
 * (malloc, or NULL). NULL of a plan that has none so far. */
struct Gradient {
  double value;
  int count;
  int64_t *n;
  double **of;
  float **single, **room;
  bool done;   /* they have been computed */
  bool pulled; /* by stc_plan_pull, by what that was told and not by Module.by */
  Backward *backward;
  Pull *pull;
};
/* Frees it; StcPlan.free_gradient of a plan that has one. */
void gradient_free(struct Gradient *g);

/* A declared field, or its component number `component` (-1: it is a scalar), and the bytes of it. */
typedef struct SavedPart {
  int field, component;
  int64_t bytes;
} SavedPart;
/* The part of the program's that the backward module calls `name`, such as v.0. False if there is none. */
bool gradient_part(StcPlan *p, const char *name, SavedPart *out);
/* Copies its values out and in. */
StcStatus part_get(StcPlan *p, const SavedPart *part, void *data);
StcStatus part_set(StcPlan *p, const SavedPart *part, const void *data);

/* plan-backward.c: the gradient of `steps` steps, in `memory` bytes beside the plan's own (0: as many as it takes),
 * into *g, which has room. */
StcStatus gradient_backward(StcPlan *p, int64_t steps, int64_t memory, struct Gradient *g);

/* The work: the plan, its backward program and a plan of that, what is known of it; fields that were given, and their
 * values; sums[i * (steps + 1) + n] is what loss number i was when n steps were done. The plan's observers meanwhile.
 */
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
  void **scalars; /* by scalar that is kept from step to step and was given values, these (malloc), else NULL */
  double *sums;
  struct Gradient *g;
  Observers observers;
} Back;

/* plan-derivatives.c: what the run has left, into b->g; of a run that undoes inits, what it adds. What each step leaves
 * of derivatives by elements of launch-time arrays, added to those. (Guarded parts: arg is the Back.) */
StcStatus derivatives_take(void *arg);
StcStatus derivatives_add_starts(void *arg);
StcStatus derivatives_add_elements(Back *b);
/* Field `name` of the backward plan as doubles, *n of them, to be freed. NULL after an error. */
double *derivatives_field(Back *b, const char *name, int64_t *n);

void backward_free(Backward *b);
void pull_free(Pull *k);

/* plan-gradient.c: the derivatives by number `i` as doubles, zeros if there are none; room for them as f32, in place of
 * what there is. NULL: there is no memory. */
double *gradient_numbers(struct Gradient *g, int i);
float *gradient_singles(struct Gradient *g, int i);
/* May the plan have a gradient, as it is? Reports why not. */
StcStatus gradient_may_be(StcPlan *p);
/* plan-backward.c: the plan's params as "NAME=VALUE", into `defines`, which has room for all scalars; how many. The
 * texts, a line each, in new memory (malloc). */
int gradient_defines(StcPlan *p, const char **defines);
char *gradient_joined(int n, const char *const *texts);
/* A plan of the program on the plan's devices, its grid cut as that of the plan is. */
StcStatus gradient_plan(const StcPlan *p, StcProgram *program, int n, const char *const *defines, StcPlan **out);
/* Gives plan `to` the launch-time arrays of plan `from` that it has, too. */
StcStatus gradient_arrays(StcPlan *from, StcPlan *to);

/* Gives plan `to` the scalars of plan `from` that were given values. */
StcStatus gradient_scalars(StcPlan *from, StcPlan *to);

/* Blocks of a plan's device that copies were in, for the next gradient: asking for as many gigabytes takes as long as
 * many steps. bytes: of all. */
enum { KEEPER_BLOCKS = 64 };
typedef struct SpareBlocks {
  int n;
  void *blocks[KEEPER_BLOCKS];
  size_t sizes[KEEPER_BLOCKS];
  double bytes;
} SpareBlocks;
void spare_blocks_free(StcPlan *p, SpareBlocks *spare);

/* A slot of a plan that is in memory of a copy for the time being, and its own memory. */
typedef struct LentSlot {
  Slot *slot;
  void *own;
} LentSlot;
typedef struct LentSlots {
  int n;
  LentSlot *of;
} LentSlots;

/* plan-keep.c: who makes copies of `n` parts of a plan. On the device a copy has `image` bytes, of the slots as they
 * lie, and `apart` here of parts that are no slots; else `dense` here. bytes: the most that one takes. left: what may
 * be taken of the device's memory still, and of this computer's. Memory of the device is asked for in blocks for
 * several copies, since asking takes long; block i has sizes[i] bytes, and from `next` on the last has room for `more`
 * copies. folder: NULL, or where a file has those copies that are made when `in_memory` others have been; there are
 * `made` of all, `filed` in `file`, which is open if that is not 0. lent: the slots that are in copies' memory;
 * writing: those of its own plan that steps write there. spare: where blocks come from, and go to; NULL: the device. */
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
/* A copy. Zeros: none yet. pinned: the device copies to and from `here` at full speed. place: its number in the file,
 * from 1 on; 0: it is not there. */
typedef struct KeptCopy {
  void *image;
  char *here;
  int64_t place;
  bool pinned;
} KeptCopy;
/* Gives the part of plan `to` what that of plan `from` is, on the device where they lie alike there. */
StcStatus part_hand(StcPlan *from, const SavedPart *part, StcPlan *to, const SavedPart *as);
/* A keeper of the parts, which become its own. Frees it, and the device's memory of all its copies. */
void keeper_make(StcPlan *p, int n, SavedPart *parts, SpareBlocks *spare, Keeper *out);
void keeper_free(Keeper *k);
/* Makes *x a copy of what the plan has now; on the device it is done when the device is waited for. At most `of` such
 * copies are made. Gives it to parts of the same or another plan on the same device, but where parts[i].field is -1.
 * Frees what it has here. */
StcStatus kept_take(Keeper *k, KeptCopy *x, int64_t of);
/* Has the slots that hold parts of the keeper's plan behind its next step, which `seq` makes, be in the memory of *x
 * from now on, where that step sets all of them and nothing else is there: then kept_take need not copy these. Until
 * kept_lend_end, which has them in their own memory again; `copy`: with the values that fields have, in order with
 * launches. */
StcStatus kept_lend_next(Keeper *k, const HostSeq *seq, const KeptCopy *x);
StcStatus kept_lend_end(Keeper *k, bool copy);
/* Room for *x, which kept_take makes else. Is it all on the device, so that it is taken, or (`to` NULL: not asked)
 * given to `parts` of `to`, in order with launches and without a wait? */
StcStatus kept_make_room(Keeper *k, KeptCopy *x, int64_t of);
bool kept_is_queued(const Keeper *k, const KeptCopy *x, const StcPlan *to, const SavedPart *parts);
StcStatus kept_give(const Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts);
/* The same where nothing writes to the parts of `to`: on a device with memory of its own these are in the copy's memory
 * then, until they are lent another one's or returned. The device must be done with them before copies are freed. */
StcStatus kept_lend(Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts);
/* Have those parts of `to` been lent memory so far, so that giving them another copy is but to lend them that? */
bool kept_are_lent(const Keeper *k, const StcPlan *to, const SavedPart *parts);
void kept_return(Keeper *k);
void kept_free(const Keeper *k, KeptCopy *x);

/* plan-scratch.c: opens a file without a name in `folder`, into *file. Writes `bytes` bytes as its copy number `place`,
 * from 1 on; reads them. */
StcStatus scratch_open(StcContext *c, const char *folder, int *file);
StcStatus scratch_write(StcContext *c, int file, int64_t place, const void *data, int64_t bytes);
StcStatus scratch_read(StcContext *c, int file, int64_t place, void *data, int64_t bytes);

/* plan-saved.c: how much is kept: segments of so many steps, one of all where there is room for that; so many snapshots
 * of the state; and how many steps are made beside one run. */
typedef struct SavedChoice {
  int64_t length, snapshots;
  double again;
} SavedChoice;
/* For `steps` steps of `row` bytes each (and one more, `ahead`) and snapshots of `state` bytes: what has the fewest
 * steps made again in `room` bytes. False: that is not enough. */
bool saved_choose(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out);
/* The same where snapshots may be in a file: what makes each step twice at most, with as few of them there as can be;
 * *in_memory are not. */
bool saved_choose_filed(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out,
                        int64_t *in_memory);

/* What `n` parts of a plan that makes steps were when 0 .. steps steps were done. */
typedef struct Saved Saved;
/* Runs the plan, which is at step 0, to its last step, and keeps what is asked for; *out is to be freed. spare: blocks
 * of an earlier one. ahead: with each step the one behind it can be asked for. */
StcStatus saved_make(StcPlan *p, int n, const SavedPart *parts, bool ahead, int64_t steps, int64_t memory,
                     SpareBlocks *spare, Saved **out);
/* Gives parts[i] of plan `to` what part number i was when `step` steps were done, unless parts[i].field is -1, which no
 * step of it writes. To be asked for falling steps; and, if so said to saved_make, behind each of them for the one
 * behind that. */
StcStatus saved_give(Saved *s, int64_t step, StcPlan *to, const SavedPart *parts);
/* How many falling steps from `step` on can be given without any being made again? */
int64_t saved_there(const Saved *s, int64_t step);
/* Are `n` falling steps from `step` on given so, and where `later` is not NULL those one later, in order with launches
 * and without a wait? */
bool saved_are_queued(const Saved *s, int64_t step, int64_t n, const StcPlan *to, const SavedPart *now,
                      const SavedPart *later);
/* Have those parts of `to` been lent copies so far, which nothing changes while that is so? */
bool saved_are_lent(const Saved *s, const StcPlan *to, const SavedPart *parts);
/* Has plan `to` have memory of its own for them again, once its device is done. */
void saved_return(Saved *s);
/* What the program's scalar `name`, which is kept from step to step, was when 0 .. steps steps were done, of each step
 * one number, or one for each member: f64 or i64, in *bytes bytes. NULL: it has none of that name. */
const void *saved_scalar(const Saved *s, const char *name, size_t *bytes);
void saved_free(Saved *s);

#endif
