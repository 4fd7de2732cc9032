/* tests-true.c: a program with masks as it is where these are true everywhere, for which targets without threads choose
 * tiles: most points are of tiles where that is so, whose code has no tests (pass tile-classes), and what a test takes
 * of registers and arithmetic is no reason for smaller tiles or fewer lines at a time there. What is read at the other
 * points counts nevertheless: a program whose tests keep it from being read elsewhere, or as far, is taken as it is,
 * since tiles that suit what is left need not suit all. */
#include "passes/plan/plan.h"
#include "passes/simplify/analysis.h"

/* Makes what `piece` reads of field `field` the constant `bits`. */
static void settle_word(Arena *a, Piece *piece, int field, int64_t bits) {
  for (Op *op = piece->body->first, *next; op; op = next) {
    next = op->next;
    if (op->code != OP_ACCESS || op->sym != field)
      continue;
    Builder b = builder_before(a, op);
    block_replace_uses(piece->body, op->results[0], build_int(&b, op->results[0]->type, bits));
    op_unlink(op);
  }
}

/* Stencil `st` with bodies of its own. */
static Stencil own_bodies(Arena *a, const Stencil *st) {
  Stencil own = *st;
  own.pieces = ARENA_ARRAY(a, Piece, st->npieces + 1);
  for (int k = 0; k < st->npieces; k++) {
    block_renumber(st->pieces[k].body, 0);
    own.pieces[k] = st->pieces[k];
    own.pieces[k].body = block_clone(a, st->pieces[k].body, NULL, NULL);
  }
  return own;
}

/* Does `op` read a field, other than a word of tests: one of those that `words` says? */
static bool reads_value(const Op *op, const bool *words) {
  return (op->code == OP_ACCESS || op->code == OP_BEHIND || op_is_scaled(op)) && !words[op->sym];
}

/* Does `body` read what `op` does: the same field in the same way, in each dimension as far to both sides? */
static bool reads_as_far(const Block *body, const Op *op, int rank) {
  bool lo[MAX_RANK] = {false}, hi[MAX_RANK] = {false}, any = false;
  for (const Op *x = body->first; x; x = x->next) {
    if (x->code != op->code || x->sym != op->sym)
      continue;
    any = true;
    for (int d = 0; d < rank; d++) {
      lo[d] = lo[d] || x->off[d] <= op->off[d];
      hi[d] = hi[d] || x->off[d] >= op->off[d];
    }
  }
  for (int d = 0; d < rank; d++)
    any = any && lo[d] && hi[d];
  return any;
}

/* Does `as`, what is left of `m` where the tests of its words are true, read all that `m` does but these? */
static bool reads_all(const Module *m, const Module *as, const bool *words) {
  for (int i = 0; i < m->nstencils; i++) {
    if (m->stencils[i].npieces != as->stencils[i].npieces)
      return false;
    for (int k = 0; k < m->stencils[i].npieces; k++)
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        if (reads_value(op, words) && !reads_as_far(as->stencils[i].pieces[k].body, op, m->grid.rank))
          return false;
  }
  return true;
}

const Module *plan_where_true(PassContext *c, const Module *m) {
  Module *as = NULL;
  bool *words = ARENA_ARRAY(c->arena, bool, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++) {
    int64_t bits;
    words[f] = field_is_word(m, f, &bits);
    if (!words[f])
      continue;
    for (int i = 0; i < m->nstencils && !as; i++) {
      as = module_trial(m);
      for (int k = 0; k < m->nstencils; k++)
        as->stencils[k] = own_bodies(c->arena, &m->stencils[k]);
    }
    for (int i = 0; i < m->nstencils && as; i++)
      for (int k = 0; k < as->stencils[i].npieces; k++)
        settle_word(c->arena, &as->stencils[i].pieces[k], f, bits);
  }
  for (int i = 0; i < m->nstencils && as; i++)
    simplify_stencil(c, as, &as->stencils[i]);
  return as && reads_all(m, as, words) ? as : m;
}
