/* driver/program/grid.c: the size of a program's grid, as far as it is known when kernels are made, and how often runs
 * stop, for choices that should suit them. */
#include "driver/program/program.h"
#include "passes/base/tuning.h"
#include "passes/plan/asked.h"

#include <inttypes.h>
#include <string.h>

Const *program_bind(const StcProgram *p, const Module *m, Arena *a, Diags *d, int n, const char *const *texts) {
  Define *defines = ARENA_ARRAY(a, Define, p->options.ndefines + n + 1);
  Const *values = ARENA_ARRAY(a, Const, m->nscalars + 1);
  for (int i = 0; i < p->options.ndefines; i++)
    defines[i] = p->defines[i];
  for (int i = 0; i < n; i++)
    if (!define_parse(a, texts[i], &defines[p->options.ndefines + i]))
      return NULL;
  if (!module_bind(m, p->options.ndefines + n, defines, values, d))
    return NULL;
  rows_pad(m, p->options.ndefines + n, defines, values);
  return values;
}

bool program_extents(const StcProgram *p, Arena *a, int n, const char *const *texts, int64_t extents[MAX_RANK]) {
  const Module *m = p->module;
  Field whole = {.name = "grid", .box = m->grid};
  for (int d = 0; d < m->grid.rank && m->part; d++)
    if (!affine_equal(m->part->gives.lo[d], m->grid.lo[d])) {
      whole.box.lo[d] = m->part->own.lo[d];
      whole.box.hi[d] = m->part->own.hi[d];
    }
  memset(extents, 0, sizeof *extents * MAX_RANK);
  const Const *values = program_bind(p, m, a, diags_quiet(a), n, texts);
  return values && field_shape(&whole, values, extents) > 0;
}

/* Is scalar `i` among the first `n` of `set`? */
static bool is_set(const int *set, int n, int i) {
  for (int k = 0; k < n; k++)
    if (set[k] == i)
      return true;
  return false;
}

/* The scalar in `extent`, if that has a single term, which is a param not in `set`; else -1. */
static int free_param(const Module *m, Affine extent, const int *set, int n) {
  if (extent.n != 1 || !extent.t[0].coef)
    return -1;
  int i = extent.t[0].scalar;
  return m->scalars[i].is_param && type_is_int(m->scalars[i].type) && !is_set(set, n, i) ? i : -1;
}

int grid_params(const Module *m, Arena *a, const int64_t want[MAX_RANK], const char **defines) {
  int set[MAX_RANK], n = 0;
  for (int d = 0; d < m->grid.rank; d++) {
    Affine extent = box_extent(a, &m->grid, d);
    int i = free_param(m, extent, set, n);
    if (i < 0)
      continue;
    defines[n] = arena_printf(a, "%s=%" PRId64, m->scalars[i].name, (want[d] - extent.c) / extent.t[0].coef);
    set[n++] = i;
  }
  return n;
}

/* Do the program's defines set the param of `d`? */
static bool is_defined(const StcProgram *p, const Define *d) {
  for (int i = 0; i < p->options.ndefines; i++)
    if (strcmp(p->defines[i].name, d->name) == 0)
      return true;
  return false;
}

void program_take_grid(StcProgram *p) {
  const char *texts[MAX_RANK];
  Arena *a = p->w.arena;
  int n = p->options.grid[0] ? grid_params(p->module, a, p->options.grid, texts) : 0;
  Define d, *all = ARENA_ARRAY(a, Define, p->options.ndefines + n + 1);
  const char **words = ARENA_ARRAY(a, const char *, p->options.ndefines + n + 1);
  for (int i = 0; i < p->options.ndefines; i++) {
    all[i] = p->defines[i];
    words[i] = p->options.defines[i];
  }
  int count = p->options.ndefines;
  for (int i = 0; i < n; i++)
    if (define_parse(a, texts[i], &d) && !is_defined(p, &d)) {
      all[count] = d;
      words[count++] = texts[i];
    }
  p->defines = all;
  p->options.defines = words;
  p->options.ndefines = count;
}

/* The number nearest to `n` that has three significant bits. */
static int64_t rounded(int64_t n) {
  int shift = 0;
  while (n >> shift > 7)
    shift++;
  return shift ? (n + (INT64_C(1) << (shift - 1))) >> shift << shift : n;
}

/* The number of 4-byte values in the unit of bulk copies. */
enum { WHOLE_ROW = 4 };

/* The number of points of a grid with these extents. */
static double points_of(const int64_t *size, int rank) {
  double points = 1;
  for (int d = 0; d < rank; d++)
    points *= (double)size[d];
  return points;
}

/* Do the rows of a CPU's tiles, or of its plain loops, depend on the size of the grid? */
static bool rows_are_open(const Schedule *s) {
  return schedule_rows_are_open(s) || (family_is_plain(s->family) && !schedule_says_any(s, KNOBS_NUMBERS));
}

/* Are the rows of a thread of a frame's kernels open, so that they depend on the size: are single steps made at edges,
 * and does no plan set the rows? */
static bool frame_is_open(const Schedule *s) { return s->edges == EDGES_STEPS && !(s->rest && s->rest->elems[0]); }

/* If only the position of tiles at edges depends on the size, and on large grids the rows of streamed tiles, sets the
 * size to none, or to that of GRID_SMALL, so that there are no more builds than positions. */
static void reduce_size(const StcProgram *p, const TargetInfo *t, int64_t size[MAX_RANK]) {
  Schedule s = p->schedule;
  memcpy(s.size, size, sizeof s.size);
  s.family = t->simt ? s.family : schedule_family(t, &s);
  if (schedule_depends_on_size(&s) || (t->simt && (schedule_gives_steps(&s) || frame_is_open(&s))) ||
      (!t->simt && rows_are_open(&s)) ||
      (t->simt && schedule_rows_are_open(&s) && schedule_size_is_large(&s, p->module->grid.rank)))
    return;
  bool parted = schedule_parts_edges(&s, p->module->grid.rank);
  for (int d = 0; d < p->module->grid.rank; d++)
    size[d] = parted ? 0 : GRID_SMALL;
}

void program_size(const StcProgram *p, Arena *a, const TargetInfo *t, bool padded, int n, const char *const *texts,
                  int64_t size[MAX_RANK]) {
  memset(size, 0, sizeof *size * MAX_RANK);
  Schedule open = p->schedule, *s = &open;
  open.family = t->simt ? open.family : schedule_family(t, s);
  bool simple = t->simt ? family_is_plain(s->family) : !rows_are_open(s);
  bool chosen = schedule_depends_on_size(s) || (t->simt && (schedule_gives_steps(s) || frame_is_open(s)));
  if (!chosen && (simple || (s->edges && !rows_are_open(s))))
    return;
  int rank = p->module->grid.rank;
  if (p->options.grid[0])
    memcpy(size, p->options.grid, sizeof *size * (size_t)rank);
  else if (!program_extents(p, a, n, texts, size))
    memset(size, 0, sizeof *size * MAX_RANK);
  bool exact = rank >= GRID_RANK && points_of(size, rank) >= tuning.parted_points;
  double least = tuning.warps_least_slow_extent * tuning.warps_least_slow_extent;
  bool ragged = !padded && rank == 2 && t->bulk_copy && size[1] % WHOLE_ROW != 0 && 2 * points_of(size, rank) >= least;
  for (int d = 0; d < rank && !exact; d++)
    size[d] = rounded(size[d]);
  size[1] += ragged;
  reduce_size(p, t, size);
}

void program_suit_stops(StcProgram *p, int64_t every) { p->schedule.every = every; }
