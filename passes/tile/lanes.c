/* lanes.c: what warps trade where the cells of a tile stay in the registers of lanes: which versions of fields other
 * warps read rows of, how many of these, and in which arrays they are.
 *
 * Arrays take turns: a version has one that nobody reads any more when it is made, not even the instance that makes it,
 * so that a step has one barrier. */
#include "passes/tile/lanes.h"
#include "passes/tile/stream.h"

/* The work at instance `i`: last[f][v] is the last instance that reads other rows of version v of field f, -1: none. */
typedef struct Scan {
  const Launch *l;
  Lanes *x;
  int i;
  int32_t **last;
} Scan;

/* Notes an access (a stencil_accesses callback). */
static void note_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Scan *s = user;
  Rules rules = access_rules(s->l->m, &piece->box, field, off);
  Version v = launch_reads(s->l, field, s->i);
  int64_t lo, hi;
  outside_reach(rules.dim[0], off[0], &lo, &hi);
  if (v.version == 0 || (lo >= 0 && hi <= 0))
    return;
  LaneRows *r = &s->x->rows[v.field];
  s->last[v.field][v.version] = s->i;
  r->reach_lo = -lo > r->reach_lo ? (int32_t)-lo : r->reach_lo;
  r->reach_hi = hi > r->reach_hi ? (int32_t)hi : r->reach_hi;
}

/* Gives version `v` of field `f`, which instance `i` makes, an array: busy[k] is the last instance that reads array k.
 */
static void choose_array(const Scan *s, int f, int v, int i, int32_t *busy) {
  LaneRows *r = &s->x->rows[f];
  int k = 0;
  r->array[v] = -1;
  if (s->last[f][v] < 0)
    return;
  while (k < r->arrays && busy[k] >= i)
    k++;
  r->arrays += k == r->arrays;
  busy[k] = s->last[f][v];
  r->array[v] = k;
}

const Lanes *lanes_new(const Launch *l) {
  Arena *a = l->m->arena;
  Lanes *x = ARENA_NEW(a, Lanes);
  Scan s = {.l = l, .x = x, .last = ARENA_ARRAY(a, int32_t *, l->m->nfields + 1)};
  *x = (Lanes){l, ARENA_ARRAY(a, LaneRows, l->m->nfields + 1)};
  for (int f = 0; f < l->m->nfields; f++) {
    s.last[f] = ARENA_ARRAY(a, int32_t, l->use[f].versions + 1);
    for (int v = 0; v <= l->use[f].versions; v++)
      s.last[f][v] = -1;
  }
  for (s.i = 0; s.i < l->n; s.i++)
    stencil_accesses(&l->st[s.i], note_access, &s);
  for (int f = 0; f < l->m->nfields; f++) {
    int32_t *busy = ARENA_ARRAY(a, int32_t, l->use[f].versions + 1);
    x->rows[f].array = ARENA_ARRAY(a, int32_t, l->use[f].versions + 1);
    x->rows[f].array[0] = -1;
    for (int v = 1; v <= l->use[f].versions; v++)
      choose_array(&s, f, v, l->writer[l->first_write[f] + v - 1], busy);
  }
  return x;
}
