/* check_composite.c: written types; values in braces, vectors, structs and their members; storage types.
 *
 * Values in braces are open (TY_BRACES) until a type is known for them: that of a target, of a let, or of the other
 * operand. If none is found, and all their members have one type, they become vectors. f16, bf16, i8, i16, u8 and u16
 * are storage types: when a value of one is used in a computation, it is widened to f32 or i32. */
#include "frontend/complex.h"

#include <math.h>
#include <string.h>

/* ---- types */

Type check_value_type(Checker *c, Type t) {
  if (t == TY_F16 || t == TY_BF16)
    return TY_F32;
  if (type_is_int(t) && type_size(t) < 4)
    return TY_I32;
  if (!type_is_vector(c->m, t))
    return t;
  const Composite *v = type_composite(c->m, t);
  int n = v->n;
  Type of = v->members[0].type, wide = check_value_type(c, of);
  return wide == of ? t : module_vector(c->m, wide, n);
}

Type check_base(const Checker *c, Type t) {
  while (type_is_vector(c->m, t))
    t = type_composite(c->m, t)->members[0].type;
  return type_composite(c->m, t) ? TY_NONE : t;
}

const char *check_type_words(const Checker *c, Type t) {
  if (t == TY_BRACES)
    return "a value in braces";
  if (t == TY_LITERAL_INT)
    return "an integer literal";
  return t == TY_LITERAL_FLOAT ? "a floating-point literal" : type_text(c->m, t);
}

/* The vector type of `n` values of type `t`; TY_NONE after reporting that it would be too large. */
static Type vector_of(Checker *c, const Env *env, Loc loc, Type t, int64_t n) {
  if (n < 1 || n > MAX_COMPONENTS || n * type_components(c->m, t) > MAX_COMPONENTS) {
    check_error(c, env, loc, "a vector of %lld values of type %s; a type has 1 to %d components", (long long)n,
                check_type_words(c, t), MAX_COMPONENTS);
    return TY_NONE;
  }
  if (c->m->ncomposites < MAX_COMPOSITES)
    return module_vector(c->m, t, (int)n);
  check_error(c, env, loc, "the program has more than %d vector and struct types", MAX_COMPOSITES);
  return TY_NONE;
}

/* The vector type with the shape of `t` and components of the scalar type `base`. */
static Type with_base(Checker *c, Type t, Type base) {
  if (!type_is_vector(c->m, t))
    return base;
  const Composite *v = type_composite(c->m, t);
  int n = v->n;
  return module_vector(c->m, with_base(c, v->members[0].type, base), n);
}

static bool is_struct(const Symbol *s) { return s && s->kind == SYM_STRUCT; }

/* What to write for the type of C `name`, for messages; NULL if it is none. */
static const char *type_of_c(const char *name) {
  static const char *const rows[][2] = {{"float", "f32, or real for f32 that -freal=f64 makes f64"},
                                        {"double", "f64"},
                                        {"half", "f16"},
                                        {"int", "i32"},
                                        {"long", "i64"},
                                        {"short", "i16"},
                                        {"char", "i8"},
                                        {"int8_t", "i8"},
                                        {"uint8_t", "u8"},
                                        {"uint16_t", "u16"},
                                        {"uint8", "u8"},
                                        {"uint16", "u16"},
                                        {"uint32_t", "u32"},
                                        {"uint32", "u32"},
                                        {"uint", "u32"},
                                        {"unsigned", "u32"},
                                        {"int16_t", "i16"},
                                        {"int32_t", "i32"},
                                        {"int64_t", "i64"},
                                        {"float16", "f16"},
                                        {"float32", "f32"},
                                        {"float64", "f64"},
                                        {"int8", "i8"},
                                        {"int16", "i16"},
                                        {"int32", "i32"},
                                        {"int64", "i64"},
                                        {"bfloat16", "bf16"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i][0], name))
      return rows[i][1];
  return NULL;
}

/* The type whose name `t` has; TY_NONE after reporting. */
static Type named_type(Checker *c, const TypeExpr *t) {
  Type scalar = type_of_word(t->name, c->real);
  Symbol *s = symbols_find(&c->syms, t->name);
  if (scalar != TY_NONE)
    return scalar;
  Type complex = check_complex_type(c, t->name, t->loc);
  if (complex != TY_NONE)
    return complex;
  if (!s) {
    const char *near = symbols_nearest(&c->syms, NULL, t->name, is_struct), *here = type_of_c(t->name);
    if (here)
      check_error(c, NULL, t->loc, "there is no type '%s'; write %s", t->name, here);
    else
      check_error(c, NULL, t->loc, "expected " EXPECTED_TYPE ", found '%.60s'%s", t->name,
                  near ? arena_printf(c->arena, "; did you mean '%s'?", near) : "");
    return TY_NONE;
  }
  s->used = true;
  if (s->kind != SYM_STRUCT && s->kind != SYM_BAD)
    check_error(c, NULL, t->loc, "'%s' is %s, not a type", s->name, symbol_words(s));
  return s->kind == SYM_STRUCT ? s->type : TY_NONE;
}

/* Is type `t` allowed where `use` says? Reports if not. */
static bool may_stand(Checker *c, const TypeExpr *e, Type t, TypeUse use) {
  Type wide = check_value_type(c, t);
  bool is_complex = check_is_complex(c, t);
  if (use == TYPE_SCALAR && is_complex)
    check_error(
        c, NULL, e->loc,
        "%s is two numbers, and constants, tables and scalars are single ones; declare a param or a let, which may "
        "be complex, or the two parts, and read %s(re, im)",
        type_text(c->m, t), type_text(c->m, t));
  else if ((use == TYPE_SCALAR || use == TYPE_COMPLEX) && !is_complex && !type_is_scalar(t))
    check_error(
        c, NULL, e->loc,
        "%s is a vector or struct; params, constants and lets outside stencils and functions are single numbers",
        type_text(c->m, t));
  else if (use != TYPE_STORED && wide != t)
    check_error(
        c, NULL, e->loc,
        "%s is a type for fields, members of structs and launch-time arrays; computations are in %s, write that",
        type_text(c->m, t), type_text(c->m, wide));
  else
    return true;
  return false;
}

bool check_type_expr(Checker *c, const TypeExpr *e, TypeUse use, Type *out) {
  *out = TY_NONE;
  if (!e)
    return true;
  Type t = named_type(c, e);
  for (int i = 0; i < e->n && t != TY_NONE; i++) {
    int64_t n;
    t = check_const_int(c, e->lengths[i], NULL, "a vector's length", &n) ? vector_of(c, NULL, e->lengths[i]->loc, t, n)
                                                                         : TY_NONE;
  }
  if (t == TY_NONE || !may_stand(c, e, t, use))
    return false;
  *out = t;
  return true;
}

/* Does an earlier member have the name of member `i`? Reports if so. */
static bool is_twice(Checker *c, const Decl *d, int i) {
  for (int k = 0; k < i; k++)
    if (!strcmp(d->members[k].name.s, d->members[i].name.s)) {
      check_error(c, NULL, d->members[i].name.loc, "struct '%s' has two members '%s'", d->name, d->members[i].name.s);
      return true;
    }
  return false;
}

bool check_members(Checker *c, const Decl *d, Member **out) {
  bool ok = true;
  int n = 0, components = 0;
  *out = NULL;
  for (int i = 0; i < d->nmembers; i++) {
    Member m = {.name = d->members[i].name.s};
    ok = check_type_expr(c, d->members[i].type, TYPE_STORED, &m.type) && !is_twice(c, d, i) && ok;
    components += ok && components <= MAX_COMPONENTS ? type_components(c->m, m.type) : 0;
    ARENA_PUSH(c->arena, *out, n, m);
  }
  if (ok && components > MAX_COMPONENTS)
    check_error(c, NULL, d->loc, "struct '%s' has more than %d components, vectors' counted one by one", d->name,
                MAX_COMPONENTS);
  else if (ok && c->m->ncomposites >= MAX_COMPOSITES)
    check_error(c, NULL, d->loc, "the program has more than %d vector and struct types", MAX_COMPOSITES);
  else
    return ok;
  return false;
}

/* ---- implicit conversions */

/* `e` converted to type `t`, component by component. */
static Expr *converted(Checker *c, Expr *e, Type t) {
  Expr *x = check_operation(c, OP_CONVERT, e->loc, 1, &e);
  x->type = t;
  return x;
}

Expr *check_widen(Checker *c, Expr *e) {
  Type t = type_is_literal(e->type) || e->type == TY_BRACES ? e->type : check_value_type(c, e->type);
  return t == e->type ? e : converted(c, e, t);
}

/* Can constant `k` of type `from` be converted to the storage type `to`: without overflow for floats, exactly for
 * integers? */
static bool fits(Const k, Type from, Type to) {
  Const x = const_convert(k, from, to);
  return type_is_float(to) ? !isinf(x.f) : x.i == k.i;
}

/* Sets *out to the value of an integer literal, perhaps with a minus, or of a const of such literals; false for
 * others. */
static bool literal_value(const Expr *e, int64_t *out) {
  Const k = {0};
  bool ok = e->type == TY_LITERAL_INT;
  if (ok && e->kind == EXPR_OP && e->op == OP_NEG)
    ok = literal_value(e->kids[0], &k.i);
  else if (ok && e->kind == EXPR_CONST)
    ok = e->sym->have[TY_I64], k = e->sym->memo[TY_I64];
  else
    ok = ok && e->kind == EXPR_INT && fold_literal(e, TY_I64, &k);
  *out = e->kind == EXPR_OP ? -k.i : k.i;
  return ok;
}

/* Is `t` a storage type of integers that can hold the literal `e`? */
static bool literal_fits(const Expr *e, Type t) {
  int64_t i;
  return type_is_int(t) && type_size(t) < 4 && literal_value(e, &i) && fits((Const){.i = i}, TY_I64, t);
}

/* Is `e` a literal, or a constant of literals, perhaps with signs, that may still take another float type? */
static bool is_bare(const Expr *e) {
  if (e->kind == EXPR_OP && e->op == OP_NEG)
    return is_bare(e->kids[0]);
  return e->kind == EXPR_INT || e->kind == EXPR_FLOAT || (e->kind == EXPR_CONST && type_is_literal(e->sym->type));
}

/* The bare literal `e`, rounded once from its text to the storage type `t` of floats; NULL if it is too large for
 * `t`. */
static Expr *store_float(Expr *e, Type t) {
  Const k;
  Expr *x = e;
  while (x->kind == EXPR_OP)
    x = x->kids[0];
  if (x->kind == EXPR_CONST ? !x->sym->have[t] : !fold_literal(x, t, &k) || isinf(k.f))
    return NULL;
  x->type = t;
  for (x = e; x->kind == EXPR_OP; x = x->kids[0])
    x->type = t;
  return e;
}

/* The literals `e`, perhaps with choices, as a value of the storage type `t`; EXPR_BAD after reporting that they do not
 * fit. */
static Expr *store_literal(Checker *c, const Env *env, Expr *e, Type t) {
  Type wide = check_value_type(c, t);
  Const k;
  if (e->kind == EXPR_OP && e->op == OP_SELECT) {
    for (int i = 1; i < 3; i++)
      if ((e->kids[i] = store_literal(c, env, e->kids[i], t))->kind == EXPR_BAD)
        return e->kids[i];
    e->type = t;
    return e;
  }
  Expr *direct = type_is_float(t) && is_bare(e) ? store_float(e, t) : NULL;
  if (direct)
    return direct;
  e = check_adapt(c, env, e, wide);
  if (e->kind == EXPR_BAD)
    return e;
  if (!fold_const(c, e, &k))
    return check_error(c, env, e->loc, "whether this value fits the type %s is not known; convert it: %s(...)",
                       type_name(t), type_name(t));
  if (fits(k, wide, t))
    return converted(c, e, t);
  Str s = {.arena = c->arena};
  const_print(&s, k, wide);
  return check_error(c, env, e->loc, "the value %s does not fit the type %s", s.s, type_name(t));
}

/* Is `e`, which has a type, a bare literal, or a choice or vector with a bare literal among its values? */
static bool has_bare(const Expr *e) {
  bool choice = e->kind == EXPR_OP && e->op == OP_SELECT, found = is_bare(e);
  bool parts = choice || e->kind == EXPR_BRACES || e->kind == EXPR_SPREAD;
  for (int i = choice; parts && i < e->n && !found; i++)
    found = has_bare(e->kids[i]);
  return found;
}

/* The value `e`, in the type of computation, converted to the storage type `t` of floats. Bare literals among the
 * values of `e` are rounded once, from their text. */
static Expr *narrowed(Checker *c, Expr *e, Type t) {
  if (e->kind == EXPR_OP && e->op == OP_CONVERT && e->kids[0]->type == t)
    return e->kids[0];
  Expr *direct = type_is_scalar(t) && is_bare(e) ? store_float(e, t) : NULL;
  if (direct || !has_bare(e) || is_bare(e))
    return direct ? direct : converted(c, e, t);
  const Composite *whole = type_composite(c->m, t);
  for (int i = e->kind == EXPR_OP; i < e->n; i++) {
    Type part = e->kind == EXPR_BRACES                      ? whole->members[i].type
                : type_is_scalar(e->kids[i]->type) && whole ? check_base(c, t)
                                                            : t;
    e->kids[i] = narrowed(c, e->kids[i], part);
  }
  e->type = t;
  return e;
}

/* The scalar `e` as a vector of type `t` whose components are all equal to it. */
static Expr *spread(Checker *c, const Env *env, Expr *e, Type t, const char *to) {
  Expr *kid = check_coerce_in(c, env, e, check_base(c, t), arena_printf(c->arena, "a component of %s", to));
  if (kid->kind == EXPR_BAD)
    return kid;
  Expr *x = converted(c, kid, t);
  x->kind = EXPR_SPREAD;
  return x;
}

/* ---- values in braces */

/* "a, b, c". */
static const char *member_names(Checker *c, const Composite *t) {
  Str s = {.arena = c->arena};
  for (int i = 0; i < t->n; i++)
    str_addf(&s, "%s%s", i ? ", " : "", t->members[i].name);
  return s.s;
}

/* The number of the member called `name`, -1 if there is none. */
static int find_member(const Composite *t, const char *name) {
  for (int i = 0; t->name && i < t->n; i++)
    if (!strcmp(t->members[i].name, name))
      return i;
  return -1;
}

/* Sorts the named values of `e` into the order of the members of `t`. False after reporting. */
static bool sort_members(Checker *c, const Env *env, Expr *e, const Composite *t) {
  Expr **sorted = ARENA_ARRAY(c->arena, Expr *, t->n);
  for (int i = 0; i < e->n; i++) {
    Expr *k = e->kids[i];
    if (k->kind != EXPR_NAMED) {
      check_error(c, env, k->loc, "this value has no name, but others in these braces have; name all or none");
      return false;
    }
    int at = find_member(t, k->name);
    if (at < 0 || sorted[at]) {
      check_error(c, env, k->loc,
                  at < 0 ? "struct '%s' has no member '%.60s'; it has %s"
                         : "struct '%s': member '%.60s' is given twice (members: %s)",
                  t->name, k->name, member_names(c, t));
      return false;
    }
    sorted[at] = k->kids[0];
  }
  for (int i = 0; i < t->n; i++)
    if (!sorted[i]) {
      check_error(c, env, e->loc, "struct '%s': member '%s' is missing", t->name, t->members[i].name);
      return false;
    }
  e->kids = sorted;
  e->n = t->n;
  return true;
}

/* Do the values in the braces have names? */
static bool has_names(const Expr *e) {
  for (int i = 0; i < e->n; i++)
    if (e->kids[i]->kind == EXPR_NAMED)
      return true;
  return false;
}

/* The open braces `e` as a value of the composite type `type`; `to` names the target in messages. */
static Expr *close_braces(Checker *c, const Env *env, Expr *e, Type type, const char *to) {
  const Composite *t = type_composite(c->m, type);
  Composite want = *t;
  if (has_names(e) && !want.name)
    return check_error(c, env, e->loc, "%s is %s; a vector's components have no names, write {a, b, ...}", to,
                       type_text(c->m, type));
  if (has_names(e) && !sort_members(c, env, e, &want))
    return e->kids[0]->kind == EXPR_BAD ? e->kids[0] : check_bad(c, e->loc);
  if (e->n != want.n)
    return check_error(c, env, e->loc, "%s is %s, which has %d %s%s%s%s, but there %s %d value%s in the braces", to,
                       type_text(c->m, type), want.n, want.name ? "member" : "component", want.n == 1 ? "" : "s",
                       want.name ? ": " : "", want.name ? member_names(c, &want) : "", e->n == 1 ? "is" : "are", e->n,
                       e->n == 1 ? "" : "s");
  for (int i = 0; i < e->n; i++) {
    const char *what = want.name ? arena_printf(c->arena, "member '%s' of %s", want.members[i].name, want.name)
                                 : arena_printf(c->arena, "component %d", i);
    e->kids[i] = check_coerce_in(c, env, e->kids[i], want.members[i].type, what);
    if (e->kids[i]->kind == EXPR_BAD)
      return e->kids[i];
  }
  e->type = type;
  return e;
}

/* The open operation `e` on literals as a value of the vector type `type`. */
static Expr *close_operation(Checker *c, const Env *env, Expr *e, Type type, const char *to) {
  Type wide = check_value_type(c, type);
  if (e->op != OP_SELECT && check_base(c, type) == TY_NONE)
    return check_error(c, env, e->loc, "%s has no meaning for %s; compute member by member: {a.x + b.x, ...}",
                       check_spelling(c, e->op), type_text(c->m, type));
  for (int i = e->op == OP_SELECT; i < e->n; i++) {
    bool is_open = e->kids[i]->type == TY_BRACES;
    e->kids[i] = check_coerce_in(c, env, e->kids[i],
                                 e->op == OP_SELECT ? type
                                 : is_open          ? wide
                                                    : check_base(c, wide),
                                 to);
    if (e->kids[i]->kind == EXPR_BAD)
      return e->kids[i];
  }
  e->type = e->op == OP_SELECT ? type : wide;
  return e->type == type ? e : converted(c, e, type);
}

/* The open value `e` as a value of type `want`. */
static Expr *close_value(Checker *c, const Env *env, Expr *e, Type want, const char *to) {
  if (!type_composite(c->m, want))
    return check_error(c, env, e->loc, "%s is %s, one number, but this is a value in braces", to,
                       type_text(c->m, want));
  return e->kind == EXPR_OP ? close_operation(c, env, e, want, to) : close_braces(c, env, e, want, to);
}

/* The type of the open value `e` of literals when its components have the scalar type `base`; TY_NONE after
 * reporting. */
static Type open_type(Checker *c, const Env *env, const Expr *e, Type base) {
  if (e->type != TY_BRACES)
    return base;
  if (e->kind == EXPR_BRACES) {
    Type of = open_type(c, env, e->kids[0], base);
    return of == TY_NONE ? TY_NONE : vector_of(c, env, e->loc, of, e->n);
  }
  for (int i = e->op == OP_SELECT; i < e->n; i++)
    if (e->kids[i]->type == TY_BRACES)
      return open_type(c, env, e->kids[i], base);
  return TY_NONE;
}

Expr *check_close_as(Checker *c, const Env *env, Expr *e, Type base) {
  Type t = e->type == TY_BRACES ? open_type(c, env, e, base) : base;
  return t == TY_NONE ? check_bad(c, e->loc) : check_coerce_in(c, env, e, t, "the value");
}

/* The first type, of the values in the open braces `e`, that is neither open nor a literal's; TY_BRACES if there is
 * none, TY_NONE after reporting. Settles the values. */
static Type lead_type(Checker *c, const Env *env, Expr *e) {
  Type lead = TY_BRACES;
  for (int i = 0; i < e->n; i++) {
    e->kids[i] = check_settle(c, env, e->kids[i]);
    Type t = e->kids[i]->type;
    if (e->kids[i]->kind == EXPR_BAD)
      return TY_NONE;
    if (lead == TY_BRACES && t != TY_BRACES && !type_is_literal(t))
      lead = check_value_type(c, t);
  }
  return lead;
}

/* Gives the open choice `e` a type, if its values have one. */
static Expr *settle_choice(Checker *c, const Env *env, Expr *e) {
  for (int i = 1; i < 3; i++)
    if ((e->kids[i] = check_settle(c, env, e->kids[i]))->kind == EXPR_BAD)
      return e->kids[i];
  e->type = check_unify_vectors(c, env, e, 1);
  return e->type == TY_NONE ? check_bad(c, e->loc) : e;
}

Expr *check_settle(Checker *c, const Env *env, Expr *e) {
  e = check_close_imaginary(c, e);
  if (e->type != TY_BRACES)
    return e;
  if (e->kind == EXPR_OP)
    return e->op == OP_SELECT ? settle_choice(c, env, e) : e;
  if (has_names(e))
    return check_error(c, env, e->loc,
                       "of which struct this value is cannot be told here; name it with a let: let x : S = {...};");
  Type lead = lead_type(c, env, e);
  if (lead == TY_BRACES || lead == TY_NONE)
    return lead == TY_BRACES ? e : check_bad(c, e->loc);
  for (int i = 0; i < e->n; i++) {
    Type t = e->kids[i]->type;
    if (t != TY_BRACES && !type_is_literal(t) && check_value_type(c, t) != lead)
      return check_error(c, env, e->loc,
                         "the values in the braces are %s and %s, which make no vector; convert some, or if this is a "
                         "struct, name it with a let: let x : S = {...};",
                         type_text(c->m, lead), type_text(c->m, t));
  }
  Type t = vector_of(c, env, e->loc, lead, e->n);
  return t == TY_NONE ? check_bad(c, e->loc) : close_braces(c, env, e, t, "the vector");
}

/* ---- converting to one type */

/* How to write a component of the vector `e` of `n` components, for messages. */
static const char *take_component(Checker *c, const Expr *e, int n) {
  Str s = {.arena = c->arena};
  if (e->kind != EXPR_FIELD)
    return arena_printf(c->arena, "take one of its components, [0] to [%d]", n - 1);
  str_addf(&s, "take one of its components, which stand behind the offset: %s[", e->name);
  for (int d = c->lead; d < c->m->grid.rank; d++)
    str_addf(&s, "%s%lld", d > c->lead ? "," : "", (long long)e->off[d]);
  str_addf(&s, "][0] to [%d]", n - 1);
  return s.s;
}

/* How to convert the value `e` to type `want`, for messages. */
static const char *cure(Checker *c, const Expr *e, Type want) {
  const Composite *t = type_composite(c->m, e->type), *w = type_composite(c->m, want);
  if (check_is_complex(c, want))
    return arena_printf(c->arena, "convert it: %s(...)", w->name);
  if (check_is_complex(c, e->type))
    return "take re(z) or im(z)";
  if (w && w->name)
    return arena_printf(c->arena, "build the value from its members: {%s}", member_names(c, w));
  if (t && t->name)
    return arena_printf(c->arena, "take one of its members: %s", member_names(c, t));
  if (t && !w)
    return take_component(c, e, t->n);
  if (check_base(c, want) != TY_NONE && with_base(c, e->type, check_base(c, want)) == want)
    return arena_printf(c->arena, "convert it: %s(...)", type_name(check_base(c, want)));
  return "the number of components differs";
}

Expr *check_coerce_composite(Checker *c, const Env *env, Expr *e, Type want, const char *to) {
  Expr *complex = check_is_complex(c, want) ? check_as_complex(c, env, e, want) : NULL;
  if (complex)
    return complex;
  e = check_close_imaginary(c, e);
  if (e->kind == EXPR_BAD)
    return e;
  if (e->type == TY_BRACES)
    return close_value(c, env, e, want, to);
  if (type_is_vector(c->m, want) && !type_composite(c->m, e->type) && check_base(c, want) != TY_NONE)
    return spread(c, env, e, want, to);
  Type wide = check_value_type(c, want);
  if (type_is_literal(e->type) && wide != want)
    return store_literal(c, env, e, want);
  if (!type_is_literal(e->type) && check_value_type(c, e->type) == wide &&
      (wide == want || type_is_float(check_base(c, wide))))
    return wide == want ? converted(c, e, want) : narrowed(c, e, want);
  if (type_composite(c->m, want) || type_composite(c->m, e->type))
    return check_error(c, env, e->loc, "%s is %s, but this value is %s; %s", to, type_text(c->m, want),
                       check_type_words(c, e->type), cure(c, e, want));
  return NULL;
}

bool check_has_vector(const Checker *c, const Expr *e, int first) {
  for (int i = first; i < e->n; i++)
    if (e->kids[i]->type == TY_BRACES || type_composite(c->m, e->kids[i]->type))
      return true;
  return false;
}

/* The number of a kid from `first` on that has composite type. If there is none but a kid has a scalar type, gives the
 * first open kid a type with such components, and returns its number. -1 if all are literals, -2 after reporting. */
static int find_lead(Checker *c, const Env *env, Expr *e, int first) {
  Type scalar = TY_NONE;
  int open = -1;
  for (int i = first; i < e->n; i++) {
    Type t = e->kids[i]->type;
    if (type_composite(c->m, t))
      return i;
    if (t == TY_BRACES && open < 0)
      open = i;
    else if (t != TY_BRACES && !type_is_literal(t) && scalar == TY_NONE)
      scalar = t;
  }
  if (scalar == TY_NONE)
    return -1;
  e->kids[open] = check_close_as(c, env, e->kids[open], scalar);
  return e->kids[open]->kind == EXPR_BAD ? -2 : open;
}

/* Settles the kids from `first` on, of which none has composite type: open kids get a type if their members have one.
 * False after reporting. */
static bool settle_kids(Checker *c, const Env *env, Expr *e, int first) {
  for (int i = first; i < e->n; i++)
    if ((e->kids[i] = check_settle(c, env, e->kids[i]))->kind == EXPR_BAD)
      return false;
  return true;
}

/* Does a kid from `first` on have a type that is composite (if `composite`), or else one that is neither open nor a
 * literal's? */
static bool any_typed(const Checker *c, const Expr *e, int first, bool composite) {
  for (int i = first; i < e->n; i++) {
    Type t = e->kids[i]->type;
    if (composite ? type_composite(c->m, t) != NULL : t != TY_BRACES && !type_is_literal(t))
      return true;
  }
  return false;
}

Type check_unify_vectors(Checker *c, const Env *env, Expr *e, int first) {
  if (e->op == OP_SELECT && !any_typed(c, e, first, false))
    return TY_BRACES;
  if (!any_typed(c, e, first, true) && !settle_kids(c, env, e, first))
    return TY_NONE;
  int lead = find_lead(c, env, e, first);
  if (lead < 0)
    return lead == -1 ? TY_BRACES : TY_NONE;
  Type v = e->kids[lead]->type, base = check_base(c, v);
  for (int i = first; i < e->n; i++) {
    Expr *k = e->kids[i];
    bool scalar = k->type != TY_BRACES && !type_composite(c->m, k->type);
    Type other = scalar ? k->type : check_base(c, k->type);
    if (scalar && k->adapts && type_is_int(base) && (k = e->kids[i] = check_readapt(c, env, k, base))->kind == EXPR_BAD)
      return TY_NONE;
    other = scalar ? k->type : other;
    if (k->type == v)
      continue;
    if (!type_is_literal(k->type) && k->type != TY_BRACES &&
        (base == TY_NONE || (scalar ? other != base : with_base(c, k->type, base) != v || other != base))) {
      check_mixed(c, env, e, e->kids[lead], k);
      return TY_NONE;
    }
    e->kids[i] = check_coerce_in(c, env, k, scalar && base != TY_NONE ? base : v, "the operand");
    if (e->kids[i]->kind == EXPR_BAD)
      return TY_NONE;
  }
  return v;
}

void check_same_choice(Checker *c, Expr *e) {
  for (int i = 1; i < 3; i++) {
    Expr *k = e->kids[i], *other = e->kids[3 - i];
    if (literal_fits(k, other->type))
      e->kids[i] = store_literal(c, NULL, k, other->type);
  }
  if (e->kids[1]->type == e->kids[2]->type)
    return;
  for (int i = 1; i < 3; i++)
    e->kids[i] = check_widen(c, e->kids[i]);
}

Expr *check_convert_vector(Checker *c, const Env *env, Expr *e) {
  Type to = e->type;
  Expr *k = check_settle(c, env, e->kids[0]);
  if (k->kind != EXPR_BAD && k->type == TY_BRACES)
    k = check_close_as(c, env, k, to);
  if (k->kind == EXPR_BAD)
    return k;
  if (check_base(c, k->type) == TY_NONE)
    return check_error(
        c, env, e->loc,
        "'%s' converts numbers and vectors, but this is %s, which has structs in it; convert its members",
        type_name(to), type_text(c->m, k->type));
  e->kids[0] = k;
  e->type = with_base(c, k->type, to);
  return k->type == e->type ? k : e;
}

int64_t check_member_number(Checker *c, const Env *env, const Expr *e, const Expr *base) {
  const Composite *t = type_composite(c->m, base->type);
  int64_t i = -1;
  if (!t)
    check_error(c, env, e->loc, "this value is %s, which has no %s", check_type_words(c, base->type),
                e->name ? "members" : "components");
  else if (e->name && !t->name)
    check_error(c, env, e->loc, "this value is the vector %s; its components are [0] to [%d]",
                type_text(c->m, base->type), t->n - 1);
  else if (!e->name && t->name)
    check_error(c, env, e->loc, "this value is the struct %s; its members are %s", t->name, member_names(c, t));
  else if (e->name && (i = find_member(t, e->name)) < 0)
    check_error(c, env, e->loc, "struct '%s' has no member '%.60s'; it has %s", t->name, e->name, member_names(c, t));
  if (!t || e->name || t->name || !check_const_int(c, e->kids[1], env, "a component's index", &i))
    return t && e->name ? i : -1;
  t = type_composite(c->m, base->type);
  if (i >= 0 && i < t->n)
    return i;
  check_error(c, env, e->kids[1]->loc, "there is no component %lld in %s; its components are [0] to [%d]", (long long)i,
              type_text(c->m, base->type), t->n - 1);
  return -1;
}

Expr *check_member(Checker *c, const Env *env, const Expr *e, Expr *base) {
  base = check_settle(c, env, base);
  if (base->kind != EXPR_BAD && base->type == TY_BRACES)
    base = check_close_as(c, env, base, c->real);
  if (base->kind == EXPR_BAD)
    return base;
  int64_t i = check_member_number(c, env, e, base);
  if (i < 0)
    return check_bad(c, e->loc);
  Expr *x = share_member(c, base, (int)i, type_composite(c->m, base->type)->members[i].type);
  if (x->kind == EXPR_MEMBER)
    x->loc = e->loc;
  return x;
}
