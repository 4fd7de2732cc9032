/* families.c: the pipeline of a family of schedules, built from its row (ir/families.def). */
#include "passes/lower/lower.h"

#include <string.h>

/* What comes behind the lowering of tiles for targets with threads. */
static void add_thread_passes(Str *p, const Family *f, const Schedule *s, int rank, bool apart) {
  bool near = f->walked && s->barriers != BARRIERS_BLOCK, walks = f->walked && apart && rank == MAX_RANK;
  if (f->tiled)
    str_addf(p, ",shared-alloc,barriers%s", near ? "(near=1)" : "");
  str_add(p, ",range-guards");
  if (f->tiled)
    str_addf(p, ",specialize%s%s,simplify", walks ? "(walks=1)" : "", apart ? ",split-edges" : "");
}

const char *family_pipeline(Arena *a, const TargetInfo *t, const char *first, const Schedule *s, int rank, bool apart) {
  const Family *f = family_row(s->family);
  Str p = {.arena = a};
  if (*first)
    str_addf(&p, "%s,%s", first, f->tiled ? "fuse,time-tile,halo," : "");
  str_addf(&p, "%s,simplify", f->lower[t->simt]);
  if (t->simt)
    add_thread_passes(&p, f, s, rank, apart);
  else
    str_add(&p, ",shared-alloc,simplify");
  return p.s;
}

/* The pipeline, as far as it is the same for programs with and without probes. */
static const char *plain_pipeline(PassContext *c, const Module *m) {
  static const Schedule open = {0};
  Schedule s = c->schedule ? *c->schedule : open;
  bool apart = schedule_parts_edges(&s, m->grid.rank);
  if (s.family == FAMILY_AUTO)
    s.family = c->target->simt && schedule_prefers_naive(c, m) ? FAMILY_NAIVE : FAMILY_STREAM;
  s.family = s.family ? s.family : FAMILY_OVERLAP;
  return family_pipeline(c->arena, c->target, "scalarize,history,simplify", &s, m->grid.rank, apart);
}

const char *passes_default_pipeline(PassContext *c, const Module *m) {
  const char *plain = plain_pipeline(c, m), *history = plain ? strstr(plain, "history,") : NULL,
             *lower = history ? strstr(history, "lower-") : NULL, *end = lower ? strchr(lower, ',') : NULL;
  if (!m->nprobes || !end)
    return plain;
  return arena_printf(c->arena, "%.*sprobes,%.*s,series%s", (int)(history + 8 - plain), plain, (int)(end - history - 8),
                      history + 8, end);
}
