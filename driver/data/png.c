/* driver/data/png.c: a field as a picture. */
#include "driver/data/writer.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* The most pixels a side; larger fields are sampled. */
enum { MAX_SIDE = 4096, BAND = 64 };

/* The plane of a field that is shown: `rows` x `columns` elements from element `first` on. */
typedef struct Plane {
  int64_t first, rows, columns;
  double least, most;
} Plane;

/* The colour of t in [0, 1]: a polynomial that follows matplotlib's viridis map. */
static void colour(double t, unsigned char rgb[3]) {
  static const double c[7][3] = {{0.2777273272, 0.0054073445, 0.3340998053},
                                 {0.1050930431, 1.4046135299, 1.3845901627},
                                 {-0.3308618287, 0.2148475595, 0.0950951630},
                                 {-4.6342304990, -5.7991009734, -19.3324409563},
                                 {6.2282699363, 14.1799333668, 56.6905526007},
                                 {4.7763849977, -13.7451453777, -65.3530326334},
                                 {-5.4354558559, 4.6458526122, 26.3124352495}};
  for (int k = 0; k < 3; k++) {
    double v = 0;
    for (int i = 6; i >= 0; i--)
      v = v * t + c[i][k];
    rgb[k] = (unsigned char)(v <= 0 ? 0 : v >= 1 ? 255 : v * 255 + 0.5);
  }
}

/* Chooses the plane: all of a 2-D field, the middle slice of a 3-D one, a 1-D one as one row. */
static Plane choose_plane(const StcFieldInfo *f) {
  if (f->rank == 1)
    return (Plane){0, 1, f->shape[0], 0, 0};
  if (f->rank == 2)
    return (Plane){0, f->shape[0], f->shape[1], 0, 0};
  return (Plane){f->shape[0] / 2 * f->shape[1] * f->shape[2], f->shape[1], f->shape[2], 0, 0};
}

/* Finds the least and the greatest finite value. */
static void find_range(Plane *p, const StcFieldInfo *f, const void *data) {
  p->least = INFINITY;
  p->most = -INFINITY;
  for (int64_t i = 0; i < p->rows * p->columns; i++) {
    double v = field_value(f, data, p->first + i);
    if (!isfinite(v))
      continue;
    p->least = v < p->least ? v : p->least;
    p->most = v > p->most ? v : p->most;
  }
}

/* Fills one line of `width` pixels from row `row` of the plane; what is not finite is red. */
static void fill_line(const Plane *p, const StcFieldInfo *f, const void *data, int64_t row, int width,
                      unsigned char *line) {
  static const unsigned char red[3] = {255, 0, 0};
  for (int x = 0; x < width; x++) {
    int64_t column = x * p->columns / width;
    double v = field_value(f, data, p->first + row * p->columns + column);
    if (!isfinite(v))
      memcpy(line + 3 * x, red, 3);
    else
      colour(p->most > p->least ? (v / 2 - p->least / 2) / (p->most / 2 - p->least / 2) : 0.5, line + 3 * x);
  }
}

/* Turns libpng's errors into a return. */
static void on_error(png_structp png, png_const_charp message) {
  (void)message;
  longjmp(png_jmpbuf(png), 1);
}

/* Warnings do not matter here. */
static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

/* Encodes the picture of `width` x `height` pixels into `to`. False on an error. */
static bool encode(FILE *to, const Plane *p, const StcFieldInfo *f, const void *data, int width, int height,
                   unsigned char *line) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_init_io(png, to);
  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < height; y++) {
    fill_line(p, f, data, p->rows == 1 ? 0 : y * p->rows / height, width, line);
    png_write_row(png, line);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

StcStatus png_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data) {
  Plane p = choose_plane(f);
  if (f->bytes == 0)
    return context_error(c, "field %s has no elements, so there is nothing to show in %s", f->name, path), STC_INPUT;
  find_range(&p, f, data);
  int width = p.columns > MAX_SIDE ? MAX_SIDE : (int)p.columns, height = f->rank == 1        ? BAND
                                                                         : p.rows > MAX_SIDE ? MAX_SIDE
                                                                                             : (int)p.rows;
  unsigned char *line = malloc((size_t)width * 3);
  OutFile out;
  if (!line)
    return context_error(c, "out of memory"), STC_MEMORY;
  if (!file_create(c, path, &out)) {
    free(line);
    return STC_IO;
  }
  bool ok = encode(out.to, &p, f, data, width, height, line);
  free(line);
  if (ok)
    return file_commit(c, &out) ? STC_OK : STC_IO;
  file_abandon(&out);
  return context_error(c, "cannot write %s: libpng failed", path), STC_IO;
}

StcStatus png_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  (void)step;
  return png_write(w->context, path, &w->sources[0]->info, data[0]);
}
