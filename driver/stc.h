/* stc.h: the public C interface of libstc, the stencil compiler. The stc command uses it, too.
 *
 *   context   memory and message callbacks; there is no global state, so two threads may use two contexts
 *   program   a compiled .stn, .sir or .kir: its artifact and its manifest
 *   plan      a program on a device with fixed params: checked and loaded once, run many times
 *
 * A returned string belongs to the object that returned it and lives as long as that object. No function exits or
 * prints; each function that can fail returns a status and reports through the context's message callback. */
#ifndef STC_H
#define STC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface and of the compiler. */
#define STC_VERSION "0.2.0"

/* The result of a call; also the command's exit code. */
typedef enum StcStatus {
  STC_OK = 0,
  STC_CHECK_FAILED = 1, /* --check found a difference above the tolerance */
  STC_USAGE = 2,        /* malformed options */
  STC_INPUT = 3,        /* the program, IR text or data file is wrong */
  STC_DEVICE = 4,       /* no such device or library, out of device memory, launch failed */
  STC_IO = 5,           /* a file could not be read or written */
  STC_MEMORY = 6,       /* out of host memory */
  STC_INTERNAL = 7,     /* a bug in stc, for example a pass that made invalid IR */
  STC_INTERRUPTED = 130 /* stopped by Ctrl-C (a progress callback that returned false) */
} StcStatus;

typedef enum StcMessageKind { STC_ERROR, STC_WARNING, STC_REMARK, STC_NOTE } StcMessageKind;

/* A message; the pointers live until the callback returns. line and column count from 1, 0 means no place. */
typedef struct StcMessage {
  StcMessageKind kind;
  const char *file;
  int line, column;
  const char *source; /* the text of the line, or NULL */
  const char *text;
} StcMessage;

typedef struct StcConfig {
  void *(*realloc)(void *user, void *p, size_t size); /* size 0 frees; NULL: the C heap */
  void (*message)(void *user, const StcMessage *m);   /* NULL: to stderr */
  void *user;
} StcConfig;

typedef struct StcContext StcContext;
typedef struct StcProgram StcProgram;
typedef struct StcPlan StcPlan;

/* `config` may be NULL. NULL when out of memory. */
StcContext *stc_context_new(const StcConfig *config);
void stc_context_free(StcContext *c);
/* stop: compiling in the context, now and later, ends soon with STC_INTERRUPTED, until this function is called with
 * false. Passes stop at once; LLVM and a driver's compiler stop after their current kernels. The program stays as it
 * was before the interrupted call, which may be repeated. Any thread or signal handler may call this. Runs continue:
 * see stc_plan_stop. */
void stc_context_stop(StcContext *c, bool stop);

/* Options of compiling. Zero-initialise the struct, then set members; 0 and NULL mean the default. Arrays are in the
 * program's order of dimensions, slowest first. */
typedef struct StcOptions {
  const char *march;    /* "nvptx", "amdgpu", "host"; default "host" */
  const char *mcpu;     /* "sm_90", "gfx942", ... */
  const char *real;     /* "f32" or "f64" */
  const char *schedule; /* "naive", "overlap", "stream", "warps"; NULL or "auto": stc's choice; or the text of a plan,
                           as stc_program_plan returns it; then leave the knobs open */
  /* The knobs of schedules, one member each, named and described as the options are. A number is an int (0: open), a
   * shape an int[3] such as {8, 32} threads of a block, a word or a text a string (NULL: open). */
#define STC_KNOB_OF_NUMBER(name) int name;
#define STC_KNOB_OF_SHAPE(name) int name[3];
#define STC_KNOB_OF_WORD(name) const char *name;
#define STC_KNOB_OF_TEXT(name) const char *name;
#define KNOB(ID, name, KIND, ...) STC_KNOB_OF_##KIND(name)
#include "../ir/knobs.def"
#undef STC_KNOB_OF_NUMBER
#undef STC_KNOB_OF_SHAPE
#undef STC_KNOB_OF_WORD
#undef STC_KNOB_OF_TEXT
  int64_t grid[4]; /* choose the schedule for a grid of these extents; 0: the extents that the params give, if they are
                      known */
  int64_t members; /* N > 0: N members, as with `members N;` in a program without it */
  int opt_level;   /* 1..4 mean -O0..-O3; 0: -O3 */
  bool no_contract, fast_math;
  bool no_hoist;        /* no hidden fields for values that no step changes (docs/passes.md) */
  bool no_cache;        /* compile kernels for the CPU, and do not keep them on disk */
  int64_t check_finite; /* N > 0: before the first step and after every N steps, stop if a float field holds a NaN or an
                           infinity */
  bool check_bounds;    /* stop if an index of a launch-time array is out of range */
  const char *passes;   /* a pipeline instead of the default one */
  int nload;            /* shared objects whose passes `passes` may name (docs/passes.md) */
  const char *const *load_passes;
  const char *print_before, *print_after;
  bool print_all, verify_each, time_passes, stats, remarks;
  int ndefines; /* new defaults of params, as "NAME=VALUE", also in the manifest */
  const char *const *defines;
} StcOptions;

/* A knob of schedules: its name, the kind of its value, its place in StcOptions as offsetof gives it; for people: "N"
 * or "AxBxC", and its help. */
typedef enum StcKnobKind { STC_KNOB_NUMBER, STC_KNOB_SHAPE, STC_KNOB_WORD, STC_KNOB_TEXT } StcKnobKind;
typedef struct StcKnob {
  const char *name;
  StcKnobKind kind;
  size_t offset;
  const char *value, *help;
} StcKnob;
/* Describes knob number `knob`, from 0. False: there is no such knob. */
bool stc_knob(int knob, StcKnob *out);

/* Reads and checks `text` and the options. Messages use `name`; without directory and suffix it is the program's name.
 * The suffix .sir or .kir means IR text. Passes and the code generator run at the first call that needs them, for the
 * target known then: stc_program_emit for options->march, a plan for its device. `text`, `name` and the options are
 * copied. On success *out is the program. Free it with stc_program_free after its plans and before its context. */
StcStatus stc_compile_string(StcContext *c, const char *name, const char *text, const StcOptions *o, StcProgram **out);
StcStatus stc_compile_file(StcContext *c, const char *path, const StcOptions *o, StcProgram **out);
void stc_program_free(StcProgram *p);

/* The form of a program to emit. "ast" needs a .stn. "sir" is the program as read, or after options->passes. "obj" is
 * the artifact: PTX text, a code object, a host object. A NUL follows the bytes; `size` does not count it. */
typedef enum StcEmit { STC_EMIT_AST, STC_EMIT_SIR, STC_EMIT_KIR, STC_EMIT_LLVM, STC_EMIT_ASM, STC_EMIT_OBJ } StcEmit;
StcStatus stc_program_emit(StcProgram *p, StcEmit what, const char **bytes, size_t *size);
/* The manifest, docs/manifest.md, as JSON text; the artifact's C header (host only). */
StcStatus stc_program_manifest(StcProgram *p, const char **json);
StcStatus stc_program_header(StcProgram *p, const char **text);
/* The program's plan for options->march as text, which options.schedule takes. */
StcStatus stc_program_plan(StcProgram *p, const char **text);
/* The program's name, the artifact's suffix ("ptx", "hsaco" or "o") and the target's architecture; the last two are
 * NULL after an error. */
const char *stc_program_name(const StcProgram *p);
const char *stc_program_suffix(StcProgram *p);
const char *stc_program_arch(StcProgram *p);
/* Do all devices with -fno-contract give the same bits? True if the program has only + - * / sqrt and other correctly
 * rounded operations. */
bool stc_program_is_exact(const StcProgram *p);

/* Fields in order of declaration; the older levels of a field ("U@1") follow it. NULL / -1 beyond the last. */
int stc_program_field_count(const StcProgram *p);
const char *stc_program_field_name(const StcProgram *p, int field);
int stc_program_find_field(const StcProgram *p, const char *name);
/* The outside rule of the field in the words of the language, "clamp" or "[mirror half odd .. 0.0, periodic]"; NULL:
 * reads beyond the field's edges are errors. */
const char *stc_program_field_outside(const StcProgram *p, int field);
/* Launch-time arrays (`param src[n] : f32`), likewise. */
int stc_program_array_count(const StcProgram *p);
const char *stc_program_array_name(const StcProgram *p, int array);
int stc_program_find_array(const StcProgram *p, const char *name);
int stc_program_rank(const StcProgram *p);
/* The number of `reduce` and `until` of the program. */
int stc_program_reduction_count(const StcProgram *p);
/* The program's number of time steps; if a param sets it, its value with the options' params, or -1 if that param has
 * no value. */
int64_t stc_program_steps(const StcProgram *p);

/* Prepares `p` to run on `device`: "ref", "sim", "host", "host:8" (threads), "cuda", "cuda:1", "hip", ... The n strings
 * "NAME=VALUE" override params. A program that was compiled for another architecture, or with a schedule for a grid of
 * a very different size, is compiled again. */
StcStatus stc_plan_new(StcProgram *p, const char *device, int n, const char *const *defines, StcPlan **out);
/* The same with the grid cut into parts; the results are the same bits. device: may name several devices, "cuda:0-3" or
 * "cuda:0,2", which get the parts in order. split: the number of parts along each dimension, slowest first, "2x2";
 * after a slash the number of steps between exchanges of ghost cells, "4/8"; after a colon the transport, "4/8:nccl"
 * ("store", "peer", "copy", "nccl", "mpi"). NULL: one part for each device, along the slowest dimension. A program that
 * cannot be cut yet is an error. */
StcStatus stc_plan_new_split(StcProgram *p, const char *device, const char *split, int n, const char *const *defines,
                             StcPlan **out);
/* The same on one device, with a limit of `memory` bytes of device memory. If the plan needs more, its fields are in
 * this computer's memory, and parts of the grid take turns on the device, some steps in each turn; the results are the
 * same bits. split: NULL, or the number of parts, and after a slash the number of steps of a turn, such as "16/32". */
StcStatus stc_plan_new_within(StcProgram *p, const char *device, int64_t memory, const char *split, int n,
                              const char *const *defines, StcPlan **out);
/* The same over several processes. All processes call this function, and the functions below that say so, with the same
 * arguments. communicator: a pointer to their MPI_Comm, which is copied; NULL: all processes that were started
 * together, and MPI is initialised if necessary. module: the file of stc-mpi.so; NULL: its usual place. parts: true: no
 * process has the whole grid, and fields are set and got part by part; false: the first process has the whole grid,
 * fields are set and got there, and stc_plan_set does nothing on the others. All processes call stc_plan_run,
 * stc_plan_restart, stc_plan_set_array and stc_plan_free. Devices: with "cuda" each process takes the device with its
 * own number on its machine, with a list its share of the list. */
typedef struct StcRanks {
  void *communicator;
  const char *module;
  bool parts;
} StcRanks;
StcStatus stc_plan_new_ranks(StcProgram *p, const StcRanks *ranks, const char *device, const char *split, int n,
                             const char *const *defines, StcPlan **out);
/* The number of parts of the grid in this process; 0: the plan's grid is whole. */
int stc_plan_part_count(const StcPlan *plan);
/* Stops a run that has its own thread. */
void stc_plan_free(StcPlan *plan);

typedef enum StcType {
  STC_COMPOSITE,
  STC_BOOL,
  STC_I8,
  STC_I16,
  STC_I32,
  STC_I64,
  STC_F16,
  STC_BF16,
  STC_F32,
  STC_F64,
  STC_U8,
  STC_U16,
  STC_U32
} StcType;
/* A scalar part of a field's value. path: ".xx", ".c.2" (member 2 of the vector c); "" if the field is a scalar itself.
 * offset: bytes from the start of a point. */
typedef struct StcComponent {
  const char *path;
  StcType type;
  int64_t offset;
} StcComponent;
/* Type, shape, place in the grid (rank numbers) and role of a field under this plan. A field of vectors or structs has
 * the type STC_COMPOSITE; its points are packed: the components in order, without padding, as in NumPy's structured
 * dtypes. A .npy file of the field has the shape shape + axes and the elements `dtype` (as in the file's header). */
typedef struct StcFieldInfo {
  const char *name;
  StcType type;
  int rank;
  int64_t shape[4];
  int64_t bytes;
  bool input, temp, has_init;
  const char *type_name; /* "f32", "f32[3]", a struct's name */
  int ncomponents;       /* 1 if the type is a scalar */
  const StcComponent *components;
  const char *dtype;
  int naxes; /* of vectors: their lengths, outermost first */
  const int64_t *axes;
  int64_t first[4];  /* the place of element 0 in the grid */
  int64_t frames;    /* a series of frames of this many steps each (stc_plan_frames); 0: no series */
  bool ahead, cycle; /* of frames: it has the next frame, for the field before it; the series begins again after its
                        last frame */
} StcFieldInfo;
StcStatus stc_plan_field(StcPlan *plan, int field, StcFieldInfo *out);
/* The same for one component by itself, as a field of its scalar type with the name "v.0"; and for a launch-time array
 * (rank 1, with the length that its params give). */
StcStatus stc_plan_component(StcPlan *plan, int field, int component, StcFieldInfo *out);
StcStatus stc_plan_array(StcPlan *plan, int array, StcFieldInfo *out);

/* With StcRanks.parts: the points of a field that part number `part` of this process owns, described as by
 * stc_plan_field; their values in and out. The plan manages ghost cells itself. */
StcStatus stc_plan_part_field(StcPlan *plan, int part, int field, StcFieldInfo *out);
StcStatus stc_plan_part_set(StcPlan *plan, int part, int field, const void *data, size_t bytes);
StcStatus stc_plan_part_get(StcPlan *plan, int part, int field, void *data, size_t bytes);

/* Copies the field's values in from / out to host memory of `bytes` bytes (C order; must be the field's size). A field
 * set this way replaces its init. */
StcStatus stc_plan_set(StcPlan *plan, int field, const void *data, size_t bytes);
StcStatus stc_plan_get(StcPlan *plan, int field, void *data, size_t bytes);
/* The same for one component. Before the first run set all components of a field, or none. */
StcStatus stc_plan_set_component(StcPlan *plan, int field, int component, const void *data, size_t bytes);
StcStatus stc_plan_get_component(StcPlan *plan, int field, int component, void *data, size_t bytes);
/* Sets the frames of a field with a series, `count` frames (< 0: any number). `fn` writes frame number `frame`, from 0
 * on, to `data`: the field's `bytes` bytes in C order. A run calls it for each frame that it needs, in order, before
 * the step with which the frame begins, or earlier. For a series with `cycle` a GPU may keep the frames until the run
 * ends, and ask for each once. If fn returns another status than STC_OK, the run ends. With StcRanks.parts all
 * processes of a plan call this. A field that is set by stc_plan_set instead has that one frame in all steps. */
typedef StcStatus (*StcFrame)(void *user, int64_t frame, void *data, size_t bytes);
StcStatus stc_plan_frames(StcPlan *plan, int field, int64_t count, StcFrame fn, void *user);
/* Sets a launch-time array; each must be set before the first run. */
StcStatus stc_plan_set_array(StcPlan *plan, int array, const void *data, size_t bytes);
/* The device memory that now holds a component of the field (component 0 of a scalar field; a device pointer on cuda
 * and hip), valid until the next run. Not for vectors and structs on ref, where they are packed. The memory is dense,
 * in C order. On cuda, hip and sim a plan pads rows in its memory if they are not whole vectors. This call first makes
 * all rows of the plan dense and keeps their values; steps take longer from then on. So do stc_plan_bind to an array,
 * stc_plan_to_dlpack and stc_plan_from_dlpack. stc_plan_set and stc_plan_get leave the rows as they are. */
StcStatus stc_plan_pointer(StcPlan *plan, int field, int component, void **pointer);

/* An array of the caller: memory that the plan's device can access (host memory on ref, sim and host; device memory on
 * cuda and hip), the type of its elements, and for each dimension its length and the distance of two neighbours in
 * elements (strides NULL: dense, in C order). */
typedef struct StcArray {
  void *data;
  StcType type;
  int rank;
  const int64_t *shape, *strides;
} StcArray;
/* Tells values that `field` will have in runs of plans that are made from now on: a mask, or a field that masks depend
 * on. Schedules then suit the part of the grid where the mask is true. The values are in host memory and are not needed
 * after the call. Nothing else depends on them: a run uses the values that are set, and its results are the same.
 * Values that no choice depends on are ignored, and so are values of another shape than the grid's. */
StcStatus stc_program_foresee(StcProgram *p, const char *field, const StcArray *values);
/* From now on the field (or its component) lives in the caller's array, without a copy: kernels use the array in place,
 * and it holds the field's values whenever no run is under way. The array must live until the plan is freed or the
 * field is bound to another array. It must be dense in C order, have the field's type and shape, and be aligned as the
 * kernels need. Its values become the field's values; with `fresh` they are ignored, and the field starts from its
 * init. NULL: the field moves, with its values, to the plan's own memory. Fields of structs are bound component by
 * component. So are fields of vectors, or as a whole with component -1: the array then has the vector's lengths as
 * further dimensions after the field's, and each component is dense by itself. On ref neither can be bound. */
StcStatus stc_plan_bind(StcPlan *plan, int field, int component, const StcArray *array, bool fresh);
/* DLPack. To: the field as a tensor in the plan's memory, without a copy. The tensor has the field's values whenever no
 * run is under way (before the first run: none yet). Its memory lives until its deleter is called, which any thread may
 * do, or until the plan is freed. If the field is bound elsewhere, the tensor keeps the last values from before. From:
 * binds the field to the tensor's memory; the plan then owns the tensor and calls its deleter when it releases the
 * memory. After an error the caller still owns the tensor. Component -1 is a whole field of vectors, with the vector's
 * lengths as dimensions after the field's. If a tensor of the field is requested, whole or in part, its components
 * first move to equal distances. */
struct DLManagedTensor;
/* Does the next run continue from the values of component `component` of the field (-1: of each component)? True if it
 * was set or bound, or if steps or inits were made. If false, its init runs first, or an older level begins as its
 * field does, and values written to its memory before are lost. False for a field that does not exist. */
bool stc_plan_is_set(StcPlan *plan, int field, int component);
StcStatus stc_plan_to_dlpack(StcPlan *plan, int field, int component, struct DLManagedTensor **out);
StcStatus stc_plan_from_dlpack(StcPlan *plan, int field, int component, struct DLManagedTensor *tensor);

/* The times of a run. seconds: only the kernels and the host part of the time steps, without inits and copies in and
 * out (on ref and sim: with inits). steps: the steps that were made, fewer than requested if the condition of an
 * `until` was met; then `until` is its name (else NULL). */
typedef struct StcRunInfo {
  double seconds;
  int64_t points, steps, launches;
  double gpts;
  const char *until;
} StcRunInfo;
/* Runs inits (on the first run) and then `steps` time steps (< 0: the program's own number), continuing from where the
 * last run stopped. `info` may be NULL. Error if a field has neither init nor data, or a launch-time array no data. */
StcStatus stc_plan_run(StcPlan *plan, int64_t steps, StcRunInfo *info);
/* stop: the current run and later runs end soon with STC_INTERRUPTED, until this function is called with false. Any
 * thread or signal handler may call it. A run ends between two steps (time tiles), and the next run continues there. On
 * this computer, a run whose step takes more than a tenth of a second longer ends within the step; the fields then have
 * no values until stc_plan_restart. On cuda and hip launches in the stream run to their end. With several processes
 * this has no effect: there a progress callback stops runs. Compiling at the beginning of a run stops, too, also with
 * stc_context_stop; the run then returns STC_INTERRUPTED. */
void stc_plan_stop(StcPlan *plan, bool stop);
/* Makes the next run begin at step 0. Inits run again for the fields that are not set or bound in the meantime; fields
 * without an init must be set or bound again. Params, launch-time arrays, series of frames, memory and code stay. */
StcStatus stc_plan_restart(StcPlan *plan);
/* Like stc_plan_run, but does not wait for the end. On cuda and hip the launches are in the stream when it returns (the
 * first run of a plan waits for its inits; programs with `reduce` or `until`, and plans with a progress callback, wait
 * for each value). On other devices a thread of its own makes the run and calls the callbacks; until stc_plan_wait the
 * caller may use nothing of the plan's context except stc_plan_busy. */
StcStatus stc_plan_run_async(StcPlan *plan, int64_t steps);
/* Waits for the runs that stc_plan_run_async began; returns the times of the last one, and its error. */
StcStatus stc_plan_wait(StcPlan *plan, StcRunInfo *info);
/* Is such a run under way? On cuda and hip: true until stc_plan_wait is called for it. */
bool stc_plan_busy(StcPlan *plan);
/* On cuda and hip: all work of the plan goes to this stream of the caller from now on, a CUstream or hipStream_t of the
 * device's primary context (NULL: the default stream). The stream must live as long as the plan uses it. */
StcStatus stc_plan_stream(StcPlan *plan, void *stream);
/* On cuda and hip, with a CUevent or hipEvent_t of the caller: later work of the plan waits for the event; the event is
 * recorded after all work of the plan so far. */
StcStatus stc_plan_wait_event(StcPlan *plan, void *event);
StcStatus stc_plan_record_event(StcPlan *plan, void *event);

/* States before the first run that `step` steps were made before, perhaps by another plan whose fields were saved.
 * `step` of the language starts there, and reductions are evaluated after the same steps as without the interruption.
 * Error if the steps use the value of a reduction that was last evaluated before. */
StcStatus stc_plan_first_step(StcPlan *plan, int64_t step);
/* The value of a `reduce` or `until` after `step` steps: f for type STC_F64, i for type STC_I64; it belongs to member
 * number `member` of `members`; members 0: it belongs to the whole program. */
typedef struct StcReduction {
  const char *name;
  StcType type;
  int64_t step;
  double f;
  int64_t i;
  int64_t member, members;
} StcReduction;
/* Param number `n` of the program under this plan, in order of declaration: bools and integers as i with type STC_BOOL
 * and STC_I64, others as f with their own type. step: the steps made so far, including those of stc_plan_first_step.
 * False: there is no such param. (The struct is that of a reduction's value.) */
bool stc_plan_param(const StcPlan *plan, int n, StcReduction *out);
/* Scalars. The name of scalar number `n` (`scalar`) of the program, in order of declaration; NULL: there is no such
 * scalar. stc_plan_scalar waits for the scalar and returns its present value under this plan, as for a reduction.
 * stc_plan_set_scalar sets the value: `f` if the scalar is f64, else `i`. Before the first run the value replaces the
 * one in the program, which is also the param of the same name; later it may be set at any time between runs. In a
 * program with members a scalar that is not `shared` has a value for each member: out->members is their number, `out`
 * has the value of the first, and setting sets all. */
const char *stc_program_scalar(const StcProgram *p, int n);
StcStatus stc_plan_scalar(StcPlan *plan, const char *name, StcReduction *out);
StcStatus stc_plan_set_scalar(StcPlan *plan, const char *name, double f, int64_t i);
/* The same for all members in order (of a scalar without members: for its one value): doubles or int64_ts, in `bytes`
 * bytes. */
StcStatus stc_plan_scalars(StcPlan *plan, const char *name, void *values, size_t bytes);
StcStatus stc_plan_set_scalars(StcPlan *plan, const char *name, const void *values, size_t bytes);
/* Repeats. The name of repeat number `n` of the program (`repeat`; an inner repeat comes before the outer one), NULL:
 * there is no such repeat. stc_plan_rounds describes its last step with rounds, number `step` (-1: there was none): the
 * number of rounds in all of its executions in that step, and whether an `until` ended them. */
typedef struct StcRounds {
  int64_t step, rounds;
  bool ended;
} StcRounds;
const char *stc_program_repeat(const StcProgram *p, int n);
StcStatus stc_plan_rounds(StcPlan *plan, const char *name, StcRounds *out);
/* The distance of two points of the grid in a dimension, and the time from one step to the next, from the program's
 * `spacing` and `step` under this plan; 0 if the program has none, or if a launch-time array has the coordinates. */
double stc_plan_spacing(const StcPlan *plan, int dimension);
double stc_plan_time_step(const StcPlan *plan);
/* Sets a callback for each evaluation of a `reduce` or `until` during runs, in a program with members once for each
 * member. After a step with repeats it is called for each repeat with NAME.rounds and NAME.ended (1 or 0), and for the
 * reductions in it with their last values. */
void stc_plan_series(StcPlan *plan, void (*fn)(void *user, const StcReduction *r), void *user);
/* The values of a `probe` after `step` steps: n values of type `type`, one after the other, in the order of its list of
 * points; 1 without a list. They live until the callback returns. */
typedef struct StcProbe {
  const char *name;
  StcType type;
  int64_t step, n;
  const void *values;
} StcProbe;
/* Sets a callback for each evaluation of a `probe` during runs, for each probe in order of steps. It is called later
 * than the steps are made; all calls are done when stc_plan_run returns. */
void stc_plan_probes(StcPlan *plan, void (*fn)(void *user, const StcProbe *row), void *user);
/* A probe: it records n values every `every` steps; list: its points are a list, also if the list has one point. */
typedef struct StcProbeInfo {
  const char *name;
  StcType type;
  int64_t every, n;
  bool list;
} StcProbeInfo;
int stc_program_probe_count(const StcProgram *p);
StcStatus stc_plan_probe(StcPlan *plan, int probe, StcProbeInfo *out);
/* The grid coordinates of point number `n` of a probe; its launch-time arrays must have been set. */
StcStatus stc_plan_probe_point(StcPlan *plan, int probe, int64_t n, int64_t at[4]);
/* Sets a callback that is called from time to time during runs, with the number of steps made and requested; it returns
 * true to continue. */
void stc_plan_progress(StcPlan *plan, bool (*fn)(void *user, int64_t done, int64_t of), void *user);
/* From now on runs call `fn` whenever `every` (from 1) divides the number of steps made, including before the first
 * step; several functions are called in the order of these calls. fn may read fields of the plan, and nothing else.
 * Only there are time tiles cut short. If fn returns another status than STC_OK, for which it has sent a message, the
 * run ends with this status. */
typedef StcStatus (*StcWatch)(void *user, StcPlan *plan, int64_t step);
StcStatus stc_plan_watch(StcPlan *plan, int64_t every, StcWatch fn, void *user);
/* The program whose steps compute, backwards, the gradient of `p`, for the same target; it belongs to `p` and has an
 * artifact of its own. The manifest of `p` describes the launches of both, but only after this call. NULL in *backward:
 * `p` has no gradient, or its gradient cannot be launched without libstc; then there was a warning. */
StcStatus stc_program_backward(StcProgram *p, StcProgram **backward);
/* Gradients. The targets of the program's `gradient`, in order: their names, NULL beyond the last. */
int stc_program_gradient_count(const StcProgram *p);
const char *stc_program_gradient_name(const StcProgram *p, int i);
/* Computes the sum of the losses over `steps` steps (< 0: the program's own number) from the first step on, into *value
 * (may be NULL), and its derivatives. The plan must not have run, and counts as not run afterwards; all fields and
 * arrays that it needs must be set. The backward run needs values of the forward run. They are kept in the device's
 * memory and then in the computer's, in at most `memory` bytes (0: three quarters of the free memory of both). If that
 * is too little for all, steps are made again; all results are the same bits. */
StcStatus stc_plan_gradient(StcPlan *plan, int64_t steps, int64_t memory, double *value);
/* From now on such runs may also write values of steps that exceed the memory to a file in `folder` (NULL: no longer):
 * snapshots of the state, each of which is read once. Steps are then made twice at most. The file has no name, so it
 * disappears with the process in any case. */
StcStatus stc_plan_gradient_scratch(StcPlan *plan, const char *folder);
/* The same for a loss that the caller computes. of[i] holds its derivatives with respect to each number of a field,
 * including older levels ("U@1"), after the last step, in the field's type and layout. to: the targets: fields and
 * older levels before the first step, launch-time arrays of floats, params, scalars. The program needs neither losses
 * nor a gradient. Targets that do not influence the fields have derivatives of 0. */
typedef struct StcPull {
  const char *field;
  const void *data;
  size_t bytes;
} StcPull;
StcStatus stc_plan_pull(StcPlan *plan, int64_t steps, int64_t memory, int nof, const StcPull *of, int nto,
                        const char *const *to);
/* The derivatives with respect to target number `i`. Their number: one for each number of a field (for vectors and
 * structs point by point) or of an array; 1 for a param or a scalar, or one for each member with a scalar of its own;
 * -1: there is no such target. And their values, from the last stc_plan_gradient; after stc_plan_pull the targets are
 * to[i]. */
int64_t stc_plan_gradient_size(const StcPlan *plan, int i);
StcStatus stc_plan_gradient_get(StcPlan *plan, int i, double *out, size_t n);
/* The same rounded to f32, which takes less time if the derivatives are f32. */
StcStatus stc_plan_gradient_get_f32(StcPlan *plan, int i, float *out, size_t n);

/* A kernel of a plan: the number of its launches and their seconds since stc_plan_time_kernels; bytes of shared memory
 * of a block; on cuda and hip the registers of a thread and its bytes of local memory, for spilled registers or arrays
 * (elsewhere 0), and the registers that stc expected. */
typedef struct StcKernelInfo {
  const char *name;
  int64_t launches;
  double seconds;
  int64_t shared_bytes;
  int registers;
  int64_t local_bytes;
  int estimated_registers;
} StcKernelInfo;
/* From now on each launch is timed by itself, and each waits for the one before; the seconds of a run are then the sum
 * of all. Devices ref and sim launch nothing. */
void stc_plan_time_kernels(StcPlan *plan);
/* The kernels; on ref there are 0. */
int stc_plan_kernel_count(const StcPlan *plan);
StcStatus stc_plan_kernel(StcPlan *plan, int kernel, StcKernelInfo *out);
/* The seconds of compiling for this plan so far (kernels for NVIDIA GPUs are compiled when a run first launches them),
 * and descriptions of device and schedule ("overlap T=4 block=8x32 elems=4x1"). */
double stc_plan_compile_seconds(const StcPlan *plan);
const char *stc_plan_device(const StcPlan *plan);
const char *stc_plan_schedule(const StcPlan *plan);

/* A window into a plan's runs: a page that this process serves on the loopback address, or on request on another one.
 * The page shows fields and curves while the plan runs; it can pause the plan, make single steps, set params and
 * restart (docs/howto/view.md). It takes a hundredth of the computer's time while somebody watches. */
typedef struct StcView StcView;
/* Opens a window. address: "ADDRESS:PORT", "PORT"; NULL: the loopback address and a free port. A plan has one window at
 * a time. */
StcStatus stc_view_open(StcPlan *plan, const char *address, StcView **out);
/* The address of the page. It contains a random token; everybody who knows it may look at and control the runs. */
const char *stc_view_url(const StcView *view);
/* Closes the window, as stc_plan_free does. A run that waits for the page continues; a run in its own thread is waited
 * for. */
void stc_view_close(StcView *view);

/* Writes to `to` one line for each device, and for each unusable device the reason. */
StcStatus stc_devices(StcContext *c, FILE *to);

/* The versions of stc and of LLVM, "stc 0.2.0 (LLVM 22.1.0)". */
const char *stc_version(void);

/* Runs the stc command with these words, including argv[0], and returns its exit code, an StcStatus. Unlike other
 * functions it prints, and `stc run`, `bench` and `tune` handle SIGINT and SIGTERM. */
int stc_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
