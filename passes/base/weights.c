/* weights.c: the costs of ops, from the table in ir/measured.def, and the registers of a body. */
#include "passes/base/weights.h"

#include "passes/base/tuning.h"

/* Is `op` a quotient of one, which is cheaper than others? */
static bool is_reciprocal(const Op *op) {
  return (op->code == OP_DIV || op->code == OP_DIV_RANGED || op->code == OP_DIV_ROOT_RANGED) && op->operands[0]->def &&
         op->operands[0]->def->code == OP_CONST && op->operands[0]->def->cval.f == 1;
}

/* The row of an op (measured.def). */
static OpWeight weight_of(const Op *op) {
  static const OpWeight nothing;
  const OpWeights *w = &op_weights;
  switch (op->code) {
  case OP_CONST:
  case OP_SCALAR:
  case OP_YIELD: return nothing;
  case OP_ACCESS:
  case OP_BEHIND:
  case OP_FINE:
  case OP_COARSE:
  case OP_INDEX:
  case OP_STEP: return w->place;
  case OP_DIV:
  case OP_DIV_WIDE:
  case OP_SQRT: return is_reciprocal(op) ? w->reciprocal : w->quotient;
  case OP_DIV_RANGED: return is_reciprocal(op) ? w->reciprocal_ranged : w->quotient_ranged;
  case OP_SQRT_RANGED: return w->root_ranged;
  case OP_DIV_ROOT_RANGED: return is_reciprocal(op) ? w->reciprocal_root_ranged : w->quotient_root_ranged;
  case OP_RANGED:
  case OP_RANGED_ABOVE: return w->range_test;
  case OP_REM: return w->remainder;
  case OP_RSQRT: return w->reciprocal_root;
  case OP_SIN:
  case OP_COS:
  case OP_TAN: return w->angle;
  case OP_POW: return w->power;
  default: return op_info[op->code].flags & OPF_INEXACT ? w->function : w->arithmetic;
  }
}

double op_ranged_additions(const Op *op) {
  Op ranged = *op;
  bool root = op->code == OP_DIV && op->operands[1]->def && op->operands[1]->def->code == OP_SQRT;
  ranged.code = op->code == OP_SQRT  ? OP_SQRT_RANGED
                : root               ? OP_DIV_ROOT_RANGED
                : op->code == OP_DIV ? OP_DIV_RANGED
                                     : op->code;
  return weight_of(&ranged).additions + (ranged.code != op->code) -
         (root ? weight_of(op->operands[1]->def).additions : 0);
}

double op_additions(const Op *op) { return weight_of(op).additions; }

int32_t op_instructions(const Op *op, bool fast_math) {
  OpWeight w = weight_of(op);
  return fast_math ? w.fast : w.instructions;
}

int32_t op_f64_operations(const Op *op) { return weight_of(op).f64; }

int32_t op_special(const Op *op) { return weight_of(op).special; }

bool op_is_extreme(const Op *op) { return op->code == OP_MIN || op->code == OP_MAX; }

/* ---- registers */

int32_t type_words(Type t) { return type_size(t) > 4 ? 2 : 1; }

int32_t body_live_words(Arena *a, Block *body) {
  int32_t n = body_number(body), live = 0, most = 0;
  const Op **last = ARENA_ARRAY(a, const Op *, n + 1);
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      last[op->operands[i]->id] = op;
  for (const Op *op = body->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (last[op->operands[i]->id] == op) {
        last[op->operands[i]->id] = NULL;
        live -= op->operands[i]->def->code == OP_CONST ? 0 : type_words(op->operands[i]->type);
      }
    for (int i = 0; i < op->nresults; i++)
      if (last[op->results[i]->id])
        live += op->code == OP_CONST ? 0 : type_words(op->results[i]->type);
    most = live > most ? live : most;
  }
  return most;
}

/* The greatest depth of operands that op_is_of_scalars examines; expressions of params are short. */
enum { SCALARS_DEEP = 6 };

/* op_is_of_scalars, for a depth of at most `deep` ops. */
static bool is_of_scalars(const Op *op, int deep) {
  bool all = op->noperands > 0 && op->nresults == 1 && op->code != OP_ACCESS && op->code != OP_ELEMENT && deep > 0;
  for (int i = 0; i < op->noperands && all; i++) {
    const Op *by = op->operands[i]->def;
    all = by && (by->code == OP_CONST || by->code == OP_SCALAR || is_of_scalars(by, deep - 1));
  }
  return all;
}

bool op_is_of_scalars(const Op *op) { return is_of_scalars(op, SCALARS_DEEP); }

double value_step_share(const Value *v) {
  const Op *op = v->def, *rest = op && op->code == OP_EQ ? op->operands[0]->def : NULL;
  const Op *zero = rest && rest->code == OP_REM ? op->operands[1]->def : NULL;
  const Op *every = zero ? rest->operands[1]->def : NULL, *of = zero ? rest->operands[0]->def : NULL;
  if (of && of->code == OP_ADD && of->operands[1]->def && of->operands[1]->def->code == OP_CONST)
    of = of->operands[0]->def;
  if (!of || of->code != OP_STEP || !every || every->code != OP_CONST || zero->code != OP_CONST || every->cval.i < 2)
    return 0;
  return 1 / (double)every->cval.i;
}

double *body_step_shares(Arena *a, const Block *body) {
  int32_t n = body_number(body);
  double *share = ARENA_ARRAY(a, double, n + 1);
  for (const Op *op = body->last; op; op = op->prev) {
    double own = op->nresults ? 0 : 1, chosen = op->code == OP_SELECT ? value_step_share(op->operands[0]) : 0;
    for (int i = 0; i < op->nresults; i++)
      own = share[op->results[i]->id] > own ? share[op->results[i]->id] : own;
    for (int i = 0; i < op->noperands; i++) {
      double of = chosen > 0 && i == 1 ? own * chosen : own;
      int32_t id = op->operands[i]->id;
      share[id] = of > share[id] ? of : share[id];
    }
  }
  return share;
}
