/* modules.c: the kernels that a PTX declares, compiling it, and the kernels' launches, whose arguments are checked
 * against it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/libcuda/code.h"
#include "tests/standin/libcuda/libcuda.h"

/* ---------------------------------------------------------------- modules */

/* Bytes of a parameter of PTX type `t`: "u64 ...", "f32 ...". */
static int type_bytes(const char *t) {
  return strstr(t, "64") == t + 1 ? 8 : strstr(t, "32") == t + 1 ? 4 : strstr(t, "16") == t + 1 ? 2 : 1;
}

/* Is there a wait for the launch ahead in front of all accesses to memory of the kernel whose body begins there? */
static bool waits_first(const char *body) {
  static const char *const accesses[] = {"ld.global", "st.global", "cp.async", "atom."};
  const char *end = strstr(body, "\n}"), *wait = strstr(body, "griddepcontrol.wait");
  for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
    const char *access = strstr(body, accesses[i]);
    if (access && access < wait)
      return false;
  }
  return wait && wait < end;
}

/* Reads one kernel from behind ".entry ". False: the stand-in has no place for more. */
static bool read_kernel(const char *image, const char *s, int module) {
  int at = 0;
  while (at < rt.nkernels && rt.kernels[at].name[0])
    at++;
  if (at == MAX_KERNELS)
    return false;
  if (at == rt.nkernels)
    rt.nkernels++;
  Kernel *k = &rt.kernels[at];
  *k = (Kernel){.module = module};
  snprintf(k->name, sizeof k->name, "%.*s", (int)strcspn(s, "( \n"), s);
  const char *end = strstr(s, "\n)"), *body = strchr(s, '{'), *max = strstr(s, ".maxntid"),
             *cluster = strstr(s, ".reqnctapercluster");
  if (!end || end > body)
    end = strchr(s, ')');
  for (const char *p = strstr(s, ".param ."); p && p < end; p = strstr(p + 1, ".param .")) {
    if (k->nargs == MAX_ARGS)
      return false;
    k->size[k->nargs] = type_bytes(p + 8);
    const char *pointer = strstr(p, ".ptr");
    k->pointer[k->nargs++] = pointer && pointer < p + strcspn(p, "\n");
  }
  if (max && max < body)
    sscanf(max, ".maxntid %u, %u, %u", &k->max[0], &k->max[1], &k->max[2]);
  if (cluster && cluster < body)
    sscanf(cluster, ".reqnctapercluster %u", &k->cluster);
  k->waits = waits_first(body);
  k->code = computes() ? code_read(image, s) : NULL;
  return true;
}

/* ---------------------------------------------------------------- compiling */

/* The folder that compiled PTX is kept in; "": none is. */
static char kept_in[4096];

void begin_to_keep(void) {
  const char *path = getenv("CUDA_CACHE_PATH"), *off = getenv("CUDA_CACHE_DISABLE"),
             *most = getenv("CUDA_CACHE_MAXSIZE");
  if (!getenv("STC_STANDIN_COMPILE"))
    return;
  snprintf(kept_in, sizeof kept_in, "%s", path && !(off && atoi(off)) ? path : "");
  call("cuInit, keeps in %s, at most %s", kept_in[0] ? kept_in : "no folder", most ? most : "what the driver says");
}

/* Is the PTX compiled, by this process or one before? From now on it is. */
static bool is_kept(const char *ptx) {
  char path[5000];
  unsigned long long hash = 14695981039346656037u;
  for (const char *s = ptx; *s; s++)
    hash = (hash ^ (unsigned char)*s) * 1099511628211u;
  snprintf(path, sizeof path, "%s/%llx", kept_in, hash & 15);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/%llx/%016llx", kept_in, hash & 15, hash);
  FILE *f = kept_in[0] ? fopen(path, "wx") : NULL;
  if (!f)
    return kept_in[0] && access(path, R_OK) == 0;
  fprintf(f, "%s", ptx);
  fclose(f);
  return false;
}

/* Takes as long as compiling does, if that is asked for, and logs how many threads are at it, and the first kernel. */
static void compile(const char *ptx) {
  static atomic_int busy;
  const char *ms = getenv("STC_STANDIN_COMPILE");
  if (!ms || is_kept(ptx))
    return;
  struct timespec t = {atoi(ms) / 1000, atoi(ms) % 1000 * 1000000L};
  const char *entry = strstr(ptx, ".entry "), *name = entry ? entry + strlen(".entry ") : "";
  call("compiles by %d: %.*s", atomic_fetch_add(&busy, 1) + 1, (int)strcspn(name, "( \n"), name);
  nanosleep(&t, NULL);
  atomic_fetch_sub(&busy, 1);
}

/* Makes a module of it in the current context, for `who`. */
static int new_module(const char *who, const char *image, void **module) {
  int i = 0;
  while (i < MAX_MODULES && rt.modules[i])
    i++;
  if (i == MAX_MODULES || !current_device)
    return fault("%s without a context", who);
  if (rt.capturing)
    return fault("%s while launches are captured", who);
  if (memcmp(image, "\177ELF", 4) == 0)
    return 200;
  if (!strstr(image, ".version"))
    return fault("%s: no PTX", who);
  for (const char *s = strstr(image, ".entry "); s; s = strstr(s + 1, ".entry "))
    if (!read_kernel(image, s + 7, i))
      return fault("more kernels, or more of their arguments, than the stand-in keeps");
  rt.modules[i] = current_device;
  *module = &rt.modules[i];
  return SUCCESS;
}

/* As the driver does, one after the other. */
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
  static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&compiling);
  compile(image);
  pthread_mutex_unlock(&compiling);
  ALONE;
  (void)n, (void)options, (void)values;
  call("cuModuleLoadDataEx: %zu bytes", strlen(image));
  return new_module("cuModuleLoadDataEx", image, module);
}

/* Unloads a module for `who`. */
static int drop_module(const char *who, int *m) {
  for (int g = 0; g < MAX_GRAPHS; g++)
    if (rt.graphs[g].used && rt.graphs[g].has[m - rt.modules])
      return fault("%s while a graph of its kernels is there", who);
  order_await_all();
  *m = 0;
  for (int i = 0; i < rt.nkernels; i++)
    if (&rt.modules[rt.kernels[i].module] == m && rt.kernels[i].name[0]) {
      rt.kernels[i].name[0] = 0;
      code_free(rt.kernels[i].code);
      rt.kernels[i].code = NULL;
    }
  while (rt.nkernels && !rt.kernels[rt.nkernels - 1].name[0])
    rt.nkernels--;
  return SUCCESS;
}

/* ---------------------------------------------------------------- libraries */

/* Code, which is of no context (NULL: there is no such library), and what it is by device. */
typedef struct Library {
  char *code;
  void *modules[MOST_DEVICES + 1];
} Library;
static Library libraries[MAX_MODULES];

/* Is loading libraries what is to fail? */
static bool lacks_libraries(void) {
  ALONE;
  return getenv("STC_STANDIN_OLD") || to_fail("cuLibraryLoadData");
}

/* Compiles beside others. */
int cuLibraryLoadData(void **library, const void *code, int *options, void **values, unsigned n, int *own,
                      void **own_values, unsigned m) {
  (void)options, (void)values, (void)own, (void)own_values;
  if (lacks_libraries())
    return NOT_SUPPORTED;
  if (n || m || memcmp(code, "\177ELF", 4) == 0)
    return fault("cuLibraryLoadData with options, or of what is no PTX");
  compile(code);
  ALONE;
  int i = 0;
  while (i < MAX_MODULES && libraries[i].code)
    i++;
  call("cuLibraryLoadData: %zu bytes", strlen(code));
  if (i == MAX_MODULES)
    return fault("more libraries than the stand-in keeps");
  libraries[i] = (Library){.code = strdup(code)};
  *library = &libraries[i];
  return libraries[i].code ? SUCCESS : OUT_OF_MEMORY;
}

/* Is it one that was loaded? */
static bool is_library(const Library *l) { return l >= libraries && l < libraries + MAX_MODULES && l->code; }

int cuLibraryGetModule(void **module, void *library) {
  ALONE;
  Library *l = library;
  if (!is_library(l))
    return fault("cuLibraryGetModule of what was not loaded");
  if (to_fail("cuLibraryGetModule"))
    return NOT_FOUND;
  void **known = &l->modules[current_device];
  int e = *known ? SUCCESS : new_module("cuLibraryGetModule", l->code, known);
  return *module = *known, e;
}

int cuLibraryUnload(void *library) {
  ALONE;
  Library *l = library;
  int e = is_library(l) ? SUCCESS : fault("cuLibraryUnload of what was not loaded");
  for (int i = 0; i <= MOST_DEVICES && !e; i++)
    e = l->modules[i] ? drop_module("cuLibraryUnload", l->modules[i]) : SUCCESS;
  if (!e) {
    free(l->code);
    *l = (Library){0};
    call("cuLibraryUnload");
  }
  return e;
}

int cuModuleUnload(void *module) {
  ALONE;
  int *m = module;
  if (m < rt.modules || m >= rt.modules + MAX_MODULES || !*m)
    return fault("cuModuleUnload of what was not loaded");
  for (int i = 0; i < MAX_MODULES; i++)
    for (int d = 0; d <= MOST_DEVICES; d++)
      if (libraries[i].modules[d] == module)
        return fault("cuModuleUnload of a library's");
  return drop_module("cuModuleUnload", m);
}

int cuModuleGetFunction(void **f, void *module, const char *name) {
  ALONE;
  for (int i = 0; i < rt.nkernels; i++)
    if (&rt.modules[rt.kernels[i].module] == module && strcmp(rt.kernels[i].name, name) == 0)
      return *f = &rt.kernels[i], SUCCESS;
  return NOT_FOUND;
}

int cuFuncSetAttribute(void *f, int attribute, int value) { return (void)f, (void)attribute, (void)value, SUCCESS; }
int cuFuncLoad(void *f) {
  const Kernel *k = f;
  if (k < rt.kernels || k >= rt.kernels + rt.nkernels || rt.modules[k->module] != current_device)
    return fault("cuFuncLoad of what is not loaded in the current context");
  return call("loads %s", k->name), SUCCESS;
}
int cuFuncGetAttribute(int *value, int attribute, void *f) {
  return (void)f, *value = attribute == 4 ? 40 : 0, SUCCESS;
}

/* ---------------------------------------------------------------- launches */

bool describe(const Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args,
              char *line, size_t size) {
  int n = snprintf(line, size, "launch %s grid %u %u %u block %u %u %u shared %u", k->name, grid[0], grid[1], grid[2],
                   block[0], block[1], block[2], shared);
  for (int i = 0; i < 3; i++)
    if (!grid[i] || !block[i] || (k->max[i] && block[i] > k->max[i]) || (i && grid[i] > 65535))
      return fault("%s: grid or block", k->name), false;
  if (k->cluster && grid[0] % k->cluster)
    return fault("%s: a grid of %u blocks along x, which is not of whole clusters of %u", k->name, grid[0], k->cluster),
           false;
  for (int i = 0; i < k->nargs; i++) {
    uint64_t v = 0;
    memcpy(&v, args[i], (size_t)k->size[i]);
    if (k->pointer[i] && !find(v, 1))
      return fault("%s: argument %d is no pointer from cuMemAlloc", k->name, i), false;
    int which = -1;
    for (int a = 0; a < MAX_ALLOCATIONS && k->pointer[i]; a++)
      if (rt.allocations[a].p == (char *)(uintptr_t)v)
        which = a;
    n += k->pointer[i] ? snprintf(line + n, size - (size_t)n, " @%d", which)
                       : snprintf(line + n, size - (size_t)n, " %llx", (unsigned long long)v);
  }
  return true;
}

/* A launch beside the one before, which it need not wait for, but for all before that, or beside those in other such
 * streams. */
static int launch_beside(Stream *s, const char *line, Node *node) {
  char beside[LINE + 8];
  if (s->seen < rt.front[current_device] - 1 && s->current == current_device)
    return free(node), fault("%s: does not wait for what was launched before", line);
  if (rt.capturing && !s->capture.in)
    return free(node), fault("%s: beside what is captured", line);
  s->open = true;
  rt.follows = false;
  note_capture(s);
  snprintf(beside, sizeof beside, "beside %s", line);
  return keep_launch(beside, node);
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **args, void **extra) {
  ALONE;
  const Kernel *k = f;
  char line[LINE];
  unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  for (time_t since = time(NULL); getenv("STC_STANDIN_HANG") && time(NULL) - since < 600;)
    ;
  if (getenv("STC_STANDIN_BREAK") && ++rt.launches == atoi(getenv("STC_STANDIN_BREAK")))
    rt.broken = true;
  if (rt.broken || to_fail("cuLaunchKernel"))
    return LAUNCH_FAILED;
  if (k < rt.kernels || k >= rt.kernels + rt.nkernels || extra)
    return fault("launch of what cuModuleGetFunction did not give");
  if (rt.modules[k->module] != current_device)
    return fault("launch of a kernel of another context than the current one");
  if (!describe(k, grid, block, shared, args, line, sizeof line - 5))
    return INVALID_VALUE;
  if (computes() && !k->code)
    return fault("%s: the stand-in cannot compute it", k->name);
  if (beside_stream(stream)) {
    int number = rt.capturing ? rt.captured->n : 0,
        e = launch_beside(stream, line, new_node(f, grid, block, shared, args));
    return e ? e : (order_launch(stream, f, grid, block, shared, args, number), SUCCESS);
  }
  if (!is_main(stream) && (!rt.capturing || !captor(stream) || !captor(stream)->capture.in))
    return fault("%s: a stream that does not capture", k->name);
  if (is_main(stream) && rt.capturing)
    return fault("%s: launched beside the capture", k->name);
  if (is_open())
    return fault("%s: does not wait for what was launched beside others", k->name);
  rt.front[current_device]++;
  rt.follows = rt.capturing;
  note_capture(stream);
  if (stream == &standin_stream)
    memmove(line + 5, line, strlen(line) + 1), memcpy(line, "user ", 5);
  order_launch(stream, f, grid, block, shared, args, rt.capturing ? rt.captured->n : 0);
  return keep_launch(line, new_node(f, grid, block, shared, args));
}

/* CUlaunchAttribute, CUlaunchConfig. */
typedef struct Attribute {
  int id, unused, value, more[15];
} Attribute;
typedef struct Config {
  unsigned grid[3], block[3], shared;
  void *stream;
  Attribute *attributes;
  unsigned n;
} Config;

/* Launches that begin early alone: kernels must wait, and what is ahead must be a launch in the same capture. */
int cuLaunchKernelEx(const Config *c, void *f, void **args, void **extra) {
  ALONE;
  const Kernel *k = f;
  if (c->n != 1 || c->attributes->id != 6 || c->attributes->value != 1)
    return fault("cuLaunchKernelEx: attributes");
  if (!k->waits)
    return fault("%s: launched early, and does not wait", k->name);
  if (!rt.follows)
    return fault("%s: launched early behind what is no launch", k->name);
  call("early launch of %s", k->name);
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
                        c->stream, args, extra);
}
