/* driver/instance/kept/plan-loops.c: rounds of a repeat that the device makes by itself until its `until` holds, where
 * it can (DeviceKind.loops): nobody waits for a number every few rounds then. The rounds up to an evaluation are one
 * part of what the device keeps, or two in turn where they leave buffers exchanged. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "ir/run/host-run.h"

#include <stdlib.h>
#include <string.h>

/* To have the device keep a loop takes some KEEP_MS milliseconds, and saves SAVED_US
 * microseconds a launch (H200, 2026-11-29): so it is asked when what is left of the run is expected to have launches
 * for twice as much, by the steps so far, or, where nothing says what is left, behind SURE_S seconds of launches by the
 * host, of which that is a fiftieth. The host makes FIRST_LAUNCHES anyway; where launches take SHORT_US microseconds
 * and more on an average there is nothing to save. A part has MOST_LAUNCHES at most: more take longer than nobody may
 * stop them, and make graphs that are large, where waiting for a number costs little. A run of what is kept is to take
 * about RUN_MS milliseconds, as nothing can stop it; where the fewest parts take LONG_MS the host makes them. */
enum { FIRST_LAUNCHES = 1000, KEEP_MS = 20, SAVED_US = 2, SURE_S = 1 };
enum { MOST_LAUNCHES = 2048, SHORT_US = 25, RUN_MS = 30, LONG_MS = 300 };

/* ---------------------------------------------------------------- which loops */

/* The `until` of loop `loop` if the rounds are alike from one evaluation to the next: one that compares its value with
 * what no reduction changes, beside reductions for their values that are due when it is. NULL: they are not. */
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

/* The test of an `until` that is such a comparison; false: it is another. */
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

/* Does the kernel take what may be another one in each round or step: the step, the value of a reduction? */
static bool takes_changing(const Module *m, const Kernel *k) {
  bool any = false;
  for (int i = 0; i < k->nargs; i++)
    any = any || k->args[i].kind == KARG_STEP ||
          (k->args[i].kind == KARG_SCALAR && m->scalars[k->args[i].index].is_reduction);
  return any;
}

/* Is there a loop with reductions in the sequence, or in a loop of it? */
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

/* Do launches of loop `loop` take the same in all rounds and steps? */
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

/* Launches of `rounds` rounds of loop number `loop`, those of the loops in it included; more than MOST_LAUNCHES: it is
 * not looked how many. */
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

/* ---------------------------------------------------------------- what is kept */

/* Makes launches and swaps of `rounds` rounds of loop `loop`, as the host does up to the next evaluation, and of the
 * evaluation. */
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

/* Swaps slots `at` as the `n` operations do; a loop's as often as it has rounds. */
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

/* Has the device keep the parts of `k`; false: it cannot, or *s says why all ends. */
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

/* What the device keeps of loop `loop`, which `until` ends, from the buffers as they are; NULL: it cannot, or rounds
 * differ, or *s says why all ends. What the plan counts is as it was. */
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

/* Tells of the loops in loop `loop`, `times` rounds of which were made in step `step`. */
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

/* Lets the next run of `k` have as many parts as fit the time, after one of `made` took so many seconds. */
static void set_budget(KeptLoop *k, int64_t made, double seconds) {
  if (made == k->budget && seconds * 1e3 < RUN_MS / 2)
    k->budget *= 2;
  if (seconds * 1e3 > RUN_MS && k->budget > k->parts)
    k->budget /= 2;
  if (seconds * 1e3 > LONG_MS && made <= k->parts)
    k->budget = 0;
}

/* Runs `k`, at most `most` parts. */
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

/* Is nothing done between launches of loops, and has nobody asked for what a device that makes them by itself cannot
 * do? Devices that can lend copies of fields, so that launches find these where they are. */
static bool may_keep(const StcPlan *p) {
  const TimeLoop *r = &p->run;
  return p->device.kind->loops && !r->replay.no_loops && !r->replay.recording && !r->times && !r->deferred.memory &&
         !r->group && !p->device.plain;
}

/* May the run end earlier, by an `until` of the step? */
static bool may_end(const Module *m) {
  bool may = false;
  for (int i = 0; i < m->nreductions; i++)
    may = may || (m->reductions[i].kind == REDUCE_UNTIL && !m->reductions[i].loop);
  return may;
}

/* How many launches of the loop are left from step `step` on, as far as the steps before it tell; 0: they do not. */
static double expected_launches(const StcPlan *p, const LoopTime *x, int64_t step) {
  int64_t made = step - x->first, left = p->run.end - step;
  return made > 0 && left > 0 && !may_end(p->build->code.module) ? (double)x->whole / (double)made * (double)left : 0;
}

/* Notes what the host has done of the loop up to an evaluation, since the one before; has it done so much of it, and is
 * so much left, that the device is to make it? */
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
