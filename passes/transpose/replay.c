/* replay.c: makes values of fields at places within a step available to the backward step. A field that a stencil
 * changes has another *version* from there on. If a version is needed, it is a temp field of the backward step,
 * computed again from the fields at the step's start; or, for the last version, an input field, if the field is among
 * those that are handed over from the later step. */
#include "passes/transpose/transpose.h"

#include <string.h>

/* Adds a version of field `f` of m, its value after stencil number `s`. */
static int32_t new_version(Transpose *x, int f, int s) {
  Field v = x->m->fields[f];
  v.name = arena_printf(x->a, "%s.%d", v.name, s);
  v.temp = true;
  v.input = v.derived = false;
  v.history = v.past = v.present = 0;
  return transpose_field(x, v);
}

/* Adds the input field of b with the value of field `f` of m after the step. */
static int32_t handed_version(Transpose *x, int f) {
  Field v = x->m->fields[f];
  v.name = arena_printf(x->a, "%s.after", v.name);
  v.input = true;
  v.history = v.past = v.present = 0;
  return x->after[f] = transpose_field(x, v);
}

/* Does a stencil after number `s` write field `f`? */
static bool changes_later(const Module *m, int s, int f) {
  for (int r = s + 1; r < m->nstencils; r++)
    for (int t = 0; t < m->stencils[r].ntargets; t++)
      if (m->stencils[r].targets[t] == f)
        return true;
  return false;
}

/* Must the value of field `f` after stencil number `s` be computed: is it needed, and not handed over? */
static bool is_made(const Transpose *x, int s, int f) {
  int32_t v = x->before[s + 1][f];
  return x->needed[v] && v != x->after[f];
}

void replay_versions(Transpose *x) {
  const Module *m = x->m;
  size_t n = (size_t)m->nfields + 1;
  x->before = ARENA_ARRAY(x->a, int32_t *, m->nstencils + 1);
  int32_t *now = ARENA_ARRAY(x->a, int32_t, n);
  x->after = ARENA_ARRAY(x->a, int32_t, n);
  for (int f = 0; f < m->nfields; f++) {
    now[f] = m->fields[f].temp ? -1 : f;
    x->after[f] = -1;
  }
  for (int s = 0; s <= m->nstencils; s++) {
    x->before[s] = ARENA_ARRAY(x->a, int32_t, n);
    memcpy(x->before[s], now, n * sizeof *now);
    for (int t = 0; s < m->nstencils && t < m->stencils[s].ntargets; t++) {
      int f = m->stencils[s].targets[t];
      bool handed = x->handed && x->handed[f] && !changes_later(m, s, f);
      now[f] = handed ? handed_version(x, f) : new_version(x, f, s);
    }
  }
}

/* Does one piece of `st` write all of `field`? */
static bool sets_all(const Module *m, const Stencil *st, int field) {
  for (int k = 0; k < st->npieces; k++)
    if (piece_target(&st->pieces[k], field) >= 0 && box_equal(&st->pieces[k].box, &m->fields[field].box))
      return true;
  return false;
}

/* Adds to `st` a piece on `box` that copies field `from` to field `to`. */
static void add_copy(Transpose *x, Stencil *st, const Box *box, int32_t to, int32_t from) {
  static const int64_t here[MAX_RANK];
  Piece p = {.box = *box, .body = block_new(x->a, NULL), .loc = st->loc};
  Builder b = builder_at_end(x->a, p.body);
  b.loc = st->loc;
  Value *v = build_access(&b, x->b->fields[from].type, from, here, x->m->grid.rank);
  build_yield(&b, 1, &v);
  x->needed[from] = true;
  ARENA_PUSH(x->a, p.targets, p.ntargets, to);
  ARENA_PUSH(x->a, st->pieces, st->npieces, p);
}

/* Adds the stencils that copy the previous version of `field` to version `to`, that of stencil number `s`, where the
 * step has given it values: for a temp field, where earlier stencils have. */
static void copy_version(Transpose *x, int s, int field, int32_t to, int *n, Stencil **list) {
  const Module *m = x->m;
  int32_t from = x->before[s][field];
  for (int r = m->fields[field].temp ? 0 : s; r <= s; r++) {
    Stencil st = {.name = arena_printf(x->a, "%s.again", m->fields[field].name), .loc = m->stencils[s].loc};
    ARENA_PUSH(x->a, st.targets, st.ntargets, to);
    if (!m->fields[field].temp)
      add_copy(x, &st, &m->fields[field].box, to, from);
    for (int k = 0; r < s && k < m->stencils[r].npieces; k++)
      if (piece_target(&m->stencils[r].pieces[k], field) >= 0)
        add_copy(x, &st, &m->stencils[r].pieces[k].box, to, from);
    if (st.npieces)
      ARENA_PUSH(x->a, *list, *n, st);
  }
}

/* Stencil number `s` with only those targets whose versions must be computed. */
static Stencil again(Transpose *x, int s) {
  const Stencil *st = &x->m->stencils[s];
  const int32_t *after = x->before[s + 1];
  Stencil out = {.name = arena_printf(x->a, "%s.again", st->name), .loc = st->loc};
  for (int t = 0; t < st->ntargets; t++)
    if (is_made(x, s, st->targets[t]))
      ARENA_PUSH(x->a, out.targets, out.ntargets, after[st->targets[t]]);
  for (int k = 0; k < st->npieces; k++) {
    const Piece *p = &st->pieces[k];
    Piece q = {.box = p->box, .body = block_new(x->a, NULL), .loc = p->loc};
    Undo u = {.x = x, .body = p->body, .version = x->before[s], .b = builder_at_end(x->a, q.body)};
    u.clone = ARENA_ARRAY(x->a, Value *, block_renumber(p->body, 0) + 1);
    u.b.loc = p->loc;
    u.number = build2(&u.b, OP_SUB, build_scalar(&u.b, TY_I64, x->last), build_step(&u.b));
    Value **values = NULL;
    int n = 0;
    for (int t = 0; t < p->ntargets; t++)
      if (is_made(x, s, p->targets[t])) {
        ARENA_PUSH(x->a, values, n, undo_clone(&u, p->body->last->operands[t]));
        ARENA_PUSH(x->a, q.targets, q.ntargets, after[p->targets[t]]);
      }
    build_yield(&u.b, n, values);
    if (n)
      ARENA_PUSH(x->a, out.pieces, out.npieces, q);
  }
  return out;
}

/* The stencils that compute the needed results of stencil number `s`. */
static void replay(Transpose *x, int s, int *n, Stencil **list) {
  const Stencil *st = &x->m->stencils[s];
  bool any = false;
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t];
    any |= is_made(x, s, f);
    if (is_made(x, s, f) && x->before[s][f] >= 0 && !sets_all(x->m, st, f))
      copy_version(x, s, f, x->before[s + 1][f], n, list);
  }
  if (any)
    ARENA_PUSH(x->a, *list, *n, again(x, s));
}

void replay_stages(Transpose *x, int *n, Stage **list) {
  const Module *m = x->m;
  Stage *last = NULL; /* the stages in reverse order, so that the needs of later ones are known */
  int nlast = 0;
  for (int s = m->nstencils - 1, u = m->nupdates - 1; s >= 0 || u >= 0;) {
    Stencil *own = NULL;
    Stage stage;
    int nown = 0;
    if (transpose_previous(m, &s, &u)) {
      if (update_again(x, u + 1, x->before[s + 1], &stage))
        ARENA_PUSH(x->a, last, nlast, stage);
      continue;
    }
    replay(x, s + 1, &nown, &own);
    while (nown-- > 0)
      ARENA_PUSH(x->a, last, nlast, ((Stage){.stencil = own[nown]}));
  }
  while (nlast-- > 0)
    ARENA_PUSH(x->a, *list, *n, last[nlast]);
}
