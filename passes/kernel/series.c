/* series.c: stores the values of probes to their series. Until this pass, the field of a probe seems to have memory at
 * every point. The pass replaces stores to such fields by stores of the probe's points to its series, and then removes
 * the fields and their buffers. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

/* The state of the pass on kernel `k`. before: the kernel runs before the first step. level: the first time level of
 * the kernel's stores to probes (a kernel may contain only the last levels of a tile; every probe stores at all of
 * these). buffer[b]: the new number of buffer b, -1: it is removed. */
typedef struct Series {
  Module *m;
  Kernel *k;
  bool before;
  int level;
  int32_t *buffer;
} Series;

/* The field of a probe to which buffer `b` belongs, NULL if there is none. */
static const Field *series_field(const Module *m, int b) {
  const Buffer *x = b < 0 ? NULL : &m->buffers[b];
  return x && x->kind == BUFFER_FIELD && m->fields[x->field].series ? &m->fields[x->field] : NULL;
}

/* The number of steps done after level `level` of the launch. */
static Value *steps_done(const Series *s, Builder *b, int level) {
  return s->before ? build_int(b, TY_I64, 0)
                   : build2(b, OP_ADD, build_step(b), build_int(b, TY_I64, level - s->level + 1));
}

/* Stores element `e` of `op`, the value at a point of the box of probe `p`, to the series if the probe's list contains
 * that point. */
static void store_point(const Series *s, Builder b, const Op *op, const Probe *p, Value *start, int e) {
  int rank = s->m->grid.rank, first = op_first_index(op);
  int64_t off[MAX_RANK];
  for (int d = 0; d < rank; d++)
    off[d] = op->off[d] + (d == rank - 1 ? e : 0);
  series_store(s->m, b, p, start, op->operands + first, off, op->operands[e]);
}

/* Updates s->level by the level of a store to a probe's field (a block_walk callback). */
static void note_level(void *user, Op *op) {
  Series *s = user;
  const Field *f = series_field(s->m, op_buffer_written(op));
  s->level = f && f->level < s->level ? f->level : s->level;
}

/* Replaces `op`, if it is a store to a probe's field, by stores to the series (a block_walk callback). */
static void replace_store(void *user, Op *op) {
  const Series *s = user;
  const Field *f = series_field(s->m, op_buffer_written(op));
  if (!f)
    return;
  const Probe *p = &s->m->probes[f->series - 1];
  Builder b = builder_before(s->m->arena, op);
  Value *done = steps_done(s, &b, f->level);
  if (!s->before)
    series_when_due(&b, p, done);
  Value *start = series_row(s->m, &b, p, done);
  for (int e = 0; e < op_elements(op); e++)
    store_point(s, b, op, p, start, e);
  op_unlink(op);
}

/* Renumbers the buffers that `op` names (a block_walk callback). */
static void renumber_op(void *user, Op *op) {
  const Series *s = user;
  if (op_info[op->code].form == FORM_COPY || op_is_bulk(op))
    op->from = s->buffer[op->from];
  else if (op_buffer_read(op) >= 0 || op_buffer_written(op) >= 0)
    op->sym = s->buffer[op->sym];
}

/* Renumbers the buffers that a sequence swaps, and removes swaps of removed buffers. */
static void renumber_sequence(const Series *s, HostSeq *q) {
  int n = 0;
  for (int i = 0; i < q->nops; i++) {
    HostOp op = q->ops[i];
    if (op.kind == HOST_SWAP && s->buffer[op.a] < 0)
      continue;
    if (op.kind == HOST_SWAP) {
      op.a = s->buffer[op.a];
      op.b = s->buffer[op.b];
    }
    q->ops[n++] = op;
  }
  q->nops = n;
}

/* Renumbers the buffers among a kernel's arguments, from which kernel_set_args learns what an init writes, and removes
 * arguments of removed buffers. */
static void renumber_args(const Series *s, Kernel *k) {
  int n = 0;
  for (int i = 0; i < k->nargs; i++) {
    KArg a = k->args[i];
    if (a.kind == KARG_BUFFER && s->buffer[a.index] < 0)
      continue;
    if (a.kind == KARG_BUFFER)
      a.index = s->buffer[a.index];
    k->args[n++] = a;
  }
  k->nargs = n;
}

/* A kernel's tests, with the new numbers of fields. */
static const KernelTests *renumbered_tests(const Module *m, const KernelTests *old, const int32_t *number) {
  KernelTests *t = old ? ARENA_NEW(m->arena, KernelTests) : NULL;
  if (!old)
    return NULL;
  *t = *old;
  for (int i = 0; i < t->n; i++)
    t->field[i] = number[t->field[i]];
  return t;
}

/* Removes the probes' fields, whose buffers are gone. Fields after them in the list were made by passes; only buffers
 * and words of tests refer to those. */
static void drop_fields(Module *m) {
  int32_t *number = ARENA_ARRAY(m->arena, int32_t, m->nfields + 1);
  Field *fields = NULL;
  int n = 0;
  for (int f = 0; f < m->nfields; f++) {
    number[f] = n;
    if (!m->fields[f].series)
      ARENA_PUSH(m->arena, fields, n, m->fields[f]);
  }
  for (int b = 0; b < m->nbuffers; b++)
    if (m->buffers[b].kind == BUFFER_FIELD)
      m->buffers[b].field = number[m->buffers[b].field];
  for (int i = 0; i < m->nkernels; i++)
    m->kernels[i].tests = renumbered_tests(m, m->kernels[i].tests, number);
  m->fields = fields;
  m->nfields = n;
}

/* Removes the probes' buffers and fields from the module. */
static void drop_buffers(Series *s) {
  Module *m = s->m;
  int n = 0;
  s->buffer = ARENA_ARRAY(m->arena, int32_t, m->nbuffers + 1);
  for (int b = 0; b < m->nbuffers; b++)
    s->buffer[b] = series_field(m, b) ? -1 : n++;
  for (int b = 0; b < m->nbuffers; b++)
    if (s->buffer[b] >= 0)
      m->buffers[s->buffer[b]] = m->buffers[b];
  m->nbuffers = n;
  for (int i = 0; i < m->nkernels; i++) {
    block_walk(m->kernels[i].body, renumber_op, s);
    renumber_args(s, &m->kernels[i]);
  }
  HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    renumber_sequence(s, q);
  for (int i = 0; i < m->nreductions; i++)
    m->reductions[i].result = s->buffer[m->reductions[i].result];
  drop_fields(m);
}

/* Is kernel `k` launched by the sequence of a probe, that is, before the first step? */
static bool runs_before(const Module *m, int k) {
  for (int i = 0; i < m->nprobes; i++)
    for (int j = 0; j < m->probes[i].seq.nops; j++)
      if (m->probes[i].seq.ops[j].kind == HOST_LAUNCH && m->probes[i].seq.ops[j].a == k)
        return true;
  return false;
}

/* Has a tile more steps than a series has rows? Reports it. */
static bool too_long(PassContext *c, const Module *m) {
  for (int i = 0; i < m->host.nseqs; i++)
    if (!probes_have_room(m, 0, m->host.seqs[i].steps)) {
      diag_error(c->diags, no_loc(), "a tile of %d steps is too long for the program's probes; take -T=%d or less",
                 m->host.seqs[i].steps, (int)SERIES_ROWS);
      return true;
    }
  return false;
}

/* The pass. It leaves a module unchanged that has no probes, or whose probes have their stores already. */
Module *pass_series(PassContext *c, Module *m, int n, const PassOption *o) {
  Series s = {.m = m};
  bool any = false;
  (void)n, (void)o;
  for (int f = 0; f < m->nfields; f++)
    any = any || m->fields[f].series;
  if (!any)
    return m;
  if (too_long(c, m))
    return NULL;
  for (int i = 0; i < m->nkernels; i++) {
    s.k = &m->kernels[i];
    s.before = runs_before(m, i);
    s.level = INT32_MAX;
    block_walk(s.k->body, note_level, &s);
    block_walk(s.k->body, replace_store, &s);
  }
  drop_buffers(&s);
  for (int i = 0; i < m->nkernels; i++)
    kernel_set_args(m, &m->kernels[i]);
  pass_stat(c, m->nprobes, "series", "probes whose points are stored");
  return m;
}
