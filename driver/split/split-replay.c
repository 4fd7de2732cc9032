/* split-replay.c: periods of a run over the GPUs of a process, the launches from one exchange to the next and the
 * exchange behind them, which the devices keep together and make in one go: then nobody waits for the host, and less
 * for what crosses from one lane to another. With NCCL ranks keep their own GPUs' each; what they send and receive has
 * the same order then. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The periods of what is kept: between one graph and the next all devices wait for each other, and for the driver,
 * which takes as long as several exchanges. Of so many launches at most, but for the periods after which the buffers
 * are where they were, of which there may be so many. */
enum { KEPT_PERIODS = 16, KEPT_LAUNCHES = 1024, MOST_PERIODS = 32 };

/* Two graphs of the same, made in turn: the driver gets the one ready while the devices are at the other. */
enum { TWINS = 2 };

/* `n` periods of so many launches, begun when the buffers of the parts here stood for `slots`, as the device of the
 * first part keeps them. */
typedef struct Period {
  int64_t n, launches;
  int32_t *slots;
  void *kept[TWINS];
  int turn;
  struct Period *next;
} Period;

/* ---------------------------------------------------------------- is it of use */

/* What a graph saves is the host's calls. Where devices have more to do than the host needs for its calls none waits
 * for it, and a graph makes the run slower: from one to the next all devices wait for each other. So periods are timed
 * first, ROUNDS times as many as a graph has, with all devices idle before and behind each round; the least of each
 * time is taken, as a host may be held up by others. If the devices are at work for more than one part in AHEAD of the
 * time after the host has come to the end of its calls, it is not late.
 *
 * Making both graphs takes the host some four times as long as the calls of the 16 periods in one (20 ms for 960
 * launches; single calls take 270 us a period of as many), and they save at most two fifths of the time of periods made
 * one by one (270 us to 163): so they are worth it for runs of WORTHWHILE times their periods, four by five halves. */
enum { ROUNDS = 2, AHEAD = 5, WORTHWHILE = 10 };

/* Does the plan make so many periods in all, those behind it and those that its run has left? Says once if it does not.
 */
static bool is_long(const StcPlan *p) {
  Split *s = p->split;
  bool yes = (s->goal - s->origin) / s->every >= WORTHWHILE * KEPT_PERIODS;
  if (!yes && !s->told_short)
    context_remark(p->w.context, "exchanges: launched one by one, since a graph is worth making for %d of them or more",
                   WORTHWHILE * KEPT_PERIODS);
  s->told_short |= !yes;
  return yes;
}

/* One period by single calls; *issued: seconds are added that the host took for them. */
static StcStatus issue_period(StcPlan *p, double *issued) {
  Split *s = p->split;
  double start = clock_seconds();
  StcStatus st = split_run_parts(p, s->every, true);
  if (!st)
    st = s->transport->early(p);
  *issued += clock_seconds() - start;
  s->age = st ? s->age : 0;
  return st || !s->transport->pace ? st : s->transport->pace(p, 1);
}

/* As many periods as a graph has, by single calls, timed; *made of them. */
static StcStatus time_round(StcPlan *p, int64_t *made) {
  Split *s = p->split;
  int64_t before = p->run.launches;
  double issued = 0;
  StcStatus st = split_wait(p, STC_OK);
  double start = clock_seconds();
  for (*made = 0; *made < KEPT_PERIODS && p->run.launches - before < KEPT_LAUNCHES && !st && !s->broken; *made += !st)
    st = issue_period(p, &issued);
  if (!st)
    st = split_wait(p, st);
  double all = (clock_seconds() - start) / (double)(*made + !*made);
  issued /= (double)(*made + !*made);
  s->issue_seconds = !s->rounds || issued < s->issue_seconds ? issued : s->issue_seconds;
  s->period_seconds = !s->rounds || all < s->period_seconds ? all : s->period_seconds;
  s->rounds++;
  return st;
}

/* After all rounds: is the host late? Says so. */
static bool host_is_late(const StcPlan *p) {
  const Split *s = p->split;
  bool late = (s->period_seconds - s->issue_seconds) * AHEAD <= s->period_seconds;
  if (!late)
    context_remark(p->w.context,
                   "exchanges: launched one by one, since the devices take longer than their launches: of %.1f us from "
                   "one exchange to the next the host takes %.1f",
                   s->period_seconds * 1e6, s->issue_seconds * 1e6);
  return late;
}

/* ---------------------------------------------------------------- can they be kept */

/* Is each part on a device of its own that can keep things with others, and do all of its launches take what they took
 * the last time? */
static bool parts_are_steady(const StcPlan *p) {
  const Split *s = p->split;
  unsigned char id[2][DEVICE_IDENTITY];
  for (int i = s->begin; i < s->end; i++) {
    StcPlan *q = s->part[i].plan;
    if (!q->device.kind->divert || !q->device.kind->identity(&q->device, id[0]) || q->memory.lending ||
        !s->part[i].made)
      return false;
    for (int k = s->begin; k < i; k++)
      if (!s->part[k].plan->device.kind->identity(&s->part[k].plan->device, id[1]) ||
          memcmp(id[0], id[1], sizeof id[0]) == 0)
        return false;
    const Host *host = &q->build->code.module->host;
    for (int k = 0; k < host->nseqs; k++)
      if (!plan_is_steady(q, &host->seqs[k]))
        return false;
  }
  return true;
}

/* The buffers of all parts here. */
static int count_buffers(const Split *s) {
  int n = 0;
  for (int i = s->begin; i < s->end; i++)
    n += s->part[i].plan->build->code.module->nbuffers;
  return n;
}

/* Copies what they stand for to `slots`, or compares it with that. */
static bool note_slots(const Split *s, int32_t *slots, bool compare) {
  bool same = true;
  for (int i = s->begin; i < s->end; i++) {
    const StcPlan *q = s->part[i].plan;
    int n = q->build->code.module->nbuffers;
    if (compare)
      same = same && memcmp(slots, q->memory.of_buffer, sizeof *slots * (size_t)n) == 0;
    else
      memcpy(slots, q->memory.of_buffer, sizeof *slots * (size_t)n);
    slots += n;
  }
  return same;
}

/* Has them stand for `slots` again. */
static void restore_slots(const Split *s, const int32_t *slots) {
  for (int i = s->begin; i < s->end; i++) {
    StcPlan *q = s->part[i].plan;
    const Module *m = q->build->code.module;
    memcpy(q->memory.of_buffer, slots, sizeof *slots * (size_t)m->nbuffers);
    slots += m->nbuffers;
    for (int b = 0; b < m->nbuffers; b++)
      if (m->buffers[b].kind == BUFFER_FIELD && m->buffers[b].copy == 0)
        q->memory.of_field[m->buffers[b].field] = q->memory.of_buffer[b];
  }
}

/* ---------------------------------------------------------------- keeping them */

/* Lane `lane` of a device waits for all there is in lane `of` of another, or of itself. */
static StcStatus join(Device *d, int lane, Device *other, int of) {
  StcStatus s = other->kind->mark(other, of);
  return s ? s : d->kind->follow(d, lane, other, of);
}

/* Has the lanes in which something may be put that no launch waits for, and those of the other devices, take part in
 * what the first one keeps. */
static StcStatus enter(const Split *s) {
  Device *first = &s->part[s->begin].plan->device;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++) {
    Device *d = &s->part[i].plan->device;
    if (d != first)
      st = join(d, LANE_MAIN, first, LANE_MAIN);
    for (int lane = LANE_SEND; lane <= LANE_EDGES && !st; lane++)
      st = join(d, lane, d, LANE_MAIN);
  }
  return st;
}

/* Brings all of that together again, whatever it came to. */
static StcStatus leave(const Split *s, StcStatus came_to) {
  Device *first = &s->part[s->begin].plan->device;
  StcStatus st = STC_OK;
  for (int i = s->end - 1; i >= s->begin; i--) {
    Device *d = &s->part[i].plan->device;
    for (int lane = LANE_SEND; lane <= LANE_EDGES && !st; lane++)
      st = join(d, LANE_MAIN, d, lane);
    if (d != first && !st)
      st = join(first, LANE_MAIN, d, LANE_MAIN);
  }
  return came_to ? came_to : st;
}

/* Has all devices but the first one put what is in their main lanes where it can be kept, or no longer. */
static StcStatus divert(const Split *s, bool on) {
  StcStatus st = STC_OK;
  for (int i = s->begin + 1; i < s->end && (!st || !on); i++)
    st = s->part[i].plan->device.kind->divert(&s->part[i].plan->device, on);
  return st;
}

/* Has all plans keep to themselves what goes wrong; that it does is no error. */
static void keep_silent(StcPlan *p, bool yes) { p->program->w.silent = p->split->program->w.silent = yes; }

/* Periods until there are enough and the buffers stand for what they did; *n: their number, 0: not yet known. */
static StcStatus make_periods(StcPlan *p, int32_t *slots, int64_t before, int64_t *n) {
  Split *s = p->split;
  StcStatus st = STC_OK;
  bool same = false, enough = false;
  int64_t made = 0;
  while (!st && made < MOST_PERIODS && (*n ? made < *n : !(same && enough))) {
    st = split_run_parts(p, s->every, true);
    if (!st)
      st = s->transport->early(p);
    s->age = 0;
    made++;
    same = note_slots(s, slots, true);
    enough = made >= KEPT_PERIODS || p->run.launches - before >= KEPT_LAUNCHES;
  }
  *n = made;
  return st ? st : same ? STC_OK : STC_DEVICE;
}

/* What a device here refused last; NULL: none did. */
static const char *find_refused(const Split *s) {
  const char *why = NULL;
  for (int i = s->begin; i < s->end && !why; i++)
    why = s->part[i].plan->device.refused;
  return why;
}

/* Has recording ask as little of the devices as can be, or not; none has refused anything yet. */
static void begin_way(const Split *s, bool plain) {
  for (int i = s->begin; i < s->end; i++) {
    s->part[i].plan->device.refused = NULL;
    s->part[i].plan->device.plain = plain;
  }
}

/* Keeps *n periods (0: as many as are good) in *kept. False: the devices cannot; `*why` is what was refused first, if
 * it is known. The plan is as it was. */
static bool keep_graph(StcPlan *p, int32_t *slots, int64_t *n, int64_t *launches, void **kept, const char **why) {
  Split *s = p->split;
  Device *first = &s->part[s->begin].plan->device;
  int64_t done = p->run.done, before = p->run.launches;
  *kept = NULL;
  if (divert(s, true) || !first->kind->record(first)) {
    divert(s, false);
    *why = find_refused(s);
    return false;
  }
  StcStatus st = enter(s);
  if (!st)
    st = make_periods(p, slots, before, n);
  *why = find_refused(s);
  st = leave(s, st);
  divert(s, false);
  bool fine = first->kind->end_record(first, kept);
  *why = *why ? *why : find_refused(s);
  *launches = p->run.launches - before;
  p->run.done = done;
  p->run.launches = before;
  s->age = 0;
  restore_slots(s, slots);
  if (st && fine)
    first->kind->forget(first, *kept);
  return !st && fine;
}

/* Gives back the graphs of `x`. */
static void forget(StcPlan *p, Period *x) {
  Device *first = &p->split->part[p->split->begin].plan->device;
  for (int i = 0; i < TWINS; i++) {
    if (x->kept[i])
      first->kind->forget(first, x->kept[i]);
    x->kept[i] = NULL;
  }
}

/* Keeps the graphs of `x` in the usual way, or in the plain one. False: none; `*why` as of keep_graph. */
static bool keep_twins(StcPlan *p, Period *x, bool plain, const char **why) {
  bool fine = true;
  x->n = 0;
  begin_way(p->split, plain);
  for (int i = 0; i < TWINS && fine; i++)
    if (!(fine = keep_graph(p, x->slots, &x->n, &x->launches, &x->kept[i], why)))
      x->kept[i] = NULL;
  begin_way(p->split, false);
  if (!fine)
    forget(p, x);
  return fine;
}

/* Keeps some periods, in the plain way where the usual one is refused. NULL if the devices cannot; the plan is as it
 * was. */
static Period *keep(StcPlan *p) {
  Split *s = p->split;
  Period *x = ARENA_NEW(p->w.arena, Period);
  const char *why = NULL, *plain_why = NULL;
  *x = (Period){.slots = ARENA_ARRAY(p->w.arena, int32_t, count_buffers(s) + 1), .next = s->periods};
  note_slots(s, x->slots, false);
  keep_silent(p, true);
  bool usual = keep_twins(p, x, false, &why), fine = usual || keep_twins(p, x, true, &plain_why);
  keep_silent(p, false);
  why = why ? why : "no call failed";
  if (usual)
    context_remark(p->w.context, "exchanges: %lld of them and the %lld launches before them are kept as a graph",
                   (long long)x->n, (long long)x->launches);
  else if (fine)
    context_remark(p->w.context,
                   "exchanges: %lld of them and the %lld launches before them are kept as a graph, without launches "
                   "that begin early (%s)",
                   (long long)x->n, (long long)x->launches, why);
  else
    context_remark(p->w.context,
                   "exchanges: the devices keep no graph of them, so all is launched one by one (%s; the second way: "
                   "%s)",
                   why, plain_why ? plain_why : "no call failed");
  return fine ? (s->periods = x) : NULL;
}

/* ---------------------------------------------------------------- making them */

/* The recorded period that begins with the buffers as they are, of at most `most` steps; NULL: there is none. */
static Period *find(const StcPlan *p, int64_t most) {
  Period *x = p->split->periods;
  while (x && !(x->n <= most && note_slots(p->split, x->slots, true)))
    x = x->next;
  return x;
}

/* One time; not too far ahead of what is done. */
static StcStatus replay_once(StcPlan *p, Device *first, Period *x) {
  const Transport *t = p->split->transport;
  StcStatus st = first->kind->replay(first, x->kept[x->turn]);
  x->turn = (x->turn + 1) % TWINS;
  return st || !t->pace ? st : t->pace(p, x->n);
}

/* Makes them `times` times, or until another rank has failed, for then they are gone (give_up); before and behind that
 * all devices wait for each other. */
static StcStatus replay(StcPlan *p, Period *x, int64_t times) {
  const Split *s = p->split;
  Device *first = &s->part[s->begin].plan->device;
  StcStatus st = STC_OK;
  for (int i = s->begin + 1; i < s->end && !st; i++)
    st = join(first, LANE_MAIN, &s->part[i].plan->device, LANE_MAIN);
  for (int64_t i = 0; i < times && !st && !s->broken; i++)
    st = replay_once(p, first, x);
  for (int i = s->begin + 1; i < s->end && !st; i++)
    st = join(&s->part[i].plan->device, LANE_MAIN, first, LANE_MAIN);
  return st;
}

StcStatus split_replay(StcPlan *p, int64_t most, int64_t *made) {
  Split *s = p->split;
  *made = 0;
  if (s->no_replay || s->broken || most < 2 || !s->transport->keeps || s->ranks || p->run.times)
    return STC_OK;
  Period *x = find(p, most);
  if (!x && most >= KEPT_PERIODS && s->part[s->begin].made && is_long(p)) {
    s->no_replay = !parts_are_steady(p);
    if (!s->no_replay && s->rounds < ROUNDS)
      return time_round(p, made);
    x = !s->no_replay && host_is_late(p) ? keep(p) : NULL;
    s->no_replay = !x;
  }
  if (!x || x->n > most)
    return STC_OK;
  int64_t times = most / x->n;
  StcStatus st = replay(p, x, times);
  if (st)
    return st;
  *made = times * x->n;
  p->run.done += *made * s->every;
  p->run.launches += times * x->launches;
  for (int i = s->begin; i < s->end; i++)
    s->part[i].plan->run.done = p->run.done;
  return STC_OK;
}

void split_forget_periods(StcPlan *p) {
  for (Period *x = p->split->periods; x; x = x->next)
    forget(p, x);
  p->split->periods = NULL;
}
