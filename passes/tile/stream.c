/* stream.c: streamed tiles: how far each instance (a stencil at a time level) lags behind the loads, and how many rows
 * of every version are kept for later instances. All of it follows from the accesses and their outside rules.
 *
 *   lag(i) >= lag(producer) + offset   for all accesses of instance i; one more if other warps made the row
 *
 * At step s instance i makes row s - lag(i). If it comes later in order than the producer of another version, it may
 * read a row of that version from the step on in which the row is made. Rows that other warps made are read a step
 * later, after the barrier. */
#include "passes/base/weights.h"
#include "passes/tile/mapping.h"
#include "passes/base/tuning.h"

/* The state of the search. Instance `i` is looked at: first its lag is found, then (`keeps`) the rows that it keeps
 * alive by accesses at `phase`. */
typedef struct Scan {
  Mapping *s;
  int i;
  bool keeps;
  int32_t phase;
  bool *moved;
} Scan;

/* ---- version 0 of fields whose points are far from the rows that are streamed */

bool stream_far(const Mapping *s, int i, int field, const int64_t *off, const Rules *rules) {
  bool own = rules_none(rules) && !field_lacks_any(&s->l->m->fields[field]);
  for (int d = 0; d < s->l->m->grid.rank; d++)
    own = own && off[d] == 0;
  return !own && s->far[i * s->l->m->nfields + field];
}

/* Version 0 of field `f` is accessed from the points of `box` under `rule` at offset `off` in dimension `d`. May the
 * rule lead further than the offset, or, for a halo cell that is an image, to a point that is not beside its cell? */
static bool leads_far(const Launch *l, const Box *box, const Field *f, int d, int64_t off, OutsideRule rule) {
  bool moves = rule != OUTSIDE_NONE && rule != OUTSIDE_CONST;
  if (field_lacks_any(f))
    return true;
  if (moves && !range_inside(box->lo[d], box->hi[d], f->box.lo[d], f->box.hi[d]))
    return true;
  if (!l->wraps[d] || (!moves && !off))
    return false;
  bool same = affine_equal(f->box.lo[d], l->wrap_lo[d]) && affine_equal(f->box.hi[d], l->wrap_hi[d]);
  return rule == OUTSIDE_PERIODIC ? !same : !range_inside(f->box.lo[d], f->box.hi[d], l->wrap_lo[d], l->wrap_hi[d]);
}

/* Notes whether instance k->i reads the field far away (a stencil_accesses callback). */
static void note_far(void *user, const Piece *piece, int field, const int64_t *off) {
  Scan *k = user;
  const Launch *l = k->s->l;
  Version v = launch_reads(l, field, k->i);
  Rules rules = access_rules(l->m, &piece->box, field, off);
  for (int d = 0; d < l->m->grid.rank && v.version == 0 && !launch_use(l, v.field)->fresh; d++)
    k->s->far[k->i * l->m->nfields + field] |= leads_far(l, &piece->box, &l->m->fields[field], d, off[d], rules.dim[d]);
}

/* ---- lags and windows */

KeptVersion *stream_window(const Mapping *s, int i, int field, const int64_t *off, const Rules *rules) {
  Version v = launch_reads(s->l, field, i);
  if (v.version == 0 && (launch_use(s->l, v.field)->fresh || stream_far(s, i, field, off, rules)))
    return NULL;
  return &s->kept[v.field][v.version];
}

/* Makes the halo contain the cells of version 0 that the instance reads between offsets lo and hi in dimension `d`. */
static void widen(Scan *k, int d, int64_t lo, int64_t hi) {
  const Extent *x = &k->s->l->st[k->i].extent;
  Extent *halo = &k->s->halo;
  halo->lo[d] = larger(halo->lo[d], x->lo[d] - lo);
  halo->hi[d] = larger(halo->hi[d], x->hi[d] + hi);
}

/* Notes in which dimensions an access under `rules` may lead to points where the field is a constant. */
static void note_constant(KeptVersion *w, int rank, const Rules *rules) {
  bool any = false;
  for (int d = 0; d < rank; d++)
    if (rules->dim[d] == OUTSIDE_CONST)
      any = w->tested[d] = true;
  w->constants += any;
}

/* Notes an access of the instance at offset `off` under `rules`. */
static void note(Scan *k, int field, const int64_t *off, const Rules *rules) {
  Mapping *s = k->s;
  int rank = s->l->m->grid.rank;
  KeptVersion *w = stream_window(s, k->i, field, off, rules);
  int64_t lo = 0, hi = 0, up = 0, down = 0;
  if (!w)
    return;
  if (rank > 1)
    outside_reach(rules->dim[0], off[0], &lo, &hi);
  if (rank > 2)
    outside_reach(rules->dim[1], off[1], &down, &up);
  bool across = !s->alone && (down < 0 || up > 0);
  int32_t *lag = &s->lag[k->i];
  if (!k->keeps) {
    *lag = (int32_t)larger(*lag, w->lag + hi + across);
    return;
  }
  int64_t back = *lag - k->phase - w->lag - lo;
  w->used = true;
  w->rows = (int32_t)larger(w->rows, back);
  w->reach_lo = (int32_t)larger(w->reach_lo, -down);
  w->reach_hi = (int32_t)larger(w->reach_hi, up);
  if (across)
    w->across = (int32_t)larger(w->across, back);
  note_constant(w, rank, rules);
  Version v = launch_reads(s->l, field, k->i);
  for (int d = 0; d < rank && v.version == 0; d++) {
    outside_reach(rules->dim[d], off[d], &lo, &hi);
    widen(k, d, lo, hi);
    k->moved[v.field] |= off[d] || rules->dim[d] != OUTSIDE_NONE;
    s->wraps[v.field][d] |= rules->dim[d] == OUTSIDE_PERIODIC && !s->l->wraps[d];
  }
}

/* Notes an access of `piece`. */
static void note_access(Scan *k, const Piece *piece, int field, const int64_t *off) {
  Rules rules = access_rules(k->s->l->m, &piece->box, field, off);
  note(k, field, off, &rules);
}

/* Notes the accesses of `piece` at the phases at which they are used under the plan `e` (NULL: all at 0). */
static void note_piece(Scan *k, const Piece *piece, const Partial *e) {
  int32_t id = 0;
  for (const Op *op = piece->body->first; op; id += op->nresults, op = op->next) {
    if (op->code != OP_ACCESS || (e && e->use[id] == INT32_MAX))
      continue;
    k->phase = e ? e->use[id] : 0;
    note_access(k, piece, op->sym, op->off);
  }
  k->phase = 0;
}

/* Notes all reads of instance k->i, including those of targets whose values it keeps. */
static void note_instance(Scan *k) {
  static const int64_t here[MAX_RANK];
  static const Rules none;
  const Launch *l = k->s->l;
  const Stencil *st = &l->st[k->i];
  for (int i = 0; i < st->npieces; i++) {
    const Partial *e = k->s->partial[k->i];
    note_piece(k, &st->pieces[i], e && e->piece == i ? e : NULL);
  }
  for (int t = 0; t < st->ntargets; t++)
    if (stencil_keeps(l->m, st, st->targets[t]) && launch_holds(l, st->targets[t], k->i))
      note(k, st->targets[t], here, &none);
}

/* Sets the lag of the versions that instance `i` makes; a version that is stored is used. */
static void note_targets(Mapping *s, int i) {
  const Launch *l = s->l;
  for (int t = 0; t < l->st[i].ntargets; t++) {
    int f = l->st[i].targets[t], v = launch_version(l, f, i + 1);
    s->kept[f][v].lag = s->lag[i];
    if (!launch_use(l, f)->stored || v != launch_use(l, f)->versions)
      continue;
    s->kept[f][v].used = true;
    s->last = (int32_t)larger(s->last, s->lag[i]);
  }
}

/* Chooses the fields whose own values are loaded again by each reader rather than kept: those whose readers are more
 * than two rows apart. */
static void choose_direct(Mapping *s, const bool *moved) {
  for (int f = 0; f < s->l->m->nfields; f++) {
    KeptVersion *w = &s->kept[f][0];
    w->direct = w->used && !moved[f] && w->rows > 2 && (!launch_use(s->l, f)->stored || launch_use(s->l, f)->paired);
    w->behind = w->direct ? w->rows : 0;
    if (w->direct)
      w->rows = 0;
  }
}

/* Chooses the versions that are filled beyond the region: those with several accesses each of which would need a
 * test. None where cells beyond an edge are images of points: there it depends on the reading point whether they are
 * outside. */
static void choose_filled(Mapping *s) {
  bool wraps = s->alone;
  for (int d = 0; d < s->l->m->grid.rank; d++)
    wraps |= s->l->wraps[d];
  for (int f = 0; f < s->l->m->nfields && !wraps; f++)
    for (int v = 0; v <= launch_use(s->l, f)->versions; v++)
      s->kept[f][v].filled = s->kept[f][v].constants > 1;
}

/* Instructions of the longest piece of `st` for a point, about. */
static int64_t point_code(const Launch *l, const Stencil *st) {
  int64_t most = 0;
  for (int k = 0; k < st->npieces; k++) {
    int64_t cost = 0;
    for (const Op *op = st->pieces[k].body->first; op; op = op->next)
      cost += op_is_of_scalars(op) ? 0 : op_instructions(op, l->m->fast_math);
    most = cost > most ? cost : most;
  }
  return most;
}

int64_t stream_code(const Launch *l) {
  int64_t sum = 0;
  for (int i = 0; i < l->n; i++)
    sum += point_code(l, &l->st[i]);
  return sum;
}

/* Are partial sums kept from step to step? */
static bool keeps_sums(const Mapping *s) {
  bool any = false;
  for (int i = 0; i < s->l->n; i++)
    any |= s->partial[i] && s->partial[i]->words > 0;
  return any;
}

int32_t stream_least_written(const Mapping *s) {
  int32_t u = 1;
  for (int f = 0; f < s->l->m->nfields; f++)
    for (int v = 0; v <= launch_use(s->l, f)->versions; v++) {
      const KeptVersion *w = &s->kept[f][v];
      u = (int32_t)larger(u, w->rows);
      u = (int32_t)larger(u, w->across ? w->across + 1 : 1);
    }
  for (int i = 0; i < s->l->n; i++)
    for (int k = 0; s->partial[i] && k < s->partial[i]->n; k++)
      if (s->partial[i]->kept[k])
        u = (int32_t)larger(u, s->partial[i]->phase[k] - s->partial[i]->use[k]);
  return u;
}

/* Chooses the number of unrolled steps.
 *
 * If more steps are unrolled than rows are kept, a new row has a place of its own before the oldest one is read for the
 * last time, and nothing has to be moved. In rank 2 that is one step more, if the rows are fewer than
 * tuning.free_places. In rank 3, where one more step would take a line more of shared memory for each version, it is
 * twice the two that most programs need, if the instances of a point have no more than tuning.free_code instructions,
 * and no sums, in whose place their values can stay. */
static int32_t choose_unroll(const Mapping *s) {
  int32_t u = stream_least_written(s);
  if (s->l->m->grid.rank == 3 && !s->alone)
    return u == 2 && !keeps_sums(s) && stream_code(s->l) <= tuning.free_code ? 2 * u : u;
  return s->l->m->grid.rank == 2 && u < tuning.free_places ? u + 1 : u;
}

/* The mapping; see stream_new, and for `alone` stream_alone. */
static Mapping *make_stream(const Launch *l, bool alone) {
  Arena *a = l->m->arena;
  Mapping *s = ARENA_NEW(a, Mapping);
  *s = (Mapping){.l = l,
                 .streamed = true,
                 .alone = alone,
                 .halo = l->hull,
                 .lag = ARENA_ARRAY(a, int32_t, l->n + 1),
                 .partial = ARENA_ARRAY(a, Partial *, l->n + 1),
                 .kept = ARENA_ARRAY(a, KeptVersion *, l->m->nfields + 1)};
  Scan k = {.s = s, .moved = ARENA_ARRAY(a, bool, l->m->nfields + 1)};
  s->versions = ARENA_ARRAY(a, int32_t, l->m->nfields + 1);
  for (int f = 0; f < l->m->nfields; f++) {
    s->versions[f] = launch_use(l, f)->versions;
    s->kept[f] = ARENA_ARRAY(a, KeptVersion, launch_use(l, f)->versions + 1);
  }
  s->far = ARENA_ARRAY(a, bool, l->n * l->m->nfields + 1);
  s->wraps = arena_alloc(a, sizeof *s->wraps * (size_t)(l->m->nfields + 1));
  for (k.i = 0; k.i < l->n; k.i++) {
    stencil_accesses(&l->st[k.i], note_far, &k);
    k.keeps = false;
    note_instance(&k);
    s->partial[k.i] = alone ? NULL : partial_new(s, k.i);
    k.keeps = true;
    note_instance(&k);
    note_targets(s, k.i);
  }
  choose_direct(s, k.moved);
  choose_filled(s);
  s->unroll = choose_unroll(s);
  return s;
}

Mapping *stream_new(const Launch *l) { return make_stream(l, false); }

Mapping *stream_alone(const Launch *l) { return make_stream(l, true); }

Mapping *stream_for(const Launch *l, const Schedule *s) {
  Mapping *p = stream_new(l);
  p->unroll = map_get(s, MAP_WRITTEN) > 0 ? map_get(s, MAP_WRITTEN) : p->unroll;
  return p;
}

int64_t stream_words(const Mapping *s) {
  int64_t words = 0;
  for (int f = 0; f < s->l->m->nfields; f++)
    for (int v = 0; v <= launch_use(s->l, f)->versions; v++)
      words += s->kept[f][v].rows * ((type_size(s->l->m->fields[f].type) + 3) / 4);
  for (int i = 0; i < s->l->n; i++)
    words += s->partial[i] ? s->partial[i]->words : 0;
  return words;
}

int32_t stream_slots(const Mapping *s, int32_t ahead) {
  int32_t slots = ahead;
  while (slots % s->unroll && s->unroll % slots)
    slots++;
  return slots;
}

/* Asynchronous copies move 4, 8 or 16 bytes: smaller elements that are moved one by one are loaded to registers. */
Move stream_move(const Mapping *s, int field, int32_t ahead, int width, bool keeps) {
  const KeptVersion *w = &s->kept[field][0];
  Move m = {.width = width, .each = w->direct};
  if (!w->used)
    return m;
  bool copied = ahead > 1 && (keeps || !w->direct) && width * type_size(s->l->m->fields[field].type) >= 4;
  m.kind = copied ? MOVE_ASYNC : MOVE_LOAD;
  m.ahead = copied ? ahead : !w->direct;
  m.places = copied ? stream_slots(s, ahead + w->behind) : 1;
  return m;
}
