/* frontend/base/nodes.c: nodes of checked expressions, errors in them, and the entry to checking one.
 *
 * The lowest of the checker's layers: it calls none of the others. The table Checker.rules (check_expr.c) holds the
 * check for each kind of expression. So every file checks the operands of its expressions by check_expr. */
#include "frontend/ensemble.h"

#include <string.h>

static const int64_t nowhere[MAX_RANK];

Expr *check_bad(Checker *c, Loc loc) {
  Expr *e = ARENA_NEW(c->arena, Expr);
  e->loc = loc;
  return e;
}

Expr *check_leaf(Checker *c, ExprKind kind, Type t, Loc loc, Symbol *sym) {
  Expr *e = ARENA_NEW(c->arena, Expr);
  *e = (Expr){.kind = kind, .type = t, .loc = loc, .height = 1, .sym = sym, .name = sym ? sym->name : NULL};
  if (sym) {
    sym->used = true;
    e->adapts = kind == EXPR_CONST && sym->adapts;
  }
  return e;
}

Expr *check_operation(Checker *c, Opcode op, Loc loc, int n, Expr *const *kids) {
  Expr *e = check_leaf(c, EXPR_OP, TY_NONE, loc, NULL);
  e->op = op;
  e->n = n;
  e->kids = ARENA_ARRAY(c->arena, Expr *, n);
  memcpy(e->kids, kids, (size_t)n * sizeof *kids);
  return e;
}

/* Operation `op` on two values of type `t`, with a result of the same type. */
static Expr *operation_on(Checker *c, Opcode op, Type t, Expr *x, Expr *y) {
  Expr *e = check_operation(c, op, x->loc, 2, (Expr *[]){x, y});
  e->type = t;
  return e;
}

Expr *check_both(Checker *c, Opcode op, Expr *x, Expr *y) { return operation_on(c, op, TY_F64, x, y); }

Expr *check_whole(Checker *c, Opcode op, Expr *x, Expr *y) { return operation_on(c, op, TY_I64, x, y); }

/* Has the same error been reported at the same place? If not, records it. */
bool check_repeated(Checker *c, Loc loc, const char *message) {
  for (int i = 0; i < c->nreported; i++)
    if (c->reported[i].loc.line == loc.line && c->reported[i].loc.col == loc.col &&
        !strcmp(c->reported[i].message, message))
      return true;
  if (c->nreported < MAX_ERRORS) {
    c->reported[c->nreported].loc = loc;
    c->reported[c->nreported++].message = message;
  }
  return false;
}

Expr *check_error(Checker *c, const Env *env, Loc loc, const char *fmt, ...) {
  Str s = {.arena = c->arena};
  va_list ap;
  va_start(ap, fmt);
  str_addv(&s, fmt, ap);
  va_end(ap);
  if (check_repeated(c, loc, s.s))
    return check_bad(c, loc);
  diag_error(c->d, loc, "%s", s.s);
  for (int shown = 0; env && shown < 3; env = env->caller, shown++) {
    if (env->index)
      diag_note(c->d, env->call, "where '%s' is %lld", env->index->name, (long long)env->index->memo[TY_I64].i);
    else if (env->call.line)
      diag_note(c->d, env->call, "in the expansion of '%s' here", env->decl->name);
  }
  return check_bad(c, loc);
}

bool check_told(Checker *c, Loc loc, const char *name) {
  loc.col = 0;
  return check_repeated(c, loc, name);
}

Expr *check_in(Checker *c, const Expr *e, const Env *env, Allowed allowed, const char *what) {
  Allowed old_allowed = c->allowed;
  const char *old_what = c->what;
  c->allowed = allowed;
  c->what = what;
  Expr *r = check_expr(c, e, env, nowhere);
  c->allowed = old_allowed;
  c->what = old_what;
  return r;
}

/* What to write if the coordinate of a point has to change over time, for messages. */
static const char *cure_of_place(const Checker *c) {
  return strcmp(c->what, "a coordinate") == 0
             ? "; what moves is a condition in a stencil: if idx(0) == row[step] && idx(1) == column[step] then ..."
             : "";
}

Expr *check_not_allowed(Checker *c, const Env *env, Loc loc, const char *name) {
  if (c->allowed == ALLOW_CONST)
    return check_error(c, env, loc, "%s must be a constant, but '%s' is known only when the program runs", c->what,
                       name);
  if (c->allowed == ALLOW_REDUCED)
    return check_error(
        c, env, loc,
        "%s is one number for the whole program, so '%s' cannot be part of it; only params, lets and reductions can",
        c->what, name);
  if (c->allowed == ALLOW_STATE)
    return check_error(c, env, loc,
                       "%s is one number for the whole program, so '%s' cannot be part of it; an update reduces what "
                       "has points over a region: max(...) over G",
                       c->what, name);
  return check_error(c, env, loc, "%s is computed once at launch, so '%s' cannot be part of it%s", c->what, name,
                     cure_of_place(c));
}

Expr *check_plus(Checker *c, Expr *x, int64_t by) {
  if (!by)
    return x;
  Expr *k = check_leaf(c, EXPR_INT, TY_I64, x->loc, NULL);
  k->name = arena_printf(c->arena, "%lld", (long long)(by < 0 ? -by : by));
  Expr *sum = check_operation(c, by < 0 ? OP_SUB : OP_ADD, x->loc, 2, (Expr *[]){x, k});
  sum->type = TY_I64;
  return sum;
}

Expr *check_step(Checker *c, Loc loc) { return check_plus(c, check_leaf(c, EXPR_STEP, TY_I64, loc, NULL), -c->ago); }

Expr *check_coordinate(Checker *c, Loc loc, int d, const int64_t *shift) {
  if (c->scale)
    return check_error(c, NULL, loc,
                       "the coordinate of a point of another level cannot be read in fine or coarse; let "
                       "a stencil of that level write what is made of it to a field");
  Expr *x = check_leaf(c, EXPR_INDEX, TY_I64, loc, NULL);
  x->value.i = d;
  return check_plus(c, x, shift[d]);
}

bool check_more(Checker *c, Loc at, const Env *env) {
  if (c->gave_up)
    return false;
  if (c->depth < MAX_DEPTH && c->nodes < MAX_NODES) {
    c->nodes++;
    return true;
  }
  c->gave_up = c->incomplete = true;
  for (; env; env = env->caller)
    at = env->call.line ? env->call : at;
  if (c->depth >= MAX_DEPTH)
    check_error(c, NULL, at,
                "this expression is more than %d levels deep when its macros and functions are expanded; split it with "
                "let or a temp field",
                MAX_DEPTH);
  else
    check_error(c, NULL, at,
                "the program's expressions have more than %d operations when macros, functions and loops are expanded; "
                "split them with let or temp fields",
                MAX_NODES);
  return false;
}

Expr *check_element_at(Checker *c, Loc loc, Symbol *array, Expr *index) {
  Expr *e = check_operation(c, OP_COUNT, loc, 1, &index);
  e->kind = EXPR_ELEMENT;
  e->type = array->type;
  e->sym = array;
  e->name = array->name;
  return e;
}

Expr *check_expr(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  if (!check_more(c, e->loc, env))
    return check_bad(c, e->loc);
  c->depth++;
  ExprRule *rule = c->rules[e->kind];
  Expr *r = rule ? rule(c, e, env, shift) : check_bad(c, e->loc);
  c->nodes += r->kind != EXPR_OP && type_composite(c->m, r->type) ? type_components(c->m, r->type) : 0;
  c->depth--;
  return r;
}
