/* driver/cli/run/job.h: `stc run`: one run on one device, its initial values and its output.
 *
 *   run.c        fields in, steps, fields out, the check and the time line
 *   run-ready.c  checks before code is made
 *   run-data.c   the fields that options name, and fields in from files
 *   run-foresee.c  values of masks, read before the plan is made
 *   run-frames.c fields that are series of frames, in from files
 *   run-out.c    fields out, after the last step and while the program runs
 *   run-check.c  the same run on the reference, compared
 *   run-kept.c   values for the reference that cannot be read again
 *   run-ranks.c  several processes, whose messages are printed once
 *   run-parts.c  fields in if no process has the whole grid
 *   run-gradient.c  derivatives in place of a run
 *   run-view.c   the page that shows the run
 *
 * No file is read and replaced, or written twice: driver/cli/used/used.h. */
#ifndef STC_DRIVER_RUN_H
#define STC_DRIVER_RUN_H

#include "driver/cli/options/command.h"
#include "driver/data/series.h"
#include "driver/cli/used/used.h"

/* The state of the progress callback. */
typedef struct Progress {
  const Stop *stop;
  bool bar;
  double start, drawn;
  bool any;
} Progress;
/* Draws the progress bar: the callback of stc_plan_progress; false if the user wants to stop. */
bool progress_step(void *user, int64_t done, int64_t of);
/* Clears the bar. */
void progress_end(Progress *p);

/* The target of an option: a field (component -1), a component of a field, or a launch-time array (array >= 0). part:
 * the option names the whole complex field, of which this is the imaginary part, which is 0 if the value is a number.
 */
typedef struct FieldPlace {
  int field, component, array;
  bool part;
} FieldPlace;

/* The files that a run writes: run-out.c. */
typedef struct Outputs Outputs;

struct Facts; /* data/writer.h */

/* Other processes of the run; the messages of this one: run-ranks.c. */
typedef struct Net Net;
typedef struct Voice Voice;

/* Values of one --in for --check: run-kept.c. */
typedef struct Kept Kept;

/* Open series of frames: run-frames.c. */
struct FrameFile;
typedef struct FrameFiles {
  int n;
  struct FrameFile **file;
} FrameFiles;

/* One run on one device. tuned: the database that its schedule is from; NULL: none. */
typedef struct Job {
  const Command *c;
  StcProgram *program;
  StcPlan *plan;
  Progress progress;
  Series series;
  const char *tuned;
  Outputs *outputs;
  StcView *view;        /* NULL: no page */
  const Const *scalars; /* of the program's module; set by ready_check */
  Net *net;             /* NULL: a single process */
  Voice *voice;
  Kept *kept; /* for each --in */
  FrameFiles *frames;
  Claim *claims; /* of files that other runs must not write meanwhile */
} Job;

/* run-ranks.c: joins the other processes, if this one was started with others, and checks that they were started with
 * the same options by the same stc. Afterwards only rank 0 prints. */
StcStatus ranks_join(Job *j);
/* Has every rank compiled the same program? */
StcStatus ranks_same_program(Job *j);
/* Is this the rank that prints, reads and writes? */
bool job_leads(const Job *j);
/* Returns the same status on all ranks. */
StcStatus job_agree(Job *j, StcStatus s);
/* run-gradient.c: computes the gradient of `steps` steps, and writes its files. */
StcStatus run_gradient(Job *j, int64_t steps);
/* run-parts.c, if no rank has the whole grid: sets the values of all --in on the parts of this rank. All ranks call it.
 */
StcStatus give_parts(const Job *j);
/* The same only for fields with frames, in a run that continues from a checkpoint. */
StcStatus give_parts_frames(const Job *j);
/* run-view.c: view_begin opens the page, if it is requested, and prints its address. After a run whose files are
 * written, the next function keeps it open until the user ends it. The last one closes it. */
StcStatus view_begin(Job *j);
StcStatus view_go_on(Job *j);
void view_end(Job *j);
/* Ends the run on all ranks, with the message of the rank that failed. */
StcStatus ranks_leave(Job *j, StcStatus s);

/* Finds the target that `name` means in the option; `arrays`: it may be a launch-time array. False after an error. */
bool find_place(const Job *j, const char *option, const char *name, bool arrays, FieldPlace *out);

/* Sets the initial values of `plan`, which is j->plan or the reference: all --in, or the checkpoint of --restart, whose
 * series is appended to `series`. *steps: the number of steps to be made then, as for --steps and stc_plan_run. */
StcStatus start_plan(const Job *j, StcPlan *plan, Series *series, int64_t *steps);
/* Reads the values of --in for a target in `plan` into new memory (malloc); *f: their type and shape. */
StcStatus read_place(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, StcFieldInfo *f, void **data);
/* run-kept.c: allocates the list of kept values of the job's --in; the other function frees it with the values. */
void kept_open(Job *j);
void kept_close(Job *j);
/* Does --check need the values of this --in a second time, and can they not be read again? */
bool kept_wanted(const Job *j, const FieldOption *o);
/* Allocates memory for the values of the --in, which the caller fills; NULL: they are kept already, or need not be. */
StcStatus kept_room(const Job *j, const FieldOption *o, const StcFieldInfo *f, char **room);
/* Copies kept values to `data`; false: there are none. */
bool kept_get(const Job *j, const FieldOption *o, const StcFieldInfo *f, void *data);
/* Sets the values of one --in, whose target is `at`. */
typedef StcStatus (*GiveFn)(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at);
/* Calls `give` for all --in of `plan`, with `frames` only for fields with frames: whole fields first, so that a
 * component that is also given replaces its values. */
StcStatus give_in_order(const Job *j, StcPlan *plan, bool frames, GiveFn give);
/* Tells the program the values that --in gives masks, and the fields from which masks are computed, if choices for
 * `device` depend on them (run-foresee.c). */
StcStatus foresee_fields(const Job *j, const char *device);
StcStatus give_fields(const Job *j, StcPlan *plan);
/* run-frames.c: frames_are_wanted: is the --in for `at`, of type and shape *f, a series of frames in files? The next
 * functions check the series, including that it has as many frames as the run needs; have `plan` read frames from it;
 * and close the open files. */
bool frames_are_wanted(const FieldOption *o, FieldPlace at, const StcFieldInfo *f);
StcStatus frames_check(const Job *j, const FieldOption *o, const StcFieldInfo *f);
StcStatus frames_give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, const StcFieldInfo *f);
void frames_close_all(const Job *j);
/* Sets only these, in a run that continues from a checkpoint. */
StcStatus give_frames(const Job *j, StcPlan *plan);
/* Checks all that can be checked before the run about the files of --out and --png; writes the result to j->outputs, in
 * the command's arena. */
StcStatus outputs_check(Job *j);
/* The facts about the run for files, as far as they are known: without device and schedule if there is no plan yet. */
const struct Facts *outputs_facts(Job *j);
/* Checks all that can be checked before code is made: params, the values of --in and the headers of its files, fields
 * without a value, the checkpoint. */
StcStatus ready_check(Job *j);
/* Is the value of --in the name of a picture? The other function: is it a value that the field, of scalar type, can
 * have? */
bool is_picture(const char *path);
/* Is the text after "random:" a seed? */
bool parse_seed(const char *text, uint64_t *seed);
/* The value of --in `o`, which is not a file, for `at`. */
const char *place_value(const FieldOption *o, FieldPlace at);
StcStatus fill_value(const Command *c, const StcFieldInfo *f, const char *value, void *data);
StcStatus check_in_value(const Command *c, const StcFieldInfo *f, const char *value);
/* Opens the outputs for j->plan, whose runs then write them at their periods. */
StcStatus outputs_open(Job *j);
/* Writes the outputs of the last step, unless the run ended with an error `s`, and closes all files. *written: the
 * number of steps written. Returns `s`, or the error of this function. */
StcStatus outputs_close(Job *j, StcStatus s, int64_t *written);
/* Checks before the run the names of the fields to be read and written. */
StcStatus check_names(const Job *j);
/* Replaces each --in for a complex array by two for its parts, in the job's own copy of the command
 * (FieldOption.whole). */
StcStatus split_options(Job *j);
/* The description of the complex array of which `f` is one part, in the form of its file. */
StcFieldInfo whole_info(const FieldOption *o, const StcFieldInfo *f);
/* Runs the reference with the same fields and the requested number of steps, and compares every field that steps can
 * change, the number of steps (`made`) and the values of reductions. Prints all comparisons, also after a failed one.
 */
StcStatus check_run(const Job *j, const StcRunInfo *made);

#endif
