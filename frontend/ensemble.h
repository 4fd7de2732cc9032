/* frontend/ensemble.h: members: a program that stands for several independent runs of it.
 *
 * What the program says of a grid holds for each member. Its module has one dimension more, in front, whose coordinate
 * is the member's number: all regions have all members, no access crosses it, and `shared` fields do not have it
 * (fields.h). So nothing new reaches the IR. Dimensions as programs and messages number them begin behind it.
 *
 *   parse_members.c          tokens to members
 *   check/check_ensemble.c   the dimension, what the text says without it, and the member's number
 */
#ifndef STC_ENSEMBLE_H
#define STC_ENSEMBLE_H

#include "frontend/checker.h"

/* members EXPR; after the word. */
bool parse_members(Parse *p);

/* Puts `members n;` behind the grid among the declarations that were parsed; nothing where there is no grid. */
void parse_insert_members(Parse *p, int64_t n);

/* Gives the grid the dimension of `d`'s members. */
void check_ensemble(Checker *c, const Decl *d);
/* How many dimensions the program's text gives the grid; the number, in the text, of dimension `d` of the module. */
static inline int check_rank(const Checker *c) { return c->m->grid.rank - c->lead; }
static inline int check_shown(const Checker *c, int d) { return d - c->lead; }
/* The box as the text has it. */
Box check_shown_box(const Checker *c, const Box *box);
/* Lets `box`, whose other dimensions are set, have all members. */
void check_all_members(const Checker *c, Box *box);
/* The number of the member that the point in hand belongs to: the value of the name `member`. */
Expr *check_member_of_point(Checker *c, const Env *env, Loc loc);
/* The number of the member that the point in hand, or the number that is computed, belongs to, for `name`, which
 * differs from member to member. Reports where there is none. */
Expr *check_own_member(Checker *c, const Env *env, Loc loc, const char *name);
/* Is `name` that number, at a place where it means nothing else? */
bool check_is_member(const Checker *c, const char *name);
/* Has the reduction `s` a value for each member? */
bool check_is_each(const Checker *c, const Symbol *s);
/* Is field `f` declared by `d` shared by all members? Then it does not have their dimension: lacks[0] becomes true.
 * False after reporting. */
bool check_shared(Checker *c, const Decl *d, bool *lacks);
/* The region of a piece of `s`, an init, if its targets are shared: `box` and lacks[0] become those of all members. */
void check_shared_piece(const Checker *c, const CheckedStencil *s, Box *box, bool *lacks);

#endif
