/* driver/cards.c: cards that `stc explain` knows. Facts of data sheets, each with its source; a row is all that it
 * takes to add one. */
#include "driver/explain/explain.h"

#include <ctype.h>
#include <string.h>

const Card card_table[] = {
    {"v100", "NVIDIA V100 SXM2", "nvptx", "sm_70", 80, 1530, 64, 32, 900, 6,
     "NVIDIA Tesla V100 GPU Architecture, WP-08608"},
    {"t4", "NVIDIA T4", "nvptx", "sm_75", 40, 1590, 64, 2, 320, 4,
     "NVIDIA Turing GPU Architecture, WP-09183; T4 data sheet"},
    {"a100", "NVIDIA A100 SXM 80 GB", "nvptx", "sm_80", 108, 1410, 64, 32, 2039, 40,
     "NVIDIA A100 Tensor Core GPU Architecture; A100 80 GB data sheet"},
    {"a100-40gb", "NVIDIA A100 SXM 40 GB", "nvptx", "sm_80", 108, 1410, 64, 32, 1555, 40,
     "NVIDIA A100 Tensor Core GPU Architecture"},
    {"rtx3090", "NVIDIA GeForce RTX 3090", "nvptx", "sm_86", 82, 1695, 128, 2, 936, 6,
     "NVIDIA Ampere GA102 GPU Architecture"},
    {"l40s", "NVIDIA L40S", "nvptx", "sm_89", 142, 2520, 128, 2, 864, 96,
     "NVIDIA Ada GPU Architecture; L40S data sheet"},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "nvptx", "sm_89", 128, 2520, 128, 2, 1008, 72,
     "NVIDIA Ada GPU Architecture"},
    {"h100", "NVIDIA H100 SXM5", "nvptx", "sm_90", 132, 1980, 128, 64, 3350, 50,
     "NVIDIA H100 Tensor Core GPU Architecture; H100 data sheet"},
    {"h100-pcie", "NVIDIA H100 PCIe", "nvptx", "sm_90", 114, 1755, 128, 64, 2000, 50,
     "NVIDIA H100 Tensor Core GPU Architecture; H100 data sheet"},
    {"h200", "NVIDIA H200 SXM", "nvptx", "sm_90", 132, 1980, 128, 64, 4800, 50, "NVIDIA H200 data sheet"},
    {"rtx5090", "NVIDIA GeForce RTX 5090", "nvptx", "sm_120", 170, 2407, 128, 2, 1792, 96,
     "NVIDIA RTX Blackwell GPU Architecture"},
    {"mi100", "AMD Instinct MI100", "amdgpu", "gfx908", 120, 1502, 64, 32, 1229, 8,
     "AMD CDNA Architecture white paper"},
    {"mi210", "AMD Instinct MI210", "amdgpu", "gfx90a", 104, 1700, 64, 64, 1638, 8,
     "AMD CDNA 2 Architecture white paper; MI210 data sheet"},
    {"mi250x", "AMD Instinct MI250X (one of its two dies)", "amdgpu", "gfx90a", 110, 1700, 64, 64, 1638, 8,
     "AMD CDNA 2 Architecture white paper"},
    {"mi300x", "AMD Instinct MI300X", "amdgpu", "gfx942", 304, 2100, 64, 64, 5300, 32,
     "AMD CDNA 3 Architecture white paper"},
    {"rx6900xt", "AMD Radeon RX 6900 XT", "amdgpu", "gfx1030", 80, 2250, 64, 4, 512, 4,
     "AMD RDNA 2 instruction set guide; product page"},
    {"rx7900xtx", "AMD Radeon RX 7900 XTX", "amdgpu", "gfx1100", 96, 2500, 64, 2, 960, 6,
     "AMD RDNA 3 instruction set guide; product page"},
    {0},
};

const Card *card_find(StcContext *c, Arena *a, const char *name) {
  Str all = {.arena = a};
  for (const Card *k = card_table; k->name; k++) {
    if (strcmp(k->name, name) == 0)
      return k;
    str_addf(&all, "%s%s", k == card_table ? "" : ", ", k->name);
  }
  context_error(c, "--card=%s: no such card is known; there are %s", name, all.s);
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

/* Bytes that a core gets from the largest cache in a clock: as measured on one H200, and taken for all. Instructions of
 * a lane that a core issues in a clock; words that its shared memory moves. */
static const double CACHE_BYTES = 21;
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
  t.cache_bandwidth = rate * CACHE_BYTES;
  t.cache_bytes = card->cache_mib * 1048576.0;
  return t;
}
