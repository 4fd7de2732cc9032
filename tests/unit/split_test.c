/* split_test.c: mistakes planted in what parts exchange, or compute by their inits, are found by the simulator, which
 * names field, part, side and level. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/split/split.h"
#include "driver/tune/trial.h"

/* Corners are needed, two levels, and two cells on each side for two steps. */
static const char *const text =
    "param N = 12, M = 14;\ngrid G = [0 .. N-1, 0 .. M-1], 8;\nfield U : f32 on G outside 0 history 1;\n"
    "init u(U)[G] = f32(idx(0) * 3 + idx(1) * idx(1) % 7);\n"
    "stencil s(U)[G] = 0.25 * (U[-1,-1] + U[1,1] + U[-1,1] + U[1,-1]) - 0.125 * U@1[0,1];\n";

/* A context that keeps its first message, a program and its plan in four parts. */
typedef struct World {
  Messages messages;
  StcContext *c;
  StcProgram *p;
  StcPlan *plan;
  Net *net; /* of parts that run inits; NULL: the whole grid does */
} World;

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  StcOptions o = {.no_contract = true, .march = "nvptx", .schedule = "overlap", .T = 2};
  w->c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(w->c, "planted.stn", text, &o, &w->p), STC_OK);
  assert_int_equal(stc_plan_new_split(w->p, "sim", "2x2/2", 0, NULL, &w->plan), STC_OK);
  *state = w;
  return 0;
}

static int free_world(void **state) {
  World *w = *state;
  stc_plan_free(w->plan);
  net_close(w->net);
  stc_program_free(w->p);
  stc_context_free(w->c);
  free(w);
  return 0;
}

/* Is `t` one to part `to` that is cut off from it in `sides` dimensions, of the field called `name`? */
static bool is_transfer(const World *w, const Transfer *t, const char *name, int to, int sides) {
  const PartPlan *y = &w->plan->split->part[t->to];
  int n = 0;
  for (int d = 0; d < 2; d++)
    n += t->lo[d] > y->hi[d] || t->hi[d] < y->lo[d];
  return t->to == to && n == sides && strcmp(y->plan->module->fields[t->field].name, name) == 0;
}

/* The number of the transfer. */
static int find_transfer(const World *w, const char *name, int to, int sides) {
  const Split *s = w->plan->split;
  for (int i = 0; i < s->ntransfers; i++)
    if (is_transfer(w, &s->transfers[i], name, to, sides))
      return i;
  fail_msg("there is no such transfer");
  return -1;
}

/* Leaves transfer `i` out. */
static void drop(const World *w, int i) {
  Split *s = w->plan->split;
  s->transfers[i] = s->transfers[--s->ntransfers];
}

/* Runs, and looks for the words in the message. */
static void must_find(World *w, const char *what) {
  assert_int_not_equal(stc_plan_run(w->plan, 8, NULL), STC_OK);
  if (!strstr(w->messages.first, what))
    fail_msg("'%s' is not in: %s", what, w->messages.first);
}

WORLD_TEST(test_nothing_planted) { assert_int_equal(stc_plan_run(w->plan, 8, NULL), STC_OK); }

WORLD_TEST(test_thin_box) {
  Transfer *t = &w->plan->split->transfers[find_transfer(w, "U", 0, 1)];
  int d = t->lo[0] > w->plan->split->part[0].hi[0] ? 0 : 1;
  t->hi[d]--;
  must_find(w, "of 'U', of part [0, 0], above in dimension");
}

WORLD_TEST(test_version_left_out) {
  drop(w, find_transfer(w, "U@1", 2, 1));
  must_find(w,
            "of 'U@1', of part [1, 0], below in dimension 0, was not brought up to date for the level after 2 steps");
}

WORLD_TEST(test_corner_missing) {
  drop(w, find_transfer(w, "U", 3, 2));
  must_find(w, "of 'U', of part [1, 1], below in dimension 0 and below in dimension 1, was not brought up to date");
}

WORLD_TEST(test_exchange_too_late) {
  w->plan->split->every = 3;
  must_find(w, "was not brought up to date for the level after");
}

/* The last launch before an exchange begins a row too late: a point of the part's own is not computed. */
WORLD_TEST(test_rows_left_out) {
  assert_int_equal(stc_plan_run(w->plan, 2, NULL), STC_OK);
  const PartPlan *part = &w->plan->split->part[2];
  Const *scalars = (Const *)part->made->scalars[WINDOW_REST];
  Affine first = part->plan->module->part->gives.lo[0];
  assert_int_equal(scalars[first.t[0].scalar].i, part->lo[0]);
  scalars[first.t[0].scalar].i++;
  must_find(w, "buffer 'U' has no value at [6, 0]");
}

/* ---------------------------------------------------------------- levels */

/* Level 1 of the grid is computed from the grid, looked around in, and read there. */
static const char *const leveled =
    "param N = 16, M = 8;\ngrid G = [0 .. N-1, 0 .. M-1], 8;\nlevels L = 0 .. 1 of G;\n"
    "field U : f32 on L outside clamp;\neach (l in 0 .. 1) { init u(U(l))[L(l)] = f32(idx(0) * 3 - idx(1)); }\n"
    "stencil down(U(1))[L(1)] = 0.25 * (fine(U(0))[0,0] + fine(U(0))[1,2]);\n"
    "stencil across(U(1))[L(1)] = 0.5 * (U(1)[1,0] - U(1)[0,-1]);\n"
    "stencil up(U(0))[G] = U(0) - coarse(U(1))[0,1];\n";

static int make_leveled(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  StcOptions o = {.no_contract = true, .march = "nvptx"};
  w->c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(w->c, "leveled.stn", leveled, &o, &w->p), STC_OK);
  assert_int_equal(stc_plan_new_split(w->p, "sim", "2x2", 0, NULL, &w->plan), STC_OK);
  *state = w;
  return 0;
}

/* Each part gives each of the others its quarter of level 1, 4 x 2 points; one that is left out is missed. */
TEST_IN(make_leveled, test_level_left_out) {
  Split *s = w->plan->split;
  int found = 0, last = 0;
  assert_int_equal(stc_plan_run(w->plan, 2, NULL), STC_OK);
  for (int i = 0; i < s->ntransfers; i++)
    if (strcmp(s->part[0].plan->module->fields[s->transfers[i].field].name, "U(1)") == 0) {
      const Transfer *t = &s->transfers[i];
      assert_int_equal((t->hi[0] - t->lo[0] + 1) * (t->hi[1] - t->lo[1] + 1), 8);
      last = s->transfers[i].to == 0 ? i : last;
      found++;
    }
  assert_int_equal(found, 12);
  drop(w, last);
  must_find(w, "of 'U(1)', of part [0, 0], which another part computes, was not brought up to date");
}

/* ---------------------------------------------------------------- inits */

/* For parts that run their inits: a chain of two, behind a field that is given. */
static const char *const chain =
    "param N = 12, M = 14;\ngrid G = [0 .. N-1, 0 .. M-1], 8;\nfield K : f32 on G input outside clamp;\n"
    "field B : f32 on G outside mirror;\nfield U : f32 on G outside 0;\n"
    "init b(B)[6 .. N-1, 0 .. M-1] = K[1,0] + f32(idx(1));\n"
    "init u(U)[G] = B[-1,0] + B[1,-1] + K;\n"
    "stencil s(U)[G] = 0.25 * (U[-1,0] + U[0,1]) + K[0,1];\nstencil t(B)[G] = B[0,1];\n";

static int make_chain(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  StcOptions o = {.no_contract = true, .march = "nvptx", .schedule = "overlap", .T = 2};
  w->c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(w->c, "chain.stn", chain, &o, &w->p), STC_OK);
  assert_int_equal(net_open_alone(w->c, &w->net), STC_OK);
  assert_int_equal(plan_new_split(w->p, w->net, "sim", "2x2/2", LEAN_MUST, 0, 0, NULL, &w->plan), STC_OK);
  for (int part = 0; part < 4; part++) {
    static const float values[42] = {1};
    assert_int_equal(stc_plan_part_set(w->plan, part, 0, values, sizeof values), STC_OK);
  }
  *state = w;
  return 0;
}

TEST_IN(make_chain, test_nothing_in_a_chain) { assert_int_equal(stc_plan_run(w->plan, 8, NULL), STC_OK); }

/* Leaves out the transfers of all cells of field `name` between two parts. */
static void drop_of_field(const World *w, const char *name, int from, int to) {
  const Module *m = w->plan->split->part[0].plan->module;
  FieldTransfers *t = (FieldTransfers *)field_transfers(w->plan, module_find_field(m, name));
  Transfer *list = (Transfer *)t->list;
  int n = t->n;
  for (int i = 0; i < t->n;)
    if (list[i].from == from && list[i].to == to)
      list[i] = list[--t->n];
    else
      i++;
  assert_int_not_equal(t->n, n);
}

/* A field that was given is not exchanged before inits read it. */
TEST_IN(make_chain, test_given_unexchanged) {
  drop_of_field(w, "K", 2, 0);
  must_find(w, "of 'K', of part [0, 0], above in dimension 0, was not brought up to date for the level after 0 steps");
}

/* A field that inits computed is not exchanged behind them. */
TEST_IN(make_chain, test_computed_unexchanged) {
  drop_of_field(w, "U", 1, 0);
  must_find(w, "of 'U', of part [0, 0], above in dimension 1, was not brought up to date for the level after 0 steps");
}

/* The program has an init on more points than parts compute: another one reads such a point. */
TEST_IN(make_chain, test_init_left_out) {
  Piece *piece = (Piece *)&w->p->module->inits[0].pieces[0];
  assert_int_equal(piece->box.lo[0].c, 6);
  piece->box.lo[0].c = 5;
  must_find(w, "the ghost cell [5, 6] of 'B', of part [0, 1], below in dimension 1, was not brought up to date");
}

/* The first access of init `i` in the program. */
static Op *first_access(const World *w, int i) {
  const Op *op = w->p->module->inits[i].pieces[0].body->first;
  while (op->code != OP_ACCESS)
    op = op->next;
  return (Op *)op;
}

/* Inits look further than parts have cells, for ghost cells or for points of their own. */
TEST_IN(make_chain, test_ghosts_guessed) {
  assert_int_equal(first_access(w, 0)->off[0], 1);
  first_access(w, 0)->off[0] = 5;
  must_find(w, "of 'B', of part [0, 0], above in dimension 0, was not brought up to date");
}

TEST_IN(make_chain, test_points_guessed) {
  assert_int_equal(first_access(w, 1)->off[0], -1);
  first_access(w, 1)->off[0] = -5;
  must_find(w, "'U' at [6, 0] is computed from a cell that its part does not have");
}

/* Without a word on the cut it is the one with least to exchange: whole rows or planes before all, as long as they are
 * thick; never along a dimension that cannot be cut, nor into more parts than points. */
TEST(test_choice) {
  static const struct {
    int rank;
    int64_t extents[MAX_RANK], n;
    bool can[MAX_RANK];
    int64_t parts[MAX_RANK];
  } cases[] = {
      {1, {100}, 7, {true}, {7, 1, 1}},
      {2, {16384, 16384}, 4, {true, true}, {4, 1, 1}},
      {2, {16384, 16384}, 4, {false, true}, {1, 4, 1}},
      {2, {16384, 16384}, 256, {true, true}, {64, 4, 1}},
      {2, {3, 10}, 6, {true, true}, {3, 2, 1}},
      {3, {1024, 1024, 1024}, 4, {true, true, true}, {4, 1, 1}},
      {3, {1024, 1024, 1024}, 16, {true, true, true}, {8, 2, 1}},
      {3, {1024, 1024, 1024}, 4096, {true, true, true}, {64, 16, 4}},
      {3, {1024, 1024, 1024}, 64, {true, false, true}, {32, 1, 2}},
      {3, {2, 2, 2}, 3, {true, true, true}, {0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t parts[MAX_RANK];
    bool any = split_choose(cases[i].rank, cases[i].extents, cases[i].n, cases[i].can, parts);
    assert_int_equal(any, cases[i].parts[0] > 0);
    for (int d = 0; d < GRID_RANK && any; d++)
      if (parts[d] != cases[i].parts[d])
        fail_msg("case %zu: %d parts along dimension %d", i, (int)parts[d], d);
  }
}

/* What a rank among others does without memory. */
static StcStatus run_out(void *arg) { split_die(arg, "U", 5e9); }

/* A process alone gets an error where ranks among others are ended. */
WORLD_TEST(test_no_memory) {
  assert_int_equal(workspace_guard(&w->plan->w, run_out, w->plan), STC_MEMORY);
  assert_non_null(strstr(w->messages.first, "no memory on this computer for 4.66 GiB of a copy of U"));
}

/* A heap that is full if *user is. */
static void *heap(void *user, void *p, size_t size) {
  if (!size)
    return free(p), NULL;
  return *(bool *)user ? NULL : realloc(p, size);
}

/* Whether a grid can be cut is analysed: no memory is an error, and no "no". */
TEST(test_can_cut) {
  static const char mixed[] = "grid G = [0 .. 7, 0 .. 9], 1;\nfield C : f32 on G outside clamp;\n"
                              "field U : f32 on G outside periodic;\nstencil s(U)[G] = C[-1,0] + U[-1,0];\n";
  bool full = false, can = false;
  StcConfig config = {.realloc = heap, .user = &full};
  StcProgram *p, *q;
  StcContext *c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(c, "planted.stn", text, NULL, &p), STC_OK);
  assert_int_equal(program_can_cut(p, "0+1", true, &can), STC_OK);
  assert_true(can);
  full = true;
  assert_int_equal(program_can_cut(p, "0", false, &can), STC_MEMORY);
  assert_false(can);
  full = false;
  stc_program_free(p);
  assert_int_equal(stc_compile_string(c, "mixed.stn", mixed, NULL, &q), STC_OK);
  assert_int_equal(program_can_cut(q, "0", false, &can), STC_OK);
  assert_false(can);
  assert_int_equal(program_can_cut(q, "1", false, &can), STC_OK);
  assert_true(can);
  stc_program_free(q);
  stc_context_free(c);
}
