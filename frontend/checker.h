/* frontend/checker.h: the checked program, and what checks it (private to frontend/). What it is made of: ast.h.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones; up there is one way,
 * check_expr, which goes by the table Checker.rules that the topmost layer of expressions hands down.
 *
 *   base/, what each check stands on:
 *     nodes.c                       nodes of checked expressions, errors, check_expr
 *     names.c                       what a name means where it stands
 *     fold.c scalars.c              constant expressions, affine bounds, and the scalars that have them (fold.h)
 *     share.c                       values that several places of an expression use
 *     check_type.c                  expressions: types, literals adapted
 *     check_composite.c             types as written; vectors, structs and their members; storage types
 *     check_complex.c               complex numbers (complex.h)
 *     check_region.c                regions and launch checks (bounds.h)
 *   check/, what expressions read and are:
 *     check_lacking.c               fields that do not have all dimensions (fields.h)
 *     check_time.c                  older time levels, reductions between steps, launch-time arrays
 *     check_start.c                 fields as they are at the start of a step
 *     check_access.c                accesses to fields, pieces that overlap, what temp fields hold (bounds.h)
 *     check_mask.c                  masks, where, dry (fields.h)
 *     parse_frames.c check_frames.c   fields that are series of frames (fields.h)
 *     check_ensemble.c              members (ensemble.h)
 *     check_sum.c                   sum, prod, min, max over offsets; elements of tables
 *     check_lookup.c                elements of two indices, lookup (check/lookup.h)
 *     check_within.c                fields at offsets that depend on data (check/lookup.h)
 *     check_random.c                random numbers
 *     check_diff.c                  the grid's spacing, coordinates, derivatives as sums over neighbours
 *     check_levels.c                the regions of levels, fine and coarse (levels.h)
 *     check_move.c                  macros at a neighbour
 *     check_stmt.c                  statements of blocks: lets, vars, loops
 *     check_piece.c                 pieces of stencils: what is assigned to targets (check/declare.h)
 *     check_fn.c                    functions
 *     check_absorb.c absorb.c       absorbing layers; the stencils that they make of one
 *     check_scalar.c                scalars that are kept, their updates, until on them
 *     check_repeat.c                repeats within a step
 *     check_every.c                 stencils that run every so many steps
 *   and over these:
 *     check_expr.c                  all kinds of expressions, as the table check_rules
 *     check_const.c                 constants and tables (check/declare.h)
 *     check_outside.c               what is beyond the edges of fields (check/declare.h)
 *     check_point.c                 probes and injects, lists of points
 *     check_gradient.c              losses, and what they are differentiated by
 *     check.c         Checked       declarations: every name resolved, every type known, Module's declarations filled
 *   dump.c                          Checked as text
 *   lower.c                         Checked to a stencil IR module
 *   outline.c                       what editors want to know
 */
#ifndef STC_CHECKER_H
#define STC_CHECKER_H

#include "frontend/ast.h"

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

/* Is `field` a target of `s`? */
static inline bool checked_writes(const CheckedStencil *s, int field) {
  int i = 0;
  while (i < s->ntargets && s->targets[i] != field)
    i++;
  return i < s->ntargets;
}

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

/* How expressions of one kind are checked: `e` as seen from `env`, moved by `shift`. */
typedef struct Checker Checker;
typedef Expr *ExprRule(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

struct Checker {
  Arena *arena;
  Diags *d;
  int32_t file; /* of the source, in Loc */
  Module *m;
  ExprRule *const *rules; /* by ExprKind: check_rules; NULL: expressions of that kind are bad */
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
  bool one, by_member;        /* what is computed is one number of all members; it reads what each of them has */
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
};

/* Checks all declarations into c->m and c->checked. */
void check_program(Checker *c, int n, Decl *const *decls);

/* How expressions are checked, by ExprKind: Checker.rules. */
extern ExprRule *const check_rules[EXPR_LOCAL + 1];
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
/* Where a written type stands: for a single number, or a complex one; for any value in a computation; for what is
 * stored (f16 and the like too). */
typedef enum TypeUse { TYPE_SCALAR, TYPE_COMPLEX, TYPE_VALUE, TYPE_STORED } TypeUse;
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
/* Has an error reported already that `name` is not declared in the line of `loc`? Notes that one has, if not. */
bool check_told(Checker *c, Loc loc, const char *name);
/* The macro or function in whose expansion `env` is, NULL if it is in none. */
const Env *check_macro_of(const Env *env);
/* The argument bound to the name, NULL if it is no parameter of the macro `env`. */
const Expr *check_argument(const Env *env, const char *name);
/* The local of that name in the block in hand; macros do not see it. */
Symbol *check_find_local(const Checker *c, const Env *env, const char *name);
/* What the name stands for: an index of a sum, else a local, else what is declared; NULL: nothing. */
Symbol *check_find_any(Checker *c, const Env *env, const char *name);
/* The local of that name, even where a macro is expanded; NULL if there is none. */
Symbol *check_own_local(const Checker *c, const char *name);
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
/* A checked leaf; a checked operation, which still needs its type. */
Expr *check_leaf(Checker *c, ExprKind kind, Type t, Loc loc, Symbol *sym);
Expr *check_operation(Checker *c, Opcode op, Loc loc, int n, Expr *const *kids);
/* The operation on two values of f64, of i64. */
Expr *check_both(Checker *c, Opcode op, Expr *x, Expr *y);
Expr *check_whole(Checker *c, Opcode op, Expr *x, Expr *y);
/* An expression that was reported. */
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
/* Warns if `e`, the value of the param or scalar `d` without a type, is another number than its text gives among reals:
 * 1 / 100 among integers is 0. `real`: the type to write if that is not meant. */
void check_warn_of_quotient(Checker *c, const Decl *d, const Expr *e, const char *real);
/* The first value, a checked expression of type *t, of the scalar `d`. EXPR_BAD after reporting. */
Expr *check_first(Checker *c, const Decl *d, Type *t);
/* Adds the update `d`, and those of the parts that are reduced. */
void check_update(Checker *c, const Decl *d);
/* A part OP(...) over REGION of an update, the scalar that holds it. */
Expr *check_over(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* The value of the scalar `sym` that is kept. */
Expr *check_state(Checker *c, const Env *env, Loc loc, Symbol *sym);
/* The grid's first point, where what has no points is computed. */
Box check_first_point(const Checker *c);
/* A hidden scalar of type `t`, which no step leaves to the next. */
Symbol *check_hidden_state(Checker *c, const char *name, Type t, bool each, Loc loc);
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

#include "frontend/base/fold.h"

#endif
