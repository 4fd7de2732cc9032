/* time-tile.c: unrolls the time step: repeats the list of stencils once for each time level of a tile. */
#include "passes/launch/launch.h"
#include "passes/plan/asked.h"
#include "passes/registry.h"

/* The number of levels: that of the option (`asked`), which ends the plan, that of the plan, or the one that the
 * schedule implies. 0 after an error. */
static int levels_of(PassContext *c, Module *m, int asked) {
  Schedule s = {0};
  if (asked)
    m->plan = m->plan && m->plan->T == asked ? m->plan : NULL;
  if (asked || m->plan)
    return asked ? asked : m->plan->edges == EDGES_STEPS ? 1 : m->plan->T; /* frame_new unrolls the step in this case */
  return schedule_resolve(c, m, c->schedule, &s) ? s.T : 0;
}

/* Algorithm 1's outer loop over the time steps of a tile. */
Module *pass_time_tile(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int T = (int)pass_option_int(c, "time-tile", n, o, "t", 1, 1 << 10, 0, &ok);
  if (!ok || (T = levels_of(c, m, T)) < 1)
    return NULL;
  if (m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "pass 'time-tile': the module has %d time levels already; run it once only",
               m->time_tile);
    return NULL;
  }
  if (T > 1 && module_sweep(m)) {
    diag_error(c->diags, module_sweep(m)->loc,
               "pass 'time-tile': '%s' is a sweep, whose columns take all of a time step: t=1 is all that can be",
               module_sweep(m)->name);
    return NULL;
  }
  if (T > 1 && module_scaled(m)) {
    diag_error(c->diags, module_scaled(m)->loc,
               "pass 'time-tile': '%s' reads all of another level of the grid: t=1 is all that can be",
               module_scaled(m)->name);
    return NULL;
  }
  if (T > 1 && group_count(m->nstencils, m->stencils) > 1) {
    diag_error(c->diags, no_loc(),
               "pass 'time-tile': the step is cut into %s; only a step that is one launch is repeated",
               cut_text(c->arena, m, m->nstencils, m->stencils));
    return NULL;
  }
  module_repeat(m, T);
  pass_stat(c, T, "time-tile", "time levels");
  return m;
}
