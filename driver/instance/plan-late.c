/* driver/instance/plan-late.c: decides which sequences of steps have their kernels compiled, and when. On the host,
 * sequences of fewer steps than a tile's are compiled late: only if a run makes enough of the launches of single steps
 * that they replace. On GPUs whose kernels are compiled in units, the sequences that a run uses are compiled when it
 * begins: a run of few steps needs no tile of several steps, and one of whole tiles no single steps. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "passes/base/tuning.h"

#include <string.h>

void plan_close_late(StcPlan *p) {
  if (!p->build || !p->device.kind->compile)
    return;
  int n = p->build->code.module->host.nseqs;
  p->run.closed = ARENA_ARRAY(p->w.arena, bool, n + 1);
  for (int i = 0; i < n; i++)
    p->run.closed[i] = build_is_late(p->program, p->build, i);
}

/* Adds to `uses` how often each sequence of `m` (except those marked in `closed`; NULL: none) runs in `gap` steps;
 * returns the number of launches. */
static int64_t count_uses(const Module *m, const bool *closed, int64_t gap, int64_t *uses) {
  int64_t runs = 0;
  for (int i = 0; i < m->host.nseqs && gap > 0; i++) {
    int64_t steps = m->host.seqs[i].steps, n = steps > 0 && !(closed && closed[i]) ? gap / steps : 0;
    uses[i] += n;
    runs += n;
    gap -= n * steps;
  }
  return runs;
}

/* The most stops of a run that are considered. */
enum { MOST_STOPS = 4096 };

/* Counts in `uses` how often the next `steps` steps run each sequence, if all are open; returns the number of runs with
 * the present ones. *whole, unless NULL: was the whole run considered? */
static int64_t count_run(const StcPlan *p, int64_t steps, int64_t *uses, bool *whole) {
  const Module *m = p->build->code.module;
  int64_t unused[m->host.nseqs + 1], at = p->run.done, end = at + steps, runs = 0;
  memset(unused, 0, sizeof unused);
  for (int i = 0; i < MOST_STOPS && at < end; i++) {
    int64_t gap = module_steps_to_stop(m, 0, at, observers_wait(&p->observers, at, end - at));
    count_uses(m, NULL, gap, uses);
    runs += count_uses(m, p->run.closed, gap, unused);
    at += gap;
  }
  if (whole)
    *whole = at >= end;
  return runs;
}

/* Lets the device compile the kernels of sequence `i`, and opens it. */
static StcStatus open_sequence(StcPlan *p, int i) {
  const Module *m = p->build->code.module;
  bool kernels[m->nkernels + 1];
  StcStatus s = STC_OK;
  memset(kernels, 0, sizeof kernels);
  host_kernels(m, &m->host.seqs[i], kernels);
  for (int k = 0; k < m->nkernels && !s; k++)
    if (kernels[k])
      s = p->device.kind->compile(&p->device, k);
  p->run.closed[i] = s != STC_OK;
  return s;
}

StcStatus plan_open_late(StcPlan *p, int64_t steps) {
  int n = p->run.closed ? p->build->code.module->host.nseqs : 0;
  int64_t uses[n + 1], runs;
  double start = clock_seconds();
  StcStatus s = STC_OK;
  memset(uses, 0, sizeof uses);
  runs = n > 2 ? count_run(p, steps, uses, NULL) : 0;
  for (int i = 0; i < n && runs && !s; i++) {
    int64_t saved = uses[i] * (p->build->code.module->host.seqs[i].steps - 1);
    if (p->run.closed[i] && (double)saved >= tuning.fewer_launches && saved >= runs / (int64_t)tuning.fewer_launches_in)
      s = open_sequence(p, i);
  }
  p->compile_seconds += clock_seconds() - start;
  return s;
}

/* Lets the device compile the kernels of the sequences, which are then ready. A request to end the run ends this, too.
 */
static StcStatus make_ready(StcPlan *p, const bool *sequences) {
  int n = p->build->code.module->host.nseqs;
  p->w.context->asked.also = p->run.stop;
  StcStatus s = plan_need_sequences(p, sequences);
  compile_stop(p->w.context);
  for (int i = 0; i <= n && !s; i++)
    p->run.ready[i] = sequences[i];
  return s;
}

StcStatus plan_need_steps(StcPlan *p, int64_t steps) {
  if (!p->run.ready)
    return STC_OK;
  int n = p->build->code.module->host.nseqs;
  int64_t uses[n + 1];
  bool whole, wanted[n + 1], missing = !p->run.ready[n];
  memset(uses, 0, sizeof uses);
  count_run(p, steps, uses, &whole);
  for (int i = 0; i < n; i++) {
    wanted[i] = p->run.ready[i] || uses[i] || !whole;
    missing |= wanted[i] && !p->run.ready[i];
  }
  wanted[n] = true;
  return missing ? make_ready(p, wanted) : STC_OK;
}

StcStatus plan_need_sequence(StcPlan *p, const HostSeq *seq) {
  const Host *h = &p->build->code.module->host;
  bool wanted[h->nseqs + 1];
  if (!p->run.ready || seq < h->seqs || seq >= h->seqs + h->nseqs || p->run.ready[seq - h->seqs])
    return STC_OK;
  memcpy(wanted, p->run.ready, sizeof wanted);
  wanted[seq - h->seqs] = true;
  return make_ready(p, wanted);
}

const HostSeq *plan_next_sequence(const StcPlan *p, int64_t left) {
  const Host *h = &p->build->code.module->host;
  return host_sequence(h->nseqs, h->seqs, p->run.closed, left);
}
