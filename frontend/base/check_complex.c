/* check_complex.c: complex numbers. Their types are structs of two floats, so that every rule for fields of structs
 * applies to them; files and arrays recognize them by the types' names. Operations are expanded here to operations on
 * real and imaginary parts, as one would write them by hand. A number that has only one part, such as a real number or
 * an imaginary literal, adds no product with 0. */
#include "frontend/complex.h"

#include <string.h>

/* The parts of a value. NULL: the text itself shows that this part is 0. */
typedef struct Parts {
  Expr *re, *im;
} Parts;

/* ---- types */

static const char *const words[] = {"c64", "c128"};

/* The complex type number `i` (0: c64, 1: c128), which is added to the module at the first call. TY_NONE after
 * reporting. */
static Type type_number(Checker *c, int i, Loc loc) {
  if (c->complex[i])
    return c->complex[i];
  if (symbols_find(&c->syms, words[i])) {
    check_error(c, NULL, loc, "'%s' is the name of a complex type here; rename what the program declares", words[i]);
    return TY_NONE;
  }
  Member *parts = ARENA_ARRAY(c->arena, Member, 2);
  parts[0] = (Member){"re", i ? TY_F64 : TY_F32};
  parts[1] = (Member){"im", parts[0].type};
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_STRUCT, .name = words[i], .loc = loc, .used = true, .cover_stencil = -1};
  c->complex[i] = s->type = module_struct(c->m, words[i], 2, parts);
  symbols_add(&c->syms, s);
  return s->type;
}

/* The number of the complex type `name`; -1: it is none. */
static int find_type(const Checker *c, const char *name) {
  return !strcmp(name, "c64") ? 0 : !strcmp(name, "c128") ? 1 : !strcmp(name, "complex") ? c->real == TY_F64 : -1;
}

Type check_complex_type(Checker *c, const char *name, Loc loc) {
  const Symbol *s = symbols_find(&c->syms, name);
  int i = find_type(c, name);
  return i < 0 || (s && s->type != c->complex[i]) ? TY_NONE : type_number(c, i, loc);
}

bool check_is_complex(const Checker *c, Type t) { return t != TY_NONE && (t == c->complex[0] || t == c->complex[1]); }

/* Is it an imaginary literal, or an operation on such literals and others, that has no type yet? Its kids are its
 * parts, which are literals as well. */
static bool is_open(const Expr *e) { return e->type == TY_BRACES && e->imaginary; }

bool check_has_complex(const Checker *c, const Expr *e, int first) {
  for (int i = first; i < e->n; i++)
    if (is_open(e->kids[i]) || check_is_complex(c, e->kids[i]->type))
      return true;
  return false;
}

/* The type of the parts of complex type `t`. */
static Type part_type(const Checker *c, Type t) { return t == c->complex[1] ? TY_F64 : TY_F32; }

/* The complex type whose parts have type `t`. */
static Type type_of_parts(Checker *c, Type t, Loc loc) { return type_number(c, t == TY_F64, loc); }

/* ---- values */

/* Operation `op` on the float or literal `x`; NULL for NULL. */
static Expr *op1(Checker *c, Opcode op, Expr *x) {
  if (!x)
    return NULL;
  Expr *e = check_operation(c, op, x->loc, 1, &x);
  e->type = x->type;
  return type_is_literal(x->type) ? check_types(c, NULL, e) : e;
}

static Expr *op2(Checker *c, Opcode op, Expr *x, Expr *y) {
  Expr *e = check_operation(c, op, x->loc, 2, (Expr *[]){x, y});
  e->type = x->type;
  return type_is_literal(x->type) ? check_types(c, NULL, e) : e;
}

/* x + y or x - y, where NULL means 0. */
static Expr *sum(Checker *c, Opcode op, Expr *x, Expr *y) {
  return x && y ? op2(c, op, x, y) : x ? x : op == OP_SUB ? op1(c, OP_NEG, y) : y;
}

/* x y, or NULL if one of them is NULL. */
static Expr *product(Checker *c, Expr *x, Expr *y) { return x && y ? op2(c, OP_MUL, x, y) : NULL; }

/* The number `k` of type `t`. */
static Expr *number(Checker *c, Loc loc, Type t, const char *k) {
  Expr *e = check_leaf(c, EXPR_FLOAT, t, loc, NULL);
  e->name = k;
  return e;
}

/* The value of type `t` (TY_BRACES: an open value) with the parts `x`. */
static Expr *value(Checker *c, Loc loc, Type t, Parts x) {
  Expr *e = check_leaf(c, EXPR_BRACES, t, loc, NULL);
  Type of = t == TY_BRACES ? TY_LITERAL_FLOAT : part_type(c, t);
  e->n = 2;
  e->kids = ARENA_ARRAY(c->arena, Expr *, 2);
  e->kids[0] = x.re ? x.re : number(c, loc, of, "0.0");
  e->kids[1] = x.im ? x.im : number(c, loc, of, "0.0");
  e->imaginary = !x.re || t == TY_BRACES;
  return e;
}

/* The parts of `e`, an open value or a literal, unchanged; NULL for a part that is written as 0 or is absent. */
static Parts open_parts(Expr *e) {
  if (e->type != TY_BRACES)
    return (Parts){e, NULL};
  bool none =
      (e->kids[0]->kind == EXPR_INT || e->kids[0]->kind == EXPR_FLOAT) && !strpbrk(e->kids[0]->name, "123456789");
  return (Parts){none ? NULL : e->kids[0], e->kids[1]};
}

/* Are both parts of the complex value constants, params or lets, so that they need not be shared? */
static bool is_of_leaves(const Expr *e) { return e->kind == EXPR_BRACES && !e->kids[0]->n && !e->kids[1]->n; }

/* The parts of `e`, a complex or real number, as parts of the complex type `t`, each computed once. `re` is EXPR_BAD
 * after reporting that the type of `e` does not fit; `op` names the operation. */
static Parts parts(Checker *c, const Env *env, const char *op, Expr *e, Type t) {
  Type of = part_type(c, t);
  if (is_open(e)) {
    Parts x = open_parts(e);
    return (Parts){x.re ? check_coerce_in(c, env, x.re, of, "a real part") : NULL,
                   check_coerce_in(c, env, x.im, of, "an imaginary literal")};
  }
  if (e->type == t && is_of_leaves(e))
    return (Parts){e->imaginary ? NULL : e->kids[0], e->kids[1]};
  if (e->type == t && e->kind == EXPR_BRACES && e->imaginary)
    return (Parts){NULL, share(c, e->kids[1], "im")};
  if (e->type == t) {
    Expr *x = share(c, e, "complex");
    return (Parts){share(c, share_member(c, x, 0, of), "re"), share(c, share_member(c, x, 1, of), "im")};
  }
  if (e->type == of || type_is_literal(e->type))
    return (Parts){share(c, check_coerce_in(c, env, e, of, "a real number"), "re"), NULL};
  bool whole = type_is_scalar(e->type) || check_is_complex(c, e->type);
  return (Parts){check_error(c, env, e->loc, "%s mixes %s and %s; convert one side: %s(...)", op, type_text(c->m, t),
                             check_type_words(c, e->type),
                             !whole                         ? type_text(c->m, t)
                             : check_is_complex(c, e->type) ? "c128"
                                                            : type_name(of)),
                 NULL};
}

Expr *check_complex_of_parts(Checker *c, Loc loc, Type t, Expr *const *of) {
  return value(c, loc, t, (Parts){of[0], of[1]});
}

void check_complex_parts(Checker *c, Expr *e, Expr **of) {
  Parts x = parts(c, NULL, "this", e, e->type);
  Expr *none = number(c, e->loc, part_type(c, e->type), "0.0");
  of[0] = x.re ? x.re : none;
  of[1] = x.im ? x.im : none;
}

static bool is_bad(Parts x) { return (x.re && x.re->kind == EXPR_BAD) || (x.im && x.im->kind == EXPR_BAD); }

/* re^2 + im^2, as a shared value. */
static Expr *square(Checker *c, Parts x) {
  return share(c, sum(c, OP_ADD, product(c, x.re, x.re), product(c, x.im, x.im)), "abs2");
}

static Parts multiplied(Checker *c, Parts x, Parts y) {
  return (Parts){sum(c, OP_SUB, product(c, x.re, y.re), product(c, x.im, y.im)),
                 sum(c, OP_ADD, product(c, x.re, y.im), product(c, x.im, y.re))};
}

/* x / y: if y has one part, divides each part of x by it; else x conj(y) / |y|^2. */
static Parts divided(Checker *c, Parts x, Parts y) {
  if (!y.im)
    return (Parts){x.re ? op2(c, OP_DIV, x.re, y.re) : NULL, x.im ? op2(c, OP_DIV, x.im, y.re) : NULL};
  if (!y.re)
    return (Parts){x.im ? op2(c, OP_DIV, x.im, y.im) : NULL, x.re ? op1(c, OP_NEG, op2(c, OP_DIV, x.re, y.im)) : NULL};
  Expr *by = square(c, y), *re = sum(c, OP_ADD, product(c, x.re, y.re), product(c, x.im, y.im)),
       *im = sum(c, OP_SUB, product(c, x.im, y.re), product(c, x.re, y.im));
  return (Parts){op2(c, OP_DIV, re, by), op2(c, OP_DIV, im, by)};
}

/* exp(x) = exp(re) (cos im + i sin im). */
static Parts exponential(Checker *c, Parts x) {
  Expr *size = x.re ? share(c, op1(c, OP_EXP, x.re), "exp") : NULL;
  if (!x.im)
    return (Parts){size, NULL};
  Expr *re = op1(c, OP_COS, x.im), *im = op1(c, OP_SIN, x.im);
  return (Parts){size ? op2(c, OP_MUL, size, re) : re, size ? op2(c, OP_MUL, size, im) : im};
}

/* y if x compares with 0 by `op`, else z. */
static Expr *by_sign(Checker *c, Opcode op, Expr *x, Expr *y, Expr *z) {
  Expr *test = check_operation(c, op, x->loc, 2, (Expr *[]){x, number(c, x->loc, x->type, "0.0")});
  test->type = TY_BOOL;
  Expr *e = check_operation(c, OP_SELECT, x->loc, 3, (Expr *[]){test, y, z});
  e->type = y->type;
  return e;
}

/* |x| as m sqrt(1 + (n / m)^2), where m is the larger and n the smaller of |re| and |im|: it neither overflows nor
 * underflows where re^2 + im^2 does. If the two are equal, m is the first and n the second, for gradients. */
static Expr *length(Checker *c, Parts x, Expr *re, Expr *im) {
  if (!x.re || !x.im)
    return op1(c, OP_ABS, x.re ? re : im);
  Expr *a = share(c, op1(c, OP_ABS, re), "root"), *b = share(c, op1(c, OP_ABS, im), "root");
  Expr *m = share(c, op2(c, OP_MAX, a, b), "root"), *n = op2(c, OP_MIN, b, a);
  Expr *part = by_sign(c, OP_GT, m, op2(c, OP_DIV, n, m), number(c, re->loc, re->type, "0.0"));
  part = share(c, part, "root");
  Expr *more = op2(c, OP_ADD, number(c, re->loc, re->type, "1.0"), op2(c, OP_MUL, part, part));
  return op2(c, OP_MUL, m, op1(c, OP_SQRT, more));
}

/* The square root of `x`, of type `t`, whose real part is not negative. With s = sqrt((|re| + |x|) / 2) and d = |im| /
 * (2 s) its parts are s and d with the sign of im; if re is negative, d and s with the sign of im. */
static Parts root(Checker *c, Parts x, Type t, Loc loc) {
  Type of = part_type(c, t);
  Expr *re = x.re ? x.re : number(c, loc, of, "0.0"), *im = x.im ? x.im : number(c, loc, of, "0.0");
  Expr *half = op2(c, OP_MUL, number(c, loc, of, "0.5"), op1(c, OP_ABS, re));
  Expr *other = op2(c, OP_MUL, number(c, loc, of, "0.5"), length(c, x, re, im));
  Expr *s = share(c, op1(c, OP_SQRT, op2(c, OP_ADD, half, other)), "root");
  Expr *part = op2(c, OP_DIV, op1(c, OP_ABS, im), op2(c, OP_ADD, s, s));
  Expr *d = share(c, by_sign(c, OP_EQ, s, number(c, loc, of, "0.0"), part), "root");
  return (Parts){by_sign(c, OP_GE, re, s, d), op2(c, OP_COPYSIGN, by_sign(c, OP_GE, re, d, s), im)};
}

/* ---- operations */

/* Reports that the operation `e` is not defined for complex numbers. */
static Expr *no_meaning(Checker *c, const Env *env, const Expr *e) {
  const char *op = check_spelling(c, e->op);
  switch (e->op) {
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE:
    return check_error(c, env, e->loc, "%s compares real numbers, and this is complex; compare abs2(z), re(z) or im(z)",
                       op);
  case OP_MIN:
  case OP_MAX:
    return check_error(c, env, e->loc, "%s needs an order, which complex numbers have not; compare abs2(z)", op);
  default:
    return check_error(
        c, env, e->loc,
        "%s is of real numbers; of complex ones there are + - * / and re im conj abs abs2 arg cis exp sqrt", op);
  }
}

/* The complex type of the operation `e`: the type of a complex kid; else the one whose parts have the type of a real
 * kid; else `complex`. */
static Type lead_type(Checker *c, const Expr *e, int first) {
  for (int i = first; i < e->n; i++)
    if (check_is_complex(c, e->kids[i]->type))
      return e->kids[i]->type;
  for (int i = first; i < e->n; i++)
    if (e->kids[i]->type == TY_F32 || e->kids[i]->type == TY_F64)
      return type_of_parts(c, e->kids[i]->type, e->loc);
  return type_of_parts(c, c->real, e->loc);
}

/* A choice: converts its values to one complex type. */
static Expr *choice(Checker *c, const Env *env, Expr *e) {
  if (e->kids[0]->type != TY_BOOL)
    return check_error(c, env, e->kids[0]->loc,
                       "the condition must be bool, but it is %s; write a comparison such as x != 0",
                       check_type_words(c, e->kids[0]->type));
  e->type = lead_type(c, e, 1);
  for (int i = 1; i < e->n && e->type != TY_NONE; i++) {
    Parts x = parts(c, env, check_spelling(c, e->op), e->kids[i], e->type);
    if (is_bad(x))
      return check_bad(c, e->loc);
    e->kids[i] = value(c, e->kids[i]->loc, e->type, x);
  }
  return e->type == TY_NONE ? check_bad(c, e->loc) : e;
}

/* Reports a conversion to a real type: it would silently drop one of two parts. */
static Expr *conversion(Checker *c, const Env *env, const Expr *e) {
  return check_error(c, env, e->loc, "%s(...) is of one real number, and this is complex; take re(z) or im(z)",
                     type_name(e->type));
}

/* Is `e` a sum, a difference, a product or a sign of literals alone, which remains open? */
static bool stays_open(const Expr *e) {
  bool open = e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL || e->op == OP_NEG;
  for (int i = 0; i < e->n; i++)
    open = open && (is_open(e->kids[i]) || type_is_literal(e->kids[i]->type));
  return open;
}

Expr *check_complex(Checker *c, const Env *env, Expr *e) {
  if (e->op == OP_SELECT)
    return choice(c, env, e);
  if (e->op == OP_CONVERT)
    return conversion(c, env, e);
  bool is_two = e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL || e->op == OP_DIV, open = stays_open(e);
  if (!is_two && e->op != OP_NEG && e->op != OP_ABS && e->op != OP_EXP && e->op != OP_SQRT)
    return no_meaning(c, env, e);
  Type t = open ? TY_BRACES : lead_type(c, e, 0);
  const char *op = check_spelling(c, e->op);
  if (t == TY_NONE)
    return check_bad(c, e->loc);
  Parts x = open ? open_parts(e->kids[0]) : parts(c, env, op, e->kids[0], t), y = {NULL, NULL};
  if (is_two)
    y = open ? open_parts(e->kids[1]) : parts(c, env, op, e->kids[1], t);
  if (is_bad(x) || is_bad(y))
    return check_bad(c, e->loc);
  switch (e->op) {
  case OP_ADD:
  case OP_SUB:
    return value(c, e->loc, t,
                 (Parts){x.re || y.re ? sum(c, e->op, x.re, y.re) : NULL,
                         x.im || y.im ? sum(c, e->op, x.im, y.im) : NULL});
  case OP_MUL: return value(c, e->loc, t, multiplied(c, x, y));
  case OP_DIV: return value(c, e->loc, t, divided(c, x, y));
  case OP_NEG: return value(c, e->loc, t, (Parts){op1(c, OP_NEG, x.re), op1(c, OP_NEG, x.im)});
  case OP_ABS: return op1(c, OP_SQRT, square(c, x));
  case OP_SQRT: return value(c, e->loc, t, root(c, x, t, e->loc));
  default: return value(c, e->loc, t, exponential(c, x));
  }
}

Expr *check_as_complex(Checker *c, const Env *env, Expr *e, Type want) {
  if (!is_open(e) && !type_is_literal(e->type))
    return NULL;
  Parts x = parts(c, env, "this", e, want);
  return is_bad(x) ? check_bad(c, e->loc) : value(c, e->loc, want, x);
}

Expr *check_close_imaginary(Checker *c, Expr *e) {
  Type t = is_open(e) ? type_of_parts(c, c->real, e->loc) : TY_NONE;
  return is_open(e) ? t == TY_NONE ? check_bad(c, e->loc) : check_as_complex(c, NULL, e, t) : e;
}

bool check_complex_within(const Checker *c, Type t) {
  const Composite *x = check_is_complex(c, t) ? NULL : type_composite(c->m, t);
  for (int i = 0; x && i < x->n; i++)
    if (check_complex_within(c, x->members[i].type))
      return true;
  return check_is_complex(c, t);
}

bool check_complex_outside(Checker *c, Type t, const Expr *value, const Const *k) {
  if (!check_complex_within(c, t) || (k && k->f == 0))
    return true;
  check_error(
      c, NULL, value->loc,
      "beyond the edges of a complex field there is 0, or what a rule leads to; other numbers are set at points "
      "of the field, by a stencil of the edge");
  return false;
}

/* ---- functions */

typedef enum Function { RE, IM, CONJ, ABS2, ARG, CIS, FUNCTIONS } Function;
static const char *const names[] = {"re", "im", "conj", "abs2", "arg", "cis"};

static Function find_function(const char *name) {
  int f = 0;
  while (f < FUNCTIONS && strcmp(names[f], name) != 0)
    f++;
  return (Function)f;
}

bool check_is_complex_call(const Checker *c, const Expr *e) {
  const Symbol *s = symbols_find(&c->syms, e->name);
  int type = find_type(c, e->name);
  if (type >= 0)
    return !s || check_is_complex(c, s->type);
  return !s && find_function(e->name) < FUNCTIONS;
}

/* cis(x) of a real number x: cos x + i sin x. */
static Expr *direction(Checker *c, const Env *env, Expr *x, Loc loc) {
  x = check_value(c, x);
  if (x->kind == EXPR_BAD)
    return x;
  if (x->type != TY_F32 && x->type != TY_F64)
    return check_error(c, env, loc, "'cis' takes a real number, f32 or f64, and gives cos x + i sin x; this is %s",
                       check_type_words(c, x->type));
  Type t = type_of_parts(c, x->type, loc);
  return t == TY_NONE ? check_bad(c, loc) : value(c, loc, t, exponential(c, (Parts){NULL, share(c, x, "cis")}));
}

/* Part `x` (NULL: none) converted to the type of the parts of `t`. */
static Expr *convert_part(Checker *c, Expr *x, Type t) {
  if (!x || x->type == part_type(c, t))
    return x;
  Expr *e = op1(c, OP_CONVERT, x);
  e->type = part_type(c, t);
  return e;
}

/* T(z), T(x) or T(re, im). */
static Expr *convert(Checker *c, const Env *env, const Expr *e, Type t, Expr *const *kids) {
  Expr *of[2] = {NULL, NULL};
  if (e->n == 1 && (is_open(kids[0]) || check_is_complex(c, kids[0]->type))) {
    Type from = is_open(kids[0]) ? t : kids[0]->type;
    Parts x = parts(c, env, "this", kids[0], from);
    return value(c, e->loc, t, (Parts){convert_part(c, x.re, t), convert_part(c, x.im, t)});
  }
  for (int i = 0; i < e->n; i++) {
    Expr *x = check_operation(c, OP_CONVERT, kids[i]->loc, 1, &kids[i]);
    x->type = part_type(c, t);
    if ((of[i] = check_types(c, env, x))->kind == EXPR_BAD)
      return of[i];
    if (!type_is_scalar(of[i]->type))
      return check_error(c, env, kids[i]->loc, "'%s' takes a complex number, or one or two real ones", e->name);
  }
  return value(c, e->loc, t, (Parts){of[0], of[1]});
}

Expr *check_complex_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Function f = find_function(e->name);
  Expr *kids[2] = {NULL, NULL};
  int most = f == FUNCTIONS ? 2 : 1;
  if (e->n < 1 || e->n > most)
    return check_error(c, env, e->loc, "'%s' takes 1 argument%s, not %d", e->name, most > 1 ? " or 2" : "", e->n);
  for (int i = 0; i < e->n; i++)
    if ((kids[i] = check_expr(c, e->kids[i], env, shift))->kind == EXPR_BAD)
      return kids[i];
  if (f == FUNCTIONS) {
    Type t = check_complex_type(c, e->name, e->loc);
    return t == TY_NONE ? check_bad(c, e->loc) : convert(c, env, e, t, kids);
  }
  if (f == CIS)
    return direction(c, env, kids[0], e->loc);
  Expr *z = check_close_imaginary(c, kids[0]);
  if (z->kind == EXPR_BAD)
    return z;
  if (!check_is_complex(c, z->type))
    return check_error(c, env, e->loc, "'%s' takes a complex number, and this is %s", e->name,
                       check_type_words(c, z->type));
  Type t = z->type;
  Parts x = parts(c, env, "this", z, t);
  Expr *none = number(c, e->loc, part_type(c, t), "0.0");
  switch (f) {
  case RE: return x.re ? x.re : none;
  case IM: return x.im ? x.im : none;
  case CONJ: return value(c, e->loc, t, (Parts){x.re, op1(c, OP_NEG, x.im)});
  case ABS2: return square(c, x);
  default: return op2(c, OP_ATAN2, x.im ? x.im : none, x.re ? x.re : none);
  }
}
