/* verify-repeats.c: the rules of repeats within a step (Repeat). */
#include "ir/verify/verify.h"

/* Has a stencil or an update a stage of repeat `r`? */
static bool has_stages(const Module *m, const Repeat *r) {
  bool found = false;
  for (int i = 0; i < m->nstencils; i++)
    found = found || (r->first <= m->stencils[i].stage && m->stencils[i].stage <= r->last);
  for (int i = 0; i < m->nupdates; i++)
    found = found || (r->first <= m->updates[i].stage && m->updates[i].stage <= r->last);
  return found;
}

/* Checks repeat number `i` by itself and against those before it. */
static void check_repeat(Verifier *v, int i) {
  const Module *m = v->m;
  const Repeat *r = &m->repeats[i];
  verify_at(v, r->loc, "repeat", r->name);
  if (module_find_repeat(m, r->name) != i)
    verify_fail(v, r->loc, "its name is taken");
  verify_affine(v, r->loc, r->most);
  if (r->first < 1 || r->last < r->first)
    verify_fail(v, r->loc, "stages %d .. %d are none", r->first, r->last);
  else if (!has_stages(m, r))
    verify_fail(v, r->loc, "nothing of the step is in stages %d .. %d", r->first, r->last);
  if (r->tile && (r->tile < 2 || r->first == r->last))
    verify_fail(v, r->loc, "a tile of %d rounds needs two of them, and stages of its own", r->tile);
  for (int k = 0; k < i; k++) {
    const Repeat *x = &m->repeats[k];
    if (x->first <= r->last && r->first <= x->last && (x->first < r->first || x->last > r->last))
      verify_fail(v, r->loc, "it meets repeat '%s', which stands before it and is not within it", x->name);
  }
}

/* Are all stencils that write field `f` in the same innermost repeat? *first: that of the first such stencil; -2: there
 * is none. */
static bool one_writes(const Module *m, int f, int *first) {
  bool same = true;
  *first = -2;
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++) {
      int r = repeat_of(m, m->stencils[i].stage);
      if (m->stencils[i].targets[t] != f)
        continue;
      same = same && (*first == -2 || *first == r);
      *first = *first == -2 ? r : *first;
    }
  return same;
}

/* Checks that a temp field that is written within a repeat is written in that repeat only, and read nowhere else. */
static void check_temp(Verifier *v, int f) {
  const Module *m = v->m;
  int r;
  bool one = one_writes(m, f, &r);
  if (!one)
    verify_fail(v, m->fields[f].loc, "temp field '%s' is written within a repeat and elsewhere", m->fields[f].name);
  for (int i = 0; one && r >= 0 && i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces && !repeat_is_in(m, repeat_of(m, m->stencils[i].stage), r); k++)
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        if (op_reads_field(op) && op->sym == f)
          verify_fail(v, op->loc, "'%s' is read out of the repeat that writes it", m->fields[f].name);
}

void verify_repeats(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    if (r->loop < 0 || r->loop > m->nrepeats || (r->loop && r->kind >= REDUCE_FINITE))
      verify_fail(v, r->loc, "reduction '%s' is of repeat number %d, and there are %d; checks are of none", r->name,
                  r->loop - 1, m->nrepeats);
  }
  if (!m->nrepeats)
    return;
  if (m->time_tile > 1)
    verify_fail(v, no_loc(), "there are repeats in a time tile of %d steps", m->time_tile);
  for (int i = 0; i < m->nstencils && m->part; i++) {
    const Stencil *st = &m->stencils[i];
    verify_at(v, st->loc, "stencil", st->name);
    if (repeat_of(m, st->stage) >= 0 && !stencil_is_whole(m, st))
      verify_fail(v, st->loc,
                  "it is in a repeat, and its fields are cut: there is no exchange between the rounds of a part");
  }
  for (int i = 0; i < m->nrepeats; i++)
    check_repeat(v, i);
  for (int f = 0; f < m->nfields && !v->errors; f++)
    if (m->fields[f].temp)
      check_temp(v, f);
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      if (m->fields[m->stencils[i].targets[t]].past && repeat_of(m, m->stencils[i].stage) >= 0)
        verify_fail(v, m->stencils[i].loc, "a repeat moves the older levels of a field, which belong to steps");
}
