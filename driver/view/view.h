/* driver/view/view.h: a window into a run: a page that this process serves, which shows a plan's fields while it runs,
 * and steers it. Table of contents:
 *
 *   view.c         opening and closing, the address, staying open behind a run
 *   view-run.c     what the run's thread does: it waits, makes single steps, begins anew
 *   view-values.c  the values that are shown: borrowed from the plan, or copied
 *   view-paint.c   what pages ask to see, drawn by a thread beside the run
 *   view-curves.c  what reductions and probes came to, kept short
 *   view-json.c    what pages are told, as JSON
 *   view-ask.c     what pages ask for, checked
 *   view-serve.c   the server: who may ask, and what is answered (libmicrohttpd; view-serve.h)
 *   address.h      where it is served, as users write it (address.c)
 *   view-events.c  news for pages, as server-sent events
 *   view-page.c    the page's own files, which are part of this program (page/)
 *   view-gnutls.c  what archives of libmicrohttpd's ask for and never call
 *
 * Three threads: the run's, the painter's and the server's. One lock is for all that they share. The run's thread alone
 * touches the plan. It lends values to the painter, which is done with them before the next are lent, and
 * waits for nobody: a page that reads slowly or not at all is the server's business. How much of the computer's time
 * goes into pictures is bounded (PAINT_SHARE): where one takes long there are fewer. */
#ifndef STC_DRIVER_VIEW_H
#define STC_DRIVER_VIEW_H

#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* What is kept within bounds: what pages ask to see at once, and points that they follow; the pixels of a side; curves
 * and their points; a page's path and the body of what it sends; params set at once; connections; bytes a connection
 * has for its headers. */
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
/* Pictures a second at most; one part in so many of the computer's time for them; for how many seconds somebody who has
 * not asked again is taken to look still; seconds that a client may be silent in the middle of something. */
enum { MOST_PICTURES = 20, PAINT_SHARE = 100, LOOKS_FOR = 5, CLIENT_SECONDS = 15 };

/* What a page asks to see: of a component of a field, of three dimensions the slice at place `at` (from 0) of dimension
 * `cut`, rows box[0] to box[1] - 1 and columns box[2] to box[3] - 1, in at most `side` pixels a side; and the values at
 * points of the field (places from 0). */
typedef struct Wish {
  int field, component, cut, side, npins;
  int64_t at, box[4], pins[MAX_PINS][MAX_RANK];
} Wish;

/* A picture as it is sent: a head, the values at the points, one of type f32 a pixel, row by row. Who has it counts in
 * `users`, under the lock; the last one frees it. */
typedef struct ViewFrame {
  int users;
  size_t size;
  unsigned char bytes[];
} ViewFrame;
/* The head of a frame; all numbers are little-endian. nowhere: pixels that are NaN or infinite; least, most: of the
 * others. box: as of the wish, within the field. */
typedef struct FrameHead {
  char magic[4]; /* "STCV" */
  uint32_t version, width, height, npins, nowhere;
  int64_t number, step;
  double least, most;
  int64_t box[4];
} FrameHead;

/* A wish, when it was last asked for (clock_seconds), and the picture of it, NULL: none yet. drawn: from which values.
 */
typedef struct Looker {
  bool used;
  Wish wish;
  double asked;
  ViewFrame *frame;
  int64_t number, drawn;
} Looker;

/* Values of a component that pictures are drawn from, of after `step` steps: lent, or a copy (malloc). some: only the
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

/* What a reduction or a point of a probe came to: so many of its points, each `stride`th; and the last. */
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

/* VIEW_IDLE: no run is under way, and the plan is somebody else's; VIEW_DONE: it is the view's to go on with. */
typedef enum ViewState { VIEW_IDLE, VIEW_RUNNING, VIEW_PAUSED, VIEW_DONE } ViewState;

/* A value that a component had before the first run, which a run that begins anew gets again; of field -1, the scalar
 * (an StcReduction) that launch-time array `component` holds. */
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
  Watch *watch; /* due never, but when values are wanted at a certain step */
  char *info, *url;
  Server *server;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;

  /* Of the run. from, goal: its steps; no_restart: why it cannot begin anew, NULL: it can; stays: behind it the view
   * goes on with it; asked: the steps of the run that it goes on from, which it makes when it begins anew, 0: not yet.
   */
  ViewState state;
  int64_t from, goal, step, asked;
  double rate, rated_at, begun;
  int64_t rated_step;
  const char *no_restart, *bound; /* bound: why it must be made as it was asked for, NULL: it need not */
  bool stays;
  Given *given;
  bool given_kept, given_again; /* given_again: the plan has just got them from here */

  /* What pages have asked for and is not done yet. steps: to be made, then the run waits again. */
  bool paused, restart, end, stepping;
  int64_t steps;
  int nsets;
  char *sets[MAX_SETS];
  char said[160]; /* the last thing that was refused, for pages */

  /* Pictures. taken: how often values were; drawing: the painter, or who takes values, is at them. cost: the seconds
   * that the present pictures have taken; held: those of them in which the run waited; next: before that time, and
   * before the process has worked so long, there are no others. */
  Looker lookers[MAX_WISHES];
  int nvalues;
  Values values[MAX_WISHES];
  StcFieldInfo *infos; /* by component of a field */
  signed char *lends;  /* likewise: does the plan lend it? 0: not asked yet, -1: no */
  int64_t taken, frames;
  bool drawing, painting;
  double cost, held, next, next_worked, taken_at;
  pthread_t painter;

  /* Curves; cleared: how often they were begun anew. */
  int ncurves;
  Curve *curves[MAX_CURVES];
  int64_t cleared, points;
  void (*series)(void *user, const StcReduction *r);
  void *series_user;
  void (*probes)(void *user, const StcProbe *row);
  void *probes_user;

  int nsliders;
  Slider *sliders;

  int64_t news; /* how often pages were to be told something */
  int pages;    /* that are told of it now */
  bool ever;    /* one was */
};

/* ---------------------------------------------------------------- the run: view-run.c */

/* Has the plan's runs call the view; they call it no more. */
StcStatus view_attach(StcView *v);
void view_detach(StcView *v);
/* After a run that has gone well: keeps the window open, with the plan in its hands, until all pages have been closed
 * or the user ends it. */
StcStatus view_stay(StcView *v);
/* For a run that view_stay follows on: why it is to be made as it was asked for until then, with the params that it has
 * and without beginning anew; NULL: it need not. */
void view_will_stay(StcView *v, const char *bound);

/* ---------------------------------------------------------------- values: view-values.c */

/* All with the lock held. Does somebody look, and at values that have not been taken? Are some here? Does it cost
 * little to take them now? Takes what is looked at from the plan, which may be read now; gives it back, when the
 * painter is done with it. */
bool view_is_looked_at(const StcView *v);
bool view_lacks_values(const StcView *v);
bool view_has_values(const StcView *v);
bool view_is_cheap(const StcView *v, const StcPlan *p);
StcStatus view_take(StcView *v, StcPlan *p);
void view_give_back(StcView *v);
/* The values that the wish is drawn from, NULL: they are not here. */
Values *view_find_values(StcView *v, const Wish *w);
void view_free_values(StcView *v);

/* ---------------------------------------------------------------- pictures: view-paint.c */

/* Checks a wish against the plan's fields and puts its box into the field; false: it cannot be. */
bool wish_fits(const StcFieldInfo *f, Wish *w);
/* Which lines of a component the wish, which fits it, shows: those of its rows, then an element for each of its points.
 * How many; 0: it needs more than half of the component, or columns that are no lines. */
int wish_lines(const StcFieldInfo *f, const Wish *w, Lines lines[1 + MAX_PINS]);
/* The picture of a wish, from all values of a component, or (`some`) from those of its lines, one behind the other;
 * NULL: there is no memory. */
ViewFrame *paint(const StcFieldInfo *f, const void *values, bool some, const Wish *w, int64_t step, int64_t number);
void frame_free(ViewFrame *f);
/* May a run, which goes on, take values for further pictures now? */
bool view_may_draw(const StcView *v);
/* The life of the painter; `user` is the view. */
void *view_paint_main(void *user);

/* ---------------------------------------------------------------- curves: view-curves.c */

/* From now on the view hears what reductions and probes came to, beside whoever did before; no more. */
void curves_attach(StcView *v);
void curves_detach(StcView *v);
/* Begins them anew (with the lock held). */
void curves_clear(StcView *v);

/* ---------------------------------------------------------------- JSON: view-json.c */

/* What there is to know of the plan before it runs; how it stands; the curves (malloc; the last two with the lock
 * held). NULL: there is no memory. */
char *view_info(StcView *v);
char *view_state(const StcView *v);
char *view_curves(const StcView *v);

/* ---------------------------------------------------------------- asking: view-ask.c */

/* Gives the value of an argument of what was asked, NULL: it has none. */
typedef const char *(*Argument)(void *request, const char *name);
/* Reads the wish that a page asks for. False: it is malformed, or is none of the plan's. */
bool ask_wish(const StcView *v, Argument argument, void *request, Wish *w);
/* The picture of it if there is one behind number `have`, with a user more; NULL: not yet. *full: too many look. */
ViewFrame *ask_frame(StcView *v, const Wish *w, int64_t have, bool *full);
/* What a page orders: pause, play, step, restart, set, end. NULL: it is done or on its way; else why not (malloc or
 * not, it lasts). */
const char *ask_order(StcView *v, const char *what, Argument argument, void *request);

/* ---------------------------------------------------------------- the server: view-serve.c */

/* Serves at `address` ("127.0.0.1:0") and tells by which URL (v->url). Ends that. */
StcStatus server_open(StcView *v, const char *address);
void server_close(StcView *v);
/* Tells pages that there is news (with the lock held), and whoever waits for changes. */
void view_tell(StcView *v);

#endif
