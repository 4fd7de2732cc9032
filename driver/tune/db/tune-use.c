/* driver/tune/db/tune-use.c: `stc` and `stc run` take a schedule from the database of `stc tune` if the command line
 * gives none. */
#include "driver/tune/db/tune-db.h"

#include <stdlib.h>
#include <string.h>

/* The data for looking up an entry. */
typedef struct Lookup {
  const Command *c;
  StcProgram *program;
  const char *device;
  TuneKey key;
  const char *path;
  const TuneEntry *entry;
  Workspace w;
} Lookup;

/* Sets the device's part of the key. */
static StcStatus find_device(Lookup *l) {
  StcProgram *p = l->program;
  Device d = {0};
  const Target *t = NULL;
  StcStatus s = STC_OK;
  if (l->device) {
    s = device_open(&l->w, device_first(l->w.arena, l->device), &d);
    if (!s && d.kind->arch)
      t = target_find(l->w.arena, l->w.diags, d.kind->arch, p->options.mcpu ? p->options.mcpu : d.cpu);
    l->key.device = s ? NULL : tune_device_key(l->w.arena, &d);
    if (d.kind)
      d.kind->close(&d);
  } else {
    t = program_target(p);
  }
  l->key.arch = t ? target_arch(t) : "";
  l->key.cpu = t ? target_info(t)->cpu : "";
  return s;
}

/* Does the database have an entry of this version for the program? Only then is the device opened. */
static bool has_program(const TuneDb *db, const char *program) {
  for (int i = 0; i < db->n; i++)
    if (strcmp(db->entries[i].key.program, program) == 0 && strcmp(db->entries[i].version, stc_version()) == 0)
      return true;
  return false;
}

/* Looks for an entry in the file. */
static StcStatus look(Lookup *l, const char *path) {
  TuneDb db;
  if (!path || l->entry)
    return STC_OK;
  StcStatus s = tune_db_read(&l->w, path, &db);
  if (s || !has_program(&db, l->key.program))
    return s;
  if (!l->key.cpu)
    s = find_device(l);
  l->entry = s ? NULL : tune_db_find(&db, &l->key);
  l->path = path;
  return s;
}

/* Finds the entry. */
static StcStatus lookup_guarded(void *arg) {
  Lookup *l = arg;
  const Command *c = l->c;
  int64_t extents[MAX_RANK], points = 1;
  if (!program_extents(l->program, l->w.arena, 0, NULL, extents))
    return STC_OK;
  for (int d = 0; d < l->program->module->grid.rank; d++)
    points *= extents[d];
  l->key.program = tune_program_key(l->w.arena, l->program->module);
  l->key.size = tune_size_class(points);
  if (c->db)
    return look(l, c->db);
  StcStatus s = look(l, tune_path_beside(c->arena, c->file));
  return s ? s : look(l, tune_path_user(c->arena));
}

/* Compiles the program with the entry's schedule. */
static StcStatus recompile(Lookup *l, StcProgram **p) {
  StcOptions o = l->c->options;
  StcProgram *tuned;
  StcStatus s = options_add(l->c->context, l->c->arena, l->entry->schedule, &o);
  if (!s)
    s = stc_compile_file(l->c->context, l->c->file, &o, &tuned);
  if (s)
    return context_error(l->c->context, "%s: its schedule \"%s\" cannot be used; remove it, or run with --no-tune-db",
                         l->path, l->entry->schedule),
           s;
  stc_program_free(*p);
  *p = tuned;
  return STC_OK;
}

StcStatus tune_use(const Command *c, const char *device, StcProgram **p, const char **from) {
  Lookup l = {.c = c, .program = *p, .device = device};
  *from = NULL;
  const char *usual = getenv("STC_TUNE_DB");
  if (usual && strcmp(usual, "off") != 0)
    return context_error(c->context, "STC_TUNE_DB=%s: the one value there is is off; --db FILE names a database",
                         usual),
           STC_USAGE;
  if (c->scheduled || c->no_tune_db || (usual && !c->db) || (*p)->kind == SOURCE_KIR || strcmp(c->file, "-") == 0)
    return STC_OK;
  if (device && (strcmp(device, "ref") == 0 || strcmp(device, "sim") == 0))
    return STC_OK;
  if (!workspace_open(&l.w, c->context, NULL))
    return STC_MEMORY;
  StcStatus s = workspace_guard(&l.w, lookup_guarded, &l);
  if (!s && l.entry)
    s = recompile(&l, p);
  if (!s && l.entry)
    *from = arena_strdup(c->arena, l.path);
  workspace_close(&l.w);
  return s;
}

void tune_remark(const Command *c, const char *from) {
  if (from && (c->options.remarks || c->context->verbose))
    fprintf(stderr, "stc: remark: the schedule is from %s\n", from);
}
