/* check_fn.c: functions. Each function is checked once where it is declared, and again at each call, with the values of
 * the arguments. */
#include "frontend/complex.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

static const int64_t nowhere[MAX_RANK];

/* The checker's state outside of a function, while the function is checked. */
typedef struct Outer {
  Symbol *locals;
  CheckedPiece *piece;
  const Decl *function;
  int64_t ago;
  bool at_start;
  int8_t scale;
} Outer;

/* Enters function `d`, which does not see the current locals. */
static Outer enter(Checker *c, const Decl *d) {
  Outer o = {c->locals, c->piece, c->function, c->ago, c->at_start, c->scale};
  c->locals = NULL;
  c->piece = NULL;
  c->function = d;
  c->ago = 0;
  c->at_start = false;
  c->scale = 0;
  return o;
}

/* Leaves a function and restores the state `o`. */
static void come_back(Checker *c, const Outer *o) {
  c->locals = o->locals;
  c->piece = o->piece;
  c->function = o->function;
  c->ago = o->ago;
  c->at_start = o->at_start;
  c->scale = o->scale;
}

/* The result of the function of `env` as a value of type `t`, after its statements; its parameters are the locals. */
static Expr *result(Checker *c, const Env *env, Type t) {
  const Decl *d = env->decl;
  Symbol *parameters = c->locals;
  check_statements(c, env, d->nstmts, d->stmts);
  Expr *e = check_expr(c, d->value, env, nowhere);
  check_leave(c, parameters);
  return check_coerce_in(c, env, e, t, arena_printf(c->arena, "the result of '%s'", d->name));
}

/* ---- declarations */

/* An unknown value of type `t`. */
static Expr *unknown(Checker *c, Name name, Type t) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_LOCAL, .name = name.s, .loc = name.loc, .type = t};
  return check_leaf(c, EXPR_LOCAL, t, name.loc, s);
}

/* Makes the parameters of `d` the locals, with unknown values, and sets `types` to their types. False after
 * reporting. */
static bool declare_parameters(Checker *c, const Decl *d, Type *types) {
  bool ok = true;
  for (int i = 0; i < d->nmembers; i++) {
    Name name = d->members[i].name;
    ok = check_type_expr(c, d->members[i].type, TYPE_VALUE, &types[i]) &&
         check_local_name(c, NULL, name.s, name.loc, "a parameter") && ok;
    check_add_local(c, NULL, SYM_ARGUMENT, name.s, name.loc, ok ? unknown(c, name, types[i]) : NULL);
  }
  return ok;
}

bool check_function(Checker *c, const Decl *d, Type **types, Type *type) {
  int before = diags_errors(c->d);
  Env env = {.decl = d};
  Allowed old = c->allowed;
  Outer o = enter(c, d);
  *types = ARENA_ARRAY(c->arena, Type, d->nmembers);
  bool ok = declare_parameters(c, d, *types);
  ok = check_type_expr(c, d->type, TYPE_VALUE, type) && ok;
  c->allowed = ALLOW_BODY;
  if (ok)
    result(c, &env, *type);
  c->allowed = old;
  come_back(c, &o);
  ok = diags_errors(c->d) == before;
  if (ok)
    check_unused(c, d->nstmts, d->stmts);
  return ok;
}

/* ---- calls */

/* The arguments of the call `e` as values of the parameters' types, each computed once. NULL after reporting. */
static Expr **arguments(Checker *c, const Expr *e, const Env *env, const int64_t *shift, const Symbol *f) {
  Expr **args = ARENA_ARRAY(c->arena, Expr *, e->n + 1);
  bool ok = true;
  for (int i = 0; i < e->n; i++) {
    const char *name = f->decl->members[i].name.s;
    args[i] = check_coerce_in(c, env, check_expr(c, e->kids[i], env, shift), f->types[i],
                              arena_printf(c->arena, "the argument '%s' of '%s'", name, f->name));
    ok = ok && args[i]->kind != EXPR_BAD;
    if (ok)
      args[i] = share(c, args[i], name);
  }
  return ok ? args : NULL;
}

/* Is the shared value `e` a constant? */
static bool is_constant(const Expr *e) {
  bool ok = e->kind == EXPR_CONST || e->kind == EXPR_BRACES || e->kind == EXPR_SPREAD;
  for (int i = 0; i < e->n; i++)
    ok = ok && is_constant(e->kids[i]);
  return ok;
}

/* Is the current function only being declared, and is an argument of the call in it not constant? Then the call need
 * not be expanded. */
static bool is_unknown(const Checker *c, int n, Expr *const *args) {
  for (int i = 0; i < n && c->function && !c->inlined; i++)
    if (!is_constant(args[i]))
      return true;
  return false;
}

Expr *check_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *f) {
  const Decl *d = f->decl;
  f->used = true;
  if (e->n != d->nmembers)
    return check_error(c, env, e->loc, "'%s' takes %d argument%s, not %d", e->name, d->nmembers,
                       d->nmembers == 1 ? "" : "s", e->n);
  Expr **args = arguments(c, e, env, shift, f);
  if (!args)
    return check_bad(c, e->loc);
  if (is_unknown(c, e->n, args))
    return unknown(c, (Name){f->name, e->loc, 0}, f->type);
  Env inner = {.decl = d, .caller = env, .call = e->loc};
  Outer o = enter(c, d);
  c->inlined++;
  for (int i = 0; i < e->n; i++)
    check_add_local(c, NULL, SYM_ARGUMENT, d->members[i].name.s, d->members[i].name.loc, args[i]);
  Expr *r = result(c, &inner, f->type);
  c->inlined--;
  come_back(c, &o);
  return r->kind == EXPR_BAD ? r : share(c, r, f->name);
}

/* ---- names in the bodies of macros */

/* Checks that the name in `e`, in the body of `op`, is a parameter of `op`, the index of a reduction in `env`, or
 * declared. */
static void check_op_name(Checker *c, const Decl *op, const Env *env, const Expr *e) {
  for (int i = 0; i < op->nnames; i++)
    if (!strcmp(op->names[i].s, e->name))
      return;
  if (is_reserved(e->name) || check_find_index(env, e->name) || symbols_find(&c->syms, e->name) ||
      check_is_member(c, e->name) || (e->kind == EXPR_CALL && check_is_complex_call(c, e)))
    return;
  if (check_is_random(c, e))
    check_note_random(c, e);
  else if (!check_is_builtin(c, e, "coord") && !check_is_builtin(c, e, "diff") && !check_is_builtin(c, e, "lookup") &&
           !check_is_builtin(c, e, "at") && !check_is_scaled(c, e) && !check_name_with_level(c, e->name)) {
    if (!strcmp(e->name, "point"))
      check_error(c, NULL, e->loc,
                  "'point' is known in an inject alone, not in a macro; give the macro a parameter for it and call it "
                  "with 'point'");
    else
      check_undefined(c, NULL, e->loc, e->name, NULL);
  }
}

/* Checks all names in the part `e` of the body of `op`, within the reductions of `env`. */
static void check_op_names(Checker *c, const Decl *op, const Env *env, const Expr *e) {
  if (e->kind == EXPR_NAME || e->kind == EXPR_ACCESS || e->kind == EXPR_WITHIN || e->kind == EXPR_CALL)
    check_op_name(c, op, env, e);
  const Symbol *called = e->kind == EXPR_CALL ? symbols_find(&c->syms, e->name) : NULL;
  if (called && called->kind == SYM_OP)
    check_moved_arguments(c, e, called);
  if (e->kind == EXPR_REDUCE) {
    Symbol index = {.kind = SYM_CONST, .name = e->kids[0]->name, .loc = e->kids[0]->loc};
    Env inner = {.caller = env, .call = e->loc, .index = &index};
    check_index_name(c, env, e->kids[0], op);
    check_op_names(c, op, env, e->kids[1]);
    check_op_names(c, op, env, e->kids[2]);
    check_op_names(c, op, &inner, e->kids[3]);
    return;
  }
  for (int i = 0; i < e->n; i++)
    check_op_names(c, op, env, e->kids[i]);
  if (e->level)
    check_op_names(c, op, env, e->level);
}

void check_op_body(Checker *c, const Decl *op) { check_op_names(c, op, NULL, op->value); }
