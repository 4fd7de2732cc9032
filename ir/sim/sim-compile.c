/* sim-compile.c: translates a kernel to a flat list of instructions with jumps (simulate.h), on numbered slots, under
 * known params. */
#include "ir/sim/simulate.h"

/* The state of a translation. loops: slots of the induction variables around the current op. parallel: it is in a loop
 * whose iterations are checked. kinds: for each slot, what its preset depends on; 0: it is no preset. depth: the number
 * of ifs and loops around the op. */
typedef struct Compiler {
  Sim *s;
  SimKernel *k;
  int32_t nkinds, depth;
  uint8_t *kinds;
  int nloops;
  int32_t *loops;
  bool parallel;
} Compiler;

/* Appends an instruction and returns its number. */
static int emit(Compiler *c, int code, const Op *op, int dst, int x, int y, int z) {
  SimInsn insn = {.code = code, .dst = dst, .a = x, .b = y, .c = z, .op = op};
  ARENA_PUSH(c->s->arena, c->k->insns, c->k->ninsns, insn);
  return c->k->ninsns - 1;
}

/* A new slot. */
static int32_t new_slot(Compiler *c) {
  ARENA_PUSH(c->s->arena, c->kinds, c->nkinds, 0);
  return c->k->nslots++;
}

/* A new slot for the value `v`. */
static int32_t define(Compiler *c, Value *v) {
  v->id = c->k->nslots - 1;
  return new_slot(c);
}

/* A place in `sym` at the `n` coordinates `v` plus the offsets. */
static SimPlace *new_place(Compiler *c, int32_t sym, int n, Value *const *v, const int64_t *off) {
  SimPlace *p = ARENA_NEW(c->s->arena, SimPlace);
  p->sym = sym;
  for (int i = 0; i < n && p->rank < MAX_RANK; i++) {
    p->off[p->rank] = off[p->rank];
    p->idx[p->rank++] = sim_slot(v[i]);
  }
  return p;
}

/* The place that is `by` elements after `p`. */
static SimPlace *place_behind(Compiler *c, const SimPlace *p, int by) {
  SimPlace *q = ARENA_NEW(c->s->arena, SimPlace);
  *q = *p;
  q->off[p->rank - 1] += by;
  return q;
}

/* Sets the bounds of `p` to those of `b` under the params. */
static void place_bounds(Compiler *c, SimPlace *p, const Box *b) {
  for (int k = 0; k < p->rank; k++) {
    p->lo[k] = affine_eval(b->lo[k], c->s->b->scalars, NULL);
    p->hi[k] = affine_eval(b->hi[k], c->s->b->scalars, NULL);
  }
}

static void compile_block(Compiler *c, const Block *b);

/* A place in buffer `sym`, with the buffer's bounds and strides. */
static SimPlace *buffer_place(Compiler *c, int32_t sym, Value *const *v, const int64_t *off) {
  const Buffer *b = &c->s->m->buffers[sym];
  SimPlace *p = new_place(c, sym, buffer_rank(c->s->m, sym), v, off);
  int64_t shape[MAX_RANK], stride = 1;
  buffer_shape(c->s->m, sym, c->s->b->scalars, shape);
  if (b->kind == BUFFER_FIELD) {
    const Field *f = &c->s->m->fields[b->field];
    place_bounds(c, p, &f->box);
    p->padded = f->pitch > 0;
    p->last = p->hi[p->rank - 1];
    if (p->padded)
      p->hi[p->rank - 1] = p->lo[p->rank - 1] + shape[p->rank - 1] - 1;
  } else
    p->hi[0] = shape[0] - 1;
  for (int k = p->rank - 1; k >= 0; k--) {
    p->stride[k] = stride;
    stride *= shape[k];
  }
  return p;
}

/* A place in array `sym`, with the array's bounds and strides. */
static SimPlace *array_place(Compiler *c, int32_t sym, Value *const *v, const int64_t *off) {
  const SimArray *a = &c->k->arrays[sym];
  SimPlace *p = new_place(c, sym, a->array->rank, v, off);
  for (int k = 0; k < p->rank; k++) {
    p->hi[k] = a->array->shape[k] - 1;
    p->stride[k] = a->stride[k];
  }
  return p;
}

/* Emits the check that `op`, which moves at most 16 bytes, begins at a multiple of their number: at `p`, in a buffer
 * (SIM_ALIGN) or array (SIM_SALIGN) of type `t`. */
static void compile_align(Compiler *c, const Op *op, int code, SimPlace *p, Type t) {
  int bytes = op->count * type_size(t);
  p->align = (bytes < VECTOR_BYTES ? bytes : VECTOR_BYTES) / type_size(t);
  int at = emit(c, code, op, 0, 0, 0, 0);
  c->k->insns[at].place = p;
}

/* Emits an instruction `code`, a load or store, for each of the consecutive elements that `op` moves at `p`. */
static void compile_elements(Compiler *c, const Op *op, int code, const SimPlace *p) {
  bool stores = op_first_index(op) > 0;
  for (int i = 0; i < op_elements(op); i++) {
    int at = stores ? emit(c, code, op, 0, sim_slot(op->operands[i]), 0, 0)
                    : emit(c, code, op, define(c, op->results[i]), 0, 0, 0);
    c->k->insns[at].place = i ? place_behind(c, p, i) : p;
  }
}

/* Loads and stores of buffers. */
static void compile_global(Compiler *c, const Op *op) {
  bool stores = op_buffer_written(op) >= 0;
  SimPlace *p = buffer_place(c, op->sym, op->operands + op_first_index(op), op->off);
  c->k->writes[op->sym] = c->k->writes[op->sym] || stores;
  if (op->count)
    compile_align(c, op, SIM_ALIGN, p, buffer_type(c->s->m, op->sym));
  compile_elements(c, op, stores ? SIM_STORE : SIM_LOAD, p);
}

/* Loads and stores of arrays. */
static void compile_array(Compiler *c, const Op *op) {
  const Array *a = c->k->arrays[op->sym].array;
  bool stores = op_array_written(op) >= 0, shared = a->space == SPACE_SHARED;
  SimPlace *p = array_place(c, op->sym, op->operands + op_first_index(op), op->off);
  if (op->count)
    compile_align(c, op, SIM_SALIGN, p, a->type);
  compile_elements(c, op, stores ? shared ? SIM_SSTORE : SIM_PSTORE : shared ? SIM_SLOAD : SIM_PLOAD, p);
}

/* async.copy: each element is loaded at once, and is in flight from then on. */
static void compile_copy(Compiler *c, const Op *op) {
  const Array *a = c->k->arrays[op->sym].array;
  SimPlace *to = array_place(c, op->sym, op->operands, op->off),
           *from = buffer_place(c, op->from, op->operands + a->rank, op->from_off);
  compile_align(c, op, SIM_SALIGN, to, a->type);
  compile_align(c, op, SIM_ALIGN, from, a->type);
  for (int i = 0; i < op->count; i++) {
    int32_t value = new_slot(c);
    int at = emit(c, SIM_LOAD, op, value, 0, 0, 0);
    c->k->insns[at].place = place_behind(c, from, i);
    at = emit(c, SIM_COPY, op, 0, value, 0, 0);
    c->k->insns[at].place = place_behind(c, to, i);
  }
}

/* inside and idx.*. */
static void compile_coordinate(Compiler *c, const Op *op) {
  SimPlace *p = new_place(c, -1, op->noperands, op->operands, op->off);
  place_bounds(c, p, op->box);
  int a = op->noperands ? p->idx[0] : 0;
  int at = emit(c, op->code == OP_INSIDE ? SIM_INSIDE : SIM_MAP, op, define(c, op->results[0]), a, a, a);
  c->k->insns[at].place = p;
}

/* A barrier or a shuffle; its place records the loops around it. */
static void compile_meeting(Compiler *c, const Op *op) {
  SimPlace *p = ARENA_NEW(c->s->arena, SimPlace);
  p->nloops = c->nloops;
  p->loops = ARENA_ARRAY(c->s->arena, int32_t, c->nloops + 1);
  for (int i = 0; i < c->nloops; i++)
    p->loops[i] = c->loops[i];
  bool trades = op_info[op->code].form == FORM_LANE || op_meets_warp(op);
  int dst = op->nresults ? define(c, op->results[0]) : 0, a = op->noperands ? sim_slot(op->operands[0]) : 0;
  int at = emit(c, trades ? SIM_SHUFFLE : SIM_BARRIER, op, dst, a, 0, 0);
  c->k->insns[at].place = p;
  c->k->near |= op->code == OP_BARRIER_NEAR;
}

/* An op on a signal, and other ops without a place that act at once. */
static void compile_signal(Compiler *c, const Op *op) {
  bool placed = op_info[op->code].form == FORM_SIGNAL;
  int n = placed ? op_signal_values(op) : 0;
  int at = emit(c, op->code == OP_SIGNAL_WAIT ? SIM_AWAIT : SIM_SIGNAL, op, 0, n ? sim_slot(op->operands[0]) : 0, 0, 0);
  c->k->insns[at].place = placed ? array_place(c, op->sym, op->operands + n, op->off) : NULL;
  c->k->signals |= placed;
}

/* A bulk copy: SIM_BULK; jump end; the load of an element; its store; end. SIM_BULK runs load and store for each
 * element and advances their places; the place of the jump is the signal of a load. */
static void compile_bulk(Compiler *c, const Op *op) {
  static const int64_t none[MAX_RANK] = {0};
  bool loads = op->code == OP_BULK_LOAD;
  int count = op_bulk_count(c->s->m, c->k->kernel, op);
  const Array *a = c->k->arrays[op->sym].array;
  SimPlace *cells = array_place(c, op->sym, op->operands, op->off),
           *points = buffer_place(c, op->from, op->operands + a->rank, op->from_off);
  int32_t value = new_slot(c);
  int at = emit(c, SIM_SALIGN, op, 0, 0, 0, 0);
  c->k->insns[at].place = cells;
  at = emit(c, SIM_ALIGN, op, 0, 0, 0, 0);
  c->k->insns[at].place = points;
  cells->align = points->align = VECTOR_BYTES / type_size(a->type);
  emit(c, SIM_BULK, op, value, sim_slot(op->operands[count]), 0, 0);
  int jump = emit(c, SIM_JUMP, op, 0, 0, 0, 0);
  if (loads)
    c->k->insns[jump].place = array_place(c, op->signal, op->operands + count + 1, none);
  at = emit(c, loads ? SIM_LOAD : SIM_SLOAD, op, value, 0, 0, 0);
  c->k->insns[at].place = loads ? points : cells;
  at = emit(c, loads ? SIM_SSTORE : SIM_STORE, op, 0, value, 0, 0);
  c->k->insns[at].place = loads ? cells : points;
  c->k->insns[jump].target = c->k->ninsns;
  c->k->writes[op->from] = c->k->writes[op->from] || !loads;
  c->k->signals = true;
}

/* A store to another block: SIM_SEND; jump end, whose place is the signal; the store of each value; end. */
static void compile_send(Compiler *c, const Op *op) {
  static const int64_t none[MAX_RANK] = {0};
  const Array *a = c->k->arrays[op->sym].array;
  SimPlace *p = array_place(c, op->sym, op->operands + op->count, op->off);
  compile_align(c, op, SIM_SALIGN, p, a->type);
  emit(c, SIM_SEND, op, 0, 0, 0, 0);
  int jump = emit(c, SIM_JUMP, op, 0, 0, 0, 0);
  c->k->insns[jump].place = array_place(c, op->signal, op->operands + op->count + a->rank, none);
  compile_elements(c, op, SIM_SSTORE, p);
  c->k->insns[jump].target = c->k->ninsns;
}

/* A prefetch: its place must be a multiple of 16 bytes, and all of its elements must exist. */
static void compile_fetch(Compiler *c, const Op *op) {
  int rank = op->noperands - 1;
  SimPlace *points = buffer_place(c, op->from, op->operands, op->from_off);
  points->align = VECTOR_BYTES / type_size(buffer_type(c->s->m, op->from));
  int at = emit(c, SIM_ALIGN, op, 0, 0, 0, 0);
  c->k->insns[at].place = points;
  at = emit(c, SIM_FETCH, op, 0, sim_slot(op->operands[rank]), 0, 0);
  c->k->insns[at].place = points;
}

/* Moves the `n` values that `b` yields to the slots at `to`; they are stale if slot x or y is. If `swap`, reads all of
 * them before it writes any. */
static void move_yields(Compiler *c, const Block *b, int n, const int32_t *to, int x, int y, bool swap) {
  const Op *yield = block_yield(b);
  int32_t *from = ARENA_ARRAY(c->s->arena, int32_t, n + 1);
  for (int i = 0; i < n; i++) {
    from[i] = sim_slot(yield->operands[i]);
    if (!swap || n < 2)
      continue;
    int32_t tmp = new_slot(c);
    emit(c, SIM_MOVE, yield, tmp, from[i], 0, 0);
    from[i] = tmp;
  }
  for (int i = 0; i < n; i++)
    emit(c, SIM_MOVE, yield, to[i], from[i], x, y);
}

/* New slots for the results of `op`. */
static int32_t *define_results(Compiler *c, const Op *op) {
  int32_t *to = ARENA_ARRAY(c->s->arena, int32_t, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++)
    to[i] = define(c, op->results[i]);
  return to;
}

/* if: SIM_IF else; then; jump end; else: ...; end: SIM_LEAVE. */
static void compile_if(Compiler *c, const Op *op) {
  int cond = sim_slot(op->operands[0]);
  int32_t *to = define_results(c, op);
  int test = emit(c, SIM_IF, op, 0, cond, cond, cond);
  c->depth++;
  compile_block(c, op->blocks[0]);
  move_yields(c, op->blocks[0], op->nresults, to, cond, cond, false);
  int jump = emit(c, SIM_JUMP, op, 0, 0, 0, 0);
  c->k->insns[test].target = c->k->ninsns;
  compile_block(c, op->blocks[1]);
  c->depth--;
  move_yields(c, op->blocks[1], op->nresults, to, cond, cond, false);
  c->k->insns[jump].target = c->k->ninsns;
  emit(c, SIM_LEAVE, op, 0, cond, cond, cond);
}

/* The body of the loop `op`. If `watched`, the simulator distinguishes its iterations, so that a dependence between two
 * of them is a race. */
static void compile_body(Compiler *c, const Op *op, int32_t iv, bool watched) {
  int outer = c->nloops;
  ARENA_PUSH(c->s->arena, c->loops, c->nloops, iv);
  c->parallel = c->parallel || watched;
  if (watched)
    emit(c, SIM_ITERATION, op, 0, 0, 0, 0);
  c->depth++;
  compile_block(c, op->blocks[0]);
  c->depth--;
  c->parallel = c->parallel && !watched;
  c->nloops = outer;
}

/* for: SIM_ENTER; arguments set; head: SIM_FOR end; body; arguments moved; SIM_NEXT head; end: results set; SIM_LEAVE.
 */
static void compile_for(Compiler *c, const Op *op) {
  const Block *body = op->blocks[0];
  int lo = sim_slot(op->operands[0]), hi = sim_slot(op->operands[1]), n = op->nresults;
  int32_t *args = ARENA_ARRAY(c->s->arena, int32_t, n + 1);
  int32_t iv = define(c, body->args[0]);
  emit(c, SIM_ENTER, op, 0, lo, hi, 0);
  emit(c, SIM_MOVE, op, iv, lo, 0, 0);
  for (int i = 0; i < n; i++) {
    args[i] = define(c, body->args[i + 1]);
    emit(c, SIM_MOVE, op, args[i], sim_slot(op->operands[i + 2]), 0, 0);
  }
  bool watched = (op->flags & FOR_PARALLEL) && c->k->nthreads == 1 && !c->parallel;
  if (watched)
    emit(c, SIM_PARALLEL, op, 0, 0, 0, 0);
  int head = emit(c, SIM_FOR, op, 0, iv, hi, 0);
  compile_body(c, op, iv, watched);
  move_yields(c, body, n, args, 0, 0, true);
  int next = emit(c, SIM_NEXT, op, iv, iv, 0, 0);
  c->k->insns[next].target = head;
  c->k->insns[head].target = c->k->ninsns;
  if (watched)
    emit(c, SIM_PARALLEL, op, 0, 0, 0, 0);
  int32_t *to = define_results(c, op);
  for (int i = 0; i < n; i++)
    emit(c, SIM_MOVE, op, to[i], args[i], lo, hi);
  emit(c, SIM_LEAVE, op, 0, lo, hi, 0);
}

/* Adds preset `p`, which is the result of p.op. */
static void add_preset(Compiler *c, SimPreset p) {
  p.slot = define(c, p.op->results[0]);
  c->kinds[p.slot] = (uint8_t)p.kind;
  ARENA_PUSH(c->s->arena, c->k->presets, c->k->npresets, p);
}

/* What the result of the pure op `op` depends on, if it is to be a preset; else 0. It is one if its operands are
 * presets, unless all threads would compute it again for each block although they may not need it. */
static int pure_kind(const Compiler *c, const Op *op) {
  int kind = 0;
  for (int i = 0; i < op->noperands; i++) {
    int of = c->kinds[sim_slot(op->operands[i])];
    if (!of)
      return 0;
    kind |= of;
  }
  return c->depth > 0 && (kind & SIM_BY_BLOCK) && (kind & SIM_BY_THREAD) ? 0 : kind;
}

/* Any other pure op. */
static void compile_pure(Compiler *c, const Op *op) {
  int x = op->noperands > 0 ? sim_slot(op->operands[0]) : 0;
  int y = op->noperands > 1 ? sim_slot(op->operands[1]) : x, z = op->noperands > 2 ? sim_slot(op->operands[2]) : x;
  int kind = pure_kind(c, op), code = (int)exec_code(op);
  if (kind)
    add_preset(c, (SimPreset){.op = op, .kind = kind, .code = code, .a = x, .b = y, .c = z});
  else
    emit(c, code, op, define(c, op->results[0]), x, y, z);
}

/* What a preset depends on if an op without operands computes it. */
static int leaf_kind(Opcode code) {
  return SIM_PRESET | (code == OP_BLOCK                               ? SIM_BY_BLOCK
                       : code == OP_THREAD || code == OP_CLUSTER_RANK ? SIM_BY_THREAD
                       : code == OP_CONST                             ? 0
                                                                      : SIM_BY_LAUNCH);
}

/* Sorts the presets: first those that change from block to block, then those that may change from launch to launch;
 * otherwise the order stays, because presets depend on earlier ones. */
static void sort_presets(Compiler *c) {
  SimKernel *k = c->k;
  SimPreset *sorted = ARENA_ARRAY(c->s->arena, SimPreset, k->npresets + 1);
  int32_t n = 0;
  for (int rank = 0; rank < 3; rank++) {
    for (int32_t i = 0; i < k->npresets; i++) {
      int kind = k->presets[i].kind, mine = kind & SIM_BY_BLOCK ? 0 : kind & SIM_BY_LAUNCH ? 1 : 2;
      if (mine == rank)
        sorted[n++] = k->presets[i];
    }
    k->nblock_presets = rank == 0 ? n : k->nblock_presets;
    k->nlaunch_presets = rank == 1 ? n : k->nlaunch_presets;
  }
  k->presets = sorted;
}

/* One op. */
static void compile_op(Compiler *c, const Op *op) {
  switch (op->code) {
  case OP_CONST:
  case OP_SCALAR:
  case OP_STEP:
  case OP_THREAD:
  case OP_CLUSTER_RANK:
  case OP_BLOCK: add_preset(c, (SimPreset){.op = op, .kind = leaf_kind(op->code)}); break;
  case OP_LOAD:
  case OP_STORE:
  case OP_VLOAD:
  case OP_VSTORE: compile_global(c, op); break;
  case OP_ALOAD:
  case OP_ASTORE:
  case OP_AVLOAD:
  case OP_AVSTORE: compile_array(c, op); break;
  case OP_ASYNC_COPY: compile_copy(c, op); break;
  case OP_ASYNC_COMMIT: emit(c, SIM_COMMIT, op, 0, 0, 0, 0); break;
  case OP_ASYNC_WAIT: emit(c, SIM_WAIT, op, 0, 0, 0, 0); break;
  case OP_INSIDE:
  case COORDINATE_MAPS: compile_coordinate(c, op); break;
  case OP_BARRIER:
  case OP_BARRIER_NEAR:
  case OP_BARRIER_CLUSTER:
  case OP_SHUFFLE:
  case OP_SHUFFLE_UP:
  case OP_SHUFFLE_DOWN:
  case OP_BARRIER_WARP:
  case OP_ELECT:
  case OP_UNIFORM:
  case OP_REGISTERS_LESS:
  case OP_REGISTERS_MORE: compile_meeting(c, op); break;
  case OP_SIGNAL_INIT:
  case OP_SIGNAL_ARRIVE:
  case OP_SIGNAL_EXPECT:
  case OP_SIGNAL_WAIT:
  case OP_BULK_COMMIT:
  case OP_BULK_WAIT:
  case OP_FENCE_ASYNC: compile_signal(c, op); break;
  case OP_BULK_LOAD:
  case OP_BULK_STORE: compile_bulk(c, op); break;
  case OP_CLUSTER_STORE: compile_send(c, op); break;
  case OP_BULK_PREFETCH: compile_fetch(c, op); break;
  case OP_IF: compile_if(c, op); break;
  case OP_FOR: compile_for(c, op); break;
  case OP_YIELD: break;
  default: compile_pure(c, op); break;
  }
}

/* All ops of a block. */
static void compile_block(Compiler *c, const Block *b) {
  for (const Op *op = b->first; op; op = op->next)
    compile_op(c, op);
}

/* The number of cells of `a`. */
static int64_t array_cells(const Array *a) {
  int64_t n = 1;
  for (int k = 0; k < a->rank; k++)
    n *= a->shape[k];
  return n;
}

/* Assigns cells to each private array. Arrays that share storage begin at the same cell, and there is room for the
 * largest of them. */
static void place_private(SimKernel *k) {
  const Kernel *kernel = k->kernel;
  for (int i = 0; i < kernel->narrays; i++) {
    if (kernel->arrays[i].space != SPACE_PRIVATE || kernel_storage(kernel, i) != i)
      continue;
    int64_t room = 0;
    for (int j = 0; j < kernel->narrays; j++) {
      if (kernel_storage(kernel, j) != i)
        continue;
      k->arrays[j].base = k->private_cells;
      room = array_cells(&kernel->arrays[j]) > room ? array_cells(&kernel->arrays[j]) : room;
    }
    k->private_cells += room;
  }
}

/* Computes the layout of the kernel's arrays. */
static bool place_arrays(Sim *s, SimKernel *k) {
  const Kernel *kernel = k->kernel;
  k->arrays = ARENA_ARRAY(s->arena, SimArray, kernel->narrays + 1);
  k->shared_bytes = kernel_shared_bytes(kernel);
  k->granule = 8;
  for (int i = 0; i < kernel->narrays; i++) {
    const Array *a = &kernel->arrays[i];
    if (!exec_type(a->type)) {
      diag_error(s->d, kernel->loc, "the simulator has no values of type %s (array '%s')", type_name(a->type), a->name);
      return false;
    }
    k->arrays[i].array = a;
    int64_t stride = 1;
    for (int d = a->rank - 1; d >= 0; d--) {
      k->arrays[i].stride[d] = stride;
      stride *= a->shape[d];
    }
    if (a->space == SPACE_SHARED && type_size(a->type) < k->granule)
      k->granule = type_size(a->type);
    if (a->space == SPACE_SHARED)
      k->arrays[i].base = kernel_array_offset(kernel, i);
  }
  for (int i = 0; i < kernel->narrays; i++)
    k->arrays[i].granules = type_size(kernel->arrays[i].type) / k->granule;
  k->block_bytes = (k->shared_bytes + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
  k->shared_bytes = k->cluster > 1 ? k->block_bytes * k->cluster : k->shared_bytes;
  place_private(k);
  return true;
}

/* Computes the numbers of blocks and threads. */
static bool place_grid(Sim *s, SimKernel *k) {
  const Kernel *kernel = k->kernel;
  k->nthreads = 1;
  for (int d = 0; d < kernel->rank; d++)
    k->nthreads *= kernel->threads[d];
  k->cluster = kernel->cluster ? kernel->cluster : 1;
  k->block_threads = k->nthreads;
  k->nthreads *= k->cluster;
  k->signals = k->cluster > 1;
  k->warp = kernel_warp(kernel);
  k->lanes = kernel_lanes(kernel);
  k->lane_bits = k->warp == MOST_LANES ? 6 : 5;
  k->nwarps = (k->nthreads + k->warp - 1) / k->warp;
  k->nblocks = kernel_blocks(kernel, s->b->scalars, k->blocks);
  if (k->nblocks < (int64_t)SIM_MANY / k->nthreads)
    return true;
  diag_error(s->d, kernel->loc, "kernel '%s' has more than 2^32 threads: too many to simulate; take a smaller grid",
             kernel->name);
  return false;
}

/* Checks that there is memory for the threads, their values and the shared memory of a block. */
static bool check_size(Sim *s, const SimKernel *k) {
  const double thread = sizeof(SimThread) + 12.0 * k->nslots + (double)sizeof(SimCell) * (double)k->private_cells;
  const double granule = (double)sizeof(SimGranule) + (double)sizeof(SimRead) * sim_readers(k);
  const double bytes = thread * k->nthreads + granule * (double)k->shared_bytes + 8.0 * (double)k->nblocks;
  if (bytes < 8e9)
    return true;
  diag_error(
      s->d, k->kernel->loc,
      "kernel '%s' takes %.0f bytes to simulate, 8e9 at most: take fewer threads, smaller arrays or a smaller grid",
      k->kernel->name, bytes);
  return false;
}

bool sim_compile(Sim *s, const Kernel *kernel, SimKernel *out) {
  *out = (SimKernel){.kernel = kernel};
  out->writes = ARENA_ARRAY(s->arena, bool, s->m->nbuffers + 1);
  if (!place_grid(s, out) || !place_arrays(s, out))
    return false;
  Compiler c = {.s = s, .k = out};
  new_slot(&c);
  compile_block(&c, kernel->body);
  emit(&c, SIM_END, NULL, 0, 0, 0, 0);
  sort_presets(&c);
  return check_size(s, out);
}
