/* driver/explain/explain.h: `stc explain`: what a program and its schedule come to on a card, without a device.
 *
 *   cards.c          the card that is meant (backend/cards.def has them all)
 *   explain.c        the figures, from passes/plan/estimate.h
 *   expect.c         some of them, for a plan on a device
 *   assemble.c       the assembler of a target that has one as a program of its own
 *   explain-ptxas.c  what the assembler says of the same kernels, where there is one; or their metadata
 *   explain-text.c   as text       explain-json.c   as JSON
 *   explain-draw.c   as a drawing (SVG)
 */
#ifndef STC_DRIVER_EXPLAIN_H
#define STC_DRIVER_EXPLAIN_H

#include "driver/driver.h"
#include "passes/plan/estimate.h"

/* ---------------------------------------------------------------- cards.c */

/* The card called `name`. NULL after an error that lists all. */
const Card *card_find(StcContext *c, Arena *a, const char *name);
/* The card that a device's description names, NULL if none is known. */
const Card *card_of_device(const char *description, const char *arch);

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

/* All figures. fastest: GPts/s if a step took nothing but the operations of a point once; if it read and wrote each
 * field once a step; and once for the steps of a tile. */
typedef struct Explanation {
  Arena *arena;
  StcProgram *program;
  const Target *target;
  const Card *card; /* NULL: the largest part of the target's architecture */
  TargetInfo info;
  Module *stencils, *kernels; /* before the lowering; behind it */
  Schedule schedule;
  const char *schedule_text, *tuned;
  Const *scalars;
  int64_t extents[MAX_RANK];
  double points;
  int32_t steps; /* of the sequence */
  int nlaunches;
  LaunchWork *launches;
  int nkernels;
  ExplainedKernel *list;
  Work work;
  double arithmetic_limit, memory_limit, tile_limit;
  double seconds, gpts; /* of the sequence; expected */
  bool why;             /* candidates are to be listed: in why_text */
  const char *why_text;
  bool assemble;         /* the assembler is to be asked */
  const char *assembler; /* its path, NULL: none */
} Explanation;

/* Fills `e` for the program with the options of `c`. */
StcStatus explain_fill(const Command *c, Workspace *w, Explanation *e);
/* Fills the launches, kernels and times of `e` from its modules, schedule, scalars, points and target. */
void explain_kernels(Explanation *e);

/* ---------------------------------------------------------------- expect.c */

/* What the model expects of a plan: GPts/s; registers of the kernel with most of them; 32-bit words
 * of it that do not fit them; points computed for each given out. */
typedef struct Expected {
  double gpts, redundancy;
  int32_t registers, spilled;
} Expected;
/* For a plan on a GPU whose grid has a size; false if it is another one, or its kernels were given. The device's card
 * is found by its name, else it is taken for its architecture's largest part. */
bool plan_expect(StcPlan *p, Expected *out);
/* The same for a build of the program that no plan has yet, for device `d`, of which nothing but its facts is used, and
 * a grid of the size that the params give. */
bool build_expect(StcProgram *p, const Build *b, const Device *d, int n, const char *const *defines, Expected *out);

/* ---------------------------------------------------------------- assemble.c */

/* Where ptxas is: in the folders of PATH, or in CUDA's usual one; NULL if it is in none, or at a place whose name a
 * shell would not take as it is. */
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

/* ---------------------------------------------------------------- reports */

/* Writes the figures as text; as JSON: docs/command.md says what stands there. */
void explain_print(FILE *to, const Explanation *e);
StcStatus explain_print_json(FILE *to, StcContext *c, const Explanation *e);
/* Draws the tiles of all launches. */
StcStatus explain_draw(StcContext *c, const Explanation *e, const char *path);
/* "[-3, 2] x [-2, 2]": the extent beyond a point, of `rank` dimensions. */
const char *extent_text(Arena *a, const Extent *x, int rank);

#endif
