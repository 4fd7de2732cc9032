/* driver/tune/tune-space.c: the schedules that `stc tune` tries. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The table. A value may be of no use for a program, or not legal: it is then dropped with the reason. */
static const SpaceRow rows[] = {
    {FAMILY_NAIVE, 1, true, {{"block", "128 256 512 1024"}}},
    {FAMILY_NAIVE, 2, true, {{"block", "4x32 8x32 16x32 4x64 8x64 2x128 1x256"}}},
    {FAMILY_NAIVE, 3, true, {{"block", "4x4x32 2x4x64 1x8x32 1x4x64 1x2x128"}}},
    {FAMILY_OVERLAP, 1, true, {{"T", "4 8 16 32 64"}, {"block", "128 256 512"}, {"elems", "2 4 8 16"}}},
    {FAMILY_OVERLAP,
     2,
     true,
     {{"T", "1 2 3 4 6 8 10 12"},
      {"block", "4x32 8x32 16x32 4x64 8x64 16x64 4x128"},
      {"elems", "4x1 6x1 8x1 12x1 16x1 4x2 8x2"}}},
    {FAMILY_OVERLAP,
     3,
     true,
     {{"T", "1 2 3 4"},
      {"block", "4x4x32 8x4x32 4x8x32 8x8x32 4x4x64 2x8x64"},
      {"elems", "4x1x1 2x2x1 3x3x1 4x4x1 6x3x1 6x4x1"}}},
    {FAMILY_STREAM, 1, true, {{"T", "4 8 12 16 24 32"}, {"block", "32 64 128 256"}, {"elems", "2 4 8 16 32"}}},
    {FAMILY_STREAM,
     2,
     true,
     {{"T", "1 2 3 4 5 6 8 10 12 14 16"},
      {"block", "1x32 2x32 4x32 8x32"},
      {"elems", "1x1 1x2 1x4 1x8"},
      {"chunk", "64 128 256 512"},
      {"ahead", "1 2 4 6"}}},
    {FAMILY_STREAM,
     3,
     true,
     {{"T", "1 2 3 4 5"},
      {"block", "1x4x32 1x8x32 1x12x32 1x16x32 1x24x32 1x32x32"},
      {"elems", "1x1x1 1x2x1 1x1x2 1x2x2 1x1x4 1x2x4 1x3x4 1x4x2"},
      {"chunk", "32 64 128 256"},
      {"ahead", "1 2 3 4"}}},
    {FAMILY_WARPS,
     2,
     true,
     {{"T", "4 8 12 16 20 24"}, {"block", "4x32 8x32"}, {"elems", "1x10 1x12 1x14 1x20 1x28"}, {"ahead", "2 3"}}},
    {FAMILY_NAIVE, 1, false, {{"block", "4096 16384 65536"}}},
    {FAMILY_NAIVE, 2, false, {{"block", "8x1048576 64x1048576 64x1024"}}},
    {FAMILY_NAIVE, 3, false, {{"block", "16x32x1048576 4x64x1048576 32x32x512"}}},
    {FAMILY_OVERLAP, 1, false, {{"T", "1 4 8 16 32 64"}, {"block", "4096 8192 16384 32768 65536"}}},
    {FAMILY_OVERLAP,
     2,
     false,
     {{"T", "1 2 4 6 8 12 16"}, {"block", "32x512 64x256 64x512 128x256 128x512 128x1024 256x512 64x1048576"}}},
    {FAMILY_OVERLAP,
     3,
     false,
     {{"T", "1 2 3 4"}, {"block", "8x32x512 16x16x256 16x32x256 16x32x512 32x32x256 16x64x512 16x32x1048576"}}},
    {FAMILY_STREAM, 1, false, {{"T", "4 8 16 32"}, {"block", "4096 16384 65536"}}},
    {FAMILY_STREAM,
     2,
     false,
     {{"T", "2 4 8 12 16"}, {"block", "1x256 1x512 1x1024 1x2048"}, {"chunk", "64 128 256 512"}}},
    {FAMILY_STREAM,
     3,
     false,
     {{"T", "2 3 4"}, {"block", "1x16x256 1x32x256 1x32x512 1x64x256"}, {"chunk", "32 64 128"}}},
};
enum { NROWS = sizeof rows / sizeof rows[0] };

/* Number `i` of the words in `values`, or NULL if there are fewer. */
static const char *word(Arena *a, const char *values, int i) {
  for (;; i--) {
    size_t n = strcspn(values, " ");
    if (!n)
      return NULL;
    if (i == 0)
      return arena_strndup(a, values, n);
    values += n + strspn(values + n, " ");
  }
}

/* The options of the candidate at the places `at` of a row, or NULL if they are beyond the end of an axis, whose number
 * *beyond then is. */
static const char *options_at(Arena *a, const SpaceRow *row, const int *at, int *beyond) {
  Str s = {.arena = a};
  str_addf(&s, "-schedule=%s", family_name(row->family));
  for (int i = 0; i < TUNE_AXES && row->axes[i].option; i++) {
    const char *value = word(a, row->axes[i].values, at[i]);
    *beyond = i;
    if (!value)
      return NULL;
    str_addf(&s, " -%s=%s", row->axes[i].option, value);
  }
  return s.s;
}

/* Spreads the bits of a candidate's options: an order that has nothing to do with the table's, but is the same whenever
 * the tuner runs. */
static uint64_t spread(const char *s) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (; *s; s++)
    h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
  return h ^ h >> 29;
}

/* Adds the candidates of a row. */
static void add_row(SearchSpace *s, const SpaceRow *row) {
  int at[TUNE_AXES] = {0}, axis = 0, last = 0;
  while (last < TUNE_AXES - 1 && row->axes[last + 1].option)
    last++;
  for (;;) {
    const char *options = options_at(s->arena, row, at, &axis);
    if (options) {
      Candidate c = {.family = row->family, .options = options, .row = row, .order = spread(options)};
      memcpy(c.at, at, sizeof at);
      ARENA_PUSH(s->arena, s->all, s->n, c);
      at[last]++;
      continue;
    }
    if (axis == 0)
      return;
    memset(at + axis, 0, sizeof *at * (size_t)(TUNE_AXES - axis));
    at[axis - 1]++;
  }
}

void space_fill(SearchSpace *s, Arena *a, int rank, bool simt) {
  *s = (SearchSpace){.arena = a};
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < NROWS; i++) {
      if (rows[i].rank != rank || rows[i].simt != simt)
        continue;
      Candidate own = {.family = rows[i].family,
                       .own = true,
                       .options = arena_printf(a, "-schedule=%s", family_name(rows[i].family))};
      if (pass == 0)
        ARENA_PUSH(a, s->all, s->n, own);
      else
        add_row(s, &rows[i]);
    }
}

void space_drop_family(SearchSpace *s, FamilyId family, const char *why) {
  for (int i = 0; i < s->n; i++) {
    Candidate *c = &s->all[i];
    if (c->state != CANDIDATE_WAITING || c->family != family)
      continue;
    c->state = CANDIDATE_REFUSED;
    c->why = why;
  }
}

const char *schedule_option(Arena *a, const char *schedule, const char *name) {
  const char *found = strstr(schedule, name);
  if (!found)
    return "";
  found += strlen(name);
  return arena_strndup(a, found, strcspn(found, " "));
}

/* How unlike two values are, "8x32" and "4x64": how often their numbers must be doubled or halved. */
static double unlikeness(const char *x, const char *y) {
  double sum = 0;
  while (*x && *y) {
    char *end_x, *end_y;
    double a = strtod(x, &end_x), b = strtod(y, &end_y);
    if (end_x == x || end_y == y)
      break;
    sum += fabs(log2(a > 0 && b > 0 ? a / b : 1));
    x = end_x + (*end_x == 'x');
    y = end_y + (*end_y == 'x');
  }
  return sum;
}

/* The place on the axis whose value is most like `value`. */
static int nearest(Arena *a, const SpaceAxis *axis, const char *value) {
  const char *v;
  double least = INFINITY;
  int best = 0;
  for (int i = 0; (v = word(a, axis->values, i)); i++) {
    double far = unlikeness(v, value);
    if (far >= least)
      continue;
    least = far;
    best = i;
  }
  return best;
}

void space_place(const SearchSpace *s, Candidate *k) {
  for (int i = 0; i < s->n && !k->row; i++)
    if (!s->all[i].own && s->all[i].family == k->family)
      k->row = s->all[i].row;
  for (int i = 0; k->row && i < TUNE_AXES && k->row->axes[i].option; i++)
    k->at[i] = nearest(s->arena, &k->row->axes[i],
                       schedule_option(s->arena, k->schedule, arena_printf(s->arena, "-%s=", k->row->axes[i].option)));
}
