/* frontend/check.c: declarations: names, the module's scalars, grid and fields, stencils with their pieces. */
#include "frontend/check/absorb.h"
#include "frontend/check/declare.h"
#include "frontend/sweep.h"
#include "frontend/fields.h"
#include "frontend/complex.h"
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <string.h>

/* ---- scalars and constants */

/* The type of a value without one of its own: of integer literals i64, of float literals real. */
static Type scalar_type(const Checker *c, Type t) {
  return t == TY_LITERAL_INT ? TY_I64 : t == TY_LITERAL_FLOAT ? c->real : t;
}

/* Declares part `i` of the complex param or let `d`, NAME_re or NAME_im, whose checked value is `value` (NULL: none).
 * NULL after reporting. */
static Symbol *check_part(Checker *c, const Decl *d, int i, Type t, Expr *value) {
  bool is_param = d->kind == DECL_PARAM;
  Decl *part = ARENA_NEW(c->arena, Decl);
  *part = *d;
  part->name = arena_printf(c->arena, i ? "%s_im" : "%s_re", d->name);
  part->type = NULL;
  Symbol *s = check_declare(c, is_param ? SYM_PARAM : SYM_LET, part);
  if (s) {
    s->used = true;
    check_add_scalar(c, s, t, value, is_param);
  }
  return s;
}

/* param or let NAME of complex type `t`, with the checked value `e` (NULL: none): declares two scalars for its parts,
 * NAME_re and NAME_im. */
static void check_complex_scalar(Checker *c, const Decl *d, Type t, Expr *e) {
  Expr *parts[2] = {NULL, NULL};
  if (e)
    e = check_coerce(c, e, t, arena_printf(c->arena, "'%s'", d->name));
  Symbol *s = check_declare(c, e && e->kind == EXPR_BAD ? SYM_BAD : SYM_COMPLEX, d);
  if (!s || s->kind == SYM_BAD)
    return;
  if (e)
    check_complex_parts(c, e, parts);
  s->type = t;
  s->elems = ARENA_ARRAY(c->arena, Symbol *, 2);
  for (int i = 0; i < 2; i++)
    if (!(s->elems[i] = check_part(c, d, i, type_component(c->m, t, i), parts[i])))
      s->kind = SYM_BAD;
}

/* param, and let at top level. */
static void check_scalar(Checker *c, const Decl *d) {
  bool is_param = d->kind == DECL_PARAM;
  Type given;
  bool ok = check_type_expr(c, d->type, TYPE_COMPLEX, &given);
  Expr *e = d->value
                ? check_in(c, d->value, NULL, ALLOW_SCALAR, is_param ? "a param's default" : "a let outside a stencil")
                : NULL;
  if (ok && given == TY_NONE && e)
    e = check_close_imaginary(c, e);
  if (ok && check_is_complex(c, given != TY_NONE || !e ? given : e->type)) {
    check_complex_scalar(c, d, given != TY_NONE ? given : e->type, e);
    return;
  }
  e = e ? check_single(c, e, is_param ? "a param's default" : "a let outside a stencil") : NULL;
  Symbol *s = check_declare(c, ok ? is_param ? SYM_PARAM : SYM_LET : SYM_BAD, d);
  if (!s || !ok)
    return;
  Type t = given != TY_NONE || !e ? given : is_param ? scalar_type(c, e->type) : e->type;
  if (!e && t == TY_NONE)
    t = TY_I64;
  if (e && !is_param)
    t = given != TY_NONE ? t : type_is_literal(t) ? c->real : t;
  bool open = e && is_param && given == TY_NONE && e->type == TY_LITERAL_INT;
  if (e)
    e = check_coerce(c, e, t, arena_printf(c->arena, "'%s'", d->name));
  if (open)
    check_warn_of_quotient(c, d, e, "real");
  if (e && e->kind == EXPR_BAD)
    s->kind = SYM_BAD;
  else
    check_add_scalar(c, s, t, e, is_param);
}

/* scalar NAME : TYPE = VALUE; a param of the same name has the value before the first step. */
static void check_kept(Checker *c, const Decl *d) {
  Type t = TY_NONE;
  Expr *first = check_first(c, d, &t);
  Symbol *s = check_declare(c, first->kind == EXPR_BAD ? SYM_BAD : SYM_STATE, d), *param = ARENA_NEW(c->arena, Symbol);
  if (!s || first->kind == EXPR_BAD)
    return;
  *param = (Symbol){.kind = SYM_PARAM, .name = s->name, .loc = s->loc};
  check_add_scalar(c, param, t, first, true);
  s->type = t;
  s->index = -1;
  s->each = c->lead && !d->shared;
  if (d->shared && !c->lead)
    check_shared(c, d, c->lacks);
  CheckedState x = {s, param->index};
  ARENA_PUSH(c->arena, c->states, c->nstates, x);
}

/* struct NAME { MEMBERS }. */
static void check_struct(Checker *c, const Decl *d) {
  Member *members;
  bool ok = check_members(c, d, &members);
  Symbol *s = check_declare(c, ok ? SYM_STRUCT : SYM_BAD, d);
  if (s && ok)
    s->type = module_struct(c->m, d->name, d->nmembers, members);
}

/* ---- grid, regions, fields */

/* Is there a grid? Reports once if none was declared before `d`. */
static bool have_grid(Checker *c, const Decl *d) {
  if (!c->grid && !c->grid_failed)
    diag_error(c->d, d->loc, "'%s' needs a grid, which must be declared before it: grid G = [0 .. N-1], STEPS;",
               d->name);
  c->grid_failed = !c->grid;
  return c->grid;
}

/* The number of time steps: a constant, or the value of a scalar at launch. False after reporting. */
static bool check_steps(Checker *c, const Expr *e) {
  Affine x;
  if (!check_affine(c, e, "the number of time steps", &x))
    return false;
  if (x.n) {
    bool alone = x.n == 1 && x.t[0].coef == 1 && x.c == 0;
    Expr *value = alone ? NULL : check_in(c, e, NULL, ALLOW_SCALAR, "the number of time steps");
    c->m->steps_by = 1 + (alone ? x.t[0].scalar : fold_computed(c, value));
    Check k = {.value = x, .message = "the number of time steps is negative", .loc = e->loc};
    ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
  } else if (x.c < 0) {
    check_error(c, NULL, e->loc, "the number of time steps is %lld; it cannot be negative", (long long)x.c);
  } else {
    c->m->steps = x.c;
  }
  return x.n || x.c >= 0;
}

/* grid NAME = [bounds], STEPS. */
static void check_grid(Checker *c, const Decl *d) {
  Box box;
  if (c->grid) {
    diag_error(c->d, d->loc, "a program has one grid; '%s' is the second, use region for a part of the grid", d->name);
    diag_note(c->d, c->grid->loc, "the grid is declared here");
    check_declare(c, SYM_BAD, d);
    return;
  }
  bool ok = check_region(c, d->region, &box);
  ok = check_steps(c, d->value) && ok;
  ok = ok && check_metric(c, d, &box);
  Symbol *s = check_declare(c, ok ? SYM_GRID : SYM_BAD, d);
  c->grid_failed = !ok || !s;
  if (c->grid_failed)
    return;
  c->m->grid = s->box = box;
  c->grid = s;
}

/* region NAME = [bounds]. */
static void check_named_region(Checker *c, const Decl *d) {
  Box box;
  bool ok = have_grid(c, d) && check_region(c, d->region, &box) &&
            check_inside(c, d->region->loc, &box, "the region", &c->m->grid, "the grid");
  Symbol *s = check_declare(c, ok ? SYM_REGION : SYM_BAD, d);
  if (s && ok)
    s->box = box;
}

/* field NAME : TYPE attributes. */
static void check_field(Checker *c, const Decl *d) {
  Field f = {.name = d->name, .input = d->input, .temp = d->temp, .loc = d->loc};
  bool ok = have_grid(c, d) && check_type_expr(c, d->type, TYPE_STORED, &f.type) && check_field_region(c, d, &f) &&
            check_outside(c, d, &f) && check_lacking_kind(c, d, &f);
  if (ok && d->input && d->temp) {
    diag_error(c->d, d->loc, "field '%s' cannot be both input (never written) and temp (always written)", d->name);
    ok = false;
  }
  Symbol *s = check_declare(c, ok ? SYM_FIELD : SYM_BAD, d);
  if (!s || !ok)
    return;
  s->type = f.type;
  s->box = f.box;
  s->index = c->m->nfields;
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, f);
  if ((d->dry && !check_dry(c, d, s)) || (d->history && !check_history(c, d, s)) ||
      (d->frames && !check_frames(c, d, s)))
    s->kind = SYM_BAD;
}

/* mask NAME on REGION = CONDITION. */
static void check_mask_decl(Checker *c, const Decl *d) {
  Field f = {.name = d->name, .loc = d->loc};
  bool ok = have_grid(c, d) && check_field_region(c, d, &f);
  Symbol *s = check_declare(c, ok ? SYM_FIELD : SYM_BAD, d);
  if (s && ok)
    check_mask(c, d, &f, s);
}

/* ---- macros */

/* op NAME(PARAMS) = BODY. */
static void check_op(Checker *c, const Decl *d) {
  for (int i = 0; i < d->nnames; i++) {
    const Symbol *taken = symbols_find(&c->syms, d->names[i].s);
    if (taken && taken->kind != SYM_BAD) {
      diag_error(c->d, d->names[i].loc, "the parameter '%s' has the name of %s; names are not shadowed, choose another",
                 d->names[i].s, symbol_words(taken));
      diag_note(c->d, taken->loc, "'%s' is declared here", taken->name);
    }
    for (int j = 0; j < i; j++)
      if (!strcmp(d->names[i].s, d->names[j].s))
        diag_error(c->d, d->names[i].loc, "there are two parameters '%s'", d->names[i].s);
  }
  int before = diags_errors(c->d);
  check_op_body(c, d);
  Symbol *s = check_declare(c, diags_errors(c->d) == before ? SYM_OP : SYM_BAD, d);
  if (s)
    s->reads = check_op_reads(c, d);
}

/* fn NAME(PARAMETERS) : TYPE. */
static void check_fn(Checker *c, const Decl *d) {
  Type *types, type;
  bool ok = check_function(c, d, &types, &type);
  Symbol *s = check_declare(c, ok ? SYM_FN : SYM_BAD, d);
  if (!s || !ok)
    return;
  s->types = types;
  s->type = type;
}

/* ---- stencils */

/* Fills s->targets from `d`. False if one was reported. */
static bool check_targets(Checker *c, const Decl *d, CheckedStencil *s) {
  bool ok = true;
  for (int i = 0; i < d->nnames; i++) {
    const Symbol *f = check_target_field(c, d->names[i], s->is_init);
    bool twice = false;
    for (int j = 0; f && j < s->ntargets; j++)
      twice = twice || s->targets[j] == f->index;
    if (twice)
      check_error(c, NULL, d->names[i].loc, "'%s' is a target twice", f->name);
    if (f && !twice)
      ARENA_PUSH(c->arena, s->targets, s->ntargets, f->index);
    ok = ok && f && !twice;
  }
  return ok;
}

/* Reports targets of `s` that no piece assigns. */
static void check_assigned(Checker *c, const CheckedStencil *s) {
  for (int t = 0; t < s->ntargets; t++) {
    bool found = false;
    for (int i = 0; i < s->npieces; i++)
      for (int j = 0; j < s->pieces[i].n; j++)
        found = found || s->pieces[i].assigns[j].target == s->targets[t];
    if (!found)
      check_error(c, NULL, s->loc, "'%s' never assigns to its target '%s'", s->name, c->m->fields[s->targets[t]].name);
  }
}

/* stencil and init. */
static void check_stencil(Checker *c, const Decl *d) {
  CheckedStencil *s = ARENA_NEW(c->arena, CheckedStencil);
  *s = (CheckedStencil){.name = d->name, .loc = d->loc, .is_init = d->kind == DECL_INIT};
  bool ok = have_grid(c, d) && check_targets(c, d, s);
  check_declare(c, SYM_STENCIL, d);
  c->incomplete |= !ok;
  if (!ok)
    return;
  int before = diags_errors(c->d);
  check_stencil_every(c, d, s);
  c->stencil = s;
  c->in_init = s->is_init;
  absorb_begin(c, d);
  if (c->absorbing && d->every)
    check_error(c, NULL, d->every->loc, "an absorbing layer moves on in every step; leave out 'every'");
  if (d->sweep)
    check_layers(c, d, s);
  for (int i = 0; i < d->npieces && !d->sweep; i++)
    check_piece(c, &d->pieces[i], s);
  if (!s->is_init) {
    s->stage = c->stage;
    s->repeat = c->in_repeat;
    c->in_updates = false;
    check_repeat_writes(c, s);
  }
  if (diags_errors(c->d) == before) {
    if (!c->incomplete)
      check_assigned(c, s);
    check_overlap(c, s);
  }
  if (diags_errors(c->d) == before && c->absorbing)
    absorb_expand(c, s);
  c->absorbing = NULL;
  c->stencil = NULL;
  c->in_init = false;
  for (int i = 0; i < d->nnames && s->is_init; i++) {
    Symbol *f = symbols_find(&c->syms, d->names[i].s);
    (d->names[i].level ? f->pasts[d->names[i].level - 1] : f)->set_by_init = true;
  }
  ARENA_PUSH(c->arena, c->checked, c->nchecked, *s);
}

/* ---- reductions and launch-time arrays */

/* Declares the launch-time array `d` of single numbers. NULL after reporting. */
static Symbol *declare_array(Checker *c, const Decl *d) {
  ParamArray a;
  bool ok = check_array(c, d, &a);
  Symbol *s = check_declare(c, ok ? SYM_ARRAY : SYM_BAD, d);
  if (!s || !ok)
    return NULL;
  s->index = c->m->nparam_arrays;
  s->type = a.type;
  ARENA_PUSH(c->arena, c->m->param_arrays, c->m->nparam_arrays, a);
  return s;
}

/* param NAME[EXTENT] of complex type `t`: two arrays of its parts, NAME_re and NAME_im. */
static void check_complex_array(Checker *c, const Decl *d, Type t) {
  Symbol *s = check_declare(c, SYM_COMPLEX_ARRAY, d);
  if (!s)
    return;
  TypeExpr *real = ARENA_NEW(c->arena, TypeExpr);
  *real = *d->type;
  real->name = type_name(type_component(c->m, t, 0));
  s->type = t;
  s->elems = ARENA_ARRAY(c->arena, Symbol *, 2);
  for (int i = 0; i < 2; i++) {
    Decl *part = ARENA_NEW(c->arena, Decl);
    *part = *d;
    part->name = arena_printf(c->arena, i ? "%s_im" : "%s_re", d->name);
    part->type = real;
    if (!(s->elems[i] = declare_array(c, part)))
      s->kind = SYM_BAD;
    else
      s->elems[i]->used = true;
  }
}

/* param NAME[EXTENT] : TYPE. */
static void check_param_array(Checker *c, const Decl *d) {
  Type t = d->type && !d->type->n ? check_complex_type(c, d->type->name, d->type->loc) : TY_NONE;
  if (t != TY_NONE)
    check_complex_array(c, d, t);
  else
    declare_array(c, d);
}

/* Adds the scalar with the value of the reduction `r`, and makes it that of `s`. */
static void add_reduction_scalar(Checker *c, Symbol *s, const Reduction *r) {
  Scalar x = {.name = r->name, .type = r->type, .is_reduction = true, .loc = r->loc};
  int n = c->m->nscalars;
  ARENA_PUSH(c->arena, c->scalar_value, n, NULL);
  s->type = r->type;
  s->index = c->m->nscalars;
  ARENA_PUSH(c->arena, c->m->scalars, c->m->nscalars, x);
  check_add_default(c, s->index, NULL);
}

/* A name for the next until: "until", "until.2", ...; in a repeat "pressure.until", ... */
static const char *until_name(Checker *c) {
  const char *in = c->in_repeat ? arena_printf(c->arena, "%s.", c->repeats[c->in_repeat - 1].head.name) : "";
  int n = 1;
  for (int i = 0; i < c->nreductions; i++)
    n += c->reductions[i].head.kind == REDUCE_UNTIL && c->reductions[i].head.loop == c->in_repeat;
  return n == 1 ? arena_printf(c->arena, "%suntil", in) : arena_printf(c->arena, "%suntil.%d", in, n);
}

/* reduce and until. */
static void check_spanning(Checker *c, const Decl *d) {
  Box over;
  CheckedReduction r = {0};
  bool alone = d->kind == DECL_END || (d->kind == DECL_REDUCE && !d->region && !d->on.s);
  bool ok = have_grid(c, d) &&
            (alone ? check_condition(c, d, &r) : check_box(c, d, &over) && check_reduction(c, d, &over, &r));
  bool is_until = d->kind == DECL_UNTIL || d->kind == DECL_END;
  Symbol *s = is_until ? ARENA_NEW(c->arena, Symbol) : check_declare(c, ok ? SYM_REDUCTION : SYM_BAD, d);
  if (!s || !ok)
    return;
  if (is_until) {
    *s = (Symbol){.kind = SYM_REDUCTION, .name = until_name(c), .loc = d->loc};
    r.head.name = s->name;
  }
  r.head.loop = c->in_repeat;
  r.head.each |= c->lead && !alone && !c->in_repeat;
  add_reduction_scalar(c, s, &r.head);
  r.head.scalar = s->index;
  r.stop = d->kind == DECL_END ? check_met(c, d, s) : is_until ? check_stop(c, d, s) : NULL;
  s->used = true;
  ARENA_PUSH(c->arena, c->reductions, c->nreductions, r);
}

/* ---- probes and injects */

/* The region in which the points of `d` must lie, if it gives one: *within points to it, in *room, or is NULL. False
 * after reporting. */
static bool point_region(Checker *c, const Decl *d, Box *room, const Box **within) {
  *within = d->region || d->on.s ? room : NULL;
  return have_grid(c, d) && (!*within || check_box(c, d, room));
}

/* probe. */
static void check_probe_decl(Checker *c, const Decl *d) {
  Box room;
  const Box *within;
  CheckedProbe p = {0};
  bool ok = point_region(c, d, &room, &within) && check_probe(c, d, within, &p);
  Symbol *s = check_declare(c, ok ? SYM_PROBE : SYM_BAD, d);
  if (!s || !ok)
    return;
  s->used = true;
  ARENA_PUSH(c->arena, c->probes, c->nprobes, p);
}

/* inject. */
static void check_inject_decl(Checker *c, const Decl *d) {
  CheckedStencil *s = ARENA_NEW(c->arena, CheckedStencil);
  *s = (CheckedStencil){.name = d->name, .loc = d->loc};
  Box room;
  const Box *within;
  bool ok = point_region(c, d, &room, &within) && check_targets(c, d, s) &&
            check_inject(c, d, symbols_find(&c->syms, d->names[0].s), within, s);
  check_declare(c, SYM_STENCIL, d);
  c->incomplete |= !ok;
  s->stage = c->stage;
  s->repeat = c->in_repeat;
  c->in_updates = false;
  if (ok && check_repeat_writes(c, s))
    ARENA_PUSH(c->arena, c->checked, c->nchecked, *s);
}

/* absorb NAME = ... */
static void check_absorb(Checker *c, const Decl *d) {
  const Layer *layer = have_grid(c, d) ? check_layer(c, d) : NULL;
  Symbol *s = check_declare(c, layer ? SYM_LAYER : SYM_BAD, d);
  if (s)
    s->layer = layer;
}

/* repeat; the declarations that it repeats follow. */
static void check_repeat(Checker *c, const Decl *d) {
  bool grid = have_grid(c, d);
  Symbol *s = check_declare(c, grid ? SYM_REPEAT : SYM_BAD, d);
  if (s)
    s->used = true;
  check_open_repeat(c, d);
}

/* ---- derivatives */

/* loss. */
static void check_loss_decl(Checker *c, const Decl *d) {
  Box room;
  const Box *within;
  bool ok = point_region(c, d, &room, &within) && check_loss(c, d, within);
  Symbol *s = check_declare(c, ok ? SYM_LOSS : SYM_BAD, d);
  if (s && ok)
    s->index = c->nlosses - 1;
}

/* ---- the program */

/* Any declaration. */
static void check_decl(Checker *c, const Decl *d) {
  if (!check_in_repeat(c, d)) {
    check_declare(c, SYM_BAD, d);
    return;
  }
  switch (d->kind) {
  case DECL_BAD: check_declare(c, SYM_BAD, d); break;
  case DECL_PARAM:
  case DECL_LET: check_scalar(c, d); break;
  case DECL_CONST: check_constant(c, d); break;
  case DECL_TABLE: check_table(c, d); break;
  case DECL_STRUCT: check_struct(c, d); break;
  case DECL_GRID: check_grid(c, d); break;
  case DECL_REGION: check_named_region(c, d); break;
  case DECL_FIELD: check_field(c, d); break;
  case DECL_MASK: check_mask_decl(c, d); break;
  case DECL_OP: check_op(c, d); break;
  case DECL_FN: check_fn(c, d); break;
  case DECL_STENCIL:
  case DECL_SWEEP:
  case DECL_INIT: check_stencil(c, d); break;
  case DECL_ARRAY: check_param_array(c, d); break;
  case DECL_REDUCE:
  case DECL_END:
  case DECL_UNTIL: check_spanning(c, d); break;
  case DECL_SCALAR: check_kept(c, d); break;
  case DECL_UPDATE:
    if (have_grid(c, d))
      check_update(c, d);
    break;
  case DECL_PROBE: check_probe_decl(c, d); break;
  case DECL_ABSORB: check_absorb(c, d); break;
  case DECL_MEMBERS: check_ensemble(c, d); break;
  case DECL_REPEAT: check_repeat(c, d); break;
  case DECL_CLOSE: check_close_repeat(c, d); break;
  case DECL_INJECT: check_inject_decl(c, d); break;
  case DECL_LOSS: check_loss_decl(c, d); break;
  case DECL_LEVELS: check_levels(c, d); break;
  case DECL_GRADIENT: check_gradient(c, d); break;
  }
}

/* Warns of names that nothing uses. */
static void unused_names(Checker *c) {
  for (const Symbol *s = c->syms.first; s; s = s->next)
    if (!s->used && s->kind != SYM_STENCIL && s->kind != SYM_GRID && !check_level_is_used(c, s))
      diag_warning(c->d, s->loc, "'%s' is never used", s->name);
}

void check_program(Checker *c, int n, Decl *const *decls) {
  c->rules = check_rules;
  for (int i = 0; i < n && diags_errors(c->d) < MAX_ERRORS; i++)
    check_decl(c, decls[i]);
  check_add_masks(c);
  if (!c->grid && !diags_errors(c->d))
    diag_error(c->d, (Loc){c->file, 1, 1}, "the program has no grid; declare one: grid G = [0 .. N-1], STEPS;");
  if (!diags_errors(c->d)) {
    unused_names(c);
    check_histories_move(c);
    check_frames_by(c);
    check_repeats_past(c);
  }
}
