/* schedule_test.c: schedules made legal for a target, and the messages about those that cannot be
 * (passes/plan/choose/legal.c). */
#include "tests/unit/ir_testing.h"
#include "tests/unit/planning.h"

#include "driver/program/program.h"
#include "passes/lower/lower.h"
#include "passes/plan/plan.h"

/* A GPU with room, one with little, and a CPU. */
static const TargetInfo GPU = {.name = "gpu", .cpu = "g1", ROOMY_GPU, SPEEDS, .cores = 108};
static const TargetInfo TINY = {.name = "tiny",
                                .simt = true,
                                .lanes = 4,
                                .max_threads = 64,
                                .max_block = {16, 16, 4},
                                .max_grid = {INT32_MAX, 65535, 65535},
                                .shared_bytes = 1024,
                                .max_shared_bytes = 1024,
                                .shared_per_core = 4096,
                                .max_threads_per_core = 128,
                                .registers_per_core = 4096,
                                SPEEDS,
                                .cores = 1};
static const TargetInfo CPU = {.name = "host",
                               .cpu = "c1",
                               .lanes = 8,
                               .max_threads = 1,
                               .max_block = {1, 1, 1},
                               .max_grid = {INT64_MAX, INT64_MAX, INT64_MAX},
                               .shared_bytes = 1 << 20,
                               .max_shared_bytes = 1 << 30,
                               .shared_per_core = 1 << 20,
                               .max_threads_per_core = 1,
                               SPEEDS,
                               .cores = 4};

/* Resolves; fails the test if there is no schedule. */
static Schedule resolved(Fixture *f, const TargetInfo *t, const Module *m, Schedule want) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = t, .schedule = &want, .run = passes_run};
  Schedule s;
  if (!schedule_resolve(&c, m, &want, &s))
    fail_msg("%s", f->messages.s);
  return s;
}

/* Expects the error `message`. */
static void refused(Fixture *f, const TargetInfo *t, const Module *m, Schedule want, const char *message) {
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = t, .schedule = &want, .run = passes_run};
  Schedule s;
  f->messages.n = 0;
  assert_false(schedule_resolve(&c, m, &want, &s));
  assert_string_equal(f->messages.s, message);
}

static void assert_shape(const int32_t *v, int32_t x, int32_t y, int32_t z) {
  assert_int_equal(v[0], x);
  assert_int_equal(v[1], y);
  assert_int_equal(v[2], z);
}

/* Small grids get tiles enough for the multiprocessors, in the family that was asked for; large ones, and schedules of
 * which a number was given, what they get without a size, but for rows of walks, which large grids have more of in rank
 * 2 and any in rank 3, and for the shapes of walks of planes, which follow the extents. */
FIXTURE_TEST(test_size) {
  static const int64_t sizes[3][MAX_RANK] = {{65536}, {512, 512}, {128, 128, 128}};
  static const FamilyId families[] = {FAMILY_OVERLAP, FAMILY_STREAM};
  TargetInfo t = GPU;
  t.async_copy = true;
  t.bandwidth = 2000, t.cache_bandwidth = 5000, t.f32_rate = 10000, t.f64_rate = 5000, t.launch_us = 2;
  for (int rank = 1; rank <= 3; rank++)
    for (int i = 0; i < 2; i++) {
      Module *m = jacobi(f, rank, "1000");
      Schedule want = {.family = families[i]}, large = resolved(f, &t, m, want);
      memcpy(want.size, sizes[rank - 1], sizeof want.size);
      Schedule small = resolved(f, &t, m, want);
      assert_int_equal(small.family, families[i]);
      double blocks = 1;
      for (int d = 0; d < rank; d++)
        blocks *= ceil((double)sizes[rank - 1][d] / (d == 0 && i == 1 && rank > 1
                                                         ? small.chunk
                                                         : small.block[d] * small.elems[d] - 2 * (small.T - (i == 0))));
      assert_true((small.T > 1 || rank == 3) && blocks > 40);
      want.T = 2;
      Schedule two = resolved(f, &t, m, want);
      memset(want.size, 0, sizeof want.size);
      Schedule same = resolved(f, &t, m, want);
      assert_shape(two.block, same.block[0], same.block[1], same.block[2]);
      assert_true(two.chunk == same.chunk || (rank == 3 && i == 1));
      want = (Schedule){.family = families[i], .size = {1 << 14, 1 << 14, rank > 2 ? 1 << 14 : 0}};
      want.size[0] = rank == 1 ? 1 << 28 : want.size[0];
      Schedule huge = resolved(f, &t, m, want);
      if (rank < 3 || i == 0) {
        assert_int_equal(huge.T, large.T);
        assert_shape(huge.block, large.block[0], large.block[1], large.block[2]);
      }
      assert_true(rank != 2 || huge.chunk == (i == 0 ? 0 : 2 * large.chunk));
    }
}

/* Without options: legal on each target, several steps a tile, tiles larger than their halo. */
FIXTURE_TEST(test_defaults) {
  const TargetInfo *const targets[] = {&GPU, &TINY, &CPU};
  for (int t = 0; t < 3; t++)
    for (int rank = 1; rank <= 3; rank++) {
      Schedule s = resolved(f, targets[t], jacobi(f, rank, "64"), (Schedule){0});
      assert_int_equal(s.family, FAMILY_OVERLAP);
      assert_true(s.T >= 1);
      int64_t threads = 1;
      for (int d = 0; d < rank; d++) {
        assert_true((int64_t)s.block[d] * s.elems[d] > 2 * (s.T - 1));
        threads *= s.block[d];
        assert_true(!targets[t]->simt || s.block[d] <= targets[t]->max_block[rank - 1 - d]);
      }
      assert_true(!targets[t]->simt || threads <= targets[t]->max_threads);
    }
  Schedule s = resolved(f, &GPU, jacobi(f, 2, "64"), (Schedule){0});
  assert_int_equal(s.T, 4);
  assert_shape(s.block, 8, 32, 1);
}

/* No more levels than steps. */
FIXTURE_TEST(test_few_steps) {
  diags_enable_remarks(f->diags, true);
  assert_int_equal(resolved(f, &GPU, jacobi(f, 2, "3"), (Schedule){0}).T, 3);
  assert_int_equal(resolved(f, &GPU, jacobi(f, 2, "3"), (Schedule){.T = 5}).T, 3);
  assert_string_equal(f->messages.s, "0:0: remark: -T=5 is more than the program's 3 time steps: -T=3 is taken\n");
}

/* What is given is kept. */
FIXTURE_TEST(test_kept) {
  Schedule s = resolved(f, &GPU, jacobi(f, 3, "64"),
                        (Schedule){.family = FAMILY_OVERLAP, .T = 3, .block = {4, 4, 8}, .elems = {2, 2, 1}});
  assert_int_equal(s.T, 3);
  assert_shape(s.block, 4, 4, 8);
  assert_shape(s.elems, 2, 2, 1);
  s = resolved(f, &GPU, jacobi(f, 1, "64"), (Schedule){.family = FAMILY_NAIVE, .block = {64}});
  assert_int_equal(s.family, FAMILY_NAIVE);
  assert_int_equal(s.T, 1);
  assert_shape(s.block, 64, 1, 1);
}

FIXTURE_TEST(test_refused) {
  const Module *j1 = jacobi(f, 1, "64"), *j2 = jacobi(f, 2, "64"), *j3 = jacobi(f, 3, "64");
  refused(f, &GPU, j2, (Schedule){.T = 5, .block = {8, 32}, .elems = {1, 1}},
          "0:0: error: -T=5 -block=8x32 -elems=1x1: a tile of 8 points in dimension 0 is not larger than its halo, "
          "which is 4 + 4 points there for 5 time steps; "
          "the nearest legal choices are -T=5 -block=8x32 -elems=2x1 and -T=4 -block=8x32 -elems=1x1\n");
  refused(f, &GPU, j2, (Schedule){.block = {32, 64}},
          "0:0: error: -block=32x64 asks for 2048 threads a block; target gpu g1 allows 1024; the nearest legal choice "
          "is -block=16x64\n");
  refused(f, &GPU, j3, (Schedule){.block = {128, 1, 4}},
          "0:0: error: -block=128x1x4 asks for 128 threads in dimension 0 (the hardware's z); target gpu g1 allows 64; "
          "the nearest legal choice is -block=64x1x4\n");
  refused(f, &TINY, j1, (Schedule){.T = 2, .block = {16}, .elems = {32}},
          "0:0: error: -T=2 -block=16 -elems=32 asks for 2064 bytes of shared memory a block; target tiny allows 1024; "
          "the nearest legal choices are "
          "-T=2 -block=16 -elems=15 and -T=1 -block=16 -elems=32\n");
  refused(
      f, &GPU, j1, (Schedule){.family = FAMILY_NAIVE, .T = 4},
      "0:0: error: -T=4: the naive schedule makes one time step a launch; leave -T out, or use -schedule=overlap\n");
  refused(f, &GPU, j1, (Schedule){.block = {8, 8}},
          "0:0: error: -block has more than the program's 1 dimension; leave the last ones out\n");
  refused(f, &GPU, j1, (Schedule){.block = {-8}},
          "0:0: error: -block: -8 is not a number of threads or points; give at least 1\n");
  refused(f, &CPU, j1, (Schedule){.elems = {2}},
          "0:0: error: -elems: target host c1 has no threads to give points to; a tile's points are set by -block\n");
  refused(f, &CPU, j1, (Schedule){.T = 5, .block = {8}},
          "0:0: error: -T=5 -block=8: a tile of 8 points in dimension 0 is not larger than its halo, which is 4 + 4 "
          "points there for 5 time steps; "
          "the nearest legal choices are -T=5 -block=9 and -T=4 -block=8\n");
}

/* Stencils that cannot share a launch: an error if they are in one group; a schedule each if they are not, and an error
 * if more steps a launch are asked for. */
FIXTURE_TEST(test_apart) {
  Module *m = module_parse(
      f->arena, f->diags, "test",
      "stencil module \"t\" {\n  param @N : i64\n  param @M : i64\n  grid [0 .. N - 1] steps 8\n  field @A : f32 on [0 "
      ".. M - 1] outside clamp\n  field @B : f32 on [0 .. N - 1]\n"
      "  stencil @s (@A) {\n    piece [0 .. M - 1] (@A) {\n      %0 = const 1.0 : f32\n      yield %0\n    }\n  }\n"
      "  stencil @u (@B) {\n    piece [0 .. N - 1] (@B) {\n      %0 = access @A[0] : f32\n      yield %0\n    }\n  "
      "}\n}\n");
  assert_non_null(m);
  refused(f, &GPU, m, (Schedule){0},
          "0:0: error: the stencils cannot share a launch: field 'A' is read through its outside rule from points that "
          "may be far outside of its "
          "region; cut the step there, with pass fuse or -fuse\n");
  refused(f, &GPU, m, (Schedule){.T = 2},
          "0:0: error: -T=2: the time steps cannot share a launch: field 'A' is read through its outside rule from "
          "points that may be "
          "far outside of its region; use -T=1\n");
  m->stencils[1].group = 1;
  Schedule s = resolved(f, &GPU, m, (Schedule){.block = {64}});
  assert_string_equal(s.fuse, "s,u");
  assert_int_equal(s.T, 1);
  assert_int_equal(s.ngroups, 2);
  assert_shape(s.groups[1].block, 64, 1, 1);
  refused(f, &GPU, m, (Schedule){.T = 2},
          "0:0: error: -T=2: several time steps share a launch only if a step is one, but it is cut into s,u; use "
          "-fuse=all, or leave -T out\n");
}

/* A tile that is left open is made larger than the halo of the steps asked for, but not where its size is asked for. */
FIXTURE_TEST(test_wide_halo) {
  Schedule s = resolved(f, &CPU, jacobi(f, 3, "64"), (Schedule){.T = 12});
  assert_int_equal(s.T, 12);
  assert_shape(s.block, 32, 32, 128);
  s = resolved(f, &CPU, jacobi(f, 1, "100000"), (Schedule){.T = 1000});
  assert_true(s.block[0] > 2 * 999);
  refused(f, &CPU, jacobi(f, 3, "64"), (Schedule){.T = 12, .block = {0, 16, 0}},
          "0:0: error: -T=12 -block=32x16x256: a tile of 16 points in dimension 1 is not larger than its halo, which "
          "is 11 + 11 points there for 12 time steps; "
          "the nearest legal choices are -T=12 -block=32x23x256 and -T=8 -block=32x16x256\n");
}

/* Two stages whose halo no default tile holds: an error that names the halo, and the launch if there are several. */
FIXTURE_TEST(test_far) {
  Module *m = module_parse(f->arena, f->diags, "test",
                           "stencil module \"t\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 8\n  field @A : f32 on "
                           "[0 .. N - 1] outside clamp\n"
                           "  field @B : f32 on [0 .. N - 1] outside clamp\n"
                           "  stencil @s (@A) {\n    piece [0 .. N - 1] (@A) {\n      %0 = access @B[100000] : f32\n   "
                           "   yield %0\n    }\n  }\n"
                           "  stencil @u (@B) {\n    piece [0 .. N - 1] (@B) {\n      %0 = access @A[-100000] : f32\n  "
                           "    yield %0\n    }\n  }\n}\n");
  assert_non_null(m);
  refused(f, &CPU, m, (Schedule){.T = 1, .block = {64}},
          "0:0: error: -T=1 -block=64: a tile of 64 points in dimension 0 is not larger than its halo, which is 100000 "
          "+ 0 points there for 1 time step; "
          "the nearest legal choice is -T=1 -block=100001\n");
  m->stencils[1].group = 1;
  assert_int_equal(resolved(f, &CPU, m, (Schedule){.block = {64}}).ngroups, 2);
}

/* What -fuse says against other options. */
FIXTURE_TEST(test_fuse) {
  refused(f, &GPU, jacobi(f, 1, "64"), (Schedule){.family = FAMILY_NAIVE, .fuse = "all"},
          "0:0: error: -fuse=all: the naive schedule makes a launch for each stencil; leave -fuse out, or use "
          "-schedule=overlap\n");
  assert_int_equal(resolved(f, &GPU, jacobi(f, 1, "64"), (Schedule){.family = FAMILY_NAIVE, .fuse = "none"}).family,
                   FAMILY_NAIVE);
}

/* No tile makes more steps than lie between two evaluations of a reduction; a remark says so once. */
FIXTURE_TEST(test_reductions_limit_levels) {
  Module *m = jacobi(f, 1, "100");
  Reduction r[2] = {{.name = "total", .every = 64}, {.name = "until", .every = 3}};
  m->nreductions = 1;
  m->reductions = r;
  diags_enable_remarks(f->diags, true);
  assert_true(resolved(f, &GPU, m, (Schedule){0}).T > 3);
  assert_string_equal(f->messages.s, "");
  m->nreductions = 2;
  assert_int_equal(resolved(f, &GPU, m, (Schedule){0}).T, 3);
  assert_string_equal(
      f->messages.s, "0:0: remark: 'until' is evaluated every 3 time steps, and a tile makes no more: -T=3 is taken\n");
  f->messages.n = 0;
  assert_int_equal(resolved(f, &GPU, m, (Schedule){.T = 5}).T, 3);
  assert_string_equal(
      f->messages.s,
      "0:0: remark: -T=5: 'until' is evaluated every 3 time steps, and a tile makes no more: -T=3 is taken\n");
  r[1].every = 1;
  m->stencils[0].has_extent = true;
  f->messages.n = 0;
  assert_int_equal(resolved(f, &GPU, m, (Schedule){.T = 5}).T, 1);
  assert_int_equal(resolved(f, &GPU, m, (Schedule){0}).T, 1);
  assert_int_equal(f->messages.n, 0);
}

/* Expects sequences of T, `t` (0: none in between) and 1 steps. */
static void assert_tiles(const Module *m, int T, int t) {
  int tiles[MOST_TILES];
  Schedule s = {0};
  map_set(&s, MAP_REMAINDER, plan_remainder(m, 0, T, 1));
  int n = remainder_tiles(&GPU, &s, T, tiles);
  assert_int_equal(n, 1 + (T > 1) + (t > 0));
  assert_int_equal(tiles[0], T);
  assert_int_equal(tiles[n - 1], 1);
  if (t)
    assert_int_equal(tiles[1], t);
}

/* A number of steps between T and 1 has a kernel only if that saves launches, in the run or again and again before
 * reductions. */
FIXTURE_TEST(test_remainder) {
  Module *m = jacobi(f, 1, "100");
  assert_tiles(m, 1, 0);
  assert_tiles(m, 4, 0);
  assert_tiles(m, 12, 4);
  assert_tiles(m, 16, 4);
  assert_tiles(m, 9, 0);
  assert_tiles(m, 7, 0);
  m->steps = 10000;
  assert_tiles(m, 12, 0);
  m->steps = 0;
  assert_tiles(m, 12, 0);
  Reduction r[2] = {{.name = "r", .every = 10}, {.name = "s", .every = 15}};
  m->reductions = r;
  m->nreductions = 1;
  assert_tiles(m, 4, 2);
  assert_tiles(m, 5, 0);
  assert_tiles(m, 6, 4);
  assert_tiles(m, 8, 2);
  m->steps = 100;
  assert_tiles(m, 7, 3);
  m->nreductions = 2;
  assert_tiles(m, 5, 0);
  assert_tiles(m, 4, 2);
  m->steps = 6;
  assert_tiles(m, 4, 0);
}

/* Where kernels are compiled late there is one for each half of T steps, whatever the program's own run needs. */
FIXTURE_TEST(test_remainder_late) {
  TargetInfo late = CPU;
  Schedule s = {0};
  int tiles[MOST_TILES];
  late.late = true;
  assert_int_equal(remainder_tiles(&late, &s, 1, tiles), 1);
  assert_int_equal(remainder_tiles(&late, &s, 2, tiles), 2);
  assert_int_equal(remainder_tiles(&late, &s, 3, tiles), 2);
  assert_int_equal(remainder_tiles(&late, &s, 16, tiles), 5);
  assert_memory_equal(tiles, ((int[]){16, 8, 4, 2, 1}), 5 * sizeof *tiles);
  assert_int_equal(remainder_tiles(&late, &s, 13, tiles), 4);
  assert_memory_equal(tiles, ((int[]){13, 6, 3, 1}), 4 * sizeof *tiles);
  assert_int_equal(remainder_tiles(&late, &s, 1 << 20, tiles), MOST_TILES);
  assert_int_equal(tiles[MOST_TILES - 1], 1);
}

/* A kernel that is too long for a GPU's compiler is refused where tiles or points a thread were asked for, of the naive
 * family, too; not where a family alone was, whose tiles are stc's choice, nor where nothing was. */
FIXTURE_TEST(test_budget_assembly) {
  Str ptx = {.arena = f->arena};
  str_add(&ptx, ".visible .entry short(\n)\n{\n\tret;\n}\n.visible .entry long(\n)\n{\n");
  for (int i = 0; i < (int)measured.endless_code; i++)
    str_add(&ptx, "\tadd.f32 %f1, %f1, %f1;\n");
  str_add(&ptx, "\tret;\n}\n");
  Schedule s[] = {{.family = FAMILY_AUTO},
                  {.family = FAMILY_STREAM},
                  {.family = FAMILY_NAIVE},
                  {.family = FAMILY_STREAM, .T = 2},
                  {.family = FAMILY_NAIVE, .elems = {3, 4, 8}},
                  {.T = 4}};
  for (int i = 0; i < 6; i++)
    assert_int_equal(budget_assembly(f->diags, ptx.s, &s[i]), i < 3);
  assert_non_null(strstr(f->messages.s, "kernel long has"));
}
