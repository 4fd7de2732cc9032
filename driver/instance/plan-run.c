/* driver/instance/plan-run.c: running a plan: inits, and the time loop, the paper's Algorithm 5, with reductions
 * evaluated between its steps. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "passes/plan/cost/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- running kernels */

/* The value of an argument, in the type that the kernel takes it as. */
typedef union ArgValue {
  void *p;
  int64_t i64;
  int32_t i32;
  int16_t i16;
  int8_t i8;
  uint8_t b;
  float f32;
  double f64;
} ArgValue;

/* `c` of type `t` as the bytes that are passed. */
static ArgValue scalar_bytes(Const c, Type t) {
  ArgValue v = {0};
  switch (t) {
  case TY_BOOL: v.b = c.i != 0; break;
  case TY_I8: v.i8 = (int8_t)c.i; break;
  case TY_I16: v.i16 = (int16_t)c.i; break;
  case TY_U8: v.b = (uint8_t)c.i; break;
  case TY_U16: v.i16 = (int16_t)c.i; break;
  case TY_U32:
  case TY_I32: v.i32 = (int32_t)c.i; break;
  case TY_F32: v.f32 = (float)c.f; break;
  case TY_F64: v.f64 = c.f; break;
  default: v.i64 = c.i; break;
  }
  return v;
}

/* Starts `l`; if kernels are timed, waits for it and adds what it took. */
static StcStatus start_kernel(StcPlan *p, const Launch *l) {
  Device *d = &p->device;
  double seconds = 0;
  StcStatus s = p->times ? d->kind->start(d) : STC_OK;
  if (!s)
    s = d->kind->launch(d, l);
  p->torn |= s == STC_INTERRUPTED;
  p->launches += !s;
  p->follows = p->recording && !l->beside;
  if (!s && p->times)
    s = d->kind->stop(d, &seconds);
  if (p->times) {
    p->times[l->index].launches += !s;
    p->times[l->index].seconds += seconds;
  }
  return s;
}

/* Has nothing that is lent written over by kernel `k`. */
static StcStatus keep_lent(StcPlan *p, const Kernel *k) {
  StcStatus s = STC_OK;
  for (int i = 0; i < k->nargs && !s && p->lending; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].writes)
      s = plan_before_write(p, &p->slots[p->slot_of_buffer[k->args[i].index]]);
  return s;
}

/* Launches kernel `named`, or the one that suits the params better, `after` steps behind the plan's; `beside` and
 * `lane` go to the device. */
static StcStatus launch_in(StcPlan *p, int named, int32_t after, bool beside, int lane) {
  const Module *m = p->build->code.module;
  int index = kernel_chosen(m, named, p->scalars);
  const Kernel *k = &m->kernels[index];
  ArgValue values[k->nargs + 1];
  void *args[k->nargs + 1];
  Launch l = {index, k, {0}, args, beside, lane, p->recording && p->follows && !beside};
  StcStatus s = keep_lent(p, k);
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER)
      values[i].p = p->slots[p->slot_of_buffer[a->index]].memory;
    if (a->kind == KARG_SCALAR)
      values[i] = scalar_bytes(p->scalars[a->index], m->scalars[a->index].type);
    if (a->kind == KARG_STEP)
      values[i].i64 = p->done + after;
    args[i] = &values[i];
  }
  s = s ? s : plan_blocks(p, k, l.blocks);
  for (int d = 0; d < k->rank; d++)
    if (l.blocks[d] == 0)
      return s;
  return s ? s : start_kernel(p, &l);
}

/* The same in the main lane. */
static StcStatus launch(StcPlan *p, const HostOp *op, bool beside) {
  return launch_in(p, op->a, op->after, beside, LANE_MAIN);
}

StcStatus plan_launch_in(StcPlan *p, int named, int lane) { return launch_in(p, named, 0, false, lane); }

/* Notes what buffer `b` stands for now. */
static void note_slot(StcPlan *p, int b) {
  const Buffer *buffer = &p->build->code.module->buffers[b];
  if (buffer->kind == BUFFER_FIELD && buffer->copy == 0)
    p->slot_of_field[buffer->field] = p->slot_of_buffer[b];
}

/* Exchanges what two buffers stand for: copies of one field, or of a field and its past. */
static void swap(StcPlan *p, int a, int b) {
  int32_t t = p->slot_of_buffer[a];
  p->slot_of_buffer[a] = p->slot_of_buffer[b];
  p->slot_of_buffer[b] = t;
  note_slot(p, a);
  note_slot(p, b);
}

/* Has launching kernel `named` any blocks to run? */
static bool has_blocks(const StcPlan *p, int named) {
  const Module *m = p->build->code.module;
  int64_t blocks[MAX_RANK];
  return kernel_blocks(&m->kernels[kernel_chosen(m, named, p->scalars)], p->scalars, blocks) > 0;
}

/* Launches the first of the `n` ops at `op` and those beside it, at the same time if the device can and several have
 * something to do; *count is how many they are. */
static StcStatus launch_group(StcPlan *p, const HostOp *op, int n, int *count) {
  const DeviceKind *kind = p->device.kind;
  int busy = has_blocks(p, op[0].a);
  for (*count = 1; *count < n && op[*count].beside; (*count)++)
    busy += has_blocks(p, op[*count].a);
  bool apart = busy > 1 && kind->fork && !p->times;
  StcStatus s = apart ? kind->fork(&p->device) : STC_OK;
  p->follows &= !apart;
  for (int i = 0; i < *count && !s; i++)
    s = launch(p, &op[i], apart && op[i].beside);
  p->follows &= !apart;
  return apart && !s ? kind->join(&p->device) : s;
}

StcStatus plan_ops(StcPlan *p, int n, const HostOp *op) {
  StcStatus s = STC_OK;
  for (int i = 0, count; i < n && !s; i += count) {
    count = 1;
    if (op[i].kind == HOST_LAUNCH)
      s = launch_group(p, &op[i], n - i, &count);
    else
      swap(p, op[i].a, op[i].b);
  }
  return s;
}

StcStatus plan_sequence(StcPlan *p, const HostSeq *seq) {
  StcStatus s = plan_ops(p, seq->nops, seq->ops);
  p->done += seq->steps;
  return s;
}

/* Does kernel `k` write a field whose `given` is `want`? */
static bool writes_field(const StcPlan *p, const Kernel *k, bool want) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < k->nargs; i++)
    for (int f = 0; f < m->nfields; f++)
      if (p->given[f] == want && argument_writes(m, &k->args[i], f))
        return true;
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
    if (k->args[i].kind != KARG_BUFFER || !k->args[i].writes)
      continue;
    const Buffer *b = &m->buffers[k->args[i].index];
    Slot *slot = &p->slots[p->slot_of_buffer[k->args[i].index]];
    if (b->kind != BUFFER_FIELD || b->copy != 0 || !p->given[b->field])
      continue;
    saved[i] = malloc(slot->size + 1);
    s = saved[i] ? d->kind->fetch(d, saved[i], slot->memory, slot->size) : STC_MEMORY;
  }
  if (!s)
    s = launch(p, &(HostOp){.kind = HOST_LAUNCH, .a = index}, false);
  if (!s)
    s = d->kind->wait(d);
  for (int i = 0; i < k->nargs; i++) {
    Slot *slot = saved[i] ? &p->slots[p->slot_of_buffer[k->args[i].index]] : NULL;
    if (saved[i] && !s)
      s = d->kind->put(d, slot->memory, saved[i], slot->size);
    free(saved[i]);
  }
  return s;
}

/* Does a single init of the program set all points of field `field` of the plan's module? */
static bool init_covers(const StcPlan *p, int field) {
  const Module *m = p->program->module;
  int owner = p->owner[field];
  if (owner < 0)
    return false;
  int source = p->program->declared[owner].field;
  source += type_composite(m, m->fields[source].type) ? 0 : field - p->homes[owner].field;
  for (int i = 0; i < m->ninits; i++)
    for (int k = 0; k < m->inits[i].npieces; k++) {
      const Piece *piece = &m->inits[i].pieces[k];
      for (int t = 0; t < piece->ntargets; t++)
        if (piece->targets[t] == source && box_inside(&m->fields[source].box, &piece->box) == 1)
          return true;
    }
  return false;
}

/* Memory of this computer for `size` bytes (malloc), zeros if `clear`. NULL after an error. */
static void *host_memory(StcPlan *p, size_t size, bool clear) {
  void *memory = clear ? calloc(size + 1, 1) : malloc(size + 1);
  if (!memory)
    computer_no_room(p->w.context, "a copy of", "a field", (double)size);
  return memory;
}

/* Makes the fields 0 that inits set at some points only. */
static StcStatus zero_fields(StcPlan *p, const bool *init) {
  StcStatus s = STC_OK;
  for (int f = 0; f < p->module->nfields && !s; f++) {
    if (!init[f] || p->given[f] || p->module->fields[f].temp || init_covers(p, f))
      continue;
    Slot *slot = &p->slots[p->slot_of_field[f]];
    void *zeros = host_memory(p, slot->size, true);
    if (!zeros)
      return STC_MEMORY;
    s = p->device.kind->put(&p->device, slot->memory, zeros, slot->size);
    free(zeros);
  }
  return s;
}

/* Makes the pasts that nobody set what their fields are. */
static StcStatus start_pasts(StcPlan *p, const bool *init) {
  Device *d = &p->device;
  StcStatus s = STC_OK;
  for (int f = 0; f < p->module->nfields && !s; f++) {
    const Field *field = &p->module->fields[f];
    if (!field->past || field->temp || init[f] || p->given[f])
      continue;
    const Slot *from = &p->slots[p->slot_of_field[field->present]], *to = &p->slots[p->slot_of_field[f]];
    void *values = host_memory(p, from->size, false);
    if (!values)
      return STC_MEMORY;
    s = d->kind->fetch(d, values, from->memory, from->size);
    if (!s)
      s = d->kind->put(d, to->memory, values, from->size);
    free(values);
  }
  return s;
}

/* The init sequence: kernels all of whose targets were given are left out, and a given field keeps its buffer. */
static StcStatus run_init_sequence(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.init;
  StcStatus s = STC_OK;
  for (int i = 0; i < seq->nops && !s; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind == HOST_SWAP) {
      if (!p->given[m->buffers[op->a].field])
        swap(p, op->a, op->b);
    } else if (!writes_field(p, &m->kernels[op->a], true)) {
      s = launch(p, op, false);
    } else if (writes_field(p, &m->kernels[op->a], false)) {
      s = launch_init(p, op->a);
    }
  }
  return s;
}

/* Does anything have to be launched before the first step? */
static bool launches_init(const StcPlan *p) { return p->build->code.module->host.init.nops > 0; }

/* All that is done before the first step. */
static StcStatus run_inits(StcPlan *p) {
  bool *init = p->with_init;
  memset(init, 0, sizeof *init * (size_t)p->module->nfields);
  fields_with_init(p->module, init);
  StcStatus s = zero_fields(p, init);
  if (!s)
    s = run_init_sequence(p);
  if (!s && launches_init(p))
    s = p->device.kind->wait(&p->device);
  return s ? s : start_pasts(p, init);
}

/* ---------------------------------------------------------------- what is computed once */

/* Can the memory of a field that `k` reads be written by others than the plan? */
static bool reads_exposed(const StcPlan *p, const Kernel *k) {
  const Module *m = p->build->code.module;
  bool exposed = false;
  for (int i = 0; i < k->nargs && !exposed; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER && a->reads && m->buffers[a->index].kind == BUFFER_FIELD) {
      const Slot *slot = &p->slots[p->slot_of_buffer[a->index]];
      exposed = slot->foreign || slot->shown || slot->handed;
    }
  }
  return exposed;
}

/* Launches what is computed once, unless all that it is made of is sure to be as it was the last time. */
static StcStatus run_once(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.once;
  bool torn = p->torn; /* if it is stopped here, no field of the program's has changed */
  for (int i = 0; i < seq->nops && p->once_done; i++)
    if (seq->ops[i].kind == HOST_LAUNCH && reads_exposed(p, &m->kernels[seq->ops[i].a]))
      p->once_done = false;
  StcStatus s = p->once_done || !seq->nops ? STC_OK : plan_sequence(p, seq);
  p->once_done |= !s;
  p->torn = torn;
  return s;
}

/* ---------------------------------------------------------------- reductions */

void plan_take_value(void *user, const Reduction *r, int64_t step, Const value) {
  StcPlan *p = user;
  bool check = r->kind == REDUCE_FINITE || r->kind == REDUCE_BOUNDS;
  p->scalars[r->scalar] = value;
  if (check ? value.i != INT64_MAX : r->kind == REDUCE_UNTIL && r->type == TY_F64 && isnan(value.f))
    p->wrong = true;
  if (r->kind == REDUCE_UNTIL && step > 0 && !p->wrong && !p->met &&
      expression_value(p->w.arena, r->stop, p->scalars).i)
    p->met = r;
  if (check || !p->series)
    return;
  bool real = r->type == TY_F64;
  StcReduction out = {r->name, real ? STC_F64 : STC_I64, step, real ? value.f : 0, real ? 0 : value.i};
  p->series(p->series_user, &out);
}

/* The value in element 0 of buffer `buffer`, of type `t` (f64 or i64), once all launches are done. */
static StcStatus fetch_value(StcPlan *p, int buffer, Type t, Const *value) {
  union {
    double f;
    int64_t i;
  } u = {0};
  Device *d = &p->device;
  StcStatus s = d->kind->wait(d);
  if (!s)
    s = d->kind->fetch(d, &u, p->slots[p->slot_of_buffer[buffer]].memory, sizeof u);
  *value = t == TY_F64 ? (Const){.f = u.f} : (Const){.i = u.i};
  return s;
}

/* Evaluates the reductions that are due after p->done steps. An `until` whose condition is met sets p->met. */
static StcStatus evaluate(StcPlan *p) {
  const Module *m = p->build->code.module;
  StcStatus s = STC_OK;
  for (int i = 0; i < m->nreductions && !s; i++) {
    const Reduction *r = &m->reductions[i];
    Const value;
    bool stop = false;
    if (!reduction_is_due(r, p->done))
      continue;
    s = plan_sequence(p, &r->seq);
    if (!s)
      s = fetch_value(p, r->result, r->type, &value);
    if (s)
      return s;
    plan_take_value(p, r, p->done, value);
    if (!reduction_judge(m, r, p->scalars, p->done, &stop, p->w.diags))
      s = STC_INPUT;
  }
  return s;
}

/* ---------------------------------------------------------------- the time loop */

/* Tells the progress callback; false if it wants to stop. */
static bool go_on(StcPlan *p, int64_t first, int64_t steps) {
  return !p->progress || p->progress(p->progress_user, p->done - first, steps);
}

/* Runs up to `count` sequences, as long as steps are left before `end` and no `until` is met, and the reductions that
 * become due. */
static StcStatus run_batch(StcPlan *p, int64_t end, int64_t count) {
  const Module *m = p->build->code.module;
  StcStatus s = STC_OK;
  for (int64_t i = 0, made; i < count && p->done < end && !p->met && !s; i += made) {
    if (stop_asked(p->stop))
      return STC_INTERRUPTED;
    int64_t left = plan_steps_to_watch(p, p->done, end - p->done), due = module_steps_to_reduction(m, p->done);
    const HostSeq *seq = plan_next_sequence(p, left < due ? left : due);
    if (!seq)
      return diag_error(p->w.diags, no_loc(),
                        "the kernels' host part has no sequence of one step, so %lld steps cannot be made",
                        (long long)(end - p->done)),
             STC_INPUT;
    int64_t most = (left < due ? left : due) / seq->steps;
    s = plan_make_room(p, seq->steps);
    most = plan_room(p, seq->steps, most < count - i ? most : count - i);
    if (!s)
      s = plan_replay(p, seq, most, &made);
    if (!s && !made)
      s = plan_sequence(p, seq);
    made += !made;
    if (!s)
      s = evaluate(p);
    if (!s)
      s = plan_show(p);
  }
  return s;
}

/* How many sequences to run before the callback is asked again, `count` of which took so many seconds: about a
 * twentieth of a second's. */
static int64_t next_count(int64_t count, double took) {
  double more = took > 0 ? 0.1 / took : 64;
  return took < 0.05               ? count * (more > 64  ? 64
                                              : more < 2 ? 2
                                                         : (int64_t)more)
         : took > 0.2 && count > 1 ? count / 2
                                   : count;
}

/* Algorithm 5: sequences until `steps` are done, asking the callback about every tenth of a second. */
static StcStatus run_steps(StcPlan *p, int64_t steps) {
  Device *d = &p->device;
  int64_t first = p->done, end = first + steps, count = 1;
  bool begins = first == p->first && !p->evaluated;
  StcStatus s = steps ? run_once(p) : STC_OK;
  if (!s && begins && first == 0)
    s = plan_probe_before(p);
  if (!s && begins)
    s = evaluate(p);
  p->evaluated |= !s;
  if (!s)
    s = plan_show(p);
  while (!s && p->done < end && !p->met) {
    double before = clock_seconds();
    s = run_batch(p, end, p->progress ? count : INT64_MAX);
    if (!s && p->progress)
      s = d->kind->wait(d);
    if (!s && !go_on(p, first, p->met ? p->done - first : steps))
      s = STC_INTERRUPTED;
    count = next_count(count, clock_seconds() - before);
  }
  return s;
}

/* The seconds of all kernels that were timed. */
static double kernel_seconds(const StcPlan *p) {
  double sum = 0;
  for (int i = 0; i < p->build->code.module->nkernels; i++)
    sum += p->times[i].seconds;
  return sum;
}

/* Runs the steps with each kernel timed by itself. */
static StcStatus run_timed_kernels(StcPlan *p, int64_t steps, double *seconds) {
  double before = kernel_seconds(p);
  StcStatus s = run_steps(p, steps);
  *seconds = kernel_seconds(p) - before;
  if (!s)
    s = plan_settle(p);
  return s ? s : plan_drain(p);
}

/* Inits, on the first run, and then the steps, which alone are timed. Without `wait` *seconds stays. */
static StcStatus run_kernels(StcPlan *p, int64_t steps, bool wait, double *seconds) {
  Device *d = &p->device;
  StcStatus s = p->inits_done ? STC_OK : run_inits(p);
  if (!s && !p->inits_done && launches_init(p))
    s = d->kind->wait(d);
  p->once_done &= p->inits_done;
  p->inits_done |= !s;
  if (!s)
    s = plan_open_late(p, steps);
  if (!s && p->times)
    return run_timed_kernels(p, steps, seconds);
  if (!s)
    s = d->kind->start(d);
  if (!s)
    s = run_steps(p, steps);
  bool whole = !s || s == STC_INTERRUPTED;
  StcStatus stopped = whole ? plan_settle(p) : s;
  if (!stopped && wait)
    stopped = d->kind->stop(d, seconds);
  if (!stopped)
    stopped = plan_drain(p);
  return s ? s : stopped;
}

/* ---------------------------------------------------------------- running whole modules */

/* The steps of one time tile on ref and sim. */
static int64_t whole_tile(const StcPlan *p) {
  int64_t tile = p->build && p->build->code.module->host.nseqs ? p->build->code.module->host.seqs[0].steps : 1;
  return tile < 1 ? 1 : tile;
}

/* The steps to run at once: all of `left` if nobody asks for progress, else `count` time tiles; none before a watch
 * that is to see the fields before the first step. */
static int64_t whole_chunk(const StcPlan *p, int64_t left, int64_t count) {
  if (!p->inits_done && p->watches)
    return 0;
  left = plan_steps_to_watch(p, p->done, left);
  int64_t tile = whole_tile(p);
  return !p->progress || count > left / tile ? left : count * tile;
}

/* Runs `steps` steps, and inits if there were none yet, on ref or sim. */
static StcStatus run_chunk(StcPlan *p, int64_t steps, void **fields, void **arrays) {
  Binding b = {.scalars = p->scalars,
               .fields = fields,
               .param_arrays = arrays,
               .first_step = p->done,
               .evaluated = p->evaluated,
               .begins = p->done == p->first,
               .reduced = plan_take_value,
               .probed = p->probes ? plan_take_row : NULL,
               .user = p,
               .stop = p->stop,
               .ghosts = p->ghosts};
  WholeRun r = {&b, steps, !p->inits_done, p->given};
  StcStatus s = p->device.kind->run(&p->device, &r);
  if (s && p->wrong)
    s = STC_INPUT;
  p->torn |= b.torn;
  p->inits_done |= !s;
  p->evaluated |= !s;
  p->done += p->module->nreductions || !s ? b.done : 0;
  p->unseen = p->done + 1;
  return s;
}

/* Where fields and launch-time arrays are. */
static void memories(const StcPlan *p, void ***fields, void ***arrays) {
  *fields = ARENA_ARRAY(p->w.arena, void *, p->module->nfields + 1);
  *arrays = ARENA_ARRAY(p->w.arena, void *, p->module->nparam_arrays + 1);
  for (int f = 0; f < p->module->nfields; f++)
    (*fields)[f] = p->slot_of_field[f] < 0 ? NULL : p->slots[p->slot_of_field[f]].memory;
  for (int i = 0; i < p->module->nparam_arrays; i++)
    (*arrays)[i] = p->slots[p->slot_of_array[i]].memory;
}

int64_t plan_next_count(int64_t count, int64_t ran, double seconds) {
  return ran >= count && seconds < 0.05 ? 2 * count : count;
}

/* Runs on ref and sim. */
static StcStatus run_whole(StcPlan *p, int64_t steps, double *seconds) {
  int64_t first = p->done, end = first + steps, count = 1;
  double start = clock_seconds();
  StcStatus s = STC_OK;
  void **fields = p->memory, **arrays = p->memory + p->module->nfields;
  for (int f = 0; f < p->module->nfields; f++)
    fields[f] = p->slot_of_field[f] < 0 ? NULL : p->slots[p->slot_of_field[f]].memory;
  for (int i = 0; i < p->module->nparam_arrays; i++)
    arrays[i] = p->slots[p->slot_of_array[i]].memory;
  bool again = true;
  while (!s && again) {
    double before = clock_seconds();
    int64_t done = p->done;
    s = run_chunk(p, whole_chunk(p, end - p->done, count), fields, arrays);
    again = p->done < end && !p->met;
    count = plan_next_count(count, (p->done - done) / whole_tile(p), clock_seconds() - before);
    if (!s)
      s = plan_show(p);
    if (!s && (!go_on(p, first, p->met ? p->done - first : steps) || (again && stop_asked(p->stop))))
      s = STC_INTERRUPTED;
  }
  *seconds = clock_seconds() - start;
  return s;
}

/* ---------------------------------------------------------------- grids that are cut */

StcStatus plan_see_whole(StcPlan *p) {
  Binding b = {.scalars = p->scalars, .first_step = p->done, .evaluated = true, .see = true, .user = p};
  WholeRun r = {&b, 0, false, p->given};
  b.probed = p->probes ? plan_take_row : NULL;
  memories(p, &b.fields, &b.param_arrays);
  return p->device.kind->run(&p->device, &r);
}

StcStatus plan_run_whole_grid(StcPlan *p) {
  double seconds;
  bool (*progress)(void *user, int64_t done, int64_t of) = p->progress;
  p->progress = NULL;
  StcStatus s = p->device.kind->whole ? run_whole(p, 0, &seconds) : run_kernels(p, 0, true, &seconds);
  p->progress = progress;
  return s;
}

StcStatus plan_evaluate(StcPlan *p) {
  int64_t first = p->first;
  p->evaluated = false;
  p->first = p->done;
  StcStatus s = plan_run_whole_grid(p);
  p->first = first;
  return s;
}

/* ---------------------------------------------------------------- the interface */

/* What plan_run_steps hands to its guarded part. */
typedef struct RunArgs {
  StcPlan *p;
  int64_t steps;
  bool wait;
  StcRunInfo *info;
} RunArgs;

StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds) {
  int64_t made = p->done - first;
  double work = (double)p->points * (double)made;
  return (StcRunInfo){seconds,
                      p->points,
                      made,
                      p->launches - launches,
                      seconds > 0 ? work / seconds / 1e9 : 0,
                      p->met ? p->met->name : NULL};
}

/* Runs, and fills info. */
static StcStatus run_guarded(void *arg) {
  RunArgs *r = arg;
  StcPlan *p = r->p;
  int64_t steps = r->steps < 0 ? module_steps(p->module, p->scalars) : r->steps, launches = p->launches,
          first = p->done;
  double seconds = 0;
  if (p->done > INT64_MAX - steps)
    return diag_error(p->w.diags, no_loc(), "%lld steps are too many", (long long)steps), STC_USAGE;
  StcStatus s = plan_check_torn(p);
  if (!s && !p->inits_done && !p->hollow)
    s = program_check_given(p->program, p->w.arena, p->w.diags, p->scalars, p->component_given, p->array_given, false);
  if (!s && !p->hollow)
    s = plan_fill_lists(p);
  if (!s && !p->hollow)
    plan_check_steps(p, steps);
  p->met = NULL;
  p->wrong = false;
  if (!s || p->split)
    s = p->split                ? p->split_ops->run(p, s, steps, &seconds)
        : p->device.kind->whole ? run_whole(p, steps, &seconds)
                                : run_kernels(p, steps, r->wait, &seconds);
  if (!s && r->info)
    *r->info = plan_run_info(p, first, launches, seconds);
  return s;
}

StcStatus plan_check_torn(StcPlan *p) {
  if (!p->torn)
    return STC_OK;
  return context_error(p->w.context,
                       "the last run was stopped within a time step, so the fields have no values: have the plan begin "
                       "anew (stc_plan_restart), and set those that have no init"),
         STC_INPUT;
}

StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info) {
  RunArgs args = {p, steps, wait, info};
  p->asked.grace = STOP_GRACE;
  p->asked.also = p->w.context->run_stop;
  if (!p->stop)
    p->stop = &p->asked;
  p->device.stop = p->stop;
  StcStatus s = workspace_guard(&p->w, run_guarded, &args);
  return p->split ? p->split_ops->leave(p, s) : s;
}

StcStatus stc_plan_run(StcPlan *p, int64_t steps, StcRunInfo *info) {
  StcStatus s = plan_join(p);
  p->back.pending = false;
  return s ? s : plan_run_steps(p, steps, true, info);
}

StcStatus stc_plan_restart(StcPlan *p) {
  StcStatus s = plan_join(p);
  int components = 0;
  for (int i = 0; i < p->program->ndeclared; i++)
    components += p->program->declared[i].ncomponents;
  if (!s && p->split)
    s = p->split_ops->restart(p);
  p->inits_done = p->evaluated = p->torn = false;
  p->first = p->done = p->unseen = 0;
  p->sent_to = -1;
  for (Watch *w = p->watches; w; w = w->next)
    w->shown = -1;
  memset(p->given, 0, sizeof *p->given * (size_t)p->module->nfields);
  memset(p->component_given, 0, sizeof *p->component_given * (size_t)components);
  for (int i = 0; i < p->module->nscalars; i++)
    if (p->module->scalars[i].is_reduction)
      p->scalars[i] = (Const){0};
  return s;
}

void stc_plan_stop(StcPlan *p, bool stop) { stop_ask(&p->asked, stop); }

void stc_plan_progress(StcPlan *p, bool (*fn)(void *user, int64_t done, int64_t of), void *user) {
  p->progress = fn;
  p->progress_user = user;
}

void stc_plan_series(StcPlan *p, void (*fn)(void *user, const StcReduction *r), void *user) {
  p->series = fn;
  p->series_user = user;
}

void stc_plan_time_kernels(StcPlan *p) {
  int n = stc_plan_kernel_count(p);
  if (!p->times && n)
    p->times = ARENA_ARRAY(p->w.arena, KernelTime, n);
}

int stc_plan_kernel_count(const StcPlan *p) { return p->build ? p->build->code.module->nkernels : 0; }

StcStatus stc_plan_kernel(StcPlan *p, int kernel, StcKernelInfo *out) {
  *out = (StcKernelInfo){0};
  if (kernel < 0 || kernel >= stc_plan_kernel_count(p))
    return diag_error(p->w.diags, no_loc(), "there is no kernel %d; the plan has %d", kernel, stc_plan_kernel_count(p)),
           STC_USAGE;
  Kernel *k = &p->build->code.module->kernels[kernel];
  const TargetInfo *target = target_info(p->build->code.target);
  int32_t spilled;
  int64_t fixed = 0, given = 0;
  target_kernel_shared(p->build->code.target, k, &fixed, &given);
  *out = (StcKernelInfo){.name = k->name, .shared_bytes = fixed + given};
  if (p->times) {
    out->launches = p->times[kernel].launches;
    out->seconds = p->times[kernel].seconds;
  }
  KernelInfo info = {0};
  if (p->device.kind->inspect && p->device.kind->inspect(&p->device, kernel, &info)) {
    out->registers = info.registers;
    out->local_bytes = info.local;
    out->estimated_registers = target->simt ? kernel_registers(target, p->build->code.module, k, &spilled) : 0;
  }
  return STC_OK;
}

double stc_plan_compile_seconds(const StcPlan *p) { return p->compile_seconds; }
const char *stc_plan_device(const StcPlan *p) { return p->device.description; }
const char *stc_plan_schedule(const StcPlan *p) { return p->schedule; }
