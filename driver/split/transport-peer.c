/* transport-peer.c: sends cells from GPU to GPU of one process, in order with their launches: nothing waits on the
 * host. The sender waits for work of the receiver that still uses the cells; the receiver's next launch waits for the
 * cells that are sent to it. Transfers use lanes of their own, one for each neighbour; if launches are divided into
 * windows, they start as soon as the cells are there. */
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

/* The lane in which the sending part makes the transfer: neighbouring parts get their cells in different lanes, so that
 * none waits for what is sent to another. */
static int lane_of(const Transfer *t) { return LANE_SEND + ((t->to - t->from) % SEND_LANES + SEND_LANES) % SEND_LANES; }

/* Lets lane `lane` of part `waits` wait for the mark of part `other` in lane `of`. */
static StcStatus follow(const Split *s, int waits, int lane, int other, int of) {
  Device *d = &s->part[waits].plan->device;
  return d->kind->follow(d, lane, &s->part[other].plan->device, of);
}

/* Lets the lane of the transfer wait for the marks in lane `of` of both parts: then the cells are computed, and nobody
 * uses their destination any more. */
static StcStatus begin_way(const Split *s, const Transfer *t, int of) {
  StcStatus st = follow(s, t->from, lane_of(t), t->from, of);
  return st || t->to == t->from ? st : follow(s, t->from, lane_of(t), t->to, of);
}

/* Lets both parts wait for the transfer: the receiver, and the sender before it may overwrite the cells. */
static StcStatus end_way(const Split *s, const Transfer *t) {
  Device *d = &s->part[t->from].plan->device;
  StcStatus st = d->kind->mark(d, lane_of(t));
  if (!st)
    st = follow(s, t->from, LANE_MAIN, t->from, lane_of(t));
  return st || t->to == t->from ? st : follow(s, t->to, LANE_MAIN, t->from, lane_of(t));
}

/* Makes one transfer, in its lane of the sending part. */
static StcStatus send_cells(const StcPlan *p, const Transfer *t) {
  const Split *s = p->split;
  Device *d = &s->part[t->from].plan->device;
  Sending x = split_sending(p, t);
  return d->kind->send(d, lane_of(t), &s->part[t->to].plan->device, &x);
}

/* A set of transfers: all; those that can start when the launches at the cuts are complete; those that cannot. */
typedef enum Which { WHICH_ALL, WHICH_EARLY, WHICH_LATE } Which;

/* Is the transfer in that set? */
static bool is_wanted(const StcPlan *p, const Transfer *t, Which which) {
  if (!transfer_is_here(p->split, t) || which == WHICH_ALL)
    return transfer_is_here(p->split, t);
  return (cells_are_there(p, t) && cells_are_free(p, t)) == (which == WHICH_EARLY);
}

/* Makes the transfers of the set when both parts have reached their marks in lane `of`. Later work in the main lanes
 * waits for them. */
static StcStatus send_behind(StcPlan *p, Which which, int of) {
  const Split *s = p->split;
  size_t here = (size_t)(s->end - s->begin);
  bool *begun = calloc(here * here, sizeof *begun); /* the pairs of parts that have transfers */
  StcStatus st = begun ? STC_OK : STC_MEMORY;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!is_wanted(p, t, which))
      continue;
    bool *way = &begun[(size_t)(t->from - s->begin) * here + (size_t)(t->to - s->begin)];
    st = *way ? STC_OK : begin_way(s, t, of);
    *way = true;
    if (!st)
      st = send_cells(p, t);
  }
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (!transfer_is_here(s, t))
      continue;
    bool *way = &begun[(size_t)(t->from - s->begin) * here + (size_t)(t->to - s->begin)];
    st = *way ? end_way(s, t) : STC_OK;
    *way = false;
  }
  free(begun);
  return st;
}

/* Makes all transfers, after all earlier work. */
static StcStatus peer_exchange(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, LANE_MAIN);
  if (!st)
    st = send_behind(p, WHICH_ALL, LANE_MAIN);
  mirrors_note(p);
  return st;
}

/* Makes all transfers; those that can start early run beside launches. */
static StcStatus peer_early(StcPlan *p) {
  bool sent = p->split->mirrored;
  p->split->mirrored = false;
  StcStatus st = sent ? STC_OK : send_behind(p, WHICH_EARLY, LANE_EDGES);
  if (!st && !sent)
    st = send_behind(p, WHICH_LATE, LANE_MAIN);
  if (!sent)
    mirrors_note(p);
  return st;
}

/* Sets marks and makes an exchange, which have no effect before the first steps. But they let the driver create
 * streams, events, and the connections between GPUs, which takes it milliseconds. */
static StcStatus peer_ready(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = peer_exchange(p);
  for (int i = s->begin; i < s->end; i++)
    for (int lane = LANE_EDGES; lane < LANE_PACE && !st; lane++)
      st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, lane);
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->wait(&s->part[i].plan->device);
  return st;
}

const Transport transport_peer = {
    .name = "peer", .exchange = peer_exchange, .early = peer_early, .ready = peer_ready, .keeps = true};
/* The same with launches that store to other parts themselves (mirrors.c). */
const Transport transport_store = {
    .name = "store", .exchange = peer_exchange, .early = peer_early, .ready = peer_ready, .keeps = true};
