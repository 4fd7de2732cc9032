/* backend/nests.c: finds equal loops of a kernel and makes one function of them.
 *
 *   loop over u0 -> u1;  loop over u1 -> u0;  ..     ->     f(u0, u1);  f(u1, u0);  ..
 *
 * A tile of several time steps has the loops of a step as often as it has steps; they go over other arrays, and some
 * constants differ. LLVM's time grows faster than in proportion to the code, so LLVM gets one function for all equal
 * loops.
 *
 * The function's parameters are the kernel's arguments, the block's numbers, the scratch memory, the arrays, the values
 * from outside the loop and the constants that differ. LLVM drops those that are not used, or that are the same in all
 * calls.
 *
 * A loop is written as a text of words, in which values and arrays are numbered in the order of their first use and
 * constants that may differ are left out. Loops of equal texts are equal. */
#include "backend/nests.h"

#include <string.h>

/* Loops of fewer ops than this are emitted in place: a call would cost more than it saves. */
enum { LEAST_NEST_OPS = 16 };

/* The meaning of the word that follows. */
enum { WORD_FREE = 1, WORD_CONST, WORD_INSIDE, WORD_OUTSIDE, WORD_OP, WORD_BLOCK, WORD_END, WORD_ARRAY };

/* A text that is being written. inside, outside, arrays: number + 1 of what was met before. loops: those within the
 * loop. */
typedef struct Writer {
  Arena *arena;
  const Kernel *k;
  NestText *text;
  PtrMap inside, outside;
  int32_t *array_number;
  int32_t ninside, nops, nloops;
  bool ok;
} Writer;

static void write_word(Writer *w, uint64_t word) { ARENA_PUSH(w->arena, w->text->words, w->text->nwords, word); }

/* Writes the words of `n` numbers. */
static void write_numbers(Writer *w, int n, const int64_t *x) {
  for (int i = 0; i < n; i++)
    write_word(w, (uint64_t)x[i]);
}

static void write_affine(Writer *w, Affine x) {
  write_word(w, (uint64_t)x.c);
  write_word(w, (uint64_t)x.n);
  for (int i = 0; i < x.n; i++) {
    write_word(w, (uint64_t)x.t[i].coef);
    write_word(w, (uint64_t)x.t[i].scalar);
  }
}

static void write_box(Writer *w, const Box *b) {
  write_word(w, (uint64_t)b->rank);
  for (int d = 0; d < b->rank; d++) {
    write_affine(w, b->lo[d]);
    write_affine(w, b->hi[d]);
  }
}

/* The number + 1 of `v` in `map`; if it has none it gets number `next`. */
static uintptr_t number_of(Arena *a, PtrMap *map, const Value *v, int32_t next) {
  uintptr_t n = (uintptr_t)ptrmap_get(map, v);
  if (!n)
    ptrmap_put(a, map, v, (void *)(n = (uintptr_t)next + 1)); // NOLINT(performance-no-int-to-ptr)
  return n;
}

/* Writes constant `v`; `differs`: equal loops may have another one. */
static void write_const(Writer *w, const Value *v, bool differs) {
  uint64_t bits = 0;
  write_word(w, differs ? WORD_FREE : WORD_CONST);
  write_word(w, (uint64_t)v->type);
  if (differs) {
    ARENA_PUSH(w->arena, w->text->consts, w->text->nconsts, v);
    return;
  }
  memcpy(&bits, &v->def->cval, sizeof bits);
  write_word(w, bits);
}

/* Writes operand `i` of `op`. */
static void write_operand(Writer *w, const Op *op, int i) {
  const Value *v = op->operands[i];
  if (v->def && v->def->code == OP_CONST) {
    write_const(w, v, type_is_int(v->type) && nest_lets_differ(op, i));
    return;
  }
  uintptr_t n = (uintptr_t)ptrmap_get(&w->inside, v);
  write_word(w, n ? WORD_INSIDE : WORD_OUTSIDE);
  if (!n) {
    n = number_of(w->arena, &w->outside, v, w->text->noutside);
    if ((int32_t)n > w->text->noutside)
      ARENA_PUSH(w->arena, w->text->outside, w->text->noutside, v);
    write_word(w, (uint64_t)v->type);
  }
  write_word(w, (uint64_t)n);
}

/* Writes the properties of array `i` from which the places of its cells follow. A loop with private arrays is no
 * function: they are registers. */
static void write_array(Writer *w, int i) {
  const Array *a = &w->k->arrays[i];
  w->ok &= a->space == SPACE_SHARED;
  write_word(w, WORD_ARRAY);
  if (!w->array_number[i]) {
    ARENA_PUSH(w->arena, w->text->arrays, w->text->narrays, i);
    w->array_number[i] = w->text->narrays;
  }
  write_word(w, (uint64_t)w->array_number[i]);
  write_word(w, (uint64_t)a->type);
  write_word(w, (uint64_t)a->rank);
  for (int d = 0; d < a->rank; d++)
    write_word(w, (uint64_t)a->shape[d]);
}

/* Writes the parts that an op of `op`'s form has. */
static void write_form(Writer *w, const Op *op) {
  switch (op_info[op->code].form) {
  case FORM_PLAIN: w->ok &= (op_info[op->code].flags & OPF_PURE) || op->code == OP_YIELD; break;
  case FORM_SCALAR:
  case FORM_DIM: write_word(w, (uint64_t)op->sym); break;
  case FORM_GLOBAL:
    write_word(w, (uint64_t)op->sym);
    write_word(w, (uint64_t)op->count);
    write_numbers(w, MAX_RANK, op->off);
    break;
  case FORM_ARRAY:
    write_array(w, op->sym);
    write_word(w, (uint64_t)op->count);
    write_numbers(w, MAX_RANK, op->off);
    break;
  case FORM_BOX: write_box(w, op->box); break;
  case FORM_MAP:
    write_word(w, (uint64_t)op->off[0]);
    write_word(w, (uint64_t)op->count);
    write_box(w, op->box);
    break;
  case FORM_FOR:
    write_word(w, (uint64_t)op->off[0]);
    write_word(w, (uint64_t)op->count);
    write_word(w, (uint64_t)op->flags);
    break;
  case FORM_IF: write_word(w, (uint64_t)op->flags); break;
  default: w->ok = false;
  }
}

/* Numbers value `v` of the loop. */
static void write_inside(Writer *w, const Value *v) {
  write_word(w, (uint64_t)v->type);
  number_of(w->arena, &w->inside, v, w->ninside++);
}

static void write_block(Writer *w, const Block *b);

/* Writes `op`; constants are written where they are used. */
static void write_op(Writer *w, const Op *op) { // NOLINT(misc-no-recursion)
  if (op->code == OP_CONST)
    return;
  w->nops++;
  w->nloops += op->code == OP_FOR;
  write_word(w, WORD_OP);
  write_word(w, (uint64_t)op->code);
  write_word(w, (uint64_t)op->noperands);
  for (int i = 0; i < op->noperands; i++)
    write_operand(w, op, i);
  write_form(w, op);
  write_word(w, (uint64_t)op->nresults);
  for (int i = 0; i < op->nresults; i++)
    write_inside(w, op->results[i]);
  for (int i = 0; i < op->nblocks && w->ok; i++)
    write_block(w, op->blocks[i]);
}

static void write_block(Writer *w, const Block *b) { // NOLINT(misc-no-recursion)
  write_word(w, WORD_BLOCK);
  write_word(w, (uint64_t)b->nargs);
  for (int i = 0; i < b->nargs; i++)
    write_inside(w, b->args[i]);
  for (const Op *op = b->first; op && w->ok; op = op->next)
    write_op(w, op);
  write_word(w, WORD_END);
}

bool nest_lets_differ(const Op *op, int i) {
  switch (op->code) {
  case OP_ADD:
  case OP_SUB:
  case OP_MIN:
  case OP_MAX:
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return true;
  case OP_SELECT: return i > 0;
  default: return false;
  }
}

/* Can `loop` be a function: does it have no results, other loops within, and enough ops? Writes its text. */
static bool write_nest(Arena *a, const Kernel *k, const Op *loop, NestText *text) {
  Writer w = {.arena = a, .k = k, .text = text, .array_number = ARENA_ARRAY(a, int32_t, k->narrays + 1), .ok = true};
  *text = (NestText){0};
  if (loop->nresults || (loop->flags & (FOR_UNROLL | FOR_PARALLEL)))
    return false;
  write_op(&w, loop);
  return w.ok && w.nloops > 1 && w.nops >= LEAST_NEST_OPS;
}

/* A hash that equal texts share. */
static uint64_t hash_of(const NestText *t) {
  uint64_t h = 0xcbf29ce484222325U;
  for (int32_t i = 0; i < t->nwords; i++)
    h = (h ^ t->words[i]) * 0x100000001b3U ^ h >> 29;
  return h;
}

static bool same_text(const NestText *x, const NestText *y) {
  return x->nwords == y->nwords && memcmp(x->words, y->words, sizeof *x->words * (size_t)x->nwords) == 0;
}

/* The nest of `text`; a new one, of `loop`, if there is none. */
static Nest *nest_of(Arena *a, Nests *nests, const Op *loop, const NestText *text) {
  uint64_t hash = hash_of(text);
  for (Nest *n = nests->first; n; n = n->next)
    if (n->hash == hash && same_text(&n->text, text))
      return n;
  Nest *n = ARENA_NEW(a, Nest);
  *n = (Nest){.loop = loop, .text = *text, .hash = hash, .varies = ARENA_ARRAY(a, bool, text->nconsts + 1)};
  n->ranges = ARENA_ARRAY(a, Range, text->noutside + 1);
  n->aligned = ARENA_ARRAY(a, int64_t, text->narrays + 1);
  if (nests->last)
    nests->last->next = n;
  else
    nests->first = n;
  return nests->last = n;
}

/* Notes in `all` the loops in `b` and below that could be functions. */
static void note_loops(Arena *a, const Kernel *k, const Block *b, Nests *all) { // NOLINT(misc-no-recursion)
  for (const Op *op = b->first; op; op = op->next) {
    NestUse *use = op->code == OP_FOR ? ARENA_NEW(a, NestUse) : NULL;
    if (use && write_nest(a, k, op, &use->text)) {
      use->nest = nest_of(a, all, op, &use->text);
      use->nest->uses++;
      ptrmap_put(a, &all->of, op, use);
    }
    for (int i = 0; i < op->nblocks && !(op->flags & FOR_PARALLEL); i++)
      note_loops(a, k, op->blocks[i], all);
  }
}

/* Moves to `taken` the outermost loops in `b` of which there are several. */
static void take_loops(Arena *a, const Block *b, const Nests *all, Nests *taken) { // NOLINT(misc-no-recursion)
  for (const Op *op = b->first; op; op = op->next) {
    const NestUse *found = ptrmap_get(&all->of, op);
    if (!found || found->nest->uses < 2) {
      for (int i = 0; i < op->nblocks; i++)
        take_loops(a, op->blocks[i], all, taken);
      continue;
    }
    NestUse *use = ARENA_NEW(a, NestUse);
    *use = (NestUse){nest_of(a, taken, op, &found->text), found->text};
    use->nest->uses++;
    for (int i = 0; i < use->text.nconsts; i++)
      use->nest->varies[i] |= use->text.consts[i]->def->cval.i != use->nest->text.consts[i]->def->cval.i;
    ptrmap_put(a, &taken->of, op, use);
  }
}

Nests *nests_find(Arena *a, const Kernel *k) {
  Nests all = {0}, *taken = ARENA_NEW(a, Nests);
  note_loops(a, k, k->body, &all);
  take_loops(a, k->body, &all, taken);
  return taken;
}

/* ---------------------------------------------------------------- calls */

/* The number of constants of `n` that differ. */
static int varying(const Nest *n) {
  int found = 0;
  for (int i = 0; i < n->text.nconsts; i++)
    found += n->varies[i];
  return found;
}

/* The number of parameters of the function of `n` before those for arrays, and of all. */
static int first_array(const Emit *e) { return e->k->nargs + host_blocks(e->k) + 1; }
static int parameters(const Emit *e, const Nest *n) {
  return first_array(e) + n->text.narrays + n->text.noutside + varying(n);
}

/* Adds the function of `n`, without a body. */
static void declare(Emit *e, Nest *n) {
  int count = parameters(e, n), at = first_array(e);
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, count);
  LLVMValueRef kernel = e->fn;
  emit_arg_types(e, types);
  for (int d = 0; d < host_blocks(e->k); d++)
    types[e->k->nargs + d] = e->i64;
  types[at - 1] = e->ptr;
  for (int i = 0; i < n->text.narrays; i++)
    types[at++] = e->ptr;
  for (int i = 0; i < n->text.noutside; i++)
    types[at++] = emit_type(e, n->text.outside[i]->type);
  for (int i = 0; i < n->text.nconsts; i++)
    if (n->varies[i])
      types[at++] = emit_type(e, n->text.consts[i]->type);
  n->type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, (unsigned)count, 0);
  n->fn = LLVMAddFunction(e->module, arena_printf(e->arena, "%s.nest", e->k->name), n->type);
  LLVMSetLinkage(n->fn, LLVMInternalLinkage);
  e->fn = n->fn;
  emit_arg_attributes(e);
  e->fn = kernel;
  emit_attribute(e, n->fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  emit_attribute(e, n->fn, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  emit_string_attribute(e, n->fn, "prefer-vector-width", "512");
}

/* Widens the known range of value `i` from outside of `n` to include that of `v`. */
static void widen(const Emit *e, Nest *n, int i, bool first, LLVMValueRef v) {
  if (!type_is_int(n->text.outside[i]->type))
    return;
  Range r = emit_range(e, v), *all = &n->ranges[i];
  if (first)
    *all = r;
  all->lo = r.lo < all->lo ? r.lo : all->lo;
  all->hi = r.hi > all->hi ? r.hi : all->hi;
}

/* The alignment in bytes of array `i` in the scratch memory, which its parameter states. */
static int64_t alignment_of(const Emit *e, int i) {
  int64_t at = kernel_array_offset(e->k, i) | SCRATCH_ALIGNMENT;
  return at & -at;
}

/* Calls the function of `use`. */
static void call(Emit *e, const NestUse *use) {
  Nest *n = use->nest;
  bool first = !n->fn;
  if (first)
    declare(e, n);
  int count = parameters(e, n), at = first_array(e);
  LLVMValueRef *args = ARENA_ARRAY(e->arena, LLVMValueRef, count);
  memcpy(args, e->args, sizeof *args * (size_t)e->k->nargs);
  for (int d = 0; d < host_blocks(e->k); d++)
    args[e->k->nargs + d] = e->block[d] ? e->block[d] : emit_i64(e, 0);
  args[at - 1] = e->scratch;
  for (int i = 0; i < use->text.narrays; i++) {
    int64_t align = alignment_of(e, use->text.arrays[i]);
    n->aligned[i] = first || align < n->aligned[i] ? align : n->aligned[i];
    args[at++] = e->arrays[use->text.arrays[i]];
  }
  for (int i = 0; i < use->text.noutside; i++) {
    args[at] = emit_value(e, use->text.outside[i]);
    widen(e, n, i, first, args[at++]);
  }
  for (int i = 0; i < use->text.nconsts; i++)
    if (n->varies[i])
      args[at++] = emit_const(e, use->text.consts[i]->type, use->text.consts[i]->def->cval);
  LLVMBuildCall2(e->here.b, n->type, n->fn, args, (unsigned)count, "");
}

bool emit_nest(Emit *e, const Op *loop) {
  const NestUse *use = e->nests ? ptrmap_get(&e->nests->of, loop) : NULL;
  if (!use || use->nest->uses < 2)
    return false;
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(e->context, e->fn, "nest"),
                    behind = LLVMAppendBasicBlockInContext(e->context, e->fn, "behind");
  LLVMValueRef lo = emit_value(e, loop->operands[0]), hi = emit_value(e, loop->operands[1]);
  LLVMBuildCondBr(e->here.b, LLVMBuildICmp(e->here.b, LLVMIntSLT, lo, hi, ""), then, behind);
  LLVMPositionBuilderAtEnd(e->here.b, then);
  call(e, use);
  LLVMBuildBr(e->here.b, behind);
  LLVMPositionBuilderAtEnd(e->here.b, behind);
  return true;
}

/* ---------------------------------------------------------------- the function's body */

/* A copy of a loop in which each value from outside is a new value. next_const, next_varying: the number of the next
 * constant that may differ, and of the next one that does. */
typedef struct Copy {
  Emit *e;
  const Nest *nest;
  PtrMap values;
  Value **varying;
  int32_t next_const, next_varying;
} Copy;

/* A value of type `t` that no op defines. */
static Value *fresh(Arena *a, Type t) {
  Value *v = ARENA_NEW(a, Value);
  *v = (Value){.type = t};
  return v;
}

/* The constant `v` in the copy. */
static Value *copy_const(Copy *c, const Value *v) {
  Value *x = ptrmap_get(&c->values, v);
  if (x)
    return x;
  Op *def = ARENA_NEW(c->e->arena, Op);
  *def = *v->def;
  def->parent = NULL;
  def->prev = def->next = NULL;
  x = fresh(c->e->arena, v->type);
  x->def = def;
  def->results = ARENA_ARRAY(c->e->arena, Value *, 1);
  def->results[0] = x;
  ptrmap_put(c->e->arena, &c->values, v, x);
  ptrmap_put(c->e->arena, &c->e->values, x, emit_const(c->e, v->type, def->cval));
  return x;
}

/* Operand `i` of `op` in the copy; operands come in the order of the nest's text. */
static Value *copy_operand(Copy *c, const Op *op, int i) {
  const Value *v = op->operands[i];
  bool is_const = v->def && v->def->code == OP_CONST;
  if (is_const && type_is_int(v->type) && nest_lets_differ(op, i) && c->nest->varies[c->next_const++])
    return c->varying[c->next_varying++];
  return is_const ? copy_const(c, v) : ptrmap_get(&c->values, v);
}

/* Copies `n` values, which are defined by `op` or, if that is NULL, are arguments of `b`. */
static Value **copy_values(Copy *c, int n, Value *const *values, Op *op, Block *b) {
  Value **copies = ARENA_ARRAY(c->e->arena, Value *, n + 1);
  for (int i = 0; i < n; i++) {
    copies[i] = fresh(c->e->arena, values[i]->type);
    *copies[i] = *values[i];
    copies[i]->def = op;
    copies[i]->block = b;
    ptrmap_put(c->e->arena, &c->values, values[i], copies[i]);
  }
  return copies;
}

static Block *copy_block(Copy *c, const Block *b, Op *parent);

/* A copy of `op` at the end of `to`. */
static Op *copy_op(Copy *c, const Op *op, Block *to) { // NOLINT(misc-no-recursion)
  Arena *a = c->e->arena;
  Op *copy = ARENA_NEW(a, Op);
  *copy = *op;
  copy->parent = to;
  copy->prev = to ? to->last : NULL;
  copy->next = NULL;
  copy->operands = ARENA_ARRAY(a, Value *, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++)
    copy->operands[i] = copy_operand(c, op, i);
  copy->results = copy_values(c, op->nresults, op->results, copy, NULL);
  copy->blocks = ARENA_ARRAY(a, Block *, op->nblocks + 1);
  for (int i = 0; i < op->nblocks; i++)
    copy->blocks[i] = copy_block(c, op->blocks[i], copy);
  if (to && to->last)
    to->last->next = copy;
  else if (to)
    to->first = copy;
  if (to)
    to->last = copy;
  return copy;
}

static Block *copy_block(Copy *c, const Block *b, Op *parent) { // NOLINT(misc-no-recursion)
  Block *copy = ARENA_NEW(c->e->arena, Block);
  *copy = (Block){.nargs = b->nargs, .parent = parent};
  copy->args = copy_values(c, b->nargs, b->args, NULL, copy);
  for (const Op *op = b->first; op; op = op->next)
    if (op->code != OP_CONST)
      copy_op(c, op, copy);
  return copy;
}

/* Begins the function of `n`: arguments, blocks, scratch, buffers and arrays are its parameters. */
static void begin(Emit *e, const Nest *n) {
  int nargs = e->k->nargs, at = first_array(e);
  e->fn = n->fn;
  LLVMPositionBuilderAtEnd(e->entry.b, LLVMAppendBasicBlockInContext(e->context, e->fn, "entry"));
  LLVMPositionBuilderAtEnd(e->here.b, LLVMAppendBasicBlockInContext(e->context, e->fn, "body"));
  for (int i = 0; i < nargs; i++)
    e->args[i] = LLVMGetParam(e->fn, (unsigned)i);
  for (int d = 0; d < e->k->rank; d++)
    e->block[d] = LLVMGetParam(e->fn, (unsigned)(nargs + d));
  e->scratch = LLVMGetParam(e->fn, (unsigned)(at - 1));
  emit_memory_begin(e);
  for (int i = 0; i < n->text.narrays; i++) {
    e->arrays[n->text.arrays[i]] = LLVMGetParam(e->fn, (unsigned)(at + i));
    emit_attribute(e, e->fn, (unsigned)(at + i + 1), "align", (uint64_t)n->aligned[i]);
  }
}

/* The values from outside and the constants that differ as parameters, in `c`. */
static void take_parameters(Copy *c) {
  Emit *e = c->e;
  const Nest *n = c->nest;
  int at = first_array(e) + n->text.narrays, k = 0;
  for (int i = 0; i < n->text.noutside; i++, at++) {
    Value *v = fresh(e->arena, n->text.outside[i]->type);
    LLVMValueRef p = LLVMGetParam(e->fn, (unsigned)at);
    ptrmap_put(e->arena, &c->values, n->text.outside[i], v);
    ptrmap_put(e->arena, &e->values, v, p);
    if (type_is_int(v->type))
      emit_set_range(e, p, n->ranges[i].lo, n->ranges[i].hi);
  }
  c->varying = ARENA_ARRAY(e->arena, Value *, varying(n) + 1);
  for (int i = 0; i < n->text.nconsts; i++)
    if (n->varies[i]) {
      c->varying[k] = fresh(e->arena, n->text.consts[i]->type);
      ptrmap_put(e->arena, &e->values, c->varying[k++], LLVMGetParam(e->fn, (unsigned)at++));
    }
}

const Op *emit_nest_body(Emit *e, Nest *n) {
  Copy c = {.e = e, .nest = n};
  begin(e, n);
  take_parameters(&c);
  return copy_op(&c, n->loop, NULL);
}
