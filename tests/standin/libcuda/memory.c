/* memory.c: memory of devices and pinned memory of the host, and copies between both. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/libcuda/libcuda.h"

/* Bytes that lie side by side. */
#define BYTES(from, to, size) ((Box){from, to, size, 1, 1, size, size, 1, 1})

enum { PAGE = 4096 };

/* Do `size` bytes from p on lie in it? */
static bool is_within(const Allocation *a, const char *p, size_t size) {
  return a->p && p >= a->p && p < a->p + a->size && size <= (size_t)(a->p + a->size - p);
}

/* Pinned memory has the same address on devices, which reach it. */
Allocation *find(uint64_t p, size_t size) {
  const char *at = (const char *)(uintptr_t)p;
  for (int i = 0; i < MAX_ALLOCATIONS; i++)
    if (is_within(&rt.allocations[i], at, size))
      return &rt.allocations[i];
  for (int i = 0; i < MAX_PINNED; i++)
    if (is_within(&rt.pinned[i], at, size))
      return &rt.pinned[i];
  return NULL;
}

/* Is it memory of the host? */
static bool is_pinned(const Allocation *a) { return a >= rt.pinned && a < rt.pinned + MAX_PINNED; }

int cuMemGetInfo_v2(size_t *left, size_t *total) {
  const char *room = getenv("STC_STANDIN_ROOM");
  char *end = NULL;
  *left = *total = room ? strtoull(room, &end, 10) : (size_t)1 << 30;
  for (int i = 0; end && *end == '-' && i < MAX_ALLOCATIONS; i++)
    *left -= rt.allocations[i].p ? rt.allocations[i].size : 0;
  return SUCCESS;
}

/* Memory in which something is, as it is with a device that computes. */
static char *filled(size_t size) {
  char *p = malloc(size);
  return p ? memset(p, 0x5a, size) : NULL;
}

/* Zeros, or if the device computes what is there; if others may open it, zeros in a file. */
static char *new_memory(size_t size, int *file) {
  *file = getenv("STC_STANDIN_IPC") ? memfd_create("stand-in", MFD_CLOEXEC) : 0;
  if (!*file)
    return getenv("STC_STANDIN_COMPUTE") ? filled(size) : calloc(1, size);
  void *p = ftruncate(*file, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  return p == MAP_FAILED ? NULL : p;
}

void drop_memory(Allocation *a) {
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
  if (to_fail("cuMemAlloc"))
    return OUT_OF_MEMORY;
  if (rt.capturing)
    return fault("cuMemAlloc while a stream captures");
  for (int i = 0; i < MAX_ALLOCATIONS && size; i++) {
    if (rt.allocations[i].p)
      continue;
    rt.allocations[i] = (Allocation){.size = size, .current = current_device};
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
  if (!a || is_pinned(a) || (uint64_t)(uintptr_t)a->p != p || a->foreign)
    return fault("cuMemFree of what cuMemAlloc did not give");
  if (is_going_out(a))
    return fault("cuMemFree of what is on its way out");
  order_await_all();
  if (a->file && flock(a->file, LOCK_EX | LOCK_NB))
    return fault("cuMemFree of what another process has open");
  drop_memory(a);
  return SUCCESS;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  if (!find(to, size) || rt.capturing)
    return fault("cuMemcpyHtoD of %zu bytes", size);
  order_await_stream(NULL);
  memcpy((void *)(uintptr_t)to, from, size);
  return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  if (!find(from, size) || rt.capturing)
    return fault("cuMemcpyDtoH of %zu bytes", size);
  order_await_stream(NULL);
  memcpy(to, (void *)(uintptr_t)from, size);
  return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  bool beside = copies_beside(stream);
  if ((!beside && !is_main(stream)) || !find(to, size) || !find(from, size) || (to < from + size && from < to + size))
    return fault("cuMemcpyDtoDAsync of %zu bytes", size);
  if (beside)
    return copy_by_address(to, from, size, stream);
  if (find(to, size)->current && find(to, size)->current != current_device)
    return fault("cuMemcpyDtoDAsync to memory of a context that is not the current one");
  if (is_going_out(find(to, size)))
    return fault("cuMemcpyDtoDAsync over what is on its way out");
  if (to_fail("cuMemcpyDtoDAsync"))
    return LAUNCH_FAILED;
  find(to, size)->copied = ++rt.copies;
  order_copy(stream, &BYTES(from, to, size));
  call("%scopy", stream ? "user " : "");
  return SUCCESS;
}

/* Memory of the host that the device copies to by itself. It holds nonsense until a copy is there. Before it there is a
 * page, and behind it at least a byte, that is nobody's. */
int cuMemHostAlloc(void **p, size_t size, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_PINNED && size && !flags && !to_fail("cuMemHostAlloc"); i++)
    if (!rt.pinned[i].p) {
      char *all = aligned_alloc(PAGE, (size / PAGE + 2) * PAGE);
      rt.pinned[i] = (Allocation){.p = all + PAGE, .size = size};
      memset(rt.pinned[i].p, 0x5a, size);
      return *p = rt.pinned[i].p, SUCCESS;
    }
  return OUT_OF_MEMORY;
}

int cuMemFreeHost(void *p) {
  ALONE;
  for (int i = 0; i < MAX_PINNED; i++)
    if (p && rt.pinned[i].p == p)
      return free((char *)p - PAGE), rt.pinned[i].p = NULL, SUCCESS;
  return fault("cuMemFreeHost of what cuMemHostAlloc did not give");
}

/* Memory that is the caller's, whole pages. */
int cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
  ALONE;
  if (!p || (uintptr_t)p % 4096 || !size || size % 4096 || flags != 1)
    return fault("cuMemHostRegister of %zu bytes at %p", size, p);
  for (int i = 0; i < MAX_PINNED && !to_fail("cuMemHostRegister"); i++)
    if (!rt.pinned[i].p)
      return rt.pinned[i] = (Allocation){.p = p, .size = size, .foreign = true}, call("pin %zu", size), SUCCESS;
  return OUT_OF_MEMORY;
}
int cuMemHostUnregister(void *p) {
  ALONE;
  for (int i = 0; i < MAX_PINNED; i++)
    if (p && rt.pinned[i].p == p)
      return rt.pinned[i].p = NULL, SUCCESS;
  return fault("cuMemHostUnregister of what was not registered");
}

/* To pinned memory; to other memory of the host the copy is made before the call returns. */
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  ALONE;
  Allocation *a = find(from, size);
  Stream *s = beside_stream(stream);
  bool room = false;
  call("cuMemcpyDtoHAsync %zu", size);
  for (int i = 0; i < MAX_PINNED; i++)
    room |= is_within(&rt.pinned[i], to, size);
  if (!a || !s || rt.capturing)
    return fault("cuMemcpyDtoHAsync of %zu bytes", size);
  if (s->copies < a->copied)
    return fault("cuMemcpyDtoHAsync does not wait for what is copied there");
  if (to_fail("cuMemcpyDtoHAsync_v2"))
    return LAUNCH_FAILED;
  if (!room)
    return order_await_stream(stream), memcpy(to, (void *)(uintptr_t)from, size), SUCCESS;
  if (computes())
    return order_copy(stream, &BYTES(from, (uint64_t)(uintptr_t)to, size)), SUCCESS;
  for (int i = 0; i < MAX_OUT; i++)
    if (!rt.out[i].from)
      return rt.out[i] = (Out){to, a, from, size, s, ++rt.outs}, SUCCESS;
  return fault("more copies to the host than the stand-in keeps");
}

/* Are the bytes in part in pinned memory, or in what is nobody's around it? */
static bool leaves_pinned(const char *from, size_t size) {
  bool leaves = false;
  for (int i = 0; i < MAX_PINNED; i++) {
    const Allocation *a = &rt.pinned[i];
    const char *begin = a->p, *end = begin + a->size;
    if (begin && !a->foreign) {
      begin -= PAGE;
      end += PAGE - a->size % PAGE;
    }
    leaves |= begin && from + size > begin && from < end && !is_within(a, from, size);
  }
  return leaves;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  ALONE;
  Stream *s = beside_stream(stream);
  call("%scuMemcpyHtoDAsync %zu", s ? "beside " : "", size);
  if (leaves_pinned(from, size))
    return fault("cuMemcpyHtoDAsync of %zu bytes that are not all in pinned memory", size);
  if (!s || !find(to, size) || rt.capturing || s->current != current_device)
    return fault("cuMemcpyHtoDAsync of %zu bytes", size);
  order_copy(stream, &BYTES((uint64_t)(uintptr_t)from, to, size));
  s->open = !computes(); /* then values tell whether who needs it waits */
  return SUCCESS;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream) {
  call("%sclear %zu", stream ? "user " : "", size);
  if (!is_main(stream) || !find(to, size) || rt.capturing)
    return fault("cuMemsetD8Async of %zu bytes", size);
  order_set(stream, to, value, size);
  return SUCCESS;
}

/* Memory is the device's if cuMemAlloc gave it; the driver does not know any other. */
int cuPointerGetAttribute(void *value, int attribute, uint64_t p) {
  ALONE;
  const Allocation *a = find(p, 1);
  if (!a)
    return INVALID_VALUE;
  return *(int *)value = attribute == 9 ? 7 : is_pinned(a) ? 1 : 2, SUCCESS;
}
