/* driver/view/view-paint.c: draws the pictures for pages: points of a plane, evenly spaced, as numbers. The page
 * chooses the colours. A thread beside the run draws. */
#include "driver/files/files.h"
#include "driver/view/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the part of a field that a wish shows */

/* A plane of a field: its rows and columns, the index of its first point, and the distances between rows and between
 * columns. */
typedef struct Plane {
  int64_t rows, columns, first, row, column;
} Plane;

/* The plane of `w`, which fits the field: of one dimension a row, of three a slice. */
static Plane plane_of(const StcFieldInfo *f, const Wish *w) {
  int64_t step[3] = {1, 1, 1};
  for (int d = f->rank - 2; d >= 0; d--)
    step[d] = step[d + 1] * f->shape[d + 1];
  if (f->rank < 3)
    return (Plane){f->rank == 1 ? 1 : f->shape[0], f->shape[f->rank - 1], 0, f->rank == 1 ? 0 : step[0], 1};
  int y = w->cut == 0 ? 1 : 0, x = w->cut == 2 ? 1 : 2;
  return (Plane){f->shape[y], f->shape[x], w->at * step[w->cut], step[y], step[x]};
}

/* The index in the field of a point that a page follows. */
static int64_t place_of_pin(const StcFieldInfo *f, const int64_t *pin) {
  int64_t at = 0;
  for (int d = 0; d < f->rank; d++)
    at = at * f->shape[d] + pin[d];
  return at;
}

/* Clips the range `from` to `to` (exclusive) to 0 .. `n`; if the result is empty, the range becomes all of it. */
static void clip(int64_t *from, int64_t *to, int64_t n) {
  *from = *from < 0 ? 0 : *from;
  *to = *to > n || *to <= 0 ? n : *to;
  if (*from >= *to)
    *from = 0, *to = n;
}

bool wish_fits(const StcFieldInfo *f, Wish *w) {
  if (f->rank > GRID_RANK || f->bytes <= 0 || w->side < 1 || w->npins < 0 || w->npins > MAX_PINS)
    return false;
  w->side = w->side > MAX_SIDE ? MAX_SIDE : w->side;
  w->cut = f->rank < 3 ? 0 : w->cut;
  w->at = f->rank < 3 ? 0 : w->at;
  if (w->cut < 0 || w->cut > 2 || w->at < 0 || (f->rank == 3 && w->at >= f->shape[w->cut]))
    return false;
  for (int i = 0; i < w->npins; i++)
    for (int d = 0; d < f->rank; d++)
      if (w->pins[i][d] < 0 || w->pins[i][d] >= f->shape[d])
        return false;
  Plane p = plane_of(f, w);
  clip(&w->box[0], &w->box[1], p.rows);
  clip(&w->box[2], &w->box[3], p.columns);
  return true;
}

/* The number of pixels of a side with `points` points. */
static int64_t pixels_of(int64_t points, int side) { return points < side ? points : side; }

/* The distance of the rows of the box that a picture shows; it is constant, so the rows are evenly spaced in memory. */
static int64_t rows_apart(const Wish *w) {
  int64_t rows = w->box[1] - w->box[0];
  return rows / pixels_of(rows, w->side);
}

int wish_lines(const StcFieldInfo *f, const Wish *w, Lines lines[1 + MAX_PINS]) {
  Plane p = plane_of(f, w);
  int64_t rows = w->box[1] - w->box[0], columns = w->box[3] - w->box[2], apart = rows_apart(w), all = 1;
  for (int d = 0; d < f->rank; d++)
    all *= f->shape[d];
  size_t size = (size_t)(f->bytes / all);
  int64_t count = (rows + apart - 1) / apart, first = p.first + w->box[0] * p.row + w->box[2] * p.column;
  if (p.column != 1 || count * columns > all / 2)
    return 0;
  lines[0] = (Lines){(size_t)first * size, (size_t)(apart * p.row) * size, (size_t)count, (size_t)columns * size};
  for (int i = 0; i < w->npins; i++)
    lines[1 + i] = (Lines){(size_t)place_of_pin(f, w->pins[i]) * size, 0, 1, size};
  return 1 + w->npins;
}

/* ---------------------------------------------------------------- drawing */

/* Draws the pixels of one row of the field, which begins at element `at`, from the elements at the `width` offsets `x`.
 */
static void draw_row(const StcFieldInfo *f, const void *values, int64_t at, const int64_t *x, int width, float *to) {
  if (f->type == STC_F32)
    for (int i = 0; i < width; i++)
      to[i] = ((const float *)values)[at + x[i]];
  else if (f->type == STC_F64)
    for (int i = 0; i < width; i++)
      to[i] = (float)((const double *)values)[at + x[i]];
  else
    for (int i = 0; i < width; i++)
      to[i] = (float)field_value(f, values, at + x[i]);
}

/* Finds the smallest and the largest of the pixels, and the number of pixels that are not finite. */
static void measure(const float *pixels, int64_t n, FrameHead *h) {
  float least = INFINITY, most = -INFINITY;
  uint32_t nowhere = 0;
  for (int64_t i = 0; i < n; i++) {
    float v = pixels[i];
    nowhere += !isfinite(v);
    least = v < least && isfinite(v) ? v : least;
    most = v > most && isfinite(v) ? v : most;
  }
  h->least = least <= most ? (double)least : NAN;
  h->most = least <= most ? (double)most : NAN;
  h->nowhere = nowhere;
}

/* The head of the picture. */
static FrameHead head_of(const Wish *w, int64_t step, int64_t number) {
  int64_t rows = w->box[1] - w->box[0], columns = w->box[3] - w->box[2];
  FrameHead h = {.magic = {'S', 'T', 'C', 'V'}, .version = 1, .number = number, .step = step};
  h.width = (uint32_t)pixels_of(columns, w->side);
  h.height = (uint32_t)pixels_of(rows, w->side);
  h.npins = (uint32_t)w->npins;
  memcpy(h.box, w->box, sizeof h.box);
  return h;
}

/* The plane of a wish's lines, whose values are stored one after the other: each row begins with the box's first
 * column. */
static Plane plane_of_lines(const Wish *w) {
  int64_t columns = w->box[3] - w->box[2];
  return (Plane){.first = -w->box[2], .row = columns, .column = 1};
}

/* Draws the pixels of a picture of `width` by `height`. */
static void draw_rows(const StcFieldInfo *f, const void *values, bool some, const Wish *w, const FrameHead *h,
                      float *to) {
  Plane p = some ? plane_of_lines(w) : plane_of(f, w);
  int64_t rows = w->box[1] - w->box[0], columns = w->box[3] - w->box[2], apart = rows_apart(w), x[MAX_SIDE];
  for (int i = 0; i < (int)h->width; i++)
    x[i] = (w->box[2] + i * columns / h->width) * p.column;
  for (int y = 0; y < (int)h->height; y++) {
    int64_t line = y * rows / h->height / apart, row = some ? line : w->box[0] + line * apart;
    draw_row(f, values, p.first + row * p.row, x, (int)h->width, to + (size_t)y * h->width);
  }
}

/* Writes the values at the points that the wish follows to `to`, one after the other. */
static void put_pins(const StcFieldInfo *f, const void *values, bool some, const Wish *w, unsigned char *to) {
  int64_t rows = w->box[1] - w->box[0], columns = w->box[3] - w->box[2], apart = rows_apart(w);
  int64_t behind = (rows + apart - 1) / apart * columns;
  for (int i = 0; i < w->npins; i++) {
    double value = field_value(f, values, some ? behind + i : place_of_pin(f, w->pins[i]));
    memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
  }
}

ViewFrame *paint(const StcFieldInfo *f, const void *values, bool some, const Wish *w, int64_t step, int64_t number) {
  FrameHead h = head_of(w, step, number);
  size_t pins = sizeof h, pixels = pins + h.npins * sizeof(double);
  size_t size = pixels + (size_t)h.width * h.height * sizeof(float);
  ViewFrame *frame = malloc(sizeof *frame + size);
  if (!frame)
    return NULL;
  frame->users = 1;
  frame->size = size;
  float *to = (float *)(void *)(frame->bytes + pixels);
  draw_rows(f, values, some, w, &h, to);
  measure(to, (int64_t)h.width * h.height, &h);
  memcpy(frame->bytes, &h, sizeof h);
  put_pins(f, values, some, w, frame->bytes + pins);
  return frame;
}

void frame_free(ViewFrame *f) {
  if (f && --f->users == 0)
    free(f);
}

/* ---------------------------------------------------------------- the thread */

/* A wish that has not been drawn from the present values; NULL if there is none. */
static Looker *next_wish(StcView *v) {
  for (int i = 0; i < MAX_WISHES; i++) {
    Looker *l = &v->lookers[i];
    if (l->used && l->drawn != v->taken && view_find_values(v, &l->wish))
      return l;
  }
  return NULL;
}

/* The seconds of a clock of the system. */
static double counted(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Draws one wish; the caller holds the lock, which is released during the drawing. */
static void draw(StcView *v, Looker *l) {
  const Values *x = view_find_values(v, &l->wish);
  Wish wish = l->wish;
  const char *why = NULL;
  int64_t number = ++v->frames;
  l->drawn = v->taken;
  v->drawing = true;
  pthread_mutex_unlock(&v->lock);
  double before = counted(CLOCK_THREAD_CPUTIME_ID), bytes_a_second = 2e9; /* of sending */
  const void *values = x->loan ? loan_values(x->loan, &why) : x->copy;
  ViewFrame *frame = values ? paint(&x->info, values, x->some, &wish, x->step, number) : NULL;
  double took = counted(CLOCK_THREAD_CPUTIME_ID) - before;
  pthread_mutex_lock(&v->lock);
  v->drawing = false;
  v->cost += took + (frame ? (double)frame->size / bytes_a_second : 0);
  if (frame && l->used && memcmp(&l->wish, &wish, sizeof wish) == 0) {
    frame_free(l->frame);
    l->frame = frame;
    l->number = number;
  } else
    frame_free(frame);
  pthread_cond_broadcast(&v->changed);
}

/* After all pictures are drawn: returns the values to the run. Delays the next pictures so that drawing takes no more
 * than its share of the process's computing time, or, if a GPU computes, of the time of all cores, and so that the GPU
 * waits for pictures no more than that share of the time. */
static void rest(StcView *v) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  bool gpu = v->plan->device.kind->stage_new != NULL;
  double share = v->cost * PAINT_SHARE, least = 1.0 / MOST_PICTURES, later = share / (cores > 0 ? (double)cores : 1);
  later = v->held * PAINT_SHARE > later ? v->held * PAINT_SHARE : later;
  v->next = clock_seconds() + (gpu && later > least ? later : least);
  v->next_worked = gpu ? 0 : counted(CLOCK_PROCESS_CPUTIME_ID) + share;
  v->cost = v->held = 0;
  if (v->state == VIEW_RUNNING)
    view_give_back(v);
  view_tell(v);
}

/* Waits for something to draw. Sends pages news from time to time, to show that the view is there. */
static void wait_for_work(StcView *v, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  double whole = floor(seconds);
  until.tv_sec += (time_t)whole;
  until.tv_nsec += (long)((seconds - whole) * 1e9);
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  if (pthread_cond_timedwait(&v->changed, &v->lock, &until) != 0)
    view_tell(v);
}

bool view_may_draw(const StcView *v) {
  return clock_seconds() >= v->next && counted(CLOCK_PROCESS_CPUTIME_ID) >= v->next_worked;
}

void *view_paint_main(void *user) {
  StcView *v = user;
  bool drawn = false;
  pthread_mutex_lock(&v->lock);
  while (!v->over) {
    Looker *l = v->drawing ? NULL : next_wish(v);
    double early = v->state == VIEW_IDLE ? v->next - clock_seconds() : 0;
    if (l && early <= 0) {
      draw(v, l);
      drawn = true;
    } else if (!l && !v->drawing && (drawn || (v->state == VIEW_RUNNING && view_has_values(v)))) {
      rest(v);
      drawn = false;
    } else
      wait_for_work(v, l && early < LOOKS_FOR ? early : LOOKS_FOR);
  }
  pthread_mutex_unlock(&v->lock);
  return NULL;
}
