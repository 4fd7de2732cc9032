/* stream-partial.c: parts of an equation that are evaluated as soon as the rows they need have come, steps before the
 * equation's own row is due. What is kept then is the partial result in place of the rows: a sum whose terms stand in
 * the order of the rows keeps one partial sum for each of its rows ("accumulating along the stream"), and each row is
 * looked at once, when it comes, with what the lanes and lines beside hold of it. Nothing is reassociated: every
 * operation has the operands that it has in the program, so the values are the same bit for bit.
 *
 * Where terms of a row come at different times, because those of lines beside take a step more, a product that is ready
 * before the sum it goes into may be kept, or made when it is added, and the row be kept that much longer: the plan
 * with fewer words is taken.
 *
 * A value's *phase* says how many steps before its row is due it is computed. Values that no access leads into are
 * free: they are computed wherever they are used.
 *
 * It is decided for the largest piece of a stencil; the others, and values that points in no piece keep, are computed
 * when the row is due. It is done if that keeps no more registers and accesses look aside in more than one row. */
#include "passes/tile/mapping.h"

/* The plan in the making, for instance `i`; uses[v]: the least phase at which value v is used; late: values that come
 * of one access alone are computed where they are used. */
typedef struct Planner {
  const Mapping *s;
  int i;
  const Piece *piece;
  Partial *e;
  int32_t *uses;
  bool late, *alone;
} Planner;

/* The window that an access op of the instance reads, NULL: nothing. */
static const KeptVersion *window_read(const Planner *p, const Op *op) {
  Rules rules = access_rules(p->s->l->m, &p->piece->box, op->sym, op->off);
  return stream_window(p->s, p->i, op->sym, op->off, &rules);
}

/* How far in dimension 0 the access leads, and whether it leads to other lines of dimension 1. */
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

/* Finds phase and freedom of the result of `op`. */
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

/* Marks what a use of value `v` at `phase` makes necessary. */
static void use_value(Planner *p, const Value *v, int phase) {
  if (phase < p->uses[v->id])
    p->uses[v->id] = phase;
}

/* Goes backwards from the results: from which phase on each value is used; then those computed earlier are kept. */
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

/* Rows of each version of each field that are read back, at most, if accesses are read at their uses' phases (`early`)
 * or all at phase 0. */
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
static int64_t rows_words(const Planner *p, bool early) {
  const Launch *l = p->s->l;
  int64_t **most = rows_back(p, early), words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 0; v <= launch_use(l, f)->versions; v++)
      words += most[f][v] * ((type_size(l->m->fields[f].type) + 3) / 4);
  return words;
}

/* Words of the values kept. */
static int64_t kept_words(const Planner *p) {
  int64_t words = 0;
  for (const Op *op = p->piece->body->first; op; op = op->next)
    if (op->nresults && p->e->kept[op->results[0]->id])
      words +=
          (p->e->phase[op->results[0]->id] - p->uses[op->results[0]->id]) * ((type_size(op->results[0]->type) + 3) / 4);
  return words;
}

/* Are other lanes' or lines' values read of more than one row of a version? */
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

/* A plan, all values as soon as possible or `late`, whose words go to Partial.words; *rows: words of the rows that it
 * keeps, *all_rows: that are kept without it. */
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
