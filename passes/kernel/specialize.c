/* specialize.c: adds a version without tests for tiles that touch no edge of any region. The body B of a kernel becomes
 *
 *   if interior { B with `inside` true and idx.* = operand + offset } else { B }
 *
 * where `interior` marks the choice; its condition is true for blocks away from edges (assume.h).
 *
 * All assumptions follow from the condition, for any kernel IR; tests without an assumption stay in the inner version.
 * A kernel without a possible assumption, or with two versions already, keeps its body. The pass simplifies all kernels
 * at the end, so no pass `simplify` need follow. Later passes and the model read the mark `interior` of the `if`.
 *
 * The model uses `inner=1`: a kernel whose edges pass `split-edges` would move to a kernel of their own becomes the
 * inner kernel, and there is no kernel for the edges. */
#include "passes/plan/cost/estimate.h"
#include "passes/kernel/assume.h"
#include "passes/kernel/inner.h"

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
      if (box.rank == GRID_RANK || (box.rank && i == c->n - 1)) {
        build_conjunction(b, &all, build_inside(b, box.rank, coords, &box));
        box = (Box){0};
      }
    }
  return all;
}

/* The choice between versions of a body under the condition found, with none yet: the last op of a block by itself. */
static Op *build_choice(Assumptions *s, const Kernel *k) {
  Block *body = block_new(s->arena, NULL);
  Builder b = builder_at_end(s->arena, body);
  b.loc = k->loc;
  Op *both = build_if(&b, build_condition(&b, s->condition), 0, NULL);
  both->flags = IF_INTERIOR;
  return both;
}

/* Makes the choice `both` the body of `k`: the second version keeps the ops that this has. */
static void build_versions(Assumptions *s, Kernel *k, Op *both) {
  both->blocks[0] = block_clone(s->arena, k->body, both, NULL);
  both->blocks[1] = k->body;
  k->body->parent = both;
  k->body = both->parent;
  assumptions_apply(s, both->blocks[0]);
}

/* Leaves of `k` the version for the interior alone, if pass split-edges would give the edges a kernel of their own. */
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

/* Specializes kernel `k`, or (`inner`) leaves its interior alone if that can be; true if there was something to gain.
 */
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

/* Has the first of the versions that `k`, a kernel of a frame, has by itself do without what holds where it touches no
 * edge either: its condition takes that, too. */
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
