/* tuning.c: the record of numbers that were found by measuring, made from tuning.def. */
#include "passes/base/tuning.h"

/* The numbers of a list in parentheses. */
#define NUMBERS(...) {__VA_ARGS__}

const Tuning tuning = {
#define TUNING(name, value, ...) .name = value,
#define TUNING_BY_RANK(name, one, two, three, ...) .name = {one, two, three},
#define TUNING_FROM_2(name, two, three, ...) .name = {0, two, three},
#define TUNING_SHAPE(name, one, two, three, ...) .name = {NUMBERS one, NUMBERS two, NUMBERS three},
#include "passes/base/tuning.def"
};
