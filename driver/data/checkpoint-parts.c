/* driver/data/checkpoint-parts.c: checkpoints of runs on several ranks, none of which has the whole grid. Rank 0
 * creates the file, with room for all fields; then each rank writes the points that its parts own at their offsets.
 * Each rank reads the points that its parts have. The file equals, byte for byte, the one that a single process writes.
 */
#include "driver/data/hdf5-io.h"
#include "driver/data/joint.h"
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A transfer of one component of a field on the parts of this rank: its bytes go to a file (`writes`) or come from it
 * (file.fd -1: neither); and the contribution of the parts' own points to the checksum. */
typedef struct Moving {
  PartFile file;
  bool writes;
  uint64_t sum;
} Moving;

/* Adds a run of the part's points to the checksum (a part_each callback: `to` is an index into the whole field). */
static StcStatus add_run(void *user, int64_t from, int64_t to, int64_t n) {
  Moving *m = user;
  m->sum += checkpoint_sum(m->file.memory + from * m->file.size, m->file.size, to, n);
  return STC_OK;
}

/* Do the part's points of field number `field` count for its checksum? If the field lacks a dimension, the parts along
 * that dimension have the same points, which count only in the first part. */
static bool counts(const StcPlan *p, const PartPlan *part, int field) {
  const Field *f = &p->module->fields[p->bound.homes[field].field];
  bool first = true;
  for (int d = 0; d < f->box.rank; d++)
    first = first && (!field_lacks(f, d) || part->lo[d] == p->split->lo[d]);
  return first;
}

/* Transfers one component on part `part`, as `m` says. */
static StcStatus move_part(const Job *j, const PartPlan *part, FieldPlace at, const char *path, Moving *m) {
  StcPlan *q = part->plan;
  StcFieldInfo f;
  int field = stc_program_find_field(q->program, j->program->declared[at.field].name);
  StcStatus s = stc_plan_component(q, field, at.component, &f);
  if (s)
    return s;
  m->file.size = type_size((Type)f.type);
  m->file.memory = calloc((size_t)f.bytes + 1, 1);
  if (!m->file.memory)
    return computer_no_room(j->c->context, "a copy of", f.name, (double)f.bytes);
  bool reads = m->file.fd >= 0 && !m->writes;
  if (!reads)
    s = stc_plan_get_component(q, field, at.component, m->file.memory, (size_t)f.bytes);
  if (!s && m->file.fd >= 0 && (reads ? part_from_file : part_to_file)(j->plan, part, at.field, &m->file))
    s = (context_error(j->c->context, reads ? "--restart=%s: it cannot be read: %s" : "cannot write %s: %s", path,
                       strerror(errno)),
         STC_IO);
  if (!s && (reads || m->file.fd < 0) && counts(j->plan, part, at.field))
    s = part_each(j->plan, part, at.field, false, add_run, m);
  if (!s && reads)
    s = stc_plan_set_component(q, field, at.component, m->file.memory, (size_t)f.bytes);
  free(m->file.memory);
  return s;
}

/* The same on all parts of this rank. */
static StcStatus move_parts(const Job *j, FieldPlace at, const char *path, Moving *m) {
  const Split *split = j->plan->split;
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++)
    s = move_part(j, &split->part[i], at, path, m);
  return s;
}

/* The sum over all ranks (collective). */
static uint64_t all_sums(Net *net, uint64_t mine) {
  uint64_t all[net->size], sum = 0;
  net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size; i++)
    sum += all[i];
  return sum;
}

/* ---------------------------------------------------------------- writing */

/* Allocates and fills the value of a source that is not a field: the state of the run, or a launch-time array (malloc).
 */
static StcStatus take_source(const Job *j, const Source *from, void **data) {
  StcFieldInfo f;
  if (from->copy)
    return from->copy(from, j->plan, data);
  StcStatus s = stc_plan_array(j->plan, from->at.array, &f);
  *data = s ? NULL : calloc((size_t)f.bytes + 1, 1);
  if (!s && !*data)
    return computer_no_room(j->c->context, "the values of", f.name, (double)f.bytes);
  return s ? s : split_get_array(j->plan, from->at.array, *data, (size_t)f.bytes);
}

/* Creates the file on rank 0, with the checksums `sums` of its fields, and writes their offsets to `places`. */
static StcStatus create(const Job *j, Writer *w, const char *part, int64_t step, const uint64_t *sums,
                        int64_t *places) {
  void *data[w->nsources];
  StcStatus s = STC_OK;
  memset(data, 0, sizeof data);
  for (int i = 0; i < w->nsources && !s; i++)
    if (w->sources[i]->copy || w->sources[i]->at.array >= 0)
      s = take_source(j, w->sources[i], &data[i]);
  if (!s)
    s = checkpoint_create(w, part, step, (const void *const *)data, sums, places);
  for (int i = 0; i < w->nsources; i++)
    free(data[i]);
  return s;
}

/* Tells all ranks which file rank 0 has made. */
static void tell_file(Net *net, const char *part, SharedFile *file) {
  int fd = net->rank ? -1 : open(part, O_RDONLY | O_CLOEXEC);
  *file = (SharedFile){0};
  if (fd >= 0) {
    shared_file(file, fd, part);
    close(fd);
  }
  net->broadcast(net, file, sizeof *file, 0);
}

/* Writes this rank's points of all fields. */
static StcStatus write_fields(const Job *j, const Writer *w, const SharedFile *file, const int64_t *places) {
  int fd = shared_open(file, j->net);
  StcStatus s = STC_OK;
  for (int i = 0; i < w->nsources && fd >= 0 && !s; i++) {
    Moving m = {.file = {.fd = fd, .at = places[i]}, .writes = true};
    if (w->sources[i]->at.field >= 0 && places[i] > 0)
      s = move_parts(j, w->sources[i]->at, w->path, &m);
  }
  bool good = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0)
    good = close(fd) == 0 && good;
  if (!s && !good)
    s = (context_error(j->c->context, "cannot write %s: %s", w->path, strerror(errno)), STC_IO);
  return s;
}

StcStatus checkpoint_write_parts(const Job *j, Writer *w, int64_t step) {
  Net *net = j->net;
  uint64_t sums[w->nsources];
  int64_t places[w->nsources];
  const char *part = arena_printf(j->c->arena, "%s.part", w->path);
  SharedFile file;
  StcStatus s = STC_OK;
  w->context = j->c->context;
  memset(places, 0, sizeof places);
  for (int i = 0; i < w->nsources; i++) {
    Moving m = {.file.fd = -1};
    if (!s && w->sources[i]->at.field >= 0)
      s = move_parts(j, w->sources[i]->at, w->path, &m);
    sums[i] = all_sums(net, m.sum);
  }
  s = net_agree(net, s, &(int){0});
  if (!s && net->rank == 0)
    s = create(j, w, part, step, sums, places);
  if ((s = net_agree(net, s, &(int){0})))
    return s;
  net->broadcast(net, places, sizeof places, 0);
  tell_file(net, part, &file);
  s = net_agree(net, write_fields(j, w, &file, places), &(int){0});
  if (net->rank == 0)
    s = checkpoint_end(w, part, s);
  return net_agree(net, s, &(int){0});
}

/* ---------------------------------------------------------------- reading */

StcStatus checkpoint_read_parts(const Job *j, const char *path, FieldPlace at, int64_t place, uint64_t *sum) {
  Moving m = {.file = {.fd = open(path, O_RDONLY | O_CLOEXEC), .at = place}};
  StcStatus s = STC_OK;
  if (m.file.fd < 0)
    s = (context_error(j->c->context, "--restart=%s: cannot read it: %s", path, strerror(errno)), STC_IO);
  if (!s)
    s = move_parts(j, at, path, &m);
  if (m.file.fd >= 0)
    close(m.file.fd);
  plan_mark_given(j->plan, at.field, at.component);
  *sum = m.sum;
  return s;
}

bool checkpoint_same_sums(const Job *j, int n, const uint64_t *mine, const uint64_t *want, int *which) {
  *which = -1;
  for (int i = 0; i < n; i++)
    if (all_sums(j->net, mine[i]) != want[i] && *which < 0)
      *which = i;
  return *which < 0;
}
