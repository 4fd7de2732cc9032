/* barriers.c: inserts a barrier where threads of a block depend on each other through shared memory, and nowhere else.
 *
 * The pass traverses a kernel in the order of execution and keeps the *pending* accesses: those to shared arrays since
 * the last barrier. Before an access that *crosses* a pending one, it puts a barrier. So each barrier stands as late as
 * possible, and removes all dependences that are pending there. Two accesses cross if at least one writes, their arrays
 * share storage, and two different threads can touch the same cell.
 *
 * - A `for` whose accesses do not cross one another, in any iterations, counts as one access: the barrier stands before
 *   the loop, not in it.
 * - Any other `for` gets barriers in its body. The traversal repeats the body until the accesses that one iteration
 *   leaves pending need no new barrier in the next iteration. Accesses that were pending before the loop get a barrier
 *   before it, unless the barriers inside suffice.
 * - An `if` whose condition does not depend on the thread has its own barriers in each branch; after it, the pending
 *   accesses of both branches are pending. Any other `if` counts as one access.
 * - If not all threads would reach a barrier, that is an error; it names the array and the op that makes the threads
 *   diverge.
 * - A vector op touches all its cells. An `async.copy` counts as a write where it begins, for the accesses that are
 *   pending then. After each `async.wait` all copies that may still be in flight are pending, so that reads of other
 *   threads get their barrier; after `async.wait 0` none of the earlier copies is in flight any more. A cell that is
 *   touched before the wait of its copy gets no barrier, because a barrier cannot make that right.
 * - A block of one thread needs no barrier.
 *
 * With `near=4` (the default for `-schedule=stream`; `-barriers=block` omits it) barriers in loops become
 * `barrier.neighbours` (docs/ir.md) where that suffices: a warp then waits only for the two warps next to it. After
 * such a barrier pending accesses stay pending, but only for threads of warps that are neither the same nor neighbours:
 * of the distances t' - t that solve the equations (crossing.c), only those that lead further than to the next warp
 * count. The pass relaxes all barriers of an outermost loop together. They stay relaxed if a second traversal of the
 * kernel finds no barrier missing; otherwise all of them become barriers of the whole block again. In tiles that stream
 * over planes, a line of another warp always belongs to the warp above or below if the stencil reaches no further than
 * the lines of one thread. Accesses that reach further, and indices without a linear form, keep barriers of the block.
 *
 * With such barriers two warps at distance d may be d steps apart. That does not affect the reuse of places in a ring,
 * because two accesses of neighbouring warps are never both between the same two barriers.
 *
 * The relaxation applies to blocks of at least `near` warps. Their number must be even and at most
 * TargetInfo.near_warps (16 on NVIDIA, 0 on AMD). A row of threads must consist of whole warps, or a warp of whole rows
 * (for example two rows of 16 threads). */
#include <inttypes.h>

#include "passes/kernel/crossing.h"
#include "passes/base/tuning.h"

/* Pending accesses, oldest first. No two such lists share the array `v`. */
typedef struct Pending {
  int32_t n;
  Access **v;
} Pending;

/* Asynchronous copies that may be in flight; a commit surely closed the first `committed` of them. */
typedef struct Flight {
  Pending copies;
  int32_t committed;
} Flight;

/* The state of the pass on one kernel. flight: copies in flight at the current op. dry: only look, insert nothing, and
 * report in `hit` whether a barrier is missing. */
typedef struct Inserter {
  PassContext *c;
  Kernel *k;
  Crossing *crossing;
  Flight flight;
  int64_t inserted;
  bool dry, hit, ok;
} Inserter;

static void run_block(Inserter *in, Block *b, Pending *p, bool uniform);

/* A copy of `p` that can be appended to. */
static Pending copy_pending(Inserter *in, const Pending *p) {
  Pending q = {0};
  for (int i = 0; i < p->n; i++)
    ARENA_PUSH(in->c->arena, q.v, q.n, p->v[i]);
  return q;
}

/* Adds `x` to `p` unless `p` has an access of the same op for at least as many threads. */
static void add_access(Inserter *in, Pending *p, Access *x) {
  for (int i = 0; i < p->n; i++)
    if (p->v[i]->op == x->op) {
      if (!x->met)
        p->v[i] = x;
      return;
    }
  ARENA_PUSH(in->c->arena, p->v, p->n, x);
}

static void add_all(Inserter *in, Pending *p, const Pending *q) {
  for (int i = 0; i < q->n; i++)
    add_access(in, p, q->v[i]);
}

/* A pending access that crosses `x`, or NULL. */
static const Access *find_crossing(Inserter *in, const Pending *p, const Access *x) {
  for (int i = 0; i < p->n; i++)
    if (p->v[i]->met ? accesses_cross_far(in->crossing, p->v[i], x) : accesses_cross(in->crossing, p->v[i], x))
      return p->v[i];
  return NULL;
}

/* Updates `p` for a barrier between neighbouring warps: its accesses stay pending only for other warps. */
static void meet_neighbours(Inserter *in, Pending *p) {
  Pending met = {0};
  for (int i = 0; i < p->n; i++) {
    Access *x = ARENA_NEW(in->c->arena, Access);
    *x = *p->v[i];
    x->met = true;
    ARENA_PUSH(in->c->arena, met.v, met.n, x);
  }
  *p = met;
}

static bool is_shared_access(const Inserter *in, const Op *op) {
  return op_array(op) >= 0 && in->k->arrays[op->sym].space == SPACE_SHARED;
}

/* Marks the asynchronous copies below `b` as possibly in flight. */
static void launch_copies(Inserter *in, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op->code == OP_ASYNC_COPY)
      add_access(in, &in->flight.copies, access_new(in->crossing, op, true));
    for (int i = 0; i < op->nblocks; i++)
      launch_copies(in, op->blocks[i]);
  }
}

/* A copy of `f`. */
static Flight copy_flight(Inserter *in, const Flight *f) {
  return (Flight){copy_pending(in, &f->copies), f->committed};
}

/* Adds the copies of `f` to the current flight. */
static void join_flight(Inserter *in, const Flight *f) {
  in->flight.committed = 0;
  add_all(in, &in->flight.copies, &f->copies);
}

/* Handles the async.wait `op`: all copies in flight become pending, and if no group is left the committed ones leave
 * the flight. */
static void land_copies(Inserter *in, const Op *op, Pending *p) {
  Flight rest = {0};
  add_all(in, p, &in->flight.copies);
  if (op->count)
    return;
  for (int i = in->flight.committed; i < in->flight.copies.n; i++)
    add_access(in, &rest.copies, in->flight.copies.v[i]);
  in->flight = rest;
}

/* Collects the accesses to shared arrays below `b`; true if there is a barrier among them. */
static bool collect(Inserter *in, const Block *b, bool looped, Pending *all) {
  bool barrier = false;
  for (const Op *op = b->first; op; op = op->next) {
    barrier |= op_is_barrier(op);
    if (op->code == OP_ASYNC_WAIT)
      add_all(in, all, &in->flight.copies);
    if (is_shared_access(in, op)) {
      Access *x = access_new(in->crossing, op, looped);
      ARENA_PUSH(in->c->arena, all->v, all->n, x);
    }
    for (int i = 0; i < op->nblocks; i++)
      barrier |= collect(in, op->blocks[i], looped || op->code == OP_FOR, all);
  }
  return barrier;
}

/* If two of these accesses cross (an access in a for may cross itself), the second of them, else NULL. */
static const Access *find_inner_crossing(Inserter *in, const Pending *all) {
  for (int i = 0; i < all->n; i++)
    for (int j = all->v[i]->looped ? i : i + 1; j < all->n; j++)
      if (accesses_cross(in->crossing, all->v[i], all->v[j]))
        return all->v[j];
  return NULL;
}

/* Reports that the access `x`, inside `op`, needs a barrier that not all threads reach. */
static void report_divergence(Inserter *in, const Access *x, const Op *op) {
  if (in->ok)
    diag_error(in->c->diags, x->op->loc,
               "kernel '%s': a dependence between threads through array '%s' needs a barrier here, but not all threads "
               "of a block come here "
               "together: the %s around it depends on the thread; make its %s the same for all threads, or move the "
               "access out of it",
               in->k->name, in->k->arrays[x->array].name, op->code == OP_FOR ? "for" : "if",
               op->code == OP_FOR ? "bounds" : "condition");
  in->ok = false;
}

/* The op around `op` that makes the threads of a block diverge. */
static const Op *divergent_parent(const Op *op) {
  for (const Op *p = op->parent->parent; p; p = p->parent->parent)
    if (!value_is_uniform(p->operands[0]) || (p->code == OP_FOR && !value_is_uniform(p->operands[1])))
      return p;
  return op->parent->parent ? op->parent->parent : op;
}

/* Puts a barrier before `op`, because of access `x` in it, and empties `p`. */
static void put_barrier(Inserter *in, Op *op, const Access *x, Pending *p, bool uniform) {
  *p = (Pending){0};
  in->hit = true;
  if (in->dry)
    return;
  if (!uniform) {
    report_divergence(in, x, divergent_parent(op));
    return;
  }
  Builder b = builder_before(in->c->arena, op);
  build_barrier(&b);
  in->inserted++;
}

/* Handles `op` as one access; the accesses `all` in it do not cross one another. */
static void run_unit(Inserter *in, Op *op, const Pending *all, Pending *p, bool uniform) {
  for (int i = 0; i < all->n; i++)
    if (find_crossing(in, p, all->v[i])) {
      put_barrier(in, op, all->v[i], p, uniform);
      break;
    }
  add_all(in, p, all);
}

/* Traverses the body of a for and inserts barriers; the copies of `start` are in flight at its begin. */
static void run_body(Inserter *in, Op *op, Pending *p, const Flight *start, bool uniform) {
  in->flight = copy_flight(in, start);
  run_block(in, op->blocks[0], p, uniform);
}

/* Traverses the body without inserting barriers, and updates `p` from the pending accesses at its begin to those at its
 * end. Is a barrier missing? */
static bool try_body(Inserter *in, Op *op, Pending *p, const Flight *start, bool uniform) {
  bool dry = in->dry, hit = in->hit;
  in->dry = true;
  in->hit = false;
  run_body(in, op, p, start, uniform);
  bool missing = in->hit;
  in->dry = dry;
  in->hit = hit;
  return missing;
}

/* Does the for have at least one iteration? */
static bool runs(Inserter *in, const Op *op) {
  Interval lo = value_interval(in->crossing->ranges, op->operands[0]),
           hi = value_interval(in->crossing->ranges, op->operands[1]);
  return lo.known && hi.known && lo.hi < hi.lo;
}

/* Handles a for that has, or needs, barriers in its body. */
static void run_loop(Inserter *in, Op *op, Pending *p, bool uniform) {
  bool inner = uniform && value_is_uniform(op->operands[0]) && value_is_uniform(op->operands[1]);
  Flight start = copy_flight(in, &in->flight);
  Pending end = {0};
  int64_t before;
  run_body(in, op, &end, &start, inner);
  do {
    before = in->inserted;
    run_body(in, op, &end, &start, inner);
  } while (in->inserted != before);
  Pending first = copy_pending(in, p);
  if (try_body(in, op, &first, &start, inner)) {
    Pending all = {0};
    collect(in, op->blocks[0], true, &all);
    put_barrier(in, op, all.v[0], p, uniform);
    first = (Pending){0};
    try_body(in, op, &first, &start, inner);
  }
  if (runs(in, op))
    *p = (Pending){0};
  else
    join_flight(in, &start);
  add_all(in, p, &first);
  add_all(in, p, &end);
}

/* Handles a for. */
static void run_for(Inserter *in, Op *op, Pending *p, bool uniform) {
  Pending all = {0};
  launch_copies(in, op->blocks[0]);
  bool barrier = collect(in, op->blocks[0], true, &all);
  if (barrier || find_inner_crossing(in, &all))
    run_loop(in, op, p, uniform);
  else
    run_unit(in, op, &all, p, uniform);
}

/* Handles an if with the same condition for all threads of a block: each branch by itself; afterwards the pending
 * accesses of both are pending. */
static void run_uniform_if(Inserter *in, Op *op, Pending *p, bool uniform) {
  Pending other = copy_pending(in, p);
  Flight start = copy_flight(in, &in->flight), end;
  run_block(in, op->blocks[0], p, uniform);
  end = in->flight;
  in->flight = start;
  run_block(in, op->blocks[1], &other, uniform);
  join_flight(in, &end);
  add_all(in, p, &other);
}

/* Handles an if that makes threads diverge: nothing in it may need a barrier. */
static void run_divergent_if(Inserter *in, Op *op, Pending *p, bool uniform) {
  Pending all = {0};
  launch_copies(in, op->blocks[0]);
  launch_copies(in, op->blocks[1]);
  collect(in, op->blocks[0], false, &all);
  collect(in, op->blocks[1], false, &all);
  const Access *x = find_inner_crossing(in, &all);
  if (x)
    report_divergence(in, x, op);
  run_unit(in, op, &all, p, uniform);
}

/* Traverses `b`, and updates the pending accesses `p`. uniform: all threads of the block execute `b` together. */
static void run_block(Inserter *in, Block *b, Pending *p, bool uniform) {
  for (Op *op = b->first; op; op = op->next) {
    if (op->code == OP_BARRIER) {
      *p = (Pending){0};
    } else if (op->code == OP_BARRIER_NEAR) {
      meet_neighbours(in, p);
    } else if (op->code == OP_FOR) {
      run_for(in, op, p, uniform);
    } else if (op->code == OP_IF && value_is_uniform(op->operands[0])) {
      run_uniform_if(in, op, p, uniform);
    } else if (op->code == OP_IF) {
      run_divergent_if(in, op, p, uniform);
    } else if (op->code == OP_ASYNC_COMMIT) {
      in->flight.committed = in->flight.copies.n;
    } else if (op->code == OP_ASYNC_WAIT) {
      land_copies(in, op, p);
    } else if (is_shared_access(in, op)) {
      Access *x = access_new(in->crossing, op, false);
      if (find_crossing(in, p, x))
        put_barrier(in, op, x, p, uniform);
      add_access(in, op->code == OP_ASYNC_COPY ? &in->flight.copies : p, x);
    }
  }
}

/* ---- barriers between neighbouring warps */

/* A list of ops. */
typedef struct Ops {
  int32_t n;
  Op **v;
} Ops;

/* May blocks of `k` have barriers between neighbouring warps: does the target have them, does a row of threads consist
 * of whole warps or a warp of whole rows, and are there at least `least` warps? Not in kernels with barriers for global
 * memory, which this pass does not analyse. */
static bool has_neighbours(const PassContext *c, const Kernel *k, int64_t least) {
  int64_t warp = kernel_warp(k), row = k->threads[k->rank - 1], warps = kernel_threads(k) / warp;
  return !kernel_passes_memory(k) && (row % warp == 0 || warp % row == 0) && kernel_threads(k) % warp == 0 &&
         warps % 2 == 0 && warps >= least && warps <= c->target->near_warps;
}

/* Appends the barriers of the block below `b` to `found`. */
static void find_barriers(Inserter *in, const Block *b, Ops *found) {
  for (Op *op = b->first; op; op = op->next) {
    if (op->code == OP_BARRIER)
      ARENA_PUSH(in->c->arena, found->v, found->n, op);
    for (int i = 0; i < op->nblocks; i++)
      find_barriers(in, op->blocks[i], found);
  }
}

/* Is a barrier missing in the kernel? */
static bool lacks_barrier(const Inserter *in) {
  Inserter look = {.c = in->c, .k = in->k, .crossing = in->crossing, .dry = true, .ok = true};
  Pending p = {0};
  run_block(&look, in->k->body, &p, true);
  return look.hit;
}

/* Turns the block's barriers in the body of `loop` into barriers between neighbours if that suffices. Returns how
 * many. */
static int32_t relax_loop(Inserter *in, const Op *loop) {
  Ops found = {0};
  find_barriers(in, loop->blocks[0], &found);
  for (int i = 0; i < found.n; i++)
    found.v[i]->code = OP_BARRIER_NEAR;
  if (found.n && !lacks_barrier(in))
    return found.n;
  for (int i = 0; i < found.n; i++)
    found.v[i]->code = OP_BARRIER;
  return 0;
}

/* Calls relax_loop for each outermost loop below `b`. Returns how many barriers changed. */
static int32_t relax_loops(Inserter *in, const Block *b) {
  int32_t n = 0;
  for (const Op *op = b->first; op; op = op->next) {
    if (op->code == OP_FOR)
      n += relax_loop(in, op);
    for (int i = 0; i < op->nblocks && op->code != OP_FOR; i++)
      n += relax_loops(in, op->blocks[i]);
  }
  return n;
}

/* ---- kernels */

/* Inserts the barriers of one kernel. If its blocks have at least `near` warps (0: never), relaxes some of them to
 * barriers between neighbours. False after an error. */
static bool insert_barriers(PassContext *c, Module *m, Kernel *k, int64_t near) {
  Inserter in = {.c = c, .k = k, .ok = true};
  if (kernel_threads(k) > 1) {
    in.crossing = crossing_new(c->arena, ranges_new(c->arena, m, k, k->body));
    Pending p = {0};
    run_block(&in, k->body, &p, true);
  }
  pass_stat(c, in.inserted, "barriers", "barriers inserted in kernel %s", k->name);
  if (near && in.ok && has_neighbours(c, k, near))
    pass_stat(c, relax_loops(&in, k->body), "barriers", "barriers between neighbouring warps alone in kernel %s",
              k->name);
  return in.ok;
}

/* The pass: every kernel of the module. */
Module *pass_barriers(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int64_t near = pass_option_int(c, "barriers", n, o, "near", 0, INT32_MAX, 0, &ok);
  module_renumber(m);
  for (int i = 0; i < m->nkernels; i++)
    ok &= (block_has_signals(m->kernels[i].body) && !m->kernels[i].cluster) ||
          insert_barriers(c, m, &m->kernels[i], near);
  return ok ? m : NULL;
}
