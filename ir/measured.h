/* ir/measured.h: the table of measured costs of hardware and compilers.
 *
 *   measured.def   the numbers: value, unit, meaning
 *   measured.c     the table
 */
#ifndef STC_IR_MEASURED_H
#define STC_IR_MEASURED_H

#include "ir/ir.h"

/* The costs of an op: see measured.def. */
typedef struct OpWeight {
  double additions;
  int32_t instructions, fast, f64, special;
} OpWeight;

/* A member for each row except those of the model and of ops; rows by rank are arrays, indexed by rank - 1. */
typedef struct Measured {
#define MEASURED(name, ...) double name;
#define MEASURED_BY_RANK(name, ...) double name[GRID_RANK];
#define MEASURED_FROM_2(name, ...) double name[GRID_RANK];
#include "ir/measured.def"
} Measured;
extern const Measured measured;

/* The rows for ops. */
typedef struct OpWeights {
#define MEASURED_OP(name, ...) OpWeight name;
#include "ir/measured.def"
} OpWeights;
extern const OpWeights op_weights;

/* The rows of the model, for the times of finished kernels and of tiles that are not lowered yet. */
typedef struct ModelNumbers {
#define MEASURED_MODEL(name, ...) double name;
#include "ir/measured.def"
} ModelNumbers;
extern const ModelNumbers model_finished, model_counted;

#endif
