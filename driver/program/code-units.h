/* driver/program/code-units.h: the kernels of a build in units that are compiled apart, by several threads and only if
 * they are wanted (code-units.c). */
#ifndef STC_DEVICE_CODE_UNITS_H
#define STC_DEVICE_CODE_UNITS_H

#include "driver/program/program.h"

/* Some kernels of a module. only: by kernel, is it in? ops: theirs, together. text: what LLVM made of them, from
 * malloc; NULL: nothing yet. */
typedef struct CodeUnit {
  const bool *only;
  int ops;
  char *text;
  size_t text_size;
} CodeUnit;
/* Those of a module. of: by kernel, the number of its unit. code: by kernel, the number of the first one that does the
 * same with the same arguments, whose code it can have: itself, or one before it, which is in the same unit. Of such
 * kernels that one alone is in `only`. */
struct CodeUnits {
  int n, nkernels;
  CodeUnit *all;
  int *of, *code;
};

/* Cuts `m` into units, in `a`: neighbours of few ops are in one that are needed by the same runs. What is launched only
 * in the place of others, what only runs of several steps at once launch, and what only runs launch whose last steps
 * are fewer are in units of their own. The same module gives the same units on all computers. */
CodeUnits *units_cut(Arena *a, const Module *m);
/* Gives the memory of texts back. */
void units_free(CodeUnits *p);

/* Work on a unit, which may run in a thread of its own: messages go to w->diags and to `user` what the work is for. */
typedef StcStatus (*UnitWork)(Workspace *w, CodeUnit *p, int number, void *user);
/* Does the work for all units that are `wanted` (by number), several at once, those of most ops first, and passes their
 * messages on to `d` in the order of the units. Returns the first error; begins no unit once o->stop asks for that, and
 * tells o->working. remarks: are there to be any? */
StcStatus units_each(CodeUnits *p, const bool *wanted, Diags *d, bool remarks, const CodegenOptions *o, UnitWork work,
                     void *user);
/* LLVM's part of that: makes p->text of kernels of `m`, unless it is there. */
StcStatus unit_codegen(Workspace *w, CodeUnit *p, const Module *m, const Target *t, const CodegenOptions *o);

#endif
