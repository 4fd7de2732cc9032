/* driver/program/code-units.c: kernels compiled in units, by several threads. */
#include "driver/program/code-units.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* UNIT_OPS: kernels with fewer ops than this together form a unit. MOST_THREADS: the most threads that compile. */
enum { UNIT_OPS = 1000, MOST_THREADS = 32 };

/* ---------------------------------------------------------------- equal kernels */

/* A fingerprint of a kernel that is fast to compute and distinguishes most different kernels. */
typedef struct Mark {
  int ops;
  uint64_t hash;
} Mark;

/* Adds a number to the fingerprint. */
static void mark_add(Mark *k, int64_t x) { k->hash = (k->hash ^ (uint64_t)x) * UINT64_C(1099511628211); }

/* Adds an op (a block_walk callback). */
static void mark_op(void *user, Op *op) {
  Mark *k = user;
  k->ops++;
  mark_add(k, op->code);
}

/* The fingerprint of a kernel: of its ops, its buffers and scalars. */
static Mark mark_of(const Kernel *k) {
  Mark out = {1, UINT64_C(14695981039346656037)};
  block_walk(k->body, mark_op, &out);
  for (int i = 0; i < k->nargs; i++) {
    mark_add(&out, k->args[i].kind);
    mark_add(&out, k->args[i].index);
  }
  return out;
}

/* The text of a kernel's code, and its hash; NULL: not made yet. */
typedef struct Text {
  const char *text;
  uint64_t hash;
} Text;

/* The text of kernel number `i`, without its name and its number of steps, which do not affect its code; made in `a` at
 * the first request. Renumbers. */
static const Text *text_of(Arena *a, const Module *m, int i, Text *texts) {
  Kernel same = m->kernels[i];
  Str s = {.arena = a};
  if (texts[i].text)
    return &texts[i];
  Mark of = {0, UINT64_C(14695981039346656037)};
  block_renumber(same.body, 0);
  same.name = "";
  same.steps = 0;
  kernel_print(&s, m, &same);
  for (const char *c = s.s; *c; c++)
    mark_add(&of, *c);
  texts[i] = (Text){s.s, of.hash};
  return &texts[i];
}

/* Are kernels `i` and `k` equal except for their names? Also compares two members that are not in the text. */
static bool do_the_same(Arena *a, const Module *m, int i, int k, Text *texts) {
  const Kernel *x = &m->kernels[i], *y = &m->kernels[k];
  if (x->by_class != y->by_class || x->skips_dry != y->skips_dry)
    return false;
  const Text *of_x = text_of(a, m, i, texts), *of_y = text_of(a, m, k, texts);
  return of_x->hash == of_y->hash && strcmp(of_x->text, of_y->text) == 0;
}

/* Computes p->code. The rounds of a repeat, and the work of levels on their way up and down, are different kernels with
 * the same code: 55 of the 114 of capacitor. Kernels that others replace, and those others, keep code of their own. */
static void find_same(Arena *a, const Module *m, const bool *is_other, const Mark *marks, CodeUnits *p) {
  ArenaMark start = arena_mark(a);
  Text *texts = ARENA_ARRAY(a, Text, m->nkernels);
  for (int i = 0; i < m->nkernels; i++) {
    p->code[i] = i;
    for (int k = 0; k < i && !is_other[i] && !m->kernels[i].instead && p->code[i] == i; k++)
      if (p->code[k] == k && marks[k].hash == marks[i].hash && marks[k].ops == marks[i].ops && !is_other[k] &&
          !m->kernels[k].instead && do_the_same(a, m, k, i, texts))
        p->code[i] = k;
  }
  arena_release(a, start);
}

/* ---------------------------------------------------------------- division into units */

/* The runs that need a kernel: all; those with enough steps for sequence number NEED_SEQUENCE + i; those whose params
 * let it replace another kernel. */
enum { NEED_ALWAYS, NEED_INSTEAD, NEED_SEQUENCE };

/* Records that runs of kind `who` need the kernels that `seq` launches. */
static void note_need(const HostSeq *seq, const CodeUnits *p, int who, int *need) {
  for (int i = 0; i < seq->nops; i++)
    if (seq->ops[i].kind == HOST_LAUNCH)
      need[p->code[seq->ops[i].a]] = who;
}

/* Computes this for each kernel. If several sequences launch it, the one with the fewest steps counts; a single
 * sequence counts as needed by all runs. */
static void find_needs(const Module *m, const CodeUnits *p, const bool *is_other, int *need) {
  const Host *h = &m->host;
  const HostSeq *seq;
  for (int i = 0; i < m->nkernels; i++)
    need[i] = is_other[i] ? NEED_INSTEAD : NEED_ALWAYS;
  for (int k = 0; k < h->nseqs && h->nseqs > 1; k++)
    note_need(&h->seqs[k], p, NEED_SEQUENCE + k, need);
  for (int k = 0; (seq = host_part(m, k)); k++)
    if (!(seq >= h->seqs && seq < h->seqs + h->nseqs))
      note_need(seq, p, NEED_ALWAYS, need);
}

/* Adds the kernels that runs of kind `who` need to the units. */
static void cut(Arena *a, const Module *m, const Mark *marks, const int *need, int who, CodeUnits *p) {
  int room = 0;
  bool *only = NULL;
  for (int i = 0; i < m->nkernels; i++) {
    if (p->code[i] != i || need[i] != who)
      continue;
    if (!only || marks[i].ops > room) {
      CodeUnit unit = {.only = only = ARENA_ARRAY(a, bool, m->nkernels)};
      ARENA_PUSH(a, p->all, p->n, unit);
      room = UNIT_OPS;
    }
    only[i] = true;
    p->of[i] = p->n - 1;
    p->all[p->n - 1].ops += marks[i].ops;
    room -= marks[i].ops;
  }
}

CodeUnits *units_cut(Arena *a, const Module *m) {
  CodeUnits *p = ARENA_NEW(a, CodeUnits);
  bool *is_other = ARENA_ARRAY(a, bool, m->nkernels + 1);
  Mark *marks = ARENA_ARRAY(a, Mark, m->nkernels + 1);
  int *need = ARENA_ARRAY(a, int, m->nkernels + 1);
  p->of = ARENA_ARRAY(a, int, m->nkernels + 1);
  p->code = ARENA_ARRAY(a, int, m->nkernels + 1);
  p->nkernels = m->nkernels;
  for (int i = 0; i < m->nkernels; i++) {
    marks[i] = mark_of(&m->kernels[i]);
    if (m->kernels[i].instead)
      is_other[m->kernels[i].instead - 1] = true;
  }
  find_same(a, m, is_other, marks, p);
  find_needs(m, p, is_other, need);
  for (int who = 0; who < NEED_SEQUENCE + m->host.nseqs; who++)
    cut(a, m, marks, need, who, p);
  for (int i = 0; i < m->nkernels; i++)
    p->of[i] = p->of[p->code[i]];
  return p;
}

void units_free(CodeUnits *p) {
  for (int i = 0; p && i < p->n; i++)
    free(p->all[i].text);
}

/* ---------------------------------------------------------------- compiling */

/* A message that is kept until all threads have finished. */
typedef struct KeptMessage {
  StcMessageKind kind;
  struct KeptMessage *next;
  char text[];
} KeptMessage;

/* The work on one unit, and its result. */
typedef struct Task {
  int number;
  StcStatus status;
  KeptMessage *first, **last;
} Task;

/* The data that all threads share. order: the tasks, those with most ops first, so that the tasks that begin last are
 * short. */
typedef struct Crowd {
  CodeUnits *units;
  Task *tasks;
  int n, *order;
  atomic_int next;
  bool remarks;
  const CodegenOptions *codegen;
  UnitWork work;
  void *user;
} Crowd;

/* Keeps a message (StcConfig.message). */
static void keep(void *user, const StcMessage *m) {
  Task *t = user;
  KeptMessage *k = malloc(sizeof *k + strlen(m->text) + 1);
  if (!k)
    return;
  *k = (KeptMessage){.kind = m->kind};
  memcpy(k->text, m->text, strlen(m->text) + 1);
  *t->last = k;
  t->last = &k->next;
}

/* The arguments of a task's guarded function. */
typedef struct TaskArgs {
  Crowd *crowd;
  Task *task;
  Workspace *w;
} TaskArgs;

/* Does the work in a workspace of its own. */
static StcStatus work_guarded(void *arg) {
  TaskArgs *a = arg;
  diags_enable_remarks(a->w->diags, a->crowd->remarks);
  return a->crowd->work(a->w, &a->crowd->units->all[a->task->number], a->task->number, a->crowd->user);
}

/* Does one task. */
static void do_task(Crowd *c, Task *t) {
  StcConfig config = {.message = keep, .user = t};
  StcContext *context = context_of_command(&config); /* tell() rewrites messages for their readers */
  Workspace w;
  t->status = STC_MEMORY;
  if (!context || !workspace_open(&w, context, NULL)) {
    stc_context_free(context);
    return;
  }
  TaskArgs args = {c, t, &w};
  t->status = workspace_guard(&w, work_guarded, &args);
  workspace_close(&w);
  stc_context_free(context);
}

/* The number of kernels in a unit. */
static int kernels_of(const CodeUnits *p, int unit) {
  int n = 0;
  for (int i = 0; i < p->nkernels; i++)
    n += p->of[i] == unit;
  return n;
}

/* Does tasks until none is left. */
static void *do_tasks(void *arg) {
  Crowd *c = arg;
  for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
    Task *t = &c->tasks[c->order[i]];
    if (stop_asked(c->codegen->stop))
      t->status = STC_INTERRUPTED;
    else
      do_task(c, t);
    if (c->codegen->working)
      atomic_fetch_add(&c->codegen->working->done, kernels_of(c->units, t->number));
  }
  return NULL;
}

/* Sorts the tasks by falling numbers of ops. */
static void order_tasks(Crowd *c) {
  for (int i = 0; i < c->n; i++) {
    int at = i, ops = c->units->all[c->tasks[i].number].ops;
    for (; at > 0 && c->units->all[c->tasks[c->order[at - 1]].number].ops < ops; at--)
      c->order[at] = c->order[at - 1];
    c->order[at] = i;
  }
}

/* Does all tasks, with as many threads as this process has processors. */
static void do_all(Crowd *c) {
  cpu_set_t set;
  int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  int threads = c->n < processors ? c->n : processors;
  threads_run(threads < MOST_THREADS ? threads : MOST_THREADS, do_tasks, c);
}

/* Passes the messages of a task on, and frees them. */
static void tell(Task *t, Diags *d) {
  static void (*const say[])(Diags *d, Loc at, const char *fmt, ...) = {[STC_ERROR] = diag_error,
                                                                        [STC_WARNING] = diag_warning,
                                                                        [STC_REMARK] = diag_remark,
                                                                        [STC_NOTE] = diag_note};
  while (t->first) {
    KeptMessage *k = t->first;
    t->first = k->next;
    say[k->kind](d, no_loc(), "%s", k->text);
    free(k);
  }
}

StcStatus units_each(CodeUnits *p, const bool *wanted, Diags *d, bool remarks, const CodegenOptions *o, UnitWork work,
                     void *user) {
  Crowd c = {.units = p, .tasks = calloc((size_t)p->n + 1, sizeof *c.tasks), .remarks = remarks};
  StcStatus s = STC_OK;
  c.order = calloc((size_t)p->n + 1, sizeof *c.order);
  c.codegen = o;
  c.work = work;
  c.user = user;
  if (!c.tasks || !c.order) {
    free(c.tasks);
    free(c.order);
    return diag_error(d, no_loc(), "out of memory"), STC_MEMORY;
  }
  for (int i = 0; i < p->n; i++)
    if (wanted[i]) {
      Task *t = &c.tasks[c.n++];
      t->number = i;
      t->last = &t->first;
    }
  if (o->working) {
    int of = 0;
    for (int i = 0; i < c.n; i++)
      of += kernels_of(p, c.tasks[i].number);
    atomic_store(&o->working->done, 0);
    atomic_store(&o->working->of, of);
  }
  order_tasks(&c);
  do_all(&c);
  if (o->working)
    working_end(o->working);
  for (int i = 0; i < c.n; i++) {
    tell(&c.tasks[i], d);
    s = s ? s : c.tasks[i].status;
  }
  free(c.tasks);
  free(c.order);
  return s;
}

StcStatus unit_codegen(Workspace *w, CodeUnit *p, const Module *m, const Target *t, const CodegenOptions *o) {
  CodegenOptions mine = *o;
  char *text;
  size_t size;
  mine.only = p->only;
  if (p->text)
    return STC_OK;
  if (!codegen(w->arena, w->diags, m, t, EMIT_OBJ, &mine, &text, &size))
    return stop_asked(o->stop) ? STC_INTERRUPTED : STC_INTERNAL;
  p->text = malloc(size + 1);
  if (!p->text)
    return diag_error(w->diags, no_loc(), "out of memory"), STC_MEMORY;
  memcpy(p->text, text, size + 1);
  p->text_size = size;
  return STC_OK;
}
