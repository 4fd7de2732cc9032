/* merge-points.c: a stencil on one point right behind the stencil that makes what it changes becomes a part of that
 * one, a choice at the point:
 *
 *   stencil wave(p)[G]      p = W                    stencil wave(p)[G]   p = select(idx == [z, x], W + src, W)
 *   stencil shot(p)[z, x]   p = p + src       ->
 *
 * A point source is such a stencil. By itself it is a stage of the step like any other, over all tiles: a launch in
 * family naive, an array or a barrier more in others, and none of the values that it does not change stay in registers.
 *
 * Merged is what changes no value: the point lies in one piece of the other stencil whatever the params are, which sets
 * all that the stencil sets; of that it reads the point alone, and everything else it reads at the point too, from
 * fields that neither that stencil nor one in between writes. Nobody in between reads or writes what it sets. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <string.h>

/* The pass at work on module `m`, whose stencils are its own; cut: the cut that the user asks for, NULL: none. */
typedef struct Merge {
  Module *m;
  const char *cut;
} Merge;

/* Is `name` in the cut "a+b,c"? What the user names stays a stencil by itself. */
static bool is_named(const char *cut, const char *name) {
  size_t n = strlen(name);
  for (const char *s = cut; s; s = strpbrk(s, "+,") ? strpbrk(s, "+,") + 1 : NULL)
    if (strncmp(s, name, n) == 0 && (!s[n] || strchr("+,", s[n])))
      return true;
  return false;
}

/* The number of `field` among the `n` targets, -1: it is none of them. */
static int find_target(int n, const int32_t *targets, int32_t field) {
  for (int t = 0; t < n; t++)
    if (targets[t] == field)
      return t;
  return -1;
}

/* Is `p` a piece on a single point? */
static bool is_point(const Piece *p) {
  for (int d = 0; d < p->box.rank; d++)
    if (!affine_equal(p->box.lo[d], p->box.hi[d]))
      return false;
  return true;
}

/* Is each access of `body` at the point itself? */
static bool reads_here(const Block *body, int rank) {
  for (const Op *op = body->first; op; op = op->next)
    for (int d = 0; op->code == OP_ACCESS && d < rank; d++)
      if (op->off[d])
        return false;
  return true;
}

bool stencil_is_point(const Module *m, const Stencil *st) {
  return st->npieces == 1 && is_point(st->pieces) && reads_here(st->pieces[0].body, m->grid.rank);
}

/* Does `body` read a field that `st` sets? */
static bool body_reads(const Block *body, const Stencil *st) {
  for (const Op *op = body->first; op; op = op->next)
    if (op->code == OP_ACCESS && find_target(st->ntargets, st->targets, op->sym) >= 0)
      return true;
  return false;
}

/* Does `st` read or set what `point` sets, or set what that reads? Then that cannot go before it. */
static bool is_in_the_way(const Stencil *st, const Stencil *point) {
  for (int t = 0; t < point->ntargets; t++)
    if (find_target(st->ntargets, st->targets, point->targets[t]) >= 0)
      return true;
  for (int i = 0; i < st->npieces; i++)
    if (body_reads(st->pieces[i].body, point))
      return true;
  return body_reads(point->pieces[0].body, st);
}

/* Does `x` lie inside of `y`, for all params that the launch checks let pass? */
static bool lies_inside(const Module *m, const Box *x, const Box *y) {
  bool inside = true;
  for (int d = 0; d < x->rank; d++)
    inside = inside && points_inside(m, x, y, d);
  return inside;
}

/* The piece of `st` in which the point of `point` lies for all params, NULL: none is known to be that. */
static Piece *piece_around(const Module *m, const Stencil *st, const Piece *point) {
  for (int i = 0; i < st->npieces; i++)
    if (lies_inside(m, &point->box, &st->pieces[i].box))
      return &st->pieces[i];
  return NULL;
}

/* May what `point` computes be computed on all of `into`, a piece of `st`: does that set all that it sets, and has each
 * other field that it reads a value there that `st` does not change? */
static bool may_join(const Module *m, const Stencil *st, const Piece *into, const Piece *point) {
  for (int t = 0; t < point->ntargets; t++)
    if (find_target(into->ntargets, into->targets, point->targets[t]) < 0)
      return false;
  for (const Op *op = point->body->first; op; op = op->next) {
    if (op->code != OP_ACCESS || find_target(into->ntargets, into->targets, op->sym) >= 0)
      continue;
    if (find_target(st->ntargets, st->targets, op->sym) >= 0 || !lies_inside(m, &into->box, &m->fields[op->sym].box))
      return false;
  }
  return true;
}

/* The stencil before number `n` that number `n` can be merged into, and its piece; NULL: there is none. */
static Piece *find_maker(const Merge *x, int n) {
  const Stencil *st = x->m->stencils, *point = &st[n];
  if (!stencil_is_point(x->m, point) || is_named(x->cut, point->name))
    return NULL;
  int i = n - 1;
  while (i >= 0 && !is_in_the_way(&st[i], point))
    i--;
  Piece *into = i < 0 ? NULL : piece_around(x->m, &st[i], point->pieces);
  return into && may_join(x->m, &st[i], into, point->pieces) ? into : NULL;
}

/* "The point in hand is that of `box`", before `at`. */
static Value *build_is_there(const Module *m, Builder *b, const Box *box) {
  Value *all = NULL;
  for (int d = 0; d < box->rank; d++) {
    Value *same = build2(b, OP_EQ, build_dim(b, OP_INDEX, d), build_affine(b, m, box->lo[d]));
    all = all ? build2(b, OP_AND, all, same) : same;
  }
  return all;
}

/* Merges `point` into `into`: its ops go before the yield, what it reads of the piece's targets are the values yielded
 * so far, and at the point its own values take their places. */
static void merge(const Module *m, Piece *into, const Piece *point) {
  Block *body = into->body, *copy = block_clone(m->arena, point->body, NULL, NULL);
  Op *yield = body->last, *last = copy->last;
  Builder b = builder_before(m->arena, yield);
  b.loc = point->loc;
  Value *there = build_is_there(m, &b, &point->box);
  for (Op *op = copy->first, *next; op; op = next) {
    int t = op->code == OP_ACCESS ? find_target(into->ntargets, into->targets, op->sym) : -1;
    next = op->next;
    if (op != last)
      op_unlink(op);
    if (t >= 0)
      block_replace_uses(copy, op->results[0], yield->operands[t]);
    else if (op != last)
      op_insert(body, yield, op);
  }
  for (int i = 0; i < last->noperands; i++) {
    Value **old = &yield->operands[find_target(into->ntargets, into->targets, point->targets[i])];
    *old = build3(&b, OP_SELECT, there, last->operands[i], *old);
  }
}

/* Copies the list of stencils: other modules may share it. */
static void own_stencils(Module *m) {
  Stencil *own = ARENA_ARRAY(m->arena, Stencil, m->nstencils + 1);
  memcpy(own, m->stencils, sizeof *own * (size_t)m->nstencils);
  m->stencils = own;
}

/* Takes stencil number `n` out of the step. */
static void drop(Module *m, int n) {
  memmove(&m->stencils[n], &m->stencils[n + 1], sizeof *m->stencils * (size_t)(m->nstencils - n - 1));
  m->nstencils--;
}

bool merge_point(Module *m, int n) {
  const Stencil *point = &m->stencils[n];
  int i = n - 1;
  if (!stencil_is_point(m, point))
    return false;
  while (i >= 0 && !is_in_the_way(&m->stencils[i], point))
    i--;
  Piece *into = i >= 0 && m->stencils[i].npieces == 1 ? m->stencils[i].pieces : NULL;
  if (!into || !may_join(m, &m->stencils[i], into, point->pieces))
    return false;
  merge(m, into, point->pieces);
  drop(m, n);
  return true;
}

/* The pass: the whole step. */
Module *pass_merge_points(PassContext *c, Module *m, int n, const PassOption *o) {
  Merge x = {m, c->schedule ? c->schedule->fuse : NULL};
  int merged = 0;
  (void)n, (void)o;
  if (m->time_tile > 1 || m->nstencils < 2)
    return m;
  module_renumber(m);
  own_stencils(m);
  for (int i = 1; i < m->nstencils; i++) {
    Piece *into = find_maker(&x, i);
    if (!into)
      continue;
    merge(m, into, m->stencils[i].pieces);
    drop(m, i--);
    merged++;
  }
  pass_stat(c, merged, "merge-points", "stencils on a point merged into those before them");
  return m;
}
