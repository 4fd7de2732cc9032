/* unroll.c: the step of a program with repeats and updates as one of stencils alone. Repeats of a constant number of
 * rounds are written out. Where code reads a number that the step updates, it computes what the updates come to; of a
 * number that is kept from step to step, that begins with an array of what it was when so many steps were done, which
 * the launcher fills: NAME.steps. So does an update whose value is computed of points, if it is the last of the step:
 * its number is what it is one step later. What the gradient is to has no part in such numbers (gradient_check). */
#include "passes/transpose/transpose.h"

#include <string.h>

/* No more stencils than these are written out. */
enum { MOST_STENCILS = 256 };

/* What comes next in the written out step. */
typedef struct Item {
  bool update;
  int index;
} Item;

/* By launch-time array that the step updates: the code that computes the number as it is now (NULL: that is not known),
 * how many updates are still to come. used: its values of all steps are needed. */
typedef struct Now {
  Block *code;
  int left;
  bool used;
} Now;

typedef struct Unroll {
  PassContext *c;
  Module *m;
  int n, i, next, nstencils;
  Item *items;
  Now *now;
  bool failed;
} Unroll;

/* ---- order */

/* The stage of what comes next, a stencil or an update; INT32_MAX: nothing does. */
static int32_t next_stencil(const Unroll *u) { return u->i < u->m->nstencils ? u->m->stencils[u->i].stage : INT32_MAX; }
static int32_t next_update(const Unroll *u) {
  return u->next < u->m->nupdates ? u->m->updates[u->next].stage : INT32_MAX;
}

/* The outermost repeat within repeat `around` (-1: the step) that has stage `stage`; `around` if none has. */
static int repeat_within(const Module *m, int32_t stage, int around) {
  int r = repeat_of(m, stage);
  while (r != around && repeat_around(m, r) != around)
    r = repeat_around(m, r);
  return r;
}

static void write_stages(Unroll *u, int around, int32_t last);

/* Writes the rounds of repeat `r`, and leaves what comes behind it as the next. */
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

/* Writes what comes next, as far as its stage is not beyond `last`, in repeat `around` (-1: the step). */
static void write_stages(Unroll *u, int around, int32_t last) {
  while (!u->failed) {
    int32_t stencil = next_stencil(u), update = next_update(u), stage = update <= stencil ? update : stencil;
    if (stage > last || stage == INT32_MAX)
      return;
    int r = repeat_within(u->m, stage, around);
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

/* Code that reads array `array`, of what the number was, at the number of the step plus `later`. */
static Block *of_steps(const Unroll *u, int array, int later) {
  Block *code = block_new(u->m->arena, NULL);
  Builder b = builder_at_end(u->m->arena, code);
  Value *at = build_step(&b);
  if (later)
    at = build2(&b, OP_ADD, at, build_int(&b, TY_I64, later));
  Value *v = build_element(&b, u->m->param_arrays[array].type, array, at);
  build_yield(&b, 1, &v);
  return code;
}

static bool is_state(const Module *m, const Op *op) {
  return op->code == OP_ELEMENT && m->param_arrays[op->sym].role == ARRAY_STATE;
}

/* Writes `code`, which yields one value, at `b`: that value. */
static Value *insert(Builder *b, Block *code) {
  Value **made = ARENA_ARRAY(b->arena, Value *, block_renumber(code, 0) + 1);
  for (Op *op = code->first; op != code->last; op = op->next) {
    Value *operands[8];
    for (int i = 0; i < op->noperands; i++)
      operands[i] = made[op->operands[i]->id];
    made[op->results[0]->id] = op->code == OP_CONST    ? build_const(b, op->results[0]->type, op->cval)
                               : op->code == OP_SCALAR ? build_scalar(b, op->results[0]->type, op->sym)
                               : op->code == OP_STEP   ? build_step(b)
                               : op->code == OP_ELEMENT
                                   ? build_element(b, op->results[0]->type, op->sym, operands[0])
                                   : build_op(b, op->code, op->results[0]->type, op->noperands, operands)->results[0];
  }
  return made[code->last->operands[0]->id];
}

/* A copy of `body` that computes the numbers it reads; NULL: one is not known. */
static Block *resolved(Unroll *u, Block *body, const Op **unknown) {
  Arena *a = u->m->arena;
  block_renumber(body, 0);
  Block *out = block_clone(a, body, NULL, NULL);
  for (Op *op = out->first, *next; op; op = next) {
    next = op->next;
    if (!is_state(u->m, op))
      continue;
    Now *now = &u->now[op->sym];
    if (!now->code) {
      *unknown = op;
      return NULL;
    }
    Builder b = builder_before(a, op);
    block_replace_uses(out, op->results[0], insert(&b, now->code));
    op_unlink(op);
  }
  return out;
}

/* The value of code of constants alone, as code; else the code. */
static Block *folded(const Unroll *u, Block *code) {
  Const *value = ARENA_ARRAY(u->m->arena, Const, block_renumber(code, 0) + 1), in[8];
  for (const Op *op = code->first; op != code->last; op = op->next) {
    if (op->code == OP_SCALAR || op->code == OP_STEP || op->code == OP_ELEMENT || op->noperands > 3)
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

/* Is the number that the update makes computed of other numbers alone? */
static bool is_plain(const Module *m, const Update *x) {
  bool plain = box_is_point(&x->over);
  for (const Op *op = x->body->first; op; op = op->next) {
    bool reduction = op->code == OP_SCALAR && m->scalars[op->sym].is_reduction;
    plain = plain && op->code != OP_ACCESS && op->code != OP_INDEX && op->code != OP_RANDOM && op->code != OP_NORMAL &&
            !reduction;
  }
  return plain;
}

/* What the number is behind update `x`. */
static void update(Unroll *u, const Update *x) {
  const Op *unknown = NULL;
  Now *now = &u->now[x->state];
  now->left--;
  Block *code = is_plain(u->m, x) ? resolved(u, x->body, &unknown) : NULL;
  bool kept = u->m->param_arrays[x->state].first >= 0;
  now->code = code ? folded(u, code) : kept && !now->left ? of_steps(u, x->state, 1) : NULL;
}

/* The body of `what` `name` with numbers as they are now. */
static Block *take_body(Unroll *u, Block *body, const char *what, const char *name) {
  const Op *unknown = NULL;
  Block *out = resolved(u, body, &unknown);
  if (out)
    return out;
  diag_error(u->c->diags, unknown->loc,
             "%s '%s' reads '%s', which is computed of all points and changes again within the step, so that what it "
             "was there is not known to the backward program: keep it in a scalar of its own, or leave it to "
             "--device=ref",
             what, name, u->m->param_arrays[unknown->sym].name);
  u->failed = true;
  return body;
}

/* ---- the module */

/* The stencil, as it is written once more, with a name of its own. */
static Stencil take_stencil(Unroll *u, int index, int time) {
  Stencil st = u->m->stencils[index];
  st.stage = 0;
  st.name = time > 1 ? arena_printf(u->m->arena, "%s.%d", st.name, time) : st.name;
  st.pieces = ARENA_ARRAY(u->m->arena, Piece, st.npieces + 1);
  for (int k = 0; k < st.npieces; k++) {
    st.pieces[k] = u->m->stencils[index].pieces[k];
    st.pieces[k].body = take_body(u, st.pieces[k].body, "stencil", st.name);
  }
  return st;
}

/* Has code call launch-time array i array to[i]. */
static void renumber(const int32_t *to, Block *b) {
  for (Op *op = b->first; op; op = op->next)
    if (op->code == OP_ELEMENT)
      op->sym = to[op->sym];
}
static void renumber_stencils(const int32_t *to, int n, Stencil *list) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < list[i].npieces; k++)
      renumber(to, list[i].pieces[k].body);
}

/* Notes which numbers' values of all steps code reads. */
static void mark(Unroll *u, const Block *b) {
  for (const Op *op = b->first; op; op = op->next)
    if (is_state(u->m, op))
      u->now[op->sym].used = true;
}
static void mark_all(Unroll *u) {
  for (int i = 0; i < u->m->nstencils; i++)
    for (int k = 0; k < u->m->stencils[i].npieces; k++)
      mark(u, u->m->stencils[i].pieces[k].body);
  for (int i = 0; i < u->m->nreductions; i++)
    mark(u, u->m->reductions[i].body);
}

/* Makes arrays of the numbers whose values of all steps are needed, behind those that are given, and drops the others.
 */
static void make_arrays(Unroll *u, int32_t last) {
  Module *m = u->m;
  ParamArray *all = NULL;
  int32_t *to = ARENA_ARRAY(m->arena, int32_t, m->nparam_arrays + 1);
  int n = 0;
  mark_all(u);
  for (int pass = 0; pass < 3; pass++)
    for (int i = 0; i < m->nparam_arrays; i++) {
      ParamArray a = m->param_arrays[i];
      bool state = a.role == ARRAY_STATE;
      if (pass != (a.role == ARRAY_GIVEN ? 0 : state ? 1 : 2) || (state && !u->now[i].used))
        continue;
      if (state) {
        a.name = arena_printf(m->arena, "%s" ADJOINT_STEPS, a.name);
        a.role = ARRAY_GIVEN;
        a.first = -1;
        a.extent = affine_add_const(affine_scalar(m->arena, last), 1);
      }
      to[i] = n;
      ARENA_PUSH(m->arena, all, n, a);
    }
  m->param_arrays = all;
  m->nparam_arrays = n;
  renumber_stencils(to, m->ninits, m->inits);
  renumber_stencils(to, m->nstencils, m->stencils);
  for (int i = 0; i < m->nreductions; i++)
    renumber(to, m->reductions[i].body);
  for (int i = 0; i < m->nlists; i++)
    m->lists[i].next = m->lists[i].next >= 0 ? to[m->lists[i].next] : -1;
}

/* What all numbers are at the start of the step, or between two steps. */
static void begin(Unroll *u) {
  for (int i = 0; i < u->m->nparam_arrays; i++) {
    const ParamArray *a = &u->m->param_arrays[i];
    u->now[i].code = a->role == ARRAY_STATE && a->first >= 0 ? of_steps(u, i, 0) : NULL;
  }
}

bool transpose_unroll(PassContext *c, Module *m, int32_t last) {
  Unroll u = {.c = c, .m = m};
  if (!m->nupdates && !m->nrepeats && !module_state(m))
    return true;
  Stencil *list = NULL;
  int n = 0, *times = ARENA_ARRAY(m->arena, int, m->nstencils + 1);
  u.now = ARENA_ARRAY(m->arena, Now, m->nparam_arrays + 1);
  begin(&u);
  for (int i = 0; i < m->nreductions; i++)
    m->reductions[i].body = take_body(&u, m->reductions[i].body, "loss", m->reductions[i].name);
  write_stages(&u, -1, INT32_MAX - 1);
  for (int i = 0; i < u.n && !u.failed; i++)
    if (u.items[i].update)
      update(&u, &m->updates[u.items[i].index]);
    else
      ARENA_PUSH(m->arena, list, n, take_stencil(&u, u.items[i].index, ++times[u.items[i].index]));
  if (u.failed)
    return false;
  m->stencils = list;
  m->nstencils = n;
  m->nupdates = m->nrepeats = 0;
  make_arrays(&u, last);
  module_renumber(m);
  return true;
}
