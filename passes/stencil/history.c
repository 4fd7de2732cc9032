/* history.c: replaces the rotation of time levels (Field.past) by stencils that copy: U@k := U@(k-1), .., U@1 := U.
 *
 * A field `U` with history K has the older levels `U@1` .. `U@K`, which rotate after each step. This pass adds a
 * stencil `history` directly before the first stencil of the step that writes `U`. It sets `U@K` to `U@(K-1)`, and so
 * on to `U@1 := U`, because `U` still has its value from the start of the step there. Later stencils read level k + 1
 * where the program says level k; if level K is read at all, there is a temp field `U@(K+1)` for it. So after the step,
 * for reductions and for the user, `U@1` is the value of `U` one step ago. A field that no stencil writes has its
 * levels rotated at the end of the step. One `history` serves all fields that the same stencil writes first and that
 * lie on the same region.
 *
 * Pasts without an init get an init `history`, after all others, that sets them to their fields' values; like all
 * inits, it is left out for fields that are given.
 *
 * In the end the copies are not made (launch/copies.c). With T steps in a tile a field with history K needs K + 1 +
 * min(T, K + 1) buffers, and fewer are impossible:
 *
 * - T = 1: the launch reads the K + 1 old levels, and stores the new level where no tile reads: tiles run in any order,
 *   and each reads its neighbours' points. That is K + 2 buffers. The oldest level is free after the launch, so its
 *   buffer takes the next step's values: the buffers rotate. If the oldest level is read at the point alone, loops on
 *   the CPU read all values of a point before they write it, and write the new level over it: K + 1 buffers, and
 *   memory need not deliver values first that are overwritten.
 * - 1 < T <= K: levels 0 .. T - 1 are new, and each needs a buffer that no tile reads. Levels T .. K are the old levels
 *   0 .. K - T: K + 1 + T.
 * - T > K: all levels are new. The last tile reads all K + 1 old levels when all other tiles have stored theirs: 2 (K +
 *   1), for any T.
 *
 * A step that is cut into several launches takes K + 2 as well, also if a later launch still reads `U@(K+1)`: the first
 * launch stores `U` to the buffer of that level, which holds nothing yet. One more is needed if such a launch writes
 * `U` again from other points' values, because K + 2 levels are then read while another is written. */
#include "passes/passes.h"
#include "passes/registry.h"

/* The state of the pass. levels[f]: the time levels of a field f with history K: levels[f][0] is f, levels[f][k] its
 * past k, levels[f][K + 1] the temp field that holds past K after the rotation, -1 as long as nobody needs it.
 * writer[f]: the stencil before which the levels of f rotate. grows: the list of fields has been copied, so that it can
 * grow. */
typedef struct History {
  Module *m;
  bool grows;
  int32_t nfields;
  int32_t **levels;
  int32_t *writer;
} History;

/* The number of the first of the `n` stencils at `st` that writes `field`, n if there is none. */
static int first_writer(int n, const Stencil *st, int field) {
  for (int i = 0; i < n; i++)
    for (int t = 0; t < st[i].ntargets; t++)
      if (st[i].targets[t] == field)
        return i;
  return n;
}

/* The number of the stencil before which the levels of a field rotate that stencil `i` is the first to write: `i`, or
 * the first stencil of the outermost repeat around it. */
static int moves_before(const Module *m, int i) {
  int r = i < m->nstencils ? repeat_of(m, m->stencils[i].stage) : -1;
  while (r >= 0 && repeat_around(m, r) >= 0)
    r = repeat_around(m, r);
  while (r >= 0 && i > 0 && m->stencils[i - 1].stage >= m->repeats[r].first)
    i--;
  return i;
}

/* The stage of the stencils that rotate levels before stencil number `i`. */
static int32_t stage_before(const Module *m, int i) {
  int r = i < m->nstencils ? repeat_of(m, m->stencils[i].stage) : -1;
  if (i == m->nstencils)
    return module_last_stage(m);
  while (r >= 0 && repeat_around(m, r) >= 0)
    r = repeat_around(m, r);
  return r < 0 ? m->stencils[i].stage : m->repeats[r].first - 1;
}

/* Finds the levels of all fields, and the stencils before which they rotate. False if no field has a history. */
static bool find_levels(History *h) {
  Module *m = h->m;
  bool any = false;
  h->nfields = m->nfields;
  h->levels = ARENA_ARRAY(m->arena, int32_t *, m->nfields);
  h->writer = ARENA_ARRAY(m->arena, int32_t, m->nfields);
  for (int f = 0; f < m->nfields; f++) {
    int K = m->fields[f].history;
    any = any || K;
    h->writer[f] = moves_before(m, first_writer(m->nstencils, m->stencils, f));
    h->levels[f] = ARENA_ARRAY(m->arena, int32_t, K + 2);
    h->levels[f][0] = f;
    h->levels[f][K + 1] = -1;
  }
  for (int f = 0; f < m->nfields; f++)
    if (m->fields[f].past)
      h->levels[m->fields[f].present][m->fields[f].past] = f;
  return any;
}

/* ---- copies */

/* Adds to `st` the copy of `from` to `field`. Targets stay in order of declaration. */
static void add_copy(const Module *m, Stencil *st, int field, int from) {
  Piece *p = st->pieces;
  Op *yield = p->body->last;
  Builder b = builder_before(m->arena, yield);
  static const int64_t here[MAX_RANK];
  int t = 0;
  while (t < p->ntargets && p->targets[t] < field)
    t++;
  Value **operands = ARENA_ARRAY(m->arena, Value *, p->ntargets + 1);
  int32_t *targets = ARENA_ARRAY(m->arena, int32_t, p->ntargets + 1);
  for (int i = 0; i < p->ntargets; i++) {
    operands[i + (i >= t)] = yield->operands[i];
    targets[i + (i >= t)] = p->targets[i];
  }
  operands[t] = build_access(&b, m->fields[from].type, from, here, m->grid.rank);
  targets[t] = field;
  yield->operands = operands;
  p->targets = st->targets = targets;
  yield->noperands = p->ntargets = ++st->ntargets;
}

/* A stencil without targets, on the region of field `f`. */
static Stencil new_copies(const Module *m, int f) {
  Stencil st = {.name = "history", .npieces = 1, .pieces = ARENA_NEW(m->arena, Piece), .loc = m->fields[f].loc};
  st.pieces[0] = (Piece){.box = m->fields[f].box, .body = block_new(m->arena, NULL), .loc = st.loc};
  Builder b = builder_at_end(m->arena, st.pieces[0].body);
  b.loc = st.loc;
  build_yield(&b, 0, NULL);
  return st;
}

/* The most targets of an init. An init of several fields becomes a kernel for each, which reads the inputs of all of
 * them. */
enum { MOST_INITS = 16 };

/* The stencil among the `*n` at `*list` for copies on the region of field `f`; a new one if none has fewer than `most`
 * targets. */
static Stencil *copies_for(const Module *m, int f, int most, int *n, Stencil **list) {
  for (int i = 0; i < *n; i++)
    if ((*list)[i].ntargets < most && box_equal(&(*list)[i].pieces[0].box, &m->fields[f].box))
      return &(*list)[i];
  ARENA_PUSH(m->arena, *list, *n, new_copies(m, f));
  return &(*list)[*n - 1];
}

/* ---- before the first step */

/* Adds inits that set pasts without an init to the values of their fields. */
static void add_inits(const History *h) {
  Module *m = h->m;
  Stencil *copies = NULL, *inits = NULL;
  int n = 0, ninits = 0;
  for (int f = 0; f < m->nfields; f++)
    if (m->fields[f].past && first_writer(m->ninits, m->inits, f) == m->ninits)
      add_copy(m, copies_for(m, f, MOST_INITS, &n, &copies), f, m->fields[f].present);
  for (int i = 0; i < m->ninits + n; i++)
    ARENA_PUSH(m->arena, inits, ninits, i < m->ninits ? m->inits[i] : copies[i - m->ninits]);
  m->inits = inits;
  m->ninits = ninits;
}

/* ---- in a step */

/* Copies the module's list of fields, once, so that it can grow. */
static void own_fields(History *h) {
  Module *m = h->m;
  Field *fields = NULL;
  int n = 0;
  for (int i = 0; i < m->nfields && !h->grows; i++)
    ARENA_PUSH(m->arena, fields, n, m->fields[i]);
  m->fields = h->grows ? m->fields : fields;
  h->grows = true;
}

/* The field that holds past K + 1 of field `f`; makes it if there is none. */
static int32_t last_level_of(History *h, int f) {
  Module *m = h->m;
  int K = m->fields[f].history;
  if (h->levels[f][K + 1] >= 0)
    return h->levels[f][K + 1];
  Field x = m->fields[f];
  x.name = arena_printf(m->arena, "%s@%d", m->fields[f].name, K + 1);
  for (int i = 2; module_find_field(m, x.name) >= 0; i++)
    x.name = arena_printf(m->arena, "%s@%d.%d", m->fields[f].name, K + 1, i);
  x.temp = true;
  x.exchange = EXCHANGE_NONE;
  x.history = 0;
  x.past = K + 1;
  x.present = f;
  own_fields(h);
  ARENA_PUSH(m->arena, m->fields, m->nfields, x);
  return h->levels[f][K + 1] = m->nfields - 1;
}

/* Makes stencil number `i` read the rotated levels of fields whose levels have rotated by then. */
static void move_accesses(History *h, int i) {
  Module *m = h->m;
  for (int k = 0; k < m->stencils[i].npieces; k++)
    for (Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next) {
      if (op->code != OP_ACCESS || !m->fields[op->sym].past || i < h->writer[m->fields[op->sym].present])
        continue;
      int f = m->fields[op->sym].present, past = m->fields[op->sym].past;
      op->sym = past == m->fields[f].history ? last_level_of(h, f) : h->levels[f][past + 1];
    }
}

/* Appends to the `*n` stencils at `*list` those that rotate levels before stencil number `i`. */
static void add_moves(const History *h, int i, int *n, Stencil **list) {
  const Module *m = h->m;
  Stencil *copies = NULL;
  int ncopies = 0;
  for (int f = 0; f < h->nfields; f++)
    for (int k = 1; m->fields[f].history && h->writer[f] == i && k <= m->fields[f].history + 1; k++)
      if (h->levels[f][k] >= 0)
        add_copy(m, copies_for(m, f, INT32_MAX, &ncopies, &copies), h->levels[f][k], h->levels[f][k - 1]);
  for (int k = 0; k < ncopies; k++) {
    copies[k].stage = stage_before(m, i);
    copies[k].group = m->nstencils ? m->stencils[i < m->nstencils ? i : i - 1].group : 0;
    ARENA_PUSH(m->arena, *list, *n, copies[k]);
  }
}

/* The pass. It leaves a module unchanged that has no history, or whose levels rotate already. */
Module *pass_history(PassContext *c, Module *m, int n, const PassOption *o) {
  History h = {.m = m};
  Stencil *stencils = NULL;
  int count = 0;
  (void)n, (void)o;
  if (module_moves_levels(m) || !find_levels(&h))
    return m;
  if (m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "pass 'history': the module has %d time levels already; run it before time-tile",
               m->time_tile);
    return NULL;
  }
  add_inits(&h);
  for (int i = 0; i < m->nstencils; i++)
    move_accesses(&h, i);
  for (int i = 0; i <= m->nstencils; i++) {
    add_moves(&h, i, &count, &stencils);
    if (i < m->nstencils)
      ARENA_PUSH(m->arena, stencils, count, m->stencils[i]);
  }
  pass_stat(c, count - m->nstencils, "history", "stencils that move time levels on");
  m->stencils = stencils;
  m->nstencils = count;
  return m;
}
