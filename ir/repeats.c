/* ir/repeats.c: loops of stencils and updates within a step (Repeat), described by their stages. */
#include "ir/module.h"

#include <string.h>

int module_find_repeat(const Module *m, const char *name) {
  for (int i = 0; i < m->nrepeats; i++)
    if (strcmp(m->repeats[i].name, name) == 0)
      return i;
  return -1;
}

int repeat_of(const Module *m, int32_t stage) {
  for (int i = 0; i < m->nrepeats; i++)
    if (m->repeats[i].first <= stage && stage <= m->repeats[i].last)
      return i;
  return -1;
}

int repeat_around(const Module *m, int i) {
  for (int k = i + 1; k < m->nrepeats; k++)
    if (m->repeats[k].first <= m->repeats[i].first && m->repeats[i].last <= m->repeats[k].last)
      return k;
  return -1;
}

int repeat_outermost(const Module *m, int32_t stage, int around) {
  int r = repeat_of(m, stage);
  while (r != around && repeat_around(m, r) != around)
    r = repeat_around(m, r);
  return r;
}

bool repeat_is_in(const Module *m, int i, int outer) {
  while (i >= 0 && i != outer)
    i = repeat_around(m, i);
  return i == outer;
}

bool repeat_is_fixed(const Module *m, int i) {
  bool fixed = !m->repeats[i].most.n && repeat_around(m, i) < 0;
  for (int k = 0; k < m->nreductions; k++)
    fixed = fixed && m->reductions[k].loop != i + 1;
  return fixed;
}

bool module_has_stages(const Module *m) { return m->nupdates || m->nrepeats; }

int32_t module_last_stage(const Module *m) {
  int32_t last = m->nstencils ? m->stencils[m->nstencils - 1].stage : 0;
  for (int i = 0; i < m->nupdates; i++)
    last = m->updates[i].stage > last ? m->updates[i].stage : last;
  for (int i = 0; i < m->nrepeats; i++)
    last = m->repeats[i].last >= last ? m->repeats[i].last + 1 : last;
  return last;
}
