/* warps.c: a level of the pipeline of warps: the rows of values that a time step makes of its fields.
 *
 * A level is a time step: its stencils, the *stages*, one after the other. It is a list of values, each of which has
 * one number at every point: the fields as they arrive, the operations of the stages' main pieces, the fields' new
 * values. A field that no stage writes is passed on. Every operation has the operands that it has in the program, so
 * results do not change by a bit: nothing is reassociated. */
#include "passes/tile/warps.h"
#include "passes/base/tuning.h"

#include <string.h>

/* A level that is being made; why: the reason why it does not fit. */
typedef struct Making {
  WarpLevel *e;
  const char *why;
} Making;

/* Notes why the level does not fit; the first reason counts. */
static void reject(Making *k, const char *why) { k->why = k->why ? k->why : why; }

const Box *warps_region(const WarpLevel *e) { return &e->m->fields[e->field[0].field].box; }

const Probe *warps_probe(const WarpLevel *e, int v) {
  const WarpValue *x = &e->value[v];
  int32_t series = x->kind == WARP_NEW && x->wanted ? e->m->fields[x->field].series : 0;
  return series ? &e->m->probes[series - 1] : NULL;
}

/* ---- values */

/* Adds a value of that kind; returns its number. */
static int32_t add_value(Making *k, WarpKind kind, Type t) {
  WarpLevel *e = k->e;
  WarpValue v = {.kind = kind, .type = t, .outside = -1, .carries = -1};
  ARENA_PUSH(e->m->arena, e->value, e->nvalues, v);
  return e->nvalues - 1;
}

/* Adds `use` to the uses of value number `v`. */
static void add_use(Making *k, int32_t v, WarpUse use) {
  WarpValue *x = &k->e->value[v];
  ARENA_PUSH(k->e->m->arena, x->uses, x->nuses, use);
}

/* The entry of `sees` for field `f` before stage `s`. */
static int32_t *seen(WarpLevel *e, int s, int f) { return &e->sees[s * e->m->nfields + f]; }

/* Adds the value of field `f` that arrives at the level. */
static int32_t input_of(Making *k, int f) {
  int32_t v = add_value(k, WARP_INPUT, k->e->m->fields[f].type);
  k->e->value[v].field = f;
  return v;
}

/* Notes the rules by which access `op` from the points of `box`, use `u`, leaves the field's region. */
static void note_rules(Making *k, const Box *box, const Op *op, WarpUse *u) {
  WarpLevel *e = k->e;
  Rules rules = access_rules(e->m, box, op->sym, op->off);
  for (int d = 0; d < 2; d++) {
    int32_t off = u->off[d], far = off < 0 ? -off : off;
    int64_t lo, hi;
    e->wraps[d] = e->wraps[d] || rules.dim[d] == OUTSIDE_PERIODIC;
    e->constant = e->constant || rules.dim[d] == OUTSIDE_CONST;
    if (!outside_leads(rules.dim[d]))
      continue;
    outside_reach(rules.dim[d], off, &lo, &hi);
    u->rule[d] = rules.dim[d];
    u->lo[d] = (int32_t)lo;
    u->hi[d] = (int32_t)hi;
    e->ruled[d] = larger(e->ruled[d], far);
  }
}

/* A use of value `v`, `dy` rows and `dx` columns away. */
static WarpUse plain_use(int32_t v, int64_t dy, int64_t dx) {
  int32_t y = (int32_t)dy, x = (int32_t)dx;
  return (WarpUse){.value = v, .off = {y, x}, .lo = {y, x}, .hi = {y, x}};
}

/* Operand `x` of stage `s` in piece `p`, as a use of a value. */
static WarpUse use_of(Making *k, int s, const Piece *p, const Value *x) {
  const Op *op = x->def;
  WarpLevel *e = k->e;
  if (op->code != OP_ACCESS)
    return plain_use(e->base[s][p - e->st[s].pieces] + x->id, 0, 0);
  int32_t side = (int32_t)(op->off[1] < 0 ? -op->off[1] : op->off[1]);
  e->beside = side > e->beside ? side : e->beside;
  if (*seen(e, s, op->sym) < 0)
    *seen(e, s, op->sym) = input_of(k, op->sym);
  WarpUse u = plain_use(*seen(e, s, op->sym), op->off[0], op->off[1]);
  note_rules(k, &p->box, op, &u);
  return u;
}

/* Adds the values of the body of piece `p` of stage `s`. */
static void add_body(Making *k, int s, const Piece *p) {
  WarpLevel *e = k->e;
  int n = body_number(p->body);
  int32_t first = e->base[s][p - e->st[s].pieces] = e->nvalues;
  for (int i = 0; i < n; i++)
    add_value(k, WARP_NOTHING, TY_I32);
  for (const Op *op = p->body->first; op; op = op->next) {
    if (!op->nresults || op->code == OP_ACCESS)
      continue;
    int32_t v = first + op->results[0]->id;
    e->value[v].kind = WARP_OP;
    e->value[v].stage = s;
    e->value[v].op = op;
    e->value[v].type = op->results[0]->type;
    e->value[v].free = true;
    e->value[v].of_row = op->code != OP_INDEX || op->sym == 0;
    for (int i = 0; i < op->noperands; i++) {
      WarpUse use = use_of(k, s, p, op->operands[i]);
      add_use(k, v, use);
      e->value[v].free = e->value[v].free && e->value[use.value].free;
      e->value[v].of_row = e->value[v].of_row && e->value[use.value].of_row;
    }
  }
}

/* Does piece `p` read other points than its own? */
static bool reads_beside(const Piece *p) {
  bool beside = false;
  for (const Op *op = p->body->first; op; op = op->next)
    beside = beside || (op->code == OP_ACCESS && (op->off[0] || op->off[1]));
  return beside;
}

/* Is piece `p` more likely than `best` (NULL: none yet) the piece of nearly all points? It is if it has more free
 * dimensions; of two that have as many, one of which may be a wide strip, the one that reads other points than its
 * own. */
static bool is_rather_main(Arena *a, const Piece *p, const Piece *best) {
  int more = best ? free_dimensions(a, &p->box) - free_dimensions(a, &best->box) : 1;
  return more > 0 || (more == 0 && reads_beside(p) && !reads_beside(best));
}

/* The main piece of stage `s` among those that compute field `f`. */
static const Piece *main_piece_of(const WarpLevel *e, int s, int f) {
  const Piece *best = NULL;
  for (int i = 0; i < e->st[s].npieces; i++) {
    const Piece *p = &e->st[s].pieces[i];
    if (piece_target(p, f) >= 0 && is_rather_main(e->m->arena, p, best))
      best = p;
  }
  return best;
}

/* Does field `f` have a value outside of main piece `p` of stage `s`? A temp field has one there only if it was written
 * before, or if another piece writes it, which need not read any field. */
static bool has_outside(const WarpLevel *e, int s, int f, const Piece *p) {
  bool has = !e->m->fields[f].temp || e->sees[s * e->m->nfields + f] >= 0;
  for (int i = 0; i < e->st[s].npieces; i++)
    has = has || (&e->st[s].pieces[i] != p && piece_target(&e->st[s].pieces[i], f) >= 0);
  return has && box_inside(&e->m->fields[f].box, &p->box) != 1;
}

/* Adds the value that field `f` has outside of main piece `p` of stage `s`: of other pieces, or the one before. -1: it
 * has none, or there are no such points. */
static int32_t add_outside(Making *k, int s, int f, const Piece *p) {
  WarpLevel *e = k->e;
  if (!has_outside(e, s, f, p))
    return -1;
  int32_t v = add_value(k, WARP_OUTSIDE, e->m->fields[f].type);
  e->value[v].stage = s;
  e->value[v].field = f;
  e->value[v].piece = p;
  if (*seen(e, s, f) < 0 && !e->m->fields[f].temp)
    *seen(e, s, f) = input_of(k, f);
  if (*seen(e, s, f) >= 0)
    add_use(k, v, plain_use(*seen(e, s, f), 0, 0));
  for (int i = 0; i < e->st[s].npieces; i++) {
    const Piece *other = &e->st[s].pieces[i];
    if (other != p && piece_target(other, f) >= 0 && reads_beside(other))
      reject(k, "a second piece reads other points than its own");
    for (const Op *op = other->body->first; op && other != p && piece_target(other, f) >= 0; op = op->next) {
      if (op->code == OP_ACCESS && !k->why)
        add_use(k, v, use_of(k, s, other, op->results[0]));
    }
  }
  return v;
}

/* Adds the value that stage `s` makes of field `f`; returns its number. */
static int32_t add_new(Making *k, int s, int f) {
  WarpLevel *e = k->e;
  const Piece *p = main_piece_of(e, s, f);
  if (e->base[s][p - e->st[s].pieces] < 0)
    add_body(k, s, p);
  WarpUse use = use_of(k, s, p, p->body->last->operands[piece_target(p, f)]);
  int32_t outside = add_outside(k, s, f, p), v = add_value(k, WARP_NEW, e->m->fields[f].type);
  e->value[v].stage = s;
  e->value[v].field = f;
  e->value[v].piece = p;
  e->value[v].outside = outside;
  add_use(k, v, use);
  if (outside >= 0)
    add_use(k, v, plain_use(outside, 0, 0));
  return v;
}

/* Adds stage `s`, which reads the fields as `sees` says; sets `sees` for the stage after it. */
static void add_stage(Making *k, int s) {
  WarpLevel *e = k->e;
  const Stencil *st = &e->st[s];
  int32_t *made = ARENA_ARRAY(e->m->arena, int32_t, st->ntargets);
  e->base[s] = ARENA_ARRAY(e->m->arena, int32_t, st->npieces + 1);
  for (int i = 0; i < st->npieces; i++)
    e->base[s][i] = -1;
  for (int t = 0; t < st->ntargets; t++)
    made[t] = add_new(k, s, st->targets[t]);
  for (int f = 0; f < e->m->nfields; f++)
    *seen(e, s + 1, f) = *seen(e, s, f);
  for (int t = 0; t < st->ntargets; t++)
    *seen(e, s + 1, st->targets[t]) = made[t];
}

/* ---- fields */

/* Marks value `v`, and all values that it uses, as wanted. */
static void want(WarpLevel *e, int32_t v) {
  if (e->value[v].wanted)
    return;
  e->value[v].wanted = true;
  for (int i = 0; i < e->value[v].nuses; i++)
    want(e, e->value[v].uses[i].value);
}

/* The value of field `f` that arrives at the level, which no stage made. -1: there is none. */
static int32_t first_value(const WarpLevel *e, int f) {
  for (int v = 0; v < e->nvalues; v++)
    if (e->value[v].kind == WARP_INPUT && e->value[v].field == f)
      return v;
  return -1;
}

/* Does a stage write field `f`? */
static bool is_written(const WarpLevel *e, int f) {
  for (int s = 0; s < e->n; s++)
    if (stencil_target(&e->st[s], f) >= 0)
      return true;
  return false;
}

/* Finds the fields that go from level to level, and marks the values that they need as wanted. */
static void find_fields(Making *k) {
  WarpLevel *e = k->e;
  for (int f = 0; f < e->m->nfields; f++)
    if (!e->m->fields[f].temp && is_written(e, f))
      want(e, *seen(e, e->n, f));
  for (int f = 0; f < e->m->nfields; f++) {
    int32_t in = first_value(e, f);
    in = in >= 0 && e->value[in].wanted ? in : -1;
    bool written = is_written(e, f), lives = !e->m->fields[f].temp && !e->m->fields[f].series && written;
    if (in >= 0 && e->m->fields[f].temp)
      reject(k, "a temp field is read before it is written");
    if (in >= 0 || lives)
      ARENA_PUSH(e->m->arena, e->field, e->nfields, ((WarpField){f, in, lives ? *seen(e, e->n, f) : in, written}));
  }
}

/* ---- which steps fit */

/* The reason why the step of `m` does not fit, as far as it can be told without the step's values; NULL: none. */
static const char *why_not_step(const Module *m, int n, const Stencil *st) {
  if (m->grid.rank != 2)
    return "the grid has not two dimensions";
  if (n < 1)
    return "a step has no stencils";
  if (group_count(n, st) > 1)
    return "a step is cut into several launches";
  for (int s = 0; s < n; s++)
    if (!st[s].npieces)
      return "a stencil has no pieces";
  return NULL;
}

/* Does field `f` have the region of the fields that go from level to level? */
static bool is_on_region(const WarpLevel *e, int f) { return box_equal(&e->m->fields[f].box, warps_region(e)); }

/* The reason why field `f` does not fit. A temp field may have another region, if nothing reads beyond it. */
static const char *why_not_field(const WarpLevel *e, int f) {
  const Field *field = &e->m->fields[f];
  int32_t size = type_size(field->type);
  return field_lacks_any(field)                                  ? "a field does not have all dimensions"
         : size != 4 && size != 8                                ? "a field's values do not take 4 or 8 bytes"
         : !is_on_region(e, f) && !field->temp && !field->series ? "fields have different regions"
                                                                 : NULL;
}

/* Rejects fields that do not fit level k->e. */
static void check_fields(Making *k) {
  WarpLevel *e = k->e;
  if (!e->nfields || e->nfields > MAX_WARP_FIELDS)
    reject(k, e->nfields ? "a step has too many fields" : "a step writes no field");
  for (int v = 0; v < e->nvalues && e->nfields; v++) {
    const WarpValue *x = &e->value[v];
    if (x->kind == WARP_INPUT || x->kind == WARP_NEW) {
      const char *why = why_not_field(e, x->field);
      if (why)
        reject(k, why);
    }
    for (int d = 0; d < 2 && warps_probe(e, v); d++)
      if (!points_inside(e->m, &x->piece->box, warps_region(e), d))
        reject(k, "a probe sees points beyond the fields' region");
  }
  for (int v = 0; v < e->nvalues && e->nfields; v++)
    for (int d = 0; d < 2 && e->value[v].kind == WARP_NEW; d++) {
      const Box *box = &e->value[v].piece->box, *all = warps_region(e);
      bool whole = affine_equal(box->lo[d], all->lo[d]) && affine_equal(box->hi[d], all->hi[d]);
      if (e->wraps[d] && e->value[v].wanted && !whole && !warps_probe(e, v))
        reject(k, "a stencil leaves out points of a periodic dimension");
    }
}

/* Are the points at offset `off` from those points of `box` that are in the region in the region, too? */
static bool stays_inside(const WarpLevel *e, const Box *box, const int64_t *off) {
  const Box *all = warps_region(e);
  bool inside = true;
  int64_t k;
  for (int d = 0; d < 2; d++) {
    inside = inside && (off[d] >= 0 || (affine_diff(box->lo[d], all->lo[d], &k) && k + off[d] >= 0));
    inside = inside && (off[d] <= 0 || (affine_diff(all->hi[d], box->hi[d], &k) && k - off[d] >= 0));
  }
  return inside;
}

/* Rejects, in a dimension that is periodic for one field, accesses beyond a field's region by another rule. For a field
 * with a region of its own, rejects accesses beyond that region, and accesses in it that are beyond the region of all
 * others: nothing is computed there. */
static void check_rules(Making *k) {
  const WarpLevel *e = k->e;
  for (int s = 0; s < e->n && e->nfields; s++)
    for (int i = 0; i < e->st[s].npieces; i++)
      for (const Op *op = e->st[s].pieces[i].body->first; op; op = op->next) {
        Rules rules = {{0}};
        if (op->code == OP_ACCESS)
          rules = access_rules(e->m, &e->st[s].pieces[i].box, op->sym, op->off);
        for (int d = 0; d < 2; d++)
          if (e->wraps[d] && rules.dim[d] != OUTSIDE_NONE && rules.dim[d] != OUTSIDE_PERIODIC)
            reject(k, "one dimension is periodic for one field and not for another");
        if (op->code != OP_ACCESS || is_on_region(e, op->sym))
          continue;
        bool beyond = box_inside(&e->m->fields[op->sym].box, warps_region(e)) != 1 &&
                      !stays_inside(e, &e->st[s].pieces[i].box, op->off);
        if (!rules_none(&rules) || beyond)
          reject(k, "fields have different regions");
      }
}

/* ---- reach */

/* Widens the level's reach to that of `x`. */
static void add_reach(WarpLevel *e, const WarpValue *x) {
  e->below = larger(e->below, x->lo[0]);
  e->above = larger(e->above, x->hi[0]);
  e->left = larger(e->left, x->lo[1]);
  e->right = larger(e->right, x->hi[1]);
}

/* Finds how far each value reads, and how far the level does: the values that leave it, and those that probes see. */
static void find_reach(WarpLevel *e) {
  for (int v = 0; v < e->nvalues; v++) {
    WarpValue *x = &e->value[v];
    for (int i = 0; i < x->nuses; i++) {
      const WarpUse *u = &x->uses[i];
      const WarpValue *of = &e->value[u->value];
      for (int d = 0; d < 2 && !of->free; d++) {
        x->lo[d] = larger(x->lo[d], of->lo[d] - u->lo[d]);
        x->hi[d] = larger(x->hi[d], of->hi[d] + u->hi[d]);
      }
    }
  }
  for (int i = 0; i < e->nfields; i++)
    add_reach(e, &e->value[e->field[i].out]);
  for (int v = 0; v < e->nvalues; v++)
    if (warps_probe(e, v))
      add_reach(e, &e->value[v]);
}

bool warps_has_boundary(const WarpLevel *e, int v) { return e->value[v].kind == WARP_NEW && e->value[v].outside >= 0; }

/* Sets to[v] to the one new value for which value v is used; -1: none, -2: several. */
static void find_ends(const WarpLevel *e, int32_t *to) {
  for (int v = 0; v < e->nvalues; v++)
    to[v] = -1;
  for (int v = e->nvalues - 1; v >= 0; v--)
    for (int i = 0; i < e->value[v].nuses && e->value[v].wanted; i++) {
      int32_t w = e->value[v].uses[i].value, end = e->value[v].kind == WARP_NEW ? v : to[v];
      to[w] = to[w] == -1 || to[w] == end ? end : -2;
    }
}

/* The value that can carry the outside value of new value `v` from time `time` to the next, -1: there is none. A value
 * that is used for `v` alone is not needed at points outside of the main piece. */
static int32_t carrier_of(const WarpLevel *e, const int32_t *to, int v, int time) {
  for (int w = 0; w < e->nvalues; w++) {
    const WarpValue *x = &e->value[w];
    if (x->kind == WARP_OP && to[w] == v && x->type == e->value[v].type && x->time == time && warps_kept(e, w) == 1)
      return w;
  }
  return -1;
}

/* Finds the sums that carry outside values. */
static void find_carriers(WarpLevel *e) {
  int32_t *to = ARENA_ARRAY(e->m->arena, int32_t, e->nvalues);
  find_ends(e, to);
  for (int v = 0; v < e->nvalues; v++) {
    WarpValue *x = &e->value[v];
    if (!x->wanted || !warps_has_boundary(e, v))
      continue;
    x->carried = e->value[x->outside].time < x->time;
    for (int time = e->value[x->outside].time; time < x->time; time++)
      x->carried = x->carried && carrier_of(e, to, v, time) >= 0;
    for (int time = e->value[x->outside].time; time < x->time && x->carried; time++)
      e->value[carrier_of(e, to, v, time)].carries = v;
  }
}

/* Are all kept values results of operations that are used for the last time one row later? */
static bool keeps_sums(const WarpLevel *e) {
  bool sums = true;
  for (int v = 0; v < e->nvalues; v++)
    sums = sums && (!warps_kept(e, v) || (e->value[v].kind == WARP_OP && warps_kept(e, v) == 1));
  return sums;
}

/* Makes the level of the `n` stages at `st`, as far as its values fit. */
static void make_level(Making *k, int n, const Stencil *st) {
  WarpLevel *e = k->e;
  Arena *a = e->m->arena;
  e->st = st;
  e->n = n;
  e->sees = ARENA_ARRAY(a, int32_t, (n + 1) * e->m->nfields);
  e->base = ARENA_ARRAY(a, int32_t *, n);
  for (int i = 0; i < (n + 1) * e->m->nfields; i++)
    e->sees[i] = -1;
  for (int s = 0; s < n && !k->why; s++)
    add_stage(k, s);
  if (k->why)
    return;
  find_fields(k);
  warps_find_choices(e);
  check_fields(k);
  check_rules(k);
  find_reach(e);
}

/* A copy of level `e` with its times, and those of its values; late: it may delay reads. */
static WarpLevel *with_times(const WarpLevel *e, bool late) {
  WarpLevel *out = ARENA_NEW(e->m->arena, WarpLevel);
  *out = *e;
  out->value = ARENA_ARRAY(e->m->arena, WarpValue, e->nvalues);
  memcpy(out->value, e->value, (size_t)e->nvalues * sizeof *e->value);
  warps_times(out, late);
  find_carriers(out);
  out->sums = keeps_sums(out);
  out->alone = out;
  return out;
}

/* Does level `late`, which delays reads, keep so many fewer words than `e`, the same level without, that it pays? With
 * delayed reads rings are longer, and places of rows in them have to be computed. */
static bool saves_enough(const WarpLevel *e, const WarpLevel *late) {
  static const WarpShape cell = {.X = 1, .C = 1};
  return warps_kept_words(late, &cell) <= tuning.pipeline_late * warps_kept_words(e, &cell);
}

const WarpLevel *warps_level(const Module *m, const char **why) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  *why = why_not_step(m, n, st);
  if (*why)
    return NULL;
  Making k = {.e = ARENA_NEW(m->arena, WarpLevel)};
  *k.e = (WarpLevel){.m = m};
  make_level(&k, n, st);
  if (!k.why && k.e->below + k.e->above < 1)
    reject(&k, "it reads no other rows");
  *why = k.why;
  if (k.why)
    return NULL;
  WarpLevel *e = with_times(k.e, false);
  const WarpLevel *alone = with_times(k.e, true);
  e->delayed = alone;
  e->alone = alone->delay && saves_enough(e, alone) ? alone : e;
  return e;
}

const WarpLevel *warps_level_for(const WarpLevel *e, const Schedule *s) {
  int32_t late = map_get(s, MAP_DELAYED);
  if (s->T != s->block[0])
    return e;
  return late < 0 ? e->alone : late && e->delayed->delay ? e->delayed : e;
}

int32_t warps_stages(const WarpLevel *e) {
  int32_t n = e->n;
  while (n > 0 && is_probe_stencil(e->m, &e->st[n - 1]))
    n--;
  return n;
}

bool warps_costs(const WarpValue *x) { return x->kind == WARP_OP && x->wanted && !x->free && !x->choice && !x->apart; }

int warps_operations(const WarpLevel *e) {
  int n = 0;
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (warps_costs(x))
      n += x->op->code == OP_DIV || x->op->code == OP_SQRT ? (int)measured.pipeline_root : x->op->code != OP_MUL;
  }
  return n;
}
