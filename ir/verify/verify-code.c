/* ir/verify/verify-code.c: the rules of code: levels, operands, results, types, scope. Code is checked block by block
 * with the set of values in scope. */
#include "ir/verify/verify.h"

void verify_fail(Verifier *v, Loc at, const char *fmt, ...) {
  Str s = {.arena = v->m->arena};
  va_list ap;
  va_start(ap, fmt);
  str_addv(&s, fmt, ap);
  va_end(ap);
  v->errors++;
  diag_error(v->d, at.line ? at : v->loc, "%s%s%s", v->where, *v->where ? ": " : "", s.s);
}

/* Reports a broken rule of `op`. */
static __attribute__((format(printf, 3, 4))) void fail_op(Verifier *v, const Op *op, const char *fmt, ...) {
  Str s = {.arena = v->m->arena};
  va_list ap;
  va_start(ap, fmt);
  str_addv(&s, fmt, ap);
  va_end(ap);
  verify_fail(v, op->loc, "op '%s': %s", op_info[op->code].name, s.s);
}

/* ---- the set of values in scope */

/* The place of `x` in the table, or the free place where it would go. */
static size_t find_place(const Verifier *v, const Value *x) {
  size_t i = ((size_t)(uintptr_t)x >> 4) * 0x9e3779b1u & v->mask;
  while (v->table[i] && v->table[i] != x)
    i = (i + 1) & v->mask;
  return i;
}

/* Puts `x` in scope; false if it already is. */
static bool enter(Verifier *v, const Value *x) {
  size_t i = find_place(v, x);
  if (v->table[i])
    return false;
  v->table[i] = x;
  v->stack[v->depth++] = x;
  return true;
}

/* Takes all values out of scope except the `depth` oldest. It removes the newest first, so that no search meets a hole.
 */
static void leave_to(Verifier *v, int depth) {
  while (v->depth > depth)
    v->table[find_place(v, v->stack[--v->depth])] = NULL;
}

/* The number of values that `b` and its nested blocks define. */
static size_t count_values(const Block *b) {
  size_t n = (size_t)b->nargs;
  for (const Op *op = b->first; op; op = op->next) {
    n += (size_t)op->nresults;
    for (int i = 0; i < op->nblocks; i++)
      n += op->blocks[i] ? count_values(op->blocks[i]) : 0;
  }
  return n;
}

/* Empties the set, and makes room for the values of `b`. */
static void start_scope(Verifier *v, const Block *b) {
  size_t n = count_values(b), size = 16;
  while (size < 2 * n)
    size *= 2;
  v->mask = size - 1;
  v->table = ARENA_ARRAY(v->m->arena, const Value *, size);
  v->stack = ARENA_ARRAY(v->m->arena, const Value *, n + 1);
  v->depth = 0;
}

/* ---- constants and bounds */

bool verify_is_value(Const c, Type t) {
  Type widest = type_is_float(t) ? TY_F64 : TY_I64;
  return const_same(c, const_convert(c, widest, t), t);
}

void verify_affine(Verifier *v, Loc at, Affine x) {
  for (int i = 0; i < x.n; i++) {
    int s = x.t[i].scalar;
    if (s < 0 || s >= v->m->nscalars)
      verify_fail(v, at, "a bound names scalar number %d, which does not exist", s);
    else if (v->m->scalars[s].is_reduction || !type_is_int(v->m->scalars[s].type))
      verify_fail(v, at, "a bound names '%s', which is not an integer param or let", v->m->scalars[s].name);
    else if (x.t[i].coef == 0 || (i && x.t[i - 1].scalar >= s))
      verify_fail(v, at, "the terms of a bound are not sorted or one is zero");
  }
}

void verify_box(Verifier *v, Loc at, const Box *b, int rank) {
  if (b->rank != rank) {
    verify_fail(v, at, "a box has %d dimensions where %d are needed", b->rank, rank);
    return;
  }
  for (int d = 0; d < rank; d++) {
    verify_affine(v, at, b->lo[d]);
    verify_affine(v, at, b->hi[d]);
  }
}

/* ---- operands */

/* Checks that operand `i` of `op` has type `t`; `what` names the operand in the message. */
static void expect_type(Verifier *v, const Op *op, int i, Type t, const char *what) {
  Type is = op->operands[i]->type;
  if (is != t)
    fail_op(v, op, "%s (operand %d) is %s, must be %s", what, i, type_text(v->m, is), type_text(v->m, t));
}

/* Checks that the operands of `op` from number `first` on have one type. */
static void expect_same(Verifier *v, const Op *op, int first) {
  for (int i = first + 1; i < op->noperands; i++)
    if (op->operands[i]->type != op->operands[first]->type)
      fail_op(v, op, "operand %d is %s, operand %d is %s; they must agree", i, type_name(op->operands[i]->type), first,
              type_name(op->operands[first]->type));
}

/* A description of the operands of a class, for messages. */
static const char *class_words(OpOperands class) {
  switch (class) {
  case OPERANDS_NUMBERS: return "an integer or a float";
  case OPERANDS_WORDS: return "u32";
  case OPERANDS_INTEGERS: return "an integer";
  case OPERANDS_FLOATS: return "a float";
  case OPERANDS_WIDE: return "f32 or f64";
  case OPERANDS_BOOLS: return "bool";
  case OPERANDS_INDICES: return "i32 or i64";
  default: return "a scalar";
  }
}

/* Checks that the class allows operand `i` of `op`. */
static void expect_class(Verifier *v, const Op *op, int i, OpOperands class) {
  Type t = op->operands[i]->type;
  if (!operands_allow(class, t))
    fail_op(v, op, "operand %d is %s, must be %s", i, type_name(t), class_words(class));
}

/* Checks the types of the operands against the op table. Operands of a form are checked with the form. */
static void check_operand_types(Verifier *v, const Op *op) {
  OpOperands class = op_info[op->code].operands;
  bool each = class == OPERANDS_BOOLS || class == OPERANDS_INDICES;
  if (class == OPERANDS_NONE || class == OPERANDS_ANY || class == OPERANDS_FORM)
    return;
  if (class == OPERANDS_CHOICE) {
    expect_type(v, op, 0, TY_BOOL, "the condition");
    expect_same(v, op, 1);
    return;
  }
  for (int i = 0; i < (each ? op->noperands : 1); i++)
    expect_class(v, op, i, class);
  if (!each)
    expect_same(v, op, 0);
}

/* Checks that the result of `op` has the type `t` of the `what` named `name`. */
static void expect_result(Verifier *v, const Op *op, Type t, const char *what, const char *name) {
  if (op->results[0]->type != t)
    fail_op(v, op, "the result is %s, but %s '%s' is %s", type_text(v->m, op->results[0]->type), what, name,
            type_text(v->m, t));
}

/* ---- ops by kind */

/* Checks the `n` constant offsets of `op`. */
static void check_offsets(Verifier *v, const Op *op, int n, int64_t limit) {
  for (int d = 0; d < n && d < MAX_RANK; d++)
    if (op->off[d] > limit || op->off[d] < -limit)
      fail_op(v, op, "offset %lld is out of range", (long long)op->off[d]);
}

static void check_const(Verifier *v, const Op *op) {
  Type t = op->results[0]->type;
  if (t == TY_NONE || t >= TY_COMPOSITE || !verify_is_value(op->cval, t))
    fail_op(v, op, "the constant is not a value of type %s", type_name(t));
}

static void check_scalar_use(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->m->nscalars) {
    fail_op(v, op, "there is no scalar number %d", op->sym);
    return;
  }
  const Scalar *s = &v->m->scalars[op->sym];
  expect_result(v, op, s->type, "scalar", s->name);
  if (v->context == CONTEXT_EXPR && op->sym >= v->scalar)
    fail_op(v, op, "scalar '%s' is declared later and cannot be used yet", s->name);
}

static void check_access(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->m->nfields) {
    fail_op(v, op, "there is no field number %d", op->sym);
    return;
  }
  const Field *f = &v->m->fields[op->sym];
  expect_result(v, op, f->type, "field", f->name);
  check_offsets(v, op, v->m->grid.rank, MAX_OFFSET);
  if (op->code == OP_BEHIND)
    verify_behind(v, op);
  if (op_is_scaled(op))
    verify_scaled(v, op);
}

/* construct: checks that there is one operand for each member, of its type. */
static void check_construct(Verifier *v, const Op *op) {
  const Composite *c = type_composite(v->m, op->results[0]->type);
  if (!c || op->noperands != c->n) {
    fail_op(v, op, "%d operands do not make a value of type %s", op->noperands, type_text(v->m, op->results[0]->type));
    return;
  }
  for (int i = 0; i < c->n; i++)
    expect_type(v, op, i, c->members[i].type, "a member");
}

static void check_extract(Verifier *v, const Op *op) {
  const Composite *c = type_composite(v->m, op->operands[0]->type);
  if (!c || op->sym < 0 || op->sym >= c->n)
    fail_op(v, op, "type %s has no member %d", type_text(v->m, op->operands[0]->type), op->sym);
  else if (op->results[0]->type != c->members[op->sym].type)
    fail_op(v, op, "the result is %s, but the member is %s", type_text(v->m, op->results[0]->type),
            type_text(v->m, c->members[op->sym].type));
}

static void check_element(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->m->nparam_arrays) {
    fail_op(v, op, "there is no launch-time array number %d", op->sym);
    return;
  }
  expect_type(v, op, 0, TY_I64, "the index");
  expect_result(v, op, v->m->param_arrays[op->sym].type, "array", v->m->param_arrays[op->sym].name);
}

static void check_shuffle(Verifier *v, const Op *op) {
  int lanes = v->k ? kernel_lanes(v->k) : WARP_LANES, most = lanes - 1;
  if (op->code == OP_SHUFFLE && lanes > WARP_LANES)
    most = WARP_LANES - 1;
  if (op->off[0] < 1 || op->off[0] > most)
    fail_op(v, op, "the %s is %lld, must be 1 to %d", op->code == OP_SHUFFLE ? "mask" : "distance",
            (long long)op->off[0], most);
}

/* Checks that a block with barriers between neighbouring warps has whole warps. */
static void check_near(Verifier *v, const Op *op) {
  int64_t rest = 1, warp = v->k ? kernel_warp(v->k) : WARP_LANES;
  for (int d = 0; v->k && d < v->m->grid.rank; d++)
    rest = rest * v->k->threads[d] % warp;
  if (v->k && rest)
    fail_op(v, op, "the threads of a block are not whole warps of %d: %lld are left", (int)warp, (long long)rest);
}

static void check_dim(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->m->grid.rank)
    fail_op(v, op, "dimension %d, but the grid has rank %d", op->sym, v->m->grid.rank);
}

/* inside and idx.*: checks that the box has as many dimensions as there are coordinates. */
static void check_boxed(Verifier *v, const Op *op) {
  if (!op->box) {
    fail_op(v, op, "the box is missing");
    return;
  }
  if (op->noperands < 1 || op->noperands > MAX_RANK) {
    fail_op(v, op, "%d coordinates, must be 1 to %d", op->noperands, MAX_RANK);
    return;
  }
  verify_box(v, op->loc, op->box, op->noperands);
  if (op_info[op->code].form == FORM_MAP)
    check_offsets(v, op, 1, MAX_OFFSET);
  if (op->code == OP_GUARD &&
      (op->count < 0 || op->count == 1 || op->count > MOST_GUARDED || op->count & (op->count - 1)))
    fail_op(v, op, "by %d; must be 2, 4, 8 or %d", op->count, MOST_GUARDED);
}

/* Checks that the `rank` operands from `first` on are indices of type `t`. */
static void check_indices(Verifier *v, const Op *op, int first, int rank, Type t) {
  for (int i = first; i < first + rank; i++)
    expect_type(v, op, i, t, "an index");
}

/* Checks that a vector op or copy may move as many elements of type `element` as it does. */
static void check_count(Verifier *v, const Op *op, Type element) {
  int n = op->count, bytes = n * type_size(element);
  if (op->code == OP_ASYNC_COPY ? bytes != 4 && bytes != 8 && bytes != 16 : (n != 2 && n != 4 && n != 8) || bytes > 32)
    fail_op(v, op, "%d elements of type %s; must be %s", n, type_name(element),
            op->code == OP_ASYNC_COPY ? "4, 8 or 16 bytes" : "2, 4 or 8, at most 32 bytes");
}

/* Is `rows`, the elements of a row, a multiple of `of` for all params under which kernel v->k may be launched? */
static bool is_multiple(const Verifier *v, Affine rows, int64_t of) {
  bool is = affine_multiple(rows, of) == 1;
  for (int i = 0; i < v->k->nmultiples && !is; i++)
    is = affine_equal(v->k->multiples[i].value, rows) && v->k->multiples[i].of % of == 0;
  return is;
}

/* Checks that all rows of buffer `b` begin at multiples of `bytes` (at most 16), which an op moves at once. (Moves of
 * less than an element have been reported before.) */
static void check_whole_rows(Verifier *v, const Op *op, int b, int bytes) {
  const Buffer *of = &v->m->buffers[b];
  int rank = buffer_rank(v->m, b), n = (bytes < VECTOR_BYTES ? bytes : VECTOR_BYTES) / type_size(buffer_type(v->m, b));
  if (n < 1)
    return;
  if (of->kind == BUFFER_FIELD && rank > 1 && !is_multiple(v, field_row(v->m->arena, &v->m->fields[of->field]), n))
    fail_op(v, op, "rows of '%s' are not surely whole %d bytes, a multiple of %d elements", of->name,
            n * type_size(buffer_type(v->m, b)), n);
}

/* Checks that the operands of the memory op from op_first_index on are its `rank` indices, of type `t`, and that a
 * store has values of type `element` before them. */
static void check_place(Verifier *v, const Op *op, int rank, Type t, Type element, const char *name) {
  int stores = op_first_index(op);
  if (op->noperands != rank + stores) {
    fail_op(v, op, "%d indices, but '%s' has rank %d", op->noperands - stores, name, rank);
    return;
  }
  check_indices(v, op, stores, rank, t);
  for (int i = 0; i < stores; i++)
    expect_type(v, op, i, element, "the value to store");
  if (!stores)
    expect_result(v, op, element, "the element of", name);
  if (op->code == OP_VLOAD || op->code == OP_VSTORE || op->code == OP_AVLOAD || op->code == OP_AVSTORE)
    check_count(v, op, element);
  check_offsets(v, op, rank, t == TY_I32 ? INT32_MAX : MAX_OFFSET);
}

static void check_global(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->m->nbuffers) {
    fail_op(v, op, "there is no buffer number %d", op->sym);
    return;
  }
  const Buffer *b = &v->m->buffers[op->sym];
  bool stores = op_info[op->code].flags & OPF_WRITE;
  if (op->ver < 0 || (op->ver && op->code != OP_LOAD && op->code != OP_STORE))
    fail_op(v, op, "version %d is negative, or not of a single element", op->ver);
  if (op->flags & ~(op->code == OP_LOAD ? LOAD_AROUND : 0))
    fail_op(v, op, "unknown flags %d", op->flags);
  check_place(v, op, buffer_rank(v->m, op->sym), TY_I64, buffer_type(v->m, op->sym), b->name);
  if (op->code == OP_VLOAD || op->code == OP_VSTORE)
    check_whole_rows(v, op, op->sym, op->count * type_size(buffer_type(v->m, op->sym)));
  ArrayRole role = b->kind == BUFFER_PARAM ? v->m->param_arrays[b->field].role : ARRAY_GIVEN;
  bool series = role == ARRAY_SERIES;
  if (stores && b->kind == BUFFER_PARAM && !series && role != ARRAY_STATE)
    fail_op(v, op, "launch-time array '%s' cannot be written", b->name);
  if (!stores && series)
    fail_op(v, op, "the series '%s' is only written", b->name);
  if (stores && b->kind == BUFFER_FIELD && v->m->fields[b->field].input && v->k->steps > 0)
    fail_op(v, op, "field '%s' is input and cannot be written", v->m->fields[b->field].name);
}

/* The array that `op` names; NULL, after reporting, if there is none, or if it must be shared and is not. */
static const Array *named_array(Verifier *v, const Op *op) {
  if (op->sym < 0 || op->sym >= v->k->narrays) {
    fail_op(v, op, "there is no array number %d", op->sym);
    return NULL;
  }
  const Array *a = &v->k->arrays[op->sym];
  if (op->ver < 0)
    fail_op(v, op, "version %d is negative", op->ver);
  if (op->code == OP_ALOAD || op->code == OP_ASTORE || a->space == SPACE_SHARED)
    return a;
  fail_op(v, op, "array '%s' is private, must be shared", a->name);
  return NULL;
}

static void check_array_use(Verifier *v, const Op *op) {
  const Array *a = named_array(v, op);
  if (a)
    check_place(v, op, a->rank, TY_I32, a->type, a->name);
}

/* Checks the offsets of a place in buffer op->from, of rank `rank`. */
static void check_from_offsets(Verifier *v, const Op *op, int rank) {
  for (int d = 0; d < rank; d++)
    if (op->from_off[d] > MAX_OFFSET || op->from_off[d] < -MAX_OFFSET)
      fail_op(v, op, "offset %lld is out of range", (long long)op->from_off[d]);
}

/* async.copy: checks both places, and that the elements have one type. */
static void check_copy(Verifier *v, const Op *op) {
  const Array *a = named_array(v, op);
  if (!a)
    return;
  if (op->from < 0 || op->from >= v->m->nbuffers) {
    fail_op(v, op, "there is no buffer number %d", op->from);
    return;
  }
  int rank = buffer_rank(v->m, op->from);
  if (op->noperands != a->rank + rank) {
    fail_op(v, op, "%d indices, but '%s' and '%s' have ranks %d and %d", op->noperands, a->name,
            v->m->buffers[op->from].name, a->rank, rank);
    return;
  }
  check_indices(v, op, 0, a->rank, TY_I32);
  check_indices(v, op, a->rank, rank, TY_I64);
  if (buffer_type(v->m, op->from) != a->type)
    fail_op(v, op, "'%s' is %s, but '%s' is %s", a->name, type_name(a->type), v->m->buffers[op->from].name,
            type_name(buffer_type(v->m, op->from)));
  check_count(v, op, a->type);
  check_whole_rows(v, op, op->from, op->count * type_size(a->type));
  check_offsets(v, op, a->rank, INT32_MAX);
  check_from_offsets(v, op, rank);
}

/* Checks a for that makes the rounds at edges, or those between: a for that runs a loop in parts contains directly one
 * of each, the rounds at edges first. */
static void check_part(Verifier *v, const Op *op) {
  int part = op->flags & (FOR_EDGES | FOR_MIDDLE);
  const Op *parts = op->parent->parent;
  if (part == (FOR_EDGES | FOR_MIDDLE))
    fail_op(v, op, "its rounds are either edges or middle");
  if (part && (!parts || parts->code != OP_FOR || !parts->count))
    fail_op(v, op, "%s stands for a part of a streaming loop, directly in a for of parts",
            part == FOR_EDGES ? "edges" : "middle");
  for (const Op *before = op->prev; part && before; before = before->prev)
    if (before->code == OP_FOR && (before->flags & (part | FOR_MIDDLE)))
      fail_op(v, op, "a for of parts has one for of edges, and behind it one of middle");
  if (op->count < 0 || (op->count && op->nresults))
    fail_op(v, op, "parts has the rounds of a streaming loop without results");
}

/* The array of signals number `i` that `op` names; NULL, after reporting, if it is none. */
static const Array *signal_array(Verifier *v, const Op *op, int i) {
  if (i < 0 || i >= v->k->narrays) {
    fail_op(v, op, "there is no array number %d", i);
    return NULL;
  }
  const Array *a = &v->k->arrays[i];
  if (a->space == SPACE_SHARED && a->type == TY_I64)
    return a;
  fail_op(v, op, "array '%s' is %s %s, but signals are in shared arrays of i64", a->name,
          a->space == SPACE_SHARED ? "shared" : "private", type_name(a->type));
  return NULL;
}

/* Checks an op on a signal: the value before the place has type i32, or there is none. */
static void check_signal(Verifier *v, const Op *op) {
  const Array *a = signal_array(v, op, op->sym);
  int n = op_signal_values(op);
  if (!a)
    return;
  if (op->noperands != n + a->rank) {
    fail_op(v, op, "%d indices, but '%s' has rank %d", op->noperands - n, a->name, a->rank);
    return;
  }
  for (int i = 0; i < op->noperands; i++)
    expect_type(v, op, i, TY_I32, i < n ? "the value before the signal" : "an index");
  check_offsets(v, op, a->rank, INT32_MAX);
}

/* Checks a bulk copy: both places, one element type, the number of elements, and the signal of a load. */
static void check_bulk(Verifier *v, const Op *op) {
  const Array *a = named_array(v, op), *s = op->code == OP_BULK_LOAD ? signal_array(v, op, op->signal) : NULL;
  if (!a || (!s && op->code == OP_BULK_LOAD))
    return;
  if (op->from < 0 || op->from >= v->m->nbuffers) {
    fail_op(v, op, "there is no buffer number %d", op->from);
    return;
  }
  const Buffer *b = &v->m->buffers[op->from];
  int rank = buffer_rank(v->m, op->from), at = a->rank + rank, signal = s ? s->rank : 0;
  if (op->noperands != at + 1 + signal) {
    fail_op(v, op, "%d operands, must be %d", op->noperands, at + 1 + signal);
    return;
  }
  check_indices(v, op, 0, a->rank, TY_I32);
  check_indices(v, op, a->rank, rank, TY_I64);
  check_indices(v, op, at + 1, signal, TY_I32);
  expect_type(v, op, at, TY_I32, "the number of elements");
  if (buffer_type(v->m, op->from) != a->type)
    fail_op(v, op, "'%s' is %s, but '%s' is %s", a->name, type_name(a->type), b->name,
            type_name(buffer_type(v->m, op->from)));
  if (op->code == OP_BULK_STORE &&
      (b->kind == BUFFER_PARAM || (b->kind == BUFFER_FIELD && v->m->fields[b->field].input)))
    fail_op(v, op, "'%s' cannot be written", b->name);
  check_whole_rows(v, op, op->from, VECTOR_BYTES);
  check_offsets(v, op, a->rank, INT32_MAX);
  check_from_offsets(v, op, rank);
}

/* Checks that an op on clusters is in a kernel with clusters; false after reporting that it is not. */
static bool check_cluster(Verifier *v, const Op *op) {
  if (v->k && !v->k->cluster)
    fail_op(v, op, "the kernel has no clusters of blocks");
  return v->k && v->k->cluster;
}

/* Checks a store to another block: values of one type, their place, and the signal that counts their bytes. */
static void check_send(Verifier *v, const Op *op) {
  const Array *a = check_cluster(v, op) ? named_array(v, op) : NULL, *s = a ? signal_array(v, op, op->signal) : NULL;
  if (!s)
    return;
  int n = op->count, size = type_size(a->type);
  if (n < 1 || n & (n - 1) || n * size > VECTOR_BYTES || (size != 4 && size != 8)) {
    fail_op(v, op, "%d values of %d bytes; one op stores 1, 2 or 4 of 4 bytes, or 1 or 2 of 8", n, size);
    return;
  }
  if (op->noperands != n + a->rank + s->rank) {
    fail_op(v, op, "%d operands, must be %d", op->noperands, n + a->rank + s->rank);
    return;
  }
  for (int i = 0; i < n; i++)
    expect_type(v, op, i, a->type, "what is stored");
  check_indices(v, op, n, a->rank, TY_I32);
  check_indices(v, op, n + a->rank, s->rank, TY_I32);
  if (a->space != SPACE_SHARED)
    fail_op(v, op, "array '%s' is private; other blocks reach shared ones alone", a->name);
  if (op->from_off[0] != 1 && op->from_off[0] != -1)
    fail_op(v, op, "to the block %lld on; only the one before and the one behind are reached",
            (long long)op->from_off[0]);
  check_offsets(v, op, a->rank, INT32_MAX);
}

/* Checks a prefetch: a place in a buffer, and the number of elements. */
static void check_fetch(Verifier *v, const Op *op) {
  if (op->from < 0 || op->from >= v->m->nbuffers) {
    fail_op(v, op, "there is no buffer number %d", op->from);
    return;
  }
  int rank = buffer_rank(v->m, op->from);
  if (op->noperands != rank + 1) {
    fail_op(v, op, "%d operands, must be %d", op->noperands, rank + 1);
    return;
  }
  check_indices(v, op, 0, rank, TY_I64);
  expect_type(v, op, rank, TY_I32, "the number of elements");
  check_whole_rows(v, op, op->from, VECTOR_BYTES);
  check_from_offsets(v, op, rank);
}

/* Checks the operands, block arguments and results of a for. */
static void check_for(Verifier *v, const Op *op) {
  if (op->noperands < 2 || op->nblocks != 1 || op->nresults != op->noperands - 2 ||
      op->blocks[0]->nargs != op->noperands - 1) {
    fail_op(v, op, "%d operands, %d results, %d blocks do not make a loop", op->noperands, op->nresults, op->nblocks);
    return;
  }
  expect_class(v, op, 0, OPERANDS_INDICES);
  expect_type(v, op, 1, op->operands[0]->type, "the upper bound");
  if (op->blocks[0]->args[0]->type != op->operands[0]->type)
    fail_op(v, op, "the induction variable is not of the bounds' type");
  for (int i = 0; i < op->nresults; i++)
    if (op->operands[i + 2]->type != op->results[i]->type || op->blocks[0]->args[i + 1]->type != op->results[i]->type)
      fail_op(v, op, "initial value, argument and result %d differ in type", i);
  if (op->off[0] <= 0)
    fail_op(v, op, "the step is %lld, must be at least 1", (long long)op->off[0]);
  if (op->flags & ~(FOR_UNROLL | FOR_PARALLEL | FOR_EDGES | FOR_MIDDLE | FOR_APART | FOR_MASKED))
    fail_op(v, op, "unknown flags %d", op->flags);
  if ((op->flags & FOR_MASKED) && !(op->flags & FOR_PARALLEL))
    fail_op(v, op, "masked rounds are parallel");
  check_part(v, op);
}

/* Checks the if that chooses between the versions for tiles at no edge and for the others: its condition must be
 * uniform in the block, and the kernel has only one. */
static void check_interior(Verifier *v, const Op *op) {
  if (op->parent->parent || op->nresults)
    fail_op(v, op, "interior chooses between versions of a kernel: directly in its body, without results");
  if (!value_is_uniform(op->operands[0]))
    fail_op(v, op, "interior needs a condition that is the same for all threads of a block");
  for (const Op *before = op->prev; before; before = before->prev)
    if (before->code == OP_IF && (before->flags & IF_INTERIOR))
      fail_op(v, op, "a kernel has one choice of versions");
}

static void check_if(Verifier *v, const Op *op) {
  if (op->nblocks != 2)
    fail_op(v, op, "%d blocks, must be 2", op->nblocks);
  if (op->flags & ~IF_INTERIOR)
    fail_op(v, op, "unknown flags %d", op->flags);
  if (op->flags & IF_INTERIOR)
    check_interior(v, op);
  for (int i = 0; i < op->nblocks; i++)
    if (op->blocks[i]->nargs)
      fail_op(v, op, "its blocks take no arguments");
}

/* Checks that composite values are only constructed, taken apart and yielded; false after reporting another use. */
static bool check_composite_use(Verifier *v, const Op *op) {
  for (int i = 0; i < op->noperands && op->code != OP_CONSTRUCT && op->code != OP_EXTRACT && op->code != OP_YIELD; i++)
    if (!type_is_scalar(op->operands[i]->type)) {
      fail_op(v, op, "operand %d is %s; only construct, extract and yield take composite values", i,
              type_text(v->m, op->operands[i]->type));
      return false;
    }
  return true;
}

/* Checks `op`, an op on the registers of threads. */
static void check_registers(Verifier *v, const Op *op) {
  if (op->count < LEAST_SET_REGISTERS || op->count > MOST_SET_REGISTERS || op->count % REGISTERS_STEP)
    fail_op(v, op, "%d registers, must be a multiple of %d from %d to %d", op->count, REGISTERS_STEP,
            LEAST_SET_REGISTERS, MOST_SET_REGISTERS);
  check_near(v, op);
}

/* Checks the rules of the op's form. */
static void check_form(Verifier *v, const Op *op) {
  switch (op_info[op->code].form) {
  case FORM_PLAIN:
    if (op->code == OP_CONSTRUCT)
      check_construct(v, op);
    else if (op->code == OP_BARRIER_NEAR || op_meets_warp(op))
      check_near(v, op);
    else if (op->code == OP_CLUSTER_RANK || op->code == OP_BARRIER_CLUSTER)
      check_cluster(v, op);
    break;
  case FORM_MEMBER: check_extract(v, op); break;
  case FORM_ELEMENT: check_element(v, op); break;
  case FORM_LANE: check_shuffle(v, op); break;
  case FORM_CONST: check_const(v, op); break;
  case FORM_SCALAR: check_scalar_use(v, op); break;
  case FORM_ACCESS: check_access(v, op); break;
  case FORM_DIM: check_dim(v, op); break;
  case FORM_GLOBAL: check_global(v, op); break;
  case FORM_ARRAY: check_array_use(v, op); break;
  case FORM_COPY: check_copy(v, op); break;
  case FORM_COUNT:
    if (op_is_registers(op))
      check_registers(v, op);
    else if (op->count < 0 || op->count > MAX_GROUPS)
      fail_op(v, op, "%d groups, must be 0 to %d", op->count, MAX_GROUPS);
    break;
  case FORM_SIGNAL: check_signal(v, op); break;
  case FORM_BULK: check_bulk(v, op); break;
  case FORM_SEND: check_send(v, op); break;
  case FORM_FETCH: check_fetch(v, op); break;
  case FORM_BOX:
  case FORM_MAP: check_boxed(v, op); break;
  case FORM_FOR: check_for(v, op); break;
  case FORM_IF: check_if(v, op); break;
  }
}

/* ---- any op */

/* Checks that `op` may stand in the present context. */
static bool check_level(Verifier *v, const Op *op) {
  const OpInfo *info = &op_info[op->code];
  bool expr = info->level == LEVEL_BOTH && info->flags && op->code != OP_STEP;
  bool ok = v->context == CONTEXT_EXPR      ? expr
            : v->context == CONTEXT_ELEMENT ? expr || (op->code == OP_INDEX && op->sym == 0)
            : v->context == CONTEXT_PIECE   ? (info->level & LEVEL_SIR) != 0
                                            : (info->level & LEVEL_KIR) != 0;
  if (!ok)
    fail_op(v, op, "may not stand in %s",
            v->context == CONTEXT_EXPR      ? "a scalar's expression"
            : v->context == CONTEXT_ELEMENT ? "what an element of an array is"
            : v->context == CONTEXT_PIECE   ? "stencil IR"
                                            : "kernel IR");
  return ok;
}

/* Checks that the operands exist, are as many as the table says, and are in scope. */
static bool check_operands(Verifier *v, const Op *op) {
  int want = op_info[op->code].noperands, errors = v->errors;
  if (want >= 0 && op->noperands != want) {
    fail_op(v, op, "%d operands, must be %d", op->noperands, want);
    return false;
  }
  for (int i = 0; i < op->noperands; i++) {
    const Value *x = op->operands[i];
    if (!x)
      fail_op(v, op, "operand %d is missing", i);
    else if (!v->table[find_place(v, x)])
      fail_op(v, op, "operand %d (%%%d) is not defined before it in its block or one around it", i, x->id);
  }
  return v->errors == errors;
}

/* The result type that the table derives for `op`; TY_NONE if the table leaves it open. */
static Type derived_type(const Op *op) {
  switch (op_info[op->code].result) {
  case RESULT_SAME: return op->operands[0]->type;
  case RESULT_OP1: return op->operands[1]->type;
  case RESULT_BOOL: return TY_BOOL;
  case RESULT_I32: return TY_I32;
  case RESULT_I64: return TY_I64;
  default: return TY_NONE;
  }
}

/* Checks that the results exist, belong to `op`, and have the types that the table derives. */
static bool check_results(Verifier *v, const Op *op) {
  OpResult rule = op_info[op->code].result;
  int want = rule == RESULT_MANY ? op->count : rule != RESULT_NONE;
  if (rule != RESULT_MULTI && (op->nresults != want || (rule == RESULT_MANY && want < 2))) {
    fail_op(v, op, "%d results, must be %d", op->nresults, want < 2 && rule == RESULT_MANY ? 2 : want);
    return false;
  }
  for (int i = 0; i < op->nresults; i++) {
    const Value *x = op->results[i];
    bool composite =
        x && (op_reads_field(op) || op->code == OP_BEHIND || op->code == OP_CONSTRUCT || op->code == OP_EXTRACT) &&
        type_composite(v->m, x->type);
    if (!x || x->def != op || x->index != i || (!type_is_scalar(x->type) && !composite)) {
      fail_op(v, op, "result %d is not a value made by this op", i);
      return false;
    }
  }
  for (int i = 1; i < op->nresults && rule == RESULT_MANY; i++)
    if (op->results[i]->type != op->results[0]->type) {
      fail_op(v, op, "result %d is %s, result 0 is %s; they must agree", i, type_name(op->results[i]->type),
              type_name(op->results[0]->type));
      return false;
    }
  bool drawn = op->code == OP_RANDOM || op->code == OP_NORMAL;
  if (drawn && op->results[0]->type != TY_F32 && op->results[0]->type != TY_F64)
    fail_op(v, op, "the result is %s, must be f32 or f64", type_name(op->results[0]->type));
  Type t = derived_type(op);
  if (t != TY_NONE && op->results[0]->type != t)
    fail_op(v, op, "the result is %s, must be %s", type_name(op->results[0]->type), type_name(t));
  return true;
}

/* Checks that the nested blocks exist and belong to `op`. */
static bool check_blocks(Verifier *v, const Op *op) {
  for (int i = 0; i < op->nblocks; i++)
    if (!op->blocks[i] || op->blocks[i]->parent != op) {
      fail_op(v, op, "block %d does not belong to this op", i);
      return false;
    }
  return true;
}

static void check_block(Verifier *v, const Block *b, const char *what, int n, const Type *types);

/* Checks the contents and the yields of the blocks of `op`. */
static void check_nested(Verifier *v, const Op *op) {
  Type *types = ARENA_ARRAY(v->m->arena, Type, op->nresults);
  for (int i = 0; i < op->nresults; i++)
    types[i] = op->results[i]->type;
  for (int i = 0; i < op->nblocks; i++)
    check_block(v, op->blocks[i], op_info[op->code].name, op->nresults, types);
}

static void check_op(Verifier *v, const Op *op) {
  if ((unsigned)op->code >= OP_COUNT) {
    verify_fail(v, op->loc, "there is no op number %d", (int)op->code);
    return;
  }
  bool sound = check_level(v, op) && check_operands(v, op) && check_results(v, op) && check_blocks(v, op);
  if (sound && check_composite_use(v, op)) {
    check_operand_types(v, op);
    check_form(v, op);
    check_nested(v, op);
  }
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i] && !enter(v, op->results[i]))
      fail_op(v, op, "result %d (%%%d) is defined twice", i, op->results[i]->id);
}

/* Checks that `b` ends by yielding values of the `n` types; `what` names its owner in messages. Only a block without
 * results may lack the yield. */
static void check_yield(Verifier *v, const Block *b, const char *what, int n, const Type *types) {
  const Op *y = b->last && b->last->code == OP_YIELD ? b->last : NULL;
  Loc at = b->last ? b->last->loc : no_loc();
  if (!y && n)
    verify_fail(v, at, "a block of %s must end in a yield of %d values", what, n);
  if (!y)
    return;
  if (y->noperands != n)
    fail_op(v, y, "%d values, but %s needs %d", y->noperands, what, n);
  for (int i = 0; i < n && i < y->noperands; i++)
    if (y->operands[i] && y->operands[i]->type != types[i])
      fail_op(v, y, "value %d is %s, but %s needs %s", i, type_text(v->m, y->operands[i]->type), what,
              type_text(v->m, types[i]));
}

/* Checks the ops of `b` in order; at the end its values leave the scope. */
static void check_block(Verifier *v, const Block *b, const char *what, int n, const Type *types) {
  int depth = v->depth;
  for (int i = 0; i < b->nargs; i++)
    if (!b->args[i] || b->args[i]->block != b || b->args[i]->def || b->args[i]->index != i || !enter(v, b->args[i]))
      verify_fail(v, no_loc(), "argument %d of a block of %s is not tied to it", i, what);
  for (const Op *op = b->first; op; op = op->next) {
    if (op->parent != b || (op->next ? op->next->prev != op : b->last != op)) {
      verify_fail(v, op->loc, "the op list of a block of %s is broken", what);
      break;
    }
    check_op(v, op);
    if (op->code == OP_YIELD && op->next)
      fail_op(v, op, "must be the last op of its block");
  }
  check_yield(v, b, what, n, types);
  leave_to(v, depth);
}

void verify_body(Verifier *v, const Block *b, const char *what, int n, const Type *types) {
  if (!b || b->parent || b->nargs) {
    verify_fail(v, no_loc(), "%s has no body, or one with arguments or a parent", what);
    return;
  }
  start_scope(v, b);
  check_block(v, b, what, n, types);
}
