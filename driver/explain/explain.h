/* driver/explain/explain.h: `stc explain`: predicts, without a device, the work and the speed of a program and its
 * schedule on a card.
 *
 *   cards.c          finds the card (the table is backend/cards.def)
 *   explain.c        the figures, from passes/plan/cost/estimate.h
 *   expect.c         some of them, for a plan on a device
 *   assemble.c       runs the assembler of a target that has a separate one
 *   explain-ptxas.c  the same kernels according to the assembler, if there is one, or to their metadata
 *   explain-parts.c  the figures for several devices that share a grid, and their scaling
 *   explain-host.c   the figures of a plan on this CPU
 *   explain-gradient.c  the values of steps that the program's gradient keeps
 *   explain-text.c   as text       explain-json.c   as JSON
 *   explain-draw.c   as a drawing (SVG)           svg.c  the shapes that it is made of
 */
#ifndef STC_DRIVER_EXPLAIN_H
#define STC_DRIVER_EXPLAIN_H

#include "driver/cli/options/command.h"
#include "driver/device/device.h"
#include "driver/instance/gradient/gradient.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "passes/plan/choose/compare.h"

/* ---------------------------------------------------------------- cards.c */

/* The card called `name`. NULL after an error, which lists all cards. */
const Card *card_find(StcContext *c, Arena *a, const char *name);

/* ---------------------------------------------------------------- explain.c */

/* The facts about a kernel from an assembler; found: it reported some. told: `taken` has the facts from the metadata of
 * the compiled kernel. */
typedef struct Assembled {
  bool found, told;
  int32_t registers, spilled_bytes;
  KernelResources taken;
} Assembled;

/* A kernel of the longest sequence of steps. beside: it runs beside the kernel before it, which computes the tiles at
 * no edge in the same launch. */
typedef struct ExplainedKernel {
  bool beside;
  Kernel *kernel;
  const LaunchWork *launch;
  LaunchLoad load;
  LaunchTime time;
  Assembled assembled;
} ExplainedKernel;

/* A network: bytes a second, and seconds for each message, in one direction; marks: seconds for which launches and
 * messages wait for each other at an exchange. beside: messages go while tiles are still computed, one for each field.
 */
typedef struct NetKind {
  const char *name, *text;
  double bandwidth, latency, marks;
  bool beside;
} NetKind;

/* The messages of a part along one dimension, or to corners; early: the seconds of those that go while tiles are
 * computed. */
typedef struct PartMessages {
  double messages, bytes, seconds, early;
} PartMessages;

/* The time between two exchanges, `steps` steps, for the part with the most work, of `own` points, in seconds. alone:
 * of launches that compute no ghost cells. */
typedef struct PartPeriod {
  int64_t own[MAX_RANK], steps;
  double points, alone, compute, exchange, hidden, seconds;
  PartMessages to[MAX_RANK + 1]; /* for each dimension; the last: for corners */
} PartPeriod;

/* A row of the table of scaling, for a number of devices: each with a part of the same size, cut as `weak`; or sharing
 * the grid, cut as `strong`, in parts of at most `own` points. A speed of 0: the grid is too small. */
typedef struct ScalingRow {
  int64_t devices, weak[MAX_RANK], strong[MAX_RANK], own[MAX_RANK];
  double weak_gpts, weak_efficiency, strong_gpts, strong_efficiency;
} ScalingRow;
enum { SCALING_ROWS = 13 };

/* The grid in parts. part: the figures of the part's program, which is cut along the dimensions of `cut`; all: the same
 * for a program cut along all dimensions that allow it (`can`), NULL if those are no more. bytes: of a point's
 * `nfields` fields that are exchanged. steps: of a launch. window: the dimension along which the last launch runs in
 * ranges of tiles of `tile` rows, -1: none. */
typedef struct ExplainedParts ExplainedParts;

/* The memory of the gradient: for each step, `row` bytes of the fields `names`; snapshots of `state` bytes; `steps`
 * steps in `memory` bytes (0: enough for all) run as `choice` says, if `fits`. */
typedef struct ExplainedGradient {
  const char *names;
  double row, state, memory;
  bool ahead, fits;
  int64_t steps;
  SavedChoice choice;
} ExplainedGradient;

/* A repeat within the step: `rounds` of its at most `most` rounds are counted: as many as were requested, or all. */
typedef struct ExplainedRepeat {
  const char *name;
  int64_t rounds, most;
  bool asked;
} ExplainedRepeat;

/* All figures. fastest: GPts/s if a step only made the operations of a point once; if it only read and wrote each field
 * once; and once for the steps of a tile. */
typedef struct Explanation {
  Arena *arena;
  StcProgram *program;
  const Target *target;
  const Card *card; /* NULL: the largest card of the target's architecture, except for `limits` */
  /* A present GPU: its name (NULL: another device is used), and its figures, 0 if unknown. */
  const char *at_hand;
  TargetInfo limits;
  TargetInfo info;
  const Module *stencils; /* before lowering; tiles consist of these */
  Module *kernels;        /* after lowering */
  Schedule schedule;
  const char *schedule_text, *tuned;
  Const *scalars;
  int64_t extents[MAX_RANK];
  double points;
  int threads;      /* of this CPU, if that is used; 0: a GPU is used */
  HostFigures host; /* this CPU, and its predicted speed */
  CpuFigures cpu;
  CpuTime cpu_time;
  int32_t steps; /* of the sequence */
  int nlaunches;
  LaunchWork *launches;
  bool counted; /* the launch was also counted before lowering */
  LaunchLoad count;
  LaunchTime counted_time;
  int nkernels;
  ExplainedKernel *list;
  const char *rounds; /* the rounds of repeats to be counted, "NAME:N,..."; NULL: all */
  int nrepeats;
  ExplainedRepeat *repeats; /* with the number of counted rounds */
  Work work;
  double arithmetic_limit, memory_limit, tile_limit;
  double seconds, gpts; /* of the sequence; predicted */
  bool why;             /* list candidates, in why_text */
  const char *why_text;
  bool assemble;               /* run the assembler */
  const char *assembler;       /* its path, NULL: none */
  ExplainedParts *parts;       /* NULL: not requested */
  double memory;               /* bytes for the gradient, or that a run may use of the card; 0: no limit */
  const char *turns;           /* how parts take turns; NULL: not requested */
  ExplainedGradient *gradient; /* NULL: the program has none */
} Explanation;

struct ExplainedParts {
  int rank;
  const NetKind *net;
  Explanation part;
  int64_t parts[MAX_RANK], steps, tile;
  bool can[MAX_RANK], cut[MAX_RANK], ring;
  ExplainedParts *all;
  Extent reach;
  int nfields, window;
  double bytes;
  PartPeriod period;
  const char *live[MAX_RANK]; /* a run's cut of a dimension by live points; NULL: equal */
  ScalingRow scaling[SCALING_ROWS];
};

/* Computes `e` for the program with the options of `c`. */
StcStatus explain_fill(const Command *c, Workspace *w, Explanation *e);
/* Computes the launches, kernels and times of `e` from its modules, schedule, scalars, points and target. */
void explain_kernels(Explanation *e);

/* ---------------------------------------------------------------- expect.c */

/* The model's prediction for a plan: GPts/s; registers of the kernel with most of them; the most 32-bit words that any
 * kernel spills; its blocks at once on a core, and the most registers that allow as many; computed points for each
 * stored one. bound: what bounds the launch that takes longest, which alone would take `share` of the time; NULL: not
 * known. */
typedef struct Expected {
  double gpts, redundancy, share;
  int32_t registers, spilled, blocks, most_registers;
  const char *bound;
} Expected;
/* Predicts a plan on a GPU whose grid has a size; false for other devices, or if the kernels were given. The device's
 * card is found by its name; a device without one counts as the largest of its architecture. */
bool plan_expect(StcPlan *p, Expected *out);
/* The same for a build of the program without a plan, for device `d`, of which only facts are read, and for the size of
 * grid that the params give. */
bool build_expect(StcProgram *p, const Build *b, const Device *d, int n, const char *const *defines, Expected *out);

/* ---------------------------------------------------------------- assemble.c */

/* The path of ptxas: in the folders of PATH, in CUDA_HOME, or in CUDA's usual folder; NULL if it is in none of them, or
 * if a shell would need quotes for the path. */
const char *assembler_find(Arena *a);
/* Writes a new file of a unique name with the `size` bytes at `bytes`; returns its name, or NULL if this fails. */
const char *write_temporary(Arena *a, const char *bytes, size_t size);
/* Compiles the PTX for processor `cpu`; the result is in the memory of `w`. STC_INTERRUPTED if it was not done at the
 * time `until`; any other error: ptxas failed. Reports no message. */
StcStatus assemble(Workspace *w, const char *tool, const char *cpu, const char *ptx, size_t size, double until,
                   char **code, size_t *n);

/* ---------------------------------------------------------------- explain-ptxas.c */

/* Has the target's assembler, if there is one, report on the kernels; if the target's assembly contains these facts
 * itself, reads them there. If there is neither, or this fails, e->list[i].assembled.found and .told stay false. */
void explain_assemble(Explanation *e);

/* ---------------------------------------------------------------- explain-host.c */

/* Computes e->host, e->cpu, e->cpu_time and e->gpts; the other function writes these figures as text. */
StcStatus explain_host(Explanation *e);
void explain_print_host(FILE *to, const Explanation *e);

/* ---------------------------------------------------------------- explain-gradient.c */

/* Computes e->gradient, if the program has one that can be computed; the other function writes it as text. */
void explain_gradient(Explanation *e);
void explain_print_gradient(FILE *to, const Explanation *e);

/* ---------------------------------------------------------------- reports */

/* explain-parts.c: computes e->parts for the options --parts and --net of `c`; the other function writes it as text. */
StcStatus explain_parts(const Command *c, Explanation *e);
/* Frees the programs for parts. */
void explain_parts_close(ExplainedParts *x);
void explain_print_parts(FILE *to, const Explanation *e);
/* Write the figures as text, and as JSON, which docs/command.md describes. */
void explain_print(FILE *to, const Explanation *e);
StcStatus explain_print_json(FILE *to, StcContext *c, const Explanation *e);
/* Draws the tiles of all launches. */
StcStatus explain_draw(StcContext *c, const Explanation *e, const char *path);
/* The text of the extent beyond a point, in `rank` dimensions: "[-3, 2] x [-2, 2]". */
const char *extent_text(Arena *a, const Extent *x, int rank);

#endif
