/* declare.h: functions on declarations that several files of the checker share. */
#ifndef STC_FRONTEND_CHECK_DECLARE_H
#define STC_FRONTEND_CHECK_DECLARE_H

#include "frontend/checker.h"

/* A new symbol of the program for the name that `d` declares; NULL after reporting that the name is in use. */
Symbol *check_declare(Checker *c, SymbolKind kind, const Decl *d);
/* Adds a scalar of type `t` with its checked value (NULL: none), and makes it that of `s`. */
void check_add_scalar(Checker *c, Symbol *s, Type t, Expr *value, bool is_param);
/* Records the default value of scalar `n`, if `value` follows from the defaults of earlier scalars. */
void check_add_default(Checker *c, int n, const Expr *value);
/* `e`, widened, if it is a single number or its error was reported; else EXPR_BAD after reporting that `what` must be
 * one. */
Expr *check_single(Checker *c, Expr *e, const char *what);
/* Checks const NAME = VALUE, and const NAME[n] = {VALUES}. */
void check_constant(Checker *c, const Decl *d);
void check_table(Checker *c, const Decl *d);
/* Computes the outside rules of field `d` into `f`. False after reporting. */
bool check_outside(Checker *c, const Decl *d, Field *f);

/* The field that the name of a target denotes; NULL after reporting. */
Symbol *check_target_field(Checker *c, Name name, bool is_init);
/* Checks one piece of c->stencil, and adds it to `s`. */
void check_piece(Checker *c, const PieceDecl *d, CheckedStencil *s);

#endif
