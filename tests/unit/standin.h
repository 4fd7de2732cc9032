/* tests/unit/standin.h: what tests beside the stand-ins for drivers' libraries share: a context that keeps its first
 * message, and the log of the stand-in. */
#ifndef STC_TESTS_STANDIN_H
#define STC_TESTS_STANDIN_H

#include <stdio.h>
#include <string.h>

#include "driver/tune/trial.h"
#define OWN_MAIN
#include "tests/unit/testing.h"

typedef struct World {
  Messages messages;
  StcContext *c;
  char log_path[64], *log;
  bool dense; /* somebody asks for the memory of a field, so that rows are dense */
  bool anew;  /* the driver cannot set what a launch of a graph takes */
} World;

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  w->c = stc_context_new(&config);
  snprintf(w->log_path, sizeof w->log_path, "/tmp/standin_test.%d.log", (int)getpid());
  setenv("STC_STANDIN_LOG", w->log_path, 1);
  *state = w;
  return 0;
}

static int free_world(void **state) {
  World *w = *state;
  unlink(w->log_path);
  unsetenv("STC_STANDIN_FAIL");
  stc_context_free(w->c);
  free(w->log);
  free(w);
  return 0;
}

#endif
