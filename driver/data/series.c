/* driver/data/series.c: the values that `reduce` and `until` had while a program ran: kept, printed, saved. */
#include "driver/driver.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many values of one reduction are printed. */
enum { MOST_PRINTED = 10 };

void series_add(void *user, const StcReduction *r) {
  Series *s = user;
  if (s->n == s->capacity) {
    int64_t capacity = s->capacity ? 2 * s->capacity : 64;
    StcReduction *values = realloc(s->values, (size_t)capacity * sizeof *values);
    s->full |= !values;
    if (!values)
      return;
    s->values = values;
    s->capacity = capacity;
  }
  s->values[s->n++] = *r;
}

void series_free(Series *s) {
  free(s->values);
  *s = (Series){.context = s->context, .program = s->program};
}

/* Writes the value so that it reads back to the same bits, with no more digits than that takes. */
static void print_value(FILE *to, const StcReduction *r) {
  char text[40];
  if (r->type == STC_I64) {
    fprintf(to, "%" PRId64, r->i);
    return;
  }
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, r->f);
    if (strtod(text, NULL) == r->f)
      break;
  }
  fputs(isnan(r->f) ? "nan" : text, to);
}

/* The last value of the reduction called `name`, NULL if it has none. */
static const StcReduction *last_value(const Series *s, const char *name) {
  for (int64_t k = s->n - 1; k >= 0; k--)
    if (strcmp(s->values[k].name, name) == 0)
      return &s->values[k];
  return NULL;
}

/* Is `i` among the evenly spaced ones, the first and the last included, of `n` values that are printed? */
static bool is_printed(int64_t i, int64_t n) {
  for (int k = 0; k < MOST_PRINTED && n > MOST_PRINTED; k++)
    if (i == k * (n - 1) / (MOST_PRINTED - 1))
      return true;
  return n <= MOST_PRINTED;
}

/* Prints the line of the reduction called `name`: its values and the steps after which they were taken. */
static void print_line(FILE *to, const Series *s, const char *name) {
  int64_t n = 0, i = 0;
  const char *separator = " ";
  for (int64_t k = 0; k < s->n; k++)
    n += strcmp(s->values[k].name, name) == 0;
  fprintf(to, "%s:", name);
  for (int64_t k = 0; k < s->n; k++) {
    const StcReduction *r = &s->values[k];
    if (strcmp(r->name, name) != 0 || !is_printed(i++, n))
      continue;
    fputs(separator, to);
    print_value(to, r);
    fprintf(to, " (step %" PRId64 ")", r->step);
    separator = ", ";
  }
  fputc('\n', to);
}

void series_print(FILE *to, const Series *s, const char *until) {
  const Module *m = s->program->module;
  for (int r = 0; r < m->nreductions; r++)
    if (last_value(s, m->reductions[r].name))
      print_line(to, s, m->reductions[r].name);
  if (until)
    fprintf(to, "%s: met after %" PRId64 " steps\n", until, last_value(s, until)->step);
}

void series_print_json(FILE *to, const Series *s) {
  const Module *m = s->program->module;
  const char *separator = "";
  for (int r = 0; r < m->nreductions; r++) {
    const StcReduction *last = last_value(s, m->reductions[r].name);
    if (!last)
      continue;
    fprintf(to, "%s\"%s\": ", separator, last->name);
    if (last->type == STC_F64 && !isfinite(last->f))
      fputs("null", to);
    else
      print_value(to, last);
    separator = ", ";
  }
}

/* Writes the row of the values from `i` on that belong to one step; returns the first value behind them. */
static int64_t write_row(FILE *to, const Series *s, const Module *m, int64_t i) {
  int64_t step = s->values[i].step, end = i;
  while (end < s->n && s->values[end].step == step)
    end++;
  fprintf(to, "%" PRId64, step);
  for (int r = 0; r < m->nreductions; r++) {
    fputc(',', to);
    for (int64_t k = i; k < end; k++)
      if (strcmp(s->values[k].name, m->reductions[r].name) == 0)
        print_value(to, &s->values[k]);
  }
  fputc('\n', to);
  return end;
}

StcStatus series_write(const Series *s, const char *path) {
  OutFile out;
  const Module *m = s->program->module;
  if (!file_create(s->context, path, &out))
    return STC_IO;
  fputs("step", out.to);
  for (int r = 0; r < m->nreductions; r++)
    fprintf(out.to, ",%s", m->reductions[r].name);
  fputc('\n', out.to);
  for (int64_t i = 0; i < s->n;)
    i = write_row(out.to, s, m, i);
  return file_commit(s->context, &out) ? STC_OK : STC_IO;
}
