/* interp-probe.c: probes in the reference: evaluates them at the points of their lists, one after the other. */
#include "ir/interp/interp.h"

void interp_start_probes(Interp *in) {
  int64_t most = 1;
  in->probe_bodies = ARENA_ARRAY(in->arena, InterpBody, in->m->nprobes + 1);
  for (int i = 0; i < in->m->nprobes; i++) {
    int64_t n = list_length(in->m, probe_list(in->m, &in->m->probes[i]), in->b->scalars);
    most = n > most ? n : most;
    in->probe_bodies[i] = interp_translate(in, in->m->probes[i].body);
  }
  in->probe_values = arena_alloc(in->arena, (size_t)most * sizeof(Const));
}

/* Computes the coordinates of point number `n` of probe `p`. False after reporting that they are outside of its box. */
static bool place(Interp *in, const Probe *p, int64_t n, int64_t at[MAX_RANK]) {
  const PointList *l = probe_list(in->m, p);
  if (!l) {
    InterpRegion r = interp_region(in, &p->box);
    for (int k = 0; k < in->rank; k++)
      at[k] = r.lo[k];
    return true;
  }
  if (list_point(in->m, l, in->b->scalars, in->b->param_arrays, n, at) >= 0)
    return true;
  diag_error(in->d, l->loc, "probe '%s': point number %lld of its list is outside of its region", p->name,
             (long long)n);
  return false;
}

/* Evaluates `p` at all its points. */
static bool evaluate(Interp *in, const Probe *p, const InterpBody *body) {
  int64_t n = list_length(in->m, probe_list(in->m, p), in->b->scalars), at[MAX_RANK];
  in->probe = p;
  interp_start_body(in, body);
  for (int64_t i = 0; i < n; i++) {
    if (!place(in, p, i, at) || !interp_run_body(in, body, at, 1))
      return false;
    exec_put(p->type, in->probe_values, i, in->rows[(size_t)body->yield[0][0] * CHUNK]);
  }
  in->probe = NULL;
  in->b->probed(in->b->user, p, in->step, in->probe_values);
  return true;
}

bool interp_probe(Interp *in) {
  for (int i = 0; in->b->probed && i < in->m->nprobes; i++)
    if (in->step % in->m->probes[i].every == 0 && !evaluate(in, &in->m->probes[i], &in->probe_bodies[i]))
      return false;
  return true;
}
