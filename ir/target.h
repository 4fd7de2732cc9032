/* ir/target.h: what passes may ask about a target. */
#ifndef STC_IR_TARGET_H
#define STC_IR_TARGET_H

#include "ir/base/base.h"

/* What passes may ask about a target; filled by the backend (or by a test). */
enum { LANE_ROWS = 16 }; /* rows of a plane that have one base */
/* Schedulers of a GPU's core: a warp stays with one, so that five warps take as long as eight. Issue slots that an
 * operation on the pipe for functions takes. */
enum { SCHEDULERS = 4, SPECIAL_SLOTS = 8 };
/* Bytes that a GPU's core gets from the largest cache in a clock: as measured on one H200, and taken for all. */
enum { CORE_CACHE_BYTES = 21 };
typedef struct TargetInfo {
  const char *name, *cpu; /* for messages only: no pass may compare them */
  bool simt;           /* kernels are run by blocks of threads (GPU); else by one thread a block, loops inside (CPU) */
  int32_t lanes;       /* threads a warp or wave; vector width in bytes / 4 on a CPU */
  int32_t max_threads; /* threads a block */
  int32_t max_block[GRID_RANK]; /* threads a block along hardware x, y, z */
  int64_t max_grid[GRID_RANK];  /* blocks along hardware x, y, z */
  int64_t shared_bytes;     /* a block may take without special leave (48 KiB on CUDA); on a CPU: cache for one tile */
  int64_t max_shared_bytes; /* a block may take at most */
  int64_t shared_per_core;  /* of one multiprocessor */
  int32_t max_threads_per_core;
  int32_t registers_per_core; /* 32 bit */
  int32_t most_registers;     /* of a thread, 0: 255 */
  int32_t conditions;         /* of a thread that take no register, at most, 0: none does */
  double word_registers;      /* that a 32-bit word alive in a thread takes, of what it takes on NVIDIA's; 0: as many */
  int32_t cores;              /* multiprocessors, or CPU cores */
  /* What it can do, for estimates (0: unknown, and no bound): bytes to and from memory, and from the largest cache, in
   * 1e9/s;
   * additions of f32 and f64 in 1e9/s; what starting a kernel costs, in microseconds. */
  double bandwidth, cache_bandwidth, f32_rate, f64_rate, launch_us;
  double link; /* 1e9 bytes/s to a GPU from the computer that it is in, and as much back at the same time */
  /* The same: clock in GHz; instructions that all cores issue, counted once for each lane, and 32-bit words that their
   * shared memories move, in 1e9/s; bytes of the largest cache. */
  double clock, issue_rate, shared_rate, cache_bytes;
  /* What of these was measured to be kept up: part of the clock under load and of the bandwidth by a copy (0: all of
   * it); bytes that a launch moves, up to which they stay in the largest cache. */
  double kept_clock, kept_bandwidth, kept_cache;
  int32_t sector_bytes; /* that memory writes as one, at multiples of them; 0: unknown */
  bool async_copy;      /* it has async.copy, async.commit and async.wait */
  bool bulk_copy;       /* it has signals and bulk copies, and ops on whole warps */
  int32_t cluster;      /* blocks that may run together and reach each other's shared memory, at most; 0: none do */
  bool moves_registers; /* REGISTER_WARPS warps of a block can give registers to others */
  bool
      early_launch; /* kernels wait by themselves for the one ahead: a launch may be made ready before that has ended */
  int32_t near_warps; /* warps, an even number of them, of blocks in which barrier.neighbours is better than barrier, at
                         most; 0: it never is */
  bool late; /* kernels are compiled when a run needs them, so that those that few runs need cost others nothing */
  int64_t lane_bytes;  /* loads and stores take a base and less than so many bytes that each lane adds: in kernels that
                          stream over planes LANE_ROWS rows, and those that the lines of a wave are apart; 0: no base */
  bool circles;        /* its driver maps memory of the device twice (DeviceKind.circle_new) */
  int32_t extreme_f64; /* instructions of the greater or less of two f64; 0: one */
  bool range_guards;   /* roots and quotients are shorter if their operands are known to be neither tiny nor huge */
} TargetInfo;

#endif
