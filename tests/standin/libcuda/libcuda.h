/* tests/standin/libcuda/libcuda.h: what the files of the stand-in for NVIDIA's driver share. Table of contents:
 *
 *   ../libcuda.c   devices, errors, contexts; log and faults; the state of all; how tests ask for what is to fail
 *   memory.c       memory of devices, pinned memory, copies between them and the host
 *   circle.c       physical memory, and places that it is mapped to
 *   peers.c        copies from device to device; memory and flags of several processes
 *   modules.c      the kernels of a PTX, and their launches
 *   streams.c      streams, what is captured on them, graphs
 *   nodes.c        the launches of a graph, and their parameters
 *   loops.c        graphs whose nodes are made again, or left out, as kernels decide
 *   events.c       events, and streams that wait for them
 *   order.c        what is put into streams, and when it is done, where the stand-in computes
 *   code.h         the kernels then: reading and running them
 */
#ifndef STC_TESTS_STANDIN_LIBCUDA_H
#define STC_TESTS_STANDIN_LIBCUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_STARTED = 3,
  NOT_FOUND = 500,
  NOT_READY = 600,
  LAUNCH_FAILED = 719,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURED_EVENT = 907
};
enum {
  MAX_ALLOCATIONS = 2048,
  MAX_KERNELS = 1024,
  MAX_ARGS = 128,
  MAX_EVENTS = 2048,
  MAX_MODULES = 256,
  MAX_GRAPHS = 64,
  MAX_CONDITIONS = 64,
  MAX_BRANCHES = 2,
  MAX_STREAMS = 512,
  MAX_CAPTORS = 4,
  MAX_OUT = 16,
  MAX_PINNED = 64,
  MAX_NODES = 4096,
  LINE = 4096 /* characters of a launch, with all arguments */
};

/* A kernel as the PTX declares it. waits: for the launch ahead, before it touches memory. */
typedef struct Kernel {
  int module;
  char name[128];
  bool waits;
  int nargs;
  int size[MAX_ARGS];
  bool pointer[MAX_ARGS];
  unsigned max[3];
  unsigned cluster;  /* blocks along x that run together; 0: each by itself */
  struct Code *code; /* NULL: the stand-in does not compute */
} Kernel;
/* Memory handed out. copied: the number of the last copy within the device that went there. file: that it is in, where
 * others may open it, 0: none; foreign: it is another process's, or pinned memory that is the caller's. */
typedef struct Allocation {
  char *p;
  size_t size;
  int copied, file, current;
  bool foreign;
} Allocation;
/* A stream's part in a capture: is it in, by its origin or a wait; what was put into it, and how much of that another
 * stream of the capture has waited for. */
typedef struct Capture {
  bool in;
  int made, joined;
} Capture;
/* A stream that launches are captured on. */
typedef struct Captor {
  bool used;
  Capture capture;
} Captor;
/* A stream for launches beside others, of device number `current`. It has waited for the first `seen` of the launches
 * in the main one, and for the first `copies` of the copies; `open`: it has launches that the main one has not waited
 * for; `sends`: it has copies to another device that it has not. */
typedef struct Stream {
  bool used, open, sends;
  int seen, copies, current;
  Capture capture;
} Stream;
/* An event. Recorded in stream `beside`, or in the other (NULL) after `front` launches and `copies` copies; `outs`:
 * after so many copies to the host. */
typedef struct Event {
  bool used;
  Stream *beside;
  int front, current, copies, outs;
  Capture *capture; /* of the stream that it was recorded in while that was captured; NULL: it was not */
  int made;
  bool stale;  /* last recorded in a capture that has ended */
  int64_t job; /* order.c's */
} Event;
/* A copy to the host in a stream, number `number`. It is made when somebody waits for an event behind it. */
typedef struct Out {
  char *to;
  Allocation *from;
  uint64_t at;
  size_t size;
  Stream *stream;
  int number;
} Out;
/* A launch of a graph: its kernel and what it is launched with. */
typedef struct Node {
  Kernel *kernel;
  unsigned grid[3], block[3], shared;
  uint64_t values[MAX_ARGS];
  void *arguments[MAX_ARGS]; /* that point to them */
} Node;
/* What order.c keeps of a graph. */
typedef struct Jobs Jobs;
/* A condition: what it is when a graph is launched, and what it is now. Its address is the handle. */
typedef struct Condition {
  bool used;
  struct Graph *graph; /* that it was made for */
  unsigned first, value;
} Condition;
/* A node that is made while a condition holds, or once if it does: the graph in it. */
typedef struct Branch {
  Condition *on;
  bool again;
  struct Graph *body;
} Branch;
/* Launches kept, as the lines that the log gets, and of those captured the nodes (NULL: what is no launch of a kernel;
 * an executable graph has none). */
typedef struct Graph {
  bool used;
  int n;
  char *lines[MAX_NODES];
  Node *nodes[MAX_NODES];
  bool has[MAX_MODULES]; /* kernels of that module */
  Jobs *jobs;            /* order.c's */
  bool inner;            /* it is the body of a branch of another one */
  int nbranches;         /* of a graph without launches, made one behind the other */
  Branch branches[MAX_BRANCHES];
  void *bodies[1]; /* what the caller is told of the last one's body */
} Graph;
/* Rows of memory that are copied from address to address. */
typedef struct Box {
  uint64_t from, to;
  size_t width, height, depth, from_pitch, to_pitch, from_height, to_height;
} Box;

/* From here on all is the stand-in's own: a program that loads it sees the driver's functions and standin_*, and may
 * have functions of these names. */
#pragma GCC visibility push(hidden)

/* The devices, 7 and those behind it that STC_STANDIN_DEVICES asks for; the contexts of all. */
enum { FIRST_DEVICE = 7, MOST_DEVICES = 4 };
extern char contexts[MOST_DEVICES];

/* All devices together, in the state that the calls have brought them to. current: the current context's device, from 1
 * on; modules: the same of the context that each was loaded in, 0: it is none. */
typedef struct Runtime {
  bool started, capturing, broken, invalid; /* invalid: what is captured */
  bool follows;                             /* the last thing captured is a launch that is not beside others */
  Captor captors[MAX_CAPTORS], *origin;
  int launches, front[MOST_DEVICES + 1]; /* front: those that are not beside others, by device */
  Stream beside[MAX_STREAMS];
  int modules[MAX_MODULES];
  Event events[MAX_EVENTS];
  int retained, nkernels;
  Kernel kernels[MAX_KERNELS];
  Allocation allocations[MAX_ALLOCATIONS], pinned[MAX_PINNED];
  int copies, outs;
  Out out[MAX_OUT]; /* from NULL: none */
  Graph graphs[MAX_GRAPHS];
  Condition conditions[MAX_CONDITIONS];
  Graph *captured;
  _Atomic uint32_t *flag; /* that a stream waits for, with STC_STANDIN_IPC=lost, and its value */
  uint32_t value;
} Runtime;
extern Runtime rt;
/* The device of the thread's current context, from 1 on; 0: it has none. */
extern _Thread_local int current_device;

/* ---------------------------------------------------------------- ../libcuda.c */

/* As with the driver, several threads may call at once: what takes or gives back one of the things in `rt` begins with
 * ALONE and runs on its own. */
pthread_mutex_t *enter(void);
void leave(pthread_mutex_t **m);
#define ALONE __attribute__((cleanup(leave))) pthread_mutex_t *entered = enter()

/* Appends prefix and line, as one line, to the file that STC_STANDIN_LOG names, if it does. */
void write_line(const char *prefix, const char *line);
/* Logs a call. */
__attribute__((format(printf, 1, 2))) void call(const char *fmt, ...);
/* Reports a mistake of the caller, and is what the call then gives: INVALID_VALUE. */
__attribute__((format(printf, 1, 2))) int fault(const char *fmt, ...);
/* Is `name` the call that is to fail, now? */
bool to_fail(const char *name);
/* Is it a device's context? */
bool is_context(const void *context);
/* Can devices wait for what others have written to their memory? */
bool flushes(void);

/* ---------------------------------------------------------------- memory.c */

/* The allocation that `size` bytes from p on lie in, or NULL. */
Allocation *find(uint64_t p, size_t size);
/* Gives the allocation's memory back and makes its place free: this process's own, or what it has of another's. */
void drop_memory(Allocation *a);

/* ---------------------------------------------------------------- peers.c */

/* Is a copy within device memory in that stream one that goes by addresses alone, perhaps to another device? It. */
bool copies_beside(void *stream);
int copy_by_address(uint64_t to, uint64_t from, size_t size, void *stream);

/* ---------------------------------------------------------------- modules.c */

/* Notes where compiled PTX is kept, as the environment says now. */
void begin_to_keep(void);
/* The line for a launch of `k`; false after a fault. */
bool describe(const Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args,
              char *line, size_t size);

/* ---------------------------------------------------------------- nodes.c */

/* A launch as a graph keeps it (malloc). */
Node *new_node(Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args);

/* ---------------------------------------------------------------- loops.c */

/* Copies branches for an executable graph; frees them, and conditions made for the graph. */
void copy_branches(Graph *to, const Graph *from);
void clear_branches(Graph *g);
/* Launches a graph that has branches, as kernels decide; does what a kernel does by cudaGraphSetConditional. */
void launch_branches(const Graph *g, void *stream);
bool set_condition(uint64_t handle, unsigned value);

/* ---------------------------------------------------------------- streams.c */

/* A graph that is not used yet, NULL: there is none; one that can be launched; frees what one keeps; begins to capture
 * into one. */
Graph *new_graph(void);
Graph *executable_of(const Graph *g);
void clear_graph(Graph *g);
int begin_capture(void *stream, Graph *to);

/* Is `stream` one that launches in order may go to while nothing is captured? */
bool is_main(const void *stream);
/* The stream for launches beside others that `stream` is, or NULL. */
Stream *beside_stream(void *stream);
/* The stream that launches are captured on that `stream` is, or NULL. */
Captor *captor(void *stream);
/* What the stream has in captures, NULL: it is none for that. */
Capture *capture_of(void *stream);
/* Notes that something is put into the stream. */
void note_capture(void *stream);
/* Is there a launch beside others on the device that the main stream has not waited for? */
bool is_open(void);
/* Makes the launch that the log's line tells of, or adds it to the graph that is being captured. `node`: with these
 * parameters, which are the graph's from then on; NULL: it is none of a kernel. */
int keep_launch(const char *line, Node *node);

/* ---------------------------------------------------------------- order.c */

/* Does the stand-in compute? If not the functions below do nothing, but that copies are made at once. */
bool computes(void);
/* What is put into a stream, or into what is captured of it, then number `line` of Graph.nodes. order_record: its
 * number. */
void order_launch(void *stream, Kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared,
                  void **args, int line);
void order_copy(void *stream, const Box *b);
void order_set(void *stream, uint64_t to, unsigned char value, size_t size);
int64_t order_record(void *stream);
void order_wait(void *stream, const Event *e);
/* A graph that is launched in the stream; another step or so for a launch of it. */
void order_graph(const Graph *g, void *stream);
void order_set_node(Graph *g, int line, void **args);
/* Until it is done: what is ahead of an event, in a stream, on the current device, all. */
void order_await(const Event *e);
void order_await_stream(void *stream);
void order_await_device(void);
void order_await_all(void);
void box_copy(const Box *b);
/* What is captured, for an executable graph; its return. */
Jobs *jobs_copy(const Jobs *from);
void jobs_free(Jobs *x);

#pragma GCC visibility pop

/* The caller's stream, which tests look up. */
extern char standin_stream;

#endif
