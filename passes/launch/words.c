/* words.c: finds words of tests: fields on the whole grid that are computed once, and of which stencils read only bits
 * at the point itself: a bool, or an integer combined with constants (pass pack-tests makes such reads). */
#include "passes/launch/launch.h"

/* Has field `f` of `m` the form of a word of tests? */
static bool may_be_word(const Module *m, int f) {
  const Field *x = &m->fields[f];
  bool may = !field_lacks_any(x) && box_equal(&x->box, &m->grid) && (x->type == TY_BOOL || type_is_unsigned(x->type));
  for (int i = 0; i < m->ninits && may; i++)
    for (int t = 0; t < m->inits[i].ntargets; t++)
      if (m->inits[i].targets[t] == f)
        return m->inits[i].once;
  return false;
}

/* Is `v` the result of an access to field `f`? */
static bool is_of(const Value *v, int f) { return v->def && v->def->code == OP_ACCESS && v->def->sym == f; }

/* Adds the reads of the word by `op`. */
static void look_at(TestWord *w, const Op *op, int rank, bool is_bool) {
  if (op->code == OP_ACCESS && op->sym == w->field) {
    w->read = true;
    for (int d = 0; d < rank; d++)
      w->tests = w->tests && op->off[d] == 0;
  }
  for (int i = 0; i < op->noperands && !is_bool; i++) {
    const Op *by = op->noperands == 2 ? op->operands[1 - i]->def : NULL;
    if (!is_of(op->operands[i], w->field))
      continue;
    w->tests = w->tests && op->code == OP_BIT_AND && by && by->code == OP_CONST;
    w->all |= w->tests ? by->cval.i : 0;
  }
}

TestWord test_word(const Module *m, int field) {
  return (TestWord){field, may_be_word(m, field), false, m->fields[field].type == TY_BOOL};
}

bool test_word_read(TestWord *w, const Module *m, const Stencil *st) {
  bool before = w->read;
  w->read = false;
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      look_at(w, op, m->grid.rank, m->fields[w->field].type == TY_BOOL);
  bool reads = w->read;
  w->read = reads || before;
  return reads;
}

bool field_is_word(const Module *m, int field, int64_t *all) {
  TestWord w = test_word(m, field);
  for (int i = 0; i < m->nstencils && w.tests; i++)
    test_word_read(&w, m, &m->stencils[i]);
  *all = m->fields[field].type == TY_BOOL ? 1 : w.all;
  return w.tests && w.read;
}
