/* ir/measured.h: the record of what hardware and compilers were measured to take.
 *
 *   measured.def   the numbers: value, unit, meaning
 *   measured.c     the record */
#ifndef STC_IR_MEASURED_H
#define STC_IR_MEASURED_H

#include "ir/ir.h"

/* What an op takes: see measured.def. */
typedef struct OpWeight {
  double additions;
  int32_t instructions, fast, f64, special;
} OpWeight;

/* A field for each row but those of the model and of ops; of those by rank, [rank - 1]. */
typedef struct Measured {
#define MEASURED(name, ...) double name;
#define MEASURED_BY_RANK(name, ...) double name[GRID_RANK];
#define MEASURED_FROM_2(name, ...) double name[GRID_RANK];
#include "ir/measured.def"
} Measured;
extern const Measured measured;

/* The rows for ops: what each takes. */
typedef struct OpWeights {
#define MEASURED_OP(name, ...) OpWeight name;
#include "ir/measured.def"
} OpWeights;
extern const OpWeights op_weights;

/* The rows of the model: the times of finished kernels, and of tiles that are not lowered yet. */
typedef struct ModelNumbers {
#define MEASURED_MODEL(name, ...) double name;
#include "ir/measured.def"
} ModelNumbers;
extern const ModelNumbers model_finished, model_counted;

#endif
