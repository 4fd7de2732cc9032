/* driver/tune/db/tune-db.h: the database of schedules that `stc tune` found.
 *
 *   tune-db.c    a JSON file of entries, each the best schedule found for a program on a device
 *   tune-use.c   `stc` and `stc run` taking a schedule from it
 */
#ifndef STC_DRIVER_TUNE_DB_H
#define STC_DRIVER_TUNE_DB_H

#include "driver/cli/options/command.h"
#include "driver/device/device.h"

/* ---------------------------------------------------------------- the database: tune-db.c */

/* What an entry is found by: the program's stencil IR, the class of the grid's size, the device; arch and cpu are for
 * compiling without the device. */
typedef struct TuneKey {
  const char *program, *size, *device, *arch, *cpu;
} TuneKey;
/* The best schedule found, by a version of stc: the text of a plan, or options of schedules, as older entries have
 * them; nothing else is taken. */
typedef struct TuneEntry {
  TuneKey key;
  const char *name, *real, *version, *schedule, *date;
  double gpts;
} TuneEntry;
typedef struct TuneDb {
  Arena *arena;
  int n;
  TuneEntry *entries;
} TuneDb;

/* The key of a program: a hash of its stencil IR without its name. */
const char *tune_program_key(Arena *a, Module *m);
/* "small", "medium" or "large": what fits caches and hides launches behaves alike. */
const char *tune_size_class(int64_t points);
/* A device as it is known from one run to the next: "cuda NVIDIA H200". */
const char *tune_device_key(Arena *a, const Device *d);
/* Reads the file, a regular one; one that is not there has no entries. Errors say what is wrong with it, and where. */
StcStatus tune_db_read(Workspace *w, const char *path, TuneDb *out);
StcStatus tune_db_write(StcContext *c, const TuneDb *db, const char *path);
/* Reads the database, puts the entry in and writes it. */
StcStatus tune_db_store(Workspace *w, const char *path, TuneEntry e);
/* Puts the entry in the place of the one with its key, if there is one. */
void tune_db_put(TuneDb *db, TuneEntry e);
/* The entry of this version of stc for the key; device NULL: for any device with its arch and cpu. NULL: none. */
const TuneEntry *tune_db_find(const TuneDb *db, const TuneKey *key);
/* "prog.tune.json" beside prog.stn (NULL for the standard input); the user's own file (NULL if there is no home). */
const char *tune_path_beside(Arena *a, const char *file);
const char *tune_path_user(Arena *a);

/* ---------------------------------------------------------------- use: tune-use.c */

/* If the command line says nothing of a schedule and a database has one for the program on `device` (NULL: for the
 * program's target), compiles it again with that. *from is then the database's path, else NULL. */
StcStatus tune_use(const Command *c, const char *device, StcProgram **p, const char **from);
/* Says so under -v and -Rpass. */
void tune_remark(const Command *c, const char *from);

#endif
