/* windows.c: the launches of a part's last steps before an exchange. They store no more than later launches need. If an
 * exchange follows directly, the very last launch is divided into windows, which are ranges of whole tiles along one
 * dimension: the rows at the cuts, for which other parts wait, are computed in lanes of their own, so that they are
 * sent while the rest is still being computed. Every tile is computed once, in the same way as in a single launch; so
 * all bits are the same. */
#include "driver/split/split.h"

#include "passes/plan/cost/estimate.h"

#include <string.h>

/* ---------------------------------------------------------------- rows of windows */

/* The dimension along which launches can be divided into windows; -1: none. */
static int window_dimension(const Module *m) {
  for (int d = 0; d < m->grid.rank; d++)
    if (!affine_equal(m->part->gives.lo[d], m->grid.lo[d]))
      return d;
  return -1;
}

/* Does the kernel cover the points that the module's `gives` describes? */
static bool covers_gives(const Module *m, const Kernel *k, int d) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_SCALAR && k->args[i].index == m->part->gives.lo[d].t[0].scalar)
      return true;
  return false;
}

/* The kernel that runs for `named`, if it does; else NULL. */
static const Kernel *window_kernel(const StcPlan *q, int named, int d) {
  const Module *m = q->build->code.module;
  const Kernel *k = &m->kernels[kernel_chosen(m, named, q->scalars)];
  return covers_gives(m, k, d) ? k : NULL;
}

/* The number of the op of the sequence with which its last launch, and the launches beside it, begin; the number of ops
 * if there is none. Swaps follow them. */
static int last_launch(const HostSeq *seq) {
  int last = seq->nops;
  for (int i = seq->nops - 1; i >= 0 && last == seq->nops; i--)
    if (seq->ops[i].kind == HOST_LAUNCH && !seq->ops[i].beside)
      last = i;
  return last;
}

int windows_last_launch(const HostSeq *seq) { return last_launch(seq); }

/* Does a kernel distinguish classes of tiles? In a window its tiles would begin elsewhere. */
static bool goes_by_class(const Module *m) {
  bool goes = false;
  for (int i = 0; i < m->nkernels; i++)
    goes = goes || m->kernels[i].by_class;
  return goes;
}

/* The rows of a tile of the last launch of the sequence; 0 if it cannot be divided into windows along dimension `d`. */
static int64_t window_tile(const StcPlan *q, const HostSeq *seq, int d) {
  int64_t tile = 0;
  if (goes_by_class(q->build->code.module))
    return 0;
  for (int i = last_launch(seq); i < seq->nops && seq->ops[i].kind == HOST_LAUNCH; i++) {
    const Kernel *k = window_kernel(q, seq->ops[i].a, d);
    if (!k || (tile && tile != k->tile[d]))
      return 0;
    tile = k->tile[d];
  }
  return tile;
}

bool launches_trimmed(const StcPlan *q) {
  const Module *m = q->build->code.module;
  const HostSeq *seq = &m->host.seqs[0];
  int d = window_dimension(m);
  bool all = d >= 0 && !goes_by_class(m);
  for (int i = last_launch(seq); i < seq->nops && seq->ops[i].kind == HOST_LAUNCH; i++)
    all = all && covers_gives(m, &m->kernels[seq->ops[i].a], d);
  return all;
}

/* A copy of the plan's scalars in which launches store [lo .. hi] along dimension `d`. */
static Const *scalars_with(const StcPlan *q, const Const *from, int d, int64_t lo, int64_t hi) {
  const Module *m = q->module;
  Const *out = ARENA_ARRAY(q->w.arena, Const, m->nscalars + 1);
  memcpy(out, from, sizeof *out * (size_t)m->nscalars);
  out[m->part->gives.lo[d].t[0].scalar].i = lo;
  out[m->part->gives.hi[d].t[0].scalar].i = hi;
  for (int i = 0; i < m->nscalars; i++)
    if (!m->scalars[i].is_param && m->scalars[i].expr)
      out[i] = expression_value(q->w.arena, m->scalars[i].expr, out);
  return out;
}

/* The scalars with which launches store what is needed if `left` more steps follow before an exchange. */
static const Const *needed(const StcPlan *p, const PartPlan *part, int64_t left) {
  const StcPlan *q = part->plan;
  const Module *m = q->module;
  const Const *out = q->scalars;
  for (int d = 0; d < p->split->rank; d++) {
    if (affine_equal(m->part->gives.lo[d], m->grid.lo[d]))
      continue;
    int64_t lo = affine_eval(m->grid.lo[d], q->scalars, NULL), hi = affine_eval(m->grid.hi[d], q->scalars, NULL);
    int64_t from = part->lo[d] - left * m->part->reach.lo[d], to = part->hi[d] + left * m->part->reach.hi[d];
    out = scalars_with(q, out, d, from > lo ? from : lo, to < hi ? to : hi);
  }
  return out;
}

/* The numbers of rows, at the lower and upper end of the part's own points, that other parts have as ghost cells. */
static void rows_for_others(const StcPlan *p, int i, int d, int64_t *low, int64_t *high) {
  const Split *s = p->split;
  const PartPlan *part = &s->part[i];
  int64_t middle = part->lo[d] + (part->hi[d] - part->lo[d]) / 2;
  *low = *high = 0;
  for (int k = 0; k < s->ntransfers; k++) {
    const Transfer *t = &s->transfers[k];
    int64_t first = t->lo[d] - t->shift[d], last = t->hi[d] - t->shift[d];
    if (t->from != i)
      continue;
    if (last <= middle && last - part->lo[d] + 1 > *low)
      *low = last - part->lo[d] + 1;
    if (first > middle && part->hi[d] - first + 1 > *high)
      *high = part->hi[d] - first + 1;
  }
}

/* Divides rows [lo .. hi], in tiles of `tile` rows from lo on, into windows. False if the rest would be empty. */
static bool part_rows(Windows *w, int64_t low, int64_t high, int64_t tile) {
  int64_t lo = w->lo[WINDOW_REST], hi = w->hi[WINDOW_REST], all = (hi - lo + tile) / tile;
  int64_t first = (low + tile - 1) / tile, last = high ? (hi - lo + 1 - high) / tile : all;
  if (first >= last || (!low && !high))
    return false;
  w->lo[WINDOW_LOW] = lo;
  w->hi[WINDOW_LOW] = lo + first * tile - 1;
  w->lo[WINDOW_REST] = lo + first * tile;
  w->hi[WINDOW_REST] = last < all ? lo + last * tile - 1 : hi;
  w->lo[WINDOW_HIGH] = w->hi[WINDOW_REST] + 1;
  w->hi[WINDOW_HIGH] = hi;
  return true;
}

/* Sets `value` for the slots that the last launch of the sequence, and those beside it, read (`reads`) or write. */
static void mark_slots(const StcPlan *q, const HostSeq *seq, bool reads, bool value, bool *slots) {
  const Module *m = q->build->code.module;
  for (int i = last_launch(seq); i < seq->nops && seq->ops[i].kind == HOST_LAUNCH; i++) {
    const Kernel *k = &m->kernels[kernel_chosen(m, seq->ops[i].a, q->scalars)];
    for (int a = 0; a < k->nargs; a++)
      if (k->args[a].kind == KARG_BUFFER && (reads ? k->args[a].reads : k->args[a].writes))
        slots[q->memory.of_buffer[k->args[a].index]] = value;
  }
}

/* By field of the plan: is the field's memory after the sequence written by the launch, and not read by it? The present
 * state of the buffers does not matter, because each run of the sequence exchanges them in the same way. */
static const bool *early_fields(const StcPlan *q, const HostSeq *seq) {
  const Module *m = q->build->code.module;
  bool *slots = ARENA_ARRAY(q->w.arena, bool, q->memory.nslots + 1),
       *out = ARENA_ARRAY(q->w.arena, bool, m->nfields + 1);
  int32_t at[m->nbuffers + 1];
  mark_slots(q, seq, false, true, slots);
  mark_slots(q, seq, true, false, slots);
  for (int b = 0; b < m->nbuffers; b++)
    at[b] = q->memory.of_buffer[b];
  host_swap(seq, last_launch(seq), at);
  for (int b = 0; b < m->nbuffers; b++)
    if (m->buffers[b].kind == BUFFER_FIELD && m->buffers[b].copy == 0)
      out[m->buffers[b].field] = slots[at[b]];
  return out;
}

/* Do all blocks of the last launch of the sequence, and of those beside it, run at the same time with these scalars?
 * Then a separate launch for the cuts is not complete any sooner. False if it is not known. */
static bool runs_at_once(StcPlan *q, const HostSeq *seq, const Const *scalars) {
  const Module *m = q->build->code.module;
  const TargetInfo *t = &q->device.limits;
  double filled = 0;
  for (int i = last_launch(seq); i < seq->nops && seq->ops[i].kind == HOST_LAUNCH; i++) {
    int number = kernel_chosen(m, seq->ops[i].a, scalars);
    const Kernel *k = &m->kernels[number];
    KernelInfo info;
    if (t->cores < 1 || !q->device.kind->inspect || !q->device.kind->inspect(&q->device, number, &info))
      return false;
    int64_t threads = 1;
    for (int d = 0; d < k->rank; d++)
      threads *= k->threads[d];
    Occupancy o = model_occupancy(t, threads, info.registers, info.shared);
    filled += kernel_space(k, scalars).blocks / ((double)o.blocks * t->cores);
  }
  return filled <= 1;
}

/* Makes the windows for the sequence with `left` more steps before an exchange. apart: divides it into several if there
 * are enough tiles, and more than run at once. */
static Windows *make_windows(const StcPlan *p, int i, const HostSeq *seq, int64_t left, bool apart) {
  const PartPlan *part = &p->split->part[i];
  StcPlan *q = part->plan;
  int d = window_dimension(q->module);
  int64_t tile = d < 0 ? 0 : window_tile(q, seq, d), low, high;
  Windows *w = ARENA_NEW(q->w.arena, Windows);
  *w = (Windows){.seq = seq, .left = left, .wanted = apart, .dimension = d};
  const Const *all = w->scalars[WINDOW_REST] = tile ? needed(p, part, left) : q->scalars;
  if (!tile || !apart)
    return w;
  w->early = early_fields(q, seq);
  w->lo[WINDOW_REST] = all[q->module->part->gives.lo[d].t[0].scalar].i;
  w->hi[WINDOW_REST] = all[q->module->part->gives.hi[d].t[0].scalar].i;
  rows_for_others(p, i, d, &low, &high);
  w->apart = !runs_at_once(q, seq, all) && part_rows(w, low, high, tile);
  for (int k = 0; k < WINDOWS && w->apart; k++)
    w->scalars[k] = scalars_with(q, all, d, w->lo[k], w->hi[k]);
  return w;
}

/* The windows, made at the first request. */
static Windows *find_windows(StcPlan *p, int i, const HostSeq *seq, int64_t left, bool apart) {
  PartPlan *part = &p->split->part[i];
  Windows *w = part->windows;
  while (w && (w->told || w->seq != seq || w->left != left || w->wanted != apart))
    w = w->next;
  if (!w) {
    w = make_windows(p, i, seq, left, apart);
    w->next = part->windows;
    part->windows = w;
  }
  part->made = w;
  return w;
}

/* ---------------------------------------------------------------- launches */

/* Calls `fn` with the plan's scalars set to those of window `k`, except for the present values of reductions. */
static StcStatus in_window(StcPlan *q, Windows *w, int k, StcStatus (*fn)(StcPlan *q, Windows *w, int k)) {
  Const *own = q->scalars, *window = (Const *)w->scalars[k];
  for (int i = 0; i < q->module->nscalars && window != own; i++)
    if (q->module->scalars[i].is_reduction)
      window[i] = own[i];
  q->scalars = window;
  StcStatus s = fn(q, w, k);
  q->scalars = own;
  return s;
}

/* Makes the last launch, and those beside it, undivided. */
static StcStatus launch_whole(StcPlan *q, Windows *w, int k) {
  int first = last_launch(w->seq), n = 0;
  (void)k;
  while (first + n < w->seq->nops && w->seq->ops[first + n].kind == HOST_LAUNCH)
    n++;
  return plan_ops(q, n, w->seq->ops + first);
}

/* Makes the last launch, and those beside it, in the two lanes of window `k`, from lane 1 + 2 k on. */
static StcStatus launch_window(StcPlan *q, Windows *w, int k) {
  Device *d = &q->device;
  StcStatus s = STC_OK;
  for (int i = last_launch(w->seq), n = 0; i < w->seq->nops && w->seq->ops[i].kind == HOST_LAUNCH && !s; i++, n++) {
    int lane = LANE_EDGES + 2 * k + n % 2;
    s = n < 2 ? d->kind->follow(d, lane, d, LANE_MAIN) : STC_OK;
    if (!s)
      s = plan_launch_in(q, w->seq->ops[i].a, lane);
    if (!s)
      s = d->kind->mark(d, lane);
  }
  return s;
}

/* Lets lane `lane` wait for the lanes of window `k`. */
static StcStatus follow_window(StcPlan *q, const Windows *w, int lane, int k) {
  Device *d = &q->device;
  StcStatus s = STC_OK;
  int n = w->seq->nops - last_launch(w->seq);
  for (int i = 0; i < 2 && i < n && !s; i++)
    if (w->seq->ops[last_launch(w->seq) + i].kind == HOST_LAUNCH && LANE_EDGES + 2 * k + i != lane)
      s = d->kind->follow(d, lane, d, LANE_EDGES + 2 * k + i);
  return s;
}

/* Makes the last launch in windows. Sets marks: in LANE_EDGES after the windows at the cuts, in LANE_MAIN after all. */
static StcStatus launch_windows(StcPlan *q, Windows *w) {
  Device *d = &q->device;
  StcStatus s = d->kind->mark(d, LANE_MAIN);
  for (int k = 0; k < WINDOWS && !s; k++)
    if (w->lo[k] <= w->hi[k])
      s = in_window(q, w, k, launch_window);
  for (int k = 0; k < WINDOW_REST && !s; k++)
    s = w->lo[k] <= w->hi[k] ? follow_window(q, w, LANE_EDGES, k) : STC_OK;
  if (!s)
    s = d->kind->mark(d, LANE_EDGES);
  if (!s)
    s = d->kind->follow(d, LANE_MAIN, d, LANE_EDGES);
  return s ? s : follow_window(q, w, LANE_MAIN, WINDOW_REST);
}

/* The argument of the guarded functions for a sequence. */
typedef struct LastSteps {
  StcPlan *plan;
  Windows *w;
} LastSteps;

/* Runs the sequence without its last launch, and those beside it. */
static StcStatus begin_sequence(void *arg) {
  LastSteps *x = arg;
  return plan_ops(x->plan, last_launch(x->w->seq), x->w->seq->ops);
}

/* Runs the rest: the last launch in windows. */
static StcStatus end_sequence(void *arg) {
  LastSteps *x = arg;
  StcPlan *q = x->plan;
  Device *d = &q->device;
  Windows *w = x->w;
  int behind = last_launch(w->seq);
  while (behind < w->seq->nops && w->seq->ops[behind].kind == HOST_LAUNCH)
    behind++;
  StcStatus s = w->apart ? launch_windows(q, w) : in_window(q, w, WINDOW_REST, launch_whole);
  if (!s)
    s = plan_ops(q, w->seq->nops - behind, w->seq->ops + behind);
  if (!s && w->wanted)
    s = d->kind->mark(d, LANE_MAIN);
  if (!s && w->wanted && !w->apart)
    s = d->kind->follow(d, LANE_EDGES, d, LANE_MAIN);
  if (!s && w->wanted && !w->apart)
    s = d->kind->mark(d, LANE_EDGES);
  q->run.done += w->seq->steps;
  return s;
}

/* Runs all of it. */
static StcStatus run_sequence(void *arg) {
  StcStatus s = begin_sequence(arg);
  return s ? s : end_sequence(arg);
}

/* On the simulator, runs the sequence undivided. All launches get the same scalars; so there must be a single launch,
 * and before it no values that are computed once, which ghost cells need, too. */
static StcStatus simulate(StcPlan *q, Windows *w, int k) {
  (void)k;
  return plan_run_steps(q, w->seq->steps, false, NULL);
}

/* The last of the sequences that make `steps` steps; *before: the steps of those before it. */
static const HostSeq *last_sequence(const StcPlan *q, int64_t steps, int64_t *before) {
  const HostSeq *seq = NULL;
  for (int64_t left = steps; left > 0; left -= seq->steps)
    if (!(seq = plan_next_sequence(q, left)))
      return NULL;
  *before = seq ? steps - seq->steps : steps;
  return seq;
}

/* Makes the steps on devices that run modules as a whole; after: as for windows_run. */
static StcStatus run_whole(StcPlan *p, int i, int64_t steps, int64_t after) {
  StcPlan *q = p->split->part[i].plan;
  int64_t before = steps;
  const HostSeq *seq = q->build ? last_sequence(q, steps, &before) : NULL;
  StcStatus s = before ? plan_run_steps(q, before, false, NULL) : STC_OK;
  if (s || !seq)
    return s;
  Windows *w = find_windows(p, i, seq, after, false);
  if (q->ghosts)
    q->ghosts->age += q->ghosts->still ? 0 : before;
  bool alone = !last_launch(seq) && !q->build->code.module->host.once.nops;
  return alone ? in_window(q, w, WINDOW_REST, simulate) : simulate(q, w, WINDOW_REST);
}

StcStatus windows_run(StcPlan *p, int i, int64_t steps, int64_t after, bool early) {
  StcPlan *q = p->split->part[i].plan;
  StcStatus s = STC_OK;
  if (q->device.kind->whole)
    return run_whole(p, i, steps, after);
  for (int64_t left = steps; left > 0 && !s;) {
    const HostSeq *seq = plan_next_sequence(q, left);
    if (!seq)
      return plan_run_steps(q, left, false, NULL);
    int64_t behind = after + left - seq->steps;
    LastSteps x = {q, find_windows(p, i, seq, behind, early && left == seq->steps)};
    s = workspace_guard(&q->w, run_sequence, &x);
    left -= seq->steps;
  }
  return s;
}

const Windows *windows_whole(StcPlan *p, int i, int64_t steps) {
  int64_t before;
  const HostSeq *seq = last_sequence(p->split->part[i].plan, steps, &before);
  Windows *w = seq ? find_windows(p, i, seq, 0, false) : NULL;
  return w && w->dimension >= 0 && window_tile(p->split->part[i].plan, seq, w->dimension) ? w : NULL;
}

StcStatus windows_begin(StcPlan *p, int i, int64_t steps, bool *any) {
  StcPlan *q = p->split->part[i].plan;
  int64_t before = 0, launches = q->run.launches;
  const HostSeq *seq = last_sequence(q, steps, &before);
  StcStatus s = windows_run(p, i, before, steps - before, false);
  if (!s)
    s = workspace_guard(&q->w, begin_sequence, &(LastSteps){q, find_windows(p, i, seq, 0, false)});
  *any |= q->run.launches > launches;
  return s;
}

StcStatus windows_end(StcPlan *p, int i) {
  StcPlan *q = p->split->part[i].plan;
  return workspace_guard(&q->w, end_sequence, &(LastSteps){q, (Windows *)p->split->part[i].made});
}

StcStatus windows_run_rows(StcPlan *p, int i, const HostSeq *seq, int64_t lo, int64_t hi) {
  PartPlan *part = &p->split->part[i];
  StcPlan *q = part->plan;
  int d = window_dimension(q->module), launches = 0;
  int64_t first = affine_eval(q->module->grid.lo[d], q->scalars, NULL),
          last = affine_eval(q->module->grid.hi[d], q->scalars, NULL);
  first = lo > first ? lo : first;
  last = hi < last ? hi : last;
  if (first > last) {
    while (launches < seq->nops && seq->ops[launches].kind == HOST_LAUNCH)
      launches++;
    q->run.done += seq->steps;
    return plan_ops(q, seq->nops - launches, seq->ops + launches);
  }
  Windows *w = part->windows;
  while (w && !(w->seq == seq && w->told && w->lo[WINDOW_REST] == first && w->hi[WINDOW_REST] == last))
    w = w->next;
  if (!w) {
    w = ARENA_NEW(q->w.arena, Windows);
    *w = (Windows){.seq = seq, .told = true, .dimension = d, .next = part->windows};
    w->lo[WINDOW_REST] = first;
    w->hi[WINDOW_REST] = last;
    w->scalars[WINDOW_REST] = scalars_with(q, q->scalars, d, first, last);
    part->windows = w;
  }
  return workspace_guard(&q->w, run_sequence, &(LastSteps){q, w});
}

void windows_foresee(StcPlan *p, int i) {
  const StcPlan *q = p->split->part[i].plan;
  int64_t before;
  const HostSeq *seq = last_sequence(q, p->split->every, &before);
  if (seq)
    find_windows(p, i, seq, 0, true);
}

bool cells_are_there(const StcPlan *p, const Transfer *t) {
  const PartPlan *x = &p->split->part[t->from];
  const Windows *w = x->made;
  int d = w ? w->dimension : -1;
  if (d < 0 || !w->apart || !w->early[t->field])
    return false;
  int64_t lo = t->lo[d] - t->shift[d], hi = t->hi[d] - t->shift[d];
  return (lo >= w->lo[WINDOW_LOW] && hi <= w->hi[WINDOW_LOW]) || (lo >= w->lo[WINDOW_HIGH] && hi <= w->hi[WINDOW_HIGH]);
}

bool cells_are_free(const StcPlan *p, const Transfer *t) {
  const PartPlan *y = &p->split->part[t->to];
  const Windows *w = y->made;
  int d = w ? w->dimension : -1;
  if (d < 0 || !w->apart || !w->early[t->field])
    return false;
  return t->hi[d] < w->lo[WINDOW_REST] || t->lo[d] > w->hi[WINDOW_REST];
}
