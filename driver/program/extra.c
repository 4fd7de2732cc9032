/* driver/program/extra.c: what the memory of plans has beside the program's fields. Launchers of artifacts are told
 * what fields there are, and nothing else; plans are stc's own. */
#include "driver/program/program.h"

Extra program_extra(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts) {
  int padded = program_pads_rows(p, a, t, n, texts);
  if (padded)
    return EXTRA_PITCH + padded - 1;
  bool hoists = !t->simt && p->kind != SOURCE_KIR && !p->options.passes && !p->cut && !p->options.no_hoist;
  return hoists ? EXTRA_FIELDS : EXTRA_NONE;
}

const char *extra_passes(Arena *a, Extra e) {
  if (e >= EXTRA_PITCH)
    return arena_printf(a, PASSES_BEFORE_PLAN ",pad-rows(rest=%d)", e - EXTRA_PITCH);
  return e == EXTRA_FIELDS ? PASSES_HOISTED : PASSES_BEFORE_PLAN;
}
