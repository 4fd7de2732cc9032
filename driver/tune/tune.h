/* driver/tune/tune.h: `stc tune`.
 *
 *   tune-space.c   the schedules that may be tried, out of the planner's table (passes/plan/axes.def)
 *   tune-order.c   in which order they are, by what was measured and what the model expects
 *   tune-search.c  trying them
 *   tune.c         the command
 *   tune-model.c   of which schedules the cost model was off
 *   tune-report.c  the log (CSV) and the plot (SVG) of what was tried
 *   tune-entry.c   what goes into the database (tune-db.h)
 */
#ifndef STC_DRIVER_TUNE_H
#define STC_DRIVER_TUNE_H

#include "driver/tune/db/tune-db.h"
#include "driver/tune/trial.h"
#include "passes/plan/axes.h"

#include <stdatomic.h>

/* The most rounds in which the best ones are measured in turns, and the least where there is more than one. */
enum { FINAL_SAMPLES = 5, LEAST_SAMPLES = 3 };

/* ---------------------------------------------------------------- the space: tune-space.c */

/* How far a candidate has got, and why no further. Skipped: by what the model expects. */
typedef enum CandidateState {
  CANDIDATE_WAITING,
  CANDIDATE_REFUSED,
  CANDIDATE_SKIPPED,
  CANDIDATE_WRONG,
  CANDIDATE_FAILED,
  CANDIDATE_SLOW,
  CANDIDATE_TIMED
} CandidateState;

/* A schedule to be tried. usual: the default, what is taken where no schedule is given; family: FAMILY_AUTO
 * until that is lowered. own: what the family gives by itself. at: the place on each axis of the row; row NULL: none
 * yet. gpts: the best sample, 0: none, or of something wrong. */
typedef struct Candidate {
  FamilyId family;
  const char *options;
  bool usual, own;
  const PlanAxes *row;
  int at[PLAN_AXES];
  uint64_t order; /* the order in which candidates are taken that nothing speaks for */
  CandidateState state;
  bool lowered;               /* there was kernel IR of it: schedule and expected are known */
  const char *why, *schedule; /* the reason; what the options came to */
  const char *plan;           /* as the text of a plan; NULL: not known */
  int T;
  Expected expected; /* gpts 0: the model says nothing */
  int ops;           /* of the kernel IR */
  double gpts;
  KernelInfo kernel;
  TrialCost cost;
  Trial *trial; /* open, or NULL */
} Candidate;

/* All candidates, of which the first is the default. op_cost: the part of the time left that compiling an op of kernel
 * IR takes, 0: not known. */
typedef struct SearchSpace {
  Arena *arena;
  int n;
  Candidate *all;
  double op_cost;
} SearchSpace;

/* The candidates for programs of that rank: the default, then what each family gives by itself, then all others. */
void space_fill(SearchSpace *s, Arena *a, int rank, bool simt);
/* Gives candidate `k`, what its family gives by itself, the row and the places on its axes that are nearest to its
 * schedule. */
void space_place(const SearchSpace *s, Candidate *k);
/* Marks all waiting candidates of a family as refused. */
void space_drop_family(SearchSpace *s, FamilyId family, const char *why);
/* The value of option `name`, "-elems=", in a schedule given as options; "" if it is not there. */
const char *schedule_option(Arena *a, const char *schedule, const char *name);

/* ---------------------------------------------------------------- the order: tune-order.c */

/* The `n` fastest, fastest first. Returns how many there are. */
int space_best(const SearchSpace *s, int n, Candidate **out);
/* Chooses up to `n` waiting candidates that are not lowered: families' own ones, then three quarters nearest to the
 * best ones so far (to families' own if none is timed), then any. Returns how many. */
int space_pool(const SearchSpace *s, int n, Candidate **out);
/* Chooses up to `n` waiting candidates that are lowered: families' own ones that take little of the time left, then
 * three quarters that are expected to be fastest for the time that compiling them takes (nearest to the best ones where
 * the model says nothing), apart from each other if there are such, then any. */
int space_choose(const SearchSpace *s, int n, Candidate **out);
/* What is not worth compiling: expected to spill more bytes a thread than `spills`; of more ops than `ops`, or than
 * there is time for; expected to be slower than `least`, or where that is 0, because nothing is measured yet, by the
 * model alone to be below `part` of the fastest of families' own ones. */
typedef struct SkipRule {
  int spills, ops;
  double least, part;
} SkipRule;
/* Marks the waiting candidates as skipped that are lowered and for which that is so; of families' own ones only those
 * that are too long, and slow ones if compiling them takes long: while nothing is measured, more than a third of `ops`,
 * then more than a tenth of the time left. Returns how many. */
int space_skip(SearchSpace *s, const SkipRule *rule);
/* The speed that the model expects of `k`, times what those measured near it were faster than expected. 0: not known.
 */
double space_expects(const SearchSpace *s, const Candidate *k);

/* ---------------------------------------------------------------- the search: tune-search.c */

/* A search for the fastest schedule of a subject on a device, for a grid of that size. device is open, and may be
 * opened anew. watch is called after each candidate, and compiling_now
 * before and after several threads compile candidates: meanwhile nothing in here changes but assembler_refused. It ends
 * after `seconds`, or as much later as a candidate takes that was begun before. The default is compiled and measured
 * first, in any case; without a model what the families give by themselves is, too. The winner is the default, unless
 * another one is faster by more than noise when both are measured in turns. */
typedef struct Search Search;
struct Search {
  Arena *arena;
  const Stop *stop;
  const char *device_name;
  Device *device;
  Subject *subject;
  GridSize size;
  double seconds;
  void (*watch)(void *user, const Search *s);
  void (*compiling_now)(void *user, bool on);
  void *user;
  double start, until;   /* until: when no more candidates are begun, so that there is time to decide */
  double batch_until;    /* when an assembler that works for the current batch is ended */
  bool no_assembler;     /* none is to be asked */
  const char *assembler; /* where it is; NULL: there is none, or the driver does not take what it makes */
  atomic_bool assembler_refused;
  double pace;                /* seconds that compiling the last batch took */
  bool modelled;              /* does the model know the device? */
  double compiling, compiled; /* seconds that went into compiling, and ops of what was compiled */
  SearchSpace space;
  int tried, measured;
  const Candidate *best; /* the winner in the end; NULL: none could be measured */
};
/* STC_DEVICE without a message if best is NULL in the end. Close the search even after an error. */
StcStatus search_run(Search *s);
void search_close(Search *s);
/* The default of a search. */
const Candidate *search_usual(const Search *s);

/* What measuring several in turns gave one of them. out: it is of no use; median and spread, most - least, are set. */
typedef struct Contender {
  bool usual, out;
  double samples[FINAL_SAMPLES], median, spread;
} Contender;
/* The number of the one to take after `taken` rounds: the one with the highest median, but the default if that is among
 * them and not slower by more than noise. -1: all are out. */
int contest_winner(Contender *all, int n, int taken);

/* ---------------------------------------------------------------- the cost model: tune-model.c */

/* A note on the model, if the measured speed of candidate `k` is far from the expected one: both speeds and the likely
 * reason. The note calls the candidate `name` ("the default"). NULL if they are close, or one is not known. */
const char *tune_model_note(const SearchSpace *s, const Candidate *k, const char *name);

/* ---------------------------------------------------------------- reports: tune-report.c */

/* "timed", "refused" and so on. */
const char *candidate_state_name(CandidateState s);
/* Writes all that were tried as a table. */
StcStatus tune_write_log(StcContext *c, const SearchSpace *s, const char *path);
/* Draws GPts/s over T: a line for each family and choice of elements. */
StcStatus tune_write_plot(StcContext *c, Arena *a, const SearchSpace *s, const char *title, const char *path);

/* ---------------------------------------------------------------- the database's entry: tune-entry.c */

/* The key of a subject of `points` points on a device. */
StcStatus tune_key(Workspace *w, const Subject *s, const Device *d, int64_t points, TuneKey *out);
/* The entry for candidate `best`, dated today. */
TuneEntry tune_entry(Arena *a, const Subject *s, TuneKey key, const Candidate *best);

#endif
