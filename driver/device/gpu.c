/* driver/device/gpu.c: the common part of the devices for NVIDIA's and AMD's drivers; see gpu.h. */
#include "driver/artifact/artifact.h"
#include "driver/device/gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool gpu_find_entries(void *library, const GpuEntry *e, size_t n, void *to) {
  for (size_t i = 0; i < n; i++) {
    void *p = dlsym(library, e[i].name);
    if (!p)
      return false;
    memcpy((char *)to + e[i].offset, &p, sizeof p);
  }
  return true;
}

/* ---------------------------------------------------------------- code */

/* Makes the streams and events for `n` launches beside another one. */
static StcStatus make_beside(Device *d, int n) {
  Gpu *g = d->state;
  StcStatus st = g->check(d, g->call.event_create(&g->forked, GPU_EVENT_DISABLE_TIMING), "making an event");
  for (; g->nbeside < n && g->nbeside < GPU_BESIDE && !st; g->nbeside += !st) {
    void **event = &g->joined[g->nbeside], **stream = &g->beside[g->nbeside];
    st = g->check(d, g->call.event_create(event, GPU_EVENT_DISABLE_TIMING), "making an event");
    st = st ? st : g->check(d, g->call.stream_create(stream, GPU_STREAM_NON_BLOCKING), "making a stream");
  }
  return st;
}

/* Destroys them. */
static void drop_beside(Gpu *g) {
  for (int i = 0; i < GPU_BESIDE; i++) {
    if (g->beside[i])
      g->call.stream_destroy(g->beside[i]);
    if (g->joined[i])
      g->call.event_destroy(g->joined[i]);
  }
}

StcStatus gpu_prepare(Device *d, const Compiled *code) {
  Gpu *g = d->state;
  StcStatus st = STC_OK;
  int n = code->module->nkernels;
  g->functions = ARENA_ARRAY(d->w->arena, void *, n + 1);
  g->dynamic = ARENA_ARRAY(d->w->arena, unsigned, n + 1);
  for (int i = 0; i < n && !st; i++) {
    const Kernel *k = &code->module->kernels[i];
    g->dynamic[i] = (unsigned)dynamic_shared_bytes(k, code->target);
    if (g->module)
      st = g->check(d, g->call.module_function(&g->functions[i], g->module, k->name), k->name);
  }
  if (!st)
    st = g->check(d, g->call.event_create(&g->begin, 0), "making an event");
  if (!st)
    st = g->check(d, g->call.event_create(&g->end, 0), "making an event");
  int beside = launches_beside(code->module);
  if (!st && beside)
    st = make_beside(d, beside);
  return st;
}

void gpu_drop(Device *d) {
  Gpu *g = d->state;
  void *const events[] = {g->forked, g->begin, g->end};
  drop_beside(g);
  if (g->out)
    g->call.stream_destroy(g->out);
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    if (events[i])
      g->call.event_destroy(events[i]);
  if (g->module)
    g->call.module_unload(g->module);
}

bool gpu_inspect(Device *d, int kernel, KernelInfo *out) {
  Gpu *g = d->state;
  int shared = 0;
  if (g->call.function_info(&out->registers, GPU_FUNC_REGISTERS, g->functions[kernel]) ||
      g->call.function_info(&out->local, GPU_FUNC_LOCAL, g->functions[kernel]) ||
      g->call.function_info(&shared, GPU_FUNC_SHARED, g->functions[kernel]))
    return false;
  out->shared = (int64_t)shared + g->dynamic[kernel];
  return true;
}

/* ---------------------------------------------------------------- memory */

bool gpu_room(Device *d, double *left, double *total) {
  size_t l = 0, t = 0;
  bool known = ((Gpu *)d->state)->call.memory_info(&l, &t) == 0;
  *left = (double)l;
  *total = (double)t;
  return known;
}

StcStatus gpu_alloc(Device *d, size_t size, void **memory) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  *memory = NULL;
  if (st)
    return st;
  int e = g->call.memory_alloc(memory, size ? size : 1);
  if (e == GPU_OUT_OF_MEMORY)
    return *memory = NULL, STC_OK;
  return g->check(d, e, "allocating memory");
}

void gpu_release(Device *d, void *memory, size_t size) {
  Gpu *g = d->state;
  (void)size;
  if (memory && !g->use(d))
    g->call.memory_free(memory);
}

/* Copies between host and device use the default stream; a plan with a stream of the caller first waits until that
 * stream has finished. */
static StcStatus finish_user(Device *d) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  return st || !g->user ? st : g->check(d, g->call.stream_synchronize(g->user), "running the kernels");
}

StcStatus gpu_put(Device *d, void *to, const void *from, size_t size) {
  Gpu *g = d->state;
  StcStatus st = finish_user(d);
  return st || !size ? st : g->check(d, g->call.copy_in(to, from, size), "copying to the device");
}

StcStatus gpu_fetch(Device *d, void *to, const void *from, size_t size) {
  Gpu *g = d->state;
  StcStatus st = finish_user(d);
  return st || !size ? st : g->check(d, g->call.copy_out(to, from, size), "copying from the device");
}

StcStatus gpu_copy(Device *d, void *to, const void *from, size_t size) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  return st || !size ? st : g->check(d, g->call.copy_within(to, from, size, g->stream), "copying within the device");
}

/* ---------------------------------------------------------------- copies to the host beside launches */

/* A copy of `size` bytes on the device, and one on this computer to which the device writes by itself. taken: the event
 * behind the first copy; arrived: the event behind the second. */
struct Stage {
  size_t size;
  void *copy, *values, *taken, *arrived;
};

void gpu_stage_free(Device *d, Stage *s) {
  Gpu *g = d->state;
  if (g->use(d))
    return;
  if (s->arrived)
    g->call.event_synchronize(s->arrived);
  if (s->copy)
    g->call.memory_free(s->copy);
  if (s->values)
    g->call.host_free(s->values);
  if (s->taken)
    g->call.event_destroy(s->taken);
  if (s->arrived)
    g->call.event_destroy(s->arrived);
  free(s);
}

/* Allocates what the stage needs; false if there is not enough. */
static bool make_stage(Device *d, Stage *s) {
  Gpu *g = d->state;
  return (g->out || g->call.stream_create(&g->out, GPU_STREAM_NON_BLOCKING) == 0) &&
         g->call.memory_alloc(&s->copy, s->size) == 0 && g->host_alloc(d, &s->values, s->size) == 0 &&
         g->call.event_create(&s->taken, GPU_EVENT_DISABLE_TIMING) == 0 &&
         g->call.event_create(&s->arrived, GPU_EVENT_DISABLE_TIMING) == 0 &&
         g->call.event_record(s->arrived, g->out) == 0;
}

StcStatus gpu_stage_new(Device *d, size_t size, Stage **out) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  *out = NULL;
  Stage *s = st || !g->call.copy_out_async ? NULL : calloc(1, sizeof *s);
  if (!s)
    return st;
  s->size = size;
  if (make_stage(d, s))
    *out = s;
  else
    gpu_stage_free(d, s);
  return STC_OK;
}

/* Sends the first `bytes` of the stage's copy to this computer, behind all work in the stream so far. */
static StcStatus send_stage(Device *d, Stage *s, size_t bytes) {
  Gpu *g = d->state;
  StcStatus st = g->check(d, g->call.event_record(s->taken, g->user), "recording an event");
  if (!st)
    st = g->check(d, g->call.stream_wait(g->out, s->taken, 0), "waiting for an event");
  if (!st)
    st = g->check(d, g->call.copy_out_async(s->values, s->copy, bytes, g->out), "copying from the device");
  return st ? st : g->check(d, g->call.event_record(s->arrived, g->out), "recording an event");
}

/* The copy waits for the launches so far. Later launches wait for it, only as long as a copy within the device takes.
 */
StcStatus gpu_stage_fill(Device *d, Stage *s, const void *from) {
  StcStatus st = gpu_copy(d, s->copy, from, s->size);
  return st ? st : send_stage(d, s, s->size);
}

StcStatus gpu_stage_gather(Device *d, Stage *s, int n, const Sending *boxes, size_t bytes) {
  StcStatus st = STC_OK;
  for (int i = 0; i < n && !st; i++) {
    Sending x = boxes[i];
    bool flat = x.count[0] == 1 && x.count[1] == 1 && x.count[2] == 1;
    x.to = (char *)s->copy + (uintptr_t)x.to;
    st = flat ? gpu_copy(d, x.to, x.from, (size_t)x.n) : d->kind->send(d, LANE_MAIN, d, &x);
  }
  return st ? st : send_stage(d, s, bytes);
}

const void *gpu_stage_values(Device *d, Stage *s, const char **why) {
  Gpu *g = d->state;
  int e = g->make_current(d);
  e = e ? e : g->call.event_synchronize(s->arrived);
  *why = e ? g->words(d, e) : NULL;
  return e ? NULL : s->values;
}

void *gpu_pinned_new(Device *d, size_t size) {
  Gpu *g = d->state;
  void *memory = NULL;
  bool can = g->call.copy_out_async && size && !g->make_current(d);
  return can && g->host_alloc(d, &memory, size) == 0 ? memory : NULL;
}

void gpu_pinned_free(Device *d, void *memory) {
  Gpu *g = d->state;
  if (!g->make_current(d))
    g->call.host_free(memory);
}

/* ---------------------------------------------------------------- launches */

/* Finds the stream for the next launch beside others: the streams are used in turn, and each waits for the work before
 * the fork when it is first used. A launch with `behind` also waits for the work so far in the stream from which they
 * fork. */
static StcStatus next_beside(Device *d, bool behind, void **stream) {
  Gpu *g = d->state;
  bool first = g->turn < g->nbeside || behind;
  StcStatus st = behind ? g->check(d, g->call.event_record(g->forked, g->stream), "recording an event") : STC_OK;
  *stream = g->beside[g->turn++ % g->nbeside];
  return st ? st : first ? g->check(d, g->call.stream_wait(*stream, g->forked, 0), "waiting for an event") : STC_OK;
}

StcStatus gpu_launch(Device *d, const KernelLaunch *l, void **args, void **extra) {
  Gpu *g = d->state;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  for (int i = 0; i < l->kernel->rank; i++) {
    int hw = l->kernel->rank - 1 - i < GRID_RANK ? l->kernel->rank - 1 - i : GRID_RANK - 1;
    grid[hw] *= (unsigned)l->blocks[i];
    block[hw] *= (unsigned)l->kernel->threads[i];
  }
  grid[0] *= l->kernel->cluster ? (unsigned)l->kernel->cluster : 1;
  void *stream = l->lane != LANE_MAIN ? g->lanes[l->lane] : g->stream;
  StcStatus st = g->use(d);
  if (!st && l->lane == LANE_MAIN && l->beside)
    st = next_beside(d, l->behind, &stream);
  if (st)
    return st;
  void *f = g->functions[l->index];
  unsigned shared = g->dynamic[l->index];
  int e = l->early && g->launch_early && !d->plain
              ? g->launch_early(d, f, grid, block, shared, stream, args)
              : g->call.launch(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, args, extra);
  return e == 0 ? STC_OK : g->check(d, e, arena_printf(d->w->arena, "launching %s", l->kernel->name));
}

/* Has the streams for launches beside others wait for all work so far. While recording, this makes branches of the
 * graph. */
StcStatus gpu_fork(Device *d) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  g->turn = 0;
  return st ? st : g->check(d, g->call.event_record(g->forked, g->stream), "recording an event");
}

/* Has the other stream wait for those of these streams that had a launch. */
StcStatus gpu_join(Device *d) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  for (int i = 0; i < g->nbeside && i < g->turn && !st; i++) {
    st = g->check(d, g->call.event_record(g->joined[i], g->beside[i]), "recording an event");
    st = st ? st : g->check(d, g->call.stream_wait(g->stream, g->joined[i], 0), "waiting for an event");
  }
  return st;
}

/* Records the event for the start in the stream. */
StcStatus gpu_start(Device *d) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  return st ? st : g->check(d, g->call.event_record(g->begin, g->user), "recording an event");
}

/* Waits for all launches; an error in a kernel is reported here. */
StcStatus gpu_wait(Device *d) {
  Gpu *g = d->state;
  StcStatus st = finish_user(d);
  return st || g->user ? st : g->check(d, g->call.synchronize(), "running the kernels");
}

/* Records the event for the end, waits for it, and reads the device's clock. */
StcStatus gpu_stop(Device *d, double *seconds) {
  Gpu *g = d->state;
  float milliseconds = 0;
  StcStatus st = g->use(d);
  if (!st)
    st = g->check(d, g->call.event_record(g->end, g->user), "recording an event");
  if (!st)
    st = g->check(d, g->call.event_synchronize(g->end), "running the kernels");
  if (!st)
    st = g->check(d, g->call.event_elapsed(&milliseconds, g->begin, g->end), "reading the time");
  *seconds = (double)milliseconds * 1e-3;
  return st;
}

/* Sends all later work to the caller's stream, behind all work so far. */
StcStatus gpu_use_stream(Device *d, void *stream) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  if (!st && stream != g->user)
    st = gpu_wait(d);
  if (!st)
    g->user = g->stream = stream;
  return st;
}

/* Functions for the caller's events. */
StcStatus gpu_wait_event(Device *d, void *event) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  return st ? st : g->check(d, g->call.stream_wait(g->user, event, 0), "waiting for an event");
}
StcStatus gpu_record_event(Device *d, void *event) {
  Gpu *g = d->state;
  StcStatus st = g->use(d);
  return st ? st : g->check(d, g->call.event_record(event, g->user), "recording an event");
}
