/* driver/device/host-figures.c: the properties of this CPU from the system, and the measured speed of its memory. */
#include "driver/device/device.h"
#include "driver/device/host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The numbers that one thread adds, and how many. */
typedef struct Sums {
  double *to, *from;
  size_t each;
} Sums;

/* SUM_BYTES: bytes that one addition below moves; MEASURED: repetitions of each measurement, of which the best counts;
 * SHARE_BYTES: the least bytes of a thread's share in measurements of caches. */
enum { SUM_BYTES = 3 * sizeof(double), MEASURED = 3, CACHED_TURNS = 8, MOST_CACHES = 8, SHARE_BYTES = 1 << 18 };

/* Adds the numbers of thread `block` (a HostKernelFn). */
static void add_share(void *const *args, const int64_t *block, char *scratch) {
  const Sums *s = args[0];
  double *to = s->to + (size_t)block[0] * s->each;
  const double *from = s->from + (size_t)block[0] * s->each;
  (void)scratch;
  for (size_t i = 0; i < s->each; i++)
    to[i] += from[i];
}

/* Memory for `n` numbers, all of it touched, in large pages if possible; NULL: there is not enough. */
static double *sum_memory(size_t n) {
  size_t align = (size_t)1 << 21, bytes = (n * sizeof(double) + align - 1) / align * align;
  double *memory = aligned_alloc(align, bytes);
  if (memory)
    madvise(memory, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; memory && i < n; i++)
    memory[i] = 1;
  return memory;
}

/* GB/s that `threads` threads together get from memory, with two arrays of the same size, of `bytes` bytes in all,
 * which are added `turns` times in a row; 0: there is no memory or no thread for it. */
static double measure_memory(int threads, size_t bytes, int turns) {
  HostPool pool = {0};
  size_t n = bytes / (2 * sizeof(double)) / (size_t)threads * (size_t)threads;
  Sums s = {sum_memory(n), sum_memory(n), n / (size_t)threads};
  double best = 0;
  bool ok = s.to && s.from && host_pool_start(&pool, threads, 1);
  for (int i = 0; i <= MEASURED && ok; i++) {
    double start = clock_seconds();
    for (int j = 0; j < turns; j++)
      host_pool_each(&pool, add_share, (void *[]){&s});
    double gbs = (double)n * turns * SUM_BYTES / (clock_seconds() - start) / 1e9;
    best = i && gbs > best ? gbs : best;
  }
  if (ok)
    host_pool_stop(&pool);
  free(s.to);
  free(s.from);
  return best;
}

double host_cache_bandwidth(int threads, double bytes) {
  double least = threads * SHARE_BYTES; /* with less, starting threads and waiting dominates */
  return measure_memory(threads, (size_t)(bytes > least ? bytes : least), CACHED_TURNS);
}

/* GHz of a core, measured by dependent multiplications, each of which takes three cycles on all known CPUs; the fastest
 * of many runs counts. */
static double measure_clock(void) {
  enum { PRODUCTS = 20000, RUNS = 50, CYCLES = 3 };
  static volatile uint64_t kept;
  double best = 0;
  for (int i = 0; i < RUNS; i++) {
    uint64_t x = kept | 3;
    double start = clock_seconds();
    for (int k = 0; k < PRODUCTS; k++)
      x *= x;
    kept = x;
    double ghz = CYCLES * (double)PRODUCTS / (clock_seconds() - start) / 1e9;
    best = ghz > best ? ghz : best;
  }
  return best;
}

/* Writes the name of the CPU, as Linux gives it, to `name`; an empty text if Linux gives none. */
static void read_name(char *name, size_t size) {
  char line[256];
  FILE *f = fopen("/proc/cpuinfo", "r");
  *name = 0;
  while (f && !*name && fgets(line, sizeof line, f)) {
    const char *at = strncmp(line, "model name", strlen("model name")) == 0 ? strchr(line, ':') : NULL;
    if (at)
      snprintf(name, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
  }
  if (f)
    fclose(f);
}

/* Bytes of the first CPU's cache of `level`, which Linux gives as "32768K"; 0 if it does not. (The C library's number
 * for the last level is wrong under some hypervisors.) */
static double cache_bytes(int level) {
  char path[96], unit = 0;
  double bytes = 0;
  for (int i = 0; i < MOST_CACHES && bytes <= 0; i++) {
    int is = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
    FILE *f = fopen(path, "r");
    bool found = f && fscanf(f, "%d", &is) == 1 && is == level;
    if (f)
      fclose(f);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    f = found ? fopen(path, "r") : NULL;
    if (f && fscanf(f, "%lf%c", &bytes, &unit) < 1)
      bytes = 0;
    if (f)
      fclose(f);
  }
  return bytes * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
}

double host_last_cache(void) { return cache_bytes(3) > 0 ? cache_bytes(3) : cache_bytes(2); }

int host_threads(void) {
  cpu_set_t set = host_cpus();
  return CPU_COUNT(&set);
}

void host_figures(int threads, HostFigures *out) {
  size_t least = (size_t)64 << 20;
  *out = (HostFigures){.threads = threads, .clock = measure_clock()};
  read_name(out->name, sizeof out->name);
  out->own_cache = cache_bytes(2);
  out->last_cache = host_last_cache();
  size_t bytes = 4 * out->last_cache > (double)least ? (size_t)(4 * out->last_cache) : least;
  out->core_bandwidth = measure_memory(1, bytes, 1);
  out->bandwidth = threads > 1 ? measure_memory(threads, bytes, 1) : out->core_bandwidth;
}
