/* model.c: the time of a launch on a target: a roofline of several roofs that blend where they are near each other, one
 * of them the latency that too few warps do not hide. The constants were fitted once, for all, to the times of 16
 * programs in f32 and f64 under 114 schedules on one NVIDIA H200; docs/performance.md says how well.
 *
 * What it was fitted to, and where it is off: docs/lab/model.md. */
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

#include <math.h>

/* The greatest number of blocks of a core. */
enum { MOST_BLOCKS = 32 };

const char *bound_name(Bound b) {
  static const char *const names[BOUNDS] = {"instructions", "f64 operations",
                                            "functions",    "shared memory and exchanges between lanes",
                                            "latency",      "memory",
                                            "cache"};
  return names[b];
}

const int64_t *model_large_grid(int rank) { return tuning.large_extents[rank - 1]; }

Occupancy model_occupancy(const TargetInfo *t, int64_t threads, int32_t registers, int64_t shared) {
  int64_t lanes = t->lanes > 0 ? t->lanes : 32, most = t->max_threads_per_core > 0 ? t->max_threads_per_core : 2048,
          each = (registers + 7) / 8 * 8 * ((threads + lanes - 1) / lanes * lanes);
  Occupancy o = {.blocks = (int32_t)(most / threads), .most_warps = (int32_t)(most / lanes), .limit = "threads"};
  if (o.blocks > MOST_BLOCKS)
    o = (Occupancy){.blocks = MOST_BLOCKS, .most_warps = o.most_warps, .limit = "blocks"};
  if (t->registers_per_core > 0 && each > 0 && t->registers_per_core / each < o.blocks)
    o = (Occupancy){.blocks = (int32_t)(t->registers_per_core / each),
                    .most_warps = o.most_warps,
                    .limit = "registers"};
  if (t->shared_per_core > 0 && shared > 0 && t->shared_per_core / (shared + SHARED_RESERVED) < o.blocks)
    o = (Occupancy){.blocks = (int32_t)(t->shared_per_core / (shared + SHARED_RESERVED)),
                    .most_warps = o.most_warps,
                    .limit = "shared memory"};
  o.blocks = o.blocks > 0 ? o.blocks : 1;
  o.warps = o.blocks * (int32_t)((threads + lanes - 1) / lanes);
  return o;
}

KernelSpace kernel_space(const Kernel *k, const Const *scalars) {
  int64_t each[MAX_RANK];
  double without = k->leaves_out, inner = 1, first = 0;
  KernelSpace s = {.points = 1, .blocks = (double)kernel_blocks(k, scalars, each)};
  for (int d = 0; d < k->rank; d++) {
    double n = fmax(0, (double)affine_eval(k->extent[d], scalars, NULL)),
           blocks = ceil(fmax(n - k->over[d], fmin(n, 1)) / k->tile[d]);
    s.points *= n;
    without *= k->leaves_out ? fmax(0, (double)affine_eval(k->without[d], scalars, NULL)) : 1;
    inner *= blocks > 2 ? (blocks - 2) / blocks : 0;
    first = d == 0 ? inner : first;
  }
  s.points -= without;
  s.blocks *= k->cluster ? k->cluster : 1;
  s.edges = !kernel_has_versions(k) ? 0 : k->leaves_out ? (1 - first) / (1 - inner) : 1 - inner;
  return s;
}

/* A mixture of works: `y` in the part `part`, `x` in the rest. */
static KernelWork mix(KernelWork x, KernelWork y, double part) {
  double *to[] = {&x.instructions, &x.f64,   &x.special, &x.shared,  &x.global, &x.exchanges,
                  &x.barriers,     &x.waits, &x.copies,  &x.chained, &x.fetched};
  const double from[] = {y.instructions, y.f64,   y.special, y.shared,  y.global, y.exchanges,
                         y.barriers,     y.waits, y.copies,  y.chained, y.fetched};
  for (size_t i = 0; i < sizeof to / sizeof *to; i++)
    *to[i] += part * (from[i] - *to[i]);
  return x;
}

LaunchLoad launch_load(const TargetInfo *t, const Module *m, Kernel *k, const LaunchWork *l, const Const *scalars,
                       KernelSpace space) {
  LaunchLoad load = {.work = kernel_work(t, m, k, scalars, false),
                     .shared = kernel_shared_bytes(k),
                     .points = space.points,
                     .blocks = space.blocks};
  if (space.edges > 0) {
    KernelWork edge = kernel_work(t, m, k, scalars, true);
    load.at_edge = edge.instructions;
    load.work = mix(load.work, edge, space.edges);
  }
  if (k->leaves_out)
    load.at_edge = load.work.instructions;
  bool moves = load.work.global + load.work.copies > 0 || block_has_signals(k->body);
  double once = moves ? l->traffic.read + l->traffic.written : 0;
  load.registers = kernel_registers(t, m, k, &load.spilled);
  load.memory_bytes = space.points * once;
  load.cache_bytes = load.blocks * load.work.points * (moves ? once + l->traffic.again : 0);
  return load;
}

/* See model_blocks_a_core, by the numbers `m`. */
static double blocks_a_core(const ModelNumbers *m, double blocks, double cores, double at_once) {
  double each = blocks / cores, rounds = ceil(blocks / (cores * at_once)), empty = rounds * at_once - each;
  return rounds <= 1 ? ceil(each)
                     : each + m->places_lost * empty / at_once + 0.5 * m->last_round * (at_once - 1) + m->rounds_begun +
                           m->rounds_late * (1 - 1 / at_once);
}

double model_blocks_a_core(double blocks, double cores, double at_once) {
  return blocks_a_core(&model_finished, blocks, cores, at_once);
}

/* The rates that the target sustains, in 1e9 a second. */
typedef struct Rates {
  double clock, cores, issue, f64, shared, bandwidth, cache;
} Rates;
static Rates rates_of(const TargetInfo *t) {
  double clock = t->kept_clock > 0 ? t->kept_clock : 1;
  return (Rates){.clock = clock * t->clock,
                 .cores = t->cores > 0 ? t->cores : 1,
                 .issue = clock * (t->issue_rate > 0 ? t->issue_rate : t->f32_rate),
                 .f64 = clock * t->f64_rate,
                 .shared = clock * t->shared_rate,
                 .bandwidth = (t->kept_bandwidth > 0 ? t->kept_bandwidth : 1) * t->bandwidth,
                 .cache = t->cache_bandwidth};
}

/* Seconds that `x`, in 1e9, takes at `rate` in 1e9 a second; a rate that is not told is no bound. */
static double taken(double x, double rate) { return rate > 0 ? x / rate : 0; }

/* What the times of `t`, whose launch takes t->launch, come to together. */
static void blend(LaunchTime *t) {
  double sum = 0;
  t->bound = 0;
  for (int b = 0; b < BOUNDS; b++) {
    sum += pow(t->alone[b], t->blend);
    t->bound = t->alone[b] > t->alone[t->bound] ? (Bound)b : t->bound;
  }
  t->seconds = pow(sum, 1 / t->blend) + t->launch;
}

/* How many times as long as if they were spread evenly take the warps of `blocks` blocks of `warps` warps that a core
 * holds: each stays with one of its schedulers. */
static double unevenness(double blocks, double warps) {
  double all = blocks * warps;
  return ceil(all / SCHEDULERS) * SCHEDULERS / all;
}

double model_fetched(const ModelNumbers *m, double n, double length) {
  return n * fmax(0, fmin(1, (length / m->code_held - 1) / m->code_width));
}

/* Cycles that a thread waits. The instructions of a loop that is longer than the caches near a scheduler are fetched
 * anew in each round. */
static double cycles_waited(const ModelNumbers *m, const KernelWork *w) {
  return m->result_wait * w->instructions + m->fetch_wait * w->fetched + m->f64_wait * w->f64 +
         m->chain_wait * w->chained + m->memory_wait * w->waits + m->copy_wait * w->copies +
         m->barrier_wait * w->barriers;
}

/* Cycles that the blocks of a core wait, `rounds` of them one after the other, the last of them at an edge, where an
 * access is tested before it is made. */
static double cycles_in_rounds(const ModelNumbers *m, const LaunchLoad *l, double rounds) {
  double one = cycles_waited(m, &l->work), wait = l->turned ? m->turn_wait : m->edge_wait,
         edge = one + wait * l->at_edge - m->result_wait * l->work.instructions;
  return fmax(fmax(rounds, 1) * one, l->at_edge > 0 ? fmax(rounds - 1, 0) * one + edge : 0);
}

double model_edge_seconds(const TargetInfo *t, const LaunchLoad *l) {
  const ModelNumbers *m = &model_counted;
  double missed = model_fetched(m, 1, l->edge_code / fmax(1, l->work.rounds)),
         warps = (double)l->work.threads / (t->lanes > 0 ? t->lanes : 32),
         each = fmax(m->result_wait + m->fetch_wait * missed, warps / SCHEDULERS);
  return taken(each * fmax(0, l->edge_code - l->at_edge) * 1e-9, rates_of(t).clock);
}

/* The factor by which fetching the straight code of launch `l` takes longer than from near caches. */
static double fetch_slowdown(const ModelNumbers *m, const LaunchLoad *l) {
  return 1 + m->straight_lost * fmax(0, fmin(1, l->straight / measured.straight_held - 1));
}

double model_kept_share(const TargetInfo *t, double bytes) {
  return t->kept_cache > 0 ? fmax(0, fmin(1, 2 - bytes / t->kept_cache)) : 0;
}

/* The seconds for those bytes of launch `l` that the cache does not have. */
static double missed_seconds(const TargetInfo *t, const LaunchLoad *l) {
  return taken((1 - model_kept_share(t, l->memory_bytes)) * l->memory_bytes * 1e-9, rates_of(t).bandwidth);
}

/* The same for a launch without a kernel: either all bytes or none come from memory, else from a cache with rate
 * `cache`, in 1e9 a second. Its numbers were fitted that way. */
static double counted_seconds(const TargetInfo *t, const LaunchLoad *l, double cache) {
  return taken(l->memory_bytes * 1e-9, l->memory_bytes < t->kept_cache ? cache : rates_of(t).bandwidth);
}

/* The time of launch `l` by the numbers `m`, with cache rate `cache`, in 1e9 bytes a second (0: as the target says),
 * and `memory` seconds for bytes from memory. */
static LaunchTime launch_seconds(const TargetInfo *t, const LaunchLoad *l, const ModelNumbers *m, double memory,
                                 double cache) {
  const KernelWork *w = &l->work;
  LaunchTime time = {.occupancy = model_occupancy(t, w->threads, l->registers, l->shared),
                     .launch = m->launch_gap + 1e-6 * m->launch_part * t->launch_us};
  Rates r = rates_of(t);
  r.cache = cache > 0 ? cache : r.cache;
  double at_once = time.occupancy.blocks, each = blocks_a_core(m, l->blocks, r.cores, at_once),
         threads = each * r.cores * (double)w->threads * 1e-9, rounds = l->blocks / (r.cores * at_once),
         there = fmax(1, fmin(at_once, ceil(l->blocks / r.cores))), lanes = t->lanes > 0 ? t->lanes : 32,
         issued = threads * unevenness(there, ceil((double)w->threads / lanes));
  double words = m->shared_word * (w->shared - w->exchanges) + m->exchanged_word * w->exchanges +
                 m->global_word * w->global + m->spilled_word * l->spilled * w->rounds;
  time.alone[BOUND_ISSUE] = taken(fetch_slowdown(m, l) * w->instructions * issued, r.issue);
  time.alone[BOUND_F64] = taken(w->f64 * issued, r.f64);
  time.alone[BOUND_SPECIAL] = taken(w->special * threads * SPECIAL_SLOTS, r.issue);
  time.alone[BOUND_SHARED] = taken(words * threads, r.shared);
  time.alone[BOUND_LATENCY] = taken(cycles_in_rounds(m, l, rounds) * 1e-9, r.clock);
  time.alone[BOUND_MEMORY] = memory;
  time.alone[BOUND_CACHE] = taken(l->cache_bytes * 1e-9, r.cache);
  time.even = l->blocks > 0 ? l->blocks / (r.cores * each) : 1;
  time.filled = rounds < 1 ? rounds : 1;
  time.blend = m->blend;
  blend(&time);
  return time;
}

/* Blocks that a core has beside each other of load `l`, which take `time`. */
static double blocks_beside(const TargetInfo *t, const LaunchLoad *l, const LaunchTime *time) {
  return fmax(1, fmin(time->occupancy.blocks, ceil(l->blocks / rates_of(t).cores)));
}

/* A block that has barriers and no loop does one thing after the other: it loads, computes, and stores. Only other
 * blocks fill what one leaves, so that the roofs add up the more the fewer of these a core has. */
LaunchTime model_launch(const TargetInfo *t, const LaunchLoad *l) {
  LaunchTime time = launch_seconds(t, l, &model_finished, missed_seconds(t, l), 0);
  if (l->work.barriers > 0 && l->work.rounds <= 1) {
    time.blend = measured.phases_blend - 1 / blocks_beside(t, l, &time);
    blend(&time);
  }
  return time;
}

LaunchTime model_counted_launch(const TargetInfo *t, const LaunchLoad *l) {
  double cache = CORE_CACHE_BYTES * t->cores * t->clock;
  return launch_seconds(t, l, &model_counted, counted_seconds(t, l, cache), cache);
}

LaunchTime model_part_launch(const TargetInfo *t, const LaunchLoad *l) {
  ModelNumbers m = model_counted;
  m.blend = measured.part_blend;
  m.result_wait = 0;
  m.global_word = measured.part_word;
  Rates r = rates_of(t);
  LaunchTime time = launch_seconds(t, l, &m, counted_seconds(t, l, r.cache), 0);
  double blocks = blocks_beside(t, l, &time);
  for (int b = BOUND_SHARED; b < BOUNDS; b++)
    time.alone[b] *= 1 + measured.part_begun / blocks;
  blend(&time);
  time.seconds = fmax(time.seconds, time.launch + taken(l->blocks * measured.block_start * 1e-9, r.clock));
  return time;
}

/* What `t` takes for bound `b` beside a launch whose blocks leave places for its own at their end: as if the cores had
 * the same number of them. What a block waits for passes one instruction after the other, however few there are. */
static double beside(const LaunchTime *t, int b) {
  bool whole = b == BOUND_MEMORY || b == BOUND_CACHE || b == BOUND_LATENCY;
  return t->alone[b] * (whole ? 1 : t->even);
}

LaunchTime model_beside(int n, const LaunchTime *t) {
  LaunchTime all = t[0];
  for (int i = 1; i < n; i++) {
    all.occupancy = t[i].seconds > t[0].seconds ? t[i].occupancy : all.occupancy;
    for (int b = 0; b < BOUNDS; b++)
      all.alone[b] += beside(&t[i], b);
  }
  if (n > 1)
    blend(&all);
  return all;
}
