/* driver/device/device.h: devices, and the operations of each kind of device.
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
 * the program's dimension d. beside: the launch need not wait for the launches since the last fork; behind: with
 * `beside`, it still waits for those of them that are not `beside`. lane: the lane whose order it keeps
 * (DeviceKind.mark). */
typedef struct KernelLaunch {
  int32_t index;
  const Kernel *kernel;
  int64_t blocks[MAX_RANK];
  void **args;
  bool beside, behind;
  int lane;
  bool early; /* may begin before the launch ahead of it ends; its kernel waits (TargetInfo.early_launch) */
} KernelLaunch;

/* Lanes of a device that has marks. The work in one lane is done in order, and waits for other lanes only where
 * `follow` says so. Lane 0 takes all work that names no other lane. If the device can, blocks of the other lanes with
 * lower numbers go first. */
enum { LANE_MAIN, LANES = 12 };

/* Bytes of an identifier of one GPU, unique among all GPUs. */
enum { DEVICE_IDENTITY = 16 };
/* Bytes of a key with which another process opens a piece of a device's memory. */
enum { DEVICE_KEY = 64 };

/* Arguments of a run on a device that runs whole modules. */
typedef struct WholeRun {
  Binding *binding;
  int64_t steps;
  bool run_inits;
  const bool *skip_init;
} WholeRun;

/* What the driver reports about a loaded kernel: 32-bit registers and bytes of local memory (spilled values) of a
 * thread, bytes of shared memory of a block. */
typedef struct KernelInfo {
  int registers, local;
  int64_t shared;
} KernelInfo;

/* A copy of runs of bytes from one memory to another: count[0] x count[1] x count[2] runs of `n` bytes each, which are
 * from_stride[i] and to_stride[i] bytes apart; strides of dimension 1 are multiples of those of dimension 0. */
typedef struct Sending {
  const void *from;
  void *to;
  int64_t n, count[3], from_stride[3], to_stride[3];
} Sending;

/* A copy within a device's memory. */
typedef struct Copying {
  void *to;
  const void *from;
  size_t size;
} Copying;

/* A buffer for copies from a device's memory to the host that run beside launches. */
typedef struct Stage Stage;

/* The condition that ends launches that a device repeats by itself: the number at `value`, f64 if `real`, else i64,
 * compares with `limit` as `how` says, or is NaN. `limit` holds the bits of a number of the same type. */
typedef struct LoopTest {
  const void *value;
  bool real;
  Opcode how; /* OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE */
  int64_t limit;
} LoopTest;

/* Operations of a device that repeats launches by itself. A loop has one or two parts, which run in turn; after each
 * part the device evaluates the test. A function that returns bool returns false if the device cannot do it; the loop
 * exists until `forget` frees it, also after such a failure. */
typedef struct DeviceLoop DeviceLoop;
typedef struct DeviceLoops {
  DeviceLoop *(*begin)(Device *d, int parts, const LoopTest *test); /* NULL: the device cannot */
  bool (*record)(Device *d, DeviceLoop *l, int part);               /* launches that follow belong to this part */
  bool (*end_record)(Device *d, DeviceLoop *l, int part);           /* ends the part */
  bool (*end)(Device *d, DeviceLoop *l);                            /* ends the list of parts */
  /* Runs parts in turn, beginning with the first, until the test holds, but no more than `most`; waits; *made is the
   * number of parts that ran. */
  StcStatus (*run)(Device *d, DeviceLoop *l, int64_t most, int64_t *made);
  void (*forget)(Device *d, DeviceLoop *l);
} DeviceLoops;

/* A kind of device: a row of the device table. Functions report errors to d->w. All kinds have memory; a kind either
 * runs whole modules on it (`whole`, with `run`) or launches kernels. */
typedef struct DeviceKind {
  const char *name;
  const char *help;
  const char *arch; /* the architecture of its code: "nvptx", "amdgpu", "host"; NULL: any */
  bool whole;
  const char *index;            /* meaning of the number after the colon; NULL: no number allowed */
  StcStatus (*open)(Device *d); /* finds the device; sets limits, cpu and description */
  void (*close)(Device *d);
  StcStatus (*load)(Device *d, StcProgram *p, Build *b); /* ref: b is NULL */
  StcStatus (*compile)(Device *d, int kernel);           /* a late kernel (TargetInfo.late); NULL: it has none */
  StcStatus (*need)(Device *d, const bool *wanted); /* compiles and loads these kernels; NULL: load does, for all */
  StcStatus (*run)(Device *d, WholeRun *r);         /* if `whole` */
  StcStatus (*alloc)(Device *d, size_t size, void **memory); /* *memory NULL: no room */
  void (*release)(Device *d, void *memory, size_t size);
  bool (*room)(Device *d, double *left, double *total); /* its memory, bytes; NULL: this computer's memory */
  StcStatus (*put)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*fetch)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*copy)(Device *d, void *to, const void *from, size_t size); /* within its memory, in order with launches */
  StcStatus (*copies)(Device *d, int n, const Copying *list);            /* NULL: `copy` makes each */
  StcStatus (*launch)(Device *d, const KernelLaunch *l);
  StcStatus (*fork)(
      Device *d); /* what follows may run at the same time as launches that are `beside`; NULL: all run in order */
  StcStatus (*join)(Device *d);                  /* what follows waits for all launches before it */
  StcStatus (*start)(Device *d);                 /* starts the clock */
  StcStatus (*wait)(Device *d);                  /* until all launches have finished */
  StcStatus (*stop)(Device *d, double *seconds); /* waits; seconds since start */
  bool (*record)(Device *d); /* launches that follow are recorded, not run; NULL or false: the device cannot */
  bool (*end_record)(Device *d, void **kept); /* ends recording. False: it cannot */
  /* `shift` changes the launches in `kept` (of end_record) whose argument is the step: each takes the step of the
   * recording plus `by`. NULL, or `shifts` is false: the device cannot. */
  bool (*shifts)(Device *d);
  StcStatus (*shift)(Device *d, void *kept, int64_t by);
  /* Ends recording as end_record does, and replaces `*kept` (NULL: nothing), which may still be running. NULL, or
   * `renews` is false: the device cannot. */
  bool (*renews)(Device *d);
  bool (*renew)(Device *d, void **kept);
  StcStatus (*replay)(Device *d, void *kept); /* makes the recorded launches */
  /* If `on`, lane 0 uses a stream that becomes a part of another device's recording once it follows a mark of that
   * device; else its usual stream again. NULL: devices cannot record together. */
  StcStatus (*divert)(Device *d, bool on);
  void (*forget)(Device *d, void *kept);
  const DeviceLoops *loops;                          /* launches that the device repeats by itself; NULL: it cannot */
  StcStatus (*use_stream)(Device *d, void *stream);  /* later work goes to the caller's stream; NULL: no streams */
  StcStatus (*wait_event)(Device *d, void *event);   /* later work waits for the caller's event */
  StcStatus (*record_event)(Device *d, void *event); /* records the caller's event behind all work so far */
  bool (*holds)(Device *d, const void *memory);      /* can its kernels access that memory? NULL: any memory */
  /* Copies to the host while launches go on; NULL: only `fetch` copies. stage_new allocates a stage of `size` bytes
   * (*out NULL: no room). stage_fill copies as many bytes from `from`, in order with launches, and does not wait.
   * stage_values waits for them and returns them in memory of this computer; any thread may call it (NULL: *why tells
   * the reason). */
  StcStatus (*stage_new)(Device *d, size_t size, Stage **out);
  void (*stage_free)(Device *d, Stage *s);
  StcStatus (*stage_fill)(Device *d, Stage *s, const void *from);
  const void *(*stage_values)(Device *d, Stage *s, const char **why);
  /* As stage_fill, but copies `n` boxes of at most `bytes` bytes in all; `to` of each is an offset within the stage.
   * NULL: the device cannot. */
  StcStatus (*stage_gather)(Device *d, Stage *s, int n, const Sending *boxes, size_t bytes);
  /* Allocates and frees memory of this computer that the device copies at full speed (pinned memory); pinned_new
   * returns NULL if there is none left, or no such memory. */
  void *(*pinned_new)(Device *d, size_t size);
  void (*pinned_free)(Device *d, void *memory);
  /* Pins whole pages of allocated memory for all devices of the kind, and unpins them. False: this fails. */
  bool (*pin)(Device *d, void *memory, size_t size);
  void (*unpin)(Device *d, void *memory);
  /* Circular memory: `size` bytes of the device, a multiple of circle_step, mapped twice, one copy behind the other
   * (*memory NULL: no room). circle_step returns 0 if the device has no such memory; NULL: no device of the kind has
   * it. */
  size_t (*circle_step)(Device *d);
  StcStatus (*circle_new)(Device *d, size_t size, void **memory);
  void (*circle_free)(Device *d, void *memory, size_t size);
  /* Operations between two devices of this kind; NULL: copies go by way of the host. */
  bool (*near)(Device *d, Device *other);    /* can `d` send to `other`? */
  bool (*reaches)(Device *d, Device *other); /* can kernels of `d` store to `other`'s memory? NULL: no */
  StcStatus (*mark)(Device *d, int lane);    /* a mark behind all work so far in the lane */
  StcStatus (*follow)(Device *d, int lane, Device *other,
                      int of); /* the lane waits for the mark of lane `of` of `other` */
  StcStatus (*send)(Device *d, int lane, Device *to, const Sending *x); /* in the lane; waits for nothing else */
  /* Copies bytes between pinned memory of this computer and the device's memory, in the lane; the host does not wait.
   * NULL: the device cannot. */
  StcStatus (*carry)(Device *d, int lane, void *to, const void *from, size_t size, bool out);
  StcStatus (*await)(Device *d, int lane);              /* waits until its mark in the lane is reached */
  StcStatus (*reached)(Device *d, int lane, bool *yes); /* is that mark reached? */
  StcStatus (*stream)(Device *d, int lane, void **out); /* the driver's, for libraries; makes its context current */
  bool (*identity)(Device *d, unsigned char id[DEVICE_IDENTITY]); /* of the hardware, the same in all processes */
  /* Operations between processes of one machine; NULL: copies go by way of the host. share makes a key to memory of
   * `alloc`; open_key opens it in another process, for a device of this kind (NULL: it cannot), and close_key closes
   * it. */
  bool (*share)(Device *d, void *memory, unsigned char key[DEVICE_KEY]);
  void *(*open_key)(Device *d, const unsigned char key[DEVICE_KEY]);
  void (*close_key)(Device *d, void *memory);
  /* In the lane: `post` sets a flag in pinned memory to `value`; `heed` has later work wait until the flag is `value`
   * or one after it. */
  StcStatus (*post)(Device *d, int lane, void *flag, uint32_t value);
  StcStatus (*heed)(Device *d, int lane, void *flag, uint32_t value);
  int dlpack;                                              /* DLPack's number for its kind of memory */
  bool (*inspect)(Device *d, int kernel, KernelInfo *out); /* a loaded kernel; NULL or false: not known */
  int (*count)(void);                                      /* the number of devices; NULL: one */
  void (*list)(FILE *to); /* prints a line for each device, or why there is none; NULL: name and help are printed */
} DeviceKind;

/* A device in use by one plan. */
struct Device {
  const DeviceKind *kind;
  Workspace *w;
  int index;         /* the number after the colon; -1: none */
  const char *name;  /* "cuda:1" */
  const char *cpu;   /* the target's name for it; NULL: the default */
  TargetInfo limits; /* of this device; 0: unknown */
  const char *description;
  const Stop *stop;    /* ends launches on this computer with STC_INTERRUPTED on request; NULL: nothing ends them */
  double load_seconds; /* time that its driver took to load, perhaps compile, the code */
  /* The last operation that its driver refused, and the driver's name for the error; NULL: none. For callers that do
   * not report errors. */
  const char *refused;
  /* Recording uses as little of the driver as it can; tried after the usual way was refused. */
  bool plain;
  const Device *like; /* an equal device with loaded kernels, which this one launches; NULL: it loads its own */
  void *state;
};

/* DLPack's number for memory of this computer. */
enum { DEVICE_MEMORY_HERE = 1 };

extern const DeviceKind device_ref, device_sim, device_host, device_cuda, device_hip;
/* The table of kinds; its last entry is NULL. */
extern const DeviceKind *const device_table[];
/* Finds the device "name" or "name:INDEX" and opens it into *out. */
StcStatus device_open(Workspace *w, const char *name, Device *out);
/* The name of the first device of "cuda:0-3", "cuda:2,0" or "cuda:all"; `names` itself if it names one device. */
const char *device_first(Arena *a, const char *names);

/* memory.c: */

/* Writes a number of bytes as text for people: "512 MiB", "1.46 TiB"; the function for needed bytes rounds up. Both
 * return `to`. */
enum { MEMORY_TEXT = 32 };
char *memory_text(char to[MEMORY_TEXT], double bytes);
char *memory_text_up(char to[MEMORY_TEXT], double bytes);
/* Reports that this computer has no memory of so many bytes for `what` and `name`, "a copy of field", "A". Returns
 * STC_MEMORY. */
StcStatus computer_no_room(StcContext *c, const char *what, const char *name, double bytes);
/* Finds how many bytes this process may still have of this computer's memory, including swap, and how many there are;
 * and the same for a device's memory. Limits of control groups and of `ulimit -v` are respected. */
void computer_room(double *left, double *total);
void device_room(Device *d, double *left, double *total);
/* host-figures.c: figures of this CPU: its name as Linux gives it (empty: unknown); bytes of a core's second-level
 * cache and of the last cache (0: unknown); GB/s that one thread and all `threads` together get from memory, which is
 * measured when asked for, in some tenths of a second (0: no memory to measure with); GHz of a core, measured likewise.
 */
typedef struct HostFigures {
  char name[96];
  int threads;
  double own_cache, last_cache, core_bandwidth, bandwidth, clock;
} HostFigures;
void host_figures(int threads, HostFigures *out);
/* Bytes of the last cache; measures nothing. */
double host_last_cache(void);
/* GB/s that `threads` threads together get from arrays of `bytes` bytes in all which they read repeatedly, measured in
 * some milliseconds: the bandwidth of a step whose fields stay in the caches (0: as above). */
double host_cache_bandwidth(int threads, double bytes);
/* The default number of threads: the number of cores that this process may use. */
int host_threads(void);
/* Functions for devices that use this computer's memory: open and close do nothing; memory is allocated as zeros, freed
 * and copied; there is nothing to wait for. */
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

/* A file without a name in the folder for large files ($TMPDIR, else /var/tmp). used: the number of its bytes that are
 * mapped. */
typedef struct DiskFile {
  int file;
  size_t used;
  const char *folder;
} DiskFile;
/* Makes a file of `bytes` zeros for `what`, "the fields of heat"; *out lives as long as `w`. Warns if the folder is
 * itself in memory. STC_IO: the disk has no room. */
StcStatus disk_open(Workspace *w, const char *what, double bytes, DiskFile **out);
/* The bytes of the file that memory of `bytes` bytes takes: whole pages. */
size_t disk_room(size_t bytes);
/* Maps the next `room` bytes of the file (of disk_room) and returns them; *place is their offset in the file; NULL if
 * this fails. disk_unmap unmaps them. */
void *disk_map(DiskFile *f, size_t room, size_t *place);
void disk_unmap(void *memory, size_t room);
/* Copy `n` bytes from and to offset `place` of the file. If the disk fails, they return an error, unlike accesses to
 * mapped memory. */
StcStatus disk_read(Workspace *w, const DiskFile *f, size_t place, void *to, size_t n);
StcStatus disk_write(Workspace *w, const DiskFile *f, size_t place, const void *from, size_t n);
/* Asks the system to read these bytes in the background, as they are needed soon. */
void disk_foresee(const DiskFile *f, size_t place, size_t n);
/* Could the system write all that it has written to the file so far? It writes when it chooses. */
StcStatus disk_check(Workspace *w, const DiskFile *f);
void disk_close(DiskFile *f);

/* Allocates memory on the device (zeros, if it runs whole modules) for `what`, "field A"; reports an error if there is
 * no room. all: the bytes that the whole plan needs, for the report; 0: not reported. */
StcStatus device_alloc(Device *d, const char *what, size_t size, double all, void **memory);
/* Makes `n` copies within the device's memory, in order with launches; no copy may read what another one writes. */
StcStatus device_copies(Device *d, int n, const Copying *list);
/* Reports that lack of memory. Returns STC_DEVICE or STC_MEMORY, depending on whose memory it is. */
StcStatus device_no_room(Device *d, const char *what, double bytes, double all);
/* One thing that needs memory, "field A". The function checks that all `n` together fit into the memory that is left.
 */
typedef struct Need {
  const char *what;
  double bytes;
} Need;
StcStatus needs_check(Device *d, int n, const Need *needs);
/* Writes what a plan of the program needs at least, its stored fields and arrays, to a new array *out in `a`, and
 * returns their number. `scalars`: the module's scalars. Kernels may need more. */
int program_needs(const StcProgram *p, Arena *a, const Const *scalars, Need **out);

/* The largest number of launches in the host part of `m` that run beside one launch. */
int launches_beside(const Module *m);

#endif
