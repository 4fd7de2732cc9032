/* backend/nests.h: equal loops of a kernel as one function (private to this folder).
 *
 *   nests.c   finds them, makes one function for all of them, and the calls */
#ifndef STC_BACKEND_NESTS_H
#define STC_BACKEND_NESTS_H

#include "backend/emit.h"

/* A loop as words, which are the same for equal loops; and the operands in which equal loops may differ, each in the
 * order of its first use: integer constants, values from outside the loop, arrays. */
typedef struct NestText {
  int32_t nwords, nconsts, noutside, narrays;
  uint64_t *words;
  const Value **consts, **outside;
  int32_t *arrays;
} NestText;

/* Equal loops. varies: by constant of the text, do some of the loops have another one? ranges: by value from outside,
 * its range in all calls of the function so far; aligned: by array, its alignment in bytes in these calls. */
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

/* A loop that belongs to a nest. */
typedef struct NestUse {
  Nest *nest;
  NestText text;
} NestUse;

/* The nests of a kernel, and in `of` for each loop its NestUse. */
struct Nests {
  Nest *first, *last;
  PtrMap of;
};

/* May equal loops have different constants as operand `i` of `op`? Only where the constant is added, compared or
 * selected: a factor or a divisor is better known to LLVM. */
bool nest_lets_differ(const Op *op, int i);

/* Begins the function of `n`, which has been called; nothing else is known of the current kernel in it. Returns the
 * loop of `n` as it is to be emitted there. */
const Op *emit_nest_body(Emit *e, Nest *n);

#endif
