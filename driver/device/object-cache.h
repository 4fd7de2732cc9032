/* driver/device/object-cache.h: objects with kernels for this CPU, kept on disk from one run to the next
 * (object-cache.c; driver/cli/cache-command.c lists and clears them). */
#ifndef STC_DEVICE_OBJECT_CACHE_H
#define STC_DEVICE_OBJECT_CACHE_H

#include "driver/program/program.h"

/* The store in which codegen finds and keeps objects; NULL if the user has disabled it (STC_CACHE_DISABLE), or there is
 * no home. Several threads and processes may use it at once. */
const CodeStore *object_cache(void);
/* The path of the folder: $XDG_CACHE_HOME/stc/host, or ~/.cache/stc/host; NULL if there is no home. */
const char *object_cache_folder(Arena *a);
/* The reason why stc does not use an existing folder: other users could have written to it. NULL if it can be used. */
const char *object_cache_distrusts(const char *folder);

#endif
