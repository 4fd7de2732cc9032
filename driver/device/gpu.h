/* driver/device/gpu.h: code that the devices for NVIDIA's and AMD's GPUs share (private to device-cuda.c and
 * device-hip.c): memory, streams, events and kernels, which have different names in the two drivers, but the same
 * arguments and numbers. Finding a device and launching differ and are in those two files. The functions are those of
 * DeviceKind (device.h). */
#ifndef STC_DEVICE_GPU_H
#define STC_DEVICE_GPU_H

#include "driver/device/device.h"
#include "driver/program/program.h"

/* Numbers that are equal in both interfaces: results of calls, attributes of a kernel, a stream that does not wait for
 * the NULL stream, an event without timing. */
enum {
  GPU_OUT_OF_MEMORY = 2,
  GPU_NO_DEVICE = 100,
  GPU_FUNC_SHARED = 1,
  GPU_FUNC_LOCAL = 3,
  GPU_FUNC_REGISTERS = 4,
  GPU_STREAM_NON_BLOCKING = 1,
  GPU_EVENT_DISABLE_TIMING = 2
};

/* Entry points that differ only in their names. Each returns 0 or an error number. Device pointers are 64 bits wide in
 * both. */
typedef struct GpuCalls {
  int (*memory_info)(size_t *left, size_t *total);
  int (*memory_alloc)(void **p, size_t size);
  int (*memory_free)(void *p);
  int (*copy_in)(void *to, const void *from, size_t size);
  int (*copy_out)(void *to, const void *from, size_t size);
  int (*copy_within)(void *to, const void *from, size_t size, void *stream);
  int (*copy_out_async)(void *to, const void *from, size_t size, void *stream);
  int (*host_free)(void *p);
  int (*module_unload)(void *module);
  int (*module_function)(void **f, void *module, const char *name);
  int (*function_info)(int *value, int attribute, void *f);
  int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                void *stream, void **args, void **extra);
  int (*synchronize)(void);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_destroy)(void *stream);
  int (*stream_synchronize)(void *stream);
  int (*stream_wait)(void *stream, void *e, unsigned flags);
  int (*event_create)(void **e, unsigned flags);
  int (*event_destroy)(void *e);
  int (*event_record)(void *e, void *stream);
  int (*event_synchronize)(void *e);
  int (*event_elapsed)(float *milliseconds, void *start, void *end);
} GpuCalls;

/* The name of an entry point, and the offset of its member in a struct. */
typedef struct GpuEntry {
  const char *name;
  size_t offset;
} GpuEntry;
/* Finds `n` entry points of the library and writes them to the struct at `to`; false if one is missing. */
bool gpu_find_entries(void *library, const GpuEntry *e, size_t n, void *to);

/* The largest number of launches that run at the same time as one. */
enum { GPU_BESIDE = 8 };

/* The first member of each GPU's state. */
typedef struct Gpu {
  void *library;
  GpuCalls call;
  /* Returns STC_OK if `e` is success; else reports an error that names `what`. */
  StcStatus (*check)(Device *d, int e, const char *what);
  /* Makes this device the current one of the calling thread, where another plan may have set its own. */
  StcStatus (*use)(Device *d);
  /* For other threads, which cannot report errors: the same, returning the error number; and the driver's text for it.
   */
  int (*make_current)(Device *d);
  const char *(*words)(Device *d, int e);
  /* Allocates memory of this computer that the device copies to by itself; returns the error number. */
  int (*host_alloc)(Device *d, void **p, size_t size);
  void *module, *begin, *end;
  void *user;               /* the caller's stream; NULL: the default one */
  void *stream;             /* the stream for launches: `user`, or the recording one */
  void *beside[GPU_BESIDE]; /* streams for launches beside others, used in turn; as many as the kernels need */
  void *joined[GPU_BESIDE]; /* the events behind these streams' work, for which others wait */
  void *forked;             /* the event for which those streams wait */
  int nbeside, turn;        /* their number; launches on them since that event */
  void *out;                /* the stream for copies to the host beside launches; NULL: not made yet */
  void *lanes[LANES];       /* streams of lanes other than 0; NULL: not made yet */
  void **functions;         /* of the module's kernels; NULL: not loaded yet */
  unsigned *dynamic;        /* bytes of dynamic shared memory of each */
  /* As call.launch, but the launch may begin before the one ahead of it in the stream has ended; NULL: the device
   * cannot do this, or the kernels do not wait. */
  int (*launch_early)(Device *d, void *f, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
                      void **args);
} Gpu;

/* Finds the code's kernels in the module, if it is loaded, and makes events and streams for them. */
StcStatus gpu_prepare(Device *d, const Compiled *code);
/* Unloads the module and destroys streams and events. */
void gpu_drop(Device *d);
/* Launches with these arguments, in one of the interface's two forms: `args` or `extra`. Hardware dimension x is the
 * program's last dimension; the grid is counted in blocks. */
StcStatus gpu_launch(Device *d, const KernelLaunch *l, void **args, void **extra);

bool gpu_room(Device *d, double *left, double *total);
StcStatus gpu_alloc(Device *d, size_t size, void **memory);
void gpu_release(Device *d, void *memory, size_t size);
StcStatus gpu_put(Device *d, void *to, const void *from, size_t size);
StcStatus gpu_fetch(Device *d, void *to, const void *from, size_t size);
StcStatus gpu_copy(Device *d, void *to, const void *from, size_t size);
StcStatus gpu_stage_new(Device *d, size_t size, Stage **out);
void gpu_stage_free(Device *d, Stage *s);
StcStatus gpu_stage_gather(Device *d, Stage *s, int n, const Sending *boxes, size_t bytes);
StcStatus gpu_stage_fill(Device *d, Stage *s, const void *from);
const void *gpu_stage_values(Device *d, Stage *s, const char **why);
void *gpu_pinned_new(Device *d, size_t size);
void gpu_pinned_free(Device *d, void *memory);
bool gpu_inspect(Device *d, int kernel, KernelInfo *out);
StcStatus gpu_fork(Device *d);
StcStatus gpu_join(Device *d);
StcStatus gpu_start(Device *d);
StcStatus gpu_wait(Device *d);
StcStatus gpu_stop(Device *d, double *seconds);
StcStatus gpu_use_stream(Device *d, void *stream);
StcStatus gpu_wait_event(Device *d, void *event);
StcStatus gpu_record_event(Device *d, void *event);

/* The functions above, as members of a DeviceKind. */
#define GPU_DEVICE \
  .alloc = gpu_alloc, .room = gpu_room, .release = gpu_release, .put = gpu_put, .fetch = gpu_fetch, .copy = gpu_copy, \
  .stage_new = gpu_stage_new, .stage_free = gpu_stage_free, .stage_fill = gpu_stage_fill, \
  .stage_values = gpu_stage_values, .pinned_new = gpu_pinned_new, .pinned_free = gpu_pinned_free, \
  .use_stream = gpu_use_stream, .wait_event = gpu_wait_event, .record_event = gpu_record_event, .fork = gpu_fork, \
  .join = gpu_join, .start = gpu_start, .wait = gpu_wait, .stop = gpu_stop

#endif
