/* tape.c: records a run of the reference, and computes from it, backwards, the derivatives of the losses. They are the
 * reference for the programs that pass transpose makes, and are implemented independently of that pass.
 *
 * While the program runs, the tape records for each stencil the values of its targets before it, and for each step the
 * oldest levels, which are lost at its end. So the run can be undone event by event, from its end: the fields become
 * what they were before the stencil, its bodies run again at all points, and the adjoints of their results are
 * propagated, op by op, to what they read (tape-body.c). This scatters, where the program gathers. Adjoints are f64,
 * whatever type the program computes in: they are the derivatives of the program without its roundings, at the values
 * that it computes. */
#include "ir/interp/interp.h"

typedef enum EventKind { EVENT_STENCIL, EVENT_UPDATE, EVENT_REDUCE, EVENT_MOVE, EVENT_LOSSES, EVENT_BEGIN } EventKind;

/* An event. STENCIL: `code` ran in step `step`; old[i] is the former value of its target number i; given: fields that
 * the init did not change, NULL: none. UPDATE: `update`, whose body is `body`, was made in step `step`. REDUCE:
 * `reduction` was evaluated after `step` steps; `value` is the former value of its scalar. states (of STENCIL, UPDATE
 * and LOSSES): by launch-time array, the former values of the numbers that steps update. MOVE: the levels rotated;
 * old[f] is the oldest level of field f. LOSSES: `step` steps are done, and the losses that are due are evaluated.
 * BEGIN: the inits have run, and the other levels have been filled. */
typedef struct Event {
  EventKind kind;
  const StencilCode *code;
  const Update *update;
  const Reduction *reduction;
  Const value;
  const InterpBody *body;
  int64_t step;
  const bool *given;
  char **old;
  int64_t **states;
} Event;

typedef struct Tape {
  int n;
  Event *events;
  int64_t last;       /* the number of steps that are to be made */
  InterpBody *bodies; /* of the losses */
  double *sums;       /* the sum of each loss so far */
  /* backwards */
  Bars bars;
  double **starts; /* by field: the adjoints of its value at the start of the current step, besides those of the field
                      itself */
  double *rows;
  double *const *out; /* the requested derivatives, by Module.by */
  bool *taken;        /* whether each of them is complete */
} Tape;

/* ---- forward */

/* A copy of the whole array `from` of field `f`. */
static char *copy_of(Interp *in, const FieldState *f, const char *from) {
  size_t n = (size_t)(f->points * f->bytes);
  char *to = arena_alloc(in->arena, n + 1);
  if (n)
    memcpy(to, from, n);
  return to;
}

/* The number of elements of launch-time array `i`. */
static int64_t elements(const Interp *in, int i) { return param_array_extent(&in->m->param_arrays[i], in->b->scalars); }

/* keep_states: saves in `e` the numbers that steps update. put_states: restores them. */
static void keep_states(Interp *in, Event *e) {
  const Module *m = in->m;
  e->states = ARENA_ARRAY(in->arena, int64_t *, m->nparam_arrays + 1);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE) {
      e->states[i] = ARENA_ARRAY(in->arena, int64_t, elements(in, i) + 1);
      memcpy(e->states[i], in->b->param_arrays[i], (size_t)elements(in, i) * sizeof *e->states[i]);
    }
}
static void put_states(Interp *in, const Event *e) {
  for (int i = 0; i < in->m->nparam_arrays; i++)
    if (in->m->param_arrays[i].role == ARRAY_STATE)
      memcpy(in->b->param_arrays[i], e->states[i], (size_t)elements(in, i) * sizeof *e->states[i]);
}

/* Adds an event. */
static Event *add_event(Interp *in, EventKind kind) {
  Tape *t = in->tape;
  Event e = {.kind = kind, .step = in->step};
  if ((kind == EVENT_STENCIL || kind == EVENT_UPDATE || kind == EVENT_REDUCE || kind == EVENT_LOSSES) &&
      module_state(in->m))
    keep_states(in, &e);
  ARENA_PUSH(in->arena, t->events, t->n, e);
  return &t->events[t->n - 1];
}

void tape_stencil(Interp *in, const StencilCode *code) {
  Event *e = add_event(in, EVENT_STENCIL);
  e->code = code;
  e->given = in->skip;
  e->old = ARENA_ARRAY(in->arena, char *, code->stencil->ntargets + 1);
  for (int i = 0; i < code->stencil->ntargets; i++) {
    const FieldState *f = &in->fields[code->stencil->targets[i]];
    e->old[i] = copy_of(in, f, f->old);
  }
}

void tape_update(Interp *in, const Update *u, const InterpBody *body) {
  Event *e = add_event(in, EVENT_UPDATE);
  e->update = u;
  e->body = body;
}

void tape_reduce(Interp *in, const Reduction *r, const InterpBody *body) {
  Event *e = add_event(in, EVENT_REDUCE);
  e->reduction = r;
  e->value = in->b->scalars[r->scalar];
  e->body = body;
}

void tape_move_on(Interp *in) {
  Event *e = add_event(in, EVENT_MOVE);
  e->old = ARENA_ARRAY(in->arena, char *, in->m->nfields + 1);
  for (int i = 0; i < in->m->nfields; i++) {
    const FieldState *f = &in->fields[i];
    if (f->start)
      e->old[i] = copy_of(in, f, f->pasts[f->field->history - 1]->now);
  }
}

void tape_begin(Interp *in) { add_event(in, EVENT_BEGIN)->given = in->skip; }

bool tape_losses(Interp *in, int64_t last) {
  Tape *t = in->tape;
  const Module *m = in->m;
  if (!t->bodies) {
    t->bodies = ARENA_ARRAY(in->arena, InterpBody, m->nlosses + 1);
    for (int i = 0; i < m->nlosses; i++)
      t->bodies[i] = interp_translate(in, m->losses[i].body);
    in->rows = ARENA_ARRAY(in->arena, Const, (size_t)(in->max_rows + 1) * CHUNK);
    in->sums = in->sums ? in->sums : ARENA_ARRAY(in->arena, Const, REDUCE_BLOCKS + REDUCE_LANES);
  }
  t->last = last;
  add_event(in, EVENT_LOSSES);
  for (int i = 0; i < m->nlosses; i++) {
    const Loss *l = &m->losses[i];
    Reduction r = {.name = l->name, .op = OP_ADD, .type = TY_F64, .over = l->over};
    Const value;
    if (!loss_is_due(l, in->step, last))
      continue;
    if (!interp_total(in, &r, &t->bodies[i], -1, &value))
      return false;
    t->sums[i] += value.f;
  }
  return true;
}

/* ---- backwards */

static int64_t numbers(const FieldState *f) { return f->points * f->ncomponents; }

/* Stores the derivatives with respect to number `i` of Module.by, unless that is done. */
static void take(Interp *in, int i) {
  Tape *t = in->tape;
  const By *x = &in->m->by[i];
  if (t->taken[i])
    return;
  t->taken[i] = true;
  const double *from = x->kind == BY_FIELD ? t->bars.field[x->index] : t->bars.array[x->index];
  int64_t n = x->kind == BY_FIELD ? numbers(&in->fields[x->index])
                                  : param_array_extent(&in->m->param_arrays[x->index], in->b->scalars);
  if (n > 0)
    memcpy(t->out[i], from, (size_t)n * sizeof *from);
}

/* If an element of Module.by is field `field`, stores the derivatives with respect to it. */
static void take_field(Interp *in, int field) {
  for (int i = 0; i < in->m->nby; i++)
    if (in->m->by[i].kind == BY_FIELD && in->m->by[i].index == field)
      take(in, i);
}

/* The source of the adjoints of a piece or loss that is processed: for each yielded value, the adjoints of a field
 * before the stencil was undone (NULL: none); for a loss, `factor`. */
typedef struct Source {
  Interp *in;
  const InterpBody *body;
  int n;
  const FieldState **fields;
  double *const *before;
  double factor;
  Seed *seeds;
} Source;

/* The number of the cell of point `p` of field `f`. */
static int64_t cell_of(const FieldState *f, const int64_t *p) {
  int64_t cell = 0;
  for (int k = 0; k < f->rank; k++)
    cell += (p[k] - f->lo[k]) * f->stride[k];
  return cell;
}

/* Runs the body at the `n` points from `p` on and propagates the adjoints of its results (an interp_each callback). */
static bool pull_chunk(void *user, const int64_t *p, int n) {
  const Source *s = user;
  if (!interp_run_body(s->in, s->body, p, n))
    return false;
  for (int v = 0; v < s->n; v++)
    for (int c = 0; c < s->seeds[v].n; c++)
      for (int i = 0; i < n; i++)
        s->seeds[v].at[c * CHUNK + i] =
            !s->fields     ? s->factor
            : s->before[v] ? s->before[v][(cell_of(s->fields[v], p) + i) * s->fields[v]->ncomponents + c]
                           : 0;
  tape_pull(s->in, s->body, p, n, s->n, s->seeds, s->in->tape->rows, &s->in->tape->bars);
  return true;
}

/* Clears the adjoints of the targets on a piece. */
typedef struct Clearing {
  Interp *in;
  const double *const *before;
  const FieldState *f;
  double *bar;
} Clearing;
static bool clear_chunk(void *user, const int64_t *p, int n) {
  const Clearing *c = user;
  memset(c->bar + cell_of(c->f, p) * c->f->ncomponents, 0, sizeof(double) * (size_t)(n * c->f->ncomponents));
  return true;
}

/* Processes one piece; before[i] are the adjoints of target number i of the stencil, NULL if the target was given. */
static bool pull_piece(Interp *in, const Stencil *st, const PieceCode *code, double *const *before) {
  const Piece *p = code->piece;
  Source s = {.in = in, .body = &code->body, .n = p->ntargets};
  s.fields = ARENA_ARRAY(in->arena, const FieldState *, p->ntargets + 1);
  s.seeds = ARENA_ARRAY(in->arena, Seed, p->ntargets + 1);
  double **from = ARENA_ARRAY(in->arena, double *, p->ntargets + 1);
  for (int v = 0; v < p->ntargets; v++) {
    s.fields[v] = &in->fields[p->targets[v]];
    s.seeds[v].n = s.fields[v]->ncomponents;
    s.seeds[v].at = ARENA_ARRAY(in->arena, double, s.seeds[v].n *CHUNK);
    for (int i = 0; i < st->ntargets; i++)
      if (st->targets[i] == p->targets[v])
        from[v] = before[i];
  }
  s.before = from;
  interp_start_body(in, s.body);
  return interp_each(in, &code->region, pull_chunk, &s);
}

/* Undoes a stencil and processes its pieces. */
static bool pull_stencil(Interp *in, const Event *e) {
  const Stencil *st = e->code->stencil;
  Tape *t = in->tape;
  double **before = ARENA_ARRAY(in->arena, double *, st->ntargets + 1);
  bool ok = true;
  in->stencil = st;
  in->step = e->step;
  for (int i = 0; i < st->ntargets; i++) {
    FieldState *f = &in->fields[st->targets[i]];
    double *bar = t->bars.field[st->targets[i]];
    if (e->given && e->given[st->targets[i]])
      continue;
    if (f->points)
      memcpy(f->now, e->old[i], (size_t)(f->points * f->bytes));
    before[i] = arena_alloc(in->arena, sizeof(double) * (size_t)(numbers(f) + 1));
    memcpy(before[i], bar, sizeof(double) * (size_t)numbers(f));
    for (int k = 0; k < st->npieces; k++)
      for (int v = 0; v < st->pieces[k].ntargets; v++) {
        Clearing c = {in, NULL, f, bar};
        if (st->pieces[k].targets[v] == st->targets[i])
          ok = ok && interp_each(in, &e->code->pieces[k].region, clear_chunk, &c);
      }
  }
  for (int k = 0; k < st->npieces; k++)
    ok = ok && pull_piece(in, st, &e->code->pieces[k], before);
  return ok;
}

/* At the start of a step: adds to the adjoints of fields those of their values at the start of the step. */
static void end_step(Interp *in) {
  for (int f = 0; f < in->m->nfields; f++)
    for (int64_t i = 0; in->tape->starts[f] && i < numbers(&in->fields[f]); i++) {
      in->tape->bars.field[f][i] += in->tape->starts[f][i];
      in->tape->starts[f][i] = 0;
    }
}

/* Undoes the rotation of the levels: the adjoints of level k go to level k - 1, those of level 1 to the field at the
 * start of the step. */
static void pull_move(Interp *in, const Event *e) {
  Tape *t = in->tape;
  for (int i = 0; i < in->m->nfields; i++) {
    const FieldState *f = &in->fields[i];
    int levels = f->start ? f->field->history : 0;
    size_t bytes = (size_t)(f->points * f->bytes), bars = sizeof(double) * (size_t)numbers(f);
    for (int k = 0; k < levels && bytes; k++) {
      double *bar = t->bars.field[f->pasts[k] - in->fields];
      memcpy(k ? t->bars.field[f->pasts[k - 1] - in->fields] : t->starts[i], bar, bars);
      memset(bar, 0, bars);
      memcpy(f->pasts[k]->now, k + 1 < levels ? f->pasts[k + 1]->now : e->old[i], bytes);
    }
  }
}

/* Processes the losses that were due. */
static bool pull_losses(Interp *in, const Event *e) {
  const Module *m = in->m;
  Tape *t = in->tape;
  double at[CHUNK];
  Seed seed = {1, at};
  bool ok = true;
  in->step = e->step;
  for (int i = 0; i < m->nlosses && ok; i++) {
    InterpRegion over = interp_region(in, &m->losses[i].over);
    Source s = {.in = in, .body = &t->bodies[i], .n = 1, .factor = m->losses[i].factor, .seeds = &seed};
    Reduction r = {.name = m->losses[i].name};
    in->reduction = &r;
    if (loss_is_due(&m->losses[i], e->step, t->last)) {
      interp_start_body(in, s.body);
      ok = interp_each(in, &over, pull_chunk, &s);
    }
    in->reduction = NULL;
  }
  return ok;
}

/* A search for the first point of a region at which a body has a certain value. */
typedef struct Search {
  Interp *in;
  const InterpBody *body;
  double value;
  bool found;
  int64_t at[MAX_RANK];
} Search;
static bool search_chunk(void *user, const int64_t *p, int n) {
  Search *s = user;
  if (s->found)
    return true;
  if (!interp_run_body(s->in, s->body, p, n))
    return false;
  const Const *v = &s->in->rows[(size_t)s->body->yield[0][0] * CHUNK];
  for (int i = 0; i < n && !s->found; i++)
    if (v[i].f == s->value) {
      s->found = true;
      memcpy(s->at, p, sizeof s->at[0] * (size_t)s->in->rank);
      s->at[s->in->rank - 1] += i;
    }
  return true;
}

/* Processes reduction `r` of event `e`, whose adjoint is *bar, over all its points, or, if `member` is at least 0, over
 * that member's. A sum propagates it to all points, a minimum or maximum to the first point that has its value. point:
 * the value is that of a single point. */
static bool pull_reduction(Interp *in, const Event *e, Reduction r, bool point, int64_t member, double *bar) {
  double at[CHUNK];
  Seed seed = {1, at};
  Source s = {.in = in, .body = e->body, .n = 1, .factor = *bar, .seeds = &seed};
  InterpRegion over = interp_region(in, &r.over);
  bool ok = true;
  if (*bar == 0 || r.type != TY_F64)
    return true;
  *bar = 0;
  if (member >= 0)
    over.lo[0] = over.hi[0] = over.lo[0] + member;
  in->step = e->step;
  in->reduction = &r;
  interp_start_body(in, s.body);
  if (point) {
    ok = pull_chunk(&s, over.lo, 1);
  } else if (r.op == OP_ADD) {
    ok = interp_each(in, &over, pull_chunk, &s);
  } else {
    Search found = {.in = in, .body = e->body};
    Const value;
    ok = interp_total(in, &r, e->body, member, &value);
    found.value = value.f;
    in->reduction = &r;
    interp_start_body(in, s.body);
    ok = ok && interp_each(in, &over, search_chunk, &found);
    if (ok && found.found)
      ok = pull_chunk(&s, found.at, 1);
  }
  in->reduction = NULL;
  return ok;
}

/* Processes an update; if each member has a number of its own, member by member. The body reads the numbers as they
 * were before the update. */
static bool pull_update(Interp *in, const Event *e) {
  const Update *u = e->update;
  Reduction r = {.name = update_name(in->m, u), .op = u->op, .type = u->type, .over = u->over};
  int64_t n = u->each ? elements(in, u->state) : 1;
  double *bar = in->tape->bars.array[u->state], *of = ARENA_ARRAY(in->arena, double, n + 1);
  bool ok = true;
  memcpy(of, bar, sizeof *of * (size_t)n);
  memset(bar, 0, sizeof *bar * (size_t)n);
  for (int64_t k = 0; k < n && ok; k++)
    ok = pull_reduction(in, e, r, update_is_point(u), u->each ? k : -1, &of[k]);
  return ok;
}

/* Processes a reduction between steps, and restores the former value of its scalar. */
static bool pull_reduce(Interp *in, const Event *e) {
  bool ok = pull_reduction(in, e, *e->reduction, false, -1, &in->tape->bars.scalar[e->reduction->scalar]);
  in->b->scalars[e->reduction->scalar] = e->value;
  return ok;
}

/* Processes the time before the first step: levels that were filled were copies of their fields; after that the
 * adjoints of fields are complete. */
static void pull_begin(Interp *in, const Event *e) {
  const Module *m = in->m;
  for (int i = 0; i < m->nfields; i++) {
    const Field *past = &m->fields[i];
    bool set = e->given && e->given[i];
    for (int k = 0; k < m->ninits; k++)
      for (int v = 0; v < m->inits[k].ntargets; v++)
        set = set || m->inits[k].targets[v] == i;
    for (int64_t c = 0; past->past && !past->temp && !set && c < numbers(&in->fields[i]); c++) {
      in->tape->bars.field[past->present][c] += in->tape->bars.field[i][c];
      in->tape->bars.field[i][c] = 0;
    }
  }
  for (int i = 0; i < m->nfields; i++)
    if (!m->fields[i].input)
      take_field(in, i);
}

/* Processes all events, from the last to the first. If an init sets an input field, the derivative is with respect to
 * the field after the init. */
static bool pull_all(Interp *in) {
  Tape *t = in->tape;
  for (int k = t->n - 1; k >= 0; k--) {
    const Event *e = &t->events[k];
    if (e->kind != EVENT_STENCIL && e->kind != EVENT_UPDATE)
      end_step(in);
    if (e->states)
      put_states(in, e);
    if (e->kind == EVENT_BEGIN)
      pull_begin(in, e);
    if (e->kind == EVENT_MOVE)
      pull_move(in, e);
    if (e->kind == EVENT_STENCIL && e->given)
      in->skip = e->given;
    for (int i = 0; e->kind == EVENT_STENCIL && i < e->code->stencil->ntargets; i++)
      if (in->m->fields[e->code->stencil->targets[i]].input && !(e->given && e->given[e->code->stencil->targets[i]]))
        take_field(in, e->code->stencil->targets[i]);
    if ((e->kind == EVENT_LOSSES && !pull_losses(in, e)) || (e->kind == EVENT_UPDATE && !pull_update(in, e)) ||
        (e->kind == EVENT_REDUCE && !pull_reduce(in, e)) || (e->kind == EVENT_STENCIL && !pull_stencil(in, e)))
      return false;
  }
  return true;
}

/* Allocates all adjoints and sets them to 0. */
static void make_bars(Interp *in) {
  Tape *t = in->tape;
  const Module *m = in->m;
  t->bars.field = ARENA_ARRAY(in->arena, double *, m->nfields + 1);
  t->bars.array = ARENA_ARRAY(in->arena, double *, m->nparam_arrays + 1);
  t->bars.scalar = ARENA_ARRAY(in->arena, double, m->nscalars + 1);
  t->starts = ARENA_ARRAY(in->arena, double *, m->nfields + 1);
  t->rows = ARENA_ARRAY(in->arena, double, (size_t)(in->max_rows + 1) * CHUNK);
  t->taken = ARENA_ARRAY(in->arena, bool, m->nby + 1);
  for (int i = 0; i < m->nfields; i++) {
    t->bars.field[i] = ARENA_ARRAY(in->arena, double, numbers(&in->fields[i]) + 1);
    t->starts[i] = in->fields[i].start ? ARENA_ARRAY(in->arena, double, numbers(&in->fields[i]) + 1) : NULL;
  }
  for (int i = 0; i < m->nparam_arrays; i++)
    t->bars.array[i] = ARENA_ARRAY(in->arena, double, param_array_extent(&m->param_arrays[i], in->b->scalars) + 1);
}

/* Makes the run, and then computes the derivatives. */
static bool run_back(Interp *in, int64_t steps, const bool *skip_init, double *value) {
  const Module *m = in->m;
  Tape *t = in->tape;
  t->sums = ARENA_ARRAY(in->arena, double, m->nlosses + 1);
  if (!interp_start(in, steps, true, skip_init))
    return false;
  make_bars(in);
  if (!pull_all(in))
    return false;
  for (int i = 0; i < m->nparam_arrays; i++)
    for (int64_t k = 0; k < elements(in, i) && m->param_arrays[i].role == ARRAY_STATE && m->param_arrays[i].first >= 0;
         k++)
      t->bars.scalar[m->param_arrays[i].first] += t->bars.array[i][k];
  scalars_pull(in->arena, m, in->b->scalars, t->bars.scalar);
  for (int i = 0; i < m->nby; i++) {
    int members = m->by[i].kind == BY_PARAM ? module_member_state(m, m->by[i].index) : -1;
    if (members >= 0)
      memcpy(t->out[i], t->bars.array[members], sizeof **t->out * (size_t)elements(in, members));
    else if (m->by[i].kind == BY_PARAM)
      *t->out[i] = t->bars.scalar[m->by[i].index];
    else
      take(in, i);
  }
  *value = 0;
  for (int i = 0; i < m->nlosses; i++)
    if (m->losses[i].factor != 0)
      *value += m->losses[i].factor * t->sums[i];
  return true;
}

bool interp_gradient(const Module *m, Binding *b, int64_t steps, const bool *skip_init, double *value,
                     double *const *out, Diags *d) {
  jmp_buf oom;
  Arena *arena = arena_new(NULL, NULL);
  if (!gradient_check(m, d))
    return arena_free(arena), false;
  if (!arena || setjmp(oom)) {
    diag_error(d, no_loc(), "out of memory for the reference's tape of all steps");
    if (arena)
      arena_free(arena);
    return false;
  }
  arena_on_oom(arena, &oom);
  Tape tape = {.out = out};
  Interp in = {.arena = arena, .m = m, .b = b, .d = d, .tape = &tape};
  bool ok = run_back(&in, steps, skip_init, value);
  arena_free(arena);
  return ok;
}
