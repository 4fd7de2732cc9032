/* lookup.h: reads of tables and launch-time arrays, shared by the files that check them: elements of tables of one
 * index are in check_sum.c, those of arrays of one index in check_time.c, those of two indices and lookup in
 * check_lookup.c; and selections among values of fields by the same method, in check_within.c. */
#ifndef STC_FRONTEND_CHECK_LOOKUP_H
#define STC_FRONTEND_CHECK_LOOKUP_H

#include "frontend/checker.h"

/* `n` items, one of which an index selects: item(c, l, i) is number i, checked. The items of `table` are its elements
 * from `first` on, or its rows, in which `column` selects one. Messages name `loc`, and follow `env`. */
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

/* The item that the checked i64 `index` selects; the index is used several times. Below 0 it selects the first item,
 * beyond the end the last one. It is not constant; if there is a single item, the result selects between two equal
 * ones. */
Expr *check_among(Checker *c, const Items *l, Expr *index);
/* check_look_up: the same for the values of a table of one index. check_look_up_row: for one of two indices. */
Expr *check_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *index);
Expr *check_look_up_row(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *row, Expr *column);
/* Checks that the table has few enough values for an index that is not constant; reports an error if not. */
bool check_may_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table);
/* The checked `index` as an i64; EXPR_BAD after reporting. */
Expr *check_table_index(Checker *c, const Env *env, Expr *index);
/* Element e->kids of a table, or of a launch-time array, of two indices. */
Expr *check_element_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table);
Expr *check_array_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array);
/* Computes rows, columns and extent of the launch-time array `d`. False after reporting. */
bool check_shape(Checker *c, const Decl *d, ParamArray *out);
/* NAME[[OFFSETS] within BOUNDS]; at(X, PLACES, within BOUNDS). */
Expr *check_within(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
Expr *check_at(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* lookup(TABLE, X) and lookup(TABLE, X, Y). */
Expr *check_lookup(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

#endif
