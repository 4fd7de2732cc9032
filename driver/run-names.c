/* driver/run-names.c: `stc run`: no file is written twice, whatever its name is written like. */
#include "driver/data/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Are both the same folder? Each is the first `n` characters of a path, 0: where the process is. */
static bool same_folder(Arena *a, const char *x, size_t nx, const char *y, size_t ny) {
  struct stat sx, sy;
  return stat(nx ? arena_strndup(a, x, nx) : ".", &sx) == 0 && stat(ny ? arena_strndup(a, y, ny) : ".", &sy) == 0 &&
         sx.st_dev == sy.st_dev && sx.st_ino == sy.st_ino;
}

/* The name without its folder, with "%d" where it has the number of a step, however that is written. */
static const char *plain_name(Arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int n;
  const char *number = path_number(name, &n);
  return number ? arena_printf(a, "%.*s%%d%s", (int)(number - name), name, number + n) : name;
}

/* The name without its folder. */
static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* Do both names mean one file? */
static bool same_file(Arena *a, const char *x, const char *y) {
  const char *nx = strrchr(x, '/'), *ny = strrchr(y, '/');
  const char *bx = base_name(x), *by = base_name(y);
  bool same =
      strcmp(plain_name(a, x), plain_name(a, y)) == 0 || path_is_of_step(a, bx, by) || path_is_of_step(a, by, bx);
  if (!same || path_is_special(x))
    return false;
  return strcmp(x, y) == 0 || same_folder(a, x, nx ? (size_t)(nx - x) + 1 : 0, y, ny ? (size_t)(ny - y) + 1 : 0);
}

/* The name `path` with `ending` in place of its own, of `n` characters. */
static const char *beside(Arena *a, const char *path, size_t n, const char *ending) {
  return arena_printf(a, "%.*s%s", (int)(strlen(path) - n), path, ending);
}

int names_of_output(Arena *a, const char *option, const char *path, WrittenName *to) {
  const char *dot = strrchr(path, '.');
  to[0] = (WrittenName){path, option};
  if (dot && strcmp(dot, ".h5") == 0)
    to[1] = (WrittenName){beside(a, path, 3, ".xmf"), option};
  else if (dot && strcmp(dot, ".pvd") == 0)
    to[1] = (WrittenName){beside(a, path, 4, "_%06d.vti"), option};
  else
    return 1;
  return 2;
}

bool is_written(const Command *c, const char *path) {
  bool same = false;
  for (int i = 0; i < c->nout + c->npng; i++) {
    WrittenName names[2];
    int n = names_of_output(c->arena, "", i < c->nout ? c->outs[i].value : c->pngs[i - c->nout].value, names);
    for (int k = 0; k < n; k++)
      same |= same_file(c->arena, path, names[k].path);
  }
  return same;
}

StcStatus names_check(const Command *c, int n, const WrittenName *names) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (same_file(c->arena, names[i].path, names[k].path))
        return context_error(c->context, "%s is written twice, by %s and by %s: give each a file of its own",
                             names[i].path, names[k].option, names[i].option),
               STC_USAGE;
  return STC_OK;
}
