/* plan.c: the table of the families of schedules, and the names of what a plan says. */
#include "ir/plan.h"

#include <string.h>

static const Family table[FAMILIES] = {
    [FAMILY_AUTO] = {.name = "auto"},
#define FAMILY(id, name, knobs, tiled, walked, threads, loops, about) \
  [FAMILY_##id] = {name, knobs, tiled, walked, {loops, threads}, about},
#include "ir/families.def"
#undef FAMILY
};

static const char *const edges[] = {NULL, "apart", "along"}, *const barriers[] = {NULL, "neighbours", "block"};

const Family *family_row(FamilyId id) { return &table[id]; }

const char *family_name(FamilyId id) { return table[id].name; }

const char *edges_name(EdgesKind k) { return edges[k]; }

const char *barriers_name(BarriersKind k) { return barriers[k]; }

/* The place of `name` (NULL: 0) among the `n` names, the first of which stands for none; 0 if it is not there. */
static int place_of(const char *name, int n, const char *const *names) {
  for (int i = 1; i < n && name; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  return 0;
}

FamilyId family_find(const char *name) {
  for (int i = FAMILY_AUTO; i < FAMILIES && name; i++)
    if (strcmp(table[i].name, name) == 0)
      return (FamilyId)i;
  return FAMILY_NONE;
}

EdgesKind edges_find(const char *name) { return (EdgesKind)place_of(name, 3, edges); }

BarriersKind barriers_find(const char *name) { return (BarriersKind)place_of(name, 3, barriers); }

const char *family_names(Arena *a) {
  Str s = {.arena = a};
  for (int i = FAMILY_AUTO + 1; i < FAMILIES; i++)
    str_addf(&s, "%s%s", i == FAMILY_AUTO + 1 ? "" : i == FAMILIES - 1 ? " and " : ", ", table[i].name);
  return s.s;
}
