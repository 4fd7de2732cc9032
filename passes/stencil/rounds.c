/* rounds.c: several rounds of a repeat one after the other, so that they may share a launch.
 *
 * A round of a repeat is a launch or two, each of which reads and writes whole fields. Here the stencils of a round are
 * written T times in a row, before the stencils of a single round: the host makes T rounds by the first as long as so
 * many are left before the next evaluation, and single ones by the others (Repeat.tile). Which of the T rounds share a
 * launch is then the question that pass plan answers for all stencils of a step; they recompute halos as time steps in
 * a tile do. A name of the second round is "red.2".
 *
 * T is the most that divides the rounds between two evaluations (or all of them, where that is a constant and there is
 * no reduction) and makes no more than MOST_STENCILS stencils. It follows from the program alone, so that plans, which
 * name the stencils of a cut, fit a program on any machine. A cut that names no stencil of a second round ends it.
 *
 * Rounds must be stencils alone, none of which reads the number of the step, which would be another in the next step of
 * a tile, or leaves a part of a temp field out, which would be of the round before. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <string.h>

/* So many stencils T rounds have at most, so that plan does not look at more than it can in time. */
enum { MOST_STENCILS = 8 };

/* The stencils of repeat `r`: from number *first on; how many. 0: it has updates, or repeats, or stencils of two
 * stages, or no stage to spare. */
static int stencils_of(const Module *m, int r, int *first) {
  const Repeat *x = &m->repeats[r];
  int n = 0;
  bool plain = x->first < x->last;
  for (int i = 0; i < m->nupdates; i++)
    plain = plain && (m->updates[i].stage < x->first || m->updates[i].stage > x->last);
  for (int i = 0; i < m->nrepeats; i++)
    plain = plain && (i == r || !repeat_is_in(m, i, r));
  for (int i = 0; i < m->nstencils; i++) {
    int32_t stage = m->stencils[i].stage;
    if (stage < x->first || stage > x->last)
      continue;
    plain = plain && stage == x->first && !m->stencils[i].group;
    *first = n++ ? *first : i;
  }
  return plain ? n : 0;
}

/* Does `st` read the step's number, or leave a part of a temp field out? */
static bool is_of_its_step(const Module *m, const Stencil *st) {
  bool found = false;
  for (int t = 0; t < st->ntargets; t++)
    found = found || (m->fields[st->targets[t]].temp && stencil_keeps(m, st, st->targets[t]));
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      found = found || op->code == OP_STEP;
  return found;
}

static int64_t common(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* How many rounds of `n` stencils repeat `r` is to make in a row. */
static int rounds_in_a_row(const Module *m, int r, int n) {
  Affine most = m->repeats[r].most;
  int64_t all = most.n ? 0 : most.c, of = 0;
  for (int i = 0; i < m->nreductions; i++)
    of = m->reductions[i].loop == r + 1 ? common(m->reductions[i].every, of) : of;
  of = of ? of : all;
  int T = n <= MOST_STENCILS ? MOST_STENCILS / n : 1;
  while (T > 1 && ((of && of % T) || (all && T > all)))
    T--;
  return most.n || all ? T : 1;
}

/* Is there a part of `cut` that is said by `name`? */
static bool cut_names(const Module *m, const char *cut, const Stencil *st) {
  const char *name = said_name(m->arena, st);
  size_t length = strlen(name);
  for (const char *p = cut; *p; p += strcspn(p, "+,/"), p += *p != '\0')
    if (strcspn(p, "+,/") == length && !strncmp(p, name, length))
      return true;
  return false;
}

/* Stencil `st` for round number `round` (from 1) of some, of stage `stage`, with bodies of its own. */
static Stencil of_round(const Module *m, const Stencil *st, int round, int32_t stage) {
  Stencil out = *st;
  out.stage = stage;
  out.name = round > 1 ? arena_printf(m->arena, "%s.%d", st->name, round) : st->name;
  out.pieces = ARENA_ARRAY(m->arena, Piece, st->npieces);
  for (int i = 0; i < st->npieces; i++) {
    out.pieces[i] = st->pieces[i];
    out.pieces[i].body = block_clone(m->arena, st->pieces[i].body, NULL, NULL);
  }
  return out;
}

/* Writes the `n` stencils from number `first` on, those of repeat `r`, T times, and once more as those of the last
 * stage. */
static void write_out(Module *m, int r, int first, int n, int T) {
  Stencil *list = NULL;
  int32_t count = 0;
  for (int i = 0; i < m->nstencils; i++) {
    if (i == first)
      for (int k = 0; k < n * T; k++)
        ARENA_PUSH(m->arena, list, count, of_round(m, &m->stencils[first + k % n], k / n + 1, m->repeats[r].first));
    Stencil st = m->stencils[i];
    if (i >= first && i < first + n)
      st = of_round(m, &st, 1, m->repeats[r].last);
    if (i >= first && i < first + n)
      st.name = arena_printf(m->arena, "%s.1", st.name);
    ARENA_PUSH(m->arena, list, count, st);
  }
  m->stencils = list;
  m->nstencils = count;
  m->repeats[r].tile = T;
}

/* The pass: all repeats that can. */
Module *pass_rounds(PassContext *c, Module *m, int n, const PassOption *o) {
  const char *cut = m->plan ? m->plan->fuse : c->schedule ? c->schedule->fuse : NULL;
  int made = 0;
  (void)n, (void)o;
  if (m->nrepeats)
    module_renumber(m);
  cut = cut && strcmp(cut, "auto") != 0 && strcmp(cut, "all") != 0 && strcmp(cut, "none") != 0 ? cut : NULL;
  for (int r = 0; r < m->nrepeats; r++) {
    int first = 0, count = m->repeats[r].tile ? 0 : stencils_of(m, r, &first), T = 1;
    bool plain = count > 0;
    for (int i = first; i < first + count; i++)
      plain = plain && !is_of_its_step(m, &m->stencils[i]);
    T = plain ? rounds_in_a_row(m, r, count) : 1;
    if (T > 1 && cut) {
      Stencil second = of_round(m, &m->stencils[first], 2, 0);
      T = cut_names(m, cut, &second) ? T : 1;
    }
    if (T < 2)
      continue;
    write_out(m, r, first, count, T);
    made++;
  }
  pass_stat(c, made, "rounds", "repeats of which several rounds are written out");
  return m;
}
