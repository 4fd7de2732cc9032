/* driver/cli/options/memory.c: --memory, an option of `stc run` and `stc explain`. */
#include "driver/cli/options/command.h"

#include <stdlib.h>
#include <string.h>

StcStatus command_memory(const Command *c, int64_t *out) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {{"", 1},      {"B", 1},           {"kB", 1e3},        {"MB", 1e6},        {"GB", 1e9},
               {"TB", 1e12}, {"KiB", 1LL << 10}, {"MiB", 1LL << 20}, {"GiB", 1LL << 30}, {"TiB", 1LL << 40}};
  char *end;
  *out = 0;
  if (!c->memory)
    return STC_OK;
  double v = strtod(c->memory, &end);
  for (size_t i = 0; i < sizeof units / sizeof *units && end != c->memory; i++)
    if (strcmp(end, units[i].unit) == 0 && v * units[i].bytes >= 1 && v * units[i].bytes < (double)INT64_MAX) {
      *out = (int64_t)(v * units[i].bytes);
      return STC_OK;
    }
  return context_error(c->context, "--memory=%s: expected a number of bytes, such as 8GiB or 500MB", c->memory),
         STC_USAGE;
}
