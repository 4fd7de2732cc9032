/* driver/files/build-id.h: identifies the build of a program or library in this process (build-id.c). */
#ifndef STC_FILES_BUILD_ID_H
#define STC_FILES_BUILD_ID_H

#include "driver/files/sha256.h"

#include <stdbool.h>

/* Adds to `s` the build id of the program or library that contains the function at `address`: the linker's hash of its
 * content. If it was linked without one and `content` is set, adds the content itself, as it is in memory. False if
 * nothing was added. */
bool build_id_add(Sha256 *s, uintptr_t address, bool content);

#endif
