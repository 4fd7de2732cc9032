/* stc.h: the public C interface of libstc, the stencil compiler. The stc command is written on it.
 *
 *   context   memory and message callbacks; nothing is global, two contexts may be used in two threads
 *   program   a compiled .stn, .sir or .kir: its artifact and its manifest
 *   plan      a program on a device with fixed params: checked and loaded once, run many times
 *
 * Strings returned belong to the object asked and live as long as it does. No function exits or prints; each that can
 * fail
 * returns a status and reports through the context's message callback.
 */
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

/* What a call came to; also the command's exit code. */
typedef enum StcStatus {
  STC_OK = 0,
  STC_CHECK_FAILED = 1, /* --check found a difference above the tolerance */
  STC_USAGE = 2,        /* malformed options */
  STC_INPUT = 3,        /* the program, IR text or data file is wrong */
  STC_DEVICE = 4,       /* no such device or library, out of device memory, launch failed */
  STC_IO = 5,           /* a file could not be read or written */
  STC_MEMORY = 6,       /* out of host memory */
  STC_INTERNAL = 7,     /* a mistake in stc itself, for example a pass that made invalid IR */
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
/* stop: compiling that is under way in the context, and what is begun later, ends soon with STC_INTERRUPTED, until it
 * is called with false: within passes at once, within LLVM and a driver's compiler when the kernels that they are at
 * are made. The program is as it was before the call, and may be asked again. Any thread may call it, and a signal
 * handler. Runs go on: see stc_plan_stop. */
void stc_context_stop(StcContext *c, bool stop);

/* How to compile. Zero-initialise it, then set what you want; 0 and NULL mean the default. Arrays are in the program's
 * order of dimensions, slowest first. */
typedef struct StcOptions {
  const char *march;    /* "nvptx", "amdgpu", "host"; default "host" */
  const char *mcpu;     /* "sm_90", "gfx942", ... */
  const char *real;     /* "f32" or "f64" */
  const char *schedule; /* "naive", "overlap", "stream", "warps"; NULL or "auto": stc's choice; or the text of a plan,
                           as stc_program_plan gives it, which says all of it: leave the knobs open then */
  /* The knobs of schedules, a member each; ir/knobs.def has what they mean: a number (0: open) is an int, a shape an
   * int[3], threads a block, such as {8, 32}, a word or a text a string (NULL: open). */
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
  int64_t grid[4]; /* extents of the grid that the choice of a schedule is to suit; 0: those that the params give, as
                      far as they are known */
  int64_t members; /* N > 0: so many members, as if `members N;` stood behind the grid of the program, which has none */
  int opt_level;   /* 1..4 mean -O0..-O3; 0: -O3 */
  bool no_contract, fast_math;
  bool no_hoist;        /* no hidden fields of what no step changes (docs/passes.md) */
  bool no_cache;        /* kernels for the CPU are compiled, and not kept on disk */
  int64_t check_finite; /* N > 0: before the first step and after every N steps, stop if a float field holds a NaN or an
                           infinity */
  bool check_bounds;    /* stop if an index of a launch-time array was out of range */
  const char *passes;   /* a pipeline in place of the default one */
  int nload;            /* shared objects whose passes `passes` may name (docs/passes.md) */
  const char *const *load_passes;
  const char *print_before, *print_after;
  bool print_all, verify_each, time_passes, stats, remarks;
  int ndefines; /* params overridden, as "NAME=VALUE": new defaults, also in the manifest */
  const char *const *defines;
} StcOptions;

/* A knob of schedules: its name, what it takes, where it stands in StcOptions, as offsetof gives it; for people: "N" or
 * "AxBxC", and what it is. */
typedef enum StcKnobKind { STC_KNOB_NUMBER, STC_KNOB_SHAPE, STC_KNOB_WORD, STC_KNOB_TEXT } StcKnobKind;
typedef struct StcKnob {
  const char *name;
  StcKnobKind kind;
  size_t offset;
  const char *value, *help;
} StcKnob;
/* Tells of knob number `knob`, from 0. False: there are fewer. */
bool stc_knob(int knob, StcKnob *out);

/* Reads and checks `text` (`name` is used in messages and, without directory and ending, as the program's name; the
 * ending .sir or .kir makes it IR text) and the options. The passes and the code generator run when something is asked
 * that needs them, for the target known then: stc_program_emit for options->march, a plan for its device. `text`,
 * `name` and the options are copied. On success *out is the program, to be freed with stc_program_free after its plans
 * and before its context. */
StcStatus stc_compile_string(StcContext *c, const char *name, const char *text, const StcOptions *o, StcProgram **out);
StcStatus stc_compile_file(StcContext *c, const char *path, const StcOptions *o, StcProgram **out);
void stc_program_free(StcProgram *p);

/* What to make of a program. "ast" only from a .stn. "sir" is the program as read, or what options->passes made of it.
 * "obj" is the artifact: PTX text, a code object, a host object. The bytes are followed by a NUL that `size` does not
 * count. */
typedef enum StcEmit { STC_EMIT_AST, STC_EMIT_SIR, STC_EMIT_KIR, STC_EMIT_LLVM, STC_EMIT_ASM, STC_EMIT_OBJ } StcEmit;
StcStatus stc_program_emit(StcProgram *p, StcEmit what, const char **bytes, size_t *size);
/* The manifest, docs/manifest.md, as JSON text; the artifact's C header (host only). */
StcStatus stc_program_manifest(StcProgram *p, const char **json);
StcStatus stc_program_header(StcProgram *p, const char **text);
/* How the program is run on options->march: its plan as text, which options.schedule takes. */
StcStatus stc_program_plan(StcProgram *p, const char **text);
/* The program's name, the artifact's ending ("ptx", "hsaco" or "o") and the target's architecture; the last two are
 * NULL after an error. */
const char *stc_program_name(const StcProgram *p);
const char *stc_program_suffix(StcProgram *p);
const char *stc_program_arch(StcProgram *p);
/* Does every device that keeps to -fno-contract give the same bits: only + - * / sqrt and other correctly rounded
 * operations? */
bool stc_program_is_exact(const StcProgram *p);

/* Fields in order of declaration, older levels ("U@1") behind their field; NULL / -1 beyond the last. */
int stc_program_field_count(const StcProgram *p);
const char *stc_program_field_name(const StcProgram *p, int field);
int stc_program_find_field(const StcProgram *p, const char *name);
/* What reads beyond the field's edges give, as the language writes it behind `outside`, "clamp" or "[mirror half odd ..
 * 0.0, periodic]"; NULL: such reads are errors. */
const char *stc_program_field_outside(const StcProgram *p, int field);
/* Launch-time arrays (`param src[n] : f32`), likewise. */
int stc_program_array_count(const StcProgram *p);
const char *stc_program_array_name(const StcProgram *p, int array);
int stc_program_find_array(const StcProgram *p, const char *name);
int stc_program_rank(const StcProgram *p);
/* How many `reduce` and `until` it has. */
int stc_program_reduction_count(const StcProgram *p);
/* The time steps that the program asks for; if a param says how many, under the options' params; -1 if that has no
 * value. */
int64_t stc_program_steps(const StcProgram *p);

/* Prepares `p` to run on `device`: "ref", "sim", "host", "host:8" (threads), "cuda", "cuda:1", "hip", ... with params
 * overridden by the n strings "NAME=VALUE". A program compiled for another architecture than the device's, or with a
 * schedule chosen for a grid of another size, about, is compiled again. */
StcStatus stc_plan_new(StcProgram *p, const char *device, int n, const char *const *defines, StcPlan **out);
/* The same with the grid cut into parts, whose results are the same bits. device: also several, "cuda:0-3" or
 * "cuda:0,2", over which parts are dealt out in order. split: how many parts along each dimension, slowest first,
 * "2x2", and behind a slash the steps from one exchange of ghost cells to the next, "4/8", and behind a colon by what
 * they go, "4/8:nccl" ("store", "peer", "copy", "nccl", "mpi"); NULL: as many as devices along the slowest one. What
 * cannot be cut yet is an error. */
StcStatus stc_plan_new_split(StcProgram *p, const char *device, const char *split, int n, const char *const *defines,
                             StcPlan **out);
/* The same on one device, of whose memory the plan is to take at most `memory` bytes. Where it needs more, its fields
 * are in memory of this computer, and parts of the grid take turns on the device, some steps a turn; the results are
 * the same bits. split: NULL, or how many parts, and behind a slash how many steps a turn, such as "16/32". */
StcStatus stc_plan_new_within(StcProgram *p, const char *device, int64_t memory, const char *split, int n,
                              const char *const *defines, StcPlan **out);
/* The same over several processes, all of which call it, and what is said to be called by all below, with the same
 * arguments. communicator: a pointer to an MPI_Comm of theirs, which is copied; NULL: all processes that were started
 * together, for which MPI is begun if need be. module: the file of stc-mpi.so; NULL: where it lies. parts: no process
 * has the whole grid, and fields are set and got part by part; else the first one has it, fields are set and got there,
 * and on the others stc_plan_set does nothing. All call stc_plan_run, stc_plan_restart, stc_plan_set_array and
 * stc_plan_free. Devices: of "cuda" each process takes the one of its number on its machine, of a list its share. */
typedef struct StcRanks {
  void *communicator;
  const char *module;
  bool parts;
} StcRanks;
StcStatus stc_plan_new_ranks(StcProgram *p, const StcRanks *ranks, const char *device, const char *split, int n,
                             const char *const *defines, StcPlan **out);
/* How many parts of the grid this process has; 0: the plan's grid is whole. */
int stc_plan_part_count(const StcPlan *plan);
/* A run in a thread of its own is stopped. */
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
/* A scalar part of a field's value. path: ".xx", ".c.2" (member 2 of the vector c); "" where the field is a scalar
 * itself. offset: bytes from the start of a point. */
typedef struct StcComponent {
  const char *path;
  StcType type;
  int64_t offset;
} StcComponent;
/* Type, shape and place in the grid (rank places) and role of a field under this plan. A field of vectors or structs
 * has the type STC_COMPOSITE; its points are packed: the components in order, without padding, as NumPy's structured
 * dtypes have them. A .npy file of the field has the shape shape + axes and the elements `dtype` (as the file's header
 * spells it).
 */
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
  int64_t frames;    /* it is a series of frames of so many steps each (stc_plan_frames); 0: it is not */
  bool ahead, cycle; /* of frames: it has the one behind that of the step, for the field before it; they begin anew */
} StcFieldInfo;
StcStatus stc_plan_field(StcPlan *plan, int field, StcFieldInfo *out);
/* The same of one component by itself, as a field of its scalar type called "v.0"; of a launch-time array (rank 1, as
 * long as its params say). */
StcStatus stc_plan_component(StcPlan *plan, int field, int component, StcFieldInfo *out);
StcStatus stc_plan_array(StcPlan *plan, int array, StcFieldInfo *out);

/* With StcRanks.parts: the points of a field that part number `part` of this process owns, as stc_plan_field tells of a
 * field; their values in and out. Ghost cells are the plan's own business. */
StcStatus stc_plan_part_field(StcPlan *plan, int part, int field, StcFieldInfo *out);
StcStatus stc_plan_part_set(StcPlan *plan, int part, int field, const void *data, size_t bytes);
StcStatus stc_plan_part_get(StcPlan *plan, int part, int field, void *data, size_t bytes);

/* Copies the field's values in from / out to host memory of `bytes` bytes (C order; must be the field's size). A field
 * set this way replaces its init. */
StcStatus stc_plan_set(StcPlan *plan, int field, const void *data, size_t bytes);
StcStatus stc_plan_get(StcPlan *plan, int field, void *data, size_t bytes);
/* The same for one component. Before the first run either all components of a field are set, or none. */
StcStatus stc_plan_set_component(StcPlan *plan, int field, int component, const void *data, size_t bytes);
StcStatus stc_plan_get_component(StcPlan *plan, int field, int component, void *data, size_t bytes);
/* The frames of a field that is a series of them, `count` (< 0: as many as are asked for): `fn` writes number `frame`,
 * from 0 on, to `data`, the field's `bytes` bytes in C order. Runs call it, before the step with which a frame begins,
 * or earlier, for each frame that they need, in order, but for series that begin anew: of these a GPU may keep frames
 * until the run ends, which are asked for once. What fn returns other than STC_OK ends the run. All processes of a plan
 * with StcRanks.parts call this. A field that is set by stc_plan_set instead has that one frame in all steps. */
typedef StcStatus (*StcFrame)(void *user, int64_t frame, void *data, size_t bytes);
StcStatus stc_plan_frames(StcPlan *plan, int field, int64_t count, StcFrame fn, void *user);
/* Sets a launch-time array; each must be set before the first run. */
StcStatus stc_plan_set_array(StcPlan *plan, int array, const void *data, size_t bytes);
/* Device memory holding a component of the field now (component 0 of a scalar field; a device pointer on cuda and hip);
 * valid until the next run. Not for vectors and structs on ref, where they are packed. It is dense, in C order: where
 * the plan padded rows in its memory, which it does on cuda, hip and sim where they are no whole vectors, this makes
 * all its rows dense, with the values that they have, and steps take longer from then on. So do stc_plan_bind to an
 * array, stc_plan_to_dlpack and stc_plan_from_dlpack. stc_plan_set and stc_plan_get leave rows as they are. */
StcStatus stc_plan_pointer(StcPlan *plan, int field, int component, void **pointer);

/* An array of the caller's: memory that the plan's device reaches (of the host on ref, sim and host; device memory on
 * cuda and hip), its elements' type, and per dimension its length and the elements from one place to the next (strides
 * NULL: dense, in C order). */
typedef struct StcArray {
  void *data;
  StcType type;
  int rank;
  const int64_t *shape, *strides;
} StcArray;
/* Tells values that field `field` will have in runs of plans that are made from now on, such as a mask's, or those of a
 * field that a mask is made of, so that schedules suit the part of the grid where it is true. They are in host memory,
 * and not wanted any more then. Nothing else goes by them: a run takes the values that are set, and has the same
 * results whatever was told. Values that no choice depends on are ignored, also those of another shape than the grid's.
 */
StcStatus stc_program_foresee(StcProgram *p, const char *field, const StcArray *values);
/* From now on the field (or its component) lives in the caller's array, without a copy: kernels work on it where it is,
 * and it holds the field's values whenever no run is under way. The array must stay until the plan is freed or the
 * field bound to another; it must be dense in C order, of the field's type and shape, and aligned as the kernels need.
 * The values in it become the field's; with `fresh` they do not count, and the field starts from its init. NULL: the
 * field moves, with its values, to memory of the plan's own. Fields of structs are bound component by component, those
 * of vectors so or, as component -1, whole: the array has the vector's lengths as further dimensions behind the
 * field's, and each component dense by itself. On ref neither is bound. */
StcStatus stc_plan_bind(StcPlan *plan, int field, int component, const StcArray *array, bool fresh);
/* DLPack. To: the field as a tensor in the plan's memory, without a copy: it has the field's values whenever no run is
 * under way (before the first run: none yet). Its memory stays until its deleter is called, which any thread may do, or
 * the plan is freed; once the field is bound elsewhere it has the last values from before. From: binds the field to the
 * tensor's memory; the plan then owns the tensor and calls its deleter when it lets go. After an error the tensor is
 * the caller's still. Component -1 is a whole field of vectors, with the vector's lengths as dimensions behind the
 * field's; asked for as a tensor, whole or in part, its components move to where they lie equally far apart. */
struct DLManagedTensor;
/* Has component `component` of the field (-1: each) values that the next run goes on from: was it set or bound, or were
 * steps or inits made? If not, its init is still to come, or an older level is to begin as its field does, and what is
 * written to its memory before is lost. False for a field that there is not. */
bool stc_plan_is_set(StcPlan *plan, int field, int component);
StcStatus stc_plan_to_dlpack(StcPlan *plan, int field, int component, struct DLManagedTensor **out);
StcStatus stc_plan_from_dlpack(StcPlan *plan, int field, int component, struct DLManagedTensor *tensor);

/* What a run took. seconds: the time steps' kernels and host part only, without inits and copies in and out (on ref and
 * sim: with inits). steps: those really made, fewer than asked for if the condition of an `until` was met, whose name
 * `until` then is (else NULL). */
typedef struct StcRunInfo {
  double seconds;
  int64_t points, steps, launches;
  double gpts;
  const char *until;
} StcRunInfo;
/* Runs inits (on the first run) and then `steps` time steps (< 0: the program's own number), continuing from where the
 * last run stopped. `info` may be NULL. Error if a field has neither init nor data, or a launch-time array no data. */
StcStatus stc_plan_run(StcPlan *plan, int64_t steps, StcRunInfo *info);
/* stop: the run under way, and those that follow, end soon with STC_INTERRUPTED, until it is called with false. Any
 * thread may call it, and a signal handler. A run ends between two steps (time tiles), and the next one goes on from
 * there; on this computer one whose step takes more than a tenth of a second longer ends within it, and then the fields
 * have no values until stc_plan_restart. On cuda and hip launches that are in the stream come to their end. With
 * several processes it has no effect: there a progress callback stops runs. What compiles kernels when a run begins
 * ends with it, and with stc_context_stop, which the run then returns STC_INTERRUPTED for. */
void stc_plan_stop(StcPlan *plan, bool stop);
/* Has the next run begin at step 0: inits are run again, for the fields that are not set or bound in the meantime;
 * those without an init must be set or bound again. Params, launch-time arrays, series of frames, memory and code stay.
 */
StcStatus stc_plan_restart(StcPlan *plan);
/* The same as stc_plan_run without waiting for the end: on cuda and hip the launches are in the stream when it returns
 * (the first run of a plan waits for its inits, and programs with `reduce` or `until`, or plans with a progress
 * callback, wait for each value); elsewhere a thread of its own runs them, which calls the callbacks, and until
 * stc_plan_wait nothing else of the plan's context may be used but stc_plan_busy. */
StcStatus stc_plan_run_async(StcPlan *plan, int64_t steps);
/* Waits for the runs begun so; what the last one took, and its error. */
StcStatus stc_plan_wait(StcPlan *plan, StcRunInfo *info);
/* Is such a run under way? On cuda and hip: has stc_plan_wait not been called for it? */
bool stc_plan_busy(StcPlan *plan);
/* On cuda and hip: all that the plan does from now on goes to that stream of the caller's, a CUstream or hipStream_t of
 * the device's primary context (NULL: the default stream), which must outlive the plan's use of it. */
StcStatus stc_plan_stream(StcPlan *plan, void *stream);
/* On cuda and hip, a CUevent or hipEvent_t of the caller's: what the plan does from now on waits for it; it is recorded
 * behind all that the plan did so far. */
StcStatus stc_plan_wait_event(StcPlan *plan, void *event);
StcStatus stc_plan_record_event(StcPlan *plan, void *event);

/* Says before the first run that `step` steps were made before, perhaps by another plan whose fields were saved: `step`
 * starts there, and reductions are evaluated after as many steps as if it had gone on. Error if a reduction whose value
 * the steps use was last evaluated before. */
StcStatus stc_plan_first_step(StcPlan *plan, int64_t step);
/* The value of a `reduce` or `until` after `step` steps: f of type STC_F64, i of type STC_I64; that of member number
 * `member` of `members`; members 0: it is of the whole program. */
typedef struct StcReduction {
  const char *name;
  StcType type;
  int64_t step;
  double f;
  int64_t i;
  int64_t member, members;
} StcReduction;
/* The param number `n` of the program under this plan, in order of declaration, bools and integers as i of type
 * STC_BOOL and STC_I64, others as f, of their own type; step: the steps done so far, those before stc_plan_first_step
 * included. False: there is none. (It is told as a reduction's value is.) */
bool stc_plan_param(const StcPlan *plan, int n, StcReduction *out);
/* The name of scalar number `n` (`scalar`) of the program, in order of declaration; NULL: there is none. Its value
 * under this plan now, told as a reduction's is; that is waited for. Gives it a value: before the first run in place of
 * the one that the program says, which is also the param of the same name, and later at any time between runs: `f` if
 * it is f64, else `i`. In a program with members one that is not `shared` has a value for each of them: out->members
 * says how many, `out` is told that of the first, and all become the one that is given. */
const char *stc_program_scalar(const StcProgram *p, int n);
StcStatus stc_plan_scalar(StcPlan *plan, const char *name, StcReduction *out);
StcStatus stc_plan_set_scalar(StcPlan *plan, const char *name, double f, int64_t i);
/* The same of all members, in order, of another scalar of the one that there is: doubles or int64_ts, in `bytes` bytes.
 */
StcStatus stc_plan_scalars(StcPlan *plan, const char *name, void *values, size_t bytes);
StcStatus stc_plan_set_scalars(StcPlan *plan, const char *name, const void *values, size_t bytes);
/* The name of repeat number `n` of the program (`repeat`; one that is within another comes before it), NULL: there is
 * none. Of its last step that made it, number `step` (-1: none has): how many rounds it made, those of all times that
 * the step came by, and whether an `until` ended them. */
typedef struct StcRounds {
  int64_t step, rounds;
  bool ended;
} StcRounds;
const char *stc_program_repeat(const StcProgram *p, int n);
StcStatus stc_plan_rounds(StcPlan *plan, const char *name, StcRounds *out);
/* The distance of two points of the grid in a dimension, and the time from one step to the next, as the program says
 * (`spacing`, `step`) under this plan; 0 where it says nothing, and where a launch-time array has the coordinates. */
double stc_plan_spacing(const StcPlan *plan, int dimension);
double stc_plan_time_step(const StcPlan *plan);
/* Called for each evaluation of a `reduce` or `until` during runs, in a program with members for each of them. Behind a
 * step with repeats it is called for each of them with NAME.rounds and NAME.ended (1 or 0), and for the reductions in
 * them with their last values. */
void stc_plan_series(StcPlan *plan, void (*fn)(void *user, const StcReduction *r), void *user);
/* What a `probe` saw when `step` steps were done: n values of type `type`, one after the other, in the order of its
 * list of points; 1 if it has none. They live until the callback returns. */
typedef struct StcProbe {
  const char *name;
  StcType type;
  int64_t step, n;
  const void *values;
} StcProbe;
/* Called for each evaluation of a `probe` during runs, in order of steps for each probe, but later than the steps are
 * made: all is handed out when stc_plan_run returns. */
void stc_plan_probes(StcPlan *plan, void (*fn)(void *user, const StcProbe *row), void *user);
/* A probe: it sees n values every `every` steps; list: its points are a list, also if that has one point. */
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
/* Called now and then during runs with the number of steps done and asked; return true to go on. */
void stc_plan_progress(StcPlan *plan, bool (*fn)(void *user, int64_t done, int64_t of), void *user);
/* From now on runs call `fn` when so many steps are done that `every` (from 1) divides their number, before the first
 * step included, in order of these calls; fn may read fields of the plan, and nothing else. Time tiles are cut there
 * only. A status other than STC_OK, about which fn has sent its message, ends the run with it. */
typedef StcStatus (*StcWatch)(void *user, StcPlan *plan, int64_t step);
StcStatus stc_plan_watch(StcPlan *plan, int64_t every, StcWatch fn, void *user);
/* The program whose steps compute, backwards, the gradient of `p`, for the same target; it belongs to `p`. Its artifact
 * stands beside that of `p`, whose manifest says how both are launched. NULL in *backward: `p` has no gradient, or none
 * that can be launched without libstc, which a warning has said. The manifest says so only after this call. */
StcStatus stc_program_backward(StcProgram *p, StcProgram **backward);
/* Gradients. What the program's `gradient` is to, in order: their names, NULL beyond the last. */
int stc_program_gradient_count(const StcProgram *p);
const char *stc_program_gradient_name(const StcProgram *p, int i);
/* The losses' sum over `steps` steps (< 0: the program's own number) from the first one on, into *value (may be NULL),
 * and its derivatives. The plan must not have run, and is then as if it had not; all fields and arrays that it needs
 * are set. What the backward run needs of the forward one is kept in the device's memory and then in the computer's, in
 * at most `memory` bytes (0: in what both have left, but for a quarter): where that is less than all of it, steps are
 * made again, and all results are the same bits. */
StcStatus stc_plan_gradient(StcPlan *plan, int64_t steps, int64_t memory, double *value);
/* From now on such runs may also write to a file in `folder` what they need of the steps and have no memory for (NULL:
 * no longer): snapshots of the state, each of which is read once. Then steps are made twice at most. The file has no
 * name, so it is gone with the process however that ends. */
StcStatus stc_plan_gradient_scratch(StcPlan *plan, const char *folder);
/* The same for a loss that is computed elsewhere: of[i] is its derivatives by each number of a field, older levels
 * ("U@1") among them, as it is behind the last step, in the field's type and layout; to: by what they are wanted:
 * fields and older levels before the first step, launch-time arrays of floats, params, scalars. The program needs
 * neither losses nor a gradient; what does not influence the fields has derivatives that are 0. */
typedef struct StcPull {
  const char *field;
  const void *data;
  size_t bytes;
} StcPull;
StcStatus stc_plan_pull(StcPlan *plan, int64_t steps, int64_t memory, int nof, const StcPull *of, int nto,
                        const char *const *to);
/* The derivatives by what has number `i`: how many they are, one for each number of a field (of vectors and structs
 * point by point), of an array, 1 for a param or a scalar, or one for each member that has a scalar of its own; -1:
 * there is no such number. And they themselves, of the last
 * stc_plan_gradient; behind stc_plan_pull by its to[i]. */
int64_t stc_plan_gradient_size(const StcPlan *plan, int i);
StcStatus stc_plan_gradient_get(StcPlan *plan, int i, double *out, size_t n);
/* The same rounded to f32, which takes less time where that is what they are. */
StcStatus stc_plan_gradient_get_f32(StcPlan *plan, int i, float *out, size_t n);

/* A kernel of a plan: how often it was launched and the seconds it took, since stc_plan_time_kernels; bytes of shared
 * memory a block takes; on cuda and hip the registers of a thread and the bytes of its own in memory, for spilled
 * registers or arrays (elsewhere 0), and the registers that stc expected. */
typedef struct StcKernelInfo {
  const char *name;
  int64_t launches;
  double seconds;
  int64_t shared_bytes;
  int registers;
  int64_t local_bytes;
  int estimated_registers;
} StcKernelInfo;
/* From now on each launch is timed by itself, one after the other is done; the seconds of a run are then their sum.
 * Devices ref and sim launch nothing. */
void stc_plan_time_kernels(StcPlan *plan);
/* The kernels, 0 of them on ref. */
int stc_plan_kernel_count(const StcPlan *plan);
StcStatus stc_plan_kernel(StcPlan *plan, int kernel, StcKernelInfo *out);
/* Seconds that compiling for this plan took so far (kernels for NVIDIA GPUs are compiled when a run begins that
 * launches them), and a description of device and schedule ("overlap T=4 block=8x32 elems=4x1"). */
double stc_plan_compile_seconds(const StcPlan *plan);
const char *stc_plan_device(const StcPlan *plan);
const char *stc_plan_schedule(const StcPlan *plan);

/* A window into a plan's runs: a page that this process serves on the loopback address, or, if asked to, another one,
 * which shows fields while the plan runs, and curves, and has it wait, make single steps, take other values of params
 * and begin anew (docs/howto/view.md). It takes a hundredth of the computer's time, if anybody looks. */
typedef struct StcView StcView;
/* Opens it. address: "ADDRESS:PORT", "PORT"; NULL: the loopback address and a free port. A plan has one at a time. */
StcStatus stc_view_open(StcPlan *plan, const char *address, StcView **out);
/* Where the page is. Who knows that may look and steer: it has a random token. */
const char *stc_view_url(const StcView *view);
/* Closes it, as stc_plan_free does of a plan's. A run that waits for a page goes on; one of a thread of its own is
 * waited for. */
void stc_view_close(StcView *view);

/* Writes one line about each device there is, and about each that is not why, to `to`. */
StcStatus stc_devices(StcContext *c, FILE *to);

/* The versions of stc and of LLVM, "stc 0.2.0 (LLVM 22.1.0)". */
const char *stc_version(void);

/* The stc command with these words, argv[0] among them; its exit code, an StcStatus. Unlike all else here it prints,
 * and `stc run`, `bench` and `tune` take SIGINT and SIGTERM for themselves: it is for programs that are the command. */
int stc_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
