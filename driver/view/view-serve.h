/* driver/view/view-serve.h: the server of a view, for the files that use libmicrohttpd: view-serve.c, view-events.c. */
#ifndef STC_DRIVER_VIEW_SERVE_H
#define STC_DRIVER_VIEW_SERVE_H

#include "driver/view/view.h"

/* A file of the page, which is a part of this program. */
typedef struct PageFile {
  const char *name, *type;
  const char *bytes, *end;
} PageFile;
extern const PageFile page_files[];
extern const int npage_files;

#ifdef STC_HAS_VIEW
#include <microhttpd.h>

/* A page that receives news: the number of the last news that it has received; asleep: its connection waits for news.
 */
typedef struct Listener {
  StcView *view;
  struct MHD_Connection *connection;
  int64_t had;
  bool asleep, told_end;
  struct Listener *next;
} Listener;

/* token: the first part of a page's path. loopback: the server is only for this computer. */
struct Server {
  struct MHD_Daemon *daemon;
  char token[33];
  bool loopback;
  Listener *listeners;
};

/* Answers with a stream of news. */
enum MHD_Result events_answer(StcView *v, struct MHD_Connection *c);
/* Wakes all listeners. The caller holds the lock. */
void events_wake(StcView *v);
/* Sends `r`, with the headers that all answers have, and frees it. */
enum MHD_Result server_send(struct MHD_Connection *c, unsigned status, const char *type, struct MHD_Response *r);
#endif

#endif
