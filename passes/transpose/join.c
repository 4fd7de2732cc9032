/* join.c: joins equal contributions of several pieces that form a box, so that they are gathered once. For example, a
 * layer's pieces and those beside it then share a temp field on the whole grid, and the gathering stencil needs no
 * tests for their borders.
 *
 * Exception: a large piece that contributes one value to several places, with thin pieces around it (as with layers,
 * where derivatives are stretched in one dimension each), stays alone. It then has one field for all these places;
 * otherwise there would be one on the whole grid for each. */
#include "passes/transpose/gather.h"

#include "passes/base/tuning.h"

bool is_few(int64_t points, const Box *box, int d) {
  int64_t all;
  return points <= tuning.thin_across &&
         (!affine_diff(box->hi[d], box->lo[d], &all) || (double)(all + 1) >= tuning.thin_part * (double)points);
}

bool is_thin_box(const Gather *g, const Box *box) {
  bool thin = false;
  int64_t last;
  for (int d = 0; d < g->x->m->grid.rank; d++)
    thin = thin || (affine_diff(box->hi[d], box->lo[d], &last) && is_few(last + 1, &g->x->m->grid, d));
  return thin;
}

/* Are the factors, each the same at all points, computed in the same way? */
static bool same_factor(const Value *a, const Value *b) {
  if (!a || !b)
    return a == b;
  const Op *p = a->def, *q = b->def;
  bool same = p->code == q->code && a->type == b->type && p->sym == q->sym && p->noperands == q->noperands &&
              (p->code != OP_CONST || const_same(p->cval, q->cval, a->type));
  for (int i = 0; i < p->noperands && same; i++)
    same = same_factor(p->operands[i], q->operands[i]);
  return same;
}

/* Do both contributions go to the same place of the same field, with the same factor? */
static bool is_alike(const Gather *g, const Contribution *a, const Contribution *b) {
  bool same = a->field == b->field && !a->term.where && !b->term.where && a->term.base->type == b->term.base->type;
  for (int d = 0; d < g->x->m->grid.rank; d++)
    same = same && a->off[d] == b->off[d];
  return same && same_factor(a->term.factor, b->term.factor);
}

/* For each piece, the number of its contribution that is like number `i`, into `of`; -1: none. left: only contributions
 * after number `i` in the list that are not joined yet. */
static void alike(const Gather *g, int i, bool left, int *of) {
  for (int k = 0; k < g->st->npieces; k++)
    of[k] = -1;
  of[g->list[i].piece] = i;
  for (int j = left ? i + 1 : 0; j < g->n; j++)
    if (of[g->list[j].piece] < 0 && !(left && g->list[j].joined) && is_alike(g, &g->list[i], &g->list[j]))
      of[g->list[j].piece] = j;
}

/* Does piece `k` of those in `of` contribute the same value to another place, too, to which other pieces of `of`
 * contribute another value than they do here? */
static bool shares(const Gather *g, const int *of, int k) {
  int *other = ARENA_ARRAY(g->x->a, int, g->st->npieces + 1);
  for (int j = 0; j < g->n; j++) {
    const Contribution *c = &g->list[j];
    if (c->piece != k || j == of[k] || c->field < 0 || g->own[c->field] || c->term.where ||
        c->term.base != g->list[of[k]].term.base)
      continue;
    alike(g, j, false, other);
    for (int q = 0; q < g->st->npieces; q++)
      if (of[q] >= 0 && other[q] >= 0 && g->list[of[q]].term.base != g->list[other[q]].term.base)
        return true;
  }
  return false;
}

/* The piece of those in `of` that should stay alone, -1: none. */
static int loner(const Gather *g, const int *of) {
  int large = -1, nlarge = 0, nthin = 0;
  for (int k = 0; k < g->st->npieces; k++) {
    bool thin = of[k] >= 0 && is_thin_box(g, g->undo[k].box);
    nthin += thin;
    nlarge += of[k] >= 0 && !thin;
    large = of[k] >= 0 && !thin ? k : large;
  }
  return nlarge == 1 && nthin && shares(g, of, large) ? large : -1;
}

/* Marks in `has` pieces of those in `of`, among them `first`, that form a box: all; or, if piece `alone` stays out,
 * those that have the same range in one dimension. False: there is none besides `first`. */
static bool together(const Gather *g, const int *of, int first, int alone, bool *has, Box *box) {
  int n = g->st->npieces, rank = g->x->m->grid.rank;
  for (int d = alone < 0 ? -1 : 0; d < (alone < 0 ? 0 : rank); d++) {
    const Box *own = g->undo[first].box;
    int count = 0;
    for (int k = 0; k < n; k++) {
      const Box *other = g->undo[k].box;
      has[k] = of[k] >= 0 && k != alone &&
               (d < 0 || (affine_equal(own->lo[d], other->lo[d]) && affine_equal(own->hi[d], other->hi[d])));
      count += has[k];
    }
    if (count > 1 && pieces_box(g->x->m, g->st, has, box))
      return true;
  }
  return false;
}

void gather_join(Gather *g) {
  int npieces = g->st->npieces, *of = ARENA_ARRAY(g->x->a, int, npieces + 1);
  bool *has = ARENA_ARRAY(g->x->a, bool, npieces + 1);
  for (int i = 0; i < g->n; i++) {
    g->list[i].over = g->undo[g->list[i].piece].box;
    g->list[i].bases = ARENA_ARRAY(g->x->a, const Value *, npieces + 1);
    g->list[i].bases[g->list[i].piece] = g->list[i].term.base;
  }
  for (int i = 0; i < g->n; i++) {
    Contribution *c = &g->list[i];
    if (npieces < 2 || c->field < 0 || g->own[c->field] || c->joined)
      continue;
    Box *box = ARENA_NEW(g->x->a, Box);
    alike(g, i, false, of);
    int alone = loner(g, of);
    alike(g, i, true, of);
    if (alone == c->piece || !together(g, of, c->piece, alone, has, box))
      continue;
    c->over = box;
    for (int k = 0; k < npieces; k++)
      if (has[k] && of[k] != i) {
        c->bases[k] = g->list[of[k]].term.base;
        g->list[of[k]].joined = true;
      }
  }
}
