/* transport-mpi.c: cells from rank to rank: what a part has for a part elsewhere is one message. On a GPU the cells are
 * brought together there, in one piece of memory, and go from there, if MPI takes pointers into it, or by way of this
 * computer's memory. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The message between two parts of which one is here, `bytes` long. memory: here; staging: on the part's device, NULL
 * where that has none or copies for itself. pinned: the memory is the device's to give back. */
typedef struct Link {
  int from, to;
  size_t bytes;
  char *memory, *staging;
  bool pinned;
} Link;

/* The links of a plan, those that send first. */
typedef struct MpiState {
  int n;
  Link *links;
  NetMessage *messages;
} MpiState;

/* The part of the link that is here, and whether it sends. */
static const PartPlan *link_part(const Split *s, const Link *l) {
  return &s->part[s->part[l->from].plan ? l->from : l->to];
}
static bool link_sends(const Split *s, const Link *l) { return s->part[l->from].plan != NULL; }

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

/* All transfers of a link, between the fields and its memory or, if it has such, its staging. */
static StcStatus move_link(StcPlan *p, const Link *l) {
  const Split *s = p->split;
  Device *d = &link_part(s, l)->plan->device;
  bool sends = link_sends(s, l);
  char *side = l->staging ? l->staging : l->memory;
  StcStatus st = STC_OK;
  for (int i = 0; i < s->ntransfers && !st; i++) {
    const Transfer *t = &s->transfers[i];
    if (t->from != l->from || t->to != l->to)
      continue;
    Sending x = side_sending(p, t, sends, side);
    st = l->staging ? d->kind->send(d, LANE_MAIN, d, &x) : copy_here(d, &x, sends);
    side += t->bytes;
  }
  return st;
}

/* Brings together what is to be sent. */
static StcStatus pack(StcPlan *p) {
  const Split *s = p->split;
  const MpiState *m = s->ranks;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->n && !st; i++)
    if (link_sends(s, &m->links[i]))
      st = move_link(p, &m->links[i]);
  for (int i = 0; i < m->n && !st; i++) {
    const Link *l = &m->links[i];
    Device *d = &link_part(s, l)->plan->device;
    if (!l->staging || !link_sends(s, l))
      continue;
    st = d->kind->wait(d);
    if (!st && l->memory)
      st = d->kind->fetch(d, l->memory, l->staging, l->bytes);
  }
  return st;
}

/* Puts what has arrived where it belongs. */
static StcStatus unpack(StcPlan *p) {
  const Split *s = p->split;
  const MpiState *m = s->ranks;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->n && !st; i++) {
    const Link *l = &m->links[i];
    Device *d = &link_part(s, l)->plan->device;
    if (link_sends(s, l))
      continue;
    if (l->staging && l->memory)
      st = d->kind->put(d, l->staging, l->memory, l->bytes);
    if (!st)
      st = move_link(p, l);
  }
  return st;
}

StcStatus mpi_exchange(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  const MpiState *m = split->ranks;
  for (int i = split->begin; i < split->end && !s; i++) {
    Device *d = &split->part[i].plan->device;
    s = d->kind->whole ? STC_OK : d->kind->wait(d);
  }
  double start = clock_seconds();
  if (!s)
    s = pack(p);
  split->net->start(split->net, m->n, m->messages);
  if (!s)
    s = split->transport->exchange(p);
  split->net->finish(split->net);
  if (!s)
    s = unpack(p);
  split->exchanged += clock_seconds() - start;
  return s;
}

/* The link from part `from` to part `to`, made if there is none yet. */
static Link *find_link(StcPlan *p, MpiState *m, int from, int to) {
  for (int i = 0; i < m->n; i++)
    if (m->links[i].from == from && m->links[i].to == to)
      return &m->links[i];
  ARENA_PUSH(p->w.arena, m->links, m->n, ((Link){.from = from, .to = to}));
  return &m->links[m->n - 1];
}

/* Memory for a link. */
static StcStatus make_memory(StcPlan *p, Link *l) {
  const Split *s = p->split;
  Device *d = &link_part(s, l)->plan->device;
  void *staging = NULL;
  StcStatus st = STC_OK;
  if (!d->kind->whole && d->kind->near && d->kind->near(d, d))
    st = device_alloc(d, "ghost cells on their way", l->bytes, 0, &staging);
  l->staging = staging;
  if (st || (staging && s->net->device_pointers && strncmp(d->kind->name, "cuda", 4) == 0))
    return st;
  l->memory = d->kind->pinned_new ? d->kind->pinned_new(d, l->bytes) : NULL;
  l->pinned = l->memory != NULL;
  if (!l->memory)
    l->memory = calloc(l->bytes + 1, 1);
  return l->memory ? st : computer_no_room(p->w.context, "ghost cells", "on their way", (double)l->bytes);
}

StcStatus mpi_open(StcPlan *p) {
  Split *s = p->split;
  MpiState *m = s->ranks = ARENA_NEW(p->w.arena, MpiState);
  StcStatus st = STC_OK;
  for (int i = 0; i < s->ntransfers; i++) {
    const Transfer *t = &s->transfers[i];
    if ((s->part[t->from].plan != NULL) != (s->part[t->to].plan != NULL))
      find_link(p, m, t->from, t->to)->bytes += t->bytes;
  }
  m->messages = ARENA_ARRAY(p->w.arena, NetMessage, m->n + 1);
  for (int i = 0; i < m->n && !st; i++) {
    Link *l = &m->links[i];
    bool sends = link_sends(s, l);
    st = make_memory(p, l);
    m->messages[i] =
        (NetMessage){s->part[sends ? l->to : l->from].rank, (int)(((int64_t)l->from * s->nparts + l->to) % NET_TAGS),
                     sends, l->memory ? l->memory : l->staging, l->bytes};
  }
  return st;
}

void mpi_close(StcPlan *p) {
  Split *s = p->split;
  MpiState *m = s->ranks;
  for (int i = 0; m && i < m->n; i++) {
    Device *d = &link_part(s, &m->links[i])->plan->device;
    if (m->links[i].pinned)
      d->kind->pinned_free(d, m->links[i].memory);
    else
      free(m->links[i].memory);
    if (m->links[i].staging)
      d->kind->release(d, m->links[i].staging, m->links[i].bytes);
  }
  s->ranks = NULL;
}
