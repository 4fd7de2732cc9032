/* ir/ir.h: the two intermediate representations of stc and what they stand on. Read from top to bottom it is the
 * table of contents of this folder:
 *
 *   memory and errors     arena.c  diag.c  near.c (names that look alike)  clock.c
 *   types, affine bounds  type.c   decimal.c (numbers from text)   composite.c (vectors and structs)   affine.c
 *   modules               module.c (construction, cloning, verified edits)   uniform.c (what is alike in a block)
 *   text                  print.c  parse.c        what is printed parses back to the same module
 *   verifier              verify.c   verify-code.c
 *   launching             bind.c (params, checks)   covered.c (one kind of check)
 *   execution             eval.c (one op on scalars)  interp.h (stencil IR, the definition of right)  reduce.c
 *                         sim/simulate.h (kernel IR)
 *   schedules             plan.h, families.def
 *   probes, lists of points   points.c
 *   targets               below: what passes may ask about a target
 *
 * ir/ includes nothing of the other folders. There is no global mutable state; two threads may work on two arenas at
 * once.
 */
#ifndef STC_IR_H
#define STC_IR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The highest rank of a grid. */
enum { MAX_RANK = 3 };

/* ---------------------------------------------------------------- memory: arena.c */

/* A growing heap that is freed as a whole; one for each compilation. */
typedef struct Arena Arena;
/* Reallocates `p` (NULL = new) to `size` bytes (0 = free, returns NULL); returns NULL when out of memory. */
typedef void *(*ReallocFn)(void *user, void *p, size_t size);

/* Makes an empty arena that takes its memory from `fn` (NULL: the C heap). NULL when out of memory. Free with
 * arena_free. */
Arena *arena_new(ReallocFn fn, void *user);
void arena_free(Arena *a);
/* Where arena_alloc longjmps (value 1) when memory runs out; NULL: abort(). The jmp_buf stays the caller's. */
void arena_on_oom(Arena *a, jmp_buf *handler);
/* `size` zeroed bytes, aligned to 16; never NULL. They live as long as the arena. */
void *arena_alloc(Arena *a, size_t size);
/* A copy of the string `s` / of its first `n` bytes / printf into the arena. */
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
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
/* Registers the source `text` (not copied) under `name` and returns its file index. */
int diags_add_source(Diags *d, const char *name, const char *text);
/* Reports; a note belongs to the message before it. */
void diag_error(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_remark(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diags *d, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Number of errors so far, shown or not. */
int diags_errors(const Diags *d);
/* Are remarks passed on? Off at first (`-Rpass` turns it on). */
void diags_enable_remarks(Diags *d, bool on);
bool diags_remarks_enabled(const Diags *d);
/* Writes "FILE:LINE:COL: error: MESSAGE", the source line and a caret under the column. Colours if `color`. */
void diag_print(FILE *to, const Diag *d, bool color);

/* Do messages name the command's options, as at first ("-DN=4"), or what a caller of libstc writes ("N=4")? */
void diags_speak_of_options(Diags *d, bool on);
bool diags_speaks_of_options(const Diags *d);

static inline Loc no_loc(void) { return (Loc){0, 0, 0}; }

/* ---------------------------------------------------------------- names and time: near.c clock.c */

/* Letters inserted, removed, changed or exchanged with their neighbour to make b of a (optimal string alignment); a
 * large number for long names. */
int name_distance(const char *a, const char *b);
/* The largest such distance at which a name may have been meant for `name`: 2, less for short names, 0 for letters. */
int name_reach(const char *name);
/* The name among `names` (NULL-terminated) that is nearest and within reach; or else the only one that begins with
 * `name`, or that it begins with. NULL if there is none. */
const char *near_match(const char *name, const char *const *names);
/* Seconds on a clock that only goes forward. */
double clock_seconds(void);

/* ---------------------------------------------------------------- types: type.c */

/* A type is a small number: the scalars below, and from TY_COMPOSITE on the vectors and structs of the module, see
 * composite.c. */
typedef uint16_t Type;
enum { TY_NONE, TY_BOOL, TY_I8, TY_I16, TY_I32, TY_I64, TY_F16, TY_BF16, TY_F32, TY_F64, TY_U8, TY_U16, TY_COMPOSITE };

const char *type_name(Type t); /* "f32"; "none" for TY_NONE, "composite" for all composites: type_print names those */
Type type_from_name(const char *s); /* TY_NONE if it names no type */
int type_size(Type t);              /* bytes in memory; bool is 1; 0 for composites, see type_bytes */
static inline bool type_is_scalar(Type t) { return t > TY_NONE && t < TY_COMPOSITE; }
static inline bool type_is_float(Type t) { return t >= TY_F16 && t <= TY_F64; }
static inline bool type_is_unsigned(Type t) { return t == TY_U8 || t == TY_U16; }
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
bool box_equal(const Box *x, const Box *y);
/* hi - lo + 1 of dimension d; may come out negative for an empty box. */
Affine box_extent(Arena *a, const Box *b, int d);
/* 1 if x lies inside y for all params, 0 if for none it can be told, -1 if it can never (a constant difference is
 * wrong). */
int box_inside(const Box *x, const Box *y);

/* ---------------------------------------------------------------- modules: module.c */

typedef struct Value Value;
typedef struct Op Op;
typedef struct Block Block;

typedef enum Opcode {
#define OP(ID, name, level, nops, operands, result, form, flags) OP_##ID,
#include "ops.def"
#undef OP
  OP_COUNT
} Opcode;

typedef enum OpLevel { LEVEL_SIR = 1, LEVEL_KIR = 2, LEVEL_BOTH = 3 } OpLevel;
/* What an op's operands may be, as ops.def says. */
typedef enum OpOperands {
  OPERANDS_NONE,
  OPERANDS_ANY,
  OPERANDS_ALIKE,
  OPERANDS_NUMBERS,
  OPERANDS_FLOATS,
  OPERANDS_WIDE,
  OPERANDS_BOOLS,
  OPERANDS_INDICES,
  OPERANDS_CHOICE,
  OPERANDS_FORM
} OpOperands;
typedef enum OpResult {
  RESULT_SAME,
  RESULT_OP1,
  RESULT_BOOL,
  RESULT_I32,
  RESULT_I64,
  RESULT_ANY,
  RESULT_NONE,
  RESULT_MULTI,
  RESULT_MANY
} OpResult;
typedef enum OpForm {
  FORM_PLAIN,
  FORM_CONST,
  FORM_SCALAR,
  FORM_ACCESS,
  FORM_MEMBER,
  FORM_ELEMENT,
  FORM_DIM,
  FORM_LANE,
  FORM_GLOBAL,
  FORM_ARRAY,
  FORM_COPY,
  FORM_COUNT,
  FORM_SIGNAL,
  FORM_BULK,
  FORM_BOX,
  FORM_MAP,
  FORM_FOR,
  FORM_IF
} OpForm;
enum { OPF_PURE = 1, OPF_TERM = 2, OPF_COMM = 4, OPF_READ = 8, OPF_WRITE = 16, OPF_FUNCTION = 32, OPF_INEXACT = 64 };

/* A row of the op table. */
typedef struct OpInfo {
  const char *name;
  OpLevel level;
  int noperands;
  OpOperands operands;
  OpResult result;
  OpForm form;
  int flags;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
Opcode opcode_from_name(const char *s); /* OP_COUNT if it names no op */
/* May an op whose table row asks for `class` have an operand of type `t`, the others having it too? Not for ANY, CHOICE
 * and FORM, whose operands differ. */
bool operands_allow(OpOperands class, Type t);

/* An SSA value: result `index` of op `def`, or argument `index` of block `block` (then def is NULL). `id` is the number
 * it prints as, unique in its apply or kernel after module_renumber. */
struct Value {
  Type type;
  int32_t id;
  int32_t index;
  Op *def;
  Block *block;
};

/* Op.flags. Of a for: replicate the body; iterations are independent; the rounds of a walk at edges, or those between
 * (pass split-walks). Of an if: its first block is for tiles that touch no edge, the second for the others (pass
 * specialize). */
enum { FOR_UNROLL = 1, FOR_PARALLEL = 2, FOR_EDGES = 4, FOR_MIDDLE = 8, IF_INTERIOR = 16 };

/* An async.wait may leave at most so many groups. One instruction moves at most so many bytes. */
enum { MAX_GROUPS = 64, VECTOR_BYTES = 16 };

/* An operation. Which of sym, off, ver, cval, box, flags mean something is said by its form (ops.def). Operands and
 * results live in the arena. */
struct Op {
  Opcode code;
  Loc loc; /* the source it came from */
  int32_t nresults, noperands, nblocks;
  Value **results, **operands;
  Block **blocks; /* nested code of for and if */
  int32_t sym;    /* scalar, field, member, launch-time array, buffer, array or dimension, by form */
  int32_t ver;    /* version, FORM_ARRAY, FORM_COPY and FORM_BULK */
  int32_t count;  /* elements that vload, vstore, avload, avstore and async.copy move; groups that async.wait leaves;
                     rounds of the walk that a for runs in parts, 0: it does not */
  int32_t from;   /* the buffer that async.copy and bulk.load read, and bulk.store writes */
  int32_t signal; /* the array with the signal of a bulk.load */
  int64_t off[MAX_RANK]; /* constant offsets, in grid points; in off[0] the stride of a for, the mask or distance of a
                            shuffle */
  int64_t from_off[MAX_RANK]; /* those of buffer `from` */
  int32_t flags;              /* of a for or if */
  Const cval;                 /* of a const, of results[0]->type */
  const Box *box;
  Op *prev, *next;
  Block *parent;
};

/* A straight line of ops, the last of them a yield (a kernel's body and a for or if without results may end without
 * one). */
struct Block {
  int32_t nargs;
  Value **args;
  Op *first, *last;
  Op *parent;
};

/* A scalar, in order of declaration: a param (its value may be overridden), a top-level let (computed from earlier
 * ones), or the value of the reduction of the same name, which changes while the program runs (only stencils,
 * reductions behind it and stop conditions use it; before the first evaluation it is 0). `expr` computes the value or
 * the param's default and yields it; NULL for a param without a default and for a reduction. Only const, scalar and
 * pure ops. */
typedef struct Scalar {
  const char *name;
  Type type;
  bool is_param, is_reduction;
  Block *expr;
  Loc loc;
} Scalar;

/* Where the elements of a launch-time array come from: from outside; from the launcher, which makes them of a list of
 * points (PointList.next); from kernels, as the values of a probe (Probe.result). */
typedef enum ArrayRole { ARRAY_GIVEN, ARRAY_NEXT, ARRAY_SERIES } ArrayRole;
/* A launch-time array of `extent` elements (0 if that is negative), given from outside like a param: read-only, the
 * same at all points. One of another role is hidden from users, and stands behind all that are given. */
typedef struct ParamArray {
  const char *name;
  Type type;
  Affine extent;
  ArrayRole role;
  Loc loc;
} ParamArray;

/* A member of a composite type; name NULL in a vector. */
typedef struct Member {
  const char *name;
  Type type;
} Member;
/* A composite type: a vector (name NULL; n members of one type) or a struct. The recursive ElemType of the paper
 * (section 3.1). */
typedef struct Composite {
  const char *name;
  int32_t n;
  const Member *members;
} Composite;
/* At most so many components has a type. */
enum { MAX_COMPONENTS = 256 };

/* Constant distances of a box from the tile it belongs to, in grid points: [tile.lo - lo[d], tile.hi + hi[d]]; all >= 0
 * for compute regions. */
typedef struct Extent {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Extent;

typedef enum OutsideRule { OUTSIDE_NONE, OUTSIDE_CLAMP, OUTSIDE_MIRROR, OUTSIDE_PERIODIC, OUTSIDE_CONST } OutsideRule;

/* When the ghost cells of a field of a part are brought up to date: never (temp), before the first step, or then and
 * after every so many steps. */
typedef enum Exchange { EXCHANGE_NONE, EXCHANGE_ONCE, EXCHANGE_STEPS } Exchange;

/* A field: a dense array over `box`, C order, last dimension contiguous.
 * outside: what an access beyond box gives, for each dimension by itself; with CONST, outside_value if any dimension is
 * beyond. A field with history K has K further fields of the same type, box and rule, its past 1 .. K: past k holds
 * what the field was at the start of the k-th step before the running one (between steps: k steps ago). They are called
 * "A@1" and so on. Only inits have them as targets: after each step the levels move on by themselves, until pass
 * history makes that explicit: then stencils have pasts as targets. A temp field may be past K + 1. */
typedef struct Field {
  const char *name;
  Type type; /* composite only before pass scalarize */
  Box box;
  OutsideRule outside;
  Const outside_value; /* of `type`; of a composite: an f64 that each component takes, converted to its type */
  bool input, temp;
  bool derived;          /* filled by the launcher from a list of points (PointList.field); hidden from users; input */
  int32_t series, level; /* series > 0: what probe number series - 1 sees after step `level` of a time tile; has no
                            memory: pass series takes it away */
  int32_t history;       /* older time levels kept, at most MAX_HISTORY */
  int32_t past, present; /* past k > 0: level k of field `present` */
  Exchange exchange;     /* in the program for a part of the grid (GridPart) */
  bool ring;             /* likewise: beyond the edges of `whole` its ghost cells go on with the other side's */
  const Box *whole;      /* likewise: the field's region in the whole grid; NULL elsewhere */
  Loc loc;
} Field;
enum { MAX_HISTORY = 16 };

/* The part of a grid that a module is for (pass distribute; Module.part). All its parts run one program, each with
 * other values of the hidden params. A part has fields on `own` and `reach` times as many cells about it as scalar
 * `steps` says, as far as there are points: ghost cells, of which other parts are the owners. After so many steps at
 * most all fields whose Field.exchange says so must be brought up to date: each cell of field f in f.box that is not in
 * `own` gets the value that the part has whose `own` it lies in; of a ring, once it is brought into f.whole, modulo. So
 * corners are parts of the boxes. */
typedef struct GridPart {
  Box own, whole; /* of the grid; they differ in the dimensions that are cut */
  Extent reach;   /* cells that steps need on each side, a step */
  int32_t steps;
} GridPart;

/* A declared field of composite type after pass scalarize: its components, in order, are the fields first .. first + n
 * - 1 (n = type_components), a structure of arrays. Files and the programs that use the artifact see one field `name`.
 */
typedef struct Record {
  const char *name;
  Type type;
  int32_t first;
} Record;

/* One region of a stencil with its own equations. targets[i] (a field index) gets operand i of the body's yield at
 * every point of box. */
typedef struct Piece {
  Box box;
  int32_t ntargets;
  int32_t *targets;
  Block *body;
  Loc loc;
} Piece;

/* A stencil: all pieces read the old values, pieces do not overlap, points in none keep theirs. */
typedef struct Stencil {
  const char *name;
  int32_t ntargets;
  int32_t *targets; /* the union of the pieces' targets, in order of declaration */
  int32_t npieces;
  Piece *pieces;
  int32_t level; /* time level inside the time tile, 0 .. Module.time_tile-1 (pass time-tile) */
  int32_t group; /* the launch of its step that it belongs to, from 0 without gaps, never falling (pass fuse); all 0:
                    one launch a step */
  bool has_extent;
  Extent extent; /* the region on which its targets must be computed, about the output tile (pass halo) */
  Loc loc;
} Stencil;

/* The points of the box `need`, brought into `within` by its outside rule (which leaves them out if it is a constant,
 * and does nothing if there is none), all lie in one or another of the `n` boxes at `by`. Text form: covered [1 .. N]
 * outside periodic in [0 .. N - 1] by [0 .. 3] [4 .. N - 1] */
enum { MAX_COVERED = 256 };
typedef struct Covered {
  Box need, within;
  OutsideRule rule;
  int32_t n;
  Box *by;
} Covered;

/* A condition on the params that launching must check: value >= 0, or, if `covered` is given, that; else `message` (a
 * format-free sentence). It concerns the points of the boxes in unless_empty (NULL: none): if one of them is empty
 * under the params the condition holds whatever `value` is. module_bind honours this. Text form: check N - 2 >= 0
 * unless empty [1 .. N - 2] unless empty [M - 1] "message" */
enum { MAX_UNLESS = 4 };
typedef struct Check {
  Affine value; /* 0 beside `covered` */
  const Covered *covered;
  const char *message;
  Loc loc;
  const Box *unless_empty[MAX_UNLESS]; /* those that there are come first */
} Check;

/* A list of points that launch-time arrays give: coordinate d of point number p is element p of array[d], or at[d] if
 * array[d] is -1; one array at least is there, and all have as many elements, of an integer type. All points must lie
 * in `box`. Field `field`, derived, i32 on `box`, says at each point of it 1 + the number of the first point of the
 * list that is there, 0 if there is none. Array `next`, of role ARRAY_NEXT (-1: nobody needs it), has for each point of
 * the list 1 + the number of the next one at the same place, 0 if there is none. At most `most` points of the list may
 * be at one place (0: any number). */
typedef struct PointList {
  const char *name;
  int32_t array[MAX_RANK];
  Affine at[MAX_RANK];
  Box box;
  int32_t field, next, most;
  Loc loc;
} PointList;

/* One operation on the host part's sequences, see below. */
typedef enum HostOpKind { HOST_LAUNCH, HOST_SWAP } HostOpKind;
/* Launch kernel `a`, or exchange the memory that buffers `a` and `b` stand for. A launch that is `beside` stands
 * directly behind another one and may run at the same time as that one (and as those that it is beside in turn), before
 * it or after it: none of them reads or writes what another of them writes. */
typedef struct HostOp {
  HostOpKind kind;
  int32_t a, b;
  bool beside;
} HostOp;
/* What is done to advance by `steps` time steps (0: the init sequence, a reduction). */
typedef struct HostSeq {
  int32_t steps;
  int32_t nops;
  HostOp *ops;
} HostSeq;

/* A probe: the value that `body` yields, of the scalar type `type`, at the points of list number `list`, or if that is
 * -1 at the one point that is `box`; before the first step and after every `every` steps. The body may read any field
 * but temps, fields' pasts as of now; `step` is the number of steps done; reductions have the values that they had in
 * the step. `box` is that of the list.
 * In kernel IR body is NULL. The launches of `seq` leave the values before the first step, and kernels that make steps
 * leave those after each, in the launch-time array `result` of role ARRAY_SERIES (-1 before pass series), in rows of
 * as many elements as the list has points (1 without a list): row n, what is seen after n * every steps, is row n %
 * SERIES_ROWS of the array. Of points of the list that are at one place the first has the value. */
typedef struct Probe {
  const char *name;
  Type type;
  Box box;
  int32_t list;
  int64_t every; /* at least 1 */
  Block *body;
  HostSeq seq;
  int32_t result;
  Loc loc;
} Probe;
/* Rows of the array that holds a probe's values: a power of two. A launcher takes them out before they are written
 * again. */
enum { SERIES_ROWS = 128 };

/* What a reduction is for: its value; to stop the run; to find what -fcheck looks for. */
typedef enum ReductionKind { REDUCE_VALUE, REDUCE_UNTIL, REDUCE_FINITE, REDUCE_BOUNDS } ReductionKind;

/* A reduction over all points of `over`, evaluated between time tiles: before step 0 and after every `every` steps.
 * `body` yields the value at a point, of type `type` (f64 or i64; a body of stencil IR that may read any field but
 * temps, fields' pasts as of now). Values are combined by reduce_combine in the fixed order that reduce_order (eval.c)
 * describes, the same on every device, so that results agree bit for bit. An empty region gives the identity
 * (reduce_identity). REDUCE_VALUE   scalar holds the value from then on REDUCE_UNTIL   the same, and then, unless no
 * step was done, the run ends if `stop`, an expression over scalars, gives true; NaN is an error REDUCE_FINITE  the
 * least position (row-major number of the point in `over`) where `field` is not finite, INT64_MAX if there is none:
 * error REDUCE_BOUNDS  the first step in which an index was out of range (see pass check-bounds; -1: in an init),
 * INT64_MAX if all is well: error. It is called "bounds." and the name of what has the index In kernel IR body is NULL:
 * the launches of `seq` leave the value in element 0 of `result`, a scratch buffer. */
typedef struct Reduction {
  const char *name;
  ReductionKind kind;
  Opcode op; /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */
  Type type;
  Box over;
  int64_t every; /* at least 1 */
  int32_t scalar, field;
  Block *body, *stop;
  HostSeq seq;
  int32_t result;
  Loc loc;
} Reduction;

/* ---- kernel IR */

/* What a buffer stands for. */
typedef enum BufferKind { BUFFER_FIELD, BUFFER_PARAM, BUFFER_SCRATCH } BufferKind;

/* A slot of global memory.
 *   BUFFER_FIELD    shape and type of field `field`, indexed by grid coordinates. copy 0 holds the field's present
 * value, copy 1 and on are others that swaps exchange it with BUFFER_PARAM    the launch-time array number `field`,
 * indexed from 0; only read BUFFER_SCRATCH  `cells` values of type `type` with one index from 0, whose contents last
 * from one launch to the next of a sequence */
typedef struct Buffer {
  const char *name;
  BufferKind kind;
  int32_t field;
  int32_t copy;
  Type type;
  int64_t cells;
} Buffer;

typedef enum Space { SPACE_SHARED, SPACE_PRIVATE } Space; /* one a block; one a thread */

/* An array of a kernel. Cells within pad_lo/pad_hi of a border are don't-care cells: nobody needs to write them, and
 * what is read from them unwritten is stale (simulate.c), not an error. storage names the array whose memory this one
 * shares (shared-alloc), -1 its own. */
typedef struct Array {
  const char *name;
  Type type;
  Space space;
  int32_t rank;
  int32_t shape[MAX_RANK];
  int32_t pad_lo[MAX_RANK], pad_hi[MAX_RANK];
  int32_t storage;
} Array;

typedef enum KArgKind { KARG_BUFFER, KARG_SCALAR, KARG_STEP } KArgKind;
/* An argument of a kernel: a pointer to buffer `index`, the value of scalar `index`, or the number of the launch's
 * first step (i64). */
typedef struct KArg {
  KArgKind kind;
  int32_t index;
  bool reads, writes;
} KArg;

/* A condition on the params: value is a multiple of `of`, which is at least 1. */
typedef struct Multiple {
  Affine value;
  int64_t of;
} Multiple;

/* A kernel. Dimension d of grid and block is the program's, slowest first. Number of blocks in d: ceil(max(0,
 * extent[d]) / tile[d]). A kernel that is `hollow` leaves out a box of ceil(max(0, without[d]) / tile[d]) blocks in d,
 * none of them larger than extent[d] allows: the blocks that are left, the product of the ones less the product of the
 * others, are numbered along the last dimension, and are 0 in the others. Its code finds out which tile each is for
 * (pass split-edges). kernel_blocks computes all this. It may be launched only where all of `multiples` hold under the
 * launch's params, and where one does not the kernel number instead - 1 is launched in its place (0: there is none, and
 * a launch is an error). That one does the same: it makes as many steps and writes the same buffers, has no multiples,
 * and may have other threads, tile, arrays and arguments. The host part names the kernel with the multiples;
 * kernel_chosen says which runs. */
enum { WARP_LANES = 32, MOST_LANES = 64 };
typedef struct Kernel {
  const char *name;
  int32_t rank;
  int32_t threads[MAX_RANK]; /* threads a block; all 1 on a target that is not SIMT */
  int32_t warp;              /* threads of a warp, 0: WARP_LANES; see kernel_warp */
  Affine extent[MAX_RANK];   /* points to cover */
  int32_t tile[MAX_RANK];    /* points a block covers */
  bool hollow;
  Affine without[MAX_RANK];
  int32_t steps;    /* time steps a launch advances; 0 for an init */
  int32_t per_core; /* blocks that a core must have room for at once; 0: nothing is said */
  int32_t nmultiples;
  Multiple *multiples;
  int32_t instead;
  int32_t nargs;
  KArg *args; /* see kernel_set_args */
  int32_t narrays;
  Array *arrays;
  Block *body;
  Loc loc;
} Kernel;

/* Algorithm 5, the host part: run init; then, while steps remain, the first of seqs (sorted by falling steps, the last
 * has steps 1) that does not advance too far. The `step` argument is the number of steps done before the sequence. */
typedef struct Host {
  HostSeq init;
  int32_t nseqs;
  HostSeq *seqs;
} Host;

/* How a program is to be run (ir/plan.h). */
typedef struct Schedule Schedule;

/* A program, in stencil IR (steps, inits used) or kernel IR (buffers, kernels, host used); the declarations are common.
 */
typedef struct Module {
  Arena *arena;
  const char *name; /* file name of the source, without directory and ending */
  OpLevel level;    /* LEVEL_SIR or LEVEL_KIR */
  bool contract;    /* mul and add may become fma */
  bool fast_math;   /* reassociation and approximation allowed */
  int32_t nscalars;
  Scalar *scalars;
  Box grid;      /* grid.rank is the program's rank */
  int64_t steps; /* time steps asked for by the program; 0 if a scalar says how many: number `steps_by` - 1 */
  int32_t steps_by;
  int32_t ncomposites;
  Composite *composites; /* type TY_COMPOSITE + i is number i; members come before what they are in */
  int32_t nparam_arrays;
  ParamArray *param_arrays;
  int32_t nfields;
  Field *fields;
  int32_t nrecords;
  Record *records;
  int32_t nchecks;
  Check *checks;
  int32_t nreductions;
  Reduction *reductions; /* in order of evaluation */
  int32_t nlists;
  PointList *lists;
  int32_t nprobes;
  Probe *probes;
  const GridPart *part; /* NULL: the module is for the whole grid */
  /* stencil IR */
  int32_t time_tile;    /* steps one run through `stencils` makes; 1 at first */
  const Schedule *plan; /* what pass plan decided; NULL: nothing */
  bool plan_checked;    /* it is legal for the target at hand; not of a plan that was read */
  int32_t ninits;
  Stencil *inits;
  int32_t nstencils;
  Stencil *stencils;
  /* kernel IR */
  int32_t nbuffers;
  Buffer *buffers;
  int32_t nkernels;
  Kernel *kernels;
  Host host;
} Module;

/* ---------------------------------------------------------------- composite types: composite.c */

/* The vector of `n` values of type `member`, made if the module has it not yet. */
Type module_vector(Module *m, Type member, int n);
/* A new struct type; `members` is not copied. */
Type module_struct(Module *m, const char *name, int n, const Member *members);
/* The composite type's row, NULL for a scalar type. */
const Composite *type_composite(const Module *m, Type t);
/* Is it a vector type? */
bool type_is_vector(const Module *m, Type t);
/* A type is flattened into its scalar components, depth first. How many there are (1 for a scalar); the type of
 * component `i`; the bytes of all of them packed, and of those before component `i`; the number of the first component
 * that member `member` of `t` holds. */
int type_components(const Module *m, Type t);
Type type_component(const Module *m, Type t, int i);
int64_t type_bytes(const Module *m, Type t);
int64_t type_component_offset(const Module *m, Type t, int i);
int type_member_component(const Module *m, Type t, int member);
/* How component `i` is reached from a value, for names: ".c.2" is member 2 of the vector that member c is. */
const char *type_component_path(const Module *m, Type t, int i);
/* "f32", "f32[3]", "f32[3][2]" (a vector of 2 vectors of 3), a struct's name. */
void type_print(Str *s, const Module *m, Type t);
const char *type_text(const Module *m, Type t);

/* The record that field `field` is a component of, NULL if it is a field by itself; the name by which the program knows
 * the field: the record's, or its own. */
const Record *record_of(const Module *m, int field);
const char *declared_name(const Module *m, int field);

Module *module_new(Arena *a, const char *name, OpLevel level);
/* A module of `level` that shares the declarations (scalars, grid, fields, checks, flags) of `m`, without its code. */
Module *module_derive(const Module *m, OpLevel level);
/* Index of the scalar, launch-time array, record, reduction, field, buffer or kernel of that name, or -1. */
int module_find_scalar(const Module *m, const char *name);
int module_find_param_array(const Module *m, const char *name);
int module_find_record(const Module *m, const char *name);
int module_find_reduction(const Module *m, const char *name);
int module_find_list(const Module *m, const char *name);
int module_find_probe(const Module *m, const char *name);
int module_find_field(const Module *m, const char *name);
int module_find_buffer(const Module *m, const char *name);
int module_find_kernel(const Module *m, const char *name);
/* Do stencils of `m` move the time levels of its fields on (pass history), so that they do not move by themselves? */
bool module_moves_levels(const Module *m);
/* Numbers all values in order of printing, from 0 in every piece, expression and kernel. */
void module_renumber(Module *m);
/* The same for the values in `b` and all nested in it, from `next` on; the first number that is free then. */
int32_t block_renumber(Block *b, int32_t next);
/* Does `v` say that something is ranged (one op ranged, or `and` of several)? Such a test, by pass range-guards, nearly
 * always holds. */
bool value_is_guard(const Value *v);

Block *block_new(Arena *a, Op *parent);
Value *block_add_arg(Arena *a, Block *b, Type t);
/* A copy of `b` and all nested in it; `map`[id] (indexed by Value.id, may be NULL) gives the replacement of values
 * defined outside. Needs renumbered values. */
Block *block_clone(Arena *a, const Block *b, Op *parent, Value **map);

/* Where new ops go: before `before`, or at the end of `block` if that is NULL. Ops built get `loc`. */
typedef struct Builder {
  Arena *arena;
  Block *block;
  Op *before;
  Loc loc;
} Builder;
Builder builder_at_end(Arena *a, Block *b);
Builder builder_before(Arena *a, Op *op);

/* Makes an op with `n` operands and (unless RESULT says otherwise) one result of the type its table row derives; for
 * RESULT_ANY give it as `t`. */
Op *build_op(Builder *b, Opcode code, Type t, int n, Value *const *operands);
/* The same for an op of RESULT_MANY: it gets `count` results of type `t`. */
Op *build_op_of_many(Builder *b, Opcode code, Type t, int count, int n, Value *const *operands);
Value *build_const(Builder *b, Type t, Const c);
Value *build_int(Builder *b, Type t, int64_t i);
Value *build_float(Builder *b, Type t, double f);
Value *build_scalar(Builder *b, Type t, int scalar);
Value *build1(Builder *b, Opcode code, Value *x);
Value *build2(Builder *b, Opcode code, Value *x, Value *y);
Value *build3(Builder *b, Opcode code, Value *x, Value *y, Value *z);
Value *build_convert(Builder *b, Type t, Value *x); /* x itself if it is of that type */
Value *build_access(Builder *b, Type t, int field, const int64_t *off, int rank);
/* A composite value of type `t` from its members; member `member`, of type `t`, of a composite value; element %index
 * (i64) of a launch-time array. */
Value *build_construct(Builder *b, Type t, int n, Value *const *members);
Value *build_extract(Builder *b, Type t, Value *x, int member);
Value *build_element(Builder *b, Type t, int param_array, Value *index);
/* The value `x` of the lane whose number is this one's exclusive-or `mask`. */
Value *build_shuffle(Builder *b, Value *x, int mask);
/* The value `x` of the lane lower (OP_SHUFFLE_UP) or higher (OP_SHUFFLE_DOWN) by `by`, at least 1 and less than the
 * warp has lanes; beyond those some stale value. */
Value *build_shift_lanes(Builder *b, Opcode code, Value *x, int by);
Value *build_dim(Builder *b, Opcode code, int dim); /* index, thread, block */
Value *build_step(Builder *b);
Value *build_inside(Builder *b, int rank, Value *const *coords, const Box *box);
Value *build_map(Builder *b, Opcode code, Value *coord, int64_t off, Affine lo, Affine hi);
/* Memory of buffer `buffer` at `rank` coordinates (1 for a param or scratch buffer); off may be NULL for all zero. */
Value *build_load(Builder *b, Type t, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_store(Builder *b, int buffer, Value *v, int rank, Value *const *coords, const int64_t *off);
Value *build_aload(Builder *b, Type t, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_astore(Builder *b, int array, int ver, Value *v, int rank, Value *const *idx, const int64_t *off);
Op *build_barrier(Builder *b);
/* The same for `n` consecutive elements of the last dimension. Loads: the values are the op's results. */
Op *build_vload(Builder *b, Type t, int n, int buffer, int rank, Value *const *coords, const int64_t *off);
Op *build_vstore(Builder *b, int buffer, int n, Value *const *v, int rank, Value *const *coords, const int64_t *off);
Op *build_avload(Builder *b, Type t, int n, int array, int ver, int rank, Value *const *idx, const int64_t *off);
Op *build_avstore(Builder *b, int array, int ver, int n, Value *const *v, int rank, Value *const *idx,
                  const int64_t *off);
/* Starts copying `n` elements of buffer `buffer` from `buffer_rank` coordinates on to array `array` from `rank` indices
 * on. */
Op *build_async_copy(Builder *b, int array, int ver, int rank, Value *const *idx, const int64_t *off, int n, int buffer,
                     int buffer_rank, Value *const *coords, const int64_t *from_off);
Op *build_async_commit(Builder *b);
Op *build_async_wait(Builder *b, int groups);
/* An op on the signal of array `array` at the indices plus offsets; `value`: what stands before it, NULL: nothing. */
Op *build_signal(Builder *b, Opcode code, int array, Value *value, int rank, Value *const *idx, const int64_t *off);
/* An end of a bulk copy: the indices `at` plus `off` (NULL: 0) in array, buffer or array of signals number `of`. */
typedef struct BulkPlace {
  int of, rank;
  Value *const *at;
  const int64_t *off;
} BulkPlace;
/* bulk.load or bulk.store (then `signal` is empty) of `n` elements, an i32, of version `ver` of the array. */
Op *build_bulk(Builder *b, Opcode code, int ver, BulkPlace array, BulkPlace buffer, Value *n, BulkPlace signal);
/* An op without operands and results. */
Op *build_bare(Builder *b, Opcode code);
/* A for with its block (induction variable of lo's type, then one argument for each of the n initial values; results
 * likewise), still empty. */
Op *build_for(Builder *b, Value *lo, Value *hi, int64_t stride, int flags, int n, Value *const *init);
/* An if with two empty blocks and n results of the types given. */
Op *build_if(Builder *b, Value *cond, int n, const Type *types);
Op *build_yield(Builder *b, int n, Value *const *values);

void op_insert(Block *b, Op *before, Op *op); /* before == NULL: at the end */
void op_unlink(Op *op);                       /* takes it out of its block */
/* Replaces the value in all operands below `b`, nested blocks included. Returns how many. */
int block_replace_uses(Block *b, const Value *old, Value *by);

/* Calls fn for every op in `b` in order, nested ones after their parent. fn may unlink the op it is given. */
void block_walk(Block *b, void (*fn)(void *user, Op *op), void *user);

/* The buffer (the array) that `op` reads, and that it writes; the array that it reads or writes; -1: none. */
int op_buffer_read(const Op *op);
int op_buffer_written(const Op *op);
int op_array_read(const Op *op);
int op_array_written(const Op *op);
int op_array(const Op *op);
/* Elements that the memory op moves. The operand at which the indices of its place begin (of an async.copy: of the
 * array). */
int op_elements(const Op *op);
int op_first_index(const Op *op);
/* Have all threads of a block that reach `v`'s definition together the same value there? Loaded values and loop-carried
 * ones count as not: uniform.c. */
bool value_is_uniform(const Value *v);
/* Of an op on a signal: the values before its place. */
int op_signal_values(const Op *op);
/* The operand of bulk copy `op` of kernel `k` that is the number of elements. Before it stand the indices of the array
 * and those of the buffer, behind it those of the signal. */
int op_bulk_count(const Module *m, const Kernel *k, const Op *op);
/* Are there ops on signals in `b` or below? */
bool block_has_signals(const Block *b);
/* An op that orders warps, or copies beside them: on a signal, bulk.commit, bulk.wait, fence.async or barrier.warp? */
bool op_is_signal(const Op *op);
/* barrier.warp, elect or uniform: must all threads of the warp be there? */
bool op_meets_warp(const Op *op);
/* A barrier, of the whole block or between neighbouring warps? */
bool op_is_barrier(const Op *op);

/* The kernel's arguments from what its body uses (loads, stores, strides and boxes of buffers' fields, scalars, step)
 * and its extents: first buffers by index, then scalars by index, then the step. Call when the body is complete and
 * after passes that change it. A kernel of the init sequence keeps the fields that it was to write: they are set, to 0
 * where no init sets a point. */
void kernel_set_args(Module *m, Kernel *k);
/* Type of a buffer's elements, and number of its indices: the grid's rank, or 1. */
Type buffer_type(const Module *m, int buffer);
int buffer_rank(const Module *m, int buffer);
/* Its extents under the scalars (0 for an empty dimension), and their product: its elements. */
int64_t buffer_shape(const Module *m, int buffer, const Const *scalars, int64_t shape[MAX_RANK]);
/* Is it the `copy` of field `field`? The index of that buffer, -1 if there is none. */
int module_field_buffer(const Module *m, int field, int copy);
/* Bytes that the address of buffer `buffer` must be a multiple of, for kernel `k` and for all: the size of an element,
 * and up to 16 where vector ops and copies move several at once. Buffers that swaps exchange need the same. */
int64_t kernel_alignment(const Module *m, const Kernel *k, int buffer);
int64_t buffer_alignment(const Module *m, int buffer);
/* The array whose memory array `array` of `k` uses in the end; itself if it has its own. */
int kernel_storage(const Kernel *k, int array);
/* Bytes of shared memory a block of `k` takes, arrays that share storage counted once, each aligned to 16; and where
 * array `array` starts. */
int64_t kernel_shared_bytes(const Kernel *k);
int64_t kernel_array_offset(const Kernel *k, int array);

/* ---------------------------------------------------------------- text: print.c, parse.c */

/* The module as text (deterministic; ends in a newline), in its arena. Renumbers. */
char *module_print(Module *m);
void block_print(Str *s, const Module *m, const Kernel *k, const Block *b, int indent);
void affine_print(Str *s, const Module *m, Affine x);          /* "N - 2" */
void box_print(Str *s, const Module *m, const Box *b);         /* "[1 .. N - 2, 0 .. 7]" */
void covered_print(Str *s, const Module *m, const Covered *c); /* its text form */
/* A constant so that it reads back bit for bit: floats shortest, inf and nan by name, nan with payload as hex. */
void const_print(Str *s, Const c, Type t);

/* Reads text of either level, reporting errors to `d` under the name `file`. NULL after an error. The result is
 * verified. */
Module *module_parse(Arena *a, Diags *d, const char *file, const char *text);

/* ---------------------------------------------------------------- verifier: verify.c */

/* Checks all rules of the module's level, naming kernel or stencil, op and rule in each error; true if there was none.
 */
bool module_verify(const Module *m, Diags *d);

/* ---------------------------------------------------------------- execution: eval.c, interp.c, simulate.c */

/* One pure op on constants: operand types as in `op`; the definition of every op's arithmetic. f32 functions beyond + -
 * * / sqrt fma are computed in f64 and rounded; min and max are IEEE 754-2019 minimumNumber and maximumNumber. Not for
 * access, index, step, thread, block, inside, idx.*. */
Const eval_op(const Op *op, const Const *operands);
/* Is x in [2^-RANGED_F32, 2^RANGED_F32), or for TY_F64 [2^-RANGED_F64, 2^RANGED_F64)? What op ranged asks: quotients
 * and residuals of such numbers neither overflow nor lose bits to underflow. */
enum { RANGED_F32 = 62, RANGED_F64 = 500 };
bool eval_ranged(Type t, double x);
/* The coordinate x brought into [lo, hi] by OP_CLAMP (also GUARD), OP_MIRROR (period 2(hi-lo), edge point not repeated;
 * as NumPy's "reflect") or OP_WRAP. */
int64_t eval_map(Opcode code, int64_t x, int64_t lo, int64_t hi);

/* Reductions (both IRs, all devices). Values are combined in an order that depends on the region alone, so that every
 * device gives the same bits: the region's points are cut into rows of ROW consecutive points: those of one line along
 * the last dimension (rank 1: REDUCE_ROW points; the last may be shorter). Lane t = (position in the row) mod
 * REDUCE_LANES of block b = (row number) mod REDUCE_BLOCKS starts from the identity and takes its points in rising
 * order. Then the lanes of a block are combined pairwise, t with t + w for w = REDUCE_LANES/2, .., 2, 1, and then, in
 * the same way, the blocks. */
enum { REDUCE_ROW = 2048, REDUCE_LANES = 256, REDUCE_BLOCKS = 1024 };
/* The value that leaves others as they are: 0, 1, and for min and max the infinities or the ends of i64. */
Const reduce_identity(Opcode op, Type t);
/* x op y; a NaN among floats gives NaN also in min and max. */
Const reduce_combine(Opcode op, Type t, Const x, Const y);
/* The same as ops. */
Value *build_reduce_combine(Builder *b, Opcode op, Value *x, Value *y);

/* What the simulator knows of the ghost cells of a part (Module.part): its place among the parts and the points that it
 * owns; after how many steps parts exchange, and how many were made since; for each field (NULL: of none) and each of
 * its cells the steps that were done when it was exchanged last, -1: it is stale. made: of the run at hand. */
typedef struct Ghosts {
  int64_t at[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  int64_t every, age, made;
  int64_t **levels;
} Ghosts;

/* Values for a run. */
typedef struct Binding {
  Const *scalars; /* values of all Module.scalars, see module_bind; those of reductions are set by the run */
  void **fields;  /* element 0 of each field's array (NULL for temp), C order, row strides dense; composites packed,
                     point by point */
  void **param_arrays; /* the elements of each launch-time array (may be NULL if there are none) */
  int64_t first_step;  /* steps done before this run: what `step` is in its first step */
  bool evaluated;      /* the reductions of that moment have been evaluated: not before the first step again */
  bool begins;         /* the run begins after these steps, and has evaluated nothing yet; not asked where they are 0 */
  void (*reduced)(void *user, const Reduction *r, int64_t step,
                  Const value); /* called after each evaluation, `step` steps being done; may be NULL */
  /* Called with what probe `p` sees when `step` steps are done: an element of its type for each point of its list, in
   * the list's order (1 without a list); may be NULL. On devices but the reference in order of steps for each probe,
   * and before the run ends. */
  void (*probed)(void *user, const Probe *p, int64_t step, const void *values);
  void *user;
  int64_t done;   /* out: steps made, fewer than asked for if an `until` was met */
  bool see;       /* nothing is run: probes that are due see the fields as they are now */
  Ghosts *ghosts; /* of a part, on the simulator; NULL: all cells are what they should be */
} Binding;
/* Number of elements of the array under the scalars. */
int64_t param_array_extent(const ParamArray *p, const Const *scalars);
/* What a check's reduction (REDUCE_FINITE, REDUCE_BOUNDS) has to say about its value after `step` steps: reports and
 * returns false if something is wrong. So for an `until` whose value is NaN. Sets *stop if the run is to end. For all
 * devices; `scalars` has the value already. */
bool reduction_judge(const Module *m, const Reduction *r, const Const *scalars, int64_t step, bool *stop, Diags *d);
/* Puts the `n` reductions before those that `m` has, each with a new scalar of its name. */
void module_put_first(Module *m, int n, const Reduction *r);
/* Is the reduction to be evaluated when `step` steps are done? How many steps may be made from there until one is
 * (INT64_MAX: any number). */
bool reduction_is_due(const Reduction *r, int64_t step);
int64_t module_steps_to_reduction(const Module *m, int64_t step);
/* The value that `b`, an expression over scalars, yields. Takes memory from `a` meanwhile; renumbers `b`. */
Const expression_value(Arena *a, const Block *b, const Const *scalars);

/* Lists of points and probes: points.c. */

/* The number of points of the list, under the scalars; 1 if `l` is NULL. */
int64_t list_length(const Module *m, const PointList *l, const Const *scalars);
/* The list of probe `p`, NULL if it has none. */
const PointList *probe_list(const Module *m, const Probe *p);
/* Fills `index`, the cells of l->field, and `next` (may be NULL), both as PointList says, from the elements of the
 * launch-time arrays. False after reporting a point that is outside of the box, or the first of too many at one place.
 */
bool list_fill(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int32_t *index,
               int32_t *next, Diags *d);
/* The coordinates of point number `n` of the list; the number of its cell in l->field, -1 if it is outside of it. */
int64_t list_point(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int64_t n,
                   int64_t at[MAX_RANK]);
/* Calls fn with the rows of probe `p` that became due after more than `from` (-1: that of step 0 too) and at most `to`
 * steps. `rows` is its array,
 * `index` the cells of its list's field (NULL without a list). `room` has room for a row. */
void probe_read(const Module *m, const Probe *p, const Const *scalars, void *const *arrays, const int32_t *index,
                const void *rows, int64_t from, int64_t to, void *room,
                void (*fn)(void *user, const Probe *p, int64_t step, const void *values), void *user);
/* May kernels make steps until `to` are done, if all rows of `from` steps and before have been taken out? */
bool probes_have_room(const Module *m, int64_t from, int64_t to);

/* An override of a param, as by -DN=4096. */
typedef struct Define {
  const char *name;
  const char *value;
} Define;
/* Evaluates all scalars with the overrides and all Module.checks. False after an error (unknown name, malformed or
 * out-of-range value, missing value, failed check). `out` has nscalars places; those of reductions are set to 0. */
bool module_bind(const Module *m, int n, const Define *defs, Const *out, Diags *d);
/* Does it hold under the scalars (NULL if no bound has a param): 1, or 0 and `missing` is a point that no box has; or
 * -1: the bounds are too large to tell. In covered.c. */
int covered_holds(const Covered *c, const Const *scalars, int64_t missing[MAX_RANK]);
/* The number of the kernel that is launched where the host part says `kernel`: that itself, or under these scalars the
 * one in its `instead`; -1 if neither may be (module_bind has reported that). All launchers go by this. */
int kernel_chosen(const Module *m, int kernel, const Const *scalars);
/* Threads of a warp of `k`, which trade values by shuffles: WARP_LANES, or MOST_LANES where lines of so many cells were
 * lowered for a target with such warps. They are those of the block in order, the last dimension fastest. */
int32_t kernel_warp(const Kernel *k);
/* The blocks of `k` along each dimension under these scalars; a number that exceeds 64 bits is INT64_MAX. Returns their
 * product, likewise. */
int64_t kernel_blocks(const Kernel *k, const Const *scalars, int64_t blocks[MAX_RANK]);
/* The time steps that the program asks for under the scalars. */
int64_t module_steps(const Module *m, const Const *scalars);
/* Extents of the field's box under the scalars, in points (0 for an empty dimension), and their product. */
int64_t field_shape(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]);

/* The reference: runs inits (if run_inits; those of fields in skip_init, a nfields array of bool or NULL, are left out:
 * their values come from outside) and `steps` time steps on the arrays in `b`, in place. After the inits, a field's
 * past that neither an init nor skip_init names becomes what the field is. Reductions are evaluated when due (before
 * the first step only if b->first_step is 0 or b->begins). The definition of right: no tiling, every stencil into fresh
 * arrays. False after an error. */
bool interp_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, Diags *d);

/* What the simulator found, apart from the results. */
typedef struct SimStats {
  int64_t launches, blocks, barriers, loads, stores, aloads, astores, ops;
} SimStats;
typedef struct SimOptions {
  uint64_t seed;   /* order of blocks and of threads between barriers */
  int max_reports; /* stop after so many faults (0: 1) */
} SimOptions;
/* Runs the kernel IR module `m` with the host part's plan on the arrays in `b` (results end up there), block by block,
 * thread by thread between barriers. Faults: race (shared, and global between threads of a launch), access outside a
 * buffer or an array, barrier not reached by all threads, read of memory nobody wrote, stale value in a global store.
 * Each is a diag_error that names kernel, buffer or array with cell, block, thread and source line. False if there was
 * a fault. `stats` may be NULL. Fields given in `b` count as written; temp fields' buffers as not. */
bool sim_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, const SimOptions *o,
             SimStats *stats, Diags *d);

/* ---------------------------------------------------------------- targets: target.c */

/* What passes may ask about a target; filled by the backend (or by a test). */
typedef struct TargetInfo {
  const char *name, *cpu; /* for messages only: no pass may compare them */
  bool simt;           /* kernels are run by blocks of threads (GPU); else by one thread a block, loops inside (CPU) */
  int32_t lanes;       /* threads a warp or wave; vector width in bytes / 4 on a CPU */
  int32_t max_threads; /* threads a block */
  int32_t max_block[MAX_RANK]; /* threads a block along hardware x, y, z */
  int64_t max_grid[MAX_RANK];  /* blocks along hardware x, y, z */
  int64_t shared_bytes;     /* a block may take without special leave (48 KiB on CUDA); on a CPU: cache for one tile */
  int64_t max_shared_bytes; /* a block may take at most */
  int64_t shared_per_core;  /* of one multiprocessor */
  int32_t max_threads_per_core;
  int32_t registers_per_core; /* 32 bit */
  int32_t cores;              /* multiprocessors, or CPU cores */
  /* What it can do, for estimates (0: unknown): bytes to and from memory, and from the largest cache, in 1e9/s;
   * additions of f32 and f64 in 1e9/s; what starting a kernel costs, in microseconds. */
  double bandwidth, cache_bandwidth, f32_rate, f64_rate, launch_us;
  /* The same: clock in GHz; instructions that all cores issue, counted once for each lane, and 32-bit words that their
   * shared memories move, in 1e9/s; bytes of the largest cache. */
  double clock, issue_rate, shared_rate, cache_bytes;
  bool async_copy;    /* it has async.copy, async.commit and async.wait */
  bool bulk_copy;     /* it has signals and bulk copies, and ops on whole warps */
  int32_t near_warps; /* warps, an even number of them, of blocks in which barrier.neighbours is better than barrier, at
                         most; 0: it never is */
  bool range_guards;  /* roots and quotients are shorter if their operands are known to be neither tiny nor huge */
} TargetInfo;

#endif
