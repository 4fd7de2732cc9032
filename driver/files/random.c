/* driver/files/random.c: fills fields with random numbers, or with one value. */
#include "driver/files/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), the finalizer of SplitMix64. */
static uint64_t splitmix64(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* The seed mixed with the field's name, so that two fields of one seed differ. */
static uint64_t field_seed(const char *name, uint64_t seed) {
  uint64_t h = splitmix64(seed);
  for (; *name; name++)
    h = splitmix64(h ^ (unsigned char)*name);
  return h;
}

void random_range(const StcFieldInfo *f, uint64_t seed, int64_t first, int64_t n, void *data) {
  uint64_t start = field_seed(f->name, seed);
  int bits = f->type == STC_F64 ? 53 : f->type == STC_F32 ? 24 : f->type == STC_F16 ? 11 : 8;
  double unit = ldexp(1, -bits);
  bool real = type_is_float((Type)f->type);
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = splitmix64(start + (uint64_t)(first + i) * UINT64_C(0x9e3779b97f4a7c15));
    Const v = {.i = f->type == STC_BOOL ? (int64_t)(r >> 63) : (int64_t)((r >> 33) % 100)};
    if (real)
      v.f = (double)(r >> (64 - bits)) * unit;
    field_put(f, data, i, v);
  }
}

void random_fill(const StcFieldInfo *f, uint64_t seed, void *data) {
  int64_t size = type_size((Type)f->type);
  random_range(f, seed, 0, size ? f->bytes / size : 0, data);
}

/* Parses `text` as a constant of type `t`; false if it is none, or does not fit. */
static bool parse_value(const char *text, StcType t, Const *out) {
  char *end;
  errno = 0;
  if (t == STC_BOOL) {
    out->i = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return out->i || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
  }
  if (type_is_int((Type)t)) {
    out->i = strtoll(text, &end, 10);
    return end != text && !*end && !errno && out->i >= type_least((Type)t) && out->i <= type_most((Type)t);
  }
  double x = strtod(text, &end);
  if (end == text || *end)
    return false;
  return const_parse_float(text, (Type)t, out) || (isinf(x) && errno != ERANGE);
}

/* Repeats the first `size` bytes of `data` over the rest of its `bytes` bytes. */
static void repeat(char *data, int64_t size, int64_t bytes) {
  for (int64_t done = size; done < bytes; done *= 2)
    memcpy(data + done, data, (size_t)(bytes - done < done ? bytes - done : done));
}

bool value_fill(const StcFieldInfo *f, const char *text, void *data) {
  Const c;
  if (!parse_value(strcmp(text, "zero") == 0 ? "0" : text, f->type, &c))
    return false;
  if (f->bytes == 0)
    return true;
  field_put(f, data, 0, c);
  repeat(data, type_size((Type)f->type), f->bytes);
  return true;
}
