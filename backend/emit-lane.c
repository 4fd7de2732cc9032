/* backend/emit-lane.c: addresses as a base that is the same for all threads of a wave and an offset of 32 bits that
 * each thread has of its own, for targets whose loads and stores take both.
 *
 *   address = (uniform base, in scalar registers) + (32-bit offset of the thread)
 *
 * Kernels compute a coordinate as the sum of a part of the block and the extension of a part of the thread, whose range
 * is known. If the sum is mapped into a field, at edges, the block's part is mapped, too: clamp(b + t) is clamp(b) plus
 * an amount of the thread, which is neither negative nor more than t. In the last dimension this alone shows that the
 * bytes fit.
 *
 * In the dimension before the last, of planes, the threads of a wave that is several lines are in adjacent rows, and
 * each has rows of its own beside its row. Their distance is known at launch only: a check of the module (pass
 * lower-stream) has to say how long rows are at most. Then those rows are part of the offset, too, and a plane takes
 * one base.
 *
 * Where threads have few registers, offsets are not kept: each is computed where it is used, from the thread's own
 * number, which all offsets share. */
#include "backend/emit.h"

enum { KEY_LANE = 4000, KEY_ROW, KEY_FIRST, KEY_BASE, KEY_REST, KEY_BOUND, KEY_KEPT };
/* How many levels of sums are followed; the greatest number that a thread adds to a coordinate; the greatest number of
 * lines; with so many accesses of a loop, or more, their pointers are too many. */
enum { DEEPEST = 8, MOST_ADDED = INT32_MAX / 2, MOST_LINES = 1 << 16, MANY_ACCESSES = 32 };

bool emit_lines_are_waves(const Emit *e) {
  int32_t lanes = e->target->info.lanes;
  return e->target->keep_offset && lanes > 0 && e->k->threads[e->k->rank - 1] % lanes == 0;
}

/* The two answers of emit_is_threads in its map. */
static char same_for_all, differs;

/* May `v` differ between threads of a wave? The index of a loop may if the loop's start may, a computed value if one of
 * its operands may. */
static bool find_threads(Emit *e, const Value *v) {
  const Op *def = v->def;
  if (!def) {
    const Op *loop = v->block ? v->block->parent : NULL;
    return !loop || loop->code != OP_FOR || v->index > 0 || emit_is_threads(e, loop->operands[0]);
  }
  if (def->code == OP_THREAD)
    return def->sym == e->k->rank - 1 || !emit_lines_are_waves(e);
  if (def->nblocks || !(op_info[def->code].flags & OPF_PURE))
    return true;
  for (int i = 0; i < def->noperands; i++)
    if (emit_is_threads(e, def->operands[i]))
      return true;
  return false;
}

bool emit_is_threads(Emit *e, const Value *v) {
  const char *known = ptrmap_get(&e->threads, v);
  if (!known) {
    known = find_threads(e, v) ? &differs : &same_for_all;
    ptrmap_put(e->arena, &e->threads, v, (void *)known);
  }
  return known == &differs;
}

/* The number of lines of threads along the last dimension in a wave, if a wave is several whole lines that are
 * consecutive in the dimension before; else 1. */
static int lines_of_wave(const Emit *e) {
  int32_t lanes = e->target->info.lanes, line = e->k->threads[e->k->rank - 1], threads = 1;
  for (int d = 0; d < e->k->rank - 2; d++)
    threads *= e->k->threads[d];
  return e->k->rank > 1 && threads == 1 && line > 0 && line < lanes && lanes % line == 0 ? lanes / line : 1;
}

/* A coordinate as uniform + lane + c: an i64 that is the same for all threads of a wave, an i32 from 0 to `most` of
 * each thread's own (NULL: none), and a constant. `grouped`: rows of planes near it have the same uniform part. If the
 * coordinate was mapped into a field, `lane` is `own` less `below`, clamped to 0..`last`, all i32, the last two the
 * same for all threads; else `own` is NULL. */
typedef struct LaneSum {
  LLVMValueRef uniform, lane;
  int64_t c, most;
  bool grouped;
  LLVMValueRef own, below, last;
} LaneSum;

/* The place where values can be computed that depend on those of the `n` coordinates that differ between threads:
 * before the outermost loop outside of which all of these are defined. */
static Place *home_of(Emit *e, int n, Value *const *coords) {
  Place *p = &e->here;
  for (EmitLoop *w = e->inner; w; w = w->about) {
    for (int d = 0; d < n; d++)
      if (emit_is_threads(e, coords[d]) && !emit_is_outside(coords[d], w->loop))
        return p;
    p = &w->start;
  }
  return p;
}

/* Is `v` coef times the number of the thread along the dimension before the last, *line, plus c? Both are small. */
static bool is_line(const Emit *e, const Value *v, int depth, const Value **line, int64_t *coef, int64_t *c) {
  const Op *def = v->def;
  int64_t x, y, by;
  *coef = *c = 0;
  if (!def || depth == 0 || v->type != TY_I32)
    return false;
  if (def->code == OP_THREAD) {
    *line = v;
    *coef = 1;
    return def->sym == e->k->rank - 2;
  }
  if (def->code == OP_CONST) {
    *c = def->cval.i;
    return *c >= -MOST_LINES && *c <= MOST_LINES;
  }
  if (def->code != OP_ADD && def->code != OP_MUL)
    return false;
  if (!is_line(e, def->operands[0], depth - 1, line, coef, c) || !is_line(e, def->operands[1], depth - 1, line, &x, &y))
    return false;
  if (def->code == OP_MUL && x && *coef)
    return false;
  by = x ? *c : y;
  *coef = def->code == OP_ADD ? *coef + x : (*coef + x) * by;
  *c = def->code == OP_ADD ? *c + y : *c * y;
  return *coef >= 0 && *coef <= MOST_LINES && *c >= -MOST_LINES && *c <= MOST_LINES;
}

/* Splits the i32 `v`, if it depends on the number of a thread's line: into that of the wave's first line, and the
 * number of the wave's lines before the thread's. */
static bool part_line(Emit *e, const Value *v, LaneSum *s) {
  const Value *line = NULL;
  int64_t coef;
  int lines = lines_of_wave(e);
  Place *p = &e->entry;
  if (lines < 2 || !is_line(e, v, DEEPEST, &line, &coef, &s->c) || !coef)
    return false;
  LLVMValueRef own = emit_value(e, line);
  ValueKey k = {KEY_FIRST, (uintptr_t)own, 0, 0};
  LLVMValueRef first = value_get(&p->seen, k), by = LLVMConstInt(e->i32, (uint64_t)coef, 0);
  if (!first) {
    first = e->target->first_lane(e, p->b, own);
    emit_set_range(e, first, 0, emit_range(e, own).hi);
    value_put(e->arena, &p->seen, k, first);
  }
  LLVMValueRef before = emit_int(e, p, LLVMSub, own, first);
  emit_set_range(e, before, 0, lines - 1);
  s->uniform = emit_int_cast(e, p, emit_int(e, p, LLVMMul, first, by), e->i64);
  s->lane = emit_int(e, p, LLVMMul, before, by);
  s->most = coef * (lines - 1);
  return true;
}

/* Splits the i32 `v`, whose range is known. */
static bool part_small(Emit *e, const Value *v, LaneSum *s) {
  LLVMValueRef whole = emit_value(e, v);
  BaseOffset l = emit_linear(e, whole);
  if (!l.exact || emit_range(e, l.base).lo < 0)
    l = (BaseOffset){whole, 0, true};
  Range r = emit_range(e, l.base);
  *s = (LaneSum){.uniform = emit_i64(e, 0), .lane = l.base, .c = l.c, .most = r.hi};
  return r.lo >= 0 && r.hi <= MOST_ADDED && !LLVMIsAConstant(l.base);
}

/* The greatest number not above `c` that is a multiple of LANE_ROWS less half of LANE_ROWS. */
static int64_t group_of(int64_t c) {
  int64_t up = c + LANE_ROWS / 2, by = up % LANE_ROWS;
  return c - (by < 0 ? by + LANE_ROWS : by);
}

static bool part(Emit *e, Place *p, const Value *v, bool row, LaneSum *s);

/* x - start, clamped to 0..most, as an i32, all the same for all threads; at `p`. */
static LLVMValueRef bound_of(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef start, int64_t most) {
  ValueKey k = {KEY_BOUND, (uintptr_t)x, (uintptr_t)start, (uintptr_t)most};
  LLVMValueRef v = value_get(&p->seen, k);
  if (!v) {
    v = emit_cut(e, p, emit_int(e, p, LLVMSub, x, start), 0, most);
    v = e->target->first_lane(e, p->b, LLVMBuildTrunc(p->b, v, e->i32, ""));
    value_put(e->arena, &p->seen, k, v);
  }
  return v;
}

/* Splits the result of clamp or guard `op`. With uniform part u of its operand, and bounds lo and hi, the uniform part
 * of the result is U: u clamped to the bounds. If u is below lo, the first lo - u threads stay at U, else none does; if
 * u is above hi, all do; and no thread goes farther than hi - U (0 where there is no field). Rows of a group (`row`)
 * have one uniform part. */
static bool part_brought(Emit *e, Place *p, const Op *op, bool row, LaneSum *s) {
  const Value *v = op->results[0];
  LaneSum x;
  if (v->type != TY_I64 || !part(e, p, op->operands[0], false, &x) || !(x.lane || row))
    return false;
  int64_t c = x.c + op->off[0], first = row ? group_of(c) : c;
  LLVMValueRef lo = emit_affine(e, op->box->lo[0]), hi = emit_map_last(e, op),
               from = emit_int(e, p, LLVMAdd, x.uniform, emit_i64(e, first));
  s->uniform = emit_brought(e, p, from, lo, hi);
  ValueKey k = {KEY_REST, (uintptr_t)v, (uintptr_t)s->uniform, 0};
  s->lane = value_get(&p->seen, k);
  s->c = 0;
  s->most = x.most + c - first;
  s->grouped = row;
  if (x.lane && !x.own && !row && e->target->makes_anew) {
    s->own = x.lane;
    s->below = bound_of(e, p, s->uniform, from, s->most);
    s->last = bound_of(e, p, hi, s->uniform, s->most);
  }
  if (!s->lane) {
    s->lane = LLVMBuildTrunc(p->b, LLVMBuildSub(p->b, emit_value(e, v), s->uniform, ""), e->i32, "");
    emit_set_range(e, s->lane, 0, s->most);
    value_put(e->arena, &p->seen, k, s->lane);
  }
  return true;
}

/* Splits coordinate `v`, at `p`; false if it cannot be split. `row`: it is the coordinate of a row of a plane. */
static bool part(Emit *e, Place *p, const Value *v, bool row, LaneSum *s) {
  const Op *def = v->def;
  *s = (LaneSum){0};
  if (v->type != TY_I64)
    return false;
  bool brought = def && (def->code == OP_CLAMP || def->code == OP_GUARD);
  if (brought && row && part_brought(e, p, def, true, s))
    return true;
  if (!emit_is_threads(e, v)) {
    BaseOffset l = emit_linear(e, emit_value(e, v));
    *s = (LaneSum){.uniform = l.base, .c = l.c};
    return true;
  }
  if (def && def->code == OP_CONVERT && def->operands[0]->type == TY_I32)
    return part_line(e, def->operands[0], s) || part_small(e, def->operands[0], s);
  if (brought)
    return part_brought(e, p, def, false, s);
  if (!def || def->code != OP_ADD)
    return false;
  LaneSum x;
  if (!part(e, p, def->operands[0], false, s) || !part(e, p, def->operands[1], false, &x) || (s->lane && x.lane))
    return false;
  s->uniform = emit_int(e, p, LLVMAdd, s->uniform, x.uniform);
  if (!s->lane) {
    s->lane = x.lane;
    s->own = x.own;
    s->below = x.below;
    s->last = x.last;
  }
  s->c += x.c;
  s->most += x.most;
  return true;
}

/* The greatest number of points of field `f` in dimension `d` by the module's checks; -1 if they do not say. */
static int64_t most_points(const Emit *e, const Field *f, int d) {
  Affine extent = box_extent(e->arena, &f->box, d);
  for (int i = 0; i < e->m->nchecks; i++) {
    const Check *c = &e->m->checks[i];
    Affine sum = c->covered || c->unless_empty[0] ? extent : affine_add(e->arena, c->value, extent);
    if (!sum.n)
      return sum.c > 1 ? sum.c : 1;
  }
  return extent.n ? -1 : extent.c > 1 ? extent.c : 1;
}

/* The bytes between adjacent rows of `buffer`, as an i32; at most *most. NULL if that is not known. */
static LLVMValueRef row_bytes(Emit *e, int buffer, int64_t *most) {
  const Field *f = &e->m->fields[e->m->buffers[buffer].field];
  int rank = f->box.rank, size = type_size(f->type);
  int64_t points = most_points(e, f, rank - 1);
  if (points < 0 || points > INT32_MAX / size)
    return NULL;
  *most = points * size;
  LLVMValueRef row = emit_int_cast(e, &e->entry, e->buffers[buffer].stride[rank - 2], e->i32);
  return emit_int(e, &e->entry, LLVMMul, row, LLVMConstInt(e->i32, (unsigned)size, 0));
}

/* The bytes of the rows of a plane that are part of an offset; at most *most. *c, the constant of the row's coordinate,
 * becomes that of its group. NULL if the bytes are not known to fit beside `others`. */
static LLVMValueRef rows_of(Emit *e, Place *p, int buffer, const LaneSum *s, int64_t *c, int64_t others) {
  int64_t first = s->grouped ? *c : group_of(*c), by = *c - first, most;
  LLVMValueRef row = row_bytes(e, buffer, &most), rows = s->lane;
  if (!row || (s->most + by) * most + others > INT32_MAX)
    return NULL;
  rows = rows ? emit_int(e, p, LLVMAdd, rows, LLVMConstInt(e->i32, (uint64_t)by, 0))
              : LLVMConstInt(e->i32, (uint64_t)by, 0);
  *c = first;
  return emit_int(e, p, LLVMMul, rows, row);
}

/* The bytes that the thread adds to an address, as sums at the place where they can be computed: those along the last
 * dimension, and those of the rows of a plane; NULL: none. */
typedef struct LaneBytes {
  LLVMValueRef line, rows;
} LaneBytes;

/* Finds them for an access to `buffer`; `s` has the parts of its coordinates, `c` their constants. False if they may be
 * too many. */
static bool bytes_of(Emit *e, Place *p, int buffer, const LaneSum *s, int64_t *c, LaneBytes *bytes) {
  int last = buffer_rank(e->m, buffer) - 1, size = type_size(buffer_type(e->m, buffer));
  *bytes = (LaneBytes){0};
  for (int d = 0; d < last - (last > 1); d++)
    if (s[d].lane)
      return false;
  if (s[last].lane && s[last].most > INT32_MAX / size)
    return false;
  if (s[last].lane)
    bytes->line = emit_int(e, p, LLVMMul, s[last].lane, LLVMConstInt(e->i32, (unsigned)size, 0));
  if (last > 1)
    bytes->rows = rows_of(e, p, buffer, &s[last - 1], &c[last - 1], s[last].most * size);
  return last < 2 || bytes->rows || !s[last - 1].lane;
}

/* `x` in the present block, of which LLVM knows nothing (keep_offset). */
static LLVMValueRef keep(Emit *e, LLVMValueRef x) {
  ValueKey k = {KEY_KEPT, (uintptr_t)x, (uintptr_t)LLVMGetInsertBlock(e->here.b), 0};
  LLVMValueRef v = value_get(&e->here.seen, k);
  if (!v) {
    v = e->target->keep_offset(e, x);
    value_put(e->arena, &e->here.seen, k, v);
  }
  return v;
}

/* The bytes along the last dimension in the present block, computed again from the thread's own number. `s` is that
 * coordinate, an element has `size` bytes. */
static LLVMValueRef line_anew(Emit *e, Place *p, const LaneSum *s, int size) {
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef by = LLVMConstInt(e->i32, (unsigned)size, 0), none = LLVMConstInt(e->i32, 0, 0);
  LLVMValueRef x = keep(e, emit_int(e, p, LLVMMul, s->own ? s->own : s->lane, by));
  if (!s->own)
    return x;
  x = LLVMBuildSub(b, x, emit_int(e, p, LLVMMul, s->below, by), "");
  x = emit_intrinsic(e, b, "llvm.smin", 1, &e->i32, 2, (LLVMValueRef[]){x, emit_int(e, p, LLVMMul, s->last, by)});
  return emit_intrinsic(e, b, "llvm.smax", 1, &e->i32, 2, (LLVMValueRef[]){x, none});
}

bool emit_part_lane(Emit *e, int buffer, Value *const *coords, const int64_t *off, LaneAddress *out) {
  int rank = buffer_rank(e->m, buffer), size = type_size(buffer_type(e->m, buffer));
  LaneSum s[MAX_RANK];
  LaneBytes bytes;
  if (!e->target->keep_offset)
    return false;
  Place *p = home_of(e, rank, coords);
  for (int d = 0; d < rank; d++) {
    if (!part(e, p, coords[d], d == 1 && rank > 2, &s[d]))
      return false;
    out->uniform[d] = s[d].uniform;
    out->c[d] = s[d].c + off[d];
  }
  if (!bytes_of(e, p, buffer, s, out->c, &bytes))
    return false;
  LLVMValueRef whole = bytes.line && bytes.rows ? emit_int(e, p, LLVMAdd, bytes.line, bytes.rows)
                       : bytes.line             ? bytes.line
                                                : bytes.rows;
  if (!whole || LLVMIsAConstant(whole))
    return false;
  ValueKey k = {KEY_LANE, (uintptr_t)whole, (uintptr_t)LLVMGetInsertBlock(e->here.b), 0};
  out->bytes = value_get(&e->here.seen, k);
  if (!out->bytes) {
    bool anew = bytes.line && e->target->makes_anew && !(bytes.rows && emit_is_threads(e, coords[rank - 2]));
    LLVMValueRef x = anew ? line_anew(e, p, &s[rank - 1], size) : keep(e, whole);
    x = anew && bytes.rows ? LLVMBuildAdd(e->here.b, x, bytes.rows, "") : x;
    out->bytes = LLVMBuildZExt(e->here.b, x, e->i64, "");
    value_put(e->arena, &e->here.seen, k, out->bytes);
  }
  return true;
}

/* The demand for scalar registers in a loop: the number of tests of coordinates and of bases of accesses to global
 * memory; the last access. */
typedef struct Wants {
  const Emit *e;
  int n;
  const Op *last;
} Wants;

/* Do the accesses `x` and `y` have one base, as those to the rows of a plane do? */
static bool same_base(const Emit *e, const Op *x, const Op *y) {
  const Value *at = x->operands[op_first_index(x)], *to = y->operands[op_first_index(y)];
  return buffer_rank(e->m, x->sym) > 2 && x->sym == y->sym && at == to && x->off[0] == y->off[0];
}

/* Counts this demand (a block_walk callback). */
static void count_wants(void *user, Op *op) {
  Wants *w = user;
  bool access = op_buffer_read(op) >= 0 || op_buffer_written(op) >= 0;
  w->n += op->code == OP_INSIDE || (access && !(w->last && same_base(w->e, w->last, op)));
  w->last = access ? op : w->last;
}

/* Is this demand high in the innermost loop? */
static bool has_many(Emit *e) {
  EmitLoop *w = e->inner;
  Wants wants = {e, 0, NULL};
  if (w && w->accesses < 0) {
    block_walk(w->loop->blocks[0], count_wants, &wants);
    w->accesses = wants.n;
  }
  return w && w->accesses >= MANY_ACCESSES;
}

BaseOffset emit_lane_row(Emit *e, const Value *v, BaseOffset l) {
  if (!e->target->renew || !has_many(e) || emit_is_invariant(v, e->inner->loop, DEEPEST))
    return l;
  ValueKey k = {KEY_ROW, (uintptr_t)l.base, (uintptr_t)l.c, (uintptr_t)LLVMGetInsertBlock(e->here.b)};
  LLVMValueRef row = value_get(&e->here.seen, k);
  if (!row) {
    row = e->target->renew(e, emit_int(e, &e->here, LLVMAdd, l.base, emit_i64(e, l.c)), 0);
    value_put(e->arena, &e->here.seen, k, row);
  }
  return (BaseOffset){row, 0, true};
}
