/* lower-repeat.c: lowers repeats within a step to loops of the host part. The launches of a step are listed in order,
 * with marks at the beginnings and ends of repeats; at the end the launches between two marks become the loop's own
 * sequence. */
#include "passes/lower/lower.h"

/* The kind of a mark, in HostOp.b of a HOST_REPEAT: the repeat begins, or ends; or, after the part for several rounds
 * at once, the part for single rounds begins. */
enum { MARK_BEGIN = 1, MARK_END = 2, MARK_SINGLE = 3 };

int next_border(const Module *m, int after) {
  int next = INT32_MAX;
  for (int i = 0; i < m->nupdates; i++)
    if (m->updates[i].stage > after && m->updates[i].stage < next)
      next = m->updates[i].stage;
  for (int i = 0; i < m->nrepeats; i++) {
    int first = m->repeats[i].first, end = m->repeats[i].last + 1;
    next = first > after && first < next ? first : next;
    next = end > after && end < next ? end : next;
    next = m->repeats[i].tile && end - 1 > after && end - 1 < next ? end - 1 : next;
  }
  return next;
}

void push_borders(Lowering *lo, HostSeq *seq, int stage) {
  const Module *m = lo->m;
  for (int i = 0; i < m->nrepeats; i++)
    if (m->repeats[i].last + 1 == stage)
      ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, ((HostOp){.kind = HOST_REPEAT, .a = i, .b = MARK_END}));
  for (int i = 0; i < m->nrepeats; i++)
    if (m->repeats[i].tile && m->repeats[i].last == stage)
      ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, ((HostOp){.kind = HOST_REPEAT, .a = i, .b = MARK_SINGLE}));
  for (int i = m->nrepeats - 1; i >= 0; i--)
    if (m->repeats[i].first == stage)
      ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, ((HostOp){.kind = HOST_REPEAT, .a = i, .b = MARK_BEGIN}));
}

/* Moves operations of `from`, from number *i on, to `to`, up to the end or up to a mark of repeat `around` other than
 * its begin. */
static void take(Lowering *lo, const HostSeq *from, int *i, HostSeq *to, int around) {
  Arena *a = lo->out->arena;
  while (*i < from->nops) {
    HostOp op = from->ops[(*i)++];
    if (op.kind == HOST_REPEAT && op.b >= MARK_END && op.a == around)
      return;
    if (op.kind == HOST_REPEAT && op.b == MARK_BEGIN) {
      HostLoop *l = &lo->out->host.loops[op.a];
      HostSeq own[2] = {{.steps = 1}, {.steps = lo->m->repeats[op.a].tile}};
      if (own[1].steps)
        take(lo, from, i, &own[1], op.a);
      take(lo, from, i, &own[0], op.a);
      if (own[1].steps && !l->nseqs)
        ARENA_PUSH(a, l->seqs, l->nseqs, own[1]);
      if (l->nseqs < 1 + (own[1].steps > 0))
        ARENA_PUSH(a, l->seqs, l->nseqs, own[0]);
      op = (HostOp){.kind = HOST_REPEAT, .a = op.a};
    }
    ARENA_PUSH(a, to->ops, to->nops, op);
  }
}

void lower_repeats(Lowering *lo) {
  Host *h = &lo->out->host;
  const Module *m = lo->m;
  if (lo->c->sketch || !m->nrepeats)
    return;
  h->nloops = m->nrepeats;
  h->loops = ARENA_ARRAY(lo->out->arena, HostLoop, m->nrepeats);
  for (int i = 0; i < m->nrepeats; i++)
    h->loops[i] = (HostLoop){.name = m->repeats[i].name, .most = m->repeats[i].most, .loc = m->repeats[i].loc};
  for (int i = 0; i < m->nrepeats; i++)
    lower_renewed(lo, i);
  for (int i = 0; i < h->nseqs; i++) {
    HostSeq flat = h->seqs[i];
    int at = 0;
    h->seqs[i] = (HostSeq){.steps = flat.steps};
    take(lo, &flat, &at, &h->seqs[i], -1);
  }
}
