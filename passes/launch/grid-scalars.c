/* grid-scalars.c: finds the values of a module's scalars, and of extents that depend on them, on a grid of known size.
 * Params that determine the grid's size are known; values that depend on other params are not. */
#include "passes/launch/launch.h"

#include <inttypes.h>
#include <string.h>

/* If extent `e` is one integer param with a coefficient, plus a constant, that param's number, else -1. */
static int only_param(const Module *m, Affine e) {
  int i = e.n == 1 && e.t[0].coef ? e.t[0].scalar : -1;
  return i >= 0 && m->scalars[i].is_param && type_is_int(m->scalars[i].type) ? i : -1;
}

/* follows: the scalars that follow from the grid's size; all: the result of note_scalar. */
typedef struct Follow {
  bool *follows, all;
} Follow;

/* Clears `all` if `op` reads a scalar that does not follow (a block_walk callback). */
static void note_scalar(void *user, Op *op) {
  Follow *f = user;
  f->all = f->all && !(op_info[op->code].form == FORM_SCALAR && !f->follows[op->sym]);
}

/* The scalars of `m` that depend on scalars in `given` only. */
static const bool *find_followers(const Module *m, const bool *given) {
  Follow f = {.follows = ARENA_ARRAY(m->arena, bool, m->nscalars + 1)};
  for (int i = 0; i < m->nscalars; i++) {
    const Scalar *s = &m->scalars[i];
    f.all = !s->is_param && !s->is_reduction && s->expr;
    if (f.all)
      block_walk(s->expr, note_scalar, &f);
    f.follows[i] = given[i] || f.all;
  }
  return f.follows;
}

bool grid_scalars(const Module *m, const int64_t *size, GridScalars *out) {
  Const *values = ARENA_ARRAY(m->arena, Const, m->nscalars + 1);
  bool *given = ARENA_ARRAY(m->arena, bool, m->nscalars + 1);
  Define defines[MAX_RANK];
  int n = 0;
  for (int d = 0; d < m->grid.rank; d++) {
    Affine e = box_extent(m->arena, &m->grid, d);
    int i = only_param(m, e);
    if (!e.n)
      continue;
    if (i < 0 || !size || size[d] < 1)
      return false;
    if (!given[i])
      defines[n++] = (Define){.name = m->scalars[i].name,
                              .value = arena_printf(m->arena, "%" PRId64, (size[d] - e.c) / e.t[0].coef)};
    given[i] = true;
  }
  if (!module_bind(m, n, defines, values, diags_quiet(m->arena)))
    return false;
  bool same = true;
  for (int d = 0; d < m->grid.rank; d++) {
    Affine e = box_extent(m->arena, &m->grid, d);
    same = same && (!e.n || affine_eval(e, values, NULL) == size[d]);
  }
  *out = (GridScalars){values, find_followers(m, given)};
  return same;
}

int64_t grid_extent(const GridScalars *g, Affine e, int64_t *most) {
  bool overflow = false, known = true;
  double slack = 0;
  for (int i = 0; i < e.n; i++) {
    double part = (double)e.t[i].coef * (double)g->values[e.t[i].scalar].i;
    known = known && g->follows[e.t[i].scalar];
    slack += part > 0 ? part / 8 : 0;
  }
  int64_t n = affine_eval(e, g->values, &overflow);
  known = known && !overflow && n < INT32_MAX && slack < INT32_MAX;
  *most = known ? (n > 0 ? n : 0) + (int64_t)slack + (slack > 0) : INT64_MAX;
  return known ? (n > 0 ? n : 0) : INT64_MAX;
}
