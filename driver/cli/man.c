/* driver/cli/man.c: `stc man`: the manual page stc(1), from the tables of --help. */
#include "driver/cli/options/options.h"

#include <string.h>

/* The date of this version. */
#define RELEASED "2026-11-22"

/* A row of a list: a term and its meaning. */
typedef struct Item {
  const char *term, *text;
} Item;

/* Writes text as roff: hyphens become minus signs, text in backticks bold, backslashes are escaped; lines have about 70
 * characters, and none begins like a request. */
static void text(FILE *to, const char *s) {
  bool bold = false;
  int column = 0;
  for (const char *start = s; *s; s++, column++) {
    if ((s == start || column == 0) && (*s == '.' || *s == '\''))
      fputs("\\&", to);
    if (*s == '`')
      fputs((bold = !bold) ? "\\fB" : "\\fR", to);
    else if (*s == ' ' && column > 60)
      fputc('\n', to), column = -1;
    else
      fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0}, to);
  }
}

/* Writes a paragraph of a list: a term in bold and its text. */
static void item(FILE *to, const char *term, const char *words) {
  fputs(".TP\n\\fB", to);
  text(to, term);
  fputs("\\fR\n", to);
  text(to, words);
  fputc('\n', to);
}

/* Writes a section that is a list, up to the row without a term. */
static void list(FILE *to, const char *title, const Item *items) {
  fprintf(to, ".SH %s\n", title);
  for (; items->term; items++)
    item(to, items->term, items->text);
}

/* Writes a section of the options that all of the commands `with` have, and none of `without`. */
static void options(FILE *to, const char *title, int with, int without) {
  fprintf(to, ".SS %s\n", title);
  for (int i = 0; i < noption_rows; i++) {
    const OptionRow *row = &option_rows[i];
    if ((row->commands & with) == with && !(row->commands & without))
      item(to, row->usage, row->help);
  }
}

/* Writes a paragraph with the names of the options that `command` shares with `others`, whose sections describe them.
 */
static void shared_options(FILE *to, int command, int others) {
  fputs(".PP\nAlso", to);
  const char *between = " ";
  for (int i = 0; i < noption_rows; i++)
    if ((option_rows[i].commands & command) && (option_rows[i].commands & others)) {
      fprintf(to, "%s\\fB%s%s\\fR", between, option_rows[i].usage[1] == '-' ? "\\-\\-" : "\\-", option_rows[i].name);
      between = ",\n";
    }
  fputs(".\n", to);
}

/* Writes the first lines: description and synopsis. */
static void begin(FILE *to) {
  fprintf(to, ".\\\" Made by `stc man`.\n.TH STC 1 %s \"stc %s\" \"User Commands\"\n", RELEASED, STC_VERSION);
  fputs(".SH NAME\nstc \\- a compiler for stencil programs on GPUs and CPUs\n.SH SYNOPSIS\n", to);
  for (const CommandRow *row = command_rows; row->word; row++) {
    fprintf(to, "%s\\fBstc%s%s\\fR%s", row == command_rows ? "" : ".br\n", row->word[0] ? " " : "", row->word,
            row->usage && row->usage[0] ? " " : "");
    text(to, row->usage ? row->usage : "");
    fputc('\n', to);
  }
  fputs(
      ".SH DESCRIPTION\n\\fBstc\\fR compiles a stencil program, text with a formula for each point of a grid from its "
      "neighbours,\nto code that makes several time steps at once on tiles in fast memory:\nPTX for NVIDIA "
      "GPUs, code objects for AMD GPUs, object files for this CPU.\nIt can also run the program at once.\n"
      "\\fIFILE\\fR is a program (.stn) or IR text (.sir, .kir); \\- is the standard input.\n"
      "An option may begin with one dash or two.\n.SH COMMANDS\n",
      to);
  for (const CommandRow *row = command_rows; row->word; row++)
    item(to, row->word[0] ? row->word : "(none)", row->help);
}

/* Writes the last lines. */
static void end(FILE *to) {
  static const Item environment[] = {
      {"STC_TUNE_DB", "`off`: use no database of schedules"},
      {"XDG_CACHE_HOME",
       "the folder of the user's database, `stc/tune.json` there, if it is an absolute path; default `~/.cache`"},
      {"PATH, CUDA_HOME", "stc looks for `ptxas` in the folders of PATH, then in $CUDA_HOME/bin"},
      {"TMPDIR", "the folder for temporary files; default `/tmp`, for fields in a file (--memory) `/var/tmp`"},
      {"CC", "the C compiler of -emit=so; default `cc`"},
      {"STC_LIBCLC", "the folder of libclc's bitcode, if it has moved since stc was built"},
      {"STC_LLD", "the linker of code objects for AMD GPUs; default `ld.lld-22`"},
      {NULL, NULL}};
  static const Item files[] = {{"FILE.tune.json", "schedules that `stc tune` found for the program beside it"},
                               {"~/.cache/stc/tune.json", "schedules that `stc tune` found for this user"},
                               {NULL, NULL}};
  static const Item examples[] = {
      {"stc run --png V=v.png gray_scott.stn", "run a program on this CPU and draw a field"},
      {"stc run --device=cuda --time -DN=8192 heat.stn", "run it on an NVIDIA GPU, and print its speed"},
      {"stc -march=nvptx -mcpu=sm_90 -o heat.ptx heat.stn", "compile it, for another program to launch"},
      {"stc tune --device=cuda -DN=16384 heat.stn", "find the fastest schedule"},
      {NULL, NULL}};
  fputs(".SH EXIT STATUS\n", to);
  for (const ExitCode *e = exit_codes; e->text; e++) {
    char code[8];
    snprintf(code, sizeof code, "%d", e->code);
    item(to, code, e->text);
  }
  list(to, "ENVIRONMENT", environment);
  list(to, "FILES", files);
  list(to, "EXAMPLES", examples);
}

StcStatus man_print(FILE *to) {
  enum { COMPILING = CMD_COMPILE | CMD_RUN, TUNING = CMD_TUNE | CMD_BENCH };
  begin(to);
  fputs(".SH OPTIONS\n", to);
  options(to, "Compiling to files", CMD_COMPILE, CMD_RUN);
  options(to, "Compiling to files, and running", COMPILING, 0);
  options(to, "stc run", CMD_RUN, CMD_COMPILE);
  options(to, "stc tune", CMD_TUNE, COMPILING);
  shared_options(to, CMD_TUNE, COMPILING);
  options(to, "stc explain", CMD_EXPLAIN, COMPILING | CMD_TUNE);
  shared_options(to, CMD_EXPLAIN, COMPILING | CMD_TUNE);
  options(to, "stc bench", CMD_BENCH, COMPILING | CMD_TUNE);
  shared_options(to, CMD_BENCH, COMPILING | CMD_TUNE);
  options(to, "stc lsp", CMD_LSP, CMD_COMPILE);
  fputs(".SS stc fmt\n", to);
  item(to, "--check", "change nothing, print the files that are not formatted; exit 1 if there are any");
  end(to);
  return ferror(to) ? STC_IO : STC_OK;
}
