/* frontend/base/fold.h: constant expressions and affine bounds: fold.c, scalars.c (private to
 * frontend/; checker.h includes it at its end). */
#ifndef STC_FOLD_H
#define STC_FOLD_H

#include "frontend/checker.h"

/* The value of a checked constant expression (kinds INT, FLOAT, BOOL, OP, CONST). False if it is not constant. */
bool fold_const(Checker *c, const Expr *e, Const *out);
/* The checked integer expression as an affine form; false if it is none, or too large. */
bool fold_affine(Checker *c, const Expr *e, Affine *out);
/* The same for an expression in a bound: one that is no affine form of params, such as a quotient or a minimum, becomes
 * a scalar that is computed at launch, the same one for all expressions of equal text. */
bool fold_bound(Checker *c, const Expr *e, Affine *out);
/* The number of the scalar with the value of the checked integer expression, which is made if there is none. */
int fold_computed(Checker *c, Expr *e);
/* Can `e` be computed at launch for a bound? Not if it contains a product of two params, which might overflow
 * unnoticed. */
bool fold_may_compute(Checker *c, const Expr *e);
/* Records that scalar number `scalar`, a let, has the value of `e`. */
void fold_note(Checker *c, Expr *e, int scalar);
/* Adds a let without a name in the program. */
Symbol *check_hidden_scalar(Checker *c, const char *name, Expr *value);
/* The value of a launch-time expression under the default params; false if it is not known. */
bool fold_default(Checker *c, const Expr *e, Const *out);
/* The literal with type t; false if it is an integer beyond t's range. */
bool fold_literal(const Expr *e, Type t, Const *out);

#endif
