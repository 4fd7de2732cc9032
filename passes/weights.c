/* weights.c: what an op takes, the one table of it. */
#include "passes/estimate.h"

/* An op: additions of its type that take as long; instructions, those for arguments out of range among them; the same with approximation allowed. */
typedef struct OpWeight { double additions; int32_t instructions, fast; } OpWeight;

/* The row of an op. Times are for GPUs, roots and quotients rounding correctly, and fit measurements on one H200 (docs/performance.md). */
static OpWeight weight_of(const Op *op) {
  switch (op->code) {
  case OP_CONST: case OP_SCALAR: case OP_YIELD: return (OpWeight){0, 0, 0};
  case OP_ACCESS: case OP_INDEX: case OP_STEP: return (OpWeight){0, 1, 1};
  case OP_DIV: case OP_SQRT: return (OpWeight){10, 36, 4};
  case OP_REM: return (OpWeight){20, 1, 1};
  case OP_RSQRT: return (OpWeight){6, 8, 8};
  case OP_EXP: case OP_LOG: case OP_TANH: return (OpWeight){16, 24, 24};
  case OP_SIN: case OP_COS: case OP_TAN: return (OpWeight){30, 24, 24};
  case OP_POW: return (OpWeight){45, 60, 60};
  default: return (OpWeight){1, 1, 1};
  }
}

double op_additions(const Op *op) { return weight_of(op).additions; }

int32_t op_instructions(const Op *op, bool fast_math) {
  OpWeight w = weight_of(op);
  return fast_math ? w.fast : w.instructions;
}
