/* tests/unit/planning.h: what the tests of planning share: a program, and members of targets. */
#ifndef STC_TESTS_PLANNING_H
#define STC_TESTS_PLANNING_H

#include "tests/unit/ir_testing.h"

/* What a GPU with room has. */
#define ROOMY_GPU \
  .simt = true, .lanes = 32, .max_threads = 1024, .max_block = {1024, 1024, 64}, \
  .max_grid = {INT32_MAX, 65535, 65535}, .shared_bytes = 49152, .max_shared_bytes = 166912, .shared_per_core = 167936, \
  .max_threads_per_core = 2048, .registers_per_core = 65536
/* How fast a target is. */
#define SPEEDS .bandwidth = 1000, .cache_bandwidth = 3000, .f32_rate = 10000, .f64_rate = 5000

/* A Jacobi program of that rank, two points a dimension, of so many steps. */
static inline Module *jacobi(Fixture *f, int rank, const char *steps) {
  static const char *const grid[] = {"[0 .. N - 1]", "[0 .. N - 1, 0 .. N - 1]",
                                     "[0 .. N - 1, 0 .. N - 1, 0 .. N - 1]"};
  static const char *const inner[] = {"[1 .. N - 2]", "[1 .. N - 2, 1 .. N - 2]",
                                      "[1 .. N - 2, 1 .. N - 2, 1 .. N - 2]"};
  static const char *const off[3][6] = {{"-1", "1"},
                                        {"-1, 0", "1, 0", "0, -1", "0, 1"},
                                        {"-1, 0, 0", "1, 0, 0", "0, -1, 0", "0, 1, 0", "0, 0, -1", "0, 0, 1"}};
  Str s = {.arena = f->arena};
  str_addf(&s,
           "stencil module \"j\" {\n  param @N : i64\n  grid %s steps %s\n  field @A : f32 on %s\n  stencil @s (@A) {\n"
           "    piece %s (@A) {\n",
           grid[rank - 1], steps, grid[rank - 1], inner[rank - 1]);
  for (int i = 0; i < 2 * rank; i++)
    str_addf(&s, "      %%%d = access @A[%s] : f32\n", i, off[rank - 1][i]);
  for (int i = 1; i < 2 * rank; i++)
    str_addf(&s, "      %%%d = add %%%d, %%%d : f32\n", 90 + i, i > 1 ? 89 + i : 0, i);
  str_addf(&s, "      yield %%%d\n    }\n  }\n}\n", 89 + 2 * rank);
  Module *m = module_parse(f->arena, f->diags, "test", s.s);
  if (!m)
    fail_msg("%s", f->messages.s);
  return m;
}

#endif
