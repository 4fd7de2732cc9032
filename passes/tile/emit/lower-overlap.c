/* lower-overlap.c: overlapped tiles on targets with threads: Algorithms 1, 3, 4 and 5 of the paper.
 *
 *   block of B threads, E elements each:   | halo |      W points that are stored      | halo |    W = B * E - halo
 *
 * A block computes B * E cells, all of them in every instance. Cells too near to the block's edge get wrong values that
 * are not used: instance i is right on its extent around the output tile (Algorithm 2), and only the W points of the
 * output tile (equation 1) are stored at the end.
 *
 * *Versions*. A thread keeps its own values in private arrays, even versions of F in `rF.0` and odd ones in `rF.1`
 * (more arrays if older versions are still needed). A version that other threads read is in the shared array
 * `sF.version` (equation 3). A version gets a shared array only if it has near accesses; T = 1 with one stencil takes
 * no shared memory.
 *
 * *Cells of a thread*. In the last dimension element e of a thread is cell thread + e * B: neighbouring threads access
 * neighbouring addresses. In the other dimensions it is cell thread * E + e: neighbours there are mostly the thread's
 * own and come from its registers. The paper strides in all dimensions. Contiguous elements take the accesses along
 * slow dimensions off shared memory: with E = 8 a five-point stencil makes 2.25 shared loads a point in place of 4. For
 * that, the code is unrolled for each element of the slow dimensions, and is a loop to unroll over those of the last.
 *
 * *Accesses*. The values that an access reads come from:
 * - version 0: global memory; own values that several instances need from a private array, loaded once
 * - own: the private array of that version: even and odd versions alternate between two
 * - near, to another element of the same thread: the same private array
 * - near, else: the shared array of that version
 *
 * *Pads*. If roots and quotients are tested together (`range-guards`), no pad is read: its earlier contents, tiny, huge
 * or NaN, would make the test fail for a whole warp, and again in each later instance. A cell that would read a pad
 * reads a cell of the tile instead; its result is not needed. That is a comparison and a select for each offset, once
 * for all instances.
 *
 * *Kernels*. There are a kernel of T steps and one of 1 step, made of the last level's instances, whose extents are
 * what one step needs, with as few elements a thread as they allow. The host runs the first while it does not go too
 * far. There may be a kernel for a number of steps in between, made of the last levels.
 *
 * A field smaller than the grid may turn out to have no points. Its buffer is laid out as if each empty dimension had
 * one, so that cells that tiles load ahead, and never use, lie inside the buffer. */
#include "passes/tile/emit/lower-frame.h"
#include "passes/tile/emit/lower-overlap.h"
#include "passes/registry.h"

/* The state of accesses of instance `i` at a cell. */
typedef struct CellUse {
  const Tile *t;
  int i;
  const Cell *cell;
} CellUse;

/* ---- arrays */

/* Is the point's own version 0 of field `f` kept in the private array from the start? It is if it is used often, and if
 * the field is written in place: then only its own thread may read it. */
static bool is_cached(const Launch *l, int f) {
  const FieldUse *u = launch_use(l, f);
  return u->own_loads > 1 || (u->own_loads > 0 && u->stored && !u->paired);
}

/* Makes the private arrays of field `f`. */
static void make_own_arrays(Tile *t, int f) {
  const Field *field = &t->l->m->fields[f];
  int first = is_cached(t->l, f) ? 0 : 1, last = launch_use(t->l, f)->versions, depth = launch_use(t->l, f)->depth;
  t->own[f] = ARENA_ARRAY(t->l->m->arena, int32_t, depth);
  for (int p = 0; p < depth; p++) {
    bool used = p >= first ? p <= last : p + depth <= last;
    t->own[f][p] = !used ? -1
                         : kernel_array(t->lo, t->k, arena_printf(t->l->m->arena, "r%s.%d", field->name, p),
                                        field->type, SPACE_PRIVATE, t->s->elems, NULL, NULL);
  }
}

/* Makes the shared arrays of field `f`, one for each version that has near accesses. */
static void make_near_arrays(Tile *t, int f) {
  const FieldUse *u = launch_use(t->l, f);
  const Field *field = &t->l->m->fields[f];
  Arena *a = t->l->m->arena;
  int32_t cells[MAX_RANK];
  for (int d = 0; d < t->rank; d++)
    cells[d] = t->s->block[d] * t->s->elems[d];
  t->near[f] = ARENA_ARRAY(a, int32_t, u->versions + 1);
  for (int v = 0; v <= u->versions; v++)
    t->near[f][v] = u->near[v] < 0 ? -1
                                   : kernel_array(t->lo, t->k, arena_printf(a, "s%s.%d", field->name, v), field->type,
                                                  SPACE_SHARED, cells, u->reach_lo, u->reach_hi);
}

/* Makes the kernel's arrays. */
static void make_arrays(Tile *t) {
  const Module *m = t->l->m;
  t->own = ARENA_ARRAY(m->arena, int32_t *, m->nfields);
  t->near = ARENA_ARRAY(m->arena, int32_t *, m->nfields);
  for (int f = 0; f < m->nfields; f++) {
    make_own_arrays(t, f);
    if (t->lanes)
      lanes_make_arrays(t, f);
    else
      make_near_arrays(t, f);
  }
}

/* ---- cells */

/* Sets cell, element and coordinate of `c` in dimension `d` to those of element `e`, which is a constant. */
static void fix_element(const Tile *t, Cell *c, int d, int32_t e) {
  c->fixed[d] = e;
  c->e[d] = build_int(&c->b, TY_I32, e);
  c->l[d] = e ? build2(&c->b, OP_ADD, t->l0[d], c->e[d]) : t->l0[d];
  c->g[d] = e ? build2(&c->b, OP_ADD, t->g0[d], build_int(&c->b, TY_I64, e)) : t->g0[d];
}

/* Opens the loop over the elements in the last dimension; with lanes, whose elements are unrolled, fixes element number
 * `n`. */
static void open_loop(const Tile *t, Cell *c, int32_t n) {
  int d = t->rank - 1;
  Loc loc = c->b.loc;
  if (t->s->elems[d] == 1 || t->lanes) {
    fix_element(t, c, d, n);
    return;
  }
  Op *loop =
      build_for(&c->b, build_int(&c->b, TY_I32, 0), build_int(&c->b, TY_I32, t->s->elems[d]), 1, FOR_UNROLL, 0, NULL);
  c->b = builder_at_end(c->b.arena, loop->blocks[0]);
  c->b.loc = loc;
  c->e[d] = loop->blocks[0]->args[0];
  Value *first = build2(&c->b, OP_MUL, c->e[d], build_int(&c->b, TY_I32, t->s->block[d]));
  c->l[d] = build2(&c->b, OP_ADD, t->l0[d], first);
  c->g[d] = build2(&c->b, OP_ADD, t->g0[d], build_convert(&c->b, TY_I64, first));
}

/* How often the code of a cell is unrolled: for a thread's elements in all dimensions but the last, over which there is
 * a loop; with lanes, for the elements in all dimensions. */
static int32_t written_out(const Tile *t) {
  int32_t n = 1;
  for (int d = 0; d < t->rank - !t->lanes; d++)
    n *= t->s->elems[d];
  return n;
}

/* Opens the code of the thread's cells number `n` of written_out. */
static Cell open_cell(const Tile *t, int32_t n) {
  Cell c = {.b = t->b};
  int32_t row = t->lanes ? t->s->elems[t->rank - 1] : 1, last = n % row;
  n /= row;
  for (int d = t->rank - 2; d >= 0; d--) {
    fix_element(t, &c, d, n % t->s->elems[d]);
    n /= t->s->elems[d];
  }
  open_loop(t, &c, last);
  for (int d = 0; d < t->rank; d++)
    c.w[d] = t->l->wraps[d] ? build_map(&c.b, OP_WRAP, c.g[d], 0, t->l->wrap_lo[d], t->l->wrap_hi[d]) : c.g[d];
  return c;
}

/* The private array that holds version `v` of field `f`. */
int own_array(const Tile *t, int f, int v) { return t->own[f][v % launch_use(t->l, f)->depth]; }

/* The value of version `v` of field `f` at the thread's element `off` away from that of the cell (NULL: at the
 * cell). */
static Value *own_value(const Tile *t, Builder *b, const Cell *c, int f, int v, const int64_t *off) {
  return build_aload(b, t->l->m->fields[f].type, own_array(t, f, v), v, t->rank, c->e, off);
}

/* Sets version `v` of field `f` at the cell to `x`. */
static void set_own(const Tile *t, Cell *c, int f, int v, Value *x) {
  build_astore(&c->b, own_array(t, f, v), v, x, t->rank, c->e, NULL);
}

/* Is the cell `off` away another element of the same thread? */
static bool is_own_element(const Tile *t, const Cell *c, const int64_t *off) {
  for (int d = 0; d < t->rank - 1; d++)
    if (c->fixed[d] + off[d] < 0 || c->fixed[d] + off[d] >= t->s->elems[d])
      return false;
  return off[t->rank - 1] == 0;
}

/* Does the launch compute roots or quotients that are tested together (pass range-guards)? */
static bool has_tests(const Tile *t) {
  bool fast = t->l->m->fast_math;
  for (int i = 0; i < t->l->n && t->lo->c->target->range_guards; i++)
    for (int k = 0; k < t->l->st[i].npieces; k++)
      for (const Op *op = t->l->st[i].pieces[k].body->first; op; op = op->next) {
        bool slow = op->code == OP_SQRT || op->code == OP_RSQRT || op->code == OP_DIV;
        if (slow && (op->results[0]->type == TY_F64 || (op->results[0]->type == TY_F32 && !fast)))
          return true;
      }
  return false;
}

/* The cell, in dimension `d`, from which the access to `field` at offset `off` is made. It is the cell itself, unless
 * that access would read a pad, and roots or quotients are tested: then it is a cell from which the access leads to one
 * that no other access of the cell reads. No result depends on values of pads, but one number that is tiny or huge
 * makes a test fail for the whole warp, and so does a difference of a value from itself. */
static Value *leading_cell(const Tile *t, Builder *b, const Cell *c, int field, int d, int64_t off) {
  const FieldUse *u = launch_use(t->l, field);
  bool fixed = d < t->rank - 1, own = c->fixed[d] + off >= 0 && c->fixed[d] + off < t->s->elems[d];
  int64_t last = (int64_t)t->s->block[d] * t->s->elems[d] - 1,
          aside = off < 0 ? u->reach_hi[d] + 1 - off : -(int64_t)u->reach_lo[d] - 1 - off;
  if (!t->tests || off == 0 || (fixed && own))
    return c->l[d];
  Value *leaves = build2(b, off < 0 ? OP_LT : OP_GT, c->l[d], build_int(b, TY_I32, off < 0 ? -off : last - off));
  return build3(b, OP_SELECT, leaves, build2(b, OP_ADD, c->l[d], build_int(b, TY_I32, aside)), c->l[d]);
}

/* The near access to version `v` of `field`: from the thread's own elements if it leads to one (with clamp and mirror:
 * in the field's region), else from the shared array. */
static Value *near_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off,
                          const Rules *rules) {
  const Module *m = t->l->m;
  if (t->lanes)
    return lanes_access(t, b, c, field, v, off, rules);
  if (!is_own_element(t, c, off)) {
    Value *cell[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
      cell[d] = leading_cell(t, b, c, field, d, off[d]);
    return access_array(b, m, field, t->k, t->near[field][v], v, rules, c->w, cell, off);
  }
  Value *own = own_value(t, b, c, field, v, off);
  for (int d = 0; d < t->rank; d++)
    if (outside_leads(rules->dim[d])) {
      Value *ruled = access_array(b, m, field, t->k, t->near[field][v], v, rules, c->w, c->l, off);
      own = inside_or_led(b, m, field, rules, c->w, off, own, ruled);
      break;
    }
  return inside_or_constant(b, m, field, rules, c->w, off, own);
}

/* Point.access: routes the access to global memory, the thread's own array or the shared array. */
static Value *cell_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *u = p->user;
  const Tile *t = u->t;
  Version from = launch_reads(t->l, field, u->i);
  int v = from.version;
  bool own = rules_none(rules);
  field = from.field;
  for (int d = 0; d < t->rank; d++)
    own = own && off[d] == 0;
  if (v == 0 && launch_use(t->l, field)->fresh)
    return build_const(b, p->m->fields[field].type, (Const){0});
  if (own && (v > 0 || is_cached(t->l, field)))
    return own_value(t, b, u->cell, field, v, NULL);
  if (v == 0)
    return t->lanes ? lanes_load(t, b, u->cell, field, off, rules)
                    : access_global(b, p->m, field, load_buffer(t->lo, field), rules, u->cell->w, off, true);
  return near_access(t, b, u->cell, field, v, off, rules);
}

/* The value that the point keeps where no piece writes `field`; NULL for a temp field that this step has not
 * written. */
static Value *old_value(Point *p, Builder *b, int field) {
  const CellUse *u = p->user;
  static const int64_t here[MAX_RANK];
  static const Rules none;
  if (!launch_holds(u->t->l, field, u->i))
    return NULL;
  return point_access(p, b, field, here, &none);
}

/* ---- code */

/* Computes the coordinates of the block and of the thread's element 0. */
static void place_block(Tile *t) {
  const Module *m = t->l->m;
  for (int d = 0; d < t->rank; d++) {
    int32_t stride = d < t->rank - 1 || t->lanes ? t->s->elems[d] : 1;
    t->l0[d] = build_dim(&t->b, OP_THREAD, d);
    if (stride > 1)
      t->l0[d] = build2(&t->b, OP_MUL, t->l0[d], build_int(&t->b, TY_I32, stride));
    Value *tile = build2(&t->b, OP_MUL, build_dim(&t->b, OP_BLOCK, d), build_int(&t->b, TY_I64, t->k->tile[d]));
    Value *start = build2(&t->b, OP_ADD, tile,
                          build_affine(&t->b, m, affine_add_const(launch_covers(m)->lo[d], -t->dim[d].below)));
    t->g0[d] = build2(&t->b, OP_ADD, start, build_convert(&t->b, TY_I64, t->l0[d]));
  }
  t->step = stencils_use_step(t->l->n, t->l->st) ? build_step(&t->b) : NULL;
}

/* Loads the values before the launch of the fields whose version 0 is kept, at cells number `n`, to the private
 * arrays. */
static void load_cached(const Tile *t, int32_t n) {
  static const int64_t here[MAX_RANK];
  static const Rules none;
  bool any = false;
  for (int f = 0; f < t->l->m->nfields; f++)
    any = any || is_cached(t->l, f);
  if (!any)
    return;
  Cell c = open_cell(t, n);
  for (int f = 0; f < t->l->m->nfields; f++) {
    if (!is_cached(t->l, f))
      continue;
    bool in_place = launch_use(t->l, f)->stored && !launch_use(t->l, f)->paired;
    set_own(t, &c, f, 0,
            in_place   ? load_if_inside(&c.b, t->l->m, f, load_buffer(t->lo, f), c.g)
            : t->lanes ? lanes_load(t, &c.b, &c, f, here, &none)
                       : access_global(&c.b, t->l->m, f, load_buffer(t->lo, f), &none, c.w, here, true));
  }
}

/* Is the cell in the output tile, not in the halo? NULL: always. */
static Value *in_tile(const Tile *t, Cell *c);

/* Stores `v`, the value that a probe sees at the cell: nothing reads its field, so the value need not wait for the
 * end. */
static void store_seen(const Tile *t, const Cell *c, int f, Value *v) {
  Cell at = *c;
  Value *mine = in_tile(t, &at), *test = has_value_after(t->l, &at.b, f, at.g);
  if (mine)
    test = build2(&at.b, OP_AND, mine, test);
  Builder in = build_then(&at.b, test);
  build_store(&in, store_buffer(t->lo, t->l, f), v, t->rank, at.g, NULL);
}

/* Algorithm 4's statement part: instance `i` at the thread's cells number `n`, into the private arrays. */
static void compute(const Tile *t, int i, int32_t n) {
  const Stencil *st = &t->l->st[i];
  Cell c = open_cell(t, n);
  CellUse use = {t, i, &c};
  Point p = {.m = t->l->m, .access = cell_access, .user = &use, .lo = t->lo, .guarded = true};
  for (int d = 0; d < t->rank; d++)
    p.index[d] = c.w[d];
  int64_t level = st->level - t->l->first_level;
  p.step = t->step && level ? build2(&c.b, OP_ADD, t->step, build_int(&c.b, TY_I64, level)) : t->step;
  Value **values = stencil_values(&p, &c.b, st, old_value);
  for (int k = 0; k < st->ntargets; k++)
    if (t->l->m->fields[st->targets[k]].series)
      store_seen(t, &c, st->targets[k], values[k]);
    else
      set_own(t, &c, st->targets[k], launch_version(t->l, st->targets[k], i + 1), values[k]);
}

/* Stores the new values of instance `i` at cells number `n` to shared arrays, for those fields that other points
 * read. */
static void publish(const Tile *t, int i, int32_t n) {
  const Stencil *st = &t->l->st[i];
  bool any = false;
  for (int k = 0; k < st->ntargets; k++)
    any = any || t->near[st->targets[k]][launch_version(t->l, st->targets[k], i + 1)] >= 0;
  if (!any || t->lanes)
    return;
  Cell c = open_cell(t, n);
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], v = launch_version(t->l, f, i + 1), array = t->near[f][v];
    if (array < 0)
      continue;
    int64_t pad[MAX_RANK] = {0};
    for (int d = 0; d < t->rank; d++)
      pad[d] = t->k->arrays[array].pad_lo[d];
    build_astore(&c.b, array, v, own_value(t, &c.b, &c, f, v, NULL), t->rank, c.l, pad);
  }
}

/* Like publish, for cells in the registers of lanes. */
static void publish_lanes(const Tile *t, int i) {
  const Stencil *st = &t->l->st[i];
  Builder b = t->b;
  for (int k = 0; k < st->ntargets && t->lanes; k++)
    lanes_publish(t, &b, st->targets[k], launch_version(t->l, st->targets[k], i + 1));
}

static Value *in_tile(const Tile *t, Cell *c) {
  Value *all = NULL;
  for (int d = 0; d < t->rank; d++) {
    int64_t ends[2] = {t->dim[d].below, t->dim[d].below + t->dim[d].stored};
    bool tested[2] = {t->l->hull.lo[d] > 0, t->l->hull.hi[d] > 0};
    for (int end = 0; end < 2; end++)
      if (tested[end]) {
        Value *test = build2(&c->b, end ? OP_LT : OP_GE, c->l[d], build_int(&c->b, TY_I32, ends[end]));
        all = all ? build2(&c->b, OP_AND, all, test) : test;
      }
  }
  return all;
}

/* Are fields `f` and `g` stored, and at the same points? */
static bool stored_alike(const Launch *l, int f, int g) {
  if (f == g || !launch_use(l, f)->stored || !launch_use(l, g)->stored || l->m->fields[f].series ||
      l->m->fields[g].series)
    return f == g && launch_use(l, f)->stored;
  return box_equal(&l->m->fields[g].box, &l->m->fields[f].box) && !partly_written(l, f) && !partly_written(l, g);
}

/* How many cells of field `f`, from cell `c` on, are stored at once, if `c` is the first of them; 0: it is not. */
static int stored_at_once(const Tile *t, const Cell *c, int f) {
  int n = t->lanes && t->lanes->vectors[f] && !partly_written(t->l, f)
              ? vector_cells(t->l->m->fields[f].type, t->s->elems[t->rank - 1])
              : 1;
  return c->fixed[t->rank - 1] % n ? 0 : n;
}

/* Stores field `f` at cell `c`, and those that are stored with it. */
static void store_cells(const Tile *t, Builder *b, const Cell *c, int f) {
  int n = stored_at_once(t, c, f), buffer = store_buffer(t->lo, t->l, f), last = launch_use(t->l, f)->versions;
  Value *x[16];
  for (int e = 0; e < n; e++) {
    int64_t on[MAX_RANK] = {0};
    on[t->rank - 1] = e;
    x[e] = own_value(t, b, c, f, last, n > 1 ? on : NULL);
  }
  if (n)
    cells_store(b, &(CellPlace){t->l->m->fields[f].type, buffer, NO_VERSION, t->rank, c->g, NULL}, n, x);
}

/* The final store of field `f` and of all fields that are stored at the same points, if `f` is the first of these. */
static void store_like(const Tile *t, Cell *c, Value *mine, int f) {
  const Module *m = t->l->m;
  int any = 0;
  for (int g = 0; g < f; g++)
    if (stored_alike(t->l, f, g))
      return;
  for (int g = f; g < m->nfields; g++)
    any += stored_alike(t->l, f, g) ? stored_at_once(t, c, g) : 0;
  if (!any)
    return;
  Value *test = has_value_after(t->l, &c->b, f, c->g);
  if (mine)
    test = build2(&c->b, OP_AND, mine, test);
  Builder in = build_then(&c->b, test);
  for (int g = f; g < m->nfields; g++)
    if (stored_alike(t->l, f, g))
      store_cells(t, &in, c, g);
}

/* The end of Algorithm 4, at cells number `n`: stores the tile's points to global memory. The halo is masked, and
 * images are never stored. */
static void store_tile(const Tile *t, int32_t n) {
  Cell c = open_cell(t, n);
  Value *mine = in_tile(t, &c);
  for (int f = 0; f < t->l->m->nfields; f++)
    if (launch_use(t->l, f)->stored && !t->l->m->fields[f].series)
      store_like(t, &c, mine, f);
}

/* Keeps the cells of tile `t`, of kernel `index`, in the registers of lanes. `vector`: cells of whole lanes are moved
 * by vectors. */
static void keep_in_lanes(Tile *t, int index, bool vector) {
  Arena *a = t->lo->out->arena;
  int x = t->rank - 1;
  bool aligned = affine_equal(launch_covers(t->l->m)->lo[x], t->l->m->grid.lo[x]);
  t->lanes = ARENA_NEW(a, LaneCells);
  t->lanes->vectors = vector && aligned ? kernel_vectors(t->lo, t->l, index, t->s->elems[x])
                                        : ARENA_ARRAY(a, bool, t->l->m->nfields + 1);
  t->lanes->seen = cells_new(a, t->s->elems[x], t->s->block[x]);
  t->k->lanes = t->s->block[x];
}

/* Adds the kernel `name` for launch `l`. `vector`: with lanes, cells of whole lanes are moved by vectors. Returns its
 * index. */
static int overlap_kernel(Lowering *lo, const Launch *l, const Schedule *s, bool vector, const char *name, int steps) {
  int index = lowering_kernel(lo, name, steps, l->n ? l->st[0].loc : no_loc());
  Tile t = {.lo = lo, .l = l, .s = s, .k = &lo->out->kernels[index], .rank = l->m->grid.rank};
  for (int d = 0; d < t.rank; d++) {
    t.k->threads[d] = s->block[d];
    t.dim[d] = tile_dim(BLOCKED_TILE(l), s, d);
    t.k->tile[d] = (int32_t)t.dim[d].stored;
    t.k->extent[d] = box_extent(lo->out->arena, launch_covers(l->m), d);
  }
  kernel_looks(lo, index, 1, &l, launch_covers(l->m));
  t.tests = has_tests(&t);
  t.k->per_core = map_get(s, MAP_BLOCKS) > 0 ? map_get(s, MAP_BLOCKS) : 0;
  if (s->tiles == TILES_LANES)
    keep_in_lanes(&t, index, vector);
  make_arrays(&t);
  t.b = builder_at_end(lo->out->arena, t.k->body);
  t.b.loc = t.k->loc;
  place_block(&t);
  for (int32_t n = 0; n < written_out(&t); n++)
    load_cached(&t, n);
  for (int i = 0; i < l->n; i++) {
    t.b.loc = l->st[i].loc;
    lanes_begin(&t);
    for (int32_t n = 0; n < written_out(&t); n++)
      compute(&t, i, n);
    publish_lanes(&t, i);
    for (int32_t n = 0; n < written_out(&t); n++)
      publish(&t, i, n);
  }
  for (int32_t n = 0; n < written_out(&t); n++)
    store_tile(&t, n);
  return index;
}

bool overlap_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  host_launch(lo, seq, kernel_with_spare(lo, overlap_kernel, l, s, name, steps));
  return true;
}

Module *pass_lower_overlap(PassContext *c, Module *m, int n, const PassOption *o) {
  static const TileFamily family = {overlap_launch, lower_inits, NULL};
  Schedule s;
  (void)n, (void)o;
  if (!lowering_starts(c, &m, "lower-overlap", FAMILY_OVERLAP, &s))
    return NULL;
  return s.edges == EDGES_STEPS ? lower_framed(c, m, &s, overlap_launch) : lower_tiles(c, m, &s, &family);
}
