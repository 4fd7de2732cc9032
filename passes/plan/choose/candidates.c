/* candidates.c: lists the candidate tiles for a grid of known size. Each is a complete tile of a launch of T time
 * steps; cost.c finds its expected time, or the reason to exclude it.
 *
 * On a grid of few tiles most multiprocessors wait, and the time goes to launches, memory, and instructions without
 * other warps to hide their latency. If the size of the grid is known (`Schedule.size`, from `-for-grid` or the
 * params), below 2^26 points, in rank 3 at any size, and no number of the schedule is given, tiles from a table, with T
 * up to 64, 12, 6, are compared with the usual choice. Streamed tiles are compared from 2^19 points on in rank 2 and
 * 2^18 in rank 3. This holds on all hardware. Steps that are cut into several launches are not examined.
 *
 * *Rank 3, up to 2^25 points*. Blocks of 4 to 16 warps, lines of a warp, a half or a quarter of one, 1 to 4 lines and 2
 * or 4 cells a thread, 16 to 128 planes are compared (`PLANE_AXES` of few rounds). Work that a streamed tile of planes
 * does for all cells of a lane's line together (exchanges, copies, places) is counted for each line, not for each cell
 * (`stream_lane`). Four costs are factors, not counts: copies of less than 16 bytes, which go by the first-level cache,
 * take 1.36 of the time; tiles that overlap 1.21; a naive kernel, counted as a tile of one step and one cell a thread,
 * 0.79 of that (0.69 in f64), for it has neither barriers nor shared memory. See
 * docs/lab/model.md#planes-on-small-grids-2026-11-23. If an overlapped tile of one step is best elsewhere,
 * `-schedule=auto` takes `naive`, too. Steps of several stencils, fields with older levels and composites keep tiles,
 * which hold values between stencils that naive stores.
 *
 * *Rank 2*. Tiles of 7 and 9 steps, 12 and 16 cells a thread in one column or two, and blocks of 4 rows are examined,
 * too; above 8 cells a thread, and for two columns, only for steps of one field without roots: in others more values
 * are live than are counted, and they spill. Costs that the counts miss up to 2^22 points are in five numbers: a
 * streamed tile takes (rows / 32)^0.09 times as long, and up to 1.23 where instructions bound it; a tile (threads /
 * 256)^0.13 in blocks of more than 256 threads (f64: 512), (16 / warps of a core)^0.11 if these are fewer than 16, and
 * 0.96 if threads have two columns. See docs/lab/model.md#lines-and-tiles-on-small-grids-in-rank-2-2026-11-23.
 *
 * *Tiles in the registers of lanes* are counted as the values that each lane computes, shuffles, and exchanges with
 * other warps. They are examined for equations without roots, quotients, functions, older levels and mirrored or
 * clamped fields, from 2^16 points to 2^20, of one field in f32 to 2^22, with at most a quarter of a thread's registers
 * (f64: a third) in cells and rows of other warps. Where they are chosen they make 1.28 times as much as the earlier
 * choice (docs/lab/small-grids.md#tiles-in-the-registers-of-lanes-2026-11-23).
 *
 * *Many rounds*. From 2^22 points on in rank 2, 2^25 in rank 3 (`many_rounds`), blocks fill the cores many times, and
 * those at edges are few. The roofs of streamed tiles hardly add up then, for loads run ahead and blocks that begin and
 * end hide each other: they blend with exponent 5 in place of 2.8. Streamed tiles of rows have 64 rows at least, and
 * take 0.85 of the time that is counted so, times (rows / 32)^0.2 in a single round, less in more. Fitted tiles of
 * planes are counted by their smaller number (of 512^3, the usual 56 lines at a time are 10 tiles of 560, 64 lines are
 * 8 of 512), and streamed tiles that begin or end at an edge like others. Blocks of 8 to 16 warps, lines of a warp or
 * of half a warp, 1 to 9 lines and 2 or 4 cells a thread, up to two steps of equations of more than 48 instructions,
 * are compared (`PLANE_AXES` of many), in f32: in f64 none was better than the usual one. A thread may keep values in
 * the registers that are left to it: 68 words in rows for 16 warps, 110 for 12, 160 for 8. Copies of less than 16 bytes
 * take 1.1 there. 8 warps are slow to begin, so that they are taken for streamed tiles of 128 to 256 planes alone, all
 * of which run at once. See docs/lab/model.md#one-count-on-large-grids-of-planes-and-between-2026-11-23.
 *
 * *Loads* run four planes ahead where shared memory has room that nothing else would use (`stream_planes_ahead`), and
 * in f64 only where the unrolled steps are whole rounds of the ring, so that its places are constants; else two. */
#include "passes/launch/slices.h"
#include "passes/plan/axes.h"
#include "passes/plan/plan.h"

#include <string.h>

bool plan_query(PassContext *c, const Module *m, const Schedule *want, int64_t most, PlanQuery *q) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  *q = (PlanQuery){.c = c,
                   .m = m,
                   .t = c->target,
                   .rank = m->grid.rank,
                   .want = *want,
                   .most = most,
                   .points = schedule_points(want, m->grid.rank)};
  q->tiled = n > 0 && (m->time_tile > 1 || m->stencils[0].has_extent) ? m->time_tile : 0;
  q->want.T = want->T == q->tiled ? 0 : want->T;
  return schedule_depends_on_size(&q->want) && q->points >= 1 && q->t->simt && q->t->cores >= 1 && q->t->f32_rate > 0 &&
         n > 0 && group_count(n, st) <= 1;
}

/* Adds tile `s` of a launch. */
static void add(const PlanQuery *q, PlanCandidates *out, const Schedule *s, const PlanLaunch *of) {
  PlanCandidate k = {.s = *s, .of = of};
  ARENA_PUSH(q->c->arena, out->all, out->n, k);
}

/* Adds the overlapped tiles of launch `l` of T steps. */
static void add_overlaps(const PlanQuery *q, PlanCandidates *out, const Launch *l, int T) {
  const PlanAxes *axes = plan_axes_of(FAMILY_OVERLAP, q->rank, true);
  const PlanLaunch *of = plan_launch(q, l, false);
  Schedule s = {.family = FAMILY_OVERLAP, .T = T};
  bool more = q->rank == 2;
  for (int b = 0; plan_axis_numbers(axes->values[AXIS_BLOCK], b, more, s.block); b++)
    for (int e = 0; plan_axis_numbers(axes->values[AXIS_ELEMS], e, more, s.elems); e++)
      add(q, out, &s, of);
}

/* Does a field's rule lead to other cells near its edge? Tiles in lanes then select the value among several cells, and
 * spill. */
static bool leads_back(const Module *m) {
  bool leads = false;
  for (int f = 0; f < m->nfields; f++)
    for (int d = 0; d < m->grid.rank; d++)
      leads |= outside_leads(m->fields[f].outside[d]);
  return leads;
}

/* Were tiles in lanes measured to pay for this launch? In rank 2 with warps of NVIDIA's length, for equations without
 * roots, quotients and functions, older levels, and rules that lead back from an edge, on grids neither so small that
 * nearly all tiles are at edges nor so large that streamed tiles have warps enough. For several fields, or in f64,
 * grids must be smaller. */
static bool has_lanes(const PlanQuery *q, const PlanLaunch *of, int T) {
  bool one = of->words == 1 && loaded_fields(of->l) <= 1;
  bool fits = q->points >= tuning.least_lanes && q->points <= (one ? tuning.parted_points : tuning.most_lanes);
  return fits && q->rank == 2 && !leads_back(q->m) && !q->want.tiles && q->t->async_copy && q->t->lanes == WARP_LANES &&
         !of->functions && !reads_history(q->m) && T > 1;
}

/* Adds the overlapped tiles of launch `l` whose cells stay in the registers of lanes. Tiles of many cells were measured
 * to lose where tiles at edges are in the same kernel, which then has all of their code twice. */
static void add_lanes(const PlanQuery *q, PlanCandidates *out, const Launch *l, int T) {
  const PlanLaunch *of = plan_launch(q, l, false);
  const PlanAxes *axes = plan_axes_of_lanes();
  Schedule s = {.family = FAMILY_OVERLAP, .T = T, .tiles = TILES_LANES};
  if (!has_lanes(q, of, T))
    return;
  for (int b = 0; plan_axis_numbers(axes->values[AXIS_BLOCK], b, false, s.block); b++)
    for (int e = 0; plan_axis_numbers(axes->values[AXIS_ELEMS], e, false, s.elems); e++) {
      bool few = s.elems[0] * s.elems[1] <= tuning.lane_most_cells;
      if (s.elems[1] * of->words <= VECTOR_BYTES / 4 && (few || q->points >= tuning.parted_points))
        add(q, out, &s, of);
    }
}

/* Makes the lines of streamed tile `s` as long as a wave of the target, and its blocks no smaller than one: otherwise
 * half of the lanes would be off. False if the block then equals `last`, the one before; *last becomes its block. */
static bool fill_waves(const PlanQuery *q, Schedule *s, int32_t *last) {
  if (q->rank < GRID_RANK && s->block[q->rank - 1] < q->t->lanes)
    s->block[q->rank - 1] = q->t->lanes;
  bool same = memcmp(s->block, last, sizeof s->block) == 0;
  memcpy(last, s->block, sizeof s->block);
  return !same;
}

/* Adds the tiles like streamed tile `s` with that number of elements, and with rows out of `axes`. */
static void add_rows(const PlanQuery *q, PlanCandidates *out, Schedule s, const PlanAxes *axes, const PlanLaunch *of) {
  int32_t rows[MAX_RANK];
  if (q->rank == 1)
    add(q, out, &s, of);
  for (int i = 0; plan_axis_numbers(axes->values[AXIS_CHUNK], i, false, rows); i++) {
    s.chunk = rows[0];
    add(q, out, &s, of);
  }
}

/* Adds the streamed tiles of launch `l` of T steps. */
static void add_streamed(const PlanQuery *q, PlanCandidates *out, const Launch *l, int T) {
  static const Schedule open = {.family = FAMILY_STREAM};
  const PlanAxes *axes = plan_axes_of(FAMILY_STREAM, q->rank, true);
  Schedule s;
  int32_t last[MAX_RANK] = {0};
  if (schedule_streamed(q->c, &open, l, T, &s))
    return;
  const PlanLaunch *of = plan_launch(q, l, true);
  for (int b = 0; plan_axis_numbers(axes->values[AXIS_BLOCK], b, false, s.block); b++)
    if (fill_waves(q, &s, last))
      for (int e = 0; plan_axis_numbers(axes->values[AXIS_ELEMS], e, false, s.elems); e++)
        add_rows(q, out, s, axes, of);
}

/* Is the grid so large that only streamed tiles of planes are compared with the choice for any large grid? */
static bool is_large(const PlanQuery *q) {
  return q->points >= (q->rank < GRID_RANK ? tuning.large_grid[q->rank - 1] : tuning.many_rounds[q->rank - 1]);
}

/* Adds streamed tile `s` of launch `l`: with the number of planes that fills the cores best, and with those in `of`. */
static void add_chunks(const PlanQuery *q, PlanCandidates *out, const PlanAxes *of, Schedule s, const PlanLaunch *l) {
  int32_t planes[MAX_RANK];
  s.ahead = q->t->async_copy ? stream_planes_ahead(q->t, l->p, &s) : 1;
  s.tiles = q->want.tiles ? q->want.tiles : stream_tiles_kind(l->p, &s, q->want.size);
  s.chunk = stream_rows(q->t, l->p, &s, q->want.size);
  add(q, out, &s, l);
  for (int i = 0; plan_axis_numbers(of->values[AXIS_CHUNK], i, false, planes); i++) {
    s.chunk = planes[0];
    add(q, out, &s, l);
  }
}

/* Adds streamed tiles of planes of blocks like those of `s` with the lines and cells a thread, and planes, in `of`. If
 * the model is to compare it, cells of a line are copied 8 or 16 bytes at a time. */
static void add_lines(const PlanQuery *q, PlanCandidates *out, const PlanAxes *of, Schedule s, const PlanLaunch *l) {
  for (int e = 0; plan_axis_numbers(of->values[AXIS_ELEMS], e, false, s.elems); e++) {
    bool wide = s.elems[2] * l->words > VECTOR_BYTES / 4;
    if (tile_dim(l->p, &s, 1).stored >= 1 && tile_dim(l->p, &s, 2).stored >= 1 && !wide)
      add_chunks(q, out, of, s, l);
  }
}

/* Adds the streamed tiles of planes of launch `l` of T steps: many shapes, some of which waste fewer lanes, lines and
 * blocks of the grid's extents than the usual one; the rows of each are those that fill the cores best. On large grids
 * none was measured to be better than the usual one for f64, nor for three steps of long equations: these are listed
 * for people alone. */
static void add_planes(const PlanQuery *q, PlanCandidates *out, const Launch *l, int T) {
  bool small = q->t->async_copy && q->points < tuning.many_rounds[2] && !q->all;
  const PlanAxes *axes = plan_axes_of_planes(!small);
  Schedule open = q->want, s;
  open.family = FAMILY_STREAM;
  if (schedule_streamed(q->c, &open, l, T, &s))
    return;
  const PlanLaunch *of = plan_launch(q, l, true);
  bool heavy = stream_code(l) > tuning.short_equation * T && T > tuning.heavy_levels;
  if (is_large(q) && !q->all && (of->words > 1 || heavy))
    return;
  for (int b = 0; plan_axis_numbers(axes->values[AXIS_BLOCK], b, false, s.block); b++)
    add_lines(q, out, axes, s, of);
}

/* Adds a kernel with a thread for each point, which has no tiles: it is counted as a tile of one step and one cell a
 * thread. Only for steps of one stencil, see plan_is_naive. */
static void add_naive(const PlanQuery *q, PlanCandidates *out, const Launch *l) {
  static const Schedule one = {.family = FAMILY_OVERLAP, .T = 1};
  Schedule s = {.family = FAMILY_NAIVE, .T = 1, .elems = {1, 1, 1}};
  for (int d = 0; d < GRID_RANK; d++)
    s.block[d] = (int32_t)tuning.tile_block[GRID_RANK - 1][d];
  if (plan_is_naive(q->m, &q->want, &one) && q->rank == GRID_RANK)
    add(q, out, &s, plan_launch(q, l, false));
}

/* Adds the tiles of T steps in the family asked for. */
static void add_levels(const PlanQuery *q, PlanCandidates *out, int T) {
  Launch *l = tiled_launch(q->m, T);
  bool large = is_large(q) && !q->all, any = q->want.family == FAMILY_AUTO && !large;
  if (l->illegal)
    return;
  if (any && T == 1)
    add_naive(q, out, l);
  if (any || q->want.family == FAMILY_OVERLAP) {
    add_overlaps(q, out, l, T);
    add_lanes(q, out, l, T);
  }
  bool enough = q->points >= tuning.few_points[q->rank - 1], planes = q->rank == GRID_RANK && enough;
  if ((any && (q->all || (enough && !planes))) || (q->want.family == FAMILY_STREAM && !large))
    add_streamed(q, out, l, T);
  if (planes && q->want.family != FAMILY_OVERLAP)
    add_planes(q, out, l, T);
}

/* Adds the choice for a large grid within the family of q->want. */
static void add_usual(const PlanQuery *q, PlanCandidates *out) {
  Schedule open = q->want, s;
  PassContext with = *q->c;
  memset(open.size, 0, sizeof open.size);
  with.schedule = &open;
  if (open.family == FAMILY_AUTO)
    open.family = stream_is_not_better(q->c, q->m, &open, q->most) ? FAMILY_OVERLAP : FAMILY_STREAM;
  int own = schedule_levels(&with, q->m);
  Launch *l = tiled_launch(q->m, own);
  if ((q->tiled && q->tiled != own) || l->illegal)
    return;
  bool streamed = open.family == FAMILY_STREAM;
  if (!(streamed ? schedule_streamed(&with, &open, l, own, &s) : schedule_launch(&with, &open, l, own, false, &s))) {
    add(q, out, &s, plan_launch(q, l, streamed));
    out->all[out->n - 1].usual = true;
  }
}

/* Is the usual candidate the only one? It is on large grids, except for streamed tiles of planes. */
static bool is_settled(const PlanQuery *q, const PlanCandidates *out) {
  bool planes = q->rank == GRID_RANK && out->n && out->all[0].of->p;
  return is_large(q) && !planes && !q->all;
}

void plan_candidates(const PlanQuery *q, PlanCandidates *out) {
  const PlanAxes *axes = plan_axes_of(FAMILY_OVERLAP, q->rank, true);
  int32_t T[MAX_RANK];
  *out = (PlanCandidates){0};
  add_usual(q, out);
  if (is_settled(q, out))
    return;
  if (q->tiled)
    add_levels(q, out, q->tiled);
  for (int i = 0; plan_axis_numbers(axes->values[AXIS_T], i, q->rank == 2, T) && !q->tiled; i++)
    if (T[0] <= q->most)
      add_levels(q, out, T[0]);
}
