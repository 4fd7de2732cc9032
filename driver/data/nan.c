/* driver/data/nan.c: NaN and infinity in written values. */
#include "driver/data/writer.h"

#include <math.h>
#include <string.h>

/* BLOCK: numbers that are tested at once, by vector instructions; PIECE: points of a piece of a field; GLANCE:
 * glance_finds_nan tests one in so many pieces. */
enum { BLOCK = 4096, PIECE = 4096, GLANCE = 16 };

/* Is one of the numbers NaN? */
static bool any_single(const float *x, int64_t n) {
  int any = 0;
  for (int64_t i = 0; i < n; i++)
    any |= x[i] != x[i];
  return any;
}
static bool any_double(const double *x, int64_t n) {
  int64_t any = 0;
  for (int64_t i = 0; i < n; i++)
    any |= x[i] != x[i];
  return any;
}

/* How many of the `n` contiguous numbers form whole blocks without NaN, so that they need no individual test. */
static int64_t without_nan(StcType t, const void *data, int64_t n) {
  int64_t i = 0;
  while (i + BLOCK <= n &&
         !(t == STC_F32 ? any_single((const float *)data + i, BLOCK) : any_double((const double *)data + i, BLOCK)))
    i += BLOCK;
  return i;
}

/* The index of the first NaN among `n` numbers of the float type `t`, which are `stride` bytes apart; -1 if there is
 * none. f16 and bf16 are NaN if all bits of the exponent and any bit of the mantissa are set. */
static int64_t first_of(StcType t, const char *data, int64_t n, int64_t stride) {
  bool dense = (t == STC_F32 || t == STC_F64) && stride == type_size((Type)t);
  int64_t begin = dense ? without_nan(t, data, n) : 0;
  data += begin * stride;
  for (int64_t i = begin; i < n; i++, data += stride) {
    float single = 0;
    double number = 0;
    uint16_t bits = 0;
    memcpy(t == STC_F32   ? (void *)&single
           : t == STC_F64 ? (void *)&number
                          : (void *)&bits,
           data,
           t == STC_F32   ? sizeof single
           : t == STC_F64 ? sizeof number
                          : sizeof bits);
    unsigned exponent = t == STC_F16 ? 0x7c00 : 0x7f80;
    if (single != single || number != number || (bits & 0x7fff) > exponent)
      return i;
  }
  return -1;
}

static bool is_float(StcType t) { return t == STC_F16 || t == STC_BF16 || t == STC_F32 || t == STC_F64; }

int64_t field_points(const StcFieldInfo *f) {
  int64_t points = 1;
  for (int d = 0; d < f->rank; d++)
    points *= f->shape[d];
  return points;
}

/* As first_nan, for the `n` points from `data` on, which are `stride` bytes apart. */
static int64_t first_in(const StcFieldInfo *f, const char *data, int64_t n, int64_t stride) {
  int64_t first = -1;
  if (f->type != STC_COMPOSITE)
    return is_float(f->type) ? first_of(f->type, data, n, stride) : -1;
  for (int c = 0; c < f->ncomponents; c++) {
    const StcComponent *part = &f->components[c];
    int64_t at = is_float(part->type) ? first_of(part->type, data + part->offset, n, stride) : -1;
    if (at >= 0 && (first < 0 || at < first))
      first = at;
  }
  return first;
}

int64_t first_nan(const StcFieldInfo *f, const void *data) {
  int64_t points = field_points(f);
  return first_in(f, data, points, points ? f->bytes / points : 0);
}

bool glance_finds_nan(const StcFieldInfo *f, const void *data, int64_t turn) {
  int64_t points = field_points(f), stride = points ? f->bytes / points : 0;
  bool small = f->bytes < FILE_LARGE;
  for (int64_t at = small ? 0 : turn % GLANCE * PIECE; at < points; at += PIECE * (small ? 1 : GLANCE))
    if (first_in(f, (const char *)data + at * stride, points - at < PIECE ? points - at : PIECE, stride) >= 0)
      return true;
  return false;
}

const char *point_text(const StcFieldInfo *f, int64_t point, char *to, size_t size) {
  int64_t at[MAX_RANK] = {0};
  for (int d = f->rank - 1; d >= 0; d--) {
    at[d] = f->first[d] + point % f->shape[d];
    point /= f->shape[d];
  }
  size_t n = 0;
  for (int d = 0; d < f->rank && n < size; d++)
    n += (size_t)snprintf(to + n, size - n, "%s%lld", d ? ", " : "[", (long long)at[d]);
  if (n < size)
    snprintf(to + n, size - n, "]");
  return to;
}

void nan_warn(StcContext *c, const StcFieldInfo *f, int64_t point, int64_t step) {
  char at[96];
  context_warning(c,
                  "field %s is NaN at %s after %lld steps, which was written; -fcheck=finite stops at the first such "
                  "value",
                  f->name, point_text(f, point, at, sizeof at), (long long)step);
}
