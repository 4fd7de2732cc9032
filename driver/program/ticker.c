/* driver/program/ticker.c: shows on a terminal what the command is compiling, if that takes long. */
#include "driver/program/program.h"

#include <stdio.h>
#include <time.h>

/* Seconds before the first line, and between two lines. */
#define FIRST_WORD 2.0
#define NEXT_WORD (1.0 / 5)

/* Draws the line, if anything is being compiled. */
static void draw(Working *w) {
  int of = atomic_load(&w->of), done = atomic_load(&w->done);
  if (of == 0)
    return;
  atomic_store(&w->drawn, 1);
  if (of < 0)
    fprintf(stderr, "\rchoosing a schedule and making kernels ...\033[K");
  else if (done == 0)
    fprintf(stderr, "\rcompiling %d kernel%s ...\033[K", of, of == 1 ? "" : "s");
  else
    fprintf(stderr, "\rcompiling kernel %d of %d ...\033[K", done < of ? done + 1 : of, of);
  fflush(stderr);
}

void working_end(Working *w) {
  atomic_store(&w->of, 0);
  if (atomic_exchange(&w->drawn, 0))
    fprintf(stderr, "\r\033[K");
}

/* The function of the thread. */
static void *tick(void *arg) {
  Ticker *t = arg;
  double begun = -1;
  while (!atomic_load(&t->over)) {
    double now = clock_seconds();
    bool working = atomic_load(&t->context->working.of) != 0;
    begun = !working ? -1 : begun < 0 ? now : begun;
    if (working && now - begun > FIRST_WORD)
      draw(&t->context->working);
    nanosleep(&(struct timespec){0, (long)(NEXT_WORD * 1e9)}, NULL);
  }
  return NULL;
}

void ticker_start(Ticker *t, StcContext *c, bool terminal) {
  *t = (Ticker){.context = c};
  t->on = terminal && pthread_create(&t->thread, NULL, tick, t) == 0;
}

void ticker_end(Ticker *t) {
  atomic_store(&t->over, true);
  if (t->on)
    pthread_join(t->thread, NULL);
  t->on = false;
  working_end(&t->context->working);
}
