/* tests-true.c: a program with masks as it is where these are true everywhere, for which targets without threads choose
 * tiles: most points are of tiles where that is so, whose code has no tests (pass tile-classes), and what a test takes
 * of registers and arithmetic is no reason for smaller tiles or fewer lines at a time there. */
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

const Module *plan_where_true(PassContext *c, const Module *m) {
  Module *as = NULL;
  for (int f = 0; f < m->nfields; f++) {
    int64_t bits;
    if (!field_is_word(m, f, &bits))
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
  return as ? as : m;
}
