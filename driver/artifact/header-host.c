/* driver/artifact/header-host.c: the host program (Host) as C functions: sequences of launches and swaps, the time loop
 * and the loops within its steps, which are made of the same text, and the reductions of each. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

bool header_is_swapped(const Module *m, int b) {
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    for (int k = 0; k < q->nops; k++)
      if (q->ops[k].kind == HOST_SWAP && (q->ops[k].a == b || q->ops[k].b == b))
        return true;
  return false;
}

void header_sequence(TextWriter *w, const HostSeq *q, const char *indent) {
  for (int i = 0; i < q->nops; i++) {
    const HostOp *op = &q->ops[i];
    if (op->after)
      str_addf(&w->s, "%ss->step += %d;\n", indent, (int)op->after);
    if (op->kind == HOST_LAUNCH)
      str_addf(&w->s, "%sif (!e) e = %s_launch_%s(s);\n", indent, w->p, w->m->kernels[op->a].name);
    if (op->kind == HOST_REPEAT)
      str_addf(&w->s, "%sif (!e) e = %s_steps%d(s);\n", indent, w->p, op->a + 1);
    if (op->kind == HOST_SWAP)
      str_addf(&w->s, "%sstc_exchange(s->buffer, %d, %d);\n", indent, (int)op->a, (int)op->b);
    if (op->after)
      str_addf(&w->s, "%ss->step -= %d;\n", indent, (int)op->after);
  }
}

/* ---------------------------------------------------------------- reductions */

/* What tells the functions of loop `loop` (Reduction.loop) from those of others. */
static const char *number(TextWriter *w, int loop) { return loop ? arena_printf(w->arena, "%d", loop) : ""; }

/* Has loop `loop` reductions? */
static bool reduces(const Module *m, int loop) {
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      return true;
  return false;
}

/* Statements that judge the value of `r`, which is in p->NAME. */
static void judge(TextWriter *w, const Reduction *r, const char *name) {
  const char *field = r->kind == REDUCE_FINITE || r->kind == REDUCE_BOUNDS ? declared_name(w->m, r->field) : "";
  if (r->kind == REDUCE_FINITE)
    str_addf(&w->s, "    if (!e && p->%s != INT64_MAX) e = \"field %s is not finite everywhere\";\n", name,
             header_escaped(w->arena, field));
  if (r->kind == REDUCE_BOUNDS)
    str_addf(&w->s, "    if (!e && p->%s != INT64_MAX) e = \"an index of a launch-time array was out of range\";\n",
             name);
  if (r->kind != REDUCE_UNTIL)
    return;
  str_addf(&w->s, "    if (!e && p->%s != p->%s) e = \"the value that `until` compares is NaN\";\n", name, name);
  str_addf(&w->s, "    if (!e && done > 0) {\n      bool met;\n%s      if (met) *stop = true;\n    }\n",
           expression_c_text(w->arena, w->m, r->stop, "p->", "met"));
}

/* The rest of them where `r` has a value for each member: p->NAME has that of one after the other, *stop becomes true
 * if all meet the condition, and p->NAME_each has all, if there is room. */
static void reduction_each(TextWriter *w, const Reduction *r, const char *name) {
  const char *type = c_type(r->type), *each = c_name(w->arena, arena_printf(w->arena, "%s_each", r->name));
  str_addf(&w->s, "    const int64_t members = %s;\n    bool all = true;\n    %s *value = NULL;\n", header_members(w),
           type);
  if (w->gpu)
    str_addf(
        &w->s,
        "    if (!e && !(value = (%s *)malloc(sizeof *value * (size_t)members + 1))) e = \"out of memory\";\n    if "
        "(!e) e = stc_gpu_read(&%s_gpu.gpu, value, s->buffer[%d], sizeof *value * (size_t)members);\n",
        type, w->p, (int)r->result);
  else
    str_addf(&w->s, "    value = (%s *)s->buffer[%d];\n", type, (int)r->result);
  str_addf(&w->s,
           "    for (int64_t m = 0; m < members && !e; m++) {\n    bool stops = false, *stop = &stops;\n    p->%s = "
           "value[m];\n",
           name);
  judge(w, r, name);
  str_addf(&w->s,
           "    (void)stop;\n    all = all && stops;\n    if (p->%s) p->%s[m] = value[m];\n    }\n    if (!e && all) "
           "*stop = true;\n%s  }\n",
           each, each, w->gpu ? "    free(value);\n" : "");
}

/* Statements that evaluate `r` where it is due. */
static void reduction(TextWriter *w, const Reduction *r) {
  const char *name = c_name(w->arena, w->m->scalars[r->scalar].name);
  str_addf(&w->s, "  if (!e && done %% INT64_C(%lld) == 0) {\n", (long long)r->every);
  header_sequence(w, &r->seq, "    ");
  if (r->each) {
    reduction_each(w, r, name);
    return;
  }
  if (w->gpu)
    str_addf(&w->s, "    if (!e) e = stc_gpu_read(&%s_gpu.gpu, &p->%s, s->buffer[%d], sizeof p->%s);\n", w->p, name,
             (int)r->result, name);
  else
    str_addf(&w->s, "    if (!e) memcpy(&p->%s, s->buffer[%d], sizeof p->%s);\n", name, (int)r->result, name);
  judge(w, r, name);
  str_add(&w->s, "  }\n");
}

/* The function that evaluates the reductions of loop `loop` that are due, and the one that says how far it is to the
 * next. */
static void reductions(TextWriter *w, int loop) {
  const Module *m = w->m;
  if (!reduces(m, loop))
    return;
  str_addf(&w->s,
           "/* Evaluates what is due after so many %s; sets *stop if the condition of an `until` is met. */\n"
           "static inline const char *%s_reduce%s(%s_state *s, int64_t done, bool *stop) {\n  %s_params *p = s->p;\n"
           "  const char *e = NULL;\n  (void)stop;\n",
           loop ? "rounds" : "steps", w->p, number(w, loop), w->p, w->p);
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      reduction(w, &m->reductions[i]);
  str_addf(&w->s,
           "  return e;\n}\n\n/* The lesser of `left` and what is left to the next evaluation. */\n"
           "static inline int64_t %s_left%s(int64_t done, int64_t left) {\n",
           w->p, number(w, loop));
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      str_addf(&w->s, "  left = stc_imin(left, %lld - done %% INT64_C(%lld));\n", (long long)m->reductions[i].every,
               (long long)m->reductions[i].every);
  str_add(&w->s, "  return left;\n}\n\n");
}

/* ---------------------------------------------------------------- loops */

/* The statements by which loop `loop` goes on: always by the longest sequence that does not go too far. `done` counts
 * its steps or rounds; `count`: HostLoop.count. */
static void rounds(TextWriter *w, int loop, int count, int n, const HostSeq *seqs, const char *done) {
  bool reduce = reduces(w->m, loop);
  const char *left = arena_printf(w->arena, "end - %s", done);
  str_addf(&w->s, "  while (!e && %s%s < end) {\n    const int64_t left = ", reduce ? "!stop && " : "", done);
  if (reduce)
    str_addf(&w->s, "%s_left%s(%s, %s);\n", w->p, number(w, loop), done, left);
  else
    str_addf(&w->s, "%s;\n", left);
  if (count)
    str_addf(&w->s, "    s->step = first + %s;\n", count > 0 ? "done" : "end - 1 - done");
  for (int i = 0; i < n; i++) {
    str_addf(&w->s, "    %sif (left >= %d) {\n", i ? "else " : "", (int)seqs[i].steps);
    header_sequence(w, &seqs[i], "      ");
    str_addf(&w->s, "      %s += %d;\n    }\n", done, (int)seqs[i].steps);
  }
  if (count)
    str_addf(&w->s, "    s->step = first + %s;\n", count > 0 ? "done" : "end - done");
  if (reduce)
    str_addf(&w->s, "    if (!e) e = %s_reduce%s(s, %s, &stop);\n", w->p, number(w, loop), done);
  str_addf(&w->s, "%s  }\n%s  return e;\n}\n\n", n ? "" : "    break;\n", loop ? "  s->step = first;\n" : "");
}

/* The function of loop number `i`. */
static void inner_loop(TextWriter *w, int i) {
  const HostLoop *l = &w->m->host.loops[i];
  reductions(w, i + 1);
  str_addf(&w->s,
           "/* The rounds of %s. */\nstatic inline const char *%s_steps%d(%s_state *s) {\n  const %s_params *p = "
           "s->p;\n  const int64_t end = %s, first = s->step;\n  int64_t done = 0;\n  const char *e = NULL;\n",
           comment_name(w->arena, l->name), w->p, i + 1, w->p, w->p, affine_c_text(w->arena, w->m, l->most, "p->"));
  str_add(&w->s, reduces(w->m, i + 1) ? "  bool stop = false;\n  (void)p;\n" : "  (void)p;\n");
  rounds(w, i + 1, l->count, l->nseqs, l->seqs, "done");
}

void header_loops(TextWriter *w) {
  const Host *h = &w->m->host;
  for (int i = 0; i < h->nloops; i++)
    inner_loop(w, i);
  reductions(w, 0);
  str_addf(&w->s,
           "/* Time steps until `end` of them are done. */\nstatic inline const char *%s_steps(%s_state *s, int64_t "
           "end) {\n  const char *e = NULL;\n",
           w->p, w->p);
  if (reduces(w->m, 0))
    str_addf(&w->s, "  bool stop = false;\n  if (s->step == 0) e = %s_reduce(s, 0, &stop);\n", w->p);
  rounds(w, 0, 0, h->nseqs, h->seqs, "s->step");
}
