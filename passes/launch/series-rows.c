/* series-rows.c: builds the code that stores a probe's value at one of its points. Pass series replaces stores to
 * probes' fields by it; lowerings use it if one piece of code in their kernels computes several time levels. */
#include "passes/launch/launch.h"

/* Makes `b` continue in an if that runs when `condition` holds. */
static void enter_if(Builder *b, Value *condition) {
  Loc loc = b->loc;
  *b = builder_at_end(b->arena, build_if(b, condition, 0, NULL)->blocks[0]);
  b->loc = loc;
}

void series_when_due(Builder *b, const Probe *p, Value *done) {
  if (p->every > 1) {
    Value *rest = build2(b, OP_REM, done, build_int(b, TY_I64, p->every));
    enter_if(b, build2(b, OP_EQ, rest, build_int(b, TY_I64, 0)));
  }
}

Value *series_row(const Module *m, Builder *b, const Probe *p, Value *done) {
  Value *row = p->every > 1 ? build2(b, OP_DIV, done, build_int(b, TY_I64, p->every)) : done;
  row = build2(b, OP_REM, row, build_int(b, TY_I64, SERIES_ROWS));
  if (p->list < 0)
    return row;
  Value *all = build_affine(b, m, m->param_arrays[p->result].extent),
        *cells = build2(b, OP_DIV, all, build_int(b, TY_I64, SERIES_ROWS));
  return build2(b, OP_MUL, row, cells);
}

void series_store(const Module *m, Builder b, const Probe *p, Value *row, Value *const *index, const int64_t *off,
                  Value *v) {
  Value *at = row;
  if (p->list >= 0) {
    int points = module_field_buffer(m, m->lists[p->list].field, 0);
    Value *k = build_load(&b, TY_I32, points, m->grid.rank, index, off);
    enter_if(&b, build2(&b, OP_NE, k, build_int(&b, TY_I32, 0)));
    at = build2(&b, OP_ADD, row, build_convert(&b, TY_I64, k));
    at = build2(&b, OP_SUB, at, build_int(&b, TY_I64, 1));
  }
  build_store(&b, p->result, v, 1, &at, NULL);
}
