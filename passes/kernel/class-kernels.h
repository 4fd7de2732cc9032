/* passes/kernel/class-kernels.h: classes of the tiles of a kernel, and the kernels that find them: class-kernels.c
 * (private to that and to tile-classes.c). */
#ifndef STC_PASSES_KERNEL_CLASS_KERNELS_H
#define STC_PASSES_KERNEL_CLASS_KERNELS_H

#include "ir/ir.h"

/* The classes: the bits that are looked at are neither all set nor all unset at the points of the tile, all set, all
 * unset; DONE: another block computes the tile. */
enum { CLASS_MIXED, CLASS_ALL, CLASS_NONE, CLASSES, CLASS_DONE = CLASSES };
/* What the number of a tile's class has beside it for kernels that compute several tiles: MORE times how many there are
 * behind it; FIRST and LAST times the first and the last of its CLASS_POINTS points in the last dimension that are
 * stored, which are up to PLACES. */
enum { MORE = 4, FIRST = 256, LAST = FIRST * 4096, PLACES = 4095 };

/* Part number `by` of class code `code`: what is counted in `by` and is less than `end` of them. */
Value *class_part(Builder *b, Value *code, int64_t by, int64_t end);
/* Adds the kernel that finds the classes of the tiles of kernel number `index` for `buffer`, on targets with threads if
 * `simt`; with `places` those of the points that are to be stored, too. Its number. */
int32_t class_finder(Module *m, bool simt, int index, int32_t buffer, bool places);
/* Adds the kernel that joins tiles of a class which are one behind the other along dimension 0, for kernels like `k`
 * that compute several (KernelTests.more), in `buffer`: the first has MORE times how many more there are beside its
 * class, and stores what any of them does; the others are DONE. Its number. From the last tile to the first:
 *
 *     for i { c = classes[n - 1 - i]; if c == class && more < most { classes[n - i] = DONE; more++ } else { more = 0 }
 *     .. } */
int32_t class_joiner(Module *m, const Kernel *k, int32_t buffer);

#endif
