/* ir/base/base.h: what all else stands on, in this order:
 *
 *   arena.c               memory
 *   diag.c                messages
 *   near.c  clock.c       names that look alike; the time
 *   hold.c                what must not be left half done
 *   type.c  decimal.c     scalar types and constants; numbers from text
 *   affine.c              bounds that are affine in params
 */
#ifndef STC_IR_BASE_H
#define STC_IR_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The highest rank of a grid as programs write it, and of what tiles cover; that of a module's grid and of fields,
 * which may have a dimension of members in front. */
enum { GRID_RANK = 3, MAX_RANK };

/* The larger of two; `n` rounded up to a multiple of `of`. */
static inline int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int64_t round_up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/* ---------------------------------------------------------------- memory: arena.c */

/* A growing heap that is freed as a whole; one for each compilation. */
typedef struct Arena Arena;
/* Reallocates `p` (NULL = new) to `size` bytes (0 = free, returns NULL); returns NULL when out of memory. */
typedef void *(*ReallocFn)(void *user, void *p, size_t size);
/* The C heap as one. */
void *heap_realloc(void *user, void *p, size_t size);

/* Makes an empty arena that takes its memory from `fn` (NULL: the C heap). NULL when out of memory. Free with
 * arena_free. */
Arena *arena_new(ReallocFn fn, void *user);
void arena_free(Arena *a);
/* Where arena_alloc longjmps (value 1) when memory runs out; NULL: abort(). The jmp_buf stays the caller's. */
void arena_on_oom(Arena *a, jmp_buf *handler);
/* From now on arena_alloc longjmps there with the value ARENA_STOPPED once `stop` asks for it (ir/run/run.h); NULL: it
 * does not. Compiling allocates all the time, and may be given up wherever memory may run out. */
enum { ARENA_STOPPED = 3 };
struct Stop;
void arena_obey(Arena *a, const struct Stop *stop);
/* `size` zeroed bytes, aligned to 16; never NULL. They live as long as the arena. */
void *arena_alloc(Arena *a, size_t size);
/* A copy of the string `s` / of its first `n` bytes / printf into the arena. */
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `name` with an underscore for each character that an identifier of C and PTX must not have, and in front of a digit.
 */
char *arena_identifier(Arena *a, const char *name);
/* Moves the `old_n` elements of `size` bytes at `p` to a place for `new_n`, the new ones zeroed. */
void *arena_grow(Arena *a, void *p, size_t old_n, size_t new_n, size_t size);
/* Bytes handed out so far, and not released (for -stats). */
size_t arena_used(const Arena *a);
/* What the arena holds now. arena_release gives back all that was handed out since, which nobody may use any more: for
 * trials that leave nothing behind, such as one of many estimates. Marks are released in the reverse of their order. */
typedef struct ArenaMark {
  void *chunk;
  size_t chunk_used, used;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);
/* The same, but for the string `text` (NULL: none), of which a copy stays, and is returned. */
char *arena_release_text(Arena *a, ArenaMark mark, const char *text);
/* An arena beside this one, for what is done with before anything else needs it: whoever takes from it marks and
 * releases it, so that the same memory serves one after the other. Made when it is first asked for, freed with `a`; it
 * runs out of memory where `a` does. */
Arena *arena_scratch(Arena *a);

#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))
/* Appends `x` to the arena array `v` of `n` elements, whose capacity is the next power of two. */
#define ARENA_PUSH(arena, v, n, x) \
  (((n) & ((n) - 1)) == 0 \
       ? (void)((v) = arena_grow((arena), (v), (size_t)(n), (n) ? (size_t)(n) * 2 : 1, sizeof *(v))) \
       : (void)0, \
   (v)[(n)++] = (x))

/* A string that grows in an arena. Start with {arena}; `s` is always a C string once something was added. */
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

/* One message as it is handed to a sink. All pointers live until the sink returns. */
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
/* Errors after this many are counted but not shown, and the parser gives up (LANGUAGE rule 9). */
enum { MAX_ERRORS = 20 };

/* `fn` is called for each message as it comes (NULL: diag_print to stderr). Lives in `a`. */
Diags *diags_new(Arena *a, DiagFn fn, void *user);
/* The same for what is only tried: nobody gets its messages. */
Diags *diags_quiet(Arena *a);
/* Registers the source `text` (not copied) under `name` and returns its file index. */
int diags_add_source(Diags *d, const char *name, const char *text);
/* From line `line` on, the text of source `file` is at `text` (not copied). */
void diags_add_part(Diags *d, int file, int line, const char *text);
/* Reports; a note belongs to the message before it. */
void diag_error(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_remark(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Number of errors so far, shown or not. */
int diags_errors(const Diags *d);
/* A caller of the library's makes another call: up to MAX_ERRORS are shown of it, whatever there was before. */
void diags_begin_call(Diags *d);
/* Are remarks passed on? Off at first (`-Rpass` turns it on). */
void diags_enable_remarks(Diags *d, bool on);
bool diags_remarks_enabled(const Diags *d);
/* Writes "FILE:LINE:COL: error: MESSAGE", the source line and a caret under the column. Colours if `color`. */
void diag_print(FILE *to, const Diag *d, bool color);

/* Makes of messages that name the command's options others, in `a`: of "-DN=4" what a caller of libstc writes, "N=4".
 */
typedef const char *(*DiagWords)(Arena *a, const char *text);
/* Has it done with all messages; NULL: they name options, as at first. Do they? */
void diags_speak_by(Diags *d, DiagWords words);
bool diags_speaks_of_options(const Diags *d);

static inline Loc no_loc(void) { return (Loc){0, 0, 0}; }

/* ---------------------------------------------------------------- names and time: near.c clock.c hold.c */

/* Letters inserted, removed, changed or exchanged with their neighbour to make b of a (optimal string alignment); a
 * large number for long names, 0 if nothing differs but small letters and capitals. */
int name_distance(const char *a, const char *b);
/* The largest such distance at which a name may have been meant for `name`: 2, less for short names, 0 for letters. */
int name_reach(const char *name);
/* The name among `names` (NULL-terminated) that is nearest and within reach; or else the only one that begins with
 * `name`, or that it begins with. NULL if there is none. */
const char *near_match(const char *name, const char *const *names);
/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

/* A request to end what is under way, which may come from another thread or a signal handler. since: when it was made,
 * in nanoseconds of the monotonic clock; 0: go on. Runs end between two steps, and within one if that takes longer than
 * `grace` nanoseconds more. also: who obeys this request obeys that one, too, with the grace of that one; NULL: no
 * other. */
typedef struct Stop Stop;
struct Stop {
  atomic_llong since;
  long long grace;
  const Stop *also;
};
/* A tenth of a second; any time, so that steps are made whole. */
#define STOP_GRACE 100000000LL
#define STOP_WHOLE_STEPS INT64_MAX
/* Makes the request, or takes it back. */
void stop_ask(Stop *s, bool on);
/* Is there one (`s` may be NULL)? Has it, or one beside it, waited long enough for a step to be given up? */
bool stop_asked(const Stop *s);
bool stop_at_once(const Stop *s);
/* From hold_begin to hold_end the process is not ended at once, as Ctrl-C has it where compilers run: a file has a
 * temporary name, or a program that was started is to be waited for. Any thread, nested too; short. hold_close(true)
 * is for who is about to end the process: unless somebody holds, nobody else begins to, but waits, until
 * hold_close(false). Returns whether it is so. (hold.c) */
void hold_begin(void);
void hold_end(void);
bool hold_close(bool on);

/* ---------------------------------------------------------------- types: type.c decimal.c */

/* A type is a small number: the scalars below, and from TY_COMPOSITE on the vectors and structs of the module, see
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
/* The value of scalar type `t` in memory at `p`, which need not be aligned; and back. */
Const const_load(Type t, const void *p);
void const_store(Type t, void *p, Const x);
/* Reads the decimal number `text` (all of it, with an optional sign; no locale) as a float of type `t`, rounded once:
 * decimal.c. False if it is malformed, or too large: then *out is an infinity. */
bool const_parse_float(const char *text, Type t, Const *out);
/* Equal bit for bit (so NaN equals itself and -0 differs from 0). */
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
/* If x - y is a constant whatever the params are, sets *diff to it and returns true. */
bool affine_diff(Affine x, Affine y, int64_t *diff);
/* Is x a multiple of `of` (at least 1)? 1: for all params, -1: for none, 0: it depends on them. */
int affine_multiple(Affine x, int64_t of);
/* The value with `scalars[i].i` for scalar i. On overflow of 64 bits sets *overflow (if not NULL) and returns
 * INT64_MIN. */
int64_t affine_eval(Affine x, const Const *scalars, bool *overflow);

/* A box of grid points: lo[d] <= p[d] <= hi[d], both inclusive, for d < rank; empty if some hi < lo. */
typedef struct Box {
  int rank;
  Affine lo[MAX_RANK], hi[MAX_RANK];
} Box;
/* The bounds of `b` in numbers. */
void box_eval(const Box *b, const Const *scalars, int64_t *lo, int64_t *hi);
bool box_equal(const Box *x, const Box *y);
/* hi - lo + 1 of dimension d; may come out negative for an empty box. */
Affine box_extent(Arena *a, const Box *b, int d);
/* 1 if x lies inside y for all params, 0 if for none it can be told, -1 if it can never (a constant difference is
 * wrong). */
int box_inside(const Box *x, const Box *y);

/* Constant distances of a box from the tile it belongs to, in grid points: [tile.lo - lo[d], tile.hi + hi[d]]; all >= 0
 * for compute regions. */
typedef struct Extent {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Extent;
/* Makes `x` as far in `rank` dimensions as `other` at least. */
void extent_grow(Extent *x, const Extent *other, int rank);

#endif
