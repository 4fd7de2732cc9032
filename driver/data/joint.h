/* driver/data/joint.h: files that all ranks write together, where no rank has the whole grid. Table of contents:
 *
 *   joint.c         opening, steps and closing; values that are written as they are, each rank its own at their places
 *   joint-file.c    one file that all ranks find
 *   joint-beside.c  a step written, or what is to be compressed of it, by a thread of each rank, while the run goes on
 *   joint-pieces.c  values that are compressed: brought to the rank that does it
 *   press.c         compressing
 *
 * An array of a step stands in the file as pieces, one behind the other in the array's bytes (C order), perhaps not in
 * the file. Rank 0 has the format's state, and says where each goes. */
#ifndef STC_DRIVER_DATA_JOINT_H
#define STC_DRIVER_DATA_JOINT_H

#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <pthread.h>
#include <sys/types.h>

/* How a piece of at most `most` bytes is to stand in a file: filled up with zeros to as many (`filled`), shuffled by
 * elements of `element` bytes (0: not), compressed by zlib (level 0: not). */
typedef struct Pressing {
  size_t most;
  bool filled;
  int element, level;
} Pressing;
/* Room for one piece on its way (malloc). press: what is to stand in the file for the `n` bytes `values`, until the
 * next one; *size: its bytes. False, NULL: there is no memory. */
typedef struct Press {
  const Pressing *how;
  unsigned char *whole, *shuffled, *packed;
  size_t room;
} Press;
bool press_open(const Pressing *how, Press *p);
const void *press(Press *p, const void *values, size_t n, size_t *size);
void press_close(Press *p);
/* What stands in the file for a piece (malloc). */
typedef struct Pressed {
  void *bytes;
  size_t size;
} Pressed;
/* Presses `n` pieces by so many threads: piece k is the bytes begin[k] - begin[0] to begin[k + 1] - begin[0] of
 * `values`. False: there is no memory. */
bool press_all(const Pressing *how, int threads, int64_t n, const int64_t *begin, const char *values, Pressed *out);

/* The `n` pieces of an array: piece k is its bytes begin[k] to begin[k + 1], and place[k] the byte of the file where it
 * begins, -1: it has none, and rank 0 is sent it. compressed: it is done to them what `how` says; then size[k] is what
 * comes of it, and rank r does it for the pieces from number joint_first(.., r) on, mine[0] being its first. */
struct Pieces {
  int64_t n, *begin, *place;
  bool compressed;
  Pressing how;
  uint64_t *size;
  Pressed *mine;
};

/* A file of rank 0's as it tells the others of it: where it is, which file that must be, and what messages call it. */
typedef struct SharedFile {
  dev_t device;
  ino_t number;
  char path[4096], name[4096];
} SharedFile;

/* Values of an array on a part of this rank as the file has them, with ghost cells, in C order (`values`, whose field
 * is `info` as the plan has it, in `raw`). */
typedef struct Stored {
  StcFieldInfo info;
  void *raw, *room;
  const char *values;
} Stored;

/* A step that a thread writes, to `fd`, or (fd -1) compresses, to be written when that is done: by array and part here,
 * what is written of it as it is (malloc); by array, what of it this rank compresses (malloc). wrong: errno of what has
 * gone wrong, 0: nothing; failed: the array that there was no memory to compress. */
typedef struct Beside {
  int64_t step;
  int fd, wrong, failed;
  Stored *values;
  char **mine;
  pthread_t thread;
  bool started;
} Beside;

/* A writer whose files all ranks write. named: a file has a name while it is written, by which others find it; else
 * they find it among those that rank 0 has open. threads: for pressing. file: that of the step, and on rank 0 `fd`, to
 * which it is open (-1: nobody else writes it), and `temporary`, its name until it is whole (NULL: none). nan_array,
 * nan_point and nan_step: the first NaN: of which array, at which point, after how many steps (nan_array -1: none yet);
 * nan_here: by array, the first one of this step on this rank. beside: the step that is being written beside the run,
 * on all ranks or on none (NULL). */
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

/* What a format does on rank 0, between its open and its close. arrays: the writer's arrays, if not writer_parts. lay:
 * n, begin, compressed and how of all pieces, which are those of every step. begin: the file of a step, with x->fd and
 * x->temporary, and the place of all pieces, whose sizes are known. take: writes a piece that has no place, in order.
 * end: the step is written, or not: with a status. */
struct JointFormat {
  int (*arrays)(Writer *w, FieldPart **out);
  StcStatus (*lay)(Joint *x);
  StcStatus (*begin)(Joint *x, const char *path, int64_t step);
  StcStatus (*take)(Joint *x, int array, int64_t piece, const void *bytes, size_t n);
  StcStatus (*end)(Joint *x, int64_t step, StcStatus s);
};
extern const JointFormat npy_joint, hdf5_joint, vti_joint, pvd_joint;
/* Room in the arena for the `n` pieces of array number `array`; begin[n] is set. */
Pieces *joint_pieces(Joint *x, int array, int64_t n);

StcStatus stored_get(Joint *x, const PartPlan *part, int array, Stored *v);
void stored_free(Stored *v);
/* The bytes of a point. */
static inline int64_t joint_unit(const FieldPart *p) { return p->points ? (int64_t)p->bytes / p->points : 0; }
/* The first piece of rank `r`, of `n` in all. */
static inline int64_t joint_first(const Net *net, int64_t n, int r) { return n * r / net->size; }
/* Writes what part `part`, which is here, owns of an array that is written as it is. False: errno says why not. */
bool put_values(const Joint *x, const PartPlan *part, int array, const Stored *v, int fd);
/* joint-beside.c: takes what this rank has of the step, and has a thread write it to `fd`, which it closes. Takes it,
 * too, and has a thread compress what is to be compressed; all ranks call that. Waits for the thread, and gives errno
 * of what went wrong, 0: nothing. The values of an array on part number `i` of the plan as they were taken. The end. */
StcStatus beside_start(Joint *x, int64_t step, int fd);
StcStatus beside_press(Joint *x, int64_t step);
int beside_wait(Joint *x);
Stored *beside_values(const Joint *x, int array, int i);
void beside_end(Joint *x);
/* joint-pieces.c: brings the values of this rank's pieces of an array together, *mine (malloc, also after an error);
 * presses them, by no means of MPI, false: there is no memory; lets all know their sizes, unless a rank has none
 * (`ok`). All ranks call the first and the last. */
StcStatus joint_bring(Joint *x, int array, char **mine);
bool joint_press(Joint *x, int array, const char *mine);
StcStatus joint_tell_sizes(Joint *x, int array, bool ok);

/* On rank 0: fills in what `fd` is, to be found under that name (NULL: among what this process has open). */
void shared_file(SharedFile *file, int fd, const char *temporary);
/* Opens it to be written; -1, with errno, if this rank does not find it. */
int shared_open(const SharedFile *file, const Net *net);
/* Do all ranks find a file that rank 0 makes beside `path`; *named: only if it has a name? All ranks call it. */
StcStatus shared_reach(const Job *j, const char *path, bool *all, bool *named);

#endif
