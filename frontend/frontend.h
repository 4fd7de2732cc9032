/* frontend/frontend.h: text -> AST -> checked AST -> stencil IR. Table of contents of this folder, of base/, the basis
 * of all checks, and of check/, the other files named check_ and those about layers and derivatives. checker.h shows
 * which of them calls which.
 *
 *   include.c       replaces include "FILE"; by the file
 *   lex.c           characters to tokens
 *   parse.c         tokens to declarations (ast.h), recovering from errors
 *   parse_tokens.c  the next token                                parse_parts.c  parts that several declarations have
 *   parse_expr.c    tokens to expressions
 *   parse_stmt.c    tokens to statements and functions
 *   parse_point.c   probes, injects, absorbing layers: tokens     check_point.c  the first two checked
 *   check_absorb.c  absorbing layers                              absorb.c       the stencils that they make of one
 *   parse_gradient.c   losses and gradients: the same             check_gradient.c  and these checked
 *   habits.c        notations of other languages, and what to write instead
 *   symbol.c        names and their meanings
 *   check.c         declarations: every name resolved, constants computed
 *   base/nodes.c    nodes, errors; base/names.c  the meaning of a name; base/scalars.c  scalars of the module
 *   check_expr.c    expressions: names resolved, op macros expanded
 *   check_move.c    macros at a neighbour
 *   check_diff.c    the grid's spacing, coordinates, derivatives    derivative.c    their weights
 *   check_type.c    expressions: types; literals adapted to the type they meet
 *   check_region.c  regions, launch checks                        check_access.c  accesses, contents of temp fields
 *   check_piece.c   pieces of stencils
 *   fold.c          constant expressions and affine bounds
 *   lower.c         checked program to a stencil IR module; the two functions below
 *   dump.c          the checked program as text (-emit=ast)
 *   format.c        the program's text in the standard style (stc fmt)
 *   outline.c       information for editors about its names (stc lsp)
 *
 * The language is described in docs/language.md. */
#ifndef STC_FRONTEND_H
#define STC_FRONTEND_H

#include "ir/ir.h"

/* The options of the command line that concern the language. */
typedef struct FrontendOptions {
  Type real;       /* the type `real`: TY_F32 (default, also for TY_NONE) or TY_F64 */
  bool contract;   /* Module.contract */
  bool fast_math;  /* Module.fast_math */
  int64_t members; /* N > 0: as if `members N;` stood after the grid */
} FrontendOptions;

/* Compiles the program `text`, named `file` in messages, into a verified stencil IR module in `a`. NULL after reporting
 * an error to `d`. */
Module *frontend_compile(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);
/* The checked AST of the program as an indented tree, one line for each node with its place and type. NULL after an
 * error. */
char *frontend_dump_ast(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);
/* The program `text` in the standard style: blanks, indentation, columns of comments. Line breaks, comments and tokens
 * do not change. Formatting the result again does not change it. NULL after a syntax error. */
char *frontend_format(Arena *a, Diags *d, const char *file, const char *text);

/* ---------------------------------------------------------------- other files: include.c */

/* Reads the files that a program includes. `read` returns the text of the file at `path`, or NULL and in *why the
 * reason; `identity` returns a text that is the same for all names of a file. Both results must live as long as the
 * arena. */
typedef struct FileReader {
  void *user;
  char *(*read)(void *user, const char *path, const char **why);
  const char *(*identity)(void *user, const char *path);
} FileReader;
/* The program `text`, named `file`, with its includes replaced, each file once: a text for the functions above, whose
 * messages name the files. File names are relative to the folder of the including file. Returns `text` itself if it
 * includes nothing; NULL after an error. */
char *frontend_include(Arena *a, Diags *d, const char *file, char *text, const FileReader *reader);
/* The name of included file number `i` of such a text, in order; NULL if there are fewer. */
const char *frontend_included(Arena *a, const char *text, int i);

/* ---------------------------------------------------------------- for editors: outline.c */

typedef enum OutlineKind {
  OUTLINE_PARAM, /* params, lets, arrays, reductions, probes */
  OUTLINE_CONSTANT,
  OUTLINE_FIELD,
  OUTLINE_REGION,   /* and the grid */
  OUTLINE_FUNCTION, /* and macros */
  OUTLINE_STENCIL,  /* and inits */
  OUTLINE_STRUCT,
  OUTLINE_MEMBER, /* of a struct; after a dot */
  OUTLINE_LOCAL   /* of a block, a function, a macro */
} OutlineKind;
/* A name: a short description ("a field"), a full one as Markdown (its declaration, type and region; the stencils that
 * read it, and how far around), the place of its declaration, and the range in which it is visible (from_line 0:
 * everywhere), its end exclusive. Lines and columns count from 1, in bytes. */
typedef struct OutlineName {
  OutlineKind kind;
  const char *name, *words, *text;
  int line, col, from_line, from_col, to_line, to_col;
} OutlineName;
/* A place in the text with a name or a keyword. */
typedef struct OutlineWord {
  const char *name;
  int line, col;
  bool behind_dot;
} OutlineWord;
typedef struct Outline {
  int n, nwords;
  OutlineName *names;
  OutlineWord *words;
} Outline;

/* The outline of the program, even if it has errors, which are reported to `d`. `reader` reads its includes; NULL: it
 * may include nothing. */
Outline *frontend_outline(Arena *a, Diags *d, const char *file, const char *text, const FileReader *reader,
                          const FrontendOptions *o);
/* The word at, or ending at, the place; NULL if there is none. */
const OutlineWord *outline_word(const Outline *o, int line, int col);
/* The name that the word denotes; NULL if it is no name of the program. */
const OutlineName *outline_name(const Outline *o, const OutlineWord *w);
/* Is the name visible at the place? */
bool outline_sees(const OutlineName *n, int line, int col);
/* Reserved word number i of the language; NULL if there are fewer. */
const char *outline_reserved(int i);

#endif
