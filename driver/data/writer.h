/* driver/data/writer.h: fields written to files while a program runs. Table of contents:
 *
 *   formats.c   the table of formats, found by a file name's ending; names that hold the number of a step
 *   feed.c      what is due at a step, copied from the plan and written by a thread of its own
 *   npy.c       .npy: NumPy's arrays, a step a file       png.c   .png: pictures, a step a file
 *   picture.c   what a picture shows, in which colours    film.c  .apng: pictures of all steps in a file
 *   movie.c     .mp4: the same, made by ffmpeg
 *   hdf5.c      .h5, .nc: all steps in a file             xdmf.c  the XML beside an .h5 that ParaView reads
 *   hdf5-chunks.c  a step's values as chunks, compressed  hdf5-places.c  where the library would put them
 *   hdf5-io.h   what the files that use HDF5 share        hdf5-io.c
 *   checkpoint.c  all that a run needs to go on           restart.c  going on from it
 *   checkpoint-parts.c  the same on ranks that have parts
 *   vtk.c       .vti: VTK's image data, a step a file     .pvd, the list of such files
 *   joint.h     files that several ranks write together   joint.c joint-file.c joint-pieces.c
 *               joint-beside.c
 *   press.c     values shuffled and compressed
 *   parts.c     fields as files of named arrays hold them xml.c   text in XML
 *   series-hdf5.c  --log FILE.h5
 *   nan.c       what is written and is no number
 *
 * The table's formats are all that the command and the feed know. A format sees a writer: a name, fields, and what all
 * files of the run say about it; it is opened before the first step, gets the steps in rising order, and is closed or,
 * after one of its functions has failed, aborted. */
#ifndef STC_DRIVER_DATA_WRITER_H
#define STC_DRIVER_DATA_WRITER_H

#include "driver/cli/run/job.h"
#include "driver/data/series.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* How pictures are drawn: by which map of colours, between which limits (else those of the picture), of fields of three
 * dimensions which slice: place `slice_at` of dimension `slice` (else the middle of the slowest), and how many contours
 * there are between the limits. masked: a second source says which points are grey: those where it is 0 or, negated,
 * is not. */
typedef struct Look {
  int map;
  bool limited, sliced, masked, negated;
  double least, most;
  int slice;
  int64_t slice_at;
  int contours;
} Look;
/* The map of colours of that name, -1: there is none; the name of map number `map`, NULL beyond the last. */
int color_map(const char *name);
const char *color_map_name(int map);

/* A param: a number of type STC_I64 (i) or STC_F64 (f). */
typedef struct ParamFact {
  const char *name;
  StcType type;
  int64_t i;
  double f;
} ParamFact;

/* What all files of a run say about it; fixed before the first step. until: that which ended the run that this one goes
 * on from (NULL: none did). Place i of dimension d, slowest first, lies at
 * origin[d] + i * spacing[d], in units of `length_unit` (NULL: unknown). compress: zlib's level, 0: not at all. */
typedef struct Facts {
  const char *program, *text, *version, *device, *schedule; /* text: the source */
  const char *key, *until;                                  /* of its stencil IR; checkpoints only */
  int nparams;
  const ParamFact *params;
  int rank;
  double spacing[MAX_RANK], origin[MAX_RANK];
  const char *length_unit;
  int compress;
  bool lasting; /* other runs may go on with the files when this one has been killed */
  Look look;
} Facts;

/* What is read from a plan at a step: a field, a component of one (else -1), a launch-time array, or, if `copy` is set,
 * what that function makes *data, which is its own from step to step (malloc). unit: NULL: unknown. sampled: `info` is
 * of those values of `all` alone that a picture shows, and behind them *data has what is seen of all (source_sight). */
typedef struct Source {
  FieldPlace at;
  StcFieldInfo info, all;
  bool sampled;
  const char *unit;
  StcStatus (*copy)(const struct Source *s, StcPlan *plan, void **data);
  const void *user;
} Source;

typedef struct Format Format;
typedef struct Joint Joint;
typedef struct Pieces Pieces;
typedef struct JointFormat JointFormat;

/* A file, or a series of files, on its way. every: the steps from one to the next, 0: none; last: also after the last
 * step; stopped: also where the user ends the run before that; from: how many steps were done by the runs before this
 * one, whose series goes on, -1: there were none. `context` and `w` are the writing thread's. state: the format's own
 * (malloc or of `w`). joint: all ranks write it (joint.h), NULL: one process does. */
typedef struct Writer {
  const Format *format;
  const char *path; /* as asked for; may hold %06d */
  const Facts *facts;
  int nsources;
  const Source **sources;
  int64_t every, from;
  bool last, stopped;
  StcContext *context;
  Workspace w;
  bool opened, failed;
  int64_t steps, written; /* how many steps were written, and the last of them, -1: none */
  void *state;
  Joint *joint;
} Writer;

/* A row of the table. Functions report to w->context. */
struct Format {
  const char *ending, *help;    /* ".npy", "NumPy's array" */
  bool series, continues;       /* a file holds many steps; another run can go on with one */
  int fields;                   /* the most fields a file holds; 0: any number */
  bool scalars;                 /* of scalars only, not of vectors and structs */
  bool complex;                 /* an element of an array may be a complex number */
  StcStatus (*open)(Writer *w); /* or NULL */
  StcStatus (*step)(Writer *w, const char *path, int64_t step, const void *const *data); /* data of each source */
  StcStatus (*close)(Writer *w);                                                         /* or NULL */
  void (*abort)(Writer *w);                                                              /* or NULL */
  const JointFormat *joint; /* how several ranks write such a file; NULL: rank 0 does, and is sent the fields */
};

/* The table, ended by a row without an ending. */
extern const Format formats[];
/* The format of the file `path`, which must have the ending of one; what is no regular file, and "-", is an .npy. NULL
 * after an error, which lists the endings. */
bool path_is_special(const char *path);
const Format *format_find(StcContext *c, const char *option, const char *path);
/* The row with that ending. */
const Format *format_of(const char *ending);
/* Where the name has the number of a step, "%06d" or "%d": its first character, and its length in *n. NULL: nowhere. */
const char *path_number(const char *path, int *n);
/* The name for `step`, in `a`. */
const char *path_of_step(Arena *a, const char *path, int64_t step);
/* Is the name one of those that the other, with a place for the number of a step, comes to? Both without folders. */
bool path_is_of_step(Arena *a, const char *path, const char *name);
/* Is the output `path`, or the file of one of its steps, there already, and no regular file? */
bool output_is_special(Arena *a, const char *path);

/* The place of a writer's source in `data` and what of it an array of its own holds: all of a field of scalars or
 * vectors, or one component of a struct, `ncomponents` from `first` on, of type `from`, stored as `type`, which all
 * readers know: bools as i8, f16 and bf16 as f32. naxes: how many of the field's axes of vectors it has. pairs: its
 * elements are complex numbers, of two components each. */
typedef struct FieldPart {
  int source, first, ncomponents, naxes;
  bool pairs;
  const char *name, *unit;
  const StcFieldInfo *info;
  StcType from, type;
  int64_t points;
  size_t bytes; /* as stored */
} FieldPart;
/* The parts of all sources, into a new array in the writer's arena; their number. */
int writer_parts(Writer *w, FieldPart **out);
/* The bytes of an element of the array. */
int part_size(const FieldPart *p);
/* Reports a part without elements. */
StcStatus parts_check(Writer *w, const FieldPart *parts, int n);
/* The values to be stored: in `data` itself where they lie there like that, else in `room`, of p->bytes. */
const void *part_values(const FieldPart *p, const void *const *data, void *room);
/* The coordinate of the part's first point in dimension `dim`. */
double part_origin(const Writer *w, const FieldPart *p, int dim);
/* Have both the same points? */
bool parts_share_place(const FieldPart *a, const FieldPart *b);
/* Appends to a list of steps (malloc). False if there is no memory. */
bool steps_add(int64_t **steps, int64_t *n, int64_t *capacity, int64_t step);

/* What an XDMF lists: the parts and the steps of the HDF5 file `name`. */
typedef struct Xdmf {
  const char *name;
  int nparts;
  const FieldPart *parts;
  int64_t nsteps;
  const int64_t *steps;
} Xdmf;
StcStatus xdmf_write(const Writer *w, const char *path, const Xdmf *x);
/* Writes text so that it is that text in XML, in attributes too. */
void xml_text(FILE *to, const char *s);

StcStatus npy_step(Writer *w, const char *path, int64_t step, const void *const *data);
/* A plane of a field as a picture of so many pixels. */
enum { PICTURE_COLORS = 1024 };
typedef struct Picture {
  const Look *look;
  const StcFieldInfo *field;
  const void *data;
  const StcFieldInfo *mask; /* NULL: none */
  const void *mask_data;
  int64_t first, rows, columns, row_stride, column_stride; /* in elements */
  double least, most;
  int width, height;
  unsigned char colors[PICTURE_COLORS][3]; /* from the least to the greatest value */
} Picture;
/* Makes `f` what a picture of it shows: of three dimensions the slice alone, if that is there. */
void picture_narrow(const Look *look, StcFieldInfo *f);
/* Makes `f`, which is that, what of it the pixels show: every so many points along a dimension with more of them. */
void picture_sample(StcFieldInfo *f);
/* Of the values `data` of the writer's sources. */
StcStatus picture_make(const Writer *w, const char *path, const void *const *data, Picture *p);
/* Where a sampled source's data has what is seen of all values: behind its `bytes`. */
static inline size_t source_sight(const Source *from) {
  return ((size_t)from->info.bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}
/* Fills line `y` of 3 bytes a pixel. Values that are not finite are red, dry points are grey. */
void picture_line(const Picture *p, int y, unsigned char *line);

/* The functions of format F, which opens files. */
#define WRITER_FUNCTIONS(F) \
  StcStatus F##_open(Writer *w); \
  StcStatus F##_step(Writer *w, const char *path, int64_t step, const void *const *data); \
  StcStatus F##_close(Writer *w); \
  void F##_abort(Writer *w);
WRITER_FUNCTIONS(film)
WRITER_FUNCTIONS(movie)
WRITER_FUNCTIONS(hdf5)
WRITER_FUNCTIONS(vti)
WRITER_FUNCTIONS(pvd)
StcStatus png_step(Writer *w, const char *path, int64_t step, const void *const *data);

/* ---------------------------------------------------------------- checkpoints: checkpoint.c checkpoint-parts.c
 * restart.c */

/* Not in the table: no name's ending asks for it. Its writer's first source is copied by checkpoint_copy, whose user is
 * the Job; the others are all components of fields that last, and all launch-time arrays. */
extern const Format checkpoint_format;
StcStatus checkpoint_copy(const Source *from, StcPlan *plan, void **data);
/* Writes the checkpoint of a step where no rank has the whole grid. All ranks call it. */
StcStatus checkpoint_write_parts(const Job *j, Writer *w, int64_t step);
/* Where a run goes on: `step` steps are done; until: whose condition was met then, "": none. */
typedef struct Restart {
  int64_t step;
  const char *until;
} Restart;
/* Sets fields, arrays, reductions and step of `plan` from the checkpoint, and appends the series until then. The
 * checkpoint must be of the same program and params (f). */
StcStatus restart_read(const Job *j, const char *path, StcPlan *plan, const Facts *f, Series *series, Restart *out);
/* Checks that, and nothing more. */
StcStatus restart_check(const Job *j, const char *path, const Facts *f);

/* ---------------------------------------------------------------- no numbers: nan.c */

/* The points of the field. */
int64_t field_points(const StcFieldInfo *f);
/* The first point (in C order) of the values `data` of field `f` at which a number, or a component's, is NaN; -1: none.
 */
int64_t first_nan(const StcFieldInfo *f, const void *data);
/* Is there one in a part of the values, of a large field a sixteenth? Sixteen turns, numbered from any, see all. */
bool glance_finds_nan(const StcFieldInfo *f, const void *data, int64_t turn);
/* "[3, 5]": point number `point` in the coordinates of the grid, into `to`, which it returns. */
const char *point_text(const StcFieldInfo *f, int64_t point, char *to, size_t size);

/* Warns that such a one was written. */
void nan_warn(StcContext *c, const StcFieldInfo *f, int64_t point, int64_t step);

/* ---------------------------------------------------------------- files of all ranks: joint.c */

/* All ranks call these. can: is the writer's format written by all ranks, and do all find its files; *named: only by
 * name? open: fills w->joint, with so many threads of this rank to compress. step: writes one; the first error is that
 * of all; beside: it may end while the run goes on. finish: ends that, before all else of this writer. warn: of the
 * first NaN. Each rank then ends the files by writer_close, whatever has gone wrong. */
StcStatus joint_can(const Job *j, Writer *w, bool *can, bool *named);
StcStatus joint_open(const Job *j, Writer *w, bool named, int threads);
StcStatus joint_step(Joint *x, int64_t step, bool beside);
StcStatus joint_finish(Joint *x);
bool joint_warn_of_nan(const Joint *x);

/* ---------------------------------------------------------------- the feed: feed.c */

/* Ends the writer's files: a series that has no step is removed. */
StcStatus writer_close(Writer *w);
/* The last of a writer that has failed: what it has begun is removed. */
void writer_give_up(Writer *w);

typedef struct Feed Feed;
enum { EVERY_LAST = 0, EVERY_STOPPED = -1 };
/* Takes `n` writers, filled but for what their thread has, opens those of series, and starts the thread. On success
 * *out is to be given to feed_close, before the plan is freed. The sources and writers must live as long; each source
 * is taken once a step. */
StcStatus feed_open(StcPlan *plan, int n, Writer *writers, int nsources, const Source *sources, Feed **out);
/* Borrows or copies from `plan` what the writers that are due after `step` steps need (of period `every`, or of one of
 * the two below, and who have not had this one), and leaves the rest to the thread. Waits while two steps are still
 * unwritten. An error of the thread is reported and returned here. */
StcStatus feed_step(Feed *f, StcPlan *plan, int64_t step, int64_t every);
/* Waits until all is written, closes the files and ends the thread. Series with no step are not left behind. *files:
 * how many steps were written, by all. One warning names the first NaN that was found in what was written: of large
 * fields that are written often steps between the first and the last are glanced at. */
StcStatus feed_close(Feed *f, int64_t *steps);

#endif
