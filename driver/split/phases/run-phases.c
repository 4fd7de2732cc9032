/* driver/split/phases/run-phases.c: the steps of a plan with phases: the steps of each phase on all parts, and updates,
 * reductions and exchanges between them, in the order of the program's step. */
#include "driver/split/phases/phases.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- a phase */

/* The state of a step: its position in phases and updates, and the error on this rank. over: all ranks know that there
 * was an error, so none waits for another. */
typedef struct Step {
  StcPlan *p;
  Phases *x;
  int phase, update;
  StcStatus s;
  bool over;
} Step;

/* Lets later launches of `to` wait for earlier ones of `from`. */
static StcStatus follow(StcPlan *to, StcPlan *from) {
  const DeviceKind *kind = from->device.kind;
  if (to == from || !kind->mark || !to->device.kind->follow)
    return STC_OK;
  StcStatus s = kind->mark(&from->device, LANE_MAIN);
  return s ? s : to->device.kind->follow(&to->device, LANE_MAIN, &from->device, LANE_MAIN);
}

/* Lends the memory of the part's fields to the phase's plan, or takes it back (`back`). */
static void lend_fields(const Phase *x, StcPlan *q, StcPlan *part, bool back) {
  for (int f = 0; f < q->module->nfields; f++) {
    Slot *slot = field_slot(q, f), *own = x->of_field[f] < 0 ? NULL : field_slot(part, x->of_field[f]);
    if (slot && own && back)
      own->memory = slot->memory;
    else if (slot && own)
      slot->memory = own->memory;
  }
}

/* Lends it the arrays, the values of reductions, and the simulator's knowledge of ghost cells. */
static void lend_rest(const StcPlan *p, const Phase *x, StcPlan *q, const StcPlan *part) {
  for (int i = 0; i < q->module->nparam_arrays; i++)
    split_lend_array(q, i, part);
  split_lend_reductions(q, p);
  if (!part->ghosts)
    return;
  if (!q->ghosts) {
    q->ghosts = ARENA_NEW(q->w.arena, Ghosts);
    *q->ghosts = *part->ghosts;
    q->ghosts->levels = ARENA_ARRAY(q->w.arena, int64_t *, q->module->nfields + 1);
  }
  for (int f = 0; f < q->module->nfields; f++)
    q->ghosts->levels[f] = x->of_field[f] < 0 ? NULL : part->ghosts->levels[x->of_field[f]];
}

/* Runs `steps` steps of the phase on part `i`. */
static StcStatus run_part(StcPlan *p, int k, int i, int64_t steps) {
  Split *split = p->split;
  Phase *x = &split->phases->list[k];
  PartPlan *part = &split->part[i];
  StcPlan *own = part->plan, *q = k ? x->plan[i - split->begin] : own;
  Windows *windows = part->windows;
  StcStatus s = follow(q, own);
  if (k) {
    lend_fields(x, q, own, false);
    lend_rest(p, x, q, own);
    part->plan = q;
    part->windows = x->windows[i - split->begin];
  }
  int64_t launches = q->run.launches;
  q->run.first = q->run.done = p->run.done;
  q->run.stop = own->run.stop;
  if (q->ghosts) {
    q->ghosts->age = split->age;
    q->ghosts->exchanged = split_level(p);
    q->ghosts->still = !x->around;
  }
  if (!s)
    s = windows_run(p, i, steps, split->every - split->age - (x->around ? steps : 0), false);
  p->run.launches += q->run.launches - launches;
  if (k) {
    x->windows[i - split->begin] = part->windows;
    part->plan = own;
    part->windows = windows;
    part->made = NULL;
    lend_fields(x, q, own, true);
  }
  return s ? s : follow(own, q);
}

/* Runs up to `most` steps of the phase on all parts of this rank, after an exchange if it needs one. Returns their
 * number. */
static int64_t run_phase(Step *t, int k, int64_t most) {
  Split *split = t->p->split;
  Phase *x = &split->phases->list[k];
  t->s = phases_give_states(t->p, t->s);
  if (x->around && split->age + 1 > split->every)
    t->s = split_exchange(t->p, t->s, false);
  int64_t left = split->every - split->age, steps = !x->around || most < left ? most : left;
  for (int i = split->begin; i < split->end && !t->s; i++) {
    t->s = run_part(t->p, k, i, steps);
    if (t->s && t->s != STC_INTERRUPTED)
      split_name_part(t->p, i);
  }
  split->age += x->around ? steps : 0;
  if (x->restricts) {
    ghosts_restricted(t->p);
    t->s = split_exchange(t->p, t->s, false);
  }
  return steps;
}

/* ---------------------------------------------------------------- updates and reductions */

/* Waits for all parts, and updates ghost cells as watch `k` needs them. */
static void get_ready(Step *t, int k) {
  StcPlan *p = t->p;
  t->s = phases_give_states(p, t->s);
  if (p->split->age && watching_looks_around(p, k))
    t->s = split_exchange(p, t->s, false);
  t->s = split_wait(p, t->s);
}

/* Makes update number `u`. */
static void make_update(Step *t, int u) {
  StcPlan *p = t->p;
  const Module *m = t->x->m;
  const Update *update = &m->updates[u];
  int state = phases_array(p, t->x, update->state);
  int64_t n = update->each ? grid_members(m, p->scalars) : 1;
  Const *values = split_must_have(p, "the values of an update", (double)n * sizeof *values);
  memset(values, 0, (size_t)n * sizeof *values);
  if (update_is_watched(update)) {
    int k = m->nreductions + m->nprobes + u;
    get_ready(t, k);
    t->s = watching_value(p, k, t->s, values);
    t->over = t->s;
  } else if (!t->s) {
    void *arrays[m->nparam_arrays + 1];
    static char nothing[16];
    for (int i = 0; i < m->nparam_arrays; i++)
      arrays[i] = phases_is_state(t->x, i) ? (void *)p->run.states[phases_array(p, t->x, i)]
                  : t->x->values[i]        ? t->x->values[i]
                                           : nothing;
    t->s = interp_update_alone(m, u, p->scalars, arrays, p->run.done, values, p->w.diags) ? STC_OK : STC_INPUT;
    t->over = t->s;
  }
  memcpy(p->run.states[state], values, (size_t)n * sizeof *values);
  free(values);
  t->x->changed = true;
}

/* Evaluates the reductions of repeat `r` that are due after `done` rounds; *ends if an `until` holds. Repeats are
 * numbered as in the reference: the plan's own module has fewer if some are unrolled (pass rounds). */
static void evaluate_rounds(Step *t, int r, int64_t done, bool *ends) {
  StcPlan *p = t->p;
  for (int k = 0; k < t->x->m->nreductions && !t->over; k++) {
    if (!reduction_is_due(&t->x->m->reductions[k], r + 1, done))
      continue;
    get_ready(t, k);
    t->s = watching_tell(p, k, t->s, done, ends);
    t->over = t->s;
  }
}

/* The stages of the next phase and the next update; INT32_MAX: there is none. */
static int32_t next_phase(const Step *t) { return t->phase < t->x->n ? t->x->list[t->phase].stages.first : INT32_MAX; }

static int32_t next_update(const Step *t) {
  return t->update < t->x->m->nupdates ? t->x->m->updates[t->update].stage : INT32_MAX;
}

/* ---------------------------------------------------------------- the order of the step */

/* Ends the run within the step if a stop was requested and the step takes long, or after an error. This applies to a
 * single rank; several end when all know of it. */
static void stop_within(Step *t) {
  const Net *net = t->p->split->net;
  if (net && net->size > 1)
    return;
  if (!t->s && stop_at_once(t->p->run.stop))
    t->s = STC_INTERRUPTED;
  t->over = t->s;
}

static void run_stages(Step *t, int around, int32_t last);

/* Makes the rounds of repeat `r`. */
static void run_repeat(Step *t, int r) {
  const Repeat *x = &t->x->m->repeats[r];
  int64_t most = affine_eval(x->most, t->p->scalars, NULL), done = 0;
  int phase = t->phase, update = t->update;
  bool ends = false, alone = phase < t->x->n && t->x->list[phase].repeat == r;
  while (done < most && !ends && !t->over) {
    t->phase = phase;
    t->update = update;
    if (alone)
      done += run_phase(t, phase, module_steps_to_stop(t->x->m, r + 1, done, most - done));
    else
      run_stages(t, r, x->last);
    done += !alone;
    evaluate_rounds(t, r, done, &ends);
    stop_within(t);
  }
  while (next_phase(t) <= x->last)
    t->phase++;
  while (next_update(t) <= x->last)
    t->update++;
  if (!t->s)
    plan_note_rounds(t->p, r, t->p->run.done, done, ends);
}

/* Reports the rounds of the repeats within the stages of phase number `k`, which its program has made; for a nested
 * repeat, those in all rounds of the outer one. */
static void note_among(Step *t, int k) {
  const Module *m = t->x->m;
  const Phase *x = &t->x->list[k];
  for (int r = 0; r < m->nrepeats && !t->s; r++) {
    int64_t around = 1;
    for (int o = repeat_around(m, r); o >= 0 && stages_have_repeat(x->stages, &m->repeats[o]); o = repeat_around(m, o))
      around *= affine_eval(m->repeats[o].most, t->p->scalars, NULL);
    int64_t rounds = affine_eval(m->repeats[r].most, t->p->scalars, NULL);
    if (stages_have_repeat(x->stages, &m->repeats[r]) && around > 0)
      plan_note_rounds(t->p, r, t->p->run.done, rounds > 0 ? around * rounds : 0, false);
  }
}

/* Runs all that is next and whose stage is at most `last`, in repeat `around` (-1: the step). */
static void run_stages(Step *t, int around, int32_t last) {
  for (;;) {
    int32_t phase = next_phase(t), update = next_update(t), stage = update <= phase ? update : phase;
    if (stage > last || stage == INT32_MAX || t->over)
      return;
    int r = repeat_outermost(t->x->m, stage, around);
    if (r != around && !(phase < update && stages_have_repeat(t->x->list[t->phase].stages, &t->x->m->repeats[r])))
      run_repeat(t, r);
    else if (update <= phase)
      make_update(t, t->update++);
    else {
      run_phase(t, t->phase, 1);
      note_among(t, t->phase++);
    }
  }
}

StcStatus phases_advance(StcPlan *p, int64_t steps) {
  StcStatus s = STC_OK;
  const Net *net = p->split->net;
  for (int64_t i = 0; i < steps && (!s || net); i++) {
    Step t = {.p = p, .x = p->split->phases, .s = s};
    if (!net && stop_asked(p->run.stop))
      break;
    run_stages(&t, -1, INT32_MAX - 1);
    s = t.s;
    if (t.over)
      return s;
    p->run.done += s ? 0 : 1;
  }
  return phases_settle(p, phases_give_states(p, s));
}
