/* frontend/complex.h: complex numbers: a struct of two floats, re and im, which the checker computes with.
 *
 *   base/check_complex.c    the types, what operations and functions come to, component by component
 */
#ifndef STC_COMPLEX_H
#define STC_COMPLEX_H

#include "frontend/checker.h"

/* The complex type of that name, c64, c128 or complex, unless the program declares something else of the name;
 * TY_NONE: it is no such name. */
Type check_complex_type(Checker *c, const char *name, Loc loc);
/* Is `t` complex? May `e`, an imaginary literal or something made of some, still become any complex type? */
bool check_is_complex(const Checker *c, Type t);
/* Has one of kids `first` and on of `e` a complex value? */
bool check_has_complex(const Checker *c, const Expr *e, int first);
/* The operation `e`, which has one, as the value of its two components. EXPR_BAD after reporting. */
Expr *check_complex(Checker *c, const Env *env, Expr *e);
/* `e`, a literal without a type of its own, as a value of the complex type `want`; NULL: it is none. */
Expr *check_as_complex(Checker *c, const Env *env, Expr *e, Type want);
/* Is `t` complex, or has it a component that is? */
bool check_complex_within(const Checker *c, Type t);
/* May `value`, the constant *k (NULL: it is no number), be what is beyond an edge of a field of type `t`, or what that
 * is odd about, each component taking it? Reports if not. */
bool check_complex_outside(Checker *c, Type t, const Expr *value, const Const *k);
/* The imaginary literal `e` where it meets no type: of type complex. Others stay. */
Expr *check_close_imaginary(Checker *c, Expr *e);
/* The value of complex type `t` with these parts; the parts of such a value. */
Expr *check_complex_of_parts(Checker *c, Loc loc, Type t, Expr *const *parts);
void check_complex_parts(Checker *c, Expr *e, Expr **parts);
/* Is `e` a call of a function of complex numbers, or of a complex type, that the program does not declare? Its value.
 */
bool check_is_complex_call(const Checker *c, const Expr *e);
Expr *check_complex_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

#endif
