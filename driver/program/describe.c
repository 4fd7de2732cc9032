/* driver/program/describe.c: a schedule as one line of text. */
#include "driver/program/program.h"

/* The first `rank` numbers as "8x32", up to the first open one: a plan sets two for the tiles of a slice. */
static const char *times_text(Arena *a, const int32_t *n, int rank) {
  Str s = {a, NULL, 0, 0};
  for (int d = 0; d < rank && d < GRID_RANK && n[d]; d++)
    str_addf(&s, d ? "x%d" : "%d", (int)n[d]);
  return s.s ? s.s : "";
}

/* The families of the groups of `s`: a single name if they are equal. */
static const char *groups_family(Arena *a, const Schedule *s) {
  Str text = {.arena = a};
  bool alike = true;
  for (int g = 0; g < s->ngroups; g++) {
    str_addf(&text, "%s%s", g ? "," : "", family_name(s->groups[g].family));
    alike = alike && s->groups[g].family == s->groups[0].family;
  }
  return alike ? family_name(s->groups[0].family) : text.s;
}

/* "overlap T=1 fuse=a+b,c block=8x32,8x32 elems=4x1,1x1", for several groups: numbers and texts apply to all, shapes
 * are listed by group. */
static const char *groups_describe(Arena *a, const Schedule *s, int rank) {
  Str text = {.arena = a};
  str_add(&text, groups_family(a, s));
  for (int i = 0; i < KNOBS; i++) {
    const KnobRow *k = knob_row((KnobId)i);
    const char *const *string = (const void *)((const char *)s + k->at);
    if (k->kind == KNOB_IS_TEXT && *string)
      str_addf(&text, " %s=%s", k->name, *string);
    if (k->kind == KNOB_IS_NUMBER && !(k->flags & KNOB_OF_LAUNCH))
      str_addf(&text, " %s=%d", k->name, (int)*(const int32_t *)(const void *)string);
    for (int g = 0; g < s->ngroups && k->kind == KNOB_IS_SHAPE; g++)
      str_addf(&text, "%s%s%s%s", g ? "," : " ", g ? "" : k->name, g ? "" : "=",
               times_text(a, (const void *)((const char *)&s->groups[g] + k->at), rank));
  }
  return text.s;
}

const char *schedule_describe(Arena *a, const Module *m, const Schedule *s) {
  int rank = m->grid.rank;
  if (s->family)
    return s->ngroups > 1 ? groups_describe(a, s, rank) : plan_tile_text(a, s, rank);
  bool *launched = ARENA_ARRAY(a, bool, m->nkernels + 1);
  if (m->host.nseqs)
    host_kernels(m, &m->host.seqs[0], launched);
  for (int i = 0; i < m->nkernels; i++) {
    const Kernel *k = &m->kernels[i];
    if (launched[i])
      return arena_printf(a, "given T=%d block=%s tile=%s", (int)m->host.seqs[0].steps,
                          times_text(a, k->threads, k->rank), times_text(a, k->tile, k->rank));
  }
  return "nothing to launch";
}
