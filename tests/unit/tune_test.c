/* tune_test.c: the tuner's space, reports and database (driver/tune/tune.h). */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/files/files.h"
#include "driver/tune/tune.h"

/* A context that keeps its first message, and a workspace of it. */
typedef struct World {
  Messages messages;
  StcContext *c;
  Workspace w;
} World;

static const char path[] = "tune_test.json";

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  w->c = stc_context_new(&config);
  *state = w;
  remove(path);
  return w->c && workspace_open(&w->w, w->c, NULL) ? 0 : -1;
}

static int free_world(void **state) {
  World *w = *state;
  workspace_close(&w->w);
  stc_context_free(w->c);
  free(w);
  remove(path);
  return 0;
}

/* An entry with a schedule for program `program`. */
static TuneEntry entry(const char *program, const char *size, const char *device, const char *schedule) {
  TuneKey key = {program, size, device, "nvptx", "sm_90"};
  return (TuneEntry){key, "heat", "f32", stc_version(), schedule, "2026-01-01", 12.5};
}

/* What is written is read again; an entry replaces the one with its key, and only that. */
WORLD_TEST(test_database) {
  TuneDb db, again;
  assert_int_equal(tune_db_read(&w->w, path, &db), STC_OK);
  assert_int_equal(db.n, 0);
  tune_db_put(&db, entry("p", "large", "cuda X", "-T=1"));
  tune_db_put(&db, entry("p", "small", "cuda X", "-T=2"));
  tune_db_put(&db, entry("p", "large", "cuda Y", "-T=3"));
  tune_db_put(&db, entry("q", "large", "cuda X", "-T=4"));
  tune_db_put(&db, entry("p", "large", "cuda X", "-T=5"));
  TuneEntry old = entry("r", "large", "cuda X", "-T=6");
  old.version = "stc 0.0.1";
  tune_db_put(&db, old);
  assert_int_equal(tune_db_write(w->c, &db, path), STC_OK);
  assert_int_equal(tune_db_read(&w->w, path, &again), STC_OK);
  assert_int_equal(again.n, 5);
  TuneKey key = {"p", "large", "cuda X", "nvptx", "sm_90"};
  assert_string_equal(tune_db_find(&again, &key)->schedule, "-T=5");
  assert_true(tune_db_find(&again, &key)->gpts == 12.5);
  key.device = "cuda Y";
  assert_string_equal(tune_db_find(&again, &key)->schedule, "-T=3");
  key.device = NULL;
  assert_string_equal(tune_db_find(&again, &key)->schedule, "-T=5");
  key.cpu = "sm_80";
  assert_null(tune_db_find(&again, &key));
  key = (TuneKey){"p", "medium", "cuda X", "nvptx", "sm_90"};
  assert_null(tune_db_find(&again, &key));
  key = (TuneKey){"r", "large", "cuda X", "nvptx", "sm_90"};
  assert_null(tune_db_find(&again, &key));
}

/* Files that are no database say so, with the place and what to do. */
WORLD_TEST(test_malformed) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "tune_test.json:1:0: this is no JSON: "},
      {"{\"stc_tune\": 1,\n", "tune_test.json:2:0: this is no JSON: "},
      {"[1]",
       "tune_test.json: this is no database of `stc tune`: it has no number \"stc_tune\" or no array \"entries\""},
      {"{\"stc_tune\": \"1\", \"entries\": []}", "it has no number \"stc_tune\""},
      {"{\"stc_tune\": 1, \"entries\": {}}", "no array \"entries\""},
      {"{\"stc_tune\": 9, \"entries\": []}", "its \"stc_tune\" is 9, and this stc reads 1"},
      {"{\"stc_tune\": 1, \"entries\": [3]}", "entry 0 is no object"},
      {"{\"stc_tune\": 1, \"entries\": [{\"program\": \"p\"}]}", "entry 0 has no text \"size\""},
  };
  TuneDb db;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    w->messages.first[0] = 0;
    assert_true(file_write(w->c, path, cases[i].text, strlen(cases[i].text)));
    assert_int_equal(tune_db_read(&w->w, path, &db), STC_INPUT);
    if (!strstr(w->messages.first, cases[i].message) ||
        !strstr(w->messages.first, "remove the file, or run with --no-tune-db"))
      fail_msg("%s: %s", cases[i].text, w->messages.first);
  }
}

/* The key of a program given as text. */
static const char *key_of(World *w, const char *name, const char *text, const char *real) {
  StcProgram *p;
  StcOptions o = {.real = real};
  if (stc_compile_string(w->c, name, text, &o, &p))
    fail_msg("%s", w->messages.first);
  const char *key = tune_program_key(w->w.arena, p->module);
  stc_program_free(p);
  return key;
}

/* Name, spaces and comments do not count; the program and what `real` means do. */
WORLD_TEST(test_keys) {
  static const char text[] =
      "param N = 9;\ngrid G = [0 .. N-1], 3;\nfield A : real on G;\nstencil s(A)[1 .. N-2] = A[-1];\n";
  static const char same[] =
      "param N = 9;  // points\ngrid G = [0 .. N-1], 3;\nfield A : real on G;\n\nstencil s(A)[1 .. N-2] = A[-1];\n";
  static const char other[] =
      "param N = 9;\ngrid G = [0 .. N-1], 3;\nfield A : real on G;\nstencil s(A)[1 .. N-2] = A[1];\n";
  const char *key = key_of(w, "a.stn", text, "f32");
  assert_int_equal(strlen(key), 32);
  assert_string_equal(key_of(w, "b.stn", same, "f32"), key);
  assert_string_not_equal(key_of(w, "a.stn", other, "f32"), key);
  assert_string_not_equal(key_of(w, "a.stn", text, "f64"), key);
  assert_string_equal(tune_size_class(512 * 512), "small");
  assert_string_equal(tune_size_class(4096 * 4096), "medium");
  assert_string_equal(tune_size_class(16384 * 16384), "large");
  Device d = {.kind = &device_cuda, .description = "cuda:1, NVIDIA H200"};
  assert_string_equal(tune_device_key(w->w.arena, &d), "cuda NVIDIA H200");
  assert_string_equal(tune_path_beside(w->w.arena, "a.b/heat.stn"), "a.b/heat.tune.json");
  assert_string_equal(tune_path_beside(w->w.arena, "a.b/heat"), "a.b/heat.tune.json");
  assert_null(tune_path_beside(w->w.arena, "-"));
}

/* The candidate with these options. */
static Candidate *find(SearchSpace *s, const char *options) {
  for (int i = 0; i < s->n; i++)
    if (strcmp(s->all[i].options, options) == 0)
      return &s->all[i];
  fail_msg("no candidate %s", options);
  return NULL;
}

/* All combinations once, the default first, then families' own; a pool holds those and neighbours of the best; a family
 * can be dropped.
 */
WORLD_TEST(test_space) {
  SearchSpace s;
  Candidate *got[12], *best[3];
  space_fill(&s, w->w.arena, 1, true);
  assert_true(s.all[0].usual && !s.all[1].usual);
  assert_string_equal(s.all[1].options, "-schedule=naive");
  assert_string_equal(s.all[2].options, "-schedule=overlap");
  for (int i = 0; i < s.n; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(s.all[i].options, s.all[k].options);
  space_drop_family(&s, FAMILY_STREAM, "because");
  for (int i = 0; i < s.n; i++)
    if (s.all[i].family == FAMILY_STREAM)
      assert_int_equal(s.all[i].state, CANDIDATE_REFUSED);
  Candidate *middle = find(&s, "-schedule=overlap -T=16 -block=256 -elems=4");
  middle->state = CANDIDATE_TIMED;
  middle->gpts = 10;
  assert_int_equal(space_best(&s, 3, best), 1);
  assert_ptr_equal(best[0], middle);
  assert_int_equal(space_pool(&s, 10, got), 10);
  assert_true(got[0]->usual && got[1]->own && got[2]->own);
  for (int i = 3; i < 8; i++) {
    assert_ptr_equal(got[i]->row, middle->row);
    int far = 0;
    for (int k = 0; k < PLAN_AXES; k++)
      far += abs(got[i]->at[k] - middle->at[k]);
    assert_int_equal(far, 1);
  }
  assert_int_equal(space_choose(&s, 8, got), 0);
  for (int i = 0; i < s.n; i++)
    s.all[i].state = CANDIDATE_SLOW;
  assert_int_equal(space_pool(&s, 8, got), 0);
}

/* What a family gives by itself has the nearest place on each axis, so that others are near it. */
WORLD_TEST(test_place) {
  SearchSpace s;
  space_fill(&s, w->w.arena, 2, true);
  Candidate *own = find(&s, "-schedule=stream");
  own->schedule = "-schedule=stream -T=7 -block=1x32 -elems=1x3 -chunk=200 -ahead=4";
  space_place(&s, own);
  const Candidate *same = find(&s, "-schedule=stream -T=8 -block=1x32 -elems=1x4 -chunk=256 -ahead=4");
  assert_ptr_equal(own->row, same->row);
  assert_memory_equal(own->at, same->at, sizeof own->at);
  assert_string_equal(schedule_option(w->w.arena, own->schedule, "-elems="), "1x3");
  assert_string_equal(schedule_option(w->w.arena, own->schedule, "-fuse="), "");
}

/* Makes candidate `options` one that is lowered and expected to make so many GPts/s. */
static Candidate *expect(SearchSpace *s, const char *options, double gpts) {
  Candidate *k = find(s, options);
  k->lowered = true;
  k->schedule = k->options;
  k->expected.gpts = gpts;
  return k;
}

/* Families' own ones come first, then those that are expected to be fastest: as much less as their neighbours were
 * slower than expected; and not all of one corner. What is hopeless is skipped. */
WORLD_TEST(test_choose) {
  SearchSpace s;
  Candidate *got[8];
  space_fill(&s, w->w.arena, 1, true);
  Candidate *timed = expect(&s, "-schedule=overlap -T=16 -block=256 -elems=4", 100);
  timed->state = CANDIDATE_TIMED;
  timed->gpts = 50;
  Candidate *own = expect(&s, "-schedule=stream", 1),
            *over = expect(&s, "-schedule=overlap -T=32 -block=256 -elems=4", 110),
            *beside = expect(&s, "-schedule=overlap -T=32 -block=256 -elems=8", 104);
  Candidate *apart = expect(&s, "-schedule=overlap -T=4 -block=128 -elems=4", 102),
            *naive = expect(&s, "-schedule=naive -block=256", 60),
            *spills = expect(&s, "-schedule=naive -block=128", 90);
  assert_true(space_expects(&s, over) > 54 && space_expects(&s, over) < 56 && space_expects(&s, naive) == 60);
  spills->expected.spilled = 300;
  SkipRule rule = {1024, 5000, 0, 0.3};
  naive->ops = 5000;
  assert_int_equal(space_skip(&s, &rule), 1);
  assert_true(spills->state == CANDIDATE_SKIPPED && strstr(spills->why, "1200 bytes a thread"));
  assert_int_equal(space_choose(&s, 8, got), 5);
  assert_true(got[0] == own && got[1] == naive && got[2] == over && got[3] == apart && got[4] == beside);
  rule.least = 54;
  assert_int_equal(space_skip(&s, &rule), 2);
  assert_true(apart->state == CANDIDATE_SKIPPED && beside->state == CANDIDATE_SKIPPED &&
              strstr(beside->why, "expected to make 52 GPts/s"));
}

/* What compiling costs goes to the most promising ones first: speed counts less for what takes much of the time left,
 * and what takes more than that is skipped, families' own ones too. */
WORLD_TEST(test_cost) {
  SearchSpace s;
  Candidate *got[8];
  SkipRule rule = {1024, 5000, 10, 0.3};
  space_fill(&s, w->w.arena, 1, true);
  Candidate *fast = expect(&s, "-schedule=overlap -T=32 -block=256 -elems=4", 100),
            *cheap = expect(&s, "-schedule=overlap -T=4 -block=128 -elems=4", 80),
            *own = expect(&s, "-schedule=stream", 90), *endless = expect(&s, "-schedule=overlap", 200),
            *small = expect(&s, "-schedule=naive", 5);
  fast->ops = own->ops = 500;
  cheap->ops = 10;
  endless->ops = 2000;
  s.op_cost = 0.001;
  assert_int_equal(space_skip(&s, &rule), 1);
  assert_true(endless->state == CANDIDATE_SKIPPED && strstr(endless->why, "there is no time to compile it"));
  assert_int_equal(space_choose(&s, 8, got), 4);
  assert_true(got[0] == small && got[1] == cheap && got[2] == fast && got[3] == own);
}

/* The default wins unless another one is faster by more than noise. */
WORLD_TEST(test_winner) {
  Contender clear[] = {{.samples = {120, 121, 119}}, {.usual = true, .samples = {100, 101, 99}}},
            noisy[] = {{.samples = {120, 90, 103}}, {.usual = true, .samples = {100, 101, 99}}},
            equal[] = {{.samples = {100.4, 100.4, 100.4}}, {.usual = true, .samples = {100, 100, 100}}},
            behind[] = {{.samples = {70, 70, 70}}, {.usual = true, .samples = {100, 100, 100}}},
            broken[] = {{.samples = {70, 70, 70}}, {.usual = true, .out = true}, {.samples = {80, 80, 80}}},
            none[] = {{.out = true}};
  assert_int_equal(contest_winner(clear, 2, 3), 0);
  assert_true(clear[0].median == 120 && clear[1].spread == 2);
  assert_int_equal(contest_winner(noisy, 2, 3), 1);
  assert_int_equal(contest_winner(equal, 2, 3), 1);
  assert_int_equal(contest_winner(behind, 2, 3), 1);
  assert_int_equal(contest_winner(broken, 3, 3), 2);
  assert_int_equal(contest_winner(none, 1, 0), -1);
}

/* Before anything is measured the model alone says what is far below the fastest of families' own ones, among which
 * those that compile fast are tried all the same; code that is too long is no use at any time. */
WORLD_TEST(test_skip) {
  SearchSpace s;
  SkipRule rule = {1024, 5000, 0, 0.3};
  space_fill(&s, w->w.arena, 1, true);
  Candidate *naive = expect(&s, "-schedule=naive", 10), *overlap = expect(&s, "-schedule=overlap", 100),
            *stream = expect(&s, "-schedule=stream", 29), *slow = expect(&s, "-schedule=naive -block=256", 29);
  stream->ops = 1667;
  assert_int_equal(space_skip(&s, &rule), 2);
  assert_true(stream->state == CANDIDATE_SKIPPED && slow->state == CANDIDATE_SKIPPED &&
              naive->state == CANDIDATE_WAITING);
  overlap->ops = 5001;
  rule.least = 1000;
  assert_int_equal(space_skip(&s, &rule), 1);
  assert_true(overlap->state == CANDIDATE_SKIPPED && strstr(overlap->why, "its code is 5001 operations long") &&
              naive->state == CANDIDATE_WAITING);
}

/* The note names both speeds where one is more than 1.3 times the other, and the likely reason: bytes that do not fit
 * the registers, fewer blocks because of more registers, or the resource that the model expects to limit the launch. It
 * tells whether the model was off for the other candidates, too. */
WORLD_TEST(test_model) {
  SearchSpace s;
  space_fill(&s, w->w.arena, 1, true);
  Candidate *k = expect(&s, "-schedule=naive", 100);
  assert_null(tune_model_note(&s, k, "it"));
  k->gpts = 129;
  assert_null(tune_model_note(&s, k, "it"));
  k->gpts = 77;
  assert_null(tune_model_note(&s, k, "it"));
  k->gpts = 140;
  assert_string_equal(tune_model_note(&s, k, "it"),
                      "the model was off: of it it expected 100 GPts/s, and that made 140, 1.40 times: it goes by a "
                      "time a point for this kind of tiles as a whole");
  k->expected =
      (Expected){.gpts = 100, .registers = 64, .most_registers = 80, .blocks = 3, .bound = "memory", .share = 0.8};
  k->kernel = (KernelInfo){.registers = 88};
  assert_non_null(strstr(tune_model_note(&s, k, "it"), "1.40 times: it takes memory to bind it, for 80 % of the time"));
  k->gpts = 70;
  assert_non_null(strstr(tune_model_note(&s, k, "it"), "0.70 times: 88 registers a thread leave a core fewer blocks "
                                                       "than 3, which 64 were expected to"));
  k->kernel.registers = 80;
  assert_non_null(strstr(tune_model_note(&s, k, "it"), "0.70 times: it takes memory to bind it"));
  k->expected.spilled = 5;
  k->kernel.local = 20;
  assert_non_null(strstr(tune_model_note(&s, k, "it"), "0.70 times: it takes memory to bind it"));
  k->kernel.local = 24;
  assert_non_null(
      strstr(tune_model_note(&s, k, "it"), "0.70 times: 24 bytes a thread do not fit the registers, 20 were"));
  k->kernel.local = 0;
  k->gpts = 140;
  assert_non_null(
      strstr(tune_model_note(&s, k, "it"), "1.40 times: 0 bytes a thread do not fit the registers, 20 were"));
  Candidate *one = expect(&s, "-schedule=naive -block=128", 100), *two = expect(&s, "-schedule=naive -block=256", 100);
  one->gpts = 131, two->gpts = 200;
  const char *alike = "the middle one of all 3 made 1.40 times as much as expected, so it is off of the whole program";
  assert_non_null(strstr(tune_model_note(&s, k, "it"), alike));
  one->gpts = two->gpts = 99;
  alike = "the middle one of all 3 made 0.99 times as much as expected, so it is off of this schedule";
  assert_non_null(strstr(tune_model_note(&s, k, "it"), alike));
  one->gpts = two->gpts = 50;
  assert_non_null(
      strstr(tune_model_note(&s, k, "it"), "0.50 times as much as expected, so it is off of this schedule"));
}

/* However little time there is, the default is measured first, and what the families give by themselves (here there is
 * no stream, and one is the default), and one of them wins; nothing else is begun. */
WORLD_TEST(test_deadline) {
  static Stop stop;
  static const char text[] =
      "param N = 999;\ngrid G = [0 .. N-1], 3;\nfield A : f32 on G;\nstencil s(A)[1 .. N-2] = A[-1];\n";
  Subject subject;
  Device device;
  StcOptions o = {0};
  assert_int_equal(subject_open(&subject, w->c, w->w.arena, "a.stn", text, &o, true, &stop), STC_OK);
  assert_int_equal(device_open(&w->w, "host:1", &device), STC_OK);
  Search t = {.arena = w->w.arena,
              .stop = &stop,
              .device_name = "host:1",
              .device = &device,
              .subject = &subject,
              .seconds = 1e-6};
  assert_int_equal(search_run(&t), STC_OK);
  assert_true(search_usual(&t)->state == CANDIDATE_TIMED);
  assert_true(t.measured == 2 && t.tried == 3 && t.best && t.best->own && t.best->gpts > 0 && t.best->cost.code > 0 &&
              t.best->cost.lower > 0 && t.best->cost.time > 0);
  search_close(&t);
  subject_close(&subject);
  device.kind->close(&device);
}

/* The whole text of a file. */
static const char *text_of(World *w, const char *file) {
  size_t size;
  const char *text = file_read(&w->w, file, &size);
  assert_non_null(text);
  return text;
}

/* The log has a line for each that was tried, with quotes doubled; the plot a line for each choice of elements. */
WORLD_TEST(test_reports) {
  Candidate all[] = {
      {.family = FAMILY_OVERLAP,
       .options = "-T=2",
       .schedule = "-schedule=overlap -T=2 -elems=4x1",
       .state = CANDIDATE_TIMED,
       .T = 2,
       .gpts = 150,
       .why = "",
       .expected = {.gpts = 140, .bound = "memory"},
       .cost = {0.01, 0.5, 0.25, 2, 0.03, 0.04}},
      {.family = FAMILY_OVERLAP,
       .options = "-T=4",
       .schedule = "-schedule=overlap -T=4 -elems=4x1",
       .state = CANDIDATE_TIMED,
       .T = 4,
       .gpts = 300,
       .why = ""},
      {.family = FAMILY_OVERLAP,
       .options = "-T=4",
       .schedule = "-schedule=overlap -T=4 -elems=8x1",
       .state = CANDIDATE_SLOW,
       .T = 4,
       .gpts = 100,
       .why = "far \"behind\""},
      {.family = FAMILY_NAIVE, .options = "-schedule=naive", .state = CANDIDATE_WAITING},
  };
  SearchSpace s = {w->w.arena, 4, all, 0};
  assert_int_equal(tune_write_log(w->c, &s, path), STC_OK);
  const char *log = text_of(w, path);
  assert_non_null(strstr(log, "state,family,T,gpts,registers,local,shared,expected,bound,lower_s,code_s,assemble_s,"
                              "load_s,verify_s,time_s,options,schedule,why\ntimed,overlap,2,150,0,0,0,140,memory,0.010,"
                              "0.500,0.250,2.000,0.030,0.040,\"-T=2\",\"-schedule=overlap -T=2 -elems=4x1\",\"\"\n"));
  assert_non_null(strstr(log, "slow,overlap,4,100,0,0,0,0,,0.000,0.000,0.000,0.000,0.000,0.000,\"-T=4\",\"-schedule="
                              "overlap -T=4 -elems=8x1\",\"far \"\"behind\"\"\"\n"));
  assert_null(strstr(log, "naive"));
  assert_int_equal(tune_write_plot(w->c, w->w.arena, &s, "a < b", path), STC_OK);
  const char *plot = text_of(w, path);
  assert_non_null(strstr(plot, "a &lt; b"));
  assert_non_null(strstr(plot, ">overlap, elements 4x1</text>"));
  assert_non_null(strstr(plot, ">overlap, elements 8x1</text>"));
  assert_non_null(strstr(plot, "x1=\"226.67\" y1=\"251.43\" x2=\"540.00\" y2=\"92.86\""));
  assert_non_null(strstr(plot, ">best: 300</text>"));
}
