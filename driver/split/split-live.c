/* driver/split/split-live.c: if masks are known before a program runs, cuts the grid so that all parts have about as
 * many live points: kernels skip tiles without one (pass tile-classes), so a part with only land would finish at once.
 * The position of cuts changes no bits of the results. No part has more than twice the rows of an equal part, nor less
 * than an eighth, because dry points need memory, too. */
#include "driver/split/split.h"
#include "passes/plan/cost/count.h"

#include <math.h>
#include <string.h>

/* MOST: a part has at most MOST times the rows of an equal one. LEAST: at least one LEAST-th of them. DRY: the weight
 * of a dry point is one DRY-th of that of a live one, if live ones were evenly spread. GAIN: the largest part must lose
 * at least one GAIN-th of its live points. ROOM_PERCENT: the memory that a part needs, in percent of its fields,
 * including words and classes. */
enum { MOST = 2, LEAST = 8, DRY = 50, GAIN = 20, ROOM_PERCENT = 120 };

/* Do all launches of the steps of plan `q` skip dry tiles? Those at edges need not. */
static bool skips_dry(const StcPlan *q) {
  const Module *m = q->build ? q->build->code.module : NULL;
  const HostSeq *seq = m && m->host.nseqs ? &m->host.seqs[0] : NULL;
  int skip = 0;
  for (int i = 0; seq && i < seq->nops; i++) {
    const Kernel *k = seq->ops[i].kind == HOST_LAUNCH ? &m->kernels[seq->ops[i].a] : NULL;
    if (k && !k->skips_dry && !k->leaves_out)
      return false;
    skip += k && k->skips_dry;
  }
  return skip > 0;
}

/* Would parts with MOST times the rows fit the memory of the devices of this rank, with two buffers for each field that
 * is written? */
static bool fits_most(const StcPlan *p) {
  const Split *s = p->split;
  bool fits = true;
  for (int i = s->begin; i < s->end && fits; i++) {
    const PartPlan *part = &s->part[i];
    const Module *m = part->plan->module;
    double bytes = 0, points = MOST, left, total;
    for (int d = 0; d < s->rank; d++)
      points *= (double)(part->hi[d] - part->lo[d] + 1);
    for (int f = 0; f < m->nfields; f++)
      if (!m->fields[f].temp)
        bytes += (m->fields[f].input ? 1 : 2) * (double)type_bytes(m, m->fields[f].type);
    device_room(&part->plan->device, &left, &total);
    fits = ROOM_PERCENT * points * bytes < 100 * left;
  }
  return fits;
}

/* May the parts be unequal? */
static bool may_weigh(const StcPlan *p) {
  const Split *s = p->split;
  return s->nparts > 1 && !s->turns && !s->phases && s->rank <= GRID_RANK && !p->module->members &&
         !module_scaled(p->program->module) && skips_dry(s->part[s->begin].plan) && fits_most(p);
}

/* Is this so on all ranks, whose devices may differ? */
static bool all_may_weigh(const StcPlan *p) {
  const Split *s = p->split;
  bool may = may_weigh(p);
  if (!s->net || s->net->size < 2)
    return may;
  bool all[s->net->size];
  s->net->gather(s->net, &may, sizeof may, all);
  for (int i = 0; i < s->net->size; i++)
    may = may && all[i];
  return may;
}

/* The weight of the first `row` rows of dimension `d`, where all together have weight 1. */
static double weight_before(const WetMap *w, int d, double row) {
  return wet_before(w, d, row) + (row / (double)w->size[d] - wet_before(w, d, row)) / DRY;
}

/* The first row such that the rows before it have weight `share` or more. */
static int64_t row_behind(const WetMap *w, int d, double share) {
  int64_t lo = 0, hi = w->size[d];
  while (lo < hi) {
    int64_t middle = lo + (hi - lo) / 2;
    if (weight_before(w, d, (double)middle) < share)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo;
}

/* Cuts the rows of dimension `d` into `n` parts, at cuts[n + 1], with rows counted from 0. */
static void cut_rows(const WetMap *w, int d, int64_t n, int64_t *cuts) {
  int64_t rows = w->size[d], most = (MOST * rows + n - 1) / n, least = rows / (LEAST * n);
  least = least < 1 ? 1 : least;
  cuts[0] = 0;
  for (int64_t i = 1; i <= n; i++) {
    int64_t left = n - i, lo = cuts[i - 1] + least, hi = cuts[i - 1] + most;
    lo = rows - left * most > lo ? rows - left * most : lo;
    hi = rows - left * least < hi ? rows - left * least : hi;
    int64_t at = row_behind(w, d, (double)i / (double)n);
    cuts[i] = i == n ? rows : at < lo ? lo : at > hi ? hi : at;
  }
}

/* The fraction of all live points that the part with the most of them has; part i has rows [at[i] .. at[i + 1] - 1]. */
static double largest_share(const WetMap *w, int d, int64_t n, const int64_t *at) {
  double most = 0;
  for (int64_t i = 0; i < n; i++)
    most = fmax(most, wet_before(w, d, (double)at[i + 1]) - wet_before(w, d, (double)at[i]));
  return most;
}

bool live_cuts(Arena *a, const WetMap *w, int d, int64_t n, LiveCuts *out) {
  int64_t *equal = ARENA_ARRAY(a, int64_t, n + 1), *cuts = ARENA_ARRAY(a, int64_t, n + 1);
  Str rows = {.arena = a};
  for (int64_t i = 0; i <= n; i++)
    equal[i] = w->size[d] / n * i + (i < w->size[d] % n ? i : w->size[d] % n);
  cut_rows(w, d, n, cuts);
  for (int64_t i = 0; i < n; i++)
    str_addf(&rows, "%s%lld", i ? " + " : "", (long long)(cuts[i + 1] - cuts[i]));
  *out = (LiveCuts){cuts, rows.s, largest_share(w, d, n, cuts), largest_share(w, d, n, equal)};
  return n > 1 && GAIN * (out->equal - out->most) >= out->equal;
}

/* Cuts dimension `d` at cuts[parts + 1], and reports it, if that pays; false: it does not. */
static bool weigh_dimension(StcPlan *p, const WetMap *w, int d, int64_t *cuts) {
  const Split *s = p->split;
  LiveCuts x;
  if (!live_cuts(p->w.arena, w, d, s->parts[d], &x))
    return false;
  context_remark(p->w.context,
                 "parts: cut along dimension %d by live points, %s rows, so that a part has at most %.0f %% of them; "
                 "equal parts would have up to %.0f %%",
                 d, x.rows, 100 * x.most, 100 * x.equal);
  for (int64_t i = 0; i <= s->parts[d]; i++)
    cuts[i] = x.cuts[i] + s->lo[d];
  return true;
}

void split_weigh(StcPlan *p, int n, const char *const *defines) {
  Split *s = p->split;
  int64_t size[MAX_RANK] = {0};
  if (!all_may_weigh(p))
    return;
  for (int d = 0; d < s->rank; d++)
    size[d] = s->hi[d] - s->lo[d] + 1;
  const StcPlan *q = s->part[s->begin].plan;
  const WetMap *w =
      split_leads(s) ? program_wet(p->program, &p->w, target_info(q->build->code.target), size, n, defines) : NULL;
  for (int d = 0; d < s->rank; d++) {
    int64_t *cuts = ARENA_ARRAY(p->w.arena, int64_t, s->parts[d] + 1);
    bool weighed = w && weigh_dimension(p, w, d, cuts);
    if (s->net && s->net->size > 1) {
      s->net->broadcast(s->net, &weighed, sizeof weighed, 0);
      s->net->broadcast(s->net, cuts, sizeof *cuts * (size_t)(s->parts[d] + 1), 0);
    }
    s->cuts[d] = weighed ? cuts : NULL;
  }
  for (int i = 0; i < s->nparts; i++)
    for (int d = 0; d < s->rank; d++)
      split_part_range(s, d, s->parts[d], s->part[i].at[d], &s->part[i].lo[d], &s->part[i].hi[d]);
}
