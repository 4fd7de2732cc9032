/* cpu-rounds.c: decides whether the rounds of repeats are streamed by one thread, on targets without threads.
 *
 *   repeat: red, black     ->     one launch of red, black, red.1, black.1, ..     or     a launch for each stencil
 *
 * A step with repeats is cut where they begin and end, so it is never one launch, and the usual question, whether
 * several steps should be streamed, has no answer. But pass rounds unrolls several rounds of a repeat: a launch of
 * these streams its rows through all of them, as a launch of several time steps does. This file takes the cut that
 * streamed tiles would have, and compares the expected time of these rounds in its launches with that of plain loops, a
 * launch for each stencil. Stencils outside of repeats are not counted: rounds are many. */
#include "passes/plan/cost/count.h"
#include "passes/plan/plan.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/cpu-stream.h"

/* Nanoseconds a point of stencils `first` to before `end` of `m`, which is cut: in streamed tiles, and as plain loops
 * where a launch of the cut cannot be streamed. *several: a launch of several stencils can be streamed. */
static double streamed_ns(PassContext *c, const Module *m, int first, int end, bool *several) {
  double sum = 0;
  for (int i = first, k; i < end; i += k) {
    Schedule s;
    k = group_length(end - i, m->stencils + i);
    const Launch *l = part_launch(m, m->nstencils, m->stencils, i, i + k);
    if (schedule_streamed(c, c->schedule, l, 1, &s)) {
      sum += loops_apart_ns(c->target, m, NULL, i, i + k);
      continue;
    }
    CpuStreamParts w = cpu_stream_parts(c->target, stream_alone(l));
    sum += cpu_stream_ns(&w, &s, false);
    *several = *several || k > 1;
  }
  return sum;
}

/* The stencils of the consecutive rounds of repeat `r` of `m`: from *first on; returns their number. */
static int rounds_in_a_row(const Module *m, const Repeat *r, int *first) {
  int n = 0;
  for (int i = m->nstencils - 1; i >= 0; i--)
    if (r->tile > 1 && m->stencils[i].stage == r->first) {
      *first = i;
      n++;
    }
  return n;
}

bool cpu_streams_rounds(PassContext *c, const Module *m) {
  const Schedule *asked = c->schedule;
  PassContext with = *c;
  bool tiled = false, several = false;
  double loops = 0, streamed = 0;
  for (int r = 0; r < m->nrepeats; r++)
    tiled = tiled || m->repeats[r].tile > 1;
  if (!tiled || c->target->simt || asked->family != FAMILY_AUTO || asked->fuse || m->grid.rank < 2)
    return false;
  Schedule stream = *asked;
  stream.family = FAMILY_STREAM;
  with.schedule = &stream;
  Module *trial = module_trial(m);
  if (!plan_cut(&with, trial, "auto"))
    return false;
  for (int r = 0, first = 0; r < m->nrepeats; r++) {
    int n = rounds_in_a_row(trial, &trial->repeats[r], &first);
    loops += n ? loops_apart_ns(c->target, trial, NULL, first, first + n) : 0;
    streamed += n ? streamed_ns(&with, trial, first, first + n, &several) : 0;
  }
  bool better = several && (asked->repeats || streamed < tuning.clearly * loops);
  if (better && !asked->repeats)
    diag_remark(c->diags, no_loc(),
                "rounds of repeats are streamed: %.2f ns a point are expected of those in a row, in plain loops %.2f",
                streamed, loops);
  return better;
}
