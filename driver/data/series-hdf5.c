/* driver/data/series-hdf5.c: writes the contents of series_write as an HDF5 file: /reductions/NAME and /probes/NAME,
 * each with steps and values; probes also have their points. */
#include "driver/data/hdf5-io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes `rows` rows of `length` values of `type` as an array; it has one dimension if length is 0. */
static bool put_rows(hid_t group, const char *name, hid_t type, int64_t rows, int64_t length, const void *values) {
  hsize_t shape[2] = {(hsize_t)rows, (hsize_t)length};
  hid_t space = H5Screate_simple(length ? 2 : 1, shape, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(properties, false);
  hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  bool ok = set >= 0 && (!rows || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  if (set >= 0)
    ok = H5Dclose(set) >= 0 && ok;
  H5Pclose(properties);
  H5Sclose(space);
  return ok;
}

/* Writes the values of reduction `name`. */
static bool put_reduction(hid_t group, const Series *s, const char *name) {
  hid_t g = hdf5_make_group(group, name);
  int64_t *steps = malloc((size_t)s->n * sizeof *steps + 1), n = 0, members = 0;
  char *values = malloc((size_t)s->n * 8 + 1);
  bool real = false, ok = g >= 0 && steps && values;
  for (int64_t i = 0; i < s->n && ok; i++) {
    const StcReduction *r = &s->values[i];
    if (strcmp(r->name, name) != 0)
      continue;
    real = r->type == STC_F64;
    members = r->members;
    steps[members ? n / members : n] = r->step;
    memcpy(values + 8 * n++, real ? (const void *)&r->f : (const void *)&r->i, 8);
  }
  n /= members ? members : 1;
  ok = ok && put_rows(g, "step", H5T_NATIVE_INT64, n, 0, steps) &&
       put_rows(g, "value", real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, n, (int)members, values);
  free(steps);
  free(values);
  return g >= 0 && H5Gclose(g) >= 0 && ok;
}

/* Writes the coordinates of the points of probe number `i` in the grid. */
static bool put_points(hid_t group, const Series *s, StcPlan *plan, int i, int64_t n) {
  int rank = s->program->module->grid.rank;
  int64_t *points = malloc((size_t)(n * rank) * sizeof *points + 1), at[MAX_RANK];
  bool ok = points != NULL;
  for (int64_t k = 0; k < n && ok; k++) {
    ok = stc_plan_probe_point(plan, i, k, at) == STC_OK;
    memcpy(points + k * rank, at, (size_t)rank * sizeof *at);
  }
  ok = ok && put_rows(group, "points", H5T_NATIVE_INT64, n, rank, points);
  free(points);
  return ok;
}

/* Writes the rows of probe number `i`. */
static bool put_probe(hid_t group, const Series *s, StcPlan *plan, int i) {
  StcProbeInfo p;
  ProbeRows rows = {0};
  if (stc_plan_probe(plan, i, &p) != STC_OK)
    return false;
  hid_t g = hdf5_make_group(group, p.name);
  bool ok = g >= 0 && probe_rows(s->nrows, s->rows, p.name, &rows) &&
            put_rows(g, "step", H5T_NATIVE_INT64, rows.n, 0, rows.steps) &&
            put_rows(g, "value", hdf5_type(p.type), rows.n, p.list ? p.n : 0, rows.values) &&
            put_points(g, s, plan, i, p.n);
  probe_rows_free(&rows);
  return g >= 0 && H5Gclose(g) >= 0 && ok;
}

/* Writes the whole contents to the open file. */
static bool put_all(hid_t file, const Series *s, StcPlan *plan) {
  const Module *m = s->program->module;
  hid_t reductions = hdf5_make_group(file, "reductions"), probes = hdf5_make_group(file, "probes");
  bool ok = reductions >= 0 && probes >= 0;
  for (int i = 0; i < s->program->nlogged && ok; i++)
    ok = !*s->program->logged[i] || put_reduction(reductions, s, s->program->logged[i]);
  for (int i = 0; i < m->nprobes && ok; i++)
    ok = put_probe(probes, s, plan, i);
  ok = (reductions < 0 || H5Gclose(reductions) >= 0) && ok;
  return (probes < 0 || H5Gclose(probes) >= 0) && ok;
}

StcStatus series_write_hdf5(const Series *s, StcPlan *plan, const char *path) {
  char part[4096], reason[256] = "";
  if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
    return context_error(s->context, "the file name is too long: %.60s...", path), STC_IO;
  hdf5_take();
  hid_t properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_obj_track_times(properties, false);
  hid_t file = hdf5_create(part, properties, H5P_DEFAULT);
  H5Pclose(properties);
  bool ok = file >= 0 && put_all(file, s, plan);
  ok = (file < 0 || H5Fclose(file) >= 0) && ok;
  if (!ok)
    hdf5_reason(reason);
  hdf5_give();
  if (ok && rename(part, path) == 0)
    return STC_OK;
  context_error(s->context, "cannot write %s: %s", path, ok ? strerror(errno) : reason);
  unlink(part);
  return STC_IO;
}
