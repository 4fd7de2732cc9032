/* probes.c: turns each probe into the last stencil of the step, whose target is a field `NAME.seen` on the probe's
 * region without memory of its own (Field.series), and into an init that does the same before the first step.
 *
 *     probe rec = p at [..]     ->     stencil rec (rec.seen) = p     ->     store p, @series.rec[step % 128, point]
 *
 * The pass stands after `history`, so that older levels are those after the step. `time-tile` gives each level a field
 * of its own. Lowerings treat these like any other fields that nothing reads: the tile that owns a point stores it
 * once, and no halo value is stored. Directly after the lowering, pass `series` removes the fields: it replaces each of
 * their stores by a store to the probe's *series*, a launch-time array that kernels write, if the probe records the
 * step and a point of its list is there. The row is the step's number modulo 128 (`SERIES_ROWS`). Launches without a
 * step move from the init sequence to the probe.
 *
 * A *list of points* (`PointList`) is a hidden field of i32 on the points' region: 1 + the number of the first point of
 * the list at that place, or 0 for none. If several points may be at one place, an array holds the next one. The
 * launcher makes both from the coordinates before a run (`ir/run/points.c`). Kernels read this field only at their own
 * point, like any input field, so tiles, streaming, halos and outside rules need nothing special for it.
 *
 * An inject is a stencil from the start (`frontend/check_point.c`): on one point, or on the list's region, where it
 * chooses, by the field's value, between the old value and the value with `EXPR` added; `up to N` is N such choices one
 * after the other.
 *
 * The cost: for a single point a test of the coordinates for each point and level; for a list one read of the i32 field
 * on its region in each launch. A kernel with a probe gets the step's number, which is set in the recorded graph before
 * each replay (`cuda-steps.c`); CUDA drivers before 12 record the launches again each time (`plan-replay.c`). The code
 * for a level of a probe is that of a stencil: with streamed tiles of many steps for the CPU, compile time grows with
 * the number of probes.
 *
 * Launchers read rows from the series when the next sequence could overwrite one of them (`probes_have_room`), and at
 * the end of a run. */
#include "passes/launch/launch.h"
#include "passes/registry.h"
#include "passes/stencil/alike.h"

/* Replaces each `step` in `b` by the number of steps done: 0 before the first step (`init`), else the step's number
 * plus 1. */
static void set_steps(Arena *a, Block *b, bool init) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    if (op->code != OP_STEP)
      continue;
    Builder at = builder_before(a, op);
    Value *done = init ? build_int(&at, TY_I64, 0) : build_step(&at);
    if (!init)
      done = build2(&at, OP_ADD, done, build_int(&at, TY_I64, 1));
    block_replace_uses(b, op->results[0], done);
    op_unlink(op);
  }
}

/* The stencil (or, if `init`, the init) of probe `p`, with the target `field`. */
static Stencil probe_stencil(const Module *m, const Probe *p, int32_t field, bool init) {
  Stencil st = {.name = p->name, .ntargets = 1, .npieces = 1, .loc = p->loc};
  st.targets = ARENA_NEW(m->arena, int32_t);
  st.targets[0] = field;
  st.pieces = ARENA_NEW(m->arena, Piece);
  const Stencil *last = !init && m->nstencils ? &m->stencils[m->nstencils - 1] : NULL;
  st.group = last ? last->group : 0;
  st.stage = init ? 0 : module_last_stage(m);
  st.group += last && last->group && last->stage < st.stage;
  st.pieces[0] = (Piece){.box = p->box, .ntargets = 1, .targets = st.targets, .loc = p->loc};
  st.pieces[0].body = block_clone(m->arena, p->body, NULL, NULL);
  set_steps(m->arena, st.pieces[0].body, init);
  return st;
}

/* The length of a row of the series of probe `p`. */
static Affine row_length(const Module *m, const Probe *p) {
  const PointList *l = probe_list(m, p);
  return l ? list_extent(m, l) : affine_const(1);
}

/* Adds the field, array, init and stencil of probe number `i`. */
static void add_probe(Module *m, int i) {
  Probe *p = &m->probes[i];
  Field f = {.name = arena_printf(m->arena, "%s.seen", p->name),
             .type = p->type,
             .box = p->box,
             .series = i + 1,
             .loc = p->loc};
  for (int k = 2; module_find_field(m, f.name) >= 0; k++)
    f.name = arena_printf(m->arena, "%s.seen.%d", p->name, k);
  ParamArray a = {.name = p->name,
                  .type = p->type,
                  .extent = affine_scale(m->arena, row_length(m, p), SERIES_ROWS),
                  .role = ARRAY_SERIES,
                  .loc = p->loc};
  Stencil init = probe_stencil(m, p, m->nfields, true), step = probe_stencil(m, p, m->nfields, false);
  p->result = m->nparam_arrays;
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  ARENA_PUSH(m->arena, m->param_arrays, m->nparam_arrays, a);
  ARENA_PUSH(m->arena, m->inits, m->ninits, init);
  ARENA_PUSH(m->arena, m->stencils, m->nstencils, step);
}

/* The pass. It leaves a module unchanged that has no probes, or whose probes are stencils already. */
Module *pass_probes(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  if (!m->nprobes || m->probes[0].result >= 0)
    return m;
  if (m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "pass 'probes': the module has %d time levels already; run it before time-tile",
               m->time_tile);
    return NULL;
  }
  module_renumber(m);
  kept_own_lists(m);
  for (int i = 0; i < m->nprobes; i++)
    add_probe(m, i);
  pass_stat(c, m->nprobes, "probes", "probes written out as stencils");
  return m;
}
