/* driver/instance/slots.h: the memory of a plan, in slots, and its ownership. */
#ifndef STC_DRIVER_SLOTS_H
#define STC_DRIVER_SLOTS_H

#include "driver/stc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of memory: for a buffer, a launch-time array, or a field that no kernel uses. */
typedef struct Slot {
  void *memory;
  size_t size;
  size_t row, pitch;             /* bytes of a row of values, and distance of rows; 0: they are dense */
  size_t lead;                   /* bytes before it that belong to its allocation */
  bool foreign;                  /* it belongs to the caller */
  bool pinned;                   /* host memory that the device can access */
  size_t mapped, place;          /* its bytes in the plan's file, from `place` on; 0: it is not there */
  bool handed;                   /* stc_plan_pointer has returned its address */
  struct DLManagedTensor *owner; /* the tensor whose deleter is called when the plan releases the memory, or NULL */
  struct Loan *loan;             /* the loan of the memory; NULL: it is not lent */
  struct Shown *shown;           /* the tensors of the memory; NULL: there never was one */
} Slot;

/* Memory that tensors refer to: it remains in its place until the last of them is deleted, or the plan is freed. users:
 * the tensors, and the plan. left: the memory, once the slot has other memory, in the plan's list. (plan-slots.c) */
typedef struct Shown {
  atomic_int users;
  Slot left;
  struct Shown *next;
} Shown;

/* Lent values of a field; the state of a plan that lends values: plan-lend.c. */
typedef struct Loan Loan;
typedef struct Lending Lending;

/* Lines of a component, in bytes of its dense array: `count` lines of `length` bytes, at distances of `step` bytes, the
 * first at byte `first`. */
typedef struct Lines {
  size_t first, step, count, length;
} Lines;
/* The most lines that are lent at once. */
enum { MOST_LENT_LINES = 16 };

/* All memory of a plan. The arrays of slot numbers are indexed by field and by launch-time array of the plan's module,
 * and by buffer of its kernels; swaps exchange the numbers. */
typedef struct PlanMemory {
  int32_t nslots;
  Slot *slots;
  int32_t *of_field;     /* the slot with the field's present value; -1: none (temp) */
  int32_t *of_buffer;    /* the slot that a buffer of the module stands for now */
  int32_t *of_array;     /* the slot of a launch-time array; -1: no kernel uses it */
  int32_t *fixed;        /* the slot that must hold the field whenever no run is in progress; -1: any */
  void **fields;         /* the addresses of fields and of launch-time arrays, on ref and sim: arrays for runs, */
  void **arrays;         /* kept from one run to the next */
  Shown *left;           /* memory that slots have left and that tensors may still refer to */
  Slot spare;            /* for exchanging the values of two slots */
  Lending *lending;      /* NULL: nothing has been lent yet */
  bool dense;            /* rows of fields are never padded, and there are no hidden fields */
  bool crowded;          /* there are no hidden fields, because memory may not suffice for them */
  bool outside;          /* it is host memory that the device's kernels can access: the device has no room */
  struct DiskFile *disk; /* the file of the memory, if the host has no room either; or NULL */
} PlanMemory;

/* plan-rows.c: */

/* The bytes of the slot's values. */
size_t slot_bytes(const Slot *slot);
/* slot_put, slot_fetch: copy all its values from a dense array of the host, or to one; the slot must have memory. */
StcStatus slot_put(StcPlan *p, const Slot *slot, const void *values);
StcStatus slot_fetch(StcPlan *p, const Slot *slot, void *values);
/* The same from a function: it writes to `to` the `n` bytes of the dense array from byte `from` on, row by row, for a
 * slot with padded rows. */
typedef void (*SlotSource)(void *user, size_t from, size_t n, char *to);
StcStatus slot_fill(StcPlan *p, const Slot *slot, SlotSource fn, void *user);
/* Is byte `at` of its memory padding? */
bool slot_is_padding(const Slot *slot, size_t at);
/* Makes the rows of all fields dense from now on, for a user that works on the memory itself. Values remain; kernels
 * for rows of any pitch are launched then. */
StcStatus plan_make_dense(StcPlan *p);

/* plan-slots.c: */

/* Copies the slot's values to equally large memory of the plan's device, in order with launches. */
StcStatus plan_copy_slot(StcPlan *p, const Slot *slot, void *memory);
/* Exchanges the slots of two buffers: copies of one field, or of a field and its past. */
void plan_swap(StcPlan *p, int a, int b);
/* Sets the slots of all buffers. */
void plan_place_buffers(StcPlan *p, const int32_t *slots);
/* Moves each field whose slot is fixed to that slot. */
StcStatus plan_settle(StcPlan *p);
/* plan_release_slot: frees the memory of the slot, unless tensors refer to it. plan_release_left: frees the memory that
 * slots have left and that no tensor refers to, or, with `all`, all of it. */
void plan_release_slot(StcPlan *p, Slot *slot);
void plan_release_left(StcPlan *p, bool all);
/* Removes one user of the memory. */
void shown_leave(Shown *shown);

/* plan-bind.c: */

/* For plan-vectors.c. plan_check_array: could the component be bound to the array? plan_fix_slot: the slot that it is
 * in, and stays in (NULL after an error). plan_put_slot: lets a slot use other memory, of `owner` (NULL: of the
 * caller), whose deleter is called when it is released. */
StcStatus plan_check_array(StcPlan *p, int field, int component, const StcArray *array);
Slot *plan_fix_slot(StcPlan *p, int field, int component);
void plan_put_slot(StcPlan *p, Slot *slot, void *memory, struct DLManagedTensor *owner);
/* A tensor of the memory of `slot`, which remains until the tensor is deleted; the caller fills in its lengths and
 * strides (in elements). NULL after an error. */
struct DLManagedTensor *plan_tensor(StcPlan *p, Slot *slot, StcType type, int rank);

/* plan-vectors.c: */

/* For whole fields of vectors. plan_bind_vector: binds one to an array (NULL: to memory of the plan).
 * plan_vector_tensor: returns one as a tensor. */
StcStatus plan_bind_vector(StcPlan *p, int field, const StcArray *array, struct DLManagedTensor *owner);
StcStatus plan_vector_tensor(StcPlan *p, int field, struct DLManagedTensor **out);
/* Moves the components of a field of vectors, none of which is bound, to places where one tensor can show them all, so
 * that tensors of its components remain valid. Other fields are not moved. */
StcStatus plan_gather_vector(StcPlan *p, int field);

/* plan-lend.c: */

/* May the values of the component (-1: the whole field) be lent? Makes room for `ahead` loans that exist while steps
 * are made. */
bool plan_may_lend(StcPlan *p, int field, int component, int ahead);
/* Is its memory suitable for that? It is not if the field is bound or its rows are padded. */
bool plan_can_lend(const StcPlan *p, int field, int component);
/* The memory of the component, if it is a piece of the plan's file and nothing else: values may be written to it before
 * the component is set with them. NULL: it is not. */
void *plan_in_file(const StcPlan *p, int field, int component);
/* Lends the present values of the component. The loan *out must be returned before the plan is freed, also after an
 * error. */
StcStatus plan_lend(StcPlan *p, int field, int component, Loan **out);
/* plan_can_lend_lines: can single lines of the component be lent, from a GPU, while its other values remain?
 * plan_lend_lines: lends `n` of them, at most MOST_LENT_LINES, contiguously. *out NULL without an error: there is no
 * room, or they are too far apart. The loan is returned like those above. */
bool plan_can_lend_lines(const StcPlan *p, int field, int component);
StcStatus plan_lend_lines(StcPlan *p, int field, int component, int n, const Lines *lines, Loan **out);
/* For other threads. loan_values: waits for the values and returns their address in host memory; NULL: they are not
 * available, *why says the reason. loan_return: returns the loan. */
const void *loan_values(Loan *loan, const char **why);
void loan_return(Loan *loan);
/* Must be called before anything is written to the slot's memory: if that is lent, the slot gets other memory, with the
 * same values if they are a field's. */
StcStatus plan_before_write(StcPlan *p, Slot *slot);
void memory_free_loans(PlanMemory *m);

#endif
