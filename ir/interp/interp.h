/* interp.h: what the files of the reference share (private to ir/).
 *
 *   interp.c          a run: stencils, steps, time levels
 *   interp-step.c     a step: its stencils and updates in order, its repeats
 *   interp-body.c     bodies, op by op over neighbouring points
 *   interp-field.c    fields: their memory, and what accesses read
 *   interp-reduce.c   reductions in their fixed order
 *   interp-probe.c    probes at their points
 *   tape.c            what a run did, and the derivatives of the losses, backwards
 *   tape-body.c       the derivatives of a body */
#ifndef STC_INTERP_H
#define STC_INTERP_H

#include "ir/run/exec.h"

/* Points of a row worked on together. */
enum { CHUNK = 128 };

/* A component of a field's type: its type, and the bytes of a point that lie before it. */
typedef struct Component {
  Type type;
  int64_t offset;
} Component;

/* A field while the program runs. `now` is its array, of `bytes` a point; while a stencil that writes it runs, `old` is
 * the copy of what was there before. `written` and `old_written` say for a temp field, cell by cell, whether this step
 * wrote it; NULL for others. `changing`: a running stencil writes it. `outside` has the constant beyond the edges by
 * component, `sides` likewise the constants of field->sides, side by side (NULL: there are none). `pasts` are the
 * states of past 1 and on, and `start`, if the levels rotate, the copy of what the field was at the
 * start of the step; else NULL. */
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

/* One op of a body: its values are rows dst, a, b, c, and of one with more operands those at `more`; an access to a
 * field of several components fills rows dst and on. */
typedef struct RowOp {
  const Op *op;
  ExecCode code;
  int32_t dst, a, b, c;
  int32_t *more;
} RowOp;

/* A body made ready: its ops, how many rows they need, and for each value it yields the rows of its components. */
typedef struct InterpBody {
  int nops, nrows;
  RowOp *ops;
  const int32_t **yield;
} InterpBody;

/* A region under the params. */
typedef struct InterpRegion {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} InterpRegion;

/* A run. `rows` has the places of all values of the body at work, CHUNK each; `skip` is skip_init while inits run, else
 * NULL; `stencil`, `reduction` or `probe` is what runs; `probe_bodies` has the bodies of probes, and `probe_values`
 * room for the values of any of them; `sums` has the partial values of a reduction: REDUCE_BLOCKS and, behind
 * them, REDUCE_LANES. */
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
  struct Tape *tape; /* what the run does is kept there; NULL: it is not */
} Interp;

/* interp-field.c */

/* Sets up the states of all fields. False after reporting one that has no array. */
bool interp_fields(Interp *in);
/* Gives field `i` room for its old values. */
void interp_keep_old(Interp *in, int i);
/* The values that the access `op` has at the `n` points from `p` on along the last dimension, into the rows from `dst`
 * on, one a component. */
bool interp_access(Interp *in, const Op *op, const int64_t *p, int n, Const *dst);
/* The same of `op`, which reads another level of the grid. */
bool interp_scaled(Interp *in, const Op *op, const int64_t *p, int n, Const *dst);
/* Makes the `n` cells of `f` from point `p` on what the rows `from` hold, one a component. */
void interp_write(Interp *in, FieldState *f, const int32_t *from, const int64_t *p, int n);
/* What a field's bounds, or a piece's, are under the params, as text "[0 .. 7, 0 .. 3]". */
const char *interp_region_text(Interp *in, const int64_t *lo, const int64_t *hi);
/* At the start of a step: remembers the fields that have a past. At its end: moves the levels on. */
void interp_keep_start(Interp *in);
void interp_move_on(Interp *in);
/* After the inits: pasts that neither an init nor in->skip names become what their field is. */
void interp_fill_pasts(Interp *in);

/* interp-body.c */

/* Evaluates `b` under the params. */
InterpRegion interp_region(const Interp *in, const Box *b);
/* Makes the body ready, and in->max_rows enough for it. */
InterpBody interp_translate(Interp *in, const Block *b);
/* Runs fn on all points of `r`, at most CHUNK at once: the `n` from `p` on along the last dimension. False as soon as
 * fn says so. */
bool interp_each(const Interp *in, const InterpRegion *r, bool (*fn)(void *user, const int64_t *p, int n), void *user);
/* Fills the rows that are the same at all points; then the others, for the `n` points from `p` on. */
void interp_start_body(Interp *in, const InterpBody *body);
bool interp_run_body(Interp *in, const InterpBody *body, const int64_t *p, int n);

/* interp-reduce.c */

/* Evaluates those of the reductions of the steps (`loop` 0), or of repeat number `loop` - 1, that are due when `done`
 * steps or rounds are done, as far as `bodies`, by reduction, are made ready. Sets *stop if the run, or the repeat, is
 * to end. False after an error. */
bool interp_reduce(Interp *in, const InterpBody *bodies, int loop, int64_t done, bool *stop);
/* Makes the updates from number *next on whose stage is not beyond `stage`, the running step being in->step; *next
 * becomes the number of the first that is left. False after an error. */
bool interp_update(Interp *in, const InterpBody *bodies, int stage, int *next);

/* The value of reduction `r`, whose body is `body`, now: over all points, or, from 0 on, member `member`'s. False after
 * an error. */
bool interp_total(Interp *in, const Reduction *r, const InterpBody *body, int64_t member, Const *value);

/* interp.c: interp_run with its memory in in->arena. */
bool interp_start(Interp *in, int64_t steps, bool with_inits, const bool *skip_init);

/* A piece made ready. */
typedef struct PieceCode {
  Interp *in;
  const Piece *piece;
  InterpRegion region;
  InterpBody body;
} PieceCode;

/* A stencil or an init made ready. */
typedef struct StencilCode {
  const Stencil *stencil;
  PieceCode *pieces;
} StencilCode;

/* interp-step.c */

/* What a step is made of: the code of its stencils; the bodies of updates and of reductions. The next one of its
 * stencils and updates is number `i` and `next`. */
typedef struct StepCode {
  const StencilCode *stencils;
  const InterpBody *updates, *reductions;
  int i, next;
} StepCode;

/* Runs one step: all stencils of `level`, and between them the updates. False after an error. */
bool interp_step(Interp *in, StepCode *s, int level);
/* Temp fields that stencils of repeat `r` write, or (-1) all, hold nothing at the start of a round or step. */
void interp_forget_temps(Interp *in, int r);
/* interp.c: runs a stencil. Is it one that pass probes made, and the reference does not run? */
bool interp_stencil(Interp *in, const StencilCode *code);
bool interp_is_probe(const Interp *in, const Stencil *s);

/* tape.c, tape-body.c */

/* Called behind a stencil that ran; before the levels are moved on at the end of a step; behind the inits; and when
 * in->step of `last` steps are done. The last one is false after an error. */
void tape_stencil(Interp *in, const StencilCode *code);
void tape_update(Interp *in, const Update *u, const InterpBody *body);
void tape_reduce(Interp *in, const Reduction *r, const InterpBody *body);
void tape_move_on(Interp *in);
void tape_begin(Interp *in);
bool tape_losses(Interp *in, int64_t last);

/* The derivatives of what is differentiated by the cells of fields (points, then components), elements of launch-time
 * arrays and scalars. */
typedef struct Bars {
  double **field, **array, *scalar;
} Bars;
/* The derivatives by one value that a body yields, of `n` components: that by component `c` at point `i` is at[c *
 * CHUNK
 * + i]. */
typedef struct Seed {
  int n;
  double *at;
} Seed;
/* Adds to `bars` what body `body`, which has just run at the `n` points from `p` on, makes of the derivatives by the
 * values that it yields. `rows` has room for CHUNK numbers for each of its rows. */
void tape_pull(Interp *in, const InterpBody *body, const int64_t *p, int n, int nseeds, const Seed *seeds, double *rows,
               const Bars *bars);

/* interp-field.c: where the access `op` leads that reaches the point `at`: the number of the cell, -1: to a constant.
 * The odd sides that it comes across, in the order in which they change the value, are list[0] .. list[*n - 1]; there
 * is room for MAX_RANK * MOST_ODD. The access was made before. */
enum { MOST_ODD = 64 };
int64_t interp_locate(const FieldState *f, const int64_t *at, int *list, int *n);

/* interp-probe.c */

/* Makes the bodies of all probes ready. */
void interp_start_probes(Interp *in);
/* Hands the values of the probes that are due when in->step steps are done to in->b->probed. False after an error. */
bool interp_probe(Interp *in);

#endif
