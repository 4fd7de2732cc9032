/* transpose.c: the backward module: its fields, its step, and the facts for launchers. */
#include "passes/transpose/transpose.h"
#include "passes/registry.h"

#include <string.h>

/* ---- making ready */

int32_t transpose_field(Transpose *x, Field f) {
  Module *b = x->b;
  if (b->nfields + 1 >= x->needed_room) {
    bool *needed = ARENA_ARRAY(x->a, bool, 2 * x->needed_room + 64);
    if (x->needed_room)
      memcpy(needed, x->needed, sizeof *needed * (size_t)x->needed_room);
    x->needed = needed;
    x->needed_room = 2 * x->needed_room + 64;
  }
  ARENA_PUSH(x->a, b->fields, b->nfields, f);
  return b->nfields - 1;
}

/* Replaces reads of each scalar s with to[s] >= 0 in `code` by reads of launch-time array to[s], and sets
 * any[to[s]]. */
static void read_array(Arena *a, Block *code, const int32_t *to, bool *any) {
  for (Op *op = code->first, *next; op; op = next) {
    next = op->next;
    if (op->code != OP_SCALAR || to[op->sym] < 0)
      continue;
    Builder b = builder_before(a, op);
    Value *v = build_element(&b, op->results[0]->type, to[op->sym], build_int(&b, TY_I64, 0));
    block_replace_uses(code, op->results[0], v);
    op_unlink(op);
    any[to[op->sym]] = true;
  }
}

/* Makes the step read the values of reductions between steps as numbers of its own, which it does not change. The
 * reductions that it reads go to *out. Returns their number. */
static int watch(Module *m, Reduction **out) {
  int32_t *to = ARENA_ARRAY(m->arena, int32_t, m->nscalars + 1);
  int n = 0, room = m->nparam_arrays + m->nreductions + 1;
  bool *any = ARENA_ARRAY(m->arena, bool, room);
  for (int s = 0; s < m->nscalars; s++)
    to[s] = -1;
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    ParamArray a = {.name = r->name, .type = r->type, .extent = affine_const(1), .role = ARRAY_STATE, .loc = r->loc};
    if (!reduction_has_gradient(m, r->scalar))
      continue;
    a.first = r->scalar;
    to[r->scalar] = m->nparam_arrays;
    ARENA_PUSH(m->arena, m->param_arrays, m->nparam_arrays, a);
  }
  Bodies bodies = bodies_of(m, CODE_STENCILS | CODE_UPDATES);
  for (Block *b; (b = bodies_next(&bodies));)
    read_array(m->arena, b, to, any);
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].scalar >= 0 && to[m->reductions[i].scalar] >= 0 && any[to[m->reductions[i].scalar]])
      ARENA_PUSH(m->arena, *out, n, m->reductions[i]);
  return n;
}

/* Replaces the reductions of `m` by its losses with a factor other than 0, each with a scalar of its name, and after
 * them the `n` reductions `watched`, which the step reads. */
static void take_losses(Module *m, int n, const Reduction *watched) {
  m->nreductions = m->nprobes = 0;
  m->reductions = NULL;
  for (int i = 0; i < m->nlosses; i++) {
    const Loss *l = &m->losses[i];
    Scalar s = {.name = l->name, .type = TY_F64, .is_reduction = true, .loc = l->loc};
    Reduction r = {.name = l->name, .op = OP_ADD, .type = TY_F64, .over = l->over, .every = l->every ? l->every : 1};
    r.scalar = m->nscalars;
    r.field = r.result = -1;
    r.body = l->body;
    r.loc = l->loc;
    if (l->factor == 0)
      continue;
    ARENA_PUSH(m->arena, m->scalars, m->nscalars, s);
    ARENA_PUSH(m->arena, m->reductions, m->nreductions, r);
  }
  for (int i = 0; i < n; i++)
    ARENA_PUSH(m->arena, m->reductions, m->nreductions, watched[i]);
  m->nlosses = m->nby = 0;
}

int32_t transpose_last(Module *m) {
  Scalar last = {.name = ADJOINT_LAST, .type = TY_I64, .is_param = true};
  last.expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, last.expr);
  Value *steps = m->steps_by ? build_scalar(&b, TY_I64, m->steps_by - 1) : build_int(&b, TY_I64, m->steps);
  build_yield(&b, 1, &steps);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, last);
  return m->nscalars - 1;
}

int transpose_by(PassContext *c, const Module *source, const Module *m, By **out) {
  int n = 0;
  for (int i = 0; i < source->nby; i++) {
    By x = source->by[i];
    int parts = x.kind == BY_FIELD ? type_components(source, source->fields[x.index].type) : 1;
    if (x.kind == BY_FIELD) {
      int record = module_find_record(m, source->fields[x.index].name);
      x.index = record >= 0 ? m->records[record].first : module_find_field(m, source->fields[x.index].name);
    }
    for (int k = 0; k < parts; k++, x.index++)
      ARENA_PUSH(c->arena, *out, n, x);
  }
  return n;
}

bool transpose_is_given(const Module *m, int field, int n, const char *const *given) {
  for (int i = 0; i < n; i++)
    if (!strcmp(given[i], m->fields[field].name) || !strcmp(given[i], declared_name(m, field)))
      return true;
  return false;
}

/* Notes in the facts the levels that get their field's value before the first step. */
static void note_filled(const Transpose *x, int n, const char *const *given, AdjointFacts *facts) {
  const Module *m = x->m;
  for (int f = 0; f < m->nfields; f++) {
    bool set = !m->fields[f].past || m->fields[f].temp || transpose_is_given(m, f, n, given);
    for (int i = 0; i < m->ninits; i++)
      for (int t = 0; t < m->inits[i].ntargets; t++)
        set = set || m->inits[i].targets[t] == f;
    if (!set)
      ARENA_PUSH(x->a, facts->filled, facts->nfilled,
                 ((AdjointField){m->fields[f].name, m->fields[m->fields[f].present].name}));
  }
}

/* ---- fields */

bool transpose_writes(const Module *m, int field) {
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      if (m->stencils[i].targets[t] == field)
        return true;
  return false;
}

/* Adds a field for derivatives with respect to `like` (NULL: a scalar). In a dimension that `like` lacks it has all
 * points of the grid, each with its contribution; the user adds them up. */
static int32_t bar_field(Transpose *x, const char *of, Type t, const Field *like) {
  const Box *grid = &x->m->grid;
  Field f = {.name = arena_printf(x->a, "%s.bar", of), .type = t, .box = like ? like->box : *grid};
  f.temp = like && like->temp;
  for (int d = 0; d < MAX_RANK; d++) {
    /* It is read only at points that it has; but a cut grid requires that all fields continue periodically. */
    bool around = like && d < grid->rank && like->outside[d] == OUTSIDE_PERIODIC;
    f.outside[d] = around ? OUTSIDE_PERIODIC : OUTSIDE_CONST;
    if (like && d < grid->rank && field_lacks(like, d)) {
      f.box.lo[d] = grid->lo[d];
      f.box.hi[d] = grid->hi[d];
    }
  }
  return transpose_field(x, f);
}

/* Begins the backward module: its fields are the forward fields, as inputs, their values after the last step, and the
 * derivatives, which are 0 at first. */
static void make_fields(Transpose *x) {
  Module *m = x->m;
  x->b = module_derive(m, LEVEL_SIR);
  x->b->name = arena_printf(x->a, "%s.back", m->name);
  x->b->fields = NULL;
  x->b->nfields = x->b->nrecords = x->b->nreductions = x->b->nprobes = 0;
  x->b->reductions = NULL;
  x->b->records = NULL;
  x->b->time_tile = 1;
  x->b->param_arrays = NULL;
  x->b->nparam_arrays = 0;
  for (int i = 0; i < m->nparam_arrays; i++)
    ARENA_PUSH(x->a, x->b->param_arrays, x->b->nparam_arrays, m->param_arrays[i]);
  x->state_needed = ARENA_ARRAY(x->a, bool, m->nparam_arrays + 1);
  x->bar = ARENA_ARRAY(x->a, int32_t, m->nfields + 1);
  x->end = ARENA_ARRAY(x->a, int32_t, m->nfields + 1);
  x->zero = ARENA_ARRAY(x->a, bool, m->nfields + 1);
  x->scalar_bar = ARENA_ARRAY(x->a, int32_t, m->nscalars + 1);
  for (int f = 0; f < m->nfields; f++) {
    Field v = m->fields[f];
    v.history = v.past = v.present = 0;
    v.input = !v.temp;
    transpose_field(x, v);
  }
  for (int f = 0; f < m->nfields; f++) {
    Field v = x->b->fields[f];
    x->end[f] = f;
    v.name = arena_printf(x->a, "%s.end", v.name);
    if (!v.temp && !v.derived && transpose_writes(m, f))
      x->end[f] = transpose_field(x, v);
  }
  for (int f = 0; f < m->nfields; f++) {
    x->zero[f] = m->fields[f].temp;
    x->bar[f] = -1;
    if (x->active[f])
      x->bar[f] = bar_field(x, m->fields[f].name, bar_type(m->fields[f].type), &m->fields[f]);
  }
  for (int s = 0; s < m->nscalars; s++)
    x->scalar_bar[s] = x->scalar_active[s] ? bar_field(x, m->scalars[s].name, TY_F64, NULL) : -1;
}

Stencil transpose_zero(Transpose *x, int32_t field) {
  const Field *f = &x->b->fields[field];
  Stencil st = {.name = arena_printf(x->a, "%s.zero", f->name)};
  Piece p = {.box = f->box, .body = block_new(x->a, NULL)};
  Builder b = builder_at_end(x->a, p.body);
  Value *v = type_is_int(f->type) ? build_int(&b, f->type, 0) : build_float(&b, f->type, 0);
  build_yield(&b, 1, &v);
  ARENA_PUSH(x->a, p.targets, p.ntargets, field);
  ARENA_PUSH(x->a, st.targets, st.ntargets, field);
  ARENA_PUSH(x->a, st.pieces, st.npieces, p);
  return st;
}

/* ---- losses */

/* Builds the test that the loss is due after `n` steps. NULL: it always is. */
static Value *due(Builder *b, const Loss *l, Value *n) {
  if (l->every <= 1)
    return NULL;
  return build2(b, OP_EQ, build2(b, OP_REM, n, build_int(b, TY_I64, l->every)), build_int(b, TY_I64, 0));
}

/* The derivative with respect to the loss's value at a point: its factor if it is due, else 0. */
static Value *loss_seed(Undo *u, const void *loss) {
  const Loss *l = loss;
  Builder *b = &u->b;
  Value *factor = build_float(b, TY_F64, l->factor), *is_due = due(b, l, u->number);
  if (!l->every)
    is_due = build2(b, OP_EQ, build_step(b), build_int(b, TY_I64, 0));
  return is_due ? build3(b, OP_SELECT, is_due, factor, build_float(b, TY_F64, 0)) : factor;
}

/* Adds the loss that is reduction `r` of m as a reduction of b. It is evaluated before the first step, on the fields
 * after the last forward step; or after step k, on the fields after N - k forward steps. */
static void add_value(Transpose *x, const Loss *l, const Reduction *r) {
  Reduction out = *r;
  out.body = block_new(x->a, NULL);
  Undo u = {.x = x, .body = r->body, .version = l->every ? x->before[0] : x->end, .b = builder_at_end(x->a, out.body)};
  u.clone = ARENA_ARRAY(x->a, Value *, block_renumber(r->body, 0) + 1);
  u.b.loc = r->loc;
  Value *last = build_scalar(&u.b, TY_I64, x->last), *step = build_step(&u.b);
  u.number = l->every ? build2(&u.b, OP_SUB, build2(&u.b, OP_ADD, last, build_int(&u.b, TY_I64, 1)), step) : last;
  Value *v = undo_clone(&u, r->body->last->operands[0]), *is_due = due(&u.b, l, u.number);
  if (!l->every)
    is_due = build2(&u.b, OP_EQ, step, build_int(&u.b, TY_I64, 0));
  if (is_due)
    v = build3(&u.b, OP_SELECT, is_due, v, build_float(&u.b, TY_F64, 0));
  build_yield(&u.b, 1, &v);
  out.every = l->every ? 1 : INT64_C(1) << 40;
  ARENA_PUSH(x->a, x->b->reductions, x->b->nreductions, out);
}

/* Undoes the losses, and adds the reductions that evaluate them. `source` has the losses as they were read. */
static void add_losses(Transpose *x, const Module *source, AdjointFacts *facts) {
  for (int i = 0; i < x->m->nreductions && !x->failed; i++) {
    const Reduction *r = &x->m->reductions[i];
    int loss = module_find_loss(source, r->name);
    if (loss < 0) {
      undo_reduction(x, r);
      continue;
    }
    const Loss *l = &source->losses[loss];
    Piece p = {.box = r->over, .body = r->body, .loc = r->loc};
    Stencil st = {.name = r->name, .npieces = 1, .pieces = &p, .loc = r->loc};
    facts->every |= l->every > 0;
    gather_stencil(x, &st, l->every ? x->before[0] : x->end, loss_seed, l);
    states_add_shares(x);
    add_value(x, l, r);
  }
}

/* ---- the step */

/* Makes the names of the step's stencils unique, because schedules refer to them. */
static void name_apart(Transpose *x) {
  Stencil *list = x->b->stencils;
  for (int i = 0; i < x->b->nstencils; i++) {
    const char *name = list[i].name;
    int same = 1;
    for (int k = 0; k < i; k++)
      if (!strcmp(list[k].name, list[i].name)) {
        list[i].name = arena_printf(x->a, "%s.%d", name, ++same);
        k = -1;
      }
  }
}

/* Builds the whole step, and the inits. */
static void make_step(Transpose *x, const Module *source, AdjointFacts *facts) {
  Module *b = x->b, *m = x->m;
  replay_versions(x);
  for (int s = m->nstencils - 1, u = m->nupdates - 1; (s >= 0 || u >= 0) && !x->failed;)
    if (transpose_previous(m, &s, &u)) {
      undo_update(x, u + 1, x->before[s + 1]);
    } else {
      gather_stencil(x, &m->stencils[s + 1], x->before[s + 1], NULL, NULL);
      states_add_shares(x);
    }
  add_losses(x, source, facts);
  if (x->failed)
    return;
  Stage *again = NULL;
  int n = 0;
  replay_stages(x, &n, &again);
  for (int f = 0; f < m->nfields; f++)
    if (x->active[f] && !m->fields[f].temp) {
      ARENA_PUSH(x->a, b->inits, b->ninits, transpose_zero(x, x->bar[f]));
      if (x->zero[f])
        transpose_stencil(x, transpose_zero(x, x->bar[f]));
    }
  for (int s = 0; s < m->nscalars; s++)
    if (x->scalar_active[s])
      ARENA_PUSH(x->a, b->inits, b->ninits, transpose_zero(x, x->scalar_bar[s]));
  transpose_put_stages(x, n, again);
  transpose_merge(x);
  name_apart(x);
}

/* ---- fields and arrays that nothing uses */

enum { CODE_STEP = CODE_INITS | CODE_STENCILS | CODE_REDUCTIONS | CODE_UPDATES };

void transpose_mark(const Module *m, Opcode code, bool *used) {
  Bodies bodies = bodies_of(m, CODE_STEP);
  for (const Block *b; (b = bodies_next(&bodies));)
    for (const Op *op = b->first; op; op = op->next)
      if (op->code == code)
        used[op->sym] = true;
}

void transpose_renumber_body(Block *b, Opcode code, const int32_t *to) {
  for (Op *op = b->first; op; op = op->next)
    if (op->code == code)
      op->sym = to[op->sym];
}

void transpose_renumber(const Module *m, Opcode code, const int32_t *to) {
  Bodies bodies = bodies_of(m, CODE_STEP);
  for (Block *b; (b = bodies_next(&bodies));)
    transpose_renumber_body(b, code, to);
}

/* Marks the targets of `n` stencils, or renumbers them if `to` is not NULL. */
static void stencils_targets(int n, Stencil *st, bool *used, const int32_t *to) {
  for (int i = 0; i < n; i++) {
    for (int t = 0; t < st[i].ntargets; t++)
      to ? (void)(st[i].targets[t] = to[st[i].targets[t]]) : (void)(used[st[i].targets[t]] = true);
    for (int k = 0; k < st[i].npieces && to; k++)
      for (int t = 0; t < st[i].pieces[k].ntargets; t++)
        st[i].pieces[k].targets[t] = to[st[i].pieces[k].targets[t]];
  }
}

/* Removes fields that nothing uses from b. */
static void drop_fields(Transpose *x) {
  Module *b = x->b;
  bool *used = ARENA_ARRAY(x->a, bool, b->nfields + 1);
  int32_t *to = ARENA_ARRAY(x->a, int32_t, b->nfields + 1);
  Field *fields = NULL;
  PointList *lists = NULL;
  int n = 0, nlists = 0;
  stencils_targets(b->ninits, b->inits, used, NULL);
  stencils_targets(b->nstencils, b->stencils, used, NULL);
  transpose_mark(b, OP_ACCESS, used);
  for (int f = 0; f < b->nfields; f++) {
    to[f] = n;
    if (used[f])
      ARENA_PUSH(x->a, fields, n, b->fields[f]);
  }
  stencils_targets(b->ninits, b->inits, used, to);
  stencils_targets(b->nstencils, b->stencils, used, to);
  transpose_renumber(b, OP_ACCESS, to);
  for (int i = 0; i < b->nlists; i++)
    if (used[b->lists[i].field]) {
      PointList l = b->lists[i];
      l.field = to[l.field];
      ARENA_PUSH(x->a, lists, nlists, l);
    }
  for (int f = 0; f < x->m->nfields; f++) {
    x->end[f] = used[x->end[f]] ? to[x->end[f]] : -1;
    x->after[f] = x->after[f] >= 0 && used[x->after[f]] ? to[x->after[f]] : -1;
    x->needed[f] = used[f];
  }
  b->lists = lists;
  b->nlists = nlists;
  b->fields = fields;
  b->nfields = n;
}

/* Notes the facts about fields and scalars for the launcher. */
static void note_facts(Transpose *x, AdjointFacts *facts) {
  const Module *m = x->m;
  for (int f = 0; f < m->nfields; f++) {
    const char *name = m->fields[f].name;
    AdjointField same = {name, name};
    if (x->needed[f] && !m->fields[f].temp && !m->fields[f].derived && transpose_writes(m, f))
      ARENA_PUSH(x->a, facts->saved, facts->nsaved, same);
    else if (x->needed[f] && !m->fields[f].temp && !m->fields[f].derived)
      ARENA_PUSH(x->a, facts->inputs, facts->ninputs, same);
    if (x->after[f] >= 0)
      ARENA_PUSH(x->a, facts->after, facts->nafter, ((AdjointField){x->b->fields[x->after[f]].name, name}));
    if (x->end[f] >= 0 && transpose_writes(m, f) && !m->fields[f].temp)
      ARENA_PUSH(x->a, facts->ends, facts->nends, ((AdjointField){arena_printf(x->a, "%s.end", name), name}));
    if (x->bar[f] >= 0 && !m->fields[f].temp)
      ARENA_PUSH(x->a, facts->bars, facts->nbars, ((AdjointField){arena_printf(x->a, "%s.bar", name), name}));
  }
  for (int s = 0; s < m->nscalars; s++)
    if (x->scalar_active[s])
      ARENA_PUSH(x->a, facts->scalars, facts->nscalars,
                 ((AdjointField){arena_printf(x->a, "%s.bar", m->scalars[s].name), m->scalars[s].name}));
}

/* Makes the backward module of x->m, with its facts. False after reporting a value without a derivative. */
static bool make_module(Transpose *x, const Module *source) {
  make_fields(x);
  make_step(x, source, x->facts);
  if (x->failed)
    return false;
  drop_fields(x);
  states_drop(x);
  note_facts(x, x->facts);
  module_renumber(x->b);
  return true;
}

/* The resulting module, verified and simplified. */
static Module *verified(Transpose *x) {
  return module_verify(x->b, x->c->diags) ? x->c->run(x->c, NULL, "simplify", x->b) : NULL;
}

Module *transpose_finish(Transpose *x, const Module *source) { return make_module(x, source) ? verified(x) : NULL; }

/* ---- what is to be known of each step */

/* The assumed number of points in a dimension whose extent is not known. */
static const double MANY_POINTS = 1000;

/* The approximate size of field `f` of m in bytes. */
static double weight(const Module *m, const Field *f) {
  double n = type_size(f->type);
  for (int d = 0; d < m->grid.rank; d++) {
    int64_t extent;
    bool known = affine_diff(f->box.hi[d], f->box.lo[d], &extent);
    if (!field_lacks(f, d))
      n *= known ? (double)extent + 1 : MANY_POINTS;
  }
  return n;
}

static bool is_among(int n, const AdjointField *list, const char *from) {
  for (int i = 0; i < n; i++)
    if (!strcmp(list[i].from, from))
      return true;
  return false;
}

/* The approximate number of bytes of each step that a module with these facts needs. */
static double bytes_of_step(const Module *m, const AdjointFacts *facts) {
  double sum = 0;
  for (int f = 0; f < m->nfields; f++)
    if (is_among(facts->nsaved, facts->saved, m->fields[f].name) ||
        is_among(facts->nafter, facts->after, m->fields[f].name))
      sum += weight(m, &m->fields[f]);
  return sum;
}

/* Makes the module that needs the fewest bytes of each step: first with all fields handed over from the later step;
 * then, one by one, without those that are known for no other reason, if the inputs to compute them again are
 * smaller. */
static Module *choose_handed(Transpose *x, const Module *source) {
  const AdjointFacts begun = *x->facts;
  Module *m = x->m;
  bool *handed = ARENA_ARRAY(x->a, bool, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++)
    handed[f] = !m->fields[f].temp && !m->fields[f].derived;
  Transpose best = *x;
  best.m = module_copy(x->a, m);
  best.handed = handed;
  if (!make_module(&best, source))
    return NULL;
  AdjointFacts facts = *x->facts;
  for (int f = 0; f < m->nfields; f++) {
    const char *name = m->fields[f].name;
    AdjointFacts others = begun;
    if (!is_among(facts.nafter, facts.after, name) || is_among(facts.nsaved, facts.saved, name))
      continue;
    handed[f] = false;
    Transpose next = *x;
    next.m = module_copy(x->a, m);
    next.handed = handed;
    next.facts = &others;
    handed[f] = !make_module(&next, source) || bytes_of_step(m, &others) >= bytes_of_step(m, &facts);
    if (!handed[f]) {
      best = next;
      best.facts = x->facts;
      facts = others;
    }
  }
  *x->facts = facts;
  return verified(&best);
}

Module *transpose_module(PassContext *c, const Module *source, int ngiven, const char *const *given,
                         AdjointFacts *facts) {
  Transpose x = {.c = c, .a = c->arena, .facts = facts};
  By *by = NULL;
  *facts = (AdjointFacts){0};
  if (!gradient_check(source, c->diags))
    return NULL;
  x.m = module_copy(c->arena, source);
  Reduction *watched = NULL;
  int nwatched = watch(x.m, &watched);
  const bool *changing = states_changing(c->arena, x.m);
  take_losses(x.m, nwatched, watched);
  x.last = transpose_last(x.m);
  if (!transpose_unroll(c, x.m, x.last, changing, facts, &x.states))
    return NULL;
  x.m = c->run(c, NULL, "scalarize,every,sides", x.m);
  int nby = x.m ? transpose_by(c, source, x.m, &by) : -1;
  if (nby < 0 || !inits_vary(&x, by, nby, ngiven, given))
    return NULL;
  facts->starts = x.starts != NULL;
  note_filled(&x, ngiven, given, facts);
  x.m = c->run(c, NULL, "history,simplify", x.m);
  if (!x.m || !transpose_analyse(&x, by, nby))
    return NULL;
  return choose_handed(&x, source);
}

/* The pass, for a program without given fields. */
Module *pass_transpose(PassContext *c, Module *m, int n, const PassOption *o) {
  AdjointFacts facts;
  (void)n, (void)o;
  return transpose_module(c, m, 0, NULL, &facts);
}
