/* driver/data/png.c: writes and reads pictures as PNG. */
#include "driver/data/writer.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* zlib's level for pictures: with few colours, higher levels make them little smaller and take much longer. */
enum { LEVEL = 3 };

/* Has a libpng error return to the caller (longjmp). */
static void on_error(png_structp png, png_const_charp message) {
  (void)message;
  longjmp(png_jmpbuf(png), 1);
}

/* Ignores warnings. */
static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

/* ---------------------------------------------------------------- writing */

/* Encodes the picture into `to`. False on an error. */
static bool encode(FILE *to, const Picture *p, unsigned char *line) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_init_io(png, to);
  png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_set_compression_level(png, LEVEL);
  png_write_info(png, info);
  for (int y = 0; y < p->height; y++) {
    picture_line(p, y, line);
    png_write_row(png, line);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

StcStatus png_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  Picture p;
  OutFile out;
  (void)step;
  StcStatus s = picture_make(w, path, data, &p);
  if (s)
    return s;
  unsigned char *line = malloc((size_t)p.width * 3);
  if (!line)
    return context_error(w->context, "out of memory"), STC_MEMORY;
  if (!file_create(w->context, path, &out)) {
    free(line);
    return STC_IO;
  }
  bool ok = encode(out.to, &p, line);
  free(line);
  if (ok)
    return file_commit(w->context, &out) ? STC_OK : STC_IO;
  int why = ferror(out.to) ? file_why(out.to) : 0;
  file_abandon(&out);
  return context_error(w->context, "cannot write %s: %s", path, why ? strerror(why) : "libpng failed"), STC_IO;
}

/* ---------------------------------------------------------------- reading */

/* The reading of a picture: `channels` values for each pixel, of 8 or 16 bits, the brightness first; the function that
 * receives its rows, each once, as values of field `f`. */
typedef struct Photo {
  StcContext *context;
  const char *path, *what;
  const StcFieldInfo *f;
  int width, height, channels, depth;
  void (*take)(void *user, int64_t y, const void *values); /* NULL: only the header is read */
  void *user;
  char *values;                  /* of a row (malloc) */
  unsigned char *pixels, **rows; /* of one row, or all of an interlaced picture, and pointers to the rows (malloc) */
  StcStatus status;
} Photo;

/* `f` without a first dimension of one point in front of two others: the dimension of members, for a field that all
 * members share, or that lacks it. */
static StcFieldInfo flat(const StcFieldInfo *f) {
  StcFieldInfo x = *f;
  if (f->rank == 3 && f->shape[0] == 1) {
    x.rank = 2;
    x.shape[0] = f->shape[1];
    x.shape[1] = f->shape[2];
  }
  return x;
}

/* The number of channels of a pixel for a field of type f: 1, or 3 for a vector; 0: a picture cannot be read into it.
 */
static int field_channels(const StcFieldInfo *f) {
  return f->rank != 2 ? 0 : f->ncomponents == 1 ? 1 : f->ncomponents == 3 && f->naxes == 1 ? 3 : 0;
}

/* Has libpng convert its output to plain values, for a field of `channels`. */
static void make_plain(png_structp png, png_infop info, int channels) {
  png_set_expand(png);
  png_set_strip_alpha(png);
  int kind = png_get_color_type(png, info);
  bool colored = kind & PNG_COLOR_MASK_COLOR || kind == PNG_COLOR_TYPE_PALETTE;
  if (channels == 1 && colored)
    png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, PNG_RGB_TO_GRAY_DEFAULT, PNG_RGB_TO_GRAY_DEFAULT);
  if (channels == 3 && !colored)
    png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

/* Converts the pixels of row `pixels` to values of the field: floats from 0 to 1, integers unchanged, bools true for
 * pixels brighter than half of white. */
static void take_row(Photo *p, int64_t y, const unsigned char *pixels) {
  StcType type = p->f->components ? p->f->components[0].type : p->f->type;
  StcFieldInfo one = {.type = type};
  for (int64_t i = 0; i < (int64_t)p->width * p->channels; i++) {
    int v = p->depth == 16 ? pixels[2 * i] << 8 | pixels[2 * i + 1] : pixels[i];
    Const c = {.i = v};
    if (type == STC_BOOL)
      c.i = 2 * v > (p->depth == 16 ? UINT16_MAX : UINT8_MAX);
    if (type_is_float((Type)type))
      c.f = const_convert((Const){.f = v / (p->depth == 16 ? 65535.0 : 255.0)}, TY_F64, (Type)type).f;
    field_put(&one, p->values, i, c);
  }
  p->take(p->user, y, p->values);
}

/* Checks that the picture has the field's extents, and that its values fit. */
static StcStatus check_photo(const Photo *p) {
  const StcFieldInfo *f = p->f;
  StcType type = f->components ? f->components[0].type : f->type;
  if (p->height != f->shape[0] || p->width != f->shape[1])
    return context_error(p->context,
                         "%s: it is %d pixels high and %d wide, but %s has the shape (%lld, %lld); change the params "
                         "with -D",
                         p->path, p->height, p->width, p->what, (long long)f->shape[0], (long long)f->shape[1]),
           STC_INPUT;
  int64_t most = p->depth == 16 ? UINT16_MAX : UINT8_MAX;
  if (type != STC_BOOL && type_is_int((Type)type) && type_most((Type)type) < most)
    return context_error(p->context,
                         "%s: its values have %d bits, which do not fit the type %s of %s; take a wider integer, or a "
                         "float, which goes from 0 to 1",
                         p->path, p->depth, type_name((Type)type), p->what),
           STC_INPUT;
  return STC_OK;
}

/* Allocates memory for a row, or, if `all`, for all rows. */
static StcStatus take_room(Photo *p, size_t row, bool all) {
  size_t rows = all ? (size_t)p->height : 1;
  p->values = malloc((size_t)(p->f->bytes / (p->height ? p->height : 1)) + 1);
  p->pixels = malloc(row * rows + 1);
  p->rows = malloc(sizeof *p->rows * rows + 1);
  if (!p->values || !p->pixels || !p->rows)
    return computer_no_room(p->context, "the picture", p->path, (double)row * (double)rows);
  for (size_t y = 0; y < rows; y++)
    p->rows[y] = p->pixels + row * y;
  return STC_OK;
}

/* Decodes the file for a field of `channels`: palettes, transparency and less than 8 bits become plain values, colours
 * become grey for one channel. Only of an interlaced picture is more than one row in memory. False if the file is
 * wrong; p->status has other errors. */
static bool decode(FILE *from, int channels, Photo *p) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    return false;
  }
  png_init_io(png, from);
  png_read_info(png, info);
  make_plain(png, info, channels);
  p->width = (int)png_get_image_width(png, info);
  p->height = (int)png_get_image_height(png, info);
  p->channels = png_get_channels(png, info);
  p->depth = png_get_bit_depth(png, info);
  bool all = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
  p->status = check_photo(p);
  if (!p->status && p->take)
    p->status = take_room(p, png_get_rowbytes(png, info), all);
  if (!p->status && p->take && all)
    png_read_image(png, p->rows);
  for (int y = 0; y < p->height && !p->status && p->take; y++) {
    if (!all)
      png_read_row(png, p->pixels, NULL);
    take_row(p, y, p->rows[all ? y : 0]);
  }
  png_destroy_read_struct(&png, &info, NULL);
  return true;
}

/* Reads the picture. */
static StcStatus read_photo(Photo *p) {
  StcContext *c = p->context;
  int channels = field_channels(p->f);
  if (!channels)
    return context_error(c,
                         "%s: a picture is for a field of two dimensions, or of three whose first has one point, of "
                         "scalars or vectors of three, not for %s",
                         p->path, p->what),
           STC_INPUT;
  FILE *from = file_open(c, p->path);
  if (!from)
    return context_error(c, "cannot read %s for %s: %s", p->path, p->what, strerror(errno)), STC_IO;
  bool whole = decode(from, channels, p);
  if (!whole && context_stopped(c))
    p->status = STC_INTERRUPTED;
  else if (!whole)
    p->status = (context_error(c, "%s: it is no whole PNG", p->path), STC_INPUT);
  fclose(from);
  free(p->values);
  free(p->pixels);
  free(p->rows);
  return p->status;
}

StcStatus png_each_row(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                       void (*take)(void *user, int64_t y, const void *values), void *user) {
  StcFieldInfo x = flat(f);
  return read_photo(&(Photo){.context = c, .path = path, .what = what, .f = &x, .take = take, .user = user});
}

/* The destination of rows of `bytes` bytes (a png_each_row callback). */
typedef struct Rows {
  char *data;
  size_t bytes;
} Rows;
static void keep_row(void *user, int64_t y, const void *values) {
  const Rows *r = user;
  memcpy(r->data + (size_t)y * r->bytes, values, r->bytes);
}

StcStatus png_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data) {
  StcFieldInfo x = flat(f);
  return png_each_row(c, path, what, &x, keep_row, &(Rows){data, (size_t)(x.shape[0] ? x.bytes / x.shape[0] : 0)});
}

StcStatus png_check_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f) {
  StcFieldInfo x = flat(f);
  return read_photo(&(Photo){.context = c, .path = path, .what = what, .f = &x});
}
