/* driver/plan.c: a program on a device with fixed params: checked and loaded once, run many times. The time loop is the paper's Algorithm
 * 5, the host part. */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- describing */

/* "8x32" of the first `rank` numbers. */
static const char *times_text(Arena *a, const int32_t *n, int rank) {
  Str s = {a, NULL, 0, 0};
  for (int d = 0; d < rank; d++) str_addf(&s, d ? "x%d" : "%d", (int)n[d]);
  return s.s;
}

const char *schedule_describe(Arena *a, const Module *m, const Schedule *s) {
  int rank = m->grid.rank;
  if (s->family && strcmp(s->family, "naive") == 0) return arena_printf(a, "naive block=%s", times_text(a, s->block, rank));
  if (s->family)
    return arena_printf(a, "%s T=%d block=%s elems=%s", s->family, (int)s->T, times_text(a, s->block, rank), times_text(a, s->elems, rank));
  const HostSeq *seq = m->host.nseqs ? &m->host.seqs[0] : NULL;
  for (int i = 0; seq && i < seq->nops; i++) {
    const Kernel *k = seq->ops[i].kind == HOST_LAUNCH ? &m->kernels[seq->ops[i].a] : NULL;
    if (k)
      return arena_printf(a, "given T=%d block=%s tile=%s", (int)seq->steps, times_text(a, k->threads, k->rank),
                          times_text(a, k->tile, k->rank));
  }
  return "nothing to launch";
}

void fields_with_init(const Module *m, bool *has) {
  for (int i = 0; i < m->ninits; i++)
    for (int t = 0; t < m->inits[i].ntargets; t++) has[m->inits[i].targets[t]] = true;
  for (int i = 0; i < m->host.init.nops; i++) {
    if (m->host.init.ops[i].kind != HOST_LAUNCH) continue;
    const Kernel *k = &m->kernels[m->host.init.ops[i].a];
    for (int j = 0; j < k->nargs; j++)
      if (k->args[j].kind == KARG_BUFFER && k->args[j].writes) has[m->buffers[k->args[j].index].field] = true;
  }
}

/* ---------------------------------------------------------------- making a plan */

/* The bytes of field `f`, or false after an error if they do not fit an address. */
static bool field_bytes(StcPlan *p, const Field *f, size_t *bytes) {
  int64_t shape[MAX_RANK] = {1, 1, 1}, n = 1, size;
  field_shape(f, p->scalars, shape);
  for (int d = 0; d < f->box.rank; d++)
    if (__builtin_mul_overflow(n, shape[d], &n)) n = -1;
  if (n < 0 || __builtin_mul_overflow(n, (int64_t)type_size(f->type), &size) || size > INT64_MAX / 2) {
    diag_error(p->w.diags, f->loc, "field %s would take more bytes than an address can name; choose smaller params", f->name);
    return false;
  }
  *bytes = (size_t)size;
  return true;
}

/* Bytes to allocate for a field of `bytes`: as if no dimension were empty, because kernels may read ahead (and use nothing of it) in a field that has no points. */
static size_t layout_bytes(const StcPlan *p, const Field *f, size_t bytes) {
  int64_t shape[MAX_RANK] = {1, 1, 1};
  size_t n = (size_t)type_size(f->type);
  field_shape(f, p->scalars, shape);
  for (int d = 0; d < f->box.rank; d++) n *= shape[d] > 0 ? (size_t)shape[d] : 1;
  return bytes ? bytes : n;
}

/* Device memory of a new slot for `field`. */
static StcStatus add_slot(StcPlan *p, int field, int *slot) {
  size_t size;
  void *memory = NULL;
  if (!field_bytes(p, &p->module->fields[field], &size)) return STC_INPUT;
  StcStatus s = STC_OK;
  if (!p->device.kind->whole) {
    s = p->device.kind->alloc(&p->device, layout_bytes(p, &p->module->fields[field], size), &memory);
  } else {
    memory = calloc(size ? size : 1, 1);
    if (!memory)
      s = (diag_error(p->w.diags, no_loc(), "no memory on this computer for field %s of %zu bytes", p->module->fields[field].name, size),
           STC_MEMORY);
  }
  if (s) return s;
  *slot = p->nslots;
  p->slots[p->nslots++] = (Slot){field, memory, size};
  return STC_OK;
}

/* Memory for every buffer of the kernels, and for every field that no kernel touches but the user may. */
static StcStatus make_slots(StcPlan *p) {
  const Module *m = p->module, *k = p->build ? p->build->code.module : NULL;
  int nbuffers = k && !p->device.kind->whole ? k->nbuffers : 0;
  p->slots = ARENA_ARRAY(p->w.arena, Slot, nbuffers + m->nfields + 1);
  p->slot_of_field = ARENA_ARRAY(p->w.arena, int32_t, m->nfields + 1);
  p->slot_of_buffer = ARENA_ARRAY(p->w.arena, int32_t, nbuffers + 1);
  StcStatus s = STC_OK;
  for (int f = 0; f < m->nfields; f++) p->slot_of_field[f] = -1;
  for (int b = 0; b < nbuffers && !s; b++) {
    int slot = -1;
    s = add_slot(p, k->buffers[b].field, &slot);
    p->slot_of_buffer[b] = slot;
    if (k->buffers[b].copy == 0) p->slot_of_field[k->buffers[b].field] = slot;
  }
  for (int f = 0; f < m->nfields && !s; f++)
    if (!m->fields[f].temp && p->slot_of_field[f] < 0) {
      int slot = -1;
      s = add_slot(p, f, &slot);
      p->slot_of_field[f] = slot;
    }
  return s;
}

StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]) {
  const TargetInfo *t = target_info(p->build->code.target);
  for (int d = 0; d < k->rank; d++) {
    bool overflow = false;
    int64_t points = affine_eval(k->extent[d], p->scalars, &overflow);
    if (overflow) return diag_error(p->w.diags, k->loc, "kernel %s: its extent in dimension %d overflows 64 bits", k->name, d), STC_INPUT;
    blocks[d] = points <= 0 ? 0 : (points - 1) / k->tile[d] + 1;
    int64_t most = t->simt ? t->max_grid[k->rank - 1 - d] : INT64_MAX;
    if (blocks[d] > most)
      return diag_error(
                 p->w.diags, k->loc,
                 "kernel %s needs %lld blocks of %d points in dimension %d, but %s %s allows %lld: ask for a larger tile there with -block or -elems",
                 k->name, (long long)blocks[d], (int)k->tile[d], d, t->name, t->cpu, (long long)most),
             STC_INPUT;
  }
  return STC_OK;
}

/* Which target kernels for device `d` are made for: the device's own; where it takes any (sim), the one asked for, or a GPU of the middle
 * size. */
static const Target *choose_target(StcProgram *p, const Device *d) {
  const StcOptions *o = &p->options;
  const char *arch = d->kind->arch ? d->kind->arch : o->march ? o->march : "nvptx";
  bool same = !o->march || strcmp(o->march, arch) == 0;
  const char *cpu = same && o->mcpu ? o->mcpu : d->kind->arch ? d->cpu : NULL;
  const Target *t = target_find(p->w.arena, p->w.diags, arch, cpu);
  return t && d->kind->arch ? target_with_limits(p->w.arena, t, &d->limits) : t;
}

/* What finding a build hands to its guarded part. */
typedef struct BuildArgs { StcProgram *p; const Device *d; Build *out; } BuildArgs;

/* The program's build for the device, made if there is none yet. It lives in the program's memory. */
static StcStatus find_build(void *arg) {
  BuildArgs *a = arg;
  StcProgram *p = a->p;
  for (a->out = p->builds; a->out; a->out = a->out->next)
    if (strcmp(a->out->device, a->d->name) == 0) return STC_OK;
  const Target *t = choose_target(p, a->d);
  if (!t) return STC_USAGE;
  Build *b = ARENA_NEW(p->w.arena, Build);
  StcStatus s = program_compile(p, &p->w, t, &b->code);
  if (s) return s;
  b->device = arena_strdup(p->w.arena, a->d->name);
  b->next = p->builds;
  p->builds = a->out = b;
  return STC_OK;
}

/* Compiles the program for the device (the reference runs it as read), and loads it. */
static StcStatus make_code(StcPlan *p) {
  StcStatus s = STC_OK;
  double start = clock_seconds();
  p->module = p->program->module;
  if (p->device.kind != &device_ref) {
    BuildArgs args = {p->program, &p->device, NULL};
    s = workspace_guard(&p->program->w, find_build, &args);
    p->build = s ? NULL : args.out;
    p->module = s ? p->module : args.out->code.module;
  }
  if (!s) s = p->device.kind->load(&p->device, p->program, p->build);
  p->compile_seconds = clock_seconds() - start + p->program->frontend_seconds;
  return s;
}

/* The number of grid points under the plan's scalars. */
static int64_t grid_points(const StcPlan *p) {
  Field whole = {.name = "grid", .box = p->module->grid};
  int64_t shape[MAX_RANK];
  return field_shape(&whole, p->scalars, shape);
}

/* What stc_plan_new hands to its guarded part. */
typedef struct PlanArgs { StcPlan *p; const char *device; int n; const char *const *defines; } PlanArgs;

/* The program's defines, then the plan's. */
static StcStatus bind(StcPlan *p, int n, const char *const *texts) {
  const StcProgram *g = p->program;
  Define *defines = ARENA_ARRAY(p->w.arena, Define, g->options.ndefines + n + 1);
  for (int i = 0; i < g->options.ndefines; i++) defines[i] = g->defines[i];
  for (int i = 0; i < n; i++)
    if (!define_parse(p->w.arena, texts[i], &defines[g->options.ndefines + i]))
      return diag_error(p->w.diags, no_loc(), "-D%s: write -DNAME=VALUE", texts[i]), STC_USAGE;
  p->scalars = ARENA_ARRAY(p->w.arena, Const, p->module->nscalars + 1);
  return module_bind(p->module, g->options.ndefines + n, defines, p->scalars, p->w.diags) ? STC_OK : STC_INPUT;
}

/* Opens the device, makes and loads the code, binds the params, checks the grids and allocates. */
static StcStatus plan_fill(void *arg) {
  PlanArgs *args = arg;
  StcPlan *p = args->p;
  StcStatus s = device_open(&p->w, args->device, &p->device);
  if (!s) s = make_code(p);
  if (!s) s = bind(p, args->n, args->defines);
  if (s) return s;
  p->points = grid_points(p);
  for (int i = 0; p->build && i < p->build->code.module->nkernels && !s; i++) {
    int64_t blocks[MAX_RANK];
    s = plan_blocks(p, &p->build->code.module->kernels[i], blocks);
  }
  p->given = ARENA_ARRAY(p->w.arena, bool, p->module->nfields + 1);
  p->schedule = p->build ? schedule_describe(p->w.arena, p->build->code.module, &p->build->code.schedule) : "none";
  return s ? s : make_slots(p);
}

StcStatus stc_plan_new(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out) {
  StcContext *c = program->w.context;
  *out = NULL;
  StcPlan *p = c->realloc(c->user, NULL, sizeof *p);
  if (!p) return context_error(c, "out of memory"), STC_MEMORY;
  memset(p, 0, sizeof *p);
  p->program = program;
  if (!workspace_open(&p->w, c, &program->w)) {
    c->realloc(c->user, p, 0);
    return context_error(c, "out of memory"), STC_MEMORY;
  }
  PlanArgs args = {p, device ? device : "host", n, defines};
  StcStatus s = workspace_guard(&p->w, plan_fill, &args);
  if (s)
    stc_plan_free(p);
  else
    *out = p;
  return s;
}

void stc_plan_free(StcPlan *p) {
  if (!p) return;
  StcContext *c = p->w.context;
  for (int i = 0; i < p->nslots; i++) {
    if (p->device.kind->whole)
      free(p->slots[i].memory);
    else
      p->device.kind->release(&p->device, p->slots[i].memory, p->slots[i].size);
  }
  if (p->device.kind) p->device.kind->close(&p->device);
  workspace_close(&p->w);
  c->realloc(c->user, p, 0);
}

/* ---------------------------------------------------------------- fields */

StcStatus stc_plan_field(StcPlan *p, int field, StcFieldInfo *out) {
  if (field < 0 || field >= p->module->nfields) return context_error(p->w.context, "there is no field number %d", field), STC_USAGE;
  const Field *f = &p->module->fields[field];
  *out = (StcFieldInfo){f->name, (StcType)f->type, f->box.rank, {0}, 0, f->input, f->temp, false};
  out->bytes = field_shape(f, p->scalars, out->shape) * type_size(f->type);
  for (int i = 0; i < p->module->ninits; i++)
    for (int t = 0; t < p->module->inits[i].ntargets; t++) out->has_init |= p->module->inits[i].targets[t] == field;
  for (int i = 0; i < p->program->module->ninits; i++)
    for (int t = 0; t < p->program->module->inits[i].ntargets; t++) out->has_init |= p->program->module->inits[i].targets[t] == field;
  return STC_OK;
}

/* The slot that holds the field's value, after checking that there is one of `bytes` bytes. */
static StcStatus find_slot(StcPlan *p, int field, size_t bytes, Slot **out) {
  if (field < 0 || field >= p->module->nfields) return context_error(p->w.context, "there is no field number %d", field), STC_USAGE;
  const Field *f = &p->module->fields[field];
  if (f->temp) return context_error(p->w.context, "field %s is temp: it holds no value from one time step to the next", f->name), STC_USAGE;
  *out = &p->slots[p->slot_of_field[field]];
  if ((*out)->size != bytes)
    return context_error(p->w.context, "field %s has %zu bytes, but %zu were given: the array must have the field's type and extents",
                         f->name, (*out)->size, bytes),
           STC_USAGE;
  return STC_OK;
}

/* What copying in and out hands to its guarded part. */
typedef struct CopyArgs { StcPlan *p; Slot *slot; void *out; const void *in; } CopyArgs;

/* Copies one way, whichever pointer is set. */
static StcStatus copy_guarded(void *arg) {
  CopyArgs *c = arg;
  Device *d = &c->p->device;
  if (!d->kind->whole)
    return c->in ? d->kind->put(d, c->slot->memory, c->in, c->slot->size) : d->kind->fetch(d, c->out, c->slot->memory, c->slot->size);
  if (c->slot->size) memcpy(c->in ? c->slot->memory : c->out, c->in ? c->in : c->slot->memory, c->slot->size);
  return STC_OK;
}

StcStatus stc_plan_set(StcPlan *p, int field, const void *data, size_t bytes) {
  CopyArgs c = {p, NULL, NULL, data};
  StcStatus s = find_slot(p, field, bytes, &c.slot);
  if (!s && bytes) s = workspace_guard(&p->w, copy_guarded, &c);
  if (!s) p->given[field] = true;
  return s;
}

StcStatus stc_plan_get(StcPlan *p, int field, void *data, size_t bytes) {
  CopyArgs c = {p, NULL, data, NULL};
  StcStatus s = find_slot(p, field, bytes, &c.slot);
  return s || !bytes ? s : workspace_guard(&p->w, copy_guarded, &c);
}

StcStatus stc_plan_pointer(StcPlan *p, int field, void **pointer) {
  *pointer = NULL;
  if (field < 0 || field >= p->module->nfields || p->module->fields[field].temp)
    return context_error(p->w.context, "field number %d has no memory", field), STC_USAGE;
  *pointer = p->slots[p->slot_of_field[field]].memory;
  p->given[field] = true;
  return STC_OK;
}

/* ---------------------------------------------------------------- running kernels */

/* The value of an argument, in the type that the kernel takes it as. */
typedef union ArgValue { void *p; int64_t i64; int32_t i32; int16_t i16; int8_t i8; uint8_t b; float f32; double f64; } ArgValue;

/* `c` of type `t` as the bytes that are passed. */
static ArgValue scalar_bytes(Const c, Type t) {
  ArgValue v = {0};
  switch (t) {
    case TY_BOOL: v.b = c.i != 0; break;
    case TY_I8: v.i8 = (int8_t)c.i; break;
    case TY_I16: v.i16 = (int16_t)c.i; break;
    case TY_I32: v.i32 = (int32_t)c.i; break;
    case TY_F32: v.f32 = (float)c.f; break;
    case TY_F64: v.f64 = c.f; break;
    default: v.i64 = c.i; break;
  }
  return v;
}

/* Launches kernel `index` at the plan's step. */
static StcStatus launch(StcPlan *p, int index) {
  const Module *m = p->build->code.module;
  const Kernel *k = &m->kernels[index];
  ArgValue values[k->nargs + 1];
  void *args[k->nargs + 1];
  Launch l = {index, k, {0}, args};
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER) values[i].p = p->slots[p->slot_of_buffer[a->index]].memory;
    if (a->kind == KARG_SCALAR) values[i] = scalar_bytes(p->scalars[a->index], m->scalars[a->index].type);
    if (a->kind == KARG_STEP) values[i].i64 = p->done;
    args[i] = &values[i];
  }
  StcStatus s = plan_blocks(p, k, l.blocks);
  for (int d = 0; d < k->rank; d++)
    if (l.blocks[d] == 0) return s;
  if (!s) s = p->device.kind->launch(&p->device, &l);
  p->launches += !s;
  return s;
}

/* Exchanges what two buffers stand for. */
static void swap(StcPlan *p, int a, int b) {
  const Module *m = p->build->code.module;
  int32_t t = p->slot_of_buffer[a];
  p->slot_of_buffer[a] = p->slot_of_buffer[b];
  p->slot_of_buffer[b] = t;
  if (m->buffers[a].copy == 0) p->slot_of_field[m->buffers[a].field] = p->slot_of_buffer[a];
  if (m->buffers[b].copy == 0) p->slot_of_field[m->buffers[b].field] = p->slot_of_buffer[b];
}

/* Runs one sequence and counts its steps. */
static StcStatus run_sequence(StcPlan *p, const HostSeq *seq) {
  StcStatus s = STC_OK;
  for (int i = 0; i < seq->nops && !s; i++) {
    if (seq->ops[i].kind == HOST_LAUNCH)
      s = launch(p, seq->ops[i].a);
    else
      swap(p, seq->ops[i].a, seq->ops[i].b);
  }
  p->done += seq->steps;
  return s;
}

/* Does kernel `k` write a field whose `given` is `want`? */
static bool writes_field(const StcPlan *p, const Kernel *k, bool want) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].writes && p->given[m->buffers[k->args[i].index].field] == want) return true;
  return false;
}

/* Launches init kernel `index`, and puts back what it wrote in place into fields that were given. */
static StcStatus launch_init(StcPlan *p, int index) {
  const Module *m = p->build->code.module;
  const Kernel *k = &m->kernels[index];
  Device *d = &p->device;
  StcStatus s = STC_OK;
  void *saved[k->nargs + 1];
  memset(saved, 0, sizeof saved);
  for (int i = 0; i < k->nargs && !s; i++) {
    if (k->args[i].kind != KARG_BUFFER || !k->args[i].writes) continue;
    const Buffer *b = &m->buffers[k->args[i].index];
    Slot *slot = &p->slots[p->slot_of_buffer[k->args[i].index]];
    if (b->copy != 0 || !p->given[b->field]) continue;
    saved[i] = malloc(slot->size + 1);
    s = saved[i] ? d->kind->fetch(d, saved[i], slot->memory, slot->size) : STC_MEMORY;
  }
  if (!s) s = launch(p, index);
  if (!s) s = d->kind->wait(d);
  for (int i = 0; i < k->nargs; i++) {
    Slot *slot = saved[i] ? &p->slots[p->slot_of_buffer[k->args[i].index]] : NULL;
    if (saved[i] && !s) s = d->kind->put(d, slot->memory, saved[i], slot->size);
    free(saved[i]);
  }
  return s;
}

/* Does a single init of `m`, stencil IR, set all points of `field`? */
static bool init_covers(const Module *m, int field) {
  for (int i = 0; i < m->ninits; i++)
    for (int k = 0; k < m->inits[i].npieces; k++) {
      const Piece *piece = &m->inits[i].pieces[k];
      for (int t = 0; t < piece->ntargets; t++)
        if (piece->targets[t] == field && box_inside(&m->fields[field].box, &piece->box) == 1) return true;
    }
  return false;
}

/* Makes the fields 0 that inits set at some points only. */
static StcStatus zero_fields(StcPlan *p) {
  bool *init = ARENA_ARRAY(p->w.arena, bool, p->module->nfields + 1);
  StcStatus s = STC_OK;
  fields_with_init(p->module, init);
  for (int f = 0; f < p->module->nfields && !s; f++) {
    if (!init[f] || p->given[f] || p->module->fields[f].temp || init_covers(p->program->module, f)) continue;
    Slot *slot = &p->slots[p->slot_of_field[f]];
    void *zeros = calloc(slot->size ? slot->size : 1, 1);
    if (!zeros) return diag_error(p->w.diags, no_loc(), "no memory on this computer for %zu bytes", slot->size), STC_MEMORY;
    s = p->device.kind->put(&p->device, slot->memory, zeros, slot->size);
    free(zeros);
  }
  return s;
}

/* The init sequence: kernels all of whose targets were given are left out, and a given field keeps its buffer. */
static StcStatus run_inits(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.init;
  StcStatus s = zero_fields(p);
  for (int i = 0; i < seq->nops && !s; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind == HOST_SWAP) {
      if (!p->given[m->buffers[op->a].field]) swap(p, op->a, op->b);
    } else if (!writes_field(p, &m->kernels[op->a], true)) {
      s = launch(p, op->a);
    } else if (writes_field(p, &m->kernels[op->a], false)) {
      s = launch_init(p, op->a);
    }
  }
  return s;
}

/* The first sequence that does not go beyond `left` steps. */
static const HostSeq *next_sequence(const Module *m, int64_t left) {
  for (int i = 0; i < m->host.nseqs; i++)
    if (m->host.seqs[i].steps > 0 && m->host.seqs[i].steps <= left) return &m->host.seqs[i];
  return NULL;
}

/* Tells the progress callback; false if it wants to stop. */
static bool go_on(StcPlan *p, int64_t first, int64_t steps) {
  return !p->progress || p->progress(p->progress_user, p->done - first, steps);
}

/* Runs up to `count` sequences, as long as steps are left before `end`. */
static StcStatus run_batch(StcPlan *p, int64_t end, int64_t count) {
  StcStatus s = STC_OK;
  for (int64_t i = 0; i < count && p->done < end && !s; i++) {
    const HostSeq *seq = next_sequence(p->build->code.module, end - p->done);
    if (!seq)
      return diag_error(p->w.diags, no_loc(), "the kernels' host part has no sequence of one step, so %lld steps cannot be made",
                        (long long)(end - p->done)),
             STC_INPUT;
    s = run_sequence(p, seq);
  }
  return s;
}

/* Algorithm 5: sequences until `steps` are done, asking the callback about every tenth of a second. */
static StcStatus run_steps(StcPlan *p, int64_t steps) {
  Device *d = &p->device;
  int64_t first = p->done, end = first + steps, count = 1;
  StcStatus s = STC_OK;
  while (!s && p->done < end) {
    double before = clock_seconds();
    s = run_batch(p, end, p->progress ? count : INT64_MAX);
    if (!s && p->progress) s = d->kind->wait(d);
    if (!s && !go_on(p, first, steps)) s = STC_INTERRUPTED;
    double took = clock_seconds() - before;
    count = took < 0.05 ? count * 2 : took > 0.2 && count > 1 ? count / 2 : count;
  }
  return s;
}

/* Inits, on the first run, and then the steps, which alone are timed. */
static StcStatus run_kernels(StcPlan *p, int64_t steps, double *seconds) {
  Device *d = &p->device;
  StcStatus s = p->inits_done ? STC_OK : run_inits(p);
  if (!s) s = d->kind->wait(d);
  p->inits_done |= !s;
  if (!s) s = d->kind->start(d);
  if (!s) s = run_steps(p, steps);
  StcStatus stopped = s && s != STC_INTERRUPTED ? s : d->kind->stop(d, seconds);
  return s ? s : stopped;
}

/* ---------------------------------------------------------------- running whole modules */

/* The steps to run at once: all if nobody watches, else `count` time tiles. */
static int64_t whole_chunk(const StcPlan *p, int64_t left, int64_t count) {
  int64_t tile = p->build && p->build->code.module->host.nseqs ? p->build->code.module->host.seqs[0].steps : 1;
  return !p->progress || tile < 1 || count > left / tile ? left : count * tile;
}

/* Runs on ref and sim. */
static StcStatus run_whole(StcPlan *p, int64_t steps, double *seconds) {
  Device *d = &p->device;
  int64_t first = p->done, end = first + steps, count = 1;
  double start = clock_seconds();
  StcStatus s = STC_OK;
  void **fields = ARENA_ARRAY(p->w.arena, void *, p->module->nfields + 1);
  for (int f = 0; f < p->module->nfields; f++) fields[f] = p->slot_of_field[f] < 0 ? NULL : p->slots[p->slot_of_field[f]].memory;
  while (!s && (p->done < end || !p->inits_done)) {
    int64_t chunk = whole_chunk(p, end - p->done, count);
    double before = clock_seconds();
    Binding b = {.scalars = p->scalars, .fields = fields, .first_step = p->done};
    WholeRun r = {&b, chunk, !p->inits_done, p->given};
    s = d->kind->run(d, &r);
    p->inits_done |= !s;
    p->done += chunk;
    if (clock_seconds() - before < 0.05) count *= 2;
    if (!s && !go_on(p, first, steps)) s = STC_INTERRUPTED;
  }
  *seconds = clock_seconds() - start;
  return s;
}

/* ---------------------------------------------------------------- the interface */

/* Names every field that has no value yet. */
static StcStatus check_given(StcPlan *p) {
  bool *init = ARENA_ARRAY(p->w.arena, bool, p->module->nfields + 1);
  StcStatus s = STC_OK;
  fields_with_init(p->module, init);
  for (int f = 0; f < p->module->nfields; f++) {
    const Field *field = &p->module->fields[f];
    if (field->temp || init[f] || p->given[f] || p->inits_done) continue;
    diag_error(p->w.diags, field->loc,
               "field %s has no value to start from: give it one with --in %s=FILE.npy, --in %s=random:1 or --in %s=0%s", field->name,
               field->name, field->name, field->name, field->input ? "" : ", or write an `init` for it");
    s = STC_INPUT;
  }
  return s;
}

/* What stc_plan_run hands to its guarded part. */
typedef struct RunArgs { StcPlan *p; int64_t steps; StcRunInfo *info; } RunArgs;

/* Runs, and fills info. */
static StcStatus run_guarded(void *arg) {
  RunArgs *r = arg;
  StcPlan *p = r->p;
  int64_t steps = r->steps < 0 ? p->module->steps : r->steps, launches = p->launches;
  double seconds = 0;
  if (p->done > INT64_MAX - steps) return diag_error(p->w.diags, no_loc(), "%lld steps are too many", (long long)steps), STC_USAGE;
  StcStatus s = check_given(p);
  if (!s) s = p->device.kind->whole ? run_whole(p, steps, &seconds) : run_kernels(p, steps, &seconds);
  if (s) return s;
  double work = (double)p->points * (double)steps;
  if (r->info) *r->info = (StcRunInfo){seconds, p->points, steps, p->launches - launches, seconds > 0 ? work / seconds / 1e9 : 0};
  return STC_OK;
}

StcStatus stc_plan_run(StcPlan *p, int64_t steps, StcRunInfo *info) {
  RunArgs args = {p, steps, info};
  return workspace_guard(&p->w, run_guarded, &args);
}

void stc_plan_progress(StcPlan *p, bool (*fn)(void *user, int64_t done, int64_t of), void *user) {
  p->progress = fn;
  p->progress_user = user;
}

double stc_plan_compile_seconds(const StcPlan *p) { return p->compile_seconds; }
const char *stc_plan_device(const StcPlan *p) { return p->device.description; }
const char *stc_plan_schedule(const StcPlan *p) { return p->schedule; }
