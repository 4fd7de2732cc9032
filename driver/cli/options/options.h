/* driver/cli/options/options.h: the tables of the command line (options-table.c). Parsing (options.c) uses them, and in
 * driver/cli/ so do help, the manual page and completion, so that all know the same options. */
#ifndef STC_OPTIONS_H
#define STC_OPTIONS_H

#include "driver/cli/options/command.h"
#include "driver/program/program.h"

/* The form of an option's value: none, -name=VALUE or -name VALUE, -name[=VALUE], -nameVALUE (as -DN=4 and -O2). */
typedef enum Takes { TAKES_NOTHING, TAKES_VALUE, TAKES_OPTIONAL, TAKES_ATTACHED } Takes;

/* The destination of an option's value: the member of Command at offset `at`. TEXT: a string; FLAG: a bool, which
 * becomes true; NUMBER: an int from `least` to `most`; COUNT: an int64_t from `least` on; SHAPE: up to three ints;
 * WORDS, FIELDS: appended to a list of strings, or of "FIELD=VALUE", whose length is the int at offset `number`; BY:
 * `set` stores it. right: the description of a valid value. */
typedef struct OptionSlot {
  enum { SLOT_TEXT, SLOT_FLAG, SLOT_NUMBER, SLOT_COUNT, SLOT_SHAPE, SLOT_WORDS, SLOT_FIELDS, SLOT_BY } kind;
  size_t at, number;
  int64_t least, most;
  const char *right;
  const char *(*set)(Command *c, const char *value);
} OptionSlot;
/* Stores the value (NULL if there is none); returns NULL, or the description of a valid value. */
const char *option_store(Command *c, const OptionSlot *slot, const char *value);

/* An option: a row of the table. */
typedef struct OptionRow {
  const char *name;
  Takes takes;
  int commands;
  OptionSlot slot;
  const char *usage, *help;
} OptionRow;
extern const OptionRow option_rows[];
extern const int noption_rows;

/* A command: its word ("" for compiling), and its arguments in the help; NULL: not in the help. The last row has no
 * word. */
typedef struct CommandRow {
  const char *word;
  CommandKind kind;
  const char *usage, *help;
} CommandRow;
extern const CommandRow command_rows[];
/* The command's row. */
const CommandRow *command_row(CommandKind kind);

/* Sets of commands: those that compile to files or run; those with options; those about one program; those that take
 * files. MORE: the row is only in the manual, not in the help. */
enum {
  BOTH = CMD_COMPILE | CMD_RUN,
  ALL = CMD_COMPILE | CMD_RUN | CMD_DEVICES | CMD_BENCH | CMD_TUNE | CMD_EXPLAIN | CMD_FORMAT | CMD_MAN |
        CMD_COMPLETION | CMD_LSP,
  PROGRAM = BOTH | CMD_TUNE | CMD_EXPLAIN,
  WITH_FILE = PROGRAM | CMD_FORMAT,
  MORE = 1 << 30
};

/* Is the option about the schedule, so that none is taken from a database? */
bool option_is_about_schedule(const OptionRow *row);

/* The meaning of an exit code, in a few words and in a sentence; the last row has no text. */
typedef struct ExitCode {
  int code;
  const char *brief, *text;
} ExitCode;
extern const ExitCode exit_codes[];

/* Writes the manual page stc(1). */
StcStatus man_print(FILE *to);
/* Writes the completion script for `shell` (bash, zsh, fish). STC_USAGE after a message if it is another one. */
StcStatus completion_print(StcContext *c, FILE *to, const char *shell);

#endif
