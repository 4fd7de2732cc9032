/* split-loops.c: splits long loops of tiles at edges into three parts; the middle part does without the tests that hold
 * in all its rounds. In the version for tiles at edges that pass specialize made, a loop whose rounds go along a
 * dimension becomes
 *
 *     if interior { ... } else {
 *       for part = 0 to 2 parts 9 {
 *         for (part ? last : lo) to (part ? hi : first) edges { B }
 *         for first to (part ? first : last) middle { B without }
 *       }
 *     }
 *
 * `parts` is the number of rounds of the original loop; `edges` and `middle` mark the two copies of the body. The model
 * reads these marks.
 *
 * The tests in question are on coordinates c + t, where t is the loop's number and c is the same for the whole tile
 * apart from parts with constant bounds. The conditions of `specialize` (assume.h) bound c's block part + t, and so
 * restrict t to `first` .. `last`, which each block computes once, as whole rounds. In the middle loop an `inside`
 * loses only these coordinates; its other coordinates, and maps that are made before the loop, stay. The remaining test
 * is the same for all rows: one mask that stays in a register.
 *
 * Not split are loops with results, loops of fewer than 4 rounds or without constant bounds, and bodies of more than
 * 20000 values, which are long enough as they are.
 *
 * The loop over two parts makes two copies of the body. Three consecutive loops would be half as much code again, and
 * need 10 to 20 registers more in f64: star3d2r and box3d1r spilled 100 and 176 bytes that way, 0 and 108 this way.
 *
 * Streamed tiles of rank 3 use the pass: half of them are at an edge, most of these along dimension 0, where only a few
 * rows of the stream need tests. (An earlier way, a version of the kernel for tiles that touch no edge along dimension
 * 0, served a quarter of all tiles.) Instructions for four steps of the stream, counted in code of ptxas 13.0 for sm_90
 * at the defaults for 768^3, f32, in interior tiles, in the middle loop, and in the other two parts:
 *
 *     program    interior   middle   others
 *     star3d1r   1267       1395     1689
 *     star3d2r   1277       1303     1523
 *     box3d1r    2094       2178     2388
 *
 * A body of more than 1000 ops is not split if its loads and stores take at least one and a half times as long as its
 * instructions (bytes by the memory's bandwidth; instructions by the issue rate, and f64 operations by theirs): memory
 * limits such a loop, so tests cost nothing, and ptxas takes more than twice as long for twice the code. Example:
 * acoustic waves of order 8, one time step a tile; without the split ptxas takes 0.35 s in place of 0.61 for tiles at
 * edges, and spills less. */
#include "passes/base/tuning.h"
#include "passes/base/weights.h"
#include "passes/kernel/assume.h"
#include "passes/passes.h"

/* A loop from lo to hi that is to be split, and the assumptions about its rounds. */
typedef struct LongLoop {
  Op *loop;
  int64_t lo, hi;
  Assumptions *rounds;
} LongLoop;

/* Short names for ops on the numbers of rounds. */
static Value *number(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }
static Value *clamp(Builder *b, Value *x, Value *lo, Value *hi) {
  return build2(b, OP_MIN, build2(b, OP_MAX, x, lo), hi);
}

/* Sets `*all` to the smaller (sign -1) or greater (sign 1) of `*all` and x; `*all` may be NULL. */
static void build_extreme(Builder *b, int sign, Value **all, Value *x) {
  *all = *all ? build2(b, sign < 0 ? OP_MIN : OP_MAX, *all, x) : x;
}

/* Builds the smallest and the largest value of the loop's number for which the condition holds, *first and *last; NULL
 * if there is no such bound. */
static void build_rounds(Assumptions *s, Builder *b, Value **first, Value **last) {
  *first = *last = NULL;
  for (int i = 0; i < s->condition->n; i++) {
    const Part *p = &s->condition->part[i];
    Value *u = part_value(b, p);
    for (int j = 0; j < p->nlo; j++)
      build_extreme(b, 1, first, build2(b, OP_SUB, build_affine(b, s->ranges->m, p->lo[j]), u));
    for (int j = 0; j < p->nhi; j++)
      build_extreme(b, -1, last, build2(b, OP_SUB, build_affine(b, s->ranges->m, p->hi[j]), u));
  }
}

/* Builds the loop's number after `rounds` rounds. */
static Value *build_number(Builder *b, const LongLoop *w, Value *rounds) {
  Value *x = build2(b, OP_ADD, build2(b, OP_MUL, rounds, number(b, w->loop->off[0])), number(b, w->lo));
  return build_convert(b, w->loop->operands[0]->type, x);
}

/* Builds a copy of `loop` from lo to hi at `b`; `mark` says which part it is. */
static Op *build_part_of_loop(Builder *b, const Op *loop, Value *lo, Value *hi, int mark) {
  Op *part = build_for(b, lo, hi, loop->off[0], loop->flags | mark, 0, NULL);
  part->blocks[0] = block_clone(b->arena, loop->blocks[0], part, NULL);
  return part;
}

/* Builds the number of rounds of loop `w` before the condition holds. first: the smallest loop number for which it
 * holds (NULL: any). most: the upper limit, a multiple of the step. */
static Value *build_before(Builder *b, const LongLoop *w, Value *first, Value *most) {
  int64_t by = w->loop->off[0];
  if (!first)
    return number(b, 0);
  first = clamp(b, build2(b, OP_SUB, first, number(b, w->lo)), number(b, 0), most);
  return build2(b, OP_DIV, build2(b, OP_ADD, first, number(b, by - 1)), number(b, by));
}

/* Builds the number of rounds up to the last one for which the condition holds, at least `before`. last: the largest
 * loop number for which it holds (NULL: any). */
static Value *build_until(Builder *b, const LongLoop *w, Value *last, Value *most, Value *before) {
  int64_t by = w->loop->off[0];
  last = last ? clamp(b, build2(b, OP_ADD, last, number(b, by - w->lo)), number(b, 0), most) : most;
  return build2(b, OP_MAX, build2(b, OP_DIV, last, number(b, by)), before);
}

/* Replaces streaming loop `w` by a loop of two rounds. The first runs the rounds of `w` before the condition holds, and
 * then those where it holds; the second runs the rest. So the body exists twice, not three times, and few values that
 * only the last part needs stay in registers during the middle part. */
static void split_loop(const LongLoop *w) {
  Op *loop = w->loop;
  Assumptions *s = w->rounds;
  Builder b = builder_before(s->arena, loop);
  int64_t by = loop->off[0];
  Type t = loop->operands[0]->type;
  Value *first, *last, *most = number(&b, (w->hi - w->lo + by - 1) / by * by);
  b.loc = loop->loc;
  build_rounds(s, &b, &first, &last);
  first = build_before(&b, w, first, most);
  last = build_number(&b, w, build_until(&b, w, last, most, first));
  first = build_number(&b, w, first);
  Op *parts = build_for(&b, build_int(&b, t, 0), build_int(&b, t, 2), 1, 0, 0, NULL);
  parts->count = (int32_t)((w->hi - w->lo + by - 1) / by);
  Builder in = builder_at_end(s->arena, parts->blocks[0]);
  in.loc = loop->loc;
  Value *rest = build2(&in, OP_NE, parts->blocks[0]->args[0], parts->operands[0]);
  build_part_of_loop(&in, loop, build3(&in, OP_SELECT, rest, last, loop->operands[0]),
                     build3(&in, OP_SELECT, rest, loop->operands[1], first), FOR_EDGES);
  Op *middle = build_part_of_loop(&in, loop, first, build3(&in, OP_SELECT, rest, first, last), FOR_MIDDLE);
  assumptions_apply(s, middle->blocks[0]);
  op_unlink(loop);
}

/* The streaming loops of a kernel that are split. */
typedef struct LongLoops {
  LongLoop *all;
  int32_t n;
} LongLoops;

/* Is `op` a long loop with constant bounds that is not unrolled and has no results? */
static bool is_long_loop(Op *op, LongLoop *w) {
  *w = (LongLoop){.loop = op};
  return op->code == OP_FOR && !op->nresults && !(op->flags & FOR_UNROLL) && value_is_int(op->operands[0], &w->lo) &&
         value_is_int(op->operands[1], &w->hi) && (w->hi - w->lo) / op->off[0] >= tuning.split_rounds &&
         (w->hi - w->lo) / op->off[0] < INT32_MAX;
}

/* The work of one round of a streaming loop: ops, instructions, f64 operations among them, and bytes moved to and from
 * buffers of `m`. */
typedef struct RoundWork {
  const Module *m;
  bool fast_math;
  int64_t ops, instructions, f64, bytes;
} RoundWork;

/* Counts an op (a block_walk callback). */
static void count_op(void *user, Op *op) {
  RoundWork *w = user;
  int buffer = op_buffer_read(op) >= 0 ? op_buffer_read(op) : op_buffer_written(op);
  w->ops++;
  int n = op_instructions(op, w->m->fast_math);
  w->instructions += n;
  w->f64 += op->nresults && op->results[0]->type == TY_F64 ? (n > 1 ? op_f64_operations(op) : n) : 0;
  w->bytes += buffer >= 0 ? op_elements(op) * type_size(buffer_type(w->m, buffer)) : 0;
}

/* Is the body of loop `w` long, and limited by memory rather than by instructions? Then the tests cost no time, and a
 * second copy of the body would only take longer to compile. */
static bool waits_for_memory(const PassContext *c, const Module *m, const LongLoop *w) {
  const TargetInfo *t = c->target;
  RoundWork work = {.m = m, .fast_math = m->fast_math};
  block_walk(w->loop->blocks[0], count_op, &work);
  double code = (double)work.instructions / t->issue_rate + (double)work.f64 / t->f64_rate;
  return (double)work.ops > tuning.split_bound && (double)work.bytes / t->bandwidth > tuning.split_memory * code;
}

/* The version of `k` for tiles at edges; NULL if there is none. */
static Block *edge_version(const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (op->flags & IF_INTERIOR)
      return op->blocks[1];
  return NULL;
}

/* The streaming loops among the ops of `b` in `k` that have tests which hold in some rounds only, and for which a split
 * pays. */
static LongLoops find_long_loops(PassContext *c, Module *m, Kernel *k, const Block *b) {
  LongLoops loops = {0};
  for (Op *op = b->first; op; op = op->next) {
    LongLoop w;
    if (is_long_loop(op, &w) && !waits_for_memory(c, m, &w) && (w.rounds = assumptions_find(c, m, k, op)))
      ARENA_PUSH(c->arena, loops.all, loops.n, w);
  }
  return loops;
}

/* Splits the streaming loops of kernel `k` at edges; true if there are any. */
static bool split_loops(PassContext *c, Module *m, Kernel *k) {
  Block *edge = edge_version(k);
  LongLoops loops = {0};
  if (edge && block_renumber(edge, 0) <= measured.split_body) {
    block_renumber(k->body, 0);
    loops = find_long_loops(c, m, k, edge);
  }
  for (int i = 0; i < loops.n; i++)
    split_loop(&loops.all[i]);
  pass_stat(c, loops.n, "split-loops", "streaming loops of kernel %s in three parts", k->name);
  return loops.n > 0;
}

/* The pass: every kernel of the module that has a version for tiles at edges. */
Module *pass_split_loops(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  for (int i = 0; i < m->nkernels; i++)
    if (split_loops(c, m, &m->kernels[i]))
      simplify_kernel(c, m, &m->kernels[i]);
  return m;
}
