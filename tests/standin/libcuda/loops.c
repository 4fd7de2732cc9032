/* loops.c: graphs whose nodes are made again, or left out, as their kernels decide by cudaGraphSetConditional. */
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

/* CUgraphNodeParams of a node with a condition. */
typedef struct Conditional {
  int type, reserved[3];
  uint64_t handle;
  int kind;
  unsigned size;
  void **bodies;
  void *context;
} Conditional;

/* The condition of that handle, NULL: it is none. */
static Condition *condition(uint64_t handle) {
  Condition *c = (Condition *)(uintptr_t)handle;
  return c >= rt.conditions && c < rt.conditions + MAX_CONDITIONS && c->used ? c : NULL;
}

int cuGraphCreate(void **graph, unsigned flags) {
  ALONE;
  Graph *g = flags ? NULL : new_graph();
  return g ? *graph = g, SUCCESS : fault("cuGraphCreate");
}

int cuGraphConditionalHandleCreate(unsigned long long *handle, void *graph, void *context, unsigned first,
                                   unsigned flags) {
  ALONE;
  Graph *g = graph;
  if (!g->used || !is_context(context) || flags != 1)
    return fault("cuGraphConditionalHandleCreate");
  if (to_fail("cuGraphConditionalHandleCreate"))
    return LAUNCH_FAILED;
  for (int i = 0; i < MAX_CONDITIONS; i++)
    if (!rt.conditions[i].used) {
      rt.conditions[i] = (Condition){true, g, first, first};
      return *handle = (uint64_t)(uintptr_t)&rt.conditions[i], SUCCESS;
    }
  return fault("more conditions than the stand-in keeps");
}

/* Nodes with a condition alone, one behind the other. A node's handle is the place of its branch. */
int cuGraphAddNode_v2(void **node, void *graph, void *const *behind, const void *edges, size_t n, Conditional *what) {
  ALONE;
  Graph *g = graph;
  Condition *on = condition(what->handle);
  if (!g->used || g->n || what->type != 13 || !on || what->kind < 0 || what->kind > 1 || what->size != 1 ||
      !is_context(what->context) || edges || g->nbranches == MAX_BRANCHES || n != (g->nbranches > 0) ||
      (n && *behind != &g->branches[g->nbranches - 1]))
    return fault("cuGraphAddNode");
  Graph *body = new_graph();
  if (!body)
    return INVALID_VALUE;
  body->inner = true;
  g->branches[g->nbranches] = (Branch){on, what->kind == 1, body};
  *node = &g->branches[g->nbranches++];
  g->bodies[0] = body;
  what->bodies = g->bodies;
  return SUCCESS;
}

int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *behind, const void *edges, size_t n, int mode) {
  ALONE;
  Graph *g = graph;
  if (!captor(stream) || rt.capturing || mode < 0 || mode > 2 || !g->used || !g->inner || g->n || g->nbranches || n ||
      behind || edges)
    return fault("cuStreamBeginCaptureToGraph");
  return to_fail("cuStreamBeginCaptureToGraph") ? LAUNCH_FAILED : begin_capture(stream, g);
}

/* The nodes of an executable graph go by the same conditions. */
void copy_branches(Graph *to, const Graph *from) {
  to->nbranches = from->nbranches;
  for (int i = 0; i < from->nbranches; i++) {
    to->branches[i] = from->branches[i];
    to->branches[i].body = executable_of(from->branches[i].body);
  }
}

void clear_branches(Graph *g) {
  for (int i = 0; i < g->nbranches; i++)
    clear_graph(g->branches[i].body);
  for (int i = 0; i < MAX_CONDITIONS; i++)
    if (rt.conditions[i].used && rt.conditions[i].graph == g)
      rt.conditions[i].used = false;
}

/* Makes the branches of the graph, or logs them once where nothing is computed. */
static void make_branches(const Graph *g, void *stream) {
  for (int i = 0; i < g->nbranches; i++) {
    const Branch *b = &g->branches[i];
    while (b->on->value) {
      order_graph(b->body, stream);
      order_await_stream(stream);
      for (int k = 0; k < b->body->n; k++)
        write_line("", b->body->lines[k]);
      make_branches(b->body, stream);
      if (!b->again || !computes() || rt.broken)
        break;
    }
  }
}

void launch_branches(const Graph *g, void *stream) {
  for (int i = 0; i < MAX_CONDITIONS; i++)
    rt.conditions[i].value = rt.conditions[i].first;
  order_await_stream(stream);
  make_branches(g, stream);
}

bool set_condition(uint64_t handle, unsigned value) {
  Condition *c = condition(handle);
  if (c)
    c->value = value;
  return c != NULL;
}
