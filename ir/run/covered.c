/* ir/run/covered.c: decides, under given params, whether a set of boxes contains all points that are read. */
#include "ir/ir.h"

/* The bounds of a box as numbers, both inclusive. */
typedef struct Span {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Span;

/* Evaluates the bounds of `b`. False if they are beyond 2^61, because then their sums would not fit. */
static bool span_of(const Box *b, const Const *scalars, Span *out) {
  const int64_t limit = (int64_t)1 << 61;
  bool overflow = false;
  for (int d = 0; d < b->rank; d++) {
    int64_t lo = out->lo[d] = affine_eval(b->lo[d], scalars, &overflow);
    int64_t hi = out->hi[d] = affine_eval(b->hi[d], scalars, &overflow);
    overflow = overflow || lo < -limit || lo > limit || hi < -limit || hi > limit;
  }
  return !overflow;
}

/* Has it no points? */
static bool is_empty(const Span *s, int rank) {
  for (int d = 0; d < rank; d++)
    if (s->hi[d] < s->lo[d])
      return true;
  return false;
}

/* Replaces the interval *from .. *to by the least interval that contains its image under op `map`, a reflection about
 * [lo, hi]. It is computed from the images of the ends and of the points between them that map to an edge; if the ends
 * are far enough apart, it is all of [lo, hi]. */
static void mirrored(Opcode map, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  int64_t first = hi, last = lo, length = hi - lo;
  const Reflects by = map_reflects(map);
  if (by.end[0] && by.end[1] && *to - *from > 2 * length + 1) {
    *from = lo;
    *to = hi;
    return;
  }
  const int64_t period = by.end[0] && by.end[1] ? 2 * length + by.half[0] + by.half[1] : 0,
                turns = period ? (*from - lo) / period : 0;
  int64_t at[10] = {*from, *to};
  for (int k = 0; k < 4; k++) {
    at[2 + 2 * k] = lo + (turns - 1 + k) * period;
    at[3 + 2 * k] = hi + (turns - 1 + k) * period;
  }
  for (int k = 0; k < 10; k++) {
    int64_t x = eval_map(map, at[k], lo, hi);
    if (at[k] < *from || at[k] > *to)
      continue;
    first = x < first ? x : first;
    last = x > last ? x : last;
  }
  *from = first;
  *to = last;
}

/* Computes the image of the interval from .. to under `rule` about [lo, hi]: at most two intervals. Returns their
 * number. Neither of the given intervals is empty. */
static int images(OutsideRule rule, int64_t lo, int64_t hi, int64_t from, int64_t to, int64_t first[2],
                  int64_t last[2]) {
  bool inside = from >= lo && to <= hi;
  first[0] = from;
  last[0] = to;
  if (rule == OUTSIDE_CONST) {
    first[0] = from > lo ? from : lo;
    last[0] = to < hi ? to : hi;
    return first[0] <= last[0];
  }
  if (rule == OUTSIDE_NONE || inside)
    return 1;
  if (rule == OUTSIDE_CLAMP) {
    first[0] = eval_map(OP_CLAMP, from, lo, hi);
    last[0] = eval_map(OP_CLAMP, to, lo, hi);
  } else if (rule != OUTSIDE_PERIODIC) {
    mirrored(outside_map(rule), lo, hi, &first[0], &last[0]);
  } else if (to - from >= hi - lo) {
    first[0] = lo;
    last[0] = hi;
  } else {
    first[0] = eval_map(OP_WRAP, from, lo, hi);
    last[1] = eval_map(OP_WRAP, to, lo, hi);
    last[0] = first[0] <= last[1] ? last[1] : hi;
    first[1] = lo;
    return first[0] <= last[1] ? 1 : 2;
  }
  return 1;
}

/* Do the boxes `by` of `c`, from number `i` on, contain all of `s`? If not, `missing` is a point that none contains.
 * For each box, the rest of s is cut into slabs below and above the box, one dimension after the other. */
static bool holds_from(const Covered *c, const Span *by, int i, Span s, int64_t *missing) {
  int rank = c->need.rank;
  bool apart = false;
  for (int d = 0; d < rank; d++)
    missing[d] = s.lo[d];
  if (is_empty(&s, rank))
    return true;
  if (i == c->n)
    return false;
  for (int d = 0; d < rank; d++)
    apart = apart || by[i].lo[d] > s.hi[d] || by[i].hi[d] < s.lo[d] || by[i].hi[d] < by[i].lo[d];
  if (apart)
    return holds_from(c, by, i + 1, s, missing);
  for (int d = 0; d < rank; d++) {
    Span below = s, above = s;
    below.hi[d] = by[i].lo[d] - 1;
    above.lo[d] = by[i].hi[d] + 1;
    if (!holds_from(c, by, i + 1, below, missing) || !holds_from(c, by, i + 1, above, missing))
      return false;
    s.lo[d] = s.lo[d] > by[i].lo[d] ? s.lo[d] : by[i].lo[d];
    s.hi[d] = s.hi[d] < by[i].hi[d] ? s.hi[d] : by[i].hi[d];
  }
  return true;
}

/* Do the boxes contain the images of all points of `need` under the rule of `c` about `within`? Neither box is empty.
 */
static bool holds_images(const Covered *c, const Span *by, const Span *need, const Span *within, int64_t *missing) {
  int rank = c->need.rank, count[MAX_RANK];
  int64_t first[MAX_RANK][2], last[MAX_RANK][2];
  for (int d = 0; d < rank; d++)
    count[d] = images(c->rule[d], within->lo[d], within->hi[d], need->lo[d], need->hi[d], first[d], last[d]);
  for (int i = 0; i < 1 << rank; i++) {
    Span part = *need;
    bool there = true;
    for (int d = 0; d < rank; d++) {
      int k = i >> d & 1;
      there = there && k < count[d];
      part.lo[d] = there ? first[d][k] : 0;
      part.hi[d] = there ? last[d][k] : 0;
    }
    if (there && !holds_from(c, by, 0, part, missing))
      return false;
  }
  return true;
}

int covered_holds(const Covered *c, const Const *scalars, int64_t missing[MAX_RANK]) {
  Span need, within, by[MAX_COVERED];
  bool fits = span_of(&c->need, scalars, &need) && span_of(&c->within, scalars, &within);
  for (int i = 0; i < c->n && fits; i++)
    fits = span_of(&c->by[i], scalars, &by[i]);
  if (!fits)
    return -1;
  if (is_empty(&need, c->need.rank) || (c->rule[0] != OUTSIDE_NONE && is_empty(&within, c->need.rank)))
    return 1;
  return holds_images(c, by, &need, &within, missing);
}
