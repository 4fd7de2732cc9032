/* frontend/ast.h: the syntax tree and names (private to frontend/). The checked program: checker.h.
 *
 *   include.c                       replaces includes by other files
 *   lex.c           Token           characters to tokens (token.h)
 *   parse.c         Decl            tokens to declarations
 *   parse_tokens.c                  tests, takes and reports the next token
 *   parse_expr.c    Expr            tokens to expressions
 *   parse_parts.c                   names, types, regions, ends: parts that several declarations have
 *   parse_stmt.c    Stmt            tokens to statements and functions
 *   parse_point.c                   tokens to probes and injects, masks, and absorbing layers (absorb.h)
 *   parse_scalar.c                  tokens to scalars, updates, reduce and until
 *   parse_repeat.c                  tokens to repeats
 *   parse_members.c                 tokens to members (ensemble.h)
 *   parse_within.c                  tokens to offsets that depend on data
 *   parse_gradient.c                tokens to losses and gradients
 *   expand_levels.c parse_levels.c  levels of the grid, and declarations that are repeated for each (levels.h)
 *   habits.c                        notations of other languages, and what to write instead
 *   symbol.c        Symbol          names and their meanings
 */
#ifndef STC_AST_H
#define STC_AST_H

#include "frontend/token.h"

/* ---------------------------------------------------------------- the tree: parse.c parse_tokens.c parse_expr.c
 * parse_parts.c parse_stmt.c parse_point.c parse_scalar.c parse_repeat.c parse_gradient.c parse_within.c */

/* Limits that keep recursion shallow and expansion small: the height of an expression's tree; the depth of nested
 * brackets; the height of the tree after macros are expanded; the nodes of all expanded expressions; the amount of an
 * offset. */
enum { MAX_HEIGHT = 1000, MAX_NESTING = 200, MAX_DEPTH = 3000, MAX_NODES = 1 << 18, MAX_OFFSET = 1 << 30 };
/* The most operands of an operation. */
enum { MAX_KIDS = 6 };
/* The most terms of a sum over offsets; the most values of a table whose index is not constant. */
enum { MAX_TERMS = 1024, MAX_LOOKUP = 256 };

/* Types of expressions whose type is still open: of values in braces; of integer literals only; of literals with a
 * float among them. */
enum { TY_BRACES = 0xfffd, TY_LITERAL_INT = 0xfffe, TY_LITERAL_FLOAT = 0xffff };
/* The most composite types of a program. */
enum { MAX_COMPOSITES = 4096 };
static inline bool type_is_literal(Type t) { return t >= TY_LITERAL_INT; }

typedef enum ExprKind {
  /* parsed and checked */
  EXPR_BAD, /* an error has been reported */
  EXPR_INT, /* name: the literal as written */
  EXPR_FLOAT,
  EXPR_BOOL, /* value.i */
  EXPR_OP, /* op on kids; neg of a literal remains an operation. On vectors it works by component, with a scalar kid for
              each */
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
  EXPR_REDUCE, /* a reduction over an index, name: op over kids: the index's name, first, last, body */
  EXPR_OVER,   /* name(kids[0]) over a region, which `over` describes */
  /* checked only */
  EXPR_SPREAD, /* a vector all of whose components are kids[0] */
  EXPR_CONST,  /* sym, a const or an element of a table: its value */
  EXPR_SCALAR, /* sym, a param or a top-level let */
  EXPR_FIELD,  /* sym, a field, at off */
  EXPR_INDEX,  /* coordinate of dimension value.i */
  EXPR_STEP,
  EXPR_ELEMENT, /* sym, a launch-time array; kids[0] the index */
  EXPR_LOCAL    /* sym, a let of this block, or a value that is used in several places */
} ExprKind;

typedef struct Expr Expr;
typedef struct Symbol Symbol;

/* A node of an expression. The parser makes it; the checker makes a new tree with types, resolved names and expanded
 * macros. */
struct Expr {
  ExprKind kind;
  Type type; /* checked only; TY_NONE of EXPR_BAD */
  Opcode op; /* of EXPR_OP; a conversion is OP_CONVERT, an if OP_SELECT */
  Loc loc;
  int32_t height; /* height of the tree below, including this node */
  int32_t n;
  Expr **kids;
  const char *name;
  Symbol *sym;
  Const value;
  int64_t off[MAX_RANK];
  const struct Decl *over; /* parsed only: of EXPR_OVER, op, value and region */
  Expr *level;             /* parsed only: of a name or an access, k of NAME@k; NULL if it has none */
  bool behind;             /* checked only: of EXPR_FIELD: the value that the present sweep has left there */
  int8_t scale;            /* the field is on the next finer level (1) or the next coarser one (-1) */
  bool imaginary;          /* of EXPR_BRACES: {0, b}, from an imaginary literal, or from several (complex.h) */
  bool adapts; /* checked only: an i64 of literals only, by integer operations, which takes on another integer type that
                  it meets */
  bool kept;   /* checked only: of EXPR_OP: not folded even if all operands are constant, because a pass looks for it */
};

/* A type as written: a name and the lengths after it, f32[3]. */
typedef struct TypeExpr {
  Loc loc;
  const char *name;
  int32_t n;
  Expr **lengths;
} TypeExpr;

/* lo .. hi in one dimension; hi NULL: the single point lo; both NULL: a star, the dimension is lacking. */
typedef struct RangeExpr {
  Expr *lo, *hi;
} RangeExpr;
/* A name as written; level: k of NAME@k, 0 if there is none. */
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

/* A step of the path to a target: .member or [index]. */
typedef struct PathStep {
  Loc loc;
  const char *member;
  Expr *index;
} PathStep;

/* A statement of a block; its members depend on its kind. */
typedef struct Stmt Stmt;
struct Stmt {
  StmtKind kind;
  Loc loc; /* of the name; of the keyword if there is none */
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
  bool failed;        /* the text after the name could not be parsed */
  bool reached, used; /* let, var: the checker has reached it; something reads it */
};
/* [region] = value (one statement without a name), or [region] { statements }; absorb: the layer after the region. */
typedef struct PieceDecl {
  Loc loc;
  RegionExpr *region;
  Name absorb;
  int32_t n;
  Stmt *stmts;
  bool is_block;
} PieceDecl;

typedef enum DeclKind {
  DECL_BAD, /* could not be parsed: the name counts as declared, and no further errors about it are reported */
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
  DECL_REPEAT,  /* value: the most rounds; the declarations that are repeated follow, up to */
  DECL_CLOSE,   /* the closing brace of the innermost open repeat */
  DECL_MEMBERS, /* value */
  DECL_LEVELS,  /* value .. right: their numbers; on: the grid */
  DECL_LOSS,    /* like a probe or a reduction over a region; every NULL: at the end */
  DECL_GRADIENT /* value: the sum of losses; names: the inputs with respect to which it is differentiated */
} DeclKind;

/* A member of a struct as written. */
typedef struct MemberDecl {
  Name name;
  const TypeExpr *type;
} MemberDecl;

/* The rule beyond one side of a field. `value`: the constant, or for an odd rule the number about which it is odd;
 * NULL: there is none. */
typedef struct SideDecl {
  OutsideRule rule;
  bool odd;
  Expr *value;
  Loc loc;
} SideDecl;

/* A declaration; there is one for each name. */
typedef struct Decl {
  DeclKind kind;
  Loc loc; /* of the name */
  const char *name;
  const TypeExpr *type; /* NULL: not given */
  Expr *value;        /* param, const, let, op, fn: value; grid: steps; table, array: extent; reduce, until: the reduced
                         expression; probe, inject: the value */
  RegionExpr *region; /* grid, region, field (NULL: the grid), reduce, until; probe, inject: the region of the points */
  Name on;            /* field, reduce, until, probe, inject: region by name */
  int32_t nnames;
  Name *names; /* op: parameters; stencil, inject: targets */
  int32_t nvalues;
  Expr **values; /* table; probe, inject: coordinates; grid: the spacings, EXPR_NAMED "at" of an array's name */
  int32_t nmembers;
  MemberDecl *members; /* struct; fn: parameters */
  int32_t nstmts;
  Stmt *stmts;    /* fn: the statements before the value */
  int32_t nsides; /* field: 0 without outside; 1: for all sides; else two for each dimension, in order */
  SideDecl *sides;
  bool input, temp, shared;
  const struct DryDecl
      *dry; /* field: its mask, and the values of reads where that is false (fields.h); NULL: it has none */
  const struct FramesDecl *frames; /* field: it is a series of frames (fields.h); NULL: it is not */
  Expr *history;                   /* field: number of older levels, NULL if not given */
  Opcode op, compare;  /* reduce, until: how values are combined; until: how the result is compared with `right` */
  Expr *right, *every; /* table, array: columns, or NULL; inject: op OP_ADD adds, OP_COUNT sets; right: the most points
                          at one place, or NULL. grid: right: the time step, or NULL */
  int32_t npieces;
  PieceDecl *pieces;
  const struct AbsorbDecl *absorb; /* of an absorbing layer */
  const struct SweepDecl *sweep;   /* of a sweep, whose pieces are both on `region` (sweep.h) */
} Decl;

/* The parser: *t is the next token; the place where a missing closing brace was reported last; `ndone` declarations are
 * complete before the present one. */
typedef struct Parse {
  Arena *arena;
  Diags *d;
  const Token *t, *unclosed;
  bool raw;                 /* includes are not replaced, and have no effect */
  int32_t nesting, repeats; /* depth of brackets, and of repeats */
  int32_t ndecls, ndone;
  Decl **decls;
} Parse;

/* Parses the tokens to p->decls, in the order of the text. Reports errors; a declaration that could not be parsed
 * becomes a DECL_BAD if it had a name. */
void parse_program(Parse *p);
/* Parses an expression at p->t; reports an error and returns NULL if there is none. */
Expr *parse_expr(Parse *p);
/* The same after the present keyword, which names it in messages. */
Expr *parse_named_expr(Parse *p);
/* A node with `n` kids; NULL after reporting that it nests too deeply, or if a kid is NULL. */
Expr *expr_new(Parse *p, ExprKind kind, Loc loc, int n, Expr *const *kids);

/* Parses the declaration at p->t. False after an error that leaves its rest unread. */
bool parse_declaration(Parse *p);

/* Helpers of both parsers. */
bool parse_is(const Parse *p, Tok kind); /* is the next token of that kind */
bool parse_is_word(const Parse *p, const char *word);
bool parse_accept(Parse *p, Tok kind); /* if so, takes it */
/* Takes a token of that kind, or else reports "expected WHAT, found ...". */
bool parse_expect(Parse *p, Tok kind, const char *what);
bool parse_take_word(Parse *p, const char *word, const char *expected); /* takes the keyword, or else reports it */
void parse_error(Parse *p, const char *expected); /* reports "expected WHAT, found TOKEN" at the next token */
bool parse_enter(Parse *p); /* enters one more bracket; false after reporting that there are too many */
/* Adds a declaration named `name` to the list, first as DECL_BAD; it gets its kind when it is complete. */
Decl *parse_declare(Parse *p, Name name);
/* Parses a new name at the next token; `what` describes it in messages. */
bool parse_new_name(Parse *p, const char *what, Name *out);
/* Parses NAME, ... : TYPE, members of `d`; `name` and `colon` describe what is expected. */
bool parse_typed_names(Parse *p, Decl *d, const char *name, const char *colon);
/* A declaration with the next token as its name, described by `what`; NULL after reporting that there is none. */
Decl *parse_named(Parse *p, const char *what);
bool parse_optional_type(Parse *p, const TypeExpr **out); /* parses ": TYPE" if there is one; false after reporting */
Expr *parse_initializer(Parse *p);                        /* parses "= EXPR"; NULL after reporting */
/* Parses the semicolon after a declaration; in the paper's notation (`paper`) the end of the line suffices. If it is
 * missing at the end of a line, reports it there. */
bool parse_end(Parse *p, bool paper);
/* Parses "[ITEM, ...]" into d->values, with `one` for each item; `expected` describes what begins with the bracket. */
bool parse_in_brackets(Parse *p, Decl *d, const char *expected, Expr *(*one)(Parse *));
/* Parses a region, or the name of one, at the next token, after the keyword `word`. */
bool parse_region_of(Parse *p, Decl *d, const char *word);
/* Parses "[EXPR, ...]", the lengths of an array or a table, into `d`; or a star, if there is one. */
bool parse_lengths(Parse *p, Decl *d);
bool parse_accept_star(Parse *p);
/* parse_region: "[lo .. hi, ...]"; NULL after reporting. parse_targets: "(FIELD, ...)", the targets of `d`. */
RegionExpr *parse_region(Parse *p);
/* Parses names up to a closing parenthesis into d->names; `what` describes each; fresh: they must be new. */
bool parse_names(Parse *p, Decl *d, const char *what, bool fresh);
bool parse_targets(Parse *p, Decl *d);
/* Parses "every EXPR" at the end of a reduction or probe, or after the region or the targets of a stencil. */
bool parse_every(Parse *p, Decl *d);
/* parse_is_over: is OP(...) over REGION at p->t, where OP is sum, prod, min or max? parse_over: parses it as an
 * expression. */
bool parse_is_over(const Parse *p);
Expr *parse_over(Parse *p);
/* Parse, after the keyword: scalar NAME : TYPE = EXPR, ...; update NAME = EXPR; reduce NAME = ... every EXPR. At the
 * keyword: until ... */
bool parse_scalar(Parse *p);
bool parse_update(Parse *p);
bool parse_reduce(Parse *p);
bool parse_until(Parse *p);
/* parse_within: NAME[[OFFSETS] within BOUNDS], at the second bracket. parse_within_argument: `within BOUNDS` as an
 * argument of at, at the keyword. */
Expr *parse_within(Parse *p, const Token *name);
Expr *parse_within_argument(Parse *p);
/* Parses repeat NAME up to EXPR { ... }, after the keyword. */
bool parse_repeat(Parse *p);
/* Parse probe NAME = EXPR at POINT every EXPR; and inject NAME(FIELD) += EXPR at POINT; after the keyword. */
bool parse_probe(Parse *p);
bool parse_inject(Parse *p);
/* Parse "at [COORDINATE, ...] [in REGION]" of these; "up to N", if it is there. */
bool parse_places(Parse *p, Decl *d);
bool parse_up_to(Parse *p, Decl *d);
/* parse_begins_gradient: does a loss or a gradient begin at p->t? parse_gradient: parses it, from the keyword on. */
bool parse_begins_gradient(const Parse *p);
bool parse_gradient(Parse *p);
bool parse_begins_declaration(const Token *t); /* does the token begin a declaration wherever it stands? */
/* After an error: skips to after the next semicolon, or to a closing brace or the start of a declaration. */
void parse_skip(Parse *p);
void parse_skip_braces(Parse *p); /* skips from an opening brace to after its closing one */
/* Is p at the end of a block, or at a place where continuing is useless? */
bool parse_at_block_end(const Parse *p);
/* Parses statements up to a closing brace, which it takes, and adds them to body[n]. */
bool parse_block(Parse *p, int32_t *n, Stmt **body);
/* Reports the first return among the statements, if there is one. */
bool parse_no_return(Parse *p, int32_t n, const Stmt *s);
/* Parses fn NAME(PARAMETERS) : TYPE ..., after the keyword. */
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
  SYM_COMPLEX_ARRAY, /* an array of complex numbers, which are two of its elements */
  SYM_REDUCTION,
  SYM_PROBE,
  SYM_LAYER,
  SYM_LOSS,
  SYM_REPEAT,
  SYM_STATE, /* a scalar that is kept: its launch-time array, once lower_program has made it */
  SYM_LOCAL,
  SYM_VAR,
  SYM_VALUE,
  SYM_ARGUMENT /* a let of a stencil's block; a var; a let and a parameter of a function */
} SymbolKind;

/* Boxes in which all points of a temp field have been written: first the `written` boxes of the stencils' pieces, then
 * those that can be joined from them for all params. `full`: there were more than MAX_COVERED of those pieces. */
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
  Type type;     /* of the value, or a function's result; const: TY_LITERAL_* if it is open */
  int32_t index; /* param, let, reduction: scalar; field: field; array: launch-time array */
  const Decl *decl;
  Expr *value;    /* local: as parsed */
  const Env *env; /* local: the environment of that value */
  Expr *current;  /* var, value, argument: its present value, built from shared values */
  bool still;     /* value: it is the same wherever a macro reads it, such as the number of an inject's point */
  Stmt *stmt;     /* local, var, value: its declaration */
  Type *types;    /* fn: of its parameters */
  bool each;      /* scalar that is kept: each member has its own */
  bool adapts;    /* const: it is i64, unless it meets another integer type */
  bool is_affine;
  Affine affine; /* param, let of an integer type: its value, if it may be in a bound */
  Box box;       /* grid, region, field */
  int32_t npasts;
  Symbol **pasts;              /* field: its older levels, 1 and on */
  Symbol *start;               /* field: the temp field that holds its values from the start of the step; NULL: none */
  bool is_mask;                /* field: it is a mask */
  const struct Masked *masked; /* field: its mask (fields.h); NULL: it has none */
  const struct Framed *framed; /* field: its frames (fields.h); NULL: it has none */
  bool set_by_init, warned;    /* field: an init before this one sets it; it was reported that an init reads it unset */
  const Cover *cover;
  int32_t cover_stencil; /* temp field: the points that the stencils before number cover_stencil of Checker.checked have
                            written; -1: not known */
  int32_t n;
  Symbol **elems;  /* table, by rows; complex number, array of them: real and imaginary part */
  int32_t columns; /* 0: it has one index */
  bool have[TY_COMPOSITE];
  Const memo[TY_COMPOSITE]; /* const and element: its value by type */
  Expr **members;           /* local of composite type: its members as shared values, NULL where not made yet */
  Expr *checked;            /* shared value: its expression; NULL for a let of a block, which is lowered in its place */
  Value *lowered;           /* local: its value while a piece is lowered */
  const void *listed;
  bool visited;         /* shared value: for shared_values */
  Symbol *chain, *next; /* next in its hash bucket; next in order of declaration */
  const char *reads;    /* of a macro: check_op_reads */
  const struct Layer *layer;
};

/* Global names, in order of declaration from `first`, hashed by name. */
typedef struct Symbols {
  Symbol *bucket[1024], *first, *last;
} Symbols;
Symbol *symbols_find(const Symbols *s, const char *name);
void symbols_add(Symbols *s, Symbol *sym);
/* The symbol or reserved word with the fewest changed letters from `name`, among those that `fits` accepts (NULL: all;
 * it is called with NULL for a reserved word); NULL if none is near. */
const char *symbols_nearest(const Symbols *s, const Symbol *locals, const char *name, bool (*fits)(const Symbol *));
const char *symbol_words(const Symbol *s); /* its description: "a field" */

/* ---------------------------------------------------------------- notations of other languages: habits.c */

/* What to write instead of a token that stands in the place of `expected`, or of an undeclared name, if it is known
 * from other languages; else NULL. */
const char *habit_at(const Token *t, const char *expected);
const char *habit_of_name(const char *name);

/* What to write instead of a name that is no outside rule: for NumPy's modes of padding, and names of boundary
 * conditions. NULL: no advice. */
const char *habit_of_rule(const char *name);

#endif
