/* driver/instance/plan-see.c: the values of probes of the present fields, before the first step or after a cut grid has
 * been collected: launches them and passes the values to the callback (plan-points.c). */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* Launches the part of probe number `i` for the time before the first step, now, and passes its values on. */
static StcStatus see_probe(StcPlan *p, int i) {
  StcStatus s = plan_sequence(p, &p->module->probes[i].seq);
  if (!s)
    s = p->device.kind->wait(&p->device);
  return s ? s : plan_fetch_rows(p, i, -1, 0);
}

StcStatus plan_see(StcPlan *p) {
  StcStatus s = STC_OK;
  p->lists.unseen = p->run.done;
  p->lists.shift = p->device.kind == &device_ref ? 0 : p->run.done;
  if (p->device.kind->whole)
    s = plan_see_whole(p);
  for (int i = 0; i < p->module->nprobes && !s && !p->device.kind->whole; i++)
    if (p->run.done % p->module->probes[i].every == 0)
      s = see_probe(p, i);
  p->lists.shift = 0;
  p->lists.unseen = p->run.done + 1;
  return s;
}

StcStatus plan_probe_before(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = 0; p->lists.unseen == 0 && i < p->module->nprobes && !s; i++)
    s = plan_sequence(p, &p->module->probes[i].seq);
  return s;
}
