#include "driver/driver.h"
char *manifest_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t) { (void)p; (void)m; (void)t; return arena_strdup(w->arena, "{}\n"); }
char *header_text(Workspace *w, const StcProgram *p, const Module *m) { (void)p; (void)m; return arena_strdup(w->arena, "\n"); }
size_t kernel_arg_size(const Module *m, const KArg *a) {
  return a->kind == KARG_SCALAR ? (size_t)type_size(m->scalars[a->index].type) : 8;
}
int64_t dynamic_shared_bytes(const Kernel *k, const Target *t) { int64_t n = kernel_shared_bytes(k); return target_info(t)->simt && n > target_info(t)->shared_bytes ? n : 0; }
