/* driver/budget.c: what is given up for programs of very many fields and stencils, so that they compile in seconds:
 * tiles, for a step of hundreds of stencils or, without threads, kernels that are too long for LLVM, whose time grows
 * faster than they do; and then passes of LLVM that take long. Nothing is given up that the options ask for. */
#include "driver/driver.h"

#include <inttypes.h>

/* Stencils of a step, older levels' among them, from which on each has a launch and each point a thread of its own.
 * Ops of all kernels from which on LLVM does only what pays most, and from which on it selects instructions in the
 * quickest way. Targets with threads have another compiler behind LLVM and shorter kernels: they do without from more
 * ops on, and never have the last. Found by compiling steps of up to 10,000 stencils; more than any example takes. */
enum { LONG_STEP = 256, MANY_OPS = 25000, TOO_MANY_OPS = 50000, MANY_OPS_SIMT = 100000 };
/* Ops of one kernel without threads that are too many: LLVM takes some 10 s for these. */
enum { LONG_KERNEL = 20000 };

/* Is everything about tiles left open? */
static bool is_open(const Schedule *s) {
  bool open = s->family == FAMILY_AUTO && !s->T && !s->chunk && !s->ahead && !s->fuse;
  for (int d = 0; d < MAX_RANK; d++)
    open = open && !s->block[d] && !s->elems[d];
  return open;
}

/* Counts an op (a block_walk callback). */
static void count_op(void *user, Op *op) {
  (void)op;
  ++*(int64_t *)user;
}

void budget_schedule(Diags *d, const Module *m, Schedule *want) {
  if (m->level != LEVEL_SIR || m->nstencils < LONG_STEP || !is_open(want))
    return;
  want->family = FAMILY_NAIVE;
  diag_remark(d, no_loc(),
              "a step of %d stencils is compiled in reasonable time with a launch for each alone: -schedule=naive is "
              "taken; -schedule=overlap has tiles made",
              m->nstencils);
}

bool budget_kernels(Diags *d, const Module *m, bool simt, Schedule *want) {
  int64_t most = 0;
  for (int k = 0; k < m->nkernels && !simt; k++) {
    int64_t ops = 0;
    block_walk(m->kernels[k].body, count_op, &ops);
    most = ops > most ? ops : most;
  }
  if (most < LONG_KERNEL || !is_open(want))
    return false;
  want->family = FAMILY_NAIVE;
  diag_remark(d, no_loc(),
              "a kernel of %" PRId64 " operations is not compiled in reasonable time: -schedule=naive is taken, which "
              "has a launch for each stencil; -schedule=stream has tiles made",
              most);
  return true;
}

CodegenQuick budget_codegen(Diags *d, const Module *m, bool simt) {
  int64_t ops = 0;
  for (int k = 0; k < m->nkernels; k++)
    block_walk(m->kernels[k].body, count_op, &ops);
  CodegenQuick quick = ops < (simt ? MANY_OPS_SIMT : MANY_OPS) ? QUICK_NOT
                       : ops < TOO_MANY_OPS || simt            ? QUICK_PASSES
                                                               : QUICK_ALL;
  if (quick)
    diag_remark(d, no_loc(),
                "%" PRId64 " operations in %d kernels are compiled in reasonable time by %s; -O3 has all of them", ops,
                m->nkernels,
                quick == QUICK_PASSES ? "the optimisations that pay most alone"
                                      : "few optimisations and quick selection of instructions");
  return quick;
}
