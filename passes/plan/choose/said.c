/* said.c: a plan's numbers of its mapping, or the default for an open number, for any launch. This is below mapping.c,
 * which completes a plan, and below all code that compares plans. */
#include "passes/plan/plan.h"

int32_t plan_mapped(const Schedule *s, MapId id) {
  double chosen = id == MAP_NEAR     ? tuning.neighbour_warps
                  : id == MAP_BEHIND ? tuning.behind_signals
                                     : tuning.reduce_points;
  return map_get(s, id) >= 0 ? map_get(s, id) : (int32_t)chosen;
}

void plan_joined_size(const Schedule *s, int64_t size[MAX_RANK]) {
  bool said = map_get(s, MAP_JOINED) >= 0;
  for (int d = 0; d < MAX_RANK; d++) {
    int32_t along = map_get(s, (MapId)(MAP_ALONG_0 + d));
    size[d] = said ? (along > 0 ? along : 0) : s->told && s->size[d] <= INT32_MAX / 2 ? s->size[d] : 0;
  }
}

bool plan_may_join(const PassContext *c, const Module *m) {
  return c->target->simt && (m->part ? part_is_whole(m) : module_has_stages(m));
}

int64_t plan_joined(const PassContext *c, const Module *m, const Schedule *want, GridScalars *g) {
  int64_t size[MAX_RANK], points = map_get(want, MAP_JOINED) >= 0 ? map_get(want, MAP_JOINED) : tuning.small_points;
  plan_joined_size(want, size);
  return plan_may_join(c, m) && points > 0 && grid_scalars(m, size, g) ? points : 0;
}
