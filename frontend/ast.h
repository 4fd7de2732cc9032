/* frontend/ast.h: the syntax tree and names (private to frontend/). What becomes of it: checker.h.
 *
 *   include.c                       other files put in place
 *   lex.c           Token           characters to tokens (token.h)
 *   parse.c         Decl            tokens to declarations
 *   parse_tokens.c                  the next token: is it this one, take it, report it
 *   parse_expr.c    Expr            tokens to expressions
 *   parse_parts.c                   names, types, regions, ends: parts that several declarations have
 *   parse_stmt.c    Stmt            tokens to statements and functions
 *   parse_point.c                   tokens to probes and injects, masks, and absorbing layers (absorb.h)
 *   parse_scalar.c                  tokens to scalars, updates, reduce and until
 *   parse_repeat.c                  tokens to repeats
 *   parse_members.c                 tokens to members (ensemble.h)
 *   parse_within.c                  tokens to offsets that depend on data
 *   parse_gradient.c                tokens to losses and gradients
 *   expand_levels.c parse_levels.c  levels of the grid, and what is written out for each (levels.h)
 *   habits.c                        what is written elsewhere, and what to write instead
 *   symbol.c        Symbol          names and what they stand for
 */
#ifndef STC_AST_H
#define STC_AST_H

#include "frontend/token.h"

/* ---------------------------------------------------------------- the tree: parse.c parse_tokens.c parse_expr.c
 * parse_parts.c parse_stmt.c parse_point.c parse_scalar.c parse_repeat.c parse_gradient.c parse_within.c */

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
  EXPR_NAMED,  /* name = kids[0], in braces; `name kids[0]`, among the arguments of diff; `within kids`, among those of
                  at */
  EXPR_NAME,   /* name */
  EXPR_ACCESS, /* name[kids] */
  EXPR_WITHIN, /* name[[offsets] within bounds]; kids: the offsets, then a bound for each */
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
  bool adapts; /* checked only: an i64 made of literals alone, by operations of integers, which takes another
                  type of integers that it meets */
  bool kept; /* checked only: of EXPR_OP: stays an operation where it has constants alone, since a pass looks for it */
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
  Expr *right, *every; /* table, array: columns, or NULL; inject: op OP_ADD adds, OP_COUNT sets; right: how many points
                          may be at one place, or NULL. grid: right: the time step, or NULL */
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
/* The same behind the word at hand, which names it. */
Expr *parse_named_expr(Parse *p);
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
bool parse_take_word(Parse *p, const char *word, const char *expected); /* takes the word, else reports it */
void parse_error(Parse *p, const char *expected); /* "expected WHAT, found TOKEN" at the next token */
bool parse_enter(Parse *p);                       /* one more bracket level; false after reporting too many */
/* A declaration called `name`, at once in the list as DECL_BAD; it gets its kind when it is complete. */
Decl *parse_declare(Parse *p, Name name);
/* A new name at the next token, `what` says of what. */
bool parse_new_name(Parse *p, const char *what, Name *out);
/* NAME, ... : TYPE, members of `d`; what is expected for a name and the colon. */
bool parse_typed_names(Parse *p, Decl *d, const char *name, const char *colon);
/* A declaration of the name that stands there, which `what` is to be; NULL after reporting that there is none. */
Decl *parse_named(Parse *p, const char *what);
bool parse_optional_type(Parse *p, const TypeExpr **out); /* ": TYPE" if there is one; false after reporting */
Expr *parse_initializer(Parse *p);                        /* "= EXPR"; NULL after reporting */
/* The semicolon after a declaration; in the paper's notation (`paper`) the end of the line does too. A missing one at
 * the end of a line is reported there. */
bool parse_end(Parse *p, bool paper);
/* "[ITEM, ...]", each item by `one`, into d->values; `expected` says what the bracket begins. */
bool parse_in_brackets(Parse *p, Decl *d, const char *expected, Expr *(*one)(Parse *));
/* A region or the name of one, at the next token; `word` stands in front of it. */
bool parse_region_of(Parse *p, Decl *d, const char *word);
/* "[EXPR, ...]", the lengths of an array or a table, into `d`; a star, if it is there. */
bool parse_lengths(Parse *p, Decl *d);
bool parse_accept_star(Parse *p);
/* "[lo .. hi, ...]"; NULL after reporting. "(FIELD, ...)", the targets of `d`. */
RegionExpr *parse_region(Parse *p);
/* Names up to a closing parenthesis, each `what`, into d->names; fresh: they are new. */
bool parse_names(Parse *p, Decl *d, const char *what, bool fresh);
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
/* NAME[[OFFSETS] within BOUNDS], at the second bracket; `within BOUNDS` as an argument of at, at the word. */
Expr *parse_within(Parse *p, const Token *name);
Expr *parse_within_argument(Parse *p);
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
  SYM_COMPLEX, /* a param or a let of complex numbers, which are two of its parts */
  SYM_STRUCT,
  SYM_GRID,
  SYM_REGION,
  SYM_FIELD,
  SYM_OP,
  SYM_FN,
  SYM_STENCIL,
  SYM_ARRAY,
  SYM_COMPLEX_ARRAY, /* one of complex numbers, which are two of its parts */
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
  bool still;     /* value: it is the same wherever a macro reads it, as the number of an inject's point is */
  Stmt *stmt;     /* local, var, value: its declaration */
  Type *types;    /* fn: of its parameters */
  bool each;      /* scalar that is kept: each member has its own */
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
  Symbol **elems;  /* table, by rows; complex number, array of them: real and imaginary part */
  int32_t columns; /* 0: it has one index */
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

/* What to write in place of a name that is no rule for what is beyond a field's edges: NumPy's modes of padding, and
 * names of boundary conditions. NULL: no advice. */
const char *habit_of_rule(const char *name);

#endif
