/* circle.c: physical memory of devices and the addresses that it is mapped to, at several places perhaps. It is a file;
 * what is mapped and may be reached is memory as cuMemAlloc gives it, but for its return. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/libcuda/libcuda.h"

/* CUmemAllocationProp, CUmemAccessDesc. */
typedef struct Physical {
  int type, handles, place, device;
  void *security;
  unsigned char flags[8];
} Physical;
typedef struct Access {
  int place, device, flags;
} Access;

enum { STEP = 4096, MOST_MAPPED = 256 };

/* Where something is mapped; NULL: free. */
static char *mapped[MOST_MAPPED];

/* The place of `to` in it, NULL of the first free one; NULL: there is none. */
static char **mapped_at(const char *to) {
  for (int i = 0; i < MOST_MAPPED; i++)
    if (mapped[i] == to)
      return &mapped[i];
  return NULL;
}

/* Is it what can be asked for of the present device? */
static bool is_own(const Physical *of) {
  return of->type == 1 && !of->handles && of->place == 1 && of->device == FIRST_DEVICE + current_device - 1;
}

int cuMemGetAllocationGranularity(size_t *bytes, const Physical *of, int option) {
  *bytes = STEP;
  return is_own(of) && !option ? SUCCESS : fault("cuMemGetAllocationGranularity");
}

int cuMemCreate(unsigned long long *handle, size_t size, const Physical *of, unsigned long long flags) {
  ALONE;
  call("cuMemCreate %zu", size);
  if (to_fail("cuMemCreate"))
    return OUT_OF_MEMORY;
  if (!is_own(of) || flags || !size || size % STEP || rt.capturing)
    return fault("cuMemCreate of %zu bytes", size);
  int file = memfd_create("stand-in", MFD_CLOEXEC);
  *handle = (unsigned long long)file + 1;
  return file >= 0 && ftruncate(file, (off_t)size) == 0 ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemRelease(unsigned long long handle) {
  return handle && close((int)handle - 1) == 0 ? SUCCESS : fault("cuMemRelease");
}

int cuMemAddressReserve(char **to, size_t size, size_t alignment, char *near, unsigned long long flags) {
  *to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (alignment || near || flags || !size || size % STEP)
    return fault("cuMemAddressReserve of %zu bytes", size);
  return *to != MAP_FAILED ? SUCCESS : OUT_OF_MEMORY;
}

/* No place of what is given back may have anything mapped. */
int cuMemAddressFree(char *to, size_t size) {
  for (int i = 0; i < MOST_MAPPED; i++)
    if (mapped[i] && mapped[i] >= to && mapped[i] < to + size)
      return fault("cuMemAddressFree of what is mapped");
  return munmap(to, size) == 0 ? SUCCESS : fault("cuMemAddressFree of %zu bytes", size);
}

int cuMemMap(char *to, size_t size, size_t offset, unsigned long long handle, unsigned long long flags) {
  ALONE;
  if (to_fail("cuMemMap"))
    return INVALID_VALUE;
  void *p = mmap(to, size, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle - 1, (off_t)offset);
  char **at = mapped_at(NULL);
  if (p != to || flags || size % STEP || !at)
    return fault("cuMemMap of %zu bytes", size);
  *at = to;
  return SUCCESS;
}

int cuMemSetAccess(char *to, size_t size, const Access *who, size_t n) {
  ALONE;
  if (to_fail("cuMemSetAccess"))
    return INVALID_VALUE;
  if (n != 1 || who->place != 1 || who->device != FIRST_DEVICE + current_device - 1 || who->flags != 3 ||
      mprotect(to, size, PROT_READ | PROT_WRITE))
    return fault("cuMemSetAccess of %zu bytes", size);
  for (int i = 0; i < MAX_ALLOCATIONS; i++)
    if (!rt.allocations[i].p) {
      rt.allocations[i] = (Allocation){.p = to, .size = size, .current = current_device, .foreign = true};
      return SUCCESS;
    }
  return OUT_OF_MEMORY;
}

int cuMemUnmap(char *to, size_t size) {
  ALONE;
  Allocation *a = find((uint64_t)(uintptr_t)to, 1);
  order_await_all();
  if (a)
    a->p = NULL;
  char **at = mapped_at(to);
  if (!at)
    return fault("cuMemUnmap of memory that is not mapped");
  *at = NULL;
  return mmap(to, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to
             ? SUCCESS
             : fault("cuMemUnmap of %zu bytes", size);
}
