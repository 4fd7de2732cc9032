/* driver/cli/run/run-check.c: `stc run --check`: makes the same run on the reference, and compares the results. */
#include "driver/cli/run/job.h"
#include "driver/data/series.h"
#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <math.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Prints the grid position of element `at`, counted from the field's first point: "[3, 4]". */
static void print_place(FILE *to, const StcFieldInfo *f, int64_t at) {
  int64_t place[MAX_RANK];
  for (int d = f->rank - 1; d >= 0; d--) {
    place[d] = at % f->shape[d];
    at /= f->shape[d];
  }
  for (int d = 0; d < f->rank; d++)
    fprintf(to, d ? ", %" PRId64 : "[%" PRId64, place[d]);
  fputs("]", to);
}

/* The state of a check: the run; the reference; and the reference from values whose last bits were changed, which is
 * made when it is first needed (NULL: not yet made or failed; `tried` distinguishes these). told: a tolerance was
 * exceeded, perhaps because products and sums were fused. */
typedef struct CheckRun {
  const Job *j;
  StcPlan *reference, *shaken;
  bool tried, told;
} CheckRun;

/* The result of comparing a field: the component whose error is largest relative to its tolerance; the number of values
 * of all components that are NaN in the reference, and the first of them, an element of `nan_in`. */
typedef struct Verdict {
  bool good;
  double tolerance;
  FieldError error;
  StcFieldInfo worst, nan_in;
  int64_t nans, values, first_nan;
} Verdict;

/* The tolerance for a field of type `t`. */
static double tolerance(const Job *j, StcType t) {
  return j->c->tolerance ? strtod(j->c->tolerance, NULL) : default_tolerance(t, stc_program_is_exact(j->program));
}

/* Changes the last bit of every finite nonzero number of a component. */
static StcStatus shake_component(StcPlan *p, int field, int component) {
  StcFieldInfo f;
  StcStatus s = stc_plan_component(p, field, component, &f);
  if (s || f.temp || f.frames || !type_is_float((Type)f.type))
    return s;
  int64_t size = type_size((Type)f.type);
  char *data = malloc((size_t)f.bytes + 1);
  if (!data)
    return STC_MEMORY;
  s = stc_plan_get_component(p, field, component, data, (size_t)f.bytes);
  for (int64_t i = 0; i < f.bytes / size && !s; i++) {
    double v = field_value(&f, data, i);
    if (isfinite(v) && v * v > 0)
      data[i * size] ^= 1;
  }
  if (!s)
    s = stc_plan_set_component(p, field, component, data, (size_t)f.bytes);
  free(data);
  return s;
}

/* Makes a plan on the reference with the job's initial values, or its checkpoint; *steps: the number of steps to be
 * made. Notes about files are not printed again. */
static StcStatus make_reference(const Job *j, Series *series, StcPlan **out, int64_t *steps) {
  bool quiet = j->c->context->quiet;
  StcStatus s = stc_plan_new(j->program, "ref", 0, NULL, out);
  if (!s)
    plan_warned(*out);
  j->c->context->quiet = true;
  if (!s)
    s = start_plan(j, *out, series, steps);
  j->c->context->quiet = quiet;
  if (!s && j->c->first_step > 0)
    s = stc_plan_first_step(*out, j->c->first_step);
  return s;
}

/* Runs the reference from values with changed last bits, for c->shaken. */
static void make_shaken(CheckRun *c, int64_t steps) {
  StcPlan *p = NULL;
  Series series = {.context = c->j->c->context, .program = c->j->program};
  int64_t all;
  Progress progress = c->j->progress;
  c->tried = true;
  StcStatus s = make_reference(c->j, &series, &p, &all);
  series_free(&series);
  if (!s)
    s = stc_plan_run(p, 0, NULL);
  for (int f = 0; f < c->j->program->ndeclared && !s; f++)
    for (int k = 0; k < c->j->program->declared[f].ncomponents && !s; k++)
      s = shake_component(p, f, k);
  progress.start = progress.drawn = clock_seconds();
  if (!s) {
    stc_plan_progress(p, progress_step, &progress);
    s = stc_plan_run(p, steps, NULL);
    progress_end(&progress);
  }
  if (s)
    stc_plan_free(p);
  else
    c->shaken = p;
}

/* The change of the reference's component if the last bits of all values are changed before the first step, relative to
 * its largest magnitude. 0 if it is not known. */
static double sensitivity(CheckRun *c, int field, int component, int64_t steps) {
  StcFieldInfo f;
  double error = 0;
  if (!c->tried)
    make_shaken(c, steps);
  if (!c->shaken || stc_plan_component(c->shaken, field, component, &f))
    return 0;
  void *got = malloc((size_t)f.bytes + 1), *want = malloc((size_t)f.bytes + 1);
  if (got && want && !stc_plan_get_component(c->shaken, field, component, got, (size_t)f.bytes) &&
      !stc_plan_get_component(c->reference, field, component, want, (size_t)f.bytes))
    error = field_compare(&f, got, want).error;
  free(got);
  free(want);
  return isfinite(error) ? error : 0;
}

/* The tolerance for a component of type `t` that missed `limit`, the tolerance of its type: 32 times the program's
 * sensitivity to errors in last bits (each step makes some), if that is more, but at most 5 %. It stays `limit` if the
 * user or -fno-contract determines the accuracy. */
static double own_tolerance(CheckRun *c, int field, int component, StcType t, double limit, int64_t steps) {
  if (c->j->c->tolerance || !type_is_float((Type)t) || stc_program_is_exact(c->j->program))
    return limit;
  double own = 32 * sensitivity(c, field, component, steps);
  c->told = true;
  own = own < 0.05 ? own : 0.05;
  return own > limit ? own : limit;
}

/* Adds the number of values of component `f` of the reference that are NaN to *v. */
static void note_nan(Verdict *v, const StcFieldInfo *f, const void *want) {
  int64_t first = 0, n = count_nan(f, want, &first);
  if (n && !v->nans) {
    v->nan_in = *f;
    v->first_nan = first;
  }
  v->nans += n;
  v->values += field_points(f);
}

/* Compares one component on the two plans, and records it in *v if it is worse than the one there. */
static StcStatus compare_component(CheckRun *c, int field, int component, int64_t steps, Verdict *v) {
  const Job *j = c->j;
  StcPlan *reference = c->reference;
  StcFieldInfo f;
  StcStatus s = stc_plan_component(j->plan, field, component, &f);
  if (s)
    return s;
  void *got = malloc((size_t)f.bytes + 1), *want = malloc((size_t)f.bytes + 1);
  if (!got || !want)
    s = computer_no_room(j->c->context, "copies of field", f.name, 2 * (double)f.bytes);
  if (!s && split_is_lean(j->plan))
    s = gather_ask(j->plan, field, component, &f, got);
  else if (!s)
    s = stc_plan_get_component(j->plan, field, component, got, (size_t)f.bytes);
  if (!s)
    s = stc_plan_get_component(reference, field, component, want, (size_t)f.bytes);
  if (!s) {
    double limit = tolerance(j, f.type);
    FieldError e = field_compare(&f, got, want);
    if (e.error > limit)
      limit = own_tolerance(c, field, component, f.type, limit, steps);
    bool good = e.error <= limit;
    if (component == 0 || (v->good && !good) || (v->good == good && e.error > v->error.error)) {
      v->good = good;
      v->tolerance = limit;
      v->error = e;
      v->worst = f;
    }
    note_nan(v, &f, want);
  }
  free(got);
  free(want);
  return s;
}

/* Prints the end of a line: the number of `values` values that are NaN in the reference and, if all is `good`, also in
 * the run. */
static void print_verdict(double limit, bool good, int64_t nans, int64_t values) {
  if (good && nans)
    printf(", %" PRId64 " of %" PRId64 " values are NaN in both", nans, values);
  printf(" (tolerance %g): %s\n", limit, good ? "ok" : "FAILED");
}

/* Warns that a field agrees but is useless because of NaN. */
static void warn_of_nan(StcContext *c, const Verdict *v, int64_t steps) {
  char at[96];
  fflush(stdout); /* so that the message follows its line */
  context_warning(
      c,
      "field %s is NaN at %s after %lld steps, by the reference, too: the kernels do what the program says, "
      "which makes no numbers; -fcheck=finite stops at the first such value",
      v->nan_in.name, point_text(&v->nan_in, v->first_nan, at, sizeof at), (long long)steps);
}

/* Compares one field on the two plans and prints a line. */
static StcStatus compare_field(CheckRun *check, int field, int64_t steps) {
  const Declared *d = &check->j->program->declared[field];
  Verdict v = {.good = true};
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++)
    s = compare_component(check, field, c, steps, &v);
  if (s)
    return s;
  printf("check: %s: largest error %g", d->name, v.error.error);
  if (v.error.at >= 0) {
    printf(" at element ");
    print_place(stdout, &v.worst, v.error.at);
    if (declared_has_parts(d))
      printf(" of %s", v.worst.name);
    printf(": %.17g, reference %.17g", v.error.got, v.error.want);
  }
  print_verdict(v.tolerance, v.good, v.nans, v.values);
  if (v.good && v.nans)
    warn_of_nan(check->j->c->context, &v, steps);
  return v.good ? STC_OK : STC_CHECK_FAILED;
}

/* Compares `n` values with the `count` values of the reference, in the way of a field, and prints a line. */
static StcStatus compare_values(const char *name, double limit, const double *got, int64_t n, const double *want,
                                int64_t count) {
  StcFieldInfo f = {.name = name, .type = STC_F64, .rank = 1, .shape = {n}, .bytes = n * 8};
  FieldError e = {0};
  if (n == count)
    e = field_compare(&f, got, want);
  bool good = n == count && e.error <= limit;
  int64_t first, nans = n == count ? count_nan(&f, want, &first) : 0;
  printf("check: %s: largest error %g of %" PRId64 " values", name, e.error, n);
  if (n != count)
    printf(", but the reference has %" PRId64, count);
  else if (e.at >= 0)
    printf(" in value %" PRId64 ": %.17g, reference %.17g", e.at, e.got, e.want);
  print_verdict(limit, good, nans, n);
  return good ? STC_OK : STC_CHECK_FAILED;
}

/* Compares the values of the reduction called `name`, in the way of a field, and prints a line. */
static StcStatus compare_series(const Job *j, const Series *reference, const char *name) {
  int64_t n = 0, count = j->series.n < reference->n ? j->series.n : reference->n;
  double *got = malloc((size_t)(2 * count + 1) * sizeof *got), *want = got ? got + count : NULL;
  if (!got)
    return context_error(j->c->context, "no memory on this computer for %" PRId64 " values of %s", count, name),
           STC_MEMORY;
  for (int64_t i = 0; i < count; i++) {
    const StcReduction *g = &j->series.values[i], *w = &reference->values[i];
    if (strcmp(g->name, name) != 0)
      continue;
    got[n] = g->type == STC_F64 ? g->f : (double)g->i;
    want[n++] = w->type == STC_F64 ? w->f : (double)w->i;
  }
  StcStatus s = compare_values(name, tolerance(j, STC_F32), got, n, want, n);
  free(got);
  return s;
}

/* Copies all values of probe `probe` to `out` (NULL: only counts them); returns their number. */
static int64_t gather(const Series *s, const char *probe, double *out) {
  int64_t n = 0;
  for (int64_t k = 0; k < s->nrows; k++)
    for (int64_t i = 0; i < s->rows[k].n && strcmp(s->rows[k].name, probe) == 0; i++, n++)
      if (out)
        out[n] = row_value(&s->rows[k], i);
  return n;
}

/* Compares the values of probe `p`, in the way of a field, and prints a line. */
static StcStatus compare_probe(const Job *j, const Series *reference, const Probe *p) {
  int64_t n = gather(&j->series, p->name, NULL), count = gather(reference, p->name, NULL);
  double *got = malloc((size_t)(n + count + 1) * sizeof *got), *want = got ? got + n : NULL;
  if (!got)
    return context_error(j->c->context, "no memory on this computer for %" PRId64 " values of %s", n, p->name),
           STC_MEMORY;
  gather(&j->series, p->name, got);
  gather(reference, p->name, want);
  StcStatus s = compare_values(p->name, tolerance(j, (StcType)p->type), got, n, want, count);
  free(got);
  return s;
}

/* Compares the numbers of steps, the reductions and the probes. */
static StcStatus compare_runs(const Job *j, const StcRunInfo *made, const StcRunInfo *reference, const Series *series) {
  const Module *m = j->program->module;
  StcStatus worst = STC_OK;
  if (made->steps != reference->steps) {
    printf("check: %" PRId64 " steps were made, but %" PRId64 " by the reference, where %s: FAILED\n", made->steps,
           reference->steps,
           reference->until ? "the condition of an `until` was met then" : "no `until` ended the run");
    return STC_CHECK_FAILED;
  }
  for (int r = 0; r < m->nreductions; r++) {
    StcStatus s = compare_series(j, series, m->reductions[r].name);
    if (s && s != STC_CHECK_FAILED)
      return s;
    worst = s ? s : worst;
  }
  for (int i = 0; i < m->nprobes; i++) {
    StcStatus s = compare_probe(j, series, &m->probes[i]);
    if (s && s != STC_CHECK_FAILED)
      return s;
    worst = s ? s : worst;
  }
  return worst;
}

/* Compares everything after both runs. */
static StcStatus compare_all(CheckRun *c, int64_t steps) {
  StcStatus worst = STC_OK;
  for (int f = 0; f < stc_program_field_count(c->j->program); f++) {
    StcFieldInfo info;
    StcStatus s = stc_plan_field(c->reference, f, &info);
    if (!s && !info.temp && !info.input)
      s = compare_field(c, f, steps);
    if (s && s != STC_CHECK_FAILED)
      return s;
    worst = s ? s : worst;
  }
  return worst;
}

StcStatus check_run(const Job *j, const StcRunInfo *made) {
  StcRunInfo info;
  Progress progress = j->progress;
  Series series = {.context = j->c->context, .program = j->program};
  CheckRun check = {.j = j};
  int64_t steps = 0;
  StcStatus s = make_reference(j, &series, &check.reference, &steps);
  progress.start = progress.drawn = clock_seconds();
  if (!s) {
    stc_plan_progress(check.reference, progress_step, &progress);
    stc_plan_series(check.reference, series_add, &series);
    stc_plan_probes(check.reference, series_add_row, &series);
    s = stc_plan_run(check.reference, steps, &info);
    progress_end(&progress);
  }
  StcStatus runs = s ? s : compare_runs(j, made, &info, &series);
  if (!s && made->steps == info.steps)
    s = compare_all(&check, made->steps);
  if (s == STC_CHECK_FAILED && check.told)
    printf("check: sums of products may be fused, and round once: -fno-contract compares bit for bit\n");
  stc_plan_free(check.shaken);
  stc_plan_free(check.reference);
  series_free(&series);
  return s ? s : runs;
}
