/* tests/unit/ring_test.c: what ends a machine in the ring of them, and what does not: all of them are threads of this
 * process, whose rings are opened together and then asked in turns. */
#include "driver/split/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/testing.h"
#include <pthread.h>

enum { MOST = 4, TURN = 5 };

/* Ranks, on the machines that `machine` says; what they have gathered. */
static struct {
  int size, machine[MOST];
  Ring *ring[MOST];
  pthread_t thread[MOST];
  pthread_barrier_t all;
  char gathered[MOST * 4096];
} run;

/* Net.gather among the threads. */
static void gather(Net *net, const void *mine, size_t size, void *all) {
  memcpy(run.gathered + (size_t)net->rank * size, mine, size);
  pthread_barrier_wait(&run.all);
  memcpy(all, run.gathered, (size_t)net->size * size);
}

/* A rank opens its ring (a thread's life). */
static void *open_one(void *arg) {
  static const bool beside[MOST] = {true, true, true, true};
  Net net = {.rank = (int)((Ring **)arg - run.ring), .size = run.size, .gather = gather};
  run.ring[net.rank] = ring_open(&net, run.machine, beside);
  return NULL;
}

/* One turn of a ring; the news. */
static int64_t turn(int rank) {
  struct pollfd polls[RING_POLLS];
  int most = ring_polls(run.ring[rank], polls);
  int seen = poll(polls, RING_POLLS, most == 0 ? 0 : TURN);
  return ring_hear(run.ring[rank], polls, seen == 0 && most == 0);
}

/* What rank `rank` hears within some turns of all that are there. */
static int64_t hear(int rank, int turns) {
  int64_t news = NEWS_NONE;
  for (int i = 0; i < turns && news == NEWS_NONE; i++)
    for (int k = 0; k < run.size; k++) {
      int64_t n = run.ring[k] ? turn(k) : NEWS_NONE;
      news = k == rank && n != NEWS_NONE ? n : news;
    }
  return news;
}

/* Opens the rings of `size` ranks on the machines that are named, and has them connect. */
static void start(int size, const int *machine) {
  run.size = size;
  memcpy(run.machine, machine, (size_t)size * sizeof *machine);
  pthread_barrier_init(&run.all, NULL, (unsigned)size);
  for (int i = 0; i < size; i++)
    pthread_create(&run.thread[i], NULL, open_one, &run.ring[i]);
  for (int i = 0; i < size; i++)
    pthread_join(run.thread[i], NULL);
  assert_int_equal(hear(0, 8), NEWS_NONE);
}

/* A rank ends: all that it has is closed. */
static void end(int rank) {
  ring_close(run.ring[rank]);
  run.ring[rank] = NULL;
}

/* All of them end. */
static void stop(void) {
  for (int i = 0; i < run.size; i++)
    end(i);
  pthread_barrier_destroy(&run.all);
}

/* The connection that rank `rank` has been asked for (2) or has asked for (3). */
static int connection(int rank, int which) {
  struct pollfd polls[RING_POLLS];
  ring_polls(run.ring[rank], polls);
  assert_true(polls[which].fd >= 0);
  return polls[which].fd;
}

/* A machine that has ended is told by the one before it, on which it is to say so, and by no other. */
TEST(test_ended) {
  start(3, (int[]){0, 1, 2});
  end(1);
  assert_int_equal(hear(0, 8), 1);
  assert_true(ring_speaks(run.ring[0], 1));
  assert_false(ring_speaks(run.ring[2], 1));
  ring_say(run.ring[0], 1);
  assert_int_equal(hear(2, 8), 1);
  stop();
}

/* Where a rank of that machine is left, that one says it. */
TEST(test_others) {
  start(4, (int[]){0, 1, 1, 0});
  end(1);
  assert_int_equal(hear(0, 8), 1);
  assert_false(ring_speaks(run.ring[0], 1));
  end(2);
  assert_true(ring_speaks(run.ring[0], 1));
  stop();
}

/* One that says so before, whose connection is reset, or is ended while it goes on to listen, has not ended. */
TEST(test_going_on) {
  const struct linger reset = {1, 0};
  start(2, (int[]){0, 1});
  ring_say(run.ring[1], NEWS_ENDS);
  end(1);
  assert_int_equal(hear(0, 8), NEWS_NONE);
  stop();
  start(2, (int[]){0, 1});
  assert_int_equal(setsockopt(connection(1, 2), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  end(1);
  assert_int_equal(hear(0, 8), NEWS_NONE);
  stop();
  start(2, (int[]){0, 1});
  assert_int_equal(shutdown(connection(1, 2), SHUT_RDWR), 0);
  assert_int_equal(hear(0, 8), NEWS_NONE);
  stop();
}

/* News goes both ways; one machine needs no ring. */
TEST(test_news) {
  start(3, (int[]){0, 1, 2});
  ring_say(run.ring[1], NEWS_ABORTS);
  assert_int_equal(hear(0, 8), NEWS_ABORTS);
  stop();
  start(3, (int[]){0, 1, 2});
  ring_say(run.ring[1], 7);
  assert_int_equal(hear(2, 8), 7);
  stop();
  run.size = 2;
  memset(run.machine, 0, sizeof run.machine);
  open_one(&run.ring[0]);
  assert_null(run.ring[0]);
}
