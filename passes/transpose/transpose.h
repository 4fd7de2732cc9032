/* passes/transpose/transpose.h: from a program with losses to the program that computes their derivatives backwards,
 * which is an ordinary one: it is tiled, runs on all devices and is printed like any other.
 *
 *   transpose.c   the backward module: its fields, its step, what it reports
 *   inits.c       inits undone: a module of its own
 *   active.c      which fields and scalars matter: what the losses depend on, of what is differentiated by
 *   adjoint.c     a body backwards, op by op: what each access contributes
 *   gather.c      contributions as stencils that gather
 *   join.c        which of them are gathered together
 *   pieces.c      pieces that are a box together
 *   merge.c       stencils that take what others make at the point alone, as parts of these
 *   unroll.c      repeats written out, and numbers that the step updates
 *   states.c      updates undone: derivatives by numbers that the step updates
 *   replay.c      values of fields within a step, computed again
 *   pull.c        the program whose losses hand back what derivatives by its fields at the end are given
 *
 * Step k = 0 .. N of the backward program, N being the steps made, undoes forward step n = N - k. It has as input
 * fields what the forward fields were when n steps were done, as far as it needs that, under their own names. Field
 * x.bar is the derivative of the losses by field x, as it is then, and of the steps from there on. The step is the
 * forward one's stencils in reverse order, then the losses that were due when n steps were done. (Step 0 undoes one
 * that was never made, of derivatives that are 0.)
 *
 * A stencil t(j) = f(x(j+o), ...) on region R becomes at most two. The first computes at each point j of R, from
 * t.bar(j) and forward values, the adjoint of each access: into temp fields on R, outside 0; what is a constant or a
 * scalar times another one shares that one's field, and where it is t.bar itself, and the stencil sets t everywhere,
 * there is none, since t.bar is as it was until it is written. The second one gathers: x.bar(i) += w(i-o), which is 0
 * where i-o is not in R. Where x has a rule that leads back into it, points near its edge gather more: those from which
 * it is led to them. Each sum is made in one order, that of the text. What is read at the point alone needs no second
 * stencil.
 *
 * Of a dimension that x does not have, x.bar has all points of the grid: each has what is contributed there, and who
 * takes x.bar adds them up. So fields that inits set have all dimensions when these are undone (inits.c).
 *
 * Fields that a stencil within the step needs as they were before it, and that the step has changed by then, are
 * computed again, in temp fields: replay.c. What the last stencil that changes a field has left there is what the field
 * was when n + 1 steps were done, so that it can be had as an input field of the backward program, too: f.after. Which
 * fields are, is chosen so that as little as can be must be known of each step. */
#ifndef STC_TRANSPOSE_H
#define STC_TRANSPOSE_H

#include "passes/passes.h"

/* A field of the backward program and the one of the forward program that it is filled from, both by name (the latter
 * after pass scalarize: v.0). */
typedef struct AdjointField {
  const char *name, *from;
} AdjointField;

/* Fields of the backward program: derivatives by an element of the launch-time array, and the number of that, which is
 * to be clamped to its range. */
typedef struct AdjointElements {
  const char *bar, *number, *array;
} AdjointElements;

/* What a launcher must know of a backward module. */
typedef struct AdjointFacts {
  int ninputs, nsaved, nends; /* input fields that no step changes; that are to change every step; and that have what
                                 fields are behind the last step */
  AdjointField *inputs, *saved, *ends;
  int nafter; /* input fields that are to have what fields were one step later than those that are saved */
  AdjointField *after;
  int nbars; /* fields with derivatives: name, and by which field */
  AdjointField *bars;
  int nfilled; /* levels that become what their field is before the first step: bar of the level, bar of the field */
  AdjointField *filled;
  int nscalars; /* derivatives by scalars, to be added over all points: field, scalar */
  AdjointField *scalars;
  int nstates; /* derivatives by numbers that steps update: the backward program's scalar, the scalar that the number is
                  before the first step */
  AdjointField *states;
  int nelements; /* derivatives by elements of launch-time arrays, one at each point of a region, new in each step */
  AdjointElements *elements;
  bool starts; /* inits are to be undone behind the last step, by transpose_inits */
  bool every;  /* losses are due in every step, so that their values must be seen there */
} AdjointFacts;

/* The scalar that says how many forward steps were made. */
#define ADJOINT_LAST "back.last"
/* What the array is called that has what scalar t was when 0 .. N steps were done: t.steps. */
#define ADJOINT_STEPS ".steps"

/* The backward module of `source`, stencil IR as it was read, into c->arena. c->run is set. given: names of fields that
 * are given, so that their inits are not run. NULL after reporting what has no derivative, or none yet. */
Module *transpose_module(PassContext *c, const Module *source, int ngiven, const char *const *given,
                         AdjointFacts *facts);

/* The module that undoes, in its one step, the inits of `source` that are run: after the backward run, whose facts are
 * `main`. Its fields x.bar begin as the derivatives by what x is behind the inits, and its input fields as what fields
 * are before those: as they are given, else 0. (inits.c) */
Module *transpose_inits(PassContext *c, const Module *source, int ngiven, const char *const *given,
                        const AdjointFacts *main, AdjointFacts *facts);

/* `source` with other losses and another gradient: the sum, over the fields `of` behind the last step, of each times
 * input field NAME.pull, which is new, by the fields (older levels, "u@1", among them), launch-time arrays and params
 * `to`. NULL after reporting a name that cannot be one of these. (pull.c) */
Module *transpose_pull(PassContext *c, const Module *source, int nof, const char *const *of, int nto,
                       const char *const *to);

/* ---------------------------------------------------------------- within this folder */

/* The derivative `bar` by the element of launch-time array `array` whose number is `number`, in the code of a piece. */
typedef struct ElementShare {
  int piece, array;
  Value *bar, *number;
} ElementShare;

/* What launch-time array number i of m, of role ARRAY_STATE, stands for: a number that the step updates as it is at
 * some place in the step, or the derivative by such a number, which is its own `bar`. code: computes the number of what
 * is known of all steps; NULL: the update that makes it is run again. bar: the array with the derivative by the number,
 * -1: it has none. first: of a derivative, the scalar that the number is before the first step, -1: none. */
typedef struct StateVersion {
  Block *code;
  int32_t bar, first;
} StateVersion;

/* A stencil or an update of the backward step. */
typedef struct Stage {
  bool is_update;
  Stencil stencil;
  Update update;
} Stage;

/* Field `field` of b has at each point what that contributes to the derivative in launch-time array `bar`. */
typedef struct StateShare {
  int32_t bar, field;
} StateShare;

/* The work. m: the forward module, scalarized, levels moved by stencils; losses are its reductions. b: the backward
 * one, whose first fields are m's. By field of m: does it matter; its derivative's field in b (-1); is that known to be
 * 0, whatever its memory holds; before[s][f] is the field of b that has what it is before stencil s. By scalar: does it
 * vary, and the field of its derivative. needed: by field of b, is it read. states: by launch-time array of m, whose
 * numbers b shares; state_needed: by array, is it read as it was. stages: those of b's step so far, from the
 * derivatives of the losses on; shares: what stencils have left of derivatives by numbers, and is to be added. */
typedef struct Transpose {
  PassContext *c;
  Arena *a;
  Module *m, *b;
  bool *active, *varied, *scalar_active, *scalar_varied, *array_active, *array_varied;
  int32_t *bar, *scalar_bar, *end;
  bool *zero;
  bool *starts; /* by field: an init sets it to what varies; NULL: none does */
  int32_t **before;
  bool *handed;   /* by field: what a step leaves in it may be an input field of b; NULL: of none */
  int32_t *after; /* that field of b, -1: none */
  int needed_room;
  bool *needed;
  StateVersion *states;
  bool *state_needed;
  int nstages, nshares;
  Stage *stages;
  StateShare *shares;
  int last;
  bool failed;
  AdjointFacts *facts;
} Transpose;

/* A term of an adjoint: `base`, times `factor`, which is the same at all points (NULL: 1), at the points where `where`
 * is true, which depends on where these lie alone (NULL: everywhere). */
typedef struct Term {
  Value *factor, *base, *where;
} Term;
/* The derivative by a value: the sum of these. */
typedef struct Adjoint {
  int n;
  Term *terms;
} Adjoint;
/* What a piece contributes to the derivative by field `field` of m at the point that lies at `off` from it; field
 * -1 - s: by scalar s, and behind the scalars by launch-time array. */
typedef struct Contribution {
  int piece, field;
  int64_t off[MAX_RANK];
  Term term;
  Loc loc;
  const Box *over;     /* where pieces contribute this: `piece`, or all that contribute alike (join.c) */
  const Value **bases; /* by piece what they contribute there, NULL: nothing */
  bool joined, thin;   /* to another one; it is gathered in a thin region, in a stencil of its own */
} Contribution;

/* A piece that is undone: its region, its body, what its targets are (ntargets 0: it is a loss, whose derivative is
 * `seed`); version[f] is the field of b with what field f of m was; the new code. By value: does it vary; is it the
 * same at all points; does it depend on where they lie alone, by integers; need it not be finite where what the program
 * takes is; is it made of constants and params alone? chosen: bases that are 0 but where `where` is true; `factor` is
 * the base without that. */
typedef struct Undo {
  Transpose *x;
  const Box *box;
  const Block *body;
  int ntargets;
  const int32_t *targets;
  const int32_t *version;
  Builder b;
  Value **clone;
  Adjoint *adjoint;
  bool *varies, *same, *placed, *loose, *fixed;
  int nchosen;
  Term *chosen;
  int nelements;
  ElementShare *elements;
  Value *number; /* that `step` has in the forward program */
} Undo;

/* active.c: notes that what `by` names varies. Fills what x says of fields and scalars; false after reporting that
 * something does not matter. */
void transpose_vary(Transpose *x, const By *by);
/* The same of inits, which stand in place of the step: useful[f] (NULL: none is) says which fields matter behind them.
 * Does one of them set something that varies? */
bool transpose_analyse_starts(Transpose *x, const By *by, int nby, const bool *useful);
bool transpose_analyse(Transpose *x, const By *by, int nby);
/* Which values of the body vary, by Value.id. */
bool *transpose_varies(const Transpose *x, const Block *body);

/* transpose.c: does a stencil of `m` write the field? What the losses are differentiated by, fields as their components
 * in `m`, into *out; how many. Is the field given, or what it is a component of? The module's fields, its step, and
 * what it is to be drop of those that nothing needs, and the facts. */
bool transpose_writes(const Module *m, int field);
int transpose_by(PassContext *c, const Module *source, const Module *m, By **out);
int32_t transpose_last(Module *m);
bool transpose_is_given(const Module *m, int field, int n, const char *const *given);
Module *transpose_finish(Transpose *x, const Module *source);
/* inits.c: the inits of x->m that are run, in place of its step, without targets that are given; whether one of them
 * sets something that varies, and then x->starts. False after reporting that one sets what is differentiated by. */
void inits_as_step(Transpose *x, int ngiven, const char *const *given);
bool inits_vary(Transpose *x, const By *by, int nby, int ngiven, const char *const *given);

/* adjoint.c: the value `v` of the forward body in the new one. */
Value *undo_clone(Undo *u, const Value *v);
/* Adds the contributions of piece number `piece` to list[*n]; seeds[i] is the derivative by what it yields number i,
 * NULL: 0. */
void undo_body(Undo *u, int piece, Value *const *seeds, int *n, Contribution **list);
/* The type in which derivatives by a value of type `t` are. */
Type bar_type(Type t);
/* term.factor * term.base, or 0. */
Value *term_value(Builder *b, Term t);

/* gather.c: adds to the step what undoes stencil `st` (its `loss`: NULL, or the loss that it stands for, due or not as
 * `seed` says, made in the piece's code). */
void gather_stencil(Transpose *x, const Stencil *st, const int32_t *version, Value *(*seed)(Undo *u, const void *loss),
                    const void *loss);
/* Adds target `field` of b, with its value, to the piece; targets are kept in order. */
void piece_yield(Arena *a, Piece *p, Value ***values, int32_t field, Value *v);
/* Adds `target` to those of stencil `st`, in order. */
void stencil_add_target(Arena *a, Stencil *st, int32_t target);
/* A stencil that makes field `field` of b 0. */
Stencil transpose_zero(Transpose *x, int32_t field);
/* A new field of b. One of type `t` on the region of `u`, called `name` and a number, that keeps what a step leaves. */
int32_t transpose_field(Transpose *x, Field f);
int32_t left_field(Transpose *x, const Undo *u, const char *name, Type t);

/* transpose.c: marks what ops `code` of inits, stencils, reductions and updates of `m` name. Has those of `m`, or of a
 * body, name number to[i] in place of number i. */
void transpose_mark(const Module *m, Opcode code, bool *used);
void transpose_renumber(const Module *m, Opcode code, const int32_t *to);
void transpose_renumber_body(Block *b, Opcode code, const int32_t *to);

/* pieces.c: are those pieces of `st`, of module `m`, that are marked in `has` a box together? That into *out. */
bool pieces_box(const Module *m, const Stencil *st, const bool *has, Box *out);

/* merge.c: merges stencils of b's step, and takes out what none of them reads. */
void transpose_merge(Transpose *x);

/* unroll.c: makes the step of `m`, whose reductions are its losses, one without repeats, and without updates but those
 * of numbers that have a derivative, or are not known otherwise. `last`: the number of ADJOINT_LAST; changing: by
 * launch-time array, does the number change with what the gradient is to; *versions: by launch-time array of what m is
 * then. False after reporting why not. */
bool transpose_unroll(PassContext *c, Module *m, int32_t last, const bool *changing, AdjointFacts *facts,
                      StateVersion **versions);

/* replay.c: gives fields their versions; then, when it is known which are needed, adds the stages that compute them to
 * list[*n], in order. */
void replay_versions(Transpose *x);
void replay_stages(Transpose *x, int *n, Stage **list);

/* states.c: adds a stencil to the stages of b's step. Gives b its step: the `n` stages from `first` on, and those
 * behind them. */
void transpose_stencil(Transpose *x, Stencil st);
void transpose_put_stages(Transpose *x, int n, Stage *first);
/* What stands before stencil number *stencil + 1 and update number *update + 1 of m's step, one of which is at least 0:
 * is it an update? Its number is one less then. */
bool transpose_previous(const Module *m, int *stencil, int *update);
/* The number that launch-time array `array` of m stands for, in the new code. */
Value *state_value(Undo *u, int32_t array);
/* Update `number` of m, as it is made again from the versions of fields before it. False: nothing needs it. */
bool update_again(Transpose *x, int number, const int32_t *version, Stage *out);
/* Adds what undoes update `number` to the stages. Adds up the shares that a stencil has left. */
void undo_update(Transpose *x, int number, const int32_t *version);
/* Adds what undoes reduction `r` of m, which is made between steps, and whose value the step reads. */
void undo_reduction(Transpose *x, const Reduction *r);
void states_add_shares(Transpose *x);
/* Takes arrays out of b that stand for numbers which nothing uses. */
void states_drop(Transpose *x);
#endif
