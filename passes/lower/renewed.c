/* renewed.c: finds fields that each round of a repeat sets as a whole before it reads them, such as the right-hand side
 * of a coarser level, which is restricted in every cycle. The values of the round before do not matter there. The host
 * part lists these fields in its loop, and the simulator reports launches that read such values nevertheless. */
#include "passes/lower/lower.h"

/* The first thing that the stages so far have done to a field. */
typedef enum First { FIRST_NOTHING, FIRST_SET, FIRST_OTHER } First;

/* If nothing is noted for field `f`, notes `what`. */
static void note_first(uint8_t *first, int f, First what) {
  if (first[f] == FIRST_NOTHING)
    first[f] = (uint8_t)what;
}

/* Notes the fields that `body` reads. */
static void note_reads(uint8_t *first, const Block *body) {
  for (const Op *op = body ? body->first : NULL; op; op = op->next)
    if (op_reads_field(op))
      note_first(first, op->sym, FIRST_OTHER);
}

/* Notes the reads and writes of `st`; sure: it runs once in every round. */
static void note_stencil(const Module *m, uint8_t *first, const Stencil *st, bool sure) {
  for (int i = 0; i < st->npieces; i++)
    note_reads(first, st->pieces[i].body);
  for (int t = 0; t < st->ntargets; t++)
    note_first(first, st->targets[t], sure && !stencil_keeps(m, st, st->targets[t]) ? FIRST_SET : FIRST_OTHER);
}

/* Notes the reads of reductions that are evaluated after the rounds of repeats within repeat `outer` that end with
 * stage `stage`. */
static void note_evaluated(const Module *m, uint8_t *first, int outer, int stage) {
  for (int i = 0; i < m->nreductions; i++) {
    int r = m->reductions[i].loop - 1;
    if (r >= 0 && r != outer && m->repeats[r].last == stage && repeat_is_in(m, r, outer))
      note_reads(first, m->reductions[i].body);
  }
}

/* Notes the reads and writes of stage `stage` in a round of repeat `repeat`. */
static void note_stage(const Module *m, uint8_t *first, int repeat, int stage) {
  for (int i = 0; i < m->nupdates; i++)
    if (m->updates[i].stage == stage)
      note_reads(first, m->updates[i].body);
  for (int i = 0; i < m->nstencils; i++)
    if (m->stencils[i].stage == stage)
      note_stencil(m, first, &m->stencils[i], repeat_of(m, stage) == repeat);
  note_evaluated(m, first, repeat, stage);
}

void lower_renewed(Lowering *lo, int repeat) {
  const Module *m = lo->m;
  const Repeat *r = &m->repeats[repeat];
  HostLoop *l = &lo->out->host.loops[repeat];
  uint8_t *first = ARENA_ARRAY(lo->out->arena, uint8_t, m->nfields + 1);
  for (int stage = r->tile ? r->last : r->first; stage <= r->last; stage++)
    note_stage(m, first, repeat, stage);
  for (int f = 0; f < m->nfields; f++)
    if (first[f] == FIRST_SET && !m->fields[f].temp)
      ARENA_PUSH(lo->out->arena, l->renewed, l->nrenewed, f);
}
