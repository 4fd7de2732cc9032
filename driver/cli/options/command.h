/* driver/cli/options/command.h: the stc command: what its options say, and what its commands are.
 *
 *   options.h            the options as tables, and parsing them
 *   options/memory.c     amounts of memory
 *   cli/entry.c          the command as a function
 *   cli/command.c        compiling to files; the other commands are called from here
 *   cli/help.c           the help
 *   cli/man.c            the manual page
 *   cli/completion.c     completion for shells
 *   cli/format.c         `stc fmt`
 *   cli/cache-command.c  `stc cache`
 *   cli/depfile.c        what an artifact was made from, for make
 *   cli/run/job.h        `stc run`
 *
 * `stc bench`, `stc tune`, `stc explain` and `stc lsp` are in bench/, tune/, explain/ and lsp/ of driver/. */
#ifndef STC_DRIVER_COMMAND_H
#define STC_DRIVER_COMMAND_H

#include "driver/program/program.h"

/* `--in F=VALUE` and its like. whole: `field` is the array of the real (or `imaginary`) parts of complex array `whole`,
 * which the option names; NULL: it names `field`. */
typedef struct FieldOption {
  const char *field, *value, *whole;
  bool imaginary;
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
  CMD_LSP = 2048,
  CMD_CACHE = 4096
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
  const char *gradient, *memory; /* where files of derivatives go, NULL: none are asked for; in how many bytes */
  const char *scratch;           /* and where what these have no room for may go, NULL: nowhere */
  int64_t checkpoint_every;      /* 0: as `every` */
  int nspacing, norigin;
  double spacing[MAX_RANK], origin[MAX_RANK]; /* of the grid's points, slowest dimension first */
  int nunit;
  FieldOption *units;         /* --unit F=TEXT; F is `grid` for coordinates */
  int compress;               /* zlib's level */
  const char *colors, *slice; /* of pictures: a map's name; "D:PLACE" */
  const char *mask;           /* where they are grey: the field that is 0 there, or behind '!' the one that is not */
  bool limited;
  double limits[2];
  int contours;
  int64_t first_step; /* -1: not said */
  bool check, time, time_kernels, quiet;
  const char *tolerance; /* NULL: the default */
  const char *view;      /* where the page is served, "": anywhere; NULL: there is none */
  int nin, nout, npng;
  FieldOption *in, *outs, *pngs;
  int ndefines;
  const char **defines;
  const char *bench_programs, *bench_types, *bench_sizes, *json; /* bench: comma-separated lists, NULL: all; a file */
  int nalso;
  const char **also;          /* bench: further schedules, as options */
  bool quick, clear;          /* clear: cache */
  int seconds;                /* bench, tune: start nothing more after so many; 0: no limit, or the default */
  const char *plot, *db;      /* tune, explain: an SVG file; a database in place of the usual ones */
  const char *card, *format;  /* explain: which card, NULL: the default or the target's; "text" or "json" */
  const char *parts, *net;    /* explain: into how many parts the grid is cut, the network between them */
  const char *rounds;         /* explain: how many rounds of which repeat are to be counted */
  bool no_ptxas;              /* explain, tune, bench: the assembler is not to be asked */
  bool why;                   /* explain: the candidates are to be listed */
  int tune;                   /* bench: search so many seconds for each size; 0: look into the database */
  bool scheduled, no_tune_db; /* an option says something of the schedule; no database is to be looked at */
  int nload;
  const char **load_passes;
  int nfiles;
  const char **files; /* fmt: all of them */
} Command;

/* The rule for make that says of what files the `n` outputs were made: the program, plugins, databases of schedules.
 * NULL after an error where a rule cannot have the name of one. */
char *depfile_text(const Command *c, const StcProgram *p, const char *const *outputs, int n);
/* Parses argv. STC_USAGE after a message that names the option and what is near it. */
StcStatus command_parse(Command *c, int argc, char **argv);
/* Adds to *o what the options in `words` say, separated by spaces: "-schedule=overlap -T=4"; or takes `words` for the
 * text of a plan if it begins like one. Options of schedules alone: STC_USAGE after a message that names another.
 * Strings live in `a`. */
StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o);
/* Writes the help on `topic` ("run", "bench", "devices", NULL: all). STC_USAGE if there is no such topic. */
StcStatus help_print(FILE *to, const char *topic);
/* What the commands do; *stop is asked when the user wants to end. */
StcStatus command_compile(const Command *c, const Stop *stop);
/* What -emit= takes; the last is NULL. */
extern const char *const emit_names[];
StcStatus command_run(const Command *c, Stop *stop);
StcStatus command_bench(const Command *c, const Stop *stop);
StcStatus command_tune(const Command *c, const Stop *stop);
StcStatus command_explain(const Command *c);
StcStatus command_format(const Command *c);
StcStatus command_lsp(void);
StcStatus command_cache(const Command *c);

/* options/memory.c: --memory of `c`: "8GiB", "500MB", a number of bytes, into *out; 0: it was not given. */
StcStatus command_memory(const Command *c, int64_t *out);

#endif
