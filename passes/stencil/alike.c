/* alike.c: finds classes of values that are the same ops at several points, computes their costs, and chooses the
 * classes to keep. */
#include "passes/stencil/alike.h"
#include "passes/base/weights.h"

#include <string.h>

enum { BUCKETS = 1024 };

/* ---- classes */

/* Prepares *x, whose operands are known, for comparisons: computes fixed, off, and alone. */
static void place(const Alike *s, Like *x) {
  const Op *op = x->op;
  x->fixed = op->code != OP_ACCESS && op->code != OP_INDEX;
  x->alone = false;
  for (int d = 0; d < s->rank && op->code == OP_ACCESS; d++)
    x->off[d] = op->off[d];
  for (int i = 0; i < op->noperands; i++) {
    const Like *of = &s->v[op->operands[i]->id];
    x->alone = x->alone || of->alone || !of->op;
    if (x->fixed && !of->fixed)
      memcpy(x->off, of->off, sizeof x->off);
    x->fixed = x->fixed && of->fixed;
  }
}

/* Do `x` and `y`, neither of them fixed, belong to one class? swapped: exchange the two operands of `x` first. */
static bool are_alike(const Alike *s, const Like *x, const Like *y, bool swapped) {
  const Op *a = x->op, *b = y->op;
  bool same = a->code == b->code && a->noperands == b->noperands && a->sym == b->sym && a->flags == b->flags &&
              a->results[0]->type == b->results[0]->type;
  for (int i = 0; i < a->noperands && same; i++) {
    const Like *p = &s->v[a->operands[swapped ? 1 - i : i]->id], *q = &s->v[b->operands[i]->id];
    same = p->of == q->of && p->fixed == q->fixed;
    for (int d = 0; d < s->rank && same && !p->fixed; d++)
      same = p->off[d] - x->off[d] == q->off[d] - y->off[d];
  }
  return same;
}

/* May the operands of `op` be exchanged? */
static bool is_commutative(const Alike *s, const Op *op) {
  return s->order == ORDER_ANY && op->noperands == 2 && (op_info[op->code].flags & OPF_COMM);
}

/* A hash value that is equal for all members of a class. */
static uint32_t hash_of(const Alike *s, const Op *op) {
  uint32_t h = (uint32_t)op->code * 31u + (uint32_t)op->sym, times = is_commutative(s, op) ? 1 : 1000003u;
  for (int i = 0; i < op->noperands; i++)
    h = h * times + (uint32_t)s->v[op->operands[i]->id].of;
  return h % BUCKETS;
}

/* Value *x with its two operands exchanged, and the offset that it then has. */
static Like exchanged(const Alike *s, const Like *x) {
  Like y = *x;
  const Like *last = &s->v[x->op->operands[1]->id];
  if (!last->fixed)
    memcpy(y.off, last->off, sizeof y.off);
  return y;
}

/* Finds the class of value `id`, whose operands are known. first[h]: the last earlier value with hash h. */
static void find_class(Alike *s, int32_t id, int32_t *first) {
  Like *x = &s->v[id];
  x->of = id;
  place(s, x);
  if (x->fixed || x->alone || s->order == ORDER_APART)
    return;
  uint32_t h = hash_of(s, x->op);
  Like other = is_commutative(s, x->op) ? exchanged(s, x) : *x;
  for (int32_t k = first[h]; k >= 0 && x->of == id; k = s->v[k].next)
    if (are_alike(s, x, &s->v[k], false)) {
      x->of = k;
    } else if (is_commutative(s, x->op) && are_alike(s, &other, &s->v[k], true)) {
      memcpy(x->off, other.off, sizeof x->off);
      x->of = k;
    }
  x->next = first[h];
  if (x->of == id)
    first[h] = id;
}

/* Finds for each class the smallest and largest offset of its members from the first one. */
static void find_ranges(Alike *s) {
  for (int i = 0; i < s->n; i++) {
    const Like *x = &s->v[i];
    for (int d = 0; d < s->rank && x->op; d++) {
      int64_t by = x->off[d] - s->v[x->of].off[d];
      s->low[x->of][d] = by < s->low[x->of][d] ? by : s->low[x->of][d];
      s->high[x->of][d] = by > s->high[x->of][d] ? by : s->high[x->of][d];
    }
  }
}

bool *changing_fields(const Module *m) {
  bool *changes = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++) {
    const Field *x = &m->fields[f];
    changes[f] = x->temp || x->derived || x->series || x->history || x->past || x->frames;
  }
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      changes[m->stencils[i].targets[t]] = true;
  return changes;
}

Alike alike_look(Module *m, int st, int piece, Order order) {
  Alike s = {.m = m, .st = st, .piece = piece, .rank = m->grid.rank, .order = order};
  Block *body = m->stencils[st].pieces[piece].body;
  int32_t first[BUCKETS];
  s.n = body_number(body);
  s.v = ARENA_ARRAY(m->arena, Like, s.n + 1);
  s.root = ARENA_ARRAY(m->arena, bool, s.n + 1);
  s.low = arena_alloc(m->arena, sizeof *s.low * (size_t)(s.n + 1));
  s.high = arena_alloc(m->arena, sizeof *s.high * (size_t)(s.n + 1));
  memset(s.low, 0, sizeof *s.low * (size_t)(s.n + 1));
  memset(s.high, 0, sizeof *s.high * (size_t)(s.n + 1));
  memset(first, -1, sizeof first);
  for (Op *op = body->first; op; op = op->next)
    if (op->nresults == 1) {
      s.v[op->results[0]->id].op = op;
      find_class(&s, op->results[0]->id, first);
    }
  find_ranges(&s);
  return s;
}

/* ---- which to keep */

double alike_cone(const Alike *s, int32_t id, bool *in) {
  if (in[id] || !s->v[id].op)
    return 0;
  in[id] = true;
  const Op *op = s->v[id].op;
  double sum = op_additions(op) + (op_info[op->code].flags & OPF_INEXACT ? s->call : 0);
  for (int i = 0; i < op->noperands; i++)
    sum += alike_cone(s, op->operands[i]->id, in);
  return sum;
}

bool *alike_made_of(const Alike *s) {
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  for (int i = 0; i < s->n; i++)
    if (s->root[i])
      alike_cone(s, i, in);
  return in;
}

double alike_takes(const Alike *s, int32_t id) {
  ArenaMark mark = arena_mark(s->m->arena);
  double sum = alike_cone(s, id, ARENA_ARRAY(s->m->arena, bool, s->n + 1));
  arena_release(s->m->arena, mark);
  return sum;
}

/* The number of fields that the accesses marked in `in` read. */
static int fields_read(const Alike *s, const bool *in) {
  bool *read = ARENA_ARRAY(s->m->arena, bool, s->m->nfields + 1);
  int n = 0;
  for (int i = 0; i < s->n; i++)
    if (in[i] && s->v[i].op && s->v[i].op->code == OP_ACCESS) {
      n += !read[s->v[i].op->sym];
      read[s->v[i].op->sym] = true;
    }
  return n;
}

/* The cost of the piece at a point, in additions, if the roots are kept (`kept`) or not; only values that its results
 * need count. If roots are computed only once, the fields that the piece reads count, too, because kept roots may make
 * some of these reads unnecessary. */
static double piece_cost(const Alike *s, const Block *body, bool kept) {
  ArenaMark mark = arena_mark(s->m->arena);
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  double sum = 0;
  for (int i = 0; i < s->n && kept; i++)
    in[i] = s->v[i].op && s->root[s->v[i].of];
  for (int i = 0; i < body->last->noperands; i++)
    sum += alike_cone(s, body->last->operands[i]->id, in);
  sum += s->once ? s->field * fields_read(s, in) : 0;
  arena_release(s->m->arena, mark);
  return sum;
}

/* The cost of computing the roots at a point. */
static double roots_cost(const Alike *s) {
  ArenaMark mark = arena_mark(s->m->arena);
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  double sum = 0;
  for (int i = 0; i < s->n; i++)
    sum += s->root[i] ? alike_cone(s, i, in) : 0;
  arena_release(s->m->arena, mark);
  return sum;
}

double alike_cost(const Alike *s, const Block *body) {
  return piece_cost(s, body, true) + (s->once ? 0 : roots_cost(s)) + s->field * s->nroots;
}

void alike_drop_roots(Alike *s, const Block *body) {
  double least = alike_cost(s, body);
  for (int i = 0; i < s->n; i++) {
    if (!s->root[i])
      continue;
    s->root[i] = false;
    s->nroots--;
    double without = alike_cost(s, body);
    if (without > least) {
      s->root[i] = true;
      s->nroots++;
    } else {
      least = without;
    }
  }
}

bool alike_pays(const Alike *s, const Block *body, double gain) {
  double before = piece_cost(s, body, false);
  return s->nroots && before - alike_cost(s, body) >= gain * before;
}
