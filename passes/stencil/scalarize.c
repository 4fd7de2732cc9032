/* scalarize.c: replaces fields and values of composite type by their scalar components, because later passes know
 * scalars only.
 *
 *     field s : struct { xx: f32, yy: f32 }     ->     field s.xx : f32    field s.yy : f32
 *
 * and a record says that these two are s.
 *
 * A field `v` of a vector or struct type becomes one field for each component (`v.0`, `s.xx`, `s.flux.2`), in its
 * place, with the same box, rule and attributes; a constant outside is converted to the component's type. The result is
 * a structure of arrays (the paper's ElemType, section 3.1): neighbouring points of a component are neighbours in
 * memory. A *record* of the module says which fields `v` has become; files and launchers see it as one field. The past
 * `v@1` is split in the same way, and its components are the pasts of those of `v`.
 *
 * In bodies `construct` and `extract` disappear: a composite value is the list of its components' values. An access
 * becomes an access of each component; unused ones disappear with the next `simplify`. A module without composite types
 * is not changed. */
#include "passes/passes.h"
#include "passes/registry.h"

/* The state of the pass. The components of field f of the old module are the fields first[f] .. first[f] + n - 1.
 * parts[v]: the component values of value v of the current body (of a scalar value: itself). */
typedef struct Scalarize {
  Module *m;
  const Field *old;
  int32_t *first;
  Value ***parts;
} Scalarize;

/* ---- fields */

/* Component `i` of field `f`. */
static Field component_field(const Scalarize *s, const Field *f, int i) {
  const Module *m = s->m;
  Field c = *f;
  c.type = type_component(m, f->type, i);
  if (c.type == f->type)
    return c;
  c.name = arena_printf(m->arena, "%s%s", f->name, type_component_path(m, f->type, i));
  if (outside_has(f, OUTSIDE_CONST))
    c.outside_value = const_convert(f->outside_value, TY_F64, c.type);
  Side *sides = f->sides ? ARENA_ARRAY(m->arena, Side, 2 * MAX_RANK) : NULL;
  for (int k = 0; k < 2 * m->grid.rank && sides; k++) {
    sides[k] = f->sides[k];
    sides[k].value = const_convert(f->sides[k].value, TY_F64, c.type);
  }
  c.sides = sides;
  return c;
}

/* Replaces the module's fields by their components. */
static void split_fields(Scalarize *s) {
  Module *m = s->m;
  int n = m->nfields;
  s->old = m->fields;
  s->first = ARENA_ARRAY(m->arena, int32_t, n + 1);
  m->fields = NULL;
  m->nfields = 0;
  for (int f = 0; f < n; f++) {
    const Field *old = &s->old[f];
    s->first[f] = m->nfields;
    if (type_composite(m, old->type))
      ARENA_PUSH(m->arena, m->records, m->nrecords, ((Record){old->name, old->type, m->nfields}));
    for (int i = 0; i < type_components(m, old->type); i++)
      ARENA_PUSH(m->arena, m->fields, m->nfields, component_field(s, old, i));
  }
  for (int f = 0; f < n; f++)
    for (int i = 0; s->old[f].past && i < type_components(m, s->old[f].type); i++)
      m->fields[s->first[f] + i].present = s->first[s->old[f].present] + i;
}

/* The components of the `*n` fields at `fields`, in order; *n becomes their number. */
static int32_t *split_targets(const Scalarize *s, int32_t *n, const int32_t *fields) {
  int32_t *out = NULL;
  int count = 0;
  for (int t = 0; t < *n; t++)
    for (int i = 0; i < type_components(s->m, s->old[fields[t]].type); i++)
      ARENA_PUSH(s->m->arena, out, count, s->first[fields[t]] + i);
  *n = count;
  return out;
}

/* ---- bodies */

/* The components of all operands of `op`, one after the other; *n becomes their number. */
static Value **operand_parts(const Scalarize *s, const Op *op, int32_t *n) {
  Value **out = NULL;
  int count = 0;
  for (int k = 0; k < op->noperands; k++)
    for (int i = 0; i < type_components(s->m, op->operands[k]->type); i++)
      ARENA_PUSH(s->m->arena, out, count, s->parts[op->operands[k]->id][i]);
  *n = count;
  return out;
}

/* Does `op` read a field? */
static bool reads_field(const Op *op) { return op_reads_field(op) || op->code == OP_BEHIND; }

/* The function that builds a read of the same kind as `op`. */
static Value *(*builder_of(const Op *op))(Builder *, Type, int, const int64_t *, int) {
  switch (op->code) {
  case OP_BEHIND: return build_behind;
  case OP_FINE: return build_fine;
  case OP_COARSE: return build_coarse;
  default: return build_access;
  }
}

/* Reads of all components of the field that `op` reads. */
static Value **access_parts(const Scalarize *s, Op *op) {
  Builder b = builder_before(s->m->arena, op);
  int n = type_components(s->m, s->old[op->sym].type);
  Value **out = ARENA_ARRAY(s->m->arena, Value *, n);
  for (int i = 0; i < n; i++)
    out[i] =
        builder_of(op)(&b, s->m->fields[s->first[op->sym] + i].type, s->first[op->sym] + i, op->off, s->m->grid.rank);
  return out;
}

/* Rewrites one op. Removes an op with a composite result, and every extract. */
static void split_op(const Scalarize *s, Op *op) {
  int32_t n;
  Value **parts = operand_parts(s, op, &n), *result = op->nresults ? op->results[0] : NULL;
  if (op->code == OP_CONSTRUCT) {
    s->parts[result->id] = parts;
  } else if (op->code == OP_EXTRACT) {
    s->parts[result->id] = parts + type_member_component(s->m, op->operands[0]->type, op->sym);
  } else if (reads_field(op) && type_composite(s->m, result->type)) {
    s->parts[result->id] = access_parts(s, op);
  } else {
    op->operands = parts;
    op->noperands = n;
    if (reads_field(op))
      op->sym = s->first[op->sym];
    for (int i = 0; i < op->nresults; i++)
      s->parts[op->results[i]->id] = &op->results[i];
    return;
  }
  op_unlink(op);
}

/* Rewrites a body: a straight line of ops whose values are numbered. */
static void split_body(Scalarize *s, Block *body) {
  int32_t n = 0;
  for (const Op *op = body->first; op; op = op->next)
    n += op->nresults;
  s->parts = ARENA_ARRAY(s->m->arena, Value **, n + 1);
  for (Op *op = body->first, *next; op; op = next) {
    next = op->next;
    split_op(s, op);
  }
}

/* Rewrites the `n` stencils at `st`. */
static void split_stencils(Scalarize *s, int n, Stencil *st) {
  for (int i = 0; i < n; i++) {
    st[i].targets = split_targets(s, &st[i].ntargets, st[i].targets);
    for (int k = 0; k < st[i].npieces; k++) {
      Piece *p = &st[i].pieces[k];
      p->targets = split_targets(s, &p->ntargets, p->targets);
      split_body(s, p->body);
    }
  }
}

/* The pass. It leaves a module without composite types unchanged. */
Module *pass_scalarize(PassContext *c, Module *m, int n, const PassOption *o) {
  Scalarize s = {.m = m};
  int fields = m->nfields;
  (void)n, (void)o;
  if (!m->ncomposites)
    return m;
  module_renumber(m);
  split_fields(&s);
  split_stencils(&s, m->ninits, m->inits);
  split_stencils(&s, m->nstencils, m->stencils);
  for (int i = 0; i < m->nreductions; i++) {
    if (m->reductions[i].body)
      split_body(&s, m->reductions[i].body);
    if (m->reductions[i].kind >= REDUCE_FINITE)
      m->reductions[i].field = s.first[m->reductions[i].field];
  }
  for (int i = 0; i < m->nprobes; i++)
    split_body(&s, m->probes[i].body);
  for (int i = 0; i < m->nupdates; i++)
    split_body(&s, m->updates[i].body);
  for (int i = 0; i < m->nlists; i++)
    m->lists[i].field = s.first[m->lists[i].field];
  pass_stat(c, m->nfields - fields, "scalarize", "fields more");
  return m;
}
