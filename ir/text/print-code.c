/* ir/text/print-code.c: prints ops and the blocks nested in them. */
#include "ir/text/text.h"

/* The state of printing an op: the module, and the kernel (NULL outside of one). */
typedef struct Printer {
  Str *s;
  const Module *m;
  const Kernel *k;
} Printer;

static void print_value(Str *s, const Value *v) {
  str_add(s, v ? "%" : "%?");
  if (v)
    str_addi(s, v->id);
}

/* `n` values with commas between. */
static void print_values(Str *s, int n, Value *const *v) {
  for (int i = 0; i < n; i++) {
    str_add(s, i ? ", " : "");
    print_value(s, v[i]);
  }
}

/* "[%i, %j] + [-1, 0]" of the `n` indices at `v` and their offsets. */
static void print_place(Str *s, int n, Value *const *v, const int64_t *off) {
  str_add(s, "[");
  print_values(s, n, v);
  str_add(s, "]");
  bool any = false;
  for (int d = 0; d < n && d < MAX_RANK; d++)
    any |= off[d] != 0;
  if (any) {
    str_add(s, " + ");
    offsets_print(s, n < MAX_RANK ? n : MAX_RANK, off);
  }
}

/* A memory op: values to store, symbol, place, version, "around". */
static void print_memory(Printer *p, const Op *op, const char *symbol) {
  int stored = op_first_index(op) < op->noperands ? op_first_index(op) : op->noperands;
  str_add(p->s, " ");
  print_values(p->s, stored, op->operands);
  text_put(p->s, p->m, "%s%@", stored ? ", " : "", symbol);
  print_place(p->s, op->noperands - stored, op->operands + stored, op->off);
  if (op_info[op->code].form == FORM_ARRAY || op->ver) {
    str_add(p->s, " v");
    str_addi(p->s, op->ver);
  }
  str_add(p->s, op->flags & LOAD_AROUND ? " around" : "");
}

/* An async.copy: " @sA[%i, %j] + [0, 4] v2 from @A[%k, %l] + [0, 4] n 4". */
static void print_copy(Printer *p, const Op *op) {
  int rank = p->k && op->sym >= 0 && op->sym < p->k->narrays ? p->k->arrays[op->sym].rank : 0;
  rank = rank < op->noperands ? rank : op->noperands;
  text_put(p->s, p->m, " %@", array_name(p->k, op->sym));
  print_place(p->s, rank, op->operands, op->off);
  text_put(p->s, p->m, " v%d from %@", (int)op->ver, buffer_name(p->m, op->from));
  print_place(p->s, op->noperands - rank, op->operands + rank, op->from_off);
  str_addf(p->s, " n %d", (int)op->count);
}

/* The rank of array number `i` of the kernel, but at most `n`. */
static int rank_within(const Printer *p, int i, int n) {
  int rank = p->k && i >= 0 && i < p->k->narrays ? p->k->arrays[i].rank : 0;
  return rank < n ? rank : n;
}

/* An op on a signal: " %p, @full[%i] + [1]". */
static void print_signal(Printer *p, const Op *op) {
  int n = op_signal_values(op) < op->noperands ? op_signal_values(op) : op->noperands;
  str_add(p->s, " ");
  print_values(p->s, n, op->operands);
  text_put(p->s, p->m, "%s%@", n ? ", " : "", array_name(p->k, op->sym));
  print_place(p->s, op->noperands - n, op->operands + n, op->off);
}

/* A bulk copy: " @sA[%i] + [4] v2 from @A[%k] + [4] n %n on @full[%m]", or " @sA[%i] v2 to @A[%k] n %n". */
static void print_bulk(Printer *p, const Op *op) {
  bool loads = op->code == OP_BULK_LOAD;
  int array = rank_within(p, op->sym, op->noperands), signal = rank_within(p, op->signal, loads ? op->noperands : 0);
  int buffer = op->noperands - 1 - array - signal;
  buffer = buffer < 0 ? 0 : buffer;
  text_put(p->s, p->m, " %@", array_name(p->k, op->sym));
  print_place(p->s, array, op->operands, op->off);
  text_put(p->s, p->m, " v%d %s %@", (int)op->ver, loads ? "from" : "to", buffer_name(p->m, op->from));
  print_place(p->s, buffer, op->operands + array, op->from_off);
  str_add(p->s, " n ");
  print_values(p->s, array + buffer < op->noperands, op->operands + array + buffer);
  if (!loads)
    return;
  text_put(p->s, p->m, " on %@[", array_name(p->k, op->signal));
  print_values(p->s, op->noperands - array - buffer - 1, op->operands + array + buffer + 1);
  str_add(p->s, "]");
}

/* A store to another block: " %v, @sA[%i] + [4] v2 to 1 on @seam[%m]". */
static void print_send(Printer *p, const Op *op) {
  int n = op->count < op->noperands ? op->count : op->noperands, array = rank_within(p, op->sym, op->noperands - n);
  str_add(p->s, " ");
  print_values(p->s, n, op->operands);
  text_put(p->s, p->m, ", %@", array_name(p->k, op->sym));
  print_place(p->s, array, op->operands + n, op->off);
  text_put(p->s, p->m, " v%d to %d on %@[", (int)op->ver, (int)op->from_off[0], array_name(p->k, op->signal));
  print_values(p->s, op->noperands - n - array, op->operands + n + array);
  str_add(p->s, "]");
}

/* A prefetch: " @A[%k] + [4] n %n". */
static void print_fetch(Printer *p, const Op *op) {
  int rank = op->noperands > 0 ? op->noperands - 1 : 0;
  text_put(p->s, p->m, " %@", buffer_name(p->m, op->from));
  print_place(p->s, rank, op->operands, op->from_off);
  str_add(p->s, " n ");
  print_values(p->s, op->noperands - rank, op->operands + rank);
}

/* An op between lanes: " %a xor 16", " %a by 1". */
static void print_lane(Printer *p, const Op *op) {
  str_add(p->s, " ");
  print_values(p->s, op->noperands, op->operands);
  str_addf(p->s, op->code == OP_SHUFFLE ? " xor %lld" : " by %lld", (long long)op->off[0]);
}

/* The operand, offset and box of idx.*, or the operands and box of inside. */
static void print_boxed(Printer *p, const Op *op) {
  str_add(p->s, " ");
  print_values(p->s, op->noperands, op->operands);
  if (op_info[op->code].form == FORM_MAP && op->off[0])
    str_addf(p->s, " + %lld", (long long)op->off[0]);
  str_add(p->s, " in ");
  if (op->box)
    box_print(p->s, p->m, op->box);
  else
    str_add(p->s, "?");
  if (op->code == OP_GUARD && op->count)
    str_addf(p->s, " by %d", (int)op->count);
}

/* The head of a for: " %i = %lo to %hi step 1 unroll parallel with %x = %init". */
static void print_for_head(Printer *p, const Op *op) {
  const Block *b = op->nblocks ? op->blocks[0] : NULL;
  str_add(p->s, " ");
  print_value(p->s, b && b->nargs ? b->args[0] : NULL);
  str_add(p->s, " = ");
  print_values(p->s, op->noperands < 1 ? 0 : 1, op->operands);
  str_add(p->s, " to ");
  print_values(p->s, op->noperands < 2 ? 0 : 1, op->operands + 1);
  text_put(p->s, p->m, " step %l%s%s%s%s%s", (long long)op->off[0], op->flags & FOR_UNROLL ? " unroll" : "",
           op->flags & FOR_PARALLEL ? " parallel" : "", op->flags & FOR_MASKED ? " masked" : "",
           op->flags & FOR_APART ? " apart" : "",
           op->flags & FOR_EDGES    ? " edges"
           : op->flags & FOR_MIDDLE ? " middle"
                                    : "");
  if (op->count)
    str_addf(p->s, " parts %d", (int)op->count);
  for (int i = 2; i < op->noperands; i++) {
    str_add(p->s, i == 2 ? " with " : ", ");
    print_value(p->s, b && i - 1 < b->nargs ? b->args[i - 1] : NULL);
    str_add(p->s, " = ");
    print_value(p->s, op->operands[i]);
  }
}

/* The text between an op's name and its types, by form. */
static void print_attributes(Printer *p, const Op *op) {
  switch (op_info[op->code].form) {
  case FORM_CONST:
    str_add(p->s, " ");
    const_print(p->s, op->cval, op->nresults ? op->results[0]->type : TY_NONE);
    break;
  case FORM_SCALAR: text_put(p->s, p->m, " %@", scalar_name(p->m, op->sym)); break;
  case FORM_ACCESS:
    text_put(p->s, p->m, " %@", field_name(p->m, op->sym));
    offsets_print(p->s, p->m->grid.rank, op->off);
    break;
  case FORM_MEMBER:
    str_add(p->s, " ");
    print_values(p->s, op->noperands, op->operands);
    str_addf(p->s, ", %d", (int)op->sym);
    break;
  case FORM_LANE: print_lane(p, op); break;
  case FORM_ELEMENT:
    text_put(p->s, p->m, " %@", param_array_name(p->m, op->sym));
    print_place(p->s, op->noperands, op->operands, op->off);
    break;
  case FORM_DIM: str_addf(p->s, " %d", (int)op->sym); break;
  case FORM_GLOBAL: print_memory(p, op, buffer_name(p->m, op->sym)); break;
  case FORM_ARRAY: print_memory(p, op, array_name(p->k, op->sym)); break;
  case FORM_COPY: print_copy(p, op); break;
  case FORM_COUNT: str_addf(p->s, " %d", (int)op->count); break;
  case FORM_SIGNAL: print_signal(p, op); break;
  case FORM_BULK: print_bulk(p, op); break;
  case FORM_SEND: print_send(p, op); break;
  case FORM_FETCH: print_fetch(p, op); break;
  case FORM_BOX:
  case FORM_MAP: print_boxed(p, op); break;
  case FORM_FOR: print_for_head(p, op); break;
  case FORM_IF:
    str_add(p->s, op->noperands ? " " : "");
    print_values(p->s, op->noperands, op->operands);
    str_add(p->s, op->flags & IF_INTERIOR ? " interior" : "");
    break;
  default: str_add(p->s, op->noperands ? " " : ""); print_values(p->s, op->noperands, op->operands);
  }
}

static void print_block(Printer *p, const Block *b, int indent);

/* The nested blocks of `op` in braces. */
static void print_nested(Printer *p, const Op *op, int indent) {
  for (int i = 0; i < op->nblocks; i++) {
    str_add(p->s, i ? " else {\n" : " {\n");
    print_block(p, op->blocks[i], indent + 1);
    indent_print(p->s, indent);
    str_add(p->s, "}");
  }
}

static void print_op(Printer *p, const Op *op, int indent) {
  indent_print(p->s, indent);
  print_values(p->s, op->nresults, op->results);
  str_add(p->s, op->nresults ? " = " : "");
  str_add(p->s, op_info[op->code].name);
  print_attributes(p, op);
  int types = op_info[op->code].result == RESULT_MANY && op->nresults ? 1 : op->nresults;
  for (int i = 0; i < types && op_info[op->code].form != FORM_FOR; i++) {
    str_add(p->s, i ? ", " : " : ");
    type_print(p->s, p->m, op->results[i]->type);
  }
  print_nested(p, op, indent);
  str_add(p->s, "\n");
}

static void print_block(Printer *p, const Block *b, int indent) {
  for (const Op *op = b->first; op; op = op->next)
    print_op(p, op, indent);
}

void block_print(Str *s, const Module *m, const Kernel *k, const Block *b, int indent) {
  str_add(s, "");
  print_block(&(Printer){s, m, k}, b, indent);
}
