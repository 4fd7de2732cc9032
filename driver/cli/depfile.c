/* driver/cli/depfile.c: -MD: writes the input files of an artifact as a rule for make, ninja and CMake. */
#include "driver/tune/tune.h"
#include "frontend/frontend.h"

#include <string.h>
#include <unistd.h>

/* The rule so far; wrong: a name that a rule cannot contain. */
typedef struct Rule {
  Str s;
  const char *wrong;
} Rule;

/* Adds the file's name, escaped for makefiles. */
static void add_name(Rule *r, const char *name) {
  if (strchr(name, '\n'))
    r->wrong = name;
  for (; *name; name++)
    str_addf(&r->s, *name == '$' ? "$$" : *name == ' ' || *name == '#' || *name == '\\' ? "\\%c" : "%c", *name);
}

/* Adds a prerequisite. */
static void add_source(Rule *r, const char *name) {
  str_add(&r->s, " \\\n  ");
  add_name(r, name);
}

char *depfile_text(const Command *c, const StcProgram *p, const char *const *outputs, int n) {
  Rule r = {{c->arena, NULL, 0, 0}, NULL};
  for (int i = 0; i < n; i++) {
    str_add(&r.s, i ? " " : "");
    add_name(&r, outputs[i]);
  }
  str_add(&r.s, ":");
  if (strcmp(c->file, "-") != 0)
    add_source(&r, c->file);
  const char *name;
  for (int i = 0; (name = frontend_included(c->arena, p->text, i)); i++)
    add_source(&r, name);
  if (c->plan && strcmp(c->plan, "-") != 0)
    add_source(&r, c->plan);
  for (int i = 0; i < c->nload; i++)
    add_source(&r, c->load_passes[i]);
  const char *const databases[] = {c->db ? c->db : tune_path_beside(c->arena, c->file),
                                   c->db ? NULL : tune_path_user(c->arena)};
  for (int i = 0; i < 2 && !c->scheduled && !c->no_tune_db; i++)
    if (databases[i] && access(databases[i], R_OK) == 0)
      add_source(&r, databases[i]);
  str_add(&r.s, "\n");
  if (r.wrong)
    context_error(c->context, "-MD: a rule for make cannot hold the new line in the name %s; rename the file", r.wrong);
  return r.wrong ? NULL : r.s.s;
}
