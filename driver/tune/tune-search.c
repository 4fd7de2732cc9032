/* driver/tune/tune-search.c: tries schedules on a device until the time is up. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* KEPT: the number of best candidates whose trials stay open and are measured again at the end. HOPELESS: a candidate
 * whose first sample is below this fraction of the best is not measured further. SLOWER: a candidate whose predicted
 * speed is below this fraction of the best is not compiled; neither is one that spills more than SPILLS bytes a thread,
 * one that is too long, or one whose prediction by the model alone is below OWN_PART of that of the fastest default of
 * a family. RESERVE: the fraction of the time for the decision. POOL: candidates that are lowered for each one that is
 * compiled. BATCH_PART: the fraction of the remaining time that an assembler may take. */
enum { KEPT = 5, LEAST_BATCH = 2, MOST_BATCH = 64, POOL = 12, SPILLS = 1024 };
static const double HOPELESS = 0.6, SLOWER = 0.5, OWN_PART = 0.3, RESERVE = 0.15, BATCH_PART = 0.5, SAMPLE = 0.01,
                    FINAL_SAMPLE = 0.05;

/* ---------------------------------------------------------------- one candidate */

/* Records the results of candidate `k`'s trial. */
static void note(Search *t, Candidate *k) {
  const Trial *trial = k->trial;
  k->schedule = arena_strdup(t->arena, trial->schedule);
  k->plan = trial->text ? arena_strdup(t->arena, trial->text) : k->plan;
  if (trial->expected.gpts > 0)
    k->expected = trial->expected;
  k->kernel = trial->kernel;
  k->cost = trial->cost;
  if (trial->ops)
    k->ops = trial->ops;
  k->T = trial->build ? trial->build->code.schedule.T : 1;
}

/* Ends candidate `k` with a state and the reason: its trial's, or `why`. */
static void finish(Search *t, Candidate *k, CandidateState state, const char *why) {
  if (k->trial)
    note(t, k);
  if (state == CANDIDATE_WRONG || state == CANDIDATE_FAILED)
    k->gpts = 0;
  k->state = state;
  k->why = why ? why : k->trial && k->trial->messages.first[0] ? arena_strdup(t->arena, k->trial->messages.first) : "";
  t->tried++;
  if (t->watch)
    t->watch(t->user, t);
}

/* Is there time to begin more candidates? */
static bool has_time(const Search *t) { return !stop_asked(t->stop) && clock_seconds() + t->pace / 2 < t->until; }

/* The default, which is the first candidate. */
static Candidate *usual(const Search *t) { return &t->space.all[0]; }
const Candidate *search_usual(const Search *t) { return t->space.n ? usual(t) : NULL; }

/* Closes the trial of candidate `k`, if it has one. */
static void close_trial(Candidate *k) {
  if (!k->trial)
    return;
  trial_close(k->trial);
  k->trial = NULL;
}

/* Opens a trial for candidate `k`. False, with the reason recorded, if its options are wrong. */
static bool open_trial(Search *t, Candidate *k) {
  k->trial = ARENA_NEW(t->arena, Trial);
  if (trial_open(k->trial, t->subject, t->device_name, k->options) == STC_OK)
    return true;
  finish(t, k, CANDIDATE_REFUSED, NULL);
  close_trial(k);
  return false;
}

/* Does another candidate have the same schedule as `k`, so that measuring `k` tells nothing new? */
static bool is_repeated(const Search *t, const Candidate *k) {
  for (int i = 0; i < t->space.n; i++) {
    const Candidate *other = &t->space.all[i];
    if (other != k && other->lowered && strcmp(other->schedule, k->trial->schedule) == 0)
      return true;
  }
  return false;
}

/* Records what is known about candidate `k` after lowering, or ends it. */
static void note_lowered(Search *t, Candidate *k) {
  if (k->trial->messages.first[0]) {
    finish(t, k, CANDIDATE_REFUSED, NULL);
    return;
  }
  bool repeated = is_repeated(t, k);
  k->lowered = true;
  note(t, k);
  if (k->usual)
    k->family = k->trial->build->code.schedule.family;
  if (repeated)
    finish(t, k, CANDIDATE_REFUSED, "the same schedule as another candidate");
}

/* Takes three samples of a candidate whose trial is ready. */
static StcStatus take_samples(Candidate *k) {
  double gpts;
  StcStatus s = STC_OK;
  for (int i = 0; i < 3 && !s; i++) {
    s = trial_sample(k->trial, &gpts);
    if (!s && gpts > k->gpts)
      k->gpts = gpts;
  }
  return s;
}

/* Is candidate `k` slower than KEPT others? */
static bool is_behind(const Search *t, const Candidate *k) {
  Candidate *best[KEPT];
  int n = space_best(&t->space, KEPT, best);
  return n == KEPT && k->gpts < best[n - 1]->gpts;
}

/* Times a compiled candidate; verifies it if it is then among the best. */
static StcStatus measure(Search *t, Candidate *k) {
  Trial *trial = k->trial;
  if (trial->kernel.local > SPILLS && !k->usual)
    return finish(t, k, CANDIDATE_SLOW,
                  arena_printf(t->arena, "%d bytes a thread do not fit the registers", trial->kernel.local)),
           STC_OK;
  t->measured++;
  StcStatus s = trial_start(trial, t->size, SAMPLE);
  k->gpts = trial->rough;
  if (!s && t->best && trial->rough < HOPELESS * t->best->gpts)
    return trial_stop(trial), finish(t, k, CANDIDATE_SLOW, "far behind the best"), STC_OK;
  if (!s)
    s = take_samples(k);
  trial_stop(trial);
  if (!s && is_behind(t, k))
    return finish(t, k, CANDIDATE_SLOW, "behind the best, and not verified"), STC_OK;
  if (!s)
    s = trial_verify(trial);
  finish(t, k, s == STC_CHECK_FAILED ? CANDIDATE_WRONG : s ? CANDIDATE_FAILED : CANDIDATE_TIMED, NULL);
  if (!s && (!t->best || k->gpts > t->best->gpts))
    t->best = k;
  return s;
}

/* Closes all trials except those of the default, of the `keep` best candidates and of the `n` at `also`; with `keep` 0
 * also that of the default. */
static void close_others(Search *t, int keep, int n, Candidate *const *also) {
  Candidate *best[KEPT];
  int nbest = space_best(&t->space, keep, best);
  for (int i = 0; i < t->space.n; i++) {
    bool kept = keep && t->space.all[i].usual;
    for (int b = 0; b < nbest; b++)
      kept |= best[b] == &t->space.all[i];
    for (int b = 0; b < n; b++)
      kept |= also[b] == &t->space.all[i];
    if (!kept)
      close_trial(&t->space.all[i]);
  }
}

/* After a failed launch the driver may refuse everything: closes the device with all that is on it, and opens it again.
 */
static StcStatus revive(Search *t) {
  Workspace *w = t->device->w;
  if (device_works(t->device))
    return STC_OK;
  close_others(t, 0, 0, NULL);
  subject_drop_peer(t->subject);
  t->device->kind->close(t->device);
  StcStatus s = device_open(w, t->device_name, t->device);
  if (s)
    *t->device = (Device){0};
  else
    subject_add_peer(t->subject, t->device_name);
  return s;
}

/* ---------------------------------------------------------------- the search */

/* Opens trials for those of the `n` candidates that have none; *sure is set to the number of families' defaults among
 * them, which come first and are tried in any case without a model. Returns the number of trials, all in `trials`. */
static int open_trials(Search *t, int n, Candidate **from, Trial **trials, int *sure) {
  int open = 0;
  *sure = 0;
  for (int i = 0; i < n; i++) {
    if (!from[i]->trial && !open_trial(t, from[i]))
      continue;
    *sure += from[i]->own && *sure == open && !t->modelled;
    trials[open++] = from[i]->trial;
  }
  return open;
}

/* Lowers candidates and computes the model's predictions, as long as there is time. Returns their number. */
static int lower_pool(Search *t, int size) {
  Candidate *pool[POOL * MOST_BATCH];
  Trial *trials[POOL * MOST_BATCH];
  LowerFor what = {t->device, t->size};
  CrewWork work = {.job = crew_lower, .user = &what, .until = t->until};
  int n = space_pool(&t->space, size, pool), open = open_trials(t, n, pool, trials, &work.sure);
  trials_each(trials, open, crew_size(), &work);
  for (int i = 0; i < n; i++)
    if (pool[i]->trial && (pool[i]->trial->build || pool[i]->trial->messages.first[0]))
      note_lowered(t, pool[i]);
  return n;
}

/* Tells the watcher that candidates are being compiled, or no more. */
static void tell_compiling(const Search *t, bool on) {
  if (t->compiling_now)
    t->compiling_now(t->user, on);
}

/* trial_prepare as a crew's work for search `user`: with the assembler if there is one. */
static StcStatus prepare(Trial *trial, void *user) {
  Search *t = user;
  bool refused = false;
  if (!t->assembler)
    return trial_prepare(trial);
  StcStatus s = trial->build ? STC_OK : trial_lower(trial, t->device, t->size);
  if (!s)
    s = trial_prepare_by(trial, t->assembler, t->batch_until, &refused);
  if (refused)
    t->assembler_refused = true;
  return s;
}

/* Records the time of compiling the `n` candidates, and from it the fraction of the remaining time for an op. */
static void note_pace(Search *t, int n, Candidate *const *batch) {
  for (int i = 0; i < n; i++) {
    const Trial *trial = batch[i]->trial;
    if (!trial || !trial->plan || !trial->ops)
      continue;
    t->compiling += trial->cost.code + trial->cost.assemble + trial->cost.load;
    t->compiled += trial->ops;
  }
}

/* Computes this fraction again, for the present time. */
static void price_ops(Search *t) {
  double left = BATCH_PART * (t->until - clock_seconds());
  if (t->modelled && t->compiled > 0 && left > 0)
    t->space.op_cost = t->compiling / t->compiled / left;
}

/* Measures candidate `k` of a batch, which is compiled or has failed. */
static StcStatus measure_compiled(Search *t, Candidate *k) {
  if (k->trial->messages.first[0])
    finish(t, k, CANDIDATE_REFUSED, NULL);
  else if (k->trial->plan)
    return measure(t, k);
  else
    finish(t, k, CANDIDATE_REFUSED, "compiling it takes too long");
  return STC_OK;
}

/* Compiles the `n` candidates, as long as there is time, and measures those that compile. */
static StcStatus try_batch(Search *t, int n, Candidate **batch) {
  Trial *trials[MOST_BATCH];
  CrewWork work = {.job = prepare, .user = t, .until = t->until};
  double start = clock_seconds();
  int open = open_trials(t, n, batch, trials, &work.sure);
  t->batch_until = start + BATCH_PART * (t->until - start);
  StcStatus lost = STC_OK;
  tell_compiling(t, true);
  trials_each(trials, open, crew_size(), &work);
  tell_compiling(t, false);
  t->pace = clock_seconds() - start;
  note_pace(t, n, batch);
  if (t->assembler_refused)
    t->assembler = NULL;
  for (int i = 0; i < n && !stop_asked(t->stop) && !lost; i++) {
    Candidate *k = batch[i];
    bool sure = k->own && !t->modelled;
    if (k->state != CANDIDATE_WAITING || !k->trial || !(sure || clock_seconds() < t->until))
      continue;
    if (measure_compiled(t, k) == STC_DEVICE)
      lost = revive(t);
  }
  return lost;
}

/* Compiles and measures the default before all others, regardless of the time. */
static StcStatus try_usual(Search *t) {
  Candidate *k = usual(t);
  LowerFor what = {t->device, t->size};
  StcStatus lost = STC_OK;
  if (!open_trial(t, k))
    return STC_OK;
  t->batch_until = INFINITY;
  crew_lower(k->trial, &what);
  note_lowered(t, k);
  if (k->state == CANDIDATE_WAITING) {
    prepare(k->trial, t);
    note_pace(t, 1, &k);
    if (measure_compiled(t, k) == STC_DEVICE)
      lost = revive(t);
  }
  return lost;
}

/* Finds the indices of each family's default; drops families that the program does not support. */
static void place_families(Search *t) {
  for (int i = 0; i < t->space.n; i++) {
    Candidate *k = &t->space.all[i];
    if (!k->own)
      continue;
    if (k->state == CANDIDATE_REFUSED && !k->lowered)
      space_drop_family(&t->space, k->family, k->why);
    else if (k->lowered && !k->row)
      space_place(&t->space, k);
  }
}

/* Is a family's default still to be tried? */
static bool own_is_waiting(const Search *t) {
  for (int i = 0; i < t->space.n; i++)
    if (t->space.all[i].own && t->space.all[i].state == CANDIDATE_WAITING)
      return true;
  return false;
}

/* One round: lowers some more candidates, and compiles and measures the most promising. False if there are no more. */
static bool try_some(Search *t, int pool, int size, StcStatus *s) {
  Candidate *batch[MOST_BATCH];
  bool more = has_time(t) && lower_pool(t, pool) > 0;
  price_ops(t);
  SkipRule rule = {SPILLS, LONGEST_CODE, t->best ? SLOWER * t->best->gpts : 0, OWN_PART};
  t->tried += space_skip(&t->space, &rule);
  int n = space_choose(&t->space, size, batch);
  close_others(t, KEPT, n, batch);
  *s = try_batch(t, n, batch);
  place_families(t);
  close_others(t, KEPT, 0, NULL);
  return more || n > 0;
}

/* Tries candidates until there are none left or the time is up: first the default, then the families' defaults with the
 * best candidates near them. */
static StcStatus try_all(Search *t) {
  int size = crew_size(), own = 0;
  size = size < LEAST_BATCH ? LEAST_BATCH : size > MOST_BATCH ? MOST_BATCH : size;
  StcStatus s = try_usual(t);
  while (own < t->space.n && t->space.all[own].own)
    own++;
  if (s || stop_asked(t->stop))
    return s;
  if (has_time(t) || !t->modelled)
    lower_pool(t, own);
  place_families(t);
  while (!s && !stop_asked(t->stop) && (has_time(t) || (!t->modelled && own_is_waiting(t))) &&
         try_some(t, t->modelled ? POOL * size : size, size, &s))
    continue;
  return s;
}

/* Opens the trials of those of the `n` best that are closed, and prepares all for a last measurement. Those for which
 * this fails are out; so are those for which there is no time, except the first two and the default. */
static void start_finalists(Search *t, int n, Candidate *const *best, Contender *all) {
  Trial *trials[KEPT + 1];
  int open = 0;
  for (int i = 0; i < n; i++)
    if (!best[i]->trial && open_trial(t, best[i]))
      trials[open++] = best[i]->trial;
  tell_compiling(t, true);
  trials_prepare(trials, open, crew_size());
  tell_compiling(t, false);
  for (int i = 0; i < n; i++) {
    bool late = i > 1 && !best[i]->usual && clock_seconds() > t->start + (1 - RESERVE / 2) * t->seconds;
    all[i] = (Contender){.usual = best[i]->usual};
    all[i].out = late || !best[i]->trial || !best[i]->trial->plan ||
                 trial_start(best[i]->trial, t->size, FINAL_SAMPLE) != STC_OK;
  }
}

/* Finds the candidates for the decision: the best ones, and the default in any case. Returns their number. */
static int finalists(const Search *t, Candidate *out[KEPT + 1]) {
  int n = space_best(&t->space, KEPT, out);
  bool there = usual(t)->state != CANDIDATE_TIMED;
  for (int i = 0; i < n; i++)
    there |= out[i]->usual;
  if (!there)
    out[n++] = usual(t);
  return n;
}

/* LEAST_GAIN: smaller relative differences do not count; SPREAD_PART: nor do differences below this part of the spread
 * of the samples. */
static const double LEAST_GAIN = 0.005, SPREAD_PART = 1.0 / 3;

int contest_winner(Contender *all, int n, int taken) {
  int winner = -1, usual = -1;
  for (int i = 0; i < n; i++) {
    if (all[i].out || taken < 1)
      continue;
    all[i].median = median(all[i].samples, taken);
    all[i].spread = all[i].samples[taken - 1] - all[i].samples[0];
    if (winner < 0 || all[i].median > all[winner].median)
      winner = i;
    if (all[i].usual)
      usual = i;
  }
  if (usual < 0)
    return winner;
  double noise = SPREAD_PART * (all[winner].spread + all[usual].spread), least = LEAST_GAIN * all[usual].median;
  return all[winner].median - all[usual].median > (noise > least ? noise : least) ? winner : usual;
}

/* Measures the best ones again, in turns, at least some rounds and more as long as there is time, and decides. */
static StcStatus decide(Search *t) {
  Candidate *best[KEPT + 1];
  Contender all[KEPT + 1];
  int n = finalists(t, best), taken = 0, least = n > 1 ? LEAST_SAMPLES : 1;
  start_finalists(t, n, best, all);
  while (taken < FINAL_SAMPLES && (taken < least || clock_seconds() < t->start + t->seconds) && !stop_asked(t->stop)) {
    for (int i = 0; i < n && !stop_asked(t->stop); i++)
      all[i].out = all[i].out || trial_sample(best[i]->trial, &all[i].samples[taken]);
    taken++;
  }
  t->best = NULL;
  if (stop_asked(t->stop))
    return close_others(t, 0, 0, NULL), STC_INTERRUPTED;
  int winner = contest_winner(all, n, taken);
  for (int i = 0; i < n; i++) {
    if (all[i].out)
      continue;
    best[i]->gpts = all[i].median;
    best[i]->cost = best[i]->trial->cost;
  }
  t->best = winner < 0 ? NULL : best[winner];
  close_others(t, 0, 0, NULL);
  return t->best ? STC_OK : STC_DEVICE;
}

StcStatus search_run(Search *t) {
  bool simt = strcmp(t->device->kind->arch, "host") != 0;
  t->modelled = simt;
  t->start = clock_seconds();
  t->until = t->start + (1 - RESERVE) * t->seconds;
  program_extents(t->subject->program, t->arena, t->size.n, t->size.defines, t->subject->options.grid);
  if (!t->no_assembler && strcmp(t->device->kind->arch, "nvptx") == 0)
    t->assembler = assembler_find(t->arena);
  space_fill(&t->space, t->arena, stc_program_rank(t->subject->program), simt);
  subject_add_peer(t->subject, t->device_name);
  StcStatus s = try_all(t);
  if (!s)
    s = decide(t);
  close_others(t, 0, 0, NULL);
  return s;
}

void search_close(Search *t) {
  for (int i = 0; i < t->space.n; i++)
    close_trial(&t->space.all[i]);
}
