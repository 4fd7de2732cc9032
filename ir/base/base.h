/* ir/base/base.h: the basis of all other files, in this order:
 *
 *   arena.c               memory
 *   diag.c                messages
 *   near.c  clock.c       similar names; the time, and requests to stop
 *   hold.c                sections in which the process must not end
 *   type.c  decimal.c     scalar types and constants; decimal text to floats
 *   affine.c              bounds that are affine in params */
#ifndef STC_IR_BASE_H
#define STC_IR_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* GRID_RANK: the highest rank of a grid in a program's text, and the most dimensions of a tile. MAX_RANK: the highest
 * rank of a module's grid and of fields, which may have the dimension of members in front. */
enum { GRID_RANK = 3, MAX_RANK };

/* The larger of x and y; `n` rounded up to a multiple of `of`. */
static inline int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int64_t round_up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/* ---------------------------------------------------------------- memory: arena.c */

/* A heap that grows and is freed as a whole; one for each compilation. */
typedef struct Arena Arena;
/* Reallocates `p` (NULL = new) to `size` bytes (0 = free, returns NULL); returns NULL when out of memory. */
typedef void *(*ReallocFn)(void *user, void *p, size_t size);
/* A ReallocFn that uses the C heap; `user` is unused. */
void *heap_realloc(void *user, void *p, size_t size);

/* Makes an empty arena that takes its memory from `fn` (NULL: the C heap). NULL when out of memory. Free with
 * arena_free. */
Arena *arena_new(ReallocFn fn, void *user);
void arena_free(Arena *a);
/* Sets the handler to which arena_alloc longjmps (value 1) when memory runs out; NULL: abort(). The caller keeps the
 * jmp_buf. */
void arena_on_oom(Arena *a, jmp_buf *handler);
/* From now on arena_alloc longjmps to the handler with the value ARENA_STOPPED once `stop` (ir/run/run.h) is requested;
 * NULL: it never does. Compiling allocates all the time, so it can be stopped wherever memory may run out. */
enum { ARENA_STOPPED = 3 };
struct Stop;
void arena_obey(Arena *a, const struct Stop *stop);
/* `size` zeroed bytes, aligned to 16; never NULL. They live as long as the arena. */
void *arena_alloc(Arena *a, size_t size);
/* A copy of the string `s` / of its first `n` bytes / printf into the arena. */
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `name` with an underscore in place of each character that an identifier of C and PTX must not have, and an underscore
 * in front if it begins with a digit. */
char *arena_identifier(Arena *a, const char *name);
/* Copies the `old_n` elements of `size` bytes at `p` to a new array of `new_n` elements; the further ones are zero. */
void *arena_grow(Arena *a, void *p, size_t old_n, size_t new_n, size_t size);
/* The number of bytes that are allocated and not released (for -stats). */
size_t arena_used(const Arena *a);
/* The state of an arena. arena_release frees everything that was allocated since arena_mark; nobody may use it any
 * more. It serves trials, such as one of many estimates. Marks are released in reverse order. */
typedef struct ArenaMark {
  void *chunk;
  size_t chunk_used, used;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);
/* The same, but copies the string `text` (NULL: none) first, and returns the copy, which stays allocated. */
char *arena_release_text(Arena *a, ArenaMark mark, const char *text);
/* A second arena for temporary memory, made at the first call and freed with `a`; it uses `a`'s handler when memory
 * runs out. A function that takes memory from it calls arena_mark first and arena_release at the end, before any other
 * function uses it. So all of them share one piece of memory. */
Arena *arena_scratch(Arena *a);

#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))
/* Appends `x` to the arena array `v` of `n` elements, whose capacity is the next power of two. */
#define ARENA_PUSH(arena, v, n, x) \
  (((n) & ((n) - 1)) == 0 \
       ? (void)((v) = arena_grow((arena), (v), (size_t)(n), (n) ? (size_t)(n) * 2 : 1, sizeof *(v))) \
       : (void)0, \
   (v)[(n)++] = (x))

/* A string that grows in an arena. Initialize with {arena}; `s` is a C string as soon as something has been added. */
typedef struct Str {
  Arena *arena;
  char *s;
  size_t n, cap;
} Str;
void str_add(Str *b, const char *s);
void str_addn(Str *b, const char *s, size_t n); /* the first `n` characters of `s` */
void str_addi(Str *b, int64_t x);               /* in decimal */
void str_addf(Str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_addv(Str *b, const char *fmt, va_list ap);

/* ---------------------------------------------------------------- errors: diag.c */

/* A place in a source text: `file` indexes the Diags' sources, line and col count from 1; line 0 means no place. */
typedef struct Loc {
  int32_t file, line, col;
} Loc;

typedef enum DiagKind { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK, DIAG_NOTE } DiagKind;

/* One message, as a sink receives it. All pointers are valid until the sink returns. */
typedef struct Diag {
  DiagKind kind;
  const char *file;    /* file name, NULL if the message has no place */
  int line, col;       /* from 1, 0 if the message has no place */
  const char *source;  /* the text of that line without its newline, NULL if there is none */
  const char *message; /* one line: what is wrong, what was expected, and the fix where there is one */
} Diag;
typedef void (*DiagFn)(void *user, const Diag *d);

/* Collects the messages of one compilation. */
typedef struct Diags Diags;
/* Further errors are counted but not shown, and the parser stops (LANGUAGE rule 9). */
enum { MAX_ERRORS = 20 };

/* Makes a collection in `a` that calls `fn` for each message at once (NULL: diag_print to stderr). */
Diags *diags_new(Arena *a, DiagFn fn, void *user);
/* The same for trial compilations: nobody receives the messages. */
Diags *diags_quiet(Arena *a);
/* Registers the source `text` (not copied) under `name` and returns its file index. */
int diags_add_source(Diags *d, const char *name, const char *text);
/* From line `line` on, the text of source `file` is at `text` (not copied). */
void diags_add_part(Diags *d, int file, int line, const char *text);
/* Reports a message; a note belongs to the message before it. */
void diag_error(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_remark(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The number of errors so far, shown or not. */
int diags_errors(const Diags *d);
/* Begins another call of the library's caller: again up to MAX_ERRORS errors are shown, regardless of earlier calls. */
void diags_begin_call(Diags *d);
/* Are remarks passed on? Initially not (`-Rpass` turns them on). */
void diags_enable_remarks(Diags *d, bool on);
bool diags_remarks_enabled(const Diags *d);
/* Writes "FILE:LINE:COL: error: MESSAGE", the source line and a caret below the column; in colours if `color`. */
void diag_print(FILE *to, const Diag *d, bool color);

/* Rewrites a message that names the command's options for callers of libstc, in memory of `a`: "-DN=4" becomes "N=4".
 */
typedef const char *(*DiagWords)(Arena *a, const char *text);
/* Applies `words` to all further messages; NULL (the initial state): messages name options. diags_speaks_of_options: do
 * they name options? */
void diags_speak_by(Diags *d, DiagWords words);
bool diags_speaks_of_options(const Diags *d);

static inline Loc no_loc(void) { return (Loc){0, 0, 0}; }

/* ---------------------------------------------------------------- names, time, requests to stop: near.c clock.c hold.c
 */

/* The least number of letters to insert, remove, change or exchange with a neighbour that turns `a` into `b` (optimal
 * string alignment distance). A large number for long names, 0 if the names differ only in case. */
int name_distance(const char *a, const char *b);
/* The largest distance at which another name counts as a misspelling of `name`: 2, less for short names, 0 for letters.
 */
int name_reach(const char *name);
/* The name among `names` (NULL-terminated) that has the least distance within reach; else the only one of which `name`
 * is a prefix, or that is a prefix of `name`. NULL if there is none. */
const char *near_match(const char *name, const char *const *names);
/* Seconds of a monotonic clock. */
double clock_seconds(void);

/* A request to end the current work; it may come from another thread or a signal handler. since: the time of the
 * request in nanoseconds of the monotonic clock; 0: there is none. A run ends between two steps, or within a step if
 * that takes more than another `grace` nanoseconds. also: a second request that applies as well, with a grace of its
 * own; NULL: none. */
typedef struct Stop Stop;
struct Stop {
  atomic_llong since;
  long long grace;
  const Stop *also;
};
/* STOP_GRACE: a tenth of a second. STOP_WHOLE_STEPS: no limit; a step that has begun is always completed. */
#define STOP_GRACE 100000000LL
#define STOP_WHOLE_STEPS INT64_MAX
/* Makes the request (on) or withdraws it. */
void stop_ask(Stop *s, bool on);
/* stop_asked: is there a request (`s` may be NULL)? stop_at_once: is the grace of the request, or of the `also` one,
 * over, so that a step must be given up? */
bool stop_asked(const Stop *s);
bool stop_at_once(const Stop *s);
/* Between hold_begin and hold_end nobody ends the process at once, as Ctrl-C does while a compiler runs: a file has a
 * temporary name, or a child process must be waited for. Any thread may call them, also nested; the time between must
 * be short. A thread that is about to end the process calls hold_close(true). Unless a hold exists, this returns true,
 * and further calls of hold_begin wait until hold_close(false). Else it returns false. (hold.c) */
void hold_begin(void);
void hold_end(void);
bool hold_close(bool on);

/* ---------------------------------------------------------------- types: type.c decimal.c */

/* The number of a type: one of the scalars below, or, from TY_COMPOSITE on, a vector or struct of the module, see
 * composite.c. */
typedef uint16_t Type;
enum {
  TY_NONE,
  TY_BOOL,
  TY_I8,
  TY_I16,
  TY_I32,
  TY_I64,
  TY_F16,
  TY_BF16,
  TY_F32,
  TY_F64,
  TY_U8,
  TY_U16,
  TY_U32,
  TY_COMPOSITE
};

const char *type_name(Type t); /* "f32"; "none" for TY_NONE, "composite" for all composites: type_print names those */
Type type_from_name(const char *s); /* TY_NONE if it names no type */
int type_size(Type t);              /* bytes in memory; bool is 1; 0 for composites, see type_bytes */
static inline bool type_is_scalar(Type t) { return t > TY_NONE && t < TY_COMPOSITE; }
static inline bool type_is_float(Type t) { return t >= TY_F16 && t <= TY_F64; }
static inline bool type_is_unsigned(Type t) { return t >= TY_U8 && t <= TY_U32; }
static inline bool type_is_int(Type t) { return (t >= TY_I8 && t <= TY_I64) || type_is_unsigned(t); }
/* The least and the greatest value of the integer type `t`. */
int64_t type_least(Type t);
int64_t type_most(Type t);

/* A constant: i for bool (0, 1) and integers (their value), f for floats (already rounded to the type). */
typedef union Const {
  int64_t i;
  double f;
} Const;
/* The constant `x` of type `from` as type `to`, by the rules of OP_CONVERT (see eval.c). */
Const const_convert(Const x, Type from, Type to);
/* const_load: the value of scalar type `t` in memory at `p`, which need not be aligned. const_store: writes it there.
 */
Const const_load(Type t, const void *p);
void const_store(Type t, void *p, Const x);
/* Parses all of `text`, a decimal number with an optional sign (independent of the locale), as a float of type `t`,
 * rounded once: decimal.c. Returns false if it is malformed, or too large; in the latter case *out is an infinity. */
bool const_parse_float(const char *text, Type t, Const *out);
/* Are they equal bit for bit (so NaN equals itself, and -0 differs from 0)? */
bool const_same(Const a, Const b, Type t);

/* ---------------------------------------------------------------- affine bounds: affine.c */

/* c + sum of coef * scalar: a grid bound. Terms are sorted by scalar, without zero coefficients. `scalar` indexes
 * Module.scalars and names an integer param or let. Values are immutable: the functions below build new ones in the
 * arena. */
typedef struct AffineTerm {
  int64_t coef;
  int32_t scalar;
} AffineTerm;
typedef struct Affine {
  int64_t c;
  int32_t n;
  const AffineTerm *t;
} Affine;

Affine affine_const(int64_t c);
Affine affine_scalar(Arena *a, int scalar);
Affine affine_add(Arena *a, Affine x, Affine y);
Affine affine_sub(Arena *a, Affine x, Affine y);
Affine affine_scale(Arena *a, Affine x, int64_t k);
Affine affine_add_const(Affine x, int64_t c);
bool affine_equal(Affine x, Affine y);
/* If x - y is the same constant for all params, sets *diff to it and returns true. */
bool affine_diff(Affine x, Affine y, int64_t *diff);
/* Is x a multiple of `of` (at least 1)? 1: for all params, -1: for none, 0: it depends on them. */
int affine_multiple(Affine x, int64_t of);
/* The value of `x` when scalar i has the value `scalars[i].i`. If 64 bits overflow, sets *overflow (if not NULL) and
 * returns INT64_MIN. */
int64_t affine_eval(Affine x, const Const *scalars, bool *overflow);

/* A box of grid points: lo[d] <= p[d] <= hi[d], both inclusive, for d < rank; empty if some hi < lo. */
typedef struct Box {
  int rank;
  Affine lo[MAX_RANK], hi[MAX_RANK];
} Box;
/* Evaluates the bounds of `b` to lo[d] and hi[d]. */
void box_eval(const Box *b, const Const *scalars, int64_t *lo, int64_t *hi);
bool box_equal(const Box *x, const Box *y);
/* hi - lo + 1 in dimension d; the value may be negative for an empty box. */
Affine box_extent(Arena *a, const Box *b, int d);
/* 1 if x lies inside y for all params, -1 if it does for none (a difference of bounds is a constant of the wrong sign),
 * 0 if this depends on the params or is not known. */
int box_inside(const Box *x, const Box *y);

/* Constant distances of a box from the tile it belongs to, in grid points: [tile.lo - lo[d], tile.hi + hi[d]]; all >= 0
 * for compute regions. */
typedef struct Extent {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Extent;
/* Widens `x`, in each of `rank` dimensions, to at least the distances of `other`. */
void extent_grow(Extent *x, const Extent *other, int rank);

#endif
