/* frames_test.c: fields that are series of frames, by the C interface: which frames are asked for and when, runs in
 * pieces, what is refused. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/stc.h"

enum { N = 9 };

/* A adds up what the frames are at each step: F between two of them, C one that begins anew. */
static const char *const source =
    "grid G = [0 .. 8], 100;\nfield F : f64 on G frames every 4 linear;\nfield C : f64 on G frames every 3 cycle;\n"
    "field A : f64 on G;\ninit a(A)[G] = 0;\nstencil s(A)[G] = A + F + 1000 * C;\n";

/* A series: which frames were asked for, in order; `fails`: the one that cannot be had. */
typedef struct Asked {
  int n;
  int64_t frame[64], fails;
} Asked;

/* Element i of frame k is k^2 + i. */
static StcStatus give(void *user, int64_t frame, void *data, size_t bytes) {
  Asked *a = user;
  double *to = data;
  assert_int_equal(bytes, N * sizeof *to);
  a->frame[a->n++] = frame;
  for (int i = 0; i < N; i++)
    to[i] = (double)(frame * frame + i);
  return a->fails && frame == a->fails ? STC_IO : STC_OK;
}

/* What element i of A is behind `steps` steps, of `nf` and `nc` frames. */
static double want(int steps, int64_t nf, int64_t nc, int i) {
  double sum = 0;
  for (int s = 0; s < steps; s++) {
    int64_t a = s / 4, b = a + 1 < nf ? a + 1 : nf - 1, c = s / 3 % nc;
    double fa = (double)(a * a + i), fb = (double)(b * b + i);
    sum = sum + (fa + s % 4 / 4.0 * (fb - fa)) + 1000 * (double)(c * c + i);
  }
  return sum;
}

/* Keeps the last message. */
static void keep(void *user, const StcMessage *m) { snprintf(user, 512, "%s", m->text); }

/* The program and a plan of it, cut if `split`. */
static StcPlan *make(StcContext *c, const char *device, const char *split, StcProgram **p) {
  StcOptions o = {.no_contract = true};
  StcPlan *plan;
  assert_int_equal(stc_compile_string(c, "frames.stn", source, &o, p), STC_OK);
  if (split)
    assert_int_equal(stc_plan_new_split(*p, device, split, 0, NULL, &plan), STC_OK);
  else
    assert_int_equal(stc_plan_new(*p, device, 0, NULL, &plan), STC_OK);
  return plan;
}

static void check(StcPlan *plan, StcProgram *p, int steps, int64_t nf, int64_t nc) {
  double a[N];
  assert_int_equal(stc_plan_get(plan, stc_program_find_field(p, "A"), a, sizeof a), STC_OK);
  for (int i = 0; i < N; i++)
    assert_true(a[i] == want(steps, nf, nc, i));
}

/* All devices, runs in pieces that end between frames and with one. */
TEST(test_pieces) {
  static const char *const devices[] = {"ref", "sim", "host", "host"}, *const splits[] = {NULL, NULL, NULL, "3"};
  for (int k = 0; k < 4; k++) {
    char text[512] = "";
    StcContext *c = stc_context_new(&(StcConfig){.message = keep, .user = text});
    StcProgram *p;
    StcPlan *plan = make(c, devices[k], splits[k], &p);
    Asked f = {0}, q = {0};
    assert_int_equal(stc_plan_frames(plan, stc_program_find_field(p, "F"), 4, give, &f), STC_OK);
    assert_int_equal(stc_plan_frames(plan, stc_program_find_field(p, "C"), 2, give, &q), STC_OK);
    static const int pieces[] = {2, 3, 3, 5, 3};
    int done = 0;
    for (int i = 0; i < 5; i++) {
      assert_int_equal(stc_plan_run(plan, pieces[i], NULL), STC_OK);
      check(plan, p, done += pieces[i], 4, 2);
    }
    static const int64_t first[] = {0, 1, 2, 3};
    assert_int_equal(f.n, 4);
    assert_memory_equal(f.frame, first, sizeof first);
    assert_int_equal(stc_plan_run(plan, 1, NULL), STC_INPUT);
    assert_non_null(strstr(text, "field F has 4 frames of 4 steps each, but step 16 is in frame 4"));
    check(plan, p, done, 4, 2);
    stc_plan_free(plan);
    stc_program_free(p);
    stc_context_free(c);
  }
}

/* A run that begins later asks for no frame before; one from anew asks for the first again; any number of frames. */
TEST(test_begin) {
  char text[512] = "";
  StcContext *c = stc_context_new(&(StcConfig){.message = keep, .user = text});
  StcProgram *p;
  StcPlan *plan = make(c, "host", NULL, &p);
  Asked f = {0}, q = {0};
  int F = stc_program_find_field(p, "F"), C = stc_program_find_field(p, "C");
  assert_int_equal(stc_plan_frames(plan, F, -1, give, &f), STC_OK);
  assert_int_equal(stc_plan_frames(plan, C, 1, give, &q), STC_OK);
  assert_int_equal(stc_plan_first_step(plan, 9), STC_OK);
  assert_int_equal(stc_plan_run(plan, 2, NULL), STC_OK);
  assert_int_equal(f.n, 2);
  assert_true(f.frame[0] == 2 && f.frame[1] == 3 && q.n == 1);
  assert_int_equal(stc_plan_restart(plan), STC_OK);
  assert_int_equal(stc_plan_run(plan, 50, NULL), STC_OK);
  check(plan, p, 50, 1000, 1);
  stc_plan_free(plan);
  stc_program_free(p);
  stc_context_free(c);
}

/* A frame that cannot be had ends the run; one that is set is that of all steps; what is no series has no frames. */
TEST(test_refused) {
  char text[512] = "";
  StcContext *c = stc_context_new(&(StcConfig){.message = keep, .user = text});
  StcProgram *p;
  StcPlan *plan = make(c, "host", NULL, &p);
  Asked f = {.fails = 2}, q = {0};
  int F = stc_program_find_field(p, "F"), C = stc_program_find_field(p, "C");
  StcRunInfo info;
  StcFieldInfo field;
  assert_int_equal(stc_plan_run(plan, 1, NULL), STC_INPUT);
  assert_non_null(strstr(text, "set it with stc_plan_frames"));
  double ones[N], a[N];
  for (int i = 0; i < N; i++)
    ones[i] = 1;
  assert_int_equal(stc_plan_field(plan, F, &field), STC_OK);
  assert_true(field.frames == 4 && !field.cycle && !field.ahead);
  assert_int_equal(stc_plan_frames(plan, stc_program_find_field(p, "A"), 3, give, &f), STC_USAGE);
  assert_non_null(strstr(text, "field A is no series of frames"));
  assert_int_equal(stc_plan_frames(plan, F, 0, give, &f), STC_USAGE);
  assert_int_equal(stc_plan_frames(plan, F, 5, give, &f), STC_OK);
  assert_int_equal(stc_plan_frames(plan, C, 2, give, &q), STC_OK);
  assert_int_equal(stc_plan_set_component(plan, F, 0, NULL, 0), STC_USAGE);
  assert_non_null(strstr(text, "field F has a series of frames"));
  assert_int_equal(stc_plan_run(plan, 9, &info), STC_IO);
  check(plan, p, 4, 5, 2);
  assert_int_equal(stc_plan_set(plan, F, ones, sizeof ones), STC_OK);
  assert_int_equal(stc_plan_set(plan, C, ones, sizeof ones), STC_OK);
  assert_int_equal(stc_plan_run(plan, 90, NULL), STC_OK);
  assert_int_equal(stc_plan_get(plan, stc_program_find_field(p, "A"), a, sizeof a), STC_OK);
  for (int i = 0; i < N; i++)
    assert_true(a[i] == want(4, 5, 2, i) + 90 * 1001.0);
  stc_plan_free(plan);
  stc_program_free(p);
  stc_context_free(c);
}

/* What others write to the memory of a frame between two runs does not stay there. */
TEST(test_exposed) {
  char text[512] = "";
  StcContext *c = stc_context_new(&(StcConfig){.message = keep, .user = text});
  StcProgram *p;
  StcPlan *plan = make(c, "host", NULL, &p);
  Asked f = {0}, q = {0};
  int F = stc_program_find_field(p, "F");
  void *memory;
  assert_int_equal(stc_plan_frames(plan, F, 4, give, &f), STC_OK);
  assert_int_equal(stc_plan_frames(plan, stc_program_find_field(p, "C"), 2, give, &q), STC_OK);
  assert_int_equal(stc_plan_run(plan, 2, NULL), STC_OK);
  assert_int_equal(stc_plan_pointer(plan, F, 0, &memory), STC_OK);
  memset(memory, 0, N * sizeof(double));
  assert_int_equal(stc_plan_run(plan, 8, NULL), STC_OK);
  check(plan, p, 10, 4, 2);
  stc_plan_free(plan);
  stc_program_free(p);
  stc_context_free(c);
}
