/* ir/text/parse-code.c: parses names, bounds and ops. */
#include "ir/text/text.h"

#include <string.h>

enum { MAX_DEPTH = 200 };

/* ---- names */

static unsigned hash_name(const char *s) {
  unsigned h = 5381;
  for (; *s; s++)
    h = h * 33 + (unsigned char)*s;
  return h % NAME_BUCKETS;
}

/* The value named `name`; NULL if none is in scope. */
static Value *find_value(const Parser *p, const char *name) {
  for (NamedValue *v = p->bucket[hash_name(name)]; v; v = v->shadow)
    if (!strcmp(v->name, name))
      return v->value;
  return NULL;
}

/* Lets `name` denote `value` until the scope ends. */
static void define_value(Parser *p, TextToken name, Value *value) {
  if (find_value(p, name.text)) {
    reader_error(&p->r, name.loc, "'%%%.60s' is already defined; give this value another name", name.text);
    return;
  }
  NamedValue *v = ARENA_NEW(p->arena, NamedValue);
  NamedValue **slot = &p->bucket[hash_name(name.text)];
  *v = (NamedValue){name.text, value, *slot, p->newest};
  *slot = p->newest = v;
}

/* Removes the values that were defined after `mark`. */
static void end_scope(Parser *p, NamedValue *mark) {
  while (p->newest != mark) {
    NamedValue *v = p->newest;
    p->bucket[hash_name(v->name)] = v->shadow;
    p->newest = v->before;
  }
}

/* Parses the name of a defined value; NULL after an error. */
static Value *parse_value(Parser *p) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_VALUE, "a value (%name)");
  Value *v = p->r.failed ? NULL : find_value(p, name);
  if (!v)
    reader_error(&p->r, at, "'%%%.60s' is not defined before this in this block or one around it", name);
  return v;
}

/* Parses a name that is being defined. */
static TextToken parse_new_value(Parser *p) {
  TextToken t = p->r.tok;
  reader_expect_kind(&p->r, TOK_VALUE, "a name for a value (%name)");
  return t;
}

/* Parses a symbol that `find` must find, in messages called a `what`; -1 after an error. */
int text_ref(Parser *p, int (*find)(const Module *, const char *), const char *what) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, arena_printf(p->arena, "a %s (@name)", what));
  int i = p->r.failed ? -1 : find(p->m, name);
  if (i < 0)
    reader_error(&p->r, at, "there is no %s '@%.60s' declared before this", what, name);
  return i;
}

/* Parses a symbol that is being declared and that `find` must not find yet, in messages called a `what`. */
const char *text_new_symbol(Parser *p, int (*find)(const Module *, const char *), const char *what) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, arena_printf(p->arena, "a name for the %s (@name)", what));
  if (!p->r.failed && find(p->m, name) >= 0)
    reader_error(&p->r, at, "there is already a %s '@%.60s'", what, name);
  return name;
}

/* The index of the array of that name in the kernel that is parsed; -1 if there is none. */
int text_find_array(const Parser *p, const char *name) {
  for (int i = 0; p->k && i < p->k->narrays; i++)
    if (!strcmp(p->k->arrays[i].name, name))
      return i;
  return -1;
}

/* Reads a reference to an array of the kernel. */
static int parse_array_ref(Parser *p) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, "an array (@name)");
  int i = p->r.failed ? -1 : text_find_array(p, name);
  if (i < 0)
    reader_error(&p->r, at, "this kernel has no array '@%.60s'", name);
  return i;
}

/* ---- bounds */

/* Reads "3 * N", "N", "3" or a quoted name. */
static Affine parse_term(Parser *p, bool negative) {
  int64_t k = 1;
  if (p->r.tok.kind == TOK_NUMBER) {
    if (negative && !strcmp(p->r.tok.text, "9223372036854775808")) {
      reader_next(&p->r);
      k = INT64_MIN;
      negative = false;
    } else {
      k = reader_int(&p->r, 0, INT64_MAX);
    }
    if (!reader_accept(&p->r, "*"))
      return affine_const(negative ? -k : k);
  }
  bool quoted = p->r.tok.kind == TOK_SYMBOL;
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, quoted ? TOK_SYMBOL : TOK_WORD, "an integer param or a number");
  int i = p->r.failed ? -1 : module_find_scalar(p->m, name);
  if (i < 0) {
    reader_error(&p->r, at, "there is no param '%.60s' declared before this", name);
    return affine_const(0);
  }
  return affine_scale(p->arena, affine_scalar(p->arena, i), negative ? -k : k);
}

/* Reads an affine bound, "2 * N - M + 1". */
Affine text_affine(Parser *p) {
  Affine x = parse_term(p, reader_accept(&p->r, "-"));
  for (;;) {
    bool minus = reader_at(&p->r, "-");
    if (!minus && !reader_at(&p->r, "+"))
      return x;
    reader_next(&p->r);
    x = affine_add(p->arena, x, parse_term(p, minus));
  }
}

/* Parses "[1 .. N - 2, 0 .. 7]"; a single bound means one point. */
/* Parses a box. If `lacks` is not NULL, a star may stand for a dimension d; lacks[d] is then set. */
static Box read_box(Parser *p, bool *lacks) {
  Box b = {0};
  Loc at = p->r.tok.loc;
  reader_expect(&p->r, "[");
  do {
    if (b.rank == MAX_RANK) {
      reader_error(&p->r, at, "a box has at most %d dimensions", MAX_RANK);
      return b;
    }
    if (lacks && reader_accept(&p->r, "*")) {
      lacks[b.rank] = true;
    } else {
      b.lo[b.rank] = text_affine(p);
      b.hi[b.rank] = reader_accept(&p->r, "..") ? text_affine(p) : b.lo[b.rank];
    }
    b.rank++;
  } while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "]");
  return b;
}

Box text_box(Parser *p) { return read_box(p, NULL); }

Box text_field_box(Parser *p, bool lacks[MAX_RANK]) {
  Loc at = p->r.tok.loc;
  Box b = read_box(p, lacks);
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  else if (b.rank != p->m->grid.rank)
    reader_error(&p->r, at, "this box has %d dimensions, the grid has %d", b.rank, p->m->grid.rank);
  return b;
}

/* Reads a box of the grid's rank. */
Box text_grid_box(Parser *p) { return text_field_box(p, NULL); }

/* Parses a bracketed list of at most MAX_RANK integers in [min, max]; returns their number. */
int text_ints(Parser *p, int64_t min, int64_t max, int64_t out[MAX_RANK]) {
  int n = 0;
  Loc at = p->r.tok.loc;
  reader_expect(&p->r, "[");
  do {
    if (n == MAX_RANK) {
      reader_error(&p->r, at, "there are at most %d dimensions", MAX_RANK);
      return n;
    }
    out[n++] = reader_int(&p->r, min, max);
  } while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "]");
  return n;
}

/* Reads a list of exactly `rank` integers. */
static void parse_rank_ints(Parser *p, int rank, int64_t min, int64_t max, int64_t out[MAX_RANK]) {
  Loc at = p->r.tok.loc;
  int n = text_ints(p, min, max, out);
  if (n != rank)
    reader_error(&p->r, at, "expected %d numbers, one for each dimension, found %d", rank, n);
}

/* Reads a list of exactly `rank` numbers of at least `least`. */
static void text_from(Parser *p, int rank, int64_t least, int32_t out[MAX_RANK]) {
  int64_t wide[MAX_RANK] = {0};
  parse_rank_ints(p, rank, least, MAX_SIZE, wide);
  for (int d = 0; d < MAX_RANK; d++)
    out[d] = (int32_t)wide[d];
}

void text_sizes(Parser *p, int rank, int32_t out[MAX_RANK]) { text_from(p, rank, 1, out); }

void text_counts(Parser *p, int rank, int32_t out[MAX_RANK]) { text_from(p, rank, 0, out); }

/* ---- ops */

/* A list of operands or names that grows. */
typedef struct Values {
  int n;
  Value **v;
} Values;
typedef struct Names {
  int n;
  TextToken *t;
} Names;

/* Reads a value into the list. */
static void push_value(Parser *p, Values *list) {
  Value *v = parse_value(p);
  if (v)
    ARENA_PUSH(p->arena, list->v, list->n, v);
}

void text_extent(Parser *p, Extent *x) {
  reader_expect(&p->r, "[");
  for (int d = 0; d < p->m->grid.rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    x->lo[d] = -reader_int(&p->r, -INT64_MAX, INT64_MAX);
    reader_expect(&p->r, "..");
    x->hi[d] = reader_int(&p->r, -INT64_MAX, INT64_MAX);
  }
  reader_expect(&p->r, "]");
}

/* Reads a possibly empty list of values. */
static Values parse_values(Parser *p) {
  Values list = {0, NULL};
  if (p->r.tok.kind == TOK_VALUE) {
    do
      push_value(p, &list);
    while (reader_accept(&p->r, ","));
  }
  return list;
}

/* Reads a version, "v2". */
static int32_t parse_version(Parser *p) {
  Loc at = p->r.tok.loc;
  const char *s = reader_expect_kind(&p->r, TOK_WORD, "a version (v0, v1, ...)");
  int64_t n = 0;
  size_t i = 1;
  for (; s[0] == 'v' && s[i] >= '0' && s[i] <= '9' && n <= MAX_SIZE; i++)
    n = n * 10 + s[i] - '0';
  if (s[0] != 'v' || i == 1 || s[i] || n > MAX_SIZE)
    reader_error(&p->r, at, "expected a version (v0, v1, ...), found '%.60s'", s);
  return (int32_t)n;
}

/* The struct type of that name, TY_NONE if there is none. */
static Type find_struct(const Module *m, const char *name) {
  for (int i = 0; i < m->ncomposites; i++)
    if (m->composites[i].name && !strcmp(m->composites[i].name, name))
      return (Type)(TY_COMPOSITE + i);
  return TY_NONE;
}

Type text_type(Parser *p) {
  Loc at = p->r.tok.loc;
  Type t = p->r.tok.kind == TOK_WORD ? find_struct(p->m, p->r.tok.text) : TY_NONE;
  if (t == TY_NONE)
    t = reader_type(&p->r);
  else
    reader_next(&p->r);
  while (!p->r.failed && reader_accept(&p->r, "[")) {
    int n = (int)reader_int(&p->r, 1, MAX_COMPONENTS);
    reader_expect(&p->r, "]");
    t = module_vector(p->m, t, n);
    if (type_components(p->m, t) > MAX_COMPONENTS)
      reader_error(&p->r, at, "the type has more than %d components", MAX_COMPONENTS);
  }
  return t;
}

/* Reads " : T, U" with exactly `n` types. */
static Type *parse_types(Parser *p, int n) {
  Type *types = ARENA_ARRAY(p->arena, Type, n);
  if (n)
    reader_expect(&p->r, ":");
  for (int i = 0; i < n; i++) {
    if (i)
      reader_expect(&p->r, ",");
    types[i] = text_type(p);
  }
  return types;
}

/* The part of an op's text before its type: the operands, and the other members of `op` that its form has. */
typedef struct Draft {
  Values operands;
  Op op;
} Draft;

/* Builds the op, with the type of its result if one follows in the text, and checks the type against the op table. `n`:
 * the number of results of an op of RESULT_MANY. NULL after an error. */
static Op *finish_op(Parser *p, Builder *b, Opcode code, int n, const Draft *d) {
  OpResult rule = op_info[code].result;
  const Values *v = &d->operands;
  bool typed = rule != RESULT_NONE && rule != RESULT_MULTI;
  if (typed)
    reader_expect(&p->r, ":");
  Loc at = p->r.tok.loc;
  Type t = typed ? text_type(p) : TY_NONE;
  if (p->r.failed)
    return NULL;
  Op *op = rule == RESULT_MANY ? build_op_of_many(b, code, t, n, v->n, v->v) : build_op(b, code, t, v->n, v->v);
  if (typed && rule != RESULT_MANY && op->results[0]->type != t)
    reader_error(&p->r, at, "the result of '%s' is %s here, not %s", op_info[code].name,
                 type_text(p->m, op->results[0]->type), type_text(p->m, t));
  op->sym = d->op.sym;
  op->ver = d->op.ver;
  op->from = d->op.from;
  op->signal = d->op.signal;
  op->box = d->op.box;
  op->flags = d->op.flags;
  op->count = rule == RESULT_MANY ? op->count : d->op.count;
  memcpy(op->off, d->op.off, sizeof op->off);
  memcpy(op->from_off, d->op.from_off, sizeof op->from_off);
  return op;
}

/* Operands only. */
static void parse_plain(Parser *p, Opcode code, Draft *d) {
  Loc at = p->r.tok.loc;
  int want = op_info[code].noperands;
  if (want)
    d->operands = parse_values(p);
  if (want >= 0 && d->operands.n != want)
    reader_error(&p->r, at, "'%s' takes %d operands, found %d", op_info[code].name, want, d->operands.n);
}

/* A literal; its type follows it, so the text is read twice. */
static Op *parse_const(Parser *p, Builder *b) {
  Reader literal = p->r;
  reader_accept(&p->r, "-");
  if (p->r.tok.kind == TOK_NUMBER || p->r.tok.kind == TOK_WORD)
    reader_next(&p->r);
  else
    reader_expect_kind(&p->r, TOK_NUMBER, "a literal");
  Op *op = finish_op(p, b, OP_CONST, 1, &(Draft){.op = {0}});
  if (!op)
    return NULL;
  op->cval = reader_const(&literal, op->results[0]->type);
  if (literal.failed)
    p->r = literal;
  return op;
}

static void parse_access(Parser *p, Draft *d) {
  d->op.sym = text_ref(p, module_find_field, "field");
  parse_rank_ints(p, p->m->grid.rank, INT64_MIN, INT64_MAX, d->op.off);
}

/* "%v, 2" */
static void parse_extract(Parser *p, Draft *d) {
  push_value(p, &d->operands);
  reader_expect(&p->r, ",");
  d->op.sym = (int32_t)reader_int(&p->r, 0, MAX_COMPONENTS - 1);
}

/* "@w[%i]" */
static void parse_element(Parser *p, Draft *d) {
  d->op.sym = text_ref(p, module_find_param_array, "param_array");
  reader_expect(&p->r, "[");
  push_value(p, &d->operands);
  reader_expect(&p->r, "]");
}

/* "%v xor 16", "%v by 1" */
static void parse_shuffle(Parser *p, Opcode code, Draft *d) {
  push_value(p, &d->operands);
  reader_expect_word(&p->r, code == OP_SHUFFLE ? "xor" : "by");
  d->op.off[0] = reader_int(&p->r, 1, MOST_LANES - 1);
}

/* "[%i, %j] + [-1, 0]": pushes the indices and sets the offsets. */
static void parse_place(Parser *p, Values *indices, int64_t off[MAX_RANK]) {
  int before = indices->n;
  reader_expect(&p->r, "[");
  do
    push_value(p, indices);
  while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "]");
  if (reader_accept(&p->r, "+"))
    parse_rank_ints(p, indices->n - before, INT64_MIN, INT64_MAX, off);
}

/* A buffer and a place in it. */
static void parse_from(Parser *p, Draft *d) {
  d->op.from = text_ref(p, module_find_buffer, "buffer");
  parse_place(p, &d->operands, d->op.from_off);
}

/* "on @full[%m]": the signal that the copy completes. */
static void parse_on(Parser *p, Draft *d) {
  int64_t none[MAX_RANK];
  reader_expect_word(&p->r, "on");
  d->op.signal = parse_array_ref(p);
  parse_place(p, &d->operands, none);
}

/* The values that a store has before its symbol, each followed by a comma. */
static void parse_stored(Parser *p, Draft *d) {
  do {
    push_value(p, &d->operands);
    reader_expect(&p->r, ",");
  } while (p->r.tok.kind == TOK_VALUE && !p->r.failed);
}

/* "%v, @A[%i, %j] + [-1, 0] v2": values to store if the op stores, symbol, indices, offsets, a version (required for an
 * array), and "around" for a load. */
static void parse_memory(Parser *p, Opcode code, Draft *d) {
  bool array = op_info[code].form == FORM_ARRAY;
  Loc at = p->r.tok.loc;
  if (op_info[code].flags & OPF_WRITE)
    parse_stored(p, d);
  int stored = d->operands.n;
  if (stored > 1 && (code == OP_STORE || code == OP_ASTORE))
    reader_error(&p->r, at, "'%s' stores one value, found %d", op_info[code].name, stored);
  d->op.sym = array ? parse_array_ref(p) : text_ref(p, module_find_buffer, "buffer");
  parse_place(p, &d->operands, d->op.off);
  bool numbered = array || (p->r.tok.kind == TOK_WORD && p->r.tok.text[0] == 'v' && p->r.tok.text[1] >= '0' &&
                            p->r.tok.text[1] <= '9');
  d->op.ver = numbered ? parse_version(p) : 0;
  d->op.flags = code == OP_LOAD && reader_accept_word(&p->r, "around") ? LOAD_AROUND : 0;
  d->op.count = code == OP_VSTORE || code == OP_AVSTORE ? stored : 0;
}

/* "@sA[%i, %j] + [0, 4] v2": a cell of a version of an array. */
static void parse_cell(Parser *p, Draft *d) {
  d->op.sym = parse_array_ref(p);
  parse_place(p, &d->operands, d->op.off);
  d->op.ver = parse_version(p);
}

/* "@sA[%i, %j] + [0, 4] v2 from @A[%k, %l] + [0, 4] n 4" */
static void parse_copy(Parser *p, Draft *d) {
  parse_cell(p, d);
  reader_expect_word(&p->r, "from");
  parse_from(p, d);
  reader_expect_word(&p->r, "n");
  d->op.count = (int32_t)reader_int(&p->r, 1, 16);
}

/* "%p, @full[%i] + [1]" */
static void parse_signal(Parser *p, Opcode code, Draft *d) {
  if (code != OP_SIGNAL_ARRIVE) {
    push_value(p, &d->operands);
    reader_expect(&p->r, ",");
  }
  d->op.sym = parse_array_ref(p);
  parse_place(p, &d->operands, d->op.off);
}

/* "@A[%k, %l] + [0, 4] n %n" */
static void parse_fetch(Parser *p, Draft *d) {
  parse_from(p, d);
  reader_expect_word(&p->r, "n");
  push_value(p, &d->operands);
}

/* "@sA[%i, %j] + [0, 4] v2 from @A[%k, %l] + [0, 4] n %n on @full[%m]"; of a store "to @A[%k, %l] + [0, 4] n %n" */
static void parse_bulk(Parser *p, Opcode code, Draft *d) {
  parse_cell(p, d);
  reader_expect_word(&p->r, code == OP_BULK_LOAD ? "from" : "to");
  parse_fetch(p, d);
  if (code == OP_BULK_LOAD)
    parse_on(p, d);
}

/* "%v, %w, @sA[%i, %j] + [0, 4] v2 to -1 on @seam[%m]" */
static void parse_send(Parser *p, Draft *d) {
  parse_stored(p, d);
  d->op.count = d->operands.n;
  parse_cell(p, d);
  reader_expect_word(&p->r, "to");
  d->op.from_off[0] = reader_int(&p->r, -1, 1);
  parse_on(p, d);
}

/* "%i, %j in [box]", or for a map "%i + -1 in [lo .. hi]". */
static void parse_boxed(Parser *p, Opcode code, Draft *d) {
  Loc at = p->r.tok.loc;
  bool map = op_info[code].form == FORM_MAP;
  d->operands = parse_values(p);
  d->op.off[0] = map && reader_accept(&p->r, "+") ? reader_int(&p->r, INT64_MIN, INT64_MAX) : 0;
  reader_expect_word(&p->r, "in");
  Box *box = ARENA_NEW(p->arena, Box);
  *box = text_box(p);
  d->op.box = box;
  if (map && d->operands.n != 1)
    reader_error(&p->r, at, "'%s' takes one operand, found %d", op_info[code].name, d->operands.n);
  if (d->operands.n != box->rank)
    reader_error(&p->r, at, "'%s' has %d coordinates but a box of %d dimensions", op_info[code].name, d->operands.n,
                 box->rank);
  if (code == OP_GUARD && reader_accept_word(&p->r, "by"))
    d->op.count = (int32_t)reader_int(&p->r, 2, MOST_GUARDED);
}

/* "%i = %lo to %hi step 1 unroll parallel with %x = %init, ... { }" */
static Op *parse_for(Parser *p, Builder *b) {
  Names names = {0, NULL};
  Values init = {0, NULL};
  ARENA_PUSH(p->arena, names.t, names.n, parse_new_value(p));
  reader_expect(&p->r, "=");
  Value *lo = parse_value(p);
  reader_expect_word(&p->r, "to");
  Value *hi = parse_value(p);
  reader_expect_word(&p->r, "step");
  int64_t stride = reader_int(&p->r, 1, INT64_MAX);
  int flags = reader_accept_word(&p->r, "unroll") ? FOR_UNROLL : 0;
  flags |= reader_accept_word(&p->r, "parallel") ? FOR_PARALLEL : 0;
  flags |= reader_accept_word(&p->r, "masked") ? FOR_MASKED : 0;
  flags |= reader_accept_word(&p->r, "apart") ? FOR_APART : 0;
  flags |= reader_accept_word(&p->r, "edges") ? FOR_EDGES : reader_accept_word(&p->r, "middle") ? FOR_MIDDLE : 0;
  int64_t rounds = reader_accept_word(&p->r, "parts") ? reader_int(&p->r, 1, INT32_MAX) : 0;
  if (reader_accept_word(&p->r, "with")) {
    do {
      ARENA_PUSH(p->arena, names.t, names.n, parse_new_value(p));
      reader_expect(&p->r, "=");
      push_value(p, &init);
    } while (reader_accept(&p->r, ","));
  }
  if (p->r.failed)
    return NULL;
  Op *op = build_for(b, lo, hi, stride, flags, init.n, init.v);
  op->count = (int32_t)rounds;
  NamedValue *mark = p->newest;
  for (int i = 0; i < names.n; i++)
    define_value(p, names.t[i], op->blocks[0]->args[i]);
  text_block(p, op->blocks[0]);
  end_scope(p, mark);
  return op;
}

/* "%c interior : T, U { } else { }" with `n` results. */
static Op *parse_if(Parser *p, Builder *b, int n) {
  Value *cond = parse_value(p);
  int flags = reader_accept_word(&p->r, "interior") ? IF_INTERIOR : 0;
  Type *types = parse_types(p, n);
  if (p->r.failed)
    return NULL;
  Op *op = build_if(b, cond, n, types);
  op->flags = flags;
  text_block(p, op->blocks[0]);
  reader_expect_word(&p->r, "else");
  text_block(p, op->blocks[1]);
  return op;
}

/* Parses the rest of an op after its name, with `n` names on its left. */
static Op *parse_op_rest(Parser *p, Builder *b, Opcode code, int n) {
  bool registers = code == OP_REGISTERS_LESS || code == OP_REGISTERS_MORE;
  Draft d = {.op = {0}};
  switch (op_info[code].form) {
  case FORM_CONST: return parse_const(p, b);
  case FORM_FOR: return parse_for(p, b);
  case FORM_IF: return parse_if(p, b, n);
  case FORM_SCALAR: d.op.sym = text_ref(p, module_find_scalar, "scalar"); break;
  case FORM_ACCESS: parse_access(p, &d); break;
  case FORM_MEMBER: parse_extract(p, &d); break;
  case FORM_ELEMENT: parse_element(p, &d); break;
  case FORM_LANE: parse_shuffle(p, code, &d); break;
  case FORM_DIM: d.op.sym = (int32_t)reader_int(&p->r, 0, MAX_RANK - 1); break;
  case FORM_GLOBAL:
  case FORM_ARRAY: parse_memory(p, code, &d); break;
  case FORM_COPY: parse_copy(p, &d); break;
  case FORM_COUNT: d.op.count = (int32_t)reader_int(&p->r, 0, registers ? MOST_SET_REGISTERS : MAX_GROUPS); break;
  case FORM_SIGNAL: parse_signal(p, code, &d); break;
  case FORM_SEND: parse_send(p, &d); break;
  case FORM_BULK: parse_bulk(p, code, &d); break;
  case FORM_FETCH: parse_fetch(p, &d); break;
  case FORM_BOX:
  case FORM_MAP: parse_boxed(p, code, &d); break;
  default: parse_plain(p, code, &d);
  }
  return finish_op(p, b, code, n, &d);
}

/* Reads one op to the end of `block`. */
static void parse_op(Parser *p, Block *block) {
  Names names = {0, NULL};
  Builder b = builder_at_end(p->arena, block);
  b.loc = p->r.tok.loc;
  if (p->r.tok.kind == TOK_VALUE) {
    do
      ARENA_PUSH(p->arena, names.t, names.n, parse_new_value(p));
    while (reader_accept(&p->r, ","));
    reader_expect(&p->r, "=");
  }
  Loc at = p->r.tok.loc;
  const char *word = reader_expect_kind(&p->r, TOK_WORD, "an op");
  Opcode code = opcode_from_name(word);
  if (code == OP_COUNT) {
    reader_error(&p->r, at, "there is no op '%.60s'", word);
    return;
  }
  Op *op = parse_op_rest(p, &b, code, names.n);
  if (op && op->nresults != names.n)
    reader_error(&p->r, at, "'%s' gives %d results here, but %d are named", word, op->nresults, names.n);
  for (int i = 0; op && i < names.n && !p->r.failed; i++)
    define_value(p, names.t[i], op->results[i]);
}

/* Reads ops up to the end of the block or of the text. */
void text_ops(Parser *p, Block *b) {
  NamedValue *mark = p->newest;
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_op(p, b);
  end_scope(p, mark);
}

void text_block(Parser *p, Block *b) {
  if (++p->depth > MAX_DEPTH)
    reader_error(&p->r, p->r.tok.loc, "blocks are nested more than %d deep", MAX_DEPTH);
  reader_expect(&p->r, "{");
  text_ops(p, b);
  reader_expect(&p->r, "}");
  p->depth--;
}
