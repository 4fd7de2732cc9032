/* backend/negations.c: rewrites negations that the vendor's assembler would lose.
 *
 *   neg.s32 y, x;     ->     not.b32 y, x;  add.s32 y, y, 1;     in functions with min.s32, max.s32, ..
 *
 * ptxas 13.0 makes one instruction (VIMNMX3) of max(max(a, -b), c) on signed integers of 16 and 32 bits, from sm_90 on,
 * and forgets the minus of b; the same happens with min. It recognizes the negation in `neg`, `0 - b` and `b * -1`, but
 * not in ~b + 1. LLVM folds ~b + 1 to -b and makes more negations while it selects instructions (of b * -8, of b / -4),
 * so only in the text that it writes all of them can be seen. */
#define _GNU_SOURCE /* memmem */

#include "backend/emit.h"

#include <string.h>

/* Does the text [from, end) take extremes of signed integers of 16 or 32 bits? */
static bool takes_extremes(const char *from, const char *end) {
  static const char *const names[] = {"min.s32", "max.s32", "min.s16", "max.s16"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = memmem(from, (size_t)(end - from), names[i], strlen(names[i]));
    if (at)
      return true;
  }
  return false;
}

/* If the line [from, end) is "neg.s32 TO, FROM;" or "neg.s16 TO, FROM;" sets *bits to 32 or 16, and *to and *to_end to
 * where TO begins and ends. */
static bool is_negation(const char *from, const char *end, int *bits, const char **to, const char **to_end) {
  from += strspn(from, "\t ");
  if (end - from < 9 || (memcmp(from, "neg.s32", 7) != 0 && memcmp(from, "neg.s16", 7) != 0))
    return false;
  *bits = from[5] == '3' ? 32 : 16;
  *to = from + 7 + strspn(from + 7, "\t ");
  *to_end = memchr(*to, ',', (size_t)(end - *to));
  return *to_end != NULL;
}

/* Appends `n` bytes of `text` at `*out`. */
static void put(char **out, const char *text, size_t n) {
  memcpy(*out, text, n);
  *out += n;
}

/* Appends the lines [from, end) at `*out`, with each negation as ~x + 1, which takes at most three times as many
 * bytes. */
static void put_without_negations(char **out, const char *from, const char *end) {
  for (const char *next; from < end; from = next) {
    const char *stop = memchr(from, '\n', (size_t)(end - from)), *to, *to_end;
    int bits;
    next = stop ? stop + 1 : end;
    if (!is_negation(from, next, &bits, &to, &to_end)) {
      put(out, from, (size_t)(next - from));
      continue;
    }
    *out += sprintf(*out, "\tnot.b%d \t", bits);
    put(out, to, (size_t)(next - to));
    *out += sprintf(*out, "\tadd.s%d \t%.*s, %.*s, 1;\n", bits, (int)(to_end - to), to, (int)(to_end - to), to);
  }
}

/* The end of the function whose text begins at `from`: after the line "}", or `end`. */
static const char *function_end(const char *from, const char *end) {
  static const char brace[] = "\n}\n";
  const char *at = memmem(from, (size_t)(end - from), brace, sizeof brace - 1);
  return at ? at + sizeof brace - 1 : end;
}

void mend_negations(Arena *a, char **text, size_t *size) {
  char *bytes = arena_alloc(a, 3 * *size + 1), *out = bytes;
  const char *end = *text + *size;
  for (const char *at = *text, *next; at < end; at = next) {
    next = function_end(at, end);
    if (takes_extremes(at, next))
      put_without_negations(&out, at, next);
    else
      put(&out, at, (size_t)(next - at));
  }
  *out = 0;
  *text = bytes;
  *size = (size_t)(out - bytes);
}
