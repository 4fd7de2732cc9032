/* split-steps.c: steps of all parts of this rank, and exchanges between them; the time loop (split-run.c), steps of
 * several programs (phases/) and recorded periods (split-replay.c) use them. */
#include "driver/split/split.h"

/* split_run_parts with launches that store to other parts (mirrors.c). */
static StcStatus run_mirrored(StcPlan *p, int64_t steps) {
  Split *split = p->split;
  int64_t launches = 0;
  for (int i = split->begin; i < split->end; i++) {
    StcPlan *q = split->part[i].plan;
    launches -= q->run.launches;
    q->run.first = q->run.done = p->run.done;
    q->run.evaluated = true;
  }
  StcStatus s = mirrors_run(p, steps);
  for (int i = split->begin; i < split->end; i++)
    launches += split->part[i].plan->run.launches;
  p->run.launches += launches;
  return s;
}

StcStatus split_run_parts(StcPlan *p, int64_t steps, bool early) {
  Split *split = p->split;
  bool mirrored = early && mirrors_can(p, steps);
  StcStatus s = mirrored ? run_mirrored(p, steps) : STC_OK;
  for (int i = split->begin; i < split->end && !s && !mirrored; i++) {
    StcPlan *q = split->part[i].plan;
    int64_t launches = q->run.launches;
    q->run.first = q->run.done = p->run.done;
    q->run.evaluated = true;
    if (q->ghosts) {
      q->ghosts->age = split->age;
      q->ghosts->exchanged = split_level(p);
    }
    s = windows_run(p, i, steps, split->every - split->age - steps, early);
    p->run.launches += q->run.launches - launches;
    if (s && s != STC_INTERRUPTED)
      split_name_part(p, i);
  }
  split->age += steps;
  split->ran = steps;
  p->run.done += s ? 0 : steps;
  return s;
}

StcStatus split_exchange(StcPlan *p, StcStatus s, bool early) {
  Split *split = p->split;
  split->level++;
  if (split->ranks)
    s = mpi_exchange(p, s, early);
  else if (!s)
    s = early ? split->transport->early(p) : split->transport->exchange(p);
  if (!s && !split->ranks && split->transport->pace)
    s = split->transport->pace(p, 1);
  split->age = 0;
  ghosts_exchanged(p);
  return s;
}

StcStatus split_wait(StcPlan *p, StcStatus s) {
  if (p->split->transport->wait)
    return p->split->transport->wait(p, s);
  for (int i = p->split->begin; i < p->split->end && !s; i++) {
    StcPlan *q = p->split->part[i].plan;
    s = q->device.kind->wait(&q->device);
  }
  return s;
}
