/* driver/instance/plan-async.c: runs that the caller does not wait for: in a stream if the device has streams, else in
 * a thread; the caller's streams and events. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* The function of a thread that makes a run. */
static void *run_in_thread(void *arg) {
  StcPlan *p = arg;
  p->back.status = plan_run_steps(p, p->back.steps, true, &p->back.info);
  atomic_store(&p->back.ended, true);
  return NULL;
}

StcStatus stc_plan_run_async(StcPlan *p, int64_t steps) {
  Background *b = &p->back;
  StcStatus s = plan_join(p);
  if (s)
    return s;
  if (p->split && p->split_ops->has_ranks(p)) {
    *b = (Background){0};
    return b->status = plan_run_steps(p, steps, true, &b->info);
  }
  *b = (Background){.pending = true, .steps = steps, .first = p->run.done, .launches = p->run.launches};
  if (p->device.kind->use_stream) {
    s = plan_run_steps(p, steps, false, NULL);
    b->pending = !s;
    return s;
  }
  b->threaded = pthread_create(&b->thread, NULL, run_in_thread, p) == 0;
  b->pending = b->threaded;
  return b->threaded ? STC_OK : (context_error(p->w.context, "no thread is left for a run"), STC_MEMORY);
}

/* Ends a run in a stream. The next one launches only blocks that have something to do, like a run that is waited for.
 */
static StcStatus stop_guarded(void *arg) {
  StcPlan *p = arg;
  double seconds = 0;
  StcStatus s = p->device.kind->stop(&p->device, &seconds);
  p->back.info = plan_run_info(p, p->back.first, p->back.launches, seconds);
  return s || p->split ? s : plan_find_late(p);
}

StcStatus stc_plan_wait(StcPlan *p, StcRunInfo *info) {
  Background *b = &p->back;
  StcStatus s = STC_OK;
  if (b->pending)
    s = p->device.kind->use_stream ? workspace_guard(&p->w, stop_guarded, p) : plan_join(p);
  b->pending = false;
  if (!s && info)
    *info = b->info;
  return s;
}

bool stc_plan_busy(StcPlan *p) {
  return p->back.pending && (p->device.kind->use_stream || (p->back.threaded && !atomic_load(&p->back.ended)));
}

/* The argument of the guarded function for a stream or an event. */
typedef struct StreamArgs {
  StcPlan *p;
  StcStatus (*fn)(Device *d, void *handle);
  void *handle;
} StreamArgs;

/* Calls the device's function. */
static StcStatus stream_guarded(void *arg) {
  StreamArgs *a = arg;
  return a->fn(&a->p->device, a->handle);
}

/* Calls `fn` for a handle of the caller, if the device supports such handles. */
static StcStatus use(StcPlan *p, StcStatus (*fn)(Device *d, void *handle), void *handle) {
  StreamArgs args = {p, fn, handle};
  if (!fn)
    return context_error(p->w.context, "device %s has no streams and events; cuda and hip have", p->device.name),
           STC_USAGE;
  return workspace_guard(&p->w, stream_guarded, &args);
}

StcStatus stc_plan_stream(StcPlan *p, void *stream) { return use(p, p->device.kind->use_stream, stream); }
StcStatus stc_plan_wait_event(StcPlan *p, void *event) { return use(p, p->device.kind->wait_event, event); }
StcStatus stc_plan_record_event(StcPlan *p, void *event) { return use(p, p->device.kind->record_event, event); }
