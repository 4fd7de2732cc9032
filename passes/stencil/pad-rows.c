/* pad-rows.c: lets the launcher choose the distance of rows in memory (the pitch). Kernels for GPUs move whole vectors,
 * and bulk copies whole 16 bytes. That requires rows that all begin at multiples of these sizes, because the extent of
 * the last dimension is such a multiple, or because rows in memory are longer than their points.
 *
 *     field @A : f32 on [0 .. N - 1, 0 .. M - 1] pitch @row.pitch rest 14
 *
 * All fields with the grid's last dimension get the pitch `row.pitch`, a hidden param whose default is the extent, so
 * that rows are dense by default. A launch check requires that it is at least the extent. Fields of lists of points,
 * which the launcher fills, stay dense. Regions, outside rules and coordinates stay the same; cells between rows are
 * not points. The pass does nothing if rows are whole 16 bytes for all params.
 *
 * Option `rest=R` is the remainder of a row's number of points divided by 16 (ROW_REST), and fields then say `rest R`.
 * Kernels are made for grids with this remainder; for other grids there are further kernels. Family warps, for example,
 * then knows which of a lane's cells lie after the last column. Otherwise it would have to test all cells of a vector,
 * which costs registers. Such a kernel has `multiple M + 2 of 4`, and is launched if that holds.
 *
 * Lowerings use the pitch instead of the extent: kernels have `multiple row.pitch of 4`, and another kernel, `..._any`,
 * `instead`. A vector that is partly after the last point is loaded and stored whole (`idx.guard ... by 4`); the
 * simulator treats its values there as stale, and permits storing stale values there.
 *
 * The pass is not in the default pipeline. Plans on GPUs, and on the simulator of their kernels, run it on three
 * conditions: the extent under their params is not a multiple of 4 (with elements below 4 bytes, of 16 bytes); the
 * program runs as a whole and not in parts; and padding takes at most a quarter of the memory or a MiB. Rows then begin
 * at multiples of 32 bytes (`driver/program/row-pitch.c`). `stc explain` shows those kernels. Artifacts are made for
 * dense rows, unless `-passes=scalarize,history,probes,simplify,pad-rows,plan,planned` asks for others. */
#include "passes/registry.h"

/* May the rows of `f` be padded? Not those of fields that the launcher fills or that have no memory, and not rows that
 * begin or end elsewhere than the grid's, which are not moved by vectors. */
static bool may_pad(const Module *m, const Field *f) {
  int x = m->grid.rank - 1;
  return type_is_scalar(f->type) && !f->derived && !f->series && affine_equal(f->box.lo[x], m->grid.lo[x]) &&
         affine_equal(f->box.hi[x], m->grid.hi[x]);
}

/* The size in bytes of the smallest element of the fields whose rows may be padded; 0 if there are none. */
static int least_bytes(const Module *m) {
  int least = 0;
  for (int f = 0; f < m->nfields; f++) {
    int size = may_pad(m, &m->fields[f]) ? (int)type_size(m->fields[f].type) : 0;
    least = size && (!least || size < least) ? size : least;
  }
  return least;
}

/* Copies the lists that the pass changes; other modules may share them. */
static void own_lists(Module *m) {
  Scalar *scalars = m->scalars;
  Check *checks = m->checks;
  Field *fields = m->fields;
  int nscalars = m->nscalars, nchecks = m->nchecks, nfields = m->nfields;
  m->scalars = NULL;
  m->checks = NULL;
  m->fields = NULL;
  m->nscalars = m->nchecks = m->nfields = 0;
  for (int i = 0; i < nscalars; i++)
    ARENA_PUSH(m->arena, m->scalars, m->nscalars, scalars[i]);
  for (int i = 0; i < nchecks; i++)
    ARENA_PUSH(m->arena, m->checks, m->nchecks, checks[i]);
  for (int i = 0; i < nfields; i++)
    ARENA_PUSH(m->arena, m->fields, m->nfields, fields[i]);
}

/* Adds the hidden param, and the check that rows do not overlap. Returns the param's number. */
static int32_t add_pitch(Module *m, Affine extent) {
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  build_yield(&b, 1, (Value *[]){build_affine(&b, m, extent)});
  ARENA_PUSH(m->arena, m->scalars, m->nscalars,
             ((Scalar){.name = ROW_PITCH, .type = TY_I64, .is_param = true, .expr = expr}));
  Check apart = {.value = affine_sub(m->arena, affine_scalar(m->arena, m->nscalars - 1), extent),
                 .message = "rows of the fields would overlap: " ROW_PITCH
                            " must be the extent of the last dimension at least"};
  ARENA_PUSH(m->arena, m->checks, m->nchecks, apart);
  return m->nscalars - 1;
}

Module *pass_pad_rows(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int64_t rest = pass_option_int(c, "pad-rows", n, o, "rest", 0, ROW_REST - 1, -1, &ok);
  if (!ok)
    return NULL;
  Affine extent = box_extent(m->arena, &m->grid, m->grid.rank - 1);
  int bytes = least_bytes(m);
  if (!bytes || module_find_scalar(m, ROW_PITCH) >= 0 || affine_multiple(extent, VECTOR_BYTES / bytes) > 0)
    return m;
  own_lists(m);
  int32_t pitch = add_pitch(m, extent);
  for (int f = 0; f < m->nfields; f++)
    if (may_pad(m, &m->fields[f])) {
      m->fields[f].pitch = pitch + 1;
      m->fields[f].rest = (int32_t)rest + 1;
    }
  return m;
}
