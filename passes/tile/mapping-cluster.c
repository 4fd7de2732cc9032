/* mapping-cluster.c: which streamed tiles may have the blocks of a cluster (tile/emit/stream-cluster.c). One
 * instruction of 4, 8 or 16 bytes a lane stores a line to another block, with the signal that counts its bytes. */
#include "passes/tile/mapping.h"

/* The reason why lines of `w`, a version of field `f`, cannot go from block to block; NULL: they can. */
static const char *why_not_lines(Arena *a, const KeptVersion *w, const Field *f, int32_t E) {
  int32_t reach = w->reach_lo > w->reach_hi ? w->reach_lo : w->reach_hi;
  if (type_size(f->type) != 4 && type_size(f->type) != 8)
    return arena_printf(a, "field '%s' has elements of %d bytes, and blocks store 4 or 8 to each other", f->name,
                        type_size(f->type));
  if (reach > E)
    return arena_printf(a, "field '%s' is read %d lines away, and a thread has %d: take more points in -elems", f->name,
                        (int)reach, (int)E);
  return NULL;
}

const char *stream_why_no_cluster(Arena *a, const TargetInfo *t, const Mapping *p, const Schedule *s) {
  const Module *m = p->l->m;
  const char *why = NULL;
  if (s->cluster < LEAST_CLUSTER)
    return NULL;
  if (m->grid.rank != GRID_RANK || p->alone)
    return arena_printf(a, "-cluster=%d: only tiles that threads stream over planes have clusters; leave -cluster out",
                        s->cluster);
  if (s->cluster > t->cluster)
    return arena_printf(a, "-cluster=%d: target %s runs %d blocks together at most; leave -cluster out", s->cluster,
                        t->name, t->cluster);
  if (s->block[GRID_RANK - 1] != WARP_LANES || s->block[1] < 2)
    return arena_printf(a, "-cluster=%d: blocks have two warps at least, each a line of %d threads; leave -cluster out",
                        s->cluster, WARP_LANES);
  for (int f = 0; f < m->nfields && !why; f++)
    for (int v = 0; v <= launch_use(p->l, f)->versions && !why; v++) {
      const KeptVersion *w = &p->kept[f][v];
      why = w->used && w->across ? why_not_lines(a, w, &m->fields[f], s->elems[1]) : NULL;
    }
  return why ? arena_printf(a, "-cluster=%d: %s; or leave -cluster out", s->cluster, why) : NULL;
}
