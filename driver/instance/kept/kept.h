/* driver/instance/kept/kept.h: launches that a device keeps (DeviceKind.record, loops), so that they are made in one
 * go: small grids do not wait for launches then.
 *
 *   plan-kept.c     what is kept: found again, and given back
 *   plan-replay.c   launches recorded once and made in one go
 *   plan-loops.c    rounds of a repeat that the device makes by itself until its `until` holds
 *   plan-batch.c    steps made in one go though memory changes between them
 */
#ifndef STC_DRIVER_KEPT_H
#define STC_DRIVER_KEPT_H

#include "driver/device/device.h"

/* `runs` runs of `seq`, begun when the buffers stood for `slots`, as the device keeps them. */
typedef struct Recording {
  const HostSeq *seq;
  int64_t runs, launches, first; /* `first`: the step that it was recorded at */
  int32_t *slots;
  void *kept;
  struct Recording *next;
} Recording;

/* The parts that a loop has at most. */
enum { LOOP_PARTS = 2 };

/* Loop number `loop`, begun when the buffers stood for slots[0]; after its first part they stand for slots[1]. budget:
 * the parts of a run, at most; 0: each takes so long that the host makes them. */
typedef struct KeptLoop {
  int loop;
  int64_t rounds, launches, budget;
  int parts;
  int32_t *slots[LOOP_PARTS];
  DeviceLoop *kept;
  struct KeptLoop *next;
} KeptLoop;

/* What the host has made of a loop: launches, and the seconds that they took; and what it had done when it was last
 * asked, at time `since` in step `step`. first: the step in which it was first asked if begun; whole: launches in
 * steps before that in hand. differs: rounds do, or the device cannot keep them. */
typedef struct LoopTime {
  int64_t launches, first, whole, step, done, before;
  double seconds, since;
  bool begun, differs;
} LoopTime;

/* Launches of a batch of steps as the device keeps them (plan-batch.c); batches with the same `due` have the same
 * kernels. */
typedef struct KeptBatch {
  uint64_t due;
  void *kept;
  struct KeptBatch *next;
} KeptBatch;

/* What is known of launches that are recorded once and made in one go. */
typedef struct Replay {
  Recording *recordings;
  void *renewed; /* launches that the device keeps for one time, NULL: none so far */
  KeptBatch *batches;
  KeptLoop *loops;
  LoopTime *times; /* of each loop; NULL: none has run */
  bool impossible; /* the device cannot */
  bool no_loops;   /* the device cannot keep loops */
  bool recording;  /* launches are being kept, */
  bool follows;    /* and the last thing kept was a launch with none beside it */
} Replay;

/* ---------------------------------------------------------------- plan-kept.c */

/* The longest recording of up to `most` runs of the sequence that begins with the buffers as they are, or NULL. */
Recording *plan_find_recording(const StcPlan *p, const HostSeq *seq, int64_t most);
/* What is kept of the loop from the buffers as they are; NULL: nothing. */
KeptLoop *plan_find_loop(const StcPlan *p, int loop);
/* Lets go all that the device keeps: launches may be others now. */
void plan_forget_recordings(StcPlan *p);

/* ---------------------------------------------------------------- plan-replay.c */

/* Makes up to `most` runs of the sequence by recordings, *made of them: none if the device has no such thing, or runs
 * differ, or it is not worthwhile. */
StcStatus plan_replay(StcPlan *p, const HostSeq *seq, int64_t most, int64_t *made);
/* Has the device keep the launches that `make` makes, in place of those that *in has (NULL: none so far); the plan is
 * as if they had been made, though the device has not yet (DeviceKind.replay). *kept false: it cannot, and nothing was
 * made. */
StcStatus plan_keep_anew(StcPlan *p, StcStatus (*make)(StcPlan *p, void *user), void *user, void **in, bool *kept);
/* Do runs of the sequence differ in nothing but the buffers? */
bool plan_is_steady(const StcPlan *p, const HostSeq *seq);

/* ---------------------------------------------------------------- plan-loops.c */

/* HostMachine.rounds: rounds of loop `loop` that the device makes by itself until its `until` holds. */
int plan_loop_rounds(void *user, int loop, int64_t step, int64_t done, int64_t left, int64_t *made);

/* ---------------------------------------------------------------- plan-batch.c */

/* Steps to be made in one go, at most `most`: what is done before and behind step number `k` of them (NULL: nothing),
 * by launches, copies within the device, or on this computer; it neither waits for the device nor asks it for memory.
 * lends: what is done before has fields be in memory that no step of the batch changes, and copies nothing. */
typedef struct StepBatch {
  int64_t most;
  bool lends;
  StcStatus (*before)(void *user, int64_t k), (*behind)(void *user, int64_t k);
  void *user;
} StepBatch;
/* How many steps a batch of the plan's has, at most `most`; 0: the device cannot make several in one go, the steps have
 * to wait for it, or none has been made yet. */
int64_t plan_batch_steps(StcPlan *p, int64_t most);
/* Makes so many steps, b->most being asked for; *made: how many. Nobody waits for them. */
StcStatus plan_batch(StcPlan *p, const StepBatch *b, int64_t *made);

#endif
