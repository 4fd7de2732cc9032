/* sim-exec.c: runs the threads. The threads of a block run one after the other, in random order, each up to its next
 * barrier. Before that, the threads of a warp meet at shuffles. */
#include "ir/sim/simulate.h"

uint64_t sim_random(Sim *s, uint64_t n) {
  s->random += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = s->random;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (z ^ (z >> 31)) % n;
}

/* The origin of staleness of exec_apply's result: that of any stale operand; if the op selects one operand, that of the
 * selected one. The result of `ranged` is never stale, because it only chooses between two ways to compute the same
 * values. */
static inline __attribute__((always_inline)) uint32_t stale_apply(ExecCode code, Const x, Const y, uint32_t sx,
                                                                  uint32_t sy, uint32_t sz) {
  switch (code) {
  case EX_SELECT: return sx ? sx : x.i ? sy : sz;
  case EX_AND: return (!sx && !x.i) || (!sy && !y.i) ? 0 : sx ? sx : sy;
  case EX_OR: return (!sx && x.i) || (!sy && y.i) ? 0 : sx ? sx : sy;
  case EX_RANGED_F32:
  case EX_RANGED_F64:
  case EX_ABOVE_F32:
  case EX_ABOVE_F64: return 0;
  default: return sx ? sx : sy ? sy : sz;
  }
}

/* inside: do all coordinates lie in the box? */
static void run_inside(SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  bool inside = true;
  uint32_t stale = 0;
  for (int k = 0; k < p->rank; k++) {
    int64_t x = t->slot[p->idx[k]].i;
    inside = inside && x >= p->lo[k] && x <= p->hi[k];
    stale = stale ? stale : t->stale[p->idx[k]];
  }
  t->slot[i->dst].i = inside;
  t->stale[i->dst] = stale;
}

/* idx.*: the coordinate mapped into the box; it is stale if a guard changes it. */
static void run_map(const Sim *s, SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  int64_t x = (int64_t)((uint64_t)t->slot[i->a].i + (uint64_t)p->off[0]);
  int64_t hi = i->op->count && p->lo[0] <= p->hi[0] ? eval_last(p->lo[0], p->hi[0], i->op->count) : p->hi[0];
  int64_t to = x >= p->lo[0] && x <= p->hi[0] ? x : eval_map(i->op->code, x, p->lo[0], hi);
  bool moved = to != x && i->op->code == OP_GUARD;
  t->slot[i->dst].i = to;
  t->stale[i->dst] = t->stale[i->a] ? t->stale[i->a] : moved ? (uint32_t)(i - s->k->insns) + 1 : 0;
}

/* Memory instructions, by code. */
static void run_memory(Sim *s, SimThread *t, const SimInsn *i) {
  switch (i->code) {
  case SIM_ALIGN:
  case SIM_SALIGN: sim_align(s, t, i); break;
  case SIM_COPY: sim_copy(s, t, i); break;
  case SIM_COMMIT: t->commits++; break;
  case SIM_FETCH: sim_fetch(s, t, i); break;
  default: sim_wait(s, t, i); break;
  }
}

/* Enters and leaves code that depends on a condition in slots a and b. */
static void enter(SimThread *t, const SimInsn *i) {
  uint32_t stale = t->stale[i->a] ? t->stale[i->a] : t->stale[i->b];
  t->doubt += stale != 0;
  t->doubt_origin = stale ? stale : t->doubt_origin;
}

static void leave(SimThread *t, const SimInsn *i) { t->doubt -= t->stale[i->a] || t->stale[i->b]; }

/* Jumps, loops and conditions: returns the number of the instruction after `i`, which is number `pc`. */
static int32_t run_control(SimThread *t, const SimInsn *i, int32_t pc) {
  switch (i->code) {
  case SIM_JUMP: return i->target;
  case SIM_IF: enter(t, i); return t->slot[i->a].i ? pc + 1 : i->target;
  case SIM_ENTER: enter(t, i); return pc + 1;
  case SIM_LEAVE: leave(t, i); return pc + 1;
  case SIM_FOR: return t->slot[i->a].i < t->slot[i->b].i ? pc + 1 : i->target;
  default:
    if (__builtin_add_overflow(t->slot[i->a].i, i->op->off[0], &t->slot[i->a].i))
      t->slot[i->a].i = INT64_MAX;
    return i->target;
  }
}

/* Runs `t` to its next barrier or shuffle, to its end, or until the run stops. */
static void run_thread(Sim *s, SimThread *t) {
  const SimInsn *insns = s->k->insns;
  Const *slot = t->slot;
  uint32_t *stale = t->stale;
  int32_t pc = t->pc;
  int64_t ops = 0;
  for (t->state = SIM_RUNNING; t->state == SIM_RUNNING && !s->stop; ops++) {
    const SimInsn *i = &insns[pc++];
    switch (i->code) {
#define X(NAME) \
  case EX_##NAME: \
    stale[i->dst] = stale_apply(EX_##NAME, slot[i->a], slot[i->b], stale[i->a], stale[i->b], stale[i->c]); \
    slot[i->dst] = exec_apply(EX_##NAME, i->op, slot[i->a], slot[i->b], slot[i->c]); \
    break;
      EXEC_CODES(X)
#undef X
    case SIM_MOVE:
      slot[i->dst] = slot[i->a];
      stale[i->dst] = stale[i->a] ? stale[i->a] : stale[i->b] ? stale[i->b] : stale[i->c];
      break;
    case SIM_INSIDE: run_inside(t, i); break;
    case SIM_MAP: run_map(s, t, i); break;
    case SIM_LOAD: sim_load(s, t, i); break;
    case SIM_STORE: sim_store(s, t, i); break;
    case SIM_SLOAD: sim_shared_load(s, t, i); break;
    case SIM_SSTORE: sim_shared_store(s, t, i); break;
    case SIM_PLOAD: sim_private_load(s, t, i); break;
    case SIM_PSTORE: sim_private_store(s, t, i); break;
    case SIM_ALIGN:
    case SIM_SALIGN:
    case SIM_COPY:
    case SIM_COMMIT:
    case SIM_FETCH:
    case SIM_WAIT: run_memory(s, t, i); break;
    case SIM_PARALLEL:
      s->met = ++s->interval;
      t->actor = 0;
      break;
    case SIM_ITERATION: t->actor++; break;
    case SIM_BARRIER: t->state = SIM_WAITING; break;
    case SIM_SHUFFLE: t->state = SIM_TRADING; break;
    case SIM_SIGNAL: sim_signal(s, t, i); break;
    case SIM_BULK: sim_bulk(s, t, i); break;
    case SIM_SEND: sim_send(s, t, i); break;
    case SIM_AWAIT: t->state = sim_await(s, t, i) ? SIM_RUNNING : SIM_BLOCKED; break;
    case SIM_END:
      sim_check_copies(s, t);
      t->state = SIM_DONE;
      break;
    default: pc = run_control(t, i, pc - 1); break;
    }
  }
  t->pc = pc;
  s->stats.ops += ops;
}

/* The barrier or shuffle at which `t` waits, or NULL. */
static const SimInsn *meeting_of(const Sim *s, const SimThread *t) {
  return t->state == SIM_DONE ? NULL : &s->k->insns[t->pc - 1];
}

/* Are both at the same barrier or shuffle in the same iteration of the loops around it? */
static bool same_meeting(const Sim *s, const SimThread *x, const SimThread *y) {
  const SimInsn *i = meeting_of(s, x);
  if (i != meeting_of(s, y))
    return false;
  for (int k = 0; i && k < i->place->nloops; k++)
    if (x->slot[i->place->loops[k]].i != y->slot[i->place->loops[k]].i)
      return false;
  return true;
}

/* Describes where `t` is, if it is not at `meeting`. */
static const char *whereabouts(Sim *s, const SimThread *t, const SimInsn *meeting) {
  const SimInsn *i = meeting_of(s, t);
  if (!i)
    return "has finished";
  if (i == meeting)
    return "is at it in another iteration of the loop around it";
  const char *what = i->code == SIM_BARRIER ? "barrier"
                     : i->code == SIM_AWAIT ? "signal"
                     : op_meets_warp(i->op) ? op_info[i->op->code].name
                                            : "shuffle";
  return arena_printf(s->arena, "waits at the %s of line %d", what, i->op->loc.line);
}

/* ---- shuffles */

/* A thread of the warp `lanes`, of `n` threads, is at a shuffle: checks that all are at the same one, and that the lane
 * exists from which each reads. False after a fault. */
static bool check_shuffle(Sim *s, const SimThread *lanes, int n) {
  const SimThread *here = lanes;
  while (here->state != SIM_TRADING)
    here++;
  const SimInsn *i = meeting_of(s, here);
  for (int k = 0; k < n; k++) {
    const SimThread *t = &lanes[k];
    if (!same_meeting(s, here, t)) {
      sim_fault(s, here, i, "divergent shuffle: this thread is at it, but thread %s of the same warp %s",
                sim_thread_text(s, t->number), whereabouts(s, t, i));
      return false;
    }
    if (i->op->code == OP_SHUFFLE && (k ^ (int)i->op->off[0]) >= n) {
      sim_fault(s, t, i, "shuffle with lane %d, but the warp has %d threads", k ^ (int)i->op->off[0], n);
      return false;
    }
  }
  return true;
}

/* The lane from which lane `k` of `n` reads in shuffle `op`, where groups of `lanes` lanes exchange values; -1: there
 * is none. */
static int partner_of(const Op *op, int k, int n, int lanes) {
  int by = (int)op->off[0], lane = op->code == OP_SHUFFLE ? k ^ by : op->code == OP_SHUFFLE_UP ? k - by : k + by;
  return lane >= 0 && lane < n && lane / lanes == k / lanes ? lane : -1;
}

/* The `n` threads at `lanes` meet as a warp at `i`, which is no shuffle. If a value that must be the same in all
 * threads is not, that is a fault. */
static void meet_warp(Sim *s, SimThread *lanes, int n, const SimInsn *i) {
  uint32_t first = (s->block_epoch * 7 + lanes->number / (uint32_t)s->k->warp) % (uint32_t)n;
  if (i->op->code == OP_BARRIER_WARP && s->k->signals)
    sim_clocks_meet(s, lanes, n);
  for (int k = 0; k < n && i->op->nresults; k++) {
    if (i->op->code == OP_ELECT)
      lanes[k].slot[i->dst].i = (uint32_t)k == first;
    else if (!const_same(lanes[k].slot[i->a], lanes[0].slot[i->a], i->op->results[0]->type))
      sim_fault(s, &lanes[k], i, "uniform: the value is not the same in all threads of the warp");
    else
      lanes[k].slot[i->dst] = lanes[k].slot[i->a];
    lanes[k].stale[i->dst] = i->op->code == OP_ELECT ? 0 : lanes[k].stale[i->a];
  }
}

/* Gives each of the `n` threads at `lanes`, which are at one shuffle, the value of its partner; a thread without
 * partner keeps its own value, which becomes stale. */
static void trade(Sim *s, SimThread *lanes, int n) {
  const SimInsn *i = meeting_of(s, lanes);
  if (op_info[i->op->code].form != FORM_LANE) {
    meet_warp(s, lanes, n, i);
    return;
  }
  Const value[MOST_LANES];
  uint32_t stale[MOST_LANES];
  for (int k = 0; k < n; k++) {
    value[k] = lanes[k].slot[i->a];
    stale[k] = lanes[k].stale[i->a];
  }
  for (int k = 0; k < n; k++) {
    int other = partner_of(i->op, k, n, s->k->lanes);
    lanes[k].slot[i->dst] = value[other < 0 ? k : other];
    lanes[k].stale[i->dst] = other >= 0 ? stale[other] : stale[k] ? stale[k] : (uint32_t)(i - s->k->insns) + 1;
  }
}

/* Is one of the `n` threads at `lanes` at a shuffle? */
static bool is_trading(const SimThread *lanes, int n) {
  for (int k = 0; k < n; k++)
    if (lanes[k].state == SIM_TRADING)
      return true;
  return false;
}

/* Lets those of the `n` threads at `lanes` continue whose signals have arrived. True if there was one. */
static bool wake(Sim *s, SimThread *lanes, int n) {
  bool any = false;
  for (int k = 0; k < n && !s->stop; k++)
    if (lanes[k].state == SIM_BLOCKED && sim_await(s, &lanes[k], meeting_of(s, &lanes[k]))) {
      run_thread(s, &lanes[k]);
      any = true;
    }
  return any;
}

/* Does one of the `n` threads at `lanes` wait for a signal? */
static bool is_blocked(const SimThread *lanes, int n) {
  for (int k = 0; k < n; k++)
    if (lanes[k].state == SIM_BLOCKED)
      return true;
  return false;
}

/* Runs the `n` threads at `lanes`, a warp, as far as they can go without other warps: through shuffles, and waits for
 * signals that have arrived, to the next barrier, the end, or a signal that has not arrived. Sets *moved if any
 * advanced. False after a fault at a shuffle. */
static bool run_warp(Sim *s, SimThread *lanes, int n, bool *moved) {
  for (bool on = true; on && !s->stop;) {
    on = wake(s, lanes, n);
    if (!is_blocked(lanes, n) && is_trading(lanes, n)) {
      if (!check_shuffle(s, lanes, n))
        return false;
      trade(s, lanes, n);
      for (int k = 0, first = (int)sim_random(s, (uint64_t)n); k < n; k++)
        run_thread(s, &lanes[(first + k) % n]);
      on = true;
    }
    *moved |= on;
  }
  return true;
}

/* Runs all warps to the next barrier or the end, in turns because they wait for each other's signals. False after a
 * fault; a warp that waits forever is a fault, too. */
static bool run_warps(Sim *s) {
  int warps = s->k->nwarps;
  bool moved = true, ok = true;
  while (moved && ok && !s->stop) {
    moved = false;
    for (int k = 0, first = (int)sim_random(s, (uint64_t)warps); k < warps && ok && !s->stop; k++) {
      int w = (first + k) % warps * s->k->warp;
      ok = run_warp(s, &s->k->threads[w], s->k->nthreads - w < s->k->warp ? s->k->nthreads - w : s->k->warp, &moved);
    }
  }
  for (int n = 0; n < s->k->nthreads && ok && !s->stop && !s->npending && s->k->cluster == 1; n++)
    if (s->k->threads[n].state == SIM_BLOCKED) {
      sim_deadlock(s, &s->k->threads[n]);
      ok = false;
    }
  if (!ok)
    sim_settle(s);
  return ok;
}

/* ---- barriers */

/* Called after all threads have run: they must all be at one barrier, or all have finished. Returns whether the block
 * continues. After a barrier all threads continue together; a barrier between neighbours allows this order, too, and
 * the detection of races accounts for the other orders that it allows. */
static bool meet(Sim *s) {
  const SimThread *first = &s->k->threads[0];
  for (int n = 1; n < s->k->nthreads && !s->stop; n++) {
    const SimThread *t = &s->k->threads[n];
    if (same_meeting(s, first, t))
      continue;
    const SimThread *here = first->state == SIM_WAITING ? first : t, *away = here == first ? t : first;
    const SimInsn *barrier = meeting_of(s, here);
    sim_fault(s, here, barrier, "divergent barrier: this thread waits at it, but thread %s %s",
              sim_thread_text(s, away->number), whereabouts(s, away, barrier));
    sim_settle(s);
    return false;
  }
  if (first->state == SIM_WAITING && meeting_of(s, first)->op->code == OP_BARRIER) {
    s->met = s->interval + 1;
    if (s->nmembers == 1 && s->k->nblocks == 1)
      s->since = ++s->period;
  }
  if (first->state == SIM_WAITING && s->k->signals)
    sim_clocks_meet(s, s->k->threads, s->k->nthreads);
  return first->state == SIM_WAITING && !s->stop;
}

/* Are the `n` threads at `t` at the same barrier, of the cluster or (`own`) of the block? */
static bool all_wait(const Sim *s, const SimThread *t, int n, bool own) {
  if (t->state != SIM_WAITING || (meeting_of(s, t)->op->code != OP_BARRIER_CLUSTER) != own)
    return false;
  for (int k = 1; k < n; k++)
    if (!same_meeting(s, t, &t[k]))
      return false;
  return true;
}

/* Lets the `n` threads at `t` continue after the barrier where they have met. */
static void release(Sim *s, SimThread *t, int n) {
  sim_clocks_meet(s, t, n);
  for (int k = 0; k < n; k++)
    t[k].state = SIM_RUNNING;
}

/* No block of the cluster can continue: reports the reason, unless all have finished. */
static void report_standstill(Sim *s) {
  const SimThread *t = s->k->threads, *here = NULL;
  bool own = false;
  for (int n = 0; n < s->k->nthreads; n++) {
    if (t[n].state == SIM_BLOCKED) {
      sim_deadlock(s, &t[n]);
      return;
    }
    here = !here && t[n].state == SIM_WAITING ? &t[n] : here;
  }
  if (!here)
    return;
  own = meeting_of(s, here)->op->code != OP_BARRIER_CLUSTER;
  int first = own ? (int)here->number / s->k->block_threads * s->k->block_threads : 0,
      end = own ? first + s->k->block_threads : s->k->nthreads;
  while (first < end - 1 && same_meeting(s, here, &t[first]))
    first++;
  sim_fault(s, here, meeting_of(s, here), "divergent barrier: this thread waits at it, but thread %s of %s %s",
            sim_thread_text(s, t[first].number), sim_warp_text(s, t[first].number),
            whereabouts(s, &t[first], meeting_of(s, here)));
}

/* The same for a cluster. Its blocks continue independently, except at barriers of the cluster. */
static bool meet_cluster(Sim *s) {
  int n = s->k->block_threads;
  bool any = false;
  if (s->npending || s->stop)
    return false;
  if (all_wait(s, s->k->threads, s->k->nthreads, false)) {
    release(s, s->k->threads, s->k->nthreads);
    return true;
  }
  for (int r = 0; r < s->k->cluster; r++)
    if (all_wait(s, s->k->threads + r * n, n, true)) {
      release(s, s->k->threads + r * n, n);
      any = true;
    }
  if (any)
    return true;
  report_standstill(s);
  if (s->npending)
    sim_settle(s);
  else
    sim_check_sent(s);
  return false;
}

/* Shuffles the order of the threads. */
static void mix_threads(Sim *s) {
  for (int32_t n = s->k->nthreads - 1; n > 0; n--) {
    int32_t other = (int32_t)sim_random(s, (uint64_t)n + 1), x = s->k->order[n];
    s->k->order[n] = s->k->order[other];
    s->k->order[other] = x;
  }
}

/* The value of a preset of thread `number`. */
static Const preset_value(const Sim *s, const Op *op, uint32_t number) {
  switch (op->code) {
  case OP_CONST: return op->cval;
  case OP_SCALAR: return s->b->scalars[op->sym];
  case OP_STEP: return exec_i(s->step);
  case OP_BLOCK: return exec_i(s->block[op->sym]);
  case OP_CLUSTER_RANK: return exec_i(number / (uint32_t)s->k->block_threads);
  default: break;
  }
  for (int k = s->k->kernel->rank - 1; k > op->sym; k--)
    number /= (uint32_t)s->k->kernel->threads[k];
  return exec_i(number % (uint32_t)s->k->kernel->threads[op->sym]);
}

/* The value of preset `p` for thread `t`. */
static Const preset_of(const Sim *s, const SimPreset *p, const SimThread *t) {
  return p->op->noperands ? exec_apply((ExecCode)p->code, p->op, t->slot[p->a], t->slot[p->b], t->slot[p->c])
                          : preset_value(s, p->op, t->number);
}

/* Computes the presets from number `first` to before `end` for all threads. */
static void fill_presets(Sim *s, int first, int end) {
  SimThread *t = s->k->threads;
  for (int i = first; i < end; i++) {
    const SimPreset *p = &s->k->presets[i];
    Const value = preset_of(s, p, t);
    for (int n = 0; n < s->k->nthreads; n++)
      t[n].slot[p->slot] = p->kind & SIM_BY_THREAD ? preset_of(s, p, &t[n]) : value;
  }
}

/* Runs block `number`. */
static void run_block(Sim *s, int64_t number) {
  const SimKernel *k = s->k;
  s->block_number = number;
  for (int d = k->kernel->rank - 1; d >= 0; d--) {
    s->block[d] = number % k->blocks[d];
    number /= k->blocks[d];
  }
  s->block_epoch++;
  s->stats.blocks++;
  fill_presets(s, 0, k->nblock_presets);
  for (int n = 0; n < k->nthreads; n++) {
    s->k->threads[n].pc = 0;
    s->k->threads[n].state = SIM_RUNNING;
    s->k->threads[n].doubt = 0;
    s->k->threads[n].actor = (uint32_t)n;
    s->k->threads[n].ncopies = 0;
    s->k->threads[n].commits = 0;
  }
  s->met = s->interval + 1;
  if (k->signals)
    sim_clocks_begin(s);
  do {
    s->interval++;
    mix_threads(s);
    for (int n = 0; n < k->nthreads && !s->stop; n++)
      if (k->cluster == 1 || s->k->threads[s->k->order[n]].state == SIM_RUNNING)
        run_thread(s, &s->k->threads[s->k->order[n]]);
    if (!run_warps(s))
      return;
    sim_settle(s);
    s->stats.barriers += s->k->threads[0].state == SIM_WAITING;
  } while (!s->stop && (k->cluster > 1 ? meet_cluster(s) : meet(s)));
}

/* Allocates the threads and the shared memory of s->k, and computes the presets that never change. */
static void prepare(Sim *s) {
  SimKernel *k = s->k;
  size_t n = (size_t)k->nthreads, slots = (size_t)k->nslots, cells = (size_t)k->private_cells;
  Const *slot = ARENA_ARRAY(s->arena, Const, n * slots);
  uint32_t *stale = ARENA_ARRAY(s->arena, uint32_t, n *slots);
  SimCell *cell = ARENA_ARRAY(s->arena, SimCell, n * cells + 1);
  k->threads = ARENA_ARRAY(s->arena, SimThread, n);
  k->order = ARENA_ARRAY(s->arena, int32_t, n);
  for (size_t i = 0; i < n; i++) {
    k->threads[i] = (SimThread){.slot = slot + i * slots,
                                .stale = stale + i * slots,
                                .cells = cell + i * cells,
                                .number = (uint32_t)i,
                                .shift = (int64_t)i / k->block_threads * k->block_bytes};
    k->order[i] = (int32_t)i;
  }
  k->shared = arena_alloc(s->arena, (size_t)k->shared_bytes + 16);
  k->granules = ARENA_ARRAY(s->arena, SimGranule, (size_t)k->shared_bytes / (size_t)k->granule + 2);
  if (sim_readers(k))
    k->reads =
        ARENA_ARRAY(s->arena, SimRead, ((size_t)k->shared_bytes / (size_t)k->granule + 2) * (size_t)sim_readers(k));
  k->signal = k->signals ? ARENA_ARRAY(s->arena, SimSignal, (size_t)k->shared_bytes / 8 + 1) : NULL;
  k->block_order = ARENA_ARRAY(s->arena, int64_t, k->nblocks + 1);
  fill_presets(s, k->nlaunch_presets, k->npresets);
}

/* Shuffles k->block_order. */
static void mix_blocks(Sim *s) {
  int64_t *order = s->k->block_order;
  for (int64_t n = 0; n < s->k->nblocks; n++) {
    int64_t other = (int64_t)sim_random(s, (uint64_t)n + 1);
    order[n] = order[other];
    order[other] = n;
  }
}

/* Runs all blocks of member `x` of the launch. */
static void run_member(Sim *s, const SimMember *x) {
  s->k = x->k;
  s->first = x->first;
  s->stats.launches++;
  if (!s->k->threads)
    prepare(s);
  mix_blocks(s);
  fill_presets(s, s->k->nblock_presets, s->k->nlaunch_presets);
  for (int64_t n = 0; n < s->k->nblocks && !s->stop; n++) {
    run_block(s, s->k->block_order[n]);
    if (stop_at_once(s->b->stop))
      s->stop = s->b->torn = true;
  }
}

void sim_launch(Sim *s, int from, int to, int with) {
  uint32_t before = s->began;
  s->launch++;
  s->began = ++s->period;
  s->since = with < from ? before : s->began;
  for (int n = from; n < to && !s->stop; n++)
    run_member(s, &s->members[n]);
}
