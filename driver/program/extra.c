/* driver/program/extra.c: the memory of plans, and of artifacts' runs, besides the program's fields. Launchers of
 * artifacts support hidden fields of tests, which the `once` sequence computes (docs/manifest.md), and no others; plans
 * support all. */
#include "driver/program/program.h"

/* May kernels of the whole grid use hidden fields? */
static bool may_hide(const StcProgram *p) {
  return p->kind != SOURCE_KIR && !p->options.passes && !p->options.no_hoist;
}

Extra artifact_extra(const StcProgram *p) { return may_hide(p) && !p->cut ? EXTRA_TESTS : EXTRA_NONE; }

Extra program_extra(const StcProgram *p, Arena *a, const TargetInfo *t, int n, const char *const *texts) {
  bool hides = may_hide(p) && (!p->cut || p->packs);
  int padded = program_pads_rows(p, a, t, n, texts);
  if (padded)
    return (hides ? EXTRA_TESTS_PITCH : EXTRA_PITCH) + padded - 1;
  return !hides ? EXTRA_NONE : t->simt || p->cut ? EXTRA_TESTS : EXTRA_FIELDS;
}

bool extra_pads(Extra e) { return e >= EXTRA_PITCH; }

const char *extra_passes(Arena *a, Extra e) {
  if (e >= EXTRA_TESTS_PITCH)
    return arena_printf(a, PASSES_PACKED ",pad-rows(rest=%d)", e - EXTRA_TESTS_PITCH);
  if (e >= EXTRA_PITCH)
    return arena_printf(a, PASSES_BEFORE_PLAN ",pad-rows(rest=%d)", e - EXTRA_PITCH);
  return e == EXTRA_FIELDS ? PASSES_HOISTED : e == EXTRA_TESTS ? PASSES_PACKED : PASSES_BEFORE_PLAN;
}
