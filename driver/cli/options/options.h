/* driver/cli/options/options.h: the tables of the command line (options-table.c). Parsing (options.c), and in
 * driver/cli/ help, the manual page and the shells' completion are made from them, so that none of these can know of an
 * option that the others do not. */
#ifndef STC_OPTIONS_H
#define STC_OPTIONS_H

#include "driver/cli/options/command.h"
#include "driver/program/program.h"

/* How an option takes its value: not at all, -name=VALUE or -name VALUE, -name[=VALUE], -nameVALUE (as -DN=4 and -O2).
 */
typedef enum Takes { TAKES_NOTHING, TAKES_VALUE, TAKES_OPTIONAL, TAKES_ATTACHED } Takes;

/* Where the value of an option goes: into the member of Command that begins at byte `at`. TEXT: a string; FLAG: a bool,
 * which becomes true; NUMBER: an int from `least` to `most`; COUNT: an int64_t from `least` on; SHAPE: up to three
 * ints; WORDS, FIELDS: the end of a list of strings, of "FIELD=VALUE", whose length is the int at byte `number`; BY:
 * what `set` does. right: what a value must be. */
typedef struct OptionSlot {
  enum { SLOT_TEXT, SLOT_FLAG, SLOT_NUMBER, SLOT_COUNT, SLOT_SHAPE, SLOT_WORDS, SLOT_FIELDS, SLOT_BY } kind;
  size_t at, number;
  int64_t least, most;
  const char *right;
  const char *(*set)(Command *c, const char *value);
} OptionSlot;
/* Stores the value (NULL if there is none); returns NULL, or what would have been right. */
const char *option_store(Command *c, const OptionSlot *slot, const char *value);

/* A row. */
typedef struct OptionRow {
  const char *name;
  Takes takes;
  int commands;
  OptionSlot slot;
  const char *usage, *help;
} OptionRow;
extern const OptionRow option_rows[];
extern const int noption_rows;

/* A command: its word ("" of compiling), and what follows it; NULL: not in the help text. The last row has no word. */
typedef struct CommandRow {
  const char *word;
  CommandKind kind;
  const char *usage, *help;
} CommandRow;
extern const CommandRow command_rows[];
/* The command's row. */
const CommandRow *command_row(CommandKind kind);

/* Sets of commands: those that compile to files or run; those with options; those about one program; those that take
 * files. MORE: the row is in the manual, not in the help text. */
enum {
  BOTH = CMD_COMPILE | CMD_RUN,
  ALL = CMD_COMPILE | CMD_RUN | CMD_DEVICES | CMD_BENCH | CMD_TUNE | CMD_EXPLAIN | CMD_FORMAT | CMD_MAN |
        CMD_COMPLETION | CMD_LSP,
  PROGRAM = BOTH | CMD_TUNE | CMD_EXPLAIN,
  WITH_FILE = PROGRAM | CMD_FORMAT,
  MORE = 1 << 30
};

/* Does an option say something of the schedule, so that none is taken from a database? */
bool option_is_about_schedule(const OptionRow *row);

/* What the exit codes mean, in few words and in a sentence; the last has no text. */
typedef struct ExitCode {
  int code;
  const char *brief, *text;
} ExitCode;
extern const ExitCode exit_codes[];

/* Writes the manual page stc(1). */
StcStatus man_print(FILE *to);
/* Writes what `shell` (bash, zsh, fish) reads to complete the command. STC_USAGE after a message if it is none of
 * these.
 */
StcStatus completion_print(StcContext *c, FILE *to, const char *shell);

#endif
