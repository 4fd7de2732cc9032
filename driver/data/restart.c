/* driver/data/restart.c: continues a plan from a checkpoint. The file's description is checked before anything is set,
 * and each value when it is set: after an error the plan cannot be used. */
#include "driver/data/hdf5-io.h"
#include "driver/split/split.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The reading of a checkpoint for a plan. If no rank has the whole grid: nsums: the number of fields read; the
 * contributions of this rank's points to their checksums, and the right checksums. */
typedef struct RestartReader {
  const Job *j;
  const char *path;
  StcPlan *plan;
  hid_t file;
  int32_t nsums;
  uint64_t *sums, *want;
  const char **names;
} RestartReader;

/* Reports an error in the file. */
static StcStatus bad_file(const RestartReader *r, const char *what) {
  return context_error(r->j->c->context, "--restart=%s: %s", r->path, what), STC_INPUT;
}

/* Reports that the HDF5 library failed, and the reason. */
static StcStatus unreadable(const RestartReader *r) {
  char reason[256];
  hdf5_reason(reason);
  return bad_file(r, arena_printf(r->j->c->arena, "it cannot be read (%s): the file is damaged", reason));
}

/* ---------------------------------------------------------------- attributes */

/* Reads one number; false if there is no such attribute. */
static bool get_number(hid_t of, const char *name, hid_t type, void *value) {
  hid_t a = H5Aexists(of, name) > 0 ? H5Aopen(of, name, H5P_DEFAULT) : -1;
  if (a < 0)
    return false;
  hid_t space = H5Aget_space(a);
  bool ok = H5Sget_simple_extent_npoints(space) == 1 && H5Aread(a, type, value) >= 0;
  H5Sclose(space);
  H5Aclose(a);
  return ok;
}

/* Reads a text into the command's arena; NULL if there is no such attribute. */
static const char *get_text(const RestartReader *r, const char *name) {
  hid_t a = H5Aexists(r->file, name) > 0 ? H5Aopen(r->file, name, H5P_DEFAULT) : -1;
  if (a < 0)
    return NULL;
  hid_t type = H5Aget_type(a);
  size_t n = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 ? H5Tget_size(type) : 0;
  char *text = n && n < 65536 ? arena_alloc(r->j->c->arena, n + 1) : NULL;
  bool ok = text && H5Aread(a, type, text) >= 0;
  if (ok)
    text[n] = 0;
  H5Tclose(type);
  H5Aclose(a);
  return ok ? text : NULL;
}

/* ---------------------------------------------------------------- does it belong to this program? */

/* Reports a param whose value differs. */
static StcStatus check_params(const RestartReader *r, const Facts *f) {
  hid_t g = H5Gopen2(r->file, "params", H5P_DEFAULT);
  StcStatus s = STC_OK;
  for (int i = 0; i < f->nparams && !s && g >= 0; i++) {
    const ParamFact *p = &f->params[i];
    int64_t n = 0;
    double v = 0;
    bool real = p->type == STC_F64;
    if (!get_number(g, p->name, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, real ? (void *)&v : (void *)&n))
      continue;
    if (real && memcmp(&v, &p->f, sizeof v) != 0)
      s = bad_file(r, arena_printf(r->j->c->arena, "it was made with %s = %.17g, but here it is %.17g; say -D%s=%.17g",
                                   p->name, v, p->f, p->name, v));
    if (!real && n != p->i)
      s = bad_file(r, arena_printf(r->j->c->arena,
                                   "it was made with %s = %" PRId64 ", but here it is %" PRId64 "; say -D%s=%" PRId64,
                                   p->name, n, p->i, p->name, n));
  }
  if (g >= 0)
    H5Gclose(g);
  return s || !hdf5_failed() ? s : unreadable(r);
}

/* Checks that the file is a checkpoint, and of this program. */
static StcStatus check_program(const RestartReader *r, const Facts *f) {
  int64_t version;
  const char *key = get_text(r, "program"), *source = get_text(r, "source");
  bool is_one = get_number(r->file, "stc_checkpoint", H5T_NATIVE_INT64, &version) && key;
  if (hdf5_failed())
    return unreadable(r);
  if (!is_one)
    return bad_file(r, "it is no checkpoint of stc");
  if (version != CHECKPOINT_VERSION)
    return bad_file(r, arena_printf(r->j->c->arena,
                                    "it is a checkpoint of another version of stc (%s), in format %" PRId64
                                    ", and this version reads format %d: go on from it with that version",
                                    source ? source : "unknown", version, CHECKPOINT_VERSION));
  StcStatus s = check_params(r, f);
  if (s || strcmp(key, f->key) == 0)
    return s;
  return bad_file(r, "it is of another program, or the program or -freal has changed since it was made");
}

/* ---------------------------------------------------------------- values */

/* A data set of the file: open, or -1 if it is missing; its type. fits: it has the requested size and elements. */
typedef struct Set {
  hid_t set, type;
  bool fits;
} Set;

/* Opens data set `name` of `group`, which must have `bytes` bytes in elements of `size`. */
static Set open_set(const RestartReader *r, const char *group, const char *name, size_t size, size_t bytes) {
  hid_t g = H5Gopen2(r->file, group, H5P_DEFAULT);
  Set x = {.set = g >= 0 ? H5Dopen2(g, name, H5P_DEFAULT) : -1, .type = -1};
  if (g >= 0)
    H5Gclose(g);
  if (x.set < 0)
    return x;
  hid_t space = H5Dget_space(x.set);
  x.type = H5Dget_type(x.set);
  x.fits = H5Tget_size(x.type) == size && H5Sget_simple_extent_npoints(space) == (hssize_t)(bytes / size);
  H5Sclose(space);
  return x;
}
static void close_set(const Set *x) {
  if (x->set < 0)
    return;
  H5Tclose(x->type);
  H5Dclose(x->set);
}

/* Reports a data set that is missing or has another form; the other function: one that cannot be read, or has a wrong
 * checksum. */
static StcStatus bad_set(const RestartReader *r, const char *group, const char *name) {
  return bad_file(r, arena_printf(r->j->c->arena, "it has no %s/%s of the right type and length", group, name));
}
static StcStatus damaged_set(const RestartReader *r, const char *group, const char *name) {
  return bad_file(r, arena_printf(r->j->c->arena, "%s/%s cannot be read: the file is damaged", group, name));
}

/* Reads array `name` of `group`, which must have `bytes` bytes in elements of `size` and the right checksum, into
 * memory (malloc). NULL after an error. */
static void *get_array(const RestartReader *r, const char *group, const char *name, size_t size, size_t bytes) {
  Set x = open_set(r, group, name, size, bytes);
  void *data = x.fits ? malloc(bytes + 1) : NULL;
  uint64_t sum;
  bool ok = data && (!bytes || H5Dread(x.set, x.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0) &&
            get_number(x.set, "checksum", H5T_NATIVE_UINT64, &sum) &&
            checkpoint_sum(data, (int64_t)size, 0, (int64_t)(bytes / size)) == sum;
  close_set(&x);
  if (ok)
    return data;
  if (!x.fits)
    bad_set(r, group, name);
  else if (!data)
    computer_no_room(r->j->c->context, "the values of", name, (double)bytes);
  else
    damaged_set(r, group, name);
  free(data);
  return NULL;
}

/* Checks that array `name` of fields has `bytes` bytes in elements of `size`; finds its checksum, and its offset in the
 * file (0: it is empty). */
static StcStatus find_field(const RestartReader *r, const char *name, size_t size, size_t bytes, uint64_t *sum,
                            int64_t *place) {
  Set x = open_set(r, "fields", name, size, bytes);
  haddr_t at = x.fits && bytes ? H5Dget_offset(x.set) : 0;
  bool fits = x.fits && at != HADDR_UNDEF && get_number(x.set, "checksum", H5T_NATIVE_UINT64, sum);
  *place = (int64_t)at;
  close_set(&x);
  return fits ? STC_OK : bad_set(r, "fields", name);
}

/* Sets this rank's parts of a component, in elements of `size`, and records the contribution to its checksum. */
static StcStatus restore_parts(RestartReader *r, FieldPlace at, const StcFieldInfo *f, size_t size) {
  uint64_t mine = 0, want = 0;
  int64_t place;
  StcStatus s = find_field(r, f->name, size, (size_t)f->bytes, &want, &place);
  if (!s)
    s = checkpoint_read_parts(r->j, r->path, at, place, &mine);
  int32_t n = r->nsums;
  ARENA_PUSH(r->j->c->arena, r->sums, n, mine);
  n = r->nsums;
  ARENA_PUSH(r->j->c->arena, r->want, n, want);
  n = r->nsums;
  ARENA_PUSH(r->j->c->arena, r->names, n, arena_strdup(r->j->c->arena, f->name));
  r->nsums = n;
  return s;
}

/* Sets the components of field `field`. */
static StcStatus restore_field(RestartReader *r, int field) {
  StcStatus s = STC_OK;
  for (int c = 0; c < r->j->program->declared[field].ncomponents && !s; c++) {
    StcFieldInfo f;
    s = stc_plan_component(r->plan, field, c, &f);
    if (s || f.temp || f.frames)
      return s;
    size_t size = (size_t)type_size((Type)f.type), bytes = (size_t)f.bytes;
    if (split_is_lean(r->plan)) {
      s = restore_parts(r, (FieldPlace){field, c, -1, false}, &f, size);
      continue;
    }
    void *data = get_array(r, "fields", f.name, size, bytes);
    s = data ? stc_plan_set_component(r->plan, field, c, data, bytes) : STC_INPUT;
    free(data);
  }
  return s;
}

/* Sets launch-time array `array`. */
static StcStatus restore_array(const RestartReader *r, int array) {
  StcFieldInfo f;
  StcStatus s = stc_plan_array(r->plan, array, &f);
  if (s)
    return s;
  void *data = get_array(r, "arrays", f.name, (size_t)type_size((Type)f.type), (size_t)f.bytes);
  s = data ? stc_plan_set_array(r->plan, array, data, (size_t)f.bytes) : STC_INPUT;
  free(data);
  return s;
}

/* Sets the latest values of the reductions. */
static StcStatus restore_values(const RestartReader *r) {
  const Module *m = r->j->program->module;
  hid_t g = H5Gopen2(r->file, "reductions", H5P_DEFAULT);
  bool ok = g >= 0;
  for (int i = 0; i < m->nreductions && ok; i++) {
    Const *v = plan_reduction(r->plan, m->reductions[i].name);
    int64_t bits;
    ok = get_number(g, m->reductions[i].name, H5T_NATIVE_INT64, &bits);
    if (ok && v)
      memcpy(&v->i, &bits, sizeof bits);
  }
  if (g >= 0)
    H5Gclose(g);
  return ok ? STC_OK : bad_file(r, "it lacks a value of a reduction");
}

/* Sets the scalar called `name`, which has a value for each of `n` members. */
static StcStatus restore_by_member(const RestartReader *r, const char *name, int64_t n) {
  size_t bytes = (size_t)n * sizeof(double);
  void *values = get_array(r, "scalars", name, sizeof(double), bytes);
  StcStatus s = values ? stc_plan_set_scalars(r->plan, name, values, bytes) : STC_INPUT;
  free(values);
  return s;
}

/* Sets the scalars that are kept between steps. */
static StcStatus restore_scalars(const RestartReader *r) {
  const char *name = stc_program_scalar(r->j->program, 0);
  hid_t g = name ? H5Gopen2(r->file, "scalars", H5P_DEFAULT) : -1;
  StcStatus s = STC_OK;
  for (int i = 0; name && !s; name = stc_program_scalar(r->j->program, ++i)) {
    int64_t bits;
    double f;
    StcReduction now;
    s = stc_plan_scalar(r->plan, name, &now);
    if (s || now.members > 1) {
      s = s ? s : restore_by_member(r, name, now.members);
      continue;
    }
    if (g < 0 || !get_number(g, name, H5T_NATIVE_INT64, &bits)) {
      s = bad_file(r, arena_printf(r->j->c->arena, "it lacks scalar %s", name));
      break;
    }
    memcpy(&f, &bits, sizeof f);
    s = stc_plan_set_scalar(r->plan, name, f, bits);
  }
  if (g >= 0)
    H5Gclose(g);
  return s;
}

/* The number of values of array `name`; -1 if there is no such array. */
static int64_t array_length(const RestartReader *r, const char *name) {
  hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
  if (set < 0)
    return -1;
  hid_t space = H5Dget_space(set);
  int64_t n = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  H5Dclose(set);
  return n;
}

/* Appends the series of the run until the checkpoint. */
static StcStatus restore_series(const RestartReader *r, Series *series) {
  const StcProgram *p = r->j->program;
  int64_t n = array_length(r, "reductions/step");
  size_t bytes = n > 0 ? (size_t)n * 8 : 0;
  int64_t *step = get_array(r, "reductions", "step", 8, bytes),
          *number = step ? get_array(r, "reductions", "number", 8, bytes) : NULL,
          *value = number ? get_array(r, "reductions", "value", 8, bytes) : NULL;
  StcStatus s = value ? STC_OK : STC_INPUT;
  for (int64_t i = 0, member = 0; i < n && !s; i++) {
    if (number[i] < 0 || number[i] >= p->nlogged) {
      s = bad_file(r, "its series is of another program");
      break;
    }
    const Reduction *of = number[i] < p->module->nreductions ? &p->module->reductions[number[i]] : NULL;
    bool real = of && of->type == TY_F64;
    int64_t members = of && of->each ? reduction_values(p->module, of, r->plan->scalars) : 0;
    member = members && i && number[i] == number[i - 1] && step[i] == step[i - 1] ? member + 1 : 0;
    StcReduction v = {p->logged[number[i]], real ? STC_F64 : STC_I64, step[i], 0, 0, member, members};
    memcpy(real ? (void *)&v.f : (void *)&v.i, &value[i], 8);
    series_add(series, &v);
  }
  free(step);
  free(number);
  free(value);
  return s;
}

/* Appends the rows of probe number `i` until the checkpoint. */
static StcStatus restore_probe(const RestartReader *r, int i, Series *series) {
  StcProbeInfo p;
  StcStatus s = stc_plan_probe(r->plan, i, &p);
  if (s)
    return s;
  const char *group = arena_printf(r->j->c->arena, "probes/%s", p.name);
  int64_t n = array_length(r, arena_printf(r->j->c->arena, "%s/step", group));
  size_t rows = n > 0 ? (size_t)n : 0, size = (size_t)type_size((Type)p.type), bytes = (size_t)p.n * size;
  int64_t *step = get_array(r, group, "step", 8, rows * 8);
  char *value = step ? get_array(r, group, "value", size, rows * bytes) : NULL;
  for (size_t k = 0; k < rows && value; k++)
    series_add_row(series, &(StcProbe){p.name, p.type, step[k], p.n, value + k * bytes});
  s = value ? STC_OK : STC_INPUT;
  free(step);
  free(value);
  return s;
}

/* Sets everything. */
static StcStatus restore(RestartReader *r, Series *series) {
  StcStatus s = STC_OK;
  for (int f = 0; f < r->j->program->ndeclared && !s; f++)
    s = restore_field(r, f);
  for (int i = 0; i < stc_program_array_count(r->j->program) && !s; i++)
    s = restore_array(r, i);
  if (!s)
    s = restore_values(r);
  if (!s)
    s = restore_scalars(r);
  if (!s)
    s = restore_series(r, series);
  for (int i = 0; i < r->j->program->module->nprobes && !s; i++)
    s = restore_probe(r, i, series);
  return s;
}

/* Checks the open file, and reads its description. */
static StcStatus read_head(const RestartReader *r, const Facts *f, Restart *out) {
  StcStatus s = check_program(r, f);
  if (s)
    return s;
  out->until = get_text(r, "until");
  if (!get_number(r->file, "steps", H5T_NATIVE_INT64, &out->step) || out->step < 0 || !out->until)
    return bad_file(r, "it does not say how many steps were done");
  return STC_OK;
}

/* Reads the file: all of it into a plan; without a plan only its description. */
static StcStatus read_file(RestartReader *r, const Facts *f, Series *series, Restart *out) {
  char reason[256] = "";
  hdf5_take();
  r->file = H5Fopen(r->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (r->file < 0)
    hdf5_reason(reason);
  StcStatus s = r->file >= 0 ? read_head(r, f, out) : STC_IO;
  if (!s && r->plan)
    s = restore(r, series);
  if (!s && r->plan)
    plan_begin(r->plan, out->step);
  if (r->file < 0)
    context_error(r->j->c->context, "--restart=%s: cannot read it: %s", r->path, reason);
  else
    H5Fclose(r->file);
  hdf5_give();
  return s;
}

StcStatus restart_read(const Job *j, const char *path, StcPlan *plan, const Facts *f, Series *series, Restart *out) {
  RestartReader r = {.j = j, .path = path, .plan = plan, .file = -1};
  StcStatus s = read_file(&r, f, series, out);
  if (!split_is_lean(plan))
    return s;
  int which;
  s = ranks_agree(j->c->context, j->net, s);
  if (!s && !checkpoint_same_sums(j, r.nsums, r.sums, r.want, &which))
    s = damaged_set(&r, "fields", r.names[which]);
  return s;
}

StcStatus restart_check(const Job *j, const char *path, const Facts *f) {
  RestartReader r = {.j = j, .path = path, .file = -1};
  Restart from;
  return read_file(&r, f, NULL, &from);
}
