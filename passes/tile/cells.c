/* cells.c: the cache of values of cells: a hash table of lines, with the values of each line's cells.
 *
 * If the cells of a tile are in registers of lanes (`-tiles=lanes`, `lower-stream`, `lower-warps`), the lowering asks
 * for the same cells again and again. The cache keeps the values that were built, under field, version, row (counted
 * back), line and lane, until the code moves to the next instance, row or level. So each load and each shuffle is built
 * once. A cell of another lane comes by a shuffle of the known value of the lane's own line. */
#include "passes/tile/cells.h"

enum { CHAINS = 128 };

/* A line with known values. */
typedef struct KnownLine {
  CellLine name;
  Value **cells;
  struct KnownLine *next; /* of the same chain */
} KnownLine;

struct CellCache {
  Arena *arena;
  int width, lanes;
  KnownLine *chain[CHAINS];
};

CellCache *cells_new(Arena *arena, int width, int lanes) {
  CellCache *c = ARENA_NEW(arena, CellCache);
  *c = (CellCache){.arena = arena, .width = width, .lanes = lanes};
  return c;
}

void cells_clear(CellCache *c) {
  for (int i = 0; i < CHAINS; i++)
    c->chain[i] = NULL;
}

/* ---- lines */

/* The number of the chain that has `line`. */
static uint32_t chain_of(CellLine line) {
  uint32_t h = (uint32_t)line.of * 5 + (uint32_t)line.version * 11 + (uint32_t)line.back * 17 +
               (uint32_t)line.line * 29 + (uint32_t)line.lanes * 41;
  return h % CHAINS;
}

static bool same_line(CellLine a, CellLine b) {
  return a.of == b.of && a.version == b.version && a.back == b.back && a.line == b.line && a.lanes == b.lanes;
}

/* The entry of `c` for `line`, NULL: it has none. */
static KnownLine *find_line(const CellCache *c, CellLine line) {
  for (KnownLine *k = c->chain[chain_of(line)]; k; k = k->next)
    if (same_line(k->name, line))
      return k;
  return NULL;
}

/* The entry of `c` for `line`, which is made if there is none. */
static KnownLine *make_line(CellCache *c, CellLine line) {
  KnownLine *k = find_line(c, line), **chain = &c->chain[chain_of(line)];
  if (k)
    return k;
  k = ARENA_NEW(c->arena, KnownLine);
  *k = (KnownLine){.name = line, .next = *chain};
  return *chain = k;
}

Value **cells_line(const CellCache *c, CellLine line) {
  const KnownLine *k = find_line(c, line);
  return k ? k->cells : NULL;
}

void cells_set_line(CellCache *c, CellLine line, Value **v) { make_line(c, line)->cells = v; }

/* ---- cells */

Value *cells_get(const CellCache *c, CellLine line, int x) {
  Value **cells = cells_line(c, line);
  return cells ? cells[x] : NULL;
}

Value *cells_set(CellCache *c, CellLine line, int x, Value *v) {
  KnownLine *k = make_line(c, line);
  if (!k->cells)
    k->cells = ARENA_ARRAY(c->arena, Value *, c->width);
  return k->cells[x] = v;
}

/* The value that the lane `lanes` on has as `v`. One shuffle leads at most as far as the last of the lanes. */
static Value *shifted(const CellCache *c, Builder *b, Value *v, int lanes) {
  int most = c->lanes - 1;
  for (int left = lanes < 0 ? -lanes : lanes; left > 0; left -= most)
    v = build_shift_lanes(b, lanes < 0 ? OP_SHUFFLE_UP : OP_SHUFFLE_DOWN, v, left < most ? left : most);
  return v;
}

Value *cells_beside(CellCache *c, Builder *b, CellLine line, int x, CellFn make, void *user) {
  int lanes = x >= 0 ? x / c->width : -((c->width - 1 - x) / c->width);
  CellLine beside = line;
  beside.lanes = lanes;
  x -= lanes * c->width;
  Value *v = cells_get(c, beside, x);
  if (v)
    return v;
  v = cells_get(c, line, x);
  if (!v)
    v = cells_set(c, line, x, make(user, line, x));
  return lanes ? cells_set(c, beside, x, shifted(c, b, v, lanes)) : v;
}
