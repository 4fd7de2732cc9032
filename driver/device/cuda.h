/* driver/device/cuda.h: declarations that the files of the CUDA device share.
 *
 *   device-cuda.c   the device: finding it, memory, streams, launches, other devices
 *   cuda-entries.c  the driver's library and its entry points
 *   cuda-code.c     kernels compiled, by the driver too, kept on disk, and loaded
 *   cuda-circle.c   circular memory
 *   cuda-copies.c   several copies within its memory by one launch
 *   cuda-loops.c    graphs that decide on the device whether they are made again
 *   cuda-steps.c    graphs whose launches take the step, which is set before each replay
 *
 * No CUDA header is used: the entry points below are part of the driver's stable interface (those with _v2 take 64-bit
 * sizes). */
#ifndef STC_DEVICE_CUDA_H
#define STC_DEVICE_CUDA_H

#include "driver/device/gpu.h"

typedef int CuResult; /* CUresult; 0 is success */
typedef int CuDevice;

/* CUDA_MEMCPY3D_PEER: the two sides of a copy, and its size. x: bytes into a row; pitch: bytes from one row to the
 * next; height: rows from one plane to the next. CUDA_MEMCPY3D is the same with NULL for the contexts. */
typedef struct CuPeerSide {
  size_t x, y, z, lod;
  int memory_type;
  const void *host;
  const void *device;
  void *array, *context;
  size_t pitch, height;
} CuPeerSide;
typedef struct CuPeerCopy {
  CuPeerSide from, to;
  size_t width, height, depth;
} CuPeerCopy;

/* CUgraphExecUpdateResultInfo. */
typedef struct CuUpdate {
  int result;
  void *node, *from;
} CuUpdate;

/* CUlaunchAttribute, for attributes whose value is a number; CUlaunchConfig. */
typedef struct CuLaunchAttribute {
  int id;
  char unused[4];
  int value;
  char more[60];
} CuLaunchAttribute;
typedef struct CuLaunch {
  unsigned grid[3], block[3], shared;
  void *stream;
  CuLaunchAttribute *attributes;
  unsigned nattributes;
} CuLaunch;

/* CUmemLocation, CUmemAllocationProp, CUmemAccessDesc: physical memory of a device, and the devices that can access it.
 */
typedef struct CuPlace {
  int type, device;
} CuPlace;
typedef struct CuPhysical {
  int type, handles;
  CuPlace place;
  void *security;
  unsigned char flags[8];
} CuPhysical;
typedef struct CuAccess {
  CuPlace place;
  int flags;
} CuAccess;

/* CUipcMemHandle. */
typedef struct CuKey {
  unsigned char bytes[DEVICE_KEY];
} CuKey;

/* Entry points that HIP does not have in the same form. */
/* The parameters of a launch in a graph (cuda-steps.c), and of a node of any kind (cuda-loops.c). */
struct CuNode;
struct CuNodeParams;

typedef struct Cuda {
  CuResult (*init)(unsigned flags);
  CuResult (*error_name)(CuResult e, const char **name);
  CuResult (*error_string)(CuResult e, const char **text);
  CuResult (*device_count)(int *n);
  CuResult (*device_get)(CuDevice *d, int i);
  CuResult (*device_name)(char *name, int size, CuDevice d);
  CuResult (*device_attribute)(int *value, int attribute, CuDevice d);
  CuResult (*total_memory)(size_t *bytes, CuDevice d);
  CuResult (*context_retain)(void **context, CuDevice d);
  CuResult (*context_release)(CuDevice d);
  CuResult (*context_set)(void *context);
  CuResult (*module_load)(void **module, const void *image, unsigned n, int *options, void **values);
  CuResult (*library_load)(void **library, const void *code, int *options, void **values, unsigned n,
                           int *library_options, void **library_values, unsigned m); /* NULL: the driver has none */
  CuResult (*library_module)(void **module, void *library);
  CuResult (*library_unload)(void *library);
  CuResult (*function_attribute)(void *f, int attribute, int value);
  CuResult (*function_load)(void *f); /* NULL: the driver has none */
  CuResult (*capture_begin)(void *stream, int mode);
  CuResult (*capture_end)(void *stream, void **graph);
  CuResult (*graph_instantiate)(void **executable, void *graph, unsigned long long flags);
  CuResult (*graph_launch)(void *executable, void *stream);
  CuResult (*graph_update)(void *executable, void *graph, CuUpdate *result);
  CuResult (*graph_destroy)(void *graph);
  CuResult (*graph_nodes)(void *graph, void **nodes, size_t *n);
  CuResult (*node_type)(void *node, int *type);
  CuResult (*node_get)(void *node, struct CuNode *launch);
  CuResult (*node_set)(void *executable, void *node, const struct CuNode *launch);
  CuResult (*executable_destroy)(void *executable);
  CuResult (*graph_create)(void **graph, unsigned flags);
  CuResult (*condition_new)(unsigned long long *handle, void *graph, void *context, unsigned value, unsigned flags);
  CuResult (*node_add)(void **node, void *graph, void *const *behind, const void *edges, size_t n,
                       struct CuNodeParams *what);
  CuResult (*capture_into)(void *stream, void *graph, void *const *behind, const void *edges, size_t n, int mode);
  CuResult (*pointer_attribute)(void *value, int attribute, void *p);
  CuResult (*can_access)(int *can, CuDevice d, CuDevice peer);
  CuResult (*enable_access)(void *peer, unsigned flags);
  CuResult (*copy_peer)(void *to, void *to_context, const void *from, void *from_context, size_t size, void *stream);
  CuResult (*copy_peer_3d)(const CuPeerCopy *copy, void *stream);
  CuResult (*copy_3d)(const CuPeerCopy *copy, void *stream);
  CuResult (*stream_create)(void **stream, unsigned flags, int priority);
  CuResult (*host_alloc)(void **p, size_t size, unsigned flags);
  CuResult (*host_register)(void *p, size_t size, unsigned flags);
  CuResult (*host_unregister)(void *p);
  CuResult (*copy_in_async)(void *to, const void *from, size_t size, void *stream);
  CuResult (*event_query)(void *event);
  CuResult (*device_uuid)(unsigned char id[DEVICE_IDENTITY], CuDevice d);
  CuResult (*key_get)(CuKey *key, void *memory);
  CuResult (*key_open)(void **memory, CuKey key, unsigned flags);
  CuResult (*key_close)(void *memory);
  CuResult (*physical_step)(size_t *bytes, const CuPhysical *of, int option);
  CuResult (*physical_new)(unsigned long long *handle, size_t size, const CuPhysical *of, unsigned long long flags);
  CuResult (*physical_free)(unsigned long long handle);
  CuResult (*reserve)(char **to, size_t size, size_t alignment, char *near, unsigned long long flags);
  CuResult (*unreserve)(char *to, size_t size);
  CuResult (*map)(char *to, size_t size, size_t offset, unsigned long long handle, unsigned long long flags);
  CuResult (*unmap)(char *to, size_t size);
  CuResult (*allow)(char *to, size_t size, const CuAccess *who, size_t n);
  CuResult (*driver_version)(int *version);
  CuResult (*launch_with)(const CuLaunch *how, void *f, void **args, void **extra);
  CuResult (*value_write)(void *stream, void *flag, uint32_t value, unsigned flags);
  CuResult (*value_wait)(void *stream, void *flag, uint32_t value, unsigned flags);
} Cuda;

/* The code of the kernels on a device (cuda-code.c). */
typedef struct CudaCode CudaCode;
/* A graph with launches whose argument is the step number (cuda-steps.c). */
typedef struct CudaSteps CudaSteps;

/* The state of a CUDA device. */
typedef struct CudaState {
  Gpu gpu;
  Cuda cu;
  CuDevice device;
  void *context;
  void *marks[LANES];           /* the events of marks; NULL: not made yet */
  void *capture;                /* the stream on which launches are recorded */
  CudaCode *code;               /* NULL: no code is loaded */
  bool lent;                    /* the code is that of Device.like */
  CudaSteps *steps;             /* the graphs with launches whose argument is the step */
  void *copies, *copies_module; /* the kernel that copies; NULL: not loaded */
  bool no_copies;               /* that kernel cannot be loaded */
  int flushes;                  /* do waits for flags flush others' writes? 1: yes; -1: no; 0: not asked */
  size_t circle_step;           /* of circular memory, once found; else 0 */
} CudaState;

/* cuda-circle.c: functions of DeviceKind; cuda_find_library finds the entry points that they need. */
size_t cuda_circle_step(Device *d);
StcStatus cuda_circle_new(Device *d, size_t size, void **memory);
void cuda_circle_free(Device *d, void *memory, size_t size);

/* cuda-entries.c: loads the library and finds its entry points; returns the name of what is missing, or NULL. The
 * caller does not free the text. */
const char *cuda_find_library(CudaState *s);

/* Returns STC_OK if `e` is success; else reports an error that names `what`. */
StcStatus cuda_check(Device *d, CuResult e, const char *what);
/* The driver's text for error `e`. */
const char *cuda_words(const Cuda *cu, CuResult e);
/* Prepares the kernels of the build; cuda_need compiles and loads them. */
StcStatus cuda_code_begin(Device *d, StcProgram *p, Build *b);
/* Compiles and loads the kernels with wanted[number] that are not loaded yet, several at once. */
StcStatus cuda_need(Device *d, const bool *wanted);
/* The same for one kernel, which is launched or inspected and was not asked for before. */
StcStatus cuda_need_one(Device *d, int kernel);
/* Unloads all code. */
void cuda_code_end(Device *d);
/* DeviceKind.copies; the other function unloads its kernel. */
StcStatus cuda_copies(Device *d, int n, const Copying *list);
void cuda_copies_end(Device *d);

/* Can the step argument of a graph's launches be set? */
bool cuda_shifts(Device *d);
/* Records the launches in `graph` that take the step as an argument, for kernels of `m`; `executable` was made of
 * `graph`. False if there are none, or the driver cannot tell; the caller may free `graph` then. */
bool cuda_steps_keep(Device *d, void *executable, void *graph, const Module *m);
/* Sets the step argument of these launches to the recorded one plus `by`. */
StcStatus cuda_shift(Device *d, void *kept, int64_t by);
/* Frees what was recorded for an executable graph, if anything. */
void cuda_steps_drop(Device *d, const void *executable);
/* cuda-loops.c: DeviceKind.loops. */
extern const DeviceLoops cuda_loops;
/* device-cuda.c: makes the stream that records launches if there is none; false if this fails. cuda_captured returns
 * the graph of the launches recorded on it; NULL if this fails. */
bool cuda_has_capture(Device *d);
void *cuda_captured(Device *d);
/* The module whose kernels are loaded on the device. */
const Module *cuda_module(const Device *d);

#endif
