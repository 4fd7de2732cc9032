/* direct.c: sends cells from GPU to GPU between ranks of one machine. The GPU of the sending part writes them to memory
 * of the other GPU, which its driver has opened for it; the other GPU copies them from there. The progress of both is
 * in flags that both see (segments.c): the GPUs themselves write them and wait for them, in order with their launches,
 * so no host takes part in an exchange. At the start a trial shows whether all of this works. */
#include "driver/split/links.h"

#include <string.h>
#include <time.h>

/* The size of a page of the device: drivers open whole pages, so nothing else must lie in them. */
enum { DEVICE_PAGE = 2 << 20 };
/* A number of exchanges ahead of all that are pending, for the flags of a rank that gave up. */
enum { FAR_AHEAD = 1 << 30 };
/* The most seconds for the trial of a link. */
static const double most_seconds = 2;
/* The most seconds to wait until the other rank has closed what it opened, even if its computer is busy. */
static const double closing_seconds = 60;

/* What one end of a link sends to the other. fine: there was no error so far; at: the position of its flags in the
 * memory of the sending rank; key: opens the memory of the receiving part; id: of its GPU. */
typedef struct LinkCard {
  bool fine;
  size_t at;
  unsigned char key[DEVICE_KEY], id[DEVICE_IDENTITY];
} LinkCard;

/* The device of the part on this rank. */
static Device *link_device(const Split *s, const Link *l) { return &link_part(s, l)->plan->device; }

/* Allocates memory for the cells that a link brings to this rank, which other processes can open. */
static bool make_staging(Device *d, Link *l, unsigned char key[DEVICE_KEY]) {
  void *memory = NULL;
  size_t bytes = (l->bytes + DEVICE_PAGE - 1) / DEVICE_PAGE * DEVICE_PAGE;
  if (d->kind->alloc(d, bytes, &memory) || !memory)
    return false;
  if (!d->kind->share(d, memory, key)) {
    d->kind->release(d, memory, bytes);
    return false;
  }
  l->staging = memory;
  return true;
}

/* Fills in what the other end must know. */
static void make_card(const Split *s, Link *l, LinkCard *mine) {
  Device *d = link_device(s, l);
  mine->fine = d->kind->share && d->kind->identity(d, mine->id) && (link_sends(s, l) || make_staging(d, l, mine->key));
}

/* Makes the flags of the links that are fine and on which this rank sends, and opens those of the others. */
static void open_flags(StcPlan *p, MpiState *m, LinkCard *mine) {
  const Split *s = p->split;
  bool *wanted = ARENA_ARRAY(p->w.arena, bool, s->net->size);
  size_t bytes = 0;
  for (int i = 0; i < m->n; i++) {
    bool sends = link_sends(s, &m->links[i]);
    mine[i].at = bytes;
    bytes += mine[i].fine && sends ? sizeof(LinkFlags) : 0;
    wanted[link_peer(s, &m->links[i])] |= mine[i].fine && !sends;
  }
  m->flags = ARENA_ARRAY(p->w.arena, Segment, s->net->size);
  segments_open(s->net, bytes, wanted, m->flags);
  segments_pin(s, m->flags);
}

/* Finds the flags of the link, and opens the memory of the other end. */
static bool join_ends(StcPlan *p, const MpiState *m, Link *l, const LinkCard *mine, const LinkCard *theirs) {
  const Split *s = p->split;
  bool sends = link_sends(s, l);
  Device *d = link_device(s, l);
  char *flags = m->flags[sends ? s->net->rank : link_peer(s, l)].memory;
  if (!mine->fine || !flags)
    return false;
  l->flags = (LinkFlags *)(flags + (sends ? mine : theirs)->at);
  if (sends)
    l->staging = d->kind->open_key(d, theirs->key);
  return l->staging;
}

/* Issues an exchange without cells in the lanes of the parts, in an order that cannot deadlock; if that fails, the link
 * is not fine. */
static void put_trials(StcPlan *p, const MpiState *m, LinkCard *mine) {
  enum { TELL, TAKE, HEAR, STAGES };
  for (int k = 0; k < STAGES * m->n; k++) {
    int stage = k / m->n, i = k % m->n;
    const Link *l = &m->links[i];
    Device *d = link_device(p->split, l);
    bool sends = link_sends(p->split, l);
    StcStatus st = STC_OK;
    if (!mine[i].fine || sends == (stage == TAKE))
      continue;
    if (stage == TELL)
      st = d->kind->post(d, LANE_SEND, &l->flags->there, m->count);
    else
      st = d->kind->heed(d, LANE_SEND, sends ? &l->flags->taken : &l->flags->there, m->count);
    if (!st && stage == TAKE)
      st = d->kind->post(d, LANE_SEND, &l->flags->taken, m->count);
    mine[i].fine = !st && !d->kind->mark(d, LANE_SEND);
  }
}

/* Waits until the part's lane has reached its mark, at most until `end`. */
static bool comes_through(Device *d, double end) {
  const struct timespec moment = {.tv_nsec = 20000};
  bool yes = false;
  StcStatus st;
  while (!(st = d->kind->reached(d, LANE_SEND, &yes)) && !yes && clock_seconds() < end)
    nanosleep(&moment, NULL);
  return !st && yes;
}

/* Suppresses (or not) error messages of the links' devices, whose failures here are no errors. */
static void keep_silent(StcPlan *p, bool yes) { p->program->w.silent = p->split->program->w.silent = yes; }

/* Marks links as not fine whose other end is not fine. */
static void agree_on_links(StcPlan *p, const MpiState *m, LinkCard *mine, LinkCard *theirs) {
  links_tell(p, m, mine, theirs, sizeof *mine);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = mine[i].fine && theirs[i].fine;
}

/* Tries the links that are fine. If a lane does not get through, releases it. */
static void try_links(StcPlan *p, MpiState *m, LinkCard *mine) {
  double end = clock_seconds() + most_seconds;
  m->count = 1;
  put_trials(p, m, mine);
  for (int i = 0; i < m->n; i++) {
    Link *l = &m->links[i];
    if (!l->flags || comes_through(link_device(p->split, l), end))
      continue;
    mine[i].fine = false;
    atomic_store(&l->flags->there, m->count);
    atomic_store(&l->flags->taken, m->count);
  }
}

/* Closes the other rank's memory, and tells that rank. */
static void let_go(StcPlan *p, Link *l) {
  Device *d = link_device(p->split, l);
  if (l->staging)
    d->kind->close_key(d, l->staging);
  if (l->flags)
    atomic_store(&l->flags->closed, 1);
  l->staging = NULL;
}

/* Frees the memory, which nobody may have open then; waits for the other rank until `end`. */
static void give_back(StcPlan *p, Link *l, double end) {
  const struct timespec moment = {.tv_nsec = 20000};
  Device *d = link_device(p->split, l);
  while (l->staging && l->flags && !atomic_load(&l->flags->closed) && clock_seconds() < end)
    nanosleep(&moment, NULL);
  if (l->staging)
    d->kind->release(d, l->staging, (l->bytes + DEVICE_PAGE - 1) / DEVICE_PAGE * DEVICE_PAGE);
  l->staging = NULL;
}

/* Frees what links use that did not become direct; both ends wait for each other when they have closed everything. */
static void drop_others(StcPlan *p, const MpiState *m, LinkCard *mine, LinkCard *theirs) {
  for (int i = 0; i < m->n; i++)
    if (!m->links[i].direct && link_sends(p->split, &m->links[i]))
      let_go(p, &m->links[i]);
  links_tell(p, m, mine, theirs, sizeof *mine);
  for (int i = 0; i < m->n; i++)
    if (!m->links[i].direct && !link_sends(p->split, &m->links[i]))
      give_back(p, &m->links[i], 0);
}

void direct_open(StcPlan *p, MpiState *m) {
  LinkCard *mine = ARENA_ARRAY(p->w.arena, LinkCard, m->n + 1), *theirs = ARENA_ARRAY(p->w.arena, LinkCard, m->n + 1);
  keep_silent(p, true);
  for (int i = 0; i < m->n; i++)
    make_card(p->split, &m->links[i], &mine[i]);
  agree_on_links(p, m, mine, theirs);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = mine[i].fine && memcmp(mine[i].id, theirs[i].id, sizeof mine[i].id) != 0;
  open_flags(p, m, mine);
  agree_on_links(p, m, mine, theirs);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = join_ends(p, m, &m->links[i], &mine[i], &theirs[i]);
  agree_on_links(p, m, mine, theirs);
  try_links(p, m, mine);
  agree_on_links(p, m, mine, theirs);
  for (int i = 0; i < m->n; i++) {
    m->links[i].direct = mine[i].fine;
    m->ndirect += mine[i].fine;
  }
  drop_others(p, m, mine, theirs);
  keep_silent(p, false);
}

StcStatus direct_begin(StcPlan *p, const Link *l) {
  const MpiState *m = p->split->ranks;
  Device *d = link_device(p->split, l);
  bool sends = link_sends(p->split, l);
  return d->kind->heed(d, LANE_SEND, sends ? &l->flags->taken : &l->flags->there, sends ? m->count - 1 : m->count);
}

StcStatus direct_end(StcPlan *p, const Link *l) {
  const MpiState *m = p->split->ranks;
  Device *d = link_device(p->split, l);
  return d->kind->post(d, LANE_SEND, link_sends(p->split, l) ? &l->flags->there : &l->flags->taken, m->count);
}

/* First waits until the devices of this rank have finished their pending work, because other ranks still receive
 * everything that this needs; their flags would otherwise be set back. */
void direct_give_up(StcPlan *p, MpiState *m) {
  Split *s = p->split;
  if (!m->ndirect || m->given_up)
    return;
  m->given_up = s->broken = true;
  keep_silent(p, true);
  for (int i = s->begin; i < s->end; i++)
    s->part[i].plan->device.kind->wait(&s->part[i].plan->device);
  keep_silent(p, false);
  for (int i = 0; i < m->n; i++) {
    const Link *l = &m->links[i];
    if (l->direct)
      atomic_store(link_sends(s, l) ? &l->flags->there : &l->flags->taken, m->count + FAR_AHEAD);
  }
}

void direct_close_links(StcPlan *p, const MpiState *m) {
  double end = clock_seconds() + closing_seconds;
  for (int i = 0; i < m->n; i++)
    if (m->links[i].direct && link_sends(p->split, &m->links[i]))
      let_go(p, &m->links[i]);
  for (int i = 0; i < m->n; i++)
    if (m->links[i].direct && !link_sends(p->split, &m->links[i]))
      give_back(p, &m->links[i], end);
}

void direct_close(StcPlan *p, MpiState *m) {
  if (m->flags)
    segments_unpin(p->split, m->flags);
}
