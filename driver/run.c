/* driver/run.c: `stc run`: fields in, steps, fields out, the check and the time line. */
#include "driver/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The state of the progress callback. */
typedef struct Progress { const volatile sig_atomic_t *stop; bool bar; double start, drawn; bool any; } Progress;

/* One run on one device. */
typedef struct Job { const Command *c; StcProgram *program; StcPlan *plan; Progress progress; } Job;

/* ---------------------------------------------------------------- progress */

/* Draws the bar when a tenth of a second has passed, or at the end; false when the user wants to stop. */
static bool on_progress(void *user, int64_t done, int64_t of) {
  Progress *p = user;
  double now = clock_seconds();
  bool due = p->bar && (now - p->drawn > 0.1 || done == of) && (p->any || now - p->start > 0.3);
  if (due) {
    int filled = of > 0 ? (int)(40.0 * (double)done / (double)of) : 40;
    double left = done > 0 ? (now - p->start) * (double)(of - done) / (double)done : 0;
    fprintf(stderr, "\r[%.*s%.*s] %" PRId64 "/%" PRId64 " steps, %.0f s left ", filled, "########################################",
            40 - filled, "                                        ", done, of, left);
    fflush(stderr);
    p->drawn = now;
    p->any = true;
  }
  return !*p->stop;
}

/* Wipes the bar. */
static void end_progress(Progress *p) {
  if (p->any) fprintf(stderr, "\r%*s\r", 79, "");
  p->any = false;
}

/* ---------------------------------------------------------------- fields in */

/* Are the characters after "random:" a seed? */
static bool parse_seed(const char *text, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 10);
  return end != text && !*end && !errno && *text != '-';
}

/* Does the value of --in look like a number? */
static bool looks_like_value(const char *v) {
  static const char *const words[] = {"zero", "true", "false", "inf", "-inf", "nan", NULL};
  for (int i = 0; words[i]; i++)
    if (strcmp(v, words[i]) == 0) return true;
  char *end;
  strtod(v, &end);
  return end != v && !*end;
}

/* Fills `data` as the value of --in says. */
static StcStatus fill(const Command *c, const StcFieldInfo *f, const char *value, void *data) {
  uint64_t seed;
  if (strncmp(value, "random:", 7) == 0) {
    if (!parse_seed(value + 7, &seed))
      return context_error(c->context, "--in %s=%s: write random:SEED with a number, such as random:1", f->name, value), STC_USAGE;
    random_fill(f, seed, data);
    return STC_OK;
  }
  if (!looks_like_value(value)) return npy_read(c->context, value, f, data);
  if (value_fill(f, value, data)) return STC_OK;
  return context_error(c->context, "--in %s=%s: that is no value of type %s", f->name, value, type_name((Type)f->type)), STC_USAGE;
}

/* The number of the field that an option names; -1 after an error. */
static int find_field(const Job *j, const char *option, const char *name) {
  int f = stc_program_find_field(j->program, name), n = stc_program_field_count(j->program);
  if (f >= 0) return f;
  const char *names[n + 1];
  for (int i = 0; i <= n; i++) names[i] = stc_program_field_name(j->program, i);
  const char *near = near_match(name, names);
  context_error(j->c->context, "%s %s: the program has no field `%s`%s%s%s", option, name, name, near ? "; is `" : "", near ? near : "",
                near ? "` meant?" : "");
  return -1;
}

/* A field's info and memory for its elements (malloc). */
static StcStatus field_memory(const Job *j, StcPlan *plan, int field, StcFieldInfo *f, void **data) {
  *data = NULL;
  StcStatus s = stc_plan_field(plan, field, f);
  if (s) return s;
  *data = malloc((size_t)f->bytes + 1);
  return *data ? STC_OK
               : (context_error(j->c->context, "no memory on this computer for field %s of %" PRId64 " bytes", f->name, f->bytes),
                  STC_MEMORY);
}

/* Carries out one --in on `plan`. */
static StcStatus give_field(const Job *j, StcPlan *plan, const FieldOption *o) {
  StcFieldInfo f;
  void *data;
  int field = find_field(j, "--in", o->field);
  if (field < 0) return STC_USAGE;
  StcStatus s = field_memory(j, plan, field, &f, &data);
  if (!s && f.temp)
    s = (context_error(j->c->context, "--in %s: field %s is temp, it holds nothing before the first step", o->field, f.name), STC_USAGE);
  if (!s) s = fill(j->c, &f, o->value, data);
  if (!s) s = stc_plan_set(plan, field, data, (size_t)f.bytes);
  free(data);
  return s;
}

/* Carries out all --in. */
static StcStatus give_fields(const Job *j, StcPlan *plan) {
  StcStatus s = STC_OK;
  for (int i = 0; i < j->c->nin && !s; i++) s = give_field(j, plan, &j->c->in[i]);
  return s;
}

/* ---------------------------------------------------------------- fields out */

/* How a field is written to a file. */
typedef StcStatus (*WriteFn)(StcContext *c, const char *path, const StcFieldInfo *f, const void *data);

/* Writes the fields of one option by `write`, unless the user has stopped. */
static StcStatus write_fields(const Job *j, const char *option, const FieldOption *o, int n, WriteFn write) {
  StcStatus s = STC_OK;
  for (int i = 0; i < n && !s; i++) {
    StcFieldInfo f;
    void *data;
    int field = find_field(j, option, o[i].field);
    if (field < 0) return STC_USAGE;
    s = field_memory(j, j->plan, field, &f, &data);
    if (!s) s = stc_plan_get(j->plan, field, data, (size_t)f.bytes);
    if (!s && *j->progress.stop) s = STC_INTERRUPTED;
    if (!s) s = write(j->c->context, o[i].value, &f, data);
    free(data);
  }
  return s;
}

/* Reports the first field named twice among the `n` options. */
static bool named_once(const Job *j, const char *option, const FieldOption *o, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(o[i].field, o[k].field) == 0)
        return context_error(j->c->context, "%s %s is given twice, as %s and as %s", option, o[i].field, o[k].value, o[i].value), false;
  return true;
}

/* Output number i of the command: those of --out, then those of --png. */
static const FieldOption *output(const Command *c, int i) { return i < c->nout ? &c->outs[i] : &c->pngs[i - c->nout]; }

/* Checks that the outputs go to different files, that these can be written, and that there is something to write. */
static StcStatus check_outputs(const Job *j) {
  const Command *c = j->c;
  for (int i = 0; i < c->nout + c->npng; i++) {
    const FieldOption *o = output(c, i);
    const char *option = i < c->nout ? "--out" : "--png";
    int field = find_field(j, option, o->field);
    if (field < 0) return STC_USAGE;
    if (j->program->module->fields[field].temp)
      return context_error(c->context, "%s %s: field %s is temp, it holds nothing after the last step", option, o->field, o->field), STC_USAGE;
    for (int k = 0; k < i; k++)
      if (strcmp(output(c, k)->value, o->value) == 0 && strcmp(o->value, "-") != 0)
        return context_error(c->context, "%s is written twice, for fields %s and %s: give each a file of its own", o->value,
                             output(c, k)->field, o->field),
               STC_USAGE;
    if (!file_probe(c->context, o->value)) return STC_IO;
  }
  return STC_OK;
}

/* Checks before the run what can be known then of the fields to be read and written. */
static StcStatus check_names(const Job *j) {
  const Command *c = j->c;
  for (int i = 0; i < c->nin; i++)
    if (find_field(j, "--in", c->in[i].field) < 0) return STC_USAGE;
  return named_once(j, "--in", c->in, c->nin) ? check_outputs(j) : STC_USAGE;
}

/* ---------------------------------------------------------------- the check */

/* "[3, 4]": grid position of element `at`, counted from the field's first point. */
static void print_place(FILE *to, const StcFieldInfo *f, int64_t at) {
  int64_t place[3];
  for (int d = f->rank - 1; d >= 0; d--) {
    place[d] = at % f->shape[d];
    at /= f->shape[d];
  }
  for (int d = 0; d < f->rank; d++) fprintf(to, d ? ", %" PRId64 : "[%" PRId64, place[d]);
  fputs("]", to);
}

/* Compares one field on the two plans and prints a line. */
static StcStatus compare_field(const Job *j, StcPlan *reference, int field) {
  StcFieldInfo f;
  void *got, *want = NULL;
  StcStatus s = field_memory(j, j->plan, field, &f, &got);
  if (!s) s = field_memory(j, reference, field, &f, &want);
  if (!s) s = stc_plan_get(j->plan, field, got, (size_t)f.bytes);
  if (!s) s = stc_plan_get(reference, field, want, (size_t)f.bytes);
  if (!s) {
    double tolerance = j->c->tolerance ? strtod(j->c->tolerance, NULL) : default_tolerance(f.type, stc_program_is_exact(j->program));
    FieldError e = field_compare(&f, got, want);
    bool good = e.error <= tolerance;
    printf("check: %s: largest error %g", f.name, e.error);
    if (e.at >= 0) {
      printf(" at element ");
      print_place(stdout, &f, e.at);
      printf(": %.17g, reference %.17g", e.got, e.want);
    }
    printf(" (tolerance %g): %s\n", tolerance, good ? "ok" : "FAILED");
    s = good ? STC_OK : STC_CHECK_FAILED;
  }
  free(got);
  free(want);
  return s;
}

/* Runs the reference with the same fields and steps, and compares every field that steps can change. All are printed, also after a failed
 * one. */
static StcStatus check(const Job *j, int64_t steps) {
  StcPlan *reference;
  Progress progress = j->progress;
  StcStatus s = stc_plan_new(j->program, "ref", 0, NULL, &reference), worst = STC_OK;
  if (s) return s;
  progress.start = progress.drawn = clock_seconds();
  stc_plan_progress(reference, on_progress, &progress);
  s = give_fields(j, reference);
  if (!s) s = stc_plan_run(reference, steps, NULL);
  end_progress(&progress);
  for (int f = 0; f < stc_program_field_count(j->program) && !s; f++) {
    StcFieldInfo info;
    s = stc_plan_field(reference, f, &info);
    if (!s && !info.temp && !info.input) s = compare_field(j, reference, f);
    if (s == STC_CHECK_FAILED) worst = s, s = STC_OK;
  }
  stc_plan_free(reference);
  return s ? s : worst;
}

/* ---------------------------------------------------------------- the run */

/* `s` as a JSON string. */
static void print_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') putchar('\\');
    if ((unsigned char)*s < ' ') printf("\\u%04x", (unsigned char)*s);
    else putchar(*s);
  }
  putchar('"');
}

/* --time: one line of JSON. */
static void print_time(const Job *j, const StcRunInfo *info) {
  printf("{\"program\": ");
  print_string(stc_program_name(j->program));
  printf(", \"device\": ");
  print_string(stc_plan_device(j->plan));
  printf(", \"schedule\": ");
  print_string(stc_plan_schedule(j->plan));
  printf(", \"points\": %" PRId64 ", \"steps\": %" PRId64 ", \"launches\": %" PRId64
         ", \"seconds\": %.9g, \"gpts\": %.6g, \"compile_seconds\": %.6g}\n",
         info->points, info->steps, info->launches, info->seconds, info->gpts, stc_plan_compile_seconds(j->plan));
}

/* What a run tells a person. */
static void print_summary(const Job *j, const StcRunInfo *info) {
  fprintf(stderr, "%s: %" PRId64 " points x %" PRId64 " steps in %.3g s on %s (%s): %.3g GPts/s\n", stc_program_name(j->program),
          info->points, info->steps, info->seconds, stc_plan_device(j->plan), stc_plan_schedule(j->plan), info->gpts);
}

/* Fields in, steps, fields out, check and time line. */
static StcStatus run_plan(Job *j) {
  StcRunInfo info;
  StcStatus s = give_fields(j, j->plan);
  if (s) return s;
  j->progress.start = j->progress.drawn = clock_seconds();
  stc_plan_progress(j->plan, on_progress, &j->progress);
  s = stc_plan_run(j->plan, j->c->steps, &info);
  end_progress(&j->progress);
  if (!s && !j->c->quiet && !j->c->time) print_summary(j, &info);
  if (!s) s = write_fields(j, "--out", j->c->outs, j->c->nout, npy_write);
  if (!s) s = write_fields(j, "--png", j->c->pngs, j->c->npng, png_write);
  if (!s && j->c->time) print_time(j, &info);
  if (!s && j->c->check) s = check(j, info.steps);
  return s;
}

/* An explicit -march must be what the device runs. */
static StcStatus check_march(const Command *c, const char *device) {
  const char *march = c->options.march;
  size_t n = strcspn(device, ":");
  for (int i = 0; march && device_table[i]; i++) {
    const DeviceKind *k = device_table[i];
    if (strlen(k->name) == n && memcmp(k->name, device, n) == 0 && k->arch && strcmp(k->arch, march) != 0)
      return context_error(c->context,
                           "-march=%s does not run on device %s, which runs %s: leave -march out, or simulate with --device=sim", march,
                           device, k->arch),
             STC_USAGE;
  }
  return STC_OK;
}

StcStatus command_run(const Command *c, const volatile sig_atomic_t *stop) {
  Job j = {c, NULL, NULL, {stop, !c->quiet && isatty(STDERR_FILENO), 0, 0, false}};
  const char *device = c->device ? c->device : "host";
  StcStatus s = check_march(c, device);
  if (!s) s = stc_compile_file(c->context, c->file, &c->options, &j.program);
  if (s) return s;
  s = check_names(&j);
  if (!s) s = stc_plan_new(j.program, device, 0, NULL, &j.plan);
  if (!s) s = run_plan(&j);
  if (j.plan) stc_plan_free(j.plan);
  stc_program_free(j.program);
  if (s == STC_INTERRUPTED) context_error(c->context, "stopped; no file was written");
  return s;
}
