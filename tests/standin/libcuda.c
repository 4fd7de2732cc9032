/* tests/standin/libcuda.c: stands in for NVIDIA's driver where there is no NVIDIA GPU. It computes nothing: memory is
 * 0 until it is copied to. It checks the order of the calls and
 * their arguments, a launch's against the PTX: pointers, block, grid. A mistake makes the call fail with
 * CUDA_ERROR_INVALID_VALUE and writes a line "fault: ..." to stderr and to the log.
 * Launches on a stream that captures are kept; launching the graph that they become logs them as launches.
 *
 * The address of standin_stream is a stream as a caller of stc might have one: lines of launches in it begin with
 * "user".
 *
 * STC_STANDIN_LOG=FILE      where a line for each call is appended; launches in the stream that waits for no other
 *                           begin with "beside"
 * STC_STANDIN_ROOM=BYTES    what it says is free, instead of a GiB
 * STC_STANDIN_FAIL=CALL     the call that fails with error 719, for example cuGraphInstantiateWithFlags; CALL+N: each
 *                           time after N that do not
 * STC_STANDIN_IPC=1         processes may open each other's memory, and streams wait for flags, with the host; `lost`:
 *                           no flag is ever set; `slow`: closing such memory takes three seconds
 * STC_STANDIN_FLUSH=1       waits for flags can bring in what other devices have written, and must
 * STC_STANDIN_BREAK=N       launch number N breaks the context: until all have let it go, allocating, launching and
 *                           waiting fail
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILED = 719 };
enum {
  MAX_ALLOCATIONS = 256,
  MAX_KERNELS = 256,
  MAX_ARGS = 32,
  MAX_EVENTS = 512,
  MAX_MODULES = 16,
  MAX_GRAPHS = 16,
  MAX_STREAMS = 128,
  MAX_CAPTORS = 4,
  MAX_OUT = 16,
  MAX_NODES = 4096
};

/* A kernel as the PTX declares it. */
typedef struct Kernel {
  int module;
  char name[128];
  int nargs;
  int size[MAX_ARGS];
  bool pointer[MAX_ARGS];
  unsigned max[3];
} Kernel;
/* Memory handed out. copied: the number of the last copy within the device that went there. file: that it is in, where
 * others may open it, 0: none; foreign: it is another process's. */
typedef struct Allocation {
  char *p;
  size_t size;
  int copied, file;
  bool foreign;
} Allocation;
/* A stream's part in a capture: is it in, by its origin or a wait; what was put into it, and how much of that another
 * stream of the capture has waited for. */
typedef struct Capture {
  bool in;
  int made, joined;
} Capture;
/* A stream that launches are captured on. */
typedef struct Captor {
  bool used;
  Capture capture;
} Captor;
/* A stream for launches beside others, of device number `current`. It has waited for the first `seen` of the launches
 * in the main one, and for the first `copies` of the copies; `open`: it has launches that the main one has not waited
 * for; `sends`: it has copies to another device that it has not. */
typedef struct Stream {
  bool used, open, sends;
  int seen, copies, current;
  Capture capture;
} Stream;
/* An event. Recorded in stream `beside`, or in the other (NULL) after `front` launches and `copies` copies; `outs`:
 * after so many copies to the host. */
typedef struct Event {
  bool used;
  Stream *beside;
  int front, current, copies, outs;
  Capture *capture; /* of the stream that it was recorded in while that was captured; NULL: it was not */
  int made;
} Event;
/* A copy to the host in a stream, number `number`. It is made when somebody waits for an event behind it. */
typedef struct Out {
  char *to;
  Allocation *from;
  uint64_t at;
  size_t size;
  Stream *stream;
  int number;
} Out;
/* Launches kept, as the lines that the log gets. */
typedef struct Graph {
  bool used;
  int n;
  char *lines[MAX_NODES];
} Graph;

/* The devices, 7 and, where STC_STANDIN_DEVICES is 2, 8; the contexts of both. */
enum { FIRST_DEVICE = 7, MOST_DEVICES = 2 };
static char contexts[MOST_DEVICES];

/* All devices together, in the state that the calls have brought them to. current: the current context's device, from 1
 * on; modules: the same of the context that each was loaded in, 0: it is none. */
static struct {
  bool started, capturing, broken, invalid; /* invalid: what is captured */
  Captor captors[MAX_CAPTORS], *origin;
  int current;
  int launches, front; /* front: those that are not beside others */
  Stream beside[MAX_STREAMS];
  int modules[MAX_MODULES];
  Event events[MAX_EVENTS];
  int retained, nkernels;
  Kernel kernels[MAX_KERNELS];
  Allocation allocations[MAX_ALLOCATIONS], pinned[MAX_OUT];
  int copies, outs;
  Out out[MAX_OUT]; /* from NULL: none */
  Graph graphs[MAX_GRAPHS];
  Graph *captured;
  _Atomic uint32_t *flag; /* that a stream waits for, with STC_STANDIN_IPC=lost, and its value */
  uint32_t value;
} rt;

/* The caller's stream. */
char standin_stream;

/* Is `stream` one that launches in order may go to while nothing is captured? */
static bool is_main(const void *stream) { return !stream || stream == &standin_stream; }

/* The stream for launches beside others that `stream` is, or NULL. */
static Stream *beside_stream(void *stream) {
  Stream *s = stream;
  return s >= rt.beside && s < rt.beside + MAX_STREAMS && s->used ? s : NULL;
}

/* ---------------------------------------------------------------- threads */

/* As with the driver, several threads may call at once: what takes or gives back one of the things in `rt` begins with
 * ALONE and runs on its own. */
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *enter(void) { return pthread_mutex_lock(&alone), &alone; }
static void leave(pthread_mutex_t **m) { pthread_mutex_unlock(*m); }
#define ALONE __attribute__((cleanup(leave))) pthread_mutex_t *entered = enter()

/* ---------------------------------------------------------------- log and faults */

/* Appends a line to the log. */
static void write_line(const char *prefix, const char *line) {
  const char *path = getenv("STC_STANDIN_LOG");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (!f)
    return;
  fprintf(f, "%s%s\n", prefix, line);
  fclose(f);
}

/* Logs a call. */
__attribute__((format(printf, 1, 2))) static void call(const char *fmt, ...) {
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  write_line("", line);
}

/* Reports a mistake of the caller. */
__attribute__((format(printf, 1, 2))) static int fault(const char *fmt, ...) {
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  fprintf(stderr, "standin: fault: %s\n", line);
  write_line("fault: ", line);
  return INVALID_VALUE;
}

/* Is `name` the call that is to fail, now? */
static bool to_fail(const char *name) {
  static int done;
  const char *wanted = getenv("STC_STANDIN_FAIL");
  size_t n = strlen(name);
  if (!wanted || strncmp(wanted, name, n) != 0 || (wanted[n] && wanted[n] != '+'))
    return false;
  if (wanted[n] && done < atoi(wanted + n + 1))
    return done++, false;
  return done = 0, true;
}

/* ---------------------------------------------------------------- devices and errors */

int cuInit(unsigned flags) {
  ALONE;
  return rt.started = true, flags ? fault("cuInit: flags") : SUCCESS;
}
int cuGetErrorName(int e, const char **name) {
  return *name = e == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_INVALID_VALUE", SUCCESS;
}
int cuGetErrorString(int e, const char **text) {
  return *text = e == LAUNCH_FAILED ? "unspecified launch failure" : "invalid argument", SUCCESS;
}
/* How many devices there are; is `d` one? */
static int devices(void) { return getenv("STC_STANDIN_DEVICES") ? MOST_DEVICES : 1; }
static bool is_device(int d) { return d >= FIRST_DEVICE && d < FIRST_DEVICE + devices(); }
/* Is it a device's context? */
static bool is_context(const void *context) { return context == &contexts[0] || context == &contexts[1]; }

int cuDeviceGetCount(int *n) { return *n = devices(), rt.started ? SUCCESS : fault("cuDeviceGetCount before cuInit"); }
int cuDeviceGet(int *d, int i) { return *d = FIRST_DEVICE + i, is_device(*d) ? SUCCESS : fault("cuDeviceGet(%d)", i); }
int cuDeviceGetName(char *name, int size, int d) {
  return snprintf(name, (size_t)size, "Stand-in"), is_device(d) ? SUCCESS : fault("cuDeviceGetName of no device");
}
int cuDeviceTotalMem_v2(size_t *bytes, int d) {
  return *bytes = (size_t)1 << 30, is_device(d) ? SUCCESS : fault("cuDeviceTotalMem of no device");
}

/* Can devices wait for what others have written to their memory? */
static bool flushes(void) { return getenv("STC_STANDIN_FLUSH") != NULL; }

/* The limits of an sm_90. */
int cuDeviceGetAttribute(int *value, int attribute, int d) {
  static const int table[][2] = {{1, 1024},     {2, 1024},  {3, 1024},      {4, 64},     {5, 2147483647},
                                 {6, 65535},    {7, 65535}, {8, 49152},     {10, 32},    {13, 1980000},
                                 {36, 3201000}, {37, 6144}, {38, 52428800}, {16, 4},     {39, 2048},
                                 {75, 9},       {76, 0},    {81, 233472},   {82, 65536}, {97, 232448}};
  *value = 0;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i][0] == attribute)
      *value = table[i][1];
  if (attribute == 91)
    *value = getenv("STC_STANDIN_IPC") != NULL;
  if (attribute == 98)
    *value = flushes();
  return is_device(d) ? SUCCESS : fault("cuDeviceGetAttribute of no device");
}

/* Processes that are told so by STC_STANDIN_GPU have another one each. */
int cuDeviceGetUuid(unsigned char id[16], int d) {
  const char *gpu = getenv("STC_STANDIN_GPU");
  memset(id, gpu ? gpu[0] : 0, 16);
  id[15] = (unsigned char)d;
  return is_device(d) ? SUCCESS : fault("cuDeviceGetUuid of no device");
}

int cuDevicePrimaryCtxRetain(void **context, int d) {
  ALONE;
  rt.retained++;
  *context = &contexts[d == FIRST_DEVICE ? 0 : 1];
  return is_device(d) ? SUCCESS : fault("cuDevicePrimaryCtxRetain of no device");
}

int cuDevicePrimaryCtxRelease_v2(int d) {
  ALONE;
  (void)d;
  if (rt.retained == 1)
    rt.broken = false;
  return rt.retained-- > 0 ? SUCCESS : fault("cuDevicePrimaryCtxRelease of what is not retained");
}

int cuCtxSetCurrent(void *context) {
  ALONE;
  rt.current = context == &contexts[1] ? 2 : 1;
  return is_context(context) ? SUCCESS : fault("cuCtxSetCurrent of no context");
}

int cuCtxGetDevice(int *d) { return *d = FIRST_DEVICE + rt.current - 1, SUCCESS; }

int cuCtxSynchronize(void) {
  call("cuCtxSynchronize");
  if (rt.capturing)
    return fault("cuCtxSynchronize while a stream captures");
  return rt.broken || to_fail("cuCtxSynchronize") ? LAUNCH_FAILED : SUCCESS;
}

/* ---------------------------------------------------------------- memory */

/* The allocation that `size` bytes from p on lie in, or NULL. */
static Allocation *find(uint64_t p, size_t size) {
  for (int i = 0; i < MAX_ALLOCATIONS; i++) {
    Allocation *a = &rt.allocations[i];
    uint64_t start = (uint64_t)(uintptr_t)a->p;
    if (a->p && p >= start && p < start + a->size && size <= start + a->size - p)
      return a;
  }
  return NULL;
}

int cuMemGetInfo_v2(size_t *left, size_t *total) {
  const char *room = getenv("STC_STANDIN_ROOM");
  *left = *total = room ? strtoull(room, NULL, 10) : (size_t)1 << 30;
  return SUCCESS;
}

/* Zeros; if others may open them, in a file. */
static char *new_memory(size_t size, int *file) {
  *file = getenv("STC_STANDIN_IPC") ? memfd_create("stand-in", MFD_CLOEXEC) : 0;
  if (!*file)
    return calloc(1, size);
  void *p = ftruncate(*file, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Its return. */
static void drop_memory(Allocation *a) {
  if (a->file)
    munmap(a->p, a->size), close(a->file);
  else
    free(a->p);
  a->p = NULL;
}

int cuMemAlloc_v2(uint64_t *p, size_t size) {
  ALONE;
  call("cuMemAlloc %zu", size);
  if (rt.broken)
    return LAUNCH_FAILED;
  if (rt.capturing)
    return fault("cuMemAlloc while a stream captures");
  for (int i = 0; i < MAX_ALLOCATIONS && size; i++) {
    if (rt.allocations[i].p)
      continue;
    rt.allocations[i] = (Allocation){.size = size};
    rt.allocations[i].p = new_memory(size, &rt.allocations[i].file);
    *p = (uint64_t)(uintptr_t)rt.allocations[i].p;
    return *p ? SUCCESS : OUT_OF_MEMORY;
  }
  return OUT_OF_MEMORY;
}

/* Are values of the allocation on their way to the host? */
static bool is_going_out(const Allocation *a) {
  for (int i = 0; i < MAX_OUT; i++)
    if (rt.out[i].from == a)
      return true;
  return false;
}

int cuMemFree_v2(uint64_t p) {
  ALONE;
  Allocation *a = find(p, 1);
  call("cuMemFree");
  if (!a || (uint64_t)(uintptr_t)a->p != p || a->foreign)
    return fault("cuMemFree of what cuMemAlloc did not give");
  if (is_going_out(a))
    return fault("cuMemFree of what is on its way out");
  if (a->file && flock(a->file, LOCK_EX | LOCK_NB))
    return fault("cuMemFree of what another process has open");
  drop_memory(a);
  return SUCCESS;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  if (!find(to, size) || rt.capturing)
    return fault("cuMemcpyHtoD of %zu bytes", size);
  memcpy((void *)(uintptr_t)to, from, size);
  return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  if (!find(from, size) || rt.capturing)
    return fault("cuMemcpyDtoH of %zu bytes", size);
  memcpy(to, (void *)(uintptr_t)from, size);
  return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  if (!is_main(stream) || !find(to, size) || !find(from, size) || (to < from + size && from < to + size))
    return fault("cuMemcpyDtoDAsync of %zu bytes", size);
  if (is_going_out(find(to, size)))
    return fault("cuMemcpyDtoDAsync over what is on its way out");
  if (to_fail("cuMemcpyDtoDAsync"))
    return LAUNCH_FAILED;
  find(to, size)->copied = ++rt.copies;
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
  call("%scopy", stream ? "user " : "");
  return SUCCESS;
}

/* Memory of the host that the device copies to by itself. It holds nonsense until a copy is there. */
int cuMemHostAlloc(void **p, size_t size, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_OUT && size && !flags && !to_fail("cuMemHostAlloc"); i++)
    if (!rt.pinned[i].p) {
      rt.pinned[i] = (Allocation){.p = aligned_alloc(4096, (size / 4096 + 1) * 4096), .size = size};
      memset(rt.pinned[i].p, 0x5a, size);
      return *p = rt.pinned[i].p, SUCCESS;
    }
  return OUT_OF_MEMORY;
}

int cuMemFreeHost(void *p) {
  ALONE;
  for (int i = 0; i < MAX_OUT; i++)
    if (p && rt.pinned[i].p == p)
      return free(p), rt.pinned[i].p = NULL, SUCCESS;
  return fault("cuMemFreeHost of what cuMemHostAlloc did not give");
}

/* Memory that is the caller's, whole pages. */
int cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
  ALONE;
  if (!p || (uintptr_t)p % 4096 || !size || size % 4096 || flags != 1)
    return fault("cuMemHostRegister of %zu bytes at %p", size, p);
  for (int i = 0; i < MAX_OUT && !to_fail("cuMemHostRegister"); i++)
    if (!rt.pinned[i].p)
      return rt.pinned[i] = (Allocation){.p = p, .size = size}, call("pin %zu", size), SUCCESS;
  return OUT_OF_MEMORY;
}
int cuMemHostUnregister(void *p) {
  ALONE;
  for (int i = 0; i < MAX_OUT; i++)
    if (p && rt.pinned[i].p == p)
      return rt.pinned[i].p = NULL, SUCCESS;
  return fault("cuMemHostUnregister of what was not registered");
}

/* Do `size` bytes from p on lie in it? */
static bool is_within(const Allocation *a, const char *p, size_t size) {
  return a->p && p >= a->p && p < a->p + a->size && size <= (size_t)(a->p + a->size - p);
}

/* To pinned memory; to other memory of the host the copy is made before the call returns. */
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  ALONE;
  Allocation *a = find(from, size);
  Stream *s = beside_stream(stream);
  bool room = false;
  call("cuMemcpyDtoHAsync %zu", size);
  for (int i = 0; i < MAX_OUT; i++)
    room |= is_within(&rt.pinned[i], to, size);
  if (!a || !s || rt.capturing)
    return fault("cuMemcpyDtoHAsync of %zu bytes", size);
  if (s->copies < a->copied)
    return fault("cuMemcpyDtoHAsync does not wait for what is copied there");
  if (to_fail("cuMemcpyDtoHAsync_v2"))
    return LAUNCH_FAILED;
  if (!room)
    return memcpy(to, (void *)(uintptr_t)from, size), SUCCESS;
  for (int i = 0; i < MAX_OUT; i++)
    if (!rt.out[i].from)
      return rt.out[i] = (Out){to, a, from, size, s, ++rt.outs}, SUCCESS;
  return fault("more copies to the host than the stand-in keeps");
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  ALONE;
  Stream *s = beside_stream(stream);
  call("%scuMemcpyHtoDAsync %zu", s ? "beside " : "", size);
  if (!s || !find(to, size) || rt.capturing || s->current != rt.current)
    return fault("cuMemcpyHtoDAsync of %zu bytes", size);
  memcpy((void *)(uintptr_t)to, from, size);
  s->open = true;
  return SUCCESS;
}

/* From one device to another, which both are the one there is. */
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  return *can = 1, device == peer ? fault("cuDeviceCanAccessPeer of a device and itself") : SUCCESS;
}
int cuCtxEnablePeerAccess(void *context, unsigned flags) {
  return !is_context(context) || context == &contexts[rt.current - 1] || flags ? fault("cuCtxEnablePeerAccess")
                                                                               : SUCCESS;
}

/* The stream that launches are captured on that `stream` is, or NULL. */
static Captor *captor(void *stream) {
  Captor *c = stream;
  return c >= rt.captors && c < rt.captors + MAX_CAPTORS && c->used ? c : NULL;
}

/* What the stream has in captures, NULL: it is none for that. */
static Capture *capture_of(void *stream) {
  Captor *c = captor(stream);
  Stream *b = beside_stream(stream);
  return c ? &c->capture : b ? &b->capture : NULL;
}

/* Notes that something is put into the stream. */
static void note_capture(void *stream) {
  Capture *c = rt.capturing ? capture_of(stream) : NULL;
  if (c)
    c->made++;
}

/* The stream waits for the event: both are of one capture, or none is. False: it is neither. */
static bool wait_captured(void *stream, const Event *e) {
  Capture *c = capture_of(stream);
  if (!rt.capturing || !c)
    return true;
  if (!e->capture)
    return !c->in;
  c->in = true;
  c->made++;
  if (e->capture != c && e->capture->joined < e->made)
    e->capture->joined = e->made;
  return true;
}

/* Has the stream that began the capture waited for all others that are in it? Ends it for them. */
static bool all_joined(void) {
  bool all = true;
  for (int i = 0; i < MAX_STREAMS + MAX_CAPTORS; i++) {
    Capture *c = i < MAX_STREAMS ? &rt.beside[i].capture : &rt.captors[i - MAX_STREAMS].capture;
    all = all && (!c->in || c == &rt.origin->capture || c->joined == c->made);
    *c = (Capture){0};
  }
  for (int i = 0; i < MAX_EVENTS; i++)
    rt.events[i].capture = NULL;
  return all;
}

/* Makes the launch, or adds it to the graph that is being captured. */
static int keep_launch(const char *line) {
  if (!rt.capturing)
    return call("%s", line), SUCCESS;
  if (rt.captured->n == MAX_NODES)
    return fault("more launches in a graph than the stand-in keeps");
  rt.captured->lines[rt.captured->n++] = strdup(line);
  return SUCCESS;
}

/* What the line of a copy from device to device in that stream begins with. */
static const char *send_from(void *stream) {
  Stream *s = beside_stream(stream);
  if (!s && !is_main(stream) && !captor(stream))
    fault("a copy from device to device in no stream");
  if (rt.capturing && !capture_of(stream))
    fault("a copy from device to device beside the capture");
  note_capture(stream);
  if (s && s->current != rt.current)
    fault("a copy from device to device in a stream of another one");
  if (s)
    s->open = s->sends = true;
  return s ? "beside " : "";
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream) {
  if (rt.capturing && to_fail("captured cuMemcpyPeerAsync"))
    return rt.invalid = true, LAUNCH_FAILED;
  char line[80];
  snprintf(line, sizeof line, "%speer %zu", send_from(stream), size);
  keep_launch(line);
  if (!is_context(to_context) || !is_context(from_context) || !find(to, size) || !find(from, size) ||
      (to < from + size && from < to + size))
    return fault("cuMemcpyPeerAsync of %zu bytes", size);
  memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
  return SUCCESS;
}

/* One side of CUDA_MEMCPY3D_PEER. */
typedef struct PeerSide {
  size_t x, y, z, lod;
  int memory_type;
  const void *host;
  uint64_t device;
  void *array, *context;
  size_t pitch, height;
} PeerSide;
typedef struct PeerCopy {
  PeerSide from, to;
  size_t width, height, depth;
} PeerCopy;

/* The bytes that a side of the copy reaches over. */
static size_t side_bytes(const PeerSide *s, const PeerCopy *c) {
  return ((c->depth - 1) * s->height + c->height - 1) * s->pitch + c->width;
}

/* Is the side one of device memory that was handed out, with rows apart? */
static bool side_is_good(const PeerSide *s, const PeerCopy *c) {
  return !s->x && !s->y && !s->z && !s->lod && s->memory_type == 2 && is_context(s->context) && s->pitch >= c->width &&
         (c->depth == 1 || s->height >= c->height) && find(s->device, side_bytes(s, c));
}

int cuMemcpy3DPeerAsync(const PeerCopy *c, void *stream) {
  char line[80];
  snprintf(line, sizeof line, "%speer %zux%zux%zu", send_from(stream), c->depth, c->height, c->width);
  keep_launch(line);
  if (!c->width || !c->height || !c->depth || !side_is_good(&c->from, c) || !side_is_good(&c->to, c))
    return fault("cuMemcpy3DPeerAsync of %zu x %zu x %zu", c->depth, c->height, c->width);
  for (size_t z = 0; z < c->depth; z++)
    for (size_t y = 0; y < c->height; y++)
      memcpy((char *)(uintptr_t)c->to.device + (z * c->to.height + y) * c->to.pitch,
             (char *)(uintptr_t)c->from.device + (z * c->from.height + y) * c->from.pitch, c->width);
  return SUCCESS;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream) {
  call("%sclear %zu", stream ? "user " : "", size);
  if (!is_main(stream) || !find(to, size) || rt.capturing)
    return fault("cuMemsetD8Async of %zu bytes", size);
  memset((void *)(uintptr_t)to, value, size);
  return SUCCESS;
}

/* ---------------------------------------------------------------- between processes */

/* CUipcMemHandle. */
typedef struct Key {
  union {
    struct {
      int64_t process;
      uint64_t size;
      int file;
    };
    char bytes[64];
  };
} Key;

int cuIpcGetMemHandle(Key *key, uint64_t p) {
  ALONE;
  const Allocation *a = find(p, 1);
  if (!a || (uint64_t)(uintptr_t)a->p != p || !a->file || a->foreign)
    return fault("cuIpcGetMemHandle of what cuMemAlloc did not give");
  if (a->size % (2 << 20))
    return fault("cuIpcGetMemHandle of what is no whole pages");
  memset(key, 0, sizeof *key);
  key->process = getpid();
  key->size = a->size;
  key->file = a->file;
  return to_fail("cuIpcGetMemHandle") ? LAUNCH_FAILED : SUCCESS;
}

int cuIpcOpenMemHandle_v2(uint64_t *p, Key key, unsigned flags) {
  ALONE;
  char path[64];
  int i = 0;
  while (i < MAX_ALLOCATIONS && rt.allocations[i].p)
    i++;
  if (to_fail("cuIpcOpenMemHandle_v2"))
    return LAUNCH_FAILED;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)key.process, key.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  void *memory = mmap(NULL, key.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (flags != 1 || key.process == getpid() || i == MAX_ALLOCATIONS || memory == MAP_FAILED || flock(file, LOCK_SH))
    return fault("cuIpcOpenMemHandle");
  rt.allocations[i] = (Allocation){.p = memory, .size = key.size, .file = file, .foreign = true};
  *p = (uint64_t)(uintptr_t)memory;
  return SUCCESS;
}

/* Is this the way of memory for several processes: "lost", whose flags are never set, or "slow"? */
static bool ipc_is(const char *way) {
  const char *mode = getenv("STC_STANDIN_IPC");
  return mode && strcmp(mode, way) == 0;
}

/* Takes its time, so that who frees the memory before it is closed is found out; as long as a busy process may take, if
 * STC_STANDIN_IPC=slow. */
int cuIpcCloseMemHandle(uint64_t p) {
  ALONE;
  nanosleep(&(struct timespec){.tv_sec = ipc_is("slow") ? 3 : 0, .tv_nsec = 20000000}, NULL);
  Allocation *a = find(p, 1);
  if (!a || !a->foreign)
    return fault("cuIpcCloseMemHandle of what was not opened");
  return drop_memory(a), SUCCESS;
}

/* Is the flag in pinned memory, and the stream beside the launches? */
static bool flag_is_good(void *stream, const char *flag, unsigned flags) {
  bool pinned = false;
  for (int i = 0; i < MAX_OUT; i++)
    pinned |= rt.pinned[i].p && flag >= rt.pinned[i].p && flag + 4 <= rt.pinned[i].p + rt.pinned[i].size;
  return pinned && !flags && beside_stream(stream) && beside_stream(stream)->current == rt.current && !rt.capturing;
}

int cuStreamWriteValue32_v2(void *stream, uint64_t flag, uint32_t value, unsigned flags) {
  _Atomic uint32_t *f = (_Atomic uint32_t *)(uintptr_t)flag;
  call("post %u", value);
  if (!flag_is_good(stream, (char *)f, flags))
    return fault("cuStreamWriteValue32");
  if (!ipc_is("lost"))
    atomic_store(f, value);
  return to_fail("cuStreamWriteValue32_v2") ? LAUNCH_FAILED : SUCCESS;
}

/* Launches are made when they are asked for, so this one waits itself, if others may still set the flag. */
int cuStreamWaitValue32_v2(void *stream, uint64_t flag, uint32_t value, unsigned flags) {
  _Atomic uint32_t *f = (_Atomic uint32_t *)(uintptr_t)flag;
  call("heed %u%s", value, flags ? " and flush" : "");
  if (!flag_is_good(stream, (char *)f, flushes() ? flags ^ 1u << 30 : flags))
    return fault("cuStreamWaitValue32");
  if (to_fail("cuStreamWaitValue32_v2"))
    return LAUNCH_FAILED;
  if (ipc_is("lost"))
    return rt.flag = f, rt.value = value, SUCCESS;
  for (int i = 0; (int32_t)(atomic_load(f) - value) < 0; i++) {
    if (i == 300000)
      return fault("cuStreamWaitValue32: nobody sets the flag to %u", value);
    usleep(100);
  }
  return SUCCESS;
}

/* Memory is the device's if cuMemAlloc gave it; the driver does not know any other. */
int cuPointerGetAttribute(void *value, int attribute, uint64_t p) {
  ALONE;
  if (!find(p, 1))
    return INVALID_VALUE;
  return *(int *)value = attribute == 9 ? 7 : 2, SUCCESS;
}

/* ---------------------------------------------------------------- modules */

/* Bytes of a parameter of PTX type `t`: "u64 ...", "f32 ...". */
static int type_bytes(const char *t) {
  return strstr(t, "64") == t + 1 ? 8 : strstr(t, "32") == t + 1 ? 4 : strstr(t, "16") == t + 1 ? 2 : 1;
}

/* Reads one kernel from behind ".entry ". False: the stand-in has no place for more. */
static bool read_kernel(const char *s, int module) {
  int at = 0;
  while (at < rt.nkernels && rt.kernels[at].name[0])
    at++;
  if (at == MAX_KERNELS)
    return false;
  if (at == rt.nkernels)
    rt.nkernels++;
  Kernel *k = &rt.kernels[at];
  *k = (Kernel){.module = module};
  snprintf(k->name, sizeof k->name, "%.*s", (int)strcspn(s, "( \n"), s);
  const char *end = strstr(s, "\n)"), *body = strchr(s, '{'), *max = strstr(s, ".maxntid");
  if (!end || end > body)
    end = strchr(s, ')');
  for (const char *p = strstr(s, ".param ."); p && p < end && k->nargs < MAX_ARGS; p = strstr(p + 1, ".param .")) {
    k->size[k->nargs] = type_bytes(p + 8);
    const char *pointer = strstr(p, ".ptr");
    k->pointer[k->nargs++] = pointer && pointer < p + strcspn(p, "\n");
  }
  if (max && max < body)
    sscanf(max, ".maxntid %u, %u, %u", &k->max[0], &k->max[1], &k->max[2]);
  return true;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
  ALONE;
  (void)n, (void)options, (void)values;
  int i = 0;
  while (i < MAX_MODULES && rt.modules[i])
    i++;
  call("cuModuleLoadDataEx");
  if (i == MAX_MODULES || !rt.current)
    return fault("cuModuleLoadDataEx without a context");
  if (memcmp(image, "\177ELF", 4) == 0)
    return 200;
  if (!strstr(image, ".version"))
    return fault("cuModuleLoadDataEx: no PTX");
  for (const char *s = strstr(image, ".entry "); s; s = strstr(s + 1, ".entry "))
    if (!read_kernel(s + 7, i))
      return fault("more kernels than the stand-in keeps");
  rt.modules[i] = rt.current;
  *module = &rt.modules[i];
  return SUCCESS;
}

int cuModuleUnload(void *module) {
  ALONE;
  int *m = module;
  if (m < rt.modules || m >= rt.modules + MAX_MODULES || !*m)
    return fault("cuModuleUnload of what was not loaded");
  for (int g = 0; g < MAX_GRAPHS; g++)
    if (rt.graphs[g].used)
      return fault("cuModuleUnload while a graph of its kernels is there");
  *m = 0;
  for (int i = 0; i < rt.nkernels; i++)
    if (&rt.modules[rt.kernels[i].module] == m)
      rt.kernels[i].name[0] = 0;
  while (rt.nkernels && !rt.kernels[rt.nkernels - 1].name[0])
    rt.nkernels--;
  return SUCCESS;
}

int cuModuleGetFunction(void **f, void *module, const char *name) {
  ALONE;
  for (int i = 0; i < rt.nkernels; i++)
    if (&rt.modules[rt.kernels[i].module] == module && strcmp(rt.kernels[i].name, name) == 0)
      return *f = &rt.kernels[i], SUCCESS;
  return NOT_FOUND;
}

int cuFuncSetAttribute(void *f, int attribute, int value) { return (void)f, (void)attribute, (void)value, SUCCESS; }
int cuFuncGetAttribute(int *value, int attribute, void *f) {
  return (void)f, *value = attribute == 4 ? 40 : 0, SUCCESS;
}

/* ---------------------------------------------------------------- launches */

/* The line for a launch; false after a fault. */
static bool describe(const Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args,
                     char *line, size_t size) {
  int n = snprintf(line, size, "launch %s grid %u %u %u block %u %u %u shared %u", k->name, grid[0], grid[1], grid[2],
                   block[0], block[1], block[2], shared);
  for (int i = 0; i < 3; i++)
    if (!grid[i] || !block[i] || (k->max[i] && block[i] > k->max[i]) || (i && grid[i] > 65535))
      return fault("%s: grid or block", k->name), false;
  for (int i = 0; i < k->nargs; i++) {
    uint64_t v = 0;
    memcpy(&v, args[i], (size_t)k->size[i]);
    if (k->pointer[i] && !find(v, 1))
      return fault("%s: argument %d is no pointer from cuMemAlloc", k->name, i), false;
    int which = -1;
    for (int a = 0; a < MAX_ALLOCATIONS && k->pointer[i]; a++)
      if (rt.allocations[a].p == (char *)(uintptr_t)v)
        which = a;
    n += k->pointer[i] ? snprintf(line + n, size - (size_t)n, " @%d", which)
                       : snprintf(line + n, size - (size_t)n, " %llx", (unsigned long long)v);
  }
  return true;
}

/* Is there a launch beside others on the device that the main stream has not waited for? */
static bool is_open(void) {
  for (int i = 0; i < MAX_STREAMS; i++)
    if (rt.beside[i].used && rt.beside[i].open && rt.beside[i].current == rt.current)
      return true;
  return false;
}

/* A launch beside the one before, which it need not wait for, but for all before that, or beside those in other such
 * streams. */
static int launch_beside(Stream *s, const Kernel *k, const char *line) {
  char beside[800];
  if (s->seen < rt.front - 1 && s->current == rt.current)
    return fault("%s: does not wait for what was launched before", k->name);
  if (rt.capturing && !s->capture.in)
    return fault("%s: beside what is captured", k->name);
  s->open = true;
  note_capture(s);
  snprintf(beside, sizeof beside, "beside %s", line);
  return keep_launch(beside);
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **args, void **extra) {
  ALONE;
  const Kernel *k = f;
  char line[776];
  unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  if (getenv("STC_STANDIN_BREAK") && ++rt.launches == atoi(getenv("STC_STANDIN_BREAK")))
    rt.broken = true;
  if (rt.broken || to_fail("cuLaunchKernel"))
    return LAUNCH_FAILED;
  if (k < rt.kernels || k >= rt.kernels + rt.nkernels || extra)
    return fault("launch of what cuModuleGetFunction did not give");
  if (rt.modules[k->module] != rt.current)
    return fault("launch of a kernel of another context than the current one");
  if (!describe(k, grid, block, shared, args, line, sizeof line - 5))
    return INVALID_VALUE;
  if (beside_stream(stream))
    return launch_beside(stream, k, line);
  if (!is_main(stream) && (!rt.capturing || !captor(stream) || !captor(stream)->capture.in))
    return fault("%s: a stream that does not capture", k->name);
  if (is_main(stream) && rt.capturing)
    return fault("%s: launched beside the capture", k->name);
  if (is_open())
    return fault("%s: does not wait for what was launched beside others", k->name);
  rt.front++;
  note_capture(stream);
  if (stream == &standin_stream)
    memmove(line + 5, line, strlen(line) + 1), memcpy(line, "user ", 5);
  return keep_launch(line);
}

int cuStreamSynchronize(void *stream) {
  call("cuStreamSynchronize");
  if (!is_main(stream) || rt.capturing)
    return fault("cuStreamSynchronize");
  return rt.broken ? LAUNCH_FAILED : SUCCESS;
}

/* ---------------------------------------------------------------- streams and graphs */

int cuStreamCreate(void **stream, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_STREAMS && flags == 1; i++)
    if (!rt.beside[i].used)
      return rt.beside[i] = (Stream){.used = true, .current = rt.current}, *stream = &rt.beside[i], SUCCESS;
  if (!flags && to_fail("cuStreamCreate"))
    return LAUNCH_FAILED;
  for (int i = 0; i < MAX_CAPTORS && !flags; i++)
    if (!rt.captors[i].used)
      return rt.captors[i] = (Captor){.used = true}, *stream = &rt.captors[i], SUCCESS;
  return fault("cuStreamCreate");
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  if (to_fail("cuStreamCreateWithPriority"))
    return LAUNCH_FAILED;
  return priority < 0 ? cuStreamCreate(stream, flags) : fault("cuStreamCreateWithPriority");
}

int cuStreamDestroy_v2(void *stream) {
  ALONE;
  if (beside_stream(stream))
    return beside_stream(stream)->used = false, SUCCESS;
  if (!captor(stream) || rt.capturing)
    return fault("cuStreamDestroy");
  captor(stream)->used = false;
  return SUCCESS;
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
  if (!captor(stream) || rt.capturing || mode < 0 || mode > 2)
    return fault("cuStreamBeginCapture");
  if (to_fail("cuStreamBeginCapture_v2"))
    return LAUNCH_FAILED;
  for (int g = 0; g < MAX_GRAPHS && !rt.capturing; g++)
    if (!rt.graphs[g].used) {
      rt.graphs[g] = (Graph){.used = true};
      rt.captured = &rt.graphs[g];
      rt.capturing = true;
      rt.origin = captor(stream);
      rt.origin->capture.in = true;
    }
  return rt.capturing ? SUCCESS : fault("more graphs than the stand-in keeps");
}

/* Frees what a graph keeps. */
static void clear(Graph *g) {
  for (int i = 0; i < g->n; i++)
    free(g->lines[i]);
  *g = (Graph){0};
}

int cuStreamEndCapture(void *stream, void **graph) {
  if (!captor(stream) || captor(stream) != rt.origin || !rt.capturing)
    return fault("cuStreamEndCapture");
  bool open = is_open(), joined = all_joined(), invalid = rt.invalid;
  rt.capturing = rt.invalid = false;
  for (int i = 0; i < MAX_STREAMS && invalid; i++)
    rt.beside[i].open = false;
  if (invalid)
    return clear(rt.captured), LAUNCH_FAILED;
  if (open || !joined)
    return fault("cuStreamEndCapture");
  *graph = rt.captured;
  call("graph of %d launches", rt.captured->n);
  return SUCCESS;
}

/* The executable graph is a graph of its own. */
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  const Graph *from = graph;
  if (!from->used || flags)
    return fault("cuGraphInstantiateWithFlags");
  if (to_fail("cuGraphInstantiateWithFlags"))
    return LAUNCH_FAILED;
  for (int g = 0; g < MAX_GRAPHS; g++) {
    Graph *to = &rt.graphs[g];
    if (to->used)
      continue;
    to->used = true;
    to->n = from->n;
    for (int i = 0; i < from->n; i++)
      to->lines[i] = strdup(from->lines[i]);
    *executable = to;
    return SUCCESS;
  }
  return fault("more graphs than the stand-in keeps");
}

/* Has the stand-in for NCCL make the message of a line. */
static void make_message(const char *line) {
  void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  void *p = nccl ? dlsym(nccl, "standin_nccl_make") : NULL;
  void (*make)(int number) = NULL;
  memcpy(&make, &p, sizeof p);
  if (!make)
    fault("a graph with messages, and no NCCL");
  else
    make(atoi(strstr(line, "nccl ") + 5));
  if (nccl)
    dlclose(nccl);
}

/* For the stand-in for NCCL: is the stream one that is being captured? Then the graph will have its message `number`.
 */
bool standin_keep_message(void *stream, int number) {
  char line[40];
  Capture *c = capture_of(stream);
  if (!rt.capturing)
    return false;
  if (!c || !c->in)
    fault("a message of NCCL beside what is captured");
  note_capture(stream);
  snprintf(line, sizeof line, "nccl %d", number);
  return keep_launch(line), true;
}

/* Is there a graph? */
bool standin_has_graphs(void) {
  bool any = false;
  for (int g = 0; g < MAX_GRAPHS; g++)
    any |= rt.graphs[g].used;
  return any;
}

int cuGraphLaunch(void *executable, void *stream) {
  const Graph *g = executable;
  if (!g->used || !is_main(stream) || rt.capturing || is_open())
    return fault("cuGraphLaunch");
  rt.front++;
  call("%scuGraphLaunch", stream ? "user " : "");
  for (int i = 0; i < g->n; i++)
    if (strncmp(g->lines[i], "nccl ", 5) == 0)
      make_message(g->lines[i]);
    else
      write_line("", g->lines[i]);
  return SUCCESS;
}

int cuGraphDestroy(void *graph) { return clear(graph), SUCCESS; }
int cuGraphExecDestroy(void *executable) {
  return ((Graph *)executable)->used ? (clear(executable), SUCCESS) : fault("cuGraphExecDestroy of what is none");
}

/* ---------------------------------------------------------------- events */

int cuEventCreate(void **e, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_EVENTS; i++)
    if (!rt.events[i].used)
      return rt.events[i] = (Event){.used = true}, *e = &rt.events[i],
             flags & ~2u ? fault("cuEventCreate: flags") : SUCCESS;
  return OUT_OF_MEMORY;
}

int cuEventDestroy_v2(void *e) {
  ALONE;
  return ((Event *)e)->used ? (((Event *)e)->used = false, SUCCESS) : fault("cuEventDestroy of what is none");
}

/* Is it the stream that launches go to now? */
static bool is_front(void *stream) {
  return rt.capturing ? captor(stream) && captor(stream)->capture.in : is_main(stream);
}

int cuEventRecord(void *event, void *stream) {
  Event *e = event;
  if (!e->used || (!beside_stream(stream) && (!is_front(stream) || is_open())))
    return fault("cuEventRecord");
  e->beside = beside_stream(stream);
  e->front = e->beside ? e->beside->seen : rt.front;
  e->current = rt.current;
  e->copies = rt.copies;
  e->outs = rt.outs;
  e->capture = rt.capturing ? capture_of(stream) : NULL;
  if (e->capture && !e->capture->in)
    e->capture = NULL;
  e->made = e->capture ? e->capture->made : 0;
  return SUCCESS;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  const Event *e = event;
  Stream *s = beside_stream(stream);
  if (stream == &standin_stream && e->used && !e->beside)
    return call("user waits for an event"), SUCCESS;
  if (!wait_captured(stream, e))
    return fault("cuStreamWaitEvent: a captured stream waits for what is not captured");
  if (e->used && (s || is_main(stream) || captor(stream)) && e->current != rt.current)
    return call("waits for another device"), SUCCESS;
  if (!e->used || flags || (!s && !is_front(stream)) || (!s && !e->beside) || (s && s->current != rt.current))
    return fault("cuStreamWaitEvent");
  if (s && s->seen < e->front)
    s->seen = e->front;
  if (s && s->copies < e->copies)
    s->copies = e->copies;
  if (s && e->beside)
    s->open |= e->beside->open;
  if (!s && e->beside && e->beside->sends) {
    call("waits for what it sends");
    e->beside->sends = false;
  }
  if (e->beside)
    e->beside->open = false;
  return SUCCESS;
}

/* Copies to the host in the event's stream are there now. */
int cuEventSynchronize(void *event) {
  ALONE;
  const Event *e = event;
  for (int i = 0; i < MAX_OUT && e->used && e->beside; i++) {
    Out *o = &rt.out[i];
    if (!o->from || o->stream != e->beside || o->number > e->outs)
      continue;
    memcpy(o->to, (void *)(uintptr_t)o->at, o->size);
    o->from = NULL;
  }
  return !e->used ? fault("cuEventSynchronize") : rt.broken || to_fail("cuEventSynchronize") ? LAUNCH_FAILED : SUCCESS;
}

/* Has the stand-in for NCCL, if it is used, messages under way? */
static bool messages_pending(void) {
  void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  void *p = nccl ? dlsym(nccl, "standin_nccl_pending") : NULL;
  bool (*pending)(void) = NULL;
  memcpy(&pending, &p, sizeof p);
  bool yes = pending && pending();
  if (nccl)
    dlclose(nccl);
  return yes;
}

int cuEventQuery(void *event) {
  const Event *e = event;
  return !e->used                               ? fault("cuEventQuery")
         : rt.broken || to_fail("cuEventQuery") ? LAUNCH_FAILED
         : messages_pending()                   ? NOT_READY
         : rt.flag && *rt.flag != rt.value      ? NOT_READY
                                                : SUCCESS;
}

int cuEventElapsedTime(float *ms, void *begin, void *end) {
  return *ms = 1, ((Event *)begin)->used && ((Event *)end)->used ? SUCCESS : fault("cuEventElapsedTime");
}

/* How many things are in use: pieces of memory, modules, events, streams, graphs, holds on the context. */
int standin_live(void) {
  int n = rt.retained;
  for (int i = 0; i < MAX_CAPTORS; i++)
    n += rt.captors[i].used;
  for (int i = 0; i < MAX_ALLOCATIONS; i++)
    n += rt.allocations[i].p != NULL;
  for (int i = 0; i < MAX_OUT; i++)
    n += rt.pinned[i].p != NULL;
  for (int i = 0; i < MAX_MODULES; i++)
    n += rt.modules[i];
  for (int i = 0; i < MAX_EVENTS; i++)
    n += rt.events[i].used;
  for (int i = 0; i < MAX_STREAMS; i++)
    n += rt.beside[i].used;
  for (int i = 0; i < MAX_GRAPHS; i++)
    n += rt.graphs[i].used;
  return n;
}
