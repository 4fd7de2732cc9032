/* driver/data/joint-beside.c: a step, in files of all ranks, that is written while the run goes on. Each rank copies
 * the values of its parts, and has a thread write them; if the file has compressed arrays, the thread compresses these,
 * since their offsets are known only when all ranks know all sizes. Neither needs MPI, which only one thread may use.
 * When the next step is due, or the run ends, all ranks wait for their threads, and end the step together. */
#include "driver/data/joint.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

Stored *beside_values(const Joint *x, int array, int i) {
  const Split *split = x->job->plan->split;
  return &x->beside->values[array * (split->end - split->begin) + i - split->begin];
}

/* Writes this rank's values of an uncompressed array. */
static bool put(const Joint *x, int array) {
  const Split *split = x->job->plan->split;
  bool ok = true;
  for (int i = split->begin; i < split->end && ok; i++)
    ok = put_values(x, &split->part[i], array, beside_values(x, array, i), x->beside->fd);
  return ok;
}

/* The main function of a thread that writes. */
static void *write_all(void *arg) {
  const Joint *x = arg;
  Beside *b = x->beside;
  bool ok = true;
  for (int i = 0; i < x->narrays && ok; i++)
    ok = put(x, i);
  b->wrong = ok ? 0 : errno;
  if (close(b->fd) && ok)
    b->wrong = errno;
  return NULL;
}

/* The main function of a thread that compresses. */
static void *press_all_arrays(void *arg) {
  Joint *x = arg;
  Beside *b = x->beside;
  for (int i = 0; i < x->narrays && !b->wrong; i++) {
    if (x->pieces[i].compressed && !joint_press(x, i, b->mine[i])) {
      b->wrong = ENOMEM;
      b->failed = i;
    }
    free(b->mine[i]);
    b->mine[i] = NULL;
  }
  return NULL;
}

/* Copies all values that are written uncompressed. */
static StcStatus take_values(Joint *x) {
  const Split *split = x->job->plan->split;
  StcStatus s = STC_OK;
  for (int a = 0; a < x->narrays; a++)
    for (int i = split->begin; i < split->end && !x->pieces[a].compressed && !s; i++)
      s = stored_get(x, &split->part[i], a, beside_values(x, a, i));
  return s;
}

void beside_end(Joint *x) {
  const Split *split = x->job->plan->split;
  Beside *b = x->beside;
  for (int i = 0; b && b->values && i < x->narrays * (split->end - split->begin); i++)
    stored_free(&b->values[i]);
  for (int i = 0; b && b->mine && i < x->narrays; i++)
    free(b->mine[i]);
  if (b) {
    free(b->values);
    free(b->mine);
  }
  free(b);
  x->beside = NULL;
}

/* Allocates memory for a step, and for its uncompressed values. */
static StcStatus make(Joint *x, int64_t step, int fd) {
  const Split *split = x->job->plan->split;
  Beside *b = x->beside = calloc(1, sizeof *b);
  if (b) {
    b->step = step;
    b->fd = fd;
    b->values = calloc((size_t)(x->narrays * (split->end - split->begin)) + 1, sizeof *b->values);
    b->mine = calloc((size_t)x->narrays + 1, sizeof *b->mine);
  }
  return b && b->values && b->mine ? STC_OK : (context_error(x->job->c->context, "out of memory"), STC_MEMORY);
}

/* Starts a thread for the work; if there is none, does the work now. */
static void start(Joint *x, void *(*work)(void *)) {
  x->beside->started = pthread_create(&x->beside->thread, NULL, work, x) == 0;
  if (!x->beside->started)
    work(x);
}

StcStatus beside_start(Joint *x, int64_t step, int fd) {
  StcStatus s = make(x, step, fd);
  s = s ? s : take_values(x);
  if (s)
    close(fd);
  else
    start(x, write_all);
  return s;
}

StcStatus beside_press(Joint *x, int64_t step) {
  Net *net = x->job->net;
  StcStatus s = net_agree(net, make(x, step, -1), &(int){0});
  for (int i = 0; i < x->narrays && !s; i++)
    if (x->pieces[i].compressed)
      s = joint_bring(x, i, &x->beside->mine[i]);
  if (!s)
    s = net_agree(net, take_values(x), &(int){0});
  if (!s)
    start(x, press_all_arrays);
  return s;
}

int beside_wait(Joint *x) {
  if (x->beside && x->beside->started)
    pthread_join(x->beside->thread, NULL);
  if (x->beside)
    x->beside->started = false;
  return x->beside ? x->beside->wrong : 0;
}
