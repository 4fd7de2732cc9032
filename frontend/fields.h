/* frontend/fields.h: fields that lack dimensions of the grid, `*` in their regions; masks, stencils on their points,
 * and the values of reads at other points; fields that are series of frames.
 *
 *   check_lacking.c   where a star may stand; such fields and their inits
 *   parse_point.c     tokens to masks and rules of dry points
 *   check_mask.c      masks as fields, and the selections that implement them
 *   parse_frames.c    tokens to the properties of series of frames
 *   check_frames.c    such fields, and reads of them
 */
#ifndef STC_FIELDS_H
#define STC_FIELDS_H

#include "frontend/checker.h"

/* ---------------------------------------------------------------- dimensions: check_lacking.c check_region.c */

/* Computes the region of field `d`, which may have stars, into `f`: its box, and the dimensions that it lacks. False
 * after reporting. */
bool check_field_region(Checker *c, const Decl *d, Field *f);
/* If field `f` lacks dimensions, checks that it is declared as one that no step writes, and makes it an input. False
 * after reporting. */
bool check_lacking_kind(Checker *c, const Decl *d, Field *f);
/* Checks that the rule `from` for side `side` of field `f` is a rule if f has the dimension, and a star if f lacks it.
 * False after reporting. `alone`: it is the single rule for all dimensions of f. */
bool check_lacking_side(Checker *c, const SideDecl *from, const Field *f, int side, bool alone);
/* Checks that the region named by `s`, at `loc`, has all dimensions; reports an error if not. */
bool check_has_all(Checker *c, Loc loc, const Symbol *s);
/* Computes the region of a piece of `s` into `out`, and into c->lacks the dimensions that it and all targets of s lack.
 * False after reporting. */
bool check_piece_region(Checker *c, const RegionExpr *r, const CheckedStencil *s, Box *out);
/* Checks that field `f` has no dimension that the present piece lacks; reports an error at `loc` if it has one, because
 * there is no point to read. */
bool check_reads_lacking(Checker *c, const Env *env, Loc loc, const Symbol *f);
/* Checks that the present piece has dimension `d`, whose coordinate `word` needs; reports an error if not. */
bool check_has_coordinate(Checker *c, const Env *env, Loc loc, int d, const char *word);

/* ---------------------------------------------------------------- masks: parse_point.c parse_parts.c check_mask.c */

/* The value of a read at a point where the mask is false: the field's value at the reading point, a constant, or twice
 * a number minus the field's value at the reading point. */
typedef enum DryRule { DRY_SELF, DRY_VALUE, DRY_ODD } DryRule;
/* `where NAME dry RULE` as written; value: the constant, or the number about which it is odd. */
typedef struct DryDecl {
  Name mask;
  DryRule rule;
  Expr *value;
  Loc loc;
} DryDecl;

/* Parses mask NAME on REGION = EXPR; after the keyword. */
bool parse_mask(Parse *p);
/* Parses NAME dry RULE, after the word `where` of a field; NULL after reporting. */
const DryDecl *parse_dry(Parse *p);
/* parse_mask_name: parses the name of a mask into *out. parse_where: parses `where NAME` of a region, if it is there,
 * into *out. False after reporting. */
bool parse_mask_name(Parse *p, Name *out);
bool parse_where(Parse *p, Name *out);

/* The values of reads of field `f`. look: a field of bools that is true where the mask is; it is on f's region, and its
 * outside rules are those of f or equivalent ones. */
typedef struct Masked {
  const Symbol *look;
  DryRule rule;
  Expr *value;
} Masked;

/* Checks the mask `d`, whose field `f` has its region; `s` is its symbol. */
void check_mask(Checker *c, const Decl *d, Field *f, Symbol *s);
/* Checks the mask and the rule of field `s`, which `d` declares. False after reporting. */
bool check_dry(Checker *c, const Decl *d, Symbol *s);
/* The read `e` of field `sym` at its offset, by the rule of its mask if it has one; EXPR_BAD after reporting that it is
 * not allowed in an init. */
Expr *check_dry_read(Checker *c, const Env *env, Symbol *sym, Expr *e);
/* For the piece `p`, on the points of a region where the mask `name` is true: makes it assign the old values at other
 * points. */
void check_where(Checker *c, Name name, CheckedPiece *p);
/* Adds the inits of masks to the program, after all others. */
void check_add_masks(Checker *c);

/* ---------------------------------------------------------------- frames: parse_frames.c check_frames.c */

/* `frames every K [linear] [cycle]` as written. */
typedef struct FramesDecl {
  Expr *every;
  bool linear, cycle;
  Loc loc;
} FramesDecl;

/* Parses every K [linear] [cycle], after the word `frames` of a field at `loc`; NULL after reporting. */
const FramesDecl *parse_frames(Parse *p, Loc loc);

/* The properties of a field with frames: the number of steps of each frame; if reads interpolate between two frames,
 * the hidden field with the frame after that of the step, else NULL. */
typedef struct Framed {
  int64_t every;
  Symbol *later;
} Framed;

/* Makes field `s`, which `d` declares, an input with frames. False after reporting. */
bool check_frames(Checker *c, const Decl *d, Symbol *s);
/* Reports an error if the program has frames and a gradient, which runs backwards. */
void check_frames_by(Checker *c);
/* The read `e` of field `sym`, which has frames; EXPR_BAD after reporting that it is not allowed at this place. */
Expr *check_frame_read(Checker *c, const Env *env, const Symbol *sym, Expr *e);

#endif
