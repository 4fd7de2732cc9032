/* known-masks.c: where masks are true, as far as that is known before a program runs.
 *
 * It is known for masks that are computed from coordinates and params alone, and for masks computed from fields whose
 * values the caller has told (PassContext.known). The words that tests read are computed, by the bodies of the inits
 * that make them, at points spread evenly over the grid, so few that it takes some tenths of a second. The result is
 * used for choices alone: the device finds the class of a tile anew, from all of its points.
 *
 *     any, all    how many of those points before it in each dimension have some bit of a word, or all bits of all
 *
 * So at most eight numbers give the number of wet points in a box, whatever its size. */
#include "ir/run/run.h"
#include "passes/launch/launch.h"
#include "passes/plan/cost/count.h"

#include <math.h>
#include <string.h>

/* The approximate number of points at which words are computed; the most ops that are computed for them, some tenths of
 * a second; the most inits in a chain in which one reads the result of the next. */
enum { SAMPLES = 1 << 17, MOST_OPS = 1 << 25, MOST_DEPTH = 8 };

/* The source of a field's values: the init that makes it (NULL: none does), the number of values in its bodies, and the
 * values that the caller has told. */
typedef struct Source {
  const Stencil *init;
  int32_t nvalues;
  const ForeseenField *known;
} Source;

/* The state of sampling. ops: how many were computed; failed: something is not known, or takes too long. */
typedef struct Sampler {
  const Module *m;
  const Const *scalars;
  Source *sources;
  Arena *scratch;
  int depth;
  int64_t ops;
  bool failed;
} Sampler;

/* ---- the value of a field at a point */

/* Finds the source of each field. Numbers the values of the inits' bodies. */
static void find_sources(Sampler *s, const Foreseen *known) {
  const Module *m = s->m;
  for (int i = 0; i < m->ninits; i++)
    for (int k = 0; k < m->inits[i].npieces; k++) {
      const Piece *p = &m->inits[i].pieces[k];
      int32_t n = block_renumber(p->body, 0);
      for (int t = 0; t < p->ntargets; t++) {
        Source *x = &s->sources[p->targets[t]];
        x->init = &m->inits[i];
        x->nvalues = n > x->nvalues ? n : x->nvalues;
      }
    }
  for (int f = 0; f < m->nfields && known; f++)
    for (int i = 0; i < known->nfields; i++)
      if (strcmp(m->fields[f].name, known->fields[i].name) == 0)
        s->sources[f].known = &known->fields[i];
}

static Const value_at(Sampler *s, int field, const int64_t *at);

/* The value of access `op` at the point: beyond an edge a constant, else the value there. */
static Const accessed(Sampler *s, const Op *op, const int64_t *at) {
  const Field *f = &s->m->fields[op->sym];
  int64_t to[MAX_RANK];
  for (int d = 0; d < s->m->grid.rank; d++) {
    int64_t lo = affine_eval(f->box.lo[d], s->scalars, NULL), hi = affine_eval(f->box.hi[d], s->scalars, NULL);
    to[d] = at[d] + op->off[d];
    if (!field_lacks(f, d) && (to[d] < lo || to[d] > hi) && f->outside[d] == OUTSIDE_CONST)
      return f->outside_value;
    to[d] = to[d] < lo ? lo : to[d] > hi ? hi : to[d];
  }
  return value_at(s, op->sym, to);
}

/* Can eval_op compute `op`: is it arithmetic on numbers, and no read? */
static bool is_plain(const Op *op) {
  const OpInfo *info = &op_info[op->code];
  return op->code == OP_CONST || ((info->flags & OPF_PURE) && info->form == FORM_PLAIN && op->noperands > 0 &&
                                  type_is_scalar(op->results[0]->type));
}

/* The result of `op` at the point; `values` has the results before it. */
static Const op_value(Sampler *s, const Op *op, const int64_t *at, const Const *values) {
  Const in[MAX_RANK + 8];
  s->failed |= ++s->ops > MOST_OPS;
  if (op->code == OP_INDEX)
    return (Const){.i = at[op->sym]};
  if (op->code == OP_SCALAR)
    return s->scalars[op->sym];
  if (op->code == OP_ACCESS)
    return accessed(s, op, at);
  if (op->nblocks || op->nresults != 1 || op->noperands > (int)(sizeof in / sizeof *in) || !is_plain(op)) {
    s->failed = true;
    return (Const){0};
  }
  for (int i = 0; i < op->noperands; i++)
    in[i] = values[op->operands[i]->id];
  return eval_op(op, in);
}

/* The value that piece `p` computes for field `field` at the point. */
static Const computed(Sampler *s, const Piece *p, int field, const int64_t *at) {
  int t = 0;
  while (p->targets[t] != field)
    t++;
  Const *values = ARENA_ARRAY(s->scratch, Const, s->sources[field].nvalues + 1);
  for (const Op *op = p->body->first; op && op != p->body->last && !s->failed; op = op->next)
    if (op->nresults)
      values[op->results[0]->id] = op_value(s, op, at, values);
  return s->failed ? (Const){0} : values[p->body->last->operands[t]->id];
}

/* Does piece `p` contain the point, and have field `field` as a target? */
static bool piece_has(const Sampler *s, const Piece *p, int field, const int64_t *at) {
  bool has = false;
  for (int t = 0; t < p->ntargets; t++)
    has = has || p->targets[t] == field;
  for (int d = 0; d < s->m->grid.rank && has; d++)
    has = at[d] >= affine_eval(p->box.lo[d], s->scalars, NULL) && at[d] <= affine_eval(p->box.hi[d], s->scalars, NULL);
  return has;
}

/* The told value of field `f` at the point: the nearest one that was told. */
static Const told(const Sampler *s, const Field *f, const ForeseenField *known, const int64_t *at) {
  int64_t i = 0;
  for (int d = 0; d < s->m->grid.rank; d++) {
    int64_t lo = affine_eval(f->box.lo[d], s->scalars, NULL), hi = affine_eval(f->box.hi[d], s->scalars, NULL);
    i = i * known->n[d] + (hi > lo ? (at[d] - lo) * known->n[d] / (hi - lo + 1) : 0);
  }
  Const v = const_load(known->type, (const char *)known->values + (size_t)i * (size_t)type_size(known->type));
  return const_convert(v, known->type, f->type);
}

/* The value of field `field` at the point, which lies in the field, before the first step. Where no piece computes one
 * it is 0. */
static Const value_at(Sampler *s, int field, const int64_t *at) {
  const Source *x = &s->sources[field];
  if (x->known)
    return told(s, &s->m->fields[field], x->known, at);
  if (!x->init || s->depth == MOST_DEPTH) {
    s->failed = true;
    return (Const){0};
  }
  Const v = {0};
  s->depth++;
  for (int i = 0; i < x->init->npieces && !s->failed; i++)
    if (piece_has(s, &x->init->pieces[i], field, at)) {
      v = computed(s, &x->init->pieces[i], field, at);
      break;
    }
  s->depth--;
  return v;
}

/* ---- the map */

/* The index, in a sum of map `w`, of the entry for `before` points in each dimension. */
static int64_t place(const WetMap *w, const int64_t *before) {
  int64_t i = 0;
  for (int d = 0; d < w->rank; d++)
    i = i * (w->n[d] + 1) + before[d];
  return i;
}

/* Turns the numbers of points in `sum`, each stored one place on, into prefix sums: how many lie before each place. */
static void sum_up(const WetMap *w, int32_t *sum) {
  int64_t all = 1, stride = 1;
  for (int d = 0; d < w->rank; d++)
    all *= w->n[d] + 1;
  for (int d = w->rank - 1; d >= 0; stride *= w->n[d] + 1, d--)
    for (int64_t i = 0; i < all; i++)
      if (i / stride % (w->n[d] + 1) > 0)
        sum[i] += sum[i - stride];
}

/* The number of points that `sum` counts in the box from lo to before hi. */
static int64_t count(const WetMap *w, const int32_t *sum, const int64_t *lo, const int64_t *hi) {
  int64_t n = 0;
  for (int c = 0; c < 1 << w->rank; c++) {
    int64_t at[MAX_RANK];
    int sign = 1;
    for (int d = 0; d < w->rank; d++) {
      at[d] = c >> d & 1 ? lo[d] : hi[d];
      sign = c >> d & 1 ? -sign : sign;
    }
    n += sign * sum[place(w, at)];
  }
  return n;
}

/* Sets how many points map `w` has in each dimension of a grid of extents `size`. */
static void set_points(WetMap *w, const int64_t *size) {
  double all = 1;
  for (int d = 0; d < w->rank; d++)
    all *= (double)size[d];
  double step = fmax(1, pow(all / SAMPLES, 1.0 / w->rank));
  for (int d = 0; d < w->rank; d++) {
    w->size[d] = size[d];
    w->n[d] = (int64_t)fmax(1, floor((double)size[d] / step));
  }
}

/* Notes the words of module `m` at point number `at` of the map. */
static void look_at(Sampler *s, WetMap *w, int nwords, const int *words, const int64_t *bits, const int64_t *at) {
  bool any = false, all = true;
  int64_t point[MAX_RANK], behind[MAX_RANK];
  for (int d = 0; d < w->rank; d++) {
    point[d] = affine_eval(s->m->grid.lo[d], s->scalars, NULL) + (2 * at[d] + 1) * w->size[d] / (2 * w->n[d]);
    behind[d] = at[d] + 1;
  }
  for (int i = 0; i < nwords && !s->failed; i++) {
    ArenaMark mark = arena_mark(s->scratch);
    int64_t v = value_at(s, words[i], point).i & bits[i];
    arena_release(s->scratch, mark);
    any = any || v != 0;
    all = all && v == bits[i];
  }
  w->any[place(w, behind)] = any;
  w->all[place(w, behind)] = all;
}

/* Steps `at` to the next point of the map. False: there is none. */
static bool next_point(const WetMap *w, int64_t *at) {
  for (int d = w->rank - 1; d >= 0; d--) {
    if (++at[d] < w->n[d])
      return true;
    at[d] = 0;
  }
  return false;
}

const WetMap *wet_map(PassContext *c, const Module *m, const int64_t *size) {
  const Foreseen *known = c->known;
  WetMap *w = ARENA_NEW(c->arena, WetMap);
  Sampler s = {.m = m, .scratch = arena_scratch(c->arena)};
  Const *scalars = ARENA_ARRAY(c->arena, Const, m->nscalars + 1);
  int *words = ARENA_ARRAY(c->arena, int, m->nfields + 1), n = 0;
  int64_t *bits = ARENA_ARRAY(c->arena, int64_t, m->nfields + 1), at[MAX_RANK] = {0}, all = 1;
  for (int f = 0; f < m->nfields; f++)
    if (field_is_word(m, f, &bits[n]))
      words[n++] = f;
  if (!known || !n || !size[0] || m->grid.rank > GRID_RANK ||
      !module_bind(m, known->ndefines, known->defines, scalars, diags_quiet(c->arena)))
    return NULL;
  w->rank = m->grid.rank;
  set_points(w, size);
  for (int d = 0; d < w->rank; d++)
    all *= w->n[d] + 1;
  w->any = ARENA_ARRAY(c->arena, int32_t, all);
  w->all = ARENA_ARRAY(c->arena, int32_t, all);
  s.scalars = scalars;
  s.sources = ARENA_ARRAY(c->arena, Source, m->nfields + 1);
  find_sources(&s, known);
  do
    look_at(&s, w, n, words, bits, at);
  while (!s.failed && next_point(w, at));
  if (s.failed)
    return NULL;
  sum_up(w, w->any);
  sum_up(w, w->all);
  return w->any[place(w, w->n)] ? w : NULL;
}

/* ---- of tiles */

/* The range of the map's points, at least one, for a tile's points from `from` to before `to` in dimension `d`. */
static void map_range(const WetMap *w, int d, double from, double to, int64_t *lo, int64_t *hi) {
  double each = (double)w->size[d] / (double)w->n[d];
  int64_t first = (int64_t)ceil(fmax(0, from) / each - 0.5),
          end = (int64_t)ceil(fmin((double)w->size[d], to) / each - 0.5);
  if (end <= first)
    first = (int64_t)((fmax(0, from) + fmin((double)w->size[d], to)) / 2 / each);
  *lo = first < 0 ? 0 : first > w->n[d] - 1 ? w->n[d] - 1 : first;
  *hi = end <= *lo ? *lo + 1 : end > w->n[d] ? w->n[d] : end;
}

/* Does a tile with so many points in each dimension that touches an edge of the grid have a wet point? */
static bool is_wet_at_edge(const WetMap *w, const double *tile) {
  bool wet = false;
  for (int side = 0; side < 2 * w->rank; side++) {
    int of = side / 2;
    int64_t lo[MAX_RANK], hi[MAX_RANK];
    for (int d = 0; d < w->rank; d++) {
      double size = (double)w->size[d], last = tile[d] * floor((size - 1) / fmax(1, tile[d]));
      bool here = d == of;
      map_range(w, d, here && side % 2 ? last : 0, here && side % 2 == 0 ? tile[d] : size, &lo[d], &hi[d]);
    }
    wet = wet || count(w, w->any, lo, hi) > 0;
  }
  return wet;
}

/* The ranges of a tile in a dimension of the map: the points that it stores, and those that it reads. */
typedef struct TileRange {
  int64_t lo, hi, from, to;
} TileRange;

/* The ranges of tile number `i` of `tile` points, which reads `reach` further, in dimension `d`. */
static TileRange tile_range(const WetMap *w, int d, int64_t i, const double *tile, const Extent *reach) {
  TileRange r;
  double begin = (double)i * tile[d], end = begin + tile[d];
  map_range(w, d, begin, end, &r.lo, &r.hi);
  map_range(w, d, begin - (double)reach->lo[d], end + (double)reach->hi[d], &r.from, &r.to);
  return r;
}

/* The approximate number of tiles that are examined, and of tiles along the last dimension whose ranges are computed
 * once: they recur in each row of tiles. */
enum { MOST_TILES = 1 << 13, MOST_RANGES = 1 << 10 };

WetParts wet_parts(const WetMap *w, const double *tile, const Extent *reach) {
  int64_t tiles[MAX_RANK] = {1, 1, 1}, was[MAX_RANK], all = 1, lo[MAX_RANK], hi[MAX_RANK], from[MAX_RANK], to[MAX_RANK];
  TileRange known[MOST_RANGES];
  WetParts parts = {.at_edge = is_wet_at_edge(w, tile)};
  double seen = 0;
  int last = w->rank - 1;
  for (int d = 0; d < w->rank; d++) {
    tiles[d] = (int64_t)ceil((double)w->size[d] / fmax(1, tile[d]));
    all *= tiles[d];
    was[d] = -1;
  }
  for (int64_t i = 0; i < tiles[last] && i < MOST_RANGES; i++)
    known[i] = tile_range(w, last, i, tile, reach);
  for (int64_t i = 0; i < all; i += all / MOST_TILES + 1) {
    int64_t rest = i, points = 1;
    for (int d = last; d >= 0; rest /= tiles[d], d--) {
      int64_t own = rest % tiles[d];
      if (own != was[d]) {
        TileRange r = d == last && own < MOST_RANGES ? known[own] : tile_range(w, d, own, tile, reach);
        lo[d] = r.lo, hi[d] = r.hi, from[d] = r.from, to[d] = r.to;
        was[d] = own;
      }
      points *= to[d] - from[d];
    }
    seen++;
    if (count(w, w->any, lo, hi) == 0)
      continue;
    parts.live++;
    parts.full += count(w, w->all, from, to) == points;
  }
  parts.live /= seen;
  parts.full /= seen;
  return parts;
}

double wet_before(const WetMap *w, int d, double row) {
  int64_t none[MAX_RANK] = {0}, before[MAX_RANK];
  double at = fmin(fmax(0, row / (double)w->size[d]), 1) * (double)w->n[d], part = at - floor(at);
  memcpy(before, w->n, sizeof before);
  before[d] = (int64_t)floor(at);
  double first = (double)count(w, w->any, none, before);
  before[d] += before[d] < w->n[d];
  double next = (double)count(w, w->any, none, before);
  return (first + part * (next - first)) / (double)count(w, w->any, none, w->n);
}

double wet_share(const WetMap *w) {
  int64_t none[MAX_RANK] = {0}, points = 1;
  for (int d = 0; d < w->rank; d++)
    points *= w->n[d];
  return (double)count(w, w->all, none, w->n) / (double)points;
}
