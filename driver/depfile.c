/* driver/depfile.c: -MD, what an artifact was made from as a rule for make, ninja and CMake. */
#include "driver/tune/tune.h"

#include <string.h>
#include <unistd.h>

/* Adds the file's name as makefiles have it. */
static void add_name(Str *s, const char *name) {
  for (; *name; name++)
    str_addf(s, *name == '$' ? "$$" : *name == ' ' || *name == '#' || *name == '\\' ? "\\%c" : "%c", *name);
}

/* Adds a prerequisite. */
static void add_source(Str *s, const char *name) {
  str_add(s, " \\\n  ");
  add_name(s, name);
}

char *depfile_text(const Command *c, const char *const *outputs, int n) {
  Str s = {c->arena, NULL, 0, 0};
  for (int i = 0; i < n; i++) {
    str_add(&s, i ? " " : "");
    add_name(&s, outputs[i]);
  }
  str_add(&s, ":");
  if (strcmp(c->file, "-") != 0)
    add_source(&s, c->file);
  if (c->plan && strcmp(c->plan, "-") != 0)
    add_source(&s, c->plan);
  for (int i = 0; i < c->nload; i++)
    add_source(&s, c->load_passes[i]);
  const char *const databases[] = {c->db ? c->db : tune_path_beside(c->arena, c->file),
                                   c->db ? NULL : tune_path_user(c->arena)};
  for (int i = 0; i < 2 && !c->scheduled && !c->no_tune_db; i++)
    if (databases[i] && access(databases[i], R_OK) == 0)
      add_source(&s, databases[i]);
  str_add(&s, "\n");
  return s.s;
}
