/* driver/artifact/kernel-call.c: the facts that a launcher of a kernel needs: the size of its arguments, and its bytes
 * of shared memory. */
#include "driver/artifact/artifact.h"

size_t kernel_arg_size(const Module *m, const KArg *a) {
  return a->kind == KARG_SCALAR ? (size_t)type_size(m->scalars[a->index].type) : 8;
}

int64_t dynamic_shared_bytes(const Kernel *k, const Target *t) {
  int64_t fixed, given;
  target_kernel_shared(t, k, &fixed, &given);
  return target_info(t)->simt ? given : 0;
}
