/* driver/cli/completion.c: `stc completion SHELL`: prints the scripts with which bash, zsh and fish complete the
 * command line. */
#include "driver/cli/options/options.h"
#include "driver/data/writer.h"

#include <string.h>

/* The word for a file in a list of values. */
static const char FILES[] = "FILE";

/* The named values of options, as words separated by blanks; values that come from tables are not here. */
static const char *const named_values[][2] = {
    {"freal", "f32 f64"},         {"O", "0 1 2 3"},
    {"fcheck", "finite bounds"},  {"time", "kernels"},
    {"types", "f32 f64 f32,f64"}, {"size", "large small large,small"},
    {"format", "text json"},
};

/* The possible values of the option: words separated by blanks in the arena, FILES, or NULL. */
static const char *values(Arena *a, const OptionRow *row) {
  Str s = {.arena = a};
  for (size_t i = 0; i < sizeof named_values / sizeof named_values[0]; i++)
    if (strcmp(named_values[i][0], row->name) == 0)
      return named_values[i][1];
  for (int k = 0; k < KNOBS; k++)
    for (int i = 1; strcmp(row->name, knob_row((KnobId)k)->name) == 0 && knob_word((KnobId)k, i); i++)
      str_addf(&s, "%s%s", i > 1 ? " " : "", knob_word((KnobId)k, i));
  const char *const *arches = target_arches();
  for (int i = 0; strcmp(row->name, "march") == 0 && arches[i]; i++)
    str_addf(&s, "%s%s", i ? " " : "", arches[i]);
  for (int i = FAMILY_AUTO; strcmp(row->name, "schedule") == 0 && i < FAMILIES; i++)
    str_addf(&s, "%s%s", i > FAMILY_AUTO ? " " : "", family_name((FamilyId)i));
  for (int i = 0; strcmp(row->name, "emit") == 0 && emit_names[i]; i++)
    str_addf(&s, "%s%s", i ? " " : "", emit_names[i]);
  for (int i = 0; strcmp(row->name, "device") == 0 && device_table[i]; i++)
    str_addf(&s, "%s%s", i ? " " : "", device_table[i]->name);
  for (int i = 0; strcmp(row->name, "colors") == 0 && color_map_name(i); i++)
    str_addf(&s, "%s%s", i ? " " : "", color_map_name(i));
  bool cards = strcmp(row->name, "card") == 0 || strcmp(row->name, "mcpu") == 0;
  for (int i = 0; cards && card_table[i].name; i++)
    str_addf(&s, "%s%s", i ? " " : "", card_table[i].name);
  return s.s ? s.s : row->takes != TAKES_NOTHING && (strstr(row->usage, "FILE") || row->name[0] == 'o') ? FILES : NULL;
}

/* The option as it is typed, up to the start of its value: "-march=", "--in", "-D". */
static const char *typed(Arena *a, const OptionRow *row) {
  const char *dash = row->usage[1] == '-' ? "--" : "-";
  const char *behind = row->usage + strlen(dash) + strlen(row->name);
  return arena_printf(a, "%s%s%s", dash, row->name, row->takes == TAKES_VALUE && *behind == '=' ? "=" : "");
}

/* ---------------------------------------------------------------- bash */

/* Prints the function that lists the values of an option. */
static void bash_values(FILE *to, Arena *a) {
  fputs("# Sets `words` to what may stand behind option $1; `files` where that is a file; 1: it takes no value.\n"
        "_stc_values() {\n  case $1 in\n",
        to);
  for (int i = 0; i < noption_rows; i++) {
    const OptionRow *row = &option_rows[i];
    const char *v = values(a, row);
    if (row->takes == TAKES_VALUE || row->takes == TAKES_OPTIONAL)
      fprintf(to, "    -%s | --%s) %s%s%s ;;\n", row->name, row->name, v == FILES ? "files=1" : "words='",
              v == FILES || !v ? "" : v, v == FILES ? "" : "'");
  }
  fputs("    *) return 1 ;;\n  esac\n}\n\n", to);
}

/* Prints the options of each command. */
static void bash_options(FILE *to, Arena *a) {
  fputs("# Sets `words` to the options of command $1.\n_stc_options() {\n  case $1 in\n", to);
  for (const CommandRow *c = command_rows; c->word; c++) {
    fprintf(to, "    '%s') words='", c->word);
    for (int i = 0; i < noption_rows; i++)
      if (option_rows[i].commands & c->kind) {
        if (strcmp(option_rows[i].name, "O") == 0)
          fputs("-O0 -O1 -O2 -O3 ", to);
        else
          fprintf(to, "%s ", typed(a, &option_rows[i]));
      }
    fputs("' ;;\n", to);
  }
  fputs("  esac\n}\n\n", to);
}

/* Prints the options whose value is the next word, if it is not attached by =. */
static void bash_separate(FILE *to) {
  fputs("# Does option $1 take the next word as its value?\n_stc_separate() {\n  case $1 in\n    ", to);
  const char *between = "";
  for (int i = 0; i < noption_rows; i++)
    if (option_rows[i].takes == TAKES_VALUE) {
      fprintf(to, "%s-%s | --%s", between, option_rows[i].name, option_rows[i].name);
      between = " | ";
    }
  fputs(") return 0 ;;\n  esac\n  return 1\n}\n\n", to);
}

/* Prints the whole script. */
static void bash_print(FILE *to, Arena *a) {
  fputs("# bash completion of stc, made by `stc completion bash`\n\n", to);
  bash_values(to, a);
  bash_options(to, a);
  bash_separate(to);
  fputs("# Completes with files: all of them, or (programs) those with a program or IR in them.\n"
        "_stc_files() {\n"
        "  local file\n"
        "  compopt -o filenames 2>/dev/null\n"
        "  while IFS= read -r file; do\n"
        "    if [[ -n $1 || -d $file || $file == *.stn || $file == *.sir || $file == *.kir ]]; then\n"
        "      COMPREPLY+=(\"$file\")\n"
        "    fi\n"
        "  done < <(compgen -f -- \"$cur\")\n"
        "}\n\n"
        "_stc() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} option='' command='' words='' files='' candidates='",
        to);
  for (const CommandRow *c = command_rows; c->word; c++)
    fprintf(to, "%s ", c->word);
  fputs("'\n"
        "  COMPREPLY=()\n"
        "  if [[ \" $candidates \" == *\" ${COMP_WORDS[1]} \"* && $COMP_CWORD -gt 1 ]]; then\n"
        "    command=${COMP_WORDS[1]}\n"
        "  fi\n"
        "  if [[ $cur == = ]]; then\n"
        "    option=${COMP_WORDS[COMP_CWORD - 1]} cur=\n"
        "  elif [[ $COMP_CWORD -ge 2 && ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then\n"
        "    option=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "  elif _stc_separate \"${COMP_WORDS[COMP_CWORD - 1]}\"; then\n"
        "    option=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "  fi\n"
        "  if [[ -n $option ]] && _stc_values \"$option\"; then\n"
        "    if [[ -n $files ]]; then _stc_files all; fi\n"
        "  elif [[ $command == completion ]]; then\n"
        "    words='bash zsh fish'\n"
        "  elif [[ $command == help ]]; then\n"
        "    words=$candidates\n"
        "  elif [[ $cur == -* ]]; then\n"
        "    _stc_options \"$command\"\n"
        "    compopt -o nospace 2>/dev/null\n"
        "  else\n"
        "    if [[ $COMP_CWORD -eq 1 ]]; then words=$candidates; fi\n"
        "    case $command in devices | bench | man) ;; *) _stc_files '' ;; esac\n"
        "  fi\n"
        "  COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n"
        "  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == -* && ${COMPREPLY[0]} != *= ]]; then\n"
        "    compopt +o nospace 2>/dev/null\n"
        "  fi\n"
        "}\n"
        "complete -F _stc stc\n",
        to);
}

/* ---------------------------------------------------------------- zsh and fish */

/* Writes `s` for the inside of single quotes, with a backslash before each of the characters in `special`. */
static void quoted(FILE *to, const char *s, const char *special, const char *quote) {
  for (; *s; s++)
    if (*s == '\'')
      fputs(quote, to);
    else
      fprintf(to, strchr(special, *s) ? "\\%c" : "%c", *s);
}

/* Prints an option in the form of _arguments: '-name=[help]:what:(values)'. */
static void zsh_option(FILE *to, Arena *a, const OptionRow *row) {
  const char *v = values(a, row), *dash = row->usage[1] == '-' ? "--" : "-";
  fprintf(to, "        '*%s%s%s[", dash, row->name,
          row->takes == TAKES_VALUE      ? "="
          : row->takes == TAKES_OPTIONAL ? "=-"
          : row->takes == TAKES_ATTACHED ? "-"
                                         : "");
  quoted(to, row->help, "[]\\:", "'\\''");
  fputc(']', to);
  if (row->takes != TAKES_NOTHING) {
    fputs(row->takes == TAKES_OPTIONAL ? "::" : ":", to);
    quoted(to, row->usage, "[]\\:", "'\\''");
    fprintf(to, ":%s%s%s", v == FILES ? "_files" : v ? "(" : "", v == FILES || !v ? "" : v, v && v != FILES ? ")" : "");
  }
  fputs("' \\\n", to);
}

/* Prints the whole function. */
static void zsh_print(FILE *to, Arena *a) {
  fputs("#compdef stc\n# zsh completion of stc, made by `stc completion zsh`\n\n_stc() {\n"
        "  local -a commands programs\n  local command=''\n  commands=(\n",
        to);
  for (const CommandRow *c = command_rows; c->word; c++)
    if (c->word[0]) {
      fprintf(to, "    '%s:", c->word);
      quoted(to, c->help, "\\", "'\\''");
      fputs("'\n", to);
    }
  fputs(
      "  )\n  programs=('*:program:_files -g \"*.(stn|sir|kir)\"')\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n    _files -g '*.(stn|sir|kir)'\n    return\n  fi\n"
      "  if (( $commands[(I)$words[2]:*] )); then\n    command=$words[2]\n    shift words\n    (( CURRENT-- ))\n  fi\n"
      "  case $command in\n",
      to);
  for (const CommandRow *c = command_rows; c->word; c++) {
    if (c->kind == CMD_HELP || c->kind == CMD_COMPLETION)
      continue;
    fprintf(to, "    '%s') _arguments -S \\\n", c->word);
    for (int i = 0; i < noption_rows; i++)
      if (option_rows[i].commands & c->kind)
        zsh_option(to, a, &option_rows[i]);
    fprintf(to, "        %s ;;\n", c->kind & WITH_FILE ? "$programs" : "''");
  }
  fputs("    help) _describe command commands ;;\n    completion) _values shell bash zsh fish ;;\n  esac\n}\n\n"
        "if [[ $funcstack[1] == _stc ]]; then _stc \"$@\"; else compdef _stc stc; fi\n",
        to);
}

/* Prints an option for fish, for the commands that have it. */
static void fish_option(FILE *to, Arena *a, const OptionRow *row) {
  const char *v = values(a, row);
  fputs("complete -c stc -n '__stc_command", to);
  for (const CommandRow *c = command_rows; c->word; c++)
    if (row->commands & c->kind)
      fprintf(to, " %s", c->word[0] ? c->word : "FILE");
  fprintf(to, "' %s %s", !row->name[1] ? "-s" : row->usage[1] == '-' ? "-l" : "-o", row->name);
  if (row->takes == TAKES_VALUE || row->takes == TAKES_ATTACHED)
    fputs(v == FILES ? " -r" : " -x", to);
  if (v && v != FILES)
    fprintf(to, " -a '%s'", v);
  fputs(" -d '", to);
  quoted(to, row->help, "\\", "\\'");
  fputs("'\n", to);
}

/* Prints the whole script. */
static void fish_print(FILE *to, Arena *a) {
  fputs("# fish completion of stc, made by `stc completion fish`\n\n"
        "# Is the command at hand one of these? FILE is compiling, which has no word.\n"
        "function __stc_command\n  set -l words (commandline -opc)\n  set -l command FILE\n"
        "  if set -q words[2]; and contains -- $words[2]",
        to);
  for (const CommandRow *c = command_rows; c->word; c++)
    fprintf(to, "%s%s", c->word[0] ? " " : "", c->word);
  fputs("\n    set command $words[2]\n  end\n  contains -- $command $argv\nend\n\n", to);
  for (const CommandRow *c = command_rows; c->word; c++)
    if (c->word[0]) {
      fprintf(to, "complete -c stc -n __fish_use_subcommand -a %s -d '", c->word);
      quoted(to, c->help, "\\", "\\'");
      fputs("'\n", to);
    }
  fputs("complete -c stc -n '__stc_command completion' -x -a 'bash zsh fish'\n", to);
  for (int i = 0; i < noption_rows; i++)
    fish_option(to, a, &option_rows[i]);
}

StcStatus completion_print(StcContext *c, FILE *to, const char *shell) {
  static const struct {
    const char *name;
    void (*print)(FILE *to, Arena *a);
  } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
  Workspace w;
  for (size_t i = 0; shell && i < sizeof shells / sizeof shells[0]; i++)
    if (strcmp(shell, shells[i].name) == 0) {
      if (!workspace_open(&w, c, NULL))
        return context_error(c, "out of memory"), STC_MEMORY;
      shells[i].print(to, w.arena);
      workspace_close(&w);
      return STC_OK;
    }
  return context_error(c, "stc completion%s%s: name bash, zsh or fish", shell ? " " : "", shell ? shell : ""),
         STC_USAGE;
}
