/* frontend/levels.h: levels of the grid, each with half the points of the one before in each dimension, and
 * declarations that are repeated for several levels.
 *
 *   expand_levels.c        tokens to tokens: expands `each`, turns names with a level into names of their own
 *   parse_levels.c         tokens to levels
 *   check/check_levels.c   their regions; values of the next finer and the next coarser level: fine, coarse
 */
#ifndef STC_LEVELS_H
#define STC_LEVELS_H

#include "frontend/checker.h"

/* Limits: the levels of a program; the repetitions of one `each`, and of all in a program; the resulting tokens, and
 * names. */
enum { MAX_LEVELS = 24, MAX_TURNS = 256, MAX_ALL_TURNS = 1 << 16, MAX_EXPANDED = 1 << 20, MAX_NAMES = 1 << 13 };

/* The levels of a program: level l has the region box[l], 0 being the grid. */
typedef struct Levels {
  const char *name;
  Loc loc;
  int n;
  Box *box;
} Levels;

/* ---------------------------------------------------------------- expand_levels.c */

/* Expands all `each` in the tokens `t` of a program, up to the end of the file: declares fields on levels once for each
 * level, and turns names with a level, x(l + 1), into single tokens "x(3)". Returns `t` itself if there is nothing to
 * expand. After an error, which is reported, nothing remains. */
const Token *levels_expand(Arena *a, Diags *d, const Token *t);

/* ---------------------------------------------------------------- parse_levels.c */

/* Parses levels NAME = FIRST .. LAST of GRID; after the keyword. */
bool parse_levels(Parse *p);

/* ---------------------------------------------------------------- check_levels.c names.c */

/* Declares the regions of the levels `d`. */
void check_levels(Checker *c, const Decl *d);
/* The level whose region is `box`; -1: none. */
int check_level_of(const Checker *c, const Box *box);
/* The level of the present point, which is that of the targets or of the reduced region; 0 in a program without levels.
 * -1 after reporting that the property of the point that `word` names is not known. */
int check_level_at_point(Checker *c, const Env *env, Loc loc, const char *word);
/* Is `e` a call of the built-in fine or coarse? */
bool check_is_scaled(const Checker *c, const Expr *e);
/* The value of such a call, at the offsets after the first kid of `at` (NULL: there are none), moved by `shift`. */
Expr *check_scaled(Checker *c, const Expr *call, const Expr *at, const Env *env, const int64_t *shift);
/* The read of field `sym` at `off` within such a call, on the field's own level. */
Expr *check_scaled_read(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *off);
/* Is the present derivative taken of a field on another level than the grid's own, whose spacing is the known one?
 * Reports it. */
bool check_wrong_spacing(Checker *c, const Env *env, Loc loc, const Symbol *sym);
/* For a call of `e->name`, a name that some levels have, with the parameter of a macro as the level: the field, region
 * or other symbol for level `e->kids[0]`; NULL after reporting that there is none. */
Symbol *check_of_level(Checker *c, const Expr *e, const Env *env);
/* Is `sym`, or the symbol of the same name on another level, used? */
bool check_level_is_used(const Checker *c, const Symbol *sym);
/* A name with a level, "x(0)", that begins with `name`; NULL: there is none. */
const char *check_name_with_level(const Checker *c, const char *name);

#endif
