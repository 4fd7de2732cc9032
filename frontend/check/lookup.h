/* lookup.h: tables and launch-time arrays, among the files that check what reads them: check_sum.c has elements of
 * tables of one index, check_time.c of arrays of one index, check_lookup.c those of two indices, and lookup; and
 * what picks among values of fields as they pick among those of tables, check_within.c. */
#ifndef STC_FRONTEND_CHECK_LOOKUP_H
#define STC_FRONTEND_CHECK_LOOKUP_H

#include "frontend/checker.h"

/* `n` items, of which an index picks one: item(c, l, i) is number i, checked. Those of `table` are from element `first`
 * on, or its rows, in which `column` picks one. Messages name `loc`, and follow `env`. */
typedef struct Items Items;
struct Items {
  Loc loc;
  const Env *env;
  int n;
  const Symbol *table;
  int first;
  Expr *column;
  Expr *(*item)(Checker *c, const Items *l, int i);
};

/* The item that the checked i64 `index`, which is used several times, says: the first one if it is below 0, the last
 * one if it is beyond. It is no constant: of one item it is one of two that are the same. */
Expr *check_among(Checker *c, const Items *l, Expr *index);
/* The same of the values of a table; of one of two indices. */
Expr *check_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *index);
Expr *check_look_up_row(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *row, Expr *column);
/* Has the table few enough values for an index that is not constant? Reports if not. */
bool check_may_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table);
/* The checked `index` as an i64; EXPR_BAD after reporting. */
Expr *check_table_index(Checker *c, const Env *env, Expr *index);
/* Element e->kids of a table, or a launch-time array, of two indices. */
Expr *check_element_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table);
Expr *check_array_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array);
/* Rows, columns and extent of the launch-time array `d`. False after reporting. */
bool check_shape(Checker *c, const Decl *d, ParamArray *out);
/* NAME[[OFFSETS] within BOUNDS]; at(X, PLACES, within BOUNDS). */
Expr *check_within(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
Expr *check_at(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* lookup(TABLE, X) and lookup(TABLE, X, Y). */
Expr *check_lookup(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

#endif
