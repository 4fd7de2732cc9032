/* driver/cli/run/job.h: `stc run`: one run on one device, what it starts from, what it writes.
 *
 *   run.c        fields in, steps, fields out, the check and the time line
 *   run-ready.c  what can be known before code is made
 *   run-data.c   what options name, and fields in from files
 *   run-foresee.c  what masks are made of, told before the plan is made
 *   run-frames.c fields that are series of frames, in from files
 *   run-out.c    fields out, after the last step and while the program runs
 *   run-check.c  the same run on the reference, compared
 *   run-kept.c   values for it that cannot be read again
 *   run-ranks.c  several processes, speaking with one voice
 *   run-parts.c  fields in where none of them has the whole grid
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
/* What stc_plan_progress calls: draws the bar; false when the user wants to stop. */
bool progress_step(void *user, int64_t done, int64_t of);
/* Wipes the bar. */
void progress_end(Progress *p);

/* What an option names: a field (component -1), a component of a field, or a launch-time array (array >= 0). part: it
 * names the whole field, of which this is an imaginary part: 0 if its value is a number. */
typedef struct FieldPlace {
  int field, component, array;
  bool part;
} FieldPlace;

/* The files that a run writes: run-out.c. */
typedef struct Outputs Outputs;

struct Facts; /* data/writer.h */

/* Other processes of the run, and what is to be told of this one: run-ranks.c. */
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

/* One run on one device. tuned: the database that its schedule is from, NULL: none. */
typedef struct Job {
  const Command *c;
  StcProgram *program;
  StcPlan *plan;
  Progress progress;
  Series series;
  const char *tuned;
  Outputs *outputs;
  StcView *view;        /* NULL: there is none */
  const Const *scalars; /* of the program's module; set by ready_check */
  Net *net;             /* NULL: there are no other processes */
  Voice *voice;
  Kept *kept; /* by --in */
  FrameFiles *frames;
  Claim *claims; /* of files that other runs must not write meanwhile */
} Job;

/* run-ranks.c: joins the other processes, if this one was started with any, and checks that they were started with the
 * same options by the same stc. From then on only rank 0 prints. */
StcStatus ranks_join(Job *j);
/* Has every rank compiled the same program? */
StcStatus ranks_same_program(Job *j);
/* Is this the rank that speaks, reads and writes? */
bool job_leads(const Job *j);
/* The same status on all ranks. */
StcStatus job_agree(Job *j, StcStatus s);
/* run-gradient.c: computes the gradient of so many steps, and writes its files. */
StcStatus run_gradient(Job *j, int64_t steps);
/* run-parts.c, where no rank has the whole grid: carries out all --in on the parts of this rank. All ranks call it. */
StcStatus give_parts(const Job *j);
/* Those of fields with frames alone, in a run that goes on from a checkpoint. */
StcStatus give_parts_frames(const Job *j);
/* run-view.c: opens the page, if one is asked for, and tells where it is. After a run whose files are written: keeps it
 * open until the user ends it. Closes it. */
StcStatus view_begin(Job *j);
StcStatus view_go_on(Job *j);
void view_end(Job *j);
/* The end on all ranks, with the message of the one that failed. */
StcStatus ranks_leave(Job *j, StcStatus s);

/* What `name` stands for in the option; `arrays`: launch-time arrays too. False after an error. */
bool find_place(const Job *j, const char *option, const char *name, bool arrays, FieldPlace *out);

/* Sets what `plan`, which is j->plan or the reference, starts from: all --in, or the checkpoint of --restart, whose
 * series is appended to `series`. *steps: how many steps are to be made then, as --steps and stc_plan_run have it. */
StcStatus start_plan(const Job *j, StcPlan *plan, Series *series, int64_t *steps);
/* What --in says of a place of `plan`, in new memory (malloc), *f its type and shape. */
StcStatus read_place(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, StcFieldInfo *f, void **data);
/* run-kept.c: room for what is kept of the job's --in; frees it all. */
void kept_open(Job *j);
void kept_close(Job *j);
/* Does --check need the values of the --in a second time, which cannot be read then? */
bool kept_wanted(const Job *j, const FieldOption *o);
/* Room for the values of the --in, to be filled now by who reads them; NULL: they are kept already, or need not be. */
StcStatus kept_room(const Job *j, const FieldOption *o, const StcFieldInfo *f, char **room);
/* Fills `data` with values that were kept; false: there are none. */
bool kept_get(const Job *j, const FieldOption *o, const StcFieldInfo *f, void *data);
/* Carries out one --in, which names `at`. */
typedef StcStatus (*GiveFn)(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at);
/* Carries out all --in on `plan` by `give`, with `frames` those of fields with frames alone: whole fields first, so
 * that a component given beside them counts. */
StcStatus give_in_order(const Job *j, StcPlan *plan, bool frames, GiveFn give);
/* Tells the program of what --in gives to masks, and to what they are made of, if choices for `device` depend on it
 * (run-foresee.c). */
StcStatus foresee_fields(const Job *j, const char *device);
StcStatus give_fields(const Job *j, StcPlan *plan);
/* run-frames.c: Is --in, which names `at`, of type and shape *f, a series of frames in files? Checks it, and that it
 * has as many as the run needs; has `plan` take them from there; closes what is open of them. */
bool frames_are_wanted(const FieldOption *o, FieldPlace at, const StcFieldInfo *f);
StcStatus frames_check(const Job *j, const FieldOption *o, const StcFieldInfo *f);
StcStatus frames_give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, const StcFieldInfo *f);
void frames_close_all(const Job *j);
/* Carries out the --in of these alone, in a run that goes on from a checkpoint. */
StcStatus give_frames(const Job *j, StcPlan *plan);
/* Checks what can be known before the run of the files that --out and --png name, into j->outputs, which lives in the
 * command's arena. */
StcStatus outputs_check(Job *j);
/* What files say of the run, as far as it is known: before there is a plan, without device and schedule. */
const struct Facts *outputs_facts(Job *j);
/* Checks what can be known before code is made: params, the values and files of --in by their headers, fields without a
 * value, the checkpoint. */
StcStatus ready_check(Job *j);
/* Is the value of --in the name of a picture? Is it else a value that the field, of scalar type, may have? */
bool is_picture(const char *path);
/* Are the characters after "random:" a seed? */
bool parse_seed(const char *text, uint64_t *seed);
/* The value of --in `o`, which is no file, at `at`. */
const char *place_value(const FieldOption *o, FieldPlace at);
StcStatus fill_value(const Command *c, const StcFieldInfo *f, const char *value, void *data);
StcStatus check_in_value(const Command *c, const StcFieldInfo *f, const char *value);
/* Opens them for j->plan, whose runs write them from then on: after every so many steps. */
StcStatus outputs_open(Job *j);
/* Writes what wants the last step, unless the run ended with an error, `s`, and ends all files. *files: how many steps
 * were written. Returns `s`, or the error that came now. */
StcStatus outputs_close(Job *j, StcStatus s, int64_t *written);
/* Checks before the run what can be known then of the fields to be read and written. */
StcStatus check_names(const Job *j);
/* Has each --in that names a complex array be two, of its parts, in a command of the job's own (FieldOption.whole). */
StcStatus split_options(Job *j);
/* The complex array of whose parts `f` is one, as its file has it. */
StcFieldInfo whole_info(const FieldOption *o, const StcFieldInfo *f);
/* Runs the reference with the same fields and as many steps as were asked for, and compares every field that steps can
 * change, the steps made (`made`) and the reductions' values. All are printed, also after a failed one. */
StcStatus check_run(const Job *j, const StcRunInfo *made);

#endif
