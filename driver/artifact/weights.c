/* driver/artifact/weights.c: the functions of a header or launcher that fill launch-time arrays: with the weights of
 * differences on points at uneven distances, computed from coordinates as ir/run/weights.c does; and with elements that
 * are computed from params. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

/* Adds the function that returns coordinate number i of the n in array `z`, from which the weights `name` are computed.
 */
static void coordinate(TextWriter *w, const char *name, const char *z, const char *type) {
  c_put(w,
        "static inline double $_place_%s(const %s *array_%s, int64_t n, int64_t i) {\n  double sum = 0, sign = 1;\n  "
        "if (n == 1) return (double)array_%s[0] + (double)i;\n  for (; i < 0 || i >= n; sign = -sign) {\n    sum += "
        "sign * 2 * (double)array_%s[i < 0 ? 0 : n - 1];\n    i = i < 0 ? -i : 2 * n - 2 - i;\n  }\n  return sum + "
        "sign * (double)array_%s[i];\n}\n\n",
        name, type, z, z, z, z);
}

/* Adds the statements that report where the n coordinates array_Z do not increase. */
static void check_rising(TextWriter *w, const char *z) {
  c_put(w,
        "  for (i = 0; i < n; i++)\n    if (!((double)array_%s[i] - (double)array_%s[i] == 0) || (i && !(array_%s[i] > "
        "array_%s[i - 1])))\n      return \"the coordinates %s do not rise\";\n",
        z, z, z, z, z);
}

/* The coordinate of point `at`, or of the point half way to the next one. */
static const char *place(TextWriter *w, const char *name, const char *z, const char *at, bool half) {
  const char *whole = c_text(w, "$_place_%s(array_%s, n, %s)", name, z, at);
  return half ? c_text(w, "(%s + $_place_%s(array_%s, n, %s + 1)) / 2", whole, name, z, at) : whole;
}

/* Adds the statements that compute x[j], the distances of the points of the weights `name` from point i, from the n
 * coordinates array_Z. */
static void distances(TextWriter *w, const ParamArray *a, const char *name, const char *z) {
  c_put(w, "    const double here = %s;\n    for (j = 0; j < %d; j++) {\n", place(w, name, z, "i", a->half > 0),
        (int)a->points);
  if (a->side)
    c_put(w, "      const int64_t at = i %c j;\n", a->side > 0 ? '+' : '-');
  else if (a->half)
    c_put(w, "      const int64_t at = i + (j %% 2 ? -((j + %d) / 2) : j / 2 + %d);\n", a->half < 0, a->half > 0);
  else
    str_add(&w->s, "      const int64_t at = i + (j % 2 ? (j + 1) / 2 : -(j / 2));\n");
  c_put(w, "      x[j] = %s - here;\n", place(w, name, z, "at", a->half < 0));
}

/* Adds the statements that compute the weights w[j][k] from the distances x[j], and store them to array `name`. */
static void recurrence(TextWriter *w, const ParamArray *a, const char *name) {
  int n = a->derivative, count = a->points;
  c_put(w,
        "      for (k = 0; k <= %d; k++) w[j][k] = j == 0 && k == 0;\n    }\n    for (j = 1; j < %d; j++) {\n      "
        "double product = 1;\n      for (l = 0; l < j; l++) product *= x[j] - x[l];\n      for (k = %d; k >= 0; k--)\n "
        "       w[j][k] = before / product * ((k ? k * w[j - 1][k - 1] : 0) - x[j - 1] * w[j - 1][k]);\n      for (l = "
        "0; l < j; l++)\n        for (k = %d; k >= 0; k--)\n          w[l][k] = (x[j] * w[l][k] - (k ? k * w[l][k - 1] "
        ": 0)) / (x[j] - x[l]);\n      before = product;\n    }\n    for (j = 0; j < %d; j++) array_%s[(i + %d) * %d + "
        "j] = (%s)w[j][%d];\n",
        n, count, n, n, count, name, (int)a->beyond, count, c_type(a->type), n);
}

void header_fill_weights(TextWriter *w, int array) {
  const ParamArray *a = &w->m->param_arrays[array];
  const char *z = w->arrays[a->from], *name = w->arrays[array], *type = c_type(w->m->param_arrays[a->from].type);
  coordinate(w, name, z, type);
  c_put(w,
        "/* Makes %s of the coordinates %s: call it before *_init and *_run, and again when coordinates change. "
        "*/\nstatic inline const char *$_fill_%s(const $_params *params, %s *array_%s, const %s *array_%s) {\n  "
        "$_params bound = *params;\n  const char *e = $_bind(&bound);\n  const int64_t n = e ? 0 : "
        "$_length_%s(&bound);\n  int64_t i;\n",
        name, z, name, c_type(a->type), name, type, z, z);
  if (a->derivative)
    c_put(w, "  int j, k, l;\n");
  c_put(w, "  if (e) return e;\n");
  check_rising(w, z);
  c_put(w, "  for (i = -%d; n > 0 && i < n + %d; i++) {\n", (int)a->beyond, (int)a->beyond);
  if (a->derivative) {
    c_put(w, "    double x[%d], w[%d][%d], before = 1;\n", (int)a->points, (int)a->points, a->derivative + 1);
    distances(w, a, name, z);
    recurrence(w, a, name);
  } else {
    c_put(w, "    array_%s[i + %d] = (%s)$_place_%s(array_%s, n, i);\n", name, (int)a->beyond, c_type(a->type), name,
          z);
  }
  c_put(w, "  }\n  return NULL;\n}\n\n");
}

void header_each_weights(TextWriter *w, int array, EachFunction *each) {
  const ParamArray *a = &w->m->param_arrays[array];
  const char *z = w->arrays[a->from], *name = w->arrays[array];
  each(w, "const char *", c_text(w, "fill_%s", name),
       c_text(w, "const $_params *p, %s *array_%s, const %s *array_%s", c_type(a->type), name,
              c_type(w->m->param_arrays[a->from].type), z),
       c_text(w, "p, array_%s, array_%s", name, z));
}

/* ---- elements that are computed from params */

void header_fill_values(TextWriter *w, int array) {
  const ParamArray *a = &w->m->param_arrays[array];
  const char *name = w->arrays[array];
  c_put(w,
        "/* Computes the elements of %s: call it before *_init and *_run, and again when params change. */\nstatic "
        "inline const char *$_fill_%s(const $_params *params, %s *array_%s) {\n  $_params bound = *params;\n  const "
        "$_params *p = &bound;\n  const char *e = $_bind(&bound);\n  const int64_t n = e ? 0 : $_length_%s(p);\n  "
        "int64_t i;\n  for (i = 0; i < n; i++) {\n%s  }\n  return e;\n}\n\n",
        a->name, name, c_type(a->type), name, name,
        expression_c_text(w->arena, w->m, a->value, "p->", c_text(w, "array_%s[i]", name)));
}

void header_each_values(TextWriter *w, int array, EachFunction *each) {
  const char *name = w->arrays[array];
  each(w, "const char *", c_text(w, "fill_%s", name),
       c_text(w, "const $_params *p, %s *array_%s", c_type(w->m->param_arrays[array].type), name),
       c_text(w, "p, array_%s", name));
}
