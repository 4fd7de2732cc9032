/* cuda-circle.c: circular memory of an NVIDIA GPU: physical memory that is mapped at two places, one behind the other.
 * Launches behind each other see what those before them wrote at the other place; none reaches a byte at both. */
#include "driver/device/cuda.h"

/* Numbers of the driver's interface: physical memory of a device, that its kernels read and write; an attribute: can
 * the device have any mapped where it is asked for? */
enum { PINNED = 1, OF_DEVICE = 1, READ_AND_WRITE = 3, ATTR_MAPS = 102 };

/* What is asked for. */
static CuPhysical physical_of(const CudaState *s) {
  return (CuPhysical){.type = PINNED, .place = {OF_DEVICE, s->device}};
}

/* Maps the physical memory twice, from `to` on, and lets the device reach it. */
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

/* So many bytes, twice, at *memory; the device's context is the current one. After an error nothing of it is left. */
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
  s->cu.physical_free(physical); /* it stays as long as it is mapped */
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

/* Some drivers (of virtual machines, say) have all entry points, and refuse: so the smallest piece is tried. */
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
