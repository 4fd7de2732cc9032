/* ir/stages.c: which stages of a step may be one program for a part of the grid. */
#include "ir/stages.h"

bool stages_have_repeat(StageRange x, const Repeat *r) {
  return x.last > x.first && x.first <= r->first && r->last <= x.last;
}

/* Is `stage` in the range? */
static bool has_stage(StageRange x, int32_t stage) { return x.first <= stage && stage <= x.last; }

/* The stages of repeat number `r`. */
static StageRange stages_of(const Module *m, int r) { return (StageRange){m->repeats[r].first, m->repeats[r].last}; }

/* Do stencils have stages in the range? */
static bool have_stencils(const Module *m, StageRange x) {
  bool any = false;
  for (int i = 0; i < m->nstencils; i++)
    any = any || has_stage(x, m->stencils[i].stage);
  return any;
}

/* Can a program make the rounds of repeat `r`: does it, and does each repeat nested in it, contain stencils but no
 * update, and does no reduction belong to its rounds or to those of a nested repeat? */
static bool has_plain_rounds(const Module *m, int r) {
  bool plain = true;
  for (int i = 0; i < m->nrepeats; i++)
    plain = plain && (!repeat_is_in(m, i, r) || have_stencils(m, stages_of(m, i)));
  for (int i = 0; i < m->nupdates; i++)
    plain = plain && !has_stage(stages_of(m, r), m->updates[i].stage);
  for (int i = 0; i < m->nreductions; i++)
    plain = plain && !(m->reductions[i].loop && repeat_is_in(m, m->reductions[i].loop - 1, r));
  return plain;
}

/* Does the range contain stencils, all of coarser levels, none of which reads the finest level? */
static bool are_coarse(const Module *m, const bool *coarse, StageRange x) {
  bool all = have_stencils(m, x);
  for (int i = 0; i < m->nstencils; i++)
    if (has_stage(x, m->stencils[i].stage))
      all = all && coarse[m->stencils[i].targets[0]] && !stencil_restricts(&m->stencils[i], coarse);
  return all;
}

bool stages_can_be_one(const Module *m, const bool *coarse, StageRange x) {
  if (x.first == x.last)
    return true;
  bool can = are_coarse(m, coarse, x);
  for (int r = 0; r < m->nrepeats && can; r++) {
    StageRange of = stages_of(m, r);
    bool apart = of.last < x.first || of.first > x.last, around = of.first <= x.first && x.last <= of.last;
    can = stages_have_repeat(x, &m->repeats[r]) ? has_plain_rounds(m, r) : apart || around;
  }
  for (int i = 0; i < m->nupdates && can; i++)
    can = m->updates[i].stage == x.first || !has_stage(x, m->updates[i].stage);
  return can;
}

/* ---------------------------------------------------------------- all stages of a step */

/* Adds stage `stage` to the sorted list of `n`, unless it is there. Returns the new number. */
static int add_stage(StageRange *list, int n, int32_t stage) {
  int at = n;
  for (int i = 0; i < n; i++)
    if (list[i].first == stage)
      return n;
  for (; at > 0 && list[at - 1].first > stage; at--)
    list[at] = list[at - 1];
  list[at] = (StageRange){stage, stage};
  return n + 1;
}

/* Lists all stages that may have stencils: those that have some, and those where pass history rotates time levels.
 * Returns their number. */
static int find_stages(const Module *m, StageRange *list) {
  bool past = false;
  int n = 0;
  for (int f = 0; f < m->nfields; f++)
    past = past || m->fields[f].history;
  for (int i = 0; i < m->nstencils; i++)
    n = add_stage(list, n, m->stencils[i].stage);
  for (int i = 0; i < m->nrepeats && past; i++)
    n = add_stage(list, n, m->repeats[i].first - 1);
  return past || !n ? add_stage(list, n, module_last_stage(m)) : n;
}

/* The ranges number `from` to `to` of the `n` in `list` as one range. It is extended to all stages of each repeat that
 * has no stages of the other ranges, if the program can make the rounds of the repeat. */
static StageRange join(const Module *m, const StageRange *list, int n, int from, int to) {
  StageRange x = {list[from].first, list[to].last};
  for (int r = 0; r < m->nrepeats; r++) {
    StageRange of = stages_of(m, r);
    int within = 0, others = 0;
    for (int i = 0; i < n; i++)
      if (has_stage(of, list[i].first))
        *(from <= i && i <= to ? &within : &others) += 1;
    if (!within || others || !has_plain_rounds(m, r))
      continue;
    x.first = of.first < x.first ? of.first : x.first;
    x.last = of.last > x.last ? of.last : x.last;
  }
  return x;
}

int stages_list(const Module *m, const bool *coarse, Arena *a, StageRange **out) {
  StageRange *list = ARENA_ARRAY(a, StageRange, m->nstencils + m->nrepeats + 2);
  int n = find_stages(m, list), nout = 0;
  *out = ARENA_ARRAY(a, StageRange, n + 1);
  for (int i = 0; i < n; nout++) {
    int most = i;
    (*out)[nout] = list[i];
    for (int k = i + 1; k < n && are_coarse(m, coarse, list[i]) && are_coarse(m, coarse, list[k]); k++) {
      StageRange x = join(m, list, n, i, k);
      if (stages_can_be_one(m, coarse, x)) {
        (*out)[nout] = x;
        most = k;
      }
    }
    i = most + 1;
  }
  return nout;
}
