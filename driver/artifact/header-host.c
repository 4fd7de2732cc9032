/* driver/artifact/header-host.c: the host program (Host) as C functions: sequences of launches and swaps; the time loop
 * and the loops within its steps, which have the same text; and the reductions of each loop. */
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
      c_put(w, "%ss->step += %d;\n", indent, (int)op->after);
    if (op->kind == HOST_LAUNCH)
      c_put(w, "%sif (!e) e = $_launch_%s(s);\n", indent, w->m->kernels[op->a].name);
    if (op->kind == HOST_REPEAT)
      c_put(w, "%sif (!e) e = $_steps%d(s);\n", indent, op->a + 1);
    if (op->kind == HOST_SWAP)
      c_put(w, "%sstc_exchange(s->buffer, %d, %d);\n", indent, (int)op->a, (int)op->b);
    if (op->after)
      c_put(w, "%ss->step -= %d;\n", indent, (int)op->after);
  }
}

/* ---------------------------------------------------------------- reductions */

/* The suffix that distinguishes the functions of loop `loop` (Reduction.loop) from those of others. */
static const char *number(TextWriter *w, int loop) { return loop ? c_text(w, "%d", loop) : ""; }

/* Has loop `loop` reductions? */
static bool reduces(const Module *m, int loop) {
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      return true;
  return false;
}

/* Adds statements that test the value of `r`, which is in p->NAME. */
static void judge(TextWriter *w, const Reduction *r, const char *name) {
  const char *field = r->kind == REDUCE_FINITE || r->kind == REDUCE_BOUNDS ? declared_name(w->m, r->field) : "";
  if (r->kind == REDUCE_FINITE)
    c_put(w, "    if (!e && p->%s != INT64_MAX) e = \"field %s is not finite everywhere\";\n", name,
          header_escaped(w->arena, field));
  if (r->kind == REDUCE_BOUNDS)
    c_put(w, "    if (!e && p->%s != INT64_MAX) e = \"an index of a launch-time array was out of range\";\n", name);
  if (r->kind != REDUCE_UNTIL)
    return;
  c_put(w, "    if (!e && p->%s != p->%s) e = \"the value that `until` compares is NaN\";\n", name, name);
  c_put(w, "    if (!e && done > 0) {\n      bool met;\n%s      if (met) *stop = true;\n    }\n",
        expression_c_text(w->arena, w->m, r->stop, "p->", "met"));
}

/* Adds the other statements for `r` if it has a value for each member: p->NAME holds one member's value after the
 * other, *stop becomes true if all meet the condition, and p->NAME_each receives all values, if it is given. */
static void reduction_each(TextWriter *w, const Reduction *r, const char *name) {
  const char *type = c_type(r->type), *each = c_name(w->arena, c_text(w, "%s_each", r->name));
  c_put(w, "    const int64_t members = %s;\n    bool all = true;\n    %s *value = NULL;\n", header_members(w), type);
  if (w->gpu)
    c_put(w,
          "    if (!e && !(value = (%s *)malloc(sizeof *value * (size_t)members + 1))) e = \"out of memory\";\n    if "
          "(!e) e = stc_gpu_read(&$_gpu.gpu, value, s->buffer[%d], sizeof *value * (size_t)members);\n",
          type, (int)r->result);
  else
    c_put(w, "    value = (%s *)s->buffer[%d];\n", type, (int)r->result);
  c_put(w,
        "    for (int64_t m = 0; m < members && !e; m++) {\n    bool stops = false, *stop = &stops;\n    p->%s = "
        "value[m];\n",
        name);
  judge(w, r, name);
  c_put(w,
        "    (void)stop;\n    all = all && stops;\n    if (p->%s) p->%s[m] = value[m];\n    }\n    if (!e && all) "
        "*stop = true;\n%s  }\n",
        each, each, w->gpu ? "    free(value);\n" : "");
}

/* Adds statements that evaluate `r` if it is due. */
static void reduction(TextWriter *w, const Reduction *r) {
  const char *name = c_name(w->arena, w->m->scalars[r->scalar].name);
  c_put(w, "  if (!e && done %% INT64_C(%lld) == 0) {\n", (long long)r->every);
  header_sequence(w, &r->seq, "    ");
  if (r->each) {
    reduction_each(w, r, name);
    return;
  }
  if (w->gpu)
    c_put(w, "    if (!e) e = stc_gpu_read(&$_gpu.gpu, &p->%s, s->buffer[%d], sizeof p->%s);\n", name, (int)r->result,
          name);
  else
    c_put(w, "    if (!e) memcpy(&p->%s, s->buffer[%d], sizeof p->%s);\n", name, (int)r->result, name);
  judge(w, r, name);
  c_put(w, "  }\n");
}

/* Adds the function that evaluates the due reductions of loop `loop`, and the function that returns the distance to the
 * next ones. */
static void reductions(TextWriter *w, int loop) {
  const Module *m = w->m;
  if (!reduces(m, loop))
    return;
  c_put(w,
        "/* Evaluates what is due after so many %s; sets *stop if the condition of an `until` is met. */\nstatic "
        "inline const char *$_reduce%s($_state *s, int64_t done, bool *stop) {\n  $_params *p = s->p;\n  const char *e "
        "= NULL;\n  (void)stop;\n",
        loop ? "rounds" : "steps", number(w, loop));
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      reduction(w, &m->reductions[i]);
  c_put(w,
        "  return e;\n}\n\n/* The lesser of `left` and what is left to the next evaluation. */\nstatic inline int64_t "
        "$_left%s(int64_t done, int64_t left) {\n",
        number(w, loop));
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].loop == loop)
      c_put(w, "  left = stc_imin(left, %lld - done %% INT64_C(%lld));\n", (long long)m->reductions[i].every,
            (long long)m->reductions[i].every);
  c_put(w, "  return left;\n}\n\n");
}

/* ---------------------------------------------------------------- loops */

/* Adds the statements that advance loop `loop`: each time by the longest sequence that does not go beyond the end.
 * `done` counts steps or rounds; `count`: HostLoop.count. */
static void rounds(TextWriter *w, int loop, int count, int n, const HostSeq *seqs, const char *done) {
  bool reduce = reduces(w->m, loop);
  const char *left = c_text(w, "end - %s", done);
  c_put(w, "  while (!e && %s%s < end) {\n    const int64_t left = ", reduce ? "!stop && " : "", done);
  if (reduce)
    c_put(w, "$_left%s(%s, %s);\n", number(w, loop), done, left);
  else
    c_put(w, "%s;\n", left);
  if (count)
    c_put(w, "    s->step = first + %s;\n", count > 0 ? "done" : "end - 1 - done");
  for (int i = 0; i < n; i++) {
    c_put(w, "    %sif (left >= %d) {\n", i ? "else " : "", (int)seqs[i].steps);
    header_sequence(w, &seqs[i], "      ");
    c_put(w, "      %s += %d;\n    }\n", done, (int)seqs[i].steps);
  }
  if (count)
    c_put(w, "    s->step = first + %s;\n", count > 0 ? "done" : "end - done");
  if (reduce)
    c_put(w, "    if (!e) e = $_reduce%s(s, %s, &stop);\n", number(w, loop), done);
  c_put(w, "%s  }\n%s  return e;\n}\n\n", n ? "" : "    break;\n", loop ? "  s->step = first;\n" : "");
}

/* Adds the function of loop number `i`. */
static void inner_loop(TextWriter *w, int i) {
  const HostLoop *l = &w->m->host.loops[i];
  reductions(w, i + 1);
  c_put(w,
        "/* The rounds of %s. */\nstatic inline const char *$_steps%d($_state *s) {\n  const $_params *p = s->p;\n  "
        "const int64_t end = %s, first = s->step;\n  int64_t done = 0;\n  const char *e = NULL;\n",
        comment_name(w->arena, l->name), i + 1, c_affine(w, l->most));
  str_add(&w->s, reduces(w->m, i + 1) ? "  bool stop = false;\n  (void)p;\n" : "  (void)p;\n");
  rounds(w, i + 1, l->count, l->nseqs, l->seqs, "done");
}

void header_loops(TextWriter *w) {
  const Host *h = &w->m->host;
  for (int i = 0; i < h->nloops; i++)
    inner_loop(w, i);
  reductions(w, 0);
  c_put(w, "/* Time steps until `end` of them are done. */\nstatic inline const char *$_steps($_state *s, int64_t end) "
           "{\n  const char *e = NULL;\n");
  if (reduces(w->m, 0))
    c_put(w, "  bool stop = false;\n  if (s->step == 0) e = $_reduce(s, 0, &stop);\n");
  rounds(w, 0, 0, h->nseqs, h->seqs, "s->step");
}
