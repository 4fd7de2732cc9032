/* ir/op.h: code, the same in both IRs: the table of ops (ops.def), SSA values, ops, blocks. */
#ifndef STC_IR_OP_H
#define STC_IR_OP_H

#include "ir/base/base.h"

typedef struct Value Value;
typedef struct Op Op;
typedef struct Block Block;

typedef enum Opcode {
#define OP(ID, name, level, nops, operands, result, form, flags) OP_##ID,
#include "ops.def"
#undef OP
  OP_COUNT
} Opcode;
/* The ops that map a coordinate into a region; used between `case` and its colon. */
#define COORDINATE_MAPS \
  OP_CLAMP: \
  case OP_MIRROR: \
  case OP_HALF: \
  case OP_CLAMP_MIRROR: \
  case OP_CLAMP_HALF: \
  case OP_MIRROR_CLAMP: \
  case OP_MIRROR_HALF: \
  case OP_HALF_CLAMP: \
  case OP_HALF_MIRROR: \
  case OP_WRAP: \
  case OP_GUARD

typedef enum OpLevel { LEVEL_SIR = 1, LEVEL_KIR = 2, LEVEL_BOTH = 3 } OpLevel;
/* The types of operands that an op may have, see ops.def. */
typedef enum OpOperands {
  OPERANDS_NONE,
  OPERANDS_ANY,
  OPERANDS_ALIKE,
  OPERANDS_NUMBERS,
  OPERANDS_INTEGERS,
  OPERANDS_WORDS,
  OPERANDS_FLOATS,
  OPERANDS_WIDE,
  OPERANDS_BOOLS,
  OPERANDS_INDICES,
  OPERANDS_CHOICE,
  OPERANDS_FORM
} OpOperands;
typedef enum OpResult {
  RESULT_SAME,
  RESULT_OP1,
  RESULT_BOOL,
  RESULT_I32,
  RESULT_I64,
  RESULT_ANY,
  RESULT_NONE,
  RESULT_MULTI,
  RESULT_MANY
} OpResult;
typedef enum OpForm {
  FORM_PLAIN,
  FORM_CONST,
  FORM_SCALAR,
  FORM_ACCESS,
  FORM_MEMBER,
  FORM_ELEMENT,
  FORM_DIM,
  FORM_LANE,
  FORM_GLOBAL,
  FORM_ARRAY,
  FORM_COPY,
  FORM_COUNT,
  FORM_SIGNAL,
  FORM_BULK,
  FORM_SEND,
  FORM_FETCH,
  FORM_BOX,
  FORM_MAP,
  FORM_FOR,
  FORM_IF
} OpForm;
enum { OPF_PURE = 1, OPF_TERM = 2, OPF_COMM = 4, OPF_READ = 8, OPF_WRITE = 16, OPF_FUNCTION = 32, OPF_INEXACT = 64 };

/* A row of the op table. */
typedef struct OpInfo {
  const char *name;
  OpLevel level;
  int noperands;
  OpOperands operands;
  OpResult result;
  OpForm form;
  int flags;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
Opcode opcode_from_name(const char *s); /* OP_COUNT if it names no op */
/* May an op with operand class `class` in its table row have operands of type `t`, all of the same type? Not for ANY,
 * CHOICE and FORM, whose operands differ. */
bool operands_allow(OpOperands class, Type t);

/* An SSA value: result `index` of op `def`, or argument `index` of block `block` (then def is NULL). `id` is its number
 * in text, unique in its apply or kernel after module_renumber. */
struct Value {
  Type type;
  int32_t id;
  int32_t index;
  Op *def;
  Block *block;
};

/* Op.flags.
 *
 *   FOR_UNROLL     replicate the body
 *   FOR_PARALLEL   iterations are independent
 *   FOR_EDGES      the rounds of a streaming loop at edges
 *   FOR_MIDDLE     the rounds between those (pass split-loops)
 *   IF_INTERIOR    the first block is for tiles that touch no edge, the second for the others (pass specialize)
 *   FOR_APART      compile each round by itself: do not compute common values of the rounds before the loop
 *   FOR_MASKED     a few rounds with tests, to be compiled as one vector under a mask
 *   LOAD_AROUND    the neighbours of the loaded element are loaded soon, so a cache may fetch them, too
 */
enum {
  FOR_UNROLL = 1,
  FOR_PARALLEL = 2,
  FOR_EDGES = 4,
  FOR_MIDDLE = 8,
  IF_INTERIOR = 16,
  FOR_APART = 32,
  FOR_MASKED = 64,
  LOAD_AROUND = 128
};

/* MAX_GROUPS: the most groups that an async.wait may leave in flight. VECTOR_BYTES: the most bytes that one instruction
 * moves. */
enum { MAX_GROUPS = 64, VECTOR_BYTES = 16 };

/* The number of blocks of a cluster, in kernels that have clusters; larger ones do not run on all cards. */
enum { LEAST_CLUSTER = 2, MOST_CLUSTER = 8 };

/* An operation. Its form (ops.def) determines which of sym, off, ver, cval, box, flags it uses. Operands and results
 * live in the arena. */
struct Op {
  Opcode code;
  int32_t nresults, noperands, nblocks;
  Value **results, **operands;
  Block **blocks; /* nested code of for and if */
  Op *prev, *next;
  Block *parent;
  int32_t sym; /* scalar, field, member, launch-time array, buffer, array or dimension, depending on the form */
  int32_t ver; /* version, FORM_ARRAY, FORM_COPY, FORM_BULK and FORM_SEND; FORM_GLOBAL: 0, or 1 for a value that a sweep
                  has computed */
  int32_t flags;  /* of a for, if or load */
  int32_t count;  /* elements that vload, vstore, avload, avstore and async.copy move; groups that async.wait leaves in
                     flight; for a `for` that runs a streaming loop in parts, the rounds of that loop (else 0); elements
                     that are moved from the place to which idx.guard maps (0: one) */
  int32_t from;   /* the buffer that async.copy, bulk.load and bulk.prefetch read, or that bulk.store writes */
  int32_t signal; /* the array with the signal of a bulk.load or cluster.store */
  int64_t off[MAX_RANK]; /* constant offsets in grid points; off[0] is the stride of a for, the mask or distance of a
                            shuffle */
  Const cval;            /* value of a const, of results[0]->type */
  const Box *box;
  Loc loc;                    /* its place in the source */
  int64_t from_off[MAX_RANK]; /* offsets in buffer `from`; from_off[0]: the distance of ranks from the sender of a
                                 cluster.store to the receiver */
};

/* The most elements that idx.guard can guard; a power of two. */
enum { MOST_GUARDED = 16 };

/* A straight line of ops that ends with a yield (the body of a kernel, and of a for or if without results, may end
 * without one). */
struct Block {
  int32_t nargs;
  Value **args;
  Op *first, *last;
  Op *parent;
};

#endif
