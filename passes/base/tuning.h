/* passes/base/tuning.h: the record of numbers that choose, which were found by measuring.
 *
 *   tuning.def   the numbers: value, unit, meaning
 *   tuning.c     the record */
#ifndef STC_PASSES_TUNING_H
#define STC_PASSES_TUNING_H

#include "ir/measured.h"

/* A list has at most so many values less one. */
enum { TUNING_VALUES = 12 };

/* Which streamed tiles of planes are looked at: warps of a block, lanes of a line, lines and cells of a thread; planes
 * of a streamed tile, beside as many as fill the cores best. */
typedef struct PlaneShapes {
  int32_t warps[TUNING_VALUES], lanes[TUNING_VALUES], lines[TUNING_VALUES], cells[TUNING_VALUES], planes[TUNING_VALUES];
} PlaneShapes;

/* A field for each row of tuning.def; of those by rank, [rank - 1], by type,
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

#endif
