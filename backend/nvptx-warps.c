/* backend/nvptx-warps.c: ops for pipelines of warps, from sm_90 on: mbarriers, bulk copies, ops on whole warps, and
 * clusters of blocks (PTX ISA, st.async). */
#include "backend/emit.h"

#include <string.h>

/* A pointer to shared memory in the form that the instructions take: 32 bits. */
static LLVMValueRef shared_number(Emit *e, LLVMValueRef p) { return LLVMBuildPtrToInt(e->here.b, p, e->i32, ""); }

/* The greatest number of operands of an instruction. */
enum { MOST_OPERANDS = 6 };

/* The instruction `text`, which changes memory, on the `n` operands. It is convergent: LLVM does not move it into a
 * branch that only some threads of the warp take. */
static void instruction(Emit *e, const char *text, const char *constraints, int n, LLVMValueRef *operands) {
  LLVMTypeRef types[MOST_OPERANDS];
  for (int i = 0; i < n; i++)
    types[i] = LLVMTypeOf(operands[i]);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, (unsigned)n, 0);
  const char *all = arena_printf(e->arena, "%s%s~{memory}", constraints, n ? "," : "");
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), all, strlen(all), 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef call = LLVMBuildCall2(e->here.b, type, code, operands, (unsigned)n, "");
  unsigned kind = LLVMGetEnumAttributeKindForName("convergent", strlen("convergent"));
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(e->context, kind, 0));
}

static void init(Emit *e, LLVMValueRef signal, LLVMValueRef arrivals) {
  instruction(e, "mbarrier.init.shared::cta.b64 [$0], $1;\n\tfence.mbarrier_init.release.cluster;", "r,r", 2,
              (LLVMValueRef[]){shared_number(e, signal), arrivals});
}

static void arrive(Emit *e, LLVMValueRef signal) {
  LLVMValueRef p = shared_number(e, signal);
  instruction(e, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r", 1, &p);
}

static void expect(Emit *e, LLVMValueRef signal, LLVMValueRef bytes) {
  instruction(e, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", 2,
              (LLVMValueRef[]){shared_number(e, signal), bytes});
}

/* All threads of a warp leave the loop together: bra.uni says so to ptxas. */
static void wait_for(Emit *e, LLVMValueRef signal, LLVMValueRef parity) {
  instruction(e,
              "{\n\t.reg .pred done;\n"
              "WAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t"
              "@done bra.uni DONE;\n\tbra.uni WAIT;\n"
              "DONE:\n\t}",
              "r,r", 2, (LLVMValueRef[]){shared_number(e, signal), parity});
}

/* The same for two signals: both are tested before the answer for the first is waited for. */
static void wait_for_both(Emit *e, LLVMValueRef *signal, LLVMValueRef *parity) {
  instruction(e,
              "{\n\t.reg .pred one, two;\n\t"
              "mbarrier.try_wait.parity.shared::cta.b64 one, [$0], $1;\n\t"
              "mbarrier.try_wait.parity.shared::cta.b64 two, [$2], $3;\n"
              "WAIT:\n\t@one bra.uni ONE;\n\t"
              "mbarrier.try_wait.parity.shared::cta.b64 one, [$0], $1;\n\tbra.uni WAIT;\n"
              "ONE:\n\t@two bra.uni DONE;\n\t"
              "mbarrier.try_wait.parity.shared::cta.b64 two, [$2], $3;\n\tbra.uni ONE;\n"
              "DONE:\n\t}",
              "r,r,r,r", 4,
              (LLVMValueRef[]){shared_number(e, signal[0]), parity[0], shared_number(e, signal[1]), parity[1]});
}

static void bulk_load(Emit *e, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes, LLVMValueRef signal) {
  instruction(e, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "r,l,r,r",
              4, (LLVMValueRef[]){shared_number(e, to), from, bytes, shared_number(e, signal)});
}

static void bulk_store(Emit *e, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes) {
  instruction(e, "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;", "l,r,r", 3,
              (LLVMValueRef[]){to, shared_number(e, from), bytes});
}

static void bulk_prefetch(Emit *e, LLVMValueRef from, LLVMValueRef bytes) {
  instruction(e, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r", 2, (LLVMValueRef[]){from, bytes});
}

static void bulk_commit(Emit *e) { instruction(e, "cp.async.bulk.commit_group;", "", 0, NULL); }

static void bulk_wait(Emit *e, int groups) {
  instruction(e, arena_printf(e->arena, "cp.async.bulk.wait_group.read %d;", groups), "", 0, NULL);
}

/* setmaxnreg, for the four warps of a warpgroup. */
static void registers(Emit *e, bool more, int n) {
  instruction(e, arena_printf(e->arena, "setmaxnreg.%s.sync.aligned.u32 %d;", more ? "inc" : "dec", n), "", 0, NULL);
}

static void fence(Emit *e) { instruction(e, "fence.proxy.async.shared::cta;", "", 0, NULL); }

static void barrier(Emit *e) {
  LLVMValueRef all = LLVMConstInt(e->i32, UINT32_MAX, 0);
  emit_intrinsic(e, e->here.b, "llvm.nvvm.bar.warp.sync", 0, NULL, 1, &all);
}

static LLVMValueRef elect(Emit *e) {
  LLVMValueRef all = LLVMConstInt(e->i32, UINT32_MAX, 0);
  LLVMValueRef both = emit_intrinsic(e, e->here.b, "llvm.nvvm.elect.sync", 0, NULL, 1, &all);
  return LLVMBuildExtractValue(e->here.b, both, 1, "");
}

/* ---- clusters of blocks */

static LLVMValueRef block_rank(Emit *e) {
  LLVMValueRef v = emit_intrinsic(e, e->entry.b, "llvm.nvvm.read.ptx.sreg.cluster.ctarank", 0, NULL, 0, NULL);
  emit_set_range(e, v, 0, e->k->cluster - 1);
  return v;
}

/* arrive releases, and wait acquires, the memory accesses of the cluster's threads. */
static void barrier_cluster(Emit *e) {
  instruction(e, "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;", "", 0, NULL);
}

/* The distance from this block's shared memory to that of the block of rank + `by`, in the addresses of the cluster;
 * arbitrary if there is no such block. Computed at the entry, from the address of a shared array. */
static LLVMValueRef distance(Emit *e, int by) {
  static const char text[] = "mapa.shared::cluster.u32 $0, $1, $2;", constraints[] = "=r,r,r";
  LLVMBuilderRef b = e->entry.b;
  int array = 0;
  while (e->k->arrays[array].space != SPACE_SHARED)
    array++;
  LLVMValueRef own = LLVMBuildPtrToInt(b, e->arrays[array], e->i32, ""),
               last = LLVMConstInt(e->i32, (unsigned)e->k->cluster - 1, 0),
               rank = LLVMBuildAdd(b, block_rank(e), LLVMConstInt(e->i32, (unsigned long long)by, 1), "");
  rank = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, rank, last, ""), rank, last, "");
  LLVMTypeRef type = LLVMFunctionType(e->i32, (LLVMTypeRef[]){e->i32, e->i32}, 2, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, 0, 0,
                                       LLVMInlineAsmDialectATT, 0);
  return LLVMBuildSub(b, LLVMBuildCall2(b, type, code, (LLVMValueRef[]){own, rank}, 2, ""), own, "");
}

static void send(Emit *e, LLVMValueRef to, int n, LLVMValueRef *values, int bytes, LLVMValueRef signal, int by) {
  static const char *const vectors[] = {"", "", ".v2", "", ".v4"}, *const lists[] = {"", "$1", "{$1, $2}", "",
                                                                                     "{$1, $2, $3, $4}"};
  LLVMValueRef far = distance(e, by), all[MOST_OPERANDS];
  LLVMTypeRef bits = bytes == 8 ? e->i64 : e->i32;
  Str constraints = {.arena = e->arena};
  str_add(&constraints, "r");
  all[0] = LLVMBuildAdd(e->here.b, LLVMBuildPtrToInt(e->here.b, to, e->i32, ""), far, "");
  for (int i = 0; i < n; i++) {
    all[i + 1] = LLVMBuildBitCast(e->here.b, values[i], bits, "");
    str_add(&constraints, bytes == 8 ? ",l" : ",r");
  }
  str_add(&constraints, ",r");
  all[n + 1] = LLVMBuildAdd(e->here.b, LLVMBuildPtrToInt(e->here.b, signal, e->i32, ""), far, "");
  instruction(e,
              arena_printf(e->arena,
                           "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes%s.b%d [$0], %s, [$%d];",
                           vectors[n], 8 * bytes, lists[n], n + 1),
              constraints.s, n + 2, all);
}

const WarpOps nvptx_warps = {.init = init,
                             .arrive = arrive,
                             .expect = expect,
                             .wait = wait_for,
                             .wait_both = wait_for_both,
                             .bulk_load = bulk_load,
                             .bulk_store = bulk_store,
                             .bulk_prefetch = bulk_prefetch,
                             .bulk_commit = bulk_commit,
                             .bulk_wait = bulk_wait,
                             .fence = fence,
                             .registers = registers,
                             .barrier = barrier,
                             .elect = elect,
                             .rank = block_rank,
                             .barrier_cluster = barrier_cluster,
                             .send = send};
