/* driver/cli/run/run-ranks.c: `stc run` started by mpirun or srun: joins the other ranks, and prints messages once.
 * Rank 0 prints the output. Errors of another rank are kept until all ranks know of them, and are printed by the lowest
 * rank that has an error. */
#include "driver/cli/options/command.h"
#include "driver/cli/run/job.h"
#include "driver/split/split.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The messages of a rank other than 0: errors, and notes about them. */
struct Voice {
  StcContext *context;
  FILE *to;
  char *text;
  size_t size;
  bool error;
};

/* Keeps a message. */
static void keep_message(void *user, const StcMessage *m) {
  Voice *v = user;
  v->error = m->kind == STC_ERROR || (v->error && m->kind == STC_NOTE);
  Diag d = {(DiagKind)m->kind, m->file, m->line, m->column, m->source, m->text};
  if (v->error)
    diag_print(v->to, &d, false);
}

/* Has this rank's messages kept, and nothing printed. */
static StcStatus hush(Job *j) {
  StcContext *c = j->c->context;
  Voice *v = ARENA_NEW(j->c->arena, Voice);
  v->context = c;
  v->to = open_memstream(&v->text, &v->size);
  if (!v->to || !freopen("/dev/null", "w", stdout))
    return context_error(c, "rank %d: no memory, or no /dev/null", j->net->rank), STC_MEMORY;
  j->voice = v;
  c->message = keep_message;
  c->user = v;
  return STC_OK;
}

/* The arguments of the process, except its own name, each ended by "\0" (malloc). */
static char *arguments(size_t *size) {
  FILE *from = fopen("/proc/self/cmdline", "rb");
  char *text = NULL, chunk[4096];
  *size = 0;
  FILE *to = from ? open_memstream(&text, size) : NULL;
  bool name = true;
  for (size_t n; to && (n = fread(chunk, 1, sizeof chunk, from)) > 0;)
    for (size_t i = 0; i < n; i++) {
      if (!name)
        fputc(chunk[i], to);
      name = name && chunk[i];
    }
  if (to)
    fclose(to);
  if (from)
    fclose(from);
  return text;
}

/* Checks that all ranks have the same `bytes`; else rank 0 reports which other rank differs in `what`. */
static StcStatus check_same(const Job *j, const char *what, const void *bytes, size_t size) {
  int who;
  if (net_same(j->net, bytes, size, &who))
    return STC_OK;
  context_error(j->c->context, "rank %d has %s than rank 0; all ranks must run the same", who, what);
  return STC_USAGE;
}

/* Is MPI requested, or was this process started with others by a launcher? */
static bool has_ranks(const Command *c) {
  int size;
  const char *by;
  if (c->mpi)
    return strcmp(c->mpi, "none") != 0;
  return net_launched(&size, &by) && size != 1;
}

/* Is the grid to be cut in this process? */
static bool is_cut(const Command *c) {
  const char *colon = c->device ? strchr(c->device, ':') : NULL;
  if (c->split || !colon)
    return c->split != NULL;
  for (int i = 0; device_table[i] && strcmp(colon, ":all") == 0; i++) {
    const DeviceKind *k = device_table[i];
    if (strncmp(k->name, c->device, (size_t)(colon - c->device)) == 0 && !k->name[colon - c->device] && k->count)
      return k->count() > 1;
  }
  return strpbrk(colon, ",-") != NULL;
}

/* Prints the kept messages of this rank, after the rank's number. */
static void speak(int rank, FILE *kept) {
  char text[4096];
  size_t n;
  rewind(kept);
  fprintf(stderr, "stc: on rank %d:\n", rank);
  while ((n = fread(text, 1, sizeof text, kept)) > 0)
    fwrite(text, 1, n, stderr);
  fflush(stderr);
}

/* If a rank has not found the others, it leaves the message to rank 0, as the launcher ends all processes when the
 * first one ends. If it is alone, and so still runs after a second, it prints the message itself. */
static StcStatus alone(StcStatus (*open)(Job *j), Job *j) {
  int rank = net_launched_rank();
  FILE *own = rank > 0 ? tmpfile() : NULL;
  if (!own)
    return open(j);
  fflush(stderr);
  int before = dup(STDERR_FILENO);
  dup2(fileno(own), STDERR_FILENO);
  StcStatus s = open(j);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  if (s) {
    sleep(1);
    speak(rank, own);
  }
  fclose(own);
  return s;
}

/* Joins the other ranks. */
static StcStatus join(Job *j) {
  return net_open(j->c->context, j->c->mpi && j->c->mpi[0] ? j->c->mpi : NULL, NULL, &j->net);
}

/* Reads all of the standard input (malloc), *size bytes. NULL: there is no memory for it. */
static char *standard_input(size_t *size) {
  char *text = NULL, chunk[4096];
  FILE *to = open_memstream(&text, size);
  for (ssize_t n; to && (n = read(STDIN_FILENO, chunk, sizeof chunk)) > 0;)
    fwrite(chunk, 1, (size_t)n, to);
  if (to)
    fclose(to);
  return text;
}

/* Makes the file `from`, from its start, the standard input of this process. */
static bool take_input(FILE *from) {
  return from && fflush(from) == 0 && fseek(from, 0, SEEK_SET) == 0 && dup2(fileno(from), STDIN_FILENO) >= 0;
}

/* Gives all ranks the standard input of rank 0 if the program is read from it, as launchers give it only to that rank.
 */
static StcStatus share_program(const Job *j) {
  Net *net = j->net;
  size_t size = 0;
  char *text = net->rank ? NULL : standard_input(&size);
  net->broadcast(net, &size, sizeof size, 0);
  text = net->rank ? malloc(size + 1) : text;
  FILE *file = tmpfile();
  bool good = text && file;
  StcStatus s = ranks_agree(j->c->context, net, good ? STC_OK : STC_MEMORY);
  if (!s) {
    net->broadcast(net, text, size, 0);
    good = fwrite(text, 1, size, file) == size && take_input(file);
  }
  if (!good)
    context_error(j->c->context, "rank %d: no memory for the program, or no place for a temporary file", net->rank);
  if (file)
    fclose(file);
  free(text);
  return ranks_agree(j->c->context, net, good ? STC_OK : STC_IO);
}

StcStatus ranks_join(Job *j) {
  size_t size;
  if (!has_ranks(j->c))
    return is_cut(j->c) && !j->c->view && !j->c->gradient && !j->c->memory /* these need the whole grid */
               ? net_open_alone(j->c->context, &j->net)
               : STC_OK;
  StcStatus s = alone(join, j);
  if (s)
    return s;
  if (j->net->rank > 0)
    s = hush(j);
  char *text = arguments(&size);
  const char *commit = commit_made_from ? commit_made_from : "";
  char version[256];
  snprintf(version, sizeof version, "%s %s", stc_version(), commit);
  s = ranks_agree(j->c->context, j->net, s);
  if (!s)
    s = check_same(j, "another version of stc", version, strlen(version));
  if (!s)
    s = check_same(j, "other options", text, size);
  free(text);
  if (!s && j->net->size > 1)
    peers_watch(j->net);
  return s || strcmp(j->c->file, "-") != 0 || j->net->size == 1 ? s : share_program(j);
}

StcStatus ranks_same_program(Job *j) {
  return j->net ? check_same(j, "another program", j->program->text, strlen(j->program->text)) : STC_OK;
}

bool job_leads(const Job *j) { return !j->net || j->net->rank == 0; }

StcStatus job_agree(Job *j, StcStatus s) { return ranks_agree(j->c->context, j->net, s); }

StcStatus ranks_leave(Job *j, StcStatus s) {
  Net *net = j->net;
  if (!net)
    return s;
  peers_unwatch(net);
  s = job_agree(j, s);
  Voice *v = j->voice;
  if (v) {
    fclose(v->to);
    if (s && s != STC_INTERRUPTED && net->failed == net->rank)
      fprintf(stderr, "stc: on rank %d of %d:\n%s", net->rank, net->size, v->text);
    v->context->message = NULL;
    free(v->text);
  }
  fflush(stderr);
  net->barrier(net);
  net_close(net);
  j->net = NULL;
  return s;
}
