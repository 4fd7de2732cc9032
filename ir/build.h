/* ir/build.h: making and changing code: blocks and their copies (module.c), new ops (build.c), edits, and properties of
 * an op (module.c, uniform.c). */
#ifndef STC_IR_BUILD_H
#define STC_IR_BUILD_H

#include "ir/module.h"

Block *block_new(Arena *a, Op *parent);
Value *block_add_arg(Arena *a, Block *b, Type t);
/* A copy of `b` and of all blocks nested in it. map[id] (indexed by Value.id; may be NULL) is the replacement of a
 * value that is defined outside. The values must be numbered. */
Block *block_clone(Arena *a, const Block *b, Op *parent, Value **map);

/* An op with room for this many results, operands and nested blocks, in no block yet. Its results are zero, its
 * operands and blocks NULL. It is one piece of memory with the results in front, because passes visit each op and its
 * result often, and wait for the cache. */
Op *op_new(Arena *a, int nresults, int noperands, int nblocks);

/* The place of new ops: before `before`, or at the end of `block` if `before` is NULL. New ops get `loc`. */
typedef struct Builder {
  Arena *arena;
  Block *block;
  Op *before;
  Loc loc;
} Builder;
Builder builder_at_end(Arena *a, Block *b);
Builder builder_before(Arena *a, Op *op);
/* A builder at the end of `block`, which belongs to an op that `b` built; with the same place in the source. */
Builder builder_in(const Builder *b, Block *block);

/* Makes an op with `n` operands and (unless RESULT says otherwise) one result of the type that follows from its table
 * row; for RESULT_ANY the type is `t`. */
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
Value *build_convert(Builder *b, Type t, Value *x); /* x itself if it has that type */
Value *build_access(Builder *b, Type t, int field, const int64_t *off, int rank);
/* Reads target `field` of a sweep at offset `off`, at a point that the sweep has passed. */
Value *build_behind(Builder *b, Type t, int field, const int64_t *off, int rank);
/* build_fine, build_coarse: the value of `field`, of the next finer or the next coarser level, at that offset there. */
Value *build_fine(Builder *b, Type t, int field, const int64_t *off, int rank);
Value *build_coarse(Builder *b, Type t, int field, const int64_t *off, int rank);
/* build_construct: a composite value of type `t` from its members. build_member: member `member`, of type `t`, of a
 * composite value. build_lookup: element %index (i64) of a launch-time array. */
Value *build_construct(Builder *b, Type t, int n, Value *const *members);
Value *build_extract(Builder *b, Type t, Value *x, int member);
Value *build_element(Builder *b, Type t, int param_array, Value *index);
/* The value `x` of the lane whose number is the exclusive or of this lane's number and `mask`. */
Value *build_shuffle(Builder *b, Value *x, int mask);
/* The value `x` of the lane that is lower (OP_SHUFFLE_UP) or higher (OP_SHUFFLE_DOWN) by `by`, which is at least 1 and
 * less than the number of lanes of a warp. Where there is no such lane, the value is stale. */
Value *build_shift_lanes(Builder *b, Opcode code, Value *x, int by);
Value *build_dim(Builder *b, Opcode code, int dim); /* index, thread, block */
Value *build_step(Builder *b);
Value *build_inside(Builder *b, int rank, Value *const *coords, const Box *box);
Value *build_map(Builder *b, Opcode code, Value *coord, int64_t off, Affine lo, Affine hi);
/* OP_GUARD for a move of `n` elements, of which this is the first. */
Value *build_guard(Builder *b, Value *coord, int64_t off, Affine lo, Affine hi, int n);
/* build_load, build_store: access buffer `buffer` at `rank` coordinates (1 for a param or scratch buffer); off may be
 * NULL for all zero. */
Value *build_load(Builder *b, Type t, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_store(Builder *b, int buffer, Value *v, int rank, Value *const *coords, const int64_t *off);
Value *build_aload(Builder *b, Type t, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_astore(Builder *b, int array, int ver, Value *v, int rank, Value *const *idx, const int64_t *off);
Op *build_barrier(Builder *b);
/* The same for `n` consecutive elements of the last dimension. The results of a load are the values. */
Op *build_vload(Builder *b, Type t, int n, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_vstore(Builder *b, int buffer, int n, Value *const *v, int rank, Value *const *coords, const int64_t *off);
Op *build_avload(Builder *b, Type t, int n, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_avstore(Builder *b, int array, int ver, int n, Value *const *v, int rank, Value *const *idx,
                  const int64_t *off);
/* Starts a copy of `n` elements of buffer `buffer`, from `buffer_rank` coordinates on, to array `array`, from `rank`
 * indices on. */
Op *build_async_copy(Builder *b, int array, int ver, int rank, Value *const *idx, const int64_t *off, int n, int buffer,
                     int buffer_rank, Value *const *coords, const int64_t *from_off);
Op *build_async_commit(Builder *b);
Op *build_async_wait(Builder *b, int groups);
/* An op on the signal of array `array` at the indices plus offsets; `value` is the operand before the indices, NULL:
 * there is none. */
Op *build_signal(Builder *b, Opcode code, int array, Value *value, int rank, Value *const *idx, const int64_t *off);
/* One end of a bulk copy: the indices `at` plus `off` (NULL: 0) in array, buffer or array of signals number `of`. */
typedef struct BulkPlace {
  int of, rank;
  Value *const *at;
  const int64_t *off;
} BulkPlace;
/* bulk.load or bulk.store (then `signal` is empty) of `n` (an i32) elements; `ver` is the array's version. */
Op *build_bulk(Builder *b, Opcode code, int ver, BulkPlace array, BulkPlace buffer, Value *n, BulkPlace signal);
/* cluster.store of `n` values to the block whose rank in the cluster is higher by `to`. */
Op *build_send(Builder *b, int ver, int n, Value *const *values, BulkPlace array, int to, BulkPlace signal);
/* bulk.prefetch of `n` (an i32) elements. */
Op *build_prefetch(Builder *b, BulkPlace buffer, Value *n);
/* Computes an affine bound as an i64. */
Value *build_affine(Builder *b, const Module *m, Affine x);
/* build_elect: elect, a bool. build_cluster_rank: cluster.rank, an i32. */
Value *build_elect(Builder *b);
Value *build_cluster_rank(Builder *b);
/* An op without operands and results. */
Op *build_bare(Builder *b, Opcode code);
/* A for with an empty block, whose arguments are the induction variable, of lo's type, and one for each of the `n`
 * initial values; it has as many results as initial values. */
Op *build_for(Builder *b, Value *lo, Value *hi, int64_t stride, int flags, int n, Value *const *init);
/* An if with two empty blocks and `n` results of the given types. */
Op *build_if(Builder *b, Value *cond, int n, const Type *types);
/* An if that yields one value of type `t`: *in builds the branch where `cond` holds, and must yield the value; the
 * other branch yields constant `other`. */
Value *build_value_or(Builder *b, Value *cond, Type t, Const other, Builder *in);
/* An if without results: returns a builder for the branch where `cond` holds; *other builds the other branch. */
Builder build_then(Builder *b, Value *cond);
Builder build_either(Builder *b, Value *cond, Builder *other);
Op *build_yield(Builder *b, int n, Value *const *values);

void op_insert(Block *b, Op *before, Op *op); /* before == NULL: at the end */
void op_unlink(Op *op);                       /* removes it from its block */
/* The yield at the end of `b`, or NULL. */
static inline const Op *block_yield(const Block *b) { return b->last && b->last->code == OP_YIELD ? b->last : NULL; }
/* Replaces the value in all operands of ops in `b` and nested blocks. Returns the number of replacements. */
int block_replace_uses(Block *b, const Value *old, Value *by);

/* Is `b` (NULL: no block) a block of `op`, or nested in one? */
bool block_is_within(const Block *b, const Op *op);
/* Calls fn for every op in `b` in order, nested ops after their parent. fn may unlink its op. */
void block_walk(Block *b, void (*fn)(void *user, Op *op), void *user);

/* op_buffer_read, op_buffer_written, op_array_read, op_array_written: the buffer or array that `op` reads or writes.
 * op_array: the array that it accesses in either way. -1: none. */
int op_buffer_read(const Op *op);
int op_buffer_written(const Op *op);
int op_array_read(const Op *op);
int op_array_written(const Op *op);
int op_array(const Op *op);
/* op_elements: the number of elements that the memory op moves. op_first_index: its first operand that is an index of
 * the place (of an async.copy: in the array). */
int op_elements(const Op *op);
int op_first_index(const Op *op);
/* Have all threads of a block that reach the definition of `v` together the same value there? False for loaded and
 * loop-carried values: uniform.c. */
bool value_is_uniform(const Value *v);
/* The number of operands before the indices of an op on a signal. */
int op_signal_values(const Op *op);
/* The operand of bulk copy `op` of kernel `k` that is the number of elements. The operands before it are the indices of
 * the array and of the buffer, those after it the indices of the signal. */
int op_bulk_count(const Module *m, const Kernel *k, const Op *op);
/* Does `b`, or a nested block, contain ops on signals? */
bool block_has_signals(const Block *b);
/* Is it an op that orders warps or asynchronous copies: on a signal, bulk.commit, bulk.wait, fence.async, barrier.warp,
 * barrier.cluster or cluster.store? */
bool op_is_signal(const Op *op);
/* registers.less or registers.more? */
bool op_is_registers(const Op *op);
/* barrier.warp, elect, uniform, registers.less or registers.more: must all threads of the warp reach it together? */
bool op_meets_warp(const Op *op);
/* Is it a barrier, of the whole block or between neighbouring warps? */
bool op_is_barrier(const Op *op);
/* Is it an op that moves whole rows asynchronously, or prefetches them? */
bool op_is_bulk(const Op *op);

#endif
