/* warps.c: what a level of the pipeline over warps computes of its equation when which row has come, and what it keeps
 * until the next. Every operation has the operands that it has in the program, so results do not change by a bit:
 * nothing is reassociated; an equation whose terms stand in the order of the rows keeps one partial sum for each row to
 * be. */
#include "passes/lower/warps.h"

/* ---- what fits */

/* Does no dimension have another rule than a constant? */
static bool rules_constant(const Rules *r) {
  bool only = true;
  for (int d = 0; d < 2; d++)
    only = only && (r->dim[d] == OUTSIDE_NONE || r->dim[d] == OUTSIDE_CONST);
  return only;
}

/* Why access `op` of a piece with box `box` to field `f` does not fit, NULL: it does. */
static const char *why_not_access(const Module *m, const Box *box, int f, const Op *op) {
  if (op->code != OP_ACCESS)
    return NULL;
  Rules rules = access_rules(m, box, op->sym, op->off);
  return op->sym != f              ? "it reads a second field"
         : !rules_constant(&rules) ? "it reads beyond the field's region by another rule than a constant"
                                   : NULL;
}

/* Does the equation read constants beyond the field's region? */
static bool reads_constants(const WarpEquation *e) {
  for (const Op *op = e->piece->body->first; op; op = op->next) {
    Rules rules = {{0}};
    if (op->code == OP_ACCESS)
      rules = access_rules(e->m, &e->piece->box, op->sym, op->off);
    if (op->code == OP_ACCESS && !rules_none(&rules))
      return true;
  }
  return false;
}

/* The piece of `st` with the most free dimensions: that of nearly all points. */
static int main_piece(Arena *a, const Stencil *st) {
  int best = 0;
  for (int i = 1; i < st->npieces; i++)
    if (free_dimensions(a, &st->pieces[i].box) > free_dimensions(a, &st->pieces[best].box))
      best = i;
  return best;
}

/* Why piece number `i` of the equation's stencil does not fit. */
static const char *why_not_piece(const WarpEquation *e, int i) {
  const Piece *p = &e->st->pieces[i];
  for (const Op *op = p->body->first; op; op = op->next) {
    const char *why = why_not_access(e->m, &p->box, e->field, op);
    if (!why && op->code == OP_ACCESS && i != e->main && (op->off[0] || op->off[1]))
      why = "a second piece reads other points than its own";
    if (why)
      return why;
  }
  return NULL;
}

/* Why the step of `m` does not fit, as far as that can be told without its equation. */
static const char *why_not_step(const Module *m, int n, const Stencil *st) {
  if (m->grid.rank != 2)
    return "the grid has not two dimensions";
  if (n != 1 || m->nprobes)
    return "a step is not one stencil alone";
  if (st->ntargets != 1 || !st->npieces)
    return "a stencil has several targets";
  const Field *f = &m->fields[st->targets[0]];
  int32_t size = type_size(f->type);
  return size != 4 && size != 8 ? "the field's values do not take 4 or 8 bytes" : NULL;
}

/* ---- stages */

static int32_t larger(int64_t x, int64_t y) { return (int32_t)(x > y ? x : y); }

/* Finds how far the equation reads. */
static void find_reach(WarpEquation *e) {
  for (const Op *op = e->piece->body->first; op; op = op->next) {
    if (op->code != OP_ACCESS)
      continue;
    e->below = larger(e->below, -op->off[0]);
    e->above = larger(e->above, op->off[0]);
    e->left = larger(e->left, -op->off[1]);
    e->right = larger(e->right, op->off[1]);
  }
  e->last = e->below + e->above;
}

/* Finds at which stage each value is computed. */
static void find_stages(WarpEquation *e) {
  for (const Op *op = e->piece->body->first; op; op = op->next) {
    if (!op->nresults)
      continue;
    int id = op->results[0]->id;
    e->free[id] = op->code != OP_ACCESS;
    e->at[id] = op->code == OP_ACCESS ? (int32_t)op->off[0] + e->below : 0;
    for (int k = 0; k < op->noperands; k++) {
      int from = op->operands[k]->id;
      e->free[id] = e->free[id] && e->free[from];
      if (!e->free[from])
        e->at[id] = larger(e->at[id], e->at[from]);
    }
  }
}

/* `v` is used at stage `stage`; what is free, where it is used. */
static void use_at(WarpEquation *e, const Value *v, int32_t stage) {
  e->until[v->id] = larger(e->until[v->id], stage);
  if (!e->free[v->id])
    return;
  for (int k = 0; k < v->def->noperands; k++)
    use_at(e, v->def->operands[k], stage);
}

/* Finds until which stage each value is used, -1: never; what nobody needs is used by nobody. */
static void find_uses(WarpEquation *e) {
  for (int i = 0; i < e->nvalues; i++)
    e->until[i] = -1;
  for (const Op *op = e->piece->body->last; op; op = op->prev) {
    bool end = op->code == OP_YIELD;
    int id = end ? -1 : op->results[0]->id;
    if (!end && (e->until[id] < 0 || e->free[id]))
      continue;
    for (int k = 0; k < op->noperands; k++)
      use_at(e, op->operands[k], end ? e->last : e->at[id]);
  }
}

/* ---- places */

/* The places that are taken between stages: taken[place][stage]. */
typedef struct Places {
  WarpEquation *e;
  bool *taken;
} Places;

/* A place for a value of type `t` from stage `from` to stage `to`. */
static int32_t take_place(Places *p, Type t, int from, int to) {
  WarpEquation *e = p->e;
  for (int32_t i = 0; i <= e->slots; i++) {
    bool is_free = i == e->slots || e->slot_type[i] == t;
    for (int s = from; s < to; s++)
      is_free = is_free && !p->taken[i * (e->last + 1) + s];
    if (!is_free)
      continue;
    for (int s = from; s < to; s++)
      p->taken[i * (e->last + 1) + s] = true;
    e->slot_type[i] = t;
    e->slots += i == e->slots;
    return i;
  }
  return -1;
}

/* Gives each value that is kept its place. */
static void place_values(Places *p) {
  WarpEquation *e = p->e;
  for (const Op *op = e->piece->body->first; op; op = op->next) {
    int id = op->nresults ? op->results[0]->id : -1;
    if (id < 0)
      continue;
    bool kept = !e->free[id] && e->until[id] > e->at[id];
    e->slot[id] = kept ? take_place(p, op->results[0]->type, e->at[id], e->until[id]) : -1;
  }
}

/* Finds the carriers: places in use that have room for the field's values, else places for that. */
static void place_carriers(Places *p) {
  WarpEquation *e = p->e;
  Type t = e->m->fields[e->field].type;
  for (int s = e->below; s < e->last; s++) {
    int32_t i = 0;
    while (i < e->slots && (e->slot_type[i] != t || !p->taken[i * (e->last + 1) + s]))
      i++;
    e->carrier[s] = i < e->slots ? i : take_place(p, t, s, s + 1);
  }
}

/* Is all that is kept made anew at each stage, by an operation? */
static bool keeps_sums(const WarpEquation *e) {
  bool sums = true;
  for (const Op *op = e->piece->body->first; op && sums; op = op->next)
    for (int i = 0; i < op->nresults; i++) {
      int id = op->results[i]->id;
      sums = sums && (e->slot[id] < 0 || (op->code != OP_ACCESS && e->until[id] == e->at[id] + 1));
    }
  return sums;
}

/* The equation of stencil `st` of `m`, with stages and places. */
static WarpEquation *make_equation(const Module *m, const Stencil *st) {
  Arena *a = m->arena;
  WarpEquation *e = ARENA_NEW(a, WarpEquation);
  *e = (WarpEquation){.m = m, .st = st, .field = st->targets[0], .main = main_piece(a, st)};
  e->piece = &st->pieces[e->main];
  e->nvalues = body_number(e->piece->body);
  find_reach(e);
  e->at = ARENA_ARRAY(a, int32_t, e->nvalues + 1);
  e->until = ARENA_ARRAY(a, int32_t, e->nvalues + 1);
  e->slot = ARENA_ARRAY(a, int32_t, e->nvalues + 1);
  e->free = ARENA_ARRAY(a, bool, e->nvalues + 1);
  e->carrier = ARENA_ARRAY(a, int32_t, e->last + 1);
  e->slot_type = ARENA_ARRAY(a, Type, e->nvalues + e->last + 1);
  Places p = {e, ARENA_ARRAY(a, bool, (e->nvalues + e->last + 1) * (e->last + 1))};
  find_stages(e);
  find_uses(e);
  place_values(&p);
  place_carriers(&p);
  e->sums = keeps_sums(e);
  e->constant = reads_constants(e);
  return e;
}

const WarpEquation *warps_equation(const Module *m, const char **why) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  *why = why_not_step(m, n, st);
  if (*why)
    return NULL;
  WarpEquation *e = make_equation(m, st);
  for (int i = 0; i < st->npieces && !*why; i++)
    *why = why_not_piece(e, i);
  if (!*why && e->last < 1)
    *why = "it reads no other rows";
  return *why ? NULL : e;
}

int warps_operations(const WarpEquation *e) {
  int n = 0;
  for (const Op *op = e->piece->body->first; op; op = op->next)
    n += op->nresults && op->noperands && op->code != OP_MUL && !e->free[op->results[0]->id];
  return n;
}

/* ---- sizes */

/* A core's blocks have no more warps together: each then has the registers that it needs. */
enum { MOST_WARPS = 12 };

/* Operations of a loop's body at most: longer ones run out of the instruction cache. */
enum { LONG_BODY = 1000 };

/* How many rows of a group the code has written out. What is kept moves on by a stage with each row that a loop does
 * not tell apart, which costs nothing where that is a sum to which a term is added; else all of them are. */
static int32_t written_out(const WarpEquation *e, const WarpShape *w) {
  bool small = type_size(e->m->fields[e->field].type) == 4;
  int32_t V = e->sums && small && w->U > 2 ? 1 : w->U;
  while (e->sums && V > 1 && (w->U % V || V * w->C * w->X * (warps_operations(e) + 1) > LONG_BODY))
    V--;
  return V;
}

WarpShape warps_shape(const TargetInfo *t, const WarpEquation *e, const Schedule *s) {
  WarpShape w = {.X = s->elems[1], .W = s->block[0], .C = s->T / s->block[0], .G = s->ahead};
  int32_t side = larger(e->left, e->right) * s->T;
  w.vector = VECTOR_BYTES / type_size(e->m->fields[e->field].type);
  w.halo = (side + w.vector - 1) / w.vector * w.vector;
  w.ends = e->last * s->T;
  w.U = e->last == 1 ? 2 : e->last;
  if (e->sums && e->last % 2 == 0 && e->last >= 4 && e->above <= e->last / 2 &&
      warps_shared_bytes(e, &w) > t->max_shared_bytes)
    w.U = e->last / 2;
  w.V = written_out(e, &w);
  return w;
}

int64_t warps_shared_bytes(const WarpEquation *e, const WarpShape *w) {
  int64_t row = (int64_t)32 * w->X * type_size(e->m->fields[e->field].type);
  return (w->W + 1) * (int64_t)w->G * (w->U * row + 2 * 8) + 4 * VECTOR_BYTES;
}

int32_t warps_kept_words(const WarpEquation *e, const WarpShape *w) {
  int32_t kept = 0;
  for (int i = 0; i < e->slots; i++)
    kept += (type_size(e->slot_type[i]) + 3) / 4;
  return e->last * kept * w->C * w->X;
}

int32_t warps_registers(const WarpEquation *e, const WarpShape *w) {
  return warps_kept_words(e, w) + 2 * w->X * (type_size(e->m->fields[e->field].type) / 4) + 30;
}

int32_t warps_strips(const WarpShape *w) {
  int32_t distance = WARP_LANES * w->X - 2 * w->halo;
  return (WARPS_GRID - 2 * w->halo + distance - 1) / distance;
}

double warps_segment_rows(const TargetInfo *t, const WarpEquation *e, const WarpShape *w) {
  double blocks = (double)(t->cores > 0 ? t->cores : 1) * warps_per_core(t, e, w);
  return warps_strips(w) * (WARPS_GRID + (double)w->ends) / blocks;
}

int32_t warps_per_core(const TargetInfo *t, const WarpEquation *e, const WarpShape *w) {
  int32_t registers = (warps_registers(e, w) + 7) / 8 * 8, threads = 32 * w->W;
  registers = registers > 255 ? 255 : registers;
  int64_t by_registers = t->registers_per_core / ((int64_t)(registers + 7) / 8 * 8 * threads),
          by_shared = t->shared_per_core / (warps_shared_bytes(e, w) + 1024);
  int64_t blocks = by_registers < by_shared ? by_registers : by_shared;
  blocks = blocks < MOST_WARPS / w->W ? blocks : MOST_WARPS / w->W;
  return (int32_t)(blocks < 1 ? 1 : blocks);
}
