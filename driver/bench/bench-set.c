/* driver/bench/bench-set.c: chooses the programs, types and sizes that `stc bench` measures. */
#include "driver/bench/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sizes for GPUs, for the CPU and for the simulator, each ended by rank 0. --quick uses the first size of a rank. */
static const BenchSize gpu_sizes[] = {{1, {268435456}, false},
                                      {2, {16384, 16384}, false},
                                      {2, {512, 512}, true},
                                      {3, {512, 512, 512}, false},
                                      {3, {768, 768, 768}, false},
                                      {3, {128, 128, 128}, true},
                                      {0}};
static const BenchSize host_sizes[] = {{1, {16777216}, false},      {2, {4096, 4096}, false},   {2, {512, 512}, true},
                                       {3, {256, 256, 256}, false}, {3, {128, 128, 128}, true}, {0}};
static const BenchSize sim_sizes[] = {{1, {2000}, true}, {2, {48, 96}, true}, {3, {12, 14, 48}, true}, {0}};

/* The table for a device. */
static const BenchSize *default_sizes(const DeviceKind *k) {
  return k->whole ? sim_sizes : strcmp(k->name, "host") == 0 ? host_sizes : gpu_sizes;
}

const char *bench_size_text(Arena *a, const BenchSize *s) {
  Str text = {.arena = a};
  for (int d = 0; d < s->rank; d++)
    str_addf(&text, d ? "x%" PRId64 : "%" PRId64, s->extents[d]);
  return text.s;
}

/* The next word of the comma-separated list at *s, which is advanced after it; NULL at the end. */
static const char *next_word(Arena *a, const char **s) {
  if (!**s)
    return NULL;
  size_t n = strcspn(*s, ",");
  const char *word = arena_strndup(a, *s, n);
  *s += n + ((*s)[n] == ',');
  return word;
}

/* Chooses the programs that --programs names, or all. */
static StcStatus choose_programs(const Command *c, BenchSet *out) {
  const char *names[64], *list = c->bench_programs, *word;
  int n = 0;
  for (const BenchProgram *p = bench_programs; p->name; p++) {
    if (n < 63)
      names[n++] = p->name;
    if (!list)
      ARENA_PUSH(c->arena, out->programs, out->nprograms, p);
  }
  names[n] = NULL;
  while (list && (word = next_word(c->arena, &list))) {
    const BenchProgram *p = bench_programs;
    while (p->name && strcmp(p->name, word) != 0)
      p++;
    const char *near = p->name ? NULL : near_match(word, names);
    if (!p->name)
      return context_error(c->context, "--programs: the bench has no program '%s'%s%s%s", word, near ? "; is '" : "",
                           near ? near : "", near ? "' meant?" : ""),
             STC_USAGE;
    ARENA_PUSH(c->arena, out->programs, out->nprograms, p);
  }
  return STC_OK;
}

/* Chooses the types that --types names, or both. */
static StcStatus choose_types(const Command *c, BenchSet *out) {
  const char *list = c->bench_types ? c->bench_types : "f32,f64", *word;
  while ((word = next_word(c->arena, &list))) {
    if (strcmp(word, "f32") != 0 && strcmp(word, "f64") != 0)
      return context_error(c->context, "--types: '%s' is neither f32 nor f64", word), STC_USAGE;
    ARENA_PUSH(c->arena, out->types, out->ntypes, word);
  }
  return STC_OK;
}

/* Reads "16384x16384" into *out. */
static bool parse_size(const char *text, BenchSize *out) {
  *out = (BenchSize){0};
  for (const char *s = text; out->rank < MAX_RANK;) {
    char *end;
    long long n = strtoll(s, &end, 10);
    if (end == s || n < 1 || n > INT64_C(1) << 40)
      return false;
    out->extents[out->rank++] = n;
    if (!*end)
      return true;
    if (*end != 'x')
      return false;
    s = end + 1;
  }
  return false;
}

/* Chooses sizes of the device's table: only large or only small ones, or for a quick run the first of each rank. */
static void take_defaults(const Command *c, const DeviceKind *k, bool large, bool small, BenchSet *out) {
  int seen = 0;
  for (const BenchSize *s = default_sizes(k); s->rank; s++) {
    bool first = s->rank != seen;
    seen = s->rank;
    if ((c->quick && !first) || !(s->small ? small || k->whole : large))
      continue;
    ARENA_PUSH(c->arena, out->sizes, out->nsizes, *s);
  }
}

/* Chooses the sizes that --size names, or the device's. */
static StcStatus choose_sizes(const Command *c, const DeviceKind *k, BenchSet *out) {
  const char *list = c->bench_sizes, *word;
  if (!list)
    take_defaults(c, k, true, true, out);
  while (list && (word = next_word(c->arena, &list))) {
    BenchSize size;
    bool large = strcmp(word, "large") == 0, small = strcmp(word, "small") == 0;
    if (large || small)
      take_defaults(c, k, large, small, out);
    else if (!parse_size(word, &size))
      return context_error(c->context,
                           "--size: '%s' is no size; write large, small, or extents such as 4096x4096 or 256x256x256",
                           word),
             STC_USAGE;
    else
      ARENA_PUSH(c->arena, out->sizes, out->nsizes, size);
  }
  return STC_OK;
}

StcStatus bench_set_choose(const Command *c, const DeviceKind *k, BenchSet *out) {
  *out = (BenchSet){0};
  StcStatus s = choose_programs(c, out);
  if (!s)
    s = choose_types(c, out);
  return s ? s : choose_sizes(c, k, out);
}
