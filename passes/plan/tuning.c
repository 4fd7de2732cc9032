/* tuning.c: the record of numbers that were found by measuring, out of tuning.def. */
#include "passes/plan/tuning.h"

const Tuning tuning = {
#define TUNING(name, value, ...) .name = value,
#define TUNING_BY_RANK(name, one, two, three, ...) .name = {one, two, three},
#define TUNING_MODEL(...)
#include "passes/plan/tuning.def"
#undef TUNING
#undef TUNING_BY_RANK
#undef TUNING_MODEL
};

#define TUNING(...)
#define TUNING_BY_RANK(...)

const ModelNumbers model_finished = {
#define TUNING_MODEL(name, finished, counted, ...) .name = finished,
#include "passes/plan/tuning.def"
#undef TUNING_MODEL
};

const ModelNumbers model_counted = {
#define TUNING_MODEL(name, finished, counted, ...) .name = counted,
#include "passes/plan/tuning.def"
#undef TUNING_MODEL
};
