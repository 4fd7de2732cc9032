/* kept.c: finds where fields can keep values of a piece, and makes the bodies that compute and read these fields. */
#include "passes/stencil/alike.h"

#include <string.h>

/* ---- where */

void kept_reach(const Alike *s, int64_t low[MAX_RANK], int64_t high[MAX_RANK]) {
  memset(low, 0, sizeof *low * MAX_RANK);
  memset(high, 0, sizeof *high * MAX_RANK);
  for (int i = 0; i < s->n; i++)
    for (int d = 0; d < s->rank && s->root[i]; d++) {
      low[d] = s->low[i][d] < low[d] ? s->low[i][d] : low[d];
      high[d] = s->high[i][d] > high[d] ? s->high[i][d] : high[d];
    }
}

bool kept_reaches(Affine low, int64_t by, Affine high) {
  int64_t room;
  return affine_diff(high, affine_add_const(low, by), &room) && room >= 0;
}

/* Does `box` span the whole grid in dimension `d`? */
static bool is_whole(const Module *m, const Box *box, int d) {
  return affine_equal(box->lo[d], m->grid.lo[d]) && affine_equal(box->hi[d], m->grid.hi[d]);
}

/* Do all accesses from which the roots are computed go to fields with `rule` and the range of `box` in dimension `d`,
 * and is that the range of the grid? */
static bool goes_on(const Alike *s, const Box *box, int d, OutsideRule rule) {
  const bool *in = alike_made_of(s);
  bool alike = is_whole(s->m, box, d);
  for (int i = 0; i < s->n; i++) {
    if (!in[i] || s->v[i].op->code != OP_ACCESS)
      continue;
    const Field *f = &s->m->fields[s->v[i].op->sym];
    bool same =
        f->outside[d] == rule && affine_equal(f->box.lo[d], box->lo[d]) && affine_equal(f->box.hi[d], box->hi[d]);
    alike = alike && (same || field_lacks(f, d));
  }
  return alike;
}

/* Is each root computed from the values of one point? */
static bool are_of_one_point(const Alike *s) {
  bool one = true;
  for (int r = 0; r < s->n && one; r++) {
    if (!s->root[r])
      continue;
    bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
    alike_cone(s, r, in);
    for (int i = 0; i < s->n; i++)
      for (int d = 0; d < s->rank && in[i] && s->v[i].op->code == OP_ACCESS; d++)
        one = one && s->v[i].off[d] == s->v[r].off[d];
  }
  return one;
}

/* A value that is computed from the values of one point may follow any rule that leads to a point of the field. */
OutsideRule kept_rule(const Alike *s, const Box *box, const int64_t *low, const int64_t *high) {
  static const OutsideRule rules[] = {OUTSIDE_PERIODIC, OUTSIDE_CLAMP, OUTSIDE_MIRROR};
  OutsideRule rule = OUTSIDE_NONE;
  ArenaMark mark = arena_mark(s->m->arena);
  for (int k = 0; k < 3 && rule == OUTSIDE_NONE; k++) {
    bool all = k == 0 || are_of_one_point(s);
    for (int d = 0; d < s->rank && all; d++)
      all = (k == 0 && !low[d] && !high[d]) || goes_on(s, box, d, rules[k]);
    rule = all ? rules[k] : OUTSIDE_NONE;
  }
  arena_release(s->m->arena, mark);
  return rule;
}

/* Has field `f` at least one point for all params? (The grid has.) */
static bool has_points(const Module *m, const Field *f) {
  bool has = true;
  for (int d = 0; d < f->box.rank && has; d++) {
    bool whole = affine_equal(f->box.lo[d], m->grid.lo[d]) && affine_equal(f->box.hi[d], m->grid.hi[d]);
    has = whole || field_lacks(f, d) || always_holds(m, affine_sub(m->arena, f->box.hi[d], f->box.lo[d]), &m->grid);
  }
  return has;
}

bool kept_gives_value(const Module *m, const Box *box, const Field *f, const int64_t *off) {
  Box read = *box;
  bool inside = true;
  for (int d = 0; d < box->rank; d++) {
    read.lo[d] = affine_add_const(box->lo[d], off[d]);
    read.hi[d] = affine_add_const(box->hi[d], off[d]);
  }
  for (int d = 0; d < box->rank && inside; d++)
    inside = field_lacks(f, d) || range_inside(read.lo[d], read.hi[d], f->box.lo[d], f->box.hi[d]) ||
             points_inside(m, &read, &f->box, d);
  return inside || (outside_any(f) && has_points(m, f));
}

bool kept_is_here(OutsideRule rule) { return rule == OUTSIDE_CLAMP || rule == OUTSIDE_MIRROR; }

bool kept_is_defined(const Alike *s, const Box *box) {
  ArenaMark mark = arena_mark(s->m->arena);
  const bool *in = alike_made_of(s);
  bool defined = true;
  for (int i = 0; i < s->n && defined; i++) {
    const Op *op = in[i] ? s->v[i].op : NULL;
    defined = !op || op->code != OP_ACCESS || kept_gives_value(s->m, box, &s->m->fields[op->sym], op->off);
  }
  arena_release(s->m->arena, mark);
  return defined;
}

/* ---- bodies */

/* A copy of the piece's body; map[id] becomes the copy of value `id`. */
static Block *copy_body(const Alike *s, const Block *body, Value **map) {
  Block *own = block_clone(s->m->arena, body, NULL, NULL);
  int32_t id = 0;
  for (const Op *op = own->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      map[id++] = op->results[i];
  return own;
}

void kept_drop_unused(const Module *m, Block *body) {
  int32_t *uses = ARENA_ARRAY(m->arena, int32_t, body_number(body) + 1);
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]++;
  for (Op *op = body->last, *before; op; op = before) {
    before = op->prev;
    if (op->nresults != 1 || uses[op->results[0]->id])
      continue;
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]--;
    op_unlink(op);
  }
}

Block *kept_making_body(const Alike *s, const Block *body, bool here) {
  Value **map = ARENA_ARRAY(s->m->arena, Value *, s->n + 1), **roots = ARENA_ARRAY(s->m->arena, Value *, s->n + 1);
  Block *own = copy_body(s, body, map);
  int n = 0;
  for (int i = 0; i < s->n; i++)
    if (s->root[i])
      roots[n++] = map[i];
  op_unlink(own->last);
  Builder b = builder_at_end(s->m->arena, own);
  build_yield(&b, n, roots);
  kept_drop_unused(s->m, own);
  for (Op *op = own->first; op && here; op = op->next)
    for (int d = 0; d < s->rank && op->code == OP_ACCESS; d++)
      op->off[d] = 0;
  return own;
}

Block *kept_reading_body(const Alike *s, const Block *body, const Kept *kept) {
  Value **map = ARENA_ARRAY(s->m->arena, Value *, s->n + 1);
  Block *own = copy_body(s, body, map);
  Builder b = builder_before(s->m->arena, own->first);
  for (int i = 0; i < s->n; i++) {
    const Like *x = &s->v[i];
    int64_t off[MAX_RANK] = {0};
    if (!x->op || kept[x->of].field < 0)
      continue;
    for (int d = 0; d < s->rank; d++)
      off[d] = x->off[d] - (kept[x->of].here ? 0 : s->v[x->of].off[d]);
    block_replace_uses(own, map[i], build_access(&b, map[i]->type, kept[x->of].field, off, s->rank));
  }
  kept_drop_unused(s->m, own);
  return own;
}

/* ---- modules */

const char *kept_field_name(const Module *m, const char *name, const char *what) {
  const char *made = arena_printf(m->arena, "%s.%s", name, what);
  for (int k = 2; module_find_field(m, made) >= 0; k++)
    made = arena_printf(m->arena, "%s.%s.%d", name, what, k);
  return made;
}

/* Has a stencil or an init of `m` this name? */
static bool is_taken(const Module *m, const char *name) {
  bool taken = false;
  for (int i = 0; i < m->nstencils; i++)
    taken = taken || strcmp(m->stencils[i].name, name) == 0;
  for (int i = 0; i < m->ninits; i++)
    taken = taken || strcmp(m->inits[i].name, name) == 0;
  return taken;
}

const char *kept_stencil_name(const Module *m, const char *name, const char *what) {
  const char *made = arena_printf(m->arena, "%s.%s", name, what);
  for (int k = 2; is_taken(m, made); k++)
    made = arena_printf(m->arena, "%s.%s.%d", name, what, k);
  return made;
}

void kept_own_lists(Module *m) {
  Field *fields = NULL;
  Stencil *stencils = NULL, *inits = NULL;
  Check *checks = NULL;
  ParamArray *arrays = NULL;
  int nfields = 0, nstencils = 0, ninits = 0, nchecks = 0, narrays = 0;
  for (int i = 0; i < m->nfields; i++)
    ARENA_PUSH(m->arena, fields, nfields, m->fields[i]);
  for (int i = 0; i < m->nstencils; i++)
    ARENA_PUSH(m->arena, stencils, nstencils, m->stencils[i]);
  for (int i = 0; i < m->ninits; i++)
    ARENA_PUSH(m->arena, inits, ninits, m->inits[i]);
  for (int i = 0; i < m->nchecks; i++)
    ARENA_PUSH(m->arena, checks, nchecks, m->checks[i]);
  for (int i = 0; i < m->nparam_arrays; i++)
    ARENA_PUSH(m->arena, arrays, narrays, m->param_arrays[i]);
  m->fields = fields;
  m->stencils = stencils;
  m->inits = inits;
  m->checks = checks;
  m->param_arrays = arrays;
}

bool kept_loses_launches(const Module *now, const Module *before) {
  return (tiled_launch(now, 1)->illegal && !tiled_launch(before, 1)->illegal) ||
         (tiled_launch(now, 2)->illegal && !tiled_launch(before, 2)->illegal);
}
