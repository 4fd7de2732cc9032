/* backend/cards.c: the table of cards (cards.def), and its figures for passes and for the model. */
#include "backend/emit.h"

#include <ctype.h>
#include <string.h>

#define CARD(...) {__VA_ARGS__},
const Card card_table[] = {
#include "backend/cards.def"
    {0},
};

void card_measured(TargetInfo *t) {
  static const struct {
    const char *arch;
    double clock, bandwidth, cache;
    const char *source;
  } rows[] = {
#define MEASURED(...) {__VA_ARGS__},
#include "backend/cards.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].arch, t->name) == 0) {
      t->kept_clock = rows[i].clock;
      t->kept_bandwidth = rows[i].bandwidth;
      t->kept_cache = rows[i].cache;
    }
}

const Card *card_named(const char *name) {
  for (const Card *k = card_table; k->name; k++)
    if (strcmp(k->name, name) == 0)
      return k;
  return NULL;
}

/* Does `text` have `name` in it, whatever the case of letters, spaces and dashes left out? */
static bool names(const char *text, const char *name) {
  for (; *text; text++) {
    const char *t = text, *n = name;
    while (*n && *t) {
      bool skip_t = *t == ' ' || *t == '-', skip_n = *n == '-';
      if (!skip_t && !skip_n && tolower((unsigned char)*t) != *n)
        break;
      t += skip_t || !skip_n;
      n += skip_n || !skip_t;
    }
    if (!*n)
      return true;
  }
  return false;
}

const Card *card_of_device(const char *description, const char *arch) {
  const Card *best = NULL;
  for (const Card *k = card_table; k->name; k++)
    if (strcmp(k->arch, arch) == 0 && names(description, k->name) && (!best || strlen(k->name) > strlen(best->name)))
      best = k;
  return best;
}

const char *card_names(Arena *a, const char *arch) {
  Str all = {.arena = a};
  for (const Card *k = card_table; k->name; k++)
    if (!arch || strcmp(k->arch, arch) == 0)
      str_addf(&all, "%s%s", all.n ? ", " : "", k->name);
  return all.s ? all.s : "none";
}

/* Instructions of a lane that a core issues in a clock; words that its shared memory moves in a clock. */
enum { ISSUE_NVIDIA = 128, ISSUE_AMD = 64, SHARED_WORDS = 32 };

TargetInfo card_info(const Card *card, const TargetInfo *base) {
  TargetInfo t = *base;
  bool nvidia = strcmp(card->arch, "nvptx") == 0;
  double rate = card->cores * (card->mhz / 1000.0);
  t.cores = card->cores;
  t.clock = card->mhz / 1000.0;
  t.bandwidth = card->bandwidth;
  t.f32_rate = rate * card->f32_lanes;
  t.f64_rate = rate * card->f64_lanes;
  t.issue_rate = rate * (nvidia ? ISSUE_NVIDIA : ISSUE_AMD);
  t.shared_rate = rate * SHARED_WORDS;
  t.cache_bandwidth = rate * CORE_CACHE_BYTES;
  t.cache_bytes = card->cache_mib * 1048576.0;
  t.kept_cache = 0.5 * t.cache_bytes;
  return t;
}

TargetInfo card_limits(const Card *card, const TargetInfo *base) {
  TargetInfo t = card_info(card, base);
  t.cache_bandwidth = base->cache_bandwidth * t.bandwidth / base->bandwidth;
  return t;
}
