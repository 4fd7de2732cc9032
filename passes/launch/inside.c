/* inside.c: finds ranges and regions that lie inside others for all params.
 *
 * A search through the launch checks, which restrict the params, costs some thousand instructions, and a planner asks
 * the same questions about the same few regions for each candidate. So the answers are cached. The key is the contents
 * of the regions and never their address: the regions of a candidate are freed before the answers. */
#include "passes/launch/launch.h"

bool range_inside(Affine alo, Affine ahi, Affine lo, Affine hi) {
  int64_t below, above;
  return affine_diff(alo, lo, &below) && below >= 0 && affine_diff(hi, ahi, &above) && above >= 0;
}

/* Does launch check `k` apply whenever `box` has points? (Nothing runs on an empty grid.) */
static bool concerns(const Module *m, const Check *k, const Box *box) {
  for (int i = 0; i < MAX_UNLESS; i++)
    if (k->unless_empty[i] && !box_equal(k->unless_empty[i], box) && !box_equal(k->unless_empty[i], &m->grid))
      return false;
  return true;
}

bool always_holds(const Module *m, Affine value, const Box *box) {
  int64_t more;
  for (int i = 0; i < m->nchecks && value.n; i++) {
    const Affine *least = &m->checks[i].value;
    bool like = least->n == value.n && least->t[0].scalar == value.t[0].scalar && least->c <= value.c;
    if (like && affine_diff(value, *least, &more) && more >= 0 && concerns(m, &m->checks[i], box))
      return true;
  }
  return !value.n && value.c >= 0;
}

/* points_inside without the cache: searches the checks. */
static bool checked_inside(const Module *m, const Box *box, const Box *region, int d) {
  return always_holds(m, affine_sub(m->arena, box->lo[d], region->lo[d]), box) &&
         always_holds(m, affine_sub(m->arena, region->hi[d], box->hi[d]), box);
}

/* ---- answers that are kept */

enum {
  KEPT_PAIRS = 128, /* a power of two; a later pair may replace an earlier one */
  KEPT_TERMS = 3,   /* a box with more terms in a bound is not cached */
  FEW_CHECKS = 8    /* with fewer checks a search is as fast */
};

/* A box with its own memory for the terms of its bounds. */
typedef struct OwnBox {
  Box box;
  AffineTerm terms[2 * MAX_RANK][KEPT_TERMS];
} OwnBox;

/* A cache entry: bit d of `asked`: the question about dimension d was asked; bit d of `inside`: all points of `box` lie
 * inside `region` there. Both boxes have rank 0 at first. */
typedef struct KeptPair {
  OwnBox box, region;
  uint8_t asked, inside;
} KeptPair;

/* The cache of a module with these checks. */
struct InsideKept {
  const Check *checks;
  int32_t nchecks;
  KeptPair pair[KEPT_PAIRS];
};

void keep_inside(Module *m) {
  m->inside = NULL;
  if (m->nchecks < FEW_CHECKS)
    return;
  m->inside = ARENA_NEW(m->arena, InsideKept);
  m->inside->checks = m->checks;
  m->inside->nchecks = m->nchecks;
}

/* `h`, updated by the bounds of `box`. */
static uint64_t hash_box(uint64_t h, const Box *box) {
  for (int d = 0; d < box->rank; d++)
    h = (h * 31 + (uint64_t)box->lo[d].c) * 31 + (uint64_t)box->hi[d].c + 7 * (uint64_t)box->lo[d].n;
  return h;
}

/* `x` with its terms copied to `terms`. */
static Affine with_terms(Affine x, AffineTerm *terms) {
  for (int i = 0; i < x.n; i++)
    terms[i] = x.t[i];
  return (Affine){x.c, x.n, terms};
}

/* Makes `to` a copy of `box`. False: a bound has too many terms. */
static bool own_box(OwnBox *to, const Box *box) {
  to->box.rank = 0;
  for (int d = 0; d < box->rank; d++)
    if (box->lo[d].n > KEPT_TERMS || box->hi[d].n > KEPT_TERMS)
      return false;
  to->box.rank = box->rank;
  for (int d = 0; d < box->rank; d++) {
    to->box.lo[d] = with_terms(box->lo[d], to->terms[2 * d]);
    to->box.hi[d] = with_terms(box->hi[d], to->terms[2 * d + 1]);
  }
  return true;
}

/* The cache entry for `box` and `region`; NULL if there is none. */
static KeptPair *kept_pair(const Module *m, const Box *box, const Box *region) {
  InsideKept *k = m->inside;
  if (!k || k->checks != m->checks || k->nchecks != m->nchecks)
    return NULL;
  uint64_t h = hash_box(hash_box(0, box), region) * 0x9e3779b97f4a7c15u;
  KeptPair *p = &k->pair[(h >> 32) % KEPT_PAIRS];
  if (box_equal(&p->box.box, box) && box_equal(&p->region.box, region))
    return p;
  p->asked = p->inside = 0;
  return own_box(&p->box, box) && own_box(&p->region, region) ? p : NULL;
}

bool points_inside(const Module *m, const Box *box, const Box *region, int d) {
  const uint8_t bit = (uint8_t)(1u << d);
  KeptPair *p = kept_pair(m, box, region);
  if (!p)
    return checked_inside(m, box, region, d);
  if (!(p->asked & bit) && checked_inside(m, box, region, d))
    p->inside |= bit;
  p->asked |= bit;
  return p->inside & bit;
}

bool box_always_inside(const Module *m, const Box *box, const Box *region) {
  bool inside = true;
  for (int d = 0; d < box->rank; d++)
    inside = inside && points_inside(m, box, region, d);
  return inside;
}
