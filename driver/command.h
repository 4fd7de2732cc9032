/* driver/command.h: the stc command: what its options say (options.h), its commands (command.c, run.c, format.c) and
 * what stc run does (run-NAME.c). */
#ifndef STC_DRIVER_COMMAND_H
#define STC_DRIVER_COMMAND_H

#include "driver/data/data.h"
#include "driver/plan.h"

/* `--in F=VALUE` and its like. */
typedef struct FieldOption {
  const char *field, *value;
} FieldOption;

/* The commands; a set of them is an or. */
typedef enum CommandKind {
  CMD_COMPILE = 1,
  CMD_RUN = 2,
  CMD_DEVICES = 4,
  CMD_HELP = 8,
  CMD_VERSION = 16,
  CMD_BENCH = 32,
  CMD_TUNE = 64,
  CMD_EXPLAIN = 128,
  CMD_FORMAT = 256,
  CMD_MAN = 512,
  CMD_COMPLETION = 1024,
  CMD_LSP = 2048
} CommandKind;

/* The command line, parsed. */
typedef struct Command {
  CommandKind kind;
  Arena *arena;
  StcContext *context;
  StcOptions options;
  const char *file, *out, *emit, *device, *log;
  const char *topic;   /* of help; completion: the shell */
  const char *split;   /* how the grid is to be cut; NULL: not */
  const char *mpi;     /* the module for several processes, "": where it lies, "none"; NULL: not said */
  const char *plan;    /* the file that -plan names */
  bool depend;         /* -MD */
  const char *depfile; /* -MF; NULL: by the output's name */
  int64_t steps;       /* -1: the program's */
  int64_t every;       /* steps from one output to the next; 0: the last step only */
  const char *checkpoint, *restart;
  int64_t checkpoint_every; /* 0: as `every` */
  int nspacing, norigin;
  double spacing[3], origin[3]; /* of the grid's points, slowest dimension first */
  int nunit;
  FieldOption *units;         /* --unit F=TEXT; F is `grid` for coordinates */
  int compress;               /* zlib's level */
  const char *colors, *slice; /* of pictures: a map's name; "D:PLACE" */
  bool limited;
  double limits[2];
  int contours;
  int64_t first_step; /* -1: not said */
  bool check, time, time_kernels, quiet;
  const char *tolerance; /* NULL: the default */
  int nin, nout, npng;
  FieldOption *in, *outs, *pngs;
  int ndefines;
  const char **defines;
  const char *bench_programs, *bench_types, *bench_sizes, *json; /* bench: comma-separated lists, NULL: all; a file */
  int nalso;
  const char **also; /* bench: further schedules, as options */
  bool quick;
  int seconds;                /* bench, tune: start nothing more after so many; 0: no limit, or the default */
  const char *plot, *db;      /* tune, explain: an SVG file; a database in place of the usual ones */
  const char *card, *format;  /* explain: which card, NULL: the default or the target's; "text" or "json" */
  const char *parts, *net;    /* explain: into how many parts the grid is cut, the network between them */
  bool no_ptxas;              /* explain, tune, bench: the assembler is not to be asked */
  bool why;                   /* explain: the candidates are to be listed */
  int tune;                   /* bench: search so many seconds for each size; 0: look into the database */
  bool scheduled, no_tune_db; /* an option says something of the schedule; no database is to be looked at */
  int nload;
  const char **load_passes;
  int nfiles;
  const char **files; /* fmt: all of them */
} Command;

/* The rule for make that says of what files the `n` outputs were made: the program, plugins, databases of schedules. */
char *depfile_text(const Command *c, const char *const *outputs, int n);
/* Parses argv. STC_USAGE after a message that names the option and what is near it. */
StcStatus command_parse(Command *c, int argc, char **argv);
/* Adds to *o what the options in `words` say, separated by spaces: "-schedule=overlap -T=4"; or takes `words` for the
 * text of a plan if it begins like one. Strings live in `a`. */
StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o);
/* Writes the help on `topic` ("run", "bench", "devices", NULL: all). STC_USAGE if there is no such topic. */
StcStatus help_print(FILE *to, const char *topic);
/* What the commands do; *stop becomes nonzero when the user wants to end. */
StcStatus command_compile(const Command *c);
/* What -emit= takes; the last is NULL. */
extern const char *const emit_names[];
StcStatus command_run(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_bench(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_tune(const Command *c, const volatile sig_atomic_t *stop);
StcStatus command_explain(const Command *c);
StcStatus command_format(const Command *c);
StcStatus command_lsp(void);

/* The values that reductions had while a program ran, in order of evaluation, and what its probes saw (malloc). */
typedef struct Series {
  StcContext *context;
  const StcProgram *program;
  int64_t n, capacity;
  StcReduction *values;
  int64_t nrows, row_capacity;
  StcProbe *rows; /* with values of their own (malloc) */
  bool full;
} Series;
/* What stc_plan_series calls: appends. Sets `full` when there is no memory for more. */
void series_add(void *user, const StcReduction *r);
/* What stc_plan_probes calls: the same. */
void series_add_row(void *user, const StcProbe *row);
/* Element `i` of the row as a number. */
double row_value(const StcProbe *row, int64_t i);
void series_free(Series *s);
/* Prints a line for each reduction, and each probe of a single point: at most 10 of its values, the last one always; of
 * other probes how many values there are. `until` is the one whose condition
 * ended the run, or NULL. */
void series_print(FILE *to, const Series *s, const char *until);
/* The last value of each reduction as the inside of a JSON object. */
void series_print_json(FILE *to, const Series *s);
/* Writes a .csv: a column `step`, one for each of the program's reductions, and one for each point of its probes, empty
 * where one was not evaluated. */
StcStatus series_write(const Series *s, const char *path);
/* The same as an HDF5 file: groups /reductions/NAME and /probes/NAME of the arrays `step` and `value`, of probes also
 * `points`, their coordinates in `plan`. */
StcStatus series_write_hdf5(const Series *s, StcPlan *plan, const char *path);

/* The state of the progress callback. */
typedef struct Progress {
  const volatile sig_atomic_t *stop;
  bool bar;
  double start, drawn;
  bool any;
} Progress;
/* What stc_plan_progress calls: draws the bar; false when the user wants to stop. */
bool progress_step(void *user, int64_t done, int64_t of);
/* Wipes the bar. */
void progress_end(Progress *p);

/* What an option names: a field (component -1), a component of a field, or a launch-time array (array >= 0). */
typedef struct Place {
  int field, component, array;
} Place;

/* The files that a run writes: run-out.c. */
typedef struct Outputs Outputs;

struct Facts; /* data/writer.h */

/* Other processes of the run, and what is to be told of this one: run-ranks.c. */
typedef struct Net Net;
typedef struct Voice Voice;

/* One run on one device. tuned: the database that its schedule is from, NULL: none. */
typedef struct Job {
  const Command *c;
  StcProgram *program;
  StcPlan *plan;
  Progress progress;
  Series series;
  const char *tuned;
  Outputs *outputs;
  const Const *scalars; /* of the program's module; set by ready_check */
  Net *net;             /* NULL: there are no other processes */
  Voice *voice;
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
/* Does nothing that was asked for need the whole grid in one place, as far as options go? */
bool job_is_lean(const Job *j);
/* run-parts.c, where no rank has the whole grid: carries out all --in on the parts of this rank; writes fields to a
 * .npy, each rank its own points. All ranks call it. */
StcStatus give_parts(const Job *j);
StcStatus write_parts(const Job *j, Place at, const char *path);
/* The end on all ranks, with the message of the one that failed. */
StcStatus ranks_leave(Job *j, StcStatus s);

/* What `name` stands for in the option; `arrays`: launch-time arrays too. False after an error. */
bool find_place(const Job *j, const char *option, const char *name, bool arrays, Place *out);

/* Sets what `plan`, which is j->plan or the reference, starts from: all --in, or the checkpoint of --restart, whose
 * series is appended to `series`. *steps: how many steps are to be made then, as --steps and stc_plan_run have it. */
StcStatus start_plan(const Job *j, StcPlan *plan, Series *series, int64_t *steps);
/* The elements of launch-time array `array` of `plan` as --in says, in new memory (malloc). */
StcStatus give_array(const Job *j, StcPlan *plan, const FieldOption *o, int array, StcFieldInfo *f, void **data);
/* Carries out all --in on `plan`. */
StcStatus give_fields(const Job *j, StcPlan *plan);
/* Checks what can be known before the run of the files that --out and --png name, into j->outputs, which lives in the
 * command's arena. */
StcStatus outputs_check(Job *j);
/* What files say of the run, as far as it is known: before there is a plan, without device and schedule. */
const struct Facts *outputs_facts(Job *j);
/* Checks what can be known before code is made: params, the values and files of --in by their headers, fields without a
 * value, the checkpoint. */
StcStatus ready_check(Job *j);
/* Is the value of --in a file's name? That of a picture? Is it else a value that the field, of scalar type, may have?
 */
bool is_file(const char *value);
bool is_picture(const char *path);
StcStatus fill_value(const Command *c, const StcFieldInfo *f, const char *value, void *data);
StcStatus check_in_value(const Command *c, const StcFieldInfo *f, const char *value);
/* Opens them for j->plan, whose runs write them from then on: after every so many steps. */
StcStatus outputs_open(Job *j);
/* Writes what wants the last step, unless the run ended with an error, `s`, and ends all files. *files: how many steps
 * were written. Returns `s`, or the error that came now. */
StcStatus outputs_close(Job *j, StcStatus s, int64_t *written);
/* Checks before the run what can be known then of the fields to be read and written. */
StcStatus check_names(const Job *j);
/* Runs the reference with the same fields and as many steps as were asked for, and compares every field that steps can
 * change, the steps made (`made`) and the reductions' values. All are printed, also after a failed one. */
StcStatus check_run(const Job *j, const StcRunInfo *made);

#endif
