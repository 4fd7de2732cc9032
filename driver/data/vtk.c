/* driver/data/vtk.c: VTK's image data, .vti: XML followed by the arrays, compressed in blocks by zlib; and .pvd, the
 * list of the steps' files. The extent counts grid points, so the origin is that of the grid's point 0. */
#include "driver/data/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes of a block before compression. */
enum { BLOCK = 1 << 20 };

/* An array in the form of the file: the head (the number of blocks, their size, the size of the last or 0 if it is
 * whole, the compressed sizes), and the blocks. */
typedef struct Packed {
  uint64_t *head;
  size_t nhead, size;
  const unsigned char *bytes;
  unsigned char *own; /* malloc; NULL: someone else owns the bytes */
} Packed;

/* The state of a .vti writer: its parts, and memory for the largest; if all ranks write, the file of the step. */
typedef struct Vti {
  int nparts;
  FieldPart *parts;
  void *room;
  OutFile *out;
} Vti;

/* ---------------------------------------------------------------- compressing */

/* Frees the memory of `p`. */
static void packed_free(Packed *p) {
  free(p->head);
  free(p->own);
  *p = (Packed){0};
}

/* Compresses `n` bytes. False if there is no memory. */
static bool pack(const unsigned char *from, size_t n, int level, Packed *p) {
  size_t blocks = (n + BLOCK - 1) / BLOCK, most = blocks * compressBound(BLOCK);
  *p = (Packed){.head = malloc((3 + blocks) * sizeof *p->head), .nhead = 3 + blocks, .own = malloc(most)};
  p->bytes = p->own;
  if (!p->head || !p->own)
    return packed_free(p), false;
  p->head[0] = blocks;
  p->head[1] = BLOCK;
  p->head[2] = n % BLOCK;
  for (size_t i = 0; i < blocks; i++) {
    uLongf size = compressBound(BLOCK);
    size_t length = i + 1 < blocks || !p->head[2] ? BLOCK : p->head[2];
    if (compress2(p->own + p->size, &size, from + i * BLOCK, length, level) != Z_OK)
      return packed_free(p), false;
    p->head[3 + i] = size;
    p->size += size;
  }
  return true;
}

/* The same for n bytes that are not compressed: the head is their number. Copies them if they are in `room`, which the
 * next array needs. */
static bool take(const unsigned char *from, size_t n, const void *room, Packed *p) {
  *p = (Packed){.head = malloc(sizeof *p->head), .nhead = 1, .size = n, .bytes = from};
  if (from == room)
    p->bytes = p->own = malloc(n + 1);
  if (!p->head || !p->bytes)
    return packed_free(p), false;
  if (p->own)
    memcpy(p->own, from, n);
  p->head[0] = n;
  return true;
}

/* ---------------------------------------------------------------- .vti */

/* VTK's name of a type. */
static const char *vtk_type(StcType t) {
  return t == STC_I8    ? "Int8"
         : t == STC_I16 ? "Int16"
         : t == STC_U8  ? "UInt8"
         : t == STC_U16 ? "UInt16"
         : t == STC_U32 ? "UInt32"
         : t == STC_I32 ? "Int32"
         : t == STC_I64 ? "Int64"
         : t == STC_F32 ? "Float32"
                        : "Float64";
}

/* "0 9 0 19 0 0": the first and last point of each dimension, fastest first. */
static void print_extent(FILE *to, const StcFieldInfo *f) {
  for (int d = f->rank - 1; d >= 0; d--)
    fprintf(to, "%lld %lld ", (long long)f->first[d], (long long)(f->first[d] + f->shape[d] - 1));
  for (int d = f->rank; d < 3; d++)
    fputs("0 0 ", to);
}

/* Numbers of the dimensions, fastest first, then `more`. */
static void print_dims(FILE *to, int rank, const double *values, double more) {
  for (int d = rank - 1; d >= 0; d--)
    fprintf(to, "%.17g ", values[d]);
  for (int d = rank; d < 3; d++)
    fprintf(to, "%.17g ", more);
}

/* Writes all that precedes the arrays. */
static void print_head(FILE *to, const Writer *w, const Vti *v, const Packed *packed, int64_t step) {
  const StcFieldInfo *f = v->parts[0].info;
  uint64_t offset = 0;
  fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" "
        "header_type=\"UInt64\"",
        to);
  fprintf(to, "%s>\n <ImageData WholeExtent=\"", w->facts->compress ? " compressor=\"vtkZLibDataCompressor\"" : "");
  print_extent(to, f);
  fputs("\" Origin=\"", to);
  print_dims(to, f->rank, w->facts->origin, 0);
  fputs("\" Spacing=\"", to);
  print_dims(to, f->rank, w->facts->spacing, 1);
  fprintf(to,
          "\">\n  <FieldData>\n   <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
          "format=\"ascii\">%lld</DataArray>\n  </FieldData>\n  <Piece Extent=\"",
          (long long)step);
  print_extent(to, f);
  fputs("\">\n   <PointData>\n", to);
  for (int i = 0; i < v->nparts; i++) {
    fprintf(to, "    <DataArray type=\"%s\" Name=\"", vtk_type(v->parts[i].type));
    xml_text(to, v->parts[i].name);
    fprintf(to, "\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%llu\"/>\n", v->parts[i].ncomponents,
            (unsigned long long)offset);
    offset += packed[i].nhead * sizeof *packed[i].head + packed[i].size;
  }
  fputs("   </PointData>\n  </Piece>\n </ImageData>\n <AppendedData encoding=\"raw\">\n_", to);
}

static void print_tail(FILE *to) { fputs("\n </AppendedData>\n</VTKFile>\n", to); }

/* Writes the file from its packed arrays. */
static StcStatus write_file(const Writer *w, const char *path, const Vti *v, const Packed *packed, int64_t step) {
  OutFile out;
  if (!file_create(w->context, path, &out))
    return STC_IO;
  print_head(out.to, w, v, packed, step);
  for (int i = 0; i < v->nparts; i++) {
    fwrite(packed[i].head, sizeof *packed[i].head, packed[i].nhead, out.to);
    fwrite(packed[i].bytes, 1, packed[i].size, out.to);
  }
  print_tail(out.to);
  return file_commit(w->context, &out) ? STC_OK : STC_IO;
}

StcStatus vti_open(Writer *w) {
  Vti *v = w->state = ARENA_NEW(w->w.arena, Vti);
  size_t most = 0;
  v->nparts = writer_parts(w, &v->parts);
  StcStatus s = parts_check(w, v->parts, v->nparts);
  for (int i = 0; i < v->nparts && !s; i++) {
    most = v->parts[i].bytes > most ? v->parts[i].bytes : most;
    if (!parts_share_place(&v->parts[0], &v->parts[i]))
      s = (context_error(w->context,
                         "%s: fields %s and %s do not lie at the same points, as all fields of a .vti must: give them "
                         "files of their own",
                         w->path, v->parts[0].name, v->parts[i].name),
           STC_USAGE);
  }
  v->room = s || w->joint ? NULL : malloc(most + 1);
  if (!s && !v->room && !w->joint)
    s = (context_error(w->context, "no memory on this computer for %zu bytes", most), STC_MEMORY);
  return s;
}

void vti_abort(Writer *w) { free(((Vti *)w->state)->room); }

StcStatus vti_close(Writer *w) { return vti_abort(w), STC_OK; }

StcStatus vti_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  Vti *v = w->state;
  Packed packed[v->nparts];
  memset(packed, 0, sizeof packed);
  StcStatus s = STC_OK;
  for (int i = 0; i < v->nparts && !s; i++) {
    const void *values = part_values(&v->parts[i], data, v->room);
    bool ok = w->facts->compress ? pack(values, v->parts[i].bytes, w->facts->compress, &packed[i])
                                 : take(values, v->parts[i].bytes, v->room, &packed[i]);
    if (!ok)
      s = (context_error(w->context, "no memory on this computer to compress field %s", v->parts[i].name), STC_MEMORY);
  }
  if (!s)
    s = write_file(w, path, v, packed, step);
  for (int i = 0; i < v->nparts; i++)
    packed_free(&packed[i]);
  return s;
}

/* ---------------------------------------------------------------- .vti of all ranks */

/* An array is one piece; if it is compressed, each of its blocks is a piece. */
static StcStatus vti_lay(Joint *x) {
  Vti *v = x->w->state;
  int level = x->w->facts->compress;
  v->out = ARENA_NEW(x->w->w.arena, OutFile);
  for (int i = 0; i < x->narrays; i++) {
    int64_t bytes = (int64_t)x->parts[i].bytes;
    Pieces *p = joint_pieces(x, i, level ? (bytes + BLOCK - 1) / BLOCK : 1);
    for (int64_t k = 0; k < p->n; k++)
      p->begin[k] = k * BLOCK;
    p->compressed = level > 0;
    p->how = (Pressing){.most = BLOCK, .level = level};
  }
  return STC_OK;
}

/* Finds the form of the array in the file, without its bytes. False if there is no memory. */
static bool foresee(const Pieces *p, size_t bytes, Packed *out) {
  bool packed = p->compressed;
  *out = (Packed){.nhead = packed ? 3 + (size_t)p->n : 1, .size = packed ? 0 : bytes};
  out->head = malloc(out->nhead * sizeof *out->head);
  if (!out->head)
    return false;
  out->head[0] = packed ? (uint64_t)p->n : bytes;
  for (int64_t k = 0; k < p->n && packed; k++) {
    out->head[3 + k] = p->size[k];
    out->size += p->size[k];
  }
  if (packed) {
    out->head[1] = BLOCK;
    out->head[2] = bytes % BLOCK;
  }
  return true;
}

/* Writes all but the arrays' bytes, reserves room for these on the disk, and finds their offsets. */
static StcStatus make_room(Joint *x, const Packed *packed, int64_t step) {
  const Vti *v = x->w->state;
  FILE *to = v->out->to;
  print_head(to, x->w, v, packed, step);
  for (int i = 0; i < x->narrays; i++) {
    Pieces *p = &x->pieces[i];
    fwrite(packed[i].head, sizeof *packed[i].head, packed[i].nhead, to);
    int64_t at = ftello(to);
    for (int64_t k = 0; k < p->n; at += p->compressed ? (int64_t)p->size[k] : 0, k++)
      p->place[k] = at;
    fseeko(to, (off_t)packed[i].size, SEEK_CUR);
  }
  print_tail(to);
  off_t end = ftello(to);
  int wrong = fflush(to) != 0 || end < 0 ? errno : posix_fallocate(fileno(to), 0, end);
  if (wrong)
    context_error(x->w->context, "cannot write %s: %s", v->out->path, strerror(wrong));
  return wrong ? STC_IO : STC_OK;
}

static StcStatus vti_begin(Joint *x, const char *path, int64_t step) {
  Vti *v = x->w->state;
  Packed packed[x->narrays];
  StcStatus s = STC_OK;
  memset(packed, 0, sizeof packed);
  if (!(x->named ? file_create_named : file_create)(x->w->context, path, v->out))
    return STC_IO;
  for (int i = 0; i < x->narrays && !s; i++)
    if (!foresee(&x->pieces[i], x->parts[i].bytes, &packed[i]))
      s = (context_error(x->w->context, "out of memory"), STC_MEMORY);
  s = s ? s : make_room(x, packed, step);
  for (int i = 0; i < x->narrays; i++)
    packed_free(&packed[i]);
  if (s)
    file_abandon(v->out);
  x->fd = s ? -1 : fileno(v->out->to);
  x->temporary = v->out->unnamed ? NULL : v->out->temporary;
  return s;
}

static StcStatus vti_end(Joint *x, int64_t step, StcStatus s) {
  Vti *v = x->w->state;
  (void)step;
  if (s)
    return file_abandon(v->out), s;
  return file_commit(x->w->context, v->out) ? STC_OK : STC_IO;
}

const JointFormat vti_joint = {.lay = vti_lay, .begin = vti_begin, .end = vti_end};

/* ---------------------------------------------------------------- .pvd */

/* The state of a .pvd: first that of its .vti files, then the steps in the list (malloc). */
typedef struct Pvd {
  Vti vti;
  int64_t nsteps, capacity, *steps;
} Pvd;

/* Writes the list of the steps so far. */
static StcStatus write_list(Writer *w, const Pvd *p) {
  OutFile out;
  const char *slash = strrchr(w->path, '/'), *name = slash ? slash + 1 : w->path,
             *stem = arena_strndup(w->w.arena, name, strlen(name) - 4);
  if (!file_create(w->context, w->path, &out))
    return STC_IO;
  fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n "
        "<Collection>\n",
        out.to);
  for (int64_t i = 0; i < p->nsteps; i++) {
    fprintf(out.to, "  <DataSet timestep=\"%lld\" part=\"0\" file=\"", (long long)p->steps[i]);
    xml_text(out.to, stem);
    fprintf(out.to, "_%06lld.vti\"/>\n", (long long)p->steps[i]);
  }
  fputs(" </Collection>\n</VTKFile>\n", out.to);
  return file_commit(w->context, &out) ? STC_OK : STC_IO;
}

/* Is the list due to be written again at step number `n`? With many steps it is written only at each hundredth of them,
 * as writing all steps at every step would take ever longer. */
static bool is_list_due(int64_t n) { return n < 200 || n % (n / 100) == 0; }

/* The name of the .vti of a step. */
static const char *name_of_step(Writer *w, int64_t step) {
  return arena_printf(w->w.arena, "%.*s_%06lld.vti", (int)(strlen(w->path) - 4), w->path, (long long)step);
}

/* Reads the steps of the earlier runs: those in their list, and later ones that are due and whose files exist, as the
 * list is not written at every step. */
static bool take_steps(Writer *w, Pvd *p) {
  static const char mark[] = "timestep=\"";
  size_t n;
  int64_t last = -1;
  bool ok = true;
  const char *at = access(w->path, R_OK) == 0 ? file_read(&w->w, w->path, &n) : NULL;
  while (ok && at && (at = strstr(at, mark))) {
    int64_t step = strtoll(at += strlen(mark), NULL, 10);
    if (step > last && step <= w->from)
      ok = steps_add(&p->steps, &p->nsteps, &p->capacity, last = step);
  }
  int64_t step = last < 0 || !w->every ? 0 : last / w->every * w->every + w->every;
  for (; w->every && step <= w->from && ok; step += w->every)
    if (access(name_of_step(w, step), F_OK) == 0)
      ok = steps_add(&p->steps, &p->nsteps, &p->capacity, step);
  return ok;
}

StcStatus pvd_open(Writer *w) {
  StcStatus s = vti_open(w);
  Pvd *p = ARENA_NEW(w->w.arena, Pvd);
  p->vti = *(Vti *)w->state;
  w->state = p;
  if (!s && w->from >= 0 && !take_steps(w, p))
    s = (context_error(w->context, "out of memory"), STC_MEMORY);
  return s;
}

/* Records that the file of a step exists now. */
static StcStatus note_step(Writer *w, int64_t step) {
  Pvd *p = w->state;
  bool again = p->nsteps && p->steps[p->nsteps - 1] == step;
  if (!again && !steps_add(&p->steps, &p->nsteps, &p->capacity, step))
    return context_error(w->context, "out of memory"), STC_MEMORY;
  return is_list_due(p->nsteps) ? write_list(w, p) : STC_OK;
}

StcStatus pvd_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  StcStatus s = vti_step(w, name_of_step(w, step), step, data);
  (void)path;
  return s ? s : note_step(w, step);
}

static StcStatus pvd_begin(Joint *x, const char *path, int64_t step) {
  path = name_of_step(x->w, step);
  snprintf(x->file.name, sizeof x->file.name, "%s", path);
  return vti_begin(x, path, step);
}

static StcStatus pvd_end(Joint *x, int64_t step, StcStatus s) {
  s = vti_end(x, step, s);
  return s ? s : note_step(x->w, step);
}

const JointFormat pvd_joint = {.lay = vti_lay, .begin = pvd_begin, .end = pvd_end};

void pvd_abort(Writer *w) {
  free(((Pvd *)w->state)->steps);
  vti_abort(w);
}

StcStatus pvd_close(Writer *w) {
  StcStatus s = write_list(w, w->state);
  if (!s)
    pvd_abort(w);
  return s;
}
