/* tests-true.c: plans a program with masks as if these were true everywhere. Most points are in tiles where that holds;
 * the code of these tiles has no tests (pass tile-classes), so the registers and the arithmetic of tests are no reason
 * for smaller tiles or fewer time steps there.
 *
 *   m: if wet then u + k * (..) else u     ->     as: u + k * (..)
 *
 * Targets without threads choose tiles for that case alone. Reads at the other points count nevertheless: if tests keep
 * a program from reading elsewhere, or as far, the program is planned as it is, because tiles that suit the reduced
 * program need not suit the whole. With threads tests cost more, and tiles at a shore are counted as they are. If
 * another plan than that of the program as it is suits points whose tests hold, it is taken unless it is expected to be
 * clearly slower, or has so large tiles that most may be at a shore. The chosen plan is not expected to be slower there
 * than the other one. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"
#include "passes/simplify/analysis.h"

#include <math.h>
#include <string.h>

/* Replaces reads of field `field` in `piece` by the constant `bits`. */
static void settle_word(Arena *a, Piece *piece, int field, int64_t bits) {
  for (Op *op = piece->body->first, *next; op; op = next) {
    next = op->next;
    if (op->code != OP_ACCESS || op->sym != field)
      continue;
    Builder b = builder_before(a, op);
    block_replace_uses(piece->body, op->results[0], build_int(&b, op->results[0]->type, bits));
    op_unlink(op);
  }
}

/* A copy of stencil `st` with bodies of its own. */
static Stencil own_bodies(Arena *a, const Stencil *st) {
  Stencil own = *st;
  own.pieces = ARENA_ARRAY(a, Piece, st->npieces + 1);
  for (int k = 0; k < st->npieces; k++) {
    block_renumber(st->pieces[k].body, 0);
    own.pieces[k] = st->pieces[k];
    own.pieces[k].body = block_clone(a, st->pieces[k].body, NULL, NULL);
  }
  return own;
}

/* Does `op` read a field that is no word of tests? `words` marks these. */
static bool reads_value(const Op *op, const bool *words) {
  return (op->code == OP_ACCESS || op->code == OP_BEHIND || op_is_scaled(op)) && !words[op->sym];
}

/* Does `body` read the field that `op` reads in the same way, and in each dimension as far to both sides? */
static bool reads_as_far(const Block *body, const Op *op, int rank) {
  bool lo[MAX_RANK] = {false}, hi[MAX_RANK] = {false}, any = false;
  for (const Op *x = body->first; x; x = x->next) {
    if (x->code != op->code || x->sym != op->sym)
      continue;
    any = true;
    for (int d = 0; d < rank; d++) {
      lo[d] = lo[d] || x->off[d] <= op->off[d];
      hi[d] = hi[d] || x->off[d] >= op->off[d];
    }
  }
  for (int d = 0; d < rank; d++)
    any = any && lo[d] && hi[d];
  return any;
}

/* Does `as`, the rest of `m` where the tests of its words are true, have all reads of `m` but those of words? */
static bool reads_all(const Module *m, const Module *as, const bool *words) {
  for (int i = 0; i < m->nstencils; i++) {
    if (m->stencils[i].npieces != as->stencils[i].npieces)
      return false;
    for (int k = 0; k < m->stencils[i].npieces; k++)
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        if (reads_value(op, words) && !reads_as_far(as->stencils[i].pieces[k].body, op, m->grid.rank))
          return false;
  }
  return true;
}

const Module *plan_where_true(PassContext *c, const Module *m) {
  Module *as = NULL;
  bool *words = ARENA_ARRAY(c->arena, bool, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++) {
    int64_t bits;
    words[f] = field_is_word(m, f, &bits);
    if (!words[f])
      continue;
    for (int i = 0; i < m->nstencils && !as; i++) {
      as = module_trial(m);
      for (int k = 0; k < m->nstencils; k++)
        as->stencils[k] = own_bodies(c->arena, &m->stencils[k]);
    }
    for (int i = 0; i < m->nstencils && as; i++)
      for (int k = 0; k < as->stencils[i].npieces; k++)
        settle_word(c->arena, &as->stencils[i].pieces[k], f, bits);
  }
  for (int i = 0; i < m->nstencils && as; i++)
    simplify_stencil(c, as, &as->stencils[i]);
  return as && reads_all(m, as, words) ? as : m;
}

/* ---- comparing two plans */

/* The part of the points of a grid of `rank` extents `size` that lie in tiles of plan `s` in which some tests hold and
 * others do not: such tiles lie along a shore, assumed to cross the grid once in each dimension. */
static double mixed_part(const Schedule *s, int rank, const int64_t *size) {
  double part = 0;
  for (int d = 0; d < rank; d++) {
    double points = fmax(1, s->block[d]) * fmax(1, s->elems[d]);
    points = d == 0 && s->chunk ? s->chunk : points;
    part += points / (double)size[d];
  }
  return fmin(part, 1);
}

/* The expected seconds a step of plan `s` for `m`, cut as it says; infinite: not known. */
static double cut_seconds(PassContext *c, const Module *m, const Schedule *s, const int64_t *size) {
  Module *trial = module_trial(m);
  bool tiled = family_row(s->family)->tiled && plan_cut_apply(c, trial, s);
  return tiled ? plan_tile_seconds(c, trial, s, size) : INFINITY;
}

bool plan_with_tests(PassContext *c, const Module *m, const Schedule *given, Schedule *s) {
  Schedule want = *given;
  PassContext with = *c;
  with.schedule = &want;
  memcpy(want.size, c->schedule->size, sizeof want.size);
  want.every = c->schedule->every;
  return plan_make(&with, m, s) && schedule_same(s, given, KNOBS_NUMBERS | KNOBS_WORDS);
}

/* Sets *s to the plan for `as`, which is `m` where all tests hold, if it is a plan for `m`, too. False: there is
 * none. */
static bool plan_as_true(PassContext *c, const Module *m, const Module *as, Schedule *s) {
  Schedule want = *c->schedule, given;
  PassContext with = *c;
  ModelCache cache = {0};
  with.schedule = &want;
  with.cache = &cache;
  bool ok = plan_make(&with, as, &given);
  if (ok && given.family == FAMILY_WARPS) {
    want.family = FAMILY_STREAM;
    ok = plan_make(&with, as, &given);
  }
  return ok && plan_with_tests(c, m, &given, s);
}

void prefer_true(PassContext *c, const Module *m, const Module *as, Schedule *s) {
  const int64_t *size = c->schedule->size[0] ? c->schedule->size : model_large_grid(m->grid.rank);
  PassContext with = *c;
  Schedule full;
  with.diags = diags_quiet(c->arena);
  if (as == m || !plan_as_true(&with, m, as, &full) || schedule_same(s, &full, KNOBS_NUMBERS | KNOBS_WORDS))
    return;
  if (s->edges == EDGES_STEPS || full.edges == EDGES_STEPS) /* their tiles make the inner stencils, not all */
    return;
  double own = cut_seconds(&with, as, s, size), chosen = fmin(cut_seconds(&with, as, &full, size), own),
         mixed = mixed_part(s, m->grid.rank, size), more = mixed_part(&full, m->grid.rank, size);
  double as_is = (1 - mixed) * own + mixed * cut_seconds(&with, m, s, size),
         as_true = (1 - more) * chosen + more * cut_seconds(&with, m, &full, size);
  if (2 * more > 1 || isinf(as_true) || as_is < tuning.clearly * as_true)
    return;
  diag_remark(c->diags, no_loc(), "the tiles are those of the program where all masks are true: most tiles are so");
  *s = full;
}
