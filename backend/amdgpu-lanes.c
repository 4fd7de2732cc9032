/* backend/amdgpu-lanes.c: values of other lanes on AMD GPUs: by DPP, a modifier through which a vector instruction
 * reads its operand, and by v_permlanex16 where it exists; through the LDS only where these do not reach.
 *
 * DPP moves values within rows of 16 lanes. On gfx9 a whole wave can be shifted by one lane, and v_permlanex16 of gfx10
 * and later takes any lanes of the other row of a wave of 32. Lanes for which a shuffle promises nothing get arbitrary
 * values. Every lane that counts has an active partner, for all lanes of a warp are active; so bound_ctrl is set, which
 * lets LLVM merge the move into the instruction that uses the value. */
#include "backend/emit.h"

/* Controls of DPP, to which distances and masks are added. */
enum {
  ROW_SHL = 0x100,
  ROW_SHR = 0x110,
  ROW_ROR = 0x120,
  WAVE_SHL_1 = 0x130,
  WAVE_SHR_1 = 0x138,
  ROW_MIRROR = 0x140,
  ROW_HALF_MIRROR = 0x141,
  ROW_XMASK = 0x160
};
/* How many shifts by one lane are cheaper than the LDS; the lanes of a row. */
enum { MOST_SHIFTS = 3, ROW = 16 };

static LLVMValueRef constant(Emit *e, unsigned n) { return LLVMConstInt(e->i32, n, 0); }

/* `x` of the lanes that `control` names; where there is no such lane, `old`, or without `old` any value. */
static LLVMValueRef dpp(Emit *e, LLVMValueRef old, LLVMValueRef x, int control) {
  LLVMValueRef any = LLVMConstInt(e->i1, old == NULL, 0), all = constant(e, 15);
  LLVMValueRef args[] = {old ? old : LLVMGetPoison(e->i32), x, constant(e, (unsigned)control), all, all, any};
  return emit_intrinsic(e, e->here.b, "llvm.amdgcn.update.dpp", 1, &e->i32, 6, args);
}

/* The number of the lane in its wave, at the entry. */
static LLVMValueRef lane_number(Emit *e) {
  LLVMValueRef args[] = {constant(e, UINT32_MAX), constant(e, 0)};
  args[1] = emit_intrinsic(e, e->entry.b, "llvm.amdgcn.mbcnt.lo", 0, NULL, 2, args);
  return emit_intrinsic(e, e->entry.b, "llvm.amdgcn.mbcnt.hi", 0, NULL, 2, args);
}

/* `x` of the lane `by` lower (or higher) in a wave of 64, through the LDS: its address is four times its number. */
static LLVMValueRef far_lane(Emit *e, bool up, LLVMValueRef x, int by) {
  LLVMBuilderRef b = e->entry.b;
  LLVMValueRef lane = lane_number(e), distance = constant(e, (unsigned)by);
  LLVMValueRef other = up ? LLVMBuildSub(b, lane, distance, "") : LLVMBuildAdd(b, lane, distance, "");
  return emit_intrinsic(e, e->here.b, "llvm.amdgcn.ds.bpermute", 0, NULL, 2,
                        (LLVMValueRef[]){LLVMBuildShl(b, other, constant(e, 2), ""), x});
}

/* The DPP control on gfx9 by which all lanes of a row get the value of the lane whose number differs in the bits of
 * `by`; -1: there is none. */
static int differing_control(int by) {
  int quad = 0;
  for (int i = 0; i < 4; i++)
    quad |= (i ^ by) << 2 * i;
  return by < 4 ? quad : by == 7 ? ROW_HALF_MIRROR : by == 8 ? ROW_ROR + 8 : (by == ROW - 1 ? ROW_MIRROR : -1);
}

/* `x` through no instruction. LLVM's pass that merges DPP into the instruction that uses its result (GCNDPPCombine,
 * LLVM 22) removes the result from a pair of registers both of which packed arithmetic uses, too; it does not look
 * through assembly. */
static LLVMValueRef apart(Emit *e, LLVMValueRef x) {
  LLVMTypeRef t = LLVMFunctionType(e->i32, &e->i32, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(t, "", 0, "=v,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(e->here.b, t, nothing, &x, 1, "");
}

/* `x` of the lane of the same row that shuffle up or down asks for, if only the lanes of one row exchange values; else
 * NULL. */
static LLVMValueRef within_row(Emit *e, Opcode code, LLVMValueRef x, int by) {
  if (kernel_lanes(e->k) > ROW || code == OP_SHUFFLE)
    return NULL;
  return dpp(e, NULL, x, (code == OP_SHUFFLE_UP ? ROW_SHR : ROW_SHL) + by);
}

LLVMValueRef amdgpu_shuffle_64(Emit *e, Opcode code, LLVMValueRef x, int by) {
  bool up = code == OP_SHUFFLE_UP;
  LLVMValueRef near = within_row(e, code, x, by);
  if (near)
    return apart(e, near);
  if (code != OP_SHUFFLE && by > MOST_SHIFTS)
    return far_lane(e, up, x, by);
  if (code != OP_SHUFFLE) {
    for (int i = 0; i < by; i++)
      x = dpp(e, NULL, x, up ? WAVE_SHR_1 : WAVE_SHL_1);
    return apart(e, x);
  }
  if (differing_control(by) >= 0)
    return apart(e, dpp(e, NULL, x, differing_control(by)));
  LLVMValueRef args[] = {x, constant(e, (unsigned)by << 10 | 31)};
  return emit_intrinsic(e, e->here.b, "llvm.amdgcn.ds.swizzle", 0, NULL, 2, args);
}

/* The lane that lane `i` of 32 asks for, negative or above 31 if there is none. */
static int partner(Opcode code, int i, int by) {
  return code == OP_SHUFFLE ? i ^ by : code == OP_SHUFFLE_UP ? i - by : i + by;
}

/* `x` of the lanes of the other row that shuffle `code` asks for. Four bits for each lane of a row name its source: if
 * the lanes of one row ask and those of the other do not, the source of those that ask. If no lane asks, all bits are
 * set, or none, which needs no register. */
static LLVMValueRef other_row(Emit *e, Opcode code, LLVMValueRef x, int by) {
  unsigned which[2] = {0, 0};
  for (int i = 0; i < ROW; i++) {
    int low = partner(code, i, by), high = partner(code, i + ROW, by);
    int lane = low >= ROW && low < 2 * ROW ? low - ROW : high >= 0 && high < ROW ? high : -1;
    unsigned none = code == OP_SHUFFLE_UP ? 15 : 0;
    which[i / 8] |= (lane >= 0 ? (unsigned)lane : none) << 4 * (i % 8);
  }
  LLVMValueRef no = LLVMConstInt(e->i1, 0, 0);
  LLVMValueRef args[] = {LLVMGetPoison(e->i32), x, constant(e, which[0]), constant(e, which[1]), no, no};
  return emit_intrinsic(e, e->here.b, "llvm.amdgcn.permlanex16", 1, &e->i32, 6, args);
}

LLVMValueRef amdgpu_shuffle_32(Emit *e, Opcode code, LLVMValueRef x, int by) {
  LLVMValueRef near = within_row(e, code, x, by);
  if (near)
    return near;
  if (by >= ROW)
    return other_row(e, code, x, by);
  if (code == OP_SHUFFLE)
    return dpp(e, NULL, x, ROW_XMASK + by);
  return dpp(e, other_row(e, code, x, by), x, (code == OP_SHUFFLE_UP ? ROW_SHR : ROW_SHL) + by);
}
