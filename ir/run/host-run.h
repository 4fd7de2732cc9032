/* ir/run/host-run.h: runs the host program of kernel IR (Host) on anything that can launch kernels: a device, the
 * simulator. Only host-run.c decides which sequence comes next, which reductions are due and what their values mean,
 * and issues the launches and swaps. */
#ifndef STC_IR_RUN_HOST_RUN_H
#define STC_IR_RUN_HOST_RUN_H

#include "ir/run/run.h"

/* The operations of a machine that runs host programs. Functions that return an int return 0, or a status that ends the
 * run at once and is passed on; HOST_STOPPED ends it without an error. A function may be NULL if there is nothing to
 * do, except `launch`, `swap` and `value`. The functions from `fresh` on belong to time steps and are not called within
 * loops; `round` is for loops only. */
enum { HOST_STOPPED = -1 };
typedef struct HostMachine {
  /* Launches the kernels of the `n` ops at `op`; each except the first may run beside the one before. `step` is the
   * number of the step that the kernels receive. */
  int (*launch)(void *user, const HostOp *op, int n, int64_t step);
  /* Exchanges the memory of two buffers. */
  void (*swap)(void *user, int a, int b);
  /* Returns value number `member` (Reduction.each) that the launches of reduction `r` have computed; called for members
   * from 0 on. */
  int (*value)(void *user, const Reduction *r, int64_t member, Const *value);
  /* Makes several rounds of loop `loop` at once: at most `left` rounds after the `done` rounds that are finished in
   * step number `step`, up to an evaluation of its reductions, whose launches it makes, too. *made: the number of
   * rounds, 0: none. */
  int (*rounds)(void *user, int loop, int64_t step, int64_t done, int64_t left, int64_t *made);
  /* Called before a round of loop `loop`, or before several that are one sequence. */
  void (*round)(void *user, int loop);
  /* Called when memory that lives only within a sequence loses its contents. */
  void (*fresh)(void *user);
  /* Called before the sequence is run up to *runs times; reduces that number if there is no room for as many. */
  int (*begin)(void *user, const HostSeq *seq, int64_t *runs);
  /* Runs the sequence up to `most` times at once and counts the steps; *made: how many times. */
  int (*replay)(void *user, const HostSeq *seq, int64_t most, int64_t *made);
  /* Called after `steps` steps; reductions that are due are evaluated after it. */
  void (*made)(void *user, int64_t steps);
  /* Called after these reductions. */
  int (*show)(void *user);
  /* The number of the `left` steps that may be made before somebody wants to see the fields. */
  int64_t (*until)(void *user, int64_t left);
} HostMachine;

/* A run of the host part of `m`. steps: the number of finished steps, updated here. closed: marks the sequences of
 * steps that must not be used (NULL: none). reduced: called with each value, as in Binding; may be NULL. repeated:
 * called after each loop with its number, as in Binding; may be NULL. wrong: the value that functions return after an
 * error of the program, which is reported to `diags`. ends: the condition of an `until` holds. */
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

/* host_ops: runs the `n` operations at `op`. host_sequence_run: runs a sequence without counting its steps. */
int host_ops(HostRun *h, int n, const HostOp *op);
int host_sequence_run(HostRun *h, const HostSeq *seq);
/* Evaluates the reductions that are due now. */
int host_reduce(HostRun *h);
/* Algorithm 5: runs at most `most` sequences, until `end` steps are done or an `until` holds, and evaluates the
 * reductions that become due. */
int host_run(HostRun *h, int64_t end, int64_t most);

#endif
