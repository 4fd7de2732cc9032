/* frontend/complex.h: complex numbers: a struct of two floats, re and im, with arithmetic by the checker.
 *
 *   base/check_complex.c    the types, and the results of operations and functions, component by component
 */
#ifndef STC_COMPLEX_H
#define STC_COMPLEX_H

#include "frontend/checker.h"

/* The complex type of that name, c64, c128 or complex, unless the program declares the name itself; TY_NONE: it is no
 * such name. */
Type check_complex_type(Checker *c, const char *name, Loc loc);
/* Is `t` complex? */
bool check_is_complex(const Checker *c, Type t);
/* Has one of kids `first` and later of `e` a complex value? */
bool check_has_complex(const Checker *c, const Expr *e, int first);
/* The operation `e`, which has such a kid, as a value of two components. EXPR_BAD after reporting. */
Expr *check_complex(Checker *c, const Env *env, Expr *e);
/* The literal `e`, without a type of its own, as a value of the complex type `want`; NULL: it is no such literal. */
Expr *check_as_complex(Checker *c, const Env *env, Expr *e, Type want);
/* Is `t` complex, or has it a complex component? */
bool check_complex_within(const Checker *c, Type t);
/* May `value`, the constant *k (NULL: it is no number), be the value beyond an edge of a field of type `t`, or the
 * number about which it is odd, where each component takes it? Reports if not. */
bool check_complex_outside(Checker *c, Type t, const Expr *value, const Const *k);
/* The imaginary literal `e` with type complex, for a place without a type. Other expressions are returned unchanged. */
Expr *check_close_imaginary(Checker *c, Expr *e);
/* check_complex_of_parts: the value of complex type `t` with these parts. check_complex_parts: the parts of such a
 * value. */
Expr *check_complex_of_parts(Checker *c, Loc loc, Type t, Expr *const *parts);
void check_complex_parts(Checker *c, Expr *e, Expr **parts);
/* check_is_complex_call: is `e` a call of a function of complex numbers, or of a complex type, whose name the program
 * does not declare? check_complex_call: its value. */
bool check_is_complex_call(const Checker *c, const Expr *e);
Expr *check_complex_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

#endif
