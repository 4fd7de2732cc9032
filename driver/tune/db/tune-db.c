/* driver/tune/db/tune-db.c: the database of `stc tune`: a JSON file
 *
 *   {"stc_tune": 1, "entries": [{"program": "3f...", "size": "large", "device": "cuda NVIDIA H200", "arch": "nvptx",
 *   "cpu": "sm_90", "version": "stc 0.2.0 (LLVM 22.1.8)",
 *                                "name": "heat", "real": "f32", "schedule": "plan overlap T=8 ...", "gpts":
 *                                1246.1, "date": "2026-11-21"}]}
 */
#include "driver/device/code-cache.h"
#include "driver/files/files.h"
#include "driver/tune/db/tune-db.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DATABASE_VERSION = 1 };

/* ---------------------------------------------------------------- keys */

const char *tune_program_key(Arena *a, Module *m) {
  const char *text = module_print(m), *body = strchr(text, '\n');
  uint64_t x = UINT64_C(14695981039346656037), y = UINT64_C(0x9e3779b97f4a7c15);
  for (const char *s = body ? body : text; *s; s++) {
    x = (x ^ (unsigned char)*s) * UINT64_C(1099511628211);
    y = (y ^ (unsigned char)*s) * UINT64_C(0xff51afd7ed558ccd);
    y ^= y >> 32;
  }
  return arena_printf(a, "%016" PRIx64 "%016" PRIx64, x, y);
}

const char *tune_size_class(int64_t points) {
  return points < 1 << 20 ? "small" : points < 1 << 25 ? "medium" : "large";
}

const char *tune_device_key(Arena *a, const Device *d) {
  const char *name = strstr(d->description, ", ");
  return name ? arena_printf(a, "%s %s", d->kind->name, name + 2) : d->kind->name;
}

const char *tune_path_beside(Arena *a, const char *file) {
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
  if (strcmp(file, "-") == 0)
    return NULL;
  return arena_printf(a, "%.*s.tune.json", (int)(dot && dot > base ? dot - file : (long)strlen(file)), file);
}

const char *tune_path_user(Arena *a) {
  char path[4096];
  return cache_path(path, sizeof path, "tune.json") ? arena_strdup(a, path) : NULL;
}

/* ---------------------------------------------------------------- reading */

/* The members of an entry that are strings, and their offsets. */
typedef struct EntryText {
  const char *name;
  size_t offset;
} EntryText;
static const EntryText texts[] = {
    {"program", offsetof(TuneEntry, key.program)}, {"size", offsetof(TuneEntry, key.size)},
    {"device", offsetof(TuneEntry, key.device)},   {"arch", offsetof(TuneEntry, key.arch)},
    {"cpu", offsetof(TuneEntry, key.cpu)},         {"name", offsetof(TuneEntry, name)},
    {"real", offsetof(TuneEntry, real)},           {"version", offsetof(TuneEntry, version)},
    {"schedule", offsetof(TuneEntry, schedule)},   {"date", offsetof(TuneEntry, date)},
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

/* The address of member `i` in an entry. */
static const char **text_at(TuneEntry *e, int i) { return (const char **)(void *)((char *)e + texts[i].offset); }

/* The advice for a file that is not a database. */
static const char cure[] = "remove the file, or run with --no-tune-db";

/* Reads entry number `i`. */
static StcStatus read_entry(StcContext *c, Arena *a, const char *path, int i, const json_t *o, TuneEntry *out) {
  if (!json_is_object(o))
    return context_error(c, "%s: entry %d is no object; %s", path, i, cure), STC_INPUT;
  for (int k = 0; k < TEXTS; k++) {
    const json_t *v = json_object_get(o, texts[k].name);
    if (!json_is_string(v))
      return context_error(c, "%s: entry %d has no text \"%s\"; %s", path, i, texts[k].name, cure), STC_INPUT;
    *text_at(out, k) = arena_strdup(a, json_string_value(v));
  }
  out->gpts = json_number_value(json_object_get(o, "gpts"));
  return STC_OK;
}

/* Reads the entries of the file's object. */
static StcStatus read_entries(StcContext *c, const char *path, const json_t *o, TuneDb *out) {
  const json_t *entries = json_object_get(o, "entries"), *version = json_object_get(o, "stc_tune");
  if (!json_is_integer(version) || !json_is_array(entries))
    return context_error(
               c, "%s: this is no database of `stc tune`: it has no number \"stc_tune\" or no array \"entries\"; %s",
               path, cure),
           STC_INPUT;
  if (json_integer_value(version) != DATABASE_VERSION)
    return context_error(c, "%s: its \"stc_tune\" is %lld, and this stc reads %d; %s", path,
                         (long long)json_integer_value(version), DATABASE_VERSION, cure),
           STC_INPUT;
  StcStatus s = STC_OK;
  for (size_t i = 0; i < json_array_size(entries) && !s; i++) {
    TuneEntry e = {0};
    s = read_entry(c, out->arena, path, (int)i, json_array_get(entries, i), &e);
    if (!s)
      ARENA_PUSH(out->arena, out->entries, out->n, e);
  }
  return s;
}

StcStatus tune_db_read(Workspace *w, const char *path, TuneDb *out) {
  json_error_t error;
  size_t size;
  struct stat st;
  *out = (TuneDb){.arena = w->arena};
  if (stat(path, &st) != 0)
    return STC_OK;
  if (!S_ISREG(st.st_mode))
    return context_error(w->context, "%s: it is no regular file, and a database is one; %s", path, cure), STC_INPUT;
  const char *text = file_read(w, path, &size);
  if (!text)
    return STC_IO;
  json_t *o = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
  if (!o)
    return context_error(w->context, "%s:%d:%d: this is no JSON: %s; %s", path, error.line, error.column, error.text,
                         cure),
           STC_INPUT;
  StcStatus s = read_entries(w->context, path, o, out);
  json_decref(o);
  return s;
}

/* ---------------------------------------------------------------- searching and writing */

/* Do two entries have the same key and version? */
static bool same_key(const TuneEntry *x, const TuneEntry *y) {
  return strcmp(x->key.program, y->key.program) == 0 && strcmp(x->key.size, y->key.size) == 0 &&
         strcmp(x->key.device, y->key.device) == 0 && strcmp(x->key.cpu, y->key.cpu) == 0 &&
         strcmp(x->version, y->version) == 0;
}

void tune_db_put(TuneDb *db, TuneEntry e) {
  for (int i = 0; i < db->n; i++)
    if (same_key(&db->entries[i], &e)) {
      db->entries[i] = e;
      return;
    }
  ARENA_PUSH(db->arena, db->entries, db->n, e);
}

const TuneEntry *tune_db_find(const TuneDb *db, const TuneKey *key) {
  for (int i = 0; i < db->n; i++) {
    const TuneEntry *e = &db->entries[i];
    bool device = key->device ? strcmp(e->key.device, key->device) == 0 : strcmp(e->key.arch, key->arch) == 0;
    if (device && strcmp(e->key.cpu, key->cpu) == 0 && strcmp(e->key.program, key->program) == 0 &&
        strcmp(e->key.size, key->size) == 0 && strcmp(e->version, stc_version()) == 0)
      return e;
  }
  return NULL;
}

/* Makes the folders above `path`. */
static void make_folders(const char *path) {
  char folder[4096];
  snprintf(folder, sizeof folder, "%s", path);
  for (char *s = folder + 1; *s; s++)
    if (*s == '/') {
      *s = 0;
      mkdir(folder, 0777);
      *s = '/';
    }
}

StcStatus tune_db_write(StcContext *c, const TuneDb *db, const char *path) {
  json_t *o = json_object(), *entries = json_array();
  for (int i = 0; i < db->n; i++) {
    json_t *e = json_object();
    for (int k = 0; k < TEXTS; k++)
      json_object_set_new(e, texts[k].name, json_string(*text_at(&db->entries[i], k)));
    json_object_set_new(e, "gpts", json_real(db->entries[i].gpts));
    json_array_append_new(entries, e);
  }
  json_object_set_new(o, "stc_tune", json_integer(DATABASE_VERSION));
  json_object_set_new(o, "entries", entries);
  char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
  json_decref(o);
  if (!text)
    return context_error(c, "no memory on this computer for %s", path), STC_MEMORY;
  make_folders(path);
  bool ok = file_write(c, path, text, strlen(text));
  free(text);
  return ok ? STC_OK : STC_IO;
}

StcStatus tune_db_store(Workspace *w, const char *path, TuneEntry e) {
  TuneDb db;
  StcStatus s = tune_db_read(w, path, &db);
  if (s)
    return s;
  tune_db_put(&db, e);
  hold_begin();
  s = tune_db_write(w->context, &db, path);
  hold_end();
  return s;
}
