/* driver/bench/bench-report.c: writes the results of `stc bench` as a table (Markdown) and as a JSON file. */
#include "driver/bench/bench.h"
#include "driver/files/files.h"
#include "driver/files/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes "44 %", or "-" if the fraction is not known. */
static const char *percent(char *to, size_t size, double fraction) {
  snprintf(to, size, fraction > 0 ? "%.0f %%" : "-", 100 * fraction);
  return to;
}

/* Prints the table's head: device, date, and the speed of copying. */
static void print_head(FILE *to, const BenchReport *report) {
  fprintf(to, "%s on %s, %s", stc_version(), report->device, report->date);
  if (report->copy_rate > 0)
    fprintf(to, "; copying within its memory: %.*f GB/s read and written", report->copy_rate < 100, report->copy_rate);
  fprintf(to, "\n\n");
  fprintf(to, "| program | type | size | family | GPts/s | expected | spread | of copy limit | of arithmetic | "
              "registers | local | shared | T | schedule |\n");
  fprintf(to, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

/* Writes a number from the driver, or "-" if it is not known. */
static const char *known(char *to, size_t size, bool is, long long n) {
  snprintf(to, size, is ? "%lld" : "-", n);
  return to;
}

void bench_print_row(FILE *to, BenchReport *report, const BenchRow *r) {
  char copy[16], arithmetic[16], registers[16], local[16], shared[24], expected[24] = "-";
  if (!report->begun)
    print_head(to, report);
  report->begun = true;
  if (r->why[0]) {
    fprintf(to, "| %s | %s | %s | %s | - | | | | | | | | | left out: %s |\n", r->program, r->type, r->size, r->family,
            r->why);
  } else {
    bool is = r->kernel.registers > 0;
    if (r->expected.gpts > 0)
      snprintf(expected, sizeof expected, "%.4g", r->expected.gpts);
    fprintf(to, "| %s | %s | %s | %s | %.4g | %s | %.1f %% | %s | %s | %s | %s | %s | %d | `%s`%s |\n", r->program,
            r->type, r->size, r->family, r->gpts, expected, 100 * r->spread, percent(copy, sizeof copy, r->of_copy),
            percent(arithmetic, sizeof arithmetic, r->of_arithmetic),
            known(registers, sizeof registers, is, r->kernel.registers),
            known(local, sizeof local, is, r->kernel.local),
            known(shared, sizeof shared, is, (long long)r->kernel.shared), r->T, r->schedule,
            r->finite ? "" : " (not all values stayed finite)");
  }
  fflush(to);
}

/* The row of stc's default schedule for the program, type and size of `tuned`, a row of a tuned schedule; NULL if that
 * was not measured. */
static const BenchRow *find_chosen(const BenchReport *report, const BenchRow *tuned) {
  for (int i = 0; i < report->nrows; i++) {
    const BenchRow *r = &report->rows[i];
    if (r->chosen && r->gpts > 0 && strcmp(r->program, tuned->program) == 0 && strcmp(r->type, tuned->type) == 0 &&
        strcmp(r->size, tuned->size) == 0)
      return r;
  }
  return NULL;
}

BenchSummary bench_summarize(const BenchReport *report) {
  BenchSummary s = {.mean = 1};
  double sum = 0;
  for (int i = 0; i < report->nrows; i++) {
    const BenchRow *r = &report->rows[i],
                   *chosen = strcmp(r->family, "tuned") == 0 && r->gpts > 0 ? find_chosen(report, r) : NULL;
    if (!chosen)
      continue;
    double ratio = chosen->gpts / r->gpts;
    sum += log(ratio);
    if (!s.n++ || ratio < s.least)
      s.least = ratio, s.worst = r;
  }
  if (s.n)
    s.mean = exp(sum / s.n);
  return s;
}

void bench_print_summary(FILE *to, const BenchReport *report) {
  BenchSummary s = bench_summarize(report);
  if (!s.n)
    return;
  fprintf(to,
          "\nWhat stc chooses by itself reaches %.0f %% of the tuned speed (geometric mean of %d), at least %.0f %% "
          "(%s %s %s).\n",
          100 * s.mean, s.n, 100 * s.least, s.worst->program, s.worst->type, s.worst->size);
  fflush(to);
}

/* A row as a JSON object. */
static json_t *row_json(const BenchRow *r) {
  json_t *o = OBJECT("program", json_string(r->program), "type", json_string(r->type), "size", json_string(r->size),
                     "family", json_string(r->family), "schedule", json_string(r->schedule));
  if (r->why[0])
    return set(o, "left_out", json_string(r->why)), o;
  json_t *samples = json_array();
  for (int i = 0; i < r->nsamples; i++)
    json_array_append_new(samples, json_real(r->samples[i]));
  SET(o, "T", json_integer(r->T), "gpts", json_real(r->gpts), "spread", json_real(r->spread), "samples", samples,
      "bytes_a_point", json_real(r->work.bytes), "f32_operations_a_point", json_real(r->work.f32_ops),
      "f64_operations_a_point", json_real(r->work.f64_ops));
  if (r->of_copy > 0)
    set(o, "of_copy_limit", json_real(r->of_copy));
  if (r->of_arithmetic > 0)
    set(o, "of_arithmetic_limit", json_real(r->of_arithmetic));
  if (r->expected.gpts > 0)
    SET(o, "expected_gpts", json_real(r->expected.gpts), "expected_registers", json_integer(r->expected.registers),
        "computed_points", json_real(r->expected.redundancy));
  if (r->kernel.registers)
    SET(o, "registers", json_integer(r->kernel.registers), "local_bytes", json_integer(r->kernel.local), "shared_bytes",
        json_integer(r->kernel.shared));
  SET(o, "largest_error", json_real(r->check_error), "finite", json_boolean(r->finite));
  if (r->chosen)
    set(o, "chosen", json_true());
  return o;
}

StcStatus bench_write_json(const Command *c, const BenchReport *report, const char *path) {
  json_t *o = json_object(), *rows = json_array();
  SET(o, "version", json_string(stc_version()), "device", json_string(report->device), "date",
      json_string(report->date), "copy_gb_per_s", json_real(report->copy_rate));
  BenchSummary summary = bench_summarize(report);
  if (summary.n)
    set(o, "default_of_tuned", json_real(summary.mean));
  for (int i = 0; i < report->nrows; i++)
    json_array_append_new(rows, row_json(&report->rows[i]));
  set(o, "rows", rows);
  char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
  json_decref(o);
  if (!text)
    return context_error(c->context, "no memory on this computer for %s", path), STC_MEMORY;
  bool ok = file_write(c->context, path, text, strlen(text));
  free(text);
  return ok ? STC_OK : STC_IO;
}
