/* driver/files/files.h: files, and values of fields.
 *
 *   files.c    files written whole or not at all
 *   claim.c    by one process at a time
 *   pipes.c    what comes and goes by a pipe
 *   ending.c   the end of the command by Ctrl-C and SIGTERM
 *   random.c   random values of fields
 *   values.c   values of fields as text (npy_descr is in program/declared.c)
 */
#ifndef STC_DRIVER_FILES_H
#define STC_DRIVER_FILES_H

#include "driver/program/program.h"

/* A file on its way: written without a name (`unnamed`) or under a temporary one beside `path`, and moved to it by
 * file_commit. Path "-" is stdout. */
typedef struct OutFile {
  FILE *to;
  char path[4096], temporary[4096];
  bool unnamed;
} OutFile;
/* file_create, with a temporary name in any case. */
bool file_create_named(StcContext *c, const char *path, OutFile *f);
/* Each false after a message. file_abandon removes what was written. */
bool file_create(StcContext *c, const char *path, OutFile *f);
bool file_commit(StcContext *c, OutFile *f);
void file_abandon(OutFile *f);
/* Could `path` be created or replaced? Leaves nothing behind. */
bool file_probe(StcContext *c, const char *path);
/* The same for what is made beside its place and moved there, which would replace a device or a pipe. */
bool file_probe_regular(StcContext *c, const char *path);
/* Is `path` written in place: "-", a device, a pipe, or a name of an open file, such as /dev/stdout? */
bool file_is_special(const char *path);
/* Writes n bytes behind what there is, in case of errors as fwrite does. Many that begin at a page, in memory and in
 * the file, go to the disk past the page cache, as long as it takes them quickly: that saves the processor a copy. */
void file_put(OutFile *f, const void *bytes, size_t n);
/* From how many bytes on file_put does so; pages. */
enum { FILE_LARGE = 1 << 22, FILE_PAGE = 4096 };
/* errno of what has failed when bytes were written to `to`, a file that is of no use any more. */
int file_why(FILE *to);
/* The name that a link leads to, which need not be there: that is written, and the link stays. Other names as they are,
 * links to what is written in place too. */
const char *file_behind(Arena *a, const char *path);
/* Gives the file `made`, or the open file `fd` (made NULL), the mode of the file that it is to replace, if there is
 * one, and its owner as far as this process may. */
void file_keep_mode(const char *path, const char *made, int fd);
/* Writes the whole file at once. */
bool file_write(StcContext *c, const char *path, const void *bytes, size_t size);
/* All `n` bytes to or from place `at` of an open file; false: errno says why not. */
bool file_write_at(int fd, const char *from, int64_t n, int64_t at);
bool file_read_at(int fd, char *to, int64_t n, int64_t at);
/* Bytes of an open file; -1: it has no such number. */
int64_t file_length(int fd);
/* Names that this process alone writes until it drops them (claim.c). False after a message that names the process
 * which has it; where the file system has no locks, or the folder takes no file, nobody is kept out. */
typedef struct Claim Claim;
bool claim_take(StcContext *c, const char *path, Claim **all);
void claims_drop(Claim **all);
/* Sets room aside on the disk for `n` bytes behind an open file, or, where its file system cannot, looks whether there
 * is as much; false: there is no room, or files may not be so long, errno says which. Gives room behind the file `path`
 * back. */
bool file_reserve(int fd, int64_t n);
/* Makes an empty open file `n` bytes of zeros that have their room on the disk: where its file system cannot set it
 * aside they are written. False: there is no room, or files may not be so long, errno says which. */
bool file_fill(int fd, int64_t n);
void file_release(const char *path);
/* Opens a file to be read, "-" the standard input; of a pipe it is waited for what comes until the user wants to stop:
 * then reading fails, and context_stopped. NULL with errno. */
FILE *file_open(StcContext *c, const char *path);
/* Opens a device or a pipe to be written in place; of a pipe it is waited for who reads it, until the user wants to
 * stop. NULL with errno, then EINTR. */
FILE *pipe_create(StcContext *c, const char *path);
/* Does the user of the context want to stop? */
bool context_stopped(const StcContext *c);
/* Ctrl-C and SIGTERM (ending.c). How the process may end at once, with exit code STC_INTERRUPTED: `grace` seconds after
 * the signal, when nothing holds it back (hold_begin), once `last` (NULL: nothing is printed) has been called, in
 * another thread, while nobody begins to hold. */
typedef struct Ending {
  double grace;
  void (*last)(void *user);
  void *user;
} Ending;
/* Catches the signals from now on, unless the shell has us ignore them: what is returned is asked then. A second one
 * ends the process. ending_unwatch ends the thread that this takes; the command has ended. */
Stop *ending_watch(void);
void ending_unwatch(void);
/* From now on, until another call, the process may end so: nothing that is under way is of any use to the user by half,
 * and nothing is lost but what `last` saves. NULL: it may not. *e is copied. */
void ending_allow(const Ending *e);
/* Reads a whole file into `a` with a NUL behind it ("-" is stdin). NULL after a message. */
char *file_read(Workspace *w, const char *path, size_t *size);

/* The dtype that NumPy gives the type: "<f4". */
const char *npy_descr(StcType t);
/* Fills the field, of scalar type, with numbers that depend on seed and element alone: floats uniform in [0, 1),
 * integers 0..99, bools. */
void random_fill(const StcFieldInfo *f, uint64_t seed, void *data);
/* The same for the `n` elements from number `first` on alone, which begin at `data`. */
void random_range(const StcFieldInfo *f, uint64_t seed, int64_t first, int64_t n, void *data);
/* Fills the field, of scalar type, with one value, given as text. False if the text is no such value. */
bool value_fill(const StcFieldInfo *f, const char *text, void *data);
/* Element `i` of the field, of scalar type, as a double; makes `v` that element, rounded to its type. */
double field_value(const StcFieldInfo *f, const void *data, int64_t i);
void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v);
/* Makes `n` elements of type `to` of those of type `from`, a float of none but floats: rounded. Returns `n`, or the
 * number of the first that does not fit. */
int64_t values_convert(Type from, const void *in, Type to, void *out, int64_t n);
/* Is `shape`, of `rank` lengths, that of the `n` lengths at `of`, of which those that are 1 may be left out? Then
 * place[d] is which of its lengths stands for number d of these, -1: it is left out. */
bool shape_places(int rank, const int64_t *shape, int n, const int64_t *of, int *place);

#endif
