/* backend/emit-index.c: integers of addresses and coordinates: ranges, constants kept apart, affine bounds, inside and
 * idx.*.
 *
 *   (x + 1) + 2     ->     base x, constant 3: an immediate of a load
 *
 * Every sum is kept as base + constant, so that the constants of unrolled code become immediates in the addresses of
 * loads and stores, and equal bases are computed once. That also holds through the extension from 32 to 64 bits, where
 * the ranges (threads, loop bounds, clamps) show that the sum cannot overflow. */
#include "backend/emit.h"

/* Keys of computations that are not one LLVM instruction on integers; above all LLVM opcodes. */
enum { KEY_SEXT = 1000, KEY_TRUNC, KEY_RECIPROCAL, KEY_MIN, KEY_MAX, KEY_LAST };

LLVMValueRef emit_i64(const Emit *e, int64_t x) { return LLVMConstInt(e->i64, (unsigned long long)x, 1); }

/* The integer `x` of the type of `like`. */
static LLVMValueRef int_like(LLVMValueRef like, int64_t x) {
  return LLVMConstInt(LLVMTypeOf(like), (unsigned long long)x, 1);
}

/* Width in bits of the integer `v`. */
static unsigned width_of(LLVMValueRef v) { return LLVMGetIntTypeWidth(LLVMTypeOf(v)); }

/* All values of a signed integer of `width` bits. */
static Range full_range(unsigned width) {
  return (Range){width >= 64 ? INT64_MIN : -(INT64_C(1) << (width - 1)),
                 width >= 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1};
}

/* `x` truncated to `width` bits and sign-extended. */
static int64_t wrap_to(int64_t x, unsigned width) {
  if (width >= 64)
    return x;
  uint64_t u = (uint64_t)x << (64 - width);
  return (int64_t)u >> (64 - width);
}

/* If `v` is an integer constant of at most 64 bits sets *c and returns true. */
static bool int_constant(LLVMValueRef v, int64_t *c) {
  if (!LLVMIsAConstantInt(v))
    return false;
  *c = LLVMConstIntGetSExtValue(v);
  return true;
}

Range emit_range(const Emit *e, LLVMValueRef v) {
  int64_t c;
  if (int_constant(v, &c))
    return (Range){c, c};
  const Range *r = ptrmap_get(&e->ranges, v);
  return r ? *r : full_range(width_of(v));
}

void emit_set_range(Emit *e, LLVMValueRef v, int64_t lo, int64_t hi) {
  if (LLVMIsAConstant(v))
    return;
  Range *r = ARENA_NEW(e->arena, Range);
  *r = (Range){lo, hi};
  ptrmap_put(e->arena, &e->ranges, v, r);
}

BaseOffset emit_linear(const Emit *e, LLVMValueRef v) {
  int64_t c;
  if (int_constant(v, &c))
    return (BaseOffset){int_like(v, 0), c, true};
  const BaseOffset *l = ptrmap_get(&e->linears, v);
  return l ? *l : (BaseOffset){v, 0, true};
}

/* The exact values of x `op` y for x in `a`, y in `b`. False if they may exceed 64 bits. */
static bool range_of(LLVMOpcode op, Range a, Range b, Range *out) {
  int64_t v[4];
  bool over = false;
  if (op == LLVMAdd)
    over = __builtin_add_overflow(a.lo, b.lo, &out->lo) || __builtin_add_overflow(a.hi, b.hi, &out->hi);
  else if (op == LLVMSub)
    over = __builtin_sub_overflow(a.lo, b.hi, &out->lo) || __builtin_sub_overflow(a.hi, b.lo, &out->hi);
  else {
    over |= __builtin_mul_overflow(a.lo, b.lo, &v[0]) || __builtin_mul_overflow(a.lo, b.hi, &v[1]);
    over |= __builtin_mul_overflow(a.hi, b.lo, &v[2]) || __builtin_mul_overflow(a.hi, b.hi, &v[3]);
    for (int i = 0; i < 4 && !over; i++) {
      out->lo = i == 0 || v[i] < out->lo ? v[i] : out->lo;
      out->hi = i == 0 || v[i] > out->hi ? v[i] : out->hi;
    }
  }
  return !over;
}

/* A computation with key `k` that holds at `p`, or NULL. */
static LLVMValueRef seen_at(const Emit *e, const Place *p, ValueKey k) {
  LLVMValueRef v = value_get(&e->entry.seen, k);
  return v || p == &e->entry ? v : value_get(&p->seen, k);
}

/* x op y where an identity gives it without an instruction, else NULL. */
static LLVMValueRef int_identity(LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  int64_t c;
  if (int_constant(y, &c) && c == (op == LLVMMul))
    return x;
  if (int_constant(y, &c) && c == 0 && op == LLVMMul)
    return y;
  if (op != LLVMSub && int_constant(x, &c) && c == (op == LLVMMul))
    return y;
  return NULL;
}

/* x op y as one instruction (or folded, or found), with nsw and range where they are known. */
static LLVMValueRef raw_int(Emit *e, Place *p, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef v = int_identity(op, x, y);
  if (v)
    return v;
  ValueKey k = {op, (uintptr_t)x, (uintptr_t)y, 0};
  if ((v = seen_at(e, p, k)))
    return v;
  v = LLVMBuildBinOp(p->b, op, x, y, "");
  Range r = {0, 0}, full = full_range(width_of(x));
  if (LLVMIsAInstruction(v) && range_of(op, emit_range(e, x), emit_range(e, y), &r) && r.lo >= full.lo &&
      r.hi <= full.hi) {
    LLVMSetNSW(v, 1);
    emit_set_range(e, v, r.lo, r.hi);
  }
  value_put(e->arena, &p->seen, k, v);
  return v;
}

/* base + c, remembered as such. */
static LLVMValueRef add_constant(Emit *e, Place *p, LLVMValueRef base, int64_t c) {
  unsigned width = width_of(base);
  c = wrap_to(c, width);
  if (c == 0)
    return base;
  LLVMValueRef v = raw_int(e, p, LLVMAdd, base, int_like(base, c));
  if (LLVMIsAConstant(v))
    return v;
  Range r = {0, 0}, full = full_range(width);
  BaseOffset *l = ARENA_NEW(e->arena, BaseOffset);
  *l = (BaseOffset){base, c,
                    range_of(LLVMAdd, emit_range(e, base), (Range){c, c}, &r) && r.lo >= full.lo && r.hi <= full.hi};
  ptrmap_put(e->arena, &e->linears, v, l);
  return v;
}

LLVMValueRef emit_int(Emit *e, Place *p, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  BaseOffset a = emit_linear(e, x), b = emit_linear(e, y);
  int64_t k;
  if (op == LLVMAdd)
    return add_constant(e, p, raw_int(e, p, LLVMAdd, a.base, b.base), (int64_t)((uint64_t)a.c + (uint64_t)b.c));
  if (op == LLVMSub)
    return add_constant(e, p, raw_int(e, p, LLVMSub, a.base, b.base), (int64_t)((uint64_t)a.c - (uint64_t)b.c));
  if (int_constant(y, &k))
    return add_constant(e, p, raw_int(e, p, LLVMMul, a.base, y), (int64_t)((uint64_t)a.c * (uint64_t)k));
  if (int_constant(x, &k))
    return add_constant(e, p, raw_int(e, p, LLVMMul, b.base, x), (int64_t)((uint64_t)b.c * (uint64_t)k));
  return raw_int(e, p, op, x, y);
}

/* `x` sign-extended (KEY_SEXT) or cut (KEY_TRUNC) to `to` as one instruction. */
static LLVMValueRef raw_cast(Emit *e, Place *p, int key, LLVMValueRef x, LLVMTypeRef to) {
  ValueKey k = {(uintptr_t)key, (uintptr_t)x, (uintptr_t)to, 0};
  LLVMValueRef v = seen_at(e, p, k);
  if (v)
    return v;
  Range r = emit_range(e, x), full = full_range(LLVMGetIntTypeWidth(to));
  v = key == KEY_SEXT ? LLVMBuildSExt(p->b, x, to, "") : LLVMBuildTrunc(p->b, x, to, "");
  if (r.lo >= full.lo && r.hi <= full.hi)
    emit_set_range(e, v, r.lo, r.hi);
  value_put(e->arena, &p->seen, k, v);
  return v;
}

LLVMValueRef emit_int_cast(Emit *e, Place *p, LLVMValueRef x, LLVMTypeRef to) {
  unsigned from = width_of(x), width = LLVMGetIntTypeWidth(to);
  if (from == width)
    return x;
  BaseOffset l = emit_linear(e, x);
  if (from < width && !l.exact)
    return raw_cast(e, p, KEY_SEXT, x, to);
  return add_constant(e, p, raw_cast(e, p, from < width ? KEY_SEXT : KEY_TRUNC, l.base, to), l.c);
}

/* The argument of the kernel that holds scalar `scalar`. */
static LLVMValueRef scalar_argument(const Emit *e, int scalar) {
  for (int i = 0; i < e->k->nargs; i++)
    if (e->k->args[i].kind == KARG_SCALAR && e->k->args[i].index == scalar)
      return e->args[i];
  return LLVMGetPoison(emit_memory_type(e, e->m->scalars[scalar].type));
}

LLVMValueRef emit_affine(Emit *e, Affine x) {
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < x.n; i++) {
    LLVMValueRef s = emit_int_cast(e, &e->entry, scalar_argument(e, x.t[i].scalar), e->i64);
    sum = emit_int(e, &e->entry, LLVMAdd, sum, emit_int(e, &e->entry, LLVMMul, s, emit_i64(e, x.t[i].coef)));
  }
  return emit_int(e, &e->entry, LLVMAdd, sum, emit_i64(e, x.c));
}

LLVMValueRef emit_inside(Emit *e, const Op *op, unsigned which) {
  LLVMValueRef all = LLVMConstInt(e->i1, 1, 0);
  for (int d = 0; d < op->noperands; d++) {
    if (!(which >> d & 1))
      continue;
    LLVMValueRef x = emit_int_cast(e, &e->here, emit_value(e, op->operands[d]), e->i64);
    LLVMValueRef above = LLVMBuildICmp(e->here.b, LLVMIntSGE, x, emit_affine(e, op->box->lo[d]), "");
    LLVMValueRef below = LLVMBuildICmp(e->here.b, LLVMIntSLE, x, emit_affine(e, op->box->hi[d]), "");
    all = LLVMBuildAnd(e->here.b, all, LLVMBuildAnd(e->here.b, above, below, ""), "");
  }
  return all;
}

/* The smaller (KEY_MIN) or greater of two signed integers at `p`, with its range. */
static LLVMValueRef int_extreme(Emit *e, Place *p, int key, LLVMValueRef x, LLVMValueRef y) {
  ValueKey k = {(uintptr_t)key, (uintptr_t)x, (uintptr_t)y, 0};
  LLVMValueRef v = seen_at(e, p, k);
  if (v)
    return v;
  LLVMTypeRef type = LLVMTypeOf(x);
  Range a = emit_range(e, x), b = emit_range(e, y);
  v = emit_intrinsic(e, p->b, key == KEY_MIN ? "llvm.smin" : "llvm.smax", 1, &type, 2, (LLVMValueRef[]){x, y});
  if (key == KEY_MIN)
    emit_set_range(e, v, a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
  else
    emit_set_range(e, v, a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
  value_put(e->arena, &p->seen, k, v);
  return v;
}

LLVMValueRef emit_int_max(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef y) {
  return int_extreme(e, p, KEY_MAX, x, y);
}

LLVMValueRef emit_clamp(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi) {
  return int_extreme(e, p, KEY_MAX, int_extreme(e, p, KEY_MIN, x, hi), lo);
}

/* clamp(x + off) for a 32-bit x and a constant box: clamp(x, lo - off, hi - off) + off, which needs no wider numbers.
 * NULL if the bounds do not allow it. */
static LLVMValueRef clamp_narrow(Emit *e, LLVMValueRef x, int64_t off, Affine lo, Affine hi) {
  Range full = full_range(width_of(x));
  int64_t a, b;
  if (lo.n || hi.n || width_of(x) >= 64 || __builtin_sub_overflow(lo.c, off, &a) ||
      __builtin_sub_overflow(hi.c, off, &b))
    return NULL;
  if (a < full.lo || b > full.hi || a > b || lo.c < full.lo || hi.c > full.hi)
    return NULL;
  LLVMValueRef v = emit_clamp(e, &e->here, x, int_like(x, a), int_like(x, b));
  return emit_int(e, &e->here, LLVMAdd, v, int_like(x, off));
}

/* 1 / period as f64, at the entry. */
static LLVMValueRef reciprocal(Emit *e, LLVMValueRef period) {
  ValueKey k = {KEY_RECIPROCAL, (uintptr_t)period, 0, 0};
  LLVMValueRef v = value_get(&e->entry.seen, k);
  if (v)
    return v;
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
  v = LLVMBuildFDiv(e->entry.b, LLVMConstReal(f64, 1), LLVMBuildSIToFP(e->entry.b, period, f64, ""), "");
  value_put(e->arena, &e->entry.seen, k, v);
  return v;
}

/* t modulo `period` > 0, in [0, period): the quotient is estimated in f64, off by one at most while |t| < 2^52, and the
 * remainder corrected in integers. The code has no branch, so it vectorises; a 64-bit division is far slower on every
 * target. */
static LLVMValueRef floor_mod(Emit *e, LLVMValueRef t, LLVMValueRef period) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
  LLVMValueRef zero = emit_i64(e, 0);
  LLVMValueRef q = LLVMBuildFMul(b, LLVMBuildSIToFP(b, t, f64, ""), reciprocal(e, period), "");
  q = emit_intrinsic(e, b, "llvm.floor", 1, &f64, 1, &q);
  q = LLVMBuildFPToSI(b, q, e->i64, "");
  LLVMValueRef r = LLVMBuildSub(b, t, LLVMBuildMul(b, q, period, ""), "");
  r = LLVMBuildAdd(b, r, LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, r, zero, ""), period, zero, ""), "");
  return LLVMBuildSub(b, r, LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGE, r, period, ""), period, zero, ""), "");
}

/* The period of wrapping (the extent) or mirroring (twice the extent less two, and one for each end that is mirrored
 * about half a point beyond it) about [lo, hi], at least 1. */
static LLVMValueRef map_period(Emit *e, Opcode code, LLVMValueRef lo, LLVMValueRef hi) {
  LLVMValueRef length = emit_int(e, &e->entry, LLVMSub, hi, lo);
  Reflects by = map_reflects(code);
  int more = code == OP_WRAP ? 1 : by.half[0] + by.half[1];
  if (code != OP_WRAP)
    length = emit_int(e, &e->entry, LLVMMul, length, emit_i64(e, 2));
  if (more)
    length = emit_int(e, &e->entry, LLVMAdd, length, emit_i64(e, more));
  return int_extreme(e, &e->entry, KEY_MAX, length, emit_i64(e, 1));
}

/* The distance from lo of coordinate lo + t after mirroring or wrapping with `period`. */
static LLVMValueRef map_distance(Emit *e, Opcode code, LLVMValueRef t, LLVMValueRef period) {
  LLVMValueRef r = floor_mod(e, t, period);
  if (code == OP_WRAP)
    return r;
  LLVMValueRef back = LLVMBuildSub(e->here.b, period, r, "");
  if (map_reflects(code).half[0])
    back = LLVMBuildSub(e->here.b, back, emit_i64(e, 1), "");
  return emit_intrinsic(e, e->here.b, "llvm.smin", 1, &e->i64, 2, (LLVMValueRef[]){r, back});
}

/* The coordinate `x` reflected beyond one end of [lo, hi] and clamped beyond the other: its distance from the former
 * end, without sign, is at most that of the other one. */
static LLVMValueRef reflect_once(Emit *e, Opcode code, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi) {
  Reflects by = map_reflects(code);
  int end = by.end[1];
  LLVMValueRef zero = emit_i64(e, 0), length = emit_int(e, &e->entry, LLVMSub, hi, lo);
  length = int_extreme(e, &e->entry, KEY_MAX, length, zero);
  LLVMValueRef last = end ? emit_int(e, &e->entry, LLVMAdd, lo, length) : lo;
  LLVMValueRef t = end ? LLVMBuildSub(e->here.b, last, x, "") : LLVMBuildSub(e->here.b, x, lo, "");
  LLVMValueRef back = by.half[end] ? LLVMBuildNot(e->here.b, t, "") : LLVMBuildNeg(e->here.b, t, "");
  LLVMValueRef r = LLVMBuildSelect(e->here.b, LLVMBuildICmp(e->here.b, LLVMIntSLT, t, zero, ""), back, t, "");
  r = emit_intrinsic(e, e->here.b, "llvm.smin", 1, &e->i64, 2, (LLVMValueRef[]){r, length});
  return end ? LLVMBuildSub(e->here.b, last, r, "") : LLVMBuildAdd(e->here.b, lo, r, "");
}

LLVMValueRef emit_map_last(Emit *e, const Op *op) {
  Affine lo = op->box->lo[0], hi = op->box->hi[0];
  int64_t rest;
  if (!op->count)
    return emit_affine(e, hi);
  if (affine_diff(hi, lo, &rest))
    return emit_affine(e, affine_add_const(hi, -(rest & (op->count - 1))));
  LLVMValueRef first = emit_affine(e, lo), length = emit_int(e, &e->entry, LLVMSub, emit_affine(e, hi), first);
  ValueKey k = {KEY_LAST, (uintptr_t)length, (uintptr_t)op->count, 0};
  LLVMValueRef whole = value_get(&e->entry.seen, k);
  if (!whole) {
    whole = LLVMBuildAnd(e->entry.b, length, emit_i64(e, -(int64_t)op->count), "");
    value_put(e->arena, &e->entry.seen, k, whole);
  }
  return emit_int(e, &e->entry, LLVMAdd, first, whole);
}

LLVMValueRef emit_map(Emit *e, const Op *op) {
  LLVMValueRef x = emit_value(e, op->operands[0]);
  bool clamps = op->code == OP_CLAMP || op->code == OP_GUARD;
  LLVMValueRef v = clamps && !op->count ? clamp_narrow(e, x, op->off[0], op->box->lo[0], op->box->hi[0]) : NULL;
  if (v)
    return v;
  LLVMValueRef lo = emit_affine(e, op->box->lo[0]), hi = emit_map_last(e, op);
  if (clamps && (v = emit_brought_row(e, op, lo, hi)))
    return v;
  LLVMValueRef wide = emit_int(e, &e->here, LLVMAdd, emit_int_cast(e, &e->here, x, e->i64), emit_i64(e, op->off[0]));
  Reflects by = map_reflects(op->code);
  if (clamps)
    v = emit_clamp(e, &e->here, wide, lo, hi);
  else if (by.end[0] != by.end[1])
    v = reflect_once(e, op->code, wide, lo, hi);
  else {
    LLVMValueRef period = map_period(e, op->code, lo, hi);
    LLVMValueRef t = map_distance(e, op->code, emit_int(e, &e->here, LLVMSub, wide, lo), period);
    v = LLVMBuildAdd(e->here.b, t, lo, "");
  }
  return emit_int_cast(e, &e->here, v, LLVMTypeOf(x));
}
