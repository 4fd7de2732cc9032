/* check_stmt.c: statements: follows the values of the variables of a function, or of a stencil's block, from statement
 * to statement. */
#include "frontend/checker.h"

/* Loops are unrolled, and both branches of an if are computed. So the value of a var at any place is one expression of
 * shared values (share.c). In a stencil's block, lets and assignments to targets are added to Checker.piece unchanged;
 * all other values are computed where they are used. */

static const int64_t nowhere[MAX_RANK];

/* ---- lets and vars */

/* The value of the let or var `st`, in the type written there. NULL after reporting. */
static Expr *initial(Checker *c, const Env *env, Stmt *st) {
  Type given;
  bool ok = check_type_expr(c, st->type, TYPE_VALUE, &given);
  Expr *e = st->value ? check_expr(c, st->value, env, nowhere) : NULL;
  if (!ok || st->failed)
    return NULL;
  if (!e && given != TY_NONE) {
    e = check_leaf(c, EXPR_INT, TY_LITERAL_INT, st->loc, NULL);
    e->name = "0";
    if (check_base(c, given) == TY_BOOL)
      return check_error(c, env, st->loc, "the var '%s' of type %s needs a value: true or false", st->name,
                         type_text(c->m, given));
    if (check_base(c, given) == TY_NONE)
      return check_error(c, env, st->loc, "the var '%s' of type %s needs a value; only numbers and vectors begin as 0",
                         st->name, type_text(c->m, given));
  }
  if (!e || e->kind == EXPR_BAD)
    return NULL;
  e = given != TY_NONE ? check_coerce_in(c, env, e, given, arena_printf(c->arena, "'%s'", st->name))
                       : check_value(c, e);
  return e->kind == EXPR_BAD ? NULL : e;
}

/* let NAME = VALUE, var NAME = VALUE. */
static void declare_value(Checker *c, const Env *env, Stmt *st) {
  bool is_let = st->kind == STMT_LET, in_piece = is_let && c->piece;
  Expr *e = initial(c, env, st);
  if (!check_local_name(c, env, st->name, st->loc, is_let ? "a let" : "a var")) {
    check_add_local(c, env, SYM_BAD, st->name, st->loc, NULL);
    return;
  }
  if (e && !in_piece)
    e = share(c, e, st->name);
  Symbol *s = check_add_local(c, env, in_piece ? SYM_LOCAL : is_let ? SYM_VALUE : SYM_VAR, st->name, st->loc, e);
  s->stmt = st;
  s->value = st->value;
  st->reached = true;
  if (!in_piece)
    return;
  s->current = NULL;
  Assign a = {.loc = st->loc, .local = s, .target = -1, .value = e};
  ARENA_PUSH(c->arena, c->piece->assigns, c->piece->n, a);
}

/* ---- assignments */

/* Member `i` of the composite value `e`. */
static Expr *member(Checker *c, Expr *e, int i) {
  Type t = type_composite(c->m, e->type)->members[i].type;
  return share(c, share_member(c, e, i, t), "component");
}

/* `old` with `value` in place of the part that the path of `st` names from its step number `n` on; at[] has the
 * member's number for each step. */
static Expr *replace(Checker *c, const Stmt *st, const int64_t *at, int n, Expr *old, Expr *value) {
  if (n == st->npath)
    return value;
  int count = type_composite(c->m, old->type)->n;
  Expr *e = check_leaf(c, EXPR_BRACES, old->type, st->loc, NULL);
  c->nodes += count;
  e->n = count;
  e->kids = ARENA_ARRAY(c->arena, Expr *, count);
  for (int i = 0; i < count; i++)
    e->kids[i] = i == at[n] ? replace(c, st, at, n + 1, member(c, old, i), value) : member(c, old, i);
  return e;
}

/* The number of the member of value `of` that step `p` of a path names; -1 after reporting. */
static int64_t step_of_path(Checker *c, const Env *env, const PathStep *p, Expr *of) {
  Expr e = {.kind = EXPR_MEMBER, .loc = p->loc, .name = p->member, .n = 2, .kids = (Expr *[]){of, p->index}};
  return check_member_number(c, env, &e, of);
}

/* NAME[i].member = VALUE, for the var `s`. */
static void assign_var(Checker *c, const Env *env, const Stmt *st, Symbol *s) {
  int64_t *at = ARENA_ARRAY(c->arena, int64_t, st->npath);
  Expr *part = s->current;
  const char *text = s->name;
  Expr *e = st->value ? check_expr(c, st->value, env, nowhere) : NULL;
  for (int i = 0; i < st->npath; i++) {
    at[i] = step_of_path(c, env, &st->path[i], part);
    if (at[i] < 0)
      return;
    part = member(c, part, (int)at[i]);
    text = st->path[i].member ? arena_printf(c->arena, "%s.%s", text, st->path[i].member)
                              : arena_printf(c->arena, "%s[%lld]", text, (long long)at[i]);
  }
  if (!e || e->kind == EXPR_BAD)
    return;
  e = check_coerce_in(c, env, e, part->type, arena_printf(c->arena, "'%s'", text));
  if (e->kind != EXPR_BAD)
    s->current = replace(c, st, at, 0, s->current, share(c, e, s->name));
}

static bool is_var(const Symbol *s) { return s && s->kind == SYM_VAR; }

/* NAME = VALUE, for a var or a target. */
static void assign(Checker *c, const Env *env, const Stmt *st) {
  Symbol *s = check_own_local(c, st->name);
  const Symbol *index = check_find_index(env, st->name);
  if (is_var(s) && !st->failed) {
    assign_var(c, env, st, s);
  } else if (s || index) {
    if (s && (s->kind == SYM_BAD || s->kind == SYM_VAR))
      return;
    if (s && s->kind == SYM_ARGUMENT)
      check_error(c, env, st->loc, "'%s' is a parameter, whose value is fixed; copy it into a var", st->name);
    else
      check_error(c, env, st->loc, "'%s' is %s, whose value is fixed; %s", st->name, index ? "an index" : "a let",
                  index ? "use a var" : "write var in place of let");
  } else if (c->piece) {
    check_target(c, env, st);
  } else {
    s = symbols_find(&c->syms, st->name);
    if (!s)
      check_undefined(c, env, st->loc, st->name, is_var);
    else if (s->kind != SYM_BAD)
      check_error(c, env, st->loc, "'%s' is %s; a function assigns only to its own vars", st->name, symbol_words(s));
  }
}

/* ---- for and if */

/* The statements of a nested block. */
static void block(Checker *c, const Env *env, int n, Stmt *s) {
  Symbol *outer = c->locals;
  c->level++;
  check_statements(c, env, n, s);
  c->level--;
  check_leave(c, outer);
}

/* for (i in lo .. hi) { ... }. */
static void loop(Checker *c, const Env *env, Stmt *st) {
  int64_t lo, hi;
  if (!check_local_name(c, env, st->name, st->loc, "an index"))
    return;
  if (!check_const_int(c, st->lo, env, "the first value of an index", &lo) ||
      !check_const_int(c, st->hi, env, "the last value of an index", &hi))
    return;
  int before = diags_errors(c->d);
  for (int64_t i = lo; i <= hi && !c->gave_up && diags_errors(c->d) == before; i++) {
    Symbol *index = ARENA_NEW(c->arena, Symbol);
    Env *inner = ARENA_NEW(c->arena, Env);
    *index = (Symbol){.kind = SYM_CONST, .name = st->name, .loc = st->loc};
    check_int_symbol(index, i);
    *inner = (Env){.caller = env, .call = st->loc, .index = index};
    block(c, inner, st->n, st->body);
    if (i == INT64_MAX)
      return;
  }
}

/* Are these two leaves the same value? */
static bool is_same(Checker *c, const Expr *a, const Expr *b) {
  Const x, y;
  if (a == b || (a->kind == EXPR_LOCAL && b->kind == EXPR_LOCAL && a->sym == b->sym) ||
      (a->kind == EXPR_SCALAR && b->kind == EXPR_SCALAR && a->sym == b->sym))
    return true;
  return type_is_scalar(a->type) && fold_const(c, a, &x) && fold_const(c, b, &y) && const_same(x, y, a->type);
}

/* if cond then a else b, with values of the same type; both are values of the var called `name`. */
static Expr *merge(Checker *c, Expr *cond, Expr *a, Expr *b, const char *name) {
  const Composite *t = type_composite(c->m, a->type);
  if (is_same(c, a, b))
    return a;
  if (!t) {
    Expr *e = check_operation(c, OP_SELECT, cond->loc, 3, (Expr *[]){cond, a, b});
    e->type = a->type;
    return share(c, e, name);
  }
  int n = t->n;
  Expr *e = check_leaf(c, EXPR_BRACES, a->type, a->loc, NULL);
  c->nodes += n;
  e->n = n;
  e->kids = ARENA_ARRAY(c->arena, Expr *, n);
  for (int i = 0; i < n; i++)
    e->kids[i] = merge(c, cond, member(c, a, i), member(c, b, i), name);
  return e;
}

/* The current values of all vars, newest var first. */
static Expr **values_of_vars(Checker *c) {
  Expr **v = NULL;
  int n = 0;
  for (Symbol *s = c->locals; s; s = s->next)
    ARENA_PUSH(c->arena, v, n, s->current);
  c->nodes += n / 16;
  return v;
}

/* Both branches of `st`; then each var gets the value that `cond` selects. */
static void branches(Checker *c, const Env *env, Stmt *st, Expr *cond) {
  Expr **before = values_of_vars(c);
  block(c, env, st->n, st->body);
  Expr **then = values_of_vars(c);
  int i = 0;
  for (Symbol *s = c->locals; s; s = s->next)
    s->current = before[i++];
  block(c, env, st->nother, st->other);
  i = 0;
  for (Symbol *s = c->locals; s; s = s->next, i++)
    if (s->kind == SYM_VAR && s->current && then[i])
      s->current = merge(c, cond, then[i], s->current, s->name);
}

/* if c { ... } else { ... }; with a constant condition only the branch that is taken. */
static void choice(Checker *c, const Env *env, Stmt *st) {
  Const k;
  Expr *cond = check_expr(c, st->value, env, nowhere);
  if (cond->kind != EXPR_BAD && cond->type != TY_BOOL)
    cond = check_error(c, env, cond->loc, "the condition must be bool, but it is %s; write a comparison such as x != 0",
                       check_type_words(c, cond->type));
  if (cond->kind == EXPR_BAD)
    return;
  cond = share(c, cond, "condition");
  if (!fold_const(c, cond, &k))
    branches(c, env, st, cond);
  else if (k.i)
    block(c, env, st->n, st->body);
  else
    block(c, env, st->nother, st->other);
}

/* ---- blocks */

/* One statement. */
static void statement(Checker *c, const Env *env, Stmt *st) {
  switch (st->kind) {
  case STMT_LET:
  case STMT_VAR: declare_value(c, env, st); break;
  case STMT_ASSIGN: assign(c, env, st); break;
  case STMT_FOR: loop(c, env, st); break;
  case STMT_IF: choice(c, env, st); break;
  case STMT_BAD:
  case STMT_RETURN: break;
  }
}

void check_statements(Checker *c, const Env *env, int n, Stmt *s) {
  if (!check_more(c, n ? s[0].loc : no_loc(), env))
    return;
  c->depth++;
  for (int i = 0; i < n && !c->gave_up; i++)
    statement(c, env, &s[i]);
  c->depth--;
}

void check_unused(Checker *c, int n, const Stmt *s) {
  for (int i = 0; i < n; i++) {
    if (s[i].reached && !s[i].used)
      diag_warning(c->d, s[i].loc, "'%s' is never used", s[i].name);
    check_unused(c, s[i].n, s[i].body);
    check_unused(c, s[i].nother, s[i].other);
  }
}
