/* warps-shape.c: the sizes of a tile of family warps: rows of a group, unrolled rows, producer warps, prefetch.
 *
 *   ring of G groups | group of U rows | V of them unrolled      R groups one after another in the code
 *
 * *Unrolled rows*. With each row the kept rows move by one place. For sums, each of which takes one more term, this
 * costs nothing: as many rows are unrolled as leave a loop's body at most 1000 operations long, for longer ones run out
 * of the instruction cache. Otherwise one row more is unrolled than the longest number for which any row is kept, so
 * that after these rows all values are back in their registers; a value that is kept for more than three rows is moved.
 * In the array of kept rows the latest row is last: LLVM copies the values that a loop carries in such an order that
 * each row then takes the place of one that has gone; in the other order it moves each row twice (acoustic_wave, 12
 * cells: 208 instead of 123 moves a row).
 *
 * *Groups*. Rows are handed over in *groups* of that number of rows.
 * - For sums a group has as many rows as the equation reads beside its own; half of that where rings of such groups
 *   leave room for fewer blocks; in f64 twice as many if these are few and can all be unrolled.
 * - For other levels groups of two rows become four where rings of these leave room for as many blocks: this halves the
 *   fixed cost of groups.
 * - Where reads of fields are delayed, so that rings are long, groups of two rows become one if cores hold fewer than 8
 *   warps otherwise, and more with one.
 * - Where each group would move all kept rows, the code has the G groups of a ring one after another, if they leave a
 *   loop's body at most 1000 operations long: the kept rows move once for all of them, and their places in the rings
 *   are constants. Segments then have a multiple of so many groups
 *   (docs/lab/warps.md#instructions-of-loops-over-warps-2026-11-23).
 *
 * *Prefetch*. A load has the time of all groups of a ring but one to complete. Where the warps of a core need fewer
 * than 7500 additions a lane for these groups (acoustic_wave, whose groups have one row, and fdtd2d), that is less than
 * the latency of memory. So the warp that loads a group also prefetches the rows of two groups later to the
 * second-level cache (`bulk.prefetch`), which takes no shared memory; rows that do not lie in the field as a whole are
 * not prefetched (docs/lab/warps.md#rows-that-are-asked-for-early-2026-11-24).
 *
 * *Producer warps* (warp specialization). All other warps wait for the loads and stores of the first and the last
 * warp. Where four warps of a block can give registers to others (`TargetInfo.moves_registers`: sm_90a), four are
 * added to blocks of four or eight. They keep 24 registers a thread (`registers.less`), and the others get the rest
 * (`registers.more`: 232 where a core has two blocks of four, 240 with one of eight), so that a core has as many
 * blocks as without. One of them loads each group as soon as its place is free, one stores each as soon as it is
 * made and then frees its place; two have nothing to do, for registers are moved for four warps at once. The warps
 * that compute are then all alike, and nothing is held in shared memory. Blocks that would be short of more than 32
 * registers have no producer warps. In f64, neither have levels that are one a warp where a core has several blocks
 * and roots are computed, or one block and none are: these lose by it
 * (docs/lab/warps.md#warps-that-only-load-and-store-2026-11-23). */
#include "passes/tile/warps.h"
#include "passes/base/tuning.h"

/* The greatest number of registers that a thread can be given. */
enum { MOST_CONSUMER_REGISTERS = 240 };

int warps_smallest(const WarpLevel *e) {
  int least = 8;
  for (int i = 0; i < e->nfields; i++) {
    int size = type_size(e->m->fields[e->field[i].field].type);
    least = size < least ? size : least;
  }
  return least;
}

int warps_largest(const WarpLevel *e) {
  int most = 4;
  for (int i = 0; i < e->nfields; i++) {
    int size = type_size(e->m->fields[e->field[i].field].type);
    most = size > most ? size : most;
  }
  return most;
}

int warps_cell_bytes(const WarpLevel *e) {
  int bytes = 0;
  for (int i = 0; i < e->nfields; i++)
    bytes += type_size(e->m->fields[e->field[i].field].type) * ((e->field[i].in >= 0) + e->field[i].written);
  return bytes;
}

/* Bytes of a cell of all rings. */
static int ring_bytes(const WarpLevel *e) {
  int bytes = 0;
  for (int i = 0; i < e->nfields; i++)
    bytes += type_size(e->m->fields[e->field[i].field].type);
  return bytes;
}

/* Does a level keep sums, with the one field and the one stage for which the rules of sums were found? */
static bool is_single_sum(const WarpLevel *e) { return e->sums && e->n == 1 && e->nfields == 1; }

/* How many rows of a group, at most the first `all`, are unrolled. With each row in a loop the kept rows are shifted,
 * which costs nothing where they are sums to which a term is added; otherwise all of the rows are unrolled. */
static int32_t written_out(const WarpLevel *e, const WarpShape *w, int32_t all) {
  int32_t V = e->sums && warps_smallest(e) == 4 && all > tuning.pipeline_written ? 1 : all;
  while ((e->sums || V > tuning.free_places) && V > 1 &&
         (w->U % V || V * w->C * w->X * (warps_operations(e) + 1) > measured.pipeline_body))
    V--;
  return V;
}

/* The number of rows after which all kept values are in the same registers again: one more than a row is kept for,
 * since a new row comes before the oldest one goes. */
static int32_t rows_around(const WarpLevel *e) {
  int32_t most = 0;
  for (int v = 0; v < e->nvalues; v++)
    most = warps_kept(e, v) > most ? warps_kept(e, v) : most;
  return most + 1;
}

/* The rows of a group of levels without sums: that number, but 2 or more. If it is too many, all kept rows are
 * moved. */
static int32_t round_of(const WarpLevel *e) {
  int32_t rows = rows_around(e);
  return rows > tuning.free_places || rows < 2 ? 2 : rows;
}

/* How many groups the code has one after another: those of a ring if each group moves all kept rows, which all of the
 * groups then do once together, and if a loop's body has room for them. */
static int32_t groups_written(const WarpLevel *e, const WarpShape *w) {
  int32_t body = w->G * w->U * w->C * w->X * (warps_operations(e) + 1);
  bool moves = !e->sums && w->V == w->U && w->G * w->U <= rows_around(e);
  return moves && body <= measured.pipeline_body ? w->G : 1;
}

/* Do groups of twice as many rows leave room in shared memory for as many blocks? They halve the fixed cost of
 * groups. */
static bool have_room_twice(const TargetInfo *t, const WarpLevel *e, const WarpShape *w) {
  WarpShape twice = *w;
  twice.U *= 2;
  return warps_shared_bytes(e, &twice) <= t->max_shared_bytes &&
         warps_per_core(t, e, &twice) == warps_per_core(t, e, w);
}

/* How many blocks of `w` a core has room for if groups have `U` rows; 0: a block has no room for its rings. */
static int32_t blocks_with(const TargetInfo *t, const WarpLevel *e, const WarpShape *w, int32_t U) {
  WarpShape other = *w;
  other.U = U;
  return warps_shared_bytes(e, &other) > t->max_shared_bytes ? 0 : warps_per_core(t, e, &other);
}

/* The rows of a group of sums of one field: as many as the equation reads beside its own; half of that where rings of
 * such groups leave room for fewer blocks; in f64 twice as many if they are few, all can be unrolled, and cores hold
 * several blocks: more rows then share the fixed cost of a group. */
static int32_t group_rows(const TargetInfo *t, const WarpLevel *e, const WarpShape *w) {
  int32_t last = e->below + e->above, blocks = blocks_with(t, e, w, last);
  WarpShape twice = *w;
  twice.U = 2 * last;
  if (last >= tuning.warps_far_rows)
    return last % 2 || e->lag > last / 2 || blocks >= blocks_with(t, e, w, last / 2) ? last : last / 2;
  bool written = warps_smallest(e) > 4 && written_out(e, &twice, twice.U) == twice.U;
  return written && blocks > 1 && blocks_with(t, e, w, twice.U) >= blocks ? twice.U : last;
}

/* The rows of a group of a level that delays reads, whose rings are long: half of w->U if a core holds few warps
 * otherwise and more with half, and if all spilled rows have room. */
static int32_t delay_rows(const TargetInfo *t, const WarpLevel *e, const WarpShape *w) {
  int32_t blocks = blocks_with(t, e, w, w->U);
  bool few = e->delay && w->U % 2 == 0 && blocks * w->W < tuning.warps_few && warps_spilled_rows(e) < w->G * w->U / 2;
  return few && blocks_with(t, e, w, w->U / 2) > blocks ? w->U / 2 : w->U;
}

/* The registers of a thread of the warps that compute, if `producers` warps of each of the `blocks` blocks of a core of
 * target `t` give up theirs. *before: its registers without that. */
static int32_t consumer_registers(const TargetInfo *t, const WarpShape *w, int32_t blocks, int32_t producers,
                                  int32_t *before) {
  int32_t warps = w->W + producers;
  int64_t each = t->registers_per_core / ((int64_t)blocks * WARP_LANES * warps) / REGISTERS_STEP * REGISTERS_STEP;
  int64_t now = (each * warps - (int64_t)producers * PRODUCER_REGISTERS) / w->W / REGISTERS_STEP * REGISTERS_STEP;
  *before = (int32_t)each;
  return now > MOST_CONSUMER_REGISTERS ? MOST_CONSUMER_REGISTERS : (int32_t)now;
}

/* Are tiles of `w`, of which a core has `blocks` blocks, faster with producer warps? In f64 tiles of one level a warp
 * were measured to lose where they compute roots and a core has several blocks, and where neither is so. */
static bool gain_by_producers(const WarpLevel *e, const WarpShape *w, int32_t blocks) {
  return warps_largest(e) == 4 || w->C > 1 || (blocks > 1) != (warps_roots(e) > 0);
}

/* The registers of a thread of the warps that compute, in blocks of `w` with REGISTER_WARPS producer warps, if target
 * `t` can move registers between warps, and a core has room for as many blocks; else 0. */
static int32_t registers_with_producers(const TargetInfo *t, const WarpShape *w) {
  int32_t before, warps = w->W + REGISTER_WARPS, now = consumer_registers(t, w, w->blocks, REGISTER_WARPS, &before);
  bool room = WARP_LANES * warps <= t->max_threads && w->blocks * WARP_LANES * warps <= t->max_threads_per_core;
  return t->moves_registers && w->W % REGISTER_WARPS == 0 && room && before < now ? now : 0;
}

/* Gives `w` producer warps if schedule `s` says so, or leaves it open and they pay. */
static void add_producers(const TargetInfo *t, const WarpLevel *e, const Schedule *s, WarpShape *w) {
  int32_t now = registers_with_producers(t, w), said = map_get(s, MAP_LOADERS);
  bool pays =
      said < 0 && now && warps_registers(e, w) <= now + measured.moved_short && gain_by_producers(e, w, w->blocks);
  w->move.producers = said >= 0 ? said : pays ? REGISTER_WARPS : 0;
  w->registers = w->move.producers ? now : 0;
}

/* How many rows ahead of the loads rows are prefetched to the second-level cache. A load has the time that the warps of
 * a core take for all groups of a ring but one: if that is less than the latency of memory, rows are prefetched. */
static int32_t early_rows(const WarpLevel *e, const WarpShape *w) {
  double point = warps_slots(e, true) * (warps_largest(e) > 4 ? 2 : 1);
  double slots = point * (w->G - 1) * w->U * w->C * w->X * w->W * w->blocks;
  return slots < measured.prefetch_slots ? (int32_t)tuning.prefetch_groups * w->U : 0;
}

/* How many registers a tile of level `e` may be expected to take before registers are short. Sums of several rows, at
 * several levels of a warp or in f64, were seen to spill earlier. */
static double most_registers(const WarpLevel *e, const WarpShape *w) {
  bool far = e->sums && e->below + e->above >= tuning.warps_far_rows, more = w->C > 1 || warps_largest(e) > 4;
  return far && more ? measured.warps_far_registers : measured.warps_registers;
}

/* Do the first and the last warp hold numbers in shared memory: as the shape says, or, where the shape leaves it open,
 * if registers are short? */
static bool holds_numbers(const WarpLevel *e, const WarpShape *w) {
  return w->held >= 0 ? w->held : !w->move.producers && warps_registers(e, w) > most_registers(e, w);
}

/* The cost of a row at the left or right boundary, whose cells there are tested or come in two copies: more where these
 * are most of a lane's cells, and in f32 where roots are tested, too. */
static int32_t boundary_cost(const WarpLevel *e, const WarpShape *w) {
  bool most = e->sums && !e->wraps[1] && 2 * (e->left + e->right) > w->X,
       roots = warps_roots(e) && warps_largest(e) == 4;
  return (int32_t)(most || roots ? measured.strip_slow_edge_row : measured.strip_edge_row);
}

/* Chooses the rows of a group of `w`. Returns how many of the first of these may be unrolled. */
static int32_t choose_rows(const TargetInfo *t, const WarpLevel *e, WarpShape *w) {
  w->U = is_single_sum(e) && e->below + e->above > 1 ? group_rows(t, e, w) : round_of(e);
  int32_t all = w->U;
  if (!is_single_sum(e) && w->U == 2 && have_room_twice(t, e, w))
    w->U *= 2;
  w->U = delay_rows(t, e, w);
  return all < w->U ? all : w->U;
}

/* The value of `id` in schedule `s`, or `chosen` where the schedule leaves it open. */
#define SAID(s, id, chosen) (map_get(s, id) >= 0 ? map_get(s, id) : (chosen))

WarpShape warps_shape(const TargetInfo *t, const WarpLevel *e, const Schedule *s) {
  WarpShape w = {
      .X = s->elems[1], .W = s->block[0], .C = s->T / s->block[0], .G = s->ahead, .held = map_get(s, MAP_HELD)};
  int32_t side = (e->left > e->right ? e->left : e->right) * s->T;
  w.vector = VECTOR_BYTES / warps_smallest(e);
  w.move = (Move){.kind = MOVE_BULK, .ahead = w.G, .places = w.G, .width = w.vector};
  w.halo = (side + w.vector - 1) / w.vector * w.vector;
  w.ends = (e->below + e->lag) * s->T;
  w.U = map_get(s, MAP_ROWS);
  int32_t all = w.U > 0 ? w.U : choose_rows(t, e, &w);
  w.V = SAID(s, MAP_WRITTEN, written_out(e, &w, all));
  w.R = SAID(s, MAP_ROUND, groups_written(e, &w));
  w.blocks = map_get(s, MAP_BLOCKS) > 0 ? map_get(s, MAP_BLOCKS) : warps_per_core(t, e, &w);
  add_producers(t, e, s, &w);
  w.move.prefetch = SAID(s, MAP_PREFETCH, early_rows(e, &w));
  w.held = holds_numbers(e, &w);
  w.boundary = SAID(s, MAP_BOUNDARY, boundary_cost(e, &w));
  w.ragged = SAID(s, MAP_RAGGED, (int32_t)measured.strip_slow_edge_row);
  w.end_rows = SAID(s, MAP_ENDS, (int32_t)measured.strip_end);
  return w;
}

void warps_say(const WarpLevel *e, const WarpShape *w, Schedule *s) {
  const int32_t values[MAPS] = {[MAP_ROWS] = w->U,
                                [MAP_WRITTEN] = w->V,
                                [MAP_ROUND] = w->R,
                                [MAP_DELAYED] = e->delay > 0,
                                [MAP_BLOCKS] = w->blocks,
                                [MAP_LOADERS] = w->move.producers,
                                [MAP_HELD] = w->held,
                                [MAP_PREFETCH] = w->move.prefetch,
                                [MAP_BOUNDARY] = w->boundary,
                                [MAP_RAGGED] = w->ragged,
                                [MAP_ENDS] = w->end_rows};
  for (int i = MAP_ROWS; i <= MAP_ENDS; i++)
    map_set(s, (MapId)i, values[i]);
}

const char *warps_said_wrong(const TargetInfo *t, const WarpLevel *e, const Schedule *s) {
  WarpShape w = warps_shape(t, e, s);
  if (w.U % w.V)
    return "'written' is a divisor of 'rows'";
  if (w.R != 1 && (w.R != w.G || w.V != w.U))
    return "'round' is 1, or as many groups as a ring has, all of whose rows are written out";
  if (map_get(s, MAP_DELAYED) > 0 && !e->delay)
    return "'delayed' is 1 only of a step that can delay reads, alone in its warp";
  if (map_get(s, MAP_BLOCKS) == 0)
    return "'blocks' is at least 1";
  if (w.move.producers && (w.move.producers != REGISTER_WARPS || !registers_with_producers(t, &w)))
    return "'loaders' is 0, or 4 where the target moves registers between warps and these have some to give";
  return w.held && w.move.producers ? "'held' is 0 where there are 'loaders'" : NULL;
}

int32_t warps_delay_groups(const WarpLevel *e, const WarpShape *w) { return (e->delay + w->U - 1) / w->U; }

int32_t warps_delay_begin(const WarpLevel *e, const WarpShape *w, int r) {
  int32_t late = warps_delay_groups(e, w);
  return (r * (w->G + late) - late) * w->U;
}

int64_t warps_ring_rows(const WarpLevel *e, const WarpShape *w, int n) {
  if (!warps_delay(e, n))
    return (w->W + 1) * (int64_t)w->G * w->U;
  return warps_delay_begin(e, w, w->W) + (e->field[n].written ? w->G * w->U : 0);
}

int64_t warps_shared_bytes(const WarpLevel *e, const WarpShape *w) {
  int64_t bytes = (w->W + 1) * (int64_t)w->G * 2 * 8 + WARP_SPILLED_NUMBERS * 8;
  bytes += holds_numbers(e, w) ? WARP_HELD_NUMBERS * 4 : 0;
  for (int n = 0; n < e->nfields; n++)
    bytes += warps_ring_rows(e, w, n) * WARP_LANES * w->X * type_size(e->m->fields[e->field[n].field].type);
  return bytes;
}

int32_t warps_kept_words(const WarpLevel *e, const WarpShape *w) {
  int32_t words = 0;
  for (int v = 0; v < e->nvalues; v++)
    words += warps_kept(e, v) * ((type_size(e->value[v].type) + 3) / 4);
  return words * w->C * w->X;
}

/* Registers for the operands and results of the roots and quotients of a row that wait for one common test, of one
 * field in f32; with more values kept, ptxas finds registers for them. */
static int32_t waiting_registers(const WarpLevel *e, const WarpShape *w) {
  int32_t roots = w->X * warps_roots(e);
  return e->nfields > 1 || warps_largest(e) > 4
             ? 0
             : 2 * (roots < tuning.guarded_roots ? roots : (int32_t)tuning.guarded_roots);
}

int32_t warps_registers(const WarpLevel *e, const WarpShape *w) {
  return warps_kept_words(e, w) + 2 * w->X * (ring_bytes(e) / 4) + waiting_registers(e, w) +
         (int32_t)measured.pipeline_registers;
}

const int64_t *warps_grid_size(void) { return tuning.large_extents[1]; }

int64_t warps_strips(const WarpLevel *e, const WarpShape *w, const int64_t *size) {
  int64_t distance = WARP_LANES * w->X - 2 * w->halo, ends = e->wraps[1] ? 0 : 2 * w->halo;
  int64_t strips = (size[1] - ends + distance - 1) / distance;
  return strips < 1 ? 1 : strips;
}

double warps_segment_rows(const TargetInfo *t, const WarpLevel *e, const WarpShape *w, const int64_t *size) {
  double blocks = (double)(t->cores > 0 ? t->cores : 1) * warps_per_core(t, e, w);
  return (double)warps_strips(e, w, size) * ((double)size[0] + w->ends) / blocks;
}

int32_t warps_per_core(const TargetInfo *t, const WarpLevel *e, const WarpShape *w) {
  int32_t registers = (warps_registers(e, w) + 7) / 8 * 8, threads = 32 * w->W;
  registers = registers > 255 ? 255 : registers;
  int64_t by_registers = t->registers_per_core / ((int64_t)(registers + 7) / 8 * 8 * threads),
          by_shared = t->shared_per_core / (warps_shared_bytes(e, w) + 1024);
  int64_t blocks = by_registers < by_shared ? by_registers : by_shared;
  int64_t most = (int64_t)tuning.pipeline_warps / w->W;
  blocks = blocks < most ? blocks : most;
  return (int32_t)(blocks < 1 ? 1 : blocks);
}
