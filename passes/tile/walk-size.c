/* walk-size.c: what tiles that one thread walks come to: rows of their rings, and bytes. */
#include "passes/base/tuning.h"
#include "passes/tile/size.h"

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* `n` rounded up to a multiple of `of`. */
static int64_t round_up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

int64_t walk_width(const Launch *l, const Schedule *s, int d) {
  return d == 0 ? s->chunk : launch_width(l, d, s->block[d]);
}

int32_t walk_lines(const Launch *l) {
  int64_t most = 0;
  for (int i = 0; i < l->n; i++)
    for (int k = 0; k < l->st[i].npieces; k++) {
      int64_t ops = 0;
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        ops += op->code != OP_CONST && op->code != OP_SCALAR && op->code != OP_YIELD;
      most = larger(most, ops);
    }
  return most <= tuning.four_lines ? 4 : most <= tuning.two_lines ? 2 : 1;
}

int32_t walk_rows(const Launch *l) { return l->m->grid.rank == 2 ? walk_lines(l) : 1; }

int32_t walk_pad(const Launch *l) {
  int64_t reach = 0;
  int x = l->m->grid.rank - 1;
  for (int f = 0; f < l->m->nfields; f++)
    reach = larger(reach, larger(l->use[f].reach_lo[x], l->use[f].reach_hi[x]));
  return (int32_t)round_up(reach, ROW_CELLS);
}

int32_t walk_row(const Launch *l, int64_t width) {
  int x = l->m->grid.rank - 1;
  return row_cells(
      (int32_t)(2 * walk_pad(l) + round_up(l->hull.lo[x], ROW_CELLS) + round_up(width + l->hull.hi[x], ROW_CELLS)));
}

/* Bytes of rings under pipeline `p` and schedule `s` that have `row` cells in a row. */
static int64_t ring_bytes(const Stream *p, const Schedule *s, int64_t row) {
  const Launch *l = p->l;
  int64_t sum = 0, plane = row * (l->m->grid.rank > 2 ? s->block[1] : 1), rows = walk_rows(l);
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 1; v <= l->use[f].versions; v++)
      if (p->w[f][v].used && (v < l->use[f].versions || p->w[f][v].rows))
        sum += (rows + p->w[f][v].rows) * plane * type_size(l->m->fields[f].type);
  return sum;
}

int64_t walk_bytes(const Stream *p, const Schedule *s) {
  return ring_bytes(p, s, walk_row(p->l, larger(walk_width(p->l, s, p->l->m->grid.rank - 1), 1)));
}

bool walk_fits(const TargetInfo *t, const Stream *p, const Schedule *s) {
  for (int d = 1; d < p->l->m->grid.rank; d++)
    if (walk_width(p->l, s, d) < 1)
      return false;
  return walk_bytes(p, s) <= t->max_shared_bytes;
}
