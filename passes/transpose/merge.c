/* merge.c: merges two stencils on the same region if the later one reads results of the earlier one at the point alone.
 * The value then stays in a register.
 *
 *   stencil wave.gather(p, t)[G]    p = S, t = -q            stencil wave.gather(p, q)[G]   p = S + q, q = -q
 *   stencil history.back(p, q)[G]   p = p + q, q = t    ->
 *
 * So the stencil that gathers derivatives with respect to a field is merged with the one that undoes, at the point, the
 * stencil which computed the field. The pass merges two stencils if the later one may stand directly after the earlier
 * one, or the earlier one directly before the later one, because no stencil in between forbids it. Results do not
 * change by a bit, except that two stencils which only add to the same field may add in another order (only_sums). */
#include "passes/transpose/transpose.h"

/* How a stencil uses a field: it reads it at its own points (here), or at others (near); it writes it (sets). */
typedef struct Touch {
  bool here, near, sets;
} Touch;

/* How stencil `st` uses field `f` of b. */
static Touch touch(const Stencil *st, int f) {
  Touch t = {0};
  for (int i = 0; i < st->ntargets; i++)
    t.sets |= st->targets[i] == f;
  for (int k = 0; k < st->npieces; k++)
    for (const Op *op = st->pieces[k].body->first; op; op = op->next) {
      bool moved = false;
      if (!op_reads_field(op) || op->sym != f)
        continue;
      for (int d = 0; d < MAX_RANK; d++)
        moved |= op->off[d] != 0;
      t.near |= moved || op->code != OP_ACCESS;
      t.here |= !moved;
    }
  return t;
}

/* Does a dependence fix the order of stencils `a` and `b`? */
static bool hold(const Module *m, const Stencil *a, const Stencil *b) {
  bool any = false;
  for (int f = 0; f < m->nfields && !any; f++) {
    Touch s = touch(a, f), t = touch(b, f);
    any = (s.sets && (t.sets || t.here || t.near)) || (t.sets && (s.here || s.near));
  }
  return any;
}

/* Does piece `p` use field `f` only to add to it, at the point? */
static bool only_adds(const Piece *p, int f) {
  const Value *v = NULL;
  for (const Op *op = p->body->first; op; op = op->next) {
    bool reads = op_reads_field(op) && op->sym == f;
    for (int d = 0; d < MAX_RANK && reads; d++)
      if (v || op->code != OP_ACCESS || op->off[d] != 0)
        return false;
    v = reads ? op->results[0] : v;
  }
  while (v) {
    const Op *user = NULL;
    int uses = 0, operand = 0;
    for (const Op *op = p->body->first; op; op = op->next)
      for (int i = 0; i < op->noperands; i++)
        if (op->operands[i] == v) {
          uses++;
          user = op;
          operand = i;
        }
    if (uses == 1 && user == p->body->last)
      return p->targets[operand] == f;
    if (uses != 1 || user->code != OP_ADD)
      return false;
    v = user->results[0];
  }
  for (int t = 0; t < p->ntargets; t++)
    if (p->targets[t] == f)
      return false;
  return true;
}

/* Do the stencils share only fields to which both add? Then their order matters only for rounding. */
static bool only_sums(const Module *m, const Stencil *a, const Stencil *b) {
  for (int f = 0; f < m->nfields; f++) {
    Touch s = touch(a, f), t = touch(b, f);
    if (!(s.sets && (t.sets || t.here || t.near)) && !(t.sets && (s.here || s.near)))
      continue;
    for (int k = 0; k < a->npieces; k++)
      if (!only_adds(&a->pieces[k], f))
        return false;
    for (int k = 0; k < b->npieces; k++)
      if (!only_adds(&b->pieces[k], f))
        return false;
  }
  return true;
}

/* Have the stencils the same regions, piece by piece? */
static bool same_regions(const Stencil *a, const Stencil *b) {
  bool same = a->npieces == b->npieces && a->stage == b->stage && !a->every && !b->every && !a->sweep && !b->sweep;
  for (int k = 0; k < a->npieces && same; k++)
    same = box_equal(&a->pieces[k].box, &b->pieces[k].box);
  return same;
}

/* Does stencil `b` read a target of stencil `a`, which stands before it, and only at the point itself? And does `b`
 * write no other field that `a` reads at other points? */
static bool follows(const Module *m, const Stencil *a, const Stencil *b) {
  bool takes = false;
  for (int f = 0; f < m->nfields; f++) {
    Touch s = touch(a, f), t = touch(b, f);
    if ((s.sets && t.near) || (t.sets && !s.sets && (s.near || (s.here && m->fields[f].temp))))
      return false;
    if (!s.sets || !t.here)
      continue;
    takes = true;
    for (int k = 0; k < a->npieces; k++) /* values that a piece of a leaves unchanged are not available in it */
      if (piece_target(&a->pieces[k], f) < 0 ||
          a->pieces[k].body->last->operands[piece_target(&a->pieces[k], f)]->type != m->fields[f].type)
        return false;
  }
  return takes;
}

/* Piece `a` followed by piece `b` on the same region; `b` uses the values that `a` yields. */
static Piece both(Transpose *x, const Piece *a, const Piece *b) {
  Piece out = {.box = a->box, .loc = a->loc};
  Value **values = NULL;
  block_renumber(a->body, 0);
  block_renumber(b->body, 0);
  out.body = block_clone(x->a, a->body, NULL, NULL);
  Block *behind = block_clone(x->a, b->body, NULL, NULL);
  Op *first = out.body->last, *second = behind->last;
  op_unlink(first);
  for (Op *op = behind->first, *next; op; op = next) {
    next = op->next;
    int t = op->code == OP_ACCESS ? piece_target(a, op->sym) : -1;
    if (t >= 0)
      block_replace_uses(behind, op->results[0], first->operands[t]);
    op_unlink(op);
    if (t < 0)
      op_insert(out.body, NULL, op);
  }
  op_unlink(second);
  Builder end = builder_at_end(x->a, out.body);
  end.loc = b->loc;
  for (int t = 0; t < b->ntargets; t++)
    piece_yield(x->a, &out, &values, b->targets[t], second->operands[t]);
  for (int t = 0; t < a->ntargets; t++)
    if (piece_target(b, a->targets[t]) < 0)
      piece_yield(x->a, &out, &values, a->targets[t], first->operands[t]);
  build_yield(&end, out.ntargets, values);
  return out;
}

/* Stencil `a` followed by stencil `b`, as one. */
static Stencil merged(Transpose *x, const Stencil *a, const Stencil *b) {
  Stencil out = *a;
  out.targets = NULL;
  out.ntargets = out.npieces = 0;
  out.pieces = NULL;
  for (int t = 0; t < a->ntargets; t++)
    stencil_add_target(x->a, &out, a->targets[t]);
  for (int t = 0; t < b->ntargets; t++)
    stencil_add_target(x->a, &out, b->targets[t]);
  for (int k = 0; k < a->npieces; k++)
    ARENA_PUSH(x->a, out.pieces, out.npieces, both(x, &a->pieces[k], &b->pieces[k]));
  return out;
}

/* Merges stencil number `j` of b with number `i`, if that is allowed. The stencils between them decide at which of the
 * two places the result stands. */
static bool merge(Transpose *x, int i, int j) {
  Module *b = x->b;
  Stencil *list = b->stencils;
  bool up = true, down = true;
  if (!same_regions(&list[i], &list[j]) || !follows(b, &list[i], &list[j]))
    return false;
  for (int k = i + 1; k < j; k++) {
    up = up && (!hold(b, &list[k], &list[j]) || only_sums(b, &list[k], &list[j]));
    down = down && !hold(b, &list[i], &list[k]);
  }
  if (!up && !down)
    return false;
  Stencil one = merged(x, &list[i], &list[j]);
  for (int k = i; !up && k < j; k++)
    list[k] = list[k + 1];
  list[up ? i : j - 1] = one;
  for (int k = j; k + 1 < b->nstencils; k++)
    list[k] = list[k + 1];
  b->nstencils--;
  return true;
}

/* Removes from stencil `st` the values of temp fields that nothing reads. */
static void drop_values(const Module *b, Stencil *st, const bool *read) {
  int n = 0;
  for (int t = 0; t < st->ntargets; t++)
    if (read[st->targets[t]] || !b->fields[st->targets[t]].temp)
      st->targets[n++] = st->targets[t];
  st->ntargets = n;
  for (int k = 0; k < st->npieces; k++) {
    Piece *p = &st->pieces[k];
    Op *yield = p->body->last;
    n = 0;
    for (int t = 0; t < p->ntargets; t++)
      if (read[p->targets[t]] || !b->fields[p->targets[t]].temp) {
        yield->operands[n] = yield->operands[t];
        p->targets[n++] = p->targets[t];
      }
    p->ntargets = yield->noperands = n;
  }
  n = 0;
  for (int k = 0; k < st->npieces; k++)
    if (st->pieces[k].ntargets)
      st->pieces[n++] = st->pieces[k];
  st->npieces = n;
}

/* Removes ops from `body` whose results nothing uses. */
static void drop_dead(Arena *a, Block *body) {
  bool *used = ARENA_ARRAY(a, bool, block_renumber(body, 0) + 1);
  for (Op *op = body->last, *before; op; op = before) {
    before = op->prev;
    if (op != body->last && op->nresults == 1 && !used[op->results[0]->id])
      op_unlink(op);
    else
      for (int i = 0; i < op->noperands; i++)
        used[op->operands[i]->id] = true;
  }
}

void transpose_merge(Transpose *x) {
  Module *b = x->b;
  bool *read = ARENA_ARRAY(x->a, bool, b->nfields + 1);
  for (int i = 0; i < b->nstencils; i++)
    for (int k = 0; k < b->stencils[i].npieces; k++)
      drop_dead(x->a, b->stencils[i].pieces[k].body);
  for (int j = 1; j < b->nstencils; j++)
    for (int i = j - 1; i >= 0; i--)
      if (merge(x, i, j)) {
        j = i ? i - 1 : 0; /* others may read results of the merged stencil */
        break;
      }
  for (int f = 0; f < b->nfields; f++)
    for (int i = 0; i < b->nstencils; i++) {
      Touch t = touch(&b->stencils[i], f);
      read[f] |= t.here || t.near;
    }
  int n = 0;
  for (int i = 0; i < b->nstencils; i++) {
    drop_values(b, &b->stencils[i], read);
    if (b->stencils[i].npieces)
      b->stencils[n++] = b->stencils[i];
  }
  b->nstencils = n;
}
