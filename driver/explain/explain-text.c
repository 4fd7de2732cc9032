/* driver/explain/explain-text.c: the result of `stc explain` as text. */
#include "driver/explain/explain.h"

#include <inttypes.h>
#include <string.h>

const char *extent_text(Arena *a, const Extent *x, int rank) {
  Str s = {.arena = a};
  for (int d = 0; d < rank; d++)
    str_addf(&s, "%s[%s%" PRId64 ", %" PRId64 "]", d ? " x " : "", x->lo[d] ? "-" : "", x->lo[d], x->hi[d]);
  return s.s;
}

/* The text of a grid's extents, "16384x16384". */
static const char *size_text(const Explanation *e, const int64_t *extents) {
  Str s = {.arena = e->arena};
  for (int d = 0; d < e->kernels->grid.rank; d++)
    str_addf(&s, "%s%" PRId64, d ? "x" : "", extents[d]);
  return s.s;
}

/* The text of `rank` numbers, "152 x 128". */
static const char *shape_text(Arena *a, const double *v, int rank) {
  Str s = {.arena = a};
  for (int d = 0; d < rank; d++)
    str_addf(&s, "%s%.0f", d ? " x " : "", v[d]);
  return s.s;
}

/* Prints the tile of a launch, and the region of each instance. */
static void print_instances(FILE *to, const Explanation *e, const LaunchWork *l) {
  int rank = e->stencils->grid.rank, width = 7;
  for (int i = 0; i < l->ninstances; i++)
    if ((int)strlen(l->instances[i].name) > width)
      width = (int)strlen(l->instances[i].name);
  fprintf(to, "  %-*s  level  %s%-*s  computed/given  needed/given\n", width, "stencil", l->streamed ? "lag  " : "",
          rank > 2 ? 30 : 22, "region beyond the tile");
  for (int i = 0; i < l->ninstances; i++) {
    const InstanceWork *x = &l->instances[i];
    fprintf(to, "  %-*s  %5d  ", width, x->name, x->level + 1);
    if (l->streamed)
      fprintf(to, "%3d  ", x->lag);
    fprintf(to, "%-*s  %14.3f  %12.3f\n", rank > 2 ? 30 : 22, extent_text(e->arena, &x->extent, rank),
            x->redundancy.cells, x->redundancy.needed);
  }
}

/* Does window `x` follow that of `w`, for the next version of its field, with the same number of kept rows? */
static bool continues(const WindowWork *w, const WindowWork *x) {
  return x->field == w->field && x->version == w->version + 1 && x->kept.rows == w->kept.rows &&
         x->kept.across == w->kept.across && x->kept.delay == w->kept.delay && x->kept.direct == w->kept.direct;
}

/* Prints the rows that a streamed tile keeps. Version 0 of a field are the loaded values, version n the values after n
 * instances. */
static void print_windows(FILE *to, const Explanation *e, const LaunchWork *l) {
  bool levels = l->schedule.family == FAMILY_WARPS;
  fprintf(to, "  rows kept%s:%s", levels ? " in each level" : "", l->nwindows ? "" : " of sums");
  for (int i = 0, n; i < l->nwindows; i += n) {
    const WindowWork *w = &l->windows[i];
    for (n = 1; i + n < l->nwindows && continues(w + n - 1, w + n);)
      n++;
    fprintf(to, "%s %s version%s %d", i ? ";" : "", e->stencils->fields[w->field].name, n > 1 ? "s" : "", w->version);
    if (n > 1)
      fprintf(to, " to %d", w->version + n - 1);
    if (w->kept.direct)
      fprintf(to, ": not in registers, each reader takes its own row%s",
              w->ring ? " of those loaded ahead, in shared memory" : "");
    else
      fprintf(to, ": %d%s", w->kept.rows, n > 1 ? " each" : "");
    if (w->kept.delay)
      fprintf(to, ", taken %d row%s late", w->kept.delay, w->kept.delay > 1 ? "s" : "");
    if (w->kept.across)
      fprintf(to, " (%d for other warps)", w->kept.across);
  }
  fprintf(to, "\n  these are %" PRId64 " words of a thread's registers; steps are written out %d times\n",
          l->window_words, l->unroll);
}

/* A launch. */
static void print_launch(FILE *to, const Explanation *e, const LaunchWork *l, int number) {
  int rank = e->stencils->grid.rank;
  if (e->nlaunches > 1)
    fprintf(to, "\nlaunch %d of %d\n", number + 1, e->nlaunches);
  fprintf(to, "tile: %s points stored, %s %s; fields loaded on %s\n", shape_text(e->arena, l->width, rank),
          shape_text(e->arena, l->cells, rank), l->streamed && rank > 1 ? "streamed" : "computed",
          extent_text(e->arena, &l->loaded, rank));
  print_instances(to, e, l);
  if (l->nwindows || l->window_words)
    print_windows(to, e, l);
  fprintf(to, "  in all: %.3f points computed for each stored, %.3f needed\n", l->redundancy.cells,
          l->redundancy.needed);
}

/* Prints the resources of the compiled kernel, from its metadata. */
static void print_taken(FILE *to, const KernelResources *r) {
  fprintf(to, "; compiled: %d vector and %d scalar", r->registers, r->scalar_registers);
  if (r->spilled || r->scalar_spilled)
    fprintf(to, ", %d and %d spilled", r->spilled, r->scalar_spilled);
  if (r->private_bytes)
    fprintf(to, ", %d bytes of private memory", r->private_bytes);
  fprintf(to, ", %d bytes of shared memory", r->shared_bytes);
}

/* Prints a kernel: its figures, and what bounds it. A kernel without blocks computes nothing. */
static void print_kernel(FILE *to, const Explanation *e, const ExplainedKernel *x) {
  const LaunchLoad *l = &x->load;
  const Occupancy *o = &x->time.occupancy;
  double points = l->points * (e->steps > 0 ? e->steps : 1), threads = l->blocks * (double)l->work.threads;
  fprintf(to, "\nkernel %s: %" PRId64 " threads a block, %.0f blocks%s\n", x->kernel->name, l->work.threads, l->blocks,
          x->beside ? ", beside it" : "");
  fprintf(to, "  shared memory  %" PRId64 " bytes a block\n", l->shared);
  fprintf(to, "  registers      %d a thread (estimated)", l->registers);
  if (l->spilled)
    fprintf(to, ", about %d too few", l->spilled);
  if (x->assembled.found)
    fprintf(to, "; ptxas: %d, %d bytes spilled", x->assembled.registers, x->assembled.spilled_bytes);
  if (x->assembled.told)
    print_taken(to, &x->assembled.taken);
  fprintf(to, "\n  occupancy      %d block%s, %d of %d warps a core; limited by %s\n", o->blocks,
          o->blocks > 1 ? "s" : "", o->warps, o->most_warps, o->limit);
  if (l->points < 1 || e->schedule.family == FAMILY_WARPS)
    return;
  fprintf(to,
          "  a point a step %.2f instructions, %.2f bytes of memory, %.2f of the cache, %.2f words exchanged or in "
          "shared memory\n",
          l->work.instructions * threads / points, l->memory_bytes / points, l->cache_bytes / points,
          l->work.shared * threads / points);
  fprintf(to, "  time           %.4g us, bound by %s; each alone:", x->time.seconds * 1e6, bound_name(x->time.bound));
  for (int b = 0, n = 0; b < BOUNDS; b++)
    if (x->time.alone[b] > 0.02 * x->time.seconds)
      fprintf(to, "%s %s %.4g", n++ ? "," : "", bound_name((Bound)b), x->time.alone[b] * 1e6);
  fprintf(to, "\n");
}

/* Prints the figures of the whole step: limits, and the expected speed. */
static void print_sums(FILE *to, const Explanation *e) {
  for (int i = 0; i < e->nrepeats; i++)
    fprintf(to, "%srepeat %s: %" PRId64 " round%s a step counted%s", i ? "\n" : "\n", e->repeats[i].name,
            e->repeats[i].rounds, e->repeats[i].rounds == 1 ? "" : "s",
            e->repeats[i].asked ? ""
                                : arena_printf(e->arena, ", its most; --rounds=%s:N for fewer", e->repeats[i].name));
  if (e->nrepeats)
    fprintf(to, "\nreductions and updates are not counted, limits are those of one round");
  fprintf(to, "\na step takes at least %.4g bytes and", e->work.bytes);
  if (e->work.f32_ops > 0)
    fprintf(to, " %.4g f32", e->work.f32_ops);
  if (e->work.f64_ops > 0)
    fprintf(to, "%s %.4g f64", e->work.f32_ops > 0 ? " and" : "", e->work.f64_ops);
  fprintf(to,
          " operations a point\nlimits: arithmetic %.4g GPts/s; memory %.4g if each step reads and writes, %.4g in "
          "tiles of %d step%s\n",
          e->arithmetic_limit, e->memory_limit, e->tile_limit, e->steps, e->steps > 1 ? "s" : "");
  fprintf(to, "expected: %.4g GPts/s, %.0f %% of arithmetic", e->gpts,
          e->arithmetic_limit > 0 ? 100 * e->gpts / e->arithmetic_limit : 0);
  if (e->nlaunches == 1 && e->nkernels && e->schedule.family != FAMILY_WARPS)
    fprintf(to, "; bound by %s", bound_name(e->list[0].time.bound));
  fprintf(to, "\n");
}

/* Was the schedule chosen for a grid of other extents? */
static bool is_for_other(const Explanation *e) {
  return e->program->options.grid[0] &&
         memcmp(e->program->options.grid, e->extents, sizeof *e->extents * (size_t)e->kernels->grid.rank) != 0;
}

/* The name of the hardware of these figures: the card, or the CPU. */
static const char *whose(const Explanation *e) {
  return e->threads   ? e->host.name[0] ? e->host.name : "this CPU"
         : e->card    ? e->card->product
         : e->at_hand ? e->at_hand
                      : "the largest part";
}

void explain_print(FILE *to, const Explanation *e) {
  fprintf(to, "%s, %s, %s points, on %s (%s %s)\n", e->program->name,
          e->program->options.real ? e->program->options.real : "f32", size_text(e, e->extents), whose(e),
          target_arch(e->target), e->info.cpu);
  fprintf(to, "schedule: %s%s%s", e->schedule_text, e->tuned ? "; from " : "", e->tuned ? e->tuned : "");
  if (is_for_other(e))
    fprintf(to, "; for %s points", size_text(e, e->program->options.grid));
  fprintf(to, "\n");
  if (e->threads) {
    explain_print_host(to, e);
    if (e->gradient)
      explain_print_gradient(to, e);
    return;
  }
  for (int i = 0; i < e->nlaunches; i++)
    print_launch(to, e, &e->launches[i], i);
  for (int i = 0; i < e->nkernels; i++)
    print_kernel(to, e, &e->list[i]);
  print_sums(to, e);
  if (e->gradient)
    explain_print_gradient(to, e);
  if (e->turns)
    fprintf(to, "memory: %s\n", e->turns);
  if (e->parts)
    explain_print_parts(to, e);
  if (e->why_text)
    fprintf(to, "\n%s", e->why_text);
}
