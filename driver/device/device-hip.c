/* driver/device/device-hip.c: AMD GPUs through the HIP runtime, libamdhip64.so, which is loaded on first use. No HIP
 * header is used; numbers of attributes are those of hip_runtime_api.h, the same since ROCm 5. hipDeviceProp_t, whose
 * layout has changed, is never declared: see find_arch. */
#include "driver/artifact/artifact.h"
#include "driver/device/gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int HipError; /* hipError_t; 0 is success */

enum {
  ATTR_CLOCK = 5,
  ATTR_CACHE = 19,
  ATTR_BLOCK_X = 26,
  ATTR_GRID_X = 29,
  ATTR_MAX_THREADS = 56,
  ATTR_THREADS_PER_CORE = 57,
  ATTR_CORES = 63,
  ATTR_SHARED = 74,
  ATTR_WARP = 87,
  PROPERTIES_SIZE = 16384 /* more than hipDeviceProp_t has in any version */
};
/* Markers in the `extra` list of hipModuleLaunchKernel. */
#define PARAM_POINTER ((void *)1)
#define PARAM_SIZE ((void *)2)
#define PARAM_END ((void *)3)

/* Entry points that CUDA does not have in the same form. */
typedef struct Hip {
  const char *(*error_string)(HipError e);
  HipError (*device_count)(int *n);
  HipError (*set_device)(int i);
  HipError (*device_name)(char *name, int size, int i);
  HipError (*device_attribute)(int *value, int attribute, int i);
  HipError (*total_memory)(size_t *bytes, int i);
  HipError (*module_load)(void **module, const void *image);
  HipError (*host_alloc)(void **p, size_t size, unsigned flags);
  HipError (*properties)(void *p, int i); /* may be missing */
} Hip;

/* The state of a HIP device. */
typedef struct HipState {
  Gpu gpu;
  Hip hip;
  int device;
  const Compiled *code;
} HipState;

/* The required entry points, and the members that hold them. */
static const GpuEntry entries[] = {
    {"hipGetErrorString", offsetof(HipState, hip.error_string)},
    {"hipGetDeviceCount", offsetof(HipState, hip.device_count)},
    {"hipSetDevice", offsetof(HipState, hip.set_device)},
    {"hipDeviceGetName", offsetof(HipState, hip.device_name)},
    {"hipDeviceGetAttribute", offsetof(HipState, hip.device_attribute)},
    {"hipDeviceTotalMem", offsetof(HipState, hip.total_memory)},
    {"hipMemGetInfo", offsetof(HipState, gpu.call.memory_info)},
    {"hipMalloc", offsetof(HipState, gpu.call.memory_alloc)},
    {"hipFree", offsetof(HipState, gpu.call.memory_free)},
    {"hipMemcpyHtoD", offsetof(HipState, gpu.call.copy_in)},
    {"hipMemcpyDtoH", offsetof(HipState, gpu.call.copy_out)},
    {"hipMemcpyDtoDAsync", offsetof(HipState, gpu.call.copy_within)},
    {"hipMemcpyDtoHAsync", offsetof(HipState, gpu.call.copy_out_async)},
    {"hipHostMalloc", offsetof(HipState, hip.host_alloc)},
    {"hipHostFree", offsetof(HipState, gpu.call.host_free)},
    {"hipModuleLoadData", offsetof(HipState, hip.module_load)},
    {"hipModuleUnload", offsetof(HipState, gpu.call.module_unload)},
    {"hipModuleGetFunction", offsetof(HipState, gpu.call.module_function)},
    {"hipFuncGetAttribute", offsetof(HipState, gpu.call.function_info)},
    {"hipModuleLaunchKernel", offsetof(HipState, gpu.call.launch)},
    {"hipDeviceSynchronize", offsetof(HipState, gpu.call.synchronize)},
    {"hipStreamCreateWithFlags", offsetof(HipState, gpu.call.stream_create)},
    {"hipStreamDestroy", offsetof(HipState, gpu.call.stream_destroy)},
    {"hipStreamSynchronize", offsetof(HipState, gpu.call.stream_synchronize)},
    {"hipStreamWaitEvent", offsetof(HipState, gpu.call.stream_wait)},
    {"hipEventCreateWithFlags", offsetof(HipState, gpu.call.event_create)},
    {"hipEventDestroy", offsetof(HipState, gpu.call.event_destroy)},
    {"hipEventRecord", offsetof(HipState, gpu.call.event_record)},
    {"hipEventSynchronize", offsetof(HipState, gpu.call.event_synchronize)},
    {"hipEventElapsedTime", offsetof(HipState, gpu.call.event_elapsed)},
};

/* Loads the library; returns the name of what is missing, or NULL. */
static const char *load_library(HipState *s) {
  void *library = NULL;
  static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      NULL};
  for (int i = 0; names[i] && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  s->gpu.library = library;
  if (!library)
    return "libamdhip64.so is not there: install the ROCm runtime, or use --device=host or sim";
  if (!gpu_find_entries(library, entries, sizeof entries / sizeof entries[0], s))
    return "libamdhip64.so lacks an entry point that ROCm 5 and later have: update the ROCm runtime";
  void *p = dlsym(library, "hipGetDevicePropertiesR0600");
  if (!p)
    p = dlsym(library, "hipGetDeviceProperties");
  memcpy(&s->hip.properties, &p, sizeof p);
  return NULL;
}

/* Returns STC_OK if `e` is success; else reports an error that names `what`. */
static StcStatus check(Device *d, HipError e, const char *what) {
  if (e == 0)
    return STC_OK;
  const char *text = ((HipState *)d->state)->hip.error_string(e);
  diag_error(d->w->diags, no_loc(), "hip: %s: %s (error %d)", what, text ? text : "unknown error", e);
  return STC_DEVICE;
}

/* Makes the device current. */
static StcStatus use(Device *d) {
  HipState *s = d->state;
  return check(d, s->hip.set_device(s->device), "using the device");
}

/* The same without a report; the runtime's text for an error; memory that the device copies to by itself. */
static int make_current(Device *d) { return ((HipState *)d->state)->hip.set_device(((HipState *)d->state)->device); }
static const char *words(Device *d, int e) { return ((HipState *)d->state)->hip.error_string(e); }
static int host_alloc(Device *d, void **p, size_t size) { return ((HipState *)d->state)->hip.host_alloc(p, size, 0); }

/* An attribute of the device; 0 if it has no such attribute. */
static int attribute(const Hip *hip, int device, int which) {
  int value = 0;
  return hip->device_attribute(&value, which, device) == 0 ? value : 0;
}

/* The architecture name at `s`, "gfx90a" of "gfx90a:sramecc+:xnack-", or NULL. */
static const char *arch_at(Arena *a, const char *s) {
  size_t n = 3;
  if (strncmp(s, "gfx", 3) != 0)
    return NULL;
  while ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f'))
    n++;
  return n >= 6 && (s[n] == 0 || s[n] == ':') ? arena_strndup(a, s, n) : NULL;
}

/* The device's architecture; NULL if it cannot be found. It is the only part of hipDeviceProp_t that is used, and is
 * found by searching: the struct contains gcnArchName as characters. */
static const char *find_arch(Arena *a, const Hip *hip, int device) {
  char *properties = arena_alloc(a, PROPERTIES_SIZE + 16);
  if (!hip->properties || hip->properties(properties, device) != 0)
    return NULL;
  for (int i = 0; i < PROPERTIES_SIZE - 3; i++) {
    const char *arch = memcmp(properties + i, "gfx", 3) == 0 ? arch_at(a, properties + i) : NULL;
    if (arch)
      return arch;
  }
  return NULL;
}

/* The device's limits and the figures for the model; the clock is in kHz. The number of transfers in each cycle of the
 * memory clock differs between kinds of memory and cannot be queried, so the bandwidth stays that of the processor's
 * row. */
static TargetInfo read_limits(const Hip *hip, int device) {
  TargetInfo t = {.simt = true};
  t.lanes = attribute(hip, device, ATTR_WARP);
  t.max_threads = attribute(hip, device, ATTR_MAX_THREADS);
  for (int i = 0; i < 3; i++) {
    t.max_block[i] = attribute(hip, device, ATTR_BLOCK_X + i);
    t.max_grid[i] = attribute(hip, device, ATTR_GRID_X + i);
  }
  t.shared_bytes = t.max_shared_bytes = attribute(hip, device, ATTR_SHARED);
  t.max_threads_per_core = attribute(hip, device, ATTR_THREADS_PER_CORE);
  t.cores = attribute(hip, device, ATTR_CORES);
  t.clock = attribute(hip, device, ATTR_CLOCK) * 1e-6;
  t.cache_bytes = attribute(hip, device, ATTR_CACHE);
  return t;
}

/* Loads the runtime and finds the device. hipGetDeviceCount tells whether there is one, because the result of hipInit
 * without a device differs between versions. */
static StcStatus hip_open(Device *d) {
  HipState *s = ARENA_NEW(d->w->arena, HipState);
  d->state = s;
  s->gpu.check = check;
  s->gpu.use = use;
  s->gpu.make_current = make_current;
  s->gpu.words = words;
  s->gpu.host_alloc = host_alloc;
  const char *missing = load_library(s);
  if (missing)
    return diag_error(d->w->diags, no_loc(), "hip: %s", missing), STC_DEVICE;
  int n = 0;
  s->device = d->index < 0 ? 0 : d->index;
  HipError e = s->hip.device_count(&n);
  if (e == GPU_NO_DEVICE || (e == 0 && n == 0))
    return diag_error(d->w->diags, no_loc(), "hip: the runtime is there, but no GPU: use --device=host or sim"),
           STC_DEVICE;
  StcStatus st = check(d, e, "counting devices");
  if (!st && s->device >= n)
    st = (diag_error(d->w->diags, no_loc(), "hip:%d: there %s %d HIP device%s, numbered from 0", s->device,
                     n == 1 ? "is" : "are", n, n == 1 ? "" : "s"),
          STC_DEVICE);
  if (!st)
    st = use(d);
  if (st)
    return st;
  char name[128] = "?";
  s->hip.device_name(name, sizeof name, s->device);
  d->limits = read_limits(&s->hip, s->device);
  d->cpu = find_arch(d->w->arena, &s->hip, s->device);
  d->description = arena_printf(d->w->arena, "hip:%d, %s", s->device, name);
  return STC_OK;
}

/* Unloads. */
static void hip_close(Device *d) {
  HipState *s = d->state;
  if (!s || !s->gpu.library)
    return;
  gpu_drop(d);
  dlclose(s->gpu.library);
}

/* Links a code object, loads it, finds its kernels, and makes the events. */
static StcStatus hip_load(Device *d, StcProgram *p, Build *b) {
  HipState *s = d->state;
  StcStatus st = build_artifact(p, b);
  if (st)
    return st;
  s->code = &b->code;
  double start = clock_seconds();
  st = check(d, s->hip.module_load(&s->gpu.module, b->bytes), "loading the code object");
  d->load_seconds = clock_seconds() - start;
  return st ? st : gpu_prepare(d, &b->code);
}

/* Packs the arguments into `to` in the layout of the kernel's kernarg segment: in order, each at a multiple of its
 * size. Returns the number of bytes. */
static size_t pack_arguments(const Module *m, const Kernel *k, void **args, char *to) {
  size_t at = 0;
  for (int i = 0; i < k->nargs; i++) {
    size_t size = kernel_arg_size(m, &k->args[i]);
    at = (at + size - 1) / size * size;
    memcpy(to + at, args[i], size);
    at += size;
  }
  return at;
}

/* Launches with all arguments in one buffer. */
static StcStatus hip_launch(Device *d, const KernelLaunch *l) {
  HipState *s = d->state;
  char kernarg[8 * (l->kernel->nargs + 1)];
  memset(kernarg, 0, sizeof kernarg);
  size_t size = pack_arguments(s->code->module, l->kernel, l->args, kernarg);
  void *extra[] = {PARAM_POINTER, kernarg, PARAM_SIZE, &size, PARAM_END};
  return gpu_launch(d, l, NULL, extra);
}

/* Prints a line for one device. */
static void list_device(FILE *to, const Hip *hip, int i) {
  char name[128] = "?", label[32];
  size_t bytes = 0;
  hip->device_name(name, sizeof name, i);
  hip->total_memory(&bytes, i);
  snprintf(label, sizeof label, "hip:%d", i);
  fprintf(to, "%-8s %s, %d compute units, %.1f GiB\n", label, name, attribute(hip, i, ATTR_CORES),
          (double)bytes / 1073741824.0);
}

/* Prints the lines for `stc devices`. */
static void hip_list(FILE *to) {
  HipState s = {0};
  int n = 0;
  const char *missing = load_library(&s);
  Hip hip = s.hip;
  HipError e = missing ? 0 : hip.device_count(&n);
  if (missing)
    fprintf(to, "%-8s none: %s\n", "hip", missing);
  else if (e != 0 || n == 0)
    fprintf(to, "%-8s none: the runtime says: %s\n", "hip", e ? hip.error_string(e) : "no device");
  for (int i = 0; e == 0 && i < n; i++)
    list_device(to, &hip, i);
  if (s.gpu.library)
    dlclose(s.gpu.library);
}

const DeviceKind device_hip = {
    .name = "hip",
    .help = "an AMD GPU, through libamdhip64.so",
    .arch = "amdgpu",
    .index = "the GPU's number",
    .open = hip_open,
    .close = hip_close,
    .load = hip_load,
    GPU_DEVICE,
    .dlpack = 10,
    .inspect = gpu_inspect,
    .launch = hip_launch,
    .list = hip_list,
};
