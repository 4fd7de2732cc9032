/* driver/instance/plan-params.c: params that get other values between two runs, while code, memory and fields remain.
 *
 * Code never depends on the value of a param. Sizes, coordinates and numbers of steps do; they are sums of integers
 * (Affine). A param that is one of these integers, or from which the program computes one, may not change. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The state of a search in a body: does it use one of the marked scalars? */
typedef struct Use {
  const bool *marked;
  bool found;
} Use;

/* Records the scalar that `op` uses (a block_walk callback). */
static void note(void *user, Op *op) {
  Use *u = user;
  u->found |= op->code == OP_SCALAR && u->marked[op->sym];
}

/* Does the body (NULL: none) use a marked scalar? */
static bool takes(Block *body, const bool *marked) {
  Use u = {marked, false};
  if (body)
    block_walk(body, note, &u);
  return u.found;
}

/* Marks scalar `scalar` of `m` and the scalars that the program computes from it; not other params, which have values
 * of their own. */
static void mark_all(const Module *m, int scalar, bool *marked) {
  marked[scalar] = true;
  for (int i = 0; i < m->nscalars; i++)
    if (!m->scalars[i].is_param && takes(m->scalars[i].expr, marked))
      marked[i] = true;
}

/* Is scalar `scalar` of `m`, or one computed from it, part of a size, a coordinate or a number of steps? */
static bool is_placed(Arena *a, const Module *m, int scalar) {
  ArenaMark start = arena_mark(a);
  bool *marked = ARENA_ARRAY(a, bool, m->nscalars + 1), *placed = ARENA_ARRAY(a, bool, m->nscalars + 1), found = false;
  memset(marked, 0, (size_t)m->nscalars);
  memset(placed, 0, (size_t)m->nscalars);
  mark_all(m, scalar, marked);
  scalars_placed(m, placed);
  for (int i = 0; i < m->nscalars; i++)
    found |= marked[i] && placed[i];
  arena_release(a, start);
  return found;
}

bool plan_param_is_free(const StcPlan *p, int scalar) {
  const Module *m = p->module, *whole = p->program->reference;
  if (scalar < 0 || scalar >= m->nscalars || !m->scalars[scalar].is_param || p->split || p->facade)
    return false;
  int at = module_find_scalar(whole, m->scalars[scalar].name);
  return at >= 0 && !is_placed(p->w.arena, whole, at) && !is_placed(p->w.arena, m, scalar);
}

/* Is scalar `i` the initial value of a scalar that is kept? Nothing else uses it. */
static bool is_first(const Module *m, int i) {
  for (int a = 0; a < m->nparam_arrays; a++)
    if (m->param_arrays[a].role == ARRAY_STATE && m->param_arrays[a].first == i)
      return true;
  return false;
}

/* Does code of the kinds `of` (CODE_) use a marked scalar? */
static bool code_takes(const Module *m, int of, const bool *marked) {
  Bodies bodies = bodies_of(m, of);
  bool found = false;
  for (Block *b; (b = bodies_next(&bodies));)
    found |= takes(b, marked);
  return found;
}

ParamUse plan_param_use(const StcPlan *p, int scalar) {
  const Module *m = p->program->reference;
  int at = module_find_scalar(m, p->module->scalars[scalar].name);
  if (at < 0)
    return (ParamUse){false, false};
  ArenaMark start = arena_mark(p->w.arena);
  bool *marked = ARENA_ARRAY(p->w.arena, bool, m->nscalars + 1);
  memset(marked, 0, (size_t)m->nscalars);
  mark_all(m, at, marked);
  ParamUse use = {code_takes(m, CODE_INITS, marked), code_takes(m, CODE_ALL & ~CODE_INITS & ~CODE_KERNELS, marked)};
  for (int i = 0; i < m->nreductions; i++)
    use.steps |= takes(m->reductions[i].stop, marked);
  for (int i = 0; i < m->nrepeats; i++)
    for (int k = 0; k < m->repeats[i].most.n; k++)
      use.steps |= marked[m->repeats[i].most.t[k].scalar];
  for (int i = 0; i < m->nscalars; i++)
    use.inits |= is_first(m, i) && (i == at || takes(m->scalars[i].expr, marked));
  arena_release(p->w.arena, start);
  return use;
}

/* The value of scalar `i` in the form of an override. */
static const char *value_text(const StcPlan *p, int i) {
  Type t = p->module->scalars[i].type;
  return t == TY_BOOL       ? (p->scalars[i].i ? "true" : "false")
         : type_is_float(t) ? arena_printf(p->w.arena, "%.17g", p->scalars[i].f)
                            : arena_printf(p->w.arena, "%" PRId64, p->scalars[i].i);
}

/* Are two values of type `t` equal? NaN equals NaN. */
static bool same_value(Type t, Const x, Const y) {
  return type_is_float(t) ? x.f == y.f || (isnan(x.f) && isnan(y.f)) : x.i == y.i;
}

/* Overrides that give each param its present value; except for initial values of kept scalars that the program
 * computes: they follow the params, as in a run that begins with other ones. */
static Define *present_values(StcPlan *p, int room, int *n) {
  const Module *m = p->module;
  Define *out = ARENA_ARRAY(p->w.arena, Define, m->nscalars + room + 1);
  Const *values = ARENA_ARRAY(p->w.arena, Const, m->nscalars + 1);
  *n = 0;
  for (int i = 0; i < m->nscalars; i++)
    if (m->scalars[i].is_param && !is_first(m, i))
      out[(*n)++] = (Define){m->scalars[i].name, value_text(p, i)};
  bool bound = module_bind(m, *n, out, values, diags_quiet(p->w.arena));
  for (int i = 0; i < m->nscalars; i++)
    if (m->scalars[i].is_param && is_first(m, i) &&
        !(bound && same_value(m->scalars[i].type, values[i], p->scalars[i])))
      out[(*n)++] = (Define){m->scalars[i].name, value_text(p, i)};
  return out;
}

/* Has every integer that is part of a size, a coordinate or a number of steps the value that it has in the plan? */
static bool same_places(const StcPlan *p, const Const *values) {
  const Scalar *s = p->module->scalars;
  bool *placed = ARENA_ARRAY(p->w.arena, bool, p->module->nscalars + 1), same = true;
  memset(placed, 0, (size_t)p->module->nscalars);
  scalars_placed(p->module, placed);
  for (int i = 0; i < p->module->nscalars; i++)
    same &= !placed[i] || !type_is_int(s[i].type) || s[i].is_reduction || values[i].i == p->scalars[i].i;
  return same;
}

/* The arguments of plan_set_params's guarded function. */
typedef struct ParamArgs {
  StcPlan *p;
  int n;
  const char *const *defines;
} ParamArgs;

/* Copies the new values of scalars, except those of reductions, to the plan. Everything that was computed from the old
 * ones is marked to be computed again. */
static void take_values(StcPlan *p, const Const *values) {
  for (int i = 0; i < p->module->nscalars; i++)
    if (!p->module->scalars[i].is_reduction)
      p->scalars[i] = values[i];
  p->run.once_done = p->lists.lists_filled = p->bound.values_made = false;
  plan_forget_recordings(p);
}

/* Sets the params. */
static StcStatus set_guarded(void *arg) {
  ParamArgs *a = arg;
  StcPlan *p = a->p;
  ArenaMark start = arena_mark(p->w.arena);
  Const *values = ARENA_ARRAY(p->w.arena, Const, p->module->nscalars + 1);
  int n;
  Define *defines = present_values(p, a->n, &n);
  bool ok = true;
  for (int i = 0; i < a->n && ok; i++) {
    ok = define_parse(p->w.arena, a->defines[i], &defines[n + i]);
    ok = ok && plan_param_is_free(p, module_find_scalar(p->module, defines[n + i].name));
  }
  ok = ok && module_bind(p->module, n + a->n, defines, values, diags_quiet(p->w.arena)) && same_places(p, values);
  if (ok)
    take_values(p, values);
  arena_release(p->w.arena, start);
  return ok ? STC_OK : STC_INPUT;
}

StcStatus plan_set_params(StcPlan *p, int n, const char *const *defines) {
  ParamArgs args = {p, n, defines};
  return workspace_guard(&p->w, set_guarded, &args);
}
