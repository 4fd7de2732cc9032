/* points.c: lists of points from launch-time arrays, and the rows that hold the values of probes. */
#include "ir/run/exec.h"

#include <stdlib.h>
#include <string.h>

const PointList *probe_list(const Module *m, const Probe *p) { return p->list < 0 ? NULL : &m->lists[p->list]; }

Affine list_extent(const Module *m, const PointList *l) {
  Affine n = affine_const(1);
  for (int d = 0; d < m->grid.rank; d++)
    if (l->array[d] >= 0)
      return m->param_arrays[l->array[d]].extent;
    else if (l->array[d] == LIST_NUMBER)
      n = box_extent(m->arena, &l->box, d);
  return n;
}

int64_t list_length(const Module *m, const PointList *l, const Const *scalars) {
  int64_t n = 1;
  for (int d = 0; l && d < m->grid.rank; d++)
    if (l->array[d] >= 0)
      return param_array_extent(&m->param_arrays[l->array[d]], scalars);
    else if (l->array[d] == LIST_NUMBER)
      n = affine_eval(l->box.hi[d], scalars, NULL) - affine_eval(l->box.lo[d], scalars, NULL) + 1;
  return n > 0 ? n : 0;
}

int64_t list_point(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int64_t n,
                   int64_t at[MAX_RANK]) {
  int64_t shape[MAX_RANK], cell = 0;
  bool inside = true;
  field_shape(&m->fields[l->field], scalars, shape);
  for (int d = 0; d < m->grid.rank; d++) {
    int array = l->array[d];
    int64_t lo = affine_eval(l->box.lo[d], scalars, NULL);
    at[d] = array == LIST_NUMBER ? lo + n
            : array < 0          ? affine_eval(l->at[d], scalars, NULL)
                                 : exec_get(m->param_arrays[array].type, arrays[array], n).i;
    inside = inside && at[d] >= lo && at[d] - lo < shape[d];
    cell = inside ? cell * shape[d] + at[d] - lo : -1;
  }
  return cell;
}

/* "[3, 4]" */
static const char *coordinates(Arena *a, int rank, const int64_t *at) {
  Str s = {.arena = a};
  for (int d = 0; d < rank; d++)
    str_addf(&s, "%s%lld", d ? ", " : "[", (long long)at[d]);
  str_add(&s, "]");
  return s.s;
}

/* The names of the launch-time arrays of `l`, "rx, rz". */
static const char *array_names(Arena *a, const Module *m, const PointList *l) {
  Str s = {.arena = a};
  for (int d = 0; d < m->grid.rank; d++)
    if (l->array[d] >= 0)
      str_addf(&s, "%s'%s'", s.n ? ", " : "", m->param_arrays[l->array[d]].name);
  return s.s;
}

/* Reports that point `n` of the list, at `at`, is outside the list's box. */
static bool report_outside(const Module *m, const PointList *l, const Const *scalars, int64_t n, const int64_t *at,
                           Diags *d) {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  Arena *a = arena_new(NULL, NULL);
  box_eval(&l->box, scalars, lo, hi);
  diag_error(d, l->loc, "point number %lld of the list in %s is %s; all its points must lie between %s and %s",
             (long long)n, array_names(a, m, l), coordinates(a, m->grid.rank, at), coordinates(a, m->grid.rank, lo),
             coordinates(a, m->grid.rank, hi));
  arena_free(a);
  return false;
}

/* Reports that with point `n` of the list, at `at`, there are too many points at one place. */
static bool report_many(const Module *m, const PointList *l, int64_t n, const int64_t *at, Diags *d) {
  Arena *a = arena_new(NULL, NULL);
  diag_error(d, l->loc,
             "point number %lld of the list in %s is at %s, where %d other%s of it %s: write 'up to %d' or more, or "
             "give each place once",
             (long long)n, array_names(a, m, l), coordinates(a, m->grid.rank, at), (int)l->most, l->most > 1 ? "s" : "",
             l->most > 1 ? "are" : "is", (int)l->most + 1);
  arena_free(a);
  return false;
}

/* The last point before number `n` in the chain `next` that begins with number `first`, all at one place; *count: the
 * number of points in the chain before `n`. */
static int64_t last_at(const int32_t *next, int64_t first, int64_t *count) {
  int64_t p = first;
  for (*count = 1; next[p]; ++*count)
    p = next[p] - 1;
  return p;
}

bool list_check(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, Diags *d) {
  int64_t n = list_length(m, l, scalars), at[MAX_RANK];
  for (int64_t i = 0; i < n; i++)
    if (list_point(m, l, scalars, arrays, i, at) < 0)
      return report_outside(m, l, scalars, i, at, d);
  return true;
}

bool list_fill(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int32_t *index,
               int32_t *next, Diags *d) {
  int64_t shape[MAX_RANK], points = field_shape(&m->fields[l->field], scalars, shape), at[MAX_RANK],
                           n = list_length(m, l, scalars), count;
  if (points)
    memset(index, 0, sizeof *index * (size_t)points);
  if (next && n)
    memset(next, 0, sizeof *next * (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    int64_t cell = list_point(m, l, scalars, arrays, i, at);
    if (cell < 0)
      return report_outside(m, l, scalars, i, at, d);
    if (!index[cell]) {
      index[cell] = (int32_t)(i + 1);
    } else if (l->most == 1) {
      return report_many(m, l, i, at, d);
    } else if (next) {
      int64_t last = last_at(next, index[cell] - 1, &count);
      if (l->most && count >= l->most)
        return report_many(m, l, i, at, d);
      next[last] = (int32_t)(i + 1);
    }
  }
  return true;
}

/* Orders points (qsort). */
static int compare_places(const void *x, const void *y) {
  const PlacedPoint *a = x, *b = y;
  if (a->cell != b->cell)
    return a->cell < b->cell ? -1 : 1;
  return a->point < b->point ? -1 : a->point > b->point;
}

bool list_place(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, PlacedPoint *out,
                Diags *d) {
  int64_t n = list_length(m, l, scalars), at[MAX_RANK], inside = n, many = n, count = 0;
  for (int64_t i = n - 1; i >= 0; i--) {
    out[i] = (PlacedPoint){list_point(m, l, scalars, arrays, i, at), i};
    inside = out[i].cell < 0 ? i : inside;
  }
  qsort(out, (size_t)n, sizeof *out, compare_places);
  for (int64_t i = 0; i < n; i++) {
    count = i && out[i].cell == out[i - 1].cell ? count + 1 : 1;
    many = out[i].cell >= 0 && l->most && count > l->most && out[i].point < many ? out[i].point : many;
  }
  if (inside < n && inside < many) {
    list_point(m, l, scalars, arrays, inside, at);
    return report_outside(m, l, scalars, inside, at, d);
  }
  if (many < n)
    list_point(m, l, scalars, arrays, many, at);
  return many == n || report_many(m, l, many, at, d);
}

size_t probe_room(const Module *m, const Probe *p, const Const *scalars) {
  return (size_t)list_length(m, probe_list(m, p), scalars) * (sizeof(int64_t) + (size_t)type_size(p->type)) + 1;
}

/* Sets first[i] to the number of the first list point at the place of point i; its element of a probe's row is valid
 * for both. */
static void find_firsts(const Module *m, const PointList *l, const Const *scalars, void *const *arrays,
                        const int32_t *index, int64_t n, int64_t *first) {
  int64_t at[MAX_RANK];
  for (int64_t i = 0; i < n; i++)
    first[i] = index[list_point(m, l, scalars, arrays, i, at)] - 1;
}

void probe_read(const Module *m, const Probe *p, const Const *scalars, void *const *arrays, const int32_t *index,
                const void *rows, int64_t from, int64_t to, void *room,
                void (*fn)(void *user, const Probe *p, int64_t step, const void *values), void *user) {
  const PointList *l = probe_list(m, p);
  int64_t n = list_length(m, l, scalars), *first = room;
  size_t size = (size_t)type_size(p->type);
  char *row_values = (char *)(first + n);
  if (l)
    find_firsts(m, l, scalars, arrays, index, n, first);
  for (int64_t row = from < 0 ? 0 : from / p->every + 1; row <= to / p->every; row++) {
    const char *values = (const char *)rows + (size_t)(row % SERIES_ROWS * n) * size;
    for (int64_t i = 0; l && i < n; i++)
      memcpy(row_values + (size_t)i * size, values + (size_t)first[i] * size, size);
    fn(user, p, row * p->every, l ? row_values : values);
  }
}

bool probes_have_room(const Module *m, int64_t from, int64_t to) {
  for (int i = 0; i < m->nprobes; i++)
    if (to / m->probes[i].every - (from < 0 ? -1 : from / m->probes[i].every) > SERIES_ROWS)
      return false;
  return true;
}
