/* lower-tests.c: finds for each kernel the words of tests that it reads, and the points where it reads them
 * (Kernel.tests), for pass tile-classes. passes/launch/words.c defines words. */
#include "passes/lower/lower.h"

/* ---- where no bit is set */

/* What is known about a value of a body at points where no bit of the words is set: FALSE for false and for 0, TRUE for
 * true. */
typedef enum Known { UNKNOWN, FALSE, TRUE } Known;

/* The result of `op` where no bit of the words of `t` is set. `known` holds the same for earlier values, by value
 * number. */
static Known known_at_none(const KernelTests *t, const Op *op, const Known *known) {
  Known x = op->noperands > 0 ? known[op->operands[0]->id] : UNKNOWN;
  Known y = op->noperands > 1 ? known[op->operands[1]->id] : UNKNOWN;
  bool zeros = x == FALSE && y == FALSE;
  switch (op->code) {
  case OP_ACCESS:
    for (int i = 0; i < t->n; i++)
      if (op->sym == t->field[i])
        return FALSE;
    return UNKNOWN;
  case OP_CONST: return type_is_float(op->results[0]->type) || op->cval.i != 0 ? UNKNOWN : FALSE;
  case OP_BIT_AND: return x == FALSE || y == FALSE ? FALSE : UNKNOWN;
  case OP_NE: return zeros ? FALSE : UNKNOWN;
  case OP_EQ: return zeros ? TRUE : UNKNOWN;
  case OP_NOT: return x == UNKNOWN ? UNKNOWN : x == TRUE ? FALSE : TRUE;
  case OP_AND: return x == FALSE || y == FALSE ? FALSE : x == TRUE && y == TRUE ? TRUE : UNKNOWN;
  case OP_OR: return x == TRUE || y == TRUE ? TRUE : zeros ? FALSE : UNKNOWN;
  default: return UNKNOWN;
  }
}

/* Numbers the values of `body`, and finds what each one is where no bit of the words of `t` is set. Visits each value
 * once, because a test with shared parts has far more paths than parts. */
static Known *known_values(const KernelTests *t, Block *body, Arena *arena) {
  int32_t n = body_number(body);
  Known *known = ARENA_ARRAY(arena, Known, n + 1);
  for (const Op *op = body->first; op; op = op->next)
    if (op->nresults == 1)
      known[op->results[0]->id] = known_at_none(t, op, known);
  return known;
}

/* Is `v`, where no bit is set, the old value of field `f` at the point? */
static bool is_kept(const Known *known, const Value *v, int f, int rank) {
  const Op *op = v->def;
  if (op->code == OP_SELECT) {
    Known is = known[op->operands[0]->id];
    return is != UNKNOWN && is_kept(known, op->operands[is == TRUE ? 1 : 2], f, rank);
  }
  bool kept = op->code == OP_ACCESS && op->sym == f;
  for (int d = 0; d < rank && kept; d++)
    kept = op->off[d] == 0;
  return kept;
}

/* Does instance `st` of launch `l` leave all fields that it writes unchanged where no bit is set? Temp fields that the
 * launch does not store do not count. */
static bool keeps_all(const KernelTests *t, const Module *m, const Launch *l, const Stencil *st, Arena *arena) {
  for (int i = 0; i < st->npieces; i++) {
    const Piece *p = &st->pieces[i];
    const Known *known = known_values(t, p->body, arena);
    for (int k = 0; k < p->ntargets; k++) {
      int f = p->targets[k];
      if (m->fields[f].temp ? launch_use(l, f)->stored : !is_kept(known, p->body->last->operands[k], f, m->grid.rank))
        return false;
    }
  }
  return true;
}

/* ---- of a kernel */

/* The first field after number `f` that one of the `n` launches at `l` uses; -1 if there is none. */
static int next_used(int n, const Launch *const *l, int f) {
  int next = -1;
  for (int i = 0; i < n; i++) {
    int k = launch_use_number(l[i], f + 1);
    if (k < l[i]->nuses && (next < 0 || l[i]->uses[k].field < next))
      next = l[i]->uses[k].field;
  }
  return next;
}

void kernel_looks(Lowering *lo, int index, int n, const Launch *const *l, const Box *covers) {
  const Module *m = lo->m;
  Kernel *k = &lo->out->kernels[index];
  KernelTests *t = ARENA_NEW(lo->out->arena, KernelTests);
  t->more = -1;
  for (int f = next_used(n, l, -1); f >= 0 && t->n < MAX_TESTS; f = next_used(n, l, f)) {
    TestWord w = test_word(m, f);
    Extent reach = t->reach;
    for (int i = 0; i < n && w.tests; i++)
      for (int s = 0; s < l[i]->n && w.tests; s++)
        if (test_word_read(&w, m, &l[i]->st[s]))
          if ((&l[i]->st[s])->has_extent)
            extent_grow(&reach, &(&l[i]->st[s])->extent, k->rank);
    if (!w.tests || !w.read)
      continue;
    t->field[t->n] = f;
    t->all[t->n++] = w.all;
    t->reach = reach;
  }
  for (int d = 0; d < k->rank; d++) {
    t->lo[d] = covers->lo[d];
    t->reach.hi[d] += k->over[d];
    for (int i = 0; i < n; i++)
      t->around[d] |= l[i]->wraps[d];
  }
  t->dry = t->n > 0;
  for (int i = 0; i < n; i++)
    for (int s = 0; s < l[i]->n; s++)
      t->dry = t->dry && keeps_all(t, m, l[i], &l[i]->st[s], lo->out->arena);
  if (t->n)
    k->tests = t;
}
