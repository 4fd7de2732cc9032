/* driver/program/code-units.h: the kernels of a build in units that are compiled separately, by several threads and
 * only if they are needed (code-units.c). */
#ifndef STC_DEVICE_CODE_UNITS_H
#define STC_DEVICE_CODE_UNITS_H

#include "driver/program/program.h"

/* Some kernels of a module. only: by kernel, is it in the unit? ops: the number of their ops. text: LLVM's output for
 * them, from malloc; NULL: none yet. */
typedef struct CodeUnit {
  const bool *only;
  int ops;
  char *text;
  size_t text_size;
} CodeUnit;
/* The units of a module. of: by kernel, the number of its unit. code: by kernel, the number of the first kernel with
 * the same effect and the same arguments, whose code it can use: itself, or an earlier one in the same unit. Of such
 * kernels only that one is in `only`. */
struct CodeUnits {
  int n, nkernels;
  CodeUnit *all;
  int *of, *code;
};

/* Divides `m` into units, in `a`: neighbouring kernels of few ops that the same runs need form one unit. Kernels that
 * are launched only in place of others, that only runs with several steps at once launch, or that only runs with a
 * remainder of fewer steps launch, are in units of their own. The same module gives the same units on all computers. */
CodeUnits *units_cut(Arena *a, const Module *m);
/* Frees the texts. */
void units_free(CodeUnits *p);

/* The work on a unit, which may run in a thread of its own: messages go to w->diags; `user` is passed on. */
typedef StcStatus (*UnitWork)(Workspace *w, CodeUnit *p, int number, void *user);
/* Does the work for all units that are `wanted` (by number), several at once, those with most ops first, and passes
 * their messages on to `d` in the order of the units. Returns the first error. Begins no further unit once o->stop is
 * requested; updates o->working. remarks: are remarks enabled? */
StcStatus units_each(CodeUnits *p, const bool *wanted, Diags *d, bool remarks, const CodegenOptions *o, UnitWork work,
                     void *user);
/* LLVM's part of the work: makes p->text from the kernels of `m`, unless it exists. */
StcStatus unit_codegen(Workspace *w, CodeUnit *p, const Module *m, const Target *t, const CodegenOptions *o);

#endif
