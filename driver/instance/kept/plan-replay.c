/* driver/instance/kept/plan-replay.c: sequences of launches that are recorded once and then replayed by the device, so
 * that small grids do not wait for launches. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"

#include <string.h>

/* RECORDED_LAUNCHES: the approximate number of launches of a recording. MOST_PERIOD: the buffers must be in their first
 * state again after at most this number of runs of a sequence. WORTHWHILE: how often a recording must be replayed to
 * pay. FEWEST_LAUNCHES: the least number of launches of a recording. */
enum { RECORDED_LAUNCHES = 64, MOST_PERIOD = 32, WORTHWHILE = 4, FEWEST_LAUNCHES = 4 };

/* Does a kernel that `seq` launches take the step? */
static bool takes_step(const StcPlan *p, const HostSeq *seq) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < seq->nops; i++) {
    if (seq->ops[i].kind != HOST_LAUNCH)
      continue;
    const Kernel *k = &m->kernels[kernel_chosen(m, seq->ops[i].a, p->scalars)];
    for (int a = 0; a < k->nargs; a++)
      if (k->args[a].kind == KARG_STEP)
        return true;
  }
  return false;
}

/* Is there no work between the launches of `seq`, and do their arguments not change, except the step? Reductions that
 * are not deferred change arguments of kernels, and rounds of a loop may leave buffers exchanged. */
static bool is_recordable(const StcPlan *p, const HostSeq *seq) {
  return (!p->build->code.module->nreductions || p->run.deferred.memory) && !p->run.times && seq->steps >= 1 &&
         !host_has_loops(seq);
}

bool plan_is_steady(const StcPlan *p, const HostSeq *seq) { return is_recordable(p, seq) && !takes_step(p, seq); }

/* The launches of one run of `seq`. */
static int64_t launches_of(const HostSeq *seq) {
  int64_t launches = 0;
  for (int i = 0; i < seq->nops; i++)
    launches += seq->ops[i].kind == HOST_LAUNCH;
  return launches;
}

/* The number of runs of the sequence after which the buffers are in their present state again; 0: more than
 * MOST_PERIOD. */
static int64_t swap_period(const StcPlan *p, const HostSeq *seq) {
  int n = p->build->code.module->nbuffers;
  int32_t at[n + 1];
  for (int b = 0; b < n; b++)
    at[b] = p->memory.of_buffer[b];
  for (int64_t runs = 1; runs <= MOST_PERIOD; runs++) {
    host_swap(seq, 0, at);
    if (memcmp(at, p->memory.of_buffer, sizeof *at * (size_t)n) == 0)
      return runs;
  }
  return 0;
}

/* May a recording of the sequence be short: is there none of `full` runs, and none that begins with the present state
 * of the buffers? */
static bool may_be_short(const StcPlan *p, const HostSeq *seq, int64_t full) {
  for (Recording *r = p->run.replay.recordings; r; r = r->next)
    if (r->seq == seq && r->runs >= full)
      return false;
  return !plan_find_recording(p, seq, INT64_MAX);
}

/* The number of runs of the sequence to record, when `most` are to be made now; 0: recording does not pay. It may be
 * less than usual, for calls with few steps, if the plan has run so often before that the recording will soon have
 * paid. */
static int64_t runs_to_record(const StcPlan *p, const HostSeq *seq, int64_t most) {
  int64_t period = swap_period(p, seq), launches = launches_of(seq), before = p->run.done / seq->steps;
  if (!period || !launches)
    return 0;
  int64_t times = RECORDED_LAUNCHES / (period * launches), full = period * (times > 1 ? times : 1);
  if (most / WORTHWHILE >= full)
    return full;
  int64_t runs = most < full ? most / period * period : full;
  return (most + before) / WORTHWHILE >= full && runs * launches >= FEWEST_LAUNCHES && may_be_short(p, seq, full) ? runs
                                                                                                                  : 0;
}

/* Records `runs` runs. *out is NULL if the device cannot. The plan's state does not change. */
static StcStatus record(StcPlan *p, const HostSeq *seq, int64_t runs, Recording **out) {
  Device *d = &p->device;
  int n = p->build->code.module->nbuffers;
  int64_t done = p->run.done, launches = p->run.launches;
  Recording *r = ARENA_NEW(p->w.arena, Recording);
  *out = NULL;
  if (!d->kind->record(d))
    return STC_OK;
  StcStatus s = STC_OK;
  p->run.replay.recording = true;
  p->run.replay.follows = false;
  for (int64_t i = 0; i < runs && !s; i++)
    s = plan_sequence(p, seq);
  p->run.replay.recording = p->run.replay.follows = false;
  bool kept = d->kind->end_record(d, &r->kept);
  *r = (Recording){seq,
                   runs,
                   p->run.launches - launches,
                   done,
                   ARENA_ARRAY(p->w.arena, int32_t, n + 1),
                   r->kept,
                   p->run.replay.recordings};
  p->run.done = done;
  p->run.launches = launches;
  if (s && kept)
    d->kind->forget(d, r->kept);
  if (s || !kept)
    return s;
  memcpy(r->slots, p->memory.of_buffer, sizeof *r->slots * (size_t)n);
  *out = p->run.replay.recordings = r;
  return STC_OK;
}

StcStatus plan_keep_anew(StcPlan *p, StcStatus (*make)(StcPlan *p, void *user), void *user, void **in, bool *kept) {
  Device *d = &p->device;
  *kept = d->kind->record(d);
  if (!*kept)
    return STC_OK;
  p->run.replay.recording = true;
  p->run.replay.follows = false;
  StcStatus s = make(p, user);
  p->run.replay.recording = p->run.replay.follows = false;
  bool renewed = d->kind->renew(d, in);
  if (!renewed && *in)
    d->kind->forget(d, *in);
  if (!renewed)
    *in = NULL;
  if (!s && !renewed)
    s = (diag_error(p->w.diags, no_loc(), "the device's driver keeps launches, but makes no graph of them"),
         STC_DEVICE);
  return s;
}

/* `runs` runs of a sequence. */
typedef struct Runs {
  const HostSeq *seq;
  int64_t runs;
} Runs;

/* Makes the runs (plan_keep_anew). */
static StcStatus make_runs(StcPlan *p, void *user) {
  const Runs *r = user;
  StcStatus s = STC_OK;
  for (int64_t i = 0; i < r->runs && !s; i++)
    s = plan_sequence(p, r->seq);
  return s;
}

/* Makes up to `most` runs of a sequence whose launches take the step as an argument: records them each time and replays
 * them once, which is faster than single launches. *made: their number; 0: it does not pay, or the device cannot. */
static StcStatus replay_anew(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made) {
  Device *d = &p->device;
  int64_t launches = launches_of(seq), runs = launches ? RECORDED_LAUNCHES / launches : 0;
  Runs all = {seq, runs < most ? runs : most};
  bool kept;
  runs = all.runs;
  if (runs * launches < FEWEST_LAUNCHES || !d->kind->renew || !d->kind->renews(d))
    return STC_OK;
  StcStatus s = plan_keep_anew(p, make_runs, &all, &p->run.replay.renewed, &kept);
  p->run.replay.impossible |= !kept;
  *made = kept ? runs : 0;
  return s || !kept ? s : d->kind->replay(d, p->run.replay.renewed);
}

StcStatus plan_replay(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made) {
  Device *d = &p->device;
  *made = 0;
  if (!d->kind->record || p->run.replay.impossible || most < 2 || !is_recordable(p, seq))
    return STC_OK;
  bool shifted = takes_step(p, seq);
  if (shifted && !(d->kind->shifts && d->kind->shifts(d)))
    return replay_anew(p, seq, most, made);
  Recording *r = plan_find_recording(p, seq, most);
  int64_t runs = !r || most / WORTHWHILE > r->runs ? runs_to_record(p, seq, most) : 0;
  StcStatus s = runs > (r ? r->runs : 0) ? record(p, seq, runs, &r) : STC_OK;
  p->run.replay.impossible |= !s && runs && !r;
  if (shifted && r && !d->kind->shifts(d)) {
    plan_forget_recordings(p);
    return s ? s : replay_anew(p, seq, most, made);
  }
  for (runs = r ? r->runs : 0; r && !s && most - *made >= runs && !stop_asked(p->run.stop); *made += runs) {
    s = shifted ? d->kind->shift(d, r->kept, p->run.done - r->first) : STC_OK;
    s = s ? s : d->kind->replay(d, r->kept);
    if (s)
      break;
    p->run.done += runs * seq->steps;
    p->run.launches += r->launches;
  }
  return s;
}
