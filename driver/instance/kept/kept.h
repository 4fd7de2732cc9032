/* driver/instance/kept/kept.h: launches that a device records (DeviceKind.record, loops) and replays together, so that
 * small grids do not wait for launches.
 *
 *   plan-kept.c     finding and freeing what is recorded
 *   plan-replay.c   launches recorded once and replayed
 *   plan-loops.c    rounds of a repeat that the device makes by itself until its `until` holds
 *   plan-batch.c    steps replayed together although memory changes between them
 */
#ifndef STC_DRIVER_KEPT_H
#define STC_DRIVER_KEPT_H

#include "driver/device/device.h"

/* `runs` runs of `seq`, recorded on the device; they begin when the buffers stand for `slots`. */
typedef struct Recording {
  const HostSeq *seq;
  int64_t runs, launches, first; /* `first`: the step at which it was recorded */
  int32_t *slots;
  void *kept;
  struct Recording *next;
} Recording;

/* The most parts of a loop. */
enum { LOOP_PARTS = 2 };

/* Loop number `loop`, recorded; it begins when the buffers stand for slots[0], and after its first part they stand for
 * slots[1]. budget: the most parts of a run; 0: each takes so long that the host makes them. */
typedef struct KeptLoop {
  int loop;
  int64_t rounds, launches, budget;
  int parts;
  int32_t *slots[LOOP_PARTS];
  DeviceLoop *kept;
  struct KeptLoop *next;
} KeptLoop;

/* What the host has done for a loop: launches, and their seconds; and the counts when it was last asked, at time
 * `since` in step `step`. first: the step in which it was first asked, if begun; whole: launches in steps before the
 * present one. differs: its rounds differ, or the device cannot record them. */
typedef struct LoopTime {
  int64_t launches, first, whole, step, done, before;
  double seconds, since;
  bool begun, differs;
} LoopTime;

/* Launches of a batch of steps, recorded on the device (plan-batch.c); batches with the same `due` have the same
 * kernels. */
typedef struct KeptBatch {
  uint64_t due;
  void *kept;
  struct KeptBatch *next;
} KeptBatch;

/* The state of recording and replaying launches. */
typedef struct Replay {
  Recording *recordings;
  void *renewed; /* launches that are recorded to be replayed once; NULL: none so far */
  KeptBatch *batches;
  KeptLoop *loops;
  LoopTime *times; /* by loop; NULL: none has run */
  bool impossible; /* the device does not support it */
  bool no_loops;   /* the device cannot record loops */
  bool recording;  /* launches are being recorded, */
  bool follows;    /* and the last recorded operation was a launch with none beside it */
} Replay;

/* ---------------------------------------------------------------- plan-kept.c */

/* The longest recording of up to `most` runs of the sequence that begins with the present state of the buffers, or
 * NULL. */
Recording *plan_find_recording(const StcPlan *p, const HostSeq *seq, int64_t most);
/* The recorded loop that begins with the present state of the buffers; NULL: there is none. */
KeptLoop *plan_find_loop(const StcPlan *p, int loop);
/* Frees all that the device has recorded, because launches may differ now. */
void plan_forget_recordings(StcPlan *p);

/* ---------------------------------------------------------------- plan-replay.c */

/* Makes up to `most` runs of the sequence by replaying recordings; *made: their number; 0 if the device does not
 * support this, if runs differ, or if it does not pay. */
StcStatus plan_replay(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made);
/* Records the launches that `make` makes, in place of those that *in has (NULL: none so far). The plan's state is as
 * after them, but the device has not executed them (DeviceKind.replay). *kept false: it is not possible, and nothing
 * was made. */
StcStatus plan_keep_anew(StcPlan *p, StcStatus (*make)(StcPlan *p, void *user), void *user, void **in, bool *kept);
/* Do runs of the sequence differ only in the buffers? */
bool plan_is_steady(const StcPlan *p, const HostSeq *seq);

/* ---------------------------------------------------------------- plan-loops.c */

/* HostMachine.rounds: rounds of loop `loop` that the device makes by itself until its `until` holds. */
int plan_loop_rounds(void *user, int loop, int64_t step, int64_t done, int64_t left, int64_t *made);

/* ---------------------------------------------------------------- plan-batch.c */

/* At most `most` steps that are made together. Work before and after step number `k` of them (NULL: none) consists of
 * launches, copies within the device, or work on the host; it neither waits for the device nor allocates its memory.
 * lends: the work before a step lets fields use memory that no step of the batch changes, and copies nothing. */
typedef struct StepBatch {
  int64_t most;
  bool lends;
  StcStatus (*before)(void *user, int64_t k), (*behind)(void *user, int64_t k);
  void *user;
} StepBatch;
/* The number of steps of a batch of the plan, at most `most`; 0: the device cannot make several together, the steps
 * have to wait for the device, or none has been made yet. */
int64_t plan_batch_steps(StcPlan *p, int64_t most);
/* Makes a batch of at most b->most steps; *made: their number. Nobody waits for them. */
StcStatus plan_batch(StcPlan *p, const StepBatch *b, int64_t *made);

#endif
