/* lower-body.c: lowers the bodies of pieces and stencils to kernel IR at one point. */
#include "passes/lower/lower.h"

/* An access that a Point has built: its field, offset, rules and value. */
struct SeenAccess {
  int32_t field;
  int64_t off[MAX_RANK];
  Rules rules;
  Value *value;
};

/* Are the two accesses the same? */
static bool same_access(const struct SeenAccess *x, const struct SeenAccess *y) {
  for (int d = 0; d < MAX_RANK; d++)
    if (x->off[d] != y->off[d] || x->rules.dim[d] != y->rules.dim[d])
      return false;
  return x->field == y->field;
}

Value *point_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  struct SeenAccess s = {.field = field, .rules = *rules};
  for (int d = 0; d < p->m->grid.rank; d++)
    s.off[d] = off[d];
  for (int i = 0; i < p->nseen; i++)
    if (same_access(&p->seen[i], &s))
      return p->seen[i].value;
  s.value = p->access(p, b, s.field, s.off, &s.rules);
  ARENA_PUSH(b->arena, p->seen, p->nseen, s);
  return s.value;
}

bool point_has(const Point *p, int field, const int64_t *off, const Rules *rules) {
  struct SeenAccess s = {.field = field, .rules = *rules};
  for (int d = 0; d < p->m->grid.rank; d++)
    s.off[d] = off[d];
  for (int i = 0; i < p->nseen; i++)
    if (same_access(&p->seen[i], &s))
      return true;
  return false;
}

int32_t point_built(const Point *p, Value **out) {
  for (int32_t i = 0; out && i < p->nseen; i++)
    out[i] = p->seen[i].value;
  return p->nseen;
}

int32_t point_take(Point *p, Builder *b, const Point *like, Value *const *values) {
  for (int32_t i = 0; i < like->nseen; i++) {
    struct SeenAccess s = like->seen[i];
    s.value = values[i];
    ARENA_PUSH(b->arena, p->seen, p->nseen, s);
  }
  return like->nseen;
}

bool stencils_use_step(int n, const Stencil *st) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      for (const Op *op = st[i].pieces[k].body->first; op; op = op->next)
        if (op->code == OP_STEP)
          return true;
  return false;
}

/* A copy of the pure op `op`, with operands from `map`. */
static Value *copy_op(Builder *b, const Op *op, Value *const *map) {
  Value **operands = ARENA_ARRAY(b->arena, Value *, op->noperands);
  for (int i = 0; i < op->noperands; i++)
    operands[i] = map[op->operands[i]->id];
  Op *r = build_op(b, op->code, op->results[0]->type, op->noperands, operands);
  r->sym = op->sym;
  r->flags = op->flags;
  r->cval = op->cval;
  return r->results[0];
}

/* Lowers the element op `op` to a load from the buffer of its array (lowering_new), at `index` clamped to the array.
 * The value is 0 if the array is empty. An array with two indices is never empty: launches check that. */
static Value *element_value(const Module *m, Builder *b, const Op *op, Value *index) {
  const ParamArray *p = &m->param_arrays[op->sym];
  Value *at = build_map(b, OP_CLAMP, index, 0, affine_const(0), affine_add_const(p->extent, -1));
  Value *v = build_load(b, p->type, op->sym, 1, &at, NULL);
  if ((p->extent.n && !array_has_rows(p)) || (!p->extent.n && p->extent.c < 1)) {
    Value *some = build2(b, OP_GT, build_affine(b, m, p->extent), build_int(b, TY_I64, 0));
    v = build3(b, OP_SELECT, some, v, build_const(b, p->type, (Const){0}));
  }
  return build_convert(b, op->results[0]->type, v);
}

Value *body_op(Point *p, Builder *b, const Op *op, Value *const *map) {
  if (op->code == OP_ELEMENT)
    return element_value(p->m, b, op, map[op->operands[0]->id]);
  if (op->code == OP_INDEX && op->sym == p->m->grid.rank) /* the number of the slice */
    return build2(b, OP_ADD, build_dim(b, OP_BLOCK, op->sym), build_affine(b, p->m, p->m->slice_of->grid.lo[0]));
  return op->code == OP_INDEX ? p->index[op->sym] : op->code == OP_STEP ? p->step : copy_op(b, op, map);
}

/* ---- tests for what is beyond an edge */

/* SUM_DEPTH: the greatest depth of a sum that is analysed. MOST_CONSTANT: the largest constant in it. EDGE_WIDTH: the
 * most points beyond a bound at an edge; if a bound is deep inside the grid, many tiles lie beyond it, so `inside` does
 * not describe most tiles. */
enum { SUM_DEPTH = 8, MOST_CONSTANT = INT32_MAX, EDGE_WIDTH = 64 };

/* If `v` is a sum of constants, integer params and at most one coordinate, adds `sign` times `v` to *sum without the
 * coordinate, and sets *d to the coordinate's dimension (*d is MAX_RANK as long as there is none). Else false. */
static bool add_sum(Arena *a, const Value *v, int64_t sign, int depth, Affine *sum, int *d) {
  const Op *op = v->def;
  if (!op || v->type != TY_I64 || depth == 0)
    return false;
  if (op->code == OP_CONST && -MOST_CONSTANT <= op->cval.i && op->cval.i <= MOST_CONSTANT)
    *sum = affine_add_const(*sum, sign * op->cval.i);
  else if (op->code == OP_SCALAR)
    *sum = affine_add(a, *sum, affine_scale(a, affine_scalar(a, op->sym), sign));
  else if (op->code == OP_INDEX && sign > 0 && *d == MAX_RANK)
    *d = op->sym;
  else
    return (op->code == OP_ADD || op->code == OP_SUB) && add_sum(a, op->operands[0], sign, depth - 1, sum, d) &&
           add_sum(a, op->operands[1], op->code == OP_SUB ? -sign : sign, depth - 1, sum, d);
  return true;
}

/* If `op` compares a coordinate of `piece` with a bound that only a small constant number of points at an edge of the
 * piece exceed, builds it as the negation of an `inside`, which later passes can remove from inner tiles. Else NULL. */
static Value *edge_test(Point *p, Builder *b, const Piece *piece, const Op *op) {
  Arena *a = b->arena;
  bool above = op->code == OP_GT;
  int d = MAX_RANK, none = -1;
  Affine at = affine_const(0), bound = affine_const(0);
  int64_t beyond;
  if ((!above && op->code != OP_LT) || !add_sum(a, op->operands[0], 1, SUM_DEPTH, &at, &d) || d >= piece->box.rank ||
      !add_sum(a, op->operands[1], 1, SUM_DEPTH, &bound, &none))
    return NULL;
  Box all = {.rank = 1, .lo = {piece->box.lo[d]}, .hi = {piece->box.hi[d]}};
  bound = affine_sub(a, bound, at);
  bool edge =
      affine_diff(above ? all.hi[0] : bound, above ? bound : all.lo[0], &beyond) && 0 < beyond && beyond <= EDGE_WIDTH;
  *(above ? all.hi : all.lo) = bound;
  return edge ? build1(b, OP_NOT, build_inside(b, 1, &p->index[d], &all)) : NULL;
}

Value **piece_values(Point *p, Builder *b, const Piece *piece) {
  Value **map = ARENA_ARRAY(b->arena, Value *, body_number(piece->body));
  Value **out = ARENA_ARRAY(b->arena, Value *, piece->ntargets);
  Loc loc = b->loc;
  for (const Op *op = piece->body->first; op; op = op->next) {
    bool skip = false;
    Value *known = p->known ? p->known(p, b, piece, op, &skip) : NULL;
    b->loc = op->loc;
    known = known || skip ? known : edge_test(p, b, piece, op);
    if (known || skip) {
      map[op->results[0]->id] = known;
    } else if (op->code == OP_YIELD) {
      for (int i = 0; i < op->noperands; i++)
        out[i] = map[op->operands[i]->id];
    } else if (op->code == OP_ACCESS) {
      Rules rules = access_rules(p->m, &piece->box, op->sym, op->off);
      map[op->results[0]->id] = point_access(p, b, op->sym, op->off, &rules);
    } else if (op_is_scaled(op)) {
      map[op->results[0]->id] = level_value(p, b, piece, op);
    } else if (op->code == OP_BEHIND) {
      map[op->results[0]->id] = p->behind(p, b, op->sym, op->off);
    } else {
      map[op->results[0]->id] = body_op(p, b, op, map);
    }
  }
  b->loc = loc;
  return out;
}

/* The numbers of the pieces of `st`, sorted by falling number of free dimensions; pieces with as many stay in order. */
static int *main_first(Arena *a, const Stencil *st) {
  int *order = ARENA_ARRAY(a, int, st->npieces);
  int n = 0;
  for (int want = MAX_RANK; want >= 0; want--)
    for (int i = 0; i < st->npieces; i++)
      if (free_dimensions(a, &st->pieces[i].box) == want)
        order[n++] = i;
  return order;
}

/* Is the point in piece i? Builds each test once, and keeps it in `tests`. */
static Value *piece_test(Point *p, Builder *b, const Stencil *st, int i, Value **tests) {
  if (!tests[i])
    tests[i] = build_inside(b, p->m->grid.rank, p->index, &st->pieces[i].box);
  return tests[i];
}

/* The new value of `field` at the point: a chain of selects over the pieces in `order`; values[i] are the target values
 * of piece i. */
static Value *chain(Point *p, Builder *b, const Stencil *st, int field, const int *order, Value **const *values,
                    Value **tests, Value *v) {
  for (int k = st->npieces - 1; k >= 0; k--) {
    int i = order[k], t = piece_target(&st->pieces[i], field);
    if (t < 0)
      continue;
    bool always = !v || box_inside(&p->m->fields[field].box, &st->pieces[i].box) == 1;
    v = always ? values[i][t] : build3(b, OP_SELECT, piece_test(p, b, st, i, tests), values[i][t], v);
  }
  return v;
}

Value **stencil_values(Point *p, Builder *b, const Stencil *st, Value *(*old)(Point *p, Builder *b, int field)) {
  int *order = main_first(b->arena, st);
  Value ***values = ARENA_ARRAY(b->arena, Value **, st->npieces);
  Value **tests = ARENA_ARRAY(b->arena, Value *, st->npieces);
  Value **out = ARENA_ARRAY(b->arena, Value *, st->ntargets);
  for (int k = 0; k < st->npieces; k++)
    values[order[k]] = piece_values(p, b, &st->pieces[order[k]]);
  for (int t = 0; t < st->ntargets; t++) {
    bool keeps = old && stencil_keeps(p->m, st, st->targets[t]);
    out[t] = chain(p, b, st, st->targets[t], order, values, tests, keeps ? old(p, b, st->targets[t]) : NULL);
  }
  return out;
}
