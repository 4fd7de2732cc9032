/* driver/cli/run/run-kept.c: `stc run --check`: keeps values of --in that the reference could not read again, because
 * they come from a pipe, or because the run writes their file. */
#include "driver/cli/used/used.h"
#include "driver/data/writer.h"

#include <stdlib.h>
#include <string.h>

struct Kept {
  char *data;
  int64_t bytes;
};

/* The kept values of one of the job's --in. */
static Kept *kept_of(const Job *j, const FieldOption *o) { return &j->kept[o - j->c->in]; }

void kept_open(Job *j) {
  size_t n = (size_t)j->c->nin + 1;
  j->kept = ARENA_ARRAY(j->c->arena, Kept, n);
  memset(j->kept, 0, n * sizeof *j->kept);
}

/* Does the run write the file `path`, or that of the array in it, by --out or --png? */
static bool is_written(const Command *c, const char *path) {
  UsedFiles u = {.arena = c->arena};
  bool same = false;
  path = hdf5_file(c->arena, path);
  for (int i = 0; i < c->nout + c->npng; i++)
    used_add_output(&u, USE_WRITE_VALUES, i < c->nout ? c->outs[i].value : c->pngs[i - c->nout].value, "");
  for (int i = 0; i < u.n; i++)
    same |= name_one_file(c->arena, path, u.file[i].path);
  return same;
}

bool kept_wanted(const Job *j, const FieldOption *o) {
  return j->c->check && is_file(o->value) && (path_is_special(o->value) || is_written(j->c, o->value));
}

StcStatus kept_room(const Job *j, const FieldOption *o, const StcFieldInfo *f, char **room) {
  Kept *k = kept_of(j, o);
  *room = NULL;
  if (k->data || !kept_wanted(j, o))
    return STC_OK;
  *room = k->data = malloc((size_t)f->bytes + 1);
  k->bytes = f->bytes;
  return k->data ? STC_OK : computer_no_room(j->c->context, "a copy for --check of", f->name, (double)f->bytes);
}

bool kept_get(const Job *j, const FieldOption *o, const StcFieldInfo *f, void *data) {
  const Kept *k = kept_of(j, o);
  if (!k->data || k->bytes != f->bytes)
    return false;
  memcpy(data, k->data, (size_t)f->bytes);
  return true;
}

void kept_close(Job *j) {
  for (int i = 0; j->kept && i < j->c->nin; i++)
    free(j->kept[i].data);
  j->kept = NULL;
}
