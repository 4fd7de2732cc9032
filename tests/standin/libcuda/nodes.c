/* nodes.c: the launches of a captured graph, as its nodes, and their parameters, which can be set in a graph that was
 * made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

/* CUgraphNodeType: a kernel; another. CUDA_KERNEL_NODE_PARAMS of CUDA 12. */
enum { NODE_KERNEL = 0, NODE_OTHER = 1 };
typedef struct Parameters {
  void *function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  void *kernel, *context;
} Parameters;

Node *new_node(Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args) {
  Node *node = calloc(1, sizeof *node);
  node->kernel = k;
  memcpy(node->grid, grid, sizeof node->grid);
  memcpy(node->block, block, sizeof node->block);
  node->shared = shared;
  for (int i = 0; i < k->nargs; i++) {
    memcpy(&node->values[i], args[i], (size_t)k->size[i]);
    node->arguments[i] = &node->values[i];
  }
  return node;
}

/* The graph that has the node whose handle is the place of it at `node`, and its number in *i; NULL: none has. */
static Graph *graph_of(void *node, int *i) {
  Node **place = node;
  for (int g = 0; g < MAX_GRAPHS; g++) {
    Graph *graph = &rt.graphs[g];
    if (graph->used && place >= graph->nodes && place < graph->nodes + graph->n)
      return *i = (int)(place - graph->nodes), graph;
  }
  return NULL;
}

int cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
  Graph *g = graph;
  if (!g->used || (nodes && *n < (size_t)g->n))
    return fault("cuGraphGetNodes");
  if (to_fail("cuGraphGetNodes"))
    return LAUNCH_FAILED;
  *n = (size_t)g->n;
  for (int i = 0; nodes && i < g->n; i++)
    nodes[i] = &g->nodes[i];
  return SUCCESS;
}

int cuGraphNodeGetType(void *node, int *type) {
  int i;
  const Graph *g = graph_of(node, &i);
  return g ? (*type = g->nodes[i] ? NODE_KERNEL : NODE_OTHER, SUCCESS) : fault("cuGraphNodeGetType of no node");
}

/* The parameters stay the driver's. */
int cuGraphKernelNodeGetParams_v2(void *node, Parameters *out) {
  int i;
  Graph *g = graph_of(node, &i);
  if (!g || !g->nodes[i])
    return fault("cuGraphKernelNodeGetParams of what launches no kernel");
  Node *x = g->nodes[i];
  *out = (Parameters){.function = x->kernel, .shared = x->shared, .arguments = x->arguments};
  memcpy(out->grid, x->grid, sizeof x->grid);
  memcpy(out->block, x->block, sizeof x->block);
  return SUCCESS;
}

/* The launch of `executable` that the node has become; launches of the graph that were made before stay what they were.
 */
int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node, const Parameters *p) {
  Graph *to = executable;
  char line[LINE], beside[LINE + 8];
  int i;
  const Graph *g = graph_of(node, &i);
  const Kernel *k = p->function;
  if (!to->used || !g || to == g || to->n != g->n || !g->nodes[i] || p->extra || rt.capturing)
    return fault("cuGraphExecKernelNodeSetParams");
  if (k != g->nodes[i]->kernel)
    return fault("cuGraphExecKernelNodeSetParams: another kernel");
  if (to_fail("cuGraphExecKernelNodeSetParams_v2"))
    return LAUNCH_FAILED;
  if (!describe(k, p->grid, p->block, p->shared, p->arguments, line, sizeof line))
    return INVALID_VALUE;
  snprintf(beside, sizeof beside, "%s%s", strncmp(to->lines[i], "beside ", 7) == 0 ? "beside " : "", line);
  call("graph set %s", k->name);
  order_set_node(to, i, p->arguments);
  free(to->lines[i]);
  to->lines[i] = strdup(beside);
  return SUCCESS;
}
