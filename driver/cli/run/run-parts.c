/* driver/cli/run/run-parts.c: `stc run` on several ranks, none of which has the whole grid: reads fields, part by part.
 * Each rank reads the points of its parts from a file, including ghost cells; a file that can be read only once is read
 * by rank 0, which sends it on block by block. Writing is in data/joint.h. */
#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds type and shape of a field, or its component, of that name in `plan`. */
static StcStatus place_of(StcPlan *plan, const char *name, int component, int *field, StcFieldInfo *f) {
  *field = stc_program_find_field(plan->program, name);
  return component >= 0 ? stc_plan_component(plan, *field, component, f) : stc_plan_field(plan, *field, f);
}

/* The bytes of a point of the field or component. */
static int64_t point_bytes(const StcPlan *p, FieldPlace at) {
  const Declared *d = &p->program->declared[at.field];
  return at.component < 0 ? d->point_bytes : type_size((Type)d->components[at.component].type);
}

/* ---------------------------------------------------------------- reading */

/* The origin of values for a part: a file (file.fd >= 0), or random numbers for `whole`. */
typedef struct PartSource {
  PartFile file;
  const StcFieldInfo *whole;
  uint64_t seed;
} PartSource;

/* Makes one run of cells whose values are not from a file (part_each). */
static StcStatus take_run(void *user, int64_t from, int64_t to, int64_t n) {
  const PartSource *x = user;
  random_range(x->whole, x->seed, from, n, x->file.memory + to * x->file.size);
  return STC_OK;
}

/* Fills the points that part `part` has of a target, and passes them to the part's plan. */
static StcStatus give_part(const Job *j, const PartPlan *part, const FieldOption *o, FieldPlace at, PartSource *from) {
  const char *name = j->program->declared[at.field].name;
  StcPlan *q = part->plan;
  StcFieldInfo f;
  int field;
  StcStatus s = place_of(q, name, at.component, &field, &f);
  if (s)
    return s;
  from->file.memory = calloc((size_t)f.bytes + 1, 1);
  if (!from->file.memory)
    return computer_no_room(j->c->context, "the values of", f.name, (double)f.bytes);
  if (from->file.fd < 0 && strncmp(o->value, "random:", 7) != 0)
    s = fill_value(j->c, &f, place_value(o, at), from->file.memory);
  else if (from->file.fd < 0)
    s = part_each(j->plan, part, at.field, true, take_run, from);
  else if (part_from_file(j->plan, part, at.field, &from->file))
    s = (context_error(j->c->context, "%s: its elements cannot be read: %s", o->value, strerror(errno)), STC_IO);
  if (!s && from->file.fd >= 0)
    npy_bools(&f, from->file.memory);
  if (!s)
    s = at.component >= 0 ? stc_plan_set_component(q, field, at.component, from->file.memory, (size_t)f.bytes)
                          : stc_plan_set(q, field, from->file.memory, (size_t)f.bytes);
  free(from->file.memory);
  return s;
}

/* ---------------------------------------------------------------- reading, block by block */

/* Bytes of a block of a stream. */
enum { STREAM_BLOCK = 1 << 24 };

/* A field that is read as a stream or, from a picture, in rows of `row` points: `points` points of `size` bytes, of
 * which numbers first .. end - 1 are in `block`, which has room for `most`. from: a stream, on rank 0. memory: by part
 * of this rank, its points of the field (malloc); now: that of one of them. sends: blocks are sent to the other ranks;
 * kept: memory that keeps all of the values, or NULL. */
typedef struct PartStream {
  const Job *job;
  FieldPlace at;
  FILE *from;
  int64_t points, size, row, most, first, end, got;
  char *block, **memory, *now, *kept;
  bool sends;
} PartStream;

/* Copies a part's points from the block (part_each). */
static StcStatus take_block(void *user, int64_t from, int64_t to, int64_t n) {
  const PartStream *x = user;
  int64_t lo = from > x->first ? from : x->first, hi = from + n < x->end ? from + n : x->end;
  if (lo < hi)
    memcpy(x->now + (to + lo - from) * x->size, x->block + (lo - x->first) * x->size, (size_t)((hi - lo) * x->size));
  return STC_OK;
}

/* Has all parts of this rank copy their points from the block. */
static void take_all(PartStream *x) {
  const Split *split = x->job->plan->split;
  for (int i = split->begin; i < split->end; i++) {
    x->now = x->memory[i - split->begin];
    part_each(x->job->plan, &split->part[i], x->at.field, true, take_block, x);
  }
}

/* Allocates memory for a block of at least one row of `row` points, and for the points of the parts. */
static StcStatus make_room(const Job *j, FieldPlace at, const StcFieldInfo *whole, int64_t row, PartStream *x) {
  const Split *split = j->plan->split;
  *x = (PartStream){.job = j, .at = at, .size = point_bytes(j->plan, at), .row = row};
  x->points = whole->bytes / x->size;
  x->most = STREAM_BLOCK / x->size / row * row;
  x->most = x->most > row ? x->most : row;
  x->block = malloc((size_t)((x->points < x->most ? x->points : x->most) * x->size) + 1);
  x->memory = calloc((size_t)(split->end - split->begin) + 1, sizeof *x->memory);
  bool ok = x->block && x->memory;
  for (int i = split->begin; i < split->end && ok; i++) {
    StcFieldInfo f;
    int field;
    StcStatus s = place_of(split->part[i].plan, j->program->declared[at.field].name, at.component, &field, &f);
    if (s)
      return s;
    ok = (x->memory[i - split->begin] = calloc((size_t)f.bytes + 1, 1)) != NULL;
  }
  return ok ? STC_OK : computer_no_room(j->c->context, "the values of", whole->name, (double)whole->bytes);
}

/* Frees this memory. */
static void free_room(const Job *j, PartStream *x) {
  for (int i = 0; x->memory && i < j->plan->split->end - j->plan->split->begin; i++)
    free(x->memory[i]);
  free(x->memory);
  free(x->block);
}

/* The number of points in a row of the file of --in: for a picture the field's. */
static int64_t row_of(const FieldOption *o, const StcFieldInfo *whole) {
  int64_t width = whole->rank == 2 ? whole->shape[1] : whole->rank == 3 && whole->shape[0] == 1 ? whole->shape[2] : 0;
  return is_picture(o->value) && width ? width : 1;
}

/* Allocates memory, and opens the file on rank 0, except for a picture. */
static StcStatus open_stream(const Job *j, const FieldOption *o, FieldPlace at, const StcFieldInfo *whole,
                             PartStream *x) {
  const char *what = arena_printf(j->c->arena, "field %s", whole->name);
  StcStatus s = make_room(j, at, whole, row_of(o, whole), x);
  x->sends = true;
  if (!s && !j->net->rank)
    s = kept_room(j, o, whole, &x->kept);
  if (s || j->net->rank)
    return s;
  context_remark(j->c->context, "read: %s, for %s", o->value, what);
  if (is_picture(o->value))
    return STC_OK;
  x->from = npy_stream(j->c->context, o->value, what, whole);
  return x->from ? STC_OK : context_stopped(j->c->context) ? STC_INTERRUPTED : STC_INPUT;
}

/* Has all parts copy their points from the block; if it is for other ranks too, sends it to them. */
static void pass_block(PartStream *x) {
  Net *net = x->job->net;
  size_t bytes = (size_t)((x->end - x->first) * x->size);
  if (x->sends) {
    net->broadcast(net, &(bool){true}, sizeof(bool), 0);
    net->broadcast(net, x->block, bytes, 0);
  }
  if (x->kept)
    memcpy(x->kept + x->first * x->size, x->block, bytes);
  take_all(x);
  x->first = x->end;
}

/* The end of the block that begins at x->first. */
static int64_t block_end(const PartStream *x) {
  return x->points - x->first < x->most ? x->points : x->first + x->most;
}

/* Copies a row of a picture (a png_each_row callback). */
static void take_row(void *user, int64_t y, const void *values) {
  PartStream *x = user;
  memcpy(x->block + (y * x->row - x->first) * x->size, values, (size_t)(x->row * x->size));
  x->end = (y + 1) * x->row;
  if (x->end == block_end(x))
    pass_block(x);
}

/* On ranks other than 0: receives the blocks of rank 0 until it sends the last one. */
static void receive_blocks(PartStream *x) {
  Net *net = x->job->net;
  bool more = true;
  for (; x->first < x->points; x->first = x->end) {
    x->end = block_end(x);
    net->broadcast(net, &more, sizeof more, 0);
    if (!more)
      return;
    net->broadcast(net, x->block, (size_t)((x->end - x->first) * x->size), 0);
    take_all(x);
  }
}

/* Passes on the blocks of an open array. */
static StcStatus pass_array(const Job *j, const FieldOption *o, const StcFieldInfo *whole, PartStream *x) {
  bool more = true;
  while (x->first < x->points && more) {
    x->end = block_end(x);
    size_t bytes = (size_t)((x->end - x->first) * x->size), got = fread(x->block, 1, bytes, x->from);
    x->got += (int64_t)got;
    more = got == bytes;
    if (more)
      pass_block(x);
  }
  return npy_stream_end(j->c->context, o->value, whole, x->from, x->got);
}

/* Reads all blocks on rank 0, and has all ranks copy their points. All ranks call it. */
static StcStatus read_stream(const Job *j, const FieldOption *o, const StcFieldInfo *whole, PartStream *x) {
  Net *net = j->net;
  const char *what = arena_printf(j->c->arena, "field %s", whole->name);
  if (net->rank)
    return receive_blocks(x), STC_OK;
  StcStatus s = is_picture(o->value) ? png_each_row(j->c->context, o->value, what, whole, take_row, x)
                                     : pass_array(j, o, whole, x);
  if (x->first < x->points)
    net->broadcast(net, &(bool){false}, sizeof(bool), 0);
  if (x->kept && !s)
    npy_bools(whole, x->kept);
  return s;
}

/* Passes the points to the parts' plans, unless reading ended with an error `s`. */
static StcStatus set_parts(const Job *j, FieldPlace at, PartStream *x, StcStatus s) {
  const Split *split = j->plan->split;
  for (int i = split->begin; i < split->end && !s; i++) {
    StcPlan *q = split->part[i].plan;
    char *memory = x->memory[i - split->begin];
    StcFieldInfo f;
    int field;
    s = place_of(q, j->program->declared[at.field].name, at.component, &field, &f);
    if (s)
      break;
    npy_bools(&f, memory);
    s = at.component >= 0 ? stc_plan_set_component(q, field, at.component, memory, (size_t)f.bytes)
                          : stc_plan_set(q, field, memory, (size_t)f.bytes);
  }
  free_room(j, x);
  plan_mark_given(j->plan, at.field, at.component);
  return s;
}

/* Sets the values of one --in that can be read only once. All ranks call it. */
static StcStatus give_stream(const Job *j, const FieldOption *o, FieldPlace at, const StcFieldInfo *whole) {
  Net *net = j->net;
  PartStream x;
  StcStatus s = net_agree(net, open_stream(j, o, at, whole, &x), &(int){0});
  if (!s)
    s = net_agree(net, read_stream(j, o, whole, &x), &(int){0});
  else if (x.from)
    fclose(x.from);
  return set_parts(j, at, &x, s);
}

/* Sets the values of one --in from a picture, which every rank reads, some rows at a time. */
static StcStatus give_picture(const Job *j, const FieldOption *o, FieldPlace at, const StcFieldInfo *whole) {
  const char *what = arena_printf(j->c->arena, "field %s", whole->name);
  PartStream x;
  StcStatus s = make_room(j, at, whole, row_of(o, whole), &x);
  if (!s)
    s = png_each_row(j->c->context, o->value, what, whole, take_row, &x);
  return set_parts(j, at, &x, s);
}

/* Checks a file that is not a picture. *converted: its elements differ from the field's in type or order. */
static StcStatus check_file(const Job *j, const FieldOption *o, const char *what, const StcFieldInfo *whole,
                            bool *converted) {
  Cast cast = {.needed = true};
  StcStatus s = frames_are_hdf5(o->value) ? STC_OK : npy_check(j->c->context, o->value, what, whole, &cast);
  *converted = cast.needed;
  return s;
}

/* Sets the values of one --in from a file whose elements are converted; every rank reads the whole file. */
static StcStatus give_converted(const Job *j, const FieldOption *o, FieldPlace at, const char *what,
                                const StcFieldInfo *whole) {
  PartStream x;
  StcStatus s = make_room(j, at, whole, 1, &x);
  if (!s) {
    free(x.block);
    x.block = malloc((size_t)whole->bytes + 1);
    s = x.block ? STC_OK : computer_no_room(j->c->context, "the values of", whole->name, (double)whole->bytes);
  }
  if (!s)
    s = (frames_are_hdf5(o->value) ? hdf5_read_field : npy_read)(j->c->context, o->value, what, whole, x.block);
  x.end = x.points;
  if (!s)
    take_all(&x);
  return set_parts(j, at, &x, s);
}

/* Is the value of --in, on rank 0, a file that can be read only once? All ranks call it. */
static bool is_stream(const Job *j, const FieldOption *o) {
  bool stream = is_file(o->value) && path_is_special(o->value);
  j->net->broadcast(j->net, &stream, sizeof stream, 0);
  return stream;
}

/* ---------------------------------------------------------------- reading in all cases */

/* Keeps the values of a file for --check, if the run writes that file. */
static StcStatus keep(const Job *j, const FieldOption *o, FieldPlace at) {
  StcFieldInfo f;
  void *data = NULL;
  StcStatus s = kept_wanted(j, o) ? read_place(j, j->plan, o, at, &f, &data) : STC_OK;
  free(data);
  return s;
}

/* Sets the values of one --in for one target on all parts of this rank. */
static StcStatus give_place(const Job *j, const FieldOption *o, FieldPlace at) {
  StcPlan *p = j->plan;
  const Split *split = p->split;
  StcFieldInfo whole;
  int field;
  StcStatus s = place_of(p, j->program->declared[at.field].name, at.component, &field, &whole);
  if (s)
    return s;
  if (is_stream(j, o))
    return give_stream(j, o, at, &whole);
  PartSource from = {.file = {.fd = -1, .size = point_bytes(p, at)}, .whole = &whole};
  const char *what = arena_printf(j->c->arena, "field %s", whole.name);
  if (is_file(o->value))
    context_remark(j->c->context, "read: %s, for %s", o->value, what);
  if (!j->net->rank && (s = keep(j, o, at)))
    return s;
  if (is_file(o->value) && is_picture(o->value))
    return give_picture(j, o, at, &whole);
  bool converted = false;
  if (is_file(o->value) && (s = check_file(j, o, what, &whole, &converted)))
    return s;
  if (converted)
    return give_converted(j, o, at, what, &whole);
  if (is_file(o->value))
    from.file.fd = npy_open(j->c->context, o->value, what, &whole, NULL, &from.file.at);
  else
    from.seed = strtoull(o->value + strcspn(o->value, ":") + (strchr(o->value, ':') != NULL), NULL, 10);
  if (is_file(o->value) && from.file.fd < 0)
    return STC_INPUT;
  for (int i = split->begin; i < split->end && !s; i++)
    s = give_part(j, &split->part[i], o, at, &from);
  if (from.file.fd >= 0)
    close(from.file.fd);
  plan_mark_given(p, at.field, at.component);
  return s;
}

/* Sets the values of --in for a launch-time array, of which every part has the whole; a stream is read by rank 0. */
static StcStatus give_arrays(const Job *j, const FieldOption *o, int array) {
  Net *net = j->net;
  StcFieldInfo f;
  void *data = NULL;
  bool stream = is_stream(j, o);
  StcStatus s = stream && net->rank ? stc_plan_array(j->plan, array, &f)
                                    : read_place(j, j->plan, o, (FieldPlace){-1, -1, array, false}, &f, &data);
  if (!s && !data && !(data = malloc((size_t)f.bytes + 1)))
    s = computer_no_room(j->c->context, "the values of", f.name, (double)f.bytes);
  if (stream && !(s = net_agree(net, s, &(int){0})))
    net->broadcast(net, data, (size_t)f.bytes, 0);
  if (!s)
    s = stc_plan_set_array(j->plan, array, data, (size_t)f.bytes);
  free(data);
  return s;
}

/* Sets the values of one --in; values that are not from a file are set component by component. */
static StcStatus give_one(const Job *j, const FieldOption *o, FieldPlace at) {
  const Declared *d = at.array >= 0 ? NULL : &j->program->declared[at.field];
  if (!d)
    return give_arrays(j, o, at.array);
  StcFieldInfo whole;
  StcStatus found = stc_plan_field(j->plan, at.field, &whole);
  if (found || frames_are_wanted(o, at, &whole))
    return found ? found : frames_give(j, j->plan, o, at, &whole);
  if (at.component >= 0 || !declared_has_parts(d) || is_file(o->value))
    return give_place(j, o, at);
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++)
    s = give_place(j, o, (FieldPlace){at.field, c, -1, d->imaginary[c]});
  return s;
}

/* The same, and waits until all ranks are done, as others may wait for what one rank reads next. */
static StcStatus give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at) {
  (void)plan;
  return net_agree(j->net, give_one(j, o, at), &(int){0});
}

StcStatus give_parts_frames(const Job *j) { return give_in_order(j, j->plan, true, give); }

StcStatus give_parts(const Job *j) { return give_in_order(j, j->plan, false, give); }
