/* driver/cli/help.c: `stc help`, made from the tables of options.c. */
#include "driver/bench/bench.h"
#include "driver/cli/options/options.h"

#include <string.h>

const ExitCode exit_codes[] = {
    {0, "done", "All went well."},
    {1, "--check failed", "A result differs from the reference's, or (stc fmt --check) a file is not formatted."},
    {2, "usage", "The options are wrong."},
    {3, "input", "The program, or a file that it reads, is wrong."},
    {4, "device", "There is no such device, or it failed."},
    {5, "file", "A file could not be read or written."},
    {6, "memory", "There is not enough memory."},
    {7, "stc's own mistake", "A mistake of stc's own; please report it."},
    {130, "Ctrl-C", "The user stopped the command."},
    {0, NULL, NULL},
};

/* Prints the help of the rows for all of the commands `with` and none of `without`, one on each line. */
static void print_rows(FILE *to, int with, int without) {
  for (int i = 0; i < noption_rows; i++)
    if ((option_rows[i].commands & with) == with && !(option_rows[i].commands & without) &&
        !(option_rows[i].commands & MORE))
      fprintf(to, "  %-18s %s\n", option_rows[i].usage, option_rows[i].help);
}

/* Prints the help on compiling. */
static void print_main_help(FILE *to) {
  fputs("stc: a compiler for stencil programs (.stn) on GPUs and CPUs\n\n", to);
  for (const CommandRow *row = command_rows; row->word; row++)
    if (row->usage)
      fprintf(to, "  stc %s%s%-*s  %s\n", row->word, row->word[0] ? " " : "",
              22 - (int)strlen(row->word) - (row->word[0] != 0), row->usage, row->help);
  fputs("  stc --version               the versions of stc and LLVM, and the commit\n\n"
        "FILE is a program (.stn) or IR text (.sir, .kir). Options:\n",
        to);
  print_rows(to, CMD_COMPILE, CMD_RUN);
  print_rows(to, BOTH, 0);
  fputs("\nExit codes:", to);
  for (const ExitCode *e = exit_codes; e->text; e++)
    fprintf(to, "%s%s%d %s", e == exit_codes ? "" : ",", e->code == 7 ? "\n" : " ", e->code, e->brief);
  fputs("\n", to);
}

/* Prints the help on running. */
static void print_run_help(FILE *to) {
  fputs("stc run [options] FILE: compile a stencil program and run it\n\n"
        "  stc run examples/gray_scott.stn --png V=v.png\n"
        "  stc run --device=cuda -DN=8192 --in A=random:1 --check --time jacobi.stn\n\n",
        to);
  print_rows(to, CMD_RUN, CMD_COMPILE);
  fputs("\nCompiling, as for `stc FILE`:\n", to);
  print_rows(to, BOTH, 0);
}

/* Prints the help on the tuner. */
static void print_tune_help(FILE *to) {
  fputs("stc tune [options] FILE: try schedules for a stencil program on a device, and save the fastest in a\n"
        "database. `stc` and `stc run` use the database when no option concerns the schedule\n\n"
        "  stc tune --device=cuda -DN=16384 -DM=16384 --log tried.csv --plot tried.svg heat.stn\n\n",
        to);
  print_rows(to, CMD_TUNE, CMD_COMPILE);
  fputs("\nCompiling, as for `stc FILE`:\n", to);
  for (int i = 0; i < noption_rows; i++)
    if ((option_rows[i].commands & PROGRAM) == PROGRAM && !(option_rows[i].commands & MORE) &&
        !option_is_about_schedule(&option_rows[i]))
      fprintf(to, "  %-18s %s\n", option_rows[i].usage, option_rows[i].help);
}

/* Prints the help on explaining. */
static void print_explain_help(FILE *to) {
  fputs("stc explain [options] FILE: describe a stencil program's schedule on a card, without any device:\n"
        "halos, redundant work, shared memory, registers, occupancy, limits, expected GPts/s; -march=host:\n"
        "on this CPU\n\n"
        "  stc explain -DN=16384 -DM=16384 --card=a100 -o tiles.svg heat.stn\n\n",
        to);
  print_rows(to, CMD_EXPLAIN, CMD_COMPILE | CMD_RUN);
  fputs("\nCompiling, as for `stc FILE`, except that -o names a drawing:\n", to);
  print_rows(to, CMD_EXPLAIN | CMD_COMPILE, 0);
}

/* Prints the help on the bench. */
static void print_bench_help(FILE *to) {
  fputs("stc bench [options]: measure a set of programs on a device with each family of schedules, and\n"
        "compare with the speed of copying; verifies every configuration first. GPts/s, median of five\n\n"
        "  stc bench --device=cuda --json bench.json\n"
        "  stc bench --device=host --quick --programs=star2d1r,star3d1r\n\n",
        to);
  print_rows(to, CMD_BENCH, CMD_COMPILE);
  fputs("\nThe programs:", to);
  for (const BenchProgram *p = bench_programs; p->name; p++)
    fprintf(to, "%s%s", (p - bench_programs) % 8 ? " " : "\n  ", p->name);
  fputs("\n", to);
}

/* Prints the help on formatting. */
static void print_format_help(FILE *to) {
  fputs("stc fmt [--check] FILE...: format stencil programs in place; - reads stdin and writes stdout\n\n"
        "  --check            change nothing, print the files that are not formatted; exit 1 if there are any\n\n"
        "stc fmt keeps line breaks; it sets blanks, indentation and the columns of comments. The meaning of\n"
        "the program stays the same, and a formatted file is not touched.\n",
        to);
}

/* Prints the help on the language server. */
static void print_lsp_help(FILE *to) {
  fputs("stc lsp: a language server (LSP 3.17) over standard input and output, which editors start: messages\n"
        "while typing, types, halos and regions on hover, definitions, completion, symbols, formatting\n\n"
        "  :lua vim.lsp.start({name = \"stc\", cmd = {\"stc\", \"lsp\"}})\n",
        to);
}

/* Prints the help on completion, and on the manual. */
static void print_completion_help(FILE *to) {
  fputs("stc completion bash|zsh|fish: print a script with which the shell completes stc's commands, options\n"
        "and values; an installed stc brings it along\n\n"
        "  source <(stc completion bash)\n"
        "  stc completion zsh > \"${fpath[1]}/_stc\"\n"
        "  stc completion fish > ~/.config/fish/completions/stc.fish\n",
        to);
}
static void print_man_help(FILE *to) {
  fputs("stc man: print the manual page, stc(1); an installed stc brings it along\n\n"
        "  stc man | man -l -\n",
        to);
}

/* Prints the help on devices. */
static void print_devices_help(FILE *to) {
  fputs("stc devices: list the devices that `stc run --device=` accepts here, and why others cannot be used\n\n", to);
  for (int i = 0; device_table[i]; i++)
    fprintf(to, "  %-6s %s\n", device_table[i]->name, device_table[i]->help);
}

/* Prints the help on the cache. */
static void print_cache_help(FILE *to) {
  fputs("stc cache [--clear]: print the folders and sizes of the cache of compiled kernels, or remove them\n\n"
        "NVIDIA's driver keeps compiled kernels in $XDG_CACHE_HOME/stc/code (~/.cache/stc/code), so that the\n"
        "next run begins at once; 1 GiB at most. The driver's own environment variables CUDA_CACHE_PATH,\n"
        "CUDA_CACHE_MAXSIZE and CUDA_CACHE_DISABLE take precedence. Objects for the CPU are kept in stc/host\n"
        "beside it, 256 MiB at most; STC_CACHE_MAXSIZE (in bytes) and STC_CACHE_DISABLE change that.\n\n",
        to);
  print_rows(to, CMD_CACHE, 0);
}

StcStatus help_print(FILE *to, const char *topic) {
  static const struct {
    const char *word;
    void (*print)(FILE *to);
  } topics[] = {{"compile", print_main_help},
                {"help", print_main_help},
                {"run", print_run_help},
                {"tune", print_tune_help},
                {"explain", print_explain_help},
                {"bench", print_bench_help},
                {"fmt", print_format_help},
                {"devices", print_devices_help},
                {"cache", print_cache_help},
                {"man", print_man_help},
                {"completion", print_completion_help},
                {"lsp", print_lsp_help}};
  for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
    if (strcmp(topic ? topic : "compile", topics[i].word) == 0)
      return topics[i].print(to), STC_OK;
  return STC_USAGE;
}
