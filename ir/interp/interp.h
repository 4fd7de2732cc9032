/* interp.h: declarations that the files of the reference share (private to ir/).
 *
 *   interp.c          a run: stencils, steps, time levels
 *   interp-step.c     a step: its stencils and updates in order, its repeats
 *   interp-body.c     bodies, op by op over neighbouring points
 *   interp-field.c    fields: their memory, and the values of accesses
 *   interp-reduce.c   reductions in their fixed order
 *   interp-probe.c    probes at their points
 *   tape.c            the record of a run, and the derivatives of the losses, backwards
 *   tape-body.c       the derivatives of a body
 */
#ifndef STC_INTERP_H
#define STC_INTERP_H

#include "ir/run/exec.h"

/* The number of points of a row that are processed together. */
enum { CHUNK = 128 };

/* A component of a field's type: its type, and its byte offset within a point. */
typedef struct Component {
  Type type;
  int64_t offset;
} Component;

/* A field during a run. now: its array, with `bytes` for each point. While a stencil that writes it runs, `old` is a
 * copy of the array before the stencil, and changing is true. written, old_written: for a temp field, for each cell
 * whether this step has written it; NULL for other fields. outside: the constant beyond the edges, by component. sides:
 * likewise the constants of field->sides, one after the other (NULL: there are none). pasts: the states of past 1 and
 * on. start: if the levels rotate, a copy of the field at the start of the step; else NULL. */
typedef struct FieldState FieldState;
struct FieldState {
  const Field *field;
  int rank;
  int64_t lo[MAX_RANK], hi[MAX_RANK], stride[MAX_RANK], points, bytes;
  int ncomponents;
  Component *components;
  Const *outside, *sides;
  char *now, *old;
  uint8_t *written, *old_written;
  bool changing;
  FieldState **pasts;
  char *start;
};

/* One op of a body: dst is the row of its result, a, b, c those of its operands, `more` those of an op with more
 * operands. An access to a field of several components fills several rows from dst on. */
typedef struct RowOp {
  const Op *op;
  ExecCode code;
  int32_t dst, a, b, c;
  int32_t *more;
} RowOp;

/* A translated body: its ops, the number of rows that they need, and for each yielded value the rows of its components.
 */
typedef struct InterpBody {
  int nops, nrows;
  RowOp *ops;
  const int32_t **yield;
} InterpBody;

/* A region under the params. */
typedef struct InterpRegion {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} InterpRegion;

/* A run. rows: the rows of the current body, CHUNK numbers each. skip: skip_init while inits run, else NULL. stencil,
 * reduction, probe: what is running. probe_bodies: the bodies of the probes. probe_values: room for the values of any
 * of them. sums: the partial values of a reduction, REDUCE_BLOCKS and after them REDUCE_LANES. */
typedef struct Interp {
  Arena *arena;
  const Module *m;
  Binding *b;
  Diags *d;
  int rank;
  FieldState *fields;
  Const *rows, *sums;
  int max_rows;
  int64_t step;
  const bool *skip;
  const Stencil *stencil;
  const Reduction *reduction;
  const Probe *probe;
  InterpBody *probe_bodies;
  void *probe_values;
  struct Tape *tape; /* records the run; NULL: no record */
} Interp;

/* interp-field.c */

/* Sets up the states of all fields. False after reporting one that has no array. */
bool interp_fields(Interp *in);
/* Allocates memory for the old values of field `i`. */
void interp_keep_old(Interp *in, int i);
/* Reads the values of access `op` at the `n` points from `p` on along the last dimension into the rows from `dst` on,
 * one for each component. */
bool interp_access(Interp *in, const Op *op, const int64_t *p, int n, Const *dst);
/* The same for `op`, which reads another level of the grid. */
bool interp_scaled(Interp *in, const Op *op, const int64_t *p, int n, Const *dst);
/* Writes the rows `from`, one for each component, to the `n` cells of `f` from point `p` on. */
void interp_write(Interp *in, FieldState *f, const int32_t *from, const int64_t *p, int n);
/* The bounds of a region under the params as text, "[0 .. 7, 0 .. 3]". */
const char *interp_region_text(Interp *in, const int64_t *lo, const int64_t *hi);
/* interp_keep_start: at the start of a step, copies the fields that have a past. interp_move_on: at its end, rotates
 * the levels. */
void interp_keep_start(Interp *in);
void interp_move_on(Interp *in);
/* After the inits: pasts that neither an init nor in->skip names become copies of their fields. */
void interp_fill_pasts(Interp *in);

/* interp-body.c */

/* Evaluates `b` under the params. */
InterpRegion interp_region(const Interp *in, const Box *b);
/* Translates the body, and makes in->max_rows large enough for it. */
InterpBody interp_translate(Interp *in, const Block *b);
/* Calls fn for all points of `r`, with at most CHUNK at once: the `n` points from `p` on along the last dimension.
 * Stops and returns false as soon as fn does. */
bool interp_each(const Interp *in, const InterpRegion *r, bool (*fn)(void *user, const int64_t *p, int n), void *user);
/* interp_start_body: fills the rows that are the same at all points. interp_run_body: fills the other rows for the `n`
 * points from `p` on. */
void interp_start_body(Interp *in, const InterpBody *body);
bool interp_run_body(Interp *in, const InterpBody *body, const int64_t *p, int n);

/* interp-reduce.c */

/* Evaluates the reductions of the steps (`loop` 0), or of repeat number `loop` - 1, that are due after `done` steps or
 * rounds; `bodies` holds the translated bodies, by reduction, as far as they exist. Sets *stop if the run, or the
 * repeat, must end. False after an error. */
bool interp_reduce(Interp *in, const InterpBody *bodies, int loop, int64_t done, bool *stop);
/* Makes the updates from number *next on whose stage is at most `stage`, in step in->step; *next becomes the number of
 * the first one that is left. False after an error. */
bool interp_update(Interp *in, const InterpBody *bodies, int stage, int *next);

/* The present value of reduction `r`, whose body is `body`: over all points, or, if `member` is at least 0, over that
 * member's. False after an error. */
bool interp_total(Interp *in, const Reduction *r, const InterpBody *body, int64_t member, Const *value);

/* interp.c: interp_run with its memory in in->arena. */
bool interp_start(Interp *in, int64_t steps, bool with_inits, const bool *skip_init);

/* A translated piece. */
typedef struct PieceCode {
  Interp *in;
  const Piece *piece;
  InterpRegion region;
  InterpBody body;
} PieceCode;

/* A translated stencil or init. */
typedef struct StencilCode {
  const Stencil *stencil;
  PieceCode *pieces;
} StencilCode;

/* interp-step.c */

/* The code of a step: of its stencils, and the bodies of updates and of reductions. `i` and `next` are the numbers of
 * the next stencil and the next update. */
typedef struct StepCode {
  const StencilCode *stencils;
  const InterpBody *updates, *reductions;
  int i, next;
} StepCode;

/* Runs one step: all stencils of `level`, and between them the updates. False after an error. */
bool interp_step(Interp *in, StepCode *s, int level);
/* Marks temp fields as not written at the start of a round or step: those that stencils of repeat `r` write; -1: all.
 */
void interp_forget_temps(Interp *in, int r);
/* interp.c. interp_stencil: runs a stencil. interp_is_probe: is it a stencil of pass probes, which the reference skips?
 */
bool interp_stencil(Interp *in, const StencilCode *code);
bool interp_is_probe(const Interp *in, const Stencil *s);

/* tape.c, tape-body.c */

/* Record events. tape_stencil, tape_update, tape_reduce: after a stencil, update or reduction has been run.
 * tape_move_on: before the levels rotate at the end of a step. tape_begin: after the inits. tape_losses: when in->step
 * of `last` steps are done; false after an error. */
void tape_stencil(Interp *in, const StencilCode *code);
void tape_update(Interp *in, const Update *u, const InterpBody *body);
void tape_reduce(Interp *in, const Reduction *r, const InterpBody *body);
void tape_move_on(Interp *in);
void tape_begin(Interp *in);
bool tape_losses(Interp *in, int64_t last);

/* The derivatives (adjoints) with respect to the cells of fields (points, then components), the elements of launch-time
 * arrays, and scalars. */
typedef struct Bars {
  double **field, **array, *scalar;
} Bars;
/* The derivatives with respect to a value that a body yields, with `n` components: that for component `c` at point `i`
 * is at[c * CHUNK + i]. */
typedef struct Seed {
  int n;
  double *at;
} Seed;
/* Propagates the derivatives with respect to the values that body `body` yields to what it reads, and adds them to
 * `bars`. The body must just have run at the `n` points from `p` on. `rows` has room for CHUNK numbers for each of its
 * rows. */
void tape_pull(Interp *in, const InterpBody *body, const int64_t *p, int n, int nseeds, const Seed *seeds, double *rows,
               const Bars *bars);

/* interp-field.c: the number of the cell to which access `op` at coordinates `at` is mapped; -1: to a constant. Stores
 * the odd sides that the mapping crosses, in the order in which they change the value, to list[0] .. list[*n - 1]; it
 * has room for MAX_RANK * MOST_ODD. The access has been made before, so it is valid. */
enum { MOST_ODD = 64 };
int64_t interp_locate(const FieldState *f, const int64_t *at, int *list, int *n);

/* interp-probe.c */

/* Translates the bodies of all probes. */
void interp_start_probes(Interp *in);
/* Passes the values of the probes that are due after in->step steps to in->b->probed. False after an error. */
bool interp_probe(Interp *in);

#endif
