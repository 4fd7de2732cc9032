/* knobs.c: the tables of the families, of the knobs of schedules, and of the other numbers of the mapping
 * (families.def, knobs.def, mapping.def), and the code that all knobs share. */
#include "ir/schedule.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- families */

static const Family families[FAMILIES] = {
    [FAMILY_AUTO] = {.name = "auto"},
#define FAMILY(id, name, tiled, streamed, threads, loops, about) \
  [FAMILY_##id] = {name, tiled, streamed, {loops, threads}, about},
#include "ir/families.def"
#undef FAMILY
};

const Family *family_row(FamilyId id) { return &families[id]; }

const char *family_name(FamilyId id) { return families[id].name; }

bool family_is_plain(FamilyId id) { return id > FAMILY_AUTO && !families[id].tiled; }

FamilyId family_find(const char *name) {
  for (int i = FAMILY_AUTO; i < FAMILIES && name; i++)
    if (strcmp(families[i].name, name) == 0)
      return (FamilyId)i;
  return FAMILY_NONE;
}

const char *family_names(Arena *a) {
  Str s = {.arena = a};
  for (int i = FAMILY_AUTO + 1; i < FAMILIES; i++)
    str_addf(&s, "%s%s", i == FAMILY_AUTO + 1 ? "" : i == FAMILIES - 1 ? " and " : ", ", families[i].name);
  return s.s;
}

/* ---------------------------------------------------------------- knobs */

static const KnobRow knobs[KNOBS] = {
#define IN(FAMILY) (1u << FAMILY_##FAMILY)
#define IN_ALL (~0u)
#define KNOB(ID, name, KIND, value, help, flags, families, word, most, right, lacks) \
  [KNOB_## \
      ID] = {#name, KNOB_IS_##KIND, value, help, flags, families, word, most, right, lacks, offsetof(Schedule, name)},
#include "ir/knobs.def"
};

/* The words, in the order of the rows of knobs.def. */
static const struct {
  KnobId knob;
  const char *name;
} words[] = {
#define KNOB_WORD(ID, WORD, word) {KNOB_##ID, word},
#include "ir/knobs.def"
};
enum { WORDS = sizeof words / sizeof *words };

const KnobRow *knob_row(KnobId id) { return &knobs[id]; }

bool family_has(FamilyId family, KnobId id) { return knobs[id].families >> family & 1; }

const char *knob_word(KnobId id, int i) {
  for (int k = 0; k < WORDS && i > 0; k++)
    if (words[k].knob == id && --i == 0)
      return words[k].name;
  return NULL;
}

KnobWord knob_find_word(KnobId id, const char *name) {
  const char *word;
  for (int i = 1; name && (word = knob_word(id, i)); i++)
    if (strcmp(word, name) == 0)
      return (KnobWord)i;
  return (KnobWord)0;
}

char *knob_names(Arena *a, int kinds, const char *prefix, const char *between) {
  Str s = {.arena = a};
  for (int i = 0; i < KNOBS; i++)
    if (kinds >> knobs[i].kind & 1)
      str_addf(&s, "%s%s%s", s.n ? between : "", prefix, knobs[i].name);
  return s.s;
}

/* ---------------------------------------------------------------- of a schedule */

/* The address of knob `id` in a schedule, and its size in bytes. */
static const void *place(const Schedule *s, KnobId id) { return (const char *)s + knobs[id].at; }
static size_t size_of(KnobId id) {
  static const size_t sizes[] = {sizeof(int32_t), GRID_RANK * sizeof(int32_t), sizeof(KnobWord), sizeof(char *)};
  return sizes[knobs[id].kind];
}

bool schedule_says(const Schedule *s, KnobId id) {
  static const char open[GRID_RANK * sizeof(int32_t) + sizeof(char *)];
  return memcmp(place(s, id), open, size_of(id)) != 0;
}

bool schedule_has_points(const Schedule *s, int rank) {
  bool several = false;
  for (int d = 0; d < rank; d++)
    several = several || s->elems[d] > 1;
  return several;
}

int64_t schedule_rounds(const Schedule *s, const char *name) {
  size_t n = strlen(name);
  for (const char *at = s->repeats; at && *at; at += strcspn(at, ","), at += *at == ',')
    if (strncmp(at, name, n) == 0 && at[n] == ':')
      return strtoll(at + n + 1, NULL, 10);
  return 0;
}

bool schedule_says_any(const Schedule *s, int kinds) {
  for (int i = 0; i < KNOBS; i++)
    if (kinds >> knobs[i].kind & 1 && schedule_says(s, (KnobId)i))
      return true;
  return false;
}

void schedule_take(Schedule *to, const Schedule *from, int kinds) {
  for (int i = 0; i < KNOBS; i++)
    if (kinds >> knobs[i].kind & 1)
      memcpy((char *)to + knobs[i].at, place(from, (KnobId)i), size_of((KnobId)i));
}

/* Has knob `id` the same value in both? */
static bool same(const Schedule *a, const Schedule *b, KnobId id) {
  const void *x = place(a, id), *y = place(b, id);
  const char *const *s = x, *const *t = y;
  if (knobs[id].kind == KNOB_IS_TEXT && *s && *t)
    return strcmp(*s, *t) == 0;
  return memcmp(x, y, size_of(id)) == 0;
}

bool schedule_same(const Schedule *a, const Schedule *b, int kinds) {
  for (int i = 0; i < KNOBS; i++)
    if (kinds >> knobs[i].kind & 1 && !same(a, b, (KnobId)i))
      return false;
  return true;
}

/* ---------------------------------------------------------------- the mapping */

static const MapRow maps[MAPS] = {
#define MAPPED(ID, word, least, most, scope, families) [MAP_##ID] = {word, least, most, MAP_OF_##scope, families},
#include "ir/mapping.def"
};

const MapRow *map_row(MapId id) { return &maps[id]; }

/* Schedule.map holds value + 1, so that a Schedule of zeros leaves everything open. */
int32_t map_get(const Schedule *s, MapId id) { return s->map[id] - 1; }

void map_set(Schedule *s, MapId id, int32_t value) { s->map[id] = value + 1; }

bool map_says_any(const Schedule *s) {
  for (int i = 0; i < MAPS; i++)
    if (s->map[i])
      return true;
  for (int g = 0; g < s->ngroups && s->ngroups > 1 && s->groups; g++)
    if (map_says_any(&s->groups[g]))
      return true;
  return s->between && map_says_any(s->between);
}

int64_t schedule_threads(const Schedule *s) {
  int64_t n = 1;
  for (int d = 0; d < GRID_RANK; d++)
    n *= s->block[d] > 0 ? s->block[d] : 1;
  return n;
}

Schedule schedule_between(const Schedule *s, int32_t T) {
  static const Schedule open = {0};
  Schedule out = *s;
  if (T != s->T)
    memcpy(out.map, (s->between ? s->between : &open)->map, sizeof out.map);
  out.T = T;
  return out;
}
