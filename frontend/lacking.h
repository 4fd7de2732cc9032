/* frontend/lacking.h: fields that do not have all of the grid's dimensions, `*` in their regions.
 *
 *   check_lacking.c   where a star may stand, and what such fields and their inits are
 */
#ifndef STC_LACKING_H
#define STC_LACKING_H

#include "frontend/ast.h"

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

#endif
