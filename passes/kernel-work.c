/* kernel-work.c: what a thread of a kernel issues and moves, counted in finished kernel IR. A product that an addition takes in costs nothing where that is allowed; what does not depend on a loop
 * is counted outside of it, as code generators move it there; private arrays are registers and cost nothing. */
#include "passes/analysis.h"
#include "passes/estimate.h"

/* Instructions for the address of an access at coordinates that no access before had; for each round of a loop. */
enum { ADDRESS_CODE = 3, ROUND_CODE = 3, LAST_PLACES = 64 };

/* An access: buffers are numbered from 0, arrays below 0. Offsets of the last dimension are part of the instruction, others of a buffer are not. */
typedef struct Place { int32_t memory; const Value *at[MAX_RANK]; int64_t off[MAX_RANK]; } Place;

/* The count: times[id] is how often a value is computed, rounds how often the running block is run; uses[id] counts uses;
 * fixed[id]: an integer that is known when loops are written out. */
typedef struct Count {
  Arena *arena;
  const Module *m;
  Kernel *k;
  const Const *scalars;
  double rounds;
  double *times;
  int32_t *uses;
  bool *fixed;
  bool edge;                     /* blocks at edges are looked at */
  bool loading;                  /* a load was begun that nothing has waited for */
  int32_t nplaces;
  Place places[LAST_PLACES];
  KernelWork *w;
} Count;

static void count_block(Count *c, Block *b);

/* ---- numbers */

/* Counts an op's uses of values (a block_walk callback). */
static void count_uses(void *user, Op *op) {
  const Count *c = user;
  for (int i = 0; i < op->noperands; i++)
    c->uses[op->operands[i]->id]++;
}

/* The value of an integer that is constant, or known from the scalars; false if it is neither. */
static bool known_int(const Count *c, const Value *v, int64_t *out) {
  const Op *op = v->def;
  int64_t x, y;
  if (!op)
    return false;
  if (op->code == OP_CONST)
    return *out = op->cval.i, true;
  if (op->code == OP_SCALAR && c->scalars)
    return *out = c->scalars[op->sym].i, true;
  if (op->noperands < 1 || !known_int(c, op->operands[0], &x))
    return false;
  if (op->code == OP_CONVERT)
    return *out = x, true;
  if (op->noperands != 2 || !known_int(c, op->operands[1], &y))
    return false;
  switch (op->code) {
  case OP_ADD: return *out = x + y, true;
  case OP_SUB: return *out = x - y, true;
  case OP_MUL: return *out = x * y, true;
  case OP_MIN: return *out = x < y ? x : y, true;
  case OP_MAX: return *out = x > y ? x : y, true;
  default: return false;
  }
}

/* ---- single ops */

/* 32-bit words of a value. */
static double words_of(Type t) { return type_size(t) > 4 ? 2 : 1; }

/* How often `op`, which may be moved out of loops, is run: as often as the innermost thing that it is computed from. */
static double rounds_of(const Count *c, const Op *op) {
  double most = 1;
  for (int i = 0; i < op->noperands; i++)
    if (c->times[op->operands[i]->id] > most)
      most = c->times[op->operands[i]->id];
  return most;
}

/* Is the result of `op` an integer that is a constant apart from what loops written out make it? */
static bool is_fixed(const Count *c, const Op *op) {
  bool all = op->code != OP_THREAD && op->code != OP_BLOCK && (op_info[op->code].flags & OPF_PURE) && op->nresults && !type_is_float(op->results[0]->type);
  for (int i = 0; i < op->noperands; i++)
    all = all && c->fixed[op->operands[i]->id];
  return all && op->code != OP_SCALAR && op->code != OP_STEP;
}

/* Does an addition that may take in a product use the result of `op`, and nothing else? */
static bool is_taken_in(const Count *c, const Op *op, const Op *user) {
  return op && op->code == OP_MUL && op->parent == user->parent && c->uses[op->results[0]->id] == 1 && type_is_float(op->results[0]->type);
}

/* Is it a quotient or remainder by a constant integer, which becomes a multiplication or less? */
static bool is_by_constant(const Op *op) {
  return (op->code == OP_DIV || op->code == OP_REM) && type_is_int(op->results[0]->type) && op->operands[1]->def && op->operands[1]->def->code == OP_CONST;
}

/* Counts arithmetic. */
static void count_arithmetic(Count *c, const Op *op) {
  Type t = op->noperands ? op->operands[op->noperands - 1]->type : op->results[0]->type;
  bool by_constant = is_by_constant(op);
  bool rough = c->m->fast_math && t == TY_F32 && (op->code == OP_DIV || op->code == OP_SQRT || op->code == OP_RSQRT);
  double n = by_constant ? 3 : rough ? 2 : op_additions(op), rounds = rounds_of(c, op);
  bool fuses = (c->m->contract || c->m->fast_math) && (op->code == OP_ADD || op->code == OP_SUB);
  if (op->code == OP_INSIDE)
    n = 4 * op->noperands;
  if (op->code == OP_CONVERT && type_is_int(t) && type_is_int(op->results[0]->type))
    n = 0.5;
  if (fuses && (is_taken_in(c, op->operands[0]->def, op) || is_taken_in(c, op->operands[1]->def, op)))
    n = 0;                       /* it is the product that counts */
  if (op->code == OP_SELECT)
    n = words_of(op->results[0]->type);
  else if (t == TY_F64 && n > 1)
    n *= 2;
  else if (t == TY_I64)
    n *= 2;
  c->w->instructions += n * rounds;
  if (t == TY_F64 && op->code != OP_SELECT)
    c->w->f64 += (n > 2 ? n - 2 : n) * rounds;
  if ((op_additions(op) > 1 && !by_constant) || (op->code == OP_CONVERT && (type_is_float(t) || type_is_float(op->results[0]->type))))
    c->w->special += rounds * (t == TY_F64 ? 2 : rough ? 0.5 : 1);
}

/* Counts the address of memory `memory` at the indices from operand `first` on, unless one before was alike. */
static void count_address(Count *c, const Op *op, int32_t memory, int first, int rank, const int64_t *off) {
  Place p = {.memory = memory};
  double rounds = 1;
  bool fixed = true;
  for (int d = 0; d < rank; d++) {
    const Value *v = op->operands[first + d];
    p.at[d] = v;
    p.off[d] = memory >= 0 && d < rank - 1 ? off[d] : 0;
    rounds = c->times[v->id] > rounds ? c->times[v->id] : rounds;
    fixed = fixed && c->fixed[v->id];
  }
  for (int i = 0; i < LAST_PLACES && i < c->nplaces; i++) {
    const Place *q = &c->places[i];
    bool same = q->memory == p.memory;
    for (int d = 0; d < rank; d++)
      same = same && q->at[d] == p.at[d] && q->off[d] == p.off[d];
    if (same)
      return;
  }
  c->places[c->nplaces++ % LAST_PLACES] = p;
  c->w->instructions += fixed ? 0 : ADDRESS_CODE * rounds;
}

/* Counts an access to memory. */
static void count_memory(Count *c, const Op *op) {
  int array = op_array(op), buffer = op_buffer_read(op) >= 0 ? op_buffer_read(op) : op_buffer_written(op), n = op_elements(op);
  bool private = array >= 0 && c->k->arrays[array].space == SPACE_PRIVATE;
  if (private)
    return;
  Type t = array >= 0 ? c->k->arrays[array].type : buffer_type(c->m, buffer);
  double words = n * (type_size(t) > 4 ? 2 : 1), code = n * type_size(t) > VECTOR_BYTES ? 2 : 1;
  if (array >= 0) {
    count_address(c, op, -1 - array, op_first_index(op), c->k->arrays[array].rank, op->off);
    c->w->shared += words * c->rounds;
  }
  if (buffer >= 0) {
    count_address(c, op, buffer, op->code == OP_ASYNC_COPY ? op->noperands - buffer_rank(c->m, buffer) : op_first_index(op), buffer_rank(c->m, buffer),
                  op->code == OP_ASYNC_COPY ? op->from_off : op->off);
    c->w->global += words * c->rounds;
    c->loading |= op->code != OP_ASYNC_COPY && op_buffer_read(op) >= 0;
  }
  c->w->instructions += code * c->rounds;
}

/* What was loaded is waited for. */
static void count_wait(Count *c) {
  c->w->waits += c->loading ? c->rounds : 0;
  c->loading = false;
}

/* Counts a loop. */
static void count_for(Count *c, const Op *op) {
  int64_t lo, hi;
  double outer = c->rounds, n = 1;
  if (known_int(c, op->operands[0], &lo) && known_int(c, op->operands[1], &hi))
    n = hi > lo ? (double)((hi - lo + op->off[0] - 1) / op->off[0]) : 0;
  bool unrolled = op->flags & FOR_UNROLL;
  c->rounds = outer * n;
  for (int i = 0; i < op->blocks[0]->nargs; i++) {
    c->times[op->blocks[0]->args[i]->id] = c->rounds;
    c->fixed[op->blocks[0]->args[i]->id] = i == 0 && unrolled;
  }
  c->nplaces = 0;
  count_block(c, op->blocks[0]);
  if (!unrolled)
    count_wait(c);
  c->w->rounds = c->rounds > c->w->rounds && !unrolled ? c->rounds : c->w->rounds;
  c->nplaces = 0;
  c->w->instructions += unrolled ? 0 : ROUND_CODE * c->rounds;
  c->rounds = outer;
}

/* Is `op` the choice between the version for blocks at no edge and the one for the others, which pass specialize makes? In kernels for edges: at none along dimension 0. */
static bool is_version(const Kernel *k, const Op *op) {
  const Op *test = op->code == OP_IF ? op->operands[0]->def : NULL;
  return test && test->code == OP_INSIDE && op->parent == k->body && value_is_uniform(op->operands[0]);
}

bool kernel_has_versions(const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (is_version(k, op))
      return true;
  return false;
}

/* Counts a choice: one version, or the arm that takes more. */
static void count_if(Count *c, const Op *op) {
  KernelWork before = *c->w, first;
  bool version = is_version(c->k, op);
  count_block(c, op->blocks[version && c->edge]);
  if (version)
    return;
  first = *c->w;
  *c->w = before;
  count_block(c, op->blocks[1]);
  if (first.instructions >= c->w->instructions)
    *c->w = first;
  c->w->instructions += c->rounds;
}

/* Counts an op that is run in each round of the running block, or moved out of it. */
static void count_op(Count *c, const Op *op) {
  double rounds = op_info[op->code].flags & OPF_PURE ? rounds_of(c, op) : c->rounds;
  for (int i = 0; i < op->nresults; i++) {
    c->times[op->results[i]->id] = rounds;
    c->fixed[op->results[i]->id] = is_fixed(c, op);
  }
  switch (op->code) {
  case OP_FOR: count_for(c, op); break;
  case OP_IF: count_if(c, op); break;
  case OP_BARRIER:
    count_wait(c);
    c->w->barriers += c->rounds;
    c->w->instructions += c->rounds;
    break;
  case OP_ASYNC_WAIT: c->w->instructions += c->rounds; break;
  case OP_ASYNC_COMMIT: c->w->instructions += c->rounds; break;
  case OP_SHUFFLE: case OP_SHUFFLE_UP: case OP_SHUFFLE_DOWN:
    c->w->instructions += words_of(op->results[0]->type) * c->rounds;
    c->w->shared += words_of(op->results[0]->type) * c->rounds;
    c->w->exchanges += words_of(op->results[0]->type) * c->rounds;
    break;
  default:
    if (op_array(op) >= 0 || op_buffer_read(op) >= 0 || op_buffer_written(op) >= 0)
      count_memory(c, op);
    else if (op->nresults && op->code != OP_THREAD && op->code != OP_BLOCK && !c->fixed[op->results[0]->id])
      count_arithmetic(c, op);
  }
}

/* Counts the ops of `b`. */
static void count_block(Count *c, Block *b) {
  for (const Op *op = b->first; op; op = op->next)
    count_op(c, op);
}

KernelWork kernel_work(const Module *m, Kernel *k, const Const *scalars, bool edge) {
  KernelWork w = {.threads = 1, .points = 1, .rounds = 1};
  int32_t n = block_renumber(k->body, 0);
  Count c = {.arena = m->arena, .m = m, .k = k, .scalars = scalars, .edge = edge, .rounds = 1, .w = &w, .times = ARENA_ARRAY(m->arena, double, n + 1), .uses = ARENA_ARRAY(m->arena, int32_t, n + 1),
             .fixed = ARENA_ARRAY(m->arena, bool, n + 1)};
  block_walk(k->body, count_uses, &c);
  for (int d = 0; d < k->rank; d++) {
    w.threads *= k->threads[d];
    w.points *= k->tile[d];
  }
  count_block(&c, k->body);
  count_wait(&c);
  return w;
}
