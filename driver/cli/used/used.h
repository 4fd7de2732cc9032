/* driver/cli/used/used.h: the files that a command reads and writes, all of them known before it writes the first. It
 * replaces none that it reads, and writes none twice, in whatever form the names are given: relative or not, links,
 * with a placeholder for the number of a step (used.c). */
#ifndef STC_DRIVER_USED_H
#define STC_DRIVER_USED_H

#include "driver/cli/options/command.h"

/* What a command does with a file. An output may replace files of two kinds of reading after they have been read
 * completely: --out and --png replace values of --in, --checkpoint replaces the checkpoint of --restart. */
typedef enum Use { USE_READ, USE_READ_VALUES, USE_READ_STATE, USE_WRITE, USE_WRITE_VALUES, USE_WRITE_STATE } Use;

/* A file, and its description for messages: "the program", "-o". making: the name under which a file is written first;
 * it replaces what has that name, even a link, but not the file to which a link points. */
typedef struct UsedFile {
  Use use;
  bool making;
  const char *path, *what;
} UsedFile;
typedef struct UsedFiles {
  Arena *arena;
  int n;
  UsedFile *file;
} UsedFiles;

/* Is the value of --in the name of a file? */
bool is_file(const char *value);
/* Adds a file; does nothing for NULL. */
void used_add(UsedFiles *u, Use use, const char *path, const char *what);
/* Adds the files that the options of `c` have it read: the program, plans, passes, values, a checkpoint, databases of
 * schedules. */
void used_add_inputs(UsedFiles *u, const Command *c);
/* Adds the files that program `p` includes, which are known after it was read. */
void used_add_included(UsedFiles *u, const StcProgram *p);
/* Adds output `path` of a run and the files beside it during and after writing: .part, .xmf, .vti. */
void used_add_output(UsedFiles *u, Use use, const char *path, const char *what);
/* Returns STC_USAGE after reporting a file that is read and would be replaced, or that would be written twice. */
StcStatus used_check(const Command *c, const UsedFiles *u);
/* Do both names mean one regular file? False for anything that is not a regular file, such as "-" and devices. */
bool name_one_file(Arena *a, const char *x, const char *y);

#endif
