/* driver/view/view-serve.h: the server of a view, as the files that use libmicrohttpd see it: view-serve.c,
 * view-events.c. */
#ifndef STC_DRIVER_VIEW_SERVE_H
#define STC_DRIVER_VIEW_SERVE_H

#include "driver/view/view.h"

/* A file of the page, which is part of this program. */
typedef struct PageFile {
  const char *name, *type;
  const char *bytes, *end;
} PageFile;
extern const PageFile page_files[];
extern const int npage_files;

#ifdef STC_HAS_VIEW
#include <microhttpd.h>

/* A page that is told news: which it has had; asleep: there were none for it. */
typedef struct Listener {
  StcView *view;
  struct MHD_Connection *connection;
  int64_t had;
  bool asleep, told_end;
  struct Listener *next;
} Listener;

/* token: what the path of a page begins with. loopback: it serves this computer alone. */
struct Server {
  struct MHD_Daemon *daemon;
  char token[33];
  bool loopback;
  Listener *listeners;
};

/* Answers with news, from now on. */
enum MHD_Result events_answer(StcView *v, struct MHD_Connection *c);
/* Wakes all who listen (with the lock held). */
void events_wake(StcView *v);
/* Sends `r`, which is given up, with the headers that all answers have. */
enum MHD_Result server_send(struct MHD_Connection *c, unsigned status, const char *type, struct MHD_Response *r);
#endif

#endif
