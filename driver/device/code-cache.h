/* driver/device/code-cache.h: what a driver's compiler made of kernels, kept on disk from one run to the next
 * (code-cache.c; driver/cli/cache-command.c lists and clears it). */
#ifndef STC_DEVICE_CODE_CACHE_H
#define STC_DEVICE_CODE_CACHE_H

#include "driver/program/program.h"

/* The name of an entry and what is kept in it so that it is taken for no other: two hashes of all that the code depends
 * on, and the length of that. */
typedef struct CodeKey {
  uint64_t name[2], proof, length;
} CodeKey;
/* The key of `n` texts, NUL-terminated. */
CodeKey code_key(int n, const char *const *texts);

/* The folder: $XDG_CACHE_HOME/stc/code, or ~/.cache/stc/code; NULL: there is no home. */
const char *code_cache_folder(Arena *a);
/* Sets *on: is there a folder, and is the environment variable STC_CACHE `on`? It is not by default: the driver's
 * linker gives code out that is made without what kernels over warps need (`setmaxnreg`), and those then take up to
 * seven times as long. False after an error: it is neither that nor empty. */
bool code_cache_is_on(Arena *a, Diags *d, bool *on);

/* These may be called by several threads and processes at once. A file appears whole or not at all. */
/* What the folder has for the key, from malloc, its size in *size; NULL: nothing. A file that is not what was written
 * is removed. */
void *code_cache_get(const char *folder, const CodeKey *key, size_t *size);
/* Puts `size` bytes into the folder, which is made if there is none; if the files are more than CODE_CACHE_BYTES then,
 * those not used for longest go. False: there is no room, or no right; nothing is left behind. */
enum { CODE_CACHE_BYTES = 1 << 29 };
bool code_cache_put(const char *folder, const CodeKey *key, const void *bytes, size_t size);
/* Counts the entries and their bytes; removes them first if `clear`. Files that are not the cache's stay. False: one
 * could not be removed; errno says why. */
bool code_cache_walk(const char *folder, bool clear, int *entries, int64_t *bytes);

#endif
