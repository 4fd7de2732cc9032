/* sim-order.c: the lifetime of memory across launches. Memory that belongs to a round has no values when the round
 * begins. */
#include "ir/sim/simulate.h"

/* Records the buffers that launches store to, for loop `loop`: in its rounds (in[b] for buffer b), and elsewhere. */
typedef struct Stores {
  const Sim *s;
  int32_t loop;
  bool *in, *out;
} Stores;

/* Records the buffers that the launches of `seq` and of its loops store to; rounds: they are in rounds of the loop. */
static void note_stores(const Stores *x, const HostSeq *seq, bool rounds) {
  const Module *m = x->s->m;
  for (int i = 0; i < seq->nops; i++) {
    const HostOp *op = &seq->ops[i];
    for (int b = 0; op->kind == HOST_LAUNCH && b < m->nbuffers; b++)
      if (x->s->kernels[op->a].writes[b])
        (rounds ? x->in : x->out)[b] = true;
    for (int q = 0; op->kind == HOST_REPEAT && q < m->host.loops[op->a].nseqs; q++)
      note_stores(x, &m->host.loops[op->a].seqs[q], rounds || op->a == x->loop);
  }
}

/* Does loop `loop` renew the field of buffer `b`? */
static bool is_renewed(const Module *m, int32_t loop, const Buffer *b) {
  for (int i = 0; i < m->host.loops[loop].nrenewed; i++)
    if (m->host.loops[loop].renewed[i] == b->field)
      return true;
  return false;
}

/* May a kernel that sets buffer `b` as a whole skip points: dry ones, which have their values already? */
static bool has_dry(const Module *m, int b) {
  bool alone = sim_is_set_once(m, b);
  for (int k = 0; k < m->nkernels; k++)
    for (int i = 0; i < m->kernels[k].nargs; i++)
      if (m->kernels[k].args[i].kind == KARG_BUFFER && m->kernels[k].args[i].writes && m->kernels[k].args[i].index == b)
        alone = alone || m->kernels[k].skips_dry || m->kernels[k].by_class || m->kernels[k].idles;
  return alone;
}

/* The same for any buffer of the field of buffer `b`: swaps exchange their memory. */
static bool is_left_alone(const Module *m, int b) {
  for (int i = 0; i < m->nbuffers; i++)
    if (m->buffers[i].kind == BUFFER_FIELD && m->buffers[i].field == m->buffers[b].field && has_dry(m, i))
      return true;
  return false;
}

/* The buffers that have no values when a round of loop `loop` begins: those of temp fields to which only its rounds
 * store, and those of fields that it renews. */
static bool *passing_in(const Sim *s, int32_t loop) {
  const Module *m = s->m;
  Stores x = {s, loop, ARENA_ARRAY(s->arena, bool, m->nbuffers + 1), ARENA_ARRAY(s->arena, bool, m->nbuffers + 1)};
  for (int i = 0; i < m->host.nseqs; i++)
    note_stores(&x, &m->host.seqs[i], false);
  for (int b = 0; b < m->nbuffers; b++) {
    const Buffer *buffer = &m->buffers[b];
    bool temp = buffer->kind == BUFFER_FIELD && m->fields[buffer->field].temp && x.in[b] && !x.out[b];
    x.in[b] = temp || (buffer->kind == BUFFER_FIELD && is_renewed(m, loop, buffer) && !is_left_alone(m, b));
  }
  return x.in;
}

void sim_round(void *user, int loop) {
  Sim *s = user;
  if (!s->passing[loop])
    s->passing[loop] = passing_in(s, loop);
  for (int b = 0; b < s->m->nbuffers; b++)
    if (s->passing[loop][b]) {
      sim_memory_forget(s->memory[b]);
      s->memory[b]->renewed = true;
    }
}

/* Does the `once` sequence set buffer `b`? */
bool sim_is_set_once(const Module *m, int b) {
  const HostSeq *once = &m->host.once;
  for (int i = 0; i < once->nops; i++) {
    const Kernel *k = once->ops[i].kind == HOST_LAUNCH ? &m->kernels[once->ops[i].a] : NULL;
    for (int j = 0; k && j < k->nargs; j++)
      if (k->args[j].kind == KARG_BUFFER && k->args[j].writes && k->args[j].index == b)
        return true;
  }
  return false;
}
