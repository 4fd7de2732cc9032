/* ir/sim/sim.h: the simulator of kernel IR, for those who run it (its parts: simulate.h). */
#ifndef STC_SIM_H
#define STC_SIM_H

#include "ir/ir.h"

/* What the simulator found, apart from the results. */
typedef struct SimStats {
  int64_t launches, blocks, barriers, loads, stores, aloads, astores, ops;
} SimStats;
typedef struct SimOptions {
  uint64_t seed;   /* order of blocks and of threads between barriers */
  int max_reports; /* stop after so many faults (0: 1) */
} SimOptions;
/* Runs the kernel IR module `m` with the host part's plan on the arrays in `b` (results end up there), block by block,
 * thread by thread between barriers. Faults: race (shared, and global between threads of a launch), access outside a
 * buffer or an array, barrier not reached by all threads, read of memory nobody wrote, stale value in a global store.
 * Each is a diag_error that names kernel, buffer or array with cell, block, thread and source line. False if there was
 * a fault. `stats` may be NULL. Fields given in `b` count as written; temp fields' buffers as not. */
bool sim_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, const SimOptions *o,
             SimStats *stats, Diags *d);

#endif
