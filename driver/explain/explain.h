/* driver/explain/explain.h: `stc explain`: what a program and its schedule come to on a card, without a device.
 *
 *   cards.c          the card that is meant (backend/cards.def has them all)
 *   explain.c        the figures, from passes/plan/cost/estimate.h
 *   expect.c         some of them, for a plan on a device
 *   assemble.c       the assembler of a target that has one as a program of its own
 *   explain-ptxas.c  what the assembler says of the same kernels, where there is one; or their metadata
 *   explain-parts.c  the same on several devices that share a grid, and how that scales
 *   explain-host.c   the same of a plan on this CPU
 *   explain-gradient.c  what the gradient of the program keeps of its steps
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

/* The card called `name`. NULL after an error that lists all. */
const Card *card_find(StcContext *c, Arena *a, const char *name);

/* ---------------------------------------------------------------- explain.c */

/* What an assembler says of a kernel; found: it said something. told: `taken` is what the metadata of the compiled
 * kernel says. */
typedef struct Assembled {
  bool found, told;
  int32_t registers, spilled_bytes;
  KernelResources taken;
} Assembled;

/* A kernel of the longest sequence of steps. beside: it runs beside the one before it, which makes the tiles at no edge
 * of the same launch. */
typedef struct ExplainedKernel {
  bool beside;
  Kernel *kernel;
  const LaunchWork *launch;
  LaunchLoad load;
  LaunchTime time;
  Assembled assembled;
} ExplainedKernel;

/* A network: bytes and seconds a message in one direction; marks: seconds that launches and messages wait for each
 * other at an exchange. beside: messages go while tiles are still computed, one for each field. */
typedef struct NetKind {
  const char *name, *text;
  double bandwidth, latency, marks;
  bool beside;
} NetKind;

/* What a part sends along one dimension, or to corners; early: seconds of what goes while tiles are computed. */
typedef struct PartMessages {
  double messages, bytes, seconds, early;
} PartMessages;

/* From one exchange to the next, `steps` steps, for the part of `own` points that has most to do: seconds. alone: of
 * launches that compute no ghost cells. */
typedef struct PartPeriod {
  int64_t own[MAX_RANK], steps;
  double points, alone, compute, exchange, hidden, seconds;
  PartMessages to[MAX_RANK + 1]; /* by dimension; corners */
} PartPeriod;

/* A row of the table of scaling, for a number of devices: each with a part of the same size, cut as `weak`; or sharing
 * the grid, cut as `strong`, parts of at most `own` points. A speed of 0: the grid is too small. */
typedef struct ScalingRow {
  int64_t devices, weak[MAX_RANK], strong[MAX_RANK], own[MAX_RANK];
  double weak_gpts, weak_efficiency, strong_gpts, strong_efficiency;
} ScalingRow;
enum { SCALING_ROWS = 13 };

/* The grid in parts. part: what the part's program comes to, which is cut along the dimensions of `cut`; all: the same
 * of one that is cut along all that can be (`can`), NULL: those are no more. bytes: of a point's fields that are
 * exchanged, `nfields` of them. steps: of a launch. window: the dimension along which the last launch is made in ranges
 * of tiles of `tile` rows, -1: none. */
typedef struct ExplainedParts ExplainedParts;

/* What the gradient needs: of each step, `row` bytes of the fields `names`; snapshots of `state` bytes; so that `steps`
 * steps in `memory` bytes (0: there is room for all) are made as `choice` says, if `fits`. */
typedef struct ExplainedGradient {
  const char *names;
  double row, state, memory;
  bool ahead, fits;
  int64_t steps;
  SavedChoice choice;
} ExplainedGradient;

/* A repeat within the step, `rounds` of which are counted, of `most` at most: as many as were asked for, or all. */
typedef struct ExplainedRepeat {
  const char *name;
  int64_t rounds, most;
  bool asked;
} ExplainedRepeat;

/* All figures. fastest: GPts/s if a step took nothing but the operations of a point once; if it read and wrote each
 * field once a step; and once for the steps of a tile. */
typedef struct Explanation {
  Arena *arena;
  StcProgram *program;
  const Target *target;
  const Card *card; /* NULL: the largest part of the target's architecture, but for `limits` */
  /* A GPU at hand: what it is called (NULL: none is meant), and its figures, 0 where unknown. */
  const char *at_hand;
  TargetInfo limits;
  TargetInfo info;
  const Module *stencils; /* before the lowering: what tiles are made of */
  Module *kernels;        /* behind it */
  Schedule schedule;
  const char *schedule_text, *tuned;
  Const *scalars;
  int64_t extents[MAX_RANK];
  double points;
  int threads;      /* of this CPU, which is meant; 0: a GPU is */
  HostFigures host; /* that CPU, and what is expected of it */
  CpuFigures cpu;
  CpuTime cpu_time;
  int32_t steps; /* of the sequence */
  int nlaunches;
  LaunchWork *launches;
  bool counted; /* the launch was counted before it was lowered, too */
  LaunchLoad count;
  LaunchTime counted_time;
  int nkernels;
  ExplainedKernel *list;
  const char *rounds; /* of which repeats how many are to be counted, "NAME:N,..."; NULL: all of all */
  int nrepeats;
  ExplainedRepeat *repeats; /* with how many were */
  Work work;
  double arithmetic_limit, memory_limit, tile_limit;
  double seconds, gpts; /* of the sequence; expected */
  bool why;             /* candidates are to be listed: in why_text */
  const char *why_text;
  bool assemble;               /* the assembler is to be asked */
  const char *assembler;       /* its path, NULL: none */
  ExplainedParts *parts;       /* NULL: not asked for */
  double memory;               /* bytes for what the gradient keeps, or a run has of the card; 0: as many as it takes */
  const char *turns;           /* how parts take turns within them; NULL: that was not asked */
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
  const char *live[MAX_RANK]; /* how a run cuts a dimension by live points, NULL: equally */
  ScalingRow scaling[SCALING_ROWS];
};

/* Fills `e` for the program with the options of `c`. */
StcStatus explain_fill(const Command *c, Workspace *w, Explanation *e);
/* Fills the launches, kernels and times of `e` from its modules, schedule, scalars, points and target. */
void explain_kernels(Explanation *e);

/* ---------------------------------------------------------------- expect.c */

/* What the model expects of a plan: GPts/s; registers of the kernel with most of them, the most 32-bit words of any
 * kernel that do not fit them, its blocks at once on a core, and the most registers that leave room for as many; points
 * computed for each stored. bound: what binds the launch that takes longest, which by itself would take `share` of the
 * time; NULL: not known. */
typedef struct Expected {
  double gpts, redundancy, share;
  int32_t registers, spilled, blocks, most_registers;
  const char *bound;
} Expected;
/* For a plan on a GPU whose grid has a size; false if it is another one, or its kernels were given. The device's card
 * is found by its name, else it is taken for its architecture's largest part. */
bool plan_expect(StcPlan *p, Expected *out);
/* The same for a build of the program that no plan has yet, for device `d`, of which nothing but its facts is used, and
 * a grid of the size that the params give. */
bool build_expect(StcProgram *p, const Build *b, const Device *d, int n, const char *const *defines, Expected *out);

/* ---------------------------------------------------------------- assemble.c */

/* Where ptxas is: in the folders of PATH, in CUDA_HOME, or in CUDA's usual one; NULL if it is in none, or at a place
 * whose name a shell would not take as it is. */
const char *assembler_find(Arena *a);
/* A file with the `size` bytes at `bytes` that has a name nobody else has; NULL if there cannot be one. */
const char *write_temporary(Arena *a, const char *bytes, size_t size);
/* Has it make code for processor `cpu` of the PTX, in the memory of `w`. STC_INTERRUPTED if that was not done at the
 * time `until`; any other but STC_OK: it cannot. No message. */
StcStatus assemble(Workspace *w, const char *tool, const char *cpu, const char *ptx, size_t size, double until,
                   char **code, size_t *n);

/* ---------------------------------------------------------------- explain-ptxas.c */

/* Has the assembler of the target, if there is one, tell what it makes of the kernels; where the target's assembly says
 * that itself, reads it. Nothing but the absence of both, or a failure, keeps e->list[i].assembled.found and .told
 * false. */
void explain_assemble(Explanation *e);

/* ---------------------------------------------------------------- explain-host.c */

/* Finds e->host, e->cpu, e->cpu_time and e->gpts, of which the figures as text are then written. */
StcStatus explain_host(Explanation *e);
void explain_print_host(FILE *to, const Explanation *e);

/* ---------------------------------------------------------------- explain-gradient.c */

/* Fills e->gradient, if the program has one that can be computed; writes it as text. */
void explain_gradient(Explanation *e);
void explain_print_gradient(FILE *to, const Explanation *e);

/* ---------------------------------------------------------------- reports */

/* explain-parts.c: fills e->parts by the options --parts and --net of `c`; writes it as text. */
StcStatus explain_parts(const Command *c, Explanation *e);
/* Frees the programs for parts. */
void explain_parts_close(ExplainedParts *x);
void explain_print_parts(FILE *to, const Explanation *e);
/* Writes the figures as text; as JSON: docs/command.md says what stands there. */
void explain_print(FILE *to, const Explanation *e);
StcStatus explain_print_json(FILE *to, StcContext *c, const Explanation *e);
/* Draws the tiles of all launches. */
StcStatus explain_draw(StcContext *c, const Explanation *e, const char *path);
/* "[-3, 2] x [-2, 2]": the extent beyond a point, of `rank` dimensions. */
const char *extent_text(Arena *a, const Extent *x, int rank);

#endif
