/* planner_test.c: the parts of the planner alone: candidates, what is counted of them, the terms of the model, the
 * choice, what was left open (passes/plan). */
#include "tests/unit/ir_testing.h"
#include "tests/unit/planning.h"

#include "backend/backend.h"
#include "passes/plan/axes.h"
#include "passes/plan/plan.h"

#include <math.h>

/* A GPU of 100 cores of 128 lanes at 1 GHz. */
static const TargetInfo CARD = {.name = "gpu",
                                ROOMY_GPU,
                                .cores = 100,
                                .bandwidth = 2000,
                                .cache_bandwidth = 5000,
                                .cache_bytes = 50e6,
                                .kept_bandwidth = 0.8,
                                .kept_cache = 25e6,
                                .f32_rate = 12800,
                                .f64_rate = 6400,
                                .issue_rate = 12800,
                                .shared_rate = 3200,
                                .clock = 1,
                                .launch_us = 2,
                                .async_copy = true};

/* The question about module `m` on a grid of `n` points each way, in the memory of `c`. */
static PlanQuery question(PassContext *c, const Module *m, FamilyId family, int64_t n) {
  Schedule want = {.family = family};
  PlanQuery q;
  for (int d = 0; d < m->grid.rank; d++)
    want.size[d] = n;
  assert_true(plan_query(c, m, &want, 100, &q));
  return q;
}

/* How many candidates of a family there are. */
static int count_of(const PlanCandidates *k, FamilyId family) {
  int n = 0;
  for (int i = 0; i < k->n; i++)
    n += k->all[i].s.family == family;
  return n;
}

/* Small grids have many candidates of both families, the usual choice first, unless one was asked for; walks only where
 * tiles away from edges are many; large grids the usual one alone, but for walks of planes. */
FIXTURE_TEST(test_candidates) {
  PlanCandidates k;
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = passes_run};
  Module *flat = jacobi(f, 2, "100"), *deep = jacobi(f, 3, "100");
  PlanQuery q = question(&c, flat, FAMILY_AUTO, 1024);
  plan_candidates(&q, &k);
  assert_true(k.all[0].usual && !k.all[1].usual);
  assert_true(count_of(&k, FAMILY_OVERLAP) > 100 && count_of(&k, FAMILY_STREAM) > 100);
  q = question(&c, flat, FAMILY_OVERLAP, 1024);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_OVERLAP) == k.n && k.n > 100);
  q = question(&c, flat, FAMILY_AUTO, 256);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_STREAM) <= 1);
  q = question(&c, flat, FAMILY_AUTO, 16384);
  plan_candidates(&q, &k);
  assert_int_equal(k.n, 1);
  q = question(&c, deep, FAMILY_AUTO, 512);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_STREAM) == k.n && k.n > 100);
  q.all = true;
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_OVERLAP) > 50);
}

/* Grids of planes that are not large have a naive kernel among their candidates, and walks by lines of a half and a
 * quarter of a warp, whose lanes copy 8 or 16 bytes at a time, whatever the hardware; not where tiles are asked for.
 * Large grids have more shapes of walks and nothing else. */
FIXTURE_TEST(test_planes) {
  PlanCandidates k;
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = passes_run};
  Module *deep = jacobi(f, 3, "100");
  int lanes[WARP_LANES + 1] = {0};
  PlanQuery q = question(&c, deep, FAMILY_AUTO, 128);
  plan_candidates(&q, &k);
  for (int i = 0; i < k.n; i++)
    if (k.all[i].s.family == FAMILY_STREAM && !k.all[i].usual) {
      assert_in_range(k.all[i].s.elems[2], 2, 4);
      lanes[k.all[i].s.block[2]]++;
    }
  assert_true(lanes[32] > 100 && lanes[16] > 100 && lanes[8] > 100 && k.n < 5000);
  assert_int_equal(count_of(&k, FAMILY_NAIVE), 1);
  q = question(&c, deep, FAMILY_OVERLAP, 128);
  plan_candidates(&q, &k);
  assert_int_equal(count_of(&k, FAMILY_NAIVE) + count_of(&k, FAMILY_STREAM), 0);
  q = question(&c, deep, FAMILY_AUTO, 40);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_STREAM) <= 1);
  TargetInfo plain = CARD;
  plain.async_copy = false;
  c.target = &plain;
  q = question(&c, deep, FAMILY_AUTO, 128);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_NAIVE) == 1 && count_of(&k, FAMILY_STREAM) > 100);
  for (int i = 0; i < k.n; i++)
    assert_true(k.all[i].s.family != FAMILY_STREAM || k.all[i].s.ahead == 1);
  q = question(&c, deep, FAMILY_AUTO, 512);
  plan_candidates(&q, &k);
  assert_true(count_of(&k, FAMILY_STREAM) == k.n && k.n > 1000);
}

/* There is no question where the size is not known or a number is given. */
FIXTURE_TEST(test_questions) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = passes_run};
  Module *m = jacobi(f, 2, "100");
  PlanQuery q;
  assert_false(plan_query(&c, m, &(Schedule){.family = FAMILY_AUTO}, 100, &q));
  assert_false(plan_query(&c, m, &(Schedule){.family = FAMILY_AUTO, .size = {512, 512}, .T = 2}, 100, &q));
  assert_false(plan_query(&c, m, &(Schedule){.family = FAMILY_NAIVE, .size = {512, 512}}, 100, &q));
  TargetInfo loops = CARD;
  loops.simt = false;
  c.target = &loops;
  assert_false(plan_query(&c, m, &(Schedule){.family = FAMILY_AUTO, .size = {512, 512}}, 100, &q));
}

/* Tile `s` of T steps for question `q`. */
static PlanCandidate candidate(const PlanQuery *q, Schedule s) {
  return (PlanCandidate){.s = s, .of = plan_launch(q, tiled_launch(q->m, s.T), s.family == FAMILY_STREAM)};
}

/* What candidate `k` is dropped for, NULL: nothing. */
static const char *dropped(const PlanQuery *q, PlanCandidate k) {
  plan_cost(q, &k);
  return k.dropped;
}

/* Blocks are counted with partial ones, by what a tile gives out beside its halo; a tile that is none says why. */
FIXTURE_TEST(test_count) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = passes_run};
  PlanQuery q = question(&c, jacobi(f, 2, "100"), FAMILY_AUTO, 512);
  PlanCandidate k =
      candidate(&q, (Schedule){.family = FAMILY_OVERLAP, .T = 2, .block = {8, 32, 1}, .elems = {1, 1, 1}});
  assert_null(dropped(&q, k));
  LaunchLoad load = tile_load(k.of->tile, &k.s, q.want.size);
  assert_int_equal(load.work.threads, 256);
  assert_float_equal(load.blocks, 86 * 18, 0);
  assert_float_equal(load.work.points, 6 * 30, 0);
  k.s.block[0] = 64;
  assert_string_equal(dropped(&q, k), "more threads than a block may have");
  k = candidate(&q, (Schedule){.family = FAMILY_OVERLAP, .T = 6, .block = {8, 32, 1}, .elems = {1, 1, 1}});
  assert_string_equal(dropped(&q, k), "no points are left beside the halo");
  k.s.elems[0] = k.s.elems[1] = 16;
  assert_non_null(dropped(&q, k));
  k = candidate(
      &q,
      (Schedule){.family = FAMILY_STREAM, .T = 4, .block = {1, 32, 1}, .elems = {1, 2, 1}, .chunk = 32, .ahead = 4});
  assert_null(dropped(&q, k));
  assert_float_equal(stream_load(&CARD, k.of->stream, &k.s, q.want.size).blocks, 16 * 10, 0);
}

/* Tiles that are fitted to the grid are counted as the fewer that they are; and walks of planes that begin or end at
 * an edge are no tiles at edges, for their planes there are a loop of their own. */
FIXTURE_TEST(test_fitted) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  PlanQuery q = question(&c, jacobi(f, 3, "100"), FAMILY_AUTO, 512);
  Schedule s = {.family = FAMILY_STREAM,
                .T = 4,
                .block = {1, 16, 16},
                .elems = {1, 5, 4},
                .chunk = 256,
                .ahead = 4,
                .tiles = TILES_EVEN};
  PlanCandidate k = candidate(&q, s);
  LaunchLoad even = stream_load(&CARD, k.of->stream, &k.s, q.want.size);
  assert_float_equal(even.blocks, 2 * 8 * 10, 0);
  k.s.tiles = TILES_FITTED;
  LaunchLoad fitted = stream_load(&CARD, k.of->stream, &k.s, q.want.size);
  assert_float_equal(fitted.blocks, 2 * 7 * 9, 0);
  int64_t small[MAX_RANK] = {256, 256, 256};
  assert_float_equal(stream_load(&CARD, k.of->stream, &k.s, small).blocks, 1 * 4 * 5, 0);
  k.s.chunk = 512;
  LaunchLoad once = stream_load(&CARD, k.of->stream, &k.s, q.want.size);
  double rows = 256 + (double)(k.of->p->halo.lo[0] + k.of->p->last), longer = (rows + 256) / rows;
  assert_float_equal(once.work.instructions / fitted.work.instructions, longer, 0.02);
}

/* The module `m` as the launch of tile `s` is in the end: its kernel's work, that of a block away from edges. */
static KernelWork lowered_work(PassContext *c, const Module *m, const Schedule *s) {
  Module planned = *plan_tiled_copy(m, s->T);
  Schedule own = *s;
  own.ngroups = 1;
  own.groups = s;
  own.edges = EDGES_ALONG;
  own.barriers = BARRIERS_NEIGHBOURS;
  planned.plan = &own;
  planned.plan_checked = true;
  PassContext quiet = {.arena = c->arena, .diags = c->diags, .target = c->target, .sketch = true};
  Module *k = passes_run(&quiet, NULL, family_pipeline(c->arena, c->target, &planned, false), &planned);
  assert_non_null(k);
  return kernel_work(c->target, k, &k->kernels[k->host.seqs[0].ops[0].a], NULL, false);
}

/* What is counted of tile `s` of a Jacobi program of that rank, before it is lowered and after. */
static void compare_work(Fixture *f, int rank, Schedule s) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  Module *m = jacobi(f, rank, "100");
  PlanQuery q = question(&c, m, FAMILY_AUTO, rank == 1 ? 1 << 24 : 1 << 14);
  PlanCandidate k = candidate(&q, s);
  LaunchLoad n =
      k.of->stream ? stream_load(&CARD, k.of->stream, &s, q.want.size) : tile_load(k.of->tile, &s, q.want.size);
  KernelWork was = n.work, is = lowered_work(&c, m, &s);
  assert_int_equal(was.threads, is.threads);
  assert_float_equal(was.instructions / is.instructions, 1, 0.4);
  assert_float_equal(was.shared, is.shared, 0.1 * is.shared);
  assert_float_equal(was.exchanges, is.exchanges, 0.1 * is.exchanges);
  assert_float_equal(was.global, is.global, 0.2 * is.global);
  assert_float_equal(was.barriers, is.barriers, 1 + 0.1 * is.barriers);
  assert_float_equal(was.waits, is.waits, 0);
  assert_float_equal(was.rounds, is.rounds, 2);
}

/* What is counted of a tile before it is lowered is what is counted of its finished kernel. */
FIXTURE_TEST(test_work) {
  compare_work(f, 1, (Schedule){.family = FAMILY_OVERLAP, .T = 8, .block = {256, 1, 1}, .elems = {2, 1, 1}});
  compare_work(f, 2, (Schedule){.family = FAMILY_OVERLAP, .T = 4, .block = {8, 32, 1}, .elems = {4, 1, 1}});
  compare_work(f, 2, (Schedule){.family = FAMILY_OVERLAP, .T = 1, .block = {8, 32, 1}, .elems = {2, 2, 1}});
  compare_work(f, 3, (Schedule){.family = FAMILY_OVERLAP, .T = 2, .block = {4, 8, 32}, .elems = {2, 2, 1}});
  compare_work(
      f, 1,
      (Schedule){.family = FAMILY_STREAM, .T = 8, .block = {64, 1, 1}, .elems = {8, 1, 1}, .chunk = 1, .ahead = 1});
  compare_work(
      f, 2,
      (Schedule){.family = FAMILY_STREAM, .T = 4, .block = {2, 32, 1}, .elems = {1, 4, 1}, .chunk = 32, .ahead = 4});
  compare_work(
      f, 3,
      (Schedule){.family = FAMILY_STREAM, .T = 2, .block = {1, 8, 32}, .elems = {1, 4, 2}, .chunk = 32, .ahead = 2});
}

/* One estimate of registers: a loop's words count more than straight code's, loads begun early add to it, blocks of
 * many threads leave fewer, and what does not fit is spilled. */
FIXTURE_TEST(test_registers) {
  RegisterNeed loop = {.live = 100, .early = 100, .addresses = 4, .rounds = true},
               straight = {.live = 100, .early = 120}, few = {.live = 20, .early = 20, .several = true};
  int32_t spilled;
  assert_int_equal(model_registers(&CARD, 32, &loop, &spilled), (int)(4 + measured.stream_live * 100));
  assert_int_equal(spilled, 0);
  assert_int_equal(model_registers(&CARD, 32, &straight, &spilled), (int)(measured.point_base + 100));
  assert_int_equal(model_registers(&CARD, 32, &few, &spilled), (int)(measured.cells_base + measured.cells_live * 20));
  RegisterNeed tests = loop, exchanged = {.live = 100, .early = 100, .several = true, .exchanged = true};
  TargetInfo places = CARD;
  tests.conditions = 27;
  assert_int_equal(model_registers(&places, 32, &tests, &spilled), (int)(4 + measured.stream_live * 100));
  places.conditions = 7;
  assert_int_equal(model_registers(&places, 32, &tests, &spilled), (int)(4 + measured.stream_live * 100 + 20));
  tests.rounds = false;
  assert_int_equal(model_registers(&places, 32, &tests, &spilled), (int)(measured.point_base + 100));
  assert_int_equal(model_registers(&CARD, 32, &exchanged, &spilled), (int)(measured.exchanged_live * 100));
  assert_int_equal(spilled, 0);
  assert_int_equal(model_registers(&CARD, 512, &exchanged, &spilled), 128);
  assert_int_equal(spilled, (int)(measured.exchanged_live * 100 - 128 - measured.saved_words));
  assert_int_equal(model_registers(&CARD, 1024, &loop, &spilled), 64);
  assert_int_equal(spilled, 100 - 64 - (int)measured.saved_words);
}

/* A launch of `blocks` blocks of `threads` threads that issue 1e5 instructions. */
static LaunchLoad busy(double blocks, int64_t threads) {
  return (LaunchLoad){.work = {.threads = threads, .points = 1, .instructions = 1e5, .rounds = 1},
                      .registers = 32,
                      .blocks = blocks};
}

/* What the model is told of tiles at edges makes a launch longer, of finished kernels, too; where a rule brings
 * accesses back, more so by what is counted. A launch beside another one takes no less for having few blocks: these
 * wait for one instruction after the other. */
FIXTURE_TEST(test_edges) {
  LaunchLoad plain = busy(100, 32), edge = plain, turned;
  edge.at_edge = 3 * plain.work.instructions;
  turned = edge;
  turned.turned = true;
  assert_true(model_counted_launch(&CARD, &edge).seconds > model_counted_launch(&CARD, &plain).seconds);
  assert_true(model_counted_launch(&CARD, &turned).seconds > model_counted_launch(&CARD, &edge).seconds);
  assert_true(model_launch(&CARD, &edge).seconds > model_launch(&CARD, &plain).seconds);
  LaunchLoad few = busy(2, 32);
  few.at_edge = few.work.instructions;
  LaunchTime both[] = {model_launch(&CARD, &plain), model_launch(&CARD, &few)};
  assert_float_equal(model_beside(2, both).alone[BOUND_LATENCY],
                     both[0].alone[BOUND_LATENCY] + both[1].alone[BOUND_LATENCY], 1e-12);
}

/* Instructions of a loop that near caches hold are not fetched anew; all of one that is much longer are. */
FIXTURE_TEST(test_fetched) {
  (void)f;
  double held = model_finished.code_held;
  assert_float_equal(model_fetched(&model_finished, 100, held), 0, 0);
  assert_float_equal(model_fetched(&model_finished, 100, held * (1 + model_finished.code_width / 2)), 50, 1e-9);
  assert_float_equal(model_fetched(&model_finished, 100, 3 * held), 100, 0);
}

/* The code of a walk without a loop is fetched more slowly if it is long, up to twice straight_held; that of finished
 * kernels, to which this was not fitted, is not. */
FIXTURE_TEST(test_straight) {
  LaunchLoad brief = busy(100, 32), longer = brief, longest = brief;
  brief.straight = measured.straight_held;
  longer.straight = 1.5 * measured.straight_held;
  longest.straight = 3 * measured.straight_held;
  double once = model_counted_launch(&CARD, &brief).alone[BOUND_ISSUE];
  assert_float_equal(model_counted_launch(&CARD, &longer).alone[BOUND_ISSUE] / once,
                     1 + model_counted.straight_lost / 2, 1e-9);
  assert_float_equal(model_counted_launch(&CARD, &longest).alone[BOUND_ISSUE] / once, 1 + model_counted.straight_lost,
                     1e-9);
  assert_float_equal(model_launch(&CARD, &longest).seconds, model_launch(&CARD, &brief).seconds, 0);
}

/* Blocks at edges that do no more than others at edges are not waited for; others as long as their instructions take,
 * from near caches or not, or as their warps take to issue them. */
FIXTURE_TEST(test_edges_waited) {
  LaunchLoad load = {.work = {.threads = 32, .instructions = 100, .rounds = 1}, .at_edge = 150, .edge_code = 150};
  assert_float_equal(model_edge_seconds(&CARD, &load), 0, 0);
  load.edge_code = 450;
  double near = model_edge_seconds(&CARD, &load);
  assert_true(near > 0);
  load.edge_code = load.at_edge + 30 * 300;
  assert_float_equal(model_edge_seconds(&CARD, &load) / near,
                     30 * (1 + model_counted.fetch_wait / model_counted.result_wait), 1e-9);
  load.work.rounds = 30;
  assert_float_equal(model_edge_seconds(&CARD, &load) / near, 30, 1e-9);
  load.work.threads = 1024;
  assert_float_equal(model_edge_seconds(&CARD, &load) / near, 30 * 8 / model_counted.result_wait, 1e-9);
}

/* In rank 1 the time of a candidate is what the model says of its load, whose code is as long as a thread's
 * instructions; what is beyond what was measured is dropped. */
FIXTURE_TEST(test_line) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  PlanQuery q = question(&c, jacobi(f, 1, "100"), FAMILY_AUTO, 1 << 20);
  Schedule s = {.family = FAMILY_STREAM, .T = 16, .block = {32, 1, 1}, .elems = {8, 1, 1}, .chunk = 1, .ahead = 1};
  PlanCandidate k = candidate(&q, s);
  LaunchLoad load = stream_load(&CARD, k.of->stream, &k.s, q.want.size);
  plan_cost(&q, &k);
  assert_true(!k.dropped && load.straight == load.work.instructions);
  assert_float_equal(k.seconds, model_counted_launch(&CARD, &load).seconds / 16, 0);
  s.elems[0] = 32;
  k = candidate(&q, s);
  plan_cost(&q, &k);
  assert_string_equal(k.dropped, "a lane has more cells than were measured to pay");
}

/* What is counted of planes is not all: copies of 8 bytes, overlapped tiles take longer, naive kernels less. */
FIXTURE_TEST(test_uncounted) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  PlanQuery q = question(&c, jacobi(f, 3, "100"), FAMILY_AUTO, 128);
  Schedule s = {.family = FAMILY_STREAM, .T = 2, .block = {1, 16, 16}, .elems = {1, 2, 2}, .chunk = 16, .ahead = 4};
  PlanCandidate two = candidate(&q, s);
  plan_cost(&q, &two);
  assert_null(two.dropped);
  assert_float_equal(two.seconds, measured.copies_slower * two.time.seconds / 2, 0);
  s.elems[2] = 4;
  PlanCandidate four = candidate(&q, s);
  plan_cost(&q, &four);
  assert_float_equal(four.seconds, four.time.seconds / 2, 0);
  s = (Schedule){.family = FAMILY_OVERLAP, .T = 1, .block = {4, 4, 32}, .elems = {1, 1, 1}};
  PlanCandidate tile = candidate(&q, s), naive = tile;
  naive.s.family = FAMILY_NAIVE;
  plan_cost(&q, &tile);
  plan_cost(&q, &naive);
  assert_float_equal(tile.seconds, measured.planes_slower * tile.time.seconds, 0);
  assert_float_equal(naive.seconds, measured.naive_part * tile.time.seconds, 0);
}

/* On grids of many rounds the roofs of walks hardly add up, copies of 8 bytes cost less, and rows take longer by their
 * number only where rounds are few. */
FIXTURE_TEST(test_rounds) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  PlanQuery q = question(&c, jacobi(f, 3, "100"), FAMILY_AUTO, 512);
  Schedule s = {.family = FAMILY_STREAM, .T = 2, .block = {1, 16, 32}, .elems = {1, 2, 2}, .chunk = 64, .ahead = 4};
  PlanCandidate two = candidate(&q, s);
  double most = 0;
  plan_cost(&q, &two);
  for (int b = 0; b < BOUNDS; b++)
    most = fmax(most, two.time.alone[b]);
  assert_true(2 * two.seconds > measured.narrow_copies * most &&
              two.seconds < measured.narrow_copies * two.time.seconds / 2);
  q = question(&c, jacobi(f, 2, "100"), FAMILY_AUTO, 4096);
  s = (Schedule){.family = FAMILY_STREAM, .T = 2, .block = {1, 32, 1}, .elems = {1, 2, 1}, .chunk = 64, .ahead = 4};
  PlanCandidate rows = candidate(&q, s);
  plan_cost(&q, &rows);
  assert_true(!rows.dropped && rows.seconds < rows.time.seconds / 2);
}

/* What is not to be taken says why, and has a time all the same. */
FIXTURE_TEST(test_dropped) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD};
  PlanQuery q = question(&c, jacobi(f, 2, "100"), FAMILY_AUTO, 1024);
  Schedule s = {.family = FAMILY_STREAM, .T = 4, .block = {1, 32, 1}, .elems = {1, 2, 1}, .chunk = 32, .ahead = 4};
  PlanCandidate k = candidate(&q, s);
  plan_cost(&q, &k);
  assert_null(k.dropped);
  assert_true(k.seconds > 0 && k.seconds < 1e-3);
  s.chunk = 8;
  k = candidate(&q, s);
  plan_cost(&q, &k);
  assert_string_equal(k.dropped, "its halo has more rows than were measured to pay");
  assert_true(k.seconds > 0 && k.seconds < 1e-3);
  q = question(&c, jacobi(f, 3, "100"), FAMILY_AUTO, 768);
  s = (Schedule){.family = FAMILY_STREAM, .T = 4, .block = {1, 16, 16}, .elems = {1, 5, 4}, .chunk = 128, .ahead = 4};
  assert_string_equal(dropped(&q, candidate(&q, s)),
                      "so few warps are slow to begin: that pays for long chunks only, all of which are there at once");
}

/* Whether what a launch moves stays in the cache goes by the target's, if it tells that. */
FIXTURE_TEST(test_cache) {
  LaunchLoad l = {.work = {.threads = 256, .rounds = 1}, .registers = 32, .blocks = 100, .memory_bytes = 20e6};
  TargetInfo less = CARD, untold = CARD;
  less.cache_bytes = 6e6;
  less.kept_cache = 3e6;
  untold.cache_bytes = 0;
  double cached = model_counted_launch(&CARD, &l).alone[BOUND_MEMORY];
  assert_float_equal(model_counted_launch(&untold, &l).alone[BOUND_MEMORY], cached, 0);
  assert_float_equal(model_counted_launch(&less, &l).alone[BOUND_MEMORY], 20e6 / (2000e9 * CARD.kept_bandwidth), 1e-9);
  assert_true(cached > 0 && cached != 20e6 / (2000e9 * CARD.kept_bandwidth));
}

/* Each term of the model alone: the launch itself; warps that stay with a scheduler, so that five take as long as
 * eight; what is lost in the last round of blocks; waits that other blocks do not hide; memory, for what the
 * cache has not kept: of what goes beyond half of it as much again is displaced.
 */
FIXTURE_TEST(test_terms) {
  LaunchLoad none = {.work = {.threads = 32, .rounds = 1}, .registers = 32, .blocks = 1};
  assert_float_equal(model_launch(&CARD, &none).seconds, model_finished.launch_gap, 1e-12);
  LaunchLoad five = busy(100, 160), eight = busy(100, 256), nine = busy(100, 288);
  assert_float_equal(model_launch(&CARD, &five).alone[BOUND_ISSUE], model_launch(&CARD, &eight).alone[BOUND_ISSUE],
                     1e-9);
  assert_float_equal(model_launch(&CARD, &nine).alone[BOUND_ISSUE] / model_launch(&CARD, &eight).alone[BOUND_ISSUE],
                     1.5, 1e-6);
  LaunchLoad full = busy(800, 256), more = busy(801, 256), twice = busy(1600, 256);
  double whole = model_launch(&CARD, &full).alone[BOUND_ISSUE], last = model_launch(&CARD, &more).alone[BOUND_ISSUE];
  assert_true(last > 1.02 * whole && last < 1.7 * whole);
  assert_float_equal(model_launch(&CARD, &twice).alone[BOUND_ISSUE] / whole, 2, 0.35);
  LaunchLoad waits = busy(1, 32);
  waits.work.waits = 1000;
  assert_int_equal(model_launch(&CARD, &waits).bound, BOUND_LATENCY);
  assert_true(model_launch(&CARD, &waits).alone[BOUND_LATENCY] >= 1000 * model_finished.memory_wait * 1e-9);
  LaunchLoad cached = {.work = {.threads = 256, .rounds = 1}, .registers = 32, .blocks = 100, .memory_bytes = 20e6},
             partly = cached, streamed = cached;
  partly.memory_bytes = 30e6;
  streamed.memory_bytes = 60e6;
  double memory = 2000e9 * CARD.kept_bandwidth;
  assert_float_equal(model_launch(&CARD, &cached).alone[BOUND_MEMORY], 0, 1e-12);
  assert_float_equal(model_launch(&CARD, &partly).alone[BOUND_MEMORY], 0.2 * 30e6 / memory, 1e-9);
  assert_float_equal(model_launch(&CARD, &streamed).alone[BOUND_MEMORY], 60e6 / memory, 1e-9);
}

/* The fastest is taken, the first of those that are as fast; what is dropped is not looked at. */
FIXTURE_TEST(test_choice) {
  PlanCandidate all[] = {{.usual = true, .seconds = 1},
                         {.seconds = 1},
                         {.seconds = 0.5, .dropped = "it is none"},
                         {.seconds = 1.2}};
  PlanCandidates k = {4, all};
  assert_ptr_equal(plan_best(&k), &all[0]);
  all[3].seconds = 0.99;
  assert_ptr_equal(plan_best(&k), &all[3]);
  all[0].dropped = "it is none";
  all[3].seconds = 3;
  assert_ptr_equal(plan_best(&k), &all[1]);
  all[1].dropped = all[3].dropped = "it is none";
  assert_null(plan_best(&k));
}

/* A family is naive only where tiles of one step of one stencil are best, and nothing was asked for. */
FIXTURE_TEST(test_naive) {
  Module *m = jacobi(f, 2, "100");
  Schedule open = {.family = FAMILY_AUTO}, one = {.family = FAMILY_OVERLAP, .T = 1},
           two = {.family = FAMILY_OVERLAP, .T = 2};
  assert_true(plan_is_naive(m, &open, &one));
  assert_false(plan_is_naive(m, &open, &two));
  assert_false(plan_is_naive(m, &one, &one));
  m->nrecords = 1;
  assert_false(plan_is_naive(m, &open, &one));
}

/* The product of T and chunk, which is legal from *user on (what plan_complete asks). */
static double product_cost(const void *user, const Schedule *s) {
  int32_t n = s->T * s->chunk;
  return n < *(const int32_t *)user ? INFINITY : n;
}

/* All values of open knobs are looked at together, the least legal cost wins, and nothing is changed if there is none;
 * numbers that need not be even grow by a half and a third in turn. */
FIXTURE_TEST(test_complete) {
  Schedule s = {.T = 1, .chunk = 1, .ahead = 7};
  Knob k[] = {{&s.T, 1, 5, plan_next_value}, {&s.chunk, 7, 28, plan_doubled}};
  int32_t least = 21;
  assert_true(plan_complete(&s, 2, k, product_cost, &least));
  assert_int_equal(s.T, 3);
  assert_int_equal(s.chunk, 7);
  assert_int_equal(s.ahead, 7);
  least = 113;
  assert_false(plan_complete(&s, 2, k, product_cost, &least));
  assert_int_equal(s.T * s.chunk, 21);
  least = 84;
  assert_true(plan_complete(&s, 2, k, product_cost, &least));
  assert_int_equal(s.T, 3);
  int32_t n = 1;
  for (int32_t next = 2; next <= 4; next++)
    assert_int_equal(n = plan_next_value(n), next);
  assert_int_equal(plan_next_value(plan_next_value(n)), 8);
}

/* A tile that is lowered to be looked at leaves nothing in memory; one that cannot be is no error of the compilation,
 * and says why. */
FIXTURE_TEST(test_trial) {
  TargetInfo small = CARD;
  small.max_shared_bytes = small.shared_bytes = 64;
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = passes_run};
  Schedule s = {.family = FAMILY_OVERLAP, .T = 2, .block = {8, 32, 1}, .elems = {1, 1, 1}, .ngroups = 1};
  const Module *m = plan_tiled_copy(jacobi(f, 2, "100"), 2);
  ScheduleTime t;
  size_t used = arena_used(f->arena);
  assert_true(schedule_time(&c, m, &s, NULL, &t));
  assert_true(t.seconds > 0);
  assert_null(t.why);
  assert_int_equal(arena_used(f->arena), used);
  c.target = &small;
  assert_false(schedule_time(&c, m, &s, NULL, &t));
  assert_non_null(strstr(t.why, "bytes of shared memory a block, but gpu allows at most 64"));
  assert_int_equal(diags_errors(f->diags), 0);
  assert_int_equal(f->messages.n, 0);
}

/* Pipelines that were run to look at tiles; how many kernels like the first one are added to what these make. */
static int lowered, more_kernels;
static Module *run_counted(PassContext *c, const PassHooks *h, const char *pipeline, Module *m) {
  lowered++;
  Module *made = passes_run(c, h, pipeline, m);
  if (!made || more_kernels == 0)
    return made;
  Kernel *all = ARENA_ARRAY(c->arena, Kernel, made->nkernels + more_kernels);
  for (int i = 0; i < made->nkernels + more_kernels; i++)
    all[i] = made->kernels[i < made->nkernels ? i : 0];
  made->kernels = all;
  made->nkernels += more_kernels;
  return made;
}

/* A tile is lowered once for a module and its copies, whichever of them is asked about; for another grid, with tiles at
 * edges or of stencils that are cut otherwise it is lowered anew. */
FIXTURE_TEST(test_lowered_once) {
  ModelCache cache = {0};
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = run_counted, .cache = &cache};
  Schedule s = {.family = FAMILY_OVERLAP, .T = 2, .block = {8, 32, 1}, .elems = {1, 1, 1}, .ngroups = 1}, other = s;
  const int64_t size[MAX_RANK] = {1024, 1024};
  Module *m = jacobi(f, 2, "100"), *copy = module_trial(m), *cut = module_trial(m);
  ScheduleTime t, again;
  lowered = 0;
  assert_true(schedule_time_parted(&c, plan_tiled_copy(m, 2), &s, size, &t) && t.ops > 0);
  assert_true(schedule_time_parted(&c, plan_tiled_copy(copy, 2), &s, size, &again));
  assert_int_equal(lowered, 1);
  assert_float_equal(again.seconds, t.seconds, 0);
  assert_true(schedule_time_parted(&c, plan_tiled_copy(m, 2), &s, NULL, &again));
  assert_true(schedule_time(&c, plan_tiled_copy(m, 2), &s, size, &again));
  assert_int_equal(lowered, 3);
  cut->stencils[0].group = 1;
  assert_false(cut->stencils[0].group == m->stencils[0].group);
  schedule_time(&c, plan_tiled_copy(cut, 2), &s, size, &again);
  assert_int_equal(lowered, 4);
  other.block[0] = 16;
  assert_true(schedule_time(&c, plan_tiled_copy(m, 2), &other, size, &again));
  assert_int_equal(lowered, 5);
}

/* The candidates of question `q` that have no lanes, of which all are counted to take `rest` seconds, but the first one
 * of overlapped tiles of `T` steps, *first, which is counted to take `least`. */
static PlanCandidates counted_as(const PlanQuery *q, int T, double least, double rest, const PlanCandidate **first) {
  PlanCandidates k;
  plan_candidates(q, &k);
  *first = NULL;
  for (int i = 0; i < k.n; i++) {
    plan_cost(q, &k.all[i]);
    bool is_first = !*first && !k.all[i].dropped && !k.all[i].usual && k.all[i].s.T == T &&
                    k.all[i].s.family == FAMILY_OVERLAP && k.all[i].s.tiles != TILES_LANES;
    k.all[i].seconds = is_first ? least : rest;
    *first = is_first ? &k.all[i] : *first;
  }
  return k;
}

/* Has *first and some candidates of as many steps each counted to take half of what their kernels take; others are
 * dropped. */
static void miscounted(const PlanQuery *q, PlanCandidates *all, const PlanCandidate *first) {
  int kept = 0;
  for (int i = 0; i < all->n; i++) {
    PlanCandidate *k = &all->all[i];
    Schedule s = k->s;
    ScheduleTime t;
    bool taken = k == first || (!k->dropped && !k->usual && s.family == FAMILY_OVERLAP && s.T > 1 &&
                                s.tiles != TILES_LANES && i % 7 == 0 && kept < 20);
    s.edges = schedule_parts_edges(&q->want, q->rank) ? EDGES_APART : EDGES_ALONG;
    s.ngroups = 1;
    s.groups = &k->s;
    if (taken && schedule_time_parted(q->c, plan_tiled_copy(q->m, s.T), &s, q->want.size, &t)) {
      k->seconds = 0.5 * t.seconds * (k->stopped > 0 ? k->stopped : 1);
      kept++;
    } else {
      k->dropped = "it is not asked about";
    }
  }
  assert_true(kept > 4);
}

/* Rivals of the first tile are lowered only if it takes longer than is counted, as long as less is counted of them than
 * hardly a kernel needs to be surely faster, a few of them, two where these are miscounted as the first one is, and as
 * few ops as are told; the same each time. */
FIXTURE_TEST(test_verified) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &CARD, .run = run_counted};
  const PlanCandidate *first;
  PlanQuery q = question(&c, jacobi(f, 2, "100"), FAMILY_AUTO, 1024);
  PlanCandidates k = counted_as(&q, 2, 1, 1, &first);
  lowered = 0;
  assert_ptr_equal(plan_verified(&q, &k, first), first);
  assert_int_equal(lowered, 1);
  PlanCandidate looked = *first;
  plan_look_at(&q, &looked);
  double limit = tuning.surely / measured.count_missed * looked.seconds;
  k = counted_as(&q, 2, 0.1 * limit, 1.1 * limit, &first);
  lowered = 0;
  assert_ptr_equal(plan_verified(&q, &k, first), first);
  assert_int_equal(lowered, 1);
  k = counted_as(&q, 2, 0.1 * limit, 0.5 * limit, &first);
  lowered = 0;
  const PlanCandidate *taken = plan_verified(&q, &k, first);
  assert_true(lowered > 1 && lowered <= MOST_VERIFIED);
  int before = lowered;
  assert_ptr_equal(plan_verified(&q, &k, first), taken);
  assert_int_equal(lowered, 2 * before);
  miscounted(&q, &k, first);
  lowered = 0;
  plan_verified(&q, &k, first);
  assert_int_equal(lowered, 3);
  k = counted_as(&q, 2, 0.1 * limit, 0.5 * limit, &first);
  more_kernels = (int)(0.4 * MOST_VERIFIED_OPS / (double)looked.ops);
  lowered = 0;
  plan_verified(&q, &k, first);
  assert_true(lowered > 1 && lowered < before);
  more_kernels *= 2;
  lowered = 0;
  assert_ptr_equal(plan_verified(&q, &k, first), first);
  assert_int_equal(lowered, 1);
  more_kernels = 0;
}

/* The table of what knobs may be: its words, those for the tuner alone among them where they are asked for. */
FIXTURE_TEST(test_axes) {
  int32_t v[MAX_RANK];
  assert_string_equal(plan_axis_word(f->arena, "1x2 1x4|1x8 1x16", 1, false), "1x4");
  assert_null(plan_axis_word(f->arena, "1x2 1x4|1x8 1x16", 2, false));
  assert_string_equal(plan_axis_word(f->arena, "1x2 1x4|1x8 1x16", 3, true), "1x16");
  assert_null(plan_axis_word(f->arena, "1x2 1x4|1x8 1x16", 4, true));
  assert_null(plan_axis_word(f->arena, "|2 3", 0, false));
  assert_string_equal(plan_axis_word(f->arena, "|2 3", 0, true), "2");
  assert_true(plan_axis_numbers("8 4x32", 1, false, v));
  assert_int_equal(v[0] * 1000 + v[1], 4032);
  assert_int_equal(v[2], 1);
  assert_false(plan_axis_numbers("8|4x32", 1, false, v));
  assert_true(plan_axis_numbers("8|4x32|16", 1, true, v));
  assert_int_equal(v[1], 32);
  assert_false(plan_axis_numbers("8|4x32|16", 2, true, v));
  for (int i = 0; plan_axes(i); i++) {
    const PlanAxes *row = plan_axes(i), *usual = plan_axes_of(row->family, row->rank, row->simt);
    assert_true(*row->values[AXIS_TILES] ? usual != row : usual == row);
  }
}

/* A device at hand says its cores, clock, memory and cache: rates follow those, and what it does not say stays. */
FIXTURE_TEST(test_device_figures) {
  const Target *row = target_find(f->arena, f->diags, "nvptx", "sm_90");
  const TargetInfo *was = target_info(row);
  TargetInfo half = {.cores = was->cores / 2, .clock = was->clock / 2, .bandwidth = 100, .cache_bytes = 1e6},
             none = {0};
  const TargetInfo *is = target_info(target_with_limits(f->arena, row, &half));
  assert_int_equal(is->cores, was->cores / 2);
  assert_float_equal(is->issue_rate / was->issue_rate, 0.25, 1e-6);
  assert_float_equal(is->f64_rate / was->f64_rate, 0.25, 1e-6);
  assert_float_equal(is->bandwidth, 100, 0);
  assert_float_equal(is->cache_bytes, 1e6, 0);
  assert_float_equal(is->kept_cache, 0.5e6, 0);
  assert_true(is->kept_clock > 0.5 && is->kept_clock <= 1 && is->kept_bandwidth > 0.5 && is->kept_bandwidth <= 1);
  is = target_info(target_with_limits(f->arena, row, &none));
  assert_int_equal(is->cores, was->cores);
  assert_float_equal(is->issue_rate, was->issue_rate, 0);
  assert_float_equal(is->bandwidth, was->bandwidth, 0);
}

/* A device that calls itself as a known card has that one's figures, however its driver tells them; a part of one has
 * its own. */
FIXTURE_TEST(test_card_figures) {
  TargetInfo own = {.cores = 132, .clock = 1.98, .bandwidth = 4917, .cache_bytes = 50 << 20};
  const TargetInfo *card = target_info(target_find(f->arena, f->diags, "nvptx", "h200")),
                   *is = target_info(target_on(f->arena, f->diags, "nvptx", "sm_90a", "cuda:0, NVIDIA H200", &own));
  const double of_card[] = {card->bandwidth,  card->cache_bandwidth, card->f32_rate,   card->f64_rate,
                            card->issue_rate, card->shared_rate,     card->kept_cache, card->cache_bytes},
               of_device[] = {is->bandwidth,  is->cache_bandwidth, is->f32_rate,   is->f64_rate,
                              is->issue_rate, is->shared_rate,     is->kept_cache, is->cache_bytes};
  for (size_t i = 0; i < sizeof of_card / sizeof *of_card; i++)
    assert_float_equal(of_device[i], of_card[i], 1e-6 * of_card[i]);
  own.cores = 66, own.bandwidth = 2400;
  is = target_info(target_on(f->arena, f->diags, "nvptx", "sm_90a", "NVIDIA H200 MIG 3g.71gb", &own));
  assert_float_equal(is->bandwidth, 2400, 0);
  assert_float_equal(is->f32_rate / card->f32_rate, 0.5, 1e-6);
  assert_float_equal(is->cache_bandwidth / card->cache_bandwidth, 0.5, 1e-6);
}

/* A step of `n` stencils, each of which reads `reach` points far in two dimensions. */
static Module *far_step(Fixture *f, int n, int reach) {
  Str s = {.arena = f->arena};
  str_add(&s, "stencil module \"far\" {\n  param @N : i64\n  grid [0 .. N - 1, 0 .. N - 1] steps 100\n");
  for (int i = 0; i < n; i++)
    str_addf(&s, "  field @A%d : f32 on [0 .. N - 1, 0 .. N - 1] outside const 0\n", i);
  for (int i = 0; i < n; i++)
    str_addf(&s,
             "  stencil @s%d (@A%d) {\n    piece [0 .. N - 1, 0 .. N - 1] (@A%d) {\n      %%0 = access @A%d[-%d, 0] : "
             "f32\n      %%1 = access @A%d[0, %d] : f32\n      %%2 = add %%0, %%1 : f32\n      yield %%2\n    }\n  }\n",
             i, i, i, (i + n - 1) % n, reach, (i + n - 1) % n, reach);
  str_add(&s, "}\n");
  Module *m = module_parse(f->arena, f->diags, "test", s.s);
  if (!m)
    fail_msg("%s", f->messages.s);
  return m;
}

/* A tile that is chosen for other time steps than a module was repeated for says nothing of these: whatever is left
 * open comes to a legal tile, in caches of all sizes. */
FIXTURE_TEST(test_own_choice) {
  for (int reach = 1; reach <= 9; reach += 4)
    for (int T = 2; T <= 5; T++)
      for (int64_t bytes = 1 << 12; bytes <= 1 << 24; bytes *= 2) {
        TargetInfo cpu = {.name = "host",
                          .lanes = 8,
                          .max_threads = 1,
                          .max_block = {1, 1, 1},
                          .max_grid = {INT64_MAX, INT64_MAX, INT64_MAX},
                          .shared_bytes = bytes,
                          .max_shared_bytes = 1 << 30,
                          .shared_per_core = bytes,
                          .max_threads_per_core = 1,
                          .registers_per_core = 512,
                          .cores = 2};
        Schedule want = {.family = FAMILY_AUTO, .size = {150, 180}}, s = {0};
        PassContext c = {.arena = f->arena, .diags = f->diags, .target = &cpu, .schedule = &want, .run = passes_run};
        if (!plan_tile(&c, plan_tiled_copy(far_step(f, 3, reach), T), &s))
          fail_msg("reach %d, T %d, %lld bytes: %s", reach, T, (long long)bytes, f->messages.s);
      }
}
