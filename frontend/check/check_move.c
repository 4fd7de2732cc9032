/* check_move.c: macros at a neighbour: NAME(...)[offsets]; and calls in which only the arguments are shifted. */
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

/* The greatest number of nodes that are visited to find out whether a macro's value has components. */
enum { MAX_LOOKS = 4096 };

/* Is the name a parameter of the macro `op`? */
static bool is_parameter(const Decl *op, const char *name) {
  for (int i = 0; i < op->nnames; i++)
    if (!strcmp(op->names[i].s, name))
      return true;
  return false;
}

/* ---- the meaning of NAME(...)[k] */

static Type composite_of(const Checker *c, const Expr *e, const Env *env, int *looks);

/* The type of the first kid of `e` that has components, TY_NONE if none has. */
static Type composite_part(const Checker *c, const Expr *e, const Env *env, int *looks) {
  Type t = TY_NONE;
  for (int i = 0; i < e->n && t == TY_NONE; i++)
    t = composite_of(c, e->kids[i], env, looks);
  return t;
}

/* The type of a component or member, if that has components. */
static Type composite_member(const Checker *c, const Expr *e, const Env *env, int *looks) {
  const Composite *of = type_composite(c->m, composite_of(c, e->kids[0], env, looks));
  for (int i = 0; of && i < of->n; i++)
    if (!e->name || (of->members[i].name && !strcmp(of->members[i].name, e->name)))
      return type_composite(c->m, of->members[i].type) ? of->members[i].type : TY_NONE;
  return TY_NONE;
}

/* The type of a name, with or without offsets, if it has components; brackets after a local value select a
 * component. */
static Type composite_name(const Checker *c, const Expr *e, const Env *env, int *looks) {
  const Env *macro = check_macro_of(env);
  const Expr *arg = check_argument(macro, e->name);
  if (arg)
    return composite_of(c, arg, macro->caller, looks);
  const Symbol *local = check_find_local(c, env, e->name);
  const Symbol *s = local ? local : symbols_find(&c->syms, e->name);
  const Composite *of = s ? type_composite(c->m, s->type) : NULL;
  Type t = of && local && e->kind == EXPR_ACCESS ? of->members[0].type : s ? s->type : TY_NONE;
  return of && type_composite(c->m, t) ? t : TY_NONE;
}

/* The type of the unchecked expression `e` if it has components (TY_BRACES: open ones), else TY_NONE. */
static Type composite_of(const Checker *c, const Expr *e, const Env *env, int *looks) {
  if (++*looks > MAX_LOOKS)
    return TY_NONE;
  switch (e->kind) {
  case EXPR_NAME:
  case EXPR_ACCESS:
  case EXPR_WITHIN: return composite_name(c, e, env, looks);
  case EXPR_MEMBER: return composite_member(c, e, env, looks);
  case EXPR_BRACES: return TY_BRACES;
  case EXPR_REDUCE: return composite_of(c, e->kids[3], env, looks);
  case EXPR_OP: return composite_part(c, e, env, looks);
  case EXPR_CALL: break;
  default: return TY_NONE;
  }
  const Symbol *s = symbols_find(&c->syms, e->name);
  if (s && s->kind == SYM_OP && s->decl->nnames == e->n) {
    Env inner = {.decl = s->decl, .args = e->kids, .caller = env, .call = e->loc};
    return composite_of(c, s->decl->value, &inner, looks);
  }
  if (s && s->kind == SYM_FN)
    return type_composite(c->m, s->type) ? s->type : TY_NONE;
  return s ? TY_NONE : composite_part(c, e, env, looks);
}

bool check_is_moved(const Checker *c, const Expr *e, const Env *env) {
  const Expr *base = e->kids[0];
  const Symbol *s = base->kind == EXPR_CALL ? symbols_find(&c->syms, base->name) : NULL;
  int looks = 0;
  bool macro = s                         ? s->kind == SYM_OP
               : base->kind == EXPR_CALL ? check_is_builtin(c, base, "diff") || check_name_with_level(c, base->name)
                                         : false;
  if (!macro || e->name || e->n < 2)
    return false;
  return e->n > 2 || (check_rank(c) == 1 && composite_of(c, base, env, &looks) == TY_NONE);
}

/* ---- shifted arguments of macros that name fields themselves */

/* The name of a field, or "idx" or the like, that the part `e` of the body of `op` uses, directly or through a macro;
 * NULL if there is none. */
static const char *named(const Checker *c, const Decl *op, const Expr *e) {
  const Symbol *s = e->name && !is_parameter(op, e->name) ? symbols_find(&c->syms, e->name) : NULL;
  if ((e->kind == EXPR_NAME || e->kind == EXPR_ACCESS || e->kind == EXPR_WITHIN) && s && s->kind == SYM_FIELD)
    return e->name;
  if (e->kind == EXPR_CALL && (!strcmp(e->name, "idx") || check_is_builtin(c, e, "coord") || check_is_random(c, e)))
    return e->name;
  const char *found = e->kind == EXPR_CALL && s && s->kind == SYM_OP ? s->reads : NULL;
  for (int i = 0; i < e->n && !found; i++)
    found = named(c, op, e->kids[i]);
  return found;
}

const char *check_op_reads(const Checker *c, const Decl *op) { return named(c, op, op->value); }

/* The value of an offset that is a literal; 0 for others. */
static int64_t literal(const Expr *e) {
  Const k;
  if (e->kind == EXPR_OP && e->op == OP_NEG)
    return -literal(e->kids[0]);
  return e->kind == EXPR_INT && fold_literal(e, TY_I64, &k) ? k.i : 0;
}

/* Are both expressions accesses at the same offset? */
static bool same_offset(const Expr *x, const Expr *y) {
  bool same = y->kind == EXPR_ACCESS && x->n == y->n;
  for (int d = 0; same && d < x->n; d++)
    same = literal(x->kids[d]) == literal(y->kids[d]);
  return same;
}

/* The first argument of the call that is an access, if all arguments but constants are accesses at the same offset,
 * other than 0; else NULL. */
static const Expr *moved_arguments(const Checker *c, const Expr *call) {
  const Expr *first = NULL;
  for (int i = 0; i < call->n; i++) {
    const Expr *a = call->kids[i];
    const Symbol *s = a->kind == EXPR_NAME ? symbols_find(&c->syms, a->name) : NULL;
    bool constant = a->kind == EXPR_INT || a->kind == EXPR_FLOAT || a->kind == EXPR_BOOL || (s && s->kind != SYM_FIELD);
    if (constant)
      continue;
    if (a->kind != EXPR_ACCESS || (first && !same_offset(first, a)))
      return NULL;
    first = first ? first : a;
  }
  const Symbol *s = first ? symbols_find(&c->syms, first->name) : NULL;
  bool moves = first && (!s || s->kind == SYM_FIELD) && first->n == check_rank(c);
  for (int d = 0; moves && d < first->n; d++)
    if (literal(first->kids[d]))
      return first;
  return NULL;
}

void check_moved_arguments(Checker *c, const Expr *call, const Symbol *op) {
  const Expr *arg = moved_arguments(c, call);
  const char *stays = arg ? op->reads : NULL;
  if (!stays)
    return;
  Str at = {.arena = c->arena};
  for (int d = 0; d < arg->n; d++)
    str_addf(&at, "%s%lld", d ? "," : "", (long long)literal(arg->kids[d]));
  const char *text =
      arena_printf(c->arena,
                   "the argument '%s' is moved, but '%s', which the macro '%s' names itself, is not: write "
                   "'%s(...)[%s]' to move both, or name '%s[%s]' in a let first",
                   arg->name, stays, op->name, op->name, at.s, arg->name, at.s);
  if (!check_repeated(c, call->loc, text))
    diag_warning(c->d, call->loc, "%s", text);
}
