/* passes/base/tuning.h: the record of numbers that were found by measuring.
 *
 *   tuning.def   the numbers: value, unit, meaning
 *   tuning.c     the record */
#ifndef STC_PASSES_TUNING_H
#define STC_PASSES_TUNING_H

#include "ir/ir.h"

/* What an op takes: see tuning.def. */
typedef struct OpWeight {
  double additions;
  int32_t instructions, fast, f64, special;
} OpWeight;

/* A list has at most so many values less one. */
enum { TUNING_VALUES = 12 };

/* Which streamed tiles of planes are looked at: warps of a block, lanes of a line, lines and cells of a thread; planes
 * of a streamed tile, beside as many as fill the cores best. */
typedef struct PlaneShapes {
  int32_t warps[TUNING_VALUES], lanes[TUNING_VALUES], lines[TUNING_VALUES], cells[TUNING_VALUES], planes[TUNING_VALUES];
} PlaneShapes;

/* A field for each row of tuning.def but those of the model and of ops; of those by rank, [rank - 1], by type,
 * [size > 4], of shapes for each dimension; lists end with 0. */
typedef struct Tuning {
#define TUNING(name, ...) double name;
#define TUNING_BY_RANK(name, ...) double name[GRID_RANK];
#define TUNING_FROM_2(name, ...) double name[GRID_RANK];
#define TUNING_BY_TYPE(name, ...) int32_t name[2];
#define TUNING_SHAPE(name, ...) int64_t name[GRID_RANK][GRID_RANK];
#define TUNING_LIST(name, ...) int32_t name[TUNING_VALUES];
#define TUNING_PLANES(name, ...) PlaneShapes name;
#include "passes/base/tuning.def"
} Tuning;
extern const Tuning tuning;

/* The rows for ops: what each takes. */
typedef struct OpWeights {
#define TUNING_OP(name, ...) OpWeight name;
#include "passes/base/tuning.def"
} OpWeights;
extern const OpWeights op_weights;

/* The rows of the model: the times of finished kernels, and of tiles that are not lowered yet. */
typedef struct ModelNumbers {
#define TUNING_MODEL(name, ...) double name;
#include "passes/base/tuning.def"
} ModelNumbers;
extern const ModelNumbers model_finished, model_counted;

#endif
