/* extents.c: Algorithm 2 of the paper, DetermineTileSize: computes the region around the output tile on which each
 * stencil instance must compute its targets, its *extent*.
 *
 * The algorithm goes backwards from the last instance. The extent of an instance is the hull of the extents on which
 * its targets are needed; at first that is 0 for all targets that must be in global memory. A target that an instance
 * writes completely is not needed before it. A field that the instance accesses is needed on the instance's extent
 * moved by the offset. So extents differ by side and by dimension. Outside rules count where they can act: mirror
 * reaches as far to the other side, clamp back to the point itself. A periodic access needs the same cells as an access
 * without a rule, because halo cells beyond a periodic edge are images. Temp fields are needed within their step
 * only. */
#include "passes/launch/launch.h"

/* The state of the backward traversal. need[f]: the extent on which field f is needed before the current instance, if
 * has[f]. reader: the extent of the instance whose accesses are processed. */
typedef struct Need {
  const Module *m;
  Extent *need;
  bool *has;
  Extent reader;
} Need;

/* Adds that field `f` is needed on `x`. */
static void add_need(Need *n, int f, const Extent *x) {
  n->has[f] = true;
  for (int d = 0; d < n->m->grid.rank; d++) {
    n->need[f].lo[d] = larger(n->need[f].lo[d], x->lo[d]);
    n->need[f].hi[d] = larger(n->need[f].hi[d], x->hi[d]);
  }
}

/* Adds that the accessed field is needed on the reader's extent moved by the offset (a stencil_accesses callback). */
static void need_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Need *n = user;
  Rules rules = access_rules(n->m, &piece->box, field, off);
  Extent x = {{0}, {0}};
  for (int d = 0; d < n->m->grid.rank; d++) {
    int64_t lo, hi;
    outside_reach(rules.dim[d], off[d], &lo, &hi);
    x.lo[d] = n->reader.lo[d] - lo;
    x.hi[d] = n->reader.hi[d] + hi;
  }
  add_need(n, field, &x);
}

/* The hull of the extents on which the targets of `st` are needed. */
static Extent target_extent(const Need *n, const Stencil *st) {
  Extent x = {{0}, {0}};
  for (int t = 0; t < st->ntargets; t++)
    for (int d = 0; d < n->m->grid.rank && n->has[st->targets[t]]; d++) {
      x.lo[d] = larger(x.lo[d], n->need[st->targets[t]].lo[d]);
      x.hi[d] = larger(x.hi[d], n->need[st->targets[t]].hi[d]);
    }
  return x;
}

/* Notes that field `f` is not needed earlier: the next instance backwards writes all of it. */
static void forget(Need *n, int f) {
  n->has[f] = false;
  n->need[f] = (Extent){{0}, {0}};
}

/* Forgets all temp fields, which hold nothing at the start of a step. */
static void forget_temps(Need *n) {
  for (int f = 0; f < n->m->nfields; f++)
    if (n->m->fields[f].temp)
      forget(n, f);
}

/* Is `st` a stencil of pass history, with copies only? */
static bool only_copies(const Module *m, const Stencil *st) {
  bool copies = is_history_stencil(m, st);
  for (int t = 0; t < st->ntargets; t++)
    copies = copies && copied_field(m, st, st->targets[t]) >= 0;
  return copies;
}

/* Processes `st` backwards; its targets are computed on its extent. */
static void need_operands(Need *n, const Stencil *st) {
  for (int t = 0; t < st->ntargets; t++)
    if (!stencil_keeps(n->m, st, st->targets[t]))
      forget(n, st->targets[t]);
    else
      add_need(n, st->targets[t], &st->extent);
  stencil_accesses(st, need_access, n);
}

/* Processes `st`, a stencil of copies, backwards: each level passes its extent on to the field that it copies,
 * independently of the other targets. */
static void need_levels(Need *n, const Stencil *st) {
  Extent *need = ARENA_ARRAY(n->m->arena, Extent, st->ntargets);
  bool *has = ARENA_ARRAY(n->m->arena, bool, st->ntargets);
  for (int t = 0; t < st->ntargets; t++) {
    need[t] = n->need[st->targets[t]];
    has[t] = n->has[st->targets[t]];
    forget(n, st->targets[t]);
  }
  for (int t = 0; t < st->ntargets; t++)
    if (has[t])
      add_need(n, copied_field(n->m, st, st->targets[t]), &need[t]);
}

void halo_compute(const Module *m, int n, Stencil *st, const Stencil *end, Extent *need, bool *has) {
  Need state = {.m = m, .need = need, .has = has};
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  const bool *wanted = temps_wanted(scratch, m, st + n, end);
  for (int f = 0; f < m->nfields; f++)
    forget(&state, f);
  for (int i = 0; i < n; i++)
    for (int t = 0; t < st[i].ntargets; t++)
      has[st[i].targets[t]] = !m->fields[st[i].targets[t]].temp || wanted[st[i].targets[t]];
  for (int i = n - 1; i >= 0; i--) {
    if (i + 1 < n && st[i].level != st[i + 1].level)
      forget_temps(&state);
    st[i].extent = state.reader = target_extent(&state, &st[i]);
    st[i].has_extent = true;
    (only_copies(m, &st[i]) ? need_levels : need_operands)(&state, &st[i]);
  }
  forget_temps(&state);
  arena_release(scratch, start);
}

void launch_halo(const Module *m, int k, Stencil *st, const Stencil *end) {
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  halo_compute(m, k, st, end, ARENA_ARRAY(scratch, Extent, m->nfields), ARENA_ARRAY(scratch, bool, m->nfields));
  arena_release(scratch, start);
}

void groups_halo(const Module *m, int n, Stencil *st) {
  for (int i = 0, k; i < n; i += k) {
    k = group_length(n - i, st + i);
    launch_halo(m, k, st + i, st + n);
  }
}
