/* frontend/lower.c: lowers the checked program to stencil IR; and the two entry points of the front end. */
#include "frontend/check/absorb.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

/* If all operands of `op` are constant, replaces it by a constant. */
static Value *fold(Builder *b, Op *op) {
  Const in[MAX_KIDS];
  for (int i = 0; i < op->noperands; i++) {
    const Op *def = op->operands[i]->def;
    if (def->code != OP_CONST)
      return op->results[0];
    in[i] = def->cval;
  }
  Const r = eval_op(op, in);
  op_unlink(op);
  return build_const(b, op->results[0]->type, r);
}

static Value *lower_expr(Checker *c, Builder *b, const Expr *e);

/* The ops that compute `e`, a whole expression, after those of shared values that it needs and that the block does not
 * contain yet. */
static Value *lower_whole(Checker *c, Builder *b, const Expr *e) {
  Symbol **values;
  int n = shared_values(c->arena, e, b->block, &values);
  for (int i = 0; i < n; i++)
    values[i]->lowered = lower_expr(c, b, values[i]->checked);
  return lower_expr(c, b, e);
}

/* ---- vectors and structs: operations are done component by component, so that only access, construct, extract and
 * yield have composite types */

/* Member `i`, of type `t`, of the composite value `x`. */
static Value *member_of(Builder *b, Type t, Value *x, int i) {
  return x->def->code == OP_CONSTRUCT ? x->def->operands[i] : build_extract(b, t, x, i);
}

/* The type of member `i` of `t`. */
static Type member_type(const Checker *c, Type t, int i) { return type_composite(c->m, t)->members[i].type; }

/* The operation `op` with a result of type `t` on `n` values; for composite values component by component, with each
 * scalar operand used for all components. */
static Value *apply(Checker *c, Builder *b, Opcode op, Type t, int n, Value *const *values) {
  const Composite *whole = type_composite(c->m, t);
  if (!whole)
    return op == OP_CONVERT && values[0]->type == t ? values[0] : fold(b, build_op(b, op, t, n, values));
  Value **members = ARENA_ARRAY(c->arena, Value *, whole->n), *parts[3];
  for (int i = 0; i < whole->n; i++) {
    for (int k = 0; k < n; k++)
      parts[k] =
          type_is_scalar(values[k]->type) ? values[k] : member_of(b, member_type(c, values[k]->type, i), values[k], i);
    members[i] = apply(c, b, op, whole->members[i].type, n, parts);
  }
  return build_construct(b, t, whole->n, members);
}

/* The value of type `t` all of whose components are the scalar `x`. */
static Value *spread(Checker *c, Builder *b, Type t, Value *x) {
  const Composite *whole = type_composite(c->m, t);
  if (!whole)
    return x;
  Value **members = ARENA_ARRAY(c->arena, Value *, whole->n);
  for (int i = 0; i < whole->n; i++)
    members[i] = i ? members[0] : spread(c, b, whole->members[0].type, x);
  return build_construct(b, t, whole->n, members);
}

/* {a, b}. */
static Value *lower_braces(Checker *c, Builder *b, const Expr *e) {
  Value **members = ARENA_ARRAY(c->arena, Value *, e->n);
  for (int i = 0; i < e->n; i++)
    members[i] = lower_expr(c, b, e->kids[i]);
  b->loc = e->loc;
  return build_construct(b, e->type, e->n, members);
}

/* Member `i` of the composite `e`, computed without the others where possible. */
static Value *lower_member(Checker *c, Builder *b, const Expr *e, int i) {
  Value *kids[3];
  if (e->kind == EXPR_BRACES)
    return lower_expr(c, b, e->kids[i]);
  if (e->kind != EXPR_OP) {
    Value *x = lower_expr(c, b, e);
    return member_of(b, member_type(c, e->type, i), x, i);
  }
  for (int k = 0; k < e->n; k++)
    kids[k] = type_is_scalar(e->kids[k]->type) ? lower_expr(c, b, e->kids[k]) : lower_member(c, b, e->kids[k], i);
  b->loc = e->loc;
  return apply(c, b, e->op, member_type(c, e->type, i), e->n, kids);
}

/* An operation. */
static Value *lower_op(Checker *c, Builder *b, const Expr *e) {
  Value *kids[MAX_KIDS];
  for (int i = 0; i < e->n; i++)
    kids[i] = lower_expr(c, b, e->kids[i]);
  b->loc = e->loc;
  return e->kept ? build_op(b, e->op, e->type, e->n, kids)->results[0] : apply(c, b, e->op, e->type, e->n, kids);
}

/* An element of a launch-time array. */
static Value *lower_element(Checker *c, Builder *b, const Expr *e) {
  Value *index = lower_expr(c, b, e->kids[0]);
  b->loc = e->loc;
  return build_element(b, e->type, e->sym->index, index);
}

/* The ops that compute `e`, at the end of b's block. */
static Value *lower_expr(Checker *c, Builder *b, const Expr *e) {
  Const k = {0};
  b->loc = e->loc;
  switch (e->kind) {
  case EXPR_SCALAR: return build_scalar(b, e->type, e->sym->index);
  case EXPR_FIELD:
    return (e->scale    ? e->scale > 0 ? build_fine : build_coarse
            : e->behind ? build_behind
                        : build_access)(b, e->type, e->sym->index, e->off, c->m->grid.rank);
  case EXPR_INDEX: return build_dim(b, OP_INDEX, (int)e->value.i);
  case EXPR_STEP: return build_step(b);
  case EXPR_ELEMENT: return lower_element(c, b, e);
  case EXPR_LOCAL: return e->sym->lowered;
  case EXPR_OP: return lower_op(c, b, e);
  case EXPR_MEMBER: return lower_member(c, b, e->kids[0], (int)e->value.i);
  case EXPR_BRACES: return lower_braces(c, b, e);
  case EXPR_SPREAD: return spread(c, b, e->type, lower_expr(c, b, e->kids[0]));
  default: fold_const(c, e, &k); return build_const(b, e->type, k);
  }
}

/* Removes constants, and ops that construct and take apart composite values, that are unused after folding. */
static void drop_unused(Block *b) {
  for (Op *op = b->last, *prev; op; op = prev) {
    prev = op->prev;
    if ((op->code == OP_CONST || op->code == OP_CONSTRUCT || op->code == OP_EXTRACT) && !op->results[0]->id) {
      op_unlink(op);
      continue;
    }
    for (int i = 0; i < op->noperands; i++)
      op->operands[i]->id = 1;
  }
}

/* A block that yields `e`, the yield at `loc`; NULL for none. */
static Block *lower_yield(Checker *c, const Expr *e, Loc loc) {
  if (!e)
    return NULL;
  Block *block = block_new(c->arena, NULL);
  Builder b = builder_at_end(c->arena, block);
  Value *v = lower_whole(c, &b, e);
  b.loc = loc;
  build_yield(&b, 1, &v);
  drop_unused(block);
  return block;
}

/* One reduction. */
static Reduction lower_reduction(Checker *c, const CheckedReduction *r) {
  Reduction out = r->head;
  out.body = lower_yield(c, r->body, out.loc);
  out.stop = lower_yield(c, r->stop, out.loc);
  return out;
}

/* One update. */
static Update lower_update(Checker *c, const CheckedUpdate *u) {
  Update out = u->head;
  out.state = u->state->index;
  out.body = lower_yield(c, u->body, out.loc);
  return out;
}

/* One piece; its targets come in the order of the stencil's. */
static Piece lower_piece(Checker *c, const CheckedStencil *s, const CheckedPiece *p) {
  Piece out = {.box = p->box, .loc = p->loc, .body = block_new(c->arena, NULL)};
  Builder b = builder_at_end(c->arena, out.body);
  Value **by_assign = ARENA_ARRAY(c->arena, Value *, p->n), **yields = NULL;
  for (int i = 0; i < p->n; i++) {
    by_assign[i] = lower_whole(c, &b, p->assigns[i].value);
    if (p->assigns[i].local)
      p->assigns[i].local->lowered = by_assign[i];
  }
  int n = 0;
  for (int t = 0; t < s->ntargets; t++)
    for (int i = 0; i < p->n; i++)
      if (p->assigns[i].target == s->targets[t]) {
        ARENA_PUSH(c->arena, yields, n, by_assign[i]);
        ARENA_PUSH(c->arena, out.targets, out.ntargets, s->targets[t]);
      }
  b.loc = p->loc;
  build_yield(&b, n, yields);
  drop_unused(out.body);
  return out;
}

/* One stencil or init, without pieces that assign nothing. */
static Stencil lower_stencil(Checker *c, const CheckedStencil *s) {
  Stencil out = {.name = s->name,
                 .loc = s->loc,
                 .stage = s->stage,
                 .every = s->every > 1 ? s->every : 0,
                 .ntargets = s->ntargets,
                 .targets = s->targets};
  out.sweep = (int8_t)s->sweep;
  out.along = s->along;
  for (int i = 0; i < s->npieces; i++) {
    Piece p = lower_piece(c, s, &s->pieces[i]);
    if (p.ntargets)
      ARENA_PUSH(c->arena, out.pieces, out.npieces, p);
  }
  return out;
}

/* One probe. */
static Probe lower_probe(Checker *c, const CheckedProbe *p) {
  Probe out = p->head;
  out.body = lower_yield(c, p->body, out.loc);
  return out;
}

/* One loss. */
static Loss lower_loss(Checker *c, const CheckedLoss *l) {
  Loss out = l->head;
  out.body = lower_yield(c, l->body, out.loc);
  return out;
}

void lower_program(Checker *c) {
  Module *m = c->m;
  check_add_lists(c);
  check_add_weights(c);
  check_add_states(c);
  check_add_profiles(c);
  check_add_repeats(c);
  for (int i = 0; i < m->nscalars; i++)
    m->scalars[i].expr = lower_yield(c, c->scalar_value[i], m->scalars[i].loc);
  for (int i = 0; i < c->nprofiles; i++) {
    ParamArray *a = &m->param_arrays[c->profiles[i].array->index];
    a->value = lower_yield(c, c->profiles[i].value, a->loc);
  }
  for (int i = 0; i < c->nchecked; i++) {
    Stencil s = lower_stencil(c, &c->checked[i]);
    if (c->checked[i].is_init)
      ARENA_PUSH(c->arena, m->inits, m->ninits, s);
    else
      ARENA_PUSH(c->arena, m->stencils, m->nstencils, s);
  }
  for (int i = 0; i < c->nreductions; i++) {
    Reduction r = lower_reduction(c, &c->reductions[i]);
    ARENA_PUSH(c->arena, m->reductions, m->nreductions, r);
  }
  for (int i = 0; i < c->nupdates; i++) {
    Update u = lower_update(c, &c->updates[i]);
    ARENA_PUSH(c->arena, m->updates, m->nupdates, u);
  }
  for (int i = 0; i < c->nprobes; i++) {
    Probe p = lower_probe(c, &c->probes[i]);
    ARENA_PUSH(c->arena, m->probes, m->nprobes, p);
  }
  for (int i = 0; i < c->nlosses; i++) {
    Loss l = lower_loss(c, &c->losses[i]);
    ARENA_PUSH(c->arena, m->losses, m->nlosses, l);
  }
  m->time_tile = 1;
  module_renumber(m);
}

/* The file's name without directory and extension. */
static const char *program_name(Arena *a, const char *file) {
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
  return arena_strndup(a, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

Checker *front_program(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o, bool unread,
                       Parse *parsed, const Token **tokens) {
  int before = diags_errors(d), source = diags_add_source(d, file, text);
  Checker *c = ARENA_NEW(a, Checker);
  c->arena = a;
  c->d = d;
  c->file = source;
  c->m = module_new(a, program_name(a, file), LEVEL_SIR);
  c->m->contract = o && o->contract;
  c->m->fast_math = o && o->fast_math;
  c->real = o && o->real != TY_NONE ? o->real : TY_F32;
  *tokens = lex(a, d, source, text);
  *parsed = (Parse){.arena = a, .d = d, .t = levels_expand(a, d, *tokens), .raw = unread};
  parse_program(parsed);
  if (o && o->members > 0)
    parse_insert_members(parsed, o->members);
  c->unread = unread;
  c->incomplete = unread || diags_errors(d) != before;
  check_program(c, parsed->ndecls, parsed->decls);
  return c;
}

/* The same; NULL after an error. */
static Checker *front(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o) {
  int before = diags_errors(d);
  Parse parsed;
  const Token *tokens;
  Checker *c = front_program(a, d, file, text, o, false, &parsed, &tokens);
  return diags_errors(d) == before ? c : NULL;
}

Module *frontend_compile(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o) {
  Checker *c = front(a, d, file, text, o);
  if (!c)
    return NULL;
  lower_program(c);
  return check_repeats_end(c->m, d) && module_verify(c->m, d) ? c->m : NULL;
}

char *frontend_dump_ast(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o) {
  Checker *c = front(a, d, file, text, o);
  return c ? dump_program(c) : NULL;
}
