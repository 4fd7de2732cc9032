/* schedule-stream.c: makes the schedule of streamed tiles (lower-stream.c) legal for a target, with defaults for open
 * parts.
 *
 * *`auto`* considers streamed tiles (`lower-stream`, `lower-walk`) if a tile of several steps can be streamed
 * (`stream_is_not_better` gives the reasons against it). If a step computes roots, quotients or functions, and for
 * every step on targets without asynchronous copies (AMD, NVIDIA before sm_80), the streamed and the overlapped tiles
 * of the defaults are lowered, examined and dropped (`schedule-model.c`, some ten milliseconds): the overlapped tiles
 * are taken if the cost model (docs/performance.md) expects them to need less than 0.92 of the time on a large grid.
 * Other steps are not examined: in all measurements, which were on NVIDIA only, their streamed tiles were between 1.5
 * and 3.5 times as fast as overlapped tiles.
 *
 * *Time steps*. T of a streamed tile is the largest, up to 16, 12, 4 in one, two, three dimensions, with at most a
 * certain number of words of a thread's registers in windows, with code that is not too long, and with a modest halo.
 * In two dimensions the planner then asks the cost model (streamed tiles are lowered and dropped). If a step computes
 * roots, quotients or functions, it tries two thirds as many steps, then two thirds of these and so on, then one more
 * or less; the result must take less than 0.92 of the time. Otherwise, if memory traffic of a launch takes 1.3 times as
 * long as its arithmetic, it tries up to half as many more steps, which may have two fifths more words, and a fifth
 * more code and halo; they must take less than 0.95. So gradient2d in f64 has T = 4 in place of 8 (456 GPts/s for 346),
 * fdtd2d 12 in place of 8 (f32 1300 for 1184, f64 657 for 553), acoustic_wave 3 in place of 2 (f32 337 for 310, f64 185
 * for 153); these with streamed tiles of 512 rows in place of 256. */
#include "passes/plan/plan.h"
#include "passes/plan/choose/cpu-stream.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Limits of any request. */
enum { MAX_STREAM_T = 64, MAX_CHUNK = 1 << 20, MAX_AHEAD = 16, MAX_CELLS = 64, MAX_THREADS = 1024 };

/* The greatest values that are tried for open knobs where the usual ones do not fit: rows ahead, lines of a thread. */
enum { MOST_OPEN_AHEAD = 4, MOST_OPEN_LINES = 8 };

/* The state of a choice: the request for module `m`, and a place for the result. */
typedef struct Chooser {
  PassContext *c;
  const Module *m;
  int rank;
  const Schedule *want;
  Schedule *out;
} Chooser;

/* Bytes of the largest type of a field that is stored: it decides how many cells a lane has. */
static int widest_type(const Launch *l) {
  int bytes = 1;
  for (int f = 0; f < l->m->nfields; f++)
    if (launch_use(l, f)->stored && type_size(l->m->fields[f].type) > bytes)
      bytes = (int)type_size(l->m->fields[f].type);
  return bytes;
}

/* The reason why launch `l` cannot be streamed at all, NULL if it can. */
static const char *why_not(const Chooser *r, const Launch *l) {
  const TargetInfo *t = r->c->target;
  if (!t->simt && r->rank < 2)
    return "a grid of one dimension has no rows to stream along";
  if (t->simt && t->lanes % STREAM_LANES)
    return arena_printf(r->c->arena, "target %s has no warps of %d threads", t->name, STREAM_LANES);
  if (l->illegal)
    return l->illegal;
  for (int i = 0; i < l->n; i++)
    if (l->st[i].sweep || stencil_is_scaled(&l->st[i]))
      return arena_printf(r->c->arena, "'%s' takes whole columns or reads another level", l->st[i].name);
  for (int f = 0; f < r->m->nfields; f++)
    if (launch_use(l, f)->stored && launch_use(l, f)->loaded && !launch_use(l, f)->paired)
      return arena_printf(r->c->arena, "field '%s' is written in place", r->m->fields[f].name);
  return NULL;
}

/* The mapping of launch `l`. */
static Mapping *pipeline(const Chooser *r, const Launch *l) {
  return r->c->target->simt ? stream_new(l) : stream_alone(l);
}

/* Sets the shape of a rank 3 block and a thread for fields of up to `bytes` an element: lines of 64 cells, so that a
 * thread has four and only the outer two are exchanged through shared memory, which bounds such streamed tiles. The
 * cells are half of a thread's registers if a block has eight warps (f64), all of them if it has sixteen. */
static void choose_planes(const Schedule *want, int bytes, Schedule *s) {
  bool wide = bytes > 4;
  if (!want->block[1])
    s->block[1] = (int32_t)tuning.plane_warps / (wide ? 2 : 1);
  if (!want->elems[2])
    s->elems[2] = tuning.plane_cells;
  if (!want->elems[1])
    s->elems[1] = tuning.plane_lines;
}

/* Planes of a streamed tile in rank 3 for a grid of unknown size: so many that at most an eighth more are streamed, if
 * the long chunk is enough for that; short chunks leave more tiles away from the edge. */
static int32_t planes_of(const Mapping *p) {
  bool few = tuning.halo_planes * (double)(p->halo.lo[0] + p->last) > tuning.usual_rows / 2;
  return (int32_t)(few ? tuning.usual_rows : tuning.usual_rows / 2);
}

/* Chooses all but T, for launch `l` with mapping `p`. In rank 3 loads run about as many steps ahead as are unrolled, so
 * that places are constants. */
static void choose(const Chooser *r, const Launch *l, const Mapping *p, Schedule *s) {
  int rank = r->rank, x = rank - 1, bytes = widest_type(l), warps = (int)tuning.stream_warps;
  const Schedule *w = r->want;
  if (!r->c->target->simt) {
    cpu_stream_choose(r->c->target, p, r->want, s);
    s->tiles = w->tiles;
    return;
  }
  for (int d = 0; d < GRID_RANK; d++) {
    s->block[d] = w->block[d] && d < rank ? w->block[d] : 1;
    s->elems[d] = w->elems[d] && d < rank ? w->elems[d] : 1;
  }
  if (!w->block[x])
    s->block[x] = rank == 1 ? STREAM_LANES * warps : rank == 2 ? r->c->target->lanes : STREAM_LANES;
  if (rank == 2 && !w->block[0])
    s->block[0] = warps * STREAM_LANES / stream_lanes(s, rank);
  if (rank < 3 && !w->elems[x])
    s->elems[x] = (rank == 1 ? (int32_t)tuning.line_bytes : VECTOR_BYTES) / bytes;
  if (rank == 3)
    choose_planes(w, bytes, s);
  s->cluster = w->cluster;
  s->chunk = rank == 1 ? 1 : w->chunk ? w->chunk : rank == 2 ? (int32_t)tuning.usual_rows : planes_of(p);
  s->ahead = w->ahead ? w->ahead : r->c->target->async_copy && rank > 1 ? (int32_t)tuning.usual_ahead : 1;
  if (rank == 3 && s->ahead > 1 && !w->ahead)
    s->ahead = stream_planes_ahead(r->c->target, p, s);
  s->tiles = w->tiles ? w->tiles : stream_tiles_kind(p, s, w->size);
  if (rank > 1 && w->size[0] && !w->chunk)
    s->chunk = stream_rows(r->c->target, p, s, w->size);
}

/* Sets *s to the usual tile of T steps, and returns its mapping; NULL: it cannot be streamed. `over`: a store may
 * overwrite a field that is read at its point alone. */
static Mapping *usual_tile(const Chooser *r, int T, bool over, Schedule *s) {
  Launch *l = tiled_launch(r->m, T);
  *s = (Schedule){.T = T};
  if (over)
    launch_store_over(l);
  if (why_not(r, l))
    return NULL;
  Mapping *p = pipeline(r, l);
  choose(r, l, p, s);
  return p;
}

/* Is a tile of several time steps one that defaults should take? */
static bool is_good(const Mapping *p, const Schedule *s, int rank) {
  return stream_is_comfortable(p, s) && tile_redundancy(p, s) <= tuning.stream_halo[rank - 1];
}

/* The number of time steps of a streamed tile in one dimension whose usual number is `T`: twice as many if hardly more
 * points are computed for that. */
static int doubled_T(const Chooser *r, int T, int64_t most) {
  Schedule s;
  if (r->rank != 1 || !r->c->target->simt || T < tuning.stream_levels[0] || 2 * T > most)
    return T;
  const Mapping *p = usual_tile(r, 2 * T, false, &s);
  return p && tile_fits(r->c->target, p, &s) && tile_redundancy(p, &s) <= tuning.doubled_halo ? 2 * T : T;
}

/* Reduces the rows ahead, then the warps, where they are open, until the block fits the target, or no more can be taken
 * away. */
static void fit_streamed(const Chooser *r, const Mapping *p, Schedule *s) {
  int y = r->rank - 2;
  while (r->c->target->simt && !tile_fits(r->c->target, p, s)) {
    Schedule less = *s;
    if (!r->want->ahead && s->ahead > 2)
      less.ahead--;
    else if (y >= 0 && !r->want->block[y] && s->block[y] > 1)
      less.block[y] /= 2;
    if ((less.ahead == s->ahead && (y < 0 || less.block[y] == s->block[y])) ||
        (y > 0 && tile_dim(p, &less, y).stored < 1))
      return;
    *s = less;
  }
}

/* Time steps a tile, at most `most`: as many as there are registers for, without wasting them on the halo. `fewer`: of
 * tiles with fewer warps than usual if the usual ones do not fit. 0: none is legal. */
static int good_T(const Chooser *r, int64_t most, bool fewer) {
  int top = (int)tuning.stream_levels[r->rank - 1];
  for (int T = most < top ? (int)most : top; T > 0; T--) {
    Schedule s;
    const Mapping *p = usual_tile(r, T, false, &s);
    if (p && fewer)
      fit_streamed(r, p, &s);
    if (p && tile_fits(r->c->target, p, &s) && (T == 1 || is_good(p, &s, r->rank)))
      return doubled_T(r, T, most);
  }
  return 0;
}

/* The expected time of a step in tiles of T steps that one thread streams; INFINITY: there are none. */
static double streamed_time(const Chooser *r, int T, bool sized) {
  Schedule s;
  const Mapping *p = usual_tile(r, T, true, &s);
  if (!p)
    return INFINITY;
  CpuStreamParts w = cpu_stream_parts(r->c->target, p);
  return tile_fits(r->c->target, p, &s) ? cpu_stream_ns(&w, &s, sized) : INFINITY;
}

/* The most time steps a tile that are tried, and twice that, for tiles that suit how often runs stop. */
enum { MOST_WALKED = 16, MOST_SUITED = 2 * MOST_WALKED };

/* The time steps of tiles that one thread streams, at most `most`, that are expected to take the least time; more steps
 * only if that is shorter by some per cent. 0: none is legal. ns: by number of steps, becomes the times of a step in
 * the tiles that were tried. */
static int fastest_T(const Chooser *r, int64_t most, double ns[MOST_SUITED]) {
  int top = cpu_stream_most_levels(r->m), best = 0;
  double least = INFINITY;
  for (int T = 1; T <= top && T <= most && T <= MOST_WALKED; T = plan_next_value(T)) {
    ns[T] = streamed_time(r, T, false);
    if (ns[T] < tuning.barely_better * least) {
      least = ns[T];
      best = T;
    }
  }
  return best;
}

/* The time of a step in tiles of t: the known one (not 0 in ns), or one interpolated between the nearest known ones, or
 * that of the longest below. */
static double about_ns(const double ns[MOST_SUITED], int t) {
  int below = t, above = t;
  while (below > 1 && ns[below] == 0)
    below--;
  while (above < MOST_SUITED - 1 && ns[above] == 0)
    above++;
  if (below == t || ns[above] == 0 || !isfinite(ns[below]) || !isfinite(ns[above]))
    return ns[below];
  return ns[below] + (ns[above] - ns[below]) * (t - below) / (above - below);
}

/* The time of `every` steps in tiles of T steps, with the remaining steps in tiles of half as many, of half of that,
 * and so on (lower-steps.c). exact: the chooser that finds each time that is not in ns yet, NULL: times are
 * interpolated. */
static double time_between_stops(const Chooser *exact, int T, int64_t every, double ns[MOST_SUITED]) {
  double sum = 0;
  for (int t = T; every > 0; t = t > 1 ? t / 2 : 1) {
    if (every < t)
      continue;
    if (exact && ns[t] == 0)
      ns[t] = streamed_time(exact, t, false);
    sum += (double)(every / t * t) * about_ns(ns, t);
    every %= t;
  }
  return sum;
}

/* Time steps of such tiles, at most `most`, that also suit how often runs stop: from half as many to half as many more
 * than otherwise, if the steps before a stop take clearly less time. To find the time of a tile all its levels have to
 * be made: so that is done for one number of steps alone, the best one as far as others tell. */
static int T_between_stops(const Chooser *r, int64_t most) {
  double ns[MOST_SUITED] = {0}, least = INFINITY;
  int64_t every = plan_stops(r->m, r->want);
  most = r->want->every && r->want->every < most ? r->want->every : most;
  int T = fastest_T(r, most, ns), best = T;
  if (T < 2 || every % T == 0)
    return T;
  for (int t = T / 2 + 1; t <= T + T / 2 && t <= most; t++) {
    double took = t == T ? INFINITY : time_between_stops(NULL, t, every, ns);
    best = took < least ? t : best;
    least = took < least ? took : least;
  }
  double otherwise = time_between_stops(r, T, every, ns);
  if (best == T || least > otherwise)
    return T;
  return time_between_stops(r, best, every, ns) < tuning.barely_better * otherwise ? best : T;
}

/* The default time steps a tile. Several steps with few warps beat a single one with many: where shared memory allows
 * no more than 64 KiB a block, the model expects j3d7pt on MI300X at 861 GPts/s in place of 529. */
static int default_T(const Chooser *r, int64_t most) {
  if (!r->c->target->simt)
    return T_between_stops(r, most);
  int T = good_T(r, most, false);
  return T > 1 || most < 2 || r->rank < 3 ? T : good_T(r, most, true);
}

/* More time steps than `T`, at most half as many more, for which there are registers if the limits of good tiles are
 * relaxed. `T` if there are none. */
static int larger_T(const Chooser *r, int T, int64_t most) {
  int top = T + (T + 1) / 2;
  for (int more = top < most ? top : (int)most; more > T; more--) {
    Schedule s;
    const Mapping *p = usual_tile(r, more, false, &s);
    bool dear = !p || (double)stream_thread_words(p, &s) > tuning.more_words * (double)stream_good_words(&s, r->rank) ||
                (double)stream_thread_code(p, &s) > tuning.more_work * tuning.good_code[r->rank - 1];
    if (!dear && tile_fits(r->c->target, p, &s) &&
        tile_redundancy(p, &s) <= tuning.more_work * tuning.stream_halo[r->rank - 1])
      return more;
  }
  return T;
}

/* Is a streamed tile of `T` steps, more than usual, within the relaxed limits? */
static bool has_room(const Chooser *r, int T) {
  Schedule s;
  const Mapping *p = usual_tile(r, T, false, &s);
  return p && tile_fits(r->c->target, p, &s) && is_good(p, &s, r->rank);
}

/* The time of a step of runs with the known stops, in streamed tiles of T steps; infinite: there are none. */
static double stopped_time(const Chooser *r, int T) {
  RunLaunches run = plan_run_launches(r->m, r->want->every, T, 1);
  double whole = schedule_stream_seconds(r->c, r->m, r->want, T),
         between = run.between ? schedule_stream_seconds(r->c, r->m, r->want, run.t) : 0,
         single = run.single ? schedule_stream_seconds(r->c, r->m, r->want, 1) : 0;
  return plan_run_time(&run, T, whole, between, single);
}

/* The time steps a tile in place of T, if the steps from one stop of runs to the next are known and T does not divide
 * them: a divisor of them from half of T to half as many more, at most `most`, if tiles of so many steps are expected
 * to take less time including all steps that T leaves over; else T. */
static int suited_T(const Chooser *r, int T, int64_t most) {
  int64_t every = plan_stops(r->m, r->want);
  int best = T;
  if (T < 2 || !every || every % T == 0)
    return T;
  double least = stopped_time(r, T);
  for (int t = T / 2 + 1; t <= T + T / 2 && t <= most; t++) {
    double took = every % t == 0 && has_room(r, t) ? stopped_time(r, t) : INFINITY;
    best = took < least ? t : best;
    least = took < least ? took : least;
  }
  return best;
}

/* The time steps a tile if nothing is given, for a module that was not tiled: those of default_T, or a number that the
 * cost model finds better. For a module that was tiled: its number of steps, if it was tiled for that. */
static int unstopped_T(const Chooser *r, int64_t most) {
  int T = default_T(r, most), tiled = r->m->time_tile;
  if (T < 1 || r->rank != 2 || !r->c->target->simt || r->want->T)
    return T;
  int more = larger_T(r, T, most < tuning.stream_levels[1] ? most : (int64_t)tuning.stream_levels[1]);
  if (tiled > 1)
    return tiled <= more ? tiled : T;
  return schedule_better_levels(r->c, r->m, r->want, T, more);
}

/* The same, where the stops of runs are known. */
static int chosen_T(const Chooser *r, int64_t most) {
  int64_t every = plan_stops(r->m, r->want);
  int tiled = r->m->time_tile, T;
  if (!r->c->target->simt || !every || r->want->T)
    return unstopped_T(r, most);
  most = every < most ? every : most;
  if (tiled > 1 && every % tiled == 0)
    return tiled;
  T = unstopped_T(r, most);
  return tiled > 1 ? T : suited_T(r, T, most);
}

int schedule_stream_levels(PassContext *c, const Module *m, const Schedule *want, int64_t most) {
  Chooser r = {c, m, m->grid.rank, want, NULL};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  if (group_count(n, st) > 1)
    return 1;
  int T = want->T ? want->T : chosen_T(&r, most);
  return T > most ? (int)most : T > 1 ? T : 1;
}

/* Does the size of the code, not of the windows, limit a tile to one time step? */
static bool is_compute_bound(const Chooser *r) {
  Schedule s;
  const Mapping *p = usual_tile(r, 2, false, &s);
  return p && tile_fits(r->c->target, p, &s) && stream_thread_words(p, &s) <= stream_good_words(&s, r->rank);
}

/* Does the model decide whether planes are streamed one step at a time? Rows of overlapped tiles are in shared memory,
 * so another tile may have room for values for which the usual one has none. Only hardware with asynchronous copies was
 * measured. */
static bool leaves_planes_to_model(const Chooser *r) {
  return r->c->target->simt && r->rank == GRID_RANK && !r->c->target->async_copy;
}

/* The requested time steps a tile, reduced to the possible number, on a target without threads; 0: none were
 * requested. */
static int asked_T(const PassContext *c, int64_t most) {
  int T = c->schedule ? c->schedule->T : 0;
  return T > most ? (int)most : T;
}

/* Does a stencil of launch `l` read beside its point? */
static bool reads_beside(const Launch *l) {
  bool any = false;
  for (int i = 0; i < l->n; i++)
    for (int k = 0; k < l->st[i].npieces; k++)
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        for (int d = 0; d < MAX_RANK; d++)
          any = any || (op->code == OP_ACCESS && op->off[d]);
  return any;
}

/* The time steps of the tiles that one thread would stream: as requested, as the module was tiled for, or those that
 * are expected to take the least time. 0: none is legal. */
static int cpu_T(const Chooser *r, int64_t most) {
  int asked = asked_T(r->c, most);
  return asked ? asked : r->m->time_tile > 1 ? r->m->time_tile : default_T(r, most);
}

/* stream_is_not_better on targets without threads; *apart: the only reason is that a launch of plain loops for each
 * stencil is expected to take less time. For a module that was tiled for several steps the choice has been made
 * already. */
static const char *cpu_stream_is_not_better(const Chooser *r, int64_t most, bool *apart) {
  Launch *one = tiled_launch(r->m, 1);
  const char *why = why_not(r, one);
  Schedule s;
  *apart = false;
  if (why && (most < 2 || why_not(r, tiled_launch(r->m, 2))))
    return why;
  if (!reads_beside(one))
    return "no stencil reads beside its point";
  int T = cpu_T(r, most);
  if (T < 1 || (T == 1 && why))
    return T < 1 ? "no tile fits the target" : why;
  if (T == 1 && one->n == 1)
    return "it would be for one time step only";
  const char *no = schedule_streamed(r->c, r->want, tiled_launch(r->m, T), T, &s);
  if (no || T == asked_T(r->c, most) * (T > 1) || r->m->time_tile > 1)
    return no;
  bool each;
  double loops = loops_ns(r->c->target, r->m, NULL, &each), cached = loops_ns(r->c->target, r->m, r->want->size, &each);
  bool better = loops <= streamed_time(r, T, false) ||
                (each && r->rank == 2 && tuning.better * cached <= streamed_time(r, T, true));
  *apart = each && better;
  return better ? "plain loops are expected to be faster" : NULL;
}

bool loops_beat_streams(PassContext *c, const Module *m, const Schedule *want, int64_t most) {
  Chooser r = {c, m, m->grid.rank, want, NULL};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  bool apart = false;
  return n > 0 && group_count(n, st) == 1 && cpu_stream_is_not_better(&r, most, &apart) && apart;
}

const char *stream_is_not_better(PassContext *c, const Module *m, const Schedule *want, int64_t most) {
  Chooser r = {c, m, m->grid.rank, want, NULL};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  if (n == 0 || group_count(n, st) > 1)
    return "a step is several launches";
  bool apart;
  if (!c->target->simt)
    return cpu_stream_is_not_better(&r, most, &apart);
  Launch *one = tiled_launch(m, 1);
  const char *why = why_not(&r, one);
  if (why && (most < 2 || why_not(&r, tiled_launch(m, 2))))
    return why;
  const Extent *halo = &pipeline(&r, one)->halo;
  bool any = false;
  for (int d = 0; d < r.rank; d++)
    any = any || halo->lo[d] || halo->hi[d];
  int T = default_T(&r, most);
  if (!any || !T)
    return any ? "no tile fits the target" : "no stencil reads beside its point";
  if (T == 1 && why)
    return why;
  bool fuses = r.rank == 2 && one->n > 1 && schedule_streaming_wins(c, m);
  if (T == 1 && most > 1 && !fuses && !is_compute_bound(&r) && !leaves_planes_to_model(&r))
    return "there are registers for one time step only";
  T = chosen_T(&r, most);
  Schedule stream;
  bool legal = !schedule_streamed(c, want, tiled_launch(m, T), T, &stream);
  if (legal && want->family == FAMILY_AUTO && schedule_overlaps(c, m, want, &stream))
    return "that is expected to be faster";
  return m->time_tile > 1 && m->time_tile != T ? "the step was tiled otherwise" : NULL;
}

/* ---- requests */

/* What is wrong about the numbers of threads, lanes, lines, rows; NULL: nothing. */
static const char *wrong_shape(const Chooser *r, const Schedule *s) {
  const TargetInfo *t = r->c->target;
  Arena *a = r->c->arena;
  int rank = r->rank, x = rank - 1, y = rank > 1 ? rank - 2 : 0;
  if (!t->simt)
    return cpu_stream_wrong_shape(a, r->m, s);
  int64_t threads = schedule_threads(s);
  bool shares = rank == 3 && (s->block[x] == STREAM_LANES / 2 || s->block[x] == LEAST_LANES);
  if (rank == 1 ? s->block[0] % STREAM_LANES : s->block[x] != STREAM_LANES && s->block[x] != t->lanes && !shares)
    return arena_printf(a, "-block has %d threads in the last dimension; that is a warp of %d threads%s%s%s",
                        s->block[x], STREAM_LANES, rank == 1 ? ", or several" : "",
                        rank == 3 ? ", a half or a quarter of one" : "",
                        rank > 1 && t->lanes > STREAM_LANES ? ", or a wave of 64" : "");
  if (shares && threads % STREAM_LANES)
    return arena_printf(a, "-block has %d lines of %d threads, which are no whole warps of %d threads", s->block[1],
                        s->block[x], STREAM_LANES);
  if (rank == 3 && s->block[0] != 1)
    return arena_printf(a, "-block has %d threads in dimension 0, which is streamed; write 1 there", s->block[0]);
  for (int d = 0; d < rank - 1; d++)
    if (s->elems[d] != 1 && !(rank == 3 && d == 1))
      return arena_printf(a, "-elems has %d points in dimension %d, which is streamed; write 1 there", s->elems[d], d);
  if (threads > t->max_threads)
    return arena_printf(a, "-block has %" PRId64 " threads; target %s allows %d", threads, t->name, t->max_threads);
  if (s->elems[x] * s->elems[y] > MAX_CELLS * MAX_CELLS || s->elems[x] > MAX_CELLS || s->elems[y] > MAX_CELLS)
    return arena_printf(a, "-elems has more than %d points in a dimension", MAX_CELLS);
  if (s->chunk < 1 || s->chunk > MAX_CHUNK)
    return arena_printf(a, "-chunk=%d: a streamed tile has 1 to %d rows", s->chunk, MAX_CHUNK);
  if (s->ahead < 1 || s->ahead > MAX_AHEAD)
    return arena_printf(a, "-ahead=%d: loads run 1 to %d rows ahead", s->ahead, MAX_AHEAD);
  if (s->ahead > 1 && !t->async_copy)
    return arena_printf(a, "-ahead=%d: target %s has no asynchronous copies; only -ahead=1 is possible", s->ahead,
                        t->name);
  return NULL;
}

/* The reason why mapping `p` does not fit the tile and the target; NULL: it does. */
static const char *why_too_large(const Chooser *r, const Mapping *p, const Schedule *s) {
  Arena *a = r->c->arena;
  const TargetInfo *t = r->c->target;
  const Extent *halo = p->alone ? &p->l->hull : &p->halo;
  int64_t bytes = tile_bytes(t, p, s);
  for (int d = 0; d < r->rank; d++)
    if (tile_dim(p, s, d).stored < 1)
      return arena_printf(a,
                          "a tile has no points left in dimension %d: the halo of %d time step%s is %" PRId64
                          " + %" PRId64 " points; take fewer time steps or more points",
                          d, s->T, s->T > 1 ? "s" : "", halo->lo[d], halo->hi[d]);
  if (bytes > t->max_shared_bytes)
    return arena_printf(a, "a %s needs %" PRId64 " bytes %s; target %s allows %" PRId64 "; take a smaller %s",
                        p->alone ? "tile" : "block", bytes, p->alone ? "for its rows" : "of shared memory", t->name,
                        t->max_shared_bytes, p->alone ? "-T or -block" : "-T, -block, -elems or -ahead");
  if (p->alone)
    return NULL;
  if (stream_thread_words(p, s) > MOST_WINDOW_WORDS)
    return arena_printf(a, "a thread would keep %" PRId64 " words of rows in registers; take a smaller -T or -elems",
                        stream_thread_words(p, s));
  return NULL;
}

/* ---- open knobs, where the usual block does not fit */

/* Has the user given a number of the tile? */
static bool is_asked(const Schedule *want) {
  bool asked = want->T || want->chunk || want->ahead;
  for (int d = 0; d < GRID_RANK; d++)
    asked = asked || want->block[d] || want->elems[d];
  return asked;
}

/* A streamed tile to be completed. */
typedef struct Completion {
  const Chooser *r;
  const Mapping *p;
} Completion;

/* The cost of tile `s` for plan_complete: points computed for each point stored, times the registers that its thread
 * wants for each one that there is, if that is more than 1, and doubled if it waits for its loads; infinite if it is
 * not legal. */
static double completed_cost(const void *user, const Schedule *s) {
  const Completion *x = user;
  const TargetInfo *t = x->r->c->target;
  int64_t threads = schedule_threads(s);
  if (wrong_shape(x->r, s) || !tile_fits(t, x->p, s))
    return INFINITY;
  double registers = t->registers_per_core > 0 ? (double)t->registers_per_core / (double)threads : MOST_REGISTERS,
         wanted = stream_registers(x->p, s) / fmin(registers, MOST_REGISTERS);
  return tile_redundancy(x->p, s) * fmax(1, wanted) * (s->ahead == 1 && t->async_copy ? 2 : 1);
}

/* Finds the open knobs of streamed tile `s`, at most four; returns their number. */
static int open_knobs(const Chooser *r, Schedule *s, Knob *k) {
  const Schedule *w = r->want;
  int rank = r->rank, x = rank - 1, n = 0;
  if (rank > 1 && !w->ahead && r->c->target->async_copy)
    k[n++] = (Knob){&s->ahead, 1, MOST_OPEN_AHEAD, plan_next_value};
  if (rank == 1 && !w->block[0])
    k[n++] = (Knob){&s->block[0], STREAM_LANES, MAX_THREADS, plan_doubled};
  if (rank > 1 && !w->block[rank - 2])
    k[n++] = (Knob){&s->block[rank - 2], 1, MAX_THREADS / STREAM_LANES, plan_next_value};
  if (rank > 2 && !w->elems[1])
    k[n++] = (Knob){&s->elems[1], 1, MOST_OPEN_LINES, plan_next_value};
  if (!w->elems[x])
    k[n++] = (Knob){&s->elems[x], 1, MAX_CELLS, plan_doubled};
  return n;
}

/* Completes streamed tile `s` of mapping `p`, which does not fit, from its open knobs. False if nothing is legal. */
static bool complete_streamed(const Chooser *r, const Mapping *p, Schedule *s) {
  Knob k[4];
  Completion x = {r, p};
  return r->c->target->simt && is_asked(r->want) && plan_complete(s, open_knobs(r, s, k), k, completed_cost, &x);
}

/* Sets *out to the tile of launch `l` of T steps. NULL, or what is wrong with it. */
static const char *choose_streamed(const Chooser *r, const Launch *l, int T, Schedule *out) {
  const char *why = why_not(r, l);
  *out = (Schedule){.family = FAMILY_STREAM, .T = T, .ngroups = 1};
  if (why)
    return arena_printf(r->c->arena, "%s; use -schedule=overlap", why);
  Mapping *p = pipeline(r, l);
  choose(r, l, p, out);
  why = wrong_shape(r, out);
  if (why)
    return why;
  if (out->tiles == TILES_FITTED && !stream_can_fit(p))
    return "tiles can be fitted only where threads stream over planes and nothing is read from beyond the grid; use "
           "-tiles=even";
  why = stream_why_no_cluster(r->c->arena, r->c->target, p, out);
  if (why)
    return why;
  Schedule usual = *out;
  fit_streamed(r, p, out);
  why = why_too_large(r, p, out);
  if (!why || complete_streamed(r, p, &usual)) {
    *out = why ? usual : *out;
    return NULL;
  }
  return is_asked(r->want) ? arena_printf(r->c->arena, "%s; no choice of what was left open fits", why) : why;
}

const char *schedule_streamed(PassContext *c, const Schedule *want, const Launch *l, int levels, Schedule *out) {
  Chooser r = {c, l->m, l->m->grid.rank, want, out};
  return choose_streamed(&r, l, levels, out);
}

/* ---- steps that are cut into groups */

/* The schedules of the `count` groups of the step of `n` stencils at `st`: streamed tiles, or overlapped ones for
 * groups that cannot be streamed. Returns the first that is streamed; reports an error and returns NULL if a group has
 * no schedule, or none can be streamed. */
static const Schedule *choose_groups(const Chooser *r, int n, const Stencil *st, Schedule *groups) {
  static const Schedule plain = {.family = FAMILY_OVERLAP, .T = 1};
  const Schedule *streamed = NULL;
  const char *first = NULL;
  for (int i = 0, k, g = 0; i < n; i += k, g++) {
    k = group_length(n - i, st + i);
    const Schedule *given = r->want->ngroups > 1 ? &r->want->groups[g] : NULL;
    Chooser own = *r;
    own.want = given ? given : r->want;
    Launch *l = part_launch(r->m, n, st, i, i + k);
    bool overlaps = given && !family_row(given->family)->streamed;
    const char *why = overlaps ? "its launches are not streamed" : choose_streamed(&own, l, 1, &groups[g]);
    first = first ? first : why;
    streamed = streamed || why ? streamed : &groups[g];
    const char *neither = why ? schedule_part(r->c, overlaps ? given : &plain, l, r->want->size, &groups[g]) : NULL;
    if (neither) {
      diag_error(r->c->diags, no_loc(),
                 "launch of %s: %s; no legal choice is near: cut it further with -fuse, or use -schedule=naive",
                 cut_text(r->c->arena, r->m, k, st + i), neither);
      return NULL;
    }
  }
  if (!streamed)
    diag_error(r->c->diags, no_loc(), "-schedule=stream: %s", first);
  return streamed;
}

/* The schedule of a step that is cut into `count` groups. */
static bool stream_groups(const Chooser *r, int n, const Stencil *st, int count) {
  Schedule *groups = ARENA_ARRAY(r->c->arena, Schedule, count);
  if (!schedule_may_be_cut(r->c, r->m, r->want))
    return false;
  const Schedule *streamed = choose_groups(r, n, st, groups);
  if (!streamed)
    return false;
  *r->out = *streamed;
  r->out->fuse = schedule_cut(r->c->arena, r->m, 1);
  r->out->ngroups = count;
  r->out->groups = groups;
  return true;
}

/* The request without clusters if the target has none of that size; a remark says so once, before `m` is tiled. */
static const Schedule *without_clusters(PassContext *c, const Module *m, const Schedule *want) {
  if (want->cluster < LEAST_CLUSTER || want->cluster <= c->target->cluster)
    return want;
  Schedule *s = ARENA_NEW(c->arena, Schedule);
  *s = *want;
  s->cluster = 0;
  if (m->time_tile <= 1 && !(m->nstencils && m->stencils[0].has_extent))
    diag_remark(c->diags, no_loc(), "-cluster=%d: %s %s runs %s blocks together, so each tile has one", want->cluster,
                c->target->name, c->target->cpu ? c->target->cpu : "", c->target->cluster ? "fewer" : "no");
  return s;
}

bool schedule_stream(PassContext *c, const Module *m, const Schedule *asked, int64_t most, Schedule *out) {
  const Schedule *want = without_clusters(c, m, asked);
  Chooser r = {c, m, m->grid.rank, want, out};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  if (group_count(n, st) > 1)
    return stream_groups(&r, n, st, group_count(n, st));
  int T = m->time_tile > 1 ? m->time_tile : schedule_stream_levels(c, m, want, most);
  const char *why = T > MAX_STREAM_T
                        ? arena_printf(c->arena, "-T=%d: at most %d time steps are possible", T, MAX_STREAM_T)
                        : choose_streamed(&r, tiled_launch(m, T), T, out);
  if (why)
    diag_error(c->diags, no_loc(), "-schedule=stream: %s", why);
  else {
    out->fuse = schedule_cut(c->arena, m, T);
    schedule_widen(c, m, want, out);
  }
  return !why;
}
