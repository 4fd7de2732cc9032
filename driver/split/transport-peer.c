/* transport-peer.c: cells from GPU to GPU of one process, in order with their launches: nobody waits on the host. Who
 * sends waits for what the other one still does to the cells; who gets waits, before its next launch, for what is sent
 * to it. */
#include "driver/split/split.h"

#include <stdlib.h>

bool parts_are_near(StcPlan *p) {
  Split *s = p->split;
  int here = 0;
  for (int i = 0; i < s->ntransfers; i++) {
    if (!transfer_is_here(s, &s->transfers[i]))
      continue;
    here++;
    Device *from = &s->part[s->transfers[i].from].plan->device, *to = &s->part[s->transfers[i].to].plan->device;
    if (from->kind != to->kind || !from->kind->near || !from->kind->near(from, to))
      return false;
  }
  return here > 0;
}

/* Marks where each part is. */
static StcStatus mark_all(const Split *s) {
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device);
  return st;
}

/* Has each part that sends something (`senders`), or that gets something, wait for the marks of those that it has to
 * do with. */
static StcStatus follow_all(const Split *s, bool senders) {
  bool *seen = calloc((size_t)s->nparts * (size_t)s->nparts, sizeof *seen);
  StcStatus st = seen ? STC_OK : STC_MEMORY;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!transfer_is_here(s, t))
      continue;
    int waits = senders ? t->from : t->to, other = senders ? t->to : t->from;
    bool *done = &seen[waits * s->nparts + other];
    Device *d = &s->part[waits].plan->device;
    if (waits != other && !*done)
      st = d->kind->follow(d, &s->part[other].plan->device);
    *done = true;
  }
  free(seen);
  return st;
}

/* All transfers. */
static StcStatus peer_exchange(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = mark_all(s);
  if (!st)
    st = follow_all(s, true);
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!transfer_is_here(s, t))
      continue;
    Device *d = &s->part[t->from].plan->device;
    Sending x = split_sending(p, t);
    st = d->kind->send(d, &s->part[t->to].plan->device, &x);
  }
  if (!st)
    st = mark_all(s);
  return st ? st : follow_all(s, false);
}

const Transport transport_peer = {.name = "peer", .exchange = peer_exchange};
