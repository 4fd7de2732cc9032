/* passes/kernel/class-kernels.h: the classes of a kernel's tiles, and the kernels that find them: class-kernels.c
 * (private to that file and to tile-classes.c). */
#ifndef STC_PASSES_KERNEL_CLASS_KERNELS_H
#define STC_PASSES_KERNEL_CLASS_KERNELS_H

#include "ir/ir.h"

/* The classes of a tile, by the bits of its points. MIXED: some set, some not; ALL: all set; NONE: none set; DONE:
 * another block computes the tile. */
enum { CLASS_MIXED, CLASS_ALL, CLASS_NONE, CLASSES, CLASS_DONE = CLASSES };
/* Parts of a class code beside the class, for kernels that compute several tiles: MORE times the number of further
 * tiles; FIRST and LAST times the first and the last group of CLASS_POINTS points in the last dimension that has stored
 * points, at most PLACES. */
enum { MORE = 4, FIRST = 256, LAST = FIRST * 4096, PLACES = 4095 };

/* The part of class code `code` that is stored in multiples of `by`, a number less than `end`. */
Value *class_part(Builder *b, Value *code, int64_t by, int64_t end);
/* Adds the kernel that finds the classes of the tiles of kernel number `index` and stores them to `buffer`. simt: the
 * target has threads. places: also find the range of points to store. Returns the new kernel's number. */
int32_t class_finder(Module *m, bool simt, int index, int32_t buffer, bool places);
/* Adds the kernel that joins tiles of one class that follow each other along dimension 0, for kernels like `k` that
 * compute several tiles (KernelTests.more). In `buffer` the first tile of a run gets its class, MORE times the number
 * of further tiles, and the range of points that any of them stores; the others get DONE. Returns the new kernel's
 * number. The loop goes from the last tile to the first:
 *
 *     for i { c = classes[n - 1 - i]; if c == class && more < most { classes[n - i] = DONE; more++ } else { more = 0 }
 *     .. } */
int32_t class_joiner(Module *m, const Kernel *k, int32_t buffer);

#endif
