/* weights.c: what an op takes, the one table of it, and the registers of a body. */
#include "passes/weights.h"

/* An op: additions of its type that take as long; instructions, those for arguments out of range among them; the same
 * with approximation allowed; operations on the pipe for f64 if it is of that type, on that for functions of any. */
typedef struct OpWeight {
  double additions;
  int32_t instructions, fast, f64, special;
} OpWeight;

/* Is it a quotient of one, which takes less than others? */
static bool is_reciprocal(const Op *op) {
  return (op->code == OP_DIV || op->code == OP_DIV_RANGED || op->code == OP_DIV_ROOT_RANGED) && op->operands[0]->def &&
         op->operands[0]->def->code == OP_CONST && op->operands[0]->def->cval.f == 1;
}

/* The row of an op. Times are for GPUs, roots and quotients rounding correctly, and fit measurements on one H200
 * (docs/performance.md). Functions of a library that have no row of their own take what exp and log do. */
static OpWeight weight_of(const Op *op) {
  switch (op->code) {
  case OP_CONST:
  case OP_SCALAR:
  case OP_YIELD: return (OpWeight){0, 0, 0, 0, 0};
  case OP_ACCESS:
  case OP_INDEX:
  case OP_STEP: return (OpWeight){0, 1, 1, 0, 0};
  case OP_DIV:
  case OP_SQRT: return (OpWeight){10, 36, 4, is_reciprocal(op) ? 5 : 8, 1};
  case OP_DIV_RANGED: return is_reciprocal(op) ? (OpWeight){3, 3, 3, 5, 1} : (OpWeight){6, 6, 6, 8, 1};
  case OP_SQRT_RANGED: return (OpWeight){5, 5, 5, 8, 1};
  case OP_DIV_ROOT_RANGED: return is_reciprocal(op) ? (OpWeight){8, 8, 8, 11, 1} : (OpWeight){11, 11, 11, 14, 1};
  case OP_RANGED: return (OpWeight){1, 1, 1, 0, 0};
  case OP_REM: return (OpWeight){20, 1, 1, 38, 1};
  case OP_RSQRT: return (OpWeight){20, 72, 8, 13, 2};
  case OP_SIN:
  case OP_COS:
  case OP_TAN: return (OpWeight){30, 24, 24, 58, 1};
  case OP_POW: return (OpWeight){45, 60, 60, 88, 1};
  default: return op_info[op->code].flags & OPF_INEXACT ? (OpWeight){16, 24, 24, 30, 1} : (OpWeight){1, 1, 1, 1, 1};
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

/* ---- registers */

int32_t type_words(Type t) { return type_size(t) > 4 ? 2 : 1; }

int32_t body_live_words(Arena *a, Block *body) {
  int32_t n = 0, live = 0, most = 0;
  for (Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->id = n++;
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
