/* driver/device/code-cache.h: what the compiler of NVIDIA's driver makes of kernels, kept on disk from one run to the
 * next (code-cache.c; driver/cli/cache-command.c lists and clears it). The driver keeps it, in a folder of stc's. */
#ifndef STC_DEVICE_CODE_CACHE_H
#define STC_DEVICE_CODE_CACHE_H

#include "driver/program/program.h"

/* Writes where `below` is in the user's folder of stc's caches: $XDG_CACHE_HOME/stc/BELOW, or ~/.cache/stc/BELOW where
 * that variable is no absolute path, which the XDG base directory specification has programs ignore. False: there is no
 * home, or `size` bytes do not hold it. */
bool cache_path(char *path, size_t size, const char *below);
/* Makes the folder `path`, for this user alone, with those above it. False: it cannot be, or something else is there.
 */
bool cache_make(char *path);
/* The folder: $XDG_CACHE_HOME/stc/code, or ~/.cache/stc/code; NULL: there is no home. */
const char *code_cache_folder(Arena *a);
/* The folder that the user has named for the driver by CUDA_CACHE_PATH; NULL: none but stc's own. */
const char *code_cache_theirs(Arena *a);
/* Makes the folder and names it to the driver, with how much may be in it, by environment variables that it reads when
 * it starts. Changes nothing where the user has set CUDA_CACHE_PATH or CUDA_CACHE_DISABLE, or there can be no folder.
 */
void code_cache_use(void);
/* Counts the files in a folder, and in those within it, and their bytes; removes all of them first if `clear`. False:
 * something could not be read or removed; errno says why. */
bool code_cache_walk(const char *folder, bool clear, int *files, int64_t *bytes);

#endif
