/* tuning.c: the record of numbers that were found by measuring, out of tuning.def. */
#include "passes/plan/tuning.h"

const Tuning tuning = {
#define TUNING(name, value, ...) .name = value,
#define TUNING_BY_RANK(name, one, two, three, ...) .name = {one, two, three},
#include "passes/plan/tuning.def"
#undef TUNING
#undef TUNING_BY_RANK
};
