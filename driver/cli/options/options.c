/* driver/cli/options/options.c: parses the command line with the tables of commands and options (options-table.c), and
 * suggests near matches. Help is made from the same tables in help.c, the manual in man.c, completion for shells in
 * completion.c. */
#include "driver/cli/options/options.h"
#include "driver/files/files.h"

#include <string.h>

/* ---------------------------------------------------------------- parsing */

/* The row for `text` (without dashes), and its attached value or NULL. A TAKES_ATTACHED row matches by its first letter
 * if no row matches the whole text. */
static const OptionRow *find_row(const char *text, const char **value) {
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : strlen(text);
  *value = equals ? equals + 1 : NULL;
  for (int i = 0; i < noption_rows; i++)
    if (option_rows[i].takes != TAKES_ATTACHED && strlen(option_rows[i].name) == n &&
        memcmp(option_rows[i].name, text, n) == 0)
      return &option_rows[i];
  for (int i = 0; i < noption_rows; i++)
    if (option_rows[i].takes == TAKES_ATTACHED && option_rows[i].name[0] == text[0] &&
        (text[0] == 'D' || (text[1] >= '0' && text[1] <= '9') || !text[1])) {
      *value = text[1] ? text + 1 : NULL;
      return &option_rows[i];
    }
  return NULL;
}

/* Reports an unknown option with the nearest known one. */
static StcStatus unknown_option(Command *c, const char *arg) {
  const char **names = ARENA_ARRAY(c->arena, const char *, noption_rows + 1);
  const char *text = arg + 1 + (arg[1] == '-');
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
  int n = 0;
  for (int i = 0; i < noption_rows; i++)
    if (option_rows[i].commands & c->kind)
      names[n++] = option_rows[i].name;
  names[n] = NULL;
  const char *near = near_match(name, names);
  if (text[strlen(name)] == '=' && (!near || strlen(name) <= 2))
    context_error(c->context, "unknown option %s; a param of the program is set by -D%s", arg, text);
  else if (near)
    context_error(c->context, "unknown option %s; is %s%s meant?", arg, arg[1] == '-' ? "--" : "-", near);
  else
    context_error(c->context, "unknown option %s; `stc help%s%s` lists what there is", arg,
                  c->kind == CMD_COMPILE ? "" : " ", command_row(c->kind)->word);
  return STC_USAGE;
}

bool option_is_about_schedule(const OptionRow *row) {
  static const char *const names[] = {
      "plan",
      "schedule",
      "passes",
#define KNOB(ID, name, ...) #name,
#include "ir/knobs.def"
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(row->name, names[i]) == 0)
      return true;
  return false;
}

/* Reports an option of another command: the first of the table that has it. */
static StcStatus wrong_command(Command *c, const char *arg, const OptionRow *row) {
  const CommandRow *owner = command_rows;
  while (!(owner->kind & row->commands))
    owner++;
  if (owner->kind == CMD_COMPILE)
    context_error(c->context, "%s belongs to compiling (stc FILE); see `stc help`", arg);
  else
    context_error(c->context, "%s belongs to `stc %s`; see `stc help %s`", arg, owner->word, owner->word);
  return STC_USAGE;
}

/* Handles the option argv[*i], and advances *i over its value. */
static StcStatus take_option(Command *c, int argc, char **argv, int *i) {
  const char *arg = argv[*i], *value;
  const OptionRow *row = find_row(arg + 1 + (arg[1] == '-'), &value);
  if (!row)
    return unknown_option(c, arg);
  if (!(row->commands & c->kind))
    return wrong_command(c, arg, row);
  if (row->takes == TAKES_NOTHING && value)
    return context_error(c->context, "%s: %.*s takes no value", arg, (int)strcspn(arg, "="), arg), STC_USAGE;
  if ((row->takes == TAKES_VALUE || row->takes == TAKES_ATTACHED) && !value && *i + 1 < argc)
    value = argv[++*i];
  if ((row->takes == TAKES_VALUE || row->takes == TAKES_ATTACHED) && (!value || !*value))
    return context_error(c->context, "%s needs a value: %s", arg, row->usage ? row->usage : "-print-after=PASS"),
           STC_USAGE;
  if (strcmp(row->name, "T") == 0 && strchr(value, ':'))
    row = find_row("repeats", &(const char *){NULL});
  const char *right = option_store(c, &row->slot, value);
  c->scheduled |= option_is_about_schedule(row);
  return right ? (context_error(c->context, "%s: expected %s", arg, right), STC_USAGE) : STC_OK;
}

/* Finds the command that the first word names; false if it names none. */
static bool command_word(Command *c, const char *word) {
  for (const CommandRow *row = command_rows; row->word; row++)
    if (row->word[0] && strcmp(row->word, word) == 0)
      return c->kind = row->kind, true;
  return false;
}

/* Reads the plan that -plan names. */
static StcStatus read_plan(Command *c) {
  Workspace w = {.arena = c->arena, .context = c->context};
  size_t size;
  if (!c->plan)
    return STC_OK;
  if (c->options.schedule)
    return context_error(c->context, "-plan=%s: the plan says the schedule, too; leave -schedule out", c->plan),
           STC_USAGE;
  c->options.schedule = file_read(&w, c->plan, &size);
  c->context->plan_file = strcmp(c->plan, "-") == 0 ? "<stdin>" : c->plan;
  if (c->options.schedule && !plan_is_text(c->options.schedule))
    return context_error(c->context, "-plan=%s: this is no plan; one begins \"plan stream\", see -emit=plan", c->plan),
           STC_INPUT;
  return c->options.schedule ? STC_OK : STC_IO;
}

/* Reports that there are two files; the first, the first word, may have been a misspelt command. */
static StcStatus two_files(Command *c, const char *first, const char *second) {
  const char *commands[16];
  int n = 0;
  for (const CommandRow *row = command_rows; row->word; row++)
    if (row->word[0])
      commands[n++] = row->word;
  commands[n] = NULL;
  bool word = strcmp(c->file, first) == 0 && !strpbrk(first, "./-");
  const char *near = word ? near_match(first, commands) : NULL;
  if (near)
    context_error(c->context, "there is no command `stc %s`; is `stc %s` meant?", first, near);
  else if (word)
    context_error(c->context, "there is no command `stc %s`; `stc help` lists what there is", first);
  else
    context_error(c->context, "two files, %s and %s: one at a time", c->file, second);
  return STC_USAGE;
}

StcStatus command_parse(Command *c, int argc, char **argv) {
  c->kind = CMD_COMPILE;
  c->steps = c->first_step = -1;
  c->compress = 1;
  int i = 1;
  if (argc > 1 && command_word(c, argv[1]))
    i = 2;
  if (c->kind == CMD_HELP || c->kind == CMD_COMPLETION) {
    c->topic = argc > 2 ? argv[2] : NULL;
    if (!c->topic || c->topic[0] != '-' || c->kind == CMD_HELP)
      return STC_OK;
  }
  for (; i < argc && c->kind != CMD_HELP && c->kind != CMD_VERSION; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      StcStatus s = take_option(c, argc, argv, &i);
      if (s)
        return s;
    } else if (!(c->kind & WITH_FILE)) {
      return context_error(c->context, "%s: `stc %s` takes no file", argv[i], argv[1]), STC_USAGE;
    } else if (c->kind == CMD_FORMAT) {
      c->file = argv[i];
      ARENA_PUSH(c->arena, c->files, c->nfiles, c->file);
    } else if (c->file) {
      return two_files(c, argv[1], argv[i]);
    } else {
      c->file = argv[i];
    }
  }
  if (c->restart && c->first_step >= 0)
    return context_error(c->context,
                         "--first-step=%lld with --restart=%s: the checkpoint says how many steps are done; leave "
                         "--first-step out",
                         (long long)c->first_step, c->restart),
           STC_USAGE;
  StcStatus s = read_plan(c);
  if (s)
    return s;
  c->options.ndefines = c->ndefines;
  c->options.defines = c->defines;
  c->options.nload = c->nload;
  c->options.load_passes = c->load_passes;
  if ((c->kind & WITH_FILE) && !c->file)
    return context_error(c->context, "no input file: stc%s%s %s (`stc --help` tells more)",
                         c->kind == CMD_COMPILE ? "" : " ", command_row(c->kind)->word,
                         c->kind == CMD_FORMAT ? "[--check] FILE.stn" : "[options] FILE.stn"),
           STC_USAGE;
  return STC_OK;
}

/* Is the word an option of schedules, as the tuner writes them? */
static bool says_schedule(const char *word) {
  const char *value;
  const OptionRow *row = word[0] == '-' && word[1] ? find_row(word + 1 + (word[1] == '-'), &value) : NULL;
  return row && option_is_about_schedule(row) && strcmp(row->name, "plan") != 0 && strcmp(row->name, "passes") != 0;
}

StcStatus options_add(StcContext *context, Arena *a, const char *words, StcOptions *o) {
  Command c = {.kind = CMD_RUN, .arena = a, .context = context, .options = *o};
  if (plan_is_text(words)) {
    o->schedule = arena_strdup(a, words);
    return STC_OK;
  }
  char **argv = NULL;
  int argc = 0;
  for (const char *s = words; *s; s += strspn(s, " ")) {
    size_t n = strcspn(s, " ");
    if (n)
      ARENA_PUSH(a, argv, argc, arena_strndup(a, s, n));
    s += n;
  }
  for (int i = 0; i < argc; i++) {
    if (!says_schedule(argv[i]))
      return context_error(context, "%s is no option of schedules, and nothing else can stand here", argv[i]),
             STC_USAGE;
    StcStatus s = take_option(&c, argc, argv, &i);
    if (s)
      return s;
  }
  *o = c.options;
  return STC_OK;
}
