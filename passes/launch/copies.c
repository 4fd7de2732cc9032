/* copies.c: removes from launches the stencils that only copy a field, such as those of pass history.
 *
 * A reader of a copy can read the original instead: the *root*, a version that an instance computes, or version 0 of
 * another field. So a launch drops copies from its instances, and Launch.sees names the root of an access. Only copies
 * that must be in global memory after the launch remain. If the root of such a copy is version 0 of another level of
 * the same field, and the new value of that level is stored elsewhere, the host exchanges their buffers and nothing is
 * stored: the buffers of the levels rotate. Otherwise the last instance that makes the copy keeps it as a target and
 * stores it.
 *
 * Example, a wave equation: `U@1` gets the buffer of `U`, `U` gets the buffer to which the step has stored, and the
 * next step stores to the buffer of the old `U@1`. That takes K + 2 buffers for history K, and for each point one load
 * of `U`, one of `U@1`, and one store. With T steps in a tile the levels from T on rotate; the younger levels, which
 * the tile computes, are stored. */
#include "passes/launch/launch.h"

/* The state of the pass on a launch of `n` instances at st. value[f]: the present root of field f; versions[f]: the
 * number of instances so far that compute f. For each field: written: it is a target; kept: some stencil leaves a part
 * of it unchanged; wanted: it must be in global memory after the launch; source: another field gets its buffer;
 * stored_by: the last instance that writes it, if that copy must be stored, else -1. */
typedef struct Copies {
  Launch *l;
  int32_t n;
  const Stencil *st;
  Version *value;
  int32_t *versions, *stored_by;
  bool *written, *kept, *source;
  const bool *wanted;
} Copies;

/* Do accesses to `f` and `g` at any offset have equal results if the fields hold equal values? */
static bool are_alike(const Field *f, const Field *g) {
  return f->type == g->type && box_equal(&f->box, &g->box) && outside_same(f, g);
}

int copied_field(const Module *m, const Stencil *st, int f) {
  for (int i = 0; i < st->npieces && !st->sweep; i++) {
    const Piece *p = &st->pieces[i];
    int t = piece_target(p, f);
    if (t < 0)
      continue;
    const Op *op = p->body->last->operands[t]->def;
    bool here = op && op->code == OP_ACCESS && op->sym != f && box_inside(&m->fields[f].box, &p->box) == 1 &&
                are_alike(&m->fields[f], &m->fields[op->sym]);
    for (int d = 0; d < m->grid.rank && here; d++)
      here = op->off[d] == 0;
    return here ? op->sym : -1;
  }
  return -1;
}

/* The field of which target `f` of `st` is a copy; -1 if it is computed. A field that keeps some old values is always
 * computed, so that it owns its values. */
static int copy_of(const Copies *c, const Stencil *st, int f) { return c->kept[f] ? -1 : copied_field(c->l->m, st, f); }

/* Updates value[f] for the targets of instance `i`: the root of the copied field, or a new version. */
static void write_targets(Copies *c, int i) {
  const Stencil *st = &c->st[i];
  Version *value = ARENA_ARRAY(arena_scratch(c->l->m->arena), Version, st->ntargets);
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t], from = copy_of(c, st, f);
    value[t] = from >= 0 ? c->value[from] : (Version){f, ++c->versions[f]};
  }
  for (int t = 0; t < st->ntargets; t++)
    c->value[st->targets[t]] = value[t];
}

/* Notes which fields are written, and which of them keep values. */
static void note_targets(Copies *c) {
  for (int i = 0; i < c->n; i++)
    for (int t = 0; t < c->st[i].ntargets; t++) {
      int f = c->st[i].targets[t];
      c->written[f] = true;
      c->kept[f] = c->kept[f] || stencil_keeps(c->l->m, &c->st[i], f);
    }
}

/* The field with level 0 of the values of which `f` holds some level. */
static int present_of(const Module *m, int f) { return m->fields[f].past ? m->fields[f].present : f; }

/* Can field `f`, whose value after the launch is `root`, get the buffer of `root`? The root must be version 0 of a
 * younger level of the same field whose new value goes to another buffer, and no other field may get that buffer. */
static bool can_exchange(const Copies *c, int f, Version root) {
  const Module *m = c->l->m;
  return root.version == 0 && present_of(m, f) == present_of(m, root.field) &&
         m->fields[f].past > m->fields[root.field].past && c->written[root.field] && c->wanted[root.field] &&
         !c->source[root.field];
}

/* Decides how each wanted field that ends as a copy gets to global memory. */
static void settle_fields(Copies *c) {
  for (int k = 0; k < c->l->nuses; k++) {
    FieldUse *u = &c->l->uses[k];
    int f = u->field;
    Version root = c->value[f];
    c->stored_by[f] = -1;
    if (!c->written[f] || !c->wanted[f] || (root.field == f && root.version > 0 && root.version == c->versions[f]))
      continue;
    if (can_exchange(c, f, root)) {
      u->from = root.field;
      c->source[root.field] = true;
      continue;
    }
    for (int i = 0; i < c->n; i++)
      if (stencil_target(&c->st[i], f) >= 0)
        c->stored_by[f] = i;
  }
}

/* Must instance `i` compute its target `f`? */
static bool is_computed(const Copies *c, int i, int f) { return c->stored_by[f] == i || copy_of(c, &c->st[i], f) < 0; }

/* Removes targets that need not be computed from the `*n` at `*targets` of instance `i`, and their operands from
 * `operands` (NULL: none). */
static void drop_targets(const Copies *c, int i, int32_t *n, int32_t **targets, Value **operands) {
  int32_t *left = ARENA_ARRAY(c->l->m->arena, int32_t, *n);
  int count = 0;
  for (int t = 0; t < *n; t++)
    if (is_computed(c, i, (*targets)[t])) {
      if (operands)
        operands[count] = operands[t];
      left[count++] = (*targets)[t];
    }
  *targets = left;
  *n = count;
}

/* Instance `i` without the targets that need not be computed. If it only has copies left, they are needed on the output
 * tile only. */
static Stencil without_copies(const Copies *c, int i) {
  Stencil st = c->st[i];
  Arena *a = c->l->m->arena;
  bool copies = true;
  drop_targets(c, i, &st.ntargets, &st.targets, NULL);
  for (int t = 0; t < st.ntargets; t++)
    copies = copies && copy_of(c, &c->st[i], st.targets[t]) >= 0;
  if (copies)
    st.extent = (Extent){{0}, {0}};
  if (st.ntargets == c->st[i].ntargets)
    return st;
  st.pieces = ARENA_ARRAY(a, Piece, st.npieces);
  for (int k = 0; k < st.npieces; k++) {
    Piece *p = &st.pieces[k];
    *p = c->st[i].pieces[k];
    p->body = block_clone(a, p->body, NULL, NULL);
    drop_targets(c, i, &p->ntargets, &p->targets, p->body->last->operands);
    p->body->last->noperands = p->ntargets;
  }
  return st;
}

/* Numbers the values of all bodies, as block_clone requires. */
static void number_bodies(const Copies *c) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->st[i].npieces; k++)
      body_number(c->st[i].pieces[k].body);
}

/* Sets value[f] to version 0 for every used field. */
static void start_values(Copies *c) {
  for (int k = 0; k < c->l->nuses; k++) {
    int f = c->l->uses[k].field;
    c->value[f] = (Version){f, 0};
    c->versions[f] = 0;
  }
}

/* Allocates the roots in the fields' uses: one for each time that an instance writes the field. */
static void start_roots(const Copies *c) {
  Launch *l = c->l;
  int32_t n = 0;
  for (int i = 0; i < c->n; i++)
    for (int t = 0; t < c->st[i].ntargets; t++, n++)
      launch_use(l, c->st[i].targets[t])->nroots++;
  Rooted *roots = ARENA_ARRAY(l->m->arena, Rooted, n);
  for (int k = 0; k < l->nuses; k++) {
    l->uses[k].roots = roots;
    roots += l->uses[k].nroots;
    l->uses[k].nroots = 0;
  }
}

/* Notes that the remaining instances from number `from` on read the targets of instance `i` as the present roots. */
static void note_roots(const Copies *c, int i, int32_t from) {
  for (int t = 0; t < c->st[i].ntargets; t++) {
    FieldUse *u = launch_use(c->l, c->st[i].targets[t]);
    u->nroots -= u->nroots && u->roots[u->nroots - 1].from == from;
    u->roots[u->nroots++] = (Rooted){from, c->value[u->field]};
  }
}

/* Makes the remaining instances and their roots. */
static void make_instances(Copies *c) {
  Launch *l = c->l;
  int32_t n = 0;
  Stencil *left = ARENA_ARRAY(l->m->arena, Stencil, c->n);
  start_values(c);
  start_roots(c);
  number_bodies(c);
  for (int i = 0; i < c->n; i++) {
    left[n] = without_copies(c, i);
    n += left[n].ntargets > 0;
    write_targets(c, i);
    note_roots(c, i, n);
  }
  l->n = n;
  l->st = left;
  l->sees = true;
}

void launch_drop_copies(Launch *l, const bool *wanted) {
  Arena *a = arena_scratch(l->m->arena);
  ArenaMark start = arena_mark(a);
  int32_t nfields = l->m->nfields;
  Copies c = {.l = l,
              .n = l->n,
              .st = l->st,
              .wanted = wanted,
              .value = ARENA_ARRAY(a, Version, nfields),
              .versions = ARENA_ARRAY(a, int32_t, nfields),
              .stored_by = ARENA_ARRAY(a, int32_t, nfields),
              .written = ARENA_ARRAY(a, bool, nfields),
              .kept = ARENA_ARRAY(a, bool, nfields),
              .source = ARENA_ARRAY(a, bool, nfields)};
  bool any = false, left = false, dropped = false;
  note_targets(&c);
  start_values(&c);
  for (int i = 0; i < c.n; i++)
    write_targets(&c, i);
  settle_fields(&c);
  for (int i = 0; i < c.n; i++)
    for (int t = 0; t < c.st[i].ntargets; t++) {
      any = any || copy_of(&c, &c.st[i], c.st[i].targets[t]) >= 0;
      left = left || is_computed(&c, i, c.st[i].targets[t]);
      dropped = dropped || !is_computed(&c, i, c.st[i].targets[t]);
    }
  if (any && left && (dropped || c.n > 1))
    make_instances(&c);
  arena_release(a, start);
}
