/* check_random.c: random(seed, n) and normal(seed, n). Both are words of the language only if the program declares
 * nothing of that name. */
#include "frontend/ensemble.h"
#include "ir/run/random.h"

void check_note_random(Checker *c, const Expr *e) {
  Loc *first = &c->drawn[*e->name == 'n'];
  if (first->line == 0)
    *first = e->loc;
}

/* `e` converted to a u32; only its lowest 32 bits count. */
static Expr *word(Checker *c, Expr *e) {
  if (e->type == TY_U32)
    return e;
  Expr *x = check_operation(c, OP_CONVERT, e->loc, 1, &e);
  x->type = TY_U32;
  return x;
}

/* The number `k` as a u32. */
static Expr *constant(Checker *c, Loc loc, uint32_t k) {
  Expr *x = check_leaf(c, EXPR_INT, TY_U32, loc, NULL);
  x->name = arena_printf(c->arena, "%lu", (unsigned long)k);
  return x;
}

/* Argument `i` of the call `e`, an integer, as a u32; EXPR_BAD after reporting. */
static Expr *argument(Checker *c, const Expr *e, const Env *env, const int64_t *shift, int i) {
  Expr *k = check_widen(c, check_expr(c, e->kids[i], env, shift));
  if (k->type == TY_LITERAL_INT)
    k = check_adapt(c, env, k, TY_I64);
  if (k->kind == EXPR_BAD || (type_is_scalar(k->type) && type_is_int(k->type)))
    return k->kind == EXPR_BAD ? k : word(c, k);
  return check_error(c, env, e->kids[i]->loc,
                     "'%s' takes integers, its seed and which number of the point it is; this argument is %s", e->name,
                     check_type_words(c, k->type));
}

Expr *check_random(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Expr *kids[RANDOM_OPERANDS];
  check_note_random(c, e);
  if (e->n != 2)
    return check_error(c, env, e->loc,
                       "'%s' takes 2 arguments, a seed and which number of the point it is: %s(seed, 0)", e->name,
                       e->name);
  if (!check_function_reads(c, env, e->loc, e->name, "a number of the point and the step"))
    return check_bad(c, e->loc);
  if (c->allowed != ALLOW_BODY)
    return check_not_allowed(c, env, e->loc, e->name);
  for (int i = 0; i < 2; i++)
    if ((kids[i] = argument(c, e, env, shift, i))->kind == EXPR_BAD)
      return kids[i];
  kids[RANDOM_STEP] = c->in_init ? constant(c, e->loc, RANDOM_INIT_STEP) : word(c, check_step(c, e->loc));
  /* The member comes last, so that the first member gets the numbers of the program without members. In three
   * dimensions there is no room for the member's number, so it changes the seed. */
  if (c->m->grid.rank > GRID_RANK) {
    Expr *by[] = {word(c, check_coordinate(c, e->loc, 0, shift)), constant(c, e->loc, RANDOM_NEXT_MEMBER)};
    Expr *sum[] = {kids[RANDOM_SEED], check_operation(c, OP_MUL, e->loc, 2, by)};
    kids[RANDOM_SEED] = check_operation(c, OP_ADD, e->loc, 2, sum);
    sum[1]->type = kids[RANDOM_SEED]->type = TY_U32;
  }
  for (int d = 0; d < GRID_RANK; d++) {
    int of = d < check_rank(c) ? d + c->lead : 0;
    kids[RANDOM_PLACE + d] =
        d < c->m->grid.rank ? word(c, check_coordinate(c, e->loc, of, shift)) : constant(c, e->loc, 0);
  }
  Expr *x = check_operation(c, *e->name == 'r' ? OP_RANDOM : OP_NORMAL, e->loc, RANDOM_OPERANDS, kids);
  x->type = c->real;
  return x;
}
