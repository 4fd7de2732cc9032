/* driver/cli/cache-command.c: `stc cache`: the compiled kernels that NVIDIA's driver keeps on disk. */
#include "driver/cli/options/command.h"
#include "driver/device/code-cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

StcStatus command_cache(const Command *c) {
  const char *theirs = code_cache_theirs(c->arena), *folder = theirs ? theirs : code_cache_folder(c->arena);
  int files;
  int64_t bytes;
  if (!folder)
    return context_error(c->context, "there is no cache: HOME is not set, nor XDG_CACHE_HOME to an absolute path"),
           STC_USAGE;
  if (theirs && c->clear)
    return context_error(c->context,
                         "CUDA_CACHE_PATH=%s is a folder for all that uses CUDA, not stc's: remove what is in it by "
                         "hand, or unset CUDA_CACHE_PATH",
                         theirs),
           STC_USAGE;
  struct stat st;
  if (c->clear && lstat(folder, &st) == 0 && S_ISLNK(st.st_mode))
    return context_error(c->context,
                         "%s is a link, and what it leads to need not be stc's: remove what is in it by hand", folder),
           STC_USAGE;
  if (!code_cache_walk(folder, c->clear, &files, &bytes))
    return context_error(c->context, "%s: %s", folder, strerror(errno)), STC_IO;
  return printf("%s: %d files, %.1f MB\n", folder, files, 1e-6 * (double)bytes) < 0 ? STC_IO : STC_OK;
}
