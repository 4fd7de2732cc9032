/* verify-sweeps.c: the rules of sweeps, which are stencils whose points have an order along a dimension. */
#include "ir/verify/verify.h"

/* Does `op` read a target of sweep `st`, in a layer that the sweep has passed? */
static bool is_behind(const Module *m, const Stencil *st, const Op *op) {
  int64_t back = -st->sweep * op->off[st->along];
  bool straight = back >= 1 && back <= MAX_BEHIND;
  for (int d = 0; d < m->grid.rank; d++)
    straight = straight && (d == st->along || op->off[d] == 0);
  return straight && stencil_target(st, op->sym) >= 0;
}

void verify_behind(Verifier *v, const Op *op) {
  if (!v->stencil || !v->stencil->sweep)
    verify_fail(v, op->loc, "op 'behind': no sweep has been at any point");
  else if (!is_behind(v->m, v->stencil, op))
    verify_fail(v, op->loc, "op 'behind': the sweep has given '%s' no value there", v->m->fields[op->sym].name);
}

/* Does box `q` begin where `p` ends, in the order of `st`, with the same bounds in the other dimensions? */
static bool follows(const Stencil *st, const Box *p, const Box *q) {
  int64_t apart;
  const Box *low = st->sweep > 0 ? p : q, *high = st->sweep > 0 ? q : p;
  bool next = affine_diff(high->lo[st->along], low->hi[st->along], &apart) && apart == 1;
  for (int d = 0; d < p->rank; d++)
    next = next && (d == st->along || (affine_equal(p->lo[d], q->lo[d]) && affine_equal(p->hi[d], q->hi[d])));
  return next;
}

bool verify_order(Verifier *v, const Stencil *st) {
  bool sound = !st->sweep || ((st->sweep == 1 || st->sweep == -1) && st->along >= 0 && st->along < v->m->grid.rank);
  if (!sound)
    verify_fail(v, st->loc, "there is no dimension %d to sweep along", st->along);
  else if (st->sweep && v->m->time_tile > 1)
    verify_fail(v, st->loc, "a sweep is in a time tile of %d steps", v->m->time_tile);
  return sound;
}

void verify_layers(Verifier *v, const Stencil *st) {
  for (int i = 1; i < st->npieces && st->sweep; i++)
    if (!follows(st, &st->pieces[i - 1].box, &st->pieces[i].box))
      verify_fail(v, st->pieces[i].loc, "piece %d does not follow the one before it along dimension %d", i, st->along);
}
