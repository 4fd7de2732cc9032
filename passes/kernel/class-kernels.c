/* class-kernels.c: the kernels of pass tile-classes (tile-classes.c) that run once before the steps: one finds the
 * class of each tile, one joins consecutive tiles of the same class. */
#include "passes/kernel/class-kernels.h"
#include "passes/kernel/inner.h"

#include <string.h>

/* ---- the kernel that finds classes */

/* The most values that are accumulated for a tile: for each word the conjunction and the disjunction of its bits, and
 * the first and last place. */
enum { MOST_FOUND = 2 * MAX_TESTS + 2 };

/* The kernel that finds the classes of the tiles of `k`, in the making. type: the types of the accumulated words. at:
 * the coordinates so far. block: the block's numbers. lane: the thread's lane (NULL: there is only one thread); lanes:
 * the number of lanes. own: the tile's first coordinates. place: the coordinates before wrapping. nacc: the number of
 * accumulated values. */
typedef struct Finder {
  const Module *m;
  const Kernel *k;
  Type type[MAX_TESTS];
  Value *at[MAX_RANK], *block[MAX_RANK], *lane, *own[MAX_RANK], *place[MAX_RANK];
  int32_t lanes, buffer[MAX_TESTS], nacc;
} Finder;

/* Updates the last two values of acc for one point, whose bits are `bits`: the first and the last place in the last
 * dimension of the tile's own points that have a bit set, counted from the tile's begin. */
static void add_place(const Finder *f, Builder *b, Value *bits, Value **acc) {
  int x = f->k->rank - 1;
  Value **first = &acc[2 * f->k->tests->n], **last = first + 1,
        *in = build2(b, OP_NE, bits, build_int(b, bits->type, 0)), *place = NULL;
  for (int d = 0; d <= x; d++) {
    place = build2(b, OP_SUB, f->place[d], f->own[d]);
    in = build2(b, OP_AND, in, build2(b, OP_GE, place, build_int(b, TY_I64, 0)));
    in = build2(b, OP_AND, in, build2(b, OP_LT, place, build_int(b, TY_I64, f->k->tile[d])));
  }
  *first = build3(b, OP_SELECT, in, build2(b, OP_MIN, *first, place), *first);
  *last = build3(b, OP_SELECT, in, build2(b, OP_MAX, *last, place), *last);
}

/* Updates acc for one point: acc[2 i] is the conjunction, acc[2 i + 1] the disjunction of the values of word i at the
 * points so far. */
static void add_words(const Finder *f, Builder *b, Value **acc) {
  static const int64_t here[MAX_RANK];
  for (int i = 0; i < f->k->tests->n; i++) {
    const Field *x = &f->m->fields[f->k->tests->field[i]];
    Value *w = build_load(b, x->type, f->buffer[i], f->k->rank, f->at, here);
    w = build_convert(b, f->type[i], w);
    acc[2 * i] = build2(b, OP_BIT_AND, acc[2 * i], w);
    acc[2 * i + 1] = build2(b, OP_BIT_OR, acc[2 * i + 1], w);
    if (f->nacc > 2 * f->k->tests->n)
      add_place(f, b, build2(b, OP_BIT_AND, w, build_int(b, f->type[i], f->k->tests->all[i])), acc);
  }
}

/* Adds the words of all points of the tile that have the coordinates at[0 .. d - 1], by a loop for each dimension from
 * `d` on. */
static void add_points(Finder *f, Builder *b, int d, Value **acc) {
  const KernelTests *t = f->k->tests;
  const Box *grid = &f->m->grid;
  bool last = d == f->k->rank - 1;
  int64_t tile = f->k->tile[d];
  Value *own = build2(b, OP_ADD, build2(b, OP_MUL, f->block[d], build_int(b, TY_I64, tile)),
                      build_affine(b, f->m, t->lo[d])),
        *from = build2(b, OP_ADD, own, build_int(b, TY_I64, -t->reach.lo[d])),
        *end = build2(b, OP_ADD, own, build_int(b, TY_I64, tile + t->reach.hi[d]));
  f->own[d] = own;
  if (!t->around[d]) {
    from = build2(b, OP_MAX, from, build_affine(b, f->m, grid->lo[d]));
    end = build2(b, OP_MIN, end, build_affine(b, f->m, affine_add_const(grid->hi[d], 1)));
  }
  if (last && f->lane)
    from = build2(b, OP_ADD, from, build_convert(b, TY_I64, f->lane));
  Op *loop = build_for(b, from, end, last ? f->lanes : 1, 0, f->nacc, acc);
  Builder in = builder_in(b, loop->blocks[0]);
  Value *inner[MOST_FOUND], *at = loop->blocks[0]->args[0];
  for (int i = 0; i < f->nacc; i++)
    inner[i] = loop->blocks[0]->args[i + 1];
  f->place[d] = at;
  f->at[d] = t->around[d] ? build_map(&in, OP_WRAP, at, 0, grid->lo[d], grid->hi[d]) : at;
  if (last || d + 1 == MAX_RANK)
    add_words(f, &in, inner);
  else
    add_points(f, &in, d + 1, inner);
  build_yield(&in, f->nacc, inner);
  for (int i = 0; i < f->nacc; i++)
    acc[i] = loop->results[i];
}

/* Combines the accumulated words of all lanes by shuffles. */
static void combine_lanes(const Finder *f, Builder *b, Value **acc) {
  for (int mask = f->lanes / 2; mask; mask /= 2)
    for (int i = 0; i < 2 * f->k->tests->n; i++)
      acc[i] = build2(b, i % 2 ? OP_BIT_OR : OP_BIT_AND, acc[i], build_shuffle(b, acc[i], mask));
}

/* The class of a tile whose accumulated words are `acc`. */
static Value *class_of(const Finder *f, Builder *b, Value *const *acc) {
  Value *all = NULL, *none = NULL;
  for (int i = 0; i < f->k->tests->n; i++) {
    Value *bits = build_int(b, f->type[i], f->k->tests->all[i]),
          *is = build2(b, OP_EQ, build2(b, OP_BIT_AND, acc[2 * i], bits), bits),
          *not = build2(b, OP_EQ, build2(b, OP_BIT_AND, acc[2 * i + 1], bits), build_int(b, f->type[i], 0));
    all = all ? build2(b, OP_AND, all, is) : is;
    none = none ? build2(b, OP_AND, none, not) : not;
  }
  Value *other = build3(b, OP_SELECT, none, build_int(b, TY_U8, CLASS_NONE), build_int(b, TY_U8, CLASS_MIXED));
  return build3(b, OP_SELECT, all, build_int(b, TY_U8, CLASS_ALL), other);
}

/* The class code of a tile: `class`, with the range of stored points (FIRST, LAST) if their places were accumulated. A
 * tile without such points is NONE. */
static Value *with_places(const Finder *f, Builder *b, Value *class, Value *const *acc) {
  int x = f->k->rank - 1, n = 2 * f->k->tests->n;
  int32_t most = (f->k->tile[x] - 1) / CLASS_POINTS;
  class = build_convert(b, TY_I64, class);
  Value *first = build_int(b, TY_I64, 0), *last = build_int(b, TY_I64, most < PLACES ? most : PLACES);
  if (f->nacc > n) {
    Value *any = build2(b, OP_GE, acc[n + 1], build_int(b, TY_I64, 0)), *points = build_int(b, TY_I64, CLASS_POINTS);
    first = build3(b, OP_SELECT, any, build2(b, OP_DIV, acc[n], points), first);
    last = build3(b, OP_SELECT, any, build2(b, OP_DIV, acc[n + 1], points), last);
    class = build3(b, OP_SELECT, any, class, build_int(b, TY_I64, CLASS_NONE));
  }
  first = build2(b, OP_MUL, first, build_int(b, TY_I64, FIRST));
  last = build2(b, OP_MUL, last, build_int(b, TY_I64, LAST));
  return build_convert(b, TY_U32, build2(b, OP_ADD, build2(b, OP_ADD, class, first), last));
}

/* The type in which words of type `t` are accumulated: with several lanes, one that lanes can exchange. */
static Type kept_type(Type t, bool simt) { return simt ? TY_U32 : t == TY_BOOL ? TY_U8 : t; }

int32_t class_finder(Module *m, bool simt, int index, int32_t buffer, bool places) {
  static const int64_t here[MAX_RANK];
  const Kernel *k = &m->kernels[index];
  Kernel own = {.name = inner_name(m, k, "classes"), .rank = k->rank, .body = block_new(m->arena, NULL), .loc = k->loc};
  Finder f = {.m = m, .k = k, .lanes = simt ? WARP_LANES : 1};
  Builder b = builder_at_end(m->arena, own.body);
  Value *acc[MOST_FOUND];
  b.loc = k->loc;
  for (int d = 0; d < k->rank; d++) {
    own.threads[d] = d == k->rank - 1 ? f.lanes : 1;
    own.tile[d] = k->tile[d];
    own.extent[d] = k->extent[d];
    f.block[d] = build_dim(&b, OP_BLOCK, d);
  }
  for (int d = k->rank; d < MAX_RANK; d++)
    own.threads[d] = own.tile[d] = 1;
  f.lane = simt ? build_dim(&b, OP_THREAD, k->rank - 1) : NULL;
  for (int i = 0; i < k->tests->n; i++) {
    f.type[i] = kept_type(m->fields[k->tests->field[i]].type, simt);
    f.buffer[i] = module_field_buffer(m, k->tests->field[i], 0);
    acc[2 * i] = build_int(&b, f.type[i], k->tests->all[i]);
    acc[2 * i + 1] = build_int(&b, f.type[i], 0);
  }
  f.nacc = 2 * k->tests->n;
  if (places) {
    acc[f.nacc++] = build_int(&b, TY_I64, INT32_MAX);
    acc[f.nacc++] = build_int(&b, TY_I64, -1);
  }
  add_points(&f, &b, 0, acc);
  combine_lanes(&f, &b, acc);
  Value *class = class_of(&f, &b, acc);
  class = k->tests->more >= 0 ? with_places(&f, &b, class, acc) : class;
  Builder in = simt ? build_then(&b, build2(&b, OP_EQ, f.lane, build_int(&b, TY_I32, 0))) : b;
  build_store(&in, buffer, class, k->rank, f.block, here);
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, own);
  return m->nkernels - 1;
}

/* ---- runs of tiles */

Value *class_part(Builder *b, Value *code, int64_t by, int64_t end) {
  Value *part = by > 1 ? build2(b, OP_DIV, code, build_int(b, TY_I64, by)) : code, *of = build_int(b, TY_I64, end);
  return build2(b, OP_SUB, part, build2(b, OP_MUL, build2(b, OP_DIV, part, of), of));
}

/* code + n * by. */
static Value *add_part(Builder *b, Value *code, Value *n, int64_t by) {
  return build2(b, OP_ADD, code, build2(b, OP_MUL, n, build_int(b, TY_I64, by)));
}

/* The body of a joiner's loop, at tile `at`. carried describes the tile behind it: its class, the number of further
 * tiles joined to it, and the range of stored points (FIRST, LAST). Joins the two tiles if their classes are equal, and
 * updates carried for `at`. */
static void join_tiles(Builder *b, const Kernel *k, int32_t buffer, Value *const *at, Value **carried) {
  static const int64_t here[MAX_RANK], behind[MAX_RANK] = {1};
  Value *code = build_convert(b, TY_I64, build_load(b, TY_U32, buffer, k->rank, at, here)),
        *class = class_part(b, code, 1, MORE), *first = class_part(b, code, FIRST, PLACES + 1),
        *last = class_part(b, code, LAST, PLACES + 1);
  Value *same = build2(b, OP_EQ, class, carried[0]),
        *room = build2(b, OP_LT, carried[1], build_int(b, TY_I64, k->tests->most)),
        *joined = build2(b, OP_AND, same, room), *one = build_int(b, TY_I64, 1);
  Builder then = build_then(b, joined);
  build_store(&then, buffer, build_int(&then, TY_U32, CLASS_DONE), k->rank, at, behind);
  Value *more = build3(b, OP_SELECT, joined, build2(b, OP_ADD, carried[1], one), build_int(b, TY_I64, 0));
  first = build3(b, OP_SELECT, joined, build2(b, OP_MIN, first, carried[2]), first);
  last = build3(b, OP_SELECT, joined, build2(b, OP_MAX, last, carried[3]), last);
  code = add_part(b, add_part(b, add_part(b, class, more, MORE), first, FIRST), last, LAST);
  build_store(b, buffer, build_convert(b, TY_U32, code), k->rank, at, here);
  memcpy(carried, (Value *[]){class, more, first, last}, 4 * sizeof *carried);
}

int32_t class_joiner(Module *m, const Kernel *k, int32_t buffer) {
  const Box *box = &m->fields[m->buffers[buffer].field].box;
  Kernel own = {.name = inner_name(m, k, "runs"), .rank = k->rank, .body = block_new(m->arena, NULL), .loc = k->loc};
  Builder b = builder_at_end(m->arena, own.body);
  Value *at[MAX_RANK], *carried[4];
  b.loc = k->loc;
  for (int d = 0; d < MAX_RANK; d++)
    own.threads[d] = own.tile[d] = 1;
  for (int d = 0; d < k->rank; d++) {
    own.extent[d] = d == 0 ? affine_const(1) : affine_add_const(box->hi[d], 1);
    at[d] = build_dim(&b, OP_BLOCK, d);
  }
  Value *last = build_affine(&b, m, box->hi[0]);
  for (int i = 0; i < 4; i++)
    carried[i] = build_int(&b, TY_I64, i == 0 ? CLASS_DONE : 0);
  Op *loop =
      build_for(&b, build_int(&b, TY_I64, 0), build2(&b, OP_ADD, last, build_int(&b, TY_I64, 1)), 1, 0, 4, carried);
  Builder in = builder_in(&b, loop->blocks[0]);
  for (int i = 0; i < 4; i++)
    carried[i] = loop->blocks[0]->args[i + 1];
  at[0] = build2(&in, OP_SUB, last, loop->blocks[0]->args[0]);
  join_tiles(&in, k, buffer, at, carried);
  build_yield(&in, 4, carried);
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, own);
  return m->nkernels - 1;
}
