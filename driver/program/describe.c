/* driver/program/describe.c: a schedule in a line, for people. */
#include "driver/program/program.h"

/* "8x32" of the first `rank` numbers. */
static const char *times_text(Arena *a, const int32_t *n, int rank) {
  Str s = {a, NULL, 0, 0};
  for (int d = 0; d < rank; d++)
    str_addf(&s, d ? "x%d" : "%d", (int)n[d]);
  return s.s ? s.s : "";
}

/* The families of the groups of `s`: one name if they are alike. */
static const char *groups_family(Arena *a, const Schedule *s) {
  Str text = {.arena = a};
  bool alike = true;
  for (int g = 0; g < s->ngroups; g++) {
    str_addf(&text, "%s%s", g ? "," : "", family_name(s->groups[g].family));
    alike = alike && s->groups[g].family == s->groups[0].family;
  }
  return alike ? family_name(s->groups[0].family) : text.s;
}

/* "overlap T=1 fuse=a+b,c block=8x32,8x32 elems=4x1,1x1": of several groups. */
static const char *groups_describe(Arena *a, const Schedule *s, int rank) {
  Str block = {.arena = a}, elems = {.arena = a};
  for (int g = 0; g < s->ngroups; g++) {
    str_add(&block, g ? "," : "");
    str_add(&block, times_text(a, s->groups[g].block, rank));
    str_add(&elems, g ? "," : "");
    str_add(&elems, times_text(a, s->groups[g].elems, rank));
  }
  return arena_printf(a, "%s T=%d fuse=%s block=%s elems=%s", groups_family(a, s), (int)s->T, s->fuse, block.s,
                      elems.s);
}

/* "stream T=4 block=4x32 elems=1x2 chunk=128 ahead=4": of one launch, the knobs that its family has. */
static const char *knobs_describe(Arena *a, const Schedule *s, int rank) {
  const Family *f = family_row(s->family);
  Str text = {.arena = a};
  str_add(&text, f->name);
  if (f->knobs & KNOB_T)
    str_addf(&text, " T=%d", (int)s->T);
  str_addf(&text, " block=%s", times_text(a, s->block, rank));
  if (f->knobs & KNOB_ELEMS)
    str_addf(&text, " elems=%s", times_text(a, s->elems, rank));
  if (f->knobs & KNOB_CHUNK)
    str_addf(&text, " chunk=%d", (int)s->chunk);
  if (f->knobs & KNOB_AHEAD)
    str_addf(&text, " ahead=%d", (int)s->ahead);
  if (s->tiles == TILES_FITTED || s->tiles == TILES_LANES)
    str_addf(&text, " tiles=%s", tiles_name(s->tiles));
  return text.s;
}

const char *schedule_describe(Arena *a, const Module *m, const Schedule *s) {
  int rank = m->grid.rank;
  if (s->family)
    return s->ngroups > 1 ? groups_describe(a, s, rank) : knobs_describe(a, s, rank);
  const HostSeq *seq = m->host.nseqs ? &m->host.seqs[0] : NULL;
  for (int i = 0; seq && i < seq->nops; i++) {
    const Kernel *k = seq->ops[i].kind == HOST_LAUNCH ? &m->kernels[seq->ops[i].a] : NULL;
    if (k)
      return arena_printf(a, "given T=%d block=%s tile=%s", (int)seq->steps, times_text(a, k->threads, k->rank),
                          times_text(a, k->tile, k->rank));
  }
  return "nothing to launch";
}
