/* driver/device/gpu.h: what the drivers of NVIDIA's and AMD's GPUs have in common (private to device-cuda.c and
 * device-hip.c): memory, streams, events and kernels under other names, with the same arguments and numbers. What
 * differs, finding a device and launching, is in the files of the two. Functions are those of DeviceKind (device.h). */
#ifndef STC_DEVICE_GPU_H
#define STC_DEVICE_GPU_H

#include "driver/device/device.h"
#include "driver/program/program.h"

/* Numbers that both interfaces have: results of calls, what to ask of a kernel, a stream that does not wait for the one
 * that is NULL, an event that takes no time. */
enum {
  GPU_OUT_OF_MEMORY = 2,
  GPU_NO_DEVICE = 100,
  GPU_FUNC_SHARED = 1,
  GPU_FUNC_LOCAL = 3,
  GPU_FUNC_REGISTERS = 4,
  GPU_STREAM_NON_BLOCKING = 1,
  GPU_EVENT_DISABLE_TIMING = 2
};

/* Entry points that differ in nothing but their names. Each returns 0, or the number of an error. Pointers to the
 * device's memory are 64 bits wide in both. */
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

/* Name of an entry point, and its place in the struct that holds it. */
typedef struct GpuEntry {
  const char *name;
  size_t offset;
} GpuEntry;
/* Finds `n` entry points of the library, for the struct at `to`; false if one is missing. */
bool gpu_find_entries(void *library, const GpuEntry *e, size_t n, void *to);

/* The most launches that run at the same time as one. */
enum { GPU_BESIDE = 8 };

/* What the state of a GPU begins with. */
typedef struct Gpu {
  void *library;
  GpuCalls call;
  /* STC_OK if `e` is success, else an error that says what `what` was. */
  StcStatus (*check)(Device *d, int e, const char *what);
  /* Makes the device the one that this thread's calls are for: another plan's may be. */
  StcStatus (*use)(Device *d);
  /* For other threads, which cannot report: the same as the number of an error, and the driver's words for one. */
  int (*make_current)(Device *d);
  const char *(*words)(Device *d, int e);
  /* Memory of this computer that the device copies to by itself; the number of an error. */
  int (*host_alloc)(Device *d, void **p, size_t size);
  void *module, *begin, *end;
  void *user;               /* the caller's stream, NULL: the default one */
  void *stream;             /* the one that launches go to: the caller's, or while recording that for it */
  void *beside[GPU_BESIDE]; /* those for launches that are beside others, which take turns, as many as the kernels have
                               use for, */
  void *joined[GPU_BESIDE]; /* the events that tell that these are done, which others wait for, */
  void *forked;             /* and the one that they wait for */
  int nbeside, turn;        /* how many there are, how many launches were made on them since that event */
  void *out;                /* the stream for copies to the host beside launches, NULL: none was needed yet */
  void *lanes[LANES];       /* those of lanes but the main one; NULL: not used yet */
  void **functions;         /* of the module's kernels; NULL: not loaded yet */
  unsigned *dynamic;        /* dynamic shared bytes of each */
  /* The same as call.launch for one that may begin before the launch ahead of it in the stream has ended; NULL: there
   * is no such thing, or the kernels do not wait. */
  int (*launch_early)(Device *d, void *f, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
                      void **args);
} Gpu;

/* Finds the kernels of the code in the module, if that is loaded, and makes events and streams for them. */
StcStatus gpu_prepare(Device *d, const Compiled *code);
/* Gives the module, streams and events back. */
void gpu_drop(Device *d);
/* Launches with these arguments, in the one or the other way of the interface. Hardware x is the program's last
 * dimension, the grid is counted in blocks. */
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

/* The functions above that are members of a DeviceKind. */
#define GPU_DEVICE \
  .alloc = gpu_alloc, .room = gpu_room, .release = gpu_release, .put = gpu_put, .fetch = gpu_fetch, .copy = gpu_copy, \
  .stage_new = gpu_stage_new, .stage_free = gpu_stage_free, .stage_fill = gpu_stage_fill, \
  .stage_values = gpu_stage_values, .pinned_new = gpu_pinned_new, .pinned_free = gpu_pinned_free, \
  .use_stream = gpu_use_stream, .wait_event = gpu_wait_event, .record_event = gpu_record_event, .fork = gpu_fork, \
  .join = gpu_join, .start = gpu_start, .wait = gpu_wait, .stop = gpu_stop

#endif
