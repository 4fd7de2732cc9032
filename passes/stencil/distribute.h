/* passes/stencil/distribute.h: declarations that the files of pass distribute share.
 *
 *   distribute.c        the pass: hidden params, regions, fields
 *   distribute-ring.c   fields that continue periodically, and the stencils that are split for them
 *   distribute-reach.c  the number of ghost cells for a step, and the depth at which each stencil computes
 *   distribute-inside.c inclusions of regions as launch checks
 *   distribute-watch.c  the values of reductions and probes
 *   distribute-init.c   the inits that parts can run, and their reach
 *   distribute-stages.c steps with updates and repeats: a program for each stage
 *   distribute-levels.c coarser levels of the grid, which parts have as a whole
 */
#ifndef STC_DISTRIBUTE_H
#define STC_DISTRIBUTE_H

#include "passes/launch/launch.h"

/* Bounds [lo .. hi] of dimension `d`, and their intersection with the part's cells, [from .. to]. */
typedef struct Bounds {
  int d;
  Affine lo, hi, from, to;
} Bounds;

/* Points that a stencil computes in the part; they lie inside field `field` there. */
typedef struct Inside {
  Box box;
  int field;
} Inside;

/* The state of the pass. inits: they are to stay, if parts can run them. Then turned[init][piece]: the piece is also
 * computed beyond the edges of the grid, where its targets continue; init_depth: like depth, for inits; init_reach: the
 * cells that they need on each side. watches: parts evaluate reductions and probes; watch: the number of the one for
 * which the module is made, -1: the module is for the steps; rows: that one is a reduction over rows that the launcher
 * names; nwatches, nfields: the number of watches, and of fields before theirs. ring[f]: beyond the edges of the grid
 * field f continues with values of the other side, and stencils compute it there, in the dimensions that `turns` names
 * (cut dimensions in which a field is periodic). coarse[f]: f is on a coarser level of the grid, and parts have all of
 * it (module_mark_coarse). depth[i]: the distance of stencil number i from the outermost cells. from, to: the outermost
 * cells. staged: the step has updates or repeats; then stage: the stage for which the module is made, -1: none was
 * requested; last: the last stage, if there are several. */
typedef struct Parts {
  PassContext *c;
  Module *m;
  GridPart *part;
  bool cut[MAX_RANK], turns[MAX_RANK], inits, watches, rows, staged;
  int watch, nwatches, nfields, stage, last;
  bool *ring, *coarse;
  Extent *depth, *init_depth, init_reach;
  bool **turned;
  Affine from[MAX_RANK], to[MAX_RANK];
  int nbounds;
  Bounds *bounds;
  int ninside;
  Inside *inside;
} Parts;

/* Does `box` span the whole grid in dimension `d`? */
bool is_around(const Parts *p, const Box *box, int d);
/* A new let with the value of `x` and `y` combined by OP_MIN, OP_MAX or OP_DIV. */
Affine distribute_let(Parts *p, const char *name, Opcode code, Affine x, Affine y);
/* A new hidden param with the default value `x`, as a bound. */
Affine distribute_param(Parts *p, const char *name, Affine x);
/* Finds the fields of coarser levels. Call it after distribute_stages, and before watches are added. */
void distribute_levels(Parts *p);
/* Has the piece targets on a coarser level, so that parts compute all of it, or the points that stand for their own
 * ones? */
bool piece_is_coarse(const Parts *p, const Piece *piece);
/* The points of `box`, of such a piece, that a part computes: all, unless the stencil `restricts`, that is, reads
 * fields of which parts have only the cells around their own points. */
Box distribute_coarse_box(Parts *p, Box box, bool restricts);
/* Can a ring be computed beyond the edges of the grid as far as it reads coarser levels there? Reports it if not. */
bool distribute_check_coarse(const Parts *p, const Piece *piece);
/* How parts share field number `f`. */
FieldShare distribute_share(const Parts *p, int f);
/* Does a stencil of the module compute a coarser level? */
bool distribute_has_coarse(const Parts *p);
/* Finds the rings: periodic fields, and all fields from which stencils compute them beyond the edges. Splits stencils
 * with targets of both kinds. False after an error: such a field has another rule. */
bool distribute_rings(Parts *p);
/* Does the access read the ring `op->sym` in a cut grid as it would in the whole grid? If not, reports the reason to
 * `d` (unless NULL). */
bool distribute_check_access(const Parts *p, const Piece *piece, const Op *op, Diags *d);
/* Sets part->reach and depth. False after an error: the reach of an access is not known. */
bool distribute_reach(Parts *p);
/* Finds the ghost cells that parts need so that the `n` stencils or inits at `list`, one after the other, are right at
 * the parts' own points (*reach), and the depth of each. False if the reach is not known, which is reported to `d`
 * (unless NULL). */
bool distribute_find_reach(const Parts *p, const Stencil *list, int n, Extent *reach, Extent *depth, Diags *d);
/* Decides whether parts run the inits (else clears p->inits), and how. Call it after distribute_reach. */
void distribute_choose_inits(Parts *p);
/* distribute_note_inside: notes, while fields have the boxes of the whole grid, which fields contain the points of
 * `box`, computed by the part for the piece. distribute_add_checks: adds these facts as launch checks, once fields have
 * the part's boxes. */
void distribute_note_inside(Parts *p, const Piece *piece, const Box *box);
void distribute_add_checks(Parts *p);
/* Finds whether the step has stages (Parts.staged), and changes the module so that each stage can be a program:
 * stencils rotate time levels, and a temp field that one stage leaves to another becomes an ordinary field. False after
 * an error: the requested stages cannot be one program. */
bool distribute_stages(Parts *p);
/* Keeps the stencils of the requested stages and the repeats that lie among these stages, and removes the updates.
 * False after an error: no stage is requested. */
bool distribute_keep_stage(Parts *p);
/* distribute_add_watches: adds the stencils of reductions and probes, if requested. distribute_end_watches: removes
 * them, or keeps only the requested one. */
void distribute_add_watches(Parts *p);
void distribute_end_watches(Parts *p);

#endif
