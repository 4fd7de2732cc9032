/* driver/instance/plan-run.c: runs a plan: the time loop, the paper's Algorithm 5, with reductions evaluated between
 * its steps. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "ir/run/host-run.h"
#include "passes/plan/cost/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the time loop */

/* The number of sequences to run before the callback is asked again: those of about a twentieth of a second, if `count`
 * took `took` seconds. */
static int64_t next_count(int64_t count, double took) {
  double more = took > 0 ? 0.1 / took : 64;
  return took < 0.05               ? count * (more > 64  ? 64
                                              : more < 2 ? 2
                                                         : (int64_t)more)
         : took > 0.2 && count > 1 ? count / 2
                                   : count;
}

/* Algorithm 5: runs sequences until `steps` are done, and asks the callback about every tenth of a second. */
static StcStatus run_steps(StcPlan *p, int64_t steps) {
  Device *d = &p->device;
  int64_t first = p->run.done, end = first + steps, count = 1;
  bool begins = first == p->run.first && !p->run.evaluated;
  p->run.end = end;
  StcStatus s = steps ? plan_run_once(p) : STC_OK;
  HostRun h = plan_host(p);
  if (!s && begins && first == 0)
    s = plan_probe_before(p);
  if (!s && begins)
    s = host_reduce(&h);
  p->run.evaluated |= !s;
  if (!s)
    s = plan_show(p);
  while (!s && p->run.done < end && !p->run.met) {
    double before = clock_seconds();
    s = host_run(&h, end, observers_ask(&p->observers) ? count : INT64_MAX);
    if (!s && observers_ask(&p->observers))
      s = d->kind->wait(d);
    if (!s)
      s = plan_ask(p, first, steps);
    count = next_count(count, clock_seconds() - before);
  }
  return s;
}

/* The seconds of all kernels that were timed. */
static double kernel_seconds(const StcPlan *p) {
  double sum = 0;
  for (int i = 0; i < p->build->code.module->nkernels; i++)
    sum += p->run.times[i].seconds;
  return sum;
}

/* Makes the steps with each kernel timed by itself. */
static StcStatus run_timed_kernels(StcPlan *p, int64_t steps, double *seconds) {
  double before = kernel_seconds(p);
  StcStatus s = run_steps(p, steps);
  *seconds = kernel_seconds(p) - before;
  if (!s)
    s = plan_settle(p);
  return s ? s : plan_drain(p);
}

/* Runs the inits, on the first run, and then the steps; only the steps are timed. Without `wait`, *seconds is not set.
 */
static StcStatus run_kernels(StcPlan *p, int64_t steps, bool wait, double *seconds) {
  Device *d = &p->device;
  StcStatus s = plan_need_steps(p, steps);
  if (!s && !p->run.inits_done)
    s = plan_first_states(p);
  if (!s && !p->run.inits_done)
    s = plan_run_inits(p);
  p->run.once_done &= p->run.inits_done;
  p->run.inits_done |= !s;
  if (!s)
    s = plan_open_late(p, steps);
  if (!s && p->run.times)
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

/* ---------------------------------------------------------------- grids that are cut */

StcStatus plan_run_whole_grid(StcPlan *p) {
  double seconds;
  Observers all = p->observers;
  p->observers.progress = NULL;
  p->observers.visit = NULL;
  StcStatus s = p->device.kind->whole ? plan_run_whole(p, 0, &seconds) : run_kernels(p, 0, true, &seconds);
  p->observers.progress = all.progress;
  p->observers.visit = all.visit;
  return s;
}

StcStatus plan_evaluate(StcPlan *p) {
  int64_t first = p->run.first;
  p->run.evaluated = false;
  p->run.first = p->run.done;
  StcStatus s = plan_run_whole_grid(p);
  p->run.first = first;
  return s;
}

/* ---------------------------------------------------------------- the interface */

/* The arguments of plan_run_steps's guarded function. If the run is made in several pieces: the counts before them, and
 * the seconds of the earlier ones. */
typedef struct RunArgs {
  StcPlan *p;
  int64_t steps;
  bool wait;
  StcRunInfo *info;
  int64_t first, launches;
  double seconds;
} RunArgs;

StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds) {
  int64_t made = p->run.done - first;
  double work = (double)p->points * (double)made;
  return (StcRunInfo){seconds,
                      p->points,
                      made,
                      p->run.launches - launches,
                      seconds > 0 ? work / seconds / 1e9 : 0,
                      p->run.met ? p->run.met->name : NULL};
}

/* Makes the run, and fills in the information. */
static StcStatus run_guarded(void *arg) {
  RunArgs *r = arg;
  StcPlan *p = r->p;
  int64_t steps = r->steps;
  double seconds = 0;
  if (p->run.done > INT64_MAX - steps)
    return diag_error(p->w.diags, no_loc(), "%lld steps are too many", (long long)steps), STC_USAGE;
  StcStatus s = plan_check_torn(p);
  if (!s && !p->run.inits_done && !p->facade)
    s = program_check_given(p->program, p->w.arena, p->w.diags, p->scalars, p->bound.component_given,
                            p->bound.array_given, false);
  if (!s && !p->facade)
    s = plan_fill_lists(p);
  if (!s)
    s = plan_make_values(p);
  if (!s && !p->facade)
    plan_check_steps(p, steps);
  if (!s)
    s = plan_check_frames(p, steps);
  plan_doubt_frames(p);
  if (!s && !p->split && (steps > 0 || !p->run.inits_done))
    s = plan_next_frames(p);
  p->run.met = NULL;
  p->run.wrong = false;
  if (!s || p->split)
    s = p->split                ? p->split_ops->run(p, s, steps, &seconds)
        : p->device.kind->whole ? plan_run_whole(p, steps, &seconds)
                                : run_kernels(p, steps, r->wait, &seconds);
  const Visit *visit = p->observers.visit;
  r->seconds += visit && !p->run.times && seconds > visit->held ? seconds - visit->held : seconds;
  if (!s && r->info)
    *r->info = plan_run_info(p, r->first, r->launches, r->seconds);
  return s;
}

/* Makes the run: once, unless a visitor continues it. */
static StcStatus run_pieces(RunArgs *r) {
  StcPlan *p = r->p;
  Visit *visit = p->observers.visit;
  StcStatus s = STC_OK;
  for (VisitEnd next = VISIT_BEGINS_ANEW; next != VISIT_ENDS;) {
    if (next == VISIT_BEGINS_ANEW) {
      r->first = p->run.done;
      r->launches = p->run.launches;
      r->seconds = 0;
    }
    if (visit) {
      visit->held = 0;
      visit->begin(visit->user, p, r->steps);
    }
    s = workspace_guard(&p->w, run_guarded, r);
    next = visit ? visit->ended(visit->user, p, &s, &r->steps) : VISIT_ENDS;
  }
  return s;
}

StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info) {
  RunArgs args = {.p = p, .steps = steps < 0 ? module_steps(p->module, p->scalars) : steps, .wait = wait, .info = info};
  p->run.asked.grace = STOP_GRACE;
  p->run.asked.also = p->w.context->run_stop;
  if (!p->run.stop)
    p->run.stop = &p->run.asked;
  p->device.stop = p->run.stop;
  StcStatus s = run_pieces(&args);
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
  p->run.inits_done = p->run.evaluated = p->run.torn = false;
  p->run.first = p->run.done = p->lists.unseen = 0;
  p->lists.sent_to = -1;
  for (Watch *w = p->observers.watches; w; w = w->next)
    w->shown = -1;
  memset(p->bound.given, 0, sizeof *p->bound.given * (size_t)p->module->nfields);
  memset(p->bound.component_given, 0, sizeof *p->bound.component_given * (size_t)components);
  for (int i = 0; i < p->module->nparam_arrays; i++)
    p->bound.array_given[i] &= p->module->param_arrays[i].role != ARRAY_STATE;
  for (int i = 0; i < p->module->nscalars; i++)
    if (p->module->scalars[i].is_reduction)
      p->scalars[i] = (Const){0};
  plan_restart_frames(p);
  return s;
}

void stc_plan_stop(StcPlan *p, bool stop) { stop_ask(&p->run.asked, stop); }

void stc_plan_progress(StcPlan *p, bool (*fn)(void *user, int64_t done, int64_t of), void *user) {
  p->observers.progress = fn;
  p->observers.progress_user = user;
}

void stc_plan_series(StcPlan *p, void (*fn)(void *user, const StcReduction *r), void *user) {
  p->observers.series = fn;
  p->observers.series_user = user;
}

void stc_plan_time_kernels(StcPlan *p) {
  int n = stc_plan_kernel_count(p);
  if (!p->run.times && n)
    p->run.times = ARENA_ARRAY(p->w.arena, KernelTime, n);
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
  if (p->run.times) {
    out->launches = p->run.times[kernel].launches;
    out->seconds = p->run.times[kernel].seconds;
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
