/* driver/tune/trial.h: measures programs under schedules, for `stc bench` and `stc tune`.
 *
 *   subject.c   a program to be measured: sizes of its grid, what a step costs at least, what the reference makes of
 *               it on small grids
 *   trial.c     a subject under one schedule on a device: compiled, verified, timed
 *   crew.c      several threads that compile trials
 */
#ifndef STC_DRIVER_TRIAL_H
#define STC_DRIVER_TRIAL_H

#include "driver/explain/explain.h"

/* ---------------------------------------------------------------- subjects: subject.c */

/* Params that set the grid's size, as "NAME=VALUE". */
typedef struct GridSize {
  int n;
  const char *const *defines;
} GridSize;

/* The reference's results on a small grid after some steps (grid: its number; CHECK_GRIDS more: the results of the
 * subject's peer): the components of all fields that steps change, one after the other. sensitivity: the error of the
 * results, as field_compare measures it, if the last bit of all initial numbers is changed; < 0: not known yet. */
typedef struct Wanted {
  int grid;
  int64_t steps;
  char *data;
  double sensitivity;
  struct Wanted *next;
} Wanted;

/* The grids on which results are checked: one with odd extents and a few tiles, one with multiples of 32, both small
 * enough for the reference; and a wide one, most of whose tiles touch no edge. On the wide grid the subject's peer
 * replaces the reference: its naive schedule on the same device, after it has passed on the small grids. The peer also
 * replaces the reference on the small grids for programs that magnify rounding errors so much in these steps that the
 * reference is no criterion. */
enum { REFERENCE_GRIDS = 2, CHECK_GRIDS = 3, CHECK_SEED = 1, TIME_SEED = 2 };
typedef struct Trial Trial;

/* A program to be measured. Its messages, except those of reading it, are kept in `messages`: only the first error. */
typedef struct Messages {
  char first[400];
} Messages;
typedef struct Subject {
  Arena *arena;
  const char *name, *text; /* as for stc_compile_string */
  StcOptions options;      /* without a schedule; grid: the size to be measured */
  const Stop *stop;        /* tells whether the user wants to end; runs obey it too */
  Messages messages;
  StcContext *context;
  StcProgram *program;
  StcPlan *reference;
  Trial *peer; /* NULL: the wide grid is left out */
  GridSize checks[CHECK_GRIDS];
  Wanted *wanted;
} Subject;

/* A configuration for stc_context_new that keeps the context's first error in `m`. */
StcConfig messages_config(Messages *m);
/* A callback of stc_plan_progress, with a subject as `user`: false if the user wants to end. */
bool subject_go_on(void *user, int64_t done, int64_t of);
/* Reads the program. Errors in it are reported to `c`. small: use small check grids, because the device simulates. The
 * caller closes the subject even after an error. */
StcStatus subject_open(Subject *s, StcContext *c, Arena *a, const char *name, const char *text, const StcOptions *o,
                       bool small, const Stop *stop);
void subject_close(Subject *s);
/* The params for which the grid's extents are those in `want`, as far as possible. */
GridSize subject_size(const Subject *s, const int64_t want[MAX_RANK]);
/* Computes the grid's extents with these params; false if the params are not legal. */
bool subject_extents(Subject *s, GridSize g, int64_t extents[MAX_RANK]);
/* Computes the work of a step on a grid of that size. */
StcStatus subject_work(Subject *s, GridSize g, Work *out);
/* The results of the reference on check grid `grid` after `steps` steps, or of the peer if `grid` is CHECK_GRIDS more;
 * NULL after an error, which is in s->messages. */
Wanted *subject_reference(Subject *s, int grid, int64_t steps);
/* The sensitivity of the reference there (Wanted). Infinite after an error. */
double subject_sensitivity(Subject *s, Wanted *w);

/* ---------------------------------------------------------------- trials: trial.c */

/* Seconds that a trial has taken so far: to make kernel IR; to compile it to the device's code; to run the assembler;
 * to load the code by the driver; to verify; and to time. */
typedef struct TrialCost {
  double lower, code, assemble, load, verify, time;
} TrialCost;

/* A subject under one schedule on a device. After a failure the reason is in messages.first, and the trial cannot be
 * used any more. */
struct Trial {
  Subject *subject;
  const char *device, *asked; /* the requested schedule */
  StcOptions options;         /* the subject's, with the schedule */
  Messages messages;
  StcContext *context;
  StcProgram *program;
  StcPlan *plan;
  const char *text;   /* the plan of its schedule as text, in the program's memory; NULL: not known yet */
  char schedule[256]; /* the resolved schedule as options: "-schedule=overlap -T=4 -block=8x32 -elems=4x1" */
  Build *build;       /* NULL until there is kernel IR */
  int ops;            /* of the kernel IR, after trial_lower; the time of compiling depends on it */
  Expected expected;  /* after trial_lower; gpts 0: not known */
  TrialCost cost;
  KernelInfo kernel;  /* of the most expensive kernel of a step; registers 0: not known */
  double check_error; /* the largest error against the reference */
  int64_t steps;      /* of a sample */
  double rough;       /* GPts/s that trial_start measured roughly */
};

/* Opens a trial of `schedule`: options as in "-schedule=naive -block=8x32" ("": all open), or the text of a plan. The
 * caller closes the trial even after an error. */
StcStatus trial_open(Trial *t, Subject *s, const char *device, const char *schedule);
void trial_close(Trial *t);
/* Compiles to kernel IR for device `d`, of which only facts are read, and computes the model's prediction for it and a
 * grid of that size. May run in a thread of its own, beside those of other trials. */
StcStatus trial_lower(Trial *t, const Device *d, GridSize g);
/* Does the kernel IR have more ops than a compiler can compile in about a minute? */
enum { LONGEST_CODE = 60000 };
bool trial_is_long(const Trial *t);
/* Compiles, from the kernel IR if there is some, and loads; may run in a thread of its own, beside trial_prepare of
 * other trials. */
StcStatus trial_prepare(Trial *t);
/* As trial_prepare, with the assembler `tool`: its processes run in parallel, while a driver's compiler perhaps does
 * not. Ends it at the time `until`: then STC_INTERRUPTED without a message. *refused is set if the assembler fails, or
 * the driver does not accept its code; then the driver's compiler is used. */
StcStatus trial_prepare_by(Trial *t, const char *tool, double until, bool *refused);
/* Runs the check grids and compares with the reference. STC_CHECK_FAILED if a result is wrong. */
StcStatus trial_verify(Trial *t);
/* Adds the subject's peer on the device, unless it has one or the peer is wrong; the other function removes it, with
 * all that it has on the device. */
void subject_add_peer(Subject *s, const char *device);
void subject_drop_peer(Subject *s);
/* Allocates memory for a grid of that size, warms up, and finds how many steps take about `seconds`. */
StcStatus trial_start(Trial *t, GridSize g, double seconds);
/* Runs t->steps steps from random values, and measures GPts/s. */
StcStatus trial_sample(Trial *t, double *gpts);
/* Are the first elements of each float field free of NaN and infinities? */
StcStatus trial_finite(Trial *t, bool *finite);
/* Frees the memory. */
void trial_stop(Trial *t);

/* ---------------------------------------------------------------- crews: crew.c */

/* The work of a crew on trials that have not failed, in their order. After the time `until` (0: no limit) only the
 * first `sure` trials are begun; none are begun if the user wants to end. */
typedef struct CrewWork {
  StcStatus (*job)(Trial *t, void *user);
  void *user;
  int sure;
  double until;
} CrewWork;
/* Does the work for `n` trials with at most `threads` threads. */
void trials_each(Trial *const *t, int n, int threads, const CrewWork *work);
/* trial_lower as such work; `user` is a LowerFor. */
typedef struct LowerFor {
  const Device *device;
  GridSize size;
} LowerFor;
StcStatus crew_lower(Trial *t, void *user);
/* Prepares `n` trials with at most `threads` threads. */
void trials_prepare(Trial *const *t, int n, int threads);
/* The number of the computer's processors. */
int crew_size(void);

/* ---------------------------------------------------------------- devices */

/* Does the device still work? After a failed launch all users may have to close it and open it again. */
bool device_works(Device *d);
/* Measures the GB/s of copies of `bytes` bytes within the memory of the plan's device, counting reads and writes; 0 if
 * the device has no memory of its own. */
StcStatus device_copy_rate(StcPlan *plan, size_t bytes, double *rate);
/* The median of `n` numbers; sorts them. */
double median(double *v, int n);

#endif
