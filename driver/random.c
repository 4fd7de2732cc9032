/* driver/random.c: fields filled by rule: random numbers, and one value everywhere. */
#include "driver/driver.h"

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
  for (; *name; name++) h = splitmix64(h ^ (unsigned char)*name);
  return h;
}

void random_fill(const StcFieldInfo *f, uint64_t seed, void *data) {
  uint64_t start = field_seed(f->name, seed);
  int64_t size = type_size((Type)f->type), n = size ? f->bytes / size : 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = splitmix64(start + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15));
    switch (f->type) {
      case STC_BOOL: ((uint8_t *)data)[i] = r >> 63; break;
      case STC_I8: ((int8_t *)data)[i] = (int8_t)((r >> 33) % 100); break;
      case STC_I16: ((int16_t *)data)[i] = (int16_t)((r >> 33) % 100); break;
      case STC_I32: ((int32_t *)data)[i] = (int32_t)((r >> 33) % 100); break;
      case STC_I64: ((int64_t *)data)[i] = (int64_t)((r >> 33) % 100); break;
      case STC_F32: ((float *)data)[i] = (float)(r >> 40) * 0x1p-24f; break;
      case STC_F64: ((double *)data)[i] = (double)(r >> 11) * 0x1p-53; break;
      case STC_F16: case STC_BF16: break;
    }
  }
}

/* `text` as a constant of type `t`; false if it is none, or does not fit. */
static bool parse_value(const char *text, StcType t, Const *out) {
  char *end;
  errno = 0;
  if (t == STC_BOOL) {
    out->i = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return out->i || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
  }
  if (type_is_int((Type)t)) {
    out->i = strtoll(text, &end, 10);
    int bits = 8 * type_size((Type)t);
    bool fits = bits == 64 || (out->i >= -(INT64_C(1) << (bits - 1)) && out->i < INT64_C(1) << (bits - 1));
    return end != text && !*end && !errno && fits;
  }
  out->f = t == STC_F32 ? (double)strtof(text, &end) : strtod(text, &end);
  bool infinite = isinf(out->f) && errno == ERANGE;
  return end != text && !*end && !infinite;
}

/* Copies the first `size` bytes of `data` over the rest of its `bytes`. */
static void repeat(char *data, int64_t size, int64_t bytes) {
  for (int64_t done = size; done < bytes; done *= 2) memcpy(data + done, data, (size_t)(bytes - done < done ? bytes - done : done));
}

bool value_fill(const StcFieldInfo *f, const char *text, void *data) {
  Const c;
  if (!parse_value(strcmp(text, "zero") == 0 ? "0" : text, f->type, &c)) return false;
  if (f->bytes == 0) return true;
  switch (f->type) {
    case STC_BOOL: *(uint8_t *)data = c.i != 0; break;
    case STC_I8: *(int8_t *)data = (int8_t)c.i; break;
    case STC_I16: *(int16_t *)data = (int16_t)c.i; break;
    case STC_I32: *(int32_t *)data = (int32_t)c.i; break;
    case STC_I64: *(int64_t *)data = c.i; break;
    case STC_F32: *(float *)data = (float)c.f; break;
    case STC_F64: *(double *)data = c.f; break;
    case STC_F16: case STC_BF16: return false;
  }
  repeat(data, type_size((Type)f->type), f->bytes);
  return true;
}

double field_value(const StcFieldInfo *f, const void *data, int64_t i) {
  switch (f->type) {
    case STC_BOOL: return ((const uint8_t *)data)[i];
    case STC_I8: return ((const int8_t *)data)[i];
    case STC_I16: return ((const int16_t *)data)[i];
    case STC_I32: return ((const int32_t *)data)[i];
    case STC_I64: return (double)((const int64_t *)data)[i];
    case STC_F32: return (double)((const float *)data)[i];
    case STC_F64: return ((const double *)data)[i];
    case STC_F16: case STC_BF16: break;
  }
  return 0;
}
