/* check_levels.c: levels of the grid, and reads of fields on the next finer or coarser level.
 *
 * With D levels in addition to the grid, launching computes the points of the coarsest level in each dimension, and
 * checks that doubling them D times gives those of the grid. So the region of each level is a multiple of those points,
 * and accesses from one level to the next are bounded like others. */
#include "frontend/levels.h"

#include "frontend/check/declare.h"
#include "frontend/ensemble.h"

#include <string.h>

/* ---- their regions */

/* Adds the launch check value >= 0. */
static void add_check(Checker *c, Loc loc, Affine value, const char *message) {
  Check k = {.value = value, .message = message, .loc = loc};
  ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
}

/* Sets *out to the points of the coarsest level in dimension `d`, `extent` / 2^last, and adds the launch checks that
 * this is an integer. False after reporting that it is not. */
static bool coarsest(Checker *c, const Decl *decl, int d, int last, Affine extent, Affine *out) {
  int shown = check_shown(c, d);
  const RangeExpr *range = &c->grid->decl->region->ranges[shown];
  const char *cure =
      arena_printf(c->arena,
                   "the levels 0 .. %d of '%s' halve dimension %d of the grid %d times, so its points must be a "
                   "multiple of %d; take another size, or fewer levels",
                   last, decl->name, shown, last, 1 << last);
  if (!extent.n) {
    *out = affine_const(extent.c >> last);
    if (extent.c % ((int64_t)1 << last) == 0)
      return true;
    check_error(c, NULL, decl->right->loc, "%s; it has %lld", cure, (long long)extent.c);
    return false;
  }
  Expr *two = check_leaf(c, EXPR_INT, TY_I64, decl->loc, NULL);
  two->name = arena_printf(c->arena, "%lld", (long long)1 << last);
  Expr *points = check_plus(c, check_bound(c, range->hi ? range->hi : range->lo), 1);
  Expr *share = check_operation(c, OP_DIV, decl->loc, 2, (Expr *[]){points, two});
  share->type = TY_I64;
  Symbol *s = check_hidden_scalar(c, arena_printf(c->arena, "%s.points.%d", decl->name, shown), share);
  *out = affine_scalar(c->arena, s->index);
  Affine all = affine_scale(c->arena, *out, (int64_t)1 << last);
  add_check(c, decl->right->loc, affine_sub(c->arena, all, extent), cure);
  add_check(c, decl->right->loc, affine_sub(c->arena, extent, all), cure);
  return true;
}

/* Are the bounds of `d` 0 .. D, and does it refer to the grid, and does the grid begin at 0? Sets *last to D; else
 * reports. */
static bool can_be(Checker *c, const Decl *d, int64_t *last) {
  int64_t first;
  if (!c->grid || strcmp(d->on.s, c->grid->name) != 0) {
    check_error(c, NULL, d->on.loc, "levels are those of the grid%s%s%s, which must be declared before them",
                c->grid ? " '" : "", c->grid ? c->grid->name : "", c->grid ? "'" : "");
    return false;
  }
  if (c->levels) {
    check_error(c, NULL, d->loc, "the grid has levels already, '%s'; a program has one 'levels'", c->levels->name);
    return false;
  }
  if (!check_const_int(c, d->value, NULL, "the number of a level", &first) ||
      !check_const_int(c, d->right, NULL, "the number of a level", last))
    return false;
  if (first || *last < 1 || *last >= MAX_LEVELS) {
    check_error(c, NULL, d->value->loc, "levels are numbered from 0 to at least 1 and at most %d", MAX_LEVELS - 1);
    return false;
  }
  for (int k = c->lead; k < c->m->grid.rank; k++)
    if (c->m->grid.lo[k].n || c->m->grid.lo[k].c) {
      check_error(c, NULL, d->on.loc,
                  "levels need a grid that begins at 0 in each dimension, but '%s' does not in dimension %d; let it "
                  "begin at 0",
                  c->grid->name, check_shown(c, k));
      return false;
    }
  return true;
}

/* Declares the region of level `l` of `d`. */
static void declare_level(Checker *c, const Decl *d, int l, const Box *box) {
  Decl *own = ARENA_NEW(c->arena, Decl);
  *own = *d;
  own->name = arena_printf(c->arena, "%s(%d)", d->name, l);
  if (l)
    check_inside(c, d->loc, box, own->name, &c->m->grid, "the grid");
  Symbol *s = check_declare(c, SYM_REGION, own);
  if (!s)
    return;
  s->box = *box;
  s->used = true;
}

void check_levels(Checker *c, const Decl *d) {
  int64_t last;
  Affine points[MAX_RANK];
  bool ok = can_be(c, d, &last);
  for (int k = c->lead; ok && k < c->m->grid.rank; k++) {
    int like = c->lead;
    while (like < k && !affine_equal(c->m->grid.hi[like], c->m->grid.hi[k]))
      like++;
    if (like < k)
      points[k] = points[like];
    else
      ok = coarsest(c, d, k, (int)last, affine_add_const(c->m->grid.hi[k], 1), &points[k]);
  }
  c->incomplete |= !ok;
  if (!ok)
    return;
  Levels *levels = ARENA_NEW(c->arena, Levels);
  *levels = (Levels){.name = d->name, .loc = d->loc, .n = (int)last + 1};
  levels->box = ARENA_ARRAY(c->arena, Box, levels->n);
  for (int l = 0; l <= last; l++) {
    levels->box[l] = c->m->grid;
    for (int k = c->lead; l && k < c->m->grid.rank; k++)
      levels->box[l].hi[k] = affine_add_const(affine_scale(c->arena, points[k], (int64_t)1 << (last - l)), -1);
    declare_level(c, d, l, &levels->box[l]);
  }
  c->levels = levels;
}

int check_level_of(const Checker *c, const Box *box) {
  for (int l = 0; c->levels && l < c->levels->n; l++)
    if (box_equal(box, &c->levels->box[l]))
      return l;
  return -1;
}

/* The level of the targets of the current stencil or init; 0 for targets on no level, -1 if they are on several
 * levels. */
static int level_of_targets(const Checker *c) {
  int level = 0;
  for (int t = 0; t < c->stencil->ntargets; t++) {
    int of = check_level_of(c, &c->m->fields[c->stencil->targets[t]].box);
    of = of < 0 ? 0 : of;
    if (t && of != level)
      return -1;
    level = of;
  }
  return level;
}

int check_level_at_point(Checker *c, const Env *env, Loc loc, const char *word) {
  if (!c->levels || !c->region)
    return 0;
  if (c->in_mask) { /* like a field, a mask is on the grid unless its region is that of a level */
    int of = check_level_of(c, c->region);
    return of < 0 ? 0 : of;
  }
  bool of_targets = c->stencil && !c->in_reduction && !c->in_update;
  int level = of_targets ? level_of_targets(c) : check_level_of(c, c->region);
  if (level < 0)
    check_error(c, env, loc,
                of_targets ? "'%s' is different on the levels that '%s' has targets on; make a stencil for each level"
                           : "'%s' goes by the level, and this region is that of none; reduce over all of a level of "
                             "'%s', with an 'if' for a part of it",
                word, of_targets ? c->stencil->name : c->levels->name);
  return level;
}

bool check_wrong_spacing(Checker *c, const Env *env, Loc loc, const Symbol *sym) {
  int level = c->order ? check_level_of(c, &sym->box) : 0;
  if (level > 0)
    check_error(c, env, loc,
                "diff knows the grid's own spacing, but '%s' lies on level %d, whose points are %d times as far apart; "
                "write the difference out, with that distance",
                sym->name, level, 1 << level);
  return level > 0;
}

/* ---- names with levels */

bool check_level_is_used(const Checker *c, const Symbol *sym) {
  const char *bracket = c->levels ? strchr(sym->name, '(') : NULL;
  for (const Symbol *s = bracket ? c->syms.first : NULL; s; s = s->next)
    if (s->used && !strncmp(s->name, sym->name, (size_t)(bracket - sym->name) + 1))
      return true;
  return false;
}

Symbol *check_of_level(Checker *c, const Expr *e, const Env *env) {
  const char *one = check_name_with_level(c, e->name);
  int64_t level;
  if (e->n != 1)
    check_error(c, env, e->loc, "'%s' has one level, as in '%s'", e->name, one);
  if (e->n != 1 || !check_const_int(c, e->kids[0], env, "a level", &level))
    return NULL;
  Symbol *s = symbols_find(&c->syms, arena_printf(c->arena, "%s(%lld)", e->name, (long long)level));
  if (!s)
    check_error(c, env, e->loc, "'%s' has no level %lld here; one that it has is '%s'", e->name, (long long)level, one);
  return s;
}

/* ---- fine and coarse */

/* The level of the current stencil, which is that of its targets; -1 after reporting that it has none. */
static int level_in_hand(Checker *c, const Expr *call, const Env *env) {
  int level = -1;
  if (!c->stencil || c->in_init || c->in_reduction || c->in_update || c->in_mask || c->sweeping || !c->region) {
    check_error(c, env, call->loc,
                "'%s' reads another level in a stencil alone, and this stands in none; have a stencil copy what is "
                "needed to a field on this level",
                call->name);
    return -1;
  }
  for (int t = 0; t < c->stencil->ntargets; t++) {
    const Field *f = &c->m->fields[c->stencil->targets[t]];
    int of = check_level_of(c, &f->box);
    if (of < 0 || (t && of != level)) {
      check_error(c, env, call->loc,
                  of < 0 ? "'%s' reads the level beside that of the targets of '%s', but its target '%s' lies on no "
                           "level; declare that on a level of '%s'"
                         : "'%s' reads the level beside that of the targets of '%s', which lie on several, '%s' on "
                           "another one than the first of them; make two stencils, on levels of '%s'",
                  call->name, c->stencil->name, f->name, c->levels->name);
      return -1;
    }
    level = of;
  }
  return level;
}

/* Sets `out` to the offsets on the level that `call` reads: those after the first kid of `at`, plus those by which the
 * call itself is shifted on its own level. False after reporting. */
static bool scaled_offsets(Checker *c, const Expr *call, const Expr *at, const Env *env, const int64_t *shift,
                           int64_t *out) {
  int rank = check_rank(c);
  bool fine = !strcmp(call->name, "fine");
  if (at && at->n != rank + 1) {
    check_error(c, env, call->loc, "behind '%s(...)' stand %d offsets, one for each dimension of the grid", call->name,
                rank);
    return false;
  }
  for (int d = 0; d < rank; d++) {
    int64_t k = 0, by = shift[d + c->lead];
    if (at && !check_const_int(c, at->kids[d + 1], env, "an offset", &k))
      return false;
    if (!fine && by % 2) {
      check_error(c, env, call->loc,
                  "a macro that reads 'coarse' is moved by %lld in dimension %d, but a coarser level has a point for "
                  "two of this one; move it by an even number, or write what it does out",
                  (long long)by, d);
      return false;
    }
    out[d + c->lead] = k + (fine ? 2 * by : by / 2);
  }
  return true;
}

/* Reports a read of older values on another level. */
static Expr *no_older(Checker *c, const Env *env, Loc loc) {
  return check_error(c, env, loc,
                     "of another level there are no older values, and none from the start of the step; leave '@' out, "
                     "or have a stencil copy them");
}

Expr *check_scaled(Checker *c, const Expr *call, const Expr *at, const Env *env, const int64_t *shift) {
  int64_t off[MAX_RANK] = {0};
  if (call->n != 1)
    return check_error(c, env, call->loc, "'%s' takes one argument, a field on the level beside this one", call->name);
  if (!check_function_reads(c, env, call->loc, call->name, "what reads another level"))
    return check_bad(c, call->loc);
  if (c->scale)
    return check_error(c, env, call->loc,
                       "'%s' stands in another 'fine' or 'coarse', but a stencil reads the levels beside its own "
                       "alone; have a stencil of the level between copy the values",
                       call->name);
  if (c->ago || c->at_start)
    return no_older(c, env, call->loc);
  if (level_in_hand(c, call, env) < 0 || !scaled_offsets(c, call, at, env, shift, off))
    return check_bad(c, call->loc);
  c->scale = !strcmp(call->name, "fine") ? 1 : -1;
  Expr *r = check_expr(c, call->kids[0], env, off);
  c->scale = 0;
  return r;
}

/* Is x >= 0 for all params, or by launch checks such as those of the levels? */
static bool holds(const Checker *c, Affine x) {
  int64_t more;
  if (!x.n)
    return x.c >= 0;
  for (int i = 0; i < c->m->nchecks; i++)
    if (!c->m->checks[i].unless_empty[0] && affine_diff(x, c->m->checks[i].value, &more) && more >= 0)
      return true;
  return false;
}

/* The distance within the region of `f` of the points that c->region reads at `off`, at end `upper` of dimension d; if
 * it is negative they are beyond that end. */
static Affine room(const Checker *c, const Symbol *f, const int64_t *off, int d, bool upper) {
  Arena *a = c->arena;
  Affine at = upper ? c->region->hi[d] : c->region->lo[d], end = upper ? f->box.hi[d] : f->box.lo[d];
  Affine by = c->scale > 0 ? affine_sub(a, affine_add_const(affine_scale(a, at, 2), off[d]), end)
                           : affine_sub(a, affine_add_const(at, 2 * off[d]), affine_scale(a, end, 2));
  return upper ? affine_add_const(affine_scale(a, by, -1), c->scale < 0) : by;
}

/* Adds the launch check value >= 0, which applies if c->region has points. */
static void check_at_launch(Checker *c, Loc loc, Affine value, const char *message) {
  Check k = {.value = value, .message = message, .loc = loc};
  Box *some = ARENA_NEW(c->arena, Box);
  *some = *c->region;
  k.unless_empty[0] = some;
  ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
}

/* A read of `f` is beyond end number `i` of f's region, as far as the negative `room` says. If the outside rule there
 * changes values, one reflection must bring the read back into the region. Checks that when compiling, or adds a launch
 * check. False after reporting. */
static bool comes_back(Checker *c, const Env *env, Loc loc, const Symbol *f, int i, Affine room, const char *where) {
  const Field *field = &c->m->fields[f->index];
  int unit = c->scale > 0 ? 1 : 2, d = i / 2;
  Affine extent = affine_add_const(affine_sub(c->arena, f->box.hi[d], f->box.lo[d]),
                                   field->sides && field->sides[i].rule == OUTSIDE_HALF);
  Affine value = affine_add(c->arena, affine_scale(c->arena, extent, unit), room);
  if (!field->sides || !outside_once(field, d, i % 2) || holds(c, value))
    return true;
  const char *message =
      arena_printf(c->arena, "%s, and further than that has points to mirror; make the grid larger", where);
  if (value.n)
    check_at_launch(c, loc, value, message);
  else
    check_error(c, env, loc, "%s", message);
  return value.n;
}

/* Checks the read of `f` at `off` against f's region, when compiling or by launch checks. False after reporting. */
static bool stays(Checker *c, const Env *env, Loc loc, const Symbol *f, const int64_t *off) {
  const char *word = c->scale > 0 ? "fine" : "coarse";
  for (int i = 2 * c->lead; i < 2 * c->region->rank; i++) {
    Affine r = room(c, f, off, i / 2, i % 2);
    if (holds(c, r))
      continue;
    const char *where =
        arena_printf(c->arena, "'%s(%s)' at offset %lld reads beyond the %s end of '%s' in dimension %d", word, f->name,
                     (long long)off[i / 2], i % 2 ? "upper" : "lower", f->name, check_shown(c, i / 2));
    if (c->m->fields[f->index].outside[i / 2] != OUTSIDE_NONE) {
      if (!comes_back(c, env, loc, f, i, r, where))
        return false;
      continue;
    }
    if (!r.n) {
      check_error(c, env, loc,
                  "%s, by %lld; shrink the stencil's region, or give '%s' a rule: outside %s or a constant", where,
                  (long long)(c->scale > 0 ? -r.c : (1 - r.c) / 2), f->name, outside_words(c->arena, ", "));
      return false;
    }
    check_at_launch(c, loc, r, where);
  }
  return true;
}

/* Can field `f` be read from another level? Reports if not. */
static bool can_be_read(Checker *c, const Env *env, Loc loc, const Symbol *f) {
  const Field *field = &c->m->fields[f->index];
  int level = check_level_of(c, &c->m->fields[c->stencil->targets[0]].box), of = check_level_of(c, &f->box);
  const char *word = c->scale > 0 ? "fine" : "coarse";
  if (of != level - c->scale)
    check_error(c, env, loc, "'%s' in a stencil on level %d reads level %d, but '%s' lies on %s; %s", word, level,
                level - c->scale, f->name, of < 0 ? "none" : arena_printf(c->arena, "level %d", of),
                of == level              ? "read it without a word, at an offset"
                : of == level + c->scale ? (c->scale > 0 ? "write 'coarse'" : "write 'fine'")
                                         : "have the stencils of the levels between copy the values");
  else if (field->temp)
    check_error(c, env, loc, "'%s' is a temp field, which has no values for other levels; leave out 'temp'", f->name);
  else if (f->masked || f->is_mask || f->framed)
    check_error(c, env, loc,
                "'%s' has a mask or frames, and is read on its own level alone; have a stencil copy it to a field "
                "without",
                f->name);
  else if (c->order)
    check_error(c, env, loc, "diff of '%s' stands within '%s'; have a stencil of its own level compute it", f->name,
                word);
  else if (field_lacks_any(field))
    check_error(c, env, loc, "'%s' does not have all dimensions; read it on its own level", f->name);
  else
    return true;
  return false;
}

Expr *check_scaled_read(Checker *c, const Env *env, Loc loc, Symbol *sym, const int64_t *off) {
  if (c->ago || c->at_start)
    return no_older(c, env, loc);
  if (!c->region || !can_be_read(c, env, loc, sym) || !stays(c, env, loc, sym, off))
    return check_bad(c, loc);
  Expr *e = check_leaf(c, EXPR_FIELD, sym->type, loc, sym);
  memcpy(e->off, off, sizeof e->off);
  e->scale = c->scale;
  return e;
}
