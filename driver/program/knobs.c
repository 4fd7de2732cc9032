/* driver/program/knobs.c: the knobs of schedules (ir/knobs.def) in StcOptions, driven by the table. */
#include "driver/program/program.h"

#include <string.h>

/* The offset of each knob in StcOptions. */
static const size_t places[KNOBS] = {
#define KNOB(ID, name, ...) [KNOB_##ID] = offsetof(StcOptions, name),
#include "ir/knobs.def"
};

/* Knob `id` of `o`: an int, GRID_RANK of them, or a string. */
static void *place(const StcOptions *o, KnobId id) { return (char *)(uintptr_t)o + places[id]; }
static bool is_string(KnobId id) { return knob_row(id)->kind == KNOB_IS_WORD || knob_row(id)->kind == KNOB_IS_TEXT; }
static int count(KnobId id) { return knob_row(id)->kind == KNOB_IS_SHAPE ? GRID_RANK : 1; }
static const char *string(const StcOptions *o, KnobId id) { return *(const char *const *)place(o, id); }
static int number(const StcOptions *o, KnobId id, int d) { return ((const int *)place(o, id))[d]; }

size_t options_knob(KnobId id) { return places[id]; }

int options_dimensions(const StcOptions *o, KnobId id) {
  int n = 0;
  for (int d = 0; d < count(id) && !is_string(id); d++)
    n = number(o, id, d) ? d + 1 : n;
  return is_string(id) ? string(o, id) != NULL : n;
}

bool options_say_knobs(const StcOptions *o) {
  for (int i = 0; i < KNOBS; i++)
    if (options_dimensions(o, (KnobId)i))
      return true;
  return false;
}

void options_keep_knobs(Arena *a, StcOptions *o) {
  for (int i = 0; i < KNOBS; i++)
    if (is_string((KnobId)i) && string(o, (KnobId)i))
      *(const char **)place(o, (KnobId)i) = arena_strdup(a, string(o, (KnobId)i));
}

void options_open_knobs(StcOptions *o) {
  for (int i = 0; i < KNOBS; i++)
    if (is_string((KnobId)i))
      *(const char **)place(o, (KnobId)i) = NULL;
    else
      memset(place(o, (KnobId)i), 0, (size_t)count((KnobId)i) * sizeof(int));
}

void options_print_knobs(Str *to, const StcOptions *o) {
  for (int i = 0; i < KNOBS; i++)
    if (is_string((KnobId)i))
      str_addf(to, "%s\n", string(o, (KnobId)i) ? string(o, (KnobId)i) : "-");
    else
      for (int d = 0; d < count((KnobId)i); d++)
        str_addf(to, "%d\n", number(o, (KnobId)i, d));
}

/* Checks that the value of knob `id` is valid; reports it if not. */
static StcStatus check(StcContext *c, const StcOptions *o, KnobId id) {
  const KnobRow *row = knob_row(id);
  const char *dash = c->command ? "-" : "";
  if (row->kind == KNOB_IS_WORD && string(o, id) && !knob_find_word(id, string(o, id)))
    return context_error(c, "%s%s=%s: %s", dash, row->name, string(o, id), row->right), STC_USAGE;
  for (int d = 0; d < count(id) && !is_string(id); d++)
    if (number(o, id, d) < 0)
      return context_error(c, "%s%s: %d is not %s", dash, row->name, number(o, id, d), row->right), STC_USAGE;
  return STC_OK;
}

StcStatus options_check_knobs(StcContext *c, const StcOptions *o) {
  StcStatus s = STC_OK;
  for (int i = 0; i < KNOBS && !s; i++)
    s = check(c, o, (KnobId)i);
  return s;
}

void options_take_knobs(const StcOptions *o, Schedule *to) {
  for (int i = 0; i < KNOBS; i++) {
    KnobId id = (KnobId)i;
    void *at = (char *)to + knob_row(id)->at;
    if (knob_row(id)->kind == KNOB_IS_TEXT)
      *(const char **)at = string(o, id);
    else if (is_string(id))
      *(KnobWord *)at = knob_find_word(id, string(o, id));
    else
      for (int d = 0; d < count(id); d++)
        ((int32_t *)at)[d] = number(o, id, d);
  }
}

FamilyId options_knobs_family(const StcOptions *o) {
  FamilyId family = FAMILY_AUTO;
  for (int i = 0; i < KNOBS; i++) {
    int f = FAMILY_OVERLAP;
    if (is_string((KnobId)i) || !options_dimensions(o, (KnobId)i))
      continue;
    while (!family_has((FamilyId)f, (KnobId)i))
      f++;
    family = f > FAMILY_OVERLAP ? (FamilyId)f : family > FAMILY_AUTO ? family : FAMILY_NONE;
  }
  return knob_find_word(KNOB_TILES, o->tiles) == TILES_LANES ? FAMILY_OVERLAP : family;
}

bool stc_knob(int knob, StcKnob *out) {
  if (knob < 0 || knob >= KNOBS)
    return false;
  const KnobRow *row = knob_row((KnobId)knob);
  *out = (StcKnob){row->name, (StcKnobKind)row->kind, places[knob], row->value, row->help};
  return true;
}
