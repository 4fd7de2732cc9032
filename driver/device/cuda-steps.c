/* cuda-steps.c: graphs with launches that take the step number as an argument. When such a graph is launched again,
 * only this argument changes. So stc sets the parameters of these launches; it does not inspect other launches, and
 * records nothing again. */
#include "driver/device/cuda.h"

#include <string.h>

/* Number of the driver's interface: a node that launches a kernel. */
enum { NODE_KERNEL = 0 };

/* CUDA_KERNEL_NODE_PARAMS of CUDA 12. */
struct CuNode {
  void *function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  void *kernel, *context;
};

/* A launch of a graph that takes the step: as argument `argument` of `n`, whose recorded value is `first`. */
typedef struct StepNode {
  void *node;
  int argument, n;
  int64_t first;
} StepNode;

/* An executable graph with such launches, and the graph from which it was made, which contains the nodes. */
struct CudaSteps {
  void *executable, *graph;
  int n;
  StepNode *nodes;
  CudaSteps *next;
};

bool cuda_shifts(Device *d) { return ((CudaState *)d->state)->cu.node_set; }

/* The number of the argument that passes the step to kernel `k`; -1 if there is none. */
static int step_argument(const Kernel *k) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_STEP)
      return i;
  return -1;
}

/* The kernel whose function on the device is `function`; NULL if there is none. */
static const Kernel *kernel_of(const CudaState *s, const Module *m, const void *function) {
  for (int i = 0; i < m->nkernels; i++)
    if (s->gpu.functions[i] == function)
      return &m->kernels[i];
  return NULL;
}

/* Records node `node` in `x` if it launches a kernel that takes the step. False if the driver cannot tell. */
static bool note_node(Device *d, const Module *m, CudaSteps *x, void *node) {
  const CudaState *s = d->state;
  struct CuNode launch;
  int type;
  if (s->cu.node_type(node, &type) != 0)
    return false;
  if (type != NODE_KERNEL)
    return true;
  if (s->cu.node_get(node, &launch) != 0)
    return false;
  const Kernel *k = kernel_of(s, m, launch.function);
  int argument = k ? step_argument(k) : -1;
  if (argument < 0)
    return k;
  StepNode step = {node, argument, k->nargs, 0};
  memcpy(&step.first, launch.arguments[argument], sizeof step.first);
  ARENA_PUSH(d->w->arena, x->nodes, x->n, step);
  return true;
}

bool cuda_steps_keep(Device *d, void *executable, void *graph, const Module *m) {
  CudaState *s = d->state;
  CudaSteps *x = ARENA_NEW(d->w->arena, CudaSteps);
  size_t n = 0;
  *x = (CudaSteps){executable, graph, 0, NULL, s->steps};
  if (!s->cu.node_set)
    return false;
  bool all = s->cu.graph_nodes(graph, NULL, &n) == 0;
  void **nodes = ARENA_ARRAY(d->w->arena, void *, n + 1);
  all = all && s->cu.graph_nodes(graph, nodes, &n) == 0;
  for (size_t i = 0; i < n && all; i++)
    all = note_node(d, m, x, nodes[i]);
  if (!all)
    s->cu.node_set = NULL; /* such launches are recorded again from now on */
  if (!all || !x->n)
    return false;
  s->steps = x;
  return true;
}

/* Sets the step of launch `x` of `executable` to the recorded one plus `by`. */
static CuResult set_step(const CudaState *s, void *executable, const StepNode *x, int64_t by) {
  struct CuNode launch;
  void *arguments[x->n];
  int64_t step = x->first + by;
  CuResult e = s->cu.node_get(x->node, &launch);
  if (e)
    return e;
  memcpy(arguments, launch.arguments, sizeof *arguments * (size_t)x->n);
  arguments[x->argument] = &step;
  launch.arguments = arguments;
  return s->cu.node_set(executable, x->node, &launch);
}

StcStatus cuda_shift(Device *d, void *kept, int64_t by) {
  const CudaState *s = d->state;
  const CudaSteps *x = s->steps;
  CuResult e = 0;
  while (x && x->executable != kept)
    x = x->next;
  if (!x)
    return diag_error(d->w->diags, no_loc(), "cuda: the driver does not tell the launches of a graph"), STC_DEVICE;
  for (int i = 0; i < x->n && !e; i++)
    e = set_step(s, kept, &x->nodes[i], by);
  return cuda_check(d, e, "setting the step of a graph's launches");
}

void cuda_steps_drop(Device *d, const void *executable) {
  CudaState *s = d->state;
  for (CudaSteps **x = &s->steps; *x; x = &(*x)->next)
    if ((*x)->executable == executable) {
      s->cu.graph_destroy((*x)->graph);
      *x = (*x)->next;
      return;
    }
}
