/* time-tile.c: the time step unrolled: the list of stencils repeated once for each time level of a tile. */
#include "passes/lower/lower.h"
#include "passes/registry.h"

/* Gives `st` pieces and bodies of its own. */
static void own_bodies(Arena *a, Stencil *st) {
  Piece *pieces = ARENA_ARRAY(a, Piece, st->npieces);
  for (int i = 0; i < st->npieces; i++) {
    pieces[i] = st->pieces[i];
    pieces[i].body = block_clone(a, st->pieces[i].body, NULL, NULL);
  }
  st->pieces = pieces;
}

/* Gives `st`, which is of level `level` > 0 and has a probe's field as its target, a field of that level's own. */
static void own_series(Module *m, Stencil *st, int level) {
  Field f = m->fields[st->targets[0]];
  int32_t *targets = ARENA_NEW(m->arena, int32_t);
  f.name = arena_printf(m->arena, "%s.%d", f.name, level);
  for (int k = 2; module_find_field(m, f.name) >= 0; k++)
    f.name = arena_printf(m->arena, "%s.%d.%d", m->fields[st->targets[0]].name, level, k);
  f.level = level;
  targets[0] = m->nfields;
  st->targets = st->pieces[0].targets = targets;
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
}

void module_repeat(Module *m, int T) {
  int stencils = m->nstencils;
  module_renumber(m);
  m->stencils = repeat_levels(m, stencils, m->stencils, T, false);
  m->nstencils = stencils * T;
  m->time_tile = T;
  for (int i = stencils; i < m->nstencils; i++)
    own_bodies(m->arena, &m->stencils[i]);
  for (int i = stencils; i < m->nstencils; i++)
    if (is_probe_stencil(m, &m->stencils[i]))
      own_series(m, &m->stencils[i], i / stencils);
}

/* The number of levels: the option's, which ends the plan, the plan's, or what the schedule comes to. 0 after an error.
 */
static int levels_of(PassContext *c, Module *m, int asked) {
  Schedule s = {0};
  if (asked)
    m->plan = m->plan && m->plan->T == asked ? m->plan : NULL;
  if (asked || m->plan)
    return asked ? asked : m->plan->T;
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
