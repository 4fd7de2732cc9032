/* driver/cli/run/run.c: `stc run`: reads fields, makes steps, writes fields, checks, and prints the time line. */
#include "driver/cli/run/job.h"
#include "driver/data/series.h"
#include "driver/split/split.h"
#include "driver/tune/tune.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- progress */

/* Draws the bar after each tenth of a second, and at the end. */
bool progress_step(void *user, int64_t done, int64_t of) {
  Progress *p = user;
  double now = clock_seconds();
  bool due = p->bar && (now - p->drawn > 0.1 || done == of) && (p->any || now - p->start > 0.3);
  if (due) {
    int filled = of > 0 ? (int)(40.0 * (double)done / (double)of) : 40;
    double left = done > 0 ? (now - p->start) * (double)(of - done) / (double)done : 0;
    fprintf(stderr, "\r[%.*s%.*s] %" PRId64 "/%" PRId64 " steps, %.0f s left ", filled,
            "########################################", 40 - filled, "                                        ", done,
            of, left);
    fflush(stderr);
    p->drawn = now;
    p->any = true;
  }
  return !stop_asked(p->stop);
}

void progress_end(Progress *p) {
  if (p->any)
    fprintf(stderr, "\r%*s\r", 79, "");
  p->any = false;
}

/* ---------------------------------------------------------------- the run */

/* Prints `s` as a JSON string. */
static void print_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      putchar('\\');
    if ((unsigned char)*s < ' ')
      printf("\\u%04x", (unsigned char)*s);
    else
      putchar(*s);
  }
  putchar('"');
}

/* --time=kernels: prints the launched kernels, as elements of a JSON array. */
static StcStatus print_kernels(const Job *j) {
  StcStatus s = STC_OK;
  const char *between = "";
  for (int i = 0; i < stc_plan_kernel_count(j->plan) && !s; i++) {
    StcKernelInfo k;
    s = stc_plan_kernel(j->plan, i, &k);
    if (s || !k.launches)
      continue;
    printf("%s{\"name\": ", between);
    print_string(k.name);
    printf(", \"launches\": %" PRId64 ", \"seconds\": %.9g, \"shared_bytes\": %" PRId64
           ", \"registers\": %d, \"estimated_registers\": %d, \"local_bytes\": %" PRId64 "}",
           k.launches, k.seconds, k.shared_bytes, k.registers, k.estimated_registers, k.local_bytes);
    between = ", ";
  }
  return s;
}

/* --time: prints one line of JSON. */
static StcStatus print_time(const Job *j, const StcRunInfo *info) {
  StcStatus s = STC_OK;
  printf("{\"program\": ");
  print_string(stc_program_name(j->program));
  printf(", \"device\": ");
  print_string(stc_plan_device(j->plan));
  printf(", \"schedule\": ");
  print_string(stc_plan_schedule(j->plan));
  printf(", \"points\": %" PRId64 ", \"steps\": %" PRId64 ", \"launches\": %" PRId64
         ", \"seconds\": %.9g, \"gpts\": %.6g, \"compile_seconds\": %.6g",
         info->points, info->steps, info->launches, info->seconds, info->gpts, stc_plan_compile_seconds(j->plan));
  if (j->plan->split)
    printf(", \"parts\": %d, \"ranks\": %d, \"exchange_seconds\": %.9g", j->plan->split->nparts,
           j->net ? j->net->size : 1, j->plan->split->exchanged);
  if (j->tuned) {
    printf(", \"schedule_from\": ");
    print_string(j->tuned);
  }
  if (j->series.n) {
    printf(", \"reductions\": {");
    series_print_json(stdout, &j->series);
    printf("}, \"until_met\": %s", info->until ? "true" : "false");
  }
  if (j->c->time_kernels) {
    printf(", \"kernels\": [");
    s = print_kernels(j);
    printf("]");
  }
  printf("}\n");
  return s;
}

/* The schedule's text for the summary: the family and T, "stream T=12", followed by the parts. -v and --time print all
 * of it. */
static const char *short_schedule(const Job *j) {
  const char *all = stc_plan_schedule(j->plan), *t = strstr(all, " T="), *parts = strstr(all, ", ");
  if (!t)
    return all;
  int n = (int)(t - all) + 1 + (int)strcspn(t + 1, " ,");
  return arena_printf(j->c->arena, "%.*s%s", n, all, parts ? parts : "");
}

/* Prints the summary of a run. */
static void print_summary(const Job *j, const StcRunInfo *info) {
  fprintf(stderr, "%s: %" PRId64 " points x %" PRId64 " steps in %.3g s on %s (%s%s%s): %.3g GPts/s\n",
          stc_program_name(j->program), info->points, info->steps, info->seconds, stc_plan_device(j->plan),
          short_schedule(j), j->tuned ? ", from " : "", j->tuned ? j->tuned : "", info->gpts);
}

/* Prints and writes the values of reductions. */
static StcStatus report_series(const Job *j, const StcRunInfo *info) {
  if (j->series.full)
    return context_error(j->c->context, "no memory on this computer for the values of reductions"), STC_MEMORY;
  if (!j->c->quiet && !j->c->time)
    series_print(stdout, &j->series, info->until);
  const char *dot = j->c->log ? strrchr(j->c->log, '.') : NULL;
  if (dot && strcmp(dot, ".h5") == 0)
    return series_write_hdf5(&j->series, j->plan, file_behind(j->c->arena, j->c->log));
  return j->c->log ? series_write(&j->series, j->c->log) : STC_OK;
}

/* Does this rank read and write? Only the leading rank does; if no rank has the whole grid, all do. */
static bool has_files(const Job *j) { return job_leads(j) || j->plan->split->lean; }

/* Sets the initial values. *steps: the number of steps to be made. */
static StcStatus give_start(Job *j, int64_t *steps) {
  *steps = j->c->steps;
  j->frames = ARENA_NEW(j->c->arena, FrameFiles);
  outputs_facts(j);
  bool lean = j->plan->split && j->plan->split->lean;
  bool parts = lean && !j->c->restart;
  StcStatus s = parts ? give_parts(j) : has_files(j) ? start_plan(j, j->plan, &j->series, steps) : STC_OK;
  return !s && j->c->first_step > 0 ? stc_plan_first_step(j->plan, j->c->first_step) : s;
}

/* Sets the initial values, until when Ctrl-C may end the process at once, and opens the output files. *steps: the
 * number of steps to be made. */
static StcStatus start_run(Job *j, int64_t *steps) {
  StcStatus s = give_start(j, steps);
  ending_allow(NULL);
  if (s)
    return s;
  j->progress.start = j->progress.drawn = clock_seconds();
  stc_plan_progress(j->plan, progress_step, &j->progress);
  stc_plan_series(j->plan, series_add, &j->series);
  stc_plan_probes(j->plan, series_add_row, &j->series);
  s = has_files(j) ? outputs_open(j) : STC_OK;
  return s ? s : view_begin(j);
}

/* Prints the results of the run, and makes the check, on the leading rank. */
static StcStatus report_run(Job *j, const StcRunInfo *info) {
  StcStatus s = report_series(j, info);
  if (!s && j->c->time)
    s = print_time(j, info);
  if (!s && j->c->check)
    s = check_run(j, info);
  return s;
}

/* Reads fields, makes steps, writes fields, checks, and prints the time line. *written: the number of steps written to
 * files. */
static StcStatus run_plan(Job *j, int64_t *written) {
  StcRunInfo info;
  int64_t steps;
  if (j->c->gradient) {
    StcStatus given = give_start(j, &steps);
    return given ? given : run_gradient(j, steps);
  }
  StcStatus s = job_agree(j, start_run(j, &steps));
  if (!s)
    s = stc_plan_run(j->plan, steps, &info);
  progress_end(&j->progress);
  if (!s && !j->c->quiet && !j->c->time && job_leads(j))
    print_summary(j, &info);
  if (has_files(j))
    s = outputs_close(j, s, written);
  s = job_agree(j, s);
  if (s)
    return s;
  bool serves = j->c->check && split_is_lean(j->plan);
  if (job_leads(j))
    s = report_run(j, &info);
  if (serves)
    job_leads(j) ? gather_end(j->plan) : gather_serve(j->plan);
  return s ? s : view_go_on(j);
}

/* Checks that an explicit -march is a processor that the device runs. */
static StcStatus check_march(const Command *c, const char *device) {
  const char *march = c->options.march;
  size_t n = strcspn(device, ":");
  for (int i = 0; march && device_table[i]; i++) {
    const DeviceKind *k = device_table[i];
    if (strlen(k->name) == n && memcmp(k->name, device, n) == 0 && k->arch && strcmp(k->arch, march) != 0)
      return context_error(
                 c->context,
                 "-march=%s does not run on device %s, which runs %s: leave -march out, or simulate with --device=sim",
                 march, device, k->arch),
             STC_USAGE;
  }
  return STC_OK;
}

/* -v: prints the device and the schedule. */
static void remark_plan(const Job *j) {
  context_remark(j->c->context, "device: %s", stc_plan_device(j->plan));
  context_remark(j->c->context, "schedule: %s; made in %.3g s", stc_plan_schedule(j->plan),
                 stc_plan_compile_seconds(j->plan));
  if (j->net && j->plan->split->why)
    context_remark(j->c->context, "ghost cells not by NCCL: %s", j->plan->split->why);
  if (j->plan->split && j->plan->split->turns)
    context_remark(j->c->context, "memory: %s; %s",
                   j->plan->memory.disk ? arena_printf(j->c->arena, "a file in %s", j->plan->memory.disk->folder)
                                        : "this computer's",
                   turns_describe(j->plan, j->c->arena));
  int links = 0, direct = j->net ? mpi_direct(j->plan, &links) : 0;
  if (direct)
    context_remark(j->c->context, "ghost cells: %d of %d ways to and from other ranks are from GPU to GPU", direct,
                   links);
  if (j->net && j->net->size > 1)
    context_remark(j->c->context, "memory: each rank has its parts%s",
                   j->plan->split->lean ? "" : ", and rank 0 the whole grid");
  else if (j->net)
    context_remark(j->c->context, "memory: each part its own%s",
                   j->plan->split->lean ? "" : ", and the first device the whole grid");
}

/* The smallest number of steps between two stops of the run for files or a checkpoint; 0: there are none. */
static int64_t steps_between_stops(const Command *c) {
  int64_t every = c->every, saved = c->checkpoint ? c->checkpoint_every : 0;
  return !every || (saved && saved < every) ? saved : every;
}

/* Makes the program, and checks all that can be checked without a plan. */
static StcStatus prepare_job(Job *j, const char *device) {
  const Command *c = j->c;
  StcStatus s = check_march(c, device);
  if (!s)
    s = stc_compile_file(c->context, c->file, &c->options, &j->program);
  if (s)
    return s;
  s = tune_use(c, device, &j->program, &j->tuned);
  if (!s)
    tune_remark(c, j->tuned);
  j->series.program = j->program;
  if (!s)
    program_suit_stops(j->program, steps_between_stops(c));
  if (!s)
    s = split_options(j);
  if (!s)
    s = check_names(j);
  if (!s)
    s = outputs_check(j);
  return s ? s : ready_check(j);
}

/* Makes the plan. */
static StcStatus make_plan(Job *j, const char *device) {
  const Command *c = j->c;
  int64_t memory = 0;
  StcStatus s = c->gradient ? STC_OK : command_memory(c, &memory);
  memory = memory || c->gradient ? memory : -1;
  kept_open(j);
  if (!s)
    s = foresee_fields(j, device);
  if (!s)
    s = plan_new_split(j->program, j->net, device, c->split, j->net ? LEAN_MAY : LEAN_NEVER, memory, 0, NULL, &j->plan);
  if (s && j->tuned)
    context_error(c->context, "the schedule is from %s; --no-tune-db does without it", j->tuned);
  if (!s)
    remark_plan(j);
  if (!s && c->time_kernels && j->plan->split)
    s = (context_error(c->context,
                       "--time=kernels cannot look into the parts of a grid yet: leave =kernels or --split out"),
         STC_USAGE);
  else if (!s && c->time_kernels)
    stc_plan_time_kernels(j->plan);
  return s;
}

/* Prints the last message of a run that was stopped before it had begun. */
static void say_stopped(void *user) {
  Job *j = user;
  claims_drop(&j->claims);
  context_error(j->c->context, "stopped; no file was written");
}

/* Lets Ctrl-C end the process at once until the run begins, while compilers run and fields are filled, unless other
 * processes wait for this one. */
static void allow_end(Job *j) {
  const Ending soon = {.grace = 0.1, .last = say_stopped, .user = j};
  ending_allow(j->net && j->net->size > 1 ? NULL : &soon);
}

/* Makes the run, from joining the other ranks to leaving them. *leads: is this the rank that prints? */
static StcStatus run_job(Job *j, int64_t *written, bool *leads) {
  const char *device = j->c->device ? j->c->device : "host";
  StcStatus s = ranks_join(j);
  *leads = job_leads(j);
  if (j->net && j->net->size > 1)
    j->c->context->run_stop = NULL;
  j->progress.bar &= *leads;
  if (s && !j->net)
    return s;
  allow_end(j);
  if (!s)
    s = job_agree(j, prepare_job(j, device));
  if (!s)
    s = ranks_same_program(j);
  if (!s)
    s = make_plan(j, device);
  if (s)
    ending_allow(NULL);
  else
    s = run_plan(j, written);
  view_end(j);
  series_free(&j->series);
  kept_close(j);
  frames_close_all(j);
  claims_drop(&j->claims);
  if (j->plan)
    stc_plan_free(j->plan);
  stc_program_free(j->program);
  return ranks_leave(j, s);
}

StcStatus command_run(const Command *c, Stop *stop) {
  Job j = {.c = c,
           .progress = {stop, !c->quiet && isatty(STDERR_FILENO), 0, 0, false},
           .series = {.context = c->context}};
  int64_t written = 0;
  bool leads = true;
  c->context->quiet = c->quiet;
  stop->grace = c->checkpoint ? STOP_WHOLE_STEPS : 0;
  c->context->stop = c->context->run_stop = stop;
  Ticker ticker;
  ticker_start(&ticker, c->context, j.progress.bar);
  StcStatus s = run_job(&j, &written, &leads);
  ticker_end(&ticker);
  if (s == STC_INTERRUPTED && leads && written)
    context_error(c->context, "stopped; the files have what was written until then");
  else if (s == STC_INTERRUPTED && leads)
    context_error(c->context, "stopped; no file was written");
  return s;
}
