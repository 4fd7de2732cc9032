/* specialize.c: a version without tests for the tiles that touch no edge of any region. The body B of a kernel becomes
 *
 *   if interior { B with `inside` true and idx.* = operand + offset } else { B }
 *
 * where `interior` marks the choice, and its condition says so of the block (assume.h). */
#include "passes/kernel/assume.h"

/* How many tests of the form lo <= u <= hi `p` needs. */
static int tests_of(const Part *p) { return p->nlo > p->nhi ? p->nlo : p->nhi; }

/* Number i of the n bounds at v; the last one again if there are no more. */
static Affine bound_at(const Affine *v, int n, int i) { return v[i < n ? i : n - 1]; }

/* `*all` and `x`; `*all` may be NULL. */
static void build_conjunction(Builder *b, Value **all, Value *x) { *all = *all ? build2(b, OP_AND, *all, x) : x; }

/* The condition as a value, as few inside ops as there are: each tests up to MAX_RANK parts. */
static Value *build_condition(Builder *b, const Condition *c) {
  Value *u[MAX_PARTS], *coords[MAX_RANK], *all = NULL;
  int most = 0;
  Box box = {0};
  for (int i = 0; i < c->n; i++) {
    u[i] = part_value(b, &c->part[i]);
    most = tests_of(&c->part[i]) > most ? tests_of(&c->part[i]) : most;
  }
  for (int test = 0; test < most; test++)
    for (int i = 0; i < c->n; i++) {
      const Part *p = &c->part[i];
      if (test < tests_of(p)) {
        box.lo[box.rank] = bound_at(p->lo, p->nlo, test);
        box.hi[box.rank] = bound_at(p->hi, p->nhi, test);
        coords[box.rank++] = u[i];
      }
      if (box.rank == MAX_RANK || (box.rank && i == c->n - 1)) {
        build_conjunction(b, &all, build_inside(b, box.rank, coords, &box));
        box = (Box){0};
      }
    }
  return all;
}

/* The versions of the body of `k` under the condition found; the other keeps the ops that it has. */
static void build_versions(Assumptions *s, Kernel *k) {
  Block *body = block_new(s->arena, NULL);
  Builder b = builder_at_end(s->arena, body);
  b.loc = k->loc;
  Op *both = build_if(&b, build_condition(&b, s->condition), 0, NULL);
  both->flags = IF_INTERIOR;
  both->blocks[0] = block_clone(s->arena, k->body, both, NULL);
  both->blocks[1] = k->body;
  k->body->parent = both;
  k->body = body;
  assumptions_apply(s, both->blocks[0]);
}

/* Are there versions of `k` already? */
static bool is_specialized(const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (op->flags & IF_INTERIOR)
      return true;
  return false;
}

/* Specializes kernel `k`; true if there was something to gain. */
static bool specialize(PassContext *c, Module *m, Kernel *k) {
  Assumptions *s = is_specialized(k) ? NULL : assumptions_find(c, m, k, NULL);
  if (!s)
    return false;
  build_versions(s, k);
  pass_stat(c, s->assumed, "specialize", "tests and maps that interior tiles of kernel %s do without", k->name);
  pass_stat(c, s->kept, "specialize", "tests and maps that interior tiles of kernel %s keep", k->name);
  return true;
}

/* The pass: every kernel of the module. */
Module *pass_specialize(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  for (int i = 0; i < m->nkernels; i++) {
    block_renumber(m->kernels[i].body, 0);
    if (!block_has_signals(m->kernels[i].body) && specialize(c, m, &m->kernels[i]))
      simplify_kernel(c, m, &m->kernels[i]);
  }
  return m;
}
