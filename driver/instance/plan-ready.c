/* driver/instance/plan-ready.c: may a plan's values be read? Waits for a run in a thread, and reports an error if a run
 * was stopped within a step, or if the plan does not have its values as a whole. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

StcStatus plan_join(StcPlan *p) {
  Background *b = &p->back;
  if (!b->pending || !b->threaded || pthread_equal(b->thread, pthread_self()))
    return STC_OK;
  pthread_join(b->thread, NULL);
  b->threaded = false;
  return b->status;
}

StcStatus plan_check_torn(StcPlan *p) {
  if (!p->run.torn)
    return STC_OK;
  return context_error(p->w.context,
                       "the last run was stopped within a time step, so the fields have no values: have the plan begin "
                       "anew (stc_plan_restart), and set those that have no init"),
         STC_INPUT;
}

bool plan_is_facade(const StcPlan *p, const char *name) {
  if (p->facade)
    context_error(p->w.context, "field %s is not on this rank as a whole", name);
  return p->facade;
}
