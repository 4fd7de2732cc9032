/* check-finite.c: adds a reduction for each field that the program computes, which finds the first point with a NaN or
 * an infinity (-fcheck=finite).
 *
 * Each field that a stencil or init writes and that has components of a float type gets a reduction `finite.FIELD` over
 * the field's region. It computes the smallest number, row by row, of a point where some component is a NaN or an
 * infinity, every N steps (100, or `every`) and before the first step. If there is one, the run ends with an error that
 * names field, point and number of steps. The checks come before the program's own reductions. Fields that the program
 * only reads (`input` without an init) are not checked, but fields that depend on them are. A NaN after the last
 * evaluation of a run is not found. The reductions are the same on all devices, so all name the same point. */
#include "passes/registry.h"

#include <math.h>

/* Does `t` have a component of a float type? */
static bool has_floats(const Module *m, Type t) {
  for (int i = 0; i < type_components(m, t); i++)
    if (type_is_float(type_component(m, t, i)))
      return true;
  return false;
}

/* Does a stencil or init write `field`? */
static bool is_computed(const Module *m, int field) {
  for (int i = 0; i < m->nstencils + m->ninits; i++) {
    const Stencil *st = i < m->nstencils ? &m->stencils[i] : &m->inits[i - m->nstencils];
    for (int t = 0; t < st->ntargets; t++)
      if (st->targets[t] == field)
        return true;
  }
  return false;
}

/* Builds the test that `so_far` (may be NULL) holds and all floats in `x` are finite. */
static Value *all_finite(Builder *b, const Module *m, Value *x, Value *so_far) {
  const Composite *c = type_composite(m, x->type);
  for (int i = 0; c && i < c->n; i++)
    if (has_floats(m, c->members[i].type))
      so_far = all_finite(b, m, build_extract(b, c->members[i].type, x, i), so_far);
  if (c)
    return so_far;
  Type t = x->type == TY_F64 ? TY_F64 : TY_F32;
  Value *size = build1(b, OP_ABS, build_convert(b, t, x));
  Value *finite = build2(b, OP_LT, size, build_float(b, t, (double)INFINITY));
  return so_far ? build2(b, OP_AND, so_far, finite) : finite;
}

/* Builds the number of the point in `box`, row by row. */
static Value *position_in(Builder *b, const Module *m, const Box *box) {
  Value *n = NULL;
  for (int k = 0; k < box->rank; k++) {
    Value *index = build_dim(b, OP_INDEX, k), *at = build2(b, OP_SUB, index, build_affine(b, m, box->lo[k]));
    n = n ? build2(b, OP_ADD, build2(b, OP_MUL, n, build_affine(b, m, box_extent(m->arena, box, k))), at) : at;
  }
  return n;
}

/* The points at which field `f` is checked: its own; in a dimension that it lacks, only the first coordinate of the
 * grid, because the field is the same at all of them. */
static Box watched(const Module *m, const Field *f) {
  Box box = f->box;
  for (int d = 0; d < box.rank; d++)
    if (field_lacks(f, d))
      box.lo[d] = box.hi[d] = m->grid.lo[d];
  return box;
}

/* The reduction that checks field `field` every `every` steps. */
static Reduction finite_check(Module *m, int field, int64_t every) {
  const Field *f = &m->fields[field];
  static const int64_t here[MAX_RANK];
  Reduction r = {.name = arena_printf(m->arena, "finite.%s", f->name),
                 .kind = REDUCE_FINITE,
                 .op = OP_MIN,
                 .type = TY_I64,
                 .over = watched(m, f),
                 .every = every,
                 .field = field,
                 .result = -1,
                 .loc = f->loc};
  r.body = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, r.body);
  b.loc = f->loc;
  Value *finite = all_finite(&b, m, build_access(&b, f->type, field, here, m->grid.rank), NULL);
  Value *here_is = position_in(&b, m, &r.over),
        *v = build3(&b, OP_SELECT, finite, build_int(&b, TY_I64, INT64_MAX), here_is);
  build_yield(&b, 1, &v);
  return r;
}

/* The pass. The checks come before the program's own reductions, which would see only later effects of a NaN. */
Module *pass_check_finite(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int64_t every = pass_option_int(c, "check-finite", n, o, "every", 1, INT64_MAX, 100, &ok);
  int32_t count = 0;
  Reduction *checks = NULL;
  for (int f = 0; f < m->nfields && ok; f++) {
    const Field *field = &m->fields[f];
    if (field->temp || field->past || !has_floats(m, field->type) || !is_computed(m, f))
      continue;
    ARENA_PUSH(m->arena, checks, count, finite_check(m, f, every));
  }
  module_put_first(m, count, checks);
  pass_stat(c, count, "check-finite", "fields checked");
  return ok ? m : NULL;
}
