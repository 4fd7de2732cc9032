/* passes/stencil/distribute.h: what the files of pass distribute share.
 *
 *   distribute.c        the pass: hidden params, regions, fields
 *   distribute-ring.c   which fields go around, and the stencils taken apart for it
 *   distribute-reach.c  how many ghost cells a step needs, how deep a stencil computes
 *   distribute-inside.c what lies inside of what, as launch checks
 *   distribute-watch.c  what reductions and probes look at
 *   distribute-init.c   which inits parts can do, and how far these look
 *   distribute-stages.c steps with updates and repeats: a program for each stage
 *   distribute-levels.c coarser levels of the grid, which parts have as a whole
 */
#ifndef STC_DISTRIBUTE_H
#define STC_DISTRIBUTE_H

#include "passes/launch/launch.h"

/* Bounds [lo .. hi] of dimension `d` and what of them lies among the part's cells, [from .. to]. */
typedef struct Bounds {
  int d;
  Affine lo, hi, from, to;
} Bounds;

/* Points that a stencil computes in the part, which lie inside field `field` there. */
typedef struct Inside {
  Box box;
  int field;
} Inside;

/* The state of the pass. inits: they are to stay, if parts can do them by themselves; then turned: by init and piece,
 * is it computed beyond the edges of the grid too, where its targets go around; init_depth: as depth, of inits;
 * init_reach: cells that they need on each side. watches: parts are to evaluate reductions and probes; watch: the
 * number of the one that the module is for, -1: it is for the steps; rows: that one, a reduction, is to be evaluated
 * over rows that the launcher names; nwatches, nfields: how many there are, and fields before theirs. ring[f]: beyond
 * the edges of the grid field f goes on with the other side's values, and stencils compute it there, in the dimensions
 * that `turns` names: those that are cut and in which a field is periodic. coarse[f]: it is of a coarser level of the
 * grid, and parts have all of it (module_mark_coarse). depth[i]: how far
 * in from the outermost cells stencil number i stays. from, to: where the outermost cells are. staged: the step has
 * updates or repeats; then stage: the one that the module is for, -1: none was asked for; last: and those up to that
 * one where this is behind it. */
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

/* Does `box` go from one end of the whole grid to the other in dimension `d`? */
bool is_around(const Parts *p, const Box *box, int d);
/* A let that is `x` and `y` combined by OP_MIN, OP_MAX or OP_DIV. */
Affine distribute_let(Parts *p, const char *name, Opcode code, Affine x, Affine y);
/* The number of a new hidden param that is `x` unless it is given, as a bound. */
Affine distribute_param(Parts *p, const char *name, Affine x);
/* Finds the fields of coarser levels. Behind distribute_stages, before watches are added. */
void distribute_levels(Parts *p);
/* Has the piece targets of a coarser level, so that parts compute all of it, or what of it stands for their own points?
 */
bool piece_is_coarse(const Parts *p, const Piece *piece);
/* The points of `box`, of a piece of such a stencil, that a part computes: all, unless the stencil `restricts`, reads
 * what parts have no more of than the cells about their own points. */
Box distribute_coarse_box(Parts *p, Box box, bool restricts);
/* Does a ring that is computed beyond the edges of the grid find there what it reads of coarser levels? Reports it if
 * not. */
bool distribute_check_coarse(const Parts *p, const Piece *piece);
/* How parts share field number `f`. */
FieldShare distribute_share(const Parts *p, int f);
/* Are stencils of the module of coarser levels? */
bool distribute_has_coarse(const Parts *p);
/* Finds the fields that go around: those that are periodic, and all that stencils need to compute them beyond the
 * edges. Stencils with targets of both kinds are taken apart. False after an error: such a field has another rule. */
bool distribute_rings(Parts *p);
/* Does the access from the piece read the ring `op->sym` as the whole grid does, where that is cut? What is wrong goes
 * to `d`, unless that is NULL. */
bool distribute_check_access(const Parts *p, const Piece *piece, const Op *op, Diags *d);
/* Fills part->reach and depth. False after an error: an access leads nobody knows how far. */
bool distribute_reach(Parts *p);
/* The cells that parts need so that the `n` stencils or inits at `list`, one after the other, are right where they own
 * points, into *reach; by stencil how deep it stays, into depth. False where nobody knows, which is reported to `d`,
 * unless that is NULL. */
bool distribute_find_reach(const Parts *p, const Stencil *list, int n, Extent *reach, Extent *depth, Diags *d);
/* Decides whether parts do the inits (else p->inits becomes false), and how. Behind distribute_reach. */
void distribute_choose_inits(Parts *p);
/* Notes, while fields are still those of the whole grid, which of them hold the points of `box`, what the part computes
 * of the piece; and adds that as launch checks, when fields are what the part has. */
void distribute_note_inside(Parts *p, const Piece *piece, const Box *box);
void distribute_add_checks(Parts *p);
/* Finds whether the step has stages (Parts.staged), and makes the module one whose stages can each be a program: time
 * levels are moved on by stencils, and a temp field that a stage leaves to another one is a field as others are. False
 * after an error: the stages that are asked for cannot be one program. */
bool distribute_stages(Parts *p);
/* Leaves the stencils of the stages that are asked for, no updates, and the repeats that are among these stages alone.
 * False after an error: none is asked for. */
bool distribute_keep_stage(Parts *p);
/* Adds what reductions and probes look at, if that is asked for; ends with the program that is asked for. */
void distribute_add_watches(Parts *p);
void distribute_end_watches(Parts *p);

#endif
