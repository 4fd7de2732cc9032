/* launch.c: finds the fields that one launch reads from global memory, keeps in the tile and writes back, and decides
 * whether its stencil instances can share a launch. launch.h defines the terms.
 *
 * `launch_new` finds for each field whether version 0 is loaded, which versions have near accesses, how far these
 * reach, and whether the field is written in place (only own accesses of version 0, and no halo) or to the other buffer
 * of a pair, which the host swaps.
 *
 * Instances cannot share a launch in these cases, which messages name:
 *
 * - Near accesses go through a rule from points that may be far outside of the field's region; then the offset does not
 *   bound where the rule leads. A piece lies inside the region if its bounds say so for all params, or if a launch
 *   check ensures it (`check` in the IR); the front end makes such checks for pieces such as `[3 .. 4]` in a grid `[0
 *   .. N-1]`.
 * - Periodic fields with near accesses have different bounds in a dimension, or a written field does not lie inside
 *   these bounds. One wrapped coordinate must serve all fields.
 *
 * Then pass `fuse` cuts the step between them, with a remark; `-T` greater than 1 is an error. */
#include "passes/launch/launch.h"
#include "passes/launch/swept.h"

#include <string.h>

bool cut_has(const char *cut, const char *name) {
  size_t n = strlen(name);
  for (const char *s = cut; s; s = strpbrk(s, "+,") ? strpbrk(s, "+,") + 1 : NULL)
    if (strncmp(s, name, n) == 0 && (!s[n] || strchr("+,", s[n])))
      return true;
  return false;
}

bool stencil_keeps(const Module *m, const Stencil *st, int field) {
  for (int i = 0; i < st->npieces; i++)
    if (piece_target(&st->pieces[i], field) >= 0 && box_inside(&m->fields[field].box, &st->pieces[i].box) == 1)
      return false;
  return true;
}

void stencil_accesses(const Stencil *st, AccessFn fn, void *user) {
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op->code == OP_ACCESS)
        fn(user, &st->pieces[i], op->sym, op->off);
}

int launch_use_number(const Launch *l, int field) {
  int lo = 0, hi = l->nuses;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (l->uses[middle].field < field)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo;
}

FieldUse *launch_use(const Launch *l, int field) {
  static int32_t nowhere[] = {-1};
  static const FieldUse unused = {.field = -1, .into = -1, .from = -1, .depth = 2, .near = nowhere, .rows = nowhere};
  int k = launch_use_number(l, field);
  return k < l->nuses && l->uses[k].field == field ? &l->uses[k] : (FieldUse *)&unused;
}

Version launch_reads(const Launch *l, int field, int i) {
  const FieldUse *u = launch_use(l, field);
  int lo = 0, hi = u->nroots;
  if (!l->sees || u->field != field)
    return (Version){field, launch_version(l, field, i)};
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (u->roots[middle].from <= i)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo ? u->roots[lo - 1].root : (Version){field, 0};
}

int launch_version(const Launch *l, int field, int i) {
  const FieldUse *u = launch_use(l, field);
  int lo = 0, hi = u->versions;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (u->writer[middle] < i)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo;
}

/* Lists for each field the instances of `l` that write it. */
static void note_writers(Launch *l) {
  int32_t n = 0;
  for (int i = 0; i < l->n; i++)
    for (int t = 0; t < l->st[i].ntargets; t++, n++)
      launch_use(l, l->st[i].targets[t])->versions++;
  int32_t *writer = ARENA_ARRAY(l->m->arena, int32_t, n);
  for (int k = 0; k < l->nuses; k++) {
    FieldUse *u = &l->uses[k];
    u->writer = writer;
    writer += u->versions;
    u->versions = 0;
  }
  for (int i = 0; i < l->n; i++)
    for (int t = 0; t < l->st[i].ntargets; t++) {
      FieldUse *u = launch_use(l, l->st[i].targets[t]);
      ((int32_t *)u->writer)[u->versions++] = i;
    }
}

/* ---- launches of several steps */

Launch *part_launch(const Module *m, int n, const Stencil *step, int first, int end) {
  Stencil *own = repeat_levels(m, n, step, 1, false);
  launch_halo(m, end - first, own + first, own + n);
  return launch_new(m, end - first, own + first, own, own + n);
}

Launch *tiled_launch(const Module *m, int T) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  bool known = m->time_tile == T && n > 0;
  for (int i = 0; i < m->nstencils; i++)
    known = known && m->stencils[i].has_extent;
  st = known ? m->stencils : repeat_levels(m, n, st, T, true);
  return launch_new(m, n * T, st, st, st + n * T);
}

/* Which fields' earlier values do the instances so far need? wanted[f]: they need that of f; settled[f]: this is
 * decided. */
typedef struct Wants {
  bool *wanted, *settled;
} Wants;

/* Notes an access (a stencil_accesses callback). */
static void note_want(void *user, const Piece *piece, int field, const int64_t *off) {
  Wants *w = user;
  (void)piece, (void)off;
  w->wanted[field] = w->wanted[field] || !w->settled[field];
  w->settled[field] = true;
}

/* Has the module temp fields? */
static bool has_temps(const Module *m) {
  bool temps = false;
  for (int f = 0; f < m->nfields && !temps; f++)
    temps = m->fields[f].temp;
  return temps;
}

bool *temps_wanted(Arena *a, const Module *m, const Stencil *first, const Stencil *end) {
  Wants w = {ARENA_ARRAY(a, bool, m->nfields), ARENA_ARRAY(a, bool, m->nfields)};
  bool temps = has_temps(m);
  for (const Stencil *st = first; st < end && temps; st++) {
    stencil_accesses(st, note_want, &w);
    for (int t = 0; t < st->ntargets; t++) {
      int f = st->targets[t];
      w.wanted[f] = w.wanted[f] || (!w.settled[f] && stencil_keeps(m, st, f));
      w.settled[f] = true;
    }
  }
  return w.wanted;
}

/* ---- analysing */

/* The analysis of the accesses of instance `i` of `l`. versions[f]: the present version of f. own[f]: 1 + the last
 * instance that needs the point's own value of version 0. far[f]: version 0 of other points is needed. */
typedef struct Scan {
  Launch *l;
  int i;
  int32_t *versions, *own;
  bool *far;
} Scan;

/* Sets the reason why the instances cannot share a launch, unless there is one already. */
static void reject(Launch *l, const char *why) { l->illegal = l->illegal ? l->illegal : why; }

/* Notes that halo cells in dimension `d` are images of the points of the region of field `f`. */
static void wrap_dimension(Launch *l, int d, const Field *f) {
  if (l->wraps[d] && (!affine_equal(l->wrap_lo[d], f->box.lo[d]) || !affine_equal(l->wrap_hi[d], f->box.hi[d])))
    reject(l,
           arena_printf(l->m->arena, "periodic field '%s' has other bounds in dimension %d than another periodic field",
                        f->name, d));
  l->wraps[d] = true;
  l->wrap_lo[d] = f->box.lo[d];
  l->wrap_hi[d] = f->box.hi[d];
}

/* Notes a near access to `version` of `field` at `off` from the points of `box`. A rule can lead far away only from
 * points outside of the field's region. */
static void note_near(Scan *s, const Box *box, int field, int version, const int64_t *off, const Rules *rules) {
  Launch *l = s->l;
  const Field *f = &l->m->fields[field];
  FieldUse *u = launch_use(l, field);
  int64_t lo, hi;
  outside_reach(rules->dim[0], off[0], &lo, &hi);
  u->near[version] = s->i;
  if (lo < 0 || hi > 0)
    u->rows[version] = s->i;
  u->rows_lo = -lo > u->rows_lo ? (int32_t)-lo : u->rows_lo;
  u->rows_hi = hi > u->rows_hi ? (int32_t)hi : u->rows_hi;
  for (int d = 0; d < l->m->grid.rank; d++) {
    u->reach_lo[d] = -off[d] > u->reach_lo[d] ? (int32_t)-off[d] : u->reach_lo[d];
    u->reach_hi[d] = off[d] > u->reach_hi[d] ? (int32_t)off[d] : u->reach_hi[d];
    OutsideRule rule = rules->dim[d];
    if (rule == OUTSIDE_NONE || rule == OUTSIDE_CONST)
      continue;
    if (!points_inside(l->m, box, &f->box, d))
      reject(l, arena_printf(
                    l->m->arena,
                    "field '%s' is read through its outside rule from points that may be far outside of its region",
                    f->name));
    if (rule == OUTSIDE_PERIODIC)
      wrap_dimension(l, d, f);
  }
}

/* Notes that `v` is read while the current instance computes further versions of the field, so that all versions from
 * `v` on must be kept at once. If `v` is version 0, it must not be overwritten in global memory. */
static void note_read(Scan *s, Version v) {
  FieldUse *u = launch_use(s->l, v.field);
  int now = s->versions[v.field], depth = launch_version(s->l, v.field, s->i + 1) - v.version + 1;
  u->depth = depth > u->depth ? depth : u->depth;
  if (v.version == 0 && now > 0)
    s->far[v.field] = true;
}

/* Notes that the current instance needs the point's own value of version 0 of `field`. */
static void note_own(Scan *s, int field) {
  launch_use(s->l, field)->own_loads += s->own[field] != s->i + 1;
  s->own[field] = s->i + 1;
}

/* Notes one access (a stencil_accesses callback). */
static void note_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Scan *s = user;
  Rules rules = access_rules(s->l->m, &piece->box, field, off);
  Version v = launch_reads(s->l, field, s->i);
  bool own = rules_none(&rules);
  for (int d = 0; d < s->l->m->grid.rank; d++)
    own = own && off[d] == 0;
  note_read(s, v);
  if (v.version > 0) {
    if (!own)
      note_near(s, &piece->box, v.field, v.version, off, &rules);
  } else if (!launch_use(s->l, v.field)->fresh) {
    launch_use(s->l, v.field)->loaded = true;
    if (own)
      note_own(s, v.field);
    else
      s->far[v.field] = true;
  }
}

bool launch_holds(const Launch *l, int field, int i) {
  if (!l->m->fields[field].temp || (l->st[i].level == l->first_level && !launch_use(l, field)->fresh))
    return true;
  int before = launch_version(l, field, i);
  return before > 0 && l->st[launch_use(l, field)->writer[before - 1]].level == l->st[i].level;
}

/* Notes the accesses of instance `i` and the values that it keeps, then advances the versions of its targets. */
static void note_instance(Scan *s) {
  Launch *l = s->l;
  const Stencil *st = &l->st[s->i];
  stencil_accesses(st, note_access, s);
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op_is_scaled(op))
        launch_use(l, op->sym)->loaded = true;
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t];
    if (s->versions[f] == 0 && !launch_use(l, f)->fresh && stencil_keeps(l->m, st, f)) {
      launch_use(l, f)->loaded = true;
      note_own(s, f);
    }
  }
  for (int t = 0; t < st->ntargets; t++)
    s->versions[st->targets[t]]++;
}

/* The temp fields that instances before the launch have written, in `a`. */
static bool *written_earlier(Arena *a, const Launch *l) {
  bool *written = ARENA_ARRAY(a, bool, l->m->nfields), temps = has_temps(l->m);
  for (const Stencil *st = l->first; st < l->given && temps; st++)
    for (int t = 0; t < st->ntargets; t++)
      written[st->targets[t]] = true;
  return written;
}

/* Allocates the entries for versions and computes the hull; `scratch` is for temporary memory. */
static void measure(Launch *l, Arena *scratch) {
  int rank = l->m->grid.rank;
  bool *earlier = written_earlier(scratch, l);
  note_writers(l);
  for (int k = 0; k < l->nuses; k++) {
    FieldUse *u = &l->uses[k];
    u->fresh = l->m->fields[u->field].temp && !earlier[u->field];
    u->near = ARENA_ARRAY(l->m->arena, int32_t, u->versions + 1);
    u->rows = ARENA_ARRAY(l->m->arena, int32_t, u->versions + 1);
    for (int v = 0; v <= u->versions; v++)
      u->near[v] = u->rows[v] = -1;
  }
  for (int i = 0; i < l->n; i++)
    extent_grow(&l->hull, &l->st[i].extent, rank);
}

/* Do the points of `box` always lie in the range to which wrapping leads in dimension `d`? */
static bool is_wrapped_to(const Launch *l, const Box *box, int d) {
  Box wrapped = *box;
  wrapped.lo[d] = l->wrap_lo[d];
  wrapped.hi[d] = l->wrap_hi[d];
  return range_inside(box->lo[d], box->hi[d], l->wrap_lo[d], l->wrap_hi[d]) || points_inside(l->m, box, &wrapped, d);
}

/* Checks that, in dimensions with images, wrapping leads to all points that are written. */
static void check_images(Launch *l) {
  for (int k = 0; k < l->nuses; k++) {
    const Field *f = &l->m->fields[l->uses[k].field];
    for (int d = 0; d < l->m->grid.rank; d++)
      if (l->wraps[d] && l->uses[k].versions && !is_wrapped_to(l, &f->box, d))
        reject(l, arena_printf(l->m->arena,
                               "field '%s' is not known to lie inside the periodic fields' region in dimension %d",
                               f->name, d));
  }
}

/* Has the launch a halo? */
static bool has_halo(const Launch *l) {
  for (int d = 0; d < l->m->grid.rank; d++)
    if (l->hull.lo[d] || l->hull.hi[d])
      return true;
  return false;
}

/* The field that gets the last buffer when the buffers of the levels of field `f` rotate; `f` itself if none do. */
static int oldest_level(const Launch *l, int f) {
  int last = f;
  for (int k = 0; k < l->nuses; k++)
    if (l->uses[k].from == last) {
      last = l->uses[k].field;
      k = -1;
    }
  return last;
}

/* The temp field that gets the last buffer when the buffers of the levels of field `f` rotate, if its own buffer holds
 * nothing before the launch; -1 if there is none. */
static int free_level(const Launch *l, int f) {
  int last = oldest_level(l, f);
  return last != f && launch_use(l, last)->fresh ? last : -1;
}

/* Does a sweep read field `f` behind the point, so that it may have to be in memory during the launch? */
static bool is_read_behind(const Launch *l, int f) {
  for (int i = 0; i < l->n; i++)
    for (int k = 0; l->st[i].sweep && k < l->st[i].npieces; k++)
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        if (op->code == OP_BEHIND && op->sym == f)
          return true;
  return false;
}

/* Analyses the instances of `l`. wanted[f]: if f is written, it must be in global memory after the launch. */
static void analyse(Launch *l, const bool *wanted) {
  const Module *m = l->m;
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  measure(l, scratch);
  Scan s = {.l = l,
            .versions = ARENA_ARRAY(scratch, int32_t, m->nfields),
            .own = ARENA_ARRAY(scratch, int32_t, m->nfields),
            .far = ARENA_ARRAY(scratch, bool, m->nfields)};
  for (s.i = 0; s.i < l->n; s.i++)
    note_instance(&s);
  check_images(l);
  for (int k = 0; k < l->nuses; k++)
    if (l->uses[k].from >= 0)
      s.far[l->uses[k].from] = true;
  for (int k = 0; k < l->nuses; k++) {
    FieldUse *u = &l->uses[k];
    int f = u->field;
    u->stored = u->versions && (wanted[f] || (is_read_behind(l, f) && !launch_keeps(l, f))) && u->from < 0;
    u->paired = u->stored && (s.far[f] || (has_halo(l) && (u->loaded || !m->fields[f].temp)));
    u->into = u->paired ? free_level(l, f) : -1;
  }
  arena_release(scratch, start);
}

/* A field, and whether the one instance of launch `l` reads it at other points than the own one. */
typedef struct Beside {
  const Launch *l;
  int field;
  bool found;
} Beside;

/* AccessFn: notes an access to the field at another point, or one that a rule may lead elsewhere. */
static void note_beside(void *user, const Piece *piece, int field, const int64_t *off) {
  Beside *b = user;
  if (launch_reads(b->l, field, 0).field != b->field)
    return;
  Rules rules = access_rules(b->l->m, &piece->box, field, off);
  for (int d = 0; d < b->l->m->grid.rank; d++)
    b->found |= off[d] != 0 || rules.dim[d] != OUTSIDE_NONE;
}

void launch_store_over(Launch *l) {
  for (int k = 0; k < l->nuses && l->n == 1 && !has_halo(l); k++) {
    FieldUse *u = &l->uses[k];
    int last = u->paired && u->into < 0 ? oldest_level(l, u->field) : u->field;
    Beside b = {l, last, false};
    if (last == u->field)
      continue;
    stencil_accesses(l->st, note_beside, &b);
    if (!b.found)
      u->into = last;
  }
}

void launch_store_apart(Launch *l, bool all) {
  for (int k = 0; k < l->nuses; k++) {
    FieldUse *u = &l->uses[k];
    u->paired = u->paired || (u->stored && (all ? !l->m->fields[u->field].series : u->loaded));
  }
}

/* The fields that a launch uses: used[f]; the first and the last number. */
typedef struct Used {
  bool *used;
  int first, last;
} Used;

/* Notes that `field` is used. */
static void note_used(Used *u, int field) {
  u->used[field] = true;
  u->first = field < u->first ? field : u->first;
  u->last = field > u->last ? field : u->last;
}

/* Makes the list of uses of `l`: one entry, with nothing set, for each field that its instances read or write. */
static void list_uses(Launch *l) {
  Arena *scratch = arena_scratch(l->m->arena);
  ArenaMark start = arena_mark(scratch);
  Used u = {ARENA_ARRAY(scratch, bool, l->m->nfields + 1), l->m->nfields, -1};
  int n = 0;
  for (int i = 0; i < l->n; i++) {
    for (int t = 0; t < l->st[i].ntargets; t++)
      note_used(&u, l->st[i].targets[t]);
    for (int k = 0; k < l->st[i].npieces; k++)
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        if (op_reads_field(op) || op->code == OP_BEHIND)
          note_used(&u, op->sym);
  }
  for (int f = u.first; f <= u.last; f++)
    n += u.used[f];
  l->uses = ARENA_ARRAY(l->m->arena, FieldUse, n);
  for (int f = u.first; f <= u.last; f++)
    if (u.used[f])
      l->uses[l->nuses++] = (FieldUse){.field = f, .from = -1, .into = -1, .depth = 2};
  arena_release(scratch, start);
}

/* A launch of `n` instances with its list of uses, before any analysis. */
static Launch *start_launch(const Module *m, int n, const Stencil *st, const Stencil *first) {
  Launch *l = ARENA_NEW(m->arena, Launch);
  *l = (Launch){.m = m, .n = n, .st = st, .first = first, .given = st, .ngiven = n};
  l->first_level = n ? st[0].level : 0;
  l->steps = n ? st[n - 1].level - st[0].level + 1 : 1;
  list_uses(l);
  return l;
}

Launch *launch_new(const Module *m, int n, const Stencil *st, const Stencil *first, const Stencil *end) {
  Launch *l = start_launch(m, n, st, first);
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  bool *wanted = temps_wanted(scratch, m, st + n, end);
  for (int f = 0; f < m->nfields; f++)
    wanted[f] = wanted[f] || !m->fields[f].temp;
  launch_drop_copies(l, wanted);
  if (n > 0 && st[0].stage != st[n - 1].stage)
    reject(l, m->nrepeats ? "a repeat or an update of a scalar begins or ends between its stencils"
                          : "an update of a scalar stands between its stencils");
  const char *apart = swept_apart(l, wanted);
  if (apart)
    reject(l, apart);
  for (int i = 0; i < l->n && l->n > 1; i++)
    if (stencil_is_scaled(&l->st[i]))
      reject(l,
             arena_printf(m->arena, "'%s' reads another level of the grid, and is a launch of its own", l->st[i].name));
  analyse(l, wanted);
  arena_release(scratch, start);
  return l;
}

Launch *init_launch_new(const Module *m, const Stencil *st) {
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  bool *wanted = ARENA_ARRAY(scratch, bool, m->nfields);
  for (int f = 0; f < m->nfields; f++)
    wanted[f] = true;
  Launch *l = start_launch(m, 1, st, st);
  analyse(l, wanted);
  arena_release(scratch, start);
  return l;
}

/* ---- sizes */

int64_t launch_width(const Launch *l, int d, int64_t cells) { return cells - l->hull.lo[d] - l->hull.hi[d]; }

/* The bytes of one array for near accesses to `field`, rounded up to 16. */
static int64_t near_bytes(const Launch *l, int field, const int32_t *cells) {
  const FieldUse *u = launch_use(l, field);
  int64_t bytes = type_size(l->m->fields[field].type);
  for (int d = 0; d < l->m->grid.rank; d++)
    if (__builtin_mul_overflow(bytes, (int64_t)cells[d] + u->reach_lo[d] + u->reach_hi[d], &bytes))
      return INT64_MAX / 64;
  return bytes > INT64_MAX / 64 ? INT64_MAX / 64 : (bytes + 15) / 16 * 16;
}

/* Memory that arrays use one after the other, as pass shared-alloc assigns it. field: the field with the largest array,
 * which determines the layout; last: the slot is free after the accesses of this instance. */
typedef struct Slot {
  int32_t field, last;
  int64_t bytes;
} Slot;

/* Have the near arrays of both fields the same layout? */
static bool same_layout(const Launch *l, int f, int g) {
  const FieldUse *u = launch_use(l, f), *v = launch_use(l, g);
  bool same = l->m->fields[f].type == l->m->fields[g].type;
  for (int d = 0; d < l->m->grid.rank; d++)
    same = same && u->reach_lo[d] == v->reach_lo[d] && u->reach_hi[d] == v->reach_hi[d];
  return same;
}

/* The first of the `n` slots that is free when instance `i` first writes an array of `field`, preferably one with its
 * layout; n if there is none. */
static int free_slot(const Launch *l, int n, const Slot *slot, int field, int i) {
  int any = n;
  for (int k = 0; k < n; k++) {
    if (slot[k].last > i)
      continue;
    if (same_layout(l, slot[k].field, field))
      return k;
    any = k < any ? k : any;
  }
  return any;
}

int64_t launch_array_bytes(const Launch *l, const int32_t *cells) {
  Slot *slot = NULL;
  int n = 0;
  int64_t sum = 0;
  for (int i = 0; i < l->n; i++)
    for (int t = 0; t < l->st[i].ntargets; t++) {
      int f = l->st[i].targets[t], last = launch_use(l, f)->near[launch_version(l, f, i + 1)];
      int64_t bytes = near_bytes(l, f, cells);
      if (last < 0)
        continue;
      int k = free_slot(l, n, slot, f, i);
      if (k == n)
        ARENA_PUSH(l->m->arena, slot, n, ((Slot){f, last, 0}));
      if (bytes > slot[k].bytes)
        slot[k] = (Slot){f, last, bytes};
      slot[k].last = last;
    }
  for (int k = 0; k < n && sum < INT64_MAX / 2; k++)
    sum += slot[k].bytes;
  return sum;
}

int32_t launch_row_arrays(const Launch *l, int f, int32_t *array) {
  const FieldUse *u = launch_use(l, f);
  int32_t n = 0, *busy = ARENA_ARRAY(l->m->arena, int32_t, u->versions + 1);
  for (int v = 0; v <= u->versions; v++) {
    int32_t k = 0;
    while (u->rows[v] >= 0 && k < n && busy[k] >= u->writer[v - 1])
      k++;
    if (u->rows[v] >= 0) {
      n += k == n;
      busy[k] = u->rows[v];
    }
    if (array)
      array[v] = u->rows[v] < 0 ? -1 : k;
  }
  return n;
}

/* ---- rows of arrays */

double launch_bytes(const Launch *l) {
  double bytes = 0;
  for (int k = 0; k < l->nuses; k++)
    bytes += (double)type_size(l->m->fields[l->uses[k].field].type) * (l->uses[k].loaded + l->uses[k].stored);
  return bytes;
}

/* Rows at a multiple of PAGE_CELLS cells would map to the same sets of the first-level cache, and a load at that
 * distance from a store waits for the store. Such rows get ROW_CELLS more. */
enum { PAGE_CELLS = 512 };

int32_t row_cells(int32_t n) {
  int32_t cells = (n + ROW_CELLS - 1) / ROW_CELLS * ROW_CELLS;
  return cells % PAGE_CELLS == 0 ? cells + ROW_CELLS : cells;
}
