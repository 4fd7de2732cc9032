/* driver/explain/explain-host.c: the predicted speed of a plan on this CPU, from the CPU's own figures. */
#include "driver/explain/explain.h"
#include "passes/launch/slices.h"

#include <string.h>

StcStatus explain_host(Explanation *e) {
  HostFigures *h = &e->host;
  host_figures(e->threads, h);
  if (h->bandwidth <= 0)
    return diag_error(e->program->w.diags, no_loc(), "no memory or no threads to measure what memory gives"),
           STC_MEMORY;
  e->cpu = (CpuFigures){.cores = h->threads,
                        .bits = target_vector_bits(e->target),
                        .cache = h->last_cache,
                        .core_bandwidth = h->core_bandwidth,
                        .bandwidth = h->bandwidth,
                        .clock = h->clock};
  Schedule sized = {.family = FAMILY_AUTO};
  memcpy(sized.size, e->extents, sizeof sized.size);
  e->stencils = plan_tiles(e->stencils, &e->schedule);
  if (e->stencils->slice_of)
    sized = plan_of_slice(&sized);
  e->cpu_time = cpu_expect(&e->cpu, e->stencils, &e->schedule, e->scalars, sized.size);
  if (e->cpu_time.cached) {
    e->cpu.cached = host_cache_bandwidth(e->threads, e->cpu_time.fields);
    e->cpu_time = cpu_expect(&e->cpu, e->stencils, &e->schedule, e->scalars, sized.size);
  }
  double ns = e->cpu_time.arithmetic + e->cpu_time.lines + e->cpu_time.memory;
  e->gpts = ns > 0 ? 1 / ns : 0;
  e->info.bandwidth = h->bandwidth;
  return STC_OK;
}

/* Prints bytes in a suitable unit. */
static void print_bytes(FILE *to, double bytes) {
  char text[MEMORY_TEXT];
  fprintf(to, "%s", memory_text(text, bytes));
}

void explain_print_host(FILE *to, const Explanation *e) {
  const HostFigures *h = &e->host;
  const CpuTime *t = &e->cpu_time;
  fprintf(to, "%d thread%s of %.1f GHz; vectors of %d bits; caches: ", h->threads, h->threads > 1 ? "s" : "", h->clock,
          e->cpu.bits);
  print_bytes(to, h->own_cache);
  fprintf(to, " a core, the last one ");
  print_bytes(to, h->last_cache);
  fprintf(to, "\nmemory, measured now: %.1f GB/s by one thread", h->core_bandwidth);
  if (h->threads > 1)
    fprintf(to, ", %.1f by %d", h->bandwidth, h->threads);
  if (e->cpu.cached > 0)
    fprintf(to, "; as large as the fields, in the caches: %.1f", e->cpu.cached);
  fprintf(to, "\n\na point and step: %.4g additions, %.4g bytes; all fields ", t->additions, t->bytes);
  print_bytes(to, t->fields);
  fprintf(to, "%s\n  arithmetic         %.3f ns\n  beginning of lines %.3f ns\n  %-18s %.3f ns\n",
          t->cached ? ", which stay in the last cache" : "", t->arithmetic, t->lines,
          t->cached ? "last cache" : "memory", t->memory);
  fprintf(to, "expected: %.4g GPts/s\n", e->gpts);
}
