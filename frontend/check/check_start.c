/* check_start.c: U@0, the values of a field at the start of the step. If no stencil before has written the field, U@0
 * is the field itself. Else a hidden temp field contains the copy that an extra stencil makes before the first stencil
 * that writes the field, and before the repeat that contains that stencil: later rounds do not begin with the values of
 * the step's start. So in a repeat there is a copy even if no stencil before has written the field. Launches read
 * through such copies (passes/launch/copies.c). */
#include "frontend/checker.h"

/* The number of the first stencil so far in the step that writes `field`; -1 if there is none. */
static int first_writer(const Checker *c, int field) {
  for (int i = 0; i < c->nchecked; i++)
    if (!c->checked[i].is_init && checked_writes(&c->checked[i], field))
      return i;
  return -1;
}

/* The outermost repeat around repeat `r`, both counted from 1; 0: none. */
static int outermost(const Checker *c, int r) {
  while (r && c->repeats[r - 1].around)
    r = c->repeats[r - 1].around;
  return r;
}

/* The number of the first stencil so far in the outermost repeat `r`; that of the next stencil if the repeat has
 * none. */
static int first_in(const Checker *c, int r) {
  int i = 0;
  while (i < c->nchecked && (c->checked[i].is_init || outermost(c, c->checked[i].repeat) != r))
    i++;
  return i;
}

/* Adds a temp field like `f` for the copy. */
static Symbol *add_field(Checker *c, const Symbol *f) {
  Field copy = c->m->fields[f->index];
  Symbol *x = ARENA_NEW(c->arena, Symbol);
  copy.name = arena_printf(c->arena, "%s@0", f->name);
  copy.temp = true;
  copy.history = 0;
  *x = *f;
  x->name = copy.name;
  x->index = c->m->nfields;
  x->npasts = 0;
  x->pasts = NULL;
  x->chain = x->next = NULL;
  x->cover_stencil = -1;
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, copy);
  return x;
}

/* Inserts a stencil that copies `f` to `copy` before stencil number `at`. If `r` is not 0, `at` is the first stencil of
 * repeat `r`, and the copy runs before all rounds: a later round begins with the results of the one before. */
static void add_copy(Checker *c, const Symbol *f, const Symbol *copy, int at, int r) {
  Symbol *plain = ARENA_NEW(c->arena, Symbol);
  *plain = *f;
  plain->masked = NULL;
  CheckedStencil st = {.name = arena_printf(c->arena, "%s.start", f->name), .loc = f->loc, .ntargets = 1, .npieces = 1};
  CheckedPiece piece = {.loc = f->loc, .box = f->box, .n = 1, .assigns = ARENA_NEW(c->arena, Assign)};
  piece.assigns[0] =
      (Assign){.loc = f->loc, .target = copy->index, .value = check_leaf(c, EXPR_FIELD, f->type, f->loc, plain)};
  st.stage = r ? c->repeats[r - 1].head.first - 2 : c->checked[at].stage;
  st.targets = ARENA_NEW(c->arena, int32_t);
  st.targets[0] = copy->index;
  st.pieces = ARENA_NEW(c->arena, CheckedPiece);
  st.pieces[0] = piece;
  ARENA_PUSH(c->arena, c->checked, c->nchecked, st);
  for (int i = c->nchecked - 1; i > at; i--)
    c->checked[i] = c->checked[i - 1];
  c->checked[at] = st;
}

Symbol *check_start(Checker *c, const Env *env, Loc loc, Symbol *f) {
  const Field *field = &c->m->fields[f->index];
  f->used = true;
  if (c->in_update || c->in_init || field->temp) {
    check_error(c, env, loc,
                c->in_update ? "an update reads fields as they are at its place in the step; read '%s@0' in a stencil"
                : c->in_init ? "'%s@0' is what the field is at the start of a step; an init runs before all steps"
                             : "'%s' is a temp field, which has no value at the start of a step; leave out 'temp'",
                f->name);
    return NULL;
  }
  if (c->in_reduction && c->in_repeat) {
    check_error(c, env, loc,
                "'%s@0' cannot be read between the rounds of a repeat, where it is not '%s' as it is between two "
                "steps; have a stencil in the repeat put what is looked at into a field",
                f->name, f->name);
    return NULL;
  }
  int at = c->in_reduction ? -1 : first_writer(c, f->index);
  int r = outermost(c, at < 0 ? c->in_repeat : c->checked[at].repeat);
  if (c->in_reduction || (at < 0 && !r))
    return f;
  if (!f->start) {
    f->start = add_field(c, f);
    add_copy(c, f, f->start, r ? first_in(c, r) : at, r);
  }
  return f->start;
}
