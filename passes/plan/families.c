/* families.c: the pipeline of a family of schedules, built from its row (ir/families.def). */
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"

/* Adds the passes after the lowering of tiles for targets with threads; `whole`: all kernels are wanted, including a
 * kernel of tiles at edges alone. */
static void add_thread_passes(Str *p, const TargetInfo *t, const Family *f, const Schedule *s, int rank, bool whole) {
  bool apart = s->edges != EDGES_ALONG;
  bool near = f->streamed && s->barriers != BARRIERS_BLOCK, streams = f->streamed && apart && rank == GRID_RANK;
  if (f->tiled)
    str_add(p, ",shared-alloc,barriers");
  if (f->tiled && near)
    str_addf(p, "(near=%d)", (int)plan_mapped(s, MAP_NEAR));
  str_add(p, ",step-branches,range-guards");
  if (f->tiled && !whole)
    str_add(p, apart ? ",specialize(inner=1),thin-regions(inner=1)" : ",specialize,thin-regions(inner=1)");
  else if (f->tiled)
    str_addf(p, ",specialize%s%s,thin-regions", streams ? ",split-loops,simplify" : "", apart ? ",split-edges" : "");
  else if (schedule_has_points(s, rank))
    str_add(p, whole ? ",specialize,thin-regions,split-edges" : ",specialize(inner=1),thin-regions(inner=1)");
  if (whole)
    str_add(p, ",tile-classes");
  if (f->tiled && whole && near && rank == GRID_RANK && t->bulk_copy)
    str_addf(p, ",early-signals(behind=%d)", (int)plan_mapped(s, MAP_BEHIND));
}

/* Adds the pass that joins launches of few points as plan `s` of `m` says, with dimensions numbered as in a slice;
 * after it, the pass for slices. */
static void add_small_launches(Str *p, const Module *m, const Schedule *s) {
  str_addf(p, ",small-launches(points=%d", (int)map_get(s, MAP_JOINED));
  int slices = plan_is_sliced(m, s);
  for (int d = 0; d < m->grid.rank; d++) {
    MapId id = (MapId)(MAP_ALONG_0 + (d < slices ? m->grid.rank - 1 : d - slices));
    if (map_get(s, id) > 0)
      str_addf(p, ",along%d=%d", d, (int)map_get(s, id));
  }
  str_add(p, ")");
}

const char *family_pipeline(Arena *a, const TargetInfo *t, const Module *m, bool whole) {
  const Schedule *s = m->plan;
  const Family *f = family_row(s->family);
  Str p = {.arena = a};
  str_addf(&p, "%s%s%s,simplify", whole && f->tiled ? PASSES_TILING "," : "", f->lower[t->simt],
           whole && m->nprobes ? ",series" : "");
  if (t->simt && whole && map_get(s, MAP_JOINED) > 0)
    add_small_launches(&p, m, s);
  if (t->simt)
    add_thread_passes(&p, t, f, s, m->grid.rank - plan_is_sliced(m, s), whole);
  else
    str_addf(&p, ",shared-alloc,simplify%s", whole ? ",tile-classes" : "");
  return p.s;
}
