/* driver/program/define.c: a param's value as text, NAME=VALUE. */
#include "driver/program/program.h"

#include <string.h>

bool define_parse(Arena *a, const char *text, Define *out) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return false;
  *out = (Define){arena_strndup(a, text, (size_t)(equals - text)), arena_strdup(a, equals + 1)};
  return true;
}
