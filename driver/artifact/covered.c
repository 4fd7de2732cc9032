/* driver/artifact/covered.c: C text, for headers, that checks whether boxes contain all points that are read
 * (ir/run/covered.c). */
#include "driver/artifact/artifact.h"

/* Adds the bounds of `b`: lo and hi of each dimension, with a comma before each. */
static void bounds(Str *s, const Module *m, const Box *b, const char *prefix) {
  for (int d = 0; d < b->rank; d++)
    str_addf(s, ", %s, %s", affine_c_text(s->arena, m, b->lo[d], prefix), affine_c_text(s->arena, m, b->hi[d], prefix));
}

/* The number of rule `r` in stc_images, which maps coordinates into a region. The compiler warns about a rule that is
 * missing here. */
static int image_code(OutsideRule r) {
  switch (r) {
  case OUTSIDE_CLAMP: return 1;
  case OUTSIDE_PERIODIC: return 2;
  case OUTSIDE_CONST: return 3;
  case OUTSIDE_MIRROR:
  case OUTSIDE_HALF:
  case OUTSIDE_CLAMP_MIRROR:
  case OUTSIDE_CLAMP_HALF:
  case OUTSIDE_MIRROR_CLAMP:
  case OUTSIDE_MIRROR_HALF:
  case OUTSIDE_HALF_CLAMP:
  case OUTSIDE_HALF_MIRROR: {
    const Reflects by = map_reflects(outside_map(r));
    return 16 + by.end[0] + 2 * by.end[1] + 4 * by.half[0] + 8 * by.half[1];
  }
  case OUTSIDE_NONE:
  case OUTSIDE_ALL:
  case OUTSIDE_RULES: break;
  }
  return 0;
}

/* The rules of all dimensions packed into one number, one byte each. */
static int image_codes(const Covered *c) {
  int all = 0;
  for (int d = 0; d < c->need.rank; d++)
    all |= image_code(c->rule[d]) << 8 * d;
  return all;
}

char *covered_c_text(Arena *a, const Module *m, const Covered *c, const char *prefix) {
  Str s = {a, NULL, 0, 0};
  str_addf(&s, "stc_covered(%d, %d, %d", c->need.rank, image_codes(c), (int)c->n);
  bounds(&s, m, &c->need, prefix);
  bounds(&s, m, &c->within, prefix);
  for (int i = 0; i < c->n; i++)
    bounds(&s, m, &c->by[i], prefix);
  str_add(&s, ")");
  return s.s;
}

const char c_covered[] =
    "#ifndef STC_COVERED\n"
    "#define STC_COVERED\n"
    "#include <stdarg.h>\n"
    "/* x modulo n > 0, from 0 on. */\n"
    "static inline int64_t stc_mod(int64_t x, int64_t n) { return (x % n + n) % n; }\n"
    "/* x reflected at the lower (1) and the upper end (2) of lo .. hi, about half a point beyond it (4, 8), and kept "
    "in "
    "it\n   at another end. */\n"
    "static inline int64_t stc_reflect(int by, int64_t x, int64_t lo, int64_t hi) {\n"
    "  int64_t n = hi - lo, low = by >> 2 & 1, high = by >> 3 & 1, r = x - lo;\n"
    "  if (hi <= lo) return lo;\n"
    "  if ((by & 3) == 3) {\n"
    "    r = stc_mod(r, 2 * n + low + high);\n"
    "    return lo + (r <= n ? r : 2 * n + high - r);\n"
    "  }\n"
    "  if (r < 0 && by & 1) r = -r - low;\n"
    "  else if (r > n && by & 2) r = 2 * n + high - r;\n"
    "  return lo + stc_imin(stc_imax(r, 0), n);\n"
    "}\n"
    "/* Do the n boxes at `by` together hold the box s? A box is lo and hi, inclusive, of each dimension. */\n"
    "static inline bool stc_holds(int rank, int n, const int64_t *by, const int64_t *s) {\n"
    "  int64_t left[8], part[8];\n"
    "  int d;\n"
    "  for (d = 0; d < rank; d++)\n"
    "    if (s[2 * d + 1] < s[2 * d]) return true;\n"
    "  if (n == 0) return false;\n"
    "  for (d = 0; d < rank; d++)\n"
    "    if (by[2 * d] > s[2 * d + 1] || by[2 * d + 1] < s[2 * d] || by[2 * d + 1] < by[2 * d])\n"
    "      return stc_holds(rank, n - 1, by + 2 * rank, s);\n"
    "  memcpy(left, s, 2 * (size_t)rank * sizeof *s);\n"
    "  for (d = 0; d < rank; d++) {\n"
    "    memcpy(part, left, sizeof part);\n"
    "    part[2 * d + 1] = by[2 * d] - 1;\n"
    "    if (!stc_holds(rank, n - 1, by + 2 * rank, part)) return false;\n"
    "    memcpy(part, left, sizeof part);\n"
    "    part[2 * d] = by[2 * d + 1] + 1;\n"
    "    if (!stc_holds(rank, n - 1, by + 2 * rank, part)) return false;\n"
    "    left[2 * d] = stc_imax(left[2 * d], by[2 * d]);\n"
    "    left[2 * d + 1] = stc_imin(left[2 * d + 1], by[2 * d + 1]);\n"
    "  }\n"
    "  return true;\n"
    "}\n"
    "/* The points x[0] .. x[1], not none, mapped into lo .. hi by the outside rule (1 clamp, 2 periodic, 3 a\n"
    "   constant: what is beyond is left out, from 16 on as stc_reflect): one interval in x, or two, the second in "
    "x[2] .. x[3]. Their number. "
    "*/\n"
    "static inline int stc_images(int rule, int64_t lo, int64_t hi, int64_t *x) {\n"
    "  const int64_t a = x[0], b = x[1];\n"
    "  if (rule == 0 || (a >= lo && b <= hi)) return 1;\n"
    "  if (rule == 1) {\n"
    "    x[0] = stc_imin(stc_imax(a, lo), hi);\n"
    "    x[1] = stc_imin(stc_imax(b, lo), hi);\n"
    "  } else if (rule >= 16) {\n"
    "    const bool both = (rule & 3) == 3;\n"
    "    const int64_t n = both ? 2 * (hi - lo) + (rule >> 2 & 1) + (rule >> 3 & 1) : 0, t = n ? (a - lo) / n : 0;\n"
    "    int k;\n"
    "    x[0] = hi;\n"
    "    x[1] = lo;\n"
    "    for (k = 0; k < 10; k++) {\n"
    "      const int64_t p = k == 0 ? a : k == 1 ? b : (k % 2 ? hi : lo) + (t - 1 + k / 2 - 1) * n;\n"
    "      const int64_t q = stc_reflect(rule, p, lo, hi);\n"
    "      if (p >= a && p <= b) x[0] = stc_imin(x[0], q);\n"
    "      if (p >= a && p <= b) x[1] = stc_imax(x[1], q);\n"
    "    }\n"
    "    if (both && b - a > 2 * (hi - lo) + 1) x[0] = lo, x[1] = hi;\n"
    "  } else if (rule == 2 && b - a >= hi - lo) {\n"
    "    x[0] = lo;\n"
    "    x[1] = hi;\n"
    "  } else if (rule == 2) {\n"
    "    x[0] = lo + stc_mod(a - lo, hi - lo + 1);\n"
    "    x[3] = lo + stc_mod(b - lo, hi - lo + 1);\n"
    "    x[2] = lo;\n"
    "    x[1] = x[0] <= x[3] ? x[3] : hi;\n"
    "    return x[0] <= x[3] ? 1 : 2;\n"
    "  } else {\n"
    "    x[0] = stc_imax(a, lo);\n"
    "    x[1] = stc_imin(b, hi);\n"
    "    return x[0] <= x[1];\n"
    "  }\n"
    "  return 1;\n"
    "}\n"
    "/* Do the n boxes, from the third on, hold the points into which the outside rule brings those of the first box "
    "about the\n"
    "   second? Bounds are within 2^61; a byte of `rule` is the rule of a dimension. */\n"
    "static inline bool stc_covered(int rank, int rule, int n, ...) {\n"
    "  int64_t x[4][4], part[8], box[8 * 258];\n"
    "  int count[4] = {1, 1, 1, 1}, d, i;\n"
    "  va_list ap;\n"
    "  va_start(ap, n);\n"
    "  for (i = 0; i < 2 * rank * (n + 2); i++)\n"
    "    box[i] = va_arg(ap, int64_t);\n"
    "  va_end(ap);\n"
    "  for (i = 0; i < 2 * rank * (n + 2); i++)\n"
    "    if (box[i] > INT64_C(1) << 61 || box[i] < -(INT64_C(1) << 61)) return false;\n"
    "  for (d = 0; d < rank; d++) {\n"
    "    const int64_t *w = box + 2 * rank;\n"
    "    if (box[2 * d + 1] < box[2 * d] || (rule && w[2 * d + 1] < w[2 * d])) return true;\n"
    "  }\n"
    "  for (d = 0; d < rank; d++) {\n"
    "    memcpy(x[d], box + 2 * d, 2 * sizeof *box);\n"
    "    count[d] = stc_images(rule >> 8 * d & 255, box[2 * rank + 2 * d], box[2 * rank + 2 * d + 1], x[d]);\n"
    "  }\n"
    "  for (i = 0; i < 1 << rank; i++) {\n"
    "    bool there = true;\n"
    "    for (d = 0; d < rank; d++) {\n"
    "      there = there && (i >> d & 1) < count[d];\n"
    "      if (there) memcpy(part + 2 * d, x[d] + 2 * (i >> d & 1), 2 * sizeof *part);\n"
    "    }\n"
    "    if (there && !stc_holds(rank, n, box + 4 * rank, part)) return false;\n"
    "  }\n"
    "  return true;\n"
    "}\n"
    "#endif\n";
