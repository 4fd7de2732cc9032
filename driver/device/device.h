/* driver/device/device.h: devices, and what a kind of them can do.
 *
 *   device.c        the table of kinds
 *   device-ref.c    the interpreter of stencil IR
 *   device-sim.c    the simulator
 *   device-host.c   this CPU (host.h)
 *   device-cuda.c   NVIDIA's GPUs, libcuda.so.1 by dlopen (cuda.h)
 *   device-hip.c    AMD's GPUs, libamdhip64.so by dlopen
 *   gpu.h, gpu.c    what these two share
 *   circle.c        circular memory of this computer
 *   disk.c          memory of this computer that is a file
 *   code-cache.h    where NVIDIA's driver keeps compiled kernels
 *   object-cache.h  where kernels for this CPU are kept
 *   memory.c        how much memory there is, and asking for it
 */
#ifndef STC_DRIVER_DEVICE_H
#define STC_DRIVER_DEVICE_H

#include "driver/program/program.h"

typedef struct Device Device;

/* One kernel launch. args[i] points to the value of the kernel's argument i; blocks[d] is the number of blocks along
 * the program's dimension d. beside: it need not wait for the launches since the last fork; behind: but for those that
 * are not beside it. lane: what it is in order with (DeviceKind.mark). */
typedef struct KernelLaunch {
  int32_t index;
  const Kernel *kernel;
  int64_t blocks[MAX_RANK];
  void **args;
  bool beside, behind;
  int lane;
  bool early; /* right behind another launch in its lane, by kernels that wait (TargetInfo.early_launch) */
} KernelLaunch;

/* Lanes of a device that has marks: what is in one is done in order, and waits for other lanes where it is told to.
 * Lane 0 is where all goes that is not said to be in another. Of launches in others those in lanes of lower numbers are
 * given room first, if the device can. */
enum { LANE_MAIN, LANES = 12 };

/* Bytes of what says which GPU of all there are in the world one is. */
enum { DEVICE_IDENTITY = 16 };
/* Bytes of what another process opens a piece of a device's memory with. */
enum { DEVICE_KEY = 64 };

/* What a device that runs whole modules is given. */
typedef struct WholeRun {
  Binding *binding;
  int64_t steps;
  bool run_inits;
  const bool *skip_init;
} WholeRun;

/* What the driver says of a kernel that it has loaded: 32-bit registers and bytes of local memory (what did not fit the
 * registers) a thread, bytes of shared memory a block. */
typedef struct KernelInfo {
  int registers, local;
  int64_t shared;
} KernelInfo;

/* Runs of bytes from one memory to another: `n` bytes each, count[0] x count[1] x count[2] of them, which are
 * from_stride[i] and to_stride[i] bytes apart; the second's strides are multiples of the first's. */
typedef struct Sending {
  const void *from;
  void *to;
  int64_t n, count[3], from_stride[3], to_stride[3];
} Sending;

/* A piece of a device's memory that is copied within it. */
typedef struct Copying {
  void *to;
  const void *from;
  size_t size;
} Copying;

/* Where values of a device's memory are on their way out. */
typedef struct Stage Stage;

/* When launches that a device repeats by itself end: the number at `value`, f64 (`real`) or i64, compares with `limit`,
 * the number of that type with these bits, as `how` says, or is NaN. */
typedef struct LoopTest {
  const void *value;
  bool real;
  Opcode how; /* OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE */
  int64_t limit;
} LoopTest;

/* What repeats launches by itself can do. A loop has one or two parts that are made in turn; behind each the test is
 * made. All but `run` say by false that the device cannot; the loop is there until `forget`, whatever the others say.
 */
typedef struct DeviceLoop DeviceLoop;
typedef struct DeviceLoops {
  DeviceLoop *(*begin)(Device *d, int parts, const LoopTest *test); /* NULL: it cannot */
  bool (*record)(Device *d, DeviceLoop *l, int part);               /* from now on launches are those of the part */
  bool (*end_record)(Device *d, DeviceLoop *l, int part);           /* until now */
  bool (*end)(Device *d, DeviceLoop *l);                            /* that were all */
  /* Makes parts, beginning with the first, until the test ends them, at most `most`; waits; *made of them. */
  StcStatus (*run)(Device *d, DeviceLoop *l, int64_t most, int64_t *made);
  void (*forget)(Device *d, DeviceLoop *l);
} DeviceLoops;

/* A kind of device: a row of the device table. Functions report errors to d->w. All have memory; a device either
 * runs modules as a whole (run) on it, or launches kernels. */
typedef struct DeviceKind {
  const char *name;
  const char *help;
  const char *arch; /* what it runs: "nvptx", "amdgpu", "host"; NULL: whatever is asked */
  bool whole;
  const char *index;            /* what the number after the colon means; NULL: none may be given */
  StcStatus (*open)(Device *d); /* finds it; fills limits, cpu and description */
  void (*close)(Device *d);
  StcStatus (*load)(Device *d, StcProgram *p, Build *b); /* ref: b is NULL */
  StcStatus (*compile)(Device *d, int kernel);           /* a late kernel (TargetInfo.late); NULL: there are none */
  StcStatus (*need)(Device *d, const bool *wanted); /* compiles and loads those kernels; NULL: load does, all of them */
  StcStatus (*run)(Device *d, WholeRun *r);         /* whole only */
  StcStatus (*alloc)(Device *d, size_t size, void **memory); /* *memory NULL: no room */
  void (*release)(Device *d, void *memory, size_t size);
  bool (*room)(Device *d, double *left, double *total); /* bytes of its memory; NULL: it is this computer's */
  StcStatus (*put)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*fetch)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*copy)(Device *d, void *to, const void *from, size_t size); /* within its memory, in order with launches */
  StcStatus (*copies)(Device *d, int n, const Copying *list);            /* `n` of these; NULL: one after the other */
  StcStatus (*launch)(Device *d, const KernelLaunch *l);
  StcStatus (*fork)(
      Device *d); /* what follows may run at the same time as launches that are beside it; NULL: all run in order */
  StcStatus (*join)(Device *d);                  /* what follows waits for both again */
  StcStatus (*start)(Device *d);                 /* starts the clock */
  StcStatus (*wait)(Device *d);                  /* until all launches are done */
  StcStatus (*stop)(Device *d, double *seconds); /* waits; seconds since start */
  bool (*record)(Device *d); /* from now on launches are kept, not made; NULL, or false: the device cannot */
  bool (*end_record)(Device *d, void **kept); /* until now. False: it cannot */
  /* Has the launches that take the step, of what end_record left, take one `by` behind that which they were kept with;
   * NULL, or not `shifts`: it cannot. */
  bool (*shifts)(Device *d);
  StcStatus (*shift)(Device *d, void *kept, int64_t by);
  /* Until now, as end_record, in place of what `*kept` (NULL: nothing) has, which may still be under way; NULL, or not
   * `renews`: it cannot. */
  bool (*renews)(Device *d);
  bool (*renew)(Device *d, void **kept);
  StcStatus (*replay)(Device *d, void *kept); /* makes the launches that were kept */
  /* Lane 0 stands, or no longer stands, for one that joins what another device keeps, once it follows a mark of that
   * one's; NULL: devices cannot keep anything together. */
  StcStatus (*divert)(Device *d, bool on);
  void (*forget)(Device *d, void *kept);
  const DeviceLoops *loops;                          /* launches that the device repeats by itself; NULL: it cannot */
  StcStatus (*use_stream)(Device *d, void *stream);  /* all that follows goes to the caller's; NULL: there are none */
  StcStatus (*wait_event)(Device *d, void *event);   /* what follows waits for the caller's event */
  StcStatus (*record_event)(Device *d, void *event); /* which is recorded behind all there was so far */
  bool (*holds)(Device *d, const void *memory);      /* can its kernels work on that memory? NULL: on all */
  /* Values on their way out while launches go on; NULL: only by `fetch`. Room for `size` bytes (*out NULL: there is
   * none); taking as many from `from`, in order with launches, without a wait; and, for any thread, the values on this
   * computer once they are there (NULL: *why not). */
  StcStatus (*stage_new)(Device *d, size_t size, Stage **out);
  void (*stage_free)(Device *d, Stage *s);
  StcStatus (*stage_fill)(Device *d, Stage *s, const void *from);
  const void *(*stage_values)(Device *d, Stage *s, const char **why);
  /* Takes `n` boxes of no more than `bytes` in all in place of that; `to` of each is a distance within the stage. NULL:
   * it cannot. */
  StcStatus (*stage_gather)(Device *d, Stage *s, int n, const Sending *boxes, size_t bytes);
  /* Memory of this computer that is copied to and from the device at full speed; NULL: there is none left, or no such
   * thing. Its return. */
  void *(*pinned_new)(Device *d, size_t size);
  void (*pinned_free)(Device *d, void *memory);
  /* The same of memory that is there already, whole pages of it, for all devices of the kind. False: it cannot be. */
  bool (*pin)(Device *d, void *memory, size_t size);
  void (*unpin)(Device *d, void *memory);
  /* Memory of `size` bytes of the device, a multiple of circle_step (0: it has no such memory; NULL: nor has the kind),
   * which is there twice, one behind the other (*memory NULL: no room). Its return. */
  size_t (*circle_step)(Device *d);
  StcStatus (*circle_new)(Device *d, size_t size, void **memory);
  void (*circle_free)(Device *d, void *memory, size_t size);
  /* Between two devices of this kind; NULL: only by way of the host. */
  bool (*near)(Device *d, Device *other);    /* can `d` send to the other one? */
  bool (*reaches)(Device *d, Device *other); /* do kernels of `d` store to its memory? NULL: they do not */
  StcStatus (*mark)(Device *d, int lane);    /* a place behind all there was so far in the lane */
  StcStatus (*follow)(Device *d, int lane, Device *other,
                      int of); /* the lane waits for the other's mark of lane `of` */
  StcStatus (*send)(Device *d, int lane, Device *to, const Sending *x); /* in the lane; waits for nothing else */
  /* Bytes between pinned memory of this computer and the device's, in the lane; nobody waits. NULL: it cannot. */
  StcStatus (*carry)(Device *d, int lane, void *to, const void *from, size_t size, bool out);
  StcStatus (*await)(Device *d, int lane);              /* until its mark in the lane is reached */
  StcStatus (*reached)(Device *d, int lane, bool *yes); /* is it? */
  StcStatus (*stream)(Device *d, int lane, void **out); /* the driver's own for the lane, for libraries; current */
  bool (*identity)(Device *d, unsigned char id[DEVICE_IDENTITY]); /* of the hardware, the same in all processes */
  /* Between processes of one machine; NULL: only by way of the host. The key to memory of `alloc`'s, which another
   * process that has a device of this kind opens (NULL: it cannot) and closes. */
  bool (*share)(Device *d, void *memory, unsigned char key[DEVICE_KEY]);
  void *(*open_key)(Device *d, const unsigned char key[DEVICE_KEY]);
  void (*close_key)(Device *d, void *memory);
  /* In the lane: a flag in pinned memory becomes `value`; all that follows waits until it has, or one further on. */
  StcStatus (*post)(Device *d, int lane, void *flag, uint32_t value);
  StcStatus (*heed)(Device *d, int lane, void *flag, uint32_t value);
  int dlpack;                                              /* DLPack's number for where its memory is */
  bool (*inspect)(Device *d, int kernel, KernelInfo *out); /* of a loaded kernel; NULL, or false: not known */
  int (*count)(void);                                      /* how many there are; NULL: one */
  void (*list)(FILE *to); /* a line for each device there is, or why there is none; NULL: its name and help */
} DeviceKind;

/* A device in use by one plan. */
struct Device {
  const DeviceKind *kind;
  Workspace *w;
  int index;         /* what came after the colon; -1 nothing */
  const char *name;  /* "cuda:1" */
  const char *cpu;   /* the target's name for it, NULL the default */
  TargetInfo limits; /* of the device at hand; 0 where unknown */
  const char *description;
  const Stop *stop; /* ends launches on this computer when it asks for it, with STC_INTERRUPTED; NULL: nothing does */
  double load_seconds; /* that its driver took for the code, compiling it perhaps */
  /* What its driver last refused, and the driver's name for why, NULL: nothing; for who keeps errors silent. */
  const char *refused;
  /* Recording is to ask as little of the driver as can be: the way to try where the usual one was refused. */
  bool plain;
  const Device *like; /* one that is the same, whose kernels it launches once they are loaded there; NULL: its own */
  void *state;
};

/* DLPack's number for memory of this computer. */
enum { DEVICE_MEMORY_HERE = 1 };

extern const DeviceKind device_ref, device_sim, device_host, device_cuda, device_hip;
/* The table, ended by NULL. */
extern const DeviceKind *const device_table[];
/* Finds "name" or "name:INDEX" and opens it into *out. */
StcStatus device_open(Workspace *w, const char *name, Device *out);
/* The first device of "cuda:0-3", "cuda:2,0" or "cuda:all"; the name itself if it is of one. */
const char *device_first(Arena *a, const char *names);

/* memory.c: */

/* So many bytes for people: "512 MiB", "1.46 TiB"; of what is needed, no less than it. Return `to`. */
enum { MEMORY_TEXT = 32 };
char *memory_text(char to[MEMORY_TEXT], double bytes);
char *memory_text_up(char to[MEMORY_TEXT], double bytes);
/* Reports that there is no memory here for `what` and `name`, "a copy of field", "A", of so many bytes. Returns
 * STC_MEMORY. */
StcStatus computer_no_room(StcContext *c, const char *what, const char *name, double bytes);
/* How many bytes this process may still have of this computer's memory, swap counted, and how many there are; the same
 * of a device's. Limits of control groups and of `ulimit -v` count. */
void computer_room(double *left, double *total);
void device_room(Device *d, double *left, double *total);
/* host-figures.c: this CPU: what Linux calls it (empty: it does not say), bytes of the second-level cache of a core and
 * of the last cache (0: not known), GB/s that one thread gets from memory and all `threads` together, measured at once
 * in some tenths of a second (0: there was no memory to measure with); GHz that a core runs at, likewise. */
typedef struct HostFigures {
  char name[96];
  int threads;
  double own_cache, last_cache, core_bandwidth, bandwidth, clock;
} HostFigures;
void host_figures(int threads, HostFigures *out);
/* Bytes of the last cache, by itself. */
double host_last_cache(void);
/* GB/s that `threads` threads together get from arrays of `bytes` bytes in all that they come back to, measured in some
 * milliseconds: what a step gets whose fields stay in the caches (0: as above). */
double host_cache_bandwidth(int threads, double bytes);
/* Threads that it runs by default: the cores that this process may use. */
int host_threads(void);
/* Functions of devices whose memory is this computer's: nothing to find and to give back; zeros, their return, copies;
 * there is nothing to wait for. */
StcStatus here_open(Device *d);
void here_close(Device *d);
StcStatus here_alloc(Device *d, size_t size, void **memory);
void here_release(Device *d, void *memory, size_t size);
StcStatus here_copy(Device *d, void *to, const void *from, size_t size);
StcStatus here_wait(Device *d);
#define HERE_DEVICE \
  .alloc = here_alloc, .release = here_release, .put = here_copy, .fetch = here_copy, .copy = here_copy, \
  .wait = here_wait
size_t here_circle_step(Device *d);
StcStatus here_circle_new(Device *d, size_t size, void **memory);
void here_circle_free(Device *d, void *memory, size_t size);

/* disk.c: */

/* A file without a name in the folder for large ones ($TMPDIR, else /var/tmp); used: bytes of it that are mapped. */
typedef struct DiskFile {
  int file;
  size_t used;
  const char *folder;
} DiskFile;
/* Makes one of so many bytes, zeros, for `what`, "the fields of heat"; *out lives as long as `w`. Warns where its
 * folder is in memory itself. STC_IO: the disk has no room. */
StcStatus disk_open(Workspace *w, const char *what, double bytes, DiskFile **out);
/* The bytes of the file that memory of so many bytes takes: whole pages. */
size_t disk_room(size_t bytes);
/* The next `room` bytes of the file, of disk_room, as memory, *place where in the file they are; NULL: it cannot be.
 * Its end. */
void *disk_map(DiskFile *f, size_t room, size_t *place);
void disk_unmap(void *memory, size_t room);
/* Copies `n` bytes from place `place` of the file, and to it: unlike reading and writing the memory that is mapped, a
 * disk that fails is an error. */
StcStatus disk_read(Workspace *w, const DiskFile *f, size_t place, void *to, size_t n);
StcStatus disk_write(Workspace *w, const DiskFile *f, size_t place, const void *from, size_t n);
/* Has the system read these bytes beside all else: they are asked for soon. */
void disk_foresee(const DiskFile *f, size_t place, size_t n);
/* Could all be written that the system has written so far? It writes when it sees fit. */
StcStatus disk_check(Workspace *w, const DiskFile *f);
void disk_close(DiskFile *f);

/* Memory on the device (of whole ones: here, zeros) for `what`, "field A"; a report says that it does not fit. all: the
 * bytes that all of the plan takes, 0: not to be said. */
StcStatus device_alloc(Device *d, const char *what, size_t size, double all, void **memory);
/* Makes `n` copies within the device's memory, in order with launches, none of which reads what another one writes. */
StcStatus device_copies(Device *d, int n, const Copying *list);
/* That report. STC_DEVICE or STC_MEMORY, by whose memory it is. */
StcStatus device_no_room(Device *d, const char *what, double bytes, double all);
/* Something that needs memory, "field A"; checks that the `n` fit into what is left together. */
typedef struct Need {
  const char *what;
  double bytes;
} Need;
StcStatus needs_check(Device *d, int n, const Need *needs);
/* What a plan of the program, whose module's scalars are `scalars`, needs at least: fields that last, and arrays, into
 * a new array *out in `a`; their number. Its kernels may need more. */
int program_needs(const StcProgram *p, Arena *a, const Const *scalars, Need **out);

/* How many launches the host part of `m` has beside one, at most. */
int launches_beside(const Module *m);

#endif
