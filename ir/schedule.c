/* schedule.c: the table of the families of schedules, and plans as text. */
#include "ir/text/text.h"

#include <stdlib.h>
#include <string.h>

static const Family table[FAMILIES] = {
    [FAMILY_AUTO] = {.name = "auto"},
#define FAMILY(id, name, knobs, tiled, walked, threads, loops, about) \
  [FAMILY_##id] = {name, knobs, tiled, walked, {loops, threads}, about},
#include "ir/families.def"
#undef FAMILY
};

static const char *const edges[] = {NULL, "apart", "along", "steps"}, *const barriers[] = {NULL, "neighbours", "block"},
                         *const tiles[] = {NULL, "even", "fitted", "lanes"};

const Family *family_row(FamilyId id) { return &table[id]; }

const char *family_name(FamilyId id) { return table[id].name; }

const char *edges_name(EdgesKind k) { return edges[k]; }

const char *barriers_name(BarriersKind k) { return barriers[k]; }

const char *tiles_name(TilesKind k) { return tiles[k]; }

/* The place of `name` (NULL: 0) among the `n` names, the first of which stands for none; 0 if it is not there. */
static int place_of(const char *name, int n, const char *const *names) {
  for (int i = 1; i < n && name; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  return 0;
}

bool family_is_plain(FamilyId id) { return id > FAMILY_AUTO && !table[id].tiled; }

FamilyId family_find(const char *name) {
  for (int i = FAMILY_AUTO; i < FAMILIES && name; i++)
    if (strcmp(table[i].name, name) == 0)
      return (FamilyId)i;
  return FAMILY_NONE;
}

EdgesKind edges_find(const char *name) { return (EdgesKind)place_of(name, 4, edges); }

BarriersKind barriers_find(const char *name) { return (BarriersKind)place_of(name, 3, barriers); }

TilesKind tiles_find(const char *name) { return (TilesKind)place_of(name, 4, tiles); }

const char *family_names(Arena *a) {
  Str s = {.arena = a};
  for (int i = FAMILY_AUTO + 1; i < FAMILIES; i++)
    str_addf(&s, "%s%s", i == FAMILY_AUTO + 1 ? "" : i == FAMILIES - 1 ? " and " : ", ", table[i].name);
  return s.s;
}

/* ---------------------------------------------------------------- text */

/* Adds "8x32" of the first `rank` numbers behind `name`, where they are not open. */
static void print_shape(Str *s, const char *name, const int32_t *v, int rank) {
  for (int d = 0; d < rank && v[0]; d++)
    str_addf(s, "%s%d", d ? "x" : name, (int)v[d]);
}

/* Adds the family and what is not open of the knobs of a tile that it has; `whole`: of the plan, else of one of its
 * launches, which make one step. */
static void print_tile(Str *s, const Schedule *p, int rank, bool whole) {
  int32_t knobs = family_row(p->family)->knobs;
  str_add(s, family_name(p->family ? p->family : FAMILY_AUTO));
  if (knobs & KNOB_T && p->T && whole)
    str_addf(s, " T=%d", (int)p->T);
  print_shape(s, " block=", p->block, rank);
  if (knobs & KNOB_ELEMS)
    print_shape(s, " elems=", p->elems, rank);
  if (knobs & KNOB_CHUNK && p->chunk)
    str_addf(s, " chunk=%d", (int)p->chunk);
  if (knobs & KNOB_AHEAD && p->ahead)
    str_addf(s, " ahead=%d", (int)p->ahead);
  if (knobs & KNOB_TILES && p->tiles)
    str_addf(s, " tiles=%s", tiles_name(p->tiles));
}

void plan_print(Str *s, const Schedule *p, int rank, const char *indent) {
  str_addf(s, "%splan ", indent);
  if (p->ngroups > 1)
    str_addf(s, "%s T=1 cut=\"%s\"", family_name(p->family), p->fuse);
  else
    print_tile(s, p, rank, true);
  if (p->edges)
    str_addf(s, " edges=%s", edges_name(p->edges));
  if (p->barriers && family_row(p->family)->knobs & KNOB_BARRIERS)
    str_addf(s, " barriers=%s", barriers_name(p->barriers));
  for (int g = 0; g < p->ngroups && p->ngroups > 1; g++) {
    str_addf(s, "\n%s  launch ", indent);
    print_tile(s, &p->groups[g], rank, false);
  }
  if (p->rest) {
    str_addf(s, "\n%s  rest ", indent);
    print_tile(s, p->rest, rank, false);
  }
  str_add(s, "\n");
}

char *plan_text(Arena *a, const Schedule *p, int rank) {
  Str s = {.arena = a};
  plan_print(&s, p, rank, "");
  return s.s;
}

/* What a plan may say of a tile, and of the whole (`tile` false). */
typedef struct KnobRow {
  const char *name;
  int32_t knob; /* that a family must have for it, 0: all have it */
  bool tile;
} KnobRow;
static const KnobRow knobs[] = {{"T", KNOB_T, false},        {"block", KNOB_BLOCK, true},
                                {"elems", KNOB_ELEMS, true}, {"chunk", KNOB_CHUNK, true},
                                {"ahead", KNOB_AHEAD, true}, {"tiles", KNOB_TILES, true},
                                {"edges", 0, false},         {"barriers", KNOB_BARRIERS, false},
                                {"cut", KNOB_CUT, false}};
enum { NKNOBS = sizeof knobs / sizeof knobs[0], MAX_KNOB = 1 << 24 };

/* The row of the knob that the word at the reader names, -1: it names none. */
static int find_knob(const Reader *r) {
  for (int i = 0; i < NKNOBS; i++)
    if (reader_at_word(r, knobs[i].name))
      return i;
  return -1;
}

/* Reads a shape, "8x32": one token of the form of a number. */
static void read_shape(Reader *r, const char *name, int32_t out[MAX_RANK]) {
  Token t = reader_next(r);
  const char *s = t.text;
  for (int d = 0; d < MAX_RANK && t.kind == TOK_NUMBER; d++) {
    char *end;
    long n = strtol(s, &end, 10);
    if (end == s || n < 1 || (*end && (*end != 'x' || d == MAX_RANK - 1)))
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

/* Reads one of the words that `find` knows. */
static int read_kind(Reader *r, const char *name, int found, const char *one, const char *other) {
  Token t = reader_next(r);
  if (!found)
    reader_error(r, t.loc, "%s: '%.40s' is neither %s nor %s", name, t.text, one, other);
  return found;
}

/* Reads the value of knob number `i` into `p`. */
static void read_value(Reader *r, int i, Schedule *p) {
  const char *name = knobs[i].name, *text = r->tok.text;
  switch (i) {
  case 0: p->T = (int32_t)reader_int(r, 1, MAX_KNOB); break;
  case 1: read_shape(r, name, p->block); break;
  case 2: read_shape(r, name, p->elems); break;
  case 3: p->chunk = (int32_t)reader_int(r, 1, MAX_KNOB); break;
  case 4: p->ahead = (int32_t)reader_int(r, 1, MAX_KNOB); break;
  case 5: p->tiles = (TilesKind)read_kind(r, name, (int)tiles_find(text), "even, fitted", "lanes"); break;
  case 6: p->edges = (EdgesKind)read_kind(r, name, (int)edges_find(text), "apart, along", edges[3]); break;
  case 7: p->barriers = (BarriersKind)read_kind(r, name, (int)barriers_find(text), barriers[1], barriers[2]); break;
  default: p->fuse = reader_expect_kind(r, TOK_STRING, "the cut in quotes, such as \"a+b,c\"");
  }
}

/* Reads a family and its knobs; `whole`: of the plan, else of one of its launches. */
static void read_tile(Reader *r, bool whole, Schedule *p) {
  Token word = reader_next(r);
  int32_t seen = 0;
  p->family = word.kind == TOK_WORD ? family_find(word.text) : FAMILY_NONE;
  if (!p->family || (!whole && p->family == FAMILY_AUTO))
    reader_error(r, word.loc, "'%.40s' is no family of schedules; there are %s", word.text, family_names(r->arena));
  for (int i; !r->failed && (i = find_knob(r)) >= 0;) {
    Loc at = reader_next(r).loc;
    if (!whole && !knobs[i].tile)
      reader_error(r, at, "'%s' is said of the whole plan, in its first line", knobs[i].name);
    else if (seen & 1 << i)
      reader_error(r, at, "'%s' is said twice", knobs[i].name);
    else if (knobs[i].knob && p->family != FAMILY_AUTO && !(family_row(p->family)->knobs & knobs[i].knob))
      reader_error(r, at, "the %s schedule has no '%s'; leave it out", family_name(p->family), knobs[i].name);
    seen |= 1 << i;
    reader_expect(r, "=");
    if (!r->failed)
      read_value(r, i, p);
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
  if (n && !p->fuse)
    reader_error(r, at, "a plan of several launches says by cut=\"a+b,c\" which stencils each has");
  if (n && p->T > 1)
    reader_error(r, at, "T=%d: several time steps share a launch only if a step is one; write T=1", (int)p->T);
  p->ngroups = n;
  p->groups = groups;
}

const Schedule *plan_parse(Arena *a, Diags *d, const char *file, const char *text) {
  Reader r = reader_start(a, d, diags_add_source(d, file, text), text);
  Schedule *p = ARENA_NEW(a, Schedule);
  reader_expect_word(&r, "plan");
  plan_read(&r, p);
  if (!r.failed && r.tok.kind == TOK_WORD)
    reader_error(&r, r.tok.loc,
                 "'%.40s' is nothing that a plan says; there are T, block, elems, chunk, ahead, tiles, edges, "
                 "barriers, cut, launch and rest",
                 r.tok.text);
  if (r.tok.kind != TOK_END)
    reader_error(&r, r.tok.loc, "expected nothing after the plan");
  return r.failed ? NULL : p;
}

bool plan_is_text(const char *text) {
  text = text ? text + strspn(text, " \t\r\n") : "";
  return strncmp(text, "//", 2) == 0 || (strncmp(text, "plan", 4) == 0 && text[4] && strchr(" \t\r\n", text[4]));
}

/* Is something open of tile `p` on a grid of rank `rank`, or said of more dimensions than there are? */
static const char *wrong_tile(const Schedule *p, int rank) {
  int32_t has = family_row(p->family)->knobs;
  if (p->family <= FAMILY_AUTO || (has & KNOB_T && p->T < 1))
    return p->family <= FAMILY_AUTO ? "the family" : "T";
  for (int d = 0; d < MAX_RANK; d++) {
    if (d < rank ? p->block[d] < 1 : p->block[d] > 1)
      return "block";
    if (has & KNOB_ELEMS && (d < rank ? p->elems[d] < 1 : p->elems[d] > 1))
      return "elems";
  }
  return has & KNOB_CHUNK && p->chunk < 1 ? "chunk" : has & KNOB_AHEAD && p->ahead < 1 ? "ahead" : NULL;
}

const char *plan_open_knob(const Schedule *p, int rank) {
  const char *wrong = p->ngroups > 1 ? NULL : wrong_tile(p, rank);
  for (int g = 0; g < p->ngroups && p->ngroups > 1 && !wrong; g++)
    wrong = wrong_tile(&p->groups[g], rank);
  return wrong ? wrong : p->ngroups > 1 && !p->fuse ? "cut" : NULL;
}
