/* interp-step.c: one step in the reference: its stencils and updates in order, and the rounds of its repeats. */
#include "ir/interp/interp.h"

#include <string.h>

/* The stage of the next stencil of `level`; INT32_MAX: there is none. */
static int32_t next_stencil(const Interp *in, StepCode *s, int level) {
  const Module *m = in->m;
  while (s->i < m->nstencils && (m->stencils[s->i].level != level || interp_is_probe(in, &m->stencils[s->i])))
    s->i++;
  return s->i < m->nstencils ? m->stencils[s->i].stage : INT32_MAX;
}

/* The stage of the next update; INT32_MAX: there is none. */
static int32_t next_update(const Interp *in, const StepCode *s) {
  return s->next < in->m->nupdates ? in->m->updates[s->next].stage : INT32_MAX;
}

void interp_forget_temps(Interp *in, int r) {
  const Module *m = in->m;
  for (int i = 0; i < m->nfields && r < 0; i++)
    if (in->fields[i].written)
      memset(in->fields[i].written, 0, (size_t)in->fields[i].points);
  for (int i = 0; i < m->nstencils && r >= 0; i++)
    for (int t = 0; t < m->stencils[i].ntargets && repeat_is_in(m, repeat_of(m, m->stencils[i].stage), r); t++) {
      FieldState *f = &in->fields[m->stencils[i].targets[t]];
      if (f->written)
        memset(f->written, 0, (size_t)f->points);
    }
}

static bool run_stages(Interp *in, StepCode *s, int level, int around, int32_t last);

/* Skips the stencils and updates whose stage is at most `last`. */
static void skip(const Interp *in, StepCode *s, int level, int32_t last) {
  while (next_stencil(in, s, level) <= last)
    s->i++;
  while (next_update(in, s) <= last)
    s->next++;
}

/* Makes the rounds of repeat `r`. */
static bool run_repeat(Interp *in, StepCode *s, int level, int r) {
  const Repeat *x = &in->m->repeats[r];
  int64_t most = affine_eval(x->most, in->b->scalars, NULL), done = 0;
  StepCode start = *s;
  bool ends = false;
  while (done < most && !ends) {
    *s = start;
    interp_forget_temps(in, r);
    bool tile = x->tile && module_steps_to_stop(in->m, r + 1, done, most - done) >= x->tile;
    if (x->tile && !tile)
      skip(in, s, level, x->last - 1);
    if (!run_stages(in, s, level, r, tile ? x->last - 1 : x->last))
      return false;
    done += tile ? x->tile : 1;
    if (!interp_reduce(in, s->reductions, r + 1, done, &ends))
      return false;
  }
  skip(in, s, level, x->last);
  if (in->b->repeated)
    in->b->repeated(in->b->user, r, in->step, done, ends);
  return true;
}

/* Runs the next stencils and updates whose stage is at most `last`, in repeat `around` (-1: the step). */
static bool run_stages(Interp *in, StepCode *s, int level, int around, int32_t last) {
  for (;;) {
    int32_t stencil = next_stencil(in, s, level), update = next_update(in, s),
            stage = update <= stencil ? update : stencil;
    if (stage > last || stage == INT32_MAX)
      return true;
    int r = repeat_outermost(in->m, stage, around);
    if (r != around) {
      if (!run_repeat(in, s, level, r))
        return false;
    } else if (update <= stencil) {
      if (!interp_update(in, s->updates, update, &s->next))
        return false;
    } else {
      const StencilCode *code = &s->stencils[s->i++];
      bool due = !code->stencil->every || in->step % code->stencil->every == 0;
      if (due && !interp_stencil(in, code))
        return false;
    }
  }
}

bool interp_step(Interp *in, StepCode *s, int level) {
  s->i = s->next = 0;
  interp_forget_temps(in, -1);
  return run_stages(in, s, level, -1, INT32_MAX);
}
