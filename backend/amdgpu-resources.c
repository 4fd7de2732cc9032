/* backend/amdgpu-resources.c: the resources of an AMD compute unit that a kernel takes, from the metadata in its
 * assembly. The code object has the same metadata. */
#define _GNU_SOURCE /* memmem */

#include "backend/emit.h"

#include <stdlib.h>
#include <string.h>

/* The NUMBER of the line ".KEY: NUMBER" if `line` is one, else `otherwise`. `line` begins after its spaces. */
static int32_t number_of(const char *line, const char *key, int32_t otherwise) {
  size_t n = strlen(key);
  return strncmp(line, key, n) == 0 ? atoi(line + n) : otherwise;
}

/* Reads the resource that `line` states into `r`. */
static void read_line(const char *line, KernelResources *r) {
  r->registers = number_of(line, ".vgpr_count:", r->registers);
  r->scalar_registers = number_of(line, ".sgpr_count:", r->scalar_registers);
  r->spilled = number_of(line, ".vgpr_spill_count:", r->spilled);
  r->scalar_spilled = number_of(line, ".sgpr_spill_count:", r->scalar_spilled);
  r->private_bytes = number_of(line, ".private_segment_fixed_size:", r->private_bytes);
  r->shared_bytes = number_of(line, ".group_segment_fixed_size:", r->shared_bytes);
}

/* Is `line` ".name: NAME", quoted or not, with that name? */
static bool names(const char *line, const char *name) {
  static const char key[] = ".name:";
  size_t n = strlen(name);
  if (strncmp(line, key, strlen(key)) != 0)
    return false;
  line += strlen(key);
  line += strspn(line, " '\"");
  return strncmp(line, name, n) == 0 && (line[n] == '\n' || line[n] == '\'' || line[n] == '"');
}

bool amdgpu_resources(const char *assembly, const char *kernel, KernelResources *out) {
  const char *line = strstr(assembly, "\namdhsa.kernels:\n"), *next;
  KernelResources r = {0};
  bool here = false;
  for (line = line ? strchr(line + 1, '\n') : NULL; line && line[1] == ' '; line = next) {
    const char *word = line + 1 + strspn(line + 1, " ");
    next = strchr(word, '\n');
    if (strncmp(line + 1, "  - ", 4) == 0) {
      if (here)
        break;
      r = (KernelResources){0};
      word += 2;
    }
    read_line(word, &r);
    here |= names(word, kernel);
  }
  if (here)
    *out = r;
  return here;
}

/* The key is the same in assembly and objects. In assembly ": NUMBER" follows it, in an object a number of MessagePack,
 * whose first byte is 0 for 0 alone. */
bool amdgpu_has_private(const char *code, size_t n) {
  static const char key[] = ".private_segment_fixed_size";
  const char *end = code + n, *at = code;
  while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1))) {
    at += sizeof key - 1;
    if (at < end && (*at == ':' ? atoi(at + 1) : *at))
      return true;
  }
  return false;
}
