/* backend/nests.h: loops of a kernel that do the same (private to this folder).
 *
 *   nests.c   finding them, one function for all of them, and its calls
 */
#ifndef STC_BACKEND_NESTS_H
#define STC_BACKEND_NESTS_H

#include "backend/emit.h"

/* What a loop does, as words, of which those of loops that do the same are equal; and what may differ, each in the
 * order of its first use: integer constants, values from outside the loop, arrays. */
typedef struct NestText {
  int32_t nwords, nconsts, noutside, narrays;
  uint64_t *words;
  const Value **consts, **outside;
  int32_t *arrays;
} NestText;

/* Loops that do the same. varies: by constant of the text, is it another one in some of them? ranges: by value from
 * outside, what it is where the function has been called so far; aligned: by array, bytes of which its place is a
 * multiple there. */
typedef struct Nest {
  const Op *loop; /* the first of them */
  NestText text;
  uint64_t hash;
  int32_t uses;
  bool *varies;
  LLVMTypeRef type;
  LLVMValueRef fn; /* NULL: not called yet */
  Range *ranges;
  int64_t *aligned;
  struct Nest *next;
} Nest;

/* A loop that is one of a nest's. */
typedef struct NestUse {
  Nest *nest;
  NestText text;
} NestUse;

/* The nests of a kernel, and in `of` for each loop its NestUse. */
struct Nests {
  Nest *first, *last;
  PtrMap of;
};

/* May constant operand `i` of `op` be another one in a loop that does the same? Only where it is added, compared or
 * chosen: what multiplies or divides is better known to LLVM. */
bool nest_lets_differ(const Op *op, int i);

/* Begins the function of `n`, which has been called, with nothing else known of the kernel at hand, and returns its
 * loop as it is to be emitted there. */
const Op *emit_nest_body(Emit *e, Nest *n);

#endif
