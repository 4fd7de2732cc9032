/* interp-body.c: bodies in the reference. A body is a straight line of pure ops. It is translated once into a list of
 * RowOps, which are executed one after the other, each on up to CHUNK neighbouring points of a row: each component of
 * an SSA value is a row of CHUNK numbers. The arithmetic is that of eval_op (exec.h). Ops that construct or take apart
 * composite values cost nothing: they only select rows. */
#include "ir/interp/interp.h"
#include "ir/run/random.h"

InterpRegion interp_region(const Interp *in, const Box *b) {
  InterpRegion r = {{0}, {0}};
  box_eval(b, in->b->scalars, r.lo, r.hi);
  return r;
}

/* Must the run end now, within a step? */
static bool is_torn(const Interp *in) {
  if (stop_at_once(in->b->stop))
    in->b->torn = true;
  return in->b->torn;
}

bool interp_each(const Interp *in, const InterpRegion *r, bool (*fn)(void *user, const int64_t *p, int n), void *user) {
  int last = in->rank - 1;
  int64_t p[MAX_RANK];
  for (int k = 0; k < in->rank; k++) {
    p[k] = r->lo[k];
    if (r->hi[k] < r->lo[k])
      return true;
  }
  for (;;) {
    for (p[last] = r->lo[last]; p[last] <= r->hi[last]; p[last] += CHUNK) {
      int64_t left = r->hi[last] - p[last] + 1;
      if (is_torn(in) || !fn(user, p, left < CHUNK ? (int)left : CHUNK))
        return false;
    }
    int k = last - 1;
    while (k >= 0 && ++p[k] > r->hi[k]) {
      p[k] = r->lo[k];
      k--;
    }
    if (k < 0)
      return true;
  }
}

/* ---- translation */

/* The rows of the components of op's result: new ones from *next on, or rows of its operands. `rows` holds the rows of
 * each value, by Value.id. */
static const int32_t *result_rows(const Interp *in, const Op *op, const int32_t **rows, int *next) {
  if (op->code == OP_EXTRACT)
    return rows[op->operands[0]->id] + type_member_component(in->m, op->operands[0]->type, op->sym);
  int n = type_components(in->m, op->results[0]->type), filled = 0;
  int32_t *r = ARENA_ARRAY(in->arena, int32_t, n);
  if (op->code != OP_CONSTRUCT) {
    for (int i = 0; i < n; i++)
      r[i] = (*next)++;
    return r;
  }
  for (int i = 0; i < op->noperands; i++) {
    int part = type_components(in->m, op->operands[i]->type);
    memcpy(r + filled, rows[op->operands[i]->id], sizeof *r * (size_t)part);
    filled += part;
  }
  return r;
}

/* `op` as a RowOp that writes row `dst`. */
static RowOp row_op(Arena *arena, const Op *op, const int32_t **rows, int32_t dst) {
  RowOp r = {.op = op, .code = exec_code(op), .dst = dst};
  int32_t *in[3] = {&r.a, &r.b, &r.c};
  for (int i = 0; i < op->noperands && i < 3; i++)
    *in[i] = rows[op->operands[i]->id][0];
  r.more = op->noperands > 3 ? ARENA_ARRAY(arena, int32_t, op->noperands) : NULL;
  for (int i = 0; r.more && i < op->noperands; i++)
    r.more[i] = rows[op->operands[i]->id][0];
  return r;
}

InterpBody interp_translate(Interp *in, const Block *b) {
  InterpBody body = {0};
  int n = 0, values = 0;
  for (const Op *op = b->first; op; op = op->next)
    n++;
  body.ops = ARENA_ARRAY(in->arena, RowOp, n + 1);
  const int32_t **rows = ARENA_ARRAY(in->arena, const int32_t *, n + 1);
  for (const Op *op = b->first; op && op->code != OP_YIELD; op = op->next) {
    const int32_t *result = result_rows(in, op, rows, &body.nrows);
    if (op->code != OP_CONSTRUCT && op->code != OP_EXTRACT)
      body.ops[body.nops++] = row_op(in->arena, op, rows, result[0]);
    op->results[0]->id = values;
    rows[values++] = result;
  }
  body.yield = ARENA_ARRAY(in->arena, const int32_t *, b->last ? b->last->noperands + 1 : 1);
  for (int i = 0; b->last && i < b->last->noperands; i++)
    body.yield[i] = rows[b->last->operands[i]->id];
  if (body.nrows > in->max_rows)
    in->max_rows = body.nrows;
  return body;
}

/* ---- execution */

/* Executes the pure op of `r` for `n` points. */
static void apply_row(Interp *in, const RowOp *r, int n) {
  Const *dst = in->rows + (size_t)r->dst * CHUNK;
  const Const *a = in->rows + (size_t)r->a * CHUNK, *b = in->rows + (size_t)r->b * CHUNK,
              *c = in->rows + (size_t)r->c * CHUNK;
  const Op *op = r->op;
  switch (r->code) {
#define X(NAME) \
  case EX_##NAME: \
    for (int i = 0; i < n; i++) \
      dst[i] = exec_apply(EX_##NAME, op, a[i], b[i], c[i]); \
    break;
    EXEC_CODES(X)
#undef X
  case EX_COUNT: break;
  }
}

/* Executes the pure op of `r`, which has more than three operands, for `n` points. */
static void apply_wide(Interp *in, const RowOp *r, int n) {
  Const *dst = in->rows + (size_t)r->dst * CHUNK;
  for (int i = 0; i < n; i++) {
    Const x[RANDOM_OPERANDS];
    for (int k = 0; k < r->op->noperands; k++)
      x[k] = in->rows[(size_t)r->more[k] * CHUNK + (size_t)i];
    dst[i] = eval_op(r->op, x);
  }
}

/* For each of `n` points, element number `index` of launch-time array `op->sym`: the nearest existing element, or 0 if
 * there is none. */
static void element_row(const Interp *in, const Op *op, const Const *index, int n, Const *dst) {
  const ParamArray *p = &in->m->param_arrays[op->sym];
  int64_t extent = param_array_extent(p, in->b->scalars);
  for (int i = 0; i < n; i++) {
    int64_t k = index[i].i < 0 ? 0 : index[i].i < extent ? index[i].i : extent - 1;
    dst[i] = extent ? exec_get(p->type, in->b->param_arrays[op->sym], k) : (Const){0};
  }
}

void interp_start_body(Interp *in, const InterpBody *body) {
  for (int k = 0; k < body->nops; k++) {
    const Op *op = body->ops[k].op;
    if (op->code != OP_CONST && op->code != OP_SCALAR && op->code != OP_STEP)
      continue;
    Const v = op->code == OP_CONST ? op->cval : op->code == OP_SCALAR ? in->b->scalars[op->sym] : exec_i(in->step);
    for (int i = 0; i < CHUNK; i++)
      in->rows[(size_t)body->ops[k].dst * CHUNK + (size_t)i] = v;
  }
}

/* Executes the op of `r` for the `n` points from `p` on. */
static bool run_op(Interp *in, const RowOp *r, const int64_t *p, int n) {
  Const *dst = in->rows + (size_t)r->dst * CHUNK;
  const Op *op = r->op;
  switch (op->code) {
  case OP_CONST:
  case OP_SCALAR:
  case OP_STEP: return true;
  case OP_ACCESS:
  case OP_BEHIND: return interp_access(in, op, p, n, dst);
  case OP_FINE:
  case OP_COARSE: return interp_scaled(in, op, p, n, dst);
  case OP_ELEMENT: element_row(in, op, in->rows + (size_t)r->a * CHUNK, n, dst); return true;
  case OP_INDEX:
    for (int i = 0; i < n; i++)
      dst[i] = exec_i(p[op->sym] + (op->sym == in->rank - 1 ? i : 0));
    return true;
  case OP_RANDOM:
  case OP_NORMAL: apply_wide(in, r, n); return true;
  default: apply_row(in, r, n); return true;
  }
}

bool interp_run_body(Interp *in, const InterpBody *body, const int64_t *p, int n) {
  for (int k = 0; k < body->nops; k++)
    if (!run_op(in, &body->ops[k], p, n))
      return false;
  return true;
}
