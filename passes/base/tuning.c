/* tuning.c: the record of numbers that were found by measuring, out of tuning.def. */
#include "passes/base/tuning.h"

/* The numbers of a list in parentheses. */
#define NUMBERS(...) {__VA_ARGS__}

/* There is room for each list and the 0 behind it. */
#define HAS_ROOM(name, values) \
  _Static_assert(sizeof((int32_t[])NUMBERS values) < sizeof(int32_t[TUNING_VALUES]), #name " has too many values");
#define TUNING_LIST(name, values, ...) HAS_ROOM(name, values)
#define TUNING_PLANES(name, warps, lanes, lines, cells, planes, ...) \
  HAS_ROOM(name, warps) HAS_ROOM(name, lanes) HAS_ROOM(name, lines) HAS_ROOM(name, cells) HAS_ROOM(name, planes)
#include "passes/base/tuning.def"

const Tuning tuning = {
#define TUNING(name, value, ...) .name = value,
#define TUNING_BY_RANK(name, one, two, three, ...) .name = {one, two, three},
#define TUNING_FROM_2(name, two, three, ...) .name = {0, two, three},
#define TUNING_BY_TYPE(name, f32, f64, ...) .name = {f32, f64},
#define TUNING_SHAPE(name, one, two, three, ...) .name = {NUMBERS one, NUMBERS two, NUMBERS three},
#define TUNING_LIST(name, values, ...) .name = NUMBERS values,
#define TUNING_PLANES(name, warps, lanes, lines, cells, planes, ...) \
  .name = {NUMBERS warps, NUMBERS lanes, NUMBERS lines, NUMBERS cells, NUMBERS planes},
#include "passes/base/tuning.def"
};
