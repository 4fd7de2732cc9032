/* threads_test.c: several contexts with their programs and plans in several threads at once, and runs in the
 * background: the same results as alone; and a film that a thread writes while a run goes on. It is built once more
 * with the thread sanitizer (tests/CMakeLists.txt), which sees all code but LLVM's and the kernels'. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/stc.h"

enum { THREADS = 4, N = 96, POINTS = N * N };

static const char *const text = "param N = 96;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield U : f32 on G history "
                                "1;\nreduce total = sum(U) over G every 5;\n"
                                "stencil s(U)[1 .. N-2, 1 .. N-2] = 0.4 * (U[-1,0] + U[1,0] + U[0,-1]) - 0.3 * U@1;\n";

/* What a thread does and comes to. */
typedef struct Work {
  const char *device;
  bool background;
  float values[POINTS];
  double total;
  StcStatus status;
} Work;

/* Keeps the last total. */
static void take_total(void *user, const StcReduction *r) { ((Work *)user)->total = r->f; }

/* Waits for a run in the background. */
static StcStatus run(Work *w, StcPlan *plan, int64_t steps) {
  if (!w->background)
    return stc_plan_run(plan, steps, NULL);
  StcStatus s = stc_plan_run_async(plan, steps);
  while (!s && stc_plan_busy(plan))
    usleep(500);
  return s ? s : stc_plan_wait(plan, NULL);
}

/* Compiles, runs, reads: twice, by two plans of a program of its own context. */
static void *work(void *arg) {
  Work *w = arg;
  StcContext *c = stc_context_new(NULL);
  StcProgram *p = NULL;
  w->status = stc_compile_string(c, "p.stn", text, NULL, &p);
  for (int round = 0; round < 2 && !w->status; round++) {
    StcPlan *plan = NULL;
    for (int i = 0; i < POINTS; i++)
      w->values[i] = (float)(i * 7919 % 1000) / 1000;
    w->status = stc_plan_new(p, w->device, 0, NULL, &plan);
    if (!w->status)
      w->status = stc_plan_set(plan, 0, w->values, sizeof w->values);
    stc_plan_series(plan, take_total, w);
    if (!w->status)
      w->status = run(w, plan, 20);
    if (!w->status)
      w->status = stc_plan_get(plan, 0, w->values, sizeof w->values);
    stc_plan_free(plan);
  }
  stc_program_free(p);
  stc_context_free(c);
  return NULL;
}

/* A run that writes a film of all steps, so many and so short ones that some are taken just when one before is done. */
static int write_film(void) {
  char folder[] = "/tmp/stc-threads-XXXXXX", path[64], film[64];
  if (!mkdtemp(folder))
    return fputs("no folder\n", stderr), 1;
  snprintf(path, sizeof path, "%s/p.stn", folder);
  snprintf(film, sizeof film, "U=%s/U.apng", folder);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f))
    return fputs("no program\n", stderr), 1;
  char *words[] = {"stc",        "run",   "--quiet", "--device=ref", "-DN=16", "--steps=12000", "--every=1", "--in",
                   "U=random:1", "--png", film,      path,           NULL};
  int status = stc_main((int)(sizeof words / sizeof *words) - 1, words);
  unlink(film + strlen("U="));
  unlink(path);
  rmdir(folder);
  return status;
}

int main(void) {
  static const char *const devices[THREADS] = {"host:2", "host:1", "host:2", "host:3"};
  static Work works[THREADS], alone = {.device = "host:1"};
  pthread_t threads[THREADS];
  int wrong = 0;
  for (int i = 0; i < THREADS; i++) {
    works[i].device = devices[i];
    works[i].background = i % 2;
    if (pthread_create(&threads[i], NULL, work, &works[i]))
      return fputs("no thread\n", stderr), 2;
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  work(&alone);
  for (int i = 0; i < THREADS; i++)
    if (works[i].status || alone.status || memcmp(works[i].values, alone.values, sizeof alone.values) ||
        works[i].total != alone.total)
      wrong +=
          fprintf(stderr, "thread %d: status %d, total %g for %g\n", i, works[i].status, works[i].total, alone.total);
  return wrong != 0 || write_film() != 0;
}
