/* tests/standin/libcuda.c: stands in for NVIDIA's driver where there is no NVIDIA GPU. It computes nothing: memory is
 * 0 until it is copied to. It checks the order of the calls and their arguments, a launch's against the PTX: pointers,
 * block, grid. A mistake makes the call fail with CUDA_ERROR_INVALID_VALUE and writes a line "fault: ..." to stderr and
 * to the log. This file has the devices and the log, and lets calls fail; the other files are in libcuda/ (libcuda.h).
 * Launches on a stream that captures are kept; launching the graph that they become logs them as launches.
 *
 * The address of standin_stream is a stream as a caller of stc might have one: lines of launches in it begin with
 * "user".
 *
 * STC_STANDIN_LOG=FILE      where a line for each call is appended; launches in the stream that waits for no other
 *                           begin with "beside"
 * STC_STANDIN_DEVICES=2     how many devices there are, in place of one, at most 4
 * STC_STANDIN_GPU=LETTER    which device it is: processes with different letters have different ones
 * STC_STANDIN_CARD=h100     it calls itself so, and says what attributes that card has: h100, h200 or a100
 * STC_STANDIN_DRIVER=12020  the version of the driver, in place of 13000
 * STC_STANDIN_ROOM=BYTES    what it says is free, instead of a GiB; BYTES-: less what has been allocated
 * STC_STANDIN_FAIL=CALL     the call that fails with error 719, for example cuGraphInstantiateWithFlags; CALL+N: each
 *                           time after N that do not; cuMemAlloc has no memory then
 * STC_STANDIN_IPC=1         processes may open each other's memory, and streams wait for flags, with the host; `lost`:
 *                           no flag is ever set; `slow`: closing such memory takes three seconds
 * STC_STANDIN_FLUSH=1       waits for flags can bring in what other devices have written, and must
 * STC_STANDIN_COMPILE=MS    what compiling a PTX takes; it is kept as the driver keeps it, and the log says where, how
 *                           many threads compile, and the first kernel of each
 * STC_STANDIN_OLD=1         it has no libraries, which are CUDA 12's
 * STC_STANDIN_COMPUTE=SEED  it computes after all: new memory is not 0, kernels are run, and what is put into streams
 * is done late, in an order that SEED chooses of those that streams and events allow (libcuda/order.c)
 * STC_STANDIN_AHEAD=N       then the host is no more than N things ahead of the devices when it has put in a kernel:
 *                           it is what is waited for
 * STC_STANDIN_DEAF=N/M+S    then of each M waits for events number N, from 0 on, is left out, behind the first S of all
 *                           (0 if that is not said): a fault to be found
 * STC_STANDIN_BREAK=N       launch number N breaks the context: until all have let it go, allocating, launching and
 *                           waiting fail
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

char contexts[MOST_DEVICES];
Runtime rt;
_Thread_local int current_device;

/* ---------------------------------------------------------------- threads */

static pthread_mutex_t alone = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t *enter(void) { return pthread_mutex_lock(&alone), &alone; }
void leave(pthread_mutex_t **m) { pthread_mutex_unlock(*m); }

/* ---------------------------------------------------------------- log and faults */

void write_line(const char *prefix, const char *line) {
  const char *path = getenv("STC_STANDIN_LOG");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (!f)
    return;
  fprintf(f, "%s%s\n", prefix, line);
  fclose(f);
}

void call(const char *fmt, ...) {
  char line[LINE + 64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  write_line("", line);
}

int fault(const char *fmt, ...) {
  char line[LINE + 64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  fprintf(stderr, "standin: fault: %s\n", line);
  write_line("fault: ", line);
  return INVALID_VALUE;
}

bool to_fail(const char *name) {
  static int done;
  const char *wanted = getenv("STC_STANDIN_FAIL");
  size_t n = strlen(name);
  if (!wanted || strncmp(wanted, name, n) != 0 || (wanted[n] && wanted[n] != '+'))
    return false;
  if (wanted[n] && done < atoi(wanted + n + 1))
    return done++, false;
  return done = 0, true;
}

/* ---------------------------------------------------------------- devices and errors */

int cuInit(unsigned flags) {
  ALONE;
  if (!rt.started)
    begin_to_keep();
  return rt.started = true, flags ? fault("cuInit: flags") : SUCCESS;
}
int cuGetErrorName(int e, const char **name) {
  return *name = e == LAUNCH_FAILED         ? "CUDA_ERROR_LAUNCH_FAILED"
                 : e == CAPTURE_UNSUPPORTED ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                 : e == CAPTURE_INVALIDATED ? "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
                                            : "CUDA_ERROR_INVALID_VALUE",
         SUCCESS;
}
int cuGetErrorString(int e, const char **text) {
  return *text = e == LAUNCH_FAILED ? "unspecified launch failure" : "invalid argument", SUCCESS;
}
/* How many devices there are; is `d` one? */
static int devices(void) {
  const char *n = getenv("STC_STANDIN_DEVICES");
  return n ? atoi(n) < MOST_DEVICES ? atoi(n) : MOST_DEVICES : 1;
}
static bool is_device(int d) { return d >= FIRST_DEVICE && d < FIRST_DEVICE + devices(); }

bool is_context(const void *context) {
  const char *c = context;
  return c >= contexts && c < contexts + MOST_DEVICES;
}

int cuDeviceGetCount(int *n) { return *n = devices(), rt.started ? SUCCESS : NOT_STARTED; }
int cuDeviceGet(int *d, int i) { return *d = FIRST_DEVICE + i, is_device(*d) ? SUCCESS : fault("cuDeviceGet(%d)", i); }

/* What drivers call cards, and their attributes where they are other than those of the table below. */
enum { MOST_OWN = 12 };
typedef struct OwnCard {
  const char *card, *name;
  int own[MOST_OWN][2];
} OwnCard;
static const OwnCard own_cards[] = {
    {"h100", "NVIDIA H100 80GB HBM3", {{16, 132}, {36, 2619000}, {37, 5120}}},
    {"h200", "NVIDIA H200", {{16, 132}}},
    {"a100",
     "NVIDIA A100-SXM4-80GB",
     {{13, 1410000}, {16, 108}, {36, 1593000}, {37, 5120}, {38, 41943040}, {75, 8}, {81, 167936}, {97, 166912}}}};

/* The card that STC_STANDIN_CARD names, NULL if it names none. */
static const OwnCard *own_card(void) {
  const char *card = getenv("STC_STANDIN_CARD");
  for (size_t i = 0; card && i < sizeof own_cards / sizeof *own_cards; i++)
    if (strcmp(own_cards[i].card, card) == 0)
      return &own_cards[i];
  return NULL;
}

int cuDeviceGetName(char *name, int size, int d) {
  const OwnCard *card = own_card();
  snprintf(name, (size_t)size, "%s", card ? card->name : "Stand-in");
  return is_device(d) ? SUCCESS : fault("cuDeviceGetName of no device");
}
int cuDeviceTotalMem_v2(size_t *bytes, int d) {
  return *bytes = (size_t)1 << 30, is_device(d) ? SUCCESS : fault("cuDeviceTotalMem of no device");
}

bool flushes(void) { return getenv("STC_STANDIN_FLUSH") != NULL; }

/* The limits of an sm_90, of 4 cores of 2048 threads or as STC_STANDIN_CORES says. */
int cuDeviceGetAttribute(int *value, int attribute, int d) {
  static const int table[][2] = {{1, 1024},      {2, 1024},    {3, 1024},  {4, 64},       {5, 2147483647}, {6, 65535},
                                 {7, 65535},     {8, 49152},   {10, 32},   {13, 1980000}, {36, 3201000},   {37, 6144},
                                 {38, 52428800}, {16, 4},      {39, 2048}, {75, 9},       {76, 0},         {81, 233472},
                                 {82, 65536},    {97, 232448}, {102, 1}};
  *value = 0;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i][0] == attribute)
      *value = table[i][1];
  const OwnCard *card = own_card();
  for (int i = 0; card && i < MOST_OWN && card->own[i][0]; i++)
    if (card->own[i][0] == attribute)
      *value = card->own[i][1];
  const char *cores = getenv("STC_STANDIN_CORES"), *threads = cores ? strchr(cores, 'x') : NULL;
  if (attribute == 16 && cores)
    *value = atoi(cores);
  if (attribute == 39 && threads)
    *value = atoi(threads + 1);
  if (attribute == 91)
    *value = getenv("STC_STANDIN_IPC") != NULL;
  if (attribute == 98)
    *value = flushes();
  return is_device(d) ? SUCCESS : fault("cuDeviceGetAttribute of no device");
}

int cuDriverGetVersion(int *version) {
  const char *own = getenv("STC_STANDIN_DRIVER");
  return *version = own ? atoi(own) : 13000, SUCCESS;
}

/* Processes that are told so by STC_STANDIN_GPU have another one each. */
int cuDeviceGetUuid(unsigned char id[16], int d) {
  const char *gpu = getenv("STC_STANDIN_GPU");
  memset(id, gpu ? gpu[0] : 0, 16);
  id[15] = (unsigned char)d;
  return is_device(d) ? SUCCESS : fault("cuDeviceGetUuid of no device");
}

int cuDevicePrimaryCtxRetain(void **context, int d) {
  ALONE;
  rt.retained++;
  *context = &contexts[is_device(d) ? d - FIRST_DEVICE : 0];
  return is_device(d) ? SUCCESS : fault("cuDevicePrimaryCtxRetain of no device");
}

int cuDevicePrimaryCtxRelease_v2(int d) {
  ALONE;
  (void)d;
  if (rt.retained == 1)
    rt.broken = false;
  return rt.retained-- > 0 ? SUCCESS : fault("cuDevicePrimaryCtxRelease of what is not retained");
}

int cuCtxSetCurrent(void *context) {
  ALONE;
  current_device = is_context(context) ? (int)((const char *)context - contexts) + 1 : 1;
  return is_context(context) ? SUCCESS : fault("cuCtxSetCurrent of no context");
}

int cuCtxGetDevice(int *d) { return *d = FIRST_DEVICE + current_device - 1, SUCCESS; }

int cuCtxSynchronize(void) {
  call("cuCtxSynchronize");
  if (rt.capturing)
    return fault("cuCtxSynchronize while a stream captures");
  order_await_device();
  return rt.broken || to_fail("cuCtxSynchronize") ? LAUNCH_FAILED : SUCCESS;
}

/* How many things are in use: pieces of memory, modules, events, streams, graphs, holds on the context. */
int standin_live(void) {
  int n = rt.retained;
  for (int i = 0; i < MAX_CAPTORS; i++)
    n += rt.captors[i].used;
  for (int i = 0; i < MAX_ALLOCATIONS; i++)
    n += rt.allocations[i].p != NULL;
  for (int i = 0; i < MAX_PINNED; i++)
    n += rt.pinned[i].p != NULL;
  for (int i = 0; i < MAX_MODULES; i++)
    n += rt.modules[i];
  for (int i = 0; i < MAX_EVENTS; i++)
    n += rt.events[i].used;
  for (int i = 0; i < MAX_STREAMS; i++)
    n += rt.beside[i].used;
  for (int i = 0; i < MAX_GRAPHS; i++)
    n += rt.graphs[i].used;
  return n;
}
