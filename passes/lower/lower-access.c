/* lower-access.c: lowers one access of a field to kernel IR, with the field's outside rule, from given coordinates.
 *
 * An outside rule acts on each dimension independently, so the code treats each dimension by itself. It emits code for
 * a rule only in dimensions where the access can leave the field's region for some params. */
#include "passes/lower/lower.h"

/* The op that maps a coordinate into a region by `rule`; without a rule, the op that keeps it there. */
static Opcode map_op(OutsideRule rule) {
  Opcode map = outside_map(rule);
  return map == OP_COUNT ? OP_GUARD : map;
}

/* x + off, as an op. */
static Value *plus(Builder *b, Value *x, int64_t off) {
  return off ? build2(b, OP_ADD, x, build_int(b, x->type, off)) : x;
}

/* Does at + off lie in the field's region, in the dimensions with a constant rule, or (`leads`) in those whose rule
 * leads to another point nearby? NULL if there are no such dimensions. */
static Value *inside_where(Builder *b, const Module *m, int field, const Rules *rules, bool leads, Value *const *at,
                           const int64_t *off) {
  const Field *f = &m->fields[field];
  Box box = {0};
  Value *coords[MAX_RANK];
  for (int d = 0; d < m->grid.rank; d++)
    if (leads ? outside_leads(rules->dim[d]) : rules->dim[d] == OUTSIDE_CONST) {
      box.lo[box.rank] = f->box.lo[d];
      box.hi[box.rank] = f->box.hi[d];
      coords[box.rank++] = plus(b, at[d], off[d]);
    }
  return box.rank ? build_inside(b, box.rank, coords, &box) : NULL;
}

Value *inside_or_constant(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at,
                          const int64_t *off, Value *v) {
  const Field *f = &m->fields[field];
  Value *test = inside_where(b, m, field, rules, false, at, off);
  return test ? build3(b, OP_SELECT, test, v, build_const(b, f->type, f->outside_value)) : v;
}

Value *inside_or_led(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at, const int64_t *off,
                     Value *v, Value *led) {
  return build3(b, OP_SELECT, inside_where(b, m, field, rules, true, at, off), v, led);
}

Value *load_if_inside(Builder *b, const Module *m, int field, int buffer, Value *const *at) {
  const Field *f = &m->fields[field];
  Builder in;
  Value *v = build_value_or(b, build_inside(b, m->grid.rank, at, &f->box), f->type, (Const){0}, &in);
  build_yield(&in, 1, (Value *[]){build_load(&in, f->type, buffer, m->grid.rank, at, NULL)});
  return v;
}

Value *guarded_place(Builder *b, const Field *f, const Rules *rules, Value *const *at, const int64_t *off, int d,
                     int n) {
  if (field_lacks(f, d))
    return build_int(b, TY_I64, 0);
  if (f->pitch && n > 1)
    return build_guard(b, at[d], off[d], f->box.lo[d], f->box.hi[d], n);
  return build_map(b, map_op(rules->dim[d]), at[d], off[d], f->box.lo[d], affine_add_const(f->box.hi[d], 1 - n));
}

/* The access to a field with a constant outside rule, without guards. It loads nothing where the constant applies; in
 * the other dimensions the field's rules map the coordinates. */
static Value *load_or_constant(Builder *b, const Module *m, int field, int buffer, const Rules *rules, Value *const *at,
                               const int64_t *off) {
  const Field *f = &m->fields[field];
  Builder in;
  Value *v = build_value_or(b, inside_where(b, m, field, rules, false, at, off), f->type, f->outside_value, &in);
  Value *coords[MAX_RANK];
  int64_t rest[MAX_RANK] = {0};
  for (int d = 0; d < m->grid.rank; d++) {
    bool led = (rules->dim[d] != OUTSIDE_NONE && rules->dim[d] != OUTSIDE_CONST) || field_lacks(f, d);
    coords[d] = led ? guarded_place(&in, f, rules, at, off, d, 1) : at[d];
    rest[d] = led ? 0 : off[d];
  }
  build_yield(&in, 1, (Value *[]){build_load(&in, f->type, buffer, m->grid.rank, coords, rest)});
  return v;
}

Value *access_global(Builder *b, const Module *m, int field, int buffer, const Rules *rules, Value *const *at,
                     const int64_t *off, bool guarded) {
  const Field *f = &m->fields[field];
  Value *coords[MAX_RANK];
  int64_t rest[MAX_RANK] = {0};
  if (!guarded && rules_have(rules, OUTSIDE_CONST))
    return load_or_constant(b, m, field, buffer, rules, at, off);
  for (int d = 0; d < m->grid.rank; d++) {
    if (rules->dim[d] == OUTSIDE_NONE && !guarded && !field_lacks(f, d)) {
      coords[d] = at[d];
      rest[d] = off[d];
    } else {
      coords[d] = guarded_place(b, f, rules, at, off, d, 1);
    }
  }
  Value *v = build_load(b, f->type, buffer, m->grid.rank, coords, rest);
  return inside_or_constant(b, m, field, rules, at, off, v);
}

/* The arguments of access_beside. */
typedef struct Beside {
  Builder *b;
  const Field *f;
  int rank, field, ver;
  const Rules *rules;
  Value *const *at;
  const int64_t *off;
  BesideFn fn;
  void *user;
} Beside;

/* Builds the access for given offsets to[0 .. d - 1]. Where the rule of dimension `d` leads to another offset, the
 * value is selected by the actual distance. */
static Value *beside_from(const Beside *k, int d, int64_t *to) {
  if (d >= k->rank || d >= MAX_RANK)
    return k->fn(k->user, k->field, k->ver, to);
  Builder *b = k->b;
  int64_t lo, hi, off = k->off[d];
  outside_reach(k->rules->dim[d], off, &lo, &hi);
  to[d] = off;
  Value *value = beside_from(k, d + 1, to);
  if (lo == hi)
    return value;
  Value *moved = build_map(b, outside_map(k->rules->dim[d]), k->at[d], off, k->f->box.lo[d], k->f->box.hi[d]);
  Value *far = build2(b, OP_SUB, moved, k->at[d]);
  for (to[d] = lo; to[d] <= hi; to[d]++)
    if (to[d] != off) {
      Value *leads = build2(b, OP_EQ, far, build_int(b, TY_I64, to[d]));
      value = build3(b, OP_SELECT, leads, beside_from(k, d + 1, to), value);
    }
  return value;
}

Value *access_beside(Builder *b, const Module *m, int field, int ver, const Rules *rules, Value *const *at,
                     const int64_t *off, BesideFn fn, void *user) {
  Beside k = {b, &m->fields[field], m->grid.rank, field, ver, rules, at, off, fn, user};
  int64_t to[MAX_RANK] = {0};
  return inside_or_constant(b, m, field, rules, at, off, beside_from(&k, 0, to));
}

Value *ruled_cell(Builder *b, const Field *f, int64_t first, int64_t last, int d, OutsideRule rule, Value *at,
                  Value *cell, int64_t off) {
  Value *beyond = plus(b, at, off);
  Box line = {.rank = 1, .lo = {f->box.lo[d]}, .hi = {f->box.hi[d]}};
  Value *moved = build_map(b, map_op(rule), at, off, f->box.lo[d], f->box.hi[d]);
  Value *far = build2(b, OP_ADD, cell, build_convert(b, TY_I32, build2(b, OP_SUB, moved, at)));
  Value *safe = build_map(b, OP_GUARD, far, 0, affine_const(first), affine_const(last));
  return build3(b, OP_SELECT, build_inside(b, 1, &beyond, &line), plus(b, cell, off), safe);
}

Value *access_array(Builder *b, const Module *m, int field, const Kernel *k, int array, int ver, const Rules *rules,
                    Value *const *at, Value *const *cell, const int64_t *off) {
  const Field *f = &m->fields[field];
  const Array *a = &k->arrays[array];
  Value *idx[MAX_RANK];
  int64_t rest[MAX_RANK];
  for (int d = 0; d < m->grid.rank; d++) {
    OutsideRule rule = rules->dim[d];
    bool leads = outside_leads(rule);
    idx[d] = leads ? ruled_cell(b, f, -a->pad_lo[d], a->shape[d] - 1 - a->pad_lo[d], d, rule, at[d], cell[d], off[d])
                   : cell[d];
    rest[d] = (leads ? 0 : off[d]) + a->pad_lo[d];
  }
  Value *v = build_aload(b, f->type, array, ver, m->grid.rank, idx, rest);
  return inside_or_constant(b, m, field, rules, at, off, v);
}
