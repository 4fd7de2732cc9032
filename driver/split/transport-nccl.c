/* transport-nccl.c: sends cells from GPU to GPU by NCCL, in one process or several (ranks), in order with their
 * launches: nothing waits on the host. The device first packs cells that are not contiguous. Cells between parts on one
 * GPU are copied there. If a rank fails, the others would wait for messages that it no longer sends; so while they wait
 * they check whether a rank has reported a failure, and then abort NCCL. */
#include "driver/split/nccl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After this number of exchanges the host waits for the earlier ones, so that no launch blocks because the driver's
 * queue is full, where a failure of another rank would not be noticed. */
enum { EXCHANGES_AHEAD = 16 };

/* The transfers from one part to another, one of which is on this rank. early: its cells depend only on the launches at
 * the cuts. agreed: between ranks, both have found that this is so if all steps between two exchanges are made in one
 * go. */
typedef struct NcclLink {
  int from, to;
  bool early, agreed;
} NcclLink;
/* A transfer of a link (NULL: both parts are on one GPU); memory on either part's device for packed cells, NULL: they
 * are contiguous. */
typedef struct Way {
  const Transfer *t;
  int link;
  bool within;
  char *out, *in;
} Way;
/* A GPU of this rank: its number among all GPUs, and one of its devices. */
typedef struct NcclGpu {
  int place;
  Device *device;
  void *communicator;
} NcclGpu;
typedef struct NcclState {
  Nccl nccl;
  int nlinks, nways, ngpus, n;
  NcclLink *links;
  Way *ways;
  NcclGpu *gpus;
  int *place;    /* the number of each part's GPU among the `n` of all ranks */
  int64_t ahead; /* exchanges since the marks in LANE_PACE were set */
  int lane;      /* the lane of the present exchange: the main one if all of it waits for whole launches */
} NcclState;

/* ---------------------------------------------------------------- what is available */

/* The GPU of a part; what is missing on its rank. */
typedef struct Seat {
  unsigned char id[DEVICE_IDENTITY];
  char missing[256];
} Seat;

/* The seat of a part of this rank. */
static Seat own_seat(const StcPlan *p, int part, const char *missing) {
  Seat seat = {0};
  Device *d = &p->split->part[part].plan->device;
  const char *none = strncmp(d->kind->name, "cuda", 4) != 0 ? "there is a part on a device that is no NVIDIA GPU"
                     : !d->kind->identity(d, seat.id)       ? "the driver does not say which GPU a part is on"
                                                            : missing;
  snprintf(seat.missing, sizeof seat.missing, "%s", none ? none : "");
  return seat;
}

/* The seats of all parts, by number (calloc). NULL if any rank has no memory. */
static Seat *all_seats(StcPlan *p, const char *missing) {
  Split *s = p->split;
  int ranks = s->net ? s->net->size : 1, most = (s->nparts + ranks - 1) / ranks;
  Seat *mine = calloc((size_t)most, sizeof *mine), *all = calloc((size_t)most * (size_t)ranks, sizeof *all);
  Seat *out = calloc((size_t)s->nparts, sizeof *out);
  int next[ranks];
  memset(next, 0, sizeof next);
  bool fine = mine && all && out;
  for (int i = s->begin; i < s->end && fine; i++)
    mine[i - s->begin] = own_seat(p, i, missing);
  if (split_agree(p, fine ? STC_OK : STC_MEMORY)) {
    free(out);
    out = NULL;
  } else if (s->net) {
    s->net->gather(s->net, mine, sizeof *mine * (size_t)most, all);
  } else {
    memcpy(all, mine, sizeof *mine * (size_t)most);
  }
  for (int i = 0; i < s->nparts && out; i++)
    out[i] = all[s->part[i].rank * most + next[s->part[i].rank]++];
  free(mine);
  free(all);
  return out;
}

/* Numbers the GPUs in the order of the parts. `why`: what is missing, "" if nothing is. */
static void number_gpus(const StcPlan *p, NcclState *x, const Seat *seats, char why[256]) {
  const Split *s = p->split;
  why[0] = 0;
  for (int i = 0; i < s->nparts && !why[0]; i++) {
    int k = 0;
    while (k < i && memcmp(seats[k].id, seats[i].id, sizeof seats[i].id) != 0)
      k++;
    x->place[i] = k < i ? x->place[k] : x->n++;
    if (seats[i].missing[0] && s->net && s->net->size > 1)
      snprintf(why, 256, "on rank %d %.200s", s->part[i].rank, seats[i].missing);
    else if (seats[i].missing[0])
      snprintf(why, 256, "%.240s", seats[i].missing);
    else if (s->part[k].rank != s->part[i].rank)
      snprintf(why, 256, "ranks %d and %d are on one GPU, and NCCL needs one for each", s->part[k].rank,
               s->part[i].rank);
  }
}

/* ---------------------------------------------------------------- opening and closing */

/* The number of the link for the transfer, made if there is none yet. */
static int find_link(StcPlan *p, NcclState *x, const Transfer *t) {
  for (int i = x->nlinks - 1; i >= 0; i--)
    if (x->links[i].from == t->from && x->links[i].to == t->to)
      return i;
  ARENA_PUSH(p->w.arena, x->links, x->nlinks, ((NcclLink){.from = t->from, .to = t->to}));
  return x->nlinks - 1;
}

/* Memory on the part's device for packing cells that have several runs. */
static StcStatus make_side(const PartPlan *part, const Runs *r, size_t bytes, char **out) {
  void *memory = NULL;
  StcStatus s = STC_OK;
  if (part->plan && r->n < (int64_t)bytes)
    s = device_alloc(&part->plan->device, "ghost cells on their way", bytes, 0, &memory);
  *out = memory;
  return s;
}

/* Finds all transfers to or from parts of this rank. */
static StcStatus find_ways(StcPlan *p, NcclState *x) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    const PartPlan *from = &s->part[t->from], *to = &s->part[t->to];
    if (!from->plan && !to->plan)
      continue;
    Way w = {.t = t, .link = find_link(p, x, t), .within = x->place[t->from] == x->place[t->to]};
    if (!w.within)
      st = make_side(from, &t->out, t->bytes, &w.out);
    if (!st && !w.within)
      st = make_side(to, &t->in, t->bytes, &w.in);
    ARENA_PUSH(p->w.arena, x->ways, x->nways, w);
  }
  return st;
}

/* The GPUs of this rank. */
static void find_gpus(StcPlan *p, NcclState *x) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    int k = 0;
    while (k < x->ngpus && x->gpus[k].place != x->place[i])
      k++;
    if (k == x->ngpus)
      ARENA_PUSH(p->w.arena, x->gpus, x->ngpus, ((NcclGpu){x->place[i], &p->split->part[i].plan->device, NULL}));
  }
}

/* Makes the streams of this rank's GPUs. */
static StcStatus make_streams(const NcclState *x) {
  StcStatus s = STC_OK;
  void *stream;
  for (int i = 0; i < x->ngpus && !s; i++)
    s = x->gpus[i].device->kind->stream(x->gpus[i].device, LANE_SEND, &stream);
  return s;
}

/* Connects one of this rank's GPUs: NCCL uses the one whose context is current; asking for its stream makes it so. */
static StcStatus join_gpu(StcPlan *p, const NcclState *x, NcclId id, NcclGpu *g) {
  void *stream;
  StcStatus s = g->device->kind->stream(g->device, LANE_SEND, &stream);
  return s ? s : nccl_check(p, &x->nccl, x->nccl.join(&g->communicator, x->n, id, g->place), "connecting the GPUs");
}

/* Connects all GPUs. First come the steps in which a rank can fail by itself, because the others would wait for it. */
static StcStatus join_gpus(StcPlan *p, NcclState *x) {
  Net *net = p->split->net;
  NcclId id = {{0}};
  int who;
  StcStatus s = split_leads(p->split) ? nccl_check(p, &x->nccl, x->nccl.unique_id(&id), "beginning") : STC_OK;
  s = s ? s : make_streams(x);
  if (net_agree(net, s, &who))
    return s;
  if (net)
    net->broadcast(net, &id, sizeof id, 0);
  s = nccl_check(p, &x->nccl, x->nccl.group_start(), "connecting the GPUs");
  for (int i = 0; i < x->ngpus && !s; i++)
    s = join_gpu(p, x, id, &x->gpus[i]);
  StcStatus end = nccl_check(p, &x->nccl, x->nccl.group_end(), "connecting the GPUs");
  return s ? s : end;
}

/* Aborts pending work, which other ranks no longer answer. */
static void give_up(StcPlan *p) {
  NcclState *x = p->split->state;
  split_forget_periods(p);
  for (int i = 0; i < x->ngpus; i++)
    if (x->gpus[i].communicator)
      x->nccl.abort(x->gpus[i].communicator);
  for (int i = 0; i < x->ngpus; i++)
    x->gpus[i].communicator = NULL;
  p->split->broken = true;
}

/* Frees everything. */
static void nccl_close(StcPlan *p) {
  NcclState *x = p->split->state;
  for (int i = 0; x && i < x->nways; i++) {
    const Way *w = &x->ways[i];
    if (w->out)
      p->split->part[w->t->from].plan->device.kind->release(&p->split->part[w->t->from].plan->device, w->out,
                                                            w->t->bytes);
    if (w->in)
      p->split->part[w->t->to].plan->device.kind->release(&p->split->part[w->t->to].plan->device, w->in, w->t->bytes);
  }
  for (int i = 0; x && i < x->ngpus; i++)
    if (x->gpus[i].communicator)
      x->nccl.destroy(x->gpus[i].communicator);
  p->split->state = NULL;
}

/* ---------------------------------------------------------------- waiting */

/* Yields the host's core for a moment; for longer after many times. */
static void pause_host(int times) {
  struct timespec t = {.tv_nsec = times < 64 ? 0 : 20000};
  if (t.tv_nsec)
    nanosleep(&t, NULL);
}

/* Has NCCL detected an error by itself? */
static StcStatus look_at_errors(StcPlan *p, NcclState *x) {
  StcStatus s = STC_OK;
  for (int i = 0; i < x->ngpus && !s; i++) {
    int e = NCCL_SUCCESS;
    if (x->gpus[i].communicator && !x->nccl.async_error(x->gpus[i].communicator, &e))
      s = nccl_check(p, &x->nccl, e, "exchanging ghost cells");
  }
  return s;
}

/* Waits until the marks of all parts in the lane are reached, an error occurs, or another rank has failed. */
static StcStatus await_parts(StcPlan *p, NcclState *x, int lane) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  int i = s->begin;
  for (int times = 0; i < s->end && !st && !s->broken; times++) {
    Device *d = &s->part[i].plan->device;
    bool yes = true;
    st = d->kind->reached(d, lane, &yes);
    i += yes;
    if (yes || st)
      continue;
    for (int k = i + 1; k < s->end && !st; k++)
      st = s->part[k].plan->device.kind->reached(&s->part[k].plan->device, lane, &yes);
    if (!st)
      st = look_at_errors(p, x);
    if (s->net && s->net->told(s->net))
      give_up(p);
    pause_host(times);
  }
  return st;
}

/* Sets marks after the work in the main lanes of all parts; lane: the lane of the marks, which waits for that work. */
static StcStatus mark_parts(const Split *s, int lane) {
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    st = d->kind->mark(d, LANE_MAIN);
    if (!st && lane != LANE_MAIN)
      st = d->kind->follow(d, lane, d, LANE_MAIN);
    if (!st && lane != LANE_MAIN)
      st = d->kind->mark(d, lane);
  }
  return st;
}

/* After an error status: tells the other ranks, and aborts. */
static StcStatus fail_together(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  if (s && split->net && !split->broken)
    split->net->tell(split->net);
  if (s && !split->broken)
    give_up(p);
  return s;
}

/* Waits for all parts. If there is an error before or during that, tells the other ranks. */
static StcStatus nccl_wait(StcPlan *p, StcStatus s) {
  NcclState *x = p->split->state;
  s = s ? s : mark_parts(p->split, LANE_MAIN);
  if (!s)
    s = await_parts(p, x, LANE_MAIN);
  x->ahead = 0;
  return fail_together(p, s);
}

/* Waits for the marks that were set some exchanges ago, and sets new ones. */
static StcStatus nccl_pace(StcPlan *p, int64_t more) {
  NcclState *x = p->split->state;
  x->ahead += more;
  if (x->ahead < EXCHANGES_AHEAD || p->split->broken)
    return STC_OK;
  x->ahead = 0;
  StcStatus s = await_parts(p, x, LANE_PACE);
  return fail_together(p, s || p->split->broken ? s : mark_parts(p->split, LANE_PACE));
}

/* ---------------------------------------------------------------- exchanging */

/* The rank at the other end of the link; -1: this one. */
static int link_peer(const Split *s, const NcclLink *l) {
  const PartPlan *from = &s->part[l->from], *to = &s->part[l->to];
  return from->plan && to->plan ? -1 : from->plan ? to->rank : from->rank;
}

/* Sets `early` of the links as far as this rank knows it. */
static void find_early_here(const StcPlan *p, NcclState *x) {
  const Split *s = p->split;
  for (int i = 0; i < x->nlinks; i++)
    x->links[i].early = true;
  for (int i = 0; i < x->nways; i++) {
    const Transfer *t = x->ways[i].t;
    bool there = !s->part[t->from].plan || cells_are_there(p, t), free = !s->part[t->to].plan || cells_are_free(p, t);
    x->links[x->ways[i].link].early &= there && free;
  }
}

/* All ranks call it: both ends of each link between ranks agree whether it can be early. NCCL matches messages by their
 * order, so both need the same answer, and each knows only the launches of its own parts. */
static void agree_early(StcPlan *p, NcclState *x) {
  const Split *s = p->split;
  bool *mine = ARENA_ARRAY(p->w.arena, bool, x->nlinks + 1), *theirs = ARENA_ARRAY(p->w.arena, bool, x->nlinks + 1);
  NetMessage *messages = ARENA_ARRAY(p->w.arena, NetMessage, 2 * x->nlinks + 1);
  int n = 0;
  for (int i = s->begin; i < s->end; i++)
    windows_foresee(p, i);
  find_early_here(p, x);
  for (int i = 0; i < x->nlinks; i++) {
    const NcclLink *l = &x->links[i];
    int peer = link_peer(s, l), tag = (int)(((int64_t)l->from * s->nparts + l->to) % NET_TAGS);
    mine[i] = l->early;
    if (peer < 0)
      continue;
    messages[n++] = (NetMessage){peer, tag, true, &mine[i], sizeof mine[i]};
    messages[n++] = (NetMessage){peer, tag, false, &theirs[i], sizeof theirs[i]};
  }
  if (n) {
    s->net->start(s->net, n, messages);
    s->net->finish(s->net);
  }
  for (int i = 0; i < x->nlinks; i++)
    x->links[i].agreed = mine[i] && theirs[i];
}

/* Finds the links that depend only on the launches at the cuts, and the lane. */
static void find_early(const StcPlan *p, NcclState *x, bool early) {
  const Split *s = p->split;
  find_early_here(p, x);
  for (int i = 0; i < x->nlinks; i++) {
    NcclLink *l = &x->links[i];
    bool can = link_peer(s, l) < 0 ? l->early : l->agreed && s->ran == s->every;
    l->early = early && can;
  }
  x->lane = LANE_MAIN;
  for (int i = 0; i < x->nlinks; i++)
    x->lane = x->links[i].early ? LANE_SEND : x->lane;
}

/* Lets the exchange's lane of the part wait for its launches, and for those of part `other`, if that is on this rank.
 */
static StcStatus follow_parts(const Split *s, int part, int other, int of) {
  int lane = ((const NcclState *)s->state)->lane;
  Device *d = &s->part[part].plan->device;
  StcStatus st = d->kind->follow(d, lane, d, of);
  return st || !s->part[other].plan || other == part ? st : d->kind->follow(d, lane, &s->part[other].plan->device, of);
}

/* For the links of this round: lets transfers wait for launches, packs cells, and copies those that stay on a GPU. */
static StcStatus begin_ways(StcPlan *p, const NcclState *x, bool early) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = 0; i < x->nways && !st; i++) {
    const Way *w = &x->ways[i];
    const Transfer *t = w->t;
    if (x->links[w->link].early != early)
      continue;
    int of = early ? LANE_EDGES : LANE_MAIN;
    if (s->part[t->from].plan)
      st = follow_parts(s, t->from, w->within ? t->to : t->from, of);
    if (!st && s->part[t->to].plan)
      st = follow_parts(s, t->to, t->to, of);
    if (st)
      continue;
    Device *d = s->part[t->from].plan ? &s->part[t->from].plan->device : NULL;
    Sending here = w->within ? split_sending(p, t) : (Sending){0},
            side = w->out ? side_sending(p, t, true, w->out) : here;
    if (w->within || w->out)
      st = d->kind->send(d, x->lane, w->within ? &s->part[t->to].plan->device : d, &side);
  }
  return st;
}

/* The communicator of the part's GPU, and the stream of the exchange's lane of the part. */
static StcStatus part_stream(const Split *s, const NcclState *x, int part, void **communicator, void **stream) {
  Device *d = &s->part[part].plan->device;
  for (int i = 0; i < x->ngpus; i++)
    if (x->gpus[i].place == x->place[part])
      *communicator = x->gpus[i].communicator;
  return d->kind->stream(d, x->lane, stream);
}

/* Starts one message of a transfer: what the part of this rank sends or receives. */
static StcStatus start_message(StcPlan *p, const NcclState *x, const Way *w, bool sends) {
  const Split *s = p->split;
  const Transfer *t = w->t;
  int part = sends ? t->from : t->to, peer = x->place[sends ? t->to : t->from];
  void *communicator = NULL, *stream = NULL;
  StcStatus st = part_stream(s, x, part, &communicator, &stream);
  if (st)
    return st;
  char *side = sends ? w->out : w->in, *cells = side ? side : transfer_cells(p, t, sends);
  int e = sends ? x->nccl.send(cells, t->bytes, NCCL_BYTES, peer, communicator, stream)
                : x->nccl.receive(cells, t->bytes, NCCL_BYTES, peer, communicator, stream);
  return nccl_check(p, &x->nccl, e, sends ? "sending ghost cells" : "receiving ghost cells");
}

/* Starts all messages of the links of this round, as one group. */
static StcStatus start_messages(StcPlan *p, const NcclState *x, bool early) {
  const Split *s = p->split;
  StcStatus st = nccl_check(p, &x->nccl, x->nccl.group_start(), "exchanging ghost cells");
  if (st)
    return st;
  for (int i = 0; i < x->nways && !st; i++) {
    const Way *w = &x->ways[i];
    if (x->links[w->link].early != early || w->within)
      continue;
    if (s->part[w->t->from].plan)
      st = start_message(p, x, w, true);
    if (!st && s->part[w->t->to].plan)
      st = start_message(p, x, w, false);
  }
  StcStatus end = nccl_check(p, &x->nccl, x->nccl.group_end(), "exchanging ghost cells");
  return st ? st : end;
}

/* Unpacks the cells that arrived contiguously. */
static StcStatus end_ways(StcPlan *p, const NcclState *x, bool early) {
  StcStatus st = STC_OK;
  for (int i = 0; i < x->nways && !st; i++) {
    const Way *w = &x->ways[i];
    if (x->links[w->link].early != early || !w->in)
      continue;
    Device *d = &p->split->part[w->t->to].plan->device;
    Sending side = side_sending(p, w->t, false, w->in);
    st = d->kind->send(d, x->lane, d, &side);
  }
  return st;
}

/* Has this round links, and do they have messages (`messages`)? */
static bool has_ways(const NcclState *x, bool early, bool messages) {
  bool any = false;
  for (int i = 0; i < x->nways; i++)
    any |= x->links[x->ways[i].link].early == early && (!messages || !x->ways[i].within);
  return any;
}

/* Lets later work of each part wait until cells have arrived and until its own have been sent. */
static StcStatus follow_ways(StcPlan *p, const NcclState *x) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, x->lane);
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    st = d->kind->follow(d, LANE_MAIN, d, x->lane);
  }
  for (int i = 0; i < x->nways && !st; i++) {
    const Transfer *t = x->ways[i].t;
    if (!x->ways[i].within || t->from == t->to)
      continue;
    Device *d = &s->part[t->to].plan->device;
    st = d->kind->follow(d, LANE_MAIN, &s->part[t->from].plan->device, x->lane);
  }
  return st;
}

/* Makes all transfers; first those that depend only on the launches at the cuts. */
static StcStatus exchange_ways(StcPlan *p, bool early) {
  const Split *s = p->split;
  NcclState *x = s->state;
  StcStatus st = STC_OK;
  if (s->broken)
    return st;
  for (int i = s->begin; i < s->end && !st && !early; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, LANE_MAIN);
  find_early(p, x, early);
  for (int round = 0; round < 2 && !st; round++) {
    bool first = round == 0;
    if (has_ways(x, first, false))
      st = begin_ways(p, x, first);
    if (!st && has_ways(x, first, true))
      st = start_messages(p, x, first);
    if (!st && has_ways(x, first, true))
      st = end_ways(p, x, first);
  }
  return st ? st : follow_ways(p, x);
}

/* The result of connecting on a rank: its status, and the message of NCCL if NCCL failed. */
typedef struct Outcome {
  StcStatus status;
  char why[NCCL_WHY];
} Outcome;

/* The result on all ranks: STC_OK if all are connected, or if only NCCL failed: then `why` says on which rank and how.
 * A rank without an error of its own, while another has one, has received it from that one, or waits for nobody. */
static StcStatus share_outcome(StcPlan *p, const Outcome *mine, char why[256]) {
  Net *net = p->split->net;
  int size = net ? net->size : 1;
  Outcome all[size];
  if (net)
    net->gather(net, mine, sizeof *mine, all);
  else
    all[0] = *mine;
  for (int i = 0; i < size; i++) {
    if (all[i].status && !all[i].why[0])
      return split_agree(p, mine->status);
    if (all[i].status && !why[0] && size > 1)
      snprintf(why, 256, "on rank %d, %s", i, all[i].why);
    else if (all[i].status && !why[0])
      snprintf(why, 256, "%s", all[i].why);
  }
  return STC_OK;
}

/* Connects all GPUs. NCCL makes its connections with the first messages, which takes a fifth of a second; so this
 * exchanges ghost cells once, which have no values yet. If it fails, everything is as before, and `why` is not empty.
 */
static StcStatus connect_gpus(StcPlan *p, NcclState *x, char why[256]) {
  Split *s = p->split;
  Outcome mine = {0};
  int who = 0;
  x->nccl.why = mine.why;
  mine.status = join_gpus(p, x);
  bool joined = !net_agree(s->net, mine.status, &who);
  if (joined)
    agree_early(p, x);
  if (joined)
    mine.status = nccl_wait(p, exchange_ways(p, false));
  x->nccl.why = NULL;
  StcStatus st = share_outcome(p, &mine, why);
  if (st || !why[0])
    return st;
  give_up(p);
  nccl_close(p);
  s->transport = NULL;
  s->broken = false;
  if (s->net)
    s->net->failed = -1;
  return STC_OK;
}

StcStatus nccl_open(StcPlan *p, char why[256], bool *tried) {
  Split *s = p->split;
  NcclState *x = ARENA_NEW(p->w.arena, NcclState);
  const char *missing = nccl_load(&x->nccl);
  Seat *seats = all_seats(p, missing);
  if (!seats)
    return computer_no_room(p->w.context, "a list of", "GPUs", (double)s->nparts * sizeof *seats);
  x->place = ARENA_ARRAY(p->w.arena, int, s->nparts + 1);
  number_gpus(p, x, seats, why);
  free(seats);
  if (why[0])
    return STC_OK;
  s->transport = &transport_nccl;
  s->state = x;
  find_gpus(p, x);
  StcStatus st = split_agree(p, find_ways(p, x));
  if (!st && x->n > 1)
    st = connect_gpus(p, x, why);
  *tried = why[0];
  return st;
}

static StcStatus nccl_exchange(StcPlan *p) { return exchange_ways(p, false); }
static StcStatus nccl_early(StcPlan *p) { return exchange_ways(p, true); }

const Transport transport_nccl = {.name = "nccl",
                                  .exchange = nccl_exchange,
                                  .early = nccl_early,
                                  .wait = nccl_wait,
                                  .pace = nccl_pace,
                                  .keeps = true,
                                  .close = nccl_close};
