/* tile-classes.c: removes the tests of a mask from tiles where the mask is true, or false, at all points that the tile
 * reads. Each kernel of a step that reads words of tests (Kernel.tests; pass pack-tests makes the words) gets three
 * versions of its body B, and each block takes one by the class of its tile:
 *
 *     class = load @k.classes[block 0, block 1]
 *     if class == 1 { B with all bits of the words set } else { if class == 2 { B with none set } else { B } }
 *
 * The first version is the code of a program without a mask. The second is that of a program with only dry points,
 * mostly a copy. A kernel finds the classes once, after the words are computed. It has one block for each block of @k,
 * which reads the points of its tile and as many around it as the time steps of the launch need.
 *
 *     kernel @k.classes covers [N, M] by [24, 28] { all = and of the words, any = or of them; store .., @k.classes }
 *     host { once { .. launch @k.classes } steps 4 { launch @k .. } }
 *
 * So the host need not act, and no tile gets a wrong version: the class covers every word that the block reads for
 * points that are needed. Cells beyond these, which a tile computes but nothing needs, may read other words; their
 * values are not used.
 *
 * With threads, one warp finds a tile's class: each lane reads the words of some columns, and exchanges between lanes
 * combine them. Kernels with a version for tiles that touch no edge have classes only in that version. Kernels of one
 * launch that cover the same tiles, such as those for rows of whole vectors and for other rows, share the classes. For
 * kernels at edges, classes go by the places of tiles, not by the numbers of blocks. Unchanged are kernels of frames,
 * kernels that order warps by signals, and kernels that would become so long that compiling takes seconds; these lose
 * the second version first.
 *
 * If all kernels that write a field keep its dry points (Kernel.tests says so), a tile of class 2 has no work: at all
 * points without a set bit, both buffers of the field hold the initial values. For that, one buffer is copied to the
 * other before the steps, and again whenever a field may have been set from outside. This holds for any tiles of the
 * kernels for fewer steps, because a point's own bits decide. All kernels that write the field must use the same bits,
 * and the two buffers may only be exchanged for each other. */
#include "passes/base/tuning.h"
#include "passes/kernel/class-kernels.h"
#include "passes/kernel/inner.h"
#include "passes/plan/cost/estimate.h"

#include <string.h>

/* On targets with threads, a kernel that would have more than MOST_OPS ops with all versions gets fewer versions. */
enum { MOST_OPS = 36000 };
/* The points that a block copies: COPY_EACH for each of COPY_THREADS threads, or COPY_CELLS in a loop. */
enum { COPY_THREADS = 128, COPY_CELLS = 4096, COPY_EACH = 4 };

/* The classes of a kernel's tiles: their buffer, and all that they depend on. dead: a tile without a wet point of its
 * own needs no work. */
typedef struct Classes {
  int32_t buffer, rank, tile[MAX_RANK];
  Affine extent[MAX_RANK];
  bool dead;
  const KernelTests *tests;
} Classes;

/* The list of the tiles of kernels that run only for some classes of those in buffer `classes`: for `mixed` tiles, or
 * for all others. */
typedef struct TileList {
  int32_t classes, list;
  bool mixed;
} TileList;

/* The state of the pass. first: kernels launched once that need no result of other kernels of this pass. */
typedef struct Classifier {
  PassContext *c;
  Module *m;
  int32_t n;
  Classes *classes;
  int32_t nlists;
  TileList *lists;
  int32_t nfirst, *first;
} Classifier;

/* ---- what there is */

/* Which kernels make steps. */
static const bool *step_kernels(const Module *m) {
  bool *steps = ARENA_ARRAY(m->arena, bool, m->nkernels + 1);
  for (int i = 0; i < m->host.nseqs; i++)
    host_kernels(m, &m->host.seqs[i], steps);
  for (int i = 0; i < m->nkernels; i++)
    if (steps[i] && m->kernels[i].instead)
      steps[m->kernels[i].instead - 1] = true;
  return steps;
}

/* Can kernel `k` have versions by class? */
static bool has_classes(const Kernel *k) {
  return k->tests && (!k->leaves_out || k->tests->placed) && !k->idles && !block_has_signals(k->body);
}

/* Do blocks of kernel `k` also compute the tiles behind their own, if class codes say so? */
static bool computes_more(const Kernel *k) { return has_classes(k) && k->tests->more >= 0; }

/* Does a class code of kernel `k` have room for the range of stored points in the last dimension of a tile? */
static bool finds_places(const Kernel *k) {
  return k->tests->more >= 0 && k->tile[k->rank - 1] <= PLACES * CLASS_POINTS;
}

/* Do the tiles of `k` have the same classes as those of `x`? */
static bool same_classes(const Kernel *k, bool dead, const Classes *x) {
  const KernelTests *t = k->tests, *u = x->tests;
  bool same = t->n == u->n && memcmp(t->field, u->field, sizeof t->field) == 0 &&
              memcmp(t->all, u->all, sizeof t->all) == 0 && memcmp(&t->reach, &u->reach, sizeof t->reach) == 0;
  for (int d = 0; d < k->rank && same; d++)
    same = affine_equal(t->lo[d], u->lo[d]) && affine_equal(k->extent[d], x->extent[d]) && k->tile[d] == x->tile[d] &&
           t->around[d] == u->around[d];
  return same && dead == x->dead && (t->more >= 0) == (u->more >= 0) && t->most == u->most;
}

/* ---- where classes are kept */

/* Adds a let with the number of tiles of kernel `k` along dimension `d`. Returns its number. */
static int32_t add_count(Module *m, const Kernel *k, int d) {
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  Value *tile = build_int(&b, TY_I64, k->tile[d]), *more = build_int(&b, TY_I64, k->tile[d] - 1),
        *n = build2(&b, OP_MAX, build_affine(&b, m, k->extent[d]), build_int(&b, TY_I64, 0));
  build_yield(&b, 1, (Value *[]){build2(&b, OP_DIV, build2(&b, OP_ADD, n, more), tile)});
  const char *name = arena_printf(m->arena, "%s.tiles.%d", k->name, d);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, ((Scalar){.name = name, .type = TY_I64, .expr = expr}));
  return m->nscalars - 1;
}

/* Adds a field with a number for each tile of kernel `k`. Returns its buffer. */
static int32_t add_buffer(Module *m, const Kernel *k) {
  Field f = {.name = arena_printf(m->arena, "%s.classes", k->name), .box = m->grid, .loc = k->loc};
  f.type = k->tests->more >= 0 ? TY_U32 : TY_U8;
  for (int d = 0; d < k->rank; d++) {
    f.box.lo[d] = affine_const(0);
    f.box.hi[d] = affine_add_const(affine_scalar(m->arena, add_count(m, k, d)), -1);
  }
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  Buffer b = {.name = f.name, .kind = BUFFER_FIELD, .field = m->nfields - 1};
  ARENA_PUSH(m->arena, m->buffers, m->nbuffers, b);
  return m->nbuffers - 1;
}

/* The buffer with the classes of the tiles of kernel number `index`: an existing one with the same classes, or a new
 * one. */
static int32_t classes_of(Classifier *x, int index, bool dead) {
  Module *m = x->m;
  for (int i = 0; i < x->n; i++)
    if (same_classes(&m->kernels[index], dead, &x->classes[i]))
      return x->classes[i].buffer;
  const Kernel *k = &m->kernels[index];
  Classes own = {.rank = k->rank, .tests = k->tests, .dead = dead, .buffer = add_buffer(m, k)};
  for (int d = 0; d < k->rank; d++) {
    own.tile[d] = k->tile[d];
    own.extent[d] = k->extent[d];
  }
  ARENA_PUSH(m->arena, x->classes, x->n, own);
  HostOp launch = {.kind = HOST_LAUNCH,
                   .a = class_finder(m, x->c->target->simt, index, own.buffer, dead && finds_places(k))};
  ARENA_PUSH(m->arena, m->host.once.ops, m->host.once.nops, launch);
  ARENA_PUSH(m->arena, x->first, x->nfirst, launch.a);
  if (m->kernels[index].tests->more >= 0) {
    launch.a = class_joiner(m, &m->kernels[index], own.buffer);
    ARENA_PUSH(m->arena, m->host.once.ops, m->host.once.nops, launch);
  }
  return own.buffer;
}

/* ---- the versions */

/* The replacements of settle_more: the tests, and the values of their scalars more, from and less. */
typedef struct More {
  Block *body;
  const KernelTests *tests;
  Value *is[3];
} More;

/* Replaces `op` if it is one of the scalars that say which tiles a block computes (a block_walk callback). */
static void settle_more(void *user, Op *op) {
  const More *x = user;
  const int32_t scalars[] = {x->tests->more, x->tests->from, x->tests->less};
  for (int i = 0; i < 3 && op->code == OP_SCALAR; i++)
    if (op->sym == scalars[i]) {
      block_replace_uses(x->body, op->results[0], x->is[i]);
      op_unlink(op);
      return;
    }
}

/* Makes `body` of kernel `k` compute the tiles and points of class code `code`, with ops at `b`. Returns the class. */
static Value *settle_tiles(Builder *b, const Kernel *k, Block *body, Value *code) {
  code = build_convert(b, TY_I64, code);
  Value *points = build_int(b, TY_I64, CLASS_POINTS), *zero = build_int(b, TY_I64, 0),
        *last = build2(b, OP_ADD, class_part(b, code, LAST, PLACES + 1), build_int(b, TY_I64, 1)),
        *width = build_int(b, TY_I64, k->tile[k->rank - 1]);
  More x = {body, k->tests, {class_part(b, code, MORE, FIRST / MORE)}};
  bool found = finds_places(k);
  x.is[1] = found ? build2(b, OP_MUL, class_part(b, code, FIRST, PLACES + 1), points) : zero;
  x.is[2] = !found ? zero : build2(b, OP_MAX, build2(b, OP_SUB, width, build2(b, OP_MUL, last, points)), zero);
  block_walk(body, settle_more, &x);
  return class_part(b, code, 1, MORE);
}

/* ---- tiles with nothing to do */

/* The field of which buffer `b` is one of the copies that steps load and store; -1 if none. */
static int32_t field_of(const Module *m, int b) {
  return m->buffers[b].kind == BUFFER_FIELD ? m->buffers[b].field : -1;
}

/* Does kernel `k` write a buffer of field `f`? */
static bool writes(const Module *m, const Kernel *k, int f) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].writes && field_of(m, k->args[i].index) == f)
      return true;
  return false;
}

/* Do both kernels leave dry points unchanged, and decide by the same bits of the same words which points are dry? */
static bool keep_alike(const KernelTests *t, const KernelTests *u) {
  return t && u && t->dry && u->dry && t->n == u->n && memcmp(t->field, u->field, sizeof t->field) == 0 &&
         memcmp(t->all, u->all, sizeof t->all) == 0;
}

/* Does the host swap a buffer of field `f` with anything but the field's other buffer? */
static bool wanders(const Module *m, int f) {
  const HostSeq *q;
  for (int i = 0; (q = host_part((Module *)m, i)); i++)
    for (int k = 0; k < q->nops; k++) {
      const HostOp *op = &q->ops[k];
      if (op->kind == HOST_SWAP && (field_of(m, op->a) == f || field_of(m, op->b) == f) &&
          (field_of(m, op->a) != field_of(m, op->b) || m->buffers[op->a].copy + m->buffers[op->b].copy != 1))
        return true;
    }
  return false;
}

/* Do points without any bit of `k` keep their values in both buffers of field `f`, which `k` writes? That is so if all
 * kernels that write the field in steps leave those points unchanged. */
static bool stays(const Classifier *x, const bool *steps, int count, const Kernel *k, int f) {
  const Module *m = x->m;
  bool stay = !wanders(m, f);
  for (int i = 0; i < count && stay; i++)
    stay = !steps[i] || !writes(m, &m->kernels[i], f) || keep_alike(m->kernels[i].tests, k->tests);
  return stay;
}

/* The kernels before number `count` that need not run for tiles without any set bit. */
static const bool *find_dead(const Classifier *x, const bool *steps, int count) {
  bool *dead = ARENA_ARRAY(x->m->arena, bool, count + 1);
  for (int i = 0; i < count; i++) {
    const Kernel *k = &x->m->kernels[i];
    dead[i] = steps[i] && k->tests && k->tests->dry;
    for (int f = 0; f < x->m->nfields && dead[i]; f++)
      dead[i] = !writes(x->m, k, f) || stays(x, steps, count, k, f);
  }
  return dead;
}

/* A new name for the kernel that copies the field named `field`. */
static const char *free_name(const Module *m, const char *field) {
  const char *name = arena_identifier(m->arena, arena_printf(m->arena, "%s_both_%s", m->name, field));
  while (module_find_kernel(m, name) >= 0)
    name = arena_printf(m->arena, "%s_", name);
  return name;
}

/* Adds a kernel that copies buffer `from` to buffer `to` of the same field. */
static void add_copy(Classifier *x, const char *name, int from, int to) {
  static const int64_t here[MAX_RANK];
  Module *m = x->m;
  const Field *f = &m->fields[m->buffers[from].field];
  int rank = f->box.rank, last = rank - 1;
  bool simt = x->c->target->simt;
  Kernel k = {.name = name, .rank = rank, .body = block_new(m->arena, NULL), .loc = f->loc};
  Builder b = builder_at_end(m->arena, k.body);
  Value *at[MAX_RANK];
  b.loc = f->loc;
  for (int d = 0; d < MAX_RANK; d++)
    k.threads[d] = k.tile[d] = 1;
  k.threads[last] = simt ? COPY_THREADS : 1;
  k.tile[last] = simt ? COPY_THREADS * COPY_EACH : COPY_CELLS;
  for (int d = 0; d < rank; d++) {
    k.extent[d] = box_extent(m->arena, &f->box, d);
    at[d] = build2(&b, OP_ADD, build2(&b, OP_MUL, build_dim(&b, OP_BLOCK, d), build_int(&b, TY_I64, k.tile[d])),
                   build_affine(&b, m, f->box.lo[d]));
  }
  if (simt)
    at[last] = build2(&b, OP_ADD, at[last], build_convert(&b, TY_I64, build_dim(&b, OP_THREAD, last)));
  for (int i = 0; i < COPY_EACH && simt; i++) {
    at[last] = i ? build2(&b, OP_ADD, at[last], build_int(&b, TY_I64, COPY_THREADS)) : at[last];
    Builder in = build_then(&b, build_inside(&b, rank, at, &f->box));
    build_store(&in, to, build_load(&in, f->type, from, rank, at, here), rank, at, here);
  }
  if (!simt) {
    Value *end = build2(&b, OP_MIN, build2(&b, OP_ADD, at[last], build_int(&b, TY_I64, COPY_CELLS)),
                        build_affine(&b, m, affine_add_const(f->box.hi[last], 1)));
    Op *loop = build_for(&b, at[last], end, 1, FOR_PARALLEL, 0, NULL);
    Builder in = builder_in(&b, loop->blocks[0]);
    at[last] = loop->blocks[0]->args[0];
    build_store(&in, to, build_load(&in, f->type, from, rank, at, here), rank, at, here);
  }
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, k);
  HostOp launch = {.kind = HOST_LAUNCH, .a = m->nkernels - 1};
  ARENA_PUSH(m->arena, m->host.once.ops, m->host.once.nops, launch);
  ARENA_PUSH(m->arena, x->first, x->nfirst, m->nkernels - 1);
}

/* For each field that a kernel with dead tiles writes, adds a copy that gives both buffers the same initial values. */
static void add_copies(Classifier *x, const bool *dead, int count) {
  Module *m = x->m;
  for (int f = 0, nfields = m->nfields; f < nfields; f++) {
    bool any = false;
    for (int i = 0; i < count; i++)
      any = any || (dead[i] && writes(m, &m->kernels[i], f));
    int from = any ? module_field_buffer(m, f, 0) : -1, to = any ? module_field_buffer(m, f, 1) : -1;
    if (from >= 0 && to >= 0)
      add_copy(x, free_name(m, m->fields[f].name), from, to);
  }
}

/* ---- versions of a kernel */

/* Makes block 0 of `choice` a version of `body` for tiles of class `class`. */
static void add_version(const Module *m, const Kernel *k, const Block *body, Op *choice, int class) {
  static const int64_t none[MAX_TESTS];
  choice->blocks[0] = block_clone(m->arena, body, choice, NULL);
  settle_words(m, k, choice->blocks[0], class == CLASS_ALL ? k->tests->all : none);
}

/* Builds the choice of a version at `b`: is class value `class` equal to `is`? */
static Op *build_choice(Builder *b, Value *class, int is) {
  return build_if(b, build2(b, OP_EQ, class, build_int(b, class->type, is)), 0, NULL);
}

/* The place in kernel `k` of the block that gets versions: its body, or its version for tiles that touch no edge. */
static Block **versions_place(Kernel *k) {
  for (Op *op = k->body->first; op; op = op->next)
    if (op->code == OP_IF && (op->flags & IF_INTERIOR))
      return &op->blocks[0];
  return &k->body;
}

/* Can the mixed tiles of kernel `k` go to a kernel of their own? Not if the op that chooses the version for edges has
 * results. */
static bool can_part(const Kernel *k) {
  bool can = true;
  for (const Op *op = k->body->first; op; op = op->next)
    can = can && (op->code != OP_IF || !(op->flags & IF_INTERIOR) || op->nresults == 0);
  return can;
}

/* Does it pay to give mixed tiles of `k` a kernel of their own? Not in kernels at edges, which have few tiles. On
 * targets with threads it pays if the longer version would take registers from all blocks; without threads, if both
 * versions together are too long to compile in reasonable time. */
static bool is_parted(const Classifier *x, const Kernel *k) {
  return can_part(k) && !k->leaves_out &&
         (x->c->target->simt ? inner_is_worthwhile(k) : 2 * (double)inner_ops(k->body) >= measured.long_kernel);
}

/* The tiles that a kernel computes: those of all classes, all but the mixed ones, or only the mixed ones. */
typedef enum Part { WHOLE, UNMIXED, MIXED } Part;

/* The plan for one kernel. has: the classes that get versions of their own; dead: tiles of class NONE need no work;
 * parted: mixed tiles get a kernel of their own. */
typedef struct Making {
  bool has[CLASSES], dead, parted;
} Making;

/* Chooses the classes for which kernel `k` gets a version of its own, as many as its length allows. */
static void choose_versions(const Classifier *x, const Kernel *k, Making *how) {
  double ops = (double)inner_ops(k->body), most = x->c->target->simt ? MOST_OPS : measured.long_kernel;
  how->parted = is_parted(x, k);
  how->has[CLASS_ALL] = (how->parted ? 1 : 2) * ops < most;
  how->has[CLASS_NONE] = how->dead || (how->parted ? 2 : 3) * ops < most;
  how->parted &= how->has[CLASS_ALL];
}

/* The list from which blocks of kernel `k`, made for the tiles of `part` according to `how`, take their tiles; the
 * classes are in `buffer`. -1 if there is no list: on targets without threads, if every class needs work, or if only a
 * part of the blocks goes by class. */
static int32_t list_of(Classifier *x, Kernel *k, int32_t buffer, const Making *how, Part part) {
  Module *m = x->m;
  if (!x->c->target->simt || (part == WHOLE && !how->dead) || k->tests->more >= 0 || versions_place(k) != &k->body ||
      !tiles_may_be_listed(k))
    return -1;
  for (int i = 0; i < x->nlists; i++)
    if (x->lists[i].classes == buffer && x->lists[i].mixed == (part == MIXED))
      return x->lists[i].list;
  TileList own = {buffer, tiles_list(m, k, buffer), part == MIXED};
  ARENA_PUSH(m->arena, x->lists, x->nlists, own);
  return own.list;
}

/* Builds the class of a block's tile of `k`: the tile of the block itself, or the one that `list` (-1: none) names. The
 * tile's numbers go to tile[]. */
static Value *load_class(Builder *b, const Module *m, const Kernel *k, int32_t buffer, int32_t list, Value **tile) {
  static const int64_t here[MAX_RANK];
  if (list >= 0)
    return tiles_row(b, k, list, tile);
  for (int d = 0; d < k->rank && !k->leaves_out; d++)
    tile[d] = build_dim(b, OP_BLOCK, d);
  if (k->leaves_out)
    inner_edge_places(b, m, k, k->tests->first, tile);
  return build_load(b, m->fields[m->buffers[buffer].field].type, buffer, k->rank, tile, here);
}

/* Gives kernel `k` versions by the classes in `buffer`, according to `how`, for the tiles of `part`. list: the list of
 * its tiles, -1: none. */
static void add_versions(const Module *m, Kernel *k, int32_t buffer, const Making *how, Part part, int32_t list) {
  k->by_class = true;
  block_renumber(k->body, 0);
  Block **place = versions_place(k), *body = *place, *own = block_new(m->arena, body->parent);
  Block *before = list >= 0 ? block_new(m->arena, NULL) : own;
  Builder b = builder_at_end(m->arena, before);
  Value *tile[MAX_RANK];
  b.loc = k->loc;
  Value *class = load_class(&b, m, k, buffer, list, tile);
  Op *choice = NULL;
  b = list >= 0 ? builder_at_end(m->arena, own) : b;
  b.loc = k->loc;
  *place = own;
  if (k->tests->more >= 0) {
    class = settle_tiles(&b, k, body, class);
    choice = build_choice(&b, class, CLASS_DONE);
  }
  for (int is = CLASS_ALL; is < CLASSES; is++) {
    if (!how->has[is])
      continue;
    b = choice ? builder_in(&b, choice->blocks[1]) : b;
    choice = build_choice(&b, class, is);
    if (part != MIXED && (is == CLASS_ALL || !how->dead))
      add_version(m, k, body, choice, is);
  }
  if (part != UNMIXED) {
    choice->blocks[1] = body;
    body->parent = choice;
  } else if (own->parent)
    own->parent->blocks[1] = block_new(m->arena, own->parent);
  if (list >= 0)
    tiles_by_list(k, list, buffer, before, tile);
}

/* Adds a kernel for the mixed tiles of kernel number `index`, and for its tiles at edges if it has a version for them.
 * Returns its number. */
static int32_t add_mixed(Classifier *x, int index, int32_t buffer, const Making *how) {
  Module *m = x->m;
  Kernel own = m->kernels[index];
  block_renumber(own.body, 0);
  own.name = inner_name(m, &own, "mixed");
  own.body = block_clone(m->arena, own.body, NULL, NULL);
  own.arrays = ARENA_ARRAY(m->arena, Array, own.narrays + 1);
  if (own.narrays)
    memcpy(own.arrays, m->kernels[index].arrays, sizeof *own.arrays * (size_t)own.narrays);
  add_versions(m, &own, buffer, how, MIXED, list_of(x, &own, buffer, how, MIXED));
  own.skips_dry = how->has[CLASS_NONE];
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, own);
  return m->nkernels - 1;
}

/* The plans for the first `count` kernels. A kernel and the one that is launched instead of it both get a kernel for
 * mixed tiles, or neither does. */
static Making *make_plans(const Classifier *x, const bool *steps, int count) {
  Module *m = x->m;
  const bool *dead = find_dead(x, steps, count);
  Making *how = ARENA_ARRAY(m->arena, Making, count + 1);
  for (int i = 0; i < count; i++) {
    how[i].dead = dead[i];
    if (steps[i] && has_classes(&m->kernels[i]))
      choose_versions(x, &m->kernels[i], &how[i]);
  }
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < count; i++) {
      int other = m->kernels[i].instead - 1;
      if (other >= 0 && how[i].parted != how[other].parted)
        how[i].parted = how[other].parted = false;
    }
  return how;
}

/* Makes the host launch the kernels for mixed tiles: mixed[i] is the one of kernel i, of the first `count`; -1:
 * none. */
static void launch_mixed(Classifier *x, int count, const int32_t *mixed) {
  Module *m = x->m;
  HostSeq *q;
  for (int i = 0; i < count; i++)
    if (mixed[i] >= 0 && m->kernels[i].instead)
      m->kernels[mixed[i]].instead = mixed[m->kernels[i].instead - 1] + 1;
  for (int i = 0; (q = host_part(m, i)); i++)
    host_launch_beside(m, q, count, mixed);
}

/* Is kernel `i` one of x->first? */
static bool is_first(const Classifier *x, int i) {
  bool is = false;
  for (int k = 0; k < x->nfirst; k++)
    is = is || x->first[k] == i;
  return is;
}

/* Reorders the launches that the pass has added to those made once, from number `from` on: the kernels of x->first come
 * first, concurrently, because each of them waits for memory more than it computes. One after the other, finding
 * the classes for three kernels and copying a field took 1.0 ms (heat, 8192 x 8192, H200, 2026-11-29). */
static void launch_first(const Classifier *x, int from) {
  HostSeq *q = &x->m->host.once;
  HostOp *ops = ARENA_ARRAY(x->m->arena, HostOp, q->nops + 1);
  int n = 0;
  for (int round = 0; round < 2; round++)
    for (int i = from; i < q->nops; i++)
      if (is_first(x, q->ops[i].a) == !round) {
        ops[n] = q->ops[i];
        ops[n].beside = !round && n;
        n++;
      }
  if (n)
    memcpy(q->ops + from, ops, (size_t)n * sizeof *ops);
}

/* ---- the pass */

/* Copies the lists to which the pass adds, because other modules may share them. */
static void own_lists(Module *m) {
  Module old = *m;
  m->scalars = NULL;
  m->fields = NULL;
  m->buffers = NULL;
  m->kernels = NULL;
  m->host.once.ops = NULL;
  m->nscalars = m->nfields = m->nbuffers = m->nkernels = m->host.once.nops = 0;
  for (int i = 0; i < old.nscalars; i++)
    ARENA_PUSH(m->arena, m->scalars, m->nscalars, old.scalars[i]);
  for (int i = 0; i < old.nfields; i++)
    ARENA_PUSH(m->arena, m->fields, m->nfields, old.fields[i]);
  for (int i = 0; i < old.nbuffers; i++)
    ARENA_PUSH(m->arena, m->buffers, m->nbuffers, old.buffers[i]);
  for (int i = 0; i < old.nkernels; i++)
    ARENA_PUSH(m->arena, m->kernels, m->nkernels, old.kernels[i]);
  for (int i = 0; i < old.host.once.nops; i++)
    ARENA_PUSH(m->arena, m->host.once.ops, m->host.once.nops, old.host.once.ops[i]);
}

/* Does any kernel of `m` have tests, so that it may get versions by class? */
static bool has_any(const Module *m) {
  bool any = false;
  for (int i = 0; i < m->nkernels; i++)
    any = any || m->kernels[i].tests;
  return any;
}

Module *pass_tile_classes(PassContext *c, Module *m, int n, const PassOption *o) {
  Classifier x = {.c = c, .m = m};
  (void)n, (void)o;
  if (!has_any(m))
    return m;
  own_lists(m);
  const bool *steps = step_kernels(m);
  int count = m->nkernels, made = m->host.once.nops;
  const Making *how = make_plans(&x, steps, count);
  int32_t *mixed = ARENA_ARRAY(m->arena, int32_t, count + 1);
  bool *dead = ARENA_ARRAY(m->arena, bool, count + 1);
  for (int i = 0; i < count; i++) {
    const bool *has = how[i].has;
    mixed[i] = -1;
    dead[i] = how[i].dead;
    if (!has[CLASS_ALL] && !has[CLASS_NONE] && !(steps[i] && computes_more(&m->kernels[i])))
      continue;
    int32_t buffer = classes_of(&x, i, dead[i]);
    if (how[i].parted)
      mixed[i] = add_mixed(&x, i, buffer, &how[i]);
    Part part = how[i].parted ? UNMIXED : WHOLE;
    int32_t list = list_of(&x, &m->kernels[i], buffer, &how[i], part);
    add_versions(m, &m->kernels[i], buffer, &how[i], part, list);
    m->kernels[i].skips_dry = dead[i];
    simplify_kernel(c, m, &m->kernels[i]);
    pass_stat(c, 1, "tile-classes", "kernels with versions by class of tile%s%s: %s",
              dead[i] ? ", nothing to do for dry ones" : "", how[i].parted ? ", mixed ones apart" : "",
              m->kernels[i].name);
  }
  launch_mixed(&x, count, mixed);
  add_copies(&x, dead, count);
  launch_first(&x, made);
  for (int i = 0; i < m->nkernels; i++)
    m->kernels[i].tests = NULL;
  for (int i = count; i < m->nkernels; i++)
    simplify_kernel(c, m, &m->kernels[i]);
  return m;
}
