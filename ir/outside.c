/* outside.c: the table of outside rules (outside.def), and asking it. */
#include "ir/module.h"

#include <string.h>

/* Where a rule leads to, see outside.def. */
typedef enum Reach { REACH_STAYS, REACH_BACK, REACH_AROUND } Reach;

static const struct {
  const char *name;
  Opcode map;
  Reach reach;
} table[] = {
#define OUTSIDE(id, name, map, reach) {name, OP_##map, REACH_##reach},
#include "ir/outside.def"
#undef OUTSIDE
};

const char *outside_name(OutsideRule r) { return table[r].name; }

Opcode outside_map(OutsideRule r) { return table[r].map; }

bool outside_leads(OutsideRule r) { return table[r].reach != REACH_STAYS; }

void outside_reach(OutsideRule r, int64_t off, int64_t *lo, int64_t *hi) {
  int64_t far = off < 0 ? -off : off;
  *lo = *hi = off;
  if (table[r].reach == REACH_BACK) {
    *lo = off < 0 ? off : 0;
    *hi = off > 0 ? off : 0;
  } else if (table[r].reach == REACH_AROUND) {
    *lo = -far;
    *hi = far;
  }
}

const char *outside_word(int i) {
  for (int r = 0; r < OUTSIDE_RULES; r++)
    if (table[r].map != OP_COUNT && i-- == 0)
      return table[r].name;
  return NULL;
}

OutsideRule outside_find(const char *name) {
  for (int r = 0; r < OUTSIDE_RULES; r++)
    if (strcmp(table[r].name, name) == 0)
      return (OutsideRule)r;
  return OUTSIDE_NONE;
}

const char *outside_words(Arena *a, const char *last) {
  Str s = {.arena = a};
  for (int i = 0; outside_word(i); i++)
    str_addf(&s, "%s%s", !i ? "" : outside_word(i + 1) ? ", " : last, outside_word(i));
  return s.s;
}
