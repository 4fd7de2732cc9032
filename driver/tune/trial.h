/* driver/tune/trial.h: measuring programs under schedules, for `stc bench` and `stc tune`.
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

/* Params that give a grid its size, as "NAME=VALUE". */
typedef struct GridSize {
  int n;
  const char *const *defines;
} GridSize;

/* What the reference made of a small grid in so many steps (grid: its number; CHECK_GRIDS more: what the subject's peer
 * made of it): the components of all fields that steps change, one behind the other. sensitivity: how far it comes out
 * if all numbers it starts from are changed by their last bit, as field_compare measures; < 0: not known yet. */
typedef struct Wanted {
  int grid;
  int64_t steps;
  char *data;
  double sensitivity;
  struct Wanted *next;
} Wanted;

/* The grids that results are checked on: an odd one with a few tiles, one of multiples of 32, both small enough for the
 * reference; and a wide one, most of whose tiles touch no edge. On that the subject's peer stands for the reference:
 * its naive schedule on the same device, once that has passed on the small ones; so it does on these for programs that
 * magnify rounding errors so much in so many steps that the reference says nothing. */
enum { REFERENCE_GRIDS = 2, CHECK_GRIDS = 3, CHECK_SEED = 1, TIME_SEED = 2 };
typedef struct Trial Trial;

/* A program to be measured. Its messages, but those of reading it, are kept in `messages`, the first error alone. */
typedef struct Messages {
  char first[400];
} Messages;
typedef struct Subject {
  Arena *arena;
  const char *name, *text; /* as for stc_compile_string */
  StcOptions options;      /* without a schedule; grid: the size that is measured */
  const Stop *stop;        /* asked when the user wants to end, which runs obey too */
  Messages messages;
  StcContext *context;
  StcProgram *program;
  StcPlan *reference;
  Trial *peer; /* NULL: the wide grid is left out */
  GridSize checks[CHECK_GRIDS];
  Wanted *wanted;
} Subject;

/* What stc_context_new takes to keep the first error of a context in `m`. */
StcConfig messages_config(Messages *m);
/* What stc_plan_progress calls with a subject: false when the user wants to end. */
bool subject_go_on(void *user, int64_t done, int64_t of);
/* Reads the program. Errors in it are reported to `c`. small: the check grids are to be so, because the device
 * simulates. Close it even after an error. */
StcStatus subject_open(Subject *s, StcContext *c, Arena *a, const char *name, const char *text, const StcOptions *o,
                       bool small, const Stop *stop);
void subject_close(Subject *s);
/* The params that make the grid's extents those in `want`, as far as they can. */
GridSize subject_size(const Subject *s, const int64_t want[MAX_RANK]);
/* The grid's extents with these params; false if they are not legal. */
bool subject_extents(Subject *s, GridSize g, int64_t extents[MAX_RANK]);
/* What a step takes on a grid of that size. */
StcStatus subject_work(Subject *s, GridSize g, Work *out);
/* What the reference makes of check grid `grid` in `steps` steps, or the peer if that is CHECK_GRIDS more; NULL after
 * an error, which is in s->messages. */
Wanted *subject_reference(Subject *s, int grid, int64_t steps);
/* How sensitive the reference is there (Wanted). Infinite after an error. */
double subject_sensitivity(Subject *s, Wanted *w);

/* ---------------------------------------------------------------- trials: trial.c */

/* Seconds that a trial took so far: to kernel IR; from there to the device's code; for an assembler to take that; for
 * the driver to take it; to verify; and to time. */
typedef struct TrialCost {
  double lower, code, assemble, load, verify, time;
} TrialCost;

/* A subject under one schedule on a device. A trial that fails has the reason in messages.first and fits nothing else.
 */
struct Trial {
  Subject *subject;
  const char *device, *asked; /* the schedule as it was asked for */
  StcOptions options;         /* the subject's, with the schedule */
  Messages messages;
  StcContext *context;
  StcProgram *program;
  StcPlan *plan;
  const char *text;   /* the plan of its schedule as text, in the program's memory; NULL: there is none yet */
  char schedule[256]; /* as options, what was resolved: "-schedule=overlap -T=4 -block=8x32 -elems=4x1" */
  Build *build;       /* NULL until there is kernel IR */
  int ops;            /* of that, once trial_lower was called: how long compiling takes depends on it */
  Expected expected;  /* once trial_lower was called; gpts 0: not known */
  TrialCost cost;
  KernelInfo kernel;  /* of the most expensive kernel of a step; registers 0: not known */
  double check_error; /* the largest, against the reference */
  int64_t steps;      /* of a sample */
  double rough;       /* GPts/s while trial_start looked for that */
};

/* A trial of `schedule`, options as in "-schedule=naive -block=8x32" ("" leaves all open) or the text of a plan. Close
 * it even after an error. */
StcStatus trial_open(Trial *t, Subject *s, const char *device, const char *schedule);
void trial_close(Trial *t);
/* Compiles to kernel IR for device `d`, of which nothing but its facts is used, and asks the model about it and a grid
 * of that size. May run in a thread of its own, beside other trials'. */
StcStatus trial_lower(Trial *t, const Device *d, GridSize g);
/* Has kernel IR that is lowered more ops than a compiler can take in a minute, about? */
enum { LONGEST_CODE = 60000 };
bool trial_is_long(const Trial *t);
/* Compiles, or goes on from kernel IR, and loads; may run in a thread of its own, beside other trials' trial_prepare.
 */
StcStatus trial_prepare(Trial *t);
/* trial_prepare by way of the assembler `tool`, an own process that runs beside others, which a driver's compiler
 * perhaps does not; it is ended at the time `until`: STC_INTERRUPTED without a message then. *refused is set if the
 * driver does not take what the assembler made, or that fails: the driver's compiler is asked then. */
StcStatus trial_prepare_by(Trial *t, const char *tool, double until, bool *refused);
/* Runs the check grids against the reference. STC_CHECK_FAILED if a result is wrong. */
StcStatus trial_verify(Trial *t);
/* Gives the subject its peer on the device, unless it has one or that is wrong; and takes it away, with all that is on
 * the device. */
void subject_add_peer(Subject *s, const char *device);
void subject_drop_peer(Subject *s);
/* Takes memory for a grid of that size, warms up, and finds how many steps take `seconds`, about. */
StcStatus trial_start(Trial *t, GridSize g, double seconds);
/* Runs t->steps steps from random values: GPts/s. */
StcStatus trial_sample(Trial *t, double *gpts);
/* Is the beginning of each float field free of NaN and infinities? */
StcStatus trial_finite(Trial *t, bool *finite);
/* Gives the memory back. */
void trial_stop(Trial *t);

/* ---------------------------------------------------------------- crews: crew.c */

/* What a crew does to trials that have not failed yet, in their order. When it is later than `until` (0: there is no
 * limit) nothing more is begun but the first `sure` ones; nothing at all when the user wants to end. */
typedef struct CrewWork {
  StcStatus (*job)(Trial *t, void *user);
  void *user;
  int sure;
  double until;
} CrewWork;
/* Does it to `n` trials in up to `threads` threads. */
void trials_each(Trial *const *t, int n, int threads, const CrewWork *work);
/* trial_lower as such a job, for what `user`, a LowerFor, says. */
typedef struct LowerFor {
  const Device *device;
  GridSize size;
} LowerFor;
StcStatus crew_lower(Trial *t, void *user);
/* Prepares `n` trials in up to `threads` threads. */
void trials_prepare(Trial *const *t, int n, int threads);
/* As many threads as the computer has processors. */
int crew_size(void);

/* ---------------------------------------------------------------- devices */

/* Does the device still do anything? A failed launch may leave it such that it must be closed by all who use it, and
 * opened again. */
bool device_works(Device *d);
/* GB/s that the plan's device copies, read and written both counted, when it copies `bytes` bytes within its memory; 0
 * where it has none. */
StcStatus device_copy_rate(StcPlan *plan, size_t bytes, double *rate);
/* The middle one of `n` numbers, which are sorted by this. */
double median(double *v, int n);

#endif
