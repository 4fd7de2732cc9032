/* groups.c: the groups into which the step's stencils are cut, one launch for each, and the text of a cut. */
#include "passes/launch/launch.h"

#include <string.h>

int group_count(int n, const Stencil *st) {
  int groups = n > 0;
  for (int i = 1; i < n; i++)
    groups += st[i].group != st[i - 1].group;
  return groups;
}

int group_length(int n, const Stencil *st) {
  int k = 1;
  while (k < n && st[k].group == st[0].group)
    k++;
  return k;
}

Launch **group_launches(const Module *m, int n, const Stencil *st, int *count) {
  Launch **l = ARENA_ARRAY(m->arena, Launch *, n + 1);
  *count = 0;
  for (int i = 0, k; i < n; i += k) {
    k = group_length(n - i, st + i);
    l[(*count)++] = launch_new(m, k, st + i, st, st + n);
  }
  return l;
}

bool is_history_stencil(const Module *m, const Stencil *st) {
  for (int i = 0; i < st->ntargets; i++)
    if (m->fields[st->targets[i]].past > 0)
      return true;
  return false;
}

bool is_probe_stencil(const Module *m, const Stencil *st) {
  return st->ntargets == 1 && m->fields[st->targets[0]].series;
}

int part_before(const Module *m, const Stencil *st, int i) {
  int before = i - 1;
  while (before >= 0 && !is_history_stencil(m, &st[i]) && is_history_stencil(m, &st[before]))
    before--;
  bool same = before >= 0 && st[i].level == st[before].level && strcmp(st[i].name, st[before].name) == 0;
  return same ? before : -1;
}

bool is_said_stencil(const Module *m, int n, const Stencil *st, int i) {
  int next = i, before = part_before(m, st, i);
  if (before >= 0 && st[i].group == st[before].group)
    return false;
  while (next < n && is_history_stencil(m, &st[next]))
    next++;
  return next == i || next == n || is_probe_stencil(m, &st[next]);
}

const char *cut_cure(const Module *m) {
  if (m->nrepeats)
    return "a repeat makes rounds within it: leave -T out";
  return m->nupdates ? "a scalar is updated within it: leave -T out" : "use -fuse=all, or leave -T out";
}

const char *said_name(Arena *a, const Stencil *st) {
  Str s = {.arena = a};
  for (const char *c = st->name; *c; c++)
    str_addf(&s, strchr("+,/%\"\\", *c) || (unsigned char)*c <= ' ' ? "%%%02X" : "%c", (unsigned char)*c);
  return s.s ? s.s : "";
}

const char *cut_text(Arena *a, const Module *m, int n, const Stencil *st) {
  Str s = {.arena = a};
  for (int i = 0, last = -1; i < n; i++) {
    if (!is_said_stencil(m, n, st, i))
      continue;
    str_addf(&s, "%s%s", last < 0 ? "" : st[last].group == st[i].group ? "+" : ",", said_name(a, &st[i]));
    last = i;
  }
  return s.s ? s.s : "";
}
