/* cuda-copies.c: copies several pieces of memory within the device by one launch, which takes as long as the copy of
 * one small piece. Each row of blocks along y copies one piece. */
#include "driver/device/cuda.h"

/* COPIES: pieces of a launch; THREADS: threads of a block; BLOCK_BYTES: bytes that a block copies. */
enum { COPIES = 12, THREADS = 256, BLOCK_BYTES = THREADS * 16 * 4 };

/* The text of the kernel. Its arguments are to, from and size (a multiple of 4) of each piece. Each thread copies 16
 * bytes four times; the first threads of a piece copy the remainder behind its last 16 bytes, 4 bytes each. */
static const char *kernel_text(Arena *a) {
  Str s = {.arena = a};
  str_addf(&s, ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry stc_copies(\n");
  for (int i = 0; i < 3 * COPIES; i++)
    str_addf(&s, "  .param .u64 stc_copies_param_%d%s\n", i, i + 1 < 3 * COPIES ? "," : ")");
  str_addf(&s, "{\n  .reg .pred %%p<4>;\n  .reg .b32 %%r<8>;\n  .reg .b64 %%rd<12>;\n"
               "  mov.u32 %%r1, %%ctaid.y;\n  mov.u32 %%r2, %%ctaid.x;\n  mov.u32 %%r3, %%tid.x;\n");
  for (int i = 0; i < COPIES; i++)
    str_addf(&s,
             "  setp.ne.b32 %%p1, %%r1, %d;\n  @%%p1 bra $L_%d;\n  ld.param.b64 %%rd1, [stc_copies_param_%d];\n"
             "  ld.param.b64 %%rd2, [stc_copies_param_%d];\n  ld.param.b64 %%rd3, [stc_copies_param_%d];\n"
             "  bra.uni $L_all;\n$L_%d:\n",
             i, i, 3 * i, 3 * i + 1, 3 * i + 2, i);
  str_addf(&s,
           "  ret;\n$L_all:\n  shr.u64 %%rd4, %%rd3, 4;\n  mul.wide.u32 %%rd5, %%r2, %d;\n  cvt.u64.u32 %%rd6, %%r3;\n"
           "  add.s64 %%rd5, %%rd5, %%rd6;\n",
           4 * THREADS);
  for (int i = 0; i < 4; i++)
    str_addf(&s,
             "  setp.ge.u64 %%p1, %%rd5, %%rd4;\n  @%%p1 bra $L_rest;\n  shl.b64 %%rd7, %%rd5, 4;\n"
             "  add.s64 %%rd8, %%rd1, %%rd7;\n  add.s64 %%rd9, %%rd2, %%rd7;\n"
             "  ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd9];\n"
             "  st.global.v4.b32 [%%rd8], {%%r4, %%r5, %%r6, %%r7};\n  add.s64 %%rd5, %%rd5, %d;\n",
             THREADS);
  str_addf(&s, "$L_rest:\n  setp.ne.b32 %%p1, %%r2, 0;\n  @%%p1 bra $L_end;\n  shl.b64 %%rd7, %%rd4, 4;\n"
               "  shl.b64 %%rd10, %%rd6, 2;\n  add.s64 %%rd7, %%rd7, %%rd10;\n  setp.ge.u64 %%p2, %%rd7, %%rd3;\n"
               "  @%%p2 bra $L_end;\n  add.s64 %%rd8, %%rd1, %%rd7;\n  add.s64 %%rd9, %%rd2, %%rd7;\n"
               "  ld.global.b32 %%r4, [%%rd9];\n  st.global.b32 [%%rd8], %%r4;\n$L_end:\n  ret;\n}\n");
  return s.s;
}

/* Loads the kernel when it is first needed, but not while launches are captured, as loading would end the capture.
 * False if it cannot be loaded, or not now. */
static bool is_loaded(Device *d) {
  CudaState *s = d->state;
  bool captures = s->capture && s->gpu.stream == s->capture;
  if (!s->copies && !s->no_copies && !captures && s->gpu.use(d) == STC_OK) {
    ArenaMark mark = arena_mark(d->w->arena);
    if (s->cu.module_load(&s->copies_module, kernel_text(d->w->arena), 0, NULL, NULL))
      s->copies_module = NULL;
    else if (s->gpu.call.module_function(&s->copies, s->copies_module, "stc_copies"))
      s->copies = NULL;
    s->no_copies = !s->copies;
    arena_release(d->w->arena, mark);
  }
  return s->copies;
}

/* Can the kernel make this copy? */
static bool is_plain(const Copying *x) {
  return ((uintptr_t)x->to | (uintptr_t)x->from) % 16 == 0 && x->size % 4 == 0 && x->size;
}

StcStatus cuda_copies(Device *d, int n, const Copying *list) {
  CudaState *s = d->state;
  StcStatus st = s->gpu.use(d);
  for (int i = 0; i < n && !st;) {
    struct {
      const void *to, *from;
      size_t size;
    } of[COPIES] = {{0}};
    void *args[3 * COPIES];
    size_t most = 0;
    int count = 0;
    for (; i < n && count < COPIES && n > 1 && is_plain(&list[i]) && is_loaded(d); i++, count++) {
      of[count].to = list[i].to;
      of[count].from = list[i].from;
      of[count].size = list[i].size;
      most = list[i].size > most ? list[i].size : most;
    }
    for (int k = 0; k < COPIES; k++) {
      args[3 * k] = &of[k < count ? k : 0].to;
      args[3 * k + 1] = &of[k < count ? k : 0].from;
      args[3 * k + 2] = &of[k < count ? k : 0].size;
    }
    if (count)
      st = cuda_check(d,
                      s->gpu.call.launch(s->copies, (unsigned)((most + BLOCK_BYTES - 1) / BLOCK_BYTES), (unsigned)count,
                                         1, THREADS, 1, 1, 0, s->gpu.stream, args, NULL),
                      "copying within the device");
    if (!st && i < n && !(n > 1 && is_plain(&list[i]) && is_loaded(d))) {
      st = gpu_copy(d, list[i].to, list[i].from, list[i].size);
      i++;
    }
  }
  return st;
}

void cuda_copies_end(Device *d) {
  CudaState *s = d->state;
  if (s->copies_module)
    s->gpu.call.module_unload(s->copies_module);
  s->copies_module = s->copies = NULL;
}
