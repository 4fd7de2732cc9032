/* tests/standin/libcuda/code.h: the kernels of a PTX as the stand-in runs them where it computes (order.c). Table of
 * contents:
 *
 *   code.c      reads a kernel: its instructions, with registers as numbers
 *   numbers.c   what one instruction makes of its operands
 *   run.c       runs a kernel: threads, barriers, shared memory, copies
 *
 * It knows as much of PTX as stc makes of programs, with functions such as sin inlined or called. */
#ifndef STC_TESTS_STANDIN_CODE_H
#define STC_TESTS_STANDIN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { MAX_WORDS = 9, MAX_OPERANDS = 5, MAX_VECTOR = 4 };

/* What an operand is: nothing, a register, bits, a special register (%tid.x and so on), an address: a register and
 * `bits` bytes more, or as many from 0 on. */
typedef enum OperandKind { OPERAND_NONE, OPERAND_REGISTER, OPERAND_BITS, OPERAND_SPECIAL } OperandKind;
typedef struct Operand {
  OperandKind kind;
  int reg[MAX_VECTOR], n; /* n: of a vector */
  uint64_t bits;
  uint64_t vector[MAX_VECTOR]; /* where parts of it are bits: reg is -1 */
} Operand;

/* Types: size in bytes and what is in them. */
typedef struct Scalar {
  char kind; /* 'p'redicate, 'b'its, 'u'nsigned, 's'igned, 'f'loat, 'B' bfloat16 */
  int size;
} Scalar;

/* One instruction. word: its name at the points; op: what run.c and numbers.c make of the first of them; has: which of
 * the words below are in it. guard: the register that it depends on, -1: none. */
typedef struct Instruction {
  char word[MAX_WORDS][32];
  int nwords, op;
  uint32_t has;
  Scalar type, from; /* the last but one type in its name where there are two, as of cvt, is `type` */
  int compare;       /* of setp: a number of numbers.c */
  char space;        /* of a load or a store: 'g'lobal, 'p'arameters, 's'hared, 'l'ocal, 'c'onstants, 0: any */
  bool wide, high, flushes, inexact; /* its name says so; inexact: not what IEEE 754 says */
  int noperands, guard, target;
  bool unless;
  Operand operand[MAX_OPERANDS];
} Instruction;

/* A kernel. shared: bytes of shared memory that it declares; before any that the launch gives. local: bytes of local
 * memory that a thread has; their addresses are from LOCAL_FIRST on. */
#define LOCAL_FIRST ((uint64_t)1 << 62)
/* Where the addresses of constants begin. */
#define CONSTANT_FIRST ((uint64_t)1 << 61)
typedef struct Code {
  Instruction *instructions;
  int n, nregisters;
  size_t shared, local;
  char *constants; /* (free) */
  size_t nconstants;
} Code;

/* The instructions of the kernel, from its ".entry" in the PTX on; NULL, after a fault: the stand-in does not know it.
 * Its launch-time arguments are 8 bytes each. */
Code *code_read(const char *ptx, const char *entry);
void code_free(Code *c);

/* code.c: the numbers of names. */
enum {
  OP_OTHER,
  OP_MOV,
  OP_LD,
  OP_ST,
  OP_BRA,
  OP_RET,
  OP_CALL,
  OP_BAR,
  OP_SHFL,
  OP_CP_ASYNC,
  OP_BULK,
  OP_MBARRIER,
  OP_ELECT,
  OP_MAPA,
  OP_STORE_THERE,
  OP_NOTHING,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_MAD,
  OP_FMA,
  OP_DIV,
  OP_REM,
  OP_MIN,
  OP_MAX,
  OP_NEG,
  OP_ABS,
  OP_COPYSIGN,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_NOT,
  OP_SHL,
  OP_SHR,
  OP_SETP,
  OP_SELP,
  OP_CVT,
  OP_SQRT,
  OP_RSQRT,
  OP_RCP,
  OP_LOP3,
  OP_BFE,
  OP_PRMT,
  OP_SHF,
  OP_TRAP
};
enum { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_NUM, COMPARE_NAN, COMPARES };

/* Words that run.c and numbers.c ask an instruction for: code.c has their names. */
enum {
  WORD_TRY_WAIT,
  WORD_TEST_WAIT,
  WORD_ARRIVE,
  WORD_INIT,
  WORD_EXPECT_TX,
  WORD_INVAL,
  WORD_SHARED,
  WORD_MBARRIER_COMPLETE_TX_BYTES,
  WORD_PREFETCH,
  WORD_COMMIT_GROUP,
  WORD_WAIT_GROUP,
  WORD_WARP,
  WORD_CLUSTER,
  WORD_WAIT,
  WORD_UP,
  WORD_DOWN,
  WORD_BFLY,
  WORD_AND,
  WORD_OR,
  WORD_SAT,
  WORD_RZI,
  WORD_RMI,
  WORD_RPI,
  WORD_RNI,
  WORD_L,
  WORD_WRAP,
  WORDS
};

/* The result of an instruction that has no more to do with memory or other threads. false: it is not known. */
bool compute(const Instruction *in, const uint64_t *x, uint64_t *out);
/* Is the word one of the instruction's? */
static inline bool has_word(const Instruction *in, int word) { return in->has >> word & 1; }

/* Runs a launch of the kernel, which has code. false, after a fault: it cannot. */
typedef struct Kernel Kernel;
bool code_run(const Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared,
              const uint64_t *arguments);

#pragma GCC visibility pop

#endif
