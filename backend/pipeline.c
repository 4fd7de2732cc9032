/* backend/pipeline.c: which of LLVM's passes a module runs through. */
#include "backend/emit.h"

/* What a module of very many loops is left with. */
static const char quick_passes[] = "function(sroa,early-cse,simplifycfg,loop-mssa(loop-rotate,licm),loop-vectorize,"
                                   "early-cse,instsimplify,simplifycfg)";

const char *pipeline_of(const CodegenOptions *o) {
  static const char *const levels[] = {NULL, "default<O1>", "default<O2>", "default<O3>"};
  int level = o->opt_level & 3;
  return level && o->quick ? quick_passes : levels[level];
}
