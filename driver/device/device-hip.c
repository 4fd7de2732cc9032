/* driver/device/device-hip.c: AMD GPUs through the HIP runtime, libamdhip64.so, which is loaded when it is first
 * needed. No HIP header is used;
 * numbers of attributes are those of hip_runtime_api.h, the same from ROCm 5 on. hipDeviceProp_t, whose layout has
 * changed, is never
 * declared: see find_arch. */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int HipError; /* hipError_t; 0 is success */

enum {
  HIP_OUT_OF_MEMORY = 2,
  HIP_NO_DEVICE = 100,
  ATTR_BLOCK_X = 26,
  ATTR_GRID_X = 29,
  ATTR_MAX_THREADS = 56,
  ATTR_THREADS_PER_CORE = 57,
  ATTR_CORES = 63,
  ATTR_SHARED = 74,
  ATTR_WARP = 87,
  FUNC_SHARED = 1,
  FUNC_LOCAL = 3,
  FUNC_REGISTERS = 4,
  PROPERTIES_SIZE = 16384 /* more than any version's hipDeviceProp_t */
};
/* Markers in the `extra` list of hipModuleLaunchKernel. */
#define PARAM_POINTER ((void *)1)
#define PARAM_SIZE ((void *)2)
#define PARAM_END ((void *)3)

/* The entry points used. */
typedef struct Hip {
  void *library;
  const char *(*error_string)(HipError e);
  HipError (*device_count)(int *n);
  HipError (*set_device)(int i);
  HipError (*device_name)(char *name, int size, int i);
  HipError (*device_attribute)(int *value, int attribute, int i);
  HipError (*total_memory)(size_t *bytes, int i);
  HipError (*memory_info)(size_t *left, size_t *total);
  HipError (*memory_alloc)(void **p, size_t size);
  HipError (*memory_free)(void *p);
  HipError (*copy_in)(void *to, const void *from, size_t size);
  HipError (*copy_out)(void *to, const void *from, size_t size);
  HipError (*copy_within)(void *to, const void *from, size_t size, void *stream);
  HipError (*module_load)(void **module, const void *image);
  HipError (*module_unload)(void *module);
  HipError (*module_function)(void **f, void *module, const char *name);
  HipError (*function_info)(int *value, int attribute, void *f);
  HipError (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, void *stream, void **args, void **extra);
  HipError (*synchronize)(void);
  HipError (*stream_create)(void **stream, unsigned flags);
  HipError (*stream_destroy)(void *stream);
  HipError (*stream_synchronize)(void *stream);
  HipError (*stream_wait)(void *stream, void *e, unsigned flags);
  HipError (*event_create)(void **e);
  HipError (*event_destroy)(void *e);
  HipError (*event_record)(void *e, void *stream);
  HipError (*event_synchronize)(void *e);
  HipError (*event_elapsed)(float *milliseconds, void *start, void *end);
  HipError (*properties)(void *p, int i); /* may be missing */
} Hip;

/* Name and place of each entry point that must be there. */
typedef struct Entry {
  const char *name;
  size_t offset;
} Entry;
static const Entry entries[] = {
    {"hipGetErrorString", offsetof(Hip, error_string)},
    {"hipGetDeviceCount", offsetof(Hip, device_count)},
    {"hipSetDevice", offsetof(Hip, set_device)},
    {"hipDeviceGetName", offsetof(Hip, device_name)},
    {"hipDeviceGetAttribute", offsetof(Hip, device_attribute)},
    {"hipDeviceTotalMem", offsetof(Hip, total_memory)},
    {"hipMemGetInfo", offsetof(Hip, memory_info)},
    {"hipMalloc", offsetof(Hip, memory_alloc)},
    {"hipFree", offsetof(Hip, memory_free)},
    {"hipMemcpyHtoD", offsetof(Hip, copy_in)},
    {"hipMemcpyDtoH", offsetof(Hip, copy_out)},
    {"hipMemcpyDtoDAsync", offsetof(Hip, copy_within)},
    {"hipModuleLoadData", offsetof(Hip, module_load)},
    {"hipModuleUnload", offsetof(Hip, module_unload)},
    {"hipModuleGetFunction", offsetof(Hip, module_function)},
    {"hipFuncGetAttribute", offsetof(Hip, function_info)},
    {"hipModuleLaunchKernel", offsetof(Hip, launch)},
    {"hipDeviceSynchronize", offsetof(Hip, synchronize)},
    {"hipStreamCreateWithFlags", offsetof(Hip, stream_create)},
    {"hipStreamDestroy", offsetof(Hip, stream_destroy)},
    {"hipStreamSynchronize", offsetof(Hip, stream_synchronize)},
    {"hipStreamWaitEvent", offsetof(Hip, stream_wait)},
    {"hipEventCreate", offsetof(Hip, event_create)},
    {"hipEventDestroy", offsetof(Hip, event_destroy)},
    {"hipEventRecord", offsetof(Hip, event_record)},
    {"hipEventSynchronize", offsetof(Hip, event_synchronize)},
    {"hipEventElapsedTime", offsetof(Hip, event_elapsed)},
};

/* The state of a HIP device. */
typedef struct HipState {
  Hip hip;
  int device;
  void *module, *begin, *end;
  void *stream;                   /* the caller's, NULL: the default one */
  void *beside, *forked, *joined; /* the stream for launches that are beside others, NULL if no kernel is launched so,
                                     and the events that it and the other wait for */
  void **functions;               /* of the module's kernels */
  const Compiled *code;
  unsigned *dynamic; /* dynamic shared bytes of each */
} HipState;

/* Loads the library; returns what is missing, or NULL. */
static const char *load_library(Hip *hip) {
  static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      NULL};
  for (int i = 0; names[i] && !hip->library; i++)
    hip->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!hip->library)
    return "libamdhip64.so is not there: install the ROCm runtime, or use --device=host or sim";
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    void *p = dlsym(hip->library, entries[i].name);
    if (!p)
      return "libamdhip64.so lacks an entry point that ROCm 5 and later have: update the ROCm runtime";
    memcpy((char *)hip + entries[i].offset, &p, sizeof p);
  }
  void *p = dlsym(hip->library, "hipGetDevicePropertiesR0600");
  if (!p)
    p = dlsym(hip->library, "hipGetDeviceProperties");
  memcpy(&hip->properties, &p, sizeof p);
  return NULL;
}

/* STC_OK if `e` is success, else an error that says what `what` was. */
static StcStatus check(Device *d, HipError e, const char *what) {
  if (e == 0)
    return STC_OK;
  const char *text = ((HipState *)d->state)->hip.error_string(e);
  diag_error(d->w->diags, no_loc(), "hip: %s: %s (error %d)", what, text ? text : "unknown error", e);
  return STC_DEVICE;
}

/* An attribute of the device; 0 if it has none such. */
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

/* The device's architecture. Of hipDeviceProp_t only this is used: it holds gcnArchName as characters, somewhere. NULL
 * if it cannot be found. */
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

/* The device's limits. */
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
  return t;
}

/* Loads the runtime and finds the device. hipGetDeviceCount says whether there is one: hipInit's answer without one
 * differs between versions. */
static StcStatus hip_open(Device *d) {
  HipState *s = ARENA_NEW(d->w->arena, HipState);
  d->state = s;
  const char *missing = load_library(&s->hip);
  if (missing)
    return diag_error(d->w->diags, no_loc(), "hip: %s", missing), STC_DEVICE;
  int n = 0;
  s->device = d->index < 0 ? 0 : d->index;
  HipError e = s->hip.device_count(&n);
  if (e == HIP_NO_DEVICE || (e == 0 && n == 0))
    return diag_error(d->w->diags, no_loc(), "hip: the runtime is there, but no GPU: use --device=host or sim"),
           STC_DEVICE;
  StcStatus st = check(d, e, "counting devices");
  if (!st && s->device >= n)
    st = (diag_error(d->w->diags, no_loc(), "hip:%d: there %s %d HIP device%s, numbered from 0", s->device,
                     n == 1 ? "is" : "are", n, n == 1 ? "" : "s"),
          STC_DEVICE);
  if (!st)
    st = check(d, s->hip.set_device(s->device), "using the device");
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
  if (!s || !s->hip.library)
    return;
  if (s->beside)
    s->hip.stream_destroy(s->beside);
  if (s->forked)
    s->hip.event_destroy(s->forked);
  if (s->joined)
    s->hip.event_destroy(s->joined);
  if (s->begin)
    s->hip.event_destroy(s->begin);
  if (s->end)
    s->hip.event_destroy(s->end);
  if (s->module)
    s->hip.module_unload(s->module);
  dlclose(s->hip.library);
}

/* A number of the runtime's interface: a stream that does not wait for the one that is NULL. */
enum { STREAM_NON_BLOCKING = 1 };

/* Makes what launches beside others need. */
static StcStatus make_beside(Device *d) {
  HipState *s = d->state;
  StcStatus st = check(d, s->hip.event_create(&s->forked), "making an event");
  if (!st)
    st = check(d, s->hip.event_create(&s->joined), "making an event");
  return st ? st : check(d, s->hip.stream_create(&s->beside, STREAM_NON_BLOCKING), "making a stream");
}

/* Links a code object, loads it, finds the kernels, makes the events. */
static StcStatus hip_load(Device *d, StcProgram *p, Build *b) {
  HipState *s = d->state;
  const Compiled *code = &b->code;
  StcStatus st = build_artifact(p, b);
  if (st)
    return st;
  int n = code->module->nkernels;
  s->code = code;
  s->functions = ARENA_ARRAY(d->w->arena, void *, n + 1);
  s->dynamic = ARENA_ARRAY(d->w->arena, unsigned, n + 1);
  double start = clock_seconds();
  st = check(d, s->hip.module_load(&s->module, b->bytes), "loading the code object");
  d->load_seconds = clock_seconds() - start;
  for (int i = 0; i < n && !st; i++) {
    s->dynamic[i] = (unsigned)dynamic_shared_bytes(&code->module->kernels[i], code->target);
    st = check(d, s->hip.module_function(&s->functions[i], s->module, code->module->kernels[i].name),
               code->module->kernels[i].name);
  }
  if (!st)
    st = check(d, s->hip.event_create(&s->begin), "making an event");
  if (!st)
    st = check(d, s->hip.event_create(&s->end), "making an event");
  if (!st && launches_beside(code->module))
    st = make_beside(d);
  return st;
}

/* Makes the device the thread's: another plan's may be. */
static StcStatus enter(Device *d) {
  HipState *s = d->state;
  return check(d, s->hip.set_device(s->device), "using the device");
}

/* How much memory the device has. */
static bool hip_room(Device *d, double *left, double *total) {
  size_t l = 0, t = 0;
  bool known = ((HipState *)d->state)->hip.memory_info(&l, &t) == 0;
  *left = (double)l;
  *total = (double)t;
  return known;
}

/* Device memory; NULL if there is not enough of it. */
static StcStatus hip_alloc(Device *d, size_t size, void **memory) {
  HipState *s = d->state;
  StcStatus st = enter(d);
  if (st)
    return st;
  HipError e = s->hip.memory_alloc(memory, size ? size : 1);
  if (e == HIP_OUT_OF_MEMORY)
    return *memory = NULL, STC_OK;
  return check(d, e, "allocating memory");
}

/* Gives device memory back. */
static void hip_release(Device *d, void *memory, size_t size) {
  (void)size;
  if (memory && !enter(d))
    ((HipState *)d->state)->hip.memory_free(memory);
}

/* Copies between host and device go by the default stream; those to and from the caller's begin when that has come to
 * its end. */
static StcStatus finish_user(Device *d) {
  HipState *s = d->state;
  StcStatus st = enter(d);
  return st ? st : s->stream ? check(d, s->hip.stream_synchronize(s->stream), "running the kernels") : STC_OK;
}

/* Host to device. */
static StcStatus hip_put(Device *d, void *to, const void *from, size_t size) {
  StcStatus st = finish_user(d);
  if (st)
    return st;
  return size ? check(d, ((HipState *)d->state)->hip.copy_in(to, from, size), "copying to the device") : STC_OK;
}

/* Device to host. */
static StcStatus hip_fetch(Device *d, void *to, const void *from, size_t size) {
  StcStatus st = finish_user(d);
  if (st)
    return st;
  return size ? check(d, ((HipState *)d->state)->hip.copy_out(to, from, size), "copying from the device") : STC_OK;
}

/* Within the device. */
static StcStatus hip_copy(Device *d, void *to, const void *from, size_t size) {
  HipState *s = d->state;
  return size ? check(d, s->hip.copy_within(to, from, size, s->stream), "copying within the device") : STC_OK;
}

/* What the code object says of kernel `kernel`. */
static bool hip_inspect(Device *d, int kernel, KernelInfo *out) {
  HipState *s = d->state;
  int shared = 0;
  if (s->hip.function_info(&out->registers, FUNC_REGISTERS, s->functions[kernel]) ||
      s->hip.function_info(&out->local, FUNC_LOCAL, s->functions[kernel]) ||
      s->hip.function_info(&shared, FUNC_SHARED, s->functions[kernel]))
    return false;
  out->shared = (int64_t)shared + s->dynamic[kernel];
  return true;
}

/* Lays the arguments out as the kernel expects its kernarg segment: in order, each at a multiple of its size. Returns
 * the bytes used. */
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

/* Hardware x is the program's last dimension. hipModuleLaunchKernel takes the grid in blocks. */
static StcStatus hip_launch(Device *d, const Launch *l) {
  HipState *s = d->state;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  for (int i = 0; i < l->kernel->rank; i++) {
    grid[l->kernel->rank - 1 - i] = (unsigned)l->blocks[i];
    block[l->kernel->rank - 1 - i] = (unsigned)l->kernel->threads[i];
  }
  char kernarg[8 * (l->kernel->nargs + 1)];
  memset(kernarg, 0, sizeof kernarg);
  size_t size = pack_arguments(s->code->module, l->kernel, l->args, kernarg);
  void *extra[] = {PARAM_POINTER, kernarg, PARAM_SIZE, &size, PARAM_END};
  HipError e = s->hip.launch(s->functions[l->index], grid[0], grid[1], grid[2], block[0], block[1], block[2],
                             s->dynamic[l->index], l->beside ? s->beside : s->stream, NULL, extra);
  return e == 0 ? STC_OK : check(d, e, arena_printf(d->w->arena, "launching %s", l->kernel->name));
}

/* The stream for launches beside others waits for all there was so far. */
static StcStatus hip_fork(Device *d) {
  HipState *s = d->state;
  StcStatus st = check(d, s->hip.event_record(s->forked, s->stream), "recording an event");
  return st ? st : check(d, s->hip.stream_wait(s->beside, s->forked, 0), "waiting for an event");
}

/* And the other one for it. */
static StcStatus hip_join(Device *d) {
  HipState *s = d->state;
  StcStatus st = check(d, s->hip.event_record(s->joined, s->beside), "recording an event");
  return st ? st : check(d, s->hip.stream_wait(s->stream, s->joined, 0), "waiting for an event");
}

/* Marks the start in the stream. */
static StcStatus hip_start(Device *d) {
  HipState *s = d->state;
  StcStatus st = enter(d);
  return st ? st : check(d, s->hip.event_record(s->begin, s->stream), "recording an event");
}

/* Waits for all launches; an error in a kernel shows here. */
static StcStatus hip_wait(Device *d) {
  StcStatus st = finish_user(d);
  if (st || ((HipState *)d->state)->stream)
    return st;
  return check(d, ((HipState *)d->state)->hip.synchronize(), "running the kernels");
}

/* Marks the end, waits for it, and reads the device's clock. */
static StcStatus hip_stop(Device *d, double *seconds) {
  HipState *s = d->state;
  float milliseconds = 0;
  StcStatus st = enter(d);
  if (!st)
    st = check(d, s->hip.event_record(s->end, s->stream), "recording an event");
  if (!st)
    st = check(d, s->hip.event_synchronize(s->end), "running the kernels");
  if (!st)
    st = check(d, s->hip.event_elapsed(&milliseconds, s->begin, s->end), "reading the time");
  *seconds = (double)milliseconds * 1e-3;
  return st;
}

/* All that follows goes to the caller's stream, behind all there was so far. */
static StcStatus hip_use_stream(Device *d, void *stream) {
  HipState *s = d->state;
  StcStatus st = check(d, s->hip.set_device(s->device), "using the device");
  if (!st && stream != s->stream)
    st = hip_wait(d);
  if (!st)
    s->stream = stream;
  return st;
}

/* The caller's events. */
static StcStatus hip_wait_event(Device *d, void *event) {
  HipState *s = d->state;
  return check(d, s->hip.stream_wait(s->stream, event, 0), "waiting for an event");
}
static StcStatus hip_record_event(Device *d, void *event) {
  HipState *s = d->state;
  return check(d, s->hip.event_record(event, s->stream), "recording an event");
}

/* A line for one device. */
static void list_device(FILE *to, const Hip *hip, int i) {
  char name[128] = "?", label[32];
  size_t bytes = 0;
  hip->device_name(name, sizeof name, i);
  hip->total_memory(&bytes, i);
  snprintf(label, sizeof label, "hip:%d", i);
  fprintf(to, "%-8s %s, %d compute units, %.1f GiB\n", label, name, attribute(hip, i, ATTR_CORES),
          (double)bytes / 1073741824.0);
}

/* The lines for `stc devices`. */
static void hip_list(FILE *to) {
  Hip hip = {0};
  int n = 0;
  const char *missing = load_library(&hip);
  HipError e = missing ? 0 : hip.device_count(&n);
  if (missing)
    fprintf(to, "%-8s none: %s\n", "hip", missing);
  else if (e != 0 || n == 0)
    fprintf(to, "%-8s none: the runtime says: %s\n", "hip", e ? hip.error_string(e) : "no device");
  for (int i = 0; e == 0 && i < n; i++)
    list_device(to, &hip, i);
  if (hip.library)
    dlclose(hip.library);
}

const DeviceKind device_hip = {
    .name = "hip",
    .help = "an AMD GPU, through libamdhip64.so",
    .arch = "amdgpu",
    .index = "the GPU's number",
    .open = hip_open,
    .close = hip_close,
    .load = hip_load,
    .alloc = hip_alloc,
    .room = hip_room,
    .release = hip_release,
    .put = hip_put,
    .fetch = hip_fetch,
    .copy = hip_copy,
    .use_stream = hip_use_stream,
    .wait_event = hip_wait_event,
    .record_event = hip_record_event,
    .dlpack = 10,
    .inspect = hip_inspect,
    .launch = hip_launch,
    .fork = hip_fork,
    .join = hip_join,
    .start = hip_start,
    .wait = hip_wait,
    .stop = hip_stop,
    .list = hip_list,
};
