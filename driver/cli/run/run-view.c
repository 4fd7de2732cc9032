/* driver/cli/run/run-view.c: `stc run --view`: the page that shows the run, and has it wait, begin anew and so on. A
 * run that writes files, or is checked, is made as it was asked for all the same. */
#include "driver/cli/run/job.h"
#include "driver/view/view.h"

#include <stdio.h>

/* Why the run must be made as it was asked for; NULL: it need not. */
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
