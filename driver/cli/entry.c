/* driver/cli/entry.c: the stc command as a function: its signals, its commands, its exit code. */
#include "driver/cli/options/options.h"
#include "driver/split/split.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --version: a line with the versions of stc and LLVM, and the commit if it is known. */
static StcStatus print_version(void) {
  const char *commit = commit_made_from;
  bool known = commit && commit[0];
  return printf("%s%s%s\n", stc_version(), known ? ", commit " : "", known ? commit : "") < 0 ? STC_IO : STC_OK;
}

/* Runs the command. */
static StcStatus command(Command *c) {
  switch (c->kind) {
  case CMD_COMPILE: return command_compile(c, ending_watch());
  case CMD_RUN: return command_run(c, ending_watch());
  case CMD_BENCH: return command_bench(c, ending_watch());
  case CMD_TUNE: return command_tune(c, ending_watch());
  case CMD_EXPLAIN: return command_explain(c);
  case CMD_LSP: return command_lsp();
  case CMD_FORMAT: return command_format(c);
  case CMD_CACHE: return command_cache(c);
  case CMD_DEVICES: return stc_devices(c->context, stdout);
  case CMD_MAN: return man_print(stdout);
  case CMD_COMPLETION: return completion_print(c->context, stdout, c->topic);
  case CMD_VERSION: return print_version();
  case CMD_HELP: {
    StcStatus s = help_print(stdout, c->topic);
    if (s)
      context_error(
          c->context,
          "no help on '%s'; there are compile, run, tune, explain, bench, fmt, lsp, devices, cache, completion and man",
          c->topic);
    return s;
  }
  }
  return STC_INTERNAL;
}

/* The arguments of main's guarded function. */
typedef struct MainArgs {
  Command c;
  int argc;
  char **argv;
} MainArgs;

/* Parses and runs. */
static StcStatus parse_and_run(void *arg) {
  MainArgs *m = arg;
  StcStatus s = command_parse(&m->c, m->argc, m->argv);
  bool alone = m->c.mpi && strcmp(m->c.mpi, "none") == 0;
  if (!s && (alone || net_launched_rank() == 0))
    context_remark(m->c.context, "%s", stc_version());
  return s ? s : command(&m->c);
}

/* Opens those standard files that the caller has closed (`2>&-`): else the first output file would get the number of
 * one, and messages would be written into it. They are opened for the wrong direction, so that reading and writing
 * fail. */
static void open_standard_files(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      return;
}

int stc_main(int argc, char **argv) {
  Workspace w;
  signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f` writing fails, as on a full disk, and that is reported */
  open_standard_files();
  StcContext *context = context_of_command(NULL);
  if (!context || !workspace_open(&w, context, NULL))
    return fputs("stc: out of memory\n", stderr), STC_MEMORY;
  MainArgs args = {{.arena = w.arena, .context = context}, argc, argv};
  if (argc < 2)
    args.c.kind = CMD_HELP;
  StcStatus s = argc < 2 ? (help_print(stderr, NULL), STC_USAGE) : workspace_guard(&w, parse_and_run, &args);
  ending_unwatch();
  workspace_close(&w);
  stc_context_free(context);
  if (fflush(stdout) != 0 && s == STC_OK)
    s = STC_IO;
  return s;
}
