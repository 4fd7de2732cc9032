/* driver/artifact/weights.c: the functions of a header or launcher that make the weights of differences on points that
 * lie unevenly of their coordinates, as ir/run/weights.c does. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

/* The statements that find x[j], how far the points of the weights are from point i, among the n coordinates array_Z.
 */
static void distances(Writer *w, const ParamArray *a, const char *z) {
  str_addf(&w->s,
           "    if (!((double)array_%s[i] - (double)array_%s[i] == 0) || (i && !(array_%s[i] > array_%s[i - 1])))\n", z,
           z, z, z);
  str_addf(&w->s, "      return \"the coordinates %s do not rise\";\n    for (j = 0; j < %d; j++) {\n", z,
           (int)a->points);
  if (a->side)
    str_addf(&w->s, "      const int64_t at = i %c j", a->side > 0 ? '+' : '-');
  else
    str_add(&w->s, "      const int64_t at = i + (j % 2 ? (j + 1) / 2 : -(j / 2))");
  str_addf(&w->s,
           ", end = at < 0 ? 0 : n - 1, inner = at < 0 ? 1 : n - 2;\n"
           "      const double step = n > 1 ? (double)array_%s[end] - (double)array_%s[inner] : at < 0 ? -1 : 1;\n"
           "      x[j] = at >= 0 && at < n ? (double)array_%s[at] : (double)array_%s[end] + (double)(at < 0 ? -at : at "
           "- end) * "
           "step;\n      x[j] -= (double)array_%s[i];\n",
           z, z, z, z, z);
}

void header_fill_weights(Writer *w, int array) {
  const ParamArray *a = &w->m->param_arrays[array];
  const char *z = w->arrays[a->from], *name = w->arrays[array];
  int n = a->derivative, count = a->points;
  str_addf(
      &w->s,
      "/* Makes the weights %s of the coordinates %s: call it before *_init and *_run, and again when coordinates "
      "change. "
      "*/\nstatic inline const char *%s_fill_%s(const %s_params *params, %s *array_%s, const %s *array_%s) {\n"
      "  %s_params bound = *params;\n  const char *e = %s_bind(&bound);\n  const int64_t n = %s_length_%s(&bound);\n"
      "  int64_t i;\n  int j, k, l;\n  if (e) return e;\n  for (i = 0; i < n; i++) {\n"
      "    double x[%d], w[%d][%d], before = 1;\n",
      name, z, w->p, name, w->p, c_type(a->type), name, c_type(w->m->param_arrays[a->from].type), z, w->p, w->p, w->p,
      z, count, count, n + 1);
  distances(w, a, z);
  str_addf(&w->s,
           "      for (k = 0; k <= %d; k++) w[j][k] = j == 0 && k == 0;\n    }\n    for (j = 1; j < %d; j++) {\n"
           "      double product = 1;\n      for (l = 0; l < j; l++) product *= x[j] - x[l];\n"
           "      for (k = %d; k >= 0; k--)\n"
           "        w[j][k] = before / product * ((k ? k * w[j - 1][k - 1] : 0) - x[j - 1] * w[j - 1][k]);\n"
           "      for (l = 0; l < j; l++)\n        for (k = %d; k >= 0; k--)\n"
           "          w[l][k] = (x[j] * w[l][k] - (k ? k * w[l][k - 1] : 0)) / (x[j] - x[l]);\n"
           "      before = product;\n    }\n    for (j = 0; j < %d; j++) array_%s[i * %d + j] = (%s)w[j][%d];\n  }\n"
           "  return NULL;\n}\n\n",
           n, count, n, n, count, name, count, c_type(a->type), n);
}

void header_each_weights(Writer *w, int array, EachFunction *each) {
  const ParamArray *a = &w->m->param_arrays[array];
  const char *z = w->arrays[a->from], *name = w->arrays[array];
  each(w, "const char *", arena_printf(w->arena, "fill_%s", name),
       arena_printf(w->arena, "const %s_params *p, %s *array_%s, const %s *array_%s", w->p, c_type(a->type), name,
                    c_type(w->m->param_arrays[a->from].type), z),
       arena_printf(w->arena, "p, array_%s, array_%s", name, z));
}
