/* warps-choices.c: finds choices of a level that matter on one row of the grid alone, such as a point source. Part of
 * their condition is that the row is a certain one, which nearly no row is. Such a choice, and all values that only the
 * choice needs, cost next to nothing behind one test of the row (tile/emit/warps-lines.c). */
#include "passes/tile/warps.h"

/* Does value `v`, a condition, test whether the row is a certain one? */
static bool is_one_row(const WarpLevel *e, int v) {
  const Op *op = e->value[v].op;
  bool row = false;
  for (int i = 0; i < op->noperands; i++)
    row = row || (op->operands[i]->def && op->operands[i]->def->code == OP_INDEX);
  return op->code == OP_EQ && row && e->value[v].of_row;
}

/* Adds the parts of condition `v`, which is their conjunction, to *parts, each part once. */
static void add_parts(const WarpLevel *e, int v, bool *seen, int *n, int *parts) {
  const WarpValue *x = &e->value[v];
  if (seen[v])
    return;
  seen[v] = true;
  if (x->kind != WARP_OP || x->op->code != OP_AND) {
    parts[(*n)++] = v;
    return;
  }
  add_parts(e, x->uses[0].value, seen, n, parts);
  add_parts(e, x->uses[1].value, seen, n, parts);
}

int *warps_condition_parts(Arena *a, const WarpLevel *e, int v, int *n) {
  int *parts = ARENA_ARRAY(a, int, e->nvalues);
  *n = 0;
  add_parts(e, v, ARENA_ARRAY(a, bool, e->nvalues), n, parts);
  return parts;
}

/* Does one of the parts of condition `v` test whether the row is a certain one? */
static bool asks_row(const WarpLevel *e, int v) {
  int n;
  const int *parts = warps_condition_parts(e->m->arena, e, v, &n);
  bool any = false;
  for (int i = 0; i < n; i++)
    any = any || (e->value[parts[i]].kind == WARP_OP && is_one_row(e, parts[i]));
  return any;
}

/* Does the value of use `u` depend on fields at the point itself alone? Notes in seen[] the values that were visited
 * and do. */
static bool is_local(const WarpLevel *e, const WarpUse *u, bool *seen) {
  const WarpValue *x = &e->value[u->value];
  bool local = !u->off[0] && !u->off[1] && !u->rule[0] && !u->rule[1];
  if (seen[u->value] || x->kind == WARP_INPUT || x->kind == WARP_NEW)
    return local;
  for (int i = 0; i < x->nuses && local; i++)
    local = is_local(e, &x->uses[i], seen);
  return seen[u->value] = local;
}

/* Is value `v` a choice that matters on one row? Condition and second operand are computed on that row. The third
 * operand is computed before, so it may read other points, and the second may use it. */
static bool is_choice(const WarpLevel *e, int v) {
  const WarpValue *x = &e->value[v];
  if (x->kind != WARP_OP || !x->wanted || x->op->code != OP_SELECT || e->value[x->uses[0].value].kind != WARP_OP ||
      !asks_row(e, x->uses[0].value))
    return false;
  bool *seen = ARENA_ARRAY(e->m->arena, bool, e->nvalues);
  seen[x->uses[2].value] = e->value[x->uses[2].value].kind == WARP_OP;
  return is_local(e, &x->uses[0], seen) && is_local(e, &x->uses[1], seen);
}

/* Is use number `i` of value `v` needed only on the row of a choice? */
static bool is_apart(const WarpLevel *e, int v, int i) {
  const WarpValue *x = &e->value[v];
  return x->apart || (x->choice && i < 2 && x->uses[i].value != x->uses[2].value);
}

void warps_find_choices(WarpLevel *e) {
  bool *elsewhere = ARENA_ARRAY(e->m->arena, bool, e->nvalues), *used = ARENA_ARRAY(e->m->arena, bool, e->nvalues);
  for (int v = 0; v < e->nvalues; v++)
    e->value[v].choice = is_choice(e, v);
  for (int v = e->nvalues - 1; v >= 0; v--) {
    WarpValue *x = &e->value[v];
    x->apart = x->kind == WARP_OP && used[v] && !elsewhere[v];
    for (int i = 0; i < x->nuses && x->wanted; i++) {
      used[x->uses[i].value] = true;
      elsewhere[x->uses[i].value] = elsewhere[x->uses[i].value] || !is_apart(e, v, i);
    }
  }
}

/* ---- special rows */

/* Sets *row to the row for which choice `v` tests, if the params determine it. */
static bool choice_row(const WarpLevel *e, int v, Affine *row) {
  int n;
  const int *parts = warps_condition_parts(e->m->arena, e, e->value[v].uses[0].value, &n);
  for (int i = 0; i < n; i++) {
    const WarpValue *x = &e->value[parts[i]];
    if (x->kind != WARP_OP || !is_one_row(e, parts[i]))
      continue;
    const Op *a = x->op->operands[0]->def, *b = x->op->operands[1]->def, *other = a->code == OP_INDEX ? b : a,
             *index = a->code == OP_INDEX ? a : b;
    if (!other || index->sym != 0 || (other->code != OP_SCALAR && other->code != OP_CONST))
      continue;
    *row = other->code == OP_SCALAR ? affine_scalar(e->m->arena, other->sym) : affine_const(other->cval.i);
    return true;
  }
  return false;
}

/* Sets *rows to the rows on which value `v`, a choice or a value that a probe sees, differs from others. False: there
 * are none, or they are not known, or many. */
static bool special_rows(const WarpLevel *e, int v, SpecialRows *rows) {
  if (e->value[v].choice && e->value[v].wanted && choice_row(e, v, &rows->lo)) {
    rows->hi = rows->lo;
    return true;
  }
  if (!warps_probe(e, v))
    return false;
  Box box = *warps_region(e);
  box.lo[0] = rows->lo = e->value[v].piece->box.lo[0];
  box.hi[0] = rows->hi = e->value[v].piece->box.hi[0];
  return box_is_few(e->m, &box);
}

SpecialRows *warps_special_rows(const WarpLevel *e, int *n, bool *is) {
  SpecialRows *out = ARENA_ARRAY(e->m->arena, SpecialRows, MOST_SPECIAL), own;
  *n = 0;
  for (int v = 0; v < e->nvalues; v++) {
    int i = 0;
    is[v] = !e->wraps[0] && special_rows(e, v, &own);
    if (!is[v])
      continue;
    while (i < *n && !(affine_equal(out[i].lo, own.lo) && affine_equal(out[i].hi, own.hi)))
      i++;
    is[v] = i < MOST_SPECIAL;
    if (i == *n && is[v])
      out[(*n)++] = own;
  }
  return out;
}
