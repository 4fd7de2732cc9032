/* kernel-work.c: counts the instructions that a thread of a kernel issues and the words that it moves, in finished
 * kernel IR.
 *
 * A product that an addition absorbs costs nothing where that is allowed. Loop-invariant ops are counted outside of the
 * loop, to which code generators hoist them. Private arrays are registers and cost nothing. A thread does not load a
 * value again for its next element, if no barrier and no store is between. */
#include "passes/simplify/analysis.h"
#include "passes/launch/launch.h"
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

#include <string.h>

/* The greatest number of last places among which a like one is searched, and of last ranges. */
enum { LAST_PLACES = 512, MOST_PERIODS = 8 };

/* An access to `n` elements: buffers are numbered from 0, arrays below 0. at: its coordinates. loaded: the thread still
 * has the values that it loaded there. */
typedef struct Place {
  int32_t memory, n, rank;
  bool loaded;
  Linear at[MAX_RANK];
} Place;

/* The count.
 * times[id]: how often a value is computed; rounds: how often the current block is run; uses[id]: number of uses.
 * fixed[id]: an integer that is known when loops are unrolled; loops[id]: the loop of which the value is the induction
 * variable.
 * periods: the ranges into which coordinates were wrapped or mirrored. */
typedef struct Count {
  Arena *arena;
  const TargetInfo *t;
  const Module *m;
  Kernel *k;
  const Const *scalars;
  double rounds;
  double *times;
  int32_t *uses;
  bool *fixed;
  const Op **loops;
  Ranges *ranges;
  bool edge;       /* blocks at edges are counted */
  double together; /* roots or quotients of the current block that do not wait for each other */
  bool loading;    /* a load has begun for which nothing has waited */
  int32_t nplaces;
  Place *places;
  int32_t nperiods;
  const Op *periods[MOST_PERIODS];
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

/* How often `op`, which may be hoisted out of loops, is run: as often as the innermost of its operands. */
static double rounds_of(const Count *c, const Op *op) {
  double most = 1;
  for (int i = 0; i < op->noperands; i++)
    if (c->times[op->operands[i]->id] > most)
      most = c->times[op->operands[i]->id];
  return most;
}

/* Is the result of `op` an integer that depends on nothing but constants and unrolled loops? */
static bool is_fixed(const Count *c, const Op *op) {
  bool all = op->code != OP_THREAD && op->code != OP_BLOCK && (op_info[op->code].flags & OPF_PURE) && op->nresults &&
             !type_is_float(op->results[0]->type);
  for (int i = 0; i < op->noperands; i++)
    all = all && c->fixed[op->operands[i]->id];
  return all && op->code != OP_SCALAR && op->code != OP_STEP;
}

/* Is the only use of the result of `op` an addition that may absorb a product? */
static bool is_taken_in(const Count *c, const Op *op, const Op *user) {
  return op && op->code == OP_MUL && op->parent == user->parent && c->uses[op->results[0]->id] == 1 &&
         type_is_float(op->results[0]->type);
}

/* Is it a quotient or remainder by a constant integer, which becomes a multiplication or less? */
static bool is_by_constant(const Op *op) {
  return (op->code == OP_DIV || op->code == OP_REM) && type_is_int(op->results[0]->type) && op->operands[1]->def &&
         op->operands[1]->def->code == OP_CONST;
}

/* Is it a sum of an integer and one that is known when loops are unrolled? Such a sum becomes part of an address or of
 * the bounds in a comparison. */
static bool is_offset(const Count *c, const Op *op) {
  return (op->code == OP_ADD || op->code == OP_SUB) && type_is_int(op->results[0]->type) &&
         (c->fixed[op->operands[0]->id] || c->fixed[op->operands[1]->id]);
}

/* Does the op map a coordinate into a field by a division, wherever it lies? */
static bool turns(Opcode code) {
  Reflects by = map_reflects(code);
  return code == OP_WRAP || (by.end[0] && by.end[1]);
}

/* Counts coordinate `op` that is wrapped or mirrored into a field. */
static void count_turn(Count *c, const Op *op) {
  double rounds = rounds_of(c, op);
  bool seen = false;
  for (int i = 0; i < c->nperiods && i < MOST_PERIODS; i++) {
    const Op *p = c->periods[i];
    seen |= p->code == op->code && affine_equal(p->box->lo[0], op->box->lo[0]) &&
            affine_equal(p->box->hi[0], op->box->hi[0]);
  }
  if (!seen)
    c->periods[c->nperiods++ % MOST_PERIODS] = op;
  c->w->instructions += rounds * (measured.turn_code + (op->code == OP_WRAP ? 0 : measured.mirror_code)) +
                        (seen ? 0 : measured.period_code);
  c->w->f64 += rounds * measured.turn_f64 + (seen ? 0 : measured.period_f64);
  c->w->special += (rounds + !seen) * measured.turn_special;
}

/* Instructions of `op` on values of type `t`, of a `rough` one if it need not round correctly. An addition that absorbs
 * a product counts none: the product counts. */
static double arithmetic_code(const Count *c, const Op *op, Type t, bool rough) {
  bool fuses = (c->m->contract || c->m->fast_math) && (op->code == OP_ADD || op->code == OP_SUB);
  double n = is_by_constant(op) ? measured.by_constant_code : rough ? measured.rough_code : op_additions(op);
  if (fuses && (is_taken_in(c, op->operands[0]->def, op) || is_taken_in(c, op->operands[1]->def, op)))
    return 0;
  if (op->code == OP_SELECT)
    return type_words(op->results[0]->type);
  if (t == TY_F64 && op_is_extreme(op) && c->t->extreme_f64 > 0)
    return c->t->extreme_f64;
  if (is_offset(c, op))
    return 0;
  if (op->code == OP_INSIDE)
    n = measured.inside_code * op->noperands;
  if (op_info[op->code].form == FORM_MAP)
    n = measured.bring_code * (t == TY_I64 ? 2 : 1);
  if (op->code == OP_CONVERT && type_is_int(t) && type_is_int(op->results[0]->type))
    return measured.extend_code * (t == TY_I64 ? 2 : 1);
  return n * (t == TY_I64 || (t == TY_F64 && n > 1) ? 2 : 1);
}

/* Is it a root or quotient on the short path, which pass range-guards tests together with others? */
static bool is_ranged(const Op *op) {
  return op->code == OP_SQRT_RANGED || op->code == OP_DIV_RANGED || op->code == OP_DIV_ROOT_RANGED;
}

/* The number of roots on the short path in block `b`, or of quotients if those are more: so many do not wait for each
 * other. */
static double ranged_together(const Block *b) {
  double roots = 0, quotients = 0;
  for (const Op *op = b->first; op; op = op->next) {
    roots += op->code == OP_SQRT_RANGED;
    quotients += op->code == OP_DIV_RANGED || op->code == OP_DIV_ROOT_RANGED;
  }
  return roots > quotients ? roots : quotients;
}

/* Counts arithmetic. */
static void count_arithmetic(Count *c, const Op *op) {
  Type t = op->noperands ? op->operands[op->noperands - 1]->type : op->results[0]->type;
  bool rough = c->m->fast_math && t == TY_F32 && (op->code == OP_DIV || op->code == OP_SQRT || op->code == OP_RSQRT);
  bool converts = op->code == OP_CONVERT && (type_is_float(t) || type_is_float(op->results[0]->type));
  double rounds = rounds_of(c, op), code = arithmetic_code(c, op, t, rough);
  c->w->instructions += code * rounds;
  if (t == TY_F64 && op->code != OP_SELECT)
    c->w->f64 += (code > 1 ? op_f64_operations(op) : code) * rounds;
  if (t == TY_F64 && op_additions(op) > 1)
    c->w->chained += op_f64_operations(op) * rounds / (is_ranged(op) && c->together > 1 ? c->together : 1);
  if ((op_additions(op) > 1 && !is_by_constant(op)) || converts)
    c->w->special += rounds * (rough ? measured.rough_special : op_special(op));
}

/* ---- places */

/* Are the two parts of forms alike: the same, or both induction variables of loops that are unrolled alike? */
static bool same_atom(const Count *c, Atom x, Atom y) {
  if (x.kind != y.kind || x.index != y.index)
    return false;
  const Op *p = x.v ? c->loops[x.v->id] : NULL, *q = y.v ? c->loops[y.v->id] : NULL;
  return x.v == y.v || (p && q && p->off[0] == q->off[0] && p->operands[0]->def &&
                        p->operands[0]->def == q->operands[0]->def && p->operands[1]->def == q->operands[1]->def);
}

/* Is the part of a form known when loops are unrolled? */
static bool is_fixed_atom(const Count *c, Atom x) { return x.v && c->fixed[x.v->id]; }

/* Are two coordinates the same? vary: parts that are known when loops are unrolled may differ. */
static bool same_form(const Count *c, const Linear *x, const Linear *y, bool vary) {
  int nx = 0, ny = 0, found = 0;
  for (int i = 0; i < y->n; i++)
    ny += !vary || !is_fixed_atom(c, y->t[i].atom);
  for (int i = 0; i < x->n; i++) {
    if (vary && is_fixed_atom(c, x->t[i].atom))
      continue;
    nx++;
    for (int j = 0; j < y->n; j++)
      found += x->t[i].coef == y->t[j].coef && same_atom(c, x->t[i].atom, y->t[j].atom);
  }
  return nx == ny && found == nx && (vary || x->c == y->c);
}

/* Does a thread have the same address for both places, apart from immediates of instructions: all known parts of a
 * place in an array, but only those of the last coordinate of one in a buffer? */
static bool same_address(const Count *c, const Place *x, const Place *y) {
  bool same = x->memory == y->memory;
  for (int d = 0; same && d < x->rank; d++)
    same = same_form(c, &x->at[d], &y->at[d], x->memory < 0 || d == x->rank - 1);
  return same;
}

/* Do both places hold the same elements? */
static bool same_elements(const Count *c, const Place *x, const Place *y) {
  bool same = x->memory == y->memory && x->n == y->n;
  for (int d = 0; same && d < x->rank; d++)
    same = same_form(c, &x->at[d], &y->at[d], false);
  return same;
}

/* How often the address of a place is computed: as often as the innermost part changes that is no immediate of an
 * instruction. */
static double address_rounds(const Count *c, const Place *p) {
  double most = 0;
  for (int d = 0; d < p->rank; d++)
    for (int i = 0; i < p->at[d].n; i++) {
      Atom x = p->at[d].t[i].atom;
      double own = x.v ? c->times[x.v->id] : 1;
      if (!(is_fixed_atom(c, x) && (p->memory < 0 || d == p->rank - 1)) && own > most)
        most = own;
    }
  return most;
}

/* The place of an access of `op` to `n` elements of memory `memory` of rank `rank`, at the indices from operand `first`
 * on plus `off`. */
static Place place_of(Count *c, const Op *op, int32_t memory, int n, int first, int rank, const int64_t *off) {
  Place p = {.memory = memory, .n = n, .rank = rank};
  for (int d = 0; d < rank; d++) {
    p.at[d] = linear_of(c->ranges, op->operands[first + d]);
    p.at[d].c += off[d];
  }
  return p;
}

/* Counts the address of place `p`, unless one before was alike. Does the thread still have the values that it loaded
 * there? */
static bool count_place(Count *c, Place p) {
  bool known = false, loaded = false;
  for (int i = 0; i < LAST_PLACES && i < c->nplaces && !loaded; i++) {
    known = known || same_address(c, &c->places[i], &p);
    loaded = c->places[i].loaded && same_elements(c, &c->places[i], &p);
  }
  if (!loaded)
    c->places[c->nplaces++ % LAST_PLACES] = p;
  c->w->instructions += known || loaded ? 0 : measured.address_code * address_rounds(c, &p);
  return loaded;
}

/* Forgets values loaded from memory `memory`, or, if that is below all arrays, from any: they may have changed. */
static void forget_loaded(Count *c, int32_t memory) {
  for (int i = 0; i < LAST_PLACES && i < c->nplaces; i++)
    if (memory == INT32_MIN || c->places[i].memory == memory)
      c->places[i].loaded = false;
}

/* Counts an access of `op` to memory `memory` of rank `rank`, whose elements are of type `t`, in words of *words. */
static void count_access(Count *c, const Op *op, int32_t memory, int rank, Type t, double *words) {
  int n = op_elements(op), first = op->code == OP_ASYNC_COPY && memory >= 0 ? op->noperands - rank : op_first_index(op);
  bool load = memory >= 0 ? op_buffer_read(op) >= 0 && op->code != OP_ASYNC_COPY : op_array_written(op) < 0;
  Place p = place_of(c, op, memory, n, first, rank, op->code == OP_ASYNC_COPY && memory >= 0 ? op->from_off : op->off);
  p.loaded = load;
  if (!load && !(memory >= 0 && op->code == OP_ASYNC_COPY))
    forget_loaded(c, memory);
  if (count_place(c, p) && load)
    return;
  *words += n * type_words(t) * c->rounds;
  c->w->instructions +=
      op->code == OP_ASYNC_COPY && memory >= 0 ? 0 : (n * type_size(t) > VECTOR_BYTES ? 2 : 1) * c->rounds;
  c->loading |= load && memory >= 0;
}

/* Counts an access to memory; of a copy, both accesses. */
static void count_memory(Count *c, const Op *op) {
  int array = op_array(op), buffer = op_buffer_read(op) >= 0 ? op_buffer_read(op) : op_buffer_written(op);
  if (array >= 0 && c->k->arrays[array].space == SPACE_PRIVATE)
    return;
  if (array >= 0)
    count_access(c, op, -1 - array, c->k->arrays[array].rank, c->k->arrays[array].type, &c->w->shared);
  if (buffer >= 0)
    count_access(c, op, buffer, buffer_rank(c->m, buffer), buffer_type(c->m, buffer), &c->w->global);
}

/* Counts a wait for the values that were loaded. */
static void count_wait(Count *c) {
  c->w->waits += c->loading ? c->rounds : 0;
  c->loading = false;
}

/* The rounds of a loop. A streaming loop may be split: its parts at edges have few rounds and count none; the part
 * between them, which the code has twice, counts half of all rounds each time. */
static double loop_rounds(const Count *c, const Op *op) {
  int64_t lo, hi;
  if (op->flags & FOR_EDGES)
    return 0;
  if (op->flags & FOR_MIDDLE)
    return op->parent->parent->count / 2.0;
  if (!known_int(c, op->operands[0], &lo) || !known_int(c, op->operands[1], &hi))
    return 1;
  return hi > lo ? (double)((hi - lo + op->off[0] - 1) / op->off[0]) : 0;
}

/* Counts a loop. Its code is the instructions issued in a round, without those that are hoisted out of it. */
static void count_for(Count *c, const Op *op) {
  double outer = c->rounds, n = loop_rounds(c, op), before = c->w->instructions;
  bool unrolled = op->flags & FOR_UNROLL;
  c->rounds = outer * n;
  for (int i = 0; i < op->blocks[0]->nargs; i++) {
    c->times[op->blocks[0]->args[i]->id] = c->rounds;
    c->fixed[op->blocks[0]->args[i]->id] = i == 0 && unrolled;
    c->loops[op->blocks[0]->args[i]->id] = i == 0 && unrolled ? op : NULL;
  }
  c->nplaces = unrolled ? c->nplaces : 0;
  count_block(c, op->blocks[0]);
  if (!unrolled)
    count_wait(c);
  c->w->rounds = c->rounds > c->w->rounds && !unrolled ? c->rounds : c->w->rounds;
  c->nplaces = unrolled ? c->nplaces : 0;
  c->w->instructions += unrolled ? 0 : measured.round_code * c->rounds;
  double own = c->w->instructions - before;
  if (!unrolled && n > 1 && own > 0 && !block_has_loop(op->blocks[0]))
    c->w->fetched += model_fetched(&model_finished, own, own / c->rounds);
  c->rounds = outer;
}

bool kernel_has_versions(const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (op->flags & IF_INTERIOR)
      return true;
  return false;
}

/* Is coordinate `v` a coordinate of the grid: does it depend on the block, tile by tile, along dimension `d`? */
static bool is_of_grid(const Count *c, const Value *v, int d) {
  Linear f = linear_of(c->ranges, v);
  bool is = false;
  for (int i = 0; i < f.n; i++)
    is = is || (f.t[i].atom.kind == ATOM_BLOCK && f.t[i].atom.index == d && f.t[i].coef == c->k->tile[d]);
  return is;
}

/* The part of all tiles for which `v`, a test whether a point is in a box, can hold; 1: not known. */
static double test_share(const Count *c, const Value *v) {
  const Op *op = v->def;
  double share = 1;
  if (!op || op->code != OP_INSIDE || op->noperands != c->m->grid.rank)
    return 1;
  const Const *scalars = c->scalars ? c->scalars : default_scalars(c->m);
  for (int d = 0; d < op->noperands; d++) {
    if (!scalars || !is_of_grid(c, op->operands[d], d))
      return 1;
    double piece = (double)affine_eval(box_extent(c->arena, op->box, d), scalars, NULL),
           all = (double)affine_eval(box_extent(c->arena, &c->m->grid, d), scalars, NULL);
    share *= piece <= 0 ? 0 : piece + (double)c->k->tile[d] < all ? (piece + (double)c->k->tile[d]) / all : 1;
  }
  return share;
}

/* Adds to *w the part `part` of the counts by which `x` exceeds it. */
static void add_part(KernelWork *w, const KernelWork *x, double part) {
  double *const to[] = {&w->instructions, &w->f64,   &w->special, &w->shared,  &w->global, &w->exchanges,
                        &w->barriers,     &w->waits, &w->copies,  &w->chained, &w->fetched};
  const double from[] = {x->instructions, x->f64,   x->special, x->shared,  x->global, x->exchanges,
                         x->barriers,     x->waits, x->copies,  x->chained, x->fetched};
  for (size_t i = 0; i < sizeof to / sizeof *to; i++)
    *to[i] += part * from[i];
}

/* Does `op` load the class of the block's tile: from a list of tiles, or from a byte of a field that no program names,
 * on another box than the grid (pass tile-classes)? */
static bool loads_class(const Count *c, const Op *op) {
  const Buffer *b = op && op->code == OP_LOAD ? &c->m->buffers[op->sym] : NULL;
  const Field *f = b && b->kind == BUFFER_FIELD ? &c->m->fields[b->field] : NULL;
  return f && (kernel_loads_class(c->k, op) ||
               (f->type == TY_U8 && strchr(f->name, '.') && !box_equal(&f->box, &c->m->grid)));
}

/* Does `op` load from the list that names the tiles of the kernel's blocks? */
static bool loads_listed(const Count *c, const Op *op) {
  return op->code == OP_LOAD && c->k->list && op->sym == c->k->list - 1;
}

/* Does `v` test whether all tests of the block's tile hold? */
static bool tests_class(const Count *c, const Value *v) {
  const Op *op = v->def;
  int64_t is;
  return op && op->code == OP_EQ && loads_class(c, op->operands[0]->def) && value_is_int(op->operands[1], &is) &&
         is == 1;
}

/* Counts a choice: one version; the arm of a guard that holds, or of tests of a tile that all hold; of an arm that is
 * taken in few tiles, or in a known part of the steps, that part; or else the arm with more instructions. */
static void count_if(Count *c, const Op *op) {
  KernelWork before = *c->w, first;
  bool version = op->flags & IF_INTERIOR;
  count_block(c, op->blocks[version && c->edge]);
  if (version)
    return;
  if (value_is_guard(op->operands[0]) || tests_class(c, op->operands[0])) {
    c->w->instructions += c->rounds;
    return;
  }
  first = *c->w;
  *c->w = before;
  count_block(c, op->blocks[1]);
  double steps = value_step_share(op->operands[0]), share = steps > 0 ? steps : test_share(c, op->operands[0]);
  if (steps > 0 || share * THIN_SHARE <= 1) {
    add_part(c->w, &first, share);
    add_part(c->w, &before, -share);
  } else if (first.instructions >= c->w->instructions)
    *c->w = first;
  c->w->instructions += c->rounds;
  forget_loaded(c, INT32_MIN);
}

/* Counts an op that is run in each round of the current block, or hoisted out of it. */
static void count_op(Count *c, const Op *op) {
  double rounds = op_info[op->code].flags & OPF_PURE ? rounds_of(c, op) : c->rounds;
  for (int i = 0; i < op->nresults; i++) {
    c->times[op->results[i]->id] = rounds;
    c->fixed[op->results[i]->id] = is_fixed(c, op);
  }
  if (loads_class(c, op) || loads_listed(c, op))
    return;
  switch (op->code) {
  case OP_FOR: count_for(c, op); break;
  case OP_IF: count_if(c, op); break;
  case OP_BARRIER:
  case OP_BARRIER_NEAR:
    count_wait(c);
    forget_loaded(c, INT32_MIN);
    c->w->barriers += c->rounds;
    c->w->instructions += c->rounds;
    break;
  case OP_ASYNC_WAIT:
    c->w->instructions += c->rounds;
    c->w->copies += c->rounds / (double)(op->count + 1);
    break;
  case OP_ASYNC_COMMIT: c->w->instructions += c->rounds; break;
  case OP_BULK_LOAD:
  case OP_BULK_STORE:
  case OP_BULK_PREFETCH:
  case OP_ELECT: c->w->instructions += c->rounds; break;
  case OP_UNIFORM:
  case OP_SHUFFLE:
  case OP_SHUFFLE_UP:
  case OP_SHUFFLE_DOWN:
    c->w->instructions += type_words(op->results[0]->type) * c->rounds;
    c->w->shared += type_words(op->results[0]->type) * c->rounds;
    c->w->exchanges += type_words(op->results[0]->type) * c->rounds;
    break;
  default:
    if (op_array(op) >= 0 || op_buffer_read(op) >= 0 || op_buffer_written(op) >= 0)
      count_memory(c, op);
    else if (turns(op->code))
      count_turn(c, op);
    else if (op->nresults && op->code != OP_THREAD && op->code != OP_BLOCK && !c->fixed[op->results[0]->id])
      count_arithmetic(c, op);
  }
}

/* Counts the ops of `b`. */
static void count_block(Count *c, Block *b) {
  double outer = c->together;
  c->together = ranged_together(b);
  for (const Op *op = b->first; op; op = op->next)
    count_op(c, op);
  c->together = outer;
}

KernelWork kernel_work(const TargetInfo *t, const Module *m, Kernel *k, const Const *scalars, bool edge) {
  KernelWork w = {.threads = 1, .points = 1, .rounds = 1};
  int32_t n = block_renumber(k->body, 0);
  Count c = {.arena = m->arena,
             .t = t,
             .m = m,
             .k = k,
             .scalars = scalars,
             .edge = edge,
             .rounds = 1,
             .w = &w,
             .times = ARENA_ARRAY(m->arena, double, n + 1),
             .uses = ARENA_ARRAY(m->arena, int32_t, n + 1),
             .fixed = ARENA_ARRAY(m->arena, bool, n + 1),
             .loops = ARENA_ARRAY(m->arena, const Op *, n + 1),
             .places = ARENA_ARRAY(m->arena, Place, LAST_PLACES),
             .ranges = ranges_numbered(m->arena, m, k, n)};
  block_walk(k->body, count_uses, &c);
  for (int d = 0; d < k->rank; d++) {
    w.threads *= k->threads[d];
    w.points *= k->tile[d];
  }
  count_block(&c, k->body);
  count_wait(&c);
  return w;
}
