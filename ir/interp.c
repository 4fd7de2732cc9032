/* interp.c: the reference, stencil IR executed as it reads. The definition of right: no tiling, no order among points, every stencil into
 * fresh arrays.
 *
 * Bodies are straight lines of pure ops, so a body is translated once into a list of RowOps and run op by op over up to CHUNK neighbouring
 * points of a row: each SSA value has CHUNK places. Arithmetic is that of eval_op (exec.h). */
#include "ir/exec.h"

/* Points of a row worked on together. */
enum { CHUNK = 128 };

/* A field while the program runs. `now` is its array; while a stencil that writes it runs, `old` is the copy of what was there before.
 * `written` and `old_written` say for a temp field, cell by cell, whether this step wrote it; NULL for others. `changing`: a running
 * stencil writes it. */
typedef struct FieldState {
  const Field *field;
  Type type;
  int rank;
  int64_t lo[MAX_RANK], hi[MAX_RANK], stride[MAX_RANK], points;
  void *now, *old;
  uint8_t *written, *old_written;
  bool changing;
} FieldState;

/* One op of a body: its values are rows dst, a, b, c. */
typedef struct RowOp { const Op *op; ExecCode code; int32_t dst, a, b, c; } RowOp;

/* A piece made ready: its box under the params, its ops, and the rows that its targets get. */
typedef struct PieceCode {
  const Piece *piece;
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  int nops, nrows;
  RowOp *ops;
  int32_t *yield;
} PieceCode;

typedef struct StencilCode { const Stencil *stencil; PieceCode *pieces; } StencilCode;

/* A run. `rows` has the places of all values of the piece at work, CHUNK each; `skip` is skip_init while inits run, else NULL. */
typedef struct Interp {
  Arena *arena;
  const Module *m;
  const Binding *b;
  Diags *d;
  int rank;
  FieldState *fields;
  Const *rows;
  int64_t step;
  const bool *skip;
  const Stencil *stencil;
} Interp;

/* ---- messages */

/* "[3, -1]" in `in`'s arena. */
static const char *point_text(Interp *in, const int64_t *p) {
  Str s = {in->arena, NULL, 0, 0};
  for (int k = 0; k < in->rank; k++)
    str_addf(&s, "%s%lld", k ? ", " : "[", (long long)p[k]);
  str_add(&s, "]");
  return s.s;
}

/* "[0 .. 7, 0 .. 3]": the field's region under the params. */
static const char *region_text(Interp *in, const int64_t *lo, const int64_t *hi) {
  Str s = {in->arena, NULL, 0, 0};
  for (int k = 0; k < in->rank; k++)
    str_addf(&s, "%s%lld .. %lld", k ? ", " : "[", (long long)lo[k], (long long)hi[k]);
  str_add(&s, "]");
  return s.s;
}

/* The access `op` reaches the cell `at`, outside of field `f`, which has no rule (or no point) for that. */
static bool fault_outside(Interp *in, const FieldState *f, const Op *op, const int64_t *at) {
  diag_error(in->d, op->loc, "stencil '%s', step %lld: the access to '%s' reaches %s, outside its region %s%s", in->stencil->name,
             (long long)in->step, f->field->name, point_text(in, at), region_text(in, f->lo, f->hi),
             f->field->outside == OUTSIDE_NONE ? "; the field has no outside rule" : ", which is empty");
  return false;
}

/* The access `op` reads cell number `cell` of the temp field `f`, which this step has not written yet. */
static bool fault_unwritten(Interp *in, const FieldState *f, const Op *op, int64_t cell) {
  int64_t at[MAX_RANK] = {0};
  for (int k = 0; k < f->rank; k++) {
    at[k] = f->lo[k] + cell / f->stride[k];
    cell %= f->stride[k];
  }
  diag_error(in->d, op->loc, "stencil '%s', step %lld: temp field '%s' is read at %s, which no stencil has written in this step", in->stencil->name,
             (long long)in->step, f->field->name, point_text(in, at));
  return false;
}

/* ---- making ready */

/* Evaluates `b` under the params. */
static void eval_box(const Box *b, const Const *scalars, int64_t *lo, int64_t *hi) {
  for (int k = 0; k < b->rank; k++) {
    lo[k] = affine_eval(b->lo[k], scalars, NULL);
    hi[k] = affine_eval(b->hi[k], scalars, NULL);
  }
}

/* Sets up the state of field `i`. */
static bool field_init(Interp *in, int i) {
  FieldState *f = &in->fields[i];
  f->field = &in->m->fields[i];
  f->type = f->field->type;
  f->rank = f->field->box.rank;
  eval_box(&f->field->box, in->b->scalars, f->lo, f->hi);
  int64_t shape[MAX_RANK];
  f->points = field_shape(f->field, in->b->scalars, shape);
  int64_t stride = 1;
  for (int k = f->rank - 1; k >= 0; k--) {
    f->stride[k] = stride;
    stride *= shape[k];
  }
  if (!exec_type(f->type)) {
    diag_error(in->d, f->field->loc, "the reference has no values of type %s (field '%s')", type_name(f->type), f->field->name);
    return false;
  }
  if (f->field->temp) {
    f->now = arena_alloc(in->arena, (size_t)f->points * (size_t)type_size(f->type) + 1);
    f->written = arena_alloc(in->arena, (size_t)f->points + 1);
    f->old_written = arena_alloc(in->arena, (size_t)f->points + 1);
    return true;
  }
  f->now = in->b->fields[i];
  if (!f->now && f->points)
    diag_error(in->d, f->field->loc, "field '%s' has no array to run on", f->field->name);
  return f->now || !f->points;
}

/* Translates `op`, whose operands are numbered, into `r`; its result becomes row `row`. */
static void translate_op(const Op *op, int row, RowOp *r) {
  r->op = op;
  r->code = exec_code(op);
  r->dst = row;
  if (op->noperands > 0)
    r->a = op->operands[0]->id;
  if (op->noperands > 1)
    r->b = op->operands[1]->id;
  if (op->noperands > 2)
    r->c = op->operands[2]->id;
  op->results[0]->id = row;
}

/* Translates the body of `p`, numbering its values in order as printing does. */
static void translate_piece(Interp *in, const Piece *p, PieceCode *code) {
  code->piece = p;
  eval_box(&p->box, in->b->scalars, code->lo, code->hi);
  int n = 0;
  for (const Op *op = p->body->first; op; op = op->next)
    n++;
  code->ops = ARENA_ARRAY(in->arena, RowOp, n + 1);
  code->yield = ARENA_ARRAY(in->arena, int32_t, p->ntargets + 1);
  for (const Op *op = p->body->first; op; op = op->next) {
    if (op->code != OP_YIELD) {
      translate_op(op, code->nrows++, &code->ops[code->nops++]);
      continue;
    }
    for (int i = 0; i < p->ntargets; i++)
      code->yield[i] = op->operands[i]->id;
  }
}

/* Each target of each piece must have a cell for every point of the piece. */
static bool check_targets(Interp *in, const Stencil *s, const PieceCode *code) {
  for (int i = 0; i < code->piece->ntargets; i++) {
    const FieldState *f = &in->fields[code->piece->targets[i]];
    bool empty = false, leaves = false;
    for (int k = 0; k < in->rank; k++) {
      empty = empty || code->hi[k] < code->lo[k];
      leaves = leaves || code->lo[k] < f->lo[k] || code->hi[k] > f->hi[k];
    }
    if (empty || !leaves)
      continue;
    diag_error(in->d, code->piece->loc, "stencil '%s' computes '%s' on %s, outside the field's region %s", s->name, f->field->name,
               region_text(in, code->lo, code->hi), region_text(in, f->lo, f->hi));
    return false;
  }
  return true;
}

/* Translates the `n` stencils at `s` and gives their targets room for old values. NULL after an error. */
static StencilCode *translate(Interp *in, int n, const Stencil *s, int *max_rows) {
  StencilCode *codes = ARENA_ARRAY(in->arena, StencilCode, n + 1);
  for (int i = 0; i < n; i++) {
    codes[i].stencil = &s[i];
    codes[i].pieces = ARENA_ARRAY(in->arena, PieceCode, s[i].npieces + 1);
    for (int k = 0; k < s[i].ntargets; k++) {
      FieldState *f = &in->fields[s[i].targets[k]];
      if (!f->old)
        f->old = arena_alloc(in->arena, (size_t)f->points * (size_t)type_size(f->type) + 1);
    }
    for (int k = 0; k < s[i].npieces; k++) {
      translate_piece(in, &s[i].pieces[k], &codes[i].pieces[k]);
      if (!check_targets(in, &s[i], &codes[i].pieces[k]))
        return NULL;
      if (codes[i].pieces[k].nrows > *max_rows)
        *max_rows = codes[i].pieces[k].nrows;
    }
  }
  return codes;
}

/* ---- accesses */

/* The coordinate x in dimension `k` of `f`: brought inside by the rule of the field. Returns 0 if there is a cell, 1 if the field's
 * constant is meant, 2 if there is no rule. */
static int map_coord(const FieldState *f, int k, int64_t *x) {
  if (*x >= f->lo[k] && *x <= f->hi[k])
    return 0;
  OutsideRule rule = f->field->outside;
  if (rule == OUTSIDE_CONST)
    return 1;
  if (rule == OUTSIDE_NONE || f->hi[k] < f->lo[k])
    return 2;
  Opcode code = rule == OUTSIDE_CLAMP ? OP_CLAMP : rule == OUTSIDE_MIRROR ? OP_MIRROR : OP_WRAP;
  *x = eval_map(code, *x, f->lo[k], f->hi[k]);
  return 0;
}

/* `n` cells from number `cell` on, all inside, into `dst`. */
static bool read_cells(Interp *in, const FieldState *f, const Op *op, int64_t cell, int n, Const *dst) {
  const uint8_t *written = f->changing ? f->old_written : f->written;
  const void *from = f->changing ? f->old : f->now;
  for (int i = 0; written && i < n; i++)
    if (!written[cell + i])
      return fault_unwritten(in, f, op, cell + i);
  for (int i = 0; i < n; i++)
    dst[i] = exec_get(f->type, from, cell + i);
  return true;
}

/* The values that the access `op` has at the `n` points from `p` on along the last dimension, into `dst`. */
static bool access_row(Interp *in, const Op *op, const int64_t *p, int n, Const *dst) {
  const FieldState *f = &in->fields[op->sym];
  int last = in->rank - 1, beyond = 0;
  int64_t at[MAX_RANK], cell = 0;
  for (int k = 0; k < last; k++) {
    at[k] = p[k] + op->off[k];
    int how = map_coord(f, k, &at[k]);
    beyond = how > beyond ? how : beyond;
    cell += (at[k] - f->lo[k]) * f->stride[k];
  }
  int64_t x0 = p[last] + op->off[last];
  if (!beyond && x0 >= f->lo[last] && x0 + n - 1 <= f->hi[last])
    return read_cells(in, f, op, cell + x0 - f->lo[last], n, dst);
  for (int i = 0; i < n; i++) {
    at[last] = x0 + i;
    int how = map_coord(f, last, &at[last]);
    if (how == 2 || beyond == 2)
      return fault_outside(in, f, op, at);
    if (how || beyond)
      dst[i] = f->field->outside_value;
    else if (!read_cells(in, f, op, cell + at[last] - f->lo[last], 1, &dst[i]))
      return false;
  }
  return true;
}

/* ---- execution */

/* Runs the pure op of `r` on `n` points. */
static void apply_row(Interp *in, const RowOp *r, int n) {
  Const *dst = in->rows + (size_t)r->dst * CHUNK;
  const Const *a = in->rows + (size_t)r->a * CHUNK, *b = in->rows + (size_t)r->b * CHUNK, *c = in->rows + (size_t)r->c * CHUNK;
  const Op *op = r->op;
  switch (r->code) {
#define X(NAME) \
  case EX_##NAME: \
    for (int i = 0; i < n; i++) \
      dst[i] = exec_apply(EX_##NAME, op, a[i], b[i], c[i]); \
    break;
    EXEC_CODES(X)
#undef X
  case EX_COUNT: break;
  }
}

/* Fills the rows of the values that are the same at all points of this step: constants, scalars, the step. */
static void fill_uniform(Interp *in, const PieceCode *code) {
  for (int k = 0; k < code->nops; k++) {
    const Op *op = code->ops[k].op;
    if (op->code != OP_CONST && op->code != OP_SCALAR && op->code != OP_STEP)
      continue;
    Const v = op->code == OP_CONST ? op->cval : op->code == OP_SCALAR ? in->b->scalars[op->sym] : exec_i(in->step);
    for (int i = 0; i < CHUNK; i++)
      in->rows[(size_t)code->ops[k].dst * CHUNK + (size_t)i] = v;
  }
}

/* Runs the op of `r` at the `n` points from `p` on. */
static bool run_op(Interp *in, const RowOp *r, const int64_t *p, int n) {
  Const *dst = in->rows + (size_t)r->dst * CHUNK;
  const Op *op = r->op;
  switch (op->code) {
  case OP_CONST: case OP_SCALAR: case OP_STEP: return true;
  case OP_ACCESS: return access_row(in, op, p, n, dst);
  case OP_INDEX:
    for (int i = 0; i < n; i++)
      dst[i] = exec_i(p[op->sym] + (op->sym == in->rank - 1 ? i : 0));
    return true;
  default: apply_row(in, r, n); return true;
  }
}

/* Computes the `n` points from `p` on and writes the targets. */
static bool run_chunk(Interp *in, const PieceCode *code, const int64_t *p, int n) {
  for (int k = 0; k < code->nops; k++)
    if (!run_op(in, &code->ops[k], p, n))
      return false;
  for (int t = 0; t < code->piece->ntargets; t++) {
    FieldState *f = &in->fields[code->piece->targets[t]];
    if (in->skip && in->skip[code->piece->targets[t]])
      continue;
    const Const *from = in->rows + (size_t)code->yield[t] * CHUNK;
    int64_t cell = 0;
    for (int k = 0; k < in->rank; k++)
      cell += (p[k] - f->lo[k]) * f->stride[k];
    for (int i = 0; i < n; i++)
      exec_put(f->type, f->now, cell + i, from[i]);
    if (f->written)
      memset(f->written + cell, 1, (size_t)n);
  }
  return true;
}

/* Computes all points of the piece, row by row. */
static bool run_piece(Interp *in, const PieceCode *code) {
  int last = in->rank - 1;
  int64_t p[MAX_RANK];
  for (int k = 0; k < in->rank; k++) {
    p[k] = code->lo[k];
    if (code->hi[k] < code->lo[k])
      return true;
  }
  fill_uniform(in, code);
  for (;;) {
    for (p[last] = code->lo[last]; p[last] <= code->hi[last]; p[last] += CHUNK) {
      int64_t left = code->hi[last] - p[last] + 1;
      if (!run_chunk(in, code, p, left < CHUNK ? (int)left : CHUNK))
        return false;
    }
    int k = last - 1;
    while (k >= 0 && ++p[k] > code->hi[k]) {
      p[k] = code->lo[k];
      k--;
    }
    if (k < 0)
      return true;
  }
}

/* Runs one stencil: its targets' old arrays are set aside, and all pieces read those. */
static bool run_stencil(Interp *in, const StencilCode *code) {
  const Stencil *s = code->stencil;
  in->stencil = s;
  for (int i = 0; i < s->ntargets; i++) {
    FieldState *f = &in->fields[s->targets[i]];
    f->changing = true;
    if (f->points)
      memcpy(f->old, f->now, (size_t)f->points * (size_t)type_size(f->type));
    if (f->written)
      memcpy(f->old_written, f->written, (size_t)f->points);
  }
  bool ok = true;
  for (int i = 0; ok && i < s->npieces; i++)
    ok = run_piece(in, &code->pieces[i]);
  for (int i = 0; i < s->ntargets; i++)
    in->fields[s->targets[i]].changing = false;
  return ok;
}

/* Temp fields hold nothing at the start of a step. */
static void forget_temps(Interp *in) {
  for (int i = 0; i < in->m->nfields; i++)
    if (in->fields[i].written)
      memset(in->fields[i].written, 0, (size_t)in->fields[i].points);
}

/* Runs all `n` stencils of `level` (-1: of all levels) in order. */
static bool run_list(Interp *in, int n, const StencilCode *codes, int level) {
  forget_temps(in);
  for (int i = 0; i < n; i++)
    if (level < 0 || codes[i].stencil->level == level)
      if (!run_stencil(in, &codes[i]))
        return false;
  return true;
}

/* interp_run with its memory in `in->arena`. */
static bool run_module(Interp *in, int64_t steps, bool run_inits, const bool *skip_init) {
  const Module *m = in->m;
  in->rank = m->grid.rank;
  in->fields = ARENA_ARRAY(in->arena, FieldState, m->nfields + 1);
  for (int i = 0; i < m->nfields; i++)
    if (!field_init(in, i))
      return false;
  int rows = 1;
  StencilCode *inits = translate(in, m->ninits, m->inits, &rows);
  StencilCode *stencils = inits ? translate(in, m->nstencils, m->stencils, &rows) : NULL;
  if (!stencils)
    return false;
  in->rows = ARENA_ARRAY(in->arena, Const, (size_t)rows * CHUNK);
  in->step = in->b->first_step;
  in->skip = skip_init;
  if (run_inits && !run_list(in, m->ninits, inits, -1))
    return false;
  in->skip = NULL;
  int tile = m->time_tile > 0 ? m->time_tile : 1;
  for (int64_t s = 0; s < steps; s++) {
    in->step = in->b->first_step + s;
    if (!run_list(in, m->nstencils, stencils, (int)(s % tile)))
      return false;
  }
  return true;
}

bool interp_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, Diags *d) {
  if (m->level != LEVEL_SIR) {
    diag_error(d, no_loc(), "the reference runs stencil IR, and module '%s' is kernel IR: use --device=sim", m->name);
    return false;
  }
  jmp_buf oom;
  Arena *arena = arena_new(NULL, NULL);
  if (!arena || setjmp(oom)) {
    diag_error(d, no_loc(), "out of memory for the reference's arrays");
    if (arena)
      arena_free(arena);
    return false;
  }
  arena_on_oom(arena, &oom);
  Interp in = {.arena = arena, .m = m, .b = b, .d = d};
  bool ok = run_module(&in, steps, run_inits, skip_init);
  arena_free(arena);
  return ok;
}
