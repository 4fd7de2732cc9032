/* transport-peer.c: cells from GPU to GPU of one process, in order with their launches: nobody waits on the host. Who
 * sends waits for what the other one still does to the cells; who gets waits, before its next launch, for what is sent
 * to it. Where launches are made in windows cells are sent in a lane of their own, as soon as they are there. */
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

/* Marks where each part is in the lane. */
static StcStatus mark_all(const Split *s, int lane) {
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, lane);
  return st;
}

/* Has part `waits` wait for part `other`, both of this rank, unless it does by `seen`. */
static StcStatus follow_once(const Split *s, bool *seen, int waits, int other, int lane, int of) {
  bool *done = &seen[(waits - s->begin) * (s->end - s->begin) + other - s->begin];
  Device *d = &s->part[waits].plan->device;
  StcStatus st = *done ? STC_OK : d->kind->follow(d, lane, &s->part[other].plan->device, of);
  *done = true;
  return st;
}

/* Has each part that sends something (`senders`), or that gets something, wait for the marks in lane `of` of those that
 * it has to do with, itself among them if the lanes differ. */
static StcStatus follow_all(const Split *s, bool senders, int lane, int of) {
  size_t here = (size_t)(s->end - s->begin);
  bool *seen = calloc(here * here, sizeof *seen);
  StcStatus st = seen ? STC_OK : STC_MEMORY;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!transfer_is_here(s, t))
      continue;
    int waits = senders ? t->from : t->to, other = senders ? t->to : t->from;
    for (int self = 0; self < 2 && lane != of && !st; self++)
      st = follow_once(s, seen, self ? waits : other, self ? waits : other, lane, of);
    if (waits != other && !st)
      st = follow_once(s, seen, waits, other, lane, of);
  }
  free(seen);
  return st;
}

/* One transfer, in the lane of the part that sends. */
static StcStatus send_cells(const StcPlan *p, const Transfer *t, int lane) {
  const Split *s = p->split;
  Device *d = &s->part[t->from].plan->device;
  Sending x = split_sending(p, t);
  return d->kind->send(d, lane, &s->part[t->to].plan->device, &x);
}

/* All transfers. */
static StcStatus peer_exchange(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = mark_all(s, LANE_MAIN);
  if (!st)
    st = follow_all(s, true, LANE_MAIN, LANE_MAIN);
  for (int i = 0; i < s->ntransfers && !st; i++)
    if (transfer_is_here(s, &s->transfers[i]))
      st = send_cells(p, &s->transfers[i], LANE_MAIN);
  if (!st)
    st = mark_all(s, LANE_MAIN);
  return st ? st : follow_all(s, false, LANE_MAIN, LANE_MAIN);
}

/* The transfers that can go when the launches at the cuts are done, in LANE_SEND, or the others, when all are, in the
 * main lane. *any: are there such? */
static StcStatus send_some(StcPlan *p, bool early, bool *any) {
  const Split *s = p->split;
  int lane = early ? LANE_SEND : LANE_MAIN;
  StcStatus st = STC_OK;
  *any = false;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!transfer_is_here(s, t) || (cells_are_there(p, t) && cells_are_free(p, t)) != early)
      continue;
    if (!*any)
      st = follow_all(s, true, lane, early ? LANE_EDGES : LANE_MAIN);
    *any = true;
    if (!st)
      st = send_cells(p, t, lane);
  }
  return st;
}

/* All transfers, those that can beside what is still being computed; what follows waits for those that it has to do
 * with. */
static StcStatus peer_early(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int round = 0; round < 2 && !st; round++) {
    int lane = round ? LANE_MAIN : LANE_SEND;
    bool any = false;
    st = send_some(p, round == 0, &any);
    if (!st && any)
      st = mark_all(s, lane);
    if (!st && any)
      st = follow_all(s, false, LANE_MAIN, lane);
  }
  return st;
}

const Transport transport_peer = {.name = "peer", .exchange = peer_exchange, .early = peer_early, .keeps = true};
