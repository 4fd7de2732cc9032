/* ir/text/text.h: declarations that the files about the text form share (print.c, print-code.c, read.c, parse-code.c,
 * host-text.c, parse.c, parse-kernel.c, loss.c). */
#ifndef STC_IR_TEXT_H
#define STC_IR_TEXT_H

#include "ir/schedule.h"

/* The bits of the NaN that is printed by name, without its sign. */
#define NAN_BITS UINT64_C(0x7ff8000000000000)

/* Is `s` a word that needs no quotes: of letters, digits and underscores, with dots only between them, and no digit
 * first? */
bool name_is_plain(const char *s);

/* ---------------------------------------------------------------- printing: print.c */

/* The name of scalar, field, buffer, launch-time array or kernel number `i` of the module, or of array number `i` of
 * the kernel (NULL outside of one). NULL if there is none. */
#define NAME_OF(WHAT) \
  static inline const char *WHAT##_name(const Module *m, int i) { \
    return i >= 0 && i < m->n##WHAT##s ? m->WHAT##s[i].name : NULL; \
  }
NAME_OF(scalar)
NAME_OF(field)
NAME_OF(buffer)
NAME_OF(param_array)
NAME_OF(kernel)
static inline const char *array_name(const Kernel *k, int i) {
  return k && i >= 0 && i < k->narrays ? k->arrays[i].name : NULL;
}

/* Appends a symbol: @name, or @"name" if it is not a plain word; "@?" if there is no name. */
void symbol_print(Str *b, const char *name);
/* Appends `fmt`, in which these are replaced by the arguments, in order: %@ by a symbol, %a by an Affine, %b by a Box
 * *, %t by a type, %s by a string, %d by an int, %l by a long long. */
void text_put(Str *s, const Module *m, const char *fmt, ...);
/* Appends the `n` offsets: "[-1, 0]". */
void offsets_print(Str *b, int n, const int64_t *off);
/* Appends the beginning of a line that is nested `indent` deep. */
void indent_print(Str *s, int indent);

/* ---------------------------------------------------------------- tokens: read.c */

typedef enum TokenKind { TOK_END, TOK_WORD, TOK_VALUE, TOK_SYMBOL, TOK_STRING, TOK_NUMBER, TOK_PUNCT } TokenKind;

/* A token. `text` is the word, the name after % or @, the value of a string, the digits of a number, or the punctuation
 * (".." and ">=" are one token). */
typedef struct TextToken {
  TokenKind kind;
  const char *text;
  Loc loc;
} TextToken;

/* A text that is being read, one token ahead. After the first error, which is the only one reported, all tokens are
 * TOK_END. */
typedef struct Reader {
  Arena *arena;
  Diags *diags;
  const char *at;
  Loc loc;
  TextToken tok;
  bool failed;
} Reader;

/* Starts to read `text`, which is file number `file` of `diags`. */
Reader reader_start(Arena *a, Diags *d, int file, const char *text);
/* Advances to the next token, and returns the one before it. */
TextToken reader_next(Reader *r);
/* Reports the error and ends the text; does nothing after an earlier error. */
void reader_error(Reader *r, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* reader_at_ functions: is the present token the word or punctuation `s`? The accept functions also skip it if so; the
 * expect functions skip it or report an error. */
bool reader_at_word(const Reader *r, const char *s);
bool reader_at(const Reader *r, const char *s);
bool reader_accept_word(Reader *r, const char *s);
bool reader_accept(Reader *r, const char *s);
void reader_expect_word(Reader *r, const char *s);
void reader_expect(Reader *r, const char *s);
/* Skips a token of this kind and returns its text; if the token is of another kind, reports "expected WHAT" and returns
 * "". */
const char *reader_expect_kind(Reader *r, TokenKind kind, const char *what);
/* Parses an integer with an optional minus in [min, max]; returns min after an error. */
int64_t reader_int(Reader *r, int64_t min, int64_t max);
/* Parses a constant of type `t`, as const_print writes it. */
Const reader_const(Reader *r, Type t);
/* Parses the name of a type. */
Type reader_type(Reader *r);

/* ---------------------------------------------------------------- plans: ir/schedule.c */

/* Parses a plan, after its word. */
void plan_read(Reader *r, Schedule *p);

/* ---------------------------------------------------------------- code: parse-code.c */

enum { NAME_BUCKETS = 1024, MAX_SIZE = INT32_MAX, MAX_LEAD = 4096 };

/* A name in scope. */
typedef struct NamedValue {
  const char *name;
  Value *value;
  struct NamedValue *shadow, *before;
} NamedValue;

/* The parser: its tokens; the module and the kernel (NULL outside) that it builds; for each kernel, the name after
 * `instead` (TOK_END: none); and the values in scope, hashed by name and chained in order. */
typedef struct Parser {
  Reader r;
  Arena *arena;
  Module *m;
  Kernel *k;
  TextToken *instead;
  int depth;
  bool has_grid, has_time_tile, has_host;
  NamedValue *bucket[NAME_BUCKETS], *newest;
} Parser;

/* Parses a symbol that `find` must find, in messages called a `what`; -1 after an error. */
int text_ref(Parser *p, int (*find)(const Module *, const char *), const char *what);
/* Parses a symbol that is being declared and that `find` must not find yet, in messages called a `what`. */
const char *text_new_symbol(Parser *p, int (*find)(const Module *, const char *), const char *what);
/* The index of the array of that name in the kernel that is parsed; -1 if there is none. */
int text_find_array(const Parser *p, const char *name);
/* Reads an affine bound, "2 * N - M + 1". */
Affine text_affine(Parser *p);
/* Parses "[1 .. N - 2, 0 .. 7]"; a single bound means one point. */
Box text_box(Parser *p);
/* Reads a box of the grid's rank. */
Box text_grid_box(Parser *p);
/* The same for a field. If `lacks` is not NULL, a star may stand for a dimension d; lacks[d] is then set. */
Box text_field_box(Parser *p, bool lacks[MAX_RANK]);
/* Parses a bracketed list of at most MAX_RANK integers in [min, max]; returns their number. */
int text_ints(Parser *p, int64_t min, int64_t max, int64_t out[MAX_RANK]);
/* Reads a list of exactly `rank` sizes of at least 1. */
void text_sizes(Parser *p, int rank, int32_t out[MAX_RANK]);
void text_counts(Parser *p, int rank, int32_t out[MAX_RANK]);
/* Reads "[-1 .. 1, 0 .. 2]". */
void text_extent(Parser *p, Extent *x);
/* Parses a type of the module: the name of a scalar type or struct, followed by [n] for each enclosing vector. */
Type text_type(Parser *p);
/* Reads ops up to the end of the block or of the text. */
void text_ops(Parser *p, Block *b);
/* Reads ops in braces. */
void text_block(Parser *p, Block *b);

/* ---------------------------------------------------------------- kernels: parse-kernel.c */

/* Parse a buffer, and a kernel whose word stood at `at`. */
void text_buffer(Parser *p);
void text_kernel(Parser *p, Loc at);
/* Resolves the names after `instead`, when all kernels are known. */
void text_find_instead(Parser *p);

/* ---------------------------------------------------------------- the host part: host-text.c */

/* sequence_print: appends the sequence in braces, nested `indent` deep. host_print: appends the host part. */
void sequence_print(Str *s, const Module *m, const HostSeq *q, int indent);
void host_print(Str *s, const Module *m);
/* Print and parse " reduce @left", for each reduction of loop, or repeat, number `i`. */
void loop_reductions_print(Str *s, const Module *m, int i);
void text_loop_reductions(Parser *p, int i);
/* text_sequence: parses a sequence in braces. text_host: parses the host part, whose word stood at `at`. */
void text_sequence(Parser *p, HostSeq *q);
void text_host(Parser *p, Loc at);

/* ---------------------------------------------------------------- losses: loss.c */

/* loss_print: "  loss @misfit factor 1 over [0 .. N - 1] every 2 {...}". by_print: a line for each input of the
 * gradient, "  gradient field @v", with " if used" after one that may be idle. */
void loss_print(Str *s, const Module *m, const Loss *l);
void by_print(Str *s, const Module *m);
/* Parse one of these, after its word. */
void loss_parse(Parser *p, Loc at);
void by_parse(Parser *p, Loc at);

#endif
