/* reduce.c: reductions: the order in which values are combined, on constants and as ops, and the meaning of the results
 * for a run. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

Const reduce_identity(Opcode op, Type t) {
  if (t == TY_F64)
    return (Const){.f = op == OP_ADD ? 0.0 : op == OP_MUL ? 1.0 : op == OP_MIN ? INFINITY : -INFINITY};
  return (Const){.i = op == OP_ADD ? 0 : op == OP_MUL ? 1 : op == OP_MIN ? INT64_MAX : INT64_MIN};
}

/* The lesser of two numbers, neither a NaN; -0 is less than +0. */
static double lesser(double x, double y) { return x < y || (x == y && signbit(x)) ? x : y; }

Const reduce_combine(Opcode op, Type t, Const x, Const y) {
  if (t == TY_I64) {
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i;
    switch (op) {
    case OP_ADD: return (Const){.i = (int64_t)(a + b)};
    case OP_MUL: return (Const){.i = (int64_t)(a * b)};
    case OP_MIN: return x.i < y.i ? x : y;
    default: return x.i > y.i ? x : y;
    }
  }
  if (op == OP_MUL)
    return (Const){.f = x.f * y.f};
  if (op == OP_ADD || isnan(x.f) || isnan(y.f))
    return (Const){.f = x.f + y.f};
  return (Const){.f = op == OP_MIN ? lesser(x.f, y.f) : -lesser(-x.f, -y.f)};
}

Const reduce_pairs(Opcode op, Type t, Const *v, int n) {
  for (int w = n / 2; w > 0; w /= 2)
    for (int i = 0; i < w; i++)
      v[i] = reduce_combine(op, t, v[i], v[i + w]);
  return v[0];
}

/* Combines each of the `n` values with the value in its lane; the usual ops have a loop with a single operation. */
static void combine_lanes(Opcode op, Type t, Const *lanes, const Const *v, int n) {
  if (op == OP_ADD && t == TY_F64)
    for (int i = 0; i < n; i++)
      lanes[i].f += v[i].f;
  else if (op == OP_ADD)
    for (int i = 0; i < n; i++)
      lanes[i].i = (int64_t)((uint64_t)lanes[i].i + (uint64_t)v[i].i);
  else if (op == OP_MIN && t == TY_I64)
    for (int i = 0; i < n; i++)
      lanes[i].i = lanes[i].i < v[i].i ? lanes[i].i : v[i].i;
  else
    for (int i = 0; i < n; i++)
      lanes[i] = reduce_combine(op, t, lanes[i], v[i]);
}

Const reduce_row(Opcode op, Type t, const Const *v, int64_t n) {
  Const lanes[REDUCE_LANES];
  for (int i = 0; i < REDUCE_LANES; i++)
    lanes[i] = reduce_identity(op, t);
  for (int64_t i = 0; i < n; i += REDUCE_LANES)
    combine_lanes(op, t, lanes, v + i, n - i < REDUCE_LANES ? (int)(n - i) : REDUCE_LANES);
  return reduce_pairs(op, t, lanes, REDUCE_LANES);
}

Const reduce_rows(Opcode op, Type t, const Const *rows, int64_t n) {
  Const blocks[REDUCE_BLOCKS];
  for (int i = 0; i < REDUCE_BLOCKS; i++)
    blocks[i] = reduce_identity(op, t);
  for (int64_t i = 0; i < n; i++)
    blocks[i % REDUCE_BLOCKS] = reduce_combine(op, t, blocks[i % REDUCE_BLOCKS], rows[i]);
  return reduce_pairs(op, t, blocks, REDUCE_BLOCKS);
}

Value *build_reduce_combine(Builder *b, Opcode op, Value *x, Value *y) {
  Value *r = build2(b, op, x, y);
  if (!type_is_float(x->type) || (op != OP_MIN && op != OP_MAX))
    return r;
  Value *bad = build2(b, OP_OR, build2(b, OP_NE, x, x), build2(b, OP_NE, y, y));
  return build3(b, OP_SELECT, bad, build2(b, OP_ADD, x, y), r);
}

bool reduction_is_due(const Reduction *r, int32_t loop, int64_t done) {
  return r->loop == loop && done % r->every == 0;
}

int64_t module_steps_to_frames(const Module *m, int64_t done, int64_t most) {
  for (int f = 0; f < m->nfields; f++) {
    int64_t every = m->fields[f].frames, left = every ? every - done % every : most;
    most = left < most ? left : most;
  }
  return most;
}

int64_t module_steps_to_stop(const Module *m, int32_t loop, int64_t done, int64_t most) {
  most = loop ? most : module_steps_to_frames(m, done, most);
  for (int i = 0; i < m->nreductions; i++) {
    int64_t left = m->reductions[i].every - done % m->reductions[i].every;
    most = m->reductions[i].loop == loop && left < most ? left : most;
  }
  return most;
}

const HostSeq *host_sequence(int nseqs, const HostSeq *seqs, const bool *closed, int64_t left) {
  for (int i = 0; i < nseqs; i++)
    if (seqs[i].steps > 0 && seqs[i].steps <= left && !(closed && closed[i]))
      return &seqs[i];
  return NULL;
}

void module_put_first(Module *m, int n, const Reduction *r) {
  Reduction *all = NULL;
  int32_t count = 0;
  for (int i = 0; i < n; i++) {
    ARENA_PUSH(m->arena, all, count, r[i]);
    all[i].scalar = m->nscalars;
    ARENA_PUSH(m->arena, m->scalars, m->nscalars,
               ((Scalar){.name = r[i].name, .type = r[i].type, .is_reduction = true, .loc = r[i].loc}));
  }
  for (int i = 0; i < m->nreductions; i++)
    ARENA_PUSH(m->arena, all, count, m->reductions[i]);
  m->reductions = all;
  m->nreductions = count;
}

/* Reports the error that `v`, the value of the index check `r`, means. */
static void report_bounds(const Module *m, const Reduction *r, int64_t v, Diags *d) {
  const char *what = strncmp(r->name, "bounds.", 7) ? r->name : r->name + 7;
  const char *when = v < 0 ? "before the first step" : arena_printf(m->arena, "step %lld", (long long)v);
  diag_error(d, r->loc, "%s: an index of a launch-time array is out of range in '%s', %s",
             diags_speaks_of_options(d) ? "-fcheck=bounds" : "check_bounds", what, when);
}

/* The coordinates, "[3, 4]", of point number `position` (row-major) of `b` under the scalars. */
static const char *position_text(const Module *m, const Box *b, const Const *scalars, int64_t position) {
  int64_t at[MAX_RANK] = {0};
  for (int k = b->rank - 1; k >= 0; k--) {
    int64_t lo = affine_eval(b->lo[k], scalars, NULL), n = affine_eval(b->hi[k], scalars, NULL) - lo + 1;
    at[k] = lo + (n > 0 ? position % n : 0);
    position /= n > 0 ? n : 1;
  }
  Str s = {.arena = m->arena};
  for (int k = 0; k < b->rank; k++)
    str_addf(&s, "%s%lld", k ? ", " : "[", (long long)at[k]);
  str_add(&s, "]");
  return s.s;
}

bool reduction_judge(const Module *m, const Reduction *r, const Const *scalars, int64_t step, int64_t member,
                     bool *stop, Diags *d) {
  Const v = scalars[r->scalar];
  if (r->kind == REDUCE_FINITE && v.i != INT64_MAX) {
    diag_error(d, r->loc, "%s: field '%s' is not a finite number at %s after %lld steps",
               diags_speaks_of_options(d) ? "-fcheck=finite" : "check_finite", declared_name(m, r->field),
               position_text(m, &r->over, scalars, v.i), (long long)step);
    return false;
  }
  if (r->kind == REDUCE_BOUNDS && v.i != INT64_MAX) {
    report_bounds(m, r, v.i, d);
    return false;
  }
  if (r->kind != REDUCE_UNTIL)
    return true;
  if (r->type == TY_F64 && isnan(v.f)) {
    diag_error(d, r->loc,
               "the value that 'until' compares is NaN%s after %lld %s: a field has a value that is no number "
               "(%s=1 tells where and when)",
               r->each ? arena_printf(m->arena, " in member %lld", (long long)member) : "", (long long)step,
               r->loop ? "rounds" : "steps", diags_speaks_of_options(d) ? "-fcheck=finite" : "check_finite");
    return false;
  }
  if (step > 0 && expression_value(m->arena, r->stop, scalars).i)
    *stop = true;
  return true;
}

int64_t reduction_values(const Module *m, const Reduction *r, const Const *scalars) {
  return r->each ? grid_members(m, scalars) : 1;
}

bool reduction_tell(ReductionTold *t, int64_t member, Const value, bool *stop, Diags *d) {
  bool met = false, last = member == reduction_values(t->m, t->r, t->scalars) - 1;
  t->scalars[t->r->scalar] = value;
  if (t->reduced)
    t->reduced(t->user, t->r, t->step, member, value);
  if (!t->wrong)
    t->wrong = !reduction_judge(t->m, t->r, t->scalars, t->step, member, &met, d);
  t->some_not |= !met;
  if (last && !t->some_not)
    *stop = true;
  return !(last && t->wrong);
}
