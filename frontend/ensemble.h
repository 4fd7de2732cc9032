/* frontend/ensemble.h: members: a program for several independent runs.
 *
 * What the program says of a grid holds for each member. Its module has one more dimension, in front, whose coordinate
 * is the member's number: all regions contain all members, no access crosses the dimension, and `shared` fields lack it
 * (fields.h). So the IR needs nothing new. Programs and messages count dimensions without it.
 *
 *   parse_members.c          tokens to members
 *   check/check_ensemble.c   the dimension, regions without it, and the member's number
 */
#ifndef STC_ENSEMBLE_H
#define STC_ENSEMBLE_H

#include "frontend/checker.h"

/* Parses members EXPR; after the keyword. */
bool parse_members(Parse *p);

/* Inserts `members n;` after the grid among the parsed declarations; does nothing if there is no grid. */
void parse_insert_members(Parse *p, int64_t n);

/* Adds the dimension of the members that `d` declares to the grid. */
void check_ensemble(Checker *c, const Decl *d);
/* check_rank: the number of dimensions of the grid in the program's text. check_shown: the number, in the text, of
 * dimension `d` of the module. */
static inline int check_rank(const Checker *c) { return c->m->grid.rank - c->lead; }
static inline int check_shown(const Checker *c, int d) { return d - c->lead; }
/* The box without the dimension of members, as in the text. */
Box check_shown_box(const Checker *c, const Box *box);
/* Extends `box`, whose other dimensions are set, to all members. */
void check_all_members(const Checker *c, Box *box);
/* The number of the member of the present point: the value of the name `member`. */
Expr *check_member_of_point(Checker *c, const Env *env, Loc loc);
/* The number of the member of the present point, or of the number that is computed, for `name`, which differs between
 * members. Reports an error if there is none. */
Expr *check_own_member(Checker *c, const Env *env, Loc loc, const char *name);
/* Is `name` the name `member`, without another meaning at this place? */
bool check_is_member(const Checker *c, const char *name);
/* Has the reduction `s` a value for each member? */
bool check_is_each(const Checker *c, const Symbol *s);
/* If field `f`, declared by `d`, is shared by all members, it lacks their dimension: sets lacks[0]. False after
 * reporting. */
bool check_shared(Checker *c, const Decl *d, bool *lacks);
/* If the targets of the init `s` are shared, makes `box` and lacks[0] of its piece those of all members. */
void check_shared_piece(const Checker *c, const CheckedStencil *s, Box *box, bool *lacks);

#endif
