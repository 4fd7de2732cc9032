/* driver/artifact/expression.c: evaluates launch-time expressions (params' defaults, top-level lets, bounds), and
 * writes them as C text. */
#include "driver/artifact/artifact.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- evaluating */

const char *scalar_define(const StcProgram *p, const Module *m, int i) {
  const char *value = NULL;
  for (int d = 0; d < p->options.ndefines; d++)
    if (m->scalars[i].is_param && strcmp(p->defines[d].name, m->scalars[i].name) == 0)
      value = p->defines[d].value;
  return value;
}

/* A straight-line block of ops during its evaluation: the values of the ops by their number. */
typedef struct Evaluation {
  int n;
  const Op **ops;
  Const *values;
} Evaluation;

/* The value of `v`, which was computed before. */
static Const value_of(const Evaluation *e, const Value *v) {
  for (int i = e->n - 1; i >= 0; i--)
    if (e->ops[i] == v->def)
      return e->values[i];
  return (Const){0};
}

/* Evaluates `b` from the scalars' values. False if it uses a scalar whose value is not known. */
static bool evaluate(const Module *m, const Block *b, const Const *scalars, const bool *known, Const *out) {
  Evaluation e = {0, NULL, NULL};
  int count = 0;
  for (const Op *op = b->first; op; op = op->next)
    count++;
  e.ops = ARENA_ARRAY(m->arena, const Op *, count + 1);
  e.values = ARENA_ARRAY(m->arena, Const, count + 1);
  for (const Op *op = b->first; op; op = op->next) {
    Const operands[4] = {{0}};
    for (int i = 0; i < op->noperands && i < 4; i++)
      operands[i] = value_of(&e, op->operands[i]);
    if (op->code == OP_YIELD)
      return *out = operands[0], true;
    if (op->code == OP_SCALAR && !known[op->sym])
      return false;
    e.ops[e.n] = op;
    e.values[e.n++] = op->code == OP_CONST    ? op->cval
                      : op->code == OP_SCALAR ? scalars[op->sym]
                                              : eval_op(op, operands);
  }
  return false;
}

void scalar_defaults(const StcProgram *p, const Module *m, Const *values, bool *known) {
  for (int i = 0; i < m->nscalars; i++) {
    known[i] = m->scalars[i].expr && evaluate(m, m->scalars[i].expr, values, known, &values[i]);
    const char *text = scalar_define(p, m, i);
    StcFieldInfo one = {.name = "param", .type = (StcType)m->scalars[i].type, .bytes = type_size(m->scalars[i].type)};
    union {
      uint8_t b;
      int8_t i8;
      int16_t i16;
      int32_t i32;
      int64_t i64;
      float f32;
      double f64;
    } u = {0};
    if (!text || !value_fill(&one, text, &u))
      continue;
    known[i] = true;
    if (type_is_float(m->scalars[i].type))
      values[i].f = field_value(&one, &u, 0);
    else
      values[i].i = m->scalars[i].type == TY_I64 ? u.i64 : (int64_t)field_value(&one, &u, 0);
  }
}

/* ---------------------------------------------------------------- C text */

const char *c_type(Type t) {
  switch (t) {
  case TY_BOOL: return "bool";
  case TY_I8: return "int8_t";
  case TY_I16: return "int16_t";
  case TY_U8: return "uint8_t";
  case TY_U16: return "uint16_t";
  case TY_I32: return "int32_t";
  case TY_U32: return "uint32_t";
  case TY_I64: return "int64_t";
  case TY_F16:
  case TY_BF16: return "uint16_t";
  case TY_F32: return "float";
  case TY_F64: return "double";
  default: return "void";
  }
}

const char *c_name(Arena *a, const char *name) {
  static const char *const keywords[] = {
      "alignas",  "alignof",  "and",     "asm",       "auto",      "bool",     "break",    "case",      "catch",
      "char",     "class",    "const",   "constexpr", "continue",  "decltype", "default",  "delete",    "do",
      "double",   "else",     "enum",    "explicit",  "export",    "extern",   "false",    "float",     "for",
      "friend",   "goto",     "if",      "inline",    "int",       "long",     "mutable",  "namespace", "new",
      "not",      "operator", "or",      "private",   "protected", "public",   "register", "restrict",  "return",
      "short",    "signed",   "sizeof",  "static",    "struct",    "switch",   "template", "this",      "throw",
      "true",     "try",      "typedef", "typename",  "union",     "unsigned", "using",    "virtual",   "void",
      "volatile", "while",    "xor",     "NAN",       "INFINITY",  "I",        "NULL",     "signbit",   "isnan",
      "isinf",    NULL};
  for (int i = 0; keywords[i]; i++)
    if (strcmp(name, keywords[i]) == 0)
      return arena_printf(a, "%s_", name);
  char *s = arena_printf(a, "%s__", name);
  size_t n = strlen(name), odd = 0;
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)s[i]) && s[i] != '_')
      s[i] = '_', odd++;
  return odd ? s : name;
}

char *const_c_text(Arena *a, Const c, Type t) {
  if (!type_is_float(t))
    return c.i == INT64_MIN ? arena_strdup(a, "INT64_MIN")
                            : arena_printf(a, t == TY_I64 ? "INT64_C(%lld)" : "(%lld)", (long long)c.i);
  if (isnan(c.f))
    return arena_strdup(a, "NAN");
  if (isinf(c.f))
    return arena_strdup(a, c.f > 0 ? "INFINITY" : "(-INFINITY)");
  return arena_printf(a, t == TY_F32 ? "((float)%a)" : "(%a)", c.f);
}

/* The C text of an integer. */
static char *integer_text(Arena *a, int64_t n) { return const_c_text(a, (Const){.i = n}, TY_I64); }

char *affine_c_text(Arena *a, const Module *m, Affine x, const char *prefix) {
  char *s = integer_text(a, x.c);
  for (int i = 0; i < x.n; i++) {
    const char *name = arena_printf(a, "%s%s", prefix, c_name(a, m->scalars[x.t[i].scalar].name));
    if (x.t[i].coef != 1)
      name = arena_printf(a, "stc_times(%s, %s)", integer_text(a, x.t[i].coef), name);
    s = x.c == 0 && i == 0 ? arena_printf(a, "(int64_t)%s", name) : arena_printf(a, "stc_plus(%s, %s)", name, s);
  }
  return s;
}

const char c_helpers[] =
    "#ifndef STC_ARITHMETIC\n"
    "#define STC_ARITHMETIC\n"
    "/* Integers wrap; x / 0 and x % 0 are 0. */\n"
    "static inline int64_t stc_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }\n"
    "static inline int64_t stc_sub(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }\n"
    "static inline int64_t stc_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }\n"
    "static inline int64_t stc_div(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? stc_sub(0, x) : x / y; }\n"
    "static inline int64_t stc_rem(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }\n"
    "static inline int64_t stc_imin(int64_t x, int64_t y) { return x < y ? x : y; }\n"
    "static inline int64_t stc_imax(int64_t x, int64_t y) { return x > y ? x : y; }\n"
    "/* Shifts of an integer of so many bits; those by a number that is negative or too large shift all bits out. */\n"
    "static inline int64_t stc_shl(int64_t x, int64_t y, int bits) { return y < 0 || y >= bits ? 0 : "
    "(int64_t)((uint64_t)x << y); }\n"
    "static inline int64_t stc_shr(int64_t x, int64_t y, int bits) { return x < 0 ? ~(y < 0 || y >= bits ? 0 : ~x >> "
    "y) "
    ": y < 0 || y >= bits ? 0 : x >> y; }\n"
    "static inline int64_t stc_iabs(int64_t x) { return x < 0 ? stc_sub(0, x) : x; }\n"
    "/* IEEE 754-2019 minimumNumber and maximumNumber. */\n"
    "static inline double stc_min(double x, double y) { return x != x ? y : y != y ? x : x < y || (x == y && "
    "signbit(x)) ? x : y; }\n"
    "static inline double stc_max(double x, double y) { return x != x ? y : y != y ? x : x > y || (x == y && "
    "!signbit(x)) ? x : y; }\n"
    "/* A float as an integer in [lo, hi]: saturating, NaN is 0. */\n"
    "static inline int64_t stc_int(double x, int64_t lo, int64_t hi) { return x != x ? 0 : x <= (double)lo ? lo : x >= "
    "(double)hi ? hi : (int64_t)x; }\n"
    "/* Exchanges two of the pointers. */\n"
    "static inline void stc_exchange(void **buffer, int a, int b) { void *t = buffer[a]; buffer[a] = buffer[b]; "
    "buffer[b] = t; }\n"
    "/* Makes buffer b the `bytes` at home, where now one of the n buffers is. */\n"
    "static inline void stc_settle(void **buffer, int n, int b, void *home, size_t bytes) {\n"
    "  char t[4096], *x = (char *)buffer[b], *y = (char *)home;\n"
    "  size_t i, size;\n"
    "  int a = 0;\n"
    "  if (x == y) return;\n"
    "  for (i = 0; i < bytes; i += size) {\n"
    "    size = bytes - i < sizeof t ? bytes - i : sizeof t;\n"
    "    memcpy(t, x + i, size);\n"
    "    memcpy(x + i, y + i, size);\n"
    "    memcpy(y + i, t, size);\n"
    "  }\n"
    "  while (a < n && buffer[a] != home) a++;\n"
    "  if (a < n) stc_exchange(buffer, a, b);\n"
    "}\n"
    "static inline int64_t stc_ceildiv(int64_t n, int64_t d) { return n <= 0 ? 0 : (n - 1) / d + 1; }\n"
    "/* What is wrong with the numbers of a run's steps, or NULL. */\n"
    "static inline const char *stc_check_steps(int64_t first_step, int64_t steps) {\n"
    "  return first_step < 0 ? \"first_step is negative: it is the number of steps made before\"\n"
    "         : steps < 0    ? \"steps is negative: it is the number of steps to make\"\n"
    "         : steps > INT64_MAX - first_step ? \"first_step + steps is too large for an int64_t\" : NULL;\n"
    "}\n"
    "#endif\n"
    "#ifndef STC_BOUNDS\n"
    "#define STC_BOUNDS\n"
    "/* Sums and products of numbers that may be too large: INT64_MIN, and what is made of that, is one that is. */\n"
    "static inline int64_t stc_plus(int64_t x, int64_t y) {\n"
    "  return x == INT64_MIN || y == INT64_MIN || (y > 0 ? x > INT64_MAX - y : x < INT64_MIN - y) ? INT64_MIN : x + "
    "y;\n"
    "}\n"
    "static inline int64_t stc_times(int64_t x, int64_t y) {\n"
    "  if (x == 0 || y == 0) return 0;\n"
    "  if (x == INT64_MIN || y == INT64_MIN) return INT64_MIN;\n"
    "  return (x < 0 ? -x : x) > INT64_MAX / (y < 0 ? -y : y) ? INT64_MIN : x * y;\n"
    "}\n"
    "/* The product of numbers of points or bytes, at most INT64_MAX. */\n"
    "static inline int64_t stc_area(int64_t x, int64_t y) { return y > 0 && x > INT64_MAX / y ? INT64_MAX : x * y; }\n"
    "/* Is x a multiple of n, and not too large? Are there points from lo to hi, as far as these are not too large? "
    "*/\n"
    "static inline bool stc_multiple(int64_t x, int64_t n) { return x != INT64_MIN && x % n == 0; }\n"
    "static inline bool stc_some(int64_t lo, int64_t hi) { return lo <= hi || hi == INT64_MIN; }\n"
    "/* Do bounds lie within 2^60? Then *bytes is multiplied by the points between them. */\n"
    "static inline bool stc_within(int64_t lo, int64_t hi, int64_t *bytes) {\n"
    "  const int64_t most = INT64_C(1) << 60;\n"
    "  if (lo < -most || hi < -most || lo > most || hi > most) return false;\n"
    "  *bytes = hi < lo ? 0 : stc_area(*bytes, hi - lo + 1);\n"
    "  return true;\n"
    "}\n"
    "#endif\n";

/* The C function or operator for an op with two operands, on integers or on floats; NULL if there is none. Operators
 * begin with a blank. */
static const char *binary_name(Opcode code, bool integer) {
  switch (code) {
  case OP_ADD: return integer ? "stc_add" : " +";
  case OP_SUB: return integer ? "stc_sub" : " -";
  case OP_MUL: return integer ? "stc_mul" : " *";
  case OP_DIV: return integer ? "stc_div" : " /";
  case OP_REM: return integer ? "stc_rem" : "fmod";
  case OP_MIN: return integer ? "stc_imin" : "stc_min";
  case OP_MAX: return integer ? "stc_imax" : "stc_max";
  case OP_EQ: return " ==";
  case OP_NE: return " !=";
  case OP_LT: return " <";
  case OP_LE: return " <=";
  case OP_GT: return " >";
  case OP_GE: return " >=";
  case OP_AND: return " &&";
  case OP_OR: return " ||";
  case OP_BIT_AND: return " &";
  case OP_BIT_OR: return " |";
  case OP_BIT_XOR: return " ^";
  default: return NULL;
  }
}

/* The C text of a conversion of `x` from `from` to `to`. */
static char *convert_text(Arena *a, Type from, Type to, const char *x) {
  if (to == TY_BOOL)
    return arena_printf(a, "%s != 0", x);
  if (!type_is_float(from) || type_is_float(to))
    return arena_printf(a, "(%s)%s", c_type(to), x);
  if (type_is_unsigned(to))
    return arena_printf(a, "(%s)stc_int(%s, 0, %lld)", c_type(to), x, (long long)type_most(to));
  const char *name = to == TY_I64 ? "INT64" : to == TY_I32 ? "INT32" : to == TY_I16 ? "INT16" : "INT8";
  return arena_printf(a, "(%s)stc_int(%s, %s_MIN, %s_MAX)", c_type(to), x, name, name);
}

/* The C text of a call of a function of floats that has the same name in the language and in C; NULL if `code` is not
 * such a function. */
static char *function_text(Arena *a, Opcode code, const char *x, const char *y) {
  const OpInfo *info = &op_info[code];
  if (!(info->flags & OPF_FUNCTION) || info->operands != OPERANDS_FLOATS)
    return NULL;
  return arena_printf(a, info->noperands == 2 ? "%s(%s, %s)" : "%s(%s)", info->name, x, y);
}

/* The C text of `op` on operands named x, y, z. */
static char *op_text(Arena *a, const Op *op, const char *x, const char *y, const char *z) {
  Type t = op->results[0]->type, from = op->noperands ? op->operands[0]->type : t;
  bool integer = !type_is_float(from);
  const char *binary = binary_name(op->code, integer), *function = function_text(a, op->code, x, y);
  if (op->code == OP_CONVERT)
    return convert_text(a, from, t, x);
  if (op->code == OP_SELECT)
    return arena_printf(a, "%s ? %s : %s", x, y, z);
  if (op->code == OP_NOT)
    return arena_printf(a, "!%s", x);
  if (op->code == OP_BIT_NOT)
    return arena_printf(a, "~%s", x);
  if (op->code == OP_SHL || op->code == OP_SHR)
    return arena_printf(a, "%s(%s, %s, %d)", op->code == OP_SHL ? "stc_shl" : "stc_shr", x, y, type_size(t) * 8);
  if (op->code == OP_NEG)
    return arena_printf(a, integer ? "stc_sub(0, %s)" : "-%s", x);
  if (op->code == OP_ABS)
    return arena_printf(a, integer ? "stc_iabs(%s)" : "fabs(%s)", x);
  if (op->code == OP_FMA)
    return arena_printf(a, t == TY_F32 ? "fmaf(%s, %s, %s)" : "fma(%s, %s, %s)", x, y, z);
  if (op->code == OP_RSQRT)
    return arena_printf(a, t == TY_F32 ? "1.0f / (float)sqrt(%s)" : "1.0 / sqrt(%s)", x);
  if (binary && binary[0] == ' ')
    return arena_printf(a, "%s%s %s", x, binary, y);
  if (binary)
    return arena_printf(a, "%s(%s, %s)", binary, x, y);
  return function ? arena_strdup(a, function) : arena_strdup(a, "0 /* not expressible */");
}

/* The name of the C variable that holds the value of `v`: it contains the number of the op in the block. */
static char *variable(Arena *a, const Block *b, const Value *v) {
  int i = 0;
  for (const Op *op = b->first; op && op != v->def; op = op->next)
    i++;
  return arena_printf(a, "t%d", i);
}

char *expression_c_text(Arena *a, const Module *m, const Block *b, const char *prefix, const char *result) {
  Str s = {a, NULL, 0, 0};
  str_add(&s, "");
  for (const Op *op = b->first; op; op = op->next) {
    const char *x[3] = {"", "", ""};
    for (int i = 0; i < op->noperands && i < 3; i++)
      x[i] = variable(a, b, op->operands[i]);
    if (op->code == OP_YIELD) {
      str_addf(&s, "  %s = %s;\n", result, x[0]);
      break;
    }
    Type t = op->results[0]->type;
    const char *text = op->code == OP_CONST    ? const_c_text(a, op->cval, t)
                       : op->code == OP_SCALAR ? arena_printf(a, "%s%s", prefix, c_name(a, m->scalars[op->sym].name))
                       : op->code == OP_INDEX  ? "i"
                                               : op_text(a, op, x[0], x[1], x[2]);
    str_addf(&s, "  const %s %s = (%s)(%s);\n", c_type(t), variable(a, b, op->results[0]), c_type(t), text);
  }
  return s.s;
}
