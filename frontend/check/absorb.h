/* frontend/check/absorb.h: absorbing layers as written, and what the checker keeps of them (private to frontend/).
 *
 *   parse_point.c     AbsorbDecl, and "absorb NAME" behind a region
 *   check_absorb.c    the layer, its profiles; the derivatives of a stencil that it stretches
 *   absorb.c          what such a stencil stands for: fields of memories, their inits, stencils on slabs, pieces
 */
#ifndef STC_ABSORB_H
#define STC_ABSORB_H

#include "frontend/checker.h"
#include "frontend/check/derivative.h"

/* Points of a layer, the fewest and the most. */
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

/* Profiles of a layer, by what they are: of the recursion m' = b m + a d, and 1 over kappa. */
typedef enum Profile { PROFILE_A, PROFILE_B, PROFILE_K, PROFILES } Profile;

/* A layer: its points; where the grid has one; scalars of f64 for the rest, kappa NULL: it is 1. */
typedef struct Layer {
  const char *name;
  int64_t points;
  bool has[MAX_RANK][2];
  Symbol *speed, *frequency, *reflection, *kappa;
  Symbol *damping[MAX_RANK]; /* the largest damping, by dimension; NULL: not needed so far */
} Layer;

/* An array of a layer's profile in dimension `dim`: `which` of whole points or half a point ahead, behind `before`
 * points where nothing is damped, of floats of `type`. */
typedef struct LayerArray {
  const Layer *layer;
  Profile which;
  int dim, before;
  bool half;
  Type type;
  Symbol *array;
  Expr *value;
} LayerArray;

/* A derivative that a layer stretches: what it is, written out, first where the program has it; fields of its memories
 * by side, NULL where there is no layer. Of a second derivative `first` is the memory of the first one, and `extra`
 * what that and kappa add to the first one. */
typedef struct Stretched {
  Difference way;
  int dim;
  Expr *plain;
  Type base;
  Loc loc;
  Symbol *memory[2], *first[2], *extra[2];
} Stretched;

/* A place of a piece's text where there is such a derivative: its number, and the first derivative that a second one's
 * memory sees. */
typedef struct Meeting {
  int32_t number;
  Expr *first;
} Meeting;

/* A piece whose derivatives a layer stretches, and its places in the order in which they are met. */
typedef struct AbsorbedPiece {
  const PieceDecl *decl;
  Box box;
  int32_t n;
  Meeting *places;
} AbsorbedPiece;

/* A stencil with absorb. While `zone` is NULL its text is checked as it stands, and noted. Then it is checked again for
 * each part of a piece: zone[d] says whether that is in the lower layer of dimension d (-1), between them (0) or in the
 * upper one (1). */
typedef struct Absorbing {
  const Layer *layer;
  const Decl *decl;
  int32_t n;
  Stretched *derivatives;
  int32_t npieces;
  AbsorbedPiece *pieces;
  Loc by_hand[MAX_RANK]; /* where a neighbour is read outside of diff, line 0: nowhere */
  const char *by_hand_name[MAX_RANK];
  int64_t width[MAX_RANK][2]; /* points of each side that are not as the inner ones */
  const int *zone;
  const AbsorbedPiece *piece;
  int32_t met;  /* of the part in hand: places so far */
  Expr **value; /* and by derivative: what it is there; what its memory becomes; NULL: not met */
  Expr **next;
} Absorbing;

/* absorb NAME = ...; after the word. */
bool parse_absorb(Parse *p);
/* "absorb NAME" behind the region of a piece, if it is there. */
bool parse_absorbed(Parse *p, PieceDecl *piece);

/* The layer `d`; NULL after reporting. */
const Layer *check_layer(Checker *c, const Decl *d);
/* Element number `index` of the profile. */
Expr *layer_element(Checker *c, const Stretched *s, Profile which, Expr *index);
/* The number of the element of its profile where the point is in the layer at `side`. */
Expr *layer_index(Checker *c, const Stretched *s, int side);
/* What its memory in `field` becomes where it sees `seen`; and what is kept of a first derivative `seen` whose memory
 * becomes `next`: what stretching adds to it. */
Expr *layer_memory(Checker *c, const Stretched *s, Symbol *field, Expr *index, Expr *seen);
Expr *layer_extra(Checker *c, const Stretched *s, Expr *index, Expr *seen, Expr *next);
/* The derivative `plain`, written out, as the layer of the stencil in hand has it: `s` says which it is. env and e: the
 * call; shift: where it is seen from. */
Expr *check_absorbed(Checker *c, const Stretched *s, const Env *env, const Expr *e, const int64_t *shift);
/* Notes that `field` is read at `off`. */
void check_absorbed_read(Checker *c, Loc loc, const Symbol *field, const int64_t *off);
/* Adds the arrays of profiles to the module, behind all that are declared. */
void check_add_profiles(Checker *c);
/* How the first derivative is that the memory of the second derivative `way` sees. */
Difference absorbed_first(const Difference *way);
/* The derivative `way` in dimension `dim` of what call `e` is about, seen from `shift`; or (field given) of the field
 * there. */
Expr *check_difference(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *field,
                       const Difference *way, int dim);

/* Do pieces of `d` have a layer? Then it is noted in c->absorbing that their derivatives are to be stretched. */
void absorb_begin(Checker *c, const Decl *d);
/* The text of piece `d` on `box` follows: notes that, if it has a layer. */
void absorb_piece(Checker *c, const PieceDecl *d, const Box *box);
/* In place of `s`, checked as it stands, what it means: adds inits and stencils before it, and gives it pieces and
 * targets. */
void absorb_expand(Checker *c, CheckedStencil *s);
/* The pieces of `d` on `box` are checked into `s` (check.c). */
void check_piece_on(Checker *c, const PieceDecl *d, const Box *box, CheckedStencil *s);

#endif
