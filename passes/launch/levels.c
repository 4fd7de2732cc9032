/* levels.c: unrolls a time step: repeats its stencils once for each time level of a tile. */
#include "passes/launch/launch.h"

const Stencil *last_level(const Module *m, int32_t *n) {
  *n = m->nstencils / (m->time_tile > 0 ? m->time_tile : 1);
  return m->stencils + (m->nstencils - *n);
}

/* The field that the probe's stencil `st` writes at level `level`; -1 if `st` is no probe's stencil, or has no field
 * there. */
static int probe_target(const Module *m, const Stencil *st, int level) {
  const Field *f = st->ntargets == 1 ? &m->fields[st->targets[0]] : NULL;
  for (int i = 0; f && f->series && i < m->nfields; i++)
    if (m->fields[i].series == f->series && m->fields[i].level == level)
      return i;
  return -1;
}

/* Makes `field` the target of `st`, a probe's stencil. */
static void set_probe_target(const Module *m, Stencil *st, int32_t field) {
  int32_t *targets = ARENA_NEW(m->arena, int32_t);
  Piece *piece = ARENA_NEW(m->arena, Piece);
  targets[0] = field;
  *piece = st->pieces[0];
  piece->targets = st->targets = targets;
  st->pieces = piece;
}

Stencil *repeat_levels(const Module *m, int n, const Stencil *st, int T, bool halo) {
  Stencil *r = ARENA_ARRAY(m->arena, Stencil, (int64_t)n * T);
  for (int level = 0; level < T; level++)
    for (int i = 0; i < n; i++) {
      r[level * n + i] = st[i];
      r[level * n + i].level = level;
      r[level * n + i].extent = (Extent){{0}, {0}};
      int target = probe_target(m, &st[i], level);
      if (target >= 0)
        set_probe_target(m, &r[level * n + i], target);
    }
  if (halo)
    groups_halo(m, n * T, r);
  return r;
}

/* Copies the pieces and bodies of `st`. */
static void own_bodies(Arena *a, Stencil *st) {
  Piece *pieces = ARENA_ARRAY(a, Piece, st->npieces);
  for (int i = 0; i < st->npieces; i++) {
    pieces[i] = st->pieces[i];
    pieces[i].body = block_clone(a, st->pieces[i].body, NULL, NULL);
  }
  st->pieces = pieces;
}

/* Gives the probe's stencil `st` of level `level` > 0 a new field as its target, for that level. */
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

Module *module_trial(const Module *m) {
  Module *copy = ARENA_NEW(m->arena, Module);
  *copy = *m;
  copy->fields = NULL;
  copy->nfields = 0;
  for (int i = 0; i < m->nfields; i++)
    ARENA_PUSH(m->arena, copy->fields, copy->nfields, m->fields[i]);
  copy->stencils = ARENA_ARRAY(m->arena, Stencil, m->nstencils + 1);
  for (int i = 0; i < m->nstencils; i++)
    copy->stencils[i] = m->stencils[i];
  return copy;
}

Module *plan_tiled_copy(const Module *m, int T) {
  Module *copy = module_trial(m);
  module_repeat(copy, T);
  groups_halo(copy, copy->nstencils, copy->stencils);
  return copy;
}

int64_t most_levels(const Module *m, const Reduction **by) {
  int64_t most = module_has_stages(m) || module_sweep(m) || module_scaled(m) ? 1 : m->steps > 0 ? m->steps : INT64_MAX;
  *by = NULL;
  most = module_steps_to_frames(m, 0, most);
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].every < most) {
      *by = &m->reductions[i];
      most = (*by)->every;
    }
  return most;
}
