/* driver/program/budget.c: simplifies programs of very many fields and stencils so that they compile in seconds. It
 * drops tiles if a step has hundreds of stencils or, without threads, if kernels are too long for LLVM, whose time
 * grows faster than their length; and then LLVM passes that take long. It drops nothing that the options request. */
#include "driver/program/program.h"
#include "passes/base/tuning.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Does the schedule set tiles or points of a thread, and not only the family? */
static bool says_tiles(const Schedule *s) { return schedule_says_any(s, KNOBS_NUMBERS | KNOBS_TEXTS); }

/* Is everything about tiles left open? */
static bool is_open(const Schedule *s) { return s->family == FAMILY_AUTO && !says_tiles(s); }

/* Counts an op (a block_walk callback). */
static void count_op(void *user, Op *op) {
  (void)op;
  ++*(int64_t *)user;
}

void budget_schedule(Diags *d, const Module *m, Schedule *want) {
  if (m->level != LEVEL_SIR || m->nstencils < measured.many_stencils || !is_open(want))
    return;
  want->family = FAMILY_NAIVE;
  diag_remark(d, no_loc(),
              "a step of %d stencils is compiled in reasonable time with a launch for each alone: -schedule=naive is "
              "taken; -schedule=overlap has tiles made",
              m->nstencils);
}

/* The number of ops of a kernel, and of those with f64 results. */
typedef struct Counted {
  int64_t ops, wide;
} Counted;

/* Counts an op in a Counted (a block_walk callback). */
static void count_wide(void *user, Op *op) {
  Counted *c = user;
  c->ops++;
  c->wide += op->nresults > 0 && type_is_float(op->results[0]->type) && type_size(op->results[0]->type) > 4;
}

/* The approximate seconds that the compiler after LLVM needs for a kernel. */
static double compiler_seconds(const Counted *c) {
  double seconds = measured.slow_seconds * pow((double)c->ops / measured.slow_ops, measured.slow_power);
  return c->wide ? seconds : seconds / measured.slow_narrow;
}

/* The load of the kernels of `m` on the compiler after LLVM: the longest kernel, its ops and those of all, and the
 * approximate seconds for all together. */
typedef struct Burden {
  const Kernel *longest;
  int64_t most, all;
  double seconds;
} Burden;

static Burden burden_of(const Module *m) {
  Burden b = {0};
  for (int k = 0; k < m->nkernels; k++) {
    Counted c = {0};
    block_walk(m->kernels[k].body, count_wide, &c);
    b.seconds += compiler_seconds(&c);
    b.all += c.ops;
    if (c.ops > b.most) {
      b.most = c.ops;
      b.longest = &m->kernels[k];
    }
  }
  return b;
}

/* Makes the tile of `want` smaller than that of `used`, for which kernels were made: with the next lower power of two
 * time steps, which all families support; if `used` has one step, with half of a thread's points in the dimension with
 * the most. False: it has one of each. */
static bool smaller_tile(const Schedule *used, Schedule *want) {
  int most = 0;
  if (used->T > 1) {
    for (want->T = 1; want->T < used->T - want->T;)
      want->T *= 2;
    return true;
  }
  for (int d = 1; d < GRID_RANK; d++)
    if (used->elems[d] > used->elems[most])
      most = d;
  if (used->elems[most] < 2)
    return false;
  want->T = family_row(used->family)->tiled ? 1 : want->T;
  memcpy(want->elems, used->elems, sizeof want->elems);
  want->elems[most] /= 2;
  return true;
}

/* The same choice for GPUs: for kernels for which the compiler after LLVM would take too long, or that it would not
 * get. If `asked` sets only a family, `want` gets smaller tiles of it. */
static bool budget_threads(Diags *d, const Module *m, const Schedule *asked, const Schedule *used, Schedule *want) {
  Burden b = burden_of(m);
  bool open = is_open(want);
  if (((double)b.most < measured.endless_kernel && b.seconds < measured.patience) || says_tiles(asked))
    return false;
  if (open)
    want->family = FAMILY_NAIVE;
  else if (!smaller_tile(used, want))
    return false;
  diag_remark(d, no_loc(),
              "kernels of %" PRId64 " operations, %" PRId64 " of them in one, would take the GPU's compiler %.0f s: %s",
              b.all, b.most, b.seconds,
              open ? "-schedule=naive is taken, which has a launch for each stencil; -schedule=stream has tiles made"
                   : "tiles of fewer time steps or points a thread are made; -T and -elems say how many");
  return true;
}

bool budget_kernels(Diags *d, const Module *m, bool simt, const Schedule *asked, const Schedule *used, Schedule *want) {
  int64_t most = 0;
  if (simt)
    return budget_threads(d, m, asked, used, want);
  for (int k = 0; k < m->nkernels; k++) {
    int64_t ops = 0;
    block_walk(m->kernels[k].body, count_op, &ops);
    most = ops > most ? ops : most;
  }
  if ((double)most < measured.long_kernel || !is_open(want))
    return false;
  want->family = FAMILY_NAIVE;
  diag_remark(d, no_loc(),
              "a kernel of several steps would have %" PRId64
              " operations, which compile for seconds: -schedule=naive is "
              "taken, which has a launch for each stencil; -schedule=stream has tiles made all the same",
              most);
  return true;
}

CodegenQuick budget_codegen(Diags *d, const Module *m, bool simt) {
  int64_t ops = 0;
  for (int k = 0; k < m->nkernels; k++)
    block_walk(m->kernels[k].body, count_op, &ops);
  CodegenQuick quick = (double)ops < (simt ? measured.many_ops_simt : measured.many_ops) ? QUICK_NOT
                       : (double)ops < measured.too_many_ops || simt                     ? QUICK_PASSES
                                                                                         : QUICK_ALL;
  if (quick)
    diag_remark(d, no_loc(),
                "%" PRId64 " operations in %d kernels are compiled in reasonable time by %s; -O3 has all of them", ops,
                m->nkernels,
                quick == QUICK_PASSES ? "the optimisations that pay most alone"
                                      : "few optimisations and quick selection of instructions");
  return quick;
}

/* How to make kernels shorter than those for `asked`. If that sets only a family, kernels already have its smallest
 * tiles (budget_kernels). */
static const char *shorter_by(const Schedule *asked) {
  if (says_tiles(asked) || asked->family == FAMILY_AUTO)
    return "fewer time steps (-T), fewer points a thread (-elems) or -schedule=naive make fewer";
  return asked->family == FAMILY_NAIVE ? "a thread has one point, so only shorter stencils make fewer"
                                       : "the smallest tiles of that family have as many; -schedule=naive makes fewer";
}

bool budget_compiler(Diags *d, const Module *m, bool simt, const Schedule *asked) {
  if (!simt)
    return true;
  Burden b = burden_of(m);
  const Kernel *longest = b.longest;
  int64_t most = b.most, all = b.all;
  double seconds = b.seconds;
  if ((double)most >= measured.endless_kernel) {
    diag_error(d, longest->loc,
               "kernel %s has %" PRId64 " operations, and at most %.0f are given to a GPU's compiler: %s",
               longest->name, most, measured.endless_kernel, shorter_by(asked));
    return false;
  }
  if (longest && seconds >= measured.endless_told) {
    diag_error(d, longest->loc,
               "%d kernels have %" PRId64 " operations, %s %" PRId64 " of them: the GPU's compiler may take %.0f s for "
               "all together, and is given what takes %.0f s at most: %s",
               m->nkernels, all, longest->name, most, seconds, measured.endless_told, shorter_by(asked));
    return false;
  }
  if (longest && seconds >= measured.slow_told)
    diag_warning(d, longest->loc,
                 "%d kernel%s %" PRId64 " operations, %s %" PRId64 " of them: the GPU's compiler may take %.0f s for "
                 "all together; fewer time steps (-T) or points a thread (-elems) make fewer",
                 m->nkernels, m->nkernels == 1 ? " has" : "s have", all, longest->name, most, seconds);
  return true;
}

/* The instructions of the kernel of PTX from `entry` on, ".entry NAME(", until the next one begins; *end: the next one,
 * NULL: there is none. */
static int64_t instructions(const char *entry, const char **end) {
  int64_t n = 0;
  *end = strstr(entry + 1, ".entry ");
  for (const char *s = strchr(entry, '\n'); s && (!*end || s < *end); s = strchr(s + 1, '\n'))
    n += s[1] == '\t' && (s[2] == '@' || (s[2] >= 'a' && s[2] <= 'z'));
  return n;
}

int64_t budget_instructions(const Schedule *want) { return says_tiles(want) ? (int64_t)measured.endless_code : 0; }

bool budget_assembly(Diags *d, const char *ptx, const Schedule *want) {
  int64_t most = budget_instructions(want);
  for (const char *entry = strstr(ptx, ".entry "), *end; entry && most; entry = end) {
    int64_t n = instructions(entry, &end);
    if (n < most)
      continue;
    const char *name = entry + strlen(".entry ");
    code_too_long(d, name, (int)strcspn(name, "("), n, most);
    return false;
  }
  return true;
}
