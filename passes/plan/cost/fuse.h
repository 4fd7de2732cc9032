/* passes/plan/cost/fuse.h: what a launch is expected to cost (fuse-cost.c), which pass fuse decides by. */
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
  double bytes;        /* read and written, those read for the halo with them */
  double memory_bytes; /* of these, what no cache holds */
  double ops;
  double occupancy; /* threads that a core holds of those it could */
  double ps;
} LaunchCost;

/* What launch `l` reads and computes whatever its tile: found once where many tiles are compared. */
typedef struct LaunchReads LaunchReads;
LaunchReads *launch_reads_all(const TargetInfo *t, const Launch *l);

/* The figures of launch `l` of `levels` time steps under the schedule `s`, on a grid of `points` points. */
LaunchCost launch_cost(const TargetInfo *t, const Launch *l, const Schedule *s, int levels, double points);
/* The same of a launch that reads `r`. */
LaunchCost reads_cost(const LaunchReads *r, const Schedule *s, int levels, double points);

#endif
