/* driver/program/program.h: contexts and programs, the basis of the whole driver.
 *
 *   context.c       contexts, messages, running out of memory, the version
 *   callers.c       messages for callers of libstc
 *   compile.c       a program: text -> stencil IR
 *   kernels.c       -> passes -> kernel IR
 *   emit.c          -> artifact, and the files that belong to it
 *   facts.c         properties of a program as it was read
 *   settings.c      StcOptions, checked and copied into a program
 *   knobs.c         their knobs of schedules
 *   budget.c        simplifies programs of very many stencils, to compile in seconds
 *   define.c        a param's value as text
 *   plugin.c        passes from shared objects
 *   foresee.c       what is known of its runs, for choices
 *   late.c          which kernels of a build are compiled late
 *   grid.c          the size of the grid, as far as it is known
 *   declared.c      fields as the program declares them: components, names, NumPy's types
 *   describe.c      a schedule in a line
 *   extra.c         the memory of plans besides the program's fields
 *   busy.c          the classes of tiles for which a kernel has something to do
 *   row-pitch.c     the pitch of rows of fields in memory
 *   code-units.h    kernels in units that are compiled separately
 *   ticker.c        shows what is being compiled, on a terminal
 *   threads.c       runs the same function on several threads
 *
 * Besides the folders of the driver there are: driver/stc.h, the public C interface (libstc); driver/main.c, the
 * command as a program; driver/commit.c, the commit from which it was made; driver/shared/, libstc.so, of which
 * driver/shared/streams.c and driver/shared/old-libc.c are parts, and the packages for CMake and pkg-config. */
#ifndef STC_DRIVER_PROGRAM_H
#define STC_DRIVER_PROGRAM_H

#include "backend/backend.h"
#include "driver/stc.h"
#include "frontend/frontend.h"
#include "ir/ir.h"
#include "passes/passes.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---------------------------------------------------------------- contexts: context.c callers.c ticker.c threads.c */

/* The commit from which this was made, "6e65149c2a01" or "6e65149c2a01-dirty"; "" if it was made from a tarball. Tests
 * are linked without it, and its address is NULL there. */
extern const char commit_made_from[] __attribute__((weak));

enum { WITHHELD = 512 };
struct StcContext {
  ReallocFn realloc;
  void (*message)(void *user, const StcMessage *m);
  void *user;
  bool command;          /* of the stc command: messages name its options */
  bool verbose, quiet;   /* verbose: -v, shows context_remark; quiet: --quiet, hides context_note */
  bool candidates;       /* -Rpass=plan: the remarks of pass plan list candidates */
  const char *plan_file; /* -plan: the name in messages of the plan that options contain as text; NULL: "plan" */
  char *withheld;        /* WITHHELD bytes: the first error is stored there, and none is sent; NULL: errors are sent */
  const Stop *stop;      /* requested when the user wants to stop; NULL: never */
  /* The same for runs; NULL if several processes make them, which stop together through their progress callbacks. */
  const Stop *run_stop;
  Working working; /* what is being compiled */
  Stop asked;      /* stc_context_stop and, beside it, `run_stop`: stops compiling */
};

/* An arena and its messages, for one object of the interface. `muted` drops all messages except errors, `silent` drops
 * errors, too. A plan's workspace has its program's as parent and uses its messages, because they know the source text.
 */
typedef struct Workspace {
  StcContext *context;
  Arena *arena;
  Diags *diags;
  bool muted, silent;
  struct Workspace *parent;
  jmp_buf *handler;
} Workspace;
/* Initializes `w`, which must not move afterwards. parent may be NULL. False when out of memory. */
bool workspace_open(Workspace *w, StcContext *c, Workspace *parent);
void workspace_close(Workspace *w);
/* Calls fn(arg) and returns its status, or, after a message, STC_MEMORY if the arena ran out of memory meanwhile. */
StcStatus workspace_guard(Workspace *w, StcStatus (*fn)(void *arg), void *arg);
/* threads.c: has `threads` threads, this one among them, do work(arg), or as many as can be had, at most 64; returns
 * when all have. */
void threads_run(int64_t threads, void *(*work)(void *arg), void *arg);
/* ticker.c: shows on the terminal what the context compiles, if that takes more than two seconds, in a thread of its
 * own; nothing unless `terminal`. ticker_end clears it. */
typedef struct Ticker {
  StcContext *context;
  pthread_t thread;
  atomic_bool over;
  bool on;
} Ticker;
void ticker_start(Ticker *t, StcContext *c, bool terminal);
void ticker_end(Ticker *t);
/* Compiling has ended: clears the text that shows it. */
void working_end(Working *w);
/* The request that stops compiling in the context. If it has been made, the active workspace_guard returns
 * STC_INTERRUPTED. */
const Stop *compile_stop(StcContext *c);
void workspace_obey(Workspace *w);
/* Makes the active workspace_guard return STC_MEMORY; an error must have been reported. */
_Noreturn void workspace_give_up(Workspace *w);
/* stc_context_new for the command, whose messages name its options. */
StcContext *context_of_command(const StcConfig *config);
/* Reports an error without a place. */
void context_error(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a warning; for a note, which --quiet hides; for a remark, which only -v shows. */
void context_warning(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void context_note(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void context_remark(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The message with members of StcOptions, arguments and calls in place of the command's options. Text in quotes ("...")
 * is not changed, because it is the user's. */
const char *words_for_callers(Arena *a, const char *text);
/* The name of an option in messages: "-T" in the command; for callers of the interface the member of StcOptions, "T".
 */
static inline const char *option_name(const StcContext *c, const char *option, const char *member) {
  return c->command ? option : member;
}

/* ---------------------------------------------------------------- programs: compile.c kernels.c emit.c
 * facts.c settings.c declared.c describe.c define.c late.c plugin.c grid.c budget.c knobs.c
 * foresee.c */

typedef enum SourceKind { SOURCE_STN, SOURCE_SIR, SOURCE_KIR } SourceKind;

/* A program's kernel IR for one target. `schedule` is its final schedule; its family is NULL if kernels or passes were
 * given. */
typedef struct Compiled {
  const Target *target;
  Module *module;
  Schedule schedule;
  double seconds;
} Compiled;

/* Where masks are true (passes/plan/cost/count.h). */
typedef struct WetMap WetMap;

/* Kernels in units that are compiled separately (code-units.h). */
typedef struct CodeUnits CodeUnits;

/* The memory of plans besides the program's fields, which kernels rely on. EXTRA_NONE: none. EXTRA_FIELDS: hidden
 * fields of values that no step changes (pass hoist). EXTRA_TESTS: hidden fields of tests of such values only (pass
 * pack-tests), on targets with threads. EXTRA_PITCH + R: padding after rows (pass pad-rows), whose number of points
 * modulo ROW_REST is R. EXTRA_TESTS_PITCH + R: both of the latter. */
enum { EXTRA_NONE, EXTRA_FIELDS, EXTRA_TESTS, EXTRA_PITCH, EXTRA_TESTS_PITCH = EXTRA_PITCH + ROW_REST };
typedef int Extra;

/* A program compiled for a device, kept with the program. Kernels do not depend on the params, so all plans on that
 * device share it if their grids have about the same size (program_size) and their runs stop equally often. The device
 * makes code objects and JIT code when it first loads it. */
typedef struct Build {
  const char *device;
  int64_t grid[MAX_RANK], every;
  Extra extra;
  const Foreseen *known; /* what was known of the program's runs when it was made */
  Compiled code;
  char *bytes;
  size_t size;
  Jit *jit;
  CodegenOptions codegen; /* the options with which it was compiled */
  CodeUnits *units;       /* of the code, if it is compiled in units (code-units.h) */
  pthread_mutex_t lock;   /* protects the module while a late kernel is compiled */
  struct Build *next;
} Build;

/* foresee.c: what passes may use of the knowledge about runs of plans with `extra` and the params `texts`, in `a`;
 * NULL: nothing. */
const Foreseen *program_known(const StcProgram *p, Arena *a, Extra extra, int n, const char *const *texts);

/* late.c. build_is_late: has sequence `i` fewer steps than a tile's and more than one, on a target that compiles late?
 * build_late_kernels: by kernel, in `a`: does the build's device compile it late? */
bool build_is_late(const StcProgram *p, const Build *b, int i);
const bool *build_late_kernels(const StcProgram *p, const Build *b, Arena *a);

/* A field as the program declares it, which files and users of the interface see: a field of the module, or one that
 * pass scalarize turned into a record. field: its number, or that of the first of the record's `ncomponents` fields.
 * names[i] is "v.0", a component's name for files; dtype and axes are as in StcFieldInfo. first: the number of its
 * component 0 among all fields' components. */
typedef struct Declared {
  const char *name;
  Type type;
  int field, first, ncomponents;
  const char *type_name, *dtype, *outside; /* outside: NULL if it has no edges */
  StcComponent *components;
  const char **names;
  bool *imaginary; /* by component: is it an imaginary part? */
  int naxes;
  int64_t *axes;
  int64_t point_bytes;
  bool has_init;
} Declared;
/* Is it a field of vectors or structs, even of one component, so that its components have names of their own? */
static inline bool declared_has_parts(const Declared *d) { return d->type >= TY_COMPOSITE; }

/* The function that reads files which a program includes, into the workspace. */
FileReader program_reader(Workspace *w);
/* A program's source, and how it is to be compiled; it owns all strings. */
struct StcProgram {
  Workspace w;
  SourceKind kind;
  const char *file, *name, *text;
  StcOptions options;
  FrontendOptions language;
  Schedule schedule;
  void **plugins;       /* options.nload handles of the files of -load-pass, NULL if not open */
  const Pass **loaded;  /* their passes (PassContext.loaded) */
  Define *defines;      /* options.ndefines of them */
  const Module *source; /* as read: stencil IR before any pass; kernel IR for a .kir */
  Module *module;       /* the same, or cut, for a part of the grid */
  const char *cut;      /* it is for a part of a grid that is cut along these dimensions; NULL: for the whole grid */
  Module *reference;    /* the module that ref runs: `module` with the checks of -fcheck */
  int nlogged;
  const char **logged; /* the values that runs report: the reductions of `module`; NAME.rounds and NAME.ended of each
                          repeat, "" for a fixed repeat */
  int ndeclared;
  Declared *declared;
  double frontend_seconds;
  const Target *target;                /* of options.march, found when first needed */
  bool explains;                       /* `kernels` must be those of a plan */
  bool mirrors;                        /* it is cut, and its kernels may store to other parts (pass mirror-stores) */
  bool packs;                          /* it is cut, and its plans may have hidden fields of tests */
  Module *kernels;                     /* the kernel IR for `target`; made when first needed */
  Schedule resolved;                   /* their schedule */
  const Foreseen *known;               /* what is known of its runs (foresee.c); NULL: nothing */
  Build *builds;                       /* for the devices of plans that were made */
  const char *bytes[STC_EMIT_OBJ + 1]; /* the outputs of stc_program_emit */
  size_t sizes[STC_EMIT_OBJ + 1];
  bool tried_backward;                 /* stc_program_backward has been called: */
  StcProgram *backward;                /* what it gave, NULL: there is none */
  const struct BackwardFacts *adjoint; /* and what a launcher of that must know */
  StcProgram *forward;                 /* what a launcher of the backward program needs */
};

/* Makes the same program for a part of the grid, cut along the dimensions that `cut` names, in the form of pass
 * distribute. lean: with its inits, if a part can run all of them, and with the ghost cells that reductions and probes
 * read. */
StcStatus program_distribute(const StcProgram *p, const char *cut, bool lean, StcProgram **out);
/* The same for the stencils of stages `stage` to `last` of a program whose step has updates or repeats. rounds > 0:
 * they are all stencils of the rounds of a repeat, and between two evaluations a multiple of `rounds` rounds is made;
 * 0: the program makes one step at a time. */
StcStatus program_stage(const StcProgram *p, const char *cut, int stage, int last, int64_t rounds, bool lean,
                        StcProgram **out);
/* Makes the program with which such a part computes the values for number `watch` of the reductions and, after them,
 * probes and updates: they are in its last field. rows: it evaluates that reduction over rows of its region instead.
 * inits: the part has ghost cells for its inits, too. */
StcStatus program_watch(const StcProgram *p, const char *cut, int watch, bool rows, bool inits, StcProgram **out);
/* Can the grid be cut along the dimensions `cut`, such as "0" or "0+1"; and, if `watches`, can parts then evaluate
 * reductions and probes by themselves? Sets *can, by analysis and without a message. After an error *can is false. */
StcStatus program_can_cut(StcProgram *p, const char *cut, bool watches, bool *can);
/* Copies the options with all their strings into `a`; for NULL, returns options in which everything is open.
 * (settings.c) */
StcOptions options_copy(Arena *a, const StcOptions *o);
/* Does this for the knobs only, in place. (knobs.c) */
void options_keep_knobs(Arena *a, StcOptions *o);
/* knobs.c. options_knob: the offset of knob `id` in StcOptions. options_dimensions: the count of numbers that `o` sets
 * for it, up to the last that is not open (for a string 1). options_say_knobs: does `o` set any knob?
 * options_open_knobs: leaves all open. options_check_knobs: checks the values, and reports invalid ones.
 * options_take_knobs: copies them into a schedule. options_print_knobs: appends them as text, a line each. */
size_t options_knob(KnobId id);
int options_dimensions(const StcOptions *o, KnobId id);
bool options_say_knobs(const StcOptions *o);
void options_open_knobs(StcOptions *o);
StcStatus options_check_knobs(StcContext *c, const StcOptions *o);
void options_take_knobs(const StcOptions *o, Schedule *to);
void options_print_knobs(Str *to, const StcOptions *o);
/* The family of the knobs that are set: overlapped tiles if they have all of them (FAMILY_NONE), else the first family
 * with a knob that they lack; FAMILY_AUTO: none is set. Tiles in lanes belong to one family. (knobs.c) */
FamilyId options_knobs_family(const StcOptions *o);
/* Checks the options that no other part checks, and sets the program's language, schedule and defines from them.
 * STC_USAGE or STC_INPUT after an error. (settings.c) */
StcStatus options_take(StcProgram *p);
/* plugins_open: opens the files of options.load_passes. plugins_close: closes them. */
StcStatus plugins_open(StcProgram *p);
void plugins_close(StcProgram *p);
/* The program's target (options.march, or the host). NULL after an error. */
const Target *program_target(StcProgram *p);
/* Makes modules in `w` that may be changed. program_checked: the program as read, with the requested checks, and cut,
 * if it is for a part. program_run_passes: that after the passes that the options name. program_simplified: that
 * simplified, as it is when work is counted. NULL after an error. */
Module *program_checked(StcProgram *p, Workspace *w, const TargetInfo *t, const PassHooks *hooks);
Module *program_run_passes(StcProgram *p, const TargetInfo *t);
Module *program_simplified(StcProgram *p);
/* Copies the program into `w`, runs its passes for `t` (for a .kir only requested ones), with a schedule for a grid of
 * that size, and checks that the kernels fit the target. extra: the memory of plans besides fields; known: what is
 * known of their runs. */
StcStatus program_compile(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK], Extra extra,
                          const Foreseen *known, Compiled *out);
/* The values of the scalars of `m`, a module of the program, with its defines and `n` more, as "NAME=VALUE". NULL after
 * an error. (grid.c) */
Const *program_bind(const StcProgram *p, const Module *m, Arena *a, Diags *d, int n, const char *const *texts);
/* The extents of the program's grid with its defines and `n` more, as "NAME=VALUE". False, without a message, if they
 * are not known. (grid.c) */
bool program_extents(const StcProgram *p, Arena *a, int n, const char *const *texts, int64_t extents[MAX_RANK]);
/* The params of a module that give its grid the extents `want`, as far as possible, as "NAME=VALUE" in `defines`, which
 * has room for MAX_RANK; returns their number. (grid.c) */
int grid_params(const Module *m, Arena *a, const int64_t want[MAX_RANK], const char **defines);
/* Sets params that -D leaves open so that the program's grid has the extents of -for-grid, if that was given. (grid.c)
 */
void program_take_grid(StcProgram *p);
/* The size for which target `t` then gets a schedule: the requested one, or the extents, rounded (except for large
 * grids of rank 3) so that similar sizes become equal. 0: it is unknown, or does not matter. GRID_SMALL: it matters
 * only because tiles at edges are then handled with the others. (grid.c) */
enum { GRID_SMALL = -1 };
void program_size(const StcProgram *p, Arena *a, const TargetInfo *t, bool padded, int n, const char *const *texts,
                  int64_t size[MAX_RANK]);
/* Lets schedules of plans that are made from now on suit runs that stop after every `every` steps; 0: never. */
void program_suit_stops(StcProgram *p, int64_t every);
/* The reasons why the plan of program `p` for target `t`, with the properties `info`, is `plan`: lines about the best
 * candidates (plan_why). NULL after an error. */
const char *program_why(StcProgram *p, Workspace *w, const Target *t, const TargetInfo *info, const Schedule *plan);
/* The stencil IR that plan `plan`, which was made for `t`, lowers, cut and tiled. Reports only errors. NULL after one.
 */
Module *program_before_lowering(StcProgram *p, Workspace *w, const Target *t, const Schedule *plan);
/* Where masks of the program are true on a grid of extents `size` with these `n` params, as far as it is known before
 * the run, in the workspace's memory; NULL: it is not known, or there are none. */
const WetMap *program_wet(StcProgram *p, Workspace *w, const TargetInfo *t, const int64_t *size, int n,
                          const char *const *texts);
/* The program's kernel IR for its own target. NULL after an error. */
Module *program_kernels(StcProgram *p);
/* The code generator's options for kernels `m` of the program on `t`. */
CodegenOptions program_codegen_options(const StcProgram *p, const Module *m, const Target *t);
/* budget.c. budget_schedule: drops tiles in `want` if it leaves everything about them open and the step of `m`, stencil
 * IR, has very many stencils. budget_codegen: chooses what LLVM leaves out for kernels `m` with very many ops. Both
 * report this in remarks. */
void budget_schedule(Diags *d, const Module *m, Schedule *want);
/* Does the same if `m`, kernel IR for `want`, has a kernel too long to be compiled without threads, or kernels with
 * threads for which the compiler after LLVM would take too long. If the requested schedule `asked` sets only a family,
 * they get smaller tiles of it: `want` becomes smaller than `used`, the schedule of `m`. Returns whether anything
 * changed. */
bool budget_kernels(Diags *d, const Module *m, bool simt, const Schedule *asked, const Schedule *used, Schedule *want);
CodegenQuick budget_codegen(Diags *d, const Module *m, bool simt);
/* Warns of kernels for which the compiler after LLVM will take long, all together. False after an error: one is too
 * long, or all are. asked: the requested schedule, from which the error derives what would make kernels shorter. */
bool budget_compiler(Diags *d, const Module *m, bool simt, const Schedule *asked);
/* False after an error: a kernel of `ptx`, LLVM's output, has too many instructions for a GPU's compiler, and `want`
 * sets tiles or the points of a thread. The compiler's time depends on instructions more than on ops. What stc has
 * chosen, even within a requested family, is always compiled. */
bool budget_assembly(Diags *d, const char *ptx, const Schedule *want);
/* The greatest number of instructions allowed; 0: any number. */
int64_t budget_instructions(const Schedule *want);
/* The artifact of `b` in b->bytes, made when first needed. */
StcStatus build_artifact(StcProgram *p, Build *b);
/* Fills p->declared from p->module. */
void program_declare(StcProgram *p);
/* declared_info: the description of declared field number `field` as stc_plan_field returns it; its region is that of
 * field `home` of `m`, which has these scalars. component_info: narrows it to a component of `d`, if that has parts.
 * array_info: the same for an array. */
void declared_info(const StcProgram *p, int field, const Module *m, int home, const Const *scalars, StcFieldInfo *out);
void component_info(const Declared *d, int component, StcFieldInfo *f);
void array_info(const ParamArray *a, const Const *scalars, StcFieldInfo *out);
/* Names in an error every field and array of the program that has no initial value, neither from an init nor from
 * outside: by component (Declared.first) and by array. The scalars are those of the program's module. options: does the
 * message advise users of the command, or callers of the interface? */
StcStatus program_check_given(const StcProgram *p, Arena *a, Diags *d, const Const *scalars, const bool *components,
                              const bool *arrays, bool options);
/* declared_has_frames: is declared field `field` a series of frames? program_next_frame: the number of the field with
 * its next frames; -1: there is none. */
bool declared_has_frames(const StcProgram *p, int field);
int program_next_frame(const StcProgram *p, int field);
/* Does kernel argument `a` write a buffer of field `field`? */
bool argument_writes(const Module *m, const KArg *a, int field);
/* Splits "NAME=VALUE" into *out (strings in `a`). False if it is malformed. */
bool define_parse(Arena *a, const char *text, Define *out);
/* Marks the fields that have an init (module_fields entries). */
void fields_with_init(const Module *m, bool *has);
/* "overlap T=4 block=8x32 elems=4x1": the schedule `s`, or, if its family is NULL, a description of the kernels of `m`.
 */
const char *schedule_describe(Arena *a, const Module *m, const Schedule *s);

/* ---------------------------------------------------------------- memory of plans besides fields: extra.c */

/* The extra memory of plans for `t` with these params. */
Extra program_extra(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts);
/* The extra memory of artifacts. */
Extra artifact_extra(const StcProgram *p);
/* Does it include padding after rows? */
bool extra_pads(Extra e);
/* The passes before pass plan that make kernels for it, as text in `a`. */
const char *extra_passes(Arena *a, Extra e);

/* ---------------------------------------------------------------- classes of tiles: busy.c */

/* The number of classes that are distinguished. */
enum { MOST_CLASSES = 4 };
/* Finds the classes of tiles for which kernel `i` has something to do, in busy[MOST_CLASSES], and the buffer with the
 * classes, a byte for each tile. Kernels whose blocks use one list of tiles (Kernel.list) have the same answer. False:
 * for all. */
bool kernel_busy(const Module *m, int i, int32_t *classes, bool *busy);
/* Is there such a kernel? */
bool module_has_busy(const Module *m);
/* Is field `f` a hidden one that is computed once, before the steps, and never changed? */
bool field_made_once(const Module *m, int f);

/* ---------------------------------------------------------------- rows of fields in memory: row-pitch.c */

/* Should the rows of the program's fields be padded in the memory of plans, with these params? They are if they are no
 * whole vectors and padding takes little memory. 0: no; else 1 + the number of points of a row modulo ROW_REST. */
int program_pads_rows(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts);
/* Sets the pitch of rows in the scalars of `m` as in plans, if its rows have a pitch and none of the `n` defines sets
 * it. */
void rows_pad(const Module *m, int n, const Define *defines, Const *scalars);

#endif
