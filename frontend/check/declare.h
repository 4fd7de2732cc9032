/* declare.h: declarations, among the files that check them. */
#ifndef STC_FRONTEND_CHECK_DECLARE_H
#define STC_FRONTEND_CHECK_DECLARE_H

#include "frontend/checker.h"

/* A symbol of the program's for the name that `d` declares; NULL after reporting that the name is taken. */
Symbol *check_declare(Checker *c, SymbolKind kind, const Decl *d);
/* Adds a scalar of type `t` with its checked value (NULL: none) and makes `s` stand for it. */
void check_add_scalar(Checker *c, Symbol *s, Type t, Expr *value, bool is_param);
/* Notes what scalar `n` is unless overridden, if `value` follows from the defaults of those before. */
void check_add_default(Checker *c, int n, const Expr *value);
/* `e`, widened, if it is a single number or was reported; else EXPR_BAD after reporting that `what` must be one. */
Expr *check_single(Checker *c, Expr *e, const char *what);
/* const NAME = VALUE, and const NAME[n] = {VALUES}. */
void check_constant(Checker *c, const Decl *d);
void check_table(Checker *c, const Decl *d);
/* What is beyond the edges of field `d`, into `f`. False after reporting. */
bool check_outside(Checker *c, const Decl *d, Field *f);

/* The field that the name of a target stands for, NULL after reporting. */
Symbol *check_target_field(Checker *c, Name name, bool is_init);
/* One piece of c->stencil, added to `s`. */
void check_piece(Checker *c, const PieceDecl *d, CheckedStencil *s);

#endif
