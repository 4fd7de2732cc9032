/* exec.h: a fast form of eval_op's arithmetic for the interpreter and the simulator, and access to elements of arrays.
 *
 * An op is translated once into an ExecCode, which names opcode and type together. If the compiler knows the code,
 * exec_apply is a few machine instructions. The result of every code equals eval_op's bit for bit; codes without a
 * short form call eval_op. */
#ifndef STC_EXEC_H
#define STC_EXEC_H

#include "ir/ir.h"

#include <math.h>
#include <string.h>

/* X(NAME): the codes. GENERIC calls eval_op; COPY returns operand 0. A suffix is the type of the operands: F32, F64; F
 * is either of these; I64, I32; I is either of these or bool. */
// clang-format off
#define EXEC_CODES(X) \
  X(GENERIC) X(COPY) X(SELECT) X(AND) X(OR) X(NOT) \
  X(ADD_F32) X(SUB_F32) X(MUL_F32) X(DIV_F32) X(FMA_F32) X(SQRT_F32) \
  X(ADD_F64) X(SUB_F64) X(MUL_F64) X(DIV_F64) X(FMA_F64) X(SQRT_F64) X(NEG_F) X(ABS_F) \
  X(RANGED_F32) X(RANGED_F64) X(ABOVE_F32) X(ABOVE_F64) \
  X(ADD_I32) X(SUB_I32) X(MUL_I32) X(ADD_I64) X(SUB_I64) X(MUL_I64) X(F64_TO_F32) X(INT_TO_F64) \
  X(EQ_F) X(NE_F) X(LT_F) X(LE_F) X(GT_F) X(GE_F) X(EQ_I) X(NE_I) X(LT_I) X(LE_I) X(GT_I) X(GE_I)
// clang-format on

typedef enum ExecCode {
#define X(NAME) EX_##NAME,
  EXEC_CODES(X)
#undef X
      EX_COUNT
} ExecCode;

/* Selects one of four codes, for f32, f64, i32 and i64, by type. */
static inline ExecCode exec_by_type(Type t, ExecCode f32, ExecCode f64, ExecCode i32, ExecCode i64) {
  return t == TY_F32 ? f32 : t == TY_F64 ? f64 : t == TY_I32 ? i32 : t == TY_I64 ? i64 : EX_GENERIC;
}

/* The code of a conversion between two types. */
static inline ExecCode exec_convert_code(Type from, Type to) {
  if (from == to || (from == TY_F32 && to == TY_F64) || ((from == TY_I32 || from == TY_U32) && to == TY_I64))
    return EX_COPY;
  if (from == TY_F64 && to == TY_F32)
    return EX_F64_TO_F32;
  return (from == TY_I32 || from == TY_I64 || from == TY_U32) && to == TY_F64 ? EX_INT_TO_F64 : EX_GENERIC;
}

/* The code of the pure op `op`. */
static inline ExecCode exec_code(const Op *op) {
  Type t = op->noperands ? op->operands[0]->type : TY_NONE;
  bool f = type_is_float(t);
  switch (op->code) {
  case OP_CONVERT: return exec_convert_code(t, op->results[0]->type);
  case OP_SELECT: return EX_SELECT;
  case OP_AND: return EX_AND;
  case OP_OR: return EX_OR;
  case OP_NOT: return EX_NOT;
  case OP_ADD: return exec_by_type(t, EX_ADD_F32, EX_ADD_F64, EX_ADD_I32, EX_ADD_I64);
  case OP_SUB: return exec_by_type(t, EX_SUB_F32, EX_SUB_F64, EX_SUB_I32, EX_SUB_I64);
  case OP_MUL: return exec_by_type(t, EX_MUL_F32, EX_MUL_F64, EX_MUL_I32, EX_MUL_I64);
  case OP_DIV:
  case OP_DIV_WIDE: return exec_by_type(t, EX_DIV_F32, EX_DIV_F64, EX_GENERIC, EX_GENERIC);
  case OP_FMA: return exec_by_type(t, EX_FMA_F32, EX_FMA_F64, EX_GENERIC, EX_GENERIC);
  case OP_SQRT: return exec_by_type(t, EX_SQRT_F32, EX_SQRT_F64, EX_GENERIC, EX_GENERIC);
  case OP_NEG: return f ? EX_NEG_F : EX_GENERIC;
  case OP_ABS: return f ? EX_ABS_F : EX_GENERIC;
  case OP_RANGED: return t == TY_F64 ? EX_RANGED_F64 : EX_RANGED_F32;
  case OP_RANGED_ABOVE: return t == TY_F64 ? EX_ABOVE_F64 : EX_ABOVE_F32;
  case OP_EQ: return f ? EX_EQ_F : EX_EQ_I;
  case OP_NE: return f ? EX_NE_F : EX_NE_I;
  case OP_LT: return f ? EX_LT_F : EX_LT_I;
  case OP_LE: return f ? EX_LE_F : EX_LE_I;
  case OP_GT: return f ? EX_GT_F : EX_GT_I;
  case OP_GE: return f ? EX_GE_F : EX_GE_I;
  default: return EX_GENERIC;
  }
}

/* A float constant and an integer constant. */
static inline Const exec_f(double f) { return (Const){.f = f}; }
static inline Const exec_i(int64_t i) { return (Const){.i = i}; }

/* The result of `op`, whose code is `code`, on operands x, y, z (unused ones may have any value). */
static inline __attribute__((always_inline)) Const exec_apply(ExecCode code, const Op *op, Const x, Const y, Const z) {
  const Const in[3] = {x, y, z};
  switch (code) {
  case EX_COPY: return x;
  case EX_SELECT: return x.i ? y : z;
  case EX_AND: return exec_i(x.i && y.i);
  case EX_OR: return exec_i(x.i || y.i);
  case EX_NOT: return exec_i(!x.i);
  case EX_ADD_F32: return exec_f((float)(x.f + y.f));
  case EX_SUB_F32: return exec_f((float)(x.f - y.f));
  case EX_MUL_F32: return exec_f((float)(x.f * y.f));
  case EX_DIV_F32: return exec_f((float)(x.f / y.f));
  case EX_FMA_F32: return exec_f(fmaf((float)x.f, (float)y.f, (float)z.f));
  case EX_SQRT_F32: return exec_f((float)sqrt(x.f));
  case EX_ADD_F64: return exec_f(x.f + y.f);
  case EX_SUB_F64: return exec_f(x.f - y.f);
  case EX_MUL_F64: return exec_f(x.f * y.f);
  case EX_DIV_F64: return exec_f(x.f / y.f);
  case EX_FMA_F64: return exec_f(fma(x.f, y.f, z.f));
  case EX_SQRT_F64: return exec_f(sqrt(x.f));
  case EX_NEG_F: return exec_f(-x.f);
  case EX_ABS_F: return exec_f(fabs(x.f));
  case EX_RANGED_F32: return exec_i(eval_ranged(TY_F32, x.f));
  case EX_RANGED_F64: return exec_i(eval_ranged(TY_F64, x.f));
  case EX_ABOVE_F32: return exec_i(eval_below_end(TY_F32, x.f));
  case EX_ABOVE_F64: return exec_i(eval_below_end(TY_F64, x.f));
  case EX_ADD_I32: return exec_i((int32_t)((uint64_t)x.i + (uint64_t)y.i));
  case EX_SUB_I32: return exec_i((int32_t)((uint64_t)x.i - (uint64_t)y.i));
  case EX_MUL_I32: return exec_i((int32_t)((uint64_t)x.i * (uint64_t)y.i));
  case EX_ADD_I64: return exec_i((int64_t)((uint64_t)x.i + (uint64_t)y.i));
  case EX_SUB_I64: return exec_i((int64_t)((uint64_t)x.i - (uint64_t)y.i));
  case EX_MUL_I64: return exec_i((int64_t)((uint64_t)x.i * (uint64_t)y.i));
  case EX_F64_TO_F32: return exec_f((float)x.f);
  case EX_INT_TO_F64: return exec_f((double)x.i);
  case EX_EQ_F: return exec_i(x.f == y.f);
  case EX_NE_F: return exec_i(x.f != y.f);
  case EX_LT_F: return exec_i(x.f < y.f);
  case EX_LE_F: return exec_i(x.f <= y.f);
  case EX_GT_F: return exec_i(x.f > y.f);
  case EX_GE_F: return exec_i(x.f >= y.f);
  case EX_EQ_I: return exec_i(x.i == y.i);
  case EX_NE_I: return exec_i(x.i != y.i);
  case EX_LT_I: return exec_i(x.i < y.i);
  case EX_LE_I: return exec_i(x.i <= y.i);
  case EX_GT_I: return exec_i(x.i > y.i);
  case EX_GE_I: return exec_i(x.i >= y.i);
  default: return eval_op(op, in);
  }
}

/* Can exec_get and exec_put access values of type `t`? */
static inline bool exec_type(Type t) { return type_is_scalar(t); }

/* Element `i` of the array of type `t` at `p`. */
static inline Const exec_get(Type t, const void *p, int64_t i) {
  switch (t) {
  case TY_F32: return exec_f(((const float *)p)[i]);
  case TY_F64: return exec_f(((const double *)p)[i]);
  case TY_I64: return exec_i(((const int64_t *)p)[i]);
  case TY_I32: return exec_i(((const int32_t *)p)[i]);
  case TY_I16: return exec_i(((const int16_t *)p)[i]);
  case TY_I8: return exec_i(((const int8_t *)p)[i]);
  case TY_U32: return exec_i(((const uint32_t *)p)[i]);
  case TY_U16: return exec_i(((const uint16_t *)p)[i]);
  case TY_U8: return exec_i(((const uint8_t *)p)[i]);
  case TY_F16:
  case TY_BF16: return const_load(t, (const uint16_t *)p + i);
  default: return exec_i(((const uint8_t *)p)[i] != 0);
  }
}

/* Stores `v` to element `i` of the array of type `t` at `p`. */
static inline void exec_put(Type t, void *p, int64_t i, Const v) {
  switch (t) {
  case TY_F32: ((float *)p)[i] = (float)v.f; break;
  case TY_F64: ((double *)p)[i] = v.f; break;
  case TY_I64: ((int64_t *)p)[i] = v.i; break;
  case TY_I32: ((int32_t *)p)[i] = (int32_t)v.i; break;
  case TY_I16: ((int16_t *)p)[i] = (int16_t)v.i; break;
  case TY_I8: ((int8_t *)p)[i] = (int8_t)v.i; break;
  case TY_U32: ((uint32_t *)p)[i] = (uint32_t)v.i; break;
  case TY_U16: ((uint16_t *)p)[i] = (uint16_t)v.i; break;
  case TY_U8: ((uint8_t *)p)[i] = (uint8_t)v.i; break;
  case TY_F16:
  case TY_BF16: const_store(t, (uint16_t *)p + i, v); break;
  default: ((uint8_t *)p)[i] = v.i != 0; break;
  }
}

#endif
