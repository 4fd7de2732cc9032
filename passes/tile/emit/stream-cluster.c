/* stream-cluster.c: streamed tiles over clusters. The blocks of a cluster, stacked in dimension 1, share a tile.
 *
 * There is no halo between the blocks, but a *seam*. Lines go across a seam as they go between the warps of a block,
 * but they are stored to the shared memory of the neighbouring block, to the lines beyond its own. The neighbour reads
 * them there like lines of a neighbouring warp.
 *
 * The loop has no barrier. Versions whose lines go across are in SETS sets, by the first instance that reads them.
 * For each set, side and parity of the step a block has a signal. In step t
 *
 *   - before the first instance that reads a set, the warp at the seam waits for phase t, which step t - 1 of the
 *     neighbouring block has filled, and announces the bytes of phase t + 2, by the same signal;
 *   - after the last instance that reads the set, the warp stores its newest lines of the set there, for phase t + 1.
 *
 * The arrival of a set also says that the neighbour has read the lines of all earlier steps, so this block may
 * overwrite the neighbour's places for them; there are as many places as for lines between warps. If no lines of a set
 * are read from a side, words that nobody reads arrive from there in their place. Between the sending and the waiting
 * the other sets are computed: that is the time that lines have on their way. Phase 0 is ended at the start. Signals
 * have two parities, since the neighbouring block may be one step ahead. Blocks start and end together: nothing can be
 * stored to a block that has ended, or has not begun. */
#include "passes/tile/emit/lower-stream.h"

/* The greatest number of sets of versions. */
enum { SETS = 2 };

/* Indices of signals: side and set; parity. Sides: of the block before this one, of the block after it. */
enum { SIDES = 2, BEFORE = 0, BEHIND = 1 };

/* A version whose lines go across: the number of its KeptRows, and the first and the last instance that reads it. */
typedef struct SeamRows {
  int32_t kept, first, last, set;
} SeamRows;

/* A set: the first and the last instance that reads it, the bytes that arrive from each side, and whether these are
 * words that nobody reads. */
typedef struct SeamSet {
  int32_t first, last;
  int64_t bytes[SIDES];
  bool words[SIDES];
} SeamSet;

/* The seams of a kernel. at[BEFORE]: is the warp at a seam with a block before? side: the side of the seam, where there
 * is one. words: the array for words that nobody reads. */
struct Seams {
  int32_t nrows, nsets, signals, words;
  SeamRows *rows;
  SeamSet set[SETS];
  Value *at[SIDES], *any, *side;
};

/* ---- sets */

/* Looks for the first and the last instance that reads the version of `of`. */
typedef struct ReaderSearch {
  const Flow *f;
  const KeptRows *of;
  SeamRows *rows;
  int32_t i;
} ReaderSearch;

/* Notes an access (a stencil_accesses callback). */
static void note_reader(void *user, const Piece *piece, int field, const int64_t *off) {
  ReaderSearch *s = user;
  Version v = launch_reads(s->f->l, field, s->i);
  (void)piece, (void)off;
  if (v.field != s->of->of || v.version != s->of->version)
    return;
  s->rows->first = s->rows->first < 0 ? s->i : s->rows->first;
  s->rows->last = s->i;
}

/* Bytes of one line of all lanes, of the version of `of`. */
static int64_t line_bytes(const Flow *f, const KeptRows *of) {
  return (int64_t)f->lanes * f->V * type_size(f->l->m->fields[of->of].type);
}

/* Adds version `r` to its set, number `n`. */
static void add_to_set(Flow *f, Seams *s, SeamRows *r, int n) {
  const KeptRows *of = &f->kept[r->kept];
  const KeptVersion *w = &f->st->kept[of->of][of->version];
  SeamSet *set = &s->set[n];
  bool none = !set->bytes[BEFORE] && !set->bytes[BEHIND];
  r->set = n;
  set->first = none || r->first < set->first ? r->first : set->first;
  set->last = none || r->last > set->last ? r->last : set->last;
  set->bytes[BEFORE] += w->reach_lo * line_bytes(f, of);
  set->bytes[BEHIND] += w->reach_hi * line_bytes(f, of);
}

/* Makes sets of instances of equal numbers, without empty ones. */
static void make_sets(Flow *f, Seams *s) {
  int n = f->l->n < SETS ? f->l->n : SETS;
  bool any[SETS] = {false};
  for (int i = 0; i < s->nrows; i++)
    any[s->rows[i].first * n / f->l->n] = true;
  for (int g = 0; g < n; g++) {
    for (int i = 0; i < s->nrows && any[g]; i++)
      if (s->rows[i].first * n / f->l->n == g)
        add_to_set(f, s, &s->rows[i], s->nsets);
    s->nsets += any[g];
  }
}

/* If no lines of a set arrive from a side, a word for each lane does. */
static void add_words(Flow *f, Seams *s) {
  for (int g = 0; g < s->nsets; g++)
    for (int side = 0; side < SIDES; side++) {
      s->set[g].words[side] = !s->set[g].bytes[side];
      s->set[g].bytes[side] += s->set[g].words[side] ? (int64_t)f->lanes * type_size(TY_I32) : 0;
    }
}

/* ---- signals */

/* The indices of the signal of `side` (a value), set g and parity `parity`. */
static void signal_place(Builder *b, Value *side, int g, Value *parity, Value **at) {
  at[0] = build2(b, OP_ADD, build2(b, OP_MUL, side, build_int(b, TY_I32, SETS)), build_int(b, TY_I32, g));
  at[1] = parity;
}

/* of[BEFORE] or of[BEHIND], by the side of the warp. */
static Value *by_side(Builder *b, const Seams *s, const int64_t *of) {
  return of[0] == of[1] ? build_int(b, TY_I32, of[0])
                        : build3(b, OP_SELECT, s->at[BEFORE], build_int(b, TY_I32, of[0]), build_int(b, TY_I32, of[1]));
}

/* Initializes all signals, and announces the bytes that arrive in phase 1; one thread does this. */
static void start_signals(Flow *f, Seams *s) {
  Builder *b = &f->b;
  Value *zero = build_int(b, TY_I32, 0), *one = build_int(b, TY_I32, 1), *at[2];
  Value *first = build2(b, OP_AND, build2(b, OP_EQ, f->lane, zero), build2(b, OP_EQ, f->warp, zero));
  Value *is[SIDES] = {build2(b, OP_GT, f->rank_of_block, zero),
                      build2(b, OP_LT, f->rank_of_block, build_int(b, TY_I32, f->k->cluster - 1))};
  Builder in = build_then(b, first);
  for (int side = 0; side < SIDES; side++) {
    Builder there = build_then(&in, is[side]);
    for (int g = 0; g < s->nsets; g++) {
      signal_place(&there, build_int(&there, TY_I32, side), g, zero, at);
      build_signal(&there, OP_SIGNAL_INIT, s->signals, one, 2, at, NULL);
      build_signal(&there, OP_SIGNAL_ARRIVE, s->signals, NULL, 2, at, NULL);
      at[1] = one;
      build_signal(&there, OP_SIGNAL_INIT, s->signals, one, 2, at, NULL);
      build_signal(&there, OP_SIGNAL_EXPECT, s->signals, build_int(&there, TY_I32, s->set[g].bytes[side]), 2, at, NULL);
    }
  }
  build_bare(b, OP_BARRIER_CLUSTER);
}

/* The signal's parity for phase t + `later` of the running step t, and that phase's own parity. */
static void phase_of(Flow *f, Builder *b, int later, Value **parity, Value **phase) {
  Value *one = build_int(b, TY_I32, 1), *n = build_int(b, TY_I32, f->u + later);
  n = f->t ? build2(b, OP_ADD, f->t, n) : n;
  *parity = build2(b, OP_BIT_AND, n, one);
  *phase = build2(b, OP_BIT_AND, build2(b, OP_SHR, n, one), one);
}

/* Waits for set g of the running step; with `more`, announces the bytes that arrive two phases later. */
static void wait_for_set(Flow *f, int g, bool more) {
  Seams *s = f->seams;
  Value *parity, *phase, *at[2];
  Builder in = build_then(&f->b, s->any);
  phase_of(f, &in, 0, &parity, &phase);
  signal_place(&in, s->side, g, parity, at);
  build_signal(&in, OP_SIGNAL_WAIT, s->signals, phase, 2, at, NULL);
  if (!more)
    return;
  Builder one = build_then(&in, build_elect(&in));
  build_signal(&one, OP_SIGNAL_EXPECT, s->signals, by_side(&one, s, s->set[g].bytes), 2, at, NULL);
}

/* ---- lines */

/* Stores the newest lines of version `r` that the block on `side` reads. In the block before they lie after its last
 * warp's own lines, in the block after this one before its first warp's. at: the signal of the store. */
static void send_lines(Flow *f, Builder *b, const SeamRows *r, int side, Value **at) {
  const KeptRows *of = &f->kept[r->kept];
  const KeptVersion *w = &f->st->kept[of->of][of->version];
  bool up = side == BEFORE;
  int width = vector_cells(f->l->m->fields[of->of].type, f->V), places = f->k->arrays[of->array].shape[0],
      n = up ? w->reach_hi : w->reach_lo, from = up ? 0 : f->E - n, to = up ? f->E : -n;
  Value *cell[MAX_RANK] = {build_int(b, TY_I32, f->u % places),
                           build_int(b, TY_I32, up ? (f->warps - 1) * stream_shared_lines(w, f->E) : 0),
                           build2(b, OP_MUL, f->lane, build_int(b, TY_I32, f->V))};
  for (int j = 0; j < n; j++)
    for (int x = 0; x < f->V; x += width) {
      int64_t off[MAX_RANK] = {0, shared_line(w->reach_lo, w->reach_hi, f->E, to + j) + w->reach_lo, x};
      CellLine line = {.of = of->of, .version = of->version, .line = from + j};
      build_send(b, of->version, width, cells_line(f->cells, line) + x, (BulkPlace){of->array, 3, cell, off},
                 up ? -1 : 1, (BulkPlace){f->seams->signals, 2, at, NULL});
    }
}

/* Stores one cell a lane to the block on `side`, which reads no lines of set g from here: it says that the lines that
 * arrived from there were read. */
static void send_word(Flow *f, Builder *b, int side, int g, Value **at) {
  Value *zero = build_int(b, TY_I32, 0), *cell[2] = {build_int(b, TY_I32, g), f->lane};
  build_send(b, 0, 1, &zero, (BulkPlace){f->seams->words, 2, cell, NULL}, side == BEFORE ? -1 : 1,
             (BulkPlace){f->seams->signals, 2, at, NULL});
}

/* Stores set g across the seams in the running step. Stores from the block on one side complete this block's signal of
 * that side; stores to that block complete its signal of the opposite side. */
static void send_set(Flow *f, int g) {
  Seams *s = f->seams;
  Value *parity, *phase, *at[2];
  for (int side = 0; side < SIDES; side++) {
    Builder in = build_then(&f->b, s->at[side]);
    phase_of(f, &in, 1, &parity, &phase);
    signal_place(&in, build_int(&in, TY_I32, 1 - side), g, parity, at);
    for (int i = 0; i < s->nrows; i++)
      if (s->rows[i].set == g)
        send_lines(f, &in, &s->rows[i], side, at);
    if (s->set[g].words[1 - side])
      send_word(f, &in, side, g, at);
  }
}

/* ---- called by the kernel */

void flow_make_seams(Flow *f) {
  Arena *a = f->lo->out->arena;
  if (!f->k->cluster)
    return;
  Seams *s = f->seams = ARENA_NEW(a, Seams);
  for (int k = 0; k < f->nkept; k++) {
    SeamRows r = {.kept = k, .first = -1};
    ReaderSearch search = {.f = f, .of = &f->kept[k], .rows = &r};
    for (search.i = 0; search.i < f->l->n && f->kept[k].shared; search.i++)
      stencil_accesses(&f->l->st[search.i], note_reader, &search);
    if (f->kept[k].shared && r.first >= 0)
      ARENA_PUSH(a, s->rows, s->nrows, r);
  }
  make_sets(f, s);
  add_words(f, s);
  const int32_t shape[MAX_RANK] = {SIDES * SETS, 2}, none[MAX_RANK] = {0};
  s->signals = kernel_array_of(f->lo, f->k, 2, "seam", TY_I64, SPACE_SHARED, shape, none, none);
  const int32_t words[MAX_RANK] = {SETS, f->lanes};
  s->words = kernel_array_of(f->lo, f->k, 2, "seen", TY_I32, SPACE_SHARED, words, none, none);
}

void flow_start_seams(Flow *f) {
  Seams *s = f->seams;
  Builder *b = &f->b;
  if (!s)
    return;
  Value *warp = build1(b, OP_UNIFORM, f->warp), *zero = build_int(b, TY_I32, 0);
  s->at[BEFORE] = build2(b, OP_AND, build2(b, OP_EQ, warp, zero), build2(b, OP_GT, f->rank_of_block, zero));
  s->at[BEHIND] = build2(b, OP_AND, build2(b, OP_EQ, warp, build_int(b, TY_I32, f->warps - 1)),
                         build2(b, OP_LT, f->rank_of_block, build_int(b, TY_I32, f->k->cluster - 1)));
  s->any = build2(b, OP_OR, s->at[BEFORE], s->at[BEHIND]);
  s->side = build3(b, OP_SELECT, s->at[BEFORE], build_int(b, TY_I32, BEFORE), build_int(b, TY_I32, BEHIND));
  start_signals(f, s);
}

void flow_receive(Flow *f, int i) {
  for (int g = 0; f->seams && g < f->seams->nsets; g++)
    if (f->seams->set[g].first == i)
      wait_for_set(f, g, true);
}

void flow_send(Flow *f, int i) {
  for (int g = 0; f->seams && g < f->seams->nsets; g++)
    if (f->seams->set[g].last == i)
      send_set(f, g);
}

void flow_end_seams(Flow *f) {
  if (!f->seams)
    return;
  f->u = f->steps;
  for (int g = 0; g < f->seams->nsets; g++)
    wait_for_set(f, g, false);
  f->u = 0;
  build_bare(&f->b, OP_BARRIER_CLUSTER);
}
