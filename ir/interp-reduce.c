/* interp-reduce.c: reductions in the reference, in the fixed order of ir.h ("Reductions"): rows to blocks, points to
 * lanes, lanes and then blocks pairwise. */
#include "ir/interp.h"

/* One evaluation: the region, and the partial values so far. */
typedef struct Sum {
  Interp *in;
  const Reduction *r;
  const Body *body;
  Region over;
  int64_t blocks;
} Sum;

/* Number of the line along the last dimension that the point `p` lies on. */
static int64_t line_of(const Sum *s, const int64_t *p) {
  int64_t line = 0;
  for (int k = 0; k < s->in->rank - 1; k++)
    line = line * (s->over.hi[k] - s->over.lo[k] + 1) + p[k] - s->over.lo[k];
  return line;
}

/* Combines the values at the `n` points from `p` on with what their lanes have (an interp_each callback). */
static bool add_points(void *user, const int64_t *p, int n) {
  Sum *s = user;
  Interp *in = s->in;
  if (!interp_run_body(in, s->body, p, n))
    return false;
  const Const *value = in->rows + (size_t)s->body->yield[0][0] * CHUNK;
  int64_t line = line_of(s, p), first = p[in->rank - 1] - s->over.lo[in->rank - 1];
  for (int i = 0; i < n; i++) {
    int64_t row = in->rank > 1 ? line : (first + i) / REDUCE_ROW;
    Const *lane = &in->sums[row % REDUCE_BLOCKS * REDUCE_LANES + (first + i) % REDUCE_LANES];
    *lane = reduce_combine(s->r->op, s->r->type, *lane, value[i]);
  }
  return true;
}

/* The `n` values at `v`, every `stride`-th, combined pairwise: number t with t + w for w = n / 2, .., 1. n is a power
 * of two. */
static Const combine_pairs(const Reduction *r, Const *v, int n, int stride) {
  for (int w = n / 2; w > 0; w /= 2)
    for (int t = 0; t < w; t++)
      v[t * stride] = reduce_combine(r->op, r->type, v[t * stride], v[(t + w) * stride]);
  return v[0];
}

/* Evaluates `r`, whose body is `body`, into its scalar. */
static bool evaluate(Interp *in, const Reduction *r, const Body *body) {
  Sum s = {.in = in, .r = r, .body = body, .over = interp_region(in, &r->over)};
  for (int i = 0; i < REDUCE_BLOCKS * REDUCE_LANES; i++)
    in->sums[i] = reduce_identity(r->op, r->type);
  in->reduction = r;
  interp_start_body(in, body);
  bool ok = interp_each(in, &s.over, add_points, &s);
  in->reduction = NULL;
  for (int b = 0; b < REDUCE_BLOCKS; b++)
    combine_pairs(r, in->sums + b * REDUCE_LANES, REDUCE_LANES, 1);
  in->b->scalars[r->scalar] = combine_pairs(r, in->sums, REDUCE_BLOCKS, REDUCE_LANES);
  return ok;
}

bool interp_reduce(Interp *in, const Body *bodies, bool *stop) {
  for (int i = 0; i < in->m->nreductions; i++) {
    const Reduction *r = &in->m->reductions[i];
    if (!reduction_is_due(r, in->step))
      continue;
    if (!evaluate(in, r, &bodies[i]))
      return false;
    if (in->b->reduced)
      in->b->reduced(in->b->user, r, in->step, in->b->scalars[r->scalar]);
    if (!reduction_judge(in->m, r, in->b->scalars, in->step, stop, in->d))
      return false;
  }
  return true;
}
