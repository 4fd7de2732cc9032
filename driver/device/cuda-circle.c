/* cuda-circle.c: circular memory of an NVIDIA GPU: physical memory that is mapped at two addresses, one behind the
 * other. A launch sees the values that earlier launches wrote at the other address; no single launch accesses a byte at
 * both addresses. */
#include "driver/device/cuda.h"

/* Numbers of the driver's interface: physical memory of a device, readable and writable by its kernels; the attribute
 * that tells whether the device can map memory at given addresses. */
enum { PINNED = 1, OF_DEVICE = 1, READ_AND_WRITE = 3, ATTR_MAPS = 102 };

/* The properties of the memory that is requested. */
static CuPhysical physical_of(const CudaState *s) {
  return (CuPhysical){.type = PINNED, .place = {OF_DEVICE, s->device}};
}

/* Maps the physical memory twice, from `to` on, and makes it accessible to the device. */
static CuResult map_twice(CudaState *s, char *to, size_t size, unsigned long long physical) {
  CuAccess who = {{OF_DEVICE, s->device}, READ_AND_WRITE};
  CuResult e = s->cu.map(to, size, 0, physical, 0);
  if (e)
    return e;
  e = s->cu.map(to + size, size, 0, physical, 0);
  if (e) {
    s->cu.unmap(to, size);
    return e;
  }
  e = s->cu.allow(to, 2 * size, &who, 1);
  for (int i = 0; i < 2 && e; i++)
    s->cu.unmap(to + (size_t)i * size, size);
  return e;
}

/* Makes `size` bytes that are mapped twice, in *memory; the device's context is current. After an error nothing stays
 * allocated. */
static CuResult make(CudaState *s, size_t size, char **memory) {
  CuPhysical of = physical_of(s);
  unsigned long long physical;
  char *to = NULL;
  CuResult e = s->cu.physical_new(&physical, size, &of, 0);
  if (e)
    return e;
  e = s->cu.reserve(&to, 2 * size, 0, NULL, 0);
  if (!e && (e = map_twice(s, to, size, physical)))
    s->cu.unreserve(to, 2 * size);
  s->cu.physical_free(physical); /* the mapping keeps it alive */
  *memory = e ? NULL : to;
  return e;
}

StcStatus cuda_circle_new(Device *d, size_t size, void **memory) {
  CudaState *s = d->state;
  char *to = NULL;
  StcStatus st = s->gpu.use(d);
  CuResult e = st ? 0 : make(s, size, &to);
  *memory = to;
  return st || e == GPU_OUT_OF_MEMORY ? st : cuda_check(d, e, "mapping circular memory");
}

void cuda_circle_free(Device *d, void *memory, size_t size) {
  CudaState *s = d->state;
  if (s->gpu.use(d))
    return;
  for (int i = 0; i < 2; i++)
    s->cu.unmap((char *)memory + (size_t)i * size, size);
  s->cu.unreserve(memory, 2 * size);
}

/* Some drivers (of virtual machines, for example) have all entry points but refuse the calls, so the smallest piece is
 * tried. */
size_t cuda_circle_step(Device *d) {
  CudaState *s = d->state;
  CuPhysical of = physical_of(s);
  int maps = 0;
  char *tried = NULL;
  if (s->circle_step || !s->cu.physical_step || s->gpu.use(d))
    return s->circle_step;
  size_t step = 0;
  if (s->cu.device_attribute(&maps, ATTR_MAPS, s->device) || !maps || s->cu.physical_step(&step, &of, 0) || !step ||
      make(s, step, &tried))
    return 0;
  cuda_circle_free(d, tried, step);
  return s->circle_step = step;
}
