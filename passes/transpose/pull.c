/* pull.c: makes the program that carries given derivatives with respect to fields after the last step back to the
 * inputs of a run (a vector-Jacobian product). It is the program with another loss: the sum over fields x of x times
 * x.pull, an input field with the derivatives with respect to x. So its gradient is the wanted product, and everything
 * that computes gradients can be used as it is. */
#include "passes/transpose/transpose.h"

/* Does type `t` consist of floats only? */
static bool is_float(const Module *m, Type t) {
  for (int i = 0; i < type_components(m, t); i++)
    if (!type_is_float(type_component(m, t, i)))
      return false;
  return true;
}

/* Has field `f` values between steps, and floats? False after reporting that it has not. */
static bool check_field(PassContext *c, const Module *m, int f, const char *name) {
  const char *why = f < 0                             ? "is no field of the program"
                    : m->fields[f].temp               ? "is a temp field, which holds nothing between steps"
                    : !is_float(m, m->fields[f].type) ? "is not made of floats, so nothing has a derivative by it"
                                                      : NULL;
  if (why)
    diag_error(c->diags, no_loc(), "'%s' %s", name, why);
  return !why;
}

/* The sum of the products of the corresponding floats in `x` and `y`, of type `t`, in f64. */
static Value *product(Builder *b, const Module *m, Type t, Value *x, Value *y) {
  const Composite *k = type_composite(m, t);
  Value *sum = NULL;
  if (!k)
    return build2(b, OP_MUL, build_convert(b, TY_F64, x), build_convert(b, TY_F64, y));
  for (int i = 0; i < k->n; i++) {
    Type of = k->members[i].type;
    Value *one = product(b, m, of, build_extract(b, of, x, i), build_extract(b, of, y, i));
    sum = sum ? build2(b, OP_ADD, sum, one) : one;
  }
  return sum;
}

/* Adds field NAME.pull, and a loss: field `f` times it, each point once. */
static void add_loss(Module *m, int f) {
  static const int64_t here[MAX_RANK];
  Field bar = {.name = arena_printf(m->arena, "%s.pull", m->fields[f].name), .type = m->fields[f].type};
  bar.box = m->fields[f].box;
  bar.input = true;
  Loss l = {.name = arena_printf(m->arena, "pull.%s", m->fields[f].name), .over = bar.box, .factor = 1};
  for (int d = 0; d < m->grid.rank; d++)
    if (field_lacks(&bar, d))
      l.over.lo[d] = l.over.hi[d] = m->grid.lo[d];
  ARENA_PUSH(m->arena, m->fields, m->nfields, bar);
  l.body = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, l.body);
  Value *x = build_access(&b, bar.type, f, here, m->grid.rank);
  Value *sum = product(&b, m, bar.type, x, build_access(&b, bar.type, m->nfields - 1, here, m->grid.rank));
  build_yield(&b, 1, &sum);
  ARENA_PUSH(m->arena, m->losses, m->nlosses, l);
}

/* Adds `name` to the gradient's targets. False after reporting why that is not possible. */
static bool add_by(PassContext *c, Module *m, const char *name) {
  By by = {.kind = BY_FIELD, .may_be_idle = true, .index = module_find_field(m, name)};
  int array = module_find_param_array(m, name), scalar = module_find_scalar(m, name);
  bool kept = array >= 0 && m->param_arrays[array].role == ARRAY_STATE && m->param_arrays[array].first >= 0;
  scalar = kept ? m->param_arrays[array].first : scalar; /* its value before the first step */
  if (by.index < 0 && array >= 0 && !kept) {
    const ParamArray *a = &m->param_arrays[array];
    by.kind = BY_ARRAY;
    by.index = array;
    if (a->role != ARRAY_GIVEN || !type_is_float(a->type))
      return diag_error(c->diags, no_loc(), "'%s' is no launch-time array of floats, so nothing has a derivative by it",
                        name),
             false;
  } else if (by.index < 0 && scalar >= 0) {
    by.kind = BY_PARAM;
    by.index = scalar;
    if (!m->scalars[scalar].is_param || !type_is_float(m->scalars[scalar].type))
      return diag_error(c->diags, no_loc(), "'%s' is no param or scalar of floats, so nothing has a derivative by it",
                        name),
             false;
  } else if (by.index < 0) {
    return diag_error(c->diags, no_loc(), "'%s' is no field, launch-time array or param of the program", name), false;
  } else if (!check_field(c, m, by.index, name)) {
    return false;
  }
  ARENA_PUSH(m->arena, m->by, m->nby, by);
  return true;
}

Module *transpose_pull(PassContext *c, const Module *source, int nof, const char *const *of, int nto,
                       const char *const *to) {
  Module *m = module_copy(c->arena, source);
  bool ok = true;
  m->name = arena_printf(c->arena, "%s.pull", source->name);
  m->losses = NULL;
  m->by = NULL;
  m->nlosses = m->nby = m->nprobes = 0;
  for (int i = 0; i < nto && ok; i++)
    ok = add_by(c, m, to[i]);
  for (int i = 0; i < nof && ok; i++) {
    int f = module_find_field(m, of[i]);
    ok = check_field(c, m, f, of[i]);
    if (ok)
      add_loss(m, f);
  }
  module_renumber(m);
  return ok && module_verify(m, c->diags) ? m : NULL;
}
