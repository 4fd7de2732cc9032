/* driver/view/view.h: a view of a run: a page that this process serves, which shows a plan's fields while it runs, and
 * steers the run. Table of contents:
 *
 *   view.c         opening and closing, the address, staying open after a run
 *   view-run.c     the work of the run's thread: pauses, single steps, starting again
 *   view-values.c  the values that are shown: borrowed from the plan, or copied
 *   view-paint.c   pictures for pages, drawn by a thread beside the run
 *   view-curves.c  values of reductions and probes, a bounded number
 *   view-json.c    information for pages, as JSON
 *   view-ask.c     requests of pages, checked
 *   view-serve.c   the server: access control and answers (libmicrohttpd; view-serve.h)
 *   address.h      the address at which it is served (address.c)
 *   view-events.c  news for pages, as server-sent events
 *   view-page.c    the page's own files, which are part of this program (page/)
 *   view-gnutls.c  functions that archives of libmicrohttpd need and never call
 *
 * Three threads: the run's, the painter's and the server's. One lock is for all that they share. The run's thread alone
 * touches the plan. It lends values to the painter, which is done with them before the next are lent, and
 * waits for nobody: a page that reads slowly or not at all is the server's business. How much of the computer's time
 * goes into pictures is bounded (PAINT_SHARE): where one takes long there are fewer. */
#ifndef STC_DRIVER_VIEW_H
#define STC_DRIVER_VIEW_H

#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* The limits: wishes at one time, and points that each follows; the pixels of a side; curves and their points; bytes of
 * a page's path and of the body that it sends; params set at one time; connections; bytes for a connection's headers.
 */
enum {
  MAX_WISHES = 8,
  MAX_PINS = 8,
  MAX_SIDE = 1024,
  MAX_CURVES = 48,
  CURVE_POINTS = 1024,
  MAX_URL = 2048,
  MAX_BODY = 1024,
  MAX_SETS = 64,
  MAX_CONNECTIONS = 48,
  CONNECTION_BYTES = 16384
};
/* MOST_PICTURES: the most pictures a second; PAINT_SHARE: pictures take at most one part in so many of the computer's
 * time; LOOKS_FOR: seconds after its last request for which a page counts as looking; CLIENT_SECONDS: seconds for which
 * a client may be silent within a request. */
enum { MOST_PICTURES = 20, PAINT_SHARE = 100, LOOKS_FOR = 5, CLIENT_SECONDS = 15 };

/* The picture that a page requests: of a component of a field; of three dimensions the slice at index `at` (from 0) of
 * dimension `cut`; rows box[0] to box[1] - 1 and columns box[2] to box[3] - 1, in at most `side` pixels a side; and the
 * values at points of the field (indices from 0). */
typedef struct Wish {
  int field, component, cut, side, npins;
  int64_t at, box[4], pins[MAX_PINS][MAX_RANK];
} Wish;

/* A picture in the form in which it is sent: a head, the values at the points, and an f32 for each pixel, row by row.
 * `users` counts its users, under the lock; the last one frees it. */
typedef struct ViewFrame {
  int users;
  size_t size;
  unsigned char bytes[];
} ViewFrame;
/* The head of a frame; all numbers are little-endian. nowhere: the number of pixels that are NaN or infinite; least,
 * most: of the others. box: that of the wish, clipped to the field. */
typedef struct FrameHead {
  char magic[4]; /* "STCV" */
  uint32_t version, width, height, npins, nowhere;
  int64_t number, step;
  double least, most;
  int64_t box[4];
} FrameHead;

/* A wish, the time of its last request (clock_seconds), and its picture, NULL: none yet. drawn: the number of the
 * values from which it was drawn. */
typedef struct Looker {
  bool used;
  Wish wish;
  double asked;
  ViewFrame *frame;
  int64_t number, drawn;
} Looker;

/* The values of a component after `step` steps, from which pictures are drawn: lent, or a copy (malloc). some: only the
 * lines that `wish` shows and the points that it follows. */
typedef struct Values {
  int field, component;
  bool some;
  Wish wish;
  StcFieldInfo info;
  int64_t step;
  Loan *loan;
  void *copy;
  size_t room;
  bool there;
} Values;

/* The values of a reduction or of a probe's point: each `stride`th of them, `n` in all, and the last. */
typedef struct Curve {
  const char *name;
  int point, n;
  int64_t stride, seen;
  double step[CURVE_POINTS + 1], value[CURVE_POINTS + 1];
} Curve;

/* A param that pages may change. */
typedef struct Slider {
  int scalar;
  ParamUse use;
} Slider;

/* VIEW_IDLE: no run is active, and the plan belongs to someone else; VIEW_DONE: the view may continue the plan. */
typedef enum ViewState { VIEW_IDLE, VIEW_RUNNING, VIEW_PAUSED, VIEW_DONE } ViewState;

/* A copy of a component's values before the first run, for a run that starts again; with field -1, of the scalar (an
 * StcReduction) in launch-time array `component`. */
typedef struct Given {
  int field, component;
  size_t size;
  void *values;
  struct Given *next;
} Given;

typedef struct Server Server;

struct StcView {
  StcPlan *plan;
  StcContext *context;
  Visit visit;
  Watch *watch; /* only due when values are needed at a certain step */
  char *info, *url;
  Server *server;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;

  /* The run. from, goal: its steps; no_restart: the reason why it cannot start again, NULL: it can; stays: the view
   * continues the plan after it; asked: the number of steps of the run that the view continues, which it makes when it
   * starts again; 0: not known yet. */
  ViewState state;
  int64_t from, goal, step, asked;
  double rate, rated_at, begun;
  int64_t rated_step;
  const char *no_restart, *bound; /* bound: the reason why it must be made as requested; NULL: none */
  bool stays;
  Given *given;
  bool given_kept, given_again; /* given_again: the plan has just been set from `given` */

  /* Requests of pages that are not done yet. steps: the number of steps before the run pauses again. */
  bool paused, restart, end, stepping;
  int64_t steps;
  int nsets;
  char *sets[MAX_SETS];
  char said[160]; /* the last refusal, for pages */

  /* Pictures. taken: how often values were taken; drawing: the painter, or the thread that takes values, uses them.
   * cost: the seconds for the present pictures; held: the part of them in which the run waited; next: no other pictures
   * are drawn before this time, nor before the process has worked as long as next_worked. */
  Looker lookers[MAX_WISHES];
  int nvalues;
  Values values[MAX_WISHES];
  StcFieldInfo *infos; /* for each component of a field */
  signed char *lends;  /* likewise: does the plan lend it? 0: unknown, -1: no */
  int64_t taken, frames;
  bool drawing, painting;
  double cost, held, next, next_worked, taken_at;
  pthread_t painter;

  /* Curves; cleared: how often they were cleared. */
  int ncurves;
  Curve *curves[MAX_CURVES];
  int64_t cleared, points;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;

  int nsliders;
  Slider *sliders;

  int64_t news; /* the number of news for pages */
  int pages;    /* the pages that receive news now */
  bool ever;    /* has there been a page? */
};

/* ---------------------------------------------------------------- the run: view-run.c */

/* Has the plan's runs call the view; the other function ends this. */
StcStatus view_attach(StcView *v);
void view_detach(StcView *v);
/* After a run without errors: keeps the view open, and continues the plan as pages request, until all pages have been
 * closed or the user ends it. */
StcStatus view_stay(StcView *v);
/* For a run after which view_stay is called. bound: the reason why it must be made as requested until then, with its
 * params and without starting again; NULL: there is none. */
void view_will_stay(StcView *v, const char *bound);

/* ---------------------------------------------------------------- values: view-values.c */

/* The caller of all holds the lock. Does somebody look? Do they need values that have not been taken? Are some values
 * here? Is it cheap to take values now? view_take takes the requested values from the plan, which must be readable now;
 * view_give_back returns them, after the painter has finished with them. */
bool view_is_looked_at(const StcView *v);
bool view_lacks_values(const StcView *v);
bool view_has_values(const StcView *v);
bool view_is_cheap(const StcView *v, const StcPlan *p);
StcStatus view_take(StcView *v, StcPlan *p);
void view_give_back(StcView *v);
/* The values from which the wish is drawn; NULL if they are not here. */
Values *view_find_values(StcView *v, const Wish *w);
void view_free_values(StcView *v);

/* ---------------------------------------------------------------- pictures: view-paint.c */

/* Checks a wish against the plan's fields and clips its box to the field; false if it is invalid. */
bool wish_fits(const StcFieldInfo *f, Wish *w);
/* Finds the lines of a component that the wish, which fits it, shows: those of its rows, then one element for each of
 * its points. Returns their number; 0 if it needs more than half of the component, or columns that are not contiguous.
 */
int wish_lines(const StcFieldInfo *f, const Wish *w, Lines lines[1 + MAX_PINS]);
/* Draws the picture of a wish, from all values of a component, or (`some`) from those of its lines, one after the
 * other; NULL if there is no memory. */
ViewFrame *paint(const StcFieldInfo *f, const void *values, bool some, const Wish *w, int64_t step, int64_t number);
void frame_free(ViewFrame *f);
/* May an active run take values for further pictures now? */
bool view_may_draw(const StcView *v);
/* The main function of the painter; `user` is the view. */
void *view_paint_main(void *user);

/* ---------------------------------------------------------------- curves: view-curves.c */

/* Has the view receive the values of reductions and probes, in addition to the previous receiver; the other function
 * ends this. */
void curves_attach(StcView *v);
void curves_detach(StcView *v);
/* Removes all points of the curves. The caller holds the lock. */
void curves_clear(StcView *v);

/* ---------------------------------------------------------------- JSON: view-json.c */

/* The description of the plan before it runs; its state; the curves (malloc; for the last two the caller holds the
 * lock). NULL if there is no memory. */
char *view_info(StcView *v);
char *view_state(const StcView *v);
char *view_curves(const StcView *v);

/* ---------------------------------------------------------------- asking: view-ask.c */

/* Returns the value of an argument of the request; NULL if there is none. */
typedef const char *(*Argument)(void *request, const char *name);
/* Reads a page's wish. False if it is malformed, or does not fit the plan. */
bool ask_wish(const StcView *v, Argument argument, void *request, Wish *w);
/* The wish's picture, if there is one with a number above `have`, with one more user; NULL: not yet. *full: too many
 * pages look. */
ViewFrame *ask_frame(StcView *v, const Wish *w, int64_t have, bool *full);
/* Handles a command of a page: pause, play, step, restart, set, end. Returns NULL if it is done or under way; else the
 * reason (malloc or not; it stays valid). */
const char *ask_order(StcView *v, const char *what, Argument argument, void *request);

/* ---------------------------------------------------------------- the server: view-serve.c */

/* Serves the page at `address` ("127.0.0.1:0"), and sets its URL (v->url). The other function ends this. */
StcStatus server_open(StcView *v, const char *address);
void server_close(StcView *v);
/* Tells pages that there is news, and wakes threads that wait for changes. The caller holds the lock. */
void view_tell(StcView *v);

#endif
