/* points.c: merges a stencil on one point, as a choice, into the stencil that computes the value which it changes (for
 * pass merge-points and frame.c). */
#include "passes/launch/launch.h"

#include <string.h>

/* The index of `field` among the `n` targets; -1 if it is none of them. */
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

/* Does `body` access fields at the point itself only? */
static bool reads_here(const Block *body, int rank) {
  for (const Op *op = body->first; op; op = op->next)
    for (int d = 0; op_reads_field(op) && d < rank; d++)
      if (op->off[d] || op_is_scaled(op))
        return false;
  return true;
}

bool stencil_is_point(const Module *m, const Stencil *st) {
  return st->npieces == 1 && !st->sweep && is_point(st->pieces) && reads_here(st->pieces[0].body, m->grid.rank);
}

/* Does `body` read a field that `st` writes? */
static bool body_reads(const Block *body, const Stencil *st) {
  for (const Op *op = body->first; op; op = op->next)
    if (op_reads_field(op) && find_target(st->ntargets, st->targets, op->sym) >= 0)
      return true;
  return false;
}

/* Must `point` stay after `st`? It must if `st` reads or writes a target of `point`, or writes a field that `point`
 * reads. */
static bool is_in_the_way(const Stencil *st, const Stencil *point) {
  for (int t = 0; t < point->ntargets; t++)
    if (find_target(st->ntargets, st->targets, point->targets[t]) >= 0)
      return true;
  for (int i = 0; i < st->npieces; i++)
    if (body_reads(st->pieces[i].body, point))
      return true;
  return body_reads(point->pieces[0].body, st);
}

/* May the code of `point` run at all points of `into`, a piece of `st`? The piece must write all targets of `point`,
 * and every other field that `point` reads must have values on the piece, which `st` must not change. */
static bool may_join(const Module *m, const Stencil *st, const Piece *into, const Piece *point) {
  for (int t = 0; t < point->ntargets; t++)
    if (find_target(into->ntargets, into->targets, point->targets[t]) < 0)
      return false;
  for (const Op *op = point->body->first; op; op = op->next) {
    if (op->code != OP_ACCESS || find_target(into->ntargets, into->targets, op->sym) >= 0)
      continue;
    if (find_target(st->ntargets, st->targets, op->sym) >= 0 ||
        !box_always_inside(m, &into->box, &m->fields[op->sym].box))
      return false;
  }
  return true;
}

/* Builds the test that the current point is that of `box`. */
static Value *build_is_there(const Module *m, Builder *b, const Box *box) {
  Value *all = NULL;
  for (int d = 0; d < box->rank; d++) {
    Value *same = build2(b, OP_EQ, build_dim(b, OP_INDEX, d), build_affine(b, m, box->lo[d]));
    all = all ? build2(b, OP_AND, all, same) : same;
  }
  return all;
}

/* Merges `point` into `into`: its ops go before the yield; reads of the piece's targets become the values yielded so
 * far; selects put its own values in their place at its point. */
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

/* Removes stencil number `n` from the step. */
static void drop(Module *m, int n) {
  memmove(&m->stencils[n], &m->stencils[n + 1], sizeof *m->stencils * (size_t)(m->nstencils - n - 1));
  m->nstencils--;
}

int point_maker(const Module *m, int n) {
  int i = n - 1;
  while (i >= 0 && !is_in_the_way(&m->stencils[i], &m->stencils[n]))
    i--;
  return i >= 0 && !m->stencils[i].sweep && m->stencils[i].stage == m->stencils[n].stage ? i : -1;
}

bool point_merge(Module *m, int n, Piece *into) {
  const Stencil *point = &m->stencils[n], *maker = &m->stencils[point_maker(m, n)];
  if (!may_join(m, maker, into, point->pieces))
    return false;
  merge(m, into, point->pieces);
  drop(m, n);
  return true;
}

bool merge_point(Module *m, int n) {
  int i = stencil_is_point(m, &m->stencils[n]) ? point_maker(m, n) : -1;
  return i >= 0 && m->stencils[i].npieces == 1 && point_merge(m, n, m->stencils[i].pieces);
}
