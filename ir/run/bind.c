/* bind.c: binds a module to its launch-time values: applies overrides, evaluates scalars, runs the checks, computes
 * extents. */
#include "ir/run/exec.h"
#include "ir/text/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of grids and fields must lie in [-MAX_COORD, MAX_COORD], so that a coordinate plus any offset stays far from
 * 64-bit overflow. */
static const int64_t MAX_COORD = INT64_C(1) << 60;

/* ---- overrides */

/* The names of the params of `m` as a list, "a, b, c", for messages; in m's arena. */
static const char *param_list(const Module *m) {
  Str s = {m->arena, NULL, 0, 0};
  str_add(&s, "");
  for (int i = 0; i < m->nscalars; i++)
    if (m->scalars[i].is_param)
      str_addf(&s, "%s%s", s.n ? ", " : "", m->scalars[i].name);
  return s.n ? s.s : "none";
}

/* Parses the integer `text`, decimal or 0x hexadecimal, into *out. Returns 0 if it lies in [lo, hi], 1 if it is
 * malformed, 2 if it is out of range. */
static int read_int(const char *text, int64_t lo, int64_t hi, int64_t *out) {
  const char *digits = text + (*text == '-' || *text == '+');
  if (*digits < '0' || *digits > '9')
    return 1;
  bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, hex ? 16 : 10);
  if (*end)
    return 1;
  if (errno == ERANGE || v < lo || v > hi)
    return 2;
  *out = v;
  return 0;
}

/* Parses the float `text`, rounded once to type `t`, into *out. Returns 0 on success, 1 if it is malformed, 2 if it is
 * infinite or too large for the type. */
static int read_float(const char *text, Type t, Const *out) {
  if (!*text || strchr(" \t\n\v\f\r", *text))
    return 1;
  return const_parse_float(text, t, out) ? 0 : isinf(out->f) ? 2 : 1;
}

/* Parses `text` as a value of type `t`: returns 0 on success, 1 if it is malformed, 2 if it is out of range. */
static int read_value(const char *text, Type t, Const *out) {
  if (t == TY_BOOL) {
    bool yes = !strcmp(text, "true") || !strcmp(text, "1"), no = !strcmp(text, "false") || !strcmp(text, "0");
    out->i = yes;
    return yes || no ? 0 : 1;
  }
  if (type_is_float(t))
    return read_float(text, t, out);
  return read_int(text, type_least(t), type_most(t), &out->i);
}

/* The form of a value of type `t`, for messages. */
static const char *value_form(Type t) {
  return t == TY_BOOL       ? "true or false"
         : type_is_float(t) ? "a number such as 0.25 or 1e-3"
                            : "an integer such as 4096";
}

/* The prefix of an override such as "N=4" in messages: that of the command line or none. */
static const char *mark(const Diags *d) { return diags_speaks_of_options(d) ? "-D" : ""; }

/* Parses the override `def` of scalar `s` into *out. */
static bool apply_define(const Scalar *s, const Define *def, Const *out, Diags *d) {
  int bad = read_value(def->value, s->type, out);
  if (bad == 1)
    diag_error(d, no_loc(), "%s%s=%s: '%s' is not %s, which param %s : %s needs", mark(d), def->name, def->value,
               def->value, value_form(s->type), s->name, type_name(s->type));
  if (bad == 2)
    diag_error(d, no_loc(), "%s%s=%s: the value is out of range for param %s : %s", mark(d), def->name, def->value,
               s->name, type_name(s->type));
  return !bad;
}

/* Checks that every override names a param. */
static bool check_defines(const Module *m, int n, const Define *defs, Diags *d) {
  bool ok = true;
  for (int i = 0; i < n; i++) {
    int s = module_find_scalar(m, defs[i].name);
    if (s >= 0 && m->scalars[s].is_param)
      continue;
    ok = false;
    if (s >= 0)
      diag_error(d, no_loc(), "%s%s=%s: '%s' is computed by the program and cannot be set; the params are: %s", mark(d),
                 defs[i].name, defs[i].value, defs[i].name, param_list(m));
    else
      diag_error(d, no_loc(), "%s%s=%s: the program has no param '%s'; the params are: %s", mark(d), defs[i].name,
                 defs[i].value, defs[i].name, param_list(m));
  }
  return ok;
}

/* ---- scalars */

/* The value that `b` yields (of: the value of `of`, which `b` computes, instead) under the scalars, where index 0 is
 * `index`. */
static Const value_at(Arena *a, const Block *b, const Value *of, const Const *scalars, int64_t index) {
  int n = 0;
  for (const Op *op = b->first; op; op = op->next)
    n += op->nresults;
  ArenaMark start = arena_mark(a);
  Const *value = ARENA_ARRAY(a, Const, n + 1), result = {0};
  n = 0;
  for (const Op *op = b->first; op; op = op->next) {
    Const in[3] = {{0}};
    for (int i = 0; i < op->noperands && i < 3; i++)
      in[i] = value[op->operands[i]->id];
    if (op->code == OP_YIELD) {
      result = in[0];
      break;
    }
    op->results[0]->id = n;
    result = value[n++] = op->code == OP_CONST    ? op->cval
                          : op->code == OP_SCALAR ? scalars[op->sym]
                          : op->code == OP_INDEX  ? (Const){.i = index}
                                                  : eval_op(op, in);
    if (op->results[0] == of)
      break;
  }
  arena_release(a, start);
  return result;
}

Const expression_value(Arena *a, const Block *b, const Const *scalars) { return value_at(a, b, NULL, scalars, 0); }

Const expression_part(Arena *a, const Block *b, const Value *of, const Const *scalars) {
  return value_at(a, b, of, scalars, 0);
}

void values_fill(Arena *a, const ParamArray *p, const Const *scalars, void *to) {
  int64_t n = param_array_extent(p, scalars);
  for (int64_t i = 0; i < n; i++)
    exec_put(p->type, to, i, value_at(a, p->value, NULL, scalars, i));
}

/* Evaluates scalar `i` of `m` into out[i]: the last override of its name, or else its expression. */
static bool bind_scalar(const Module *m, int i, int n, const Define *defs, Const *out, Diags *d) {
  const Scalar *s = &m->scalars[i];
  for (int k = n - 1; k >= 0 && s->is_param; k--)
    if (!strcmp(defs[k].name, s->name))
      return apply_define(s, &defs[k], &out[i], d);
  if (s->is_reduction) {
    out[i] = (Const){.i = 0};
    return true;
  }
  if (!s->expr) {
    diag_error(d, s->loc, "param '%s' has no value: give it one with %s%s=VALUE", s->name, mark(d), s->name);
    return false;
  }
  out[i] = expression_value(m->arena, s->expr, out);
  return true;
}

/* ---- checks and extents */

/* Does one of the first `n` terms of `x` contain the scalar? */
static bool names_scalar(Affine x, int n, int scalar) {
  for (int i = 0; i < n; i++)
    if (x.t[i].scalar == scalar)
      return true;
  return false;
}

/* " (with N = 3, M = 4)" for the scalars in x and y; "" if there are none. */
static const char *with_params(const Module *m, Affine x, Affine y, const Const *scalars) {
  Str s = {m->arena, NULL, 0, 0};
  for (int i = 0; i < x.n + y.n; i++) {
    int scalar = i < x.n ? x.t[i].scalar : y.t[i - x.n].scalar;
    if (i >= x.n && names_scalar(x, x.n, scalar))
      continue;
    str_addf(&s, "%s%s = %lld", s.n ? ", " : "", m->scalars[scalar].name, (long long)scalars[scalar].i);
  }
  return s.n ? arena_printf(m->arena, " (with %s)", s.s) : "";
}

/* The params that `c` depends on, in the form of with_params; if `found`, preceded by the point that is missing. */
static const char *with_missing(const Module *m, const Covered *c, bool found, const int64_t *missing,
                                const Const *scalars) {
  Affine all = affine_const(0);
  Str s = {m->arena, NULL, 0, 0};
  for (int i = -2; i < c->n; i++)
    for (int d = 0; d < c->need.rank; d++) {
      const Box *b = i == -2 ? &c->need : i == -1 ? &c->within : &c->by[i];
      for (int t = 0; t < b->lo[d].n + b->hi[d].n; t++) {
        int scalar = t < b->lo[d].n ? b->lo[d].t[t].scalar : b->hi[d].t[t - b->lo[d].n].scalar;
        all = names_scalar(all, all.n, scalar) ? all : affine_add(m->arena, all, affine_scalar(m->arena, scalar));
      }
    }
  str_add(&s, found ? ", not at [" : "");
  for (int d = 0; d < c->need.rank && found; d++)
    str_addf(&s, "%s%lld", d ? ", " : "", (long long)missing[d]);
  str_addf(&s, "%s%s", found ? "]" : "", with_params(m, all, affine_const(0), scalars));
  return s.s;
}

/* Has `b` (NULL: no) an empty dimension under the scalars? */
static bool is_empty(const Box *b, const Const *scalars) {
  for (int k = 0; b && k < b->rank; k++) {
    bool overflow = false;
    int64_t lo = affine_eval(b->lo[k], scalars, &overflow), hi = affine_eval(b->hi[k], scalars, &overflow);
    if (!overflow && hi < lo)
      return true;
  }
  return false;
}

/* Runs all checks of the module that concern at least one point; reports each that fails. */
static bool run_checks(const Module *m, const Const *scalars, Diags *d) {
  bool ok = true;
  for (int i = 0; i < m->nchecks; i++) {
    const Check *c = &m->checks[i];
    bool overflow = false;
    int64_t v = affine_eval(c->value, scalars, &overflow), missing[MAX_RANK] = {0};
    int covered = c->covered ? covered_holds(c->covered, scalars, missing) : 1;
    bool holds = v >= 0 && !overflow && covered > 0;
    for (int k = 0; k < MAX_UNLESS && !holds; k++)
      holds = is_empty(c->unless_empty[k], scalars);
    if (holds)
      continue;
    ok = false;
    diag_error(d, c->loc, "%s%s", c->message,
               c->covered ? with_missing(m, c->covered, covered == 0, missing, scalars)
                          : with_params(m, c->value, affine_const(0), scalars));
  }
  return ok;
}

/* Evaluates the bounds of dimension `k` of `b`, the region of the grid or field named `what`, and checks that they are
 * within MAX_COORD. */
static bool eval_bounds(const Module *m, const char *what, Loc loc, const Box *b, int k, const Const *scalars,
                        int64_t *lo, int64_t *hi, Diags *d) {
  bool overflow = false;
  *lo = affine_eval(b->lo[k], scalars, &overflow);
  *hi = affine_eval(b->hi[k], scalars, &overflow);
  if (!overflow && *lo >= -MAX_COORD && *hi >= -MAX_COORD && *lo <= MAX_COORD && *hi <= MAX_COORD)
    return true;
  diag_error(d, loc, "%s: the bounds of dimension %d lie beyond 2^60%s", what, shown_dimension(m, k),
             with_params(m, b->lo[k], b->hi[k], scalars));
  return false;
}

/* Checks that the grid has a point in every dimension. */
static bool check_grid(const Module *m, const Const *scalars, Diags *d) {
  for (int k = 0; k < m->grid.rank; k++) {
    int64_t lo, hi;
    if (!eval_bounds(m, "grid", no_loc(), &m->grid, k, scalars, &lo, &hi, d))
      return false;
    if (hi < lo && m->members && k == 0) {
      diag_error(d, no_loc(), "the program has %lld members%s; there is one at least", (long long)(hi - lo + 1),
                 with_params(m, m->grid.lo[k], m->grid.hi[k], scalars));
      return false;
    }
    if (hi < lo) {
      diag_error(
          d, no_loc(),
          "dimension %d of the grid is empty, [%lld .. %lld]%s: a grid needs at least one point in every dimension",
          shown_dimension(m, k), (long long)lo, (long long)hi, with_params(m, m->grid.lo[k], m->grid.hi[k], scalars));
      return false;
    }
  }
  return true;
}

/* Checks that the distance or duration named `what`, in `scalar` (number + 1, or 0), is a number above 0. */
static bool check_length(const Module *m, int32_t scalar, const char *what, const Const *scalars, Diags *d) {
  double x = scalar ? scalars[scalar - 1].f : 1;
  if (x > 0 && isfinite(x))
    return true;
  diag_error(d, m->scalars[scalar - 1].loc, "%s is %g; it must be above 0, and finite", what, x);
  return false;
}

/* Checks that the distances of points and the time step are numbers above 0. */
static bool check_metric(const Module *m, const Const *scalars, Diags *d) {
  bool ok = check_length(m, m->metric.step, "the time step of the grid", scalars, d);
  for (int k = 0; k < m->grid.rank; k++) {
    char what[64];
    snprintf(what, sizeof what, "the spacing of the grid in dimension %d", shown_dimension(m, k));
    ok = check_length(m, m->metric.spacing[k], what, scalars, d) && ok;
  }
  return ok;
}

/* Checks that the bytes of the field's array can be counted in 62 bits. */
static bool check_field(const Module *m, const Field *f, const Const *scalars, Diags *d) {
  int64_t bytes = type_bytes(m, f->type);
  ArenaMark start = arena_mark(m->arena);
  const char *what = arena_printf(m->arena, "field '%s'", f->name);
  for (int k = 0; k < f->box.rank; k++) {
    int64_t lo, hi;
    if (!eval_bounds(m, what, f->loc, &f->box, k, scalars, &lo, &hi, d))
      return false;
    int64_t n = hi < lo ? 0 : hi - lo + 1;
    if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > INT64_MAX / 2) {
      diag_error(d, f->loc, "field '%s' has too many points for 64-bit addresses%s", f->name,
                 with_params(m, f->box.lo[k], f->box.hi[k], scalars));
      return false;
    }
  }
  arena_release(m->arena, start);
  return true;
}

/* ---- kernels */

/* The first of the multiples of `k` that does not hold; NULL if all hold. */
static const Multiple *failed_multiple(const Kernel *k, const Const *scalars) {
  for (int i = 0; i < k->nmultiples; i++) {
    bool overflow = false;
    if (affine_eval(k->multiples[i].value, scalars, &overflow) % k->multiples[i].of || overflow)
      return &k->multiples[i];
  }
  return NULL;
}

bool kernel_loads_class(const Kernel *k, const Op *op) {
  return k->list && op->code == OP_LOAD && op->sym == k->list - 1 && op->off[k->rank - 1] == 0;
}

int kernel_chosen(const Module *m, int kernel, const Const *scalars) {
  const Kernel *k = &m->kernels[kernel];
  return failed_multiple(k, scalars) ? k->instead - 1 : kernel;
}

/* The number of blocks of `tile` points that cover `extent` points, where the first and last blocks cover `over`
 * further points; INT64_MAX if it exceeds 64 bits. */
static int64_t blocks_of(Affine extent, int32_t over, int32_t tile, const Const *scalars) {
  bool overflow = false;
  int64_t points = affine_eval(extent, scalars, &overflow);
  points = points > over ? points - over : points > 0;
  return overflow ? INT64_MAX : points <= 0 ? 0 : (points - 1) / tile + 1;
}

/* x * y for numbers of blocks, INT64_MAX if that exceeds 64 bits. */
static int64_t times(int64_t x, int64_t y) { return __builtin_mul_overflow(x, y, &x) ? INT64_MAX : x; }

int64_t kernel_blocks(const Kernel *k, const Const *scalars, int64_t blocks[MAX_RANK]) {
  int64_t all = 1, hole = 1;
  for (int d = 0; d < k->rank; d++) {
    blocks[d] = blocks_of(k->extent[d], k->over[d], k->tile[d], scalars);
    all = times(all, blocks[d]);
    if (k->leaves_out)
      hole = times(hole, blocks_of(k->without[d], 0, k->tile[d], scalars));
  }
  if (!k->leaves_out)
    return all;
  for (int d = 0; d < k->rank - 1; d++)
    blocks[d] = 1;
  return blocks[k->rank - 1] = all == INT64_MAX ? all : all - hole;
}

/* Checks that every kernel may be launched, or has a kernel that is launched in its place. */
static bool check_kernels(const Module *m, const Const *scalars, Diags *d) {
  bool ok = true;
  for (int i = 0; i < m->nkernels; i++) {
    const Kernel *k = &m->kernels[i];
    if (kernel_chosen(m, i, scalars) >= 0)
      continue;
    const Multiple *bad = failed_multiple(k, scalars);
    Str value = {m->arena, NULL, 0, 0};
    affine_print(&value, m, bad->value);
    diag_error(d, k->loc,
               "kernel '%s' needs %s to be a multiple of %lld%s, and there is no kernel to launch instead; choose "
               "other params",
               k->name, value.s, (long long)bad->of, with_params(m, bad->value, affine_const(0), scalars));
    ok = false;
  }
  return ok;
}

/* Splits "1.5-2i", "2i" or "3" into the texts of both parts. False if it has none of these forms. */
static bool split_complex(Arena *a, const char *text, const char **parts) {
  size_t n = strlen(text), at;
  bool imaginary = n > 1 && text[n - 1] == 'i';
  for (at = n; imaginary && at > 0; at--) {
    bool sign = text[at - 1] == '+' || text[at - 1] == '-', exponent = at > 1 && strchr("eEpP", text[at - 2]);
    if (sign && !exponent)
      break;
  }
  if (imaginary && at > 0)
    at--;
  parts[0] = at ? arena_strndup(a, text, at) : "0";
  parts[1] = imaginary ? arena_strndup(a, text + at, n - 1 - at) : "0";
  return parts[1][strspn(parts[1], "+-")] != 0;
}

/* The param that is part `i` of the complex param `name`; NULL: there is none. */
static const Scalar *find_part(const Module *m, const char *name, int i) {
  int s = module_find_scalar(m, arena_printf(m->arena, i ? "%s_im" : "%s_re", name));
  return s >= 0 && m->scalars[s].is_param && type_is_float(m->scalars[s].type) ? &m->scalars[s] : NULL;
}

const Define *defines_apart(const Module *m, int *n, const Define *defs, Diags *d) {
  int given = *n;
  Define *all = ARENA_ARRAY(m->arena, Define, 2 * given + 1);
  Const k;
  *n = 0;
  for (int i = 0; i < given; i++) {
    const Scalar *of[2] = {find_part(m, defs[i].name, 0), find_part(m, defs[i].name, 1)};
    const char *parts[2];
    if (module_find_scalar(m, defs[i].name) >= 0 || !of[0] || !of[1]) {
      all[(*n)++] = defs[i];
      continue;
    }
    bool ok = split_complex(m->arena, defs[i].value, parts);
    for (int p = 0; p < 2 && ok; p++) {
      ok = read_value(parts[p], of[p]->type, &k) == 0;
      all[(*n)++] = (Define){of[p]->name, parts[p]};
    }
    if (!ok)
      return diag_error(d, no_loc(), "%s%s=%s: '%s' is not a complex number such as 1.5-2i, which %s needs", mark(d),
                        defs[i].name, defs[i].value, defs[i].value, defs[i].name),
             NULL;
  }
  return all;
}

/* Binds all scalars and runs all checks that depend on them. */
static bool bind_all(const Module *m, int n, const Define *given, Const *out, Diags *d) {
  const Define *defs = defines_apart(m, &n, given, d);
  if (!defs || !check_defines(m, n, defs, d))
    return false;
  bool ok = true;
  for (int i = 0; i < m->nscalars; i++)
    ok = bind_scalar(m, i, n, defs, out, d) && ok;
  ok = ok && check_grid(m, out, d) && check_metric(m, out, d);
  for (int i = 0; ok && i < m->nfields; i++)
    ok = check_field(m, &m->fields[i], out, d);
  return ok && run_checks(m, out, d) && check_kernels(m, out, d);
}

/* Frees what it allocates in m's arena, because any number of a program's plans are bound there; only messages of a
 * failure may remain. */
bool module_bind(const Module *m, int n, const Define *given, Const *out, Diags *d) {
  ArenaMark start = arena_mark(m->arena);
  bool ok = bind_all(m, n, given, out, d);
  if (ok)
    arena_release(m->arena, start);
  return ok;
}

int64_t module_steps(const Module *m, const Const *scalars) {
  return m->steps_by ? scalars[m->steps_by - 1].i : m->steps;
}
