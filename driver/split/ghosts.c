/* ghosts.c: the knowledge of the simulator about each part's ghost cells: the exchange that updated them last. It
 * follows the actual transfers, so it detects a missing or too small one when its cells are used. While inits run it
 * follows the program as it is written: which values a part must compute, and which cells it must have for that. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* Allocates it for the ghost cells of one part. */
static StcStatus open_part(StcPlan *p, PartPlan *part) {
  StcPlan *q = part->plan;
  Ghosts *g = ARENA_NEW(p->w.arena, Ghosts);
  g->every = p->split->every;
  g->levels = ARENA_ARRAY(p->w.arena, int64_t *, q->module->nfields + 1);
  for (int d = 0; d < p->split->rank; d++) {
    g->at[d] = part->at[d];
    g->lo[d] = part->lo[d];
    g->hi[d] = part->hi[d];
  }
  q->ghosts = g;
  for (int f = 0; f < q->module->nfields; f++) {
    int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
    if (q->module->fields[f].exchange == EXCHANGE_NONE || q->module->fields[f].share == SHARE_ALL)
      continue;
    g->levels[f] = calloc((size_t)n + 1, sizeof **g->levels);
    if (!g->levels[f])
      return diag_error(p->w.diags, no_loc(), "no memory on this computer for what is known of ghost cells"),
             STC_MEMORY;
  }
  return STC_OK;
}

StcStatus ghosts_open(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s && p->device.kind == &device_sim; i++)
    s = open_part(p, &p->split->part[i]);
  return s;
}

void ghosts_close(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end && p->split->part; i++) {
    StcPlan *q = p->split->part[i].plan;
    for (int f = 0; q && q->ghosts && f < q->module->nfields; f++)
      free(q->ghosts->levels[f]);
  }
}

void ghosts_came_in(StcPlan *p, int i) {
  const StcPlan *q = p->split->part[i].plan;
  for (int f = 0; q->ghosts && f < q->module->nfields; f++) {
    int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
    for (int64_t k = 0; q->ghosts->levels[f] && k < n; k++)
      q->ghosts->levels[f][k] = split_level(p);
  }
}

void ghosts_scattered(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end; i++)
    ghosts_came_in(p, i);
}

/* Is element `n` of field `f`, which parts gather, one that part `x` sends to others, for `steps` or after it was set?
 */
static bool is_given(const PartPlan *x, const Field *f, bool steps, const int64_t *shape, int64_t n) {
  bool given = true;
  for (int d = f->box.rank - 1; d >= 0; d--) {
    int64_t lo, hi, at = n % shape[d] + affine_eval(f->box.lo[d], x->plan->scalars, NULL);
    part_gives(x, f, d, steps, &lo, &hi);
    given = given && at >= lo && at <= hi;
    n /= shape[d];
  }
  return given;
}

void ghosts_restricted(const StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    const StcPlan *q = p->split->part[i].plan;
    for (int f = 0; q->ghosts && f < q->module->nfields; f++) {
      int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[f], q->scalars, shape);
      bool gathered = q->module->fields[f].share == SHARE_GATHERED && q->ghosts->levels[f];
      for (int64_t k = 0; k < n && gathered; k++)
        if (!is_given(&p->split->part[i], &q->module->fields[f], true, shape, k))
          q->ghosts->levels[f][k] = -1;
    }
  }
}

/* Records a run of cells (a runs_each callback). */
typedef struct Noting {
  int64_t *levels, done;
} Noting;
static StcStatus note_run(void *user, int64_t from, int64_t to, int64_t n) {
  const Noting *x = user;
  (void)from;
  for (int64_t i = 0; i < n; i++)
    x->levels[to + i] = x->done;
  return STC_OK;
}

void ghosts_note(const StcPlan *p, const Transfer *t) {
  const Split *s = p->split;
  const PartPlan *y = &s->part[t->to];
  CellArray to = {0};
  if (!y->plan || !y->plan->ghosts || !y->plan->ghosts->levels[t->field])
    return;
  part_cells(y, t->field, to.lo, to.hi);
  Runs r = runs_of(s->rank, t->lo, t->hi, &to, &to);
  Noting x = {y->plan->ghosts->levels[t->field], split_level(p)};
  runs_each(&r, note_run, &x);
}

void ghosts_exchanged(StcPlan *p) {
  for (int i = 0; i < p->split->ntransfers; i++)
    ghosts_note(p, &p->split->transfers[i]);
}

void ghosts_forget(const StcPlan *p, int field) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    const StcPlan *q = p->split->part[i].plan;
    int64_t shape[MAX_RANK], n = field_shape(&q->module->fields[field], q->scalars, shape);
    const Field *f = &q->module->fields[field];
    for (int64_t k = 0; q->ghosts && q->ghosts->levels[field] && k < n; k++)
      if (f->share != SHARE_GATHERED || !is_given(&p->split->part[i], f, false, shape, k))
        q->ghosts->levels[field][k] = -1;
  }
}

/* ---------------------------------------------------------------- inits */

/* What is needed to judge the inits of a part: the program as it is written, for the whole grid, and the values of its
 * scalars. */
typedef struct InitJudge {
  const StcPlan *p;
  const PartPlan *part;
  const Module *m;
  Const *scalars;
} InitJudge;

/* Has the part coordinate `x` of dimension `d` of its field `mine`? */
static bool has_cell(const InitJudge *j, int mine, int d, int64_t x) {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  part_cells(j->part, mine, lo, hi);
  return x >= lo[d] && x <= hi[d];
}

/* The field of the part's module for field `g` of the program, or for its first component. */
static int field_of_part(const InitJudge *j, int g) {
  const Module *m = j->part->module;
  const char *name = j->m->fields[g].name;
  int record = module_find_record(m, name);
  return record >= 0 ? m->records[record].first : module_find_field(m, name);
}

/* Do rings of the part's module continue beyond the edges of dimension `d`, in which a field is periodic? */
static bool dimension_turns(const InitJudge *j, int d) {
  const Module *m = j->part->module;
  bool turns = false;
  for (int f = 0; f < m->nfields; f++)
    turns = turns || m->fields[f].outside[d] == OUTSIDE_PERIODIC;
  return turns;
}

/* Has the part the cell that access `op` reads for the cell at `at`? */
static bool finds(const InitJudge *j, const Op *op, const int64_t *at) {
  const Field *g = &j->m->fields[op->sym];
  int mine = field_of_part(j, op->sym);
  bool found = true;
  for (int d = 0; d < j->p->split->rank; d++) {
    bool ring = j->part->module->fields[mine].ring && dimension_turns(j, d);
    int64_t y = at[d] + op->off[d], lo = affine_eval(g->box.lo[d], j->scalars, NULL),
            hi = affine_eval(g->box.hi[d], j->scalars, NULL);
    if (j->p->split->parts[d] == 1 || field_lacks(g, d))
      continue;
    const Side *side = g->sides && (y < lo || y > hi) ? &g->sides[2 * d + (y > hi)] : NULL;
    if (!ring && (side ? side->rule : g->outside[d]) == OUTSIDE_CONST && (y < lo || y > hi))
      return true;
    if (!ring && outside_leads(g->outside[d]) && lo <= hi)
      y = eval_map(outside_map(g->outside[d]), y, lo, hi);
    found = found && has_cell(j, mine, d, y);
  }
  return found;
}

/* Is the cell at `at`, mapped into the grid if it is of a ring, in the piece's box? */
static bool covers(const InitJudge *j, const Piece *piece, bool ring, const int64_t *at) {
  const Split *s = j->p->split;
  for (int d = 0; d < s->rank; d++) {
    int64_t n = s->hi[d] - s->lo[d] + 1, x = at[d];
    if (ring && s->parts[d] > 1 && dimension_turns(j, d) &&
        !(piece->ntargets && field_lacks(&j->m->fields[piece->targets[0]], d)))
      x = s->lo[d] + ((x - s->lo[d]) % n + n) % n;
    if (x < affine_eval(piece->box.lo[d], j->scalars, NULL) || x > affine_eval(piece->box.hi[d], j->scalars, NULL))
      return false;
  }
  return true;
}

/* What the piece stores to the cell at `at` of a target. */
static InitMakes piece_makes(const InitJudge *j, const Piece *piece, bool ring, const int64_t *at) {
  if (!covers(j, piece, ring, at))
    return INIT_NOTHING;
  for (const Op *op = piece->body->first; op; op = op->next)
    if (op->code == OP_ACCESS && !finds(j, op, at))
      return INIT_GUESS;
  return INIT_VALUE;
}

/* Is field `name` of the part's module, or the composite field that contains it, a target of the piece? */
static bool is_target(const InitJudge *j, const Piece *piece, const char *name) {
  for (int t = 0; t < piece->ntargets; t++)
    if (strcmp(j->m->fields[piece->targets[t]].name, name) == 0)
      return true;
  return false;
}

/* Implements Ghosts.init. */
static InitMakes judge_init(void *user, Loc loc, int field, const int64_t *at) {
  const InitJudge *j = user;
  const char *name = declared_name(j->part->module, field);
  bool ring = j->part->module->fields[field].ring;
  InitMakes makes = INIT_NOTHING;
  for (int i = 0; i < j->m->ninits; i++) {
    const Stencil *st = &j->m->inits[i];
    for (int k = 0; k < st->npieces && st->loc.line == loc.line && st->loc.col == loc.col && !makes; k++)
      if (is_target(j, &st->pieces[k], name))
        makes = piece_makes(j, &st->pieces[k], ring, at);
  }
  return makes;
}

void ghosts_judge_inits(StcPlan *p, PartPlan *part) {
  const Module *m = p->program->module;
  InitJudge *j = ARENA_NEW(p->w.arena, InitJudge);
  *j = (InitJudge){p, part, m, ARENA_ARRAY(p->w.arena, Const, m->nscalars + 1)};
  for (int i = 0; i < m->nscalars; i++) {
    int whole = module_find_scalar(p->module, m->scalars[i].name);
    if (whole >= 0)
      j->scalars[i] = p->scalars[whole];
  }
  part->plan->ghosts->init = judge_init;
  part->plan->ghosts->user = j;
}
