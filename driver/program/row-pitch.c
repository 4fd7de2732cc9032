/* driver/program/row-pitch.c: the pitch of rows of fields in the memory of plans. GPUs move whole vectors and whole 16
 * bytes: if a row is no multiple of these, rows are padded so that all begin at whole sectors (pass pad-rows). */
#include "driver/program/program.h"

#include <string.h>

/* SECTOR_BYTES: rows are padded to a multiple of a sector, or, if that takes too much, of a vector. LEAST_PART,
 * FREE_BYTES: the padding is at most one LEAST_PART-th of a field, or FREE_BYTES. WHOLE_ROW: the least multiple of
 * elements in a row that suits all kernels. */
enum { SECTOR_BYTES = 32, LEAST_PART = 4, FREE_BYTES = 1 << 20, WHOLE_ROW = 4 };

/* The bytes of the smallest element of the fields of `m` that users can access. */
static int least_bytes(const Module *m) {
  int least = 8;
  for (int f = 0; f < m->nfields; f++)
    for (int c = 0; c < type_components(m, m->fields[f].type) && !m->fields[f].derived; c++) {
      int size = (int)type_size(type_component(m, m->fields[f].type, c));
      least = size < least ? size : least;
    }
  return least;
}

/* The pitch in elements for fields of `m` on a grid with these extents. */
static int64_t pitch_of(const Module *m, const int64_t *extents) {
  int least = least_bytes(m), x = m->grid.rank - 1;
  double rows = 1;
  for (int d = 0; d < x; d++)
    rows *= (double)extents[d];
  for (int bytes = SECTOR_BYTES; bytes >= VECTOR_BYTES; bytes /= 2) {
    int64_t n = bytes / least, padded = (extents[x] + n - 1) / n * n, more = padded - extents[x];
    if (more * LEAST_PART <= extents[x] || rows * (double)(more * least) <= FREE_BYTES)
      return padded > 0 ? padded : 1;
  }
  return extents[x] > 1 ? extents[x] : 1;
}

int program_pads_rows(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts) {
  int64_t extents[MAX_RANK];
  int x = p->module->grid.rank - 1, whole = VECTOR_BYTES / least_bytes(p->module);
  whole = whole < WHOLE_ROW ? WHOLE_ROW : whole;
  if (!t->simt || p->kind == SOURCE_KIR || p->options.passes || p->cut || !program_extents(p, a, n, texts, extents))
    return 0;
  bool pays = extents[x] % whole != 0 && pitch_of(p->module, extents) > extents[x];
  return pays ? 1 + (int)(extents[x] % ROW_REST) : 0;
}

/* Is the param among the defines? */
static bool is_given(int n, const Define *defines) {
  bool given = false;
  for (int i = 0; i < n; i++)
    given = given || strcmp(defines[i].name, ROW_PITCH) == 0;
  return given;
}

void rows_pad(const Module *m, int n, const Define *defines, Const *scalars) {
  int pitch = module_find_scalar(m, ROW_PITCH);
  Field grid = {.name = "grid", .box = m->grid};
  int64_t extents[MAX_RANK];
  if (pitch < 0 || !m->scalars[pitch].is_param || is_given(n, defines))
    return;
  field_shape(&grid, scalars, extents);
  scalars[pitch].i = pitch_of(m, extents);
}
