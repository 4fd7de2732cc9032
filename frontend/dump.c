/* frontend/dump.c: prints the checked program as an indented tree, one line for each node: its kind, its type,
 * <line:column>. */
#include "frontend/checker.h"

/* The printed tree; the shared values that it contains so far. */
typedef struct Dump {
  Checker *c;
  Str s;
  int nshared;
} Dump;

/* " <line:col>" and the end of the line. */
static void place(Dump *d, Loc at) { str_addf(&d->s, " <%d:%d>\n", at.line, at.col); }

/* The beginning of a line at depth `depth`; deep lines keep the indent of level 40. */
static void indent(Dump *d, int depth) { str_addf(&d->s, "%*s", 2 * (depth < 40 ? depth : 40), ""); }

/* " NAME : TYPE". */
static void named(Dump *d, const char *what, const char *name, Type t) {
  str_addf(&d->s, "%s '%s' : %s", what, name, type_text(d->c->m, t));
}

/* "[-1, 0]". */
static void offsets(Dump *d, const Expr *e) {
  str_add(&d->s, "[");
  for (int i = 0; i < d->c->m->grid.rank; i++)
    str_addf(&d->s, "%s%lld", i ? ", " : "", (long long)e->off[i]);
  str_add(&d->s, "]");
}

/* Member `i` of a value of type `t`: ".xx", "[2]". */
static void member(Dump *d, Type t, int i) {
  const Composite *x = type_composite(d->c->m, t);
  if (x->name)
    str_addf(&d->s, "member .%s", x->members[i].name);
  else
    str_addf(&d->s, "component [%d]", i);
}

/* The kind of the node, with its own data. */
static void head(Dump *d, const Expr *e) {
  Const k = {0};
  switch (e->kind) {
  case EXPR_SCALAR: str_addf(&d->s, "scalar %s", e->name); break;
  case EXPR_FIELD:
    str_addf(&d->s, "%s %s", e->behind ? "behind" : e->scale > 0 ? "fine" : e->scale ? "coarse" : "access", e->name);
    offsets(d, e);
    break;
  case EXPR_INDEX: str_addf(&d->s, "idx %d", (int)e->value.i); break;
  case EXPR_STEP: str_add(&d->s, "step"); break;
  case EXPR_ELEMENT: str_addf(&d->s, "element %s", e->name); break;
  case EXPR_LOCAL:
    if (e->sym->checked)
      str_addf(&d->s, "value %d", e->sym->index);
    else
      str_addf(&d->s, "let %s", e->name);
    break;
  case EXPR_OP: str_add(&d->s, op_info[e->op].name); break;
  case EXPR_MEMBER: member(d, e->kids[0]->type, (int)e->value.i); break;
  case EXPR_BRACES: str_add(&d->s, "construct"); break;
  case EXPR_SPREAD: str_add(&d->s, "spread"); break;
  default:
    str_addf(&d->s, "const %s", e->kind == EXPR_CONST ? e->name : "");
    str_add(&d->s, e->kind == EXPR_CONST ? " = " : "");
    if (fold_const(d->c, e, &k))
      const_print(&d->s, k, e->type);
  }
}

/* The expression and those below it. */
static void expr(Dump *d, const Expr *e, int depth) {
  indent(d, depth);
  head(d, e);
  str_addf(&d->s, " : %s", type_text(d->c->m, e->type));
  place(d, e->loc);
  for (int i = 0; i < e->n; i++)
    expr(d, e->kids[i], depth + 1);
}

/* The shared values that `e` needs and that were not printed at `printed_at` before. */
static void shared(Dump *d, const Expr *e, int depth, const void *printed_at) {
  Symbol **values;
  int n = shared_values(d->s.arena, e, printed_at, &values);
  for (int i = 0; i < n; i++) {
    values[i]->index = ++d->nshared;
    indent(d, depth);
    str_addf(&d->s, "value %d ", d->nshared);
    named(d, "of", values[i]->name, values[i]->type);
    place(d, values[i]->loc);
    expr(d, values[i]->checked, depth + 1);
  }
}

/* Structs. */
static void structs(Dump *d) {
  const Module *m = d->c->m;
  for (int i = 0; i < m->ncomposites; i++) {
    const Composite *t = &m->composites[i];
    if (!t->name)
      continue;
    str_addf(&d->s, "struct '%s'", t->name);
    place(d, symbols_find(&d->c->syms, t->name)->loc);
    for (int k = 0; k < t->n; k++)
      str_addf(&d->s, "  member '%s' : %s\n", t->members[k].name, type_text(m, t->members[k].type));
  }
}

/* Grid, scalars and fields. */
static void declarations(Dump *d) {
  const Module *m = d->c->m;
  structs(d);
  for (int i = 0; i < m->nscalars; i++) {
    if (d->c->scalar_value[i])
      shared(d, d->c->scalar_value[i], 0, d->c->scalar_value[i]);
    named(d,
          m->scalars[i].is_param       ? "param"
          : m->scalars[i].is_reduction ? "reduction"
                                       : "let",
          m->scalars[i].name, m->scalars[i].type);
    place(d, m->scalars[i].loc);
    if (d->c->scalar_value[i])
      expr(d, d->c->scalar_value[i], 1);
  }
  for (int i = 0; i < m->nparam_arrays; i++) {
    named(d, "array", m->param_arrays[i].name, m->param_arrays[i].type);
    str_add(&d->s, "[");
    affine_print(&d->s, m, m->param_arrays[i].extent);
    str_add(&d->s, "]");
    place(d, m->param_arrays[i].loc);
  }
  str_addf(&d->s, "grid '%s' ", d->c->grid->name);
  box_print(&d->s, m, &m->grid);
  if (m->steps_by)
    str_addf(&d->s, " steps '%s'", m->scalars[m->steps_by - 1].name);
  else
    str_addf(&d->s, " steps %lld", (long long)m->steps);
  place(d, d->c->grid->loc);
  for (int i = 0; i < m->nfields; i++) {
    const Field *f = &m->fields[i];
    named(d, "field", f->name, f->type);
    str_add(&d->s, " on ");
    field_box_print(&d->s, m, f, &f->box);
    if (outside_any(f) && outside_uniform(f, m->grid.rank) && f->outside[0] == OUTSIDE_CONST) {
      str_add(&d->s, " outside ");
      const_print(&d->s, f->outside_value, type_is_scalar(f->type) ? f->type : TY_F64);
    } else if (outside_any(f)) {
      str_add(&d->s, " outside ");
      outside_print(&d->s, m, f);
    }
    str_addf(&d->s, "%s%s", f->input ? " input" : "", f->temp ? " temp" : "");
    if (f->frames)
      str_addf(&d->s, " frames %lld%s%s", (long long)f->frames, f->ahead ? " ahead" : "", f->cycle ? " cycle" : "");
    if (f->history)
      str_addf(&d->s, " history %d", (int)f->history);
    place(d, f->loc);
  }
}

/* One piece. */
static void piece(Dump *d, const CheckedPiece *p) {
  str_add(&d->s, "  piece ");
  box_print(&d->s, d->c->m, &p->box);
  place(d, p->loc);
  for (int i = 0; i < p->n; i++) {
    const Assign *a = &p->assigns[i];
    shared(d, a->value, 2, p);
    indent(d, 2);
    if (a->local)
      named(d, "let", a->local->name, a->local->type);
    else
      named(d, "assign", d->c->m->fields[a->target].name, d->c->m->fields[a->target].type);
    place(d, a->loc);
    expr(d, a->value, 3);
  }
}

/* A reduction, and the condition with which it stops the run. */
static void reduction(Dump *d, const CheckedReduction *r) {
  named(d, r->head.kind == REDUCE_UNTIL ? "until" : "reduce", r->head.name, r->head.type);
  str_addf(&d->s, " = %s over ", op_info[r->head.op].name);
  box_print(&d->s, d->c->m, &r->head.over);
  str_addf(&d->s, " every %lld", (long long)r->head.every);
  if (r->head.loop)
    str_addf(&d->s, " of %s", d->c->repeats[r->head.loop - 1].head.name);
  place(d, r->head.loc);
  shared(d, r->body, 1, r);
  expr(d, r->body, 1);
  if (r->stop)
    expr(d, r->stop, 1);
}

/* A scalar that is kept, and an update of one. */
static void state(Dump *d, const CheckedState *x) {
  named(d, "scalar", x->sym->name, x->sym->type);
  place(d, x->sym->loc);
}
static void update(Dump *d, const CheckedUpdate *u) {
  named(d, "update", u->state->name, u->head.type);
  str_addf(&d->s, " stage %d = %s over ", (int)u->head.stage, op_info[u->head.op].name);
  box_print(&d->s, d->c->m, &u->head.over);
  place(d, u->head.loc);
  shared(d, u->body, 1, u);
  expr(d, u->body, 1);
}

/* A repeat. */
static void repeat(Dump *d, const CheckedRepeat *r) {
  str_addf(&d->s, "repeat '%s' up to ", r->head.name);
  affine_print(&d->s, d->c->m, r->head.most);
  str_addf(&d->s, " stage %d .. %d", (int)r->head.first, (int)r->head.last);
  place(d, r->head.loc);
}

/* A probe. */
static void probe(Dump *d, const CheckedProbe *p) {
  named(d, "probe", p->head.name, p->head.type);
  str_add(&d->s, " over ");
  box_print(&d->s, d->c->m, &p->head.box);
  if (p->head.list >= 0)
    str_addf(&d->s, " of %s", d->c->lists[p->head.list].head.name);
  str_addf(&d->s, " every %lld", (long long)p->head.every);
  place(d, p->head.loc);
  shared(d, p->body, 1, p);
  expr(d, p->body, 1);
}

char *dump_program(Checker *c) {
  Dump d = {.c = c, .s = {.arena = c->arena}};
  declarations(&d);
  for (int i = 0; i < c->nchecked; i++) {
    const CheckedStencil *s = &c->checked[i];
    str_addf(&d.s, "%s '%s' (", s->is_init ? "init" : s->sweep ? "sweep" : "stencil", s->name);
    for (int t = 0; t < s->ntargets; t++)
      str_addf(&d.s, "%s%s", t ? ", " : "", c->m->fields[s->targets[t]].name);
    str_add(&d.s, ")");
    if (s->every)
      str_addf(&d.s, " every %lld", (long long)s->every);
    place(&d, s->loc);
    for (int j = 0; j < s->npieces; j++)
      piece(&d, &s->pieces[j]);
  }
  for (int i = 0; i < c->nstates; i++)
    state(&d, &c->states[i]);
  for (int i = 0; i < c->nupdates; i++)
    update(&d, &c->updates[i]);
  for (int i = 0; i < c->nrepeats; i++)
    repeat(&d, &c->repeats[i]);
  for (int i = 0; i < c->nreductions; i++)
    reduction(&d, &c->reductions[i]);
  for (int i = 0; i < c->nprobes; i++)
    probe(&d, &c->probes[i]);
  return d.s.s;
}
