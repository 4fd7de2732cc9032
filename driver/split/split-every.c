/* split-every.c: the number of steps between exchanges of parts. They exchange after each launch if a launch takes
 * longer; after several launches if the time that an exchange costs, in waiting for others, is more than that of the
 * ghost cells which the launches before the last one compute for later ones. */
#include "driver/split/split.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/compare.h"

/* At most `most` steps, in whole launches if `most` is at least one. */
static int64_t fewer_steps(const StcPlan *p, int64_t most) {
  const StcPlan *q = p->split->part[p->split->begin].plan;
  int64_t steps = q->build && q->build->code.module->host.nseqs ? q->build->code.module->host.seqs[0].steps : 1;
  return most >= steps ? most / steps * steps : most;
}

/* Checks that no ring is shorter than its ghost cells require; reduces the steps between exchanges for that, unless
 * they were requested. */
static StcStatus fit_rings(StcPlan *p, const Module *m, bool asked) {
  Split *s = p->split;
  bool ring = false;
  for (int f = 0; f < m->nfields; f++)
    ring |= m->fields[f].ring;
  for (int d = 0; d < s->rank && ring; d++) {
    const Extent *x = &m->part->reach;
    int64_t reach = x->lo[d] > x->hi[d] ? x->lo[d] : x->hi[d], extent = s->hi[d] - s->lo[d] + 1;
    if (!reach || affine_equal(m->part->own.lo[d], m->part->whole.lo[d]) || reach * s->every <= extent)
      continue;
    if (asked || reach > extent)
      return diag_error(p->w.diags, no_loc(),
                        "%lld step%s reach %lld points around a grid that has %lld in dimension %d, where it is "
                        "periodic: %s",
                        (long long)s->every, s->every > 1 ? "s" : "", (long long)(reach * s->every), (long long)extent,
                        d, reach > extent ? "it cannot be cut there" : "exchange after fewer steps"),
             STC_USAGE;
    s->every = fewer_steps(p, extent / reach);
  }
  return STC_OK;
}

/* The points that part `i` owns. */
static double part_points(const StcPlan *p, int i) {
  double points = 1;
  for (int d = 0; d < p->split->rank; d++)
    points *= (double)(p->split->part[i].hi[d] - p->split->part[i].lo[d] + 1);
  return points;
}

/* The least time of a launch on part `i`: its device's memory must read and write each field once. */
static double memory_seconds(const StcPlan *p, int i) {
  const PartPlan *part = &p->split->part[i];
  const Module *m = part->plan->module;
  double bytes = 0;
  for (int f = 0; f < m->nfields; f++)
    if (m->fields[f].exchange == EXCHANGE_STEPS && !m->fields[f].temp)
      bytes += 2 * (double)type_bytes(m, m->fields[f].type);
  return part_points(p, i) * bytes / (part->plan->device.limits.bandwidth * 1e9);
}

/* The argument of sequence_guarded: the plan of a part of so many points, `own` in each dimension, and its params; it
 * computes the seconds of the plan's first sequence. */
typedef struct Sequence {
  StcPlan *plan;
  int n;
  const char *const *defines;
  double points, seconds;
  int64_t own[MAX_RANK];
} Sequence;

/* Estimates the launches of one sequence by the cost model, those beside each other together; by the family's own
 * estimate if it has one. */
static StcStatus sequence_guarded(void *arg) {
  Sequence *x = arg;
  StcPlan *q = x->plan;
  const Build *b = q->build;
  const TargetInfo *t = target_info(target_with_limits(q->w.arena, b->code.target, &q->device.limits));
  Module *stencils = program_before_lowering(q->program, &q->w, b->code.target, &b->code.schedule), *m = b->code.module;
  const Const *scalars = program_bind(q->program, m, q->w.arena, q->w.diags, x->n, x->defines);
  if (!stencils || !scalars)
    return STC_INPUT;
  const Module *tiles = plan_tiles(stencils, &b->code.schedule);
  const HostSeq *seq = &m->host.seqs[0];
  int n = 0;
  LaunchWork *works = launch_works(t, tiles, &b->code.schedule, &n);
  LaunchTime *times = ARENA_ARRAY(q->w.arena, LaunchTime, seq->nops + 1);
  for (int i = 0, launch = 0, beside = 0; i < seq->nops && n; i++) {
    int k = seq->ops[i].kind == HOST_LAUNCH ? kernel_chosen(m, seq->ops[i].a, scalars) : -1;
    if (k < 0)
      continue;
    LaunchLoad load = launch_load(t, m, &m->kernels[k], &works[launch < n ? launch : n - 1], scalars,
                                  kernel_space(&m->kernels[k], scalars));
    times[beside++] = model_launch(t, &load);
    if (i + 1 < seq->nops && seq->ops[i + 1].kind == HOST_LAUNCH && seq->ops[i + 1].beside)
      continue;
    x->seconds += model_beside(beside, times).seconds;
    beside = 0;
    launch++;
  }
  double own = schedule_own_ps(t, tiles, &b->code.schedule, x->own) * 1e-12 * x->points * (double)seq->steps;
  if (own > 0)
    x->seconds = own;
  return STC_OK;
}

double split_launch_seconds(const StcPlan *p, int i, int n, const char *const *defines) {
  Sequence x = {.plan = p->split->part[i].plan, .n = n, .defines = defines, .points = part_points(p, i)};
  for (int d = 0; d < p->split->rank; d++)
    x.own[d] = p->split->part[i].hi[d] - p->split->part[i].lo[d] + 1;
  const StcProgram *program = x.plan->program;
  const Build *b = x.plan->build;
  double least = memory_seconds(p, i);
  bool known = program->kind != SOURCE_KIR && !program->options.passes && b->code.schedule.family &&
               target_info(b->code.target)->simt && workspace_guard(&x.plan->w, sequence_guarded, &x) == STC_OK;
  return known && x.seconds > least ? x.seconds : least;
}

int64_t part_ghosts(const Module *m, int64_t parts, int d) {
  int64_t lo = m->part->reach.lo[d], hi = m->part->reach.hi[d];
  bool ring = false;
  for (int f = 0; f < m->nfields; f++)
    ring |= m->fields[f].ring;
  return parts < 2 ? 0 : parts > 2 || ring ? lo + hi : lo > hi ? lo : hi;
}

double launch_grown(const PartLaunch *x, int64_t left) {
  double times = 1;
  for (int d = 0; d < x->rank; d++) {
    int64_t own = x->own[d], tile = x->tile[d], rows = own + left * x->ghosts[d];
    double tiles = (double)((rows + tile - 1) / tile - (own + tile - 1) / tile),
           share = (double)own <= tuning.few_tiles * (double)tile ? 1 : 0.5;
    times *= ((double)rows + share * tiles * (double)tile) / (double)own;
  }
  return times;
}

double launches_seconds(const PartLaunch *x, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n && x->trimmed; k++)
    sum += x->seconds * launch_grown(x, k * x->steps);
  return x->trimmed ? sum : (double)n * x->seconds * launch_grown(x, n * x->steps);
}

/* The most launches between two exchanges that are considered. */
enum { MOST_EXCHANGED = 8 };

int64_t best_launches(const PartLaunch *x) {
  double least = 0;
  int64_t best = 1;
  for (int64_t n = 1; n <= MOST_EXCHANGED; n++) {
    double each = (launches_seconds(x, n) + measured.exchange_seconds) / (double)n;
    if (n > 1 && each > tuning.barely_better * least)
      continue;
    best = n;
    least = each;
  }
  return best;
}

/* The launches of part `i`, each of `steps` steps. */
static PartLaunch part_launch_of(const StcPlan *p, int i, int64_t steps, int n, const char *const *defines) {
  const Split *s = p->split;
  const PartPlan *part = &s->part[i];
  const Module *m = part->plan->module, *code = part->plan->build->code.module;
  const Kernel *k = &code->kernels[code->nkernels - 1];
  PartLaunch x = {.rank = s->rank, .steps = steps, .trimmed = launches_trimmed(part->plan)};
  bool dealt = part->plan->build->code.schedule.family == FAMILY_WARPS; /* rows, whatever their number */
  x.seconds = split_launch_seconds(p, i, n, defines);
  for (int d = 0; d < s->rank; d++) {
    x.own[d] = part->hi[d] - part->lo[d] + 1;
    x.ghosts[d] = part_ghosts(m, s->parts[d], d);
    x.tile[d] = k->rank == s->rank && k->tile[d] > 0 && !dealt ? k->tile[d] : 1;
  }
  return x;
}

/* The best number of steps between exchanges for the parts of this rank: a multiple of the steps of a launch on GPUs,
 * where nobody waits on the host. */
static int64_t best_steps(const StcPlan *p, int n, const char *const *defines) {
  const StcPlan *q = p->split->part[p->split->begin].plan;
  if (!q->build || !q->build->code.module->host.nseqs)
    return 1;
  int64_t steps = q->build->code.module->host.seqs[0].steps;
  bool good = p->split->nparts > 1 && q->device.kind->mark && q->device.limits.bandwidth > 0;
  if (!good)
    return steps;
  PartLaunch x = part_launch_of(p, p->split->begin, steps, n, defines);
  return steps * best_launches(&x);
}

StcStatus split_choose_every(StcPlan *p, int64_t launch, int n, const char *const *defines) {
  Split *s = p->split;
  bool asked = s->every > 0;
  if (!asked)
    s->every = launch ? launch : best_steps(p, n, defines);
  if (s->net) {
    int64_t all[s->net->size];
    s->net->gather(s->net, &s->every, sizeof s->every, all);
    for (int i = 0; i < s->net->size; i++)
      s->every = all[i] < s->every ? all[i] : s->every;
  }
  return fit_rings(p, s->part[s->begin].plan->module, asked);
}
