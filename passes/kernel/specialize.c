/* specialize.c: adds a version without tests to each kernel, for tiles that touch no edge of any region. The body B of
 * a kernel becomes
 *
 *     if interior { B with `inside` true and idx.* = operand + offset } else { B }
 *
 * `interior` is a mark on the `if`; the condition is true for blocks away from edges (assume.h). Later passes and the
 * model read the mark.
 *
 * All assumptions follow from the condition, for any kernel IR; tests without an assumption stay in the inner version.
 * A kernel keeps its body if nothing can be assumed, or if it has two versions already. The pass simplifies all kernels
 * at the end, so no pass `simplify` need follow.
 *
 * With `inner=1`, for the model, a kernel whose edges pass `split-edges` would move to a kernel of their own becomes
 * the inner kernel, and there is no kernel for the edges. */
#include "passes/plan/cost/estimate.h"
#include "passes/kernel/assume.h"
#include "passes/kernel/inner.h"

/* The number of tests of the form lo <= u <= hi that `p` needs. */
static int tests_of(const Part *p) { return p->nlo > p->nhi ? p->nlo : p->nhi; }

/* Bound i of the n bounds at v; the last one if i >= n. */
static Affine bound_at(const Affine *v, int n, int i) { return v[i < n ? i : n - 1]; }

/* Sets `*all` to the conjunction of `*all` (may be NULL) and `x`. */
static void build_conjunction(Builder *b, Value **all, Value *x) { *all = *all ? build2(b, OP_AND, *all, x) : x; }

/* Builds the condition with as few inside ops as possible; each tests up to MAX_RANK parts. */
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
      if (box.rank == GRID_RANK || (box.rank && i == c->n - 1)) {
        build_conjunction(b, &all, build_inside(b, box.rank, coords, &box));
        box = (Box){0};
      }
    }
  return all;
}

/* Builds, in a block of its own, the choice between versions under the condition in `s`; the versions are empty. */
static Op *build_choice(Assumptions *s, const Kernel *k) {
  Block *body = block_new(s->arena, NULL);
  Builder b = builder_at_end(s->arena, body);
  b.loc = k->loc;
  Op *both = build_if(&b, build_condition(&b, s->condition), 0, NULL);
  both->flags = IF_INTERIOR;
  return both;
}

/* Makes the choice `both` the body of `k`; the old ops become the second version. */
static void build_versions(Assumptions *s, Kernel *k, Op *both) {
  both->blocks[0] = block_clone(s->arena, k->body, both, NULL);
  both->blocks[1] = k->body;
  k->body->parent = both;
  k->body = both->parent;
  assumptions_apply(s, both->blocks[0]);
}

/* Keeps only the interior version of `k`, if pass split-edges would move the edges to a kernel of their own. False if
 * not. */
static bool build_inner(Assumptions *s, Module *m, Kernel *k, Op *both) {
  Inner inner[MAX_RANK];
  for (Op *op = both->parent->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      ranges_number(s->ranges, op->results[i]);
  if (!inner_blocks(s->ranges, both->operands[0], inner))
    return false;
  both->blocks[0] = k->body;
  k->body->parent = both;
  k->body = both->parent;
  assumptions_apply(s, both->blocks[0]);
  inner_settle(m, k, inner);
  inner_alone(m, k, both, inner);
  return true;
}

/* Specializes kernel `k`, or (`inner`) keeps only its interior version if possible. True if something was assumed. */
static bool specialize(PassContext *c, Module *m, Kernel *k, bool inner) {
  Assumptions *s = kernel_has_versions(k) ? NULL : assumptions_find(c, m, k, NULL);
  if (!s)
    return false;
  Op *both = build_choice(s, k);
  if (!inner || !build_inner(s, m, k, both))
    build_versions(s, k, both);
  pass_stat(c, s->assumed, "specialize", "tests and maps that interior tiles of kernel %s do without", k->name);
  pass_stat(c, s->kept, "specialize", "tests and maps that interior tiles of kernel %s keep", k->name);
  return true;
}

/* Kernel `k` of a frame has two versions of its own. Where the first version runs and the tile also touches no other
 * edge, more tests hold: adds that condition to the choice, and removes these tests from the first version. */
static void sharpen(PassContext *c, Module *m, Kernel *k) {
  for (Op *op = k->body->first; op; op = op->next) {
    Assumptions *s = op->flags & IF_INTERIOR ? assumptions_within(c, m, k, op) : NULL;
    if (!s)
      continue;
    Builder b = builder_before(m->arena, op);
    op->operands[0] = build2(&b, OP_AND, op->operands[0], build_condition(&b, s->condition));
    assumptions_apply(s, op->blocks[0]);
    pass_stat(c, s->assumed, "specialize", "tests and maps that interior tiles of kernel %s do without", k->name);
    return;
  }
}

/* The pass: every kernel of the module. */
Module *pass_specialize(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true, inner = pass_option_int(c, "specialize", n, o, "inner", 0, 1, 0, &ok);
  for (int i = 0; i < m->nkernels && ok; i++) {
    block_renumber(m->kernels[i].body, 0);
    if (m->kernels[i].idles && kernel_has_versions(&m->kernels[i]))
      sharpen(c, m, &m->kernels[i]);
    if (!block_has_signals(m->kernels[i].body) || m->kernels[i].cluster)
      specialize(c, m, &m->kernels[i], inner);
    simplify_kernel(c, m, &m->kernels[i]);
  }
  return ok ? m : NULL;
}
