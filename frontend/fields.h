/* frontend/fields.h: fields that do not have all of the grid's dimensions, `*` in their regions; masks, stencils on
 * their points, and what a read of a field gives at others; fields that are a series of frames.
 *
 *   check_lacking.c   where a star may stand, and what such fields and their inits are
 *   parse_point.c     tokens to masks and rules of dry points
 *   check_mask.c      masks as fields, the choices that stand for them
 *   parse_frames.c    tokens to what fields that are series of frames say of these
 *   check_frames.c    such fields, and what a read of one is
 */
#ifndef STC_FIELDS_H
#define STC_FIELDS_H

#include "frontend/checker.h"

/* ---------------------------------------------------------------- dimensions: check_lacking.c check_region.c */

/* The region of field `d`, which may have stars, into `f`: its box, and the dimensions that it does not have. False
 * after reporting. */
bool check_field_region(Checker *c, const Decl *d, Field *f);
/* Is a field without some dimensions declared as one that no step writes? Makes it an input. False after reporting. */
bool check_lacking_kind(Checker *c, const Decl *d, Field *f);
/* Does the rule `from` for side `side` of field `f` stand for a dimension that f has, or is it a star for one that it
 * does not have? False after reporting. `alone`: it is the one rule for all that f has. */
bool check_lacking_side(Checker *c, const SideDecl *from, const Field *f, int side, bool alone);
/* Does the region named by `s`, at `loc`, have all dimensions? Reports it if not. */
bool check_has_all(Checker *c, Loc loc, const Symbol *s);
/* The region of a piece of `s` into `out`, and into c->lacks the dimensions that it, and all targets of s, do not have.
 * False after reporting. */
bool check_piece_region(Checker *c, const RegionExpr *r, const CheckedStencil *s, Box *out);
/* Has field `f` no dimension that the piece in hand does not have? Reports at `loc` if it has one: there is no point of
 * it to read. */
bool check_reads_lacking(Checker *c, const Env *env, Loc loc, const Symbol *f);
/* Has the piece in hand dimension `d`, of which `word` asks for the coordinate? Reports it if not. */
bool check_has_coordinate(Checker *c, const Env *env, Loc loc, int d, const char *word);

/* ---------------------------------------------------------------- masks: parse_point.c parse_parts.c check_mask.c */

/* What a read gives at a point where the mask is false: what the field has at the reading point, a constant, or twice a
 * number less what it has at the reading point. */
typedef enum DryRule { DRY_SELF, DRY_VALUE, DRY_ODD } DryRule;
/* `where NAME dry RULE` as written; value: the constant, or what it is odd about. */
typedef struct DryDecl {
  Name mask;
  DryRule rule;
  Expr *value;
  Loc loc;
} DryDecl;

/* mask NAME on REGION = EXPR; after the word. */
bool parse_mask(Parse *p);
/* NAME dry RULE, behind the word `where` of a field; NULL after reporting. */
const DryDecl *parse_dry(Parse *p);
/* The name of a mask, into *out; `where NAME` of a region, if it stands there, into *out. False after reporting. */
bool parse_mask_name(Parse *p, Name *out);
bool parse_where(Parse *p, Name *out);

/* What reads of field `f` give. look: the field of bools, on f's region and with its rules beyond that or one that
 * gives the same, that says where the mask is true. */
typedef struct Masked {
  const Symbol *look;
  DryRule rule;
  Expr *value;
} Masked;

/* The mask `d`, whose field `f` has its region: `s` is its symbol. */
void check_mask(Checker *c, const Decl *d, Field *f, Symbol *s);
/* The mask and the rule of field `s`, which `d` declares. False after reporting. */
bool check_dry(Checker *c, const Decl *d, Symbol *s);
/* The read `e` of field `sym` at its offset, by the rule of its mask if it has one; EXPR_BAD after reporting that it
 * has no place in an init. */
Expr *check_dry_read(Checker *c, const Env *env, Symbol *sym, Expr *e);
/* What the piece `p`, on the points of a region where the mask `name` is true, assigns elsewhere: what is there. */
void check_where(Checker *c, Name name, CheckedPiece *p);
/* Adds the inits of masks to the program, behind all others. */
void check_add_masks(Checker *c);

/* ---------------------------------------------------------------- frames: parse_frames.c check_frames.c */

/* `frames every K [linear] [cycle]` as written. */
typedef struct FramesDecl {
  Expr *every;
  bool linear, cycle;
  Loc loc;
} FramesDecl;

/* every K [linear] [cycle], behind the word `frames` of a field at `loc`; NULL after reporting. */
const FramesDecl *parse_frames(Parse *p, Loc loc);

/* Of a field with frames: the steps for which each stands; where reads lie between two of them, the hidden field that
 * has the one behind that of the step, else NULL. */
typedef struct Framed {
  int64_t every;
  Symbol *later;
} Framed;

/* Makes field `s`, which `d` declares, an input with frames. False after reporting. */
bool check_frames(Checker *c, const Decl *d, Symbol *s);
/* Reports if the program has frames and is differentiated, which is done backwards. */
void check_frames_by(Checker *c);
/* The read `e` of field `sym`, which has frames; EXPR_BAD after reporting that it has no place where the checker is. */
Expr *check_frame_read(Checker *c, const Env *env, const Symbol *sym, Expr *e);

#endif
