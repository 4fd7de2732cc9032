/* ir/verify/verify-kernel.c: the rules of kernels and of the host part. */
#include "ir/verify/verify.h"

#include <string.h>

static void check_buffers(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nbuffers; i++) {
    const Buffer *b = &m->buffers[i];
    verify_at(v, no_loc(), "buffer", b->name);
    if (b->kind == BUFFER_SCRATCH
            ? !type_is_scalar(b->type) || b->cells < 1
            : b->field < 0 || b->field >= (b->kind == BUFFER_FIELD ? m->nfields : m->nparam_arrays) || b->copy < 0)
      verify_fail(v, no_loc(), "what it stands for (number %d, copy %d) does not exist", b->field, b->copy);
    if (b->lead < 0 || (b->lead && (b->kind != BUFFER_FIELD || b->lead % buffer_alignment(m, i))))
      verify_fail(v, no_loc(), "lead %d; it is for fields, and a multiple of the buffer's alignment", b->lead);
    if (module_find_buffer(m, b->name) != i)
      verify_fail(v, no_loc(), "the name is taken by another buffer");
    for (int j = 0; j < i; j++)
      if (b->kind != BUFFER_SCRATCH && m->buffers[j].kind == b->kind && m->buffers[j].field == b->field &&
          m->buffers[j].copy == b->copy)
        verify_fail(v, no_loc(), "buffer '%s' is the same copy of the same field", m->buffers[j].name);
  }
}

/* Does the chain of `storage` from array `i` end, and stay in one space? */
static bool is_storage_sound(const Kernel *k, int i) {
  Space space = k->arrays[i].space;
  for (int hops = 0; hops <= k->narrays; hops++) {
    int next = k->arrays[i].storage;
    if (next < 0)
      return next == -1;
    if (next >= k->narrays || k->arrays[next].space != space)
      return false;
    i = next;
  }
  return false;
}

/* Checks one array of `k`: name, type, shape, pads, storage. */
static void check_array(Verifier *v, const Kernel *k, int i) {
  const Array *a = &k->arrays[i];
  int64_t bytes = type_size(a->type);
  if (a->rank < 1 || a->rank > MAX_RANK || a->type == TY_NONE || a->type >= TY_COMPOSITE) {
    verify_fail(v, no_loc(), "array '%s' has rank %d and type %s", a->name, a->rank, type_name(a->type));
    return;
  }
  for (int d = 0; d < a->rank; d++) {
    if (a->shape[d] < 1 || a->pad_lo[d] < 0 || a->pad_hi[d] < 0)
      verify_fail(v, no_loc(), "array '%s' has extent %d and pads %d, %d in dimension %d", a->name, a->shape[d],
                  a->pad_lo[d], a->pad_hi[d], d);
    if (a->shape[d] > 0 && bytes <= INT32_MAX)
      bytes *= a->shape[d];
  }
  if (bytes > INT32_MAX)
    verify_fail(v, no_loc(), "array '%s' takes more than %d bytes", a->name, INT32_MAX);
  if (!is_storage_sound(k, i))
    verify_fail(v, no_loc(), "the storage of array '%s' is no array of the same space, or goes round in a circle",
                a->name);
  for (int j = 0; j < i; j++)
    if (!strcmp(k->arrays[j].name, a->name))
      verify_fail(v, no_loc(), "there are two arrays '%s'", a->name);
}

/* Is there a let in `x`? Its value is known only at launch; the pass that made the let is responsible for it. */
static bool has_let(const Module *m, Affine x) {
  bool has = false;
  for (int i = 0; i < x.n; i++)
    has = has || !m->scalars[x.t[i].scalar].is_param;
  return has;
}

/* Checks threads, tile, extents, and the blocks that are left out. */
static void check_launch(Verifier *v, const Kernel *k) {
  int64_t threads = 1;
  int errors = v->errors;
  for (int d = 0; d < k->rank; d++) {
    if (k->threads[d] < 1 || k->tile[d] < 1)
      verify_fail(v, k->loc, "%d threads and a tile of %d points in dimension %d; both must be at least 1",
                  k->threads[d], k->tile[d], d);
    if (k->threads[d] > 0 && threads <= INT32_MAX)
      threads *= k->threads[d];
    verify_affine(v, k->loc, k->extent[d]);
    int64_t less;
    if (k->leaves_out)
      verify_affine(v, k->loc, k->without[d]);
    if (k->idles) {
      verify_affine(v, k->loc, k->idle_lo[d]);
      verify_affine(v, k->loc, k->idle_hi[d]);
    }
    if (k->over[d] < 0)
      verify_fail(v, k->loc, "blocks at the ends cover %d points more in dimension %d; it must be 0 at least",
                  k->over[d], d);
    if (k->leaves_out && !k->list && v->errors == errors && !has_let(v->m, k->without[d]) &&
        (!affine_diff(k->extent[d], k->without[d], &less) || less < k->over[d]))
      verify_fail(v, k->loc,
                  "the blocks that are left out in dimension %d may be more than there are: 'without' must be 'covers' "
                  "less a constant",
                  d);
  }
  if (k->list && (!k->leaves_out || buffer_rank(v->m, k->list - 1) != k->rank ||
                  buffer_type(v->m, k->list - 1) != TY_U32 || buffer_type(v->m, k->list_of) != TY_U8))
    verify_fail(v, k->loc, "a list of tiles is a field of u32, that of classes of u8, and goes with 'without'");
  if (threads > INT32_MAX)
    verify_fail(v, k->loc, "more than %d threads", INT32_MAX);
  int32_t lanes = kernel_lanes(k);
  if (lanes < LEAST_LANES || lanes > MOST_LANES || (lanes & (lanes - 1)))
    verify_fail(v, k->loc, "warps of %d threads; there are warps of %d and of %d, and halves and quarters of %d",
                (int)lanes, WARP_LANES, MOST_LANES, WARP_LANES);
  if (k->cluster && (k->cluster < LEAST_CLUSTER || k->cluster > MOST_CLUSTER || threads % kernel_warp(k)))
    verify_fail(v, k->loc, "clusters of %d blocks of %lld threads; there are %d to %d, of whole warps", (int)k->cluster,
                (long long)threads, LEAST_CLUSTER, MOST_CLUSTER);
  if (k->steps < 0)
    verify_fail(v, k->loc, "%d steps", k->steps);
}

/* Checks that the fields of tests are such as KernelTests describes. */
static void check_tests(Verifier *v, const Kernel *k) {
  const KernelTests *t = k->tests;
  if (t->n < 1)
    verify_fail(v, k->loc, "it looks at no words of tests");
  for (int i = 0; i < t->n; i++) {
    const Field *f = &v->m->fields[t->field[i]];
    if (!box_equal(&f->box, &v->m->grid) || field_lacks_any(f) || !(f->type == TY_BOOL || type_is_unsigned(f->type)))
      verify_fail(v, k->loc, "field '%s' has no words of tests: it must be on the grid, of bool or unsigned integers",
                  f->name);
  }
  for (int d = 0; d < k->rank; d++) {
    verify_affine(v, k->loc, t->lo[d]);
    verify_affine(v, k->loc, t->first[d]);
  }
}

/* The argument of `k` that means the same as `a`; NULL if it has none. */
static const KArg *find_arg(const Kernel *k, const KArg *a) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == a->kind && (a->kind == KARG_STEP || k->args[i].index == a->index) &&
        k->args[i].mirror == a->mirror)
      return &k->args[i];
  return NULL;
}

/* The name of argument `a`. */
static const char *arg_name(const Verifier *v, const KArg *a) {
  const char *name = a->kind == KARG_STEP     ? "step"
                     : a->kind == KARG_SCALAR ? v->m->scalars[a->index].name
                                              : v->m->buffers[a->index].name;
  static const char *const kinds[] = {"buffer", "scalar", "the", "the mirror of buffer"};
  return arena_printf(v->m->arena, "%s %s", kinds[a->kind], name);
}

/* Checks that the arguments of `k` exist, each once, and include all that its code uses. */
static void check_args(Verifier *v, const Kernel *k) {
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    int n = a->kind == KARG_SCALAR ? v->m->nscalars : a->kind == KARG_STEP ? INT32_MAX : v->m->nbuffers;
    if (a->kind > KARG_MIRROR || a->mirror >= MIRROR_ARGS || a->index < 0 || a->index >= n)
      verify_fail(v, k->loc, "argument %d does not exist", i);
    else if (find_arg(k, a) != a)
      verify_fail(v, k->loc, "%s is an argument twice", arg_name(v, a));
  }
  Kernel needed = *k;
  kernel_set_args((Module *)v->m, &needed);
  for (int i = 0; i < needed.nargs; i++) {
    const KArg *need = &needed.args[i], *have = find_arg(k, need);
    if (!have)
      verify_fail(v, k->loc, "it uses %s, which is not among its arguments", arg_name(v, need));
    else if (need->kind == KARG_BUFFER && ((need->reads && !have->reads) || (need->writes && !have->writes)))
      verify_fail(v, k->loc, "it %s %s, but its argument does not say so",
                  need->writes && !have->writes ? "writes" : "reads", arg_name(v, need));
  }
}

/* Does `k` write the buffer of argument `a`? */
static bool writes_too(const Kernel *k, const KArg *a) {
  const KArg *mine = find_arg(k, a);
  return mine && mine->writes;
}

/* Do `k` and `other` write the same buffers, according to their arguments? */
static bool write_the_same(const Kernel *k, const Kernel *other) {
  for (int i = 0; i < k->nargs + other->nargs; i++) {
    const KArg *a = i < k->nargs ? &k->args[i] : &other->args[i - k->nargs];
    if (a->writes && !(writes_too(k, a) && writes_too(other, a)))
      return false;
  }
  return true;
}

/* Checks the multiples of `k`, and the kernel that is launched if they do not hold. */
static void check_instead(Verifier *v, const Kernel *k) {
  const Module *m = v->m;
  for (int i = 0; i < k->nmultiples; i++) {
    verify_affine(v, k->loc, k->multiples[i].value);
    if (k->multiples[i].of < 1)
      verify_fail(v, k->loc, "a multiple of %lld; must be at least 1", (long long)k->multiples[i].of);
  }
  if (!k->instead)
    return;
  const Kernel *other = k->instead > 0 && k->instead <= m->nkernels ? &m->kernels[k->instead - 1] : NULL;
  if (!other)
    verify_fail(v, k->loc, "there is no kernel number %d to launch instead", k->instead - 1);
  else if (!k->nmultiples)
    verify_fail(v, k->loc, "kernel '%s' would never be launched instead: this one has no multiples", other->name);
  else if (other->nmultiples || other->instead)
    verify_fail(v, k->loc,
                "kernel '%s' is to be launched instead, so it must have no multiples and no 'instead' itself",
                other->name);
  else if (other->steps != k->steps)
    verify_fail(v, k->loc, "kernel '%s', launched instead, makes %d steps, not %d", other->name, other->steps,
                k->steps);
  else if (!write_the_same(k, other))
    verify_fail(v, k->loc, "kernel '%s', launched instead, does not write the same buffers", other->name);
}

static void check_kernel(Verifier *v, int i) {
  const Kernel *k = &v->m->kernels[i];
  int errors = v->errors;
  verify_at(v, k->loc, "kernel", k->name);
  v->k = k;
  v->context = CONTEXT_KERNEL;
  if (module_find_kernel(v->m, k->name) != i)
    verify_fail(v, k->loc, "the name is taken by another kernel");
  if (k->rank != v->m->grid.rank) {
    verify_fail(v, k->loc, "rank %d, but the grid has rank %d", k->rank, v->m->grid.rank);
    return;
  }
  check_launch(v, k);
  if (k->tests)
    check_tests(v, k);
  for (int j = 0; j < k->narrays; j++)
    check_array(v, k, j);
  verify_body(v, k->body, "a kernel", 0, NULL);
  if (v->errors == errors)
    check_args(v, k);
  check_instead(v, k);
  v->k = NULL;
}

/* ---- the host part */

/* The field whose present or past value field `i` holds. */
static int root_field(const Module *m, int i) { return m->fields[i].past ? m->fields[i].present : i; }

/* Are `a` and `b` two different buffers of one field and its past? */
static bool may_swap(const Module *m, int a, int b) {
  const Buffer *x = &m->buffers[a], *y = &m->buffers[b];
  return a != b && x->kind == BUFFER_FIELD && y->kind == BUFFER_FIELD &&
         root_field(m, x->field) == root_field(m, y->field);
}

/* Checks launch `op` of the sequence. */
static void check_host_launch(Verifier *v, const HostSeq *q, const HostOp *op) {
  const Module *m = v->m;
  if (op->a < 0 || op->a >= m->nkernels)
    verify_fail(v, no_loc(), "there is no kernel number %d", op->a);
  else if (m->kernels[op->a].steps > q->steps)
    verify_fail(v, no_loc(), "kernel '%s' makes %d steps in a sequence of %d", m->kernels[op->a].name,
                m->kernels[op->a].steps, q->steps);
  else if (op->beside && (op == q->ops || op[-1].kind != HOST_LAUNCH))
    verify_fail(v, no_loc(), "kernel '%s' is launched beside nothing: there must be a launch directly before",
                m->kernels[op->a].name);
  else if (op->beside && !op->behind && op[-1].behind)
    verify_fail(v, no_loc(), "kernel '%s' is launched beside one that is behind the first: it must be behind it, too",
                m->kernels[op->a].name);
  else if (op->after < 0 || (op->after && op->after >= q->steps))
    verify_fail(v, no_loc(), "kernel '%s' is launched after %d of a sequence's %d steps: there must be one left",
                m->kernels[op->a].name, (int)op->after, q->steps);
  else if (op->beside && op->after != op[-1].after)
    verify_fail(v, no_loc(), "kernel '%s' is launched beside one, but after %d steps, and that after %d",
                m->kernels[op->a].name, (int)op->after, (int)op[-1].after);
}

/* Checks a swap. */
static void check_host_swap(Verifier *v, const HostOp *op) {
  const Module *m = v->m;
  if (op->a < 0 || op->a >= m->nbuffers || op->b < 0 || op->b >= m->nbuffers)
    verify_fail(v, no_loc(), "there is no buffer number %d or %d", op->a, op->b);
  else if (!may_swap(m, op->a, op->b))
    verify_fail(v, no_loc(), "buffers '%s' and '%s' are not two of one field and its past", m->buffers[op->a].name,
                m->buffers[op->b].name);
}

/* Checks the launches and swaps of a sequence, and its loops, which must be among the first `loops`. */
static void check_sequence(Verifier *v, const HostSeq *q, int loops) {
  for (int i = 0; i < q->nops; i++) {
    const HostOp *op = &q->ops[i];
    if (op->kind == HOST_LAUNCH)
      check_host_launch(v, q, op);
    else if (op->kind == HOST_SWAP)
      check_host_swap(v, op);
    else if (op->a < 0 || op->a >= loops)
      verify_fail(v, no_loc(), "a loop stands where there can be none: only in time steps, and in loops behind it");
    else if (op->after < 0 || (op->after && op->after >= q->steps))
      verify_fail(v, no_loc(), "a loop begins after %d of a sequence's %d steps: there must be one left", op->after,
                  q->steps);
  }
}

void verify_sequence(Verifier *v, const HostSeq *q) { check_sequence(v, q, 0); }

/* Checks sequences of steps, or of a loop's rounds; their loops must be among the first `loops`. */
static void check_sequences(Verifier *v, int n, const HostSeq *seqs, int loops) {
  for (int i = 0; i < n; i++) {
    if (i && seqs[i].steps >= seqs[i - 1].steps)
      verify_fail(v, no_loc(), "the sequences must come by falling steps, but %d follows %d", seqs[i].steps,
                  seqs[i - 1].steps);
    check_sequence(v, &seqs[i], loops);
  }
  if (!n || seqs[n - 1].steps != 1)
    verify_fail(v, no_loc(), "the last sequence must make 1 step, so that every number of steps can be made");
}

/* Do launches of loop `l`, which exist, write a field of which a part of the grid holds only the cells about its own
 * points? */
static bool writes_cut_field(const Module *m, const HostLoop *l) {
  bool launched[m->nkernels + 1], cut = false;
  memset(launched, 0, sizeof launched);
  for (int i = 0; i < l->nseqs; i++)
    host_kernels(m, &l->seqs[i], launched);
  for (int k = 0; k < m->nkernels; k++)
    for (int a = 0; a < m->kernels[k].nargs && launched[k]; a++) {
      const KArg *arg = &m->kernels[k].args[a];
      const Buffer *b = arg->kind == KARG_BUFFER && arg->writes ? &m->buffers[arg->index] : NULL;
      cut = cut || (b && b->kind == BUFFER_FIELD && m->fields[b->field].share == SHARE_CUT);
    }
  return cut;
}

/* Checks loop number `i`. In a sequence of several rounds, launches may be for later steps (`after`) only if rounds
 * count as steps, forwards. */
static void check_loop(Verifier *v, int i) {
  const HostLoop *l = &v->m->host.loops[i];
  verify_at(v, l->loc, "loop", l->name);
  if (host_find_loop(v->m, l->name) != i)
    verify_fail(v, l->loc, "its name is taken");
  verify_affine(v, l->loc, l->most);
  for (int k = 0; k < l->nrenewed; k++)
    if (l->renewed[k] < 0 || l->renewed[k] >= v->m->nfields)
      verify_fail(v, l->loc, "it renews field number %d, and there are %d", l->renewed[k], v->m->nfields);
  check_sequences(v, l->nseqs, l->seqs, i);
  if (v->m->part && !v->errors && writes_cut_field(v->m, l))
    verify_fail(v, l->loc, "it writes a field that is cut: there is no exchange between the rounds of a part");
  for (int k = 0; k < l->nseqs; k++)
    for (int j = 0; j < l->seqs[k].nops; j++)
      if (l->seqs[k].ops[j].after && l->count < 1)
        verify_fail(v, l->loc, "'after' counts steps, and rounds of this loop are none, or count down");
}

/* Checks to which loops the reductions belong. */
static void check_loop_reductions(Verifier *v) {
  for (int i = 0; i < v->m->nreductions; i++) {
    const Reduction *r = &v->m->reductions[i];
    if (r->loop < 0 || r->loop > v->m->host.nloops || (r->loop && r->kind >= REDUCE_FINITE))
      verify_fail(v, r->loc, "it is of loop number %d, and there are %d; checks are of none", r->loop - 1,
                  v->m->host.nloops);
  }
}

static void check_host(Verifier *v) {
  const Host *h = &v->m->host;
  verify_at(v, no_loc(), "host", NULL);
  if (h->init.steps)
    verify_fail(v, no_loc(), "init makes %d steps, must be 0", h->init.steps);
  if (h->once.steps)
    verify_fail(v, no_loc(), "once makes %d steps, must be 0", h->once.steps);
  verify_sequence(v, &h->init);
  verify_sequence(v, &h->once);
  check_sequences(v, h->nseqs, h->seqs, h->nloops);
  check_loop_reductions(v);
  for (int i = 0; i < h->nloops; i++)
    check_loop(v, i);
}

void verify_kernel_ir(Verifier *v) {
  const Module *m = v->m;
  verify_at(v, no_loc(), "module", m->name);
  if (m->ninits || m->nstencils)
    verify_fail(v, no_loc(), "a kernel module has no stencils");
  int errors = v->errors;
  check_buffers(v);
  for (int i = 0; i < m->nkernels && v->errors == errors; i++)
    check_kernel(v, i);
  check_host(v);
}
