/* net.c: joins the ranks of a run: whether there are several, the module that connects them (net.h), and agreement
 * among them. */
#include "driver/split/split.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- how this process was started */

/* The environment variables that launchers set for each process: the number of processes (NULL: it is not given), and
 * another one that must be set. */
static const struct Launcher {
  const char *name, *size, *other;
} launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpirun", "PMI_SIZE", "PMI_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"a launcher with PMIx", NULL, "PMIX_RANK"},
};

bool net_launched(int *size, const char **by) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const struct Launcher *l = &launchers[i];
    const char *n = l->size ? getenv(l->size) : NULL;
    if (!getenv(l->other) || (l->size && !n))
      continue;
    *size = n ? atoi(n) : 0;
    *by = l->name;
    return true;
  }
  return *size = 1, false;
}

int net_launched_rank(void) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (getenv(launchers[i].other))
      return atoi(getenv(launchers[i].other));
  return 0;
}

/* ---------------------------------------------------------------- the module */

/* The folders for the module, relative to that of stc or libstc. */
static const char *const module_places[] = {"", "stc/", "../lib/stc/", "../lib64/stc/", "../lib/x86_64-linux-gnu/stc/"};

/* The folder of the program or library that contains this function, with a slash at its end. */
static void find_folder(char folder[PATH_MAX]) {
  Dl_info info = {0};
  char path[PATH_MAX];
  bool known =
      dladdr(&launchers, &info) && info.dli_fname && strchr(info.dli_fname, '/') && realpath(info.dli_fname, path);
  if (!known && !realpath("/proc/self/exe", path))
    snprintf(path, sizeof path, "./");
  char *slash = strrchr(path, '/');
  snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
}

/* The module's file, in `path`: `asked`, else $STC_MPI, else the one in the usual folders. False: there is none. */
static bool find_module(const char *asked, char path[2 * PATH_MAX]) {
  char folder[PATH_MAX];
  const char *named = asked ? asked : getenv("STC_MPI");
  if (named && named[0])
    return snprintf(path, 2 * PATH_MAX, "%s%s", strchr(named, '/') ? "" : "./", named), true;
  find_folder(folder);
  for (size_t i = 0; i < sizeof module_places / sizeof *module_places; i++) {
    snprintf(path, 2 * PATH_MAX, "%s%sstc-mpi.so", folder, module_places[i]);
    if (access(path, R_OK) == 0)
      return true;
  }
  return false;
}

/* Reports that several processes were started but cannot be connected. */
static StcStatus no_module(StcContext *c) {
  char folder[PATH_MAX], processes[64] = "several processes";
  const char *by = "";
  int size;
  bool launched = net_launched(&size, &by);
  find_folder(folder);
  if (size > 1)
    snprintf(processes, sizeof processes, "%d processes", size);
  return context_error(c,
                       "%s%s%s%s there is no stc-mpi.so, by which stc uses MPI, beside stc (in %s) or in $STC_MPI; "
                       "`mpicc -shared -fPIC -o stc-mpi.so stc-mpi.c` makes it from share/stc/stc-mpi.c, in the Python "
                       "package from "
                       "stc/mpi/stc-mpi.c, in the sources from driver/split/stc-mpi.c, %s=FILE names it%s",
                       launched ? by : "several processes are to work on one grid", launched ? " started " : "",
                       launched ? processes : "", launched ? ", but" : ", but", folder,
                       option_name(c, "--mpi", "STC_MPI"),
                       c->command ? ", --mpi=none has each process work for itself" : ""),
         STC_DEVICE;
}

/* Loads the module; NULL after an error. It is never unloaded, because MPI libraries do not support that. */
static const NetModule *open_module(StcContext *c, const char *asked) {
  char path[2 * PATH_MAX];
  if (!find_module(asked, path))
    return no_module(c), NULL;
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  const NetModule *m = handle ? dlsym(handle, "stc_net_module") : NULL;
  if (!m || m->layout != NET_LAYOUT) {
    context_error(c, "%s%s", !handle ? "" : path,
                  !handle ? dlerror()
                  : !m    ? ": it has no stc_net_module: it is not made from stc-mpi.c"
                          : ": it is made from the stc-mpi.c of another version of stc; make it again");
    return NULL;
  }
  return m;
}

/* Checks that the module's MPI has as many processes as were started. */
static bool check_size(StcContext *c, const Net *net) {
  int size;
  const char *by = "";
  if (!net_launched(&size, &by) || size <= 1 || net->size > 1)
    return true;
  context_error(c,
                "%s started %d processes, but %s, which stc-mpi.so is made for, knows of one: start them with its own "
                "mpirun, or make stc-mpi.so with the other MPI's mpicc and name it with --mpi=FILE",
                by, size, net->library);
  return false;
}

StcStatus net_open(StcContext *c, const char *module, void *communicator, Net **out) {
  char why[NET_WHY];
  *out = NULL;
  const NetModule *m = open_module(c, module);
  if (!m)
    return STC_DEVICE;
  Net *net = malloc(sizeof *net);
  if (!net)
    return context_error(c, "out of memory"), STC_MEMORY;
  if (!m->open(communicator, net, why))
    return free(net), context_error(c, "MPI could not be begun: %s", why), STC_DEVICE;
  net->failed = -1;
  net->peers = NULL;
  if (!communicator && !check_size(c, net))
    return net_close(net), STC_DEVICE;
  *out = net;
  return STC_OK;
}

/* The functions of a group of one rank: nothing is sent, and it gathers only its own bytes. */
static void alone_start(Net *net, int n, const NetMessage *messages) { (void)net, (void)n, (void)messages; }
static void alone_nothing(Net *net) { (void)net; }
static void alone_broadcast(Net *net, void *data, size_t size, int from) {
  (void)net, (void)data, (void)size, (void)from;
}
static void alone_gather(Net *net, const void *mine, size_t size, void *all) {
  (void)net;
  memcpy(all, mine, size);
}
static bool alone_told(Net *net) {
  (void)net;
  return false;
}
static void alone_abort(Net *net, int code) {
  (void)net;
  exit(code);
}

StcStatus net_open_alone(StcContext *c, Net **out) {
  *out = malloc(sizeof **out);
  if (!*out)
    return context_error(c, "out of memory"), STC_MEMORY;
  **out = (Net){.size = 1,
                .local_size = 1,
                .library = "nothing",
                .start = alone_start,
                .finish = alone_nothing,
                .broadcast = alone_broadcast,
                .gather = alone_gather,
                .barrier = alone_nothing,
                .tell = alone_nothing,
                .told = alone_told,
                .abort = alone_abort,
                .close = alone_nothing,
                .failed = -1};
  return STC_OK;
}

void net_close(Net *net) {
  if (net)
    net->close(net);
  free(net);
}

/* ---------------------------------------------------------------- agreement */

StcStatus net_agree(Net *net, StcStatus mine, int *who) {
  *who = 0;
  if (!net)
    return mine;
  int own = (int)mine, all[net->size];
  net->gather(net, &own, sizeof own, all);
  while (*who < net->size && !all[*who])
    ++*who;
  if (*who < net->size && net->failed < 0)
    net->failed = *who;
  return *who < net->size ? (StcStatus)all[*who] : STC_OK;
}

StcStatus ranks_agree(StcContext *c, Net *net, StcStatus mine) {
  int who;
  StcStatus s = net_agree(net, mine, &who);
  if (s && !mine && !c->command && s != STC_INTERRUPTED)
    context_error(c, "rank %d of %d cannot go on; its own message says why", who, net->size);
  return s;
}

StcStatus split_agree(StcPlan *p, StcStatus s) { return ranks_agree(p->w.context, p->split->net, s); }

/* Ends all ranks, including this one. Ranks of the command that print no messages keep them, so the message is printed
 * here once more. */
static _Noreturn void die(StcContext *c, Net *net, const char *what) {
  if (c->command && net->rank > 0)
    fprintf(stderr, "stc: on rank %d of %d:\nstc: error: %s\n", net->rank, net->size, what);
  fflush(NULL);
  peers_tell(net);
  net->abort(net, STC_MEMORY);
  exit(STC_MEMORY);
}

void split_die(StcPlan *p, const char *what, double bytes) {
  const Net *net = p->split->net;
  char size[MEMORY_TEXT], text[512];
  snprintf(text, sizeof text, "no memory on this computer for %s of a copy of %s", memory_text(size, bytes), what);
  if (!net || net->rank == 0 || !p->w.context->command)
    context_error(p->w.context, "%s", text);
  if (!net || net->size == 1)
    workspace_give_up(&p->w);
  die(p->w.context, p->split->net, text);
}

char *split_room(StcPlan *p, const char *name, size_t bytes, StcStatus *s) {
  char *memory = calloc(bytes + 1, 1);
  if (!memory && p->split->net && p->split->net->size > 1)
    split_die(p, name, (double)bytes);
  if (!memory)
    *s = computer_no_room(p->w.context, "a copy of field", name, (double)bytes);
  return memory;
}

StcStatus net_leave(StcContext *c, Net *net, bool agreed, StcStatus s) {
  if (s == STC_MEMORY && net && net->size > 1 && !agreed)
    die(c, net, "out of memory");
  return s;
}

/* The cores that a process may use, and its machine. */
typedef struct Cores {
  char machine[256];
  cpu_set_t set;
} Cores;

int net_cores(Net *net) {
  Cores mine, *all = calloc((size_t)net->size, sizeof *all);
  int same = 0;
  memset(&mine, 0, sizeof mine);
  gethostname(mine.machine, sizeof mine.machine - 1);
  if (!all || sched_getaffinity(0, sizeof mine.set, &mine.set) != 0)
    CPU_SET(0, &mine.set);
  if (!all)
    net->abort(net, STC_MEMORY);
  net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size; i++)
    same += memcmp(&mine, &all[i], sizeof mine) == 0;
  free(all);
  return CPU_COUNT(&mine.set) > same ? CPU_COUNT(&mine.set) / same : 1;
}

bool net_same(Net *net, const void *bytes, size_t size, int *who) {
  uint64_t hash = 14695981039346656037u, all[net->size];
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  net->gather(net, &hash, sizeof hash, all);
  for (*who = 1; *who < net->size; ++*who)
    if (all[*who] != all[0])
      return false;
  return true;
}

void net_message(Net *net, int peer, bool send, void *data, size_t size) {
  NetMessage m = {peer, 0, send, data, size};
  net->start(net, 1, &m);
  net->finish(net);
}
