/* lend_test.c: fields lent to those who write them while their plan goes on: what is lent stays as it was, and the run
 * comes to what it comes to without. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

enum { N = 200, STEPS = 7, AHEAD = 2 };

/* A field with two buffers, one in place, one with its past, one that is never written, a vector, one that seldom is.
 */
static const char *const program =
    "param N = 200;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G;\nfield B : f32 on G;\nfield U : f32 on G history "
    "1;\nfield C : f32 on G;\nfield V : f32[2] on G;\ninit a(A)[G] = f32(idx(0) * 7 % 13);\ninit b(B)[G] = "
    "f32(idx(0));\ninit u(U)[G] = f32(idx(0) % 5);\ninit c(C)[G] = 0.25;\ninit v(V)[G] = {f32(idx(0)), 1};\nstencil "
    "sa(A)[1 .. N-2] = A[-1] - A[1] + C;\nstencil sb(B)[0 .. N-3] = B + 1;\nstencil su(U)[1 .. N-2] = U[-1] + U[1] - "
    "U@1;\nstencil sv(V)[1 .. N-2] = {V[-1][0] + 1, V[1][1] + V[0][0]};\n";
static const char *const fields[] = {"A", "B", "U", "U@1", "C"};
enum { NFIELDS = sizeof fields / sizeof *fields };

static StcPlan *make_plan(StcContext *c, StcProgram **p, const char *device, const char *schedule) {
  StcOptions o = {.schedule = schedule, .no_contract = true};
  StcPlan *plan;
  assert_int_equal(stc_compile_string(c, "lend.stn", program, &o, p), STC_OK);
  assert_int_equal(stc_plan_new(*p, device, 0, NULL, &plan), STC_OK);
  return plan;
}

static void get(StcPlan *plan, const char *field, float *to) {
  assert_int_equal(stc_plan_get(plan, stc_program_find_field(plan->program, field), to, N * sizeof *to), STC_OK);
}

/* Runs a plan with every field lent after each step, for so many steps, beside one without. */
static void check_lending(StcProgram *p, int kept) {
  StcPlan *plan, *other;
  assert_int_equal(stc_plan_new(p, "host:2", 0, NULL, &plan), STC_OK);
  assert_int_equal(stc_plan_new(p, "host:2", 0, NULL, &other), STC_OK);
  Loan *loans[STEPS + 1][NFIELDS];
  float was[STEPS + 1][NFIELDS][N], now[N], want[N];
  const char *why;
  assert_int_equal(stc_plan_run(plan, 0, NULL), STC_OK);
  for (int f = 0; f < NFIELDS; f++)
    assert_true(plan_may_lend(plan, stc_program_find_field(p, fields[f]), -1, AHEAD));
  for (int s = 0; s <= STEPS; s++) {
    for (int f = 0; f < NFIELDS; f++) {
      get(plan, fields[f], was[s][f]);
      assert_int_equal(plan_lend(plan, stc_program_find_field(p, fields[f]), -1, &loans[s][f]), STC_OK);
    }
    for (int f = 0; f < NFIELDS && s >= kept; f++) {
      assert_memory_equal(loan_values(loans[s - kept][f], &why), was[s - kept][f], sizeof now);
      loan_return(loans[s - kept][f]);
    }
    assert_int_equal(stc_plan_run(plan, 1, NULL), STC_OK);
    assert_int_equal(stc_plan_run(other, 1, NULL), STC_OK);
    for (int f = 0; f < NFIELDS; f++) {
      get(plan, fields[f], now);
      get(other, fields[f], want);
      assert_memory_equal(now, want, sizeof now);
    }
  }
  for (int s = STEPS - kept + 1; s <= STEPS; s++)
    for (int f = 0; f < NFIELDS; f++) {
      assert_memory_equal(loan_values(loans[s][f], &why), was[s][f], sizeof now);
      loan_return(loans[s][f]);
    }
  stc_plan_free(plan);
  stc_plan_free(other);
}

TEST(lent_values_stay) {
  const char *const schedules[] = {"naive", "overlap"};
  for (int i = 0; i < 2; i++) {
    StcContext *c = stc_context_new(NULL);
    StcProgram *p;
    stc_plan_free(make_plan(c, &p, "host:2", schedules[i]));
    for (int kept = 0; kept < 4; kept++)
      check_lending(p, kept);
    stc_program_free(p);
    stc_context_free(c);
  }
}

/* What comes from outside is not written over what is lent. */
TEST(setting_leaves_them_alone) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p;
  StcPlan *plan = make_plan(c, &p, "host:1", "naive");
  float was[N], other[N] = {1, 2, 3}, now[N];
  const char *why;
  Loan *loan;
  assert_int_equal(stc_plan_run(plan, 1, NULL), STC_OK);
  get(plan, "A", was);
  assert_true(plan_may_lend(plan, 0, -1, 0));
  assert_int_equal(plan_lend(plan, 0, -1, &loan), STC_OK);
  assert_int_equal(stc_plan_set(plan, 0, other, sizeof other), STC_OK);
  assert_memory_equal(loan_values(loan, &why), was, sizeof was);
  get(plan, "A", now);
  assert_memory_equal(now, other, sizeof now);
  loan_return(loan);
  stc_plan_free(plan);
  stc_program_free(p);
  stc_context_free(c);
}

/* What would have to be gathered, lies in the caller's memory, or is in no memory of its own, is not lent. */
TEST(some_cannot_be_lent) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p[2];
  StcPlan *plan = make_plan(c, &p[0], "host:1", "naive"), *ref = make_plan(c, &p[1], "ref", NULL);
  float mine[N];
  const int64_t shape[] = {N};
  StcArray array = {mine, STC_F32, 1, shape, NULL};
  int v = stc_program_find_field(p[0], "V");
  assert_false(plan_may_lend(plan, v, -1, 0));
  assert_true(plan_may_lend(plan, v, 1, 0));
  assert_int_equal(stc_plan_bind(plan, 0, 0, &array, true), STC_OK);
  assert_false(plan_may_lend(plan, 0, -1, 0));
  assert_false(plan_may_lend(ref, 0, -1, 0));
  stc_plan_free(plan);
  stc_plan_free(ref);
  stc_program_free(p[0]);
  stc_program_free(p[1]);
  stc_context_free(c);
}
