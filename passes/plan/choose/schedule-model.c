/* schedule-model.c: compares schedules by the cost model (model.c): each is lowered, its kernels are examined and then
 * dropped. */
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"
#include "passes/tile/frame.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/legal.h"

#include <math.h>
#include <string.h>

/* Points that kernel `k` of `m` covers in dimension `d` of a grid of `size` points there: as many as it says, or as
 * large a part as under the params' defaults. */
static int64_t covered_points(const Module *m, const Kernel *k, int d, int64_t size) {
  const Affine *x = &k->extent[d];
  Affine all = box_extent(m->arena, &m->grid, d);
  int64_t more;
  if (affine_diff(*x, all, &more))
    return size;
  const Const *scalars = default_scalars(m);
  if (!x->n || !scalars)
    return !x->n && x->c < size ? x->c : size;
  double part = (double)affine_eval(*x, scalars, NULL) / fmax(1, (double)affine_eval(all, scalars, NULL));
  return part < 1 ? (int64_t)fmax(1, part * (double)size) : size;
}

/* The number of tiles of `tile` points along dimension `d` of the grid of stencil module `m` that are at its two ends:
 * one at each end, or all that lie outside of the middle, in which each stencil has its largest piece everywhere. */
static double tiles_at_ends(const Module *m, int d, int32_t tile) {
  const Const *scalars = default_scalars(m);
  Box middle = frame_middle(m);
  if (!scalars || box_equal(&middle, &m->grid))
    return 2;
  double before = (double)affine_eval(middle.lo[d], scalars, NULL) - (double)affine_eval(m->grid.lo[d], scalars, NULL),
         behind = (double)affine_eval(m->grid.hi[d], scalars, NULL) - (double)affine_eval(middle.hi[d], scalars, NULL);
  return fmax(1, ceil(before / tile)) + fmax(1, ceil(behind / tile));
}

/* The tiles that are examined: those away from edges; also those at edges, in one kernel with others; or as if tiles at
 * edges had a kernel of their own, though there is one. */
typedef enum EdgesAsked { NO_EDGES, EDGES_IN_KERNEL, EDGES_PARTED } EdgesAsked;

/* The time of the blocks of version `version` of kernel `k` of `m`, which makes `w`, in a launch of their own, if they
 * are the part `share` of `space`. *out gets the registers of its load, if these are more. The words that a thread
 * lacks are added to *out, for tiles at edges in proportion to their number. Instructions that are fetched anew are
 * added, too, except those of tiles at edges: these have code for pieces that no tile runs all of, and the expected
 * wait for it is up to three times too long. */
static LaunchTime version_time(const TargetInfo *t, const Module *m, Kernel *k, const LaunchWork *w, KernelSpace space,
                               double share, int version, ScheduleTime *out) {
  double part = version ? space.edges : 1;
  space = (KernelSpace){space.points * share, space.blocks * share, version};
  LaunchLoad load = launch_load(t, m, k, w, NULL, space);
  load.registers = kernel_version_registers(t, m, k, version, &load.spilled);
  load.at_edge = version ? load.work.instructions : 0;
  out->spilled += (int32_t)(part * load.spilled);
  out->fetched += version ? 0 : load.work.fetched;
  out->registers = load.registers > out->registers ? load.registers : out->registers;
  return model_launch(t, &load);
}

/* Sets each member of *out to the worse of its own and that of *one. */
static void keep_worst(const ScheduleTime *one, ScheduleTime *out) {
  out->spilled = one->spilled > out->spilled ? one->spilled : out->spilled;
  out->fetched = one->fetched > out->fetched ? one->fetched : out->fetched;
  out->registers = one->registers > out->registers ? one->registers : out->registers;
}

/* The time of the launch of kernel `k` if tiles at edges, the part space.edges of all, have a kernel of their own
 * beside that of others. */
static LaunchTime parted_time(const TargetInfo *t, const Module *m, Kernel *k, const LaunchWork *w, KernelSpace space,
                              ScheduleTime *out) {
  ScheduleTime worst = {0};
  LaunchTime both[] = {version_time(t, m, k, w, space, 1 - space.edges, 0, &worst),
                       version_time(t, m, k, w, space, space.edges, 1, &worst)};
  keep_worst(&worst, out);
  return space.edges >= 1 ? both[1] : model_beside(2, both);
}

/* The time of launch number `i` of sequence `seq` of kernel IR module `m`, to which stencil module `of` was lowered,
 * and which makes `w`, on a grid of `rank` extents `size` (of the last dimensions, where there are slices). Unless
 * `edges`, none of its tiles count as tiles at edges. *out gets its registers, spilled words and instructions fetched
 * anew, if these are more. */
static LaunchTime launch_time(const TargetInfo *t, const Module *of, const Module *m, const HostSeq *seq, int i,
                              const LaunchWork *w, int rank, const int64_t *size, EdgesAsked edges, ScheduleTime *out) {
  Kernel *k = &m->kernels[seq->ops[i].a];
  int lead = k->rank - rank;
  double slices = slices_of_size(rank, size), all_points = slices;
  KernelSpace space = {slices, slices, 0};
  bool streamed = family_row(w->schedule.family)->streamed;
  for (int d = lead; d < k->rank; d++) {
    int64_t points = streamed ? size[d - lead] : covered_points(m, k, d, size[d - lead]), rest = points - k->over[d];
    space.points *= (double)points;
    all_points *= (double)size[d - lead];
    space.blocks *= (double)(((rest > 1 ? rest : 1) + k->tile[d] - 1) / k->tile[d]);
  }
  space.blocks *= k->cluster ? k->cluster : 1;
  bool all = space.points >= all_points;
  for (int d = lead; d < k->rank && edges && kernel_has_versions(k); d++) {
    double blocks = fmax(3, (double)size[d - lead] / k->tile[d]),
           ends = all ? tiles_at_ends(of, d - lead, k->tile[d]) : 2;
    space.edges = 1 - (1 - space.edges) * fmax(0, blocks - ends) / blocks;
  }
  if (edges == EDGES_PARTED && kernel_has_versions(k))
    return parted_time(t, m, k, w, space, out);
  LaunchLoad load = launch_load(t, m, k, w, NULL, space);
  keep_worst(&(ScheduleTime){.spilled = load.spilled, .fetched = load.work.fetched, .registers = load.registers}, out);
  return model_launch(t, &load);
}

/* Keeps the first error of a trial in the `const char *` at `user`, which is NULL before. */
static void keep_first(void *user, const Diag *d) {
  const char **first = user;
  if (!*first && d->kind == DIAG_ERROR)
    *first = d->message;
}

/* The pipeline that lowers `m`, which has a plan, to be looked at. Streamed tiles of planes at edges have their long
 * loops split, if they are asked for as in a kernel of their own: the model counts the rounds between edges then. */
static const char *sketched(PassContext *c, const Module *m, EdgesAsked edges) {
  const char *text = family_pipeline(c->arena, c->target, m, false);
  bool splits = edges == EDGES_PARTED && m->grid.rank == GRID_RANK && family_row(m->plan->family)->streamed;
  return splits ? arena_printf(c->arena, "%s,split-loops", text) : text;
}

/* Ops of `b`, those in its ops among them. */
static int64_t ops_of(const Block *b) {
  int64_t n = 0;
  for (const Op *op = b->first; op; op = op->next) {
    n++;
    for (int i = 0; i < op->nblocks; i++)
      n += ops_of(op->blocks[i]);
  }
  return n;
}

/* The time that schedule `s` takes for `m`, which is lowered for it; see schedule_time. *why: what is wrong with it.
 * Kernels of what is around a box, few points of many pieces, are left to who asks. */
static bool time_lowered(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, EdgesAsked edges,
                         const char **why, ScheduleTime *out) {
  PassContext quiet = {.arena = c->arena, .target = c->target, .loaded = c->loaded, .sketch = true};
  Module planned = *m;
  int rank = m->grid.rank, count, n = 0;
  quiet.diags = diags_new(c->arena, keep_first, why);
  planned.plan = s;
  planned.plan_checked = true;
  LaunchWork *work = launch_works(c->target, m, s, &count);
  Module *k = count ? c->run(&quiet, NULL, sketched(c, &planned, edges), &planned) : NULL;
  if (!k || !k->host.nseqs)
    return false;
  for (int i = 0; i < k->nkernels; i++)
    out->ops += ops_of(k->kernels[i].body);
  const HostSeq *seq = &k->host.seqs[0];
  for (int i = 0; i < seq->nops && n <= count; i++) {
    bool beside = seq->ops[i].beside;
    if (seq->ops[i].kind != HOST_LAUNCH || k->kernels[seq->ops[i].a].leaves_out || (n == count && !beside))
      continue;
    n += !beside;
    if (k->kernels[seq->ops[i].a].idles)
      continue;
    LaunchTime t = launch_time(c->target, m, k, seq, i, &work[n - 1], rank,
                               size && size[0] ? size : model_large_grid(rank), edges, out);
    t.seconds -= beside ? t.launch : 0;
    out->bound = t.seconds / seq->steps > out->seconds ? t.bound : out->bound;
    out->warps = t.seconds / seq->steps > out->seconds ? t.occupancy.warps : out->warps;
    out->seconds += t.seconds / seq->steps;
    out->longest += t.alone[t.bound] / seq->steps;
  }
  return true;
}

/* The same; nothing is left in the arena but the reason out->why. */
static bool lowered_time(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, EdgesAsked edges,
                         ScheduleTime *out) {
  ArenaMark mark = arena_mark(c->arena);
  const char *why = NULL;
  *out = (ScheduleTime){0};
  bool ok = time_lowered(c, m, s, size, edges, &why, out);
  out->why = arena_release_text(c->arena, mark, ok ? NULL : why ? why : "it cannot be lowered");
  return ok;
}

/* A tile that was lowered: the level of its module that is not repeated, which copies of it share (module_trial). */
struct ModelEntry {
  Schedule s;
  int64_t size[MAX_RANK];
  EdgesAsked edges;
  int32_t n;
  const Stencil *level;
  bool ok;
  ScheduleTime time;
};

/* `text`, or none. */
static const char *text_of(const char *text) { return text ? text : ""; }

/* Are the launches of both mapped alike? What a plan says of the steps that remain makes no kernel that is looked at,
 * and cuts are what stencils say of them. */
static bool same_mapping(const Schedule *a, const Schedule *b) {
  int n = a->ngroups > 1 ? a->ngroups : 1, m = b->ngroups > 1 ? b->ngroups : 1;
  bool same = n == m && a->family == b->family && schedule_same(a, b, KNOBS_NUMBERS | KNOBS_WORDS) &&
              memcmp(a->map, b->map, sizeof a->map) == 0 && strcmp(text_of(a->repeats), text_of(b->repeats)) == 0;
  for (int i = 0; i < n && n > 1 && same; i++)
    same = same_mapping(&a->groups[i], &b->groups[i]);
  return same;
}

/* Do both lower the same stencils, cut alike, to the same launches? */
static bool same_question(const ModelEntry *a, const ModelEntry *b) {
  bool same = a->edges == b->edges && a->n == b->n && memcmp(a->size, b->size, sizeof a->size) == 0 &&
              same_mapping(&a->s, &b->s);
  for (int i = 0; i < a->n && same; i++)
    same = a->level[i].pieces == b->level[i].pieces && a->level[i].group == b->level[i].group;
  return same;
}

/* The entry of the cache that answers question `of`; NULL: there is none. */
static const ModelEntry *answered(const ModelCache *cache, const ModelEntry *of) {
  for (int i = 0; cache && i < cache->n; i++)
    if (same_question(&cache->entries[i], of))
      return &cache->entries[i];
  return NULL;
}

/* lowered_time, of each tile of one launch once. */
static bool time_once(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, EdgesAsked edges,
                      ScheduleTime *out) {
  ModelEntry own = {.s = *s, .edges = edges, .level = m->stencils};
  last_level(m, &own.n);
  if (size && size[0])
    memcpy(own.size, size, sizeof own.size);
  const ModelEntry *known = answered(c->cache, &own);
  if (known) {
    *out = known->time;
    return known->ok;
  }
  own.ok = lowered_time(c, m, s, size, edges, &own.time);
  if (c->cache)
    ARENA_PUSH(c->arena, c->cache->entries, c->cache->n, own);
  *out = own.time;
  return own.ok;
}

/* Words that a thread lacks are many from this part of its registers on: few are loaded again beside other work. */
enum { MANY_SPILLED = 16 };

bool schedule_lacks_many(const ScheduleTime *time) { return MANY_SPILLED * time->spilled > time->registers; }

bool schedule_time(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out) {
  return time_once(c, m, s, size, NO_EDGES, out);
}

bool schedule_time_with_edges(PassContext *c, const Module *m, const Schedule *s, const int64_t *size,
                              ScheduleTime *out) {
  return time_once(c, m, s, size, EDGES_IN_KERNEL, out);
}

bool schedule_time_parted(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out) {
  Schedule along = *s;
  if (!family_row(s->family)->tiled || s->edges != EDGES_APART)
    return schedule_time_with_edges(c, m, s, size, out);
  along.edges = EDGES_ALONG;
  return time_once(c, m, &along, size, EDGES_PARTED, out);
}

/* `m` if it was tiled for T steps, else a copy that is. */
static const Module *tiled_for(const Module *m, int T) {
  bool tiled = m->nstencils && m->stencils[0].has_extent && m->time_tile == T;
  return tiled ? m : plan_tiled_copy(m, T);
}

/* Sets *s to the overlapped tile of the defaults for module `m` on a large grid; false if there is none. */
static bool overlapped_tile(PassContext *c, const Module *m, Schedule *s) {
  Schedule open = {.family = FAMILY_OVERLAP, .edges = c->schedule ? c->schedule->edges : EDGES_OPEN};
  PassContext with = *c;
  with.schedule = &open;
  int T = schedule_levels(&with, m);
  Launch *l = tiled_launch(m, T);
  return !l->illegal && !schedule_launch(&with, &open, l, T, false, s);
}

/* Does a step compute roots, quotients or functions? If not, streamed tiles have always been faster, by far, so that no
 * time is spent on examining others. */
static bool computes_functions(const Module *m) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      for (const Op *op = st[i].pieces[k].body->first; op; op = op->next)
        if (op->nresults && type_is_float(op->results[0]->type) && op_additions(op) > 1 && !op_is_of_scalars(op))
          return true;
  return false;
}

double schedule_stream_seconds(PassContext *c, const Module *m, const Schedule *want, int T) {
  Schedule open = *want, s;
  ScheduleTime t;
  open.family = FAMILY_STREAM;
  const Module *tiled = tiled_for(m, T);
  if (schedule_streamed(c, &open, tiled_launch(tiled, T), T, &s) || !schedule_time(c, tiled, &s, want->size, &t))
    return INFINITY;
  return t.seconds;
}

/* Do T steps of `m` move so much that streaming them is bound by memory rather than by arithmetic? */
static bool moves_much(const TargetInfo *t, const Module *m, int T) {
  Launch *l = tiled_launch(m, T);
  Work w = {0};
  for (int i = 0; i < l->n; i++)
    stencil_work(m, &l->st[i], &w);
  return t->bandwidth > 0 && t->f32_rate > 0 && t->f64_rate > 0 &&
         launch_bytes(l) / t->bandwidth > tuning.bound_by_memory * (w.f32_ops / t->f32_rate + w.f64_ops / t->f64_rate);
}

/* The best of two thirds of `T` steps, two thirds of these and so on, as long as each is better, or of one step more or
 * less than the best, if it is clearly better than T; else T. */
static int fewer_levels(PassContext *c, const Module *m, const Schedule *want, int T) {
  double usual = T > 1 ? schedule_stream_seconds(c, m, want, T) : 0, least = usual;
  int best = T, last = T;
  for (int fewer = (2 * T + 1) / 3; fewer < last; fewer = (2 * fewer + 1) / 3) {
    double seconds = schedule_stream_seconds(c, m, want, fewer);
    last = fewer;
    if (seconds >= least)
      break;
    least = seconds;
    best = fewer;
  }
  for (int near = best - 1, middle = best; near <= middle + 1 && middle < T; near += 2) {
    double seconds = near > 0 && near != last && near < T ? schedule_stream_seconds(c, m, want, near) : INFINITY;
    best = seconds < least ? near : best;
    least = seconds < least ? seconds : least;
  }
  return least < tuning.clearly * usual ? best : T;
}

int schedule_better_levels(PassContext *c, const Module *m, const Schedule *want, int T, int more) {
  if (computes_functions(m))
    return fewer_levels(c, m, want, T);
  bool better = more > T && moves_much(c->target, m, T) &&
                schedule_stream_seconds(c, m, want, more) < tuning.better * schedule_stream_seconds(c, m, want, T);
  return better ? more : T;
}

bool schedule_streaming_wins(const PassContext *c, const Module *m) {
  return c->target->async_copy && !computes_functions(m);
}

bool schedule_overlaps(PassContext *c, const Module *m, const Schedule *want, const Schedule *stream) {
  Schedule over, wide = *stream;
  ScheduleTime mine, other;
  bool given = m->time_tile > 1;
  if (!c->target->simt || schedule_streaming_wins(c, m) || !overlapped_tile(c, m, &over) ||
      (given && over.T != m->time_tile))
    return false;
  if (given && stream->T != m->time_tile)
    return true;
  const Module *streamed = tiled_for(m, stream->T), *overlapped = over.T == stream->T ? streamed : tiled_for(m, over.T);
  if (!schedule_time(c, streamed, stream, NULL, &mine) || !schedule_time(c, overlapped, &over, NULL, &other) ||
      other.seconds >= tuning.clearly * mine.seconds)
    return false;
  schedule_widen(c, streamed, want, &wide);
  return schedule_time(c, streamed, &wide, NULL, &mine) && other.seconds < tuning.clearly * mine.seconds;
}

double schedule_streamed_ps(PassContext *c, const Module *m, const Schedule *want) {
  Schedule open = *want, s;
  ScheduleTime t;
  const Reduction *by;
  const int64_t *size = want->size[0] ? want->size : model_large_grid(m->grid.rank);
  int64_t most = most_levels(m, &by);
  double points = slices_of_size(m->grid.rank, size);
  if (!c->target->simt || want->family != FAMILY_AUTO || stream_is_not_better(c, m, want, most))
    return INFINITY;
  open.family = FAMILY_STREAM;
  int T = schedule_stream_levels(c, m, &open, most);
  const Module *tiled = plan_tiled_copy(m, T);
  if (schedule_streamed(c, &open, tiled_launch(tiled, T), T, &s) || !schedule_time(c, tiled, &s, size, &t))
    return INFINITY;
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  return t.seconds * 1e12 / points;
}

/* A tile that is expected to want all registers may spill, and does not replace another (acoustic_wave f64, 2048^2: 4
 * cells a lane spill 1316 bytes and make 21 GPts/s, 2 make 107). */
void schedule_widen(PassContext *c, const Module *m, const Schedule *want, Schedule *s) {
  int x = m->grid.rank - 1;
  bool tiled = m->nstencils && m->stencils[0].has_extent && m->time_tile == s->T;
  if (!tiled || m->grid.rank != 2 || want->elems[x] || s->elems[x] != 2)
    return;
  ScheduleTime usual, wide;
  Schedule wider = *s;
  wider.elems[x] *= 2;
  Launch *l = tiled_launch(m, s->T);
  if (!tile_fits(c->target, stream_new(l), &wider) || !stream_code_is_short(stream_new(l), &wider) ||
      !schedule_time(c, m, s, want->size, &usual) || !schedule_time(c, m, &wider, want->size, &wide))
    return;
  if (wide.registers < MOST_REGISTERS && wide.seconds < tuning.clearly * usual.seconds &&
      wide.longest < tuning.clearly * usual.longest)
    *s = wider;
}
