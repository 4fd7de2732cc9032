/* events.c: events, and streams that wait for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

/* The stream waits for the event: both are of one capture, or none is. False: it is neither. */
static bool wait_captured(void *stream, const Event *e) {
  Capture *c = capture_of(stream);
  if (!rt.capturing || !c)
    return true;
  if (!e->capture)
    return !c->in;
  c->in = true;
  c->made++;
  if (e->capture != c && e->capture->joined < e->made)
    e->capture->joined = e->made;
  return true;
}

int cuEventCreate(void **e, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_EVENTS; i++)
    if (!rt.events[i].used)
      return rt.events[i] = (Event){.used = true}, *e = &rt.events[i],
             flags & ~2u ? fault("cuEventCreate: flags") : SUCCESS;
  return OUT_OF_MEMORY;
}

int cuEventDestroy_v2(void *e) {
  ALONE;
  return ((Event *)e)->used ? (((Event *)e)->used = false, SUCCESS) : fault("cuEventDestroy of what is none");
}

/* Is it the stream that launches go to now? */
static bool is_front(void *stream) {
  return rt.capturing ? captor(stream) && captor(stream)->capture.in : is_main(stream);
}

int cuEventRecord(void *event, void *stream) {
  ALONE;
  Event *e = event;
  if (!e || !e->used || (!beside_stream(stream) && !is_front(stream)))
    return fault("cuEventRecord");
  rt.follows = e->stale = false;
  e->beside = beside_stream(stream);
  e->front = e->beside ? e->beside->seen : rt.front[current_device];
  e->current = current_device;
  e->copies = rt.copies;
  e->outs = rt.outs;
  e->capture = rt.capturing ? capture_of(stream) : NULL;
  if (e->capture && !e->capture->in)
    e->capture = NULL;
  e->made = e->capture ? e->capture->made : 0;
  e->job = order_record(stream);
  return SUCCESS;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  ALONE;
  const Event *e = event;
  Stream *s = beside_stream(stream);
  if (e->stale)
    return fault("cuStreamWaitEvent for what was captured"), CAPTURED_EVENT;
  if (stream == &standin_stream && e->used && !e->beside)
    return order_wait(stream, e), call("user waits for an event"), SUCCESS;
  rt.follows = false;
  order_wait(stream, e);
  if (!wait_captured(stream, e))
    return fault("cuStreamWaitEvent: a captured stream waits for what is not captured");
  if (e->used && (s || is_main(stream) || captor(stream)) && e->current != current_device)
    return call("waits for another device"), SUCCESS;
  if (!e->used || flags || (!s && !is_front(stream)) || (!s && !e->beside) || (s && s->current != current_device))
    return fault("cuStreamWaitEvent");
  if (s && s->seen < e->front)
    s->seen = e->front;
  if (s && s->copies < e->copies)
    s->copies = e->copies;
  if (s && e->beside)
    s->open |= e->beside->open;
  if (!s && e->beside && e->beside->sends) {
    call("waits for what it sends");
    e->beside->sends = false;
  }
  if (e->beside)
    e->beside->open = false;
  return SUCCESS;
}

/* Copies to the host in the event's stream are there now. */
int cuEventSynchronize(void *event) {
  ALONE;
  const Event *e = event;
  if (e->stale)
    return fault("cuEventSynchronize for what was captured"), CAPTURED_EVENT;
  order_await(e);
  for (int i = 0; i < MAX_OUT && e->used && e->beside; i++) {
    Out *o = &rt.out[i];
    if (!o->from || o->stream != e->beside || o->number > e->outs)
      continue;
    memcpy(o->to, (void *)(uintptr_t)o->at, o->size);
    o->from = NULL;
  }
  return !e->used ? fault("cuEventSynchronize") : rt.broken || to_fail("cuEventSynchronize") ? LAUNCH_FAILED : SUCCESS;
}

/* Has the stand-in for NCCL, if it is used, messages under way? */
static bool messages_pending(void) {
  void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  void *p = nccl ? dlsym(nccl, "standin_nccl_pending") : NULL;
  bool (*pending)(void) = NULL;
  memcpy(&pending, &p, sizeof p);
  bool yes = pending && pending();
  if (nccl)
    dlclose(nccl);
  return yes;
}

int cuEventQuery(void *event) {
  const Event *e = event;
  if (e->stale)
    return fault("cuEventQuery of what was captured"), CAPTURED_EVENT;
  order_await(e);
  return !e->used                               ? fault("cuEventQuery")
         : rt.broken || to_fail("cuEventQuery") ? LAUNCH_FAILED
         : messages_pending()                   ? NOT_READY
         : rt.flag && *rt.flag != rt.value      ? NOT_READY
                                                : SUCCESS;
}

int cuEventElapsedTime(float *ms, void *begin, void *end) {
  return *ms = 1, ((Event *)begin)->used && ((Event *)end)->used ? SUCCESS : fault("cuEventElapsedTime");
}
