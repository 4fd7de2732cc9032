/* loops-arrays.c: decides which versions of fields live in arrays of the tile. */
#include "passes/tile/emit/loops/loops.h"

typedef struct ReadMarks {
  const Launch *l;
  int instance;
  bool **read;
} ReadMarks;

/* AccessFn: marks the version that the running instance reads of `field`. */
static void mark_read(void *user, const Piece *piece, int field, const int64_t *off) {
  ReadMarks *r = user;
  (void)piece, (void)off;
  Version v = launch_reads(r->l, field, r->instance);
  r->read[v.field][v.version] = true;
}

bool keeps_values(const Launch *l, int i, int field) {
  return stencil_keeps(l->m, &l->st[i], field) && launch_holds(l, field, i);
}

/* read[f][v]: does an instance of `l` read version v of field f, which an instance makes, even if only to keep it? In
 * `a`. */
static bool **versions_read(Arena *a, const Launch *l) {
  const Module *m = l->m;
  ReadMarks r = {l, 0, ARENA_ARRAY(a, bool *, m->nfields)};
  bool *unwritten = ARENA_ARRAY(a, bool, 1);
  for (int f = 0; f < m->nfields; f++)
    r.read[f] = unwritten;
  for (int k = 0; k < l->nuses; k++)
    if (l->uses[k].versions)
      r.read[l->uses[k].field] = ARENA_ARRAY(a, bool, l->uses[k].versions + 1);
  for (r.instance = 0; r.instance < l->n; r.instance++) {
    const Stencil *st = &l->st[r.instance];
    stencil_accesses(st, mark_read, &r);
    for (int i = 0; i < st->ntargets; i++)
      if (keeps_values(l, r.instance, st->targets[i]))
        r.read[st->targets[i]][launch_version(l, st->targets[i], r.instance)] = true;
  }
  return r.read;
}

/* Is the extent zero, that of the output tile itself? */
static bool extent_zero(const Extent *e, int rank) {
  for (int d = 0; d < rank; d++)
    if (e->lo[d] != 0 || e->hi[d] != 0)
      return false;
  return true;
}

bool stores_directly(const LoopTile *t, int field, int i) {
  const FieldUse *u = launch_use(t->l, field);
  int v = launch_version(t->l, field, i) + 1;
  return u->stored && v == u->versions && t->array[field][v] < 0;
}

/* Calls fn for each target of each instance that needs an array for it. The entries of versions without one are -1. */
static void each_array(LoopTile *t, bool *const *read, ArrayFn fn) {
  const Launch *l = t->l;
  for (int i = 0; i < l->n; i++)
    for (int k = 0; k < l->st[i].ntargets; k++) {
      int f = l->st[i].targets[k], v = launch_version(l, f, i) + 1;
      bool last = v == launch_use(l, f)->versions;
      if (read[f][v] || (last && launch_use(l, f)->stored && !extent_zero(&l->st[i].extent, t->rank)))
        t->array[f][v] = fn(t, i, f, v);
    }
}

/* ArrayFn: only marks that there will be an array. */
static int mark_array(LoopTile *t, int i, int field, int v) {
  (void)t, (void)i, (void)field, (void)v;
  return 0;
}

void tile_arrays(LoopTile *t, ArrayFn make) {
  const Module *m = t->l->m;
  Arena *a = arena_scratch(m->arena);
  bool **read = versions_read(a, t->l);
  int32_t *none = ARENA_ARRAY(a, int32_t, 1);
  none[0] = -1;
  t->array = ARENA_ARRAY(a, int32_t *, m->nfields);
  for (int f = 0; f < m->nfields; f++)
    t->array[f] = none;
  for (int k = 0; k < t->l->nuses; k++) {
    const FieldUse *u = &t->l->uses[k];
    t->array[u->field] = ARENA_ARRAY(a, int32_t, u->versions + 1);
    for (int v = 0; v <= u->versions; v++)
      t->array[u->field][v] = -1;
  }
  each_array(t, read, mark_array);
  each_array(t, read, make);
}
