/* driver/run-parts.c: `stc run` on several ranks none of which has the whole grid: fields in and out part by part. Each
 * rank reads what its parts have of a file, ghost cells too, and writes what they own, at their places in one file that
 * looks as if one process had written it. */
#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool job_is_lean(const Job *j) {
  const Command *c = j->c;
  bool lean = j->net;
  for (int i = 0; i < c->nin; i++)
    lean = lean && !(is_file(c->in[i].value) && path_is_special(c->in[i].value));
  return lean;
}

bool is_written_by_parts(const Writer *w) {
  return w->format == &checkpoint_format || (strcmp(w->format->ending, ".npy") == 0 && !path_is_special(w->path));
}

/* Type and shape of a place in `plan`, of a field of that name. */
static StcStatus place_of(StcPlan *plan, const char *name, int component, int *field, StcFieldInfo *f) {
  *field = stc_program_find_field(plan->program, name);
  return component >= 0 ? stc_plan_component(plan, *field, component, f) : stc_plan_field(plan, *field, f);
}

/* The bytes of a point of the field or component. */
static int64_t point_bytes(const StcPlan *p, Place at) {
  const Declared *d = &p->program->declared[at.field];
  return at.component < 0 ? d->point_bytes : type_size((Type)d->components[at.component].type);
}

/* ---------------------------------------------------------------- in */

/* Where the values for a part are from: a file (file.fd >= 0), an array of the whole field, or random numbers for
 * `whole`. */
typedef struct PartSource {
  PartFile file;
  const char *array;
  const StcFieldInfo *whole;
  uint64_t seed;
} PartSource;

/* One run of cells that are no file's (part_each). */
static StcStatus take_run(void *user, int64_t from, int64_t to, int64_t n) {
  const PartSource *x = user;
  int64_t size = x->file.size;
  if (x->array)
    memcpy(x->file.memory + to * size, x->array + from * size, (size_t)(n * size));
  else
    random_range(x->whole, x->seed, from, n, x->file.memory + to * size);
  return STC_OK;
}

/* Fills what part `part` has of a place, and gives it to the part's plan. */
static StcStatus give_part(const Job *j, const PartPlan *part, const FieldOption *o, Place at, PartSource *from) {
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
  if (from->file.fd < 0 && !from->array && strncmp(o->value, "random:", 7) != 0)
    s = fill_value(j->c, &f, o->value, from->file.memory);
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

/* A picture, as the whole field has it (malloc); NULL after an error. */
static char *read_picture(const Job *j, const char *path, const char *what, const StcFieldInfo *f) {
  char *data = malloc((size_t)f->bytes + 1);
  if (!data)
    computer_no_room(j->c->context, "the values of", f->name, (double)f->bytes);
  else if (png_read_field(j->c->context, path, what, f, data))
    return free(data), NULL;
  return data;
}

/* Carries out one --in for a place on all parts of this rank. */
static StcStatus give_place(const Job *j, const FieldOption *o, Place at) {
  StcPlan *p = j->plan;
  const Split *split = p->split;
  StcFieldInfo whole;
  int field;
  StcStatus s = place_of(p, j->program->declared[at.field].name, at.component, &field, &whole);
  if (s)
    return s;
  PartSource from = {.file = {.fd = -1, .size = point_bytes(p, at)}, .whole = &whole};
  const char *what = arena_printf(j->c->arena, "field %s", whole.name);
  char *picture = NULL;
  if (is_file(o->value))
    context_remark(j->c->context, "read: %s, for %s", o->value, what);
  if (is_file(o->value) && is_picture(o->value))
    from.array = picture = read_picture(j, o->value, what, &whole);
  else if (is_file(o->value))
    from.file.fd = npy_open(j->c->context, o->value, what, &whole, &from.file.at);
  else
    from.seed = strtoull(o->value + strcspn(o->value, ":") + (strchr(o->value, ':') != NULL), NULL, 10);
  if (is_file(o->value) && !from.array && from.file.fd < 0)
    return STC_INPUT;
  for (int i = split->begin; i < split->end && !s; i++)
    s = give_part(j, &split->part[i], o, at, &from);
  if (from.file.fd >= 0)
    close(from.file.fd);
  free(picture);
  plan_mark_given(p, at.field, at.component);
  return s;
}

/* Carries out --in for a launch-time array, which every part has as a whole. */
static StcStatus give_arrays(const Job *j, const FieldOption *o, int array) {
  StcFieldInfo f;
  void *data = NULL;
  StcStatus s = give_array(j, j->plan, o, array, &f, &data);
  if (!s)
    s = stc_plan_set_array(j->plan, array, data, (size_t)f.bytes);
  free(data);
  return s;
}

/* Carries out one --in; components by themselves where the values are no file's. */
static StcStatus give(const Job *j, StcPlan *plan, const FieldOption *o, Place at) {
  (void)plan;
  const Declared *d = at.array >= 0 ? NULL : &j->program->declared[at.field];
  if (!d)
    return give_arrays(j, o, at.array);
  if (at.component >= 0 || !declared_has_parts(d) || is_file(o->value))
    return give_place(j, o, at);
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++)
    s = give_place(j, o, (Place){at.field, c, -1});
  return s;
}

StcStatus give_parts(const Job *j) { return give_in_order(j, j->plan, give); }

/* ---------------------------------------------------------------- out */

/* Writes what part `part` owns of a place. */
static StcStatus put_part(const Job *j, const PartPlan *part, Place at, const char *path, PartFile *to) {
  StcPlan *q = part->plan;
  StcFieldInfo f;
  int field;
  StcStatus s = place_of(q, j->program->declared[at.field].name, at.component, &field, &f);
  char *data = s ? NULL : malloc((size_t)f.bytes + 1);
  if (!s && !data)
    return computer_no_room(j->c->context, "a copy of", f.name, (double)f.bytes);
  if (!s)
    s = at.component >= 0 ? stc_plan_get_component(q, field, at.component, data, (size_t)f.bytes)
                          : stc_plan_get(q, field, data, (size_t)f.bytes);
  to->memory = data;
  if (!s && part_to_file(j->plan, part, at.field, to))
    s = (context_error(j->c->context, "cannot write %s: %s", path, strerror(errno)), STC_IO);
  free(data);
  return s;
}

/* What rank 0 tells the others of the file that it has created: where it is, and which file that must be. */
typedef struct SharedFile {
  StcStatus status;
  int64_t at;
  dev_t device;
  ino_t number;
  char path[4096];
} SharedFile;

/* Creates the file on rank 0, and tells all where it is: by its place among the open files of that process, if `near`
 * and the system can, so that nothing is left of it whatever happens, else by a temporary name. */
static SharedFile create_file(const Job *j, Place at, const char *path, bool near, OutFile *out) {
  Net *net = j->net;
  SharedFile file = {.status = STC_OK};
  StcFieldInfo f;
  struct stat st;
  int field;
  *out = (OutFile){0};
  if (net->rank == 0) {
    file.status = place_of(j->plan, j->program->declared[at.field].name, at.component, &field, &f);
    if (!file.status && !npy_create(j->c->context, path, &f, !near, out, &file.at))
      file.status = STC_IO;
    if (!file.status && out->unnamed)
      snprintf(file.path, sizeof file.path, "/proc/%ld/fd/%d", (long)getpid(), fileno(out->to));
    else if (!file.status)
      snprintf(file.path, sizeof file.path, "%s", out->temporary[0] ? out->temporary : out->path);
    if (!file.status && fstat(fileno(out->to), &st) == 0)
      file.device = st.st_dev, file.number = st.st_ino;
  }
  net->broadcast(net, &file, sizeof file, 0);
  return file;
}

/* Opens the file; -1, with errno, if this rank does not find it there. Ranks of one machine in containers of their own
 * may find another one. */
static int open_file(const SharedFile *file, bool near) {
  struct stat st;
  int fd = file->status ? -1 : open(file->path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || !near)
    return fd;
  bool same = fstat(fd, &st) == 0 && st.st_dev == file->device && st.st_ino == file->number;
  if (!same)
    close(fd);
  return same ? fd : (errno = ENOENT, -1);
}

/* Does any rank not find the file? */
static bool out_of_reach(Net *net, bool mine) {
  bool all[net->size], any = false;
  net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size; i++)
    any |= all[i];
  return any;
}

/* Creates the file, and opens it on all ranks: *fd, -1 if this one cannot. */
static SharedFile share_file(const Job *j, Place at, const char *path, OutFile *out, int *fd) {
  bool near = j->net->local_size == j->net->size;
  SharedFile file = create_file(j, at, path, near, out);
  *fd = open_file(&file, near);
  if (file.status || !near || !out_of_reach(j->net, *fd < 0))
    return file;
  if (*fd >= 0)
    close(*fd);
  if (j->net->rank == 0)
    file_abandon(out);
  file = create_file(j, at, path, false, out);
  *fd = open_file(&file, false);
  return file;
}

StcStatus write_parts(const Job *j, Place at, const char *path) {
  const Split *split = j->plan->split;
  OutFile out;
  int fd;
  SharedFile file = share_file(j, at, path, &out, &fd);
  if (file.status)
    return net_agree(j->net, j->net->rank ? STC_OK : file.status, &(int){0});
  PartFile to = {.fd = fd, .at = file.at, .size = point_bytes(j->plan, at)};
  StcStatus s = STC_OK;
  if (to.fd < 0)
    s = (context_error(j->c->context, "cannot write %s: %s", path, strerror(errno)), STC_IO);
  for (int i = split->begin; i < split->end && !s; i++)
    s = put_part(j, &split->part[i], at, path, &to);
  if (to.fd >= 0 && close(to.fd) && !s)
    s = (context_error(j->c->context, "cannot write %s: %s", path, strerror(errno)), STC_IO);
  s = net_agree(j->net, s, &(int){0});
  if (j->net->rank == 0 && s)
    file_abandon(&out);
  else if (j->net->rank == 0)
    s = file_commit(j->c->context, &out) ? STC_OK : STC_IO;
  return net_agree(j->net, s, &(int){0});
}
