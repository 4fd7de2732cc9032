/* check_point.c: probes and injects at single points, and the lists of points for them in launch-time arrays. */
#include "frontend/complex.h"
#include "frontend/ensemble.h"

#include <string.h>

static const int64_t nowhere[MAX_RANK];

/* ---- points */

/* Is coordinate `e` an element NAME[member], so that each member has its own point? */
static bool is_by_member(const Checker *c, const Expr *e) {
  return e->kind == EXPR_ACCESS && !e->level && e->n == 1 && e->kids[0]->kind == EXPR_NAME && !e->kids[0]->level &&
         check_is_member(c, e->kids[0]->name);
}

/* The launch-time array that coordinate `e` names, with or without [member]; NULL if there is none. */
static Symbol *coordinate_array(Checker *c, const Expr *e) {
  Symbol *s = is_by_member(c, e)                  ? symbols_find(&c->syms, e->name)
              : e->kind == EXPR_NAME && !e->level ? symbols_find(&c->syms, e->name)
                                                  : NULL;
  return s && s->kind == SYM_ARRAY && !array_has_rows(&c->m->param_arrays[s->index]) ? s : NULL;
}

/* Makes array `s` coordinate `d` of the list; *first is the first array of the list. False after reporting that it does
 * not fit. */
static bool use_array(Checker *c, const Expr *e, Symbol *s, PointList *l, int d, const ParamArray **first) {
  const ParamArray *a = &c->m->param_arrays[s->index];
  s->used = true;
  l->array[d] = s->index;
  if (!type_is_int(a->type)) {
    check_error(c, NULL, e->loc, "coordinates are integers, and '%s' is an array of %s", s->name, type_name(a->type));
    return false;
  }
  if (*first && !affine_equal((*first)->extent, a->extent)) {
    check_error(c, NULL, e->loc, "the arrays '%s' and '%s' of one list of points must have the same length",
                (*first)->name, a->name);
    return false;
  }
  *first = *first ? *first : a;
  return true;
}

/* Sets the extra dimension of the list of `d` that members add: if the places are given by member (or if it is a
 * `probe` without an array that is the same for all members), the list has a point for each member. False after
 * reporting. */
static bool check_by_member(Checker *c, const Decl *d, PointList *l, const ParamArray *first) {
  int by = 0, arrays = 0;
  for (int k = 0; k < d->nvalues; k++) {
    by += is_by_member(c, d->values[k]);
    arrays += coordinate_array(c, d->values[k]) != NULL;
  }
  l->array[0] = l->array[0] == LIST_NUMBER || by ? LIST_NUMBER : -1;
  if (by && by < arrays) {
    check_error(c, NULL, l->loc, "a place is by member in all its coordinates that are arrays, or in none of them");
    return false;
  }
  if (by && !affine_equal(first->extent, affine_add_const(c->m->grid.hi[0], 1))) {
    check_error(c, NULL, l->loc, "'%s' has a place for each member, so it must be as long as there are members",
                first->name);
    return false;
  }
  if (arrays && !by && d->kind == DECL_PROBE) {
    check_error(c, NULL, l->loc,
                "a probe sees one place of each member; give it one place, or one by member: '%s[member]'",
                first->name);
    return false;
  }
  if (first && !by)
    l->box.lo[0] = l->box.hi[0] = l->at[0] = affine_const(0);
  return true;
}

/* Sets `l` to the coordinates of `d` and the box that contains them: a number alone, or along an array all of `within`
 * (NULL: all of the grid). *list: is there an array? False after reporting. */
static bool check_places(Checker *c, const Decl *d, const Box *within, PointList *l, bool *list) {
  const Box *outer = within ? within : &c->m->grid;
  const ParamArray *first = NULL;
  bool ok = true;
  if (d->nvalues != check_rank(c)) {
    check_error(c, NULL, d->values[0]->loc, "this point has %d coordinate%s, but the grid has %d dimension%s",
                d->nvalues, d->nvalues == 1 ? "" : "s", check_rank(c), check_rank(c) == 1 ? "" : "s");
    return false;
  }
  *l = (PointList){.box = *outer, .next = -1, .loc = d->values[0]->loc};
  for (int k = c->lead; k < c->m->grid.rank; k++) {
    const Expr *value = d->values[k - c->lead];
    Symbol *s = coordinate_array(c, value);
    l->array[k] = -1;
    if (s) {
      ok = use_array(c, value, s, l, k, &first) && ok;
    } else if (check_affine(c, value, "a coordinate", &l->at[k])) {
      l->box.lo[k] = l->box.hi[k] = l->at[k];
    } else {
      ok = false;
    }
  }
  if (c->lead) {
    l->array[0] = d->kind == DECL_PROBE ? LIST_NUMBER : -1;
    ok = ok && check_by_member(c, d, l, first);
  }
  *list = first || (c->lead && l->array[0] == LIST_NUMBER);
  Box room = l->box;
  check_all_members(c, &room);
  return ok && check_inside(c, l->loc, &room, first ? "the region of the points" : "the point", outer,
                            within ? "the region" : "the grid");
}

/* Do both lists have the same points and the same box? */
static bool same_points(const PointList *x, const PointList *y) {
  bool same = box_equal(&x->box, &y->box);
  for (int d = 0; d < x->box.rank; d++)
    same = same && x->array[d] == y->array[d];
  return same;
}

/* The number of a list with the points of `l`, of which at most `most` (0: any number) may be at the same place; adds a
 * list if there is none. */
static int32_t find_list(Checker *c, PointList *l, int32_t most) {
  for (int i = 0; i < c->nlists; i++)
    if (same_points(&c->lists[i].head, l) && (most == 0 || c->lists[i].head.most == most))
      return i;
  CheckedList x = {.head = *l, .field = ARENA_NEW(c->arena, Symbol)};
  x.head.name = arena_printf(c->arena, "points.%d", c->nlists + 1);
  x.head.most = most;
  *x.field = (Symbol){.kind = SYM_FIELD, .name = x.head.name, .loc = l->loc, .type = TY_I32, .index = -1};
  ARENA_PUSH(c->arena, c->lists, c->nlists, x);
  return c->nlists - 1;
}

void check_add_lists(Checker *c) {
  Module *m = c->m;
  for (int i = 0; i < c->nlists; i++) {
    CheckedList *x = &c->lists[i];
    PointList *l = &x->head;
    Field f = {.name = l->name, .type = TY_I32, .box = l->box, .input = true, .derived = true, .loc = l->loc};
    l->field = x->field->index = m->nfields;
    if (c->lead && l->array[0] != LIST_NUMBER)
      field_leave_out(&f, 0);
    ARENA_PUSH(c->arena, m->fields, m->nfields, f);
    if (x->next) {
      int k = 0;
      while (l->array[k] < 0)
        k++;
      ParamArray a = {.name = x->next->name, .type = TY_I32, .role = ARRAY_NEXT, .loc = l->loc};
      a.extent = m->param_arrays[l->array[k]].extent;
      l->next = x->next->index = m->nparam_arrays;
      ARENA_PUSH(c->arena, m->param_arrays, m->nparam_arrays, a);
    }
    ARENA_PUSH(c->arena, m->lists, m->nlists, *l);
  }
}

/* ---- probes */

/* The value that a probe records: a number, in the type in which it is computed. EXPR_BAD after reporting. */
static Expr *seen(Checker *c, Expr *e) {
  if (e->kind == EXPR_BAD)
    return e;
  e = check_widen(c, check_value(c, e));
  if (e->kind == EXPR_BAD || (type_is_scalar(e->type) && e->type != TY_BOOL))
    return e;
  return check_error(c, NULL, e->loc, "a probe sees a number, not %s; %s", check_type_words(c, e->type),
                     e->type == TY_BOOL             ? "convert it: i32(...)"
                     : check_is_complex(c, e->type) ? "take a part of it: re(...), im(...) or abs(...)"
                                                    : "take one of its components");
}

bool check_probe(Checker *c, const Decl *d, const Box *within, CheckedProbe *out) {
  PointList l;
  bool list;
  if (!check_places(c, d, within, &l, &list))
    return false;
  out->head =
      (Probe){.name = d->name, .box = l.box, .list = list ? find_list(c, &l, 0) : -1, .result = -1, .loc = d->loc};
  c->region = &out->head.box;
  c->in_reduction = true;
  out->body = seen(c, check_in(c, d->value, NULL, ALLOW_BODY, "a probe"));
  c->in_reduction = false;
  c->region = NULL;
  out->head.type = out->body->type;
  return check_every(c, d, &out->head.every) && out->body->kind != EXPR_BAD;
}

/* ---- injects */

/* The operation `op` of type `t`. */
static Expr *operation(Checker *c, Opcode op, Type t, Loc loc, int n, Expr *const *kids) {
  Expr *e = check_operation(c, op, loc, n, kids);
  e->type = t;
  return e;
}

/* The integer `v` as a literal of type `t`. */
static Expr *whole(Checker *c, Type t, int64_t v, Loc loc) {
  Expr *e = check_leaf(c, EXPR_INT, t, loc, NULL);
  e->name = arena_printf(c->arena, "%lld", (long long)v);
  return e;
}

/* An inject that is being checked. d: the declaration. field: its field. list: the list's number, or -1. sum: the value
 * so far, which the inject adds to or replaces. k: 1 + the number of the current point (i32), 0 if there is none. */
typedef struct Inject {
  Checker *c;
  const Decl *d;
  const Symbol *field;
  int32_t list;
  Expr *sum, *k;
} Inject;

/* The number of the current point, which is the value of the name `point`. */
static Expr *point_number(const Inject *x) {
  Checker *c = x->c;
  Loc loc = x->d->loc;
  if (x->list < 0)
    return share(c, whole(c, TY_I64, 0, loc), "point");
  Expr *wide = operation(c, OP_CONVERT, TY_I64, loc, 1, &x->k);
  return share(c, operation(c, OP_SUB, TY_I64, loc, 2, (Expr *[]){wide, whole(c, TY_I64, 1, loc)}), "point");
}

/* Declares the name `point` with that value. */
static void add_point(const Inject *x, Expr *point) {
  Symbol *s = check_add_local(x->c, NULL, SYM_VALUE, "point", x->d->loc, point);
  s->used = s->still = true;
}

/* x->sum plus the inject's value for `point`, or that value alone if it replaces. EXPR_BAD after reporting. */
static Expr *with_value(const Inject *x, Expr *point) {
  Checker *c = x->c;
  const char *to = arena_printf(c->arena, "field '%s'", x->field->name);
  Symbol *outer = c->locals;
  add_point(x, point);
  Expr *e = check_in(c, x->d->value, NULL, ALLOW_BODY, "a value");
  check_leave(c, outer);
  if (e->kind == EXPR_BAD)
    return e;
  if (x->d->op != OP_ADD)
    return check_coerce(c, e, x->field->type, to);
  return check_types(c, NULL, check_operation(c, OP_ADD, x->d->value->loc, 2, (Expr *[]){x->sum, e}));
}

/* 1 + the number of the next point at the same place; 0 after the last one. */
static Expr *next_point(const Inject *x, Expr *there, Expr *point) {
  Checker *c = x->c;
  CheckedList *l = &c->lists[x->list];
  Loc loc = x->d->loc;
  if (!l->next) {
    l->next = ARENA_NEW(c->arena, Symbol);
    *l->next = (Symbol){.kind = SYM_ARRAY, .name = arena_printf(c->arena, "%s.next", l->head.name), .type = TY_I32};
  }
  Expr *next = check_element_at(c, loc, l->next, point);
  return share(c, operation(c, OP_SELECT, TY_I32, loc, 3, (Expr *[]){there, next, whole(c, TY_I32, 0, loc)}), "next");
}

/* The field's new value at a place of the list, where at most `most` points are. EXPR_BAD after reporting. */
static Expr *injected(Inject *x, int64_t most) {
  Checker *c = x->c;
  Loc loc = x->d->loc;
  if (x->list < 0)
    return with_value(x, point_number(x));
  x->k = share(c, check_leaf(c, EXPR_FIELD, TY_I32, loc, c->lists[x->list].field), "point");
  for (int64_t i = 0; i < most; i++) {
    Expr *point = point_number(x),
         *there = share(c, operation(c, OP_NE, TY_BOOL, loc, 2, (Expr *[]){x->k, whole(c, TY_I32, 0, loc)}), "there");
    Expr *value = with_value(x, point);
    if (value->kind == EXPR_BAD)
      return value;
    value = check_types(c, NULL, check_operation(c, OP_SELECT, loc, 3, (Expr *[]){there, value, x->sum}));
    if (value->kind == EXPR_BAD)
      return value;
    x->sum = share(c, value, "sum");
    if (i + 1 < most)
      x->k = next_point(x, there, point);
  }
  return x->sum;
}

/* Sets *most to the greatest number of points of the list at one place. False after reporting. */
static bool check_most(Checker *c, const Decl *d, bool list, int64_t *most) {
  enum { MOST = 64 };
  *most = 1;
  if (!d->right)
    return true;
  if (!list) {
    check_error(c, NULL, d->right->loc, "'up to' is for lists of points; this is one point");
    return false;
  }
  if (!check_const_int(c, d->right, NULL, "the number after 'up to', such as 4,", most))
    return false;
  if (*most < 1 || *most > MOST)
    check_error(c, NULL, d->right->loc,
                "'up to' takes 1 to %d points, not %lld; where more are at one place, add up what they give", MOST,
                (long long)*most);
  return *most >= 1 && *most <= MOST;
}

/* Is the name `point` free? Reports if not. */
static bool point_is_free(Checker *c, const Decl *d) {
  const Symbol *s = symbols_find(&c->syms, "point");
  if (s)
    check_error(c, NULL, d->loc, "'point' is the number of the point in an inject, and here also %s; rename that",
                symbol_words(s));
  return !s;
}

bool check_inject(Checker *c, const Decl *d, const Symbol *f, const Box *within, CheckedStencil *s) {
  PointList l;
  bool list;
  int64_t most;
  const Field *field = &c->m->fields[f->index];
  CheckedPiece p = {.loc = d->loc};
  if (!check_places(c, d, within, &l, &list) || !check_most(c, d, list, &most) || !point_is_free(c, d))
    return false;
  p.box = l.box;
  check_all_members(c, &p.box);
  if (!check_inside(c, l.loc, &p.box, list ? "the region of the points" : "the point", &field->box,
                    arena_printf(c->arena, "the region of field '%s',", f->name)))
    return false;
  Inject x = {.c = c, .d = d, .field = f, .list = list ? find_list(c, &l, (int32_t)most) : -1};
  Expr old = {.kind = EXPR_NAME, .loc = d->names[0].loc, .name = f->name, .height = 1};
  c->region = &p.box;
  c->stencil = s;
  c->allowed = ALLOW_BODY;
  c->locals = NULL;
  if (list || d->op == OP_ADD)
    x.sum = check_expr(c, &old, NULL, nowhere);
  Expr *e = x.sum && x.sum->kind == EXPR_BAD ? x.sum : injected(&x, most);
  c->allowed = ALLOW_CONST;
  c->region = NULL;
  c->stencil = NULL;
  if (e->kind != EXPR_BAD)
    e = check_coerce(c, e, f->type, arena_printf(c->arena, "field '%s'", f->name));
  Assign a = {.loc = d->loc, .target = f->index, .value = e};
  ARENA_PUSH(c->arena, p.assigns, p.n, a);
  ARENA_PUSH(c->arena, s->pieces, s->npieces, p);
  return e->kind != EXPR_BAD;
}

/* ---- sums at points */

/* The f64 value that x->d sums for `point`. EXPR_BAD after reporting. */
static Expr *added(const Inject *x, Expr *point) {
  Checker *c = x->c;
  Type t;
  Symbol *outer = c->locals;
  add_point(x, point);
  c->in_reduction = true;
  Expr *e = check_accumulated(c, check_in(c, x->d->value, NULL, ALLOW_BODY, "a loss"), &t);
  c->in_reduction = false;
  check_leave(c, outer);
  if (e->kind != EXPR_BAD && t != TY_F64)
    return check_error(c, NULL, e->loc, "a loss adds up floats, not integers; convert it: f64(...)");
  return e;
}

Expr *check_at_points(Checker *c, const Decl *d, const Box *within, Box *over) {
  PointList l;
  bool list;
  int64_t most;
  if (!check_places(c, d, within, &l, &list) || !check_most(c, d, list, &most) || !point_is_free(c, d))
    return NULL;
  *over = l.box;
  check_all_members(c, over);
  Inject x = {.c = c, .d = d, .list = list ? find_list(c, &l, (int32_t)most) : -1};
  c->region = over;
  c->locals = NULL;
  x.k = list ? share(c, check_leaf(c, EXPR_FIELD, TY_I32, d->loc, c->lists[x.list].field), "point") : NULL;
  for (int64_t i = 0; i < most; i++) {
    Expr *point = point_number(&x), *there = NULL;
    if (list)
      there = share(c, operation(c, OP_NE, TY_BOOL, d->loc, 2, (Expr *[]){x.k, whole(c, TY_I32, 0, d->loc)}), "there");
    Expr *value = added(&x, point);
    if (value->kind != EXPR_BAD && list)
      value = operation(c, OP_SELECT, TY_F64, d->loc, 3, (Expr *[]){there, value, whole(c, TY_F64, 0, d->loc)});
    x.sum =
        value->kind == EXPR_BAD || !x.sum ? value : operation(c, OP_ADD, TY_F64, d->loc, 2, (Expr *[]){x.sum, value});
    if (value->kind == EXPR_BAD)
      break;
    if (i + 1 < most)
      x.k = next_point(&x, there, point);
  }
  c->region = NULL;
  return x.sum;
}
