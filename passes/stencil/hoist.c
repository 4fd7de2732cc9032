/* hoist.c: computes values of a stencil that depend only on fields that no step changes once, before the first step,
 * and stores them in hidden fields that the steps read:
 *
 *     field phi : real on G input outside clamp
 *     stencil heart(v)[G] = v + k * (cos(phi) * cos(phi) * (v[0,1] - v) + ..)
 *  -> once heart.fixed(F)[..] = cos(phi) * cos(phi)
 *     stencil heart(v)[G] = v + k * (F * (v[0,1] - v) + ..)
 *
 * A value is *still* if it consists of constants, params, coordinates and fields that no stencil writes. `step`, the
 * values of reductions, elements of launch-time arrays, temps, older levels and fields of lists of points change, so
 * they are not still. Candidates are still floats that take 10 additions or more and that an op with a changing result
 * uses. One field holds all values of the main piece that are the same ops at other points (classes, alike.h; the
 * operands of a sum or product may be exchanged), on all points at which they are read. Beyond the grid the field
 * continues by a rule, if all of its inputs do so and belong to one point; otherwise the pass takes a smaller part of
 * the expression, or each value gets its own field. The pass searches up to four ops deep and takes the cheapest
 * solution. Reading a field counts 20 additions, and a function that is called for each point 60 more than elsewhere.
 * Fields that the piece no longer reads count as a gain, and in all the piece must save a tenth (`hoisted_...` and
 * `kept_...` in `tuning.def`). There are at most 16 hidden fields, with at most as many bytes for a point as all the
 * program's own fields: those whose values take longest. `-stats` prints how many were made, and how many were left out
 * for that reason. Ops and their order stay the same, so values stay the same to the bit, unless a product and a sum
 * that were rounded once are separated.
 *
 * Plans run `once` stencils after the inits. They run them again before the steps of a run if a field was set
 * meanwhile, or if the caller has the memory of a field that they read (a bound array, a tensor, a pointer) and so may
 * have written it. Params do not change in a plan. Checkpoints hold only the program's own fields; a plan that
 * continues from one computes the hidden fields again.
 *
 * The pass is not in the default pipeline. Plans on the host run it, and so does `stc explain` for them, unless
 * `-fno-hoist`, `-passes` or a cut grid excludes it, or the free memory is less than twice the memory of the program's
 * fields, which a remark (`-Rpass`) reports. Artifacts have no hidden fields, because their callers set fields in their
 * own memory, and nothing would report that hidden fields are out of date. If `-passes=` asks for the pass, making an
 * artifact is an error. On GPUs memory is the limit more often than arithmetic, and rules for edges differ in parts of
 * a grid: there only tests are kept (pass pack-tests). */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/stencil/alike.h"

#include <string.h>

/* Bodies of more than MOST_VALUES values are left alone. At most MOST_FIELDS fields are made. The search for roots goes
 * less than MOST_DEEP ops deep. */
enum { MOST_VALUES = 4000, MOST_FIELDS = 16, MOST_DEEP = 5 };

/* The state of the pass. changes[f]: do steps change field f, or may a launcher change it while they run? bytes, left:
 * how many more bytes for a point, and how many more hidden fields, are allowed. refused: the number of values that
 * would have paid. */
typedef struct Hoist {
  Module *m;
  bool *changes;
  int64_t bytes, left, made, refused;
} Hoist;

/* The analysis of a piece. still[id]: is the value still? place[c]: the region of a field for class c, its outside
 * rule, and the dimensions that it lacks. */
typedef struct Place {
  Box box;
  OutsideRule rule;
  bool lacks[MAX_RANK];
} Place;
typedef struct Look {
  Alike a;
  bool *still;
  Place *place;
} Look;

/* ---- what no step changes */

/* Is the result of `op` still, if its operands are? */
static bool is_still(const Hoist *h, const Op *op) {
  const Module *m = h->m;
  switch (op->code) {
  case OP_ACCESS: return !h->changes[op->sym];
  case OP_SCALAR: return !m->scalars[op->sym].is_reduction;
  case OP_CONST:
  case OP_INDEX: return true;
  case OP_STEP:
  case OP_FINE:
  case OP_COARSE:
  case OP_ELEMENT: return false;
  default: return op->nresults == 1 && op->nblocks == 0 && (op_info[op->code].flags & OPF_PURE);
  }
}

/* Finds the still values of the body. */
static void find_still(const Hoist *h, Look *l, const Block *body) {
  for (const Op *op = body->first; op; op = op->next) {
    bool still = op->nresults == 1 && is_still(h, op);
    for (int i = 0; i < op->noperands; i++)
      still = still && l->still[op->operands[i]->id];
    if (op->nresults == 1)
      l->still[op->results[0]->id] = still;
  }
}

/* ---- where a field for a class may lie */

/* Finds the dimensions that the root's field lacks: those that none of its inputs has and whose coordinates it does not
 * use. */
static void find_lacks(const Alike *a, bool *lacks) {
  const bool *in = alike_made_of(a);
  for (int d = 0; d < a->rank; d++)
    lacks[d] = true;
  for (int i = 0; i < a->n; i++) {
    const Op *op = in[i] ? a->v[i].op : NULL;
    for (int d = 0; op && d < a->rank; d++) {
      bool has = op->code == OP_ACCESS && !field_lacks(&a->m->fields[op->sym], d);
      lacks[d] = lacks[d] && !has && !(op->code == OP_INDEX && op->sym == d);
    }
  }
}

/* Finds the place of the field for the only root of `a`, of a piece on `box`; false if there is none. A value that
 * reads coordinates has no members at other points, because they would read other coordinates. */
static bool find_place(const Alike *a, const Box *box, Place *p) {
  int64_t low[MAX_RANK], high[MAX_RANK];
  bool apart = false, room = true;
  kept_reach(a, low, high);
  *p = (Place){*box, OUTSIDE_NONE, {false}};
  find_lacks(a, p->lacks);
  for (int d = 0; d < a->rank; d++) {
    if (p->lacks[d]) {
      p->box.lo[d] = p->box.hi[d] = affine_const(0);
      continue;
    }
    apart = apart || low[d] || high[d];
    p->box.lo[d] = affine_add_const(box->lo[d], low[d]);
    p->box.hi[d] = affine_add_const(box->hi[d], high[d]);
    room = room && (low[d] == 0 || kept_reaches(a->m->grid.lo[d], 0, p->box.lo[d])) &&
           (high[d] == 0 || kept_reaches(p->box.hi[d], 0, a->m->grid.hi[d]));
  }
  if (!apart || (room && kept_is_defined(a, &p->box)))
    return true;
  p->rule = kept_rule(a, box, low, high);
  for (int d = 0; d < a->rank && p->rule != OUTSIDE_NONE; d++)
    if (!p->lacks[d]) {
      p->box.lo[d] = box->lo[d];
      p->box.hi[d] = box->hi[d];
    }
  return p->rule != OUTSIDE_NONE;
}

/* The analysis `a` with class `of` as its only root. */
static Alike with_root(const Alike *a, int32_t of) {
  Alike one = *a;
  one.root = ARENA_ARRAY(a->m->arena, bool, a->n + 1);
  one.root[of] = true;
  one.nroots = 1;
  return one;
}

/* ---- which to keep */

/* Makes the class of value `id`, which is still and needed, a root. If it cannot be one, is too cheap, or if `deep` >
 * 0, tries the classes of its operands instead, with one op less to go down. seen[c]: 1 + the `deep` for which class c
 * was tried. */
static void add_root(Look *l, const Box *box, int32_t id, int deep, int *seen) {
  Alike *a = &l->a;
  int32_t of = a->v[id].of;
  const Op *op = a->v[of].op;
  if (seen[of] > deep || !op || op->noperands == 0)
    return;
  seen[of] = deep + 1;
  Type t = op->results[0]->type;
  if (!deep && !a->v[of].fixed && (t == TY_F32 || t == TY_F64) && alike_takes(a, of) >= tuning.kept_least) {
    ArenaMark mark = arena_mark(a->m->arena);
    Alike one = with_root(a, of);
    bool found = find_place(&one, box, &l->place[of]);
    arena_release(a->m->arena, mark);
    if (found) {
      a->nroots += !a->root[of];
      a->root[of] = true;
      return;
    }
  }
  for (int i = 0; i < op->noperands; i++)
    add_root(l, box, op->operands[i]->id, deep ? deep - 1 : 0, seen);
}

/* Analyses piece `piece` of stencil `st` and chooses the roots, `deep` ops below the still values that changing values
 * read. apart: each value gets a field of its own. */
static Look look_at(const Hoist *h, int st, int piece, int deep, bool apart) {
  const Piece *p = &h->m->stencils[st].pieces[piece];
  Look l = {.a = alike_look(h->m, st, piece, apart ? ORDER_APART : ORDER_ANY)};
  Arena *arena = h->m->arena;
  l.a.field = measured.hoisted_field;
  l.a.call = measured.hoisted_call;
  l.a.once = true;
  l.still = ARENA_ARRAY(arena, bool, l.a.n + 1);
  l.place = ARENA_ARRAY(arena, Place, l.a.n + 1);
  find_still(h, &l, p->body);
  int *seen = ARENA_ARRAY(arena, int, l.a.n + 1);
  for (const Op *op = p->body->first; op; op = op->next)
    for (int i = 0; i < op->noperands && !(op->nresults == 1 && l.still[op->results[0]->id]); i++)
      if (l.still[op->operands[i]->id])
        add_root(&l, &p->box, op->operands[i]->id, deep, seen);
  alike_drop_roots(&l.a, p->body);
  return l;
}

/* The bytes for a point of all fields of roots. */
static int64_t root_bytes(const Alike *a) {
  int64_t bytes = 0;
  for (int i = 0; i < a->n; i++)
    bytes += a->root[i] ? type_size(a->v[i].op->results[0]->type) : 0;
  return bytes;
}

/* Keeps the most expensive roots, as many as are allowed. Returns how many were removed. */
static int32_t keep_longest(const Hoist *h, Alike *a) {
  ArenaMark mark = arena_mark(a->m->arena);
  double *takes = ARENA_ARRAY(a->m->arena, double, a->n + 1);
  int32_t out = 0;
  for (int i = 0; i < a->n; i++)
    takes[i] = a->root[i] ? alike_takes(a, i) : 0;
  for (; a->nroots > h->left || root_bytes(a) > h->bytes; out++) {
    int32_t least = -1;
    for (int i = 0; i < a->n; i++)
      least = a->root[i] && (least < 0 || takes[i] < takes[least]) ? i : least;
    a->root[least] = false;
    a->nroots--;
  }
  arena_release(a->m->arena, mark);
  return out;
}

/* ---- rewriting */

/* Adds the field of class `of` and the `once` init that computes it. Returns how it is read. */
static Kept add_field(Hoist *h, const Look *l, int32_t of, const char *name, const Piece *piece) {
  Module *m = h->m;
  const Place *p = &l->place[of];
  Alike one = with_root(&l->a, of);
  Field f = {.name = kept_field_name(m, name, "fixed"),
             .type = l->a.v[of].op->results[0]->type,
             .box = p->box,
             .loc = piece->loc};
  Stencil st = {
      .name = kept_stencil_name(m, name, "fixed"), .once = true, .npieces = 1, .ntargets = 1, .loc = piece->loc};
  Kept kept = {m->nfields, kept_is_here(p->rule)};
  st.targets = ARENA_NEW(m->arena, int32_t);
  st.targets[0] = kept.field;
  st.pieces = ARENA_NEW(m->arena, Piece);
  st.pieces[0] = (Piece){p->box, 1, st.targets, kept_making_body(&one, piece->body, kept.here), piece->loc};
  outside_set(&f, p->rule);
  for (int d = 0; d < f.box.rank; d++)
    if (p->lacks[d])
      field_leave_out(&f, d);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  ARENA_PUSH(m->arena, m->inits, m->ninits, st);
  return kept;
}

/* Makes the piece of `l` read fields in place of the roots. */
static void apply(Hoist *h, const Look *l) {
  Stencil *st = &h->m->stencils[l->a.st];
  Piece *pieces = ARENA_ARRAY(h->m->arena, Piece, st->npieces);
  Kept *kept = ARENA_ARRAY(h->m->arena, Kept, l->a.n + 1);
  memcpy(pieces, st->pieces, sizeof *pieces * (size_t)st->npieces);
  st->pieces = pieces;
  Piece *piece = &pieces[l->a.piece];
  h->bytes -= root_bytes(&l->a);
  h->left -= l->a.nroots;
  h->made += l->a.nroots;
  for (int i = 0; i < l->a.n; i++)
    kept[i] = l->a.root[i] ? add_field(h, l, i, st->name, piece) : (Kept){-1, false};
  piece->body = kept_reading_body(&l->a, piece->body, kept);
}

/* ---- the pass */

/* Hoists the values of the main piece of stencil number `st` that pay. */
static void hoist_stencil(Hoist *h, int st) {
  int piece = main_piece_number(h->m->arena, &h->m->stencils[st]);
  const Block *body = h->m->stencils[st].pieces[piece].body;
  if (body_number(body) > MOST_VALUES)
    return;
  Look best = {0};
  int32_t refused = 0, left_out = 0;
  for (int i = 0; i < 2 * MOST_DEEP; i++) {
    Look l = look_at(h, st, piece, i / 2, i % 2);
    if (!alike_pays(&l.a, body, tuning.kept_gain))
      continue;
    refused = refused ? refused : l.a.nroots;
    int32_t out = keep_longest(h, &l.a);
    if (alike_pays(&l.a, body, tuning.kept_gain) &&
        (!best.still || alike_cost(&l.a, body) < alike_cost(&best.a, body))) {
      best = l;
      left_out = out;
    }
  }
  h->refused += best.still ? left_out : refused;
  if (best.still)
    apply(h, &best);
}

/* The bytes for a point of the lasting fields of `m` that have more than a line or a layer of points. */
static int64_t own_bytes(const Module *m) {
  int64_t bytes = 0;
  for (int f = 0; f < m->nfields; f++)
    if (!m->fields[f].temp && !m->fields[f].series && free_dimensions(m->arena, &m->fields[f].box) == m->grid.rank)
      bytes += type_size(m->fields[f].type);
  return bytes;
}

/* The pass. It does nothing for targets with threads, where reading a field may take longer than computing it, and for
 * a part of a grid, whose ghost cells are exchanged. */
Module *pass_hoist(PassContext *c, Module *m, int n, const PassOption *o) {
  Hoist h = {.m = m, .left = MOST_FIELDS};
  bool ok = true;
  bool always = pass_option_int(c, "hoist", n, o, "always", 0, 1, 0, &ok) != 0;
  if (!ok)
    return NULL;
  bool nothing = m->time_tile > 1 || m->part || (!always && c->target->simt);
  Module before = *m;
  module_renumber(m);
  kept_own_lists(m);
  h.changes = changing_fields(m);
  h.bytes = own_bytes(m);
  for (int i = 0, most = m->nstencils; i < most && !nothing; i++)
    if (!m->stencils[i].sweep && !stencil_is_scaled(&m->stencils[i]) && !is_probe_stencil(m, &m->stencils[i]) &&
        !is_history_stencil(m, &m->stencils[i]) && !stencil_is_thin(m, &m->stencils[i]))
      hoist_stencil(&h, i);
  if (h.made && kept_loses_launches(m, &before)) {
    *m = before;
    h.made = 0;
  }
  module_renumber(m);
  pass_stat(c, h.made, "hoist", "fields made of what no step changes");
  pass_stat(c, h.refused, "hoist", "more that would have more bytes than the program's own, or are too many");
  return m;
}
