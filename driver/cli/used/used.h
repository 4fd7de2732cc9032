/* driver/cli/used/used.h: the files that a command reads and writes, all of them known before it writes the first: none
 * that it reads is replaced, none that it writes is written twice, whatever the names are: relative or not, links, with
 * a place for the number of a step (used.c). */
#ifndef STC_DRIVER_USED_H
#define STC_DRIVER_USED_H

#include "driver/cli/options/command.h"

/* What a command does with a file. Two kinds of reading leave the file to an output of their kind, which replaces it
 * when all of it has been read: values of --in to --out and --png, the checkpoint of --restart to --checkpoint. */
typedef enum Use { USE_READ, USE_READ_VALUES, USE_READ_STATE, USE_WRITE, USE_WRITE_VALUES, USE_WRITE_STATE } Use;

/* A file, and what it is, for messages: "the program", "-o". making: the name of one in the making, which takes the
 * place of what has that name, be it a link, and touches nothing that a link leads to. */
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

/* Is the value of --in a file's name? */
bool is_file(const char *value);
/* Adds a file; NULL: there is none. */
void used_add(UsedFiles *u, Use use, const char *path, const char *what);
/* Adds what the options of `c` have it read: the program, plans, passes, values, a checkpoint, databases of schedules.
 */
void used_add_inputs(UsedFiles *u, const Command *c);
/* Adds the files that program `p` includes. They are known once it has been read. */
void used_add_included(UsedFiles *u, const StcProgram *p);
/* Adds output `path` of a run and what stands beside it while it is written and behind that: .part, .xmf, .vti. */
void used_add_output(UsedFiles *u, Use use, const char *path, const char *what);
/* Reports a file that is read and would be replaced, or that would be written twice: STC_USAGE. */
StcStatus used_check(const Command *c, const UsedFiles *u);
/* Do both names mean one file? Neither of what is no regular file, such as "-" and devices. */
bool name_one_file(Arena *a, const char *x, const char *y);

#endif
