/* ir/text/print.c: prints modules. The text parses (parse.c) to a module that prints the same; docs/ir.md describes the
 * form. Printing and parsing use only modules; ir/run/ may use them, because its messages print bounds.
 *
 * The printer also accepts modules that the verifier would reject, so that the result of a broken pass can be
 * inspected: it prints `?` for anything that does not exist. */
#include "ir/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words */

bool name_is_plain(const char *s) {
  bool start = true;
  for (; *s; s++) {
    bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_', digit = *s >= '0' && *s <= '9';
    if (*s == '.' ? start || !s[1] || s[1] == '.' : !letter && (start || !digit))
      return false;
    start = false;
  }
  return !start;
}

/* The string `s` in quotes. */
static void print_string(Str *b, const char *s) {
  str_add(b, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      str_addf(b, "\\%c", c);
    else if (c < 32 || c == 127)
      str_addf(b, "\\x%02x", c);
    else
      str_addf(b, "%c", c);
  }
  str_add(b, "\"");
}

void symbol_print(Str *b, const char *name) {
  str_add(b, "@");
  if (!name)
    str_add(b, "?");
  else if (name_is_plain(name))
    str_add(b, name);
  else
    print_string(b, name);
}

/* A parenthesised list of fields. */
static void print_fields(Str *b, const Module *m, int n, const int32_t *fields) {
  str_add(b, "(");
  for (int i = 0; i < n; i++) {
    str_add(b, i ? ", " : "");
    symbol_print(b, field_name(m, fields[i]));
  }
  str_add(b, ")");
}

void offsets_print(Str *b, int n, const int64_t *off) {
  str_add(b, "[");
  for (int d = 0; d < n; d++) {
    str_add(b, d ? ", " : "");
    str_addi(b, off[d]);
  }
  str_add(b, "]");
}

/* The `n` int32_t in brackets. */
static void print_sizes(Str *b, int n, const int32_t *size) {
  str_add(b, "[");
  for (int d = 0; d < n; d++)
    str_addf(b, "%s%d", d ? ", " : "", (int)size[d]);
  str_add(b, "]");
}

void indent_print(Str *s, int indent) {
  for (int i = 0; i < indent; i++)
    str_add(s, "  ");
}

/* ---- constants */

/* Writes `x` with `digits` significant digits and a decimal point, whatever the locale is. */
static void format_float(char *out, size_t size, double x, int digits) {
  snprintf(out, size, "%.*g", digits, x);
  for (char *s = out; *s; s++)
    if (!strchr("0123456789e+-", *s))
      *s = '.';
}

/* A finite float of type `t` with the fewest digits that parse back to it. */
static void print_finite(Str *b, double x, Type t) {
  char text[64];
  int most = t == TY_F64 ? 17 : 9;
  for (int digits = 1; digits <= most; digits++) {
    Const back;
    format_float(text, sizeof text, x, digits);
    if (const_parse_float(text, t, &back) && back.f == x)
      break;
  }
  str_add(b, text);
  if (!strpbrk(text, ".e"))
    str_add(b, ".0");
}

/* A NaN: by name if it is the plain one, else by the bits of its f64 form. */
static void print_nan(Str *b, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffffffffff) == NAN_BITS)
    str_add(b, bits >> 63 ? "-nan" : "nan");
  else
    str_addf(b, "0x%016llx", (unsigned long long)bits);
}

void const_print(Str *s, Const c, Type t) {
  if (t == TY_BOOL)
    str_add(s, c.i ? "true" : "false");
  else if (!type_is_float(t))
    str_addi(s, c.i);
  else if (isnan(c.f))
    print_nan(s, c.f);
  else if (isinf(c.f))
    str_add(s, c.f < 0 ? "-inf" : "inf");
  else
    print_finite(s, c.f, t);
}

/* ---- affine bounds */

/* |k| of any int64_t. */
static unsigned long long magnitude(int64_t k) { return k < 0 ? 0 - (unsigned long long)k : (unsigned long long)k; }

void affine_print(Str *s, const Module *m, Affine x) {
  for (int i = 0; i < x.n; i++) {
    int64_t k = x.t[i].coef;
    const char *name = scalar_name(m, x.t[i].scalar);
    str_add(s, i ? (k < 0 ? " - " : " + ") : k < 0 ? "-" : "");
    if (magnitude(k) != 1)
      str_addf(s, "%llu * ", magnitude(k));
    if (name && name_is_plain(name))
      str_add(s, name);
    else
      symbol_print(s, name);
  }
  if (!x.n)
    str_addf(s, "%lld", (long long)x.c);
  else if (x.c)
    str_addf(s, " %c %llu", x.c < 0 ? '-' : '+', magnitude(x.c));
}

void text_put(Str *s, const Module *m, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  for (const char *at; (at = strchr(fmt, '%')); fmt = at + 2) {
    str_addn(s, fmt, (size_t)(at - fmt));
    switch (at[1]) {
    case '@': symbol_print(s, va_arg(ap, const char *)); break;
    case 'a': affine_print(s, m, va_arg(ap, Affine)); break;
    case 'b': box_print(s, m, va_arg(ap, const Box *)); break;
    case 't': type_print(s, m, (Type)va_arg(ap, int)); break;
    case 's': str_add(s, va_arg(ap, const char *)); break;
    case 'd': str_addi(s, va_arg(ap, int)); break;
    case 'l': str_addi(s, va_arg(ap, long long)); break;
    }
  }
  str_add(s, fmt);
  va_end(ap);
}

/* "0 .. N - 1", the bounds of dimension `d`. */
static void range_print(Str *s, const Module *m, const Box *b, int d) {
  text_put(s, m, "%a .. %a", b->lo[d], b->hi[d]);
}

void box_print(Str *s, const Module *m, const Box *b) {
  str_add(s, "[");
  for (int d = 0; d < b->rank; d++) {
    str_add(s, d ? ", " : "");
    range_print(s, m, b, d);
  }
  str_add(s, "]");
}

/* ---- declarations */

static void print_scalar(Str *s, const Module *m, const Scalar *x) {
  text_put(s, m, "%s%@ : %s",
           x->is_param       ? "  param "
           : x->is_reduction ? "  reduction "
                             : "  let ",
           x->name, type_name(x->type));
  if (x->expr) {
    str_add(s, " = {\n");
    block_print(s, m, NULL, x->expr, 2);
    str_add(s, "  }");
  }
  str_add(s, "\n");
}

/* A struct; vector types are printed where they are used. */
static void print_composite(Str *s, const Module *m, const Composite *c) {
  if (!c->name)
    return;
  str_addf(s, "  struct %s {", c->name);
  for (int i = 0; i < c->n; i++)
    text_put(s, m, "%s%s : %t", i ? ", " : " ", c->members[i].name, c->members[i].type);
  str_add(s, " }\n");
}

static void print_param_array(Str *s, const Module *m, const ParamArray *p) {
  text_put(s, m, "  param_array %@[%a] : %s%s", p->name, p->extent, type_name(p->type),
           p->role == ARRAY_NEXT     ? " next"
           : p->role == ARRAY_SERIES ? " series"
           : p->each                 ? " state each"
           : p->role == ARRAY_STATE  ? " state"
                                     : "");
  if (array_has_rows(p))
    text_put(s, m, " of [%a, %a]", p->rows, p->columns);
  if (p->role == ARRAY_STATE && p->first >= 0)
    text_put(s, m, " first %@", scalar_name(m, p->first));
  if (p->role == ARRAY_WEIGHTS) {
    str_addf(s, " weights %d of %d side %d ", (int)p->derivative, (int)p->points, (int)p->side);
    if (p->half)
      str_addf(s, "half %d ", (int)p->half);
    if (p->beyond)
      str_addf(s, "beyond %d ", (int)p->beyond);
    text_put(s, m, "from %@", param_array_name(m, p->from));
  }
  if (p->role == ARRAY_VALUES) {
    str_add(s, " values {\n");
    block_print(s, m, NULL, p->value, 2);
    str_add(s, "  }");
  }
  str_add(s, "\n");
}

static void print_record(Str *s, const Module *m, const Record *r) {
  text_put(s, m, "  record %@ : %t from %@\n", r->name, r->type, field_name(m, r->first));
}

/* One side of a field whose values beyond edges are of type `t`. */
static void print_side(Str *s, const Module *m, const Side *x, Type t) {
  str_add(s, outside_name(x->rule));
  if (x->rule == OUTSIDE_CONST) {
    str_add(s, " ");
    const_print(s, x->value, t);
  }
  str_add(s, x->odd ? x->is_about ? " odd about " : " odd" : "");
  if (x->about)
    symbol_print(s, scalar_name(m, x->about - 1));
  else if (x->is_about)
    const_print(s, x->value, t);
}

/* The rules of the two sides of a dimension; a single one if they are equal. */
static void print_dimension(Str *s, const Module *m, const Side *low, Type t) {
  print_side(s, m, low, t);
  if (side_same(low, low + 1, t))
    return;
  str_add(s, " .. ");
  print_side(s, m, low + 1, t);
}

void outside_print(Str *s, const Module *m, const Field *f) {
  Type t = type_is_scalar(f->type) ? f->type : TY_F64;
  Side sides[2 * MAX_RANK] = {0};
  int rank = m->grid.rank;
  bool uniform = !field_lacks_any(f);
  for (int i = 0; i < 2 * rank; i++) {
    sides[i] = f->sides ? f->sides[i]
                        : (Side){.rule = outside_end(f->outside[i / 2], i % 2),
                                 .value = f->outside[i / 2] == OUTSIDE_CONST ? f->outside_value : (Const){0}};
    uniform = uniform && side_same(&sides[0], &sides[i], t);
  }
  str_add(s, uniform ? "" : "[");
  for (int d = 0; d < (uniform ? 1 : rank); d++) {
    str_add(s, d ? ", " : "");
    print_dimension(s, m, &sides[2 * d], t);
  }
  str_add(s, uniform ? "" : "]");
}

void field_box_print(Str *s, const Module *m, const Field *f, const Box *box) {
  str_add(s, "[");
  for (int d = 0; d < box->rank; d++) {
    str_add(s, d ? ", " : "");
    if (field_lacks(f, d))
      str_add(s, "*");
    else
      range_print(s, m, box, d);
  }
  str_add(s, "]");
}

static void print_field(Str *s, const Module *m, const Field *f) {
  static const char *const exchanges[] = {" local", " exchange once", " exchange"};
  text_put(s, m, "  field %@ : %t on ", f->name, f->type);
  field_box_print(s, m, f, &f->box);
  if (outside_any(f)) {
    str_add(s, " outside ");
    outside_print(s, m, f);
  }
  text_put(s, m, "%s%s%s", f->apart ? " apart" : "", f->input ? " input" : "", f->temp ? " temp" : "");
  if (f->frames)
    str_addf(s, " frames %lld%s%s", (long long)f->frames, f->ahead ? " ahead" : "", f->cycle ? " cycle" : "");
  str_add(s, f->derived ? " derived" : "");
  if (f->series)
    str_addf(s, " series %d level %d", (int)f->series - 1, (int)f->level);
  if (f->history)
    str_addf(s, " history %d", (int)f->history);
  if (f->past)
    text_put(s, m, " past %d of %@", (int)f->past, field_name(m, f->present));
  if (f->whole) {
    static const char *const shares[] = {"", " all", " gathered"};
    text_put(s, m, "%s%s%s", exchanges[f->exchange], shares[f->share], f->ring ? " ring of " : " of ");
    field_box_print(s, m, f, f->whole);
  }
  if (f->pitch) {
    text_put(s, m, " pitch %@", scalar_name(m, f->pitch - 1));
    if (f->rest)
      str_addf(s, " rest %d", (int)f->rest - 1);
  }
  str_add(s, "\n");
}

/* The rules that map points into a box. */
static void print_rules(Str *s, int rank, const OutsideRule *rule) {
  bool uniform = outside_end(rule[0], 0) == outside_end(rule[0], 1);
  for (int d = 1; d < rank; d++)
    uniform = uniform && rule[d] == rule[0];
  str_add(s, uniform ? "" : "[");
  for (int d = 0; d < (uniform ? 1 : rank); d++)
    str_addf(s, "%s%s", d ? ", " : "", outside_name(rule[d]));
  str_add(s, uniform ? "" : "]");
}

void covered_print(Str *s, const Module *m, const Covered *c) {
  text_put(s, m, "covered %b", &c->need);
  if (c->rule[0] != OUTSIDE_NONE) {
    str_add(s, " outside ");
    print_rules(s, c->need.rank, c->rule);
    text_put(s, m, " in %b", &c->within);
  }
  str_add(s, " by");
  for (int i = 0; i < c->n; i++)
    text_put(s, m, " %b", &c->by[i]);
}

static void print_check(Str *s, const Module *m, const Check *c) {
  str_add(s, "  check ");
  if (c->covered) {
    covered_print(s, m, c->covered);
  } else {
    text_put(s, m, "%a >= 0", c->value);
  }
  str_add(s, " ");
  for (int i = 0; i < MAX_UNLESS; i++)
    if (c->unless_empty[i])
      text_put(s, m, "unless empty %b ", c->unless_empty[i]);
  print_string(s, c->message);
  str_add(s, "\n");
}

static void print_extent(Str *s, int rank, const Extent *e) {
  str_add(s, " [");
  for (int d = 0; d < rank; d++)
    str_addf(s, "%s%lld .. %lld", d ? ", " : "", (long long)(0 - (unsigned long long)e->lo[d]), (long long)e->hi[d]);
  str_add(s, "]");
}

static void print_stencil(Str *s, const Module *m, const Stencil *st, const char *keyword) {
  text_put(s, m, "  %s %@ ", keyword, st->name);
  print_fields(s, m, st->ntargets, st->targets);
  if (st->every)
    str_addf(s, " every %lld", (long long)st->every);
  if (st->sweep)
    str_addf(s, " along %d %s", (int)st->along, st->sweep > 0 ? "up" : "down");
  if (st->level)
    str_addf(s, " level %d", (int)st->level);
  if (st->group)
    str_addf(s, " group %d", (int)st->group);
  if (st->stage)
    str_addf(s, " stage %d", (int)st->stage);
  if (st->has_extent) {
    str_add(s, " extent");
    print_extent(s, m->grid.rank, &st->extent);
  }
  str_add(s, " {\n");
  for (int i = 0; i < st->npieces; i++) {
    const Piece *p = &st->pieces[i];
    text_put(s, m, "    piece %b ", &p->box);
    print_fields(s, m, p->ntargets, p->targets);
    str_add(s, " {\n");
    block_print(s, m, NULL, p->body, 3);
    str_add(s, "    }\n");
  }
  str_add(s, "  }\n");
}

/* ---- kernels and the host part */

static void print_args(Str *s, const Module *m, const Kernel *k) {
  str_add(s, "    args (");
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    str_add(s, i ? ", " : "");
    if (a->kind == KARG_STEP) {
      str_add(s, "step");
    } else if (a->kind == KARG_SCALAR) {
      text_put(s, m, "scalar %@", scalar_name(m, a->index));
    } else if (a->kind == KARG_MIRROR) {
      text_put(s, m, "mirror %s %@", mirror_names[a->mirror], buffer_name(m, a->index));
    } else {
      text_put(s, m, "%s%@",
               a->reads && a->writes ? "reads writes "
               : a->reads            ? "reads "
               : a->writes           ? "writes "
                                     : "buffer ",
               buffer_name(m, a->index));
    }
  }
  str_add(s, ")\n");
}

static void print_array(Str *s, const Kernel *k, const Array *a) {
  text_put(s, NULL, "    %s %@ : %s", a->space == SPACE_SHARED ? "shared" : "private", a->name, type_name(a->type));
  print_sizes(s, a->rank, a->shape);
  bool padded = false;
  for (int d = 0; d < a->rank; d++)
    padded |= a->pad_lo[d] || a->pad_hi[d];
  for (int d = 0; d < a->rank && padded; d++)
    str_addf(s, "%s%d .. %d%s", d ? ", " : " pad [", (int)a->pad_lo[d], (int)a->pad_hi[d], d == a->rank - 1 ? "]" : "");
  if (a->storage >= 0)
    text_put(s, NULL, " in %@", array_name(k, a->storage));
  str_add(s, "\n");
}

/* " multiple N of 4 multiple M + 2 of 4 instead @k_any" */
static void print_multiples(Str *s, const Module *m, const Kernel *k) {
  for (int i = 0; i < k->nmultiples; i++)
    text_put(s, m, " multiple %a of %l", k->multiples[i].value, (long long)k->multiples[i].of);
  if (k->instead)
    text_put(s, m, " instead %@", kernel_name(m, k->instead - 1));
}

/* "[N, M - 2]" */
static void print_extents(Str *s, const Module *m, int rank, const Affine *extent) {
  for (int d = 0; d < rank; d++)
    text_put(s, m, "%s%a", d ? ", " : "[", extent[d]);
  str_add(s, "]");
}

/* " tests @W all 31 from [0, 0] reach [-1 .. 1, -1 .. 1] around [1, 0] dry more @rows most 7 from @from less
 * @less". */
static void print_tests(Str *s, const Module *m, const KernelTests *t, int rank) {
  str_add(s, " tests");
  for (int i = 0; i < t->n; i++)
    text_put(s, m, " %@ all %l", field_name(m, t->field[i]), (long long)t->all[i]);
  str_add(s, " from ");
  print_extents(s, m, rank, t->lo);
  if (t->placed) {
    str_add(s, " first ");
    print_extents(s, m, rank, t->first);
  }
  str_add(s, " reach");
  print_extent(s, rank, &t->reach);
  if (t->around[0] || t->around[1] || t->around[2] || t->around[3]) {
    str_add(s, " around ");
    print_sizes(s, rank, t->around);
  }
  str_add(s, t->dry ? " dry" : "");
  if (t->more >= 0)
    text_put(s, m, " more %@ most %d from %@ less %@", m->scalars[t->more].name, (int)t->most, m->scalars[t->from].name,
             m->scalars[t->less].name);
}

void kernel_print(Str *s, const Module *m, const Kernel *k) {
  text_put(s, m, "  kernel %@ threads ", k->name);
  print_sizes(s, k->rank, k->threads);
  if (kernel_lanes(k) != WARP_LANES)
    str_addf(s, " warp %d", (int)k->lanes);
  str_add(s, " covers ");
  print_extents(s, m, k->rank, k->extent);
  str_add(s, " by ");
  print_sizes(s, k->rank, k->tile);
  if (k->over[0] || k->over[1] || k->over[2] || k->over[3]) {
    str_add(s, " over ");
    print_sizes(s, k->rank, k->over);
  }
  if (k->leaves_out) {
    str_add(s, " without ");
    print_extents(s, m, k->rank, k->without);
  }
  if (k->list)
    text_put(s, m, " lists %@ of %@", m->buffers[k->list - 1].name, m->buffers[k->list_of].name);
  if (k->idles) {
    str_add(s, " idle from ");
    print_extents(s, m, k->rank, k->idle_lo);
    str_add(s, " to ");
    print_extents(s, m, k->rank, k->idle_hi);
  }
  if (k->tests)
    print_tests(s, m, k->tests, k->rank);
  if (k->cluster)
    str_addf(s, " cluster %d", (int)k->cluster);
  str_addf(s, " steps %d", (int)k->steps);
  if (k->per_core)
    str_addf(s, " core %d", (int)k->per_core);
  print_multiples(s, m, k);
  str_add(s, " {\n");
  print_args(s, m, k);
  for (int i = 0; i < k->narrays; i++)
    print_array(s, k, &k->arrays[i]);
  block_print(s, m, k, k->body, 2);
  str_add(s, "  }\n");
}

/* "  reduce @total = add f64 over [0 .. N - 1] every 100 {...}", with `each` before `every` if it has a value for each
 * coordinate of dimension 0, with the kind if it is no plain value, and with the stop condition. */
static void print_reduction(Str *s, const Module *m, const Reduction *r) {
  static const char *const kinds[] = {"", " until", " finite ", " bounds "};
  text_put(s, m, "  reduce %@ = %s %s over %b%s every %l%s", r->name, op_info[r->op].name, type_name(r->type), &r->over,
           r->each ? " each" : "", (long long)r->every, kinds[r->kind]);
  if (r->kind >= REDUCE_FINITE)
    symbol_print(s, field_name(m, r->field));
  if (r->body) {
    str_add(s, " {\n");
    block_print(s, m, NULL, r->body, 2);
    str_add(s, "  }\n");
  } else {
    text_put(s, m, " in %@", buffer_name(m, r->result));
    sequence_print(s, m, &r->seq, 1);
  }
  if (r->stop) {
    str_add(s, "  stop {\n");
    block_print(s, m, NULL, r->stop, 2);
    str_add(s, "  }\n");
  }
}

/* "  update @t stage 1 = max f64 over [0 .. N - 1] {...}". */
static void print_update(Str *s, const Module *m, const Update *u) {
  text_put(s, m, "  update %@ stage %d = %s %s over %b%s {\n", update_name(m, u), (int)u->stage, op_info[u->op].name,
           type_name(u->type), &u->over, u->each ? " each" : "");
  block_print(s, m, NULL, u->body, 2);
  str_add(s, "  }\n");
}

/* "  repeat @pressure up to N stage 1 .. 2 tile 4 reduce @left": a repeat and its reductions. */
static void print_repeat(Str *s, const Module *m, int i) {
  const Repeat *r = &m->repeats[i];
  text_put(s, m, "  repeat %@ up to %a stage %d .. %d", r->name, r->most, (int)r->first, (int)r->last);
  if (r->tile)
    str_addf(s, " tile %d", (int)r->tile);
  loop_reductions_print(s, m, i);
  str_add(s, "\n");
}

/* "  points @points.1 at [@rx, 8] in [0 .. N - 1, 8] by @points.1 next @points.1.next most 2": a list of points. */
static void print_list(Str *s, const Module *m, const PointList *l) {
  text_put(s, m, "  points %@ at [", l->name);
  for (int d = 0; d < m->grid.rank; d++) {
    str_add(s, d ? ", " : "");
    if (l->array[d] >= 0)
      symbol_print(s, param_array_name(m, l->array[d]));
    else if (l->array[d] == LIST_NUMBER)
      str_add(s, "number");
    else
      affine_print(s, m, l->at[d]);
  }
  text_put(s, m, "] in %b by %@", &l->box, field_name(m, l->field));
  if (l->next >= 0)
    text_put(s, m, " next %@", param_array_name(m, l->next));
  str_addf(s, l->most ? " most %d\n" : "\n", (int)l->most);
}

/* "  probe @p : f32 over [8, 0 .. N - 1] of @points.1 every 4 {...}", in kernel IR with "in @p" and the launches. */
static void print_probe(Str *s, const Module *m, const Probe *p) {
  text_put(s, m, "  probe %@ : %s over %b", p->name, type_name(p->type), &p->box);
  if (p->list >= 0)
    text_put(s, m, " of %@", m->lists[p->list].name);
  str_addf(s, " every %lld", (long long)p->every);
  if (p->result >= 0)
    text_put(s, m, " in %@", param_array_name(m, p->result));
  if (m->level == LEVEL_KIR) {
    sequence_print(s, m, &p->seq, 1);
    return;
  }
  str_add(s, " {\n");
  block_print(s, m, NULL, p->body, 2);
  str_add(s, "  }\n");
}

/* ---- modules */

static void print_part(Str *s, const Module *m, const GridPart *p) {
  text_put(s, m, "  part %b of %b reach", &p->own, &p->whole);
  print_extent(s, m->grid.rank, &p->reach);
  text_put(s, m, " steps %@ gives %b\n", scalar_name(m, p->steps), &p->gives);
}

/* The distances of points and the time step: "spacing @a, at @b step @c". */
static void print_metric(Str *s, const Module *m) {
  const Metric *x = &m->metric;
  if (!x->spacing[0] && !x->coordinates[0] && !x->step)
    return;
  str_add(s, "  metric");
  for (int d = 0; d < m->grid.rank && (x->spacing[0] || x->coordinates[0]); d++)
    text_put(s, m, "%s%s%@", d ? ", " : " spacing ", x->coordinates[d] ? "at " : "",
             x->coordinates[d] ? param_array_name(m, x->coordinates[d] - 1) : scalar_name(m, x->spacing[d] - 1));
  if (x->step)
    text_put(s, m, " step %@", scalar_name(m, x->step - 1));
  str_add(s, "\n");
}

/* The parts of a module that both levels have: flags, scalars, types, grid, arrays, fields, checks. */
static void print_declarations(Str *s, const Module *m) {
  text_put(s, m, "%s%s", m->contract ? "  contract\n" : "", m->fast_math ? "  fast_math\n" : "");
  for (int i = 0; i < m->nscalars; i++)
    print_scalar(s, m, &m->scalars[i]);
  text_put(s, m, "  grid %b", &m->grid);
  if (m->steps_by) {
    text_put(s, m, " steps %@", scalar_name(m, m->steps_by - 1));
  } else {
    str_addf(s, " steps %lld", (long long)m->steps);
  }
  str_add(s, m->members ? " members\n" : "\n");
  if (m->part)
    print_part(s, m, m->part);
  for (int i = 0; i < m->ncomposites; i++)
    print_composite(s, m, &m->composites[i]);
  for (int i = 0; i < m->nparam_arrays; i++)
    print_param_array(s, m, &m->param_arrays[i]);
  print_metric(s, m);
  for (int i = 0; i < m->nfields; i++)
    print_field(s, m, &m->fields[i]);
  for (int i = 0; i < m->nrecords; i++)
    print_record(s, m, &m->records[i]);
  for (int i = 0; i < m->nlists; i++)
    print_list(s, m, &m->lists[i]);
  for (int i = 0; i < m->nchecks; i++)
    print_check(s, m, &m->checks[i]);
}

/* The code of a stencil IR module. */
static void print_stencils(Str *s, const Module *m) {
  if (m->time_tile != 1)
    str_addf(s, "  time_tile %d\n", (int)m->time_tile);
  if (m->plan)
    plan_print(s, m->plan, m->grid.rank, "  ");
  for (int i = 0; i < m->ninits; i++)
    print_stencil(s, m, &m->inits[i], m->inits[i].once ? "once" : "init");
  for (int i = 0; i < m->nstencils; i++)
    print_stencil(s, m, &m->stencils[i], m->stencils[i].sweep ? "sweep" : "stencil");
  for (int i = 0; i < m->nupdates; i++)
    print_update(s, m, &m->updates[i]);
  for (int i = 0; i < m->nreductions; i++)
    print_reduction(s, m, &m->reductions[i]);
  for (int i = 0; i < m->nrepeats; i++)
    print_repeat(s, m, i);
  for (int i = 0; i < m->nprobes; i++)
    print_probe(s, m, &m->probes[i]);
  for (int i = 0; i < m->nlosses; i++)
    loss_print(s, m, &m->losses[i]);
  by_print(s, m);
}

static void print_buffer(Str *s, const Module *m, const Buffer *b) {
  text_put(s, m, "  buffer %@", b->name);
  if (b->kind == BUFFER_SCRATCH) {
    str_addf(s, " scratch %s[%lld]%s\n", type_name(b->type), (long long)b->cells, b->each ? " each" : "");
    return;
  }
  text_put(s, m, "%s%@", b->kind == BUFFER_PARAM ? " param " : " : ",
           b->kind == BUFFER_PARAM ? param_array_name(m, b->field) : field_name(m, b->field));
  if (b->kind == BUFFER_FIELD)
    str_addf(s, " copy %d", (int)b->copy);
  if (b->lead)
    str_addf(s, " lead %d", (int)b->lead);
  str_add(s, "\n");
}

/* The code of a kernel IR module. */
static void print_kernels(Str *s, const Module *m) {
  for (int i = 0; i < m->nbuffers; i++)
    print_buffer(s, m, &m->buffers[i]);
  for (int i = 0; i < m->nkernels; i++)
    kernel_print(s, m, &m->kernels[i]);
  for (int i = 0; i < m->nreductions; i++)
    print_reduction(s, m, &m->reductions[i]);
  for (int i = 0; i < m->nprobes; i++)
    print_probe(s, m, &m->probes[i]);
  host_print(s, m);
}

char *module_print(Module *m) {
  Str s = {.arena = m->arena};
  module_renumber(m);
  str_addf(&s, "%s module ", m->level == LEVEL_KIR ? "kernel" : "stencil");
  print_string(&s, m->name);
  str_add(&s, " {\n");
  print_declarations(&s, m);
  if (m->level == LEVEL_KIR)
    print_kernels(&s, m);
  else
    print_stencils(&s, m);
  str_add(&s, "}\n");
  return s.s;
}
