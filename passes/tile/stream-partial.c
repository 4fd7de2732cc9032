/* stream-partial.c: evaluates parts of an equation as soon as the rows that they need have arrived, steps before the
 * equation's own row is due.
 *
 *   r(y) = (a u(y-1) + b u(y)) + c u(y+1)     keep rows u(y-1), u(y)     ->     keep the sum a u(y-1) + b u(y)
 *
 * The thread then keeps the partial result in place of the rows. A sum whose terms stand in the order of the rows keeps
 * one partial sum for each of its rows ("accumulating along the stream"), and each row is read once, when it arrives,
 * with the cells of that row in neighbouring lanes and lines. Nothing is reassociated: every operation has the operands
 * that it has in the program, so the values are the same bit for bit.
 *
 * *Late products*. Terms of a row may arrive at different times, because those of neighbouring lines take a step more.
 * A product that is ready before the sum to which it is added may be kept; or it may be computed when it is added, and
 * its row be kept that much longer. The plan with fewer words is taken.
 *
 * A value's *phase* is the number of steps before its row is due at which it is computed. Values that depend on no
 * access are free: they are computed wherever they are used.
 *
 * Only the largest piece of a stencil is planned this way; the other pieces, and values that points in no piece keep,
 * are computed when the row is due. It is done if it keeps no more registers, and if accesses in more than one row read
 * neighbouring lanes or lines. */
#include "passes/tile/mapping.h"

/* A plan that is being made, for instance `i`. uses[v]: the least phase at which value v is used; late: values that
 * depend on one access alone are computed where they are used. */
typedef struct Planner {
  const Mapping *s;
  int i;
  const Piece *piece;
  Partial *e;
  int32_t *uses;
  bool late, *alone;
} Planner;

/* The window that an access op of the instance reads, NULL: none. */
static const KeptVersion *window_read(const Planner *p, const Op *op) {
  Rules rules = access_rules(p->s->l->m, &p->piece->box, op->sym, op->off);
  return stream_window(p->s, p->i, op->sym, op->off, &rules);
}

/* The offsets in dimension 0 to which the access may lead, from *lo to *hi. Does it lead to other lines of dimension
 * 1? */
static bool access_rows(const Planner *p, const Op *op, int64_t *lo, int64_t *hi) {
  int rank = p->s->l->m->grid.rank;
  int64_t down = 0, up = 0;
  Rules rules = access_rules(p->s->l->m, &p->piece->box, op->sym, op->off);
  *lo = *hi = 0;
  if (rank > 1)
    outside_reach(rules.dim[0], op->off[0], lo, hi);
  if (rank > 2)
    outside_reach(rules.dim[1], op->off[1], &down, &up);
  return down < 0 || up > 0;
}

/* Finds the phase of the result of `op`, and whether it is free. */
static void plan_op(Planner *p, const Op *op) {
  int id = op->results[0]->id, lag = p->s->lag[p->i];
  Partial *e = p->e;
  e->free[id] = op->code != OP_ACCESS || !window_read(p, op);
  if (op->code == OP_ACCESS && !e->free[id]) {
    int64_t lo, hi;
    bool across = access_rows(p, op, &lo, &hi);
    e->phase[id] = lag - (window_read(p, op)->lag + (int32_t)hi + across);
    p->alone[id] = true;
    return;
  }
  for (int k = 0; k < op->noperands; k++) {
    int from = op->operands[k]->id;
    if (e->free[from])
      continue;
    p->alone[id] = e->free[id] && p->alone[from];
    e->phase[id] = e->free[id] || e->phase[from] < e->phase[id] ? e->phase[from] : e->phase[id];
    e->free[id] = false;
  }
}

/* Notes that value `v` is used at `phase`. */
static void use_value(Planner *p, const Value *v, int phase) {
  if (phase < p->uses[v->id])
    p->uses[v->id] = phase;
}

/* Finds, backwards from the results, the least phase at which each value is used; a value computed at a greater phase
 * is kept. */
static void plan_uses(Planner *p) {
  Partial *e = p->e;
  for (const Op *op = p->piece->body->last; op; op = op->prev) {
    bool end = op->code == OP_YIELD;
    int id = end ? -1 : op->results[0]->id;
    if (!end && p->uses[id] == INT32_MAX)
      continue;
    if (!end && p->late && p->alone[id] && op->code != OP_ACCESS && p->uses[id] < e->phase[id])
      e->phase[id] = p->uses[id];
    for (int k = 0; k < op->noperands; k++)
      use_value(p, op->operands[k], end ? 0 : e->free[id] ? p->uses[id] : e->phase[id]);
    if (end || e->free[id] || op->code == OP_ACCESS)
      continue;
    e->kept[id] = e->phase[id] > p->uses[id];
    e->most = e->kept[id] && e->phase[id] > e->most ? e->phase[id] : e->most;
  }
}

/* The greatest number of rows back that accesses read, of each version of each field, if accesses are made at the
 * phases of their uses (`early`), or all at phase 0. */
static int64_t **rows_back(const Planner *p, bool early) {
  const Launch *l = p->s->l;
  int64_t **most = ARENA_ARRAY(l->m->arena, int64_t *, l->m->nfields);
  for (int f = 0; f < l->m->nfields; f++)
    most[f] = ARENA_ARRAY(l->m->arena, int64_t, launch_use(l, f)->versions + 1);
  for (const Op *op = p->piece->body->first; op; op = op->next) {
    int32_t id = op->code == OP_ACCESS ? op->results[0]->id : -1;
    if (id < 0 || p->e->free[id] || p->uses[id] == INT32_MAX)
      continue;
    Version from = launch_reads(l, op->sym, p->i);
    int64_t lo, hi, *at = &most[from.field][from.version];
    access_rows(p, op, &lo, &hi);
    int64_t back = p->s->lag[p->i] - (early ? p->uses[id] : 0) - p->s->kept[from.field][from.version].lag - lo;
    *at = back > *at ? back : *at;
  }
  return most;
}
/* The words of these rows, of all versions together. */
/* The words of these rows, of all versions together. */
static int64_t rows_words(const Planner *p, bool early) {
  const Launch *l = p->s->l;
  int64_t **most = rows_back(p, early), words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 0; v <= launch_use(l, f)->versions; v++)
      words += most[f][v] * ((type_size(l->m->fields[f].type) + 3) / 4);
  return words;
}

/* Words of the kept values. */
static int64_t kept_words(const Planner *p) {
  int64_t words = 0;
  for (const Op *op = p->piece->body->first; op; op = op->next)
    if (op->nresults && p->e->kept[op->results[0]->id])
      words +=
          (p->e->phase[op->results[0]->id] - p->uses[op->results[0]->id]) * ((type_size(op->results[0]->type) + 3) / 4);
  return words;
}

/* Are values of other lanes or lines read in more than one row of a version? */
static bool looks_aside(const Planner *p) {
  int rank = p->s->l->m->grid.rank;
  const Op *first = NULL;
  for (const Op *op = p->piece->body->first; op; op = op->next) {
    if (op->code != OP_ACCESS)
      continue;
    bool aside = false;
    for (int d = 1; d < rank; d++)
      aside = aside || op->off[d];
    if (aside && first && op->off[0] != first->off[0])
      return true;
    first = aside ? op : first;
  }
  return false;
}

/* A plan, with all values as early as possible or `late`; its words go to Partial.words. *rows: words of the rows that
 * it keeps, *all_rows: words of the rows that are kept without it. */
static Partial *make_plan(const Mapping *s, int i, bool late, int64_t *rows, int64_t *all_rows) {
  Arena *a = s->l->m->arena;
  Partial *e = ARENA_NEW(a, Partial);
  *e = (Partial){.piece = main_piece_number(a, &s->l->st[i])};
  Planner p = {.s = s, .i = i, .piece = &s->l->st[i].pieces[e->piece], .e = e, .late = late};
  if (!looks_aside(&p))
    return NULL;
  e->n = body_number(p.piece->body);
  e->phase = ARENA_ARRAY(a, int32_t, e->n + 1);
  e->free = ARENA_ARRAY(a, bool, e->n + 1);
  e->kept = ARENA_ARRAY(a, bool, e->n + 1);
  e->use = p.uses = ARENA_ARRAY(a, int32_t, e->n + 1);
  p.alone = ARENA_ARRAY(a, bool, e->n + 1);
  for (int k = 0; k < e->n; k++)
    p.uses[k] = INT32_MAX;
  for (const Op *op = p.piece->body->first; op; op = op->next)
    if (op->nresults)
      plan_op(&p, op);
  plan_uses(&p);
  e->words = kept_words(&p);
  *rows = rows_words(&p, true);
  *all_rows = rows_words(&p, false);
  return e;
}

Partial *partial_new(const Mapping *s, int i) {
  int64_t soon_rows, late_rows, all_rows;
  if (s->l->m->grid.rank < 2 || !s->l->st[i].npieces)
    return NULL;
  Partial *soon = make_plan(s, i, false, &soon_rows, &all_rows),
          *late = soon ? make_plan(s, i, true, &late_rows, &all_rows) : NULL;
  if (!soon)
    return NULL;
  bool wait = late->words + late_rows < soon->words + soon_rows;
  const Partial *best = wait ? late : soon;
  return best->most && best->words + (wait ? late_rows : soon_rows) <= all_rows ? (wait ? late : soon) : NULL;
}
