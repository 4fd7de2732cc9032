/* driver/instance/kept/plan-loops.c: rounds of a repeat that the device makes by itself until its `until` holds, if it
 * can (DeviceKind.loops): then nobody waits for a number every few rounds. The rounds up to an evaluation are one part
 * of the recording, or two in turn if they leave buffers exchanged. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "ir/run/host-run.h"

#include <stdlib.h>
#include <string.h>

/* To record a loop takes about KEEP_MS milliseconds, and saves SAVED_US microseconds for each launch (H200,
 * 2026-11-29). So a loop is recorded when the rest of the run is expected, from the steps so far, to have launches for
 * twice that; or, if nothing indicates the rest, after SURE_S seconds of launches by the host, of which recording takes
 * a fiftieth. The host makes FIRST_LAUNCHES in any case; if launches take SHORT_US microseconds or more on average,
 * nothing can be saved. A part has at most MOST_LAUNCHES: with more it would run longer than a run may be without a
 * stop, and the graph would be large, while waiting for a number would cost little. A run of the recording should take
 * about RUN_MS milliseconds, because nothing can stop it; if the fewest parts take LONG_MS, the host makes them. */
enum { FIRST_LAUNCHES = 1000, KEEP_MS = 20, SAVED_US = 2, SURE_S = 1 };
enum { MOST_LAUNCHES = 2048, SHORT_US = 25, RUN_MS = 30, LONG_MS = 300 };

/* ---------------------------------------------------------------- which loops */

/* The `until` of loop `loop`, if the work is the same from one evaluation to the next: it compares its value with one
 * that no reduction changes, and other reductions of the loop are only for values and are due at the same times. Else
 * NULL. */
static const Reduction *until_of(const Module *m, int loop) {
  const Reduction *until = NULL;
  int64_t every = 0;
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    if (r->loop != loop + 1)
      continue;
    bool ends = r->kind == REDUCE_UNTIL;
    if (r->each || (!ends && r->kind != REDUCE_VALUE) || (ends && until) || (every && every != r->every))
      return NULL;
    every = r->every;
    until = ends ? r : until;
  }
  return until;
}

/* Does the value depend on that of a reduction? */
static bool is_reduced(const Module *m, const Value *v) {
  bool any = v->def && v->def->code == OP_SCALAR && m->scalars[v->def->sym].is_reduction;
  for (int i = 0; v->def && i < v->def->noperands && !any; i++)
    any = is_reduced(m, v->def->operands[i]);
  return any;
}

/* The test of an `until` that is such a comparison; false: it is another condition. */
static bool test_of(StcPlan *p, const Reduction *r, LoopTest *out) {
  const Op *yield = r->stop->last, *compare = yield && yield->noperands ? yield->operands[0]->def : NULL;
  if (!compare || compare->noperands != 2)
    return false;
  const Op *left = compare->operands[0]->def;
  bool known = compare->code == OP_LT || compare->code == OP_LE || compare->code == OP_GT || compare->code == OP_GE ||
               compare->code == OP_EQ || compare->code == OP_NE;
  if (!known || !left || left->code != OP_SCALAR || left->sym != r->scalar ||
      is_reduced(p->build->code.module, compare->operands[1]))
    return false;
  Const limit = expression_part(p->w.arena, r->stop, compare->operands[1], p->scalars);
  *out = (LoopTest){buffer_slot(p, r->result)->memory, r->type == TY_F64, compare->code, 0};
  if (out->real)
    memcpy(&out->limit, &limit.f, sizeof limit.f);
  else
    out->limit = limit.i;
  return true;
}

/* Does the kernel take an argument that may differ between rounds or steps: the step, the value of a reduction? */
static bool takes_changing(const Module *m, const Kernel *k) {
  bool any = false;
  for (int i = 0; i < k->nargs; i++)
    any = any || k->args[i].kind == KARG_STEP ||
          (k->args[i].kind == KARG_SCALAR && m->scalars[k->args[i].index].is_reduction);
  return any;
}

/* Does the sequence, or a loop in it, contain a loop with reductions? */
static bool has_reductions(const Module *m, const HostSeq *seq) {
  bool any = false;
  for (int i = 0; i < seq->nops; i++) {
    if (seq->ops[i].kind != HOST_REPEAT)
      continue;
    const HostLoop *l = &m->host.loops[seq->ops[i].a];
    for (int k = 0; k < m->nreductions; k++)
      any = any || m->reductions[k].loop == seq->ops[i].a + 1;
    for (int k = 0; k < l->nseqs; k++)
      any = any || has_reductions(m, &l->seqs[k]);
  }
  return any;
}

/* Do launches of loop `loop` have the same arguments in all rounds and steps? */
static bool is_steady(const StcPlan *p, int loop) {
  const Module *m = p->build->code.module;
  const HostLoop *l = &m->host.loops[loop];
  bool *launched = ARENA_ARRAY(p->w.arena, bool, m->nkernels + 1), steady = true;
  for (int i = 0; i < l->nseqs; i++) {
    host_kernels(m, &l->seqs[i], launched);
    steady = steady && !has_reductions(m, &l->seqs[i]);
  }
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop + 1)
      host_kernels(m, &m->reductions[i].seq, launched);
  for (int i = 0; i < m->nkernels && steady; i++)
    steady = !launched[i] || !takes_changing(m, &m->kernels[kernel_chosen(m, i, p->scalars)]);
  return steady;
}

/* The launches of `rounds` rounds of loop number `loop`, including those of nested loops; if they are more than
 * MOST_LAUNCHES, any larger number. */
static int64_t count_launches(const StcPlan *p, int loop, int64_t rounds) {
  const Module *m = p->build->code.module;
  const HostLoop *l = &m->host.loops[loop];
  int64_t n = 0;
  for (int64_t done = 0; done < rounds && n <= MOST_LAUNCHES;) {
    const HostSeq *seq = host_sequence(l->nseqs, l->seqs, NULL, rounds - done);
    for (int i = 0; i < seq->nops && n <= MOST_LAUNCHES; i++) {
      const HostOp *op = &seq->ops[i];
      n += op->kind == HOST_LAUNCH;
      if (op->kind == HOST_REPEAT)
        n += count_launches(p, op->a, affine_eval(m->host.loops[op->a].most, p->scalars, NULL));
    }
    done += seq->steps;
  }
  return n;
}

/* ---------------------------------------------------------------- recordings */

/* Makes the launches and swaps of `rounds` rounds of loop `loop`, as the host does up to the next evaluation, and those
 * of the evaluation. */
static StcStatus make_part(StcPlan *p, int loop, int64_t rounds) {
  const Module *m = p->build->code.module;
  const HostLoop *l = &m->host.loops[loop];
  StcStatus s = STC_OK;
  for (int64_t done = 0; done < rounds && !s;) {
    const HostSeq *seq = host_sequence(l->nseqs, l->seqs, NULL, rounds - done);
    s = plan_ops(p, seq->nops, seq->ops);
    done += seq->steps;
  }
  for (int i = 0; i < m->nreductions && !s; i++)
    if (m->reductions[i].loop == loop + 1)
      s = plan_ops(p, m->reductions[i].seq.nops, m->reductions[i].seq.ops);
  return s;
}

/* Swaps slots `at` as the `n` operations do; those of a loop as often as it has rounds. */
static void swap_slots(const StcPlan *p, int n, const HostOp *ops, int32_t *at);

/* Likewise for `rounds` rounds of loop `l`. */
static void swap_rounds(const StcPlan *p, const HostLoop *l, int64_t rounds, int32_t *at) {
  for (int64_t done = 0; done < rounds;) {
    const HostSeq *seq = host_sequence(l->nseqs, l->seqs, NULL, rounds - done);
    swap_slots(p, seq->nops, seq->ops, at);
    done += seq->steps;
  }
}

static void swap_slots(const StcPlan *p, int n, const HostOp *ops, int32_t *at) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < n; i++) {
    const HostOp *op = &ops[i];
    if (op->kind == HOST_SWAP) {
      int32_t t = at[op->a];
      at[op->a] = at[op->b];
      at[op->b] = t;
    }
    if (op->kind == HOST_REPEAT)
      swap_rounds(p, &m->host.loops[op->a], affine_eval(m->host.loops[op->a].most, p->scalars, NULL), at);
  }
}

/* Lets the device record the parts of `k`. False: it cannot, or *s is an error that ends the run. */
static bool keep_parts(StcPlan *p, KeptLoop *k, const LoopTest *test, StcStatus *s) {
  Device *d = &p->device;
  const DeviceLoops *loops = d->kind->loops;
  k->kept = loops->begin(d, k->parts, test);
  bool fine = k->kept;
  for (int i = 0; i < k->parts && fine; i++) {
    int64_t before = p->run.launches;
    fine = loops->record(d, k->kept, i);
    if (!fine)
      break;
    p->run.replay.recording = true;
    p->run.replay.follows = false;
    *s = make_part(p, k->loop, k->rounds);
    p->run.replay.recording = p->run.replay.follows = false;
    fine = loops->end_record(d, k->kept, i) && !*s;
    k->launches = p->run.launches - before;
  }
  fine = fine && loops->end(d, k->kept);
  if (!fine && k->kept)
    loops->forget(d, k->kept);
  return fine;
}

/* Records loop `loop`, which `until` ends, from the present state of the buffers. NULL: the device cannot, rounds
 * differ, or *s is an error that ends the run. The plan's counts do not change. */
static KeptLoop *keep_loop(StcPlan *p, int loop, const Reduction *until, StcStatus *s) {
  const Module *m = p->build->code.module;
  size_t size = sizeof(int32_t) * (size_t)m->nbuffers;
  LoopTest test;
  KeptLoop *k = ARENA_NEW(p->w.arena, KeptLoop);
  *k = (KeptLoop){.loop = loop, .rounds = until->every, .parts = 1};
  if (!is_steady(p, loop) || count_launches(p, loop, k->rounds) > MOST_LAUNCHES || !test_of(p, until, &test))
    return NULL;
  for (int i = 0; i < LOOP_PARTS; i++)
    k->slots[i] = ARENA_ARRAY(p->w.arena, int32_t, m->nbuffers + 1);
  int32_t *after = ARENA_ARRAY(p->w.arena, int32_t, m->nbuffers + 1);
  memcpy(k->slots[0], p->memory.of_buffer, size);
  memcpy(k->slots[1], p->memory.of_buffer, size);
  swap_rounds(p, &m->host.loops[loop], k->rounds, k->slots[1]);
  memcpy(after, k->slots[1], size);
  if (memcmp(k->slots[0], k->slots[1], size) != 0)
    k->parts = 2, swap_rounds(p, &m->host.loops[loop], k->rounds, after);
  if (memcmp(k->slots[0], after, size) != 0)
    return NULL;
  int64_t launches = p->run.launches;
  size_t rounds = sizeof *p->run.rounds * (size_t)(p->program->reference->nrepeats + 1);
  Rounds *told = ARENA_ARRAY(p->w.arena, Rounds, p->program->reference->nrepeats + 1);
  memcpy(told, p->run.rounds, rounds);
  bool fine = keep_parts(p, k, &test, s);
  memcpy(p->run.rounds, told, rounds);
  p->run.launches = launches;
  plan_place_buffers(p, k->slots[0]);
  if (!fine)
    return NULL;
  k->budget = k->parts;
  k->next = p->run.replay.loops;
  return p->run.replay.loops = k;
}

/* ---------------------------------------------------------------- runs */

/* Reports the loops nested in loop `loop`, `times` rounds of which were made in step `step`. */
static void tell_inner(StcPlan *p, int loop, int64_t step, int64_t times) {
  const Module *m = p->build->code.module;
  const HostLoop *l = &m->host.loops[loop];
  const HostSeq *seq = l->nseqs ? &l->seqs[l->nseqs - 1] : NULL;
  for (int i = 0; seq && i < seq->nops; i++) {
    if (seq->ops[i].kind != HOST_REPEAT)
      continue;
    int inner = seq->ops[i].a;
    int64_t most = affine_eval(m->host.loops[inner].most, p->scalars, NULL);
    most = most > 0 ? most : 0;
    tell_inner(p, inner, step, times * most);
    plan_take_rounds(p, inner, step, times * most, false);
  }
}

/* Sets the number of parts of the next run of `k` to fit the time, after `made` parts took `seconds`. */
static void set_budget(KeptLoop *k, int64_t made, double seconds) {
  if (made == k->budget && seconds * 1e3 < RUN_MS / 2)
    k->budget *= 2;
  if (seconds * 1e3 > RUN_MS && k->budget > k->parts)
    k->budget /= 2;
  if (seconds * 1e3 > LONG_MS && made <= k->parts)
    k->budget = 0;
}

/* Runs at most `most` parts of `k`. */
static StcStatus run_loop(StcPlan *p, KeptLoop *k, int64_t step, int64_t most, int64_t *made) {
  Device *d = &p->device;
  double start = clock_seconds();
  *made = 0;
  StcStatus s = d->kind->loops->run(d, k->kept, most < k->budget ? most : k->budget, made);
  if (s || *made <= 0)
    return s;
  set_budget(k, *made, clock_seconds() - start);
  p->run.launches += *made * k->launches;
  if (k->parts == 2 && *made % 2)
    plan_place_buffers(p, k->slots[1]);
  tell_inner(p, k->loop, step, *made * k->rounds);
  return STC_OK;
}

/* Can the device make loops by itself now: is it not recording in the plain way, and does nothing between launches,
 * such as timing kernels or deferring values, exclude it? */
static bool may_keep(const StcPlan *p) {
  const TimeLoop *r = &p->run;
  return p->device.kind->loops && !r->replay.no_loops && !r->replay.recording && !r->times && !r->deferred.memory &&
         !r->group && !p->device.plain;
}

/* Can an `until` of the time steps end the run earlier? */
static bool may_end(const Module *m) {
  bool may = false;
  for (int i = 0; i < m->nreductions; i++)
    may = may || (m->reductions[i].kind == REDUCE_UNTIL && !m->reductions[i].loop);
  return may;
}

/* The number of launches of the loop that are left from step `step` on, estimated from the steps before; 0: unknown. */
static double expected_launches(const StcPlan *p, const LoopTime *x, int64_t step) {
  int64_t made = step - x->first, left = p->run.end - step;
  return made > 0 && left > 0 && !may_end(p->build->code.module) ? (double)x->whole / (double)made * (double)left : 0;
}

/* Records the host's work on the loop from the evaluation before up to this one. Returns whether the host has done so
 * much of it, and so much is left, that the device should make it. */
static bool is_long(StcPlan *p, LoopTime *x, int64_t step, int64_t done, int64_t every) {
  double now = clock_seconds();
  if (!x->begun || x->step != step)
    x->whole = x->launches;
  if (!x->begun)
    x->first = step;
  else if (x->step == step && done == x->done + every) {
    x->launches += p->run.launches - x->before;
    x->seconds += now - x->since;
  }
  x->begun = true;
  x->step = step;
  x->done = done;
  x->before = p->run.launches;
  x->since = now;
  bool is_short = x->launches >= FIRST_LAUNCHES && x->seconds * 1e6 < SHORT_US * (double)x->launches;
  bool pays = x->seconds > SURE_S || expected_launches(p, x, step) * SAVED_US > 2000 * KEEP_MS;
  return !x->differs && is_short && pays;
}

int plan_loop_rounds(void *user, int loop, int64_t step, int64_t done, int64_t left, int64_t *made) {
  StcPlan *p = user;
  Replay *kept = &p->run.replay;
  const Module *m = p->build->code.module;
  const Reduction *until = may_keep(p) ? until_of(m, loop) : NULL;
  StcStatus s = STC_OK;
  int64_t parts;
  *made = 0;
  if (!until || done % until->every || left / until->every < 2)
    return STC_OK;
  if (stop_at_once(p->run.stop))
    return p->run.torn = true, STC_INTERRUPTED;
  if (!kept->times)
    kept->times = ARENA_ARRAY(p->w.arena, LoopTime, m->host.nloops + 1);
  KeptLoop *k = plan_find_loop(p, loop);
  if (!k && !is_long(p, &kept->times[loop], step, done, until->every))
    return STC_OK;
  if (!k && !(k = keep_loop(p, loop, until, &s)))
    return kept->times[loop].differs = true, s;
  if (!k->budget)
    return STC_OK;
  s = run_loop(p, k, step, left / until->every, &parts);
  kept->no_loops = !s && parts <= 0;
  *made = s || parts <= 0 ? 0 : parts * until->every;
  return s;
}
