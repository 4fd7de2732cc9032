/* emptied.c: the record of tuned numbers with nothing in it that only chooses among plans: 1 stands there. With it in
 * place of passes/base/tuning.c and ir/measured.c stc chooses badly, but of a plan that says all it makes the same
 * kernels (tests/plan-alone.py). */
#include "passes/base/tuning.h"

/* What stands for a number, and for a list of numbers in parentheses, by the row's `fit`. */
#define NUMBER_CODE(...) __VA_ARGS__
#define NUMBER_SET(...) 1
#define NUMBER_FITTED(...) 1
#define NUMBER_FINISHED(...) 1
#define NUMBER_COUNTED(...) 1
#define SHAPE_CODE(...) {__VA_ARGS__}
#define SHAPE_SET(...) {1, 1, 1}

const Tuning tuning = {
#define TUNING(name, value, fit, ...) .name = NUMBER_##fit(value),
#define TUNING_BY_RANK(name, one, two, three, fit, ...) \
  .name = {NUMBER_##fit(one), NUMBER_##fit(two), NUMBER_##fit(three)},
#define TUNING_FROM_2(name, two, three, fit, ...) .name = {0, NUMBER_##fit(two), NUMBER_##fit(three)},
#define TUNING_SHAPE(name, one, two, three, fit, ...) .name = {SHAPE_##fit one, SHAPE_##fit two, SHAPE_##fit three},
#include "passes/base/tuning.def"
};

const Measured measured = {
#define MEASURED(name, value, fit, ...) .name = NUMBER_##fit(value),
#define MEASURED_BY_RANK(name, one, two, three, fit, ...) \
  .name = {NUMBER_##fit(one), NUMBER_##fit(two), NUMBER_##fit(three)},
#define MEASURED_FROM_2(name, two, three, fit, ...) .name = {0, NUMBER_##fit(two), NUMBER_##fit(three)},
#include "ir/measured.def"
};

/* What ops take decides what equations compute early, too. */
const OpWeights op_weights = {
#define MEASURED_OP(name, additions, instructions, fast, f64, special, ...) \
  .name = {additions, instructions, fast, f64, special},
#include "ir/measured.def"
};

const ModelNumbers model_finished = {
#define MEASURED_MODEL(name, finished, counted, fit, ...) .name = NUMBER_##fit(finished),
#include "ir/measured.def"
};

const ModelNumbers model_counted = {
#define MEASURED_MODEL(name, finished, counted, fit, ...) .name = NUMBER_##fit(counted),
#include "ir/measured.def"
};
