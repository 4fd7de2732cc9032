/* knobs_test.c: what is the same of all knobs of schedules (ir/knobs.def), in options, schedules and plans as text, by
 * the table: no knob has a test of its own here. And options in the words of those who call libstc. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/program/program.h"

/* Sets knob `id` of *o: 1 + d in dimension d, or word number 1, which for texts may be any. */
static void say(StcOptions *o, KnobId id) {
  char *at = (char *)o + options_knob(id);
  for (int d = 0; d < (knob_row(id)->kind == KNOB_IS_SHAPE ? GRID_RANK : 1) && knob_row(id)->kind < KNOB_IS_WORD; d++)
    ((int *)(void *)at)[d] = 1 + d;
  if (knob_row(id)->kind >= KNOB_IS_WORD)
    *(const char **)(void *)at = knob_word(id, 1) ? knob_word(id, 1) : "some";
}

/* A family that has the knob. */
static FamilyId owner(KnobId id) {
  int f = FAMILY_AUTO + 1;
  while (!family_has((FamilyId)f, id))
    f++;
  return (FamilyId)f;
}

/* What is said alone is said, kept, told to other ranks and taken into a schedule, where it is the same as in another
 * that says it, and not open; then it can be opened. */
TEST(test_options) {
  Arena *a = arena_new(NULL, NULL);
  for (int k = 0; k < KNOBS; k++) {
    KnobId id = (KnobId)k;
    StcOptions open = {0}, o = {0};
    Schedule s = {0}, other = {0};
    Str x = {.arena = a}, y = {.arena = a};
    assert_false(options_say_knobs(&o));
    say(&o, id);
    options_keep_knobs(a, &o);
    for (int i = 0; i < KNOBS; i++)
      assert_int_equal(options_dimensions(&o, (KnobId)i), i != k                                ? 0
                                                          : knob_row(id)->kind == KNOB_IS_SHAPE ? GRID_RANK
                                                                                                : 1);
    options_print_knobs(&x, &open);
    options_print_knobs(&y, &o);
    assert_string_not_equal(x.s, y.s);
    options_take_knobs(&o, &s);
    assert_true(schedule_says(&s, id) && schedule_says_any(&s, ~0) && !schedule_says_any(&other, ~0));
    assert_int_equal(schedule_says_any(&s, KNOBS_NUMBERS), knob_row(id)->kind < KNOB_IS_WORD);
    int kind = 1 << knob_row(id)->kind;
    assert_true(schedule_same(&s, &other, ~kind) && !schedule_same(&s, &other, kind));
    schedule_take(&other, &s, ~kind);
    assert_false(schedule_same(&s, &other, ~0));
    schedule_take(&other, &s, kind);
    assert_true(schedule_same(&s, &other, ~0));
    for (int i = 0; i < KNOBS; i++)
      assert_int_equal(schedule_says(&s, (KnobId)i), i == k);
    options_open_knobs(&o);
    assert_memory_equal(&o, &open, sizeof o);
  }
  arena_free(a);
}

/* It is printed by its word in plans of families that have it, and what is printed is read. */
TEST(test_plans) {
  Arena *a = arena_new(NULL, NULL);
  for (int k = 0; k < KNOBS; k++) {
    KnobId id = (KnobId)k;
    StcOptions o = {0};
    Schedule s = {.family = owner(id)};
    say(&o, id);
    options_take_knobs(&o, &s);
    const char *word = arena_printf(a, " %s=", knob_row(id)->word), *text = plan_text(a, &s, GRID_RANK);
    if (knob_row(id)->kind == KNOB_IS_TEXT)
      continue; /* of several launches alone */
    assert_non_null(strstr(text, word));
    const Schedule *back = plan_parse(a, diags_new(a, NULL, NULL), "plan", text);
    assert_non_null(back);
    assert_true(schedule_same(&s, back, ~0));
  }
  arena_free(a);
}

/* What callers are told of knobs, and where they are. */
TEST(test_told) {
  StcKnob told;
  for (int k = 0; k < KNOBS; k++) {
    assert_true(stc_knob(k, &told));
    assert_string_equal(told.name, knob_row((KnobId)k)->name);
    assert_int_equal(told.offset, options_knob((KnobId)k));
    assert_int_equal(told.kind, knob_row((KnobId)k)->kind);
    assert_true(*told.value && *told.help);
  }
  assert_false(stc_knob(KNOBS, &told) || stc_knob(-1, &told));
}

/* The family that knobs belong to if none is said. */
TEST(test_family) {
  assert_int_equal(options_knobs_family(&(StcOptions){0}), FAMILY_AUTO);
  assert_int_equal(options_knobs_family(&(StcOptions){.edges = "apart", .barriers = "block", .fuse = "all"}),
                   FAMILY_AUTO);
  assert_int_equal(options_knobs_family(&(StcOptions){.T = 4}), FAMILY_NONE);
  assert_int_equal(options_knobs_family(&(StcOptions){.block = {0, 32}}), FAMILY_NONE);
  assert_int_equal(options_knobs_family(&(StcOptions){.T = 4, .chunk = 8}), FAMILY_STREAM);
  assert_int_equal(options_knobs_family(&(StcOptions){.ahead = 2, .block = {8, 32}}), FAMILY_STREAM);
  assert_int_equal(options_knobs_family(&(StcOptions){.tiles = "lanes", .chunk = 8}), FAMILY_OVERLAP);
}

/* What messages say of options, as callers are told it. */
TEST(test_words) {
  static const char *const words[][2] = {
      {"use -O0 or -O3", "use opt_level 1 or opt_level 4"},
      {"see it with -print-after=halo, or -print-after-all", "see it with print_after=halo, or print_all"},
      {"what is there is kernel IR, not stencil IR; use -emit=kir",
       "what is there is kernel IR, not stencil IR; use STC_EMIT_KIR"},
      {"-emit=header is for the host (-stats, -verify-each)",
       "stc_program_header is for the host (stats, verify_each)"},
      {"run it with --device=sim", "run it with device=sim"},
      {"-fcheck=finite stops; -fcheck both", "check_finite stops; check_finite or check_bounds both"},
      {"N - 1, x-T and -Tx", "N - 1, x-T and -Tx"},
      {"\"-T=4 -block=8\": -T=4 is too much", "\"-T=4 -block=8\": T=4 is too much"},
  };
  Arena *a = arena_new(NULL, NULL);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    assert_string_equal(words_for_callers(a, words[i][0]), words[i][1]);
  arena_free(a);
}
