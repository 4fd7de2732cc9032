/* frontend/levels.h: levels of the grid, each of half the points of the one before in each dimension, and declarations
 * that are written out for several of them.
 *
 *   expand_levels.c        tokens to tokens: `each` written out, names with a level as names of their own
 *   parse_levels.c         tokens to levels
 *   check/check_levels.c   their regions; values of the next finer and the next coarser level: fine, coarse
 */
#ifndef STC_LEVELS_H
#define STC_LEVELS_H

#include "frontend/checker.h"

/* No program has more levels; braces of each are written out at most so many times, all of a program so many, and come
 * to so many tokens and names. */
enum { MAX_LEVELS = 24, MAX_TURNS = 256, MAX_ALL_TURNS = 1 << 16, MAX_EXPANDED = 1 << 20, MAX_NAMES = 1 << 13 };

/* The levels of a program: level l has the region box[l], 0 being the grid. */
typedef struct Levels {
  const char *name;
  Loc loc;
  int n;
  Box *box;
} Levels;

/* ---------------------------------------------------------------- expand_levels.c */

/* The tokens `t` of a program, up to the end of the file, with all `each` written out, fields on levels declared once
 * for each level, and names with a level, x(l + 1), as one token "x(3)". `t` itself if it has none of these. What is
 * wrong is reported, and nothing is left then. */
const Token *levels_expand(Arena *a, Diags *d, const Token *t);

/* ---------------------------------------------------------------- parse_levels.c */

/* levels NAME = FIRST .. LAST of GRID; after the word. */
bool parse_levels(Parse *p);

/* ---------------------------------------------------------------- check_levels.c names.c */

/* Declares the regions of the levels `d`. */
void check_levels(Checker *c, const Decl *d);
/* The level whose region is `box`, -1: none. */
int check_level_of(const Checker *c, const Box *box);
/* The level of the point in hand, 0 where the program has none: that of the targets, or of the region that is reduced.
 * -1 after reporting that what `word` tells of the point is not known. */
int check_level_at_point(Checker *c, const Env *env, Loc loc, const char *word);
/* Is `e` a call of the built-in fine or coarse? */
bool check_is_scaled(const Checker *c, const Expr *e);
/* The value of that, at the offsets behind the first kid of `at` (NULL: none are written), moved by `shift`. */
Expr *check_scaled(Checker *c, const Expr *call, const Expr *at, const Env *env, const int64_t *shift);
/* Within it, the read of field `sym` at `off`, which is of its own level. */
Expr *check_scaled_read(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *off);
/* Is the derivative in hand of a field that lies on another level than the grid's own, whose spacing is known? Reports
 * it. */
bool check_wrong_spacing(Checker *c, const Env *env, Loc loc, const Symbol *sym);
/* The field, region or other name for level `e->kids[0]` that a call of `e->name`, which some levels have, stands for
 * where the level is the parameter of a macro; NULL after reporting that there is none. */
Symbol *check_of_level(Checker *c, const Expr *e, const Env *env);
/* Is `sym`, or what has its name on another level, used? */
bool check_level_is_used(const Checker *c, const Symbol *sym);
/* A name that some levels have, "x(0)", of which `name` is the first part; NULL: there is none. */
const char *check_name_with_level(const Checker *c, const char *name);

#endif
