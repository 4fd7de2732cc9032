/* driver/instance/dlpack.h: the structures by which libraries hand arrays to each other in memory, as DLPack's
 * specification lays
 * them out (the form without version numbers, which all libraries know). The names are the specification's. */
#ifndef STC_DLPACK_H
#define STC_DLPACK_H

#include <stdint.h>

/* Kinds of devices. Those that stc has memory on are a CPU, a CUDA GPU, a ROCm GPU; memory of the host that GPUs reach.
 */
enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLROCM = 10, kDLROCMHost = 11, kDLCUDAManaged = 13 };
/* Kinds of elements. */
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

typedef struct DLDevice {
  int32_t device_type, device_id;
} DLDevice;

/* lanes: 1 but for elements that are short vectors. */
typedef struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;

/* strides in elements, NULL: dense in C order. The first element is byte_offset bytes behind data. */
typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

/* A tensor with who owns it: whoever takes it calls deleter (which may be NULL) when done. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif
