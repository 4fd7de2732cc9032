/* driver/data/npy.c: fields as NumPy's .npy files: C order, little endian, type and shape checked.
 *
 * A file is the magic "\x93NUMPY", a version (1, 2 or 3), the length of the header (2 bytes in version 1, else 4),
 * the header, which is a
 * Python dict literal such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with blanks and a
 * newline, and the
 * elements.
 */
#include "driver/data/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

/* MAX_HEADER: the longest header that is read; NumPy's limit is 10000. */
enum { MAX_HEADER = 65536, MAX_DIMS = 64 };

/* A shape as Python writes it: "(3, 4)", "(5,)". */
static void shape_text(char *to, size_t size, const int64_t *shape, int rank) {
  size_t n = (size_t)snprintf(to, size, "(");
  for (int d = 0; d < rank && n < size; d++)
    n += (size_t)snprintf(to + n, size - n, d ? ", %lld" : "%lld", (long long)shape[d]);
  if (n < size)
    snprintf(to + n, size - n, rank == 1 ? ",)" : ")");
}

/* The contents of a header; descr is in the canonical form that the dtype of StcFieldInfo has. */
typedef struct NpyHeader {
  char descr[MAX_HEADER];
  size_t n;
  bool has_descr, has_order, has_shape, fortran;
  int rank;
  int64_t shape[MAX_DIMS];
} NpyHeader;

/* Skips blanks. */
static const char *blanks(const char *s) {
  while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
    s++;
  return s;
}

/* Reads a quoted string into `to`; NULL if there is none. */
static const char *quoted(const char *s, char *to, size_t size) {
  char quote = *s;
  size_t n = 0;
  if (quote != '\'' && quote != '"')
    return NULL;
  for (s++; *s && *s != quote; s++)
    if (n + 1 < size)
      to[n++] = *s;
  to[n] = 0;
  return *s ? s + 1 : NULL;
}

/* Reads "(3, 4,)" into `shape`, and its number of lengths into *rank; NULL if it is no such tuple. */
static const char *tuple(const char *s, int64_t shape[MAX_DIMS], int *rank) {
  if (*s++ != '(')
    return NULL;
  for (s = blanks(s); *s != ')'; s = blanks(s)) {
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    if (end == s || errno || n < 0 || *rank == MAX_DIMS)
      return NULL;
    shape[(*rank)++] = n;
    s = blanks(*end == 'L' ? end + 1 : end);
    if (*s == ',')
      s++;
    else if (*s != ')')
      return NULL;
  }
  return s + 1;
}

/* Reads True or False. */
static const char *truth(const char *s, NpyHeader *h) {
  h->fortran = strncmp(s, "True", 4) == 0;
  if (!h->fortran && strncmp(s, "False", 5) != 0)
    return NULL;
  h->has_order = true;
  return s + (h->fortran ? 4 : 5);
}

/* Appends to h->descr as far as there is room: a text that is too long equals no field's. */
static void put(NpyHeader *h, const char *text) {
  for (; *text && h->n + 1 < sizeof h->descr; text++)
    h->descr[h->n++] = *text;
  h->descr[h->n] = 0;
}

/* Reads a scalar's type: "<f4", "=f4", "?". Byte orders that mean this machine's are replaced by those that NumPy
 * writes. */
static const char *scalar_type(const char *s, NpyHeader *h) {
  char text[64] = {0}, *type = text;
  s = quoted(s, text, sizeof text);
  if (!s)
    return NULL;
  if (strcmp(text, "?") == 0)
    type = strcpy(text, "|b1");
  bool byte = text[1] && text[2] == '1' && !text[3] && strchr("biu", text[1]);
  if (byte && strchr("=<?", text[0]))
    text[0] = '|';
  if (text[0] == '=')
    text[0] = '<';
  put(h, "'");
  put(h, type);
  put(h, "'");
  return s;
}

/* Reads the shape of a vector, "3" or "(3, 2)", and appends it as a tuple. */
static const char *axes(const char *s, NpyHeader *h) {
  int64_t shape[MAX_DIMS] = {0};
  int rank = 0;
  char text[512];
  if (*s == '(') {
    s = tuple(s, shape, &rank);
  } else {
    char *end;
    shape[rank++] = strtoll(s, &end, 10);
    s = end == s ? NULL : end;
  }
  shape_text(text, sizeof text, shape, rank);
  put(h, text);
  return s;
}

/* The deepest nesting of lists of members that is read. */
enum { MAX_DEPTH = 32 };

/* Reads a dtype, which is a scalar's or a list of members (name, dtype[, shape]), into h->descr. NULL if it is
 * malformed. */
static const char *dtype(const char *s, NpyHeader *h, int depth) {
  if (*s != '[')
    return scalar_type(s, h);
  if (depth == MAX_DEPTH)
    return NULL;
  put(h, "[");
  const char *separator = "('";
  for (s = blanks(s + 1); *s != ']'; s = blanks(s)) {
    char name[256];
    if (*s != '(' || !(s = quoted(blanks(s + 1), name, sizeof name)) || *(s = blanks(s)) != ',')
      return NULL;
    put(h, separator);
    put(h, name);
    put(h, "', ");
    separator = ", ('";
    s = dtype(blanks(s + 1), h, depth + 1);
    if (s && *(s = blanks(s)) == ',' && *(s = blanks(s + 1)) != ')') {
      put(h, ", ");
      s = axes(s, h);
    }
    if (!s || *(s = blanks(s)) != ')')
      return NULL;
    put(h, ")");
    if (*(s = blanks(s + 1)) == ',')
      s++;
    else if (*s != ']')
      return NULL;
  }
  put(h, "]");
  return s + 1;
}

/* Reads the value of `key`; unknown keys are an error, as in NumPy. */
static const char *value(const char *s, const char *key, NpyHeader *h) {
  if (strcmp(key, "shape") == 0)
    return h->has_shape ? NULL : (h->has_shape = true, tuple(s, h->shape, &h->rank));
  if (strcmp(key, "fortran_order") == 0)
    return truth(s, h);
  if (strcmp(key, "descr") != 0 || h->has_descr)
    return NULL;
  h->has_descr = true;
  return dtype(s, h, 0);
}

/* Parses the dict. False if it is malformed or lacks a key. */
static bool parse_header(const char *s, NpyHeader *h) {
  s = blanks(s);
  if (*s++ != '{')
    return false;
  for (s = blanks(s); *s != '}'; s = blanks(s)) {
    char key[32];
    s = quoted(s, key, sizeof key);
    if (!s || *(s = blanks(s)) != ':')
      return false;
    s = value(blanks(s + 1), key, h);
    if (!s)
      return false;
    s = blanks(s);
    if (*s == ',')
      s++;
    else if (*s != '}')
      return false;
  }
  if (*blanks(s + 1))
    return false;
  return h->has_descr && h->has_order && h->has_shape;
}

/* Reads magic, version and header. Returns NULL, or a text that tells what is wrong. */
static const char *read_header(FILE *from, NpyHeader *h) {
  unsigned char b[12];
  size_t n = fread(b, 1, 8, from);
  if (ferror(from))
    return strerror(errno);
  if (n != 8 || memcmp(b, "\x93NUMPY", 6) != 0)
    return "it is no .npy file: it does not begin with \\x93NUMPY";
  if (b[6] < 1 || b[6] > 3 || b[7])
    return "its format version is none of 1.0, 2.0 and 3.0";
  size_t wide = b[6] == 1 ? 2 : 4, length = 0;
  if (fread(b, 1, wide, from) != wide)
    return "it ends inside its header";
  for (size_t i = 0; i < wide; i++)
    length |= (size_t)b[i] << (8 * i);
  if (length > MAX_HEADER)
    return "its header is longer than 65536 bytes";
  char *text = malloc(length + 1);
  if (!text)
    return "there is no memory for its header";
  bool whole = fread(text, 1, length, from) == length;
  text[length] = 0;
  bool ok = whole && strlen(text) == length && parse_header(text, h);
  free(text);
  return ok       ? NULL
         : !whole ? "it ends inside its header"
                  : "its header is not the dict of 'descr', 'fortran_order' and 'shape' that NumPy writes";
}

/* The shape of a field's file: the field's axes, then those of its vectors. Returns the rank. */
static int file_shape(const StcFieldInfo *f, int64_t shape[MAX_DIMS]) {
  int n = 0;
  for (int d = 0; d < f->rank; d++)
    shape[n++] = f->shape[d];
  for (int d = 0; d < f->naxes && n < MAX_DIMS; d++)
    shape[n++] = f->axes[d];
  return n;
}

/* The field's dtype in the form of a header; `text` receives that of a scalar. */
static const char *file_dtype(const StcFieldInfo *f, char text[8]) {
  snprintf(text, 8, "'%s'", f->dtype ? "" : npy_descr(f->type));
  return f->dtype ? f->dtype : text;
}

/* Is this the dtype of complex numbers, 'c8' or 'c16' of some byte order? */
static bool is_complex(const char *descr) { return descr[0] == '\'' && descr[1] && descr[2] == 'c'; }

/* Checks that the elements are in C order. */
static StcStatus check_order(StcContext *c, const char *path, const NpyHeader *h) {
  if (!h->fortran || h->rank < 2)
    return STC_OK;
  context_error(c, "%s: its elements are in Fortran order, but C order is needed; in NumPy: numpy.ascontiguousarray(a)",
                path);
  return STC_INPUT;
}

/* The advice for a type that differs from the field's: a field of type real could accept f64. */
static const char *cure_of_type(const char *have, const char *want) {
  return strcmp(have, "'<f8'") == 0 && strcmp(want, "'<f4'") == 0 ? ", or -freal=f64 if the program calls it real" : "";
}

/* Finds the type of the numbers of a dtype such as "'<f8'", or of the parts of a complex "'<c16'"; false if it is
 * neither. */
static bool type_of_numbers(const char *descr, Type *type) {
  static const struct {
    const char *descr;
    Type type;
  } pairs[] = {{"'<c8'", TY_F32}, {"'<c16'", TY_F64}};
  for (int i = 0; i < 2; i++)
    if (strcmp(pairs[i].descr, descr) == 0)
      return *type = pairs[i].type, true;
  for (int t = STC_BOOL; t <= STC_U32; t++) {
    const char *name = npy_descr((StcType)t);
    if (t != STC_BF16 && strncmp(descr + (*descr == '\''), name, 3) == 0 && strlen(descr) == 5)
      return *type = (Type)t, true;
  }
  return false;
}

bool cast_allowed(Type from, Type to) {
  return type_is_float(to) || (!type_is_float(from) && to != TY_BOOL &&
                               (!type_is_unsigned(to) || type_is_unsigned(from) || from == TY_BOOL));
}

bool cast_apply(const Cast *cast, const void *raw, void *data, int64_t *at) {
  *at = values_convert(cast->from, raw, cast->to, data, cast->n);
  return *at == cast->n;
}

/* Can elements of dtype `have` in a file become the field's, `want`? Complex numbers can become only complex numbers.
 */
static bool may_cast(const char *have, const char *want, const StcFieldInfo *f, Cast *cast) {
  if (f->type == STC_BF16 || is_complex(have) != is_complex(want) || !type_of_numbers(have, &cast->from) ||
      !type_of_numbers(want, &cast->to))
    return false;
  cast->needed = cast_allowed(cast->from, cast->to);
  cast->n = f->bytes / type_size(cast->to);
  return cast->needed;
}

/* Checks the header against the field. *cast: the conversion of elements of another type; NULL: such elements are an
 * error. */
static StcStatus check_header(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                              const NpyHeader *h, Cast *cast) {
  char scalar[8];
  const char *want = file_dtype(f, scalar);
  int64_t shape[MAX_DIMS];
  int rank = file_shape(f, shape);
  if (is_complex(h->descr) && !is_complex(want)) {
    context_error(c,
                  "%s: its type is %s, complex numbers, which %s does not have; give it one part, in NumPy: "
                  "a.real.astype(%s), or declare the field complex: c64 or c128",
                  path, h->descr, what, want);
    return STC_INPUT;
  }
  int place[MAX_DIMS];
  char have[512], need[512];
  bool fits = shape_places(h->rank, h->shape, rank, shape, place);
  shape_text(have, sizeof have, h->shape, h->rank);
  shape_text(need, sizeof need, shape, rank);
  if (strcmp(h->descr, want) != 0 && (!fits || !cast || !may_cast(h->descr, want, f, cast))) {
    context_error(c, "%s: its type is %s, but %s needs %s; in NumPy: a.astype(%s)%s%s%s%s%s", path, h->descr, what,
                  want, want, cure_of_type(h->descr, want), fits ? "" : "; and its shape is ", fits ? "" : have,
                  fits ? "" : ", where that is ", fits ? "" : need);
    return STC_INPUT;
  }
  if (!fits) {
    context_error(c, "%s: its shape is %s, but %s needs %s; change the file, or the params with -D", path, have, what,
                  need);
    return STC_INPUT;
  }
  return check_order(c, path, h);
}

/* Makes bools the byte 0 or 1: any other byte becomes 1. */
void npy_bools(const StcFieldInfo *f, void *data) {
  static const StcComponent one = {"", STC_BOOL, 0};
  int64_t point = 0;
  int n = f->components ? f->ncomponents : f->type == STC_BOOL;
  const StcComponent *parts = f->components ? f->components : &one;
  for (int k = 0; k < n; k++)
    point += type_size((Type)parts[k].type);
  for (int k = 0; k < n; k++)
    for (int64_t i = parts[k].offset; parts[k].type == STC_BOOL && i < f->bytes; i += point)
      ((unsigned char *)data)[i] = ((unsigned char *)data)[i] != 0;
}

/* Checks that there are exactly `need` bytes of elements: `got` were read, and `more` tells whether others follow. */
static StcStatus check_length(StcContext *c, const char *path, int64_t need, int64_t got, bool more) {
  if (got < need && context_stopped(c))
    return STC_INTERRUPTED;
  if (got < need)
    return context_error(c, "%s: it has %lld bytes of elements, but its header promises %lld", path, (long long)got,
                         (long long)need),
           STC_INPUT;
  if (more)
    return context_error(c, "%s: it goes on after the %lld bytes of elements that its header promises", path,
                         (long long)need),
           STC_INPUT;
  return STC_OK;
}

/* Reads elements of another type into `data`, piece by piece. *got: the number of bytes that were read. */
static StcStatus read_converted(StcContext *c, const char *path, const Cast *cast, FILE *from, void *data,
                                int64_t *got) {
  enum { PIECE = 4096 };
  double piece[PIECE];
  int64_t size = type_size(cast->from);
  for (int64_t at = 0; at < cast->n; at += PIECE) {
    int64_t n = cast->n - at < PIECE ? cast->n - at : PIECE;
    int64_t bytes = (int64_t)fread(piece, 1, (size_t)(n * size), from);
    *got += bytes;
    if (bytes < n * size)
      return STC_OK;
    int64_t good = values_convert(cast->from, piece, cast->to, (char *)data + at * type_size(cast->to), n);
    if (good < n)
      return context_error(c, "%s: its element %lld does not fit in %s", path, (long long)(at + good),
                           type_name(cast->to)),
             STC_INPUT;
  }
  return STC_OK;
}

/* Reads the elements behind a header; without `data` it only finds how many the regular file has. */
static StcStatus read_elements(StcContext *c, const char *path, const StcFieldInfo *f, const Cast *cast, FILE *from,
                               void *data) {
  struct stat st;
  int64_t at = data ? 0 : ftello(from), got = 0;
  int64_t need = cast->needed ? cast->n * type_size(cast->from) : f->bytes;
  if (!data && at >= 0 && fstat(fileno(from), &st) == 0)
    return check_length(c, path, need, st.st_size - at, st.st_size - at > need);
  if (!data)
    return STC_OK;
  StcStatus s = cast->needed ? read_converted(c, path, cast, from, data, &got) : STC_OK;
  if (!cast->needed && f->bytes)
    got = (int64_t)fread(data, 1, (size_t)f->bytes, from);
  if (!s)
    s = check_length(c, path, need, got, got == need && fgetc(from) != EOF);
  if (!s && !cast->needed)
    npy_bools(f, data);
  return s;
}

/* Does the header have the shape of frames of the field, with their number in front? Not if it has the field's own
 * shape. */
static bool is_of_frames(const NpyHeader *h, const StcFieldInfo *f) {
  int64_t shape[MAX_DIMS];
  int rank = file_shape(f, shape), place[MAX_DIMS];
  return h->rank == rank + 1 || (h->rank > 0 && !shape_places(h->rank, h->shape, rank, shape, place) &&
                                 shape_places(h->rank - 1, h->shape + 1, rank, shape, place));
}

bool npy_has_frames(const char *path, const StcFieldInfo *f) {
  FILE *from = fopen(path, "rb");
  NpyHeader *h = from ? calloc(1, sizeof *h) : NULL;
  bool has = h && !read_header(from, h) && is_of_frames(h, f);
  free(h);
  if (from)
    fclose(from);
  return has;
}

/* Checks the header of a series of frames of `f`, and that the file contains all frames, which begin at the position of
 * `from`. *count is their number, from the shape; *cast the conversion to the field's type. */
static StcStatus check_frames(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, NpyHeader *h,
                              FILE *from, Cast *cast, int64_t *count) {
  int64_t all, shape[1 + MAX_DIMS];
  int rank = 1 + file_shape(f, shape + 1), place[1 + MAX_DIMS];
  struct stat st;
  shape[0] = *count = h->rank ? h->shape[0] : 0;
  if (h->rank < 1 || !shape_places(h->rank - 1, h->shape + 1, rank - 1, shape + 1, place)) {
    char have[512], need[512];
    shape_text(have, sizeof have, h->shape, h->rank);
    shape_text(need, sizeof need, shape, rank);
    context_error(c, "%s: its shape is %s, but the frames of %s need %s; change the file, or the params with -D", path,
                  have, what, need);
    return STC_INPUT;
  }
  StcStatus s = check_order(c, path, h);
  h->rank -= h->rank > 0;
  memmove(h->shape, h->shape + 1, sizeof h->shape - sizeof *h->shape);
  s = s ? s : check_header(c, path, what, f, h, cast);
  if (s)
    return s;
  if (*count < 1)
    return context_error(c, "%s: it has no frame", path), STC_INPUT;
  int64_t bytes = cast->needed ? cast->n * type_size(cast->from) : f->bytes;
  if (__builtin_mul_overflow(*count, bytes, &all) || fstat(fileno(from), &st) != 0 || st.st_size - ftello(from) < all)
    return context_error(c, "%s: it has fewer elements than its header promises", path), STC_INPUT;
  return STC_OK;
}

int npy_open_frames(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at,
                    int64_t *count) {
  *cast = (Cast){.needed = false};
  FILE *from = fopen(path, "rb");
  if (!from)
    return context_error(c, "cannot read %s for %s: %s", path, what, strerror(errno)), -1;
  NpyHeader *h = calloc(1, sizeof *h);
  const char *wrong = h ? read_header(from, h) : "there is no memory for its header";
  if (wrong)
    context_error(c, "%s: %s", path, wrong);
  bool good = !wrong && !check_frames(c, path, what, f, h, from, cast, count);
  *at = good ? ftello(from) : -1;
  int fd = good ? dup(fileno(from)) : -1;
  free(h);
  fclose(from);
  return fd;
}

/* Opens the file, whose header must match the field, or have numbers that can be converted to the field's (`cast` not
 * NULL); NULL after a message, with *s. */
static FILE *open_elements(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast,
                           StcStatus *s) {
  FILE *from = file_open(c, path);
  *s = from ? STC_OK : STC_IO;
  if (!from)
    return context_error(c, "cannot read %s for %s: %s", path, what, strerror(errno)), NULL;
  NpyHeader *h = calloc(1, sizeof *h);
  const char *wrong = h ? read_header(from, h) : "there is no memory for its header";
  if (wrong && context_stopped(c))
    *s = STC_INTERRUPTED;
  else if (wrong)
    *s = (context_error(c, "%s: %s", path, wrong), h ? STC_INPUT : STC_MEMORY);
  if (!*s)
    *s = check_header(c, path, what, f, h, cast);
  free(h);
  if (!*s)
    return from;
  fclose(from);
  return NULL;
}

StcStatus npy_read(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data) {
  StcStatus s;
  Cast cast = {.needed = false};
  FILE *from = open_elements(c, path, what, f, &cast, &s);
  if (!from)
    return s;
  s = read_elements(c, path, f, &cast, from, data);
  if (!s && data && cast.needed)
    context_note(c, "%s: its numbers, %s, are converted to %s for %s", path, type_name(cast.from), type_name(cast.to),
                 what);
  fclose(from);
  return s;
}

/* Can the file be read, and does it have as many elements as its header announces? cast: see open_elements. */
static StcStatus check_whole(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast) {
  StcStatus s;
  FILE *from = open_elements(c, path, what, f, cast, &s);
  if (!from)
    return s;
  s = read_elements(c, path, f, cast ? cast : &(Cast){.needed = false}, from, NULL);
  fclose(from);
  return s;
}

StcStatus npy_check(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast) {
  Cast own = {.needed = false};
  if (cast)
    *cast = own;
  return check_whole(c, path, what, f, cast ? cast : &own);
}

FILE *npy_stream(StcContext *c, const char *path, const char *what, const StcFieldInfo *f) {
  return open_elements(c, path, what, f, NULL, &(StcStatus){STC_OK});
}

StcStatus npy_stream_end(StcContext *c, const char *path, const StcFieldInfo *f, FILE *from, int64_t got) {
  StcStatus s = check_length(c, path, f->bytes, got, got == f->bytes && fgetc(from) != EOF);
  fclose(from);
  return s;
}

int npy_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at) {
  if (cast)
    *cast = (Cast){.needed = false};
  FILE *from = check_whole(c, path, what, f, cast) ? NULL : fopen(path, "rb");
  NpyHeader *h = from ? calloc(1, sizeof *h) : NULL;
  bool good = h && !read_header(from, h);
  *at = good ? ftello(from) : -1;
  int fd = good ? dup(fileno(from)) : -1;
  free(h);
  if (from)
    fclose(from);
  return fd;
}

/* Writes magic, version (1, or 2 if the header is long) and the header, padded so that the elements begin at a multiple
 * of 64, or, if there are many, at a page. */
static void write_header(FILE *to, const StcFieldInfo *f) {
  char scalar[8], text[512];
  const char *type = file_dtype(f, scalar);
  int64_t shape[MAX_DIMS];
  int rank = file_shape(f, shape);
  shape_text(text, sizeof text, shape, rank);
  int n = snprintf(NULL, 0, "{'descr': %s, 'fortran_order': False, 'shape': %s, }", type, text),
      wide = n > 65000 ? 4 : 2;
  int align = f->bytes >= FILE_LARGE ? FILE_PAGE : 64;
  int padded = (8 + wide + n + 1 + align - 1) / align * align - 8 - wide;
  const unsigned char head[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', wide == 2 ? 1 : 2, 0};
  fwrite(head, 1, sizeof head, to);
  for (int i = 0; i < wide; i++)
    fputc(padded >> (8 * i) & 255, to);
  fprintf(to, "{'descr': %s, 'fortran_order': False, 'shape': %s, }%*s\n", type, text, padded - n - 1, "");
}

StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data) {
  OutFile out;
  if (!file_create(c, path, &out))
    return STC_IO;
  write_header(out.to, f);
  if (f->bytes)
    file_put(&out, data, (size_t)f->bytes);
  return file_commit(c, &out) ? STC_OK : STC_IO;
}

bool npy_create(StcContext *c, const char *path, const StcFieldInfo *f, bool shared, OutFile *out, int64_t *at) {
  if (path_is_special(path))
    return context_error(c, "cannot write %s: it has become a pipe or a device since the run began", path), false;
  if (!(shared ? file_create_named : file_create)(c, path, out))
    return false;
  write_header(out->to, f);
  *at = fflush(out->to) == 0 ? ftello(out->to) : -1;
  int wrong = *at < 0 ? errno : f->bytes ? posix_fallocate(fileno(out->to), *at, f->bytes) : 0;
  if (wrong) {
    context_error(c, "cannot write %s: %s", path, strerror(wrong));
    file_abandon(out);
  }
  return !wrong;
}

StcStatus npy_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  (void)step;
  return npy_write(w->context, path, &w->sources[0]->info, data[0]);
}

/* ---------------------------------------------------------------- files of all ranks */

/* The field as one array, also if it has structs. */
static int npy_arrays(Writer *w, FieldPart **out) {
  const StcFieldInfo *f = &w->sources[0]->info;
  FieldPart *p = *out = ARENA_NEW(w->w.arena, FieldPart);
  *p = (FieldPart){.name = f->name, .info = f, .ncomponents = f->ncomponents, .from = f->type, .type = f->type};
  p->points = field_points(f);
  p->bytes = (size_t)f->bytes;
  return 1;
}

/* The elements are one piece; the format's state is the file. */
static StcStatus npy_lay(Joint *x) {
  joint_pieces(x, 0, 1)->begin[0] = 0;
  x->w->state = ARENA_NEW(x->w->w.arena, OutFile);
  return STC_OK;
}

static StcStatus npy_begin(Joint *x, const char *path, int64_t step) {
  OutFile *out = x->w->state;
  (void)step;
  if (!npy_create(x->w->context, path, &x->w->sources[0]->info, x->named, out, &x->pieces[0].place[0]))
    return STC_IO;
  x->fd = fileno(out->to);
  x->temporary = out->unnamed ? NULL : out->temporary;
  return STC_OK;
}

static StcStatus npy_end(Joint *x, int64_t step, StcStatus s) {
  OutFile *out = x->w->state;
  (void)step;
  if (s)
    return file_abandon(out), s;
  return file_commit(x->w->context, out) ? STC_OK : STC_IO;
}

const JointFormat npy_joint = {.arrays = npy_arrays, .lay = npy_lay, .begin = npy_begin, .end = npy_end};
