/* passes/transpose/transpose.h: from a program with losses to the *backward* program, which computes their derivatives
 * backwards in time. The backward program is an ordinary program: it is tiled, runs on all devices and is printed like
 * any other. To *undo* a stencil, an update or a body means to compute, from the derivatives with respect to its
 * results, those with respect to all that it reads.
 *
 *   transpose.c   the backward module: its fields, its step, and what it reports
 *   inits.c       inits undone: a module of its own
 *   active.c      the fields and scalars that matter: they influence the losses, and depend on the gradient's targets
 *   adjoint.c     a body undone, op by op: the contribution of each access
 *   gather.c      contributions as stencils that gather
 *   join.c        contributions that are gathered together
 *   pieces.c      pieces that form a box together
 *   merge.c       stencils merged with those whose results they read at the point alone
 *   unroll.c      repeats unrolled, and numbers that the step updates
 *   states.c      updates undone: derivatives with respect to numbers that the step updates
 *   replay.c      values of fields within a step, computed again
 *   pull.c        the program whose gradient is the product of the derivatives of its last fields with given ones
 *
 * The forward program makes N steps. Step k = 0 .. N of the backward program undoes forward step n = N - k. Its input
 * fields are the forward fields after n steps, under their own names, as far as it needs them. Field x.bar is the
 * derivative of the losses, and of all steps from there on, with respect to field x at that time. The backward step
 * consists of the forward stencils, undone in reverse order, then of the losses that were due after n steps. (Step 0
 * undoes a step that was never made, with derivatives that are 0.)
 *
 * A stencil t(j) = f(x(j+o), ...) on region R becomes at most two stencils.
 *
 * - The first computes at each point j of R, from t.bar(j) and forward values, the adjoint of each access, and stores
 *   it to a temp field on R that is 0 outside. Adjoints that differ by a constant or scalar factor share a field. If
 *   the adjoint is t.bar itself, and the stencil writes all of t, no field is needed, because t.bar is unchanged until
 *   it is written.
 * - The second gathers: x.bar(i) += w(i-o), which is 0 where i-o is not in R. If an outside rule of x leads back into
 *   x, points near the edge gather more: also from the points whose accesses lead to them. Each sum has one order, that
 *   of the text. Accesses at the point itself need no second stencil.
 *
 * If x lacks a dimension, x.bar has all points of the grid there; each holds the contribution of that point, and the
 * user of x.bar adds them up. So fields that inits write get all dimensions before inits are undone (inits.c).
 *
 * A stencil may need fields as they were before it, although the step has changed them since. Temp fields then hold
 * these values, computed again (replay.c). The value that the last writer of a field leaves is the field's value after
 * n + 1 steps, so it can also be an input field of the backward program, f.after. The pass chooses these fields so that
 * as few bytes as possible of each step must be kept. */
#ifndef STC_TRANSPOSE_H
#define STC_TRANSPOSE_H

#include "passes/passes.h"

/* A field of the backward program, and the forward field from which it is filled, both by name (the latter after pass
 * scalarize: v.0). */
typedef struct AdjointField {
  const char *name, *from;
} AdjointField;

/* Fields of the backward program for a launch-time array: the derivative with respect to an element, and the number of
 * that element, which must be clamped to the array's range. */
typedef struct AdjointElements {
  const char *bar, *number, *array;
} AdjointElements;

/* The facts about a backward module that a launcher needs. */
typedef struct AdjointFacts {
  int ninputs, nsaved, nends; /* input fields: those that no step changes; those to fill anew for every step; those with
                                 the values of fields after the last step */
  AdjointField *inputs, *saved, *ends;
  int nafter; /* input fields with the values of fields one step later than those of `saved` */
  AdjointField *after;
  int nbars; /* fields with derivatives: name, and the field with respect to which they are */
  AdjointField *bars;
  int nfilled; /* levels that get their field's value before the first step: bar of the level, bar of the field */
  AdjointField *filled;
  int nscalars; /* derivatives with respect to scalars, to be added over all points: field, scalar */
  AdjointField *scalars;
  int nstates; /* derivatives with respect to numbers that steps update: the backward program's scalar, and the scalar
                  that is the number before the first step */
  AdjointField *states;
  int nelements; /* derivatives with respect to elements of launch-time arrays, one at each point of a region, new in
                    each step */
  AdjointElements *elements;
  bool starts; /* inits must be undone after the last step, by transpose_inits */
  bool every;  /* losses are due in every step, so their values must be evaluated there */
} AdjointFacts;

/* The scalar with the number of forward steps. */
#define ADJOINT_LAST "back.last"
/* The suffix of the array with the values of scalar t after 0 .. N steps: t.steps. */
#define ADJOINT_STEPS ".steps"

/* The backward module of `source`, stencil IR as it was read, in c->arena. c->run must be set. given: names of fields
 * that are given, so that their inits do not run. NULL after reporting a value without a (supported) derivative. */
Module *transpose_module(PassContext *c, const Module *source, int ngiven, const char *const *given,
                         AdjointFacts *facts);

/* The module whose one step undoes those inits of `source` that run. It runs after the backward program, whose facts
 * are `main`. Its fields x.bar begin with the derivatives with respect to x after the inits; its input fields hold the
 * fields' values before the inits: as they are given, else 0. (inits.c) */
Module *transpose_inits(PassContext *c, const Module *source, int ngiven, const char *const *given,
                        const AdjointFacts *main, AdjointFacts *facts);

/* `source` with another loss and another gradient. The loss is the sum, over the fields `of` after the last step, of
 * each times a new input field NAME.pull; the gradient's targets are the fields (also older levels, such as "u@1"),
 * launch-time arrays and params `to`. NULL after reporting a name that cannot be one of these. (pull.c) */
Module *transpose_pull(PassContext *c, const Module *source, int nof, const char *const *of, int nto,
                       const char *const *to);

/* ---------------------------------------------------------------- within this folder */

/* In the code of a piece: the derivative `bar` with respect to the element number `number` of launch-time array
 * `array`. */
typedef struct ElementShare {
  int piece, array;
  Value *bar, *number;
} ElementShare;

/* The meaning of launch-time array number i of m, of role ARRAY_STATE: a number that the step updates, at some place in
 * the step; or the derivative with respect to such a number, which is then its own `bar`. code: computes the number
 * from values that are known in every step; NULL: the update that computes it runs again. bar: the array with the
 * derivative with respect to the number, -1: none. first: for a derivative, the scalar that is the number before the
 * first step, -1: none. */
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

/* Field `field` of b holds each point's contribution to the derivative in launch-time array `bar`. */
typedef struct StateShare {
  int32_t bar, field;
} StateShare;

/* The state of the pass. m: the forward module, scalarized, with levels rotated by stencils; its reductions are the
 * losses. b: the backward module; its first fields are those of m. By field of m: active: does it matter; bar: the
 * field of b with its derivative (-1: none); zero: is that derivative known to be 0, whatever its memory holds;
 * before[s][f]: the field of b with the value of f before stencil s. By scalar: does it vary, and the field of its
 * derivative. needed: by field of b, is it read. states: by launch-time array of m (b has the same numbers);
 * state_needed: by array, is its former value read. stages: the stages of b's step so far, from the derivatives of the
 * losses on. shares: contributions to derivatives with respect to numbers that stencils have stored, still to be
 * added. */
typedef struct Transpose {
  PassContext *c;
  Arena *a;
  Module *m, *b;
  bool *active, *varied, *scalar_active, *scalar_varied, *array_active, *array_varied;
  int32_t *bar, *scalar_bar, *end;
  bool *zero;
  bool *starts; /* by field: an init sets it to a value that varies; NULL: none does */
  int32_t **before;
  bool *handed;   /* by field: its value after a step may be an input field of b; NULL: none may */
  int32_t *after; /* by field: that input field of b, -1: none */
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

/* A term of an adjoint: `base` times `factor`, which is the same at all points (NULL: 1), at the points where `where`
 * holds, a condition on the point's coordinates (NULL: everywhere). */
typedef struct Term {
  Value *factor, *base, *where;
} Term;
/* The derivative with respect to a value: the sum of these terms. */
typedef struct Adjoint {
  int n;
  Term *terms;
} Adjoint;
/* The contribution of a piece to the derivative with respect to field `field` of m, at the point at offset `off`; a
 * field -1 - s means scalar s, and numbers after the scalars mean launch-time arrays. */
typedef struct Contribution {
  int piece, field;
  int64_t off[MAX_RANK];
  Term term;
  Loc loc;
  const Box *over; /* the region that contributes: that of `piece`, or of all pieces that contribute alike (join.c) */
  const Value **bases; /* by piece: the base of its contribution there, NULL: none */
  bool joined,
      thin; /* joined: it is part of another one; thin: it is gathered in a thin region, by a stencil of its own */
} Contribution;

/* A piece while it is undone: its region, its body, its targets (ntargets 0: it is a loss, whose derivative is `seed`);
 * version[f]: the field of b with the value of field f of m; b: the new code. By value of the body: varies; same: it is
 * equal at all points; placed: it depends on the point's coordinates only, by integers; loose: it need not be finite
 * where the program's own values are; fixed: it is computed from constants and params only. chosen: bases that are 0
 * unless `where` holds; `factor` is the base without that condition. */
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
  Value *number; /* the value of `step` in the forward program */
} Undo;

/* active.c: notes that the target `by` of the gradient varies. */
void transpose_vary(Transpose *x, const By *by);
/* transpose_analyse: finds which fields, scalars and arrays vary and matter; false after reporting a target that does
 * not matter. transpose_analyse_starts: the same for inits in place of the step; useful[f] (NULL: none) says which
 * fields matter after them. Does one of them set a value that varies? */
bool transpose_analyse_starts(Transpose *x, const By *by, int nby, const bool *useful);
bool transpose_analyse(Transpose *x, const By *by, int nby);
/* By Value.id: does the value of the body vary? */
bool *transpose_varies(const Transpose *x, const Block *body);

/* transpose.c. transpose_writes: does a stencil of `m` write the field? transpose_by: the targets of the gradient,
 * fields as their components in `m`, in *out; returns their number. transpose_last: adds the scalar with the number of
 * forward steps; returns its number. transpose_is_given: is the field given, or the field of which it is a component?
 * transpose_finish: makes the backward module: its fields, its step and its facts, without unused fields. */
bool transpose_writes(const Module *m, int field);
int transpose_by(PassContext *c, const Module *source, const Module *m, By **out);
int32_t transpose_last(Module *m);
bool transpose_is_given(const Module *m, int field, int n, const char *const *given);
Module *transpose_finish(Transpose *x, const Module *source);
/* inits.c. inits_as_step: makes the inits of x->m that run its step, without targets that are given. inits_vary: does
 * one of them set a value that varies? Then fills x->starts. False after reporting an init that sets a target of the
 * gradient. */
void inits_as_step(Transpose *x, int ngiven, const char *const *given);
bool inits_vary(Transpose *x, const By *by, int nby, int ngiven, const char *const *given);

/* adjoint.c: the value `v` of the forward body, in the new code. */
Value *undo_clone(Undo *u, const Value *v);
/* Adds the contributions of piece number `piece` to list[*n]; seeds[i] is the derivative with respect to the yield's
 * operand i, NULL: 0. */
void undo_body(Undo *u, int piece, Value *const *seeds, int *n, Contribution **list);
/* The type of derivatives with respect to values of type `t`. */
Type bar_type(Type t);
/* term.factor * term.base, or 0 where term.where does not hold. */
Value *term_value(Builder *b, Term t);

/* gather.c: adds to the step the stencils that undo stencil `st`. `loss`: NULL, or the loss for which it stands; `seed`
 * then makes the loss's derivative, which depends on whether it is due, in the code of the piece. */
void gather_stencil(Transpose *x, const Stencil *st, const int32_t *version, Value *(*seed)(Undo *u, const void *loss),
                    const void *loss);
/* Adds target `field` of b with its value to the piece; targets stay in order. */
void piece_yield(Arena *a, Piece *p, Value ***values, int32_t field, Value *v);
/* Adds `target` to the targets of stencil `st`, in order. */
void stencil_add_target(Arena *a, Stencil *st, int32_t target);
/* A stencil that sets field `field` of b to 0. */
Stencil transpose_zero(Transpose *x, int32_t field);
/* transpose_field: adds a field to b; returns its number. left_field: adds a field of type `t` on the region of `u`,
 * called `name` and a number, for values that a step leaves there. */
int32_t transpose_field(Transpose *x, Field f);
int32_t left_field(Transpose *x, const Undo *u, const char *name, Type t);

/* transpose.c: marks what ops `code` of inits, stencils, reductions and updates of `m` name. Has those of `m`, or of a
 * body, name number to[i] in place of number i. */
void transpose_mark(const Module *m, Opcode code, bool *used);
void transpose_renumber(const Module *m, Opcode code, const int32_t *to);
void transpose_renumber_body(Block *b, Opcode code, const int32_t *to);

/* pieces.c: do the pieces of `st`, of module `m`, that are marked in `has` form a box? It goes to *out. */
bool pieces_box(const Module *m, const Stencil *st, const bool *has, Box *out);

/* merge.c: merges stencils of b's step, and removes values that none of them reads. */
void transpose_merge(Transpose *x);

/* unroll.c: turns the step of `m`, whose reductions are its losses, into one without repeats, and without updates
 * except those of numbers that have a derivative or that cannot be computed otherwise. `last`: the number of
 * ADJOINT_LAST. changing: by launch-time array, does the number depend on a target of the gradient? *versions: by
 * launch-time array of the resulting m. False after reporting the reason. */
bool transpose_unroll(PassContext *c, Module *m, int32_t last, const bool *changing, AdjointFacts *facts,
                      StateVersion **versions);

/* replay.c. replay_versions: gives fields their versions. replay_stages: once the needed versions are known, adds the
 * stages that compute them to list[*n], in order. */
void replay_versions(Transpose *x);
void replay_stages(Transpose *x, int *n, Stage **list);

/* states.c. transpose_stencil: adds a stencil to the stages of b's step. transpose_put_stages: gives b its step: the
 * `n` stages from `first` on, and after them those in x->stages. */
void transpose_stencil(Transpose *x, Stencil st);
void transpose_put_stages(Transpose *x, int n, Stage *first);
/* Goes back by one stage from stencil number *stencil + 1 and update number *update + 1 of m's step, at least one of
 * which exists: decrements the number of the later one. Is that the update? */
bool transpose_previous(const Module *m, int *stencil, int *update);
/* The number for which launch-time array `array` of m stands, in the new code. */
Value *state_value(Undo *u, int32_t array);
/* Update `number` of m, computed again from the versions of fields before it. False: nothing needs it. */
bool update_again(Transpose *x, int number, const int32_t *version, Stage *out);
/* undo_update: adds the stages that undo update `number`. */
void undo_update(Transpose *x, int number, const int32_t *version);
/* undo_reduction: adds the stages that undo reduction `r` of m, which is evaluated between steps, and whose value the
 * step reads. states_add_shares: adds up the contributions that stencils have stored. */
void undo_reduction(Transpose *x, const Reduction *r);
void states_add_shares(Transpose *x);
/* Removes from b the arrays for numbers that nothing uses. */
void states_drop(Transpose *x);
#endif
