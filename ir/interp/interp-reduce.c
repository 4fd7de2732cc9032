/* interp-reduce.c: reductions in the reference, in the fixed order of run.h ("Reductions"): points to lanes, the lanes
 * of a row pairwise, rows to blocks, blocks pairwise; and the updates of states within a step. */
#include "ir/interp/interp.h"

#include <string.h>

/* An evaluation: the region; the values of blocks so far, and of the lanes of row number `row`; -1: no row has begun.
 */
typedef struct Sum {
  Interp *in;
  const Reduction *r;
  const InterpBody *body;
  InterpRegion over;
  int64_t row;
  Const *blocks, *lanes;
} Sum;

/* The number of the line along the last dimension that contains point `p`. */
static int64_t line_of(const Sum *s, const int64_t *p) {
  int64_t line = 0;
  for (int k = 0; k < s->in->rank - 1; k++)
    line = line * (s->over.hi[k] - s->over.lo[k] + 1) + p[k] - s->over.lo[k];
  return line;
}

/* Ends a row: combines its value with that of its block, and resets the lanes. */
static void end_row(Sum *s) {
  Const *block = &s->blocks[s->row % REDUCE_BLOCKS];
  if (s->row >= 0)
    *block = reduce_combine(s->r->op, s->r->type, *block, reduce_pairs(s->r->op, s->r->type, s->lanes, REDUCE_LANES));
  for (int t = 0; t < REDUCE_LANES; t++)
    s->lanes[t] = reduce_identity(s->r->op, s->r->type);
}

/* Combines the values at the `n` points from `p` on with those of their lanes (an interp_each callback). */
static bool add_points(void *user, const int64_t *p, int n) {
  Sum *s = user;
  Interp *in = s->in;
  if (!interp_run_body(in, s->body, p, n))
    return false;
  const Const *value = in->rows + (size_t)s->body->yield[0][0] * CHUNK;
  int64_t line = line_of(s, p), first = p[in->rank - 1] - s->over.lo[in->rank - 1];
  for (int i = 0; i < n; i++) {
    int64_t row = in->rank > 1 ? line : (first + i) / REDUCE_ROW;
    Const *lane = &s->lanes[(first + i) % REDUCE_LANES];
    if (row != s->row)
      end_row(s);
    s->row = row;
    *lane = reduce_combine(s->r->op, s->r->type, *lane, value[i]);
  }
  return true;
}

/* Evaluates `r`, whose body is `body`, into *value: over all points, or, if `member` is at least 0, over that member's.
 */
static bool evaluate_of(Interp *in, const Reduction *r, const InterpBody *body, int64_t member, Const *value) {
  Sum s = {.in = in,
           .r = r,
           .body = body,
           .over = interp_region(in, &r->over),
           .row = -1,
           .blocks = in->sums,
           .lanes = in->sums + REDUCE_BLOCKS};
  if (member >= 0)
    s.over.lo[0] = s.over.hi[0] = affine_eval(in->m->grid.lo[0], in->b->scalars, NULL) + member;
  for (int i = 0; i < REDUCE_BLOCKS; i++)
    s.blocks[i] = reduce_identity(r->op, r->type);
  end_row(&s);
  in->reduction = r;
  interp_start_body(in, body);
  bool ok = interp_each(in, &s.over, add_points, &s);
  in->reduction = NULL;
  end_row(&s);
  *value = reduce_pairs(r->op, r->type, s.blocks, REDUCE_BLOCKS);
  return ok;
}

bool interp_total(Interp *in, const Reduction *r, const InterpBody *body, int64_t member, Const *value) {
  return evaluate_of(in, r, body, member, value);
}

/* Evaluates `body` into *value at the only point of `u`, or of its member `member`. */
static bool evaluate_point(Interp *in, const Update *u, const InterpBody *body, int64_t member, Const *value) {
  InterpRegion over = interp_region(in, &u->over);
  over.lo[0] += u->each ? member : 0;
  Reduction r = {.name = update_name(in->m, u)};
  in->reduction = &r;
  interp_start_body(in, body);
  bool ok = interp_run_body(in, body, over.lo, 1);
  in->reduction = NULL;
  if (ok)
    *value = in->rows[(size_t)body->yield[0][0] * CHUNK];
  return ok;
}

bool interp_update(Interp *in, const InterpBody *bodies, int stage, int *next) {
  for (; *next < in->m->nupdates && in->m->updates[*next].stage <= stage; ++*next) {
    const Update *u = &in->m->updates[*next];
    const InterpBody *body = &bodies[*next];
    Reduction r = {.name = update_name(in->m, u), .op = u->op, .type = u->type, .over = u->over};
    int64_t n = u->each ? grid_members(in->m, in->b->scalars) : 1;
    if (in->tape)
      tape_update(in, u, body);
    for (int64_t k = 0; k < n; k++) {
      Const value = {0};
      if (!(update_is_point(u) ? evaluate_point(in, u, body, k, &value)
                               : evaluate_of(in, &r, body, u->each ? k : -1, &value)))
        return false;
      memcpy((char *)in->b->param_arrays[u->state] + (size_t)k * sizeof(double),
             u->type == TY_F64 ? (void *)&value.f : (void *)&value.i, sizeof(double));
    }
  }
  return true;
}

bool interp_reduce(Interp *in, const InterpBody *bodies, int loop, int64_t done, bool *stop) {
  for (int i = 0; i < in->m->nreductions; i++) {
    const Reduction *r = &in->m->reductions[i];
    if (!reduction_is_due(r, loop, done))
      continue;
    if (in->tape && reduction_has_gradient(in->m, r->scalar))
      tape_reduce(in, r, &bodies[i]);
    ReductionTold told = {in->m, r, in->b->scalars, done, in->b->reduced, in->b->user, false, false};
    int64_t n = reduction_values(in->m, r, in->b->scalars);
    for (int64_t k = 0; k < n; k++) {
      Const value;
      if (!evaluate_of(in, r, &bodies[i], r->each ? k : -1, &value) || !reduction_tell(&told, k, value, stop, in->d))
        return false;
    }
  }
  return true;
}
