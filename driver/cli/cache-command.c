/* driver/cli/cache-command.c: `stc cache`: the compiled kernels that are kept on disk. */
#include "driver/cli/options/command.h"
#include "driver/device/code-cache.h"

#include <errno.h>
#include <string.h>

StcStatus command_cache(const Command *c) {
  const char *folder = code_cache_folder(c->arena);
  int entries;
  int64_t bytes;
  if (!folder)
    return context_error(c->context, "there is no cache: neither XDG_CACHE_HOME nor HOME is set"), STC_USAGE;
  if (!code_cache_walk(folder, c->clear, &entries, &bytes))
    return context_error(c->context, "%s: %s", folder, strerror(errno)), STC_IO;
  return printf("%s: %d compiled pieces of programs, %.1f MB\n", folder, entries, 1e-6 * (double)bytes) < 0 ? STC_IO
                                                                                                            : STC_OK;
}
