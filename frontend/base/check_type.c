/* check_type.c: the types of operations; literals take the type of the operands beside them. Vectors and structs are in
 * check_composite.c. Together with that file and check_complex.c it is above nodes.c, names.c, fold.c and share.c. */
#include "frontend/checker.h"
#include "frontend/complex.h"
#include "frontend/ensemble.h"

#include <math.h>
#include <string.h>

const char *check_spelling(Checker *c, Opcode op) {
  static const struct {
    Opcode op;
    const char *s;
  } marks[] = {{OP_ADD, "+"},     {OP_SUB, "-"},    {OP_MUL, "*"},     {OP_DIV, "/"},     {OP_REM, "%"},
               {OP_NEG, "-"},     {OP_EQ, "=="},    {OP_NE, "!="},     {OP_LT, "<"},      {OP_LE, "<="},
               {OP_GT, ">"},      {OP_GE, ">="},    {OP_AND, "&&"},    {OP_OR, "||"},     {OP_NOT, "!"},
               {OP_BIT_AND, "&"}, {OP_BIT_OR, "|"}, {OP_BIT_XOR, "^"}, {OP_BIT_NOT, "~"}, {OP_SHL, "<<"},
               {OP_SHR, ">>"},    {OP_SELECT, "if"}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (marks[i].op == op)
      return arena_printf(c->arena, "'%s'", marks[i].s);
  return arena_printf(c->arena, "'%s'", op_info[op].name);
}

/* The text by which messages name an expression: its name; for a member of a struct that of the struct and its own; for
 * a widened value that of the original; "..." for others. */
static const char *text(Checker *c, const Expr *e) {
  const Composite *t = e->kind == EXPR_MEMBER ? type_composite(c->m, e->kids[0]->type) : NULL;
  if (t && t->name) {
    const char *whole = text(c, e->kids[0]);
    return strcmp(whole, "...") ? arena_printf(c->arena, "%s.%s", whole, t->members[e->value.i].name) : whole;
  }
  if (e->kind == EXPR_OP && e->op == OP_CONVERT && check_value_type(c, e->kids[0]->type) != e->kids[0]->type)
    return text(c, e->kids[0]);
  switch (e->kind) {
  case EXPR_SCALAR:
  case EXPR_FIELD:
  case EXPR_LOCAL:
  case EXPR_CONST: return e->name;
  case EXPR_STEP: return "step";
  case EXPR_INDEX: return e->value.i == 0 ? "idx(0)" : e->value.i == 1 ? "idx(1)" : "idx(2)";
  default: return "...";
  }
}

/* How to convert `e` to type `t`, in the program's language. */
static const char *cure(Checker *c, const Expr *e, Type t) {
  if (t == c->real)
    return arena_printf(c->arena, "real(%s) or %s(%s)", text(c, e), type_name(t), text(c, e));
  return arena_printf(c->arena, "%s(%s)", type_name(t), text(c, e));
}

static bool is_float(Type t) { return t == TY_LITERAL_FLOAT || (t < TY_COMPOSITE && type_is_float(t)); }
static bool is_int(Type t) { return t == TY_LITERAL_INT || (t < TY_COMPOSITE && type_is_int(t)); }
static bool is_number(Type t) { return is_float(t) || is_int(t); }

/* The value of a const or of an element of a table as type `t`. */
static Expr *adapt_const(Checker *c, const Env *env, Expr *e, Type t) {
  if (!e->sym->have[t])
    return check_error(c, env, e->loc, "the constant '%s' does not fit the type %s", e->name, type_name(t));
  e->type = t;
  return e;
}

/* The literal `e` as type `t`. */
static Expr *adapt_literal(Checker *c, const Env *env, Expr *e, Type t) {
  Const k;
  if (!fold_literal(e, t, &k) || (type_is_float(t) && isinf(k.f)))
    return check_error(c, env, e->loc, "the literal %.40s does not fit the type %s", e->name, type_name(t));
  e->type = t;
  return e;
}

/* The integer literal with the minus `e` as one literal: the least number of a type has no positive counterpart. */
static Expr *signed_literal(Checker *c, const Expr *e) {
  Expr *x = ARENA_NEW(c->arena, Expr);
  *x = *e->kids[0];
  x->loc = e->loc;
  x->name = arena_printf(c->arena, "-%s", x->name);
  return x;
}

Expr *check_adapt(Checker *c, const Env *env, Expr *e, Type t) {
  if (!type_is_literal(e->type))
    return e;
  if (t == TY_BOOL || (e->type == TY_LITERAL_FLOAT && type_is_int(t))) {
    const char *fix = t == TY_BOOL ? "write a comparison" : "write an integer literal, or convert the other side";
    return check_error(c, env, e->loc, "%s cannot become %s; %s", check_type_words(c, e->type), type_name(t), fix);
  }
  if (e->kind == EXPR_CONST)
    return adapt_const(c, env, e, t);
  if (e->kind == EXPR_OP && e->op == OP_NEG && e->kids[0]->kind == EXPR_INT && *e->kids[0]->name != '-' &&
      type_is_int(t))
    e = signed_literal(c, e);
  if (e->kind != EXPR_OP)
    return adapt_literal(c, env, e, t);
  e->type = t;
  for (int i = e->op == OP_SELECT; i < e->n; i++) {
    e->kids[i] = check_adapt(c, env, e->kids[i], t);
    if (e->kids[i]->kind == EXPR_BAD)
      return e->kids[i];
  }
  return e;
}

Expr *check_readapt(Checker *c, const Env *env, Expr *e, Type t) {
  if (e->kind == EXPR_CONST)
    return adapt_const(c, env, e, t);
  if (e->kind == EXPR_INT)
    return adapt_literal(c, env, e, t);
  e->type = t;
  for (int i = e->op == OP_SELECT; i < e->n; i++) {
    e->kids[i] = check_readapt(c, env, e->kids[i], t);
    if (e->kids[i]->kind == EXPR_BAD)
      return e->kids[i];
  }
  return e;
}

/* Do the kids of `e` from `first` on consist of literals alone, and is at least one of them an operation of
 * integers? */
static bool all_adapt(const Expr *e, int first) {
  bool any = false;
  for (int i = first; i < e->n; i++) {
    if (!e->kids[i]->adapts && e->kids[i]->type != TY_LITERAL_INT)
      return false;
    any |= e->kids[i]->adapts;
  }
  return any;
}

/* Kids of `e` from `first` on that are i64 only because all their operands were literals get the integer type that
 * another kid has. False after reporting. */
static bool readapt_kids(Checker *c, const Env *env, Expr *e, int first) {
  Type t = TY_NONE;
  for (int i = first; i < e->n; i++)
    if (!e->kids[i]->adapts && type_is_scalar(e->kids[i]->type) && type_is_int(e->kids[i]->type))
      t = e->kids[i]->type;
  for (int i = first; i < e->n && t != TY_NONE && t != TY_I64; i++)
    if (e->kids[i]->adapts && (e->kids[i] = check_readapt(c, env, e->kids[i], t))->kind == EXPR_BAD)
      return false;
  return true;
}

/* Is `t`, of the types `t` and `u`, the one to which a message proposes to convert the other? */
static bool is_wider(Type t, Type u) {
  if (is_float(t) != is_float(u))
    return is_float(t);
  bool sizes = t < TY_COMPOSITE && u < TY_COMPOSITE && type_size(t) != type_size(u);
  return sizes ? type_size(t) > type_size(u) : t > u;
}

/* Reports that the vectors, structs or scalars `x` and `y` cannot be combined in `e`. */
static Expr *mixed_vectors(Checker *c, const Env *env, const Expr *e, const Expr *x, const Expr *y) {
  Type t = check_base(c, x->type), u = check_base(c, y->type);
  const char *op = check_spelling(c, e->op), *xs = check_type_words(c, x->type), *ys = check_type_words(c, y->type);
  if (t == TY_NONE || u == TY_NONE)
    return check_error(c, env, e->loc, "%s mixes %s and %s; a struct goes only with values of its own type", op, xs,
                       ys);
  if (t == u)
    return check_error(c, env, e->loc,
                       "%s mixes %s and %s; vectors must be of the same length, or one of the values a scalar", op, xs,
                       ys);
  if (!is_number(t) || !is_number(u))
    return check_error(c, env, e->loc,
                       "%s mixes %s and %s; bool and numbers do not mix, write a comparison or a conversion", op, xs,
                       ys);
  bool x_wider = is_wider(t, u);
  return check_error(c, env, e->loc, "%s mixes %s and %s; convert one side: %s", op, xs, ys,
                     cure(c, x_wider ? y : x, x_wider ? t : u));
}

Expr *check_mixed(Checker *c, const Env *env, const Expr *e, const Expr *x, const Expr *y) {
  if (type_composite(c->m, x->type) || type_composite(c->m, y->type))
    return mixed_vectors(c, env, e, x, y);
  bool x_wider = is_wider(x->type, y->type);
  const Expr *narrow = x_wider ? y : x, *wide = x_wider ? x : y;
  if (x->type == TY_BOOL || y->type == TY_BOOL)
    return check_error(c, env, e->loc,
                       "%s mixes %s and %s; bool and numbers do not mix, write a comparison or a conversion",
                       check_spelling(c, e->op), check_type_words(c, x->type), check_type_words(c, y->type));
  if (type_is_literal(x->type) || type_is_literal(y->type)) {
    const Expr *i = type_is_literal(x->type) ? y : x;
    return check_error(c, env, e->loc, "%s mixes %s and %s; convert the integer: %s", check_spelling(c, e->op),
                       check_type_words(c, x->type), check_type_words(c, y->type), cure(c, i, c->real));
  }
  return check_error(c, env, e->loc, "%s mixes %s and %s; convert one side: %s", check_spelling(c, e->op),
                     type_name(x->type), type_name(y->type), cure(c, narrow, wide->type));
}

/* Gives kids `first` .. n-1 of `e` one type, which literals take, and returns it; TY_NONE after reporting. */
static Type unify(Checker *c, const Env *env, Expr *e, int first) {
  Expr **k = e->kids;
  int lead = first;
  if (check_has_vector(c, e, first))
    return check_unify_vectors(c, env, e, first);
  e->adapts = all_adapt(e, first);
  if (!e->adapts && !readapt_kids(c, env, e, first))
    return TY_NONE;
  for (int i = first + 1; i < e->n; i++) {
    Type t = k[lead]->type, u = k[i]->type;
    bool fits = t == u || (type_is_literal(t) && type_is_literal(u)) ||
                (type_is_literal(u) && is_number(t) && (is_float(t) || is_int(u))) ||
                (type_is_literal(t) && is_number(u) && (is_float(u) || is_int(t)));
    if (!fits) {
      check_mixed(c, env, e, k[lead], k[i]);
      return TY_NONE;
    }
    if (type_is_literal(t) && (!type_is_literal(u) || u == TY_LITERAL_FLOAT))
      lead = i;
  }
  Type t = k[lead]->type;
  for (int i = first; i < e->n && !type_is_literal(t); i++) {
    k[i] = check_adapt(c, env, k[i], t);
    if (k[i]->kind == EXPR_BAD)
      return TY_NONE;
  }
  return t;
}

/* The operation `e` with type `t`; EXPR_BAD if `t` is TY_NONE. */
static Expr *typed(Expr *e, Type t) {
  e->type = t;
  if (t == TY_NONE)
    e->kind = EXPR_BAD;
  return e;
}

/* Is the operand a number, or a vector of numbers? */
static bool is_numeric(const Checker *c, const Expr *k) {
  return k->type == TY_BRACES || is_number(check_base(c, k->type));
}

/* Reports that the operand `k` of `e` is not a number; `need` says what is needed. */
static Expr *not_numeric(Checker *c, const Env *env, const Expr *e, const Expr *k, const char *need) {
  const char *op = check_spelling(c, e->op), *t = check_type_words(c, k->type);
  if (check_base(c, k->type) == TY_NONE)
    return check_error(
        c, env, e->loc,
        "%s has no meaning for %s, a struct or with structs in it; compute member by member: {a.x + b.x, ...}", op, t);
  return check_error(c, env, e->loc, "%s needs %s, but this %s is %s", op, need,
                     strcmp(need, "numbers") ? "one" : "operand", t);
}

/* + - * / min max abs, unary minus. */
static Expr *arithmetic(Checker *c, const Env *env, Expr *e) {
  for (int i = 0; i < e->n; i++)
    if (!is_numeric(c, e->kids[i]))
      return not_numeric(c, env, e, e->kids[i], "numbers");
  return typed(e, unify(c, env, e, 0));
}

/* What to write in place of the operation `op` of integers if an operand has type `t`; other: another operand is an
 * integer. */
static const char *instead(Opcode op, Type t, bool other) {
  bool loose = op == OP_BIT_AND || op == OP_BIT_OR || op == OP_BIT_XOR;
  if (t == TY_BOOL && other && loose)
    return "comparisons bind more tightly: write (a & b) == c, or convert it: i32(...)";
  bool logic = t == TY_BOOL && (op == OP_BIT_AND || op == OP_BIT_OR || op == OP_BIT_NOT);
  if (logic)
    return op == OP_BIT_AND  ? "logic is written '&&'"
           : op == OP_BIT_OR ? "logic is written '||'"
                             : "logic is written '!'";
  if (op == OP_REM)
    return "for floats write x - y * floor(x / y)";
  return op == OP_BIT_XOR && t != TY_BOOL ? "a power is written 'pow(x, y)'" : "convert it: u32(...) or i64(...)";
}

/* Warns about `x ^ 2` and `x ^ 3`, which most people mean as powers. `2 ^ x` is the same operation on bits, without a
 * warning. */
static void warn_of_power(Checker *c, const Expr *e) {
  const Expr *by = e->kids[1];
  if (by->kind != EXPR_INT || e->kids[0]->kind == EXPR_INT || !by->name ||
      (strcmp(by->name, "2") && strcmp(by->name, "3")))
    return;
  const char *text = arena_printf(c->arena,
                                  "'x ^ %s' is the exclusive or of bits, no power; a power is written '%s', the "
                                  "exclusive or '%s ^ x'",
                                  by->name, *by->name == '2' ? "x * x" : "x * x * x", by->name);
  if (!check_repeated(c, e->loc, text))
    diag_warning(c->d, e->loc, "%s", text);
}

/* % and operations on bits: their operands are integers. If all are literals the result is an i64, unless it is
 * combined with another type of integers. */
static Expr *of_integers(Checker *c, const Env *env, Expr *e) {
  for (int i = 0; i < e->n; i++) {
    Type t = check_base(c, e->kids[i]->type);
    bool other = e->n == 2 && is_int(check_base(c, e->kids[1 - i]->type));
    if (!is_int(t) && e->kids[i]->type != TY_BRACES)
      return check_error(c, env, e->loc, "%s needs integers, but this operand is %s; %s", check_spelling(c, e->op),
                         check_type_words(c, e->kids[i]->type), instead(e->op, t, other));
  }
  if (e->op == OP_BIT_XOR)
    warn_of_power(c, e);
  Type t = unify(c, env, e, 0);
  typed(e, t);
  if (t != TY_LITERAL_INT)
    return e;
  e = check_adapt(c, env, e, TY_I64);
  e->adapts = e->kind != EXPR_BAD;
  return e;
}

/* sqrt and similar functions: their operands are floats; integer literals count as floats. */
static Expr *function(Checker *c, const Env *env, Expr *e) {
  for (int i = 0; i < e->n; i++) {
    if (e->kids[i]->type == TY_BRACES && (e->kids[i] = check_close_as(c, env, e->kids[i], c->real))->kind == EXPR_BAD)
      return e->kids[i];
    const Expr *k = e->kids[i];
    if (!is_numeric(c, k))
      return not_numeric(c, env, e, k, "floating-point arguments");
    if (!is_float(check_base(c, k->type)) && k->type != TY_LITERAL_INT)
      return check_error(c, env, e->loc, "%s needs floating-point arguments, but this one is %s; convert it: %s",
                         check_spelling(c, e->op), check_type_words(c, k->type), cure(c, k, c->real));
  }
  Type t = unify(c, env, e, 0);
  return typed(e, t == TY_LITERAL_INT ? TY_LITERAL_FLOAT : t);
}

/* Comparisons; if both operands are literals, they are compared as i64 or real. */
static Expr *comparison(Checker *c, const Env *env, Expr *e) {
  bool order = e->op != OP_EQ && e->op != OP_NE;
  if (check_has_vector(c, e, 0))
    return check_error(
        c, env, e->loc,
        "%s compares single values, not vectors or structs; compare them part by part: a[0] == b[0] && a[1] == b[1]",
        check_spelling(c, e->op));
  for (int i = 0; i < e->n && order; i++)
    if (!is_number(e->kids[i]->type))
      return check_error(c, env, e->loc, "%s needs numbers, but this operand is %s; write a < b && b < c for a chain",
                         check_spelling(c, e->op), check_type_words(c, e->kids[i]->type));
  Type t = unify(c, env, e, 0);
  for (int i = 0; i < e->n && type_is_literal(t); i++) {
    e->kids[i] = check_adapt(c, env, e->kids[i], t == TY_LITERAL_INT ? TY_I64 : c->real);
    if (e->kids[i]->kind == EXPR_BAD)
      return e->kids[i];
  }
  e->adapts = false;
  return typed(e, t == TY_NONE ? TY_NONE : TY_BOOL);
}

/* && || !. */
static Expr *logic(Checker *c, const Env *env, Expr *e) {
  for (int i = 0; i < e->n; i++)
    if (e->kids[i]->type != TY_BOOL)
      return check_error(c, env, e->loc,
                         "%s needs bool operands, but this one is %s; write a comparison such as x != 0",
                         check_spelling(c, e->op), check_type_words(c, e->kids[i]->type));
  return typed(e, TY_BOOL);
}

/* if and select. */
static Expr *choice(Checker *c, const Env *env, Expr *e) {
  if (e->kids[0]->type != TY_BOOL)
    return check_error(c, env, e->kids[0]->loc,
                       "the condition must be bool, but it is %s; write a comparison such as x != 0",
                       check_type_words(c, e->kids[0]->type));
  check_same_choice(c, e);
  return typed(e, unify(c, env, e, 1));
}

/* Conversions. A literal of a fitting kind is rounded once, to the target type. A conversion of a literal to f32
 * remains in the tree, so that no other function takes the literal for one that may still change its type. */
static Expr *conversion(Checker *c, const Env *env, Expr *e) {
  Type to = e->type;
  Expr *k = e->kids[0];
  bool adapts = type_is_literal(k->type);
  if (check_has_vector(c, e, 0))
    return check_convert_vector(c, env, e);
  if (adapts && check_value_type(c, to) != to && (type_is_float(to) || k->type == TY_LITERAL_INT))
    return check_coerce_in(c, env, k, to, "the value");
  if ((to == TY_F16 || to == TY_BF16) && k->type == TY_F32)
    return check_coerce_in(c, env, k, to, "the value");
  if (adapts) {
    bool direct = type_is_float(to) || (type_is_int(to) && k->type == TY_LITERAL_INT);
    k = check_adapt(c, env, k, direct ? to : k->type == TY_LITERAL_INT ? TY_I64 : TY_F64);
    if (k->kind == EXPR_BAD)
      return k;
  }
  e->kids[0] = k;
  k->adapts = false;
  return k->type == to && !(adapts && to == TY_F32) ? k : e;
}

/* Checks the operation `e` by its kind, and gives it its type. */
static Expr *by_operation(Checker *c, const Env *env, Expr *e) {
  switch (e->op) {
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_DIV:
  case OP_NEG:
  case OP_MIN:
  case OP_MAX:
  case OP_ABS: return arithmetic(c, env, e);
  case OP_REM:
  case OP_BIT_AND:
  case OP_BIT_OR:
  case OP_BIT_XOR:
  case OP_BIT_NOT:
  case OP_SHL:
  case OP_SHR: return of_integers(c, env, e);
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return comparison(c, env, e);
  case OP_AND:
  case OP_OR:
  case OP_NOT: return logic(c, env, e);
  case OP_SELECT: return choice(c, env, e);
  case OP_CONVERT: return conversion(c, env, e);
  default: return function(c, env, e);
  }
}

Expr *check_types(Checker *c, const Env *env, Expr *e) {
  for (int i = 0; i < e->n && e->op != OP_SELECT && e->op != OP_CONVERT; i++)
    e->kids[i] = check_widen(c, e->kids[i]);
  bool complex = check_has_complex(c, e, e->op == OP_SELECT);
  Expr *r = complex ? check_complex(c, env, e) : by_operation(c, env, e);
  c->nodes += type_composite(c->m, r->type) ? type_components(c->m, r->type) : 0;
  return r;
}

Expr *check_coerce_in(Checker *c, const Env *env, Expr *e, Type want, const char *to) {
  if (e->kind == EXPR_BAD || want == TY_NONE || e->type == want) {
    e->adapts = false;
    return e;
  }
  Expr *x = check_coerce_composite(c, env, e, want, to);
  if (x)
    return x;
  if (type_is_literal(e->type) && want != TY_BOOL && (type_is_float(want) || e->type == TY_LITERAL_INT))
    return check_adapt(c, env, e, want);
  if (e->adapts && type_is_int(want))
    return check_readapt(c, env, e, want);
  if (want == TY_BOOL)
    return check_error(c, env, e->loc, "%s is bool, but this value is %s; write a comparison such as x != 0", to,
                       check_type_words(c, e->type));
  return check_error(c, env, e->loc, "%s is %s, but this value is %s; convert it: %s", to, type_name(want),
                     check_type_words(c, e->type), cure(c, e, want));
}

Expr *check_coerce(Checker *c, Expr *e, Type want, const char *to) { return check_coerce_in(c, NULL, e, want, to); }

Expr *check_value(Checker *c, Expr *e) {
  e = check_settle(c, NULL, e);
  e->adapts = false;
  if (e->kind != EXPR_BAD && (type_is_literal(e->type) || e->type == TY_BRACES))
    return check_close_as(c, NULL, e, c->real);
  return e->kind == EXPR_BAD ? e : check_widen(c, e);
}

bool check_const_int(Checker *c, const Expr *e, const Env *env, const char *what, int64_t *out) {
  Const k;
  Expr *r = check_in(c, e, env, ALLOW_CONST, what);
  if (r->kind == EXPR_BAD)
    return false;
  if (r->type == TY_LITERAL_INT)
    r = check_adapt(c, env, r, TY_I64);
  if (r->kind == EXPR_BAD)
    return false;
  if (!type_is_int(r->type) || !fold_const(c, r, &k)) {
    check_error(c, env, e->loc, "%s must be an integer constant", what);
    return false;
  }
  *out = k.i;
  return true;
}

bool check_dimension(Checker *c, const Expr *e, const Env *env, const char *what, int *out) {
  int64_t d;
  if (!check_const_int(c, e, env, arena_printf(c->arena, "the dimension of %s", what), &d))
    return false;
  if (d < 0 || d >= check_rank(c))
    check_error(c, env, e->loc, "the grid has no dimension %lld; there are 0 to %d", (long long)d, check_rank(c) - 1);
  *out = (int)d + c->lead;
  return d >= 0 && d < check_rank(c);
}
