/* driver/instance/dlpack.h: the structures with which libraries exchange arrays in memory, as DLPack's specification
 * defines them (the form without version numbers, which all libraries support). The names are the specification's. */
#ifndef STC_DLPACK_H
#define STC_DLPACK_H

#include <stdint.h>

/* Kinds of devices. stc has memory on a CPU, a CUDA GPU, a ROCm GPU, and in memory of the host that GPUs can access. */
enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLROCM = 10, kDLROCMHost = 11, kDLCUDAManaged = 13 };
/* Kinds of elements. */
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

typedef struct DLDevice {
  int32_t device_type, device_id;
} DLDevice;

/* lanes: 1, except for elements that are short vectors. */
typedef struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;

/* strides in elements, NULL: dense in C order. The first element is byte_offset bytes after data. */
typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

/* A tensor with its owner: its user calls deleter (which may be NULL) at the end. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif
