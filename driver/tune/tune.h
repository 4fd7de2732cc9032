/* driver/tune/tune.h: `stc tune`.
 *
 *   tune-space.c   the schedules that may be tried, out of the planner's table (passes/plan/axes.def)
 *   tune-order.c   their order, by measured and by predicted speeds
 *   tune-search.c  trying them
 *   tune.c         the command
 *   tune-model.c   notes on schedules for which the cost model was far off
 *   tune-report.c  the log (CSV) and the plot (SVG) of what was tried
 *   tune-entry.c   the entry for the database (tune-db.h)
 */
#ifndef STC_DRIVER_TUNE_H
#define STC_DRIVER_TUNE_H

#include "driver/tune/db/tune-db.h"
#include "driver/tune/trial.h"
#include "passes/plan/axes.h"

#include <stdatomic.h>

/* FINAL_SAMPLES: the most rounds in which the best candidates are measured in turns; LEAST_SAMPLES: the fewest, if
 * there is more than one candidate. */
enum { FINAL_SAMPLES = 5, LEAST_SAMPLES = 3 };

/* ---------------------------------------------------------------- the space: tune-space.c */

/* The state of a candidate. Skipped: because of the model's prediction. */
typedef enum CandidateState {
  CANDIDATE_WAITING,
  CANDIDATE_REFUSED,
  CANDIDATE_SKIPPED,
  CANDIDATE_WRONG,
  CANDIDATE_FAILED,
  CANDIDATE_SLOW,
  CANDIDATE_TIMED
} CandidateState;

/* A schedule to be tried. usual: the default, which is used if no schedule is given; its family is FAMILY_AUTO until it
 * is lowered. own: the default of its family. at: the index on each axis of the row; row NULL: not known yet. gpts: the
 * best sample; 0: none, or the results were wrong. */
typedef struct Candidate {
  FamilyId family;
  const char *options;
  bool usual, own;
  const PlanAxes *row;
  int at[PLAN_AXES];
  uint64_t order; /* the order in which candidates are tried if nothing else decides */
  CandidateState state;
  bool lowered;               /* it has had kernel IR: schedule and expected are known */
  const char *why, *schedule; /* the reason; the resolved options */
  const char *plan;           /* the text of its plan; NULL: not known */
  int T;
  Expected expected; /* gpts 0: the model makes no prediction */
  int ops;           /* of the kernel IR */
  double gpts;
  KernelInfo kernel;
  TrialCost cost;
  Trial *trial; /* open, or NULL */
} Candidate;

/* All candidates; the first is the default. op_cost: the fraction of the remaining time that compiling an op of kernel
 * IR takes; 0: not known. */
typedef struct SearchSpace {
  Arena *arena;
  int n;
  Candidate *all;
  double op_cost;
} SearchSpace;

/* Fills in the candidates for programs of that rank: the default, then the default of each family, then all others. */
void space_fill(SearchSpace *s, Arena *a, int rank, bool simt);
/* Sets the row and the indices on its axes of candidate `k`, the default of its family, to those nearest to its
 * schedule. */
void space_place(const SearchSpace *s, Candidate *k);
/* Marks all waiting candidates of a family as refused. */
void space_drop_family(SearchSpace *s, FamilyId family, const char *why);
/* The value of option `name`, "-elems=", in a schedule given as options; "" if it is not there. */
const char *schedule_option(Arena *a, const char *schedule, const char *name);

/* ---------------------------------------------------------------- the order: tune-order.c */

/* Finds the `n` fastest candidates, fastest first. Returns their number. */
int space_best(const SearchSpace *s, int n, Candidate **out);
/* Chooses up to `n` waiting candidates that are not lowered: first families' defaults, then for three quarters of the
 * others those nearest to the best so far (to families' defaults if none is timed), then any. Returns their number. */
int space_pool(const SearchSpace *s, int n, Candidate **out);
/* Chooses up to `n` waiting candidates that are lowered: first families' defaults that need little of the remaining
 * time; then for three quarters of the others those with the best predicted speed for their compile time (those nearest
 * to the best if the model makes no prediction), preferably far from each other; then any. */
int space_choose(const SearchSpace *s, int n, Candidate **out);
/* Candidates that are not worth compiling: with a predicted spilling of more than `spills` bytes a thread; with more
 * ops than `ops`, or than the remaining time allows; with a predicted speed below `least`, or if that is 0, because
 * nothing is measured yet, with a prediction by the model alone below `part` of that of the fastest default of a
 * family. */
typedef struct SkipRule {
  int spills, ops;
  double least, part;
} SkipRule;
/* Marks the waiting, lowered candidates to which the rule applies as skipped. Families' defaults are skipped only if
 * they are too long, or if they are slow and take long to compile: more than a third of `ops` while nothing is
 * measured, later more than a tenth of the remaining time. Returns their number. */
int space_skip(SearchSpace *s, const SkipRule *rule);
/* The model's prediction for `k`, corrected by the ratio of measured to predicted speeds of candidates near it. 0: not
 * known. */
double space_expects(const SearchSpace *s, const Candidate *k);

/* ---------------------------------------------------------------- the search: tune-search.c */

/* A search for the fastest schedule of a subject on a device, for a grid of that size. device is open, and may be
 * opened again. watch is called after each candidate, and compiling_now before and after several threads compile
 * candidates; meanwhile nothing in this struct changes except assembler_refused. The search ends after `seconds`, or
 * when the candidate that was begun before has finished. The default is compiled and measured first, in any case;
 * without a model so are the families' defaults. The winner is the default, unless another candidate is faster by more
 * than noise when both are measured in turns. */
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
  double start, until;   /* until: no candidates are begun later, to leave time for the decision */
  double batch_until;    /* when an assembler for the current batch is ended */
  bool no_assembler;     /* do not run one */
  const char *assembler; /* its path; NULL: there is none, or the driver refuses its code */
  atomic_bool assembler_refused;
  double pace;                /* seconds that compiling the last batch took */
  bool modelled;              /* does the model know the device? */
  double compiling, compiled; /* seconds of compiling, and ops of the compiled code */
  SearchSpace space;
  int tried, measured;
  const Candidate *best; /* the winner at the end; NULL: none could be measured */
};
/* STC_DEVICE without a message if best is NULL at the end. The caller closes the search even after an error. */
StcStatus search_run(Search *s);
void search_close(Search *s);
/* The default of a search. */
const Candidate *search_usual(const Search *s);

/* The measurements of one candidate that is measured in turns with others. out: it failed, or there is no time for it;
 * contest_winner sets median and spread, which is the largest minus the smallest sample. */
typedef struct Contender {
  bool usual, out;
  double samples[FINAL_SAMPLES], median, spread;
} Contender;
/* The number of the winner after `taken` rounds: the candidate with the highest median, or the default if it takes part
 * and is not slower by more than noise. -1: all are out. */
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
