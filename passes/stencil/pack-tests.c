/* pack-tests.c: makes tests of values that no step changes, such as masks at several neighbours, once, and stores their
 * results at each point as bits of one word:
 *
 *     mask wet on G = ..                          once tests(T)[G] = (wet ? 1 : 0) | (wet[0,1] ? 2 : 0) | ..
 *     stencil s(A)[G where wet] = A[0,1] + ..  -> stencil s(A)[G] = if T & 1 then (if T & 2 then A[0,1] else A) + ..
 *
 * A value is *still* here if it is a bool or an integer that consists of constants, params, coordinates and fields of
 * bools and bytes that neither a stencil nor a launcher writes while the program runs. A *test* is a still bool that
 * reads a field and that an op with a changing result uses. So the largest expressions become tests: `wet && !ice[0,1]`
 * is one bit. The pass packs the tests of a piece if the fields that the piece then no longer reads have at least as
 * many bytes, counted by accesses, as the word that it reads instead: one load instead of many, for a stencil of any
 * order.
 *
 * Equal tests share a bit, in all pieces and stencils. A word lies on the grid if the inputs of its tests have values
 * there, by their outside rules; otherwise it lies on the box of the piece of its tests, and others with that box share
 * it. A word has as many bits as it needs, in u8, u16 or u32; further tests go to another word. The bits follow the
 * order of the text, so a word whose tests all hold is 2^n - 1: pass `tile-classes` makes code for tiles where all
 * tests hold everywhere, and for tiles where none does.
 *
 * `once` stencils (pass `hoist`) make the words. This pass runs where pass hoist runs, and on GPUs, too; if `-passes=`
 * asks for it, making an artifact is an error. A part of a grid has its own words, for all of its cells: they are as
 * right as the ghost cells of their inputs, which arrive before the first step. */
#include "passes/registry.h"
#include "passes/stencil/alike.h"

#include <string.h>

/* Bodies of more than MOST_VALUES values are left alone; a word has at most MOST_BITS bits. */
enum { MOST_VALUES = 4000, MOST_BITS = 32 };

/* A test, computed by `op` of a body with `nvalues` values, on the points of `box`; it is bit `bit` of word number
 * `word`. */
typedef struct Test {
  const Op *op;
  Box box;
  int32_t nvalues, word, bit;
} Test;

/* A word: its region, the number of bits so far, and its field, once there is one. */
typedef struct Word {
  Box box;
  int32_t bits, field;
} Word;

/* The op with which a value was compared in comparison number `round`. */
typedef struct Compared {
  int64_t round;
  const Op *with;
} Compared;

/* The state of the pass. changes[f]: may field f change while the program runs, or does it hold other values than bools
 * and bytes? compared: by the number of a value on the left side of a comparison; round: the number of comparisons so
 * far. */
typedef struct Packer {
  Module *m;
  bool *changes;
  int32_t ntests, nwords;
  Test *tests;
  Word *words;
  int64_t round;
  Compared compared[MOST_VALUES + 1];
} Packer;

/* The analysis of a piece, by the number of a value: still: it is still; reads: it depends on a field; root: it is a
 * test; seen: it is an integer whose bools have been made tests. */
typedef struct Look {
  const Piece *piece;
  bool *still, *reads, *root, *seen;
  int32_t n;
} Look;

/* ---- which values are tests */

/* Finds the fields that tests cannot use. */
static void find_changes(Packer *p) {
  p->changes = changing_fields(p->m);
  for (int f = 0; f < p->m->nfields; f++) {
    Type t = p->m->fields[f].type;
    p->changes[f] = p->changes[f] || !(t == TY_BOOL || t == TY_U8 || t == TY_I8);
  }
}

/* Is the result of `op` still, if its operands are? */
static bool is_still(const Packer *p, const Op *op) {
  Type t = op->results[0]->type;
  if (!type_is_scalar(t) || !(t == TY_BOOL || type_is_int(t)))
    return false;
  switch (op->code) {
  case OP_ACCESS: return !p->changes[op->sym];
  case OP_SCALAR: return !p->m->scalars[op->sym].is_reduction;
  case OP_CONST:
  case OP_INDEX: return true;
  case OP_STEP:
  case OP_ELEMENT:
  case OP_FINE:
  case OP_COARSE:
  case OP_BEHIND: return false;
  default: return op->nblocks == 0 && (op_info[op->code].flags & OPF_PURE);
  }
}

/* Makes tests of `v`, a still value that a changing value uses: of itself, if it is a bool that depends on a field; if
 * it is an integer, of the bools from which it is computed. */
static void add_roots(Look *l, const Value *v) {
  if (v->type == TY_BOOL)
    l->root[v->id] = l->reads[v->id];
  if (v->type == TY_BOOL || l->seen[v->id])
    return;
  l->seen[v->id] = true;
  for (int i = 0; i < v->def->noperands; i++)
    add_roots(l, v->def->operands[i]);
}

/* Finds the tests of `piece`, and numbers its values. */
static Look look_at(const Packer *p, const Piece *piece) {
  int32_t n = body_number(piece->body);
  Look l = {.piece = piece, .n = n};
  l.still = ARENA_ARRAY(p->m->arena, bool, n + 1);
  l.reads = ARENA_ARRAY(p->m->arena, bool, n + 1);
  l.root = ARENA_ARRAY(p->m->arena, bool, n + 1);
  l.seen = ARENA_ARRAY(p->m->arena, bool, n + 1);
  for (const Op *op = piece->body->first; op; op = op->next) {
    bool still = op->nresults == 1 && is_still(p, op), reads = op->code == OP_ACCESS;
    for (int i = 0; i < op->noperands; i++) {
      still = still && l.still[op->operands[i]->id];
      reads = reads || l.reads[op->operands[i]->id];
    }
    if (op->nresults == 1) {
      l.still[op->results[0]->id] = still;
      l.reads[op->results[0]->id] = reads;
    }
    for (int i = 0; i < op->noperands && !still; i++)
      if (l.still[op->operands[i]->id])
        add_roots(&l, op->operands[i]);
  }
  return l;
}

/* ---- what it saves */

/* Marks the values of the body of `l` that are needed if tests are read from words. */
static const bool *needed(const Packer *p, const Look *l) {
  bool *need = ARENA_ARRAY(p->m->arena, bool, l->n + 1);
  for (const Op *op = l->piece->body->last; op; op = op->prev) {
    bool here = op->nresults == 0 || (op->nresults == 1 && need[op->results[0]->id] && !l->root[op->results[0]->id]);
    for (int i = 0; i < op->noperands && here; i++)
      need[op->operands[i]->id] = true;
  }
  return need;
}

/* The smallest type with `bits` bits. */
static Type word_type(int32_t bits) { return bits <= 8 ? TY_U8 : bits <= 16 ? TY_U16 : TY_U32; }

/* If the tests of `l` are read from a word, does the piece read no more bytes at a point than before? */
static bool pays(const Packer *p, const Look *l) {
  const bool *need = needed(p, l);
  int64_t saved = 0;
  int32_t bits = 0;
  for (const Op *op = l->piece->body->first; op; op = op->next) {
    int32_t id = op->nresults == 1 ? op->results[0]->id : -1;
    bool access = op->code == OP_ACCESS;
    saved += access && (!need[id] || l->root[id]) ? type_size(op->results[0]->type) : 0;
    bits += id >= 0 && l->root[id];
  }
  return bits && saved >= type_size(word_type(bits < MOST_BITS ? bits : MOST_BITS));
}

/* ---- which bit is whose */

/* Are `x` and `y`, values of straight-line code, the same ops on the same operands? Visits each value of `x` at most
 * once in a round. */
static bool same_value(Packer *p, const Op *x, const Op *y) {
  Compared *seen = &p->compared[x->results[0]->id];
  if (x == y || seen->round == p->round)
    return x == y || seen->with == y;
  *seen = (Compared){p->round, y};
  if (x->code != y->code || x->sym != y->sym || x->noperands != y->noperands || x->count != y->count ||
      x->results[0]->type != y->results[0]->type || memcmp(x->off, y->off, sizeof x->off) != 0 ||
      (x->code == OP_CONST && !const_same(x->cval, y->cval, x->results[0]->type)))
    return false;
  for (int i = 0; i < x->noperands; i++)
    if (!same_value(p, x->operands[i]->def, y->operands[i]->def))
      return false;
  return true;
}

/* Have all accesses from which `op` is computed values on the box? seen: by the number of a value, was it visited? */
static bool is_defined(const Module *m, const Op *op, const Box *box, bool *seen) {
  bool *mine = &seen[op->results[0]->id];
  if (*mine)
    return true;
  *mine = true;
  if (op->code == OP_ACCESS && !kept_gives_value(m, box, &m->fields[op->sym], op->off))
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!is_defined(m, op->operands[i]->def, box, seen))
      return false;
  return true;
}

/* The number of a word on `box` with room for another bit. */
static int32_t word_on(Packer *p, const Box *box) {
  for (int i = 0; i < p->nwords; i++)
    if (p->words[i].bits < MOST_BITS && box_equal(&p->words[i].box, box))
      return i;
  ARENA_PUSH(p->m->arena, p->words, p->nwords, ((Word){.box = *box, .field = -1}));
  return p->nwords - 1;
}

/* The number of the test `op` of the piece of `l`; a new one, unless an equal test exists. */
static int32_t test_of(Packer *p, const Look *l, const Op *op) {
  Arena *a = p->m->arena;
  const Box *on = is_defined(p->m, op, &p->m->grid, ARENA_ARRAY(a, bool, l->n + 1)) ? &p->m->grid : &l->piece->box;
  for (int i = 0; i < p->ntests; i++)
    if (box_equal(&p->tests[i].box, on) && (p->round++, same_value(p, p->tests[i].op, op)))
      return i;
  int32_t word = word_on(p, on);
  ARENA_PUSH(p->m->arena, p->tests, p->ntests, ((Test){op, *on, l->n, word, p->words[word].bits++}));
  return p->ntests - 1;
}

/* Assigns bits to the tests of `l`. Returns the number of each value's test, -1: it is none. */
static const int32_t *tests_of(Packer *p, const Look *l) {
  int32_t *test = ARENA_ARRAY(p->m->arena, int32_t, l->n + 1);
  for (const Op *op = l->piece->body->first; op; op = op->next)
    if (op->nresults == 1)
      test[op->results[0]->id] = l->root[op->results[0]->id] ? test_of(p, l, op) : -1;
  return test;
}

/* ---- rewriting */

/* Copies `op`, with all values from which it is computed, to `b`. copies: by the number of a value, its copy, if there
 * is one. */
static Value *copy_value(Builder *b, const Op *op, Value **copies) {
  Value **mine = &copies[op->results[0]->id], **operands = ARENA_ARRAY(b->arena, Value *, op->noperands + 1);
  if (*mine)
    return *mine;
  for (int i = 0; i < op->noperands; i++)
    operands[i] = copy_value(b, op->operands[i]->def, copies);
  Op *own = build_op(b, op->code, op->results[0]->type, op->noperands, operands);
  own->sym = op->sym;
  own->count = op->count;
  own->cval = op->cval;
  own->loc = op->loc;
  memcpy(own->off, op->off, sizeof own->off);
  return *mine = own->results[0];
}

/* The body that computes word number `w`. */
static Block *making_body(const Packer *p, int32_t w) {
  Block *body = block_new(p->m->arena, NULL);
  Builder b = builder_at_end(p->m->arena, body);
  Type t = word_type(p->words[w].bits);
  Value *all = NULL;
  for (int i = 0; i < p->ntests; i++) {
    if (p->tests[i].word != w)
      continue;
    Value *holds = copy_value(&b, p->tests[i].op, ARENA_ARRAY(p->m->arena, Value *, p->tests[i].nvalues + 1));
    Value *bit = build3(&b, OP_SELECT, holds, build_int(&b, t, (int64_t)1 << p->tests[i].bit), build_int(&b, t, 0));
    all = all ? build2(&b, OP_BIT_OR, all, bit) : bit;
  }
  build_yield(&b, 1, (Value *[]){all});
  return body;
}

/* Adds the field of word number `w`, and the `once` init that computes it. */
static void add_word(Packer *p, int32_t w) {
  Module *m = p->m;
  Word *word = &p->words[w];
  Field f = {.name = kept_field_name(m, m->name, "tests"), .type = word_type(word->bits), .box = word->box};
  Stencil st = {.name = kept_stencil_name(m, m->name, "tests"), .once = true, .npieces = 1, .ntargets = 1};
  word->field = m->nfields;
  for (int i = p->ntests - 1; i >= 0; i--)
    if (p->tests[i].word == w)
      f.loc = st.loc = p->tests[i].op->loc;
  st.targets = ARENA_NEW(m->arena, int32_t);
  st.targets[0] = word->field;
  st.pieces = ARENA_NEW(m->arena, Piece);
  st.pieces[0] = (Piece){word->box, 1, st.targets, making_body(p, w), st.loc};
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  ARENA_PUSH(m->arena, m->inits, m->ninits, st);
}

/* A copy of `body` that reads words in place of its tests; `test`: the number of each value's test. */
static Block *reading_body(const Packer *p, const Block *body, const int32_t *test) {
  static const int64_t here[MAX_RANK];
  Module *m = p->m;
  Block *own = block_clone(m->arena, body, NULL, NULL);
  Builder b = builder_before(m->arena, own->first);
  Value **word = ARENA_ARRAY(m->arena, Value *, p->nwords + 1);
  const Op *op = body->first;
  for (Op *mine = own->first, *next; op; op = op->next, mine = next) {
    next = mine->next;
    int32_t n = op->nresults == 1 ? test[op->results[0]->id] : -1;
    if (n < 0)
      continue;
    const Test *t = &p->tests[n];
    Type type = word_type(p->words[t->word].bits);
    b.loc = op->loc;
    if (!word[t->word])
      word[t->word] = build_access(&b, type, p->words[t->word].field, here, m->grid.rank);
    Value *bit = build2(&b, OP_BIT_AND, word[t->word], build_int(&b, type, (int64_t)1 << t->bit));
    block_replace_uses(own, mine->results[0], build2(&b, OP_NE, bit, build_int(&b, type, 0)));
  }
  kept_drop_unused(m, own);
  return own;
}

/* ---- the pass */

/* The tests of each piece of each stencil, by value; NULL for pieces whose tests are not packed. */
static const int32_t ***find_tests(Packer *p) {
  Module *m = p->m;
  const int32_t ***tests = ARENA_ARRAY(m->arena, const int32_t **, m->nstencils + 1);
  for (int i = 0; i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i];
    tests[i] = ARENA_ARRAY(m->arena, const int32_t *, st->npieces + 1);
    for (int k = 0; k < st->npieces; k++) {
      Look l = {0};
      if (body_number(st->pieces[k].body) <= MOST_VALUES)
        l = look_at(p, &st->pieces[k]);
      tests[i][k] = l.piece && pays(p, &l) ? tests_of(p, &l) : NULL;
    }
  }
  return tests;
}

/* Makes each piece k of stencil `st` with tests[k] != NULL read words in place of its tests. */
static void read_words(const Packer *p, Stencil *st, const int32_t *const *tests) {
  Piece *pieces = ARENA_ARRAY(p->m->arena, Piece, st->npieces);
  memcpy(pieces, st->pieces, sizeof *pieces * (size_t)st->npieces);
  for (int k = 0; k < st->npieces; k++)
    if (tests[k])
      pieces[k].body = reading_body(p, pieces[k].body, tests[k]);
  st->pieces = pieces;
}

Module *pass_pack_tests(PassContext *c, Module *m, int n, const PassOption *o) {
  Packer *p = ARENA_NEW(m->arena, Packer);
  p->m = m;
  p->round = 1;
  (void)n, (void)o;
  if (m->time_tile > 1)
    return m;
  module_renumber(m);
  kept_own_lists(m);
  find_changes(p);
  const int32_t ***tests = find_tests(p);
  for (int w = 0; w < p->nwords; w++)
    add_word(p, w);
  for (int i = 0; i < m->nstencils && p->nwords; i++)
    read_words(p, &m->stencils[i], tests[i]);
  module_renumber(m);
  pass_stat(c, p->ntests, "pack-tests", "tests of what no step changes, bits of %d hidden fields", p->nwords);
  return m;
}
