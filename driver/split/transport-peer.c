/* transport-peer.c: cells from GPU to GPU of one process, in order with their launches: nobody waits on the host. Who
 * sends waits for what the other one still does to the cells; who gets waits, before its next launch, for what is sent
 * to it. They go in lanes of their own, one for each neighbour; where launches are made in windows, as soon as they are
 * there. */
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

/* The lane in which the part sends: parts that lie side by side get theirs in different ones, so that none waits for
 * what is sent to another. */
static int lane_of(const Transfer *t) { return LANE_SEND + ((t->to - t->from) % SEND_LANES + SEND_LANES) % SEND_LANES; }

/* Lane `lane` of part `waits` waits for the mark of part `other` in lane `of`. */
static StcStatus follow(const Split *s, int waits, int lane, int other, int of) {
  Device *d = &s->part[waits].plan->device;
  return d->kind->follow(d, lane, &s->part[other].plan->device, of);
}

/* The lane of the transfer waits for the marks in lane `of` of both parts: behind them the cells are there, and nobody
 * is at work any more where they go to. */
static StcStatus begin_way(const Split *s, const Transfer *t, int of) {
  StcStatus st = follow(s, t->from, lane_of(t), t->from, of);
  return st || t->to == t->from ? st : follow(s, t->from, lane_of(t), t->to, of);
}

/* Both parts wait for what the lane was given: the one that gets it, and the one that sends it, before it may write
 * over it. */
static StcStatus end_way(const Split *s, const Transfer *t) {
  Device *d = &s->part[t->from].plan->device;
  StcStatus st = d->kind->mark(d, lane_of(t));
  if (!st)
    st = follow(s, t->from, LANE_MAIN, t->from, lane_of(t));
  return st || t->to == t->from ? st : follow(s, t->to, LANE_MAIN, t->from, lane_of(t));
}

/* One transfer, in its lane of the part that sends. */
static StcStatus send_cells(const StcPlan *p, const Transfer *t) {
  const Split *s = p->split;
  Device *d = &s->part[t->from].plan->device;
  Sending x = split_sending(p, t);
  return d->kind->send(d, lane_of(t), &s->part[t->to].plan->device, &x);
}

/* Which transfers: all; those that can go when the launches at the cuts are done; those that cannot. */
typedef enum Which { WHICH_ALL, WHICH_EARLY, WHICH_LATE } Which;

/* Is the transfer one of those? */
static bool is_wanted(const StcPlan *p, const Transfer *t, Which which) {
  if (!transfer_is_here(p->split, t) || which == WHICH_ALL)
    return transfer_is_here(p->split, t);
  return (cells_are_there(p, t) && cells_are_free(p, t)) == (which == WHICH_EARLY);
}

/* Sends those, when both parts have come to their marks in lane `of`. What follows in the main lanes waits for that. */
static StcStatus send_behind(StcPlan *p, Which which, int of) {
  const Split *s = p->split;
  size_t here = (size_t)(s->end - s->begin);
  bool *begun = calloc(here * here, sizeof *begun); /* the ways from part to part that have something */
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

/* All transfers, behind all there was so far. */
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

/* All transfers, those that can beside what is still being computed. */
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

/* Marks change nothing, nor does an exchange before the first steps, but they have the driver make streams, events, and
 * the ways between GPUs, which takes it milliseconds. */
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
/* The same with launches that send by themselves (mirrors.c). */
const Transport transport_store = {
    .name = "store", .exchange = peer_exchange, .early = peer_early, .ready = peer_ready, .keeps = true};
