/* passes/plan/tuning.h: the record of numbers that were found by measuring.
 *
 *   tuning.def   the numbers: value, unit, meaning
 *   tuning.c     the record */
#ifndef STC_PASSES_TUNING_H
#define STC_PASSES_TUNING_H

#include "ir/ir.h"

/* A field for each row of tuning.def but those of the model; of those by rank, [rank - 1]. */
typedef struct Tuning {
#define TUNING(name, ...) double name;
#define TUNING_BY_RANK(name, ...) double name[MAX_RANK];
#define TUNING_MODEL(...)
#include "passes/plan/tuning.def"
#undef TUNING
#undef TUNING_BY_RANK
#undef TUNING_MODEL
} Tuning;
extern const Tuning tuning;

/* Those of the model, by which finished kernels and tiles that are not lowered yet take so long. */
typedef struct ModelNumbers {
#define TUNING(...)
#define TUNING_BY_RANK(...)
#define TUNING_MODEL(name, ...) double name;
#include "passes/plan/tuning.def"
#undef TUNING
#undef TUNING_BY_RANK
#undef TUNING_MODEL
} ModelNumbers;
extern const ModelNumbers model_finished, model_counted;

#endif
