/* frontend/frontend.h: text -> AST -> checked AST -> stencil IR. Table of contents of this folder, of base/,
 * what each check stands on, and of check/, the other files named check_ and those about layers and derivatives. Which
 * of them calls which: checker.h.
 *
 *   include.c       include "FILE"; put in place
 *   lex.c           characters to tokens
 *   parse.c         tokens to declarations (ast.h), recovering from errors
 *   parse_tokens.c  the next token                                parse_parts.c  parts that several declarations have
 *   parse_expr.c    tokens to expressions
 *   parse_stmt.c    tokens to statements and functions
 *   parse_point.c   probes, injects, absorbing layers: tokens     check_point.c  the first two checked
 *   check_absorb.c  absorbing layers                              absorb.c       the stencils that they make of one
 *   parse_gradient.c   losses and gradients: the same             check_gradient.c  and these checked
 *   habits.c        what is written elsewhere, and what to write instead
 *   symbol.c        names and what they stand for
 *   check.c         declarations: every name resolved, constants computed
 *   base/nodes.c    nodes, errors; base/names.c  what a name means; base/scalars.c  scalars of the module
 *   check_expr.c    expressions: names resolved, op macros expanded
 *   check_move.c    macros at a neighbour
 *   check_diff.c    the grid's spacing, coordinates, derivatives    derivative.c    their weights
 *   check_type.c    expressions: types; literals adapted to the type they meet
 *   check_region.c  regions, launch checks                        check_access.c  accesses, what temp fields hold
 *   check_piece.c   pieces of stencils
 *   fold.c          constant expressions and affine bounds
 *   lower.c         checked program to a stencil IR module; the two functions below
 *   dump.c          the checked program as text (-emit=ast)
 *   format.c        the program's text in the one style (stc fmt)
 *   outline.c       what editors want to know of its names (stc lsp)
 *
 * The language is described in docs/language.md.
 */
#ifndef STC_FRONTEND_H
#define STC_FRONTEND_H

#include "ir/ir.h"

/* What the command line says about the language. */
typedef struct FrontendOptions {
  Type real;       /* what `real` means: TY_F32 (default, also for TY_NONE) or TY_F64 */
  bool contract;   /* Module.contract */
  bool fast_math;  /* Module.fast_math */
  int64_t members; /* N > 0: as if `members N;` stood behind the grid */
} FrontendOptions;

/* Compiles the program `text`, called `file` in messages, into a verified stencil IR module in `a`. NULL after an error
 * reported to `d`. */
Module *frontend_compile(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);
/* The checked AST of the program as an indented tree, one node a line with its place and type. NULL after an error. */
char *frontend_dump_ast(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o);
/* The program `text` in the one style: blanks, indentation, columns of comments; lines break where they did, comments
 * stay, and the tokens are the same. What comes out comes out of itself. NULL after an error of syntax. */
char *frontend_format(Arena *a, Diags *d, const char *file, const char *text);

/* ---------------------------------------------------------------- other files: include.c */

/* How files that a program includes are read: `read` gives the text of the file at `path`, or NULL and in *why what is
 * wrong; `identity` a text that is the same for all names of a file. What both give lives as long as the arena. */
typedef struct FileReader {
  void *user;
  char *(*read)(void *user, const char *path, const char **why);
  const char *(*identity)(void *user, const char *path);
} FileReader;
/* The program `text`, called `file`, with all that it includes put in place, each file once: a text that the functions
 * above take, and whose messages name the files. Names of files are relative to the folder of the one that includes
 * them. `text` itself if it includes nothing; NULL after an error. */
char *frontend_include(Arena *a, Diags *d, const char *file, char *text, const FileReader *reader);
/* The name of included file number `i` of such a text, in order; NULL beyond the last. */
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
  OUTLINE_MEMBER, /* of a struct; stands behind a dot */
  OUTLINE_LOCAL   /* of a block, a function, a macro */
} OutlineKind;
/* A name: what it is in few words ("a field"), all that there is to say of it as Markdown (its declaration, type and
 * region; which stencils read it, and how far around), where it is declared, and from where to before where it is seen
 * (from_line 0: everywhere). Lines and columns are from 1, in bytes. */
typedef struct OutlineName {
  OutlineKind kind;
  const char *name, *words, *text;
  int line, col, from_line, from_col, to_line, to_col;
} OutlineName;
/* A place in the text where a name stands, or a keyword. */
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

/* The outline of the program, also of one with errors, all of which are reported to `d`. What it includes is read by
 * `reader`, NULL: it may include nothing. */
Outline *frontend_outline(Arena *a, Diags *d, const char *file, const char *text, const FileReader *reader,
                          const FrontendOptions *o);
/* The word at, or ending at, the place; NULL if there is none. */
const OutlineWord *outline_word(const Outline *o, int line, int col);
/* The name that the word stands for; NULL if it is none of the program's. */
const OutlineName *outline_name(const Outline *o, const OutlineWord *w);
/* Is the name seen at the place? */
bool outline_sees(const OutlineName *n, int line, int col);
/* Of the language's own words number i, NULL beyond the last. */
const char *outline_reserved(int i);

#endif
