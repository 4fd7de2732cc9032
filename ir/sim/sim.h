/* ir/sim/sim.h: the interface of the simulator of kernel IR (its parts: simulate.h). */
#ifndef STC_SIM_H
#define STC_SIM_H

#include "ir/ir.h"

/* Statistics and findings of the simulator, besides the results. */
typedef struct SimStats {
  int64_t launches, blocks, barriers, loads, stores, aloads, astores, ops;
} SimStats;
typedef struct SimOptions {
  uint64_t seed;   /* order of blocks and of threads between barriers */
  int max_reports; /* stop after this many faults (0: 1) */
} SimOptions;
/* Runs the kernel IR module `m` by its host part on the arrays in `b`, which then hold the results, block by block and
 * thread by thread between barriers. Faults: race (in shared memory, and in global memory between threads of a launch),
 * access outside a buffer or an array, barrier that not all threads reach, read of memory nobody wrote, stale value in
 * a global store. Each is a diag_error that names kernel, buffer or array with cell, block, thread and source line.
 * False if there was a fault. `stats` may be NULL. Fields given in `b` count as written; temp fields' buffers do not.
 */
bool sim_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, const SimOptions *o,
             SimStats *stats, Diags *d);

#endif
