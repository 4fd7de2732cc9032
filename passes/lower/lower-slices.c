/* lower-slices.c: turns the kernels of one slice (passes/launch/slices.h) into kernels for all slices. The kernels get
 * a new dimension 0 with one block for each slice; the slice's number is the coordinate in dimension 0 of all reads and
 * writes of the block. */
#include "passes/lower/lower.h"

#include <string.h>

/* The state of the change. out: the module in the making, which still declares the slice; whole: the whole program,
 * with the fields `fields`. number: the number of the block's slice; zero: an i64. */
typedef struct Slices {
  const Module *whole;
  Module *out;
  Field *fields;
  Value *number, *zero;
} Slices;

/* Inserts `first` at the front of a list with one entry for each dimension. */
#define PUT_FIRST(list, first) \
  do { \
    memmove(&(list)[1], &(list)[0], (MAX_RANK - 1) * sizeof *(list)); \
    (list)[0] = (first); \
  } while (0)

/* Inserts operand `v` before operand number `at` of `op`. */
static void put_operand(Arena *a, Op *op, int at, Value *v) {
  Value **operands = ARENA_ARRAY(a, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    operands[i + (i >= at)] = op->operands[i];
  operands[at] = v;
  op->operands = operands;
  op->noperands++;
}

/* Inserts the slice's coordinate into the indices of `op`, which begin at operand `at`, if `buffer` belongs to a
 * field. */
static void place(const Slices *s, Op *op, int buffer, int at, int64_t *off) {
  const Buffer *b = &s->out->buffers[buffer];
  if (b->kind != BUFFER_FIELD)
    return;
  PUT_FIRST(off, 0);
  put_operand(s->out->arena, op, at, field_lacks(&s->fields[b->field], 0) ? s->zero : s->number);
}

/* Adds dimension 0 of the whole grid to the box and the operands of an inside op. */
static void place_box(const Slices *s, Op *op) {
  Box *box = ARENA_NEW(s->out->arena, Box);
  *box = *op->box;
  PUT_FIRST(box->lo, s->whole->grid.lo[0]);
  PUT_FIRST(box->hi, s->whole->grid.hi[0]);
  box->rank++;
  op->box = box;
  put_operand(s->out->arena, op, 0, s->number);
}

static void place_op(const Slices *s, const Kernel *k, Op *op) {
  OpForm form = op_info[op->code].form;
  if (op->code == OP_BLOCK && op->sym == s->out->grid.rank)
    op->sym = 0;
  else if (op->code == OP_BLOCK || op->code == OP_THREAD)
    op->sym++;
  else if (op->code == OP_INSIDE && op->noperands == s->out->grid.rank)
    place_box(s, op);
  else if (form == FORM_GLOBAL)
    place(s, op, op->sym, op_first_index(op), op->off);
  else if (form == FORM_COPY || form == FORM_BULK)
    place(s, op, op->from, k->arrays[op->sym].rank, op->from_off);
  else if (form == FORM_FETCH)
    place(s, op, op->from, 0, op->from_off);
}

/* Changes all ops of `b` and of its nested blocks. */
static void place_block(const Slices *s, const Kernel *k, Block *b) {
  for (Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nblocks; i++)
      place_block(s, k, op->blocks[i]);
    place_op(s, k, op);
  }
}

/* Does kernel `k` store to fields that all slices share? */
static bool stores_shared(const Slices *s, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    int buffer = op_buffer_written(op);
    const Buffer *to = buffer >= 0 ? &s->out->buffers[buffer] : NULL;
    if (to && to->kind == BUFFER_FIELD && field_lacks(&s->fields[to->field], 0))
      return true;
    for (int i = 0; i < op->nblocks; i++)
      if (stores_shared(s, op->blocks[i]))
        return true;
  }
  return false;
}

/* Turns kernel `k` for one slice into a kernel for all slices. A kernel that computes fields shared by all slices runs
 * for one slice only. */
static void slice_kernel(Slices *s, Kernel *k) {
  Arena *a = s->out->arena;
  bool once = stores_shared(s, k->body);
  const Box *covers = launch_covers(s->whole);
  Affine all = once ? affine_const(1) : box_extent(a, covers, 0), first = covers->lo[0];
  PUT_FIRST(k->threads, 1);
  PUT_FIRST(k->tile, 1);
  PUT_FIRST(k->over, 0);
  PUT_FIRST(k->extent, all);
  PUT_FIRST(k->without, all);
  PUT_FIRST(k->idle_lo, affine_const(0));
  PUT_FIRST(k->idle_hi, affine_add_const(all, -1));
  k->rank++;
  k->tests = NULL;
  Block *body = k->body;
  Builder b = body->first ? builder_before(a, body->first) : builder_at_end(a, body);
  b.loc = k->loc;
  s->zero = build_int(&b, TY_I64, 0);
  Value *block = build_dim(&b, OP_BLOCK, s->out->grid.rank), *lo = build_affine(&b, s->whole, first);
  s->number = first.n || first.c ? build2(&b, OP_ADD, block, lo) : block;
  place_block(s, k, body);
}

/* The fields of the whole program, and after them those that later copies of the slice, or the lowering of the
 * program's updates (lower-rows.c), have added. */
static Field *whole_fields(const Slices *s) {
  const Module *out = s->out;
  Field *fields = ARENA_ARRAY(out->arena, Field, out->nfields + 1);
  for (int f = 0; f < out->nfields; f++) {
    fields[f] = f < s->whole->nfields ? s->whole->fields[f] : out->fields[f];
    if (f < s->whole->nfields || fields[f].box.rank == s->whole->grid.rank)
      continue;
    PUT_FIRST(fields[f].box.lo, s->whole->grid.lo[0]);
    PUT_FIRST(fields[f].box.hi, s->whole->grid.hi[0]);
    PUT_FIRST(fields[f].outside, OUTSIDE_NONE);
    fields[f].box.rank++;
  }
  return fields;
}

/* The fields of `m`, and after them those that the module in the making has in addition. */
static Field *fields_of(const Lowering *lo, const Module *m) {
  Field *fields = ARENA_ARRAY(lo->out->arena, Field, lo->out->nfields + 1);
  for (int f = 0; f < lo->out->nfields; f++)
    fields[f] = f < m->nfields ? m->fields[f] : lo->out->fields[f];
  return fields;
}

const Module *lower_whole(Lowering *lo) {
  const Module *slice = lo->m->slice_of ? lo->m : NULL;
  if (slice) {
    lo->m = slice->slice_of;
    lo->out->grid = lo->m->grid;
    lo->out->fields = fields_of(lo, lo->m);
  }
  return slice;
}

void lower_slice_again(Lowering *lo, const Module *slice) {
  if (!slice)
    return;
  lo->m = slice;
  lo->out->grid = slice->grid;
  lo->out->fields = fields_of(lo, slice);
}

void lower_slices(Lowering *lo) {
  Slices s = {.whole = lo->m->slice_of, .out = lo->out};
  if (!s.whole)
    return;
  s.fields = whole_fields(&s);
  for (int i = 0; i < s.out->nkernels; i++)
    if (s.out->kernels[i].rank < s.whole->grid.rank)
      slice_kernel(&s, &s.out->kernels[i]);
  Module *out = s.out;
  out->grid = s.whole->grid;
  out->fields = s.fields;
  for (int i = 0; i < s.whole->nchecks; i++)
    out->checks[i] = s.whole->checks[i];
  out->reductions = s.whole->reductions;
  out->probes = s.whole->probes;
  out->lists = s.whole->lists;
  out->part = s.whole->part;
  out->metric = s.whole->metric;
  out->plan = s.whole->plan;
  out->members = s.whole->members;
  out->slice_of = NULL;
  lo->m = s.whole;
}
