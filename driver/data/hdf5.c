/* driver/data/hdf5.c: one HDF5 file of many steps, with the conventions of netCDF-4: each field is an array whose first
 * dimension is the step; dimensions have names and coordinates (dimension scales). Other facts about the run are
 * attributes. The file is called NAME.part until it is complete. A run that continues from a checkpoint continues the
 * file of the run before it. */
#include "driver/data/hdf5-io.h"
#include "driver/data/joint.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A dimension that arrays share: `n` points, from grid point `first` on, of the program's dimension `dim`, counted from
 * the fastest one; dim -1: the components of vectors. */
typedef struct Axis {
  int dim;
  int64_t first, n;
  hid_t scale;
} Axis;

/* The state of a writer. */
typedef struct Hdf5 {
  char *temporary;
  hid_t file, step;
  int naxes, narrays;
  Axis *axes;
  Dataset *arrays;
  FieldPart *parts;
  void *room;
  int64_t nsteps, capacity, *steps; /* malloc */
  int64_t at;                       /* the index of the step that all ranks are writing */
} Hdf5;

/* ---------------------------------------------------------------- attributes */

/* `name`, or if the file contains this name already, perhaps for a field, the first unused one of name_2, name_3 and so
 * on. */
static const char *free_name(Writer *w, const Hdf5 *h, const char *name) {
  const char *tried = name;
  for (int i = 2; H5Lexists(h->file, tried, H5P_DEFAULT) > 0; i++)
    tried = arena_printf(w->w.arena, "%s_%d", name, i);
  return tried;
}

/* Writes the facts about the run as attributes of the file. */
static bool put_facts(const Hdf5 *h, const Facts *f) {
  return hdf5_put_text(h->file, "Conventions", "CF-1.8") && hdf5_put_text(h->file, "title", f->program) &&
         hdf5_put_text(h->file, "source", f->version) && hdf5_put_text(h->file, "program_text", f->text) &&
         hdf5_put_text(h->file, "device", f->device) && hdf5_put_text(h->file, "schedule", f->schedule) &&
         hdf5_put_numbers(h->file, "spacing", H5T_NATIVE_DOUBLE, f->rank, f->spacing) &&
         hdf5_put_numbers(h->file, "origin", H5T_NATIVE_DOUBLE, f->rank, f->origin);
}

/* ---------------------------------------------------------------- dimensions */

/* Makes the dimension of steps, which grows. The names of fields are already taken. */
static bool make_steps(Writer *w, Hdf5 *h) {
  const char *name = free_name(w, h, "step");
  hsize_t none = 0, any = H5S_UNLIMITED, chunk = 1024;
  hid_t space = H5Screate_simple(1, &none, &any), properties = hdf5_chunked(1, &chunk, 0);
  h->step = H5Dcreate2(h->file, name, H5T_STD_I64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose(properties);
  H5Sclose(space);
  return h->step >= 0 && H5DSset_scale(h->step, name) >= 0 &&
         hdf5_put_text(h->step, "long_name", "number of time steps done");
}

/* The coordinates of a dimension's points, or the numbers of components (malloc). NULL if there is no memory. */
static double *coordinates(const Writer *w, const Axis *a) {
  double *x = malloc((size_t)a->n * sizeof *x);
  int d = w->facts->rank - 1 - a->dim;
  for (int64_t i = 0; i < a->n && x; i++)
    x[i] = a->dim < 0 ? (double)i : w->facts->origin[d] + w->facts->spacing[d] * (double)(a->first + i);
  return x;
}

/* Makes the dimension in the file. */
static bool make_axis(Writer *w, Hdf5 *h, Axis *a) {
  static const char *const names[] = {"component", "x", "y", "z", "member"};
  const char *name = free_name(w, h, names[a->dim + 1]);
  static const char letters[][2] = {"X", "Y", "Z"};
  hsize_t n = (hsize_t)a->n;
  hid_t space = H5Screate_simple(1, &n, NULL), properties = hdf5_chunked(1, NULL, 0);
  double *x = coordinates(w, a);
  a->scale = H5Dcreate2(h->file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  bool ok = x && a->scale >= 0 && H5Dwrite(a->scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0 &&
            H5DSset_scale(a->scale, name) >= 0;
  if (a->dim >= 0 && a->dim < GRID_RANK)
    ok = ok && hdf5_put_text(a->scale, "axis", letters[a->dim]) &&
         (!w->facts->length_unit || hdf5_put_text(a->scale, "units", w->facts->length_unit));
  free(x);
  H5Pclose(properties);
  H5Sclose(space);
  return ok;
}

/* The scale of such a dimension, made on first use; -1 after an error. */
static hid_t find_axis(Writer *w, Hdf5 *h, int dim, int64_t first, int64_t n) {
  for (int i = 0; i < h->naxes; i++)
    if (h->axes[i].dim == dim && h->axes[i].first == first && h->axes[i].n == n)
      return h->axes[i].scale;
  Axis a = {dim, first, n, -1};
  bool ok = make_axis(w, h, &a);
  ARENA_PUSH(w->w.arena, h->axes, h->naxes, a);
  return ok ? a.scale : -1;
}

/* ---------------------------------------------------------------- arrays */

/* The type of the part's elements in memory; the caller closes it. */
static hid_t element_type(const FieldPart *p) {
  return p->pairs ? hdf5_complex_type(p->type) : H5Tcopy(hdf5_type(p->type));
}

/* An unused name in the file for the type of complex numbers of floats `t`. */
static const char *complex_name(Writer *w, const Hdf5 *h, StcType t) {
  const char *first = t == STC_F32 ? "complex64" : "complex128", *name = first;
  for (int i = 0, k = 2; i < h->narrays; i++)
    if (strcmp(h->parts[i].name, name) == 0) {
      name = arena_printf(w->w.arena, "%s_%d", first, k++);
      i = -1;
    }
  return name;
}

/* The type of the part's elements in the file; the caller closes it. Complex numbers have a named type, as netCDF does
 * not read unnamed types of this kind. */
static hid_t file_type(Writer *w, const Hdf5 *h, const FieldPart *p) {
  if (!p->pairs)
    return element_type(p);
  const char *name = complex_name(w, h, p->type);
  if (H5Lexists(h->file, name, H5P_DEFAULT) > 0)
    return H5Topen2(h->file, name, H5P_DEFAULT);
  hid_t type = hdf5_complex_type(p->type), properties = H5Pcreate(H5P_DATATYPE_CREATE);
  H5Pset_obj_track_times(properties, false);
  H5Tcommit2(h->file, name, type, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose(properties);
  return type;
}

/* Makes the array, without steps. */
static bool make_set(Writer *w, Hdf5 *h, Dataset *a) {
  hsize_t now[MAX_DIMS], most[MAX_DIMS], chunk[MAX_DIMS];
  memcpy(now, a->shape, sizeof now);
  memcpy(most, a->shape, sizeof most);
  now[0] = 0;
  most[0] = H5S_UNLIMITED;
  chunks_choose(a, chunk);
  hid_t space = H5Screate_simple(a->rank, now, most), properties = hdf5_chunked(a->rank, chunk, w->facts->compress);
  hid_t type = file_type(w, h, &a->part);
  a->type = element_type(&a->part);
  a->set = H5Dcreate2(h->file, a->part.name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Tclose(type);
  H5Pclose(properties);
  H5Sclose(space);
  if (a->set >= 0)
    chunks_note(a);
  return a->set >= 0;
}

/* Attaches dimensions and attributes to an array. */
static bool describe(Writer *w, Hdf5 *h, const Dataset *a) {
  const StcFieldInfo *f = a->part.info;
  bool ok = H5DSattach_scale(a->set, h->step, 0) >= 0;
  for (int d = 0; d < f->rank && ok; d++) {
    hid_t scale = find_axis(w, h, f->rank - 1 - d, f->first[d], f->shape[d]);
    ok = scale >= 0 && H5DSattach_scale(a->set, scale, (unsigned)(1 + d)) >= 0;
  }
  for (int k = 0; k < a->part.naxes && ok; k++) {
    hid_t scale = find_axis(w, h, -1, k, f->axes[k]);
    ok = scale >= 0 && H5DSattach_scale(a->set, scale, (unsigned)(1 + f->rank + k)) >= 0;
  }
  return ok && (!a->part.unit || hdf5_put_text(a->set, "units", a->part.unit)) &&
         hdf5_put_text(a->set, "stc_type", type_name((Type)a->part.from));
}

/* Sets the index of the part in `a`, and the shape of one step. */
static void array_shape(Dataset *a, const FieldPart *p) {
  const StcFieldInfo *f = p->info;
  *a = (Dataset){.part = *p, .set = -1, .type = -1, .rank = 1 + f->rank + p->naxes, .shape = {1}};
  for (int d = 0; d < f->rank; d++)
    a->shape[1 + d] = (hsize_t)f->shape[d];
  for (int k = 0; k < p->naxes; k++)
    a->shape[1 + f->rank + k] = (hsize_t)f->axes[k];
}

/* Makes the array of a part. */
static bool make_array(Writer *w, Hdf5 *h, Dataset *a, const FieldPart *p) {
  array_shape(a, p);
  return make_set(w, h, a);
}

/* ---------------------------------------------------------------- opening */

/* The properties for opening the file. A file that another run may continue is written in an order that keeps it
 * readable if this run is killed, as for a reader at the same time as the writer, which HDF5 supports since version
 * 1.10. The last two properties, which h5clear uses, open a file whose writer was killed. */
static hid_t access_properties(const Writer *w, bool killed) {
  hid_t p = H5Pcreate(H5P_FILE_ACCESS);
  bool yes = true;
  if (w->facts->lasting)
    H5Pset_libver_bounds(p, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  if (killed && H5Pexist(p, "clear_status_flags") > 0)
    H5Pset(p, "clear_status_flags", &yes);
  if (killed && H5Pexist(p, "skip_eof_check") > 0)
    H5Pset(p, "skip_eof_check", &yes);
  if (w->joint)
    hdf5_open_for_others(p);
  return p;
}

/* Creates the file; it keeps the order in which objects are made, as netCDF requires. */
static bool create_file(const Writer *w, Hdf5 *h) {
  hid_t properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_obj_track_times(properties, false);
  H5Pset_link_creation_order(properties, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  H5Pset_attr_creation_order(properties, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  hid_t access = access_properties(w, false);
  h->file = hdf5_create(h->temporary, properties, access);
  H5Pclose(access);
  H5Pclose(properties);
  return h->file >= 0 && put_facts(h, w->facts);
}

/* Closes array or dimension `*set`, if it is open. */
static bool close_set(hid_t *set) {
  bool ok = *set < 0 || H5Dclose(*set) >= 0;
  *set = -1;
  return ok;
}

/* Closes all that is open in the file, then the file. */
static bool close_file(Hdf5 *h) {
  bool ok = close_set(&h->step);
  for (int i = 0; i < h->narrays; i++) {
    ok = close_set(&h->arrays[i].set) && ok;
    if (h->arrays[i].type > 0)
      H5Tclose(h->arrays[i].type);
    h->arrays[i].type = -1;
  }
  for (int i = 0; i < h->naxes; i++)
    ok = close_set(&h->axes[i].scale) && ok;
  ok = (h->file < 0 || H5Fclose(h->file) >= 0) && ok;
  h->file = -1;
  return ok;
}

/* Frees the memory of the state that is from malloc. */
static void free_state(Hdf5 *h) {
  free(h->steps);
  free(h->room);
}

/* Checks the parts and allocates memory for the largest. */
static StcStatus take_parts(Writer *w, Hdf5 *h) {
  int n = writer_parts(w, &h->parts);
  size_t most = 0;
  StcStatus s = parts_check(w, h->parts, n);
  h->narrays = n;
  h->arrays = ARENA_ARRAY(w->w.arena, Dataset, n + 1);
  for (int i = 0; i < n; i++) {
    h->arrays[i].set = h->arrays[i].type = -1;
    most = h->parts[i].bytes > most ? h->parts[i].bytes : most;
    if (!s && 1 + h->parts[i].info->rank + h->parts[i].naxes > MAX_DIMS)
      s = (context_error(w->context, "%s: field %s has vectors within vectors too deep for the format", w->path,
                         h->parts[i].name),
           STC_INPUT);
  }
  h->room = s || w->joint ? NULL : malloc(most + 1);
  if (!s && !h->room && !w->joint)
    s = (context_error(w->context, "no memory on this computer for %zu bytes", most), STC_MEMORY);
  return s;
}

/* Has the file written so that it stays readable if the run is killed. The library requires that no named type is open
 * in the file then, such as those of complex numbers. */
static bool start_lasting(const Hdf5 *h) {
  bool ok = true;
  for (int i = 0; i < h->narrays; i++)
    if (h->arrays[i].part.pairs)
      ok = close_set(&h->arrays[i].set) && ok;
  ok = ok && H5Fstart_swmr_write(h->file) >= 0;
  for (int i = 0; i < h->narrays && ok; i++)
    if (h->arrays[i].part.pairs)
      ok = (h->arrays[i].set = H5Dopen2(h->file, h->arrays[i].part.name, H5P_DEFAULT)) >= 0;
  return ok;
}

/* ---------------------------------------------------------------- continuing a file */

/* The name that make_steps chose, which is not a field's. */
static const char *name_of_steps(Writer *w, const Hdf5 *h) {
  const char *name = "step";
  for (int i = 0, k = 2; i < h->narrays; i++)
    if (strcmp(h->parts[i].name, name) == 0) {
      name = arena_printf(w->w.arena, "step_%d", k++);
      i = -1;
    }
  return name;
}

/* Writes the lengths of array `set` to `shape`; returns its number of dimensions, or -1 if it has none or too many. */
static int get_shape(hid_t set, hsize_t *shape) {
  hid_t space = set >= 0 ? H5Dget_space(set) : -1;
  int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank >= 0 && (rank > MAX_DIMS || H5Sget_simple_extent_dims(space, shape, NULL) < 0))
    rank = -1;
  if (space >= 0)
    H5Sclose(space);
  return rank;
}

/* Opens the array of a part that an earlier run made. */
static bool open_array(const Hdf5 *h, Dataset *a, const FieldPart *p) {
  hsize_t shape[MAX_DIMS];
  array_shape(a, p);
  a->type = element_type(p);
  a->set = H5Dopen2(h->file, p->name, H5P_DEFAULT);
  hid_t type = a->set >= 0 ? H5Dget_type(a->set) : -1;
  bool ok = type >= 0 && H5Tequal(type, a->type) > 0 && get_shape(a->set, shape) == a->rank;
  for (int d = 1; d < a->rank && ok; d++)
    ok = shape[d] == a->shape[d];
  if (type >= 0)
    H5Tclose(type);
  if (ok)
    chunks_note(a);
  return ok;
}

/* Shortens the arrays, and the list of step numbers, to the steps that all of them have. */
static bool cut_arrays(const Hdf5 *h) {
  hsize_t n = (hsize_t)h->nsteps, shape[MAX_DIMS];
  bool ok = h->step >= 0;
  for (int i = 0; i < h->narrays && ok; i++) {
    ok = get_shape(h->arrays[i].set, shape) > 0 && shape[0] >= n;
    shape[0] = n;
    ok = ok && H5Dset_extent(h->arrays[i].set, shape) >= 0 && chunks_are_there(&h->arrays[i], h->nsteps);
  }
  return ok && H5Dset_extent(h->step, &n) >= 0;
}

/* Reads the numbers of the file's steps, keeps the steps before this run, and shortens the arrays to them. */
static bool keep_steps(const Writer *w, Hdf5 *h) {
  hsize_t n = 0, shape[MAX_DIMS];
  if (get_shape(h->step, shape) != 1 || !(h->steps = malloc((size_t)(shape[0] + 1) * sizeof *h->steps)))
    return false;
  n = shape[0];
  bool ok = !n || H5Dread(h->step, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, h->steps) >= 0;
  h->capacity = (int64_t)n + 1;
  while (ok && h->nsteps < (int64_t)n && h->steps[h->nsteps] <= w->from)
    h->nsteps++;
  return ok && cut_arrays(h);
}

/* Opens NAME.part, which a killed run has left. */
static bool reopen_file(Writer *w, Hdf5 *h) {
  hid_t access = access_properties(w, true);
  h->file = H5Fopen(h->temporary, H5F_ACC_RDWR, access);
  H5Pclose(access);
  bool ok = h->file >= 0 && H5Fincrement_filesize(h->file, 0) >= 0;
  for (int i = 0; i < h->narrays && ok; i++)
    ok = open_array(h, &h->arrays[i], &h->parts[i]);
  if (ok)
    h->step = H5Dopen2(h->file, name_of_steps(w, h), H5P_DEFAULT);
  return ok && h->step >= 0 && keep_steps(w, h);
}

/* Is there a file to continue: NAME.part, or else NAME, which is then renamed to NAME.part? */
static bool find_earlier(const Writer *w, const Hdf5 *h, bool *renamed) {
  struct stat st;
  *renamed = false;
  if (w->from < 0)
    return false;
  if (lstat(h->temporary, &st) == 0 && S_ISREG(st.st_mode))
    return true;
  *renamed = rename(w->path, h->temporary) == 0;
  return *renamed;
}

/* Continues the file of the earlier runs. */
static StcStatus go_on(Writer *w, Hdf5 *h, bool renamed) {
  char reason[256];
  hdf5_take();
  bool ok = reopen_file(w, h) && start_lasting(h);
  if (!ok) {
    hdf5_reason(reason);
    close_file(h);
    free_state(h);
  }
  hdf5_give();
  if (ok)
    return STC_OK;
  if (renamed)
    rename(h->temporary, w->path);
  return context_error(
             w->context,
             "%s: this run cannot go on with the steps that are there (%s): remove the file, to have the later "
             "steps alone, or name another",
             renamed ? w->path : h->temporary, reason),
         STC_INPUT;
}

/* Makes the file with all that does not change from step to step. */
static bool make_file(Writer *w, Hdf5 *h) {
  bool ok = create_file(w, h);
  for (int i = 0; i < h->narrays && ok; i++)
    ok = make_array(w, h, &h->arrays[i], &h->parts[i]);
  ok = ok && hdf5_put_params(h->file, free_name(w, h, "params"), w->facts) && make_steps(w, h);
  for (int i = 0; i < h->narrays && ok; i++)
    ok = describe(w, h, &h->arrays[i]);
  ok = ok && H5Fflush(h->file, H5F_SCOPE_LOCAL) >= 0;
  return ok && (!w->facts->lasting || start_lasting(h));
}

StcStatus hdf5_open(Writer *w) {
  Hdf5 *h = w->state = ARENA_NEW(w->w.arena, Hdf5);
  bool renamed;
  h->file = h->step = -1;
  h->temporary = arena_printf(w->w.arena, "%s.part", w->path);
  StcStatus s = take_parts(w, h);
  if (s)
    return s;
  if (find_earlier(w, h, &renamed))
    return go_on(w, h, renamed);
  hdf5_take();
  if (!make_file(w, h)) {
    s = hdf5_report(w);
    close_file(h);
    unlink(h->temporary);
    free_state(h);
  }
  hdf5_give();
  return s;
}

/* ---------------------------------------------------------------- steps */

/* Writes the step's number at index `at`. */
static bool append_number(const Hdf5 *h, int64_t at, int64_t step) {
  Dataset numbers = {.set = h->step, .type = H5T_NATIVE_INT64, .rank = 1, .shape = {1}};
  return chunks_append(h->file, &numbers, at, &step);
}

/* Is the step the last one in the file? Then it is overwritten. */
static bool is_again(const Hdf5 *h, int64_t step) { return h->nsteps && h->steps[h->nsteps - 1] == step; }

/* The index of a step in the arrays. */
static int64_t place_of_step(const Hdf5 *h, int64_t step) { return h->nsteps - is_again(h, step); }

/* Records that the step is in the file now. */
static StcStatus note_step(Writer *w, Hdf5 *h, int64_t step) {
  if (is_again(h, step) || steps_add(&h->steps, &h->nsteps, &h->capacity, step))
    return STC_OK;
  return context_error(w->context, "out of memory"), STC_MEMORY;
}

StcStatus hdf5_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  Hdf5 *h = w->state;
  int64_t at = place_of_step(h, step);
  (void)path;
  hdf5_take();
  bool ok = chunks_reserve(h->file, h->narrays, h->arrays);
  for (int i = 0; i < h->narrays && ok; i++)
    ok = chunks_append(h->file, &h->arrays[i], at, part_values(&h->arrays[i].part, data, h->room));
  ok = ok && append_number(h, at, step) && H5Fflush(h->file, H5F_SCOPE_LOCAL) >= 0;
  StcStatus s = ok ? STC_OK : hdf5_report(w);
  hdf5_give();
  return s ? s : note_step(w, h, step);
}

/* ---------------------------------------------------------------- steps of all ranks */

static StcStatus hdf5_lay(Joint *x) {
  const Hdf5 *h = x->w->state;
  for (int i = 0; i < h->narrays; i++)
    chunks_lay(&h->arrays[i], x, i);
  return STC_OK;
}

/* The offsets of the step's chunks are determined at once; the descriptions of chunks stay in memory until the end. */
static StcStatus hdf5_begin(Joint *x, const char *path, int64_t step) {
  Hdf5 *h = x->w->state;
  void *handle = NULL;
  (void)path;
  h->at = place_of_step(h, step);
  hdf5_take();
  bool ok =
      chunks_reserve(h->file, h->narrays, h->arrays) && H5Fget_vfd_handle(h->file, H5P_DEFAULT, &handle) >= 0 && handle;
  for (int i = 0; i < h->narrays && ok; i++)
    ok = chunks_place(h->file, &h->arrays[i], h->at, &x->pieces[i]);
  StcStatus s = ok ? STC_OK : hdf5_report(x->w);
  hdf5_give();
  x->fd = ok ? *(int *)handle : -1;
  x->temporary = x->named ? h->temporary : NULL;
  return s;
}

static StcStatus hdf5_take_piece(Joint *x, int array, int64_t piece, const void *bytes, size_t n) {
  const Hdf5 *h = x->w->state;
  (void)n;
  hdf5_take();
  StcStatus s = chunks_take(&h->arrays[array], h->at, piece, bytes) ? STC_OK : hdf5_report(x->w);
  hdf5_give();
  return s;
}

static StcStatus hdf5_end(Joint *x, int64_t step, StcStatus s) {
  Hdf5 *h = x->w->state;
  if (s)
    return s;
  hdf5_take();
  bool ok = true;
  for (int i = 0; i < h->narrays && ok; i++)
    ok = H5Dflush(h->arrays[i].set) >= 0;
  ok = ok && append_number(h, h->at, step) && H5Fflush(h->file, H5F_SCOPE_LOCAL) >= 0;
  s = ok ? STC_OK : hdf5_report(x->w);
  hdf5_give();
  return s ? s : note_step(x->w, h, step);
}

const JointFormat hdf5_joint = {.lay = hdf5_lay, .begin = hdf5_begin, .take = hdf5_take_piece, .end = hdf5_end};

/* ---------------------------------------------------------------- closing */

/* Writes the XDMF file beside an .h5: the same name with another extension. */
static StcStatus write_xdmf(Writer *w, const Hdf5 *h) {
  const char *slash = strrchr(w->path, '/');
  size_t n = strlen(w->path);
  if (n < 3 || strcmp(w->path + n - 3, ".h5") != 0)
    return STC_OK;
  Xdmf x = {slash ? slash + 1 : w->path, h->narrays, h->parts, h->nsteps, h->steps};
  return xdmf_write(w, arena_printf(w->w.arena, "%.*s.xmf", (int)n - 3, w->path), &x);
}

/* Releases the reserved room of the closed file, renames it to its name, and writes the XDMF file beside it. */
static StcStatus name_file(Writer *w, const Hdf5 *h) {
  file_release(h->temporary);
  if (rename(h->temporary, w->path) != 0)
    return context_error(w->context, "cannot write %s: %s", w->path, strerror(errno)), STC_IO;
  return write_xdmf(w, h);
}

void hdf5_abort(Writer *w) {
  Hdf5 *h = w->state;
  hdf5_take();
  bool whole = h->nsteps && cut_arrays(h);
  whole &= close_file(h);
  hdf5_give();
  if (!h->nsteps || (!whole && !w->facts->lasting))
    unlink(h->temporary);
  else if (!w->facts->lasting)
    name_file(w, h);
  free_state(h);
}

StcStatus hdf5_close(Writer *w) {
  Hdf5 *h = w->state;
  hdf5_take();
  StcStatus s = close_file(h) ? STC_OK : hdf5_report(w);
  hdf5_give();
  if (!s)
    s = name_file(w, h);
  if (!s)
    free_state(h);
  return s;
}
