/* driver/files/build-id.h: which build of a program or library this process runs (build-id.c). */
#ifndef STC_FILES_BUILD_ID_H
#define STC_FILES_BUILD_ID_H

#include "driver/files/sha256.h"

#include <stdbool.h>

/* Adds to `s` the build id of the program or library that has the function at `address`: what the linker made of its
 * content. Where it was linked without one, the content itself if `content`, as it is in memory; else nothing. False if
 * nothing was added. */
bool build_id_add(Sha256 *s, uintptr_t address, bool content);

#endif
