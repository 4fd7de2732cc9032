/* check_expr.c: checks expressions: resolves names and expands macros. Types are in base/check_type.c.
 *
 * The highest of the layers that check expressions. It knows all kinds of expressions, and gives the lower layers the
 * table check_rules. A file that checks some kind of expression calls check_expr (base/nodes.c) for its operands, which
 * uses the table. */
#include "frontend/check/absorb.h"
#include "frontend/check/lookup.h"
#include "frontend/sweep.h"
#include "frontend/fields.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"
#include "frontend/complex.h"

#include <string.h>

static const int64_t nowhere[MAX_RANK];

/* The value of a scalar: of a let or a param. */
static Expr *scalar(Checker *c, const Env *env, Loc loc, Symbol *sym) {
  return c->allowed == ALLOW_CONST ? check_not_allowed(c, env, loc, sym->name)
                                   : check_leaf(c, EXPR_SCALAR, sym->type, loc, sym);
}

/* The value of a complex param or let, built from its two parts. */
static Expr *complex_scalar(Checker *c, const Env *env, Loc loc, Symbol *sym) {
  if (c->allowed == ALLOW_CONST)
    return check_not_allowed(c, env, loc, sym->name);
  Expr *parts[2] = {scalar(c, env, loc, sym->elems[0]), scalar(c, env, loc, sym->elems[1])};
  return check_complex_of_parts(c, loc, sym->type, parts);
}

/* The element `e` of a launch-time array of complex numbers, built from the elements of the two arrays of its parts. */
static Expr *complex_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array) {
  Expr *parts[2];
  for (int i = 0; i < 2; i++)
    if ((parts[i] = check_array_element(c, e, env, shift, array->elems[i]))->kind == EXPR_BAD)
      return parts[i];
  return check_complex_of_parts(c, e->loc, array->type, parts);
}

/* The value of a reduction. */
static Expr *reduction_value(Checker *c, const Env *env, Loc loc, Symbol *sym) {
  if (c->in_init)
    return check_error(c, env, loc, "'%s' has no value in an init, which runs before it is first evaluated", sym->name);
  if (c->allowed == ALLOW_SCALAR)
    return check_error(c, env, loc,
                       "%s is computed once at launch, but '%s' changes as the program runs; use it in a stencil, a "
                       "reduction or an until",
                       c->what, sym->name);
  if (check_is_each(c, sym))
    return check_error(c, env, loc,
                       "'%s' has a value for each member, which is there when the steps have been made, not in them; "
                       "what they need is a number of all members, scalar t : f64 = 0; update t = ... over REGION;",
                       sym->name);
  if (c->ago)
    return check_error(c, env, loc, "'%s' is a reduction, of which no older values are kept", sym->name);
  return c->allowed == ALLOW_CONST ? check_not_allowed(c, env, loc, sym->name)
                                   : check_leaf(c, EXPR_SCALAR, sym->type, loc, sym);
}

/* step, the number of the step; an older one if the expression is evaluated there. */
static Expr *step_number(Checker *c, const Env *env, Loc loc) {
  if (!check_function_reads(c, env, loc, "step", "the number of the running step"))
    return check_bad(c, loc);
  if (c->in_init)
    return check_error(c, env, loc, "'step' has no meaning in an init, which runs before the first step");
  return c->allowed >= ALLOW_STATE ? check_step(c, loc) : check_not_allowed(c, env, loc, "step");
}

/* An access to field `sym` at the total offset `off`. */
static Expr *field(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *off) {
  sym->used = true;
  if (!check_function_reads(c, env, loc, sym->name, "a field"))
    return check_bad(c, loc);
  if (c->allowed != ALLOW_BODY)
    return check_not_allowed(c, env, loc, sym->name);
  for (int d = 0; d < c->m->grid.rank; d++)
    if (off[d] > MAX_OFFSET || off[d] < -MAX_OFFSET)
      return check_error(c, env, loc, "the offset %lld in dimension %d is too large", (long long)off[d],
                         check_shown(c, d));
  if (c->scale)
    return check_scaled_read(c, env, loc, sym, off);
  if (check_wrong_spacing(c, env, loc, sym))
    return check_bad(c, loc);
  bool moves = !c->m->fields[sym->index].input;
  if (c->ago && moves)
    sym = check_past(c, env, loc, sym, c->ago);
  else if (c->at_start && moves)
    sym = check_start(c, env, loc, sym);
  if (!sym)
    return check_bad(c, loc);
  if (!check_reads_lacking(c, env, loc, sym))
    return check_bad(c, loc);
  Expr *e = check_leaf(c, EXPR_FIELD, sym->type, loc, sym);
  for (int d = 0; d < c->m->grid.rank; d++)
    e->off[d] = field_lacks(&c->m->fields[sym->index], d) ? 0 : off[d];
  if (!check_behind(c, env, sym, e))
    return check_bad(c, loc);
  if (!e->behind)
    check_access(c, loc, sym, e->off, env);
  check_absorbed_read(c, loc, sym, off);
  if (sym->framed)
    return check_frame_read(c, env, sym, e);
  return sym->masked || sym->is_mask || c->in_mask ? check_dry_read(c, env, sym, e) : e;
}

/* The value sym->current of a var, or of a let or parameter of a function. */
static Expr *current_value(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *shift) {
  if (!sym->still && (memcmp(shift, nowhere, sizeof nowhere) || c->ago || c->at_start || c->scale))
    return check_error(c, env, loc,
                       "'%s' is %s, which has a value at the point in hand only; a macro cannot read it at a neighbour "
                       "or at an older level",
                       sym->name, c->function && sym->kind == SYM_VALUE ? "a let of a function" : symbol_words(sym));
  if (c->allowed == ALLOW_CONST && (sym->current->kind == EXPR_LOCAL || sym->current->kind == EXPR_SCALAR))
    return check_not_allowed(c, env, loc, sym->name);
  Expr *e = ARENA_NEW(c->arena, Expr);
  *e = *sym->current;
  e->loc = loc;
  e->name = sym->name;
  return e;
}

/* The value of a let, var or parameter at the current point. A let of a stencil's block that is shifted by `shift`, or
 * in time: its expression, evaluated there. */
static Expr *local(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *shift) {
  sym->used = true;
  if (sym->kind == SYM_BAD)
    return check_bad(c, loc);
  if (sym->kind != SYM_LOCAL)
    return current_value(c, env, loc, sym, shift);
  if (c->allowed != ALLOW_BODY)
    return check_not_allowed(c, env, loc, sym->name);
  if (!memcmp(shift, nowhere, sizeof nowhere) && !c->ago && !c->at_start && !c->scale)
    return check_leaf(c, EXPR_LOCAL, sym->type, loc, sym);
  return check_coerce(c, check_expr(c, sym->value, sym->env, shift), sym->type, "the let");
}

/* The value of a global symbol that is used without brackets. */
static Expr *global(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *shift) {
  sym->used = true;
  switch (sym->kind) {
  case SYM_BAD: return check_bad(c, loc);
  case SYM_PARAM:
  case SYM_LET: return scalar(c, env, loc, sym);
  case SYM_COMPLEX: return complex_scalar(c, env, loc, sym);
  case SYM_REDUCTION: return reduction_value(c, env, loc, sym);
  case SYM_STATE: return check_state(c, env, loc, sym);
  case SYM_COMPLEX_ARRAY:
  case SYM_ARRAY:
    return check_error(c, env, loc, "'%s' is a launch-time array; its elements are '%s[i]' with an i64 index",
                       sym->name, sym->name);
  case SYM_CONST: return check_leaf(c, EXPR_CONST, sym->type, loc, sym);
  case SYM_FIELD: return field(c, env, loc, sym, shift);
  case SYM_TABLE:
    return check_error(c, env, loc, "'%s' is a table; its values are '%s' to '%s'", sym->name, sym->elems[0]->name,
                       sym->elems[sym->n - 1]->name);
  case SYM_OP:
    return check_error(c, env, loc, "'%s' is a macro and needs its arguments: '%s(...)'", sym->name, sym->name);
  case SYM_FN:
    return check_error(c, env, loc, "'%s' is a function and needs its arguments: '%s(...)'", sym->name, sym->name);
  default: return check_error(c, env, loc, "'%s' is %s, not a value", sym->name, symbol_words(sym));
  }
}

/* A name without brackets. */
static Expr *name(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  const Env *macro = check_macro_of(env);
  Symbol *sym = check_find_index(env, e->name);
  if (sym)
    return check_leaf(c, EXPR_CONST, sym->type, e->loc, sym);
  const Expr *arg = check_argument(macro, e->name);
  if (arg)
    return check_expr(c, arg, macro->caller, shift);
  sym = check_find_local(c, env, e->name);
  if (sym)
    return local(c, env, e->loc, sym, shift);
  sym = symbols_find(&c->syms, e->name);
  if (sym)
    return global(c, env, e->loc, sym, shift);
  if (!strcmp(e->name, "step"))
    return step_number(c, env, e->loc);
  if (check_is_member(c, e->name))
    return check_member_of_point(c, env, e->loc);
  if (!strcmp(e->name, "round"))
    return check_round(c, env, e->loc);
  if (is_reserved(e->name))
    return check_error(c, env, e->loc, "'%s' needs arguments: '%s(...)'", e->name, e->name);
  return check_undefined(c, env, e->loc, e->name, NULL);
}

/* Sets *out to the offset that an index as in C means, such as i, i - 1 or j + 2. False if `e` is none. */
static bool index_of_c(Checker *c, const Expr *e, int64_t *out) {
  Const k;
  bool sum = e->kind == EXPR_OP && e->n == 2 && (e->op == OP_ADD || e->op == OP_SUB);
  const Expr *name = sum ? e->kids[0] : e;
  *out = 0;
  if (name->kind != EXPR_NAME || name->level || symbols_find(&c->syms, name->name) || is_reserved(name->name))
    return false;
  if (sum && (e->kids[1]->kind != EXPR_INT || !fold_literal(e->kids[1], TY_I64, &k)))
    return false;
  *out = !sum ? 0 : e->op == OP_ADD ? k.i : -k.i;
  return true;
}

/* Are the offsets of the access `e` indices as in C, of undeclared names? Reports them. */
static bool are_indices(Checker *c, const Expr *e, const Env *env) {
  Str s = {.arena = c->arena};
  bool found = false;
  for (int d = 0; d < e->n; d++) {
    int64_t k;
    const Expr *x = e->kids[d], *name = x->kind == EXPR_OP && x->n ? x->kids[0] : x;
    bool bound = name->kind == EXPR_NAME &&
                 (check_find_index(env, name->name) || check_argument(check_macro_of(env), name->name) ||
                  check_find_local(c, env, name->name));
    bool is = !bound && index_of_c(c, x, &k);
    if (!is && x->kind != EXPR_INT)
      return false;
    found = found || is;
    str_addf(&s, "%s%s", d ? "," : "", is ? arena_printf(c->arena, "%lld", (long long)k) : x->name);
  }
  if (found)
    check_error(c, env, e->loc,
                "offsets are relative to the point that is computed: write %s[%s]; its coordinates are idx(0)%s",
                e->name, s.s,
                e->n > 2   ? ", idx(1) and idx(2)"
                : e->n > 1 ? " and idx(1)"
                           : "");
  return found;
}

/* Sets `out` to `shift` plus the constant offsets of the access `e`. */
static bool offsets(Checker *c, const Expr *e, const Env *env, const int64_t *shift, int64_t *out) {
  int rank = check_rank(c);
  const Symbol *f = symbols_find(&c->syms, e->name);
  if (e->n == 1 && rank > 1 && f && f->kind == SYM_FIELD && type_composite(c->m, f->type)) {
    check_error(c, env, e->loc,
                "the first brackets after a field's name are its offset, of %d dimensions here; a component comes "
                "behind: '%s%s[...]'",
                rank, e->name, rank == 2 ? "[0,0]" : "[0,0,0]");
    return false;
  }
  if (e->n != rank) {
    check_error(c, env, e->loc, "'%s' has %d offset%s, but the grid has %d dimension%s", e->name, e->n,
                e->n == 1 ? "" : "s", rank, rank == 1 ? "" : "s");
    return false;
  }
  memcpy(out, shift, sizeof nowhere);
  if (are_indices(c, e, env))
    return false;
  for (int d = 0; d < rank; d++) {
    int64_t k;
    if (!check_const_int(c, e->kids[d], env, "an offset", &k))
      return false;
    if (k > MAX_OFFSET || k < -MAX_OFFSET) {
      check_error(c, env, e->kids[d]->loc, "the offset %lld is too large", (long long)k);
      return false;
    }
    out[d + c->lead] += k;
  }
  return true;
}

/* Is it a let, var or parameter of a block? */
static bool is_local(const Symbol *s) {
  return s->kind == SYM_LOCAL || s->kind == SYM_VAR || s->kind == SYM_VALUE || s->kind == SYM_ARGUMENT;
}

/* A component of the local `sym`; it is written like an access. */
static Expr *local_component(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *sym) {
  if (e->n != 1)
    return check_error(c, env, e->loc, "a component of '%s' has one index: '%s[0]'", sym->name, sym->name);
  Expr *base = local(c, env, e->loc, sym, shift),
       index = {.kind = EXPR_MEMBER, .loc = e->loc, .n = 2, .kids = (Expr *[]){NULL, e->kids[0]}};
  return base->kind == EXPR_BAD ? base : check_member(c, env, &index, base);
}

/* name[...]. */
static Expr *access(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int64_t off[MAX_RANK];
  const Env *macro = check_macro_of(env);
  const Expr *arg = check_argument(macro, e->name);
  if (arg)
    return offsets(c, e, env, shift, off) ? check_expr(c, arg, macro->caller, off) : check_bad(c, e->loc);
  Symbol *sym = check_find_any(c, env, e->name);
  if (!sym)
    return is_reserved(e->name) ? check_error(c, env, e->loc, "'%s' takes no offset", e->name)
                                : check_undefined(c, env, e->loc, e->name, NULL);
  sym->used = true;
  if (sym->kind == SYM_BAD)
    return check_bad(c, e->loc);
  if (sym->kind == SYM_TABLE)
    return check_element(c, e, env, shift, sym);
  if (sym->kind == SYM_COMPLEX_ARRAY)
    return c->allowed >= ALLOW_STATE ? complex_element(c, e, env, shift, sym)
                                     : check_not_allowed(c, env, e->loc, sym->name);
  if (sym->kind == SYM_ARRAY)
    return c->allowed >= ALLOW_STATE ? check_array_element(c, e, env, shift, sym)
                                     : check_not_allowed(c, env, e->loc, sym->name);
  if (is_local(sym) && type_composite(c->m, sym->type))
    return local_component(c, e, env, shift, sym);
  if (sym->kind != SYM_FIELD)
    return check_error(c, env, e->loc, "'%s' is %s; only fields and a macro's parameters take offsets", sym->name,
                       symbol_words(sym));
  return offsets(c, e, env, shift, off) ? field(c, env, e->loc, sym, off) : check_bad(c, e->loc);
}

/* Is the name of `e` that of a field with older levels, or of a macro's parameter? Reports if not. */
static bool has_levels(Checker *c, const Expr *e, const Env *env) {
  if (check_argument(check_macro_of(env), e->name))
    return true;
  Symbol *sym = check_find_any(c, env, e->name);
  if (!sym && !is_reserved(e->name)) {
    check_undefined(c, env, e->loc, e->name, NULL);
  } else if (!sym || (sym->kind != SYM_FIELD && sym->kind != SYM_BAD)) {
    check_error(c, env, e->loc, "'%s' is %s; only fields and a macro's parameters have older levels", e->name,
                sym ? symbol_words(sym) : "no field");
  } else if (sym->kind == SYM_FIELD && c->m->fields[sym->index].input) {
    sym->used = true;
    check_error(c, env, e->loc, "'%s' is an input field, %s; leave out the '@'", e->name,
                sym->framed ? "of which no older frames are kept" : "which is the same in all steps");
  } else {
    sym->used = true;
    return sym->kind == SYM_FIELD;
  }
  return false;
}

/* name@k or name@k[...]. */
static Expr *old_level(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int64_t k;
  if (!has_levels(c, e, env) || !check_const_int(c, e->level, env, "the number of steps back", &k))
    return check_bad(c, e->loc);
  if (k < 0 || k > MAX_HISTORY)
    return check_error(c, env, e->level->loc,
                       "older levels are numbered from 0, the start of the step, to %d, not %lld; the field as it is "
                       "now has no '@'",
                       MAX_HISTORY, (long long)k);
  bool outer = c->at_start;
  c->at_start = true;
  c->ago += k;
  Expr *r = e->kind == EXPR_NAME ? name(c, e, env, shift) : access(c, e, env, shift);
  c->ago -= k;
  c->at_start = outer;
  return r;
}

/* Reports a wrong number of arguments. */
static Expr *wrong_count(Checker *c, const Expr *e, const Env *env, int want) {
  return check_error(c, env, e->loc, "'%s' takes %d argument%s, not %d", e->name, want, want == 1 ? "" : "s", e->n);
}

/* idx(d) of the point shifted by `shift`. */
static Expr *index_value(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int d;
  if (e->n != 1)
    return wrong_count(c, e, env, 1);
  if (!check_function_reads(c, env, e->loc, "idx", "the coordinate of the point"))
    return check_bad(c, e->loc);
  if (c->allowed != ALLOW_BODY)
    return check_not_allowed(c, env, e->loc, "idx");
  if (!check_dimension(c, e->kids[0], env, "idx", &d) || !check_has_coordinate(c, env, e->loc, d, "idx"))
    return check_bad(c, e->loc);
  return check_coordinate(c, e->loc, d, shift);
}

/* Expands the macro `sym`. */
static Expr *expand(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *sym) {
  sym->used = true;
  if (e->n != sym->decl->nnames)
    return wrong_count(c, e, env, sym->decl->nnames);
  if (!check_macro_of(env))
    check_moved_arguments(c, e, sym);
  Env inner = {.decl = sym->decl, .args = e->kids, .caller = env, .call = e->loc};
  return check_expr(c, sym->decl->value, &inner, shift);
}

/* A call that is neither a conversion nor of a built-in function. */
static Expr *call_symbol(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Symbol *sym = symbols_find(&c->syms, e->name);
  if (!sym && c->function && !strcmp(e->name, c->function->name))
    return check_error(c, env, e->loc,
                       "'%s' calls itself; there is no recursion, a function sees only what is declared before it",
                       e->name);
  if (!sym && check_name_with_level(c, e->name))
    return (sym = check_of_level(c, e, env)) ? global(c, env, e->loc, sym, shift) : check_bad(c, e->loc);
  if (!sym && !check_find_index(env, e->name) && !check_argument(check_macro_of(env), e->name) &&
      !check_find_local(c, env, e->name))
    return check_undefined(c, env, e->loc, e->name, NULL);
  if (sym && sym->kind == SYM_FN)
    return check_call(c, e, env, shift, sym);
  if (!sym || (sym->kind != SYM_OP && sym->kind != SYM_BAD))
    return check_error(c, env, e->loc, "'%s' is %s, not a function; offsets stand in square brackets: '%s[...]'",
                       e->name, sym ? symbol_words(sym) : "a value", e->name);
  return sym->kind == SYM_BAD ? check_bad(c, e->loc) : expand(c, e, env, shift, sym);
}

/* The operation `op` on the checked kids of `e`, at the place of `e`. */
static Expr *operation(Checker *c, const Expr *e, Opcode op, Type to, const Env *env, const int64_t *shift) {
  Expr *x = check_leaf(c, EXPR_OP, to, e->loc, NULL);
  bool ok = true;
  x->op = op;
  x->n = e->n;
  x->kids = ARENA_ARRAY(c->arena, Expr *, e->n);
  for (int i = 0; i < e->n; i++) {
    x->kids[i] = check_expr(c, e->kids[i], env, shift);
    ok = ok && x->kids[i]->kind != EXPR_BAD;
  }
  return ok ? check_types(c, env, x) : check_bad(c, e->loc);
}

/* Is it a call of a built-in function, and not hidden by a visible declaration of that name? */
static bool is_builtin(const Checker *c, const Expr *e, const Env *env, const char *name) {
  return check_is_builtin(c, e, name) && !check_find_index(env, name) && !check_argument(check_macro_of(env), name) &&
         !check_find_local(c, env, name);
}

/* Is it a call of a function or type of complex numbers, and not hidden by a visible declaration of that name? */
static bool is_complex_call(const Checker *c, const Expr *e, const Env *env) {
  return check_is_complex_call(c, e) && !check_find_index(env, e->name) &&
         !check_argument(check_macro_of(env), e->name) && !check_find_local(c, env, e->name);
}

/* Functions that are built in unless the program declares their names; fine and coarse are handled elsewhere. */
static const struct {
  const char *name;
  ExprRule *rule;
} builtins[] = {{"coord", check_coord}, {"diff", check_diff},     {"lookup", check_lookup},
                {"at", check_at},       {"random", check_random}, {"normal", check_random}};

/* name(...). */
static Expr *call(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Type to = type_of_word(e->name, c->real);
  Opcode f = builtin_function(e->name);
  if (!strcmp(e->name, "idx"))
    return index_value(c, e, env, shift);
  if (!strcmp(e->name, "step"))
    return check_error(c, env, e->loc, "'step' takes no arguments");
  if (check_is_scaled(c, e))
    return check_scaled(c, e, NULL, env, shift);
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
    if (is_builtin(c, e, env, builtins[i].name))
      return builtins[i].rule(c, e, env, shift);
  if (to == TY_NONE && f == OP_COUNT && is_complex_call(c, e, env))
    return check_complex_call(c, e, env, shift);
  if (to == TY_NONE && f == OP_COUNT)
    return call_symbol(c, e, env, shift);
  int want = f != OP_COUNT ? op_info[f].noperands : 1;
  if (e->n != want)
    return wrong_count(c, e, env, want);
  return operation(c, e, f != OP_COUNT ? f : OP_CONVERT, to, env, shift);
}

/* {a, b} or {xx = a, yy = b}: an open value, see check_composite.c. */
static Expr *braces(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Expr *x = check_leaf(c, EXPR_BRACES, TY_BRACES, e->loc, NULL);
  bool ok = true;
  x->imaginary = e->imaginary;
  x->n = e->n;
  x->kids = ARENA_ARRAY(c->arena, Expr *, e->n);
  for (int i = 0; i < e->n; i++) {
    bool named = e->kids[i]->kind == EXPR_NAMED;
    Expr *k = check_expr(c, named ? e->kids[i]->kids[0] : e->kids[i], env, shift);
    ok = ok && k->kind != EXPR_BAD;
    x->kids[i] = named ? check_leaf(c, EXPR_NAMED, k->type, e->kids[i]->loc, NULL) : k;
    if (named) {
      x->kids[i]->name = e->kids[i]->name;
      x->kids[i]->n = 1;
      x->kids[i]->kids = ARENA_ARRAY(c->arena, Expr *, 1);
      x->kids[i]->kids[0] = k;
    }
  }
  return ok ? x : check_bad(c, e->loc);
}

/* NAME(...)[offsets] of a macro: shifts everything that the macro reads. */
static Expr *moved_macro(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int64_t off[MAX_RANK];
  const Expr at = {.kind = EXPR_ACCESS, .loc = e->loc, .name = e->kids[0]->name, .n = e->n - 1, .kids = e->kids + 1};
  return offsets(c, &at, env, shift, off) ? check_expr(c, e->kids[0], env, off) : check_bad(c, e->loc);
}

/* A component or a member of a value; or a macro shifted to a neighbour. */
static Expr *member(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  if (check_is_scaled(c, e->kids[0]) && e->n > 1)
    return check_scaled(c, e->kids[0], e, env, shift);
  if (check_is_moved(c, e, env))
    return moved_macro(c, e, env, shift);
  if (e->n > 2)
    return check_error(c, env, e->loc, "'%s' is no macro; behind a value's brackets stands one index, of a component",
                       e->kids[0]->name);
  Expr *base = check_expr(c, e->kids[0], env, shift);
  return base->kind == EXPR_BAD ? base : check_member(c, env, e, base);
}

/* A literal. */
static Expr *literal(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  (void)env;
  (void)shift;
  Type t = e->kind == EXPR_INT ? TY_LITERAL_INT : e->kind == EXPR_FLOAT ? TY_LITERAL_FLOAT : TY_BOOL;
  Expr *x = check_leaf(c, e->kind, t, e->loc, NULL);
  x->name = e->name;
  x->value = e->value;
  return x;
}

/* name, and name@k. */
static Expr *name_at(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  return e->level ? old_level(c, e, env, shift) : name(c, e, env, shift);
}

/* name[...], and name@k[...]. */
static Expr *access_at(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  return e->level ? old_level(c, e, env, shift) : access(c, e, env, shift);
}

/* An operator on its operands. */
static Expr *operator_on(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  return operation(c, e, e->op, TY_NONE, env, shift);
}

/* Expressions that only occur within others, and those that have been reported, have no rule. */
ExprRule *const check_rules[EXPR_LOCAL + 1] = {
    [EXPR_INT] = literal,      [EXPR_FLOAT] = literal,       [EXPR_BOOL] = literal,        [EXPR_NAME] = name_at,
    [EXPR_ACCESS] = access_at, [EXPR_WITHIN] = check_within, [EXPR_CALL] = call,           [EXPR_MEMBER] = member,
    [EXPR_BRACES] = braces,    [EXPR_OP] = operator_on,      [EXPR_REDUCE] = check_reduce, [EXPR_OVER] = check_over,
};
