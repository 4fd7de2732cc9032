/* states.c: undoes updates of numbers (scalars that the step updates). The derivative with respect to such a number is
 * itself a number that the backward step updates: NAME.bar. A stencil that reads the number stores each point's
 * contribution to that derivative in a field on its region, and an update adds these up. An update is undone like a
 * loss whose factor is the derivative with respect to its number; that derivative is then set to 0, and the
 * contributions of the numbers that the update itself reads are added. For `min` and `max` over a region only the point
 * counts that gave the value, the first in order if there are several. */
#include "passes/transpose/transpose.h"

/* The first point of the grid, or with `each` that of each member, at which updates of numbers alone are computed. */
static Box first_point(const Module *m, bool each) {
  Box b = m->grid;
  for (int d = each; d < b.rank; d++)
    b.hi[d] = b.lo[d];
  return b;
}

/* Has array `state` of the backward module an element for each member? */
static bool is_each(const Transpose *x, int32_t state) { return x->b->param_arrays[state].each; }

/* ---- the program's stages */

void transpose_stencil(Transpose *x, Stencil st) { ARENA_PUSH(x->a, x->stages, x->nstages, ((Stage){.stencil = st})); }

/* Adds an update of array `state` of the backward module to the stages. */
static void add_update(Transpose *x, int32_t state, Opcode op, const Box *over, Block *body) {
  Stage s = {.is_update = true, .update = {.state = state, .op = op, .over = *over, .body = body}};
  s.update.type = x->b->param_arrays[state].type;
  s.update.each = is_each(x, state);
  ARENA_PUSH(x->a, x->stages, x->nstages, s);
}

/* Puts stage `s` after the stages of module `b`. *behind: is there a stencil after the last update? */
static void put_stage(Module *b, Stage *s, int32_t *stage, bool *behind) {
  if (s->is_update) {
    *stage += *behind;
    *behind = false;
    s->update.stage = *stage;
    ARENA_PUSH(b->arena, b->updates, b->nupdates, s->update);
  } else {
    *behind = true;
    s->stencil.stage = *stage;
    ARENA_PUSH(b->arena, b->stencils, b->nstencils, s->stencil);
  }
}

void transpose_put_stages(Transpose *x, int n, Stage *first) {
  int32_t stage = 0;
  bool behind = true;
  for (int i = 0; i < n; i++)
    put_stage(x->b, &first[i], &stage, &behind);
  for (int i = 0; i < x->nstages; i++)
    put_stage(x->b, &x->stages[i], &stage, &behind);
}

bool transpose_previous(const Module *m, int *stencil, int *update) {
  bool is_update = *update >= 0 && (*stencil < 0 || m->updates[*update].stage > m->stencils[*stencil].stage);
  if (is_update)
    --*update;
  else
    --*stencil;
  return is_update;
}

/* ---- numbers as they were */

/* Code that reads array `array` of the backward module: the element of the point's member, if each member has one. */
static Value *read_state(Transpose *x, Builder *b, int32_t array) {
  Value *at = is_each(x, array) ? build_dim(b, OP_INDEX, 0) : build_int(b, TY_I64, 0);
  return build_element(b, x->b->param_arrays[array].type, array, at);
}

Value *state_value(Undo *u, int32_t array) {
  const Block *code = u->x->states[array].code;
  if (!code) {
    u->x->state_needed[array] = true;
    return read_state(u->x, &u->b, array);
  }
  Value **made = ARENA_ARRAY(u->x->a, Value *, block_renumber((Block *)code, 0) + 1);
  for (const Op *op = code->first; op != code->last; op = op->next) {
    Value *in[8];
    Type t = op->results[0]->type;
    for (int i = 0; i < op->noperands; i++)
      in[i] = made[op->operands[i]->id];
    made[op->results[0]->id] = op->code == OP_CONST     ? build_const(&u->b, t, op->cval)
                               : op->code == OP_SCALAR  ? build_scalar(&u->b, t, op->sym)
                               : op->code == OP_STEP    ? u->number
                               : op->code == OP_INDEX   ? build_dim(&u->b, OP_INDEX, op->sym)
                               : op->code == OP_ELEMENT ? build_element(&u->b, t, op->sym, in[0])
                                                        : build_op(&u->b, op->code, t, op->noperands, in)->results[0];
  }
  return made[code->last->operands[0]->id];
}

/* The value of update `up` at a point, as the code of the returned Undo. */
static Undo each_value(Transpose *x, const Update *up, const int32_t *version) {
  Undo u = {.x = x, .body = up->body, .version = version, .b = builder_at_end(x->a, block_new(x->a, NULL))};
  u.clone = ARENA_ARRAY(x->a, Value *, block_renumber(up->body, 0) + 1);
  u.b.loc = up->loc;
  u.number = build2(&u.b, OP_SUB, build_scalar(&u.b, TY_I64, x->last), build_step(&u.b));
  Value *v = undo_clone(&u, up->body->last->operands[0]);
  build_yield(&u.b, 1, &v);
  return u;
}

bool update_again(Transpose *x, int number, const int32_t *version, Stage *out) {
  const Update *up = &x->m->updates[number];
  if (x->states[up->state].code || !x->state_needed[up->state])
    return false;
  Undo u = each_value(x, up, version);
  *out = (Stage){.is_update = true, .update = *up};
  out->update.body = u.b.block;
  for (const Op *op = u.b.block->first; op; op = op->next)
    if (op->code == OP_ACCESS && x->b->fields[op->sym].temp) { /* an update reads no temp field */
      x->b->fields[op->sym].temp = false;
      ARENA_PUSH(x->a, x->b->inits, x->b->ninits, transpose_zero(x, op->sym));
    }
  return true;
}

/* ---- what is contributed */

/* Adds to the backward module an array for a number (one for each member if array `like` has that) that each step
 * writes before it reads it. */
static int32_t passing_state(Transpose *x, const char *name, Type t, int32_t like) {
  Module *b = x->b;
  ParamArray a = {.extent = b->param_arrays[like].extent, .type = t, .role = ARRAY_STATE, .first = -1};
  a.each = is_each(x, like);
  a.name = arena_printf(x->a, "%s.%d", name, b->nparam_arrays);
  ARENA_PUSH(x->a, b->param_arrays, b->nparam_arrays, a);
  return b->nparam_arrays - 1;
}

/* Code that yields the value of field `field` of the backward module at the point, plus array `to` (-1: without). */
static Block *field_body(Transpose *x, int32_t field, int32_t to) {
  static const int64_t here[MAX_RANK];
  Block *body = block_new(x->a, NULL);
  Builder b = builder_at_end(x->a, body);
  Value *v = build_access(&b, x->b->fields[field].type, field, here, x->m->grid.rank);
  if (to >= 0)
    v = build2(&b, OP_ADD, read_state(x, &b, to), v);
  build_yield(&b, 1, &v);
  return body;
}

/* Adds array `sum` of the backward module to array `to`; sum -1: sets it to 0. */
static void add_state(Transpose *x, int32_t to, int32_t sum) {
  Box point = first_point(x->m, is_each(x, to));
  Block *body = block_new(x->a, NULL);
  Builder b = builder_at_end(x->a, body);
  Value *v = sum < 0 ? build_float(&b, TY_F64, 0) : build2(&b, OP_ADD, read_state(x, &b, to), read_state(x, &b, sum));
  build_yield(&b, 1, &v);
  add_update(x, to, OP_MAX, &point, body);
}

void states_add_shares(Transpose *x) {
  for (int i = 0; i < x->nshares; i++) {
    const StateShare *s = &x->shares[i];
    const Box *over = &x->b->fields[s->field].box;
    Update alone = {.over = *over, .each = is_each(x, s->bar)};
    if (update_is_point(&alone)) {
      add_update(x, s->bar, OP_MAX, over, field_body(x, s->field, s->bar));
      continue;
    }
    int32_t sum = passing_state(x, "back.sum", TY_F64, s->bar);
    add_update(x, sum, OP_ADD, over, field_body(x, s->field, -1));
    add_state(x, s->bar, sum);
  }
  x->nshares = 0;
}

/* ---- updates */

/* The derivative with respect to the value that an update combines: that with respect to its number, at the place that
 * gave the value. */
typedef struct UpdateSeed {
  int32_t bar, at; /* arrays of the backward module; at -1: all places count */
  const Box *over;
  int64_t every; /* the update is made only when a multiple of this number of steps is done; 0: always */
  bool first;    /* only the first member counts */
} UpdateSeed;

/* Builds the test that `n`, the number of steps done, is a multiple of `every`. */
static Value *is_due(Builder *b, int64_t every, Value *n) {
  return build2(b, OP_EQ, build2(b, OP_REM, n, build_int(b, TY_I64, every)), build_int(b, TY_I64, 0));
}

/* Builds the number of the point in `over`, row by row. */
static Value *place_in(Transpose *x, Builder *b, const Box *over) {
  Value *at = NULL;
  for (int d = 0; d < x->m->grid.rank; d++) {
    Affine extent = affine_add_const(affine_sub(x->a, over->hi[d], over->lo[d]), 1);
    Value *i = build2(b, OP_SUB, build_dim(b, OP_INDEX, d), build_affine(b, x->b, over->lo[d]));
    at = at ? build2(b, OP_ADD, build2(b, OP_MUL, at, build_affine(b, x->b, extent)), i) : i;
  }
  return at;
}

static Value *update_seed(Undo *u, const void *seed) {
  const UpdateSeed *s = seed;
  Value *bar = read_state(u->x, &u->b, s->bar);
  if (s->every > 1)
    bar = build3(&u->b, OP_SELECT, is_due(&u->b, s->every, u->number), bar, build_float(&u->b, TY_F64, 0));
  if (s->first) {
    Value *i = build_dim(&u->b, OP_INDEX, 0), *lo = build_affine(&u->b, u->x->b, u->x->m->grid.lo[0]);
    bar = build3(&u->b, OP_SELECT, build2(&u->b, OP_EQ, i, lo), bar, build_float(&u->b, TY_F64, 0));
  }
  if (s->at < 0)
    return bar;
  Value *here = build2(&u->b, OP_EQ, place_in(u->x, &u->b, s->over), read_state(u->x, &u->b, s->at));
  return build3(&u->b, OP_SELECT, here, bar, build_float(&u->b, TY_F64, 0));
}

/* The array with the number of the point that gave the value of `up`, a minimum or maximum; one for each member if the
 * array `bar` of its derivative has that. A field keeps the values of all points, so that the same bits are
 * compared. */
static int32_t chosen_place(Transpose *x, const Update *up, const int32_t *version, int32_t bar) {
  Stencil st = {.name = arena_printf(x->a, "%s.each", update_name(x->m, up)), .loc = up->loc};
  Undo u = each_value(x, up, version);
  u.box = &up->over;
  int32_t each = left_field(x, &u, st.name, TY_F64);
  Piece p = {.box = up->over, .body = u.b.block, .loc = up->loc};
  ARENA_PUSH(x->a, p.targets, p.ntargets, each);
  ARENA_PUSH(x->a, st.targets, st.ntargets, each);
  ARENA_PUSH(x->a, st.pieces, st.npieces, p);
  transpose_stencil(x, st);
  int32_t most = passing_state(x, "back.most", TY_F64, bar), at = passing_state(x, "back.place", TY_I64, bar);
  add_update(x, most, up->op, &up->over, field_body(x, each, -1));
  static const int64_t here[MAX_RANK];
  Block *body = block_new(x->a, NULL);
  Builder b = builder_at_end(x->a, body);
  Value *is_it = build2(&b, OP_EQ, build_access(&b, TY_F64, each, here, x->m->grid.rank), read_state(x, &b, most));
  Value *v = build3(&b, OP_SELECT, is_it, place_in(x, &b, &up->over), build_int(&b, TY_I64, INT64_MAX));
  build_yield(&b, 1, &v);
  add_update(x, at, OP_MIN, &up->over, body);
  return at;
}

void undo_update(Transpose *x, int number, const int32_t *version) {
  const Update *up = &x->m->updates[number];
  UpdateSeed seed = {.bar = x->states[up->state].bar, .at = -1, .over = &up->over};
  if (seed.bar < 0 || !x->array_active[seed.bar])
    return;
  if (!update_is_point(up) && up->op != OP_ADD)
    seed.at = chosen_place(x, up, version, seed.bar);
  Piece p = {.box = up->over, .body = up->body, .loc = up->loc};
  if (x->m->members && !up->each && update_is_point(up)) { /* stencils compute all members */
    p.box.hi[0] = x->m->grid.hi[0];
    seed.first = true;
  }
  Stencil st = {.name = update_name(x->m, up), .npieces = 1, .pieces = &p, .loc = up->loc};
  gather_stencil(x, &st, version, update_seed, &seed);
  add_state(x, seed.bar, -1);
  states_add_shares(x);
}

/* Sets the derivative with respect to the value of `r` to 0 in the steps in which that value was computed. */
static void clear_reduced(Transpose *x, const Reduction *r, int32_t bar) {
  Box point = first_point(x->m, is_each(x, bar));
  Block *body = block_new(x->a, NULL);
  Builder b = builder_at_end(x->a, body);
  Value *n = build2(&b, OP_SUB, build_scalar(&b, TY_I64, x->last), build_step(&b));
  Value *v = build3(&b, OP_SELECT, is_due(&b, r->every, n), build_float(&b, TY_F64, 0), read_state(x, &b, bar));
  build_yield(&b, 1, &v);
  add_update(x, bar, OP_MAX, &point, body);
}

void undo_reduction(Transpose *x, const Reduction *r) {
  int32_t bar = module_find_param_array(x->m, arena_printf(x->a, "%s.bar", r->name));
  if (bar < 0 || x->states[bar].bar != bar || !x->array_active[bar])
    return;
  Update up = {.state = bar, .op = r->op, .type = r->type, .over = r->over, .body = r->body, .loc = r->loc};
  UpdateSeed seed = {.bar = bar, .at = -1, .over = &up.over, .every = r->every};
  if (up.op != OP_ADD)
    seed.at = chosen_place(x, &up, x->before[0], bar);
  Piece p = {.box = r->over, .body = r->body, .loc = r->loc};
  Stencil st = {.name = r->name, .npieces = 1, .pieces = &p, .loc = r->loc};
  gather_stencil(x, &st, x->before[0], update_seed, &seed);
  clear_reduced(x, r, bar);
  states_add_shares(x);
}

/* ---- numbers that are there for nothing */

void states_drop(Transpose *x) {
  Module *b = x->b;
  bool *used = ARENA_ARRAY(x->a, bool, b->nparam_arrays + 1);
  int32_t *to = ARENA_ARRAY(x->a, int32_t, b->nparam_arrays + 1);
  ParamArray *arrays = NULL;
  int n = 0;
  transpose_mark(b, OP_ELEMENT, used);
  for (int i = 0; i < b->nupdates; i++)
    used[b->updates[i].state] = true;
  for (int i = 0; i < b->nparam_arrays; i++) {
    to[i] = n;
    if (used[i] || b->param_arrays[i].role != ARRAY_STATE)
      ARENA_PUSH(x->a, arrays, n, b->param_arrays[i]);
  }
  transpose_renumber(b, OP_ELEMENT, to);
  for (int i = 0; i < b->nupdates; i++)
    b->updates[i].state = to[b->updates[i].state];
  for (int i = 0; i < b->nlists; i++)
    b->lists[i].next = b->lists[i].next >= 0 ? to[b->lists[i].next] : -1;
  b->param_arrays = arrays;
  b->nparam_arrays = n;
  AdjointFacts *facts = x->facts;
  AdjointField *kept = NULL;
  int nkept = 0;
  for (int i = 0; i < facts->nstates; i++)
    if (module_find_param_array(b, facts->states[i].name) >= 0)
      ARENA_PUSH(x->a, kept, nkept, facts->states[i]);
  facts->states = kept;
  facts->nstates = nkept;
}
