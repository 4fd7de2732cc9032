/* driver/program/busy.c: finds the classes of tiles for which a kernel has something to do (pass tile-classes). The
 * `once` sequence stores a byte for each tile in a hidden field, which nothing else writes. A kernel's body shows for
 * which of the bytes it does nothing:
 *
 *     %c = load @k.classes[..]   if %c == 1 { } else { if %c == 2 { } else { .. } }         idle if all are 1 or 2
 *
 * Plans use it (driver/instance/plan-idle.c), and manifests and launchers contain it. */
#include "driver/program/program.h"

#include <string.h>

/* Does `v` compare `class` with a constant? Sets *is to the constant. */
static bool tests_class(const Value *v, const Value *class, int64_t *is) {
  const Op *op = v->def;
  if (!op || op->code != OP_EQ || op->operands[0] != class || !op->operands[1]->def ||
      op->operands[1]->def->code != OP_CONST)
    return false;
  *is = op->operands[1]->def->cval.i;
  return true;
}

/* Does `b` have any effect if the tile's class is `is`? */
static bool is_busy(const Block *b, const Value *class, int64_t is) {
  bool busy = false;
  int64_t tested;
  for (const Op *op = b->first; op && !busy; op = op->next) {
    bool plain =
        op->code == OP_YIELD || (op_info[op->code].flags & OPF_PURE) || (op->nresults && op_buffer_read(op) >= 0);
    if (op->code == OP_IF && tests_class(op->operands[0], class, &tested))
      busy = is_busy(op->blocks[tested == is ? 0 : 1], class, is);
    else
      busy = op->nblocks > 0 || !plain;
  }
  return busy;
}

/* Do launches of `seq` write buffer `buffer`, or swaps exchange it? */
static bool changes_buffer(const Module *m, const HostSeq *seq, int buffer) {
  bool changes = false;
  for (int i = 0; i < seq->nops && !changes; i++) {
    const HostOp *op = &seq->ops[i];
    changes = op->kind == HOST_SWAP && (op->a == buffer || op->b == buffer);
    const Kernel *k = op->kind == HOST_LAUNCH ? &m->kernels[op->a] : NULL;
    for (int a = 0; k && a < k->nargs; a++)
      changes = changes || (k->args[a].kind == KARG_BUFFER && k->args[a].index == buffer && k->args[a].writes);
  }
  return changes;
}

/* Is buffer `buffer` a hidden field of type `t` that only the `once` sequence writes? */
static bool is_made_once(const Module *m, int buffer, Type t) {
  const Buffer *b = &m->buffers[buffer];
  if (b->kind != BUFFER_FIELD || m->fields[b->field].type != t || !strchr(m->fields[b->field].name, '.'))
    return false;
  bool other = changes_buffer(m, &m->host.init, buffer);
  for (int i = 0; i < m->host.nseqs; i++)
    other = other || changes_buffer(m, &m->host.seqs[i], buffer);
  for (int i = 0; i < m->host.nloops; i++)
    for (int k = 0; k < m->host.loops[i].nseqs; k++)
      other = other || changes_buffer(m, &m->host.loops[i].seqs[k], buffer);
  return !other && changes_buffer(m, &m->host.once, buffer);
}

/* The classes of the tiles of a kernel: the buffer that contains them, and the value in the body that is the class of
 * the block's tile. */
typedef struct Classes {
  int buffer;
  const Value *class;
} Classes;

/* Finds the classes of `k`; false: it has none. */
static bool find_classes(const Module *m, const Kernel *k, Classes *out) {
  bool listed = k->list && is_made_once(m, k->list - 1, TY_U32) && is_made_once(m, k->list_of, TY_U8);
  for (const Op *op = k->body->first; op; op = op->next) {
    bool is = k->list ? listed && kernel_loads_class(k, op) : op->code == OP_LOAD && is_made_once(m, op->sym, TY_U8);
    if (!is)
      continue;
    *out = (Classes){k->list ? k->list_of : op->sym, op->results[0]};
    return true;
  }
  return false;
}

/* Finds the classes `x` for which `k` has something to do, in busy[MOST_CLASSES]. False: for all. */
static bool find_busy(const Kernel *k, const Classes *x, bool *busy) {
  bool any = false;
  for (int i = 0; i < MOST_CLASSES; i++) {
    busy[i] = is_busy(k->body, x->class, i);
    any = any || !busy[i];
  }
  return any;
}

/* Does the `once` sequence launch kernel `i`? It runs regardless of earlier values. */
static bool is_of_once(const Module *m, int i) {
  bool of_once = false;
  for (int j = 0; j < m->host.once.nops && !of_once; j++) {
    const HostOp *op = &m->host.once.ops[j];
    of_once = op->kind == HOST_LAUNCH && (op->a == i || m->kernels[op->a].instead == i + 1);
  }
  return of_once;
}

bool field_made_once(const Module *m, int f) {
  int b = module_field_buffer(m, f, 0);
  return b >= 0 && is_made_once(m, b, m->fields[f].type);
}

bool kernel_busy(const Module *m, int i, int32_t *classes, bool *busy) {
  const Kernel *k = &m->kernels[i];
  Classes x;
  bool other[MOST_CLASSES];
  if (is_of_once(m, i) || !find_classes(m, k, &x) || !find_busy(k, &x, busy))
    return false;
  *classes = x.buffer;
  for (int j = 0; j < m->nkernels && k->list; j++)
    for (int c = 0; c < MOST_CLASSES && m->kernels[j].list == k->list; c++)
      busy[c] = busy[c] || !find_classes(m, &m->kernels[j], &x) || !find_busy(&m->kernels[j], &x, other) || other[c];
  return true;
}

bool module_has_busy(const Module *m) {
  int32_t classes;
  bool busy[MOST_CLASSES], any = false;
  for (int i = 0; i < m->nkernels && !any; i++)
    any = kernel_busy(m, i, &classes, busy);
  return any;
}
