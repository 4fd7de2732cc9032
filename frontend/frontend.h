/* frontend/frontend.h: text -> AST -> checked AST -> stencil IR. Table of contents of this folder:
 *
 *   lex.c     characters to tokens
 *   parse.c   tokens to the AST (ast.h), recovering from errors
 *   check.c   names, types, regions, offsets; op macros expanded; constants folded
 *   lower.c   checked AST to a stencil IR module
 *   dump.c    the AST as text (-emit=ast)
 *
 * The language is described in docs/language.md.
 */
#ifndef STC_FRONTEND_H
#define STC_FRONTEND_H

#include "ir/ir.h"

/* What the command line says about the language. */
typedef struct FrontendOptions {
  Type real;                     /* what `real` means: TY_F32 (default, also for TY_NONE) or TY_F64 */
  bool contract;                 /* Module.contract */
  bool fast_math;                /* Module.fast_math */
} FrontendOptions;

/* Compiles the program `text`, called `file` in messages, into a verified stencil IR module in `a`. NULL after an error reported to `d`. */
Module *frontend_compile(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);
/* The checked AST of the program as an indented tree, one node a line with its place and type. NULL after an error. */
char *frontend_dump_ast(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);

#endif
