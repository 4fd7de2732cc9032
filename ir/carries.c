/* carries.c: finds values that a round of a row's loop can take over from the round before.
 *
 * A loop over a row computes a flux between two points twice, for the left point and for the right one: the expression
 * at offset -1 equals the one at offset 0 in the round before. Such a value is carried from round to round as a phi,
 * which LLVM's vectoriser turns into one shuffle ("fixed-order recurrences"), in place of the whole expression. Its
 * value for the first round is computed before the loop.
 *
 * Each value of the body gets a class and a shift: in round j it is the value of its class at j + shift. The shift of a
 * load whose place advances with the loop is its offset; the shift of another op is the least shift of its operands;
 * the class describes everything else. Two values of one class whose shifts differ by one are equal, a round apart:
 * rounds of a parallel loop do not write what others read, so loads of one place have the same value in both.
 *
 * The choice goes from users to operands, so that the largest expressions come first. It then drops those values whose
 * own share of the expression costs less than the shuffle and the register.
 *
 * Stencil IR has no loop yet. There a piece's body is analysed as if it were the body of a loop along the last
 * dimension, so that its cost can be counted. */
#include "ir/carries.h"

#include <stdlib.h>
#include <string.h>

/* Limits: the ops of a body that is analysed; the values that are carried, each of which occupies a register all the
 * time; the iterations of the choice. */
enum { MOST_OPS = 3000, MOST_CARRIED = 10, MOST_ROUNDS = 24 };

/* Costs of ops, in halves of an instruction of 16 lanes: of loads, plain ops, divisions, roots and function calls.
 * LEAST_SAVED: what a carried value must save by itself. LEAST_IN_ALL, LEAST_PART: what all of them together must save,
 * in these units and as one part in so many of the body. */
enum { COST_LOAD = 1, COST_PLAIN = 2, COST_DIV = 20, COST_SQRT = 24, COST_CALL = 60 };
enum { LEAST_SAVED = 6, LEAST_IN_ALL = 16, LEAST_PART = 16 };

/* The most words that describe an op, and an operand. */
enum { OP_WORDS = 5, OPERAND_WORDS = 3 };

/* The class of values that are the same in all rounds; the class of values about which nothing is known. */
enum { CLASS_SAME = 0, CLASS_UNKNOWN = -1 };

/* An op of the body. class, shift: of its result. from: the nodes of its operands, NULL for operands from outside the
 * body. ahead: the node whose result of the round before equals this one. unit: the result grows by one from round to
 * round. The present choice: needed: it is computed; carried: it is taken over from `ahead`; source: another node takes
 * it over; banned: it must not be carried; saves: what carrying it saves in a round; uses, over: the number of uses of
 * its result if it is computed, and if it is carried. done: it is in the final order. */
typedef struct Node {
  const Op *op;
  int32_t class, cost, saves, uses, over;
  int64_t shift;
  struct Node *ahead, **from;
  bool unit, needed, carried, source, banned, done;
} Node;

/* A class: the words that describe it, and its members. */
typedef struct Class {
  uint64_t hash;
  int32_t nwords, nmembers;
  uint64_t *words;
  Node **members;
} Class;

typedef struct Search {
  Arena *arena;
  const Block *body;
  const Value *number; /* the induction variable; NULL: a stencil's piece */
  int last;            /* of a stencil's piece: the last dimension */
  Node *nodes;
  int32_t n, nslots;
  Node **slots; /* hash table of nodes by the result of their op */
  Class *classes;
  int32_t nclasses, nbuckets, *buckets;
  uint64_t *words; /* description of the class that is looked up */
  int32_t nwords;
} Search;

/* ---------------------------------------------------------------- classes */

static void put_word(Search *s, uint64_t word) { s->words[s->nwords++] = word; }

/* The class that s->words describe; adds it if it is missing. */
static int32_t class_of_words(Search *s) {
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < s->nwords; i++)
    hash = (hash ^ s->words[i]) * 1099511628211u;
  int32_t at = (int32_t)(hash % (uint64_t)s->nbuckets);
  for (; s->buckets[at]; at = (at + 1) % s->nbuckets) {
    const Class *c = &s->classes[s->buckets[at]];
    if (c->hash == hash && c->nwords == s->nwords &&
        memcmp(c->words, s->words, sizeof *s->words * (size_t)s->nwords) == 0)
      return s->buckets[at];
  }
  Class *c = &s->classes[++s->nclasses];
  *c = (Class){.hash = hash, .nwords = s->nwords, .words = ARENA_ARRAY(s->arena, uint64_t, s->nwords + 1)};
  memcpy(c->words, s->words, sizeof *s->words * (size_t)s->nwords);
  return s->buckets[at] = s->nclasses;
}

/* The slot of the node whose op defines `v`, or the free slot for it. */
static Node **slot_of(const Search *s, const Value *v) {
  size_t at = (size_t)((uintptr_t)v / sizeof(void *) * 11400714819323198485u >> 16) % (size_t)s->nslots;
  while (s->slots[at] && s->slots[at]->op->results[0] != v)
    at = (at + 1) % (size_t)s->nslots;
  return &s->slots[at];
}

/* The node of the op in the body that defines `v`; NULL if `v` is from outside. */
static Node *node_of(const Search *s, const Value *v) { return *slot_of(s, v); }

/* Is `v` the induction variable? */
static bool is_round(const Search *s, const Value *v) { return s->number && v == s->number; }

/* The class of operand `v`, and its shift. */
static int32_t class_of(const Search *s, const Value *v, int64_t *shift) {
  const Node *n = node_of(s, v);
  *shift = n ? n->shift : 0;
  return n ? n->class : is_round(s, v) ? 1 : CLASS_SAME;
}

/* Does integer `v` grow by one from round to round? */
static bool goes_along(const Search *s, const Value *v) {
  const Node *n = node_of(s, v);
  return n ? n->unit : is_round(s, v);
}

/* Is `v` the same in all rounds? */
static bool is_same(const Search *s, const Value *v) {
  int64_t shift;
  return class_of(s, v, &shift) == CLASS_SAME;
}

/* Does the result of `op` grow by one from round to round? */
static bool is_unit(const Search *s, const Op *op) {
  if (op->code == OP_CONVERT)
    return op->results[0]->type == TY_I64 && op->operands[0]->type == TY_I32 && goes_along(s, op->operands[0]);
  if (op->code == OP_ADD && type_is_int(op->results[0]->type))
    return (goes_along(s, op->operands[0]) && is_same(s, op->operands[1])) ||
           (is_same(s, op->operands[0]) && goes_along(s, op->operands[1]));
  return op->code == OP_SUB && type_is_int(op->results[0]->type) && goes_along(s, op->operands[0]) &&
         is_same(s, op->operands[1]);
}

/* Appends the description of `op` without its operands and its offset along the row. */
static void put_op(Search *s, const Op *op) {
  s->nwords = 0;
  put_word(s, (uint64_t)op->code);
  put_word(s, (uint64_t)op->results[0]->type);
  put_word(s, (uint64_t)op->sym);
  put_word(s, (uint64_t)op->ver);
  put_word(s, (uint64_t)op->count);
}

/* Appends the description of operand `v`: the value itself if it is from outside, else its class and the difference of
 * its shift and `base`. */
static void put_operand(Search *s, const Value *v, int64_t base) {
  int64_t shift;
  int32_t class = class_of(s, v, &shift);
  put_word(s, (uint64_t)class);
  put_word(s, class == CLASS_SAME ? (uint64_t)(uintptr_t)v : (uint64_t)(shift - base));
}

/* Classifies a load. Its class is known if its coordinates are the same in all rounds, or if only the one in the last
 * dimension varies and grows by one from round to round. */
static void class_load(Search *s, Node *n) {
  const Op *op = n->op;
  int last = op->noperands - 1;
  bool same = true;
  for (int d = 0; d < op->noperands; d++)
    same = same && is_same(s, op->operands[d]);
  for (int d = 0; d < last; d++)
    if (!is_same(s, op->operands[d]))
      return;
  if (same)
    n->class = CLASS_SAME;
  if (same || last < 0 || !goes_along(s, op->operands[last]))
    return;
  put_op(s, op);
  for (int d = 0; d < op->noperands; d++) {
    put_operand(s, op->operands[d], 0);
    put_word(s, d < last ? (uint64_t)op->off[d] : 0);
  }
  n->shift = op->off[last];
  n->class = class_of_words(s);
}

/* Classifies an access of stencil IR. */
static void class_access(Search *s, Node *n) {
  put_op(s, n->op);
  for (int d = 0; d < MAX_RANK; d++)
    put_word(s, d == s->last ? 0 : (uint64_t)n->op->off[d]);
  n->shift = n->op->off[s->last];
  n->class = class_of_words(s);
}

/* Classifies an op that only computes. */
static void class_plain(Search *s, Node *n) {
  const Op *op = n->op;
  int64_t base = INT64_MAX, shift;
  for (int i = 0; i < op->noperands; i++) {
    int32_t class = class_of(s, op->operands[i], &shift);
    if (class == CLASS_UNKNOWN)
      return;
    if (class != CLASS_SAME && shift < base)
      base = shift;
  }
  if (base == INT64_MAX) {
    n->class = CLASS_SAME;
    return;
  }
  put_op(s, op);
  for (int i = 0; i < op->noperands; i++)
    put_operand(s, op->operands[i], base);
  n->shift = base;
  n->unit = is_unit(s, op);
  n->class = class_of_words(s);
}

/* The cost of `op`. */
static int32_t cost_of(const Op *op) {
  if (op_info[op->code].flags & OPF_INEXACT)
    return COST_CALL;
  switch (op->code) {
  case OP_LOAD:
  case OP_ACCESS:
  case OP_ALOAD: return COST_LOAD;
  case OP_DIV: return type_is_float(op->results[0]->type) ? COST_DIV : COST_PLAIN;
  case OP_SQRT: return COST_SQRT;
  case OP_RSQRT: return COST_DIV + COST_SQRT;
  default: return COST_PLAIN;
  }
}

/* Is `op` a load of one element? */
static bool is_load(const Op *op) { return op->code == OP_LOAD || op->code == OP_ALOAD; }

/* Is it a store of one element, or the yield of a stencil's piece? */
static bool is_store(const Op *op) { return op->code == OP_STORE || op->code == OP_ASTORE || op->code == OP_YIELD; }

/* In stencil IR: does `op`, which is no access, vary from point to point although its operands do not? */
static bool op_varies(const Op *op) { return op->code == OP_INDEX; }

/* May `op` be in a body that is analysed: is it a load, arithmetic, or a store that no later load reads? */
static bool is_simple(const Search *s, const Op *op) {
  if (is_store(op))
    return true;
  bool constant = op->code == OP_CONST || op_info[op->code].form == FORM_SCALAR;
  bool plain = (op_info[op->code].form == FORM_PLAIN || !s->number) && (op_info[op->code].flags & OPF_PURE);
  if (op->nresults != 1 || op->nblocks || value_is_guard(op->results[0]) || !(constant || plain || is_load(op)))
    return false;
  for (const Node *n = s->nodes; is_load(op) && n < s->nodes + s->n; n++)
    if (is_store(n->op) && n->op->sym == op->sym && op_info[n->op->code].form == op_info[op->code].form)
      return false;
  return true;
}

/* Classifies node `n`. */
static void class_node(Search *s, Node *n) {
  if (is_load(n->op))
    class_load(s, n);
  else if (n->op->code == OP_ACCESS)
    class_access(s, n);
  else if (op_info[n->op->code].form != FORM_ACCESS && !op_varies(n->op))
    class_plain(s, n);
  if (n->class == CLASS_SAME)
    n->cost = 0;
}

/* Makes nodes with classes for the ops of the body. False if the body cannot be analysed. */
static bool read_body(Search *s) {
  int32_t count = 0, most = MAX_RANK;
  for (const Op *op = s->body->first; op; op = op->next, count++)
    most = op->noperands > most ? op->noperands : most;
  if (count > MOST_OPS)
    return false;
  s->words = ARENA_ARRAY(s->arena, uint64_t, OP_WORDS + OPERAND_WORDS * most);
  s->nodes = ARENA_ARRAY(s->arena, Node, count + 1);
  s->classes = ARENA_ARRAY(s->arena, Class, count + 3);
  s->nbuckets = s->nslots = 2 * count + 5;
  s->buckets = ARENA_ARRAY(s->arena, int32_t, s->nbuckets);
  s->slots = ARENA_ARRAY(s->arena, Node *, s->nslots);
  s->nclasses = 1; /* class 1 is that of the induction variable */
  for (const Op *op = s->body->first; op; op = op->next) {
    if (op->code == OP_YIELD && s->number)
      continue;
    if (!is_simple(s, op))
      return false;
    Node *n = &s->nodes[s->n++];
    *n = (Node){.op = op, .class = CLASS_UNKNOWN, .cost = cost_of(op)};
    n->from = ARENA_ARRAY(s->arena, Node *, op->noperands + 1);
    for (int i = 0; i < op->noperands; i++)
      n->from[i] = node_of(s, op->operands[i]);
    if (is_store(op))
      continue;
    *slot_of(s, op->results[0]) = n;
    class_node(s, n);
  }
  return true;
}

/* Finds, for each node, the node `ahead` whose result of the round before is the same. */
static bool find_ahead(Search *s) {
  bool any = false;
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    if (n->class > 1) {
      Class *c = &s->classes[n->class];
      ARENA_PUSH(s->arena, c->members, c->nmembers, n);
    }
  for (Node *n = s->nodes; n < s->nodes + s->n; n++) {
    bool takes =
        n->class > 1 && n->cost > COST_LOAD && (n->op->results[0]->type == TY_F32 || n->op->results[0]->type == TY_F64);
    const Class *c = takes ? &s->classes[n->class] : NULL;
    for (int i = 0; c && i < c->nmembers; i++)
      if (c->members[i]->shift == n->shift + 1)
        n->ahead = c->members[i];
    any = any || n->ahead;
  }
  return any;
}

/* ---------------------------------------------------------------- the choice */

/* Counts a use of `n`, or, if it is carried, of its source. Returns the cost of the ops that must now be computed. */
static int32_t use(Node *n) { // NOLINT(misc-no-recursion)
  n->over += n->carried;
  n = n->carried ? n->ahead : n;
  if (n->uses++)
    return 0;
  int32_t cost = n->cost;
  for (int i = 0; i < n->op->noperands; i++)
    cost += n->from[i] ? use(n->from[i]) : 0;
  return cost;
}

/* Removes a use of `n`, or, if it is carried, of its source. Returns the cost of the ops that are no longer computed.
 */
static int32_t leave(Node *n) { // NOLINT(misc-no-recursion)
  n->over -= n->carried;
  n = n->carried ? n->ahead : n;
  if (--n->uses)
    return 0;
  int32_t cost = n->cost;
  for (int i = 0; i < n->op->noperands; i++)
    cost += n->from[i] ? leave(n->from[i]) : 0;
  return cost;
}

/* Sets n->carried to `carried`, and moves its uses accordingly. Returns the change of a round's cost. */
static int32_t turn(Node *n, bool carried) {
  int32_t uses = n->carried ? n->over : n->uses, cost = 0;
  for (int i = 0; i < uses; i++)
    cost -= leave(n);
  n->carried = carried;
  for (int i = 0; i < uses; i++)
    cost += use(n);
  return cost;
}

/* The cost of a round under the present choice; counts the uses. */
static int32_t cost_of_round(Search *s) {
  int32_t cost = 0;
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    n->uses = n->over = 0;
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    cost += is_store(n->op) ? use(n) : 0;
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    n->needed = n->uses > 0;
  return cost;
}

/* Carries all values that can be carried, from users to operands. Returns their number. */
static int32_t take_all(Search *s) {
  int32_t taken = 0;
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    n->carried = n->source = n->needed = false;
  for (Node *n = s->nodes + s->n - 1; n >= s->nodes; n--) {
    bool stores = is_store(n->op);
    if (!stores && !n->needed)
      continue;
    n->carried = !stores && n->ahead && !n->banned && !n->source && !n->ahead->carried;
    if (n->carried) {
      n->ahead->source = true;
      n->ahead->needed = true;
      taken++;
    }
    for (int i = 0; i < n->op->noperands && !n->carried; i++)
      if (n->from[i])
        n->from[i]->needed = true;
  }
  return taken;
}

/* Drops the values that save little; if too many remain, those that save least. Returns how many it dropped. */
static int32_t drop_least(Search *s, int32_t taken) {
  int32_t dropped = 0;
  cost_of_round(s);
  for (Node *n = s->nodes; n < s->nodes + s->n; n++) {
    if (!n->carried)
      continue;
    n->saves = turn(n, false);
    turn(n, true);
    n->banned = n->saves < LEAST_SAVED;
    dropped += n->banned;
  }
  for (bool many = !dropped; many && taken - dropped > MOST_CARRIED; dropped++) {
    Node *least = NULL;
    for (Node *n = s->nodes; n < s->nodes + s->n; n++)
      if (n->carried && !n->banned && (!least || n->saves < least->saves))
        least = n;
    least->banned = true;
  }
  return dropped;
}

/* What the present choice saves, compared with carrying nothing; *cost: the cost of a round without carrying. */
static int32_t saved_by(Search *s, int32_t *cost) {
  int32_t with = cost_of_round(s);
  for (Node *n = s->nodes; n < s->nodes + s->n; n++) {
    n->source = n->carried;
    n->carried = false;
  }
  *cost = cost_of_round(s);
  for (Node *n = s->nodes; n < s->nodes + s->n; n++)
    n->carried = n->source;
  return *cost - with;
}

/* Chooses the values to carry. Returns their number, 0 if carrying does not pay. *saved: what a round saves. */
static int32_t choose(Search *s, int32_t *saved) {
  int32_t taken = take_all(s), rounds = 0, cost;
  *saved = 0;
  while (taken && drop_least(s, taken)) {
    if (++rounds > MOST_ROUNDS)
      return 0;
    taken = take_all(s);
  }
  int32_t all = taken ? saved_by(s, &cost) : 0;
  if (!taken || all < LEAST_IN_ALL + cost / LEAST_PART)
    return 0;
  *saved = all;
  return taken;
}

/* ---------------------------------------------------------------- the order */

/* Appends the op of `n` to `ops`, after the ops that it depends on; a carried value stands after its source, so that
 * the vectoriser need not move it. `carries`: are values carried? */
static void put_in_order(Node *n, bool carries, const Op **ops, int32_t *count) { // NOLINT(misc-no-recursion)
  if (carries && n->carried)
    n = n->ahead;
  if (n->done)
    return;
  n->done = true;
  for (int i = 0; i < n->op->noperands; i++)
    if (n->from[i])
      put_in_order(n->from[i], carries, ops, count);
  ops[(*count)++] = n->op;
}

/* Does piece `body` read a field at two neighbouring points along the last of `rank` dimensions? */
static bool reads_neighbours(const Block *body, int rank) {
  for (const Op *x = body->first; x; x = x->next)
    for (const Op *y = x->code == OP_ACCESS ? x->next : NULL; y; y = y->next) {
      bool beside = y->code == OP_ACCESS && y->sym == x->sym && llabs(y->off[rank - 1] - x->off[rank - 1]) == 1;
      if (beside && memcmp(x->off, y->off, sizeof *x->off * (size_t)(rank - 1)) == 0)
        return true;
    }
  return false;
}

double carries_save(Arena *a, const Block *body, int rank) {
  ArenaMark mark = arena_mark(a);
  Search s = {.arena = a, .body = body, .last = rank - 1};
  int32_t saved = 0;
  if (reads_neighbours(body, rank) && read_body(&s) && find_ahead(&s))
    choose(&s, &saved);
  arena_release(a, mark);
  return saved / (double)COST_PLAIN;
}

Carries *carries_find(Arena *a, const Op *loop) {
  Search s = {.arena = a, .body = loop->blocks[0], .number = loop->blocks[0]->args[0]};
  int32_t saved;
  if (loop->nresults || loop->off[0] != 1 || !read_body(&s) || !find_ahead(&s))
    return NULL;
  int32_t n = choose(&s, &saved), k = 0;
  if (!n)
    return NULL;
  Carries *c = ARENA_NEW(a, Carries);
  *c = (Carries){.n = n, .value = ARENA_ARRAY(a, const Value *, n), .from = ARENA_ARRAY(a, const Value *, n)};
  c->first = ARENA_ARRAY(a, const Op *, s.n + 1);
  c->round = ARENA_ARRAY(a, const Op *, s.n + 1);
  cost_of_round(&s);
  for (Node *node = s.nodes; node < s.nodes + s.n; node++) {
    if (!node->carried)
      continue;
    c->value[k] = node->op->results[0];
    c->from[k++] = node->ahead->op->results[0];
    put_in_order(node, false, c->first, &c->nfirst);
  }
  for (Node *node = s.nodes; node < s.nodes + s.n; node++)
    node->done = false;
  for (Node *node = s.nodes; node < s.nodes + s.n; node++)
    if (node->needed)
      put_in_order(node, true, c->round, &c->nround);
  return c;
}
