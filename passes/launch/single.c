/* single.c: makes launches of one stencil each, for inits and for family naive, and lists the swaps of buffers after a
 * launch. */
#include "passes/launch/launch.h"

/* Marks a field as read (a stencil_accesses callback). */
static void mark_read(void *user, const Piece *piece, int field, const int64_t *off) {
  bool *reads = user;
  (void)piece, (void)off;
  reads[field] = true;
}

Launch **init_launches(const Module *m) {
  Stencil *own = repeat_levels(m, m->ninits, m->inits, 1, false);
  Launch **l = ARENA_ARRAY(m->arena, Launch *, m->ninits);
  for (int i = 0; i < m->ninits; i++) {
    l[i] = init_launch_new(m, &own[i]);
    if (own[i].ntargets == 1)
      continue;
    bool *reads = ARENA_ARRAY(m->arena, bool, m->nfields);
    stencil_accesses(&own[i], mark_read, reads);
    for (int t = 0; t < own[i].ntargets; t++)
      launch_use(l[i], own[i].targets[t])->paired |= reads[own[i].targets[t]];
  }
  return l;
}

int launch_swaps(const Launch *l, LaunchSwap **swaps) {
  const Module *m = l->m;
  int n = 0, oldest = 0;
  *swaps = NULL;
  for (int k = 0; k < l->nuses; k++)
    if (l->uses[k].from >= 0 && m->fields[l->uses[k].field].past > oldest)
      oldest = m->fields[l->uses[k].field].past;
  for (int past = oldest; past > 0; past--)
    for (int k = 0; k < l->nuses; k++) {
      const FieldUse *u = &l->uses[k];
      if (m->fields[u->field].past == past && u->from >= 0)
        ARENA_PUSH(m->arena, *swaps, n, ((LaunchSwap){u->field, u->from, 0}));
    }
  for (int k = 0; k < l->nuses; k++) {
    const FieldUse *u = &l->uses[k];
    if (u->paired && u->into < 0 && !u->back)
      ARENA_PUSH(m->arena, *swaps, n, ((LaunchSwap){u->field, u->field, 1}));
  }
  return n;
}

Launch **naive_launches(const Module *m, int n, const Stencil *st, int *count) {
  Stencil *own = repeat_levels(m, n, st, 1, false);
  Launch **l = ARENA_ARRAY(m->arena, Launch *, n);
  *count = 0;
  for (int i = 0, k; i < n; i += k) {
    for (k = 1; i + k < n && is_history_stencil(m, &own[i + k - 1]) && own[i + k].stage == own[i].stage;)
      k++;
    if (k == 1 && i + 1 < n && own[i].sweep && own[i + 1].sweep) {
      l[*count] = launch_new(m, 2, own + i, own, own + n);
      k = l[*count]->illegal ? 1 : 2;
    }
    l[*count] = k == 2 && own[i].sweep ? l[*count] : launch_new(m, k, own + i, own, own + n);
    if (l[*count]->n != 1 && !own[i].sweep) {
      k = 1;
      l[*count] = launch_new(m, 1, own + i, own, own + n);
    }
    ++*count;
  }
  return l;
}
