/* extents.c: Algorithm 2 of the paper, DetermineTileSize: the region about the output tile on which each stencil
 * instance must compute its targets.
 *
 * Algorithm 2, DetermineTileSize. Backwards from the last instance: its *extent* is the hull of the needs of its
 * targets, 0 at first for all that is to be in global memory; a target that it writes completely is not needed before
 * it; what it accesses is needed on the extent moved by the offset. So extents differ by side and by dimension. Rules
 * count where they can act: mirror reaches as far to the other side, clamp back to the point itself; a periodic access
 * needs what an access without rule needs, since halo cells beyond a periodic edge are images. Temp fields are needed
 * within their step only. */
#include "passes/launch/launch.h"

/* The state of the traversal backwards: on which extent each field is needed before the instance at hand, if it `has`
 * one. `reader` is the extent of the instance whose accesses are being noted. */
typedef struct Need {
  const Module *m;
  Extent *need;
  bool *has;
  Extent reader;
} Need;

/* The larger of two. */
static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* Field `f` is needed on `x` too. */
static void add_need(Need *n, int f, const Extent *x) {
  n->has[f] = true;
  for (int d = 0; d < n->m->grid.rank; d++) {
    n->need[f].lo[d] = larger(n->need[f].lo[d], x->lo[d]);
    n->need[f].hi[d] = larger(n->need[f].hi[d], x->hi[d]);
  }
}

/* Adds what one access needs: the reader's extent moved by the offset (a stencil_accesses callback). */
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

/* The hull of the needs of the targets of `st`. */
static Extent target_extent(const Need *n, const Stencil *st) {
  Extent x = {{0}, {0}};
  for (int t = 0; t < st->ntargets; t++)
    for (int d = 0; d < n->m->grid.rank && n->has[st->targets[t]]; d++) {
      x.lo[d] = larger(x.lo[d], n->need[st->targets[t]].lo[d]);
      x.hi[d] = larger(x.hi[d], n->need[st->targets[t]].hi[d]);
    }
  return x;
}

/* Field `f` is not needed any more, going backwards: what comes next writes all of it. */
static void forget(Need *n, int f) {
  n->has[f] = false;
  n->need[f] = (Extent){{0}, {0}};
}

/* Temp fields hold nothing at the start of a step. */
static void forget_temps(Need *n) {
  for (int f = 0; f < n->m->nfields; f++)
    if (n->m->fields[f].temp)
      forget(n, f);
}

/* Is `st` a stencil of pass history that nothing but copies was added to? */
static bool only_copies(const Module *m, const Stencil *st) {
  bool copies = is_history_stencil(m, st);
  for (int t = 0; t < st->ntargets; t++)
    copies = copies && copied_field(m, st, st->targets[t]) >= 0;
  return copies;
}

/* Goes back over `st`, which computes its targets on its extent. */
static void need_operands(Need *n, const Stencil *st) {
  for (int t = 0; t < st->ntargets; t++)
    if (!stencil_keeps(n->m, st, st->targets[t]))
      forget(n, st->targets[t]);
    else
      add_need(n, st->targets[t], &st->extent);
  stencil_accesses(st, need_access, n);
}

/* Goes back over `st`, one of pass history: what a level was needed on the one that it is a copy of is needed on,
 * whatever the other targets need. */
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
