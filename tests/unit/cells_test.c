/* cells_test.c: the cache of values of cells that lowerings of tiles share: what is known, forgotten and replaced;
 * cells of the lanes beside, by as few shuffles as can be; lines that warps trade. */
#include "tests/unit/ir_testing.h"

#include "passes/tile/emit/move-rows.h"

enum { WIDTH = 4, LANES = 8 };

/* A block of code in the making, the cache of its values, and how often a cell was asked for. */
typedef struct Bench {
  Builder b;
  CellCache *cells;
  int made;
  bool whole_lines;
} Bench;

static Bench bench(Fixture *f) {
  Bench t = {.b = builder_at_end(f->arena, block_new(f->arena, NULL)), .cells = cells_new(f->arena, WIDTH, LANES)};
  return t;
}

/* A value of cell `x` of `line` (a CellFn): a constant that says which; with all others of the line if whole_lines. */
static Value *make_cell(void *user, CellLine line, int x) {
  Bench *t = user;
  t->made++;
  for (int i = 0; i < WIDTH && t->whole_lines; i++)
    cells_set(t->cells, line, i, build_int(&t->b, TY_I32, i));
  return t->whole_lines ? cells_get(t->cells, line, x) : build_int(&t->b, TY_I32, x);
}

static Value *beside(Bench *t, CellLine line, int x) { return cells_beside(t->cells, &t->b, line, x, make_cell, t); }

/* `v` is `x` shifted by `by` with `code`. */
static void assert_shift(const Value *v, Opcode code, int by, const Value *x) {
  assert_int_equal(v->def->code, code);
  assert_int_equal(v->def->off[0], by);
  assert_ptr_equal(v->def->operands[0], x);
}

/* Most of the others are in the same chain of the hash table, which has 128. */
FIXTURE_TEST(test_lines_are_told_apart) {
  Bench t = bench(f);
  const CellLine here = {1, 2, 3, 4, 5};
  const CellLine others[] = {{129, 2, 3, 4, 5}, {1, 130, 3, 4, 5}, {1, 2, 131, 4, 5}, {1, 2, 3, 132, 5},
                             {1, 2, 3, 4, 133}, {2, 2, 3, 4, 5},   {1, -2, 3, 4, 5}};
  Value *v = build_int(&t.b, TY_I32, 7);
  assert_null(cells_line(t.cells, here));
  assert_ptr_equal(cells_set(t.cells, here, 3, v), v);
  assert_ptr_equal(cells_get(t.cells, here, 3), v);
  assert_null(cells_get(t.cells, here, 2));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_null(cells_get(t.cells, others[i], 3));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    cells_set(t.cells, others[i], 3, build_int(&t.b, TY_I32, (int)i));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_int_equal(cells_get(t.cells, others[i], 3)->def->cval.i, i);
  assert_ptr_equal(cells_get(t.cells, here, 3), v);
}

FIXTURE_TEST(test_what_is_set_takes_the_place_of_what_was) {
  Bench t = bench(f);
  const CellLine line = {.of = 1};
  Value *v = build_int(&t.b, TY_I32, 1), *w = build_int(&t.b, TY_I32, 2), *whole[WIDTH] = {w, w, w, v};
  cells_set(t.cells, line, 0, v);
  cells_set(t.cells, line, 0, w);
  assert_ptr_equal(cells_get(t.cells, line, 0), w);
  cells_set_line(t.cells, line, whole);
  assert_ptr_equal(cells_line(t.cells, line), whole);
  assert_ptr_equal(cells_get(t.cells, line, 3), v);
  cells_clear(t.cells);
  assert_null(cells_line(t.cells, line));
  assert_null(cells_get(t.cells, line, 0));
}

FIXTURE_TEST(test_each_cell_is_built_once) {
  Bench t = bench(f);
  const CellLine line = {.of = 1, .line = 2};
  Value *v = beside(&t, line, 3);
  assert_int_equal(v->def->cval.i, 3);
  assert_ptr_equal(beside(&t, line, 3), v);
  Value *before = beside(&t, line, -1), *behind = beside(&t, line, WIDTH + 3);
  assert_shift(before, OP_SHUFFLE_UP, 1, v);
  assert_shift(behind, OP_SHUFFLE_DOWN, 1, v);
  assert_ptr_equal(beside(&t, line, -1), before);
  assert_ptr_equal(beside(&t, line, WIDTH + 3), behind);
  assert_int_equal(t.made, 1);
  cells_clear(t.cells);
  assert_ptr_not_equal(beside(&t, line, -1), before);
  assert_int_equal(t.made, 2);
}

FIXTURE_TEST(test_cells_of_any_lane) {
  Bench t = bench(f);
  const CellLine line = {.of = 1};
  assert_shift(beside(&t, line, -WIDTH), OP_SHUFFLE_UP, 1, beside(&t, line, 0));
  assert_shift(beside(&t, line, -WIDTH - 1), OP_SHUFFLE_UP, 2, beside(&t, line, 3));
  assert_shift(beside(&t, line, 2 * WIDTH + 1), OP_SHUFFLE_DOWN, 2, beside(&t, line, 1));
  Value *far = beside(&t, line, 9 * WIDTH + 2);
  assert_int_equal(far->def->off[0], 2);
  assert_shift(far->def->operands[0], OP_SHUFFLE_DOWN, LANES - 1, beside(&t, line, 2));
  assert_ptr_equal(beside(&t, line, 9 * WIDTH + 2), far);
}

FIXTURE_TEST(test_a_cell_may_come_with_its_line) {
  Bench t = bench(f);
  t.whole_lines = true;
  const CellLine line = {.of = 1, .line = -1};
  for (int x = -WIDTH; x < 2 * WIDTH; x++)
    beside(&t, line, x);
  assert_int_equal(t.made, 1);
  assert_int_equal(cells_get(t.cells, line, 2)->def->cval.i, 2);
}

/* The number of `line` (a CellFn). */
static Value *line_number(void *user, CellLine line, int x) {
  Bench *t = user;
  t->made += x >= 0 && x < WIDTH;
  return build_int(&t->b, TY_I32, line.line);
}

/* Of three lines or four, of which others read one down and two up, the first two and the last are put one behind the
 * other, behind a pad of the lines that are read down. */
FIXTURE_TEST(test_lines_that_warps_trade) {
  for (int lines = 3; lines <= 4; lines++) {
    Bench t = bench(f);
    Value *zero = build_int(&t.b, TY_I32, 0);
    TradedLines traded = {TY_I32, 0, 1, 2, lines, WIDTH, 1, 2, {zero, zero}};
    int n = 0, given[] = {0, 1, lines - 1};
    lines_give(&t.b, &traded, (CellLine){.of = 1}, line_number, &t);
    for (const Op *op = zero->def; op; op = op->next)
      if (op->code == OP_AVSTORE) {
        assert_true(n < 3);
        assert_int_equal(op->off[0], n + 1);
        assert_int_equal(op->off[1], 0);
        assert_int_equal(op->ver, 1);
        assert_int_equal(op->operands[0]->def->cval.i, given[n++]);
      }
    assert_int_equal(n, 3);
    assert_int_equal(t.made, 3 * WIDTH);
  }
}

FIXTURE_TEST(test_lines_of_other_warps) {
  Bench t = bench(f);
  TradedLines traded = {TY_I32, 0, 1, 2, 4, WIDTH, 1, 2, {build_int(&t.b, TY_I32, 0), build_int(&t.b, TY_I32, 0)}};
  const int line[] = {-1, 4, 5}, at[] = {0, 4, 5};
  for (int i = 0; i < 3; i++) {
    CellLine other = {.of = 1, .line = line[i]};
    lines_take(&t.b, t.cells, &traded, other);
    const Op *op = cells_get(t.cells, other, WIDTH - 1)->def;
    assert_int_equal(op->code, OP_AVLOAD);
    assert_int_equal(op->off[0], at[i]);
    assert_ptr_equal(op->results[WIDTH - 1], cells_get(t.cells, other, WIDTH - 1));
  }
}
