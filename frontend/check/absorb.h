/* frontend/check/absorb.h: absorbing layers as written, and their representation in the checker (private to frontend/).
 *
 *   parse_point.c     AbsorbDecl, and "absorb NAME" after a region
 *   check_absorb.c    the layer, its profiles; the derivatives of a stencil that it stretches
 *   absorb.c          the expansion of such a stencil: fields of memories, their inits, stencils on slabs, pieces
 */
#ifndef STC_ABSORB_H
#define STC_ABSORB_H

#include "frontend/checker.h"
#include "frontend/check/derivative.h"

/* The least and the greatest number of points of a layer. */
enum { MIN_LAYER = 4, MAX_LAYER = 64 };

/* "EXPR lower" or "EXPR upper": a side of the grid, as written. */
typedef struct SideExpr {
  Expr *dim;
  bool upper;
} SideExpr;

/* absorb NAME = points of GRID [but [sides]] speed, frequency, reflection, kappa; kappa NULL: 1. */
typedef struct AbsorbDecl {
  Expr *points;
  Name of;
  int32_t n;
  SideExpr *sides;
  Expr *speed, *frequency, *reflection, *kappa;
} AbsorbDecl;

/* The profiles of a layer: a and b of the recursion m' = b m + a d, and 1 over kappa. */
typedef enum Profile { PROFILE_A, PROFILE_B, PROFILE_K, PROFILES } Profile;

/* A layer: its points; the sides of the grid that have it; scalars of f64 for the rest, kappa NULL: it is 1. */
typedef struct Layer {
  const char *name;
  int64_t points;
  bool has[MAX_RANK][2];
  Symbol *speed, *frequency, *reflection, *kappa;
  Symbol *damping[MAX_RANK]; /* greatest damping, by dimension; NULL: not needed so far */
} Layer;

/* An array of a layer's profile in dimension `dim`: profile `which` at whole points or half a point ahead, after
 * `before` points without damping, as floats of `type`. */
typedef struct LayerArray {
  const Layer *layer;
  Profile which;
  int dim, before;
  bool half;
  Type type;
  Symbol *array;
  Expr *value;
} LayerArray;

/* A derivative that a layer stretches: its description, at its first place in the program; the fields of its memories
 * by side, NULL where there is no layer. For a second derivative `first` is the memory of the first derivative, and
 * `extra` what that memory and kappa add to the first derivative. */
typedef struct Stretched {
  Difference way;
  int dim;
  Expr *plain;
  Type base;
  Loc loc;
  Symbol *memory[2], *first[2], *extra[2];
} Stretched;

/* A place of such a derivative in a piece's text: its number, and the first derivative that the memory of a second one
 * reads. */
typedef struct Meeting {
  int32_t number;
  Expr *first;
} Meeting;

/* A piece whose derivatives a layer stretches, and their places in the order in which they are checked. */
typedef struct AbsorbedPiece {
  const PieceDecl *decl;
  Box box;
  int32_t n;
  Meeting *places;
} AbsorbedPiece;

/* A stencil with absorb. While `zone` is NULL its text is checked as written, and recorded. Then it is checked again
 * for each part of a piece: zone[d] says whether the part is in the lower layer of dimension d (-1), between the layers
 * (0) or in the upper one (1). */
typedef struct Absorbing {
  const Layer *layer;
  const Decl *decl;
  int32_t n;
  Stretched *derivatives;
  int32_t npieces;
  AbsorbedPiece *pieces;
  Loc by_hand[MAX_RANK]; /* the place of a read of a neighbour outside of diff, line 0: none */
  const char *by_hand_name[MAX_RANK];
  int64_t width[MAX_RANK][2]; /* by side: the number of points that differ from the inner ones */
  const int *zone;
  const AbsorbedPiece *piece;
  int32_t met;  /* of the present part: the number of places so far */
  Expr **value; /* by derivative: its value there; the new value of its memory; NULL: it was not met */
  Expr **next;
} Absorbing;

/* Parses absorb NAME = ...; after the keyword. */
bool parse_absorb(Parse *p);
/* Parses "absorb NAME" after the region of a piece, if it is there. */
bool parse_absorbed(Parse *p, PieceDecl *piece);

/* The layer `d`; NULL after reporting. */
const Layer *check_layer(Checker *c, const Decl *d);
/* Element number `index` of the profile. */
Expr *layer_element(Checker *c, const Stretched *s, Profile which, Expr *index);
/* The number of the profile's element for the present point, which is in the layer at `side`. */
Expr *layer_index(Checker *c, const Stretched *s, int side);
/* layer_memory: the new value of its memory in `field` for the derivative `seen`. layer_extra: what stretching adds to
 * the first derivative `seen`, whose memory becomes `next`. */
Expr *layer_memory(Checker *c, const Stretched *s, Symbol *field, Expr *index, Expr *seen);
Expr *layer_extra(Checker *c, const Stretched *s, Expr *index, Expr *seen, Expr *next);
/* The derivative `plain` as the layer of the present stencil stretches it; `s` describes it. env and e: the call;
 * shift: the position. */
Expr *check_absorbed(Checker *c, const Stretched *s, const Env *env, const Expr *e, const int64_t *shift);
/* Records that `field` is read at `off`. */
void check_absorbed_read(Checker *c, Loc loc, const Symbol *field, const int64_t *off);
/* Adds the arrays of profiles to the module, after all declared arrays. */
void check_add_profiles(Checker *c);
/* The first derivative that the memory of the second derivative `way` reads. */
Difference absorbed_first(const Difference *way);
/* The derivative `way` in dimension `dim` of the argument of call `e`, at `shift`; or (field given) of the field there.
 */
Expr *check_difference(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *field,
                       const Difference *way, int dim);

/* If pieces of `d` have a layer: records in c->absorbing that their derivatives must be stretched. */
void absorb_begin(Checker *c, const Decl *d);
/* If the next piece, `d` on `box`, has a layer, records that. */
void absorb_piece(Checker *c, const PieceDecl *d, const Box *box);
/* Replaces `s`, checked as written, by its expansion: adds inits and stencils before it, and gives it further pieces
 * and targets. */
void absorb_expand(Checker *c, CheckedStencil *s);
/* Checks the pieces of `d` on `box` into `s` (check.c). */
void check_piece_on(Checker *c, const PieceDecl *d, const Box *box, CheckedStencil *s);

#endif
