/* declare.h: declarations, among the files that check them. */
#ifndef STC_FRONTEND_CHECK_DECLARE_H
#define STC_FRONTEND_CHECK_DECLARE_H

#include "frontend/checker.h"

/* A symbol of the program's for the name that `d` declares; NULL after reporting that the name is taken. */
Symbol *check_declare(Checker *c, SymbolKind kind, const Decl *d);
/* `e`, widened, if it is a single number or was reported; else EXPR_BAD after reporting that `what` must be one. */
Expr *check_single(Checker *c, Expr *e, const char *what);
/* const NAME = VALUE, and const NAME[n] = {VALUES}. */
void check_constant(Checker *c, const Decl *d);
void check_table(Checker *c, const Decl *d);
/* What is beyond the edges of field `d`, into `f`. False after reporting. */
bool check_outside(Checker *c, const Decl *d, Field *f);

#endif
