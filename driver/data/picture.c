/* driver/data/picture.c: the part of a field that a picture shows, and its colours. */
#include "driver/data/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_SIDE: the most pixels along a side; larger fields are sampled. BAND: the height of the picture of a
 * one-dimensional field. */
enum { MAX_SIDE = 4096, BAND = 64 };

/* ---------------------------------------------------------------- colours */

/* A colour map: evenly spaced colours with linear interpolation; n 0: the polynomial below. */
typedef struct ColorMap {
  const char *name;
  int n;
  unsigned char colors[5][3];
} ColorMap;

static const ColorMap maps[] = {
    {"viridis", 0, {{0}}},
    {"gray", 2, {{0, 0, 0}, {255, 255, 255}}},
    {"coolwarm", 3, {{59, 76, 192}, {221, 221, 221}, {180, 4, 38}}},
    {"hot", 4, {{0, 0, 0}, {230, 0, 0}, {255, 210, 0}, {255, 255, 255}}},
    {"bluered", 5, {{0, 0, 90}, {0, 80, 255}, {255, 255, 255}, {255, 60, 0}, {90, 0, 0}}},
};
enum { NMAPS = sizeof maps / sizeof maps[0] };

int color_map(const char *name) {
  for (int i = 0; i < NMAPS; i++)
    if (strcmp(maps[i].name, name) == 0)
      return i;
  return -1;
}

const char *color_map_name(int map) { return map >= 0 && map < NMAPS ? maps[map].name : NULL; }

/* The colour of t in [0, 1]: a polynomial that follows matplotlib's viridis map. */
static void viridis(double t, unsigned char rgb[3]) {
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

/* The colour of t in [0, 1]. */
static void color(const ColorMap *m, double t, unsigned char rgb[3]) {
  if (!m->n) {
    viridis(t, rgb);
    return;
  }
  int below = (int)(t * (m->n - 1));
  below = below > m->n - 2 ? m->n - 2 : below;
  double part = t * (m->n - 1) - below;
  for (int k = 0; k < 3; k++)
    rgb[k] = (unsigned char)(m->colors[below][k] * (1 - part) + m->colors[below + 1][k] * part + 0.5);
}

/* ---------------------------------------------------------------- the part of a field that is shown */

/* Chooses the slice of a 3-D field: index `at`, from 0, of dimension `cut`. False if the slice is outside the field. */
static bool choose_slice(const Look *look, const StcFieldInfo *f, int *cut, int64_t *at) {
  *cut = look->sliced ? look->slice : 0;
  *at = look->sliced ? look->slice_at - f->first[*cut] : f->shape[0] / 2;
  return *at >= 0 && *at < f->shape[*cut];
}

void picture_narrow(const Look *look, StcFieldInfo *f) {
  int cut;
  int64_t at;
  if (f->rank < 3 || !choose_slice(look, f, &cut, &at))
    return;
  f->bytes /= f->shape[cut];
  f->first[cut] += at;
  f->shape[cut] = 1;
}

void picture_sample(StcFieldInfo *f) {
  for (int d = 0; d < f->rank; d++)
    if (f->shape[d] > MAX_SIDE) {
      f->bytes = f->bytes / f->shape[d] * MAX_SIDE;
      f->shape[d] = MAX_SIDE;
    }
}

/* Chooses the plane: all of a 2-D field, a slice of a 3-D one, a 1-D one as one row. False if the slice is outside the
 * field. */
static bool choose_plane(const Look *look, const StcFieldInfo *f, Picture *p) {
  int64_t strides[3] = {0, 0, 1};
  for (int d = f->rank - 2; d >= 0; d--)
    strides[d] = strides[d + 1] * f->shape[d + 1];
  if (f->rank < 3) {
    p->rows = f->rank == 1 ? 1 : f->shape[0];
    p->columns = f->shape[f->rank - 1];
    p->row_stride = p->columns;
    p->column_stride = 1;
    return true;
  }
  strides[2] = 1;
  strides[1] = f->shape[2];
  strides[0] = f->shape[1] * f->shape[2];
  int cut, row, column;
  int64_t at;
  if (!choose_slice(look, f, &cut, &at))
    return false;
  row = cut == 0 ? 1 : 0;
  column = cut == 2 ? 1 : 2;
  p->first = at * strides[cut];
  p->rows = f->shape[row];
  p->columns = f->shape[column];
  p->row_stride = strides[row];
  p->column_stride = strides[column];
  return true;
}

/* The value at row `y` and column `x` of the plane. */
static double plane_value(const Picture *p, int64_t y, int64_t x) {
  return field_value(p->field, p->data, p->first + y * p->row_stride + x * p->column_stride);
}

/* Finds the smallest and the largest finite value, or takes them from `known` if that is given. */
static void find_limits(Picture *p, const Sight *known) {
  if (known) {
    p->least = known->least;
    p->most = known->most;
    return;
  }
  p->least = INFINITY;
  p->most = -INFINITY;
  for (int64_t i = 0; i < p->rows * p->columns; i++) {
    double v = plane_value(p, i / p->columns, i % p->columns);
    if (!isfinite(v))
      continue;
    p->least = v < p->least ? v : p->least;
    p->most = v > p->most ? v : p->most;
  }
}

/* Reads the mask, which must have the same points as the field. */
static StcStatus take_mask(const Writer *w, const char *path, const void *data, Picture *p) {
  const StcFieldInfo *f = p->field, *mask = &w->sources[1]->info;
  bool same = mask->rank == f->rank;
  for (int d = 0; d < f->rank && same; d++)
    same = mask->shape[d] == f->shape[d] && mask->first[d] == f->first[d];
  if (!same)
    return context_error(w->context, "--mask=%s: it has other points than field %s, which %s shows", mask->name,
                         f->name, path),
           STC_USAGE;
  p->mask = mask;
  p->mask_data = data;
  return STC_OK;
}

StcStatus picture_make(const Writer *w, const char *path, const void *const *all, Picture *p) {
  StcContext *c = w->context;
  const Look *look = &w->facts->look;
  const Source *from = w->sources[0];
  const void *data = all[0];
  const StcFieldInfo *f = &from->info;
  *p = (Picture){.look = look, .field = f, .data = data, .least = look->least, .most = look->most};
  if (f->bytes == 0)
    return context_error(c, "field %s has no elements, so there is nothing to show in %s", f->name, path), STC_INPUT;
  if (!choose_plane(look, f, p))
    return context_error(c, "--slice=%d:%lld: field %s has the places %lld to %lld there", look->slice,
                         (long long)look->slice_at, f->name, (long long)f->first[look->slice],
                         (long long)(f->first[look->slice] + f->shape[look->slice] - 1)),
           STC_USAGE;
  StcStatus s = look->masked ? take_mask(w, path, all[1], p) : STC_OK;
  if (s)
    return s;
  if (!look->limited)
    find_limits(p, from->sampled ? (const void *)((const char *)data + source_sight(from)) : NULL);
  for (int i = 0; i < PICTURE_COLORS; i++)
    color(&maps[look->map], (double)i / (PICTURE_COLORS - 1), p->colors[i]);
  p->width = p->columns > MAX_SIDE ? MAX_SIDE : (int)p->columns;
  p->height = f->rank == 1 ? BAND : p->rows > MAX_SIDE ? MAX_SIDE : (int)p->rows;
  return STC_OK;
}

/* The index in the field of the point that pixel (y, x) shows. */
static int64_t pixel_place(const Picture *p, int y, int x) {
  int64_t row = p->rows == 1           ? 0
                : p->rows == p->height ? y
                                       : y * p->rows / p->height,
          column = p->columns == p->width ? x : x * p->columns / p->width;
  return p->first + row * p->row_stride + column * p->column_stride;
}

/* Is the point of pixel (y, x) dry? */
static bool pixel_is_dry(const Picture *p, int y, int x) {
  return p->mask && (field_value(p->mask, p->mask_data, pixel_place(p, y, x)) == 0) != p->look->negated;
}

/* The value of pixel (y, x), scaled between the limits to 0 .. 1; NaN if the value is not finite. */
static double pixel_level(const Picture *p, int y, int x) {
  double v = field_value(p->field, p->data, pixel_place(p, y, x));
  double t = p->most > p->least ? (v / 2 - p->least / 2) / (p->most / 2 - p->least / 2) : 0.5;
  return !isfinite(v) ? NAN : t < 0 ? 0 : t > 1 ? 1 : t;
}

/* Does a contour pass between the pixel of level `t` and the one below it or to its side? */
static bool on_contour(const Picture *p, int y, int x, double t) {
  int n = p->look->contours + 1, level = (int)(t * n);
  double right = x + 1 < p->width ? pixel_level(p, y, x + 1) : t,
         below = y + 1 < p->height ? pixel_level(p, y + 1, x) : t;
  return p->look->contours && ((int)(right * n) != level || (int)(below * n) != level);
}

void picture_line(const Picture *p, int y, unsigned char *line) {
  static const unsigned char red[3] = {255, 0, 0}, black[3] = {0, 0, 0}, grey[3] = {128, 128, 128};
  for (int x = 0; x < p->width; x++) {
    double t = pixel_level(p, y, x);
    if (pixel_is_dry(p, y, x))
      memcpy(line + 3 * x, grey, 3);
    else if (isnan(t))
      memcpy(line + 3 * x, red, 3);
    else if (on_contour(p, y, x, t))
      memcpy(line + 3 * x, black, 3);
    else
      memcpy(line + 3 * x, p->colors[(int)(t * (PICTURE_COLORS - 1) + 0.5)], 3);
  }
}
