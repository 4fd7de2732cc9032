/* frontend/base/fold.h: constant expressions and affine bounds: fold.c, scalars.c (private to
 * frontend/; checker.h includes it at its end). */
#ifndef STC_FOLD_H
#define STC_FOLD_H

#include "frontend/checker.h"

/* The value of a checked constant expression (kinds INT, FLOAT, BOOL, OP, CONST). False if it is none. */
bool fold_const(Checker *c, const Expr *e, Const *out);
/* The checked integer expression as an affine form; false if it is none, or too large. */
bool fold_affine(Checker *c, const Expr *e, Affine *out);
/* The same of an expression that may stand in a bound: what is no affine form of params, a quotient or a minimum, say,
 * becomes one as a scalar that launching computes, the same for all expressions written alike. */
bool fold_bound(Checker *c, const Expr *e, Affine *out);
/* The number of the scalar that is the value of the checked integer expression, made if there is none. */
int fold_computed(Checker *c, Expr *e);
/* May launching compute `e` for a bound: is there no product of two params in it, which might wrap unseen? */
bool fold_may_compute(Checker *c, const Expr *e);
/* Scalar number `scalar`, a let, is the value of `e`. */
void fold_note(Checker *c, Expr *e, int scalar);
/* Adds a let that no program names. */
Symbol *check_hidden_scalar(Checker *c, const char *name, Expr *value);
/* The value of a launch-time expression under the params' defaults; false if it is not known. */
bool fold_default(Checker *c, const Expr *e, Const *out);
/* The literal as written, as type t; false if it is an integer beyond t's range. */
bool fold_literal(const Expr *e, Type t, Const *out);

#endif
