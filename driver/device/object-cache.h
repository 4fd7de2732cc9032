/* driver/device/object-cache.h: objects with kernels for this CPU, kept on disk from one run to the next
 * (object-cache.c; driver/cli/cache-command.c lists and clears them). */
#ifndef STC_DEVICE_OBJECT_CACHE_H
#define STC_DEVICE_OBJECT_CACHE_H

#include "driver/program/program.h"

/* Where codegen finds objects and keeps them; NULL: the user wants none kept (STC_CACHE_DISABLE), or there is no home.
 * Several threads and processes may use it at once. */
const CodeStore *object_cache(void);
/* The folder: $XDG_CACHE_HOME/stc/host, or ~/.cache/stc/host; NULL: there is no home. */
const char *object_cache_folder(Arena *a);
/* Why nothing is taken from that folder, though it is there: others may have written to it. NULL: it can be used. */
const char *object_cache_distrusts(const char *folder);

#endif
