/* peers.c: copies from device to device, and memory and flags that several processes share. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/libcuda/libcuda.h"

/* ---------------------------------------------------------------- between devices */

/* From one device to another, which both are the one there is. */
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  return *can = 1, device == peer ? fault("cuDeviceCanAccessPeer of a device and itself") : SUCCESS;
}
int cuCtxEnablePeerAccess(void *context, unsigned flags) {
  return !is_context(context) || context == &contexts[current_device - 1] || flags ? fault("cuCtxEnablePeerAccess")
                                                                                   : SUCCESS;
}

/* What the line of a copy from device to device in that stream begins with. */
static const char *send_from(void *stream) {
  Stream *s = beside_stream(stream);
  if (!s && !is_main(stream) && !captor(stream))
    fault("a copy from device to device in no stream");
  if (rt.capturing && !capture_of(stream))
    fault("a copy from device to device beside the capture");
  note_capture(stream);
  if (s && s->current != current_device)
    fault("a copy from device to device in a stream of another one");
  if (s)
    s->open = s->sends = true;
  return s ? "beside " : "";
}

/* While a stream is captured the driver takes no copy that names contexts, in any mode, and the capture comes to
 * nothing.
 */
static bool refuses_contexts(void) {
  if (rt.capturing)
    rt.invalid = true;
  return rt.capturing;
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream) {
  ALONE;
  if (refuses_contexts())
    return CAPTURE_UNSUPPORTED;
  char line[80];
  snprintf(line, sizeof line, "%speer %zu", send_from(stream), size);
  keep_launch(line, NULL);
  if (!is_context(to_context) || !is_context(from_context) || !find(to, size) || !find(from, size) ||
      (to < from + size && from < to + size))
    return fault("cuMemcpyPeerAsync of %zu bytes", size);
  order_copy(stream, &(Box){from, to, size, 1, 1, size, size, 1, 1});
  return SUCCESS;
}

bool copies_beside(void *stream) { return rt.capturing || beside_stream(stream); }

int copy_by_address(uint64_t to, uint64_t from, size_t size, void *stream) {
  if (rt.capturing && (to_fail("captured cuMemcpyDtoDAsync") || to_fail("captured copy")))
    return rt.invalid = true, CAPTURE_UNSUPPORTED;
  if (rt.invalid)
    return CAPTURE_INVALIDATED;
  char line[80];
  snprintf(line, sizeof line, "%speer %zu", send_from(stream), size);
  keep_launch(line, NULL);
  order_copy(stream, &(Box){from, to, size, 1, 1, size, size, 1, 1});
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

/* Is the side one of device memory that was handed out, with rows apart, in a context or (`unified`) found by its
 * address? */
static bool side_is_good(const PeerSide *s, const PeerCopy *c, bool unified) {
  return !s->x && !s->y && !s->z && !s->lod &&
         (unified ? s->memory_type == 4 && !s->context : s->memory_type == 2 && is_context(s->context)) &&
         s->pitch >= c->width && (c->depth == 1 || s->height >= c->height) && find(s->device, side_bytes(s, c));
}

/* A box, of CUDA_MEMCPY3D or (not `unified`) CUDA_MEMCPY3D_PEER. */
static int copy_box(const PeerCopy *c, void *stream, bool unified) {
  char line[80];
  snprintf(line, sizeof line, "%speer %zux%zux%zu", send_from(stream), c->depth, c->height, c->width);
  keep_launch(line, NULL);
  if (!c->width || !c->height || !c->depth || !side_is_good(&c->from, c, unified) || !side_is_good(&c->to, c, unified))
    return fault("a copy of %zu x %zu x %zu", c->depth, c->height, c->width);
  order_copy(stream, &(Box){c->from.device, c->to.device, c->width, c->height, c->depth, c->from.pitch, c->to.pitch,
                            c->from.height, c->to.height});
  return SUCCESS;
}

int cuMemcpy3DPeerAsync(const PeerCopy *c, void *stream) {
  ALONE;
  return refuses_contexts() ? CAPTURE_UNSUPPORTED : copy_box(c, stream, false);
}

int cuMemcpy3DAsync_v2(const PeerCopy *c, void *stream) {
  if (rt.capturing && to_fail("captured copy"))
    return rt.invalid = true, CAPTURE_UNSUPPORTED;
  return rt.invalid ? CAPTURE_INVALIDATED : copy_box(c, stream, true);
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
  for (int i = 0; i < MAX_PINNED; i++)
    pinned |= rt.pinned[i].p && flag >= rt.pinned[i].p && flag + 4 <= rt.pinned[i].p + rt.pinned[i].size;
  return pinned && !flags && beside_stream(stream) && beside_stream(stream)->current == current_device && !rt.capturing;
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
