/* check_repeat.c: repeats: loops of stages within a step. The declarations in their braces are checked like others.
 * This file determines the stages of a repeat and the number of its round, and reports what would mean something else
 * in a repeat. */
#include "frontend/checker.h"

/* The current repeat, NULL if there is none. */
static CheckedRepeat *in_hand(const Checker *c) { return c->in_repeat ? &c->repeats[c->in_repeat - 1] : NULL; }

/* Is repeat `r` (counted from 1, 0: the step) the repeat `outer`, or within it? */
static bool is_in(const Checker *c, int r, int outer) {
  while (r && r != outer)
    r = c->repeats[r - 1].around;
  return r == outer;
}

/* ---- declarations in braces */

/* What messages call a declaration of that kind if it is not allowed in a repeat; NULL if it is allowed. */
static const char *kept_out(DeclKind kind) {
  switch (kind) {
  case DECL_PARAM: return "a param";
  case DECL_STRUCT: return "a struct";
  case DECL_GRID: return "a grid";
  case DECL_REGION: return "a region";
  case DECL_FIELD: return "a field";
  case DECL_INIT: return "an init";
  case DECL_ARRAY: return "a launch-time array";
  case DECL_SCALAR: return "a scalar";
  case DECL_MASK: return "a mask";
  case DECL_PROBE: return "a probe";
  case DECL_ABSORB: return "an absorbing layer";
  case DECL_LOSS: return "a loss";
  case DECL_LEVELS: return "what levels the grid has";
  case DECL_GRADIENT: return "a gradient";
  default: return NULL;
  }
}

bool check_in_repeat(Checker *c, const Decl *d) {
  const CheckedRepeat *r = in_hand(c);
  const char *what = r ? kept_out(d->kind) : NULL;
  if (what)
    check_error(
        c, NULL, d->loc,
        "%s cannot stand within repeat '%s', which has what is done each round: stencil, update, inject, reduce, "
        "until and repeat; declare '%s' before it",
        what, r->head.name, d->name);
  for (int i = 0; r && !what && i < d->npieces; i++)
    if (d->pieces[i].absorb.s) {
      check_error(c, NULL, d->pieces[i].absorb.loc,
                  "an absorbing layer goes on once a step, and repeat '%s' makes rounds within it; put the stencil in "
                  "front of the repeat",
                  r->head.name);
      return false;
    }
  return !what;
}

/* ---- opening and closing */

/* Sets *most to the greatest number of rounds of `d`, and adds a launch check of it. False after reporting. */
static bool check_most(Checker *c, const Decl *d, Affine *most) {
  if (!d->value || !check_affine(c, d->value, "the number of rounds", most))
    return false;
  if (!most->n && most->c < 0) {
    check_error(c, NULL, d->value->loc, "the number of rounds is %lld; it cannot be negative", (long long)most->c);
    return false;
  }
  Check k = {.value = *most,
             .message = arena_printf(c->arena, "the number of rounds of repeat '%s' is negative", d->name),
             .loc = d->value->loc};
  if (most->n)
    ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
  return true;
}

void check_open_repeat(Checker *c, const Decl *d) {
  CheckedRepeat r = {.around = c->in_repeat, .nupdates = c->nupdates, .nchecked = c->nchecked};
  r.head = (Repeat){.name = d->name, .loc = d->loc};
  r.failed = !check_most(c, d, &r.head.most);
  c->stage += 2; /* the stage before sets the number of the round to 0 */
  c->in_updates = false;
  r.head.first = c->stage;
  ARENA_PUSH(c->arena, c->repeats, c->nrepeats, r);
  c->in_repeat = c->nrepeats;
}

/* Inserts the update `u` before all updates of later stages. */
static void insert_update(Checker *c, CheckedUpdate u) {
  ARENA_PUSH(c->arena, c->updates, c->nupdates, u);
  for (int i = c->nupdates - 1; i > 0 && c->updates[i - 1].head.stage > u.head.stage; i--) {
    c->updates[i] = c->updates[i - 1];
    c->updates[i - 1] = u;
  }
}

/* Adds the updates of the number of the round of `r`: to 0 before the first round, and plus 1 after each. */
static void count_rounds(Checker *c, const CheckedRepeat *r) {
  Loc loc = r->head.loc;
  Box point = check_first_point(c);
  Expr *zero = check_leaf(c, EXPR_INT, TY_I64, loc, NULL);
  zero->name = "0";
  Update u = {.state = -1, .stage = r->head.first - 1, .op = OP_MAX, .type = TY_I64, .over = point, .loc = loc};
  insert_update(c, (CheckedUpdate){u, r->round, zero});
  u.stage = r->head.last;
  insert_update(c, (CheckedUpdate){u, r->round, check_plus(c, check_element_at(c, loc, r->round, zero), 1)});
}

void check_close_repeat(Checker *c, const Decl *d) {
  CheckedRepeat *r = in_hand(c);
  (void)d;
  r->head.last = ++c->stage; /* this stage increments the number of the round */
  c->stage++;
  c->in_updates = false;
  r->number = c->nclosed++;
  if (!r->failed && !c->incomplete && c->nupdates == r->nupdates && c->nchecked == r->nchecked &&
      diags_errors(c->d) == 0)
    check_error(c, NULL, r->head.loc,
                "repeat '%s' has nothing to repeat: no stencil and no update stands in its braces", r->head.name);
  if (r->round)
    count_rounds(c, r);
  c->in_repeat = r->around;
}

/* ---- the number of the round */

Expr *check_round(Checker *c, const Env *env, Loc loc) {
  CheckedRepeat *r = in_hand(c);
  if (!check_function_reads(c, env, loc, "round", "the number of the round"))
    return check_bad(c, loc);
  if (!r)
    return check_error(c, env, loc, "'round' is the number of the round in a repeat, and this stands in none");
  if (c->allowed < ALLOW_STATE)
    return check_not_allowed(c, env, loc, "round");
  if (!r->round)
    r->round = check_hidden_state(c, arena_printf(c->arena, "%s.round", r->head.name), TY_I64, false, loc);
  Expr *zero = check_leaf(c, EXPR_INT, TY_I64, loc, NULL);
  zero->name = "0";
  return check_element_at(c, loc, r->round, zero);
}

/* ---- fields */

/* The repeat (0: none) of the first stencil so far that writes `field`; -1: no stencil writes it. */
static int writer_of(const Checker *c, int field) {
  for (int i = 0; i < c->nchecked; i++)
    if (!c->checked[i].is_init && checked_writes(&c->checked[i], field))
      return c->checked[i].repeat;
  return -1;
}

bool check_repeat_read(Checker *c, const Env *env, Loc loc, const Symbol *f) {
  int w = c->nrepeats ? writer_of(c, f->index) : 0;
  if (w <= 0 || is_in(c, c->in_repeat, w))
    return true;
  const CheckedRepeat *r = &c->repeats[w - 1];
  check_error(c, env, loc,
              "temp field '%s' belongs to the rounds of repeat '%s', which writes it, and of these there may be none; "
              "leave out 'temp' to read it behind the repeat",
              f->name, r->head.name);
  return false;
}

bool check_repeat_writes(Checker *c, const CheckedStencil *s) {
  for (int t = 0; t < s->ntargets && c->nrepeats && !s->is_init; t++) {
    const Field *f = &c->m->fields[s->targets[t]];
    int w = f->temp ? writer_of(c, s->targets[t]) : -1;
    if (w < 0 || w == s->repeat)
      continue;
    check_error(c, NULL, s->loc,
                "temp field '%s' is written within repeat '%s' and elsewhere; a temp field belongs to the step, or to "
                "the rounds of one repeat: leave out 'temp', or take two fields",
                f->name, c->repeats[(w ? w : s->repeat) - 1].head.name);
    return false;
  }
  return true;
}

/* Do stencils in repeat `r`, and no others, write `field`? */
static bool written_only_in(const Checker *c, int field, int r) {
  bool in = false, out = false;
  for (int i = 0; i < c->nchecked; i++)
    if (!c->checked[i].is_init && checked_writes(&c->checked[i], field))
      *(is_in(c, c->checked[i].repeat, r) ? &in : &out) = true;
  return in && !out;
}

void check_repeats_past(Checker *c) {
  for (int i = 0; i < c->npast_reads; i++) {
    const PastRead *x = &c->past_reads[i];
    const char *name = c->m->fields[x->field].name, *repeat = c->repeats[x->repeat - 1].head.name;
    if (written_only_in(c, x->field, x->repeat))
      check_error(
          c, NULL, x->loc,
          "'%s@%d' is what '%s' was %d step%s ago, in all rounds of repeat '%s' the same, though only this writes "
          "'%s'; for the value of the round before copy it to a field of its own in the round",
          name, (int)x->k, name, (int)x->k, x->k == 1 ? "" : "s", repeat, name);
  }
}

/* ---- what the condition of until reads */

/* Does a stencil, an update or a reduction in repeat `r` of `m` change the value that `op` reads? */
static bool is_changed(const Module *m, const Op *op, int r) {
  for (int i = 0; i < m->nstencils && op->code == OP_ACCESS; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      if (m->stencils[i].targets[t] == op->sym && repeat_is_in(m, repeat_of(m, m->stencils[i].stage), r))
        return true;
  for (int i = 0; i < m->nupdates && op->code == OP_ELEMENT; i++)
    if (m->updates[i].state == op->sym && repeat_is_in(m, repeat_of(m, m->updates[i].stage), r))
      return true;
  for (int i = 0; i < m->nreductions && op->code == OP_SCALAR; i++)
    if (m->reductions[i].scalar == op->sym && m->reductions[i].loop && repeat_is_in(m, m->reductions[i].loop - 1, r))
      return true;
  return op->code == OP_STEP;
}

/* Does `b` read a value that repeat `r` changes, other than scalar `own`? */
static bool any_changed(const Module *m, const Block *b, int r, int own) {
  for (const Op *op = b->first; op; op = op->next)
    if (op->code != OP_STEP && !(op->code == OP_SCALAR && op->sym == own) && is_changed(m, op, r))
      return true;
  return false;
}

bool check_repeats_end(const Module *m, Diags *d) {
  bool ok = true;
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *x = &m->reductions[i];
    int r = x->loop - 1;
    if (x->kind != REDUCE_UNTIL || r < 0 || any_changed(m, x->body, r, x->scalar) ||
        any_changed(m, x->stop, r, x->scalar))
      continue;
    diag_error(d, x->loc,
               "nothing in the braces of repeat '%s' changes what this until looks at, so it would end the rounds at "
               "once or never; have it look at what a stencil or update of the repeat makes",
               m->repeats[r].name);
    ok = false;
  }
  return ok;
}

void check_add_repeats(Checker *c) {
  Module *m = c->m;
  m->nrepeats = c->nclosed;
  m->repeats = ARENA_ARRAY(c->arena, Repeat, m->nrepeats + 1);
  for (int i = 0; i < c->nrepeats; i++)
    m->repeats[c->repeats[i].number] = c->repeats[i].head;
  for (int i = 0; i < c->nreductions; i++) {
    int32_t *loop = &c->reductions[i].head.loop;
    *loop = *loop ? c->repeats[*loop - 1].number + 1 : 0;
  }
}
