/* split-run.c: the time loop over parts: steps of all parts, and between them exchanges and work that needs the whole
 * grid. With several ranks, rank 0 may have the whole grid, and decides how many steps are made at once; the others
 * follow. A rank that fails continues to exchange meaningless cells until all ranks have told each other their status.
 */
#include "driver/split/split.h"

#include <string.h>

/* Gives the parts the present values of reductions. */
static void share_scalars(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    StcPlan *q = p->split->part[i].plan;
    for (int k = 0; k < q->module->nscalars; k++) {
      const Scalar *x = &q->module->scalars[k];
      int whole = x->is_reduction ? module_find_scalar(p->module, x->name) : -1;
      if (whole >= 0)
        q->scalars[k] = p->scalars[whole];
    }
  }
}

/* Makes `steps` steps on all parts, with exchanges before the ghost cells are too old; if they can be sent beside
 * launches, exchanges are made as soon as the cells are that old. */
static StcStatus advance(StcPlan *p, int64_t steps) {
  Split *split = p->split;
  bool can = split->ranks ? mpi_flows(p) : split->transport->early != NULL;
  StcStatus s = STC_OK;
  if (split->turns)
    return turns_advance(p, steps);
  if (split->phases)
    return phases_advance(p, steps);
  for (int64_t left = steps, n, made; left > 0 && (!s || split->net); left -= n) {
    made = 0;
    if (!split->net && stop_asked(p->run.stop))
      break;
    if (can && !s && !split->age && mirrors_are_settled(p))
      s = split_replay(p, left / split->every, &made);
    n = made * split->every;
    if (made)
      continue;
    n = left < split->every ? left : split->every;
    if (split->age && split->age + n > split->every)
      s = split_exchange(p, s, false);
    bool early = can && split->age + n == split->every;
    if (s)
      split->age += n;
    else
      s = split_run_parts(p, n, early);
    if (early && (!s || split->net))
      s = split_exchange(p, s, !s);
  }
  return s;
}

/* Is a probe due? */
static bool probe_is_due(const StcPlan *p) {
  for (int i = 0; i < p->module->nprobes; i++)
    if (p->run.done % p->module->probes[i].every == 0)
      return true;
  return false;
}

/* Is something due after `done` steps that needs the whole grid? */
static bool needs_whole(const StcPlan *p) {
  bool due = observers_are_due(&p->observers, p->run.done) || probe_is_due(p);
  for (int i = 0; i < p->module->nreductions; i++)
    due |= reduction_is_due(&p->module->reductions[i], 0, p->run.done);
  return due;
}

/* Does the body read a field? */
static bool body_reads(const Block *body) {
  for (const Op *op = body->first; op; op = op->next)
    if (op->code == OP_ACCESS)
      return true;
  return false;
}

/* Is something due that reads fields? Reductions of scalars that are kept do not. */
static bool needs_fields(const StcPlan *p) {
  const Module *m = p->program->reference;
  bool due = observers_are_due(&p->observers, p->run.done) || probe_is_due(p);
  for (int i = 0; i < m->nreductions; i++)
    due |= reduction_is_due(&m->reductions[i], 0, p->run.done) && body_reads(m->reductions[i].body);
  return due;
}

/* The number of steps until something is due, at most `left`; a small number if progress is shown, or if others may
 * have to be told of a failure. */
static int64_t next_steps(const StcPlan *p, int64_t left, int64_t count) {
  int64_t n = module_steps_to_stop(p->module, 0, p->run.done, observers_wait(&p->observers, p->run.done, left));
  for (int i = 0; i < p->module->nprobes; i++) {
    int64_t due = p->module->probes[i].every - p->run.done % p->module->probes[i].every;
    n = due < n ? due : n;
  }
  bool few = observers_ask(&p->observers) || p->split->net;
  return few && (n - 1) / p->split->every >= count ? count * p->split->every : n;
}

/* The state of the run on rank 0, for all: the number of the reduction whose condition ended the run (-1), and the
 * steps. */
typedef struct State {
  int64_t first, done;
  int32_t met;
  bool inits_done, evaluated;
} State;

/* Sends rank 0's state of the run to all ranks, and then to their parts; returns the status of all. */
static StcStatus share_state(StcPlan *p, StcStatus s) {
  Net *net = p->split->net;
  s = split_agree(p, s);
  if (net && !s) {
    State x = {p->run.first, p->run.done, p->run.met ? (int32_t)(p->run.met - p->module->reductions) : -1,
               p->run.inits_done, p->run.evaluated};
    net->broadcast(net, &x, sizeof x, 0);
    net->broadcast(net, p->scalars, sizeof *p->scalars * (size_t)p->module->nscalars, 0);
    p->run.first = x.first;
    p->run.done = x.done;
    p->run.met = x.met < 0 ? NULL : &p->module->reductions[x.met];
    p->run.inits_done = x.inits_done;
    p->run.evaluated = x.evaluated;
  }
  share_scalars(p);
  return s;
}

/* The result of a batch of steps on a rank: the status, whether fields of the whole grid are needed now, the seconds.
 */
typedef struct Batch {
  StcStatus status;
  bool whole;
  double seconds;
} Batch;

/* Combines the results of all ranks: the time is that of the slowest one; rank 0 decides what is needed. */
static void share_batch(StcPlan *p, Batch *b) {
  Net *net = p->split->net;
  b->status = split_agree(p, b->status);
  if (!net)
    return;
  Batch all[net->size];
  net->gather(net, b, sizeof *b, all);
  b->whole = all[0].whole;
  for (int i = 0; i < net->size; i++)
    b->seconds = all[i].seconds > b->seconds ? all[i].seconds : b->seconds;
}

/* Makes a batch of `steps` steps. */
static Batch run_batch(StcPlan *p, int64_t steps, int64_t end) {
  double start = clock_seconds();
  Batch b = {.status = advance(p, steps)};
  b.status = split_wait(p, b.status);
  if (b.status && p->split->ranks)
    mpi_give_up(p);
  b.seconds = clock_seconds() - start;
  b.whole = p->run.done == end || needs_fields(p);
  share_batch(p, &b);
  return b;
}

/* Runs the inits of all parts, which compute their ghost cells, too. */
static StcStatus begin_parts(StcPlan *p) {
  Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++) {
    StcPlan *q = split->part[i].plan;
    q->run.first = q->run.done = p->run.done;
    q->run.evaluated = true;
    if (q->ghosts)
      ghosts_judge_inits(p, &split->part[i]);
    s = plan_run_steps(q, 0, true, NULL);
    if (q->ghosts)
      q->ghosts->init = NULL;
    if (s && s != STC_INTERRUPTED)
      split_name_part(p, i);
  }
  return s;
}

/* Evaluates the reductions that are due and, if `probes`, the probes, where no rank has the whole grid; on all ranks.
 */
static StcStatus evaluate_lean(StcPlan *p, bool probes) {
  share_scalars(p);
  StcStatus s = p->split->age && watching_needs_ghosts(p)
                    ? split_agree(p, split_wait(p, split_exchange(p, STC_OK, false)))
                    : STC_OK;
  if (!s)
    s = watching_evaluate(p, probes);
  return s;
}

/* May ghost cells be invalid after the inits? They may be where an init reads other points than its own; and beyond the
 * edges of a ring where the init computes them from, or beside, cells that are no copies of others, such as those that
 * -fcheck records. */
static bool inits_leave_ghosts(const StcPlan *p) {
  const Module *m = p->program->module, *part = p->split->part[p->split->begin].module;
  bool ring = false, checks = p->program->options.check_bounds || p->program->options.check_finite;
  for (int f = 0; f < part->nfields; f++)
    ring |= part->fields[f].ring;
  for (int i = 0; i < m->ninits; i++)
    for (int k = 0; k < m->inits[i].npieces; k++) {
      const Piece *piece = &m->inits[i].pieces[k];
      if (body_looks_around(m, &piece->box, piece->body) ||
          (ring && (checks || piece->ntargets > 1 || body_reads(piece->body))))
        return true;
    }
  return false;
}

/* Runs the inits of a rank's parts without the whole grid, and the watches, which all ranks have. Inits may read ghost
 * cells of fields that were set, and leave others that must be updated. */
static StcStatus begin_lean(StcPlan *p) {
  bool around = !p->run.inits_done && inits_leave_ghosts(p), begins = p->run.done == p->run.first && !p->run.evaluated;
  StcStatus s = split_agree(p, split_fill_lists(p));
  p->split->age = p->run.inits_done ? p->split->age : 0;
  if (!s && !p->run.inits_done)
    s = plan_first_states(p);
  if (p->split->phases && !p->run.inits_done)
    phases_before_inits(p);
  if (begins)
    ghosts_scattered(p);
  if (!s && around)
    s = split_agree(p, split_refresh(p));
  if (!s)
    s = split_agree(p, p->run.inits_done ? STC_OK : begin_parts(p));
  p->split->touched |= around;
  if (!s)
    s = split_refresh(p);
  if (!s && begins)
    s = evaluate_lean(p, p->run.first == 0 && p->lists.unseen == 0);
  if (s)
    return s;
  p->run.inits_done = p->run.evaluated = true;
  return plan_show(p);
}

/* Evaluates the reductions, probes and watches that are due, on the rank that has the whole grid. */
static StcStatus evaluate(StcPlan *p, int64_t first, int64_t end) {
  StcStatus s = STC_OK;
  bool due = split_leads(p->split) && needs_whole(p) && !p->split->lean;
  double start = clock_seconds();
  if (p->split->lean && needs_whole(p))
    s = evaluate_lean(p, true);
  p->split->evaluating += clock_seconds() - start;
  p->lists.unseen = p->run.done + 1;
  if (p->split->lean && !s)
    s = plan_show(p);
  if (due)
    s = plan_see(p);
  if (due && !s)
    s = plan_evaluate(p);
  return s ? s : plan_ask(p, first, end - first);
}

/* If the run was stopped, copies all fields to the whole grid: a checkpoint may be written, and the next run begins
 * with these fields. */
static StcStatus bring_home(StcPlan *p, StcStatus stopped) {
  StcStatus s = split_agree(p, split_gather(p));
  return s ? s : stopped;
}

/* Makes steps until `end`, and times each batch. *seconds: their time. */
static StcStatus run_loop(StcPlan *p, int64_t first, int64_t end, double *seconds) {
  Net *net = p->split->net;
  int64_t count = 1;
  StcStatus s = STC_OK;
  while (!s && p->run.done < end && !p->run.met) {
    s = p->run.done > first ? split_next_frames(p) : STC_OK;
    if (s)
      return p->split->lean ? s : bring_home(p, s);
    int64_t steps = next_steps(p, end - p->run.done, count);
    if (net)
      net->broadcast(net, &steps, sizeof steps, 0);
    Batch b = run_batch(p, steps, end);
    s = b.status;
    p->run.torn |= s == STC_INTERRUPTED;
    *seconds += b.seconds;
    count = plan_next_count(count, steps / p->split->every, b.seconds);
    if (!s && b.whole && !p->split->lean)
      s = split_gather(p);
    if (!s || (net && b.whole && !b.status))
      s = share_state(p, s ? s : evaluate(p, first, end));
    if (!s && p->run.met && !b.whole && !p->split->lean)
      s = split_agree(p, split_gather(p));
    if (!s && !net && p->run.done < end && !p->run.met && stop_asked(p->run.stop))
      s = STC_INTERRUPTED;
    if (s == STC_INTERRUPTED && !b.status && !b.whole && !p->split->lean)
      s = bring_home(p, s);
  }
  return s;
}

/* plan_run_once, before anything is recorded (workspace_guard). */
static StcStatus once_guarded(void *arg) {
  StcPlan *q = arg;
  StcStatus s = plan_run_once(q);
  return s ? s : q->device.kind->wait(&q->device);
}

/* Lets each part run the `once` sequence on its fields: for masks, where tiles have nothing to compute. */
static StcStatus compute_once(StcPlan *p) {
  const StcPlan *first = p->split->part[p->split->begin].plan;
  StcStatus s = STC_OK;
  if (p->split->turns || p->split->phases || first->device.kind->whole || !first->build->code.module->host.once.nops)
    return STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s; i++) {
    StcPlan *q = p->split->part[i].plan;
    s = workspace_guard(&q->w, once_guarded, q);
    if (s && s != STC_INTERRUPTED)
      split_name_part(p, i);
  }
  return split_agree(p, s);
}

/* Before the plan's first steps: lets the transport prepare what it can before the clock starts. */
static StcStatus make_ready(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  if (s || split->ready)
    return s;
  split->ready = true;
  split->origin = p->run.done;
  return split_agree(p, split->transport->ready ? split->transport->ready(p) : STC_OK);
}

StcStatus split_run(StcPlan *p, StcStatus s, int64_t steps, double *seconds) {
  Net *net = p->split->net;
  *seconds = p->split->exchanged = p->split->evaluating = 0;
  p->split->agreed = false;
  bool lean = p->split->lean;
  if (!s && p->split->broken)
    s = (diag_error(p->w.diags, no_loc(), "a device or a rank failed in an earlier run: this plan cannot go on"),
         STC_DEVICE);
  if (p->split->transport->wait || p->split->ranks)
    s = split_agree(p, s);
  if (!s && (steps > 0 || !p->run.inits_done))
    s = plan_next_frames(p);
  if (lean)
    s = split_agree(p, s);
  if (!s && lean)
    s = begin_lean(p);
  else if (!s && split_leads(p->split))
    s = plan_run_whole_grid(p);
  s = share_state(p, s);
  if (net && !s)
    net->broadcast(net, &steps, sizeof steps, 0);
  if (!s && !lean)
    s = split_agree(p, split_scatter(p));
  s = phases_begin(p, s);
  share_scalars(p);
  for (int i = p->split->begin; i < p->split->end && !net; i++)
    p->split->part[i].plan->run.stop = p->run.stop;
  s = s ? s : compute_once(p);
  s = make_ready(p, s);
  mirrors_begin(p);
  int64_t first = p->run.done;
  p->split->goal = first + steps;
  s = s ? s : run_loop(p, first, first + steps, seconds);
  *seconds += p->split->evaluating;
  p->split->agreed = true;
  return s;
}

StcStatus split_leave(StcPlan *p, StcStatus s) {
  return p->split ? net_leave(p->w.context, p->split->net, p->split->agreed, s) : s;
}
