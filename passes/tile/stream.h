/* passes/tile/stream.h: the pipeline that a launch becomes when its tile is walked.
 *
 *   stream.c         lags and windows, from the accesses
 *   stream-early.c   parts of equations that are evaluated before their row is due
 *
 * Words: the launch's tile is walked along dimension 0, a row (rank 2) or plane (rank 3) a *step*; a grid of rank 1
 * makes one step. At each step every instance makes
 * the row that is `lag` rows behind the one that is loaded. Rows of a version are kept for as long as instances
 * behind want them: its
 * *window*. A *warp* is 32 threads beside each other in the last dimension, a *line* its cells there: V cells for
 * each lane. In rank 3 a
 * thread has E lines of dimension 1 and warps are stacked there. On a target whose warps have 64 threads a line may be
 * theirs: then the block has 64 threads in the last dimension. In rank 3 lines may be halves or quarters of a warp,
 * for more lines of fewer cells a block: then what is said of warps here holds for these parts. */
#ifndef STC_PASSES_STREAM_H
#define STC_PASSES_STREAM_H

#include "passes/launch/launch.h"
#include "passes/tile/move.h"

/* Lanes that exchange values, if schedule `s` of a grid of rank `rank` says nothing else; lanes of a line of it. */
enum { STREAM_LANES = WARP_LANES };
static inline int stream_lanes(const Schedule *s, int rank) { return rank > 1 ? s->block[rank - 1] : STREAM_LANES; }

/* What is kept of a version of a field. Rows are counted back from the newest one, which is row `step - lag` of the
 * walk. */
typedef struct Window {
  bool used;   /* an instance reads it, or it is stored at the end */
  bool direct; /* version 0, read at own points only and by rows far apart: each reader loads its own row, or takes it
                  from the ring by which rows come in */
  int32_t behind; /* of a direct one: the oldest row that is read, back from the newest */
  int32_t lag;    /* of what makes it; 0 for version 0 */
  int32_t rows;   /* the oldest row that is read, back from the newest: so many are kept between steps */
  int32_t across; /* the oldest row back that is read by other warps; 0: none (such rows are read a step later at the
                     earliest) */
  int32_t reach_lo, reach_hi; /* lines down and up in dimension 1 that are read, rank 3 */
  int32_t constants;          /* accesses that may lead to points where the field is a constant */
  bool tested[MAX_RANK];      /* in these dimensions */
  bool filled; /* that constant is put in cells beyond the field's region as soon as there is a value for them, so that
                  accesses do without a test */
} Window;

/* Of `E` lines of a thread, those of window `w` that other threads read. */
static inline int32_t stream_shared_lines(const Window *w, int32_t E) {
  return shared_lines(w->reach_lo, w->reach_hi, E);
}

/* What an instance evaluates before its row is due, of the equations of its main piece. Indexed by the numbers of the
 * body's values, in order. */
typedef struct Early {
  int32_t piece, n; /* which piece; how many values its body has */
  int32_t *phase;   /* so many steps before its row is due the value is computed; of an access: can be read */
  int32_t *use;     /* the least phase at which it is used, INT32_MAX: it is not */
  bool *free;       /* it depends on no access and is computed where it is used */
  bool *kept;       /* it is computed before the phase of its last use: a ring keeps it until then */
  int32_t most;     /* the largest phase of a value that is kept */
  int64_t words;    /* 32-bit words that the values kept take for each cell */
} Early;

/* The pipeline of launch `l`. */
typedef struct Stream {
  const Launch *l;
  bool alone;    /* one thread has the whole tile: what it made is there at once, and nothing is computed early */
  Extent halo;   /* beyond the tile: on what version 0 of fields is needed, and on what instances compute */
  int32_t *lag;  /* [instance] */
  Early **early; /* [instance], NULL: all at its own step */
  Window **w;    /* [field][version] */
  bool *far; /* [instance * nfields + field]: it reads other points of version 0 in global memory, for they may be far
                from its rows */
  bool (*wraps)[MAX_RANK]; /* [field]: rows of version 0 are loaded wrapped into the field's region; halo cells need not
                              be images of points for that */
  int32_t unroll;          /* steps written out, so that rows need not move: a row's place is its number modulo this */
  int32_t last;            /* the largest lag of a version that is stored */
} Stream;

/* The pipeline of launch `l`, in the arena of its module. */
Stream *stream_new(const Launch *l);
/* The same as the mapping of schedule `s` has it. */
Stream *stream_for(const Launch *l, const Schedule *s);
/* The same for a tile that one thread walks. */
Stream *stream_alone(const Launch *l);
/* Steps that are written out at least: as many as the longest window keeps rows, and more than the lines for other
 * warps live. */
int32_t stream_least_written(const Stream *s);
/* 32-bit words of registers that its windows take for each cell of a line. */
int64_t stream_words(const Stream *s);
/* Instructions that all instances of `l` take for a point, about. */
int64_t stream_code(const Launch *l);

/* Rows that the rings have in which rows come in by copies that run `ahead` steps ahead: at least so many, and a
 * multiple or a divisor of `unroll`. */
int32_t stream_slots(const Stream *s, int32_t ahead);

/* How rows of `field` come to the walk, by loads that run `ahead` steps ahead, `width` cells at once. keeps: rows of
 * which each reader takes its own stay in the ring, if there is one. */
Move stream_move(const Stream *s, int field, int32_t ahead, int width, bool keeps);

/* What instance `i` reads for an access to `field` at `off` under `rules`: the window, NULL if it is nothing or comes
 * from global memory. */
Window *stream_window(const Stream *s, int i, int field, const int64_t *off, const Rules *rules);
/* Does it come from global memory then? */
bool stream_far(const Stream *s, int i, int field, const int64_t *off, const Rules *rules);

/* What instance `i` of `s`, whose lag and windows read are known, should evaluate early; NULL if keeping rows is as
 * good. */
Early *early_new(const Stream *s, int i);

#endif
