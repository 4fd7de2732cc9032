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
/* The ops that bring a coordinate into a region, behind a `case` and in front of its colon. */
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
/* What an op's operands may be, as ops.def says. */
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
/* May an op whose table row asks for `class` have an operand of type `t`, the others having it too? Not for ANY, CHOICE
 * and FORM, whose operands differ. */
bool operands_allow(OpOperands class, Type t);

/* An SSA value: result `index` of op `def`, or argument `index` of block `block` (then def is NULL). `id` is the number
 * it prints as, unique in its apply or kernel after module_renumber. */
struct Value {
  Type type;
  int32_t id;
  int32_t index;
  Op *def;
  Block *block;
};

/* Op.flags. Of a for: replicate the body; iterations are independent; the rounds of a streaming loop at edges, or those
 * between (pass split-loops); rounds to be compiled each by itself: what they have in common is not to be computed
 * before; few rounds, with tests, to be made as one vector under a mask. Of an if: its first block is for tiles that
 * touch no edge, the second for the others (pass specialize). Of a load: what is around the element in memory is loaded
 * soon, and a cache may bring it, too. */
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

/* An async.wait may leave at most so many groups. One instruction moves at most so many bytes. */
enum { MAX_GROUPS = 64, VECTOR_BYTES = 16 };

/* Blocks of a cluster, where a kernel has any: more are not run together everywhere. */
enum { LEAST_CLUSTER = 2, MOST_CLUSTER = 8 };

/* An operation. Which of sym, off, ver, cval, box, flags mean something follows from its form (ops.def). Operands and
 * results live in the arena. */
struct Op {
  Opcode code;
  int32_t nresults, noperands, nblocks;
  Value **results, **operands;
  Block **blocks; /* nested code of for and if */
  Op *prev, *next;
  Block *parent;
  int32_t sym;    /* scalar, field, member, launch-time array, buffer, array or dimension, by form */
  int32_t ver;    /* version, FORM_ARRAY, FORM_COPY, FORM_BULK and FORM_SEND; FORM_GLOBAL: 0, or 1 for what a sweep has
                     given */
  int32_t flags;  /* of a for, if or load */
  int32_t count;  /* elements that vload, vstore, avload, avstore and async.copy move; groups that async.wait leaves;
                     rounds of the streaming loop that a for runs in parts, 0: it does not; elements that are moved from
                     where  idx.guard leads, 0: one */
  int32_t from;   /* the buffer that async.copy, bulk.load and bulk.prefetch read, and bulk.store writes */
  int32_t signal; /* the array with the signal of a bulk.load or cluster.store */
  int64_t off[MAX_RANK]; /* constant offsets, in grid points; in off[0] the stride of a for, the mask or distance of a
                            shuffle */
  Const cval;            /* of a const, of results[0]->type */
  const Box *box;
  Loc loc;                    /* the source it came from */
  int64_t from_off[MAX_RANK]; /* those of buffer `from`; in from_off[0] which rank a cluster.store goes to */
};

/* Elements that idx.guard can be about, at most; a power of two. */
enum { MOST_GUARDED = 16 };

/* A straight line of ops, the last of them a yield (a kernel's body and a for or if without results may end without
 * one). */
struct Block {
  int32_t nargs;
  Value **args;
  Op *first, *last;
  Op *parent;
};

#endif
