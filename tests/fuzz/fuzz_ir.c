/* tests/fuzz/fuzz_ir.c: a libFuzzer target for the parser of IR text. Any text must give a verified module or an
 * error, never a crash; what was
 * parsed must print and parse back to the same text. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

/* Takes a message and forgets it. */
static void ignore_message(void *user, const Diag *d) {
  (void)user;
  (void)d;
}

/* Parses the `size` bytes at `data` as IR of either level. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *a = arena_new(NULL, NULL);
  char *text = arena_strndup(a, (const char *)data, size);
  Diags *d = diags_new(a, ignore_message, NULL);
  Module *m = module_parse(a, d, "fuzz.sir", text);
  if (!m && diags_errors(d) == 0)
    abort();
  if (m) {
    char *first = module_print(m);
    Module *back = module_parse(a, d, "again.sir", first);
    if (!back || strcmp(first, module_print(back)) != 0)
      abort();
  }
  arena_free(a);
  return 0;
}
