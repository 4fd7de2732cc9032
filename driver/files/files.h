/* driver/files/files.h: files, and values of fields.
 *
 *   files.c    files written whole or not at all
 *   claim.c    names that one process at a time writes
 *   pipes.c    reading and writing of pipes
 *   ending.c   the end of the command by Ctrl-C and SIGTERM
 *   random.c   random values of fields
 *   values.c   values of fields as text (npy_descr is in program/declared.c)
 */
#ifndef STC_DRIVER_FILES_H
#define STC_DRIVER_FILES_H

#include "driver/program/program.h"

/* A file during its writing: without a name (`unnamed`) or under a temporary one beside `path`; file_commit moves it to
 * `path`. Path "-" is stdout. */
typedef struct OutFile {
  FILE *to;
  char path[4096], temporary[4096];
  bool unnamed;
} OutFile;
/* As file_create, but always with a temporary name. */
bool file_create_named(StcContext *c, const char *path, OutFile *f);
/* These return false after a message. file_abandon removes the written file. */
bool file_create(StcContext *c, const char *path, OutFile *f);
bool file_commit(StcContext *c, OutFile *f);
void file_abandon(OutFile *f);
/* Could `path` be created or replaced? Leaves no file behind. */
bool file_probe(StcContext *c, const char *path);
/* The same for files that are made under another name and moved, which would replace a device or a pipe. */
bool file_probe_regular(StcContext *c, const char *path);
/* Is `path` written in place: "-", a device, a pipe, or a name of an open file, such as /dev/stdout? */
bool file_is_special(const char *path);
/* Appends n bytes; errors are recorded as by fwrite. Many bytes that begin at a page, in memory and in the file, go to
 * the disk past the page cache, as long as it accepts them quickly, which saves the processor a copy. */
void file_put(OutFile *f, const void *bytes, size_t n);
/* The number of bytes from which file_put does so; the size of a page. */
enum { FILE_LARGE = 1 << 22, FILE_PAGE = 4096 };
/* errno of the failed write to `to`, a file that cannot be used any more. */
int file_why(FILE *to);
/* The name to which a link points, even if that does not exist: the file of that name is written, and the link stays.
 * Other names are returned unchanged, including links to what is written in place. */
const char *file_behind(Arena *a, const char *path);
/* Gives the file `made`, or the open file `fd` (made NULL), the mode of the file that it will replace, if there is one,
 * and its owner as far as this process may. */
void file_keep_mode(const char *path, const char *made, int fd);
/* Writes the whole file at once. */
bool file_write(StcContext *c, const char *path, const void *bytes, size_t size);
/* Transfer `n` bytes from and to offset `at` of an open file; false: errno tells the reason. */
bool file_write_at(int fd, const char *from, int64_t n, int64_t at);
bool file_read_at(int fd, char *to, int64_t n, int64_t at);
/* The number of bytes of an open file; -1: it has no length. */
int64_t file_length(int fd);
/* Names that only this process writes until it drops them (claim.c). False after a message that names the process which
 * has the name. If the file system has no locks, or no file can be made in the folder, others are not kept out. */
typedef struct Claim Claim;
bool claim_take(StcContext *c, const char *path, Claim **all);
void claims_drop(Claim **all);
/* Reserves room on the disk for `n` bytes after the end of an open file; if its file system cannot do this, checks that
 * there is as much room. False: there is no room, or files may not be so long, as errno tells. The other function
 * releases such room of the file `path`. */
bool file_reserve(int fd, int64_t n);
/* Makes an empty open file `n` bytes of zeros with room on the disk; if its file system cannot reserve it, the zeros
 * are written. False: there is no room, or files may not be so long, as errno tells. */
bool file_fill(int fd, int64_t n);
void file_release(const char *path);
/* Opens a file for reading, "-" is the standard input; reading a pipe waits for data until the user wants to stop: then
 * it fails, and context_stopped returns true. NULL with errno. */
FILE *file_open(StcContext *c, const char *path);
/* Opens a device or a pipe for writing in place; for a pipe it waits until another process reads it, or the user wants
 * to stop. NULL with errno, EINTR after a stop. */
FILE *pipe_create(StcContext *c, const char *path);
/* Does the user of the context want to stop? */
bool context_stopped(const StcContext *c);
/* Ctrl-C and SIGTERM (ending.c): how the process may end at once, with exit code STC_INTERRUPTED: `grace` seconds after
 * the signal, if nothing prevents it (hold_begin), after a call of `last` (NULL: none) in another thread, during which
 * nobody can begin to prevent it. */
typedef struct Ending {
  double grace;
  void (*last)(void *user);
  void *user;
} Ending;
/* Catches the signals from now on, unless the shell has this process ignore them; the result then reports them. A
 * second signal ends the process. ending_unwatch ends the thread for this when the command has ended. */
Stop *ending_watch(void);
void ending_unwatch(void);
/* Allows the process to end in this way until the next call: unfinished work is of no use to the user, and only what
 * `last` saves must not be lost. NULL: not allowed. *e is copied. */
void ending_allow(const Ending *e);
/* Reads a whole file into `a`, followed by a NUL ("-" is stdin). NULL after a message. */
char *file_read(Workspace *w, const char *path, size_t *size);

/* NumPy's dtype for the type: "<f4". */
const char *npy_descr(StcType t);
/* Fills the field, of scalar type, with numbers that depend only on seed and element: floats uniform in [0, 1),
 * integers 0..99, bools. */
void random_fill(const StcFieldInfo *f, uint64_t seed, void *data);
/* The same for only the `n` elements from number `first` on, which begin at `data`. */
void random_range(const StcFieldInfo *f, uint64_t seed, int64_t first, int64_t n, void *data);
/* Fills the field, of scalar type, with one value, given as text. False if the text is no value of this type. */
bool value_fill(const StcFieldInfo *f, const char *text, void *data);
/* field_value: element `i` of the field, of scalar type, as a double. The other function sets that element to `v`,
 * rounded to its type. */
double field_value(const StcFieldInfo *f, const void *data, int64_t i);
void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v);
/* Converts `n` elements of type `from` to type `to`; floats convert only to floats, rounded. Returns `n`, or the number
 * of the first element that does not fit. */
int64_t values_convert(Type from, const void *in, Type to, void *out, int64_t n);
/* Does `shape`, of `rank` lengths, equal the `n` lengths `of`, of which those that are 1 may be left out? Then place[d]
 * is the index in `shape` of length number d of `of`; -1: it is left out. */
bool shape_places(int rank, const int64_t *shape, int n, const int64_t *of, int *place);

#endif
