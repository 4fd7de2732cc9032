/* settle-words.c: removes words of tests from the version of a kernel's body for tiles where all tests hold, or none
 * (pass tile-classes). Loads of such words become constants; so do loads from arrays that hold only words, such as the
 * rows that a streamed tile copies ahead. The code that fills these arrays is removed:
 *
 *     async.copy @sT.in[..] from @T[..]  ..  %w = aload @sT.in[..]      ->      %w = const 3
 *
 * An array holds a word if all values stored to it come from that word, by loads, copies and other such arrays, or are
 * constants: the contents of cells before they are filled, which nothing needs. */
#include "passes/kernel/inner.h"

/* The contents of an array, or the source of a value: only constants so far (HOLDS_NOTHING); a word, given by its
 * number, or constants; anything else (HOLDS_OTHER). */
enum { HOLDS_NOTHING = -1, HOLDS_OTHER = -2 };

/* The state of the pass on a body. word: the contents of each array; bits: the constant value of each word. */
typedef struct Settler {
  const Module *m;
  Block *body;
  const KernelTests *tests;
  int32_t *word;
  const int64_t *bits;
  bool changed;
} Settler;

/* The number of the word in buffer `b`; HOLDS_OTHER if there is none. */
static int32_t word_in(const Settler *s, int b) {
  const Buffer *from = &s->m->buffers[b];
  for (int i = 0; i < s->tests->n && from->kind == BUFFER_FIELD; i++)
    if (s->tests->field[i] == from->field)
      return i;
  return HOLDS_OTHER;
}

/* The source of the results of `op`: a word that it reads, a constant, or anything else. */
static int32_t word_of(const Settler *s, const Op *op) {
  if (!op || op->code == OP_CONST)
    return op ? HOLDS_NOTHING : HOLDS_OTHER;
  if (op_buffer_read(op) >= 0)
    return word_in(s, op_buffer_read(op));
  return op_array_read(op) >= 0 ? s->word[op->sym] : HOLDS_OTHER;
}

/* Notes that array `a` may hold `word`. */
static void note_word(Settler *s, int a, int32_t word) {
  int32_t *is = &s->word[a], was = *is;
  if (word != HOLDS_NOTHING && word != was)
    *is = was == HOLDS_NOTHING ? word : HOLDS_OTHER;
  s->changed = s->changed || *is != was;
}

/* Notes what `op` stores to an array (a block_walk callback). An array whose contents leave it other than as values
 * counts as HOLDS_OTHER. */
static void note_op(void *user, Op *op) {
  Settler *s = user;
  int a = op_array_written(op);
  if (op_array_read(op) >= 0 && op->nresults == 0)
    note_word(s, op->sym, HOLDS_OTHER);
  if (a < 0)
    return;
  if (op_buffer_read(op) >= 0) {
    note_word(s, a, op->code == OP_ASYNC_COPY ? word_of(s, op) : HOLDS_OTHER);
    return;
  }
  for (int i = 0; i < op_elements(op); i++)
    note_word(s, a, word_of(s, op->operands[i]->def));
}

/* Replaces words that `op` reads by constants, and removes ops that fill arrays of words (a block_walk callback). */
static void settle_op(void *user, Op *op) {
  Settler *s = user;
  int a = op_array_written(op);
  int32_t word = op->nresults && op->code != OP_CONST ? word_of(s, op) : HOLDS_OTHER;
  if (a >= 0 && s->word[a] >= 0) {
    op_unlink(op);
    return;
  }
  if (word < 0)
    return;
  Builder b = builder_before(s->m->arena, op);
  for (int r = 0; r < op->nresults; r++)
    block_replace_uses(s->body, op->results[r], build_int(&b, op->results[r]->type, s->bits[word]));
  op_unlink(op);
}

void settle_words(const Module *m, const Kernel *k, Block *body, const int64_t *bits) {
  Settler s = {m, body, k->tests, ARENA_ARRAY(m->arena, int32_t, k->narrays + 1), bits, true};
  for (int i = 0; i < k->narrays; i++)
    s.word[i] = HOLDS_NOTHING;
  while (s.changed) {
    s.changed = false;
    block_walk(body, note_op, &s);
  }
  block_walk(body, settle_op, &s);
}
