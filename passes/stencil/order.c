/* order.c: orders the ops of long bodies so that few values are live at once.
 *
 *   %q1 = exp %a1                       %q1 = exp %a1
 *   %q2 = exp %a2                       %s1 = mul %q1, %b1
 *   ...                          ->     %q2 = exp %a2
 *   %s1 = mul %q1, %b1                  %p2 = mul %q2, %b2
 *   %p2 = mul %q2, %b2                  %s2 = add %s1, %p2
 *   %s2 = add %s1, %p2                  ...
 *
 * The front end emits all operands of an expression before it, so sums over the same terms come after the last of these
 * terms. Then more values are live than there are registers, and neither LLVM nor ptxas reorders such code.
 *
 * The order: each result is computed operand by operand, first the operand that keeps most values live meanwhile, as
 * Sethi and Ullman do for trees; a value with several uses is computed once. Between two such ops come all ops that do
 * not increase the number of live values: an op whose result needs as many words as the operands that it uses last, or
 * two such ops together, the second of which uses the first one's result. So all sums add a term as soon as it is
 * there. The time is linear in the number of ops and of their uses.
 *
 * A body stays as it is if at most tuning.long_lives words are live, or if the new order has more than half as many.
 * Operations keep their operands, so results do not change by a bit.
 *
 * A bilateral filter of 9 x 9 points and three colours spilled 6200 bytes of a thread in f64 and 1168 in f32 (ptxas
 * 13.0, sm_90); with this pass, and 112 words as the limit of range-guards, it spills nothing. The limit is 128 live
 * words. */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/base/weights.h"

/* An op without operands and with this many uses counts as live during the whole body. */
enum { MANY_USES = 8 };

/* An op; its number is that of its result. pending: operands that are not computed yet; uses: ops still to come that
 * use the result; words: size of the result; need: the most words that are live while it is computed, starting from
 * operands that are not there yet. Each operand counts once, constants not at all. */
typedef struct Node {
  Op *op;
  int32_t pending, uses, words, need, first_user, nusers;
  bool done, seen, listed;
} Node;

/* The state of the pass on a body. users: the users of each node, from its first_user on; wanted: the nodes in
 * Sethi-Ullman order; eager: the nodes to emit before the next of these. */
typedef struct Order {
  Arena *arena;
  Block *body;
  int32_t n, nwanted, neager;
  Node *nodes;
  int32_t *users, *wanted, *eager;
} Order;

/* ---- the graph */

/* Does `op` take no register, wherever it is computed? Then it is emitted directly before its first use. */
static bool is_free(const Op *op) { return op->code == OP_CONST || op->code == OP_SCALAR; }

/* Writes the nodes of the operands of node `i` to `out`, each once, without free ones. Returns their number. */
static int operands_of(const Order *o, int32_t i, int32_t *out) {
  const Op *op = o->nodes[i].op;
  int n = 0;
  for (int k = 0; k < op->noperands; k++) {
    int32_t id = op->operands[k]->id;
    bool known = is_free(o->nodes[id].op);
    for (int j = 0; j < n; j++)
      known |= out[j] == id;
    if (!known)
      out[n++] = id;
  }
  return n;
}

/* An array with room for the operands of any op of the body (a yield may have any number). */
static int32_t *operand_room(const Order *o) {
  int most = 0;
  for (int32_t i = 0; i < o->n; i++)
    most = o->nodes[i].op->noperands > most ? o->nodes[i].op->noperands : most;
  return ARENA_ARRAY(o->arena, int32_t, most + 1);
}

/* Sorts the `n` operands at `of`: first the one whose computation keeps the most words live beside its result. */
static void sort_operands(const Order *o, int n, int32_t *of) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0; k--) {
      const Node *a = &o->nodes[of[k - 1]], *b = &o->nodes[of[k]];
      if (a->need - a->words >= b->need - b->words)
        break;
      int32_t swap = of[k];
      of[k] = of[k - 1];
      of[k - 1] = swap;
    }
}

/* Computes the need of node `i`, whose operands' needs are known. A yield takes its operands in their order. */
static void find_need(Order *o, int32_t i, int32_t *room) {
  Node *x = &o->nodes[i];
  int n = x->op->code == OP_YIELD ? 0 : operands_of(o, i, room);
  int32_t before = 0;
  sort_operands(o, n, room);
  x->need = x->words;
  for (int k = 0; k < n; k++) {
    const Node *y = &o->nodes[room[k]];
    x->need = before + y->need > x->need ? before + y->need : x->need;
    before += y->words;
  }
}

/* Makes the nodes of the body and their uses. False if an op other than the last has no result, or several; then the
 * body stays as it is. */
static bool make_nodes(Order *o) {
  for (Op *op = o->body->first; op; op = op->next) {
    if (op->nblocks || (op->nresults != 1 && op != o->body->last))
      return false;
    o->n++;
  }
  o->nodes = ARENA_ARRAY(o->arena, Node, o->n);
  int32_t i = 0, total = 0;
  for (Op *op = o->body->first; op; op = op->next, i++) {
    o->nodes[i].op = op;
    o->nodes[i].words = op->nresults && !is_free(op) ? type_words(op->results[0]->type) : 0;
    if (op->nresults)
      op->results[0]->id = i;
  }
  int32_t *room = operand_room(o);
  for (i = 0; i < o->n; i++) {
    int n = o->nodes[i].pending = operands_of(o, i, room);
    total += n;
    for (int k = 0; k < n; k++)
      o->nodes[room[k]].uses++;
    find_need(o, i, room);
  }
  o->users = ARENA_ARRAY(o->arena, int32_t, total + 1);
  for (i = 0, total = 0; i < o->n; i++) {
    o->nodes[i].first_user = total;
    total += o->nodes[i].uses;
  }
  for (i = 0; i < o->n; i++)
    for (int n = operands_of(o, i, room), k = 0; k < n; k++) {
      Node *y = &o->nodes[room[k]];
      o->users[y->first_user + y->nusers++] = i;
    }
  return true;
}

/* ---- what is wanted */

/* Lists node `root` in o->wanted, after all nodes from which it is computed. Uses a stack instead of recursion,
 * because chains of values are long. */
static void want(Order *o, int32_t root, int32_t *room) {
  int32_t *stack = NULL, n = 0;
  ARENA_PUSH(o->arena, stack, n, root);
  while (n) {
    int32_t i = stack[n - 1];
    Node *x = &o->nodes[i];
    if (x->seen) {
      n--;
      if (!x->listed)
        o->wanted[o->nwanted++] = i;
      x->listed = true;
      continue;
    }
    x->seen = true;
    int k = operands_of(o, i, room);
    if (x->op->code != OP_YIELD)
      sort_operands(o, k, room);
    while (k-- > 0)
      if (!o->nodes[room[k]].seen)
        ARENA_PUSH(o->arena, stack, n, room[k]);
  }
}

/* ---- what is done */

/* The change in the number of live words by node `i`, if node `behind` (-1: none) is emitted directly before it. */
static int32_t growth(const Order *o, int32_t i, int32_t behind) {
  int32_t of[3], before[3], grown = o->nodes[i].words;
  int n = operands_of(o, i, of), m = behind < 0 ? 0 : operands_of(o, behind, before);
  for (int k = 0; k < n; k++) {
    int32_t uses = o->nodes[of[k]].uses;
    for (int j = 0; j < m; j++)
      uses -= before[j] == of[k];
    grown -= uses == 1 ? o->nodes[of[k]].words : 0;
  }
  return grown;
}

/* May node `i` be emitted early? Not a yield, which is the last op; and growth has room for three operands. */
static bool is_plain(const Order *o, int32_t i) {
  return o->nodes[i].op->code != OP_YIELD && o->nodes[i].op->noperands <= 3;
}

/* The only op still to come that uses the result of node `i`. */
static int32_t only_user(const Order *o, int32_t i) {
  int32_t k = o->nodes[i].first_user;
  while (o->nodes[o->users[k]].done)
    k++;
  return o->users[k];
}

/* The change in the number of live words by node `i`, alone or together with the only user of its result, whichever is
 * less. A yield does not count as a user. */
static int32_t least_growth(const Order *o, int32_t i) {
  int32_t more = growth(o, i, -1);
  if (more <= 0 || o->nodes[i].uses != 1)
    return more;
  int32_t user = only_user(o, i);
  bool follows = o->nodes[user].pending <= 1 && is_plain(o, user);
  int32_t both = follows ? more + growth(o, user, i) : more;
  return both < more ? both : more;
}

/* Makes node `i`, whose operands are there, eager if it does not increase the number of live words, alone or together
 * with `user`, which waits only for it (-1: the user is not known). A node without operands and with many uses stays
 * live anyway; it becomes eager as soon as this holds for one of its users. */
static void look_at(Order *o, int32_t i, int32_t user) {
  const Node *x = &o->nodes[i];
  if (x->done || x->pending || !is_plain(o, i))
    return;
  int32_t more = least_growth(o, i);
  if (more > 0 && user >= 0) {
    int32_t then = least_growth(o, user);
    more = then <= 0 && x->uses >= MANY_USES && x->op->noperands == 0 ? 0 : x->words + then;
  }
  if (more <= 0)
    ARENA_PUSH(o->arena, o->eager, o->neager, i);
}

/* Makes node `i` eager if it is ready, or the one operand for which it still waits, if that does not increase the
 * number of live words. */
static void consider(Order *o, int32_t i) {
  const Node *x = &o->nodes[i];
  if (!is_plain(o, i))
    return;
  if (!x->pending)
    look_at(o, i, -1);
  for (int k = 0; x->pending == 1 && k < x->op->noperands; k++) {
    const Op *of = x->op->operands[k]->def;
    if (!o->nodes[of->results[0]->id].done && !is_free(of))
      look_at(o, of->results[0]->id, i);
  }
}

/* Emits the op of node `i` at the end of the body. */
static void append(Order *o, int32_t i) {
  op_unlink(o->nodes[i].op);
  op_insert(o->body, NULL, o->nodes[i].op);
  o->nodes[i].done = true;
}

/* Considers the users of node `i` that now wait for at most one operand. */
static void tell_users(Order *o, int32_t i) {
  const Node *x = &o->nodes[i];
  for (int32_t k = x->first_user; k < x->first_user + x->nusers; k++)
    if (--o->nodes[o->users[k]].pending <= 1)
      consider(o, o->users[k]);
}

/* Emits node `i`, after those of its operands that are free. */
static void make(Order *o, int32_t i, int32_t *room) {
  const Op *op = o->nodes[i].op;
  for (int k = 0; k < op->noperands; k++)
    if (!o->nodes[op->operands[k]->id].done)
      append(o, op->operands[k]->id);
  append(o, i);
  int n = operands_of(o, i, room);
  for (int k = 0; k < n; k++)
    o->nodes[room[k]].uses--;
  tell_users(o, i);
  for (int k = operands_of(o, i, room) - 1; k >= 0; k--)
    if (o->nodes[room[k]].uses == 1)
      consider(o, only_user(o, room[k]));
}

/* Emits all eager nodes. */
static void make_eager(Order *o, int32_t *room) {
  while (o->neager) {
    int32_t i = o->eager[--o->neager];
    if (!o->nodes[i].done)
      make(o, i, room);
  }
}

/* Puts the body into the new order, and back if that has more than half as many live words. True if the order
 * changed. */
static bool order_body(Arena *a, Block *body) {
  int32_t before = body_live_words(a, body);
  Order o = {.arena = a, .body = body};
  if (before <= tuning.long_lives || !make_nodes(&o))
    return false;
  int32_t *room = operand_room(&o);
  o.wanted = ARENA_ARRAY(a, int32_t, o.n);
  for (int32_t i = 0; i < o.n; i++)
    if (!o.nodes[i].uses && !is_free(o.nodes[i].op))
      want(&o, i, room);
  for (int32_t i = 0; i < o.nwanted; i++)
    if (!o.nodes[o.wanted[i]].done) {
      make(&o, o.wanted[i], room);
      make_eager(&o, room);
    }
  int32_t after = body_live_words(a, body);
  for (int32_t i = 0; i < o.n && 2 * after > before; i++)
    append(&o, i);
  return 2 * after <= before;
}

Module *pass_order(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  Bodies bodies = bodies_of(m, CODE_INITS | CODE_STENCILS | CODE_REDUCTIONS | CODE_UPDATES);
  int64_t moved = 0;
  for (Block *b; (b = bodies_next(&bodies));)
    moved += order_body(c->arena, b);
  pass_stat(c, moved, "order", "bodies in an order in which half as many words are alive");
  return m;
}
