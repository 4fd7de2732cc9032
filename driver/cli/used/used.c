/* driver/cli/used/used.c: checks that no file which a command reads is replaced, and that none is written twice, in
 * whatever form the names are given. */
#include "driver/cli/used/used.h"
#include "driver/data/writer.h"
#include "driver/tune/db/tune-db.h"
#include "frontend/frontend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---------------------------------------------------------------- the file of a name */

/* `path` as an absolute path, without links in its folders; the file need not exist. */
static const char *from_root(Arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  char *folder = realpath(slash ? arena_strndup(a, path, (size_t)(base - path)) : ".", NULL);
  const char *whole = folder ? arena_printf(a, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, base) : path;
  free(folder);
  return whole;
}

/* The name without its folder. */
static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* The name without its folder, with "%d" for the number of a step in any form. */
static const char *plain_name(Arena *a, const char *path) {
  const char *name = base_name(path);
  int n;
  const char *number = path_number(name, &n);
  return number ? arena_printf(a, "%.*s%%d%s", (int)(number - name), name, number + n) : name;
}

/* Is one of the names, both absolute, the name of a step's file of the other, or do both name the same series of files?
 */
static bool same_series(Arena *a, const char *x, const char *y) {
  const char *bx = base_name(x), *by = base_name(y);
  bool folder = bx - x == by - y && strncmp(x, y, (size_t)(bx - x)) == 0;
  return folder &&
         (strcmp(plain_name(a, x), plain_name(a, y)) == 0 || path_is_of_step(a, bx, by) || path_is_of_step(a, by, bx));
}

bool name_one_file(Arena *a, const char *x, const char *y) {
  struct stat sx, sy;
  if (path_is_special(x) || path_is_special(y))
    return false;
  if (stat(x, &sx) == 0 && stat(y, &sy) == 0)
    return sx.st_dev == sy.st_dev && sx.st_ino == sy.st_ino;
  return same_series(a, from_root(a, file_behind(a, x)), from_root(a, file_behind(a, y)));
}

/* ---------------------------------------------------------------- the files of a command */

/* Does the value of --in have the form of a number? */
static bool looks_like_value(const char *v) {
  static const char *const words[] = {"zero", "true", "false", "inf", "-inf", "nan", NULL};
  for (int i = 0; words[i]; i++)
    if (strcmp(v, words[i]) == 0)
      return true;
  char *end;
  strtod(v, &end);
  return end != v && !*end;
}

bool is_file(const char *value) { return strncmp(value, "random:", 7) != 0 && !looks_like_value(value); }

void used_add(UsedFiles *u, Use use, const char *path, const char *what) {
  UsedFile f = {use, false, path, what};
  if (path)
    ARENA_PUSH(u->arena, u->file, u->n, f);
}

void used_add_inputs(UsedFiles *u, const Command *c) {
  used_add(u, USE_READ, c->file, "the program");
  used_add(u, USE_READ, c->plan, "the plan of -plan");
  for (int i = 0; i < c->nload; i++)
    used_add(u, USE_READ, c->load_passes[i], "what -load-pass names");
  for (int i = 0; i < c->nin; i++)
    if (is_file(c->in[i].value))
      used_add(u, USE_READ_VALUES, hdf5_file(u->arena, c->in[i].value), "read by --in");
  used_add(u, USE_READ_STATE, c->restart, "the checkpoint of --restart");
  if (c->no_tune_db || c->kind == CMD_TUNE || c->kind == CMD_BENCH)
    return;
  used_add(u, USE_READ, c->db ? c->db : tune_path_beside(u->arena, c->file), "a database of schedules");
  used_add(u, USE_READ, c->db ? NULL : tune_path_user(u->arena), "the user's database of schedules");
}

void used_add_included(UsedFiles *u, const StcProgram *p) {
  const char *name;
  for (int i = 0; (name = frontend_included(u->arena, p->text, i)); i++)
    used_add(u, USE_READ, name, "included by the program");
}

/* Does the name have this extension? */
static bool ends_in(const char *path, const char *ending) {
  size_t n = strlen(path), k = strlen(ending);
  return n > k && strcmp(path + n - k, ending) == 0;
}

void used_add_output(UsedFiles *u, Use use, const char *path, const char *what) {
  Arena *a = u->arena;
  int n = (int)strlen(path);
  used_add(u, use, path, what);
  if (use == USE_WRITE_STATE || ends_in(path, ".h5") || ends_in(path, ".nc") || ends_in(path, ".mp4"))
    ARENA_PUSH(a, u->file, u->n, ((UsedFile){USE_WRITE, true, arena_printf(a, "%s.part", path), what}));
  if (use == USE_WRITE_VALUES && ends_in(path, ".h5"))
    used_add(u, USE_WRITE, arena_printf(a, "%.*s.xmf", n - 3, path), what);
  if (use == USE_WRITE_VALUES && ends_in(path, ".pvd"))
    used_add(u, USE_WRITE, arena_printf(a, "%.*s_%%06d.vti", n - 4, path), what);
}

/* ---------------------------------------------------------------- the rule */

/* Do both name the same file? */
static bool is_same(Arena *a, const UsedFile *x, const UsedFile *y) {
  if (x->making || y->making)
    return same_series(a, from_root(a, x->path), from_root(a, y->path));
  return name_one_file(a, x->path, y->path);
}

/* May an output replace the file that is read? */
static bool may_replace(const UsedFile *read, const UsedFile *written) {
  return (read->use == USE_READ_VALUES && written->use == USE_WRITE_VALUES) ||
         (read->use == USE_READ_STATE && written->use == USE_WRITE_STATE);
}

StcStatus used_check(const Command *c, const UsedFiles *u) {
  for (int i = 0; i < u->n; i++)
    for (int k = 0; k < i; k++) {
      const UsedFile *x = &u->file[k], *y = &u->file[i];
      if (x->use < USE_WRITE && y->use < USE_WRITE)
        continue;
      const UsedFile *read = x->use < USE_WRITE ? x : y->use < USE_WRITE ? y : NULL, *written = read == y ? x : y;
      if ((read && may_replace(read, written)) || !is_same(u->arena, x, y))
        continue;
      if (read)
        return context_error(c->context, "%s is %s, and %s would replace it: give the output another name",
                             written->path, read->what, written->what),
               STC_USAGE;
      return context_error(c->context, "%s is written twice, by %s and by %s: give each a file of its own", y->path,
                           x->what, y->what),
             STC_USAGE;
    }
  return STC_OK;
}
