/* cuda-loops.c: launches that the device repeats until a number that they compute meets a condition. They form a graph
 * with a loop node. Its body holds the launches of the only part; or two conditional nodes, each with the launches of
 * one part. A kernel of one thread behind each part evaluates the test and sets by cudaGraphSetConditional whether the
 * next node runs. The driver's compiler knows this function when it reads PTX, as kernels of applications show (XLA,
 * Taichi); no library of NVIDIA's is linked. */
#include "driver/device/cuda.h"

#include <string.h>

/* Numbers of the driver's interface: a conditional node and its kinds; a condition that gets its first value again at
 * each launch of the graph; the capture mode that does not restrict other threads; the first driver with loops. */
enum { NODE_CONDITIONAL = 13, WHEN = 0, AGAIN = 1, VALUE_GIVEN = 1, THREAD_LOCAL = 1, LOOPS_SINCE = 12040 };

/* CUgraphNodeParams of a conditional node. */
struct CuNodeParams {
  int type, reserved[3];
  unsigned long long handle;
  int kind;
  unsigned size;
  void **bodies;
  void *context;
  char unused[232 - 32];
  long long last;
};

/* parts: their number. state: on the device, two i64: the number of parts that have run, and the largest number of
 * parts to run. again: the condition of the loop; when: the conditions of the parts, if there are two. */
struct DeviceLoop {
  int parts;
  LoopTest test;
  void *graph, *executable, *body[2], *state, *module, *start, *tests[2];
  unsigned long long again, when[2];
};

/* The PTX name of a comparison. Among comparisons of floating-point numbers "not equal" holds if one is NaN, as on the
 * host. */
static const char *compare_name(Opcode how, bool real) {
  switch (how) {
  case OP_LT: return "lt";
  case OP_LE: return "le";
  case OP_GT: return "gt";
  case OP_GE: return "ge";
  case OP_EQ: return "eq";
  default: return real ? "neu" : "ne";
  }
}

/* The text of the kernel that begins a run and sets `state`, and of the kernels that evaluate the test behind part 0
 * and part 1: they count the part and set the condition of the loop; the kernel behind the first of two parts also sets
 * the condition of the second. */
static const char *kernel_text(Arena *a, const DeviceLoop *l) {
  const char *type = l->test.real ? "f64" : "s64";
  Str s = {.arena = a};
  str_addf(&s, ".version 6.0\n.target sm_50\n.address_size 64\n.extern .func cudaGraphSetConditional(\n"
               "  .param .b64 handle,\n  .param .b32 value\n);\n"
               ".visible .entry stc_loop_start(\n  .param .u64 stc_state,\n  .param .u64 stc_most\n)\n{\n"
               "  .reg .b64 %%rd<4>;\n  ld.param.b64 %%rd1, [stc_state];\n  ld.param.b64 %%rd2, [stc_most];\n"
               "  mov.b64 %%rd3, 0;\n  st.global.b64 [%%rd1], %%rd3;\n  st.global.b64 [%%rd1+8], %%rd2;\n  ret;\n}\n");
  for (int part = 0; part < l->parts; part++) {
    str_addf(&s,
             ".visible .entry stc_loop_test_%d(\n  .param .u64 stc_state,\n  .param .u64 stc_value,\n"
             "  .param .u64 stc_limit,\n  .param .u64 stc_again,\n  .param .u64 stc_next\n)\n{\n"
             "  .reg .pred %%p<4>;\n  .reg .b32 %%r<2>;\n  .reg .b64 %%rd<8>;\n  .reg .%s %%v<3>;\n"
             "  .param .b64 handle;\n  .param .b32 value;\n"
             "  ld.param.b64 %%rd1, [stc_state];\n  ld.param.b64 %%rd2, [stc_value];\n"
             "  ld.param.b64 %%rd3, [stc_limit];\n  ld.param.b64 %%rd4, [stc_again];\n"
             "  ld.param.b64 %%rd5, [stc_next];\n"
             "  ld.global.b64 %%rd6, [%%rd1];\n  ld.global.b64 %%rd7, [%%rd1+8];\n  add.s64 %%rd6, %%rd6, 1;\n"
             "  st.global.b64 [%%rd1], %%rd6;\n  ld.global.%s %%v1, [%%rd2];\n  mov.b64 %%v2, %%rd3;\n"
             "  setp.%s.%s %%p1, %%v1, %%v2;\n  setp.ge.s64 %%p2, %%rd6, %%rd7;\n  or.pred %%p1, %%p1, %%p2;\n",
             part, type, type, compare_name(l->test.how, l->test.real), type);
    if (l->test.real)
      str_addf(&s, "  setp.nan.f64 %%p3, %%v1, %%v1;\n  or.pred %%p1, %%p1, %%p3;\n");
    str_addf(&s, "  selp.b32 %%r1, 0, 1, %%p1;\n  st.param.b64 [handle], %%rd4;\n  st.param.b32 [value], %%r1;\n"
                 "  call.uni cudaGraphSetConditional, (handle, value);\n");
    if (part + 1 < l->parts)
      str_addf(&s, "  st.param.b64 [handle], %%rd5;\n  st.param.b32 [value], %%r1;\n"
                   "  call.uni cudaGraphSetConditional, (handle, value);\n");
    str_addf(&s, "  ret;\n}\n");
  }
  return s.s;
}

/* Is `e` success? If not, records what the driver refused. */
static bool went_well(Device *d, CuResult e, const char *what) {
  const char *name = NULL;
  if (e)
    ((CudaState *)d->state)->cu.error_name(e, &name);
  if (e)
    d->refused = arena_printf(d->w->arena, "%s: %s", what, name ? name : "?");
  return !e;
}

/* Loads the kernels. */
static bool load_kernels(Device *d, DeviceLoop *l) {
  CudaState *s = d->state;
  ArenaMark mark = arena_mark(d->w->arena);
  CuResult e = s->cu.module_load(&l->module, kernel_text(d->w->arena, l), 0, NULL, NULL);
  arena_release(d->w->arena, mark);
  if (e)
    l->module = NULL;
  if (!went_well(d, e, "loading what ends a loop") ||
      !went_well(d, s->gpu.call.module_function(&l->start, l->module, "stc_loop_start"), "stc_loop_start"))
    return false;
  for (int i = 0; i < l->parts; i++) {
    const char *name = i ? "stc_loop_test_1" : "stc_loop_test_0";
    if (!went_well(d, s->gpu.call.module_function(&l->tests[i], l->module, name), name))
      return false;
  }
  return true;
}

/* Adds a node of this kind to the graph, behind another node (NULL: none), controlled by the condition `handle`. *body
 * is the graph inside the node. */
static bool add_node(Device *d, void *graph, void **node, void *behind, int kind, unsigned long long handle,
                     void **body) {
  const CudaState *s = d->state;
  struct CuNodeParams what = {
      .type = NODE_CONDITIONAL, .handle = handle, .kind = kind, .size = 1, .context = s->context};
  if (!went_well(d, s->cu.node_add(node, graph, behind ? &behind : NULL, NULL, behind != NULL, &what),
                 "adding a loop to a graph"))
    return false;
  *body = what.bodies[0];
  return true;
}

/* Makes a condition of the graph that holds at each launch. */
static bool new_condition(Device *d, const DeviceLoop *l, unsigned long long *handle) {
  const CudaState *s = d->state;
  return went_well(d, s->cu.condition_new(handle, l->graph, s->context, 1, VALUE_GIVEN), "making a condition");
}

/* Makes the graph: the loop, and the nodes of its parts if there are two. */
static bool make_graph(Device *d, DeviceLoop *l) {
  const CudaState *s = d->state;
  void *node, *loop;
  if (!went_well(d, s->cu.graph_create(&l->graph, 0), "making a graph") || !new_condition(d, l, &l->again) ||
      !add_node(d, l->graph, &node, NULL, AGAIN, l->again, &loop))
    return false;
  l->body[0] = loop;
  node = NULL;
  for (int i = 0; i < l->parts && l->parts > 1; i++)
    if (!new_condition(d, l, &l->when[i]) || !add_node(d, loop, &node, node, WHEN, l->when[i], &l->body[i]))
      return false;
  return true;
}

static void loop_forget(Device *d, DeviceLoop *l) {
  CudaState *s = d->state;
  if (l->executable)
    s->cu.executable_destroy(l->executable);
  if (l->graph)
    s->cu.graph_destroy(l->graph);
  if (l->module)
    s->gpu.call.module_unload(l->module);
  gpu_release(d, l->state, 2 * sizeof(int64_t));
}

static DeviceLoop *loop_begin(Device *d, int parts, const LoopTest *test) {
  CudaState *s = d->state;
  int version = 0;
  if (!s->cu.capture_into || s->cu.driver_version(&version) || version < LOOPS_SINCE || !cuda_has_capture(d))
    return NULL;
  DeviceLoop *l = ARENA_NEW(d->w->arena, DeviceLoop);
  *l = (DeviceLoop){.parts = parts, .test = *test};
  if (went_well(d, s->gpu.call.memory_alloc(&l->state, 2 * sizeof(int64_t)), "allocating memory") &&
      load_kernels(d, l) && make_graph(d, l))
    return l;
  loop_forget(d, l);
  return NULL;
}

static bool loop_record(Device *d, DeviceLoop *l, int part) {
  CudaState *s = d->state;
  if (!cuda_has_capture(d) || !went_well(d, s->cu.capture_into(s->capture, l->body[part], NULL, NULL, 0, THREAD_LOCAL),
                                         "beginning a part of a graph"))
    return false;
  s->gpu.stream = s->capture;
  return true;
}

/* Ends the recording of the part and adds the test behind it. */
static bool loop_end_record(Device *d, DeviceLoop *l, int part) {
  const CudaState *s = d->state;
  void *args[] = {&l->state, &l->test.value, &l->test.limit, &l->again, &l->when[1]};
  bool fine = went_well(d, s->gpu.call.launch(l->tests[part], 1, 1, 1, 1, 1, 1, 0, s->gpu.stream, args, NULL),
                        "launching what ends a loop");
  return cuda_captured(d) && fine;
}

static bool loop_end(Device *d, DeviceLoop *l) {
  const CudaState *s = d->state;
  bool made = went_well(d, s->cu.graph_instantiate(&l->executable, l->graph, 0), "making a graph ready");
  if (!made)
    l->executable = NULL;
  return made;
}

static StcStatus loop_run(Device *d, DeviceLoop *l, int64_t most, int64_t *made) {
  const CudaState *s = d->state;
  void *args[] = {&l->state, &most};
  StcStatus st = s->gpu.use(d);
  if (!st)
    st = cuda_check(d, s->gpu.call.launch(l->start, 1, 1, 1, 1, 1, 1, 0, s->gpu.user, args, NULL),
                    "launching what begins a loop");
  if (!st)
    st = cuda_check(d, s->cu.graph_launch(l->executable, s->gpu.user), "launching a graph");
  return st ? st : gpu_fetch(d, made, l->state, sizeof *made);
}

const DeviceLoops cuda_loops = {.begin = loop_begin,
                                .record = loop_record,
                                .end_record = loop_end_record,
                                .end = loop_end,
                                .run = loop_run,
                                .forget = loop_forget};
