/* sim-ghost.c: the simulator on one part of a grid (GridPart). Ghost cells may hold stale values, and stale values may
 * be stored to them. Whether a ghost cell is valid follows from the last exchange and from the distance from the part's
 * own points within which steps since then are correct. Only points that the part owns must never receive a stale
 * value. */
#include "ir/sim/simulate.h"

/* Is `p` a point of field `f` that the part does not own? In dimensions that f lacks, and on coarser levels of the
 * grid, each part owns all that it holds. */
static bool is_outside(const Ghosts *g, const Field *f, const int64_t *p, int64_t reach_lo[], int64_t reach_hi[]) {
  for (int d = 0; d < f->box.rank && !f->share; d++)
    if (!field_lacks(f, d) &&
        (p[d] < g->lo[d] - (reach_lo ? reach_lo[d] : 0) || p[d] > g->hi[d] + (reach_hi ? reach_hi[d] : 0)))
      return true;
  return false;
}

bool sim_is_ghost(const Sim *s, const SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  int64_t at[MAX_RANK];
  if (!s->b->ghosts || s->m->buffers[p->sym].kind != BUFFER_FIELD)
    return false;
  for (int k = 0; k < p->rank; k++)
    at[k] = t->slot[p->idx[k]].i + p->off[k];
  return is_outside(s->b->ghosts, &s->m->fields[s->m->buffers[p->sym].field], at, NULL, NULL);
}

void sim_place_of(const Sim *s, const Field *f, int64_t n, int64_t at[MAX_RANK]) {
  int64_t shape[MAX_RANK];
  field_layout(f, s->b->scalars, shape);
  for (int k = f->box.rank - 1; k >= 0; k--) {
    at[k] = n % shape[k] + affine_eval(f->box.lo[k], s->b->scalars, NULL);
    n /= shape[k];
  }
}

/* Marks element `n` of field `field` as stale for the steps from `level` on, unless it already is stale. */
static void make_stale(Sim *s, SimMemory *m, int field, int64_t n, int64_t level) {
  uint32_t *stale = sim_memory_stale(s, m, n);
  if (*stale)
    return;
  SimGhost g = {field, n, level};
  ARENA_PUSH(s->arena, s->ghosts, s->nghosts, g);
  *stale = SIM_GHOST | (uint32_t)(s->nghosts - 1);
}

uint32_t sim_ghost_origin(Sim *s, int field, int64_t element, uint32_t stale) {
  if (!stale || (stale & SIM_GHOST))
    return stale;
  SimGhost g = {field, element, s->step};
  ARENA_PUSH(s->arena, s->ghosts, s->nghosts, g);
  return SIM_GHOST | (uint32_t)(s->nghosts - 1);
}

/* Calls `mark` for the present memory of each exchanged field. */
static void each_field(Sim *s, void (*mark)(Sim *s, SimMemory *m, int field, int64_t *levels)) {
  for (int i = 0; i < s->m->nbuffers && s->b->ghosts; i++) {
    const Buffer *b = &s->m->buffers[i];
    int64_t *levels =
        b->kind == BUFFER_FIELD && !b->copy && s->b->ghosts->levels ? s->b->ghosts->levels[b->field] : NULL;
    if (levels)
      mark(s, s->memory[i], b->field, levels);
  }
}

/* Marks as stale the cells of the field that lie further out than `left` steps need; if `levels` is given, also the
 * cells that the last exchange did not update. */
static void mark_field(Sim *s, SimMemory *m, int field, const int64_t *levels, int64_t left, int64_t level) {
  const Field *f = &s->m->fields[field];
  int64_t lo[MAX_RANK], hi[MAX_RANK], at[MAX_RANK];
  for (int d = 0; d < f->box.rank; d++) {
    lo[d] = s->m->part->reach.lo[d] * left;
    hi[d] = s->m->part->reach.hi[d] * left;
  }
  for (int64_t n = 0; n < m->elements; n++) {
    sim_place_of(s, f, n, at);
    if (is_outside(s->b->ghosts, f, at, lo, hi) ||
        (levels && is_outside(s->b->ghosts, f, at, NULL, NULL) && levels[n] != level))
      make_stale(s, m, field, n, s->b->first_step + s->b->ghosts->made);
  }
}

/* Marks as stale the cells of the field that are known to be; on a coarser level, all that were not gathered. */
static void mark_known(Sim *s, SimMemory *m, int field, const int64_t *levels) {
  const Field *f = &s->m->fields[field];
  int64_t at[MAX_RANK];
  for (int64_t n = 0; n < m->elements; n++) {
    sim_place_of(s, f, n, at);
    if (levels[n] < 0 && (f->share || is_outside(s->b->ghosts, f, at, NULL, NULL)))
      make_stale(s, m, field, n, s->b->first_step);
  }
}

/* Marks the cells that are stale before the run. Inits may read all cells that the part holds; values that steps never
 * change remain as they were exchanged. */
static void mark_first(Sim *s, SimMemory *m, int field, int64_t *levels) {
  const Ghosts *g = s->b->ghosts;
  if (g->init || s->m->fields[field].exchange != EXCHANGE_STEPS || s->m->fields[field].share)
    mark_known(s, m, field, levels);
  else
    mark_field(s, m, field, levels, g->every - g->age, g->exchanged);
}

/* Records the ghost cells whose values are still correct after the steps since the exchange. */
static void mark_later(Sim *s, SimMemory *m, int field, int64_t *levels) {
  const Ghosts *g = s->b->ghosts;
  (void)levels;
  if (s->m->fields[field].exchange == EXCHANGE_STEPS)
    mark_field(s, m, field, NULL, g->every - g->age - g->made, 0);
}

/* Judges cell `n` of buffer `buffer` after a launch of init kernel `k`, which writes the buffer. A ghost cell is stale
 * if the init should have written it and did not, or computed it from cells that the part lacks: their place holds the
 * value of another cell. Of its own points a part must have all values. */
static void judge_init(Sim *s, const Kernel *k, int buffer, int64_t n) {
  int field = s->m->buffers[buffer].field;
  SimMemory *m = s->memory[buffer];
  const Field *f = &s->m->fields[field];
  const SimPage *page = m->pages[n / SIM_PAGE];
  int64_t at[MAX_RANK];
  sim_place_of(s, f, n, at);
  InitMakes makes = s->b->ghosts->init(s->b->ghosts->user, k->loc, field, at);
  if (is_outside(s->b->ghosts, f, at, NULL, NULL)) {
    bool wrote = page && page->touch[n % SIM_PAGE].wrote >= s->began;
    if (makes == INIT_GUESS || (makes == INIT_VALUE && !wrote))
      make_stale(s, m, field, n, s->b->first_step);
  } else if (makes == INIT_GUESS && !s->faults++) {
    Str place = {.arena = s->arena};
    for (int d = 0; d < f->box.rank; d++)
      str_addf(&place, "%s%lld", d ? ", " : "", (long long)at[d]);
    diag_error(s->d, k->loc, "kernel '%s': '%s' at [%s] is computed from a cell that its part does not have", k->name,
               f->name, place.s);
    s->stop = true;
  }
}

void sim_ghosts_init(Sim *s, int from, int to) {
  for (int j = from; j < to && s->b->ghosts && s->b->ghosts->init; j++) {
    const SimKernel *k = s->members[j].k;
    for (int i = 0; i < s->m->nbuffers; i++) {
      const Buffer *b = &s->m->buffers[i];
      bool judged = k->writes[i] && b->kind == BUFFER_FIELD && !sim_is_kept(s, i) && s->b->ghosts->levels[b->field];
      for (int64_t n = 0; judged && n < s->memory[i]->elements; n++)
        judge_init(s, k->kernel, i, n);
    }
  }
}

/* Records for later runs the cells that are stale regardless of steps. This includes ghost cells that the last launch
 * did not write because it stores only what is needed. */
static void keep_stale(Sim *s, SimMemory *m, int field, int64_t *levels) {
  const Field *f = &s->m->fields[field];
  int64_t at[MAX_RANK];
  for (int64_t n = 0; n < m->elements; n++) {
    sim_place_of(s, f, n, at);
    if (!sim_memory_has(m, n) && is_outside(s->b->ghosts, f, at, NULL, NULL)) {
      make_stale(s, m, field, n, s->b->first_step + s->b->ghosts->made);
      sim_memory_fill(s, m, n);
    }
    if (m->pages[n / SIM_PAGE] && m->pages[n / SIM_PAGE]->stale && m->pages[n / SIM_PAGE]->stale[n % SIM_PAGE])
      levels[n] = -1;
  }
}

void sim_ghosts_begin(Sim *s) {
  if (s->b->ghosts)
    s->b->ghosts->made = 0;
  each_field(s, mark_first);
}

void sim_ghosts_age(Sim *s, int64_t steps) {
  if (s->b->ghosts)
    s->b->ghosts->made += s->b->ghosts->still ? 0 : steps;
  each_field(s, mark_later);
}

void sim_ghosts_end(Sim *s) { each_field(s, keep_stale); }

const char *sim_ghost_text(Sim *s, uint32_t origin) {
  const SimGhost *g = &s->ghosts[origin & ~SIM_GHOST];
  const Field *f = &s->m->fields[g->field];
  const Ghosts *part = s->b->ghosts;
  const char *within = f->share ? "which another part computes" : "within it";
  int64_t at[MAX_RANK];
  sim_place_of(s, f, g->element, at);
  Str t = {.arena = s->arena}, sides = {.arena = s->arena}, place = {.arena = s->arena};
  for (int d = 0; d < f->box.rank; d++) {
    str_addf(&t, "%s%lld", d ? ", " : "", (long long)at[d]);
    str_addf(&place, "%s%lld", d ? ", " : "", (long long)part->at[d]);
    if (!field_lacks(f, d) && !f->share && (at[d] < part->lo[d] || at[d] > part->hi[d]))
      str_addf(&sides, "%s%s dimension %d", sides.n ? " and " : "", at[d] < part->lo[d] ? "below in" : "above in", d);
  }
  return arena_printf(s->arena,
                      "the ghost cell [%s] of '%s', of part [%s], %s, was not brought up to date for the level after "
                      "%lld steps",
                      t.s, f->name, place.s, sides.n ? sides.s : within, (long long)g->level);
}
