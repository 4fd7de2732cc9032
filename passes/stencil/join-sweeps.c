/* join-sweeps.c: joins a stencil to a sweep if it reads only its own point and stands directly before or after the
 * sweep, on the same region. The sweep then computes it when it passes the point.
 *
 *   stencil warm(T)[G]            T = T + q               sweep down(c, T)[G]  first ... next { t = T + q
 *   sweep   down(c)[G] ... next   c = f(T, c[-1])   ->                                 c = f(t, c[-1]); T = t }
 *
 * That saves a launch with its loads and stores, and a temp field that nothing else reads. Joining changes no value:
 * the sweep must read the results of a stencil before it at the point alone; and it must not read, at points that it
 * has passed, those of its own results that a stencil after it changes.
 *
 * A stencil that -fuse= names stays by itself. */
#include "passes/launch/swept.h"
#include "passes/registry.h"

#include <string.h>

/* A stencil with more values is not joined. */
enum { MOST_VALUES = 1000 };

/* Does `st` read a target of `of` by an op with code `code` (an access only if it is to another point)? */
static bool reads_away(const Module *m, const Stencil *st, const Stencil *of, Opcode code) {
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next) {
      bool away = code == OP_BEHIND;
      for (int d = 0; d < m->grid.rank; d++)
        away = away || op->off[d] != 0;
      if (op->code == code && away && stencil_target(of, op->sym) >= 0)
        return true;
    }
  return false;
}

/* Does `st` read fields at the point itself only? */
static bool looks_here(const Module *m, const Stencil *st) {
  for (const Op *op = st->pieces[0].body->first; op; op = op->next)
    for (int d = 0; d < m->grid.rank; d++)
      if (op->code == OP_ACCESS && op->off[d] != 0)
        return false;
  return true;
}

/* May `st` be joined to `sweep`? behind: `st` stands after the sweep. */
static bool may_join(const Module *m, const Stencil *st, const Stencil *sweep, bool behind) {
  bool plain = !st->sweep && !stencil_is_scaled(st) && sweep->sweep && st->npieces == 1 && sweep->npieces > 0 &&
               st->stage == sweep->stage && !is_probe_stencil(m, st) && !is_history_stencil(m, st);
  if (!plain || body_number(st->pieces[0].body) > MOST_VALUES || !looks_here(m, st))
    return false;
  Box region = sweep_region(sweep);
  return box_equal(&region, &st->pieces[0].box) && !reads_away(m, sweep, st, OP_ACCESS) &&
         !(behind && reads_away(m, sweep, st, OP_BEHIND));
}

/* Replaces accesses in `body` to targets of `from` by the values `v` of the operands of its yield. */
static void take_values(Block *body, const Piece *from, Value *const *v) {
  for (Op *op = body->first, *next; op; op = next) {
    next = op->next;
    int t = op->code == OP_ACCESS ? piece_target(from, op->sym) : -1;
    if (t < 0)
      continue;
    block_replace_uses(body, op->results[0], v[t]);
    op_unlink(op);
  }
}

/* Moves the ops of `from`, except its yield, before op `at` of `to`. */
static void move_ops(Block *from, Block *to, Op *at) {
  for (Op *op = from->first, *next; op && op != from->last; op = next) {
    next = op->next;
    op_unlink(op);
    op_insert(to, at, op);
  }
}

/* Makes `v` the value of target `f` of `p`; if `p` has that target already, only if `over`. */
static void give(Arena *a, Piece *p, int32_t f, Value *v, bool over) {
  Op *yield = p->body->last;
  int t = piece_target(p, f);
  if (t >= 0 && !over)
    return;
  if (t >= 0) {
    yield->operands[t] = v;
    return;
  }
  Value **operands = ARENA_ARRAY(a, Value *, p->ntargets + 1);
  int32_t *targets = ARENA_ARRAY(a, int32_t, p->ntargets + 1);
  memcpy(operands, yield->operands, sizeof *operands * (size_t)p->ntargets);
  memcpy(targets, p->targets, sizeof *targets * (size_t)p->ntargets);
  operands[p->ntargets] = v;
  targets[p->ntargets++] = f;
  p->targets = targets;
  yield->operands = operands;
  yield->noperands = p->ntargets;
}

/* Do the stencils from number `n` on write field `f` at all points of `region`, before any of them, or an update, reads
 * it? */
static bool is_overwritten(const Module *m, int n, int stage, int f, const Box *region) {
  for (; n < m->nstencils && m->stencils[n].stage == stage; n++) {
    const Stencil *st = &m->stencils[n];
    bool sets = st->npieces > 0 && (st->sweep || st->npieces == 1);
    for (int i = 0; i < st->npieces; i++) {
      sets = sets && piece_target(&st->pieces[i], f) >= 0;
      for (const Op *op = st->pieces[i].body->first; op; op = op->next)
        if (op_reads_field(op) && op->sym == f)
          return false;
    }
    Box box = sets ? sweep_region(st) : *region;
    if (sets && box_equal(&box, region))
      return true;
  }
  return false;
}

/* Has field `f` older levels? The stencil that rotates them stands before the one that writes the field. */
static bool has_levels(const Module *m, int f) {
  for (int g = 0; g < m->nfields; g++)
    if (m->fields[g].past > 0 && m->fields[g].present == f)
      return true;
  return false;
}

/* The targets of `st` that nobody needs once it is joined to sweep `s`: temp fields that no stencil after number `n`
 * reads, and fields without older levels that are written again before they are read. Targets of the sweep itself are
 * needed. */
static bool *unneeded(const Module *m, int n, const Stencil *st, const Stencil *s) {
  bool *wanted = temps_wanted(m->arena, m, m->stencils + n + 1, m->stencils + m->nstencils);
  bool *out = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  Box region = sweep_region(s);
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t];
    out[f] = stencil_target(s, f) < 0 && !has_levels(m, f) &&
             (m->fields[f].temp ? !wanted[f] : is_overwritten(m, n + 1, s->stage, f, &region));
  }
  return out;
}

/* Joins stencil `st` to piece `p` of a sweep, without the targets `without`. */
static void join_piece(const Module *m, Piece *p, const Stencil *st, bool behind, const bool *without) {
  const Piece *from = &st->pieces[0];
  p->body = block_clone(m->arena, p->body, NULL, NULL);
  Block *body = block_clone(m->arena, from->body, NULL, NULL);
  if (behind)
    take_values(body, p, p->body->last->operands);
  else
    take_values(p->body, from, body->last->operands);
  Op *yield = body->last;
  move_ops(body, p->body, behind ? p->body->last : p->body->first);
  for (int t = 0; t < from->ntargets; t++)
    if (!without[from->targets[t]])
      give(m->arena, p, from->targets[t], yield->operands[t], behind);
}

/* Joins stencil number `n` of `m` to sweep number `s`, which stands directly before or after it. */
static void join(Module *m, int n, int s) {
  const Stencil *st = &m->stencils[n];
  Stencil *sweep = &m->stencils[s];
  const bool *without = unneeded(m, n > s ? n : s, st, sweep);
  Piece *pieces = ARENA_ARRAY(m->arena, Piece, sweep->npieces);
  int32_t *targets = NULL, ntargets = 0;
  memcpy(pieces, sweep->pieces, sizeof *pieces * (size_t)sweep->npieces);
  sweep->pieces = pieces;
  for (int i = 0; i < sweep->npieces; i++)
    join_piece(m, &pieces[i], st, n > s, without);
  for (int f = 0; f < m->nfields; f++)
    for (int i = 0; i < sweep->npieces; i++)
      if (piece_target(&pieces[i], f) >= 0) {
        ARENA_PUSH(m->arena, targets, ntargets, f);
        break;
      }
  sweep->targets = targets;
  sweep->ntargets = ntargets;
  memmove(&m->stencils[n], &m->stencils[n + 1], sizeof *m->stencils * (size_t)(m->nstencils - n - 1));
  m->nstencils--;
}

/* The pass: the whole step. */
Module *pass_join_sweeps(PassContext *c, Module *m, int n, const PassOption *o) {
  const char *cut = c->schedule ? c->schedule->fuse : NULL;
  int joined = 0;
  (void)n, (void)o;
  if (!module_sweep(m))
    return m;
  Stencil *own = ARENA_ARRAY(m->arena, Stencil, m->nstencils + 1);
  memcpy(own, m->stencils, sizeof *own * (size_t)m->nstencils);
  m->stencils = own;
  for (int i = 1; i < m->nstencils; i++) {
    module_renumber(m);
    bool before = !cut_has(cut, own[i - 1].name) && may_join(m, &own[i - 1], &own[i], false);
    bool behind = !before && !cut_has(cut, own[i].name) && may_join(m, &own[i], &own[i - 1], true);
    if (!before && !behind)
      continue;
    join(m, before ? i - 1 : i, before ? i : i - 1);
    joined++;
    i = i > 1 ? i - 2 : 0;
  }
  pass_stat(c, joined, "join-sweeps", "stencils on the point joined to sweeps beside them");
  module_renumber(m);
  return m;
}
