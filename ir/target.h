/* ir/target.h: the properties of a target that passes may use. */
#ifndef STC_IR_TARGET_H
#define STC_IR_TARGET_H

#include "ir/base/base.h"

/* The properties of a target; the backend (or a test) fills them in. */
enum { LANE_ROWS = 16 }; /* rows of a plane that share a base address */
/* SCHEDULERS: the schedulers of a GPU's core. A warp stays with its scheduler, so five warps take as long as eight.
 * SPECIAL_SLOTS: the issue slots of an operation on the special function pipe. */
enum { SCHEDULERS = 4, SPECIAL_SLOTS = 8 };
/* Bytes per clock that a GPU's core receives from the largest cache: measured on one H200, and used for all. */
enum { CORE_CACHE_BYTES = 21 };
typedef struct TargetInfo {
  const char *name, *cpu; /* for messages only: no pass may compare them */
  bool simt;     /* blocks of threads run the kernels (GPU); else each block is one thread, with loops inside (CPU) */
  int32_t lanes; /* threads of a warp or wave; on a CPU the vector width in bytes / 4 */
  int32_t max_threads;          /* threads of a block */
  int32_t max_block[GRID_RANK]; /* threads of a block along hardware x, y, z */
  int64_t max_grid[GRID_RANK];  /* blocks along hardware x, y, z */
  int64_t shared_bytes; /* bytes that a block can use without a special setting (48 KiB on CUDA); on a CPU: cache for
                           one tile */
  int64_t max_shared_bytes; /* the most bytes of shared memory of a block */
  int64_t shared_per_core;  /* of one multiprocessor */
  int32_t max_threads_per_core;
  int32_t registers_per_core; /* of 32 bits */
  int32_t most_registers;     /* the most registers of a thread; 0: 255 */
  int32_t conditions;    /* the most conditions of a thread that occupy no register; 0: every condition occupies one */
  double word_registers; /* registers that a live 32-bit word of a thread occupies, relative to NVIDIA's GPUs; 0: as
                            many */
  int32_t cores;         /* multiprocessors, or CPU cores */
  /* Speeds, for estimates (0: unknown, and no bound): bytes to and from memory, and from the largest cache, in 1e9/s;
   * additions of f32 and f64 in 1e9/s; the cost of starting a kernel, in microseconds. */
  double bandwidth, cache_bandwidth, f32_rate, f64_rate, launch_us;
  double link; /* 1e9 bytes/s from the host computer to a GPU, and as many in the other direction at the same time */
  /* Further speeds: the clock in GHz; instructions that all cores issue, counted once for each lane, and 32-bit words
   * that their shared memories move, in 1e9/s; bytes of the largest cache. */
  double clock, issue_rate, shared_rate, cache_bytes;
  /* Measured sustained values: the fraction of the clock under load and of the bandwidth in a copy (0: all of it); the
   * bytes that a launch may move so that they stay in the largest cache. */
  double kept_clock, kept_bandwidth, kept_cache;
  int32_t sector_bytes; /* bytes that memory writes as one unit, at multiples of this number; 0: unknown */
  bool async_copy;      /* it has async.copy, async.commit and async.wait */
  bool bulk_copy;       /* it has signals and bulk copies, and ops on whole warps */
  int32_t cluster;      /* the most blocks of a cluster, which reach each other's shared memory; 0: none */
  bool moves_registers; /* REGISTER_WARPS warps of a block can give registers to others */
  bool early_launch; /* kernels themselves wait for the end of the kernel before them, so a launch may begin before that
                        end */
  int32_t near_warps; /* up to this number of warps (an even number) in a block barrier.neighbours is better than
                         barrier; 0: it never is */
  bool late; /* kernels are compiled when a run first needs them, so kernels that few runs need cost the other runs
                nothing */
  int64_t lane_bytes;  /* the limit of the byte offset that each lane adds to the base address of a load or store: in
                          kernels that stream over planes this covers LANE_ROWS rows and the distance of the lines of a
                          wave; 0: there is no base */
  bool circles;        /* its driver can map memory of the device twice (DeviceKind.circle_new) */
  int32_t extreme_f64; /* instructions of a minimum or maximum of two f64; 0: one */
  bool range_guards;   /* roots and quotients are shorter if their operands are known to be neither tiny nor huge */
} TargetInfo;

#endif
