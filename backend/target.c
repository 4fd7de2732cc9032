/* backend/target.c: the table of targets, choosing one, and names of mathematical functions. */
#include "backend/emit.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define ARCH(name) &arch_##name,
#define NAME(name) #name,
static const Arch *const arches[] = {ARCHES(ARCH) NULL};
static const char *const arch_names[] = {ARCHES(NAME) NULL};
#undef ARCH
#undef NAME

static void init_all(void) {
  for (int i = 0; arches[i]; i++)
    arches[i]->init();
}

void target_init_llvm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_all);
}

/* The row of `arch`, or NULL. */
static const Arch *find_arch(const char *arch) {
  for (int i = 0; arches[i]; i++)
    if (strcmp(arches[i]->name, arch) == 0)
      return arches[i];
  return NULL;
}

/* "a, b, c" of a NULL-terminated list. */
static const char *list_text(Arena *a, const char *const *names) {
  Str s = {.arena = a};
  for (int i = 0; names[i]; i++)
    str_addf(&s, "%s%s", i ? ", " : "", names[i]);
  return s.s;
}

/* The row of the architecture that has a processor, or a card, of this name; NULL: none has. */
static const Arch *arch_with(const char *cpu) {
  const Card *card = card_named(cpu);
  if (card)
    return find_arch(card->arch);
  for (int i = 0; arch_names[i]; i++) {
    const Arch *row = find_arch(arch_names[i]);
    for (int k = 0; row->cpus[k]; k++)
      if (strcmp(row->cpus[k], cpu) == 0)
        return row;
  }
  return NULL;
}

/* Target `t` with the figures of `card`. */
static Target with_card(const Target *t, const Card *card) {
  Target own = *t;
  own.card = card;
  own.info = card_limits(card, &t->info);
  return own;
}

const Target *target_find(Arena *a, Diags *d, const char *arch, const char *cpu) {
  const Arch *row = find_arch(arch);
  Target *t = ARENA_NEW(a, Target);
  target_init_llvm();
  if (!row && (row = arch_with(arch))) {
    diag_error(d, no_loc(), "'%s' is a processor of architecture %s; write -march=%s -mcpu=%s", arch, row->name,
               row->name, arch);
    return NULL;
  }
  if (!row) {
    diag_error(d, no_loc(), "there is no architecture '%s'; -march= takes one of %s", arch, list_text(a, arch_names));
    return NULL;
  }
  const Card *card = cpu ? card_named(cpu) : NULL;
  card = card && strcmp(card->arch, arch) == 0 ? card : NULL;
  if (row->make(a, card ? card->cpu : cpu ? cpu : row->default_cpu, t)) {
    *t = card ? with_card(t, card) : *t;
    return t;
  }
  const Arch *other = arch_with(cpu);
  if (other && other != row)
    diag_error(d, no_loc(), "'%s' is a processor of architecture %s, not of %s; write -march=%s -mcpu=%s", cpu,
               other->name, arch, other->name, cpu);
  else
    diag_error(d, no_loc(), "architecture %s has no processor '%s'; -mcpu= takes one of %s, or a card: %s", arch, cpu,
               list_text(a, row->cpus), card_names(a, arch));
  return NULL;
}

/* `value` unless it is 0. */
static int64_t or_else(int64_t value, int64_t otherwise) { return value ? value : otherwise; }

/* A device's own figure and its card's mean the same if they differ by less than one part in so many: 4800 GB/s are
 * stated for memory whose clock and width come to 4917. */
enum { SAME_PARTS = 20 };

/* The figure `own` that a device states of itself (0: unknown), or `said`, which is known without it. If `said` is of a
 * card and both mean the same, it is `said`. */
static double figure(const Target *t, double own, double said) {
  bool same = t->card && fabs(own - said) * SAME_PARTS < said;
  return own > 0 && !same ? own : said;
}

/* Sets cores, clock, memory and cache of *i, which is of target `t`, to those of the device: the rates in *i hold
 * for its cores at its clock. The cache gives no more than the cores take, and is faster than memory by no greater
 * factor. */
static void take_rates(const Target *t, TargetInfo *i, const TargetInfo *device) {
  double clock = i->clock > 0 ? figure(t, device->clock, i->clock) : i->clock,
         cores = (double)or_else(device->cores, i->cores), was = i->cores * (i->clock > 0 ? i->clock : 1),
         times = was > 0 ? cores * (clock > 0 ? clock : 1) / was : 1,
         bandwidth = figure(t, device->bandwidth, i->bandwidth), cache = figure(t, device->cache_bytes, i->cache_bytes);
  double *rates[] = {&i->f32_rate, &i->f64_rate, &i->issue_rate, &i->shared_rate};
  i->cache_bandwidth *= i->bandwidth > 0 ? fmin(times, bandwidth / i->bandwidth) : times;
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
    *rates[k] *= times;
  i->cores = (int32_t)cores;
  i->clock = clock;
  i->bandwidth = bandwidth;
  i->kept_cache = i->simt && device->cache_bytes > 0 ? 0.5 * cache : i->kept_cache;
  i->cache_bytes = cache;
}

const Target *target_with_limits(Arena *a, const Target *t, const TargetInfo *device) {
  Target *own = ARENA_NEW(a, Target);
  *own = *t;
  TargetInfo *i = &own->info;
  i->lanes = (int32_t)or_else(device->lanes, i->lanes);
  i->max_threads = (int32_t)or_else(device->max_threads, i->max_threads);
  for (int d = 0; d < GRID_RANK; d++) {
    i->max_block[d] = (int32_t)or_else(device->max_block[d], i->max_block[d]);
    i->max_grid[d] = or_else(device->max_grid[d], i->max_grid[d]);
  }
  i->shared_bytes = or_else(device->shared_bytes, i->shared_bytes);
  i->max_shared_bytes = or_else(device->max_shared_bytes, i->max_shared_bytes);
  i->shared_per_core = or_else(device->shared_per_core, i->shared_per_core);
  i->max_threads_per_core = (int32_t)or_else(device->max_threads_per_core, i->max_threads_per_core);
  i->registers_per_core = (int32_t)or_else(device->registers_per_core, i->registers_per_core);
  i->late |= device->late;
  take_rates(t, i, device);
  if (t->estimate)
    t->estimate(i, i->cores);
  return own;
}

const Target *target_on(Arena *a, Diags *d, const char *arch, const char *cpu, const char *device,
                        const TargetInfo *own) {
  const Target *t = target_find(a, d, arch, cpu);
  const Card *card = t ? card_of_device(device, arch) : NULL;
  Target known;
  if (card) {
    known = with_card(t, card);
    t = &known;
  }
  return t ? target_with_limits(a, t, own) : NULL;
}

const Target *target_compiled_late(Arena *a, const Target *t) {
  Target *own = ARENA_NEW(a, Target);
  *own = *t;
  own->info.late = true;
  return own;
}

const TargetInfo *target_info(const Target *t) { return &t->info; }
const char *target_suffix(const Target *t) { return t->suffix; }
const char *target_triple(const Target *t) { return t->triple; }

int32_t target_vector_bits(const Target *t) {
  return strstr(t->features, "+avx512f") ? 512 : strstr(t->features, "+avx,") ? 256 : 128;
}

const char *target_arch(const Target *t) { return t->arch; }
const char *target_foreign(const Target *t) { return t->foreign; }
const char *const *target_arches(void) { return arch_names; }

const char *const *target_cpus(const char *arch) {
  const Arch *row = find_arch(arch);
  return row ? row->cpus : NULL;
}

void target_kernel_shared(const Target *t, const Kernel *k, int64_t *fixed, int64_t *given) {
  int64_t bytes = kernel_shared_bytes(k);
  bool dynamic = t->shared_is_scratch || bytes > t->static_shared;
  *fixed = dynamic ? 0 : bytes;
  *given = dynamic ? bytes : 0;
}

bool target_tells_resources(const Target *t) { return t->resources != NULL; }

bool target_resources(const Target *t, const char *assembly, const char *kernel, KernelResources *out) {
  return t->resources && t->resources(assembly, kernel, out);
}

/* ---------------------------------------------------------------- names of mathematical functions */

/* The C name of op `code` without a type. */
static const char *base_name(Opcode code) { return code == OP_REM ? "fmod" : op_info[code].name; }

const char *libclc_name(Arena *a, Opcode code, Type t) {
  const char *name = base_name(code), *arg = t == TY_F32 ? "f" : "d";
  return arena_printf(a, "_Z%d%s%s%s", (int)strlen(name), name, arg, op_info[code].noperands == 2 ? arg : "");
}

const char *libm_name(Arena *a, Opcode code, Type t) {
  return arena_printf(a, "%s%s", base_name(code), t == TY_F32 ? "f" : "");
}
