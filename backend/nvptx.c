/* backend/nvptx.c: NVIDIA GPUs: PTX, for the CUDA driver to assemble. */
#include "backend/emit.h"

#include <stdlib.h>
#include <string.h>

/* LLVM's number of the calling convention ptx_kernel. */
enum { PTX_KERNEL = 71 };

/* The limits of a compute capability: bytes of shared memory that a block may have and that a multiprocessor has, its
 * threads, and the multiprocessors of the family's largest part. Source: CUDA C++ Programming Guide, table "Technical
 * Specifications per Compute Capability" (for sm_103 the values of sm_100 were taken). Then the GB/s of that part's
 * memory and its 1e9 additions of f32 and f64 a second (about half of the stated FLOPS): for estimates only. */
typedef struct SmLimits {
  const char *cpu;
  int32_t block_kib, core_kib, threads, cores, bandwidth, f32, f64;
} SmLimits;
static const SmLimits sm_limits[] = {
    {"sm_70", 96, 96, 2048, 80, 900, 7850, 3900},        {"sm_72", 96, 96, 2048, 8, 137, 700, 22},
    {"sm_75", 64, 64, 1024, 72, 672, 8150, 255},         {"sm_80", 163, 164, 2048, 108, 2039, 9750, 4850},
    {"sm_86", 99, 100, 1536, 84, 768, 19350, 302},       {"sm_87", 163, 164, 1536, 16, 205, 2660, 41},
    {"sm_89", 99, 100, 1536, 142, 960, 45550, 711},      {"sm_90", 227, 228, 2048, 132, 4800, 33450, 16750},
    {"sm_90a", 227, 228, 2048, 132, 4800, 33450, 16750}, {"sm_100", 227, 228, 2048, 148, 8000, 40000, 20000},
    {"sm_103", 227, 228, 2048, 148, 8000, 37500, 625},   {"sm_120", 99, 100, 1536, 170, 1792, 52400, 819},
};
static const char *const cpus[] = {"sm_70", "sm_72",  "sm_75",  "sm_80",  "sm_86",  "sm_87", "sm_89",
                                   "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120", NULL};
_Static_assert(sizeof cpus / sizeof *cpus == sizeof sm_limits / sizeof *sm_limits + 1,
               "a processor has a row and a name");

/* The clock in GHz for which the figures of `l` hold: multiprocessors before sm_86 have 64 lanes for f32 arithmetic,
 * those from sm_86 on have 128, and so has sm_90. All issue 128 a clock, and move 32 words of shared memory. */
static double clock_of(const SmLimits *l) {
  int version = atoi(l->cpu + strlen("sm_"));
  return l->f32 / (l->cores * (version < 86 ? 64.0 : 128.0));
}

/* GB/s that copies reach in each direction, both at the same time: by the generation of PCI Express (5, 4 or 3), with
 * 16 lanes, of the family's largest part. */
static double link_of(const SmLimits *l) {
  int version = atoi(l->cpu + strlen("sm_"));
  return version >= 90 ? 48 : version >= 80 ? 24 : 12;
}

/* A special register "llvm.nvvm.read.ptx.sreg.WHAT.[xyz]". */
static LLVMValueRef special_register(Emit *e, const char *what, int hw) {
  const char *name = arena_printf(e->arena, "llvm.nvvm.read.ptx.sreg.%s.%c", what, "xyz"[hw]);
  return emit_intrinsic(e, e->entry.b, name, 0, NULL, 0, NULL);
}

static LLVMValueRef thread(Emit *e, int hw) { return special_register(e, "tid", hw); }
/* Blocks of a cluster are adjacent along x, and have one number together. */
static LLVMValueRef block(Emit *e, int hw) { return special_register(e, e->k->cluster ? "clusterid" : "ctaid", hw); }

static void barrier(Emit *e) {
  LLVMValueRef all = LLVMConstInt(e->i32, 0, 0);
  emit_intrinsic(e, e->here.b, "llvm.nvvm.barrier.cta.sync.aligned.all", 0, NULL, 1, &all);
}

/* The number of the thread's warp, at the entry: threads are numbered as in the block, x fastest. */
static LLVMValueRef warp(Emit *e) {
  const int32_t *threads = e->k->threads;
  LLVMValueRef flat = e->k->rank > 2 && threads[e->k->rank - 3] > 1 ? thread(e, 2) : LLVMConstInt(e->i32, 0, 0);
  for (int hw = e->k->rank > 1 ? 1 : 0; hw >= 0; hw--) {
    int32_t n = threads[e->k->rank - 1 - hw];
    if (hw == 0 && n == WARP_LANES)
      return flat;
    flat = LLVMBuildAdd(e->entry.b, LLVMBuildMul(e->entry.b, flat, LLVMConstInt(e->i32, (unsigned)n, 0), ""),
                        thread(e, hw), "");
  }
  return LLVMBuildLShr(e->entry.b, flat, LLVMConstInt(e->i32, 5, 0), "");
}

/* May a barrier of the whole block follow a barrier of neighbours: one in `b`, or, as *near says, an earlier one? Sets
 * *near if there is a barrier of neighbours in `b`. */
static bool meets_behind(const Block *b, bool *near) {
  for (const Op *op = b->first; op; op = op->next) {
    bool before = *near, any = false;
    if (op->code == OP_BARRIER && *near)
      return true;
    *near |= op->code == OP_BARRIER_NEAR;
    for (int i = 0; i < op->nblocks; i++) {
      bool arm = before;
      if (meets_behind(op->blocks[i], &arm) || (op->code == OP_FOR && meets_behind(op->blocks[i], &arm)))
        return true;
      any |= arm;
    }
    *near |= any;
  }
  return false;
}

/* The number of named barriers of a block. Number 0 is the barrier of the whole block. */
enum { NAMED_BARRIERS = 16 };

/* The number of instructions that ptxas makes of the greater or the smaller of two f64: a comparison, selections of
 * both words, a test for NaN and moves between registers (ptxas 13.0, sm_90). */
enum { EXTREME_F64 = 7 };

/* The number of warps of a block of kernel `k` if they can meet in pairs, else 0. Pairs need an even number of
 * warps. With 16 warps the first and the last meet at barrier number 0, which then must not be needed for the block
 * any more. */
static int paired_warps(const Kernel *k) {
  bool near = false;
  int threads = 1;
  for (int d = 0; d < k->rank; d++)
    threads *= k->threads[d];
  int warps = threads / WARP_LANES;
  bool fits = warps < NAMED_BARRIERS || (warps == NAMED_BARRIERS && !meets_behind(k->body, &near));
  return fits && warps > 2 && warps % 2 == 0 ? warps : 0;
}

/* The two warps that pass the same `id` meet. */
static void meet_pair(Emit *e, LLVMValueRef id) {
  LLVMValueRef args[] = {id, LLVMConstInt(e->i32, 2 * WARP_LANES, 0)};
  emit_intrinsic(e, e->here.b, "llvm.nvvm.barrier.cta.sync.aligned.count", 0, NULL, 2, args);
}

/* Warp w meets the next warp at named barrier w + 1: first those with w even, then those with w odd. When a warp has
 * been at both barriers, both its neighbours have arrived. The first and the last warp meet too: with a test whether
 * there is a neighbour, ptxas would no longer assume that the threads of a warp stay together. */
static void near_barrier(Emit *e) {
  int warps = paired_warps(e->k);
  if (!warps) {
    barrier(e);
    return;
  }
  LLVMValueRef w = warp(e), one = LLVMConstInt(e->i32, 1, 0),
               ends = LLVMConstInt(e->i32, (unsigned)(warps % NAMED_BARRIERS), 0);
  LLVMValueRef even = LLVMBuildOr(e->entry.b, w, one, ""),
               odd = LLVMBuildAdd(e->entry.b, w, LLVMBuildAnd(e->entry.b, w, one, ""), "");
  LLVMValueRef inner = LLVMBuildICmp(e->entry.b, LLVMIntULT, LLVMBuildSub(e->entry.b, odd, one, ""),
                                     LLVMConstInt(e->i32, (unsigned)(warps - 1), 0), "");
  meet_pair(e, even);
  meet_pair(e, LLVMBuildSelect(e->entry.b, inner, odd, ends, ""));
}

/* The last argument is the lane beyond which the source must not lie: the first lane for up, else the last one. */
static LLVMValueRef shuffle(Emit *e, Opcode code, LLVMValueRef x, int by) {
  const char *how = code == OP_UNIFORM ? "idx" : code == OP_SHUFFLE ? "bfly" : code == OP_SHUFFLE_UP ? "up" : "down";
  LLVMValueRef end = LLVMConstInt(e->i32, code == OP_SHUFFLE_UP ? 0 : 31, 0);
  LLVMValueRef args[] = {LLVMConstInt(e->i32, UINT32_MAX, 0), x, LLVMConstInt(e->i32, (unsigned)by, 0), end};
  return emit_intrinsic(e, e->here.b, arena_printf(e->arena, "llvm.nvvm.shfl.sync.%s.i32", how), 0, NULL, 4, args);
}

/* lop3 with the truth table of (mask & x) | (~mask & y): bit 4 * mask + 2 * x + y of the table is the result. */
static LLVMValueRef blend(Emit *e, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y) {
  static const char text[] = "lop3.b32 $0, $1, $2, $3, 0xCA;", constraints[] = "=r,r,r,r";
  LLVMTypeRef type = LLVMFunctionType(e->i32, (LLVMTypeRef[]){e->i32, e->i32, e->i32}, 3, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, 0, 0,
                                       LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(e->here.b, type, code, (LLVMValueRef[]){mask, x, y}, 3, "");
}

/* MUFU: f32 with one or two wrong last bits, f64 about as exact: it reads only the upper words of f64. */
static LLVMValueRef approximate(Emit *e, Opcode code, Type t, LLVMValueRef x) {
  const char *name =
      arena_printf(e->arena, "llvm.nvvm.%s.approx.ftz.%c", code == OP_DIV ? "rcp" : "rsqrt", t == TY_F32 ? 'f' : 'd');
  return emit_intrinsic(e, e->here.b, name, 0, NULL, 1, &x);
}

static LLVMValueRef fma_up(Emit *e, Type t, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  return emit_intrinsic(e, e->here.b, t == TY_F32 ? "llvm.nvvm.fma.rp.f" : "llvm.nvvm.fma.rp.d", 0, NULL, 3,
                        (LLVMValueRef[]){x, y, z});
}

static LLVMValueRef hidden_add(Emit *e, LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef bytes) {
  static const char text[] = "add.s64 $0, $1, $2;", constraints[] = "=l,l,l";
  LLVMTypeRef type = LLVMFunctionType(LLVMTypeOf(p), (LLVMTypeRef[]){LLVMTypeOf(p), e->i64}, 2, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, 0, 0,
                                       LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(b, type, code, (LLVMValueRef[]){p, bytes}, 2, "");
}

/* Marks `call` as one that does nothing but read what its argument points to. */
static void only_reads(Emit *e, LLVMValueRef call) {
  static const struct {
    const char *name;
    uint64_t value; /* of memory: 2 bits a kind of place, arguments first; 1: reads */
  } marks[] = {{"memory", 1}, {"nounwind", 0}, {"willreturn", 0}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(marks[i].name, strlen(marks[i].name));
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(e->context, kind, marks[i].value));
  }
}

/* A load that makes the second-level cache fetch the 256 bytes around the element (PTX ISA 7.4, ld,
 * .level::prefetch_size): LLVM has no such load. A byte and halves are loaded to a register of 16 bits. */
static LLVMValueRef load_around(Emit *e, Type element, LLVMValueRef p) {
  unsigned bits = 8 * (unsigned)type_size(element), of = LLVMGetEnumAttributeKindForName("elementtype", 11);
  LLVMTypeRef t = emit_memory_type(e, element), from = LLVMTypeOf(p);
  LLVMTypeRef held = bits < 32 ? LLVMInt16TypeInContext(e->context) : t, type = LLVMFunctionType(held, &from, 1, 0);
  const char *in = t == e->i32 ? "r" : t == e->i64 ? "l" : element == TY_F32 ? "f" : element == TY_F64 ? "d" : "h";
  const char *text = arena_printf(e->arena, "ld.global.nc.L2::256B.b%u $0, $1;", bits);
  const char *constraints = arena_printf(e->arena, "=%s,*m", in);
  LLVMValueRef code =
      LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef v = LLVMBuildCall2(e->here.b, type, code, &p, 1, "");
  LLVMAddCallSiteAttribute(v, 1, LLVMCreateTypeAttribute(e->context, of, t));
  only_reads(e, v);
  if (held == t)
    return v;
  return bits < 16 ? LLVMBuildTrunc(e->here.b, v, t, "") : LLVMBuildBitCast(e->here.b, v, t, "");
}

/* Copies of 16 bytes bypass the first-level cache. */
static void async_copy(Emit *e, LLVMValueRef to, LLVMValueRef from, int bytes) {
  const char *name = arena_printf(e->arena, "llvm.nvvm.cp.async.%s.shared.global.%d", bytes == 16 ? "cg" : "ca", bytes);
  emit_intrinsic(e, e->here.b, name, 0, NULL, 2, (LLVMValueRef[]){to, from});
}

static void async_commit(Emit *e) { emit_intrinsic(e, e->here.b, "llvm.nvvm.cp.async.commit.group", 0, NULL, 0, NULL); }

static void async_wait(Emit *e, int groups) {
  LLVMValueRef n = LLVMConstInt(e->i32, (unsigned)groups, 0);
  emit_intrinsic(e, e->here.b, "llvm.nvvm.cp.async.wait.group", 0, NULL, 1, &n);
}

/* Waits, before the kernel accesses memory, until the previous launch has ended and its results can be read: so this
 * kernel may be launched early (programmatic dependent launches; PTX ISA, griddepcontrol). Otherwise the wait is over
 * at once. */
static void wait_for_launch_ahead(Emit *e) {
  static const char text[] = "griddepcontrol.wait;", constraints[] = "~{memory}";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), NULL, 0, 0);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, 1, 0,
                                       LLVMInlineAsmDialectATT, 0);
  LLVMBuildCall2(e->entry.b, type, code, NULL, 0, "");
}

/* Approximations flush subnormal f32 to zero: otherwise each takes two more multiplications and a test, for scaling. */
static void begin(Emit *e) {
  const Kernel *k = e->k;
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, k->nargs + 1);
  int x = k->rank - 1;
  emit_arg_types(e, types);
  emit_function(e, k->name, k->nargs, types);
  LLVMSetFunctionCallConv(e->fn, PTX_KERNEL);
  emit_arg_attributes(e);
  emit_string_attribute(e, e->fn, "nvvm.maxntid",
                        arena_printf(e->arena, "%d,%d,%d", k->threads[x], x > 0 ? k->threads[x - 1] : 1,
                                     x > 1 ? k->threads[x - 2] : 1));
  if (k->cluster)
    emit_string_attribute(e, e->fn, "nvvm.cluster_dim", arena_printf(e->arena, "%d,1,1", k->cluster));
  if (k->per_core)
    emit_string_attribute(e, e->fn, "nvvm.minctasm", arena_printf(e->arena, "%d", k->per_core));
  if (e->m->fast_math && !e->reduces)
    emit_string_attribute(e, e->fn, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
  for (int i = 0; i < k->nargs; i++)
    e->args[i] = LLVMGetParam(e->fn, (unsigned)i);
  if (e->target->info.early_launch)
    wait_for_launch_ahead(e);
}

/* The row of `cpu`, NULL if there is none. */
static const SmLimits *find_limits(const char *cpu) {
  for (size_t i = 0; i < sizeof sm_limits / sizeof *sm_limits; i++)
    if (strcmp(sm_limits[i].cpu, cpu) == 0)
      return &sm_limits[i];
  return NULL;
}

/* The figures of `l` for passes. */
static TargetInfo info_of(const SmLimits *l) {
  return (TargetInfo){.name = "nvptx",
                      .cpu = l->cpu,
                      .simt = true,
                      .lanes = 32,
                      .max_threads = 1024,
                      .max_block = {1024, 1024, 64},
                      .max_grid = {INT32_MAX, 65535, 65535},
                      .shared_bytes = 48 << 10,
                      .max_shared_bytes = (int64_t)l->block_kib << 10,
                      .shared_per_core = (int64_t)l->core_kib << 10,
                      .max_threads_per_core = l->threads,
                      .registers_per_core = 65536,
                      .conditions = 7,
                      .cores = l->cores,
                      .bandwidth = l->bandwidth,
                      .cache_bandwidth = 2.5 * l->bandwidth,
                      .f32_rate = l->f32,
                      .f64_rate = l->f64,
                      .launch_us = 2,
                      .link = link_of(l),
                      .clock = clock_of(l),
                      .issue_rate = 128 * l->cores * clock_of(l),
                      .shared_rate = 32 * l->cores * clock_of(l),
                      .sector_bytes = 32,
                      .async_copy = atoi(l->cpu + strlen("sm_")) >= 80,
                      .bulk_copy = atoi(l->cpu + strlen("sm_")) >= 90,
                      .cluster = atoi(l->cpu + strlen("sm_")) / 10 == 9 || atoi(l->cpu + strlen("sm_")) / 10 == 10
                                     ? MOST_CLUSTER
                                     : 0,
                      .moves_registers = strcmp(l->cpu, "sm_90a") == 0,
                      .early_launch = atoi(l->cpu + strlen("sm_")) >= 90,
                      .near_warps = NAMED_BARRIERS,
                      .circles = true,
                      .extreme_f64 = EXTREME_F64,
                      .range_guards = true};
}

/* Thread and block numbers get ranges, arrays become registers, equal values are merged, and constants are folded once,
 * not seven times as in default<O3>, where that takes 40 % of the time. Code with which two branches end is moved after
 * them: without that ptxas spilled more in tiles in lanes (84 bytes for 24, 6 % of the speed). */
static const char straight_passes[] = "nvvm-intr-range,sroa,early-cse<memssa>,simplifycfg,instcombine<max-iterations=1;"
                                      "no-verify-fixpoint>,early-cse<memssa>,simplifycfg<sink-common-insts>";

static bool make(Arena *a, const char *cpu, Target *t) {
  const SmLimits *l = find_limits(cpu);
  (void)a;
  if (!l)
    return false;
  *t = (Target){.arch = "nvptx",
                .triple = "nvptx64-nvidia-cuda",
                .suffix = "ptx",
                .cpu = l->cpu,
                .features = "",
                .reloc = LLVMRelocDefault,
                .global_space = 1,
                .shared_space = 3,
                .static_shared = 48 << 10,
                .narrows_to_f16 = true,
                .narrows_to_bf16 = atoi(cpu + strlen("sm_")) >= 90,
                .loses_negations = atoi(cpu + strlen("sm_")) >= 90,
                .compares_sums = true,
                .optimised_behind = true,
                .straight_passes = straight_passes,
                .invariant_loads = true,
                .artifact = EMIT_ASM,
                .library = "nvptx64--.bc",
                .math_name = libclc_name,
                .remainder_in_f64 = true,
                .bounded_exponent = true,
                .exp_flushes = true,
                .thread = thread,
                .block = block,
                .barrier = barrier,
                .near_barrier = near_barrier,
                .shuffle = shuffle,
                .blend = blend,
                .approximate = approximate,
                .fma_up = fma_up,
                .hidden_add = hidden_add,
                .begin = begin};
  t->info = info_of(l);
  card_measured(&t->info);
  if (atoi(cpu + strlen("sm_")) >= 87) /* LLVM writes PTX 7.4 or later for it */
    t->load_around = load_around;
  if (t->info.async_copy) {
    t->async_copy = async_copy;
    t->async_commit = async_commit;
    t->async_wait = async_wait;
  }
  if (t->info.bulk_copy) {
    t->warps = &nvptx_warps;
    t->warp_features = atoi(cpu + strlen("sm_")) == 90 ? "+ptx80" : "";
    t->cluster_features = atoi(cpu + strlen("sm_")) == 90 ? "+ptx81" : "";
  }
  return true;
}

static void init(void) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

const Arch arch_nvptx = {"nvptx", cpus, "sm_80", "nvptx64", init, make};
