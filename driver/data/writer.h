/* driver/data/writer.h: fields written to files while a program runs. Table of contents:
 *
 *   formats.c   the table of formats, found by a file name's ending; names that hold the number of a step
 *   feed.c      what is due at a step, copied from the plan and written by a thread of its own
 *   npy.c       .npy: NumPy's arrays, a step a file       png.c   .png: pictures, a step a file
 *
 * The table's formats are all that the command and the feed know. A format sees a writer: a name, fields, and what all
 * files of the run say about it; it is opened before the first step, gets the steps in rising order, and is closed or,
 * after one of its functions has failed, aborted. */
#ifndef STC_DRIVER_DATA_WRITER_H
#define STC_DRIVER_DATA_WRITER_H

#include "driver/driver.h"

/* What a name and a value are in all files: of params, say. */
typedef struct Fact {
  const char *name, *value;
} Fact;

/* What all files of a run say about it; fixed before the first step. */
typedef struct Facts {
  const char *program, *text; /* its name and its source */
  int nfacts;
  const Fact *facts; /* params, the versions, the device and so on */
} Facts;

/* What is read from a plan at a step: a field, or a component of one (else -1). */
typedef struct Source {
  Place at;
  StcFieldInfo info;
} Source;

typedef struct Format Format;

/* A file, or a series of files, on its way. every: the steps from one to the next, 0: none; last: also after the last
 * step. `context` and `w` are the writing thread's. state: the format's own (malloc or of `w`). */
typedef struct Writer {
  const Format *format;
  const char *path; /* as asked for; may hold %06d */
  const Facts *facts;
  int nsources;
  const Source **sources;
  int64_t every;
  bool last;
  StcContext *context;
  Workspace w;
  bool opened, failed;
  int64_t steps, written; /* how many steps were written, and the last of them, -1: none */
  void *state;
} Writer;

/* A row of the table. Functions report to w->context. */
struct Format {
  const char *ending, *help;    /* ".npy", "NumPy's array" */
  bool series;                  /* a file holds many steps */
  int fields;                   /* the most fields a file holds; 0: any number */
  bool scalars;                 /* of scalars only, not of vectors and structs */
  StcStatus (*open)(Writer *w); /* or NULL */
  StcStatus (*step)(Writer *w, const char *path, int64_t step, const void *const *data); /* data of each source */
  StcStatus (*close)(Writer *w);                                                         /* or NULL */
  void (*abort)(Writer *w);                                                              /* or NULL */
};

/* The table, ended by a row without an ending. */
extern const Format formats[];
/* The format of the file `path`, which must have the ending of one; what is no regular file, and "-", is an .npy. NULL
 * after an error, which lists the endings. */
const Format *format_find(StcContext *c, const char *option, const char *path);
/* The row with that ending. */
const Format *format_of(const char *ending);
/* Where the name has the number of a step, "%06d" or "%d": its first character, and its length in *n. NULL: nowhere. */
const char *path_number(const char *path, int *n);
/* The name for `step`, in `a`. */
const char *path_of_step(Arena *a, const char *path, int64_t step);

StcStatus npy_step(Writer *w, const char *path, int64_t step, const void *const *data);
StcStatus png_step(Writer *w, const char *path, int64_t step, const void *const *data);

/* ---------------------------------------------------------------- the feed: feed.c */

typedef struct Feed Feed;
/* Takes `n` writers, filled but for what their thread has, opens those of series, and starts the thread. On success
 * *out is to be given to feed_close. The sources and writers must live as long; each source is copied once a step. */
StcStatus feed_open(StcContext *c, int n, Writer *writers, int nsources, const Source *sources, Feed **out);
/* Copies from `plan` what the writers that are due after `step` steps need (of period `every`; 0: those that want the
 * last step, and have not had this one), and leaves the rest to the thread. Waits while two steps are still unwritten.
 * An error of the thread is reported and returned here. */
StcStatus feed_step(Feed *f, StcPlan *plan, int64_t step, int64_t every);
/* Waits until all is written, closes the files and ends the thread. Series with no step are not left behind. *files:
 * how many steps were written, by all. */
StcStatus feed_close(Feed *f, int64_t *steps);

#endif
