/* ir/schedule.h: how a program is to be run, as data: what a user asks for, and the plan that a module carries once
 * that is decided.
 *
 *   families.def   the families of schedules, a row each
 *   schedule.c     their table; plans as text
 */
#ifndef STC_IR_PLAN_H
#define STC_IR_PLAN_H

#include "ir/ir.h"

/* The families; FAMILY_NONE: nothing is said, FAMILY_AUTO: stc is to choose. */
typedef enum FamilyId {
  FAMILY_NONE,
  FAMILY_AUTO,
#define FAMILY(id, ...) FAMILY_##id,
#include "ir/families.def"
#undef FAMILY
  FAMILIES
} FamilyId;

/* What a family looks at of a schedule. */
enum {
  KNOB_BLOCK = 1,
  KNOB_T = 2,
  KNOB_ELEMS = 4,
  KNOB_CUT = 8,
  KNOB_CHUNK = 16,
  KNOB_AHEAD = 32,
  KNOB_BARRIERS = 64,
  KNOB_TILES = 128
};

/* A row of families.def. FAMILY_NONE has no name, it and FAMILY_AUTO no lowerings. */
typedef struct Family {
  const char *name;
  int32_t knobs;
  bool tiled, walked;
  const char *lower[2]; /* without threads, with threads */
  const char *about;
} Family;

/* The row of a family; its name (NULL: none). */
const Family *family_row(FamilyId id);
const char *family_name(FamilyId id);
/* Is it a family, and not one of tiles? */
bool family_is_plain(FamilyId id);
/* The family of that name, "auto" among them; FAMILY_NONE: there is none (name NULL: nor is one asked for). */
FamilyId family_find(const char *name);
/* "naive, overlap and stream". */
const char *family_names(Arena *a);

/* Where tiles at the edges of regions are computed: in a kernel of their own, which runs beside the one for the others
 * (pass split-edges), or by the same as those; or, STEPS: what stencils of few points reach at the grid's edges, such
 * as absorbing layers, is made step by step, beside tiles of several steps that know nothing of these stencils
 * (passes/tile/frame.h). OPEN: by the size of the grid. */
typedef enum EdgesKind { EDGES_OPEN, EDGES_APART, EDGES_ALONG, EDGES_STEPS } EdgesKind;
/* Barriers of walked tiles: between neighbouring warps where the target has them and they are enough (OPEN, too), or of
 * whole blocks. */
typedef enum BarriersKind { BARRIERS_OPEN, BARRIERS_NEIGHBOURS, BARRIERS_BLOCK } BarriersKind;
/* Tiles of walks of planes: each with a halo on both sides (EVEN), or the first and the last of a row without one where
 * they end with the grid, so that there may be fewer of them. OPEN: fitted where that takes fewer. Overlapped tiles of
 * rank 2: in the registers of LANES, which trade cells, or, EVEN and OPEN, in shared memory. */
typedef enum TilesKind { TILES_OPEN, TILES_EVEN, TILES_FITTED, TILES_LANES } TilesKind;
/* "apart", "along", "steps"; "neighbours", "block"; "even", "fitted", "lanes"; NULL where it is open. */
const char *edges_name(EdgesKind k);
const char *barriers_name(BarriersKind k);
const char *tiles_name(TilesKind k);
/* The kind of that name, OPEN if there is none, or no name. */
EdgesKind edges_find(const char *name);
BarriersKind barriers_find(const char *name);
TilesKind tiles_find(const char *name);

/* How a program is to be run: as it is asked for, what is left open being 0 (fuse: NULL); or as it was decided.
 * Dimensions are the program's, slowest first. */
struct Schedule {
  FamilyId family;         /* AUTO: stream where the target has asynchronous copies, or no threads, and tiles can be
                              walked, else overlap */
  int32_t T;               /* time steps a tile */
  int32_t block[MAX_RANK]; /* B: threads a block (SIMT), or points a tile computes (loops) */
  int32_t elems[MAX_RANK]; /* E: points a thread; 1 on loops */
  int32_t chunk;           /* stream: rows of a walk along dimension 0 */
  int32_t ahead;           /* stream: rows that loads run ahead; 1: in registers, more: by asynchronous copies */
  int64_t size[MAX_RANK];  /* extents of a grid that open choices are to suit; 0: a large one. Kernels are right for
                              grids of all sizes */
  int64_t every;           /* steps from one stop of runs to the next that open choices are to suit; 0: not known */
  EdgesKind edges;
  BarriersKind barriers;
  TilesKind tiles;
  const char *fuse; /* which stencils of a step share a launch: "all", "none", "auto" or a cut, "gauss+st,dt,pde" (pass
                       fuse); resolved: the cut, every stencil of it named */
  int32_t ngroups;  /* resolved, overlap: the launches of a step; block and elems above are those of the first */
  const Schedule *groups; /* and the schedule of each */
  const Schedule *rest;   /* resolved, stream: overlapped tiles for single steps behind the last tile; its block is that
                             of inits, too */
};

/* ---------------------------------------------------------------- as text: schedule.c */

/* Adds the plan for a grid of rank `rank`, whole lines that begin with `indent`; what is open is left out:
 *
 *   plan stream T=4 block=4x32 elems=1x2 chunk=128 ahead=4 edges=apart barriers=neighbours
 *     rest overlap block=8x32 elems=4x1
 *
 * or, if the step is cut into several launches,
 *
 *   plan overlap T=1 cut="gauss+st,dt" edges=apart
 *     launch overlap block=8x32 elems=4x1
 *     launch overlap block=8x32 elems=2x1 */
void plan_print(Str *s, const Schedule *p, int rank, const char *indent);
char *plan_text(Arena *a, const Schedule *p, int rank);
/* Is `text` (NULL: no) such a text, by how it begins? */
bool plan_is_text(const char *text);
/* Reads such a text, in which anything may be open (family "auto"). Blanks, newlines and comments are free. NULL after
 * an error, which names line and cause. */
const Schedule *plan_parse(Arena *a, Diags *d, const char *file, const char *text);
/* The first knob that is open in plan `p` on a grid of rank `rank`, or said for more dimensions than there are; NULL:
 * none, the plan is complete. */
const char *plan_open_knob(const Schedule *p, int rank);

#endif
