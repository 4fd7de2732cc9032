/* ir/parse.c: modules from text. Grammar in docs/ir.md. The parser makes sure that the structure is whole (every symbol and value exists, counts
 * and written types agree with the op table); the verifier, which module_parse runs at the end, does the rest. */
#include "ir/text.h"

#include <string.h>

enum { BUCKETS = 1024, MAX_DEPTH = 200, MAX_SIZE = INT32_MAX };

/* A name in scope. */
typedef struct NamedValue { const char *name; Value *value; struct NamedValue *shadow, *before; } NamedValue;

/* The parser: its tokens, the module and the kernel (NULL outside) being made, and the values in scope, hashed by name and chained in order. */
typedef struct Parser {
  Reader r;
  Arena *arena;
  Module *m;
  Kernel *k;
  int depth;
  bool has_grid, has_time_tile, has_host;
  NamedValue *bucket[BUCKETS], *newest;
} Parser;

/* ---- names */

static unsigned hash_name(const char *s) {
  unsigned h = 5381;
  for (; *s; s++)
    h = h * 33 + (unsigned char)*s;
  return h % BUCKETS;
}

/* The value called `name`, NULL if none is in scope. */
static Value *find_value(const Parser *p, const char *name) {
  for (NamedValue *v = p->bucket[hash_name(name)]; v; v = v->shadow)
    if (!strcmp(v->name, name))
      return v->value;
  return NULL;
}

/* Lets `name`, which stands at `at`, be `value` until the scope ends. */
static void define_value(Parser *p, Token name, Value *value) {
  if (find_value(p, name.text)) {
    reader_error(&p->r, name.loc, "'%%%.60s' is already defined; give this value another name", name.text);
    return;
  }
  NamedValue *v = ARENA_NEW(p->arena, NamedValue);
  NamedValue **slot = &p->bucket[hash_name(name.text)];
  *v = (NamedValue){name.text, value, *slot, p->newest};
  *slot = p->newest = v;
}

/* Forgets the values defined after `mark`. */
static void end_scope(Parser *p, NamedValue *mark) {
  while (p->newest != mark) {
    NamedValue *v = p->newest;
    p->bucket[hash_name(v->name)] = v->shadow;
    p->newest = v->before;
  }
}

/* Reads a value that must be defined; NULL after an error. */
static Value *parse_value(Parser *p) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_VALUE, "a value (%name)");
  Value *v = p->r.failed ? NULL : find_value(p, name);
  if (!v)
    reader_error(&p->r, at, "'%%%.60s' is not defined before this in this block or one around it", name);
  return v;
}

/* Reads a name that is being defined. */
static Token parse_new_value(Parser *p) {
  Token t = p->r.tok;
  reader_expect_kind(&p->r, TOK_VALUE, "a name for a value (%name)");
  return t;
}

/* Reads a symbol that `find` must know as a `what`; -1 after an error. */
static int parse_ref(Parser *p, int (*find)(const Module *, const char *), const char *what) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, arena_printf(p->arena, "a %s (@name)", what));
  int i = p->r.failed ? -1 : find(p->m, name);
  if (i < 0)
    reader_error(&p->r, at, "there is no %s '@%.60s' declared before this", what, name);
  return i;
}

/* Reads a symbol that is being declared and that `find` must not know yet as a `what`. */
static const char *parse_new_symbol(Parser *p, int (*find)(const Module *, const char *), const char *what) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, arena_printf(p->arena, "a name for the %s (@name)", what));
  if (!p->r.failed && find(p->m, name) >= 0)
    reader_error(&p->r, at, "there is already a %s '@%.60s'", what, name);
  return name;
}

/* Index of the array of that name in the kernel being parsed, -1 if there is none. */
static int find_array(const Parser *p, const char *name) {
  for (int i = 0; p->k && i < p->k->narrays; i++)
    if (!strcmp(p->k->arrays[i].name, name))
      return i;
  return -1;
}

/* Reads a reference to an array of the kernel. */
static int parse_array_ref(Parser *p) {
  Loc at = p->r.tok.loc;
  const char *name = reader_expect_kind(&p->r, TOK_SYMBOL, "an array (@name)");
  int i = p->r.failed ? -1 : find_array(p, name);
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
static Affine parse_affine(Parser *p) {
  Affine x = parse_term(p, reader_accept(&p->r, "-"));
  for (;;) {
    bool minus = reader_at(&p->r, "-");
    if (!minus && !reader_at(&p->r, "+"))
      return x;
    reader_next(&p->r);
    x = affine_add(p->arena, x, parse_term(p, minus));
  }
}

/* Reads "[1 .. N - 2, 0 .. 7]"; a bound alone means one point. */
static Box parse_box(Parser *p) {
  Box b = {0};
  Loc at = p->r.tok.loc;
  reader_expect(&p->r, "[");
  do {
    if (b.rank == MAX_RANK) {
      reader_error(&p->r, at, "a box has at most %d dimensions", MAX_RANK);
      return b;
    }
    b.lo[b.rank] = parse_affine(p);
    b.hi[b.rank] = reader_accept(&p->r, "..") ? parse_affine(p) : b.lo[b.rank];
    b.rank++;
  } while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "]");
  return b;
}

/* Reads a box of the grid's rank. */
static Box parse_grid_box(Parser *p) {
  Loc at = p->r.tok.loc;
  Box b = parse_box(p);
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  else if (b.rank != p->m->grid.rank)
    reader_error(&p->r, at, "this box has %d dimensions, the grid has %d", b.rank, p->m->grid.rank);
  return b;
}

/* Reads a bracketed list of at most MAX_RANK integers in [min, max]; returns how many. */
static int parse_ints(Parser *p, int64_t min, int64_t max, int64_t out[MAX_RANK]) {
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
  int n = parse_ints(p, min, max, out);
  if (n != rank)
    reader_error(&p->r, at, "expected %d numbers, one for each dimension, found %d", rank, n);
}

/* Reads a list of exactly `rank` sizes of at least 1. */
static void parse_sizes(Parser *p, int rank, int32_t out[MAX_RANK]) {
  int64_t wide[MAX_RANK] = {0};
  parse_rank_ints(p, rank, 1, MAX_SIZE, wide);
  for (int d = 0; d < MAX_RANK; d++)
    out[d] = (int32_t)wide[d];
}

/* ---- ops */

/* A list of operands or names that grows. */
typedef struct Values { int n; Value **v; } Values;
typedef struct Names { int n; Token *t; } Names;

static void parse_block(Parser *p, Block *b);

/* Reads a value into the list. */
static void push_value(Parser *p, Values *list) {
  Value *v = parse_value(p);
  if (v)
    ARENA_PUSH(p->arena, list->v, list->n, v);
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

/* Reads " : T, U" with exactly `n` types. */
static Type *parse_types(Parser *p, int n) {
  Type *types = ARENA_ARRAY(p->arena, Type, n);
  if (n)
    reader_expect(&p->r, ":");
  for (int i = 0; i < n; i++) {
    if (i)
      reader_expect(&p->r, ",");
    types[i] = reader_type(&p->r);
  }
  return types;
}

/* Builds the op with the type that follows in the text and checks it against the op table's rule. */
static Op *finish_op(Parser *p, Builder *b, Opcode code, Values operands) {
  OpResult rule = op_info[code].result;
  if (p->r.failed)
    return NULL;
  if (rule == RESULT_NONE || rule == RESULT_MULTI)
    return build_op(b, code, TY_NONE, operands.n, operands.v);
  reader_expect(&p->r, ":");
  Loc at = p->r.tok.loc;
  Type t = reader_type(&p->r);
  if (p->r.failed)
    return NULL;
  Op *op = build_op(b, code, t, operands.n, operands.v);
  if (op->results[0]->type != t)
    reader_error(&p->r, at, "the result of '%s' is %s here, not %s", op_info[code].name, type_name(op->results[0]->type), type_name(t));
  return op;
}

/* Operands, and nothing else. */
static Op *parse_plain(Parser *p, Builder *b, Opcode code) {
  Loc at = p->r.tok.loc;
  int want = op_info[code].noperands;
  Values v = want ? parse_values(p) : (Values){0, NULL};
  if (want >= 0 && v.n != want)
    reader_error(&p->r, at, "'%s' takes %d operands, found %d", op_info[code].name, want, v.n);
  return finish_op(p, b, code, v);
}

/* A literal; its type comes after it, so the text is read twice. */
static Op *parse_const(Parser *p, Builder *b) {
  Reader literal = p->r;
  reader_accept(&p->r, "-");
  if (p->r.tok.kind == TOK_NUMBER || p->r.tok.kind == TOK_WORD)
    reader_next(&p->r);
  else
    reader_expect_kind(&p->r, TOK_NUMBER, "a literal");
  Op *op = finish_op(p, b, OP_CONST, (Values){0, NULL});
  if (!op)
    return NULL;
  op->cval = reader_const(&literal, op->results[0]->type);
  if (literal.failed)
    p->r = literal;
  return op;
}

static Op *parse_scalar_op(Parser *p, Builder *b) {
  int sym = parse_ref(p, module_find_scalar, "scalar");
  Op *op = finish_op(p, b, OP_SCALAR, (Values){0, NULL});
  if (op)
    op->sym = sym;
  return op;
}

static Op *parse_access(Parser *p, Builder *b) {
  int64_t off[MAX_RANK] = {0};
  int sym = parse_ref(p, module_find_field, "field");
  parse_rank_ints(p, p->m->grid.rank, INT64_MIN, INT64_MAX, off);
  int32_t ver = p->r.tok.kind == TOK_WORD ? parse_version(p) : 0;
  Op *op = finish_op(p, b, OP_ACCESS, (Values){0, NULL});
  if (!op)
    return NULL;
  op->sym = sym;
  op->ver = ver;
  memcpy(op->off, off, sizeof off);
  return op;
}

static Op *parse_dim(Parser *p, Builder *b, Opcode code) {
  int64_t dim = reader_int(&p->r, 0, MAX_RANK - 1);
  Op *op = finish_op(p, b, code, (Values){0, NULL});
  if (op)
    op->sym = (int32_t)dim;
  return op;
}

/* "%v, @A[%i, %j] + [-1, 0] v2": value to store if the op stores, symbol, indices, offsets, version if it is an array. */
static Op *parse_memory(Parser *p, Builder *b, Opcode code) {
  bool array = op_info[code].form == FORM_ARRAY;
  int64_t off[MAX_RANK] = {0};
  Values operands = {0, NULL};
  if (op_info[code].result == RESULT_NONE) {
    push_value(p, &operands);
    reader_expect(&p->r, ",");
  }
  int sym = array ? parse_array_ref(p) : parse_ref(p, module_find_buffer, "buffer");
  int before = operands.n;
  reader_expect(&p->r, "[");
  do
    push_value(p, &operands);
  while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "]");
  if (reader_accept(&p->r, "+"))
    parse_rank_ints(p, operands.n - before, INT64_MIN, INT64_MAX, off);
  int32_t ver = array ? parse_version(p) : 0;
  Op *op = finish_op(p, b, code, operands);
  if (!op)
    return NULL;
  op->sym = sym;
  op->ver = ver;
  memcpy(op->off, off, sizeof off);
  return op;
}

/* "%i, %j in [box]", or for a map "%i + -1 in [lo .. hi]". */
static Op *parse_boxed(Parser *p, Builder *b, Opcode code) {
  Loc at = p->r.tok.loc;
  bool map = op_info[code].form == FORM_MAP;
  Values operands = parse_values(p);
  int64_t off = map && reader_accept(&p->r, "+") ? reader_int(&p->r, INT64_MIN, INT64_MAX) : 0;
  reader_expect_word(&p->r, "in");
  Box *box = ARENA_NEW(p->arena, Box);
  *box = parse_box(p);
  if (map && operands.n != 1)
    reader_error(&p->r, at, "'%s' takes one operand, found %d", op_info[code].name, operands.n);
  if (operands.n != box->rank)
    reader_error(&p->r, at, "'%s' has %d coordinates but a box of %d dimensions", op_info[code].name, operands.n, box->rank);
  Op *op = finish_op(p, b, code, operands);
  if (!op)
    return NULL;
  op->off[0] = off;
  op->box = box;
  return op;
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
  NamedValue *mark = p->newest;
  for (int i = 0; i < names.n; i++)
    define_value(p, names.t[i], op->blocks[0]->args[i]);
  parse_block(p, op->blocks[0]);
  end_scope(p, mark);
  return op;
}

/* "%c : T, U { } else { }" with `n` results. */
static Op *parse_if(Parser *p, Builder *b, int n) {
  Value *cond = parse_value(p);
  Type *types = parse_types(p, n);
  if (p->r.failed)
    return NULL;
  Op *op = build_if(b, cond, n, types);
  parse_block(p, op->blocks[0]);
  reader_expect_word(&p->r, "else");
  parse_block(p, op->blocks[1]);
  return op;
}

/* What follows the name of an op with `n` names on its left. */
static Op *parse_op_rest(Parser *p, Builder *b, Opcode code, int n) {
  switch (op_info[code].form) {
  case FORM_CONST: return parse_const(p, b);
  case FORM_SCALAR: return parse_scalar_op(p, b);
  case FORM_ACCESS: return parse_access(p, b);
  case FORM_DIM: return parse_dim(p, b, code);
  case FORM_GLOBAL: case FORM_ARRAY: return parse_memory(p, b, code);
  case FORM_BOX: case FORM_MAP: return parse_boxed(p, b, code);
  case FORM_FOR: return parse_for(p, b);
  case FORM_IF: return parse_if(p, b, n);
  default: return parse_plain(p, b, code);
  }
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
static void parse_ops(Parser *p, Block *b) {
  NamedValue *mark = p->newest;
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_op(p, b);
  end_scope(p, mark);
}

static void parse_block(Parser *p, Block *b) {
  if (++p->depth > MAX_DEPTH)
    reader_error(&p->r, p->r.tok.loc, "blocks are nested more than %d deep", MAX_DEPTH);
  reader_expect(&p->r, "{");
  parse_ops(p, b);
  reader_expect(&p->r, "}");
  p->depth--;
}

/* ---- declarations */

static void parse_scalar(Parser *p, bool is_param, Loc at) {
  Scalar s = {.is_param = is_param, .loc = at};
  s.name = parse_new_symbol(p, module_find_scalar, "scalar");
  reader_expect(&p->r, ":");
  s.type = reader_type(&p->r);
  if (!is_param || reader_at(&p->r, "=")) {
    reader_expect(&p->r, "=");
    s.expr = block_new(p->arena, NULL);
    parse_block(p, s.expr);
  }
  ARENA_PUSH(p->arena, p->m->scalars, p->m->nscalars, s);
}

static void parse_grid(Parser *p, Loc at) {
  if (p->has_grid)
    reader_error(&p->r, at, "there is already a grid");
  p->m->grid = parse_box(p);
  p->has_grid = true;
  reader_expect_word(&p->r, "steps");
  p->m->steps = reader_int(&p->r, 0, INT64_MAX);
}

/* Reads a field's outside rule, after the word. */
static void parse_outside(Parser *p, Field *f) {
  if (reader_accept_word(&p->r, "clamp"))
    f->outside = OUTSIDE_CLAMP;
  else if (reader_accept_word(&p->r, "mirror"))
    f->outside = OUTSIDE_MIRROR;
  else if (reader_accept_word(&p->r, "periodic"))
    f->outside = OUTSIDE_PERIODIC;
  else if (reader_accept_word(&p->r, "const")) {
    f->outside = OUTSIDE_CONST;
    f->outside_value = reader_const(&p->r, f->type);
  } else
    reader_error(&p->r, p->r.tok.loc, "expected an outside rule: clamp, mirror, periodic or const VALUE");
}

static void parse_field(Parser *p, Loc at) {
  Field f = {.loc = at};
  f.name = parse_new_symbol(p, module_find_field, "field");
  reader_expect(&p->r, ":");
  f.type = reader_type(&p->r);
  reader_expect_word(&p->r, "on");
  f.box = parse_grid_box(p);
  if (reader_accept_word(&p->r, "outside"))
    parse_outside(p, &f);
  f.input = reader_accept_word(&p->r, "input");
  f.temp = reader_accept_word(&p->r, "temp");
  if (reader_accept_word(&p->r, "history"))
    f.history = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
  ARENA_PUSH(p->arena, p->m->fields, p->m->nfields, f);
}

static void parse_check(Parser *p, Loc at) {
  Check c = {.loc = at};
  c.value = parse_affine(p);
  reader_expect(&p->r, ">=");
  reader_int(&p->r, 0, 0);
  for (int i = 0; i < 2 && reader_accept_word(&p->r, "unless"); i++) {
    reader_expect_word(&p->r, "empty");
    Box *box = ARENA_NEW(p->arena, Box);
    *box = parse_box(p);
    c.unless_empty[i] = box;
  }
  c.message = reader_expect_kind(&p->r, TOK_STRING, "the message in quotes");
  ARENA_PUSH(p->arena, p->m->checks, p->m->nchecks, c);
}

/* ---- stencils */

/* Reads "(@A, @B)"; returns how many fields there are. */
static int parse_fields(Parser *p, int32_t **out) {
  int n = 0;
  *out = NULL;
  reader_expect(&p->r, "(");
  if (!reader_at(&p->r, ")")) {
    do {
      int32_t field = parse_ref(p, module_find_field, "field");
      ARENA_PUSH(p->arena, *out, n, field);
    } while (reader_accept(&p->r, ","));
  }
  reader_expect(&p->r, ")");
  return n;
}

static void parse_extent(Parser *p, Stencil *st) {
  st->has_extent = true;
  reader_expect(&p->r, "[");
  for (int d = 0; d < p->m->grid.rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    st->extent.lo[d] = -reader_int(&p->r, -INT64_MAX, INT64_MAX);
    reader_expect(&p->r, "..");
    st->extent.hi[d] = reader_int(&p->r, -INT64_MAX, INT64_MAX);
  }
  reader_expect(&p->r, "]");
}

static void parse_piece(Parser *p, Stencil *st) {
  Piece piece = {.loc = p->r.tok.loc};
  reader_expect_word(&p->r, "piece");
  piece.box = parse_grid_box(p);
  piece.ntargets = parse_fields(p, &piece.targets);
  piece.body = block_new(p->arena, NULL);
  parse_block(p, piece.body);
  ARENA_PUSH(p->arena, st->pieces, st->npieces, piece);
}

static Stencil parse_stencil(Parser *p, Loc at) {
  Stencil st = {.loc = at};
  if (p->m->level != LEVEL_SIR)
    reader_error(&p->r, at, "a kernel module has no stencils");
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  st.name = reader_expect_kind(&p->r, TOK_SYMBOL, "a name for the stencil (@name)");
  st.ntargets = parse_fields(p, &st.targets);
  if (reader_accept_word(&p->r, "level"))
    st.level = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  if (reader_accept_word(&p->r, "extent"))
    parse_extent(p, &st);
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_piece(p, &st);
  reader_expect(&p->r, "}");
  return st;
}

static void parse_time_tile(Parser *p, Loc at) {
  if (p->has_time_tile || p->m->level != LEVEL_SIR)
    reader_error(&p->r, at, p->has_time_tile ? "there is already a time_tile" : "a kernel module has no time_tile");
  p->has_time_tile = true;
  p->m->time_tile = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
}

/* ---- kernels and the host part */

static void parse_buffer(Parser *p) {
  Buffer b = {0};
  b.name = parse_new_symbol(p, module_find_buffer, "buffer");
  reader_expect(&p->r, ":");
  b.field = parse_ref(p, module_find_field, "field");
  reader_expect_word(&p->r, "copy");
  b.copy = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  ARENA_PUSH(p->arena, p->m->buffers, p->m->nbuffers, b);
}

/* One argument: "step", "scalar @N", "buffer @A", "reads @A", "writes @A" or "reads writes @A". */
static KArg parse_arg(Parser *p) {
  if (reader_accept_word(&p->r, "step"))
    return (KArg){KARG_STEP, 0, true, false};
  if (reader_accept_word(&p->r, "scalar"))
    return (KArg){KARG_SCALAR, parse_ref(p, module_find_scalar, "scalar"), true, false};
  KArg a = {.kind = KARG_BUFFER};
  if (!reader_accept_word(&p->r, "buffer")) {
    a.reads = reader_accept_word(&p->r, "reads");
    a.writes = reader_accept_word(&p->r, "writes");
    if (!a.reads && !a.writes)
      reader_error(&p->r, p->r.tok.loc, "expected an argument: reads @BUFFER, writes @BUFFER, scalar @SCALAR or step");
  }
  a.index = parse_ref(p, module_find_buffer, "buffer");
  return a;
}

static void parse_args(Parser *p, Kernel *k) {
  reader_expect_word(&p->r, "args");
  reader_expect(&p->r, "(");
  if (!reader_at(&p->r, ")")) {
    do {
      KArg a = parse_arg(p);
      ARENA_PUSH(p->arena, k->args, k->nargs, a);
    } while (reader_accept(&p->r, ","));
  }
  reader_expect(&p->r, ")");
}

/* Reads " pad [1 .. 1, 0 .. 2]" after its first word. */
static void parse_pads(Parser *p, Array *a) {
  reader_expect(&p->r, "[");
  for (int d = 0; d < a->rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    a->pad_lo[d] = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
    reader_expect(&p->r, "..");
    a->pad_hi[d] = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  }
  reader_expect(&p->r, "]");
}

/* Reads one array; *storage is the symbol after `in`, whose array may come later, or a TOK_END. */
static void parse_array(Parser *p, Kernel *k, Token *storage) {
  Array a = {.storage = -1};
  int64_t shape[MAX_RANK] = {0};
  a.space = reader_accept_word(&p->r, "shared") ? SPACE_SHARED : SPACE_PRIVATE;
  if (a.space == SPACE_PRIVATE)
    reader_expect_word(&p->r, "private");
  Loc at = p->r.tok.loc;
  a.name = reader_expect_kind(&p->r, TOK_SYMBOL, "a name for the array (@name)");
  if (!p->r.failed && find_array(p, a.name) >= 0)
    reader_error(&p->r, at, "this kernel already has an array '@%.60s'", a.name);
  reader_expect(&p->r, ":");
  a.type = reader_type(&p->r);
  a.rank = parse_ints(p, 1, MAX_SIZE, shape);
  for (int d = 0; d < MAX_RANK; d++)
    a.shape[d] = (int32_t)shape[d];
  if (reader_accept_word(&p->r, "pad"))
    parse_pads(p, &a);
  *storage = (Token){TOK_END, "", at};
  if (reader_accept_word(&p->r, "in")) {
    *storage = p->r.tok;
    reader_expect_kind(&p->r, TOK_SYMBOL, "the array (@name) whose memory this one shares");
  }
  ARENA_PUSH(p->arena, k->arrays, k->narrays, a);
}

/* Reads all arrays of `k`. */
static void parse_arrays(Parser *p, Kernel *k) {
  int n = 0;
  Token *storage = NULL;
  while (reader_at_word(&p->r, "shared") || reader_at_word(&p->r, "private")) {
    Token t;
    parse_array(p, k, &t);
    ARENA_PUSH(p->arena, storage, n, t);
  }
  for (int i = 0; i < n && !p->r.failed; i++) {
    if (storage[i].kind != TOK_SYMBOL)
      continue;
    k->arrays[i].storage = find_array(p, storage[i].text);
    if (k->arrays[i].storage < 0)
      reader_error(&p->r, storage[i].loc, "this kernel has no array '@%.60s'", storage[i].text);
  }
}

/* Reads the extents that `k` covers. */
static void parse_cover(Parser *p, Kernel *k) {
  reader_expect_word(&p->r, "covers");
  reader_expect(&p->r, "[");
  for (int d = 0; d < k->rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    k->extent[d] = parse_affine(p);
  }
  reader_expect(&p->r, "]");
}

static void parse_kernel(Parser *p, Loc at) {
  Kernel k = {.loc = at, .rank = p->m->grid.rank, .body = block_new(p->arena, NULL)};
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  k.name = parse_new_symbol(p, module_find_kernel, "kernel");
  p->k = &k;
  reader_expect_word(&p->r, "threads");
  parse_sizes(p, k.rank, k.threads);
  parse_cover(p, &k);
  reader_expect_word(&p->r, "by");
  parse_sizes(p, k.rank, k.tile);
  reader_expect_word(&p->r, "steps");
  k.steps = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  reader_expect(&p->r, "{");
  parse_args(p, &k);
  parse_arrays(p, &k);
  parse_ops(p, k.body);
  reader_expect(&p->r, "}");
  p->k = NULL;
  ARENA_PUSH(p->arena, p->m->kernels, p->m->nkernels, k);
}

/* Reads "{ launch @k  swap @A, @B ... }". */
static void parse_sequence(Parser *p, HostSeq *q) {
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed) {
    HostOp op = {.kind = HOST_SWAP};
    if (reader_accept_word(&p->r, "launch")) {
      op.kind = HOST_LAUNCH;
      op.a = parse_ref(p, module_find_kernel, "kernel");
    } else if (reader_accept_word(&p->r, "swap")) {
      op.a = parse_ref(p, module_find_buffer, "buffer");
      reader_expect(&p->r, ",");
      op.b = parse_ref(p, module_find_buffer, "buffer");
    } else {
      reader_error(&p->r, p->r.tok.loc, "expected launch @KERNEL, swap @BUFFER, @BUFFER or '}'");
    }
    ARENA_PUSH(p->arena, q->ops, q->nops, op);
  }
  reader_expect(&p->r, "}");
}

static void parse_host(Parser *p, Loc at) {
  Host *h = &p->m->host;
  if (p->has_host)
    reader_error(&p->r, at, "there is already a host part");
  p->has_host = true;
  reader_expect(&p->r, "{");
  if (reader_accept_word(&p->r, "init"))
    parse_sequence(p, &h->init);
  while (!reader_at(&p->r, "}") && !p->r.failed) {
    HostSeq q = {0};
    reader_expect_word(&p->r, "steps");
    q.steps = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
    parse_sequence(p, &q);
    ARENA_PUSH(p->arena, h->seqs, h->nseqs, q);
  }
  reader_expect(&p->r, "}");
}

/* ---- modules */

/* Reads an item that both levels have, after its word; false if `word` begins none. */
static bool parse_declaration(Parser *p, const char *word, Loc at) {
  if (!strcmp(word, "contract"))
    p->m->contract = true;
  else if (!strcmp(word, "fast_math"))
    p->m->fast_math = true;
  else if (!strcmp(word, "param") || !strcmp(word, "let"))
    parse_scalar(p, *word == 'p', at);
  else if (!strcmp(word, "grid"))
    parse_grid(p, at);
  else if (!strcmp(word, "field"))
    parse_field(p, at);
  else if (!strcmp(word, "check"))
    parse_check(p, at);
  else
    return false;
  return true;
}

/* Reads one item of the module. */
static void parse_item(Parser *p) {
  Loc at = p->r.tok.loc;
  Module *m = p->m;
  const char *word = reader_expect_kind(&p->r, TOK_WORD, "a declaration or '}'");
  bool kir = m->level == LEVEL_KIR;
  if (p->r.failed || parse_declaration(p, word, at))
    return;
  if (!strcmp(word, "time_tile")) {
    parse_time_tile(p, at);
  } else if (!strcmp(word, "init")) {
    Stencil st = parse_stencil(p, at);
    ARENA_PUSH(p->arena, m->inits, m->ninits, st);
  } else if (!strcmp(word, "stencil")) {
    Stencil st = parse_stencil(p, at);
    ARENA_PUSH(p->arena, m->stencils, m->nstencils, st);
  } else if (kir && !strcmp(word, "buffer")) {
    parse_buffer(p);
  } else if (kir && !strcmp(word, "kernel")) {
    parse_kernel(p, at);
  } else if (kir && !strcmp(word, "host")) {
    parse_host(p, at);
  } else {
    reader_error(&p->r, at, "'%.60s' begins no declaration of a %s module", word, kir ? "kernel" : "stencil");
  }
}

/* Reads the whole text. */
static void parse_module(Parser *p) {
  bool kernel = reader_accept_word(&p->r, "kernel");
  if (!kernel)
    reader_expect_word(&p->r, "stencil");
  reader_expect_word(&p->r, "module");
  p->m = module_new(p->arena, reader_expect_kind(&p->r, TOK_STRING, "the module's name in quotes"), kernel ? LEVEL_KIR : LEVEL_SIR);
  p->m->contract = false;
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_item(p);
  if (!p->has_grid)
    reader_error(&p->r, p->r.tok.loc, "the module has no grid");
  reader_expect(&p->r, "}");
  if (p->r.tok.kind != TOK_END)
    reader_error(&p->r, p->r.tok.loc, "expected nothing after the module");
}

Module *module_parse(Arena *a, Diags *d, const char *file, const char *text) {
  Parser *p = ARENA_NEW(a, Parser);
  p->arena = a;
  p->r = reader_start(a, d, diags_add_source(d, file, text), text);
  parse_module(p);
  return p->r.failed || !module_verify(p->m, d) ? NULL : p->m;
}
