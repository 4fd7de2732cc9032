/* driver/tune/db/tune-db.h: the database of schedules that `stc tune` has found.
 *
 *   tune-db.c    a JSON file of entries, each the best schedule found for a program on a device
 *   tune-use.c   takes a schedule from it for `stc` and `stc run`
 */
#ifndef STC_DRIVER_TUNE_DB_H
#define STC_DRIVER_TUNE_DB_H

#include "driver/cli/options/command.h"
#include "driver/device/device.h"

/* ---------------------------------------------------------------- the database: tune-db.c */

/* The key of an entry: the program's stencil IR, the class of the grid's size, the device; arch and cpu are for
 * compiling without the device. */
typedef struct TuneKey {
  const char *program, *size, *device, *arch, *cpu;
} TuneKey;
/* The best schedule found, by a version of stc: the text of a plan, or options of schedules in older entries; no other
 * form is accepted. */
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
/* "small", "medium" or "large": grids that fit the same caches and hide launches equally are in one class. */
const char *tune_size_class(int64_t points);
/* The name of a device that stays the same from run to run: "cuda NVIDIA H200". */
const char *tune_device_key(Arena *a, const Device *d);
/* Reads the file, which must be regular; a missing file has no entries. Errors tell what is wrong with it, and where.
 */
StcStatus tune_db_read(Workspace *w, const char *path, TuneDb *out);
StcStatus tune_db_write(StcContext *c, const TuneDb *db, const char *path);
/* Reads the database, adds the entry and writes the file. */
StcStatus tune_db_store(Workspace *w, const char *path, TuneEntry e);
/* Adds the entry; it replaces one with the same key. */
void tune_db_put(TuneDb *db, TuneEntry e);
/* The entry of this version of stc for the key; device NULL: for any device with its arch and cpu. NULL if there is
 * none. */
const TuneEntry *tune_db_find(const TuneDb *db, const TuneKey *key);
/* The path "prog.tune.json" beside prog.stn (NULL for the standard input); the other function: the path of the user's
 * own file (NULL if there is no home). */
const char *tune_path_beside(Arena *a, const char *file);
const char *tune_path_user(Arena *a);

/* ---------------------------------------------------------------- use: tune-use.c */

/* If the command line gives no schedule and a database has one for the program on `device` (NULL: for the program's
 * target), compiles the program again with it. *from is then the database's path, else NULL. */
StcStatus tune_use(const Command *c, const char *device, StcProgram **p, const char **from);
/* Reports this under -v and -Rpass. */
void tune_remark(const Command *c, const char *from);

#endif
