/* driver/program/late.c: which kernels of a build are compiled late: those of sequences of fewer steps than a tile's,
 * on devices that compile each kernel when it is needed. plan-late.c decides when that is. */
#include "driver/program/program.h"

bool build_is_late(const StcProgram *p, const Build *b, int i) {
  return target_info(b->code.target)->late && p->kind != SOURCE_KIR && i > 0 && i + 1 < b->code.module->host.nseqs;
}

const bool *build_late_kernels(const StcProgram *p, const Build *b, Arena *a) {
  const Module *m = b->code.module;
  bool *late = ARENA_ARRAY(a, bool, m->nkernels + 1), *now = ARENA_ARRAY(a, bool, m->nkernels + 1);
  for (int i = 0; i < m->host.nseqs; i++)
    host_kernels(m, &m->host.seqs[i], build_is_late(p, b, i) ? late : now);
  host_kernels(m, &m->host.init, now);
  host_kernels(m, &m->host.once, now);
  for (int k = 0; k < m->nkernels; k++)
    late[k] = late[k] && !now[k];
  return late;
}
