/* driver/data/checkpoint.c: writes all that a run needs to continue from a step to an HDF5 file: attributes that
 * identify the program, fields and launch-time arrays, the values of reductions, the rows of probes. Everything has
 * checksums: values of arrays have stc's, attributes and descriptions of arrays have those of HDF5, whose older file
 * formats have none. The file is written under another name, flushed to the disk and renamed, so a file of the final
 * name is always complete. Arrays are contiguous, so several processes can write fields (checkpoint-parts.c). */
#include "driver/data/hdf5-io.h"
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the state of a run */

/* The number of values of scalar number `i` in a run of `members` members. */
static int64_t values_of_scalar(const Job *j, int i, int64_t members) {
  const Module *m = j->program->module;
  return m->param_arrays[module_find_param_array(m, stc_program_scalar(j->program, i))].each ? members : 1;
}

StcStatus checkpoint_copy(const Source *from, StcPlan *plan, void **data) {
  const Job *j = from->user;
  const Module *m = j->program->module;
  StcStatus drained = plan->device.kind->whole || split_is_lean(plan) ? STC_OK : plan_drain(plan);
  if (drained)
    return drained;
  int nscalars = 0;
  int64_t members = grid_members(m, plan->scalars), nvalues = 0;
  for (; stc_program_scalar(j->program, nscalars); nscalars++)
    nvalues += values_of_scalar(j, nscalars, members);
  size_t series = (size_t)j->series.n * sizeof *j->series.values,
         values = (size_t)(m->nreductions + nvalues) * sizeof(Const),
         rows = (size_t)j->series.nrows * sizeof *j->series.rows;
  RunState *s = realloc(*data, sizeof *s + values + series + rows);
  if (!s)
    return context_error(j->c->context, "no memory on this computer for the values of reductions"), STC_MEMORY;
  *s = (RunState){.until = plan->run.met ? plan->run.met->name : "",
                  .nreductions = m->nreductions,
                  .nscalars = nscalars,
                  .members = members,
                  .nseries = j->series.n,
                  .nrows = j->series.nrows};
  s->values = (Const *)(s + 1);
  s->series = (StcReduction *)(s->values + m->nreductions + nvalues);
  s->rows = (StcProbe *)(s->series + s->nseries);
  for (int i = 0; i < m->nreductions; i++) {
    const Const *v = plan_reduction(plan, m->reductions[i].name);
    s->values[i] = v ? *v : (Const){0};
  }
  Const *to = s->values + m->nreductions;
  for (int i = 0; i < nscalars; i++) {
    int64_t n = values_of_scalar(j, i, members);
    StcStatus status = stc_plan_scalars(plan, stc_program_scalar(j->program, i), to, (size_t)n * sizeof *to);
    if (status)
      return status;
    to += n;
  }
  if (series)
    memcpy(s->series, j->series.values, series);
  if (rows)
    memcpy(s->rows, j->series.rows, rows);
  *data = s;
  return STC_OK;
}

/* ---------------------------------------------------------------- writing */

/* Mixes 64 bits. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t checkpoint_sum(const void *values, int64_t size, int64_t first, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)values + i * size, (size_t)size);
    sum += mix(bits + mix((uint64_t)(first + i) + 0x9e3779b97f4a7c15u));
  }
  return sum;
}

/* The contents: the step; the values of sources (NULL for fields that others write); the checksums and offsets of
 * fields (NULL: checksums are computed, offsets are not needed). */
typedef struct Content {
  int64_t step;
  const void *const *data;
  const uint64_t *sums;
  int64_t *places;
} Content;

/* Writes `n` values of type `t` as the new array `name` of a group. */
static bool put_values(hid_t group, const char *name, StcType t, int64_t n, const void *values) {
  int64_t place;
  uint64_t sum = checkpoint_sum(values, type_size((Type)t), 0, n);
  return hdf5_put_plain(group, name, hdf5_bits_type(t), (hsize_t)n, values, sum, &place);
}

/* Writes the writer's sources that are fields (if `arrays`: launch-time arrays) to a group. */
static bool put_sources(const Writer *w, hid_t file, const char *group, bool arrays, const Content *c) {
  hid_t g = hdf5_make_group(file, group);
  bool ok = g >= 0;
  for (int i = 1; i < w->nsources && ok; i++) {
    const StcFieldInfo *f = &w->sources[i]->info;
    int64_t n = f->bytes / type_size((Type)f->type);
    if ((w->sources[i]->at.array >= 0) != arrays)
      continue;
    ok = arrays || !c->sums
             ? put_values(g, f->name, f->type, n, c->data[i])
             : hdf5_put_plain(g, f->name, hdf5_bits_type(f->type), (hsize_t)n, NULL, c->sums[i], &c->places[i]);
  }
  return H5Gclose(g) >= 0 && ok;
}

/* The number of the reduction, or other value of a run, called `name`. */
static int number_of(const StcProgram *p, const char *name) {
  int i = 0;
  while (i < p->nlogged && strcmp(p->logged[i], name) != 0)
    i++;
  return i;
}

/* Writes the latest values of the program's reductions, and the series of all of them. */
static bool put_reductions(hid_t file, const StcProgram *p, const RunState *s) {
  const Module *m = p->module;
  hid_t g = hdf5_make_group(file, "reductions");
  size_t n = (size_t)s->nseries;
  int64_t *columns = malloc((3 * n + 1) * sizeof *columns);
  bool ok = g >= 0 && columns;
  for (int i = 0; i < s->nreductions && ok; i++)
    ok = hdf5_put_numbers(g, m->reductions[i].name, H5T_NATIVE_INT64, 1, &s->values[i].i);
  for (size_t k = 0; k < n && ok; k++) {
    columns[k] = s->series[k].step;
    columns[n + k] = number_of(p, s->series[k].name);
    memcpy(&columns[2 * n + k], s->series[k].type == STC_F64 ? (void *)&s->series[k].f : (void *)&s->series[k].i, 8);
  }
  static const char *const names[] = {"step", "number", "value"};
  for (int k = 0; k < 3 && ok; k++)
    ok = put_values(g, names[k], STC_I64, s->nseries, columns + (size_t)k * n);
  free(columns);
  return H5Gclose(g) >= 0 && ok;
}

/* Writes the scalars that are kept between steps, as bits, if there are any. */
static bool put_scalars(hid_t file, const Job *j, const RunState *s) {
  if (!s->nscalars)
    return true;
  hid_t g = hdf5_make_group(file, "scalars");
  bool ok = g >= 0;
  const Const *values = s->values + s->nreductions;
  for (int i = 0; i < s->nscalars && ok; i++) {
    int64_t n = values_of_scalar(j, i, s->members);
    ok = n == 1 ? hdf5_put_numbers(g, stc_program_scalar(j->program, i), H5T_NATIVE_INT64, 1, values)
                : put_values(g, stc_program_scalar(j->program, i), STC_I64, n, values);
    values += n;
  }
  return H5Gclose(g) >= 0 && ok;
}

/* Writes the rows of probe `p` to a group of its own. */
static bool put_probe(hid_t probes, const Probe *p, const RunState *s) {
  ProbeRows rows;
  hid_t g = hdf5_make_group(probes, p->name);
  bool ok = probe_rows(s->nrows, s->rows, p->name, &rows) && g >= 0;
  ok = ok && put_values(g, "step", STC_I64, rows.n, rows.steps) &&
       put_values(g, "value", (StcType)p->type, rows.n * rows.length, rows.values);
  probe_rows_free(&rows);
  return H5Gclose(g) >= 0 && ok;
}

/* Writes the rows of all probes. */
static bool put_probes(hid_t file, const Module *m, const RunState *s) {
  hid_t g = hdf5_make_group(file, "probes");
  bool ok = g >= 0;
  for (int i = 0; i < m->nprobes && ok; i++)
    ok = put_probe(g, &m->probes[i], s);
  return H5Gclose(g) >= 0 && ok;
}

/* The `until` that has ended the run, or the run before it, in which case this run makes no step. "": none. */
static const char *ended_by(const Facts *f, const RunState *s) {
  return s->until[0] || !f->until ? s->until : f->until;
}

/* Writes the whole contents to the open file. */
static bool put_all(Writer *w, hid_t file, const Content *c) {
  const RunState *s = c->data[0];
  const Job *j = w->sources[0]->user;
  const int64_t version = CHECKPOINT_VERSION;
  return hdf5_put_numbers(file, "stc_checkpoint", H5T_NATIVE_INT64, 1, &version) &&
         hdf5_put_text(file, "source", w->facts->version) && hdf5_put_text(file, "title", w->facts->program) &&
         hdf5_put_text(file, "program", w->facts->key) && hdf5_put_text(file, "until", ended_by(w->facts, s)) &&
         hdf5_put_numbers(file, "steps", H5T_NATIVE_INT64, 1, &c->step) && hdf5_put_params(file, "params", w->facts) &&
         put_sources(w, file, "fields", false, c) && put_sources(w, file, "arrays", true, c) &&
         put_reductions(file, j->program, s) && put_scalars(file, j, s) && put_probes(file, j->program->module, s);
}

/* Flushes `path` (a file, or a file's folder) to the disk. */
static bool bring_to_disk(const char *path) {
  int fd = open(path, O_RDONLY);
  bool ok = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0)
    close(fd);
  return ok;
}

/* Renames the finished file to its name, and flushes this to the disk. */
static bool put_in_place(const char *path, const char *part) {
  const char *slash = strrchr(path, '/');
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", !slash || slash == path ? 1 : (int)(slash - path), slash ? path : ".");
  return bring_to_disk(part) && rename(part, path) == 0 && bring_to_disk(folder);
}

/* Creates the file in the format that has checksums for everything except array values; without times. */
static hid_t create_file(const char *part) {
  hid_t properties = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_obj_track_times(properties, false);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
  hid_t file = hdf5_create(part, properties, access);
  H5Pclose(access);
  H5Pclose(properties);
  return file;
}

/* Writes the file `part`. */
static StcStatus write_content(Writer *w, const char *part, const Content *c) {
  hdf5_take();
  hid_t file = create_file(part);
  bool ok = file >= 0 && put_all(w, file, c);
  StcStatus s = ok ? STC_OK : hdf5_report(w);
  if (file >= 0 && H5Fclose(file) < 0 && !s)
    s = hdf5_report(w);
  hdf5_give();
  if (s)
    unlink(part);
  return s;
}

StcStatus checkpoint_create(Writer *w, const char *part, int64_t step, const void *const *data, const uint64_t *sums,
                            int64_t *places) {
  return write_content(w, part, &(Content){step, data, sums, places});
}

StcStatus checkpoint_end(Writer *w, const char *part, StcStatus s) {
  if (!s && !put_in_place(w->path, part))
    s = (context_error(w->context, "cannot write %s: %s", w->path, strerror(errno)), STC_IO);
  if (s)
    unlink(part);
  return s;
}

/* Writes the checkpoint of a step. */
static StcStatus checkpoint_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  const char *part = arena_printf(w->w.arena, "%s.part", path);
  StcStatus s = write_content(w, part, &(Content){.step = step, .data = data});
  return s ? s : checkpoint_end(w, part, s);
}

const Format checkpoint_format = {.ending = "", .help = "all that a run needs to go on", .step = checkpoint_step};
