/* driver/cli/run/run-view.c: `stc run --view`: opens the page that shows the run, and lets the user pause it, start it
 * again and so on. A run that writes files, or is checked, still runs as requested. */
#include "driver/cli/run/job.h"
#include "driver/view/view.h"

#include <stdio.h>

/* The reason why the run must be made as requested; NULL if there is none. */
static const char *why_bound(const Command *c) {
  bool files = c->nout || c->npng || c->checkpoint || c->log;
  return files ? "the run writes files, which are to be of one run" : c->check ? "the run is checked" : NULL;
}

StcStatus view_begin(Job *j) {
  const Command *c = j->c;
  if (!c->view)
    return STC_OK;
  StcStatus s = stc_view_open(j->plan, c->view, &j->view);
  if (s)
    return s;
  view_will_stay(j->view, why_bound(c));
  fprintf(stderr, "view: %s\n", stc_view_url(j->view));
  fflush(stderr);
  return STC_OK;
}

StcStatus view_go_on(Job *j) {
  if (!j->view)
    return STC_OK;
  fprintf(stderr, "the run is done; its page stays until you close it (Ctrl-C ends)\n");
  fflush(stdout);
  StcStatus s = view_stay(j->view);
  progress_end(&j->progress);
  return s;
}

void view_end(Job *j) {
  stc_view_close(j->view);
  j->view = NULL;
}
