/* driver/device/memory.c: how much memory a plan can have, on its device or on this computer, and allocating it. */
#include "driver/device/device.h"
#include "driver/program/program.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Writes a number of bytes as text, rounded up or to the nearest. */
static char *text_of(char to[MEMORY_TEXT], double bytes, bool up) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int u = 0;
  while (bytes >= 1024 && u + 1 < (int)(sizeof units / sizeof units[0])) {
    bytes /= 1024;
    u++;
  }
  double parts = !u || bytes >= 100 ? 1 : bytes >= 10 ? 10 : 100; /* units of the last digit in 1 */
  if (up)
    bytes = ceil(bytes * parts) / parts;
  snprintf(to, MEMORY_TEXT, u && bytes < 100 ? "%.3g %s" : "%.0f %s", bytes, units[u]);
  return to;
}

char *memory_text(char to[MEMORY_TEXT], double bytes) { return text_of(to, bytes, false); }

char *memory_text_up(char to[MEMORY_TEXT], double bytes) { return text_of(to, bytes, true); }

/* ---------------------------------------------------------------- this computer's memory */

/* Adds the values of the lines of /proc/meminfo called `name`, in bytes, to *sum. False if there is none. */
static bool add_meminfo(const char *name, double *sum) {
  char line[256];
  double kib;
  bool found = false;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f)) {
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0 || line[n] != ':' || sscanf(line + n + 1, "%lf", &kib) != 1)
      continue;
    *sum += kib * 1024;
    found = true;
  }
  if (f)
    fclose(f);
  return found;
}

/* The number in the file, or `other` if it cannot be read, or contains "max". */
static double number_in(const char *path, double other) {
  FILE *f = fopen(path, "r");
  double n;
  bool ok = f && fscanf(f, "%lf", &n) == 1;
  if (f)
    fclose(f);
  return ok ? n : other;
}

/* The smallest limit of the control groups of this process, such as a container's or a batch system's; `most` if none
 * is less. */
static double group_limit(double most) {
  char line[1024], path[1280];
  FILE *f = fopen("/proc/self/cgroup", "r");
  while (f && fgets(line, sizeof line, f)) {
    char *group = strrchr(line, ':'), *kind = strchr(line, ':');
    line[strcspn(line, "\n")] = 0;
    bool unified = kind && kind[1] == ':', memory = kind && strncmp(kind, ":memory:", 8) == 0;
    if (!group || (!unified && !memory))
      continue;
    snprintf(path, sizeof path,
             unified ? "/sys/fs/cgroup%s/memory.max" : "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group + 1);
    double limit = number_in(path, most);
    most = limit < most ? limit : most;
  }
  if (f)
    fclose(f);
  double own = number_in("/sys/fs/cgroup/memory.max", most);
  return own < most ? own : most;
}

/* The bytes that `ulimit -v` leaves this process, or `most`. */
static double address_limit(double most) {
  struct rlimit r;
  long long pages = 0;
  if (getrlimit(RLIMIT_AS, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
    return most;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%lld", &pages) != 1)
    pages = 0;
  if (f)
    fclose(f);
  double left = (double)r.rlim_cur - (double)pages * (double)sysconf(_SC_PAGESIZE);
  return left < most ? (left > 0 ? left : 0) : most;
}

void computer_room(double *left, double *total) {
  double most = (double)(INT64_MAX / 2);
  *left = *total = 0;
  if (!add_meminfo("MemAvailable", left) || !add_meminfo("MemTotal", total)) {
    *left = *total = most;
  } else {
    add_meminfo("SwapFree", left);
    add_meminfo("SwapTotal", total);
  }
  *left = address_limit(group_limit(*left));
}

StcStatus computer_no_room(StcContext *c, const char *what, const char *name, double bytes) {
  char size[MEMORY_TEXT], have[MEMORY_TEXT], of[MEMORY_TEXT];
  double left, total;
  computer_room(&left, &total);
  context_error(c, "no memory for %s %s of %s: this computer has %s free of %s; choose smaller params", what, name,
                memory_text(size, bytes), memory_text(have, left), memory_text(of, total));
  return STC_MEMORY;
}

/* ---------------------------------------------------------------- a device's memory */

void device_room(Device *d, double *left, double *total) {
  if (!d->kind->room || !d->kind->room(d, left, total))
    computer_room(left, total);
}

StcStatus device_no_room(Device *d, const char *what, double bytes, double all) {
  char size[MEMORY_TEXT], sum[MEMORY_TEXT], have[MEMORY_TEXT], of[MEMORY_TEXT];
  double left, total;
  device_room(d, &left, &total);
  const char *who = d->kind->room ? d->description : "this computer";
  const char *rest = all > 0 ? arena_printf(d->w->arena, "all fields and arrays need %s, ", memory_text(sum, all)) : "";
  diag_error(d->w->diags, no_loc(), "no memory for %s of %s: %s%s has %s free of %s; choose smaller params", what,
             memory_text(size, bytes), rest, who, memory_text(have, left), memory_text(of, total));
  return d->kind->room ? STC_DEVICE : STC_MEMORY;
}

StcStatus here_alloc(Device *d, size_t size, void **memory) {
  (void)d;
  *memory = calloc(size + 1, 1);
  return STC_OK;
}

void here_release(Device *d, void *memory, size_t size) {
  (void)d;
  (void)size;
  free(memory);
}

StcStatus here_open(Device *d) {
  d->description = d->kind->name;
  return STC_OK;
}

void here_close(Device *d) { (void)d; }

StcStatus here_copy(Device *d, void *to, const void *from, size_t size) {
  (void)d;
  if (size)
    memcpy(to, from, size);
  return STC_OK;
}

StcStatus here_wait(Device *d) {
  (void)d;
  return STC_OK;
}

StcStatus device_alloc(Device *d, const char *what, size_t size, double all, void **memory) {
  *memory = NULL;
  StcStatus s = d->kind->alloc(d, size, memory);
  return s || *memory ? s : device_no_room(d, what, (double)size, all);
}

StcStatus needs_check(Device *d, int n, const Need *needs) {
  double left, total, all = 0;
  int most = 0;
  device_room(d, &left, &total);
  for (int i = 0; i < n; i++) {
    all += needs[i].bytes;
    most = needs[i].bytes > needs[most].bytes ? i : most;
  }
  if (all <= left)
    return STC_OK;
  StcStatus s = device_no_room(d, needs[most].what, needs[most].bytes, all);
  if (!d->kind->whole && d->kind->dlpack == DEVICE_MEMORY_HERE)
    diag_note(
        d->w->diags, no_loc(),
        "with --memory=8GiB, or what memory there is, parts of the grid take turns, and the fields are in a file");
  return s;
}

int program_needs(const StcProgram *p, Arena *a, const Const *scalars, Need **out) {
  const Module *m = p->module;
  int n = 0;
  *out = NULL;
  for (int f = 0; f < m->nfields; f++) {
    int64_t shape[MAX_RANK] = {1, 1, 1, 1};
    double points = 1;
    if (m->fields[f].temp || m->fields[f].series)
      continue;
    field_shape(&m->fields[f], scalars, shape);
    for (int d = 0; d < m->fields[f].box.rank; d++)
      points *= (double)shape[d];
    Need x = {arena_printf(a, "field %s", declared_name(m, f)), points * (double)type_bytes(m, m->fields[f].type)};
    ARENA_PUSH(a, *out, n, x);
  }
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *of = &m->param_arrays[i];
    Need x = {arena_printf(a, "array %s", of->name),
              (double)param_array_extent(of, scalars) * (double)type_size(of->type)};
    ARENA_PUSH(a, *out, n, x);
  }
  return n;
}
