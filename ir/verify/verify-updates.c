/* verify-updates.c: the rules of numbers that are kept from step to step, and of their updates. */
#include "ir/verify/verify.h"

/* Is the array one number, f64 or i64, or one for each member, with an initial value of that type if it has one? */
static bool is_state(const Module *m, const ParamArray *a) {
  const Module *all = m->slice_of ? m->slice_of : m;
  Affine one = affine_const(1), n = a->each && all->members ? box_extent(m->arena, &all->grid, 0) : one;
  bool number = (a->type == TY_F64 || a->type == TY_I64) && affine_equal(a->extent, n) && (all->members || !a->each);
  bool kept = a->first >= 0;
  return number && a->first >= -1 && a->first < m->nscalars &&
         (!kept || (m->scalars[a->first].type == a->type && !m->scalars[a->first].is_reduction));
}

void verify_states(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role == ARRAY_STATE && !is_state(m, a))
      verify_fail(
          v, a->loc,
          "the state '@%s' is not one f64 or i64, or one for each member, whose first value is a scalar of that type",
          a->name);
  }
}

/* Checks that the stages of stencils never fall, and that those of a group have one stage. */
static void check_stages(Verifier *v) {
  const Module *m = v->m;
  int last = 0;
  for (int i = 0; i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i], *before = i ? st - 1 : NULL;
    if (st->stage < last || st->stage < 0)
      verify_fail(v, st->loc, "stencil '%s' is in stage %d, behind one in stage %d", st->name, st->stage, last);
    if (before && before->group == st->group && before->stage != st->stage && m->stencils[m->nstencils - 1].group)
      verify_fail(v, st->loc, "stencil '%s' shares a launch with one before an update", st->name);
    last = st->stage;
  }
  for (int i = 0; i < m->ninits; i++)
    if (m->inits[i].stage)
      verify_fail(v, m->inits[i].loc, "init '%s' is in stage %d", m->inits[i].name, m->inits[i].stage);
}

/* Checks one update without its body. */
static bool check_head(Verifier *v, const Update *u, int last) {
  const Module *m = v->m;
  bool known = u->state >= 0 && u->state < m->nparam_arrays && m->param_arrays[u->state].role == ARRAY_STATE;
  if (!known)
    verify_fail(v, u->loc, "launch-time array number %d is no state", u->state);
  else if (m->param_arrays[u->state].type != u->type)
    verify_fail(v, u->loc, "its type %s is not that of the state", type_name(u->type));
  if (u->stage < 1 || u->stage < last)
    verify_fail(v, u->loc, "stage %d behind stage %d", u->stage, last);
  if (known && u->each != m->param_arrays[u->state].each)
    verify_fail(v, u->loc,
                "it says 'each' where the state has one number, or does not where it has one for each member");
  if (u->op != OP_ADD && u->op != OP_MUL && u->op != OP_MIN && u->op != OP_MAX)
    verify_fail(v, u->loc, "op '%s' does not reduce", op_info[u->op].name);
  verify_box(v, u->loc, &u->over, m->grid.rank);
  return known;
}

/* Checks the fields that an update reads: within a step, temp fields and older levels need not have values. */
static void check_reads(Verifier *v, const Block *b) {
  for (const Op *op = b->first; op; op = op->next)
    if (op->code == OP_ACCESS && (v->m->fields[op->sym].temp || v->m->fields[op->sym].past))
      verify_fail(v, op->loc, "it reads '%s', a temp field or an older level", v->m->fields[op->sym].name);
}

void verify_updates(Verifier *v) {
  const Module *m = v->m;
  int last = 1;
  check_stages(v);
  if (m->nupdates && m->time_tile > 1)
    verify_fail(v, no_loc(), "there are updates in a time tile of %d steps", m->time_tile);
  if (m->nupdates && m->level == LEVEL_KIR)
    verify_fail(v, no_loc(), "a kernel module has no updates");
  for (int i = 0; i < m->nupdates; i++) {
    const Update *u = &m->updates[i];
    int errors = v->errors;
    verify_at(v, u->loc, "update", "");
    if (!check_head(v, u, last))
      continue;
    verify_at(v, u->loc, "update", update_name(m, u));
    v->context = CONTEXT_PIECE;
    verify_body(v, u->body, "the update", 1, &u->type);
    if (v->errors == errors)
      check_reads(v, u->body);
    last = u->stage;
  }
}
