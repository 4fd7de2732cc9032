/* driver/instance/slots.h: the memory of a plan, in slots, and whose it is. */
#ifndef STC_DRIVER_SLOTS_H
#define STC_DRIVER_SLOTS_H

#include "driver/stc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of memory: a buffer's, a launch-time array's, or a field's that no kernel uses. */
typedef struct Slot {
  void *memory;
  size_t size;
  size_t row, pitch;             /* bytes of a row of values, and from one to the next; 0: they are dense */
  size_t lead;                   /* bytes before it that were allocated with it */
  bool foreign;                  /* the caller's */
  bool pinned;                   /* it is this computer's, and the device reaches it */
  size_t mapped, place;          /* so many bytes of the plan's file, from `place` on; 0: it is not there */
  bool handed;                   /* stc_plan_pointer has told where it is */
  struct DLManagedTensor *owner; /* whose deleter is called when the plan lets go of the memory, or NULL */
  struct Loan *loan;             /* of the memory; NULL: it is not lent */
  struct Shown *shown;           /* the tensors that show the memory; NULL: there never was one */
} Slot;

/* Memory that tensors show: it stays where it is until the last of them is deleted, or the plan is freed. users: the
 * tensors, and the plan. left: the memory, once the slot has other memory, in the plan's list. (plan-slots.c) */
typedef struct Shown {
  atomic_int users;
  Slot left;
  struct Shown *next;
} Shown;

/* The values of a field, lent, and what a plan has for that: plan-lend.c. */
typedef struct Loan Loan;
typedef struct Lending Lending;

/* Lines of a component, in bytes of its dense array: `count` of `length` bytes each, `step` bytes apart, the first from
 * byte `first` on. */
typedef struct Lines {
  size_t first, step, count, length;
} Lines;
/* So many of these are lent at once, at most. */
enum { MOST_LENT_LINES = 16 };

/* All memory of a plan. The arrays of slot numbers are by field and by launch-time array of the plan's module, and by
 * buffer of its kernels; swaps exchange them. */
typedef struct PlanMemory {
  int32_t nslots;
  Slot *slots;
  int32_t *of_field;     /* the slot that holds the field's present value; -1 none (temp) */
  int32_t *of_buffer;    /* the slot that a buffer of the module stands for now */
  int32_t *of_array;     /* the slot of a launch-time array; -1 if no kernel uses it */
  int32_t *fixed;        /* the slot that is to hold the field whenever no run is under way; -1: any */
  void **fields;         /* where the fields are, and the launch-time arrays, on ref and sim: room for runs, */
  void **arrays;         /* kept from one to the next */
  Shown *left;           /* memory that slots have left and tensors may show still */
  Slot spare;            /* to exchange the values of two slots by */
  Lending *lending;      /* NULL: nothing was lent yet */
  bool dense;            /* rows of fields are never padded, and there are no hidden fields */
  bool crowded;          /* nor are there any since there may be no memory for them */
  bool outside;          /* all of it is this computer's, where the device's kernels reach it: the device has no room */
  struct DiskFile *disk; /* that it is in, where the computer has no room either; or NULL */
} PlanMemory;

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

/* plan-slots.c: */

/* Copies the slot's values to memory as large, of the plan's device, in order with launches. */
StcStatus plan_copy_slot(StcPlan *p, const Slot *slot, void *memory);
/* Exchanges what two buffers stand for: copies of one field, or of a field and its past. */
void plan_swap(StcPlan *p, int a, int b);
/* The buffers stand for these slots from now on. */
void plan_place_buffers(StcPlan *p, const int32_t *slots);
/* Moves each field whose slot is fixed there. */
StcStatus plan_settle(StcPlan *p);
/* Gives back what the slot holds, unless tensors show it; what slots have left and no tensor shows, or with `all` the
 * rest of that, too. */
void plan_release_slot(StcPlan *p, Slot *slot);
void plan_release_left(StcPlan *p, bool all);
/* One user of the memory less. */
void shown_leave(Shown *shown);

/* plan-bind.c: */

/* For plan-vectors.c: would the component be bound to the array? The slot that it is in and stays in (NULL after an
 * error); lets a slot be in other memory, of `owner` (NULL: of the caller), whose deleter is called when it is let go.
 */
StcStatus plan_check_array(StcPlan *p, int field, int component, const StcArray *array);
Slot *plan_fix_slot(StcPlan *p, int field, int component);
void plan_put_slot(StcPlan *p, Slot *slot, void *memory, struct DLManagedTensor *owner);
/* A tensor of the memory of `slot`, which stays until the tensor is deleted; its lengths and strides (elements) are to
 * be filled in. NULL after an error. */
struct DLManagedTensor *plan_tensor(StcPlan *p, Slot *slot, StcType type, int rank);

/* plan-vectors.c: */

/* Whole fields of vectors: bound to an array (NULL: to memory of the plan's own), and as a tensor. */
StcStatus plan_bind_vector(StcPlan *p, int field, const StcArray *array, struct DLManagedTensor *owner);
StcStatus plan_vector_tensor(StcPlan *p, int field, struct DLManagedTensor **out);
/* Moves the components of a field of vectors, none of which is bound, to where one tensor shows them all, so that
 * tensors of its components need not be left behind for that. Other fields stay as they are. */
StcStatus plan_gather_vector(StcPlan *p, int field);

/* plan-lend.c: */

/* May the values of the component (-1: the whole field) be lent? Makes room for `ahead` loans that steps are made
 * beside. */
bool plan_may_lend(StcPlan *p, int field, int component, int ahead);
/* Does it lie as it must for that? Fields that are bound, or whose rows are padded, do not. */
bool plan_can_lend(const StcPlan *p, int field, int component);
/* The memory of the component that is a piece of the plan's file, and nothing else: it may be written to before it is
 * set with what is there. NULL: it is none. */
void *plan_in_file(const StcPlan *p, int field, int component);
/* Lends the values that it has now. A loan that *out is must be returned, also after an error, before the plan is
 * freed. */
StcStatus plan_lend(StcPlan *p, int field, int component, Loan **out);
/* Can lines of the component be lent by themselves, from a GPU, whose other values stay where they are? Lends `n` of
 * them, at most MOST_LENT_LINES, one behind the other; *out NULL without an error: there is no room, or they lie too
 * far apart. A loan is returned as those above. */
bool plan_can_lend_lines(const StcPlan *p, int field, int component);
StcStatus plan_lend_lines(StcPlan *p, int field, int component, int n, const Lines *lines, Loan **out);
/* For other threads: the values, on this computer, waits for them; NULL: *why they are not to be had. Gives them back.
 */
const void *loan_values(Loan *loan, const char **why);
void loan_return(Loan *loan);
/* Before anything is written to the slot's memory: if that is lent the slot gets other memory, with the same values
 * where they are a field's. */
StcStatus plan_before_write(StcPlan *p, Slot *slot);
void memory_free_loans(PlanMemory *m);

#endif
