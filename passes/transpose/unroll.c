/* unroll.c: unrolls the repeats of a program's step, and removes the updates whose numbers have no derivative.
 *
 * - Repeats must have a constant number of rounds.
 * - Code that reads a number which the step updates computes it from the updates instead. For a number that is kept
 *   from step to step, this begins with an array of its values after each number of steps, NAME.steps, which the
 *   launcher fills.
 * - The same holds for an update that reduces over points, if it is the last one of the step: its number is the array's
 *   value one step later.
 * - A number that depends on a target of the gradient is read as its value at that place in the step: a launch-time
 *   array of its own. So is a number whose value there cannot be computed. The updates that compute these stay in the
 *   step. */
#include "passes/transpose/transpose.h"

#include <string.h>

/* The most stencils of the unrolled step. */
enum { MOST_STENCILS = 256 };

/* A stage of the unrolled step. */
typedef struct Item {
  bool update;
  int index;
} Item;

/* By launch-time array that the step updates: code: computes the number's present value (NULL: not known); version: the
 * array that stands for the present value (-1: none so far); left: the number of updates still to come; used: its
 * values in all steps are needed; bar: the array with the derivative with respect to it, -1: none. */
typedef struct Now {
  Block *code;
  int32_t version, bar;
  int left;
  bool used;
} Now;

typedef struct Unroll {
  PassContext *c;
  Module *m;
  int n, i, next, nstencils, narrays;
  Item *items;
  Now *now;
  const bool *changing;
  int nversions;
  StateVersion *versions; /* by launch-time array, from number narrays on */
  int nupdates;
  Update *updates; /* those that stay in the step */
  bool failed;
} Unroll;

/* ---- order */

/* The stage of the next stencil, or update; INT32_MAX if there is none. */
static int32_t next_stencil(const Unroll *u) { return u->i < u->m->nstencils ? u->m->stencils[u->i].stage : INT32_MAX; }
static int32_t next_update(const Unroll *u) {
  return u->next < u->m->nupdates ? u->m->updates[u->next].stage : INT32_MAX;
}

static void write_stages(Unroll *u, int around, int32_t last);

/* Emits the rounds of repeat `r`, and moves on to the stages after it. */
static void write_rounds(Unroll *u, int r) {
  const Repeat *x = &u->m->repeats[r];
  int first = u->i, update = u->next;
  if (x->most.n) {
    diag_error(u->c->diags, x->loc,
               "repeat '%s' makes as many rounds as params say, and a backward program has as many as it is written "
               "for: write a number, or have a plan compute the gradient",
               x->name);
    u->failed = true;
  }
  for (int64_t k = 0; k < x->most.c && !u->failed; k++) {
    u->i = first;
    u->next = update;
    write_stages(u, r, x->last);
  }
  while (next_stencil(u) <= x->last)
    u->i++;
  while (next_update(u) <= x->last)
    u->next++;
}

/* Emits the next stages, up to stage `last`, within repeat `around` (-1: the step). */
static void write_stages(Unroll *u, int around, int32_t last) {
  while (!u->failed) {
    int32_t stencil = next_stencil(u), update = next_update(u), stage = update <= stencil ? update : stencil;
    if (stage > last || stage == INT32_MAX)
      return;
    int r = repeat_outermost(u->m, stage, around);
    if (r != around) {
      write_rounds(u, r);
      continue;
    }
    Item x = {update <= stencil, update <= stencil ? u->next++ : u->i++};
    ARENA_PUSH(u->m->arena, u->items, u->n, x);
    u->nstencils += !x.update;
    if (x.update)
      u->now[u->m->updates[x.index].state].left++;
    if (u->nstencils > MOST_STENCILS) {
      diag_error(u->c->diags, u->m->repeats[0].loc,
                 "the rounds of all repeats are more than %d stencils, which is more than a backward program writes "
                 "out: make fewer rounds, or leave it to --device=ref",
                 MOST_STENCILS);
      u->failed = true;
    }
  }
}

/* ---- numbers */

/* Code that reads array `array`, with the values of a number in all steps, at the step's number plus `later`; for the
 * point's member, if each member has a number. */
static Block *of_steps(const Unroll *u, int array, int later) {
  const ParamArray *a = &u->m->param_arrays[array];
  Block *code = block_new(u->m->arena, NULL);
  Builder b = builder_at_end(u->m->arena, code);
  Value *at = build_step(&b);
  if (later)
    at = build2(&b, OP_ADD, at, build_int(&b, TY_I64, later));
  if (a->each)
    at = build2(&b, OP_ADD, build2(&b, OP_MUL, at, build_affine(&b, u->m, a->extent)), build_dim(&b, OP_INDEX, 0));
  Value *v = build_element(&b, a->type, array, at);
  build_yield(&b, 1, &v);
  return code;
}

static bool is_state(const Module *m, const Op *op) {
  return op->code == OP_ELEMENT && m->param_arrays[op->sym].role == ARRAY_STATE;
}

/* Copies `code`, which yields one value, to `b`. Returns the value. */
static Value *insert(Builder *b, Block *code) {
  Value **made = ARENA_ARRAY(b->arena, Value *, block_renumber(code, 0) + 1);
  for (Op *op = code->first; op != code->last; op = op->next) {
    Value *operands[8];
    for (int i = 0; i < op->noperands; i++)
      operands[i] = made[op->operands[i]->id];
    made[op->results[0]->id] = op->code == OP_CONST    ? build_const(b, op->results[0]->type, op->cval)
                               : op->code == OP_SCALAR ? build_scalar(b, op->results[0]->type, op->sym)
                               : op->code == OP_STEP   ? build_step(b)
                               : op->code == OP_INDEX  ? build_dim(b, OP_INDEX, op->sym)
                               : op->code == OP_ELEMENT
                                   ? build_element(b, op->results[0]->type, op->sym, operands[0])
                                   : build_op(b, op->code, op->results[0]->type, op->noperands, operands)->results[0];
  }
  return made[code->last->operands[0]->id];
}

/* Adds a launch-time array that stands for number `of`, or for a derivative with respect to it; `first` as in
 * ParamArray. */
static int32_t new_state(Unroll *u, const ParamArray *of, const char *name, Type t, int32_t first, StateVersion what) {
  Module *m = u->m;
  ParamArray a = {.name = name, .type = t, .extent = of->extent, .role = ARRAY_STATE, .first = first, .each = of->each};
  ARENA_PUSH(m->arena, m->param_arrays, m->nparam_arrays, a);
  ARENA_PUSH(m->arena, u->versions, u->nversions, what);
  return m->nparam_arrays - 1;
}

/* The array that stands for the present value of number `state`. */
static int32_t version_of(Unroll *u, int32_t state) {
  Now *now = &u->now[state];
  const ParamArray *a = &u->m->param_arrays[state];
  if (now->version < 0)
    now->version = new_state(u, a, arena_printf(u->m->arena, "%s.now.%d", a->name, u->nversions), a->type, -1,
                             (StateVersion){.code = now->code, .bar = now->bar});
  return now->version;
}

/* A copy of `body` that computes the numbers which it reads. wholly: also those that depend on a target of the
 * gradient; otherwise it reads the arrays that stand for these, and for numbers that cannot be computed. NULL: the
 * number read by *unknown cannot be computed. */
static Block *resolved(Unroll *u, Block *body, bool wholly, const Op **unknown) {
  Arena *a = u->m->arena;
  block_renumber(body, 0);
  Block *out = block_clone(a, body, NULL, NULL);
  for (Op *op = out->first, *next; op; op = next) {
    next = op->next;
    if (!is_state(u->m, op) || op->sym >= u->narrays)
      continue;
    Now *now = &u->now[op->sym];
    if (!now->code && (wholly || now->version < 0)) {
      *unknown = op;
      return NULL;
    }
    if (!wholly && (!now->code || now->bar >= 0)) {
      op->sym = version_of(u, op->sym);
      continue;
    }
    Builder b = builder_before(a, op);
    block_replace_uses(out, op->results[0], insert(&b, now->code));
    op_unlink(op);
  }
  return out;
}

/* If `code` depends on constants only, code that yields its value, else `code`. */
static Block *folded(const Unroll *u, Block *code) {
  Const *value = ARENA_ARRAY(u->m->arena, Const, block_renumber(code, 0) + 1), in[8];
  for (const Op *op = code->first; op != code->last; op = op->next) {
    if (op->code == OP_SCALAR || op->code == OP_STEP || op->code == OP_INDEX || op->code == OP_ELEMENT ||
        op->noperands > 3)
      return code;
    for (int i = 0; i < op->noperands; i++)
      in[i] = value[op->operands[i]->id];
    value[op->results[0]->id] = op->code == OP_CONST ? op->cval : eval_op(op, in);
  }
  const Value *v = code->last->operands[0];
  Block *out = block_new(u->m->arena, NULL);
  Builder b = builder_at_end(u->m->arena, out);
  Value *w = build_const(&b, v->type, value[v->id]);
  build_yield(&b, 1, &w);
  return out;
}

/* Does update `x` compute its number from other numbers only (and from the member's number, if each member has one)? */
static bool is_plain(const Module *m, const Update *x) {
  bool plain = update_is_point(x);
  for (const Op *op = x->body->first; op; op = op->next) {
    bool reduction = op->code == OP_SCALAR && m->scalars[op->sym].is_reduction;
    bool member = op->code == OP_INDEX && x->each && op->sym == 0;
    plain = plain && op->code != OP_ACCESS && (op->code != OP_INDEX || member) && op->code != OP_RANDOM &&
            op->code != OP_NORMAL && !reduction;
  }
  return plain;
}

/* The body of `what` `name`, with the present values of numbers. */
static Block *take_body(Unroll *u, Block *body, const char *what, const char *name) {
  const Op *unknown = NULL;
  Block *out = resolved(u, body, false, &unknown);
  if (out)
    return out;
  diag_error(u->c->diags, unknown->loc, "%s '%s' reads '%s', which no step has given a value there", what, name,
             u->m->param_arrays[unknown->sym].name);
  u->failed = true;
  return body;
}

/* Computes the number's value after update `x`. The update stays in the step if the number has a derivative or cannot
 * be computed otherwise. */
static void update(Unroll *u, const Update *x) {
  const Op *unknown = NULL;
  Now *now = &u->now[x->state];
  Update stays = *x;
  stays.body = take_body(u, x->body, "scalar", update_name(u->m, x));
  now->left--;
  Block *code = is_plain(u->m, x) ? resolved(u, x->body, true, &unknown) : NULL;
  bool kept = u->m->param_arrays[x->state].first >= 0;
  now->code = code ? folded(u, code) : kept && !now->left ? of_steps(u, x->state, 1) : NULL;
  now->version = -1;
  if (now->code && now->bar < 0)
    return;
  stays.state = version_of(u, x->state);
  ARENA_PUSH(u->m->arena, u->updates, u->nupdates, stays);
}

/* ---- the module */

/* A copy of the stencil, for its occurrence number `time`, with a name of its own. */
static Stencil take_stencil(Unroll *u, int index, int time) {
  Stencil st = u->m->stencils[index];
  st.name = time > 1 ? arena_printf(u->m->arena, "%s.%d", st.name, time) : st.name;
  st.pieces = ARENA_ARRAY(u->m->arena, Piece, st.npieces + 1);
  for (int k = 0; k < st.npieces; k++) {
    st.pieces[k] = u->m->stencils[index].pieces[k];
    st.pieces[k].body = take_body(u, st.pieces[k].body, "stencil", st.name);
  }
  return st;
}

/* Notes the numbers whose values in all steps are read, by code or by the code that computes numbers. */
static void mark(Unroll *u, const Block *b) {
  for (const Op *op = b ? b->first : NULL; op; op = op->next)
    if (is_state(u->m, op) && op->sym < u->narrays)
      u->now[op->sym].used = true;
}
static void mark_all(Unroll *u) {
  Bodies bodies = bodies_of(u->m, CODE_STENCILS | CODE_REDUCTIONS | CODE_UPDATES);
  for (const Block *b; (b = bodies_next(&bodies));)
    mark(u, b);
  for (int i = 0; i < u->nversions; i++)
    mark(u, u->versions[i].code);
}

/* The versions, indexed by the new numbers of the launch-time arrays: array i has become to[i]. */
static StateVersion *numbered_versions(const Unroll *u, const int32_t *to, int n) {
  StateVersion *out = ARENA_ARRAY(u->m->arena, StateVersion, n + 1);
  for (int i = 0; i < n; i++)
    out[i].bar = -1;
  for (int i = 0; i < u->nversions; i++) {
    StateVersion v = u->versions[i];
    v.bar = v.bar >= 0 ? to[v.bar] : -1;
    out[to[u->narrays + i]] = v;
  }
  return out;
}

/* Adds the scalar with the number of values of a number that each of `members` has, in all steps; `last` is the number
 * of ADJOINT_LAST. */
static int32_t numbers_scalar(Module *m, Affine members, int32_t last) {
  Scalar s = {.name = "back.numbers", .type = TY_I64, .expr = block_new(m->arena, NULL)};
  Builder b = builder_at_end(m->arena, s.expr);
  Value *steps = build2(&b, OP_ADD, build_scalar(&b, TY_I64, last), build_int(&b, TY_I64, 1));
  Value *v = build2(&b, OP_MUL, steps, build_affine(&b, m, members));
  build_yield(&b, 1, &v);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, s);
  return m->nscalars - 1;
}

/* Orders the launch-time arrays: the given ones, then arrays for numbers whose values in all steps are needed, then
 * those that stand for numbers; removes the others. */
static StateVersion *make_arrays(Unroll *u, int32_t last) {
  Module *m = u->m;
  ParamArray *all = NULL;
  int32_t *to = ARENA_ARRAY(m->arena, int32_t, m->nparam_arrays + 1), numbers = -1;
  int n = 0;
  mark_all(u);
  for (int pass = 0; pass < 3; pass++)
    for (int i = 0; i < m->nparam_arrays; i++) {
      ParamArray a = m->param_arrays[i];
      bool state = a.role == ARRAY_STATE && i < u->narrays;
      if (pass != (a.role == ARRAY_GIVEN ? 0 : state ? 1 : 2) || (state && !u->now[i].used))
        continue;
      if (state) {
        a.name = arena_printf(m->arena, "%s" ADJOINT_STEPS, a.name);
        a.role = ARRAY_GIVEN;
        a.first = -1;
        a.extent = a.each ? affine_scalar(m->arena, numbers = numbers < 0 ? numbers_scalar(m, a.extent, last) : numbers)
                          : affine_add_const(affine_scalar(m->arena, last), 1);
        a.each = false;
      }
      to[i] = n;
      ARENA_PUSH(m->arena, all, n, a);
    }
  m->param_arrays = all;
  m->nparam_arrays = n;
  transpose_renumber(m, OP_ELEMENT, to);
  for (int i = 0; i < m->nupdates; i++)
    m->updates[i].state = to[m->updates[i].state];
  for (int i = 0; i < u->nversions; i++)
    if (u->versions[i].code)
      transpose_renumber_body(u->versions[i].code, OP_ELEMENT, to);
  for (int i = 0; i < m->nlists; i++)
    m->lists[i].next = m->lists[i].next >= 0 ? to[m->lists[i].next] : -1;
  return numbered_versions(u, to, n);
}

/* Adds a scalar with the value 0, the initial value of derivatives with respect to numbers. */
static int32_t zero_scalar(Module *m) {
  Scalar s = {.name = "back.zero", .type = TY_F64, .expr = block_new(m->arena, NULL)};
  Builder b = builder_at_end(m->arena, s.expr);
  Value *v = build_float(&b, TY_F64, 0);
  build_yield(&b, 1, &v);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, s);
  return m->nscalars - 1;
}

/* Sets the values of all numbers at the start of the step, or between two steps, and adds the arrays of their
 * derivatives. */
static void begin(Unroll *u, AdjointFacts *facts) {
  Module *m = u->m;
  int32_t zero = -1;
  for (int i = 0; i < u->narrays; i++) {
    const ParamArray of = m->param_arrays[i], *a = &of; /* a copy, because the list grows */
    bool state = a->role == ARRAY_STATE, bar = state && u->changing[i];
    int32_t first = a->first;
    u->now[i] = (Now){.code = state && first >= 0 ? of_steps(u, i, 0) : NULL, .version = -1, .bar = -1};
    if (!bar)
      continue;
    const char *name = arena_printf(m->arena, "%s.bar", a->name);
    zero = zero < 0 ? zero_scalar(m) : zero;
    u->now[i].bar = new_state(u, a, name, TY_F64, zero, (StateVersion){.bar = m->nparam_arrays, .first = first});
    if (first >= 0)
      ARENA_PUSH(m->arena, facts->states, facts->nstates, ((AdjointField){name, m->scalars[first].name}));
  }
}

/* Puts the unrolled stages into the module, in order. */
static void put_items(Unroll *u) {
  Module *m = u->m;
  Stencil *list = NULL;
  int n = 0, kept = 0, *times = ARENA_ARRAY(m->arena, int, m->nstencils + 1);
  int32_t stage = 0;
  bool behind = true; /* is there a stencil after the last update, or no update so far? */
  for (int i = 0; i < u->n && !u->failed; i++) {
    if (u->items[i].update) {
      update(u, &m->updates[u->items[i].index]);
      for (; kept < u->nupdates; kept++, behind = false)
        u->updates[kept].stage = stage += behind;
      continue;
    }
    Stencil st = take_stencil(u, u->items[i].index, ++times[u->items[i].index]);
    st.stage = stage;
    behind = true;
    ARENA_PUSH(m->arena, list, n, st);
  }
  m->stencils = list;
  m->nstencils = n;
  m->updates = u->updates;
  m->nupdates = u->nupdates;
  m->nrepeats = 0;
}

bool transpose_unroll(PassContext *c, Module *m, int32_t last, const bool *changing, AdjointFacts *facts,
                      StateVersion **versions) {
  Unroll u = {.c = c, .m = m, .narrays = m->nparam_arrays, .changing = changing};
  *versions = ARENA_ARRAY(m->arena, StateVersion, m->nparam_arrays + 1);
  for (int i = 0; i < m->nparam_arrays; i++)
    (*versions)[i].bar = -1;
  if (!m->nupdates && !m->nrepeats && !module_state(m))
    return true;
  u.now = ARENA_ARRAY(m->arena, Now, m->nparam_arrays + 1);
  begin(&u, facts);
  for (int i = 0; i < m->nreductions; i++)
    m->reductions[i].body = take_body(&u, m->reductions[i].body, "loss", m->reductions[i].name);
  write_stages(&u, -1, INT32_MAX - 1);
  put_items(&u);
  if (u.failed)
    return false;
  *versions = make_arrays(&u, last);
  module_renumber(m);
  return true;
}
