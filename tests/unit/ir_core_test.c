/* ir_core_test.c: memory, messages, types, affine bounds, construction and cloning (ir/base/arena.c diag.c type.c
 * affine.c build.c module.c). */
#include "tests/unit/ir_testing.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- arena */

/* A heap that gives out `left` blocks and then none. */
static void *scarce_realloc(void *user, void *p, size_t size) {
  int *left = user;
  if (size == 0) {
    free(p);
    return NULL;
  }
  return (*left)-- > 0 ? realloc(p, size) : NULL;
}

FIXTURE_TEST(test_arena_memory) {
  for (size_t n = 0; n < 100000; n = n * 3 + 1) {
    char *p = arena_alloc(f->arena, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(p[i], 0);
    memset(p, 0xff, n);
  }
  int *v = NULL, n = 0;
  for (int i = 0; i < 1000; i++)
    ARENA_PUSH(f->arena, v, n, i);
  for (int i = 0; i < 1000; i++)
    assert_int_equal(v[i], i);
  assert_true(arena_used(f->arena) > 100000);
}

/* The bytes that a heap has given and not got back, and the most that these were. */
typedef struct Ledger {
  int64_t blocks, most;
} Ledger;

/* The C heap that counts its blocks in `user`, a Ledger. */
static void *counting_realloc(void *user, void *p, size_t size) {
  Ledger *l = user;
  l->blocks += !p && size ? 1 : p && !size ? -1 : 0;
  l->most = l->blocks > l->most ? l->blocks : l->most;
  if (size)
    return realloc(p, size);
  free(p);
  return NULL;
}

/* What is handed out behind a mark comes back: a thousand trials of a megabyte take the memory of one, what was there
 * before stays, and new memory is zeroed as ever. */
FIXTURE_TEST(test_arena_marks) {
  Ledger ledger = {0};
  Arena *a = arena_new(counting_realloc, &ledger);
  char *before = arena_strdup(a, "before");
  size_t used = arena_used(a);
  for (int i = 0; i < 1000; i++) {
    ArenaMark outer = arena_mark(a);
    char *p = arena_alloc(a, 700000);
    ArenaMark inner = arena_mark(a);
    char *q = arena_alloc(a, 400000 + 1000 * (size_t)i % 7);
    assert_int_equal(p[0] | p[699999] | q[0] | q[399999], 0);
    memset(p, 'x', 700000);
    memset(q, 'x', 400000);
    arena_release(a, inner);
    assert_int_equal(p[699999], 'x');
    arena_release(a, outer);
  }
  assert_int_equal(arena_used(a), used);
  ArenaMark mark = arena_mark(a);
  const char *kept = arena_release_text(a, mark, arena_printf(a, "%s %d", before, 1));
  assert_string_equal(kept, "before 1");
  assert_int_equal(arena_used(a), used + 16);
  assert_null(arena_release_text(a, arena_mark(a), NULL));
  assert_string_equal(before, "before");
  assert_true(ledger.most < 8);
  arena_free(a);
  assert_int_equal(ledger.blocks, 0);
}

FIXTURE_TEST(test_arena_out_of_memory) {
  int left = 2;
  Arena *a = arena_new(scarce_realloc, &left);
  assert_non_null(a);
  jmp_buf oom;
  arena_on_oom(a, &oom);
  if (setjmp(oom) == 0) {
    for (;;)
      arena_alloc(a, 4096);
  }
  assert_true(arena_used(a) > 0);
  if (setjmp(oom) == 0) {
    arena_alloc(a, SIZE_MAX - 100);
    fail_msg("an impossible size was given");
  }
  arena_free(a);
  left = 0;
  assert_null(arena_new(scarce_realloc, &left));
}

/* What is taken from the scratch arena and released is given out again, and it goes with the arena it is beside. */
FIXTURE_TEST(test_arena_scratch) {
  int left = 3;
  Arena *a = arena_new(scarce_realloc, &left), *s = arena_scratch(a);
  ArenaMark mark = arena_mark(s);
  void *first = arena_alloc(s, 1000);
  arena_release(s, mark);
  assert_ptr_equal(arena_alloc(s, 1000), first);
  assert_ptr_equal(arena_scratch(a), s);
  assert_int_equal(arena_used(a), 0);
  jmp_buf oom;
  arena_on_oom(a, &oom);
  if (setjmp(oom) == 0) {
    arena_alloc(arena_scratch(a), 1 << 20);
    fail_msg("there is no memory left");
  }
  arena_free(a);
}

FIXTURE_TEST(test_strings) {
  Str s = {.arena = f->arena};
  for (int i = 0; i < 300; i++)
    str_addf(&s, "%d,", i);
  assert_int_equal(strlen(s.s), s.n);
  assert_true(!strncmp(s.s, "0,1,2,", 6) && !strcmp(s.s + s.n - 8, "298,299,"));
  assert_string_equal(arena_printf(f->arena, "%s-%d", "ab", 7), "ab-7");
  static const int64_t numbers[] = {0, -1, 10, INT64_MAX, INT64_MIN};
  Str by_hand = {.arena = f->arena}, printed = {.arena = f->arena};
  for (size_t i = 0; i < 100 * sizeof numbers / sizeof *numbers; i++) {
    int64_t x = numbers[i % (sizeof numbers / sizeof *numbers)];
    str_addi(&by_hand, x);
    str_addf(&printed, "%" PRId64, x);
  }
  assert_string_equal(by_hand.s, printed.s);
  assert_int_equal(by_hand.n, printed.n);
  assert_string_equal(arena_strndup(f->arena, "abcdef", 3), "abc");
  Str part = {.arena = f->arena};
  str_addn(&part, "abcdef", 2);
  str_addn(&part, "xyz", 0);
  str_addn(&part, "cd", 2);
  assert_string_equal(part.s, "abcd");
  assert_int_equal(part.n, 4);
}

/* ---- messages */

/* Keeps the last message's source line. */
static void keep_source(void *user, const Diag *d) { *(char **)user = d->source ? strdup(d->source) : NULL; }

FIXTURE_TEST(test_source_line) {
  char *source = NULL;
  Diags *d = diags_new(f->arena, keep_source, &source);
  int file = diags_add_source(d, "x.stn", "first\r\nsecond line\nthird");
  diag_error(d, (Loc){file, 2, 3}, "m");
  assert_string_equal(source, "second line");
  free(source);
  diag_error(d, (Loc){file, 3, 1}, "m");
  assert_string_equal(source, "third");
  free(source);
  diag_error(d, (Loc){file, 9, 1}, "m");
  assert_null(source);
  diag_error(d, no_loc(), "m");
  assert_null(source);
  assert_int_equal(diags_errors(d), 4);
}

FIXTURE_TEST(test_error_limit) {
  for (int i = 0; i < MAX_ERRORS + 5; i++) {
    diag_error(f->diags, no_loc(), "e%d", i);
    diag_note(f->diags, no_loc(), "n%d", i);
  }
  assert_int_equal(diags_errors(f->diags), MAX_ERRORS + 5);
  assert_non_null(strstr(f->messages.s, "error: e19\n"));
  assert_non_null(strstr(f->messages.s, "note: n19\n"));
  assert_null(strstr(f->messages.s, "e20"));
  assert_null(strstr(f->messages.s, "n20"));
}

FIXTURE_TEST(test_remarks) {
  diag_remark(f->diags, no_loc(), "hidden");
  diag_note(f->diags, no_loc(), "hidden too");
  diags_enable_remarks(f->diags, true);
  diag_remark(f->diags, no_loc(), "shown");
  diag_warning(f->diags, no_loc(), "w");
  assert_string_equal(f->messages.s, "0:0: remark: shown\n0:0: warning: w\n");
}

FIXTURE_TEST(test_caret) {
  FILE *to = tmpfile();
  char text[200] = "";
  diag_print(to, &(Diag){DIAG_ERROR, "a.stn", 3, 4, "\tab cd", "wrong"}, false);
  rewind(to);
  assert_true(fread(text, 1, sizeof text - 1, to) > 0);
  fclose(to);
  assert_string_equal(text, "a.stn:3:4: error: wrong\n\tab cd\n\t  ^\n");
}

/* Of a line of 1000 characters what is about the column. */
FIXTURE_TEST(test_caret_in_long_line) {
  FILE *to = tmpfile();
  char line[1001], text[700] = "", want[700];
  memset(line, 'x', 1000);
  line[1000] = 0;
  line[499] = '?';
  diag_print(to, &(Diag){DIAG_ERROR, "a.stn", 3, 500, line, "wrong"}, false);
  rewind(to);
  assert_true(fread(text, 1, sizeof text - 1, to) > 0);
  fclose(to);
  snprintf(want, sizeof want, "a.stn:3:500: error: wrong\n...%.120s?%.119s...\n%*s^\n", line, line + 500, 123, "");
  assert_string_equal(text, want);
}

/* ---- types */

FIXTURE_TEST(test_types) {
  for (Type t = TY_BOOL; t < TY_COMPOSITE; t++)
    assert_int_equal(type_from_name(type_name(t)), t);
  assert_int_equal(type_from_name("real"), TY_NONE);
  assert_int_equal(type_from_name("none"), TY_NONE);
  assert_int_equal(type_size(TY_BF16), 2);
  assert_int_equal(type_size(TY_F64), 8);
  assert_true(type_is_float(TY_BF16) && !type_is_float(TY_I64) && type_is_int(TY_I8) && !type_is_int(TY_BOOL));
}

/* The float `x` as integer of type `t`. */
static int64_t to_int(double x, Type t) { return const_convert((Const){.f = x}, TY_F64, t).i; }
/* `x` rounded to the float type `t`. */
static double to_float(double x, Type t) { return const_convert((Const){.f = x}, TY_F64, t).f; }

FIXTURE_TEST(test_convert) {
  assert_int_equal(to_int(-1.9, TY_I32), -1);
  assert_int_equal(to_int(3e9, TY_I32), INT32_MAX);
  assert_int_equal(to_int(-3e9, TY_I32), INT32_MIN);
  assert_int_equal(to_int(1e300, TY_I64), INT64_MAX);
  assert_int_equal(to_int(-INFINITY, TY_I64), INT64_MIN);
  assert_int_equal(to_int(NAN, TY_I64), 0);
  assert_int_equal(to_int(-129.5, TY_I8), -128);
  assert_int_equal(to_int(NAN, TY_BOOL), 1);
  assert_int_equal(to_int(-0.0, TY_BOOL), 0);
  assert_int_equal(const_convert((Const){.i = 300}, TY_I32, TY_I8).i, 44);
  assert_int_equal(const_convert((Const){.i = INT64_C(0x80000000)}, TY_I64, TY_I32).i, INT32_MIN);
  assert_int_equal(const_convert((Const){.i = 256}, TY_I32, TY_BOOL).i, 1);
}

FIXTURE_TEST(test_rounding) {
  assert_true(to_float(0.1, TY_F32) == (double)0.1f);
  assert_true(to_float(65519, TY_F16) == 65504);
  assert_true(isinf(to_float(65520, TY_F16)));
  assert_true(to_float(0x1.ff8p-15, TY_F16) == 0x1.ff8p-15 && to_float(0x1p-25, TY_F16) == 0 &&
              to_float(0x1.8p-25, TY_F16) == 0x1p-24);
  assert_true(to_float(1 + 0x1p-8, TY_BF16) == 1 && to_float(1 + 0x3p-8, TY_BF16) == 1 + 0x1p-6);
  assert_true(signbit(to_float(-0.0, TY_BF16)));
  int64_t tie = (INT64_C(1) << 53) + (INT64_C(1) << 29) + 1;
  assert_true(const_convert((Const){.i = tie}, TY_I64, TY_F32).f == 0x1p53 + 0x1p30);
  assert_true(const_same((Const){.f = NAN}, (Const){.f = NAN}, TY_F64));
  assert_false(const_same((Const){.f = 0.0}, (Const){.f = -0.0}, TY_F64));
}

/* ---- affine bounds */

FIXTURE_TEST(test_multiples) {
  Arena *a = f->arena;
  Affine n = affine_scalar(a, 0), m = affine_scalar(a, 1),
         x = affine_add(a, affine_scale(a, n, -12), affine_scale(a, m, 8));
  assert_int_equal(affine_multiple(affine_const(0), 4), 1);
  assert_int_equal(affine_multiple(affine_const(-8), 4), 1);
  assert_int_equal(affine_multiple(affine_const(-6), 4), -1);
  assert_int_equal(affine_multiple(affine_const(INT64_MIN), 1024), 1);
  assert_int_equal(affine_multiple(n, 1), 1);
  assert_int_equal(affine_multiple(n, 4), 0);
  assert_int_equal(affine_multiple(x, 4), 1);
  assert_int_equal(affine_multiple(x, 8), 0);
  assert_int_equal(affine_multiple(x, 3), 0);
  assert_int_equal(affine_multiple(affine_add_const(x, 2), 4), -1);
  assert_int_equal(affine_multiple(affine_add_const(x, 2), 8), -1);
  assert_int_equal(affine_multiple(affine_add_const(x, 4), 8), 0);
}

FIXTURE_TEST(test_affine) {
  Arena *a = f->arena;
  Affine n = affine_scalar(a, 0), m = affine_scalar(a, 1);
  Affine x = affine_add_const(affine_add(a, affine_scale(a, m, 3), n), -2);
  Affine y = affine_sub(a, x, n);
  assert_int_equal(x.n, 2);
  assert_int_equal(x.t[0].scalar, 0);
  assert_int_equal(y.n, 1);
  assert_true(affine_equal(affine_sub(a, x, x), affine_const(0)));
  int64_t diff;
  assert_true(affine_diff(affine_add_const(x, 7), x, &diff) && diff == 7);
  assert_false(affine_diff(x, y, &diff));
  Const scalars[] = {{.i = 10}, {.i = 100}};
  assert_int_equal(affine_eval(x, scalars, NULL), 308);
  Const large[] = {{.i = INT64_MAX}, {.i = INT64_MAX}};
  bool overflow = false;
  assert_int_equal(affine_eval(x, large, &overflow), INT64_MIN);
  assert_true(overflow);
  assert_true(affine_add_const(affine_const(INT64_MAX), 5).c == INT64_MAX);
  assert_true(affine_scale(a, affine_const(INT64_MIN), -1).c == INT64_MAX);
}

/* [lo, hi] of scalar 0 plus these constants. */
static Box interval(Arena *a, int64_t lo, int64_t hi) {
  return (Box){1, {affine_const(lo)}, {affine_add_const(affine_scalar(a, 0), hi)}};
}

FIXTURE_TEST(test_boxes) {
  Arena *a = f->arena;
  Box all = interval(a, 0, -1), inner = interval(a, 1, -2), beyond = interval(a, -1, -1);
  Box other = {1, {affine_const(0)}, {affine_scalar(a, 1)}};
  assert_int_equal(box_inside(&inner, &all), 1);
  assert_int_equal(box_inside(&all, &inner), -1);
  assert_int_equal(box_inside(&beyond, &all), -1);
  assert_int_equal(box_inside(&other, &all), 0);
  assert_true(box_equal(&all, &all) && !box_equal(&all, &inner));
  Affine extent = box_extent(a, &inner, 0);
  assert_int_equal(affine_eval(extent, (Const[]){{.i = 10}}, NULL), 8);
}

/* ---- construction */

/* A kernel body: x = const; for of two iterations carrying x; if; returns the block. */
static Block *sample(Arena *a, Value **x) {
  Block *body = block_new(a, NULL);
  Builder b = builder_at_end(a, body);
  *x = build_float(&b, TY_F32, 0.5);
  Value *lo = build_int(&b, TY_I32, 0), *hi = build_int(&b, TY_I32, 2);
  Op *loop = build_for(&b, lo, hi, 1, FOR_UNROLL, 1, x);
  Builder inner = builder_at_end(a, loop->blocks[0]);
  Value *sum = build2(&inner, OP_ADD, loop->blocks[0]->args[1], *x);
  build_yield(&inner, 1, &sum);
  Op *branch = build_if(&b, build2(&b, OP_LT, loop->results[0], *x), 1, (Type[]){TY_F32});
  for (int i = 0; i < 2; i++) {
    Builder in = builder_at_end(a, branch->blocks[i]);
    build_yield(&in, 1, i ? x : loop->results);
  }
  return body;
}

/* Counts ops (block_walk). */
static void count(void *user, Op *op) {
  (void)op;
  ++*(int *)user;
}

/* Unlinks every op but yields and what has blocks. */
static void unlink_leaf(void *user, Op *op) {
  (void)user;
  if (!op->nblocks && op->code != OP_YIELD)
    op_unlink(op);
}

/* The text of a body as that of a kernel in a module. */
static char *text_of(Fixture *f, Block *body) {
  Module *m = module_new(f->arena, "t", LEVEL_KIR);
  m->grid = interval(f->arena, 0, 0);
  Kernel k = {.name = "k", .rank = 1, .threads = {1}, .tile = {1}, .body = body};
  m->kernels = &k;
  m->nkernels = 1;
  return module_print(m);
}

FIXTURE_TEST(test_clone) {
  Value *x;
  Block *body = sample(f->arena, &x);
  char *before = text_of(f, body);
  Block *copy = block_clone(f->arena, body, NULL, NULL);
  assert_string_equal(text_of(f, copy), before);
  int ops = 0;
  block_walk(copy, count, &ops);
  assert_int_equal(ops, 10);
  block_walk(copy, unlink_leaf, NULL);
  assert_string_equal(text_of(f, body), before);
}

FIXTURE_TEST(test_clone_map) {
  Value *x;
  Block *body = sample(f->arena, &x);
  text_of(f, body);
  Op *loop = body->first->next->next->next;
  assert_int_equal(loop->code, OP_FOR);
  Builder b = builder_before(f->arena, loop);
  Value *y = build_float(&b, TY_F32, 2);
  Value **map = ARENA_ARRAY(f->arena, Value *, 64);
  map[x->id] = y;
  Block *copy = block_clone(f->arena, loop->blocks[0], loop, map);
  assert_ptr_equal(copy->first->operands[1], y);
  assert_ptr_equal(copy->first->operands[0], copy->args[1]);
  assert_ptr_equal(copy->parent, loop);
  assert_ptr_equal(loop->blocks[0]->first->operands[1], x);
  assert_int_equal(block_replace_uses(body, x, y), 4);
  assert_int_equal(block_replace_uses(body, x, y), 0);
}

/* An op in one piece of memory: what it holds does not overlap, whatever the numbers. */
FIXTURE_TEST(test_op_room) {
  for (int n = 0; n < 27; n++) {
    int results = n % 3, operands = n / 3 % 3, blocks = n / 9;
    memset(arena_alloc(f->arena, 1), 1, 1);
    Op *op = op_new(f->arena, results, operands, blocks);
    assert_true(op->nresults == results && op->noperands == operands && op->nblocks == blocks && !op->parent);
    for (int i = 0; i < results; i++)
      *op->results[i] = (Value){.id = 7 + i, .index = i, .def = op};
    for (int i = 0; i < operands; i++) {
      assert_null(op->operands[i]);
      op->operands[i] = results ? op->results[0] : NULL;
    }
    for (int i = 0; i < blocks; i++) {
      assert_null(op->blocks[i]);
      op->blocks[i] = block_new(f->arena, op);
    }
    for (int i = 0; i < results; i++)
      assert_true(op->results[i]->id == 7 + i && op->results[i]->def == op && op->nblocks == blocks);
  }
}

FIXTURE_TEST(test_insert_unlink) {
  Block *block = block_new(f->arena, NULL);
  Builder b = builder_at_end(f->arena, block);
  Op *first = build_int(&b, TY_I32, 1)->def, *last = build_int(&b, TY_I32, 3)->def;
  Builder mid = builder_before(f->arena, last);
  Op *middle = build_int(&mid, TY_I32, 2)->def;
  assert_true(block->first == first && first->next == middle && middle->next == last && block->last == last);
  op_unlink(first);
  op_unlink(last);
  assert_true(block->first == middle && block->last == middle && !middle->prev && !middle->next && !first->parent);
  op_unlink(middle);
  assert_true(!block->first && !block->last);
  op_unlink(middle);
}

/* ---- kernels */

/* A module with a param N, a 1-D field A with two buffers, and kernel `k` reading one and writing the other at the
 * step. */
static Module *kernel_module(Arena *a, Kernel *k) {
  Module *m = module_new(a, "t", LEVEL_KIR);
  ARENA_PUSH(a, m->scalars, m->nscalars, ((Scalar){.name = "N", .type = TY_I64, .is_param = true}));
  ARENA_PUSH(a, m->scalars, m->nscalars, ((Scalar){.name = "c", .type = TY_F32, .is_param = true}));
  m->grid = interval(a, 0, -1);
  ARENA_PUSH(a, m->fields, m->nfields, ((Field){.name = "A", .type = TY_F32, .box = m->grid}));
  ARENA_PUSH(a, m->buffers, m->nbuffers, ((Buffer){.name = "A"}));
  ARENA_PUSH(a, m->buffers, m->nbuffers, ((Buffer){.name = "A.next", .copy = 1}));
  *k = (Kernel){.name = "k", .rank = 1, .threads = {32}, .tile = {32}, .steps = 1, .body = block_new(a, NULL)};
  Builder b = builder_at_end(a, k->body);
  Value *i = build_step(&b), *v = build_load(&b, TY_F32, 0, 1, &i, NULL);
  build_store(&b, 1, build2(&b, OP_MUL, v, build_scalar(&b, TY_F32, 1)), 1, &i, NULL);
  return m;
}

FIXTURE_TEST(test_kernel_args) {
  Kernel k;
  Module *m = kernel_module(f->arena, &k);
  kernel_set_args(m, &k);
  assert_int_equal(k.nargs, 5);
  assert_true(k.args[0].kind == KARG_BUFFER && k.args[0].index == 0 && k.args[0].reads && !k.args[0].writes);
  assert_true(k.args[1].kind == KARG_BUFFER && k.args[1].index == 1 && !k.args[1].reads && k.args[1].writes);
  assert_true(k.args[2].kind == KARG_SCALAR && k.args[2].index == 0);
  assert_true(k.args[3].kind == KARG_SCALAR && k.args[3].index == 1);
  assert_true(k.args[4].kind == KARG_STEP);
}

FIXTURE_TEST(test_shared_bytes) {
  Array arrays[] = {
      {.name = "a", .type = TY_F32, .space = SPACE_SHARED, .rank = 1, .shape = {5}, .storage = -1},
      {.name = "p", .type = TY_F64, .space = SPACE_PRIVATE, .rank = 1, .shape = {100}, .storage = -1},
      {.name = "b", .type = TY_F64, .space = SPACE_SHARED, .rank = 2, .shape = {3, 3}, .storage = 0},
      {.name = "c", .type = TY_F32, .space = SPACE_SHARED, .rank = 1, .shape = {4}, .storage = -1},
  };
  Kernel k = {.narrays = 4, .arrays = arrays};
  assert_int_equal(kernel_shared_bytes(&k), 80 + 16);
  assert_int_equal(kernel_array_offset(&k, 0), 0);
  assert_int_equal(kernel_array_offset(&k, 2), 0);
  assert_int_equal(kernel_array_offset(&k, 3), 80);
}

/* What is behind the first launch of a group alone waits for both that this becomes, and so is behind all of them. */
FIXTURE_TEST(test_launch_beside) {
  Module *m =
      module_parse(f->arena, f->diags, "t",
                   "kernel module \"t\" { grid [0 .. 7] steps 1\n"
                   "kernel @a threads [1] covers [8] by [1] steps 1 { args () } kernel @b threads [1] covers [8] by "
                   "[1] steps 0 { args () }\n"
                   "kernel @edge threads [1] covers [8] by [1] steps 0 { args () }\n"
                   "host { steps 1 { launch @a launch @b beside launch @b beside behind launch @b beside behind } } }");
  assert_non_null(m);
  HostSeq of_b = m->host.seqs[0];
  host_launch_beside(m, &m->host.seqs[0], 3, (const int32_t[]){2, -1, -1});
  assert_non_null(strstr(module_print(m), "launch @edge\n      launch @a beside\n      launch @b beside\n"
                                          "      launch @b\n      launch @b beside\n"));
  m->host.seqs[0] = of_b;
  host_launch_beside(m, &m->host.seqs[0], 3, (const int32_t[]){-1, 2, -1});
  assert_non_null(strstr(module_print(m), "launch @b beside\n      launch @edge beside behind\n"
                                          "      launch @b beside behind\n"));
}
