/* driver/program/late.c: which kernels of a build are compiled late, if at all: those of sequences of fewer steps than
 * a tile's, on devices that compile each when it is wanted. plan-late.c says when that is. */
#include "driver/program/program.h"

bool build_is_late(const StcProgram *p, const Build *b, int i) {
  return target_info(b->code.target)->late && p->kind != SOURCE_KIR && i > 0 && i + 1 < b->code.module->host.nseqs;
}

/* Notes in `kernels` that those which `seq` launches are `late`. */
static void note_kernels(const HostSeq *seq, bool late, bool *kernels) {
  for (int i = 0; i < seq->nops; i++)
    if (seq->ops[i].kind == HOST_LAUNCH)
      kernels[seq->ops[i].a] = late;
}

const bool *build_late_kernels(const StcProgram *p, const Build *b, Arena *a) {
  const Module *m = b->code.module;
  bool *late = ARENA_ARRAY(a, bool, m->nkernels + 1);
  for (int i = 0; i < m->host.nseqs; i++)
    if (build_is_late(p, b, i))
      note_kernels(&m->host.seqs[i], true, late);
  for (int i = 0; i < m->host.nseqs; i++)
    if (!build_is_late(p, b, i))
      note_kernels(&m->host.seqs[i], false, late);
  note_kernels(&m->host.init, false, late);
  note_kernels(&m->host.once, false, late);
  return late;
}
