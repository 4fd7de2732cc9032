/* driver/cli/format.c: `stc fmt`: formats programs in place. */
#include "driver/cli/options/command.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <string.h>

/* The arguments and results of formatting one file. */
typedef struct FormatJob {
  Workspace w;
  const Command *c;
  const char *path;
  bool differs;
} FormatJob;

/* Formats a file: writes it if it changes (with --check it only prints the name); "-" goes to stdout. */
static StcStatus format_file(void *arg) {
  FormatJob *j = arg;
  size_t size;
  bool standard = strcmp(j->path, "-") == 0;
  const char *name = standard ? "<stdin>" : j->path, *text = file_read(&j->w, j->path, &size);
  if (!text)
    return STC_IO;
  if (strlen(text) != size)
    return context_error(j->c->context, "%s: holds a NUL byte; a program is text", name), STC_INPUT;
  const char *made = frontend_format(j->w.arena, j->w.diags, name, text);
  if (!made)
    return STC_INPUT;
  j->differs = strcmp(made, text) != 0;
  if (j->c->check)
    return j->differs && printf("%s\n", name) < 0 ? STC_IO : STC_OK;
  if (standard || j->differs)
    return file_write(j->c->context, j->path, made, strlen(made)) ? STC_OK : STC_IO;
  return STC_OK;
}

StcStatus command_format(const Command *c) {
  StcStatus worst = STC_OK;
  bool differs = false;
  for (int i = 0; i < c->nfiles; i++) {
    FormatJob job = {.c = c, .path = c->files[i]};
    if (!workspace_open(&job.w, c->context, NULL))
      return context_error(c->context, "out of memory"), STC_MEMORY;
    StcStatus s = workspace_guard(&job.w, format_file, &job);
    workspace_close(&job.w);
    differs |= job.differs;
    worst = s > worst ? s : worst;
  }
  return worst ? worst : c->check && differs ? STC_CHECK_FAILED : STC_OK;
}
