/* driver/grid.c: the size of a program's grid, as far as it is known when kernels are made, for choices that are to suit it. */
#include "driver/driver.h"

#include <string.h>

/* Takes messages, and shows none. */
static void drop_message(void *user, const Diag *d) { (void)user, (void)d; }

Const *program_bind(const StcProgram *p, const Module *m, Arena *a, Diags *d, int n, const char *const *texts) {
  Define *defines = ARENA_ARRAY(a, Define, p->options.ndefines + n + 1);
  Const *values = ARENA_ARRAY(a, Const, m->nscalars + 1);
  for (int i = 0; i < p->options.ndefines; i++) defines[i] = p->defines[i];
  for (int i = 0; i < n; i++)
    if (!define_parse(a, texts[i], &defines[p->options.ndefines + i])) return NULL;
  return module_bind(m, p->options.ndefines + n, defines, values, d) ? values : NULL;
}

bool program_extents(const StcProgram *p, Arena *a, int n, const char *const *texts, int64_t extents[MAX_RANK]) {
  const Module *m = p->module;
  Field whole = {.name = "grid", .box = m->grid};
  memset(extents, 0, sizeof *extents * MAX_RANK);
  const Const *values = program_bind(p, m, a, diags_new(a, drop_message, NULL), n, texts);
  return values && field_shape(&whole, values, extents) > 0;
}

/* The number nearest to `n` among those of three significant bits. */
static int64_t rounded(int64_t n) {
  int shift = 0;
  while (n >> shift > 7) shift++;
  return shift ? (n + (INT64_C(1) << (shift - 1))) >> shift << shift : n;
}

/* Points from which on the extents of a grid of rank 3 are not rounded: rows of walks are chosen for them. */
static const double MANY_POINTS = 4194304;

/* Points of a grid of such extents. */
static double points_of(const int64_t *size, int rank) {
  double points = 1;
  for (int d = 0; d < rank; d++) points *= (double)size[d];
  return points;
}

/* Does nothing but where tiles at edges go depend on the size? Then makes it none, or that of GRID_SMALL, so that there are no more builds than ways to put them. */
static void reduce_size(const StcProgram *p, int64_t size[MAX_RANK]) {
  Schedule s = p->schedule;
  if (schedule_depends_on_size(&s)) return;
  memcpy(s.size, size, sizeof s.size);
  bool parted = schedule_parts_edges(&s, p->module->grid.rank);
  for (int d = 0; d < MAX_RANK; d++) size[d] = parted ? 0 : GRID_SMALL;
}

void program_size(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts, int64_t size[MAX_RANK]) {
  memset(size, 0, sizeof *size * MAX_RANK);
  const Schedule *s = &p->schedule;
  if (!schedule_depends_on_size(s) && (!t->simt || s->edges || (s->family && strcmp(s->family, "naive") == 0))) return;
  int rank = p->module->grid.rank;
  if (p->options.grid[0])
    memcpy(size, p->options.grid, sizeof *size * (size_t)rank);
  else if (!program_extents(p, a, n, texts, size))
    memset(size, 0, sizeof *size * MAX_RANK);
  bool exact = rank == MAX_RANK && points_of(size, rank) >= MANY_POINTS;
  for (int d = 0; d < rank && !exact; d++) size[d] = rounded(size[d]);
  reduce_size(p, size);
}
