/* ir/build.c: making ops. */
#include "ir/ir.h"

Builder builder_at_end(Arena *a, Block *b) { return (Builder){.arena = a, .block = b}; }
Builder builder_before(Arena *a, Op *op) {
  return (Builder){.arena = a, .block = op->parent, .before = op, .loc = op->loc};
}

Op *op_new(Arena *a, int nresults, int noperands, int nblocks) {
  size_t pointers = (size_t)nresults + (size_t)noperands + (size_t)nblocks;
  Value *values = arena_alloc(a, (size_t)nresults * sizeof *values + pointers * sizeof(void *) + sizeof(Op));
  Value **results = (Value **)(values + nresults), **operands = results + nresults;
  Block **blocks = (Block **)(operands + noperands);
  Op *op = (Op *)(blocks + nblocks);
  for (int i = 0; i < nresults; i++)
    results[i] = &values[i];
  *op = (Op){.nresults = nresults, .noperands = noperands, .nblocks = nblocks};
  op->results = results;
  op->operands = operands;
  op->blocks = blocks;
  return op;
}

/* The type of the result of `code`: as its table row derives it from the operands, or `t` if the row leaves it open;
 * TY_NONE for no result. */
static Type result_type(Opcode code, Type t, int n, Value *const *operands) {
  switch (op_info[code].result) {
  case RESULT_SAME: return n > 0 ? operands[0]->type : t;
  case RESULT_OP1: return n > 1 ? operands[1]->type : t;
  case RESULT_BOOL: return TY_BOOL;
  case RESULT_I32: return TY_I32;
  case RESULT_I64: return TY_I64;
  case RESULT_ANY: return t;
  default: return TY_NONE;
  }
}

/* Gives `op` `n` results of the given types. */
static void set_results(Arena *a, Op *op, int n, const Type *types) {
  op->nresults = n;
  op->results = ARENA_ARRAY(a, Value *, n);
  for (int i = 0; i < n; i++) {
    op->results[i] = ARENA_NEW(a, Value);
    *op->results[i] = (Value){.type = types[i], .index = i, .def = op};
  }
}

/* Inserts an op with `count` results of type `t` and the given operands at the builder's place. */
static Op *new_op(Builder *b, Opcode code, Type t, int count, int n, Value *const *operands) {
  Op *op = op_new(b->arena, count, n, 0);
  op->code = code;
  op->loc = b->loc;
  for (int i = 0; i < count; i++)
    *op->results[i] = (Value){.type = t, .index = i, .def = op};
  for (int i = 0; i < n; i++)
    op->operands[i] = operands[i];
  op_insert(b->block, b->before, op);
  return op;
}

Op *build_op(Builder *b, Opcode code, Type t, int n, Value *const *operands) {
  OpResult rule = op_info[code].result;
  int count = rule != RESULT_NONE && rule != RESULT_MULTI;
  return new_op(b, code, count ? result_type(code, t, n, operands) : TY_NONE, count, n, operands);
}

Op *build_op_of_many(Builder *b, Opcode code, Type t, int count, int n, Value *const *operands) {
  Op *op = new_op(b, code, t, count, n, operands);
  op->count = count;
  return op;
}

Value *build_const(Builder *b, Type t, Const c) {
  Op *op = build_op(b, OP_CONST, t, 0, NULL);
  op->cval = c;
  return op->results[0];
}

Value *build_int(Builder *b, Type t, int64_t i) { return build_const(b, t, const_convert((Const){.i = i}, TY_I64, t)); }
Value *build_float(Builder *b, Type t, double f) {
  return build_const(b, t, const_convert((Const){.f = f}, TY_F64, t));
}

Value *build_scalar(Builder *b, Type t, int scalar) {
  Op *op = build_op(b, OP_SCALAR, t, 0, NULL);
  op->sym = scalar;
  return op->results[0];
}

Value *build1(Builder *b, Opcode code, Value *x) { return build_op(b, code, x->type, 1, (Value *[]){x})->results[0]; }
Value *build2(Builder *b, Opcode code, Value *x, Value *y) {
  return build_op(b, code, x->type, 2, (Value *[]){x, y})->results[0];
}

Value *build3(Builder *b, Opcode code, Value *x, Value *y, Value *z) {
  return build_op(b, code, y->type, 3, (Value *[]){x, y, z})->results[0];
}

Value *build_convert(Builder *b, Type t, Value *x) {
  return x->type == t ? x : build_op(b, OP_CONVERT, t, 1, &x)->results[0];
}

/* Sets the `rank` constant offsets of `op` to those at `off`; NULL: all zero. */
static void set_offsets(Op *op, int rank, const int64_t *off) {
  for (int d = 0; off && d < rank; d++)
    op->off[d] = off[d];
}

/* Makes the op `code`, a read of `field`, of type `t`, at `off`. */
static Value *build_read(Builder *b, Opcode code, Type t, int field, const int64_t *off, int rank) {
  Op *op = build_op(b, code, t, 0, NULL);
  op->sym = field;
  set_offsets(op, rank, off);
  return op->results[0];
}

Value *build_access(Builder *b, Type t, int field, const int64_t *off, int rank) {
  return build_read(b, OP_ACCESS, t, field, off, rank);
}

Value *build_behind(Builder *b, Type t, int field, const int64_t *off, int rank) {
  return build_read(b, OP_BEHIND, t, field, off, rank);
}

Value *build_fine(Builder *b, Type t, int field, const int64_t *off, int rank) {
  return build_read(b, OP_FINE, t, field, off, rank);
}

Value *build_coarse(Builder *b, Type t, int field, const int64_t *off, int rank) {
  return build_read(b, OP_COARSE, t, field, off, rank);
}

Value *build_construct(Builder *b, Type t, int n, Value *const *members) {
  return build_op(b, OP_CONSTRUCT, t, n, members)->results[0];
}

Value *build_extract(Builder *b, Type t, Value *x, int member) {
  Op *op = build_op(b, OP_EXTRACT, t, 1, &x);
  op->sym = member;
  return op->results[0];
}

Value *build_element(Builder *b, Type t, int param_array, Value *index) {
  Op *op = build_op(b, OP_ELEMENT, t, 1, &index);
  op->sym = param_array;
  return op->results[0];
}

Value *build_shuffle(Builder *b, Value *x, int mask) { return build_shift_lanes(b, OP_SHUFFLE, x, mask); }

Value *build_shift_lanes(Builder *b, Opcode code, Value *x, int by) {
  Op *op = build_op(b, code, x->type, 1, &x);
  op->off[0] = by;
  return op->results[0];
}

Value *build_dim(Builder *b, Opcode code, int dim) {
  Op *op = build_op(b, code, TY_NONE, 0, NULL);
  op->sym = dim;
  return op->results[0];
}

Value *build_step(Builder *b) { return build_op(b, OP_STEP, TY_NONE, 0, NULL)->results[0]; }

Value *build_inside(Builder *b, int rank, Value *const *coords, const Box *box) {
  Op *op = build_op(b, OP_INSIDE, TY_NONE, rank, coords);
  Box *copy = ARENA_NEW(b->arena, Box);
  *copy = *box;
  op->box = copy;
  return op->results[0];
}

Value *build_map(Builder *b, Opcode code, Value *coord, int64_t off, Affine lo, Affine hi) {
  Op *op = build_op(b, code, TY_NONE, 1, &coord);
  Box *box = ARENA_NEW(b->arena, Box);
  box->rank = 1;
  box->lo[0] = lo;
  box->hi[0] = hi;
  op->box = box;
  op->off[0] = off;
  return op->results[0];
}

Value *build_guard(Builder *b, Value *coord, int64_t off, Affine lo, Affine hi, int n) {
  Value *v = build_map(b, OP_GUARD, coord, off, lo, hi);
  v->def->count = n > 1 ? n : 0;
  return v;
}

Value *build_load(Builder *b, Type t, int buffer, int rank, Value *const *coords, const int64_t *off) {
  Op *op = build_op(b, OP_LOAD, t, rank, coords);
  op->sym = buffer;
  set_offsets(op, rank, off);
  return op->results[0];
}

/* Makes a store op, whose operands are `v` and then the `rank` coordinates. */
static Op *build_storing(Builder *b, Opcode code, int sym, Value *v, int rank, Value *const *coords,
                         const int64_t *off) {
  Value *operands[MAX_RANK + 1] = {v};
  for (int d = 0; d < rank; d++)
    operands[d + 1] = coords[d];
  Op *op = build_op(b, code, TY_NONE, rank + 1, operands);
  op->sym = sym;
  set_offsets(op, rank, off);
  return op;
}

Op *build_store(Builder *b, int buffer, Value *v, int rank, Value *const *coords, const int64_t *off) {
  return build_storing(b, OP_STORE, buffer, v, rank, coords, off);
}

Value *build_aload(Builder *b, Type t, int array, int ver, int rank, Value *const *idx, const int64_t *off) {
  Op *op = build_op(b, OP_ALOAD, t, rank, idx);
  op->sym = array;
  op->ver = ver;
  set_offsets(op, rank, off);
  return op->results[0];
}

Op *build_astore(Builder *b, int array, int ver, Value *v, int rank, Value *const *idx, const int64_t *off) {
  Op *op = build_storing(b, OP_ASTORE, array, v, rank, idx, off);
  op->ver = ver;
  return op;
}

Op *build_barrier(Builder *b) { return build_op(b, OP_BARRIER, TY_NONE, 0, NULL); }

Op *build_vload(Builder *b, Type t, int n, int buffer, int rank, Value *const *coords, const int64_t *off) {
  Op *op = build_op_of_many(b, OP_VLOAD, t, n, rank, coords);
  op->sym = buffer;
  set_offsets(op, rank, off);
  return op;
}

/* An array of the `n` values at `x` followed by the `m` values at `y`. */
static Value **join(Arena *a, int n, Value *const *x, int m, Value *const *y) {
  Value **all = ARENA_ARRAY(a, Value *, n + m);
  for (int i = 0; i < n; i++)
    all[i] = x[i];
  for (int i = 0; i < m; i++)
    all[n + i] = y[i];
  return all;
}

/* Makes a store of `n` values, whose operands are the values and then the `rank` coordinates. */
static Op *build_storing_many(Builder *b, Opcode code, int sym, int n, Value *const *v, int rank, Value *const *coords,
                              const int64_t *off) {
  Op *op = build_op(b, code, TY_NONE, n + rank, join(b->arena, n, v, rank, coords));
  op->sym = sym;
  op->count = n;
  set_offsets(op, rank, off);
  return op;
}

Op *build_vstore(Builder *b, int buffer, int n, Value *const *v, int rank, Value *const *coords, const int64_t *off) {
  return build_storing_many(b, OP_VSTORE, buffer, n, v, rank, coords, off);
}

Op *build_avload(Builder *b, Type t, int n, int array, int ver, int rank, Value *const *idx, const int64_t *off) {
  Op *op = build_op_of_many(b, OP_AVLOAD, t, n, rank, idx);
  op->sym = array;
  op->ver = ver;
  set_offsets(op, rank, off);
  return op;
}

Op *build_avstore(Builder *b, int array, int ver, int n, Value *const *v, int rank, Value *const *idx,
                  const int64_t *off) {
  Op *op = build_storing_many(b, OP_AVSTORE, array, n, v, rank, idx, off);
  op->ver = ver;
  return op;
}

Op *build_async_copy(Builder *b, int array, int ver, int rank, Value *const *idx, const int64_t *off, int n, int buffer,
                     int buffer_rank, Value *const *coords, const int64_t *from_off) {
  Op *op = build_op(b, OP_ASYNC_COPY, TY_NONE, rank + buffer_rank, join(b->arena, rank, idx, buffer_rank, coords));
  op->sym = array;
  op->ver = ver;
  op->count = n;
  op->from = buffer;
  set_offsets(op, rank, off);
  for (int d = 0; from_off && d < buffer_rank; d++)
    op->from_off[d] = from_off[d];
  return op;
}

Op *build_async_commit(Builder *b) { return build_op(b, OP_ASYNC_COMMIT, TY_NONE, 0, NULL); }

Op *build_async_wait(Builder *b, int groups) {
  Op *op = build_op(b, OP_ASYNC_WAIT, TY_NONE, 0, NULL);
  op->count = groups;
  return op;
}

Op *build_signal(Builder *b, Opcode code, int array, Value *value, int rank, Value *const *idx, const int64_t *off) {
  Op *op = build_op(b, code, TY_NONE, rank + (value != NULL), join(b->arena, value != NULL, &value, rank, idx));
  op->sym = array;
  set_offsets(op, rank, off);
  return op;
}

Op *build_bulk(Builder *b, Opcode code, int ver, BulkPlace array, BulkPlace buffer, Value *n, BulkPlace signal) {
  int places = array.rank + buffer.rank;
  Value **of = join(b->arena, array.rank, array.at, buffer.rank, buffer.at);
  Value **all = join(b->arena, places + 1, join(b->arena, places, of, 1, &n), signal.rank, signal.at);
  Op *op = build_op(b, code, TY_NONE, places + 1 + signal.rank, all);
  op->sym = array.of;
  op->ver = ver;
  op->from = buffer.of;
  op->signal = signal.of;
  set_offsets(op, array.rank, array.off);
  for (int d = 0; buffer.off && d < buffer.rank; d++)
    op->from_off[d] = buffer.off[d];
  return op;
}

Op *build_send(Builder *b, int ver, int n, Value *const *values, BulkPlace array, int to, BulkPlace signal) {
  Value **all = join(b->arena, n, values, array.rank, array.at);
  all = join(b->arena, n + array.rank, all, signal.rank, signal.at);
  Op *op = build_op(b, OP_CLUSTER_STORE, TY_NONE, n + array.rank + signal.rank, all);
  op->sym = array.of;
  op->ver = ver;
  op->count = n;
  op->signal = signal.of;
  op->from_off[0] = to;
  set_offsets(op, array.rank, array.off);
  return op;
}

Op *build_prefetch(Builder *b, BulkPlace buffer, Value *n) {
  Op *op = build_op(b, OP_BULK_PREFETCH, TY_NONE, buffer.rank + 1, join(b->arena, buffer.rank, buffer.at, 1, &n));
  op->from = buffer.of;
  for (int d = 0; buffer.off && d < buffer.rank; d++)
    op->from_off[d] = buffer.off[d];
  return op;
}

Value *build_elect(Builder *b) { return build_op(b, OP_ELECT, TY_NONE, 0, NULL)->results[0]; }

Value *build_cluster_rank(Builder *b) { return build_op(b, OP_CLUSTER_RANK, TY_NONE, 0, NULL)->results[0]; }

Op *build_bare(Builder *b, Opcode code) { return build_op(b, code, TY_NONE, 0, NULL); }

/* Gives `op` `n` empty nested blocks. */
static void set_blocks(Arena *a, Op *op, int n) {
  op->nblocks = n;
  op->blocks = ARENA_ARRAY(a, Block *, n);
  for (int i = 0; i < n; i++)
    op->blocks[i] = block_new(a, op);
}

Op *build_for(Builder *b, Value *lo, Value *hi, int64_t stride, int flags, int n, Value *const *init) {
  Value **operands = ARENA_ARRAY(b->arena, Value *, n + 2);
  Type *types = ARENA_ARRAY(b->arena, Type, n);
  operands[0] = lo;
  operands[1] = hi;
  for (int i = 0; i < n; i++) {
    operands[i + 2] = init[i];
    types[i] = init[i]->type;
  }
  Op *op = build_op(b, OP_FOR, TY_NONE, n + 2, operands);
  op->off[0] = stride;
  op->flags = flags;
  set_results(b->arena, op, n, types);
  set_blocks(b->arena, op, 1);
  block_add_arg(b->arena, op->blocks[0], lo->type);
  for (int i = 0; i < n; i++)
    block_add_arg(b->arena, op->blocks[0], types[i]);
  return op;
}

Op *build_if(Builder *b, Value *cond, int n, const Type *types) {
  Op *op = build_op(b, OP_IF, TY_NONE, 1, &cond);
  set_results(b->arena, op, n, types);
  set_blocks(b->arena, op, 2);
  return op;
}

Builder builder_in(const Builder *b, Block *block) {
  Builder in = builder_at_end(b->arena, block);
  in.loc = b->loc;
  return in;
}

Builder build_then(Builder *b, Value *cond) { return builder_in(b, build_if(b, cond, 0, NULL)->blocks[0]); }

Value *build_value_or(Builder *b, Value *cond, Type t, Const other, Builder *in) {
  Op *op = build_if(b, cond, 1, &t);
  Builder out = builder_in(b, op->blocks[1]);
  *in = builder_in(b, op->blocks[0]);
  build_yield(&out, 1, (Value *[]){build_const(&out, t, other)});
  return op->results[0];
}

Builder build_either(Builder *b, Value *cond, Builder *other) {
  Op *op = build_if(b, cond, 0, NULL);
  *other = builder_in(b, op->blocks[1]);
  return builder_in(b, op->blocks[0]);
}

Op *build_yield(Builder *b, int n, Value *const *values) { return build_op(b, OP_YIELD, TY_NONE, n, values); }

/* The scalar number `s` as an i64. */
static Value *scalar_i64(Builder *b, const Module *m, int s) {
  return build_convert(b, TY_I64, build_scalar(b, m->scalars[s].type, s));
}

Value *build_affine(Builder *b, const Module *m, Affine x) {
  Value *sum = NULL;
  for (int i = 0; i < x.n; i++) {
    Value *term = scalar_i64(b, m, x.t[i].scalar);
    if (x.t[i].coef != 1)
      term = build2(b, OP_MUL, term, build_int(b, TY_I64, x.t[i].coef));
    sum = sum ? build2(b, OP_ADD, sum, term) : term;
  }
  if (!sum)
    return build_int(b, TY_I64, x.c);
  return x.c ? build2(b, OP_ADD, sum, build_int(b, TY_I64, x.c)) : sum;
}
