/* ir/module.c: the op table, modules, and functions on whole blocks and kernels. */
#include "ir/ir.h"

#include <string.h>

enum {
  PURE = OPF_PURE,
  TERM = OPF_TERM,
  COMM = OPF_COMM,
  READ = OPF_READ,
  WRITE = OPF_WRITE,
  FUNCTION = OPF_FUNCTION,
  INEXACT = OPF_INEXACT
};

const OpInfo op_info[OP_COUNT] = {
#define OP(ID, name, level, nops, operands, result, form, flags) \
  {name, LEVEL_##level, nops, OPERANDS_##operands, RESULT_##result, FORM_##form, flags},
#include "ops.def"
#undef OP
};

Opcode opcode_from_name(const char *s) {
  int code = 0;
  while (code < OP_COUNT && strcmp(op_info[code].name, s))
    code++;
  return (Opcode)code;
}

bool operands_allow(OpOperands class, Type t) {
  switch (class) {
  case OPERANDS_ALIKE: return type_is_scalar(t);
  case OPERANDS_NUMBERS: return type_is_int(t) || type_is_float(t);
  case OPERANDS_WORDS: return t == TY_U32;
  case OPERANDS_INTEGERS: return type_is_int(t);
  case OPERANDS_FLOATS: return type_is_float(t);
  case OPERANDS_WIDE: return t == TY_F32 || t == TY_F64;
  case OPERANDS_BOOLS: return t == TY_BOOL;
  case OPERANDS_INDICES: return t == TY_I32 || t == TY_I64;
  default: return false;
  }
}

Module *module_new(Arena *a, const char *name, OpLevel level) {
  Module *m = ARENA_NEW(a, Module);
  m->arena = a;
  m->name = arena_strdup(a, name);
  m->level = level;
  m->contract = true;
  m->time_tile = 1;
  return m;
}

Module *module_derive(const Module *m, OpLevel level) {
  Module *r = ARENA_NEW(m->arena, Module);
  *r = *m;
  r->level = level;
  r->defaults = NULL;
  r->inside = NULL;
  r->time_tile = 1;
  r->ninits = r->nstencils = r->nbuffers = r->nkernels = r->nupdates = r->nrepeats = 0;
  r->inits = r->stencils = NULL;
  r->updates = NULL;
  r->repeats = NULL;
  r->buffers = NULL;
  r->kernels = NULL;
  r->host = (Host){.nseqs = 0};
  return r;
}

/* A module_find_ function: the index in `list` of the element of that name, -1 if there is none. */
#define DEFINE_FIND(function, list, count) \
  int function(const Module *m, const char *name) { \
    for (int i = 0; i < m->count; i++) \
      if (!strcmp(m->list[i].name, name)) \
        return i; \
    return -1; \
  }
DEFINE_FIND(module_find_scalar, scalars, nscalars)
DEFINE_FIND(module_find_param_array, param_arrays, nparam_arrays)
DEFINE_FIND(module_find_record, records, nrecords)
DEFINE_FIND(module_find_reduction, reductions, nreductions)
DEFINE_FIND(module_find_list, lists, nlists)
DEFINE_FIND(module_find_probe, probes, nprobes)
DEFINE_FIND(module_find_loss, losses, nlosses)
DEFINE_FIND(module_find_field, fields, nfields)
DEFINE_FIND(module_find_buffer, buffers, nbuffers)
DEFINE_FIND(module_find_kernel, kernels, nkernels)

Type buffer_type(const Module *m, int buffer) {
  const Buffer *b = &m->buffers[buffer];
  return b->kind == BUFFER_SCRATCH ? b->type
         : b->kind == BUFFER_PARAM ? m->param_arrays[b->field].type
                                   : m->fields[b->field].type;
}

int buffer_rank(const Module *m, int buffer) { return m->buffers[buffer].kind == BUFFER_FIELD ? m->grid.rank : 1; }

Affine field_row(Arena *a, const Field *f) {
  return f->pitch ? affine_scalar(a, f->pitch - 1) : box_extent(a, &f->box, f->box.rank - 1);
}

int module_field_buffer(const Module *m, int field, int copy) {
  for (int i = 0; i < m->nbuffers; i++)
    if (m->buffers[i].kind == BUFFER_FIELD && m->buffers[i].field == field && m->buffers[i].copy == copy)
      return i;
  return -1;
}

int stencil_target(const Stencil *st, int field) {
  for (int i = 0; i < st->ntargets; i++)
    if (st->targets[i] == field)
      return i;
  return -1;
}

int piece_target(const Piece *p, int field) {
  for (int i = 0; i < p->ntargets; i++)
    if (p->targets[i] == field)
      return i;
  return -1;
}

bool stencils_write(int n, const Stencil *st, int field) {
  for (int i = 0; i < n; i++)
    if (stencil_target(&st[i], field) >= 0)
      return true;
  return false;
}

const Stencil *module_sweep(const Module *m) {
  for (int i = 0; i < m->nstencils; i++)
    if (m->stencils[i].sweep)
      return &m->stencils[i];
  return NULL;
}

bool module_moves_levels(const Module *m) {
  for (int i = 0; i < m->nstencils; i++)
    for (int t = 0; t < m->stencils[i].ntargets; t++)
      if (m->fields[m->stencils[i].targets[t]].past)
        return true;
  return false;
}

bool box_is_point(const Box *b) {
  bool point = true;
  for (int d = 0; d < b->rank; d++)
    point = point && affine_equal(b->lo[d], b->hi[d]);
  return point;
}

bool update_is_point(const Update *u) {
  Box own = u->over;
  if (u->each)
    own.hi[0] = own.lo[0];
  return box_is_point(&own);
}

const ParamArray *module_state(const Module *m) {
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE)
      return &m->param_arrays[i];
  return NULL;
}

int module_member_state(const Module *m, int scalar) {
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE && m->param_arrays[i].each && m->param_arrays[i].first == scalar)
      return i;
  return -1;
}

bool array_is_passing(const Module *m, int array) {
  return m->param_arrays[array].role == ARRAY_STATE && m->param_arrays[array].first < 0;
}

bool array_is_written(const Module *m, int array) {
  ArrayRole role = m->param_arrays[array].role;
  return role == ARRAY_SERIES || role == ARRAY_STATE;
}

int module_frames_of(const Module *m, int field) {
  const Record *r = record_of(m, field);
  int first = r ? r->first : field, of = first - 1;
  while (of > 0 && m->fields[of].ahead)
    of--;
  const Record *base = of >= 0 ? record_of(m, of) : NULL;
  return base ? base->first + field - first : of;
}

const char *update_name(const Module *m, const Update *u) { return m->param_arrays[u->state].name; }

/* ---- numbering */

int32_t block_renumber(Block *b, int32_t next) {
  for (int i = 0; i < b->nargs; i++)
    b->args[i]->id = next++;
  for (Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->id = next++;
    for (int i = 0; i < op->nblocks; i++)
      next = block_renumber(op->blocks[i], next);
  }
  return next;
}

int32_t body_number(const Block *body) {
  int32_t n = 0;
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      op->results[i]->id = n++;
  return n;
}

/* Body number `piece` of element number `i` among the code of kind 1 << kind (CODE_); NULL if there is none. */
static Block *body_of(const Module *m, int kind, int i, int piece) {
  const Stencil *st = 1 << kind == CODE_INITS ? &m->inits[i] : 1 << kind == CODE_STENCILS ? &m->stencils[i] : NULL;
  if (st)
    return piece < st->npieces ? st->pieces[piece].body : NULL;
  if (piece)
    return NULL;
  switch (1 << kind) {
  case CODE_REDUCTIONS: return m->reductions[i].body;
  case CODE_PROBES: return m->probes[i].body;
  case CODE_UPDATES: return m->updates[i].body;
  default: return m->kernels[i].body;
  }
}

Block *bodies_next(Bodies *x) {
  const Module *m = x->m;
  const int n[] = {m->ninits, m->nstencils, m->nreductions, m->nprobes, m->nupdates, m->nkernels};
  for (; 1 << x->kind < CODE_ALL; x->kind++, x->i = 0)
    for (; (x->of & 1 << x->kind) && x->i < n[x->kind]; x->i++, x->piece = 0) {
      Block *body = body_of(m, x->kind, x->i, x->piece);
      x->piece++;
      if (body)
        return body;
    }
  return NULL;
}

bool value_is_guard(const Value *v) {
  const Op *op = v->def;
  return op && (op->code == OP_RANGED || op->code == OP_RANGED_ABOVE ||
                (op->code == OP_AND && value_is_guard(op->operands[0]) && value_is_guard(op->operands[1])));
}

void module_renumber(Module *m) {
  for (int i = 0; i < m->nscalars; i++)
    if (m->scalars[i].expr)
      block_renumber(m->scalars[i].expr, 0);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].value)
      block_renumber(m->param_arrays[i].value, 0);
  Bodies all = bodies_of(m, CODE_ALL);
  for (Block *b; (b = bodies_next(&all));)
    block_renumber(b, 0);
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].stop)
      block_renumber(m->reductions[i].stop, 0);
  for (int i = 0; i < m->nlosses; i++)
    block_renumber(m->losses[i].body, 0);
}

/* ---- blocks */

Block *block_new(Arena *a, Op *parent) {
  Block *b = ARENA_NEW(a, Block);
  b->parent = parent;
  return b;
}

Value *block_add_arg(Arena *a, Block *b, Type t) {
  Value *v = ARENA_NEW(a, Value);
  *v = (Value){.type = t, .index = b->nargs, .block = b};
  ARENA_PUSH(a, b->args, b->nargs, v);
  return v;
}

void op_insert(Block *b, Op *before, Op *op) {
  op->parent = b;
  op->next = before;
  op->prev = before ? before->prev : b->last;
  *(op->prev ? &op->prev->next : &b->first) = op;
  *(before ? &before->prev : &b->last) = op;
}

void op_unlink(Op *op) {
  Block *b = op->parent;
  if (!b)
    return;
  *(op->prev ? &op->prev->next : &b->first) = op->next;
  *(op->next ? &op->next->prev : &b->last) = op->prev;
  op->prev = op->next = NULL;
  op->parent = NULL;
}

int block_replace_uses(Block *b, const Value *old, Value *by) {
  int n = 0;
  for (Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (op->operands[i] == old) {
        op->operands[i] = by;
        n++;
      }
    for (int i = 0; i < op->nblocks; i++)
      n += block_replace_uses(op->blocks[i], old, by);
  }
  return n;
}

bool block_is_within(const Block *b, const Op *op) {
  while (b && b->parent && b->parent != op)
    b = b->parent->parent;
  return b && b->parent;
}

void block_walk(Block *b, void (*fn)(void *user, Op *op), void *user) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    fn(user, op);
    for (int i = 0; i < op->nblocks && op->parent; i++)
      block_walk(op->blocks[i], fn, user);
  }
}

/* ---- cloning */

/* A value and its copy. */
typedef struct Pair {
  const Value *from;
  Value *to;
} Pair;

/* The state of cloning: the pairs by Value.id (n entries), and the caller's map of values that are defined outside. */
typedef struct Cloner {
  Arena *arena;
  int32_t n;
  Pair *pairs;
  Value **map;
} Cloner;

/* One more than the highest id of the values that `b` and its nested blocks define. */
static int32_t id_bound(const Block *b) {
  int32_t n = 0;
  for (int i = 0; i < b->nargs; i++)
    n = b->args[i]->id >= n ? b->args[i]->id + 1 : n;
  for (const Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++)
      n = op->results[i]->id >= n ? op->results[i]->id + 1 : n;
    for (int i = 0; i < op->nblocks; i++) {
      int32_t inner = id_bound(op->blocks[i]);
      n = inner > n ? inner : n;
    }
  }
  return n;
}

/* The value that replaces `v` in the copy. */
static Value *mapped(const Cloner *c, Value *v) {
  if (v->id < c->n && c->pairs[v->id].from == v)
    return c->pairs[v->id].to;
  return c->map && c->map[v->id] ? c->map[v->id] : v;
}

/* Makes `r` a copy of `v`, defined by `op` or as an argument of `b`, and remembers the pair. */
static void clone_value(Cloner *c, const Value *v, Value *r, Op *op, Block *b) {
  *r = *v;
  r->def = op;
  r->block = b;
  c->pairs[v->id] = (Pair){v, r};
}

static Block *clone_block(Cloner *c, const Block *b, Op *parent);

/* Copies `op` to the end of `into`. */
static void clone_op(Cloner *c, const Op *op, Block *into) {
  Op *r = op_new(c->arena, op->nresults, op->noperands, op->nblocks), at = *r;
  *r = *op;
  r->results = at.results;
  r->operands = at.operands;
  r->blocks = at.blocks;
  for (int i = 0; i < op->noperands; i++)
    r->operands[i] = mapped(c, op->operands[i]);
  for (int i = 0; i < op->nresults; i++)
    clone_value(c, op->results[i], r->results[i], r, NULL);
  for (int i = 0; i < op->nblocks; i++)
    r->blocks[i] = clone_block(c, op->blocks[i], r);
  op_insert(into, NULL, r);
}

/* Copies `b` as a block of `parent`. */
static Block *clone_block(Cloner *c, const Block *b, Op *parent) {
  Block *r = block_new(c->arena, parent);
  r->nargs = b->nargs;
  r->args = ARENA_ARRAY(c->arena, Value *, b->nargs ? 1 << (32 - __builtin_clz((unsigned)b->nargs)) : 1);
  for (int i = 0; i < b->nargs; i++)
    clone_value(c, b->args[i], r->args[i] = ARENA_NEW(c->arena, Value), NULL, r);
  for (const Op *op = b->first; op; op = op->next)
    clone_op(c, op, r);
  return r;
}

Block *block_clone(Arena *a, const Block *b, Op *parent, Value **map) {
  Cloner c = {a, id_bound(b), NULL, map};
  c.pairs = ARENA_ARRAY(a, Pair, c.n);
  return clone_block(&c, b, parent);
}

/* ---- memory */

/* Is `op` of form `form`, with the flag? */
static bool touches(const Op *op, OpForm form, int flag) {
  return op_info[op->code].form == form && (op_info[op->code].flags & flag);
}

int op_buffer_read(const Op *op) {
  bool copies = op->code == OP_ASYNC_COPY || op->code == OP_BULK_LOAD || op->code == OP_BULK_PREFETCH;
  return copies ? op->from : touches(op, FORM_GLOBAL, OPF_READ) ? op->sym : -1;
}
int op_buffer_written(const Op *op) {
  return op->code == OP_BULK_STORE ? op->from : touches(op, FORM_GLOBAL, OPF_WRITE) ? op->sym : -1;
}
int op_array_read(const Op *op) {
  return op->code == OP_BULK_STORE || touches(op, FORM_ARRAY, OPF_READ) ? op->sym : -1;
}
int op_array_written(const Op *op) {
  bool copies = op->code == OP_ASYNC_COPY || op->code == OP_BULK_LOAD;
  return copies || touches(op, FORM_ARRAY, OPF_WRITE) ? op->sym : -1;
}
int op_array(const Op *op) { return op_array_read(op) >= 0 ? op_array_read(op) : op_array_written(op); }
int op_elements(const Op *op) { return op->count ? op->count : 1; }
bool op_is_barrier(const Op *op) { return op->code == OP_BARRIER || op->code == OP_BARRIER_NEAR; }
int op_first_index(const Op *op) {
  OpForm form = op_info[op->code].form;
  return (op_info[op->code].flags & OPF_WRITE) && form != FORM_COPY && form != FORM_BULK ? op_elements(op) : 0;
}
bool op_is_bulk(const Op *op) { return op_info[op->code].form == FORM_BULK || op_info[op->code].form == FORM_FETCH; }
bool block_has_signals(const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    bool any = op_info[op->code].form == FORM_SIGNAL;
    for (int i = 0; i < op->nblocks && !any; i++)
      any = block_has_signals(op->blocks[i]);
    if (any)
      return true;
  }
  return false;
}
bool op_is_signal(const Op *op) {
  return op_info[op->code].form == FORM_SIGNAL || op->code == OP_BULK_COMMIT || op->code == OP_BULK_WAIT ||
         op->code == OP_FENCE_ASYNC || op->code == OP_BARRIER_WARP || op->code == OP_BARRIER_CLUSTER ||
         op->code == OP_CLUSTER_STORE;
}
bool op_is_registers(const Op *op) { return op->code == OP_REGISTERS_LESS || op->code == OP_REGISTERS_MORE; }
bool op_meets_warp(const Op *op) {
  return op->code == OP_BARRIER_WARP || op->code == OP_ELECT || op->code == OP_UNIFORM || op_is_registers(op);
}
int op_signal_values(const Op *op) { return op->code != OP_SIGNAL_ARRIVE; }
int op_bulk_count(const Module *m, const Kernel *k, const Op *op) {
  return k->arrays[op->sym].rank + buffer_rank(m, op->from);
}

/* ---- kernels */

/* What a kernel's body uses; it uses no buffers before `first` or after `last`. */
typedef struct Uses {
  const Module *module;
  int first, last;
  bool *reads, *writes, *scalars;
  bool step;
} Uses;

/* Records in `is` (u's reads or writes) that `buffer` is used; -1: no buffer. */
static void use_buffer(Uses *u, bool *is, int buffer) {
  if (buffer < 0)
    return;
  is[buffer] = true;
  u->first = buffer < u->first ? buffer : u->first;
  u->last = buffer > u->last ? buffer : u->last;
}

/* Records the params in `x`. */
static void use_affine(Uses *u, Affine x) {
  for (int i = 0; i < x.n; i++)
    u->scalars[x.t[i].scalar] = true;
}

/* Records the params in the bounds of `b`. */
static void use_box(Uses *u, const Box *b) {
  for (int d = 0; d < b->rank; d++) {
    use_affine(u, b->lo[d]);
    use_affine(u, b->hi[d]);
  }
}

/* Records what one op uses (a block_walk callback). */
static void use_op(void *user, Op *op) {
  Uses *u = user;
  use_buffer(u, u->reads, op_buffer_read(op));
  use_buffer(u, u->writes, op_buffer_written(op));
  if (op->code == OP_SCALAR)
    u->scalars[op->sym] = true;
  else if (op->code == OP_STEP)
    u->step = true;
  if (op->box)
    use_box(u, op->box);
}

/* Records the params in the extents of `b`. */
static void use_buffer_shape(Uses *u, const Buffer *b) {
  const Field *f = b->kind == BUFFER_FIELD ? &u->module->fields[b->field] : NULL;
  if (f)
    use_box(u, &f->box);
  if (f && f->pitch && f->box.rank > 1)
    u->scalars[f->pitch - 1] = true;
}

const char *const mirror_names[MIRROR_ARGS] = {"below", "above", "down", "up", "down_row", "up_row"};

/* Appends an argument to `k`. */
static void push_arg(Module *m, Kernel *k, KArg arg) { ARENA_PUSH(m->arena, k->args, k->nargs, arg); }

/* Does the sequence, which has no loops, launch kernel `k` of `m`? */
static bool launches(const Module *m, const HostSeq *seq, const Kernel *k) {
  for (int i = 0; i < seq->nops; i++)
    if (seq->ops[i].kind == HOST_LAUNCH && &m->kernels[seq->ops[i].a] == k)
      return true;
  return false;
}

/* Does the init sequence of `m`, or the `once` sequence, launch `k`? */
static bool is_init_kernel(const Module *m, const Kernel *k) {
  return launches(m, &m->host.init, k) || launches(m, &m->host.once, k);
}

/* Marks the buffers of fields that init kernel `k` was made to write. So they count as initialized even if their region
 * is empty and all stores to them are gone. */
static void keep_writes(Uses *u, const Module *m, const Kernel *k) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER && m->buffers[k->args[i].index].kind == BUFFER_FIELD && k->args[i].writes)
      use_buffer(u, u->writes, k->args[i].index);
}

void kernel_set_args(Module *m, Kernel *k) {
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark start = arena_mark(scratch);
  Uses u = {.module = m,
            .first = m->nbuffers,
            .last = -1,
            .reads = ARENA_ARRAY(scratch, bool, m->nbuffers),
            .writes = ARENA_ARRAY(scratch, bool, m->nbuffers),
            .scalars = ARENA_ARRAY(scratch, bool, m->nscalars)};
  block_walk(k->body, use_op, &u);
  for (int d = 0; d < k->rank; d++) {
    use_affine(&u, k->extent[d]);
    if (k->leaves_out)
      use_affine(&u, k->without[d]);
  }
  if (is_init_kernel(m, k))
    keep_writes(&u, m, k);
  k->nargs = 0;
  k->args = NULL;
  for (int i = u.first; i <= u.last; i++)
    if (u.reads[i] || u.writes[i]) {
      push_arg(m, k, (KArg){.kind = KARG_BUFFER, .index = i, .reads = u.reads[i], .writes = u.writes[i]});
      use_buffer_shape(&u, &m->buffers[i]);
    }
  for (int i = 0; i < m->nscalars; i++)
    if (u.scalars[i])
      push_arg(m, k, (KArg){.kind = KARG_SCALAR, .index = i, .reads = true});
  if (u.step)
    push_arg(m, k, (KArg){.kind = KARG_STEP, .reads = true});
  arena_release(scratch, start);
}

/* Is `op` a barrier of the block (a block_walk callback)? */
static void note_barrier(void *user, Op *op) { *(bool *)user |= op->code == OP_BARRIER; }

bool kernel_passes_memory(const Kernel *k) {
  bool meets = false;
  for (int i = 0; i < k->narrays; i++)
    if (k->arrays[i].space == SPACE_SHARED)
      return false;
  block_walk(k->body, note_barrier, &meets);
  return meets;
}

int part_dimension(const Module *m) {
  int found = -1, n = 0;
  for (int d = 0; d < m->grid.rank && m->part; d++)
    if (!affine_equal(m->part->own.lo[d], m->part->whole.lo[d])) {
      found = d;
      n++;
    }
  return n == 1 ? found : -1;
}

/* The most elements that an op moves to or from each buffer at once, so far. only: not negative: consider only this
 * buffer. */
typedef struct Widest {
  int only, *elements;
} Widest;

/* Records the number of elements that `op` moves (a block_walk callback). */
static void note_width(void *user, Op *op) {
  Widest *w = user;
  int at[] = {op_buffer_read(op), op_buffer_written(op)};
  for (int i = 0; i < 2; i++)
    if (at[i] >= 0 && (w->only < 0 || at[i] == w->only)) {
      int n = op_is_bulk(op) ? VECTOR_BYTES : op_elements(op), *most = &w->elements[w->only < 0 ? at[i] : 0];
      *most = n > *most ? n : *most;
    }
}

/* The alignment in bytes of the address of buffer `b`, of which ops move up to `elements` elements at once. */
static int64_t alignment(const Module *m, int b, int elements) {
  int64_t bytes = (int64_t)elements * type_size(buffer_type(m, b));
  return bytes < VECTOR_BYTES ? bytes : VECTOR_BYTES;
}

/* Is buffer `b` among the arguments of `k`? */
static bool takes_buffer(const Kernel *k, int b) {
  bool any = false;
  for (int i = 0; i < k->nargs && !any; i++)
    any = k->args[i].kind == KARG_BUFFER && k->args[i].index == b;
  return any;
}

int64_t kernel_alignment(const Module *m, const Kernel *k, int buffer) {
  int elements = 1;
  if (takes_buffer(k, buffer))
    block_walk(k->body, note_width, &(Widest){buffer, &elements});
  return alignment(m, buffer, elements);
}

int64_t *kernel_alignments(Arena *a, const Module *m, const Kernel *k) {
  int64_t *bytes = ARENA_ARRAY(a, int64_t, k->nargs + 1);
  Widest w = {-1, ARENA_ARRAY(a, int, m->nbuffers + 1)};
  for (int b = 0; b < m->nbuffers; b++)
    w.elements[b] = 1;
  block_walk(k->body, note_width, &w);
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER)
      bytes[i] = alignment(m, k->args[i].index, w.elements[k->args[i].index]);
  return bytes;
}

/* The field of buffer `b`, or for a field's past the present field; -1: it belongs to no field. */
static int buffer_root(const Module *m, const Buffer *b) {
  return b->kind != BUFFER_FIELD ? -1 : m->fields[b->field].past ? m->fields[b->field].present : b->field;
}

int64_t *buffer_alignments(Arena *a, const Module *m) {
  int64_t *most = ARENA_ARRAY(a, int64_t, m->nbuffers + 1), *field = ARENA_ARRAY(a, int64_t, m->nfields + 1);
  for (int b = 0; b < m->nbuffers; b++)
    most[b] = type_size(buffer_type(m, b));
  for (int i = 0; i < m->nkernels; i++) {
    const int64_t *needs = kernel_alignments(a, m, &m->kernels[i]);
    for (int k = 0; k < m->kernels[i].nargs; k++) {
      const KArg *arg = &m->kernels[i].args[k];
      if (arg->kind == KARG_BUFFER)
        most[arg->index] = larger(most[arg->index], needs[k]);
    }
  }
  for (int b = 0; b < m->nbuffers; b++) {
    int root = buffer_root(m, &m->buffers[b]);
    if (root >= 0)
      field[root] = larger(field[root], most[b]);
  }
  for (int b = 0; b < m->nbuffers; b++)
    if (buffer_root(m, &m->buffers[b]) >= 0)
      most[b] = field[buffer_root(m, &m->buffers[b])];
  return most;
}

int64_t buffer_alignment(const Module *m, int buffer) {
  Arena *scratch = arena_scratch(m->arena);
  ArenaMark mark = arena_mark(scratch);
  int64_t one = buffer_alignments(scratch, m)[buffer];
  arena_release(scratch, mark);
  return one;
}

int64_t shared_array_bytes(const Array *a) {
  int64_t n = type_size(a->type);
  for (int d = 0; d < a->rank; d++)
    if (__builtin_mul_overflow(n, (int64_t)a->shape[d], &n) || n > INT64_MAX / 64)
      return INT64_MAX / 64;
  return n < 0 ? 0 : n;
}

bool array_same_layout(const Array *x, const Array *y) {
  bool same = x->type == y->type && x->rank == y->rank;
  for (int d = 0; same && d < x->rank; d++)
    same = x->shape[d] == y->shape[d];
  return same;
}

int64_t kernel_threads(const Kernel *k) {
  int64_t n = 1;
  for (int d = 0; d < k->rank; d++)
    n *= k->threads[d];
  return n;
}

int kernel_storage(const Kernel *k, int array) {
  for (int hops = 0; hops < k->narrays && k->arrays[array].storage >= 0; hops++)
    array = k->arrays[array].storage;
  return array;
}

/* The bytes of the memory that array `root` owns: those of the largest array that uses it, rounded up to 16. */
static int64_t slot_bytes(const Kernel *k, int root) {
  int64_t most = 0;
  for (int i = 0; i < k->narrays; i++)
    if (kernel_storage(k, i) == root && shared_array_bytes(&k->arrays[i]) > most)
      most = shared_array_bytes(&k->arrays[i]);
  return (most + 15) / 16 * 16;
}

/* The bytes of shared memory that the first `n` arrays of `k` own. */
static int64_t bytes_before(const Kernel *k, int n) {
  int64_t sum = 0;
  for (int i = 0; i < n; i++)
    if (k->arrays[i].space == SPACE_SHARED && k->arrays[i].storage < 0 &&
        __builtin_add_overflow(sum, slot_bytes(k, i), &sum))
      return INT64_MAX;
  return sum;
}

int64_t kernel_shared_bytes(const Kernel *k) { return bytes_before(k, k->narrays); }
int64_t kernel_array_offset(const Kernel *k, int array) { return bytes_before(k, kernel_storage(k, array)); }
