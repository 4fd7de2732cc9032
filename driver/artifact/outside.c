/* driver/artifact/outside.c: the functions of a host artifact's header, or of a launcher, made visible to callers in
 * other files: in a shared object (shared-object.c), or in the launcher compiled to an object. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

#include <string.h>

/* The fields and arrays as parameters (with types) or as arguments. */
static const char *arrays_text(TextWriter *w, bool types) {
  const Module *m = w->m;
  Str s = {w->arena, NULL, 0, 0};
  str_add(&s, "");
  for (int f = 0; f < m->nfields; f++)
    if (header_field_is_given(m, f))
      str_addf(&s, ", %s%sfield_%s", types ? header_element(w, f) : "", types ? " *" : "", w->fields[f]);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (!array_is_passing(m, i))
      str_addf(&s, ", %s%s%sarray_%s", types && !array_is_written(m, i) ? "const " : "",
               types ? c_type(m->param_arrays[i].type) : "", types ? " *" : "", w->arrays[i]);
  return s.s;
}

/* Calls `each` for the function that fills list `l` of points. */
static void each_list(TextWriter *w, const PointList *l, EachFunction *each) {
  const Module *m = w->m;
  Str parameters = {w->arena, NULL, 0, 0}, arguments = {w->arena, NULL, 0, 0};
  str_addf(&parameters, "const %s_params *p, int32_t *field_%s", w->p, w->fields[l->field]);
  str_addf(&arguments, "p, field_%s", w->fields[l->field]);
  if (l->next >= 0) {
    str_addf(&parameters, ", int32_t *array_%s", w->arrays[l->next]);
    str_addf(&arguments, ", array_%s", w->arrays[l->next]);
  }
  for (int d = 0; d < m->grid.rank; d++)
    if (l->array[d] >= 0) {
      str_addf(&parameters, ", const %s *array_%s", c_type(m->param_arrays[l->array[d]].type), w->arrays[l->array[d]]);
      str_addf(&arguments, ", array_%s", w->arrays[l->array[d]]);
    }
  each(w, "const char *", c_text(w, "fill_%s", w->fields[l->field]), parameters.s, arguments.s);
}

/* Calls `each` for the functions that only a launcher has. */
static void each_of_gpu(TextWriter *w, EachFunction *each) {
  each(w, "const char *", "device", "int index", "index");
  each(w, "const char *", "stream", "void *stream", "stream");
  each(w, "void", "close", "void", "");
}

void header_each_function(TextWriter *w, EachFunction *each) {
  Arena *a = w->arena;
  const Module *m = w->m;
  const char *constant = arena_printf(a, "const %s_params *p", w->p);
  bool reduces = m->nreductions > 0;
  each(w, arena_printf(a, "%s_params", w->p), "defaults", "void", "");
  each(w, "const char *", "bind", arena_printf(a, "%s_params *p", w->p), "p");
  for (int f = 0; f < m->nfields; f++) {
    if (field_made_once(m, f))
      continue;
    each(w, "int64_t", arena_printf(a, "extent_%s", w->fields[f]), arena_printf(a, "%s, int d", constant), "p, d");
    each(w, "int64_t", arena_printf(a, "size_%s", w->fields[f]), constant, "p");
  }
  for (int i = 0; i < m->nparam_arrays; i++)
    if (!array_is_passing(m, i))
      each(w, "int64_t", arena_printf(a, "length_%s", w->arrays[i]), constant, "p");
  for (int i = 0; i < m->nlists; i++)
    each_list(w, &m->lists[i], each);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_WEIGHTS)
      header_each_weights(w, i, each);
    else if (m->param_arrays[i].role == ARRAY_VALUES)
      header_each_values(w, i, each);
  if (m->host.init.nops > 0)
    each(w, "const char *", "init", arena_printf(a, "%s%s", constant, arrays_text(w, true)),
         arena_printf(a, "p%s", arrays_text(w, false)));
  each(w, "const char *", "run",
       arena_printf(a, "%s%s_params *p, int64_t first_step, int64_t steps%s%s", reduces ? "" : "const ", w->p,
                    arrays_text(w, true), reduces ? ", int64_t *done" : ""),
       arena_printf(a, "p, first_step, steps%s%s", arrays_text(w, false), reduces ? ", done" : ""));
  if (w->gpu)
    each_of_gpu(w, each);
}

/* Adds a macro by which the text calls its own function by another name. */
static void rename_function(TextWriter *w, const char *result, const char *name, const char *parameters,
                            const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  c_put(w, "#define $_%s inline_$_%s\n", name, name);
}

/* Removes that macro, so that callers use the usual name. */
static void restore_function(TextWriter *w, const char *result, const char *name, const char *parameters,
                             const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  c_put(w, "#undef $_%s\n", name);
}

/* Adds a function that is visible to other files. */
static void outside_function(TextWriter *w, const char *result, const char *name, const char *parameters,
                             const char *arguments) {
  c_put(w, "%s%s $_%s(%s) { %sinline_$_%s(%s); }\n", w->attribute, result, name, parameters,
        strcmp(result, "void") == 0 ? "" : "return ", name, arguments);
}

void header_outside(TextWriter *w, const char *text, const char *attribute) {
  header_each_function(w, rename_function);
  str_add(&w->s, text);
  header_each_function(w, restore_function);
  w->attribute = attribute;
  header_each_function(w, outside_function);
}
