/* ir/text/host-text.c: prints and parses the host part of kernel IR. */
#include "ir/text/text.h"

/* ---------------------------------------------------------------- printing */

/* One operation of a sequence. */
static void print_op(Str *s, const Module *m, const HostOp *op) {
  if (op->kind == HOST_SWAP) {
    text_put(s, m, "swap %@, %@", buffer_name(m, op->a), buffer_name(m, op->b));
    return;
  }
  text_put(s, m, "%s%@%s%s", op->kind == HOST_LAUNCH ? "launch " : "repeat ",
           op->kind == HOST_LAUNCH ? kernel_name(m, op->a) : m->host.loops[op->a].name, op->beside ? " beside" : "",
           op->behind ? " behind" : "");
  if (op->after)
    str_addf(s, " after %d", (int)op->after);
}

void sequence_print(Str *s, const Module *m, const HostSeq *q, int indent) {
  str_add(s, " {\n");
  for (int i = 0; i < q->nops; i++) {
    indent_print(s, indent + 1);
    print_op(s, m, &q->ops[i]);
    str_add(s, "\n");
  }
  indent_print(s, indent);
  str_add(s, "}\n");
}

void loop_reductions_print(Str *s, const Module *m, int i) {
  for (int k = 0; k < m->nreductions; k++)
    if (m->reductions[k].loop == i + 1)
      text_put(s, m, " reduce %@", m->reductions[k].name);
}

/* "    repeat @pressure up to N reduce @left renews @r {...}": loop number `i`, with its reductions. */
static void print_loop(Str *s, const Module *m, int i) {
  const HostLoop *l = &m->host.loops[i];
  text_put(s, m, "    repeat %@ up to %a%s", l->name, l->most,
           l->count > 0   ? " counting up"
           : l->count < 0 ? " counting down"
                          : "");
  loop_reductions_print(s, m, i);
  for (int k = 0; k < l->nrenewed; k++)
    text_put(s, m, " renews %@", m->fields[l->renewed[k]].name);
  str_add(s, " {\n");
  for (int k = 0; k < l->nseqs; k++) {
    str_addf(s, "      rounds %d", (int)l->seqs[k].steps);
    sequence_print(s, m, &l->seqs[k], 3);
  }
  str_add(s, "    }\n");
}

void host_print(Str *s, const Module *m) {
  const Host *h = &m->host;
  str_add(s, "  host {\n    init");
  sequence_print(s, m, &h->init, 2);
  if (h->once.nops) {
    str_add(s, "    once");
    sequence_print(s, m, &h->once, 2);
  }
  for (int i = 0; i < h->nloops; i++)
    print_loop(s, m, i);
  for (int i = 0; i < h->nseqs; i++) {
    str_addf(s, "    steps %d", (int)h->seqs[i].steps);
    sequence_print(s, m, &h->seqs[i], 2);
  }
  str_add(s, "  }\n");
}

/* ---------------------------------------------------------------- reading */

/* Parses "after 2" if it is there; else returns 0. */
static int32_t parse_after(Parser *p) {
  return reader_accept_word(&p->r, "after") ? (int32_t)reader_int(&p->r, 0, INT32_MAX) : 0;
}

/* Reads "launch @k beside behind after 2", "swap @A, @B" or "repeat @pressure". */
static HostOp parse_op(Parser *p) {
  HostOp op = {.kind = HOST_SWAP};
  if (reader_accept_word(&p->r, "launch")) {
    op.kind = HOST_LAUNCH;
    op.a = text_ref(p, module_find_kernel, "kernel");
    op.beside = reader_accept_word(&p->r, "beside");
    op.behind = op.beside && reader_accept_word(&p->r, "behind");
    op.after = parse_after(p);
  } else if (reader_accept_word(&p->r, "repeat")) {
    op.kind = HOST_REPEAT;
    op.a = text_ref(p, host_find_loop, "loop");
    op.after = parse_after(p);
  } else if (reader_accept_word(&p->r, "swap")) {
    op.a = text_ref(p, module_find_buffer, "buffer");
    reader_expect(&p->r, ",");
    op.b = text_ref(p, module_find_buffer, "buffer");
  } else {
    reader_error(&p->r, p->r.tok.loc, "expected launch @KERNEL, swap @BUFFER, @BUFFER, repeat @LOOP or '}'");
  }
  return op;
}

void text_sequence(Parser *p, HostSeq *q) {
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed) {
    HostOp op = parse_op(p);
    ARENA_PUSH(p->arena, q->ops, q->nops, op);
  }
  reader_expect(&p->r, "}");
}

/* Parses sequences, each after `word` and its number of steps, up to the closing brace. */
static void parse_sequences(Parser *p, const char *word, int32_t *n, HostSeq **seqs) {
  while (!reader_at(&p->r, "}") && !p->r.failed) {
    HostSeq q = {0};
    reader_expect_word(&p->r, word);
    q.steps = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
    text_sequence(p, &q);
    ARENA_PUSH(p->arena, *seqs, *n, q);
  }
}

void text_loop_reductions(Parser *p, int i) {
  Module *m = p->m;
  while (reader_accept_word(&p->r, "reduce")) {
    Loc where = p->r.tok.loc;
    int r = text_ref(p, module_find_reduction, "reduction");
    if (r >= 0 && m->reductions[r].loop)
      reader_error(&p->r, where, "'@%.60s' is of another loop already", m->reductions[r].name);
    else if (r >= 0)
      m->reductions[r].loop = i + 1;
  }
}

/* Parses a loop, after its word. */
static void parse_loop(Parser *p, Loc at) {
  HostLoop l = {.loc = at};
  l.name = text_new_symbol(p, host_find_loop, "loop");
  reader_expect_word(&p->r, "up");
  reader_expect_word(&p->r, "to");
  l.most = text_affine(p);
  if (reader_accept_word(&p->r, "counting"))
    l.count = reader_accept_word(&p->r, "up") ? 1 : (reader_expect_word(&p->r, "down"), -1);
  text_loop_reductions(p, p->m->host.nloops);
  while (reader_accept_word(&p->r, "renews")) {
    int32_t f = text_ref(p, module_find_field, "field");
    ARENA_PUSH(p->arena, l.renewed, l.nrenewed, f);
  }
  reader_expect(&p->r, "{");
  parse_sequences(p, "rounds", &l.nseqs, &l.seqs);
  reader_expect(&p->r, "}");
  ARENA_PUSH(p->arena, p->m->host.loops, p->m->host.nloops, l);
}

void text_host(Parser *p, Loc at) {
  Host *h = &p->m->host;
  if (p->has_host)
    reader_error(&p->r, at, "there is already a host part");
  p->has_host = true;
  reader_expect(&p->r, "{");
  if (reader_accept_word(&p->r, "init"))
    text_sequence(p, &h->init);
  if (reader_accept_word(&p->r, "once"))
    text_sequence(p, &h->once);
  for (Loc where = p->r.tok.loc; reader_accept_word(&p->r, "repeat"); where = p->r.tok.loc)
    parse_loop(p, where);
  parse_sequences(p, "steps", &h->nseqs, &h->seqs);
  reader_expect(&p->r, "}");
}
