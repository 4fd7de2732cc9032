/* The threads of the host device: every tile is run once, whoever runs it; which thread is on which node of memory. */
#define _GNU_SOURCE
#include "driver/device/host.h"

#include "tests/unit/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 7, COLUMNS = 13, THREADS = 5 };

/* What tiles leave: how often each was run, and by whom, as told by its scratch. */
typedef struct Seen {
  atomic_int count[ROWS][COLUMNS];
  char *scratch[ROWS][COLUMNS];
  atomic_int hold;
} Seen;

/* Counts the tile. The thread that has the first one waits until all others are done, so that what is left of its share
 * must be taken by others. */
static void count_tile(void *const *args, const int64_t *block, char *scratch) {
  Seen *s = args[0];
  atomic_fetch_add(&s->count[block[0]][block[1]], 1);
  s->scratch[block[0]][block[1]] = scratch;
  if (block[0] == 0 && block[1] == 0)
    while (atomic_load(&s->hold) > 0)
      sched_yield();
  atomic_fetch_sub(&s->hold, 1);
}

/* All tiles, once each, although one thread is stuck in its first; those of its share that it had not taken go to
 * others. */
TEST(runs_all_tiles) {
  HostPool p = {0};
  Seen s = {.hold = ROWS * COLUMNS - ROWS * COLUMNS / THREADS / 4 - 2};
  assert_true(host_pool_start(&p, THREADS, 4096));
  host_pool_run(&p, count_tile, (void *[]){&s}, 2, (int64_t[]){ROWS, COLUMNS});
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      assert_int_equal(atomic_load(&s.count[i][j]), 1);
  assert_ptr_not_equal(s.scratch[1][0], s.scratch[0][0]);
  host_pool_stop(&p);
}

/* Notes which scratch, that is which thread, ran the share. */
static void note_share(void *const *args, const int64_t *block, char *scratch) {
  ((char **)args[0])[block[0]] = scratch;
}

/* Adds one to the count of the tile. */
static void add_tile(void *const *args, const int64_t *block, char *scratch) {
  atomic_int *count = args[0];
  (void)scratch;
  atomic_fetch_add(&count[block[0]], 1);
}

/* Of many launches each has run all its tiles once when it ends, whether threads ask for it or sleep: as CPUs are
 * there, asking, and with waits between that are longer than their patience. */
TEST(runs_many_launches) {
  enum { LAUNCHES = 150 };
  for (int kind = 0; kind < 3; kind++) {
    HostPool p = {.alert = kind > 0};
    atomic_int count[COLUMNS] = {0};
    int wrong = 0;
    assert_true(host_pool_start(&p, THREADS, 4096));
    for (int i = 1; i <= LAUNCHES; i++) {
      host_pool_run(&p, add_tile, (void *[]){count}, 1, (int64_t[]){COLUMNS});
      for (int k = 0; k < COLUMNS; k++)
        wrong += atomic_load(&count[k]) != i;
      if (kind == 2 && i % 10 == 0)
        usleep(200);
    }
    host_pool_stop(&p);
    assert_int_equal(wrong, 0);
  }
}

/* Each thread runs the share that has its number, none that of another. */
TEST(each_runs_its_own) {
  HostPool p = {0};
  char *ran[THREADS] = {0};
  assert_true(host_pool_start(&p, THREADS, (size_t)3 << 20));
  for (int turn = 0; turn < 20; turn++) {
    host_pool_each(&p, note_share, (void *[]){ran});
    for (int i = 0; i < THREADS; i++)
      assert_ptr_equal(ran[i], p.workers[i].scratch);
  }
  assert_int_equal((uintptr_t)ran[0] % (1 << 21), 0);
  host_pool_stop(&p);
}

/* In a process that fork has made, whose threads are all but one gone, the pool works, too, and ends. */
TEST(works_behind_fork) {
  HostPool p = {0};
  char *ran[THREADS] = {0};
  int answer = 1;
  assert_true(host_pool_start(&p, THREADS, 4096));
  host_pool_each(&p, note_share, (void *[]){ran});
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    memset(ran, 0, sizeof ran);
    host_pool_each(&p, note_share, (void *[]){ran});
    bool all = true;
    for (int i = 0; i < THREADS; i++)
      all = all && ran[i] == p.workers[i].scratch;
    host_pool_stop(&p);
    _exit(all ? 0 : 2);
  }
  assert_int_equal(waitpid(child, &answer, 0), child);
  assert_int_equal(answer, 0);
  host_pool_each(&p, note_share, (void *[]){ran});
  host_pool_stop(&p);
}

/* No tiles, one tile and one thread are no special cases to the caller. */
TEST(few_tiles) {
  for (int threads = 1; threads < 4; threads++)
    for (int n = 0; n < 4; n++) {
      HostPool p = {0};
      Seen s = {.hold = 0};
      assert_true(host_pool_start(&p, threads, 64));
      host_pool_run(&p, count_tile, (void *[]){&s}, 2, (int64_t[]){1, n});
      for (int j = 0; j < 4; j++)
        assert_int_equal(atomic_load(&s.count[0][j]), j < n);
      host_pool_stop(&p);
    }
}

/* Writes FOLDER/nodeN/cpulist. */
static void write_node(const char *folder, int node, const char *list) {
  char path[256];
  snprintf(path, sizeof path, "%s/node%d", folder, node);
  assert_int_equal(mkdir(path, 0700), 0);
  strcat(path, "/cpulist");
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(list, f);
  fclose(f);
}

/* Removes what write_node wrote. */
static void remove_node(const char *folder, int node) {
  char path[256];
  snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
  unlink(path);
  snprintf(path, sizeof path, "%s/node%d", folder, node);
  rmdir(path);
}

/* A set of CPUs from first to last. */
static cpu_set_t cpus(int first, int last) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = first; i <= last; i++)
    CPU_SET((size_t)i, &set);
  return set;
}

/* Two nodes with gaps in their numbers and lists, of whose CPUs the process may use some; a node without any of them
 * does not count. */
TEST(nodes_are_read) {
  char folder[] = "/tmp/stc-nodes-XXXXXX";
  HostNodes n;
  assert_non_null(mkdtemp(folder));
  write_node(folder, 0, "0-3,8\n");
  write_node(folder, 2, "4-7,9-11\n");
  write_node(folder, 3, "12-15\n");
  cpu_set_t allowed = cpus(2, 9);
  host_nodes(folder, &allowed, &n);
  assert_int_equal(n.n, 2);
  assert_int_equal(CPU_COUNT(&n.cpus[0]), 3);
  assert_true(CPU_ISSET(2, &n.cpus[0]) && CPU_ISSET(3, &n.cpus[0]) && CPU_ISSET(8, &n.cpus[0]));
  assert_int_equal(CPU_COUNT(&n.cpus[1]), 5);
  assert_true(CPU_ISSET(4, &n.cpus[1]) && CPU_ISSET(7, &n.cpus[1]) && CPU_ISSET(9, &n.cpus[1]));
  int with[2] = {0};
  for (int i = 0; i < 16; i++)
    with[host_node_of(&n, i, 16)]++;
  assert_int_equal(with[0], 6);
  assert_int_equal(with[1], 10);
  assert_int_equal(host_node_of(&n, 0, 16), 0);
  assert_int_equal(host_node_of(&n, 15, 16), 1);
  for (int i = 0; i < 4; i++)
    remove_node(folder, i);
  rmdir(folder);
}

/* Where the system does not tell, or not of all CPUs, there is one node. */
TEST(unknown_is_one_node) {
  HostNodes n;
  cpu_set_t allowed = cpus(0, 5);
  host_nodes("/nowhere", &allowed, &n);
  assert_int_equal(n.n, 1);
  assert_int_equal(CPU_COUNT(&n.cpus[0]), 6);
  assert_int_equal(host_node_of(&n, 3, 4), 0);
}

/* Tiles are left out once the request that the pool obeys, or one beside that, is older than its own grace; a request
 * to make whole steps, or one that was taken back, leaves out none. */
TEST(stops_within_a_launch) {
  static const struct {
    long long grace;
    bool asked, torn;
  } cases[] = {{0, true, true}, {0, false, false}, {STOP_WHOLE_STEPS, true, false}};
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof cases[0]); i++) {
    bool beside = i % 2;
    HostPool p = {0};
    Seen s = {0};
    Stop of_user = {.grace = cases[i / 2].grace}, of_plan = {.grace = beside ? STOP_WHOLE_STEPS : of_user.grace};
    of_plan.also = beside ? &of_user : NULL;
    stop_ask(beside ? &of_user : &of_plan, true);
    stop_ask(beside ? &of_user : &of_plan, cases[i / 2].asked);
    assert_true(stop_asked(&of_plan) == cases[i / 2].asked);
    p.stop = &of_plan;
    assert_true(host_pool_start(&p, 2, 64));
    host_pool_run(&p, count_tile, (void *[]){&s}, 2, (const int64_t[]){ROWS, COLUMNS});
    host_pool_stop(&p);
    assert_true(p.torn == cases[i / 2].torn && atomic_load(&s.count[ROWS - 1][COLUMNS - 1]) == !cases[i / 2].torn);
  }
}
