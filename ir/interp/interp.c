/* interp.c: the reference: executes stencil IR literally. It defines the correct result: there are no tiles, points
 * have no order, every stencil writes to fresh arrays. */
#include "ir/interp/interp.h"

/* ---- preparation */

/* Checks that each target of each piece has a cell for every point of the piece. */
static bool check_targets(Interp *in, const Stencil *s, const PieceCode *code) {
  const int64_t *lo = code->region.lo, *hi = code->region.hi;
  for (int i = 0; i < code->piece->ntargets; i++) {
    const FieldState *f = &in->fields[code->piece->targets[i]];
    bool empty = false, leaves = false;
    for (int k = 0; k < in->rank; k++) {
      empty = empty || hi[k] < lo[k];
      leaves = leaves || lo[k] < f->lo[k] || hi[k] > f->hi[k];
    }
    if (empty || !leaves)
      continue;
    diag_error(in->d, code->piece->loc, "stencil '%s' computes '%s' on %s, outside the field's region %s", s->name,
               f->field->name, interp_region_text(in, lo, hi), interp_region_text(in, f->lo, f->hi));
    return false;
  }
  return true;
}

/* The reference evaluates probes itself, and so skips stencils of pass probes. */
bool interp_is_probe(const Interp *in, const Stencil *s) {
  return s->ntargets == 1 && in->m->fields[s->targets[0]].series;
}

/* Translates the `n` stencils at `s` and allocates memory for the old values of their targets. NULL after an error. */
static StencilCode *translate(Interp *in, int n, const Stencil *s) {
  StencilCode *codes = ARENA_ARRAY(in->arena, StencilCode, n + 1);
  for (int i = 0; i < n; i++) {
    codes[i].stencil = &s[i];
    if (interp_is_probe(in, &s[i]))
      continue;
    codes[i].pieces = ARENA_ARRAY(in->arena, PieceCode, s[i].npieces + 1);
    for (int k = 0; k < s[i].ntargets; k++)
      interp_keep_old(in, s[i].targets[k]);
    for (int k = 0; k < s[i].npieces; k++) {
      const Piece *p = &s[i].pieces[k];
      codes[i].pieces[k] = (PieceCode){in, p, interp_region(in, &p->box), interp_translate(in, p->body)};
      if (!check_targets(in, &s[i], &codes[i].pieces[k]))
        return NULL;
    }
  }
  return codes;
}

/* Translates the bodies of all reductions. */
static InterpBody *translate_reductions(Interp *in) {
  InterpBody *bodies = ARENA_ARRAY(in->arena, InterpBody, in->m->nreductions + 1);
  for (int i = 0; i < in->m->nreductions; i++)
    bodies[i] = interp_translate(in, in->m->reductions[i].body);
  if (in->m->nreductions + in->m->nupdates)
    in->sums = ARENA_ARRAY(in->arena, Const, REDUCE_BLOCKS + REDUCE_LANES);
  return bodies;
}

/* Translates the bodies of all updates. */
static InterpBody *translate_updates(Interp *in) {
  InterpBody *bodies = ARENA_ARRAY(in->arena, InterpBody, in->m->nupdates + 1);
  for (int i = 0; i < in->m->nupdates; i++)
    bodies[i] = interp_translate(in, in->m->updates[i].body);
  return bodies;
}

/* Checks that every launch-time array with elements is given. */
static bool check_arrays(Interp *in) {
  for (int i = 0; i < in->m->nparam_arrays; i++) {
    const ParamArray *p = &in->m->param_arrays[i];
    if (p->role == ARRAY_SERIES || !param_array_extent(p, in->b->scalars) ||
        (in->b->param_arrays && in->b->param_arrays[i]))
      continue;
    diag_error(in->d, p->loc, "launch-time array '%s' has no values", p->name);
    return false;
  }
  return true;
}

/* ---- execution */

/* Computes the `n` points from `p` on and writes the targets (an interp_each callback). */
static bool run_chunk(void *user, const int64_t *p, int n) {
  const PieceCode *code = user;
  Interp *in = code->in;
  if (!interp_run_body(in, &code->body, p, n))
    return false;
  for (int t = 0; t < code->piece->ntargets; t++) {
    int target = code->piece->targets[t];
    if (!in->skip || !in->skip[target])
      interp_write(in, &in->fields[target], code->body.yield[t], p, n);
  }
  return true;
}

/* Runs the pieces of a sweep: layer after layer, with the piece that contains the layer. */
static bool run_sweep(Interp *in, const StencilCode *code) {
  const Stencil *s = code->stencil;
  bool ok = true;
  for (int i = 0; ok && i < s->npieces; i++) {
    InterpRegion layer = code->pieces[i].region;
    int64_t lo = layer.lo[s->along], hi = layer.hi[s->along];
    interp_start_body(in, &code->pieces[i].body);
    for (int64_t k = 0; ok && k <= hi - lo; k++) {
      layer.lo[s->along] = layer.hi[s->along] = s->sweep > 0 ? lo + k : hi - k;
      ok = interp_each(in, &layer, run_chunk, &code->pieces[i]);
    }
  }
  return ok;
}

/* Runs the pieces of a stencil that is no sweep; they have no order. */
static bool run_pieces(Interp *in, const StencilCode *code) {
  bool ok = true;
  for (int i = 0; ok && i < code->stencil->npieces; i++) {
    interp_start_body(in, &code->pieces[i].body);
    ok = interp_each(in, &code->pieces[i].region, run_chunk, &code->pieces[i]);
  }
  return ok;
}

/* Sets the old arrays of the targets aside; all pieces read those. */
bool interp_stencil(Interp *in, const StencilCode *code) {
  const Stencil *s = code->stencil;
  in->stencil = s;
  for (int i = 0; i < s->ntargets; i++) {
    FieldState *f = &in->fields[s->targets[i]];
    f->changing = true;
    if (f->points)
      memcpy(f->old, f->now, (size_t)(f->points * f->bytes));
    if (f->written)
      memcpy(f->old_written, f->written, (size_t)f->points);
  }
  bool ok = (s->sweep ? run_sweep : run_pieces)(in, code);
  for (int i = 0; i < s->ntargets; i++)
    in->fields[s->targets[i]].changing = false;
  if (ok && in->tape)
    tape_stencil(in, code);
  return ok;
}

/* Runs, in order, those of the `n` inits for which Stencil.once is `once`. */
static bool run_list(Interp *in, int n, const StencilCode *codes, bool once) {
  interp_forget_temps(in, -1);
  for (int i = 0; i < n; i++)
    if (codes[i].stencil->once == once && !interp_is_probe(in, codes[i].stencil))
      if (!interp_stencil(in, &codes[i]))
        return false;
  return true;
}

/* Runs the inits, and fills the pasts before the first step. */
static bool run_inits(Interp *in, const StencilCode *inits, const bool *skip_init) {
  in->skip = skip_init;
  bool ok = run_list(in, in->m->ninits, inits, false);
  if (ok)
    interp_fill_pasts(in);
  if (ok && in->tape)
    tape_begin(in);
  in->skip = NULL;
  return ok;
}

/* Makes at most `steps` steps, with the reductions between them; fewer if one of them ends the run. */
static bool run_steps(Interp *in, StepCode *step, int64_t steps) {
  int tile = in->m->time_tile > 0 ? in->m->time_tile : 1;
  bool stop = false;
  bool begins = !in->b->evaluated && (in->step == 0 || in->b->begins);
  if (in->b->see)
    return interp_probe(in);
  if (begins && in->step == 0 && !interp_probe(in))
    return false;
  if (begins && !interp_reduce(in, step->reductions, 0, in->step, &stop))
    return false;
  if (in->tape && !tape_losses(in, steps))
    return false;
  for (int64_t s = 0; s < steps && !stop; s++) {
    interp_keep_start(in);
    if (!interp_step(in, step, (int)(s % tile)))
      return false;
    if (in->tape)
      tape_move_on(in);
    interp_move_on(in);
    in->b->done = s + 1;
    in->step++;
    if (!interp_probe(in) || !interp_reduce(in, step->reductions, 0, in->step, &stop) ||
        (in->tape && !tape_losses(in, steps)))
      return false;
    stop |= in->b->done % tile == 0 && stop_asked(in->b->stop);
  }
  return true;
}

bool interp_start(Interp *in, int64_t steps, bool with_inits, const bool *skip_init) {
  const Module *m = in->m;
  in->rank = m->grid.rank;
  in->step = in->b->first_step;
  in->b->done = 0;
  in->b->torn = false;
  if (!check_arrays(in) || !interp_fields(in))
    return false;
  StencilCode *inits = translate(in, m->ninits, m->inits);
  StencilCode *stencils = inits ? translate(in, m->nstencils, m->stencils) : NULL;
  if (!stencils)
    return false;
  StepCode step = {.stencils = stencils, .updates = translate_updates(in), .reductions = translate_reductions(in)};
  interp_start_probes(in);
  in->rows = ARENA_ARRAY(in->arena, Const, (size_t)(in->max_rows + 1) * CHUNK);
  return (!with_inits || run_inits(in, inits, skip_init)) && run_list(in, m->ninits, inits, true) &&
         run_steps(in, &step, steps);
}

bool interp_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, Diags *d) {
  if (m->level != LEVEL_SIR) {
    diag_error(d, no_loc(), "the reference runs stencil IR, and module '%s' is kernel IR: use --device=sim", m->name);
    return false;
  }
  jmp_buf oom;
  Arena *arena = arena_new(NULL, NULL);
  if (!arena || setjmp(oom)) {
    diag_error(d, no_loc(), "out of memory for the reference's arrays");
    if (arena)
      arena_free(arena);
    return false;
  }
  arena_on_oom(arena, &oom);
  Interp in = {.arena = arena, .m = m, .b = b, .d = d};
  bool ok = interp_start(&in, steps, run_inits, skip_init);
  arena_free(arena);
  return ok;
}

bool interp_update_alone(const Module *m, int update, Const *scalars, void *const *arrays, int64_t step, Const *value,
                         Diags *d) {
  Module alone = *m;
  Update u = m->updates[update];
  int64_t n = u.each ? grid_members(m, scalars) : 1;
  void *own[m->nparam_arrays + 1];
  u.stage = 1;
  alone.nfields = alone.ninits = alone.nstencils = alone.nreductions = alone.nrepeats = alone.nprobes = 0;
  alone.nupdates = 1;
  alone.updates = &u;
  for (int i = 0; i < m->nparam_arrays; i++)
    own[i] = arrays[i];
  memcpy(value, arrays[u.state], (size_t)n * sizeof *value);
  own[u.state] = value;
  Binding b = {.scalars = scalars, .param_arrays = own, .first_step = step, .evaluated = true};
  return interp_run(&alone, &b, 1, false, NULL, d);
}
