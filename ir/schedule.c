/* schedule.c: plans as text, driven by the table of knobs. */
#include "ir/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Appends "8x32": the first `rank` numbers, up to the first open one. */
static void print_shape(Str *s, const int32_t *v, int rank) {
  for (int d = 0; d < rank && v[d]; d++)
    str_addf(s, "%s%d", d ? "x" : "", (int)v[d]);
}

/* Appends " word=value" for knob `id`, unless it is open. */
static void print_knob(Str *s, const Schedule *p, KnobId id, int rank) {
  const KnobRow *row = knob_row(id);
  const void *at = (const char *)p + row->at;
  if (!schedule_says(p, id))
    return;
  str_addf(s, " %s=", row->word);
  switch (row->kind) {
  case KNOB_IS_NUMBER: str_addf(s, "%d", (int)*(const int32_t *)at); break;
  case KNOB_IS_SHAPE: print_shape(s, at, rank); break;
  case KNOB_IS_WORD: str_add(s, knob_word(id, (int)*(const KnobWord *)at)); break;
  case KNOB_IS_TEXT: str_addf(s, "\"%s\"", *(const char *const *)at); break;
  }
}

/* Appends the knobs of the family of `p` for whose rows `is` is true. */
static void print_knobs(Str *s, const Schedule *p, int rank, bool (*is)(const KnobRow *row)) {
  rank = rank < GRID_RANK ? rank : GRID_RANK;
  for (int i = 0; i < KNOBS; i++)
    if (family_has(p->family, (KnobId)i) && is(knob_row((KnobId)i)))
      print_knob(s, p, (KnobId)i, rank);
}

/* is_of_launch: may each launch have its own value? is_of_tile: does it belong to a tile that makes all steps?
 * is_beside: does it stand after the tile in a plan of one launch? is_of_plan: does it apply to all launches of a plan
 * with several? */
static bool is_of_launch(const KnobRow *k) { return k->flags & KNOB_OF_LAUNCH; }
static bool is_of_tile(const KnobRow *k) { return is_of_launch(k) || k->kind == KNOB_IS_NUMBER; }
static bool is_beside(const KnobRow *k) { return !is_of_tile(k); }
static bool is_of_plan(const KnobRow *k) { return !is_of_launch(k); }

void plan_print_tile(Str *s, const Schedule *p, int rank, bool whole) {
  str_add(s, family_name(p->family ? p->family : FAMILY_AUTO));
  print_knobs(s, p, rank, whole ? is_of_tile : is_of_launch);
}

const char *plan_tile_text(Arena *a, const Schedule *p, int rank) {
  Str text = {.arena = a};
  plan_print_tile(&text, p, rank, true);
  return text.s;
}

/* Appends a line with the mapping of `p` itself; `of` names what it belongs to. If `p` has no mapping, appends a line
 * only if `always`. */
static void print_map(Str *s, const Schedule *p, const char *of, bool always, const char *indent) {
  static const Schedule open = {0};
  if (!always && memcmp(p->map, open.map, sizeof open.map) == 0)
    return;
  str_addf(s, "\n%s  map%s", indent, of);
  for (int i = 0; i < MAPS; i++)
    if (map_get(p, (MapId)i) >= 0)
      str_addf(s, " %s=%d", map_row((MapId)i)->word, (int)map_get(p, (MapId)i));
}

/* Appends the lines of the mapping of plan `p`. */
static void print_maps(Str *s, const Schedule *p, const char *indent) {
  bool any = false;
  print_map(s, p, "", false, indent);
  if (p->between)
    print_map(s, p->between, " between", false, indent);
  for (int g = 0; g < p->ngroups && p->ngroups > 1; g++)
    any = any || map_says_any(&p->groups[g]);
  for (int g = 0; g < p->ngroups && any; g++)
    print_map(s, &p->groups[g], " launch", true, indent);
}

void plan_print(Str *s, const Schedule *p, int rank, const char *indent) {
  str_addf(s, "%splan ", indent);
  if (p->ngroups > 1) {
    str_add(s, family_name(p->family));
    print_knobs(s, p, rank, is_of_plan);
  } else {
    plan_print_tile(s, p, rank, true);
    print_knobs(s, p, rank, is_beside);
  }
  for (int g = 0; g < p->ngroups && p->ngroups > 1; g++) {
    str_addf(s, "\n%s  launch ", indent);
    plan_print_tile(s, &p->groups[g], rank, false);
  }
  if (p->rest) {
    str_addf(s, "\n%s  rest ", indent);
    plan_print_tile(s, p->rest, rank, false);
  }
  print_maps(s, p, indent);
  str_add(s, "\n");
}

char *plan_text(Arena *a, const Schedule *p, int rank) {
  Str s = {.arena = a};
  plan_print(&s, p, rank, "");
  return s.s;
}

enum { MAX_KNOB = 1 << 24 };

/* The knob that the reader's next word names; KNOBS: it names none. */
static KnobId find_knob(const Reader *r) {
  int i = 0;
  while (i < KNOBS && !reader_at_word(r, knob_row((KnobId)i)->word))
    i++;
  return (KnobId)i;
}

/* Parses a shape, "8x32", which is one token in the form of a number. */
static void read_shape(Reader *r, const char *name, int32_t out[GRID_RANK]) {
  TextToken t = reader_next(r);
  const char *s = t.text;
  for (int d = 0; d < GRID_RANK && t.kind == TOK_NUMBER; d++) {
    char *end;
    long n = strtol(s, &end, 10);
    if (end == s || n < 1 || (*end && (*end != 'x' || d == GRID_RANK - 1)))
      break;
    if (n > MAX_KNOB) {
      reader_error(r, t.loc, "%s: %.*s is too large: the most that is possible is %d", name, (int)(end - s), s,
                   MAX_KNOB);
      return;
    }
    out[d] = (int32_t)n;
    if (!*end)
      return;
    s = end + 1;
  }
  reader_error(r, t.loc, "%s: '%.40s' is no shape; write a number from 1 for each dimension, such as 8x32", name,
               t.text);
}

/* Parses one of the words of knob `id`. */
static KnobWord read_word(Reader *r, KnobId id) {
  TextToken t = reader_next(r);
  KnobWord found = knob_find_word(id, t.text);
  Str all = {.arena = r->arena};
  for (int i = 1; knob_word(id, i); i++)
    str_addf(&all, "%s%s", i == 1 ? "" : knob_word(id, i + 1) ? ", " : " nor ", knob_word(id, i));
  if (!found)
    reader_error(r, t.loc, "%s: '%.40s' is neither %s", knob_row(id)->word, t.text, all.s);
  return found;
}

/* Parses the value of knob `id` into `p`. */
static void read_value(Reader *r, KnobId id, Schedule *p) {
  const KnobRow *row = knob_row(id);
  void *at = (char *)p + row->at;
  switch (row->kind) {
  case KNOB_IS_NUMBER: *(int32_t *)at = (int32_t)reader_int(r, 1, MAX_KNOB); break;
  case KNOB_IS_SHAPE: read_shape(r, row->word, at); break;
  case KNOB_IS_WORD: *(KnobWord *)at = read_word(r, id); break;
  case KNOB_IS_TEXT: *(const char **)at = reader_expect_kind(r, TOK_STRING, row->right); break;
  }
}

/* Parses a family and its knobs into `p`; `whole`: those of the whole plan, else those of one of its launches. */
static void read_tile(Reader *r, bool whole, Schedule *p) {
  TextToken word = reader_next(r);
  int32_t seen = 0;
  p->family = word.kind == TOK_WORD ? family_find(word.text) : FAMILY_NONE;
  if (!p->family || (!whole && p->family == FAMILY_AUTO))
    reader_error(r, word.loc, "'%.40s' is no family of schedules; there are %s", word.text, family_names(r->arena));
  for (KnobId i; !r->failed && (i = find_knob(r)) < KNOBS;) {
    Loc at = reader_next(r).loc;
    const KnobRow *row = knob_row(i);
    if (!whole && !is_of_launch(row))
      reader_error(r, at, "'%s' applies to the whole plan, and stands in its first line", row->word);
    else if (seen & 1 << i)
      reader_error(r, at, "'%s' is given twice", row->word);
    else if (p->family != FAMILY_AUTO && !family_has(p->family, i))
      reader_error(r, at, "the %s schedule has no '%s'; leave it out", family_name(p->family), row->word);
    seen |= 1 << i;
    reader_expect(r, "=");
    if (!r->failed)
      read_value(r, i, p);
  }
}

/* The row of the mapping that the reader's next word names; MAPS: it names none. */
static MapId find_mapped(const Reader *r) {
  int i = 0;
  while (i < MAPS && !reader_at_word(r, map_row((MapId)i)->word))
    i++;
  return (MapId)i;
}

/* Parses a line of the mapping into `p`, which has family `family`; `plan`: numbers of the whole plan are allowed, too.
 */
static void read_map(Reader *r, FamilyId family, bool plan, Schedule *p) {
  for (MapId i; !r->failed && (i = find_mapped(r)) < MAPS;) {
    Loc at = reader_next(r).loc;
    const MapRow *row = map_row(i);
    if (!plan && row->scope == MAP_OF_PLAN)
      reader_error(r, at, "'%s' applies to the whole plan, and stands in its first line 'map'", row->word);
    else if (map_get(p, i) >= 0)
      reader_error(r, at, "'%s' is given twice", row->word);
    else if (!(row->families >> family & 1))
      reader_error(r, at, "the %s schedule has no '%s'; leave it out", family_name(family), row->word);
    reader_expect(r, "=");
    if (!r->failed)
      map_set(p, i, (int32_t)reader_int(r, row->least, row->most));
  }
}

/* Parses the lines of the mapping of plan `p`, which has `n` launches at `groups`. */
static void read_maps(Reader *r, Schedule *p, int n, Schedule *groups) {
  int g = 0;
  while (!r->failed && reader_at_word(r, "map")) {
    Loc at = reader_next(r).loc;
    if (reader_accept_word(r, "launch")) {
      if (g < n)
        read_map(r, groups[g].family, false, &groups[g]);
      else
        reader_error(r, at, "the plan has %d launches, and no other that this could be said of", n);
      g++;
    } else if (reader_accept_word(r, "between")) {
      Schedule *between = ARENA_NEW(r->arena, Schedule);
      *between = p->between ? *p->between : (Schedule){0};
      read_map(r, p->family, false, between);
      p->between = between;
    } else {
      read_map(r, p->family, true, p);
    }
  }
}

void plan_read(Reader *r, Schedule *p) {
  Schedule *groups = NULL;
  int n = 0;
  Loc at = r->tok.loc;
  *p = (Schedule){0};
  read_tile(r, true, p);
  while (reader_accept_word(r, "launch")) {
    Schedule tile = {.T = 1};
    read_tile(r, false, &tile);
    ARENA_PUSH(r->arena, groups, n, tile);
  }
  if (reader_accept_word(r, "rest")) {
    Schedule *rest = ARENA_NEW(r->arena, Schedule);
    *rest = (Schedule){.T = 1};
    read_tile(r, false, rest);
    p->rest = rest;
  }
  read_maps(r, p, n, groups);
  if (n && !p->fuse)
    reader_error(r, at, "a plan of several launches says by cut=\"a+b,c\" which stencils each has");
  if (n && p->T > 1)
    reader_error(r, at, "T=%d: several time steps share a launch only if a step is one; write T=1", (int)p->T);
  p->ngroups = n;
  p->groups = groups;
}

/* The names of the knobs in plans, "T, cut, block". */
static char *plan_words(Arena *a) {
  Str s = {.arena = a};
  for (int i = 0; i < KNOBS; i++)
    str_addf(&s, "%s%s", i ? ", " : "", knob_row((KnobId)i)->word);
  return s.s;
}

const Schedule *plan_parse(Arena *a, Diags *d, const char *file, const char *text) {
  Reader r = reader_start(a, d, diags_add_source(d, file, text), text);
  Schedule *p = ARENA_NEW(a, Schedule);
  reader_expect_word(&r, "plan");
  plan_read(&r, p);
  if (!r.failed && r.tok.kind == TOK_WORD)
    reader_error(&r, r.tok.loc, "'%.40s' is nothing that a plan says; there are %s, launch, rest and map", r.tok.text,
                 plan_words(a));
  if (r.tok.kind != TOK_END)
    reader_error(&r, r.tok.loc, "expected nothing after the plan");
  return r.failed ? NULL : p;
}

bool plan_is_text(const char *text) {
  text = text ? text + strspn(text, " \t\r\n") : "";
  return strncmp(text, "//", 2) == 0 || (strncmp(text, "plan", 4) == 0 && text[4] && strchr(" \t\r\n", text[4]));
}

/* Is knob `id` open in `p`, or set for more dimensions than `rank`? */
static bool is_incomplete(const Schedule *p, KnobId id, int rank) {
  const int32_t *v = (const void *)((const char *)p + knob_row(id)->at);
  if (knob_row(id)->kind == KNOB_IS_NUMBER)
    return *v < 1;
  if (knob_row(id)->kind != KNOB_IS_SHAPE)
    return !schedule_says(p, id);
  for (int d = 0; d < GRID_RANK; d++)
    if (d < rank ? v[d] < 1 : v[d] > 1)
      return true;
  return false;
}

/* The first knob of a tile that is incomplete; NULL: none. */
static const char *wrong_tile(const Schedule *p, int rank) {
  if (p->family <= FAMILY_AUTO)
    return "the family";
  for (int i = 0; i < KNOBS; i++)
    if (knob_row((KnobId)i)->flags & KNOB_NEEDED && family_has(p->family, (KnobId)i) &&
        is_incomplete(p, (KnobId)i, rank))
      return knob_row((KnobId)i)->word;
  return NULL;
}

/* The number of dimensions of the tiles of `p`, for a grid of rank `rank`: those of the grid, or those of a slice of
 * it. */
static int tile_rank(const Schedule *p, int rank) {
  bool says_less = rank == GRID_RANK && p->block[0] && !p->block[rank - 1] && !p->elems[rank - 1];
  return rank > GRID_RANK || says_less ? rank - 1 : rank;
}

const char *plan_open_knob(const Schedule *p, int rank) {
  rank = tile_rank(p->ngroups > 1 ? &p->groups[0] : p, rank);
  const char *wrong = p->ngroups > 1 ? NULL : wrong_tile(p, rank);
  for (int g = 0; g < p->ngroups && p->ngroups > 1 && !wrong; g++)
    wrong = wrong_tile(&p->groups[g], rank);
  return wrong ? wrong : p->ngroups > 1 && !p->fuse ? knob_row(KNOB_FUSE)->word : NULL;
}
