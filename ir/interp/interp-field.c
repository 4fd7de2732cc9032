/* interp-field.c: the fields of the reference: their memory, accesses to them, and their older time levels. */
#include "ir/interp/interp.h"

/* ---- messages */

/* The coordinates `p` as "[3, -1]", in `in`'s arena. */
static const char *point_text(Interp *in, const int64_t *p) {
  Str s = {in->arena, NULL, 0, 0};
  for (int k = 0; k < in->rank; k++)
    str_addf(&s, "%s%lld", k ? ", " : "[", (long long)p[k]);
  str_add(&s, "]");
  return s.s;
}

const char *interp_region_text(Interp *in, const int64_t *lo, const int64_t *hi) {
  Str s = {in->arena, NULL, 0, 0};
  for (int k = 0; k < in->rank; k++)
    str_addf(&s, "%s%lld .. %lld", k ? ", " : "[", (long long)lo[k], (long long)hi[k]);
  str_add(&s, "]");
  return s.s;
}

/* What is running, such as "stencil 's', step 3". */
static const char *where(Interp *in) {
  if (in->probe)
    return arena_printf(in->arena, "probe '%s' after %lld steps", in->probe->name, (long long)in->step);
  if (in->reduction)
    return arena_printf(in->arena, "reduction '%s' after %lld steps", in->reduction->name, (long long)in->step);
  return arena_printf(in->arena, "stencil '%s', step %lld", in->stencil->name, (long long)in->step);
}

/* Reports that access `op` reads cell `at` outside of field `f`, which has no rule (or no point) for this. */
static bool fault_outside(Interp *in, const FieldState *f, const Op *op, const int64_t *at) {
  diag_error(in->d, op->loc, "%s: the access to '%s' reaches %s, outside its region %s%s", where(in), f->field->name,
             point_text(in, at), interp_region_text(in, f->lo, f->hi),
             !outside_any(f->field) ? "; the field has no outside rule" : ", which is empty");
  return false;
}

/* Reports that access `op` reads cell number `cell` of the temp field `f`, which this step has not written yet. */
static bool fault_unwritten(Interp *in, const FieldState *f, const Op *op, int64_t cell) {
  int64_t at[MAX_RANK] = {0};
  for (int k = 0; k < f->rank; k++) {
    at[k] = f->lo[k] + cell / f->stride[k];
    cell %= f->stride[k];
  }
  diag_error(in->d, op->loc, "%s: temp field '%s' is read at %s, which no stencil has written in this step", where(in),
             f->field->name, point_text(in, at));
  return false;
}

/* ---- preparation */

/* Sets the components of f's type, and the constant that each has beyond the edges. */
static void set_components(Interp *in, FieldState *f) {
  Type t = f->field->type, constant = type_is_scalar(t) ? t : TY_F64;
  f->ncomponents = type_components(in->m, t);
  f->bytes = type_bytes(in->m, t);
  f->components = ARENA_ARRAY(in->arena, Component, f->ncomponents);
  f->outside = ARENA_ARRAY(in->arena, Const, f->ncomponents);
  for (int i = 0; i < f->ncomponents; i++) {
    f->components[i] = (Component){type_component(in->m, t, i), type_component_offset(in->m, t, i)};
    f->outside[i] = const_convert(f->field->outside_value, constant, f->components[i].type);
  }
  f->sides = f->field->sides && !f->field->apart ? ARENA_ARRAY(in->arena, Const, 2 * f->rank * f->ncomponents) : NULL;
  for (int s = 0; s < 2 * f->rank && f->sides; s++)
    for (int i = 0; i < f->ncomponents; i++) {
      const Side *side = &f->field->sides[s];
      f->sides[s * f->ncomponents + i] =
          const_convert(side->about ? in->b->scalars[side->about - 1] : side->value,
                        side->about ? in->m->scalars[side->about - 1].type : constant, f->components[i].type);
    }
}

/* Sets up the state of field `i`. */
static bool set_field(Interp *in, int i) {
  FieldState *f = &in->fields[i];
  f->field = &in->m->fields[i];
  f->rank = f->field->box.rank;
  InterpRegion r = interp_region(in, &f->field->box);
  int64_t shape[MAX_RANK], stride = 1;
  f->points = field_shape(f->field, in->b->scalars, shape);
  for (int k = f->rank - 1; k >= 0; k--) {
    f->lo[k] = r.lo[k];
    f->hi[k] = r.hi[k];
    f->stride[k] = stride;
    stride *= shape[k];
  }
  set_components(in, f);
  if (f->field->series)
    return true;
  if (f->field->temp) {
    f->now = arena_alloc(in->arena, (size_t)(f->points * f->bytes) + 1);
    f->written = arena_alloc(in->arena, (size_t)f->points + 1);
    f->old_written = arena_alloc(in->arena, (size_t)f->points + 1);
    return true;
  }
  f->now = in->b->fields[i];
  if (!f->now && f->points)
    diag_error(in->d, f->field->loc, "field '%s' has no array to run on", f->field->name);
  return f->now || !f->points;
}

void interp_keep_old(Interp *in, int i) {
  FieldState *f = &in->fields[i];
  if (!f->old)
    f->old = arena_alloc(in->arena, (size_t)(f->points * f->bytes) + 1);
}

/* Links field `i` to its pasts; `moves`: they rotate by themselves. */
static void set_pasts(Interp *in, int i, bool moves) {
  FieldState *f = &in->fields[i];
  f->pasts = ARENA_ARRAY(in->arena, FieldState *, f->field->history + 1);
  for (int p = 0; p < in->m->nfields; p++) {
    const Field *past = &in->m->fields[p];
    if (past->past && past->past <= f->field->history && past->present == i)
      f->pasts[past->past - 1] = &in->fields[p];
  }
  if (moves)
    f->start = arena_alloc(in->arena, (size_t)(f->points * f->bytes) + 1);
}

bool interp_fields(Interp *in) {
  in->fields = ARENA_ARRAY(in->arena, FieldState, in->m->nfields + 1);
  for (int i = 0; i < in->m->nfields; i++)
    if (!set_field(in, i))
      return false;
  for (int i = 0; i < in->m->nfields; i++)
    if (in->m->fields[i].history)
      set_pasts(in, i, !module_moves_levels(in->m));
  return true;
}

/* ---- reading and writing */

/* Maps coordinate *x of an access to `f` in dimension `k` into the field. Returns 0 if it lies in the field then, 1 if
 * the access yields the constant, 2 if there is no rule. */
static int map_coord(const FieldState *f, int k, int64_t *x) {
  if (*x >= f->lo[k] && *x <= f->hi[k])
    return 0;
  OutsideRule rule = f->field->outside[k];
  if (rule == OUTSIDE_CONST)
    return 1;
  if (rule == OUTSIDE_NONE || f->hi[k] < f->lo[k])
    return 2;
  *x = eval_map(outside_map(rule), *x, f->lo[k], f->hi[k]);
  return 0;
}

/* Reads `n` cells from number `cell` on, all inside, into the rows from `dst` on. */
static bool read_cells(Interp *in, const FieldState *f, const Op *op, int64_t cell, int n, Const *dst) {
  bool before = f->changing && op->code != OP_BEHIND;
  const uint8_t *written = before ? f->old_written : f->written;
  const char *from = before ? f->old : f->now;
  for (int i = 0; written && i < n; i++)
    if (!written[cell + i])
      return fault_unwritten(in, f, op, cell + i);
  if (type_is_scalar(f->field->type)) {
    for (int i = 0; i < n; i++)
      dst[i] = exec_get(f->field->type, from, cell + i);
    return true;
  }
  for (int k = 0; k < f->ncomponents; k++)
    for (int i = 0; i < n; i++)
      dst[k * CHUNK + i] = const_load(f->components[k].type, from + (cell + i) * f->bytes + f->components[k].offset);
  return true;
}

/* Sets column `i` of the rows from `dst` on to the value of `f` beyond its edge. */
static void read_outside(const FieldState *f, Const *dst) {
  for (int k = 0; k < f->ncomponents; k++)
    dst[k * CHUNK] = f->outside[k];
}

/* Has a part of the grid no point of `f`, although other parts have some? If the part reads the field nevertheless, it
 * computes ghost cells that nobody uses, and the value does not matter: cells that are used do not read beyond the
 * part's cells. */
static bool is_elsewhere(const Interp *in, const FieldState *f) {
  bool empty = false;
  for (int k = 0; k < f->rank; k++)
    empty = empty || f->hi[k] < f->lo[k];
  return empty && in->m->part && outside_any(f->field);
}

/* Maps coordinate *x of an access to `f`, whose edges have rules of their own, in dimension `k` into the field. Returns
 * the number of the side whose constant the access yields, or -1. Stores the odd sides that the mapping crosses, in
 * order, to list[0] .. list[*n - 1]. Returns -2 if there are more than MOST_ODD. */
static int cross_sides(const FieldState *f, int k, int64_t *x, int *list, int *n) {
  int64_t lo = f->lo[k], hi = f->hi[k];
  *n = 0;
  while (*x < lo || *x > hi) {
    int end = *x > hi, s = 2 * k + end;
    const Side *side = &f->field->sides[s];
    if (side->rule == OUTSIDE_CONST)
      return s;
    bool reflects = side->rule == OUTSIDE_MIRROR || side->rule == OUTSIDE_HALF, half = side->rule == OUTSIDE_HALF;
    if (side->odd && *n == MOST_ODD)
      return -2;
    if (side->odd)
      list[(*n)++] = s;
    if (!reflects || (lo == hi && !half))
      *x = eval_map(outside_map(side->rule), *x, lo, hi);
    else
      *x = end ? 2 * hi + half - *x : 2 * lo - half - *x;
  }
  return -1;
}

/* Reads into the rows from `dst` on the value of access `op` at coordinates `at`, for a field whose edges have rules of
 * their own. */
static bool read_sides(Interp *in, const FieldState *f, const Op *op, const int64_t *at, Const *dst) {
  int list[MAX_RANK][MOST_ODD], n[MAX_RANK] = {0}, constant = -1;
  int64_t cell = 0;
  for (int k = 0; k < f->rank; k++) {
    int64_t x = at[k];
    if (f->hi[k] < f->lo[k])
      return fault_outside(in, f, op, at);
    int side = cross_sides(f, k, &x, list[k], &n[k]);
    if (side < -1)
      return fault_outside(in, f, op, at);
    constant = constant < 0 ? side : constant;
    cell += (x - f->lo[k]) * f->stride[k];
  }
  for (int i = 0; i < f->ncomponents && constant >= 0; i++)
    dst[i * CHUNK] = f->sides[constant * f->ncomponents + i];
  if (constant >= 0)
    return true;
  if (!read_cells(in, f, op, cell, 1, dst))
    return false;
  for (int k = f->rank - 1; k >= 0; k--)
    for (int c = n[k] - 1; c >= 0; c--)
      for (int i = 0; i < f->ncomponents; i++)
        dst[i * CHUNK] = eval_odd(f->components[i].type, f->field->sides[list[k][c]].is_about,
                                  f->sides[list[k][c] * f->ncomponents + i], dst[i * CHUNK]);
  return true;
}

int64_t interp_locate(const FieldState *f, const int64_t *at, int *list, int *n) {
  int crossed[MAX_RANK][MOST_ODD], count[MAX_RANK] = {0};
  int64_t cell = 0;
  *n = 0;
  for (int k = 0; k < f->rank; k++) {
    int64_t x = at[k];
    if (f->sides ? cross_sides(f, k, &x, crossed[k], &count[k]) >= 0 : map_coord(f, k, &x) != 0)
      return -1;
    cell += (x - f->lo[k]) * f->stride[k];
  }
  for (int k = f->rank - 1; k >= 0; k--)
    for (int c = count[k] - 1; c >= 0; c--)
      list[(*n)++] = crossed[k][c];
  return cell;
}

/* interp_access for a field whose edges have rules of their own, if the access leaves it at some of the points. */
static bool access_sides(Interp *in, const FieldState *f, const Op *op, const int64_t *p, int n, Const *dst) {
  int64_t at[MAX_RANK];
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < in->rank; k++)
      at[k] = p[k] + op->off[k] + (k == in->rank - 1 ? i : 0);
    if (!read_sides(in, f, op, at, &dst[i]))
      return false;
  }
  return true;
}

/* Does the access stay in the field at all `n` points? */
static bool stays_inside(const FieldState *f, const Op *op, const int64_t *p, int n) {
  bool inside = true;
  for (int k = 0; k < f->rank; k++) {
    int64_t first = p[k] + op->off[k];
    inside = inside && first >= f->lo[k] && first + (k == f->rank - 1 ? n - 1 : 0) <= f->hi[k];
  }
  return inside;
}

bool interp_access(Interp *in, const Op *op, const int64_t *p, int n, Const *dst) {
  const FieldState *f = &in->fields[op->sym];
  int last = in->rank - 1, beyond = 0;
  int64_t at[MAX_RANK], cell = 0;
  if (is_elsewhere(in, f)) {
    for (int i = 0; i < n; i++)
      read_outside(f, &dst[i]);
    return true;
  }
  if (f->sides && !stays_inside(f, op, p, n))
    return access_sides(in, f, op, p, n, dst);
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
      read_outside(f, &dst[i]);
    else if (!read_cells(in, f, op, cell + at[last] - f->lo[last], 1, &dst[i]))
      return false;
  }
  return true;
}

bool interp_scaled(Interp *in, const Op *op, const int64_t *p, int n, Const *dst) {
  const FieldState *f = &in->fields[op->sym];
  for (int i = 0; i < n; i++) {
    int64_t at[MAX_RANK], cell = 0;
    int beyond = 0;
    for (int k = 0; k < in->rank; k++)
      at[k] = scaled_coordinate(in->m, op, k, p[k] + (k == in->rank - 1 ? i : 0));
    if (f->sides) {
      if (!read_sides(in, f, op, at, &dst[i]))
        return false;
      continue;
    }
    for (int k = 0; k < in->rank; k++) {
      int how = map_coord(f, k, &at[k]);
      beyond = how > beyond ? how : beyond;
      cell += (at[k] - f->lo[k]) * f->stride[k];
    }
    if (beyond == 2)
      return fault_outside(in, f, op, at);
    if (beyond)
      read_outside(f, &dst[i]);
    else if (!read_cells(in, f, op, cell, 1, &dst[i]))
      return false;
  }
  return true;
}

void interp_write(Interp *in, FieldState *f, const int32_t *from, const int64_t *p, int n) {
  int64_t cell = 0;
  for (int k = 0; k < in->rank; k++)
    cell += (p[k] - f->lo[k]) * f->stride[k];
  for (int k = 0; k < f->ncomponents; k++) {
    const Const *row = in->rows + (size_t)from[k] * CHUNK;
    const Component *c = &f->components[k];
    for (int i = 0; i < n; i++)
      if (type_is_scalar(f->field->type))
        exec_put(c->type, f->now, cell + i, row[i]);
      else
        const_store(c->type, f->now + (cell + i) * f->bytes + c->offset, row[i]);
  }
  if (f->written)
    memset(f->written + cell, 1, (size_t)n);
}

/* ---- older time levels */

/* Copies the whole array of `f`. */
static void copy_field(const FieldState *f, char *to, const char *from) {
  if (f->points)
    memcpy(to, from, (size_t)(f->points * f->bytes));
}

void interp_keep_start(Interp *in) {
  for (int i = 0; i < in->m->nfields; i++)
    if (in->fields[i].start)
      copy_field(&in->fields[i], in->fields[i].start, in->fields[i].now);
}

void interp_move_on(Interp *in) {
  for (int i = 0; i < in->m->nfields; i++) {
    const FieldState *f = &in->fields[i];
    for (int k = f->field->history - 1; f->start && k >= 0; k--)
      copy_field(f, f->pasts[k]->now, k ? f->pasts[k - 1]->now : f->start);
  }
}

void interp_fill_pasts(Interp *in) {
  for (int i = 0; i < in->m->nfields; i++) {
    const Field *past = &in->m->fields[i];
    if (past->past && !past->temp && !stencils_write(in->m->ninits, in->m->inits, i) && !(in->skip && in->skip[i]))
      copy_field(&in->fields[i], in->fields[i].now, in->fields[past->present].now);
  }
}
