/* driver/view/view-events.c: news for pages, as server-sent events. Each event contains the whole state, so a page that
 * reads slowly misses some events and gets the latest. */
#include "driver/view/view-serve.h"

#ifdef STC_HAS_VIEW
#include <stdlib.h>
#include <string.h>

/* The largest number of bytes of an event; longer ones are not sent. */
enum { EVENT_BYTES = 65536 };

/* Writes the news for `l` to `to`; returns their bytes, 0 if there are none. The caller holds the lock. */
static ssize_t write_news(Listener *l, char *to, size_t room) {
  StcView *v = l->view;
  if (v->over && l->told_end)
    return MHD_CONTENT_READER_END_OF_STREAM;
  if (v->over) {
    l->told_end = true;
    return snprintf(to, room, "event: end\ndata: {}\n\n");
  }
  if (l->had == v->news)
    return 0;
  l->had = v->news;
  char *state = view_state(v);
  int n = state ? snprintf(to, room, "data: %s\n\n", state) : 0;
  free(state);
  return n > 0 && (size_t)n < room ? n : snprintf(to, room, ": too long\n\n");
}

/* Passes bytes to the server for sending (a content reader); while there are none, the connection sleeps. */
static ssize_t read_news(void *user, uint64_t at, char *to, size_t room) {
  Listener *l = user;
  (void)at;
  pthread_mutex_lock(&l->view->lock);
  ssize_t n = write_news(l, to, room);
  if (n == 0) {
    l->asleep = true;
    MHD_suspend_connection(l->connection);
  }
  pthread_mutex_unlock(&l->view->lock);
  return n;
}

/* Removes a page that has been closed. */
static void forget(void *user) {
  Listener *l = user;
  StcView *v = l->view;
  pthread_mutex_lock(&v->lock);
  Listener **at = &v->server->listeners;
  while (*at != l)
    at = &(*at)->next;
  *at = l->next;
  v->pages--;
  pthread_cond_broadcast(&v->changed);
  pthread_mutex_unlock(&v->lock);
  free(l);
}

void events_wake(StcView *v) {
  for (Listener *l = v->server ? v->server->listeners : NULL; l; l = l->next)
    if (l->asleep) {
      l->asleep = false;
      MHD_resume_connection(l->connection);
    }
}

enum MHD_Result events_answer(StcView *v, struct MHD_Connection *c) {
  Listener *l = calloc(1, sizeof *l);
  if (!l)
    return MHD_NO;
  *l = (Listener){.view = v, .connection = c, .had = -1};
  pthread_mutex_lock(&v->lock);
  l->next = v->server->listeners;
  v->server->listeners = l;
  v->pages++;
  v->ever = true;
  pthread_mutex_unlock(&v->lock);
  struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BYTES, read_news, l, forget);
  if (!r) {
    forget(l);
    return MHD_NO;
  }
  return server_send(c, MHD_HTTP_OK, "text/event-stream", r);
}
#else
typedef int stc_has_no_events;
#endif
