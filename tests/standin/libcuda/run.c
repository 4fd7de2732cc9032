/* run.c: runs launches of kernels that code.c has read: cluster of blocks after cluster, which mostly is one block, of
 * each one thread after the other, as far as it gets without the others. */
#include "tests/standin/libcuda/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

/* Why a thread does not go on: it may; it is at its end; others of its warp must come; others of the block must, or of
 * all of its cluster; it tries something again and again that another one must do first; something is wrong. */
typedef enum State { STATE_READY, STATE_ENDED, STATE_WARP, STATE_BLOCK, STATE_CLUSTER, STATE_TRIES, STATE_WRONG } State;

/* Functions that call each other, at most. */
enum { MOST_CALLS = 8 };

/* A thread; back: where those that call functions go on; arrived: at which barrier of the block, and how many it waits
 * for. */
typedef struct Thread {
  State state;
  int at, back[MOST_CALLS], ncalls;
  unsigned place[3], barrier, wanted;
  uint64_t *registers;
  char *local;
} Thread;

/* Addresses of shared memory of the cluster's block number n begin at (n + 1) << THERE, a block's own at 0 as well. */
enum { WARP = 32, BARRIERS = 16, THERE = 24, MOST_BLOCKS = 16 };

/* A block that is being run. cluster: its blocks, of which it is number `rank`. arrived: at each barrier those that do
 * not wait themselves. */
typedef struct Block {
  const Code *code;
  const char *name;
  struct Block *cluster;
  unsigned rank, blocks;
  unsigned grid[3], block[3], at[3], arrived[BARRIERS];
  const uint64_t *arguments;
  size_t shared_bytes;
  char *shared, *local;
  int nthreads;
  Thread *threads;
  uint64_t *registers;
  const Allocation *last; /* that was accessed */
} Block;

/* Says what is wrong with the thread's instruction. */
static State wrong(const Block *b, const Thread *t, const char *what) {
  const Instruction *in = &b->code->instructions[t->at];
  char name[128] = "";
  for (int i = 0; i < in->nwords; i++)
    snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", i ? "." : "", in->word[i]);
  fault("%s: instruction %d, %s: %s", b->name, t->at, name, what);
  return STATE_WRONG;
}

/* ---------------------------------------------------------------- operands and memory */

/* The value of a special register. */
static uint64_t special(const Block *b, const Thread *t, uint64_t which) {
  const unsigned number[3] = {b->at[0] / b->blocks, b->at[1], b->at[2]};
  const unsigned *const all[] = {t->place, b->block, b->at, b->grid, number};
  return which < 15 ? all[which / 3][which % 3] : which == 15 ? b->rank : (uint64_t)(t - b->threads) % WARP;
}

/* The value of an operand; of a vector, of number `i` in it. */
static uint64_t value(const Block *b, const Thread *t, const Operand *o, int i) {
  if (o->kind == OPERAND_SPECIAL)
    return special(b, t, o->bits);
  if (o->kind == OPERAND_REGISTER && o->reg[i] >= 0)
    return t->registers[o->reg[i]];
  return o->kind == OPERAND_REGISTER ? o->vector[i] : o->bits;
}

/* The address that an operand comes to. */
static uint64_t address(const Thread *t, const Operand *o) {
  return o->kind == OPERAND_REGISTER ? t->registers[o->reg[0]] + o->bits : o->bits;
}

/* `size` bytes of device memory at the address; NULL: there are none. */
static char *global(Block *b, uint64_t p, size_t size) {
  const Allocation *a = b->last;
  uint64_t start = a ? (uint64_t)(uintptr_t)a->p : 0;
  if (!a || p < start || p + size > start + a->size)
    b->last = a = find(p, size);
  return a ? (char *)(uintptr_t)p : NULL;
}

/* `size` bytes of shared memory, of the block or of another one of its cluster; NULL: there are none. */
static char *shared(const Block *b, uint64_t p, size_t size) {
  unsigned n = (uint32_t)p >> THERE;
  const Block *of = n ? &b->cluster[n - 1] : b;
  p &= (1 << THERE) - 1;
  return n <= b->blocks && p + size <= b->shared_bytes ? of->shared + p : NULL;
}

/* The space that an address is in, where the instruction does not say it: shared memory has those of 32 bits. */
static char space_of(uint64_t p) { return p >= LOCAL_FIRST ? 'l' : p >= CONSTANT_FIRST ? 'c' : p >> 32 ? 'g' : 's'; }

/* The same in the space of the instruction. */
static char *memory(Block *b, const Thread *t, const Instruction *in, uint64_t p, size_t size) {
  char space = in->space ? in->space : space_of(p);
  if (space == 'g')
    return global(b, p, size);
  if (space == 'p')
    return (char *)(uintptr_t)b->arguments + p;
  if (space == 'c')
    return p >= CONSTANT_FIRST && p - CONSTANT_FIRST + size <= b->code->nconstants
               ? b->code->constants + (p - CONSTANT_FIRST)
               : NULL;
  if (space == 'l')
    return p >= LOCAL_FIRST && p - LOCAL_FIRST + size <= b->code->local ? t->local + (p - LOCAL_FIRST) : NULL;
  return shared(b, p, size);
}

/* A load or a store of one number or a vector. */
static State access_memory(Block *b, Thread *t, const Instruction *in) {
  bool loads = in->op == OP_LD;
  const Operand *data = &in->operand[loads ? 0 : 1];
  size_t size = (size_t)in->type.size, all = size * (size_t)data->n;
  uint64_t at = address(t, &in->operand[loads ? 1 : 0]);
  char *p = memory(b, t, in, at, all);
  if (!p)
    return wrong(b, t, "no memory there");
  if (at % all)
    return wrong(b, t, "not aligned");
  for (int i = 0; i < data->n; i++) {
    uint64_t v = 0;
    if (!loads)
      v = value(b, t, data, i), memcpy(p + size * (size_t)i, &v, size);
    else
      memcpy(&v, p + size * (size_t)i, size);
    if (loads && in->type.kind == 's' && size < 8)
      v = (uint64_t)((int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
    if (loads)
      t->registers[data->reg[i]] = v;
  }
  return STATE_READY;
}

/* Shared memory as an mbarrier: how many arrivals are left, how many there are in a phase, bytes to come, the phase. */
typedef struct Signals {
  int16_t left, all;
  int32_t bytes; /* the lowest bit: the phase; the rest twice the bytes */
} Signals;

/* Ends the phase if nothing is left. */
static void end_phase(Signals *s) {
  if (!s->left && !(s->bytes >> 1))
    s->left = s->all, s->bytes ^= 1;
}

static State on_signals(Block *b, Thread *t, const Instruction *in) {
  bool tries = has_word(in, WORD_TRY_WAIT) || has_word(in, WORD_TEST_WAIT), arrives = has_word(in, WORD_ARRIVE);
  const Operand *at = &in->operand[tries || arrives ? 1 : 0];
  uint64_t p = address(t, at);
  Signals *s = (Signals *)shared(b, p, sizeof *s);
  if (!s || p % sizeof *s)
    return wrong(b, t, "no memory there");
  if (has_word(in, WORD_INIT)) {
    int n = (int)value(b, t, &in->operand[1], 0);
    *s = (Signals){(int16_t)n, (int16_t)n, 0};
  } else if (tries) {
    bool ended = (uint64_t)(s->bytes & 1) != (value(b, t, &in->operand[2], 0) & 1);
    t->registers[in->operand[0].reg[0]] = ended;
    return ended ? STATE_READY : STATE_TRIES;
  } else if (arrives) {
    if (has_word(in, WORD_EXPECT_TX))
      s->bytes += 2 * (int32_t)value(b, t, &in->operand[2], 0);
    s->left--;
    end_phase(s);
  } else if (!has_word(in, WORD_INVAL)) {
    return wrong(b, t, "not known");
  }
  return STATE_READY;
}

/* Bytes have come for which the signals at the address count. */
static State bytes_come(Block *b, Thread *t, uint64_t p, size_t n) {
  Signals *s = (Signals *)shared(b, p, sizeof *s);
  if (!s || p % sizeof *s)
    return wrong(b, t, "no signals there");
  s->bytes -= 2 * (int32_t)n;
  end_phase(s);
  return STATE_READY;
}

/* st.async: a vector into the shared memory of a block of the cluster, which is done at once. */
static State stores_there(Block *b, Thread *t, const Instruction *in) {
  const Operand *data = &in->operand[1];
  size_t size = (size_t)in->type.size, all = size * (size_t)data->n;
  uint64_t at = address(t, &in->operand[0]);
  char *p = shared(b, at, all);
  if (!p)
    return wrong(b, t, "no memory there");
  if (at % all)
    return wrong(b, t, "not aligned");
  for (int i = 0; i < data->n; i++) {
    uint64_t v = value(b, t, data, i);
    memcpy(p + size * (size_t)i, &v, size);
  }
  return bytes_come(b, t, address(t, &in->operand[2]), all);
}

/* cp.async, which is done at once. */
static State copies(Block *b, Thread *t, const Instruction *in) {
  if (!has_word(in, WORD_SHARED))
    return STATE_READY; /* groups */
  size_t n = (size_t)value(b, t, &in->operand[2], 0),
         taken = in->noperands > 3 ? (uint32_t)value(b, t, &in->operand[3], 0) : n;
  uint64_t at = address(t, &in->operand[0]), source = address(t, &in->operand[1]);
  const char *from = taken ? global(b, source, taken) : "";
  char *to = shared(b, at, n);
  if (!from || !to)
    return wrong(b, t, "no memory there");
  if (at % n || source % n)
    return wrong(b, t, "not aligned");
  memset(to, 0, n);
  memcpy(to, from, taken);
  return STATE_READY;
}

/* cp.async.bulk: likewise, to or from shared memory. */
static State copies_bulk(Block *b, Thread *t, const Instruction *in) {
  bool into = has_word(in, WORD_MBARRIER_COMPLETE_TX_BYTES);
  if (has_word(in, WORD_PREFETCH) || has_word(in, WORD_COMMIT_GROUP) || has_word(in, WORD_WAIT_GROUP))
    return STATE_READY;
  size_t n = (uint32_t)value(b, t, &in->operand[2], 0);
  uint64_t here = address(t, &in->operand[into ? 0 : 1]), other = address(t, &in->operand[into ? 1 : 0]);
  char *p = global(b, other, n), *own = shared(b, here, n);
  if (!p || !own)
    return wrong(b, t, "no memory there");
  if (n % 16 || other % 16 || here % 16)
    return wrong(b, t, "not aligned");
  memcpy(into ? own : p, into ? p : own, n);
  return into ? bytes_come(b, t, address(t, &in->operand[3]), n) : STATE_READY;
}

/* ---------------------------------------------------------------- threads */

/* mov of a vector to a register that has room for all of it, or the other way round. */
static State put_vector(Block *b, Thread *t, const Instruction *in) {
  const Operand *to = &in->operand[0], *from = &in->operand[1];
  int n = to->n > from->n ? to->n : from->n, bits = 8 * in->type.size / n;
  uint64_t all = 0;
  for (int i = 0; i < from->n; i++)
    all |= from->n == 1 ? value(b, t, from, 0) : (value(b, t, from, i) & (((uint64_t)1 << bits) - 1)) << bits * i;
  for (int i = 0; i < to->n; i++)
    if (to->reg[i] >= 0)
      t->registers[to->reg[i]] = to->n == 1 ? all : all >> bits * i & (((uint64_t)1 << bits) - 1);
  return STATE_READY;
}

/* Puts the result of an instruction where it belongs. */
static State put(Block *b, Thread *t, const Instruction *in) {
  uint64_t x[MAX_OPERANDS] = {0}, out = 0;
  const Operand *o = in->operand;
  if (in->op == OP_MOV && (o[0].n > 1 || o[1].n > 1))
    return put_vector(b, t, in);
  for (int i = 1; i < in->noperands; i++)
    x[i - 1] = value(b, t, &o[i], 0);
  if (!compute(in, x, &out))
    return wrong(b, t, "not known");
  if (o[0].kind == OPERAND_REGISTER)
    t->registers[o[0].reg[0]] = out;
  if (o[0].kind == OPERAND_REGISTER && o[0].n > 1 && in->op == OP_SETP)
    t->registers[o[0].reg[1]] = !out;
  return STATE_READY;
}

/* mapa: the address of what another block of the cluster has at the block's own. */
static State maps(Block *b, Thread *t, const Instruction *in) {
  uint64_t own = value(b, t, &in->operand[1], 0), rank = value(b, t, &in->operand[2], 0);
  if (rank >= b->blocks || own >> THERE)
    return wrong(b, t, "no block there");
  t->registers[in->operand[0].reg[0]] = own | (rank + 1) << THERE;
  return STATE_READY;
}

/* Comes to a barrier. */
static State arrives(Block *b, Thread *t, const Instruction *in) {
  if (has_word(in, WORD_WARP))
    return STATE_WARP;
  if (has_word(in, WORD_CLUSTER)) /* who has arrived waits at once */
    return has_word(in, WORD_WAIT) ? STATE_CLUSTER : STATE_READY;
  t->barrier = in->noperands ? (unsigned)value(b, t, &in->operand[0], 0) % BARRIERS : 0;
  t->wanted = in->noperands > 1 ? (unsigned)value(b, t, &in->operand[1], 0) : (unsigned)b->nthreads;
  if (has_word(in, WORD_ARRIVE))
    return b->arrived[t->barrier]++, STATE_READY;
  return STATE_BLOCK;
}

/* cudaGraphSetConditional, the only function that is the driver's. */
static State calls(Block *b, Thread *t, const Instruction *in) {
  bool fine =
      in->noperands == 3 && set_condition(value(b, t, &in->operand[1], 0), (unsigned)value(b, t, &in->operand[2], 0));
  return fine ? STATE_READY : wrong(b, t, "no condition");
}

/* One instruction, but branches and those that wait. */
static State step(Block *b, Thread *t, const Instruction *in) {
  switch (in->op) {
  case OP_NOTHING: return STATE_READY;
  case OP_LD:
  case OP_ST: return access_memory(b, t, in);
  case OP_CP_ASYNC: return copies(b, t, in);
  case OP_BULK: return copies_bulk(b, t, in);
  case OP_STORE_THERE: return stores_there(b, t, in);
  case OP_MBARRIER: return on_signals(b, t, in);
  case OP_BAR: return arrives(b, t, in);
  case OP_RET: return STATE_ENDED;
  case OP_CALL: return calls(b, t, in);
  case OP_SHFL:
  case OP_ELECT: return STATE_WARP;
  case OP_MAPA: return maps(b, t, in);
  case OP_TRAP: return wrong(b, t, "reached");
  default: return put(b, t, in);
  }
}

/* Runs the thread as far as it gets; how many instructions that are. Those that wait stand at what they wait for, or
 * behind it if it is tried. */
static long run_thread(Block *b, Thread *t) {
  long n = 0;
  for (t->state = STATE_READY; t->state == STATE_READY; n++) {
    const Instruction *in = &b->code->instructions[t->at];
    if (t->at >= b->code->n) {
      t->state = STATE_ENDED;
    } else if (in->guard >= 0 && (t->registers[in->guard] & 1) == in->unless) {
      t->at++;
    } else if (in->op == OP_BRA) {
      t->at = in->target;
    } else if (in->op == OP_CALL && in->target >= 0 && t->ncalls < MOST_CALLS) {
      t->back[t->ncalls++] = t->at + 1;
      t->at = in->target;
    } else if (in->op == OP_RET && t->ncalls) {
      t->at = t->back[--t->ncalls];
    } else {
      t->state = step(b, t, in);
      t->at += t->state == STATE_READY || t->state == STATE_TRIES;
    }
  }
  return n;
}

/* ---------------------------------------------------------------- those that wait */

/* From which lane a lane of a warp gets its value; `in`: does one give it? */
static int source_lane(const Instruction *in, int lane, uint64_t by, uint64_t clamp, bool *inside) {
  int mask = (int)(clamp >> 8 & 31), most = (lane & mask) | ((int)clamp & ~mask & 31), least = lane & mask, from;
  if (has_word(in, WORD_UP)) {
    from = lane - (int)by;
    *inside = from >= most;
  } else if (has_word(in, WORD_DOWN)) {
    from = lane + (int)by;
    *inside = from <= most;
  } else {
    from = has_word(in, WORD_BFLY) ? lane ^ (int)by : least | ((int)by & ~mask);
    *inside = from <= most;
  }
  return *inside ? from : lane;
}

/* What all lanes of a warp do together. */
static State together(Block *b, Thread *warp, int n) {
  const Instruction *in = NULL;
  uint64_t given[WARP] = {0};
  for (int i = 0; i < n; i++)
    if (warp[i].state == STATE_WARP) {
      in = &b->code->instructions[warp[i].at];
      given[i] = in->op == OP_SHFL ? value(b, &warp[i], &in->operand[1], 0) : 0;
    }
  bool elected = false;
  for (int i = 0; i < n; i++) {
    Thread *t = &warp[i];
    if (t->state != STATE_WARP)
      continue;
    const Operand *o = in->operand;
    if (in->op == OP_SHFL) {
      bool inside;
      int from = source_lane(in, i, value(b, t, &o[2], 0), value(b, t, &o[3], 0), &inside);
      if (from >= n || warp[from].state != STATE_WARP)
        return wrong(b, t, "a lane that is not there");
      t->registers[o[0].reg[0]] = given[from];
      if (o[0].n > 1 && o[0].reg[1] >= 0)
        t->registers[o[0].reg[1]] = inside;
    } else if (in->op == OP_ELECT) {
      if (o[0].kind == OPERAND_REGISTER)
        t->registers[o[0].reg[0]] = 0;
      t->registers[o[0].reg[1]] = !elected;
      elected = true;
    }
  }
  for (int i = 0; i < n; i++)
    if (warp[i].state == STATE_WARP)
      warp[i].state = STATE_READY, warp[i].at++;
  return STATE_READY;
}

/* Lets a warp go on all of whose lanes that are not at their end have come to the same place. *any: it does. */
static State meet_warp(Block *b, Thread *warp, int n, bool *any) {
  int waiting = 0, live = 0, at = -1;
  for (int i = 0; i < n; i++) {
    live += warp[i].state != STATE_ENDED;
    if (warp[i].state == STATE_WARP && (at < 0 || warp[i].at == at))
      at = warp[i].at, waiting++;
  }
  if (!waiting || waiting < live)
    return STATE_READY;
  *any = true;
  return together(b, warp, n);
}

/* Lets the threads at barriers go on where there are as many as it takes. *any: there are some. */
static void meet_block(Block *b, bool *any) {
  unsigned here[BARRIERS], wanted[BARRIERS] = {0};
  int live = 0;
  memcpy(here, b->arrived, sizeof here);
  for (int i = 0; i < b->nthreads; i++) {
    live += b->threads[i].state != STATE_ENDED;
    if (b->threads[i].state == STATE_BLOCK)
      here[b->threads[i].barrier]++, wanted[b->threads[i].barrier] = b->threads[i].wanted;
  }
  for (int k = 0; k < BARRIERS; k++) {
    bool whole = wanted[k] == (unsigned)b->nthreads;
    if (!wanted[k] || here[k] < (whole ? (unsigned)live : wanted[k]))
      continue;
    *any = true;
    b->arrived[k] = 0;
    for (int i = 0; i < b->nthreads; i++)
      if (b->threads[i].state == STATE_BLOCK && b->threads[i].barrier == (unsigned)k)
        b->threads[i].state = STATE_READY, b->threads[i].at++;
  }
}

/* Lets the threads of the cluster go on where all that are not at their ends wait for each other. */
static void meet_cluster(Block *cluster, unsigned n, bool *any) {
  bool some = false;
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < cluster[k].nthreads; i++) {
      State state = cluster[k].threads[i].state;
      if (state != STATE_CLUSTER && state != STATE_ENDED)
        return;
      some |= state == STATE_CLUSTER;
    }
  *any |= some;
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < cluster[k].nthreads; i++)
      if (cluster[k].threads[i].state == STATE_CLUSTER)
        cluster[k].threads[i].state = STATE_READY, cluster[k].threads[i].at++;
}

/* Instructions of a try and the jumps about it, at most. */
enum { TRY_LENGTH = 8 };

/* Runs the threads of the block as far as each gets. *any: they do something; *left: some are not at their ends. */
static bool run_block(Block *b, bool *any, bool *left) {
  for (int i = 0; i < b->nthreads; i++) {
    Thread *t = &b->threads[i];
    if (t->state != STATE_READY && t->state != STATE_TRIES)
      continue;
    bool tried = t->state == STATE_TRIES;
    long n = run_thread(b, t);
    if (t->state == STATE_WRONG)
      return false;
    *any |= !tried || t->state != STATE_TRIES || n > TRY_LENGTH;
  }
  for (int i = 0; i < b->nthreads; i += WARP)
    if (meet_warp(b, &b->threads[i], b->nthreads - i < WARP ? b->nthreads - i : WARP, any) == STATE_WRONG)
      return false;
  meet_block(b, any);
  for (int i = 0; i < b->nthreads; i++)
    *left |= b->threads[i].state != STATE_ENDED;
  return true;
}

/* Runs all threads of the cluster's n blocks until they are at their ends. */
static bool run_cluster(Block *cluster, unsigned n) {
  for (bool left = true; left;) {
    bool any = left = false;
    for (unsigned k = 0; k < n; k++)
      if (!run_block(&cluster[k], &any, &left))
        return false;
    meet_cluster(cluster, n, &any);
    if (left && !any)
      return fault("%s: threads wait for each other", cluster->name), false;
  }
  return true;
}

/* Bytes that the registers of the block take. */
static size_t register_bytes(const Block *b) {
  return sizeof(uint64_t) * (size_t)b->nthreads * (size_t)(b->code->nregisters + 1);
}

/* Puts the threads of the block at that place of the grid at the beginning. Registers have what the block before left
 * there: code sets them first. */
static void begin_block(Block *b, const unsigned at[3]) {
  memcpy(b->at, at, sizeof b->at);
  b->at[0] += b->rank;
  memset(b->arrived, 0, sizeof b->arrived);
  memset(b->shared, 0x5a, b->shared_bytes);
  memset(b->local, 0x5a, (size_t)b->nthreads * b->code->local);
  for (int i = 0; i < b->nthreads; i++) {
    unsigned n = (unsigned)i;
    b->threads[i] = (Thread){.place = {n % b->block[0], n / b->block[0] % b->block[1], n / b->block[0] / b->block[1]},
                             .registers = b->registers + (size_t)i * (size_t)(b->code->nregisters + 1),
                             .local = b->local + (size_t)i * b->code->local};
  }
}

/* Gives the blocks of a cluster, all of which are as the first, memory of their own. */
static void make_cluster(Block *cluster, unsigned n) {
  for (unsigned k = 0; k < n; k++) {
    Block *b = &cluster[k];
    *b = cluster[0];
    b->rank = k;
    b->shared = aligned_alloc(128, (b->shared_bytes / 128 + 1) * 128);
    b->threads = malloc(sizeof *b->threads * (size_t)b->nthreads);
    b->registers = calloc(1, register_bytes(b));
    b->local = malloc((size_t)b->nthreads * b->code->local + 1);
  }
}

static void free_cluster(Block *cluster, unsigned n) {
  for (unsigned k = 0; k < n; k++) {
    free(cluster[k].local);
    free(cluster[k].registers);
    free(cluster[k].threads);
    free(cluster[k].shared);
  }
}

bool code_run(const Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared,
              const uint64_t *arguments) {
  unsigned n = k->cluster ? k->cluster : 1, at[3];
  Block cluster[MOST_BLOCKS] = {{.code = k->code, .name = k->name, .cluster = cluster, .blocks = n}};
  bool fine = true;
  if (n > MOST_BLOCKS)
    return fault("%s: clusters of %u blocks", k->name, n), false;
  cluster->arguments = arguments;
  cluster->shared_bytes = k->code->shared + shared;
  memcpy(cluster->grid, grid, sizeof cluster->grid);
  memcpy(cluster->block, block, sizeof cluster->block);
  cluster->nthreads = (int)(block[0] * block[1] * block[2]);
  make_cluster(cluster, n);
  for (at[2] = 0; at[2] < grid[2] && fine; at[2]++)
    for (at[1] = 0; at[1] < grid[1] && fine; at[1]++)
      for (at[0] = 0; at[0] < grid[0] && fine; at[0] += n) {
        for (unsigned i = 0; i < n; i++)
          begin_block(&cluster[i], at);
        fine = run_cluster(cluster, n);
      }
  free_cluster(cluster, n);
  return fine;
}
