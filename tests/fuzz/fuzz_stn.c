/* tests/fuzz/fuzz_stn.c: a libFuzzer target for the frontend. Any text must give a verified module or an error, never
 * a crash; the module's printed text must parse back. A program that can be formatted comes out of itself then. */
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

/* Takes a message and forgets it. */
static void ignore_message(void *user, const Diag *d) {
  (void)user;
  (void)d;
}

/* Formats a program; what comes out must be formatted, too. */
static void format_twice(Arena *a, const char *text) {
  Diags *d = diags_new(a, ignore_message, NULL);
  const char *once = frontend_format(a, d, "fuzz.stn", text);
  if (!once && diags_errors(d) == 0)
    abort();
  const char *twice = once ? frontend_format(a, d, "fuzz.stn", once) : NULL;
  if (once && (!twice || strcmp(once, twice) != 0))
    abort();
}

/* Compiles the `size` bytes at `data` as a program; a module that does not print and parse back is a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *a = arena_new(NULL, NULL);
  char *text = arena_strndup(a, (const char *)data, size);
  Diags *d = diags_new(a, ignore_message, NULL);
  FrontendOptions o = {.real = TY_F32, .contract = true};
  Module *m = frontend_compile(a, d, "fuzz.stn", text, &o);
  if (!m && diags_errors(d) == 0)
    abort();
  if (m) {
    char *first = module_print(m);
    Module *back = module_parse(a, d, "fuzz.sir", first);
    if (!back || strcmp(first, module_print(back)) != 0)
      abort();
  }
  format_twice(a, text);
  arena_free(a);
  return 0;
}
