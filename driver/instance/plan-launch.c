/* driver/instance/plan-launch.c: the operations of the host program on a device: launches, and fetching values;
 * plan-slots.c makes swaps. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "ir/run/host-run.h"

#include <stdlib.h>

/* The value of an argument, in the type of the kernel's parameter. */
typedef union ArgValue {
  void *p;
  int64_t i64;
  double f64;
} ArgValue;

/* Starts `l`; if kernels are timed, waits for it and adds its time. */
static StcStatus start_kernel(StcPlan *p, const KernelLaunch *l) {
  Device *d = &p->device;
  double seconds = 0;
  StcStatus s = p->run.times ? d->kind->start(d) : STC_OK;
  if (!s)
    s = d->kind->launch(d, l);
  p->run.torn |= s == STC_INTERRUPTED;
  p->run.launches += !s;
  p->run.replay.follows = p->run.replay.recording && !l->beside;
  if (!s && p->run.times)
    s = d->kind->stop(d, &seconds);
  if (p->run.times) {
    p->run.times[l->index].launches += !s;
    p->run.times[l->index].seconds += seconds;
  }
  return s;
}

/* Makes sure that kernel `k` overwrites no lent memory. */
static StcStatus keep_lent(StcPlan *p, const Kernel *k) {
  StcStatus s = STC_OK;
  for (int i = 0; i < k->nargs && !s && p->memory.lending; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].writes)
      s = plan_before_write(p, buffer_slot(p, k->args[i].index));
  return s;
}

/* The address of buffer `buffer` for the present launch. */
static void *buffer_memory(const StcPlan *p, int buffer) {
  void *place = p->run.deferred.memory ? plan_deferred_place(p, buffer) : NULL;
  return place ? place : buffer_slot(p, buffer)->memory;
}

/* The value of mirror argument `a` for the present launch. */
static int64_t mirror_value(const StcPlan *p, const KArg *a) {
  static const Mirror none = {{[MIRROR_BELOW] = INT64_MIN, [MIRROR_ABOVE] = INT64_MAX}};
  const Mirror *m = p->run.mirrors ? &p->run.mirrors[p->memory.of_buffer[a->index]] : &none;
  return m->value[a->mirror];
}

/* Launches kernel `named`, or the one that is launched in its place under the params, for step number `step`; `beside`,
 * `behind` and `lane` are passed to the device. */
static StcStatus launch_in(StcPlan *p, int named, int64_t step, bool beside, bool behind, int lane) {
  const Module *m = p->build->code.module;
  int index = kernel_chosen(m, named, p->scalars);
  const Kernel *k = &m->kernels[index];
  ArgValue values[k->nargs + 1];
  void *args[k->nargs + 1];
  KernelLaunch l = {index,  k,      {0},  args,
                    beside, behind, lane, p->run.replay.recording && p->run.replay.follows && !beside};
  const int64_t live = p->run.live ? p->run.live[index] : -1;
  if (live == 0)
    return STC_OK;
  StcStatus s = keep_lent(p, k);
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER)
      values[i].p = buffer_memory(p, a->index);
    if (a->kind == KARG_SCALAR)
      const_store(m->scalars[a->index].type, &values[i], p->scalars[a->index]);
    if (a->kind == KARG_STEP)
      values[i].i64 = step;
    if (a->kind == KARG_MIRROR)
      values[i].i64 = mirror_value(p, a);
    args[i] = &values[i];
  }
  s = s ? s : plan_blocks(p, k, l.blocks);
  for (int d = 0; d < k->rank; d++)
    if (l.blocks[d] == 0)
      return s;
  if (live > 0)
    l.blocks[k->rank - 1] = live;
  return s ? s : start_kernel(p, &l);
}

StcStatus plan_launch_kernel(StcPlan *p, int named) {
  return launch_in(p, named, p->run.done, false, false, LANE_MAIN);
}

StcStatus plan_launch_in(StcPlan *p, int named, int lane) {
  return launch_in(p, named, p->run.done, false, false, lane);
}

/* Does a launch of kernel `named` have any blocks? */
static bool has_blocks(const StcPlan *p, int named) {
  const Module *m = p->build->code.module;
  int64_t blocks[MAX_RANK];
  int index = kernel_chosen(m, named, p->scalars);
  return !(p->run.live && p->run.live[index] == 0) && kernel_blocks(&m->kernels[index], p->scalars, blocks) > 0;
}

/* Launches the kernels of the `n` ops at `op`, at the same time if the device can and several have something to do
 * (HostMachine.launch). If a stop was requested and the step takes long, for example because a repeat makes many
 * rounds, the step ends here. */
static int launch_group(void *user, const HostOp *op, int n, int64_t step) {
  StcPlan *p = user;
  const DeviceKind *kind = p->device.kind;
  int busy = 0;
  if (stop_at_once(p->run.stop)) {
    p->run.torn = true;
    return STC_INTERRUPTED;
  }
  for (int i = 0; i < n; i++)
    busy += has_blocks(p, op[i].a);
  bool apart = busy > 1 && kind->fork && !p->run.times && !p->run.group;
  StcStatus s = apart ? kind->fork(&p->device) : STC_OK;
  p->run.replay.follows &= !apart;
  for (int i = 0; i < n && !s; i++)
    s = launch_in(p, op[i].a, step, (apart && op[i].beside) || (p->run.group && p->run.group++ > 1), op[i].behind,
                  LANE_MAIN);
  p->run.replay.follows &= !apart;
  return apart && !s ? kind->join(&p->device) : s;
}

/* HostMachine.swap. */
static void swap(void *user, int a, int b) { plan_swap(user, a, b); }

/* Fetches the values that the launches of `r` have stored to p->run.reduced. */
static StcStatus fetch_values(StcPlan *p, const Reduction *r) {
  Device *d = &p->device;
  size_t bytes = (size_t)reduction_values(p->module, r, p->scalars) * sizeof *p->run.reduced;
  if (bytes > p->run.reduced_bytes) {
    void *more = realloc(p->run.reduced, bytes);
    if (!more)
      return computer_no_room(p->w.context, "the values of reduction", r->name, (double)bytes);
    p->run.reduced = more;
    p->run.reduced_bytes = bytes;
  }
  StcStatus s = d->kind->wait(d);
  return s ? s : d->kind->fetch(d, p->run.reduced, buffer_slot(p, r->result)->memory, bytes);
}

/* Value number `member` of `r`, from those: f64 or i64 (HostMachine.value). */
static int fetch_value(void *user, const Reduction *r, int64_t member, Const *value) {
  StcPlan *p = user;
  StcStatus s = member || p->run.deferred.memory ? STC_OK : fetch_values(p, r);
  *value = (Const){0};
  if (!s && !p->run.deferred.memory)
    *value = const_load(r->type, (const char *)(p->run.reduced + member));
  return s;
}

/* Lets the sequence's kernels be compiled if they are not, gives fields the frames of the next step, and makes room for
 * the values of probes in runs of the sequence, unless the run must stop (HostMachine.begin). */
static int begin(void *user, const HostSeq *seq, int64_t *runs) {
  StcPlan *p = user;
  if (stop_asked(p->run.stop))
    return STC_INTERRUPTED;
  StcStatus s = plan_need_sequence(p, seq);
  s = s ? s : plan_next_frames(p);
  s = s ? s : plan_make_room(p, seq->steps);
  *runs = plan_room(p, seq->steps, *runs);
  return s;
}

/* Implement HostMachine.replay, show and until. */
static int replay(void *user, const HostSeq *seq, int64_t most, int64_t *made) {
  return plan_replay(user, seq, most, made);
}
static int show(void *user) { return plan_show(user); }
static int64_t steps_to_watch(void *user, int64_t left) {
  const StcPlan *p = user;
  return observers_wait(&p->observers, p->run.done, left);
}

HostRun plan_host(StcPlan *p) {
  static const HostMachine device = {.launch = launch_group,
                                     .swap = swap,
                                     .value = fetch_value,
                                     .rounds = plan_loop_rounds,
                                     .begin = begin,
                                     .replay = replay,
                                     .show = show,
                                     .until = steps_to_watch};
  return (HostRun){.m = p->build->code.module,
                   .on = &device,
                   .user = p,
                   .scalars = p->scalars,
                   .steps = &p->run.done,
                   .closed = p->run.closed,
                   .reduced = plan_take_value,
                   .repeated = plan_take_rounds,
                   .reduced_user = p,
                   .diags = p->w.diags,
                   .wrong = STC_INPUT,
                   .ends = p->run.met};
}

StcStatus plan_ops(StcPlan *p, int n, const HostOp *op) {
  HostRun h = plan_host(p);
  return host_ops(&h, n, op);
}

StcStatus plan_sequence(StcPlan *p, const HostSeq *seq) {
  StcStatus s = plan_ops(p, seq->nops, seq->ops);
  p->run.done += seq->steps;
  return s;
}

StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]) {
  const TargetInfo *t = target_info(p->build->code.target);
  kernel_blocks(k, p->scalars, blocks);
  for (int d = 0; d < k->rank; d++) {
    if (blocks[d] == INT64_MAX)
      return diag_error(p->w.diags, k->loc, "kernel %s: its extent in dimension %d overflows 64 bits", k->name, d),
             STC_INPUT;
    bool shares = k->rank > GRID_RANK && d <= k->rank - GRID_RANK;
    int64_t most = t->simt && !shares ? t->max_grid[k->rank - 1 - d] : INT64_MAX;
    most = d == k->rank - 1 && k->cluster ? most / k->cluster : most;
    if (blocks[d] > most)
      return diag_error(p->w.diags, k->loc,
                        "kernel %s needs %lld blocks of %d points in dimension %d, but %s %s allows %lld: ask for a "
                        "larger tile there with -block or -elems",
                        k->name, (long long)blocks[d], (int)k->tile[d], d, t->name, t->cpu, (long long)most),
             STC_INPUT;
  }
  int64_t most = t->simt ? t->max_grid[GRID_RANK - 1] : INT64_MAX;
  if (k->rank > GRID_RANK && most > 0 && blocks[1] > 0 && blocks[0] > most / blocks[1])
    return diag_error(p->w.diags, k->loc,
                      "kernel %s needs %lld blocks for each of %lld members in the grid's first dimension, but %s %s "
                      "allows %lld together: ask for a larger tile there with -block or -elems, or make several runs",
                      k->name, (long long)blocks[1], (long long)blocks[0], t->name, t->cpu, (long long)most),
           STC_INPUT;
  return STC_OK;
}
