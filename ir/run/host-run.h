/* ir/run/host-run.h: the host program of kernel IR (Host), run on whatever can launch: a device, the simulator. Which
 * sequence comes next, its launches and swaps, which reductions are due and what their values mean is decided in
 * host-run.c alone. */
#ifndef STC_IR_RUN_HOST_RUN_H
#define STC_IR_RUN_HOST_RUN_H

#include "ir/run/run.h"

/* What a host program is run on. Functions that give an int return 0, or else what ends the run at once and is handed
 * on; HOST_STOPPED ends it without an error. NULL where there is nothing to do, but for `launch`, `swap` and `value`.
 * Those from `fresh` on are for what time steps are made of, and not called within loops; `round` is for loops alone.
 */
enum { HOST_STOPPED = -1 };
typedef struct HostMachine {
  /* Launches the kernels of the `n` ops at `op`, all but the first of which may run beside the one before. `step` is
   * what they take as number of the step. */
  int (*launch)(void *user, const HostOp *op, int n, int64_t step);
  /* Exchanges what two buffers stand for. */
  void (*swap)(void *user, int a, int b);
  /* Value number `member` (Reduction.each) that the launches of reduction `r` have left; asked for from 0 on. */
  int (*value)(void *user, const Reduction *r, int64_t member, Const *value);
  /* Makes rounds of loop `loop`, `done` of which have been made in step number `step`, and at most `left` more, in one
   * go: up to an evaluation of its reductions, whose launches have then been made; *made: how many, 0: none. */
  int (*rounds)(void *user, int loop, int64_t step, int64_t done, int64_t left, int64_t *made);
  /* A round of loop `loop`, or several that are one sequence, begins. */
  void (*round)(void *user, int loop);
  /* What does not outlast a sequence holds nothing from here on. */
  void (*fresh)(void *user);
  /* The sequence is to be run, up to *runs times; lessens that where there is no room for as many. */
  int (*begin)(void *user, const HostSeq *seq, int64_t *runs);
  /* Makes up to `most` runs of it in one go, and counts their steps; *made of them. */
  int (*replay)(void *user, const HostSeq *seq, int64_t most, int64_t *made);
  /* So many steps have been made; the reductions that are due are evaluated behind it. */
  void (*made)(void *user, int64_t steps);
  /* They have been. */
  int (*show)(void *user);
  /* How many of `left` steps may be made until somebody wants to look on. */
  int64_t (*until)(void *user, int64_t left);
} HostMachine;

/* A run of the host part of `m`. steps: the steps done, counted here. closed: sequences of steps that are not to be
 * taken (NULL: none). reduced: told of each value (may be NULL), as in Binding; repeated: of each loop that has been
 * made, by its number (may be NULL), likewise. wrong: what functions return after an
 * error of the program, reported to `diags`. ends: the condition of an `until` is met. */
typedef struct HostRun {
  const Module *m;
  const HostMachine *on;
  void *user;
  Const *scalars;
  int64_t *steps;
  const bool *closed;
  void (*reduced)(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
  void (*repeated)(void *user, int loop, int64_t step, int64_t rounds, bool ended);
  void *reduced_user;
  Diags *diags;
  int wrong;
  bool ends;
} HostRun;

/* The `n` operations at `op`; a sequence, without counting its steps. */
int host_ops(HostRun *h, int n, const HostOp *op);
int host_sequence_run(HostRun *h, const HostSeq *seq);
/* Evaluates the reductions that are due now. */
int host_reduce(HostRun *h);
/* Algorithm 5: sequences, at most `most` of them, until `end` steps are done or an `until` is met, and the reductions
 * that become due meanwhile. */
int host_run(HostRun *h, int64_t end, int64_t most);

#endif
