/* driver/cli/cache-command.c: `stc cache`: lists and clears the caches of compiled kernels on disk: that of NVIDIA's
 * driver, and that for this CPU. */
#include "driver/cli/options/command.h"
#include "driver/device/code-cache.h"
#include "driver/device/object-cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Prints the contents of `folder`; clears it first if that was requested. `why`: the reason why the folder is not used,
 * or NULL. */
static StcStatus show(const Command *c, const char *folder, const char *why) {
  int files;
  int64_t bytes;
  struct stat st;
  if (c->clear && lstat(folder, &st) == 0 && S_ISLNK(st.st_mode))
    return context_error(c->context,
                         "%s is a link, and what it leads to need not be stc's: remove what is in it by hand", folder),
           STC_USAGE;
  if (!code_cache_walk(folder, c->clear, &files, &bytes))
    return context_error(c->context, "%s: %s", folder, strerror(errno)), STC_IO;
  int printed = printf("%s: %d files, %.1f MB%s%s\n", folder, files, 1e-6 * (double)bytes,
                       why ? "; not used, for " : "", why ? why : "");
  return printed < 0 ? STC_IO : STC_OK;
}

/* Prints the folder of NVIDIA's driver. */
static StcStatus show_code(const Command *c, const char *own) {
  const char *theirs = code_cache_theirs(c->arena);
  if (!theirs || !c->clear)
    return show(c, theirs ? theirs : own, NULL);
  return context_error(c->context,
                       "CUDA_CACHE_PATH=%s is a folder for all that uses CUDA, not stc's: remove what is in it by "
                       "hand, or unset CUDA_CACHE_PATH",
                       theirs),
         STC_USAGE;
}

StcStatus command_cache(const Command *c) {
  const char *code = code_cache_folder(c->arena), *host = object_cache_folder(c->arena);
  if (!code && !code_cache_theirs(c->arena))
    return context_error(c->context, "there is no cache: HOME is not set, nor XDG_CACHE_HOME to an absolute path"),
           STC_USAGE;
  StcStatus of_host = host ? show(c, host, object_cache_distrusts(host)) : STC_OK, of_code = show_code(c, code);
  return of_host ? of_host : of_code;
}
