/* frontend/ast.h: the syntax tree and what the parts of the front end hand each other (private to frontend/).
 *
 *   include.c                       other files put in place
 *   lex.c           Token           characters to tokens (token.h)
 *   parse.c         Decl            tokens to declarations
 *   parse_expr.c    Expr            tokens to expressions
 *   parse_stmt.c    Stmt            tokens to statements and functions
 *   parse_point.c                   tokens to probes and injects, masks, and absorbing layers (absorb.h)
 *   parse_scalar.c                  tokens to scalars, updates, reduce and until
 *   parse_repeat.c                  tokens to repeats
 *   parse_gradient.c                tokens to losses and gradients
 *   expand_levels.c parse_levels.c  levels of the grid, and what is written out for each (levels.h)
 *   habits.c                        what is written elsewhere, and what to write instead
 *   symbol.c        Symbol          names and what they stand for
 *   check.c         Checked         declarations: every name resolved, every type known, Module's declarations filled
 *   check_expr.c                    expressions: names resolved, macros expanded
 *   check_move.c                    expressions: macros at a neighbour
 *   check_diff.c                    the grid's spacing, coordinates, derivatives as sums over neighbours
 *   check_random.c                  expressions: random numbers
 *   check_sum.c                     expressions: sum, prod, min, max over offsets; elements of tables
 *   check_absorb.c absorb.c         absorbing layers; the stencils that they make of one
 *   check_point.c                   probes and injects, lists of points
 *   check_time.c                    older time levels, reductions between steps, launch-time arrays
 *   check_scalar.c                  scalars that are kept, their updates, until on them
 *   check_repeat.c                  repeats within a step
 *   check_levels.c                  the regions of levels, fine and coarse (levels.h)
 *   check_gradient.c                losses, and what they are differentiated by
 *   check_stmt.c                    statements of blocks: lets, vars, loops
 *   check_fn.c                      functions
 *   check_type.c                    expressions: types, literals adapted
 *   check_composite.c               types as written; vectors, structs and their members; storage types
 *   share.c                         values that several places of an expression use
 *   check_lacking.c                 fields that do not have all dimensions (fields.h)
 *   check_const.c                   constants and tables (check/declare.h)
 *   check_outside.c                 what is beyond the edges of fields (check/declare.h)
 *   check_every.c                   stencils that run every so many steps
 *   check_ensemble.c                members (ensemble.h)
 *   check_complex.c                 complex numbers (complex.h)
 *   check_start.c                   fields as they are at the start of a step
 *   check_mask.c                    masks, where, dry (fields.h)
 *   parse_frames.c check_frames.c   fields that are series of frames (fields.h)
 *   check_region.c                  regions, offsets, launch checks, what temp fields hold
 *   fold.c                          constant expressions and affine bounds (fold.h)
 *   lower.c                         Checked to a stencil IR module
 *   dump.c                          Checked as text
 *   outline.c                       what editors want to know
 */
#ifndef STC_AST_H
#define STC_AST_H

#include "frontend/token.h"

/* ---------------------------------------------------------------- the tree: parse.c parse_expr.c parse_stmt.c
 * parse_point.c parse_scalar.c parse_repeat.c parse_gradient.c */

/* Limits that keep every recursion shallow and every expansion small: levels of an expression's tree, of nested
 * brackets, of the tree after macros are expanded; nodes of all expanded expressions; amount of an offset. */
enum { MAX_HEIGHT = 1000, MAX_NESTING = 200, MAX_DEPTH = 3000, MAX_NODES = 1 << 18, MAX_OFFSET = 1 << 30 };
/* Operands of an operation. */
enum { MAX_KIDS = 6 };
/* Terms of a sum over offsets; values of a table whose index is not constant. */
enum { MAX_TERMS = 1024, MAX_LOOKUP = 256 };

/* Types of expressions that have not met a type yet: of values in braces, of integer literals alone, of literals with a
 * float among them. */
enum { TY_BRACES = 0xfffd, TY_LITERAL_INT = 0xfffe, TY_LITERAL_FLOAT = 0xffff };
/* No program has more composite types. */
enum { MAX_COMPOSITES = 4096 };
static inline bool type_is_literal(Type t) { return t >= TY_LITERAL_INT; }

typedef enum ExprKind {
  /* parsed and checked */
  EXPR_BAD, /* was reported */
  EXPR_INT, /* name: the literal as written */
  EXPR_FLOAT,
  EXPR_BOOL, /* value.i */
  EXPR_OP, /* op on kids; neg of a literal stays one. On vectors component by component, a scalar kid going with each */
  EXPR_MEMBER, /* parsed: kids[0].name, or (name NULL) kids[0][kids[1]]; checked: member value.i of kids[0] */
  EXPR_BRACES, /* parsed: {kids}, each an EXPR_NAMED or none; checked: a composite value from its members, if its type
                  is known */
  /* parsed only */
  EXPR_NAMED,  /* name = kids[0], in braces; `name kids[0]`, among the arguments of diff */
  EXPR_NAME,   /* name */
  EXPR_ACCESS, /* name[kids] */
  EXPR_CALL,   /* name(kids) */
  EXPR_REDUCE, /* sum and its kin, name: op over kids: the index's name, first, last, body */
  EXPR_OVER,   /* name(kids[0]) over a region, as `over` says */
  /* checked only */
  EXPR_SPREAD, /* a vector all of whose components are kids[0] */
  EXPR_CONST,  /* sym, a const or an element of a table: its value */
  EXPR_SCALAR, /* sym, a param or a top-level let */
  EXPR_FIELD,  /* sym, a field, at off */
  EXPR_INDEX,  /* coordinate of dimension value.i */
  EXPR_STEP,
  EXPR_ELEMENT, /* sym, a launch-time array; kids[0] the index */
  EXPR_LOCAL    /* sym, a let of this block, or a value that several places share */
} ExprKind;

typedef struct Expr Expr;
typedef struct Symbol Symbol;

/* A node of an expression. The parser makes it; the checker makes a new tree with types, names resolved and macros
 * expanded. */
struct Expr {
  ExprKind kind;
  Type type; /* checked only; TY_NONE of EXPR_BAD */
  Opcode op; /* of EXPR_OP; a conversion is OP_CONVERT, an if OP_SELECT */
  Loc loc;
  int32_t height; /* levels of the tree below, this one included */
  int32_t n;
  Expr **kids;
  const char *name;
  Symbol *sym;
  Const value;
  int64_t off[MAX_RANK];
  const struct Decl *over; /* parsed only: of EXPR_OVER, op, value and region */
  Expr *level;             /* parsed only: of a name or an access, k of NAME@k; NULL if it has none */
  bool behind;             /* checked only: of EXPR_FIELD: what the sweep in hand has left there */
  int8_t scale;            /* the field lies on the next finer level (1) or the next coarser one (-1) */
  bool imaginary;          /* of EXPR_BRACES: {0, b}, of an imaginary literal, or made of some (complex.h) */
  bool adapts; /* checked only: an i64 made of literals alone, by operations of integers, which takes another type of
                  integers that it meets */
};

/* A type as written: a name and the lengths behind it, f32[3]. */
typedef struct TypeExpr {
  Loc loc;
  const char *name;
  int32_t n;
  Expr **lengths;
} TypeExpr;

/* lo .. hi of one dimension; hi NULL: the one point lo; both: a star, there is no such dimension. */
typedef struct RangeExpr {
  Expr *lo, *hi;
} RangeExpr;
/* A name as written; level k of NAME@k, 0 if it has none. */
typedef struct Name {
  const char *s;
  Loc loc;
  int32_t level;
} Name;
/* [ranges where NAME] as written. */
typedef struct RegionExpr {
  Loc loc;
  Name where;
  int32_t n;
  RangeExpr *ranges;
} RegionExpr;

typedef enum StmtKind {
  STMT_BAD,    /* could not be parsed */
  STMT_LET,    /* let NAME [: type] = value */
  STMT_VAR,    /* var NAME [: type] [= value] */
  STMT_ASSIGN, /* NAME[@level] path = value; in a piece without a block: = value */
  STMT_FOR,    /* for (NAME in lo .. hi) { body } */
  STMT_IF,     /* if value { body } else { other } */
  STMT_RETURN  /* return value */
} StmtKind;

/* One step of the path to what is assigned: .member or [index]. */
typedef struct PathStep {
  Loc loc;
  const char *member;
  Expr *index;
} PathStep;

/* A statement of a block; its parts by kind. */
typedef struct Stmt Stmt;
struct Stmt {
  StmtKind kind;
  Loc loc; /* of the name; of the word if there is none */
  const char *name;
  int32_t level; /* of NAME@level, else 0 */
  const TypeExpr *type;
  Expr *value;
  int32_t npath;
  PathStep *path;
  Expr *lo, *hi;
  int32_t n;
  Stmt *body;
  int32_t nother;
  Stmt *other;
  bool failed;        /* what stands behind the name could not be parsed */
  bool reached, used; /* let, var: the checker came by; something reads it */
};
/* [region] = value (one statement without a name), or [region] { statements }; absorb: the layer behind the region. */
typedef struct PieceDecl {
  Loc loc;
  RegionExpr *region;
  Name absorb;
  int32_t n;
  Stmt *stmts;
  bool is_block;
} PieceDecl;

typedef enum DeclKind {
  DECL_BAD, /* could not be parsed: the name counts as declared and is never reported again */
  DECL_PARAM,
  DECL_CONST,
  DECL_TABLE,
  DECL_LET,
  DECL_STRUCT,
  DECL_GRID,
  DECL_REGION,
  DECL_FIELD,
  DECL_OP,
  DECL_FN,
  DECL_STENCIL,
  DECL_INIT,
  DECL_SWEEP,
  DECL_ARRAY,
  DECL_REDUCE,
  DECL_UNTIL,
  DECL_SCALAR, /* type, value */
  DECL_UPDATE, /* of the scalar `name`: value */
  DECL_END,    /* until CONDITION: value, every (NULL: 1) */
  DECL_MASK,   /* value */
  DECL_PROBE,
  DECL_INJECT,
  DECL_ABSORB,
  DECL_REPEAT,  /* value: the most rounds; what is repeated follows, up to */
  DECL_CLOSE,   /* the closing brace of the last one that is open */
  DECL_MEMBERS, /* value */
  DECL_LEVELS,  /* value .. right: their numbers; on: the grid */
  DECL_LOSS,    /* as a probe or a reduction over a region; every NULL: at the end */
  DECL_GRADIENT /* value: the sum of losses; names: by what it is differentiated */
} DeclKind;

/* A member of a struct as written. */
typedef struct MemberDecl {
  Name name;
  const TypeExpr *type;
} MemberDecl;

/* What is beyond one side of a field: `value` is the constant, or of what is odd the number that it is about, NULL: it
 * has none. */
typedef struct SideDecl {
  OutsideRule rule;
  bool odd;
  Expr *value;
  Loc loc;
} SideDecl;

/* A declaration; one of each name. */
typedef struct Decl {
  DeclKind kind;
  Loc loc; /* of the name */
  const char *name;
  const TypeExpr *type; /* NULL: not given */
  Expr *value; /* param, const, let, op, fn: value; grid: steps; table, array: extent; reduce, until: what is reduced;
                  probe, inject: the value */
  RegionExpr *region; /* grid, region, field (NULL: the grid), reduce, until; probe, inject: where the points are */
  Name on;            /* field, reduce, until, probe, inject: region by name */
  int32_t nnames;
  Name *names; /* op: parameters; stencil, inject: targets */
  int32_t nvalues;
  Expr **values; /* table; probe, inject: coordinates; grid: the spacings, EXPR_NAMED "at" of an array's name */
  int32_t nmembers;
  MemberDecl *members; /* struct; fn: parameters */
  int32_t nstmts;
  Stmt *stmts;    /* fn: what comes before the value */
  int32_t nsides; /* field: 0 without outside; 1: for all sides; else two for each dimension, in order */
  SideDecl *sides;
  bool input, temp, shared;
  const struct DryDecl
      *dry; /* field: its mask, and what reads where that is false give (fields.h); NULL: it has none */
  const struct FramesDecl *frames; /* field: it is a series of frames (fields.h); NULL: it is not */
  Expr *history;                   /* field: number of older levels, NULL if not given */
  Opcode op, compare;  /* reduce, until: how values are combined; until: how the result is compared with `right` */
  Expr *right, *every; /* inject: op OP_ADD adds, OP_COUNT sets; right: how many points may be at one place, or NULL.
                          grid: right: the time step, or NULL */
  int32_t npieces;
  PieceDecl *pieces;
  const struct AbsorbDecl *absorb; /* of an absorbing layer */
  const struct SweepDecl *sweep;   /* of a sweep, whose pieces are both on `region` (sweep.h) */
} Decl;

/* The parser: the next token is *t; where a missing closing brace was reported last; of the declarations `ndone` stand
 * before the one in hand. */
typedef struct Parse {
  Arena *arena;
  Diags *d;
  const Token *t, *unclosed;
  bool raw;                 /* includes stand as they are written, and mean nothing */
  int32_t nesting, repeats; /* brackets, repeats around the place */
  int32_t ndecls, ndone;
  Decl **decls;
} Parse;

/* Tokens to p->decls in order of the text. Errors are reported; what could not be read comes as DECL_BAD where it had a
 * name. */
void parse_program(Parse *p);
/* One expression at p->t; reports and returns NULL if there is none. */
Expr *parse_expr(Parse *p);
/* A node of `n` kids; NULL after reporting that it nests too deeply, or if a kid is NULL. */
Expr *expr_new(Parse *p, ExprKind kind, Loc loc, int n, Expr *const *kids);

/* The declaration at p->t. False after an error that leaves the rest of it unread. */
bool parse_declaration(Parse *p);

/* Helpers of both parsers. */
bool parse_is(const Parse *p, Tok kind); /* is the next token of that kind */
bool parse_is_word(const Parse *p, const char *word);
bool parse_accept(Parse *p, Tok kind); /* takes it if so */
/* Takes a token of that kind, else reports "expected WHAT, found ...". */
bool parse_expect(Parse *p, Tok kind, const char *what);
void parse_error(Parse *p, const char *expected); /* "expected WHAT, found TOKEN" at the next token */
bool parse_enter(Parse *p);                       /* one more bracket level; false after reporting too many */
/* A declaration called `name`, at once in the list as DECL_BAD; it gets its kind when it is complete. */
Decl *parse_declare(Parse *p, Name name);
/* A new name at the next token, `what` says of what. */
bool parse_new_name(Parse *p, const char *what, Name *out);
bool parse_optional_type(Parse *p, const TypeExpr **out); /* ": TYPE" if there is one; false after reporting */
Expr *parse_initializer(Parse *p);                        /* "= EXPR"; NULL after reporting */
/* The semicolon after a declaration; in the paper's notation (`paper`) the end of the line does too. A missing one at
 * the end of a line is reported there. */
bool parse_end(Parse *p, bool paper);
/* "[ITEM, ...]", each item by `one`, into d->values; `expected` says what the bracket begins. */
bool parse_in_brackets(Parse *p, Decl *d, const char *expected, Expr *(*one)(Parse *));
/* A region or the name of one, at the next token; `word` stands in front of it. */
bool parse_region_of(Parse *p, Decl *d, const char *word);
/* "[lo .. hi, ...]"; NULL after reporting. "(FIELD, ...)", the targets of `d`. */
RegionExpr *parse_region(Parse *p);
bool parse_targets(Parse *p, Decl *d);
/* every EXPR, at the end of a reduction or probe, behind the region or the targets of a stencil. */
bool parse_every(Parse *p, Decl *d);
/* Is OP(...) over at p->t, OP one of sum, prod, min and max? That as an expression. */
bool parse_is_over(const Parse *p);
Expr *parse_over(Parse *p);
/* scalar NAME : TYPE = EXPR, ...; update NAME = EXPR; reduce NAME = ... every EXPR; after the word; until ...; at it.
 */
bool parse_scalar(Parse *p);
bool parse_update(Parse *p);
bool parse_reduce(Parse *p);
bool parse_until(Parse *p);
/* repeat NAME up to EXPR { ... }, after the word. */
bool parse_repeat(Parse *p);
/* probe NAME = EXPR at POINT every EXPR; and inject NAME(FIELD) += EXPR at POINT; after the word. */
bool parse_probe(Parse *p);
bool parse_inject(Parse *p);
/* "at [COORDINATE, ...] [in REGION]" of these; "up to N", if it is there. */
bool parse_places(Parse *p, Decl *d);
bool parse_up_to(Parse *p, Decl *d);
/* Does a loss or a gradient begin at p->t? That, from the word on. */
bool parse_begins_gradient(const Parse *p);
bool parse_gradient(Parse *p);
bool parse_begins_declaration(const Token *t); /* does the token begin a declaration wherever it stands? */
/* After an error: steps over the next semicolon, or up to a closing brace or the start of a declaration. */
void parse_skip(Parse *p);
void parse_skip_braces(Parse *p); /* steps over an opening brace up to and with the closing one */
/* Is p at the end of a block, or where going on makes no sense? */
bool parse_at_block_end(const Parse *p);
/* Adds the statements up to a closing brace, which is taken, to body[n]. */
bool parse_block(Parse *p, int32_t *n, Stmt **body);
/* Reports the first return among the statements, if there is one. */
bool parse_no_return(Parse *p, int32_t n, const Stmt *s);
/* fn NAME(PARAMETERS) : TYPE ..., after the word. */
bool parse_function(Parse *p);
bool parse_target_level(
    Parse *p, int32_t *out); /* "@K" behind the name of a field that an init sets, into *out; false after reporting */
/* A type at the next token; NULL after reporting. */
const TypeExpr *parse_type(Parse *p);
/* The scalar type that the name stands for; TY_NONE if it is none. */
Type type_of_word(const char *s, Type real);
/* What stands where a type should, as messages have it. */
#define EXPECTED_TYPE \
  "a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a struct)"

/* ---------------------------------------------------------------- names: symbol.c */

typedef enum SymbolKind {
  SYM_BAD,
  SYM_PARAM,
  SYM_CONST,
  SYM_TABLE,
  SYM_LET,
  SYM_STRUCT,
  SYM_GRID,
  SYM_REGION,
  SYM_FIELD,
  SYM_OP,
  SYM_FN,
  SYM_STENCIL,
  SYM_ARRAY,
  SYM_REDUCTION,
  SYM_PROBE,
  SYM_LAYER,
  SYM_LOSS,
  SYM_REPEAT,
  SYM_STATE, /* a scalar that is kept: its launch-time array, once lower_program gave it one */
  SYM_LOCAL,
  SYM_VAR,
  SYM_VALUE,
  SYM_ARGUMENT /* a let of a stencil's block; a var; a let and a parameter of a function */
} SymbolKind;

/* Boxes on all of whose points a temp field has been written: first the `written` ones of the stencils' pieces, then
 * what can be joined of them whatever the params are. `full`: there were more than MAX_COVERED of those pieces. */
typedef struct Cover {
  int n, written;
  bool full;
  Box box[MAX_COVERED];
} Cover;

typedef struct Env Env;
struct Symbol {
  SymbolKind kind;
  const char *name;
  Loc loc;
  bool used;
  Type type;     /* of the value, or a function's result; const: TY_LITERAL_* if it adapts */
  int32_t index; /* param, let, reduction: scalar; field: field; array: launch-time array */
  const Decl *decl;
  Expr *value;    /* local: as parsed */
  const Env *env; /* local: where that stands */
  Expr *current;  /* var, value, argument: what it is at the place in hand, made of shared values */
  Stmt *stmt;     /* local, var, value: its declaration */
  Type *types;    /* fn: of its parameters */
  bool adapts;    /* const: it is i64, unless it meets another type of integers */
  bool is_affine;
  Affine affine; /* param, let of an integer type: its value, if it can stand in a bound */
  Box box;       /* grid, region, field */
  int32_t npasts;
  Symbol **pasts;              /* field: its older levels, 1 and on */
  Symbol *start;               /* field: the temp field that holds it as it was at the start of the step; NULL: none */
  bool is_mask;                /* field: it is a mask */
  const struct Masked *masked; /* field: its mask (fields.h); NULL: it has none */
  const struct Framed *framed; /* field: its frames (fields.h); NULL: it has none */
  bool set_by_init, warned;    /* field: an init before this one sets it; that an init reads it unset was reported */
  const Cover *cover;
  int32_t cover_stencil; /* temp field: what the stencils before number cover_stencil of Checker.checked have written;
                            -1: not known */
  int32_t n;
  Symbol **elems; /* table */
  bool have[TY_COMPOSITE];
  Const memo[TY_COMPOSITE]; /* const and element: its value by type */
  Expr **members;           /* local of composite type: its members as shared values, NULL where there are none yet */
  Expr *checked;            /* shared value: its expression; NULL for a let of a block, which is lowered at its place */
  Value *lowered;           /* local: its value while a piece is lowered */
  const void *listed;
  bool visited;         /* shared value: for shared_values */
  Symbol *chain, *next; /* of its hash bucket; in order of declaration */
  const char *reads;    /* of a macro: check_op_reads */
  const struct Layer *layer;
};

/* Global names, in order of declaration from `first`, hashed by name. */
typedef struct Symbols {
  Symbol *bucket[1024], *first, *last;
} Symbols;
Symbol *symbols_find(const Symbols *s, const char *name);
void symbols_add(Symbols *s, Symbol *sym);
/* The symbol or reserved word nearest to `name` by few changed letters, of those `fits` accepts (NULL: all; it gets
 * NULL for a reserved word); NULL if there is none near. */
const char *symbols_nearest(const Symbols *s, const Symbol *locals, const char *name, bool (*fits)(const Symbol *));
const char *symbol_words(const Symbol *s); /* what it is: "a field" */

/* ---------------------------------------------------------------- what is written elsewhere: habits.c */

/* What to write in place of a token that stands where `expected` should, or of a name that no program declares, where
 * it is known from other languages; else NULL. */
const char *habit_at(const Token *t, const char *expected);
const char *habit_of_name(const char *name);

/* ---------------------------------------------------------------- checked program: check*.c */

/* One assignment of a piece; a let has `local`, a target with field `target`. */
typedef struct Assign {
  Loc loc;
  Symbol *local;
  int32_t target;
  Expr *value;
} Assign;
typedef struct CheckedPiece {
  Loc loc;
  Box box;
  int32_t n;
  Assign *assigns;
} CheckedPiece;
typedef struct CheckedStencil {
  const char *name;
  Loc loc;
  bool is_init;
  int sweep, along; /* as those of a Stencil */
  int32_t stage;
  int64_t every;  /* it runs in steps that are multiples of this; 0: in all */
  int32_t repeat; /* the one that it stands in, by Checker.repeats from 1 on; 0: none */
  int32_t ntargets;
  int32_t *targets;
  int32_t npieces;
  CheckedPiece *pieces;
} CheckedStencil;

/* Where an expression stands. A macro being expanded: `decl`'s parameters stand for `args`, which are meant in `caller`
 * (NULL: the piece itself). A function: its parameters are among Checker.locals; `call` has no line while it is
 * declared. Or (`index` given) a term of a reduction, or a turn of a loop, at `call` that stands in `caller`: the
 * index's name means the constant `index`. */
struct Env {
  const Decl *decl;
  Expr *const *args;
  const Env *caller;
  Loc call;
  Symbol *index;
};

/* A reduction between steps: all but its code; what it reduces, of type head.type; the condition under which an until
 * stops, NULL for others. */
typedef struct CheckedReduction {
  Reduction head;
  Expr *body, *stop;
} CheckedReduction;

/* A scalar that is kept from step to step (first: the scalar that it begins with, -1: none), or that holds what a part
 * of an update comes to; and an update: all but its code and the number of its state. */
typedef struct CheckedState {
  Symbol *sym;
  int32_t first;
} CheckedState;
typedef struct CheckedUpdate {
  Update head;
  Symbol *state;
  Expr *body;
} CheckedUpdate;

/* A repeat: all but its last stage as long as it is open; the one around it, counted from 1; the state that has the
 * number of the round, NULL: nothing reads that; its number in Module.repeats. There were so many updates and stencils
 * before it. failed: its bound was reported. */
typedef struct CheckedRepeat {
  Repeat head;
  int32_t around, number;
  Symbol *round;
  int32_t nupdates, nchecked;
  bool failed;
} CheckedRepeat;

/* A read of level `k` of a field within a repeat. */
typedef struct PastRead {
  Loc loc;
  int32_t field, k, repeat;
} PastRead;

/* A probe: all but its code, and what it sees. */
typedef struct CheckedProbe {
  Probe head;
  Expr *body;
} CheckedProbe;

/* A loss: all but its code, and what it adds up, an f64. */
typedef struct CheckedLoss {
  Loss head;
  Expr *body;
} CheckedLoss;

/* A list of points with the symbols of the field and array made of it, which get their numbers when all that the
 * program declares has its; `next` is NULL as long as nobody needs it. */
typedef struct CheckedList {
  PointList head;
  Symbol *field, *next;
} CheckedList;

/* What launching makes of coordinates, the weights of a derivative on points that lie unevenly or their places beyond
 * the ends: the array, which gets its number when all that the program declares has one; its symbol. */
typedef struct CheckedWeights {
  ParamArray head;
  Symbol *array;
} CheckedWeights;

/* What an expression may contain: constants only; launch-time scalars too; values of reductions too; scalars that are
 * kept, step and elements of arrays too; fields, idx and lets too. */
typedef enum Allowed { ALLOW_CONST, ALLOW_SCALAR, ALLOW_REDUCED, ALLOW_STATE, ALLOW_BODY } Allowed;

/* A scalar that launching computes, and its value. */
typedef struct Computed {
  Expr *value;
  int32_t scalar;
} Computed;

typedef struct Checker {
  Arena *arena;
  Diags *d;
  int32_t file; /* of the source, in Loc */
  Module *m;
  Type real;
  Type complex[2]; /* of two f32, of two f64; TY_NONE: not needed so far */
  Symbols syms;
  const Symbol *grid;            /* NULL before it is declared */
  int lead;                      /* dimensions of the grid in front of those of the text: 1 with members, else 0 */
  const struct Levels *levels;   /* of it (levels.h); NULL: it has none */
  Symbol *coordinates[MAX_RANK]; /* of the grid: the launch-time arrays that have them; NULL: none has */
  int32_t nweights;
  CheckedWeights *weights;
  struct Absorbing *absorbing; /* the stencil in hand, if it has absorbing layers; NULL: it has none */
  int32_t nprofiles;
  struct LayerArray *profiles;
  Symbol *step;                /* the grid's, a scalar of f64; NULL: none was given */
  Symbol *spacing[MAX_RANK];   /* of the grid, scalars of f64; NULL: none was given, or coordinates are */
  Symbol *factor[MAX_RANK][5]; /* 1 over power k of that, as f64; NULL: not needed so far */
  Symbol *narrow[MAX_RANK][5]; /* the same as f32; of power 0: the spacing itself */
  Expr **scalar_value;         /* by scalar: checked value, NULL if none */
  Const *defaults;
  bool *has_default;         /* by scalar: what it is unless params are overridden, if that is known now */
  bool by_default, computes; /* fold_const uses those; fold_affine computes scalars for bounds */
  int32_t ncomputed, nbounds;
  Computed *computed; /* lets, and scalars for bounds; of those without a name of their own there are nbounds */
  int32_t nchecked;
  CheckedStencil *checked;
  int32_t nmasks;
  CheckedStencil *masks; /* their inits */
  int32_t nreductions;
  CheckedReduction *reductions;
  int32_t nprobes;
  CheckedProbe *probes;
  int32_t nlosses;
  CheckedLoss *losses;
  bool has_gradient; /* one was declared */
  int32_t nstates;
  CheckedState *states;
  int32_t nupdates;
  CheckedUpdate *updates;
  int32_t stage;   /* how many runs of updates there were so far; */
  bool in_updates; /* the last of them may go on */
  int32_t nrepeats, nclosed;
  CheckedRepeat *repeats; /* in the order of the text */
  int32_t in_repeat;      /* the innermost one in hand, counted from 1; 0: none */
  int32_t npast_reads;
  PastRead *past_reads;
  int32_t nlists;
  CheckedList *lists;
  /* where the checker is */
  Allowed allowed;
  const char *what;           /* for ALLOW_CONST and ALLOW_SCALAR: what must be constant, "an offset" */
  bool in_mask;               /* the condition of one, which is an init's; */
  bool in_init, in_reduction; /* in_reduction: or in a probe */
  bool in_update;             /* or in a part of one that is reduced, */
  const Symbol *updated;      /* the scalar of the update in hand, whose parts may be reduced; NULL: they may not */
  int64_t ago;   /* how many steps back what is being checked is meant: k in the argument of a macro that reads X@k */
  bool at_start; /* fields are meant as they are at the start of the step, by X@0, if they are not older */
  int8_t scale;  /* what is being checked stands in fine(...) (1) or coarse(...) (-1) */
  const Box *region;    /* region of the piece in hand; */
  bool lacks[MAX_RANK]; /* by dimension: it does not have that (fields.h) */
  const CheckedStencil *stencil;
  const struct Sweeping *sweeping; /* if it is a sweep; NULL: it is none */
  Symbol *locals;                  /* lets, vars and parameters that can be seen, linked by next, newest first */
  CheckedPiece *piece;             /* whose block is in hand; NULL in a function */
  const Decl *function;            /* which is in hand; NULL outside */
  int32_t level, inlined;          /* blocks of for and if, and calls, around the place */
  int32_t depth, nodes;
  bool gave_up;          /* too many nodes: reported once */
  bool unread;           /* files that it includes could not be read: names that seem missing may be in them */
  bool incomplete;       /* parts of the program could not be read, so what seems missing may be there */
  Loc last_leave;        /* where an access out of its region was reported last */
  Loc drawn[2];          /* where random and normal were first used for random numbers; line 0: nowhere so far */
  int64_t order;         /* of the derivative whose points are being read, 0 in none */
  int dim;               /* and its dimension */
  bool uneven[MAX_RANK]; /* is it, or one about it, in a dimension whose coordinates an array has? */
  bool grid_failed;      /* a grid was declared, but wrongly; or its lack was reported */
  int32_t nreported;
  struct {
    Loc loc;
    const char *message;
  } reported[MAX_ERRORS];
} Checker;

/* Checks all declarations into c->m and c->checked. */
void check_program(Checker *c, int n, Decl *const *decls);

/* `e` as seen from `env`, moved by `shift` (Module rank places), with types. Never NULL: EXPR_BAD after reporting. */
Expr *check_expr(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* Gives the operation `e` its type from its checked kids, none of them bad, adapting literals among them; e->type is
 * the target of a conversion. EXPR_BAD after reporting. */
Expr *check_types(Checker *c, const Env *env, Expr *e);
/* The same of an expression met while `env` was expanded. */
Expr *check_coerce_in(Checker *c, const Env *env, Expr *e, Type want, const char *to);
/* Reports that kids x and y of the operation `e` are of different types, and says what to convert. Returns EXPR_BAD. */
Expr *check_mixed(Checker *c, const Env *env, const Expr *e, const Expr *x, const Expr *y);
/* How the operation is written: "'+'", "'if'", "'sqrt'". */
const char *check_spelling(Checker *c, Opcode op);
/* Gives a checked expression the type `want` if it is made of literals; else its type must be `want`. `to` names what
 * it is for ("field 'A'"). EXPR_BAD after reporting. */
Expr *check_coerce(Checker *c, Expr *e, Type want, const char *to);
/* A checked value for a place without a type of its own: literals become real. */
Expr *check_value(Checker *c, Expr *e);
/* Where a written type stands: for a single number, for any value in a computation, for what is stored (f16 and the
 * like too). */
typedef enum TypeUse { TYPE_SCALAR, TYPE_VALUE, TYPE_STORED } TypeUse;
/* The type written as `e` (NULL: TY_NONE) into *out. False after reporting that there is none, or none that may stand
 * there. */
bool check_type_expr(Checker *c, const TypeExpr *e, TypeUse use, Type *out);
/* The members of struct `d` into *out. False after reporting. */
bool check_members(Checker *c, const Decl *d, Member **out);
/* What is computed with if a value of type `t` is read: f32 for f16 and bf16, i32 for i8, i16, u8 and u16, vectors of
 * these for vectors; else t. */
Type check_value_type(Checker *c, Type t);
/* The type of a vector's components, however deep: t itself unless it is a vector; TY_NONE of structs and vectors of
 * them. */
Type check_base(const Checker *c, Type t);
/* A type as messages name it. */
const char *check_type_words(const Checker *c, Type t);
/* `e` as a value of its value type. */
Expr *check_widen(Checker *c, Expr *e);
/* Open values (TY_BRACES): `e` as a vector, if its values name a type, else open as it is; `e`, open or a literal, with
 * components of type `base`. EXPR_BAD after reporting. */
Expr *check_settle(Checker *c, const Env *env, Expr *e);
Expr *check_close_as(Checker *c, const Env *env, Expr *e, Type base);
/* The part of check_coerce_in about open values, vectors, structs and storage types; NULL if `e` and `want` are
 * neither. */
Expr *check_coerce_composite(Checker *c, const Env *env, Expr *e, Type want, const char *to);
/* Is one of kids `first` and on open or of composite type? Then: the one type that they are given, a scalar among
 * vectors staying one; TY_NONE after reporting. */
bool check_has_vector(const Checker *c, const Expr *e, int first);
Type check_unify_vectors(Checker *c, const Env *env, Expr *e, int first);
/* Widens the two values of the choice `e`, unless they are of one type or one is a literal that fits the other's. */
void check_same_choice(Checker *c, Expr *e);
/* The conversion `e` of a vector to components of type e->type. */
Expr *check_convert_vector(Checker *c, const Env *env, Expr *e);
/* The member or component of the checked value `base` that `e` names. */
Expr *check_member(Checker *c, const Env *env, const Expr *e, Expr *base);
/* The number of the member that `e` names, of a value of composite type; -1 after reporting. */
int64_t check_member_number(Checker *c, const Env *env, const Expr *e, const Expr *base);
/* Checks `e` in its place: only what `allowed` says may occur; `what` says in messages what it is. */
Expr *check_in(Checker *c, const Expr *e, const Env *env, Allowed allowed, const char *what);
/* An integer constant. False after reporting. */
bool check_const_int(Checker *c, const Expr *e, const Env *env, const char *what, int64_t *out);
/* The macro's body names only its parameters and what is declared. */
void check_op_body(Checker *c, const Decl *op);
/* "undefined name", with what may have been meant. */
Expr *check_undefined(Checker *c, const Env *env, Loc loc, const char *name, bool (*fits)(const Symbol *));
/* Reports an error met while `env` was expanded, with notes of the macro calls that led there; the same error at the
 * same place only once. Returns EXPR_BAD. */
Expr *check_error(Checker *c, const Env *env, Loc loc, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The literal int or float expression as an expression of type `t`; EXPR_BAD after reporting that it does not fit. */
Expr *check_adapt(Checker *c, const Env *env, Expr *e, Type t);
/* The i64 `e` that adapts as the type `t` of integers; EXPR_BAD after reporting that a literal does not fit. */
Expr *check_readapt(Checker *c, const Env *env, Expr *e, Type t);

/* Was the same text reported at the same place before? Remembers it. */
bool check_repeated(Checker *c, Loc loc, const char *message);
/* The macro or function in whose expansion `env` is, NULL if it is in none. */
const Env *check_macro_of(const Env *env);
/* The argument bound to the name, NULL if it is no parameter of the macro `env`. */
const Expr *check_argument(const Env *env, const char *name);
/* The local of that name in the block in hand; macros do not see it. */
Symbol *check_find_local(const Checker *c, const Env *env, const char *name);
/* Do the brackets of `e`, behind its first kid, move a macro that is called there, and do not pick a component? */
bool check_is_moved(const Checker *c, const Expr *e, const Env *env);
/* A field that the macro's body names, or "idx", itself or by other macros; NULL if it names neither. */
const char *check_op_reads(const Checker *c, const Decl *op);
/* Warns if all arguments of the call of the macro `op` are moved by the same offset, and the macro names fields or idx
 * itself, which stay. */
void check_moved_arguments(Checker *c, const Expr *call, const Symbol *op);

/* `e`, a number above 0 that launching knows and that is `what`, as an f64. EXPR_BAD after reporting. */
Expr *check_length(Checker *c, const Expr *e, const char *what);
/* The spacing and the time step of the grid `d` on `box`. False after reporting. */
bool check_metric(Checker *c, const Decl *d, const Box *box);
/* Is `e` a call of the built-in function `name`, a name that nothing declares? */
bool check_is_builtin(const Checker *c, const Expr *e, const char *name);
/* The bound of the grid, as an i64. */
Expr *check_bound(Checker *c, const Expr *bound);
/* coord(d), of the point moved by `shift`. */
Expr *check_coord(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* diff(X, d, ...): the sum that stands for the derivative. */
Expr *check_diff(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

/* sum, prod, min or max over an index: its terms, from left to right. */
Expr *check_reduce(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* The element of a table, e->kids[0] being the index: a constant, or looked up when it runs. */
Expr *check_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table);
/* Makes `s` the constant `v`, which adapts like a literal. */
void check_int_symbol(Symbol *s, int64_t v);
/* The index of the reductions around `env`, up to the macro being expanded, that has this name; NULL if none has. */
Symbol *check_find_index(const Env *env, const char *name);
/* Reports if the name that a reduction gives its index is taken; `op` (may be NULL) is the macro in whose body it
 * stands. */
bool check_index_name(Checker *c, const Env *env, const Expr *name, const Decl *op);
/* A checked leaf; a checked operation, which still needs its type; an expression that was reported. */
/* Reports that the value `name` has no place where the checker is. */
Expr *check_not_allowed(Checker *c, const Env *env, Loc loc, const char *name);
/* The number of the step that is meant, an i64; coordinate `d` of the point moved by `shift`, likewise. */
Expr *check_step(Checker *c, Loc loc);
Expr *check_coordinate(Checker *c, Loc loc, int d, const int64_t *shift);
/* Is `e` a call of the built-in random or normal, whose name nothing declares? The call `e` of one. */
bool check_is_random(const Checker *c, const Expr *e);
Expr *check_random(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* Notes that `e` is such a call. Has there been one of the name that `d` declares, which cannot mean two things?
 * Reports it then. */
void check_note_random(Checker *c, const Expr *e);
bool check_was_random(Checker *c, const Decl *d);
Expr *check_leaf(Checker *c, ExprKind kind, Type t, Loc loc, Symbol *sym);
Expr *check_operation(Checker *c, Opcode op, Loc loc, int n, Expr *const *kids);
Expr *check_bad(Checker *c, Loc loc);
/* Reports the value `name`, which has no place where the checker is. Returns EXPR_BAD. */
Expr *check_not_allowed(Checker *c, const Env *env, Loc loc, const char *name);
/* `x` + `by`, both i64. */
Expr *check_plus(Checker *c, Expr *x, int64_t by);
/* Dimension number `e`, behind "the dimension of WHAT", into *out. False after reporting that the grid has none such.
 */
bool check_dimension(Checker *c, const Expr *e, const Env *env, const char *what, int *out);

/* Of field `f`, named as `name` at `loc`, the level `k` >= 1: its symbol; NULL after reporting that it has none. */
Symbol *check_past(Checker *c, const Env *env, Loc loc, Symbol *f, int64_t k);
/* What has field `f`, no input, as it is at the start of the running step; NULL after reporting. */
Symbol *check_start(Checker *c, const Env *env, Loc loc, Symbol *f);
/* Gives the field that `s` stands for the history that `d` asks for. False after reporting. */
bool check_history(Checker *c, const Decl *d, Symbol *s);
/* Warns of fields with a history that no stencil writes. */
void check_histories_move(Checker *c);
/* param NAME[extent] : TYPE; into `out`. False after reporting. */
bool check_array(Checker *c, const Decl *d, ParamArray *out);
/* Element `index`, of type i64 or a literal, of the launch-time array. */
Expr *check_element_at(Checker *c, Loc loc, Symbol *array, Expr *index);
/* The element of a launch-time array, e->kids[0] being the index. */
Expr *check_array_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array);
/* The number of steps behind 'every' of `d`, at least 1. False after reporting. */
bool check_every(Checker *c, const Decl *d, int64_t *every);
/* The number behind `every` of a stencil or init, if there is one, into s->every. False after reporting. */
bool check_stencil_every(Checker *c, const Decl *d, CheckedStencil *s);
/* Reports the read of temp field `f` in steps in which a stencil that writes it does not run. */
void check_every_read(Checker *c, Loc loc, const Symbol *f, const Env *env);
/* The reduce or until `d` over the box `over`, except for its scalar. False after reporting. */
bool check_reduction(Checker *c, const Decl *d, const Box *over, CheckedReduction *out);
/* The probe `d`, whose points lie in `within` (NULL: the grid, or where the coordinates say). False after reporting. */
bool check_probe(Checker *c, const Decl *d, const Box *within, CheckedProbe *out);
/* The inject `d` of field `f`, likewise, as the only piece of `s`. False after reporting. */
bool check_inject(Checker *c, const Decl *d, const Symbol *f, const Box *within, CheckedStencil *s);
/* What `d` adds up at its points, which lie in `within` (NULL: as above), over *over: at each of these the f64 that is
 * the sum of the values of the points of the list there. EXPR_BAD after reporting, NULL if it is about the points. */
Expr *check_at_points(Checker *c, const Decl *d, const Box *within, Box *over);
/* Adds the loss `d`, over `over`, or at points in `within` (NULL: of the grid); and the gradient `d`. False after
 * reporting. */
bool check_loss(Checker *c, const Decl *d, const Box *within);
bool check_gradient(Checker *c, const Decl *d);
/* Adds the fields and arrays of the lists to the module, behind all that is declared; and the arrays of weights. */
void check_add_lists(Checker *c);
void check_add_weights(Checker *c);
/* The value of type `t`, f64 or i64, of the checked `e`, converted from narrower ones. EXPR_BAD after reporting that it
 * is no number. */
Expr *check_accumulated(Checker *c, Expr *e, Type *t);
/* The first value, a checked expression of type *t, of the scalar `d`. EXPR_BAD after reporting. */
Expr *check_first(Checker *c, const Decl *d, Type *t);
/* Adds the update `d`, and those of the parts that are reduced. */
void check_update(Checker *c, const Decl *d);
/* A part OP(...) over REGION of an update, the scalar that holds it. */
Expr *check_over(Checker *c, const Expr *e, const Env *env);
/* The value of the scalar `sym` that is kept. */
Expr *check_state(Checker *c, const Env *env, Loc loc, Symbol *sym);
/* The grid's first point, where what has no points is computed. */
Box check_first_point(const Checker *c);
/* A hidden scalar of type `t`, which no step leaves to the next. */
Symbol *check_hidden_state(Checker *c, const char *name, Type t, Loc loc);
/* Opens the repeat `d`; closes the innermost one. False after reporting that `d` cannot stand in the one in hand. */
void check_open_repeat(Checker *c, const Decl *d);
void check_close_repeat(Checker *c, const Decl *d);
bool check_in_repeat(Checker *c, const Decl *d);
/* The number of the round in hand. */
Expr *check_round(Checker *c, const Env *env, Loc loc);
/* May temp field `f` be read at this place, and `s` write its targets? False after reporting. */
bool check_repeat_read(Checker *c, const Env *env, Loc loc, const Symbol *f);
bool check_repeat_writes(Checker *c, const CheckedStencil *s);
/* Notes that level `k` of `field` is read; in the end reports those that can only be mistaken. */
void check_note_past(Checker *c, Loc loc, int field, int64_t k);
void check_repeats_past(Checker *c);
/* Adds the repeats to the module; reports, of that, an until whose condition its repeat does not change. */
void check_add_repeats(Checker *c);
bool check_repeats_end(const Module *m, Diags *d);
/* What `d`, an until or reduce of an expression without points, comes to; its head and body, but not its scalar. False
 * after reporting. */
bool check_condition(Checker *c, const Decl *d, CheckedReduction *out);
/* The condition on that value, the scalar `s`. */
Expr *check_met(Checker *c, const Decl *d, Symbol *s);
/* Adds the states to the module, behind all arrays that there are. */
void check_add_states(Checker *c);
/* The box of `d`, the grid if it names none. False after reporting. */
bool check_box(Checker *c, const Decl *d, Box *out);
/* The condition of until `d`, whose value is the scalar `s`. EXPR_BAD after reporting. */
Expr *check_stop(Checker *c, const Decl *d, Symbol *s);
/* An integer expression of params, `what` in messages. False after reporting. */
bool check_affine(Checker *c, const Expr *e, const char *what, Affine *out);

/* Counts the next thing to be checked, at `at`; false, after reporting it once, if the program has become too large. */
bool check_more(Checker *c, Loc at, const Env *env);

/* Statements in order; of a piece's block those of c->piece. */
void check_statements(Checker *c, const Env *env, int n, Stmt *s);
/* TARGET = VALUE in the block of c->piece. */
void check_target(Checker *c, const Env *env, const Stmt *st);
/* Leaves a block: forgets the locals newer than `outer`. */
void check_leave(Checker *c, Symbol *outer);
/* Warns of lets and vars that nothing uses. */
void check_unused(Checker *c, int n, const Stmt *s);
/* Is the name of something new in a block, `what`, free? Reports if not. */
bool check_local_name(Checker *c, const Env *env, const char *name, Loc loc, const char *what);
/* A local of that name with the value `value` (NULL or EXPR_BAD: one that was reported). */
Symbol *check_add_local(Checker *c, const Env *env, SymbolKind kind, const char *name, Loc loc, Expr *value);
/* The function `d`; the types of its parameters and of its result. False after reporting. */
bool check_function(Checker *c, const Decl *d, Type **types, Type *type);
/* The call `e` of function `f`. */
Expr *check_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *f);
/* False after reporting, in a function: `name`, which is `what`, belongs to the point. */
bool check_function_reads(Checker *c, const Env *env, Loc loc, const char *name, const char *what);

/* The region as written to a box of the grid's rank (of its own if there is no grid yet). False after reporting. */
bool check_region(Checker *c, const RegionExpr *r, Box *out);
/* The same, in which stars may stand, for dimensions at which the box is 0; lacks[d] (NULL: they may not) becomes true
 * there. */
bool check_region_of(Checker *c, const RegionExpr *r, Box *out, bool *lacks);
/* `inner` lies inside the region `outer`, by its constants or by launch checks, or has no points; `inner_text` and
 * `outer_text` name them in messages. */
bool check_inside(Checker *c, Loc loc, const Box *inner, const char *inner_text, const Box *outer,
                  const char *outer_text);
/* An access to `field` at `off` from c->region stays where the field has values; of a temp field, values written before
 * in this step. Errors are followed by notes of `env`. */
void check_access(Checker *c, Loc loc, Symbol *field, const int64_t *off, const Env *env);
/* The box of the name of a grid, region or field; NULL after reporting that it is none. */
const Box *check_region_name(Checker *c, Loc loc, const char *name);
/* No two pieces of `s` overlap. */
void check_overlap(Checker *c, const CheckedStencil *s);
/* ---------------------------------------------------------------- values used several times: share.c */

/* `e`, checked and of a type of its own, as an expression that may be used several times and is computed once.
 * Constants come out as such, composite values other than a field's as EXPR_BRACES or EXPR_SPREAD of such expressions.
 */
Expr *share(Checker *c, Expr *e, const char *name);
/* Member `i`, of type `t`, of the checked composite value `e`. */
Expr *share_member(Checker *c, Expr *e, int i, Type t);
/* The shared values that `e` and those values need, each behind those that it needs itself, without what was listed for
 * the same `place` before. */
int shared_values(Arena *a, const Expr *e, const void *place, Symbol ***out);

/* ---------------------------------------------------------------- lower.c, dump.c */

/* Text to checked program, as far as errors, which are reported, let it come; *parsed is what was parsed, *tokens all
 * tokens. unread: its includes could not be read and stand in it, and what seems missing may be in them. */
Checker *front_program(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o, bool unread,
                       Parse *parsed, const Token **tokens);
/* Fills scalars' expressions, inits and stencils of c->m. */
void lower_program(Checker *c);
/* The checked program as an indented tree. */
char *dump_program(Checker *c);

#include "frontend/fold.h"

#endif
