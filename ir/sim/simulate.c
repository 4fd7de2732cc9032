/* simulate.c: runs kernel IR like a device, with checks that a device cannot make. This file is the host part (the
 * paper's Algorithm 5): buffers, launches, swaps, reductions, results. */
#include "ir/run/host-run.h"
#include "ir/sim/simulate.h"

#include <stdlib.h>

/* Translates all kernels. */
static bool compile_kernels(Sim *s) {
  s->kernels = ARENA_ARRAY(s->arena, SimKernel, s->m->nkernels + 1);
  s->writes = ARENA_ARRAY(s->arena, bool, s->m->nbuffers + 1);
  s->passing = ARENA_ARRAY(s->arena, bool *, s->m->host.nloops + 1);
  for (int i = 0; i < s->m->nkernels; i++)
    if (!sim_compile(s, &s->m->kernels[i], &s->kernels[i]))
      return false;
  return true;
}

/* The caller's memory for buffer `b`: the array of a field (copy 0 only) or of a launch-time array; NULL for other
 * buffers, whose memory belongs to the run. Sets *given if the caller must provide it. */
static char *given_memory(const Sim *s, const Buffer *b, bool *given) {
  if (b->kind == BUFFER_PARAM) {
    *given = s->m->param_arrays[b->field].role != ARRAY_SERIES;
    if (!*given)
      return NULL;
    return s->b->param_arrays ? s->b->param_arrays[b->field] : NULL;
  }
  *given = b->kind == BUFFER_FIELD && b->copy == 0 && !s->m->fields[b->field].temp;
  return *given ? s->b->fields[b->field] : NULL;
}

/* The place in the source where the field or array of buffer `b` is declared. */
static Loc buffer_loc(const Module *m, const Buffer *b) {
  return b->kind == BUFFER_FIELD   ? m->fields[b->field].loc
         : b->kind == BUFFER_PARAM ? m->param_arrays[b->field].loc
                                   : no_loc();
}

/* Gives buffer `i` its memory: the caller's, or new memory, whose address goes to own[i] for the caller to free. */
static bool make_buffer(Sim *s, int i, char **own) {
  const Buffer *b = &s->m->buffers[i];
  Type type = buffer_type(s->m, i);
  bool given;
  int64_t shape[MAX_RANK], elements = buffer_shape(s->m, i, s->b->scalars, shape);
  char *data = given_memory(s, b, &given);
  if (!given)
    own[i] = data = calloc((size_t)elements + 1, (size_t)type_size(type));
  if (!exec_type(type))
    diag_error(s->d, buffer_loc(s->m, b), "the simulator has no values of type %s (field '%s')", type_name(type),
               b->name);
  else if (!data && given && elements)
    diag_error(s->d, buffer_loc(s->m, b), "%s '%s' has no array to run on",
               b->kind == BUFFER_PARAM ? "launch-time array" : "field", b->name);
  else if (!data && !given)
    diag_error(s->d, buffer_loc(s->m, b), "out of memory for buffer '%s' of %lld points", b->name, (long long)elements);
  else {
    s->memory[i] = sim_memory_new(s, i, data, given);
    return true;
  }
  return false;
}

/* Gives all buffers their memory. */
static bool make_memory(Sim *s, char **own) {
  s->memory = ARENA_ARRAY(s->arena, SimMemory *, s->m->nbuffers + 1);
  for (int i = 0; i < s->m->nbuffers; i++)
    if (!make_buffer(s, i, own))
      return false;
  return true;
}

/* Does kernel `k` write only buffers of fields whose inits are left out? */
static bool only_kept(const Sim *s, const SimKernel *k) {
  bool any = false;
  for (int i = 0; i < s->m->nbuffers; i++) {
    if (!k->writes[i])
      continue;
    any = true;
    if (!sim_is_kept(s, i))
      return false;
  }
  return any;
}

/* Exchanges the memory of buffers `a` and `b` (HostMachine.swap). If one of them is a further copy of a field, it now
 * counts as not written. Exception: if it is set once, kernels may skip points at which it holds the field's present
 * value. */
static void swap(void *user, int a, int b) {
  Sim *s = user;
  if (sim_is_kept(s, a))
    return;
  SimMemory *m = s->memory[a];
  s->memory[a] = s->memory[b];
  s->memory[b] = m;
  if (!s->m->buffers[a].copy == !s->m->buffers[b].copy)
    return;
  int present = s->m->buffers[a].copy ? b : a, other = s->m->buffers[a].copy ? a : b;
  if (sim_is_set_once(s->m, other))
    sim_memory_keep_alike(s, s->memory[other], s->memory[present]);
  else
    sim_memory_forget(s->memory[other]);
}

/* Stops the run: kernel `index` cannot be launched, for the reason `why`. */
static void refuse(Sim *s, int index, const char *why) {
  diag_error(s->d, s->m->kernels[index].loc, "kernel '%s' %s", s->m->kernels[index].name, why);
  s->faults++;
  s->stop = true;
}

/* Adds kernel `index`, or the kernel that is launched in its place under the params, to the members of the launch. */
static void add_member(Sim *s, int index) {
  int chosen = kernel_chosen(s->m, index, s->b->scalars);
  if (chosen < 0) {
    refuse(s, index, "cannot be launched with these params");
    return;
  }
  const SimMember *last = s->nmembers ? &s->members[s->nmembers - 1] : NULL;
  int64_t first = last ? last->first + last->k->nblocks * last->k->nthreads : 0;
  SimMember x = {&s->kernels[chosen], (uint32_t)first};
  if (first + x.k->nblocks * x.k->nthreads >= (int64_t)SIM_MANY) {
    refuse(s, chosen,
           "and those launched beside it have more than 2^32 threads: too many to simulate; take a smaller grid");
    return;
  }
  ARENA_PUSH(s->arena, s->members, s->nmembers, x);
}

/* Adds the kernels of the `n` ops at `op`, except those that write only buffers that are kept. */
static void add_members(Sim *s, int n, const HostOp *op) {
  for (int i = 0; i < n && !s->stop; i++)
    if (!only_kept(s, &s->kernels[op[i].a]))
      add_member(s, op[i].a);
}

/* Shuffles the members from number `from` on. */
static void mix_members(Sim *s, int from) {
  for (int n = s->nmembers - 1; n > from; n--) {
    int other = from + (int)sim_random(s, (uint64_t)(n - from) + 1);
    SimMember x = s->members[n];
    s->members[n] = s->members[other];
    s->members[other] = x;
  }
}

/* Runs the members from number `from` up to, but not including, `to`. Those from `with` up to `until` may run at the
 * same time: sets s->writes to what they write. Records what is written. */
static void run_members(Sim *s, int from, int to, int with, int until) {
  if (from == to || s->stop)
    return;
  memset(s->writes, 0, sizeof *s->writes * (size_t)s->m->nbuffers);
  for (int k = with; k < until; k++)
    for (int i = 0; i < s->m->nbuffers; i++)
      s->writes[i] |= s->members[k].k->writes[i];
  sim_launch(s, from, to, with);
  for (int k = from; k < to; k++)
    for (int i = 0; i < s->m->nbuffers; i++)
      if (s->members[k].k->writes[i])
        s->memory[i]->writer = s->members[k].k->kernel;
  sim_ghosts_init(s, from, to);
}

/* Launches the kernels of the `n` ops at `op` beside each other (HostMachine.launch). If some are `behind` the first,
 * which then runs before them, the others that are beside it may run at the same time as both: they run in between. */
static int launch(void *user, const HostOp *op, int n, int64_t step) {
  Sim *s = user;
  int ops = 1;
  s->step = step;
  s->nmembers = 0;
  while (ops < n && !op[ops].behind)
    ops++;
  bool all = ops == n;
  add_members(s, all ? n : 1, op);
  int first = s->nmembers;
  mix_members(s, 0);
  if (!all)
    add_members(s, ops - 1, op + 1);
  int beside = s->nmembers;
  mix_members(s, first);
  if (!all)
    add_members(s, n - ops, op + ops);
  mix_members(s, beside);
  run_members(s, 0, first, 0, beside);
  run_members(s, first, beside, 0, s->nmembers);
  run_members(s, beside, s->nmembers, first, s->nmembers);
  return s->stop;
}

/* Do the contents of buffer `b` live only within a sequence? */
static bool is_passing(const Module *m, const Buffer *b) {
  return b->kind == BUFFER_SCRATCH || (b->kind == BUFFER_FIELD && m->fields[b->field].temp);
}

/* Marks temp fields and scratch buffers as not written (HostMachine.fresh). */
static void forget_passing(void *user) {
  Sim *s = user;
  for (int i = 0; i < s->m->nbuffers; i++)
    if (is_passing(s->m, &s->m->buffers[i]))
      sim_memory_forget(s->memory[i]);
}

/* The value that the launches of `r` have computed (HostMachine.value). */
static int reduction_value(void *user, const Reduction *r, int64_t member, Const *value) {
  Sim *s = user;
  const SimMemory *m = s->memory[r->result];
  *value = exec_get(m->type, m->data, member);
  return 0;
}

/* The number of the buffer of launch-time array `array`. */
static int array_buffer(const Module *m, int array) {
  int i = 0;
  while (m->buffers[i].kind != BUFFER_PARAM || m->buffers[i].field != array)
    i++;
  return i;
}

/* Checks that all values of row `row` of probe `p` that must have been written are. Reports one that is not. */
static bool row_is_whole(Sim *s, const Probe *p, const int32_t *index, int64_t row) {
  const PointList *l = probe_list(s->m, p);
  const SimMemory *m = s->memory[array_buffer(s->m, p->result)];
  int64_t n = list_length(s->m, l, s->b->scalars), at[MAX_RANK];
  for (int64_t i = 0; i < n; i++) {
    int64_t cell = l ? list_point(s->m, l, s->b->scalars, s->b->param_arrays, i, at) : 0;
    if (sim_memory_has(m, row % SERIES_ROWS * n + (l ? index[cell] - 1 : 0)))
      continue;
    diag_error(s->d, p->loc, "probe '%s' has no value after %lld steps for point number %lld: no kernel wrote it",
               p->name, (long long)(row * p->every), (long long)i);
    return false;
  }
  return true;
}

/* Passes on the values that probe `p` recorded after s->seen steps, up to step `to`. */
static bool hand_out(Sim *s, const Probe *p, int64_t to) {
  const PointList *l = probe_list(s->m, p);
  const int32_t *index = l ? s->b->fields[l->field] : NULL;
  SimMemory *m = s->memory[array_buffer(s->m, p->result)];
  void *room = arena_alloc(s->arena, probe_room(s->m, p, s->b->scalars));
  for (int64_t row = s->seen < 0 ? 0 : s->seen / p->every + 1; row <= to / p->every; row++)
    if (!row_is_whole(s, p, index, row))
      return false;
  if (s->b->probed)
    probe_read(s->m, p, s->b->scalars, s->b->param_arrays, index, m->data, s->seen, to, room, s->b->probed, s->b->user);
  sim_memory_forget(m);
  return true;
}

/* Passes on the values of all probes up to step `to`. */
static bool hand_out_all(Sim *s, int64_t to) {
  bool ok = true;
  for (int i = 0; i < s->m->nprobes && ok && !s->stop; i++)
    ok = hand_out(s, &s->m->probes[i], to);
  s->seen = to;
  return ok;
}

/* Checks that there is a series for every probe. */
static bool probes_ready(const Sim *s) {
  for (int i = 0; i < s->m->nprobes; i++)
    if (s->m->probes[i].result < 0) {
      diag_error(s->d, s->m->probes[i].loc, "no kernel stores what probe '%s' sees; run passes probes and series",
                 s->m->probes[i].name);
      return false;
    }
  return true;
}

/* Records the probes that are due after `step` steps with the present fields, and passes the values on, like those
 * before the first step. */
static int see(Sim *s, HostRun *h, int64_t step) {
  int failed = 0;
  s->seen = -1;
  *h->steps = 0;
  for (int i = 0; i < s->m->nprobes && !failed; i++) {
    if (step % s->m->probes[i].every)
      continue;
    failed = host_sequence_run(h, &s->m->probes[i].seq);
    failed = failed || !hand_out(s, &s->m->probes[i], 0);
  }
  return failed;
}

/* Passes on the values of probes that the sequence may overwrite, unless the run is to stop (HostMachine.begin). */
static int begin(void *user, const HostSeq *seq, int64_t *runs) {
  Sim *s = user;
  int64_t done = s->b->first_step + s->b->done;
  *runs = 1;
  if (stop_asked(s->b->stop))
    return HOST_STOPPED;
  return !probes_have_room(s->m, s->seen, done + seq->steps) && !hand_out_all(s, done);
}

/* HostMachine.made. */
static void count_steps(void *user, int64_t steps) {
  Sim *s = user;
  sim_ghosts_age(s, steps);
  s->b->done += steps;
}

/* Runs the inits and, if `steps` follow, the `once` sequence; before the latter, ghost cells that inits set may be
 * exchanged. */
static int run_first(Sim *s, HostRun *h, bool run_inits, const bool *skip_init, int64_t steps) {
  s->keep = skip_init;
  int failed = run_inits ? host_sequence_run(h, &s->m->host.init) : 0;
  s->keep = NULL;
  return failed || !steps ? failed : host_sequence_run(h, &s->m->host.once);
}

/* Runs the inits and then the time steps, with the reductions between them, which may end the run. */
static bool run_host(Sim *s, int64_t steps, bool run_inits, const bool *skip_init) {
  static const HostMachine machine = {.launch = launch,
                                      .swap = swap,
                                      .value = reduction_value,
                                      .round = sim_round,
                                      .fresh = forget_passing,
                                      .begin = begin,
                                      .made = count_steps};
  Binding *b = s->b;
  int64_t first = b->first_step, at = first;
  HostRun h = {.m = s->m,
               .on = &machine,
               .user = s,
               .scalars = b->scalars,
               .steps = &at,
               .reduced = b->reduced,
               .repeated = b->repeated,
               .reduced_user = b->user,
               .diags = s->d,
               .wrong = 1};
  int failed = run_first(s, &h, run_inits, skip_init, steps);
  b->done = 0;
  if (b->see)
    return !failed && !see(s, &h, first) && s->faults == 0;
  s->seen = first == 0 && !b->evaluated ? -1 : first;
  for (int i = 0; i < s->m->nprobes && !failed && s->seen < 0; i++)
    failed = host_sequence_run(&h, &s->m->probes[i].seq);
  if (!failed && !b->evaluated && (first == 0 || b->begins))
    failed = host_reduce(&h);
  if (!failed)
    failed = host_run(&h, first + steps, INT64_MAX);
  return (!failed || failed == HOST_STOPPED) && hand_out_all(s, at) && s->faults == 0;
}

/* The grid point of element `i` of field `f`, as "[3, 4]". */
static const char *element_text(Sim *s, const Field *f, int64_t i) {
  int64_t at[MAX_RANK] = {0};
  sim_place_of(s, f, i, at);
  Str t = {s->arena, NULL, 0, 0};
  for (int k = 0; k < f->box.rank; k++)
    str_addf(&t, "%s%lld", k ? ", " : "[", (long long)at[k]);
  str_add(&t, "]");
  return t.s;
}

/* Does the caller expect the values of buffer `i` in other memory than where they are now? */
static bool is_elsewhere(const Sim *s, int i) {
  const Buffer *b = &s->m->buffers[i];
  return b->kind == BUFFER_FIELD && !b->copy && !s->m->fields[b->field].temp &&
         s->memory[i]->data != s->b->fields[b->field];
}

/* Have all elements of buffer `i` been written? */
static bool is_whole(Sim *s, int i) {
  const Buffer *b = &s->m->buffers[i];
  const Field *f = &s->m->fields[b->field];
  SimMemory *m = s->memory[i];
  int64_t hole = sim_memory_hole(m);
  if (hole < 0)
    return true;
  diag_error(s->d, m->writer ? m->writer->loc : f->loc, "buffer '%s' has no value at %s after the last swap: %s",
             b->name, element_text(s, f, hole),
             m->writer ? arena_printf(s->arena, "kernel '%s' did not write it", m->writer->name)
                       : "no kernel wrote it");
  return false;
}

/* Copies the values of fields whose buffers were swapped back to the caller's arrays; all their elements must have been
 * written. The arrays may be exchanged among the fields of one history, so it saves all of them first. */
static bool return_results(Sim *s) {
  char **values = ARENA_ARRAY(s->arena, char *, s->m->nbuffers + 1);
  for (int i = 0; i < s->m->nbuffers; i++) {
    if (!is_elsewhere(s, i))
      continue;
    if (!is_whole(s, i))
      return false;
    size_t bytes = (size_t)s->memory[i]->elements * (size_t)type_size(s->memory[i]->type);
    values[i] = arena_alloc(s->arena, bytes + 1);
    memcpy(values[i], s->memory[i]->data, bytes);
  }
  for (int i = 0; i < s->m->nbuffers; i++)
    if (values[i])
      memcpy(s->b->fields[s->m->buffers[i].field], values[i],
             (size_t)s->memory[i]->elements * (size_t)type_size(s->memory[i]->type));
  return true;
}

/* Runs the module on a part of a grid, or on all of it. */
static bool run_part(Sim *s, int64_t steps, bool run_inits, const bool *skip_init) {
  s->b->torn = false;
  sim_ghosts_begin(s);
  bool ok = run_host(s, steps, run_inits, skip_init);
  sim_ghosts_end(s);
  return ok;
}

/* sim_run, with its memory in s->arena and own[i]. */
static bool run_module(Sim *s, char **own, int64_t steps, bool run_inits, const bool *skip_init) {
  return probes_ready(s) && compile_kernels(s) && make_memory(s, own) && run_part(s, steps, run_inits, skip_init) &&
         return_results(s);
}

/* Runs in a new arena, which is freed afterwards, also if memory runs out. */
static bool run_in_arena(Sim *s, char **own, int64_t steps, bool run_inits, const bool *skip_init) {
  jmp_buf oom;
  Arena *arena = arena_new(NULL, NULL);
  if (!arena || setjmp(oom)) {
    diag_error(s->d, no_loc(), "out of memory for the simulator's bookkeeping: take a smaller grid");
    if (arena)
      arena_free(arena);
    return false;
  }
  arena_on_oom(arena, &oom);
  s->arena = arena;
  bool ok = run_module(s, own, steps, run_inits, skip_init);
  arena_free(arena);
  return ok;
}

bool sim_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, const SimOptions *o,
             SimStats *stats, Diags *d) {
  if (m->level != LEVEL_KIR) {
    diag_error(d, no_loc(),
               "the simulator runs kernel IR, and module '%s' is stencil IR: lower it, or use --device=ref", m->name);
    return false;
  }
  char **own = calloc((size_t)m->nbuffers + 1, sizeof *own);
  if (!own) {
    diag_error(d, no_loc(), "out of memory");
    return false;
  }
  Sim s = {
      .m = m, .b = b, .d = d, .random = o ? o->seed : 0, .max_faults = o && o->max_reports > 0 ? o->max_reports : 1};
  bool ok = run_in_arena(&s, own, steps, run_inits, skip_init);
  for (int i = 0; i < m->nbuffers; i++)
    free(own[i]);
  free(own);
  if (stats)
    *stats = s.stats;
  return ok;
}
