/* fuse.c: cuts the step's list of stencils into consecutive groups (Stencil.group), as the plan says; lowerings make
 * one launch of each group. */
#include "passes/plan/plan.h"
#include "passes/registry.h"

#include <string.h>

/* The cut that the pass's option names; NULL if there is none. */
static const char *asked(int n, const PassOption *o) {
  const char *cuts = NULL;
  for (int i = 0; i < n; i++)
    if (strcmp(o[i].name, "cuts") == 0)
      cuts = o[i].value;
  return cuts;
}

/* Cuts the step as the option says, which ends the plan, or, without a plan, as the schedule says. */
static bool cut_as_asked(PassContext *c, Module *m, const char *cuts) {
  static const Schedule open = {0};
  PassContext with = *c;
  with.schedule = c->schedule ? c->schedule : &open;
  cuts = cuts ? cuts : with.schedule->fuse ? with.schedule->fuse : "auto";
  m->plan = NULL;
  return schedule_check(&with, m) && plan_cut(&with, m, cuts);
}

Module *pass_fuse(PassContext *c, Module *m, int n, const PassOption *o) {
  const char *cuts = asked(n, o);
  if (m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "pass 'fuse': the module has %d time levels already; run it before time-tile",
               m->time_tile);
    return NULL;
  }
  if (!(m->plan && !cuts ? plan_cut_apply(c, m, m->plan) : cut_as_asked(c, m, cuts)))
    return NULL;
  pass_stat(c, group_count(m->nstencils, m->stencils), "fuse", "launches a step: %s",
            cut_text(c->arena, m, m->nstencils, m->stencils));
  return m;
}
