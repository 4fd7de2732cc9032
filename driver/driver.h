/* driver/driver.h: what ties the parts together. Table of contents of this folder:
 *
 *   stc.h           the public C interface (libstc)
 *   context.c       contexts, messages, running out of memory, the version
 *   compile.c       a program: text -> stencil IR -> passes -> kernel IR -> artifact
 *   budget.c        what programs of very many stencils do without, to compile in seconds
 *   define.c        a param's value as text
 *   plugin.c        passes from shared objects
 *   grid.c          the size of the grid, as far as it is known
 *   declared.c      fields as the program declares them: components, names, NumPy's types
 *   describe.c      a schedule in a line
 *   plan.c          a program on a device: checks and memory
 *   plan-data.c     a plan's fields and arrays, in and out
 *   plan-bind.c     fields in memory of the caller's; DLPack (dlpack.h)
 *   plan-async.c    runs that nobody waits for, streams and events
 *   plan-points.c   lists of points, what probes see
 *   plan-run.c      the time loop of Algorithm 5, reductions between its steps
 *   plan-state.c    what else a run needs that goes on elsewhere
 *   plan-watch.c    who looks at fields while a plan runs
 *   plan-steps.c    going on from a later step, arrays with an element a step
 *   plan-replay.c   launches recorded once and made in one go
 *   device/         device.c the table of devices; device-ref.c the interpreter of stencil IR; device-sim.c the
 *                   simulator; device-host.c this CPU, crew.c its threads; device-cuda.c libcuda.so.1 by dlopen;
 *                   device-hip.c libamdhip64.so by dlopen; gpu.h what these two share; memory.c how much memory there
 *                   is, and asking for it
 *   lsp/lsp.h       `stc lsp`, what editors ask
 *   split/split.h   plans whose grid is cut into parts
 *   tune/           trial.h: a program under one schedule, verified and timed; tune.h: `stc tune`
 *   bench/bench.h   `stc bench`          explain/explain.h  `stc explain`
 *   manifest.c      the artifact's manifest (JSON)      header.c  the host artifact's C header
 *   header.h        what header.c and launcher.c share: a GPU's artifact as a C file that runs it (launcher-runtime.c
 *                   what is the same in all of them); outside.c their functions for callers in other files
 *   shared-object.c the host artifact as a shared object, fortran.c a Fortran module for it
 *   expression.c    launch-time expressions as C text and as a JSON tree
 *   check.c         comparing with the reference
 *   data/           files.c files written whole or not at all; npy.c png.c random.c values.c fields in and out;
 *                   series.c reductions' values, as text and as a file; writer.h files that are written while a
 *                   program runs: their formats, the thread that writes them
 *   shared/         libstc.so, and the packages for CMake and pkg-config
 *   options.h       the command's options as tables (options-table.c): options.c parsing, help.c, man.c the manual
 *                   page, completion.c for shells       command.c  format.c  run.c  run-*.c  its commands
 *   depfile.c       what an artifact was made from, for make
 *   entry.c         the command as a function, main.c  as a program     commit.c  which commit it was made from
 */
#ifndef STC_DRIVER_H
#define STC_DRIVER_H

#include "backend/backend.h"
#include "driver/stc.h"
#include "frontend/frontend.h"
#include "ir/ir.h"
#include "passes/passes.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* ---------------------------------------------------------------- contexts: context.c */

/* The commit that this was made from, "6e65149c2a01" or "6e65149c2a01-dirty"; "" if it was made from a tarball. Tests
 * are linked without it: its address is NULL there. */
extern const char commit_made_from[] __attribute__((weak));

struct StcContext {
  ReallocFn realloc;
  void (*message)(void *user, const StcMessage *m);
  void *user;
  bool command; /* the stc command's: messages name its options */
  bool verbose; /* -v: context_remark is heard */
};

/* An arena and its messages, made for one object of the interface. `muted` drops all messages but errors. A plan's
 * workspace has its program's as parent, whose messages it uses: they know the source text. */
typedef struct Workspace {
  StcContext *context;
  Arena *arena;
  Diags *diags;
  bool muted;
  struct Workspace *parent;
  jmp_buf *handler;
} Workspace;
/* Fills `w`, which must not move afterwards. parent may be NULL. False when out of memory. */
bool workspace_open(Workspace *w, StcContext *c, Workspace *parent);
void workspace_close(Workspace *w);
/* Calls fn(arg) and returns its status, or STC_MEMORY (after a message) when the arena ran out of memory meanwhile. */
StcStatus workspace_guard(Workspace *w, StcStatus (*fn)(void *arg), void *arg);
/* stc_context_new for the command, whose messages name its options. */
StcContext *context_of_command(const StcConfig *config);
/* Reports an error without a place. */
void context_error(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a warning, and for what is done, which only -v shows. */
void context_warning(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void context_remark(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What a message calls an option: "-T" in the command, the member of StcOptions, "T", to callers of the interface. */
static inline const char *option_name(const StcContext *c, const char *option, const char *member) {
  return c->command ? option : member;
}

/* ---------------------------------------------------------------- programs: compile.c */

typedef enum SourceKind { SOURCE_STN, SOURCE_SIR, SOURCE_KIR } SourceKind;

/* A program's kernel IR for one target. `schedule` is what its schedule came to; family NULL where kernels or passes
 * were given. */
typedef struct Compiled {
  const Target *target;
  Module *module;
  Schedule schedule;
  double seconds;
} Compiled;

/* A program compiled for a device, kept with the program: kernels do not depend on the params, so all plans on that
 * device share it whose grids are of one size, about (program_size). Code objects and JIT code are made by the device
 * when it first loads it. */
typedef struct Build {
  const char *device;
  int64_t grid[MAX_RANK];
  Compiled code;
  char *bytes;
  size_t size;
  Jit *jit;
  struct Build *next;
} Build;

/* A field as the program declares it, which is what files and users of the interface speak of: a field of the module,
 * or one that pass scalarize made a record of. field: its number, or that of the first of the record's `ncomponents`
 * fields. names[i] is "v.0", a component's name for files; dtype and axes are as in StcFieldInfo. first: the number of
 * its component 0 among all fields' components. */
typedef struct Declared {
  const char *name;
  Type type;
  int field, first, ncomponents;
  const char *type_name, *dtype;
  StcComponent *components;
  const char **names;
  int naxes;
  int64_t *axes;
  int64_t point_bytes;
  bool has_init;
} Declared;
/* Is it of vectors or structs, of one component perhaps, so that its components have names of their own? */
static inline bool declared_has_parts(const Declared *d) { return d->type >= TY_COMPOSITE; }

/* What a program was read from, and how it is to be compiled; all strings are the program's own. */
struct StcProgram {
  Workspace w;
  SourceKind kind;
  const char *file, *name, *text;
  StcOptions options;
  FrontendOptions language;
  Schedule schedule;
  void **plugins;      /* options.nload handles of what -load-pass named, NULL where it is not open */
  const Pass **loaded; /* their passes (PassContext.loaded) */
  Define *defines;     /* options.ndefines of them */
  Module *module;      /* as read: stencil IR before any pass; kernel IR for a .kir */
  const char *cut;     /* it is for a part of a grid that is cut along these dimensions; NULL: for the whole one */
  Module *reference;   /* what ref runs: `module`, with the checks of -fcheck */
  int ndeclared;
  Declared *declared;
  double frontend_seconds;
  const Target *target;                /* of options.march; found when first needed */
  Module *kernels;                     /* the kernel IR for `target`; made when first needed */
  Schedule resolved;                   /* and its schedule */
  Build *builds;                       /* for the devices that plans were made on */
  const char *bytes[STC_EMIT_OBJ + 1]; /* what stc_program_emit gave, kept */
  size_t sizes[STC_EMIT_OBJ + 1];
};

/* The same program for a part of the grid, cut along the dimensions that `cut` names, as pass distribute has them. */
StcStatus program_distribute(const StcProgram *p, const char *cut, StcProgram **out);
/* Opens what options.load_passes names; closes it. */
StcStatus plugins_open(StcProgram *p);
void plugins_close(StcProgram *p);
/* The program's target (options.march, or the host). NULL after an error. */
const Target *program_target(StcProgram *p);
/* The program's source read again into `w`: a module that passes may change. NULL after an error. */
Module *program_read(StcProgram *p, Workspace *w);
/* Reads the program again into `w`, runs its passes for `t` (a .kir: none unless asked for), with a schedule for a grid
 * of that size, and checks that the kernels fit the target. */
StcStatus program_compile(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK], Compiled *out);
/* The values of the scalars of `m`, a module of the program, with its defines and `n` more, as "NAME=VALUE". NULL after
 * an error. (grid.c) */
Const *program_bind(const StcProgram *p, const Module *m, Arena *a, Diags *d, int n, const char *const *texts);
/* The extents of the program's grid with its defines and `n` more, as "NAME=VALUE". False, without a message, if they
 * are not known. (grid.c) */
bool program_extents(const StcProgram *p, Arena *a, int n, const char *const *texts, int64_t extents[MAX_RANK]);
/* The params of a module that give its grid the extents `want`, as far as they can, as "NAME=VALUE" into `defines`,
 * which has room for MAX_RANK; their number. (grid.c) */
int grid_params(const Module *m, Arena *a, const int64_t want[MAX_RANK], const char **defines);
/* Has the params that -D leaves open give the program's grid the extents of -for-grid, if that was said. (grid.c) */
void program_take_grid(StcProgram *p);
/* The size for which target `t` gets a schedule then: as asked for, or the extents, rounded, except of large grids of
 * rank 3, such that sizes nearly alike are the same. 0: unknown, or it does not matter; GRID_SMALL: it matters only in
 * that tiles at edges then go along with the others. (grid.c) */
enum { GRID_SMALL = -1 };
void program_size(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts,
                  int64_t size[MAX_RANK]);
/* The stencil IR that plan `plan`, which was made for `t`, has lowered, cut and tiled. Reports errors only. NULL after
 * one. */
/* Why the plan of program `p` for target `t`, of whose figures `info` tells, is `plan`: lines about the best candidates
 * (plan_why). NULL after an error. */
const char *program_why(StcProgram *p, Workspace *w, const Target *t, const TargetInfo *info, const Schedule *plan);
Module *program_before_lowering(StcProgram *p, Workspace *w, const Target *t, const Schedule *plan);
/* The program's kernel IR for its own target. NULL after an error. */
Module *program_kernels(StcProgram *p);
/* The code generator's options for kernels `m` of the program on `t`. */
CodegenOptions program_codegen_options(const StcProgram *p, const Module *m, const Target *t);
/* Gives up tiles in `want` where all about them is left open and the step of `m`, stencil IR, has very many stencils;
 * what LLVM is to leave out for kernels `m`, where there are very many ops. Remarks say so. (budget.c) */
void budget_schedule(Diags *d, const Module *m, Schedule *want);
/* Gives up tiles likewise where `m`, kernel IR made for `want`, has a kernel too long to be compiled without threads.
 * Returns whether it did. */
bool budget_kernels(Diags *d, const Module *m, bool simt, Schedule *want);
CodegenQuick budget_codegen(Diags *d, const Module *m, bool simt);
/* The artifact of `b` in b->bytes, made when first needed. */
StcStatus build_artifact(StcProgram *p, Build *b);
/* Fills p->declared from p->module. */
void program_declare(StcProgram *p);
/* What stc_plan_field says of declared field number `field`, whose region is that of field `home` of `m`, which has
 * these scalars; narrows it to a component of `d`, if that has parts; the same of an array. */
void declared_info(const StcProgram *p, int field, const Module *m, int home, const Const *scalars, StcFieldInfo *out);
void component_info(const Declared *d, int component, StcFieldInfo *f);
void array_info(const ParamArray *a, const Const *scalars, StcFieldInfo *out);
/* Names every field of the program, and every array, that has no value to start from, neither an init nor from outside:
 * by component (Declared.first) and by array. The scalars are those of the program's module. options: is the command to
 * be told what to do, or a caller of the interface? */
StcStatus program_check_given(const StcProgram *p, Arena *a, Diags *d, const Const *scalars, const bool *components,
                              const bool *arrays, bool options);
/* Does kernel argument `a` write a buffer of field `field`? */
bool argument_writes(const Module *m, const KArg *a, int field);
/* Splits "NAME=VALUE" into *out (strings in `a`). False if it is malformed. */
bool define_parse(Arena *a, const char *text, Define *out);

/* ---------------------------------------------------------------- devices: device.c and device-*.c */

typedef struct Device Device;

/* One kernel launch. args[i] points to the value of the kernel's argument i; blocks[d] is the number of blocks along
 * the program's dimension d. beside: it need not wait for the launches since the last fork. */
typedef struct Launch {
  int32_t index;
  const Kernel *kernel;
  int64_t blocks[MAX_RANK];
  void **args;
  bool beside;
} Launch;

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

/* Runs of bytes from one memory to another: `n` bytes each, count[0] x count[1] of them, which are from_stride[i] and
 * to_stride[i] bytes apart; of two counts the second's strides are multiples of the first's. */
typedef struct Sending {
  const void *from;
  void *to;
  int64_t n, count[2], from_stride[2], to_stride[2];
} Sending;

/* A kind of device: a row of the device table. Functions report errors to d->w. A device either runs modules as a whole
 * (run) on host arrays, or has memory and launches kernels. */
typedef struct DeviceKind {
  const char *name;
  const char *help;
  const char *arch; /* what it runs: "nvptx", "amdgpu", "host"; NULL: whatever is asked */
  bool whole;
  const char *index;            /* what the number after the colon means; NULL: none may be given */
  StcStatus (*open)(Device *d); /* finds it; fills limits, cpu and description */
  void (*close)(Device *d);
  StcStatus (*load)(Device *d, StcProgram *p, Build *b);     /* ref: b is NULL */
  StcStatus (*run)(Device *d, WholeRun *r);                  /* whole only */
  StcStatus (*alloc)(Device *d, size_t size, void **memory); /* the rest: not whole. *memory NULL: no room */
  void (*release)(Device *d, void *memory, size_t size);
  bool (*room)(Device *d, double *left, double *total); /* bytes of its memory; NULL: it is this computer's */
  StcStatus (*put)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*fetch)(Device *d, void *to, const void *from, size_t size);
  StcStatus (*copy)(Device *d, void *to, const void *from, size_t size); /* within its memory, in order with launches */
  StcStatus (*launch)(Device *d, const Launch *l);
  StcStatus (*fork)(
      Device *d); /* what follows may run at the same time as launches that are beside it; NULL: all run in order */
  StcStatus (*join)(Device *d);                  /* what follows waits for both again */
  StcStatus (*start)(Device *d);                 /* starts the clock */
  StcStatus (*wait)(Device *d);                  /* until all launches are done */
  StcStatus (*stop)(Device *d, double *seconds); /* waits; seconds since start */
  bool (*record)(Device *d); /* from now on launches are kept, not made; NULL, or false: the device cannot */
  bool (*end_record)(Device *d, void **kept); /* until now. False: it cannot */
  StcStatus (*replay)(Device *d, void *kept); /* makes the launches that were kept */
  void (*forget)(Device *d, void *kept);
  StcStatus (*use_stream)(Device *d, void *stream);  /* all that follows goes to the caller's; NULL: there are none */
  StcStatus (*wait_event)(Device *d, void *event);   /* what follows waits for the caller's event */
  StcStatus (*record_event)(Device *d, void *event); /* which is recorded behind all there was so far */
  bool (*holds)(Device *d, const void *memory);      /* can its kernels work on that memory? NULL: on all */
  /* Between two devices of this kind; NULL: only by way of the host. */
  bool (*near)(Device *d, Device *other);                     /* can `d` send to the other one? */
  StcStatus (*mark)(Device *d);                               /* a place behind all there was so far */
  StcStatus (*follow)(Device *d, Device *other);              /* what follows waits for the other's mark */
  StcStatus (*send)(Device *d, Device *to, const Sending *x); /* in order with launches of `d`, waits for nothing */
  int dlpack;                                                 /* DLPack's number for where its memory is */
  bool (*inspect)(Device *d, int kernel, KernelInfo *out);    /* of a loaded kernel; NULL, or false: not known */
  int (*count)(void);                                         /* how many there are; NULL: one */
  void (*list)(FILE *to); /* a line for each device there is, or why there is none */
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
  double load_seconds; /* that its driver took for the code, compiling it perhaps */
  void *state;
};

extern const DeviceKind device_ref, device_sim, device_host, device_cuda, device_hip;
/* The table, ended by NULL. */
extern const DeviceKind *const device_table[];
/* Finds "name" or "name:INDEX" and opens it into *out. */
StcStatus device_open(Workspace *w, const char *name, Device *out);
/* The first device of "cuda:0-3", "cuda:2,0" or "cuda:all"; the name itself if it is of one. */
const char *device_first(Arena *a, const char *names);

/* memory.c: */

/* So many bytes for people: "512 MiB", "1.46 TiB". Returns `to`. */
enum { MEMORY_TEXT = 32 };
char *memory_text(char to[MEMORY_TEXT], double bytes);
/* Reports that there is no memory here for `what` and `name`, "a copy of field", "A", of so many bytes. Returns
 * STC_MEMORY. */
StcStatus computer_no_room(StcContext *c, const char *what, const char *name, double bytes);
/* How many bytes this process may still have of this computer's memory, swap counted, and how many there are; the same
 * of a device's. Limits of control groups and of `ulimit -v` count. */
void computer_room(double *left, double *total);
void device_room(Device *d, double *left, double *total);
/* Memory on the device (of whole ones: here, zeros) for `what`, "field A"; a report says that it does not fit. all: the
 * bytes that all of the plan takes, 0: not to be said. */
StcStatus device_alloc(Device *d, const char *what, size_t size, double all, void **memory);
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

/* Has the host part of `m` launches beside others? */
bool launches_beside(const Module *m);

/* ---------------------------------------------------------------- plans: plan.c plan-data.c plan-run.c */

/* How often a kernel was launched, and the seconds that this took. */
typedef struct KernelTime {
  int64_t launches;
  double seconds;
} KernelTime;

/* A piece of memory: a buffer's, a launch-time array's, or a field's that no kernel uses. */
typedef struct Slot {
  void *memory;
  size_t size;
  bool foreign;                  /* the caller's */
  struct DLManagedTensor *owner; /* whose deleter is called when the plan lets go of the memory, or NULL */
} Slot;

/* Who looks at a plan's fields after every so many steps: plan-watch.c. shown: the steps that were done at its last
 * call, -1: none yet. */
typedef struct Watch {
  int64_t every, shown;
  StcWatch fn;
  void *user;
  struct Watch *next;
} Watch;

/* Launches that a device keeps: plan-replay.c. */
typedef struct Recording Recording;

/* Where a declared field is in the plan's module: in field `field`, packed if that is of composite type, else with its
 * components in the fields from there on. */
typedef struct Home {
  int field;
  bool packed;
} Home;

/* The parts of a plan whose grid is cut: split/split.h. */
typedef struct Split Split;

/* A run that nobody waited for yet. On devices without streams `thread` makes it. */
typedef struct Background {
  bool pending, threaded;
  pthread_t thread;
  atomic_bool ended;
  int64_t steps, first, launches; /* asked for; the plan's counts before */
  StcStatus status;
  StcRunInfo info;
} Background;

struct StcPlan {
  StcProgram *program;
  Workspace w;
  Device device;
  Build *build;   /* NULL on ref */
  Module *module; /* the declarations; what ref runs */
  const char *schedule;
  Const *scalars; /* those of reductions change while it runs */
  int64_t points; /* of the grid */
  int32_t nslots;
  Slot *slots;
  int32_t *slot_of_field;  /* the slot that holds the field's present value; -1 none (temp) */
  int32_t *slot_of_buffer; /* the slot that a buffer of the module stands for now */
  int32_t *slot_of_array;  /* the slot of a launch-time array; -1 if no kernel uses it */
  bool *with_init;         /* by field: has it an init? Both of these are room for runs, kept from one to the next */
  void **memory;           /* by field and, behind those, by launch-time array: where it is, on ref and sim */
  int32_t *fixed;          /* the slot that is to hold the field whenever no run is under way; -1: any */
  Slot spare;              /* to exchange the values of two slots by */
  Home *homes;             /* of the program's declared fields */
  int32_t *owner;          /* for each field of the module: the declared field it belongs to, -1 if a pass made it */
  bool *given;             /* field set from outside */
  bool *component_given;   /* the same for each component of the declared fields */
  bool *array_given;
  bool *array_warned; /* of launch-time arrays too short for the steps; NULL: none yet */
  bool inits_done;
  Recording *recordings;
  bool no_replay; /* the device cannot */
  int64_t first;  /* the number of the first step: what was run before, elsewhere */
  int64_t done;   /* that and the steps run so far */
  int64_t launches;
  KernelTime *times;    /* of each kernel; NULL: they are not timed */
  const Reduction *met; /* whose condition ended this run; NULL none */
  bool wrong;           /* a reduction found a mistake in the program's values */
  bool evaluated;       /* the reductions have been evaluated after the steps done so far, as far as they were due */
  Watch *watches;       /* in order of call */
  double compile_seconds;
  bool (*progress)(void *user, int64_t done, int64_t of);
  void *progress_user;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  Background back;
  void **coordinates; /* by launch-time array: its elements if lists take coordinates from it (malloc) */
  int32_t **index;    /* by list of points: the cells of its field (malloc) */
  bool lists_filled;  /* since arrays were set */
  int64_t unseen;     /* what probes saw when fewer steps were done has been handed out */
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;
  int64_t shift;  /* steps to add to those for which probes' rows are handed out */
  Split *split;   /* NULL: the grid is whole */
  Ghosts *ghosts; /* of a part, on the simulator; else NULL */
};

/* Steps of a plan with parts; *seconds is what they took. Gives its parts back. (split/) */
StcStatus split_run(StcPlan *p, int64_t steps, double *seconds);
void split_close(StcPlan *p);
/* For such a plan: inits, unless they have been run, and what is to be seen before the first step; the reductions that
 * are due now, and the watches. (plan-run.c) */
StcStatus plan_run_whole_grid(StcPlan *p);
StcStatus plan_evaluate(StcPlan *p);
/* Hands out what the probes that are due now see of the fields as they are. (plan-points.c; whole modules: plan-run.c)
 */
StcStatus plan_see(StcPlan *p);
StcStatus plan_see_whole(StcPlan *p);
/* Is a watch to be called now? (plan-watch.c) */
bool plan_watch_is_due(const StcPlan *p);

/* Moves each field whose slot is fixed there. (plan-bind.c) */
StcStatus plan_settle(StcPlan *p);
/* Gives back what the slot holds. (plan-bind.c) */
void plan_release_slot(StcPlan *p, Slot *slot);
/* Waits for a run in a thread of its own, unless that thread asks, a watch say; its status, told once. (plan-async.c)
 */
StcStatus plan_join(StcPlan *p);
/* Runs steps (< 0: the program's) and fills *info; without `wait` it does not wait for the device. (plan-run.c) */
StcStatus plan_run_steps(StcPlan *p, int64_t steps, bool wait, StcRunInfo *info);
/* What a run that began after `first` steps and `launches` launches, and took so many seconds, came to. (plan-run.c) */
StcRunInfo plan_run_info(const StcPlan *p, int64_t first, int64_t launches, double seconds);
/* The declared field number `field`; NULL after an error if there is none such, or it has no component number
 * `component`. (plan-data.c) */
const Declared *plan_find_declared(const StcPlan *p, int field, int component);
/* Notes that component `component` (-1: all) of the field has come from outside. (plan-data.c) */
void plan_mark_given(StcPlan *p, int field, int component);

/* plan-points.c: */

/* Makes room for lists of points; gives it back. */
StcStatus plan_make_points(StcPlan *p);
void plan_free_points(StcPlan *p);
/* Makes what kernels read of the lists of points, unless it is there. */
StcStatus plan_fill_lists(StcPlan *p);
/* Spreads points over the regions of their list, if launch-time array `array` has coordinates: makes its elements at
 * `data`. False if it has none. */
bool plan_spread_points(const StcPlan *p, int array, void *data);
/* Random coordinates that depend on the seed, of points in the region of their list, likewise. */
bool plan_random_points(const StcPlan *p, int array, uint64_t seed, void *data);
/* Launches what probes see before the first step, unless that has been handed out. */
StcStatus plan_probe_before(StcPlan *p);
/* Hands out what probes saw so far; the same if there is no room for what they see in `steps` steps more. */
StcStatus plan_drain(StcPlan *p);
StcStatus plan_make_room(StcPlan *p, int64_t steps);
/* Hands out one row (Binding.probed). */
void plan_take_row(void *user, const Probe *p, int64_t step, const void *values);

/* How many steps may be made until a watch is due: at most `left`. */
int64_t plan_steps_to_watch(const StcPlan *p, int64_t left);
/* Calls the watches that are due now, if they have not been called yet. */
StcStatus plan_show(StcPlan *p);
/* Copies a launch-time array of `bytes` bytes out; zeros if no kernel uses it. */
StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes);
/* Has the plan, whose fields and arrays have been set, go on as if `step` steps were done and reductions evaluated. */
void plan_begin(StcPlan *p, int64_t step);
/* The latest value of a reduction, which may be changed; NULL if there is none of that name. */
Const *plan_reduction(StcPlan *p, const char *name);
/* Runs one sequence and counts its steps. */
StcStatus plan_sequence(StcPlan *p, const HostSeq *seq);
/* Makes up to `most` runs of the sequence by recordings, *made of them: none if the device has no such thing, or runs
 * differ, or it is not worthwhile. */
StcStatus plan_replay(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made);
void plan_forget_recordings(StcPlan *p);
/* A plan with its code loaded, made for the grid that the `n` params give, but without params and memory. On success
 * *out is to be freed with stc_plan_free. */
StcStatus plan_prepare(StcProgram *program, const char *device, int n, const char *const *defines, StcPlan **out);
/* The program compiled to kernel IR for `d`, of which nothing but its facts is used, and a grid of the size that the
 * params give, about: made if there is none yet, and kept with the program, so that plan_prepare finds it. */
StcStatus program_build(StcProgram *p, const Device *d, int n, const char *const *defines, Build **out);
/* Gives the plan new params, and memory for them in place of what it had. It is then as stc_plan_new makes it. */
StcStatus plan_reset(StcPlan *p, int n, const char *const *defines);
/* Gives the plan's memory back. */
void plan_release(StcPlan *p);
/* Sets all fields, but inputs with an init, and all launch-time arrays to random numbers (random_fill) that depend on
 * the seed, the name of what they are for and the place alone. Beyond the first RANDOM_PERIOD elements of a component
 * they repeat. */
StcStatus plan_randomize(StcPlan *p, uint64_t seed);
enum { RANDOM_PERIOD = 1048573 };
/* The blocks of `k` along each dimension under the plan's scalars, checked against the target's limits. */
StcStatus plan_blocks(StcPlan *p, const Kernel *k, int64_t blocks[MAX_RANK]);
/* Do the steps of the program depend on their numbers? *what is the word that says so: "step" or "every". */
bool program_counts_steps(const StcProgram *p, const char **what);
/* Warns of launch-time arrays indexed by `step` that have too few elements for `steps` more steps. */
void plan_check_steps(StcPlan *p, int64_t steps);
/* Notes that another plan of the same run has said so. */
void plan_warned(StcPlan *p);
/* Which fields have an init (module_fields places). */
void fields_with_init(const Module *m, bool *has);
/* "overlap T=4 block=8x32 elems=4x1": the schedule `s`, or if its family is NULL what the kernels of `m` look like. */
const char *schedule_describe(Arena *a, const Module *m, const Schedule *s);

/* ---------------------------------------------------------------- artifacts: manifest.c header.c expression.c */

/* The manifest of the kernels `m` for `t` as JSON text in the arena; docs/manifest.md says what stands in it. */
char *manifest_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t);
/* The C header of the host artifact. */
char *header_text(Workspace *w, const StcProgram *p, const Module *m);
/* The C names in that header: the program's, which all begin with, and those of fields and launch-time arrays. */
typedef struct HeaderNames {
  const char *program, *const *fields, *const *arrays;
} HeaderNames;
HeaderNames header_names(Arena *a, const StcProgram *p, const Module *m);
/* The host artifact as a shared object for callers without a C compiler, written to `path`; *text is its Fortran
 * module. Both have the header's functions. Only for the host. */
StcStatus shared_object_write(StcProgram *p, const char *path);
StcStatus fortran_text(StcProgram *p, const char **text);
/* The launcher of a GPU's artifact as C text (header.h). Only for GPUs. */
StcStatus program_launcher(StcProgram *p, const char **text);
/* STC_OK if the program is compiled for the host, else an error that says that `what`, a value of -emit=, is for that.
 */
StcStatus program_for_host(StcProgram *p, const char *what);
/* The params' defaults, those that the program's -D changed included, and the lets; known[i] is false for a param
 * without a default and what depends on one. */
void scalar_defaults(const StcProgram *p, const Module *m, Const *values, bool *known);
/* Is scalar `i` set by -D? Its text, or NULL. */
const char *scalar_define(const StcProgram *p, const Module *m, int i);
/* An affine bound as C text, each scalar's name behind `prefix`. */
char *affine_c_text(Arena *a, const Module *m, Affine x, const char *prefix);
/* A constant as a C expression. */
char *const_c_text(Arena *a, Const c, Type t);
/* A scalar's expression as C statements, one for each op, that end in `RESULT = value;`, each scalar's name behind
 * `prefix`. The helper functions they call are in c_helpers. */
char *expression_c_text(Arena *a, const Module *m, const Block *b, const char *prefix, const char *result);
/* C source of those helper functions: the arithmetic of the IR where C's differs. */
extern const char c_helpers[];
/* A call of the function of c_covered that tells whether `c` holds; scalars are called as in affine_c_text. */
char *covered_c_text(Arena *a, const Module *m, const Covered *c, const char *prefix);
extern const char c_covered[];
/* A scalar's name as a member in C and C++: keywords get an underscore behind them, names that passes made ("finite A")
 * two. */
const char *c_name(Arena *a, const char *name);
/* The C type of a scalar type: "float", "int64_t"; the 16-bit floats as bits. */
const char *c_type(Type t);
/* Bytes of an argument as it is passed: a pointer, a scalar in its type (bool: 1), the step. Its alignment is its size.
 */
size_t kernel_arg_size(const Module *m, const KArg *a);
/* Dynamic shared bytes that launching `k` on `t` must ask for. */
int64_t dynamic_shared_bytes(const Kernel *k, const Target *t);

/* ---------------------------------------------------------------- files and fields: files.c npy.c png.c random.c
 * check.c */

/* A file on its way: written without a name (`unnamed`) or under a temporary one beside `path`, and moved to it by
 * file_commit. Path "-" is stdout. */
typedef struct OutFile {
  FILE *to;
  char path[4096], temporary[4096];
  bool unnamed;
} OutFile;
/* Each false after a message. file_abandon removes what was written. */
bool file_create(StcContext *c, const char *path, OutFile *f);
bool file_commit(StcContext *c, OutFile *f);
void file_abandon(OutFile *f);
/* Could `path` be created or replaced? Leaves nothing behind. */
bool file_probe(StcContext *c, const char *path);
/* Writes n bytes behind what there is, in case of errors as fwrite does. Many that begin at a page, in memory and in
 * the file, go to the disk past the page cache, as long as it takes them quickly: that saves the processor a copy. */
void file_put(OutFile *f, const void *bytes, size_t n);
/* From how many bytes on file_put does so; pages. */
enum { FILE_LARGE = 1 << 22, FILE_PAGE = 4096 };
/* Writes the whole file at once. */
bool file_write(StcContext *c, const char *path, const void *bytes, size_t size);
/* Reads a whole file into `a` with a NUL behind it ("-" is stdin). NULL after a message. */
char *file_read(Workspace *w, const char *path, size_t *size);

/* The dtype that NumPy gives the type: "<f4". */
const char *npy_descr(StcType t);
/* Reads/writes a .npy file whose type and shape must be those in `f`; `data` has f->bytes. Errors name the file and
 * `what`: "field A". */
StcStatus npy_read(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data);
/* Would npy_read find the right header and as many elements as that promises? */
StcStatus npy_check(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* Fills the field, of scalar type, with numbers that depend on seed and element alone: floats uniform in [0, 1),
 * integers 0..99, bools. */
void random_fill(const StcFieldInfo *f, uint64_t seed, void *data);
/* Fills the field, of scalar type, with one value, given as text. False if the text is no such value. */
bool value_fill(const StcFieldInfo *f, const char *text, void *data);
/* Element `i` of the field, of scalar type, as a double; makes `v` that element, rounded to its type. */
double field_value(const StcFieldInfo *f, const void *data, int64_t i);
void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v);

/* Reads a PNG into a field of two dimensions, of scalars or vectors of three: floats from 0 to 1, integers as they are.
 */
StcStatus png_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
/* Would it find a picture of the field's extents and values that fit? Reads the header only. */
StcStatus png_check_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* The largest error of a field against the reference, relative to the largest magnitude in the reference; `at` is its
 * element. */
typedef struct FieldError {
  double error, got, want;
  int64_t at;
} FieldError;
FieldError field_compare(const StcFieldInfo *f, const void *got, const void *want);
/* The tolerance that --check takes by itself for a field of type `t`: 0 if `exact`. */
double default_tolerance(StcType t, bool exact);

/* ---------------------------------------------------------------- the command: options.c command.c run.c run-data.c
 * run-check.c series.c */

/* `--in F=VALUE` and its like. */
typedef struct FieldOption {
  const char *field, *value;
} FieldOption;

/* The commands; a set of them is an or. */
typedef enum CommandKind {
  CMD_COMPILE = 1,
  CMD_RUN = 2,
  CMD_DEVICES = 4,
  CMD_HELP = 8,
  CMD_VERSION = 16,
  CMD_BENCH = 32,
  CMD_TUNE = 64,
  CMD_EXPLAIN = 128,
  CMD_FORMAT = 256,
  CMD_MAN = 512,
  CMD_COMPLETION = 1024,
  CMD_LSP = 2048
} CommandKind;

/* The command line, parsed. */
typedef struct Command {
  CommandKind kind;
  Arena *arena;
  StcContext *context;
  StcOptions options;
  const char *file, *out, *emit, *device, *log;
  const char *topic;   /* of help; completion: the shell */
  const char *split;   /* how the grid is to be cut; NULL: not */
  const char *plan;    /* the file that -plan names */
  bool depend;         /* -MD */
  const char *depfile; /* -MF; NULL: by the output's name */
  int64_t steps;       /* -1: the program's */
  int64_t every;       /* steps from one output to the next; 0: the last step only */
  const char *checkpoint, *restart;
  int64_t checkpoint_every; /* 0: as `every` */
  int nspacing, norigin;
  double spacing[3], origin[3]; /* of the grid's points, slowest dimension first */
  int nunit;
  FieldOption *units;         /* --unit F=TEXT; F is `grid` for coordinates */
  int compress;               /* zlib's level */
  const char *colors, *slice; /* of pictures: a map's name; "D:PLACE" */
  bool limited;
  double limits[2];
  int contours;
  int64_t first_step; /* -1: not said */
  bool check, time, time_kernels, quiet;
  const char *tolerance; /* NULL: the default */
  int nin, nout, npng;
  FieldOption *in, *outs, *pngs;
  int ndefines;
  const char **defines;
  const char *bench_programs, *bench_types, *bench_sizes, *json; /* bench: comma-separated lists, NULL: all; a file */
  int nalso;
  const char **also; /* bench: further schedules, as options */
  bool quick;
  int seconds;                /* bench, tune: start nothing more after so many; 0: no limit, or the default */
  const char *plot, *db;      /* tune, explain: an SVG file; a database in place of the usual ones */
  const char *card, *format;  /* explain: which card, NULL: the default or the target's; "text" or "json" */
  bool no_ptxas;              /* explain, tune, bench: the assembler is not to be asked */
  bool why;                   /* explain: the candidates are to be listed */
  int tune;                   /* bench: search so many seconds for each size; 0: look into the database */
  bool scheduled, no_tune_db; /* an option says something of the schedule; no database is to be looked at */
  int nload;
  const char **load_passes;
  int nfiles;
  const char **files; /* fmt: all of them */
} Command;

/* The rule for make that says of what files the `n` outputs were made: the program, plugins, databases of schedules. */
char *depfile_text(const Command *c, const char *const *outputs, int n);
/* Parses argv. STC_USAGE after a message that names the option and what is near it. */
StcStatus command_parse(Command *c, int argc, char **argv);
/* Adds to *o what the options in `words` say, separated by spaces: "-schedule=overlap -T=4"; or takes `words` for the
 * text of a plan if it begins like one. Strings live in `a`. */
StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o);
/* Writes the help on `topic` ("run", "bench", "devices", NULL: all). STC_USAGE if there is no such topic. */
StcStatus help_print(FILE *to, const char *topic);
/* What the commands do; *stop becomes nonzero when the user wants to end. */
StcStatus command_compile(const Command *c);
/* What -emit= takes; the last is NULL. */
extern const char *const emit_names[];
StcStatus command_run(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_bench(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_tune(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_explain(const Command *c);
StcStatus command_format(const Command *c);
StcStatus command_lsp(void);

/* The values that reductions had while a program ran, in order of evaluation, and what its probes saw (malloc). */
typedef struct Series {
  StcContext *context;
  const StcProgram *program;
  int64_t n, capacity;
  StcReduction *values;
  int64_t nrows, row_capacity;
  StcProbe *rows; /* with values of their own (malloc) */
  bool full;
} Series;
/* What stc_plan_series calls: appends. Sets `full` when there is no memory for more. */
void series_add(void *user, const StcReduction *r);
/* What stc_plan_probes calls: the same. */
void series_add_row(void *user, const StcProbe *row);
/* Element `i` of the row as a number. */
double row_value(const StcProbe *row, int64_t i);
void series_free(Series *s);
/* Prints a line for each reduction, and each probe of a single point: at most 10 of its values, the last one always; of
 * other probes how many values there are. `until` is the one whose condition
 * ended the run, or NULL. */
void series_print(FILE *to, const Series *s, const char *until);
/* The last value of each reduction as the inside of a JSON object. */
void series_print_json(FILE *to, const Series *s);
/* Writes a .csv: a column `step`, one for each of the program's reductions, and one for each point of its probes, empty
 * where one was not evaluated. */
StcStatus series_write(const Series *s, const char *path);
/* The same as an HDF5 file: groups /reductions/NAME and /probes/NAME of the arrays `step` and `value`, of probes also
 * `points`, their coordinates in `plan`. */
StcStatus series_write_hdf5(const Series *s, StcPlan *plan, const char *path);

/* The state of the progress callback. */
typedef struct Progress {
  const volatile sig_atomic_t *stop;
  bool bar;
  double start, drawn;
  bool any;
} Progress;
/* What stc_plan_progress calls: draws the bar; false when the user wants to stop. */
bool progress_step(void *user, int64_t done, int64_t of);
/* Wipes the bar. */
void progress_end(Progress *p);

/* What an option names: a field (component -1), a component of a field, or a launch-time array (array >= 0). */
typedef struct Place {
  int field, component, array;
} Place;

/* The files that a run writes: run-out.c. */
typedef struct Outputs Outputs;

struct Facts; /* data/writer.h */

/* One run on one device. tuned: the database that its schedule is from, NULL: none. */
typedef struct Job {
  const Command *c;
  StcProgram *program;
  StcPlan *plan;
  Progress progress;
  Series series;
  const char *tuned;
  Outputs *outputs;
  const Const *scalars; /* of the program's module; set by ready_check */
} Job;

/* What `name` stands for in the option; `arrays`: launch-time arrays too. False after an error. */
bool find_place(const Job *j, const char *option, const char *name, bool arrays, Place *out);

/* Sets what `plan`, which is j->plan or the reference, starts from: all --in, or the checkpoint of --restart, whose
 * series is appended to `series`. *steps: how many steps are to be made then, as --steps and stc_plan_run have it. */
StcStatus start_plan(const Job *j, StcPlan *plan, Series *series, int64_t *steps);
/* Carries out all --in on `plan`. */
StcStatus give_fields(const Job *j, StcPlan *plan);
/* Checks what can be known before the run of the files that --out and --png name, into j->outputs, which lives in the
 * command's arena. */
StcStatus outputs_check(Job *j);
/* What files say of the run, as far as it is known: before there is a plan, without device and schedule. */
const struct Facts *outputs_facts(Job *j);
/* Checks what can be known before code is made: params, the values and files of --in by their headers, fields without a
 * value, the checkpoint. */
StcStatus ready_check(Job *j);
/* Is the value of --in a file's name? That of a picture? Is it else a value that the field, of scalar type, may have?
 */
bool is_file(const char *value);
bool is_picture(const char *path);
StcStatus check_in_value(const Command *c, const StcFieldInfo *f, const char *value);
/* Opens them for j->plan, whose runs write them from then on: after every so many steps. */
StcStatus outputs_open(Job *j);
/* Writes what wants the last step, unless the run ended with an error, `s`, and ends all files. *files: how many steps
 * were written. Returns `s`, or the error that came now. */
StcStatus outputs_close(Job *j, StcStatus s, int64_t *written);
/* Checks before the run what can be known then of the fields to be read and written. */
StcStatus check_names(const Job *j);
/* Runs the reference with the same fields and as many steps as were asked for, and compares every field that steps can
 * change, the steps made (`made`) and the reductions' values. All are printed, also after a failed one. */
StcStatus check_run(const Job *j, const StcRunInfo *made);

#endif
