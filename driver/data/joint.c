/* driver/data/joint.c: files that all ranks write together if no rank has the whole grid. Rank 0 reserves room for a
 * step, and decides the offsets; then each rank writes the points that its parts own, and rank 0 ends the step.
 * Compressed values are compressed and written by each rank (joint-pieces.c), or sent piece by piece to rank 0, which
 * writes them. The run may go on before a step ends (joint-beside.c). */
#include "driver/data/joint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- values of parts */

/* The search for the first NaN (part_each): its point; -1: none so far. */
typedef struct Look4Nan {
  const Stored *v;
  int64_t first;
} Look4Nan;

static StcStatus look_at_run(void *user, int64_t from, int64_t to, int64_t n) {
  Look4Nan *l = user;
  StcFieldInfo f = l->v->info;
  int64_t unit = f.bytes / field_points(&f);
  f.rank = 1;
  f.shape[0] = n;
  f.bytes = n * unit;
  int64_t at = l->first >= 0 && l->first < to ? -1 : first_nan(&f, (const char *)l->v->raw + from * unit);
  if (at >= 0 && (l->first < 0 || to + at < l->first))
    l->first = to + at;
  return STC_OK;
}

/* The description of the same array, for one part. */
static FieldPart part_here(const FieldPart *p, const StcFieldInfo *f) {
  FieldPart here = *p;
  here.info = f;
  here.source = here.first = 0;
  here.points = field_points(f);
  here.bytes = (size_t)(here.points * joint_unit(p));
  return here;
}

StcStatus stored_get(Joint *x, const PartPlan *part, int array, Stored *v) {
  const FieldPart *p = &x->parts[array];
  FieldPlace at = x->w->sources[p->source]->at;
  StcPlan *q = part->plan;
  int field = stc_program_find_field(q->program, x->job->program->declared[at.field].name);
  bool whole = at.component < 0 && p->ncomponents == p->info->ncomponents;
  int component = at.component >= 0 ? at.component : p->first;
  *v = (Stored){0};
  StcStatus s = whole ? stc_plan_field(q, field, &v->info) : stc_plan_component(q, field, component, &v->info);
  if (s)
    return s;
  FieldPart here = part_here(p, &v->info);
  bool same = p->from == p->type || p->from == STC_BOOL;
  v->raw = malloc((size_t)v->info.bytes + 1);
  v->room = same ? NULL : malloc(here.bytes + 1);
  if (!v->raw || (!same && !v->room))
    return computer_no_room(x->job->c->context, "a copy of", v->info.name, (double)v->info.bytes);
  s = whole ? stc_plan_get(q, field, v->raw, (size_t)v->info.bytes)
            : stc_plan_get_component(q, field, component, v->raw, (size_t)v->info.bytes);
  if (s)
    return s;
  v->values = part_values(&here, (const void *const *)&v->raw, v->room);
  Look4Nan l = {v, x->nan_here[array]};
  if (x->nan_array < 0)
    part_each(x->job->plan, part, at.field, false, look_at_run, &l);
  x->nan_here[array] = l.first;
  return STC_OK;
}

void stored_free(Stored *v) {
  free(v->raw);
  free(v->room);
}

/* Records the first NaN of the step, if there was none before (collective). */
static void note_nan(Joint *x, int64_t step) {
  Net *net = x->job->net;
  if (x->nan_array >= 0)
    return;
  for (int i = 0; i < x->narrays; i++) {
    int64_t all[net->size];
    net->gather(net, &x->nan_here[i], sizeof x->nan_here[i], all);
    x->nan_here[i] = -1;
    for (int r = 0; r < net->size && (x->nan_array < 0 || x->nan_array == i); r++)
      if (all[r] >= 0 && (x->nan_array < 0 || all[r] < x->nan_point)) {
        x->nan_array = i;
        x->nan_point = all[r];
        x->nan_step = step;
      }
  }
}

bool joint_warn_of_nan(const Joint *x) {
  if (x->nan_array >= 0)
    nan_warn(x->job->c->context, x->parts[x->nan_array].info, x->nan_point, x->nan_step);
  return x->nan_array >= 0;
}

/* ---------------------------------------------------------------- values to their offsets */

/* Reports that the file of the step cannot be written. */
static StcStatus no_write(const Joint *x) {
  context_error(x->job->c->context, "cannot write %s: %s", x->file.name, strerror(errno));
  return STC_IO;
}

/* The number of the piece that contains byte `at` of the array. */
static int64_t piece_at(const Pieces *p, int64_t at) {
  int64_t lo = 0, hi = p->n - 1;
  while (lo < hi) {
    int64_t middle = (lo + hi + 1) / 2;
    if (p->begin[middle] <= at)
      lo = middle;
    else
      hi = middle - 1;
  }
  return lo;
}

/* Values that are written to a file uncompressed (part_each). */
typedef struct Putting {
  const Pieces *pieces;
  const char *values;
  int64_t unit;
  int fd;
} Putting;

static StcStatus put_run(void *user, int64_t from, int64_t to, int64_t n) {
  const Putting *p = user;
  const Pieces *q = p->pieces;
  const char *values = p->values + from * p->unit;
  int64_t at = to * p->unit, end = at + n * p->unit;
  for (int64_t k = piece_at(q, at), bytes; at < end; k++, at += bytes, values += bytes) {
    bytes = (end < q->begin[k + 1] ? end : q->begin[k + 1]) - at;
    if (!file_write_at(p->fd, values, bytes, q->place[k] + at - q->begin[k]))
      return STC_IO;
  }
  return STC_OK;
}

bool put_values(const Joint *x, const PartPlan *part, int array, const Stored *v, int fd) {
  int field = x->w->sources[x->parts[array].source]->at.field;
  Putting p = {&x->pieces[array], v->values, joint_unit(&x->parts[array]), fd};
  return part_each(x->job->plan, part, field, false, put_run, &p) == STC_OK;
}

/* Writes the points that this rank's parts own of an uncompressed array: from the copies, if there are any. */
static StcStatus put_array(Joint *x, int array, int fd) {
  const Split *split = x->job->plan->split;
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++) {
    Stored v = {0};
    const Stored *taken = x->beside ? beside_values(x, array, i) : &v;
    if (!x->beside)
      s = stored_get(x, &split->part[i], array, &v);
    if (!s && !put_values(x, &split->part[i], array, taken, fd))
      s = no_write(x);
    stored_free(&v);
  }
  return s;
}

/* Writes the pieces of an array which this rank has compressed. */
static bool put_pressed(const Joint *x, int array, int fd) {
  const Net *net = x->job->net;
  const Pieces *p = &x->pieces[array];
  int64_t first = joint_first(net, p->n, net->rank), end = joint_first(net, p->n, net->rank + 1);
  for (int64_t k = first; k < end; k++)
    if (!file_write_at(fd, p->mine[k - first].bytes, (int64_t)p->size[k], p->place[k]))
      return false;
  return true;
}

/* ---------------------------------------------------------------- a step */

/* The arguments for the work of rank 0 in a step that needs a guarded arena. */
typedef struct PieceTurn {
  Joint *x;
  int64_t step;
  StcStatus s;
  int array;
  int64_t piece;
  const void *bytes;
  size_t n;
} PieceTurn;

static StcStatus begin_guarded(void *arg) {
  const PieceTurn *t = arg;
  Joint *x = t->x;
  const char *path = path_of_step(x->w->w.arena, x->w->path, t->step);
  snprintf(x->file.name, sizeof x->file.name, "%s", path);
  return x->w->format->joint->begin(x, path, t->step);
}

static StcStatus take_guarded(void *arg) {
  const PieceTurn *t = arg;
  return t->x->w->format->joint->take(t->x, t->array, t->piece, t->bytes, t->n);
}

static StcStatus end_guarded(void *arg) {
  const PieceTurn *t = arg;
  return t->x->w->format->joint->end(t->x, t->step, t->s);
}

/* Sends the compressed pieces of an array, which have no offsets yet, to rank 0, which writes them. They are sent even
 * if `s` is an error. */
static StcStatus send_pressed(Joint *x, int array, StcStatus s) {
  Net *net = x->job->net;
  const Pieces *p = &x->pieces[array];
  int64_t first = joint_first(net, p->n, net->rank), end = joint_first(net, p->n, net->rank + 1);
  for (int64_t k = first; k < end && net->rank; k++)
    net_message(net, 0, true, p->mine[k - first].bytes, p->size[k]);
  for (int r = 0; r < net->size && !net->rank; r++)
    for (int64_t k = joint_first(net, p->n, r); k < joint_first(net, p->n, r + 1); k++) {
      void *bytes = r ? malloc(p->size[k] + 1) : p->mine[k].bytes;
      if (!bytes)
        split_die(x->job->plan, x->parts[array].name, (double)p->size[k]);
      if (r)
        net_message(net, r, false, bytes, p->size[k]);
      PieceTurn t = {.x = x, .array = array, .piece = k, .bytes = bytes, .n = p->size[k]};
      if (!s)
        s = workspace_guard(&x->w->w, take_guarded, &t);
      if (r)
        free(bytes);
    }
  return s;
}

/* Has rank 0 reserve room for the step, and tells all ranks the offsets. */
static StcStatus begin_step(Joint *x, int64_t step) {
  Net *net = x->job->net;
  PieceTurn t = {.x = x, .step = step};
  x->file = (SharedFile){0};
  x->fd = -1;
  x->temporary = NULL;
  StcStatus s = net_agree(net, net->rank ? STC_OK : workspace_guard(&x->w->w, begin_guarded, &t), &(int){0});
  if (s)
    return s;
  if (x->fd >= 0)
    shared_file(&x->file, x->fd, x->temporary);
  net->broadcast(net, &x->file, sizeof x->file, 0);
  for (int i = 0; i < x->narrays; i++)
    net->broadcast(net, x->pieces[i].place, (size_t)x->pieces[i].n * sizeof *x->pieces[i].place, 0);
  return s;
}

/* Are the array's pieces written at known offsets? Those of an uncompressed array are. */
static bool has_places(const Pieces *p) { return p->n == 0 || p->place[0] >= 0; }

/* Writes all arrays. */
static StcStatus put_arrays(Joint *x) {
  bool placed = false;
  for (int i = 0; i < x->narrays; i++)
    placed |= has_places(&x->pieces[i]);
  int fd = placed ? shared_open(&x->file, x->job->net) : -1;
  StcStatus s = placed && fd < 0 ? no_write(x) : STC_OK;
  for (int i = 0; i < x->narrays; i++) {
    const Pieces *p = &x->pieces[i];
    if (!has_places(p))
      s = send_pressed(x, i, s);
    else if (!s && p->compressed)
      s = put_pressed(x, i, fd) ? STC_OK : no_write(x);
    else if (!s)
      s = put_array(x, i, fd);
  }
  if (fd >= 0 && close(fd) && !s)
    s = no_write(x);
  return net_agree(x->job->net, s, &(int){0});
}

/* Frees the compressed pieces. */
static void forget_pressed(Joint *x) {
  const Net *net = x->job->net;
  for (int i = 0; i < x->narrays; i++) {
    Pieces *p = &x->pieces[i];
    int64_t n = joint_first(net, p->n, net->rank + 1) - joint_first(net, p->n, net->rank);
    for (int64_t k = 0; k < n && p->mine; k++)
      free(p->mine[k].bytes);
    free(p->mine);
    p->mine = NULL;
  }
}

/* Ends a step that was begun and has status `s` on all ranks. */
static StcStatus end_step(Joint *x, int64_t step, StcStatus s) {
  Net *net = x->job->net;
  PieceTurn t = {.x = x, .step = step, .s = s};
  if (net->rank == 0)
    s = workspace_guard(&x->w->w, end_guarded, &t);
  return net_agree(net, s, &(int){0});
}

/* The work after a step, begun or not, with status `s`. */
static StcStatus leave_step(Joint *x, int64_t step, StcStatus s) {
  forget_pressed(x);
  beside_end(x);
  if (!s)
    note_nan(x, step);
  if (s && x->job->net->rank == 0)
    writer_give_up(x->w);
  x->w->steps += !s;
  return s;
}

/* Starts threads that write a step which was begun, beside the run. */
static StcStatus put_beside(Joint *x, int64_t step) {
  int fd = shared_open(&x->file, x->job->net);
  StcStatus s = net_agree(x->job->net, fd < 0 ? no_write(x) : beside_start(x, step, fd), &(int){0});
  if (!s)
    return STC_OK;
  beside_wait(x);
  return leave_step(x, step, end_step(x, step, s));
}

/* Does any array need compression? */
static bool any_pressed(const Joint *x) {
  bool any = false;
  for (int i = 0; i < x->narrays; i++)
    any |= x->pieces[i].compressed;
  return any;
}

/* Writes a step after the compression of its values. */
static StcStatus put_step(Joint *x, int64_t step) {
  StcStatus s = begin_step(x, step);
  return leave_step(x, step, s ? s : end_step(x, step, put_arrays(x)));
}

/* Compresses the step's values now. */
static StcStatus press_now(Joint *x) {
  StcStatus s = STC_OK;
  for (int i = 0; i < x->narrays && !s; i++) {
    char *mine = NULL;
    if (!x->pieces[i].compressed)
      continue;
    s = joint_bring(x, i, &mine);
    s = s ? s : joint_tell_sizes(x, i, joint_press(x, i, mine));
    free(mine);
  }
  return s;
}

StcStatus joint_step(Joint *x, int64_t step, bool beside) {
  StcStatus s = STC_OK;
  if (beside && any_pressed(x))
    return (s = beside_press(x, step)) ? leave_step(x, step, s) : STC_OK;
  if ((s = press_now(x)))
    return leave_step(x, step, s);
  if (!beside)
    return put_step(x, step);
  s = begin_step(x, step);
  return s ? leave_step(x, step, s) : put_beside(x, step);
}

/* Writes the step that was compressed beside the run. */
static StcStatus finish_pressed(Joint *x) {
  int64_t step = x->beside->step;
  int failed = beside_wait(x) ? x->beside->failed : x->narrays;
  StcStatus s = STC_OK;
  for (int i = 0; i < x->narrays && !s; i++)
    if (x->pieces[i].compressed)
      s = joint_tell_sizes(x, i, i < failed);
  return s ? leave_step(x, step, s) : put_step(x, step);
}

StcStatus joint_finish(Joint *x) {
  if (!x->beside)
    return STC_OK;
  if (x->beside->fd < 0)
    return finish_pressed(x);
  int64_t step = x->beside->step;
  errno = beside_wait(x);
  StcStatus s = net_agree(x->job->net, errno ? no_write(x) : STC_OK, &(int){0});
  return leave_step(x, step, end_step(x, step, s));
}

/* ---------------------------------------------------------------- opening and closing */

StcStatus joint_can(const Job *j, Writer *w, bool *can, bool *named) {
  Net *net = j->net;
  *named = false;
  *can = w->format->joint && !output_is_special(j->c->arena, w->path) && (net->size > 1 || !w->format->open);
  net->broadcast(net, can, sizeof *can, 0);
  if (!*can)
    return STC_OK;
  StcStatus s = shared_reach(j, w->path, can, named);
  if (!s && !*can)
    context_remark(j->c->context,
                   "files: %s is written by rank 0 alone: not all ranks find a file that it makes in this folder",
                   w->path);
  return s;
}

Pieces *joint_pieces(Joint *x, int array, int64_t n) {
  Pieces *p = &x->pieces[array];
  Arena *a = x->w->w.arena;
  p->n = n;
  p->begin = ARENA_ARRAY(a, int64_t, n + 1);
  p->place = ARENA_ARRAY(a, int64_t, n + 1);
  p->size = ARENA_ARRAY(a, uint64_t, n + 1);
  p->begin[n] = (int64_t)x->parts[array].bytes;
  for (int64_t k = 0; k < n; k++)
    p->place[k] = -1;
  return p;
}

/* Finds the writer's arrays; on rank 0 opens its format, and finds their pieces. */
static StcStatus open_guarded(void *arg) {
  Joint *x = arg;
  Writer *w = x->w;
  const JointFormat *f = w->format->joint;
  x->narrays = (f->arrays ? f->arrays : writer_parts)(w, &x->parts);
  x->pieces = ARENA_ARRAY(w->w.arena, Pieces, x->narrays + 1);
  x->nan_here = ARENA_ARRAY(w->w.arena, int64_t, x->narrays + 1);
  memset(x->pieces, 0, (size_t)(x->narrays + 1) * sizeof *x->pieces);
  for (int i = 0; i < x->narrays; i++)
    x->nan_here[i] = -1;
  if (x->job->net->rank)
    return STC_OK;
  StcStatus s = w->format->open ? w->format->open(w) : STC_OK;
  w->opened = !s;
  return s ? s : f->lay(x);
}

/* Allocates the pieces on ranks other than 0; their numbers are known. */
static StcStatus make_pieces(void *arg) {
  Joint *x = arg;
  for (int i = 0; i < x->narrays && x->job->net->rank; i++)
    joint_pieces(x, i, x->pieces[i].n);
  return STC_OK;
}

/* Tells all ranks the pieces that rank 0 has found. */
static StcStatus tell_pieces(Joint *x) {
  Net *net = x->job->net;
  for (int i = 0; i < x->narrays; i++) {
    struct {
      int64_t n;
      bool compressed;
      Pressing how;
    } told = {x->pieces[i].n, x->pieces[i].compressed, x->pieces[i].how};
    net->broadcast(net, &told, sizeof told, 0);
    x->pieces[i].n = told.n;
    x->pieces[i].compressed = told.compressed;
    x->pieces[i].how = told.how;
  }
  StcStatus s = net_agree(net, workspace_guard(&x->w->w, make_pieces, x), &(int){0});
  for (int i = 0; i < x->narrays && !s; i++)
    net->broadcast(net, x->pieces[i].begin, (size_t)(x->pieces[i].n + 1) * sizeof *x->pieces[i].begin, 0);
  return s;
}

StcStatus joint_open(const Job *j, Writer *w, bool named, int threads) {
  StcStatus s = STC_OK;
  w->context = j->c->context;
  w->joint = ARENA_NEW(j->c->arena, Joint);
  *w->joint = (Joint){.job = j, .w = w, .named = named, .threads = threads, .nan_array = -1};
  if (!workspace_open(&w->w, w->context, NULL))
    s = (context_error(w->context, "out of memory"), STC_MEMORY);
  else
    s = workspace_guard(&w->w, open_guarded, w->joint);
  s = net_agree(j->net, s, &(int){0});
  return s ? s : tell_pieces(w->joint);
}
