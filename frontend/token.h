/* frontend/token.h: characters to tokens, and the words that programs may not declare (private to frontend/). */
#ifndef STC_TOKEN_H
#define STC_TOKEN_H

#include "frontend/frontend.h"

/* ---------------------------------------------------------------- tokens: lex.c */

typedef enum Tok {
  TOK_EOF,
  TOK_NAME,
  TOK_INT,
  TOK_FLOAT,
  TOK_IMAGINARY,
  TOK_LPAREN,
  TOK_RPAREN,
  TOK_LBRACKET,
  TOK_RBRACKET,
  TOK_LBRACE,
  TOK_RBRACE,
  TOK_COMMA,
  TOK_SEMI,
  TOK_COLON,
  TOK_ASSIGN,
  TOK_DOTS,
  TOK_DOT,
  TOK_AT,
  TOK_PLUS,
  TOK_MINUS,
  TOK_STAR,
  TOK_SLASH,
  TOK_PERCENT,
  TOK_NOT,
  TOK_AND,
  TOK_OR,
  TOK_EQ,
  TOK_NE,
  TOK_LT,
  TOK_LE,
  TOK_GT,
  TOK_GE,
  TOK_SHL,
  TOK_SHR,
  TOK_BIT_AND,
  TOK_BIT_OR,
  TOK_BIT_XOR,
  TOK_BIT_NOT,
  TOK_STRING
} Tok;

/* The byte with which marks of include.c begin; the greatest depth of includes; the most lines that marks may name. */
#define LEX_MARK '\x01'
enum { MAX_INCLUDES = 64, MAX_LINE = 1 << 30 };
/* A token: its text as written (in the arena), and whether it is the first of its line. */
typedef struct Token {
  Tok kind;
  Loc loc;
  const char *text;
  bool first;
} Token;

/* All tokens of `text`, source `file` of `d`; the last one is TOK_EOF. Characters that begin no token are reported and
 * skipped. */
Token *lex(Arena *a, Diags *d, int file, const char *text);

/* Is it a word that begins a declaration, a statement or an expression: param, let, if, ...? */
bool is_keyword(const char *s);
/* Is it a keyword, a type or a built-in function, so that no program may declare it? */
bool is_reserved(const char *s);
/* The op of the built-in function of that name; OP_COUNT if there is none. */
Opcode builtin_function(const char *s);
/* Number i of the keywords and built-ins; NULL if there are fewer. */
const char *reserved_word(int i);

#endif
