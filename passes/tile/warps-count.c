/* warps-count.c: the cost of computing a level of a warp pipeline, for estimates. */
#include "passes/tile/warps.h"
#include "passes/base/weights.h"

/* The state of counting in level `e`: how often each value is used by values that are wanted, and its last user;
 * adds[v]: value v, a sum, has absorbed a product. */
typedef struct Counting {
  const WarpLevel *e;
  int32_t *uses, *user;
  bool *adds;
} Counting;

/* Is value `v` the result of op `code`? */
static bool is_made_by(const WarpLevel *e, int32_t v, Opcode code) {
  return e->value[v].kind == WARP_OP && e->value[v].op->code == code;
}

static void count_uses(Counting *c) {
  for (int v = 0; v < c->e->nvalues; v++)
    for (int i = 0; i < c->e->value[v].nuses && c->e->value[v].wanted && !c->e->value[v].apart; i++) {
      int32_t used = c->e->value[v].uses[i].value;
      c->uses[used]++;
      c->user[used] = v;
    }
}

/* Is value `v` computed together with its user: a product by the sum to which it is added, which absorbs one product, a
 * root by the quotient whose divisor it is? */
static bool is_taken_in(Counting *c, int32_t v) {
  const Module *m = c->e->m;
  int32_t user = c->user[v];
  if (c->uses[v] != 1 || !type_is_float(c->e->value[v].type))
    return false;
  if (is_made_by(c->e, v, OP_SQRT))
    return is_made_by(c->e, user, OP_DIV);
  bool sum = is_made_by(c->e, user, OP_ADD) || is_made_by(c->e, user, OP_SUB);
  if (!is_made_by(c->e, v, OP_MUL) || !sum || c->adds[user] || (!m->contract && !m->fast_math))
    return false;
  return c->adds[user] = true;
}

/* The cost of the op of value `x`: in the time of additions, or in f64 operations on that pipe. If `ranged`, roots and
 * quotients are tested together with many others. */
static double op_slots(const Counting *c, const WarpValue *x, bool ranged) {
  Op op = *x->op;
  bool root = op.code == OP_DIV && is_made_by(c->e, x->uses[1].value, OP_SQRT);
  if (ranged && type_is_float(x->type) && (op.code == OP_DIV || op.code == OP_SQRT))
    op.code = root ? OP_DIV_ROOT_RANGED : op.code == OP_DIV ? OP_DIV_RANGED : OP_SQRT_RANGED;
  return x->type == TY_F64 ? op_f64_operations(&op) : op_additions(&op);
}

double warps_slots(const WarpLevel *e, bool ranged) {
  Arena *a = e->m->arena;
  Counting c = {.e = e,
                .uses = ARENA_ARRAY(a, int32_t, e->nvalues),
                .user = ARENA_ARRAY(a, int32_t, e->nvalues),
                .adds = ARENA_ARRAY(a, bool, e->nvalues)};
  double slots = 0;
  count_uses(&c);
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (warps_costs(x) && !is_taken_in(&c, v))
      slots += op_slots(&c, x, ranged);
  }
  return slots;
}

int32_t warps_roots(const WarpLevel *e) {
  int32_t n = 0;
  for (int v = 0; v < e->nvalues; v++)
    n += e->value[v].wanted && !e->value[v].apart && type_is_float(e->value[v].type) &&
         (is_made_by(e, v, OP_DIV) || is_made_by(e, v, OP_SQRT));
  return n;
}
