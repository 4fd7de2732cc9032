/* lower-host.c: makes buffers, kernels and their names, and the host part of the paper's Algorithm 5: launches, swaps,
 * and launches for remaining time steps.
 *
 * Some kernels are faster but only valid for some params, such as a kernel that moves whole vectors if rows are
 * multiples of 16 bytes. A lowering then makes two kernels: `kernel_multiple` records the required multiples,
 * `kernel_instead` the kernel for all other params (see docs/ir.md). The host part chooses between them for each
 * run. */
#include "passes/lower/lower.h"

#include <string.h>

/* Adds the buffer for copy `copy` of field `f`. */
static void add_buffer(Lowering *lo, int f, int copy) {
  Module *out = lo->out;
  const char *name = out->fields[f].name;
  Buffer b = {.name = copy ? arena_printf(out->arena, "%s.next", name) : name, .field = f, .copy = copy};
  lo->copy[copy][f] = out->nbuffers;
  ARENA_PUSH(out->arena, out->buffers, out->nbuffers, b);
}

/* Adds the buffers of the launch-time arrays, the module's first buffers: array number i is buffer i. Their names are
 * unique, because in backward programs a field and an array may have the same name. */
static void add_param_buffers(Module *out) {
  for (int i = 0; i < out->nparam_arrays; i++) {
    const ParamArray *a = &out->param_arrays[i];
    const char *name = module_find_field(out, a->name) < 0 ? a->name : arena_printf(out->arena, "%s.array", a->name);
    Buffer b = {.name = name, .kind = BUFFER_PARAM, .field = i};
    if (array_is_passing(out, i))
      b = (Buffer){.name = name, .kind = BUFFER_SCRATCH, .type = a->type, .cells = 1, .each = a->each};
    ARENA_PUSH(out->arena, out->buffers, out->nbuffers, b);
  }
}

/* Copies the module's list of checks, so that more can be added. */
static void own_checks(Module *out) {
  const Check *checks = out->checks;
  int n = out->nchecks;
  out->checks = NULL;
  out->nchecks = 0;
  for (int i = 0; i < n; i++)
    ARENA_PUSH(out->arena, out->checks, out->nchecks, checks[i]);
}

/* Sets first[f] for fields that the `n` launches at `l` use, and second[f] for those that need a second buffer. */
static void note_buffers(int n, Launch *const *l, bool *first, bool *second) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < l[i]->nuses; k++) {
      const FieldUse *u = &l[i]->uses[k];
      first[u->field] = first[u->field] || u->loaded || u->stored || u->from >= 0;
      second[u->field] = second[u->field] || (u->paired && u->into < 0);
    }
}

/* A hash table of the names of the first `n` kernels, with `size` places, a power of two, of which at most half are
 * taken. */
typedef struct KernelNames {
  int32_t n, size;
  const char **at;
} KernelNames;

/* The place of `name` in the table, or the free place where it belongs. */
static const char **name_place(const KernelNames *names, const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (const char *c = name; *c; c++)
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  uint32_t i = hash & (uint32_t)(names->size - 1);
  while (names->at[i] && strcmp(names->at[i], name))
    i = (i + 1) & (uint32_t)(names->size - 1);
  return &names->at[i];
}

/* Adds the names of kernels that were made since the last call. */
static void note_names(KernelNames *names, const Module *out) {
  if (names->size < 2 * out->nkernels + 2) {
    names->size = names->size ? names->size : 64;
    while (names->size < 4 * out->nkernels)
      names->size *= 2;
    names->at = ARENA_ARRAY(out->arena, const char *, names->size);
    names->n = 0;
  }
  for (; names->n < out->nkernels; names->n++)
    *name_place(names, out->kernels[names->n].name) = out->kernels[names->n].name;
}

/* An identifier made from `name` that no kernel has yet. */
static const char *unique_name(const Lowering *lo, const char *name) {
  const Module *out = lo->out;
  const char *base = arena_identifier(out->arena, name), *s = base;
  note_names(lo->names, out);
  for (int i = 2; *name_place(lo->names, s); i++)
    s = arena_printf(out->arena, "%s_%d", base, i);
  return s;
}

Lowering *lowering_new(PassContext *c, const Module *m, int nsteps, Launch *const *steps, int ntiles,
                       Launch *const *tiles) {
  Lowering *lo = ARENA_NEW(c->arena, Lowering);
  *lo = (Lowering){.c = c,
                   .m = m,
                   .out = module_derive(m, LEVEL_KIR),
                   .names = ARENA_NEW(c->arena, KernelNames),
                   .inits = init_launches(m)};
  own_checks(lo->out);
  add_param_buffers(lo->out);
  for (int copy = 0; copy < 2; copy++)
    lo->copy[copy] = ARENA_ARRAY(c->arena, int32_t, m->nfields);
  bool *first = ARENA_ARRAY(c->arena, bool, m->nfields), *second = ARENA_ARRAY(c->arena, bool, m->nfields);
  note_buffers(m->ninits, lo->inits, first, second);
  note_buffers(nsteps, steps, first, second);
  note_buffers(ntiles, tiles, first, second);
  for (int f = 0; f < m->nfields; f++) {
    lo->copy[0][f] = lo->copy[1][f] = -1;
    if (first[f] || !m->fields[f].temp)
      add_buffer(lo, f, 0);
    if (second[f])
      add_buffer(lo, f, 1);
  }
  return lo;
}

int load_buffer(const Lowering *lo, int field) { return lo->copy[0][field]; }
int store_buffer(const Lowering *lo, const Launch *l, int field) {
  const FieldUse *u = launch_use(l, field);
  return u->paired && u->into >= 0 ? lo->copy[0][u->into] : lo->copy[u->paired][field];
}

const char *group_name(const Lowering *lo, const Launch *l, const char *family, bool several) {
  Arena *a = lo->out->arena;
  const Stencil *st = l->st, *last = l->st + l->n - 1;
  if (!several)
    return arena_printf(a, "%s_%s_t%d", l->m->name, family, l->steps);
  while (st < last && is_history_stencil(l->m, st))
    st++;
  if (st == last)
    return arena_printf(a, "%s_%s_%s", l->m->name, family, st->name);
  return arena_printf(a, "%s_%s_%s_%s%s", l->m->name, family, st->name, st + 1 == last ? "" : "to_", last->name);
}

int lowering_kernel(Lowering *lo, const char *name, int steps, Loc loc) {
  Module *out = lo->out;
  Kernel k = {.name = unique_name(lo, name),
              .rank = out->grid.rank,
              .steps = steps,
              .body = block_new(out->arena, NULL),
              .loc = loc};
  for (int d = 0; d < MAX_RANK; d++)
    k.threads[d] = k.tile[d] = 1;
  ARENA_PUSH(out->arena, out->kernels, out->nkernels, k);
  return out->nkernels - 1;
}

bool kernel_multiple(Lowering *lo, int kernel, Affine value, int64_t of) {
  Kernel *k = &lo->out->kernels[kernel];
  int holds = affine_multiple(value, of);
  for (int i = 0; i < k->nmultiples; i++)
    if (affine_equal(k->multiples[i].value, value) && k->multiples[i].of % of == 0)
      return true;
  if (holds == 0)
    ARENA_PUSH(lo->out->arena, k->multiples, k->nmultiples, ((Multiple){value, of}));
  return holds >= 0;
}

void kernel_instead(Lowering *lo, int kernel, int other) {
  Kernel *k = &lo->out->kernels[kernel];
  k->instead = k->nmultiples ? other + 1 : 0;
}

int kernel_array(Lowering *lo, Kernel *k, const char *name, Type t, Space space, const int32_t *cells,
                 const int32_t *pad_lo, const int32_t *pad_hi) {
  return kernel_array_of(lo, k, k->rank, name, t, space, cells, pad_lo, pad_hi);
}

int kernel_array_of(Lowering *lo, Kernel *k, int rank, const char *name, Type t, Space space, const int32_t *cells,
                    const int32_t *pad_lo, const int32_t *pad_hi) {
  Array a = {.name = name, .type = t, .space = space, .rank = rank, .storage = -1};
  for (int d = 0; d < rank; d++) {
    a.pad_lo[d] = pad_lo ? pad_lo[d] : 0;
    a.pad_hi[d] = pad_hi ? pad_hi[d] : 0;
    a.shape[d] = cells[d] + a.pad_lo[d] + a.pad_hi[d];
  }
  ARENA_PUSH(lo->out->arena, k->arrays, k->narrays, a);
  return k->narrays - 1;
}

int vector_cells(Type t, int V) {
  int n = type_size(t) > 2 ? 16 / (int)type_size(t) : 8;
  while (n > 1 && V % n)
    n /= 2;
  return n > 1 ? n : 1;
}

/* Do the boxes have the same bounds in dimension `d`? */
static bool same_bounds(const Box *x, const Box *y, int d) {
  return affine_equal(x->lo[d], y->lo[d]) && affine_equal(x->hi[d], y->hi[d]);
}

bool rows_are_dense(const Module *m) {
  bool dense = true;
  for (int f = 0; f < m->nfields; f++)
    dense = dense && !m->fields[f].pitch;
  return dense;
}

/* Do the rows of field `f`, which has the grid's points in the last dimension, consist of whole vectors for lanes of V
 * cells? Restricts `kernel` to params for which they do. If points beyond the ends of rows are images, rows must also
 * consist of whole lanes. */
static bool whole_rows(Lowering *lo, const Launch *l, int kernel, const Field *f, int V) {
  const Module *m = l->m;
  Arena *a = lo->out->arena;
  int x = m->grid.rank - 1;
  if (!f->pitch)
    return rows_are_dense(m) && kernel_multiple(lo, kernel, box_extent(a, &m->grid, x), V);
  bool images = l->wraps[x] || f->outside[x] == OUTSIDE_PERIODIC;
  return (!images || kernel_multiple(lo, kernel, box_extent(a, &m->grid, x), V)) &&
         kernel_multiple(lo, kernel, field_row(a, f), vector_cells(f->type, V));
}

bool *kernel_vectors(Lowering *lo, const Launch *l, int kernel, int V) {
  const Module *m = l->m;
  int x = m->grid.rank - 1;
  Box wrapped = {.lo[0] = l->wrap_lo[x], .hi[0] = l->wrap_hi[x]},
      row = {.lo[0] = m->grid.lo[x], .hi[0] = m->grid.hi[x]};
  bool *vectors = ARENA_ARRAY(lo->out->arena, bool, m->nfields + 1),
       lanes = !l->wraps[x] || same_bounds(&wrapped, &row, 0);
  for (int k = 0; k < l->nuses && lanes; k++) {
    const FieldUse *u = &l->uses[k];
    const Field *f = &m->fields[u->field];
    vectors[u->field] = (u->loaded || u->stored) && vector_cells(f->type, V) > 1 && same_bounds(&f->box, &m->grid, x) &&
                        whole_rows(lo, l, kernel, f, V);
  }
  return vectors;
}

/* Adds an op to a sequence. */
static void push_host_op(Lowering *lo, HostSeq *seq, HostOp op) { ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, op); }

/* Adds the swaps that must follow launch `l` to `seq`. */
static void push_swaps(Lowering *lo, HostSeq *seq, const Launch *l) {
  LaunchSwap *swaps;
  int n = launch_swaps(l, &swaps);
  for (int i = 0; i < n; i++)
    push_host_op(lo, seq,
                 (HostOp){.kind = HOST_SWAP,
                          .a = lo->copy[0][swaps[i].field],
                          .b = lo->copy[swaps[i].copy][swaps[i].of]});
}

/* The stage of stencil number `i` of the step; INT32_MAX if there is no such stencil. */
static int stage_of(const Module *m, int64_t i) { return i < m->nstencils ? m->stencils[i].stage : INT32_MAX; }

void host_swaps(Lowering *lo, HostSeq *seq, const Launch *l) {
  push_swaps(lo, seq, l);
  if (module_has_stages(lo->m))
    lower_updates(lo, seq, l->given->stage, stage_of(lo->m, l->given - l->first + l->ngiven));
}

void host_launch(Lowering *lo, HostSeq *seq, int k) { push_host_op(lo, seq, (HostOp){.kind = HOST_LAUNCH, .a = k}); }

const Box *launch_covers(const Module *m) { return m->part ? &m->part->gives : &m->grid; }

Box box_of_part(const Module *m, Box box) {
  const Box *gives = launch_covers(m);
  for (int d = 0; d < box.rank; d++)
    if (!same_bounds(gives, &m->grid, d)) {
      box.lo[d] = gives->lo[d];
      box.hi[d] = gives->hi[d];
    }
  return box;
}

Box box_of_targets(const Launch *l, Box box) {
  const Field *f = &l->m->fields[l->st->targets[0]];
  for (int d = 0; d < box.rank; d++)
    if (field_lacks(f, d)) {
      box.lo[d] = f->box.lo[d];
      box.hi[d] = f->box.hi[d];
    }
  return box;
}

HostSeq *init_seq(Lowering *lo, const Stencil *st) { return st->once ? &lo->out->host.once : &lo->out->host.init; }

HostSeq *host_seq(Lowering *lo, int steps) {
  Host *h = &lo->out->host;
  ARENA_PUSH(lo->out->arena, h->seqs, h->nseqs, ((HostSeq){.steps = steps}));
  lower_updates(lo, &h->seqs[h->nseqs - 1], 0, stage_of(lo->m, 0));
  return &h->seqs[h->nseqs - 1];
}

void init_seqs(Lowering *lo, const int32_t *block, InitFn fn) {
  const Module *m = lo->m;
  for (int i = 0; i < m->ninits; i++) {
    const Stencil *st = lo->inits[i]->st;
    HostSeq *seq = init_seq(lo, st);
    const char *name = arena_printf(m->arena, "%s_init_%s", m->name, st->name);
    for (int t = 0; t < st->ntargets; t++) {
      bool one = st->ntargets == 1;
      int target = st->targets[t];
      fn(lo, seq, lo->inits[i], one ? -1 : target,
         one ? name : arena_printf(m->arena, "%s_%s", name, m->fields[target].name), block);
    }
    push_swaps(lo, seq, lo->inits[i]);
  }
}

bool lower_has_check(const Module *out, Affine value) {
  for (int i = 0; i < out->nchecks; i++)
    if (affine_equal(out->checks[i].value, value) && !out->checks[i].unless_empty[0])
      return true;
  return false;
}

/* Adds a check that kernel `k` needs no more blocks in dimension `d` than the target can start, unless that always
 * holds. */
static void check_grid(Lowering *lo, const Kernel *k, int d) {
  Module *out = lo->out;
  bool shares = k->rank > GRID_RANK &&
                d <= k->rank - GRID_RANK; /* members share this dimension with others: plan_blocks sees to it */
  int64_t limit = shares ? 0 : lo->c->target->max_grid[k->rank - 1 - d], points;
  if (limit <= 0 || limit >= INT32_MAX || __builtin_mul_overflow(limit, (int64_t)k->tile[d], &points))
    return;
  Check check = {.value = affine_sub(out->arena, affine_const(points), k->extent[d]), .loc = k->loc};
  if (!check.value.n && check.value.c >= 0)
    return;
  if (lower_has_check(out, check.value))
    return;
  check.message =
      out->members && d == 0
          ? arena_printf(out->arena,
                         "the target starts at most %lld blocks for members, and one of kernel '%s' is for %d of them; "
                         "give -block and -elems three numbers, or make several runs",
                         (long long)limit, k->name, k->tile[d])
          : arena_printf(out->arena,
                         "the target starts at most %lld blocks in dimension %d and a block of kernel '%s' covers %d "
                         "points there; "
                         "take a larger -block or -elems, or a smaller grid",
                         (long long)limit, shown_dimension(out, d), k->name, k->tile[d]);
  ARENA_PUSH(out->arena, out->checks, out->nchecks, check);
}

/* Does kernel `k` write the field of probe number `probe`? */
static bool is_probe_kernel(const Module *out, const Kernel *k, int probe) {
  for (int i = 0; i < k->nargs; i++) {
    const Buffer *b = k->args[i].kind == KARG_BUFFER && k->args[i].writes ? &out->buffers[k->args[i].index] : NULL;
    if (b && b->kind == BUFFER_FIELD && out->fields[b->field].series == probe + 1)
      return true;
  }
  return false;
}

/* Moves the launches of probe number `i` from the init sequence to the probe. */
static void take_launches(Module *out, int i) {
  HostSeq *init = &out->host.init;
  int n = 0;
  for (int k = 0; k < init->nops; k++) {
    HostOp op = init->ops[k];
    if (op.kind == HOST_LAUNCH && is_probe_kernel(out, &out->kernels[op.a], i))
      ARENA_PUSH(out->arena, out->probes[i].seq.ops, out->probes[i].seq.nops, op);
    else
      init->ops[n++] = op;
  }
  init->nops = n;
}

/* Makes the probes' kernel IR: they lose their bodies and get launches. */
static void lower_probes(Lowering *lo) {
  Module *out = lo->out;
  Probe *probes = ARENA_ARRAY(out->arena, Probe, out->nprobes + 1);
  for (int i = 0; i < out->nprobes; i++) {
    probes[i] = out->probes[i];
    probes[i].body = NULL;
  }
  out->probes = probes;
  for (int i = 0; i < out->nprobes; i++)
    take_launches(out, i);
}

Module *lowering_finish(Lowering *lo, const Schedule *s) {
  lower_repeats(lo);
  lower_slices(lo);
  if (!lo->c->sketch)
    lower_reductions(lo, s);
  for (int i = 0; i < lo->out->nkernels; i++) {
    kernel_set_args(lo->out, &lo->out->kernels[i]);
    for (int d = 0; d < lo->out->grid.rank; d++)
      check_grid(lo, &lo->out->kernels[i], d);
  }
  lower_probes(lo);
  return lo->out;
}
