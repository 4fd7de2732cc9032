/* tile-lists.c: gives a list of tiles to kernels that have no work for tiles of some class (pass tile-classes), so that
 * a launch may omit these tiles. A block that reads its tile's class and ends takes 0.62 ns (NVIDIA H200, 2026-11-29);
 * on a mostly dry grid that is more than the time of the wet tiles.
 *
 *     kernel @k covers [N, M] by [32, 64] { B of block 0, block 1 }
 *
 * becomes
 *
 *     kernel @k covers [N, M] by [32, 64] without [0, 0] lists @k.listed of @k.classes {
 *       row = 3 * block 1
 *       class = load @k.listed[0, row]     i = load @k.listed[0, row + 1]     j = load @k.listed[0, row + 2]
 *       B of i, j
 *     }
 *
 * The blocks are numbered along the last dimension. A further kernel, launched once after the one that finds the
 * classes, lists all tiles in the former order of the blocks; a launcher that launches all blocks need not know of it.
 * A launcher that knows the classes may move the rows of tiles with work to the beginning of the list, and launch only
 * that many blocks (driver/instance/plan-idle.c). */
#include "passes/kernel/inner.h"

/* The tiles for each block of the kernel that makes the list, one a thread. */
enum { LIST_THREADS = 128 };

/* The columns of the list for tiles of rank `rank`: the class and the tile's numbers. */
static int64_t columns(int rank) { return rank + 1; }

bool tiles_may_be_listed(const Kernel *k) {
  bool may = !k->leaves_out && !k->cluster && !k->idles;
  for (int d = 0; d < k->rank; d++)
    may = may && k->over[d] == 0;
  return may;
}

/* The box of the field with a number for each tile. */
static const Box *tiles_box(const Module *m, int32_t classes) { return &m->fields[m->buffers[classes].field].box; }

/* The number of tiles along dimension `d`. */
static Affine tiles_along(const Module *m, int32_t classes, int d) {
  return affine_add_const(tiles_box(m, classes)->hi[d], 1);
}

/* Adds a let with the number of entries in the list of all tiles. Returns its number. */
static int32_t add_size(Module *m, const Kernel *k, int32_t classes) {
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  Value *n = build_int(&b, TY_I64, columns(k->rank));
  for (int d = 0; d < k->rank; d++)
    n = build2(&b, OP_MUL, n, build_affine(&b, m, tiles_along(m, classes, d)));
  build_yield(&b, 1, &n);
  const char *name = arena_printf(m->arena, "%s.tiles.listed", k->name);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, ((Scalar){.name = name, .type = TY_I64, .expr = expr}));
  return m->nscalars - 1;
}

/* Adds the list's field and buffer. */
static int32_t add_list(Module *m, const Kernel *k, int32_t classes) {
  Field f = {.name = arena_printf(m->arena, "%s.listed", k->name), .box = m->grid, .loc = k->loc, .type = TY_U32};
  for (int d = 0; d < k->rank; d++)
    f.box.lo[d] = f.box.hi[d] = affine_const(0);
  f.box.hi[k->rank - 1] = affine_add_const(affine_scalar(m->arena, add_size(m, k, classes)), -1);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  Buffer b = {.name = f.name, .kind = BUFFER_FIELD, .field = m->nfields - 1};
  ARENA_PUSH(m->arena, m->buffers, m->nbuffers, b);
  return m->nbuffers - 1;
}

/* The coordinates at[rank] of the first entry of row `row` of a list. */
static void row_place(Builder *b, int rank, Value *row, Value **at) {
  for (int d = 0; d < rank - 1; d++)
    at[d] = build_int(b, TY_I64, 0);
  at[rank - 1] = build2(b, OP_MUL, row, build_int(b, TY_I64, columns(rank)));
}

int32_t tiles_list(Module *m, const Kernel *k, int32_t classes) {
  static const int64_t here[MAX_RANK];
  int rank = k->rank, last = rank - 1;
  int64_t column[MAX_RANK] = {0};
  int32_t list = add_list(m, k, classes);
  Kernel own = {.name = inner_name(m, k, "list"), .rank = rank, .body = block_new(m->arena, NULL), .loc = k->loc};
  Builder b = builder_at_end(m->arena, own.body);
  Value *tile[MAX_RANK], *at[MAX_RANK], *row = NULL;
  b.loc = k->loc;
  for (int d = 0; d < MAX_RANK; d++)
    own.threads[d] = own.tile[d] = d == last ? LIST_THREADS : 1;
  for (int d = 0; d < rank; d++) {
    own.extent[d] = tiles_along(m, classes, d);
    tile[d] = build_dim(&b, OP_BLOCK, d);
  }
  tile[last] = build2(&b, OP_ADD, build2(&b, OP_MUL, tile[last], build_int(&b, TY_I64, LIST_THREADS)),
                      build_convert(&b, TY_I64, build_dim(&b, OP_THREAD, last)));
  Builder in = build_then(&b, build2(&b, OP_LT, tile[last], build_affine(&b, m, own.extent[last])));
  for (int d = 0; d < rank; d++)
    row = row ? build2(&in, OP_ADD, build2(&in, OP_MUL, row, build_affine(&in, m, own.extent[d])), tile[d]) : tile[d];
  row_place(&in, rank, row, at);
  Value *class = build_load(&in, m->fields[m->buffers[classes].field].type, classes, rank, tile, here);
  build_store(&in, list, build_convert(&in, TY_U32, class), rank, at, column);
  for (int d = 0; d < rank; d++) {
    column[last] = d + 1;
    build_store(&in, list, build_convert(&in, TY_U32, tile[d]), rank, at, column);
  }
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, own);
  HostOp launch = {.kind = HOST_LAUNCH, .a = m->nkernels - 1};
  ARENA_PUSH(m->arena, m->host.once.ops, m->host.once.nops, launch);
  return list;
}

Value *tiles_row(Builder *b, const Kernel *k, int32_t list, Value **tile) {
  int rank = k->rank, last = rank - 1;
  int64_t column[MAX_RANK] = {0};
  Value *at[MAX_RANK];
  row_place(b, rank, build_dim(b, OP_BLOCK, last), at);
  Value *class = build_load(b, TY_U32, list, rank, at, column);
  for (int d = 0; d < rank; d++) {
    column[last] = d + 1;
    tile[d] = build_convert(b, TY_I64, build_load(b, TY_U32, list, rank, at, column));
  }
  return class;
}

void tiles_by_list(Kernel *k, int32_t list, int32_t classes, Block *before, Value *const *tile) {
  inner_renumber(k, before, tile);
  k->leaves_out = true;
  for (int d = 0; d < k->rank; d++)
    k->without[d] = affine_const(0);
  k->list = list + 1;
  k->list_of = classes;
}
