/* transport-mpi.c: sends cells from rank to rank: all cells of a part for a part of another rank are one message. A GPU
 * copies its cells to pinned host memory and back in a lane of its own (LANE_SEND), while launches continue; it first
 * packs cells that are not contiguous, and all cells if MPI accepts pointers into its memory. Between ranks of one
 * machine both see the pinned memory (segments.c), and MPI messages only say that the cells are there, and that they
 * have been copied out, because MPI would copy them twice. GPUs of one machine that can access each other's memory need
 * neither (direct.c). */
#include "driver/split/links.h"

#include <stdlib.h>
#include <string.h>

const PartPlan *link_part(const Split *s, const Link *l) { return &s->part[s->part[l->from].plan ? l->from : l->to]; }
bool link_sends(const Split *s, const Link *l) { return s->part[l->from].plan != NULL; }
int link_peer(const Split *s, const Link *l) { return s->part[link_sends(s, l) ? l->to : l->from].rank; }

/* The bytes of one half of a link's shared memory, in whole cache lines. */
static size_t half(const Link *l) { return (l->bytes + 255) / 256 * 256; }

/* The link's memory in this exchange. */
static char *link_memory(const Split *s, const Link *l) {
  const MpiState *m = s->ranks;
  return l->memory + (l->shared && m->turn ? half(l) : 0);
}

/* Copies one transfer between a part on `d` and host memory, run by run. */
static StcStatus copy_here(Device *d, const Sending *x, bool sends) {
  StcStatus st = STC_OK;
  for (int64_t k = 0; k < x->count[0] * x->count[1] * x->count[2] && !st; k++) {
    int64_t j = k % x->count[0], i = k / x->count[0] % x->count[1], h = k / x->count[0] / x->count[1];
    const char *from = (const char *)x->from + h * x->from_stride[2] + i * x->from_stride[1] + j * x->from_stride[0];
    char *to = (char *)x->to + h * x->to_stride[2] + i * x->to_stride[1] + j * x->to_stride[0];
    st = sends ? d->kind->fetch(d, to, from, (size_t)x->n) : d->kind->put(d, to, from, (size_t)x->n);
  }
  return st;
}

StcStatus transfer_copy(StcPlan *p, const Transfer *t, bool sends, char *side) {
  Sending x = side_sending(p, t, sends, side);
  return copy_here(&p->split->part[sends ? t->from : t->to].plan->device, &x, sends);
}

/* Does the device transfer cells itself while launches continue? */
static bool device_flows(const Device *d) { return d->kind->carry != NULL; }

/* Copies one transfer of a link, whose cells begin at byte `at` of its memory, in the part's LANE_SEND. */
static StcStatus carry_cells(const StcPlan *p, const Link *l, const Transfer *t, size_t at) {
  Device *d = &link_part(p->split, l)->plan->device;
  bool sends = link_sends(p->split, l);
  Sending x = side_sending(p, t, sends, (l->staging ? l->staging : link_memory(p->split, l)) + at);
  return l->staging ? d->kind->send(d, LANE_SEND, d, &x)
                    : d->kind->carry(d, LANE_SEND, x.to, x.from, (size_t)x.n, sends);
}

/* Copies all transfers of a link between the fields and the link's memory. */
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

/* Can the cells of the link be sent when the launches at the cuts are complete? */
static bool link_is_early(const StcPlan *p, const Link *l) {
  const Split *s = p->split;
  bool early = true;
  for (int i = 0; i < s->ntransfers && early; i++)
    if (s->transfers[i].from == l->from && s->transfers[i].to == l->to)
      early = link_sends(s, l) ? cells_are_there(p, &s->transfers[i]) : cells_are_free(p, &s->transfers[i]);
  return early;
}

/* Lets the LANE_SEND of a link wait for the launches that read or write its cells. */
static StcStatus follow_launches(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  if (!device_flows(d))
    return STC_OK;
  return d->kind->follow(d, LANE_SEND, d, early && link_is_early(p, l) ? LANE_EDGES : LANE_MAIN);
}

/* Starts copying the cells to be sent to the link's memory. */
static StcStatus pack(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  StcStatus st = follow_launches(p, l, early);
  if (!st && l->direct)
    st = direct_begin(p, l);
  if (!st)
    st = move_cells(p, l);
  if (!st && l->direct)
    st = direct_end(p, l);
  if (!st && device_flows(d) && l->staging && l->memory)
    st = d->kind->carry(d, LANE_SEND, link_memory(p->split, l), l->staging, l->bytes, true);
  return st;
}

/* Copies cells that have arrived to their fields; later work of the part waits for that. */
static StcStatus unpack(StcPlan *p, const Link *l, bool early) {
  Device *d = &link_part(p->split, l)->plan->device;
  StcStatus st = follow_launches(p, l, early);
  if (!st && l->direct)
    st = direct_begin(p, l);
  if (!st && device_flows(d) && l->staging && l->memory)
    st = d->kind->carry(d, LANE_SEND, l->staging, link_memory(p->split, l), l->bytes, false);
  if (!st)
    st = move_cells(p, l);
  return st || !l->direct ? st : direct_end(p, l);
}

/* Packs the cells that links send, or unpacks those that have arrived; for the direct links or for the others. */
static StcStatus each_link(StcPlan *p, bool send, bool direct, bool early) {
  const MpiState *m = p->split->ranks;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->n && !st; i++) {
    const Link *l = &m->links[i];
    if (l->direct == direct && link_sends(p->split, l) == send)
      st = send ? pack(p, l, early) : unpack(p, l, early);
  }
  return st;
}

/* Waits for devices that do not transfer cells themselves, and sets marks on the others. */
static StcStatus meet_launches(StcPlan *p, bool early) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (device_flows(d))
      st = early ? STC_OK : d->kind->mark(d, LANE_MAIN);
    else
      st = d->kind->wait(d);
  }
  return st;
}

/* Waits until the cells to be sent are in the links' memory, and those of the last exchange have been copied out of it.
 */
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

/* Lets later work of each part wait for the cells that it receives. */
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

/* Sends and receives messages, and meanwhile makes the transfers between parts of this rank. After an error status the
 * messages are sent nevertheless. */
static StcStatus exchange_messages(StcPlan *p, StcStatus s, bool early) {
  Split *split = p->split;
  MpiState *m = split->ranks;
  if (!s)
    s = each_link(p, true, false, early);
  if (!s && m->nmessages)
    s = await_packed(p);
  double start = clock_seconds();
  split->net->start(split->net, m->nmessages, m->messages);
  if (!s && m->beside)
    s = early && split->transport->early ? split->transport->early(p) : split->transport->exchange(p);
  split->net->finish(split->net);
  split->exchanged += m->nmessages ? clock_seconds() - start : 0;
  m->turn = !m->turn;
  return s ? s : each_link(p, false, false, early);
}

StcStatus mpi_exchange(StcPlan *p, StcStatus s, bool early) {
  ((MpiState *)p->split->ranks)->count++;
  s = s ? s : meet_launches(p, early);
  s = exchange_messages(p, s, early);
  if (!s)
    s = each_link(p, true, true, early);
  if (!s)
    s = each_link(p, false, true, early);
  if (!s)
    s = follow_unpacked(p);
  if (s)
    mpi_give_up(p);
  return s;
}

void mpi_give_up(StcPlan *p) { direct_give_up(p, p->split->ranks); }

int mpi_direct(const StcPlan *p, int *links) {
  const MpiState *m = p->split->ranks;
  *links = m ? m->n : 0;
  return m ? m->ndirect : 0;
}

/* The link from part `from` to part `to`, made if there is none yet. */
static Link *find_link(StcPlan *p, MpiState *m, int from, int to) {
  for (int i = 0; i < m->n; i++)
    if (m->links[i].from == from && m->links[i].to == to)
      return &m->links[i];
  ARENA_PUSH(p->w.arena, m->links, m->n, ((Link){.from = from, .to = to}));
  return &m->links[m->n - 1];
}

/* Has a transfer of the link several runs of cells? */
static bool has_runs(const Split *s, const Link *l) {
  bool any = false;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    if (t->from == l->from && t->to == l->to)
      any |= (link_sends(s, l) ? t->out.n : t->in.n) < (int64_t)t->bytes;
  }
  return any;
}

/* Allocates memory for a link; shared links have it. */
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

/* Do the devices of all parts of all ranks transfer cells themselves? */
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

/* The tag of the link's messages. */
static int link_tag(const Split *s, const Link *l) { return (int)(((int64_t)l->from * s->nparts + l->to) % NET_TAGS); }

/* Finds the links of this rank. */
static void find_links(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    if ((s->part[t->from].plan != NULL) != (s->part[t->to].plan != NULL))
      find_link(p, m, t->from, t->to)->bytes += t->bytes;
    m->beside |= transfer_is_here(s, t);
  }
}

/* What one end of a link sends to the other: whether it can share memory; from the sender: the position in its own. */
typedef struct Offer {
  bool fine;
  size_t at;
} Offer;

/* The offers of this rank for all links; *bytes: the memory that they need, in which each link has two halves. */
static Offer *make_offers(StcPlan *p, const MpiState *m, size_t *bytes) {
  const Split *s = p->split;
  Offer *offers = ARENA_ARRAY(p->w.arena, Offer, m->n + 1);
  *bytes = 0;
  for (int i = 0; i < m->n; i++)
    if (link_sends(s, &m->links[i]) && !m->links[i].direct) {
      offers[i].at = *bytes;
      *bytes += 2 * half(&m->links[i]);
    }
  return offers;
}

void segments_pin(const Split *s, Segment *segment) {
  Device *d = &s->part[s->begin].plan->device;
  for (int i = 0; i < s->net->size; i++) {
    Segment *x = &segment[i];
    if (x->memory && !(d->kind->pin && d->kind->pin(d, x->memory, (x->bytes + 4095) / 4096 * 4096)))
      segment_close(x);
  }
}

void links_tell(StcPlan *p, const MpiState *m, void *mine, void *theirs, size_t size) {
  const Split *s = p->split;
  NetMessage *messages = ARENA_ARRAY(p->w.arena, NetMessage, 2 * m->n + 1);
  for (int i = 0; i < m->n; i++) {
    int peer = link_peer(s, &m->links[i]), tag = link_tag(s, &m->links[i]);
    messages[2 * i] = (NetMessage){peer, tag, true, (char *)mine + (size_t)i * size, size};
    messages[2 * i + 1] = (NetMessage){peer, tag, false, (char *)theirs + (size_t)i * size, size};
  }
  s->net->start(s->net, 2 * m->n, messages);
  s->net->finish(s->net);
}

/* All ranks call it: lets links between GPUs of one machine use memory that both ends see, if possible. */
static void share_memory(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  bool *wanted = ARENA_ARRAY(p->w.arena, bool, s->net->size);
  size_t bytes;
  Offer *mine = make_offers(p, m, &bytes), *theirs = ARENA_ARRAY(p->w.arena, Offer, m->n + 1);
  m->segment = ARENA_ARRAY(p->w.arena, Segment, s->net->size);
  for (int i = 0; i < m->n; i++)
    wanted[link_peer(s, &m->links[i])] |= !link_sends(s, &m->links[i]) && !m->links[i].direct;
  segments_open(s->net, bytes, wanted, m->segment);
  segments_pin(s, m->segment);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = m->segment[link_sends(s, &m->links[i]) ? s->net->rank : link_peer(s, &m->links[i])].memory;
  links_tell(p, m, mine, theirs, sizeof *mine);
  for (int i = 0; i < m->n; i++) {
    Link *l = &m->links[i];
    bool sends = link_sends(s, l);
    l->shared = mine[i].fine && theirs[i].fine && !l->direct;
    if (l->shared)
      l->memory = m->segment[sends ? s->net->rank : link_peer(s, l)].memory + (sends ? mine : theirs)[i].at;
  }
}

/* Makes the messages of an exchange. For each link that is not direct: the cells, or, if memory is shared, a message
 * that they are there, and one back that those of the exchange before have been copied out. */
static void make_messages(StcPlan *p, MpiState *m) {
  const Split *s = p->split;
  m->messages = ARENA_ARRAY(p->w.arena, NetMessage, 2 * m->n + 1);
  for (int i = 0; i < m->n; i++) {
    const Link *l = &m->links[i];
    NetMessage x = {link_peer(s, l), link_tag(s, l), link_sends(s, l), l->memory ? l->memory : l->staging, l->bytes};
    if (l->direct)
      continue;
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
  if (m->flows)
    direct_open(p, m);
  if (m->flows && !s->net->device_pointers && s->part[s->begin].plan->device.kind->pin)
    share_memory(p, m);
  for (int i = 0; i < m->n && !st; i++)
    st = m->links[i].direct ? STC_OK : make_memory(p, &m->links[i]);
  make_messages(p, m);
  return st;
}

void segments_unpin(const Split *s, Segment *segment) {
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
  if (m)
    direct_close_links(p, m);
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
    segments_unpin(s, m->segment);
  if (m)
    direct_close(p, m);
  s->ranks = NULL;
}
