/* driver/instance/instance.c: makes plans: a plan is a program on a device with fixed params, checked and loaded once,
 * and run many times. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- making a plan */

/* A slot to be made: its purpose, the least number of bytes to allocate, and of bytes before it, and whether it must
 * begin as zeros. */
typedef struct WantedSlot {
  const char *what;
  size_t least, lead;
  bool zero;
} WantedSlot;

/* The state of making slots: one WantedSlot for each slot. */
typedef struct SlotMaker {
  StcPlan *p;
  WantedSlot *wanted;
} SlotMaker;

/* Adds a slot of `size` bytes; returns its number. */
static int32_t add_slot(SlotMaker *k, size_t size, WantedSlot w) {
  StcPlan *p = k->p;
  k->wanted[p->memory.nslots] = w;
  p->memory.slots[p->memory.nslots] = (Slot){.size = size};
  return p->memory.nslots++;
}

/* Computes the bytes of field `field`. False after an error if they do not fit an address. */
static bool field_bytes(StcPlan *p, int field, size_t *bytes) {
  const Field *f = &p->module->fields[field];
  int64_t shape[MAX_RANK] = {1, 1, 1, 1}, size = type_bytes(p->module, f->type);
  bool fits = true;
  double all = (double)size;
  field_layout(f, p->scalars, shape);
  for (int d = 0; d < f->box.rank; d++) {
    all *= (double)shape[d];
    fits = fits && !__builtin_mul_overflow(size, shape[d], &size);
  }
  *bytes = (size_t)size;
  if (fits && size <= INT64_MAX / 2)
    return true;
  device_no_room(&p->device, arena_printf(p->w.arena, "field %s", declared_name(p->module, field)), all, 0);
  return false;
}

/* The bytes to allocate for a field of `bytes` bytes. They are computed as if no dimension were empty, because kernels
 * may read ahead in a field without points (and not use the values). */
static size_t layout_bytes(const StcPlan *p, const Field *f, size_t bytes) {
  int64_t shape[MAX_RANK] = {1, 1, 1, 1};
  size_t n = (size_t)type_bytes(p->module, f->type);
  field_layout(f, p->scalars, shape);
  for (int d = 0; d < f->box.rank; d++)
    n *= shape[d] > 0 ? (size_t)shape[d] : 1;
  return bytes ? bytes : n;
}

/* Sets the row and pitch of `slot`, for field `f`, if its rows are not dense. */
static void set_rows(const StcPlan *p, const Field *f, Slot *slot) {
  int64_t shape[MAX_RANK], pitch = f->pitch ? p->scalars[f->pitch - 1].i : 0;
  field_shape(f, p->scalars, shape);
  if (!slot->size || pitch <= shape[f->box.rank - 1])
    return;
  slot->row = (size_t)(shape[f->box.rank - 1] * type_size(f->type));
  slot->pitch = (size_t)(pitch * type_size(f->type));
}

/* Adds a slot for field `field` that begins `lead` bytes after its allocation. */
static StcStatus add_field_slot(SlotMaker *k, int field, size_t lead, int32_t *slot) {
  StcPlan *p = k->p;
  const Field *f = &p->module->fields[field];
  size_t size;
  if (!field_bytes(p, field, &size))
    return STC_MEMORY;
  const char *what = arena_printf(p->w.arena, "field %s", declared_name(p->module, field));
  *slot = add_slot(k, size, (WantedSlot){what, layout_bytes(p, f, size), lead, false});
  set_rows(p, f, &p->memory.slots[*slot]);
  return STC_OK;
}

/* Adds a slot for launch-time array `array`, with room for at least one element, because kernels read one even of an
 * empty array. It begins as zeros. */
static StcStatus add_array_slot(SlotMaker *k, int array, int32_t *slot) {
  StcPlan *p = k->p;
  const ParamArray *a = &p->module->param_arrays[array];
  const char *what = arena_printf(p->w.arena, "array %s", a->name);
  int64_t n = param_array_extent(a, p->scalars), size;
  if (__builtin_mul_overflow(n, (int64_t)type_size(a->type), &size) || size > INT64_MAX / 2)
    return device_no_room(&p->device, what, (double)n * (double)type_size(a->type), 0);
  *slot = add_slot(k, (size_t)size, (WantedSlot){what, (size_t)type_size(a->type), 0, size == 0});
  return STC_OK;
}

/* Adds a slot for buffer `b` of the kernels. */
static StcStatus add_buffer_slot(SlotMaker *k, const Buffer *b, int32_t *slot) {
  StcPlan *p = k->p;
  if (b->kind == BUFFER_SCRATCH) {
    const Module *code = p->build->code.module;
    int64_t shape[MAX_RANK], n = buffer_shape(code, (int)(b - code->buffers), p->scalars, shape);
    *slot = add_slot(k, (size_t)n * (size_t)type_size(b->type), (WantedSlot){"scratch memory", 16, 0, false});
    return STC_OK;
  }
  size_t lead = p->device.kind->stage_new ? (size_t)b->lead : 0;
  StcStatus s = b->kind == BUFFER_PARAM ? add_array_slot(k, b->field, slot) : add_field_slot(k, b->field, lead, slot);
  if (!s && b->kind == BUFFER_PARAM)
    p->memory.of_array[b->field] = *slot;
  if (!s && b->kind == BUFFER_FIELD && b->copy == 0)
    p->memory.of_field[b->field] = *slot;
  return s;
}

/* Marks the slots that kernels of the sequence use. */
static void mark_used(const StcPlan *p, const HostSeq *seq, bool *used) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < seq->nops; i++) {
    if (seq->ops[i].kind == HOST_REPEAT)
      continue;
    int pair[2] = {seq->ops[i].a, seq->ops[i].b};
    for (int k = 0; k < 2 && seq->ops[i].kind == HOST_SWAP; k++)
      used[p->memory.of_buffer[pair[k]]] = true;
    if (seq->ops[i].kind == HOST_SWAP)
      continue;
    pair[1] = kernel_chosen(m, pair[0], p->scalars);
    for (int k = 0; k < 2; k++)
      for (int j = 0; j < m->kernels[pair[k]].nargs; j++)
        if (m->kernels[pair[k]].args[j].kind == KARG_BUFFER)
          used[p->memory.of_buffer[m->kernels[pair[k]].args[j].index]] = true;
  }
}

/* Marks the slots that are needed although no steps are made: fields, arrays, and those that inits, reductions and
 * probes use. */
static void mark_needed(const StcPlan *p, bool *used) {
  const Module *m = p->module, *k = p->build && !p->device.kind->whole ? p->build->code.module : NULL;
  for (int f = 0; f < m->nfields; f++)
    if (p->memory.of_field[f] >= 0 && !m->fields[f].temp)
      used[p->memory.of_field[f]] = true;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (p->memory.of_array[i] >= 0)
      used[p->memory.of_array[i]] = true;
  if (!k)
    return;
  mark_used(p, &k->host.init, used);
  mark_used(p, &k->host.once, used);
  for (int i = 0; i < k->nreductions; i++)
    mark_used(p, &k->reductions[i].seq, used);
  for (int i = 0; i < k->nprobes; i++)
    mark_used(p, &k->probes[i].seq, used);
}

/* Makes a file for the marked slots, whose needs are `needs`, and gives each its piece of it; all bytes are zero. */
static StcStatus allocate_on_disk(StcPlan *p, const Need *needs, const bool *used) {
  PlanMemory *m = &p->memory;
  double all = 0;
  for (int i = 0; i < m->nslots; i++)
    all += used[i] ? (double)disk_room((size_t)needs[i].bytes) : 0;
  StcStatus s = disk_open(&p->w, arena_printf(p->w.arena, "the fields of %s", p->program->name), all, &m->disk);
  for (int i = 0; i < m->nslots && !s; i++) {
    Slot *slot = &m->slots[i];
    size_t room = used[i] ? disk_room((size_t)needs[i].bytes) : 0;
    if (room && !(slot->memory = disk_map(m->disk, room, &slot->place)))
      return computer_no_room(p->w.context, "the addresses of", needs[i].what, needs[i].bytes);
    slot->mapped = room;
  }
  return s;
}

/* Allocates host memory for the slots that are needed although no steps are made. On devices that launch kernels in
 * host memory, allocates disk space instead, because what does not fit host memory fits nowhere else. */
static StcStatus allocate_outside(SlotMaker *k, const Need *needs) {
  StcPlan *p = k->p;
  const DeviceKind *kind = p->device.kind;
  bool *used = ARENA_ARRAY(p->w.arena, bool, p->memory.nslots + 1);
  double left, total, all = 0;
  StcStatus s = STC_OK;
  mark_needed(p, used);
  if (!kind->whole && kind->dlpack == DEVICE_MEMORY_HERE)
    return allocate_on_disk(p, needs, used);
  for (int i = 0; i < p->memory.nslots; i++)
    all += used[i] ? needs[i].bytes : 0;
  computer_room(&left, &total);
  if (all > left)
    return computer_no_room(p->w.context, "the fields of", p->program->name, all);
  for (int i = 0; i < p->memory.nslots && !s; i++) {
    Slot *slot = &p->memory.slots[i];
    slot->pinned = used[i] && kind->pinned_new && kind->dlpack != DEVICE_MEMORY_HERE;
    if (slot->pinned && !(slot->memory = kind->pinned_new(&p->device, (size_t)needs[i].bytes)))
      return computer_no_room(p->w.context, "pinned memory for", needs[i].what, needs[i].bytes);
    if (used[i] && !slot->pinned)
      s = device_alloc(&p->device, needs[i].what, (size_t)needs[i].bytes, all, &slot->memory);
    if (used[i] && !s && k->wanted[i].zero)
      memset(slot->memory, 0, k->wanted[i].least);
  }
  return s;
}

/* Allocates memory for all slots, if there is enough for all. */
static StcStatus allocate_slots(SlotMaker *k) {
  static const char zeros[16];
  StcPlan *p = k->p;
  Need *needs = ARENA_ARRAY(p->w.arena, Need, p->memory.nslots + 1);
  double all = 0;
  if (p->facade)
    return STC_OK;
  for (int i = 0; i < p->memory.nslots; i++) {
    size_t size = p->memory.slots[i].size > k->wanted[i].least ? p->memory.slots[i].size : k->wanted[i].least;
    needs[i] = (Need){k->wanted[i].what, (double)(size + k->wanted[i].lead)};
    all += needs[i].bytes;
  }
  if (p->memory.outside)
    return allocate_outside(k, needs);
  StcStatus s = needs_check(&p->device, p->memory.nslots, needs);
  for (int i = 0; i < p->memory.nslots && !s; i++) {
    s = device_alloc(&p->device, needs[i].what, (size_t)needs[i].bytes, all, &p->memory.slots[i].memory);
    if (!s && k->wanted[i].lead) {
      p->memory.slots[i].lead = k->wanted[i].lead;
      p->memory.slots[i].memory = (char *)p->memory.slots[i].memory + p->memory.slots[i].lead;
    }
    if (!s && k->wanted[i].zero)
      s = p->device.kind->put(&p->device, p->memory.slots[i].memory, zeros, k->wanted[i].least);
  }
  return s;
}

/* Makes a slot for every buffer of the kernels, and for every field that no kernel uses but the user may; on devices
 * that run whole modules, for fields and arrays. */
static StcStatus make_slots(StcPlan *p) {
  const Module *m = p->module, *k = p->build ? p->build->code.module : NULL;
  bool whole = p->device.kind->whole;
  int nbuffers = k && !whole ? k->nbuffers : 0;
  StcStatus s = STC_OK;
  p->memory.slots = ARENA_ARRAY(p->w.arena, Slot, nbuffers + m->nfields + m->nparam_arrays + 1);
  SlotMaker maker = {p, ARENA_ARRAY(p->w.arena, WantedSlot, nbuffers + m->nfields + m->nparam_arrays + 1)};
  p->memory.of_field = ARENA_ARRAY(p->w.arena, int32_t, m->nfields + 1);
  p->bound.with_init = ARENA_ARRAY(p->w.arena, bool, m->nfields + 1);
  p->memory.fields = ARENA_ARRAY(p->w.arena, void *, m->nfields + 1);
  p->memory.arrays = ARENA_ARRAY(p->w.arena, void *, m->nparam_arrays + 1);
  p->memory.of_buffer = ARENA_ARRAY(p->w.arena, int32_t, nbuffers + 1);
  p->memory.of_array = ARENA_ARRAY(p->w.arena, int32_t, m->nparam_arrays + 1);
  p->memory.fixed = ARENA_ARRAY(p->w.arena, int32_t, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++)
    p->memory.of_field[f] = p->memory.fixed[f] = -1;
  for (int i = 0; i < m->nparam_arrays; i++)
    p->memory.of_array[i] = -1;
  for (int b = 0; b < nbuffers && !s; b++)
    s = add_buffer_slot(&maker, &k->buffers[b], &p->memory.of_buffer[b]);
  for (int f = 0; f < m->nfields && !s; f++)
    if (!m->fields[f].temp && p->memory.of_field[f] < 0)
      s = add_field_slot(&maker, f, 0, &p->memory.of_field[f]);
  for (int i = 0; i < m->nparam_arrays && !s; i++)
    if (whole || (p->memory.of_array[i] < 0 && (m->nlists + m->nprobes || coordinates_of(m, i) >= 0)))
      s = add_array_slot(&maker, i, &p->memory.of_array[i]);
  return s ? s : allocate_slots(&maker);
}

/* Finds the places of the declared fields in the plan's module. */
static StcStatus find_homes(StcPlan *p) {
  const StcProgram *g = p->program;
  const Module *m = p->module;
  int ncomponents = 0;
  p->bound.homes = ARENA_ARRAY(p->w.arena, Home, g->ndeclared + 1);
  p->bound.owner = ARENA_ARRAY(p->w.arena, int32_t, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++)
    p->bound.owner[f] = -1;
  for (int i = 0; i < g->ndeclared; i++) {
    const Declared *d = &g->declared[i];
    int field = module_find_field(m, d->name), record = module_find_record(m, d->name);
    if (field < 0 && record < 0)
      return diag_error(p->w.diags, no_loc(), "the passes left nothing of field %s", d->name), STC_INTERNAL;
    p->bound.homes[i] = field >= 0 ? (Home){field, type_composite(m, m->fields[field].type) != NULL}
                                   : (Home){m->records[record].first, false};
    for (int c = 0; c < (p->bound.homes[i].packed ? 1 : d->ncomponents); c++)
      p->bound.owner[p->bound.homes[i].field + c] = i;
    ncomponents += d->ncomponents;
  }
  p->bound.given = ARENA_ARRAY(p->w.arena, bool, m->nfields + 1);
  p->bound.component_given = ARENA_ARRAY(p->w.arena, bool, ncomponents + 1);
  p->bound.array_given = ARENA_ARRAY(p->w.arena, bool, m->nparam_arrays + 1);
  return STC_OK;
}

/* The number of grid points under the plan's scalars. */
static int64_t grid_points(const StcPlan *p) {
  Field whole = {.name = "grid", .box = p->module->grid};
  int64_t shape[MAX_RANK];
  return field_shape(&whole, p->scalars, shape);
}

/* The arguments of the guarded functions that make a plan and give it params. */
typedef struct PlanArgs {
  StcPlan *p;
  const char *device;
  int n;
  const char *const *defines;
  bool first;   /* these are the params of the first run */
  double *room; /* out: bytes of the device, if the fields may not fit it, so that the caller can make another plan; or
                   NULL */
  const StcPlan *like; /* a plan on the same device that outlives this one, whose code is used; NULL: own code */
} PlanArgs;

/* Evaluates the scalars of `m`, with the program's defines and then the plan's, into *out. */
static StcStatus bind(StcPlan *p, const Module *m, int n, const char *const *texts, Const **out) {
  const StcProgram *g = p->program;
  Define *defines = ARENA_ARRAY(p->w.arena, Define, g->options.ndefines + n + 1);
  for (int i = 0; i < g->options.ndefines; i++)
    defines[i] = g->defines[i];
  for (int i = 0; i < n; i++)
    if (!define_parse(p->w.arena, texts[i], &defines[g->options.ndefines + i]))
      return diag_error(p->w.diags, no_loc(), "stc_plan_new: \"%s\" defines no param; write NAME=VALUE", texts[i]),
             STC_USAGE;
  *out = ARENA_ARRAY(p->w.arena, Const, m->nscalars + 1);
  if (!module_bind(m, g->options.ndefines + n, defines, *out, p->w.diags))
    return STC_INPUT;
  if (!p->memory.dense)
    rows_pad(m, g->options.ndefines + n, defines, *out);
  return STC_OK;
}

/* For devices that use host memory: is there less memory than twice what the `n` needs require, so that hidden fields
 * may not fit? */
static bool is_crowded(StcPlan *p, int n, const Need *needs) {
  double left, total, bytes = 0;
  for (int i = 0; i < n; i++)
    bytes += needs[i].bytes;
  computer_room(&left, &total);
  bool crowded = p->device.kind == &device_host && 2 * bytes > left;
  if (crowded)
    diag_remark(p->w.diags, no_loc(), "there may be no memory for hidden fields: pass hoist is left out");
  return crowded;
}

/* Has the device room for twice what the `n` needs require? Also true if the other kind of plan would not help, because
 * the device cannot copy while it launches, or the host has no room either. If false, *room is the device's memory. */
static bool fits_twice(StcPlan *p, int n, const Need *needs, double *room) {
  double left, total, bytes = 0;
  for (int i = 0; i < n; i++)
    bytes += needs[i].bytes;
  computer_room(&left, &total);
  if (!p->device.kind->carry || !p->device.kind->pinned_new || bytes > left)
    return true;
  device_room(&p->device, &left, &total);
  bool fits = 2 * bytes <= left;
  *room = fits ? 0 : left;
  return fits;
}

/* Checks the params, and that there is memory for the fields at least, because making code may take long. */
static StcStatus check_first(const PlanArgs *args) {
  StcPlan *p = args->p;
  const StcProgram *g = p->program;
  Need *needs;
  Const *values;
  StcStatus s = bind(p, g->module, args->n, args->defines, &values);
  int n = s ? 0 : program_needs(g, p->w.arena, values, &needs);
  if (!s && args->room && !fits_twice(p, n, needs, args->room))
    return STC_MEMORY;
  s = s || p->facade ? s : needs_check(&p->device, n, needs);
  if (!s)
    p->memory.crowded = is_crowded(p, n, needs);
  return s;
}

/* Opens the device, makes and loads the code. */
static StcStatus prepare_guarded(void *arg) {
  PlanArgs *args = arg;
  StcPlan *p = args->p;
  StcStatus s = device_open(&p->w, args->device, &p->device);
  p->device.like = args->like ? &args->like->device : NULL;
  if (!s && args->first)
    s = check_first(args);
  if (!s)
    s = plan_make_code(p, args->first, args->n, args->defines);
  if (!s)
    p->schedule = p->build ? schedule_describe(p->w.arena, p->build->code.module, &p->build->code.schedule) : "none";
  return s;
}

/* Binds the params, checks the grids and allocates. */
static StcStatus reset_guarded(void *arg) {
  PlanArgs *args = arg;
  StcPlan *p = args->p;
  StcStatus s = bind(p, p->module, args->n, args->defines, &p->scalars);
  if (s)
    return s;
  p->points = grid_points(p);
  p->run.inits_done = p->run.once_done = p->run.evaluated = false;
  p->observers.watches = NULL;
  p->run.first = p->run.done = p->run.launches = 0;
  plan_start_rounds(p);
  for (int i = 0; p->build && i < p->build->code.module->nkernels && !s; i++) {
    int64_t blocks[MAX_RANK];
    s = plan_blocks(p, &p->build->code.module->kernels[i], blocks);
  }
  p->run.ready = p->awaits_runs ? ARENA_ARRAY(p->w.arena, bool, p->build->code.module->host.nseqs + 1) : NULL;
  if (!s && !p->awaits_runs)
    s = plan_need_kernels(p, p->scalars);
  if (!s)
    s = find_homes(p);
  if (!s)
    s = plan_make_points(p);
  return s ? s : make_slots(p);
}

/* plan_prepare; `first`: first checks what can be checked of the params; `facade`: the plan will have no memory;
 * `dense`: rows must not be padded; like: as in PlanArgs. */
static StcStatus prepare(StcProgram *program, const char *device, int n, const char *const *defines, bool first,
                         bool facade, bool dense, double *room, const StcPlan *like, StcPlan **out) {
  StcContext *c = program->w.context;
  *out = NULL;
  StcPlan *p = c->realloc(c->user, NULL, sizeof *p);
  if (!p)
    return context_error(c, "out of memory"), STC_MEMORY;
  memset(p, 0, sizeof *p);
  p->program = program;
  p->facade = facade;
  p->memory.dense = dense;
  if (!workspace_open(&p->w, c, &program->w)) {
    c->realloc(c->user, p, 0);
    return context_error(c, "out of memory"), STC_MEMORY;
  }
  PlanArgs args = {p, device ? device : "host", n, defines, first, room, like};
  StcStatus s = workspace_guard(&p->w, prepare_guarded, &args);
  if (s)
    stc_plan_free(p);
  else
    *out = p;
  return s;
}

StcStatus plan_prepare(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out) {
  return prepare(program, device, n, defines, false, false, false, NULL, NULL, out);
}

StcStatus plan_prepare_turn(StcProgram *program, const char *device, int n, const char *const *defines, bool bare,
                            const StcPlan *like, StcPlan **out) {
  return prepare(program, device, n, defines, false, bare, true, NULL, like, out);
}

void plan_release(StcPlan *p) {
  plan_forget_recordings(p);
  plan_free_points(p);
  for (int i = 0; i < p->memory.nslots; i++)
    plan_release_slot(p, &p->memory.slots[i]);
  plan_release_slot(p, &p->memory.spare);
  plan_release_left(p, true);
  memory_free_loans(&p->memory);
  plan_free_frames(p);
  disk_close(p->memory.disk);
  p->memory.disk = NULL;
  p->memory.nslots = 0;
}

StcStatus plan_reset(StcPlan *p, int n, const char *const *defines) {
  plan_join(p);
  plan_release(p);
  PlanArgs args = {.p = p, .n = n, .defines = defines};
  return workspace_guard(&p->w, reset_guarded, &args);
}

/* plan_new; room: as in PlanArgs. */
static StcStatus new_plan(StcProgram *program, const char *device, bool facade, bool dense, int n,
                          const char *const *defines, double *room, StcPlan **out) {
  StcStatus s = prepare(program, device, n, defines, true, facade, dense, room, NULL, out);
  if (!s)
    (*out)->awaits_runs = (*out)->build && (*out)->device.kind->need && !facade;
  if (!s)
    s = plan_reset(*out, n, defines);
  if (s && *out) {
    stc_plan_free(*out);
    *out = NULL;
  }
  return s;
}

StcStatus plan_new(StcProgram *program, const char *device, bool facade, bool dense, int n, const char *const *defines,
                   StcPlan **out) {
  return new_plan(program, device, facade, dense, n, defines, NULL, out);
}

StcStatus plan_new_fitting(StcProgram *program, const char *device, int n, const char *const *defines, double *room,
                           StcPlan **out) {
  *room = 0;
  return new_plan(program, device, false, false, n, defines, room, out);
}

StcStatus plan_new_within(StcProgram *program, const char *device, double memory, bool cut, int n,
                          const char *const *defines, StcPlan **out) {
  StcStatus s = plan_new(program, device, true, true, n, defines, out);
  double all = 0;
  if (s)
    return s;
  StcPlan *p = *out;
  for (int i = 0; i < p->memory.nslots; i++)
    all += (double)(p->memory.slots[i].size + p->memory.slots[i].lead);
  if (all <= memory && !cut) {
    stc_plan_free(p);
    *out = NULL;
    return stc_plan_new(program, device, n, defines, out);
  }
  p->facade = false;
  p->memory.outside = true;
  s = plan_reset(p, n, defines);
  if (s) {
    stc_plan_free(p);
    *out = NULL;
  }
  return s;
}

StcStatus stc_plan_new(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out) {
  return plan_new(program, device, false, false, n, defines, out);
}

void stc_plan_free(StcPlan *p) {
  if (!p)
    return;
  StcContext *c = p->w.context;
  stc_plan_stop(p, true);
  plan_join(p);
  if (p->observers.visit)
    p->observers.visit->close(p->observers.visit->user);
  if (p->split) {
    Split *split = p->split;
    p->split_ops->close(p);
    c->realloc(c->user, split, 0);
  }
  if (p->gradient)
    p->free_gradient(p->gradient);
  free(p->scratch);
  free(p->run.reduced);
  plan_release(p);
  if (p->device.kind)
    p->device.kind->close(&p->device);
  workspace_close(&p->w);
  c->realloc(c->user, p, 0);
}
