/* streams.c: streams, what is captured on them, and the graphs that this becomes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/libcuda/libcuda.h"

char standin_stream;

/* ---------------------------------------------------------------- which stream it is */

bool is_main(const void *stream) { return !stream || stream == &standin_stream; }

Stream *beside_stream(void *stream) {
  Stream *s = stream;
  return s >= rt.beside && s < rt.beside + MAX_STREAMS && s->used ? s : NULL;
}

Captor *captor(void *stream) {
  Captor *c = stream;
  return c >= rt.captors && c < rt.captors + MAX_CAPTORS && c->used ? c : NULL;
}

Capture *capture_of(void *stream) {
  Captor *c = captor(stream);
  Stream *b = beside_stream(stream);
  return c ? &c->capture : b ? &b->capture : NULL;
}

void note_capture(void *stream) {
  Capture *c = rt.capturing ? capture_of(stream) : NULL;
  if (c)
    c->made++;
}

bool is_open(void) {
  for (int i = 0; i < MAX_STREAMS; i++)
    if (rt.beside[i].used && rt.beside[i].open && rt.beside[i].current == current_device)
      return true;
  return false;
}

/* Has the stream that began the capture waited for all others that are in it? Ends it for them. */
static bool all_joined(void) {
  bool all = true;
  for (int i = 0; i < MAX_STREAMS + MAX_CAPTORS; i++) {
    Capture *c = i < MAX_STREAMS ? &rt.beside[i].capture : &rt.captors[i - MAX_STREAMS].capture;
    all = all && (!c->in || c == &rt.origin->capture || c->joined == c->made);
    *c = (Capture){0};
  }
  for (int i = 0; i < MAX_EVENTS; i++)
    if (rt.events[i].capture)
      rt.events[i].capture = NULL, rt.events[i].job = 0, rt.events[i].stale = true;
  return all;
}

int keep_launch(const char *line, Node *node) {
  if (!rt.capturing)
    return free(node), call("%s", line), SUCCESS;
  if (rt.captured->n == MAX_NODES)
    return fault("more launches in a graph than the stand-in keeps");
  if (node)
    rt.captured->has[node->kernel->module] = true;
  rt.captured->nodes[rt.captured->n] = node;
  rt.captured->lines[rt.captured->n++] = strdup(line);
  return SUCCESS;
}

/* ---------------------------------------------------------------- streams and graphs */

int cuStreamSynchronize(void *stream) {
  call("cuStreamSynchronize");
  if (!is_main(stream) || rt.capturing)
    return fault("cuStreamSynchronize");
  order_await_stream(stream);
  return rt.broken ? LAUNCH_FAILED : SUCCESS;
}

int cuStreamCreate(void **stream, unsigned flags) {
  ALONE;
  for (int i = 0; i < MAX_STREAMS && flags == 1; i++)
    if (!rt.beside[i].used)
      return rt.beside[i] = (Stream){.used = true, .current = current_device}, *stream = &rt.beside[i], SUCCESS;
  if (!flags && to_fail("cuStreamCreate"))
    return LAUNCH_FAILED;
  for (int i = 0; i < MAX_CAPTORS && !flags; i++)
    if (!rt.captors[i].used)
      return rt.captors[i] = (Captor){.used = true}, *stream = &rt.captors[i], SUCCESS;
  return fault("cuStreamCreate");
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  if (to_fail("cuStreamCreateWithPriority"))
    return LAUNCH_FAILED;
  return priority < 0 ? cuStreamCreate(stream, flags) : fault("cuStreamCreateWithPriority");
}

int cuStreamDestroy_v2(void *stream) {
  ALONE;
  order_await_all();
  if (beside_stream(stream))
    return beside_stream(stream)->used = false, SUCCESS;
  if (!captor(stream) || rt.capturing)
    return fault("cuStreamDestroy");
  captor(stream)->used = false;
  return SUCCESS;
}

Graph *new_graph(void) {
  for (int g = 0; g < MAX_GRAPHS; g++)
    if (!rt.graphs[g].used)
      return rt.graphs[g] = (Graph){.used = true}, &rt.graphs[g];
  return fault("more graphs than the stand-in keeps"), NULL;
}

int begin_capture(void *stream, Graph *to) {
  if (!to)
    return INVALID_VALUE;
  rt.captured = to;
  rt.capturing = true;
  rt.follows = false;
  rt.origin = captor(stream);
  rt.origin->capture.in = true;
  return SUCCESS;
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
  if (!captor(stream) || rt.capturing || mode < 0 || mode > 2)
    return fault("cuStreamBeginCapture");
  return to_fail("cuStreamBeginCapture_v2") ? LAUNCH_FAILED : begin_capture(stream, new_graph());
}

void clear_graph(Graph *g) {
  clear_branches(g);
  for (int i = 0; i < g->n; i++) {
    free(g->lines[i]);
    free(g->nodes[i]);
  }
  jobs_free(g->jobs);
  *g = (Graph){0};
}

int cuStreamEndCapture(void *stream, void **graph) {
  if (!captor(stream) || captor(stream) != rt.origin || !rt.capturing)
    return fault("cuStreamEndCapture");
  bool open = is_open(), joined = all_joined(), invalid = rt.invalid;
  rt.capturing = rt.invalid = false;
  for (int i = 0; i < MAX_STREAMS && invalid; i++)
    rt.beside[i].open = false;
  if (invalid)
    return clear_graph(rt.captured), CAPTURE_INVALIDATED;
  if (open || !joined)
    return fault("cuStreamEndCapture");
  *graph = rt.captured;
  call("graph of %d launches", rt.captured->n);
  return SUCCESS;
}

Graph *executable_of(const Graph *from) {
  Graph *to = new_graph();
  if (!to)
    return NULL;
  to->n = from->n;
  memcpy(to->has, from->has, sizeof to->has);
  to->jobs = jobs_copy(from->jobs);
  for (int i = 0; i < from->n; i++)
    to->lines[i] = strdup(from->lines[i]);
  copy_branches(to, from);
  return to;
}

/* The executable graph is a graph of its own. */
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  const Graph *from = graph;
  if (!from->used || flags)
    return fault("cuGraphInstantiateWithFlags");
  if (to_fail("cuGraphInstantiateWithFlags"))
    return LAUNCH_FAILED;
  Graph *to = executable_of(from);
  return to ? *executable = to, SUCCESS : INVALID_VALUE;
}

/* As many launches of the same kernels as the executable graph has take the places of those. */
int cuGraphExecUpdate_v2(void *executable, void *graph, void *result) {
  Graph *to = executable, *from = graph;
  bool same = to->used && from->used && to->n == from->n && result;
  for (int i = 0; i < from->n && same; i++) {
    const char *x = strstr(to->lines[i], " grid"), *y = strstr(from->lines[i], " grid");
    size_t n = x ? (size_t)(x - to->lines[i]) : 0;
    same = x && y && (size_t)(y - from->lines[i]) == n && !strncmp(to->lines[i], from->lines[i], n);
  }
  call("graph update of %d launches%s", from->n, same ? "" : " refused");
  if (to_fail("cuGraphExecUpdate_v2") || !same)
    return 910;
  jobs_free(to->jobs);
  to->jobs = jobs_copy(from->jobs);
  for (int i = 0; i < from->n; i++) {
    free(to->lines[i]);
    to->lines[i] = strdup(from->lines[i]);
  }
  return SUCCESS;
}

/* Has the stand-in for NCCL make the message of a line. */
static void make_message(const char *line) {
  void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  void *p = nccl ? dlsym(nccl, "standin_nccl_make") : NULL;
  void (*make)(int number) = NULL;
  memcpy(&make, &p, sizeof p);
  if (!make)
    fault("a graph with messages, and no NCCL");
  else
    make(atoi(strstr(line, "nccl ") + 5));
  if (nccl)
    dlclose(nccl);
}

/* For the stand-in for NCCL: is the stream one that is being captured? Then the graph will have its message `number`.
 */
bool standin_keep_message(void *stream, int number) {
  char line[40];
  Capture *c = capture_of(stream);
  if (!rt.capturing)
    return false;
  if (!c || !c->in)
    fault("a message of NCCL beside what is captured");
  note_capture(stream);
  snprintf(line, sizeof line, "nccl %d", number);
  return keep_launch(line, NULL), true;
}

/* Is there a graph? */
bool standin_has_graphs(void) {
  bool any = false;
  for (int g = 0; g < MAX_GRAPHS; g++)
    any |= rt.graphs[g].used;
  return any;
}

int cuGraphLaunch(void *executable, void *stream) {
  const Graph *g = executable;
  if (!g->used || !is_main(stream) || rt.capturing || is_open())
    return fault("cuGraphLaunch");
  rt.front[current_device]++;
  call("%scuGraphLaunch", stream ? "user " : "");
  order_graph(g, stream);
  if (g->nbranches)
    launch_branches(g, stream);
  for (int i = 0; i < g->n; i++)
    if (strncmp(g->lines[i], "nccl ", 5) == 0)
      make_message(g->lines[i]);
    else
      write_line("", g->lines[i]);
  return SUCCESS;
}

int cuGraphDestroy(void *graph) {
  if (((Graph *)graph)->inner)
    return fault("cuGraphDestroy of a graph in another one");
  return clear_graph(graph), SUCCESS;
}
int cuGraphExecDestroy(void *executable) {
  return ((Graph *)executable)->used ? (clear_graph(executable), SUCCESS) : fault("cuGraphExecDestroy of what is none");
}
