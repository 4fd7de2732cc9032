/* sim-signal.c: signals between warps and bulk copies, and the order that they establish. Each thread has a vector
 * clock: up to which time the accesses of every other thread, and of every thread's bulk copies, are ordered before its
 * own. Signals and barriers pass clocks on. An access to a cell whose last access the clock does not include is a
 * fault, in whatever order the threads happen to run. */
#include "ir/sim/simulate.h"

/* The number of entries of a clock. */
static int clock_size(const Sim *s) { return 2 * s->k->nthreads; }

void sim_join(const Sim *s, uint32_t *to, const uint32_t *from) {
  for (int n = 0; n < clock_size(s); n++)
    to[n] = from[n] > to[n] ? from[n] : to[n];
}

void sim_tick(Sim *s, SimThread *t) { t->clock[t->number] = ++s->interval; }

/* Allocates the clocks of s->k at its first block. */
static void make_clocks(Sim *s) {
  for (int n = s->k->threads[0].clock ? s->k->nthreads : 0; n < s->k->nthreads; n++)
    s->k->threads[n].clock = ARENA_ARRAY(s->arena, uint32_t, clock_size(s));
}

void sim_clocks_begin(Sim *s) {
  make_clocks(s);
  s->interval++;
  for (int n = 0; n < s->k->nthreads; n++) {
    SimThread *t = &s->k->threads[n];
    for (int k = 0; k < clock_size(s); k++)
      t->clock[k] = s->interval;
    t->ngroups = 0;
    t->stored = 0;
    t->fenced = 0;
  }
  for (int n = 0; n < s->k->nthreads; n++)
    sim_tick(s, &s->k->threads[n]);
}

void sim_clocks_meet(Sim *s, SimThread *lanes, int n) {
  for (int k = 1; k < n; k++)
    sim_join(s, lanes[0].clock, lanes[k].clock);
  for (int k = 1; k < n; k++)
    sim_join(s, lanes[k].clock, lanes[0].clock);
  for (int k = 0; k < n; k++)
    sim_tick(s, &lanes[k]);
}

/* ---- signals */

SimSignal *sim_find_signal(Sim *s, const SimThread *t, const SimInsn *i) {
  int64_t cell;
  const SimArray *a = &s->k->arrays[i->place->sym];
  if (!sim_cell(s, t, i, op_info[i->op->code].name, &cell))
    return NULL;
  SimSignal *x = &s->k->signal[(a->base + t->shift) / 8 + cell];
  if (i->op->code == OP_SIGNAL_INIT)
    return x;
  if (x->block == s->block_epoch && t->clock[x->by] >= x->since)
    return x;
  sim_fault(s, t, i, "signal '%s' at %s is not ready: %s", a->array->name, sim_place_text(s, t, i),
            x->block == s->block_epoch ? "no barrier stands behind its signal.init" : "there is no signal.init for it");
  return NULL;
}

/* signal.init. */
static void ready(Sim *s, SimThread *t, const SimInsn *i, SimSignal *x) {
  int64_t n = t->slot[i->a].i;
  if (n < 1 || n > INT32_MAX)
    sim_fault(s, t, i, "%lld arrivals; a phase ends after 1 at least", (long long)n);
  if (!x->done) {
    x->done = ARENA_ARRAY(s->arena, uint32_t, clock_size(s));
    x->next = ARENA_ARRAY(s->arena, uint32_t, clock_size(s));
  }
  memset(x->done, 0, sizeof *x->done * (size_t)clock_size(s));
  memset(x->next, 0, sizeof *x->next * (size_t)clock_size(s));
  x->block = s->block_epoch;
  x->by = t->number;
  x->since = t->clock[t->number];
  x->arrivals = x->missing = (int32_t)n;
  x->bytes = x->phase = x->sent = x->seen = 0;
}

void sim_end_phase(const Sim *s, SimSignal *x) {
  if (x->missing || x->bytes)
    return;
  sim_join(s, x->done, x->next);
  x->missing = x->arrivals;
  x->phase++;
}

/* signal.arrive and signal.expect. */
static void arrive(Sim *s, SimThread *t, const SimInsn *i, SimSignal *x) {
  if (!x->missing) {
    sim_fault(s, t, i, "signal '%s' at %s: all arrivals of its phase have been made, and bytes are missing still",
              s->k->kernel->arrays[i->place->sym].name, sim_place_text(s, t, i));
    return;
  }
  x->missing--;
  x->bytes += i->op->code == OP_SIGNAL_EXPECT ? t->slot[i->a].i : 0;
  sim_join(s, x->next, t->clock);
  sim_tick(s, t);
  sim_end_phase(s, x);
}

/* bulk.wait: all groups except the latest `left` have read their cells. */
static void retire(const Sim *s, SimThread *t, int left) {
  int n = t->ngroups > left ? t->ngroups - left : 0;
  if (n)
    t->clock[s->k->nthreads + (int)t->number] = t->groups[n - 1];
  memmove(t->groups, t->groups + n, (size_t)(t->ngroups - n) * sizeof *t->groups);
  t->ngroups -= n;
}

void sim_signal(Sim *s, SimThread *t, const SimInsn *i) {
  SimSignal *x = i->place ? sim_find_signal(s, t, i) : NULL;
  if (i->op->code == OP_FENCE_ASYNC) {
    sim_tick(s, t);
    t->fenced = t->clock[t->number];
  } else if (i->op->code == OP_BULK_WAIT) {
    retire(s, t, i->op->count);
  } else if (i->op->code == OP_BULK_COMMIT) {
    if (t->ngroups == MAX_GROUPS)
      sim_fault(s, t, i, "more than %d groups of bulk stores are under way", MAX_GROUPS);
    else
      t->groups[t->ngroups++] = t->stored;
  } else if (x && i->op->code == OP_SIGNAL_INIT) {
    ready(s, t, i, x);
  } else if (x) {
    arrive(s, t, i, x);
  }
}

bool sim_await(Sim *s, SimThread *t, const SimInsn *i) {
  SimSignal *x = sim_find_signal(s, t, i);
  if (!x)
    return true;
  if ((x->phase & 1) == (t->slot[i->a].i & 1))
    return false;
  x->seen = x->phase;
  sim_join(s, t->clock, x->done);
  return true;
}

void sim_deadlock(Sim *s, const SimThread *t) {
  const SimInsn *i = &s->k->insns[t->pc - 1];
  const SimSignal *x = sim_find_signal(s, t, i);
  if (x)
    sim_fault(s, t, i,
              "deadlock: %s waits for signal '%s' at %s, whose phase %lld never ends: %d arrivals and %lld bytes "
              "are missing, and all other warps wait or have finished",
              sim_warp_text(s, t->number), s->k->kernel->arrays[i->place->sym].name, sim_place_text(s, t, i),
              (long long)x->phase, x->missing, (long long)x->bytes);
}

/* ---- order */

/* Is the access of `who` at time `when` ordered before the present one of actor `me`? */
static bool is_known(const Sim *s, uint32_t who, uint32_t when, uint32_t me) {
  uint32_t n = (uint32_t)s->k->nthreads;
  return who == me || s->k->threads[me % n].clock[who] >= when;
}

int sim_ordered(Sim *s, SimGranule *g, uint32_t me, bool writes, uint32_t *who) {
  uint32_t n = (uint32_t)s->k->nthreads;
  const SimThread *t = &s->k->threads[me % n];
  SimRead *r = s->k->reads + (g - s->k->granules) * sim_readers(s->k);
  uint32_t now = me < n ? t->clock[t->number] : t->began;
  int how = 0;
  if (!is_known(s, g->touch.writer, g->touch.wrote, me)) {
    how = 1;
    *who = g->touch.writer;
  }
  for (int w = 0; writes && !how && w < sim_readers(s->k); w++)
    if (!is_known(s, r[w].reader, r[w].read, me)) {
      how = 2;
      *who = r[w].reader;
    }
  if (writes) {
    g->touch.writer = me;
    g->touch.wrote = now;
  } else {
    r += me >> s->k->lane_bits;
    *r = (SimRead){.read = now, .reader = me};
  }
  return how;
}

/* ---- bulk copies */

/* Has the writer of the cell that the bulk copy accesses at `at` executed fence.async after writing? If not, that is a
 * fault: bulk copies access shared memory by another path than the threads' loads and stores, and without a fence they
 * are not ordered. */
static bool is_fenced(Sim *s, const SimThread *t, const SimInsn *at, bool loads) {
  const SimArray *a = &s->k->arrays[at->place->sym];
  const char *what = loads ? "bulk.load to" : "bulk.store of";
  int64_t cell;
  if (!sim_cell(s, t, at, what, &cell))
    return false;
  const SimGranule *g = &s->k->granules[(a->base + t->shift) / s->k->granule + cell * a->granules];
  if (g->block != s->block_epoch || g->touch.writer >= (uint32_t)s->k->nthreads ||
      s->k->threads[g->touch.writer].fenced > g->touch.wrote)
    return true;
  sim_fault(s, t, at, "%s '%s' at %s: warp %u wrote the cell, and no fence.async of its own stands behind that", what,
            a->array->name, sim_place_text(s, t, at), g->touch.writer >> s->k->lane_bits);
  return false;
}

/* Sets the places of the load and the store of `i` to element number `at`. */
static void set_places(const SimInsn *i, int64_t at) {
  bool loads = i->op->code == OP_BULK_LOAD;
  for (int k = 2; k <= 3; k++) {
    SimPlace *p = (SimPlace *)(uintptr_t)i[k].place;
    const int64_t *off = (k == 2) == loads ? i->op->from_off : i->op->off;
    p->off[p->rank - 1] = off[p->rank - 1] + at;
  }
}

/* Moves one element; its access to shared memory counts as one of the thread's bulk copies. */
static bool move_element(Sim *s, SimThread *t, const SimInsn *i) {
  const SimInsn *load = i + 2, *store = i + 3;
  bool loads = i->op->code == OP_BULK_LOAD;
  uint32_t self = t->actor, copy = t->number + (uint32_t)s->k->nthreads;
  if (!is_fenced(s, t, loads ? store : load, loads))
    return false;
  t->actor = loads ? self : copy;
  (loads ? sim_load : sim_shared_load)(s, t, load);
  t->actor = loads ? copy : self;
  (loads ? sim_shared_store : sim_store)(s, t, store);
  t->actor = self;
  return true;
}

/* The `n` elements of the load `i` have arrived: counts their bytes for its signal. */
static void complete(Sim *s, SimThread *t, const SimInsn *i, int64_t n) {
  const SimInsn *jump = i + 1;
  SimSignal *x = sim_find_signal(s, t, jump);
  if (!x)
    return;
  uint32_t *copies = &x->next[s->k->nthreads + (int)t->number];
  sim_join(s, x->next, t->clock);
  *copies = t->began > *copies ? t->began : *copies;
  x->bytes -= n * type_size(s->k->kernel->arrays[i->op->sym].type);
  sim_end_phase(s, x);
}

void sim_bulk(Sim *s, SimThread *t, const SimInsn *i) {
  int64_t n = t->slot[i->a].i;
  int32_t size = type_size(s->k->kernel->arrays[i->op->sym].type);
  if (n < 0 || n * size % VECTOR_BYTES) {
    sim_fault(s, t, i, "%s of %lld elements; they must be whole 16 bytes", op_info[i->op->code].name, (long long)n);
    return;
  }
  t->began = ++s->interval;
  sim_tick(s, t);
  bool ok = true;
  for (int64_t k = 0; k < n && ok && !s->stop; k++) {
    set_places(i, k);
    ok = move_element(s, t, i);
  }
  set_places(i, 0);
  if (!ok)
    return;
  if (i->op->code == OP_BULK_LOAD)
    complete(s, t, i, n);
  else
    t->stored = t->began;
}
