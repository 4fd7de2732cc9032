/* passes/plan/cost/fuse.h: the expected cost of a launch (fuse-cost.c), by which pass fuse decides. */
#ifndef STC_PASSES_FUSE_H
#define STC_PASSES_FUSE_H

#include "passes/launch/launch.h"

/* The figures of a launch with its schedule. Bytes, operations and picoseconds are for each point of the grid and time
 * step; an operation is one f32 addition, others count as many as take their time. */
typedef struct LaunchCost {
  Schedule schedule;
  int32_t registers;   /* 32-bit ones that a thread takes, about; 0 without threads */
  int32_t spilled;     /* words that do not fit in them */
  int64_t shared;      /* bytes of shared memory (without threads: of the cache) a block takes */
  double halo;         /* points computed for each point stored */
  double bytes;        /* read and written, including those read for the halo */
  double memory_bytes; /* of these, the bytes that no cache holds */
  double ops;
  double occupancy; /* threads that a core holds, relative to those that it could hold */
  double ps;
} LaunchCost;

/* The reads and operations of launch `l` that do not depend on its tile: found once if many tiles are compared. */
typedef struct LaunchReads LaunchReads;
LaunchReads *launch_reads_all(const TargetInfo *t, const Launch *l);

/* The figures of launch `l` of `levels` time steps under the schedule `s`, on a grid of `points` points. */
LaunchCost launch_cost(const TargetInfo *t, const Launch *l, const Schedule *s, int levels, double points);
/* The same for a launch with reads `r`. */
LaunchCost reads_cost(const LaunchReads *r, const Schedule *s, int levels, double points);

#endif
