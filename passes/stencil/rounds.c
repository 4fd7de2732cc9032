/* rounds.c: unrolls several rounds of a repeat, so that they may share a launch.
 *
 * A round of a repeat is a launch or two, each of which reads and writes whole fields. This pass repeats the stencils
 * of a round T times, in front of the stencils of a single round. The host runs T rounds by the first ones as long as
 * that many are left before the next evaluation, and single rounds by the others (Repeat.tile). Which of the T rounds
 * share a launch is then the decision of pass plan, as for all stencils of a step; they recompute halos as time steps
 * in a tile do. A stencil of the second round is called, for example, "red.2".
 *
 * T is the largest number that divides the number of rounds between two evaluations (or the number of all rounds, if
 * that is a constant and there is no reduction) and makes at most MOST_STENCILS stencils. It follows from the program
 * alone, so that plans, which name the stencils of a cut, fit a program on any machine. A cut determines T if it names
 * stencils of a second round: as many rounds as it names. -repeats=NAME:T (or -T=NAME:T) sets it for repeat NAME; those
 * rounds then share a launch (cut.c).
 *
 * A repeat disappears altogether, unrolled completely, if it is in no other repeat, has a constant number of rounds, no
 * reduction looks at it, and all its rounds together have that many stencils; then a tile may make several steps. The
 * pass does not do so in the program of some stages of a step, for a part of the grid, because that has one step to
 * make, and its launches may be joined.
 *
 * The rounds must consist of stencils only, and each stencil must write all of its temp fields: a part that it leaves
 * out would be that of the round before. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <stdlib.h>
#include <string.h>

/* The most stencils in T rounds; with more, pass plan would have too many choices to examine. */
enum { MOST_STENCILS = 8 };

/* The most rounds that -repeats= may ask for, and the most stencils in these rounds. */
enum { MOST_ASKED = 64, MOST_WRITTEN = 256 };

/* Stages are renumbered only up to this number. */
enum { MOST_STAGES = 1 << 20 };

/* The number of stencils of repeat `r`; the first one is number *first. 0 if the repeat has updates or repeats,
 * stencils of two stages, or no stage to spare. */
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

/* Does `st` leave a part of a temp field unwritten? */
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

/* The reason why repeat `r` cannot make T rounds in a row, given its evaluations and its number of rounds; NULL if it
 * can. */
static const char *why_not_in_a_row(const Module *m, int r, int64_t T) {
  Affine most = m->repeats[r].most;
  int64_t all = most.n ? 0 : most.c, of = 0;
  for (int i = 0; i < m->nreductions; i++)
    of = m->reductions[i].loop == r + 1 ? common(m->reductions[i].every, of) : of;
  if (!most.n && T > all)
    return arena_printf(m->arena, "it makes %lld at most", (long long)all);
  if (of && of % T)
    return arena_printf(m->arena, "its reductions are evaluated after every %lld, which is no multiple of that",
                        (long long)of);
  return !of && !most.n && all % T
             ? arena_printf(m->arena, "it makes %lld, which is no multiple of that", (long long)all)
             : NULL;
}

/* The number of rounds in a row for repeat `r`, with `n` stencils a round. */
static int rounds_in_a_row(const Module *m, int r, int n) {
  int T = n <= MOST_STENCILS ? MOST_STENCILS / n : 1;
  while (T > 1 && why_not_in_a_row(m, r, T))
    T--;
  return T;
}

/* Does some part of `cut` name stencil `st`? */
static bool cut_names(const Module *m, const char *cut, const Stencil *st) {
  const char *name = said_name(m->arena, st);
  size_t length = strlen(name);
  for (const char *p = cut; *p; p += strcspn(p, "+,/"), p += *p != '\0')
    if (strcspn(p, "+,/") == length && !strncmp(p, name, length))
      return true;
  return false;
}

/* A copy of stencil `st` for round number `round` (from 1), with stage `stage` and its own bodies. */
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

/* The number of rounds in a row for repeat `r`, whose `n` stencils begin with number `first` (n = 0: it is not
 * suitable), under the cut `cut` (NULL: open); 1 for single rounds. */
static int plain_rounds(const Module *m, int r, int first, int n, const char *cut) {
  bool plain = n > 0;
  for (int i = first; i < first + n; i++)
    plain = plain && !leaves_out(m, &m->stencils[i]);
  int T = plain ? rounds_in_a_row(m, r, n) : 1, named = 1;
  if (!plain || !cut)
    return T;
  for (int k = 2; k <= MOST_ASKED && named == k - 1; k++) {
    Stencil of = of_round(m, &m->stencils[first], k, 0);
    named = cut_names(m, cut, &of) ? k : named;
  }
  return named > 1 && why_not_in_a_row(m, r, named) ? T : named;
}

/* Are the requests in `s`, "NAME:N,...", valid for repeats of `m`? Reports it if not. */
static bool check_asked(PassContext *c, const Module *m, const Schedule *s) {
  if (s->repeats && m->part) {
    diag_error(c->diags, no_loc(),
               "-repeats=%s: parts of a grid make as many rounds a launch as suit what they exchange; leave it out",
               s->repeats);
    return false;
  }
  for (const char *at = s->repeats; at && *at; at += strcspn(at, ","), at += *at == ',') {
    size_t name = strcspn(at, ":,"), digits = at[name] == ':' ? strspn(at + name + 1, "0123456789") : 0;
    int64_t T = digits ? strtoll(at + name + 1, NULL, 10) : 0;
    if (!name || !digits || strcspn(at, ",") != name + 1 + digits || T < 1 || T > MOST_ASKED) {
      diag_error(c->diags, no_loc(),
                 "-repeats=%s: write how many rounds of which repeat share a launch, NAME:N, several with commas "
                 "between; N is 1 to %d",
                 s->repeats, MOST_ASKED);
      return false;
    }
    if (module_find_repeat(m, arena_strndup(c->arena, at, name)) < 0) {
      diag_error(c->diags, no_loc(), "-repeats=%s: the program has no repeat %.*s", s->repeats, (int)name, at);
      return false;
    }
  }
  return true;
}

/* Can repeat `r` make T rounds in a row, as `s` asks? Its `n` stencils begin with number `first` (n = 0: it is not
 * suitable). Reports the reason if not. */
static bool check_rounds(PassContext *c, const Module *m, const Schedule *s, int r, int first, int n, int64_t T) {
  const char *why =
      n == 0 ? "it has updates or repeats in it, or reads 'round', which is updated" : why_not_in_a_row(m, r, T);
  for (int i = first; i < first + n; i++)
    why = leaves_out(m, &m->stencils[i]) ? "a stencil leaves a part of a temp field as the round before had it" : why;
  if (!why && n * T > MOST_WRITTEN)
    why = arena_printf(c->arena, "they are more than %d stencils", MOST_WRITTEN);
  if (why)
    diag_error(c->diags, m->repeats[r].loc, "-repeats=%s: %lld rounds of repeat %s cannot share a launch: %s",
               s->repeats, (long long)T, m->repeats[r].name, why);
  return !why;
}

/* Repeats the `n` stencils from number `first` on, those of repeat `r`, T times, and once more with the last stage of
 * the repeat. */
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

/* Replaces the `n` stencils from number `first` on, those of repeat `r`, by all of its rounds, and removes the
 * repeat. */
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

/* Renumbers the stages so that only updates and repeats separate stages. */
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

/* The pass, for all suitable repeats. */
Module *pass_rounds(PassContext *c, Module *m, int n, const PassOption *o) {
  static const Schedule open = {0};
  const Schedule *want = m->plan ? m->plan : c->schedule ? c->schedule : &open;
  const char *cut = want->fuse;
  int made = 0;
  bool dissolved = false;
  (void)n, (void)o;
  if (m->nrepeats)
    module_renumber(m);
  if (!check_asked(c, m, want))
    return NULL;
  cut = cut && strcmp(cut, "auto") != 0 && strcmp(cut, "all") != 0 && strcmp(cut, "none") != 0 ? cut : NULL;
  for (int r = 0; r < m->nrepeats; r++) {
    int first = 0, count = m->repeats[r].tile ? 0 : stencils_of(m, r, &first);
    int asked = m->repeats[r].tile ? 0 : (int)schedule_rounds(want, m->repeats[r].name);
    int T = asked ? asked : plain_rounds(m, r, first, count, cut);
    if (asked > 1 && !check_rounds(c, m, want, r, first, count, asked))
      return NULL;
    if (T < 2)
      continue;
    made++;
    if (!asked && !m->part && repeat_is_fixed(m, r) && m->repeats[r].most.c == T &&
        module_last_stage(m) < MOST_STAGES) {
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
