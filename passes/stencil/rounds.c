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
 * A repeat that is in no other, whose number of rounds is a constant, which no reduction looks at and which makes that
 * many stencils in all, is written out altogether: it is no repeat any more, and a tile may make several steps.
 *
 * Rounds must be stencils alone, none of which leaves a part of a temp field out: that would be of the round before.
 */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <string.h>

/* So many stencils T rounds have at most, so that plan does not look at more than it can in time. */
enum { MOST_STENCILS = 8 };

/* Stages up to this are numbered anew. */
enum { MOST_STAGES = 1 << 20 };

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

/* Does `st` leave a part of a temp field out? */
static bool leaves_out(const Module *m, const Stencil *st) {
  bool found = false;
  for (int t = 0; t < st->ntargets; t++)
    found = found || (m->fields[st->targets[t]].temp && stencil_keeps(m, st, st->targets[t]));
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

/* Does a part of `cut` name stencil `st`? */
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

/* The same of repeat `r`, whose `n` stencils (0: it cannot be) are those from number `first` on, under the cut `cut`
 * (NULL: it is open); 1: single ones. */
static int plain_rounds(const Module *m, int r, int first, int n, const char *cut) {
  bool plain = n > 0;
  for (int i = first; i < first + n; i++)
    plain = plain && !leaves_out(m, &m->stencils[i]);
  int T = plain ? rounds_in_a_row(m, r, n) : 1;
  if (T < 2 || !cut)
    return T;
  Stencil second = of_round(m, &m->stencils[first], 2, 0);
  return cut_names(m, cut, &second) ? T : 1;
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

/* Writes the `n` stencils from number `first` on, those of repeat `r`, out as all of its rounds, and drops it. */
static void dissolve(Module *m, int r, int first, int n, int rounds) {
  Stencil *list = NULL;
  int32_t count = 0;
  for (int i = 0; i < m->nstencils; i++) {
    for (int k = 0; i == first && k < n * rounds; k++)
      ARENA_PUSH(m->arena, list, count, of_round(m, &m->stencils[first + k % n], k / n + 1, m->repeats[r].first));
    if (i < first || i >= first + n)
      ARENA_PUSH(m->arena, list, count, m->stencils[i]);
  }
  m->stencils = list;
  m->nstencils = count;
  Repeat *left = NULL;
  int32_t nleft = 0;
  for (int i = 0; i < m->nrepeats; i++)
    if (i != r)
      ARENA_PUSH(m->arena, left, nleft, m->repeats[i]);
  for (int i = 0; i < m->nreductions; i++)
    m->reductions[i].loop -= m->reductions[i].loop > r + 1;
  m->repeats = left;
  m->nrepeats = nleft;
}

/* Numbers the stages anew, so that they part only what updates and repeats part. */
static void compact_stages(Module *m) {
  int32_t last = module_last_stage(m), *now = ARENA_ARRAY(m->arena, int32_t, last + 1);
  bool *border = ARENA_ARRAY(m->arena, bool, last + 1);
  for (int i = 0; i < m->nupdates; i++)
    border[m->updates[i].stage] = true;
  for (int i = 0; i < m->nrepeats; i++)
    border[m->repeats[i].first] = border[m->repeats[i].last] = border[m->repeats[i].last + 1] = true;
  now[0] = 0;
  for (int32_t s = 1; s <= last; s++)
    now[s] = now[s - 1] + border[s];
  for (int i = 0; i < m->nstencils; i++)
    m->stencils[i].stage = now[m->stencils[i].stage];
  for (int i = 0; i < m->nupdates; i++)
    m->updates[i].stage = now[m->updates[i].stage];
  for (int i = 0; i < m->nrepeats; i++) {
    m->repeats[i].first = now[m->repeats[i].first];
    m->repeats[i].last = now[m->repeats[i].last];
  }
}

/* The pass: all repeats that can. */
Module *pass_rounds(PassContext *c, Module *m, int n, const PassOption *o) {
  const char *cut = m->plan ? m->plan->fuse : c->schedule ? c->schedule->fuse : NULL;
  int made = 0;
  bool dissolved = false;
  (void)n, (void)o;
  if (m->nrepeats)
    module_renumber(m);
  cut = cut && strcmp(cut, "auto") != 0 && strcmp(cut, "all") != 0 && strcmp(cut, "none") != 0 ? cut : NULL;
  for (int r = 0; r < m->nrepeats; r++) {
    int first = 0, count = m->repeats[r].tile ? 0 : stencils_of(m, r, &first);
    int T = plain_rounds(m, r, first, count, cut);
    if (T < 2)
      continue;
    made++;
    if (repeat_is_fixed(m, r) && m->repeats[r].most.c == T && module_last_stage(m) < MOST_STAGES) {
      dissolve(m, r--, first, count, T);
      dissolved = true;
    } else {
      write_out(m, r, first, count, T);
    }
  }
  if (dissolved)
    compact_stages(m);
  pass_stat(c, made, "rounds", "repeats of which several rounds are written out");
  return m;
}
