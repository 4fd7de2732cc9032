/* driver/artifact/manifest-host.c: the host program (Host) in the manifest. */
#include "driver/artifact/manifest.h"

/* A sequence of launches, swaps and loops; `steps` is the key for its number of steps or rounds. */
static json_t *sequence(const ManifestWriter *w, const HostSeq *s, const char *steps) {
  json_t *o = json_object(), *ops = json_array();
  for (int i = 0; i < s->nops; i++) {
    json_t *op = json_object();
    if (s->ops[i].kind == HOST_LAUNCH)
      set(op, "launch", json_string(w->m->kernels[s->ops[i].a].name));
    if (s->ops[i].kind == HOST_REPEAT)
      set(op, "repeat", json_string(w->m->host.loops[s->ops[i].a].name));
    if (s->ops[i].beside && !s->ops[i].behind)
      set(op, "beside", json_true());
    if (s->ops[i].after)
      set(op, "after", json_integer(s->ops[i].after));
    if (s->ops[i].kind == HOST_SWAP)
      set(op, "swap", json_pack("[s, s]", w->m->buffers[s->ops[i].a].name, w->m->buffers[s->ops[i].b].name));
    json_array_append_new(ops, op);
  }
  set(o, steps, json_integer(s->steps));
  set(o, "operations", ops);
  return o;
}

/* The longest text of an expression, in bytes; the rest is left out. */
enum { LONGEST_FORMULA = 2000 };

/* Appends the value of `v` as one formula with named operations: lt(change, 0.5). */
static void add_formula(const ManifestWriter *w, Str *s, const Value *v) {
  const Op *op = v->def;
  if (s->n > LONGEST_FORMULA) {
    str_add(s, "...");
  } else if (op->code == OP_SCALAR) {
    str_add(s, w->m->scalars[op->sym].name);
  } else if (op->code == OP_CONST) {
    const_print(s, op->cval, v->type);
  } else {
    str_addf(s, "%s(", op_info[op->code].name);
    for (int i = 0; i < op->noperands && s->n <= LONGEST_FORMULA; i++) {
      if (i)
        str_add(s, ", ");
      add_formula(w, s, op->operands[i]);
    }
    str_add(s, ")");
  }
}

/* The text of the value that `b` yields. */
static json_t *formula(const ManifestWriter *w, const Block *b) {
  Str s = {w->arena, NULL, 0, 0};
  add_formula(w, &s, b->last->operands[0]);
  return json_string(s.s);
}

/* The reductions that are evaluated between sequences. */
static json_t *reductions(const ManifestWriter *w) {
  static const char *const kinds[] = {"reduce", "until", "finite", "bounds"};
  const Module *m = w->m;
  json_t *list = json_array();
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    bool check = r->kind == REDUCE_FINITE || r->kind == REDUCE_BOUNDS;
    json_t *o = OBJECT("name", json_string(r->name), "kind", json_string(kinds[r->kind]), "operation",
                       json_string(op_info[r->op].name), "type", json_string(type_name(r->type)), "region",
                       manifest_box(w, &r->over), "every", json_integer(r->every));
    if (r->loop)
      set(o, "loop", json_string(m->host.loops[r->loop - 1].name));
    if (r->each)
      set(o, "each", json_true());
    SET(o, "scalar", json_string(m->scalars[r->scalar].name), "result", json_string(m->buffers[r->result].name));
    if (check)
      SET(o, "field", json_string(declared_name(m, r->field)), "good", json_integer(INT64_MAX));
    if (r->stop)
      SET(o, "stop_text", formula(w, r->stop), "stop", manifest_expression(w, r->stop));
    set(o, "sequence", sequence(w, &r->seq, "steps"));
    json_array_append_new(list, o);
  }
  return list;
}

/* The probes, which record values at points. */
static json_t *probes(const ManifestWriter *w) {
  const Module *m = w->m;
  json_t *list = json_array();
  for (int i = 0; i < m->nprobes; i++) {
    const Probe *p = &m->probes[i];
    json_t *o =
        OBJECT("name", json_string(p->name), "type", json_string(type_name(p->type)), "every", json_integer(p->every));
    if (p->list >= 0)
      set(o, "points", json_string(m->lists[p->list].name));
    else
      set(o, "at", manifest_box(w, &p->box));
    SET(o, "series", json_string(m->param_arrays[p->result].name), "rows", json_integer(SERIES_ROWS), "sequence",
        sequence(w, &p->seq, "steps"));
    json_array_append_new(list, o);
  }
  return list;
}

/* The loops within time steps. */
static json_t *loops(const ManifestWriter *w) {
  const Host *h = &w->m->host;
  json_t *list = json_array();
  for (int i = 0; i < h->nloops; i++) {
    json_t *o = json_object(), *rounds = json_array();
    for (int k = 0; k < h->loops[i].nseqs; k++)
      json_array_append_new(rounds, sequence(w, &h->loops[i].seqs[k], "rounds"));
    SET(o, "name", json_string(h->loops[i].name), "most", manifest_affine(w, h->loops[i].most));
    if (h->loops[i].count)
      set(o, "counting", json_string(h->loops[i].count > 0 ? "up" : "down"));
    set(o, "sequences", rounds);
    json_array_append_new(list, o);
  }
  return list;
}

json_t *manifest_host(const ManifestWriter *w) {
  json_t *o = json_object(), *list = json_array();
  for (int i = 0; i < w->m->host.nseqs; i++)
    json_array_append_new(list, sequence(w, &w->m->host.seqs[i], "steps"));
  SET(o, "init", sequence(w, &w->m->host.init, "steps"), "sequences", list, "reductions", reductions(w));
  if (w->m->host.once.nops)
    set(o, "once", sequence(w, &w->m->host.once, "steps"));
  if (w->m->host.nloops)
    set(o, "loops", loops(w));
  if (w->m->nprobes)
    set(o, "probes", probes(w));
  return o;
}
