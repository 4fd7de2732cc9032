/* split-replay.c: records periods of a run over the GPUs of a process (the launches from one exchange to the next, and
 * that exchange) as graphs, which the devices replay: then nothing waits for the host, and dependences between lanes
 * cost less. With NCCL each rank records the work of its own GPUs; the order of what they send and receive is then the
 * same. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The number of periods in a graph: between two graphs all devices wait for each other, and for the driver, which takes
 * as long as several exchanges. KEPT_LAUNCHES: the most launches of a graph. MOST_PERIODS: a graph must have a multiple
 * of the periods after which the buffers are in their first state again; that may be at most MOST_PERIODS. */
enum { KEPT_PERIODS = 16, KEPT_LAUNCHES = 1024, MOST_PERIODS = 32 };

/* Two graphs of the same work, replayed in turn: the driver prepares one while the devices execute the other. */
enum { TWINS = 2 };

/* `n` periods of `launches` launches, recorded on the device of the first part; they begin when the buffers of the
 * parts of this rank stand for `slots`. */
typedef struct Period {
  int64_t n, launches;
  int32_t *slots;
  void *kept[TWINS];
  int turn;
  struct Period *next;
} Period;

/* ---------------------------------------------------------------- does it pay */

/* A graph saves the host's calls. If devices have more work than the host needs time for its calls, they never wait for
 * the host, and a graph makes the run slower, because all devices wait for each other between two graphs. So periods
 * are timed first, ROUNDS times as many as a graph has, with all devices idle before and after each round; the least of
 * each time counts, because other work may delay a host. If the devices are still busy, for more than one AHEAD-th of
 * the time, when the host has finished its calls, the host is not late.
 *
 * Recording both graphs takes the host about four times as long as the calls of the 16 periods in one (20 ms for 960
 * launches; single calls take 270 us for a period of that many), and they save at most two fifths of the time of
 * periods that are issued one by one (270 us to 163). So they pay in runs of WORTHWHILE times their periods: four times
 * five halves. */
enum { ROUNDS = 2, AHEAD = 5, WORTHWHILE = 10 };

/* Will the plan have made that many periods in all: those so far and those that are left in its run? Reports once if
 * not. */
static bool is_long(const StcPlan *p) {
  Split *s = p->split;
  bool yes = (s->goal - s->origin) / s->every >= WORTHWHILE * KEPT_PERIODS;
  if (!yes && !s->told_short)
    context_remark(p->w.context, "exchanges: launched one by one, since a graph is worth making for %d of them or more",
                   WORTHWHILE * KEPT_PERIODS);
  s->told_short |= !yes;
  return yes;
}

/* Makes one period by single calls; adds to *issued the seconds that the host took for them. */
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

/* Makes as many periods as a graph has, by single calls, and times them; *made: their number. */
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

/* After all rounds: is the host late? Reports it. */
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

/* ---------------------------------------------------------------- can they be recorded */

/* Is each part on a device of its own that can record together with others, and do all of its launches have the same
 * arguments as the last time? */
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

/* The number of buffers of all parts of this rank. */
static int count_buffers(const Split *s) {
  int n = 0;
  for (int i = s->begin; i < s->end; i++)
    n += s->part[i].plan->build->code.module->nbuffers;
  return n;
}

/* Copies the slots of all buffers to `slots`, or (`compare`) compares them. */
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

/* Sets the slots of all buffers to `slots`. */
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

/* ---------------------------------------------------------------- recording */

/* Lets lane `lane` of a device wait for all work in lane `of` of another one, or of the same. */
static StcStatus join(Device *d, int lane, Device *other, int of) {
  StcStatus s = other->kind->mark(other, of);
  return s ? s : d->kind->follow(d, lane, other, of);
}

/* Includes the lanes that may get work for which no launch waits, and those of the other devices, in what the first
 * device records. */
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

/* Joins all of these again, whatever the status is. */
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

/* Moves the work of the main lanes of all devices except the first to lanes where it can be recorded, or back. */
static StcStatus divert(const Split *s, bool on) {
  StcStatus st = STC_OK;
  for (int i = s->begin + 1; i < s->end && (!st || !on); i++)
    st = s->part[i].plan->device.kind->divert(&s->part[i].plan->device, on);
  return st;
}

/* Suppresses (or not) the error messages of all plans, because failures here are no errors. */
static void keep_silent(StcPlan *p, bool yes) { p->program->w.silent = p->split->program->w.silent = yes; }

/* Makes periods until there are enough and the buffers are in their first state; *n: their number, 0: not known yet. */
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

/* The last call that a device of this rank refused to record; NULL: none. */
static const char *find_refused(const Split *s) {
  const char *why = NULL;
  for (int i = s->begin; i < s->end && !why; i++)
    why = s->part[i].plan->device.refused;
  return why;
}

/* Lets recording use as few features of the devices as possible (`plain`), or not; clears what was refused. */
static void begin_way(const Split *s, bool plain) {
  for (int i = s->begin; i < s->end; i++) {
    s->part[i].plan->device.refused = NULL;
    s->part[i].plan->device.plain = plain;
  }
}

/* Records *n periods (0: as many as suit) in *kept. False: the devices cannot; `*why` is the first refused call, if
 * known. The plan's state is unchanged. */
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

/* Frees the graphs of `x`. */
static void forget(StcPlan *p, Period *x) {
  Device *first = &p->split->part[p->split->begin].plan->device;
  for (int i = 0; i < TWINS; i++) {
    if (x->kept[i])
      first->kind->forget(first, x->kept[i]);
    x->kept[i] = NULL;
  }
}

/* Records the graphs of `x` in the usual or the plain way. False: it failed; `*why` as for keep_graph. */
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

/* Records some periods, in the plain way if the usual one is refused. NULL if the devices cannot. The plan's state is
 * unchanged. */
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

/* ---------------------------------------------------------------- replaying */

/* The recorded periods that begin with the present state of the buffers, and have at most `most` steps; NULL: there are
 * none. */
static Period *find(const StcPlan *p, int64_t most) {
  Period *x = p->split->periods;
  while (x && !(x->n <= most && note_slots(p->split, x->slots, true)))
    x = x->next;
  return x;
}

/* Replays a graph once, not too far ahead of the devices. */
static StcStatus replay_once(StcPlan *p, Device *first, Period *x) {
  const Transport *t = p->split->transport;
  StcStatus st = first->kind->replay(first, x->kept[x->turn]);
  x->turn = (x->turn + 1) % TWINS;
  return st || !t->pace ? st : t->pace(p, x->n);
}

/* Replays `times` times, or until another rank has failed, because the graphs are freed then (give_up); before and
 * after that all devices wait for each other. */
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
