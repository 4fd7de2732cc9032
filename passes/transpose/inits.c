/* inits.c: the derivatives through inits: whether inits must be differentiated, and the module that does so. Inits are
 * stencils that run once, so they form the one step of that module. */
#include "passes/transpose/transpose.h"

/* Removes the targets that are given fields from the piece. */
static void drop_given(Transpose *x, Piece *p, int n, const char *const *given) {
  Op *yield = p->body->last;
  int kept = 0;
  for (int t = 0; t < p->ntargets; t++)
    if (!transpose_is_given(x->m, p->targets[t], n, given)) {
      p->targets[kept] = p->targets[t];
      yield->operands[kept++] = yield->operands[t];
    }
  p->ntargets = yield->noperands = kept;
}

/* Gives box `b` all of the grid's points in the dimensions that field `f` lacks. */
static void widen_box(const Module *m, const Field *f, Box *b) {
  for (int d = 0; d < m->grid.rank; d++)
    if (field_lacks(f, d)) {
      b->lo[d] = m->grid.lo[d];
      b->hi[d] = m->grid.hi[d];
    }
}

/* Gives field `f` of x->m all dimensions of the grid, because steps write no field that lacks one. */
static void widen_field(Transpose *x, int f) {
  Module *m = x->m;
  Field *w = &m->fields[f];
  Side *sides = w->sides ? ARENA_ARRAY(x->a, Side, 2 * MAX_RANK) : NULL;
  OutsideRule rule = OUTSIDE_NONE; /* all of its dimensions have a rule, or none has */
  for (int d = 0; d < m->grid.rank; d++)
    if (!field_lacks(w, d) && w->outside[d] != OUTSIDE_NONE)
      rule = OUTSIDE_CLAMP;
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces; k++) {
      Piece *p = &m->stencils[i].pieces[k];
      if (p->targets[0] == f)
        widen_box(m, w, &p->box);
      for (Op *op = p->body->first; op; op = op->next)
        for (int d = 0; d < m->grid.rank && op->code == OP_ACCESS && op->sym == f; d++)
          op->off[d] = field_lacks(w, d) ? 0 : op->off[d];
    }
  widen_box(m, w, &w->box);
  for (int i = 0; i < 2 * m->grid.rank && sides; i++)
    sides[i] = field_lacks(w, i / 2) ? (Side){.rule = rule} : w->sides[i];
  w->sides = sides;
  for (int d = 0; d < m->grid.rank; d++)
    w->outside[d] = field_lacks(w, d) ? rule : w->outside[d];
}

/* Does so for all fields that the step writes. An init then computes the same value at each point of an added
 * dimension, and the derivatives with respect to these add up. */
static void widen_fields(Transpose *x) {
  Module *m = x->m;
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      if (field_lacks_any(&m->fields[m->stencils[i].targets[t]]))
        widen_field(x, m->stencils[i].targets[t]);
}

void inits_as_step(Transpose *x, int ngiven, const char *const *given) {
  Module *m = x->m;
  m->stencils = NULL;
  m->nstencils = m->nupdates = 0;
  for (int i = 0; i < m->ninits; i++) {
    Stencil st = m->inits[i];
    int kept = 0;
    for (int t = 0; t < st.ntargets; t++)
      if (!transpose_is_given(m, st.targets[t], ngiven, given))
        st.targets[kept++] = st.targets[t];
    st.ntargets = kept;
    kept = 0;
    for (int k = 0; k < st.npieces; k++) {
      drop_given(x, &st.pieces[k], ngiven, given);
      if (st.pieces[k].ntargets)
        st.pieces[kept++] = st.pieces[k];
    }
    st.npieces = kept;
    if (kept)
      ARENA_PUSH(x->a, m->stencils, m->nstencils, st);
  }
  m->inits = NULL;
  m->ninits = 0;
  widen_fields(x);
}

/* Keeps those of the `nby` targets `by` that inits read: all except fields that steps change, which count only from
 * after the inits. Returns their number. */
static int sources(const Module *m, const By *by, int nby, By *out) {
  int n = 0;
  for (int i = 0; i < nby; i++)
    if (by[i].kind != BY_FIELD || m->fields[by[i].index].input)
      out[n++] = by[i];
  return n;
}

/* The init of `m`, among those that run, that sets the field of `by`, an input; NULL: none. The gradient is then with
 * respect to the field's own value, and the init is not undone. */
static const Stencil *sets_input(const Module *m, const By *by, int ngiven, const char *const *given) {
  if (by->kind != BY_FIELD || !m->fields[by->index].input || transpose_is_given(m, by->index, ngiven, given))
    return NULL;
  for (int i = 0; i < m->ninits; i++)
    for (int t = 0; t < m->inits[i].ntargets; t++)
      if (m->inits[i].targets[t] == by->index)
        return &m->inits[i];
  return NULL;
}

/* The given fields, and those of `by` that are inputs which inits set, in *out. Returns their number. */
static int given_or_by(Arena *a, const Module *m, const By *by, int nby, int ngiven, const char *const *given,
                       const char ***out) {
  int n = 0;
  *out = ARENA_ARRAY(a, const char *, ngiven + nby + 1);
  for (int i = 0; i < ngiven; i++)
    (*out)[n++] = given[i];
  for (int i = 0; i < nby; i++)
    if (sets_input(m, &by[i], ngiven, given))
      (*out)[n++] = m->fields[by[i].index].name;
  return n;
}

/* Does the value that an init gives to the input field of `by[k]` vary with the others of `by`? */
static bool is_made_of_others(Transpose *x, const By *by, int nby, int k, int ngiven, const char *const *given) {
  Module *m = x->m;
  By *of = ARENA_ARRAY(x->a, By, nby + 1);
  int n = 0;
  for (int i = 0; i < nby; i++)
    if (i != k)
      of[n++] = by[i];
  n = sources(m, of, n, of);
  x->m = module_copy(x->a, m);
  inits_as_step(x, ngiven, given);
  bool varies = transpose_analyse_starts(x, of, n, NULL) && x->varied[by[k].index];
  x->m = m;
  return varies;
}

bool inits_vary(Transpose *x, const By *by, int nby, int ngiven, const char *const *given) {
  Module *m = x->m;
  By *of = ARENA_ARRAY(x->a, By, nby + 1);
  const char **all;
  int n = sources(m, by, nby, of), nall = given_or_by(x->a, m, by, nby, ngiven, given, &all);
  for (int k = 0; k < nby; k++) {
    const Stencil *init = sets_input(m, &by[k], ngiven, given);
    if (!init || !is_made_of_others(x, by, nby, k, ngiven, given))
      continue;
    diag_error(x->c->diags, init->loc,
               "init '%s' sets '%s', which the gradient is to, and what it sets is made of something else that it is "
               "to: give the field its values, or take one of them from the gradient",
               init->name, declared_name(m, by[k].index));
    return false;
  }
  x->m = module_copy(x->a, m);
  inits_as_step(x, nall, all);
  bool any = transpose_analyse_starts(x, of, n, NULL);
  x->starts = any ? ARENA_ARRAY(x->a, bool, 2 * m->nfields + 1) : NULL;
  for (int i = 0; i < x->m->nstencils && any; i++)
    for (int t = 0; t < x->m->stencils[i].ntargets; t++)
      x->starts[x->m->stencils[i].targets[t]] = x->varied[x->m->stencils[i].targets[t]];
  x->m = m;
  return true;
}

Module *transpose_inits(PassContext *c, const Module *source, int ngiven, const char *const *given,
                        const AdjointFacts *main, AdjointFacts *facts) {
  Transpose x = {.c = c, .a = c->arena, .facts = facts};
  By *by = NULL;
  *facts = (AdjointFacts){0};
  x.m = module_copy(c->arena, source);
  x.m->nreductions = x.m->nprobes = x.m->nlosses = x.m->nby = 0;
  x.m->nstencils = x.m->nupdates = x.m->nrepeats = 0;
  x.last = transpose_last(x.m);
  if (!transpose_unroll(c, x.m, x.last, states_changing(c->arena, source), facts, &x.states))
    return NULL;
  x.m = c->run(c, NULL, "scalarize,sides,simplify", x.m);
  if (!x.m)
    return NULL;
  int nby = transpose_by(c, source, x.m, &by);
  By *of = ARENA_ARRAY(c->arena, By, nby + 1);
  int n = sources(x.m, by, nby, of);
  bool *useful = ARENA_ARRAY(c->arena, bool, x.m->nfields + 1);
  const char **all;
  int nall = given_or_by(c->arena, x.m, by, nby, ngiven, given, &all);
  inits_as_step(&x, nall, all);
  for (int i = 0; i < main->nbars; i++) {
    int f = module_find_field(x.m, main->bars[i].from);
    if (f >= 0)
      useful[f] = true;
  }
  transpose_analyse_starts(&x, of, n, useful);
  return transpose_finish(&x, source);
}
