/* driver/data/series.c: keeps, prints and saves the values of `reduce` and `until` during a run, and the rows of
 * probes. */
#include "driver/data/series.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most values of one reduction that are printed. */
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

void series_add_row(void *user, const StcProbe *row) {
  Series *s = user;
  size_t bytes = (size_t)row->n * (size_t)type_size((Type)row->type);
  void *values = malloc(bytes + 1);
  if (values && s->nrows == s->row_capacity) {
    int64_t capacity = s->row_capacity ? 2 * s->row_capacity : 64;
    StcProbe *rows = realloc(s->rows, (size_t)capacity * sizeof *rows);
    s->rows = rows ? rows : s->rows;
    s->row_capacity = rows ? capacity : s->row_capacity;
  }
  if (!values || s->nrows == s->row_capacity) {
    s->full = true;
    free(values);
    return;
  }
  s->rows[s->nrows] = *row;
  s->rows[s->nrows++].values = memcpy(values, row->values, bytes);
}

void series_free(Series *s) {
  for (int64_t i = 0; i < s->nrows; i++)
    free((void *)s->rows[i].values);
  free(s->rows);
  free(s->values);
  *s = (Series){.context = s->context, .program = s->program};
}

/* Writes `x` with the fewest digits that read back to the same bits; those of an f32 if it is `narrow`. */
static void print_float(FILE *to, double x, bool narrow) {
  char text[40];
  for (int digits = 6; digits <= (narrow ? 9 : 17); digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (narrow ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x)
      break;
  }
  fputs(isnan(x) ? "nan" : text, to);
}

/* Does the reduction have values that f32 or a narrower type holds, as the smallest or largest of such values, whatever
 * its own type? */
static bool is_of_narrow(const Reduction *r) {
  const Op *yield = r->body && r->body->last && r->body->last->code == OP_YIELD ? r->body->last : NULL;
  const Value *v = yield && (r->op == OP_MIN || r->op == OP_MAX) ? yield->operands[0] : NULL;
  if (v && v->def && v->def->code == OP_CONVERT)
    v = v->def->operands[0];
  return v && type_is_float(v->type) && v->type != TY_F64;
}

/* The same of the reduction called `name`. */
static bool is_narrow(const Series *s, const char *name) {
  const Module *m = s->program->reference;
  for (int i = 0; m && i < m->nreductions; i++)
    if (strcmp(m->reductions[i].name, name) == 0)
      return is_of_narrow(&m->reductions[i]);
  return false;
}

/* Writes a value of a reduction so that it reads back to the same bits of its type. */
static void print_value(FILE *to, const Series *s, const StcReduction *r) {
  if (r->type == STC_I64)
    fprintf(to, "%" PRId64, r->i);
  else
    print_float(to, r->f, is_narrow(s, r->name));
}

/* Element `i` of a row, in the row's type. */
static Const row_element(const StcProbe *row, int64_t i) {
  return const_load((Type)row->type, (const char *)row->values + i * type_size((Type)row->type));
}

double row_value(const StcProbe *row, int64_t i) {
  Const x = row_element(row, i);
  return type_is_float((Type)row->type) ? x.f : (double)x.i;
}

/* The same as print_value for element `i` of a row. */
static void print_element(FILE *to, const StcProbe *row, int64_t i) {
  Const x = row_element(row, i);
  if (type_is_float((Type)row->type))
    print_float(to, x.f, row->type != STC_F64);
  else
    fprintf(to, "%" PRId64, x.i);
}

/* The last value of the reduction called `name`; NULL if there is none. */
static const StcReduction *last_value(const Series *s, const char *name) {
  for (int64_t k = s->n - 1; k >= 0; k--)
    if (strcmp(s->values[k].name, name) == 0)
      return &s->values[k];
  return NULL;
}

/* The number of values of the reduction called `name` at a step, one for each member; 0 if its value is for the whole
 * program. */
static int64_t members(const Series *s, const char *name) {
  const StcReduction *last = last_value(s, name);
  return last ? last->members : 0;
}

/* Is value `i` of `n` printed? The printed ones are evenly spaced and include the first and the last. */
static bool is_printed(int64_t i, int64_t n) {
  for (int k = 0; k < MOST_PRINTED && n > MOST_PRINTED; k++)
    if (i == k * (n - 1) / (MOST_PRINTED - 1))
      return true;
  return n <= MOST_PRINTED;
}

/* Ends a line for `n` values, of which at most MOST_PRINTED are printed. */
static void print_end(FILE *to, int64_t n) {
  if (n > MOST_PRINTED)
    fprintf(to, "; %d of %" PRId64 " values, --log FILE.csv saves all", MOST_PRINTED, n);
  fputc('\n', to);
}

/* Prints the line of the reduction called `name`: its values and the steps after which they were evaluated. */
static void print_line(FILE *to, const Series *s, const char *name) {
  int64_t n = 0, i = 0, each = members(s, name);
  const char *separator = " ";
  for (int64_t k = 0; k < s->n; k++)
    n += strcmp(s->values[k].name, name) == 0;
  fprintf(to, "%s:", name);
  if (each)
    fprintf(to, " %" PRId64 " times %" PRId64 " values", n / each, each);
  for (int64_t k = 0; k < s->n && !each; k++) {
    const StcReduction *r = &s->values[k];
    if (strcmp(r->name, name) != 0 || !is_printed(i++, n))
      continue;
    fputs(separator, to);
    print_value(to, s, r);
    fprintf(to, " (step %" PRId64 ")", r->step);
    separator = ", ";
  }
  print_end(to, each ? 0 : n);
}

/* Prints the line of probe `p`: the values of a single point as those of a reduction, else only the number of values.
 */
static void print_probe(FILE *to, const Series *s, const Probe *p) {
  int64_t n = 0, i = 0, points = 0;
  const char *separator = " ";
  for (int64_t k = 0; k < s->nrows; k++)
    if (strcmp(s->rows[k].name, p->name) == 0) {
      n++;
      points = s->rows[k].n;
    }
  fprintf(to, "%s:", p->name);
  if (p->list >= 0)
    fprintf(to, " %" PRId64 " times %" PRId64 " values", n, points);
  for (int64_t k = 0; k < s->nrows && p->list < 0; k++) {
    if (strcmp(s->rows[k].name, p->name) != 0 || !is_printed(i++, n))
      continue;
    fputs(separator, to);
    print_element(to, &s->rows[k], 0);
    fprintf(to, " (step %" PRId64 ")", s->rows[k].step);
    separator = ", ";
  }
  print_end(to, p->list < 0 ? n : 0);
}

/* Is number `r` of the logged values the number of rounds of a repeat inside another repeat, without an `until` of its
 * own? It is not printed, as it is the same in each round of the outer one. */
static bool is_inner(const StcProgram *p, int r) {
  const Module *m = p->module;
  int loop = r - (p->nlogged - 2 * m->nrepeats);
  bool inner = loop >= 0 && repeat_around(m, loop / 2) >= 0;
  for (int i = 0; i < m->nreductions && inner; i++)
    inner = m->reductions[i].loop != loop / 2 + 1;
  return inner;
}

void series_print(FILE *to, const Series *s, const char *until) {
  const Module *m = s->program->module;
  for (int i = 0; i < m->nprobes; i++)
    print_probe(to, s, &m->probes[i]);
  for (int r = 0; r < s->program->nlogged; r++)
    if (!is_inner(s->program, r) && last_value(s, s->program->logged[r]))
      print_line(to, s, s->program->logged[r]);
  if (until)
    fprintf(to, "%s: met after %" PRId64 " steps\n", until, last_value(s, until)->step);
}

/* Prints a value; JSON has no numbers for infinity and NaN. */
static void print_json_value(FILE *to, const Series *s, const StcReduction *r) {
  if (r->type == STC_F64 && !isfinite(r->f))
    fputs("null", to);
  else
    print_value(to, s, r);
}

void series_print_json(FILE *to, const Series *s) {
  const char *separator = "";
  for (int r = 0; r < s->program->nlogged; r++) {
    const StcReduction *last = last_value(s, s->program->logged[r]);
    if (!last)
      continue;
    fprintf(to, "%s\"%s\": %s", separator, last->name, last->members ? "[" : "");
    separator = "";
    for (int64_t k = last - s->values - (last->members ? last->members - 1 : 0); k <= last - s->values; k++) {
      fputs(separator, to);
      print_json_value(to, s, &s->values[k]);
      separator = ", ";
    }
    fputs(last->members ? "]" : "", to);
  }
}

/* The position in the series while it is written: the reductions' values from `value` on; for probe i row number
 * row[i], s->nrows if there are no more. */
typedef struct Cursor {
  const Series *s;
  int64_t value, *row;
} Cursor;

/* The first row of probe `p` from number `i` on; s->nrows if there is none. */
static int64_t next_row(const Series *s, const Probe *p, int64_t i) {
  while (i < s->nrows && strcmp(s->rows[i].name, p->name) != 0)
    i++;
  return i;
}

/* The next step; -1 after the last. */
static int64_t next_step(const Cursor *c) {
  const Series *s = c->s;
  int64_t step = c->value < s->n ? s->values[c->value].step : INT64_MAX;
  for (int i = 0; i < s->program->module->nprobes; i++)
    if (c->row[i] < s->nrows && s->rows[c->row[i]].step < step)
      step = s->rows[c->row[i]].step;
  return step == INT64_MAX ? -1 : step;
}

/* Writes the columns of the reductions at `step`. */
static void write_values(FILE *to, Cursor *c, int64_t step) {
  const Series *s = c->s;
  int64_t end = c->value;
  while (end < s->n && s->values[end].step == step)
    end++;
  for (int r = 0; r < s->program->nlogged; r++) {
    const char *name = s->program->logged[r];
    if (!*name)
      continue;
    int64_t at = c->value, n = members(s, name);
    while (at < end && strcmp(s->values[at].name, name) != 0)
      at++;
    for (int64_t k = 0; k < (n ? n : 1); k++) {
      fputc(',', to);
      if (at < end)
        print_value(to, s, &s->values[at + k]);
    }
  }
  c->value = end;
}

/* The number of columns of probe `p`: the length of its first row. */
static int64_t columns(const Series *s, const Probe *p) {
  int64_t first = next_row(s, p, 0);
  return first < s->nrows ? s->rows[first].n : 1;
}

/* Writes the columns of probe number `i` at `step`. */
static void write_columns(FILE *to, Cursor *c, int i, int64_t step) {
  const Series *s = c->s;
  const Probe *p = &s->program->module->probes[i];
  bool due = c->row[i] < s->nrows && s->rows[c->row[i]].step == step;
  for (int64_t k = 0; k < columns(s, p); k++) {
    fputc(',', to);
    if (due)
      print_element(to, &s->rows[c->row[i]], k);
  }
  if (due)
    c->row[i] = next_row(s, p, c->row[i] + 1);
}

/* Writes the names of the columns. */
static void write_names(FILE *to, const Series *s) {
  const Module *m = s->program->module;
  fputs("step", to);
  for (int r = 0; r < s->program->nlogged; r++) {
    const char *name = s->program->logged[r];
    int64_t n = members(s, name);
    if (*name && !n)
      fprintf(to, ",%s", name);
    for (int64_t k = 0; k < n; k++)
      fprintf(to, ",%s[%" PRId64 "]", name, k);
  }
  for (int i = 0; i < m->nprobes; i++)
    for (int64_t k = 0; k < columns(s, &m->probes[i]); k++)
      if (m->probes[i].list < 0)
        fprintf(to, ",%s", m->probes[i].name);
      else
        fprintf(to, ",%s[%" PRId64 "]", m->probes[i].name, k);
  fputc('\n', to);
}

StcStatus series_write(const Series *s, const char *path) {
  OutFile out;
  const Module *m = s->program->module;
  if (!file_create(s->context, path, &out))
    return STC_IO;
  Cursor c = {s, 0, calloc((size_t)m->nprobes + 1, sizeof *c.row)};
  if (!c.row) {
    file_abandon(&out);
    return context_error(s->context, "no memory on this computer for %s", path), STC_MEMORY;
  }
  for (int i = 0; i < m->nprobes; i++)
    c.row[i] = next_row(s, &m->probes[i], 0);
  write_names(out.to, s);
  for (int64_t step; (step = next_step(&c)) >= 0;) {
    fprintf(out.to, "%" PRId64, step);
    write_values(out.to, &c, step);
    for (int i = 0; i < m->nprobes; i++)
      write_columns(out.to, &c, i, step);
    fputc('\n', out.to);
  }
  free(c.row);
  return file_commit(s->context, &out) ? STC_OK : STC_IO;
}
