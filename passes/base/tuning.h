/* passes/base/tuning.h: the record of numbers that determine choices, found by measuring.
 *
 *   tuning.def   the numbers: value, unit, meaning
 *   tuning.c     the record
 */
#ifndef STC_PASSES_TUNING_H
#define STC_PASSES_TUNING_H

#include "ir/measured.h"

/* A member for each row of tuning.def. Rows by rank are arrays indexed by rank - 1; rows of shapes also by
 * dimension. */
typedef struct Tuning {
#define TUNING(name, ...) double name;
#define TUNING_BY_RANK(name, ...) double name[GRID_RANK];
#define TUNING_FROM_2(name, ...) double name[GRID_RANK];
#define TUNING_SHAPE(name, ...) int64_t name[GRID_RANK][GRID_RANK];
#include "passes/base/tuning.def"
} Tuning;
extern const Tuning tuning;

#endif
