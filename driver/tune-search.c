/* driver/tune-search.c: schedules tried on a device until the time is up. */
#include "driver/tune.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* KEPT: the best ones, whose trials stay open and are measured again at the end; BATCH: compiled at once, for each thread; a candidate whose first figure is below HOPELESS of the
 * best is not measured further, nor is one that spills more than SPILLS bytes a thread. */
enum { KEPT = 5, FINAL_SAMPLES = 5, MOST_BATCH = 32, SPILLS = 1024 };
static const double HOPELESS = 0.6, SAMPLE = 0.01, FINAL_SAMPLE = 0.05;

/* ---------------------------------------------------------------- one candidate */

/* Ends candidate `k` with a state and the reason that its trial gives, or `why`. */
static void finish(Search *t, Candidate *k, CandidateState state, const char *why) {
  Arena *a = t->arena;
  if (k->trial && k->trial->schedule[0]) k->schedule = arena_strdup(a, k->trial->schedule);
  k->state = state;
  k->why = why ? why : k->trial && k->trial->messages.first[0] ? arena_strdup(a, k->trial->messages.first) : "";
  t->tried++;
}

/* Closes the trial of candidate `k`, if it has one. */
static void close_trial(Candidate *k) {
  if (!k->trial) return;
  trial_close(k->trial);
  k->trial = NULL;
}

/* Gives candidate `k` a trial. False, with the reason kept, if its options are none. */
static bool open_trial(Search *t, Candidate *k) {
  k->trial = ARENA_NEW(t->arena, Trial);
  if (trial_open(k->trial, t->subject, t->device_name, k->options) == STC_OK) return true;
  finish(t, k, CANDIDATE_REFUSED, NULL);
  close_trial(k);
  return false;
}

/* Has one with the same schedule been measured, so that there is nothing new to learn? */
static bool is_repeated(const Search *t, const Candidate *k) {
  for (int i = 0; i < t->space.n; i++) {
    const Candidate *other = &t->space.all[i];
    if (other != k && other->state != CANDIDATE_WAITING && other->schedule && strcmp(other->schedule, k->trial->schedule) == 0) return true;
  }
  return false;
}

/* Verifies and times a candidate that is compiled. */
static StcStatus measure(Search *t, Candidate *k) {
  Trial *trial = k->trial;
  double gpts;
  k->T = trial->plan->build ? trial->plan->build->code.schedule.T : 1;
  k->kernel = trial->kernel;
  if (is_repeated(t, k)) return finish(t, k, CANDIDATE_REFUSED, "the same schedule as another candidate"), STC_OK;
  if (k->kernel.local > SPILLS) return finish(t, k, CANDIDATE_SLOW, arena_printf(t->arena, "%d bytes a thread do not fit the registers", k->kernel.local)), STC_OK;
  StcStatus s = trial_verify(trial);
  if (s) return finish(t, k, s == STC_CHECK_FAILED ? CANDIDATE_WRONG : CANDIDATE_FAILED, NULL), s;
  s = trial_start(trial, t->size, SAMPLE);
  k->gpts = trial->rough;
  if (!s && t->best && trial->rough < HOPELESS * t->best->gpts) return trial_stop(trial), finish(t, k, CANDIDATE_SLOW, "far behind the best"), STC_OK;
  for (int i = 0; i < 3 && !s; i++) {
    s = trial_sample(trial, &gpts);
    if (!s && gpts > k->gpts) k->gpts = gpts;
  }
  trial_stop(trial);
  finish(t, k, s ? CANDIDATE_FAILED : CANDIDATE_TIMED, NULL);
  if (!s && (!t->best || k->gpts > t->best->gpts)) t->best = k;
  return s;
}

/* Closes all trials but those of the best candidates. */
static void close_others(Search *t, int keep) {
  Candidate *best[KEPT];
  int n = space_best(&t->space, keep, best);
  for (int i = 0; i < t->space.n; i++) {
    bool kept = false;
    for (int b = 0; b < n; b++) kept |= best[b] == &t->space.all[i];
    if (!kept) close_trial(&t->space.all[i]);
  }
}

/* After a failed launch the driver may refuse everything: then the device is let go with all that is on it, and taken anew. */
static StcStatus revive(Search *t) {
  Workspace *w = t->device->w;
  if (device_works(t->device)) return STC_OK;
  close_others(t, 0);
  subject_drop_peer(t->subject);
  t->device->kind->close(t->device);
  StcStatus s = device_open(w, t->device_name, t->device);
  if (s) *t->device = (Device){0};
  else subject_add_peer(t->subject, t->device_name);
  return s;
}

/* ---------------------------------------------------------------- the search */

/* Compiles the `n` candidates, and measures those that compile. */
static StcStatus try_batch(Search *t, int n, Candidate **batch) {
  Trial *trials[MOST_BATCH];
  int open = 0;
  StcStatus lost = STC_OK;
  for (int i = 0; i < n; i++)
    if (open_trial(t, batch[i])) trials[open++] = batch[i]->trial;
  trials_prepare(trials, open, (int)sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = 0; i < n && !*t->stop && !lost; i++) {
    Candidate *k = batch[i];
    if (k->state != CANDIDATE_WAITING || !k->trial) continue;
    if (!k->trial->plan || k->trial->messages.first[0]) finish(t, k, CANDIDATE_REFUSED, NULL);
    else if (measure(t, k) == STC_DEVICE) lost = revive(t);
    if (t->watch) t->watch(t->user, t);
  }
  close_others(t, KEPT);
  return lost;
}

/* Tries what each family gives by itself; a family that the program has not is dropped. */
static StcStatus try_families(Search *t) {
  Candidate *first[MOST_BATCH];
  int n = 0;
  for (int i = 0; i < t->space.n && n < MOST_BATCH; i++)
    if (!t->space.all[i].row) first[n++] = &t->space.all[i];
  StcStatus s = try_batch(t, n, first);
  for (int i = 0; i < n && !s; i++)
    if (first[i]->state == CANDIDATE_REFUSED) space_drop_family(&t->space, first[i]->family, first[i]->why);
  return s;
}

/* Tries candidates until there are none left or the time is up. */
static StcStatus try_all(Search *t) {
  Candidate *batch[MOST_BATCH];
  int size = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN), n;
  if (size > MOST_BATCH) size = MOST_BATCH;
  StcStatus s = try_families(t);
  while (!s && !*t->stop && clock_seconds() - t->start < t->seconds && (n = space_next(&t->space, size, batch)) > 0) s = try_batch(t, n, batch);
  return s;
}

/* Measures the best ones again, in turns, and decides. */
static StcStatus decide(Search *t) {
  Candidate *best[KEPT];
  double samples[KEPT][FINAL_SAMPLES];
  bool out[KEPT] = {false};
  int n = space_best(&t->space, KEPT, best);
  for (int i = 0; i < n; i++) {
    Candidate *k = best[i];
    if (!k->trial) out[i] = !open_trial(t, k) || trial_prepare(k->trial);
    if (!out[i]) out[i] = trial_start(k->trial, t->size, FINAL_SAMPLE) != STC_OK;
  }
  for (int at = 0; at < FINAL_SAMPLES; at++)
    for (int i = 0; i < n && !*t->stop; i++)
      if (!out[i] && trial_sample(best[i]->trial, &samples[i][at])) out[i] = true;
  t->best = NULL;
  for (int i = 0; i < n && !*t->stop; i++) {
    if (out[i]) continue;
    best[i]->gpts = median(samples[i], FINAL_SAMPLES);
    if (!t->best || best[i]->gpts > t->best->gpts) t->best = best[i];
  }
  close_others(t, 0);
  return *t->stop ? STC_INTERRUPTED : t->best ? STC_OK : STC_DEVICE;
}

StcStatus search_run(Search *t) {
  bool simt = strcmp(t->device->kind->arch, "host") != 0;
  t->start = clock_seconds();
  program_extents(t->subject->program, t->arena, t->size.n, t->size.defines, t->subject->options.grid);
  space_fill(&t->space, t->arena, stc_program_rank(t->subject->program), simt);
  subject_add_peer(t->subject, t->device_name);
  StcStatus s = try_all(t);
  if (!s) s = decide(t);
  close_others(t, 0);
  return s;
}

void search_close(Search *t) {
  for (int i = 0; i < t->space.n; i++) close_trial(&t->space.all[i]);
}
