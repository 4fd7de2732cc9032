/* barriers.c: a barrier where a dependence between threads demands it, and nowhere else.
 *
 * The pass traverses a kernel in the order of execution and keeps the accesses to shared arrays since the last barrier.
 * Before an access that *crosses* one of these, it puts a barrier: as late as possible, so that each removes all
 * dependences pending at that place. Two accesses cross if at least one writes, their arrays share storage, and two
 * different threads can meet in one cell.
 *
 * - A `for` whose accesses do not cross one another, in any iterations, counts as one access: the barrier stands before
 *   the loop, not in it.
 * - Any other `for` gets its barriers inside: the traversal goes around the body until what one iteration leaves
 *   pending needs no new barrier in the next. What was pending before the loop gets one before it, unless those inside
 *   serve.
 * - An `if` with a condition that depends on no thread has its own barriers in each branch; after it, what either left
 *   is pending. Other `if`s count as one access.
 * - A barrier that not all threads would reach is an error that names the array and what takes the threads apart.
 * - A vector op touches all its cells. An `async.copy` counts as a write where it begins, for what is pending then;
 *   behind each `async.wait` all copies that may be on their way are pending (none of the earlier ones any more behind
 *   an `async.wait 0`), so that other threads' reads get their barrier. A cell touched before its wait gets none: no
 *   barrier mends that.
 * - A block of one thread needs none.
 *
 * With `near=4` (the default for `-schedule=stream`; `-barriers=block` leaves it out) barriers in loops become
 * `barrier.neighbours` (docs/ir.md), by which a warp waits for the two beside it alone, where that will do. Behind such
 * a barrier what is pending stays pending, but only for the threads of warps that are not the same or neighbours: of
 * the distances t' - t that solve the equations those are looked at which lead further than to the next warp. The
 * barriers of each outermost loop become such ones together, and stay so if the traversal of the kernel then still
 * finds none missing; else all of them are the block's again. In streaming over planes a line of another warp is always
 * one of the warp above or below if the stencil reaches no further than a thread's lines; what reaches further, and
 * what follows no linear form, keeps the block's barriers. Two warps at distance d may be d steps apart by this; two
 * accesses of neighbours, though, are never both between the same two barriers, so it does not matter when a place in a
 * ring is used again. Only in blocks of `near` warps or more, an even number not above what the target says
 * (`TargetInfo.near_warps`: 16 on NVIDIA, 0 on AMD), whose rows are whole warps, or whose warps are whole rows (two of
 * 16 threads, say). */
#include <inttypes.h>

#include "passes/kernel/crossing.h"
#include "passes/base/tuning.h"

/* Accesses, oldest first. Two never share the array `v`. */
typedef struct Pending {
  int32_t n;
  Access **v;
} Pending;

/* Asynchronous copies that may be on their way, the first `committed` of them surely closed by a commit. */
typedef struct Flight {
  Pending copies;
  int32_t committed;
} Flight;

/* The work on one kernel. flight: at the place reached. dry: look, insert nothing, and say in `hit` whether a barrier
 * was missing. */
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

/* Adds `x` to `p` unless its op is in it, and in as many threads. */
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

/* The pending access that crosses threads with `x`, or NULL. */
static const Access *find_crossing(Inserter *in, const Pending *p, const Access *x) {
  for (int i = 0; i < p->n; i++)
    if (p->v[i]->met ? accesses_cross_far(in->crossing, p->v[i], x) : accesses_cross(in->crossing, p->v[i], x))
      return p->v[i];
  return NULL;
}

/* Behind a barrier between neighbouring warps: what is pending is so for others only. */
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

/* The asynchronous copies below `b` may be on their way from now on. */
static void launch_copies(Inserter *in, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op->code == OP_ASYNC_COPY)
      add_access(in, &in->flight.copies, access_new(in->crossing, op, true));
    for (int i = 0; i < op->nblocks; i++)
      launch_copies(in, op->blocks[i]);
  }
}

/* A flight of its own like `f`. */
static Flight copy_flight(Inserter *in, const Flight *f) {
  return (Flight){copy_pending(in, &f->copies), f->committed};
}

/* The copies of `f` may be on their way too. */
static void join_flight(Inserter *in, const Flight *f) {
  in->flight.committed = 0;
  add_all(in, &in->flight.copies, &f->copies);
}

/* The async.wait `op`: what is on its way may have come, and all that was committed has if no group is left. */
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

/* Two of these accesses that cross threads (one may stand for both if it is in a for), the second returned; NULL if
 * there are none. */
static const Access *find_inner_crossing(Inserter *in, const Pending *all) {
  for (int i = 0; i < all->n; i++)
    for (int j = all->v[i]->looped ? i : i + 1; j < all->n; j++)
      if (accesses_cross(in->crossing, all->v[i], all->v[j]))
        return all->v[j];
  return NULL;
}

/* Reports that threads must meet before the access of `x`, inside `op`, where not all of them come. */
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

/* The op around `op` that takes the threads of a block apart. */
static const Op *divergent_parent(const Op *op) {
  for (const Op *p = op->parent->parent; p; p = p->parent->parent)
    if (!value_is_uniform(p->operands[0]) || (p->code == OP_FOR && !value_is_uniform(p->operands[1])))
      return p;
  return op->parent->parent ? op->parent->parent : op;
}

/* Puts a barrier before `op`, because of access `x` in it, and so empties `p`. */
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

/* An op taken as one access: the accesses `all` in it do not cross one another. */
static void run_unit(Inserter *in, Op *op, const Pending *all, Pending *p, bool uniform) {
  for (int i = 0; i < all->n; i++)
    if (find_crossing(in, p, all->v[i])) {
      put_barrier(in, op, all->v[i], p, uniform);
      break;
    }
  add_all(in, p, all);
}

/* Runs through the body of a for, inserting barriers, with the copies of `start` on their way at its begin. */
static void run_body(Inserter *in, Op *op, Pending *p, const Flight *start, bool uniform) {
  in->flight = copy_flight(in, start);
  run_block(in, op->blocks[0], p, uniform);
}

/* The same without inserting anything, `p` being pending at its begin and changed to what is at its end; was a barrier
 * missing? */
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

/* Does the for run at least once? */
static bool runs(Inserter *in, const Op *op) {
  Interval lo = value_interval(in->crossing->ranges, op->operands[0]),
           hi = value_interval(in->crossing->ranges, op->operands[1]);
  return lo.known && hi.known && lo.hi < hi.lo;
}

/* A for that has, or needs, barriers in its body. */
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

/* A for. */
static void run_for(Inserter *in, Op *op, Pending *p, bool uniform) {
  Pending all = {0};
  launch_copies(in, op->blocks[0]);
  bool barrier = collect(in, op->blocks[0], true, &all);
  if (barrier || find_inner_crossing(in, &all))
    run_loop(in, op, p, uniform);
  else
    run_unit(in, op, &all, p, uniform);
}

/* An if that all threads of a block decide alike: each branch by itself, then what either leaves pending. */
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

/* An if that takes threads apart: nothing in it may need a barrier. */
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

/* Runs through `b`; `p` is what is pending before and then after it. uniform: all threads of the block come here
 * together. */
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

/* Ops. */
typedef struct Ops {
  int32_t n;
  Op **v;
} Ops;

/* May warps of a block of `k` meet their neighbours on the target, and do its rows of threads fill whole ones, or are
 * these whole rows? Not where barriers are for global memory, of which nothing is found here. */
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

/* Makes the barriers of the block in the body of `loop` ones between neighbours if that is enough. How many. */
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

/* The same for all the outermost loops below `b`, each by itself. */
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

/* Inserts the barriers of one kernel, and makes some of them ones between neighbours if its blocks have `near` warps or
 * more (0: none have); false after an error.
 */
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
