/* driver/explain/explain.c: `stc explain`: compiles the program as usual, and collects its figures. */
#include "driver/cli/used/used.h"
#include "driver/explain/explain.h"
#include "driver/split/split.h"
#include "driver/files/files.h"
#include "driver/tune/db/tune-db.h"
#include "passes/launch/slices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The default card: the one for which the model was fitted. */
static const char default_card[] = "h200";

/* ---------------------------------------------------------------- the program */

/* Is `cpu` the processor of `card`, or that without the letter after its number, whose code also runs on the card? */
static bool is_of_card(const Card *card, const char *cpu) {
  size_t n = strlen(cpu);
  return strcmp(cpu, card->cpu) == 0 || (strncmp(cpu, card->cpu, n) == 0 && strcmp(card->cpu + n, "a") == 0);
}

/* Looks at the (first) device that --device names: sets e->card, or, if its name is not that of a known card, the
 * target in *o; in any case e->at_hand and the device's own figures. "sim" has no card. */
static StcStatus look_at_device(const Command *c, Workspace *w, Explanation *e, StcOptions *o) {
  Device d;
  if (c->card)
    return context_error(c->context, "--device=%s, --card=%s: one of them says what card is meant", c->device, c->card),
           STC_USAGE;
  StcStatus s = device_open(w, device_first(w->arena, c->device), &d);
  if (s)
    return s;
  const char *arch = d.kind->arch, *cpu = d.cpu ? arena_strdup(w->arena, d.cpu) : NULL;
  bool host = d.kind == &device_host, gpu = arch && !host;
  if (host) {
    e->threads = d.limits.cores;
    e->limits = d.limits;
    o->march = o->march ? o->march : arch;
  }
  if (!gpu && !host && d.kind != &device_sim)
    s = (context_error(c->context,
                       "--device=%s: there is no cost model of the reference; use host, a GPU, or "
                       "--card=NAME",
                       c->device),
         STC_USAGE);
  e->card = gpu ? card_of_device(d.description, arch) : NULL;
  if (gpu) {
    e->at_hand = arena_strdup(w->arena, d.description);
    e->limits = d.limits;
  }
  if (gpu && !e->card) {
    o->march = o->march ? o->march : arch;
    o->mcpu = o->mcpu ? o->mcpu : cpu;
  }
  d.kind->close(&d);
  return s;
}

/* Chooses this CPU, with as many threads as this process has cores, or as --device gives. */
static StcStatus choose_host(const Command *c, Explanation *e, const StcOptions *o) {
  const char *wrong = strcmp(o->march, "host") != 0               ? arena_printf(e->arena, "-march=%s", o->march)
                      : o->mcpu && strcmp(o->mcpu, "native") != 0 ? arena_printf(e->arena, "-mcpu=%s", o->mcpu)
                      : c->parts                                  ? "--parts"
                      : c->why                                    ? "--why"
                      : c->plot || c->out                         ? "-o"
                                                                  : NULL;
  if (wrong)
    return context_error(c->context, "%s: of CPUs there are figures of this one alone, as it is; leave the option out",
                         wrong),
           STC_USAGE;
  e->threads = e->threads ? e->threads : host_threads();
  return STC_OK;
}

/* Sets the target in the options of `c` to that of the card; if a target was given, the card must have it. */
static StcStatus choose_target(const Command *c, Workspace *w, Explanation *e, StcOptions *o) {
  *o = c->options;
  StcStatus s = c->device ? look_at_device(c, w, e, o) : STC_OK;
  const char *name = e->card ? e->card->name : c->card ? c->card : o->march || o->mcpu ? NULL : default_card;
  if (s)
    return s;
  e->card = name ? card_find(c->context, w->arena, name) : NULL;
  if (name && !e->card)
    return STC_USAGE;
  if (e->card && ((o->march && strcmp(o->march, e->card->arch) != 0) || (o->mcpu && !is_of_card(e->card, o->mcpu))))
    return context_error(c->context, "--card=%s is -march=%s -mcpu=%s; leave these options out, or the card", name,
                         e->card->arch, e->card->cpu),
           STC_USAGE;
  if (e->card) {
    o->march = e->card->arch;
    o->mcpu = o->mcpu ? o->mcpu : e->card->cpu;
  } else if (!o->march) {
    o->march = strncmp(o->mcpu, "gfx", 3) == 0 ? "amdgpu" : "nvptx";
  }
  return strcmp(o->march, "host") == 0 || e->threads ? choose_host(c, e, o) : STC_OK;
}

/* Has the program planned for the card or for the present device, as in a run on it. */
static StcStatus plan_for_card(Explanation *e) {
  StcProgram *p = e->program;
  const char *device = e->at_hand ? e->at_hand : e->card ? e->card->name : NULL;
  if (!device && !e->threads)
    return STC_OK;
  p->target = target_on(p->w.arena, p->w.diags, p->options.march, p->options.mcpu, device, &e->limits);
  return p->target ? STC_OK : STC_USAGE;
}

/* Reads the program, takes the schedule of a database if it has one, and makes the kernels. */
static StcStatus make_program(const Command *c, Workspace *w, Explanation *e) {
  Command with = *c;
  StcStatus s = choose_target(c, w, e, &with.options);
  if (!s)
    s = stc_compile_file(c->context, c->file, &with.options, &e->program);
  if (!s && e->program->kind == SOURCE_KIR)
    s = (context_error(c->context,
                       "%s is kernel IR: what its launches are made of is not known there; give a .stn or .sir",
                       c->file),
         STC_INPUT);
  if (!s)
    s = tune_use(&with, NULL, &e->program, &e->tuned);
  return s ? s : plan_for_card(e);
}

/* Makes the kernels, and the module before lowering. */
static StcStatus lower(Explanation *e) {
  StcProgram *p = e->program;
  p->explains = true;
  e->kernels = program_kernels(p);
  if (!e->kernels)
    return STC_INPUT;
  e->target = p->target;
  e->schedule = p->resolved;
  e->schedule_text = schedule_describe(e->arena, e->kernels, &e->schedule);
  e->stencils = program_before_lowering(p, &p->w, e->target, &p->resolved);
  e->info = e->card ? card_info(e->card, target_info(e->target)) : *target_info(e->target);
  return e->stencils ? STC_OK : STC_INPUT;
}

/* ---------------------------------------------------------------- figures */

/* The values of the module's scalars and the grid's extents. */
static StcStatus bind_scalars(Explanation *e) {
  StcProgram *p = e->program;
  e->scalars = ARENA_ARRAY(p->w.arena, Const, e->kernels->nscalars + 1);
  if (!module_bind(e->kernels, p->options.ndefines, p->defines, e->scalars, p->w.diags))
    return STC_INPUT;
  rows_pad(e->kernels, p->options.ndefines, p->defines, e->scalars);
  Field whole = {.name = "grid", .box = e->kernels->grid};
  e->points = (double)field_shape(&whole, e->scalars, e->extents);
  return STC_OK;
}

/* Computes the least work of a step, and the limits that follow from it. */
static StcStatus find_limits(Explanation *e) {
  StcProgram *p = e->program;
  Module *m = program_simplified(p);
  if (!m)
    return STC_INPUT;
  e->work = step_work(m, e->scalars);
  double seconds = e->work.f32_ops / e->info.f32_rate + e->work.f64_ops / e->info.f64_rate, bytes = 0;
  for (int i = 0; i < e->nlaunches; i++)
    bytes += e->launches[i].traffic.read + e->launches[i].traffic.written;
  e->arithmetic_limit = seconds > 0 ? 1 / seconds : 0;
  e->memory_limit = e->work.bytes > 0 ? e->info.bandwidth / e->work.bytes : 0;
  e->tile_limit = bytes > 0 ? e->steps * e->info.bandwidth / bytes : 0;
  return STC_OK;
}

/* Adds the kernel that is launched in place of `kernel` of the host part, for launch number `launch`. */
static void add_kernel(Explanation *e, int kernel, int launch) {
  int k = kernel_chosen(e->kernels, kernel, e->scalars);
  ExplainedKernel *x = &e->list[e->nkernels];
  if (k < 0)
    return;
  x->kernel = &e->kernels->kernels[k];
  x->launch = &e->launches[launch < e->nlaunches ? launch : e->nlaunches - 1];
  x->load = launch_load(&e->info, e->kernels, x->kernel, x->launch, e->scalars, kernel_space(x->kernel, e->scalars));
  x->time = model_launch(&e->info, &x->load);
  e->nkernels++;
}

/* The kernels from number `from` on run beside each other: moves the one with most points to the front. Returns the
 * time of all. */
static double join_kernels(Explanation *e, int from) {
  LaunchTime *times = ARENA_ARRAY(e->arena, LaunchTime, e->nkernels - from + 1);
  int n = 0;
  for (int i = from; i < e->nkernels; i++) {
    ExplainedKernel *x = &e->list[i], first = e->list[from];
    x->beside = i > from;
    times[n++] = x->time;
    if (x->load.points <= first.load.points)
      continue;
    e->list[from] = *x;
    *x = first;
    e->list[from].beside = false;
    x->beside = true;
  }
  return n ? model_beside(n, times).seconds : 0;
}

/* The number of rounds of repeat `name` in e->rounds; -1 if that does not contain it. */
static int64_t asked_rounds(const Explanation *e, const char *name) {
  for (const char *at = e->rounds; at && *at; at += strcspn(at, ","), at += *at == ',') {
    size_t n = strcspn(at, ":,");
    if (at[n] == ':' && strlen(name) == n && memcmp(at, name, n) == 0)
      return strtoll(at + n + 1, NULL, 10);
  }
  return -1;
}

/* Finds and records how many rounds of the loop are counted. */
static int64_t count_rounds(Explanation *e, const HostLoop *l) {
  int64_t most = affine_eval(l->most, e->scalars, NULL), asked = asked_rounds(e, l->name);
  ExplainedRepeat x = {l->name, asked < 0 || asked > most ? most : asked, most, asked >= 0};
  bool known = false;
  for (int i = 0; i < e->nrepeats; i++)
    known = known || strcmp(e->repeats[i].name, l->name) == 0;
  if (!known)
    ARENA_PUSH(e->arena, e->repeats, e->nrepeats, x);
  return x.rounds;
}

/* Does the kernel compute stencils? Kernels for updates write no field. */
static bool writes_fields(const Module *m, const Kernel *k) {
  bool writes = false;
  for (int i = 0; i < k->nargs; i++)
    writes = writes ||
             (k->args[i].kind == KARG_BUFFER && k->args[i].writes && m->buffers[k->args[i].index].kind == BUFFER_FIELD);
  return writes;
}

static double walk_ops(Explanation *e, const HostSeq *seq, int *launch, double *tiles);

/* The time of the rounds of loop number `loop`: as many sequences of several rounds as fit between two evaluations, and
 * sequences of one round for the rest. */
static double walk_loop(Explanation *e, int loop, int *launch) {
  const HostLoop *l = &e->kernels->host.loops[loop];
  int64_t rounds = count_rounds(e, l);
  double each[2] = {0}, seconds = 0, tiles;
  for (int i = 0; i < l->nseqs && i < 2; i++)
    each[i] = walk_ops(e, &l->seqs[i], launch, &tiles);
  for (int64_t done = 0, left; done < rounds; done += left) {
    left = module_steps_to_stop(e->kernels, loop + 1, done, rounds - done);
    int64_t whole = l->nseqs > 1 ? left / l->seqs[0].steps : left, rest = left - whole * l->seqs[0].steps;
    int64_t same = left > 0 && done == 0 ? rounds / left : 1;
    seconds += (double)same * ((double)whole * each[0] + (double)rest * each[1]);
    left *= same;
  }
  return seconds;
}

/* The time of the launches of the sequence, in seconds; *tiles: the time of the first launch that makes steps. */
static double walk_ops(Explanation *e, const HostSeq *seq, int *launch, double *tiles) {
  double all = 0;
  *tiles = 0;
  for (int i = 0, next, first = 1; i < seq->nops && e->nlaunches; i = next) {
    int from = e->nkernels;
    next = i + 1;
    if (seq->ops[i].kind == HOST_REPEAT)
      all += walk_loop(e, seq->ops[i].a, launch);
    if (seq->ops[i].kind != HOST_LAUNCH || !writes_fields(e->kernels, &e->kernels->kernels[seq->ops[i].a]))
      continue;
    add_kernel(e, seq->ops[i].a, *launch);
    for (; next < seq->nops && seq->ops[next].kind == HOST_LAUNCH && seq->ops[next].beside; next++)
      add_kernel(e, seq->ops[next].a, *launch);
    double took = join_kernels(e, from);
    all += took;
    *tiles = first ? took : *tiles;
    first = 0;
    ++*launch;
  }
  return all;
}

/* The number of launches in all sequences of steps and rounds. */
static int count_launches(const Host *host) {
  int n = host->nseqs ? host->seqs[0].nops : 0;
  for (int i = 0; i < host->nloops; i++)
    for (int k = 0; k < host->loops[i].nseqs; k++)
      n += host->loops[i].seqs[k].nops;
  return n;
}

void explain_kernels(Explanation *e) {
  e->stencils = plan_tiles(e->stencils, &e->schedule);
  e->launches = launch_works(&e->info, e->stencils, &e->schedule, &e->nlaunches);
  Schedule sized = {.family = FAMILY_AUTO};
  memcpy(sized.size, e->extents, sizeof sized.size);
  if (e->stencils->slice_of)
    sized = plan_of_slice(&sized);
  e->counted = counted_load(&e->info, e->stencils, &e->schedule, sized.size, &e->count);
  if (e->counted)
    e->counted_time = model_counted_launch(&e->info, &e->count);
  const Host *host = &e->kernels->host;
  const HostSeq *seq = host->nseqs ? &host->seqs[0] : NULL;
  double tiles = 0;
  int launch = 0;
  e->list = ARENA_ARRAY(e->arena, ExplainedKernel, count_launches(host) + 1);
  e->steps = seq ? seq->steps : 0;
  e->seconds = seq ? walk_ops(e, seq, &launch, &tiles) : 0;
  const int64_t *size = e->points > 0 ? e->extents : NULL;
  double own = schedule_own_ps(&e->info, e->stencils, &e->schedule, size), all = e->points * e->steps;
  double frame = e->schedule.edges == EDGES_STEPS ? e->seconds - tiles : 0;
  double seconds = own > 0 && !host->nloops ? own * 1e-12 * all + frame : e->seconds;
  e->gpts = seconds > 0 ? all / seconds * 1e-9 : 0;
}

/* The guarded function of explain_fill, whose memory is the program's. */
static StcStatus fill_guarded(void *arg) {
  Explanation *e = arg;
  program_take_grid(e->program);
  StcStatus s = lower(e);
  if (!s)
    s = bind_scalars(e);
  if (s)
    return s;
  explain_gradient(e);
  if (e->threads)
    return explain_host(e);
  explain_kernels(e);
  s = find_limits(e);
  if (!s && e->assemble)
    explain_assemble(e);
  if (!s && e->why)
    e->why_text = program_why(e->program, &e->program->w, e->target, &e->info, &e->schedule);
  return s;
}

StcStatus explain_fill(const Command *c, Workspace *w, Explanation *e) {
  *e = (Explanation){.arena = w->arena, .assemble = !c->no_ptxas, .why = c->why, .rounds = c->rounds};
  int64_t memory;
  StcStatus s = command_memory(c, &memory);
  e->memory = s ? 0 : (double)memory;
  if (!s)
    s = make_program(c, w, e);
  return s ? s : workspace_guard(&e->program->w, fill_guarded, e);
}

/* ---------------------------------------------------------------- the command */

/* The arguments of command_explain's guarded function. */
typedef struct ExplainArgs {
  const Command *c;
  Workspace *w;
  Explanation e;
} ExplainArgs;

/* Is the text a list "NAME:N", separated by commas? */
static bool rounds_are_written(const char *text) {
  bool good = true;
  for (const char *at = text; good; at++) {
    size_t name = strcspn(at, ":,");
    good = name > 0 && at[name] == ':';
    at += name + good;
    size_t digits = strspn(at, "0123456789");
    at += digits;
    good = good && digits > 0 && (!*at || *at == ',');
    if (!*at)
      break;
  }
  return good;
}

/* The first name in such a text that is not a repeat of the program; NULL if there is none. */
static const char *find_stranger(const Explanation *e) {
  const Module *m = e->program->reference;
  for (const char *at = e->rounds; m && at && *at; at += strcspn(at, ","), at += *at == ',') {
    const char *name = arena_strndup(e->arena, at, strcspn(at, ":"));
    if (module_find_repeat(m, name) < 0)
      return name;
  }
  return NULL;
}

/* Reports errors in e->rounds: rounds of a repeat that the program does not have, or more than it makes. */
static StcStatus check_rounds(const Explanation *e, StcContext *c) {
  const char *stranger = find_stranger(e);
  if (stranger)
    return context_error(c, "--rounds=%s: the program has no repeat %s", e->rounds, stranger), STC_USAGE;
  for (int i = 0; i < e->nrepeats; i++) {
    const ExplainedRepeat *r = &e->repeats[i];
    if (asked_rounds(e, r->name) > r->most)
      return context_error(c, "--rounds=%s: repeat %s makes %" PRId64 " round%s at most; ask for no more of it",
                           e->rounds, r->name, r->most, r->most == 1 ? "" : "s"),
             STC_USAGE;
  }
  return STC_OK;
}

/* Does the file's name have an extension other than that of SVG? */
static bool is_no_svg(const char *path) {
  const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
  return dot && strcmp(dot, ".svg") != 0;
}

/* Computes the figures and reports them. */
static StcStatus explain_guarded(void *arg) {
  ExplainArgs *x = arg;
  const Command *c = x->c;
  const char *plot = c->plot ? c->plot : c->out;
  bool json = c->format && strcmp(c->format, "json") == 0;
  if (c->format && !json && strcmp(c->format, "text") != 0)
    return context_error(c->context, "--format=%s: there are text and json", c->format), STC_USAGE;
  UsedFiles used = {.arena = x->w->arena};
  used_add_inputs(&used, c);
  used_add(&used, USE_WRITE, plot, "the drawing");
  StcStatus s = used_check(c, &used);
  if (s)
    return s;
  if (plot && strcmp(plot, "-") != 0 && is_no_svg(plot))
    return context_error(c->context, "-o %s: the drawing is SVG; give it a name that ends in .svg", plot), STC_USAGE;
  if (plot && strcmp(plot, "-") != 0 && !file_probe(c->context, plot))
    return STC_IO;
  if (c->rounds && !rounds_are_written(c->rounds))
    return context_error(c->context, "--rounds=%s: write how many rounds of which repeat are to be counted: NAME:N",
                         c->rounds),
           STC_USAGE;
  if (c->net && !c->parts)
    return context_error(c->context, "--net=%s: say with --parts=8x8x4 into how many parts the grid is cut", c->net),
           STC_USAGE;
  s = explain_fill(c, x->w, &x->e);
  if (!s) {
    used_add_included(&used, x->e.program);
    s = used_check(c, &used);
  }
  s = s ? s : check_rounds(&x->e, c->context);
  if (!s && c->parts)
    s = explain_parts(c, &x->e);
  if (!s && x->e.memory > 0 && !x->e.gradient && !x->e.threads)
    s = turns_foresee(x->e.program, &x->e.info, (int64_t)x->e.memory, NULL, x->e.arena, &x->e.turns);
  if (!s && plot)
    s = explain_draw(c->context, &x->e, plot);
  if (!s && !(plot && strcmp(plot, "-") == 0)) {
    if (json)
      s = explain_print_json(stdout, c->context, &x->e);
    else
      explain_print(stdout, &x->e);
  }
  return s;
}

StcStatus command_explain(const Command *c) {
  Workspace w;
  if (!workspace_open(&w, c->context, NULL))
    return STC_MEMORY;
  ExplainArgs args = {.c = c, .w = &w};
  StcStatus s = workspace_guard(&w, explain_guarded, &args);
  if (args.e.parts)
    explain_parts_close(args.e.parts);
  if (args.e.program)
    stc_program_free(args.e.program);
  workspace_close(&w);
  return s;
}
