/* driver/cli/options/command.h: the parsed options of the stc command, and its commands.
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
 *   cli/depfile.c        the input files of an artifact, for make
 *   cli/run/job.h        `stc run`
 *
 * `stc bench`, `stc tune`, `stc explain` and `stc lsp` are in bench/, tune/, explain/ and lsp/ of driver/. */
#ifndef STC_DRIVER_COMMAND_H
#define STC_DRIVER_COMMAND_H

#include "driver/program/program.h"

/* The value of `--in F=VALUE` and the like. whole: the option names complex array `whole`, and `field` is the array of
 * its real (or `imaginary`) parts; NULL: the option names `field`. */
typedef struct FieldOption {
  const char *field, *value, *whole;
  bool imaginary;
} FieldOption;

/* The commands; sets of commands are combined with |. */
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
  const char *topic;   /* of help; of completion: the shell */
  const char *split;   /* how the grid is cut; NULL: not */
  const char *mpi;     /* the MPI module; "": its usual place, "none"; NULL: not given */
  const char *plan;    /* the file of -plan */
  bool depend;         /* -MD */
  const char *depfile; /* -MF; NULL: from the output's name */
  int64_t steps;       /* -1: the program's default */
  int64_t every;       /* steps between outputs; 0: only the last step */
  const char *checkpoint, *restart;
  const char *gradient, *memory; /* folder for derivatives, NULL: none; bytes for them */
  const char *scratch;           /* folder for what exceeds these bytes; NULL: none */
  int64_t checkpoint_every;      /* 0: equal to `every` */
  int nspacing, norigin;
  double spacing[MAX_RANK], origin[MAX_RANK]; /* of the grid's points, slowest dimension first */
  int nunit;
  FieldOption *units;         /* --unit F=TEXT; F is `grid` for coordinates */
  int compress;               /* zlib's level */
  const char *colors, *slice; /* of pictures: colour map; "D:PLACE" */
  const char *mask;           /* grey points: the field that is 0 there; with '!' in front: not 0 */
  bool limited;
  double limits[2];
  int contours;
  int64_t first_step; /* -1: not given */
  bool check, time, time_kernels, quiet;
  const char *tolerance; /* NULL: the default */
  const char *view;      /* address of the page, "": any; NULL: no page */
  int nin, nout, npng;
  FieldOption *in, *outs, *pngs;
  int ndefines;
  const char **defines;
  const char *bench_programs, *bench_types, *bench_sizes, *json; /* bench: comma-separated lists, NULL: all; a file */
  int nalso;
  const char **also;          /* bench: further schedules, as options */
  bool quick, clear;          /* clear: cache */
  int seconds;                /* bench, tune: begin nothing after this; 0: no limit, or the default */
  const char *plot, *db;      /* tune, explain: an SVG file; a database to use instead */
  const char *card, *format;  /* explain: the card, NULL: the default or the target's; "text" or "json" */
  const char *parts, *net;    /* explain: the number of parts, and the network */
  const char *rounds;         /* explain: the number of counted rounds of repeats */
  bool no_ptxas;              /* explain, tune, bench: do not run the assembler */
  bool why;                   /* explain: list the candidates */
  int tune;                   /* bench: seconds of search for each size; 0: use the database */
  bool scheduled, no_tune_db; /* an option is about the schedule; use no database */
  int nload;
  const char **load_passes;
  int nfiles;
  const char **files; /* fmt: all of them */
} Command;

/* The rule for make that lists the input files of the `n` outputs: the program, plugins, databases of schedules. NULL
 * after an error if a rule cannot contain a name. */
char *depfile_text(const Command *c, const StcProgram *p, const char *const *outputs, int n);
/* Parses argv. STC_USAGE after a message that names the option and the nearest one. */
StcStatus command_parse(Command *c, int argc, char **argv);
/* Adds the options in `words`, separated by spaces, to *o: "-schedule=overlap -T=4"; if `words` begins like the text of
 * a plan, takes that. Only options of schedules are allowed: STC_USAGE after a message that names another one. Strings
 * are in `a`. */
StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o);
/* Writes the help on `topic` ("run", "bench", "devices", NULL: all). STC_USAGE if there is no such topic. */
StcStatus help_print(FILE *to, const char *topic);
/* Run the commands; *stop tells whether the user wants to end. */
StcStatus command_compile(const Command *c, const Stop *stop);
/* The values of -emit=; the last is NULL. */
extern const char *const emit_names[];
StcStatus command_run(const Command *c, Stop *stop);
StcStatus command_bench(const Command *c, const Stop *stop);
StcStatus command_tune(const Command *c, const Stop *stop);
StcStatus command_explain(const Command *c);
StcStatus command_format(const Command *c);
StcStatus command_lsp(void);
StcStatus command_cache(const Command *c);

/* options/memory.c: writes the value of --memory in `c`, "8GiB", "500MB" or a number of bytes, to *out; 0: not given.
 */
StcStatus command_memory(const Command *c, int64_t *out);

#endif
