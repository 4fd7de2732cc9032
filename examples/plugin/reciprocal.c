/* reciprocal.c: a pass made apart from stc. x / c becomes x * (1/c) where c is a power of two, so that 1/c is exact
 * and the value stays the same bit for bit.
 *
 *   cc -shared -fPIC -I SOURCE_OF_STC reciprocal.c -o reciprocal.so
 *   stc -load-pass=./reciprocal.so -passes='simplify,reciprocal,lower-loops,simplify' heat.stn
 */
#include <math.h>

#include "passes/plugin.h"

/* What the traversal of a body needs and counts. */
typedef struct Traversal {
  Module *m;
  Block *body;
  int64_t count;
  int64_t most;
} Traversal;

/* Is 1/c exact, and no smaller than the least normal f32? */
static bool has_exact_reciprocal(double c) {
  int exponent;
  return isfinite(c) && fabs(frexp(c, &exponent)) == 0.5 && exponent > -100 && exponent < 100;
}

/* Replaces `op` if it is a division by such a constant. */
static void replace(void *user, Op *op) {
  Traversal *w = user;
  if (op->code != OP_DIV || !type_is_float(op->results[0]->type) || w->count >= w->most)
    return;
  const Op *divisor = op->operands[1]->def;
  if (!divisor || divisor->code != OP_CONST || !has_exact_reciprocal(divisor->cval.f))
    return;
  Builder b = builder_before(w->m->arena, op);
  Value *product = build2(&b, OP_MUL, op->operands[0], build_float(&b, op->results[0]->type, 1.0 / divisor->cval.f));
  block_replace_uses(w->body, op->results[0], product);
  op_unlink(op);
  w->count++;
}

/* The pass. Its option `most` limits how many divisions it replaces. */
static Module *run(PassContext *c, Module *m, int n, const PassOption *o) {
  Traversal w = {.m = m, .most = INT64_MAX};
  bool ok = true;
  w.most = pass_option_int(c, "reciprocal", n, o, "most", 0, INT64_MAX, INT64_MAX, &ok);
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces; k++) {
      w.body = m->stencils[i].pieces[k].body;
      block_walk(w.body, replace, &w);
    }
  pass_stat(c, w.count, "reciprocal", "divisions replaced");
  return ok ? m : NULL;
}

static const char *const options[] = {"most", NULL};
static const Pass passes[] = {
    {"reciprocal", "multiply by 1/c instead of dividing by a power of two", LEVEL_SIR, LEVEL_SIR, options, run},
    {NULL, NULL, 0, 0, NULL, NULL},
};

STC_PASS_PLUGIN(passes)
