/* driver/device/device-cuda.c: NVIDIA GPUs through the CUDA driver, libcuda.so.1, which is loaded when it is first
 * needed. No CUDA header is used:
 * the entry points below are part of the driver's stable interface (those with _v2 take 64-bit sizes). */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int CuResult; /* CUresult; 0 is success */
typedef int CuDevice;
typedef uint64_t CuPointer; /* CUdeviceptr */

/* Numbers from the driver's interface. */
enum {
  CU_OUT_OF_MEMORY = 2,
  CU_NO_DEVICE = 100,
  ATTR_MAX_THREADS = 1,
  ATTR_BLOCK_X = 2,
  ATTR_GRID_X = 5,
  ATTR_SHARED = 8,
  ATTR_WARP = 10,
  ATTR_CORES = 16,
  ATTR_THREADS_PER_CORE = 39,
  ATTR_CC_MAJOR = 75,
  ATTR_CC_MINOR = 76,
  ATTR_SHARED_PER_CORE = 81,
  ATTR_REGISTERS_PER_CORE = 82,
  ATTR_SHARED_OPTIN = 97,
  FUNC_SHARED = 1,
  FUNC_LOCAL = 3,
  FUNC_REGISTERS = 4,
  FUNC_MAX_DYNAMIC_SHARED = 8,
  JIT_INFO_LOG = 3,
  JIT_INFO_LOG_SIZE = 4,
  JIT_ERROR_LOG = 5,
  JIT_ERROR_LOG_SIZE = 6,
  LOG_SIZE = 8192
};

/* CUDA_MEMCPY3D_PEER: one side of a copy, then how much. x: bytes into a row; pitch: bytes from row to row; height:
 * rows from sheet to sheet. */
typedef struct CuPeerSide {
  size_t x, y, z, lod;
  int memory_type;
  const void *host;
  CuPointer device;
  void *array, *context;
  size_t pitch, height;
} CuPeerSide;
typedef struct CuPeerCopy {
  CuPeerSide from, to;
  size_t width, height, depth;
} CuPeerCopy;

/* The entry points used. */
typedef struct Cuda {
  void *library;
  CuResult (*init)(unsigned flags);
  CuResult (*error_name)(CuResult e, const char **name);
  CuResult (*error_string)(CuResult e, const char **text);
  CuResult (*device_count)(int *n);
  CuResult (*device_get)(CuDevice *d, int i);
  CuResult (*device_name)(char *name, int size, CuDevice d);
  CuResult (*device_attribute)(int *value, int attribute, CuDevice d);
  CuResult (*total_memory)(size_t *bytes, CuDevice d);
  CuResult (*context_retain)(void **context, CuDevice d);
  CuResult (*context_release)(CuDevice d);
  CuResult (*context_set)(void *context);
  CuResult (*synchronize)(void);
  CuResult (*memory_info)(size_t *free_bytes, size_t *total);
  CuResult (*memory_alloc)(CuPointer *p, size_t size);
  CuResult (*memory_free)(CuPointer p);
  CuResult (*copy_in)(CuPointer to, const void *from, size_t size);
  CuResult (*copy_out)(void *to, CuPointer from, size_t size);
  CuResult (*copy_within)(CuPointer to, CuPointer from, size_t size, void *stream);
  CuResult (*module_load)(void **module, const void *image, unsigned n, int *options, void **values);
  CuResult (*module_unload)(void *module);
  CuResult (*module_function)(void **f, void *module, const char *name);
  CuResult (*function_attribute)(void *f, int attribute, int value);
  CuResult (*function_info)(int *value, int attribute, void *f);
  CuResult (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, void *stream, void **args, void **extra);
  CuResult (*event_create)(void **e, unsigned flags);
  CuResult (*stream_create)(void **stream, unsigned flags);
  CuResult (*stream_destroy)(void *stream);
  CuResult (*stream_wait)(void *stream, void *e, unsigned flags);
  CuResult (*capture_begin)(void *stream, int mode);
  CuResult (*capture_end)(void *stream, void **graph);
  CuResult (*graph_instantiate)(void **executable, void *graph, unsigned long long flags);
  CuResult (*graph_launch)(void *executable, void *stream);
  CuResult (*graph_destroy)(void *graph);
  CuResult (*executable_destroy)(void *executable);
  CuResult (*event_destroy)(void *e);
  CuResult (*event_record)(void *e, void *stream);
  CuResult (*event_synchronize)(void *e);
  CuResult (*event_elapsed)(float *milliseconds, void *start, void *end);
  CuResult (*stream_synchronize)(void *stream);
  CuResult (*pointer_attribute)(void *value, int attribute, CuPointer p);
  CuResult (*can_access)(int *can, CuDevice d, CuDevice peer);
  CuResult (*enable_access)(void *peer, unsigned flags);
  CuResult (*copy_peer)(CuPointer to, void *to_context, CuPointer from, void *from_context, size_t size, void *stream);
  CuResult (*copy_peer_3d)(const CuPeerCopy *copy, void *stream);
} Cuda;

/* Name and place of each entry point. */
typedef struct Entry {
  const char *name;
  size_t offset;
} Entry;
static const Entry entries[] = {
    {"cuInit", offsetof(Cuda, init)},
    {"cuGetErrorName", offsetof(Cuda, error_name)},
    {"cuGetErrorString", offsetof(Cuda, error_string)},
    {"cuDeviceGetCount", offsetof(Cuda, device_count)},
    {"cuDeviceGet", offsetof(Cuda, device_get)},
    {"cuDeviceGetName", offsetof(Cuda, device_name)},
    {"cuDeviceGetAttribute", offsetof(Cuda, device_attribute)},
    {"cuDeviceTotalMem_v2", offsetof(Cuda, total_memory)},
    {"cuDevicePrimaryCtxRetain", offsetof(Cuda, context_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(Cuda, context_release)},
    {"cuCtxSetCurrent", offsetof(Cuda, context_set)},
    {"cuCtxSynchronize", offsetof(Cuda, synchronize)},
    {"cuMemGetInfo_v2", offsetof(Cuda, memory_info)},
    {"cuMemAlloc_v2", offsetof(Cuda, memory_alloc)},
    {"cuMemFree_v2", offsetof(Cuda, memory_free)},
    {"cuMemcpyHtoD_v2", offsetof(Cuda, copy_in)},
    {"cuMemcpyDtoH_v2", offsetof(Cuda, copy_out)},
    {"cuMemcpyDtoDAsync_v2", offsetof(Cuda, copy_within)},
    {"cuModuleLoadDataEx", offsetof(Cuda, module_load)},
    {"cuModuleUnload", offsetof(Cuda, module_unload)},
    {"cuModuleGetFunction", offsetof(Cuda, module_function)},
    {"cuFuncSetAttribute", offsetof(Cuda, function_attribute)},
    {"cuFuncGetAttribute", offsetof(Cuda, function_info)},
    {"cuLaunchKernel", offsetof(Cuda, launch)},
    {"cuStreamCreate", offsetof(Cuda, stream_create)},
    {"cuStreamDestroy_v2", offsetof(Cuda, stream_destroy)},
    {"cuStreamWaitEvent", offsetof(Cuda, stream_wait)},
    {"cuStreamSynchronize", offsetof(Cuda, stream_synchronize)},
    {"cuPointerGetAttribute", offsetof(Cuda, pointer_attribute)},
    {"cuEventCreate", offsetof(Cuda, event_create)},
    {"cuEventDestroy_v2", offsetof(Cuda, event_destroy)},
    {"cuEventRecord", offsetof(Cuda, event_record)},
    {"cuEventSynchronize", offsetof(Cuda, event_synchronize)},
    {"cuEventElapsedTime", offsetof(Cuda, event_elapsed)},
};

/* Those of CUDA graphs: CUDA 11.4 and later. Where one is missing launches are not recorded. */
static const Entry graph_entries[] = {
    {"cuStreamBeginCapture_v2", offsetof(Cuda, capture_begin)},
    {"cuStreamEndCapture", offsetof(Cuda, capture_end)},
    {"cuGraphInstantiateWithFlags", offsetof(Cuda, graph_instantiate)},
    {"cuGraphLaunch", offsetof(Cuda, graph_launch)},
    {"cuGraphDestroy", offsetof(Cuda, graph_destroy)},
    {"cuGraphExecDestroy", offsetof(Cuda, executable_destroy)},
};

/* Those of copies between devices. Where one is missing they go by way of the host. */
static const Entry peer_entries[] = {
    {"cuDeviceCanAccessPeer", offsetof(Cuda, can_access)},
    {"cuCtxEnablePeerAccess", offsetof(Cuda, enable_access)},
    {"cuMemcpyPeerAsync", offsetof(Cuda, copy_peer)},
    {"cuMemcpy3DPeerAsync", offsetof(Cuda, copy_peer_3d)},
};

/* The state of a CUDA device. */
typedef struct CudaState {
  Cuda cu;
  CuDevice device;
  void *context, *module, *begin, *end;
  void *marked;                   /* the event of marks, NULL: there was none yet */
  void *capture;                  /* the stream that launches are recorded on */
  void *user;                     /* the caller's stream, NULL: the default one */
  void *stream;                   /* the one that launches go to: the caller's, or while recording that for it */
  void *beside, *forked, *joined; /* the one for launches that are beside others, NULL if no kernel is launched so, and
                                     the events that it and the other wait for */
  void **functions;               /* of the module's kernels */
  unsigned *dynamic;              /* dynamic shared bytes of each */
} CudaState;

/* Finds `n` entry points; false if one is missing. */
static bool find_entries(Cuda *cu, const Entry *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    void *p = dlsym(cu->library, e[i].name);
    if (!p)
      return false;
    memcpy((char *)cu + e[i].offset, &p, sizeof p);
  }
  return true;
}

/* Loads the library; returns what is missing, or NULL. The text needs no freeing. */
static const char *load_library(Cuda *cu) {
  cu->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!cu->library)
    return "libcuda.so.1 is not there: install NVIDIA's driver, or use --device=host or sim";
  if (!find_entries(cu, entries, sizeof entries / sizeof entries[0]))
    return "libcuda.so.1 lacks an entry point that CUDA 11 and later have: update NVIDIA's driver";
  if (!find_entries(cu, graph_entries, sizeof graph_entries / sizeof graph_entries[0]))
    cu->capture_begin = NULL;
  if (!find_entries(cu, peer_entries, sizeof peer_entries / sizeof peer_entries[0]))
    cu->copy_peer = NULL;
  return NULL;
}

/* The driver's words for an error. */
static const char *error_text(const Cuda *cu, CuResult e) {
  const char *text = NULL;
  return cu->error_string(e, &text) == 0 && text ? text : "unknown error";
}

/* STC_OK if `e` is success, else an error that says what `what` was. */
static StcStatus check(Device *d, CuResult e, const char *what) {
  if (e == 0)
    return STC_OK;
  const Cuda *cu = &((CudaState *)d->state)->cu;
  const char *name = NULL;
  cu->error_name(e, &name);
  diag_error(d->w->diags, no_loc(), "cuda: %s: %s (%s)", what, error_text(cu, e), name ? name : "?");
  return STC_DEVICE;
}

/* An attribute of the device; 0 if it has none such. */
static int attribute(const Cuda *cu, CuDevice d, int which) {
  int value = 0;
  return cu->device_attribute(&value, which, d) == 0 ? value : 0;
}

/* The newest architecture the compiler knows that the device can run: PTX runs on all later ones. NULL if none. */
static const char *choose_cpu(Arena *a, int major, int minor) {
  const char *best = NULL;
  int most = 0;
  for (const char *const *c = target_cpus("nvptx"); c && *c; c++) {
    char *end;
    long sm = strncmp(*c, "sm_", 3) == 0 ? strtol(*c + 3, &end, 10) : 0;
    if (sm && !*end && sm <= major * 10 + minor && sm > most) {
      most = (int)sm;
      best = *c;
    }
  }
  return best ? arena_strdup(a, best) : NULL;
}

/* The device's limits. */
static TargetInfo read_limits(const Cuda *cu, CuDevice d) {
  TargetInfo t = {.simt = true};
  t.lanes = attribute(cu, d, ATTR_WARP);
  t.max_threads = attribute(cu, d, ATTR_MAX_THREADS);
  for (int i = 0; i < 3; i++) {
    t.max_block[i] = attribute(cu, d, ATTR_BLOCK_X + i);
    t.max_grid[i] = attribute(cu, d, ATTR_GRID_X + i);
  }
  t.shared_bytes = attribute(cu, d, ATTR_SHARED);
  t.max_shared_bytes = attribute(cu, d, ATTR_SHARED_OPTIN);
  t.shared_per_core = attribute(cu, d, ATTR_SHARED_PER_CORE);
  t.max_threads_per_core = attribute(cu, d, ATTR_THREADS_PER_CORE);
  t.registers_per_core = attribute(cu, d, ATTR_REGISTERS_PER_CORE);
  t.cores = attribute(cu, d, ATTR_CORES);
  return t;
}

/* Loads the driver, finds the device, makes its primary context current. */
static StcStatus cuda_open(Device *d) {
  CudaState *s = ARENA_NEW(d->w->arena, CudaState);
  d->state = s;
  const char *missing = load_library(&s->cu);
  if (missing)
    return diag_error(d->w->diags, no_loc(), "cuda: %s", missing), STC_DEVICE;
  int n = 0, want = d->index < 0 ? 0 : d->index;
  CuResult e = s->cu.init(0);
  if (e == CU_NO_DEVICE)
    return diag_error(d->w->diags, no_loc(), "cuda: the driver is there, but no GPU: use --device=host or sim"),
           STC_DEVICE;
  StcStatus st = check(d, e, "starting the driver");
  if (!st)
    st = check(d, s->cu.device_count(&n), "counting devices");
  if (!st && want >= n)
    st = (diag_error(d->w->diags, no_loc(), "cuda:%d: there %s %d CUDA device%s, numbered from 0", want,
                     n == 1 ? "is" : "are", n, n == 1 ? "" : "s"),
          STC_DEVICE);
  if (!st)
    st = check(d, s->cu.device_get(&s->device, want), "finding the device");
  if (!st)
    st = check(d, s->cu.context_retain(&s->context, s->device), "making a context");
  if (!st)
    st = check(d, s->cu.context_set(s->context), "using the context");
  if (st)
    return st;
  char name[128] = "?";
  s->cu.device_name(name, sizeof name, s->device);
  int major = attribute(&s->cu, s->device, ATTR_CC_MAJOR), minor = attribute(&s->cu, s->device, ATTR_CC_MINOR);
  d->limits = read_limits(&s->cu, s->device);
  d->cpu = choose_cpu(d->w->arena, major, minor);
  if (!d->cpu)
    return diag_error(d->w->diags, no_loc(),
                      "cuda: %s has compute capability %d.%d; the compiler makes code for %s and later", name, major,
                      minor, target_cpus("nvptx")[0]),
           STC_DEVICE;
  d->description = arena_printf(d->w->arena, "cuda:%d, %s", want, name);
  return STC_OK;
}

/* Unloads and lets the context go. */
static void cuda_close(Device *d) {
  CudaState *s = d->state;
  if (!s || !s->cu.library)
    return;
  if (s->context) {
    s->cu.context_set(s->context);
    if (s->capture)
      s->cu.stream_destroy(s->capture);
    if (s->beside)
      s->cu.stream_destroy(s->beside);
    if (s->forked)
      s->cu.event_destroy(s->forked);
    if (s->joined)
      s->cu.event_destroy(s->joined);
    if (s->marked)
      s->cu.event_destroy(s->marked);
    if (s->begin)
      s->cu.event_destroy(s->begin);
    if (s->end)
      s->cu.event_destroy(s->end);
    if (s->module)
      s->cu.module_unload(s->module);
    s->cu.context_release(s->device);
  }
  dlclose(s->cu.library);
}

/* Gives the PTX to the driver's compiler; its log becomes the error's text. */
static StcStatus load_ptx(Device *d, const char *ptx) {
  CudaState *s = d->state;
  char *log = arena_alloc(d->w->arena, LOG_SIZE);
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
  double start = clock_seconds();
  CuResult e = s->cu.module_load(&s->module, ptx, 2, options, values);
  d->load_seconds = clock_seconds() - start;
  if (e == 0)
    return STC_OK;
  diag_error(d->w->diags, no_loc(), "cuda: the driver does not take the PTX: %s", error_text(&s->cu, e));
  if (log[0])
    diag_note(d->w->diags, no_loc(), "the driver's compiler says: %s", log);
  return STC_DEVICE;
}

/* Finds kernel `i` in the module and raises its shared memory where it needs more than every block may have. */
static StcStatus find_function(Device *d, const Compiled *code, int i) {
  CudaState *s = d->state;
  const Kernel *k = &code->module->kernels[i];
  StcStatus st = check(d, s->cu.module_function(&s->functions[i], s->module, k->name), k->name);
  s->dynamic[i] = (unsigned)dynamic_shared_bytes(k, code->target);
  if (!st && s->dynamic[i] > 48 * 1024)
    st = check(d, s->cu.function_attribute(s->functions[i], FUNC_MAX_DYNAMIC_SHARED, (int)s->dynamic[i]),
               "raising the shared memory of a block");
  return st;
}

/* Numbers of the driver's interface: a stream that does not wait for the one that is NULL, an event that takes no time.
 */
enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

/* Makes what launches beside others need. */
static StcStatus make_beside(Device *d) {
  CudaState *s = d->state;
  StcStatus st = check(d, s->cu.event_create(&s->forked, EVENT_DISABLE_TIMING), "making an event");
  if (!st)
    st = check(d, s->cu.event_create(&s->joined, EVENT_DISABLE_TIMING), "making an event");
  return st ? st : check(d, s->cu.stream_create(&s->beside, STREAM_NON_BLOCKING), "making a stream");
}

/* Compiles to PTX, loads it, finds the kernels, makes the events. */
static StcStatus cuda_load(Device *d, StcProgram *p, Build *b) {
  CudaState *s = d->state;
  const Compiled *code = &b->code;
  StcStatus st = build_artifact(p, b);
  if (!st)
    st = load_ptx(d, b->bytes);
  s->functions = ARENA_ARRAY(d->w->arena, void *, code->module->nkernels + 1);
  s->dynamic = ARENA_ARRAY(d->w->arena, unsigned, code->module->nkernels + 1);
  for (int i = 0; i < code->module->nkernels && !st; i++)
    st = find_function(d, code, i);
  if (!st)
    st = check(d, s->cu.event_create(&s->begin, 0), "making an event");
  if (!st)
    st = check(d, s->cu.event_create(&s->end, 0), "making an event");
  if (!st && launches_beside(code->module))
    st = make_beside(d);
  return st;
}

/* Makes the device's context the thread's: another plan's may be. */
static StcStatus enter(Device *d) {
  CudaState *s = d->state;
  return check(d, s->cu.context_set(s->context), "using the context");
}

/* How much memory the device has. */
static bool cuda_room(Device *d, double *left, double *total) {
  CudaState *s = d->state;
  size_t l = 0, t = 0;
  bool known = s->cu.memory_info(&l, &t) == 0;
  *left = (double)l;
  *total = (double)t;
  return known;
}

/* Device memory; NULL if there is not enough of it. */
static StcStatus cuda_alloc(Device *d, size_t size, void **memory) {
  CudaState *s = d->state;
  CuPointer p = 0;
  StcStatus st = enter(d);
  if (st)
    return st;
  CuResult e = s->cu.memory_alloc(&p, size ? size : 1);
  if (e == CU_OUT_OF_MEMORY)
    return *memory = NULL, STC_OK;
  *memory = (void *)(uintptr_t)p;
  return check(d, e, "allocating memory");
}

/* Gives device memory back. */
static void cuda_release(Device *d, void *memory, size_t size) {
  CudaState *s = d->state;
  (void)size;
  if (memory && !enter(d))
    s->cu.memory_free((CuPointer)(uintptr_t)memory);
}

/* Copies between host and device go by the default stream; those to and from the caller's begin when that has come to
 * its end. */
static StcStatus finish_user(Device *d) {
  CudaState *s = d->state;
  StcStatus st = enter(d);
  return st ? st : s->user ? check(d, s->cu.stream_synchronize(s->user), "running the kernels") : STC_OK;
}

/* Host to device. */
static StcStatus cuda_put(Device *d, void *to, const void *from, size_t size) {
  CudaState *s = d->state;
  StcStatus st = finish_user(d);
  if (st)
    return st;
  return size ? check(d, s->cu.copy_in((CuPointer)(uintptr_t)to, from, size), "copying to the device") : STC_OK;
}

/* Device to host. */
static StcStatus cuda_fetch(Device *d, void *to, const void *from, size_t size) {
  CudaState *s = d->state;
  StcStatus st = finish_user(d);
  if (st)
    return st;
  return size ? check(d, s->cu.copy_out(to, (CuPointer)(uintptr_t)from, size), "copying from the device") : STC_OK;
}

/* Within the device. */
static StcStatus cuda_copy(Device *d, void *to, const void *from, size_t size) {
  CudaState *s = d->state;
  return size ? check(d, s->cu.copy_within((CuPointer)(uintptr_t)to, (CuPointer)(uintptr_t)from, size, s->user),
                      "copying within the device")
              : STC_OK;
}

/* What the driver's compiler made of kernel `kernel`. */
static bool cuda_inspect(Device *d, int kernel, KernelInfo *out) {
  CudaState *s = d->state;
  int shared = 0;
  if (s->cu.function_info(&out->registers, FUNC_REGISTERS, s->functions[kernel]) ||
      s->cu.function_info(&out->local, FUNC_LOCAL, s->functions[kernel]) ||
      s->cu.function_info(&shared, FUNC_SHARED, s->functions[kernel]))
    return false;
  out->shared = (int64_t)shared + s->dynamic[kernel];
  return true;
}

/* Hardware x is the program's last dimension. */
static StcStatus cuda_launch(Device *d, const Launch *l) {
  CudaState *s = d->state;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  for (int i = 0; i < l->kernel->rank; i++) {
    grid[l->kernel->rank - 1 - i] = (unsigned)l->blocks[i];
    block[l->kernel->rank - 1 - i] = (unsigned)l->kernel->threads[i];
  }
  CuResult e = s->cu.launch(s->functions[l->index], grid[0], grid[1], grid[2], block[0], block[1], block[2],
                            s->dynamic[l->index], l->beside ? s->beside : s->stream, l->args, NULL);
  return e == 0 ? STC_OK : check(d, e, arena_printf(d->w->arena, "launching %s", l->kernel->name));
}

/* The stream for launches beside others waits for all there was so far. While recording that makes a branch of the
 * graph. */
static StcStatus cuda_fork(Device *d) {
  CudaState *s = d->state;
  StcStatus st = check(d, s->cu.event_record(s->forked, s->stream), "recording an event");
  return st ? st : check(d, s->cu.stream_wait(s->beside, s->forked, 0), "waiting for an event");
}

/* And the other one for it. */
static StcStatus cuda_join(Device *d) {
  CudaState *s = d->state;
  StcStatus st = check(d, s->cu.event_record(s->joined, s->beside), "recording an event");
  return st ? st : check(d, s->cu.stream_wait(s->stream, s->joined, 0), "waiting for an event");
}

/* Numbers of the driver's interface: the way to capture that lets other threads do what they like. */
enum { CAPTURE_THREAD_LOCAL = 1 };

/* Launches go to a stream that keeps them. */
static bool cuda_record(Device *d) {
  CudaState *s = d->state;
  if (!s->cu.capture_begin)
    return false;
  if (!s->capture && s->cu.stream_create(&s->capture, 0) != 0)
    return s->capture = NULL, false;
  if (s->cu.capture_begin(s->capture, CAPTURE_THREAD_LOCAL) != 0)
    return false;
  s->stream = s->capture;
  return true;
}

/* Makes a graph of them. */
static bool cuda_end_record(Device *d, void **kept) {
  CudaState *s = d->state;
  void *graph = NULL;
  s->stream = s->user;
  if (s->cu.capture_end(s->capture, &graph) != 0 || !graph)
    return false;
  bool made = s->cu.graph_instantiate(kept, graph, 0) == 0;
  s->cu.graph_destroy(graph);
  return made;
}

/* Launches the graph. */
static StcStatus cuda_replay(Device *d, void *kept) {
  CudaState *s = d->state;
  return check(d, s->cu.graph_launch(kept, s->user), "launching a graph");
}

/* Lets the graph go. */
static void cuda_forget(Device *d, void *kept) { ((CudaState *)d->state)->cu.executable_destroy(kept); }

/* Marks the start in the stream. */
static StcStatus cuda_start(Device *d) {
  CudaState *s = d->state;
  StcStatus st = enter(d);
  return st ? st : check(d, s->cu.event_record(s->begin, s->user), "recording an event");
}

/* Waits for all launches; an error in a kernel shows here. */
static StcStatus cuda_wait(Device *d) {
  StcStatus st = finish_user(d);
  if (st || ((CudaState *)d->state)->user)
    return st;
  return check(d, ((CudaState *)d->state)->cu.synchronize(), "running the kernels");
}

/* Marks the end, waits for it, and reads the device's clock. */
static StcStatus cuda_stop(Device *d, double *seconds) {
  CudaState *s = d->state;
  float milliseconds = 0;
  StcStatus st = enter(d);
  if (!st)
    st = check(d, s->cu.event_record(s->end, s->user), "recording an event");
  if (!st)
    st = check(d, s->cu.event_synchronize(s->end), "running the kernels");
  if (!st)
    st = check(d, s->cu.event_elapsed(&milliseconds, s->begin, s->end), "reading the time");
  *seconds = (double)milliseconds * 1e-3;
  return st;
}

/* All that follows goes to the caller's stream, behind all there was so far. */
static StcStatus cuda_use_stream(Device *d, void *stream) {
  CudaState *s = d->state;
  StcStatus st = check(d, s->cu.context_set(s->context), "using the context");
  if (!st && stream != s->user)
    st = cuda_wait(d);
  if (!st)
    s->user = s->stream = stream;
  return st;
}

/* The caller's events. */
static StcStatus cuda_wait_event(Device *d, void *event) {
  CudaState *s = d->state;
  return check(d, s->cu.stream_wait(s->user, event, 0), "waiting for an event");
}
static StcStatus cuda_record_event(Device *d, void *event) {
  CudaState *s = d->state;
  return check(d, s->cu.event_record(event, s->user), "recording an event");
}

/* Numbers of the driver's interface: what kind of memory a pointer names, and which device's it is; kinds of memory. */
enum { POINTER_MEMORY_TYPE = 2, POINTER_DEVICE = 9, MEMORY_HOST = 1 };

/* Is it memory that the driver knows, of this device or for all? */
static bool cuda_holds(Device *d, const void *memory) {
  CudaState *s = d->state;
  int type = 0, device = s->device;
  CuPointer p = (CuPointer)(uintptr_t)memory;
  if (s->cu.context_set(s->context) || s->cu.pointer_attribute(&type, POINTER_MEMORY_TYPE, p))
    return false;
  s->cu.pointer_attribute(&device, POINTER_DEVICE, p);
  return type != MEMORY_HOST && device == s->device;
}

/* ---------------------------------------------------------------- from device to device */

/* Numbers of the driver's interface: access is enabled already; device memory. */
enum { CU_ACCESS_ENABLED = 704, CU_MEMORY_DEVICE = 2 };

/* Can it send to the other one? Where the hardware lets them they reach each other's memory, else the driver copies. */
static bool cuda_near(Device *d, Device *other) {
  CudaState *s = d->state, *o = other->state;
  int can = 0;
  if (!s->cu.copy_peer || !o->cu.copy_peer || enter(d))
    return false;
  if (s->context == o->context || s->cu.can_access(&can, s->device, o->device) || !can)
    return true;
  CuResult e = s->cu.enable_access(o->context, 0);
  return e == 0 || e == CU_ACCESS_ENABLED;
}

/* Records the event. */
static StcStatus cuda_mark(Device *d) {
  CudaState *s = d->state;
  StcStatus st = enter(d);
  if (!st && !s->marked)
    st = check(d, s->cu.event_create(&s->marked, EVENT_DISABLE_TIMING), "making an event");
  return st ? st : check(d, s->cu.event_record(s->marked, s->user), "recording an event");
}

/* Waits for the other's, unless both work in one stream. */
static StcStatus cuda_follow(Device *d, Device *other) {
  CudaState *s = d->state, *o = other->state;
  bool same = s->context == o->context && s->user == o->user;
  StcStatus st = same ? STC_OK : enter(d);
  return st || same ? st : check(d, s->cu.stream_wait(s->user, o->marked, 0), "waiting for an event");
}

/* A box of memory in one go. */
static StcStatus cuda_send(Device *d, Device *to, const Sending *x) {
  CudaState *s = d->state, *t = to->state;
  CuPointer source = (CuPointer)(uintptr_t)x->from, target = (CuPointer)(uintptr_t)x->to;
  StcStatus st = enter(d);
  if (st)
    return st;
  if (x->count[0] == 1 && x->count[1] == 1)
    return check(d, s->cu.copy_peer(target, t->context, source, s->context, (size_t)x->n, s->user),
                 "copying to another device");
  int64_t rows[2] = {x->count[1] > 1 ? x->from_stride[1] / x->from_stride[0] : x->count[0],
                     x->count[1] > 1 ? x->to_stride[1] / x->to_stride[0] : x->count[0]};
  CuPeerCopy copy = {.from = {.memory_type = CU_MEMORY_DEVICE,
                              .device = source,
                              .context = s->context,
                              .pitch = (size_t)x->from_stride[0],
                              .height = (size_t)rows[0]},
                     .to = {.memory_type = CU_MEMORY_DEVICE,
                            .device = target,
                            .context = t->context,
                            .pitch = (size_t)x->to_stride[0],
                            .height = (size_t)rows[1]},
                     .width = (size_t)x->n,
                     .height = (size_t)x->count[0],
                     .depth = (size_t)x->count[1]};
  return check(d, s->cu.copy_peer_3d(&copy, s->user), "copying to another device");
}

/* A line for one device. */
static void list_device(FILE *to, const Cuda *cu, int i) {
  CuDevice d = 0;
  char name[128] = "?", label[32];
  size_t bytes = 0;
  if (cu->device_get(&d, i) != 0)
    return;
  cu->device_name(name, sizeof name, d);
  cu->total_memory(&bytes, d);
  snprintf(label, sizeof label, "cuda:%d", i);
  fprintf(to, "%-8s %s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", label, name,
          attribute(cu, d, ATTR_CC_MAJOR), attribute(cu, d, ATTR_CC_MINOR), attribute(cu, d, ATTR_CORES),
          (double)bytes / 1073741824.0);
}

/* How many there are. */
static int cuda_count(void) {
  Cuda cu = {0};
  int n = 0;
  if (load_library(&cu) || cu.init(0) || cu.device_count(&n))
    n = 0;
  if (cu.library)
    dlclose(cu.library);
  return n;
}

/* The lines for `stc devices`. */
static void cuda_list(FILE *to) {
  Cuda cu = {0};
  int n = 0;
  const char *missing = load_library(&cu);
  CuResult e = missing ? 0 : cu.init(0);
  if (!missing && e == 0)
    e = cu.device_count(&n);
  if (missing)
    fprintf(to, "%-8s none: %s\n", "cuda", missing);
  else if (e != 0 || n == 0)
    fprintf(to, "%-8s none: the driver says: %s\n", "cuda", e ? error_text(&cu, e) : "no device");
  for (int i = 0; i < n; i++)
    list_device(to, &cu, i);
  if (cu.library)
    dlclose(cu.library);
}

const DeviceKind device_cuda = {
    .name = "cuda",
    .help = "an NVIDIA GPU, through libcuda.so.1",
    .arch = "nvptx",
    .index = "the GPU's number",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .alloc = cuda_alloc,
    .room = cuda_room,
    .release = cuda_release,
    .put = cuda_put,
    .fetch = cuda_fetch,
    .copy = cuda_copy,
    .use_stream = cuda_use_stream,
    .wait_event = cuda_wait_event,
    .record_event = cuda_record_event,
    .holds = cuda_holds,
    .near = cuda_near,
    .mark = cuda_mark,
    .follow = cuda_follow,
    .send = cuda_send,
    .dlpack = 2,
    .record = cuda_record,
    .end_record = cuda_end_record,
    .replay = cuda_replay,
    .forget = cuda_forget,
    .inspect = cuda_inspect,
    .launch = cuda_launch,
    .fork = cuda_fork,
    .join = cuda_join,
    .start = cuda_start,
    .wait = cuda_wait,
    .stop = cuda_stop,
    .count = cuda_count,
    .list = cuda_list,
};
