/* direct.c: cells from GPU to GPU between ranks of one machine. The GPU of the part that sends writes them to memory of
 * the other GPU, which its driver has opened for it; that one takes them from there. Which GPU has come how far stands
 * in flags that both see (segments.c): the GPUs write and wait for them by themselves, in order with their launches, so
 * that no host has to do with an exchange. Whether all of that works is tried at the start. */
#include "driver/split/links.h"

#include <string.h>
#include <time.h>

/* Whole pages of the device: drivers open no less, so nothing else lies in them. */
enum { DEVICE_PAGE = 2 << 20 };
/* What is ahead of all exchanges that are under way, of flags whose rank gave up. */
enum { FAR_AHEAD = 1 << 30 };
/* Seconds that trying a link may take. */
static const double most_seconds = 2;
/* Seconds in which the other rank closes what it has opened, however busy its computer is. */
static const double closing_seconds = 60;

/* What one end of a link tells the other. fine: all is well so far; at: where its flags are in the memory of the rank
 * that sends; key: to the memory of the one that gets the cells; id: of its GPU. */
typedef struct LinkCard {
  bool fine;
  size_t at;
  unsigned char key[DEVICE_KEY], id[DEVICE_IDENTITY];
} LinkCard;

/* The device of the part that is here. */
static Device *link_device(const Split *s, const Link *l) { return &link_part(s, l)->plan->device; }

/* Memory for what a link brings here, which others can open. */
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

/* Makes the flags of the links that are fine and begin here, and opens those of the others. */
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

/* Finds the flags, and opens the memory. */
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

/* Puts an exchange without cells into the lanes of the parts, in an order in which none waits for what is behind a wait
 * for itself; where that goes wrong the link is not fine. */
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

/* Waits until the part's lane has come to its mark, for a while. */
static bool comes_through(Device *d, double end) {
  const struct timespec moment = {.tv_nsec = 20000};
  bool yes = false;
  StcStatus st;
  while (!(st = d->kind->reached(d, LANE_SEND, &yes)) && !yes && clock_seconds() < end)
    nanosleep(&moment, NULL);
  return !st && yes;
}

/* Has the links' devices keep to themselves what goes wrong: that it does is no error here. */
static void keep_silent(StcPlan *p, bool yes) { p->program->w.silent = p->split->program->w.silent = yes; }

/* Has those links be fine no more whose other end is not. */
static void agree_on_links(StcPlan *p, const MpiState *m, LinkCard *mine, LinkCard *theirs) {
  links_tell(p, m, mine, theirs, sizeof *mine);
  for (int i = 0; i < m->n; i++)
    mine[i].fine = mine[i].fine && theirs[i].fine;
}

/* Tries the links that are fine. Where a lane does not come through it is let go on. */
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

/* Lets go of the other rank's memory, and says so. */
static void let_go(StcPlan *p, Link *l) {
  Device *d = link_device(p->split, l);
  if (l->staging)
    d->kind->close_key(d, l->staging);
  if (l->flags)
    atomic_store(&l->flags->closed, 1);
  l->staging = NULL;
}

/* Gives the memory back, which nobody may have open then. It is waited for the other rank until `end`. */
static void give_back(StcPlan *p, Link *l, double end) {
  const struct timespec moment = {.tv_nsec = 20000};
  Device *d = link_device(p->split, l);
  while (l->staging && l->flags && !atomic_load(&l->flags->closed) && clock_seconds() < end)
    nanosleep(&moment, NULL);
  if (l->staging)
    d->kind->release(d, l->staging, (l->bytes + DEVICE_PAGE - 1) / DEVICE_PAGE * DEVICE_PAGE);
  l->staging = NULL;
}

/* Gives back what links took that are not direct: both ends meet when all that was opened is closed. */
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

/* The devices here come to the end of what they have first, as others do who still get all that it needs: else they
 * would set flags back. */
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
