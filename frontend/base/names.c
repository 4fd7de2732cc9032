/* frontend/base/names.c: finds the meaning of a name at its place: declarations, locals, parameters of macros, indices,
 * and built-in words that no declaration hides. Above nodes.c; the checks of names call this file. */
#include "frontend/check/declare.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

Symbol *check_declare(Checker *c, SymbolKind kind, const Decl *d) {
  const Symbol *old = symbols_find(&c->syms, d->name);
  if (old) {
    if (kind != SYM_BAD || old->kind != SYM_BAD) {
      diag_error(c->d, d->loc, "the name '%s' is taken; all names of a program differ", d->name);
      diag_note(c->d, old->loc, "'%s' is %s declared here", d->name, symbol_words(old));
    }
    return NULL;
  }
  if (check_was_random(c, d))
    return NULL;
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = kind, .name = d->name, .loc = d->loc, .decl = d, .cover_stencil = -1};
  symbols_add(&c->syms, s);
  return s;
}

/* The macro or function whose expansion contains `env`, NULL if there is none. */
const Env *check_macro_of(const Env *env) {
  while (env && env->index)
    env = env->caller;
  return env;
}

/* The argument for parameter `name` of the macro `env`, NULL if it has no such parameter. */
const Expr *check_argument(const Env *env, const char *name) {
  for (int i = 0; env && i < env->decl->nnames; i++)
    if (!strcmp(env->decl->names[i].s, name))
      return env->args[i];
  return NULL;
}

/* The local `name` of the current block, NULL if there is none; macros do not see locals. */
Symbol *check_find_local(const Checker *c, const Env *env, const char *name) {
  const Env *macro = check_macro_of(env);
  for (Symbol *s = macro && macro->decl->kind != DECL_FN ? NULL : c->locals; s; s = s->next)
    if (!strcmp(s->name, name))
      return s;
  return NULL;
}

Symbol *check_find_index(const Env *env, const char *name) {
  for (; env && env->index; env = env->caller)
    if (!strcmp(env->index->name, name))
      return env->index;
  return NULL;
}

Symbol *check_find_any(Checker *c, const Env *env, const char *name) {
  Symbol *s = check_find_index(env, name);
  if (!s)
    s = check_find_local(c, env, name);
  return s ? s : symbols_find(&c->syms, name);
}

bool check_index_name(Checker *c, const Env *env, const Expr *name, const Decl *op) {
  const Symbol *taken = check_find_index(env, name->name);
  for (const Symbol *s = op ? NULL : c->locals; s && !taken; s = s->next)
    taken = strcmp(s->name, name->name) ? NULL : s;
  taken = taken ? taken : symbols_find(&c->syms, name->name);
  bool parameter = false;
  for (int i = 0; op && i < op->nnames; i++)
    parameter |= !strcmp(op->names[i].s, name->name);
  if (parameter)
    check_error(c, env, name->loc, "the index '%s' has the name of a parameter; choose another", name->name);
  if (!taken || taken->kind == SYM_BAD || parameter)
    return !parameter;
  check_error(c, env, name->loc, "the name '%s' is taken; an index cannot have the name of anything declared before",
              name->name);
  diag_note(c->d, taken->loc, "'%s' is %s declared here", name->name,
            env && check_find_index(env, name->name) ? "an index" : symbol_words(taken));
  return false;
}

const char *check_name_with_level(const Checker *c, const char *name) {
  size_t n = strlen(name);
  for (const Symbol *s = c->syms.first; s; s = s->next)
    if (!strncmp(s->name, name, n) && s->name[n] == '(')
      return s->name;
  return NULL;
}

Expr *check_undefined(Checker *c, const Env *env, Loc loc, const char *name, bool (*fits)(const Symbol *)) {
  if (c->unread)
    return check_bad(c, loc);
  const char *level = check_name_with_level(c, name);
  if (!c->levels && !fits && (!strcmp(name, "fine") || !strcmp(name, "coarse")))
    return check_error(c, env, loc,
                       "'%s' reads another level of the grid, and there are none so far; declare them before: levels "
                       "L = 0 .. D of G;",
                       name);
  if (level)
    return check_error(c, env, loc, "'%.60s' is one thing for each level; name one of them, such as '%s'", name, level);
  if (check_told(c, loc, name))
    return check_bad(c, loc);
  const char *instead = fits ? NULL : habit_of_name(name), *near = symbols_nearest(&c->syms, c->locals, name, fits);
  if (instead)
    return check_error(c, env, loc, "'%.60s' is not declared; %s", name, instead);
  if (near)
    return check_error(c, env, loc, "'%.60s' is not declared; did you mean '%s'?", name, near);
  return check_error(c, env, loc, "'%.60s' is not declared; names are declared before they are used", name);
}

bool check_function_reads(Checker *c, const Env *env, Loc loc, const char *name, const char *what) {
  if (!c->function)
    return true;
  check_error(
      c, env, loc,
      "'%s' is %s, which a function cannot read; pass it as an argument, or make '%s' a macro: op %s(...) = ...;", name,
      what, c->function->name, c->function->name);
  return false;
}

/* ---- locals */

/* The local `name`, NULL if there is none. */
Symbol *check_own_local(const Checker *c, const char *name) {
  for (Symbol *s = c->locals; s; s = s->next)
    if (!strcmp(s->name, name))
      return s;
  return NULL;
}

bool check_local_name(Checker *c, const Env *env, const char *name, Loc loc, const char *what) {
  const Symbol *index = check_find_index(env, name), *taken = index;
  if (c->inlined)
    return true;
  taken = taken ? taken : symbols_find(&c->syms, name);
  taken = taken ? taken : check_own_local(c, name);
  if (!taken || taken->kind == SYM_BAD)
    return true;
  diag_error(c->d, loc, "the name '%s' is taken; %s cannot have the name of anything declared before", name, what);
  diag_note(c->d, taken->loc, "'%s' is %s declared here", name, index ? "an index" : symbol_words(taken));
  return false;
}

Symbol *check_add_local(Checker *c, const Env *env, SymbolKind kind, const char *name, Loc loc, Expr *value) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  bool ok = value && value->kind != EXPR_BAD;
  *s = (Symbol){.kind = ok ? kind : SYM_BAD,
                .name = name,
                .loc = loc,
                .type = ok ? value->type : TY_NONE,
                .current = value,
                .env = env,
                .next = c->locals};
  c->locals = s;
  return s;
}

void check_leave(Checker *c, Symbol *outer) {
  for (; c->locals != outer; c->locals = c->locals->next)
    if (c->locals->stmt)
      c->locals->stmt->used |= c->locals->used || c->locals->kind == SYM_BAD;
}

/* ---- built-in words */

bool check_is_builtin(const Checker *c, const Expr *e, const char *name) {
  bool itself = c->function && !strcmp(c->function->name, name);
  return e->kind == EXPR_CALL && !strcmp(e->name, name) && !itself && !symbols_find(&c->syms, name);
}

bool check_is_member(const Checker *c, const char *name) {
  return c->lead && !strcmp(name, "member") && !symbols_find(&c->syms, name);
}

bool check_is_random(const Checker *c, const Expr *e) {
  return check_is_builtin(c, e, "random") || check_is_builtin(c, e, "normal");
}

bool check_was_random(Checker *c, const Decl *d) {
  bool normal = !strcmp(d->name, "normal");
  if ((!normal && strcmp(d->name, "random") != 0) || c->drawn[normal].line == 0)
    return false;
  diag_error(c->d, d->loc, "the name '%s' is taken: it was used above for random numbers; declare it before that",
             d->name);
  diag_note(c->d, c->drawn[normal], "'%s' is used here", d->name);
  return true;
}

bool check_is_scaled(const Checker *c, const Expr *e) {
  return c->levels && e->kind == EXPR_CALL && (check_is_builtin(c, e, "fine") || check_is_builtin(c, e, "coarse"));
}
