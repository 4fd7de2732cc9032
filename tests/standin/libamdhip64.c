/* tests/standin/libamdhip64.c: stands in for AMD's HIP runtime where there is no AMD GPU. It computes nothing: memory
 * is 0 until it is copied to. It checks the order of the
 * calls and their arguments, a launch's against the code object's own metadata: size and layout of the kernarg
 * segment, pointers, block,
 * shared bytes. A mistake makes the call fail with hipErrorInvalidValue and writes a line "fault: ..." to stderr and
 * to the log.
 *
 * STC_STANDIN_LOG=FILE      where a line for each call is appended
 * STC_STANDIN_DEVICES=N     how many GPUs there are (default 1)
 * STC_STANDIN_MEMORY=BYTES  memory of each (default 1 GiB)
 * STC_STANDIN_ARCH=NAME     their architecture (default gfx90a:sramecc+:xnack-)
 * STC_STANDIN_FAIL=CALL     the call that fails with error 719, for example hipModuleLaunchKernel
 */
#include <elf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
enum {
  MAX_ALLOCATIONS = 64,
  MAX_KERNELS = 32,
  MAX_MODULES = 4,
  MAX_ARGS = 32,
  MAX_EVENTS = 8,
  NT_AMDGPU_METADATA = 32
};

/* An argument as the metadata describes it. */
typedef struct Arg {
  uint64_t offset, size;
  bool pointer, hidden;
} Arg;
/* A kernel as the metadata describes it. */
typedef struct Kernel {
  char name[128], symbol[136];
  uint64_t kernarg_size, group_size, max_flat;
  int nargs;
  Arg args[MAX_ARGS];
} Kernel;
/* What was loaded, and its kernels. */
typedef struct Loaded {
  bool used;
  int nkernels;
  Kernel kernels[MAX_KERNELS];
} Loaded;
/* Memory handed out. */
typedef struct Allocation {
  char *p;
  size_t size;
} Allocation;
/* A stream for launches beside others, or for copies to the host. It has waited for the first `seen` of the launches in
 * the main one, and for the first `copies` of the copies within the device; of its own launches the main one has waited
 * for the first `joined`. */
typedef struct Stream {
  bool used;
  int seen, copies, launches, joined;
} Stream;
/* An event: whether it was recorded, in stream `beside` after `launches` of its launches, or in the main one (NULL)
 * after `front` launches; `open`: that had not waited for all that was beside them. */
typedef struct Event {
  bool used, recorded, open;
  Stream *beside;
  int front, copies, launches;
} Event;
/* A copy to the host in the other stream, made when somebody waits for an event there; `copies`: of those within the
 * device the last that went to where it comes from. */
typedef struct Out {
  void *to;
  const void *from;
  size_t size;
} Out;
enum { MAX_OUT = 16, MAX_STREAMS = 16 };

/* The one device there is, in the state that the calls have brought it to. */
static struct {
  int device;
  bool counted, set;
  int copies; /* within the device */
  Stream streams[MAX_STREAMS];
  void *pinned[MAX_OUT];
  Out outs[MAX_OUT];
  int front; /* launches but those beside others */
  Loaded modules[MAX_MODULES];
  Loaded *reading; /* the one whose metadata is read */
  Allocation allocations[MAX_ALLOCATIONS];
  Event events[MAX_EVENTS];
  int launches_since_sync;
} rt = {.device = -1};

/* ---------------------------------------------------------------- log and faults */

/* Appends a line to the log. */
static void vlog(const char *prefix, const char *fmt, va_list ap) {
  const char *path = getenv("STC_STANDIN_LOG");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (!f)
    return;
  fputs(prefix, f);
  vfprintf(f, fmt, ap);
  fputc('\n', f);
  fclose(f);
}

/* Logs a call. */
__attribute__((format(printf, 1, 2))) static void call(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vlog("", fmt, ap);
  va_end(ap);
}

/* Reports a mistake of the caller. */
__attribute__((format(printf, 1, 2))) static int fault(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("standin: fault: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  va_start(ap, fmt);
  vlog("fault: ", fmt, ap);
  va_end(ap);
  return INVALID_VALUE;
}

/* Is this call to fail? */
static bool to_fail(const char *name) {
  const char *s = getenv("STC_STANDIN_FAIL");
  return s && strcmp(s, name) == 0;
}

/* A number from the environment. */
static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *s = getenv(name);
  return s ? strtoull(s, NULL, 0) : otherwise;
}

/* ---------------------------------------------------------------- msgpack, as far as the metadata uses it */

/* What is left of the message. */
typedef struct Reader {
  const uint8_t *p, *end;
  bool bad;
} Reader;
/* A value's head: for maps and arrays n is the number of entries, for strings s and n its bytes. */
typedef struct Item {
  enum { NOTHING, INTEGER, STRING, ARRAY, MAP } kind;
  uint64_t n;
  const char *s;
} Item;

/* A big-endian number of `size` bytes. */
static uint64_t number(Reader *r, int size) {
  uint64_t v = 0;
  if (r->end - r->p < size)
    return r->bad = true, 0;
  while (size-- > 0)
    v = v << 8 | *r->p++;
  return v;
}

/* A string of n bytes. */
static Item string(Reader *r, uint64_t n) {
  Item i = {STRING, n, (const char *)r->p};
  if ((uint64_t)(r->end - r->p) < n)
    return r->bad = true, (Item){NOTHING, 0, NULL};
  r->p += n;
  return i;
}

/* The next value's head. */
static Item item(Reader *r) {
  unsigned b = (unsigned)number(r, 1);
  if (r->bad)
    return (Item){NOTHING, 0, NULL};
  if (b < 0x80)
    return (Item){INTEGER, b, NULL};
  if (b < 0x90)
    return (Item){MAP, b & 15, NULL};
  if (b < 0xa0)
    return (Item){ARRAY, b & 15, NULL};
  if (b < 0xc0)
    return string(r, b & 31);
  if (b >= 0xe0)
    return (Item){INTEGER, (uint64_t)(int8_t)b, NULL};
  switch (b) {
  case 0xc0: return (Item){NOTHING, 0, NULL};
  case 0xc2:
  case 0xc3: return (Item){INTEGER, b & 1, NULL};
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf: return (Item){INTEGER, number(r, 1 << (b - 0xcc)), NULL};
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3: return (Item){INTEGER, number(r, 1 << (b - 0xd0)), NULL};
  case 0xd9:
  case 0xda:
  case 0xdb: return string(r, number(r, 1 << (b - 0xd9)));
  case 0xdc:
  case 0xdd: return (Item){ARRAY, number(r, 2 << (b - 0xdc)), NULL};
  case 0xde:
  case 0xdf: return (Item){MAP, number(r, 2 << (b - 0xde)), NULL};
  default: r->bad = true; return (Item){NOTHING, 0, NULL};
  }
}

/* Skips one value with all in it. */
static void skip(Reader *r) {
  Item i = item(r);
  uint64_t n = i.kind == MAP ? 2 * i.n : i.kind == ARRAY ? i.n : 0;
  while (n-- > 0 && !r->bad)
    skip(r);
}

/* Is the string item equal to `s`? */
static bool is(const Item *i, const char *s) {
  return i->kind == STRING && i->n == strlen(s) && memcmp(i->s, s, i->n) == 0;
}

/* Copies a string item. */
static void copy(char *to, size_t size, Item i) {
  snprintf(to, size, "%.*s", i.kind == STRING ? (int)i.n : 0, i.kind == STRING ? i.s : "");
}

/* One argument's map. */
static void read_arg(Reader *r, Kernel *k) {
  Arg a = {0};
  for (uint64_t n = item(r).n; n > 0 && !r->bad; n--) {
    Item key = item(r);
    if (is(&key, ".offset"))
      a.offset = item(r).n;
    else if (is(&key, ".size"))
      a.size = item(r).n;
    else if (is(&key, ".value_kind")) {
      Item v = item(r);
      a.pointer = is(&v, "global_buffer");
      a.hidden = v.n > 7 && memcmp(v.s, "hidden_", 7) == 0;
    } else
      skip(r);
  }
  if (k->nargs < MAX_ARGS)
    k->args[k->nargs++] = a;
}

/* One kernel's map. */
static void read_kernel(Reader *r) {
  Kernel k = {0};
  for (uint64_t n = item(r).n; n > 0 && !r->bad; n--) {
    Item key = item(r);
    if (is(&key, ".name"))
      copy(k.name, sizeof k.name, item(r));
    else if (is(&key, ".symbol"))
      copy(k.symbol, sizeof k.symbol, item(r));
    else if (is(&key, ".kernarg_segment_size"))
      k.kernarg_size = item(r).n;
    else if (is(&key, ".group_segment_fixed_size"))
      k.group_size = item(r).n;
    else if (is(&key, ".max_flat_workgroup_size"))
      k.max_flat = item(r).n;
    else if (is(&key, ".args"))
      for (uint64_t i = item(r).n; i > 0 && !r->bad; i--)
        read_arg(r, &k);
    else
      skip(r);
  }
  if (rt.reading->nkernels < MAX_KERNELS)
    rt.reading->kernels[rt.reading->nkernels++] = k;
}

/* The metadata: a map whose entry amdhsa.kernels is what matters. */
static bool read_metadata(const uint8_t *p, size_t size) {
  Reader r = {p, p + size, false};
  for (uint64_t n = item(&r).n; n > 0 && !r.bad; n--) {
    Item key = item(&r);
    if (is(&key, "amdhsa.kernels"))
      for (uint64_t i = item(&r).n; i > 0 && !r.bad; i--)
        read_kernel(&r);
    else
      skip(&r);
  }
  return !r.bad;
}

/* Finds the AMDGPU note in an ELF image. */
static bool read_image(const char *image) {
  Elf64_Ehdr h;
  memcpy(&h, image, sizeof h);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_machine != 224)
    return false;
  for (int i = 0; i < h.e_shnum; i++) {
    Elf64_Shdr s;
    memcpy(&s, image + h.e_shoff + (size_t)i * h.e_shentsize, sizeof s);
    for (size_t at = 0; s.sh_type == SHT_NOTE && at + sizeof(Elf64_Nhdr) <= s.sh_size;) {
      Elf64_Nhdr n;
      memcpy(&n, image + s.sh_offset + at, sizeof n);
      const char *name = image + s.sh_offset + at + sizeof n, *desc = name + (n.n_namesz + 3) / 4 * 4;
      if (n.n_type == NT_AMDGPU_METADATA && n.n_namesz == 7 && memcmp(name, "AMDGPU", 7) == 0)
        return read_metadata((const uint8_t *)desc, n.n_descsz);
      at += sizeof n + (n.n_namesz + 3) / 4 * 4 + (n.n_descsz + 3) / 4 * 4;
    }
  }
  return false;
}

/* ---------------------------------------------------------------- device and memory */

const char *hipGetErrorString(int e) {
  return e == OUT_OF_MEMORY   ? "out of memory"
         : e == NO_DEVICE     ? "no ROCm-capable device is detected"
         : e == NOT_FOUND     ? "named symbol not found"
         : e == LAUNCH_FAILED ? "unspecified launch failure"
         : e == INVALID_VALUE ? "invalid argument"
                              : "unknown error";
}

int hipGetDeviceCount(int *n) {
  *n = (int)setting("STC_STANDIN_DEVICES", 1);
  rt.counted = true;
  return *n == 0 ? NO_DEVICE : SUCCESS;
}

int hipSetDevice(int i) {
  call("hipSetDevice %d", i);
  if (!rt.counted)
    return fault("hipSetDevice before hipGetDeviceCount");
  if (i < 0 || (uint64_t)i >= setting("STC_STANDIN_DEVICES", 1))
    return fault("hipSetDevice(%d): no such device", i);
  rt.device = i;
  rt.set = true;
  return SUCCESS;
}

int hipDeviceGetName(char *name, int size, int i) {
  snprintf(name, (size_t)size, "Stand-in %d", i);
  return SUCCESS;
}

int hipDeviceGetAttribute(int *value, int attribute, int i) {
  (void)i;
  switch (attribute) {
  case 26:
  case 27:
  case 28:
  case 56: *value = 1024; return SUCCESS;
  case 29: *value = 2147483647; return SUCCESS;
  case 30:
  case 31: *value = 65535; return SUCCESS;
  case 57: *value = 2048; return SUCCESS;
  case 5: *value = 1700000; return SUCCESS;
  case 19: *value = 8388608; return SUCCESS;
  case 63: *value = 104; return SUCCESS;
  case 74: *value = 65536; return SUCCESS;
  case 87: *value = 64; return SUCCESS;
  default: return fault("hipDeviceGetAttribute(%d): not an attribute the stand-in knows", attribute);
  }
}

int hipDeviceTotalMem(size_t *bytes, int i) {
  (void)i;
  *bytes = setting("STC_STANDIN_MEMORY", UINT64_C(1) << 30);
  return SUCCESS;
}

/* Bytes handed out now. */
static size_t memory_used(void) {
  size_t n = 0;
  for (int i = 0; i < MAX_ALLOCATIONS; i++)
    n += rt.allocations[i].p ? rt.allocations[i].size : 0;
  return n;
}

int hipMemGetInfo(size_t *left, size_t *total) {
  hipDeviceTotalMem(total, 0);
  *left = *total - memory_used();
  return SUCCESS;
}

/* The properties of ROCm 5: 792 bytes, gcnArchName at 396. */
int hipGetDeviceProperties(void *p, int i) {
  const char *arch = getenv("STC_STANDIN_ARCH");
  (void)i;
  memset(p, 0, 792);
  snprintf(p, 256, "Stand-in");
  snprintf((char *)p + 396, 256, "%s", arch ? arch : "gfx90a:sramecc+:xnack-");
  return SUCCESS;
}

int hipMalloc(void **p, size_t size) {
  if (!rt.set)
    return fault("hipMalloc before hipSetDevice");
  if (size == 0)
    return fault("hipMalloc(0)");
  size_t left, total;
  hipMemGetInfo(&left, &total);
  call("hipMalloc %zu", size);
  for (int i = 0; i < MAX_ALLOCATIONS && size <= left; i++) {
    if (rt.allocations[i].p)
      continue;
    rt.allocations[i] = (Allocation){calloc(1, size), size};
    *p = rt.allocations[i].p;
    return *p ? SUCCESS : OUT_OF_MEMORY;
  }
  return OUT_OF_MEMORY;
}

/* The allocation that begins at p, or NULL. */
static Allocation *find(const void *p) {
  for (int i = 0; p && i < MAX_ALLOCATIONS; i++)
    if (rt.allocations[i].p == p)
      return &rt.allocations[i];
  return NULL;
}

int hipFree(void *p) {
  Allocation *a = find(p);
  call("hipFree");
  if (!a)
    return fault("hipFree of what hipMalloc did not give");
  free(a->p);
  a->p = NULL;
  return SUCCESS;
}

int hipMemcpyHtoD(void *to, const void *from, size_t size) {
  Allocation *a = find(to);
  call("hipMemcpyHtoD %zu", size);
  if (!a || size > a->size)
    return fault("hipMemcpyHtoD of %zu bytes to memory of %zu", size, a ? a->size : 0);
  memcpy(to, from, size);
  return SUCCESS;
}

int hipMemcpyDtoH(void *to, const void *from, size_t size) {
  Allocation *a = find(from);
  call("hipMemcpyDtoH %zu", size);
  if (!a || size > a->size)
    return fault("hipMemcpyDtoH of %zu bytes from memory of %zu", size, a ? a->size : 0);
  memcpy(to, from, size);
  return SUCCESS;
}

/* The allocation that `size` bytes from p on lie in, or NULL. */
static Allocation *find_around(const char *p, size_t size) {
  for (int i = 0; p && i < MAX_ALLOCATIONS; i++) {
    Allocation *a = &rt.allocations[i];
    if (a->p && p >= a->p && p < a->p + a->size && size <= (size_t)(a->p + a->size - p))
      return a;
  }
  return NULL;
}

/* The caller's stream, in place of the default one. */
char standin_stream;
#define MAIN(stream) ((stream) == &standin_stream ? NULL : (stream))

/* The stream that was made which `stream` is, or NULL. */
static Stream *made(const void *stream) {
  for (int i = 0; i < MAX_STREAMS; i++)
    if (stream == &rt.streams[i] && rt.streams[i].used)
      return &rt.streams[i];
  return NULL;
}

/* Is there a launch beside others that the main stream has not waited for? */
static bool is_open(void) {
  bool open = false;
  for (int i = 0; i < MAX_STREAMS; i++)
    open |= rt.streams[i].launches > rt.streams[i].joined;
  return open;
}

int hipStreamSynchronize(void *stream) {
  call("hipStreamSynchronize");
  return MAIN(stream) ? fault("hipStreamSynchronize of no stream of the caller's") : SUCCESS;
}

int hipMemcpyDtoDAsync(void *to, const void *from, size_t size, void *stream) {
  call("hipMemcpyDtoDAsync %zu", size);
  if (MAIN(stream))
    return fault("hipMemcpyDtoDAsync: a stream that was not made");
  if (!find_around(to, size) || !find_around(from, size))
    return fault("hipMemcpyDtoDAsync of %zu bytes beyond memory from hipMalloc", size);
  if ((char *)to < (const char *)from + size && (const char *)from < (char *)to + size)
    return fault("hipMemcpyDtoDAsync of %zu bytes onto themselves", size);
  for (int i = 0; i < MAX_OUT; i++)
    if (rt.outs[i].from == to)
      return fault("hipMemcpyDtoDAsync over what is on its way out");
  memcpy(to, from, size);
  rt.copies++;
  return SUCCESS;
}

/* Memory of the host that the device copies to by itself. It holds nonsense until a copy is there. */
int hipHostMalloc(void **p, size_t size, unsigned flags) {
  for (int i = 0; i < MAX_OUT && size && !flags; i++)
    if (!rt.pinned[i]) {
      *p = rt.pinned[i] = aligned_alloc(4096, (size / 4096 + 1) * 4096);
      return memset(*p, 0x5a, size), SUCCESS;
    }
  return OUT_OF_MEMORY;
}

int hipHostFree(void *p) {
  for (int i = 0; i < MAX_OUT; i++)
    if (p && rt.pinned[i] == p)
      return free(p), rt.pinned[i] = NULL, SUCCESS;
  return fault("hipHostFree of what hipHostMalloc did not give");
}

int hipMemcpyDtoHAsync(void *to, const void *from, size_t size, void *stream) {
  call("hipMemcpyDtoHAsync %zu", size);
  if (!made(stream) || !find_around(from, size))
    return fault("hipMemcpyDtoHAsync of %zu bytes", size);
  if (made(stream)->copies < rt.copies)
    return fault("hipMemcpyDtoHAsync does not wait for what is copied there");
  for (int i = 0; i < MAX_OUT; i++)
    if (!rt.outs[i].from)
      return rt.outs[i] = (Out){to, from, size}, SUCCESS;
  return fault("more copies to the host than the stand-in keeps");
}

int hipMemsetAsync(void *to, int value, size_t size, void *stream) {
  call("hipMemsetAsync %zu", size);
  if (MAIN(stream) || !find_around(to, size))
    return fault("hipMemsetAsync of %zu bytes", size);
  memset(to, value, size);
  return SUCCESS;
}

/* The attributes begin with a type, a device, and the addresses there and on the host. */
int hipPointerGetAttributes(void *attributes, const void *p) {
  struct {
    int type, device;
    const void *on_device, *on_host;
  } a = {2, 0, p, NULL};
  if (!find_around(p, 1))
    return INVALID_VALUE;
  memcpy(attributes, &a, sizeof a);
  return SUCCESS;
}

int hipGetLastError(void) { return SUCCESS; }

/* ---------------------------------------------------------------- modules */

int hipModuleLoadData(void **module, const void *image) {
  call("hipModuleLoadData");
  if (!rt.set)
    return fault("hipModuleLoadData before hipSetDevice");
  for (int i = 0; i < MAX_MODULES; i++) {
    if (rt.modules[i].used)
      continue;
    rt.reading = &rt.modules[i];
    *rt.reading = (Loaded){.used = true};
    *module = rt.reading;
    if (read_image(image))
      return SUCCESS;
    rt.reading->used = false;
    return fault("hipModuleLoadData: no AMDGPU code object with metadata");
  }
  return fault("hipModuleLoadData: more modules than the stand-in keeps");
}

/* Module `m` if it is loaded, else NULL. */
static Loaded *loaded(void *m) {
  for (int i = 0; i < MAX_MODULES; i++)
    if (m == &rt.modules[i] && rt.modules[i].used)
      return m;
  return NULL;
}

/* Is `k` a kernel of a module that is loaded? */
static bool is_kernel(const Kernel *k) {
  for (int i = 0; i < MAX_MODULES; i++) {
    const Loaded *m = &rt.modules[i];
    if (m->used && k >= m->kernels && k < m->kernels + m->nkernels)
      return true;
  }
  return false;
}

int hipModuleUnload(void *module) {
  call("hipModuleUnload");
  if (!loaded(module))
    return fault("hipModuleUnload of what was not loaded");
  loaded(module)->used = false;
  return SUCCESS;
}

int hipModuleGetFunction(void **f, void *module, const char *name) {
  call("hipModuleGetFunction %s", name);
  Loaded *m = loaded(module);
  if (!m)
    return fault("hipModuleGetFunction of a module that is not loaded");
  for (int i = 0; i < m->nkernels; i++)
    if (strcmp(m->kernels[i].name, name) == 0)
      return *f = &m->kernels[i], SUCCESS;
  return NOT_FOUND;
}

int hipFuncGetAttribute(int *value, int attribute, void *f) {
  const Kernel *k = f;
  if (!is_kernel(k))
    return fault("hipFuncGetAttribute of what hipModuleGetFunction did not give");
  *value = attribute == 1 ? (int)k->group_size : attribute == 4 ? 32 : 0;
  return SUCCESS;
}

/* Checks the kernarg bytes against the metadata. */
static int check_kernarg(const Kernel *k, const char *bytes, size_t size) {
  uint64_t end = 0;
  for (int i = 0; i < k->nargs; i++) {
    const Arg *a = &k->args[i];
    if (a->hidden)
      return fault("%s: argument %d is hidden: a plain launcher cannot fill it", k->name, i);
    if (a->offset < end)
      return fault("%s: argument %d overlaps the one before it", k->name, i);
    end = a->offset + a->size;
    if (end > size)
      return fault("%s: argument %d ends at byte %llu, but %zu were given", k->name, i, (unsigned long long)end, size);
    void *p = NULL;
    if (a->pointer)
      memcpy(&p, bytes + a->offset, sizeof p);
    if (a->pointer && !find(p))
      return fault("%s: argument %d is no pointer from hipMalloc", k->name, i);
  }
  if (size > k->kernarg_size || size < end)
    return fault("%s: %zu kernarg bytes given, %llu in the metadata", k->name, size,
                 (unsigned long long)k->kernarg_size);
  return SUCCESS;
}

int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **args, void **extra) {
  const Kernel *k = f;
  bool user = stream == &standin_stream;
  stream = MAIN(stream);
  if (to_fail("hipModuleLaunchKernel"))
    return LAUNCH_FAILED;
  if (!is_kernel(k))
    return fault("launch of what hipModuleGetFunction did not give");
  if (stream && !made(stream))
    return fault("%s: a stream that was not made", k->name);
  if (stream && made(stream)->seen < rt.front - 1)
    return fault("%s: does not wait for what was launched before", k->name);
  if (!stream && is_open())
    return fault("%s: does not wait for what was launched beside others", k->name);
  *(stream ? &made(stream)->launches : &rt.front) += 1;
  if (args || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3)
    return fault("%s: arguments are not given as one buffer with its size", k->name);
  size_t size;
  memcpy(&size, extra[3], sizeof size);
  const unsigned char *bytes = extra[1];
  char hex[513] = "";
  for (size_t i = 0; i < size && i < 256; i++)
    snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
  call("%slaunch %s grid %u %u %u block %u %u %u shared %u kernarg %zu %s",
       stream ? "beside "
       : user ? "user "
              : "",
       k->name, gx, gy, gz, bx, by, bz, shared, size, hex);
  uint64_t threads = (uint64_t)bx * by * bz;
  if (!gx || !gy || !gz || gy > 65535 || gz > 65535)
    return fault("%s: grid %u x %u x %u", k->name, gx, gy, gz);
  if (threads == 0 || threads > k->max_flat)
    return fault("%s: %llu threads a block, %llu in the metadata", k->name, (unsigned long long)threads,
                 (unsigned long long)k->max_flat);
  if (shared + k->group_size > 65536)
    return fault("%s: %u dynamic and %llu static bytes of shared memory", k->name, shared,
                 (unsigned long long)k->group_size);
  rt.launches_since_sync++;
  return check_kernarg(k, extra[1], size);
}

int hipDeviceSynchronize(void) {
  rt.launches_since_sync = 0;
  return to_fail("hipDeviceSynchronize") ? LAUNCH_FAILED : SUCCESS;
}

/* ---------------------------------------------------------------- events */

int hipEventCreateWithFlags(void **e, unsigned flags) {
  if (flags & ~2u)
    return fault("hipEventCreateWithFlags");
  for (int i = 0; i < MAX_EVENTS; i++)
    if (!rt.events[i].used) {
      rt.events[i] = (Event){.used = true};
      *e = &rt.events[i];
      return SUCCESS;
    }
  return OUT_OF_MEMORY;
}

/* Is it an event that was made? */
static bool event(void *e) {
  return (Event *)e >= rt.events && (Event *)e < rt.events + MAX_EVENTS && ((Event *)e)->used;
}

int hipEventDestroy(void *e) {
  if (!event(e))
    return fault("hipEventDestroy of no event");
  ((Event *)e)->used = false;
  return SUCCESS;
}

int hipEventRecord(void *e, void *stream) {
  stream = MAIN(stream);
  Stream *s = made(stream);
  if (!event(e) || (stream && !s))
    return fault("hipEventRecord of no event, or into another stream");
  *(Event *)e = (Event){true, true, !s && is_open(), s, rt.front, rt.copies, s ? s->launches : 0};
  return SUCCESS;
}

int hipStreamCreateWithFlags(void **stream, unsigned flags) {
  for (int i = 0; i < MAX_STREAMS && flags == 1; i++)
    if (!rt.streams[i].used) {
      rt.streams[i] = (Stream){.used = true};
      *stream = &rt.streams[i];
      return SUCCESS;
    }
  return fault("hipStreamCreateWithFlags");
}

int hipStreamDestroy(void *stream) {
  return made(stream) ? (*(Stream *)stream = (Stream){0}, SUCCESS) : fault("hipStreamDestroy of no stream");
}

int hipStreamWaitEvent(void *stream, void *which, unsigned flags) {
  const Event *e = event(which) ? which : NULL;
  if (stream == &standin_stream && e && e->recorded && !e->beside)
    return SUCCESS;
  stream = MAIN(stream);
  Stream *s = made(stream);
  if (!e || !e->recorded || flags || (stream != NULL) == (e->beside != NULL) || (stream && !s))
    return fault("hipStreamWaitEvent of no event, or in its own stream");
  if (s) {
    s->copies = e->copies;
    s->seen = e->front;
  } else if (e->beside->joined < e->launches)
    e->beside->joined = e->launches;
  return SUCCESS;
}

int hipEventSynchronize(void *e) {
  if (!event(e) || !((Event *)e)->recorded)
    return fault("hipEventSynchronize before the event was recorded");
  if (((Event *)e)->open)
    return fault("hipEventSynchronize does not wait for what was launched beside others");
  for (int i = 0; i < MAX_OUT && ((Event *)e)->beside; i++)
    if (rt.outs[i].from) {
      memcpy(rt.outs[i].to, rt.outs[i].from, rt.outs[i].size);
      rt.outs[i].from = NULL;
    }
  rt.launches_since_sync = 0;
  return SUCCESS;
}

int hipEventElapsedTime(float *milliseconds, void *start, void *end) {
  if (!event(start) || !event(end) || !((Event *)start)->recorded || !((Event *)end)->recorded)
    return fault("hipEventElapsedTime of events that were not recorded");
  if (rt.launches_since_sync)
    return fault("hipEventElapsedTime before the launches were waited for");
  *milliseconds = 1.0f;
  return SUCCESS;
}

/* At the end everything must have been given back. */
__attribute__((destructor)) static void at_end(void) {
  for (int i = 0; i < MAX_MODULES; i++)
    if (rt.modules[i].used)
      fault("a module was left loaded");
  if (memory_used())
    fault("%zu bytes of device memory were left", memory_used());
  for (int i = 0; i < MAX_OUT; i++)
    if (rt.pinned[i])
      fault("memory of the host was left");
  for (int i = 0; i < MAX_STREAMS; i++)
    if (rt.streams[i].used)
      fault("a stream was left");
  for (int i = 0; i < MAX_EVENTS; i++)
    if (rt.events[i].used)
      fault("an event was left");
}
