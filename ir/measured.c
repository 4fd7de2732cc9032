/* ir/measured.c: the table of measured numbers, from measured.def. */
#include "ir/measured.h"

const Measured measured = {
#define MEASURED(name, value, ...) .name = value,
#define MEASURED_BY_RANK(name, one, two, three, ...) .name = {one, two, three},
#define MEASURED_FROM_2(name, two, three, ...) .name = {0, two, three},
#include "ir/measured.def"
};

const OpWeights op_weights = {
#define MEASURED_OP(name, additions, instructions, fast, f64, special, ...) \
  .name = {additions, instructions, fast, f64, special},
#include "ir/measured.def"
};

const ModelNumbers model_finished = {
#define MEASURED_MODEL(name, finished, counted, ...) .name = finished,
#include "ir/measured.def"
};

const ModelNumbers model_counted = {
#define MEASURED_MODEL(name, finished, counted, ...) .name = counted,
#include "ir/measured.def"
};
