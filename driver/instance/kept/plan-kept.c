/* driver/instance/kept/plan-kept.c: the recordings of a plan's launches on a device (kept.h): finds them by the present
 * state of the buffers, and frees them when launches may differ. */
#include "driver/instance/instance.h"

#include <string.h>

Recording *plan_find_recording(const StcPlan *p, const HostSeq *seq, int64_t most) {
  size_t size = sizeof *p->memory.of_buffer * (size_t)p->build->code.module->nbuffers;
  Recording *best = NULL;
  for (Recording *r = p->run.replay.recordings; r; r = r->next)
    if (r->seq == seq && r->runs <= most && (!best || r->runs > best->runs) &&
        memcmp(r->slots, p->memory.of_buffer, size) == 0)
      best = r;
  return best;
}

/* Frees recorded loops; their times are measured again. */
static void forget_loops(StcPlan *p) {
  for (KeptLoop *k = p->run.replay.loops; k; k = k->next)
    p->device.kind->loops->forget(&p->device, k->kept);
  p->run.replay.loops = NULL;
  if (p->run.replay.times)
    memset(p->run.replay.times, 0, sizeof(LoopTime) * (size_t)p->build->code.module->host.nloops);
}

void plan_forget_recordings(StcPlan *p) {
  for (Recording *r = p->run.replay.recordings; r; r = r->next)
    p->device.kind->forget(&p->device, r->kept);
  p->run.replay.recordings = NULL;
  if (p->run.replay.renewed)
    p->device.kind->forget(&p->device, p->run.replay.renewed);
  p->run.replay.renewed = NULL;
  for (KeptBatch *k = p->run.replay.batches; k; k = k->next)
    if (k->kept)
      p->device.kind->forget(&p->device, k->kept);
  p->run.replay.batches = NULL;
  forget_loops(p);
}

KeptLoop *plan_find_loop(const StcPlan *p, int loop) {
  size_t size = sizeof(int32_t) * (size_t)p->build->code.module->nbuffers;
  KeptLoop *k = p->run.replay.loops;
  while (k && (k->loop != loop || memcmp(k->slots[0], p->memory.of_buffer, size) != 0))
    k = k->next;
  return k;
}
