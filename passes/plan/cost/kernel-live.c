/* kernel-live.c: the registers that a kernel's thread needs, from the live ranges of its values and of the cells of its
 * private arrays, which become registers where their indices are constants. */
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

/* A thing that may be live: a value, by its number, or, after all values, a cell of a private array. words 0: it takes
 * no register (constants, scalars, conditions). known: its value is a number when all loops so marked are unrolled.
 * met: the first arm of the current choice has changed it. */
typedef struct Thing {
  int8_t words;
  bool condition, known, live, met;
} Thing;

/* The traversal, from the end of the kernel to its start: `now` words and `conditions` are live.
 * first[array]: the thing that is the array's first cell, -1: it is no private array.
 * in_memory[array]: an index of the array is not known, so its cells are in memory, for no register has a number.
 * early: loads from global memory begin as early as barriers and loops allow; `loads`: the values of loads that have
 * not reached such a place yet.
 * version: counts one version alone of a kernel with two, 0: of blocks that touch no edge, 1: of others; -1: both.
 * flips: the things that became live or ceased to be, in order, since the outermost current choice began. */
typedef struct Live {
  Arena *arena;
  Kernel *k;
  int32_t n, now, most, conditions, most_conditions;
  Thing *things;
  int32_t *first, *cells;
  bool *in_memory;
  bool early;
  int version;
  int32_t nloads, *loads;
  int32_t nflips, *flips, choices;
} Live;

static void live_block(Live *l, const Block *b);

/* ---- things */

/* Words of a value of type `t`. */
static int8_t words_of(Type t) { return t == TY_BOOL ? 0 : type_size(t) > 4 ? 2 : 1; }

/* Are all operands of `op` from number `from` on known? */
static bool knows_operands(const Live *l, const Op *op, int from) {
  bool all = true;
  for (int i = from; i < op->noperands && all; i++)
    all = l->things[op->operands[i]->id].known;
  return all;
}

/* Sets thing `i`, a value. */
static void measure(Live *l, const Value *v, bool free, bool known) {
  l->things[v->id] = (Thing){.words = free ? 0 : words_of(v->type), .condition = v->type == TY_BOOL, .known = known};
}

/* Sets the things of values below `b`, and of the arrays that they index. */
static void measure_block(Live *l, const Block *b) {
  bool round = b->parent && b->parent->code == OP_FOR && (b->parent->flags & FOR_UNROLL);
  for (int i = 0; i < b->nargs; i++)
    measure(l, b->args[i], false, round && i == 0 && l->things[b->parent->operands[0]->id].known);
  for (const Op *op = b->first; op; op = op->next) {
    bool free = op->code == OP_CONST || op->code == OP_SCALAR || op->code == OP_BLOCK,
         known =
             op->code == OP_CONST || (op->noperands && op_info[op->code].flags & OPF_PURE && knows_operands(l, op, 0));
    for (int i = 0; i < op->nresults; i++)
      measure(l, op->results[i], free, known);
    if (op_array(op) >= 0 && !knows_operands(l, op, op_first_index(op)))
      l->in_memory[op->sym] = true;
    for (int i = 0; i < op->nblocks; i++)
      measure_block(l, op->blocks[i]);
  }
}

/* Makes thing `i` live, or dead if it was live. */
static void flip(Live *l, int32_t i) {
  Thing *t = &l->things[i];
  t->live = !t->live;
  l->now += t->live ? t->words : -t->words;
  l->conditions += t->live ? t->condition : -t->condition;
  if (l->choices)
    ARENA_PUSH(l->arena, l->flips, l->nflips, i);
}

/* use: thing `i` is needed here; make: it is made here. */
static void use(Live *l, int32_t i) {
  if (!l->things[i].live)
    flip(l, i);
  l->most = l->now > l->most ? l->now : l->most;
  l->most_conditions = l->conditions > l->most_conditions ? l->conditions : l->most_conditions;
}
static void make(Live *l, int32_t i) {
  if (l->things[i].live)
    flip(l, i);
}

/* Begins all pending loads here: they cannot begin earlier. */
static void begin_loads(Live *l) {
  while (l->nloads > 0)
    make(l, l->loads[--l->nloads]);
}

/* The results of `op` are made here, or by a load that begins further up. */
static void make_results(Live *l, const Op *op) {
  bool load = l->early && op_buffer_read(op) >= 0 && op->nresults;
  for (int i = 0; i < op->nresults; i++)
    if (load)
      l->loads[l->nloads++] = op->results[i]->id;
    else
      make(l, op->results[i]->id);
}

/* ---- private arrays */

/* Is cell number `cell` of the array among those that `op` accesses with its element number `e`? An index that is not
 * constant, which counts an unrolled loop, may be any cell. */
static bool touches(const Op *op, const Array *a, int32_t cell, int e) {
  for (int d = a->rank - 1; d >= 0; d--) {
    const Value *v = op->operands[op_first_index(op) + d];
    int64_t own = cell % a->shape[d];
    cell /= a->shape[d];
    if (v->def && v->def->code == OP_CONST && v->def->cval.i + op->off[d] + (d == a->rank - 1 ? e : 0) != own)
      return false;
  }
  return true;
}

/* The one cell that `op` accesses with its element number `e`, if all indices are constant; -1: it accesses none, -2:
 * some index is not constant. */
static int32_t only_cell(const Op *op, const Array *a, int e) {
  int64_t cell = 0;
  for (int d = 0; d < a->rank; d++) {
    const Value *v = op->operands[op_first_index(op) + d];
    if (!v->def || v->def->code != OP_CONST)
      return -2;
    int64_t at = v->def->cval.i + op->off[d] + (d == a->rank - 1 ? e : 0);
    cell = cell < 0 || at < 0 || at >= a->shape[d] ? -1 : cell * a->shape[d] + at;
  }
  return (int32_t)cell;
}

/* The effect of `op` on the cells of a private array: a store makes them, a load uses them. */
static void touch_cells(Live *l, const Op *op) {
  const Array *a = &l->k->arrays[op->sym];
  void (*touch)(Live *, int32_t) = op_array_written(op) >= 0 ? make : use;
  for (int e = 0; e < op_elements(op); e++) {
    int32_t only = only_cell(op, a, e);
    if (only >= 0)
      touch(l, l->first[op->sym] + only);
    for (int32_t i = 0; only == -2 && i < l->cells[op->sym]; i++)
      if (touches(op, a, i, e))
        touch(l, l->first[op->sym] + i);
  }
}

/* ---- the traversal */

/* A loop: things that are live at its start are live at its end, too. */
static void live_for(Live *l, const Op *op) {
  const Block *body = op->blocks[0];
  for (int round = 0; round < 2; round++) {
    for (int i = 1; i < body->nargs && round; i++)
      use(l, body->args[i]->id);
    use(l, body->args[0]->id);
    live_block(l, body);
    for (int i = 0; i < body->nargs; i++)
      make(l, body->args[i]->id);
  }
}

/* A list of things, in any order, some perhaps more than once. */
typedef struct Things {
  int32_t n, *v;
} Things;

/* Undoes all flips but the first `start`, or makes them again. */
static void undo(Live *l, int32_t start) {
  for (int32_t k = l->nflips - 1; k >= start; k--)
    l->things[l->flips[k]].live = !l->things[l->flips[k]].live;
}
static void redo(Live *l, int32_t start) {
  for (int32_t k = start; k < l->nflips; k++)
    l->things[l->flips[k]].live = !l->things[l->flips[k]].live;
}

/* The things flipped since flip number `start` that are live now, if `met`; else those of them that are not met. */
static Things alive_flipped(Live *l, int32_t start, bool met) {
  Things t = {0};
  for (int32_t k = start; k < l->nflips; k++)
    if (l->things[l->flips[k]].live && (met || !l->things[l->flips[k]].met))
      ARENA_PUSH(l->arena, t.v, t.n, l->flips[k]);
  return t;
}

/* Marks all things of `t` as met, or as not met. */
static void meet(Live *l, const Things *t, bool met) {
  for (int32_t k = 0; k < t->n; k++)
    l->things[t->v[k]].met = met;
}

/* A choice. Live before it are the things that either arm needs: those live at the start of the first arm, and those
 * live after the choice that the first arm does not change. Only things that an arm changes are looked at. */
static void live_if(Live *l, const Op *op) {
  if (l->version >= 0 && (op->flags & IF_INTERIOR)) {
    live_block(l, op->blocks[l->version]);
    return;
  }
  const int32_t start = l->nflips, now = l->now, conditions = l->conditions;
  l->choices++;
  live_block(l, op->blocks[0]);
  Things changed = {0}, first = alive_flipped(l, start, true);
  for (int32_t k = start; k < l->nflips; k++)
    ARENA_PUSH(l->arena, changed.v, changed.n, l->flips[k]);
  undo(l, start);
  l->nflips = start;
  l->now = now;
  l->conditions = conditions;
  live_block(l, op->blocks[1]);
  meet(l, &changed, true);
  undo(l, start);
  Things behind = alive_flipped(l, start, false);
  redo(l, start);
  meet(l, &changed, false);
  for (int32_t k = 0; k < first.n; k++)
    use(l, first.v[k]);
  for (int32_t k = 0; k < behind.n; k++)
    use(l, behind.v[k]);
  if (!--l->choices)
    l->nflips = 0;
}

/* Traverses the ops of `b` from the last to the first. */
static void live_block(Live *l, const Block *b) {
  for (const Op *op = b->last; op; op = op->prev) {
    make_results(l, op);
    if (op_is_barrier(op) || op->code == OP_FOR || op->code == OP_IF)
      begin_loads(l);
    if (op->code == OP_FOR)
      live_for(l, op);
    if (op->code == OP_IF)
      live_if(l, op);
    if (op_array(op) >= 0 && l->first[op->sym] >= 0)
      touch_cells(l, op);
    for (int i = 0; i < op->noperands; i++)
      use(l, op->operands[i]->id);
  }
  begin_loads(l);
}

/* Gives cells of private arrays numbers after `n` values. */
static void number_cells(Live *l, int32_t n) {
  const Kernel *k = l->k;
  l->n = n;
  for (int a = 0; a < k->narrays; a++) {
    l->first[a] = k->arrays[a].space == SPACE_PRIVATE ? l->n : -1;
    l->cells[a] = 1;
    for (int d = 0; d < k->arrays[a].rank; d++)
      l->cells[a] *= k->arrays[a].shape[d];
    l->n += l->first[a] >= 0 ? l->cells[a] : 0;
  }
}

/* See kernel_live_words. */
static LiveWords live_words(const Module *m, Kernel *k, bool early, int version) {
  Live l = {.arena = m->arena,
            .k = k,
            .early = early,
            .version = version,
            .first = ARENA_ARRAY(m->arena, int32_t, k->narrays + 1),
            .cells = ARENA_ARRAY(m->arena, int32_t, k->narrays + 1),
            .in_memory = ARENA_ARRAY(m->arena, bool, k->narrays + 1)};
  number_cells(&l, block_renumber(k->body, 0));
  l.things = ARENA_ARRAY(m->arena, Thing, l.n + 1);
  l.loads = ARENA_ARRAY(m->arena, int32_t, l.n + 1);
  measure_block(&l, k->body);
  for (int a = 0; a < k->narrays; a++) {
    if (l.in_memory[a])
      l.first[a] = -1;
    for (int32_t i = 0; l.first[a] >= 0 && i < l.cells[a]; i++)
      l.things[l.first[a] + i].words = words_of(k->arrays[a].type);
  }
  live_block(&l, k->body);
  return (LiveWords){l.most, l.most_conditions};
}

LiveWords kernel_live_words(const Module *m, Kernel *k, bool early) { return live_words(m, k, early, -1); }

/* The buffers of global memory that a kernel's ops read or write; exchanges: lanes exchange values. */
typedef struct Touched {
  bool *buffer, exchanges;
  int32_t n;
} Touched;

/* Notes the accesses of an op (a block_walk callback). */
static void note_touched(void *user, Op *op) {
  Touched *t = user;
  int both[] = {op_buffer_read(op), op_buffer_written(op)};
  t->exchanges |= op_info[op->code].form == FORM_LANE;
  for (int i = 0; i < 2; i++)
    if (both[i] >= 0 && !t->buffer[both[i]]) {
      t->buffer[both[i]] = true;
      t->n++;
    }
}

bool block_has_loop(const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op->code == OP_FOR && !(op->flags & FOR_UNROLL))
      return true;
    for (int i = 0; i < op->nblocks; i++)
      if (block_has_loop(op->blocks[i]))
        return true;
  }
  return false;
}

/* The words live in a thread of `k`. A streaming loop keeps most of them from round to round, and an address of two
 * words for each buffer; straight code for several points a thread has private arrays, which lanes exchange in rank 2
 * if tiles are in their registers. version: see Live. */
static RegisterNeed registers_of(const Module *m, Kernel *k, int version) {
  Touched t = {.buffer = ARENA_ARRAY(m->arena, bool, m->nbuffers + 1)};
  block_walk(k->body, note_touched, &t);
  LiveWords live = live_words(m, k, false, version);
  RegisterNeed n = {.live = live.words,
                    .early = live_words(m, k, true, version).words,
                    .addresses = 2 * t.n,
                    .conditions = live.conditions,
                    .rounds = block_has_loop(k->body)};
  for (int a = 0; a < k->narrays; a++) {
    bool own = k->arrays[a].space == SPACE_PRIVATE;
    n.several |= own;
    n.pairs |= own && type_size(k->arrays[a].type) > 4;
  }
  n.exchanged = n.several && !n.rounds && t.exchanges && k->rank == 2;
  return n;
}

int32_t kernel_version_registers(const TargetInfo *t, const Module *m, Kernel *k, int version, int32_t *spilled) {
  int64_t threads = kernel_threads(k);
  RegisterNeed n = registers_of(m, k, version);
  int32_t registers = model_registers(t, threads, &n, spilled);
  int32_t most = k->per_core ? registers_limit(t, k->per_core * threads) : registers;
  return most < registers ? most : registers;
}

int32_t kernel_registers(const TargetInfo *t, const Module *m, Kernel *k, int32_t *spilled) {
  return kernel_version_registers(t, m, k, -1, spilled);
}
