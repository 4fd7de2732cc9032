/* walk-cost.c: the time that tiles which one thread walks are expected to take (lower-walk.c), and the best of them.
 *
 * A core computes, moves what it must from and to memory, and waits for rows that its second-level cache no longer has;
 * of the three hardly anything was seen to overlap. */
#include "passes/plan/walk.h"
#include "passes/plan/estimate.h"
#include "passes/plan/tuning.h"

#include <math.h>

/* What a walk is asked about: a pipeline, a tile, a grid (size 0: large), and for each dimension how many tiles there
 * are for a point. */
typedef struct WalkCost {
  const TargetInfo *t;
  const Stream *p;
  const Schedule *s;
  double per[MAX_RANK];
} WalkCost;

/* Points computed in dimensions 0 to before `rank` for each that is given out, with `lo` and `hi` more about each
 * tile. */
static double area(const WalkCost *c, const int64_t *lo, const int64_t *hi, int rank) {
  double product = 1;
  for (int d = 0; d < rank; d++)
    product *= 1 + (double)(lo[d] + hi[d]) * c->per[d];
  return product;
}

/* What the main piece of `st` computes at a point, and the accesses there. */
static void piece_work(const Module *m, const Stencil *st, double *additions, double *accesses) {
  *additions = *accesses = 0;
  for (const Op *op = main_piece(m->arena, st)->body->first; op; op = op->next) {
    *additions += op_additions(op);
    *accesses += op->code == OP_ACCESS;
  }
}

/* Nanoseconds a point that a core computes. */
static double compute_ns(const WalkCost *c) {
  const Launch *l = c->p->l;
  int rank = l->m->grid.rank, x = rank - 1;
  double sum = 0;
  for (int i = 0; i < l->n; i++) {
    const Stencil *st = &l->st[i];
    bool wide = type_size(l->m->fields[st->targets[0]].type) > 4;
    double additions, accesses, per = wide ? c->t->f64_rate : c->t->f32_rate;
    piece_work(l->m, st, &additions, &accesses);
    double point =
        tuning.core_point * (wide ? 2 : 1) + tuning.core_slower * fmax(additions, accesses) * c->t->cores / per;
    sum += point * area(c, st->extent.lo, st->extent.hi, rank) +
           tuning.core_line[x] / walk_lines(l) * c->per[x] * area(c, st->extent.lo, st->extent.hi, x);
  }
  return sum;
}

/* Bytes a point that come from and go to memory: what is written over comes first. */
static double memory_bytes(const WalkCost *c) {
  const Launch *l = c->p->l;
  double sum = 0;
  for (int f = 0; f < l->m->nfields; f++) {
    double size = (double)type_size(l->m->fields[f].type);
    const FieldUse *u = &l->use[f];
    if (u->loaded)
      sum += size * area(c, c->p->halo.lo, c->p->halo.hi, l->m->grid.rank);
    if (u->stored)
      sum += size * ((u->paired ? u->into < 0 : !u->loaded) ? 2 : 1);
  }
  return sum;
}

/* Bytes of the rows of memory and of rings that a tile comes back to. */
static double kept_bytes(const WalkCost *c) {
  const Launch *l = c->p->l;
  int rank = l->m->grid.rank, x = rank - 1;
  double plane = c->s->size[x] > 0 ? fmin((double)c->s->block[x], (double)c->s->size[x]) : (double)c->s->block[x],
         sum = 0;
  if (rank > 2)
    plane *= c->s->block[1];
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 0; v <= l->use[f].versions; v++)
      if (v == 0 ? l->use[f].loaded : c->p->w[f][v].used && (v < l->use[f].versions || c->p->w[f][v].rows))
        sum += (v ? walk_ring(c->p, f, v) : c->p->w[f][0].rows + 1) * plane * type_size(l->m->fields[f].type);
  return sum;
}

/* Nanoseconds a point that a core waits for rows that its second-level cache has lost. */
static double lost_ns(const WalkCost *c) {
  const Launch *l = c->p->l;
  int rank = l->m->grid.rank;
  double share = kept_bytes(c) / (tuning.core_cache * (double)c->t->shared_bytes), bytes = 0;
  double lost = fmin(fmax(share - tuning.core_kept[rank - 1], 0) / tuning.core_lost, 1);
  for (int i = 0; i < l->n && lost > 0; i++)
    for (int f = 0; f < l->m->nfields; f++)
      bytes += (l->use[f].reach_lo[0] + l->use[f].reach_hi[0]) * (double)type_size(l->m->fields[f].type);
  return lost * bytes * tuning.core_byte;
}

/* How much longer all cores take than if their tiles came out even: the last tiles are begun at different times, and
 * few tiles may be no multiple of the cores. */
static double unevenness(const WalkCost *c) {
  double tiles = 1;
  for (int d = 0; d < c->p->l->m->grid.rank; d++)
    tiles *= c->s->size[d] > 0 ? c->per[d] * (double)c->s->size[d] : INFINITY;
  if (isinf(tiles))
    return 1;
  double cores = c->t->cores;
  return fmax(ceil(tiles / cores) * cores / tiles, 1 + (cores > 1 ? tuning.core_last_tile * cores / tiles : 0));
}

double walk_ns(const TargetInfo *t, const Stream *p, const Schedule *s) {
  WalkCost c = {t, p, s, {0}};
  for (int d = 0; d < p->l->m->grid.rank; d++) {
    double width = (double)walk_width(p->l, s, d), size = (double)s->size[d];
    if (width < 1)
      return INFINITY;
    c.per[d] = size > 0 ? ceil(size / width) / size : 1 / width;
  }
  double byte = t->cores / t->bandwidth;
  return (compute_ns(&c) + memory_bytes(&c) * byte + lost_ns(&c)) * unevenness(&c) / p->l->steps;
}
