/* driver/instance/plan-lend.c: lends the present values of a field to a thread that writes them to a file while the
 * plan continues. If kernels use host memory, nothing is copied: the memory itself is lent, and before the first launch
 * that would overwrite it the buffer gets other memory. A file for what does not fit memory (disk.c) has no other
 * memory, so the launch waits. From a GPU the values are copied within its memory, in order with launches, and from
 * there to the host beside later launches. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* Lent values of `size` bytes, or memory for lines of that size (`gathers`). readers: the number of users that have not
 * returned it; attached: a slot of the plan still uses the memory. stage: where values of a GPU are copied from, else
 * NULL. */
struct Loan {
  Lending *of;
  void *memory;
  size_t size;
  int readers;
  bool attached, gathers;
  Stage *stage;
  Loan *next;
};

/* The state of a plan that lends. spares: unused memory, or stages. The lock protects those and `readers`; returned:
 * signalled when a loan has no readers any more. */
struct Lending {
  pthread_mutex_t lock;
  pthread_cond_t returned;
  Device *device;
  Loan *spares;
};

/* ---------------------------------------------------------------- spares */

/* Removes a spare of `size` bytes from the list, for lines or for whole slots; NULL: there is none. */
static Loan *take_spare_for(Lending *l, size_t size, bool gathers) {
  pthread_mutex_lock(&l->lock);
  Loan **at = &l->spares;
  while (*at && ((*at)->size != size || (*at)->gathers != gathers))
    at = &(*at)->next;
  Loan *found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock(&l->lock);
  return found;
}

static Loan *take_spare(Lending *l, size_t size) { return take_spare_for(l, size, false); }

/* Adds a spare to the list. */
static void put_spare(Loan *loan) {
  loan->next = loan->of->spares;
  loan->of->spares = loan;
}

/* Frees a loan and its memory. */
static void free_loan(Loan *loan) {
  const Device *d = loan->of->device;
  if (loan->stage)
    d->kind->stage_free(loan->of->device, loan->stage);
  else if (loan->memory && !loan->attached)
    d->kind->release(loan->of->device, loan->memory, loan->size);
  free(loan);
}

/* The plan's state, made when first needed; NULL if there is no memory. */
static Lending *lending_of(StcPlan *p) {
  if (p->memory.lending)
    return p->memory.lending;
  Lending *l = calloc(1, sizeof *l);
  if (!l)
    return NULL;
  l->device = &p->device;
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->returned, NULL);
  return p->memory.lending = l;
}

/* A new loan of `size` bytes without memory. */
static Loan *new_loan(Lending *l, size_t size) {
  Loan *loan = calloc(1, sizeof *loan);
  if (loan)
    *loan = (Loan){.of = l, .size = size};
  return loan;
}

void memory_free_loans(PlanMemory *m) {
  Lending *l = m->lending;
  if (!l)
    return;
  for (Loan *loan = l->spares, *next; loan; loan = next) {
    next = loan->next;
    free_loan(loan);
  }
  pthread_cond_destroy(&l->returned);
  pthread_mutex_destroy(&l->lock);
  free(l);
  m->lending = NULL;
}

/* ---------------------------------------------------------------- what can be lent */

/* The slot whose memory is exactly the component (-1: all of a field with a single slot), perhaps with padded rows;
 * NULL: it would have to be gathered, or its memory must remain in its place. */
static Slot *slot_of(const StcPlan *p, int field, int component) {
  const Declared *d = &p->program->declared[field];
  if (p->device.kind->whole || (p->split && !p->memory.disk))
    return NULL;
  Home h = p->bound.homes[field];
  if (h.packed || (component < 0 && d->ncomponents > 1))
    return NULL;
  int at = h.field + (component > 0 ? component : 0);
  Slot *slot = p->module->fields[at].temp || p->memory.fixed[at] >= 0 ? NULL : field_slot(p, at);
  return slot && slot->size && !slot->foreign && (!p->split || slot->mapped) ? slot : NULL;
}

/* The same if it can be lent as it is; NULL: it cannot. */
static Slot *slot_to_lend(const StcPlan *p, int field, int component) {
  Slot *slot = slot_of(p, field, component);
  return slot && !slot->pitch ? slot : NULL;
}

bool plan_can_lend(const StcPlan *p, int field, int component) { return slot_to_lend(p, field, component) != NULL; }

void *plan_in_file(const StcPlan *p, int field, int component) {
  const Slot *slot = p->memory.disk ? slot_to_lend(p, field, component) : NULL;
  return slot ? slot->memory : NULL;
}

/* Adds a spare of `size` bytes; false if there is no room. */
static bool add_spare(StcPlan *p, size_t size) {
  Device *d = &p->device;
  Loan *loan = new_loan(p->memory.lending, size);
  if (!loan)
    return false;
  StcStatus s = d->kind->stage_new ? d->kind->stage_new(d, size, &loan->stage) : d->kind->alloc(d, size, &loan->memory);
  if (s || (!loan->stage && !loan->memory))
    return free(loan), false;
  put_spare(loan);
  return true;
}

bool plan_may_lend(StcPlan *p, int field, int component, int ahead) {
  const Slot *slot = slot_to_lend(p, field, component);
  if (!slot || (!p->device.kind->stage_new && p->device.kind->dlpack != DEVICE_MEMORY_HERE) || !lending_of(p))
    return false;
  int made = slot->mapped ? ahead : 0;
  while (made < ahead && add_spare(p, slot->size))
    made++;
  for (bool some = made < ahead; some && made > 0; made--)
    free_loan(take_spare(p->memory.lending, slot->size));
  return made == ahead && (!p->device.kind->stage_new || ahead > 0);
}

/* ---------------------------------------------------------------- lending */

/* Lends the memory of the slot itself. */
static Loan *lend_memory(Lending *l, Slot *slot) {
  if (!slot->loan && (slot->loan = new_loan(l, slot->size))) {
    slot->loan->memory = slot->memory;
    slot->loan->attached = true;
  }
  if (!slot->loan)
    return NULL;
  pthread_mutex_lock(&l->lock);
  slot->loan->readers++;
  pthread_mutex_unlock(&l->lock);
  return slot->loan;
}

StcStatus plan_lend(StcPlan *p, int field, int component, Loan **out) {
  Slot *slot = slot_to_lend(p, field, component);
  Device *d = &p->device;
  StcStatus s = plan_join(p);
  *out = NULL;
  if (s)
    return s;
  Loan *loan = d->kind->stage_new ? take_spare(p->memory.lending, slot->size) : lend_memory(p->memory.lending, slot);
  if (!loan)
    return context_error(p->w.context, "no memory on this computer to lend a field by"), STC_MEMORY;
  if (loan->stage) {
    loan->readers = 1;
    s = d->kind->stage_fill(d, loan->stage, slot->memory);
  }
  *out = loan;
  return s;
}

/* ---------------------------------------------------------------- some lines of a slot */

/* The position of byte `at` of the slot's dense array in its memory. */
static size_t place_of(const Slot *slot, size_t at) {
  return slot->pitch ? at / slot->row * slot->pitch + at % slot->row : at;
}

/* Can one box contain the lines? In padded memory each must lie within its row, and their distances must be whole rows.
 */
static bool is_box(const Slot *slot, const Lines *l) {
  const size_t most = (size_t)1 << 30; /* a limit of the distances in a copy that every device supports */
  if (slot->pitch && (l->first % slot->row + l->length > slot->row || l->step % slot->row))
    return false;
  return l->count == 1 || place_of(slot, l->step) < most;
}

/* The box of the lines, for a copy to byte `to` of a stage. */
static Sending box_of(const Slot *slot, const Lines *l, size_t to) {
  return (Sending){.from = (const char *)slot->memory + place_of(slot, l->first),
                   .to = (void *)(uintptr_t)to,
                   .n = (int64_t)l->length,
                   .count = {(int64_t)l->count, 1, 1},
                   .from_stride = {(int64_t)place_of(slot, l->step)},
                   .to_stride = {(int64_t)l->length}};
}

/* Memory for `bytes` bytes, rounded to few sizes so that spares can often be reused; NULL: there is none. */
static Loan *room_for_lines(Lending *l, size_t bytes) {
  size_t size = (size_t)1 << 16;
  while (size < bytes)
    size *= 2;
  Loan *loan = take_spare_for(l, size, true);
  if (loan || !(loan = new_loan(l, size)))
    return loan;
  loan->gathers = true;
  if (l->device->kind->stage_new(l->device, size, &loan->stage) || !loan->stage)
    return free(loan), NULL;
  return loan;
}

bool plan_can_lend_lines(const StcPlan *p, int field, int component) {
  return p->device.kind->stage_gather && slot_of(p, field, component);
}

StcStatus plan_lend_lines(StcPlan *p, int field, int component, int n, const Lines *lines, Loan **out) {
  Slot *slot = slot_of(p, field, component);
  Sending box[MOST_LENT_LINES];
  size_t bytes = 0;
  *out = NULL;
  StcStatus s = plan_join(p);
  for (int i = 0; i < n && !s; i++) {
    if (!is_box(slot, &lines[i]))
      return STC_OK;
    box[i] = box_of(slot, &lines[i], bytes);
    bytes += lines[i].count * lines[i].length;
  }
  Loan *loan = s || !lending_of(p) ? NULL : room_for_lines(p->memory.lending, bytes);
  if (!loan)
    return s;
  loan->readers = 1;
  *out = loan;
  return p->device.kind->stage_gather(&p->device, loan->stage, n, box, bytes);
}

/* ---------------------------------------------------------------- use of loans */

const void *loan_values(Loan *loan, const char **why) {
  *why = NULL;
  return loan->stage ? loan->of->device->kind->stage_values(loan->of->device, loan->stage, why) : loan->memory;
}

void loan_return(Loan *loan) {
  Lending *l = loan->of;
  pthread_mutex_lock(&l->lock);
  if (--loan->readers == 0 && !loan->attached)
    put_spare(loan);
  pthread_cond_broadcast(&l->returned);
  pthread_mutex_unlock(&l->lock);
}

/* ---------------------------------------------------------------- overwriting lent memory */

/* Does the slot hold the present value of a field? */
static bool holds_value(const StcPlan *p, const Slot *slot) {
  for (int f = 0; f < p->module->nfields; f++)
    if (p->memory.of_field[f] == (int32_t)(slot - p->memory.slots))
      return true;
  return false;
}

/* Does anybody still read the loan's memory? */
static bool is_read(Loan *loan) {
  pthread_mutex_lock(&loan->of->lock);
  bool read = loan->readers > 0;
  pthread_mutex_unlock(&loan->of->lock);
  return read;
}

/* Leaves the loan's memory to its readers; false: it has none, and the slot may keep it. */
static bool detach(Loan *loan) {
  pthread_mutex_lock(&loan->of->lock);
  bool read = loan->readers > 0;
  loan->attached = !read;
  pthread_mutex_unlock(&loan->of->lock);
  return read;
}

/* Makes the slot's memory its own again. */
static StcStatus keep_memory(Slot *slot) {
  free(slot->loan);
  slot->loan = NULL;
  return STC_OK;
}

/* Do launches rely on the present contents of the slot's memory although it holds no field's present value, because the
 * `once` sequence set it? */
static bool is_relied_on(const StcPlan *p, const Slot *slot) {
  const Module *m = p->build->code.module;
  const HostSeq *once = &m->host.once;
  for (int i = 0; i < once->nops; i++) {
    const Kernel *k = once->ops[i].kind == HOST_LAUNCH ? &m->kernels[once->ops[i].a] : NULL;
    for (int j = 0; k && j < k->nargs; j++) {
      const KArg *a = &k->args[j];
      if (a->kind == KARG_BUFFER && a->writes && m->buffers[a->index].copy > 0 &&
          p->memory.slots[p->memory.of_buffer[a->index]].size == slot->size)
        return true;
    }
  }
  return false;
}

/* Waits until nobody reads the loan's memory. A visitor keeps its loans after a run unless it is asked to return them.
 */
static void wait_for_readers(const StcPlan *p, Loan *loan) {
  const Visit *visit = p->observers.visit;
  if (visit && is_read(loan))
    visit->recall(visit->user);
  pthread_mutex_lock(&loan->of->lock);
  while (loan->readers > 0)
    pthread_cond_wait(&loan->of->returned, &loan->of->lock);
  pthread_mutex_unlock(&loan->of->lock);
}

StcStatus plan_before_write(StcPlan *p, Slot *slot) {
  Loan *loan = slot->loan;
  Device *d = &p->device;
  StcStatus s = STC_OK;
  if (!loan)
    return STC_OK;
  if (slot->mapped)
    wait_for_readers(p, loan);
  if (!is_read(loan))
    return keep_memory(slot);
  Loan *spare = take_spare(p->memory.lending, slot->size);
  void *memory = spare ? spare->memory : NULL;
  free(spare);
  if (!memory)
    s = device_alloc(d, "a field that is being written to a file", slot->size, 0, &memory);
  if (!s && (holds_value(p, slot) || is_relied_on(p, slot)))
    s = d->kind->copy(d, memory, slot->memory, slot->size);
  if (s || !detach(loan)) {
    if (memory)
      d->kind->release(d, memory, slot->size);
    return s ? s : keep_memory(slot);
  }
  slot->memory = memory;
  slot->loan = NULL;
  return STC_OK;
}
