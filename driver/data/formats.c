/* driver/data/formats.c: the table of file formats, and file names with the number of a step. */
#include "driver/data/joint.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The functions of a writer that opens a file. */
#define WRITER(F) .open = F##_open, .step = F##_step, .close = F##_close, .abort = F##_abort

const Format formats[] = {
    {.ending = ".npy", .help = "an array of NumPy", .fields = 1, .step = npy_step, .joint = &npy_joint},
    {.ending = ".png", .help = "a picture", .fields = 1, .scalars = true, .step = png_step},
    {.ending = ".h5",
     .help = "HDF5, with an XDMF beside it",
     .series = true,
     .continues = true,
     .complex = true,
     WRITER(hdf5),
     .joint = &hdf5_joint},
    {.ending = ".nc",
     .help = "netCDF-4",
     .series = true,
     .continues = true,
     .complex = true,
     WRITER(hdf5),
     .joint = &hdf5_joint},
    {.ending = ".vti", .help = "VTK's image data", WRITER(vti), .joint = &vti_joint},
    {.ending = ".pvd",
     .help = "a list of .vti files, one a step, with these",
     .series = true,
     .continues = true,
     WRITER(pvd),
     .joint = &pvd_joint},
    {.ending = ".apng",
     .help = "a film, which browsers show",
     .series = true,
     .fields = 1,
     .scalars = true,
     WRITER(film)},
    {.ending = ".mp4",
     .help = "a film, made by the program ffmpeg",
     .series = true,
     .fields = 1,
     .scalars = true,
     WRITER(movie)},
    {.ending = NULL},
};

const Format *format_of(const char *ending) {
  for (const Format *f = formats; f->ending; f++)
    if (strcmp(f->ending, ending) == 0)
      return f;
  return NULL;
}

bool path_is_special(const char *path) { return file_is_special(path); }

/* ".npy, .png and .vti". */
static void list_endings(char *to, size_t size) {
  size_t n = 0;
  to[0] = 0;
  for (const Format *f = formats; f->ending && n < size; f++)
    n += (size_t)snprintf(to + n, size - n, "%s%s", f == formats ? "" : f[1].ending ? ", " : " and ", f->ending);
}

const Format *format_find(StcContext *c, const char *option, const char *path) {
  char endings[256];
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  const Format *f = dot ? format_of(dot) : NULL;
  if (!f && path_is_special(path))
    f = formats;
  list_endings(endings, sizeof endings);
  if (!f && dot)
    context_error(c, "%s %s: no format has the ending %s; there are %s", option, path, dot, endings);
  else if (!f)
    context_error(c, "%s %s: the name has no ending that tells the format; there are %s", option, path, endings);
  return f;
}

const char *path_number(const char *path, int *n) {
  for (const char *at = strchr(path, '%'); at; at = strchr(at + 1, '%')) {
    size_t digits = strspn(at + 1, "0123456789");
    *n = (int)digits + 2;
    if (at[1 + digits] == 'd' && digits < 3)
      return at;
  }
  return NULL;
}

const char *path_of_step(Arena *a, const char *path, int64_t step) {
  int n, width = 0;
  const char *at = path_number(path, &n);
  if (!at)
    return path;
  for (const char *c = at + 1; *c != 'd'; c++)
    width = 10 * width + (*c - '0');
  const char *number = at[1] == '0' ? arena_printf(a, "%0*lld", width, (long long)step)
                                    : arena_printf(a, "%*lld", width, (long long)step);
  return arena_printf(a, "%.*s%s%s", (int)(at - path), path, number, at + n);
}

bool path_is_of_step(Arena *a, const char *path, const char *name) {
  int n;
  const char *number = path_number(path, &n);
  if (!number || path_number(name, &n) || strncmp(path, name, (size_t)(number - path)) != 0)
    return false;
  return strcmp(path_of_step(a, path, strtoll(name + (number - path), NULL, 10)), name) == 0;
}

/* Does the name `pattern`, with a placeholder for a step's number, have a step whose file exists and is not a regular
 * file? */
static bool is_special_at_a_step(Arena *a, const char *pattern) {
  const char *slash = strrchr(pattern, '/'), *base = slash ? slash + 1 : pattern;
  int n, folder = (int)(base - pattern);
  DIR *d = path_number(base, &n) ? opendir(folder ? arena_strndup(a, pattern, (size_t)folder) : ".") : NULL;
  bool special = false;
  for (struct dirent *e; d && !special && (e = readdir(d));)
    special =
        path_is_of_step(a, base, e->d_name) && path_is_special(arena_printf(a, "%.*s%s", folder, pattern, e->d_name));
  if (d)
    closedir(d);
  return special;
}

bool output_is_special(Arena *a, const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot && strcmp(dot, ".pvd") == 0 &&
      is_special_at_a_step(a, arena_printf(a, "%.*s_%%06d.vti", (int)(dot - path), path)))
    return true;
  return path_is_special(path) || is_special_at_a_step(a, path);
}
