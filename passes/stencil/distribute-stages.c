/* distribute-stages.c: the programs of a cut grid whose step has updates, repeats or levels. Such a step is not one
 * list of stencils: updates depend on all parts, and the rounds of a repeat end for all parts at once. So each stage
 * (Stencil.stage, option stage) has its own program. It computes only the stencils of that stage, as a step of its own,
 * from the fields that the other stages left. Consecutive stages may be one program (option last; ir/stages.h has the
 * rule), with the rounds among them, so that their launches of few points can be joined (kernel/small-launches.c).
 *
 * The driver that runs these programs evaluates updates and reductions between them (option watch), and exchanges ghost
 * cells before a stage that reaches beyond the valid ones. All programs have the same number of ghost cells for a step:
 * that of the stage, or reduction, that needs most. */
#include "ir/stages.h"
#include "passes/registry.h"
#include "passes/stencil/distribute.h"

/* Notes in seen[field] the stage that uses the temp field: stage + 1, or -1 for more than one stage. */
static void note_stage(int32_t *seen, int field, int32_t stage) {
  if (seen[field] && seen[field] != stage + 1)
    seen[field] = -1;
  else
    seen[field] = stage + 1;
}

/* Makes temp fields ordinary fields if stencils of several stages use them. */
static void keep_temps(Module *m) {
  int32_t *seen = ARENA_ARRAY(m->arena, int32_t, m->nfields + 1);
  for (int i = 0; i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i];
    for (int t = 0; t < st->ntargets; t++)
      note_stage(seen, st->targets[t], st->stage);
    for (int k = 0; k < st->npieces; k++)
      for (const Op *op = st->pieces[k].body->first; op; op = op->next)
        if (op->code == OP_ACCESS)
          note_stage(seen, op->sym, st->stage);
  }
  Field *fields = NULL;
  int32_t n = 0;
  for (int f = 0; f < m->nfields; f++) {
    Field x = m->fields[f];
    x.temp = x.temp && seen[f] >= 0;
    ARENA_PUSH(m->arena, fields, n, x);
  }
  m->fields = fields;
}

/* Can the requested stages be one program? Reports it if not. */
static bool check_stages(const Parts *p, const Module *staged) {
  bool *coarse = ARENA_ARRAY(p->m->arena, bool, staged->nfields + 1);
  module_mark_coarse(staged, coarse);
  if (p->stage < 0 || stages_can_be_one(staged, coarse, (StageRange){p->stage, p->last}))
    return true;
  diag_error(
      p->c->diags, no_loc(),
      "pass 'distribute': stages %d to %d cannot be one program: several are if they compute coarser levels from "
      "these alone, with no update and no `until` among them; last=%d leaves one",
      p->stage, p->last, p->stage);
  return false;
}

bool distribute_stages(Parts *p) {
  p->staged = module_has_stages(p->m) || module_state(p->m) || module_scaled(p->m);
  if (!p->staged)
    return true;
  const Module *staged = module_stage_levels(p->m, p->m->arena);
  if (!check_stages(p, staged))
    return false;
  p->m->stencils = staged->stencils;
  p->m->updates = staged->updates;
  p->m->repeats = staged->repeats;
  p->watch = p->watches ? p->watch : -1;
  p->watches = true;
  pass_history(p->c, p->m, 0, NULL);
  keep_temps(p->m);
  return true;
}

/* Sets the module's number of steps to the number of rounds of the repeat that contains the stage, for passes that
 * choose how many steps share a launch; many, if params determine it. */
static void count_rounds(Module *m, int32_t stage) {
  enum { MANY = 1000 };
  int r = repeat_of(m, stage);
  if (r < 0)
    return;
  m->steps = m->repeats[r].most.n ? MANY : m->repeats[r].most.c;
  m->steps_by = 0;
}

/* Is repeat `r` among the requested stages, if these are several? */
static bool keeps_repeat(const Parts *p, const Repeat *r) {
  return p->stage >= 0 && stages_have_repeat((StageRange){p->stage, p->last}, r);
}

/* Keeps only the repeats among the requested stages, and merges stages between which no repeat begins or ends. */
static void keep_repeats(Parts *p) {
  Module *m = p->m;
  Repeat *list = NULL;
  int32_t n = 0;
  for (int i = 0; i < m->nrepeats; i++)
    if (keeps_repeat(p, &m->repeats[i]))
      ARENA_PUSH(m->arena, list, n, m->repeats[i]);
  m->repeats = list;
  m->nrepeats = n;
  for (int i = 1; i < m->nstencils; i++) {
    int32_t before = m->stencils[i - 1].stage, stage = m->stencils[i].stage;
    bool parted = false;
    for (int r = 0; r < n; r++)
      parted = parted || (before < list[r].first && stage >= list[r].first) ||
               (before <= list[r].last && stage > list[r].last);
    m->stencils[i].stage = parted ? stage : before;
  }
  for (int i = 0; i < m->nstencils && !n; i++)
    m->stencils[i].stage = 0;
}

bool distribute_keep_stage(Parts *p) {
  Module *m = p->m;
  Stencil *list = NULL;
  int32_t n = 0;
  if (!p->staged)
    return true;
  if (p->stage < 0 && !(p->watches && p->watch >= 0)) {
    diag_error(p->c->diags, no_loc(),
               "pass 'distribute': the step has updates, repeats or levels, so there is a program for each of its "
               "stages: option stage=N asks for one");
    return false;
  }
  for (int i = 0; i < m->nstencils; i++)
    if (p->stage < 0 || (m->stencils[i].stage >= p->stage && m->stencils[i].stage <= p->last))
      ARENA_PUSH(m->arena, list, n, m->stencils[i]);
  if (p->last == p->stage)
    count_rounds(m, p->stage);
  m->stencils = list;
  m->nstencils = n;
  keep_repeats(p);
  for (int f = 0; f < m->nfields; f++)
    m->fields[f].past = m->fields[f].history = 0;
  m->nupdates = 0;
  return true;
}
