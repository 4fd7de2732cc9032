/* driver/artifact/header-gradient.c: in the header of a backward artifact, one function for the whole gradient. It
 * calls the functions of both headers: forward steps, whose values it keeps for the backward steps, and then the
 * backward steps. It goes back through the steps as stc_plan_gradient does, with bitwise equal results. Programs that
 * need more than these functions have no such function. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"
#include "driver/artifact/manifest.h"
#include "ir/run/run.h"

#include <string.h>

/* The writers of the backward and of the forward program, and the facts that a launcher needs about the backward one.
 */
typedef struct Both {
  TextWriter *w, forward;
  const AdjointFacts *facts;
} Both;

/* The number of the field called `name` that functions of the writer's header have as a parameter; -1 if there is none.
 */
static int field_of(const TextWriter *w, const char *name) {
  int f = module_find_field(w->m, name);
  return f >= 0 && header_field_is_given(w->m, f) ? f : -1;
}

/* The field `from` which field `name` is filled; NULL if it is not in the list. */
static const char *filled_from(int n, const AdjointField *list, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(list[i].name, name) == 0)
      return list[i].from;
  return NULL;
}

/* Are the values of forward field `f` kept at each step? */
static bool is_kept(const Both *x, int f) {
  const AdjointFacts *facts = x->facts;
  for (int i = 0; i < facts->nsaved + facts->nafter; i++)
    if (field_of(&x->forward, i < facts->nsaved ? facts->saved[i].from : facts->after[i - facts->nsaved].from) == f)
      return true;
  return false;
}

/* Can runs change forward field `f`? */
static bool changes(const Both *x, int f) {
  return header_field_is_given(x->forward.m, f) && !x->forward.m->fields[f].input;
}

/* Does the function itself allocate field `f` of the backward program, rather than pass an argument or kept values? */
static bool is_own(const Both *x, int f) {
  const AdjointFacts *a = x->facts;
  const char *name = x->w->m->fields[f].name;
  return header_field_is_given(x->w->m, f) && !filled_from(a->nsaved, a->saved, name) &&
         !filled_from(a->nafter, a->after, name) && !filled_from(a->ninputs, a->inputs, name);
}

/* Does the function allocate and fill launch-time array `i` of the backward program? */
static bool array_is_own(const Module *m, int i) {
  ArrayRole role = m->param_arrays[i].role;
  return role == ARRAY_NEXT || role == ARRAY_WEIGHTS || role == ARRAY_VALUES ||
         (role == ARRAY_STATE && !array_is_passing(m, i));
}

/* Does forward array `i` hold a scalar that steps update? */
static bool is_state(const Both *x, int i) {
  return x->forward.m->param_arrays[i].role == ARRAY_STATE && !array_is_passing(x->forward.m, i);
}

/* The forward array with the scalar whose values after all steps are in array `i` of the backward program; -1 if there
 * is none. */
static int steps_of(const Both *x, int i) {
  for (int k = 0; k < x->forward.m->nparam_arrays; k++) {
    const char *name = x->forward.m->param_arrays[k].name;
    size_t n = strlen(name);
    if (is_state(x, k) && !strncmp(x->w->m->param_arrays[i].name, name, n) &&
        !strcmp(x->w->m->param_arrays[i].name + n, ADJOINT_STEPS))
      return k;
  }
  return -1;
}

/* The C name of the forward program's array that equals array `i` of the backward program; NULL if callers give none.
 */
static const char *given_array(const Both *x, int i) {
  const Module *f = x->forward.m;
  int of = module_find_param_array(f, x->w->m->param_arrays[i].name);
  return of < 0 || array_is_passing(f, of) ? NULL : x->forward.arrays[of];
}

/* ---------------------------------------------------------------- limits of the function */

/* Does the list need a field that the forward functions do not have as a parameter? */
static bool lacks_fields(const Both *x, int n, const AdjointField *list) {
  for (int i = 0; i < n; i++)
    if (field_of(x->w, list[i].name) >= 0 && field_of(&x->forward, list[i].from) < 0)
      return true;
  return false;
}

/* Do both fields have bounds with the same text? */
static bool like_boxes(const Both *x, int back, int forward) {
  const Box *a = &x->w->m->fields[back].box, *b = &x->forward.m->fields[forward].box;
  bool like = a->rank == b->rank;
  for (int d = 0; d < a->rank && like; d++)
    like = strcmp(c_affine(x->w, a->lo[d]), c_affine(&x->forward, b->lo[d])) == 0 &&
           strcmp(c_affine(x->w, a->hi[d]), c_affine(&x->forward, b->hi[d])) == 0;
  return like;
}

/* Is the type of the field f32 or f64? */
static bool is_plain(const Module *m, int f) { return m->fields[f].type == TY_F32 || m->fields[f].type == TY_F64; }

/* The reason why the function cannot return the derivatives; NULL if it can. */
static const char *lacks_derivatives(const Both *x) {
  const AdjointFacts *a = x->facts;
  for (int i = 0; i < a->nbars; i++) {
    int f = field_of(x->w, a->bars[i].name), of = field_of(&x->forward, a->bars[i].from);
    if (f < 0 || of < 0 || !is_plain(x->w->m, f) || !is_plain(x->forward.m, of) || !like_boxes(x, f, of))
      return "a field lacks a dimension, or is of a storage type";
  }
  for (int i = 0; i < a->nscalars; i++) {
    int s = module_find_scalar(x->forward.m, a->scalars[i].from), f = field_of(x->w, a->scalars[i].name);
    if (s < 0 || !x->forward.m->scalars[s].is_param || f < 0 || !is_plain(x->w->m, f))
      return "the derivatives go through a let";
  }
  for (int i = 0; i < a->nstates; i++)
    if (module_find_param_array(x->w->m, a->states[i].name) < 0)
      return "nothing is kept of the derivatives by a scalar";
  for (int i = 0; i < a->nelements; i++) {
    int bar = field_of(x->w, a->elements[i].bar), n = field_of(x->w, a->elements[i].number);
    if (bar < 0 || n < 0 || !is_plain(x->w->m, bar))
      return "elements of an array are read where nothing is kept";
  }
  return NULL;
}

/* The reason why the function cannot use the reductions; NULL if it can. */
static const char *lacks_values(const Both *x) {
  const Module *m = x->w->m, *f = x->forward.m;
  for (int i = 0; i < f->nreductions; i++)
    if (f->reductions[i].kind == REDUCE_UNTIL)
      return "an `until` may end the run";
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].each)
      return "members have values of their own";
  return NULL;
}

/* The reason why the function cannot handle launch-time arrays or frames; NULL if it can. */
static const char *lacks_arrays(const Both *x) {
  const Module *m = x->w->m, *f = x->forward.m;
  for (int i = 0; i < f->nfields; i++) {
    const char *part = strchr(f->fields[i].name, '.');
    if (f->fields[i].frames)
      return "a field has frames";
    if (part && strcmp(part, ".where") == 0)
      return "fields have masks";
  }
  for (int i = 0; i < f->nparam_arrays; i++)
    if (is_state(x, i) && f->param_arrays[i].each)
      return "members have scalars of their own";
  for (int i = 0; i < m->nparam_arrays; i++)
    if (!array_is_passing(m, i) && !array_is_own(m, i) && steps_of(x, i) < 0 &&
        (array_is_written(m, i) || !given_array(x, i)))
      return "steps change numbers that are kept";
  return NULL;
}

/* Does the backward program have a field that neither its init nor the function sets? */
static bool lacks_start(const Both *x) {
  const Module *m = x->w->m;
  bool *has = ARENA_ARRAY(x->w->arena, bool, m->nfields + 1), lacks = false;
  fields_with_init(m, has);
  for (int i = 0; i < m->nlists; i++) {
    has[m->lists[i].field] = true;
    lacks = lacks || !is_own(x, m->lists[i].field);
  }
  for (int f = 0; f < m->nfields; f++)
    lacks = lacks || (is_own(x, f) && !has[f] && !filled_from(x->facts->nends, x->facts->ends, m->fields[f].name));
  return lacks;
}

/* The reason why there is no function; NULL if there is one. */
static const char *why_not(const Both *x) {
  const AdjointFacts *a = x->facts;
  if (x->w->program->forward->adjoint->ngiven)
    return "inits compute fields from what the derivatives are by";
  const char *why = lacks_arrays(x);
  if (!why && (lacks_fields(x, a->nsaved, a->saved) || lacks_fields(x, a->nafter, a->after) ||
               lacks_fields(x, a->ninputs, a->inputs) || lacks_fields(x, a->nends, a->ends)))
    why = "fields are computed from masks, or once";
  if (!why && lacks_start(x))
    why = "a field of the backward program has no value to begin with";
  why = why ? why : lacks_values(x);
  return why ? why : lacks_derivatives(x);
}

/* ---------------------------------------------------------------- parameters */

/* The C name of the field, array or param of `by`; with `part`, of the forward field that is a component of it. */
static const char *by_name(const Both *x, const By *by, int part) {
  const Module *source = x->w->program->forward->source;
  return by->kind == BY_FIELD   ? x->forward.fields[part]
         : by->kind == BY_ARRAY ? arena_identifier(x->w->arena, source->param_arrays[by->index].name)
                                : c_name(x->w->arena, source->scalars[by->index].name);
}

/* Is forward field `f` the field of `by`, or a component of it? */
static bool is_part(const Both *x, const By *by, int f) {
  const Module *source = x->w->program->forward->source;
  if (by->kind != BY_FIELD || !header_field_is_given(x->forward.m, f))
    return false;
  const char *name = source->fields[by->index].name, *of = x->forward.m->fields[f].name;
  size_t n = strlen(name);
  return strncmp(of, name, n) == 0 && (!of[n] || of[n] == '.');
}

/* The number of the forward program's launch-time array that `by` is for. */
static int by_array(const Both *x, const By *by) {
  return module_find_param_array(x->forward.m, x->w->program->forward->source->param_arrays[by->index].name);
}

/* Adds the parameters for results. */
static void results(Both *x) {
  const Module *source = x->w->program->forward->source;
  for (int i = 0; i < source->nby; i++) {
    const By *by = &source->by[i];
    for (int f = 0; f < x->forward.m->nfields; f++)
      if (is_part(x, by, f))
        c_put(x->w, ", %s *by_%s", header_element(&x->forward, f), by_name(x, by, f));
    if (by->kind != BY_FIELD)
      c_put(x->w, ", double *by_%s", by_name(x, by, 0));
  }
}

/* Arguments of a forward run: fields (copies of those that runs change) and arrays. */
static const char *forward_arguments(const Both *x) {
  const TextWriter *w = &x->forward;
  Str s = {x->w->arena, NULL, 0, 0};
  str_add(&s, "");
  for (int f = 0; f < w->m->nfields; f++)
    if (header_field_is_given(w->m, f))
      str_addf(&s, ", %s_%s", changes(x, f) ? "now" : "field", w->fields[f]);
  for (int i = 0; i < w->m->nparam_arrays; i++)
    if (!array_is_passing(w->m, i))
      str_addf(&s, ", array_%s", w->arrays[i]);
  return s.s;
}

/* C text for the row of kept values that a field of the backward program reads; NULL if the field reads none. */
static const char *row_of(const Both *x, const char *name, const char **from) {
  const AdjointFacts *a = x->facts;
  *from = filled_from(a->nsaved, a->saved, name);
  if (*from)
    return "(n - first)";
  *from = filled_from(a->nafter, a->after, name);
  return *from ? "(n - first + (k > 0))" : NULL;
}

/* Arguments of a backward run, or of the backward init; fields have the values of step n. */
static const char *backward_arguments(const Both *x) {
  const TextWriter *w = x->w;
  const AdjointFacts *a = x->facts;
  Str s = {w->arena, NULL, 0, 0};
  str_add(&s, "");
  for (int f = 0; f < w->m->nfields; f++) {
    const char *from, *row = row_of(x, w->m->fields[f].name, &from);
    if (!header_field_is_given(w->m, f))
      continue;
    if (row)
      str_addf(&s, ", (%s *)(rows + %s * row + at_%s)", header_element(w, f), row,
               x->forward.fields[field_of(&x->forward, from)]);
    else if ((from = filled_from(a->ninputs, a->inputs, w->m->fields[f].name)))
      str_addf(&s, ", field_%s", x->forward.fields[field_of(&x->forward, from)]);
    else
      str_addf(&s, ", back_%s", w->fields[f]);
  }
  for (int i = 0; i < w->m->nparam_arrays; i++)
    if (array_is_own(w->m, i))
      str_addf(&s, ", own_%s", w->arrays[i]);
    else if (steps_of(x, i) >= 0)
      str_addf(&s, ", kept_%s", x->forward.arrays[steps_of(x, i)]);
    else if (!array_is_passing(w->m, i))
      str_addf(&s, ", array_%s", given_array(x, i));
  return s.s;
}

/* ---------------------------------------------------------------- the function */

/* C text for the bytes of forward field `f`, and of backward field `f`. */
static const char *forward_bytes(const Both *x, int f) {
  return c_text(x->w, "sizeof(%s) * (size_t)%s_size_%s(f)", header_element(&x->forward, f), x->forward.p,
                x->forward.fields[f]);
}
static const char *backward_bytes(const Both *x, int f) {
  return c_text(x->w, "sizeof(%s) * (size_t)$_size_%s(b)", header_element(x->w, f), x->w->fields[f]);
}

/* Copies each field that runs change from one place to another, given as C text with %s for the name. */
static void copy_state(Both *x, const char *indent, const char *to, const char *from) {
  for (int f = 0; f < x->forward.m->nfields; f++)
    if (changes(x, f)) {
      const char *name = x->forward.fields[f];
      c_put(x->w, "%sSTC_KEEP_COPY(%s%s, %s%s, %s);\n", indent, to, name, from, name, forward_bytes(x, f));
    }
}

/* Adds the declarations of the memory that the function allocates. */
static void declare(Both *x) {
  TextWriter *w = x->w;
  c_put(w,
        "  char *rows = NULL, *shots = NULL;\n  double *seen = NULL, *wide = NULL, *lane = NULL;\n  int64_t *number = "
        "NULL;\n  size_t row = 0, shot = 0, most = 0;\n  (void)number;\n");
  for (int f = 0; f < x->forward.m->nfields; f++) {
    const char *name = x->forward.fields[f];
    if (is_kept(x, f))
      c_put(w, "  const size_t at_%s = row;\n  row += (%s + 63) / 64 * 64;\n", name, forward_bytes(x, f));
    if (changes(x, f))
      c_put(w, "  const size_t in_%s = shot;\n  shot += (%s + 63) / 64 * 64;\n  %s *now_%s = NULL;\n", name,
            forward_bytes(x, f), header_element(&x->forward, f), name);
  }
  for (int f = 0; f < w->m->nfields; f++)
    if (is_own(x, f))
      c_put(w, "  %s *back_%s = NULL;\n  if (most < (size_t)$_size_%s(b)) most = (size_t)$_size_%s(b);\n",
            header_element(w, f), w->fields[f], w->fields[f], w->fields[f]);
  for (int i = 0; i < x->forward.m->nparam_arrays; i++)
    if (!array_is_passing(x->forward.m, i))
      c_put(w, "  double *sum_%s = NULL;\n  (void)sum_%s;\n", x->forward.arrays[i], x->forward.arrays[i]);
  for (int i = 0; i < w->m->nparam_arrays; i++)
    if (array_is_own(w->m, i))
      c_put(w, "  %s *own_%s = NULL;\n", c_type(w->m->param_arrays[i].type), w->arrays[i]);
  for (int i = 0; i < x->forward.m->nparam_arrays; i++)
    if (is_state(x, i))
      c_put(w, "  %s *kept_%s = NULL;\n", c_type(x->forward.m->param_arrays[i].type), x->forward.arrays[i]);
}

/* Adds statements that allocate memory, NULL if there is none; the other function frees it. */
static void take(Both *x, const char *name, const char *type, const char *bytes) {
  c_put(x->w, "  if (!e && !(%s = (%s *)STC_KEEP(%s + 1))) e = \"out of memory\";\n", name, type, bytes);
}

/* Are there derivatives with respect to elements of the array? */
static bool has_elements(const Both *x, int array) {
  for (int i = 0; i < x->facts->nelements; i++)
    if (module_find_param_array(x->forward.m, x->facts->elements[i].array) == array)
      return true;
  return false;
}

/* Adds statements that allocate the arrays of the backward program that belong to the function (`takes`), or free them.
 */
static void own_arrays(Both *x, bool takes) {
  TextWriter *w = x->w;
  for (int i = 0; i < w->m->nparam_arrays; i++) {
    const char *name = w->arrays[i], *type = c_type(w->m->param_arrays[i].type);
    if (!array_is_own(w->m, i))
      continue;
    takes ? c_put(w,
                  "  if (!e && !(own_%s = (%s *)calloc((size_t)$_length_%s(b) + 1, sizeof(%s)))) e = \"out of "
                  "memory\";\n",
                  name, type, name, type)
          : c_put(w, "  free(own_%s);\n", name);
  }
  for (int i = 0; i < x->forward.m->nparam_arrays; i++) {
    const char *name = x->forward.arrays[i], *type = c_type(x->forward.m->param_arrays[i].type);
    if (!is_state(x, i))
      continue;
    takes ? c_put(w,
                  "  if (!e && !(kept_%s = (%s *)calloc((size_t)steps + 2, sizeof(%s)))) e = \"out of memory\";\n  if "
                  "(!e) kept_%s[0] = (%s)f->%s;\n",
                  name, type, type, name, type,
                  c_name(w->arena, x->forward.m->scalars[x->forward.m->param_arrays[i].first].name))
          : c_put(w, "  free(kept_%s);\n", name);
  }
}

/* Adds statements that save the values of scalars after step n, or (`back`) restore their values after `first` steps;
 * before step 0 runs set them by themselves. */
static void keep_states(Both *x, const char *indent, bool back) {
  for (int i = 0; i < x->forward.m->nparam_arrays; i++) {
    const char *name = x->forward.arrays[i];
    if (is_state(x, i))
      c_put(x->w,
            back ? "%sSTC_KEEP_COPY(array_%s, kept_%s + first, sizeof *array_%s);\n"
                 : "%sif (!e) STC_KEEP_COPY(kept_%s + n + 1, array_%s, sizeof *array_%s);\n",
            indent, name, name, name);
  }
}

/* Adds statements that compute the data that kernels read for list `l` of points, and copy it to where it is read. */
static void fill_list(Both *x, const PointList *l) {
  TextWriter *w = x->w;
  const char *field = w->fields[l->field];
  c_put(w, "  if (!e) e = $_fill_%s(b, (int32_t *)wide", field);
  if (l->next >= 0)
    c_put(w, ", own_%s", w->arrays[l->next]);
  for (int d = 0; d < w->m->grid.rank; d++)
    if (l->array[d] >= 0)
      c_put(w, ", array_%s", given_array(x, l->array[d]));
  c_put(w, ");\n  if (!e) STC_KEEP_COPY(back_%s, wide, %s);\n", field, backward_bytes(x, l->field));
}

/* Adds statements that fill what is computed from params and from given arrays: lists of points, weights, numbers. */
static void fill(Both *x) {
  TextWriter *w = x->w;
  for (int i = 0; i < w->m->nlists; i++)
    fill_list(x, &w->m->lists[i]);
  for (int i = 0; i < w->m->nparam_arrays; i++) {
    const ParamArray *a = &w->m->param_arrays[i];
    if (a->role == ARRAY_WEIGHTS)
      c_put(w, "  if (!e) e = $_fill_%s(b, own_%s, array_%s);\n", w->arrays[i], w->arrays[i], given_array(x, a->from));
    else if (a->role == ARRAY_VALUES)
      c_put(w, "  if (!e) e = $_fill_%s(b, own_%s);\n", w->arrays[i], w->arrays[i]);
  }
}

/* Adds statements that allocate all memory of the function (`takes`), or free it. */
static void memory(Both *x, bool takes) {
  TextWriter *w = x->w;
  struct {
    const char *name, *type, *bytes;
  } here[] = {{"seen", "double",
               c_text(w, "sizeof(double) * %d * ((size_t)steps + 1)", (int)x->w->program->forward->source->nlosses)},
              {"wide", "double", "sizeof(double) * 2 * most"},
              {"lane", "double", "sizeof(double) * 1024"},
              {"number", "int64_t", "sizeof(int64_t) * most"}};
  if (takes)
    c_put(w, "  if (!e && ((uint64_t)steps > SIZE_MAX / 64 || (size_t)apart + 1 > (SIZE_MAX - 64) / (row + 1) ||\n"
             "             (size_t)segments > (SIZE_MAX - 64) / (shot + 1))) e = \"out of memory\";\n");
  for (int i = 0; i < 4; i++)
    takes ? c_put(w, "  if (!e && !(%s = (%s *)malloc(%s + 1))) e = \"out of memory\";\n", here[i].name, here[i].type,
                  here[i].bytes)
          : c_put(w, "  free(%s);\n", here[i].name);
  if (takes) {
    take(x, "rows", "char", "row * ((size_t)apart + 1)");
    take(x, "shots", "char", "shot * (size_t)segments");
  } else {
    c_put(w, "  if (rows) STC_KEEP_FREE(rows);\n  if (shots) STC_KEEP_FREE(shots);\n");
  }
  for (int f = 0; f < x->forward.m->nfields; f++)
    if (changes(x, f))
      takes ? take(x, c_text(w, "now_%s", x->forward.fields[f]), header_element(&x->forward, f), forward_bytes(x, f))
            : c_put(w, "  if (now_%s) STC_KEEP_FREE(now_%s);\n", x->forward.fields[f], x->forward.fields[f]);
  for (int f = 0; f < w->m->nfields; f++)
    if (is_own(x, f))
      takes ? take(x, c_text(w, "back_%s", w->fields[f]), header_element(w, f), backward_bytes(x, f))
            : c_put(w, "  if (back_%s) STC_KEEP_FREE(back_%s);\n", w->fields[f], w->fields[f]);
  for (int i = 0; i < x->forward.m->nparam_arrays; i++)
    if (has_elements(x, i)) {
      const char *name = x->forward.arrays[i];
      takes ? c_put(w,
                    "  if (!e && !(sum_%s = (double *)calloc((size_t)%s_length_%s(f) + 1, sizeof(double)))) e = \"out "
                    "of memory\";\n",
                    name, x->forward.p, name)
            : c_put(w, "  free(sum_%s);\n", name);
    }
  own_arrays(x, takes);
}

/* Adds the backward program's params: those of the forward program, and the number of steps. */
static void params(Both *x) {
  TextWriter *w = x->w;
  for (int i = 0; i < w->m->nscalars; i++) {
    const char *name = w->m->scalars[i].name, *c = c_name(w->arena, name);
    int of = module_find_scalar(x->forward.m, name);
    if (w->m->scalars[i].is_param && strcmp(name, ADJOINT_LAST) == 0)
      c_put(w, "  b->%s = steps;\n", c);
    else if (w->m->scalars[i].is_param && of >= 0)
      c_put(w, "  b->%s = f->%s;\n", c, c_name(w->arena, x->forward.m->scalars[of].name));
  }
}

/* Adds the contributions of a backward step to elements of arrays. */
static void add_elements(Both *x) {
  TextWriter *w = x->w;
  for (int i = 0; i < x->facts->nelements; i++) {
    const AdjointElements *of = &x->facts->elements[i];
    int bar = field_of(w, of->bar), n = field_of(w, of->number);
    const char *array = x->forward.arrays[module_find_param_array(x->forward.m, of->array)];
    c_put(w, "      {\n        const int64_t size = $_size_%s(b), last_one = %s_length_%s(f) - 1;\n", w->fields[bar],
          x->forward.p, array);
    c_put(w, "        STC_KEEP_COPY(wide, back_%s, %s);\n        STC_KEEP_COPY(number, back_%s, %s);\n", w->fields[bar],
          backward_bytes(x, bar), w->fields[n], backward_bytes(x, n));
    c_put(w,
          "        for (int64_t i = 0; i < size && last_one >= 0; i++) {\n          const int64_t at = (int64_t)((%s "
          "*)number)[i];\n"
          "          sum_%s[at < 0 ? 0 : at > last_one ? last_one : at] += (double)((%s *)wide)[i];\n        }\n      "
          "}\n",
          header_element(w, n), array, header_element(w, bar));
  }
}

/* Adds statements that record the values of the losses. */
static void see_losses(Both *x) {
  const Module *source = x->w->program->forward->source;
  for (int i = 0; i < source->nlosses; i++) {
    const Loss *l = &source->losses[i];
    if (l->factor != 0 && l->every)
      c_put(x->w, "      seen[%d * (steps + 1) + n] = b->%s;\n", i, c_name(x->w->arena, l->name));
    else if (l->factor != 0)
      c_put(x->w, "      if (k == 0) seen[%d * (steps + 1)] = b->%s;\n", i, c_name(x->w->arena, l->name));
  }
}

/* Adds the forward run up to the last segment, and the segments, beginning with the last. */
static void segments(Both *x) {
  TextWriter *w = x->w;
  const char *done = x->forward.m->nreductions ? ", NULL" : "", *run = forward_arguments(x),
             *back = backward_arguments(x);
  copy_state(x, "  if (!e) ", "now_", "field_");
  c_put(w, "  for (n = 0; n < (segments - 1) * apart && !e; n++) {\n    e = %s_run(f, n, 1%s%s);\n", x->forward.p, run,
        done);
  keep_states(x, "    ", false);
  c_put(w, "    if (!e && (n + 1) %% apart == 0) {\n      char *shot_at = shots + shot * (size_t)((n + 1) / apart);\n");
  copy_state(x, "      ", "shot_at + in_", "now_");
  c_put(w, "    }\n  }\n  for (segment = segments - 1; segment >= 0 && !e; segment--) {\n"
           "    const int64_t first = segment * apart, last = first + apart < steps ? first + apart : steps;\n"
           "    char *shot_at = shots + shot * (size_t)segment;\n    if (segment < segments - 1 && segment == 0) {\n");
  copy_state(x, "      ", "now_", "field_");
  c_put(w, "    } else if (segment < segments - 1) {\n");
  copy_state(x, "      ", "now_", "shot_at + in_");
  keep_states(x, "      ", true);
  c_put(w, "    }\n    (void)shot_at;\n    for (n = first; n <= last && !e; n++) {\n");
  for (int f = 0; f < x->forward.m->nfields; f++)
    if (is_kept(x, f))
      c_put(w, "      STC_KEEP_COPY(rows + (n - first) * (int64_t)row + at_%s, %s_%s, %s);\n", x->forward.fields[f],
            changes(x, f) ? "now" : "field", x->forward.fields[f], forward_bytes(x, f));
  c_put(w, "      if (n >= last) continue;\n      e = %s_run(f, n, 1%s%s);\n", x->forward.p, run, done);
  keep_states(x, "      ", false);
  c_put(w, "    }\n");
  c_put(w, "    for (n = segment == segments - 1 ? last : last - 1; n >= first && !e; n--) {\n      k = steps - n;\n");
  for (int i = 0; i < x->facts->nends; i++) {
    int to = field_of(w, x->facts->ends[i].name), from = field_of(&x->forward, x->facts->ends[i].from);
    if (to >= 0)
      c_put(w, "      if (k == 0) STC_KEEP_COPY(back_%s, %s_%s, %s);\n", w->fields[to],
            changes(x, from) ? "now" : "field", x->forward.fields[from], backward_bytes(x, to));
  }
  if (w->m->host.init.nops)
    c_put(w, "      if (k == 0) e = $_init(b%s);\n", back);
  c_put(w, "      if (!e) e = $_run(b, k, 1%s%s);\n      if (e) break;\n", back, w->m->nreductions ? ", NULL" : "");
  see_losses(x);
  add_elements(x);
  c_put(w, "    }\n  }\n");
}

/* Adds statements that return the derivatives with respect to forward field `f`: the sum over the field and over the
 * levels that begin with the same values. */
static void hand_field(Both *x, int f) {
  const AdjointFacts *a = x->facts;
  TextWriter *w = x->w;
  const char *name = x->forward.fields[f], *full = x->forward.m->fields[f].name;
  c_put(w,
        "  if (!e) {\n    const int64_t size = %s_size_%s(f);\n    double *sum = wide + most;\n"
        "    for (int64_t i = 0; i < size; i++) sum[i] = 0;\n",
        x->forward.p, name);
  for (int i = 0; i < a->nbars; i++) {
    const char *begins = filled_from(a->nfilled, a->filled, a->bars[i].from);
    if (strcmp(a->bars[i].from, full) != 0 && !(begins && strcmp(begins, full) == 0))
      continue;
    int bar = field_of(w, a->bars[i].name);
    c_put(w,
          "    STC_KEEP_COPY(wide, back_%s, %s);\n    for (int64_t i = 0; i < size; i++) sum[i] += (double)((%s "
          "*)wide)[i];\n",
          w->fields[bar], backward_bytes(x, bar), header_element(w, bar));
  }
  c_put(w, "    for (int64_t i = 0; i < size; i++) by_%s[i] = (%s)sum[i];\n  }\n", name,
        header_element(&x->forward, f));
}

/* Adds statements that return the derivative with respect to the param of `by`: a sum over all points, in the order of
 * reductions. */
static void hand_param(Both *x, const By *by) {
  TextWriter *w = x->w;
  const char *of = x->w->program->forward->source->scalars[by->index].name;
  c_put(w, "  if (!e) *by_%s = 0;\n", by_name(x, by, 0));
  for (int i = 0; i < x->facts->nscalars; i++) {
    if (strcmp(x->facts->scalars[i].from, of) != 0)
      continue;
    int f = field_of(w, x->facts->scalars[i].name), rank = w->m->fields[f].box.rank;
    c_put(
        w,
        "  if (!e) {\n    const int64_t size = $_size_%s(b);\n    double *all = wide + most;\n    STC_KEEP_COPY(wide, "
        "back_%s, %s);\n    for (int64_t i = 0; i < size; i++) all[i] = (double)((%s *)wide)[i];\n",
        w->fields[f], w->fields[f], backward_bytes(x, f), header_element(w, f));
    c_put(w, "    *by_%s += stc_sum(all, size, %s, wide, lane);\n  }\n", by_name(x, by, 0),
          rank > 1 ? c_text(w, "$_extent_%s(b, %d)", w->fields[f], rank - 1) : c_text(w, "%d", REDUCE_ROW));
  }
  for (int i = 0; i < x->facts->nstates; i++) {
    int a = module_find_param_array(w->m, x->facts->states[i].name);
    if (strcmp(x->facts->states[i].from, of) == 0 && a >= 0)
      c_put(w, "  if (!e) *by_%s += own_%s[0];\n", by_name(x, by, 0), w->arrays[a]);
  }
}

/* Adds statements that return all results, the value first. */
static void hand_over(Both *x) {
  TextWriter *w = x->w;
  const Module *source = w->program->forward->source;
  c_put(w, "  if (!e) *value = 0;\n");
  for (int i = 0; i < source->nlosses; i++) {
    const Loss *l = &source->losses[i];
    const char *factor = const_c_text(w->arena, (Const){.f = l->factor}, TY_F64);
    if (l->factor != 0 && l->every)
      c_put(w,
            "  if (!e) {\n    double sum = 0;\n    for (n = 0; n <= steps; n += INT64_C(%lld)) sum += seen[%d * (steps "
            "+ 1) + n];\n"
            "    *value += %s * sum;\n  }\n",
            (long long)l->every, i, factor);
    else if (l->factor != 0)
      c_put(w, "  if (!e) *value += %s * (0 + seen[%d * (steps + 1)]);\n", factor, i);
  }
  for (int i = 0; i < source->nby; i++) {
    const By *by = &source->by[i];
    for (int f = 0; f < x->forward.m->nfields; f++)
      if (is_part(x, by, f))
        hand_field(x, f);
    int array = by->kind == BY_ARRAY ? by_array(x, by) : -1;
    if (array >= 0)
      c_put(w, "  for (int64_t i = 0; i < %s_length_%s(f) && !e; i++) by_%s[i] = %s;\n", x->forward.p,
            x->forward.arrays[array], by_name(x, by, 0),
            has_elements(x, array) ? arena_printf(w->arena, "sum_%s[i]", x->forward.arrays[array]) : "0");
    if (by->kind == BY_PARAM)
      hand_param(x, by);
  }
}

/* Helper functions that the text needs and no header has. */
static const char helpers[] =
    "#include <stdlib.h>\n#include <string.h>\n\n"
    "/* The memory of what is kept, and copies to it and from it: others may be defined before, for that of a GPU. */\n"
    "#ifndef STC_KEEP\n#define STC_KEEP(bytes) malloc(bytes)\n#define STC_KEEP_FREE(memory) free(memory)\n"
    "#define STC_KEEP_COPY(to, from, bytes) memcpy(to, from, bytes)\n#endif\n"
    "#ifndef STC_SUM\n#define STC_SUM\n"
    "/* The sum of n values in the order of reductions: value i is added to what lane i mod lanes has, these in pairs. "
    "*/\n"
    "static inline double stc_in_turn(const double *v, int64_t n, int64_t lanes, double *lane) {\n"
    "  for (int64_t i = 0; i < lanes; i++) lane[i] = 0;\n  for (int64_t i = 0; i < n; i++) lane[i % lanes] += v[i];\n"
    "  for (int64_t half = lanes / 2; half > 0; half /= 2)\n    for (int64_t i = 0; i < half; i++) lane[i] += lane[i + "
    "half];\n"
    "  return lane[0];\n}\n"
    "/* That of rows of so many, with room for a sum of each. */\n"
    "static inline double stc_sum(const double *v, int64_t n, int64_t row, double *sums, double *lane) {\n"
    "  int64_t rows = 0;\n  for (int64_t i = 0; i < n && row > 0; i += row) sums[rows++] = stc_in_turn(v + i, n - i < "
    "row ? n - i : row, 256, lane);\n"
    "  return stc_in_turn(sums, rows, 1024, lane);\n}\n#endif\n\n";

/* Adds the comment above the function. */
static void about(Both *x) {
  c_put(x->w,
        "/* The gradient: *value of the losses of `steps` steps from the fields' values on, and its derivatives "
        "by_NAME.\n * Fields stay as they are; where the program has inits, call %s_init before, so that older levels "
        "begin as their\n * fields do. apart: snapshots are kept of each so many steps, and those in between are made "
        "twice; 0: everything is\n * kept. Results are in memory of this computer. */\n",
        x->forward.p);
}

/* Adds statements that refuse NULL pointers, except for arrays without elements. */
static void refuse_null(Both *x) {
  TextWriter *w = x->w;
  const Module *m = x->forward.m, *source = w->program->forward->source;
  const char *check = "  if (!e && !%s_%s) e = \"%s_%s is NULL\";\n";
  for (int f = 0; f < m->nfields; f++)
    if (header_field_is_given(m, f))
      c_put(w, check, "field", x->forward.fields[f], "field", x->forward.fields[f]);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (!array_is_passing(m, i))
      c_put(w, "  if (!e && !array_%s && %s_length_%s(f) > 0) e = \"array_%s is NULL\";\n", x->forward.arrays[i],
            x->forward.p, x->forward.arrays[i], x->forward.arrays[i]);
  c_put(w, "  if (!e && !value) e = \"value is NULL\";\n");
  for (int i = 0; i < source->nby; i++) {
    const By *by = &source->by[i];
    for (int f = 0; f < m->nfields; f++)
      if (is_part(x, by, f))
        c_put(w, check, "by", by_name(x, by, f), "by", by_name(x, by, f));
    if (by->kind == BY_PARAM)
      c_put(w, check, "by", by_name(x, by, 0), "by", by_name(x, by, 0));
    else if (by->kind == BY_ARRAY)
      c_put(w, "  if (!e && !by_%s && %s_length_%s(f) > 0) e = \"by_%s is NULL\";\n", by_name(x, by, 0), x->forward.p,
            x->forward.arrays[by_array(x, by)], by_name(x, by, 0));
  }
}

/* Adds the function's head, and all that precedes the allocation of memory. */
static void begin(Both *x) {
  TextWriter *w = x->w;
  about(x);
  c_put(w, "static inline const char *%s_gradient(const %s_params *params, int64_t steps, int64_t apart", x->forward.p,
        x->forward.p);
  for (int f = 0; f < x->forward.m->nfields; f++)
    if (header_field_is_given(x->forward.m, f))
      c_put(w, ", %s *field_%s", header_element(&x->forward, f), x->forward.fields[f]);
  for (int i = 0; i < x->forward.m->nparam_arrays; i++)
    if (!array_is_passing(x->forward.m, i))
      c_put(w, ", %s%s *array_%s", array_is_written(x->forward.m, i) ? "" : "const ",
            c_type(x->forward.m->param_arrays[i].type), x->forward.arrays[i]);
  c_put(w, ", double *value");
  results(x);
  c_put(
      w,
      ") {\n  %s_params forward, *f = &forward;\n  $_params backward = $_defaults(), *b = &backward;\n"
      "  int64_t n = 0, k = 0, segment, segments;\n  const char *e = NULL;\n  if (!params) return \"params is NULL\";\n"
      "  if (steps < 0) return \"steps is negative: it is the number of steps to make\";\n"
      "  forward = *params;\n  e = %s_bind(f);\n",
      x->forward.p, x->forward.p);
  params(x);
  refuse_null(x);
  c_put(w, "  if (!e) e = $_bind(b);\n  if (e) return e;\n  if (apart < 1 || apart > steps) apart = steps;\n"
           "  segments = apart ? (steps - 1) / apart + 1 : 1;\n");
}

void header_gradient(TextWriter *w, const StcProgram *forward, const Module *m) {
  Both x = {w, header_writer(w->arena, forward, m, w->gpu), &forward->adjoint->facts};
  const char *why = why_not(&x);
  if (why) {
    c_put(w, "/* There is no %s_gradient: %s. */\n", x.forward.p, why);
    return;
  }
  c_put(w, "/* Behind the program's own header: the whole gradient. */\n#ifdef STC_%s_H\n%s", x.forward.p, helpers);
  begin(&x);
  declare(&x);
  memory(&x, true);
  fill(&x);
  segments(&x);
  hand_over(&x);
  memory(&x, false);
  c_put(w, "  return e;\n}\n#endif\n");
}
