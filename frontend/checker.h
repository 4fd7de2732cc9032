/* frontend/checker.h: the checked program, and the checker (private to frontend/). The parsed program: ast.h.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones. One function calls
 * upwards: check_expr uses the table Checker.rules, which the topmost layer of expressions provides.
 *
 *   base/, the basis of all checks:
 *     nodes.c                       nodes of checked expressions, errors, check_expr
 *     names.c                       the meaning of a name at its place
 *     fold.c scalars.c              constant expressions, affine bounds, and their scalars (fold.h)
 *     share.c                       values that an expression uses in several places
 *     check_type.c                  expressions: types, literals adapted
 *     check_composite.c             types as written; vectors, structs and their members; storage types
 *     check_complex.c               complex numbers (complex.h)
 *     check_region.c                regions and launch checks (bounds.h)
 *   check/, the kinds of expressions and declarations:
 *     check_lacking.c               fields that lack dimensions (fields.h)
 *     check_time.c                  older time levels, reductions between steps, launch-time arrays
 *     check_start.c                 fields as they are at the start of a step
 *     check_access.c                accesses to fields, overlapping pieces, contents of temp fields (bounds.h)
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
 *     check_piece.c                 pieces of stencils: values assigned to targets (check/declare.h)
 *     check_fn.c                    functions
 *     check_absorb.c absorb.c       absorbing layers; the stencils that they make of one
 *     check_scalar.c                scalars that are kept, their updates, until on them
 *     check_repeat.c                repeats within a step
 *     check_every.c                 stencils that run every so many steps
 *   and above these:
 *     check_expr.c                  all kinds of expressions, as the table check_rules
 *     check_const.c                 constants and tables (check/declare.h)
 *     check_outside.c               rules beyond the edges of fields (check/declare.h)
 *     check_point.c                 probes and injects, lists of points
 *     check_gradient.c              losses, and the inputs of gradients
 *     check.c         Checked       declarations: every name resolved, every type known, Module's declarations filled
 *   dump.c                          Checked as text
 *   lower.c                         Checked to a stencil IR module
 *   outline.c                       information for editors
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
  int64_t every;  /* it runs in steps whose number is a multiple of this; 0: in all */
  int32_t repeat; /* the repeat that contains it, by Checker.repeats from 1 on; 0: none */
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

/* The environment of an expression. In a macro that is expanded: `decl`'s parameters stand for `args`, which are
 * evaluated in `caller` (NULL: the piece itself). In a function: its parameters are among Checker.locals; `call` has no
 * line while it is declared. With `index`: a term of a reduction, or a round of a loop, at `call` in `caller`: the
 * index's name stands for the constant `index`. */
struct Env {
  const Decl *decl;
  Expr *const *args;
  const Env *caller;
  Loc call;
  Symbol *index;
};

/* A reduction between steps: everything but its code; the reduced expression, of type head.type; the condition under
 * which an until stops, NULL for others. */
typedef struct CheckedReduction {
  Reduction head;
  Expr *body, *stop;
} CheckedReduction;

/* A scalar that is kept from step to step (first: the scalar with its initial value, -1: none), or that holds the value
 * of a part of an update; and an update: everything but its code and the number of its state. */
typedef struct CheckedState {
  Symbol *sym;
  int32_t first;
} CheckedState;
typedef struct CheckedUpdate {
  Update head;
  Symbol *state;
  Expr *body;
} CheckedUpdate;

/* A repeat: everything, except that its last stage is missing while it is open; the enclosing repeat, counted from 1;
 * the state with the number of the round, NULL: nothing reads it; its number in Module.repeats; the numbers of updates
 * and stencils before it. failed: an error in its bound was reported. */
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

/* A probe: everything but its code, and the probed value. */
typedef struct CheckedProbe {
  Probe head;
  Expr *body;
} CheckedProbe;

/* A loss: everything but its code, and the summed expression, an f64. */
typedef struct CheckedLoss {
  Loss head;
  Expr *body;
} CheckedLoss;

/* A list of points with the symbols of its field and array, which get their numbers when all declarations of the
 * program have theirs; `next` is NULL while nobody needs it. */
typedef struct CheckedList {
  PointList head;
  Symbol *field, *next;
} CheckedList;

/* An array that is computed from coordinates at launch: the weights of a derivative on points at uneven distances, or
 * coordinates beyond the ends. The array gets its number when all declarations of the program have theirs; its symbol.
 */
typedef struct CheckedWeights {
  ParamArray head;
  Symbol *array;
} CheckedWeights;

/* What an expression may contain: only constants; also launch-time scalars; also values of reductions; also scalars
 * that are kept, step and elements of arrays; also fields, idx and lets. */
typedef enum Allowed { ALLOW_CONST, ALLOW_SCALAR, ALLOW_REDUCED, ALLOW_STATE, ALLOW_BODY } Allowed;

/* A scalar that is computed at launch, and its value. */
typedef struct Computed {
  Expr *value;
  int32_t scalar;
} Computed;

/* The function that checks expressions of one kind: `e` as seen from `env`, moved by `shift`. */
typedef struct Checker Checker;
typedef Expr *ExprRule(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

struct Checker {
  Arena *arena;
  Diags *d;
  int32_t file; /* of the source, in Loc */
  Module *m;
  ExprRule *const *rules; /* by ExprKind: check_rules; NULL: such expressions are errors */
  Type real;
  Type complex[2]; /* the types of two f32, of two f64; TY_NONE: not needed so far */
  Symbols syms;
  const Symbol *grid;            /* NULL before it is declared */
  int lead;                      /* dimensions of the grid before those of the text: 1 with members, else 0 */
  const struct Levels *levels;   /* of the grid (levels.h); NULL: it has none */
  Symbol *coordinates[MAX_RANK]; /* of the grid: the launch-time arrays of coordinates; NULL: there is none */
  int32_t nweights;
  CheckedWeights *weights;
  struct Absorbing *absorbing; /* the present stencil, if it has absorbing layers; else NULL */
  int32_t nprofiles;
  struct LayerArray *profiles;
  Symbol *step;                /* the grid's time step, a scalar of f64; NULL: none was given */
  Symbol *spacing[MAX_RANK];   /* of the grid, scalars of f64; NULL: none was given, or there are coordinates */
  Symbol *factor[MAX_RANK][5]; /* 1 divided by power k of the spacing, as f64; NULL: not needed so far */
  Symbol *narrow[MAX_RANK][5]; /* the same as f32; of power 0: the spacing itself */
  Expr **scalar_value;         /* by scalar: checked value, NULL if none */
  Const *defaults;
  bool *has_default;         /* by scalar: its value with default params, if that is a known constant */
  bool by_default, computes; /* fold_const uses those; fold_affine makes scalars for bounds */
  int32_t ncomputed, nbounds;
  Computed *computed; /* lets, and scalars for bounds; nbounds of the latter have no name of their own */
  int32_t nchecked;
  CheckedStencil *checked;
  int32_t nmasks;
  CheckedStencil *masks; /* the inits of masks */
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
  int32_t stage;   /* the number of groups of updates so far; */
  bool in_updates; /* the last group may get more */
  int32_t nrepeats, nclosed;
  CheckedRepeat *repeats; /* in order of the text */
  int32_t in_repeat;      /* the innermost open one, counted from 1; 0: none */
  int32_t npast_reads;
  PastRead *past_reads;
  int32_t nlists;
  CheckedList *lists;
  /* the position of the checker */
  Allowed allowed;
  const char *what;           /* for ALLOW_CONST and ALLOW_SCALAR: the part that must be constant, "an offset" */
  bool in_mask;               /* in the condition of a mask, which belongs to an init; */
  bool in_init, in_reduction; /* in_reduction: also in a probe */
  bool in_update;             /* also in a part of one that is reduced, */
  bool one, by_member; /* one: a single number for all members is computed; by_member: it reads values of each member */
  const Symbol *updated; /* the scalar of the present update, whose parts may be reduced; NULL: they may not */
  int64_t ago;          /* the age of the values that are read, in steps: k in the argument of a macro that reads X@k */
  bool at_start;        /* fields are read as they are at the start of the step, by X@0, unless older ones are */
  int8_t scale;         /* in the argument of fine(...) (1) or coarse(...) (-1) */
  const Box *region;    /* region of the present piece; */
  bool lacks[MAX_RANK]; /* by dimension: the piece lacks it (fields.h) */
  const CheckedStencil *stencil;
  const struct Sweeping *sweeping; /* if it is a sweep; else NULL */
  Symbol *locals;                  /* visible lets, vars and parameters, linked by next, newest first */
  CheckedPiece *piece;             /* whose block is checked; NULL in a function */
  const Decl *function;            /* the present one; NULL outside */
  int32_t level, inlined;          /* blocks of for and if, and calls, around the position */
  int32_t depth, nodes;
  bool gave_up;    /* there are too many nodes, which was reported */
  bool unread;     /* files that it includes could not be read: undeclared names may be declared in them */
  bool incomplete; /* parts of the program could not be parsed, and may contain what seems to be missing */
  Loc last_leave;  /* the place of the last reported access outside of its region */
  Loc drawn[2];    /* the first places where random and normal were used for random numbers; line 0: none so far */
  int64_t order;   /* of the derivative whose points are read, 0: there is none */
  int dim;         /* and its dimension */
  bool uneven[MAX_RANK]; /* by dimension: is it, or an enclosing one, along a dimension with an array of coordinates? */
  bool grid_failed;      /* a grid was declared with errors; or its absence was reported */
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
/* The same for an expression in the expansion of `env`. */
Expr *check_coerce_in(Checker *c, const Env *env, Expr *e, Type want, const char *to);
/* Reports that kids x and y of the operation `e` are of different types, and says what to convert. Returns EXPR_BAD. */
Expr *check_mixed(Checker *c, const Env *env, const Expr *e, const Expr *x, const Expr *y);
/* The notation of the operation: "'+'", "'if'", "'sqrt'". */
const char *check_spelling(Checker *c, Opcode op);
/* Gives a checked expression the type `want` if it consists of literals; else its type must be `want`. `to` names its
 * purpose ("field 'A'"). EXPR_BAD after reporting. */
Expr *check_coerce(Checker *c, Expr *e, Type want, const char *to);
/* A checked value for a place without a type of its own: literals become real. */
Expr *check_value(Checker *c, Expr *e);
/* The place of a written type: of a single number; of one that may be complex; of any value in a computation; of a
 * stored value (f16 and the like too). */
typedef enum TypeUse { TYPE_SCALAR, TYPE_COMPLEX, TYPE_VALUE, TYPE_STORED } TypeUse;
/* The type written as `e` (NULL: TY_NONE) into *out. False after reporting that there is no such type, or that it may
 * not stand at this place. */
bool check_type_expr(Checker *c, const TypeExpr *e, TypeUse use, Type *out);
/* The members of struct `d` into *out. False after reporting. */
bool check_members(Checker *c, const Decl *d, Member **out);
/* The type for computing with a value of type `t`: f32 for f16 and bf16, i32 for i8, i16, u8 and u16, vectors of these
 * for vectors; else t. */
Type check_value_type(Checker *c, Type t);
/* The type of the components of a vector, of nested vectors too; t itself unless it is a vector; TY_NONE for structs
 * and vectors of them. */
Type check_base(const Checker *c, Type t);
/* A type in messages. */
const char *check_type_words(const Checker *c, Type t);
/* `e` as a value of its value type. */
Expr *check_widen(Checker *c, Expr *e);
/* For open values (TY_BRACES). check_settle: `e` as a vector, if its values determine a type; else unchanged.
 * check_close_as: `e`, open or a literal, with components of type `base`. EXPR_BAD after reporting. */
Expr *check_settle(Checker *c, const Env *env, Expr *e);
Expr *check_close_as(Checker *c, const Env *env, Expr *e, Type base);
/* The part of check_coerce_in about open values, vectors, structs and storage types; NULL if `e` and `want` are
 * neither. */
Expr *check_coerce_composite(Checker *c, const Env *env, Expr *e, Type want, const char *to);
/* check_has_vector: is one of kids `first` and later open or of composite type? check_unify_vectors: gives them one
 * type, where a scalar among vectors remains one; TY_NONE after reporting. */
bool check_has_vector(const Checker *c, const Expr *e, int first);
Type check_unify_vectors(Checker *c, const Env *env, Expr *e, int first);
/* Widens the two alternatives of the choice `e`, unless they have one type or one is a literal that fits the other. */
void check_same_choice(Checker *c, Expr *e);
/* The conversion `e` of a vector to components of type e->type. */
Expr *check_convert_vector(Checker *c, const Env *env, Expr *e);
/* The member or component of the checked value `base` that `e` selects. */
Expr *check_member(Checker *c, const Env *env, const Expr *e, Expr *base);
/* The number of the member that `e` selects, of a value of composite type; -1 after reporting. */
int64_t check_member_number(Checker *c, const Env *env, const Expr *e, const Expr *base);
/* Checks `e` at its place: only what `allowed` permits may occur; `what` describes it in messages. */
Expr *check_in(Checker *c, const Expr *e, const Env *env, Allowed allowed, const char *what);
/* An integer constant. False after reporting. */
bool check_const_int(Checker *c, const Expr *e, const Env *env, const char *what, int64_t *out);
/* Checks that the macro's body uses only its parameters and declared names. */
void check_op_body(Checker *c, const Decl *op);
/* Reports "undefined name", with a suggestion if there is one. */
Expr *check_undefined(Checker *c, const Env *env, Loc loc, const char *name, bool (*fits)(const Symbol *));
/* Reports an error in the expansion of `env`, with notes of the macro calls that lead there; the same error at the same
 * place only once. Returns EXPR_BAD. */
Expr *check_error(Checker *c, const Env *env, Loc loc, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The literal int or float expression with type `t`; EXPR_BAD after reporting that it does not fit. */
Expr *check_adapt(Checker *c, const Env *env, Expr *e, Type t);
/* The i64 `e`, if it adapts, with the integer type `t`; EXPR_BAD after reporting that a literal does not fit. */
Expr *check_readapt(Checker *c, const Env *env, Expr *e, Type t);

/* Was the same text reported at the same place before? Records it. */
bool check_repeated(Checker *c, Loc loc, const char *message);
/* Was it reported already that `name` is not declared in the line of `loc`? Records it if not. */
bool check_told(Checker *c, Loc loc, const char *name);
/* The macro or function that `env` expands, NULL if there is none. */
const Env *check_macro_of(const Env *env);
/* The argument of that name, NULL if it is no parameter of the macro `env`. */
const Expr *check_argument(const Env *env, const char *name);
/* The local of that name in the present block; macros do not see it. */
Symbol *check_find_local(const Checker *c, const Env *env, const char *name);
/* The symbol of that name: an index of a sum, else a local, else a declaration; NULL: none. */
Symbol *check_find_any(Checker *c, const Env *env, const char *name);
/* The local of that name, also while a macro is expanded; NULL if there is none. */
Symbol *check_own_local(const Checker *c, const char *name);
/* Do the brackets of `e`, after its first kid, move a macro that is called there (and not select a component)? */
bool check_is_moved(const Checker *c, const Expr *e, const Env *env);
/* A field, or "idx", that the macro's body uses, directly or through other macros; NULL if there is none. */
const char *check_op_reads(const Checker *c, const Decl *op);
/* Warns if all arguments of the call of the macro `op` are moved by the same offset, and the macro also uses fields or
 * idx directly, which are not moved. */
void check_moved_arguments(Checker *c, const Expr *call, const Symbol *op);

/* `e`, described by `what`, a number above 0 that is known at launch, as an f64. EXPR_BAD after reporting. */
Expr *check_length(Checker *c, const Expr *e, const char *what);
/* Checks the spacing and the time step of the grid `d` on `box`. False after reporting. */
bool check_metric(Checker *c, const Decl *d, const Box *box);
/* Is `e` a call of the built-in function `name`, which no declaration hides? */
bool check_is_builtin(const Checker *c, const Expr *e, const char *name);
/* The bound of the grid, as an i64. */
Expr *check_bound(Checker *c, const Expr *bound);
/* coord(d), at the point moved by `shift`. */
Expr *check_coord(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* diff(X, d, ...): the sum for the derivative. */
Expr *check_diff(Checker *c, const Expr *e, const Env *env, const int64_t *shift);

/* sum, prod, min or max over an index: its terms, from left to right. */
Expr *check_reduce(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* The element of a table with the index e->kids[0]: a constant, or a lookup at run time. */
Expr *check_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table);
/* Makes `s` the constant `v`, which adapts its type like a literal. */
void check_int_symbol(Symbol *s, int64_t v);
/* The index of that name of the reductions around `env`, up to the macro that is expanded; NULL if there is none. */
Symbol *check_find_index(const Env *env, const char *name);
/* Reports an error if the name of a reduction's index is in use; `op` (may be NULL) is the macro that contains it. */
bool check_index_name(Checker *c, const Env *env, const Expr *name, const Decl *op);
/* check_step: the number of the step, an i64. check_coordinate: coordinate `d` of the point moved by `shift`, an i64.
 */
Expr *check_step(Checker *c, Loc loc);
Expr *check_coordinate(Checker *c, Loc loc, int d, const int64_t *shift);
/* check_is_random: is `e` a call of the built-in random or normal, which no declaration hides? check_random: checks the
 * call. */
bool check_is_random(const Checker *c, const Expr *e);
Expr *check_random(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* check_note_random: records that `e` is such a call. check_was_random: reports an error if there was one with the name
 * that `d` declares, which cannot have two meanings. */
void check_note_random(Checker *c, const Expr *e);
bool check_was_random(Checker *c, const Decl *d);
/* A checked leaf; a checked operation, which still needs its type. */
Expr *check_leaf(Checker *c, ExprKind kind, Type t, Loc loc, Symbol *sym);
Expr *check_operation(Checker *c, Opcode op, Loc loc, int n, Expr *const *kids);
/* The operation on two values of f64, of i64. */
Expr *check_both(Checker *c, Opcode op, Expr *x, Expr *y);
Expr *check_whole(Checker *c, Opcode op, Expr *x, Expr *y);
/* An expression whose error was reported. */
Expr *check_bad(Checker *c, Loc loc);
/* Reports that the value `name` is not allowed at this place. Returns EXPR_BAD. */
Expr *check_not_allowed(Checker *c, const Env *env, Loc loc, const char *name);
/* `x` + `by`, both i64. */
Expr *check_plus(Checker *c, Expr *x, int64_t by);
/* The number of the dimension `e`, in messages "the dimension of WHAT", into *out. False after reporting that the grid
 * has no such dimension. */
bool check_dimension(Checker *c, const Expr *e, const Env *env, const char *what, int *out);

/* The symbol of level `k` >= 1 of field `f`, which is named `name` at `loc`; NULL after reporting that it has no such
 * level. */
Symbol *check_past(Checker *c, const Env *env, Loc loc, Symbol *f, int64_t k);
/* The field with the values of `f`, no input, from the start of the present step; NULL after reporting. */
Symbol *check_start(Checker *c, const Env *env, Loc loc, Symbol *f);
/* Gives the field of symbol `s` the history that `d` requests. False after reporting. */
bool check_history(Checker *c, const Decl *d, Symbol *s);
/* Warns of fields with a history that no stencil writes. */
void check_histories_move(Checker *c);
/* param NAME[extent] : TYPE; into `out`. False after reporting. */
bool check_array(Checker *c, const Decl *d, ParamArray *out);
/* Element `index`, an i64 or a literal, of the launch-time array. */
Expr *check_element_at(Checker *c, Loc loc, Symbol *array, Expr *index);
/* The element of a launch-time array with the index e->kids[0]. */
Expr *check_array_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array);
/* The number of steps after 'every' in `d`, at least 1. False after reporting. */
bool check_every(Checker *c, const Decl *d, int64_t *every);
/* The number after `every` of a stencil or init, if there is one, into s->every. False after reporting. */
bool check_stencil_every(Checker *c, const Decl *d, CheckedStencil *s);
/* Reports reads of temp field `f` in steps in which a stencil that writes it does not run. */
void check_every_read(Checker *c, Loc loc, const Symbol *f, const Env *env);
/* The reduce or until `d` over the box `over`, except for its scalar. False after reporting. */
bool check_reduction(Checker *c, const Decl *d, const Box *over, CheckedReduction *out);
/* The probe `d`, whose points lie in `within` (NULL: the grid, or where the coordinates are). False after reporting. */
bool check_probe(Checker *c, const Decl *d, const Box *within, CheckedProbe *out);
/* The inject `d` of field `f`, likewise, as the only piece of `s`. False after reporting. */
bool check_inject(Checker *c, const Decl *d, const Symbol *f, const Box *within, CheckedStencil *s);
/* The expression that `d` sums at its points, which lie in `within` (NULL: as above), over *over: at each point an f64,
 * the sum of the values of the list's points there. EXPR_BAD after reporting, NULL if the error concerns the points. */
Expr *check_at_points(Checker *c, const Decl *d, const Box *within, Box *over);
/* check_loss: adds the loss `d`, over `over`, or at points in `within` (NULL: of the grid). check_gradient: adds the
 * gradient `d`. False after reporting. */
bool check_loss(Checker *c, const Decl *d, const Box *within);
bool check_gradient(Checker *c, const Decl *d);
/* Adds the fields and arrays of lists to the module, after all declarations; and the arrays of weights. */
void check_add_lists(Checker *c);
void check_add_weights(Checker *c);
/* The checked `e` with type `t`, f64 or i64, converted from narrower types. EXPR_BAD after reporting that it is no
 * number. */
Expr *check_accumulated(Checker *c, Expr *e, Type *t);
/* Warns if `e`, the value of the param or scalar `d` without a type, is another number than its text gives among reals:
 * 1 / 100 among integers is 0. `real`: the type to write if that is not meant. */
void check_warn_of_quotient(Checker *c, const Decl *d, const Expr *e, const char *real);
/* The initial value of the scalar `d`, a checked expression of type *t. EXPR_BAD after reporting. */
Expr *check_first(Checker *c, const Decl *d, Type *t);
/* Adds the update `d`, and those of its parts that are reduced. */
void check_update(Checker *c, const Decl *d);
/* A part OP(...) over REGION of an update: the scalar that holds its value. */
Expr *check_over(Checker *c, const Expr *e, const Env *env, const int64_t *shift);
/* The value of the kept scalar `sym`. */
Expr *check_state(Checker *c, const Env *env, Loc loc, Symbol *sym);
/* The grid's first point, where values without points are computed. */
Box check_first_point(const Checker *c);
/* A hidden scalar of type `t`, which no step passes on to the next. */
Symbol *check_hidden_state(Checker *c, const char *name, Type t, bool each, Loc loc);
/* check_open_repeat: opens the repeat `d`. check_close_repeat: closes the innermost one. check_in_repeat: false after
 * reporting that `d` may not stand in the present one. */
void check_open_repeat(Checker *c, const Decl *d);
void check_close_repeat(Checker *c, const Decl *d);
bool check_in_repeat(Checker *c, const Decl *d);
/* The number of the present round. */
Expr *check_round(Checker *c, const Env *env, Loc loc);
/* check_repeat_read: may temp field `f` be read at this place? check_repeat_writes: may `s` write its targets? False
 * after reporting. */
bool check_repeat_read(Checker *c, const Env *env, Loc loc, const Symbol *f);
bool check_repeat_writes(Checker *c, const CheckedStencil *s);
/* check_note_past: records that level `k` of `field` is read. check_repeats_past: at the end, reports reads that can
 * only be errors. */
void check_note_past(Checker *c, Loc loc, int field, int64_t k);
void check_repeats_past(Checker *c);
/* check_add_repeats: adds the repeats to the module. check_repeats_end: reports an until whose condition its repeat
 * does not change. */
void check_add_repeats(Checker *c);
bool check_repeats_end(const Module *m, Diags *d);
/* Checks `d`, an until or reduce of an expression without points: its head and body, but not its scalar. False after
 * reporting. */
bool check_condition(Checker *c, const Decl *d, CheckedReduction *out);
/* The condition on that value, which is in the scalar `s`. */
Expr *check_met(Checker *c, const Decl *d, Symbol *s);
/* Adds the states to the module, after all arrays. */
void check_add_states(Checker *c);
/* The box of `d`; the grid's if it names none. False after reporting. */
bool check_box(Checker *c, const Decl *d, Box *out);
/* The condition of until `d`, whose value is in the scalar `s`. EXPR_BAD after reporting. */
Expr *check_stop(Checker *c, const Decl *d, Symbol *s);
/* Evaluates an integer expression of params, `what` in messages, to *out. False after reporting. */
bool check_affine(Checker *c, const Expr *e, const char *what, Affine *out);

/* Counts one more item to check, at `at`; false, after reporting it once, if the program has become too large. */
bool check_more(Checker *c, Loc at, const Env *env);

/* Checks statements in order; in a piece's block those of c->piece. */
void check_statements(Checker *c, const Env *env, int n, Stmt *s);
/* TARGET = VALUE in the block of c->piece. */
void check_target(Checker *c, const Env *env, const Stmt *st);
/* Leaves a block: removes the locals newer than `outer`. */
void check_leave(Checker *c, Symbol *outer);
/* Warns of lets and vars that nothing uses. */
void check_unused(Checker *c, int n, const Stmt *s);
/* Is `name` free for a new item of a block, described by `what`? Reports an error if not. */
bool check_local_name(Checker *c, const Env *env, const char *name, Loc loc, const char *what);
/* Adds a local of that name with the value `value` (NULL or EXPR_BAD: an error was reported). */
Symbol *check_add_local(Checker *c, const Env *env, SymbolKind kind, const char *name, Loc loc, Expr *value);
/* Checks the function `d`, and computes the types of its parameters and of its result. False after reporting. */
bool check_function(Checker *c, const Decl *d, Type **types, Type *type);
/* The call `e` of function `f`. */
Expr *check_call(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *f);
/* False after reporting, in a function: `name`, described by `what`, is not allowed because it depends on the point. */
bool check_function_reads(Checker *c, const Env *env, Loc loc, const char *name, const char *what);

/* Evaluates the written region to a box of the grid's rank (of its own if there is no grid yet). False after reporting.
 */
bool check_region(Checker *c, const RegionExpr *r, Box *out);
/* The same for a region with stars: the box is 0 in their dimensions, and lacks[d] becomes true there (lacks NULL:
 * stars are errors). */
bool check_region_of(Checker *c, const RegionExpr *r, Box *out, bool *lacks);
/* Checks that `inner` lies inside the region `outer`, by constants or by launch checks, or has no points; `inner_text`
 * and `outer_text` name them in messages. */
bool check_inside(Checker *c, Loc loc, const Box *inner, const char *inner_text, const Box *outer,
                  const char *outer_text);
/* Checks that an access to `field` at `off` from c->region stays where the field has values; for a temp field, values
 * that were written before in this step. Errors are followed by notes of `env`. */
void check_access(Checker *c, Loc loc, Symbol *field, const int64_t *off, const Env *env);
/* The box of the grid, region or field of that name; NULL after reporting that there is none. */
const Box *check_region_name(Checker *c, Loc loc, const char *name);
/* Checks that no two pieces of `s` overlap. */
void check_overlap(Checker *c, const CheckedStencil *s);
/* ---------------------------------------------------------------- values that are used several times: share.c */

/* `e`, checked and with a type of its own, as an expression that may be used several times and is computed once.
 * Constants remain constants; composite values other than a field's become EXPR_BRACES or EXPR_SPREAD of such
 * expressions. */
Expr *share(Checker *c, Expr *e, const char *name);
/* Member `i`, of type `t`, of the checked composite value `e`. */
Expr *share_member(Checker *c, Expr *e, int i, Type t);
/* Lists the shared values that `e` and those values need, each after those that it needs itself, without those that
 * were listed for the same `place` before. */
int shared_values(Arena *a, const Expr *e, const void *place, Symbol ***out);

/* ---------------------------------------------------------------- lower.c, dump.c */

/* Parses and checks a text as far as possible, and reports errors; *parsed: the parsed declarations, *tokens: all
 * tokens. unread: its includes could not be read and remain in it, and what seems to be missing may be in them. */
Checker *front_program(Arena *a, Diags *d, const char *file, const char *text, const FrontendOptions *o, bool unread,
                       Parse *parsed, const Token **tokens);
/* Fills in the scalars' expressions, the inits and the stencils of c->m. */
void lower_program(Checker *c);
/* The checked program as an indented tree. */
char *dump_program(Checker *c);

#include "frontend/base/fold.h"

#endif
