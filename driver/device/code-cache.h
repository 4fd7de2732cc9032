/* driver/device/code-cache.h: the folder on disk in which NVIDIA's driver keeps kernels that it has compiled, from one
 * run to the next (code-cache.c; driver/cli/cache-command.c lists and clears the folder). The folder belongs to stc;
 * the driver reads and writes it. */
#ifndef STC_DEVICE_CODE_CACHE_H
#define STC_DEVICE_CODE_CACHE_H

#include "driver/program/program.h"

/* Writes the path of `below` in the user's folder for stc's caches: $XDG_CACHE_HOME/stc/BELOW, or ~/.cache/stc/BELOW if
 * that variable is not an absolute path (the XDG base directory specification has programs ignore it then). False if
 * there is no home, or `size` bytes are too few. */
bool cache_path(char *path, size_t size, const char *below);
/* Makes the folder `path` with mode 700, and the folders above it. False if this fails, or if `path` is something other
 * than a folder. */
bool cache_make(char *path);
/* The path of the folder: $XDG_CACHE_HOME/stc/code, or ~/.cache/stc/code; NULL if there is no home. */
const char *code_cache_folder(Arena *a);
/* The folder that the user has set for the driver by CUDA_CACHE_PATH; NULL if that is not set, or is stc's own. */
const char *code_cache_theirs(Arena *a);
/* Makes the folder and sets the environment variables that tell the driver its path and its largest size; the driver
 * reads them when it starts. Does nothing if the user has set CUDA_CACHE_PATH or CUDA_CACHE_DISABLE, or if the folder
 * cannot be made. */
void code_cache_use(void);
/* Counts the files in `folder` and in the folders below it, and their bytes; if `clear`, removes the files as well.
 * False if something could not be read or removed; errno says why. */
bool code_cache_walk(const char *folder, bool clear, int *files, int64_t *bytes);

#endif
