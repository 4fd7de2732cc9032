/* order.c: the stand-in computes (STC_STANDIN_COMPUTE=SEED): what is put into streams is done when somebody waits for
 * it, or some time before, in an order that chance chooses of all that streams and events allow. So where an event is
 * left out values are wrong, with one seed or another, and with a seed always or never. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/code.h"
#include "tests/standin/libcuda/libcuda.h"

/* What is to be done in a stream; behind what is ahead of it there, and behind number `after` (0: nothing). Of one that
 * is captured: both are places in the graph, from 1 on, and `line` is its place in Graph.nodes, -1: it has none. */
typedef struct Job {
  enum { JOB_NOTHING, JOB_LAUNCH, JOB_COPY, JOB_SET } kind;
  int64_t number, after;
  const void *stream;
  int device, line;
  Kernel *kernel;
  unsigned grid[3], block[3], shared;
  uint64_t values[MAX_ARGS];
  Box box;
  unsigned char byte;
  struct Job *next;
} Job;

/* The jobs of a stream that are to be done, and its last one's number. number: stream_number's. */
typedef struct Queue {
  const void *stream;
  int number, device;
  int64_t launch; /* of a graph; 0: a stream itself */
  Job *first, *last;
  int64_t tail;
} Queue;

/* Jobs by number, NULL if they are done. */
static Job **jobs;
static int64_t njobs, room, undone;
static Queue *queues;
static int nqueues, queue_room;
static uint64_t chance;
static int64_t graphs;
static pthread_mutex_t one;

bool computes(void) {
  static int known;
  if (!known) {
    const char *seed = getenv("STC_STANDIN_COMPUTE");
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&one, &kind);
    chance = seed ? strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 0;
    known = seed ? 1 : -1;
  }
  return known > 0;
}

static void unlock(int *unused) { (void)unused, pthread_mutex_unlock(&one); }
#define IN_TURN __attribute__((cleanup(unlock), unused)) int in_turn = pthread_mutex_lock(&one)

/* A number that chance gives. */
static uint64_t draw(void) {
  chance ^= chance << 13;
  chance ^= chance >> 7;
  return chance ^= chance << 17;
}

/* ---------------------------------------------------------------- what is to be done */

/* The stream that launches go to without a name is one for each device. */
static const void *stream_key(const void *stream) {
  return stream ? stream : (const void *)&contexts[current_device - 1];
}

/* Which of the streams it is, by when they were first used: that is the same in each run, and where they lie is not. */
static int stream_number(const void *stream) {
  static const void **all;
  static int n;
  for (int i = 0; i < n; i++)
    if (all[i] == stream)
      return i;
  all = realloc(all, sizeof *all * (size_t)(n + 1));
  all[n] = stream;
  return n++;
}

static Queue *queue_of(const void *stream, int64_t launch) {
  for (int i = 0; i < nqueues; i++)
    if (queues[i].stream == stream && queues[i].launch == launch)
      return &queues[i];
  if (nqueues == queue_room)
    queues = realloc(queues, sizeof *queues * (size_t)(queue_room = 2 * queue_room + 16));
  queues[nqueues] =
      (Queue){.stream = stream, .number = stream_number(stream), .device = current_device, .launch = launch};
  return &queues[nqueues++];
}

/* Gives the job a number. */
static Job *add_job(const Job *like) {
  if (njobs + 1 >= room)
    jobs = realloc(jobs, sizeof *jobs * (size_t)(room = 2 * room + 1024));
  Job *j = malloc(sizeof *j);
  *j = *like;
  j->number = ++njobs;
  j->next = NULL;
  undone++;
  return jobs[njobs] = j;
}

static void append(Queue *q, Job *j) {
  if (q->last)
    q->last->next = j;
  else
    q->first = j;
  q->last = j;
  q->tail = j->number;
}

static bool is_done(int64_t number) { return !number || !jobs[number]; }

/* Does it. A launch that cannot be computed breaks the context, as one that fails on a GPU does. */
static void make(Job *j) {
  if (j->kind == JOB_LAUNCH && !code_run(j->kernel, j->grid, j->block, j->shared, j->values))
    rt.broken = true;
  if (j->kind == JOB_COPY)
    box_copy(&j->box);
  if (j->kind == JOB_SET)
    memset((void *)(uintptr_t)j->box.to, j->byte, j->box.width);
  jobs[j->number] = NULL;
  undone--;
  free(j);
}

/* Does one of those that may be done now; false: there is none. Streams have a rank for some time, and of those that
 * can go on the first does. */
static bool make_one(void) {
  static uint64_t salt, left;
  Queue *best = NULL;
  uint64_t least = 0;
  if (!left--)
    salt = draw(), left = draw() % 24;
  for (int i = 0; i < nqueues; i++) {
    Queue *q = &queues[i];
    uint64_t rank = ((uint64_t)q->number + (uint64_t)q->launch * 31 + salt) * 0x9e3779b97f4a7c15u;
    rank ^= rank >> 31;
    rank *= 0xbf58476d1ce4e5b9u;
    if (q->first && is_done(q->first->after) && (!best || rank < least))
      best = q, least = rank;
  }
  if (!best)
    return false;
  Job *j = best->first;
  best->first = j->next;
  best->last = best->first ? best->last : NULL;
  if (!best->first && best->launch)
    *best = queues[--nqueues];
  make(j);
  return true;
}

/* Does what it takes for job `number` to be done. */
static void finish(int64_t number) {
  while (!is_done(number))
    if (!make_one()) {
      fault("streams wait for each other");
      return;
    }
}

/* ---------------------------------------------------------------- what is captured */

/* The jobs of a graph, in the order in which they were captured. */
struct Jobs {
  Job *list;
  int n, room;
};

Jobs *jobs_copy(const Jobs *from) {
  Jobs *to = calloc(1, sizeof *to);
  if (from && from->n) {
    *to = (Jobs){malloc(sizeof *to->list * (size_t)from->n), from->n, from->n};
    memcpy(to->list, from->list, sizeof *to->list * (size_t)from->n);
  }
  return to;
}

void jobs_free(Jobs *x) {
  if (x)
    free(x->list);
  free(x);
}

static int64_t capture(const Job *j) {
  Jobs *x = rt.captured->jobs ? rt.captured->jobs : (rt.captured->jobs = jobs_copy(NULL));
  if (x->n == x->room)
    x->list = realloc(x->list, sizeof *x->list * (size_t)(x->room = 2 * x->room + 64));
  x->list[x->n] = *j;
  return ++x->n;
}

/* Is what is put into the stream captured? */
static bool is_captured(void *stream) {
  const Capture *c = capture_of(stream);
  return rt.capturing && c && c->in;
}

/* Puts the job into the stream; its number there. */
static int64_t put(void *stream, Job *j) {
  IN_TURN;
  j->stream = stream_key(stream);
  j->device = current_device;
  if (is_captured(stream))
    return capture(j);
  Job *own = add_job(j);
  int64_t number = own->number;
  append(queue_of(j->stream, 0), own);
  for (uint64_t n = draw() % 8; n > 5; n--)
    make_one();
  const char *ahead = getenv("STC_STANDIN_AHEAD");
  while (ahead && undone > atoll(ahead) && j->kind == JOB_LAUNCH && make_one())
    ;
  return number;
}

/* ---------------------------------------------------------------- what the other files call */

void order_launch(void *stream, Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared,
                  void **args, int line) {
  if (!computes())
    return;
  Job j = {.kind = JOB_LAUNCH, .kernel = k, .shared = shared, .line = line};
  memcpy(j.grid, grid, sizeof j.grid);
  memcpy(j.block, block, sizeof j.block);
  for (int i = 0; i < k->nargs; i++)
    memcpy(&j.values[i], args[i], (size_t)k->size[i]);
  put(stream, &j);
}

void box_copy(const Box *b) {
  for (size_t z = 0; z < b->depth; z++)
    for (size_t y = 0; y < b->height; y++)
      memcpy((char *)(uintptr_t)b->to + (z * b->to_height + y) * b->to_pitch,
             (const char *)(uintptr_t)b->from + (z * b->from_height + y) * b->from_pitch, b->width);
}

void order_copy(void *stream, const Box *b) {
  if (!computes())
    box_copy(b);
  else
    put(stream, &(Job){.kind = JOB_COPY, .box = *b, .line = -1});
}

void order_set(void *stream, uint64_t to, unsigned char value, size_t size) {
  if (!computes())
    memset((void *)(uintptr_t)to, value, size);
  else
    put(stream, &(Job){.kind = JOB_SET, .box = {.to = to, .width = size}, .byte = value, .line = -1});
}

int64_t order_record(void *stream) { return computes() ? put(stream, &(Job){.kind = JOB_NOTHING, .line = -1}) : 0; }

/* Is the wait one that STC_STANDIN_DEAF=N/M+S leaves out: behind the first S the last of it is number N of every M? */
static bool is_deaf(void) {
  static int64_t waits;
  const char *deaf = getenv("STC_STANDIN_DEAF"), *of = deaf ? strchr(deaf, '/') : NULL,
             *from = of ? strchr(of, '+') : NULL;
  int64_t n = waits++ - (from ? atoll(from + 1) : 0);
  return of && n >= 0 && n % atoll(of + 1) == atoll(deaf);
}

void order_wait(void *stream, const Event *e) {
  if (!computes() || is_deaf() || !e->job)
    return;
  IN_TURN;
  Job j = {.kind = JOB_NOTHING, .after = e->job, .line = -1};
  if (e->capture && !is_captured(stream)) /* the stream is in the capture from now on */
    j.stream = stream_key(stream), j.device = current_device, capture(&j);
  else
    put(stream, &j);
}

void order_graph(const Graph *g, void *stream) {
  if (!computes())
    return;
  IN_TURN;
  const Jobs *x = g->jobs;
  Queue *main = queue_of(stream_key(stream), 0);
  int64_t first = njobs, ahead = main->tail, launch = ++graphs;
  for (int i = 0; x && i < x->n; i++) {
    Job *j = add_job(&x->list[i]);
    Queue *q = queue_of(j->stream, launch);
    j->after = j->after ? first + j->after : q->tail ? 0 : ahead;
    append(q, j);
  }
  for (int64_t i = first + 1, end = njobs; i <= end; i++) {
    Job *j = add_job(&(Job){.kind = JOB_NOTHING, .after = i});
    append(queue_of(stream_key(stream), 0), j);
  }
}

void order_set_node(Graph *g, int line, void **args) {
  Jobs *x = g->jobs;
  for (int i = 0; x && i < x->n; i++)
    if (x->list[i].line == line)
      for (int a = 0; a < x->list[i].kernel->nargs; a++)
        memcpy(&x->list[i].values[a], args[a], (size_t)x->list[i].kernel->size[a]);
}

void order_await(const Event *e) {
  if (!computes() || e->capture)
    return;
  IN_TURN;
  finish(e->job);
}

void order_await_stream(void *stream) {
  if (!computes())
    return;
  IN_TURN;
  finish(queue_of(stream_key(stream), 0)->tail);
}

void order_await_device(void) {
  if (!computes())
    return;
  IN_TURN;
  for (int i = 0; i < nqueues; i++)
    if (queues[i].device == current_device && queues[i].first) {
      finish(queues[i].last->number);
      i = -1;
    }
}

void order_await_all(void) {
  if (!computes())
    return;
  IN_TURN;
  while (make_one())
    ;
}
