/* ir/build.h: code that is made and changed: blocks and their copies (module.c), new ops (build.c), edits, and what is
 * asked of an op (module.c, uniform.c). */
#ifndef STC_IR_BUILD_H
#define STC_IR_BUILD_H

#include "ir/module.h"

Block *block_new(Arena *a, Op *parent);
Value *block_add_arg(Arena *a, Block *b, Type t);
/* A copy of `b` and all nested in it; `map`[id] (indexed by Value.id, may be NULL) gives the replacement of values
 * defined outside. Needs renumbered values. */
Block *block_clone(Arena *a, const Block *b, Op *parent, Value **map);

/* An op with room for so many results, operands and nested blocks, in no block yet; its results are zero, its operands
 * and blocks NULL. All of it is one piece of memory, the results in front: passes look at each op and its result again
 * and again, and what they wait for is the cache. */
Op *op_new(Arena *a, int nresults, int noperands, int nblocks);

/* Where new ops go: before `before`, or at the end of `block` if that is NULL. Ops built get `loc`. */
typedef struct Builder {
  Arena *arena;
  Block *block;
  Op *before;
  Loc loc;
} Builder;
Builder builder_at_end(Arena *a, Block *b);
Builder builder_before(Arena *a, Op *op);
/* The end of `block`, in an op that `b` built, for code of the same place in the source. */
Builder builder_in(const Builder *b, Block *block);

/* Makes an op with `n` operands and (unless RESULT says otherwise) one result of the type its table row derives; for
 * RESULT_ANY give it as `t`. */
Op *build_op(Builder *b, Opcode code, Type t, int n, Value *const *operands);
/* The same for an op of RESULT_MANY: it gets `count` results of type `t`. */
Op *build_op_of_many(Builder *b, Opcode code, Type t, int count, int n, Value *const *operands);
Value *build_const(Builder *b, Type t, Const c);
Value *build_int(Builder *b, Type t, int64_t i);
Value *build_float(Builder *b, Type t, double f);
Value *build_scalar(Builder *b, Type t, int scalar);
Value *build1(Builder *b, Opcode code, Value *x);
Value *build2(Builder *b, Opcode code, Value *x, Value *y);
Value *build3(Builder *b, Opcode code, Value *x, Value *y, Value *z);
Value *build_convert(Builder *b, Type t, Value *x); /* x itself if it is of that type */
Value *build_access(Builder *b, Type t, int field, const int64_t *off, int rank);
/* What a sweep has left of target `field` at that offset, behind the point. */
Value *build_behind(Builder *b, Type t, int field, const int64_t *off, int rank);
/* The value of `field`, of the next finer or the next coarser level, at that offset there. */
Value *build_fine(Builder *b, Type t, int field, const int64_t *off, int rank);
Value *build_coarse(Builder *b, Type t, int field, const int64_t *off, int rank);
/* A composite value of type `t` from its members; member `member`, of type `t`, of a composite value; element %index
 * (i64) of a launch-time array. */
Value *build_construct(Builder *b, Type t, int n, Value *const *members);
Value *build_extract(Builder *b, Type t, Value *x, int member);
Value *build_element(Builder *b, Type t, int param_array, Value *index);
/* The value `x` of the lane whose number is this one's exclusive-or `mask`. */
Value *build_shuffle(Builder *b, Value *x, int mask);
/* The value `x` of the lane lower (OP_SHUFFLE_UP) or higher (OP_SHUFFLE_DOWN) by `by`, at least 1 and less than the
 * warp has lanes; beyond those some stale value. */
Value *build_shift_lanes(Builder *b, Opcode code, Value *x, int by);
Value *build_dim(Builder *b, Opcode code, int dim); /* index, thread, block */
Value *build_step(Builder *b);
Value *build_inside(Builder *b, int rank, Value *const *coords, const Box *box);
Value *build_map(Builder *b, Opcode code, Value *coord, int64_t off, Affine lo, Affine hi);
/* OP_GUARD of the first of `n` elements that are moved from there. */
Value *build_guard(Builder *b, Value *coord, int64_t off, Affine lo, Affine hi, int n);
/* Memory of buffer `buffer` at `rank` coordinates (1 for a param or scratch buffer); off may be NULL for all zero. */
Value *build_load(Builder *b, Type t, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_store(Builder *b, int buffer, Value *v, int rank, Value *const *coords, const int64_t *off);
Value *build_aload(Builder *b, Type t, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_astore(Builder *b, int array, int ver, Value *v, int rank, Value *const *idx, const int64_t *off);
Op *build_barrier(Builder *b);
/* The same for `n` consecutive elements of the last dimension. Loads: the values are the op's results. */
Op *build_vload(Builder *b, Type t, int n, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_vstore(Builder *b, int buffer, int n, Value *const *v, int rank, Value *const *coords, const int64_t *off);
Op *build_avload(Builder *b, Type t, int n, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_avstore(Builder *b, int array, int ver, int n, Value *const *v, int rank, Value *const *idx,
                  const int64_t *off);
/* Starts copying `n` elements of buffer `buffer` from `buffer_rank` coordinates on to array `array` from `rank` indices
 * on. */
Op *build_async_copy(Builder *b, int array, int ver, int rank, Value *const *idx, const int64_t *off, int n, int buffer,
                     int buffer_rank, Value *const *coords, const int64_t *from_off);
Op *build_async_commit(Builder *b);
Op *build_async_wait(Builder *b, int groups);
/* An op on the signal of array `array` at the indices plus offsets; `value`: what stands before it, NULL: nothing. */
Op *build_signal(Builder *b, Opcode code, int array, Value *value, int rank, Value *const *idx, const int64_t *off);
/* An end of a bulk copy: the indices `at` plus `off` (NULL: 0) in array, buffer or array of signals number `of`. */
typedef struct BulkPlace {
  int of, rank;
  Value *const *at;
  const int64_t *off;
} BulkPlace;
/* bulk.load or bulk.store (then `signal` is empty) of `n` elements, an i32, of version `ver` of the array. */
Op *build_bulk(Builder *b, Opcode code, int ver, BulkPlace array, BulkPlace buffer, Value *n, BulkPlace signal);
/* cluster.store of the `n` values to the block whose rank is higher by `to`. */
Op *build_send(Builder *b, int ver, int n, Value *const *values, BulkPlace array, int to, BulkPlace signal);
/* bulk.prefetch of `n` elements, an i32. */
Op *build_prefetch(Builder *b, BulkPlace buffer, Value *n);
/* A value of an affine bound, i64. */
Value *build_affine(Builder *b, const Module *m, Affine x);
/* elect, a bool; cluster.rank, an i32. */
Value *build_elect(Builder *b);
Value *build_cluster_rank(Builder *b);
/* An op without operands and results. */
Op *build_bare(Builder *b, Opcode code);
/* A for with its block (induction variable of lo's type, then one argument for each of the n initial values; results
 * likewise), still empty. */
Op *build_for(Builder *b, Value *lo, Value *hi, int64_t stride, int flags, int n, Value *const *init);
/* An if with two empty blocks and n results of the types given. */
Op *build_if(Builder *b, Value *cond, int n, const Type *types);
/* The value that *in, where `cond` holds, is to yield, as the only one; else constant `other` of type `t`. */
Value *build_value_or(Builder *b, Value *cond, Type t, Const other, Builder *in);
/* What is done where `cond` holds (an if without results); in *other what else. */
Builder build_then(Builder *b, Value *cond);
Builder build_either(Builder *b, Value *cond, Builder *other);
Op *build_yield(Builder *b, int n, Value *const *values);

void op_insert(Block *b, Op *before, Op *op); /* before == NULL: at the end */
void op_unlink(Op *op);                       /* takes it out of its block */
/* The yield that ends `b`, or NULL. */
static inline const Op *block_yield(const Block *b) { return b->last && b->last->code == OP_YIELD ? b->last : NULL; }
/* Replaces the value in all operands below `b`, nested blocks included. Returns how many. */
int block_replace_uses(Block *b, const Value *old, Value *by);

/* Is block `b` (NULL: in none) in a block of `op`? */
bool block_is_within(const Block *b, const Op *op);
/* Calls fn for every op in `b` in order, nested ones after their parent. fn may unlink the op it is given. */
void block_walk(Block *b, void (*fn)(void *user, Op *op), void *user);

/* The buffer (the array) that `op` reads, and that it writes; the array that it reads or writes; -1: none. */
int op_buffer_read(const Op *op);
int op_buffer_written(const Op *op);
int op_array_read(const Op *op);
int op_array_written(const Op *op);
int op_array(const Op *op);
/* Elements that the memory op moves. The operand at which the indices of its place begin (of an async.copy: of the
 * array). */
int op_elements(const Op *op);
int op_first_index(const Op *op);
/* Have all threads of a block that reach `v`'s definition together the same value there? Loaded values and loop-carried
 * ones count as not: uniform.c. */
bool value_is_uniform(const Value *v);
/* Of an op on a signal: the values before its place. */
int op_signal_values(const Op *op);
/* The operand of bulk copy `op` of kernel `k` that is the number of elements. Before it stand the indices of the array
 * and those of the buffer, behind it those of the signal. */
int op_bulk_count(const Module *m, const Kernel *k, const Op *op);
/* Are there ops on signals in `b` or below? */
bool block_has_signals(const Block *b);
/* An op that orders warps, or copies beside them: on a signal, bulk.commit, bulk.wait, fence.async, barrier.warp,
 * barrier.cluster or cluster.store? */
bool op_is_signal(const Op *op);
/* registers.less or registers.more? */
bool op_is_registers(const Op *op);
/* barrier.warp, elect, uniform or one of registers: must all threads of the warp be there? */
bool op_meets_warp(const Op *op);
/* A barrier, of the whole block or between neighbouring warps? */
bool op_is_barrier(const Op *op);
/* Does it move whole rows beside the thread, or bring them nearer? */
bool op_is_bulk(const Op *op);

#endif
