/* mapping.c: the mapping of a launch under a schedule: fills the members that each family needs. */
#include "passes/tile/mapping.h"
#include "passes/tile/warps.h"

/* Sets the versions of fields that a level of warps keeps; the sums that it keeps belong to no field. */
static void keep_level(Mapping *p) {
  const WarpLevel *e = p->level;
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (x->kind != WARP_INPUT && x->kind != WARP_NEW)
      continue;
    KeptVersion kept = {.lag = x->time, .rows = warps_kept(e, v), .delay = x->kind == WARP_INPUT ? x->time : 0};
    kept.used = x->wanted && (kept.rows || kept.delay);
    if (x->kind == WARP_NEW || kept.used)
      p->kept[x->field][x->kind == WARP_NEW ? ++p->versions[x->field] : 0] = kept;
  }
}

/* The mapping of launch `l` to a pipeline of warps: its time levels are spread over the warps of a block. */
static Mapping *map_warps(const TargetInfo *t, const Launch *l, const Schedule *s, const char **why) {
  Arena *a = l->m->arena;
  const WarpLevel *e = warps_level(l->m, why);
  if (!e)
    return NULL;
  Mapping *p = ARENA_NEW(a, Mapping);
  WarpShape *shape = ARENA_NEW(a, WarpShape);
  *p = (Mapping){.l = l, .halo = l->hull, .streamed = true, .level = warps_level_for(e, s)};
  *shape = warps_shape(t, p->level, s);
  p->shape = shape;
  p->unroll = shape->U;
  p->kept = ARENA_ARRAY(a, KeptVersion *, l->m->nfields + 1);
  p->versions = ARENA_ARRAY(a, int32_t, l->m->nfields + 1);
  for (int f = 0; f < l->m->nfields; f++)
    p->kept[f] = ARENA_ARRAY(a, KeptVersion, e->n + 1);
  keep_level(p);
  return p;
}

const Mapping *mapping_of(const TargetInfo *t, const Launch *l, const Schedule *s, const char **why) {
  Mapping *p;
  if (s->family == FAMILY_WARPS)
    return map_warps(t, l, s, why);
  if (family_row(s->family)->streamed)
    return t->simt ? stream_for(l, s) : stream_alone(l);
  p = ARENA_NEW(l->m->arena, Mapping);
  *p = *BLOCKED_TILE(l);
  return p;
}
