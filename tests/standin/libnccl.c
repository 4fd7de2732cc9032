/* tests/standin/libnccl.c: stands in for NVIDIA's NCCL where there is no GPU, beside the driver's stand-in, whose
 * memory is this computer's. It checks that messages are sent as they are received: the same sizes in the same order
 * between two ranks; the bytes go by files, so that ranks may be processes. A mistake makes the call fail with
 * ncclInvalidUsage and writes a line "fault: ..." to stderr. What has not arrived when a group ends is looked for
 * whenever the driver's stand-in is asked whether its launches are done (standin_nccl_pending). Messages in streams
 * that are captured are kept, and made with the graph.
 *
 * STC_STANDIN_NCCL=FOLDER      where the files are, empty at the start
 * STC_STANDIN_LOG=FILE         where a line for each call is appended
 * STC_STANDIN_FAIL=CALL        the call that fails with ncclSystemError, for example ncclCommInitRank; captured
 *                              ncclSend: the same while its stream is captured
 * STC_STANDIN_NCCL_VERSION=N   the version that there is, default 22809
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, MAX_RANKS = 16, MAX_MESSAGES = 1024, MAX_KEPT = 4096 };

/* A rank of a communicator, on a GPU; how many messages it has sent to, and received from each other one. */
typedef struct Communicator {
  bool used;
  int n, rank, gpu, sent[MAX_RANKS], received[MAX_RANKS];
} Communicator;
/* A message of a group, or one that has not arrived. */
typedef struct Message {
  Communicator *c;
  bool send;
  void *data;
  size_t size;
  int peer, number;
} Message;

static struct {
  Communicator communicators[MAX_RANKS];
  int depth, n, npending;
  Message group[MAX_MESSAGES], pending[MAX_MESSAGES];
  int nkept;
  Message kept[MAX_KEPT]; /* of graphs */
} rt;

/* Appends a line to the log. */
__attribute__((format(printf, 1, 2))) static void call(const char *fmt, ...) {
  const char *path = getenv("STC_STANDIN_LOG");
  FILE *f = path ? fopen(path, "a") : NULL;
  va_list ap;
  if (!f)
    return;
  va_start(ap, fmt);
  vfprintf(f, fmt, ap);
  va_end(ap);
  fputc('\n', f);
  fclose(f);
}

/* Reports a mistake of the caller. */
__attribute__((format(printf, 1, 2))) static int fault(const char *fmt, ...) {
  va_list ap;
  fputs("standin: fault: ", stderr);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
  call("fault: nccl");
  return INVALID_USAGE;
}

/* Is `name` the call that is to fail? */
static bool to_fail(const char *name) {
  const char *wanted = getenv("STC_STANDIN_FAIL");
  return wanted && strcmp(wanted, name) == 0;
}

int ncclGetVersion(int *version) {
  const char *v = getenv("STC_STANDIN_NCCL_VERSION");
  return *version = v ? atoi(v) : 22809, SUCCESS;
}

const char *ncclGetErrorString(int e) {
  return e == SYSTEM_ERROR ? "unhandled system error" : e == INVALID_USAGE ? "invalid usage" : "no error";
}
const char *ncclGetLastError(void *c) { return (void)c, "the stand-in's words"; }

/* What ncclUniqueId is. */
typedef struct Id {
  char bytes[128];
} Id;
int ncclGetUniqueId(Id *id) {
  if (to_fail("ncclGetUniqueId"))
    return SYSTEM_ERROR;
  return memset(id, 0, sizeof *id), strcpy(id->bytes, "standin"), SUCCESS;
}

/* The GPU whose context is current. */
static int current_gpu(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int (*get)(int *) = NULL, gpu = -1;
  if (driver)
    *(void **)&get = dlsym(driver, "cuCtxGetDevice");
  return get && get(&gpu) == SUCCESS ? gpu : -1;
}

int ncclCommInitRank(void **out, int n, Id id, int rank) {
  int gpu = current_gpu();
  call("nccl join %d of %d", rank, n);
  if (to_fail("ncclCommInitRank"))
    return SYSTEM_ERROR;
  if (strcmp(id.bytes, "standin") != 0 || rank < 0 || rank >= n || n > MAX_RANKS || !getenv("STC_STANDIN_NCCL"))
    return fault("ncclCommInitRank %d of %d", rank, n);
  for (int i = 0; i < MAX_RANKS; i++)
    if (rt.communicators[i].used && rt.communicators[i].gpu == gpu)
      return fault("ncclCommInitRank: ranks %d and %d are both on GPU %d", rt.communicators[i].rank, rank, gpu);
  for (int i = 0; i < MAX_RANKS; i++)
    if (!rt.communicators[i].used) {
      rt.communicators[i] = (Communicator){.used = true, .n = n, .rank = rank, .gpu = gpu};
      return *out = &rt.communicators[i], SUCCESS;
    }
  return fault("too many communicators");
}

/* Ends one; what it waits for is not waited for any more. */
static int end(Communicator *c) {
  int n = 0;
  if (!c->used)
    return fault("ncclCommDestroy of none");
  for (int i = 0; i < rt.npending; i++)
    if (rt.pending[i].c != c)
      rt.pending[n++] = rt.pending[i];
  rt.npending = n;
  c->used = false;
  return SUCCESS;
}

/* A file for a message; a new one is made whole under another name first. */
static void file_name(char name[512], const Message *m, bool part) {
  int from = m->send ? m->c->rank : m->peer, to = m->send ? m->peer : m->c->rank;
  snprintf(name, 512, "%s/%d.%d.%d%s", getenv("STC_STANDIN_NCCL"), from, to, m->number, part ? ".part" : "");
}

/* Sends. */
static int send_file(const Message *m) {
  char part[512], name[512];
  file_name(part, m, true);
  file_name(name, m, false);
  FILE *f = fopen(part, "wb");
  if (!f || fwrite(m->data, 1, m->size, f) != m->size || fclose(f) || rename(part, name))
    return fault("cannot write %s", part);
  return SUCCESS;
}

/* Receives, if it has arrived. */
static bool receive_file(const Message *m, int *error) {
  char name[512], more;
  file_name(name, m, false);
  FILE *f = fopen(name, "rb");
  if (!f)
    return false;
  if (fread(m->data, 1, m->size, f) != m->size || fread(&more, 1, 1, f) == 1)
    *error = fault("%s: sent are not the %zu bytes that are received", name, m->size);
  fclose(f);
  unlink(name);
  return true;
}

/* Receives what has arrived. Is there something that has not? */
bool standin_nccl_pending(void) {
  int n = 0, error = SUCCESS;
  for (int i = 0; i < rt.npending; i++)
    if (!receive_file(&rt.pending[i], &error))
      rt.pending[n++] = rt.pending[i];
  rt.npending = n;
  return n > 0;
}

/* A function of the driver's stand-in. */
static void *of_driver(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

/* Does a graph have messages? NCCL waits for its end, for ever if need be. */
static bool graph_is_left(void) {
  bool (*has)(void) = NULL;
  *(void **)&has = of_driver("standin_has_graphs");
  return rt.nkept && has && has();
}

int ncclCommDestroy(void *c) {
  call("nccl leave");
  if (graph_is_left())
    return fault("ncclCommDestroy while there is a graph with messages");
  if (standin_nccl_pending())
    return fault("ncclCommDestroy with messages under way");
  return end(c);
}
int ncclCommAbort(void *c) {
  call("nccl abort");
  return end(c);
}
int ncclCommGetAsyncError(void *c, int *error) {
  return *error = SUCCESS, ((Communicator *)c)->used ? SUCCESS : fault("ncclCommGetAsyncError of none");
}

int ncclGroupStart(void) { return rt.depth++, SUCCESS; }

/* Makes a message: sends it, or notes that it is waited for. */
static int make(Message m) {
  m.number = m.send ? m.c->sent[m.peer]++ : m.c->received[m.peer]++;
  if (m.send)
    return send_file(&m);
  if (rt.npending < MAX_MESSAGES)
    rt.pending[rt.npending++] = m;
  return SUCCESS;
}

/* Makes one that a graph has. */
void standin_nccl_make(int number) {
  const Message *m = &rt.kept[number];
  call("kept nccl %s %d %zu", m->send ? "send" : "receive", m->peer, m->size);
  make(*m);
}

/* Has the graph have it, if the stream is captured. */
static bool keep(const Message *m, void *stream) {
  bool (*keep_message)(void *stream, int number) = NULL;
  *(void **)&keep_message = of_driver("standin_keep_message");
  if (!keep_message || rt.nkept == MAX_KEPT || !keep_message(stream, rt.nkept))
    return false;
  rt.kept[rt.nkept++] = *m;
  return true;
}

/* Adds a message to the group; `stream`: NULL is where launches are that are in no lane of their own. */
static int add(Communicator *c, bool send, void *data, size_t size, int type, int peer, void *stream) {
  call("%snccl %s %d %zu", stream ? "beside " : "", send ? "send" : "receive", peer, size);
  if (to_fail(send ? "ncclSend" : "ncclRecv"))
    return SYSTEM_ERROR;
  if (!c->used || type || peer < 0 || peer >= c->n || peer == c->rank || !data || rt.depth != 1 || rt.n == MAX_MESSAGES)
    return fault("a message of %zu bytes between %d and %d", size, c->rank, peer);
  Message m = {c, send, data, size, peer, 0};
  if (keep(&m, stream))
    return to_fail(send ? "captured ncclSend" : "captured ncclRecv") ? SYSTEM_ERROR : SUCCESS;
  rt.group[rt.n++] = m;
  return SUCCESS;
}
int ncclSend(const void *data, size_t size, int type, int peer, void *c, void *stream) {
  return add(c, true, (void *)(uintptr_t)data, size, type, peer, stream);
}
int ncclRecv(void *data, size_t size, int type, int peer, void *c, void *stream) {
  return add(c, false, data, size, type, peer, stream);
}

int ncclGroupEnd(void) {
  int error = SUCCESS;
  if (--rt.depth)
    return rt.depth < 0 ? fault("ncclGroupEnd without a start") : SUCCESS;
  call("nccl group of %d", rt.n);
  for (int i = 0; i < rt.n && !error; i++)
    error = make(rt.group[i]);
  rt.n = 0;
  standin_nccl_pending();
  return error;
}
