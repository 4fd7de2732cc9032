/* context.c: services of the context for passes: options and statistics. */
#include "passes/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The value of the last of the `n` options named `name`, as an integer; see registry.h. */
int64_t pass_option_int(PassContext *c, const char *pass, int n, const PassOption *o, const char *name, int64_t lo,
                        int64_t hi, int64_t otherwise, bool *ok) {
  int64_t result = otherwise;
  for (int i = 0; i < n; i++) {
    if (strcmp(o[i].name, name) != 0)
      continue;
    char *end;
    errno = 0;
    long long v = strtoll(o[i].value, &end, 10);
    if (errno || end == o[i].value || *end || v < lo || v > hi) {
      diag_error(c->diags, no_loc(), "pass '%s': option %s=%s is not an integer from %" PRId64 " to %" PRId64, pass,
                 name, o[i].value, lo, hi);
      *ok = false;
    } else {
      result = v;
    }
  }
  return result;
}

/* Adds a line to the statistics; see registry.h. */
void pass_stat(PassContext *c, int64_t n, const char *pass, const char *what, ...) {
  if (!c->stats)
    return;
  str_addf(c->stats, "%8" PRId64 " %s: ", n, pass);
  va_list ap;
  va_start(ap, what);
  str_addv(c->stats, what, ap);
  va_end(ap);
  str_add(c->stats, "\n");
}
