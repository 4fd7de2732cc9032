/* transport-mpi.c: cells from rank to rank: what a part has for a part elsewhere is one message. A GPU carries its
 * cells to pinned memory of this computer and back in a lane of its own (LANE_SEND), so that launches go on meanwhile;
 * those that do not lie side by side are brought together on it first, and all are if MPI takes pointers into its
 * memory. Between ranks of one machine the pinned memory is one that both see (segments.c), and MPI says no more than
 * that the cells are there, and that they have been taken out: its processes would copy them twice. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The message between two parts of which one is here, `bytes` long. memory: here, NULL: MPI takes staging; staging: on
 * the part's device, NULL where cells go straight to or from the memory. pinned: the memory is the device's to give
 * back. shared: it is the sender's, both see it, and there is as much again behind it: exchanges take the one and the
 * other in turn, so that one may be filled while the other is still being emptied; messages are empty. */
typedef struct Link {
  int from, to;
  size_t bytes;
  char *memory, *staging;
  bool pinned, shared;
} Link;

/* The links of a plan and the messages of an exchange. flows: all devices of parts here carry their cells by
 * themselves; beside: some cells go between parts of this rank. segment: of each rank; NULL: none are shared; turn:
 * which half of shared memory is for the next exchange. */
typedef struct MpiState {
  int n, nmessages, turn;
  bool flows, beside;
  Link *links;
  NetMessage *messages;
  Segment *segment;
} MpiState;

/* The part of the link that is here, and whether it sends. */
static const PartPlan *link_part(const Split *s, const Link *l) {
  return &s->part[s->part[l->from].plan ? l->from : l->to];
}
static bool link_sends(const Split *s, const Link *l) { return s->part[l->from].plan != NULL; }

/* The bytes of one half of a link's shared memory: whole lines of caches. */
static size_t half(const Link *l) { return (l->bytes + 255) / 256 * 256; }

/* The link's memory in this exchange. */
static char *link_memory(const Split *s, const Link *l) {
  const MpiState *m = s->ranks;
  return l->memory + (l->shared && m->turn ? half(l) : 0);
}

/* One transfer between a part on `d` and memory here, run by run. */
static StcStatus copy_here(Device *d, const Sending *x, bool sends) {
  StcStatus st = STC_OK;
  for (int64_t i = 0; i < x->count[1] && !st; i++)
    for (int64_t j = 0; j < x->count[0] && !st; j++) {
      const char *from = (const char *)x->from + i * x->from_stride[1] + j * x->from_stride[0];
      char *to = (char *)x->to + i * x->to_stride[1] + j * x->to_stride[0];
      if (d->kind->whole)
        memcpy(to, from, (size_t)x->n);
      else
        st = sends ? d->kind->fetch(d, to, from, (size_t)x->n) : d->kind->put(d, to, from, (size_t)x->n);
    }
  return st;
}

StcStatus transfer_copy(StcPlan *p, const Transfer *t, bool sends, char *side) {
  Sending x = side_sending(p, t, sends, side);
  return copy_here(&p->split->part[sends ? t->from : t->to].plan->device, &x, sends);
}

/* Does the device carry cells by itself, while launches go on? */
static bool device_flows(const Device *d) { return !d->kind->whole && d->kind->carry; }

/* One transfer of a link whose cells begin at byte `at` of its memory, in the part's LANE_SEND. */
static StcStatus carry_cells(const StcPlan *p, const Link *l, const Transfer *t, size_t at) {
  Device *d = &link_part(p->split, l)->plan->device;
  bool sends = link_sends(p->split, l);
  Sending x = side_sending(p, t, sends, (l->staging ? l->staging : link_memory(p->split, l)) + at);
  return l->staging ? d->kind->send(d, LANE_SEND, d, &x)
                    : d->kind->carry(d, LANE_SEND, x.to, x.from, (size_t)x.n, sends);
}

/* All transfers of a link, between the fields and its memory. */
static StcStatus move_cells(StcPlan *p, const Link *l) {
  const Split *s = p->split;
  Device *d = &link_part(s, l)->plan->device;
  bool sends = link_sends(s, l);
  size_t at = 0;
  StcStatus st = STC_OK;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (t->from != l->from || t->to != l->to)
      continue;
    st = device_flows(d) ? carry_cells(p, l, t, at) : transfer_copy(p, t, sends, link_memory(s, l) + at);
    at += t->bytes;
  }
  return st;
}

/* Can the cells of the link go when the launches at the cuts are done? */
static bool link_is_early(const StcPlan *p, const Link *l) {
  const Split *s = p->split;
  bool early = true;
  for (int i = 0; i < s->ntransfers && early; i++)
    if (s->transfers[i].from == l->from && s->transfers[i].to == l->to)
      early = link_sends(s, l) ? cells_are_there(p, &s->transfers[i]) : cells_are_free(p, &s->transfers[i]);
  return early;
}

/* A link's LANE_SEND waits for the launches that its cells have to do with. */
static StcStatus follow_launches(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  if (!device_flows(d))
    return STC_OK;
  return d->kind->follow(d, LANE_SEND, d, early && link_is_early(p, l) ? LANE_EDGES : LANE_MAIN);
}

/* Brings what is to be sent on its way to the link's memory. */
static StcStatus pack(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  StcStatus st = follow_launches(p, l, early);
  if (!st)
    st = move_cells(p, l);
  if (!st && device_flows(d) && l->staging && l->memory)
    st = d->kind->carry(d, LANE_SEND, link_memory(p->split, l), l->staging, l->bytes, true);
  return st;
}

/* Brings what has arrived to where it belongs; what follows in the part waits for it. */
static StcStatus unpack(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  StcStatus st = follow_launches(p, l, early);
  if (!st && device_flows(d) && l->staging && l->memory)
    st = d->kind->carry(d, LANE_SEND, l->staging, link_memory(p->split, l), l->bytes, false);
  return st ? st : move_cells(p, l);
}

/* Calls `fn` for the links that send, or for the others. */
static StcStatus each_link(StcPlan *p, bool send, bool early, StcStatus (*fn)(StcPlan *p, const Link *l, bool early)) {
  const MpiState *m = p->split->ranks;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->n && !st; i++)
    if (link_sends(p->split, &m->links[i]) == send)
      st = fn(p, &m->links[i], early);
  return st;
}

/* Waits for the devices that do not carry cells by themselves, and has the others mark where they are. */
static StcStatus meet_launches(StcPlan *p, bool early) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (device_flows(d))
      st = early ? STC_OK : d->kind->mark(d, LANE_MAIN);
    else
      st = d->kind->whole ? STC_OK : d->kind->wait(d);
  }
  return st;
}

/* Waits until what is to be sent is in the links' memory; what came with the last exchange has left it, too. */
static StcStatus await_packed(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (device_flows(d))
      st = d->kind->mark(d, LANE_SEND);
  }
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (device_flows(d))
      st = d->kind->await(d, LANE_SEND);
  }
  return st;
}

/* What follows in each part waits for what has been brought to it. */
static StcStatus follow_unpacked(StcPlan *p) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (!device_flows(d))
      continue;
    st = d->kind->mark(d, LANE_SEND);
    if (!st)
      st = d->kind->follow(d, LANE_MAIN, d, LANE_SEND);
  }
  return st;
}

bool mpi_flows(const StcPlan *p) { return ((const MpiState *)p->split->ranks)->flows; }

StcStatus mpi_exchange(StcPlan *p, StcStatus s, bool early) {
  Split *split = p->split;
  MpiState *m = split->ranks;
  s = s ? s : meet_launches(p, early);
  if (!s)
    s = each_link(p, true, early, pack);
  if (!s)
    s = await_packed(p);
  double start = clock_seconds();
  split->net->start(split->net, m->nmessages, m->messages);
  if (!s && m->beside)
    s = early && split->transport->early ? split->transport->early(p) : split->transport->exchange(p);
  split->net->finish(split->net);
  split->exchanged += clock_seconds() - start;
  if (!s)
    s = each_link(p, false, early, unpack);
  m->turn = !m->turn;
  return s ? s : follow_unpacked(p);
}

/* The link from part `from` to part `to`, made if there is none yet. */
static Link *find_link(StcPlan *p, MpiState *m, int from, int to) {
  for (int i = 0; i < m->n; i++)
    if (m->links[i].from == from && m->links[i].to == to)
      return &m->links[i];
  ARENA_PUSH(p->w.arena, m->links, m->n, ((Link){.from = from, .to = to}));
  return &m->links[m->n - 1];
}

/* Do the cells of one of the link's transfers lie in several runs? */
static bool has_runs(const Split *s, const Link *l) {
  bool any = false;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    if (t->from == l->from && t->to == l->to)
      any |= (link_sends(s, l) ? t->out.n : t->in.n) < (int64_t)t->bytes;
  }
  return any;
}

/* Memory for a link; what is shared has it. */
static StcStatus make_memory(StcPlan *p, Link *l) {
  const Split *s = p->split;
  Device *d = &link_part(s, l)->plan->device;
  bool pointers = s->net->device_pointers && strncmp(d->kind->name, "cuda", 4) == 0;
  void *staging = NULL;
  StcStatus st = STC_OK;
  if (device_flows(d) && (pointers || has_runs(s, l)))
    st = device_alloc(d, "ghost cells on their way", l->bytes, 0, &staging);
  l->staging = staging;
  if (st || l->shared || (staging && pointers))
    return st;
  l->memory = d->kind->pinned_new ? d->kind->pinned_new(d, l->bytes) : NULL;
  l->pinned = l->memory != NULL;
  if (!l->memory)
    l->memory = calloc(l->bytes + 1, 1);
  return l->memory ? st : computer_no_room(p->w.context, "ghost cells", "on their way", (double)l->bytes);
}

/* Do the devices of all parts of all ranks carry cells by themselves? */
static bool all_flow(const StcPlan *p) {
  const Split *s = p->split;
  bool mine = true, all[s->net->size];
  for (int i = s->begin; i < s->end; i++)
    mine &= device_flows(&s->part[i].plan->device);
  s->net->gather(s->net, &mine, sizeof mine, all);
  for (int i = 0; i < s->net->size; i++)
    mine &= all[i];
  return mine;
}

/* The rank at the other end of the link; the tag of its messages. */
static int link_peer(const Split *s, const Link *l) { return s->part[link_sends(s, l) ? l->to : l->from].rank; }
static int link_tag(const Split *s, const Link *l) { return (int)(((int64_t)l->from * s->nparts + l->to) % NET_TAGS); }

/* Finds the links. */
static void find_links(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    if ((s->part[t->from].plan != NULL) != (s->part[t->to].plan != NULL))
      find_link(p, m, t->from, t->to)->bytes += t->bytes;
    m->beside |= transfer_is_here(s, t);
  }
}

/* What one end of a link tells the other: can it share memory; the sender: where in its own. */
typedef struct Offer {
  bool fine;
  size_t at;
} Offer;

/* This end's of all links: in *bytes how much of its own memory they take, twice each. */
static Offer *make_offers(StcPlan *p, const MpiState *m, size_t *bytes) {
  const Split *s = p->split;
  Offer *offers = ARENA_ARRAY(p->w.arena, Offer, m->n + 1);
  *bytes = 0;
  for (int i = 0; i < m->n; i++)
    if (link_sends(s, &m->links[i])) {
      offers[i].at = *bytes;
      *bytes += 2 * half(&m->links[i]);
    }
  return offers;
}

/* Pins all segments that are seen here; those that cannot be are seen no more. */
static void pin_segments(const Split *s, Segment *segment) {
  Device *d = &s->part[s->begin].plan->device;
  for (int i = 0; i < s->net->size; i++) {
    Segment *x = &segment[i];
    if (x->memory && !d->kind->pin(d, x->memory, (x->bytes + 4095) / 4096 * 4096))
      segment_close(x);
  }
}

/* Has both ends of each link know what the other offers. */
static void exchange_offers(StcPlan *p, const MpiState *m, Offer *mine, Offer *theirs) {
  const Split *s = p->split;
  NetMessage *messages = ARENA_ARRAY(p->w.arena, NetMessage, 2 * m->n + 1);
  for (int i = 0; i < m->n; i++) {
    int peer = link_peer(s, &m->links[i]), tag = link_tag(s, &m->links[i]);
    messages[2 * i] = (NetMessage){peer, tag, true, &mine[i], sizeof mine[i]};
    messages[2 * i + 1] = (NetMessage){peer, tag, false, &theirs[i], sizeof theirs[i]};
  }
  s->net->start(s->net, 2 * m->n, messages);
  s->net->finish(s->net);
}

/* All ranks: has links between GPUs of one machine take memory that both ends see, where that can be. */
static void share_memory(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  bool *wanted = ARENA_ARRAY(p->w.arena, bool, s->net->size);
  size_t bytes;
  Offer *mine = make_offers(p, m, &bytes), *theirs = ARENA_ARRAY(p->w.arena, Offer, m->n + 1);
  m->segment = ARENA_ARRAY(p->w.arena, Segment, s->net->size);
  for (int i = 0; i < m->n; i++)
    wanted[link_peer(s, &m->links[i])] |= !link_sends(s, &m->links[i]);
  segments_open(s->net, bytes, wanted, m->segment);
  pin_segments(s, m->segment);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = m->segment[link_sends(s, &m->links[i]) ? s->net->rank : link_peer(s, &m->links[i])].memory;
  exchange_offers(p, m, mine, theirs);
  for (int i = 0; i < m->n; i++) {
    Link *l = &m->links[i];
    bool sends = link_sends(s, l);
    l->shared = mine[i].fine && theirs[i].fine;
    if (l->shared)
      l->memory = m->segment[sends ? s->net->rank : link_peer(s, l)].memory + (sends ? mine : theirs)[i].at;
  }
}

/* The messages of an exchange: of each link the cells, or where they are shared one that says that they are there, and
 * one back that those of the exchange before have been taken out. */
static void make_messages(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  m->messages = ARENA_ARRAY(p->w.arena, NetMessage, 2 * m->n + 1);
  for (int i = 0; i < m->n; i++) {
    const Link *l = &m->links[i];
    NetMessage x = {link_peer(s, l), link_tag(s, l), link_sends(s, l), l->memory ? l->memory : l->staging, l->bytes};
    if (l->shared) {
      x.data = NULL;
      x.size = 0;
    }
    m->messages[m->nmessages++] = x;
    x.send = !x.send;
    if (l->shared)
      m->messages[m->nmessages++] = x;
  }
}

StcStatus mpi_open(StcPlan *p) {
  Split *s = p->split;
  MpiState *m = s->ranks = ARENA_NEW(p->w.arena, MpiState);
  StcStatus st = STC_OK;
  find_links(p, m);
  m->flows = all_flow(p);
  if (m->flows && !s->net->device_pointers && s->part[s->begin].plan->device.kind->pin)
    share_memory(p, m);
  for (int i = 0; i < m->n && !st; i++)
    st = make_memory(p, &m->links[i]);
  make_messages(p, m);
  return st;
}

/* Lets go of what is shared. */
static void close_segments(const Split *s, Segment *segment) {
  Device *d = &s->part[s->begin].plan->device;
  for (int i = 0; i < s->net->size; i++)
    if (segment[i].memory) {
      d->kind->unpin(d, segment[i].memory);
      segment_close(&segment[i]);
    }
}

void mpi_close(StcPlan *p) {
  Split *s = p->split;
  MpiState *m = s->ranks;
  for (int i = 0; m && i < m->n; i++) {
    Device *d = &link_part(s, &m->links[i])->plan->device;
    if (m->links[i].pinned)
      d->kind->pinned_free(d, m->links[i].memory);
    else if (!m->links[i].shared)
      free(m->links[i].memory);
    if (m->links[i].staging)
      d->kind->release(d, m->links[i].staging, m->links[i].bytes);
  }
  if (m && m->segment)
    close_segments(s, m->segment);
  s->ranks = NULL;
}
