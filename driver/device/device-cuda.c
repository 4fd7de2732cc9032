/* driver/device/device-cuda.c: NVIDIA GPUs through the CUDA driver, libcuda.so.1, which is loaded on first use. */
#include "driver/device/code-cache.h"
#include "driver/device/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Numbers from the driver's interface. */
enum {
  NOT_STARTED = 3, /* an error: cuInit was not called */
  ATTR_MAX_THREADS = 1,
  ATTR_BLOCK_X = 2,
  ATTR_GRID_X = 5,
  ATTR_SHARED = 8,
  ATTR_WARP = 10,
  ATTR_CLOCK = 13,
  ATTR_CORES = 16,
  ATTR_MEMORY_CLOCK = 36,
  ATTR_MEMORY_BITS = 37,
  ATTR_CACHE = 38,
  ATTR_THREADS_PER_CORE = 39,
  ATTR_CC_MAJOR = 75,
  ATTR_CC_MINOR = 76,
  ATTR_SHARED_PER_CORE = 81,
  ATTR_REGISTERS_PER_CORE = 82,
  ATTR_REGISTERED_ADDRESS = 91,
  ATTR_SHARED_OPTIN = 97,
  ATTR_FLUSHES = 98,
  LAUNCH_EARLY = 6,       /* an attribute of launches, for "programmatic stream serialization" */
  EARLY_IN_GRAPHS = 12030 /* the first driver whose graphs support it */
};

const char *cuda_words(const Cuda *cu, CuResult e) {
  const char *text = NULL;
  return cu->error_string(e, &text) == 0 && text ? text : "unknown error";
}

StcStatus cuda_check(Device *d, CuResult e, const char *what) {
  if (e == 0)
    return STC_OK;
  const Cuda *cu = &((CudaState *)d->state)->cu;
  const char *name = NULL;
  cu->error_name(e, &name);
  d->refused = arena_printf(d->w->arena, "%s: %s", what, name ? name : "?");
  diag_error(d->w->diags, no_loc(), "cuda: %s: %s (%s)", what, cuda_words(cu, e), name ? name : "?");
  return STC_DEVICE;
}

/* Is `e` success? If not, records the failure without reporting it, as the caller has another way. */
static bool went_well(Device *d, CuResult e, const char *what) {
  const char *name = NULL;
  if (e == 0)
    return true;
  ((CudaState *)d->state)->cu.error_name(e, &name);
  d->refused = arena_printf(d->w->arena, "%s: %s", what, name ? name : "?");
  return false;
}

/* Makes the primary context current. */
static StcStatus use(Device *d) {
  CudaState *s = d->state;
  return cuda_check(d, s->cu.context_set(s->context), "using the context");
}

/* The same without a report; the driver's text for an error; memory that the device copies to by itself. */
static int make_current(Device *d) { return ((CudaState *)d->state)->cu.context_set(((CudaState *)d->state)->context); }
static const char *words(Device *d, int e) { return cuda_words(&((CudaState *)d->state)->cu, e); }
static int host_alloc(Device *d, void **p, size_t size) { return ((CudaState *)d->state)->cu.host_alloc(p, size, 0); }

/* An attribute of the device; 0 if it has no such attribute. */
static int attribute(const Cuda *cu, CuDevice d, int which) {
  int value = 0;
  return cu->device_attribute(&value, which, d) == 0 ? value : 0;
}

/* The newest architecture known to the compiler that the device can run; NULL if there is none. PTX runs on all later
 * devices; PTX for an architecture with an 'a' behind its number, which has more instructions, runs only on devices of
 * that number. */
static const char *choose_cpu(Arena *a, int major, int minor) {
  const char *best = NULL;
  int most = 0, own = major * 10 + minor;
  for (const char *const *c = target_cpus("nvptx"); c && *c; c++) {
    char *end;
    long sm = strncmp(*c, "sm_", 3) == 0 ? strtol(*c + 3, &end, 10) : 0;
    bool runs = sm && (!*end ? sm <= own && sm > most : strcmp(end, "a") == 0 && sm == own);
    if (runs) {
      most = (int)sm;
      best = *c;
    }
  }
  return best ? arena_strdup(a, best) : NULL;
}

/* The device's limits and the figures for the model. Clocks are in kHz; memory transfers twice in each cycle of its
 * clock. */
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
  t.clock = attribute(cu, d, ATTR_CLOCK) * 1e-6;
  t.bandwidth = 2e-6 * attribute(cu, d, ATTR_MEMORY_CLOCK) * attribute(cu, d, ATTR_MEMORY_BITS) / 8;
  t.cache_bytes = attribute(cu, d, ATTR_CACHE);
  return t;
}

/* Starts the driver, which then reads its environment variables. Does nothing if other code in this process has started
 * it. */
static CuResult start(const Cuda *cu) {
  int n;
  if (cu->device_count(&n) == NOT_STARTED)
    code_cache_use();
  return cu->init(0);
}

/* Loads the driver, finds the device, and makes the device's primary context current. */
static StcStatus cuda_open(Device *d) {
  CudaState *s = ARENA_NEW(d->w->arena, CudaState);
  d->state = s;
  s->gpu.check = cuda_check;
  s->gpu.use = use;
  s->gpu.make_current = make_current;
  s->gpu.words = words;
  s->gpu.host_alloc = host_alloc;
  const char *missing = cuda_find_library(s);
  if (missing)
    return diag_error(d->w->diags, no_loc(), "cuda: %s", missing), STC_DEVICE;
  int n = 0, want = d->index < 0 ? 0 : d->index;
  CuResult e = start(&s->cu);
  if (e == GPU_NO_DEVICE)
    return diag_error(d->w->diags, no_loc(), "cuda: the driver is there, but no GPU: use --device=host or sim"),
           STC_DEVICE;
  StcStatus st = cuda_check(d, e, "starting the driver");
  if (!st)
    st = cuda_check(d, s->cu.device_count(&n), "counting devices");
  if (!st && want >= n)
    st = (diag_error(d->w->diags, no_loc(), "cuda:%d: there %s %d CUDA device%s, numbered from 0", want,
                     n == 1 ? "is" : "are", n, n == 1 ? "" : "s"),
          STC_DEVICE);
  if (!st)
    st = cuda_check(d, s->cu.device_get(&s->device, want), "finding the device");
  if (!st)
    st = cuda_check(d, s->cu.context_retain(&s->context, s->device), "making a context");
  if (!st)
    st = use(d);
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

/* Destroys the events of marks and the streams of lanes. */
static void drop_lanes(CudaState *s) {
  for (int i = 0; i < LANES; i++) {
    if (s->marks[i])
      s->gpu.call.event_destroy(s->marks[i]);
    if (s->gpu.lanes[i])
      s->gpu.call.stream_destroy(s->gpu.lanes[i]);
  }
}

/* Unloads all and releases the context. */
static void cuda_close(Device *d) {
  CudaState *s = d->state;
  if (!s || !s->gpu.library)
    return;
  if (s->context) {
    s->cu.context_set(s->context);
    if (s->capture)
      s->gpu.call.stream_destroy(s->capture);
    drop_lanes(s);
    cuda_code_end(d);
    cuda_copies_end(d);
    gpu_drop(d);
    s->cu.context_release(s->device);
  }
  dlclose(s->gpu.library);
}

/* Launches a kernel that need not wait for the end of the launch ahead of it in the stream. */
static int launch_early(Device *d, void *f, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
                        void **args) {
  CuLaunchAttribute early = {.id = LAUNCH_EARLY, .value = 1};
  CuLaunch how = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, stream, &early, 1};
  return ((CudaState *)d->state)->cu.launch_with(&how, f, args, NULL);
}

/* May launches of these kernels begin early: do the kernels wait, and can the driver keep the attribute in a graph? */
static bool may_be_early(const CudaState *s, const Build *b) {
  int version = 0;
  return target_info(b->code.target)->early_launch && s->cu.launch_with && s->cu.driver_version(&version) == 0 &&
         version >= EARLY_IN_GRAPHS;
}

/* Prepares the kernels for loading and makes the events. */
static StcStatus cuda_load(Device *d, StcProgram *p, Build *b) {
  StcStatus st = gpu_prepare(d, &b->code);
  if (!st)
    st = cuda_code_begin(d, p, b);
  ((CudaState *)d->state)->gpu.launch_early = may_be_early(d->state, b) ? launch_early : NULL;
  return st;
}

static StcStatus cuda_launch(Device *d, const KernelLaunch *l) {
  StcStatus st = cuda_need_one(d, l->index);
  return st ? st : gpu_launch(d, l, l->args, NULL);
}

static bool cuda_inspect(Device *d, int kernel, KernelInfo *out) {
  return cuda_need_one(d, kernel) == STC_OK && gpu_inspect(d, kernel, out);
}

/* Numbers of the driver's interface: the capture modes that do not restrict other threads, and one that does not
 * restrict this thread either. */
enum { CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };

/* Makes the stream when it is first needed. */
bool cuda_has_capture(Device *d) {
  CudaState *s = d->state;
  if (!s->cu.capture_begin || use(d))
    return false;
  if (!s->capture && !went_well(d, s->gpu.call.stream_create(&s->capture, 0), "making a stream for a graph"))
    s->capture = NULL;
  return s->capture;
}

/* Has launches go to a stream that records them. */
static bool cuda_record(Device *d) {
  CudaState *s = d->state;
  int mode = d->plain ? CAPTURE_RELAXED : CAPTURE_THREAD_LOCAL;
  if (!cuda_has_capture(d) || !went_well(d, s->cu.capture_begin(s->capture, mode), "beginning a graph"))
    return false;
  s->gpu.stream = s->capture;
  return true;
}

/* The graph of the launches since recording began; NULL if the driver makes none. */
void *cuda_captured(Device *d) {
  CudaState *s = d->state;
  void *graph = NULL;
  const char *before = d->refused;
  s->gpu.stream = s->gpu.user;
  make_current(d);
  bool fine = went_well(d, s->cu.capture_end(s->capture, &graph), "ending a graph");
  d->refused = before ? before : d->refused; /* the first refusal is the cause of the second */
  return fine ? graph : NULL;
}

/* The same for launches that replace recorded ones: if `*kept` is an executable graph of the same kernels, updates it
 * to the new graph; else replaces it by a new executable graph. */
static bool cuda_renew(Device *d, void **kept) {
  CudaState *s = d->state;
  void *graph = cuda_captured(d);
  CuUpdate result;
  if (!graph)
    return false;
  bool made = *kept && s->cu.graph_update(*kept, graph, &result) == 0;
  if (!made && *kept)
    s->cu.executable_destroy(*kept);
  if (!made)
    *kept = NULL;
  made = made || s->cu.graph_instantiate(kept, graph, 0) == 0;
  if (!made)
    *kept = NULL;
  s->cu.graph_destroy(graph);
  return made;
}

static bool cuda_end_record(Device *d, void **kept) {
  CudaState *s = d->state;
  void *graph = cuda_captured(d);
  *kept = NULL;
  if (!graph)
    return false;
  bool made = went_well(d, s->cu.graph_instantiate(kept, graph, 0), "making a graph ready");
  if (!made || !cuda_steps_keep(d, *kept, graph, cuda_module(d)))
    s->cu.graph_destroy(graph);
  return made;
}

/* Can the driver update graphs? */
static bool cuda_renews(Device *d) { return ((CudaState *)d->state)->cu.graph_update; }

/* Has launches go to the recording stream without a graph of its own: they become a part of another device's graph. */
static StcStatus cuda_divert(Device *d, bool on) {
  CudaState *s = d->state;
  if (on && !cuda_has_capture(d))
    return STC_DEVICE;
  s->gpu.stream = on ? s->capture : s->gpu.user;
  return STC_OK;
}

/* Launches the graph. */
static StcStatus cuda_replay(Device *d, void *kept) {
  CudaState *s = d->state;
  StcStatus st = use(d);
  return st ? st : cuda_check(d, s->cu.graph_launch(kept, s->gpu.user), "launching a graph");
}

/* Frees the graph. */
static void cuda_forget(Device *d, void *kept) {
  cuda_steps_drop(d, kept);
  ((CudaState *)d->state)->cu.executable_destroy(kept);
}

/* Numbers of the driver's interface: the attributes for the kind of memory at a pointer and for its device; a kind of
 * memory. */
enum { POINTER_MEMORY_TYPE = 2, POINTER_DEVICE = 9, MEMORY_HOST = 1 };

/* Does the driver know this memory, and does it belong to this device or to all? */
static bool cuda_holds(Device *d, const void *memory) {
  CudaState *s = d->state;
  int type = 0, device = s->device;
  void *p = (void *)(uintptr_t)memory;
  if (s->cu.context_set(s->context) || s->cu.pointer_attribute(&type, POINTER_MEMORY_TYPE, p))
    return false;
  s->cu.pointer_attribute(&device, POINTER_DEVICE, p);
  return type != MEMORY_HOST && device == s->device;
}

/* ---------------------------------------------------------------- from device to device */

/* Numbers of the driver's interface: the event is not reached yet; access is enabled already; device memory; managed
 * memory. */
enum { CU_NOT_READY = 600, CU_ACCESS_ENABLED = 704, CU_MEMORY_DEVICE = 2, CU_MEMORY_UNIFIED = 4 };

/* Can `d` send to `other`? If the hardware allows it, they access each other's memory; else the driver copies. */
static bool cuda_near(Device *d, Device *other) {
  CudaState *s = d->state, *o = other->state;
  int can = 0;
  if (!s->cu.copy_peer || !o->cu.copy_peer || use(d))
    return false;
  if (s->context == o->context || s->cu.can_access(&can, s->device, o->device) || !can)
    return true;
  CuResult e = s->cu.enable_access(o->context, 0);
  return e == 0 || e == CU_ACCESS_ENABLED;
}

/* Can kernels of `d` access the memory of `other`? */
static bool cuda_reaches(Device *d, Device *other) {
  CudaState *s = d->state, *o = other->state;
  int can = 0;
  return s->context == o->context || (s->cu.can_access(&can, s->device, o->device) == 0 && can && cuda_near(d, other));
}

/* Puts the lane's stream in *out; makes it on first use. Blocks in lanes of lower numbers go first. Priorities are
 * negative numbers, which the driver clamps to its range. */
static StcStatus lane_stream(Device *d, int lane, void **out) {
  CudaState *s = d->state;
  StcStatus st = use(d);
  if (!st && lane != LANE_MAIN && !s->gpu.lanes[lane])
    st = cuda_check(d, s->cu.stream_create(&s->gpu.lanes[lane], GPU_STREAM_NON_BLOCKING, lane - LANES),
                    "making a stream");
  *out = lane == LANE_MAIN ? s->gpu.stream : s->gpu.lanes[lane];
  return st;
}

/* Records the event of the lane. */
static StcStatus cuda_mark(Device *d, int lane) {
  CudaState *s = d->state;
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  if (!st && !s->marks[lane])
    st = cuda_check(d, s->gpu.call.event_create(&s->marks[lane], GPU_EVENT_DISABLE_TIMING), "making an event");
  return st ? st : cuda_check(d, s->gpu.call.event_record(s->marks[lane], stream), "recording an event");
}

/* Has the lane wait for the other lane's event, unless both use the same stream, which does its work in the order in
 * which it was given. This relies on one thread of the host that gives both their work in the order of marks and waits,
 * as is the case for parts that take turns; parts with threads of their own have a context or a stream of their own. */
static StcStatus cuda_follow(Device *d, int lane, Device *other, int of) {
  CudaState *s = d->state, *o = other->state;
  bool same =
      lane == of && (d == other || (lane == LANE_MAIN && s->context == o->context && s->gpu.stream == o->gpu.stream));
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  return st || same ? st : cuda_check(d, s->gpu.call.stream_wait(stream, o->marks[of], 0), "waiting for an event");
}

/* Copies a three-dimensional box of memory by one call. The driver refuses copies that name both contexts while
 * launches are recorded, in every mode; it accepts copies that use only addresses, which take the same path. */
static StcStatus send_box(Device *d, int lane, Device *to, const Sending *x) {
  CudaState *s = d->state, *t = to->state;
  bool recorded = s->capture && s->gpu.stream == s->capture, flat = x->count[0] == 1 && x->count[1] == 1;
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  if (st)
    return st;
  if (flat && !recorded)
    return cuda_check(d, s->cu.copy_peer(x->to, t->context, x->from, s->context, (size_t)x->n, stream),
                      "copying to another device");
  if (flat && !d->plain)
    return cuda_check(d, s->gpu.call.copy_within(x->to, x->from, (size_t)x->n, stream),
                      "copying to another device in a graph");
  int64_t rows[2] = {x->count[1] > 1 ? x->from_stride[1] / x->from_stride[0] : x->count[0],
                     x->count[1] > 1 ? x->to_stride[1] / x->to_stride[0] : x->count[0]};
  CuPeerCopy copy = {.from = {.memory_type = recorded ? CU_MEMORY_UNIFIED : CU_MEMORY_DEVICE,
                              .device = x->from,
                              .context = recorded ? NULL : s->context,
                              .pitch = (size_t)(flat ? x->n : x->from_stride[0]),
                              .height = (size_t)rows[0]},
                     .to = {.memory_type = recorded ? CU_MEMORY_UNIFIED : CU_MEMORY_DEVICE,
                            .device = x->to,
                            .context = recorded ? NULL : t->context,
                            .pitch = (size_t)(flat ? x->n : x->to_stride[0]),
                            .height = (size_t)rows[1]},
                     .width = (size_t)x->n,
                     .height = (size_t)x->count[0],
                     .depth = (size_t)x->count[1]};
  return recorded ? cuda_check(d, s->cu.copy_3d(&copy, stream), "copying rows to another device in a graph")
                  : cuda_check(d, s->cu.copy_peer_3d(&copy, stream), "copying to another device");
}

/* Copies such boxes one after the other. */
static StcStatus cuda_send(Device *d, int lane, Device *to, const Sending *x) {
  StcStatus s = STC_OK;
  Sending box = *x;
  for (int64_t i = 0; i < x->count[2] && !s; i++) {
    box.from = (const char *)x->from + i * x->from_stride[2];
    box.to = (char *)x->to + i * x->to_stride[2];
    s = send_box(d, lane, to, &box);
  }
  return s;
}

/* Copies bytes to or from this computer's memory. */
static StcStatus cuda_carry(Device *d, int lane, void *to, const void *from, size_t size, bool out) {
  CudaState *s = d->state;
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  if (st || !size)
    return st;
  return out ? cuda_check(d, s->gpu.call.copy_out_async(to, from, size, stream), "copying from the device")
             : cuda_check(d, s->cu.copy_in_async(to, from, size, stream), "copying to the device");
}

/* Numbers of the driver's interface: pinned memory for all contexts. */
enum { REGISTER_PORTABLE = 1 };

/* Pins memory; the other function unpins it. */
static bool cuda_pin(Device *d, void *memory, size_t size) {
  CudaState *s = d->state;
  return s->gpu.call.copy_out_async && !use(d) && s->cu.host_register(memory, size, REGISTER_PORTABLE) == 0;
}
static void cuda_unpin(Device *d, void *memory) {
  CudaState *s = d->state;
  if (!make_current(d))
    s->cu.host_unregister(memory);
}

/* An error in a kernel before the mark is reported here. */
static StcStatus cuda_await(Device *d, int lane) {
  CudaState *s = d->state;
  StcStatus st = use(d);
  return st || !s->marks[lane] ? st
                               : cuda_check(d, s->gpu.call.event_synchronize(s->marks[lane]), "running the kernels");
}

/* Tells without waiting whether the mark is reached. */
static StcStatus cuda_reached(Device *d, int lane, bool *yes) {
  CudaState *s = d->state;
  StcStatus st = use(d);
  CuResult e = st || !s->marks[lane] ? 0 : s->cu.event_query(s->marks[lane]);
  *yes = e != CU_NOT_READY;
  return st || !*yes ? st : cuda_check(d, e, "running the kernels");
}

/* Writes the identifier of the GPU. */
static bool cuda_identity(Device *d, unsigned char id[DEVICE_IDENTITY]) {
  CudaState *s = d->state;
  return s->cu.copy_peer && s->cu.device_uuid(id, s->device) == 0;
}

/* ---------------------------------------------------------------- from process to process */

/* Number of the driver's interface: opening memory of another device also enables access to it. */
enum { KEY_ENABLES_ACCESS = 1 };

/* Makes the key to memory, if streams can use flags in pinned memory at the addresses of this process. */
static bool cuda_share(Device *d, void *memory, unsigned char key[DEVICE_KEY]) {
  CudaState *s = d->state;
  CuKey k;
  bool can = s->cu.key_get && s->cu.copy_peer && !use(d) && attribute(&s->cu, s->device, ATTR_REGISTERED_ADDRESS) &&
             s->cu.key_get(&k, memory) == 0;
  if (can)
    memcpy(key, k.bytes, sizeof k.bytes);
  return can;
}

static void *cuda_open_key(Device *d, const unsigned char key[DEVICE_KEY]) {
  CudaState *s = d->state;
  CuKey k;
  void *memory = NULL;
  memcpy(k.bytes, key, sizeof k.bytes);
  return s->cu.key_get && !use(d) && s->cu.key_open(&memory, k, KEY_ENABLES_ACCESS) == 0 ? memory : NULL;
}

static void cuda_close_key(Device *d, void *memory) {
  CudaState *s = d->state;
  if (!make_current(d))
    s->cu.key_close(memory);
}

/* Sets the flag after all writes of the lane, so that whoever sees the flag sees these writes. */
static StcStatus cuda_post(Device *d, int lane, void *flag, uint32_t value) {
  CudaState *s = d->state;
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  return st ? st : cuda_check(d, s->cu.value_write(stream, flag, value, 0), "setting a flag");
}

/* Number of the driver's interface: after a wait with this flag, all writes by others to the device's memory before the
 * flag was set are visible. Only some devices need it; they report that they support it. */
enum { WAIT_FLUSHES = 1 << 30 };

/* The wait compares numbers by their difference, so they may wrap around. */
static StcStatus cuda_heed(Device *d, int lane, void *flag, uint32_t value) {
  CudaState *s = d->state;
  void *stream;
  StcStatus st = lane_stream(d, lane, &stream);
  if (!st && !s->flushes)
    s->flushes = attribute(&s->cu, s->device, ATTR_FLUSHES) ? 1 : -1;
  return st ? st
            : cuda_check(d, s->cu.value_wait(stream, flag, value, s->flushes > 0 ? WAIT_FLUSHES : 0),
                         "waiting for a flag");
}

/* Prints a line for one device. */
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

/* The number of devices. */
static int cuda_count(void) {
  CudaState s = {0};
  int n = 0;
  if (cuda_find_library(&s) || start(&s.cu) || s.cu.device_count(&n))
    n = 0;
  if (s.gpu.library)
    dlclose(s.gpu.library);
  return n;
}

/* Prints the lines for `stc devices`. */
static void cuda_list(FILE *to) {
  CudaState s = {0};
  int n = 0;
  const char *missing = cuda_find_library(&s);
  Cuda cu = s.cu;
  CuResult e = missing ? 0 : start(&cu);
  if (!missing && e == 0)
    e = cu.device_count(&n);
  if (missing)
    fprintf(to, "%-8s none: %s\n", "cuda", missing);
  else if (e != 0 || n == 0)
    fprintf(to, "%-8s none: the driver says: %s\n", "cuda", e ? cuda_words(&cu, e) : "no device");
  for (int i = 0; i < n; i++)
    list_device(to, &cu, i);
  if (s.gpu.library)
    dlclose(s.gpu.library);
}

const DeviceKind device_cuda = {
    .name = "cuda",
    .help = "an NVIDIA GPU, through libcuda.so.1",
    .arch = "nvptx",
    .index = "the GPU's number",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .need = cuda_need,
    GPU_DEVICE,
    .copies = cuda_copies,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .circle_step = cuda_circle_step,
    .circle_new = cuda_circle_new,
    .circle_free = cuda_circle_free,
    .holds = cuda_holds,
    .near = cuda_near,
    .reaches = cuda_reaches,
    .mark = cuda_mark,
    .follow = cuda_follow,
    .send = cuda_send,
    .stage_gather = gpu_stage_gather,
    .carry = cuda_carry,
    .await = cuda_await,
    .reached = cuda_reached,
    .stream = lane_stream,
    .identity = cuda_identity,
    .share = cuda_share,
    .open_key = cuda_open_key,
    .close_key = cuda_close_key,
    .post = cuda_post,
    .heed = cuda_heed,
    .dlpack = 2,
    .record = cuda_record,
    .end_record = cuda_end_record,
    .shifts = cuda_shifts,
    .shift = cuda_shift,
    .renews = cuda_renews,
    .renew = cuda_renew,
    .replay = cuda_replay,
    .divert = cuda_divert,
    .forget = cuda_forget,
    .loops = &cuda_loops,
    .inspect = cuda_inspect,
    .launch = cuda_launch,
    .count = cuda_count,
    .list = cuda_list,
};
