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

/* How pictures are drawn: the colour map; the limits of values (else those of the picture); the slice of fields of
 * three dimensions, at coordinate `slice_at` of dimension `slice` (else the middle of the slowest one); the number of
 * contours between the limits. masked: a second source tells which points are grey: those where it is 0 or, negated,
 * where it is not 0. */
typedef struct Look {
  int map;
  bool limited, sliced, masked, negated;
  double least, most;
  int slice;
  int64_t slice_at;
  int contours;
} Look;
/* color_map returns the number of the colour map of that name, -1 if there is none; the other function returns the name
 * of map number `map`, NULL beyond the last. */
int color_map(const char *name);
const char *color_map_name(int map);

/* A param: a number of type STC_I64 (i) or STC_F64 (f). */
typedef struct ParamFact {
  const char *name;
  StcType type;
  int64_t i;
  double f;
} ParamFact;

/* What all files of a run say about it; fixed before the first step. until: the condition that ended the run which this
 * one continues (NULL: none). Point i of dimension d, slowest first, is at origin[d] + i * spacing[d], in units of
 * `length_unit` (NULL: unknown). compress: zlib's level; 0: no compression. */
typedef struct Facts {
  const char *program, *text, *version, *device, *schedule; /* text: the source */
  const char *key, *until;                                  /* of its stencil IR; checkpoints only */
  int nparams;
  const ParamFact *params;
  int rank;
  double spacing[MAX_RANK], origin[MAX_RANK];
  const char *length_unit;
  int compress;
  bool lasting; /* other runs can continue the files if this run was killed */
  Look look;
} Facts;

/* What is read from a plan at a step: a field, a component of one (else -1), a launch-time array, or, if `copy` is set,
 * the *data that this function makes, which it owns and reuses from step to step (malloc). unit: NULL: unknown.
 * sampled: `info` is only of those values of `all` that a picture shows, and a summary of all values follows them in
 * *data (source_sight). */
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

/* A file, or a series of files, during its writing. every: the period in steps, 0: none; last: also after the last
 * step; stopped: also if the user ends the run earlier; from: the number of steps of earlier runs whose series goes on,
 * -1: none. `context` and `w` belong to the writing thread. state: the format's state (malloc or in `w`). joint: all
 * ranks write it (joint.h); NULL: one process does. */
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
  int64_t steps, written; /* the number of steps written, and the last of them (-1: none) */
  void *state;
  Joint *joint;
} Writer;

/* A row of the table. Functions report errors to w->context. */
struct Format {
  const char *ending, *help;    /* ".npy", "NumPy's array" */
  bool series, continues;       /* a file holds many steps; another run can continue it */
  int fields;                   /* the most fields of a file; 0: any number */
  bool scalars;                 /* only scalars, no vectors and structs */
  bool complex;                 /* array elements can be complex numbers */
  StcStatus (*open)(Writer *w); /* or NULL */
  StcStatus (*step)(Writer *w, const char *path, int64_t step, const void *const *data); /* data of each source */
  StcStatus (*close)(Writer *w);                                                         /* or NULL */
  void (*abort)(Writer *w);                                                              /* or NULL */
  const JointFormat *joint; /* how several ranks write such a file; NULL: rank 0 does, and receives the fields */
};

/* The table; its last row has no extension. */
extern const Format formats[];
/* path_is_special tells whether `path` is "-" or not a regular file; its format is .npy. The other function returns the
 * format of the file `path`, according to its extension; NULL after an error, which lists the extensions. */
bool path_is_special(const char *path);
const Format *format_find(StcContext *c, const char *option, const char *path);
/* The row with that extension. */
const Format *format_of(const char *ending);
/* The placeholder for the number of a step in the name, "%06d" or "%d": returns its first character, and its length in
 * *n. NULL: there is none. */
const char *path_number(const char *path, int *n);
/* The name of the file for `step`, in `a`. */
const char *path_of_step(Arena *a, const char *path, int64_t step);
/* Can `path`, which has a placeholder for the number of a step, become `name`? Both are without folders. */
bool path_is_of_step(Arena *a, const char *path, const char *name);
/* Does the output `path`, or the file of one of its steps, exist already as something other than a regular file? */
bool output_is_special(Arena *a, const char *path);

/* The index of a writer's source in `data`, and the part of it that is one array: all of a field of scalars or vectors,
 * or one component of a struct: `ncomponents` components from `first` on, of type `from`, stored as `type`, which all
 * readers know: bools as i8, f16 and bf16 as f32. naxes: how many of the field's vector axes it has. pairs: its
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
/* Writes the parts of all sources to a new array in the writer's arena; returns their number. */
int writer_parts(Writer *w, FieldPart **out);
/* The bytes of an element of the array. */
int part_size(const FieldPart *p);
/* Reports an error for a part without elements. */
StcStatus parts_check(Writer *w, const FieldPart *parts, int n);
/* The values to be stored: a pointer into `data` if they are stored there in the same form, else copied to `room`, of
 * p->bytes. */
const void *part_values(const FieldPart *p, const void *const *data, void *room);
/* The coordinate of the part's first point in dimension `dim`. */
double part_origin(const Writer *w, const FieldPart *p, int dim);
/* Do both parts have the same points? */
bool parts_share_place(const FieldPart *a, const FieldPart *b);
/* Appends a step to a list (malloc). False if there is no memory. */
bool steps_add(int64_t **steps, int64_t *n, int64_t *capacity, int64_t step);

/* The contents of an XDMF file: the parts and the steps of the HDF5 file `name`. */
typedef struct Xdmf {
  const char *name;
  int nparts;
  const FieldPart *parts;
  int64_t nsteps;
  const int64_t *steps;
} Xdmf;
StcStatus xdmf_write(const Writer *w, const char *path, const Xdmf *x);
/* Writes text, escaped for XML, also for attributes. */
void xml_text(FILE *to, const char *s);

StcStatus npy_step(Writer *w, const char *path, int64_t step, const void *const *data);
/* A plane of a field as a picture with this number of pixels. */
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
  unsigned char colors[PICTURE_COLORS][3]; /* from the smallest to the largest value */
} Picture;
/* Reduces `f` to what a picture of it shows: of three dimensions only the slice, if it exists. */
void picture_narrow(const Look *look, StcFieldInfo *f);
/* Reduces `f`, the result, to the points of the pixels: a dimension with more points than pixels is sampled at a fixed
 * distance. */
void picture_sample(StcFieldInfo *f);
/* Makes the picture of the values `data` of the writer's sources. */
StcStatus picture_make(const Writer *w, const char *path, const void *const *data, Picture *p);
/* The offset of the summary of all values in a sampled source's data: after its `bytes`. */
static inline size_t source_sight(const Source *from) {
  return ((size_t)from->info.bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}
/* Fills line `y` with 3 bytes for each pixel. Values that are not finite are red, dry points are grey. */
void picture_line(const Picture *p, int y, unsigned char *line);

/* Declares the functions of format F, which opens files. */
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

/* Not in the table, as no file name's extension selects it. Its writer's first source is copied by checkpoint_copy,
 * whose user is the Job; the other sources are all components of fields that live from step to step, and all
 * launch-time arrays. */
extern const Format checkpoint_format;
StcStatus checkpoint_copy(const Source *from, StcPlan *plan, void **data);
/* Writes the checkpoint of a step if no rank has the whole grid. All ranks call it. */
StcStatus checkpoint_write_parts(const Job *j, Writer *w, int64_t step);
/* Where a run continues: after `step` steps; until: the condition that was met then, "": none. */
typedef struct Restart {
  int64_t step;
  const char *until;
} Restart;
/* Sets fields, arrays, reductions and step of `plan` from the checkpoint, and appends the series until that step. The
 * checkpoint must be of the same program with the same params (f). */
StcStatus restart_read(const Job *j, const char *path, StcPlan *plan, const Facts *f, Series *series, Restart *out);
/* Only checks that the checkpoint matches. */
StcStatus restart_check(const Job *j, const char *path, const Facts *f);

/* ---------------------------------------------------------------- NaN: nan.c */

/* The number of points of the field. */
int64_t field_points(const StcFieldInfo *f);
/* The first point (in C order) of the values `data` of field `f` that has a number or component that is NaN; -1 if
 * there is none. */
int64_t first_nan(const StcFieldInfo *f, const void *data);
/* Is there a NaN in a part of the values, for a large field in a sixteenth of them? Sixteen consecutive values of
 * `turn` cover all. */
bool glance_finds_nan(const StcFieldInfo *f, const void *data, int64_t turn);
/* Writes the coordinates of point number `point` in the grid, "[3, 5]", to `to`, and returns it. */
const char *point_text(const StcFieldInfo *f, int64_t point, char *to, size_t size);

/* Warns that a NaN was written. */
void nan_warn(StcContext *c, const StcFieldInfo *f, int64_t point, int64_t step);

/* ---------------------------------------------------------------- files of all ranks: joint.c */

/* All ranks call these. joint_can: do all ranks write the writer's format, and do all find its files; *named: only by
 * name? joint_open fills w->joint; `threads`: for compression on this rank. joint_step writes a step; the first error
 * is returned on all ranks; beside: it may end while the run goes on. joint_finish ends such a step, before anything
 * else is done with this writer. joint_warn_of_nan warns of the first NaN. Each rank then calls writer_close, also
 * after an error. */
StcStatus joint_can(const Job *j, Writer *w, bool *can, bool *named);
StcStatus joint_open(const Job *j, Writer *w, bool named, int threads);
StcStatus joint_step(Joint *x, int64_t step, bool beside);
StcStatus joint_finish(Joint *x);
bool joint_warn_of_nan(const Joint *x);

/* ---------------------------------------------------------------- the feed: feed.c */

/* Closes the writer's files; removes a series without steps. */
StcStatus writer_close(Writer *w);
/* The last call for a writer that has failed: removes what it has begun. */
void writer_give_up(Writer *w);

typedef struct Feed Feed;
enum { EVERY_LAST = 0, EVERY_STOPPED = -1 };
/* Takes `n` writers, complete except for the members of their thread, opens those of series, and starts the thread.
 * After success the caller must call feed_close for *out before it frees the plan. Sources and writers must live as
 * long; each source is taken once for each step. */
StcStatus feed_open(StcPlan *plan, int n, Writer *writers, int nsources, const Source *sources, Feed **out);
/* Borrows or copies from `plan` the values for the writers that are due after `step` steps, and leaves the rest to the
 * thread. These writers have period `every`, or one of the two values above, and have not written this step yet. Waits
 * while two steps are still unwritten. Reports and returns an error of the thread. */
StcStatus feed_step(Feed *f, StcPlan *plan, int64_t step, int64_t every);
/* Waits until all is written, closes the files and ends the thread. Removes series without steps. *steps grows by
 * the number of steps written, by all writers. One warning names the first NaN that was found; of large fields that are
 * written often, only samples of the steps between the first and the last are searched. */
StcStatus feed_close(Feed *f, int64_t *steps);

#endif
