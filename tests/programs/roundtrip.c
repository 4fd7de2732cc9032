/* tests/programs/roundtrip.c: what is printed parses back to the same module, for every program and after every pass.
 *
 *   roundtrip FILE.stn...
 *
 * Each program is compiled to stencil IR and put through the default pipelines (naive and overlap with T = 2, for
 * nvptx and the host) pass by pass. After each
 * pass the module is verified, printed, parsed and printed again; both texts must be equal, and so must a second
 * printing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "frontend/frontend.h"
#include "ir/ir.h"
#include "passes/passes.h"

/* The whole file at `path` as a string to be freed; NULL if it cannot be read. */
static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  char *s = NULL;
  long n;
  if (!f)
    return NULL;
  if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
    s = calloc((size_t)n + 1, 1);
    if (fread(s, 1, (size_t)n, f) != (size_t)n)
      s[0] = 0;
  }
  fclose(f);
  return s;
}

/* Prints, parses and prints `m`; false with a message if anything differs. `after` names the pass. */
static bool check_text(Arena *a, Diags *d, Module *m, const char *path, const char *after) {
  if (!module_verify(m, d)) {
    printf("FAIL %s: not valid after %s\n", path, after);
    return false;
  }
  char *first = module_print(m);
  Module *back = module_parse(a, d, "printed", first);
  if (!back) {
    printf("FAIL %s: after %s the printed module does not parse\n", path, after);
    return false;
  }
  char *second = module_print(back);
  if (strcmp(first, second) == 0 && strcmp(first, module_print(m)) == 0)
    return true;
  size_t i = 0;
  while (first[i] && first[i] == second[i])
    i++;
  printf("FAIL %s: after %s the texts differ at byte %zu:\n--- printed\n%.200s\n--- printed after parsing\n%.200s\n",
         path, after, i, first + i, second + i);
  return false;
}

/* The end of the first pass in the pipeline at `s`: its comma outside parentheses, or the string's end. */
static const char *pass_end(const char *s) {
  int depth = 0;
  for (; *s && !(*s == ',' && depth == 0); s++)
    depth += (*s == '(') - (*s == ')');
  return s;
}

/* One program under one schedule for one architecture. Returns the number of failures. */
static int test_pipeline(const char *path, const char *text, const char *arch, const char *family, int *passes) {
  Arena *a = arena_new(NULL, NULL);
  Diags *d = diags_new(a, NULL, NULL);
  FrontendOptions fo = {.real = TY_F32, .contract = true};
  Schedule schedule = {.family = family_find(family), .T = strcmp(family, "overlap") == 0 ? 2 : 0};
  Module *m = frontend_compile(a, d, path, text, &fo);
  const Target *target = target_find(a, d, arch, NULL);
  int failures = !m || !target || !check_text(a, d, m, path, "the frontend");
  PassContext c = {.arena = a, .diags = d, .target = target ? target_info(target) : NULL, .schedule = &schedule};
  const char *p = failures ? "" : PASSES_DEFAULT;
  while (*p && m) {
    const char *end = pass_end(p);
    char *name = arena_strndup(a, p, (size_t)(end - p));
    m = passes_run(&c, NULL, name, m);
    if (!m || !check_text(a, d, m, path, arena_printf(a, "%s (%s, %s)", name, arch, family))) {
      failures++;
      break;
    }
    ++*passes;
    p = *end ? end + 1 : end;
  }
  arena_free(a);
  return failures;
}

int main(int argc, char **argv) {
  static const char *const arches[] = {"nvptx", "host"}, *const families[] = {"naive", "overlap"};
  int failures = 0, passes = 0;
  for (int i = 1; i < argc; i++) {
    char *text = read_file(argv[i]);
    if (!text)
      printf("FAIL %s: cannot be read\n", argv[i]);
    failures += !text;
    for (int k = 0; k < 4 && text; k++)
      failures += test_pipeline(argv[i], text, arches[k / 2], families[k % 2], &passes);
    free(text);
  }
  printf("%d programs, %d modules printed and parsed back, %d failures\n", argc - 1, passes, failures);
  return failures || passes < argc - 1 ? 1 : 0;
}
