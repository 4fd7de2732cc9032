/* sweep-turn.c: sweeps along the last dimension, whose layers lie beside each other in memory, and columns far apart. A
 * thread that goes along a column would use a word of each line of memory that it loads, and have lost the line by the
 * next layer. So the threads of a block, which have columns beside each other, load rows of up to eight layers of all
 * their columns together, eight threads a column, and give them to their owners through shared memory, and what they
 * store back likewise:
 *
 *     load row r + 1: layers beside each other          ->  registers
 *     registers of row r -> @turn0[column, layer], barrier, the thread's own layers
 *     compute them                                      ->  @turned0[column, layer]
 *     barrier, store: layers beside each other
 *
 * The last block's columns beyond the region load those of the last column and store nothing: all threads must come to
 * the barriers. */
#include "passes/base/tuning.h"
#include "passes/lower/sweep.h"

#include <string.h>

/* The bounds of the columns, in the dimension in which they lie beside each other. */
static Value *last_column(const Sweep *s, Builder *b) {
  return build_affine(b, s->k.l->m, s->st->pieces[0].box.hi[beside_columns(s)]);
}

/* Does each piece of the launch's sweeps give each target? */
static bool all_given(const Launch *l) {
  bool all = true;
  for (int i = 0; i < l->n; i++)
    for (int p = 0; p < l->st[i].npieces; p++)
      all = all && l->st[i].pieces[p].ntargets == l->st[i].ntargets;
  return all;
}

bool turn_suits(const Sweep *s) {
  const Launch *l = s->k.l;
  bool paired = false;
  for (int f = 0; f < l->m->nfields; f++)
    paired = paired || (l->use[f].stored && l->use[f].paired);
  return s->st->along == l->m->grid.rank - 1 && l->m->grid.rank > 1 && !l->m->part && !paired && all_given(l);
}

/* The array for number `i` of what goes one way, `name`, of type `t`: a row of layers for each column, an odd number of
 * words apart. */
static int turn_array(Sweep *s, const char *name, int i, Type t) {
  Kernel *k = &s->k.lo->out->kernels[s->kernel];
  name = arena_printf(s->k.lo->out->arena, "%s%d_%s", name, i, type_name(t));
  for (int a = 0; a < k->narrays; a++)
    if (strcmp(k->arrays[a].name, name) == 0)
      return a;
  int32_t cells[MAX_RANK] = {k->threads[beside_columns(s)], (int32_t)tuning.sweep_ahead + 1};
  return kernel_array_of(s->k.lo, k, 2, name, t, SPACE_SHARED, cells, NULL, NULL);
}

/* A cell of a row that a thread moves: its column in the block and its layer in the row, i32; where that is. */
typedef struct TurnCell {
  Value *column, *layer, *at[MAX_RANK], *inside;
} TurnCell;

/* Cell number `j` of those that the thread moves, of a row of `layers` layers that begins `at`. */
static TurnCell turn_cell(const Sweep *s, Builder *b, int32_t j, int32_t layers, Value *at) {
  int beside = beside_columns(s), rank = s->k.l->m->grid.rank;
  int32_t lanes = s->k.lo->out->kernels[s->kernel].threads[beside];
  Value *e = j ? build2(b, OP_ADD, s->lane, build_int(b, TY_I32, j * lanes)) : s->lane, *n = build_int(b, TY_I32, layers);
  TurnCell c = {.column = build2(b, OP_DIV, e, n), .layer = build2(b, OP_REM, e, n)};
  for (int d = 0; d < rank; d++)
    c.at[d] = s->k.g[d];
  Value *column = build2(b, OP_ADD, s->first, build_convert(b, TY_I64, c.column)), *last = last_column(s, b);
  c.inside = build2(b, OP_LE, column, last);
  c.at[beside] = build2(b, OP_MIN, column, last);
  c.at[s->st->along] = build2(b, s->st->sweep > 0 ? OP_ADD : OP_SUB, at, build_convert(b, TY_I64, c.layer));
  return c;
}

Point *turn_begin_row(Sweep *s, Builder *b, const Piece *piece, Value *at, int32_t layers) {
  const Module *m = s->k.l->m;
  Point *p = ARENA_ARRAY(m->arena, Point, layers);
  for (int32_t j = 0; j < layers; j++) {
    TurnCell c = turn_cell(s, b, j, layers, at);
    p[j] = point_here(s);
    for (int d = 0; d < m->grid.rank; d++)
      p[j].index[d] = c.at[d];
    for (const Op *op = piece->body->first; op; op = op->next)
      if (op->code == OP_ACCESS && !is_kept_before(s, op->sym)) {
        Rules rules = access_rules(m, &piece->box, op->sym, op->off);
        point_access(&p[j], b, op->sym, op->off, &rules);
      }
  }
  return p;
}

Point *turn_take_row(Sweep *s, Builder *b, const Point *like, int32_t layers, Value *at, Value *const *values) {
  int32_t n = point_built(like, NULL);
  Value **own = ARENA_ARRAY(b->arena, Value *, n + 1);
  Point *p = ARENA_ARRAY(b->arena, Point, layers);
  build_barrier(b);
  for (int32_t j = 0; j < layers; j++) {
    TurnCell c = turn_cell(s, b, j, layers, at);
    for (int32_t i = 0; i < n; i++)
      build_astore(b, turn_array(s, "turn", i, values[j * n + i]->type), 0, values[j * n + i], 2,
                   (Value *[]){c.column, c.layer}, NULL);
  }
  build_barrier(b);
  for (int32_t i = 0; i < layers; i++) {
    Value *place[2] = {s->lane, build_int(b, TY_I32, i)};
    s->k.g[s->st->along] = build2(b, OP_ADD, at, build_int(b, TY_I64, s->st->sweep * i));
    p[i] = point_here(s);
    for (int32_t k = 0; k < n; k++)
      own[k] = build_aload(b, values[k]->type, turn_array(s, "turn", k, values[k]->type), 0, 2, place, NULL);
    point_take(&p[i], b, like, own);
  }
  return p;
}

void turn_keep(Sweep *s, Builder *b, int t, Value *v) {
  if (s->on >= 0) {
    Value *place[2] = {s->lane, build_int(b, TY_I32, s->on)};
    build_astore(b, turn_array(s, "turned", t, v->type), 0, v, 2, place, NULL);
    return;
  }
  Value *column = build2(b, OP_ADD, s->first, build_convert(b, TY_I64, s->lane));
  Builder in = build_then(b, build2(b, OP_LE, column, last_column(s, b)));
  build_store(&in, store_buffer(s->k.lo, s->k.l, s->st->targets[t]), v, s->k.l->m->grid.rank, s->k.g, NULL)->ver = 1;
}

void turn_store_row(Sweep *s, Builder *b, Value *at, int32_t layers) {
  const Module *m = s->k.l->m;
  bool any = false;
  for (int t = 0; t < s->st->ntargets; t++)
    any = any || s->array[s->st->targets[t]] < 0;
  if (!any)
    return;
  build_barrier(b);
  for (int32_t j = 0; j < layers; j++) {
    TurnCell c = turn_cell(s, b, j, layers, at);
    Builder in = build_then(b, c.inside);
    for (int t = 0; t < s->st->ntargets; t++) {
      int f = s->st->targets[t];
      if (s->array[f] >= 0)
        continue;
      Type type = m->fields[f].type;
      Value *v = build_aload(&in, type, turn_array(s, "turned", t, type), 0, 2, (Value *[]){c.column, c.layer}, NULL);
      build_store(&in, store_buffer(s->k.lo, s->k.l, f), v, m->grid.rank, c.at, NULL)->ver = 1;
    }
  }
}
