/* passes/registry.h: the entry points of all passes, one for each row of passes.def. Each takes the context, the
 * module, and the options given in the pipeline (n of them, checked against the table's names); it returns the new
 * module, `m` changed in place, or NULL after reporting an error. One file a pass: pass_time_tile is in time-tile.c and
 * so on.
 */
#ifndef STC_PASSES_REGISTRY_H
#define STC_PASSES_REGISTRY_H

#include "passes/passes.h"

#define PASS(id, ...) Module *pass_##id(PassContext *c, Module *m, int n, const PassOption *o);
#include "passes/passes.def"
#undef PASS

/* The value of option `name` as an integer in [lo, hi], `otherwise` if it was not given. Reports a malformed one as an
 * error of pass `pass`, then sets *ok to false (never to true). */
int64_t pass_option_int(PassContext *c, const char *pass, int n, const PassOption *o, const char *name, int64_t lo,
                        int64_t hi, int64_t otherwise, bool *ok);

/* Adds the line "N PASS: what" to the statistics, if they are kept. `what` is a format for the rest, such as "barriers
 * in kernel %s". */
void pass_stat(PassContext *c, int64_t n, const char *pass, const char *what, ...)
    __attribute__((format(printf, 4, 5)));

#endif
