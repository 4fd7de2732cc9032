/* driver/program/program.h: contexts and programs, on which all of the driver stands.
 *
 *   context.c       contexts, messages, running out of memory, the version
 *   callers.c       messages in the words of those who call libstc
 *   compile.c       a program: text -> stencil IR
 *   kernels.c       -> passes -> kernel IR
 *   emit.c          -> artifact, and what goes with it
 *   facts.c         what is known of a program as it was read
 *   settings.c      what StcOptions say, checked and taken
 *   knobs.c         what they say of the knobs of schedules
 *   budget.c        what programs of very many stencils do without, to compile in seconds
 *   define.c        a param's value as text
 *   plugin.c        passes from shared objects
 *   foresee.c       what was told of its runs, for choices
 *   late.c          which kernels of a build are compiled late
 *   grid.c          the size of the grid, as far as it is known
 *   declared.c      fields as the program declares them: components, names, NumPy's types
 *   describe.c      a schedule in a line
 *   extra.c         what the memory of plans has beside the program's fields
 *   busy.c          for which classes of tiles a kernel has something to do
 *   row-pitch.c     how far rows of fields lie apart in memory
 *   code-units.h    kernels in units that are compiled apart
 *   ticker.c        what is being compiled, on a terminal
 *   threads.c       the same work by several threads
 *
 * Beside the folders of the driver: driver/stc.h, the public C interface (libstc); driver/main.c, the command as a
 * program; driver/commit.c, which commit it was made from; driver/shared/, libstc.so, of which
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

/* The commit that this was made from, "6e65149c2a01" or "6e65149c2a01-dirty"; "" if it was made from a tarball. Tests
 * are linked without it: its address is NULL there. */
extern const char commit_made_from[] __attribute__((weak));

enum { WITHHELD = 512 };
struct StcContext {
  ReallocFn realloc;
  void (*message)(void *user, const StcMessage *m);
  void *user;
  bool command;          /* the stc command's: messages name its options */
  bool verbose, quiet;   /* -v: context_remark is heard; --quiet: context_note is not */
  bool candidates;       /* -Rpass=plan: the remarks of pass plan list candidates */
  const char *plan_file; /* -plan: what messages call the plan that options hold as text; NULL: "plan" */
  char *withheld;        /* WITHHELD bytes: the first error is kept there, and none is sent; NULL: errors are sent */
  const Stop *stop;      /* asked when the user wants to stop; NULL: nobody says so */
  /* The same for runs; NULL where several processes make them, which stop together, by their progress callbacks. */
  const Stop *run_stop;
  Working working; /* what is compiled now */
  Stop asked;      /* stc_context_stop and, beside it, `run_stop`: ends compiling */
};

/* An arena and its messages, made for one object of the interface. `muted` drops all messages but errors, `silent`
 * these too. A plan's workspace has its program's as parent, whose messages it uses: they know the source text. */
typedef struct Workspace {
  StcContext *context;
  Arena *arena;
  Diags *diags;
  bool muted, silent;
  struct Workspace *parent;
  jmp_buf *handler;
} Workspace;
/* Fills `w`, which must not move afterwards. parent may be NULL. False when out of memory. */
bool workspace_open(Workspace *w, StcContext *c, Workspace *parent);
void workspace_close(Workspace *w);
/* Calls fn(arg) and returns its status, or STC_MEMORY (after a message) when the arena ran out of memory meanwhile. */
StcStatus workspace_guard(Workspace *w, StcStatus (*fn)(void *arg), void *arg);
/* threads.c: has `threads` threads, this one among them, do work(arg), or as many as can be had, at most 64; returns
 * when all have. */
void threads_run(int64_t threads, void *(*work)(void *arg), void *arg);
/* ticker.c: tells on the terminal what the context compiles, if that takes more than two seconds, in a thread of its
 * own; nothing unless `terminal`. ticker_end wipes it. */
typedef struct Ticker {
  StcContext *context;
  pthread_t thread;
  atomic_bool over;
  bool on;
} Ticker;
void ticker_start(Ticker *t, StcContext *c, bool terminal);
void ticker_end(Ticker *t);
/* Nothing is compiled any more: wipes what says that something is. */
void working_end(Working *w);
/* What ends compiling in the context. Has the workspace_guard that is running come back with STC_INTERRUPTED if it asks
 * for that. */
const Stop *compile_stop(StcContext *c);
void workspace_obey(Workspace *w);
/* Has the workspace_guard that is running come back with STC_MEMORY, an error having been reported. */
_Noreturn void workspace_give_up(Workspace *w);
/* stc_context_new for the command, whose messages name its options. */
StcContext *context_of_command(const StcConfig *config);
/* Reports an error without a place. */
void context_error(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a warning, for what a user may want to know, which --quiet hides, and for what is done, which only -v
 * shows. */
void context_warning(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void context_note(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void context_remark(StcContext *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The message with members of StcOptions, arguments and calls in place of the command's options, but for what it quotes
 * ("..."), which is as somebody wrote it. */
const char *words_for_callers(Arena *a, const char *text);
/* What a message calls an option: "-T" in the command, the member of StcOptions, "T", to callers of the interface. */
static inline const char *option_name(const StcContext *c, const char *option, const char *member) {
  return c->command ? option : member;
}

/* ---------------------------------------------------------------- programs: compile.c kernels.c emit.c
 * facts.c settings.c declared.c describe.c define.c late.c plugin.c grid.c budget.c knobs.c
 * foresee.c */

typedef enum SourceKind { SOURCE_STN, SOURCE_SIR, SOURCE_KIR } SourceKind;

/* A program's kernel IR for one target. `schedule` is what its schedule came to; family NULL where kernels or passes
 * were given. */
typedef struct Compiled {
  const Target *target;
  Module *module;
  Schedule schedule;
  double seconds;
} Compiled;

/* Where masks are true (passes/plan/cost/count.h). */
typedef struct WetMap WetMap;

/* Kernels in units that are compiled apart (code-units.h). */
typedef struct CodeUnits CodeUnits;

/* What the memory of plans has beside the program's fields, and their kernels go by: nothing, hidden fields of what no
 * step changes (pass hoist), room behind rows (pass pad-rows), whose points leave R when they are divided by ROW_REST:
 * EXTRA_PITCH + R; hidden fields of tests of that alone (pass pack-tests), on targets with threads, with such room or
 * without. */
enum { EXTRA_NONE, EXTRA_FIELDS, EXTRA_TESTS, EXTRA_PITCH, EXTRA_TESTS_PITCH = EXTRA_PITCH + ROW_REST };
typedef int Extra;

/* A program compiled for a device, kept with the program: kernels do not depend on the params, so all plans on that
 * device share it whose grids are of one size, about (program_size), and whose runs stop as often. Code objects and JIT
 * code are made by the device when it first loads it. */
typedef struct Build {
  const char *device;
  int64_t grid[MAX_RANK], every;
  Extra extra;
  const Foreseen *known; /* what had been told of the program's runs when it was made */
  Compiled code;
  char *bytes;
  size_t size;
  Jit *jit;
  CodegenOptions codegen; /* and what it was compiled with */
  CodeUnits *units;       /* of the code, where it is compiled in units (code-units.h) */
  pthread_mutex_t lock;   /* of the module, while a late kernel is compiled */
  struct Build *next;
} Build;

/* foresee.c: what passes may know of runs whose plans have `extra`, with the params `texts`, in `a`; NULL: nothing. */
const Foreseen *program_known(const StcProgram *p, Arena *a, Extra extra, int n, const char *const *texts);

/* late.c: is sequence `i` one between that of a tile and that of single steps, on a target that compiles late? By
 * kernel, in `a`: does the build's device compile it late? */
bool build_is_late(const StcProgram *p, const Build *b, int i);
const bool *build_late_kernels(const StcProgram *p, const Build *b, Arena *a);

/* A field as the program declares it, which is what files and users of the interface speak of: a field of the module,
 * or one that pass scalarize made a record of. field: its number, or that of the first of the record's `ncomponents`
 * fields. names[i] is "v.0", a component's name for files; dtype and axes are as in StcFieldInfo. first: the number of
 * its component 0 among all fields' components. */
typedef struct Declared {
  const char *name;
  Type type;
  int field, first, ncomponents;
  const char *type_name, *dtype, *outside; /* outside: NULL if there is nothing beyond its edges */
  StcComponent *components;
  const char **names;
  bool *imaginary; /* by component: is it the imaginary part of a complex number? */
  int naxes;
  int64_t *axes;
  int64_t point_bytes;
  bool has_init;
} Declared;
/* Is it of vectors or structs, of one component perhaps, so that its components have names of their own? */
static inline bool declared_has_parts(const Declared *d) { return d->type >= TY_COMPOSITE; }

/* How files that a program includes are read, into the workspace. */
FileReader program_reader(Workspace *w);
/* What a program was read from, and how it is to be compiled; all strings are the program's own. */
struct StcProgram {
  Workspace w;
  SourceKind kind;
  const char *file, *name, *text;
  StcOptions options;
  FrontendOptions language;
  Schedule schedule;
  void **plugins;       /* options.nload handles of what -load-pass named, NULL where it is not open */
  const Pass **loaded;  /* their passes (PassContext.loaded) */
  Define *defines;      /* options.ndefines of them */
  const Module *source; /* as read, once: stencil IR before any pass; kernel IR for a .kir */
  Module *module;       /* the same, or cut, if it is for a part */
  const char *cut;      /* it is for a part of a grid that is cut along these dimensions; NULL: for the whole one */
  Module *reference;    /* what ref runs: `module`, with the checks of -fcheck */
  int nlogged;
  const char **logged; /* what runs tell of: the reductions of `module`; NAME.rounds and NAME.ended of each repeat, ""
                          for those of one that is fixed */
  int ndeclared;
  Declared *declared;
  double frontend_seconds;
  const Target *target;                /* of options.march; found when first needed */
  bool explains;                       /* `kernels` are to be those that a plan has */
  bool mirrors;                        /* it is cut, and its kernels may store to other parts (pass mirror-stores) */
  bool packs;                          /* it is cut, and its plans may have hidden fields of tests */
  Module *kernels;                     /* the kernel IR for `target`; made when first needed */
  Schedule resolved;                   /* and its schedule */
  const Foreseen *known;               /* what was told of its runs (foresee.c), NULL: nothing */
  Build *builds;                       /* for the devices that plans were made on */
  const char *bytes[STC_EMIT_OBJ + 1]; /* what stc_program_emit gave, kept */
  size_t sizes[STC_EMIT_OBJ + 1];
  bool tried_backward;                 /* stc_program_backward has been called: */
  StcProgram *backward;                /* what it gave, NULL: there is none */
  const struct BackwardFacts *adjoint; /* and what a launcher of that must know */
  StcProgram *forward;                 /* the program whose `backward` this one is, or NULL */
};

/* The same program for a part of the grid, cut along the dimensions that `cut` names, as pass distribute has them.
 * lean: with its inits, if a part can do all of them, and with ghost cells for what reductions and probes look at. */
StcStatus program_distribute(const StcProgram *p, const char *cut, bool lean, StcProgram **out);
/* Likewise, of a program whose step has updates or repeats, the stencils of stages `stage` to `last`: rounds > 0: they
 * are all of the rounds of a repeat, of which so many, or a multiple, are made between two evaluations; else it makes
 * one step at a time. */
StcStatus program_stage(const StcProgram *p, const char *cut, int stage, int last, int64_t rounds, bool lean,
                        StcProgram **out);
/* The program by which such a part computes what number `watch` of the reductions and, behind them, probes and updates
 * looks at: its last field. rows: in place of that, by which it evaluates that reduction over rows of its region.
 * inits: the part has ghost cells for its inits, too. */
StcStatus program_watch(const StcProgram *p, const char *cut, int watch, bool rows, bool inits, StcProgram **out);
/* Can the grid be cut along the dimensions `cut`, such as "0" or "0+1"; and if `watches`, can parts evaluate reductions
 * and probes by themselves then? Into *can; analysed, without a message. After an error *can is false. */
StcStatus program_can_cut(StcProgram *p, const char *cut, bool watches, bool *can);
/* The options with all their strings copied into `a`; of NULL, those that all are left open in. (settings.c) */
StcOptions options_copy(Arena *a, const StcOptions *o);
/* The same of the knobs alone, in place. (knobs.c) */
void options_keep_knobs(Arena *a, StcOptions *o);
/* Where knob `id` stands in StcOptions, in bytes. How many numbers `o` says of it, up to the last that is not open; of
 * a string 1. Does it say any knob? Leaves all open. Checks the values, which are then what there is or errors. Takes
 * them into a schedule. Adds them as text, a line each. (knobs.c) */
size_t options_knob(KnobId id);
int options_dimensions(const StcOptions *o, KnobId id);
bool options_say_knobs(const StcOptions *o);
void options_open_knobs(StcOptions *o);
StcStatus options_check_knobs(StcContext *c, const StcOptions *o);
void options_take_knobs(const StcOptions *o, Schedule *to);
void options_print_knobs(Str *to, const StcOptions *o);
/* The family that the numbers said belong to: overlapped tiles have them all (FAMILY_NONE), or the first that has one
 * which they lack; FAMILY_AUTO: none is said. Tiles in lanes are of one family. (knobs.c) */
FamilyId options_knobs_family(const StcOptions *o);
/* Checks the options that no other part checks, and fills the program's language, schedule and defines from them.
 * STC_USAGE or STC_INPUT after an error. (settings.c) */
StcStatus options_take(StcProgram *p);
/* Opens what options.load_passes names; closes it. */
StcStatus plugins_open(StcProgram *p);
void plugins_close(StcProgram *p);
/* The program's target (options.march, or the host). NULL after an error. */
const Target *program_target(StcProgram *p);
/* In `w`, to be changed: the program as read, with the checks that were asked for, and cut, if it is for a part; after
 * the passes that the options name; simplified, as work is counted in it. NULL after an error. */
Module *program_checked(StcProgram *p, Workspace *w, const TargetInfo *t, const PassHooks *hooks);
Module *program_run_passes(StcProgram *p, const TargetInfo *t);
Module *program_simplified(StcProgram *p);
/* Copies the program into `w`, runs its passes for `t` (a .kir: none unless asked for), with a schedule for a grid
 * of that size, and checks that the kernels fit the target. extra: what plans have beside fields; known: what is known
 * of their runs. */
StcStatus program_compile(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK], Extra extra,
                          const Foreseen *known, Compiled *out);
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
void program_size(const StcProgram *p, Arena *a, const TargetInfo *t, bool padded, int n, const char *const *texts,
                  int64_t size[MAX_RANK]);
/* Has schedules of plans that are made from now on suit runs that stop after every `every` steps, 0: not at all. */
void program_suit_stops(StcProgram *p, int64_t every);
/* Why the plan of program `p` for target `t`, of whose figures `info` tells, is `plan`: lines about the best candidates
 * (plan_why). NULL after an error. */
const char *program_why(StcProgram *p, Workspace *w, const Target *t, const TargetInfo *info, const Schedule *plan);
/* The stencil IR that plan `plan`, which was made for `t`, has lowered, cut and tiled. Reports errors only. NULL after
 * one. */
Module *program_before_lowering(StcProgram *p, Workspace *w, const Target *t, const Schedule *plan);
/* Where masks of the program are true on a grid of extents `size` that has those `n` params, as far as that is known
 * before it runs, in the workspace's memory; NULL: it is not known, or there are none. */
const WetMap *program_wet(StcProgram *p, Workspace *w, const TargetInfo *t, const int64_t *size, int n,
                          const char *const *texts);
/* The program's kernel IR for its own target. NULL after an error. */
Module *program_kernels(StcProgram *p);
/* The code generator's options for kernels `m` of the program on `t`. */
CodegenOptions program_codegen_options(const StcProgram *p, const Module *m, const Target *t);
/* Gives up tiles in `want` where all about them is left open and the step of `m`, stencil IR, has very many stencils;
 * what LLVM is to leave out for kernels `m`, where there are very many ops. Remarks say so. (budget.c) */
void budget_schedule(Diags *d, const Module *m, Schedule *want);
/* Gives up tiles likewise where `m`, kernel IR made for `want`, has a kernel too long to be compiled without threads,
 * or kernels with threads that the compiler behind LLVM would take too long for. Where the schedule that was asked for,
 * `asked`, names a family alone, these have smaller tiles of it: `want` says less than `used`, the schedule of `m`,
 * has. Returns whether it did. */
bool budget_kernels(Diags *d, const Module *m, bool simt, const Schedule *asked, const Schedule *used, Schedule *want);
CodegenQuick budget_codegen(Diags *d, const Module *m, bool simt);
/* Warns of kernels that a compiler behind LLVM will take long for, all together. False after an error: one is too long,
 * or all are. asked: the schedule that was asked for, by which the error says what makes kernels shorter. */
bool budget_compiler(Diags *d, const Module *m, bool simt, const Schedule *asked);
/* False after an error: a kernel of `ptx`, which LLVM made, has too many instructions for a GPU's compiler, and `want`
 * says what tiles or how many points a thread. How long it takes depends on instructions more than on ops. What stc
 * chose, of a family that was asked for, too, is compiled. */
bool budget_assembly(Diags *d, const char *ptx, const Schedule *want);
/* How many instructions that are, 0: any number. */
int64_t budget_instructions(const Schedule *want);
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
/* Is declared field `field` a series of frames? The number of the field that has the frames behind those of it; -1:
 * there is none. */
bool declared_has_frames(const StcProgram *p, int field);
int program_next_frame(const StcProgram *p, int field);
/* Does kernel argument `a` write a buffer of field `field`? */
bool argument_writes(const Module *m, const KArg *a, int field);
/* Splits "NAME=VALUE" into *out (strings in `a`). False if it is malformed. */
bool define_parse(Arena *a, const char *text, Define *out);
/* Which fields have an init (module_fields places). */
void fields_with_init(const Module *m, bool *has);
/* "overlap T=4 block=8x32 elems=4x1": the schedule `s`, or if its family is NULL what the kernels of `m` look like. */
const char *schedule_describe(Arena *a, const Module *m, const Schedule *s);

/* ---------------------------------------------------------------- what plans have beside fields: extra.c */

/* What the memory of plans has for `t` with these params. */
Extra program_extra(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts);
/* The same of artifacts. */
Extra artifact_extra(const StcProgram *p);
/* Is there room behind rows? */
bool extra_pads(Extra e);
/* The passes before pass plan that make kernels for it, as text in `a`. */
const char *extra_passes(Arena *a, Extra e);

/* ---------------------------------------------------------------- classes of tiles: busy.c */

/* Classes that are told from others. */
enum { MOST_CLASSES = 4 };
/* For tiles of which class kernel `i` has something to do, in busy[MOST_CLASSES], and the buffer that has the classes,
 * a byte a tile; kernels whose blocks go by one list of tiles (Kernel.list) have the same answer. False: for all. */
bool kernel_busy(const Module *m, int i, int32_t *classes, bool *busy);
/* Is there such a kernel? */
bool module_has_busy(const Module *m);
/* Is field `f` a hidden one that is computed once, before the steps, and by nothing else? */
bool field_made_once(const Module *m, int f);

/* ---------------------------------------------------------------- rows of fields in memory: row-pitch.c */

/* Are the rows of the program's fields to be padded in the memory of plans, with these params? Where they are no whole
 * vectors, and it takes little room. 0: no; else 1 more than what the points of a row leave when they are divided by
 * ROW_REST. */
int program_pads_rows(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts);
/* Has the scalars of `m` have rows lie as far apart as they do in plans, if its rows have a pitch, and none of the `n`
 * defines is it. */
void rows_pad(const Module *m, int n, const Define *defines, Const *scalars);

#endif
