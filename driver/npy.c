/* driver/npy.c: fields as NumPy's .npy files: C order, little endian, type and shape checked.
 *
 * A file is the magic "\x93NUMPY", a version (1, 2 or 3), the length of the header (2 bytes in version 1, else 4), the header, which is a
 * Python dict literal such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with blanks and a newline, and the
 * elements.
 */
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The longest header that is read; NumPy's own limit is 10000. */
enum { MAX_HEADER = 65536, MAX_DIMS = 32 };

const char *npy_descr(StcType t) {
  switch (t) {
    case STC_BOOL: return "|b1";
    case STC_I8: return "|i1";
    case STC_I16: return "<i2";
    case STC_I32: return "<i4";
    case STC_I64: return "<i8";
    case STC_F16: return "<f2";
    case STC_BF16: return "<u2";
    case STC_F32: return "<f4";
    case STC_F64: return "<f8";
  }
  return "?";
}

/* A shape as Python writes it: "(3, 4)", "(5,)". */
static void shape_text(char *to, size_t size, const int64_t *shape, int rank) {
  size_t n = (size_t)snprintf(to, size, "(");
  for (int d = 0; d < rank && n < size; d++) n += (size_t)snprintf(to + n, size - n, d ? ", %lld" : "%lld", (long long)shape[d]);
  if (n < size) snprintf(to + n, size - n, rank == 1 ? ",)" : ")");
}

/* What a header says. */
typedef struct NpyHeader { char descr[64]; bool has_descr, has_order, has_shape, fortran; int rank; int64_t shape[MAX_DIMS]; } NpyHeader;

/* Skips blanks. */
static const char *blanks(const char *s) {
  while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') s++;
  return s;
}

/* Reads a quoted string into `to`; NULL if there is none. */
static const char *quoted(const char *s, char *to, size_t size) {
  char quote = *s;
  size_t n = 0;
  if (quote != '\'' && quote != '"') return NULL;
  for (s++; *s && *s != quote; s++)
    if (n + 1 < size) to[n++] = *s;
  to[n] = 0;
  return *s ? s + 1 : NULL;
}

/* Reads "(3, 4,)" into the header; NULL if it is no such tuple. */
static const char *tuple(const char *s, NpyHeader *h) {
  if (*s++ != '(') return NULL;
  for (s = blanks(s); *s != ')'; s = blanks(s)) {
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    if (end == s || errno || n < 0 || h->rank == MAX_DIMS) return NULL;
    h->shape[h->rank++] = n;
    s = blanks(*end == 'L' ? end + 1 : end);
    if (*s == ',') s++;
    else if (*s != ')') return NULL;
  }
  h->has_shape = true;
  return s + 1;
}

/* Reads True or False. */
static const char *truth(const char *s, NpyHeader *h) {
  h->fortran = strncmp(s, "True", 4) == 0;
  if (!h->fortran && strncmp(s, "False", 5) != 0) return NULL;
  h->has_order = true;
  return s + (h->fortran ? 4 : 5);
}

/* The value after `key`; unknown keys are an error, as in NumPy. A dtype that is not a plain string (a structured one) is kept as
 * "structured". */
static const char *value(const char *s, const char *key, NpyHeader *h) {
  if (strcmp(key, "shape") == 0) return tuple(s, h);
  if (strcmp(key, "fortran_order") == 0) return truth(s, h);
  if (strcmp(key, "descr") != 0) return NULL;
  h->has_descr = true;
  return quoted(s, h->descr, sizeof h->descr);
}

/* Parses the dict. False if it is malformed or lacks a key. */
static bool parse_header(const char *s, NpyHeader *h) {
  s = blanks(s);
  if (*s++ != '{') return false;
  for (s = blanks(s); *s != '}'; s = blanks(s)) {
    char key[32];
    s = quoted(s, key, sizeof key);
    if (!s || *(s = blanks(s)) != ':') return false;
    s = value(blanks(s + 1), key, h);
    if (!s) return false;
    s = blanks(s);
    if (*s == ',') s++;
    else if (*s != '}') return false;
  }
  return h->has_descr && h->has_order && h->has_shape;
}

/* Reads magic, version and header. NULL if all is well, else what is wrong. */
static const char *read_header(FILE *from, NpyHeader *h) {
  unsigned char b[12];
  size_t n = fread(b, 1, 8, from);
  if (ferror(from)) return strerror(errno);
  if (n != 8 || memcmp(b, "\x93NUMPY", 6) != 0) return "it is no .npy file: it does not begin with \\x93NUMPY";
  if (b[6] < 1 || b[6] > 3) return "its format version is none of 1, 2 and 3";
  size_t wide = b[6] == 1 ? 2 : 4, length = 0;
  if (fread(b, 1, wide, from) != wide) return "it ends inside its header";
  for (size_t i = 0; i < wide; i++) length |= (size_t)b[i] << (8 * i);
  if (length > MAX_HEADER) return "its header is longer than 65536 bytes";
  char *text = malloc(length + 1);
  if (!text) return "there is no memory for its header";
  bool whole = fread(text, 1, length, from) == length;
  text[length] = 0;
  bool ok = whole && parse_header(text, h);
  free(text);
  return ok       ? NULL
         : !whole ? "it ends inside its header"
                  : "its header is not the dict of 'descr', 'fortran_order' and 'shape' that NumPy writes";
}

/* The type with the byte order that this machine and the format agree on: '=' and '|' mean no swap. */
static bool same_descr(const char *descr, const char *want) {
  bool order = descr[0] == want[0] || descr[0] == '=' || (want[0] == '|' && descr[0] == '<') || (want[0] == '|' && descr[0] == '?');
  return (order && strcmp(descr + 1, want + 1) == 0) || (strcmp(descr, "?") == 0 && strcmp(want, "|b1") == 0);
}

/* Checks the header against the field. */
static StcStatus check_header(StcContext *c, const char *path, const StcFieldInfo *f, const NpyHeader *h) {
  const char *want = npy_descr(f->type);
  if (!same_descr(h->descr, want)) {
    context_error(c, "%s: its type is '%s', but field %s needs '%s'; in NumPy: a.astype('%s')", path, h->descr, f->name, want, want);
    return STC_INPUT;
  }
  bool same = h->rank == f->rank;
  for (int d = 0; d < f->rank && same; d++) same = h->shape[d] == f->shape[d];
  if (!same) {
    char have[512], need[128];
    shape_text(have, sizeof have, h->shape, h->rank);
    shape_text(need, sizeof need, f->shape, f->rank);
    context_error(c, "%s: its shape is %s, but field %s needs %s; change the file, or the params with -D", path, have, f->name, need);
    return STC_INPUT;
  }
  if (h->fortran && h->rank > 1) {
    context_error(c, "%s: its elements are in Fortran order, but C order is needed; in NumPy: numpy.ascontiguousarray(a)", path);
    return STC_INPUT;
  }
  return STC_OK;
}

/* A bool is the byte 0 or 1: any other byte is made 1. */
static void normalize_bools(const StcFieldInfo *f, void *data) {
  unsigned char *b = data;
  for (int64_t i = 0; f->type == STC_BOOL && i < f->bytes; i++) b[i] = b[i] != 0;
}

StcStatus npy_read(StcContext *c, const char *path, const StcFieldInfo *f, void *data) {
  FILE *from = fopen(path, "rb");
  if (!from) return context_error(c, "cannot read %s for field %s: %s", path, f->name, strerror(errno)), STC_IO;
  NpyHeader h = {0};
  const char *wrong = read_header(from, &h);
  StcStatus s = STC_OK;
  if (wrong) s = (context_error(c, "%s: %s", path, wrong), STC_INPUT);
  if (!s) s = check_header(c, path, f, &h);
  size_t got = s || f->bytes == 0 ? 0 : fread(data, 1, (size_t)f->bytes, from);
  if (!s && got != (size_t)f->bytes)
    s = (context_error(c, "%s: it has %zu bytes of elements, but its header promises %lld", path, got, (long long)f->bytes), STC_INPUT);
  if (!s && fgetc(from) != EOF)
    s = (context_error(c, "%s: it goes on after the %lld bytes of elements that its header promises", path, (long long)f->bytes),
         STC_INPUT);
  fclose(from);
  if (!s) normalize_bools(f, data);
  return s;
}

/* Writes magic, version 1 and the header, padded so that the elements begin at a multiple of 64. */
static void write_header(FILE *to, const StcFieldInfo *f) {
  char shape[128], text[256];
  shape_text(shape, sizeof shape, f->shape, f->rank);
  int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", npy_descr(f->type), shape);
  int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
  unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
  fwrite(head, 1, sizeof head, to);
  fprintf(to, "%s%*s\n", text, padded - n - 1, "");
}

StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data) {
  OutFile out;
  if (!file_create(c, path, &out)) return STC_IO;
  write_header(out.to, f);
  if (f->bytes) fwrite(data, 1, (size_t)f->bytes, out.to);
  return file_commit(c, &out) ? STC_OK : STC_IO;
}
