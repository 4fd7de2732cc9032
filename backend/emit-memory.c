/* backend/emit-memory.c: buffers in global memory, arrays in shared and private memory, and their addresses.
 *
 *   ((p0 - lo0) * e1 + (p1 - lo1)) * e2 + (p2 - lo2)     ->     origin + p0 * s0 + p1 * s1 + p2
 *
 * That is the place of point (p0, p1, p2) in a buffer over the box lo..hi with extents e; origin and strides are
 * computed once at the kernel's entry. Index operands are split into base and constant; the bases give one address,
 * constant multiples of strides the rows around it, and a part that is known at compile time becomes an immediate. */
#include "backend/emit.h"

enum { KEY_GEP = 2000 };

/* `p` plus `index` elements of type `t`, found or built at `place`. */
static LLVMValueRef element(Emit *e, Place *place, LLVMTypeRef t, LLVMValueRef p, LLVMValueRef index) {
  if (LLVMIsAConstantInt(index) && LLVMConstIntGetSExtValue(index) == 0)
    return p;
  ValueKey k = {KEY_GEP, (uintptr_t)t, (uintptr_t)p, (uintptr_t)index};
  LLVMValueRef v = value_get(&e->entry.seen, k);
  if (!v && place != &e->entry)
    v = value_get(&place->seen, k);
  if (v)
    return v;
  v = LLVMBuildGEP2(place->b, t, p, &index, 1, "");
  value_put(e->arena, &place->seen, k, v);
  return v;
}

/* Points of field `f` in dimension d in its layout: at least 1, so that the addresses of guarded loads from a field
 * that turns out empty stay in its buffer. The grid is never empty. Rows have the field's pitch, if it has one. */
static LLVMValueRef layout_extent(Emit *e, const Field *f, int d) {
  if (d == f->box.rank - 1 && f->pitch)
    return emit_affine(e, affine_scalar(e->arena, f->pitch - 1));
  LLVMValueRef extent = emit_affine(e, box_extent(e->arena, &f->box, d));
  const Box *grid = &e->m->grid;
  bool whole = affine_equal(f->box.lo[d], grid->lo[d]) && affine_equal(f->box.hi[d], grid->hi[d]);
  return whole ? extent : emit_int_max(e, &e->entry, extent, emit_i64(e, 1));
}

/* Computes origin and strides of the buffer to which argument `arg` points. A buffer that belongs to no field has one
 * dimension and starts at 0. */
static void buffer_begin(Emit *e, int arg) {
  int buffer = e->k->args[arg].index;
  BufferValue *v = &e->buffers[buffer];
  if (e->m->buffers[buffer].kind != BUFFER_FIELD) {
    *v = (BufferValue){.origin = e->args[arg],
                       .start = e->args[arg],
                       .shift = emit_i64(e, 0),
                       .stride = {emit_i64(e, 1)}};
    return;
  }
  const Field *f = &e->m->fields[e->m->buffers[buffer].field];
  LLVMValueRef shift = emit_i64(e, 0), stride = emit_i64(e, 1);
  for (int d = f->box.rank - 1; d >= 0; d--) {
    v->stride[d] = stride;
    shift =
        emit_int(e, &e->entry, LLVMSub, shift, emit_int(e, &e->entry, LLVMMul, emit_affine(e, f->box.lo[d]), stride));
    if (d > 0)
      stride = emit_int(e, &e->entry, LLVMMul, stride, layout_extent(e, f, d));
  }
  v->start = e->args[arg];
  v->shift = shift;
  v->origin = element(e, &e->entry, emit_memory_type(e, f->type), e->args[arg], shift);
}

/* Cells of array `a`. */
static uint64_t array_cells(const Array *a) {
  uint64_t n = 1;
  for (int d = 0; d < a->rank; d++)
    n *= (uint64_t)a->shape[d];
  return n;
}

/* Bytes of the memory of root array `root`: of the largest array that uses it. */
static uint64_t storage_bytes(const Kernel *k, int root) {
  uint64_t bytes = 0;
  for (int i = 0; i < k->narrays; i++) {
    uint64_t n = array_cells(&k->arrays[i]) * (uint64_t)type_size(k->arrays[i].type);
    if (k->arrays[i].space == k->arrays[root].space && kernel_storage(k, i) == root && n > bytes)
      bytes = n;
  }
  return bytes;
}

/* The global variable for the shared root array `root`, made when first asked for. */
static LLVMValueRef shared_global(Emit *e, int root) {
  const char *name = arena_printf(e->arena, "%s_%s", e->k->name, e->k->arrays[root].name);
  LLVMValueRef g = LLVMGetNamedGlobal(e->module, name);
  if (g)
    return g;
  LLVMTypeRef t = LLVMArrayType2(e->i8, storage_bytes(e->k, root));
  g = LLVMAddGlobalInAddressSpace(e->module, t, name, e->target->shared_space);
  LLVMSetLinkage(g, LLVMInternalLinkage);
  LLVMSetInitializer(g, LLVMGetPoison(t));
  LLVMSetAlignment(g, 16);
  return g;
}

/* The start of the shared memory that the launcher sizes, the same for all kernels. */
static LLVMValueRef dynamic_shared(Emit *e) {
  LLVMValueRef g = LLVMGetNamedGlobal(e->module, "stc_shared");
  if (g)
    return g;
  g = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->i8, 0), "stc_shared", e->target->shared_space);
  LLVMSetLinkage(g, LLVMExternalLinkage);
  LLVMSetAlignment(g, 16);
  return g;
}

/* The first cell of shared array `i`. */
static LLVMValueRef shared_array(Emit *e, int i) {
  int64_t fixed, given;
  if (e->target->shared_is_scratch)
    return element(e, &e->entry, e->i8, e->scratch, emit_i64(e, kernel_array_offset(e->k, i)));
  target_kernel_shared(e->target, e->k, &fixed, &given);
  if (given)
    return element(e, &e->entry, e->i8, dynamic_shared(e), emit_i64(e, kernel_array_offset(e->k, i)));
  return shared_global(e, kernel_storage(e->k, i));
}

/* The first cell of private array `i`: stack memory that becomes registers once unrolled code indexes it by constants.
 */
static LLVMValueRef private_array(Emit *e, int i) {
  int root = kernel_storage(e->k, i);
  if (root != i && e->arrays[root])
    return e->arrays[root];
  const Array *a = &e->k->arrays[i];
  uint64_t size = (uint64_t)type_size(a->type), bytes = storage_bytes(e->k, root);
  LLVMValueRef v =
      LLVMBuildAlloca(e->entry.b, LLVMArrayType2(emit_memory_type(e, a->type), (bytes + size - 1) / size), a->name);
  LLVMSetAlignment(v, 8);
  return e->arrays[root] = v;
}

/* Makes room for the facts of all buffers, once a module, and forgets those of the kernel before. */
static void forget_buffers(Emit *e) {
  if (!e->buffers)
    e->buffers = ARENA_ARRAY(e->arena, BufferValue, e->m->nbuffers);
  for (int i = 0; e->bound && i < e->bound->nargs; i++)
    if (e->bound->args[i].kind == KARG_BUFFER)
      e->buffers[e->bound->args[i].index] = (BufferValue){0};
  e->bound = e->k;
}

bool emit_memory_begin(Emit *e) {
  forget_buffers(e);
  e->arrays = ARENA_ARRAY(e->arena, LLVMValueRef, e->k->narrays);
  for (int i = 0; i < e->k->nargs; i++)
    if (e->k->args[i].kind == KARG_BUFFER)
      buffer_begin(e, i);
  for (int i = 0; i < e->k->narrays; i++)
    if (!e->arrays[i])
      e->arrays[i] = e->k->arrays[i].space == SPACE_SHARED ? shared_array(e, i) : private_array(e, i);
  return true;
}

/* Marks memory access `v` as belonging to the parallel loops around it. */
static void mark_parallel(Emit *e, LLVMValueRef v) {
  if (!e->ngroups)
    return;
  LLVMMetadataRef g = e->groups[0];
  if (e->ngroups > 1)
    g = LLVMMDNodeInContext2(e->context, e->groups, (size_t)e->ngroups);
  LLVMSetMetadata(v, LLVMGetMDKindIDInContext(e->context, "llvm.access.group", 17), LLVMMetadataAsValue(e->context, g));
}

/* Promises that nobody writes the memory that load `v` reads while the kernel runs. */
static void mark_invariant(Emit *e, LLVMValueRef v) {
  LLVMMetadataRef none = LLVMMDNodeInContext2(e->context, NULL, 0);
  LLVMSetMetadata(v, LLVMGetMDKindIDInContext(e->context, "invariant.load", 14), LLVMMetadataAsValue(e->context, none));
}

/* A value of LLVM type `t` loaded from `p`, which has alignment `align`. */
static LLVMValueRef load_aligned(Emit *e, LLVMTypeRef t, LLVMValueRef p, int align, bool parallel, bool invariant) {
  LLVMValueRef v = LLVMBuildLoad2(e->here.b, t, p, "");
  LLVMSetAlignment(v, (unsigned)align);
  if (parallel)
    mark_parallel(e, v);
  if (invariant)
    mark_invariant(e, v);
  return v;
}

/* Stores `v` to `p`, which has alignment `align`. */
static void store_aligned(Emit *e, LLVMValueRef v, LLVMValueRef p, int align, bool parallel) {
  LLVMValueRef s = LLVMBuildStore(e->here.b, v, p);
  LLVMSetAlignment(s, (unsigned)align);
  if (parallel)
    mark_parallel(e, s);
}

/* Converts value `v` of type `t` from its form in memory to that in registers; and back. */
static LLVMValueRef from_memory(Emit *e, Type t, LLVMValueRef v) {
  return t == TY_BOOL ? LLVMBuildICmp(e->here.b, LLVMIntNE, v, LLVMConstInt(e->i8, 0, 0), "") : v;
}
static LLVMValueRef to_memory(Emit *e, Type t, LLVMValueRef v) {
  return t == TY_BOOL ? LLVMBuildZExt(e->here.b, v, e->i8, "") : v;
}

/* A value of type `t` loaded from `p`. */
static LLVMValueRef load_from(Emit *e, Type t, LLVMValueRef p, bool parallel, bool invariant) {
  return from_memory(e, t, load_aligned(e, emit_memory_type(e, t), p, type_size(t), parallel, invariant));
}

/* Stores value `v` of type `t` to `p`. */
static void store_to(Emit *e, Type t, LLVMValueRef v, LLVMValueRef p, bool parallel) {
  store_aligned(e, to_memory(e, t, v), p, type_size(t), parallel);
}

/* The argument that holds buffer `buffer`, or NULL. */
static const KArg *buffer_argument(const Kernel *k, int buffer) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].index == buffer)
      return &k->args[i];
  return NULL;
}

/* The coordinate `d` of an access to a buffer, as base + constant. */
static BaseOffset coordinate(Emit *e, const Value *x, int64_t off) {
  BaseOffset l = emit_linear(e, emit_int_cast(e, &e->here, emit_value(e, x), e->i64));
  l.c = (int64_t)((uint64_t)l.c + (uint64_t)off);
  return l;
}

/* The pointer `rest` cells of buffer `buffer` after `p`. */
static LLVMValueRef add_cells(Emit *e, int buffer, LLVMValueRef p, LLVMValueRef index, const int64_t *rest) {
  const BufferValue *b = &e->buffers[buffer];
  LLVMTypeRef t = emit_memory_type(e, buffer_type(e->m, buffer));
  LLVMValueRef rows = emit_i64(e, 0);
  for (int d = 0; d < buffer_rank(e->m, buffer); d++)
    rows = emit_int(e, &e->entry, LLVMAdd, rows, emit_int(e, &e->entry, LLVMMul, b->stride[d], emit_i64(e, rest[d])));
  BaseOffset r = emit_linear(e, rows);
  LLVMValueRef by = index ? emit_int(e, &e->here, LLVMAdd, index, r.base) : r.base;
  return element(e, &e->here, t, element(e, &e->here, t, p, by), emit_i64(e, r.c));
}

/* The address of the element of `buffer` at the coordinates, which `lane` splits. The wave's common part is added
 * first, so that it is in scalar registers. */
static LLVMValueRef lane_address(Emit *e, int buffer, Value *const *coords, const LaneAddress *lane) {
  const BufferValue *b = &e->buffers[buffer];
  LLVMTypeRef t = emit_memory_type(e, buffer_type(e->m, buffer));
  int rank = buffer_rank(e->m, buffer);
  LLVMValueRef index = lane->uniform[rank - 1];
  LLVMValueRef rows = emit_i64(e, 0);
  for (int d = 0; d < rank - 1; d++) {
    BaseOffset x = {lane->uniform[d], lane->c[d], true};
    x = emit_lane_row(e, coords[d], x);
    index = emit_int(e, &e->here, LLVMAdd, index, emit_int(e, &e->here, LLVMMul, x.base, b->stride[d]));
    rows = emit_int(e, &e->entry, LLVMAdd, rows, emit_int(e, &e->entry, LLVMMul, b->stride[d], emit_i64(e, x.c)));
  }
  LLVMValueRef p = element(e, &e->here, t, element(e, &e->here, t, b->origin, index), rows);
  return element(e, &e->here, t, element(e, &e->here, e->i8, p, lane->bytes), emit_i64(e, lane->c[rank - 1]));
}

/* The address of the element of buffer `buffer` at the coordinates and offsets. `hidden`: LLVM need not know that it is
 * in that buffer; then the part that a loop changes in dimension 0 is added last, for it is the same for all threads of
 * a streaming loop. */
static LLVMValueRef buffer_address(Emit *e, int buffer, Value *const *coords, const int64_t *off, bool hidden) {
  const BufferValue *b = &e->buffers[buffer];
  int64_t rest[MAX_RANK] = {0};
  int rank = buffer_rank(e->m, buffer);
  LLVMValueRef index = emit_i64(e, 0), moves = NULL, p = hidden ? emit_running(e, buffer, coords, off, rest) : NULL;
  LaneAddress lane;
  if (p)
    return add_cells(e, buffer, p, NULL, rest);
  if (emit_part_lane(e, buffer, coords, off, &lane))
    return lane_address(e, buffer, coords, &lane);
  bool apart =
      hidden && rank > 1 && e->inner && e->target->hidden_add && !emit_is_invariant(coords[0], e->inner->loop, 8);
  for (int d = 0; d < rank; d++) {
    BaseOffset x = coordinate(e, coords[d], off[d]);
    LLVMValueRef part = emit_int(e, &e->here, LLVMMul, x.base, b->stride[d]);
    rest[d] = x.c;
    if (d == 0 && apart)
      moves = part;
    else
      index = emit_int(e, &e->here, LLVMAdd, index, part);
  }
  return add_cells(e, buffer, element(e, &e->here, emit_memory_type(e, buffer_type(e->m, buffer)), b->origin, index),
                   moves, rest);
}

/* Are loads from buffer `buffer` to be marked as of memory that nobody writes? */
static bool is_invariant(const Emit *e, int buffer) {
  const KArg *a = buffer_argument(e->k, buffer);
  return e->target->invariant_loads && a && !a->writes;
}

/* ---- stores to other parts of the grid */

/* A store of `op` to the buffer at the coordinates, whose address is `p`. store: stores the value to another address;
 * value: of a store of one element; first: its coordinate along dimension 0. */
typedef struct Mirrored {
  const Op *op;
  Value *const *coords;
  LLVMValueRef p;
  void (*store)(Emit *e, const struct Mirrored *x, LLVMValueRef p);
  LLVMValueRef value, first;
} Mirrored;

/* The mirror argument of buffer `buffer`, NULL: the kernel has none. */
static LLVMValueRef mirror_argument(const Emit *e, int buffer, MirrorArg which) {
  for (int i = 0; i < e->k->nargs; i++)
    if (e->k->args[i].kind == KARG_MIRROR && e->k->args[i].index == buffer && e->k->args[i].mirror == which)
      return e->args[i];
  return NULL;
}

/* Continues in a new block where `test` holds, and then after it in any case. Returns the block after it; the builder
 * is in the first. */
static LLVMBasicBlockRef begin_if(Emit *e, LLVMValueRef test) {
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(e->context, e->fn, "mirror"),
                    behind = LLVMAppendBasicBlockInContext(e->context, e->fn, "behind");
  LLVMBuildCondBr(e->here.b, test, then, behind);
  LLVMPositionBuilderAtEnd(e->here.b, then);
  return behind;
}

/* Ends the block of begin_if. */
static void end_if(Emit *e, LLVMBasicBlockRef behind) {
  LLVMBuildBr(e->here.b, behind);
  LLVMPositionBuilderAtEnd(e->here.b, behind);
}

/* Repeats the store `by` bytes further on, plus `row` for each point along dimension 0 (NULL: none), if `test`
 * holds. */
static void mirror_one(Emit *e, const Mirrored *x, LLVMValueRef test, LLVMValueRef by, LLVMValueRef row) {
  LLVMBasicBlockRef behind = begin_if(e, test);
  if (row)
    by = LLVMBuildAdd(e->here.b, by, LLVMBuildMul(e->here.b, row, x->first, ""), "");
  x->store(e, x, LLVMBuildGEP2(e->here.b, e->i8, x->p, &by, 1, ""));
  end_if(e, behind);
}

/* The coordinate of the store along dimension `d`. */
static LLVMValueRef mirrored_coordinate(Emit *e, const Mirrored *x, int d) {
  LLVMValueRef v = emit_int_cast(e, &e->here, emit_value(e, x->coords[d]), e->i64);
  return LLVMBuildAdd(e->here.b, v, emit_i64(e, x->op->off[d]), "");
}

/* Repeats the store in those parts of the grid that have the point as a ghost cell. Most rows belong to no other part,
 * and pay one test: rows below `below` and from `above` on are those with row - below >= above - below, unsigned; where
 * these overlap, all are. */
static void mirror_stores(Emit *e, Mirrored x) {
  int buffer = x.op->sym;
  LLVMValueRef below = mirror_argument(e, buffer, MIRROR_BELOW), above = mirror_argument(e, buffer, MIRROR_ABOVE);
  if (!below || !above)
    return;
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef row = mirrored_coordinate(e, &x, part_dimension(e->m));
  LLVMValueRef n = LLVMBuildSub(e->entry.b, above, below, ""),
               none = LLVMBuildICmp(e->entry.b, LLVMIntSLT, above, below, "");
  n = LLVMBuildSelect(e->entry.b, none, emit_i64(e, 0), n, "");
  x.first = mirrored_coordinate(e, &x, 0);
  LLVMBasicBlockRef behind = begin_if(e, LLVMBuildICmp(b, LLVMIntUGE, LLVMBuildSub(b, row, below, ""), n, ""));
  mirror_one(e, &x, LLVMBuildICmp(b, LLVMIntSLT, row, below, ""), mirror_argument(e, buffer, MIRROR_DOWN),
             mirror_argument(e, buffer, MIRROR_DOWN_ROW));
  mirror_one(e, &x, LLVMBuildICmp(b, LLVMIntSGE, row, above, ""), mirror_argument(e, buffer, MIRROR_UP),
             mirror_argument(e, buffer, MIRROR_UP_ROW));
  end_if(e, behind);
}

/* Stores the one value of a store. */
static void store_value(Emit *e, const Mirrored *x, LLVMValueRef p) {
  store_to(e, x->op->operands[0]->type, x->value, p, true);
}

LLVMValueRef emit_load(Emit *e, const Op *op) {
  Type t = op->results[0]->type;
  bool invariant = is_invariant(e, op->sym);
  LLVMValueRef p = buffer_address(e, op->sym, op->operands, op->off, true);
  if (invariant && (op->flags & LOAD_AROUND) && e->target->load_around)
    return from_memory(e, t, e->target->load_around(e, t, p));
  return load_from(e, t, p, true, invariant);
}

void emit_store(Emit *e, const Op *op) {
  LLVMValueRef v = emit_value(e, op->operands[0]), p = buffer_address(e, op->sym, op->operands + 1, op->off, true);
  store_to(e, op->operands[0]->type, v, p, true);
  mirror_stores(e, (Mirrored){op, op->operands + 1, p, store_value, v, NULL});
}

/* The address of the cell of array number `array` at the indices plus `off`. Indices have 32 bits: no block has more
 * cells. Without threads they are added in 64 bits, so that LLVM sees that the addresses of a loop advance evenly. */
static LLVMValueRef cell_address(Emit *e, int array, Value *const *indices, const int64_t *off) {
  const Array *a = &e->k->arrays[array];
  LLVMTypeRef t = emit_memory_type(e, a->type);
  LLVMTypeRef wide = e->target->info.simt ? e->i32 : e->i64;
  LLVMValueRef index = LLVMConstInt(wide, 0, 0);
  uint64_t c = 0, stride = 1;
  for (int d = a->rank - 1; d >= 0; d--) {
    LLVMValueRef v = emit_value(e, indices[d]);
    BaseOffset x = emit_linear(e, v);
    if (!x.exact)
      x = (BaseOffset){v, 0, true};
    c += ((uint64_t)x.c + (uint64_t)off[d]) * stride;
    index = emit_int(e, &e->here, LLVMAdd, index,
                     emit_int(e, &e->here, LLVMMul, emit_int_cast(e, &e->here, x.base, wide),
                              LLVMConstInt(wide, stride, 0)));
    stride *= (uint64_t)a->shape[d];
  }
  BaseOffset l = emit_linear(e, emit_int_cast(e, &e->here, index, e->i64));
  LLVMValueRef p = element(e, &e->here, t, e->arrays[array], l.base);
  return element(e, &e->here, t, p, emit_i64(e, (int64_t)((uint64_t)l.c + c)));
}

/* The address of the cell of an array that `op` accesses. */
static LLVMValueRef array_address(Emit *e, const Op *op) {
  return cell_address(e, op->sym, op->operands + op_first_index(op), op->off);
}

LLVMValueRef emit_aload(Emit *e, const Op *op) {
  bool shared = e->k->arrays[op->sym].space == SPACE_SHARED;
  return load_from(e, op->results[0]->type, array_address(e, op), shared, false);
}

void emit_astore(Emit *e, const Op *op) {
  bool shared = e->k->arrays[op->sym].space == SPACE_SHARED;
  LLVMValueRef v = emit_value(e, op->operands[0]);
  store_to(e, op->operands[0]->type, v, array_address(e, op), shared);
}

/* ---- several elements at once */

/* The address of the first element that the vector op `op` accesses. */
static LLVMValueRef vector_address(Emit *e, const Op *op) {
  if (op_info[op->code].form == FORM_ARRAY)
    return array_address(e, op);
  return buffer_address(e, op->sym, op->operands + op_first_index(op), op->off, true);
}

/* The number of elements of type `t` in one of the instructions by which `op` moves its elements. */
static int vector_length(const Op *op, Type t) {
  return op->count * type_size(t) <= VECTOR_BYTES ? op->count : VECTOR_BYTES / type_size(t);
}

/* The address `i` elements of type `t` after `p`. */
static LLVMValueRef behind(Emit *e, Type t, LLVMValueRef p, int i) {
  return element(e, &e->here, emit_memory_type(e, t), p, emit_i64(e, i));
}

/* Loads the elements of `op` from `p` on one by one, all of them from memory that the kernel does not write. LLVM makes
 * vectors of these loads, and knows of each that its memory is not written. If LLVM splits a vector load it forgets
 * that, and in a streaming loop it cannot see it by the address. */
static void load_invariant(Emit *e, const Op *op, LLVMValueRef p, LLVMValueRef *values) {
  Type t = op->results[0]->type;
  int size = type_size(t), most = vector_length(op, t) * size;
  for (int i = 0; i < op->count; i++) {
    int place = i * size % most, align = place ? place & -place : most;
    values[i] = from_memory(e, t, load_aligned(e, emit_memory_type(e, t), behind(e, t, p, i), align, true, true));
  }
}

void emit_vload(Emit *e, const Op *op, LLVMValueRef *values) {
  Type t = op->results[0]->type;
  int n = vector_length(op, t);
  LLVMTypeRef vector = LLVMVectorType(emit_memory_type(e, t), (unsigned)n);
  LLVMValueRef p = vector_address(e, op);
  bool invariant = op->code == OP_VLOAD && is_invariant(e, op->sym);
  if (invariant && e->inner && e->target->hidden_add) {
    load_invariant(e, op, p, values);
    return;
  }
  for (int i = 0; i < op->count; i += n) {
    LLVMValueRef v = load_aligned(e, vector, behind(e, t, p, i), n * type_size(t), true, invariant);
    for (int j = 0; j < n; j++)
      values[i + j] =
          from_memory(e, t, LLVMBuildExtractElement(e->here.b, v, LLVMConstInt(e->i32, (unsigned)j, 0), ""));
  }
}

/* Stores the elements of `x`, vectors of as many as one instruction takes, from `p` on. */
static void store_vectors(Emit *e, const Mirrored *x, LLVMValueRef p) {
  const Op *op = x->op;
  Type t = op->operands[0]->type;
  int n = vector_length(op, t);
  for (int i = 0; i < op->count; i += n) {
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(emit_memory_type(e, t), (unsigned)n));
    for (int j = 0; j < n; j++)
      v = LLVMBuildInsertElement(e->here.b, v, to_memory(e, t, emit_value(e, op->operands[i + j])),
                                 LLVMConstInt(e->i32, (unsigned)j, 0), "");
    LLVMValueRef at = emit_i64(e, (int64_t)i * type_size(t));
    store_aligned(e, v, i ? LLVMBuildGEP2(e->here.b, e->i8, p, &at, 1, "") : p, n * type_size(t), true);
  }
}

void emit_vstore(Emit *e, const Op *op) {
  Mirrored x = {op, op->operands + op_first_index(op), vector_address(e, op), store_vectors, NULL, NULL};
  store_vectors(e, &x, x.p);
  if (op_info[op->code].form != FORM_ARRAY)
    mirror_stores(e, x);
}

void emit_async_copy(Emit *e, const Op *op) {
  const Array *a = &e->k->arrays[op->sym];
  LLVMValueRef to = array_address(e, op),
               from = buffer_address(e, op->from, op->operands + a->rank, op->from_off, true);
  e->target->async_copy(e, to, from, op->count * type_size(a->type));
}

/* The bytes of the operand `n`, a number of elements of type `t`. */
static LLVMValueRef bytes_of(Emit *e, const Value *n, Type t) {
  return emit_int(e, &e->here, LLVMMul, emit_value(e, n), LLVMConstInt(e->i32, (unsigned)type_size(t), 0));
}

void emit_bulk(Emit *e, const Op *op) {
  static const int64_t none[MAX_RANK] = {0};
  const Array *a = &e->k->arrays[op->sym];
  int count = op_bulk_count(e->m, e->k, op);
  LLVMValueRef cells = cell_address(e, op->sym, op->operands, op->off),
               points = buffer_address(e, op->from, op->operands + a->rank, op->from_off, false),
               bytes = bytes_of(e, op->operands[count], a->type);
  if (op->code == OP_BULK_STORE)
    e->target->warps->bulk_store(e, points, cells, bytes);
  else
    e->target->warps->bulk_load(e, cells, points, bytes, cell_address(e, op->signal, op->operands + count + 1, none));
}

void emit_prefetch(Emit *e, const Op *op) {
  int rank = op->noperands - 1;
  LLVMValueRef points = buffer_address(e, op->from, op->operands, op->from_off, false);
  e->target->warps->bulk_prefetch(e, points, bytes_of(e, op->operands[rank], buffer_type(e->m, op->from)));
}

void emit_waits(Emit *e, const Op *one, const Op *two) {
  LLVMValueRef at[2] = {cell_address(e, one->sym, one->operands + 1, one->off),
                        cell_address(e, two->sym, two->operands + 1, two->off)},
               parity[2] = {emit_value(e, one->operands[0]), emit_value(e, two->operands[0])};
  e->target->warps->wait_both(e, at, parity);
}

void emit_send(Emit *e, const Op *op) {
  static const int64_t none[MAX_RANK] = {0};
  const Array *a = &e->k->arrays[op->sym];
  LLVMValueRef values[VECTOR_BYTES];
  for (int i = 0; i < op->count; i++)
    values[i] = emit_value(e, op->operands[i]);
  LLVMValueRef to = cell_address(e, op->sym, op->operands + op->count, op->off),
               signal = cell_address(e, op->signal, op->operands + op->count + a->rank, none);
  e->target->warps->send(e, to, op->count, values, type_size(a->type), signal, (int)op->from_off[0]);
}

void emit_signal(Emit *e, const Op *op) {
  const WarpOps *w = e->target->warps;
  int n = op_signal_values(op);
  LLVMValueRef signal = cell_address(e, op->sym, op->operands + n, op->off),
               value = n ? emit_value(e, op->operands[0]) : NULL;
  switch (op->code) {
  case OP_SIGNAL_INIT: w->init(e, signal, value); break;
  case OP_SIGNAL_ARRIVE: w->arrive(e, signal); break;
  case OP_SIGNAL_EXPECT: w->expect(e, signal, value); break;
  default: w->wait(e, signal, value);
  }
}
