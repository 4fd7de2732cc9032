/* driver/data/joint.h: files that all ranks write together if no rank has the whole grid. Table of contents:
 *
 *   joint.c         opening, steps and closing; uncompressed values, which each rank writes at their offsets
 *   joint-file.c    one file that all ranks find
 *   joint-beside.c  a thread of each rank that writes or compresses its share of a step while the run goes on
 *   joint-pieces.c  values that are compressed: sent to the rank that compresses them
 *   press.c         compressing
 *
 * An array of a step is stored as pieces, which are consecutive in the array's bytes (C order), but perhaps not in
 * the file. Rank 0 has the format's state, and decides the offset of each piece. */
#ifndef STC_DRIVER_DATA_JOINT_H
#define STC_DRIVER_DATA_JOINT_H

#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <pthread.h>
#include <sys/types.h>

/* The form of a piece of at most `most` bytes in a file: padded with zeros to that size (`filled`), shuffled by
 * elements of `element` bytes (0: not), compressed by zlib (level 0: not). */
typedef struct Pressing {
  size_t most;
  bool filled;
  int element, level;
} Pressing;
/* Memory for converting one piece at a time (malloc). press returns the form in the file of the `n` bytes `values`,
 * valid until the next call; *size: its number of bytes. False or NULL: there is no memory. */
typedef struct Press {
  const Pressing *how;
  unsigned char *whole, *shuffled, *packed;
  size_t room;
} Press;
bool press_open(const Pressing *how, Press *p);
const void *press(Press *p, const void *values, size_t n, size_t *size);
void press_close(Press *p);
/* The form of a piece in the file (malloc). */
typedef struct Pressed {
  void *bytes;
  size_t size;
} Pressed;
/* Converts `n` pieces with this number of threads: piece k is the bytes begin[k] - begin[0] to begin[k + 1] - begin[0]
 * of `values`. False: there is no memory. */
bool press_all(const Pressing *how, int threads, int64_t n, const int64_t *begin, const char *values, Pressed *out);

/* The `n` pieces of an array: piece k is its bytes begin[k] to begin[k + 1], and place[k] its offset in the file; -1:
 * none is known, and the piece is sent to rank 0. compressed: pieces are converted as `how` says; then size[k] is the
 * size of the result. Rank r converts the pieces from number joint_first(.., r) on; its results are mine[0] and on. */
struct Pieces {
  int64_t n, *begin, *place;
  bool compressed;
  Pressing how;
  uint64_t *size;
  Pressed *mine;
};

/* A file of rank 0 as the other ranks are told of it: where it is, which file it must be, and its name in messages. */
typedef struct SharedFile {
  dev_t device;
  ino_t number;
  char path[4096], name[4096];
} SharedFile;

/* A part's values of an array in the form of the file, with ghost cells, in C order (`values`); the field is `info` in
 * the plan's form, in `raw`. */
typedef struct Stored {
  StcFieldInfo info;
  void *raw, *room;
  const char *values;
} Stored;

/* A step that a thread writes to `fd`, or compresses (fd -1) so that it is written later. By array and part of this
 * rank, the values that are written uncompressed (malloc); by array, the values that this rank compresses (malloc).
 * wrong: errno of an error, 0: none; failed: the array for whose compression there was no memory. */
typedef struct Beside {
  int64_t step;
  int fd, wrong, failed;
  Stored *values;
  char **mine;
  pthread_t thread;
  bool started;
} Beside;

/* A writer whose files all ranks write. named: a file has a name while it is written, by which other ranks find it;
 * else they find it among rank 0's open files. threads: for compression. file: the file of the step; on rank 0 `fd` is
 * its descriptor (-1: nobody else writes it), and `temporary` its name until it is complete (NULL: none). nan_array,
 * nan_point and nan_step: the array, the point and the step of the first NaN (nan_array -1: none yet); nan_here: by
 * array, the first NaN of this step on this rank. beside: the step that is being written beside the run; on all ranks
 * or on none (NULL). */
struct Joint {
  const Job *job;
  Writer *w;
  bool named;
  int narrays, threads, fd;
  FieldPart *parts;
  Pieces *pieces;
  const char *temporary;
  SharedFile file;
  int nan_array;
  int64_t nan_point, nan_step, *nan_here;
  Beside *beside;
};

/* The functions of a format on rank 0, between its open and its close. arrays: finds the writer's arrays, in place of
 * writer_parts. lay: sets n, begin, compressed and how of the pieces, which are the same in every step. begin: makes
 * the file of a step, sets x->fd, x->temporary and the offsets of all pieces, whose sizes are known. take: writes a
 * piece without an offset, in order. end: ends the step, with its status. */
struct JointFormat {
  int (*arrays)(Writer *w, FieldPart **out);
  StcStatus (*lay)(Joint *x);
  StcStatus (*begin)(Joint *x, const char *path, int64_t step);
  StcStatus (*take)(Joint *x, int array, int64_t piece, const void *bytes, size_t n);
  StcStatus (*end)(Joint *x, int64_t step, StcStatus s);
};
extern const JointFormat npy_joint, hdf5_joint, vti_joint, pvd_joint;
/* Allocates the `n` pieces of array number `array` in the arena; begin[n] is set. */
Pieces *joint_pieces(Joint *x, int array, int64_t n);

StcStatus stored_get(Joint *x, const PartPlan *part, int array, Stored *v);
void stored_free(Stored *v);
/* The bytes of a point. */
static inline int64_t joint_unit(const FieldPart *p) { return p->points ? (int64_t)p->bytes / p->points : 0; }
/* The first piece of rank `r`, of `n` in all. */
static inline int64_t joint_first(const Net *net, int64_t n, int r) { return n * r / net->size; }
/* Writes the points that part `part` of this rank owns of an uncompressed array. False: errno tells the reason. */
bool put_values(const Joint *x, const PartPlan *part, int array, const Stored *v, int fd);
/* joint-beside.c: beside_start copies this rank's values of the step, and has a thread write them to `fd`, which it
 * closes. beside_press copies them and has a thread compress those that need it; all ranks call it. beside_wait waits
 * for the thread, and returns errno of an error, or 0. beside_values returns the copied values of an array on part
 * number `i` of the plan. beside_end frees all. */
StcStatus beside_start(Joint *x, int64_t step, int fd);
StcStatus beside_press(Joint *x, int64_t step);
int beside_wait(Joint *x);
Stored *beside_values(const Joint *x, int array, int i);
void beside_end(Joint *x);
/* joint-pieces.c: joint_bring collects the values of this rank's pieces of an array in *mine (malloc, also after an
 * error); joint_press compresses them, without MPI; false: there is no memory; joint_tell_sizes tells all ranks their
 * sizes, unless a rank has failed (`ok` false). All ranks call the first and the last. */
StcStatus joint_bring(Joint *x, int array, char **mine);
bool joint_press(Joint *x, int array, const char *mine);
StcStatus joint_tell_sizes(Joint *x, int array, bool ok);

/* On rank 0: describes the file `fd`, which others find under that name (NULL: among this process's open files). */
void shared_file(SharedFile *file, int fd, const char *temporary);
/* Opens the file for writing; -1, with errno, if this rank does not find it. */
int shared_open(const SharedFile *file, const Net *net);
/* Do all ranks find a file that rank 0 makes beside `path`; *named: only by its name? All ranks call it. */
StcStatus shared_reach(const Job *j, const char *path, bool *all, bool *named);

#endif
