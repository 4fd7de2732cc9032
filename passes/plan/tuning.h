/* passes/plan/tuning.h: the record of numbers that were found by measuring.
 *
 *   tuning.def   the numbers: value, unit, meaning
 *   tuning.c     the record */
#ifndef STC_PASSES_TUNING_H
#define STC_PASSES_TUNING_H

#include "ir/ir.h"

/* A field for each row of tuning.def; of those by rank, [rank - 1]. */
typedef struct Tuning {
#define TUNING(name, ...) double name;
#define TUNING_BY_RANK(name, ...) double name[MAX_RANK];
#include "passes/plan/tuning.def"
#undef TUNING
#undef TUNING_BY_RANK
} Tuning;
extern const Tuning tuning;

#endif
